//! The quote in words and numbers, for people and for programs.

mod cut_off;
mod join_limits;
mod limits;
mod mechanisms;
mod policy;
mod precision;
mod workload;
mod written;

use hushtable_contract::{LearntBounds, NoiseKind};
use hushtable_lang::{ColumnType, Expr, ExprKind, Value};
use hushtable_mechanisms::{Additive, AdditiveLaw, Selection, Strategy, SumMechanism};
use hushtable_plan::{
    Beside, Clamps, Groups, Measure, Measurement, Thresholds, Warning, is_gaussian, known_groups,
};
use hushtable_privacy::{
    Loss, LossCurve, Neighbouring, gaussian_epsilon_at, normal_quantile, zcdp_epsilon_at,
};
use serde::{Deserialize, Serialize};

use crate::drawn_together::{Joint, QuantileReach};
use crate::group_size::GroupSize;
use crate::measurement_noise::{Noise, NoiseByClass};
use crate::objective::Usefulness;
use crate::quote::Quote;
use crate::runner_up::RunnerUp;
pub use join_limits::{JoinExplanation, JoinLimitExplanation, TighterLimit};
pub use limits::LimitExplanation;
pub use mechanisms::{MechanismComparison, MechanismsExplanation, MechanismsOnData, SizeQuantile};
pub use policy::{
    ClassThreshold, ClassesExplanation, ExchangeExplanation, Met, PolicyExample, PolicyExplanation,
    PolicyTermExplanation, policy_of, policy_of_noise, rho_at,
};
use policy::{delta_of_pieces, explain_policy};
pub use precision::{HalfWidth, PrecisionExplanation};
pub use workload::{JointExplanation, JointPolicy, JointTerm, WholePieces};

/// Most different outputs of a statement whose precision is explained.
const MAX_PRECISE: usize = 20;

/// Probability that intervals cover.
pub const INTERVAL_LEVEL: f64 = 0.95;

/// Everything that a quote promises: what `explain` shows and the statement of a release carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Whose budget pays: a population of the contract.
    pub population: String,
    /// The tables that are read.
    pub tables: Vec<String>,
    /// The condition on rows, as it was understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// `row`, or the column of the privacy unit.
    pub privacy_unit: String,
    /// A further population whose units the rows belong to. Its budget pays the same, and its units
    /// are protected as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// Which tables are neighbours.
    pub neighbouring: Neighbouring,
    /// Most groups that one unit enters.
    pub max_groups_contributed: u32,
    /// Most rows of one unit on each side of a join in which its rows can meet each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows_joined: Option<u32>,
    /// How groups come to appear.
    pub groups: GroupsExplanation,
    /// How noise, strategy and split were chosen.
    pub choice: ChoiceExplanation,
    /// The measurements.
    pub measurements: Vec<MeasurementExplanation>,
    /// The columns that are shown.
    pub outputs: Vec<OutputExplanation>,
    /// How precise each output with noise is, by the size of a group.
    pub precision: Vec<PrecisionExplanation>,
    /// Changes that would make outputs more precise.
    pub advice: Vec<String>,
    /// The limits on the rows of a unit in joins that the noise follows from, with the noise that
    /// tighter ones would give.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub join_limits: Vec<JoinLimitExplanation>,
    /// The scope of intervals.
    pub intervals: IntervalsExplanation,
    /// The loss that is charged.
    pub total: Loss,
    /// The possible loss of a record that is larger than a threshold, where sums are not clamped;
    /// the total is then that of a record at the thresholds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyExplanation>,
    /// For a total in rho: the epsilon that it implies at some deltas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub total_as_epsilon: Vec<EpsilonAt>,
    /// The bounds that are on record from an earlier question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learnt_bounds: Vec<LearntBounds>,
    /// Probable mistakes in the query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// How noise, strategy and the split of the budget were chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChoiceExplanation {
    /// The noise.
    pub noise: NoiseKind,
    /// The share of epsilon or rho for choosing groups, with the noisy counts where it gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection_share: Option<f64>,
    /// The sizes from which on groups are of use, which are the least of all mechanisms at this
    /// cost.
    pub usefulness: Usefulness,
    /// The second best, where there were several to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<RunnerUp>,
}

