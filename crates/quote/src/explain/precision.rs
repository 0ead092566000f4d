//! How precise outputs are, by the size of a group; and what would make them more precise.

use hushtable_contract::{IntervalRequest, NoiseKind};
use hushtable_lang::{Expr, Value};
use hushtable_mechanisms::Selection;
use hushtable_numbers::search::first_whole;
use hushtable_plan::{Beside, Clamps, Groups, Measure, Measurement};
use hushtable_privacy::Loss;
use serde::{Deserialize, Serialize};

use crate::interval::{IntervalCoverage, Intervals, ReleasedRow};
use crate::measurement_noise::Noise;
use crate::quote::Quote;

/// Rows of the groups that precision is stated for.
const SIZES: [u64; 3] = [100, 1_000, 10_000];

/// How precise an output is, in groups of made-up rows. 95 of 100 released values are within the
/// half width of the exact one, where the group is shown.
///
/// Where the output reads one sum, that is so whatever values the rows have within their bounds:
/// the worst of them count. Where it reads several, it is for values in the middle of their bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecisionExplanation {
    /// The output.
    pub name: String,
    /// The half widths in groups of some sizes; absent where they are infinite.
    pub half_widths: Vec<HalfWidth>,
    /// The rows of a group from which on that is a tenth or less of the value in the middle of its
    /// bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_for_tenth: Option<u64>,
    /// Why there is no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
}

/// How precise an output is in a group of some size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HalfWidth {
    /// Rows with a value in the group.
    pub rows: u64,
    /// The released value is no farther from the exact one in 95 of 100 groups.
    pub half_width: f64,
}

/// Where in its bounds the value of every row is.
#[derive(Clone, Copy, Debug)]
enum ValuePosition {
    Low,
    Middle,
    High,
}

