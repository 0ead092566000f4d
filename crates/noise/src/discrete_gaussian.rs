//! The discrete Gaussian law.

use std::f64::consts::{PI, SQRT_2};
use std::fmt;

use crate::curve::{Curve, CurveShape};
use crate::generator::Words;
use crate::stairs::Stairs;
use crate::{Dyadic, EntropyError, Law, WordSource};

/// Cells per standard deviation, at least; the integers themselves where sigma is below this.
const CELLS: u128 = 64;

/// The discrete Gaussian law: P\[x\] = e^(-x^2 / (2 sigma^2)) / Z on the integers.
///
/// The parameter is sigma^2, a little more than the variance, as an exact number: so a double for
/// which the loss was computed is the one that is drawn with. sigma^2 may be from 2^-20 to 2^100,
/// sigma from 2^-10 to 2^50.
///
/// *Source.* Canonne, Kamath & Steinke, "The Discrete Gaussian for Differential Privacy" (2020,
/// arXiv 2004.00010), Definition 1. Drawn in another way than in the paper: |x| = cell * width +
/// position, by a table of stairs above the curve in which a cell is `width` integers wide, and,
/// where the table leaves it open, the trials of Karney, "Sampling exactly from the normal
/// distribution" (2016). A draw of -0 is drawn anew. All arithmetic is on integers.
///
/// The table is computed with the law, in some tens of microseconds and up to 16 KiB.
#[derive(Clone)]
pub struct DiscreteGaussian {
    sigma_squared: Dyadic,
    stairs: Stairs,
    width: u128,
}

impl PartialEq for DiscreteGaussian {
    /// Equal parameters make equal tables.
    fn eq(&self, other: &Self) -> bool {
        self.sigma_squared == other.sigma_squared
    }
}

impl Eq for DiscreteGaussian {}

impl fmt::Debug for DiscreteGaussian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("DiscreteGaussian");
        debug.field("sigma_squared", &self.sigma_squared).finish_non_exhaustive()
    }
}

impl DiscreteGaussian {
    /// The law with this parameter sigma^2.
    pub fn new(sigma_squared: Dyadic) -> Self {
        // A cell is at least sigma / CELLS wide, so that the table is no longer than it has to be.
        let (n, s) = sigma_squared.over_power();
        let width = (n >> s).isqrt() / CELLS + 1;
        // f(i) = e^(-rate i^2), rate = width^2 / (2 sigma^2) = width^2 2^(s-1) / n. Both are below
        // 2^102: width^2 is at most sigma^2 / 2^11, or else width = 1; and 2^(s-1) is at most 2^82.
        let curve = Curve {
            shape: CurveShape::Gaussian,
            numerator: (width * width) << (s - 1),
            denominator: n,
        };
        Self { sigma_squared, stairs: Stairs::new(curve, width == 1), width }
    }

    /// The parameter sigma^2.
    pub fn sigma_squared(&self) -> Dyadic {
        self.sigma_squared
    }

    fn draw<W: Words>(&self, words: &mut W) -> Result<i128, EntropyError> {
        loop {
            let (negative, cell, position) = self.stairs.lattice_point(words, self.width)?;
            let magnitude = u128::from(cell).saturating_mul(self.width).saturating_add(position);
            // Zero has both signs; with both it would be twice as likely.
            if !(negative && magnitude == 0) {
                let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
                return Ok(if negative { -magnitude } else { magnitude });
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-0.5 * x * (x / self.sigma_squared.to_f64())).exp()
    }

    /// Z, the sum of all e^(-x^2/(2s)): as it stands, or by Poisson's formula the root of 2 pi s
    /// times the sum of all e^(-2 pi^2 s k^2). The terms left out are below 1e-30.
    fn normaliser(&self) -> f64 {
        let s = self.sigma_squared.to_f64();
        if s <= 1.0 {
            1.0 + 2.0 * (1..=12).rev().map(|k| self.weight(f64::from(k))).sum::<f64>()
        } else {
            (2.0 * PI * s).sqrt() * (1.0 + 2.0 * (-2.0 * PI * PI * s).exp())
        }
    }
}

impl Law for DiscreteGaussian {
    fn fill_from(&self, source: WordSource<'_>, draws: &mut [i128]) -> Result<(), EntropyError> {
        let words = source.0;
        for draw in draws {
            *draw = self.draw(words)?;
        }
        Ok(())
    }

    /// P\[X = x\]. Relative error below 1e-15 (5 + (x / sigma)^2), as long as the value is above
    /// 1e-300.
    fn pmf(&self, x: i128) -> f64 {
        self.weight(x.unsigned_abs() as f64) / self.normaliser()
    }

    /// P\[X >= x\]. Relative error below 1e-14 (1 + (x / sigma)^2) for 0 < x <= 20 sigma, below
    /// 1e-14 for x <= 0. Takes time in proportion to sigma up to sigma = 4096.
    fn tail(&self, x: i128) -> f64 {
        if x <= 0 {
            return 1.0 - self.tail(1i128.saturating_sub(x));
        }
        let (s, x) = (self.sigma_squared.to_f64(), x as f64);
        if x * x > 1600.0 * s {
            // Below every double.
            return 0.0;
        }
        if s < 16_777_216.0 {
            // Beyond `last` there is e^-40 of the first term. The least come first.
            let last = (x * x + 80.0 * s).sqrt().ceil() as u64;
            let sum: f64 = (x as u64..=last).rev().map(|k| self.weight(k as f64)).sum();
            return sum / self.normaliser();
        }
        // Euler and Maclaurin's sum from midpoints: the integral from x - 1/2, and its first
        // corrections, with derivatives of e^(-y^2/(2s)). The next one is below 1e-15.
        let sigma = s.sqrt();
        let z = (x - 0.5) / sigma;
        let integral = sigma * (PI / 2.0).sqrt() * libm::erfc(z / SQRT_2);
        let density = (-0.5 * z * z).exp();
        let first = -density * z / sigma;
        let third = density * (3.0 * z - z * z * z) / (sigma * s);
        (integral + first / 24.0 - 7.0 / 5760.0 * third) / self.normaliser()
    }

    /// The variance, at most sigma^2. Relative error below 1e-14.
    fn variance(&self) -> f64 {
        let s = self.sigma_squared.to_f64();
        if s <= 1.0 {
            let squares: f64 = (1..=12).rev().map(f64::from).map(|k| k * k * self.weight(k)).sum();
            return 2.0 * squares / self.normaliser();
        }
        // By Poisson's formula, with the Fourier transform of x^2 e^(-x^2/(2s)).
        let rate = 2.0 * PI * PI * s;
        let dual = (-rate).exp();
        s * (1.0 + 2.0 * (1.0 - 2.0 * rate) * dual) / (1.0 + 2.0 * dual)
    }
}

#[cfg(test)]
mod tests;
