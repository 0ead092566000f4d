//! Randomness of made-up records.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Draws from the laws that made-up records come from: the same from the same seed, on every machine.
///
/// It is for data and never for noise. It works in floating point, which is fine for the one and not for
/// the other.
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

    /// Pareto: P\[X > x\] = (scale / x)^index for x from `scale` on.
    pub fn pareto(&mut self, scale: f64, index: f64) -> f64 {
        scale * libm::pow(self.uniform(), -1.0 / index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest distance of the empirical from the true distribution is below 1.95 / sqrt(n) but once
    /// in a thousand seeds (Kolmogorov); the seed is fixed.
    #[test]
    fn paretos_have_their_law() {
        let mut draws = Draws::new(1);
        for (scale, index) in [(1.0, 1.2), (500.0, 2.5)] {
            let mut sample: Vec<f64> = (0..20_000).map(|_| draws.pareto(scale, index)).collect();
            sample.sort_by(f64::total_cmp);
            assert!(sample[0] >= scale);
            let distance = |(place, x): (usize, &f64)| {
                let below = 1.0 - (scale / x).powf(index);
                (below - place as f64 / 20_000.0).abs()
            };
            let farthest = sample.iter().enumerate().map(distance).fold(0.0, f64::max);
            assert!(farthest < 1.95 / 20_000f64.sqrt(), "{farthest}");
        }
    }
}
