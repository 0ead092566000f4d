//! Selection by a noisy count above a threshold; the noisy count may be released with the key.
//!
//! In each, the delta is the probability that a group with a single unit appears, computed with the
//! very inequality that releases it, and rounded up by [`MARGIN`].

use hushtable_noise::{
    DiscreteLaplace, Dyadic, EntropyError, Generator, Ratio, RoundedGaussian,
    TruncatedDiscreteLaplace,
};
use hushtable_privacy::{Delta, Epsilon, Rho, analytic_gaussian_mu, normal_quantile};

use crate::error::MechanismError;

/// Relative error that tail probabilities in floating point stay under.
const MARGIN: f64 = 1e-10;

/// Lattice points per unit for Laplace and Gaussian thresholds: fine enough that the threshold uses
/// up delta, as it would with continuous noise.
const FINE: i128 = 1 << 30;

/// The noisy count in whole units, halves up.
fn to_units(fine: i128) -> i128 {
    (fine + FINE / 2).div_euclid(FINE)
}

fn fine(units: u64) -> i128 {
    i128::from(units) * FINE
}

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
        if epsilon.is_zero() {
            return Err(MechanismError::NoBudget("epsilon"));
        }
        if delta.is_zero() {
            return Err(MechanismError::NoBudget("delta"));
        }
        let (eps, del) = (epsilon.to_f64(), delta.to_f64());
        let shrink = (-eps).exp();
        let gap = -(-eps).exp_m1();
        let formula = ((gap + 2.0 * del * shrink) / ((1.0 + shrink) * del)).ln() / eps;
        // The least k >= 1 with P[X = k] <= delta: the formula gives it but for rounding, and the
        // inequality itself decides (PS Definition 7).
        let at_most_delta = |k: f64| {
            // 1 + q - 2 q^(k+1), q = e^-eps, as a sum of two positive terms.
            let norm = -(-(k + 1.0) * eps).exp_m1() - shrink * (-k * eps).exp_m1();
            let top = (-k * eps).exp() * gap / norm;
            top * (1.0 + 1e-13 * (1.0 + k * eps)) <= del
        };
        let mut k = (formula.ceil() - 1.0).max(1.0);
        while !at_most_delta(k) {
            k += 1.0;
        }
        if k >= 2f64.powi(53) {
            return Err(MechanismError::TooLarge);
        }
        let scale = Ratio::new(u128::from(Epsilon::units_per_one()), u128::from(epsilon.units()))?;
        Ok(Self { law: TruncatedDiscreteLaplace::new(scale, k as u64) })
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
        let noisy = i128::from(units) + self.law.sample(generator)?;
        Ok((noisy > i128::from(self.law.k())).then_some(noisy))
    }

    /// The noise's law.
    pub fn law(&self) -> TruncatedDiscreteLaplace {
        self.law
    }
}

/// Laplace thresholding (PS Definition 9), with exact discrete noise on a lattice of 2^-30 units.
#[derive(Clone, Copy, Debug)]
pub struct LaplaceThreshold {
    law: DiscreteLaplace,
    threshold: i128,
}

impl LaplaceThreshold {
    /// Selection at `epsilon` and `delta` per group.
    ///
    /// # Errors
    /// When either is zero, or epsilon is too small to be drawn with.
    pub fn new(epsilon: Epsilon, delta: Delta) -> Result<Self, MechanismError> {
        if epsilon.is_zero() {
            return Err(MechanismError::NoBudget("epsilon"));
        }
        if delta.is_zero() {
            return Err(MechanismError::NoBudget("delta"));
        }
        let numerator = FINE.unsigned_abs() * u128::from(Epsilon::units_per_one());
        let law = DiscreteLaplace::new(Ratio::new(numerator, u128::from(epsilon.units()))?);
        let threshold =
            fine(1) + least_tail(law.scale().to_f64(), delta.to_f64(), |x| law.tail(x))?;
        Ok(Self { law, threshold })
    }

    /// The threshold in units: noisy counts at or above it are released.
    pub fn threshold(&self) -> f64 {
        self.threshold as f64 / FINE as f64
    }

    /// P\[`units` + X >= threshold\].
    pub fn keep_probability(&self, units: u64) -> f64 {
        if units == 0 { 0.0 } else { self.law.tail(self.threshold - fine(units)) }
    }

