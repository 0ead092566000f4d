//! Results and quotes made by hand, for tests.

use std::sync::Arc;

use hushtable::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    StringArray, StringViewArray, TimestampMicrosecondArray,
};
use hushtable::arrow::datatypes::DataType;
use hushtable::arrow::record_batch::RecordBatch;
use hushtable::ledger::Account;
use hushtable::privacy::{Loss, Neighbouring};
use hushtable::query::{
    ChoiceExplanation, EpsilonAt, Explanation, GroupSize, GroupsExplanation, IntervalRequest,
    IntervalsExplanation, KeepProbability, MeasurementExplanation, NoInterval, NoiseKind,
    OutputExplanation, PrivateGroups, RoundExplanation, RunnerUp, Strategy, Usefulness,
};
use hushtable::{
    AccountQuote, ColumnIntervals, PartQuote, QuestionQuote, Standing, TableIntervals,
};

pub(super) fn batch() -> RecordBatch {
    let decimals = Decimal128Array::from(vec![
        Some(1_250),
        Some(-5),
        None,
        Some(123_456_789_012_345_678_901_234_567_890),
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "town",
            Arc::new(StringViewArray::from(vec![
                Some("Århus, \"old\""),
                Some(""),
                None,
                Some("日本\nx"),
            ])),
        ),
        (
            "kind",
            Arc::new(StringArray::from(vec![Some("a"), None, Some("c\u{1b}[1m"), Some(" d ")])),
        ),
        ("n", Arc::new(Int64Array::from(vec![Some(12), Some(-3), None, Some(i64::MAX)]))),
        ("paid", Arc::new(decimals.with_precision_and_scale(38, 2).unwrap())),
        (
            "mean",
            Arc::new(Float64Array::from(vec![
                Some(0.1 + 0.2),
                Some(1e-7),
                None,
                Some(f64::NEG_INFINITY),
            ])),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(19_782), Some(-719_529), None, Some(0)]))),
        (
            "seen",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(1_709_210_096_000_100),
                Some(-1_000_000),
                None,
                Some(0),
            ])),
        ),
        ("new", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .unwrap()
}

/// Two around each whole number, none around the decimals, and nothing for the others.
pub(super) fn intervals(table: &RecordBatch) -> TableIntervals {
    let moved = |values: &Int64Array, by: i64| -> ArrayRef {
        Arc::new(values.iter().map(|n| Some(n?.saturating_add(by))).collect::<Int64Array>())
    };
    let of = |column: &ArrayRef| match column.data_type() {
        DataType::Int64 => {
            let values: &Int64Array = column.as_primitive();
            ColumnIntervals::Ends { low: moved(values, -2), high: moved(values, 2) }
        }
        DataType::Decimal128(..) => ColumnIntervals::Without(NoInterval::Quantile),
        _ => ColumnIntervals::Exact,
    };
    let columns = table.columns().iter().map(of).collect();
    TableIntervals { wanted: IntervalRequest::USUAL, columns }
}

pub(super) fn epsilon(epsilon: &str, delta: &str) -> Loss {
    Loss::Approximate { epsilon: epsilon.parse().unwrap(), delta: delta.parse().unwrap() }
}

pub(super) fn rho(rho: &str, delta: &str) -> Loss {
    Loss::Concentrated { rho: rho.parse().unwrap(), delta: delta.parse().unwrap() }
}

fn measurement(
    name: &str,
    bounds: (f64, f64),
    step: f64,
    loss: Option<Loss>,
) -> MeasurementExplanation {
    let mechanism = match loss {
        Some(Loss::Approximate { .. }) => "discrete_laplace",
        Some(Loss::Concentrated { .. }) => "rounded_gaussian",
        None => "noisy count of TRUNCATED_GEOMETRIC",
    };
    let noise_scale = bounds.1 * 8.000_000_000_1;
    MeasurementExplanation {
        name: name.to_owned(),
        mechanism: mechanism.to_owned(),
        bounds,
        per_row: None,
        nearer_sum_bound: None,
        granularity: step,
        noise_scale: Some(noise_scale),
        half_width_95: Some(noise_scale * 2.995_7),
        simultaneous_95: Vec::new(),
        interval_95: None,
        quantile: None,
        reach: None,
        loss,
        split_threshold: None,
        by_class: Vec::new(),
    }
}

