//! k-TSGD thresholded release: selection and count from one truncated geometric draw.

use hushtable_noise::{EntropyError, Generator, Law, Ratio, TruncatedDiscreteLaplace};
use hushtable_numbers::search::first_whole;
use hushtable_privacy::{Delta, Epsilon};

use crate::error::{MechanismError, need_both};
use crate::steps;

/// k-TSGD thresholded release (PS Definition 8): a count with truncated geometric noise, released
/// with its key if above k, costs (epsilon, delta) once.
#[derive(Clone, Copy, Debug)]
pub struct TruncatedGeometric {
    law: TruncatedDiscreteLaplace,
}

impl TruncatedGeometric {
    /// Selection at `epsilon` and `delta` per group.
    ///
    /// # Errors
    /// When either is zero, or epsilon is too small to be drawn with.
    pub fn new(epsilon: Epsilon, delta: Delta) -> Result<Self, MechanismError> {
        need_both(epsilon, delta)?;
        let (eps, del) = (epsilon.to_f64(), delta.to_f64());
        let shrink = (-eps).exp();
        let gap = -(-eps).exp_m1();
        // The least k >= 1 with P[X = k] <= delta (PS Definition 7), which falls in k.
        let at_most_delta = |k: f64| {
            // 1 + q - 2 q^(k+1), q = e^-eps, as a sum of two positive terms.
            let norm = -(-(k + 1.0) * eps).exp_m1() - shrink * (-k * eps).exp_m1();
            let top = (-k * eps).exp() * gap / norm;
            // The margin is above the error of floating point: k can be one too large, and never
            // too small.
            top * (1.0 + 1e-13 * (1.0 + k * eps)) <= del
        };
        let most = 1u64 << 53;
        if !at_most_delta(most as f64) {
            return Err(MechanismError::TooLarge);
        }
        let k = first_whole(0, most, |k| {
            steps::count();
            at_most_delta(k as f64)
        });
        let scale = Ratio::new(u128::from(Epsilon::units_per_one()), u128::from(epsilon.units()))?;
        Ok(Self { law: TruncatedDiscreteLaplace::new(scale, k) })
    }

    /// The threshold k: noisy counts above it are released.
    pub fn threshold(&self) -> u64 {
        self.law.k()
    }

    /// P\[`units` + X > k\].
    pub fn keep_probability(&self, units: u64) -> f64 {
        if units == 0 {
            return 0.0;
        }
        self.law.tail(i128::from(self.law.k()) + 1 - i128::from(units)).clamp(0.0, 1.0)
    }

