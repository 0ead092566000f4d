//! Sets of blocks whose counts are sums and differences of exact cells.

use std::collections::HashMap;

use super::{Combination, PublishedTables};
use crate::error::KnowledgeError;

/// Most blocks and terms that are looked at.
const WORK: usize = 30_000_000;

/// A set of blocks whose count is known.
#[derive(Clone, Debug)]
pub(super) struct KnownCount {
    pub(super) blocks: Vec<u32>,
    pub(super) count: u64,
    terms: Vec<(usize, i64)>,
}

/// Disjoint known sets.
struct DisjointSets {
    sets: Vec<usize>,
    /// The index in `sets`, by block.
    of_block: HashMap<u32, usize>,
}

/// All known sets.
pub(super) struct Search {
    sets: Vec<KnownCount>,
    by_blocks: HashMap<Vec<u32>, usize>,
    levels: Vec<DisjointSets>,
    work: usize,
}

impl Search {
    /// With the exact cells.
    ///
    /// # Errors
    /// If two cells of the same blocks have different counts.
    pub(super) fn new(published: &PublishedTables) -> Result<Self, KnowledgeError> {
        let mut search =
            Self { sets: Vec::new(), by_blocks: HashMap::new(), levels: Vec::new(), work: 0 };
        let mut by_level = vec![Vec::new(); published.levels];
        for (index, cell) in published.cells.iter().enumerate() {
            if cell.count.is_exact() {
                let known = KnownCount {
                    blocks: cell.blocks.clone(),
                    count: cell.count.high,
                    terms: vec![(index, 1)],
                };
                let set = search.add(known)?.0;
                by_level[cell.level].push(set);
            }
        }
        for sets in by_level.into_iter().filter(|sets| !sets.is_empty()) {
            search.push(sets);
        }
        Ok(search)
    }

    /// Combines levels until nothing is new, and says whether that was reached.
    ///
    /// # Errors
    /// If no table agrees with the cells.
    pub(super) fn run(&mut self) -> Result<bool, KnowledgeError> {
        let mut old = 0;
        loop {
            let all = self.levels.len();
            for a in 0..all {
                for b in 0..all {
                    if a == b || (a < old && b < old) {
                        continue;
                    }
                    let mut sets = self.beyond(a, b)?;
                    sets.extend(self.covers(a, b)?);
                    self.push_disjoint(sets);
                    if self.work > WORK {
                        return Ok(false);
                    }
                }
            }
            if self.levels.len() == all {
                return Ok(true);
            }
            old = all;
        }
    }

    pub(super) fn sets(&self) -> &[KnownCount] {
        &self.sets
    }

    pub(super) fn knows(&self, blocks: &[u32]) -> bool {
        self.by_blocks.contains_key(blocks)
    }

    /// Sets of fewer than `k` records, without those that only add empty blocks to another set.
    pub(super) fn below(&self, k: u64) -> Vec<Combination> {
        let mut small: Vec<&KnownCount> = self.sets.iter().filter(|set| set.count < k).collect();
        small.sort_by_key(|set| (set.count == 0, set.count, set.blocks.len(), set.terms.len()));
        let mut sets: Vec<&KnownCount> = Vec::new();
        // The sets by their first blocks.
        let mut with: HashMap<u32, Vec<usize>> = HashMap::new();
        for set in small {
            // Of the set that is within this one, some block comes first, and this one has it.
            let within =
                set.blocks.iter().filter_map(|block| with.get(block)).flatten().any(|&other| {
                    sets.get(other).is_some_and(|other: &&KnownCount| {
                        other.count == set.count && is_within(&other.blocks, &set.blocks)
                    })
                });
            if set.count > 0 && within {
                continue;
            }
            if let Some(first) = set.blocks.first() {
                with.entry(*first).or_default().push(sets.len());
            }
            sets.push(set);
        }
        sets.into_iter()
            .map(|set| Combination {
                terms: set.terms.clone(),
                blocks: set.blocks.clone(),
                count: set.count,
            })
            .collect()
    }

    /// The rest of each set of level `a` beyond the sets of level `b` that it contains. Subtracting
    /// fewer of them would leave sets with known counts in the rest.
    fn beyond(&mut self, a: usize, b: usize) -> Result<Vec<usize>, KnowledgeError> {
        let mut rests = Vec::new();
        for index in 0..self.levels[a].sets.len() {
            let whole = self.levels[a].sets[index];
            let rest = self.less_contained(b, &[whole]);
            rests.extend(self.keep(rest)?);
        }
        Ok(rests)
    }

    /// The rest of the sets of level `a` that meet a set of level `b`, beyond the sets of `b` that
    /// they cover, where one alone does not cover it.
    fn covers(&mut self, a: usize, b: usize) -> Result<Vec<usize>, KnowledgeError> {
        let mut rests = Vec::new();
        for index in 0..self.levels[b].sets.len() {
            let covered = self.levels[b].sets[index];
            let blocks = &self.sets[covered].blocks;
            self.work += blocks.len();
            let level = &self.levels[a];
            let over: Option<Vec<usize>> =
                blocks.iter().map(|block| level.of_block.get(block).copied()).collect();
            let Some(mut over) = over else { continue };
            over.sort_unstable();
            over.dedup();
            if over.len() > 1 {
                let over: Vec<usize> = over.iter().map(|&index| level.sets[index]).collect();
                let rest = self.less_contained(b, &over);
                rests.extend(self.keep(rest)?);
            }
        }
        Ok(rests)
    }

