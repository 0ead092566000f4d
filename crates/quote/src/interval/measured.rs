//! The interval of one measurement, from its released value and the law of its noise.

use hushtable_lang::range::Range;
use hushtable_mechanisms::{
    PerRecord, QuantileReaches, Selection, ShowReason, SumMechanism, TiedRole,
};
use hushtable_numbers::Step;
use hushtable_numbers::search::least_whole;
use hushtable_plan::{Measure, Measurement};

use crate::consistent::AdjustedNoise;
use crate::measurement_noise::Noise;

/// A measurement with what is needed for its intervals at one level.
pub(super) struct MeasurementAtLevel<'a> {
    measurement: &'a Measurement,
    law: ReleasedLaw<'a>,
    level: f64,
}

enum ReleasedLaw<'a> {
    /// By class, that of all others last; one where there are no classes.
    Sums { key: Option<usize>, classes: Vec<SumNoise<'a>> },
    /// The count that chooses groups. The noise alone is within the width.
    Count(&'a Selection, Option<i128>),
    /// A sum that is measured together with the count that chooses groups.
    WithCount(WithCount<'a>),
    /// As far to both sides as another measurement says.
    Around(usize),
    /// The adjusted number is within that of the one without noise.
    Adjusted { width: f64, fits: bool },
}

/// A sum, or a count of values, that shares the noise of the count by which its group was chosen.
///
/// *Proof.* Of the sums that are seen, a share o may miss. Say that a count is often seen if its
/// chance is 0.8 or more. Where the exact count is, the noise alone misses with 0.8 o at most,
/// whether seen or not, and so with o given that it is seen; and every interval here holds that of
/// the noise. Where it is not, the interval is that of the noise alone only if the count seems to
/// be, which is so with half of o; else it holds the bounds of the sum for each count of the
/// count's interval, which misses with half of o. Both are for counts that are seen.
struct WithCount<'a> {
    selection: &'a Selection,
    /// The index of the count.
    count: usize,
    /// The noise alone is within it.
    width: i128,
    /// The least and the greatest that a counted row adds.
    values: (i64, i64),
    /// The released count from which on it seems to be often seen.
    anyway_from: i128,
}

enum SumNoise<'a> {
    /// The sum is within that many steps.
    Within(i128),
    /// The interval depends on the released value.
    Of(&'a PerRecord),
}

/// The known values of a row beside its measurements.
#[derive(Clone, Copy)]
pub(super) struct Group {
    /// How it came to be seen, if that was by its noisy count.
    pub(super) seen: ShowReason,
    /// The number of units that it has at least.
    pub(super) least: u64,
}

impl<'a> MeasurementAtLevel<'a> {
    /// A quantile, with the index of the measurement that says how far its interval reaches.
    pub(super) fn around(measurement: &'a Measurement, reach: usize, level: f64) -> Self {
        Self { measurement, law: ReleasedLaw::Around(reach), level }
    }

    /// A number that is adjusted to other levels. `None` where the noise is too small for it.
    pub(super) fn adjusted(
        measurement: &'a Measurement,
        noise: &AdjustedNoise,
        level: f64,
    ) -> Option<Self> {
        let law =
            ReleasedLaw::Adjusted { width: noise.half_width(1.0 - level)?, fits: noise.fits() };
        Some(Self { measurement, law, level })
    }

    /// `None` for quantiles, whose noise says nothing about how far the exact value is.
    pub(super) fn new(
        measurement: &'a Measurement,
        noise: &'a Noise,
        (selection, decides): (Option<&'a Selection>, Option<usize>),
        level: f64,
        index: usize,
    ) -> Option<Self> {
        if decides == Some(index) {
            let width = match noise {
                Noise::Single(SumMechanism::Additive(additive)) => {
                    Some(additive.half_width(level, 1))
                }
                Noise::Tied(tied) => Some(tied.noise.half_width(tied.role, level, 1)),
                _ => None,
            };
            let width = width.map(|width| i128::try_from(width).unwrap_or(i128::MAX));
            return Some(Self { measurement, law: ReleasedLaw::Count(selection?, width), level });
        }
        if let Noise::Tied(tied) = noise
            && decides == Some(tied.count)
            && tied.role != TiedRole::Count
        {
            let sum_level = 1.0 - (1.0 - level) * Selection::SEEN_ANYWAY;
            let width = tied.noise.half_width(tied.role, sum_level, 1);
            let values = match tied.role {
                TiedRole::Sum(sum) => {
                    let span = tied.noise.span(sum)?;
                    // A row without a value adds zero.
                    match tied.values {
                        Some(_) => (span.low.min(0), span.high.max(0)),
                        None => (span.low, span.high),
                    }
                }
                TiedRole::Count | TiedRole::Values(_) => (0, 1),
            };
            let selection = selection?;
            let law = ReleasedLaw::WithCount(WithCount {
                selection,
                anyway_from: selection.seen_anyway_from(FOR_SEEMING * (1.0 - level))?,
                count: tied.count,
                width: i128::try_from(width).unwrap_or(i128::MAX),
                values,
            });
            return Some(Self { measurement, law, level });
        }
        let sum = |mechanism: &'a SumMechanism| match mechanism {
            SumMechanism::Additive(additive) => {
                SumNoise::Within(i128::try_from(additive.half_width(level, 1)).unwrap_or(i128::MAX))
            }
            SumMechanism::PerRecord(record) => SumNoise::Of(record),
        };
        let law = match noise {
            Noise::Single(mechanism) => {
                ReleasedLaw::Sums { key: None, classes: vec![sum(mechanism)] }
            }
            Noise::ByClass(by_class) => ReleasedLaw::Sums {
                key: Some(by_class.key),
                classes: by_class.all().map(sum).collect(),
            },
            Noise::Tied(tied) => {
                let width = tied.noise.half_width(tied.role, level, 1);
                let within = SumNoise::Within(i128::try_from(width).unwrap_or(i128::MAX));
                ReleasedLaw::Sums { key: None, classes: vec![within] }
            }
            Noise::OfSelection => {
                let selection = selection?;
                let width = selection.noise_half_width(level, 1);
                let width = width.map(|width| i128::try_from(width).unwrap_or(i128::MAX));
                ReleasedLaw::Count(selection, width)
            }
            Noise::Quantile(_) | Noise::Joint(_) | Noise::Reach(_) => return None,
        };
        Some(Self { measurement, law, level })
    }

    /// The key whose value tells the class, where there are classes.
    pub(super) fn key(&self) -> Option<usize> {
        match &self.law {
            ReleasedLaw::Sums { key, .. } => *key,
            ReleasedLaw::Count(..)
            | ReleasedLaw::WithCount(_)
            | ReleasedLaw::Around(_)
            | ReleasedLaw::Adjusted { .. } => None,
        }
    }

    /// The exact values that the released one allows, as the released column has them. `steps` are
    /// the released values of all measurements; `rest` is what is left of an adjusted one.
    pub(super) fn range(
        &self,
        (released, rest, steps): (i128, f64, &[i128]),
        class: usize,
        group: Group,
    ) -> Option<Range> {
        let (low, high) = match &self.law {
            ReleasedLaw::Sums { classes, .. } => match classes.get(class).or(classes.last())? {
                SumNoise::Within(width) => {
                    (released.saturating_sub(*width), released.saturating_add(*width))
                }
                SumNoise::Of(record) => {
                    let (low, high) = record.interval(released, self.level);
                    // Beyond 2^53, floats are whole, and may be too near by one.
                    (low.next_down().floor() as i128, high.next_up().ceil() as i128)
                }
            },
            ReleasedLaw::Count(selection, _) => {
                selection.count_interval(released, self.level, group.seen)?
            }
            ReleasedLaw::WithCount(with_count) => {
                with_count.range(released, *steps.get(with_count.count)?, self.level, group.seen)?
            }
            ReleasedLaw::Around(reach) => {
                let range = (self.measurement.low, self.measurement.high);
                QuantileReaches::interval(range, released, *steps.get(*reach)?)
            }
            ReleasedLaw::Adjusted { width, fits } => {
                let (low, high) = (rest - width, rest + width);
                let end = |away: f64| released.saturating_add(away as i128);
                if !fits {
                    // The number without noise is a weighted mean of what the levels have left, and
                    // may be no whole one, and below zero.
                    return in_units(self.measurement.step, end(low.floor()), end(high.ceil()));
                }
                let (low, high) = (end(low.ceil()), end(high.floor()));
                (low.min(released), high.max(released))
            }
        };
        let (low, high) = self.possible(low, high, group.least);
        in_units(self.measurement.step, low, high)
    }

    /// The exact value, as the released column has it.
    pub(super) fn exact(&self, exact: i128) -> Option<Range> {
        in_units(self.measurement.step, exact, exact)
    }

    /// The released values that come of an exact one, except for those that miss it: those whose
    /// interval, which is not cut where exact values end, holds it. Of a count by which groups are
    /// chosen, for groups that are often seen.
    ///
    /// *Proof.* For a count n with P\[seen\] >= 1/2 and symmetric noise N, a group is seen if N >=
    /// -c for some c >= 0. P\[|N| > w\] is o, say. Where w >= c, P\[|N| > w | seen\] is o/2 over
    /// P\[seen\], and where w < c it is (o - p) / (1 - p) with p = P\[N < -c\]: o at most. For a
    /// sum that is measured with the count see [`WithCount`]: its width misses with 0.8 o.
    pub(super) fn released(&self, exact: i128, class: usize) -> Option<Range> {
        let within = |width: i128| (exact.saturating_sub(width), exact.saturating_add(width));
        let (low, high) = match &self.law {
            ReleasedLaw::Sums { classes, .. } => match classes.get(class).or(classes.last())? {
                SumNoise::Within(width) => within(*width),
                SumNoise::Of(record) => {
                    let ends = |released: i128| record.interval(released, self.level);
                    let start = exact.unsigned_abs().max(1).try_into().unwrap_or(i128::MAX / 4);
                    let most = 1i128 << 100;
                    // The first released values whose interval is above it, or no longer below it.
                    let below = |away: i128| ends(exact.saturating_sub(away)).1 < exact as f64;
                    let above = |away: i128| ends(exact.saturating_add(away)).0 > exact as f64;
                    let down = least_whole(-1, start, most, below).unwrap_or(most);
                    let up = least_whole(-1, start, most, above).unwrap_or(most);
                    (exact.saturating_sub(down), exact.saturating_add(up))
                }
            },
            ReleasedLaw::Count(_, width) => within((*width)?),
            ReleasedLaw::WithCount(with_count) => within(with_count.width),
            ReleasedLaw::Around(_) | ReleasedLaw::Adjusted { .. } => return None,
        };
        in_units(self.measurement.step, low, high)
    }

    /// The part of an interval that a sum of such contributions can be in.
    fn possible(&self, low: i128, high: i128, least: u64) -> (i128, i128) {
        let measurement = self.measurement;
        let least = match measurement.measure {
            // A unit has a row at least.
            Measure::Units | Measure::Rows => Some(least.into()),
            _ => (measurement.low >= 0).then_some(0),
        };
        let most = (measurement.high <= 0).then_some(0);
        let within = |end: i128| {
            let end = least.map_or(end, |least| end.max(least));
            most.map_or(end, |most| end.min(most))
        };
        (within(low), within(high))
    }
}

/// The part of the probability of a miss for a count that seems to be seen often and is not; the
/// rest is for its interval.
const FOR_SEEMING: f64 = 0.5;

impl WithCount<'_> {
    fn range(&self, sum: i128, count: i128, level: f64, seen: ShowReason) -> Option<(i128, i128)> {
        let outside = 1.0 - level;
        let (low, high) = (sum.saturating_sub(self.width), sum.saturating_add(self.width));
        if matches!(seen, ShowReason::Known(_)) || count >= self.anyway_from {
            return Some((low, high));
        }
        let level = 1.0 - (1.0 - FOR_SEEMING) * outside;
        let (least, most) = self.selection.count_interval(count, level, seen)?;
        let times = |value: i64| {
            let (a, b) = (least.saturating_mul(value.into()), most.saturating_mul(value.into()));
            (a.min(b), a.max(b))
        };
        Some((low.min(times(self.values.0).0), high.max(times(self.values.1).1)))
    }
}

