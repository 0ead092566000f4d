//! Several events together.

mod binomial;
mod convolution;
mod fourier;
mod kernel;
mod kinds;
mod residual;
mod spectrum;
mod tilted;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use hushtable_numbers::search::falls_to;

use self::kinds::{ComposingEvents, Lattice, ROUNDING, Responses};
use self::tilted::TiltedLaw;
use crate::bounded_range::Ranges;
use crate::chosen_groups::ChosenGroups;
use crate::{
    Delta, DiscreteGaussianEvent, Epsilon, Event, MuSquared, Rho, gaussian_delta,
    gaussian_epsilon_at, zcdp_delta_at, zcdp_epsilon_at,
};

/// Events that together ran on one table, and what they promise together.
///
/// The promise is the tightest that is known to hold; all are rounded up:
/// - Gaussian events: exact, as mu^2 adds up (Dong, Roth & Su 2022, Corollary 3.3);
/// - Gaussian noise on groups that are chosen: one such event alone by the worst of its pairs; with
///   others, as noise and a delta apart, since which pair is the worst may depend on answers. Where
///   these have a stated epsilon and delta, their plain sum can be less, and holds, too;
/// - discrete Laplace and approximate events of one epsilon: exact in closed form, with deltas as
///   in Kairouz, Oh & Viswanath 2015;
/// - one discrete Gaussian event: exact, by its lattice;
/// - zCDP alone: Canonne, Kamath & Steinke 2020, Proposition 12;
/// - draws of bounded range in one query, or of one range and all fixed in advance: exact (Dong,
///   Durfee & Rogers 2020, Theorem 3). Otherwise by the largest moments that they may have, which
///   is about a tenth above in epsilon at a delta of 1e-6, less at smaller ones and a fifth at
///   0.01;
/// - mixtures: the law of the loss by convolution on a grid, rounded so that it is never less
///   private than the true one, with a bounded error of the transform; events of zCDP and of
///   bounded range come on top by the expectation of what they may add at each loss;
/// - moments at every order (Rényi), and the sum of the epsilons, where these are less.
///
/// It holds for mechanisms that were chosen adaptively, each in view of the answers before, **if
/// their losses (the events and how many there are) were fixed in advance** or do not depend on
/// answers. Where answers decide how much more is spent, only a limit on a sum holds, as the
/// ledger's budgets are, or an [`Odometer`](crate::Odometer).
///
/// Closed forms are right to 1e-6 or better, and the epsilon of a mixture at a fixed delta to 1e-3
/// or better, in all tests. The delta of a mixture at a fixed epsilon may be further above the true
/// one where that falls steeply: next to a loss that has a probability of its own.
#[derive(Clone, Debug, Default)]
pub struct Composition {
    mu_squared: MuSquared,
    /// How many losses of +-epsilon, by epsilon above zero.
    responses: BTreeMap<Epsilon, u64>,
    /// How many, by the bits of sigma^2 and the sensitivity.
    lattices: BTreeMap<(u64, u64), Lattice>,
    /// How many, by the sum of the ranges above zero and the number of draws that it is of.
    ranges: BTreeMap<(Epsilon, NonZeroU32), u64>,
    /// Whether all questions were fixed before the first answer.
    in_advance: bool,
    /// In smallest units.
    rho: u128,
    /// How many times each delta above zero is lost outright.
    deltas: BTreeMap<Delta, u64>,
    /// The number of all events, up to the largest.
    all: u64,
    /// Gaussian noise on groups that are chosen, where there is nothing else.
    alone: Option<ChosenGroups>,
}

/// Events that cannot be added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompositionError {
    /// No events, or more of one kind than the limit.
    #[error(
        "{0} events of one kind are not valid: their number must be from 1 to {most}",
        most = Composition::MOST
    )]
    Times(u64),
    /// The squares of mu add up to more than [`MuSquared`] holds.
    #[error("mu squared of all Gaussian events adds up to more than 100000000")]
    Gaussian,
}

impl Composition {
    /// Most events of one kind and loss.
    pub const MOST: u64 = 1_000_000_000;

    /// The events, each with how many times it ran.
    ///
    /// # Errors
    /// When there are none or more than [`Composition::MOST`] of one kind and loss, or mu^2 of all
    /// Gaussian events is above 100,000,000.
    pub fn new(events: &[(Event, u64)]) -> Result<Self, CompositionError> {
        let mut all = Self::default();
        for (event, times) in events {
            all.add(event, *times)?;
        }
        Ok(all)
    }

