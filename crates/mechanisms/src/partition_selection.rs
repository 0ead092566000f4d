//! Choosing which groups may appear.

use hushtable_noise::{EntropyError, Generator, Law};
use hushtable_numbers::search::least_whole;
use hushtable_privacy::{Delta, Epsilon, Loss, Rho, homogeneous_shares, pure_epsilon};

use crate::additive::half_width;
use crate::count_threshold::CountThreshold;
use crate::error::MechanismError;
use crate::joint::Reach;
use crate::measured_count::{MeasuredCount, MeasuredNoise};
use crate::memberships::Memberships;
use crate::optimal::Optimal;
use crate::single_vote::SingleVote;
use crate::strategy::Strategy;
use crate::truncated_geometric::TruncatedGeometric;
use crate::weighted::WeightedGaussian;

mod seen;

pub use self::seen::ShowReason;

/// Shares of delta that are tried for the groups' own deltas; the last is equal shares.
const DELTA_SHARES: [f64; 5] = [0.25, 0.5, 0.75, 0.9, 1.0];

/// The part of a unit's groups that are neither sure to appear nor to be hidden, so that they
/// compete for its weight: 0.045 of the words of posts, and 0.15 where groups of all sizes have as
/// many pairs.
const RARE: f64 = 0.065;

/// Number of groups that are decided about at a time.
const BATCH: usize = 4096;

/// A calibrated selection.
#[derive(Clone, Debug)]
pub struct Selection {
    mechanism: SelectionMechanism,
    least: u64,
    loss: Loss,
}

#[derive(Clone, Debug)]
enum SelectionMechanism {
    Optimal(Box<Optimal>),
    TruncatedGeometric(TruncatedGeometric),
    Threshold(CountThreshold),
    Weighted(WeightedGaussian),
    Votes(Box<SingleVote>),
    Measured(Box<MeasuredCount>),
}

impl SelectionMechanism {
    /// The probability that a group of `units` appears whose units are in the most groups, and
    /// count once in it; with `alone`, where the units' other groups have no part of their weight
    /// left, and they count as often as they may.
    fn keep_probability(&self, units: u64, least: u64, alone: bool) -> f64 {
        // The units beyond the least decide, see `before_least`.
        let beyond = units.saturating_sub(least.saturating_sub(1));
        match self {
            Self::Optimal(m) => m.keep_probability(beyond),
            Self::TruncatedGeometric(m) => m.keep_probability(beyond),
            Self::Threshold(m) => m.keep_probability(beyond),
            Self::Weighted(m) if alone => m.keep_probability_alone(units, least),
            Self::Weighted(m) => m.keep_probability(units, least),
            Self::Votes(m) if alone => m.keep_probability_alone(units, least),
            Self::Votes(m) => m.keep_probability(units, least),
            Self::Measured(_) if units < least => 0.0,
            Self::Measured(m) => {
                let counts = if alone { m.most() } else { m.most().min(1) };
                m.tail(m.threshold_from(least) - i128::from(units) * i128::from(counts))
            }
        }
    }

    fn half_size(&self, least: u64, alone: bool) -> u64 {
        let keep = |units| self.keep_probability(units, least, alone);
        let most = 1u64 << 62;
        least_whole(0, 1, most, |units| keep(units) >= 0.5).unwrap_or(most)
    }
}

/// The exact numbers on which a selection decides. None of them may be released.
pub struct Candidates<'a> {
    /// Number of units of each group.
    pub units: &'a [u64],
    /// Which groups each unit is in; `None` where every unit is in one group.
    pub members: Option<&'a Memberships>,
    /// Which groups are known without the data, so that only their noisy counts are of interest;
    /// shorter than the groups where the last ones are not known.
    pub known: &'a [bool],
    /// For [`Strategy::MeasuredCount`], the count of each group: with its noise to choose by, and
    /// without it for [`Selection::chances`]. Empty for others.
    pub counts: &'a [i128],
}

impl Candidates<'_> {
    /// Which groups are not known.
    fn open(&self) -> Vec<bool> {
        (0..self.units.len()).map(|group| self.known.get(group) != Some(&true)).collect()
    }
}

