//! Which measurements of levels can fit each other, and under which noise.

use hushtable_contract::MAX_PUBLIC_KEYS;
use hushtable_lang::Refusal;
use hushtable_mechanisms::SumMechanism;
use hushtable_plan::{Consistent, Groups, Measure, Measurement};
use serde::Serialize;

use super::{AdjustOptions, AdjustedNoise, has_base, shares, variances};
use crate::measurement_noise::Noise;
use crate::quote::Quote;

/// Noise of less variance is never seen, and its weight would be unbounded.
const LEAST_VARIANCE: f64 = 1e-9;

/// A measurement that levels have in common and that adds up over their groups.
#[derive(Clone, Debug, PartialEq)]
pub struct AdjustedMeasurement {
    /// Its index among the measurements of each level's part, and the variance of its noise there.
    pub levels: Vec<(usize, f64)>,
    /// How it is adjusted.
    pub wanted: AdjustOptions,
}

/// The precision of a measurement at one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConsistentPrecision {
    /// The name of the level's part.
    pub part: String,
    /// The measurement.
    pub measurement: String,
    /// The standard deviation of its noise as it is released.
    pub released: f64,
    /// The standard deviation of the number that fits the other levels; absent where groups are
    /// chosen privately, as it then depends on the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<f64>,
}

/// Consistent levels with their quotes, in the same order.
#[derive(Clone, Copy, Debug)]
pub struct QuotedLevels<'a> {
    consistent: &'a Consistent,
    quotes: &'a [&'a Quote],
}

