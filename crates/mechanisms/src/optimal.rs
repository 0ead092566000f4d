//! Optimal partition selection (PS Theorem 1): pi_opt.

use hushtable_noise::{EntropyError, Generator, bernoulli_enclosed, bernoulli_enclosed_all};
use hushtable_numbers::search::first_whole;
use hushtable_numbers::{Bracket, Enclosure};
use hushtable_privacy::{Delta, Epsilon};
use num_bigint::BigUint;

use crate::error::{MechanismError, need_both};
use crate::steps;

/// Relative error that pi(n) in floating point stays under. The exponents are at most
/// ln(1/delta) < 42, so its few operations err by less than 1e-13; near the change of branch,
/// where n1 may be off by one, the two branches differ by no more than that again.
const MARGIN: f64 = 1e-11;

/// The number of counts whose decision bounds are computed in advance.
const TABLE: u64 = 4096;

/// Decides for each group, from its number of units alone, whether its key appears: with the
/// largest probability that any (epsilon, delta)-differentially private mechanism can give
/// when one unit enters one group (PS Theorems 1 and 3).
#[derive(Clone, Debug)]
pub struct Optimal {
    epsilon: Epsilon,
    delta: Delta,
    /// Largest count on the growing branch.
    turn: u64,
    /// From this count on, pi is one.
    certain: u64,
    ready: Vec<(u64, u64)>,
}

impl Optimal {
    /// Selection at `epsilon` and `delta` per group.
    ///
    /// # Errors
    /// When either is zero.
    pub fn new(epsilon: Epsilon, delta: Delta) -> Result<Self, MechanismError> {
        need_both(epsilon, delta)?;
        let turn = turn(epsilon.to_f64(), delta.to_f64()) as u64 + 1;
        let mut optimal = Self { epsilon, delta, turn, certain: u64::MAX, ready: Vec::new() };
        optimal.certain = optimal.first_certain();
        optimal.ready = (0..optimal.certain.min(TABLE)).map(|n| optimal.bounds(n)).collect();
        Ok(optimal)
    }

    /// The least count from which on a group appears for certain. Where only the decision matters,
    /// no more units need to be counted (PS 5).
    pub fn certain_from(&self) -> u64 {
        self.certain
    }

    /// The least count with which a group appears with this probability, or nearly: within the
    /// error of [`keep_probability`](Self::keep_probability). At least one.
    pub(crate) fn likely_from(&self, probability: f64) -> u64 {
        first_whole(0, self.certain, |units| {
            steps::count();
            self.keep_probability(units) >= probability
        })
    }

    /// The least count at which pi is one, searched for among the three candidates next to the
    /// floating-point estimate.
    fn first_certain(&self) -> u64 {
        let (epsilon, delta) = (self.epsilon.to_f64(), self.delta.to_f64());
        // In units of e^-eps, the probability to stay hidden falls by this with every count past
        // the turn.
        let step = delta / -(-epsilon).exp_m1();
        let hidden = 1.0 - self.rising(self.turn) + step * (-epsilon).exp();
        let past = ((hidden / step).ln() / epsilon).max(0.0).ceil() as u64;
        let near = self.turn.saturating_add(past);
        // Floating point only proposes these counts; exact arithmetic decides about each.
        (near..=near.saturating_add(2)).find(|&n| self.is_certain(n)).unwrap_or(u64::MAX)
    }

    /// pi(`units`) on the growing branch: delta (e^(n eps) - 1) / (e^eps - 1), written so that
    /// nothing overflows or cancels.
    fn rising(&self, units: u64) -> f64 {
        let (epsilon, delta, n) = (self.epsilon.to_f64(), self.delta.to_f64(), units as f64);
        delta * ((n - 1.0) * epsilon).exp() * (-n * epsilon).exp_m1() / (-epsilon).exp_m1()
    }

    /// The probability that a group of `units` appears, within 1e-11 relative.
    pub fn keep_probability(&self, units: u64) -> f64 {
        let (epsilon, delta) = (self.epsilon.to_f64(), self.delta.to_f64());
        if units == 0 {
            return 0.0;
        }
        if units >= self.certain {
            return 1.0;
        }
        if units <= self.turn {
            return self.rising(units).min(1.0);
        }
        let past = (units - self.turn) as f64;
        let shrink = (-past * epsilon).exp();
        // The sum of `past` shares of delta that shrink from step to step.
        let shares = delta * (-epsilon).exp() * (-past * epsilon).exp_m1() / (-epsilon).exp_m1();
        let hidden = shrink * (1.0 - self.rising(self.turn)) - shares;
        (1.0 - hidden).clamp(0.0, 1.0)
    }

    /// Bounds of pi(n) 2^64 for the sampler, the upper one less one (as it may be 2^64 itself).
    fn bounds(&self, units: u64) -> (u64, u64) {
        steps::count();
        let keep = self.keep_probability(units);
        if units == 0 {
            return (0, 0);
        }
        let two64 = 2f64.powi(64);
        // Conversions saturate, as the sampler asks for.
        let low = ((keep * (1.0 - MARGIN) - 1e-300) * two64).max(0.0) as u64;
        // Both bounds err outwards. A word between them is decided exactly, so that floating point
        // never decides.
        let high = (keep * (1.0 + MARGIN) * two64).ceil() as u64;
        (low, high)
    }