/// The precision of the first `most` different outputs with noise. Each takes about a millisecond,
/// and a statement has room for thousands.
pub(super) fn precision(quote: &Quote, most: usize) -> Vec<PrecisionExplanation> {
    let query = quote.query();
    let intervals = Intervals::new(quote, IntervalRequest::USUAL, 1);
    let known: Vec<Value> = intervals.known().iter().map(|_| Value::Null).collect();
    let keys: Vec<Value> = query.keys().iter().map(|_| Value::Null).collect();
    let at = |rows: u64, output: usize, at: ValuePosition| {
        let steps: Vec<i128> = query.measurements().iter().map(|m| sum(m, rows, at)).collect();
        let row = ReleasedRow { keys: &keys, steps: &steps, rest: &[], known: &known };
        intervals.distance(output, &row)
    };
    let middle = |rows: u64, output: usize| {
        let sums = |m| sum(m, rows, ValuePosition::Middle);
        let steps: Vec<i128> = query.measurements().iter().map(sums).collect();
        let row = ReleasedRow { keys: &keys, steps: &steps, rest: &[], known: &known };
        intervals.exact(output, &row).map(f64::abs)
    };
    let reads = |expr: &Expr, predicate: &dyn Fn(usize) -> bool| {
        let mut indexes = Vec::new();
        expr.visit_columns(&mut |column| {
            let index = column.checked_sub(query.keys().len()).filter(|&index| predicate(index));
            indexes.extend(index.filter(|index| !indexes.contains(index)));
        });
        indexes.len()
    };
    let is_quantile = |index: usize| quote.noise().get(index).is_some_and(Noise::is_quantile);
    let is_sum =
        |index: usize| query.measurements().get(index).is_some_and(|m| !is_count(&m.measure));
    let visible = |rows: u64| is_often_shown(quote, rows);
    let sizes: Vec<u64> = SIZES.into_iter().filter(|&rows| visible(rows)).collect();
    let sizes = if sizes.is_empty() { first_visible(visible).into_iter().collect() } else { sizes };
    let mut earlier: Vec<(&Expr, PrecisionExplanation)> = Vec::new();
    let outputs = query.outputs().iter().zip(intervals.covered()).enumerate();
    let explained = outputs.filter_map(|(index, (output, covered))| {
        let name = output.name.clone();
        let without = match covered {
            IntervalCoverage::Exact => return None,
            IntervalCoverage::Without(why) => Some(why.reason()),
            IntervalCoverage::Interval if reads(&output.expr, &is_quantile) > 0 => {
                Some("is of a quantile, whose interval is drawn from the data")
            }
            IntervalCoverage::Interval => None,
        };
        if let Some(why) = without {
            let without = Some(why.to_owned());
            return Some(PrecisionExplanation {
                name,
                half_widths: Vec::new(),
                rows_for_tenth: None,
                without,
            });
        }
        let same = earlier.iter().find(|(expr, _)| **expr == output.expr);
        if let Some((_, same)) = same {
            return Some(PrecisionExplanation { name, ..same.clone() });
        }
        if earlier.len() >= most {
            return Some(PrecisionExplanation {
                name,
                half_widths: Vec::new(),
                rows_for_tenth: None,
                without: Some(LATER.to_owned()),
            });
        }
        let values: &[ValuePosition] = match reads(&output.expr, &is_sum) {
            1 => &[ValuePosition::Middle, ValuePosition::Low, ValuePosition::High],
            _ => &[ValuePosition::Middle],
        };
        let worst = |rows: u64, values: &[ValuePosition]| {
            let all = values.iter().map(|&value| Some((at(rows, index, value)?, value)));
            all.reduce(|one, other| Some(if one?.0 >= other?.0 { one? } else { other? })).flatten()
        };
        let of_sizes: Vec<(u64, f64, ValuePosition)> = sizes
            .iter()
            .filter_map(|&rows| worst(rows, values).map(|(half, value)| (rows, half, value)))
            .collect();
        // The values that are the worst in a large group are so in others.
        let rows_for_tenth = of_sizes.last().and_then(|&(rows, half, value)| {
            let near = |rows: u64| {
                let half = at(rows, index, value);
                let middle = middle(rows, index);
                visible(rows) && half.zip(middle).is_some_and(|(half, of)| half <= 0.1 * of)
            };
            let middle = middle(rows, index)?;
            least(rows as f64 * half / (0.1 * middle), near)
        });
        let half_widths = of_sizes.into_iter();
        let half_widths =
            half_widths.map(|(rows, half_width, _)| HalfWidth { rows, half_width }).collect();
        let explained = PrecisionExplanation { name, half_widths, rows_for_tenth, without: None };
        earlier.push((&output.expr, explained.clone()));
        Some(explained)
    });
    explained.collect()
}

/// Why an output has no ±, though it would have one in a smaller query.
const LATER: &str = "comes after many others: ask for it in a statement with fewer columns";

/// Whether a group of that many rows is shown so often that being shown says little about its
/// noise. Always so, unless the noise of what is shown decides about that.
fn is_often_shown(quote: &Quote, rows: u64) -> bool {
    let decides = quote.deciding_count().is_some()
        || quote.noise().iter().any(|noise| matches!(noise, Noise::OfSelection));
    let chance = quote.selection().filter(|_| decides);
    chance.is_none_or(|selection| selection.keep_probability(rows) >= Selection::SEEN_ANYWAY)
}

/// The least power of ten of rows with which a group is shown that often.
fn first_visible(visible: impl Fn(u64) -> bool) -> Option<u64> {
    (1..=18).map(|zeros| 10u64.pow(zeros)).find(|&rows| visible(rows))
}

fn is_count(measure: &Measure) -> bool {
    match measure {
        Measure::Units | Measure::Rows | Measure::Values(_) | Measure::Distinct { .. } => true,
        Measure::SumOfRows { .. }
        | Measure::PerRecordSum(_)
        | Measure::ClampedSum(_)
        | Measure::Quantile { .. } => false,
    }
}

