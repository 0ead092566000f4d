//! Differencing: several published tables of counts, and what they reveal together.
//!
//! The people that the tables are about fall into *blocks*, which no published cell tells apart: a
//! cell is a set of blocks, and its count the sum of theirs, which are unknown whole numbers from
//! zero. Two searches (see [`PublishedTables::differences`]):
//!
//! - *Combinations*, a search for sets of blocks that a sum and difference of exact cells leaves:
//!   what a cell has beyond those of another level that it contains, and what cells of a level have
//!   together beyond those that they cover; repeated with the resulting sets, until there is
//!   nothing new.
//! - *Bounds*, for suppressed cells and single blocks: the least and largest count in any table
//!   that agrees with all that is published, first by passing bounds on between cells and blocks
//!   (the shuttle algorithm of Buzzigoli & Giusti 1999), then by linear programming where few
//!   blocks are tied together.
//!
//! A finding holds in every table that agrees with what is published. Finding nothing means
//! something only if the search was complete, and only for these tables.

mod bounds;
mod combinations;
mod programme;

use crate::error::KnowledgeError;
use bounds::CountBounds;
use combinations::Search;

/// A count that is published, or what is published of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedCount {
    /// At least.
    pub low: u64,
    /// At most.
    pub high: u64,
}

impl PublishedCount {
    /// A count that is published exactly.
    pub fn exact(count: u64) -> Self {
        Self { low: count, high: count }
    }

    fn is_exact(self) -> bool {
        self.low == self.high
    }

    fn width(self) -> u64 {
        self.high - self.low
    }
}

/// A cell of a published table.
#[derive(Clone, Debug)]
pub struct PublishedCell {
    /// The blocks whose records it counts, each once, in rising order.
    pub blocks: Vec<u32>,
    /// Its count; suppressed unless it is exact.
    pub count: PublishedCount,
    /// Cells of one level are disjoint, as those of one table are without its margins.
    pub level: usize,
}

/// Published tables.
#[derive(Clone, Debug)]
pub struct PublishedTables {
    blocks: usize,
    cells: Vec<PublishedCell>,
    levels: usize,
}

/// A sum and difference of published cells that is the count of some blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// The cells, by their indices, each with its factor.
    pub terms: Vec<(usize, i64)>,
    /// Whose records it counts.
    pub blocks: Vec<u32>,
    /// How many there are.
    pub count: u64,
}

/// The object of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundedCount {
    /// A suppressed cell, by its index.
    Cell(usize),
    /// A block that no cell shows alone.
    Block(u32),
}

/// Bounds of a count that nobody published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveredCount {
    /// Whose count.
    pub what: BoundedCount,
    /// The bounds: of a block equal to each other, of a suppressed cell closer than as it was
    /// published.
    pub count: PublishedCount,
}

/// The findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Sets of fewer than k records, the smallest first; those of nobody come last.
    pub combinations: Vec<Combination>,
    /// Bounds that do not follow from the combinations, the closest first.
    pub recovered: Vec<RecoveredCount>,
    /// Whether the search for combinations was complete.
    pub all_combined: bool,
    /// Whether the search for bounds was complete.
    pub all_bounded: bool,
}

impl PublishedTables {
    /// Cells over that many blocks.
    ///
    /// # Errors
    /// If a cell has no block, or its blocks do not exist, are not in rising order, or belong to
    /// another cell of its level; or if its least count is above its largest.
    pub fn new(blocks: usize, cells: Vec<PublishedCell>) -> Result<Self, KnowledgeError> {
        let levels = cells.iter().map(|cell| cell.level + 1).max().unwrap_or(0);
        let mut used = std::collections::HashSet::new();
        for (index, cell) in cells.iter().enumerate() {
            let rising = cell.blocks.windows(2).all(|pair| pair[0] < pair[1]);
            let exist = cell.blocks.last().is_some_and(|last| (*last as usize) < blocks);
            let disjoint = cell.blocks.iter().all(|block| used.insert((cell.level, *block)));
            let ordered = cell.count.low <= cell.count.high;
            if !(rising && exist && disjoint && ordered) {
                return Err(KnowledgeError::Cell { index });
            }
        }
        Ok(Self { blocks, cells, levels })
    }

    /// All findings about fewer than `k` records.
    ///
    /// # Errors
    /// If no table agrees with what is published.
    pub fn differences(&self, k: u64) -> Result<Differences, KnowledgeError> {
        let mut search = Search::new(self)?;
        let all_combined = search.run()?;
        let mut bounds = CountBounds::new(self, search.sets());
        bounds.pass_on()?;
        let all_bounded = programme::tighten(self, &mut bounds)?;
        let combinations = search.below(k);
        let known = |blocks: &[u32]| search.knows(blocks);
        let mut recovered = Vec::new();
        let suppressed = self.cells.iter().enumerate().filter(|(_, cell)| !cell.count.is_exact());
        for ((index, cell), sum) in suppressed.zip(&bounds.sums) {
            let count = sum.count;
            if count.width() < cell.count.width() && !known(&cell.blocks) {
                recovered.push(RecoveredCount { what: BoundedCount::Cell(index), count });
            }
        }
        let alone: std::collections::HashSet<u32> = self
            .cells
            .iter()
            .filter(|cell| cell.blocks.len() == 1)
            .map(|cell| cell.blocks[0])
            .collect();
        for block in 0..u32::try_from(self.blocks).unwrap_or(u32::MAX) {
            let count = bounds.block(block);
            if count.is_exact() && count.high < k && !alone.contains(&block) && !known(&[block]) {
                recovered.push(RecoveredCount { what: BoundedCount::Block(block), count });
            }
        }
        recovered.sort_by_key(|r| (r.count.width(), r.count.high == 0, r.count.high));
        Ok(Differences { combinations, recovered, all_combined, all_bounded })
    }
}