/// A group that may appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChosenGroup {
    /// Its position.
    pub group: usize,
    /// Its noisy number of units, where the mechanism gives one.
    pub noisy_count: Option<i128>,
}

impl Selection {
    /// The strategy that shows smaller groups; the first of those that do, as in a query.
    ///
    /// # Errors
    /// When no strategy can select groups at that cost.
    pub fn of_smallest_groups(loss: Loss, reach: Reach) -> Result<Self, MechanismError> {
        let mut best: Option<Self> = None;
        let mut failure = MechanismError::NoBudget("epsilon");
        for strategy in Strategy::ALL.into_iter().filter(|s| s.is_by_itself()) {
            match Self::new(strategy, loss, reach) {
                Ok(selection) => {
                    if best.as_ref().is_none_or(|current| selection.shows_smaller_groups(current)) {
                        best = Some(selection);
                    }
                }
                Err(error) => failure = error,
            }
        }
        best.ok_or(failure)
    }

    /// `strategy` at a total cost of `loss` for one unit that reaches as far as `reach`.
    ///
    /// For the strategies that work group by group the budget is split over the groups; for single
    /// votes over those whose votes one unit changes: one, or two where it replaces another.
    /// Epsilon and delta go by the optimal composition of equal mechanisms (Kairouz, Oh &
    /// Viswanath 2015; theory section 4), which is never worse than equal shares and far better for
    /// many groups. A rho pays for (e, d) in each of k groups with k e tanh(e/2) = rho and k d =
    /// delta ([`Loss::in_rho`]). Gaussian noise has the l2 sensitivity of the counts or weights,
    /// and shares delta with its threshold by their joint delta.
    ///
    /// # Errors
    /// When a share is zero or too small to be drawn with, or units may be in no group; and for
    /// [`Strategy::MeasuredCount`], which has [a constructor of its own](Self::by_measured_count).
    pub fn new(strategy: Strategy, loss: Loss, reach: Reach) -> Result<Self, MechanismError> {
        if reach.groups == 0 {
            return Err(MechanismError::NoGroups);
        }
        // Tails that underflow would pass for a delta of zero, which no selection can keep.
        if loss.delta().is_zero() {
            return Err(MechanismError::NoBudget("delta"));
        }
        let by_group: ByGroup<'_> = match strategy {
            Strategy::Optimal => {
                &|e, d| Ok(SelectionMechanism::Optimal(Box::new(Optimal::new(e, d)?)))
            }
            Strategy::TruncatedGeometric => {
                &|e, d| Ok(SelectionMechanism::TruncatedGeometric(TruncatedGeometric::new(e, d)?))
            }
            Strategy::LaplaceThreshold => {
                &|e, d| Ok(SelectionMechanism::Threshold(CountThreshold::laplace(e, d)?))
            }
            Strategy::SingleVote => &|e, d| {
                Ok(SelectionMechanism::Votes(Box::new(SingleVote::new(e, d, reach.groups)?)))
            },
            Strategy::MeasuredCount => return Err(MechanismError::NoCount),
            _ => {
                let mechanism = gaussian(strategy, loss, reach)?;
                return Ok(Self { mechanism, least: 1, loss });
            }
        };
        let groups = match strategy {
            Strategy::SingleVote => Reach { groups: 1, ..reach }.touched(),
            _ => reach.touched(),
        };
        let mechanism = match loss {
            Loss::Approximate { epsilon, delta } => shared(by_group, epsilon, delta, groups)?,
            Loss::Concentrated { rho, delta } => {
                by_group(pure_epsilon(rho, groups), delta.share(groups))?
            }
        };
        Ok(Self { mechanism, least: 1, loss })
    }

    /// [`Strategy::MeasuredCount`] by a count with this noise, of which one unit adds `most` to
    /// each of its groups: for the delta of the loss alone, whose epsilon or rho is left for the
    /// count itself.
    ///
    /// # Errors
    /// When delta is zero, units may be in no group, or the noise is too large.
    pub fn by_measured_count(
        noise: MeasuredNoise<'_>,
        most: u64,
        loss: Loss,
        reach: Reach,
    ) -> Result<Self, MechanismError> {
        if reach.groups == 0 {
            return Err(MechanismError::NoGroups);
        }
        let delta = loss.delta();
        let loss = match loss {
            Loss::Approximate { .. } => Loss::Approximate { epsilon: Epsilon::ZERO, delta },
            Loss::Concentrated { .. } => Loss::Concentrated { rho: Rho::ZERO, delta },
        };
        let mechanism = MeasuredCount::new(noise, most, delta, reach.groups)?;
        Ok(Self { mechanism: SelectionMechanism::Measured(Box::new(mechanism)), least: 1, loss })
    }

    /// Limits the selection to groups of at least `least` units. Others are decided by the number
    /// of units beyond `least` - 1, or by the weight beyond the most that as many units weigh,
    /// which one unit changes no more than before.
    #[must_use]
    pub fn with_least(self, least: u64) -> Self {
        Self { least: least.max(1), ..self }
    }

    /// The strategy.
    pub fn strategy(&self) -> Strategy {
        match &self.mechanism {
            SelectionMechanism::Optimal(_) => Strategy::Optimal,
            SelectionMechanism::TruncatedGeometric(_) => Strategy::TruncatedGeometric,
            SelectionMechanism::Threshold(m) if m.is_gaussian() => Strategy::GaussianThreshold,
            SelectionMechanism::Threshold(_) => Strategy::LaplaceThreshold,
            SelectionMechanism::Weighted(m) if m.is_iterated() => Strategy::Sips,
            SelectionMechanism::Weighted(_) => Strategy::WeightedGaussian,
            SelectionMechanism::Votes(_) => Strategy::SingleVote,
            SelectionMechanism::Measured(_) => Strategy::MeasuredCount,
        }
    }

    /// Cost of the selection, with the noisy counts where it gives them.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// The least number of units of a group that may appear, 1 unless set.
    pub fn least(&self) -> u64 {
        self.least
    }

    /// The probability that a group of `units` appears; it does not fall as `units` grows. Where
    /// units divide a weight over their groups, each of these is in the most groups and none of the
    /// others has appeared: the group's chances are no worse than this. For a measured count, each
    /// unit counts once.
    pub fn keep_probability(&self, units: u64) -> f64 {
        self.mechanism.keep_probability(units, self.least, false)
    }

    /// The probability that the noisy count of a known group of `units` is at least `threshold`;
    /// zero where there is no noisy count.
    pub fn reach_probability(&self, units: u64, threshold: i64) -> f64 {
        let missing = i128::from(threshold) - i128::from(units);
        match &self.mechanism {
            SelectionMechanism::TruncatedGeometric(m) => m.law().tail(missing).clamp(0.0, 1.0),
            // The fine noise is rounded to units.
            SelectionMechanism::Threshold(m) => m.noise_tail(missing as f64 - 0.5).clamp(0.0, 1.0),
            SelectionMechanism::Optimal(_)
            | SelectionMechanism::Weighted(_)
            | SelectionMechanism::Votes(_)
            | SelectionMechanism::Measured(_) => 0.0,
        }
    }

    /// The least number of units with which a group appears at least half of the time, as in
    /// [`keep_probability`](Self::keep_probability).
    pub fn half_size(&self) -> u64 {
        self.mechanism.half_size(self.least, false)
    }

    /// The [`half_size`](Self::half_size) where all other groups of its units have appeared before,
    /// or have enough weight: smaller for the strategies that then give a group all of the weight.
    /// For a measured count, where each unit counts the most.
    pub fn half_size_alone(&self) -> u64 {
        self.mechanism.half_size(self.least, true)
    }

    /// The size from which on groups are taken to appear: between [`half_size`](Self::half_size)
    /// and [`half_size_alone`](Self::half_size_alone), where it lies for every group. It is a
    /// geometric mean with four parts of five for the latter: in most tables few units are in as
    /// many groups as they may be, and most of their groups are large and appear early. Where it is
    /// known how many groups a unit is usually in, a part of them competes for it. For a
    /// measured count it is an arithmetic mean with nine parts of ten: units count less often than
    /// they may, and then errors are larger beside their groups, too; but the more often they may,
    /// the less is known of how often they do.
    pub fn size_to_appear(&self, usual_groups: Option<u64>) -> f64 {
        let (half, alone) = (self.half_size() as f64, self.half_size_alone() as f64);
        let most = match &self.mechanism {
            SelectionMechanism::Measured(_) => return 0.9 * alone + 0.1 * half,
            SelectionMechanism::Weighted(m) => m.most_groups(),
            SelectionMechanism::Votes(m) => m.most_groups(),
            _ => 1,
        };
        let exponent = match usual_groups {
            Some(usual) if most > 1 => {
                let others = usual.clamp(1, most) - 1;
                (RARE * others as f64).ln_1p() / (most as f64).ln()
            }
            _ => 0.2,
        };
        alone * (half / alone).powf(exponent)
    }

    /// Whether smaller groups appear than with `other`, by
    /// [`size_to_appear`](Self::size_to_appear) where nothing is known of the units, and at the
    /// same size by the probability at [`half_size`](Self::half_size).
    pub fn shows_smaller_groups(&self, other: &Self) -> bool {
        let (left, right) = (self.size_to_appear(None), other.size_to_appear(None));
        let size = self.half_size();
        left < right || left == right && self.keep_probability(size) > other.keep_probability(size)
    }

    /// The probability that each group appears if it is not known: for single votes by the votes,
    /// where memberships are recorded, and otherwise as in
    /// [`keep_probability`](Self::keep_probability). It reveals exact numbers: it is for the owner
    /// of the data alone.
    pub fn chances(&self, population: &Candidates<'_>) -> Vec<f64> {
        match (&self.mechanism, population.members) {
            (SelectionMechanism::Votes(m), Some(members)) => {
                m.chances(members, &population.open(), self.least)
            }
            (SelectionMechanism::Measured(m), _) => {
                let threshold = m.threshold_from(self.least);
                let groups = population.units.iter().zip(population.counts);
                let chance = |(&units, &count)| match units < self.least {
                    true => 0.0,
                    false => m.tail(threshold - count),
                };
                groups.map(chance).collect()
            }
            _ => population.units.iter().map(|&units| self.keep_probability(units)).collect(),
        }
    }

    /// The groups that may appear, in their order. A known group always may, with its noisy count.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub fn choose(
        &self,
        population: &Candidates<'_>,
        generator: &mut Generator,
    ) -> Result<Vec<ChosenGroup>, EntropyError> {
        let (units, members) = (population.units, population.members);
        let known = |group: usize| population.known.get(group) == Some(&true);
        let without_counts = |appears: Vec<bool>| {
            let groups = appears.into_iter().enumerate();
            let visible = groups.filter(|&(group, appears)| appears || known(group));
            visible.map(|(group, _)| ChosenGroup { group, noisy_count: None }).collect()
        };
        Ok(match &self.mechanism {
            SelectionMechanism::Weighted(m) => {
                let open = population.open();
                without_counts(m.select(members, units, open, self.least, generator)?)
            }
            SelectionMechanism::Votes(m) => {
                let open = population.open();
                without_counts(m.select(members, units, &open, self.least, generator)?)
            }
            SelectionMechanism::Measured(m) => {
                let threshold = m.threshold_from(self.least);
                let groups = units.iter().zip(population.counts);
                let appears =
                    |(&units, &noisy): (&u64, &i128)| units >= self.least && noisy >= threshold;
                without_counts(groups.map(appears).collect())
            }
            SelectionMechanism::Optimal(m) => {
                let mut appears = vec![false; units.len()];
                for (units, appears) in units.chunks(BATCH).zip(appears.chunks_mut(BATCH)) {
                    let beyond: Vec<u64> = units.iter().map(|&n| self.beyond(n)).collect();
                    m.decide_all(&beyond, appears, generator)?;
                }
                without_counts(appears)
            }
            SelectionMechanism::TruncatedGeometric(m) => {
                let fill = |noise: &mut [i128]| m.law().fill(generator, noise);
                self.choose_by_count(units, &known, fill, |count, noise| m.noisy(count, noise))?
            }
            SelectionMechanism::Threshold(m) => {
                let fill = |noise: &mut [i128]| m.fill(generator, noise);
                self.choose_by_count(units, &known, fill, |count, noise| m.noisy(count, noise))?
            }
        })
    }

    /// The number of units that count for the choice: those beyond the least number.
    fn beyond(&self, units: u64) -> u64 {
        units.saturating_sub(self.least - 1)
    }

    /// The groups whose noisy count decides. `noisy` says whether a count with its noise reaches
    /// the threshold, and what the two come to.
    fn choose_by_count(
        &self,
        units: &[u64],
        known: &impl Fn(usize) -> bool,
        mut fill: impl FnMut(&mut [i128]) -> Result<(), EntropyError>,
        noisy: impl Fn(u64, i128) -> (bool, i128),
    ) -> Result<Vec<ChosenGroup>, EntropyError> {
        let mut chosen = Vec::new();
        let mut noise = vec![0i128; units.len().min(BATCH)];
        for (batch, units) in units.chunks(BATCH).enumerate() {
            noise.truncate(units.len());
            fill(&mut noise)?;
            for (i, (&units, &noise)) in units.iter().zip(&noise).enumerate() {
                let group = batch * BATCH + i;
                // A known group is released with its noisy count, even if no unit is in it. For
                // others, the count beyond the least number decides, and the least number is added
                // again.
                let (count, added) = match known(group) {
                    true => (units, 0),
                    false => (self.beyond(units), i128::from(self.least - 1)),
                };
                let (reaches, sum) = noisy(count, noise);
                if known(group) || reaches && count > 0 {
                    chosen
                        .push(ChosenGroup { group, noisy_count: Some(sum.saturating_add(added)) });
                }
            }
        }
        Ok(chosen)
    }

    /// The threshold that a noisy count or weight must reach, of the last round where there are
    /// several; `None` where there is no noise.
    pub fn threshold(&self) -> Option<f64> {
        let before = (self.least - 1) as f64;
        Some(
            before
                + match &self.mechanism {
                    SelectionMechanism::Optimal(_) | SelectionMechanism::Votes(_) => return None,
                    SelectionMechanism::Measured(m) => {
                        return Some(m.threshold_from(self.least) as f64);
                    }
                    SelectionMechanism::TruncatedGeometric(m) => m.threshold() as f64 + 1.0,
                    SelectionMechanism::Threshold(m) => m.threshold(),
                    SelectionMechanism::Weighted(m) => m.rounds().last()?.1,
                },
        )
    }

    /// Scale of the noise in units of what is counted or weighed: b of a Laplace, sigma of a
    /// Gaussian, of the last round where there are several; `None` without noise of its own.
    pub fn noise_scale(&self) -> Option<f64> {
        match &self.mechanism {
            SelectionMechanism::Optimal(_)
            | SelectionMechanism::Votes(_)
            | SelectionMechanism::Measured(_) => None,
            SelectionMechanism::TruncatedGeometric(m) => Some(m.law().scale().to_f64()),
            SelectionMechanism::Threshold(m) => Some(m.scale()),
            SelectionMechanism::Weighted(m) => Some(m.rounds().last()?.0),
        }
    }

    /// The standard deviation of the noise of released counts, before they are known to have passed
    /// the threshold; `None` where there is no noisy count.
    pub fn count_deviation(&self) -> Option<f64> {
        match &self.mechanism {
            SelectionMechanism::TruncatedGeometric(m) => Some(m.law().variance().sqrt()),
            SelectionMechanism::Threshold(m) => Some(m.deviation()),
            SelectionMechanism::Optimal(_)
            | SelectionMechanism::Weighted(_)
            | SelectionMechanism::Votes(_)
            | SelectionMechanism::Measured(_) => None,
        }
    }

    /// Standard deviation and threshold of every round of weighted selection, in units of weight;
    /// empty for the other strategies.
    pub fn rounds(&self) -> Vec<(f64, f64)> {
        match &self.mechanism {
            SelectionMechanism::Weighted(m) => m.rounds().collect(),
            _ => Vec::new(),
        }
    }

    /// The least whole w with P\[|noise| <= w\] >= `level` for that many noisy counts at once,
    /// before they are known to have passed the threshold; `None` where there is no noisy count.
    pub fn noise_half_width(&self, level: f64, counts: u64) -> Option<u128> {
        if !self.strategy().gives_count() {
            return None;
        }
        Some(half_width(self.noise_scale()?, (level, counts), |x| match &self.mechanism {
            SelectionMechanism::TruncatedGeometric(m) => m.law().tail(x),
            // A rounded count errs by x or more when the fine noise reaches x - 1/2.
            SelectionMechanism::Threshold(m) => m.noise_tail(x as f64 - 0.5),
            SelectionMechanism::Optimal(_)
            | SelectionMechanism::Weighted(_)
            | SelectionMechanism::Votes(_)
            | SelectionMechanism::Measured(_) => 0.0,
        }))
    }
}