/// The exact value of a measurement in a group of that many rows, whose values are all there.
fn sum(measurement: &Measurement, rows: u64, at: ValuePosition) -> i128 {
    let of = |low: i64, high: i64| match at {
        ValuePosition::Low => i128::from(low) * i128::from(rows),
        ValuePosition::Middle => (i128::from(low) + i128::from(high)) * i128::from(rows) / 2,
        ValuePosition::High => i128::from(high) * i128::from(rows),
    };
    match measurement.measure {
        Measure::Units | Measure::Rows | Measure::Values(_) | Measure::Distinct { .. } => {
            i128::from(rows)
        }
        Measure::SumOfRows { low, high, .. } => of(low, high),
        // Records up to the threshold.
        Measure::PerRecordSum(_) => of(0, measurement.high),
        Measure::ClampedSum(_) | Measure::Quantile { .. } => of(measurement.low, measurement.high),
    }
}

/// The least number from which on a condition holds, as far as halving shows; `None` where it does
/// not hold for four thousand millions. It is looked for near a guess first.
fn least(guess: f64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let most = 1u64 << 32;
    if guess.is_finite() && guess < most as f64 / 2.0 {
        for near in [1.02, 2.0] {
            let (low, high) = ((guess / near).floor() as u64, (guess * near).ceil() as u64);
            if holds(high) && (low == 0 || !holds(low)) {
                return Some(first_whole(low, high, holds));
            }
        }
    }
    holds(most).then(|| first_whole(0, most, holds))
}

/// Changes of the query after which there is less noise, each in a sentence.
pub(super) fn advice(quote: &Quote) -> Vec<String> {
    let query = quote.query();
    let mut all = Vec::new();
    let budget = query.loss().parameter();
    let unit = query.unit_name();
    let groups = query.max_groups_contributed();
    let laplace = quote.noise_kind() == NoiseKind::Laplace;
    let less = |times: f64| if laplace { times } else { times.sqrt() };
    let is_measured = |noise: &Noise| !matches!(noise, Noise::OfSelection);
    let measured = quote.noise().iter().filter(|noise| is_measured(noise)).count();
    let beside = query.relation().beside();
    if groups > 1 && query.groups() != Groups::Single && beside.is_none() {
        let times = less(f64::from(groups));
        all.push(format!(
            "max_groups_contributed = 1 in place of {groups}: about {} times less noise, \
             and more is cut off where one {unit} is in several groups",
            rounded(times)
        ));
    }
    all.extend(beside.and_then(|beside| of_rows_beside(quote, beside)));
    let rows = |m: &Measurement| match m.measure {
        Measure::Rows | Measure::Values(_) => u32::try_from(m.high).ok(),
        Measure::SumOfRows { rows, clamps: Clamps::Rows, .. } => Some(rows),
        _ => None,
    };
    let most_rows = query.measurements().iter().filter_map(rows).max();
    // Noise for a further population's rows stays.
    if let Some(most) = most_rows.filter(|most| *most > 1 && beside.is_none()) {
        all.push(format!(
            "max_rows_per_group = 1 in place of {most}: {most} times less noise in counts and sums \
             of rows, and more is cut off where one {unit} has several rows in a group"
        ));
    }
    let sums =
        |m: &&Measurement| matches!(m.measure, Measure::ClampedSum(_) | Measure::SumOfRows { .. });
    if let Some(sum) = query.measurements().iter().find(sums) {
        all.push(format!(
            "bounds half as large: half of the noise in the {}, and more is cut off",
            sum.name
        ));
    }
    if measured > 1 {
        all.push(format!(
            "fewer aggregates: {measured} numbers share the {budget} now; \
             or weight => 2 for the one that matters"
        ));
    }
    let times = match query.loss() {
        Loss::Approximate { .. } => "twice",
        Loss::Concentrated { .. } => "four times",
    };
    all.push(format!("{times} the {budget}: half of the noise"));
    all
}

/// The limit on rows of a further population's unit up to which it costs no noise, where there is a
/// tighter one.
fn of_rows_beside(quote: &Quote, beside: &Beside) -> Option<String> {
    let (rows, even) = (beside.rows, quote.query().most_rows_beside());
    (rows < even).then(|| {
        format!(
            "max_rows_contributed = {even} in place of {rows}: no more noise, and fewer rows of \
             one unit of {} are cut off",
            beside.population
        )
    })
}

fn rounded(times: f64) -> String {
    let text = format!("{times:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
