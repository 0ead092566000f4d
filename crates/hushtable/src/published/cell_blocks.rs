//! The blocks of a population that published cells do not tell apart.

use std::collections::{BTreeSet, HashMap, HashSet};

use hushtable_knowledge::{PublishedCell, PublishedTables};
use hushtable_lang::Refusal;

use super::read::single;
use super::{CellKey, Tables};

/// Combinations of values that are gone through.
const MOST: usize = 4_000_000;

/// Cells over blocks.
#[derive(Debug)]
pub struct BlockCells {
    /// The cells, as sets of blocks.
    pub published: PublishedTables,
    /// By block, the combinations of values that are in it, by their numbers.
    combinations: Vec<Vec<usize>>,
    /// Values of each column, with one more for all others unless there are none.
    sizes: Vec<usize>,
}

/// Goes through all combinations of values. With `complete`, there are none but those that some
/// table has.
///
/// # Errors
/// When there are too many of them, or a cell counts nobody.
pub fn divide(tables: &Tables, complete: bool) -> Result<BlockCells, Refusal> {
    let possible = |values: usize| if complete { values.max(1) } else { values + 1 };
    let sizes: Vec<usize> =
        tables.columns.iter().map(|column| possible(column.values.len())).collect();
    let all = sizes.iter().copied().fold(1usize, usize::saturating_mul);
    if all > MOST {
        return Err(Refusal::new(
            format!("the keys have {all} combinations of values; at most {MOST} are allowed"),
            "give fewer tables at a time, or tables with fewer columns",
        ));
    }
    let index = Index::new(tables);
    let mut blocks: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut combinations: Vec<Vec<usize>> = Vec::new();
    let mut values = vec![0; sizes.len()];
    for number in 0..all {
        let mut rest = number;
        for (value, size) in values.iter_mut().zip(&sizes) {
            *value = rest % size;
            rest /= size;
        }
        let cells = index.cells(tables, &values);
        // No table reveals anything of a combination that no table counts.
        if !cells.is_empty() {
            let block = *blocks.entry(cells).or_insert(combinations.len());
            if block == combinations.len() {
                combinations.push(Vec::new());
            }
            combinations[block].push(number);
        }
    }
    let mut of_cell: Vec<Vec<u32>> = vec![Vec::new(); tables.cells.len()];
    for (cells, block) in &blocks {
        for cell in cells {
            of_cell[*cell as usize].push(u32::try_from(*block).unwrap_or(u32::MAX));
        }
    }
    of_cell.iter_mut().for_each(|blocks| blocks.sort_unstable());
    let levels = index.levels(&of_cell);
    let mut cells = Vec::with_capacity(of_cell.len());
    for ((cell, blocks), level) in tables.cells.iter().zip(of_cell).zip(levels) {
        if blocks.is_empty() {
            return Err(Refusal::new(
                format!(
                    "with --complete, nobody is left for {} [{}] to count",
                    tables.names.get(cell.table).map_or("a table", String::as_str),
                    tables.describe(&cell.keys)
                ),
                "leave --complete out, or list the other values in one of the tables",
            ));
        }
        cells.push(PublishedCell { blocks, count: cell.count, level });
    }
    let published = PublishedTables::new(combinations.len(), cells)
        .map_err(|error| Refusal::new(error.to_string(), "list each cell once in a table"))?;
    Ok(BlockCells { published, combinations, sizes })
}

impl BlockCells {
    /// The values of some blocks, where these are all combinations of some values of each column.
    pub fn keys(&self, tables: &Tables, blocks: &[u32]) -> Option<Vec<CellKey>> {
        let mut values: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.sizes.len()];
        let mut count = 0;
        for number in self.numbers(blocks) {
            count += 1;
            let mut rest = number;
            for (listed, size) in values.iter_mut().zip(&self.sizes) {
                listed.insert(rest % size);
                rest /= size;
            }
        }
        if values.iter().map(BTreeSet::len).fold(1, usize::saturating_mul) != count {
            return None;
        }
        let key = |((listed, size), column): ((&BTreeSet<usize>, &usize), &super::KeyColumn)| {
            if listed.len() == *size {
                return CellKey::All;
            }
            // The value after all others stands for these.
            let named = column.values.len();
            if listed.contains(&named) {
                CellKey::AllBut((0..named).filter(|value| !listed.contains(value)).collect())
            } else {
                CellKey::Any(listed.iter().copied().collect())
            }
        };
        Some(values.iter().zip(&self.sizes).zip(&tables.columns).map(key).collect())
    }

    /// Whether some of the blocks have values that tables name, in all columns.
    pub fn is_named(&self, tables: &Tables, blocks: &[u32]) -> bool {
        self.numbers(blocks).any(|number| {
            let mut rest = number;
            self.sizes.iter().zip(&tables.columns).all(|(size, column)| {
                let value = rest % size;
                rest /= size;
                value < column.values.len()
            })
        })
    }

    fn numbers(&self, blocks: &[u32]) -> impl Iterator<Item = usize> {
        let rows = blocks.iter().filter_map(|block| self.combinations.get(*block as usize));
        rows.flatten().copied()
    }
}

/// The cells of a table that give single values of the same columns.
struct Margin {
    columns: Vec<usize>,
    /// By the values of these.
    cells: HashMap<Vec<usize>, u32>,
}

/// Cells by their values.
struct Index {
    margins: Vec<Margin>,
    /// By cell: its margin; `None` for one that gives several values of a column.
    of_cell: Vec<Option<usize>>,
}

impl Index {
    fn new(tables: &Tables) -> Self {
        let mut margins: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
        let mut index = Self { margins: Vec::new(), of_cell: Vec::new() };
        for (number, cell) in (0u32..).zip(&tables.cells) {
            let Some(single) = single(&cell.keys) else {
                index.of_cell.push(None);
                continue;
            };
            let (columns, values): (Vec<usize>, Vec<usize>) = single.into_iter().unzip();
            let margin = *margins.entry((cell.table, columns.clone())).or_insert_with(|| {
                index.margins.push(Margin { columns, cells: HashMap::new() });
                index.margins.len() - 1
            });
            index.margins[margin].cells.insert(values, number);
            index.of_cell.push(Some(margin));
        }
        index
    }

    /// The cells that count a combination of values.
    fn cells(&self, tables: &Tables, values: &[usize]) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        let mut cell = Vec::new();
        for Margin { columns, cells } in &self.margins {
            cell.clear();
            cell.extend(columns.iter().map(|column| values[*column]));
            found.extend(cells.get(&cell));
        }
        for (number, (cell, margin)) in (0u32..).zip(tables.cells.iter().zip(&self.of_cell)) {
            if margin.is_none() && cell.keys.iter().zip(values).all(|(key, v)| key.holds(*v)) {
                found.push(number);
            }
        }
        found
    }

    /// Levels of disjoint cells: the margins of the tables, and for the others as many as it takes.
    fn levels(&self, blocks: &[Vec<u32>]) -> Vec<usize> {
        let mut others: Vec<HashSet<u32>> = Vec::new();
        let mut levels = Vec::with_capacity(blocks.len());
        for (margin, blocks) in self.of_cell.iter().zip(blocks) {
            levels.push(match margin {
                Some(margin) => *margin,
                None => {
                    let free = |taken: &HashSet<u32>| blocks.iter().all(|p| !taken.contains(p));
                    let level = others.iter().position(free).unwrap_or_else(|| {
                        others.push(HashSet::new());
                        others.len() - 1
                    });
                    others[level].extend(blocks);
                    self.margins.len() + level
                }
            });
        }
        levels
    }
}
