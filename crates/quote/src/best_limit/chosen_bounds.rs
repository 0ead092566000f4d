//! The bounds of a sum or of values, from a released histogram of contributions; and the most rows
//! of a unit in a group.

use hushtable_contract::MAX_ROWS;
use hushtable_lang::{ColumnType, Expr, Refusal};
use hushtable_numbers::{Number, Step};
use hushtable_plan::{
    AutomaticBounds, EXAMPLE_BOUND, Measure, Measurement, ReleasedSizes, row_buckets, size_buckets,
};

use super::sizes::{BucketWindow, Sizes, laplace_scale};
use super::tail::{ErrorTerms, best_bound};
use super::{no_histogram, units_of, zipf};
use crate::quote::Quote;

/// Bounds that were chosen.
pub(super) struct ChosenBounds {
    pub(super) low: Number,
    pub(super) high: Number,
    /// Whether the histogram clearly shows units where they say.
    pub(super) is_sure: bool,
}

pub(super) fn chosen_bounds(
    quote: &Quote,
    (bounds, times): (&AutomaticBounds, f64),
    released: &ReleasedSizes,
    deviation: f64,
) -> Result<ChosenBounds, Refusal> {
    let whole = bounds.of.column_type == ColumnType::Int;
    let (terms, least) = match noise_at_one(quote, bounds)? {
        Some((noise, least)) => {
            let groups = groups(quote, released);
            (ErrorTerms { groups, noise: noise * times, whole }, least)
        }
        // Of quantiles and variances, whose errors are not in proportion to bounds.
        None => (ErrorTerms::of_values(whole), quantile_step(quote, bounds)),
    };
    best_bounds(&bounds.of, least, &terms, (released, deviation))
}

/// The most rows of a unit in a group that count with the least error, and whether the histogram
/// clearly shows units with as many. A count of rows is a sum of ones.
pub(super) fn chosen_rows(
    quote: &Quote,
    released: &ReleasedSizes,
    deviation: f64,
) -> Result<(u32, bool), Refusal> {
    let ends = row_buckets();
    let last = i64::try_from(ends.len()).map_err(|_| no_histogram())?;
    let units = (1..=last).map(|bucket| units_of(released, bucket)).collect();
    let sizes = Sizes { ends, units, scale: laplace_scale(deviation) };
    let Some(window) = sizes.visible() else { return Ok((1, false)) };
    let useful = quote.usefulness();
    // Of a row: what units add at most, in whole rows, is in it.
    let noise = useful.to_be_precise * useful.relative_error;
    let terms = ErrorTerms { groups: groups(quote, released), noise, whole: true };
    let best = best_bound(&sizes, window, &terms).ok_or_else(no_histogram)?;
    // A number of rows is within 32 bits: the last bucket ends at 2^20.
    Ok((best.ceil().clamp(1.0, f64::from(MAX_ROWS)) as u32, window.is_clear()))
}

/// The step of a quantile's values, which bounds hold; zero where bounds make it fine enough.
fn quantile_step(quote: &Quote, bounds: &AutomaticBounds) -> f64 {
    let is_it =
        |m: &&Measurement| matches!(&m.measure, Measure::Quantile { of, .. } if *of == bounds.of);
    let step = quote.query().measurements().iter().find(is_it).map(|m| m.step);
    step.filter(|step| !is_free(bounds, *step)).map_or(0.0, Step::to_f64)
}

/// Whether bounds make a lattice as fine as they need: a float's, where the contract names none.
fn is_free(bounds: &AutomaticBounds, step: Step) -> bool {
    bounds.of.column_type == ColumnType::Float && step == Step::for_floats(EXAMPLE_BOUND as f64)
}

