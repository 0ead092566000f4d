//! Weighted Gaussian selection, in one round or several.
//!
//! Each unit gives each of its t groups a weight of 1/sqrt(t), rounded down to the lattice, so that
//! one unit moves the sums of weights by at most one in l2 (Gopi, Gulhane, Kulkarni, Shen, Shokouhi
//! & Yekhanin 2020). A group appears if its sum with Gaussian noise reaches a threshold.
//!
//! DP-SIPS (Swanberg, Desfontaines & Haney 2023) does so in rounds: what has appeared takes no
//! weight any more, so that later rounds, which have most of the budget, find what the first ones
//! hid. Rounds compose adaptively, since the noise of each is fixed beforehand: a rho as
//! approximate zCDP, an epsilon by the joint delta of all rounds ([`crate::joint`]). The number of
//! rounds and their shares follow from the budget and the most groups ([`shares`]).

use hushtable_noise::{EntropyError, Generator, Law, RoundedGaussian};
use hushtable_numbers::search::last;
use hushtable_privacy::{Delta, Epsilon, Rho, analytic_gaussian_mu, normal_quantile};

use crate::error::MechanismError;
use crate::joint::{
    FINE, NOISE_SHARES, Neighbours, Reach, Weights, calibrate, noise_and_threshold, to_lattice,
};
use crate::memberships::Memberships;

/// The numbers of rounds of DP-SIPS that are tried.
const ROUNDS: std::ops::RangeInclusive<i32> = 2..=4;

/// How much larger the squared budget of a round (mu^2, rho) may be than that of the one before.
const GROWTHS: [f64; 6] = [4.0, 6.0, 8.0, 12.0, 16.0, 24.0];

/// The share of the smallest size that one round more must save, as it reads all memberships again.
const WORTH_A_ROUND: f64 = 0.01;

/// The natural logarithm of the size up to which groups are taken to spread evenly, a million.
const LOG_OF_LARGEST: f64 = 13.815_510_557_964_274;

/// The share of delta that new groups have where they may have all of it, except for rounding.
const WHOLE: f64 = 1.0 - 1e-9;

/// Number of groups that noise is drawn for at a time.
const BATCH: usize = 4096;

/// One round of weighted selection.
#[derive(Clone, Copy, Debug)]
struct WeightedRound {
    noise: RoundedGaussian,
    threshold: i128,
}

/// Weighted Gaussian selection.
#[derive(Clone, Debug)]
pub(crate) struct WeightedGaussian {
    rounds: Vec<WeightedRound>,
    most_groups: u64,
}

impl WeightedGaussian {
    /// One round at `epsilon` and `delta`, by the joint delta of noise and threshold.
    pub(crate) fn approximate(
        epsilon: Epsilon,
        delta: Delta,
        reach: Reach,
    ) -> Result<Self, MechanismError> {
        let (noise, threshold) =
            calibrate(epsilon.to_f64(), delta.to_f64(), reach, Weights::Roots)?;
        Ok(Self { rounds: vec![WeightedRound { noise, threshold }], most_groups: reach.groups })
    }

    /// One round at `rho` for the noise and `delta` for the threshold.
    pub(crate) fn concentrated(
        rho: Rho,
        delta: Delta,
        reach: Reach,
    ) -> Result<Self, MechanismError> {
        Self::of(&plan(in_mu(rho)?, delta.to_f64(), reach, &[1.0])?, reach)
    }

