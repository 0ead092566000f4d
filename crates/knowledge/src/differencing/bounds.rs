//! Bounds of all blocks' counts, passed on between cells and blocks.

use super::combinations::KnownCount;
use super::{PublishedCount, PublishedTables};
use crate::error::KnowledgeError;

/// Stands for no upper bound; sums stay far from overflow.
pub(super) const NONE: u64 = 1 << 52;

/// Most passes over all sums.
const PASSES: usize = 100;

/// A sum of blocks with bounds.
#[derive(Clone, Debug)]
pub(super) struct BoundedSum {
    pub(super) blocks: Vec<u32>,
    pub(super) count: PublishedCount,
}

/// Bounds that hold in every table that agrees with what is published.
pub(super) struct CountBounds {
    pub(super) blocks: Vec<PublishedCount>,
    /// First the suppressed cells, in their order.
    pub(super) sums: Vec<BoundedSum>,
}

impl CountBounds {
    pub(super) fn new(published: &PublishedTables, known: &[KnownCount]) -> Self {
        let suppressed = published.cells.iter().filter(|cell| !cell.count.is_exact());
        let suppressed =
            suppressed.map(|c| BoundedSum { blocks: c.blocks.clone(), count: c.count });
        // Exact cells are among the known sets.
        let exact = known.iter().map(|set| BoundedSum {
            blocks: set.blocks.clone(),
            count: PublishedCount::exact(set.count),
        });
        let blocks = vec![PublishedCount { low: 0, high: NONE }; published.blocks];
        Self { blocks, sums: suppressed.chain(exact).collect() }
    }

    pub(super) fn block(&self, block: u32) -> PublishedCount {
        self.blocks.get(block as usize).copied().unwrap_or(PublishedCount { low: 0, high: NONE })
    }

    fn total(&self, blocks: &[u32]) -> (u64, u64) {
        let (mut low, mut high) = (0, 0u64);
        for block in blocks {
            let count = self.block(*block);
            low += count.low;
            high = high.saturating_add(count.high).min(NONE);
        }
        (low, high)
    }

    /// Passes bounds on until nothing moves, or [`PASSES`] times.
    ///
    /// # Errors
    /// If no table agrees with what is published.
    pub(super) fn pass_on(&mut self) -> Result<(), KnowledgeError> {
        for _ in 0..PASSES {
            let mut moved = false;
            for index in 0..self.sums.len() {
                moved |= self.pass(index)?;
            }
            if !moved {
                break;
            }
        }
        Ok(())
    }

    fn pass(&mut self, index: usize) -> Result<bool, KnowledgeError> {
        let none = || KnowledgeError::Contradiction { cells: Vec::new() };
        let BoundedSum { blocks, count } = self.sums[index].clone();
        let (low, high) = self.total(&blocks);
        let narrowed = PublishedCount { low: count.low.max(low), high: count.high.min(high) };
        if narrowed.low > narrowed.high {
            return Err(none());
        }
        let mut moved = narrowed != count;
        self.sums[index].count = narrowed;
        let bounded =
            blocks.iter().map(|block| self.block(*block).high).filter(|high| *high < NONE);
        let (bounded, finite) = bounded.fold((0, 0), |(n, sum), high| (n + 1, sum + high));
        let unbounded = blocks.len() - bounded;
        for block in &blocks {
            let now = self.block(*block);
            // The others take their least, or their most; sums are those before this pass, which
            // hold.
            let most = narrowed.high - (low - now.low);
            let others = match (unbounded, now.high >= NONE) {
                (0, _) => finite - now.high,
                (1, true) => finite,
                _ => NONE,
            };
            let next = PublishedCount {
                low: now.low.max(narrowed.low.saturating_sub(others)),
                high: now.high.min(most),
            };
            if next.low > next.high {
                return Err(none());
            }
            if next != now {
                moved = true;
                self.blocks[*block as usize] = next;
            }
        }
        Ok(moved)
    }
}