/// The bounds that are best for a sum on these terms, each at least `least`.
pub(super) fn best_bounds(
    of: &Expr,
    least: f64,
    terms: &ErrorTerms,
    (released, deviation): (&ReleasedSizes, f64),
) -> Result<ChosenBounds, Refusal> {
    let (terms, whole) = (*terms, terms.whole);
    let ends = size_buckets(of);
    let buckets = i64::try_from(ends.len()).map_err(|_| no_histogram())?;
    // The bucket in the middle is of values about zero.
    let side = |sign: i64| {
        let units = (1..=buckets).map(|offset| units_of(released, buckets + sign * offset));
        Sizes { ends: ends.clone(), units: units.collect(), scale: laplace_scale(deviation) }
    };
    let (above, below) = (side(1), side(-1));
    let round = |bound: f64| round(bound.max(least), whole).ok_or_else(no_histogram);
    let nothing = Number::whole(0);
    let chosen = match (above.visible(), below.visible()) {
        (Some(high), Some(low)) if high.is_clear() && low.is_clear() => {
            let best = [(&above, high), (&below, low)]
                .map(|(sizes, window)| best_bound(sizes, window, &terms));
            let [Some(best_above), Some(best_below)] = best else { return Err(no_histogram()) };
            // The larger side alone decides the noise.
            let bound = best_above.max(best_below);
            let end = |sizes: &Sizes, window: BucketWindow, best: f64| {
                best.max(bound.min(visible_end(sizes, window)))
            };
            ChosenBounds {
                low: round(end(&below, low, best_below))?.negative(),
                high: round(end(&above, high, best_above))?,
                is_sure: true,
            }
        }
        (high, low) => {
            let surprise =
                |window: Option<BucketWindow>| window.map_or(0.0, |window| window.surprise);
            let is_above = surprise(high) >= surprise(low);
            let (sizes, window) = if is_above { (&above, high) } else { (&below, low) };
            let is_sure = window.is_some_and(BucketWindow::is_clear);
            let bound = match window {
                Some(window) => best_bound(sizes, window, &terms).ok_or_else(no_histogram)?,
                // Nothing was released above zero: there are no units, as far as anybody sees.
                None => 1.0,
            };
            let end = round(bound)?;
            let (low, high) = if is_above { (nothing, end) } else { (end.negative(), nothing) };
            ChosenBounds { low, high, is_sure }
        }
    };
    Ok(chosen)
}

/// The end of the sizes that are visible, and half an octave more.
fn visible_end(sizes: &Sizes, window: BucketWindow) -> f64 {
    let end = sizes.ends.get(window.start).map_or(0.0, |(_, high)| *high);
    end * std::f64::consts::SQRT_2
}

/// The number of groups of the answer, as far as it can be known.
fn groups(quote: &Quote, released: &ReleasedSizes) -> f64 {
    let query = quote.query();
    match query.listed_groups() {
        Some(groups) => groups as f64,
        None => {
            let units: f64 = released.iter().map(|(_, units)| units).sum();
            let all = units.max(1.0) * f64::from(query.max_groups_contributed()).sqrt();
            zipf(all / quote.usefulness().to_appear)
        }
    }
}

/// The deviation of a sum's noise at a bound of one, to which it is in proportion, and the least
/// bound; `None` where no sum has these bounds.
fn noise_at_one(quote: &Quote, sum: &AutomaticBounds) -> Result<Option<(f64, f64)>, Refusal> {
    let example = |m: &Measurement| {
        let high = match &m.measure {
            Measure::ClampedSum(of) if *of == sum.of && !sum.per_row => m.high,
            Measure::SumOfRows { of, high, .. } if *of == sum.of && sum.per_row => *high,
            _ => return None,
        };
        let bound = high as f64 * m.step.to_f64();
        (bound == EXAMPLE_BOUND as f64 || high == 1).then_some(bound)
    };
    let mut all = quote.query().measurements().iter().enumerate();
    let example_sum = all.find_map(|(index, m)| Some((index, m.step, example(m)?)));
    let Some((index, step, example)) = example_sum else { return Ok(None) };
    let noise = quote.deviation(index).ok_or_else(no_histogram)? * step.to_f64() / example;
    // Bounds hold a step of the lattice.
    let least = if is_free(sum, step) { 0.0 } else { step.to_f64() };
    Ok(Some((noise, least)))
}

/// A bound rounded up to three digits.
fn round(bound: f64, whole: bool) -> Option<Number> {
    let power = bound.log10().floor() as i32 - 2;
    let power = if whole { power.max(0) } else { power };
    let digits = (bound / 10f64.powi(power) - 1e-9).ceil();
    Number::parse(&format!("{digits}e{power}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up_to_three_digits() {
        for (bound, whole, text) in [
            (181_019.3, true, "182000"),
            (1.0, true, "1"),
            (1.19, true, "2"),
            (9.5, true, "10"),
            (1_000.0, true, "1000"),
            (0.0743, false, "0.0743"),
            (0.07431, false, "0.0744"),
            (2.0, false, "2"),
            (1_099_511_627_776.0, true, "1100000000000"),
        ] {
            assert_eq!(round(bound, whole).unwrap().to_string(), text, "{bound}");
        }
    }
}