    /// The noisy count, if it is at or above the threshold.
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
        let noisy = fine(units) + self.law.sample(generator)?;
        Ok((noisy >= self.threshold).then(|| to_units(noisy)))
    }

    /// P\[noise >= `units`\].
    pub fn noise_tail(&self, units: f64) -> f64 {
        self.law.tail((units * FINE as f64) as i128)
    }

    /// The scale in units.
    pub fn scale(&self) -> f64 {
        self.law.scale().to_f64() / FINE as f64
    }
}

/// Gaussian thresholding, with exact rounded Gaussian noise on a lattice of 2^-30 units.
#[derive(Clone, Copy, Debug)]
pub struct GaussianThreshold {
    law: RoundedGaussian,
    threshold: i128,
}

impl GaussianThreshold {
    /// For a unit in up to `groups` groups: rho-zCDP for the counts, and `delta` for the groups
    /// that appear with it alone, of which there are up to `groups`.
    ///
    /// # Errors
    /// When a budget is zero, or rho too small to be drawn with.
    pub fn concentrated(rho: Rho, delta: Delta, groups: u64) -> Result<Self, MechanismError> {
        if rho.is_zero() {
            return Err(MechanismError::NoBudget("rho"));
        }
        let sigma = (groups as f64 / (2.0 * rho.to_f64())).sqrt();
        Self::with_sigma(sigma, delta.to_f64(), groups)
    }

    /// The same at (`epsilon`, `delta`): half of delta is for the noise, by the analytic Gaussian
    /// mechanism, and half for the threshold (PS 3.3).
    ///
    /// # Errors
    /// When a budget is zero, or epsilon too small to be drawn with.
    pub fn approximate(
        epsilon: Epsilon,
        delta: Delta,
        groups: u64,
    ) -> Result<Self, MechanismError> {
        if epsilon.is_zero() {
            return Err(MechanismError::NoBudget("epsilon"));
        }
        let half = delta.to_f64() / 2.0;
        let mu = analytic_gaussian_mu(epsilon.to_f64(), half);
        if mu <= 0.0 {
            return Err(MechanismError::NoBudget("delta"));
        }
        Self::with_sigma((groups as f64).sqrt() / mu, half, groups)
    }

    /// `delta` bounds the probability that any of `groups` groups with one unit appears.
    fn with_sigma(sigma: f64, delta: f64, groups: u64) -> Result<Self, MechanismError> {
        if delta <= 0.0 {
            return Err(MechanismError::NoBudget("delta"));
        }
        let sigma = sigma * (1.0 + 8.0 * f64::EPSILON) * FINE as f64;
        let law = RoundedGaussian::new(Dyadic::at_least(sigma)?);
        // 1 - (1 - each)^groups = delta.
        let each = -((-delta).ln_1p() / groups as f64).exp_m1() * (1.0 - MARGIN);
        let quantile = normal_quantile(each).max(0.0);
        let threshold = fine(1) + least_tail(sigma * quantile.max(1.0), each, |x| law.tail(x))?;
        Ok(Self { law, threshold })
    }

    /// The threshold in units: noisy counts at or above it are released.
    pub fn threshold(&self) -> f64 {
        self.threshold as f64 / FINE as f64
    }

    /// P\[`units` + X >= threshold\].
    pub fn keep_probability(&self, units: u64) -> f64 {
        if units == 0 { 0.0 } else { self.law.tail(self.threshold - fine(units)) }
    }

    /// The noisy count, if it is at or above the threshold.
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
        let noisy = fine(units) + self.law.sample(generator)?;
        Ok((noisy >= self.threshold).then(|| to_units(noisy)))
    }

    /// P\[noise >= `units`\].
    pub fn noise_tail(&self, units: f64) -> f64 {
        self.law.tail((units * FINE as f64) as i128)
    }

    /// Sigma in units.
    pub fn scale(&self) -> f64 {
        self.law.sigma().to_f64() / FINE as f64
    }
}