/// The strategies with Gaussian noise, which is shared by the groups.
fn gaussian(
    strategy: Strategy,
    loss: Loss,
    reach: Reach,
) -> Result<SelectionMechanism, MechanismError> {
    use Loss::{Approximate, Concentrated};
    use WeightedGaussian as W;
    Ok(match (strategy, loss) {
        (Strategy::WeightedGaussian, Approximate { epsilon, delta }) => {
            SelectionMechanism::Weighted(W::approximate(epsilon, delta, reach)?)
        }
        (Strategy::WeightedGaussian, Concentrated { rho, delta }) => {
            SelectionMechanism::Weighted(W::concentrated(rho, delta, reach)?)
        }
        (Strategy::Sips, Approximate { epsilon, delta }) => {
            SelectionMechanism::Weighted(W::sips_approximate(epsilon, delta, reach)?)
        }
        (Strategy::Sips, Concentrated { rho, delta }) => {
            SelectionMechanism::Weighted(W::sips_concentrated(rho, delta, reach)?)
        }
        (_, Approximate { epsilon, delta }) => SelectionMechanism::Threshold(
            CountThreshold::gaussian_approximate(epsilon, delta, reach)?,
        ),
        (_, Concentrated { rho, delta }) => {
            SelectionMechanism::Threshold(CountThreshold::gaussian_concentrated(rho, delta, reach)?)
        }
    })
}

