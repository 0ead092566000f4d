//! Randomness of made-up records.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Draws from the laws that made-up records come from: the same from the same seed, on every
/// machine.
///
/// It is for data and never for noise. It works in floating point, which is fine for the one and
/// not for the other.
#[derive(Debug)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The draws of this seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform above 0 and up to 1, in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 * (-53f64).exp2()
    }

    /// Exponential of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// Normal of mean 0 and standard deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }

    /// A place among `weights`, each as probable as its weight.
    pub fn index(&mut self, weights: &[f64]) -> usize {
        let mut left = self.uniform() * weights.iter().sum::<f64>();
        for (index, weight) in weights.iter().enumerate() {
            if left <= *weight {
                return index;
            }
            left -= weight;
        }
        weights.len().saturating_sub(1)
    }

    /// Pareto: P\[X > x\] = (scale / x)^index for x from `scale` on.
    pub fn pareto(&mut self, scale: f64, index: f64) -> f64 {
        scale * libm::pow(self.uniform(), -1.0 / index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest distance of the empirical from the true distribution is below 1.95 / sqrt(n) but
    /// once in a thousand seeds (Kolmogorov); the seed is fixed.
    fn assert_law(mut draw: impl FnMut() -> f64, below: impl Fn(f64) -> f64) {
        let mut sample: Vec<f64> = (0..20_000).map(|_| draw()).collect();
        sample.sort_by(f64::total_cmp);
        let distance = |(index, x): (usize, &f64)| (below(*x) - index as f64 / 20_000.0).abs();
        let farthest = sample.iter().enumerate().map(distance).fold(0.0, f64::max);
        assert!(farthest < 1.95 / 20_000f64.sqrt(), "{farthest}");
    }

    #[test]
    fn draws_have_their_laws() {
        let mut draws = Draws::new(1);
        for (scale, index) in [(1.0, 1.2), (500.0, 2.5)] {
            let below = |x: f64| 1.0 - (scale / x).powf(index);
            assert_law(|| draws.pareto(scale, index), below);
        }
        assert_law(|| draws.uniform(), |x| x);
        assert_law(|| draws.exponential(), |x| 1.0 - (-x).exp());
        assert_law(|| draws.normal(), |x| 1.0 - hushtable_privacy::normal_tail(x));
    }

    /// Counts of 10,000 places; six standard deviations are 280 or less.
    #[test]
    fn places_have_their_weights() {
        let mut draws = Draws::new(2);
        let mut counts = [0usize; 4];
        for _ in 0..10_000 {
            counts[draws.index(&[3.0, 0.0, 1.0, 4.0])] += 1;
        }
        for (count, expected) in counts.into_iter().zip([3750, 0, 1250, 5000]) {
            assert!(count.abs_diff(expected) < 300, "{counts:?}");
        }
        assert_eq!(counts[1], 0);
    }
}
