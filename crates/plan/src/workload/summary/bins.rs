//! Ranges of numbers for a histogram, from the bounds of a column alone.

use hushtable_numbers::Number;
use hushtable_numbers::decimal::FixedDecimal;

/// Whole numbers of at most this range have a bin each.
const SINGLE: f64 = 20.0;
/// Evenly spaced bins, about.
const EVEN: f64 = 10.0;
/// Numbers from zero up to at least this are mostly small: their bins grow.
const WIDE: f64 = 1_000.0;
/// Powers of ten below the upper bound that growing bins reach.
const DECADES: i32 = 4;

/// A range of numbers, from one edge to below the next; the outer ones have no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The least number in it, as a decimal.
    pub from: Option<String>,
    /// The least number above it, as a decimal.
    pub to: Option<String>,
    /// The whole number that it is about, where it is about one; at the ends `0 or less` and the
    /// like.
    pub single: Option<String>,
}

/// An edge: `digits * 10^exponent`.
#[derive(Clone, Copy)]
struct Edge {
    digits: i128,
    exponent: i32,
}

impl Edge {
    fn to_f64(self) -> f64 {
        self.digits as f64 * 10f64.powi(self.exponent)
    }

    fn text(self) -> String {
        match u8::try_from(-self.exponent) {
            Ok(scale) if scale > 0 => FixedDecimal { digits: self.digits, scale }.to_string(),
            _ => (self.digits * 10i128.pow(self.exponent.unsigned_abs())).to_string(),
        }
    }
}

/// The bins of numbers between bounds.
pub(super) fn bins(low: Number, high: Number, whole: bool) -> Vec<Bin> {
    let edges: Vec<String> = edges(low.to_f64(), high.to_f64(), whole)
        .into_iter()
        .filter(|edge| (low.to_f64()..=high.to_f64()).contains(&edge.to_f64()))
        .map(Edge::text)
        .collect();
    let singles = is_single(low.to_f64(), high.to_f64(), whole);
    let single = |from: &Option<String>, to: &Option<String>| match (from, to) {
        _ if !singles => None,
        (Some(from), Some(_)) => Some(from.clone()),
        (None, _) => Some(format!("{low} or less")),
        (Some(from), None) => Some(format!("{from} or more")),
    };
    let from = std::iter::once(None).chain(edges.iter().cloned().map(Some));
    let to = edges.iter().cloned().map(Some).chain(std::iter::once(None));
    from.zip(to).map(|(from, to)| Bin { single: single(&from, &to), from, to }).collect()
}

/// Whether each number has a bin of its own.
fn is_single(low: f64, high: f64, whole: bool) -> bool {
    whole && high > low && high - low <= SINGLE
}

fn edges(low: f64, high: f64, whole: bool) -> Vec<Edge> {
    let range = high - low;
    if range <= 0.0 {
        return Vec::new();
    }
    if is_single(low, high, whole) {
        let edge = |value: i128| Edge { digits: value, exponent: 0 };
        return (low as i128 + 1..=high as i128).map(edge).collect();
    }
    let least = if whole { 0 } else { i32::MIN };
    if low >= 0.0 && high >= WIDE && low * 100.0 <= high {
        let top = high.log10().floor() as i32;
        let decades = (top - DECADES).max(least)..=top;
        return decades
            .flat_map(|exponent| [1, 2, 5].map(|digits| Edge { digits, exponent }))
            .collect();
    }
    let Edge { digits: step, exponent } = round_up(range / EVEN, least);
    let size = Edge { digits: step, exponent }.to_f64();
    let (first, last) = ((low / size).floor() as i128 + 1, (high / size).ceil() as i128 - 1);
    (first..=last).map(|index| Edge { digits: index * step, exponent }).collect()
}

/// The least of 1, 2 and 5 times a power of ten that is no smaller.
fn round_up(value: f64, least_exponent: i32) -> Edge {
    let exponent = (value.log10().floor() as i32).max(least_exponent);
    let steps = [1, 2, 5, 10].map(|digits| Edge { digits, exponent });
    let largest = Edge { digits: 1, exponent: exponent + 1 };
    steps.into_iter().find(|step| step.to_f64() >= value).unwrap_or(largest)
}

/// The index of a number's bin, in SQL; NULL for NULL.
pub(super) fn case(bins: &[Bin], name: &str) -> String {
    let cases = bins.iter().enumerate().map(|(index, bin)| match (&bin.to, &bin.from) {
        (Some(to), _) => format!(" WHEN {name} < {to} THEN {index}"),
        (None, Some(from)) => format!(" WHEN {name} >= {from} THEN {index}"),
        (None, None) => format!(" WHEN {name} IS NOT NULL THEN {index}"),
    });
    format!("CASE{} END", cases.collect::<String>())
}