    /// DP-SIPS at `epsilon` and `delta`.
    pub(crate) fn sips_approximate(
        epsilon: Epsilon,
        delta: Delta,
        reach: Reach,
    ) -> Result<Self, MechanismError> {
        if epsilon.is_zero() {
            return Err(MechanismError::NoBudget("epsilon"));
        }
        let (epsilon, delta) = (epsilon.to_f64(), delta.to_f64());
        let neighbours = Neighbours::new(reach, Weights::RootsInRounds);
        let mut best: Option<(f64, UnroundedRounds)> = None;
        let mut failure = MechanismError::NoBudget("epsilon");
        let shares = shares(analytic_gaussian_mu(epsilon, delta), delta, reach);
        for share in NOISE_SHARES {
            let mu = analytic_gaussian_mu(epsilon, delta * share);
            let planned = |appear: f64| plan(mu, delta * appear, reach, &shares);
            let fits = |appear: f64| {
                planned(appear).is_ok_and(|plan| {
                    let rounds: Vec<_> = plan.iter().map(|&(law, t)| (sigma(&law), t)).collect();
                    neighbours.keep_within(epsilon, delta, &rounds)
                })
            };
            let is_whole = fits(WHOLE);
            let appear = if is_whole { WHOLE } else { last(0.0, WHOLE, 8, fits) };
            match planned(appear) {
                Ok(plan) => {
                    let size = last_size(plan.iter().map(|&(_, threshold)| threshold), reach);
                    if best.as_ref().is_some_and(|&(least, _)| size >= least) {
                        break;
                    }
                    best = Some((size, plan));
                }
                Err(error) => failure = error,
            }
            // With more noise, new groups cannot appear more often.
            if is_whole {
                break;
            }
        }
        let (_, plan) = best.ok_or(failure)?;
        Self::of(&plan, reach)
    }

    /// DP-SIPS at `rho` for the noise and `delta` for the thresholds.
    pub(crate) fn sips_concentrated(
        rho: Rho,
        delta: Delta,
        reach: Reach,
    ) -> Result<Self, MechanismError> {
        let (mu, appear) = (in_mu(rho)?, delta.to_f64());
        Self::of(&plan(mu, appear, reach, &shares(mu, appear, reach))?, reach)
    }

    fn of(plan: &UnroundedRounds, reach: Reach) -> Result<Self, MechanismError> {
        let rounds = plan.iter().map(|&(noise, threshold)| {
            Ok(WeightedRound { noise, threshold: to_lattice(threshold)? })
        });
        let rounds = rounds.collect::<Result<_, MechanismError>>()?;
        Ok(Self { rounds, most_groups: reach.groups })
    }

    /// The most groups of a unit.
    pub(crate) fn most_groups(&self) -> u64 {
        self.most_groups
    }

    /// Whether there are several rounds.
    pub(crate) fn is_iterated(&self) -> bool {
        self.rounds.len() > 1
    }