    /// The noisy count, if it is above k.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub fn release(
        &self,
        units: u64,
        generator: &mut Generator,
    ) -> Result<Option<i128>, EntropyError> {
        if units == 0 {
            return Ok(None);
        }
        let (above, noisy) = self.noisy(units, self.law.sample(generator)?);
        Ok(above.then_some(noisy))
    }

    /// Whether the count with this noise is above k, and what it is.
    pub(crate) fn noisy(&self, units: u64, noise: i128) -> (bool, i128) {
        let noisy = i128::from(units) + noise;
        // Strictly above: with >= a unit alone would appear with more than delta.
        (noisy > i128::from(self.law.k()), noisy)
    }

    /// The noise's law.
    pub fn law(&self) -> TruncatedDiscreteLaplace {
        self.law
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimal::Optimal;

    fn mechanism(epsilon: &str, delta: &str) -> TruncatedGeometric {
        TruncatedGeometric::new(epsilon.parse().unwrap(), delta.parse().unwrap()).unwrap()
    }

    /// PS Theorem 4: of an integer query of sensitivity one, the noisy value alone is within
    /// (epsilon, delta) both ways, by summing the whole law; with a smaller k it is not.
    #[test]
    fn truncated_geometric_noise_keeps_its_promise() {
        for (epsilon, delta) in [("1", "1e-5"), ("0.1", "0.001"), ("3", "0.02"), ("0.5", "1e-9")] {
            let law = mechanism(epsilon, delta).law();
            let (e, d): (f64, f64) = (epsilon.parse().unwrap(), delta.parse().unwrap());
            let delta_of = |law: &TruncatedDiscreteLaplace| {
                let k = law.k() as i128;
                let (mut up, mut down) = (0.0, 0.0);
                for y in -k - 1..=k + 2 {
                    let (p, q) = (law.pmf(y), law.pmf(y - 1));
                    up += (q - e.exp() * p * (1.0 + 1e-14)).max(0.0);
                    down += (p - e.exp() * q * (1.0 + 1e-14)).max(0.0);
                }
                f64::max(up, down)
            };
            assert!(delta_of(&law) <= d * (1.0 + 1e-9), "{epsilon} {delta}: {}", delta_of(&law));
            assert!(law.k() > 1, "{epsilon} {delta}");
            let smaller = TruncatedDiscreteLaplace::new(law.scale(), law.k() - 1);
            assert!(delta_of(&smaller) > d, "{epsilon} {delta}: {}", delta_of(&smaller));
        }
    }

    /// PS Theorem 5: where k is whole before it is rounded up, no mechanism shows a group more
    /// often than the noisy count does. Decimals never have such a k, as e^epsilon is
    /// transcendental: delta is the nearest decimal above.
    #[test]
    fn where_k_is_whole_truncated_noise_is_optimal() {
        for (epsilon, k) in [("1", 3u64), ("0.1", 40), ("0.5", 17), ("2", 1), ("0.01", 500)] {
            let e: f64 = epsilon.parse().unwrap();
            // k = (1/eps) ln((e^eps + 2 delta - 1) / ((e^eps + 1) delta)), solved for delta.
            let delta = e.exp_m1() / ((e.exp() + 1.0) * (k as f64 * e).exp() - 2.0);
            let delta = Delta::from_f64_up(delta * (1.0 + 1e-11)).unwrap();
            let noisy = TruncatedGeometric::new(epsilon.parse().unwrap(), delta).unwrap();
            let optimal = Optimal::new(epsilon.parse().unwrap(), delta).unwrap();
            assert_eq!(noisy.threshold(), k, "{epsilon}");
            assert_eq!(optimal.certain_from(), 2 * k + 1, "{epsilon}");
            for n in 0..=2 * k + 2 {
                let (got, most) = (noisy.keep_probability(n), optimal.keep_probability(n));
                assert!((got - most).abs() <= 1e-9 * most, "{epsilon} {k} {n}: {got} {most}");
            }
            assert!(
                noisy.keep_probability(2 * k) < 1.0 && noisy.keep_probability(2 * k + 1) == 1.0
            );
        }
        // Halfway between two, it is below everywhere.
        let (noisy, optimal) = (
            mechanism("1", "0.03"),
            Optimal::new("1".parse().unwrap(), "0.03".parse().unwrap()).unwrap(),
        );
        for n in 1..optimal.certain_from() {
            assert!(noisy.keep_probability(n) < optimal.keep_probability(n) * (1.0 - 1e-6), "{n}");
        }
    }

    /// The joint law of "released or not" and the released count, for n and n + 1 units, is within
    /// (epsilon, delta) both ways: PS Theorem 6, by summing the whole law.
    #[test]
    fn truncated_geometric_release_keeps_its_promise() {
        for (epsilon, delta) in [("1", "1e-5"), ("0.1", "0.001"), ("3", "0.2"), ("0.5", "1e-9")] {
            let m = mechanism(epsilon, delta);
            let (e, d): (f64, f64) = (epsilon.parse().unwrap(), delta.parse().unwrap());
            let k = i128::from(m.threshold());
            let law = |n: i128, y: i128| if n == 0 { 0.0 } else { m.law().pmf(y - n) };
            for n in 0..(3 * k + 2) {
                let (mut up, mut down) = (0.0, 0.0);
                let hidden = |n: i128| {
                    if n == 0 { 1.0 } else { 1.0 - m.law().tail(k + 1 - n) }
                };
                let mut add = |p: f64, q: f64| {
                    up += (q - e.exp() * p * (1.0 + 1e-14)).max(0.0);
                    down += (p - e.exp() * q * (1.0 + 1e-14)).max(0.0);
                };
                for y in (k + 1)..(n + 2 * k + 3) {
                    add(law(n, y), law(n + 1, y));
                }
                add(hidden(n), hidden(n + 1));
                assert!(up <= d * (1.0 + 1e-9) + 1e-15, "{epsilon} {delta} {n}: {up}");
                assert!(down <= d * (1.0 + 1e-9) + 1e-15, "{epsilon} {delta} {n}: {down}");
            }
        }
    }
}
