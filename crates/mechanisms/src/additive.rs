//! Noise added to the integers of a vector of group sums.

use hushtable_noise::{
    DiscreteLaplace, Dyadic, EntropyError, Generator, Law, Ratio, RoundedGaussian,
};
use hushtable_numbers::search::least_whole;
use hushtable_privacy::{Contribution, Epsilon, Loss, Neighbouring, Rho};

use crate::error::MechanismError;

/// The law of additive noise on the integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdditiveLaw {
    /// Discrete Laplace (two-sided geometric).
    DiscreteLaplace(DiscreteLaplace),
    /// A normal draw, rounded.
    RoundedGaussian(RoundedGaussian),
}

impl AdditiveLaw {
    /// The law, whichever it is.
    pub fn as_law(&self) -> &dyn Law {
        match self {
            Self::DiscreteLaplace(law) => law,
            Self::RoundedGaussian(law) => law,
        }
    }

    /// The scale parameter: b of the discrete Laplace, sigma of the Gaussian.
    pub fn scale(&self) -> f64 {
        match self {
            Self::DiscreteLaplace(law) => law.scale().to_f64(),
            Self::RoundedGaussian(law) => law.sigma().to_f64(),
        }
    }
}

/// Additive noise, calibrated to a bounded contribution and a privacy loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Additive {
    law: AdditiveLaw,
    loss: Loss,
}

impl Additive {
    /// Discrete Laplace noise of scale (l1 sensitivity) / epsilon, which makes the whole vector
    /// epsilon-differentially private (theory section 2). The scale is an exact rational, so the
    /// loss is exactly `epsilon`.
    ///
    /// # Errors
    /// Zero epsilon or sensitivity, or a scale too large or small to be drawn exactly.
    pub fn laplace(
        contribution: Contribution,
        relation: Neighbouring,
        epsilon: Epsilon,
    ) -> Result<Self, MechanismError> {
        if epsilon.is_zero() {
            return Err(MechanismError::NoBudget("epsilon"));
        }
        let sensitivity = contribution.l1(relation);
        if sensitivity == 0 {
            return Err(MechanismError::NoSensitivity);
        }
        let numerator = sensitivity
            .checked_mul(u128::from(Epsilon::units_per_one()))
            .ok_or(MechanismError::TooLarge)?;
        let scale = Ratio::new(numerator, u128::from(epsilon.units()))?;
        let law = AdditiveLaw::DiscreteLaplace(DiscreteLaplace::new(scale));
        Ok(Self { law, loss: Loss::pure(epsilon) })
    }

    /// Rounded Gaussian noise with sigma^2 = (l2 sensitivity)^2 / (2 rho), which makes the whole
    /// vector rho-zCDP (theory section 2). Sigma is rounded up.
    ///
    /// # Errors
    /// Zero rho or sensitivity, or a sigma too large or small to be drawn exactly.
    pub fn gaussian(
        contribution: Contribution,
        relation: Neighbouring,
        rho: Rho,
    ) -> Result<Self, MechanismError> {
        if rho.is_zero() {
            return Err(MechanismError::NoBudget("rho"));
        }
        let squared = contribution.l2_squared(relation).ok_or(MechanismError::TooLarge)?;
        if squared == 0 {
            return Err(MechanismError::NoSensitivity);
        }
        let sigma = (squared as f64 / (2.0 * rho.to_f64())).sqrt();
        // Five roundings of half an ulp each are less than this.
        let sigma = Dyadic::at_least(sigma * (1.0 + 8.0 * f64::EPSILON))?;
        let law = AdditiveLaw::RoundedGaussian(RoundedGaussian::new(sigma));
        Ok(Self { law, loss: Loss::concentrated(rho) })
    }

    /// The law of the noise.
    pub fn law(&self) -> AdditiveLaw {
        self.law
    }

    /// Cost of the whole vector of noisy sums.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// Adds a fresh draw to every value; saturates at the ends of `i128`, which sums of bounded
    /// contributions stay far away from.
    ///
    /// # Errors
    /// When the operating system's generator fails; the values must then not be used.
    pub fn add(&self, generator: &mut Generator, values: &mut [i128]) -> Result<(), EntropyError> {
        let (law, mut draws) = (self.law.as_law(), [0i128; 256]);
        for chunk in values.chunks_mut(draws.len()) {
            let draws = &mut draws[..chunk.len()];
            law.fill(generator, draws)?;
            for (value, draw) in chunk.iter_mut().zip(draws.iter()) {
                *value = value.saturating_add(*draw);
            }
        }
        Ok(())
    }

    /// The scale parameter in lattice units: b of the discrete Laplace, sigma of the Gaussian.
    pub fn scale(&self) -> f64 {
        self.law.scale()
    }

    /// The variance of a draw in lattice units squared.
    pub fn variance(&self) -> f64 {
        self.law.as_law().variance()
    }

    /// The least w, in lattice units, with P\[|noise| <= w\] >= `level` for all of that many values
    /// at once; `level` in (0, 1).
    pub fn half_width(&self, level: f64, values: u64) -> u128 {
        let law = self.law.as_law();
        half_width(self.scale(), (level, values), |x| law.tail(x))
    }
}

/// The largest half width that is searched for.
const HALF_WIDTH_MOST: i128 = 1 << 126;