/// The scope of intervals around released values, of any level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalsExplanation {
    /// `noise only`: they hold the value of the same bounded contributions without noise.
    pub cover: String,
    /// Everything that bounds cut off: no interval holds it.
    pub not_in_them: Vec<String>,
}

/// (epsilon, delta) implied by a rho, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpsilonAt {
    /// The delta.
    pub delta: f64,
    /// The epsilon.
    pub epsilon: f64,
}

/// Contribution of a record to its group. Secret: no Debug.
#[derive(Clone, Copy)]
pub struct RecordContribution<'a> {
    /// To each measurement that adds up what rows have, in lattice steps.
    pub sums: &'a [i128],
    /// Its number of pieces, where groups are chosen by them; otherwise 1.
    pub pieces: i128,
    /// The keys of its group.
    pub keys: &'a [Value],
}

impl EpsilonAt {
    /// Promise of a quote in epsilon and delta. A total in epsilon is the promise itself; one in
    /// rho takes `more` of delta (above 0, below 1) beside the delta that it has.
    pub fn promised(quote: &Quote, more: f64) -> Self {
        match quote.total() {
            Loss::Approximate { epsilon, delta } => {
                Self { delta: delta.to_f64(), epsilon: epsilon.to_f64() }
            }
            Loss::Concentrated { rho, .. } => Self::of_rho(quote, rho.to_f64(), more),
        }
    }

    /// Computes what a quote with sums that are not clamped promises a record. As secret as the
    /// record. `None` where every sum is clamped.
    pub fn of_record(quote: &Quote, record: &RecordContribution<'_>, more: f64) -> Option<Self> {
        let met = |_, measurement: &Measurement, thresholds: &Thresholds| match thresholds.by_key()
        {
            Some((key, _)) => {
                [record.keys.get(key).map_or(measurement.high, |k| thresholds.of(k)); 2]
            }
            None => [measurement.high; 2],
        };
        let policy = policy_of(quote, &met)?;
        let added = quote.query().measurements().iter().filter(|m| m.measure.adds_up());
        let split = added.zip(record.sums).filter(|(m, _)| m.measure.per_record().is_some());
        let values: Vec<f64> = split.map(|(m, &v)| v as f64 * m.step.to_f64()).collect();
        let pieces = record.pieces as f64;
        let mut promised = Self::of_rho(quote, policy.exact_in_pieces(&values, pieces), more);
        promised.delta = more + delta_of_pieces(quote, pieces).unwrap_or(0.0);
        Some(promised)
    }

    fn of_rho(quote: &Quote, rho: f64, more: f64) -> Self {
        Self {
            // A threshold or approximate zCDP adds to delta once.
            delta: more + quote.total().delta().to_f64(),
            epsilon: if all_gaussian(quote) {
                gaussian_epsilon_at((2.0 * rho).sqrt() * (1.0 + 1e-15), more)
            } else {
                zcdp_epsilon_at(rho, more)
            },
        }
    }
}

/// How groups come to appear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "chosen", rename_all = "snake_case")]
pub enum GroupsExplanation {
    /// No GROUP BY: one row, always shown.
    Single,
    /// All combinations of public keys.
    Public {
        /// How many.
        groups: usize,
        /// Whether the query names all of them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_query: bool,
    },
    /// Chosen privately.
    Private(Box<PrivateGroups>),
}

