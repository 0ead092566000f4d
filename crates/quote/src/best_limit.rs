//! The choice of a limit from a released histogram of sizes.
//!
//! A limit that is too small cuts much off; one that is too large needs much noise. The limit with
//! the least total error over all groups of the answer is taken. The histogram tells what each
//! limit cuts off, but not how that is spread over groups: for that, groups are assumed to have
//! Zipf's sizes (the n-th has a share in proportion to 1/n), so that the squares of the shares of G
//! groups add up to about 1/sqrt(G). Privacy is not affected: all of this is computed from released
//! numbers.

mod chosen_bounds;
mod decay;
mod sizes;
mod tail;
mod whole_column;

use hushtable_contract::MAX_GROUPS;
use hushtable_lang::Refusal;
use hushtable_plan::{
    ChosenLimits, EXAMPLE_ROWS, GROUP_OCTAVES, PrivateQuery, ReleasedSizes, Warning, WarningCode,
};

use self::chosen_bounds::{chosen_bounds, chosen_rows};
use self::decay::Octaves;
pub use self::whole_column::learnt_bounds;
use crate::quote::Quote;

/// The limits of a query that follow from its released histograms, in their order: of each, the
/// released numbers of units by size and the standard deviation of their noise. A warning for each
/// limit that its histogram does not clearly show.
///
/// # Errors
/// When a histogram is missing, or the query has no mechanisms.
pub fn chosen_limits(
    query: &PrivateQuery,
    histograms: &[(ReleasedSizes, f64)],
) -> Result<(ChosenLimits, Vec<Warning>), Refusal> {
    let mut histograms = histograms.iter();
    let mut next = || histograms.next().ok_or_else(no_histogram);
    let mut chosen = ChosenLimits::default();
    let mut sure = Vec::new();
    let mut limited = query.clone();
    if query.automatic().groups {
        let (sizes, deviation) = next()?;
        let octaves = group_octaves(sizes, *deviation);
        sure.push(octaves.last().is_some());
        let limit = chosen_groups(query, &octaves)?;
        chosen.groups = Some(limit);
        // Where hardly anything is visible, nothing is known of the usual number.
        chosen.usual_groups = octaves.last().map(|last| usual_groups(&octaves.sizes(last), limit));
        limited = limited.with_max_groups(limit).with_usual_groups(chosen.usual_groups);
    }
    if !query.automatic().rows && query.automatic().bounds.is_empty() {
        return Ok(with_warnings(query, chosen, sure));
    }
    let quote = Quote::new(limited)?;
    // Noise is in proportion to the rows of a unit that count.
    let mut times = 1.0;
    if query.automatic().rows {
        let (sizes, deviation) = next()?;
        let (rows, is_sure) = chosen_rows(&quote, sizes, *deviation)?;
        sure.push(is_sure);
        chosen.rows = Some(rows);
        times = f64::from(rows) / f64::from(EXAMPLE_ROWS);
    }
    for bounds in &query.automatic().bounds {
        let (sizes, deviation) = next()?;
        let times = if bounds.per_row { times } else { 1.0 };
        let bounds = chosen_bounds(&quote, (bounds, times), sizes, *deviation)?;
        sure.push(bounds.is_sure);
        chosen.bounds.push((bounds.low, bounds.high));
    }
    Ok(with_warnings(query, chosen, sure))
}

/// The limits, with a warning for each that is not sure.
fn with_warnings(
    query: &PrivateQuery,
    chosen: ChosenLimits,
    sure: Vec<bool>,
) -> (ChosenLimits, Vec<Warning>) {
    let names = query.automatic_limits().into_iter().zip(sure);
    let warnings = names.filter(|(_, sure)| !sure).map(|(name, _)| not_sure(&name.limit));
    (chosen, warnings.collect())
}

/// The warning about a limit that its histogram does not clearly show.
fn not_sure(limit: &str) -> Warning {
    Warning::new(
        WarningCode::UncertainLimit,
        format!(
            "too few units were visible to choose {limit}: noise may have decided, and the answer \
             may be far off"
        ),
        "give the limit yourself if you can, or ask with a larger budget",
    )
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
        let usual = sizes.last().map(|_| usual_groups(&units_by_size, limit));
        let limited = query.clone().with_max_groups(limit).with_usual_groups(usual);
        if let Ok(quote) = Quote::new(limited) {
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

/// The number of groups that units are usually in, by sizes with their numbers of units: the mean
/// over all pairs of a unit and a group, as a group has each of its units once. It decides between
/// strategies that divide a unit over its groups and those that do not.
fn usual_groups(units_by_size: &[(f64, f64)], limit: u32) -> u32 {
    let limited = units_by_size.iter().map(|&(size, units)| (size.min(limit.into()), units));
    let (pairs, squares) = limited.fold((0.0, 0.0), |(pairs, squares), (size, units)| {
        (pairs + size * units, squares + size * size * units)
    });
    // Where there are no pairs, a unit is taken to be in one group.
    if pairs > 0.0 { ((squares / pairs).round() as u32).clamp(1, limit.max(1)) } else { 1 }
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
/// has one in `times` of all.
fn zipf(times: f64) -> f64 {
    let mut groups = times.max(1.0);
    for _ in 0..20 {
        groups = (times / (1.0 + groups.ln())).max(1.0);
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
    fn limits_rise_by_a_quarter_of_an_octave() {
        assert_eq!(limits(16.0), [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 16]);
        assert_eq!(limits(1.0), [1]);
        assert!(limits(1e9).iter().all(|limit| *limit <= MAX_GROUPS));
    }

    #[test]
    fn zipf_has_the_smallest_share() {
        for times in [1.0, 10.0, 10_000.0] {
            let groups = zipf(times);
            assert!(groups >= 1.0 && (groups * (1.0 + groups.ln()) / times - 1.0).abs() < 0.2);
        }
    }
}
