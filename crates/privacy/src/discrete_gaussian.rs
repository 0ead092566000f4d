//! The promise of discrete Gaussian noise, from its own law.

use std::f64::consts::PI;

/// Relative error that [`DiscreteGaussianLoss::delta`] stays under before rounding up. Its terms
/// are all positive and its sum is compensated, so only a dozen roundings count, of which those in
/// the exponents weigh most: 42 times 2^-53 or so. The rest is for decimals that were rounded to be
/// sigma^2 and epsilon: half a unit in their last places moves a delta of 1e-300 by 2.5e-13.
const MARGIN: f64 = 5e-13;

/// Standard deviations below the mean at which a sum may begin: what lies below is less than 1e-18,
/// and is added as a bound.
const DEEP: f64 = 9.2;

/// Exponent beyond which a probability is below every normal double, whatever multiplies it.
const VANISHED: f64 = 750.0;

/// Parameters for which the sums are not computed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DiscreteGaussianError {
    /// sigma^2 is not in 0.01 ..= 2^40.
    #[error(
        "sigma squared = {0} is not valid for a discrete Gaussian: it must be a number from \
         0.01 to 2^40 = 1099511627776, as its delta is a sum of about 20 sigma terms"
    )]
    SigmaSquared(f64),
    /// The sensitivity is not in 1 ..= 2^25.
    #[error(
        "sensitivity = {0} is not valid for a discrete Gaussian: it must be a whole number from 1 \
         to 2^25 = 33554432, for which losses are compared exactly"
    )]
    Sensitivity(u64),
}

/// The discrete Gaussian law on the integers, P\[x\] = e^(-x^2/(2 sigma^2)) / Z (Canonne, Kamath &
/// Steinke 2020, Definition 1).
///
/// Its delta is larger than the continuous formula at small sigma, so that
/// [`gaussian_delta`](crate::gaussian_delta) must not be used for it (theory section 5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteGaussianLoss {
    sigma_squared: f64,
}

impl DiscreteGaussianLoss {
    /// The largest sigma^2, 2^40.
    pub const MAX_SIGMA_SQUARED: f64 = (1u64 << 40) as f64;
    /// The smallest sigma^2.
    pub const MIN_SIGMA_SQUARED: f64 = 0.01;
    /// The largest sensitivity. Up to it, integers that losses are compared by are exact doubles.
    pub const MAX_SENSITIVITY: u64 = 1 << 25;

    /// The law with this parameter sigma^2, in squared lattice units: a little more than its
    /// variance.
    ///
    /// # Errors
    /// Unless `sigma_squared` is in 0.01 ..= 2^40.
    pub fn new(sigma_squared: f64) -> Result<Self, DiscreteGaussianError> {
        if (Self::MIN_SIGMA_SQUARED..=Self::MAX_SIGMA_SQUARED).contains(&sigma_squared) {
            Ok(Self { sigma_squared })
        } else {
            Err(DiscreteGaussianError::SigmaSquared(sigma_squared))
        }
    }

    /// The parameter sigma^2.
    pub fn sigma_squared(&self) -> f64 {
        self.sigma_squared
    }

    /// The least delta, rounded up by less than 1e-12 of itself, such that this noise on an integer
    /// that one unit moves by up to `sensitivity` is (`epsilon`, delta)-differentially private: the
    /// sum over the integers x of (P\[x\] - e^epsilon P\[x - sensitivity\])_+ (CKS 2020, Theorem
    /// 7). Where it is below the smallest normal double, 2.2e-308, it is that.
    ///
    /// (A smaller move gives a smaller delta: the likelihood ratio is monotone, so the best tests
    /// have the form x > t whatever the move, and their power grows with it.)
    ///
    /// `epsilon` >= 0; anything else gives 1. Both it and sigma^2 are the doubles that they are,
    /// which decides whether an x whose loss is epsilon counts. Takes time in proportion to sigma.
    ///
    /// # Errors
    /// Unless `sensitivity` is in 1 ..= 2^25.
    pub fn delta(&self, sensitivity: u64, epsilon: f64) -> Result<f64, DiscreteGaussianError> {
        if !(1..=Self::MAX_SENSITIVITY).contains(&sensitivity) {
            return Err(DiscreteGaussianError::Sensitivity(sensitivity));
        }
        if epsilon.is_nan() || epsilon < 0.0 {
            return Ok(1.0);
        }
        let (doubled, shift) = (2.0 * self.sigma_squared, sensitivity as f64);
        // By symmetry, the sum over y of P[y] (1 - e^(epsilon - loss)), where the loss of y,
        // shift (2y + shift) / (2 sigma^2), is above epsilon. It grows with y: from here on.
        let border = epsilon * (self.sigma_squared / shift) - 0.5 * shift;
        if border > 0.0 && border / doubled * border > VANISHED {
            return Ok(f64::MIN_POSITIVE);
        }
        // 2 sigma^2 (loss - epsilon), with the product of epsilon in two doubles: exact next to
        // zero, where it decides which y count.
        let product = doubled * epsilon;
        let low_digits = doubled.mul_add(epsilon, -product);
        let excess = |y: f64| (shift * (2.0 * y + shift) - product) - low_digits;
        let deepest = -(DEEP * self.sigma_squared.sqrt()).ceil() - 1.0;
        let mut first = border.floor().max(deepest) + 1.0;
        // `border` is rounded; the excess decides.
        while first > deepest && excess(first - 1.0) > 0.0 {
            first -= 1.0;
        }
        while excess(first) <= 0.0 {
            first += 1.0;
        }
        let sum = self.tail_sum(first, |y| -(-excess(y) / doubled).exp_m1());
        // By symmetry, the mass below the deepest y is bounded like that above its negative.
        let below = if first <= deepest { self.mass_bound(-deepest) } else { 0.0 };
        let delta = (sum * self.weight(first) + below) / self.normaliser();
        Ok((delta * (1.0 + MARGIN)).clamp(f64::MIN_POSITIVE, 1.0))
    }

