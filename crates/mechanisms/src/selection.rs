//! Choosing which groups may appear, from how many units they have.

use std::fmt;

use hushtable_noise::{EntropyError, Generator};
use hushtable_privacy::{Delta, Epsilon, Loss, homogeneous_shares};
use serde::{Deserialize, Serialize};

use crate::additive::half_width;
use crate::error::MechanismError;
use crate::optimal::Optimal;
use crate::threshold::CountThreshold;
use crate::truncated::TruncatedGeometric;

/// Parts of delta that are tried for the groups' own deltas; the last is equal shares.
const DELTA_PARTS: [f64; 5] = [0.25, 0.5, 0.75, 0.9, 1.0];

/// How groups are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Strategy {
    /// pi_opt (PS Theorem 1): the best there is when only the keys are wanted.
    Optimal,
    /// k-TSGD thresholded release (PS Definition 8).
    TruncatedGeometric,
    /// A Laplace count above a threshold (PS Definition 9).
    LaplaceThreshold,
    /// A Gaussian count above a threshold.
    GaussianThreshold,
}

impl Strategy {
    /// All strategies, in the order in which ties are broken.
    pub const ALL: [Self; 4] =
        [Self::Optimal, Self::TruncatedGeometric, Self::LaplaceThreshold, Self::GaussianThreshold];

    /// What a user may write, in words.
    pub const NAMES: &'static str =
        "one of OPTIMAL, TRUNCATED_GEOMETRIC, LAPLACE_THRESHOLD, GAUSSIAN_THRESHOLD";

    /// The strategy of that name, in any letter case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.to_string().eq_ignore_ascii_case(name))
    }

    /// Whether the noise that decides also gives a count that may be released.
    pub fn gives_count(self) -> bool {
        self != Self::Optimal
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Optimal => "OPTIMAL",
            Self::TruncatedGeometric => "TRUNCATED_GEOMETRIC",
            Self::LaplaceThreshold => "LAPLACE_THRESHOLD",
            Self::GaussianThreshold => "GAUSSIAN_THRESHOLD",
        })
    }
}

/// A calibrated selection.
#[derive(Clone, Debug)]
pub struct Selection {
    mechanism: Mechanism,
    loss: Loss,
}

#[derive(Clone, Debug)]
enum Mechanism {
    Optimal(Box<Optimal>),
    TruncatedGeometric(TruncatedGeometric),
    Threshold(CountThreshold),
}

impl Mechanism {
    fn keep_probability(&self, units: u64) -> f64 {
        match self {
            Self::Optimal(m) => m.keep_probability(units),
            Self::TruncatedGeometric(m) => m.keep_probability(units),
            Self::Threshold(m) => m.keep_probability(units),
        }
    }

