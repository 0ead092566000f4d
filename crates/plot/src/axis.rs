//! The range of an axis and its ticks.

use crate::Scale;

/// Larger numbers have no position: their differences might not be finite.
const MOST: f64 = 1e300;

/// Numbers from here on have a word: `1.5 million`.
const LEAST_NAMED: f64 = 1e6;

/// Numbers from here on have a power of ten: `1e15`.
const MOST_PLAIN: f64 = 1e15;

/// The part of a marked axis that is free at each end.
const ROOM: f64 = 0.02;

/// Approximate number of ticks.
const TICKS: f64 = 8.0;

impl Scale {
    /// Where a number is on an endless axis; `None` if it has no position.
    pub(crate) fn position(self, value: f64) -> Option<f64> {
        let in_range = value.is_finite() && value.abs() <= MOST;
        match self {
            Self::Linear => in_range.then_some(value),
            Self::Logarithmic => (in_range && value > 0.0).then(|| value.log10()),
        }
    }
}

/// The part of an axis that is shown. Numbers are positions: logarithms on a logarithmic axis.
#[derive(Clone, Debug)]
pub(crate) struct AxisRange {
    low: f64,
    high: f64,
    /// Positions in rising order, with their labels.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl AxisRange {
    /// From a little below to a little above all positions; `None` if there are none.
    pub(crate) fn around(scale: Scale, positions: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = positions
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)));
        if low > high {
            return None;
        }
        // All at (nearly) one position: leave room around it.
        let size = low.abs().max(high.abs());
        let flat = high - low <= 1e-9 * size || high == low;
        let room = match scale {
            Scale::Linear if size > 0.0 => 0.5 * size,
            Scale::Linear => 1.0,
            Scale::Logarithmic => 0.5,
        };
        let (low, high) = if flat { (low - room, high + room) } else { (low, high) };
        let ticks = match scale {
            Scale::Linear => linear(low, high),
            Scale::Logarithmic => logarithmic(low, high),
        };
        let (low, high) = (ticks.first()?.0, ticks.last()?.0);
        let ticks = ticks.into_iter().filter_map(|(at, label)| Some((at, label?))).collect();
        Some(Self { low, high, ticks })
    }

    /// From 0 to 1 without ticks, for a chart without points.
    pub(crate) fn empty() -> Self {
        Self { low: 0.0, high: 1.0, ticks: Vec::new() }
    }

    /// Around all marks and positions, with the marks as ticks; `None` if one has no position.
    pub(crate) fn marked(
        scale: Scale,
        marks: &[(f64, String)],
        positions: impl Iterator<Item = f64>,
    ) -> Option<Self> {
        let ticks: Option<Vec<(f64, String)>> =
            marks.iter().map(|(at, text)| Some((scale.position(*at)?, text.clone()))).collect();
        let ticks = ticks?;
        let mut all: Vec<f64> = positions.chain(ticks.iter().map(|(at, _)| *at)).collect();
        all.sort_by(f64::total_cmp);
        let (low, high) = (*all.first()?, *all.last()?);
        let half_gap = |all: &[f64]| {
            let gaps = all.windows(2).map(|pair| pair[1] - pair[0]);
            0.5 * gaps.filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min)
        };
        // Half of what is between names; less where the points are nearer than the marks.
        let marks: Vec<f64> = ticks.iter().map(|(at, _)| *at).collect();
        let room = half_gap(&marks).min(half_gap(&all).max(ROOM * (high - low)));
        let room = if room.is_finite() && room > 0.0 { room } else { 0.5 };
        Some(Self { low: low - room, high: high + room, ticks })
    }

    /// From 0 at the low end to 1 at the high end.
    pub(crate) fn share(&self, position: f64) -> f64 {
        (position - self.low) / (self.high - self.low)
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, the first and the last being the ends.
fn linear(low: f64, high: f64) -> Vec<(f64, Option<String>)> {
    let rough = (high - low) / TICKS;
    let exponent = rough.log10().floor() as i32;
    let (times, exponent) =
        match [1, 2, 5].into_iter().find(|t| f64::from(*t) * ten(exponent) >= rough) {
            Some(times) => (times, exponent),
            None => (1, exponent + 1),
        };
    let step = f64::from(times) * ten(exponent);
    let (first, last) = ((low / step).floor(), (high / step).ceil());
    let most = first.abs().max(last.abs()) * step;
    let count = (last - first) as u32;
    (0..=count)
        .map(|k| {
            let at = (first + f64::from(k)) * step;
            (at, Some(plain(at, exponent, most)))
        })
        .collect()
}

/// Powers of ten, and over less than two of them also 2 and 5 times these, the first and the last
/// being the ends.
fn logarithmic(low: f64, high: f64) -> Vec<(f64, Option<String>)> {
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    if high - low < 2.0 {
        let all: Vec<(f64, Option<String>)> = (first..=last)
            .flat_map(|k| [1, 2, 5].map(|times| (times, k)))
            .map(|(times, k)| (f64::from(times).log10() + f64::from(k), Some(power(times, k))))
            .collect();
        let from = all.iter().rposition(|(at, _)| *at <= low).unwrap_or(0);
        let to = all.iter().position(|(at, _)| *at >= high).unwrap_or(all.len() - 1);
        return all[from..=to].to_vec();
    }
    let every = [1, 2, 3, 5, 10, 20, 50, 100].into_iter().find(|e| (last - first) <= 8 * e);
    let every = every.unwrap_or(100);
    (first..=last)
        .map(|k| (f64::from(k), (k.rem_euclid(every) == 0).then(|| power(1, k))))
        .filter(|(at, label)| label.is_some() || *at == f64::from(first) || *at == f64::from(last))
        .collect()
}

fn ten(exponent: i32) -> f64 {
    10f64.powi(exponent)
}

/// A number on a linear axis whose steps have their first digit at 10^exponent.
fn plain(value: f64, exponent: i32, most: f64) -> String {
    if value == 0.0 && (most >= LEAST_NAMED || exponent < -5) {
        return "0".to_owned();
    }
    if let Some((name, power)) = named(most) {
        let decimals = (power - exponent).max(0);
        // More digits of a million are harder to read than all digits of the number.
        if decimals <= 3 {
            return format!("{} {name}", short(value / ten(power), decimals));
        }
    }
    if most < MOST_PLAIN && exponent >= -5 {
        return grouped(&format!("{value:.*}", exponent.min(0).unsigned_abs() as usize));
    }
    let digits = (value.abs().log10().floor() as i32 - exponent).clamp(0, 9);
    let text = format!("{value:.*e}", digits as usize);
    match text.split_once('e') {
        Some((number, power)) if number.contains('.') => {
            format!("{}e{power}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// `times` 10^k, in few letters.
fn power(times: i32, k: i32) -> String {
    let size = f64::from(times) * ten(k);
    match (k, named(size)) {
        (-3..=-1, _) => format!("0.{}{times}", "0".repeat(k.unsigned_abs() as usize - 1)),
        (_, Some((name, power))) => format!("{} {name}", short(size / ten(power), 0)),
        (0..=5, None) => grouped(&format!("{times}{}", "0".repeat(k.unsigned_abs() as usize))),
        _ => format!("{times}e{k}"),
    }
}

/// The word for the largest power of a thousand in a number, and the power of ten.
fn named(size: f64) -> Option<(&'static str, i32)> {
    match size {
        s if (LEAST_NAMED..1e9).contains(&s) => Some(("million", 6)),
        s if (1e9..1e12).contains(&s) => Some(("billion", 9)),
        s if (1e12..MOST_PLAIN).contains(&s) => Some(("trillion", 12)),
        _ => None,
    }
}

/// A number with so many decimals, without zeros at their end.
fn short(value: f64, decimals: i32) -> String {
    let text = format!("{value:.*}", decimals.unsigned_abs() as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A number with commas between thousands.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.trim_start_matches('-');
    let mut out = whole[..whole.len() - digits.len()].to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, values: &[f64]) -> String {
        let positions = values.iter().filter_map(|v| scale.position(*v));
        let range = AxisRange::around(scale, positions).unwrap();
        for value in values.iter().filter_map(|v| scale.position(*v)) {
            assert!((-1e-9..=1.0 + 1e-9).contains(&range.share(value)), "{value} of {range:?}");
        }
        range.ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round_and_short() {
        let linear: &[(&[f64], &str)] = &[
            (&[0.0, 1.0], "0.0 0.2 0.4 0.6 0.8 1.0"),
            (&[0.013, 4.9], "0 1 2 3 4 5"),
            (&[-3.0, 17.0], "-5 0 5 10 15 20"),
            (
                &[12.0, 3_250_000.0],
                "0 0.5 million 1 million 1.5 million 2 million 2.5 million 3 million 3.5 million",
            ),
            (
                &[-2e10, 9e10],
                "-20 billion 0 20 billion 40 billion 60 billion 80 billion 100 billion",
            ),
            (&[0.0, 90_000.0], "0 20,000 40,000 60,000 80,000 100,000"),
            (
                &[1_000_003.0, 1_000_009.0],
                "1,000,003 1,000,004 1,000,005 1,000,006 1,000,007 1,000,008 1,000,009",
            ),
            (&[0.0, 4e15], "0 5e14 1e15 1.5e15 2e15 2.5e15 3e15 3.5e15 4e15"),
            (&[1e-9, 6e-9], "1e-9 2e-9 3e-9 4e-9 5e-9 6e-9"),
            (&[7.0], "3 4 5 6 7 8 9 10 11"),
            (&[0.0], "-1.0 -0.5 0.0 0.5 1.0"),
            (&[-1e300, 1e300, f64::NAN, f64::INFINITY, 1e301], "-1e300 -5e299 0 5e299 1e300"),
            (&[1.0, 1.0 + 1e-15], "0.4 0.6 0.8 1.0 1.2 1.4 1.6"),
        ];
        let logarithmic: &[(&[f64], &str)] = &[
            (&[1e-6, 0.5], "1e-6 1e-5 1e-4 0.001 0.01 0.1 1"),
            (&[1e-290, 1.0, 0.0, -1.0], "1e-250 1e-200 1e-150 1e-100 1e-50 1"),
            (&[0.03, 0.4], "0.02 0.05 0.1 0.2 0.5"),
            (&[3e7, 6e7], "20 million 50 million 100 million"),
            (&[1e3], "200 500 1,000 2,000 5,000"),
            (&[1.0, 20_000.0], "1 10 100 1,000 10,000 100,000"),
        ];
        for (values, expected) in linear {
            assert_eq!(labels(Scale::Linear, values), *expected, "{values:?}");
        }
        for (values, expected) in logarithmic {
            assert_eq!(labels(Scale::Logarithmic, values), *expected, "{values:?}");
        }
        assert!(AxisRange::around(Scale::Linear, std::iter::empty()).is_none());
    }
}
