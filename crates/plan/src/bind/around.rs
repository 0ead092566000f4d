//! SQL around private parts: what is computed from their releases.
//!
//! It is bound to a tree of relational nodes over the parts' released tables and nothing else
//! ([`Node`]): names are columns, scalar expressions are those of private queries, so they are
//! total and mean what they mean there, and where the values of a column come from is a property of
//! its expression ([`ColumnTrace`]).

mod collective;
mod correlation;
mod expressions;
mod from_clause;
mod provenance;
mod queries;
mod scope;
pub mod tree;
mod unique;
mod unlinked;

use hushtable_lang::{ColumnType, Expr, Refusal};
use sqlparser::ast;

pub use self::provenance::{ColumnTrace, Origins, TracedExpression};
use self::queries::OutputColumns;
use self::scope::OutputColumn;
use self::tree::Node;
use super::aliases::RoomForNames;
use super::released_tables::{part_name, part_of};

/// SQL over released tables.
#[derive(Clone, Debug)]
pub struct Around {
    /// The SQL for people.
    pub sql: String,
    /// The names of the columns that it shows.
    pub columns: Vec<String>,
    /// The names of the released tables that it reads.
    pub tables: Vec<String>,
    /// The query.
    pub node: Node,
    /// How its columns can be followed back to released values.
    pub traced: Vec<ColumnTrace>,
}

/// Most columns of all SELECTs, tables and joins of SQL around private parts, when the queries of
/// WITH are written out wherever they are named. Each join of a chain has the columns of all tables
/// before it, since planning a chain takes a time that grows faster than its length.
const MAX_COLUMNS: usize = 2_000;
/// The columns that a window counts as: planning many of them takes a time that grows with the
/// square of their number.
const PER_WINDOW: usize = 100;

/// The table that a part releases, as SQL around it sees it.
pub(super) struct PartTable {
    pub(super) columns: Vec<(String, ColumnType)>,
    /// Columns whose values no two of its rows share: none where it has one row at most.
    pub(super) unique: Option<Vec<usize>>,
}

impl Around {
    /// Binds SQL over released tables, which are given by part. Gives the parts that it reads, too.
    ///
    /// # Errors
    /// Names that are not known there, and what cannot be computed.
    pub(super) fn new(
        query: &ast::Query,
        parts: &[PartTable],
    ) -> Result<(Self, Vec<usize>), Refusal> {
        let mut walk = TreeWalk {
            parts,
            tables: Vec::new(),
            computed: Vec::new(),
            columns: 0,
            room_for_names: RoomForNames::default(),
        };
        let (node, outputs) = walk.ordered_query(query, &NamedTables::default(), None, true)?;
        let used = |part: &usize| walk.tables.iter().any(|name| part_of(name) == part_name(*part));
        let used = (0..parts.len()).filter(used).collect();
        let columns = outputs.into_iter().map(|column| column.name).collect();
        let (sql, traced) = (query.to_string(), node.traced());
        Ok((Self { sql, columns, tables: walk.tables, node, traced }, used))
    }
}

/// The state of a walk.
struct TreeWalk<'a> {
    /// The released tables of all parts.
    parts: &'a [PartTable],
    /// The names of the tables that were read.
    tables: Vec<String>,
    /// The scalar expressions, each once.
    computed: Vec<Expr>,
    /// The columns of all SELECTs, tables and joins up to here, written out.
    columns: usize,
    room_for_names: RoomForNames,
}

/// A common table expression.
#[derive(Clone)]
struct NamedQuery {
    name: String,
    node: Node,
    outputs: OutputColumns,
    /// The columns of its SELECTs, tables and joins, written out.
    columns: usize,
}

/// The common table expressions in reach, the nearest last.
#[derive(Clone, Default)]
struct NamedTables(Vec<NamedQuery>);

impl TreeWalk<'_> {
    /// Counts columns of a SELECT, a table or a join.
    fn has(&mut self, columns: usize) -> Result<(), Refusal> {
        self.columns = self.columns.saturating_add(columns);
        if self.columns <= MAX_COLUMNS {
            return Ok(());
        }
        Err(Refusal::new(
            format!(
                "the SQL around the private parts has more than {MAX_COLUMNS} columns in all its \
                 SELECTs, tables and joins, when the queries of WITH are written out wherever \
                 they are named; a window counts as {PER_WINDOW}"
            ),
            "SELECT only the columns that are needed, not *; name each query of WITH once or \
             twice; a join has the columns of all tables up to it",
        ))
    }

    /// A table of that name, and its columns.
    fn table(
        &mut self,
        name: &str,
        tables: &NamedTables,
    ) -> Result<(Node, OutputColumns), Refusal> {
        let named = tables.0.iter().rfind(|table| table.name.eq_ignore_ascii_case(name));
        if let Some(named) = named {
            self.has(named.columns.saturating_add(named.outputs.len()))?;
            return Ok((named.node.clone(), named.outputs.clone()));
        }
        let part = (0..self.parts.len()).find(|&part| part_name(part) == part_of(name));
        let Some(PartTable { columns, unique }) = part.and_then(|part| self.parts.get(part)) else {
            return Err(Refusal::new(
                format!("there is no released table `{name}`"),
                "name a common table expression or a sub-query that aggregates protected rows",
            ));
        };
        self.has(columns.len())?;
        let table = self.tables.iter().position(|table| table == name).unwrap_or_else(|| {
            self.tables.push(name.to_owned());
            self.tables.len() - 1
        });
        let output = |(name, column_type): &(String, ColumnType)| OutputColumn {
            name: name.clone(),
            column_type: *column_type,
            is_null: false,
        };
        let outputs = columns.iter().map(output).collect();
        let columns = columns.iter().map(|(_, column_type)| *column_type).collect();
        Ok((Node::Released { table, columns, unique: unique.clone() }, outputs))
    }
}

/// Refuses a form by name.
fn unsupported(form: impl std::fmt::Display, hint: &str) -> Refusal {
    Refusal::new(format!("`{form}` is not supported around private parts"), hint)
}
