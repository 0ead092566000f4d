//! Continuous variates of scale 1, drawn bit by bit as far as needed.

use std::sync::LazyLock;

use crate::EntropyError;
use crate::curve::{Curve, CurveShape};
use crate::deviate::Deviate;
use crate::generator::Words;
use crate::stairs::Stairs;

/// Cells per unit, as powers of two. More cells make larger tables, and rarer tests of the
/// position: one in 2^bits draws of the exponential law, one in 2^bits / 0.8 of the normal one.
const EXPONENTIAL_BITS: u32 = 5;
const NORMAL_BITS: u32 = 6;

/// A symmetric law on the reals, drawn as sign, cell and fraction: the number is
/// +-(cell + fraction) / 2^bits.
#[derive(Debug)]
pub(crate) struct Variates {
    stairs: Stairs,
    pub(crate) bits: u32,
}

impl Variates {
    /// Density e^-|x| / 2, with 2^bits cells per unit; `bits` <= 30.
    pub(crate) fn exponential(bits: u32) -> Self {
        let curve = Curve { shape: CurveShape::Exponential, numerator: 1, denominator: 1 << bits };
        Self { stairs: Stairs::new(curve, false), bits }
    }

    /// The standard normal law, with 2^bits cells per unit; `bits` <= 30.
    pub(crate) fn normal(bits: u32) -> Self {
        let denominator = 1 << (2 * bits + 1);
        let curve = Curve { shape: CurveShape::Gaussian, numerator: 1, denominator };
        Self { stairs: Stairs::new(curve, false), bits }
    }

    /// One draw.
    #[inline]
    pub(crate) fn draw<W: Words>(
        &self,
        words: &mut W,
    ) -> Result<(bool, u64, Deviate), EntropyError> {
        self.stairs.point(words)
    }
}

/// The exponential law that samplers use, built at the first draw.
pub(crate) static EXPONENTIAL: LazyLock<Variates> =
    LazyLock::new(|| Variates::exponential(EXPONENTIAL_BITS));

/// The normal law that samplers use, built at the first draw.
pub(crate) static NORMAL: LazyLock<Variates> = LazyLock::new(|| Variates::normal(NORMAL_BITS));
