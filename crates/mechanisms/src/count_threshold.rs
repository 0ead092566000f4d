//! Selection by a noisy count at or above a threshold; the noisy count may be released with the
//! key.
//!
//! Delta is the probability that a group with a single unit appears, computed with the very
//! inequality that releases it, and rounded up by [`MARGIN`].

use hushtable_noise::{DiscreteLaplace, EntropyError, Generator, Law, Ratio};
use hushtable_numbers::search::{first_whole, grow};
use hushtable_privacy::{Delta, Epsilon, Rho};

use crate::additive::AdditiveLaw;
use crate::error::{MechanismError, need_both};
use crate::joint::{FINE, Reach, Weights, calibrate, noise_and_threshold, to_lattice};

/// Relative error that tail probabilities in floating point stay under.
const MARGIN: f64 = 1e-10;

/// The noisy count in whole units, halves up.
fn to_units(fine: i128) -> i128 {
    (fine + FINE / 2).div_euclid(FINE)
}

fn fine(units: u64) -> i128 {
    i128::from(units) * FINE
}

/// A count with exact noise on a lattice of 2^-30 units, released if it reaches a threshold.
#[derive(Clone, Copy, Debug)]
pub struct CountThreshold {
    law: AdditiveLaw,
    threshold: i128,
}

impl CountThreshold {
    /// Laplace thresholding (PS Definition 9) at `epsilon` and `delta` per group.
    ///
    /// # Errors
    /// When either is zero, or epsilon is too small to be drawn with.
    pub fn laplace(epsilon: Epsilon, delta: Delta) -> Result<Self, MechanismError> {
        need_both(epsilon, delta)?;
        let numerator = FINE.unsigned_abs() * u128::from(Epsilon::units_per_one());
        let law = DiscreteLaplace::new(Ratio::new(numerator, u128::from(epsilon.units()))?);
        let threshold =
            fine(1) + least_tail(law.scale().to_f64(), delta.to_f64(), |x| law.tail(x))?;
        Ok(Self { law: AdditiveLaw::DiscreteLaplace(law), threshold })
    }

    /// Gaussian thresholding for a unit that reaches as far as `reach`: `rho` for the counts, and
    /// `delta` for the groups that appear with it alone.
    ///
    /// # Errors
    /// When a budget is zero, or rho too small to be drawn with.
    pub fn gaussian_concentrated(
        rho: Rho,
        delta: Delta,
        reach: Reach,
    ) -> Result<Self, MechanismError> {
        if rho.is_zero() {
            return Err(MechanismError::NoBudget("rho"));
        }
        let sigma = reach.l2(Weights::Ones) / (2.0 * rho.to_f64()).sqrt();
        let (law, threshold) =
            noise_and_threshold(sigma, delta.to_f64(), reach.groups, Weights::Ones)?;
        Ok(Self { law: AdditiveLaw::RoundedGaussian(law), threshold: to_lattice(threshold)? })
    }

    /// Gaussian noise and a threshold at (`epsilon`, `delta`), by the joint delta of noise and
    /// threshold (PS 3.3 divides delta between the two, which is not needed).
    ///
    /// # Errors
    /// When a budget is zero, or epsilon too small to be drawn with.
    pub fn gaussian_approximate(
        epsilon: Epsilon,
        delta: Delta,
        reach: Reach,
    ) -> Result<Self, MechanismError> {
        let (law, threshold) = calibrate(epsilon.to_f64(), delta.to_f64(), reach, Weights::Ones)?;
        Ok(Self { law: AdditiveLaw::RoundedGaussian(law), threshold })
    }

    /// Whether the noise is Gaussian.
    pub fn is_gaussian(&self) -> bool {
        matches!(self.law, AdditiveLaw::RoundedGaussian(_))
    }

    /// The threshold in units: noisy counts at or above it are released.
    pub fn threshold(&self) -> f64 {
        self.threshold as f64 / FINE as f64
    }

    /// P\[noise >= x\], x in lattice points.
    fn tail(&self, x: i128) -> f64 {
        self.law.as_law().tail(x)
    }

    /// P\[`units` + X >= threshold\].
    pub fn keep_probability(&self, units: u64) -> f64 {
        if units == 0 { 0.0 } else { self.tail(self.threshold - fine(units)) }
    }

    /// Fills `noise` with draws, in lattice points.
    ///
    /// # Errors
    /// When the operating system's generator fails.
    pub(crate) fn fill(
        &self,
        generator: &mut Generator,
        noise: &mut [i128],
    ) -> Result<(), EntropyError> {
        self.law.as_law().fill(generator, noise)
    }