    /// Standard deviation and threshold of every round, in units of weight.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = (f64, f64)> {
        self.rounds.iter().map(|round| (sigma(&round.noise), round.threshold as f64 / FINE as f64))
    }

    /// The probability that a group with this weight of each of `units` units in each round
    /// appears.
    fn keep(&self, units: u64, weight: u64, least: u64) -> f64 {
        if units < least.max(1) {
            return 0.0;
        }
        let sum = i128::from(units) * i128::from(weight) - before_least(least);
        let hidden = |r: &WeightedRound| (-r.noise.tail(r.threshold - sum)).ln_1p();
        -self.rounds.iter().map(hidden).sum::<f64>().exp_m1()
    }

    /// The probability that a group appears if each of its units is in the most groups, and none of
    /// the others appears earlier.
    pub(crate) fn keep_probability(&self, units: u64, least: u64) -> f64 {
        self.keep(units, weight_of(self.most_groups), least)
    }

    /// The probability that a group appears if its units are in no other groups; for several
    /// rounds, what it comes to when all others have appeared early.
    pub(crate) fn keep_probability_alone(&self, units: u64, least: u64) -> f64 {
        let groups = if self.is_iterated() { 1 } else { self.most_groups };
        self.keep(units, weight_of(groups), least)
    }

    /// Which groups appear, of those in `open`; `units` are their numbers of units, of which fewer
    /// than `least` never appear. Without `members` every unit is in one group.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub(crate) fn select(
        &self,
        members: Option<&Memberships>,
        units: &[u64],
        mut open: Vec<bool>,
        least: u64,
        generator: &mut Generator,
    ) -> Result<Vec<bool>, EntropyError> {
        let mut appears = vec![false; units.len()];
        let before = before_least(least);
        let mut draws = vec![0i128; BATCH.min(units.len())];
        for (index, round) in self.rounds.iter().enumerate() {
            if index > 0 {
                for (open, &appeared) in open.iter_mut().zip(&appears) {
                    *open &= !appeared;
                }
            }
            let sums = match members {
                Some(members) => sums_of_weights(members, &open, self.most_groups),
                // Above 2^32 units the sum no longer grows, which moves nothing further apart.
                None => units.iter().map(|&n| (n.min(1 << 32) << 30) as i64).collect(),
            };
            let candidates: Vec<usize> = (0..units.len())
                .filter(|&g| {
                    let enough = units.get(g).is_some_and(|&n| n >= least);
                    enough && open.get(g) == Some(&true) && sums.get(g).is_some_and(|&s| s > 0)
                })
                .collect();
            for groups in candidates.chunks(BATCH) {
                let draws = &mut draws[..groups.len()];
                round.noise.fill(generator, draws)?;
                for (&group, &noise) in groups.iter().zip(draws.iter()) {
                    let sum = sums.get(group).map_or(0, |&s| i128::from(s));
                    if sum - before + noise >= round.threshold
                        && let Some(appears) = appears.get_mut(group)
                    {
                        *appears = true;
                    }
                }
            }
        }
        Ok(appears)
    }
}

/// Greatest weight of the first `least` - 1 units of a group, in lattice points. A group with fewer
/// units than `least` never appears, and only the weight beyond this sum decides about the others:
/// the unit that completes a group adds no more than its weight.
pub(crate) fn before_least(least: u64) -> i128 {
    i128::from(least.saturating_sub(1)) * FINE
}

/// The weight of a unit in `groups` groups: 2^30 / sqrt(groups), rounded down.
pub(crate) fn weight_of(groups: u64) -> u64 {
    ((1u64 << 60) / groups.max(1)).isqrt()
}

fn in_mu(rho: Rho) -> Result<f64, MechanismError> {
    if rho.is_zero() {
        return Err(MechanismError::NoBudget("rho"));
    }
    Ok((2.0 * rho.to_f64()).sqrt() * (1.0 - 1e-15))
}

/// Rounds whose thresholds are not yet rounded to the lattice: noise, and threshold in units of
/// weight.
type UnroundedRounds = Vec<(RoundedGaussian, f64)>;

/// The standard deviation of a round, in units of weight.
fn sigma(noise: &RoundedGaussian) -> f64 {
    noise.sigma().to_f64() / FINE as f64
}

/// The standard deviation of a round with this share of `mu` squared, in units of weight.
fn sigma_of(mu: f64, share: f64, reach: Reach) -> f64 {
    reach.l2(Weights::Roots) / (mu * share.sqrt())
}

/// Rounds with these shares of mu^2 and of the probability `appear` that a new group appears.
fn plan(
    mu: f64,
    appear: f64,
    reach: Reach,
    shares: &[f64],
) -> Result<UnroundedRounds, MechanismError> {
    if mu <= 0.0 || shares.is_empty() {
        return Err(MechanismError::NoBudget("epsilon"));
    }
    let rounds = shares.iter().map(|share| {
        let sigma = sigma_of(mu, *share, reach);
        noise_and_threshold(sigma, appear * share, reach.groups, Weights::Roots)
    });
    rounds.collect()
}