fn noise_only() -> IntervalsExplanation {
    let not_in_them = vec!["groups of one person beyond 3".to_owned()];
    IntervalsExplanation { cover: "noise only".to_owned(), not_in_them }
}

fn output(
    name: &str,
    column_type: &str,
    used: &[usize],
    half_width_95: Option<f64>,
) -> OutputExplanation {
    OutputExplanation {
        name: name.to_owned(),
        column_type: column_type.to_owned(),
        measurements: used.to_vec(),
        half_width_95,
        values_between_95_even: None,
    }
}

/// One row of counts: free, as it is on record.
pub(super) fn single() -> QuestionQuote {
    let loss = epsilon("0.5", "0");
    let explanation = Explanation {
        intervals: noise_only(),
        condition: Some("age >= 18".to_owned()),
        precision: Vec::new(),
        advice: vec!["twice the epsilon: half of the noise".to_owned()],
        join_limits: Vec::new(),
        population: "loans".to_owned(),
        tables: vec!["loans".to_owned()],
        privacy_unit: "row".to_owned(),
        beside: None,
        neighbouring: Neighbouring::Replace,
        max_groups_contributed: 1,
        max_rows_joined: None,
        groups: GroupsExplanation::Single,
        choice: chosen(NoiseKind::Laplace, 0.0),
        measurements: vec![measurement("count of rows", (0.0, 1.0), 1.0, Some(loss))],
        outputs: vec![output("n", "int", &[0], Some(24.0))],
        total: loss,
        policy: None,
        total_as_epsilon: Vec::new(),
        learnt_bounds: Vec::new(),
        warnings: Vec::new(),
    };
    let account = Account {
        total: epsilon("3", "1e-5"),
        spent: epsilon("0.5", "0"),
        left: epsilon("2.5", "1e-5"),
    };
    quoted("ana", explanation, account, epsilon("0", "0"), Standing::OnRecord)
}

/// Public groups, a sum and a mean, paid in rho from a budget that does not suffice.
pub(super) fn public() -> QuestionQuote {
    let share = rho("0.25", "0");
    let total = rho("0.5", "0");
    let explanation = Explanation {
        intervals: noise_only(),
        condition: Some("age >= 18".to_owned()),
        precision: Vec::new(),
        advice: vec!["twice the epsilon: half of the noise".to_owned()],
        join_limits: Vec::new(),
        population: "posts".to_owned(),
        tables: vec!["posts".to_owned()],
        privacy_unit: "author".to_owned(),
        beside: None,
        neighbouring: Neighbouring::AddRemove,
        max_groups_contributed: 2,
        max_rows_joined: None,
        groups: GroupsExplanation::Public { groups: 1_200, by_query: false },
        choice: ChoiceExplanation { runner_up: None, ..chosen(NoiseKind::Gaussian, 0.0) },
        measurements: vec![
            measurement("sum of price", (0.0, 1_543.209_876), 0.01, Some(share)),
            measurement("count of price", (0.0, 3.0), 1.0, Some(share)),
        ],
        outputs: vec![
            output("lang", "string", &[], None),
            output("total", "decimal(2)", &[0], Some(4_623.5)),
            output("mean", "float", &[1, 0], None),
        ],
        total,
        policy: None,
        total_as_epsilon: vec![
            EpsilonAt { delta: 1e-5, epsilon: 4.801_23 },
            EpsilonAt { delta: 1e-6, epsilon: 5.256_52 },
            EpsilonAt { delta: 1e-9, epsilon: 6.437_1 },
        ],
        learnt_bounds: Vec::new(),
        warnings: Vec::new(),
    };
    let account =
        Account { total: rho("1", "1e-5"), spent: rho("0.75", "0"), left: rho("0.25", "1e-5") };
    quoted("bo", explanation, account, total, Standing::New)
}

/// A choice between two kinds of mechanisms.
fn chosen(noise: NoiseKind, to_appear: f64) -> ChoiceExplanation {
    let usefulness = Usefulness { to_appear, to_be_precise: 113.2, relative_error: 0.1 };
    let private = to_appear > 0.0;
    ChoiceExplanation {
        noise,
        selection_share: private.then_some(0.375),
        usefulness,
        runner_up: Some(RunnerUp {
            noise: NoiseKind::Gaussian,
            strategy: private.then_some(Strategy::Sips),
            usefulness: Usefulness { to_be_precise: 160.1, ..usefulness },
        }),
    }
}

