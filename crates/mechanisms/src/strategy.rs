//! The ways to choose groups, by name.

use std::fmt;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::joint::Reach;

/// How groups are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Strategy {
    /// pi_opt (PS Theorem 1): the best there is for keys alone, one group per unit.
    Optimal,
    /// k-TSGD thresholded release (PS Definition 8).
    TruncatedGeometric,
    /// A Laplace count above a threshold (PS Definition 9).
    LaplaceThreshold,
    /// A Gaussian count above a threshold.
    GaussianThreshold,
    /// Each unit divides a weight of l2 norm one over its groups (Gopi et al. 2020).
    WeightedGaussian,
    /// Rounds of weighted Gaussian selection with a growing budget; a group that has been released
    /// takes no weight in later rounds (DP-SIPS: Swanberg, Desfontaines & Haney 2023).
    Sips,
    /// One unit after the other votes for that of its groups which needs it most; pi_opt decides by
    /// the votes.
    SingleVote,
    /// The count that the query measures, with its noise, above a threshold: choosing costs delta
    /// alone.
    MeasuredCount,
}

impl Strategy {
    /// All strategies, in the order in which ties are broken.
    pub const ALL: [Self; 8] = [
        Self::Optimal,
        Self::TruncatedGeometric,
        Self::LaplaceThreshold,
        Self::GaussianThreshold,
        Self::WeightedGaussian,
        Self::Sips,
        Self::SingleVote,
        Self::MeasuredCount,
    ];

    /// Names that a user may write, in words.
    pub const NAMES: &'static str = "one of OPTIMAL, TRUNCATED_GEOMETRIC, LAPLACE_THRESHOLD, \
                                     GAUSSIAN_THRESHOLD, WEIGHTED_GAUSSIAN, SIPS, SINGLE_VOTE, \
                                     MEASURED_COUNT";

    /// The strategy of that name, in any letter case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.to_string().eq_ignore_ascii_case(name))
    }

    /// Whether the noise that decides also gives a count of units that may be released.
    pub fn gives_count(self) -> bool {
        matches!(self, Self::TruncatedGeometric | Self::LaplaceThreshold | Self::GaussianThreshold)
    }

    /// Whether the strategy decides by itself: all but the one that looks at a count that the query
    /// measures.
    pub fn is_by_itself(self) -> bool {
        self != Self::MeasuredCount
    }

    /// Whether the decision looks at which groups each unit is in, not only at their numbers of
    /// units.
    pub fn by_membership(self) -> bool {
        matches!(self, Self::WeightedGaussian | Self::Sips | Self::SingleVote)
    }

    /// The number of shares of mu^2, of which a unit moves Gaussian noise by one less where it has
    /// groups for itself that may appear with all of delta. Proof:
    /// `theorems/partition-selection.md#noise-and-groups-together`.
    pub fn mu_squared_shares(self, reach: Reach) -> NonZeroU64 {
        // A threshold on counts is as likely to be reached in one group as in another; divided
        // weights may be all in one.
        let shares = match self {
            Self::GaussianThreshold | Self::MeasuredCount => Reach { groups: 1, ..reach }.touched(),
            _ => reach.touched(),
        };
        NonZeroU64::new(shares).unwrap_or(NonZeroU64::MIN)
    }

    /// Whether units are looked at one after the other, so that a group's chances depend on all
    /// units.
    pub fn in_turn(self) -> bool {
        self == Self::SingleVote
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Optimal => "OPTIMAL",
            Self::TruncatedGeometric => "TRUNCATED_GEOMETRIC",
            Self::LaplaceThreshold => "LAPLACE_THRESHOLD",
            Self::GaussianThreshold => "GAUSSIAN_THRESHOLD",
            Self::WeightedGaussian => "WEIGHTED_GAUSSIAN",
            Self::Sips => "SIPS",
            Self::SingleVote => "SINGLE_VOTE",
            Self::MeasuredCount => "MEASURED_COUNT",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for strategy in Strategy::ALL {
            assert_eq!(Strategy::from_name(&strategy.to_string().to_lowercase()), Some(strategy));
            assert!(Strategy::NAMES.contains(&strategy.to_string()));
        }
        assert_eq!(Strategy::from_name("BEST"), None);
    }
}
