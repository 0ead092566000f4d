//! Points under a curve, from a table of the stairs above it.
//!
//! Over the cells `[0, 1), [1, 2), ..` lies a falling curve f, and above it stairs: over cell i the
//! tread is as high as f(i), the highest of f there. A uniform deviate U chooses a cell with
//! probability proportional to f(i), and where U lies inside its cell's share is a height. Below
//! f(i + 1) a point is under the curve wherever in the cell it is: nothing more is to be tested.
//! Only in the share between f(i + 1) and f(i) does it depend on the position, and is left to
//! [`Curve::crossing`].
//!
//! So one table of the edges of all these shares is looked up ([`Shares`]).

use crate::curve::Curve;
use crate::deviate::Deviate;
use crate::generator::Words;
use crate::shares::Shares;
use crate::{EntropyError, uniform};

/// A table of the stairs above a curve.
#[derive(Debug, Clone)]
pub(crate) struct Stairs {
    pub(crate) curve: Curve,
    /// Whether the positions are whole numbers, one in each cell: then a point at the height of the
    /// tread is under the curve, and there is nothing between.
    pub(crate) solid: bool,
    /// The share below f(1) of cell 0, the share between f(1) and f(0) of cell 0, the share below
    /// f(2) of cell 1, and so on. Beyond the last edge are all the cells that are not listed.
    pub(crate) shares: Shares,
}

impl Stairs {
    /// A point with density proportional to f: its sign, its cell, and its position in the cell.
    #[inline]
    pub(crate) fn point<W: Words>(
        &self,
        words: &mut W,
    ) -> Result<(bool, u64, Deviate), EntropyError> {
        loop {
            let (negative, share) = self.share(words)?;
            let cell = share / 2;
            let mut position = Deviate::draw(words)?;
            if share % 2 == 0 || position.below(&mut self.curve.crossing(words, cell)?, words)? {
                return Ok((negative, cell, position));
            }
        }
    }

    /// A point whose position in the cell is a whole number j of `width` steps, 1 <= `width` <
    /// 2^127, with probability proportional to f(cell + j / width).
    #[inline]
    pub(crate) fn lattice_point<W: Words>(
        &self,
        words: &mut W,
        width: u128,
    ) -> Result<(bool, u64, u128), EntropyError> {
        loop {
            let (negative, share) = self.share(words)?;
            let cell = share / 2;
            let position = if width == 1 { 0 } else { uniform::below(words, width)? };
            // Under the curve if position / width < t, which is position <= floor(width t).
            if share % 2 == 0
                || self.curve.crossing(words, cell)?.settle(words, width, 0, |t| position <= t)?
            {
                return Ok((negative, cell, position));
            }
        }
    }

    /// A sign and a share, chosen with its probability.
    #[inline]
    fn share<W: Words>(&self, words: &mut W) -> Result<(bool, u64), EntropyError> {
        self.shares.draw(words, |known, bits| self.locate(known, bits))
    }
}

#[cfg(test)]
mod tests;