    /// Takes the questions, too, as fixed before the first answer, as in a workload: not even
    /// *what* is asked depends on answers.
    #[must_use]
    pub fn in_advance(self) -> Self {
        Self { in_advance: true, ..self }
    }

    /// Adds an event that ran `times` times; an error leaves the composition as it was.
    ///
    /// # Errors
    /// As for [`Composition::new`].
    pub fn add(&mut self, event: &Event, times: u64) -> Result<(), CompositionError> {
        self.add_losses(event, times)?;
        self.alone = match *event {
            Event::GaussianGroups { mu_squared, parts, delta } if self.all == 0 && times == 1 => {
                Some(ChosenGroups::new(mu_squared, parts, delta))
            }
            _ => None,
        };
        self.all = self.all.saturating_add(times);
        Ok(())
    }

    /// Adds what an event loses whatever else there is.
    fn add_losses(&mut self, event: &Event, times: u64) -> Result<(), CompositionError> {
        let more = |had: u64| match had.checked_add(times) {
            Some(sum) if times > 0 && sum <= Self::MOST => Ok(sum),
            sum => Err(CompositionError::Times(sum.unwrap_or(u64::MAX))),
        };
        more(0)?;
        match *event {
            Event::Gaussian { mu_squared } => {
                let sum =
                    mu_squared.checked_mul(times).and_then(|m| m.checked_add(self.mu_squared));
                self.mu_squared = sum.ok_or(CompositionError::Gaussian)?;
            }
            Event::GaussianGroups { mu_squared, delta, .. } => {
                let deltas = more(self.deltas.get(&delta).copied().unwrap_or(0))?;
                self.add_losses(&Event::Gaussian { mu_squared }, times)?;
                if !delta.is_zero() {
                    self.deltas.insert(delta, deltas);
                }
            }
            Event::DiscreteLaplace { epsilon } => self.add_pair(epsilon, Delta::ZERO, more)?,
            Event::Approximate { epsilon, delta } => self.add_pair(epsilon, delta, more)?,
            Event::DiscreteGaussian(event) => {
                let key = (event.law().sigma_squared().to_bits(), event.sensitivity());
                let had = self.lattices.get(&key).map_or(0, |l| l.times);
                self.lattices.insert(key, Lattice { event, times: more(had)? });
            }
            Event::BoundedRange { epsilon, draws } => {
                let sum = more(self.ranges.get(&(epsilon, draws)).copied().unwrap_or(0))?;
                if !epsilon.is_zero() {
                    self.ranges.insert((epsilon, draws), sum);
                }
            }
            Event::Concentrated { rho, delta } => {
                let had = self.deltas.get(&delta).copied().unwrap_or(0);
                let sum = more(had)?;
                if !delta.is_zero() {
                    self.deltas.insert(delta, sum);
                }
                self.rho += u128::from(rho.units()) * u128::from(times);
            }
        }
        Ok(())
    }

    fn add_pair(
        &mut self,
        epsilon: Epsilon,
        delta: Delta,
        more: impl Fn(u64) -> Result<u64, CompositionError>,
    ) -> Result<(), CompositionError> {
        let responses = more(self.responses.get(&epsilon).copied().unwrap_or(0))?;
        let deltas = more(self.deltas.get(&delta).copied().unwrap_or(0))?;
        if !epsilon.is_zero() {
            self.responses.insert(epsilon, responses);
        }
        if !delta.is_zero() {
            self.deltas.insert(delta, deltas);
        }
        Ok(())
    }

    /// A delta, rounded up, such that the events together are (`epsilon`, delta)-differentially
    /// private; at most 1.
    pub fn delta_at(&self, epsilon: Epsilon) -> f64 {
        // The decimal may be a little less than the double next to it.
        let at = (epsilon.to_f64() * (1.0 - f64::EPSILON)).max(0.0);
        let lost = self.lost();
        let rest = self.rest_at(at, epsilon);
        let sum = lost + (1.0 - lost) * rest * (1.0 + 1e-15);
        self.alone.map_or(1.0, |groups| groups.delta_at(at)).min(sum).min(1.0)
    }

