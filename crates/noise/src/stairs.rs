//! Points under a curve, from a table of the stairs above it.
//!
//! Over the cells `[0, 1), [1, 2), ..` lies a falling curve f, and above it stairs: over cell i the tread is
//! as high as f(i), the highest of f there. A uniform deviate U chooses a cell with probability
//! proportional to f(i), and where U lies inside its cell's share is a height. Below f(i + 1) a point is
//! under the curve wherever in the cell it is: nothing more is to be tested. Only in the share between
//! f(i + 1) and f(i) does it depend on the place, and is left to [`Curve::crossing`].
//!
//! So one table of the edges of all these shares is looked up. Its numbers are lower bounds with a
//! proven error. When the first word of U is so near to an edge that the bounds cannot say on which
//! side U lies, more words of the same U are drawn and compared with edges of more bits, until they
//! can: the law has no error.

use num_bigint::BigUint;

use crate::curve::Curve;
use crate::deviate::Deviate;
use crate::generator::Words;
use crate::{EntropyError, uniform};

/// A table of the stairs above a curve.
#[derive(Debug, Clone)]
pub(crate) struct Stairs {
    pub(crate) curve: Curve,
    /// Whether the places are whole numbers, one in each cell: then a point at the height of the tread is
    /// under the curve, and there is nothing between.
    pub(crate) solid: bool,
    /// Lower bounds of the edges between the shares in units of 2^-64, not falling, the first one 0: the
    /// share below f(1) of cell 0, the share between f(1) and f(0) of cell 0, the share below f(2) of cell
    /// 1, and so on. Beyond the last edge are all the cells that are not listed.
    pub(crate) edges: Vec<u64>,
    /// The edges are less than this above their lower bounds, but for the first, which is exact.
    pub(crate) slack: u64,
}

impl Stairs {
    /// A point with density proportional to f: its sign, its cell, and its place in the cell.
    #[inline]
    pub(crate) fn point<W: Words>(
        &self,
        words: &mut W,
    ) -> Result<(bool, u64, Deviate), EntropyError> {
        loop {
            let (negative, share) = self.share(words)?;
            let cell = share / 2;
            let mut place = Deviate::draw(words)?;
            if share % 2 == 0 || place.below(&mut self.curve.crossing(words, cell)?, words)? {
                return Ok((negative, cell, place));
            }
        }
    }

    /// A point whose place in the cell is a whole number j of `width` steps, 1 <= `width` < 2^127, with
    /// probability proportional to f(cell + j / width).
    #[inline]
    pub(crate) fn lattice_point<W: Words>(
        &self,
        words: &mut W,
        width: u128,
    ) -> Result<(bool, u64, u128), EntropyError> {
        loop {
            let (negative, share) = self.share(words)?;
            let cell = share / 2;
            let place = if width == 1 { 0 } else { uniform::below(words, width)? };
            // Under the curve if place / width < t, which is place <= floor(width t).
            if share % 2 == 0
                || self.curve.crossing(words, cell)?.settle(words, width, 0, |t| place <= t)?
            {
                return Ok((negative, cell, place));
            }
        }
    }

    /// A sign and a share, chosen with its probability. The first bit drawn is the sign, the others are U.
    #[inline]
    fn share<W: Words>(&self, words: &mut W) -> Result<(bool, u64), EntropyError> {
        let word = words.word()? << (64 - W::BITS);
        let (negative, known) = (word >> 63 == 1, word << 1);
        let share = match self.find(known, u64::MAX >> (W::BITS - 1)) {
            Some(share) => share,
            None => self.share_slowly(words, known)?,
        };
        Ok((negative, share))
    }

    /// The share of all U whose first 64 bits are between `known` and `known | open`, if it is one.
    #[inline]
    fn find(&self, known: u64, open: u64) -> Option<u64> {
        let above = self.edges.partition_point(|edge| *edge <= known);
        let share = above.checked_sub(1)?;
        let edge = *self.edges.get(share)?;
        let next = *self.edges.get(above)?;
        // U >= known >= edge + slack, which is at or above the true edge; and
        // U < (known | open) + 1 <= next, which is at or below the true one.
        let decided = (share == 0 || known - edge >= self.slack) && known | open < next;
        decided.then_some(share as u64)
    }

    #[cold]
    fn share_slowly<W: Words>(&self, words: &mut W, first: u64) -> Result<u64, EntropyError> {
        let mut bits = W::BITS - 1;
        let mut known = BigUint::from(first) >> (64 - bits);
        loop {
            known = known << W::BITS | BigUint::from(words.word()?);
            bits = bits.saturating_add(W::BITS);
            // Words that are shorter than 64 bits, which only tests have, can still be looked up.
            let found = match (64u32.checked_sub(bits), u64::try_from(&known)) {
                (Some(missing), Ok(short)) if !self.edges.is_empty() => {
                    self.find(short << missing, u64::MAX.checked_shr(bits).unwrap_or(0))
                }
                _ => self.locate(&known, bits),
            };
            if let Some(share) = found {
                return Ok(share);
            }
        }
    }
}

#[cfg(test)]
#[path = "stairs_tests.rs"]
mod tests;
