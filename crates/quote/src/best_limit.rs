//! The choice of a limit from a released histogram of sizes.
//!
//! A limit that is too small cuts much off; one that is too large needs much noise. The limit with
//! the least total error over all groups of the answer is taken. The histogram tells what each
//! limit cuts off, but not how that is spread over groups: for that, groups are assumed to have
//! Zipf's sizes (the n-th has a share in proportion to 1/n), so that the squares of the shares of G
//! groups add up to about 1/sqrt(G). Privacy is not affected: all of this is computed from released
//! numbers.

mod decay;

use hushtable_contract::MAX_GROUPS;
use hushtable_lang::{ColumnType, Refusal};
use hushtable_numbers::Number;
use hushtable_plan::{
    AutomaticBounds, ChosenLimits, EXAMPLE_BOUND, GROUP_OCTAVES, LAST_OCTAVE, Measure, Measurement,
    PrivateQuery, ReleasedSizes, octaves,
};

use self::decay::Octaves;
use crate::quote::Quote;

/// The limits of a query that follow from its released histograms, in their order: of each, the
/// released numbers of units by size.
///
/// # Errors
/// When a histogram is missing, or the query has no mechanisms.
pub fn chosen_limits(
    query: &PrivateQuery,
    histograms: &[(ReleasedSizes, f64)],
) -> Result<ChosenLimits, Refusal> {
    let mut histograms = histograms.iter();
    let mut next = || histograms.next().ok_or_else(no_histogram);
    let mut chosen = ChosenLimits::default();
    let mut limited = query.clone();
    if query.automatic().groups {
        let (sizes, deviation) = next()?;
        let groups = chosen_groups(query, &group_octaves(sizes, *deviation))?;
        chosen.groups = Some(groups);
        limited = limited.with_max_groups(groups);
    }
    if !query.automatic().bounds.is_empty() {
        let quote = Quote::new(limited)?;
        for sum in &query.automatic().bounds {
            let (sizes, deviation) = next()?;
            let bounds = chosen_bounds(&quote, sum, sizes, *deviation)?;
            chosen.bounds.push(bounds);
        }
    }
    Ok(chosen)
}

fn chosen_groups(query: &PrivateQuery, sizes: &Octaves) -> Result<u32, Refusal> {
    let last = sizes.last().unwrap_or(0);
    let units_by_size = sizes.sizes(last);
    let public = query.listed_groups().map(|groups| groups as f64);
    let all: f64 = units_by_size.iter().map(|(size, units)| size * units).sum();
    let most = sizes.ends.get(last).map_or(1.0, |(_, high)| *high);
    // No unit is in more groups than there are.
    let most = public.map_or(most, |groups| most.min(groups));
    let mut tried: Vec<(u32, Quote)> = Vec::new();
    for limit in limits(most) {
        // A limit with which no noise can be drawn is left out.
        if let Ok(quote) = Quote::new(query.clone().with_max_groups(limit)) {
            tried.push((limit, quote));
        }
    }
    let visible =
        |quote: &Quote| public.unwrap_or_else(|| zipf(all / quote.usefulness().to_appear));
    let most_visible = tried.iter().map(|(_, quote)| visible(quote)).fold(1.0, f64::max);
    let error = |(limit, quote): &(u32, Quote)| {
        let cut: f64 =
            units_by_size.iter().map(|(size, units)| beyond(*size, *limit) * units).sum();
        let useful = quote.usefulness();
        let noise = useful.to_be_precise * useful.relative_error;
        let groups = visible(quote);
        let spread = 1.0 / most_visible.sqrt();
        // A group that does not appear is lost as a whole.
        let largest = all / (1.0 + most_visible.ln());
        let hidden = largest * largest * (1.0 / groups - 1.0 / most_visible).max(0.0);
        cut * cut * spread + cut * (1.0 - spread) + groups * noise * noise + hidden
    };
    let best = tried.iter().min_by(|a, b| error(a).total_cmp(&error(b)));
    best.map(|(limit, _)| *limit).ok_or_else(no_histogram)
}

/// The amount of a size beyond a limit.
fn beyond(size: f64, limit: u32) -> f64 {
    (size - f64::from(limit)).max(0.0)
}

/// The limits on groups that are compared: whole numbers about a quarter of an octave apart.
fn limits(most: f64) -> Vec<u32> {
    let quarter = |step: i32| 2f64.powf(f64::from(step) / 4.0).round() as u32;
    let all = (0..=4 * GROUP_OCTAVES).map(quarter);
    let mut all: Vec<u32> =
        all.filter(|limit| f64::from(*limit) <= most.max(1.0) && *limit <= MAX_GROUPS).collect();
    all.dedup();
    all
}

/// The number of groups in which the n-th has 1/n of the largest one's units, where the smallest
/// has a `part`-th of all.
fn zipf(part: f64) -> f64 {
    let mut groups = part.max(1.0);
    for _ in 0..20 {
        groups = (part / (1.0 + groups.ln())).max(1.0);
    }
    groups
}

fn group_octaves(sizes: &ReleasedSizes, deviation: f64) -> Octaves {
    let ends = |octave: i32| match octave {
        // One group, and two: these octaves have one size each.
        0 => (1.0, 1.0),
        1 => (2.0, 2.0),
        _ => (2f64.powi(octave - 1), 2f64.powi(octave)),
    };
    let units = |octave: i32| units_of(sizes, i64::from(octave));
    let all = 0..=GROUP_OCTAVES;
    Octaves { ends: all.clone().map(ends).collect(), units: all.map(units).collect(), deviation }
}

fn units_of(sizes: &ReleasedSizes, bucket: i64) -> f64 {
    sizes.iter().find(|(listed, _)| *listed == bucket).map_or(0.0, |(_, units)| *units)
}