/// How groups are chosen privately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivateGroups {
    /// The strategy.
    pub strategy: Strategy,
    /// The unit of sizes: `units_for_half` and others are numbers of these.
    #[serde(default, skip_serializing_if = "GroupSize::is_units")]
    pub sizes_in: GroupSize,
    /// Cost of choosing (with the noisy counts, where it gives them).
    pub loss: Loss,
    /// The noisy count that a group must reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Probabilities that groups appear, by their number of units.
    pub keep: Vec<KeepProbability>,
    /// The size from which on groups are shown: with it they appear with probability 1/2 or more,
    /// even if their units are in as many other groups as they may be.
    pub units_for_half: u64,
    /// The group size with that chance where those other groups have appeared before; absent where
    /// that is no help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units_for_half_alone: Option<u64>,
    /// Least number of units of a group that may appear, where it is more than 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_units: Option<u64>,
    /// How many groups are known without the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_groups: Option<usize>,
    /// The noisy count that a known group must reach to be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_groups_threshold: Option<i64>,
    /// Noise and threshold of every round, in units of weight, where units divide a weight over
    /// their groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundExplanation>,
}

/// One round of selection by weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundExplanation {
    /// Standard deviation of the noise.
    pub sigma: f64,
    /// Noisy weights at or above it make a group appear.
    pub threshold: f64,
}

/// The probability that a group appears.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeepProbability {
    /// Its number of units.
    pub units: u64,
    /// The probability.
    pub probability: f64,
}

/// One measurement with its mechanism.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasurementExplanation {
    /// A name for readers, such as "sum of pay".
    pub name: String,
    /// `discrete_laplace`, `rounded_gaussian`, `exponential` for quantiles, or the selection whose
    /// noisy count it is.
    pub mechanism: String,
    /// Least and greatest contribution of one unit to a group, in the column's units; for a
    /// quantile the range that values are clamped to.
    pub bounds: (f64, f64),
    /// Where rows are bounded one by one: what of each row counts, and how many rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_row: Option<PerRowExplanation>,
    /// Where several rows of a unit are bounded one by one: what all of them must add up to at most
    /// for less noise if their sum is clamped in their place, in the column's units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearer_sum_bound: Option<f64>,
    /// Multiples that contributions are rounded to, in the column's units.
    pub granularity: f64,
    /// Scale b of a Laplace or sigma of a Gaussian, in the column's units; for other mechanisms the
    /// standard error of the estimate of a sum of zero. Absent for a quantile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_scale: Option<f64>,
    /// Half-width of the 95 % interval around the released value, in the column's units; absent
    /// where it depends on that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width_95: Option<f64>,
    /// Half-widths of intervals that hold the exact values of many groups at once with probability
    /// 95 %.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub simultaneous_95: Vec<SimultaneousInterval>,
    /// The 95 % interval as a function of the released value, where that is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<IntervalExplanation>,
    /// How near a quantile is to be expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantile: Option<QuantileExplanation>,
    /// The interval around a quantile that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<ReachExplanation>,
    /// Its cost; absent where the selection has paid for it. With a threshold, what it costs a
    /// record of that size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The splitting threshold, in the column's units, where contributions are not clamped; the
    /// largest, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_threshold: Option<f64>,
    /// The noise by the class of a group, where groups of different classes have different
    /// thresholds: the scale and the interval above are then the largest of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<ClassExplanation>,
}

/// How the rows of a unit count in a group, where they are bounded one by one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerRowExplanation {
    /// Least and greatest value, in the column's units; others are clamped.
    pub bounds: (f64, f64),
    /// Whether each row is clamped, or the mean of those that count.
    pub clamps: Clamps,
    /// Most rows of a unit that count, of those that have a value.
    pub rows: u32,
}

/// An interval around each of many released values that holds all the exact ones with probability
/// 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimultaneousInterval {
    /// How many groups.
    pub groups: u64,
    /// Half of its width, in the column's units.
    pub half_width: f64,
}