    /// An epsilon, rounded up to the smallest unit, such that the events together are (epsilon,
    /// `delta`)-differentially private. `None` where there is none up to the largest amount: where
    /// `delta` is not above what the events' own deltas come to, unless all the rest is pure and it
    /// is just that.
    pub fn epsilon_at(&self, delta: Delta) -> Option<Epsilon> {
        let groups = self.alone.and_then(|groups| {
            // The decimal may be a little less than the double next to it.
            let epsilon = groups.epsilon_at(delta.to_f64() * (1.0 - f64::EPSILON))?;
            Epsilon::from_f64_up(epsilon * (1.0 + 2.0 * f64::EPSILON)).ok()
        });
        match (groups, self.epsilon_of_all_at(delta)) {
            (Some(groups), Some(all)) => Some(groups.min(all)),
            (groups, all) => groups.or(all),
        }
    }

    /// An epsilon like that of [`Self::epsilon_at`], with the events' own deltas lost outright.
    fn epsilon_of_all_at(&self, delta: Delta) -> Option<Epsilon> {
        let events = self.composing();
        let lost = self.lost();
        let left = delta.to_f64() * (1.0 - f64::EPSILON) - lost;
        let left = (left / (1.0 - lost) * (1.0 - 1e-15)).max(0.0);
        // Deltas that add up to exactly `delta` are within it, whatever their rounding.
        if left <= 0.0 && self.deltas_sum() > u128::from(delta.units()) {
            return None;
        }
        if events.is_empty() {
            return Some(Epsilon::ZERO);
        }
        let sum = u64::try_from(self.epsilons_units()).ok();
        let sum = sum.and_then(|units| Epsilon::from_units(units).ok());
        if left <= 0.0 {
            return sum;
        }
        match (Epsilon::from_f64_up(self.epsilon_of(&events, left)).ok(), sum) {
            (Some(epsilon), Some(sum)) => Some(epsilon.min(sum)),
            (epsilon, sum) => epsilon.or(sum),
        }
    }

    /// The delta of all but what is lost outright.
    fn rest_at(&self, at: f64, epsilon: Epsilon) -> f64 {
        let events = self.composing();
        if events.is_empty() || u128::from(epsilon.units()) >= self.epsilons_units() {
            return 0.0;
        }
        let (tilt, ln_delta) = events.ln_delta_at(at);
        let exact = match &events {
            ComposingEvents { mu_squared, responses, lattices, .. }
                if events.has_only_laws() && responses.is_empty() && lattices.is_empty() =>
            {
                gaussian_delta(root_up(*mu_squared), at)
            }
            ComposingEvents { mu_squared: 0.0, responses, lattices, .. }
                if events.has_only_laws() && responses.is_empty() && is_one(lattices) =>
            {
                lattice_delta(lattices, at)
            }
            events if events.has_no_law() => match (self.alike(events), events.ranges.is_empty()) {
                (Some(ranges), _) => ranges.delta_in_advance(at).unwrap_or(1.0),
                (None, true) => zcdp_delta_at(events.rho, at),
                (None, false) => 1.0,
            },
            events => Self::law(events, tilt).delta_at(at, events),
        };
        // A bound that is not a number is none.
        exact.min(ln_delta.exp()).clamp(f64::MIN_POSITIVE, 1.0)
    }

    /// The epsilon at the delta that is left when what is lost outright is paid for.
    fn epsilon_of(&self, events: &ComposingEvents, delta: f64) -> f64 {
        let (tilt, moments) = events.epsilon_at(delta);
        let exact = match events {
            ComposingEvents { mu_squared, responses, lattices, .. }
                if events.has_only_laws() && responses.is_empty() && lattices.is_empty() =>
            {
                gaussian_epsilon_at(root_up(*mu_squared), delta)
            }
            ComposingEvents { mu_squared: 0.0, responses, lattices, .. }
                if events.has_only_laws() && responses.is_empty() && is_one(lattices) =>
            {
                falls_to(delta, 0.0, moments, |epsilon| lattice_delta(lattices, epsilon))
            }
            events if events.has_no_law() => match (self.alike(events), events.ranges.is_empty()) {
                (Some(ranges), _) => falls_to(delta, 0.0, moments, |epsilon| {
                    ranges.delta_in_advance(epsilon).unwrap_or(1.0)
                }),
                (None, true) => zcdp_epsilon_at(events.rho, delta),
                (None, false) => moments,
            },
            events => {
                let law = Self::law(events, tilt);
                falls_to(delta, 0.0, moments, |epsilon| law.delta_at(epsilon, events))
            }
        };
        exact.min(moments) * (1.0 + 1e-15)
    }

