//! Published tables of counts, as files: their cells, and the blocks of the population that these
//! do not tell apart.

mod cell_blocks;
mod read;

use hushtable_knowledge::{Differences, KnowledgeError, PublishedCount};
use hushtable_lang::Refusal;

pub use cell_blocks::{BlockCells, divide};
pub use read::read;

/// Tables of counts over the same key columns.
#[derive(Debug)]
pub struct Tables {
    /// Names of the tables.
    pub names: Vec<String>,
    /// All key columns that some table has.
    pub columns: Vec<KeyColumn>,
    /// The cells of all tables.
    pub cells: Vec<TableCell>,
}

/// A key column of any of the tables.
#[derive(Debug)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// All values that some table has.
    pub values: Vec<String>,
}

/// One count of a table, published or suppressed.
#[derive(Clone, Debug)]
pub struct TableCell {
    /// The table, by its place.
    pub table: usize,
    /// By column.
    pub keys: Vec<CellKey>,
    /// The count, or what is known of it.
    pub count: PublishedCount,
}

/// The values of a column that a cell counts. Values by their places, in rising order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CellKey {
    /// Any value: a margin.
    All,
    /// One of these.
    Any(Vec<usize>),
    /// None of these.
    AllBut(Vec<usize>),
}

impl CellKey {
    fn holds(&self, value: usize) -> bool {
        match self {
            Self::All => true,
            Self::Any(values) => values.contains(&value),
            Self::AllBut(values) => !values.contains(&value),
        }
    }
}

impl Tables {
    /// The subject of a cell: `region=north, age=!0-17`, or `all`.
    pub fn describe(&self, keys: &[CellKey]) -> String {
        let said: Vec<String> = self
            .columns
            .iter()
            .zip(keys)
            .filter_map(|(column, key)| Some(format!("{}={}", column.name, column.said(key)?)))
            .collect();
        if said.is_empty() { "all".to_owned() } else { said.join(", ") }
    }
}

impl KeyColumn {
    /// The key as tables write it; `None` for all.
    pub fn said(&self, key: &CellKey) -> Option<String> {
        let joined = |values: &[usize]| {
            let values: Vec<&str> =
                values.iter().filter_map(|v| self.values.get(*v)).map(String::as_str).collect();
            values.join("|")
        };
        match key {
            CellKey::All => None,
            CellKey::Any(values) => Some(joined(values)),
            CellKey::AllBut(values) => Some(format!("!{}", joined(values))),
        }
    }
}

/// Cells that are named where they contradict each other.
const FEW: usize = 6;

/// Computes what differences of the tables reveal about fewer than `k` records.
///
/// # Errors
/// When the tables contradict each other, or the problem is too large.
pub fn differences(
    tables: &Tables,
    divided: &BlockCells,
    k: u64,
    complete: bool,
) -> Result<Differences, Refusal> {
    divided.published.differences(k).map_err(|error| contradiction(&error, tables, complete))
}

fn contradiction(error: &KnowledgeError, tables: &Tables, complete: bool) -> Refusal {
    let mut what = error.to_string();
    if let KnowledgeError::Contradiction { cells } = error {
        let named: Vec<String> = cells
            .iter()
            .take(FEW)
            .filter_map(|cell| tables.cells.get(*cell))
            .map(|cell| format!("{} [{}]", tables.names[cell.table], tables.describe(&cell.keys)))
            .collect();
        if !named.is_empty() {
            let more = if cells.len() > FEW { " and more" } else { "" };
            what = format!("{what}, as {}{more}", named.join(", "));
        }
    }
    let hint = if complete {
        "give tables about the same records, by the same definitions; without --complete there \
         may be values that no table has"
    } else {
        "give tables about the same records, by the same definitions, without noise or rounding"
    };
    Refusal::new(what, hint)
}