/// How near a released quantile is to the exact one, by the number of values in between.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantileExplanation {
    /// Which quantile: 0.5 for the median.
    pub percentile: f64,
    /// Most rows of a unit in a group that count.
    pub rows_per_unit: u32,
    /// A value is e^rate times less likely for each value of the group between it and the quantile.
    pub rate: f64,
    /// The levels in which it is drawn together with others of the same values. The rate is then
    /// for the exact quantile of the values between the points of the levels before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<usize>,
    /// With probability 95 % there are no more values in between where the gaps between
    /// neighbouring values weigh alike.
    pub values_between_95_even: f64,
    /// The number of values in between with probability 95 %, whatever the values are.
    pub values_between_95: f64,
}

/// How far the interval around a quantile reaches, which is drawn with all others of the same
/// values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReachExplanation {
    /// Which quantile it is around: 0.5 for the median.
    pub percentile: f64,
    /// Most rows of a unit in a group that count.
    pub rows_per_unit: u32,
    /// How often the intervals around all of these quantiles hold them, in percent.
    pub level: f64,
    /// How many intervals are drawn together.
    pub intervals: usize,
    /// An interval is e^rate times less likely for each value that there are more or fewer from the
    /// quantile to the nearer end than are aimed at.
    pub rate: f64,
    /// The number of values from the quantile to the nearer end that is aimed at.
    pub values_aimed_at: f64,
}

/// A 95 % interval around a transformed sum, as a function of the released value x. It is for the
/// sum, or for zero where the sum is below zero; an end below zero is zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IntervalExplanation {
    /// (x + offset) low_factor - offset to (x + offset) high_factor - offset.
    Log {
        /// In the column's units.
        offset: f64,
        /// e^(s^2/2 - 1.96 s) for the noise's standard deviation s.
        low_factor: f64,
        /// e^(s^2/2 + 1.96 s).
        high_factor: f64,
    },
    /// offset (max(1, r - reach)^2 - 1) to offset ((r + reach)^2 - 1), for r = sqrt(x/offset + 1 +
    /// variance).
    Sqrt {
        /// In the column's units.
        offset: f64,
        /// s^2 for the noise's standard deviation s.
        variance: f64,
        /// 1.96 s.
        reach: f64,
    },
}

/// The noise in the groups of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassExplanation {
    /// The class, a value of the column that tells it; absent for all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Scale of the noise, in the column's units.
    pub noise_scale: f64,
    /// Half-width of the 95 % interval, in the column's units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width_95: Option<f64>,
    /// The interval as a function, like that of the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<IntervalExplanation>,
}

/// One column that is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputExplanation {
    /// Heading.
    pub name: String,
    /// Type.
    #[serde(rename = "type")]
    pub column_type: String,
    /// Positions of the measurements that it is computed from; none for keys.
    pub measurements: Vec<usize>,
    /// Half-width of the 95 % interval, where the column is one measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width_95: Option<f64>,
    /// How near it is, where the column is one quantile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_between_95_even: Option<f64>,
}

impl Explanation {
    /// Explains a quote.
    pub fn new(quote: &Quote) -> Self {
        Self::of_part(quote, 1)
    }

