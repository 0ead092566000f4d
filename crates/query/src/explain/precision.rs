//! How precise outputs are, by the size of a group; and what would make them more precise.

use hushtable_mechanisms::Selection;
use hushtable_numbers::search::first_whole;
use hushtable_privacy::Loss;
use serde::{Deserialize, Serialize};

use crate::bind::{Clamps, Groups, Measure, Measurement};
use crate::expr::Expr;
use crate::interval::{Covered, Intervals, ReleasedRow};
use crate::intervals_wanted::IntervalsWanted;
use crate::measurement_noise::Noise;
use crate::quote::Quote;
use crate::types::Value;
use crate::wishes::NoiseKind;

/// Rows of the groups that precision is stated for.
const SIZES: [u64; 3] = [100, 1_000, 10_000];

/// How precise an output is, in groups of made-up rows: each has a value in the middle of its
/// bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecisionExplained {
    /// The output.
    pub name: String,
    /// Half of the width of the 95 % interval, in groups of some sizes; absent where it is
    /// infinite.
    pub half_widths: Vec<HalfWidth>,
    /// The rows of a group from which on that is a tenth of the value or less.
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
    /// Half of the width of the interval.
    pub half_width: f64,
}

/// The precision of all outputs with noise.
pub(super) fn precision(quote: &Quote) -> Vec<PrecisionExplained> {
    let query = quote.query();
    let intervals = Intervals::new(quote, IntervalsWanted::USUAL, 1);
    let known: Vec<Value> = intervals.known().iter().map(|_| Value::Null).collect();
    let keys: Vec<Value> = query.keys().iter().map(|_| Value::Null).collect();
    let at = |rows: u64, output: usize| {
        let steps: Vec<i128> = query.measurements().iter().map(|m| typical(m, rows)).collect();
        let row = ReleasedRow { keys: &keys, steps: &steps, rest: &[], known: &known };
        let (low, high) = intervals.of(&row).into_iter().nth(output)??;
        let (low, high) = (number(&low)?, number(&high)?);
        Some((0.5 * (high - low), 0.5 * (high + low)))
    };
    let reads_quantile = |expr: &Expr| {
        let mut reads = false;
        expr.visit_columns(&mut |column| {
            let own = column.checked_sub(query.keys().len());
            let own = own.and_then(|place| quote.noise().get(place));
            reads |= own.is_some_and(Noise::is_quantile);
        });
        reads
    };
    let sizes = sizes(quote);
    let outputs = query.outputs().iter().zip(intervals.covered()).enumerate();
    let told = outputs.filter_map(|(place, (output, covered))| {
        let name = output.name.clone();
        let without = match covered {
            Covered::Exact => return None,
            Covered::Without(why) => Some(why.reason()),
            Covered::Interval if reads_quantile(&output.expr) => {
                Some("is of a quantile, whose interval is drawn from the data")
            }
            Covered::Interval => None,
        };
        let half_widths: Vec<HalfWidth> = sizes
            .iter()
            .filter(|_| without.is_none())
            .filter_map(|&rows| Some(HalfWidth { rows, half_width: at(rows, place)?.0 }))
            .collect();
        let near =
            |rows: u64| at(rows, place).is_some_and(|(half, middle)| half <= 0.1 * middle.abs());
        let rows_for_tenth = (!half_widths.is_empty()).then(|| least(near)).flatten();
        let without = without.map(str::to_owned);
        Some(PrecisionExplained { name, half_widths, rows_for_tenth, without })
    });
    told.collect()
}

/// The sizes that precision is stated for: of those that are seen where groups are chosen by their
/// rows, one at least.
fn sizes(quote: &Quote) -> Vec<u64> {
    let threshold = quote.selection().filter(|_| quote.deciding_count().is_some());
    let threshold = threshold.and_then(Selection::threshold).unwrap_or(0.0);
    let seen: Vec<u64> = SIZES.into_iter().filter(|&rows| rows as f64 >= threshold).collect();
    if seen.is_empty() { vec![10f64.powf(threshold.log10().ceil()) as u64] } else { seen }
}

/// The released value, but for noise, in a group of that many rows with a value each in the middle
/// of its bounds.
fn typical(measurement: &Measurement, rows: u64) -> i128 {
    let middle = |low: i64, high: i64| (i128::from(low) + i128::from(high)) * i128::from(rows) / 2;
    match measurement.measure {
        Measure::Units | Measure::Rows | Measure::Values(_) | Measure::Distinct { .. } => {
            i128::from(rows)
        }
        Measure::SumOfRows { low, high, .. } => middle(low, high),
        // A record at the threshold, or the middle of the bounds.
        Measure::PerRecordSum(_) => middle(0, measurement.high),
        Measure::ClampedSum(_) | Measure::Quantile { .. } => {
            middle(measurement.low, measurement.high)
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    Some(match *value {
        Value::Int(n) => n as f64,
        Value::Decimal { digits, scale } => digits as f64 / 10f64.powi(scale.into()),
        Value::Float(x) => x,
        _ => return None,
    })
}

/// The least number from which on a condition holds, as far as halving shows; `None` where it does
/// not hold for four thousand millions.
fn least(holds: impl Fn(u64) -> bool) -> Option<u64> {
    let most = 1u64 << 32;
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
    let own = |noise: &Noise| !matches!(noise, Noise::OfSelection);
    let measured = quote.noise().iter().filter(|noise| own(noise)).count();
    let beside = query.relation().beside();
    if groups > 1 && query.groups() != Groups::Single && beside.is_none() {
        let times = less(f64::from(groups));
        all.push(format!(
            "max_groups_contributed = 1 in place of {groups}: about {} times less noise, \
             and more is cut off where one {unit} is in several groups",
            rounded(times)
        ));
    }
    let rows = |m: &Measurement| match m.measure {
        Measure::Rows | Measure::Values(_) => u32::try_from(m.high).ok(),
        Measure::SumOfRows { rows, clamps: Clamps::Rows, .. } => Some(rows),
        _ => None,
    };
    if let Some(most) = query.measurements().iter().filter_map(rows).max().filter(|most| *most > 1)
    {
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

fn rounded(times: f64) -> String {
    let text = format!("{times:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
