//! Noise that is added to a count.

use hushtable_privacy::DiscreteGaussianLoss;

use crate::double::NeumaierSum;
use crate::error::KnowledgeError;
use crate::integer_law::{IntegerLaw, UNIT};

/// Noise on an integer that one record moves by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountNoise(CountNoiseLaw);

#[derive(Clone, Copy, Debug, PartialEq)]
enum CountNoiseLaw {
    /// P\[x\] ~ e^(-loss |x|).
    Geometric { loss: f64 },
    /// P\[x\] ~ e^(-x^2/(2 sigma^2)).
    Gaussian(DiscreteGaussianLoss),
}

const FACTORS: &str = "1e-40 to 0.999999";
const SCALES: &str = "0.01 to 1000000";
const SQUARES: &str = "0.01 to 1000000";

impl CountNoise {
    /// The two-sided geometric law, P\[x\] = (1-p)/(1+p) p^|x| (PK Definition 19).
    ///
    /// # Errors
    /// Unless `p` is from 1e-40 to 0.999999.
    pub fn geometric(p: f64) -> Result<Self, KnowledgeError> {
        if (1e-40..=0.999_999).contains(&p) {
            Ok(Self(CountNoiseLaw::Geometric { loss: -p.ln() }))
        } else {
            Err(KnowledgeError::Noise { what: "geometric", given: p, range: FACTORS })
        }
    }

    /// The discrete Laplace law of scale b: the two-sided geometric one with p = e^(-1/b).
    ///
    /// # Errors
    /// Unless `scale` is from 0.01 to 1,000,000.
    pub fn discrete_laplace(scale: f64) -> Result<Self, KnowledgeError> {
        if (0.01..=1e6).contains(&scale) {
            Ok(Self(CountNoiseLaw::Geometric { loss: 1.0 / scale }))
        } else {
            Err(KnowledgeError::Noise { what: "discrete-laplace", given: scale, range: SCALES })
        }
    }

    /// The discrete Gaussian law with this sigma^2.
    ///
    /// # Errors
    /// Unless `sigma_squared` is from 0.01 to 1,000,000.
    pub fn discrete_gaussian(sigma_squared: f64) -> Result<Self, KnowledgeError> {
        let refused = KnowledgeError::Noise {
            what: "discrete-gaussian",
            given: sigma_squared,
            range: SQUARES,
        };
        if sigma_squared > 1e6 {
            return Err(refused);
        }
        DiscreteGaussianLoss::new(sigma_squared)
            .map(|g| Self(CountNoiseLaw::Gaussian(g)))
            .map_err(|_| refused)
    }

    /// The promise of the noise alone against every attacker, whatever is known: delta at
    /// `epsilon`, rounded up. A promise of differential privacy, for one record that moves the
    /// count by one.
    pub fn delta(self, epsilon: f64) -> f64 {
        match self.0 {
            CountNoiseLaw::Geometric { loss } if epsilon >= loss => 0.0,
            // P[X <= 0] (1 - e^(epsilon - loss)).
            CountNoiseLaw::Geometric { loss } => {
                let half = 1.0 / (1.0 + (-loss).exp());
                (half * -(epsilon - loss).exp_m1() * (1.0 + 16.0 * UNIT) + 2.0 * UNIT * loss)
                    .min(1.0)
            }
            CountNoiseLaw::Gaussian(law) => law.delta(1, epsilon).unwrap_or(1.0),
        }
    }

    /// `law` with the noise added, if the noise is added last.
    pub(crate) fn on_top(self, law: &IntegerLaw) -> Option<IntegerLaw> {
        match self.0 {
            CountNoiseLaw::Geometric { loss } => Some(law.plus_geometric(loss)),
            CountNoiseLaw::Gaussian(_) => None,
        }
    }

    /// The law of the noise to start from; always zero if the noise is added last.
    pub(crate) fn below(self, floor: f64) -> IntegerLaw {
        match self.0 {
            CountNoiseLaw::Geometric { .. } => IntegerLaw::point(0),
            CountNoiseLaw::Gaussian(law) => gaussian(law.sigma_squared(), floor),
        }
    }
}

/// The discrete Gaussian law, without what is below `floor` times its largest probability.
fn gaussian(sigma_squared: f64, floor: f64) -> IntegerLaw {
    let doubled = 2.0 * sigma_squared;
    let weight = |x: f64| (-x * x / doubled).exp();
    let mut half = Vec::new();
    let mut x = 1.0;
    while weight(x) >= floor {
        half.push(weight(x));
        x += 1.0;
    }
    // Each step beyond shrinks it by e^(-(2x+1)/(2 sigma^2)) or more, and 1/(1-e^-r) <= 1 + 1/r.
    let lost = 2.0 * weight(x) * (1.0 + doubled / (2.0 * x + 1.0)) * (1.0 + 1e-9);
    let mut weights: Vec<f64> = half.iter().rev().copied().collect();
    weights.push(1.0);
    weights.extend(&half);
    let mut sum = NeumaierSum::default();
    weights.iter().for_each(|w| sum.add(*w));
    let sum = sum.value();
    weights.iter_mut().for_each(|w| *w /= sum);
    let first = -i64::try_from(half.len()).unwrap_or(0);
    // Exponents are down to ln floor, with two roundings each.
    let error = (8.0 - 3.0 * floor.ln()) * UNIT;
    IntegerLaw { first, weights, error, lost, tail: f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_alone_is_what_its_law_promises() {
        let geometric = CountNoise::geometric(0.5).unwrap();
        // Two thirds of the noise is at or below zero.
        assert!((geometric.delta(0.0) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(geometric.delta(std::f64::consts::LN_2), 0.0);
        let same = CountNoise::discrete_laplace(2.0).unwrap();
        for epsilon in [0.0, 0.3, 0.499] {
            let law = IntegerLaw::point(0).plus_geometric(0.5);
            let [up, down] = crate::divergence::both(&law, epsilon);
            assert!((same.delta(epsilon) / up - 1.0).abs() < 1e-12);
            assert!((same.delta(epsilon) / down - 1.0).abs() < 1e-12);
        }
        let gaussian = CountNoise::discrete_gaussian(3.0).unwrap();
        let law = gaussian.below(1e-290);
        for epsilon in [0.0, 0.3, 2.0, 9.0] {
            let [up, down] = crate::divergence::both(&law, epsilon);
            let want = gaussian.delta(epsilon);
            assert!((up / want - 1.0).abs() < 1e-9 && (down / want - 1.0).abs() < 1e-9);
        }
    }
}
