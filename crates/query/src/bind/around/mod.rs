//! SQL around private parts: what is computed from their releases.
//!
//! The SQL is walked whole, and built anew from what the walk knows: SELECT, joins, set operations,
//! sub-queries, aggregates and windows, over the parts' released tables and nothing else. Scalar
//! expressions are computed as in private queries, so they are total and mean what they mean there:
//! each is taken out ([`Computed`]) and called as a function. Everything else keeps its meaning in
//! the SQL of the engine that runs it.

mod column_names;
mod expressions;
mod queries;

use sqlparser::ast;

pub use self::expressions::Computed;
pub(super) use self::expressions::{call, ordered};
use crate::bind::parts::part_name;
use crate::error::Refusal;

/// SQL over released tables.
#[derive(Clone, Debug)]
pub struct Around {
    /// As people read it.
    pub sql: String,
    /// The names of the columns that it shows.
    pub columns: Vec<String>,
    /// As it is run: all names are quoted, in lower case; every order is complete; scalar expressions
    /// are calls of [`Self::computed`], each by its [`Computed::name`].
    pub query: ast::Query,
    /// The scalar expressions.
    pub computed: Vec<Computed>,
}

impl Around {
    /// Checks SQL over released tables, whose columns are given by part. Gives the parts that it
    /// reads, too.
    ///
    /// # Errors
    /// What is not known there, by name.
    pub(super) fn new(
        query: &ast::Query,
        parts: &[Vec<String>],
    ) -> Result<(Self, Vec<usize>), Refusal> {
        let mut walk = Walk { parts, used: vec![false; parts.len()], computed: Vec::new() };
        let sql = query.to_string();
        let (query, shown) = walk.query(query, &Tables::default(), None, true)?;
        let used = (0..parts.len()).filter(|&part| walk.used[part]).collect();
        let around = Self { sql, columns: shown, query, computed: walk.computed };
        Ok((around, used))
    }
}

/// The state of a walk.
struct Walk<'a> {
    /// Columns of the released tables.
    parts: &'a [Vec<String>],
    used: Vec<bool>,
    computed: Vec<Computed>,
}

/// The common table expressions in reach, the nearest last, with their columns.
#[derive(Clone, Default)]
struct Tables(Vec<(String, Vec<String>)>);

impl Walk<'_> {
    /// The columns of a table, and the name that it has when it is run.
    fn table(&mut self, name: &str, tables: &Tables) -> Result<(String, Vec<String>), Refusal> {
        let own = |(own, _): &&(String, Vec<String>)| own.eq_ignore_ascii_case(name);
        if let Some((own, columns)) = tables.0.iter().rfind(own) {
            return Ok((own.to_ascii_lowercase(), columns.clone()));
        }
        let part = (0..self.parts.len()).find(|&part| part_name(part) == name);
        let Some(part) = part else {
            return Err(Refusal::new(
                format!("there is no released table `{name}`"),
                "a common table expression or a sub-query that aggregates protected rows",
            ));
        };
        self.used[part] = true;
        Ok((name.to_owned(), self.parts[part].clone()))
    }
}

/// Refuses a form by name.
fn unsupported(form: impl std::fmt::Display, hint: &str) -> Refusal {
    Refusal::new(format!("`{form}` is not supported around private parts"), hint)
}