    /// Whether the count with this noise reaches the threshold, and the noisy count in units.
    pub(crate) fn noisy(&self, units: u64, noise: i128) -> (bool, i128) {
        let noisy = fine(units) + noise;
        // The same inequality as in [`least_tail`], which has computed delta.
        (noisy >= self.threshold, to_units(noisy))
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
        let mut noise = [0];
        self.fill(generator, &mut noise)?;
        let [noise] = noise;
        let (reaches, noisy) = self.noisy(units, noise);
        Ok(reaches.then_some(noisy))
    }

    /// P\[noise >= `units`\].
    pub fn noise_tail(&self, units: f64) -> f64 {
        self.tail((units * FINE as f64) as i128)
    }

    /// Scale b of the Laplace or sigma of the Gaussian, in units.
    pub fn scale(&self) -> f64 {
        self.law.scale() / FINE as f64
    }

    /// The standard deviation of the noise, in units, except for rounding to them.
    pub fn deviation(&self) -> f64 {
        match &self.law {
            AdditiveLaw::DiscreteLaplace(law) => law.variance().sqrt() / FINE as f64,
            AdditiveLaw::RoundedGaussian(_) => self.scale(),
        }
    }
}

/// The least x with P\[X >= x\] (1 + MARGIN) <= `delta`; `scale` says where to look.
pub(crate) fn least_tail(
    scale: f64,
    delta: f64,
    tail: impl Fn(i128) -> f64,
) -> Result<i128, MechanismError> {
    // The margin covers the error of the tail, so that rounding cannot exceed delta.
    let fits = |x: i128| tail(x) * (1.0 + MARGIN) <= delta;
    let (start, most) = ((scale.min(1e30) as i128).max(1), 1 << 126);
    let (_, high) = grow(start, 2, most, fits).ok_or(MechanismError::TooLarge)?;
    // With a large delta the threshold lies below one unit.
    let (_, below) = grow(high, 2, most, |x| !fits(-x)).ok_or(MechanismError::TooLarge)?;
    Ok(first_whole(-below, high, fits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truncated_geometric::TruncatedGeometric;
    use hushtable_noise::TestSeed;
    use hushtable_privacy::Neighbouring;
    use hushtable_testkit::{Vectors, number};

    #[test]
    fn keep_probabilities_are_those_of_the_vectors() {
        let mut seen = 0;
        for case in Vectors::PartitionSelection.all() {
            let epsilon: Epsilon = case["epsilon"].as_str().unwrap().parse().unwrap();
            let delta: Delta = case["delta"].as_str().unwrap().parse().unwrap();
            let geometric = TruncatedGeometric::new(epsilon, delta).unwrap();
            let laplace = CountThreshold::laplace(epsilon, delta).unwrap();
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
            let reach = Reach { groups, neighbouring: Neighbouring::AddRemove };
            let g = CountThreshold::gaussian_concentrated(rho, delta, reach).unwrap();
            let any = 1.0 - (1.0 - g.keep_probability(1)).powf(groups as f64);
            assert!(any <= 1e-5 * (1.0 + 1e-9) && any > 0.999e-5, "{groups}: {any}");
            assert!((g.scale() - (groups as f64).sqrt()).abs() < 1e-9);
            let epsilon: Epsilon = "1".parse().unwrap();
            let a = CountThreshold::gaussian_approximate(epsilon, delta, reach).unwrap();
            let any = 1.0 - (1.0 - a.keep_probability(1)).powf(groups as f64);
            assert!(any <= 1e-5 && any > 0.9e-5, "{groups}: {any}");
        }
    }

    #[test]
    fn releases_have_the_stated_probability() {
        let (epsilon, delta) = ("0.5".parse().unwrap(), "0.01".parse().unwrap());
        let two = Reach { groups: 2, neighbouring: Neighbouring::AddRemove };
        let geometric = TruncatedGeometric::new(epsilon, delta).unwrap();
        let laplace = CountThreshold::laplace(epsilon, delta).unwrap();
        let gaussian = CountThreshold::gaussian_approximate(epsilon, delta, two).unwrap();
        let mut generator = TestSeed(5).generator();
        for n in [1u64, 5, 9, 20] {
            let mut releases = [0u32; 3];
            for _ in 0..100_000 {
                let drawn = [
                    geometric.release(n, &mut generator).unwrap(),
                    laplace.release(n, &mut generator).unwrap(),
                    gaussian.release(n, &mut generator).unwrap(),
                ];
                for (count, release) in releases.iter_mut().zip(drawn) {
                    *count += u32::from(release.is_some());
                }
            }
            let want = [
                geometric.keep_probability(n),
                laplace.keep_probability(n),
                gaussian.keep_probability(n),
            ];
            for (count, want) in releases.iter().zip(want) {
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
}