    /// The draws of bounded range, where there is nothing else, they are of one range, and the
    /// questions of all were fixed before the first answer.
    fn alike(&self, events: &ComposingEvents) -> Option<Ranges> {
        match events.ranges.as_slice() {
            [one]
                if events.rho <= 0.0
                    && (self.in_advance || self.ranges.values().sum::<u64>() == 1) =>
            {
                Some(*one)
            }
            _ => None,
        }
    }

    fn law(events: &ComposingEvents, tilt: f64) -> TiltedLaw {
        match events.responses.as_slice() {
            [one] if events.mu_squared <= 0.0 && events.lattices.is_empty() => {
                binomial::tilted(*one, events, tilt)
            }
            _ => convolution::tilted(events, tilt),
        }
    }

    fn composing(&self) -> ComposingEvents {
        let responses = self.responses.iter().map(|(epsilon, times)| Responses {
            epsilon: epsilon.to_f64() * (1.0 + f64::EPSILON),
            times: *times,
        });
        // Those of equal shares are together, as nearly all are.
        let mut ranges: Vec<Ranges> = Vec::new();
        for ((epsilon, draws), times) in &self.ranges {
            let range = epsilon.to_f64() / f64::from(draws.get()) * (1.0 + 2.0 * f64::EPSILON);
            let draws = times.saturating_mul(draws.get().into());
            match ranges.iter_mut().find(|one| (one.range / range - 1.0).abs() < 1e-14) {
                Some(one) => {
                    one.range = one.range.max(range);
                    one.draws = one.draws.saturating_add(draws);
                }
                None => ranges.push(Ranges { range, draws }),
            }
        }
        let common = self.responses.keys().fold(0, |all, epsilon| divisor(all, epsilon.units()));
        ComposingEvents {
            common: common as f64 / Epsilon::units_per_one() as f64 * (1.0 + f64::EPSILON),
            mu_squared: if self.mu_squared.is_zero() { 0.0 } else { self.mu_squared.to_f64_up() },
            responses: responses.collect(),
            lattices: self.lattices.values().copied().collect(),
            ranges,
            rho: self.rho as f64 / Rho::units_per_one() as f64 * (1.0 + 2.0 * f64::EPSILON),
        }
    }

    /// 1 - product of (1 - delta), rounded up: all is lost with at most this probability.
    fn lost(&self) -> f64 {
        let ln_intact = self.deltas.iter().map(|(delta, times)| {
            let delta = (delta.to_f64() * (1.0 + f64::EPSILON)).min(1.0 - ROUNDING);
            *times as f64 * (-delta).ln_1p()
        });
        let terms = self.deltas.len() as f64;
        let lost = -ln_intact.sum::<f64>().exp_m1() * (1.0 + (8.0 + 2.0 * terms) * ROUNDING);
        lost.min(1.0)
    }

    fn deltas_sum(&self) -> u128 {
        self.deltas
            .iter()
            .map(|(delta, times)| u128::from(delta.units()) * u128::from(*times))
            .sum()
    }

    /// The sum of all epsilons in smallest units, or the largest number where there is none.
    fn epsilons_units(&self) -> u128 {
        if !self.mu_squared.is_zero() || !self.lattices.is_empty() || self.rho > 0 {
            return u128::MAX;
        }
        let units =
            |(epsilon, times): (&Epsilon, &u64)| u128::from(epsilon.units()) * u128::from(*times);
        let ranges = self.ranges.iter().map(|((epsilon, _), times)| units((epsilon, times)));
        self.responses.iter().map(units).chain(ranges).sum()
    }
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// mu, rounded up.
fn root_up(mu_squared: f64) -> f64 {
    mu_squared.sqrt() * (1.0 + f64::EPSILON)
}

fn is_one(lattices: &[Lattice]) -> bool {
    matches!(lattices, [Lattice { times: 1, .. }])
}

/// The delta of the first of them; 1 if there is none.
fn lattice_delta(lattices: &[Lattice], epsilon: f64) -> f64 {
    let event: Option<&DiscreteGaussianEvent> = lattices.first().map(|l| &l.event);
    event.and_then(|e| e.law().delta(e.sensitivity(), epsilon).ok()).unwrap_or(1.0)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
