//! Optimal partition selection (PS Theorem 1): pi_opt.

use hushtable_noise::{Enclosure, EntropyError, Generator, Interval, bernoulli_enclosed};
use hushtable_privacy::{Delta, Epsilon};
use num_bigint::BigUint;

use crate::error::{MechanismError, need_both};

/// Relative error that pi(n) in floating point stays under. The exponents are at most
/// ln(1/delta) < 42, so its few operations err by less than 1e-13; near the change of branch,
/// where n1 may be off by one, the two branches differ by no more than that again.
const MARGIN: f64 = 1e-11;

/// Counts whose decision bounds are kept ready.
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
        let mut optimal = Self { epsilon, delta, turn, ready: Vec::new() };
        for n in 0..TABLE {
            let bounds = optimal.bounds(n);
            optimal.ready.push(bounds);
            if bounds.0 == u64::MAX {
                break;
            }
        }
        Ok(optimal)
    }

    /// The probability that a group of `units` appears, within 1e-11 relative.
    pub fn keep_probability(&self, units: u64) -> f64 {
        let (epsilon, delta) = (self.epsilon.to_f64(), self.delta.to_f64());
        if units == 0 {
            return 0.0;
        }
        // delta (e^(n eps) - 1) / (e^eps - 1), written so that nothing overflows or cancels.
        let rising = |n: u64| {
            let n = n as f64;
            delta * ((n - 1.0) * epsilon).exp() * (-n * epsilon).exp_m1() / (-epsilon).exp_m1()
        };
        if units <= self.turn {
            return rising(units).min(1.0);
        }
        let past = (units - self.turn) as f64;
        let shrink = (-past * epsilon).exp();
        // The sum of `past` shares of delta that shrink from step to step.
        let shown = delta * (-epsilon).exp() * (-past * epsilon).exp_m1() / (-epsilon).exp_m1();
        let hidden = shrink * (1.0 - rising(self.turn)) - shown;
        (1.0 - hidden).clamp(0.0, 1.0)
    }

    /// Bounds of pi(n) 2^64 for the sampler, the upper one less one (as it may be 2^64 itself).
    fn bounds(&self, units: u64) -> (u64, u64) {
        let keep = self.keep_probability(units);
        if units == 0 {
            return (0, 0);
        }
        let two64 = 2f64.powi(64);
        // Conversions saturate, as the sampler asks for. A certain release must be certain, so
        // the lower bound is raised only where the enclosure says one.
        let low = ((keep * (1.0 - MARGIN) - 1e-300) * two64).max(0.0) as u64;
        let high = (keep * (1.0 + MARGIN) * two64).ceil() as u64;
        if keep == 1.0 && self.certain(units) { (u64::MAX, u64::MAX) } else { (low, high) }
    }

    /// Whether pi(n) is one, exactly.
    fn certain(&self, units: u64) -> bool {
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
        let ready = usize::try_from(units).ok().and_then(|n| self.ready.get(n)).copied();
        let first = match ready {
            Some((u64::MAX, _)) => return Ok(true),
            Some(first) => first,
            // pi does not fall, so a table that ends with certainty goes on with it.
            None if self.ready.last().is_some_and(|last| last.0 == u64::MAX) => return Ok(true),
            None => self.bounds(units),
        };
        if first.0 == u64::MAX {
            return Ok(true);
        }
        bernoulli_enclosed(generator, first, &PiOpt { optimal: self, units })
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
    fn with_turn(&self, turn: u64, bits: u32) -> Interval {
        let epsilon = BigUint::from(self.optimal.epsilon.units());
        let per_one = BigUint::from(Epsilon::units_per_one());
        let exp_minus = |times: u64| Interval::exp_minus(&(&epsilon * times), &per_one, bits);
        let one = Interval::whole(1, bits);
        let delta = Interval::ratio(
            &BigUint::from(self.optimal.delta.units()),
            &BigUint::from(Delta::units_per_one()),
            bits,
        );
        let everything = Interval::whole(0, bits).hull(one.clone());
        let gap = one.minus(&exp_minus(1));
        let rising = |n: u64| {
            let above = delta.times(&one.minus(&exp_minus(n)));
            above.divided_by(&gap.times(&exp_minus(n.saturating_sub(1))))
        };
        let result = if self.units <= turn {
            rising(self.units)
        } else {
            let shrink = exp_minus(self.units - turn);
            let per_step = delta.times(&exp_minus(1)).divided_by(&gap);
            rising(turn).zip(per_step).map(|(start, per_step)| {
                let hidden = shrink.times(&one.minus(&start).plus(&per_step)).minus(&per_step);
                one.minus(&hidden)
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
mod tests {
    use super::*;
    use hushtable_noise::TestSeed;
    use proptest::prelude::*;

    fn optimal(epsilon: &str, delta: &str) -> Optimal {
        Optimal::new(epsilon.parse().unwrap(), delta.parse().unwrap()).unwrap()
    }

    fn vectors() -> serde_json::Value {
        serde_json::from_str(include_str!("../tests/data/partition_selection.json")).unwrap()
    }

    fn number(value: &serde_json::Value) -> f64 {
        value.as_str().unwrap().parse().unwrap()
    }

    #[test]
    fn keep_probabilities_are_those_of_the_vectors() {
        let mut seen = 0;
        for case in vectors().as_array().unwrap() {
            let (epsilon, delta) =
                (case["epsilon"].as_str().unwrap(), case["delta"].as_str().unwrap());
            let pi = optimal(epsilon, delta);
            for row in case["keep"].as_array().unwrap() {
                let n = row["n"].as_u64().unwrap();
                let want = number(&row["optimal"]);
                let got = pi.keep_probability(n);
                assert!((got - want).abs() <= 1e-11 * want, "{epsilon} {delta} {n}: {got} {want}");
                let (low, high) = PiOpt { optimal: &pi, units: n }.enclose(128);
                let shown = |x: &BigUint| x.to_string().parse::<f64>().unwrap() / 2f64.powi(128);
                if n > 0 {
                    assert!(&high - &low < BigUint::from(1u64 << 40), "{epsilon} {delta} {n}");
                    assert!((shown(&low) - want).abs() <= 2e-15 * want, "{epsilon} {delta} {n}");
                    let first = pi.bounds(n);
                    assert!(BigUint::from(first.0) << 64u32 <= high, "{epsilon} {delta} {n}");
                    assert!(
                        (BigUint::from(first.1) + 1u32) << 64u32 >= low,
                        "{epsilon} {delta} {n}"
                    );
                }
                seen += 1;
            }
        }
        assert!(seen > 50);
    }

    /// PS Lemma 1, in floating point.
    fn recursion(epsilon: f64, delta: f64, n: u64) -> f64 {
        let mut pi = 0.0f64;
        for _ in 0..n {
            let hidden = (1.0 - pi - delta) * (-epsilon).exp();
            pi = (epsilon.exp() * pi + delta).min(1.0 - hidden).min(1.0);
        }
        pi
    }

    proptest! {
        #[test]
        fn the_closed_form_is_the_recursion(
            pico in 1_000_000_000u64..5_000_000_000_000,
            exponent in 2u32..14,
            n in 1u64..3000,
        ) {
            let epsilon = Epsilon::from_units(pico).unwrap();
            let delta: Delta = format!("3e-{exponent}").parse().unwrap();
            let pi = Optimal::new(epsilon, delta).unwrap();
            let want = recursion(epsilon.to_f64(), delta.to_f64(), n);
            let got = pi.keep_probability(n);
            prop_assert!((got - want).abs() <= 1e-9 * want, "{got} {want}");
        }

        /// Theorem 1's four inequalities hold for the probabilities that are drawn with.
        #[test]
        fn neighbouring_counts_are_hard_to_tell_apart(
            pico in 1_000_000_000u64..3_000_000_000_000,
            exponent in 2u32..14,
            n in 0u64..500,
        ) {
            let epsilon = Epsilon::from_units(pico).unwrap();
            let delta: Delta = format!("7e-{exponent}").parse().unwrap();
            let pi = Optimal::new(epsilon, delta).unwrap();
            let (a, b) = (pi.keep_probability(n), pi.keep_probability(n + 1));
            let (e, d) = (epsilon.to_f64().exp(), delta.to_f64());
            let most = |x: f64| e * x + d * (1.0 + 1e-9) + 1e-11 * x;
            prop_assert!(a <= most(b) && b <= most(a));
            prop_assert!(1.0 - a <= most(1.0 - b) + 1e-12 && 1.0 - b <= most(1.0 - a) + 1e-12);
            prop_assert!(a <= b);
        }
    }

    /// Where delta is large beside epsilon, pi rises by nearly delta a step.
    #[test]
    fn small_epsilon_with_large_delta() {
        for (epsilon, delta) in [
            ("1e-12", "0.1"),
            ("1e-12", "0.2"),
            ("1e-9", "0.001"),
            ("1e-12", "1e-5"),
            ("1e-6", "0.3"),
        ] {
            let pi = optimal(epsilon, delta);
            let (e, d): (f64, f64) = (epsilon.parse().unwrap(), delta.parse().unwrap());
            let last = (1.5 / d) as u64;
            for n in (0..last).step_by((last / 50).max(1) as usize) {
                let want = recursion(e, d, n);
                let got = pi.keep_probability(n);
                assert!((got - want).abs() <= 1e-11 * want, "{epsilon} {delta} {n}: {got} {want}");
                if n > 0 {
                    let (low, high) = PiOpt { optimal: &pi, units: n }.enclose(128);
                    let first = pi.bounds(n);
                    assert!(BigUint::from(first.0) << 64u32 <= high, "{epsilon} {delta} {n}");
                    let top = (BigUint::from(first.1) + 1u32) << 64u32;
                    assert!(top >= low, "{epsilon} {delta} {n}");
                }
            }
        }
    }

    #[test]
    fn extremes() {
        let sure = optimal("1000000", "1e-6");
        assert_eq!(sure.keep_probability(1), 1e-6);
        assert_eq!(sure.keep_probability(2), 1.0);
        let mut generator = TestSeed(1).generator();
        assert!(sure.decide(u64::MAX, &mut generator).unwrap());
        assert!(!sure.decide(0, &mut generator).unwrap());
        let slow = optimal("1e-9", "1e-15");
        assert!(slow.keep_probability(1_000_000) > 0.9e-9);
        assert!(slow.keep_probability(u64::MAX) == 1.0);
        assert!(slow.decide(u64::MAX, &mut generator).unwrap());
        assert!(Optimal::new(Epsilon::ZERO, "0.1".parse().unwrap()).is_err());
        assert!(Optimal::new("1".parse().unwrap(), Delta::ZERO).is_err());
    }

    #[test]
    fn decisions_have_the_stated_probability() {
        let pi = optimal("1", "1e-5");
        let mut generator = TestSeed(11).generator();
        for n in [10, 11, 12, 15] {
            let kept = (0..200_000).filter(|_| pi.decide(n, &mut generator).unwrap()).count();
            let want = pi.keep_probability(n);
            let deviation = (want * (1.0 - want) / 2e5).sqrt();
            // Six standard deviations: a false alarm once in 5e8.
            assert!((kept as f64 / 2e5 - want).abs() < 6.0 * deviation, "{n}: {kept}");
        }
        assert!((0..1000).all(|_| pi.decide(23, &mut generator).unwrap()));
    }
}