impl<'a> QuotedLevels<'a> {
    /// Levels with the quote of each.
    pub fn new(consistent: &'a Consistent, quotes: &'a [&'a Quote]) -> Self {
        Self { consistent, quotes }
    }

    /// The measurements that can be adjusted.
    ///
    /// # Errors
    /// When an aggregate is no sum over the groups of a finer level, or its noise has no variance
    /// that is known in advance.
    pub fn measurements(self) -> Result<Vec<AdjustedMeasurement>, Refusal> {
        let Some(first) = self.quotes.first() else { return Ok(Vec::new()) };
        self.check_levels()?;
        let mut all = Vec::new();
        for measurement in first.query().measurements() {
            if !adds_up(measurement, self.quotes)? {
                continue;
            }
            let same = |other: &Measurement| other.is_measured_as(measurement);
            let level = |quote: &&Quote| {
                let index = quote.query().measurements().iter().position(same)?;
                Some((index, variance(quote, index)?))
            };
            let levels: Option<Vec<_>> = self.quotes.iter().map(level).collect();
            let levels = levels.ok_or_else(|| {
                Refusal::new(
                    format!(
                        "consistent levels need additive noise of one size at each level, but \
                         the {} has another mechanism",
                        measurement.name
                    ),
                    "leave consistent out, or use bounds in place of `split`",
                )
            })?;
            let from_zero = measurement.low >= 0;
            let options =
                AdjustOptions { from_zero, non_negative: self.consistent.fitting.non_negative };
            all.push(AdjustedMeasurement { levels, wanted: options });
        }
        Ok(all)
    }

    /// The noise of a measurement's adjusted cells, by level. `sizes` counts the values of each
    /// key. `None` where groups are chosen privately: then it depends on the numbers.
    pub fn noises(
        self,
        adjusted: &AdjustedMeasurement,
        sizes: &[usize],
    ) -> Option<Vec<AdjustedNoise>> {
        if !self.quotes.iter().all(|quote| is_complete(quote)) {
            return None;
        }
        let levels = self.consistent.levels.iter().zip(&adjusted.levels);
        let levels: Vec<_> = levels.map(|(l, (_, v))| (l.keys.as_slice(), *v)).collect();
        // Each row is a unit, and enters one group of each level.
        let fits = self.quotes.iter().all(|quote| quote.query().unit().is_none());
        let of_level = |of: usize| {
            let mut noise = AdjustedNoise::new(fits);
            for (level, share) in shares(sizes, &levels, of)? {
                let (index, _) = adjusted.levels.get(level)?;
                match self.quotes.get(level)?.noise().get(*index)? {
                    Noise::Single(SumMechanism::Additive(additive)) => {
                        noise.add(share, 1.0, additive)
                    }
                    Noise::Tied(tied) => {
                        let draws = tied.noise.draws(tied.role).into_iter();
                        draws.for_each(|(times, additive)| noise.add(share, times, additive));
                        noise.add_rounding(share);
                    }
                    _ => return None,
                }
            }
            Some(noise)
        };
        (0..levels.len()).map(of_level).collect()
    }

    /// The precision of each adjusted measurement at each level, before and after the adjustment.
    ///
    /// # Errors
    /// Those of [`measurements`](Self::measurements).
    pub fn precision(self) -> Result<Vec<ConsistentPrecision>, Refusal> {
        let sizes = self.sizes();
        let complete = self.quotes.iter().all(|quote| is_complete(quote));
        let mut all = Vec::new();
        for adjusted in self.measurements()? {
            let levels = self.consistent.levels.iter().zip(&adjusted.levels);
            let before: Vec<_> = levels.map(|(l, (_, v))| (l.keys.as_slice(), *v)).collect();
            let after = complete.then(|| variances(&sizes, &before));
            for (at, (quote, &(index, variance))) in
                self.quotes.iter().zip(&adjusted.levels).enumerate()
            {
                let Some(measurement) = quote.query().measurements().get(index) else { continue };
                let deviation = |variance: f64| variance.sqrt() * measurement.step.to_f64();
                let after = after.as_ref().and_then(|all| all.get(at));
                all.push(ConsistentPrecision {
                    part: self
                        .consistent
                        .levels
                        .get(at)
                        .map_or_else(String::new, |level| level.part.clone()),
                    measurement: measurement.name.clone(),
                    released: deviation(variance),
                    adjusted: after.map(|variance| deviation(*variance)),
                });
            }
        }
        Ok(all)
    }

    /// The number of values of each key that is public; one for each other key.
    fn sizes(self) -> Vec<usize> {
        let mut sizes = vec![1; self.consistent.keys()];
        for (level, quote) in self.consistent.levels.iter().zip(self.quotes) {
            for (&index, key) in level.keys.iter().zip(quote.query().keys()) {
                sizes[index] = key.public.as_ref().map_or(1, Vec::len);
            }
        }
        sizes
    }

    fn check_levels(self) -> Result<(), Refusal> {
        let levels = self.consistent.levels.iter().zip(self.quotes);
        let kinds: Vec<_> =
            levels.map(|(level, quote)| (level.keys.clone(), is_complete(quote))).collect();
        let mut sets: Vec<Vec<usize>> = kinds.iter().map(|(keys, _)| keys.clone()).collect();
        sets.iter_mut().for_each(|keys| keys.sort_unstable());
        sets.sort_unstable();
        if sets.windows(2).any(|two| two[0] == two[1]) {
            return Err(Refusal::new(
                "two consistent levels have the same keys in different orders",
                "write GROUPING SETS ((a, b), (a)) in place of ((a, b), (b, a), (a))",
            ));
        }
        if !has_base(&kinds) {
            return Err(Refusal::new(
                "consistent levels with public keys only need one level that has all of these \
                 keys, but none has",
                "write GROUPING SETS ((a, b), (a), (b)) in place of ((a), (b))",
            ));
        }
        if kinds.iter().any(|(_, complete)| !complete) {
            return Ok(());
        }
        // The table of all keys is computed even if it is not shown.
        let sizes = self.sizes();
        let cells = sizes.into_iter().fold(1, usize::saturating_mul);
        if cells > MAX_PUBLIC_KEYS {
            return Err(Refusal::new(
                format!(
                    "the public keys of consistent levels make {cells} groups; \
                     at most {MAX_PUBLIC_KEYS} are allowed"
                ),
                "use fewer keys, or leave consistent out",
            ));
        }
        Ok(())
    }
}

/// Whether a level has all combinations of its keys' values.
fn is_complete(quote: &Quote) -> bool {
    !matches!(quote.query().groups(), Groups::Private { .. })
}

/// Whether a level's values are sums of those of a finer one; a quantile is left as it is.
fn adds_up(measurement: &Measurement, quotes: &[&Quote]) -> Result<bool, Refusal> {
    match &measurement.measure {
        Measure::Quantile { .. } => Ok(false),
        Measure::Rows
        | Measure::Values(_)
        | Measure::ClampedSum(_)
        | Measure::PerRecordSum(_)
        | Measure::SumOfRows { .. } => Ok(true),
        // A unit in one group is counted once at each level.
        Measure::Units if quotes.iter().all(|q| q.query().max_groups_contributed() == 1) => {
            Ok(true)
        }
        Measure::Units | Measure::Distinct { .. } => Err(Refusal::new(
            format!(
                "the {} of a level is not the sum over the groups of a finer level, as several \
                 groups may count the same",
                measurement.name
            ),
            "use COUNT(*) or SUM; or set max_groups_contributed = 1 where a unit is in one \
             group; or ask in a SELECT without consistent",
        )),
    }
}

/// The variance of a measurement's noise, in steps. For a count by which its group was chosen, the
/// variance without regard to that choice.
fn variance(quote: &Quote, index: usize) -> Option<f64> {
    let noise = quote.noise().get(index)?;
    let deviation = match noise {
        Noise::OfSelection => quote.selection()?.count_deviation(),
        noise => noise.deviation(),
    };
    deviation.map(|deviation| (deviation * deviation).max(LEAST_VARIANCE))
}