    /// Disjoint sets together, without the sets of a level that they contain: blocks, the sum's
    /// terms and the count; `None` if they contain none.
    fn less_contained(&mut self, level: usize, wholes: &[usize]) -> Option<(KnownCount, i128)> {
        let mut hits: HashMap<usize, usize> = HashMap::new();
        let of_block = &self.levels[level].of_block;
        for &whole in wholes {
            let blocks = &self.sets[whole].blocks;
            self.work += blocks.len();
            for index in blocks.iter().filter_map(|block| of_block.get(block)) {
                *hits.entry(*index).or_default() += 1;
            }
        }
        let sets = &self.levels[level].sets;
        let contained = |index: &usize| {
            let set = &self.sets[sets[*index]];
            hits.get(index) == Some(&set.blocks.len()) && !wholes.contains(&sets[*index])
        };
        let mut inner: Vec<usize> = hits.keys().copied().filter(contained).collect();
        if inner.is_empty() {
            return None;
        }
        inner.sort_unstable();
        let mut blocks = Vec::new();
        let mut count = 0;
        let mut terms: HashMap<usize, i64> = HashMap::new();
        for &whole in wholes {
            let set = &self.sets[whole];
            count += i128::from(set.count);
            let left = set.blocks.iter().filter(|block| {
                of_block.get(block).is_none_or(|index| inner.binary_search(index).is_err())
            });
            blocks.extend(left.copied());
            set.terms.iter().for_each(|(cell, factor)| *terms.entry(*cell).or_default() += factor);
        }
        for index in inner {
            let set = &self.sets[sets[index]];
            self.work += set.terms.len();
            count -= i128::from(set.count);
            set.terms.iter().for_each(|(cell, factor)| *terms.entry(*cell).or_default() -= factor);
        }
        blocks.sort_unstable();
        let mut terms: Vec<(usize, i64)> = terms.into_iter().filter(|(_, f)| *f != 0).collect();
        // Added cells come before subtracted ones.
        terms.sort_unstable_by_key(|(cell, factor)| (*factor < 0, *cell));
        Some((KnownCount { blocks, count: 0, terms }, count))
    }

    /// Keeps a new set.
    fn keep(&mut self, rest: Option<(KnownCount, i128)>) -> Result<Option<usize>, KnowledgeError> {
        let Some((mut known, count)) = rest else { return Ok(None) };
        let disagree = || KnowledgeError::Contradiction { cells: cells_of(&known.terms) };
        let count = u64::try_from(count).map_err(|_| disagree())?;
        if known.blocks.is_empty() {
            // All of it is in the cells that are subtracted.
            return if count == 0 { Ok(None) } else { Err(disagree()) };
        }
        known.count = count;
        let (set, new) = self.add(known)?;
        Ok(new.then_some(set))
    }

    /// The set, and whether it is new.
    fn add(&mut self, known: KnownCount) -> Result<(usize, bool), KnowledgeError> {
        if let Some(&before) = self.by_blocks.get(&known.blocks) {
            let other = &self.sets[before];
            if other.count == known.count {
                return Ok((before, false));
            }
            let mut cells = cells_of(&other.terms);
            cells.extend(cells_of(&known.terms));
            cells.sort_unstable();
            cells.dedup();
            return Err(KnowledgeError::Contradiction { cells });
        }
        self.by_blocks.insert(known.blocks.clone(), self.sets.len());
        self.sets.push(known);
        Ok((self.sets.len() - 1, true))
    }

    /// New sets as levels of disjoint ones.
    fn push_disjoint(&mut self, mut sets: Vec<usize>) {
        while !sets.is_empty() {
            let mut covered = std::collections::HashSet::new();
            let (mut level, mut rest) = (Vec::new(), Vec::new());
            for set in sets {
                let blocks = &self.sets[set].blocks;
                self.work += blocks.len();
                if blocks.iter().any(|block| covered.contains(block)) {
                    rest.push(set);
                } else {
                    covered.extend(blocks.iter().copied());
                    level.push(set);
                }
            }
            self.push(level);
            sets = rest;
            if self.work > WORK {
                return;
            }
        }
    }

    fn push(&mut self, sets: Vec<usize>) {
        let of_block = sets.iter().enumerate().flat_map(|(index, &set)| {
            self.sets[set].blocks.iter().map(move |block| (*block, index))
        });
        let of_block = of_block.collect();
        self.levels.push(DisjointSets { sets, of_block });
    }
}

fn cells_of(terms: &[(usize, i64)]) -> Vec<usize> {
    terms.iter().map(|(cell, _)| *cell).collect()
}

/// Whether all blocks of `inner` are in `outer`; both are sorted.
fn is_within(inner: &[u32], outer: &[u32]) -> bool {
    inner.iter().all(|block| outer.binary_search(block).is_ok())
}