/// Steps of the lattice in the unit of the released column: whole numbers, digits of decimals, or
/// floats.
fn in_units(step: Step, low: i128, high: i128) -> Option<Range> {
    Some(match step {
        Step::Whole(size) => {
            let size = i128::from(size);
            Range::Exact(low.saturating_mul(size), high.saturating_mul(size))
        }
        Step::Decimal(_) => Range::Exact(low, high),
        Step::PowerOfTwo(exponent) => {
            let size = 2f64.powi(exponent.into());
            let exact = |n: i128| n.unsigned_abs() <= 1 << 53;
            let float = |n: i128| n as f64;
            let down = if exact(low) { float(low) } else { float(low).next_down() };
            let up = if exact(high) { float(high) } else { float(high).next_up() };
            let (low, high) = (down * size, up * size);
            return (low.is_finite() && high.is_finite()).then_some(Range::Float(low, high));
        }
    })
}

/// The range of the quotient of two exact counts: a share of counted rows is within 0 and 1.
pub(super) fn share(one: &Measurement, whole: &Measurement) -> Option<Range> {
    let is_share = matches!(one.measure, Measure::Values(_))
        && matches!(whole.measure, Measure::Units | Measure::Rows)
        && (one.low, whole.low) == (0, 0)
        && one.high == whole.high;
    is_share.then_some(Range::Float(0.0, 1.0))
}