    /// The variance, below 1e-14 relative error; at most sigma^2 (CKS 2020, Corollary 9).
    pub fn variance(&self) -> f64 {
        let s = self.sigma_squared;
        if s <= 1.0 {
            return 2.0 * small_sum(s, |k| k * k) / self.normaliser();
        }
        // That sum by Poisson's formula: the Fourier transform of x^2 e^(-x^2/2s).
        let dual = dual_sum(s, |k| 1.0 - 4.0 * PI * PI * s * k * k);
        s * (1.0 + 2.0 * dual) / (1.0 + 2.0 * dual_sum(s, |_| 1.0))
    }

    /// Z, the sum of all e^(-x^2/(2 sigma^2)): as it stands, or by Poisson's formula (the theta
    /// function's identity) sqrt(2 pi sigma^2) times the sum of all e^(-2 pi^2 sigma^2 k^2). A few
    /// terms of either are all there is in a double.
    fn normaliser(&self) -> f64 {
        let s = self.sigma_squared;
        if s <= 1.0 {
            1.0 + 2.0 * small_sum(s, |_| 1.0)
        } else {
            (2.0 * PI * s).sqrt() * (1.0 + 2.0 * dual_sum(s, |_| 1.0))
        }
    }

    /// e^(-y^2/(2 sigma^2)) for a whole y, with what the quotient lost by rounding.
    fn weight(&self, y: f64) -> f64 {
        let (square, doubled) = (y * y, 2.0 * self.sigma_squared);
        let quotient = square / doubled;
        let lost = (-quotient).mul_add(doubled, square) / doubled;
        (-quotient).exp() * (1.0 - lost)
    }

    /// An upper bound of the sum of e^(-x^2/(2 sigma^2)) over x >= `y` >= 0: geometric, as each
    /// step shrinks it by e^(-(2x+1)/(2 sigma^2)) or more, and 1/(1-e^-r) <= 1 + 1/r.
    fn mass_bound(&self, y: f64) -> f64 {
        self.weight(y) * (1.0 + 2.0 * self.sigma_squared / (2.0 * y + 1.0))
    }

    /// The sum over y >= `first` of e^(-(y^2 - first^2)/(2 sigma^2)) factor(y), with factors in
    /// 0 ..= 1, the first above zero; a bound of what is left out at its end is added.
    fn tail_sum(&self, first: f64, factor: impl Fn(f64) -> f64) -> f64 {
        let doubled = 2.0 * self.sigma_squared;
        // Neumaier's sum: ten million terms lose no digit.
        let (mut sum, mut lost) = (0.0f64, 0.0f64);
        let mut step = 0.0;
        loop {
            let y = first + step;
            let weight = (-step * (first + y) / doubled).exp();
            let rest = weight * (1.0 + doubled / (2.0 * y + 1.0));
            if y >= 0.0 && rest <= 1e-17 * sum {
                return sum + (lost + rest);
            }
            let term = weight * factor(y);
            let next = sum + term;
            lost += if sum >= term { (sum - next) + term } else { (term - next) + sum };
            sum = next;
            step += 1.0;
        }
    }
}

/// The sum over k >= 1 of factor(k) e^(-k^2/(2s)), for s <= 1.
fn small_sum(s: f64, factor: impl Fn(f64) -> f64) -> f64 {
    // At s = 1 the eleventh term is 1e-26 of the first, except for factors. The least come first.
    (1..=10).rev().map(f64::from).map(|k| factor(k) * (-k * k / (2.0 * s)).exp()).sum()
}

/// The sum over k >= 1 of factor(k) e^(-2 pi^2 s k^2), for s >= 1: the third term is 1e-69 of the
/// first.
fn dual_sum(s: f64, factor: impl Fn(f64) -> f64) -> f64 {
    (1..=2).rev().map(f64::from).map(|k| factor(k) * (-2.0 * PI * PI * s * k * k).exp()).sum()
}

#[cfg(test)]
mod tests;