    /// Whether pi(n) is one, exactly.
    fn is_certain(&self, units: u64) -> bool {
        steps::count_enclosure();
        let bits = 128;
        let (low, _) = PiOpt { optimal: self, units }.enclose(bits);
        low == BigUint::from(1u32) << bits
    }

    /// Whether a group of `units` appears: true with probability exactly pi(`units`).
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub fn decide(&self, units: u64, generator: &mut Generator) -> Result<bool, EntropyError> {
        if units == 0 {
            return Ok(false);
        }
        let first = self.first(units);
        if first.0 == u64::MAX {
            return Ok(true);
        }
        bernoulli_enclosed(generator, first, &PiOpt { optimal: self, units })
    }

    /// Decides about one group after the other, each independently with probability exactly
    /// pi(`units[i]`). Takes about 10 ns a group, and the same time whatever is certain, as a word
    /// is drawn for each.
    ///
    /// The slices have the same length; should `decisions` be longer, the rest of it is false.
    ///
    /// # Errors
    /// When the operating system's generator fails; `decisions` must then not be used.
    pub fn decide_all(
        &self,
        units: &[u64],
        decisions: &mut [bool],
        generator: &mut Generator,
    ) -> Result<(), EntropyError> {
        bernoulli_enclosed_all(generator, decisions, |index| {
            // pi(0) is zero.
            let units = units.get(index).copied().unwrap_or(0);
            (self.first(units), PiOpt { optimal: self, units })
        })
    }

    /// The bounds of pi(`units`) for the first word, ready or computed. From the count that is
    /// certain to appear on, it is exactly one.
    #[inline]
    fn first(&self, units: u64) -> (u64, u64) {
        if units >= self.certain {
            return (u64::MAX, u64::MAX);
        }
        let ready = usize::try_from(units).ok().and_then(|n| self.ready.get(n)).copied();
        ready.unwrap_or_else(|| self.bounds(units))
    }
}

/// (1/eps) ln((e^eps + 2 delta - 1) / ((e^eps + 1) delta)), at which the branches meet, as a float.
fn turn(epsilon: f64, delta: f64) -> f64 {
    let shrink = (-epsilon).exp();
    // The ratio less one, times e^-eps above and below: nothing overflows or cancels.
    let less_one = -(-epsilon).exp_m1() * (1.0 - delta) / ((1.0 + shrink) * delta);
    (less_one.ln_1p() / epsilon).max(0.0)
}

/// pi(n) to any precision.
struct PiOpt<'a> {
    optimal: &'a Optimal,
    units: u64,
}

impl PiOpt<'_> {
    /// The closed form with the change of branch at `turn`.
    fn with_turn(&self, turn: u64, bits: u32) -> Bracket {
        let epsilon = BigUint::from(self.optimal.epsilon.units());
        let per_one = BigUint::from(Epsilon::units_per_one());
        let exp_minus = |times: u64| Bracket::exp_minus(&(&epsilon * times), &per_one, bits);
        let one = Bracket::whole(1, bits);
        let delta = Bracket::ratio(
            &BigUint::from(self.optimal.delta.units()),
            &BigUint::from(Delta::units_per_one()),
            bits,
        );
        let everything = Bracket::whole(0, bits).hull(one.clone());
        let gap = one.minus(&exp_minus(1));
        let rising = |n: u64| {
            let above = delta.times(&one.minus(&exp_minus(n)));
            above.divided_by(&gap.times(&exp_minus(n.saturating_sub(1))))
        };
        let result = if self.units <= turn {
            rising(self.units)
        } else {
            // In units of e^-eps, so that the probability to stay hidden does not vanish at any
            // epsilon.
            let shrink = exp_minus(self.units - turn - 1);
            let per_step = delta.divided_by(&gap);
            rising(turn).zip(per_step).map(|(start, per_step)| {
                let unit = exp_minus(1);
                let all = one.minus(&start).plus(&per_step.times(&unit));
                one.minus(&shrink.times(&all).minus(&per_step).times(&unit))
            })
        };
        result.unwrap_or(everything)
    }
}

impl Enclosure for PiOpt<'_> {
    fn enclose(&self, bits: u32) -> (BigUint, BigUint) {
        // Quotients by e^-(n eps) >= delta/2 or so lose up to 64 bits, products a few.
        let inner = bits + 160;
        let near = turn(self.optimal.epsilon.to_f64(), self.optimal.delta.to_f64());
        // Ten roundings, relative to `near`, which is below 5e13: the slack stays below a half.
        let slack = near * 4e-15 + 1e-12;
        let first = (near - slack).max(0.0).floor() as u64 + 1;
        let last = (near + slack).floor() as u64 + 1;
        let mut hull = self.with_turn(first, inner);
        if last != first {
            // Which branch is taken is too close to call: one of the two is right.
            hull = hull.hull(self.with_turn(last, inner));
        }
        let outer = hull.rescaled(bits);
        (outer.low, outer.high)
    }
}

#[cfg(test)]
mod tests;