fn chosen_bounds(
    quote: &Quote,
    sum: &AutomaticBounds,
    sizes: &ReleasedSizes,
    deviation: f64,
) -> Result<(Number, Number), Refusal> {
    let first = *octaves(&sum.of).start();
    let edges = i64::from(LAST_OCTAVE - first + 1);
    // The bucket in the middle is of values about zero.
    let side = |sign: i64| {
        let octave = |offset: i64| first + i32::try_from(offset).unwrap_or(0);
        let ends = (1..=edges).map(|offset| {
            let high = 2f64.powi(octave(offset));
            (high / 2.0, high)
        });
        let units = (1..=edges).map(|offset| units_of(sizes, edges + sign * offset));
        Octaves { ends: ends.collect(), units: units.collect(), deviation }
    };
    let (above, below) = (side(1), side(-1));
    let both = above.units.iter().zip(&below.units).map(|(a, b)| a + b);
    let both = Octaves {
        ends: above.ends.clone(),
        units: both.collect(),
        deviation: deviation * std::f64::consts::SQRT_2,
    };
    let query = quote.query();
    let groups = match query.listed_groups() {
        Some(groups) => groups as f64,
        None => {
            let units: f64 = sizes.iter().map(|(_, units)| units.max(0.0)).sum();
            let all = units * f64::from(query.max_groups_contributed()).sqrt();
            zipf(all / quote.usefulness().to_appear)
        }
    };
    // The noise of a sum at a bound of one: it is in proportion to the bound.
    let example = |m: &Measurement| {
        let high = match &m.measure {
            Measure::ClampedSum(of) if *of == sum.of && !sum.per_row => m.high,
            Measure::SumOfRows { of, high, .. } if *of == sum.of && sum.per_row => *high,
            _ => return None,
        };
        let bound = high as f64 * m.step.to_f64();
        (bound == EXAMPLE_BOUND as f64 || high == 1).then_some(bound)
    };
    let mut all = query.measurements().iter().enumerate();
    let example_sum = all.find_map(|(index, m)| Some((index, m.step.to_f64(), example(m)?)));
    let (index, step, example) = example_sum.ok_or_else(no_histogram)?;
    let noise = quote.deviation(index).ok_or_else(no_histogram)? * step / example;
    // Bounds hold a step of the lattice, which a float's own bounds make fine enough.
    let least = if sum.of.column_type == ColumnType::Float { 0.0 } else { step };
    let whole = sum.of.column_type == ColumnType::Int;
    let round = |bound: f64| round(bound.max(least), whole).ok_or_else(no_histogram);
    let Some(last) = both.last() else {
        // Too few units to see anything: noise decides, whatever the bounds.
        return Ok((Number::whole(0), round(1.0)?));
    };
    let sizes = both.sizes(last);
    let spread = 1.0 / groups.sqrt();
    let error = |bound: f64| {
        let beyond = |size: f64| (size - bound).max(0.0);
        let cut: f64 = sizes.iter().map(|(size, units)| beyond(*size) * units).sum();
        let squares: f64 = sizes.iter().map(|(size, units)| beyond(*size).powi(2) * units).sum();
        cut * cut * spread + squares * (1.0 - spread) + groups * (noise * bound).powi(2)
    };
    let candidates =
        (0..=4 * last as i32 + 4).map(|step| 2f64.powf(f64::from(first) + f64::from(step) / 4.0));
    // Released numbers and public settings alone decide, so that the choice costs nothing.
    let best = candidates.min_by(|a, b| error(*a).total_cmp(&error(*b)));
    let bound = best.ok_or_else(no_histogram)?;
    let end = |side: &Octaves| {
        let last = side.last()?;
        side.ends.get(last).map(|(_, high)| bound.min(*high))
    };
    let (high, low) = (end(&above), end(&below));
    let high = if low.is_none() { high.or(Some(bound)) } else { high };
    let rounded = |end: Option<f64>| end.map_or(Ok(Number::whole(0)), round);
    Ok((rounded(low)?.negative(), rounded(high)?))
}

/// A bound rounded up to two digits.
fn round(bound: f64, whole: bool) -> Option<Number> {
    let power = bound.log10().floor() as i32 - 1;
    let power = if whole { power.max(0) } else { power };
    let digits = (bound / 10f64.powi(power) - 1e-9).ceil();
    Number::parse(&format!("{digits}e{power}"))
}

fn no_histogram() -> Refusal {
    Refusal::new(
        "a limit that is chosen privately has no released sizes to be chosen from",
        "this is a fault in Hushtable: please report the query, without data",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up_to_two_digits() {
        for (bound, whole, text) in [
            (181_019.3, true, "190000"),
            (1.0, true, "1"),
            (1.19, true, "2"),
            (9.5, true, "10"),
            (1_000.0, true, "1000"),
            (0.0743, false, "0.075"),
            (2.0, false, "2"),
            (1_099_511_627_776.0, true, "1100000000000"),
        ] {
            assert_eq!(round(bound, whole).unwrap().to_string(), text, "{bound}");
        }
    }

    #[test]
    fn limits_rise_by_a_quarter_of_an_octave() {
        assert_eq!(limits(16.0), [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 16]);
        assert_eq!(limits(1.0), [1]);
        assert!(limits(1e9).iter().all(|limit| *limit <= MAX_GROUPS));
    }

    #[test]
    fn zipf_has_the_smallest_share() {
        for part in [1.0, 10.0, 10_000.0] {
            let groups = zipf(part);
            assert!(groups >= 1.0 && (groups * (1.0 + groups.ln()) / part - 1.0).abs() < 0.2);
        }
    }
}