    /// Explains a quote that is one of several parts of a statement: how precise outputs are is
    /// computed for a number of them, which the parts share.
    pub fn of_part(quote: &Quote, parts: usize) -> Self {
        let query = quote.query();
        // Numbers of groups that are looked at together: how many appear, nobody knows before.
        let public =
            || query.keys().iter().map(|k| k.public.as_ref().map_or(0, Vec::len)).product();
        let many = match query.groups() {
            Groups::Single => Vec::new(),
            Groups::Public => [public()].into_iter().filter(|&groups| groups > 1).collect(),
            Groups::Private { .. } => vec![10, 100, 1000],
        };
        let measurements: Vec<MeasurementExplanation> = query
            .measurements()
            .iter()
            .zip(quote.noise())
            .enumerate()
            .map(|(index, (measurement, noise))| {
                let step = measurement.step.to_f64();
                MeasurementExplanation {
                    nearer_sum_bound: quote.nearer_sum_bound(index).map(|bound| bound * step),
                    ..explain_measurement(measurement, noise, quote.selection(), &many)
                }
            })
            .collect();
        let outputs = query
            .outputs()
            .iter()
            .map(|output| {
                explain_output(&output.name, &output.expr, query.keys().len(), &measurements)
            })
            .collect();
        let groups = match (quote.selection(), query.groups()) {
            (Some(selection), _) => explain_selection(selection, quote),
            (None, Groups::Single) => GroupsExplanation::Single,
            (None, _) => {
                let by_query = query.keys().iter().all(|key| key.by_query);
                GroupsExplanation::Public { groups: public(), by_query }
            }
        };
        let total_as_epsilon = match quote.total() {
            Loss::Approximate { .. } => Vec::new(),
            Loss::Concentrated { .. } => {
                [1e-5, 1e-6, 1e-9].into_iter().map(|d| EpsilonAt::promised(quote, d)).collect()
            }
        };
        let join_limits = JoinLimitExplanation::of(quote);
        let mut advice = precision::advice(quote);
        advice.extend(join_limits.iter().map(|limit| limit.in_words(query)));
        Self {
            population: query.population().to_owned(),
            tables: query.relation().tables().into_iter().map(str::to_owned).collect(),
            condition: query
                .filter()
                .map(|filter| written::expression_sql(filter, query.columns())),
            privacy_unit: query.unit_name().to_owned(),
            beside: query.relation().beside().cloned(),
            neighbouring: query.neighbouring(),
            max_groups_contributed: query.max_groups_contributed(),
            max_rows_joined: query.relation().max_rows_joined(),
            groups,
            choice: ChoiceExplanation {
                noise: quote.noise_kind(),
                selection_share: quote.selection_share(),
                usefulness: quote.stated_usefulness(),
                runner_up: quote.runner_up(),
            },
            measurements,
            outputs,
            precision: precision::precision(quote, MAX_PRECISE / parts.max(1)),
            advice,
            join_limits,
            intervals: IntervalsExplanation {
                cover: "noise only".to_owned(),
                not_in_them: cut_off::cut_off(query),
            },
            total: quote.total(),
            policy: explain_policy(quote),
            total_as_epsilon,
            learnt_bounds: query.learnt().to_vec(),
            warnings: query.warnings().to_vec(),
        }
    }
}

/// Whether all noise is Gaussian: then the losses compose exactly, as Gaussian differential privacy
/// with mu^2 = 2 rho (theory section 5), and epsilon is smaller than zCDP alone says.
fn all_gaussian(quote: &Quote) -> bool {
    let selected = quote.selection().map(Selection::strategy);
    quote.noise().iter().all(Noise::is_gaussian) && selected.is_none_or(is_gaussian)
}

fn explain_selection(selection: &Selection, quote: &Quote) -> GroupsExplanation {
    let query = quote.query();
    let known_groups_threshold = match query.groups() {
        Groups::Private { known_threshold, .. } => known_threshold,
        Groups::Single | Groups::Public => None,
    };
    let (half, alone) = (selection.half_size(), selection.half_size_alone());
    let keep = |units| KeepProbability { units, probability: selection.keep_probability(units) };
    let private = PrivateGroups {
        strategy: selection.strategy(),
        sizes_in: quote.group_size(),
        loss: selection.loss(),
        threshold: selection.threshold(),
        keep: [1, 10, 100].into_iter().map(keep).collect(),
        units_for_half: half,
        // A measured count has this size in units, not in rows.
        units_for_half_alone: Some(alone)
            .filter(|&alone| alone < half && quote.deciding_count().is_none()),
        min_units: (selection.least() > 1).then_some(selection.least()),
        known_groups: Some(known_groups(query.keys()).len()).filter(|&n| n > 0),
        known_groups_threshold,
        rounds: selection
            .rounds()
            .into_iter()
            .map(|(sigma, threshold)| RoundExplanation { sigma, threshold })
            .collect(),
    };
    GroupsExplanation::Private(Box::new(private))
}

