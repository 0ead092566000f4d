//! SQL around private parts: what is computed from their releases.
//!
//! The SQL is walked whole, and built anew from what the walk knows: SELECT, joins, set operations,
//! sub-queries, aggregates and windows, over the parts' released tables and nothing else. Scalar
//! expressions are computed as in private queries, so they are total and mean what they mean there:
//! each is taken out ([`Computed`]) and called as a function. Everything else keeps its meaning in
//! the SQL of the engine that runs it.

mod collective;
mod column_names;
mod expressions;
mod origins;
mod queries;
mod trace;
mod unlinked;

use hushtable_lang::Refusal;
use sqlparser::ast;

use self::column_names::{OutputColumn, OutputColumns};
pub use self::expressions::Computed;
use self::origins::Origins;
pub use self::origins::{Origins as CellOrigins, cell_name};
pub use self::trace::{Traced, TracedExpression};
use super::released_tables::{part_name, part_of};

/// SQL over released tables.
#[derive(Clone, Debug)]
pub struct Around {
    /// The SQL for people.
    pub sql: String,
    /// The names of the columns that it shows.
    pub columns: Vec<String>,
    /// The query as it is run: all names are quoted, in lower case; every order is complete; scalar
    /// expressions are calls of [`Self::computed`], each by its [`Computed::name`].
    pub query: ast::Query,
    /// The scalar expressions.
    pub computed: Vec<Computed>,
    /// How its columns can be followed back to released values. Hidden columns stand behind them.
    pub traced: Vec<Traced>,
}

/// Most columns of all SELECTs and tables of SQL around private parts, when the queries of WITH are
/// written out wherever they are named.
const MAX_COLUMNS: usize = 2_000;
/// The columns that a window counts as: planning many of them takes a time that grows with the
/// square of their number.
const PER_WINDOW: usize = 100;

/// The table that a part releases, as SQL around it sees it.
pub(super) struct PartTable {
    pub(super) columns: Vec<String>,
    /// Whether it has one row at most.
    pub(super) one_row: bool,
}

impl Around {
    /// Checks SQL over released tables, which are given by part, and over those that fit other
    /// levels, by name. Gives the parts that it reads, too.
    ///
    /// # Errors
    /// Names that are not known there.
    pub(super) fn new(
        query: &ast::Query,
        parts: &[PartTable],
        consistent: &[&str],
    ) -> Result<(Self, Vec<usize>), Refusal> {
        let used = vec![false; parts.len()];
        let mut walk = Walk { parts, consistent, used, computed: Vec::new(), columns: 0 };
        let sql = query.to_string();
        let (query, outputs, traced) = walk.outermost(query)?;
        let used = (0..parts.len()).filter(|&part| walk.used[part]).collect();
        let columns = outputs.into_iter().map(|column| column.name).collect();
        let around = Self { sql, columns, query, computed: walk.computed, traced };
        Ok((around, used))
    }

    /// Renumbers the parts: of `all` of them, only those with the names in `left` remain. Tables
    /// that fit other levels follow them, in their order.
    pub(super) fn renumber_parts(&mut self, left: &[&str], all: usize) {
        let index = |part: usize| match part.checked_sub(all) {
            Some(consistent) => Some(left.len() + consistent),
            None => left.iter().position(|name| *name == part_name(part)),
        };
        for Traced { origins, computed } in &mut self.traced {
            let operands = computed.iter_mut().flat_map(|expression| &mut expression.operands);
            for origins in operands.map(|(operand, _)| operand).chain([origins]) {
                let renumbered = |&(part, column): &(usize, usize)| Some((index(part)?, column));
                origins.from = origins.from.iter().filter_map(renumbered).collect();
            }
        }
    }
}

/// The state of a walk.
struct Walk<'a> {
    /// The released tables.
    parts: &'a [PartTable],
    /// The names of tables that fit other levels.
    consistent: &'a [&'a str],
    used: Vec<bool>,
    computed: Vec<Computed>,
    /// The columns of all SELECTs and tables up to here, written out.
    columns: usize,
}

/// A common table expression.
#[derive(Clone)]
struct Named {
    name: String,
    outputs: OutputColumns,
    /// The columns of its SELECTs and tables, written out.
    columns: usize,
    /// Whether it has one row at most.
    one_row: bool,
}

/// The common table expressions in reach, the nearest last.
#[derive(Clone, Default)]
struct Tables(Vec<Named>);

impl Tables {
    fn named(&self, name: &str) -> Option<&Named> {
        self.0.iter().rfind(|table| table.name.eq_ignore_ascii_case(name))
    }
}

impl Walk<'_> {
    /// Counts columns of a SELECT or a table.
    fn has(&mut self, columns: usize) -> Result<(), Refusal> {
        self.columns = self.columns.saturating_add(columns);
        if self.columns <= MAX_COLUMNS {
            return Ok(());
        }
        Err(Refusal::new(
            format!(
                "the SQL around the private parts has more than {MAX_COLUMNS} columns in all its \
                 SELECTs and tables, when the queries of WITH are written out wherever they are \
                 named; a window counts as {PER_WINDOW}"
            ),
            "SELECT only the columns that are needed, not *; name each query of WITH once or twice",
        ))
    }

    /// The columns of a table, and the name that it has when it is run.
    fn table(&mut self, name: &str, tables: &Tables) -> Result<(String, OutputColumns), Refusal> {
        if let Some(named) = tables.named(name) {
            self.has(named.columns.saturating_add(named.outputs.len()))?;
            return Ok((named.name.to_ascii_lowercase(), named.outputs.clone()));
        }
        let part = (0..self.parts.len()).find(|&part| part_name(part) == part_of(name));
        let Some(part) = part else {
            return Err(Refusal::new(
                format!("there is no released table `{name}`"),
                "name a common table expression or a sub-query that aggregates protected rows",
            ));
        };
        self.used[part] = true;
        self.has(self.parts[part].columns.len())?;
        // A level that is adjusted to others has intervals of its own.
        let adjusted = self.consistent.iter().position(|level| *level == name);
        let table = adjusted.map_or(part, |index| self.parts.len() + index);
        let column = |(index, name): (usize, &String)| OutputColumn {
            name: name.clone(),
            origins: Origins::of(table, index),
        };
        let columns = self.parts[part].columns.iter().enumerate();
        Ok((name.to_owned(), columns.map(column).collect()))
    }
}

/// Refuses a form by name.
fn unsupported(form: impl std::fmt::Display, hint: &str) -> Refusal {
    Refusal::new(format!("`{form}` is not supported around private parts"), hint)
}