    fn half_size(&self) -> u64 {
        let mut high = 1u64;
        while self.keep_probability(high) < 0.5 && high < 1 << 62 {
            high *= 2;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.keep_probability(middle) < 0.5 {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// Whether a group appears half of the time at a smaller size, or at the same size more often.
    fn shows_smaller_groups(&self, other: &Self) -> bool {
        let (own, others) = (self.half_size(), other.half_size());
        let keep = |mechanism: &Self| mechanism.keep_probability(own);
        own < others || own == others && keep(self) > keep(other)
    }
}

/// What is decided about one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The noisy number of units, where the mechanism gives one.
    pub noisy_count: Option<i128>,
}

impl Selection {
    /// `strategy` at a total cost of `loss` for one unit that is in up to `groups` groups.
    ///
    /// For the strategies that work group by group the budget is split over `groups`. Epsilon and
    /// delta go by the optimal composition of equal mechanisms (Kairouz, Oh & Viswanath 2015; theory
    /// section 4), which is never worse than equal shares and far better for many groups. A rho pays
    /// for (e, d) in each of `groups` groups with groups e^2/2 = rho and groups d = delta, as
    /// (e, d)-DP is d-approximate (e^2/2)-zCDP (theory section 5). Gaussian noise has l2 sensitivity
    /// sqrt(groups).
    ///
    /// # Errors
    /// When a share is zero or too small to be drawn with.
    pub fn new(strategy: Strategy, loss: Loss, groups: u64) -> Result<Self, MechanismError> {
        let groups = groups.max(1);
        let by_group: ByGroup = match strategy {
            Strategy::Optimal => |e, d| Ok(Mechanism::Optimal(Box::new(Optimal::new(e, d)?))),
            Strategy::TruncatedGeometric => {
                |e, d| Ok(Mechanism::TruncatedGeometric(TruncatedGeometric::new(e, d)?))
            }
            Strategy::LaplaceThreshold => {
                |e, d| Ok(Mechanism::Threshold(CountThreshold::laplace(e, d)?))
            }
            Strategy::GaussianThreshold => {
                let threshold = match loss {
                    Loss::Approximate { epsilon, delta } => {
                        CountThreshold::gaussian_approximate(epsilon, delta, groups)?
                    }
                    Loss::Concentrated { rho, delta } => {
                        CountThreshold::gaussian_concentrated(rho, delta, groups)?
                    }
                };
                return Ok(Self { mechanism: Mechanism::Threshold(threshold), loss });
            }
        };
        let mechanism = match loss {
            Loss::Approximate { epsilon, delta } => shared(by_group, epsilon, delta, groups)?,
            Loss::Concentrated { rho, delta } => {
                let epsilon = (2.0 * rho.to_f64() / groups as f64).sqrt();
                let epsilon =
                    Epsilon::from_f64_down(epsilon).map_err(|_| MechanismError::TooLarge)?;
                by_group(epsilon, delta.share(groups))?
            }
        };
        Ok(Self { mechanism, loss })
    }

    /// The strategy.
    pub fn strategy(&self) -> Strategy {
        match &self.mechanism {
            Mechanism::Optimal(_) => Strategy::Optimal,
            Mechanism::TruncatedGeometric(_) => Strategy::TruncatedGeometric,
            Mechanism::Threshold(m) if m.is_gaussian() => Strategy::GaussianThreshold,
            Mechanism::Threshold(_) => Strategy::LaplaceThreshold,
        }
    }

    /// What the selection costs, with the noisy counts where it gives them.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// The probability that a group of `units` appears; it does not fall as `units` grows.
    pub fn keep_probability(&self, units: u64) -> f64 {
        self.mechanism.keep_probability(units)
    }

    /// The least number of units with which a group appears at least half of the time.
    pub fn half_size(&self) -> u64 {
        self.mechanism.half_size()
    }

    /// Whether a group appears half of the time at a smaller size than with `other`, or at the same
    /// size more often.
    pub fn shows_smaller_groups(&self, other: &Self) -> bool {
        self.mechanism.shows_smaller_groups(&other.mechanism)
    }

    /// Decides about a group of `units`; `None` if it may not appear.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub fn decide(
        &self,
        units: u64,
        generator: &mut Generator,
    ) -> Result<Option<Decision>, EntropyError> {
        let noisy = match &self.mechanism {
            Mechanism::Optimal(m) => {
                let kept = m.decide(units, generator)?;
                return Ok(kept.then_some(Decision { noisy_count: None }));
            }
            Mechanism::TruncatedGeometric(m) => m.release(units, generator)?,
            Mechanism::Threshold(m) => m.release(units, generator)?,
        };
        Ok(noisy.map(|count| Decision { noisy_count: Some(count) }))
    }

    /// The threshold in units that a noisy count must reach; `None` where there is no noisy count.
    pub fn threshold(&self) -> Option<f64> {
        match &self.mechanism {
            Mechanism::Optimal(_) => None,
            Mechanism::TruncatedGeometric(m) => Some(m.threshold() as f64 + 1.0),
            Mechanism::Threshold(m) => Some(m.threshold()),
        }
    }

    /// Scale of the noisy count's noise in units: b of a Laplace, sigma of a Gaussian.
    pub fn noise_scale(&self) -> Option<f64> {
        match &self.mechanism {
            Mechanism::Optimal(_) => None,
            Mechanism::TruncatedGeometric(m) => Some(m.law().scale().to_f64()),
            Mechanism::Threshold(m) => Some(m.scale()),
        }
    }

    /// The least whole w with P\[|noise| <= w\] >= `level` for the noisy count, before it is known
    /// to have passed the threshold.
    pub fn noise_half_width(&self, level: f64) -> Option<u128> {
        let most = self.noise_scale()? * 40.0 + 1.0;
        Some(half_width(most, level, |x| match &self.mechanism {
            Mechanism::Optimal(_) => 0.0,
            Mechanism::TruncatedGeometric(m) => m.law().tail(x),
            // A rounded count errs by x or more when the fine noise reaches x - 1/2.
            Mechanism::Threshold(m) => m.noise_tail(x as f64 - 0.5),
        }))
    }
}

/// A mechanism that decides about each group at (epsilon, delta) of its own.
type ByGroup = fn(Epsilon, Delta) -> Result<Mechanism, MechanismError>;

/// Epsilon and delta shared by `groups` groups: of the ways to divide delta between the groups' own
/// deltas and their composition, the one with which smaller groups appear.
fn shared(
    by_group: ByGroup,
    epsilon: Epsilon,
    delta: Delta,
    groups: u64,
) -> Result<Mechanism, MechanismError> {
    let mut best: Option<Mechanism> = None;
    let mut failure = MechanismError::NoBudget("epsilon");
    let mut tried: Vec<(Epsilon, Delta)> = Vec::new();
    for part in DELTA_PARTS {
        let shares = homogeneous_shares(epsilon, delta, groups, part);
        if tried.contains(&shares) {
            continue;
        }
        tried.push(shares);
        match by_group(shares.0, shares.1) {
            Ok(mechanism) => {
                if best.as_ref().is_none_or(|own| mechanism.shows_smaller_groups(own)) {
                    best = Some(mechanism);
                }
            }
            Err(error) => failure = error,
        }
    }
    best.ok_or(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approximate(epsilon: &str, delta: &str) -> Loss {
        Loss::Approximate { epsilon: epsilon.parse().unwrap(), delta: delta.parse().unwrap() }
    }

    #[test]
    fn names_round_trip() {
        for strategy in Strategy::ALL {
            assert_eq!(Strategy::from_name(&strategy.to_string().to_lowercase()), Some(strategy));
            assert!(Strategy::NAMES.contains(&strategy.to_string()));
        }
        assert_eq!(Strategy::from_name("BEST"), None);
    }

    #[test]
    fn optimal_releases_first_at_equal_cost() {
        for groups in [1, 3] {
            let sizes = Strategy::ALL
                .map(|s| Selection::new(s, approximate("1", "1e-5"), groups).unwrap().half_size());
            assert!(sizes[1..].iter().all(|&s| s >= sizes[0]), "{sizes:?}");
        }
        let one = |s| Selection::new(s, approximate("1", "1e-5"), 1).unwrap();
        assert_eq!(one(Strategy::Optimal).half_size(), 12);
        assert!(one(Strategy::Optimal).keep_probability(11) < 0.5);
    }

    #[test]
    fn the_budget_is_split_over_groups() {
        let alone = Selection::new(Strategy::Optimal, approximate("1", "1e-5"), 1).unwrap();
        // Optimal composition is never worse than equal shares, and much better for many groups.
        for strategy in Strategy::ALL {
            let split = Selection::new(strategy, approximate("3", "3e-5"), 3).unwrap();
            let equal = Selection::new(strategy, approximate("1", "1e-5"), 1).unwrap();
            assert!(split.half_size() <= equal.half_size(), "{strategy}");
        }
        let many = Selection::new(Strategy::Optimal, approximate("1", "1e-5"), 100).unwrap();
        let equal = Selection::new(Strategy::Optimal, approximate("0.01", "1e-7"), 1).unwrap();
        assert!(many.half_size() * 2 < equal.half_size(), "{}", many.half_size());
        let rho =
            Loss::Concentrated { rho: "1.5".parse().unwrap(), delta: "3e-5".parse().unwrap() };
        // 3 groups at epsilon 1 cost 3 * 1/2.
        let concentrated = Selection::new(Strategy::Optimal, rho, 3).unwrap();
        for n in 0..30 {
            let (a, b) = (concentrated.keep_probability(n), alone.keep_probability(n));
            assert!((a - b).abs() < 1e-9);
        }
    }

    #[test]
    fn half_widths_of_counts() {
        let g = Selection::new(Strategy::TruncatedGeometric, approximate("1", "1e-5"), 1).unwrap();
        assert_eq!(g.noise_half_width(0.95), Some(3));
        let l = Selection::new(Strategy::LaplaceThreshold, approximate("1", "1e-5"), 1).unwrap();
        assert_eq!(l.noise_half_width(0.95), Some(3));
        let o = Selection::new(Strategy::Optimal, approximate("1", "1e-5"), 1).unwrap();
        assert_eq!(o.noise_half_width(0.95), None);
    }
}
