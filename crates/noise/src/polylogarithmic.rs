//! The discrete exponential-polylogarithmic law.

use std::fmt;
use std::sync::OnceLock;

use num_bigint::BigUint;

use crate::generator::Words;
use crate::polylogarithmic_cells::{CellCurve, Cells};
use crate::{Dyadic, EntropyError, Law, ParameterError, WordSource, uniform};

/// The discrete exponential-polylogarithmic law: P\[k\] = e^(-d ln^2(|k|/s + a)) / Z on the
/// integers.
///
/// Its tails are heavier than those of every e^(-|k|^c), and all its moments are finite. With a >=
/// e the exponent is concave in |k|, so that a shift by q changes no probability by more than a
/// factor of e^epsilon with epsilon = d (ln^2(q/s + a) - ln^2 a), which grows with q like d ln^2 q.
///
/// The *shape* d is from 1/4 to 64, the *offset* a from e to 64, the *scale* s from 2^-20 to 2^80;
/// all exact numbers.
///
/// *Source.* Finley et al., "Slowly Scaling Per-Record Differential Privacy" (2024, arXiv
/// 2409.18118), on the integers. Drawn like the discrete Gaussian: a cell of integers by a table of
/// stairs above the curve, one of its integers, and, where the table leaves it open whether that is
/// under the curve, a comparison with an enclosure of the curve (a
/// [`Bracket`](hushtable_numbers::Bracket)) of as many bits as it takes. A draw of -0 is drawn
/// anew. All arithmetic is on integers.
///
/// *Range.* A draw saturates at +-i128::MAX from somewhat below 2^126 on. With all parameters at
/// their worst (d = 1/4, a = 64, s = 2^80) what is there has probability below 2^-300: for y =
/// 2^45.9 it is at most s y e^(-d ln^2 y) / (2d ln y - 1) / Z, and Z is above s e^(-d ln^2 a).
///
/// The table is computed at the first draw, in some milliseconds and up to 400 KiB.
#[derive(Clone)]
pub struct ExponentialPolylogarithmic {
    shape: Dyadic,
    offset: Dyadic,
    scale: Dyadic,
    cells: OnceLock<Cells>,
    /// The sum of all f.
    normaliser: f64,
}

impl PartialEq for ExponentialPolylogarithmic {
    /// Equal parameters make equal tables.
    fn eq(&self, other: &Self) -> bool {
        (self.shape, self.offset, self.scale) == (other.shape, other.offset, other.scale)
    }
}

impl Eq for ExponentialPolylogarithmic {}

impl fmt::Debug for ExponentialPolylogarithmic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ExponentialPolylogarithmic");
        debug.field("shape", &self.shape).field("offset", &self.offset);
        debug.field("scale", &self.scale).finish_non_exhaustive()
    }
}

/// e 2^62, rounded up.
const E: u64 = 0xadf8_5458_a2bb_4a9b;

impl ExponentialPolylogarithmic {
    /// The law with shape d, offset a and scale s.
    ///
    /// # Errors
    /// [`ParameterError::PolylogarithmicOutOfRange`] unless d is in 1/4 ..= 64, a in e ..= 64 and s
    /// in 2^-20 ..= 2^80. (Below e the exponent is not concave near zero.)
    pub fn new(shape: Dyadic, offset: Dyadic, scale: Dyadic) -> Result<Self, ParameterError> {
        let (n, s) = offset.over_power();
        let at_least_e = (BigUint::from(n) << 62u32) >= (BigUint::from(E) << s);
        // Powers of two are exact in doubles, and rounding to them moves nothing across them.
        let inside = (0.25..=64.0).contains(&shape.to_f64())
            && at_least_e
            && offset.to_f64() <= 64.0
            && scale.to_f64() <= 2f64.powi(80);
        if !inside {
            return Err(ParameterError::PolylogarithmicOutOfRange);
        }
        let mut law = Self { shape, offset, scale, cells: OnceLock::new(), normaliser: 1.0 };
        law.normaliser += 2.0 * law.sum(1.0, 0);
        Ok(law)
    }

    /// The shape d.
    pub fn shape(&self) -> Dyadic {
        self.shape
    }

    /// The offset a.
    pub fn offset(&self) -> Dyadic {
        self.offset
    }

    /// The scale s.
    pub fn scale(&self) -> Dyadic {
        self.scale
    }

    fn cells(&self) -> &Cells {
        self.cells.get_or_init(|| Cells::new(CellCurve::new(self.shape, self.offset, self.scale)))
    }