/// The least w with P\[|X| <= w\] >= level for all of `values` independent draws of a symmetric law
/// with upper tail P\[X >= x\]: one of d draws is beyond w with probability 1 - (1 - 2
/// P\[X > w\])^d.
///
/// Lecture, Lemma 2.8, bounds this for Laplace noise by d e^-t at w = b t; here is the law itself.
/// `scale` says where to look first.
pub fn half_width(scale: f64, (level, values): (f64, u64), tail: impl Fn(i128) -> f64) -> u128 {
    // The level of each value, so that all are within with probability `level`.
    let outside = -(level.ln() / values.max(1) as f64).exp_m1();
    let start = (scale.min(1e30) as i128).max(1);
    let holds = |w: i128| 2.0 * tail(w + 1) <= outside;
    least_whole(-1, start, HALF_WIDTH_MOST, holds).unwrap_or(HALF_WIDTH_MOST).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushtable_noise::TestSeed;

    fn one(groups: u32, high: i64) -> Contribution {
        Contribution { groups, single_group: false, low: 0, high, beside: None }
    }

    #[test]
    fn scale_is_sensitivity_over_epsilon() {
        let noise =
            Additive::laplace(one(3, 10), Neighbouring::Replace, "0.5".parse().unwrap()).unwrap();
        let AdditiveLaw::DiscreteLaplace(law) = noise.law() else { panic!("law") };
        assert_eq!((law.scale().numerator(), law.scale().denominator()), (120, 1));
        assert_eq!(noise.loss(), Loss::pure("0.5".parse().unwrap()));
    }

    #[test]
    fn sigma_never_undershoots() {
        for rho in ["0.5", "0.3", "0.000001", "7"] {
            let rho: Rho = rho.parse().unwrap();
            let c = one(7, 1_000_003);
            let noise = Additive::gaussian(c, Neighbouring::AddRemove, rho).unwrap();
            let squared = 7.0 * 1_000_003f64.powi(2);
            // rho implied by the sigma that is drawn with, computed the other way round.
            let implied = squared / (2.0 * noise.scale().powi(2));
            assert!(implied <= rho.to_f64() && implied > rho.to_f64() * (1.0 - 1e-14));
        }
    }

    #[test]
    fn no_noise_is_refused() {
        let epsilon: Epsilon = "1".parse().unwrap();
        let relation = Neighbouring::AddRemove;
        let zero = one(1, 0);
        assert_eq!(Additive::laplace(zero, relation, epsilon), Err(MechanismError::NoSensitivity));
        assert_eq!(
            Additive::gaussian(zero, relation, "1".parse().unwrap()),
            Err(MechanismError::NoSensitivity)
        );
        assert_eq!(
            Additive::laplace(one(1, 1), relation, Epsilon::ZERO),
            Err(MechanismError::NoBudget("epsilon"))
        );
        let huge = one(u32::MAX, i64::MAX);
        assert!(Additive::laplace(huge, relation, "1e-12".parse().unwrap()).is_err());
        assert!(Additive::gaussian(huge, relation, "1e-12".parse().unwrap()).is_err());
    }

    #[test]
    fn half_widths_cover_as_stated() {
        let laplace =
            Additive::laplace(one(1, 1), Neighbouring::AddRemove, "0.1".parse().unwrap()).unwrap();
        // P[|X| > w] = 2 q^(w+1)/(1+q), q = e^-0.1: 0.0474 at w = 30 and 0.0524 at w = 29.
        assert_eq!(laplace.half_width(0.95, 1), 30);
        let gaussian =
            Additive::gaussian(one(1, 1), Neighbouring::AddRemove, "0.00005".parse().unwrap())
                .unwrap();
        // sigma = 100: 1.96 sigma, rounded.
        assert_eq!(gaussian.half_width(0.95, 1), 196);
        // Share of 100,000 draws inside; binomial sd 0.0007, so 6 sd are 0.0042 (error rate 1e-9).
        for noise in [laplace, gaussian] {
            let mut values = vec![0; 100_000];
            noise.add(&mut TestSeed(7).generator(), &mut values).unwrap();
            let width = noise.half_width(0.95, 1);
            let inside = values.iter().filter(|v| v.unsigned_abs() <= width).count();
            let share = inside as f64 / 1e5;
            assert!((0.9458..0.9600).contains(&share), "{share}");
        }
    }

    /// 1 - (1 - tail)^d, by summing the law over all d values; and the largest of d draws.
    #[test]
    fn all_values_at_once_are_within_as_stated() {
        let noise =
            Additive::laplace(one(1, 1), Neighbouring::AddRemove, "0.5".parse().unwrap()).unwrap();
        let AdditiveLaw::DiscreteLaplace(law) = noise.law() else { panic!("law") };
        for values in [1u64, 2, 3, 20] {
            for level in [0.5, 0.95, 0.999] {
                let width = noise.half_width(level, values) as i128;
                let within = |w: i128| {
                    (-w..=w).map(|x| law.pmf(x)).sum::<f64>().powi(i32::try_from(values).unwrap())
                };
                assert!(within(width) >= level, "{values} {level}");
                assert!(width == 0 || within(width - 1) < level, "{values} {level}");
                // Lecture, Lemma 2.8: beyond b (ln d + t) with probability e^-t at most; a lattice
                // point more.
                let bound = 2.0 * ((values as f64).ln() - (1.0 - level).ln()) + 1.0;
                assert!(width as f64 <= bound, "{values} {level}: {width} {bound}");
            }
        }
        // The share of 20,000 vectors of 50 draws: its deviation is 0.0015, so 6 are 0.0093.
        let width = noise.half_width(0.95, 50);
        let mut draws = vec![0; 1_000_000];
        noise.add(&mut TestSeed(9).generator(), &mut draws).unwrap();
        let all = |vector: &&[i128]| vector.iter().all(|x| x.unsigned_abs() <= width);
        let share = draws.chunks(50).filter(all).count() as f64 / 20_000.0;
        assert!(share > 0.95 - 0.0093 && share < 0.98, "{share}");
        // Far out, where levels of one value have no digits left.
        assert!(noise.half_width(0.95, u64::MAX) < 200);
    }
}
