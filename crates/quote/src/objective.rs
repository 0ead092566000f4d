//! The objective by which a query's mechanisms and the split of its budget are chosen: the size
//! from which on groups are of use.
//!
//! A group is of use if it appears and its values are precise. Both depend on the number of its
//! units, and which size suffices follows from the mechanisms alone. The smaller that size, the
//! more groups of a table are of use, whatever the table.

use hushtable_mechanisms::{Selection, Strategy};
use hushtable_plan::{Measure, Measurement, PrivateQuery};
use serde::{Deserialize, Serialize};

use crate::measurement_noise::Noise;

/// The level at which the error of a quantile is compared with one standard deviation of a sum's
/// noise.
const ONE_DEVIATION: f64 = 0.682_689;

/// The numbers of units from which on a group is of use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usefulness {
    /// The size from which on groups are taken to appear ([`Selection::size_to_appear`]); where it
    /// is stated for people, the one with which they appear half of the time
    /// ([`Selection::half_size`]). Zero where all appear.
    pub to_appear: f64,
    /// The size from which on the noise of every value has a standard deviation of at most the
    /// relative error times the most that as many units add. Zero where no value is measured.
    pub to_be_precise: f64,
    /// The relative error.
    pub relative_error: f64,
}

impl Usefulness {
    /// The size from which on a group appears and is precise: the objective.
    pub fn size(self) -> f64 {
        self.to_appear.max(self.to_be_precise)
    }
}

/// The objective, then the product of both sizes, then how seldom a group of the size to appear
/// does: less is better.
pub(crate) type Rank = (i64, i64, i64);

/// A size on a fine logarithmic scale, so that sizes that differ by rounding alone are equal.
fn fine(size: f64) -> i64 {
    (size.max(1e-9).ln() * 1e6).round() as i64
}

/// Measures of the usefulness of mechanisms, by who pays for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeededSizes {
    to_appear: f64,
    /// The size with which groups appear half of the time.
    half_size: f64,
    /// To be precise, for counts that the selection gives.
    of_selection: f64,
    /// To be precise, for what is measured by itself.
    measured: f64,
    /// The chance that a group of the size to appear is not shown.
    hidden: f64,
    relative_error: f64,
}

impl NeededSizes {
    /// The needs of these mechanisms of the query.
    pub(crate) fn new(
        query: &PrivateQuery,
        selection: Option<&Selection>,
        noise: &[Noise],
    ) -> Self {
        let relative_error = query.prefer().relative_error();
        let usual_groups = query.usual_groups().map(u64::from);
        let to_appear = selection.map_or(0.0, |selection| selection.size_to_appear(usual_groups));
        let half_size = selection.map_or(0.0, |selection| selection.half_size() as f64);
        let hidden = selection
            .map_or(0.0, |selection| 1.0 - selection.keep_probability(selection.half_size()));
        let (of_selection, measured) = (0.0, 0.0);
        let mut needed =
            Self { to_appear, half_size, of_selection, measured, hidden, relative_error };
        for (measurement, noise) in query.measurements().iter().zip(noise) {
            let need = deviation(noise, selection) / most(measurement) / relative_error;
            let of = match noise {
                Noise::OfSelection => &mut needed.of_selection,
                _ => &mut needed.measured,
            };
            *of = need.max(*of);
        }
        needed
    }

    pub(crate) fn usefulness(self) -> Usefulness {
        Usefulness {
            to_appear: self.to_appear,
            to_be_precise: self.of_selection.max(self.measured),
            relative_error: self.relative_error,
        }
    }

    /// As it is stated for people: one size with which groups appear, whatever other groups their
    /// units are in.
    pub(crate) fn stated(self) -> Usefulness {
        Usefulness { to_appear: self.half_size, ..self.usefulness() }
    }

    pub(crate) fn rank(self) -> Rank {
        let usefulness = self.usefulness();
        self.ranked(
            usefulness.size(),
            usefulness.to_appear.max(1.0) * usefulness.to_be_precise.max(1.0),
        )
    }

    fn ranked(self, size: f64, product: f64) -> Rank {
        (fine(size), fine(product), fine(1.0 + self.hidden))
    }

    /// The size to appear, then how seldom a group of that size does.
    pub(crate) fn rank_to_appear(self) -> Rank {
        (fine(self.to_appear), fine(1.0 + self.hidden), 0)
    }

    /// The largest share of selection at which what is measured by itself is precise from the size
    /// `most` on, where selection has `share` now: noise is in inverse proportion to a `power` of
    /// what is left.
    pub(crate) fn largest_share(self, share: f64, power: f64, most: f64) -> f64 {
        1.0 - (1.0 - share) * (self.measured / most).powf(1.0 / power)
    }

    /// The share of selection at which the size from which on groups are of use is the least, and
    /// the rank with it, where selection has `share` now. Noise and thresholds are in inverse
    /// proportion to epsilon or to the root of rho (`power` is 1 or 1/2): noise exactly, thresholds
    /// nearly.
    ///
    /// *Proof.* With a/s^p and b/(1 - s)^p for both sizes at a share s, the larger one is the least
    /// where they are equal: one falls and the other rises with s. That is so at s/(1 - s) =
    /// (a/b)^(1/p), where both are (a^(1/p) + b^(1/p))^p.
    pub(crate) fn best_share(self, share: f64, power: f64) -> (f64, Rank) {
        let root = 1.0 / power;
        let chosen = (self.to_appear.max(self.of_selection) * share.powf(power)).powf(root);
        let measured = (self.measured * (1.0 - share).powf(power)).powf(root);
        let size = (chosen + measured).powf(power);
        (chosen / (chosen + measured), self.ranked(size, size * size))
    }
}

/// The standard deviation of a measurement's noise, or at a sum of zero; for a quantile, the number
/// of values between it and what is released.
pub(crate) fn deviation(noise: &Noise, selection: Option<&Selection>) -> f64 {
    match noise {
        Noise::OfSelection => {
            let laplace =
                |selection: &Selection| selection.strategy() != Strategy::GaussianThreshold;
            let of_scale =
                |selection| if laplace(selection) { std::f64::consts::SQRT_2 } else { 1.0 };
            let scale = selection
                .and_then(|selection| Some(selection.noise_scale()? * of_scale(selection)));
            scale.unwrap_or(0.0)
        }
        Noise::Quantile(quantile) => quantile.rank_distance_even(ONE_DEVIATION),
        Noise::Joint(joint) => joint.draws.deviation_even(joint.nth),
        Noise::Reach(reach) => reach.draws.aim(),
        noise => noise.deviation().or_else(|| Some(noise.largest()?.scale())).unwrap_or(0.0),
    }
}

/// The most that one unit adds to a value, or of values to a quantile.
fn most(measurement: &Measurement) -> f64 {
    let most = match measurement.measure {
        Measure::Units => 1,
        Measure::Quantile { rows, .. } => u64::from(rows),
        _ => measurement.low.unsigned_abs().max(measurement.high.unsigned_abs()),
    };
    most.max(1) as f64
}