    fn draw<W: Words>(&self, words: &mut W) -> Result<i128, EntropyError> {
        let cells = self.cells();
        loop {
            let locate = |known: &BigUint, bits| cells.curve.locate(known, bits);
            let (negative, share) = cells.shares.draw(words, locate)?;
            let cell = share / 2;
            let magnitude = match cells.span(cell) {
                None => i128::MAX,
                Some((start, count)) => {
                    let offset = if count <= 1 { 0 } else { uniform::below(words, count)? };
                    let k = start + offset;
                    if share % 2 == 1 && !cells.under(words, cell, k)? {
                        continue;
                    }
                    i128::try_from(k).unwrap_or(i128::MAX)
                }
            };
            if !(negative && magnitude == 0) {
                return Ok(if negative { -magnitude } else { magnitude });
            }
        }
    }

    /// f(x) = e^(-d (ln^2(x/s + a) - ln^2 a)).
    fn weight(&self, x: f64) -> f64 {
        let (d, a) = (self.shape.to_f64(), self.offset.to_f64());
        let grown = (x / (self.scale.to_f64() * a)).ln_1p();
        (-d * grown * (grown + 2.0 * a.ln())).exp()
    }

    /// The sum of k^m f(k) over the integers k >= from >= 1.
    fn sum(&self, from: f64, m: i32) -> f64 {
        let (d, a, s) = (self.shape.to_f64(), self.offset.to_f64(), self.scale.to_f64());
        let term = |k: f64| k.powi(m) * self.weight(k);
        let (mut sum, mut k, mut largest) = (0.0, from, 0.0f64);
        // One by one while the curve bends within some tens of integers.
        while k < 3.0 || k + a * s < 50.0 * (3.0 + 2.0 * d * (k / s + a).ln()) {
            let value = term(k);
            largest = largest.max(value);
            sum += value;
            k += 1.0;
            if value <= 1e-18 * largest {
                return sum;
            }
        }
        // Then by the midpoint rule, turned around, with differences for derivatives.
        let slope = term(k) - term(k - 1.0);
        let third = term(k + 1.0) - 3.0 * term(k) + 3.0 * term(k - 1.0) - term(k - 2.0);
        sum + self.integral(k - 0.5, m) + slope / 24.0 - 17.0 / 5760.0 * third
    }

    /// The integral of x^m f(x) over x >= from, by Gauss and Legendre's rule in ln(x/s + a).
    fn integral(&self, from: f64, m: i32) -> f64 {
        const NODES: [(f64, f64); 4] = [
            (0.183_434_642_495_649_8, 0.362_683_783_378_362),
            (0.525_532_409_916_329, 0.313_706_645_877_887_27),
            (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
            (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
        ];
        const PANELS: u32 = 64;
        let (d, a, s) = (self.shape.to_f64(), self.offset.to_f64(), self.scale.to_f64());
        // u = ln(x/s + a) - ln a; dx = s a e^u du.
        let low = (from / (s * a)).ln_1p();
        let value = |u: f64| {
            let x = s * a * u.exp_m1();
            x.powi(m) * (u - d * u * (u + 2.0 * a.ln())).exp()
        };
        // Beyond `high` the exponent is 45 below its highest.
        let peak = low.max((f64::from(1 + m) / (2.0 * d) - a.ln()).max(0.0));
        let fall = (2.0 * d * (peak + a.ln()) - f64::from(1 + m)).max(0.0);
        let high = peak + ((fall * fall + 180.0 * d).sqrt() - fall) / (2.0 * d);
        let half = (high - low) / f64::from(2 * PANELS);
        let panel = |i: u32| {
            let middle = low + half * f64::from(2 * i + 1);
            let node =
                |(x, w): (f64, f64)| w * (value(middle - half * x) + value(middle + half * x));
            NODES.into_iter().map(node).sum::<f64>()
        };
        half * s * a * (0..PANELS).rev().map(panel).sum::<f64>()
    }
}

impl Law for ExponentialPolylogarithmic {
    fn fill_from(&self, source: WordSource<'_>, draws: &mut [i128]) -> Result<(), EntropyError> {
        let words = source.0;
        for draw in draws {
            *draw = self.draw(words)?;
        }
        Ok(())
    }

    /// P\[X = x\]. Relative error below 1e-12 (1 + e) for a value of e^-e.
    fn pmf(&self, x: i128) -> f64 {
        self.weight(x.unsigned_abs() as f64) / self.normaliser
    }

    /// P\[X >= x\]. Relative error below 1e-12 (1 + e) for a value of e^-e.
    fn tail(&self, x: i128) -> f64 {
        if x <= 0 {
            return 1.0 - self.tail(1i128.saturating_sub(x));
        }
        self.sum(x as f64, 0) / self.normaliser
    }

    /// The variance, sum of x^2 P\[X = x\]. Relative error below 1e-12.
    fn variance(&self) -> f64 {
        2.0 * self.sum(1.0, 2) / self.normaliser
    }
}

#[cfg(test)]
mod tests;