/// The shares that the rounds of DP-SIPS have of `mu` squared, and of the probability `appear` that
/// a new group appears: those with which the smallest groups appear in the last round, as
/// [`last_size`] estimates, in as few rounds as come within [`WORTH_A_ROUND`] of the best.
///
/// Shares grow geometrically, and those of both are equal. Other shares of `appear` change the size
/// by less than a thousandth for any budget and number of groups that was tried.
fn shares(mu: f64, appear: f64, reach: Reach) -> Vec<f64> {
    let size = |shares: &[f64]| {
        let thresholds = shares.iter().map(|share| {
            let sigma = sigma_of(mu, *share, reach);
            let alone = 1.0 + sigma * normal_quantile(appear * share);
            let groups = reach.groups as f64;
            let many = groups.sqrt().recip() + sigma * normal_quantile(appear * share / groups);
            alone.max(many)
        });
        last_size(thresholds, reach)
    };
    let mut best = (f64::INFINITY, Vec::new());
    for rounds in ROUNDS {
        let least = best.0 * (1.0 - WORTH_A_ROUND);
        for growth in GROWTHS {
            let all: f64 = (0..rounds).map(|round| growth.powi(round)).sum();
            // Rounded down, so that they add up to one at most.
            let share = |round| growth.powi(round) / all * (1.0 - 1e-14);
            let shares: Vec<f64> = (0..rounds).map(share).collect();
            let size = size(&shares);
            if size < best.0.min(least) {
                best = (size, shares);
            }
        }
    }
    best.1
}

/// Estimate of the size from which on groups appear in the last round, if every unit is in the most
/// groups and these are of all sizes: as many of its groups in each octave up to a million. After a
/// round, those of at least the size that appeared half of the time take no more weight.
fn last_size(thresholds: impl Iterator<Item = f64>, reach: Reach) -> f64 {
    let (mut open, mut size) = (1.0f64, f64::INFINITY);
    for threshold in thresholds {
        size = (threshold * (reach.groups as f64 * open).sqrt().max(1.0)).max(1.0);
        open = open.min(size.ln() / LOG_OF_LARGEST);
    }
    size
}

/// The weights of every unit's open groups, added up by group. The work is shared between threads
/// as long as each has more pairs to add than there are groups.
fn sums_of_weights(members: &Memberships, open: &[bool], most_groups: u64) -> Vec<i64> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(members.pairs() / open.len().max(1)).max(1);
    let weights: Vec<i64> = (0..=most_groups.min(1 << 14)).map(|t| weight_of(t) as i64).collect();
    let chunk = members.units().div_ceil(threads).max(1);
    let some = |from: usize| {
        let mut sums = vec![0i64; open.len()];
        for unit in from..(from + chunk).min(members.units()) {
            let groups = members.of(unit);
            let is_open = |g: &&u32| open.get(**g as usize) == Some(&true);
            let count = groups.iter().filter(is_open).count();
            let weight =
                weights.get(count).copied().unwrap_or_else(|| weight_of(count as u64) as i64);
            for &group in groups.iter().filter(is_open) {
                if let Some(sum) = sums.get_mut(group as usize) {
                    *sum = sum.saturating_add(weight);
                }
            }
        }
        sums
    };
    if threads == 1 {
        return some(0);
    }
    let mut total = vec![0i64; open.len()];
    let mut add = |sums: Vec<i64>| {
        for (total, sum) in total.iter_mut().zip(sums) {
            *total = total.saturating_add(sum);
        }
    };
    let some = &some;
    std::thread::scope(|scope| {
        let start = |i| std::thread::Builder::new().spawn_scoped(scope, move || some(i * chunk));
        let started: Vec<_> = (0..threads).map(start).collect();
        for (i, thread) in started.into_iter().enumerate() {
            match thread.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(sums)) => add(sums),
                // A thread stops only where memory does, and then the whole must stop, too.
                Ok(Err(cause)) => std::panic::resume_unwind(cause),
                // No further thread can be started.
                Err(_) => add(some(i * chunk)),
            }
        }
    });
    total
}

#[cfg(test)]
mod tests;