/// The least x with P\[X >= x\] (1 + MARGIN) <= `delta`; `scale` says where to look.
fn least_tail(scale: f64, delta: f64, tail: impl Fn(i128) -> f64) -> Result<i128, MechanismError> {
    let fits = |x: i128| tail(x) * (1.0 + MARGIN) <= delta;
    let mut high = (scale.min(1e30) as i128).max(1);
    while !fits(high) {
        high = high.checked_mul(2).ok_or(MechanismError::TooLarge)?;
    }
    // With a large delta the threshold lies below one unit.
    let mut low = -high;
    while fits(low) {
        low = low.checked_mul(2).ok_or(MechanismError::TooLarge)?;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushtable_noise::TestSeed;

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
            let epsilon: Epsilon = case["epsilon"].as_str().unwrap().parse().unwrap();
            let delta: Delta = case["delta"].as_str().unwrap().parse().unwrap();
            let geometric = TruncatedGeometric::new(epsilon, delta).unwrap();
            let laplace = LaplaceThreshold::new(epsilon, delta).unwrap();
            assert_eq!(geometric.threshold(), case["truncated_geometric_k"].as_u64().unwrap());
            for row in case["keep"].as_array().unwrap() {
                let n = row["n"].as_u64().unwrap();
                // The vectors leave out the values whose sums would be thousands of terms long.
                if !row["truncated_geometric"].is_null() {
                    let want = number(&row["truncated_geometric"]);
                    let got = geometric.keep_probability(n);
                    assert!((got - want).abs() <= 1e-12 * want, "{epsilon} {n}: {got} {want}");
                    seen += 1;
                }
                // The vectors have continuous noise; the lattice is 2^-30 units fine.
                let want = number(&row["laplace"]);
                let got = laplace.keep_probability(n);
                let fine = 1e-9 + 4e-9 * epsilon.to_f64();
                assert!((got - want).abs() <= fine * want, "laplace {epsilon} {n}: {got} {want}");
            }
            // The delta that is promised bounds what a single unit does.
            assert!(geometric.keep_probability(1) <= delta.to_f64());
            assert!(laplace.keep_probability(1) <= delta.to_f64());
        }
        assert!(seen > 50);
    }

    #[test]
    fn a_lone_unit_appears_with_at_most_delta() {
        for groups in [1u64, 3, 100] {
            let delta: Delta = "1e-5".parse().unwrap();
            let rho: Rho = "0.5".parse().unwrap();
            let g = GaussianThreshold::concentrated(rho, delta, groups).unwrap();
            let any = 1.0 - (1.0 - g.keep_probability(1)).powf(groups as f64);
            assert!(any <= 1e-5 * (1.0 + 1e-9) && any > 0.999e-5, "{groups}: {any}");
            assert!((g.scale() - (groups as f64).sqrt()).abs() < 1e-9);
            let epsilon: Epsilon = "1".parse().unwrap();
            let a = GaussianThreshold::approximate(epsilon, delta, groups).unwrap();
            assert!(a.keep_probability(1) * groups as f64 <= 0.5e-5 * (1.0 + 1e-5));
        }
    }

    #[test]
    fn releases_have_the_stated_probability() {
        let (epsilon, delta) = ("0.5".parse().unwrap(), "0.01".parse().unwrap());
        let geometric = TruncatedGeometric::new(epsilon, delta).unwrap();
        let laplace = LaplaceThreshold::new(epsilon, delta).unwrap();
        let gaussian = GaussianThreshold::approximate(epsilon, delta, 2).unwrap();
        let mut generator = TestSeed(5).generator();
        for n in [1u64, 5, 9, 20] {
            let mut kept = [0u32; 3];
            for _ in 0..100_000 {
                let drawn = [
                    geometric.release(n, &mut generator).unwrap(),
                    laplace.release(n, &mut generator).unwrap(),
                    gaussian.release(n, &mut generator).unwrap(),
                ];
                for (count, release) in kept.iter_mut().zip(drawn) {
                    *count += u32::from(release.is_some());
                }
            }
            let want = [
                geometric.keep_probability(n),
                laplace.keep_probability(n),
                gaussian.keep_probability(n),
            ];
            for (count, want) in kept.iter().zip(want) {
                let deviation = (want * (1.0 - want) / 1e5).sqrt();
                // Six standard deviations: a false alarm once in 5e8, twelve times.
                assert!((f64::from(*count) / 1e5 - want).abs() <= 6.0 * deviation, "{n} {want}");
            }
        }
        assert_eq!(geometric.release(0, &mut generator).unwrap(), None);
    }

    #[test]
    fn counts_come_back_in_units() {
        assert_eq!(to_units(fine(7) + FINE / 2 - 1), 7);
        assert_eq!(to_units(fine(7) + FINE / 2), 8);
        assert_eq!(to_units(-FINE / 2 - 1), -1);
    }

    /// The joint law of "released or not" and the released count, for n and n + 1 units, is within
    /// (epsilon, delta) both ways: PS Theorem 4, by summing the whole law.
    #[test]
    fn truncated_geometric_release_keeps_its_promise() {
        for (epsilon, delta) in [("1", "1e-5"), ("0.1", "0.001"), ("3", "0.2"), ("0.5", "1e-9")] {
            let m =
                TruncatedGeometric::new(epsilon.parse().unwrap(), delta.parse().unwrap()).unwrap();
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