fn explain_measurement(
    measurement: &Measurement,
    noise: &Noise,
    selection: Option<&Selection>,
    many: &[usize],
) -> MeasurementExplanation {
    let step = measurement.step.to_f64();
    let (mechanism, scale) = match (noise, noise.largest(), selection) {
        (_, Some(largest), _) => (mechanism_name(largest), Some(largest.scale())),
        (Noise::Tied(tied), ..) => {
            let name = if tied.noise.is_gaussian() { "joint_gaussian" } else { "joint_laplace" };
            (name.to_owned(), noise.deviation())
        }
        (Noise::Quantile(_), ..) => ("exponential".to_owned(), None),
        (Noise::Joint(_), ..) => ("joint_exponential".to_owned(), None),
        (Noise::Reach(_), ..) => ("interval_exponential".to_owned(), None),
        (_, None, Some(selection)) => {
            (format!("noisy count of {}", selection.strategy()), selection.noise_scale())
        }
        (_, None, None) => (String::new(), None),
    };
    // In the column's units.
    let half_width = |groups: u64| {
        let steps = match (noise, noise.largest(), selection) {
            (_, Some(largest), _) => largest.half_width(INTERVAL_LEVEL, groups)?,
            (Noise::OfSelection, None, Some(selection)) => {
                selection.noise_half_width(INTERVAL_LEVEL, groups)? as f64
            }
            (Noise::Tied(tied), ..) => {
                tied.noise.half_width(tied.role, INTERVAL_LEVEL, groups) as f64
            }
            _ => return None,
        };
        Some(steps * step)
    };
    let simultaneous = many.iter().filter_map(|&groups| {
        let groups = groups as u64;
        Some(SimultaneousInterval { groups, half_width: half_width(groups)? })
    });
    let bounds = match measurement.measure {
        Measure::Units => (0.0, 1.0),
        _ => (measurement.low as f64 * step, measurement.high as f64 * step),
    };
    MeasurementExplanation {
        name: measurement.name.clone(),
        mechanism,
        bounds,
        per_row: match measurement.measure {
            Measure::SumOfRows { low, high, clamps, rows, .. } => {
                let bounds = (low as f64 * step, high as f64 * step);
                Some(PerRowExplanation { bounds, clamps, rows })
            }
            _ => None,
        },
        nearer_sum_bound: None,
        granularity: step,
        noise_scale: scale.map(|scale| scale * step),
        half_width_95: half_width(1),
        simultaneous_95: simultaneous.collect(),
        interval_95: noise.largest().and_then(|largest| interval_of(largest, step)),
        quantile: quantile(measurement, noise),
        reach: reach(measurement, noise),
        loss: noise.loss(),
        split_threshold: measurement.thresholds().map(|_| measurement.high as f64 * step),
        by_class: by_class(measurement, noise),
    }
}

fn quantile(measurement: &Measurement, noise: &Noise) -> Option<QuantileExplanation> {
    let Measure::Quantile { rows, percentile, .. } = measurement.measure else { return None };
    let (rate, even, worst, levels) = match noise {
        Noise::Quantile(mechanism) => (
            mechanism.rate(),
            mechanism.rank_distance_even(INTERVAL_LEVEL),
            mechanism.rank_distance(INTERVAL_LEVEL),
            None,
        ),
        Noise::Joint(Joint { nth, draws, .. }) => (
            draws.rate(*nth),
            draws.rank_distance_even(*nth, INTERVAL_LEVEL),
            draws.rank_distance(*nth, INTERVAL_LEVEL),
            Some(draws.events().len()),
        ),
        _ => return None,
    };
    Some(QuantileExplanation {
        percentile: percentile.to_f64(),
        rows_per_unit: rows,
        rate,
        levels,
        values_between_95_even: even,
        values_between_95: worst,
    })
}