/// Groups chosen by a strategy, a count that it gives or not.
pub(super) fn private(strategy: Strategy) -> QuestionQuote {
    let weighted = strategy.by_membership() && strategy != Strategy::SingleVote;
    let gaussian = strategy == Strategy::GaussianThreshold;
    let measured = strategy == Strategy::MeasuredCount;
    let make = if gaussian { rho } else { epsilon };
    let (total, half) = (make("1", "1e-6"), make("0.5", "1e-6"));
    let count_loss =
        (!strategy.gives_count()).then(|| make(if measured { "1" } else { "0.5" }, "0"));
    let name = if measured { "count of rows" } else { "count of privacy units" };
    let mut choice = chosen(if gaussian { NoiseKind::Gaussian } else { NoiseKind::Laplace }, 51.0);
    choice.selection_share = choice.selection_share.filter(|_| !measured);
    let explanation = Explanation {
        intervals: noise_only(),
        condition: Some("age >= 18".to_owned()),
        precision: Vec::new(),
        advice: vec!["twice the epsilon: half of the noise".to_owned()],
        join_limits: Vec::new(),
        population: "posts".to_owned(),
        tables: vec!["posts".to_owned()],
        privacy_unit: "author".to_owned(),
        beside: None,
        neighbouring: Neighbouring::AddRemove,
        max_groups_contributed: 1_000,
        max_rows_joined: None,
        groups: GroupsExplanation::Private(Box::new(PrivateGroups {
            strategy,
            sizes_in: match strategy {
                Strategy::MeasuredCount => GroupSize::Rows,
                _ => GroupSize::Units,
            },
            loss: match strategy {
                Strategy::MeasuredCount => make("0", "1e-6"),
                other if other.gives_count() => total,
                _ => half,
            },
            threshold: (strategy.gives_count() || weighted || measured).then_some(51.5),
            keep: vec![
                KeepProbability { units: 1, probability: 4.634_2e-7 },
                KeepProbability { units: 10, probability: 0.000_018_245 },
                KeepProbability { units: 100, probability: 0.999_999_5 },
            ],
            units_for_half: 51,
            units_for_half_alone: (strategy == Strategy::Sips).then_some(17),
            min_units: gaussian.then_some(5),
            known_groups: gaussian.then_some(20),
            known_groups_threshold: gaussian.then_some(0),
            rounds: match strategy {
                Strategy::Sips => vec![
                    RoundExplanation { sigma: 31.9, threshold: 168.0 },
                    RoundExplanation { sigma: 11.3, threshold: 56.2 },
                    RoundExplanation { sigma: 4.0, threshold: 51.5 },
                ],
                Strategy::WeightedGaussian => {
                    vec![RoundExplanation { sigma: 3.7, threshold: 51.5 }]
                }
                _ => Vec::new(),
            },
        })),
        choice,
        measurements: vec![measurement(name, (0.0, 1.0), 1.0, count_loss)],
        outputs: vec![
            output("forum", "string", &[], None),
            output("authors", "int", &[0], Some(12.0)),
        ],
        total,
        policy: None,
        total_as_epsilon: if gaussian {
            vec![EpsilonAt { delta: 1e-5 + 1e-6, epsilon: 7.786_1 }]
        } else {
            Vec::new()
        },
        learnt_bounds: Vec::new(),
        warnings: Vec::new(),
    };
    let account =
        Account { total: make("3", "1e-5"), spent: make("0", "0"), left: make("3", "1e-5") };
    quoted("ana", explanation, account, total, Standing::New)
}

/// A quote of one query.
fn quoted(
    analyst: &str,
    explanation: Explanation,
    account: Account,
    charge: Loss,
    standing: Standing,
) -> QuestionQuote {
    let (population, total) = (explanation.population.clone(), explanation.total);
    let part = PartQuote {
        name: "part_1".to_owned(),
        sql: "SELECT".to_owned(),
        weight: None,
        reads: Vec::new(),
        report_of: Vec::new(),
        limits_from: Vec::new(),
        is_histogram: false,
        same_as: None,
        automatic: Vec::new(),
        explanation,
        mechanisms: Vec::new(),
        limits: Vec::new(),
        standing,
    };
    QuestionQuote {
        analyst: analyst.to_owned(),
        parts: vec![part],
        around: None,
        consistent: Vec::new(),
        together: None,
        accounts: vec![AccountQuote { population, total, account, charge }],
        answered_before: None,
    }
}
