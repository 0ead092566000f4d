//! One of many shares of [0, 1), from a table of their edges.
//!
//! A uniform deviate U lies in one of the shares. The table's numbers are lower bounds of the edges
//! between them, with a proven error. When the first word of U is so near to an edge that the
//! bounds cannot say on which side U lies, more words of the same U are drawn and compared with
//! edges of more bits, until they can: the law has no error.

use num_bigint::BigUint;

use crate::EntropyError;
use crate::generator::Words;

/// A table of the edges between shares.
#[derive(Debug, Clone)]
pub(crate) struct Shares {
    /// Lower bounds of the edges in units of 2^-64, not falling, the first one 0. Beyond the last
    /// edge are all the shares that are not listed.
    pub(crate) edges: Vec<u64>,
    /// The edges are less than this above their lower bounds, except for the first, which is exact.
    pub(crate) slack: u64,
}

impl Shares {
    /// A sign and a share, chosen with its probability. The first bit drawn is the sign, the others
    /// are U.
    ///
    /// `locate(known, bits)` is the share of all U between `known` and `known + 1` in units of
    /// 2^-bits, if it is one, by edges of as many bits as that takes.
    #[inline]
    pub(crate) fn draw<W: Words>(
        &self,
        words: &mut W,
        locate: impl Fn(&BigUint, u32) -> Option<u64>,
    ) -> Result<(bool, u64), EntropyError> {
        let word = words.word()? << (64 - W::BITS);
        let (negative, known) = (word >> 63 == 1, word << 1);
        let share = match self.find(known, u64::MAX >> (W::BITS - 1)) {
            Some(share) => share,
            None => self.draw_slowly(words, known, locate)?,
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
    fn draw_slowly<W: Words>(
        &self,
        words: &mut W,
        first: u64,
        locate: impl Fn(&BigUint, u32) -> Option<u64>,
    ) -> Result<u64, EntropyError> {
        let mut bits = W::BITS - 1;
        let mut known = BigUint::from(first) >> (64 - bits);
        loop {
            known = known << W::BITS | BigUint::from(words.word()?);
            bits = bits.saturating_add(W::BITS);
            // Words that are shorter than 64 bits, which only tests have, can still be looked up.
            let located = match (64u32.checked_sub(bits), u64::try_from(&known)) {
                (Some(missing), Ok(short)) if !self.edges.is_empty() => {
                    self.find(short << missing, u64::MAX.checked_shr(bits).unwrap_or(0))
                }
                _ => locate(&known, bits),
            };
            if let Some(share) = located {
                return Ok(share);
            }
        }
    }
}
