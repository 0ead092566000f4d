//! The normal law rounded to the integers.

use std::f64::consts::{PI, SQRT_2};

use crate::generator::Words;
use crate::variates::{NORMAL, Variates};
use crate::{Dyadic, EntropyError, Law, WordSource};

/// A normal deviate of mean 0 and standard deviation sigma, rounded to the nearest integer:
/// P\[x\] = Phi((x + 1/2) / sigma) - Phi((x - 1/2) / sigma).
///
/// *Source.* The normal deviate is exact: a table of stairs above its density, and below its steps
/// the trials of Karney, "Sampling exactly from the normal distribution" (ACM TOMS 42, 2016, arXiv
/// 1303.6257), with 64-bit words for digits. It is rounded by enclosure: bits are drawn until all
/// reals with these leading bits round to the same integer. (A deviate halfway between two integers
/// has probability zero.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundedGaussian {
    sigma: Dyadic,
}

impl RoundedGaussian {
    /// The law with this standard deviation before rounding.
    pub fn new(sigma: Dyadic) -> Self {
        Self { sigma }
    }

    /// The standard deviation before rounding.
    pub fn sigma(&self) -> Dyadic {
        self.sigma
    }

    fn draw<W: Words>(&self, normal: &Variates, words: &mut W) -> Result<i128, EntropyError> {
        let (negative, cell, mut fraction) = normal.draw(words)?;
        // sigma (cell + fraction) / 2^bits + 1/2 = (n (cell + fraction) + 2^(s-1)) / 2^s, where s
        // counts the bits too; as s >= 1, its floor depends on the floor of n (cell + fraction)
        // only.
        let (n, s) = self.sigma.over_power();
        let s = s + normal.bits;
        let half = 1u128 << (s - 1);
        let base = n.saturating_mul(u128::from(cell));
        let magnitude =
            fraction.settle(words, n, base, |product| product.saturating_add(half) >> s)?;
        let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
        // Zero keeps both signs: each stands for one half of its cell.
        Ok(if negative { -magnitude } else { magnitude })
    }

    /// P\[N > y\] for the normal deviate before rounding.
    fn upper(&self, y: f64) -> f64 {
        0.5 * libm::erfc(y / self.sigma.to_f64() / SQRT_2)
    }
}

impl Law for RoundedGaussian {
    /// A draw would saturate at +-i128::MAX beyond 2^20 standard deviations, which cannot be seen.
    fn fill_from(&self, source: WordSource<'_>, draws: &mut [i128]) -> Result<(), EntropyError> {
        let words = source.0;
        let normal = &*NORMAL;
        for draw in draws {
            *draw = self.draw(normal, words)?;
        }
        Ok(())
    }

    /// P\[X = x\]. Relative error below 1e-12 for |x| <= 20 sigma, as long as the value is above
    /// 1e-300.
    fn pmf(&self, x: i128) -> f64 {
        let sigma = self.sigma.to_f64();
        let width = 1.0 / sigma;
        let magnitude = x.unsigned_abs() as f64;
        let z = magnitude * width;
        if width * (z + 1.0) < 0.1 {
            return cell(z, width);
        }
        if x == 0 {
            return libm::erf(0.5 * width / SQRT_2);
        }
        self.upper(magnitude - 0.5) - self.upper(magnitude + 0.5)
    }

    /// P\[X >= x\]. Relative error below 1e-15 (4 + 2 (x / sigma)^2) for x > 0, below 1e-15 for x
    /// <= 0.
    fn tail(&self, x: i128) -> f64 {
        self.upper(x as f64 - 0.5)
    }

    /// The variance after rounding. Relative error below 1e-12.
    ///
    /// For sigma >= 2 it is sigma^2 + 1/12 (Sheppard), up to less than e^-75.
    fn variance(&self) -> f64 {
        let sigma = self.sigma.to_f64();
        if sigma >= 2.0 {
            return sigma * sigma + 1.0 / 12.0;
        }
        // The sum of (2x - 1) P[|X| >= x] over x >= 1. Beyond x = 40 >= 20 sigma nothing is left;
        // the small terms come first.
        (1..=40).rev().map(|x| f64::from(2 * x - 1) * 2.0 * self.tail(i128::from(x))).sum()
    }
}

/// The normal mass of a cell of `width` around `z`, for `width * (z + 1) < 0.1`: the Taylor series
/// of the density, integrated. Its derivatives are Hermite polynomials He_m. The first term left
/// out is below 1e-20 of the sum.
fn cell(z: f64, width: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    let half = width * width / 4.0;
    let (mut before, mut hermite) = (1.0, z);
    let (mut sum, mut factor) = (1.0, 1.0);
    for m in [2.0, 4.0, 6.0, 8.0] {
        // He_m = z He_(m-1) - (m-1) He_(m-2), twice.
        let even = z * hermite - (m - 1.0) * before;
        // The integral of t^m / m! over the cell is width (width/2)^m / (m+1)!.
        factor *= half / (m * (m + 1.0));
        sum += even * factor;
        hermite = z * even - m * hermite;
        before = even;
    }
    density * width * sum
}

#[cfg(test)]
mod tests;
