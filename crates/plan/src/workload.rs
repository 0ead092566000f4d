//! A workload: queries of one table that share one budget, in `workload.toml`.

mod binding;
mod hierarchy;
mod query_names;
mod read;
pub mod summary;

use hushtable_contract::{ContractError, Defaults};
use hushtable_privacy::Loss;

use crate::bind::LevelWishes;

/// Most queries of a workload, expanded.
pub const MAX_QUERIES: usize = 1000;

/// A checked workload, its levels expanded.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The file, as errors name it.
    pub file: String,
    /// The contract, relative to the workload's folder.
    pub contract: String,
    /// The analyst who asks, and pays; `None` for the only one who has a budget on the table.
    pub analyst: Option<String>,
    /// Loss that all queries together may have.
    pub loss: Loss,
    /// Options that queries may leave out, before the contract's; without any budget.
    pub defaults: Defaults,
    /// Whether queries that can lose something have clipping reports, where they do not say.
    pub clipping_report: bool,
    /// Whether the queries are levels that are to fit each other, and if so, how.
    pub consistent: Option<LevelWishes>,
    /// The queries, in the order in which they are answered.
    pub queries: Vec<WorkloadQuery>,
    /// Names that stand for columns in the queries.
    levels: Vec<WorkloadLevel>,
}

/// One query of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadQuery {
    /// Its name, which is that of its result's file, too. Names differ, in any letter case.
    pub name: String,
    /// The query, in SQL; without a budget of its own.
    pub sql: String,
    /// Its share of the budget, relative to the others', from 1 to 1000.
    pub weight: u32,
    /// The line on which it stands in the workload, from 1.
    pub line: usize,
}

/// A name that stands for columns: a query that has it in braces is one query for each.
#[derive(Clone, Debug)]
struct WorkloadLevel {
    name: String,
    /// Names of columns, with their lines.
    columns: Vec<(String, usize)>,
}

impl Workload {
    /// Reads the text of a workload; `file` is its name in errors, and `sql_file` reads the text of
    /// a query that stands in a file of its own.
    ///
    /// # Errors
    /// Whatever is wrong, with its line, value, allowed range and a hint.
    pub fn parse(
        text: &str,
        file: &str,
        sql_file: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, ContractError> {
        read::workload(text, file, sql_file)
    }

    /// An error about a query, with its line and name.
    pub fn error(&self, query: &WorkloadQuery, what: &str, hint: &str) -> ContractError {
        ContractError {
            file: self.file.clone(),
            line: query.line,
            what: format!("query `{}`: {what}", query.name),
            hint: hint.to_owned(),
        }
    }
}