fn reach(measurement: &Measurement, noise: &Noise) -> Option<ReachExplanation> {
    let Noise::Reach(QuantileReach { draws, .. }) = noise else { return None };
    let Measure::Quantile { rows, percentile, reach, .. } = measurement.measure else {
        return None;
    };
    Some(ReachExplanation {
        percentile: percentile.to_f64(),
        rows_per_unit: rows,
        level: reach?.percent(),
        intervals: draws.quantiles(),
        rate: draws.rate(),
        values_aimed_at: draws.aim(),
    })
}

/// The noise of each class of groups, the default class last; none where all groups have the same.
fn by_class(measurement: &Measurement, noise: &Noise) -> Vec<ClassExplanation> {
    let Noise::ByClass(NoiseByClass { classes, others, .. }) = noise else { return Vec::new() };
    let step = measurement.step.to_f64();
    let listed = classes.iter().map(|(value, mechanism)| (Some(value.to_string()), mechanism));
    let explained = |(class, mechanism): (Option<String>, &SumMechanism)| ClassExplanation {
        class,
        noise_scale: mechanism.scale() * step,
        half_width_95: mechanism.half_width(INTERVAL_LEVEL, 1).map(|width| width * step),
        interval_95: interval_of(mechanism, step),
    };
    listed.chain([(None, others)]).map(explained).collect()
}

fn mechanism_name(mechanism: &SumMechanism) -> String {
    match (mechanism.additive().map(Additive::law), mechanism.per_record()) {
        (Some(AdditiveLaw::DiscreteLaplace(_)), _) => "discrete_laplace".to_owned(),
        (Some(AdditiveLaw::RoundedGaussian(_)), _) => "rounded_gaussian".to_owned(),
        (None, Some(record)) => record.mechanism().to_string().to_lowercase(),
        (None, None) => String::new(),
    }
}

/// The interval around a transformed sum, in units of which a lattice step has `step`.
fn interval_of(mechanism: &SumMechanism, step: f64) -> Option<IntervalExplanation> {
    let deviations = normal_quantile(0.5 * (1.0 - INTERVAL_LEVEL));
    Some(match mechanism.per_record()?.growth().in_units_of(step) {
        LossCurve::Log { offset, deviation } => {
            let (middle, away) = (0.5 * deviation * deviation, deviations * deviation);
            let low_factor = (middle - away).exp();
            IntervalExplanation::Log { offset, low_factor, high_factor: (middle + away).exp() }
        }
        LossCurve::Sqrt { offset, deviation } => IntervalExplanation::Sqrt {
            offset,
            variance: deviation * deviation,
            reach: deviations * deviation,
        },
        LossCurve::Gaussian { .. } | LossCurve::ExponentialPolylogarithmic { .. } => return None,
    })
}

fn explain_output(
    name: &str,
    expr: &Expr,
    keys: usize,
    measurements: &[MeasurementExplanation],
) -> OutputExplanation {
    let mut used = Vec::new();
    expr.visit_columns(&mut |i| {
        if let Some(at) = i.checked_sub(keys)
            && !used.contains(&at)
        {
            used.push(at);
        }
    });
    let alone = match &expr.kind {
        ExprKind::Column(_) => true,
        // As PERCENTILE_CONT has it.
        ExprKind::Cast(inner) => {
            let types = (inner.column_type, expr.column_type);
            matches!(inner.kind, ExprKind::Column(_))
                && types == (ColumnType::Int, ColumnType::Float)
        }
        _ => false,
    };
    let measurement = match used.as_slice() {
        [only] if alone => measurements.get(*only),
        _ => None,
    };
    let half_width_95 = measurement.and_then(|m| m.half_width_95);
    let values_between_95_even = measurement.and_then(|m| Some(m.quantile?.values_between_95_even));
    let column_type: ColumnType = expr.column_type;
    OutputExplanation {
        name: name.to_owned(),
        column_type: column_type.to_string(),
        measurements: used,
        half_width_95,
        values_between_95_even,
    }
}