/// A mechanism that decides about each group at (epsilon, delta) of its own.
type ByGroup<'a> = &'a dyn Fn(Epsilon, Delta) -> Result<SelectionMechanism, MechanismError>;

/// Epsilon and delta shared by `groups` groups: of the ways to divide delta between the groups' own
/// deltas and their composition, the one with which smaller groups appear.
fn shared(
    by_group: ByGroup<'_>,
    epsilon: Epsilon,
    delta: Delta,
    groups: u64,
) -> Result<SelectionMechanism, MechanismError> {
    let smaller = |candidate: &SelectionMechanism, other: &SelectionMechanism| {
        let (size, other_size) = (candidate.half_size(1, false), other.half_size(1, false));
        let keep = |m: &SelectionMechanism| m.keep_probability(size, 1, false);
        size < other_size || size == other_size && keep(candidate) > keep(other)
    };
    let mut best: Option<SelectionMechanism> = None;
    let mut failure = MechanismError::NoBudget("epsilon");
    let mut tried: Vec<(Epsilon, Delta)> = Vec::new();
    for share in DELTA_SHARES {
        let shares = homogeneous_shares(epsilon, delta, groups, share);
        if tried.contains(&shares) {
            continue;
        }
        tried.push(shares);
        match by_group(shares.0, shares.1) {
            Ok(mechanism) => {
                if best.as_ref().is_none_or(|current| smaller(&mechanism, current)) {
                    best = Some(mechanism);
                }
            }
            Err(error) => failure = error,
        }
    }
    best.ok_or(failure)
}

#[cfg(test)]
mod tests;
