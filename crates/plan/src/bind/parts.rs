//! Statements: private parts, and SQL around them that sees nothing but what they release.
//!
//! A SELECT over protected rows that aggregates them, and whose GROUP BY does not include their
//! unit, is a *part*: its result is a release. Its syntax is taken out of the statement and bound
//! as a query of its own; a name for the released table stays in its place. The rest is the SQL
//! *around*. Each SELECT is of one kind ([`RowsKind`]): it shows rows, or a release. Nothing mixes
//! the two, so what may touch protected rows is never in the SQL around.

mod budget;
mod comparisons;
mod consistent_levels;
mod extract;
mod joined_release;
mod level_shares;
mod levels;
mod looked_up;
mod lookup_groups;
mod lookup_table;
mod named_windows;
mod names_around;
mod open_limits;
mod pivot;
mod private;
mod released;
mod released_joins;
mod settle;
mod splitter;

use std::sync::Arc;

use hushtable_contract::Contract;
use hushtable_lang::sql::QueryOption;
use hushtable_lang::{PreparedPatterns, Refusal, sql};
use serde::Serialize;

use sqlparser::tokenizer::Span;

use self::budget::Paying;
pub(crate) use self::budget::WorkloadShare;
pub use self::consistent_levels::{Consistent, ConsistentLevel, LevelWishes};
pub use self::level_shares::LevelShares;
use self::open_limits::OpenLimits;
pub use self::released::ReleasedValues;
use self::settle::settle;
use self::splitter::{RowsKind, Splitter};
use super::around::{Around, PartTable};
use super::automatic::GIVE_LIMITS;
use super::released_tables::MAX_OUTPUTS;
use super::{ChosenLimits, PrivateQuery, foreign_syntax};

/// Most private parts of one statement.
pub const MAX_PARTS: usize = 50;
/// Most common table expressions in reach of one query.
const MAX_NAMES: usize = 200;

/// A checked statement: private parts, and the SQL around them.
#[derive(Clone, Debug)]
pub struct SqlStatement {
    /// The private parts, each after those whose released values it reads.
    pub parts: Vec<Part>,
    /// The SQL that is computed from their releases; `None` where the answer is the release of the
    /// last part that is no clipping report, or of a workload that of each part.
    pub around: Option<Around>,
    /// Parts that are adjusted to each other before the SQL around reads them.
    pub consistent: Vec<Consistent>,
}

/// One private part of a statement.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// The name of its released table in the SQL around.
    pub name: String,
    /// Its SQL.
    pub sql: String,
    /// Its share of the statement's budget, relative to the others'; `None` where it has a budget
    /// of its own.
    pub weight: Option<u32>,
    /// The released values of earlier parts that it reads, in the order in which
    /// [`ExprKind::Released`](hushtable_lang::ExprKind::Released) counts them.
    pub reads: Vec<ReleasedColumn>,
    /// The query.
    pub query: PrivateQuery,
    /// The parts that it is the clipping report of; empty for other parts.
    pub report_of: Vec<usize>,
    /// The parts from which its limits are chosen: histograms of sizes of its units.
    pub limits_from: Vec<usize>,
    /// Whether limits of another part, or bounds of later questions, are chosen from it.
    pub is_histogram: bool,
    /// The earlier part whose release it reuses in another form, at no cost.
    pub same_as: Option<usize>,
    /// Its clauses with what they are bound over, where some of its limits are to be chosen.
    #[serde(skip)]
    open: Option<Arc<OpenLimits>>,
}

impl Part {
    /// The part as one of a workload, after `before` others: the query of that name, text and
    /// weight, or one that serves it.
    pub(crate) fn in_workload(
        mut self,
        before: usize,
        (name, sql, weight): (&str, &str, u32),
    ) -> Self {
        // No query of a workload has spaces in its name.
        (self.name, self.sql) = match () {
            () if self.is_histogram => {
                (format!("sizes {} of {name}", self.name.trim_start_matches("part_")), self.sql)
            }
            () if !self.report_of.is_empty() => {
                (format!("clipping report of {name}"), format!("the clipping report of {name}"))
            }
            () => (name.to_owned(), sql.to_owned()),
        };
        self.weight = self.is_requested().then_some(weight);
        let others = self.report_of.iter_mut().chain(&mut self.limits_from);
        others.for_each(|other| *other += before);
        self
    }

    /// A histogram that bounds of later questions are chosen from.
    pub(crate) fn of_learning(name: String, sql: String, query: PrivateQuery) -> Self {
        Self { weight: Some(1), is_histogram: true, ..Self::alone(name, sql, query) }
    }

    fn alone(name: String, sql: String, query: PrivateQuery) -> Self {
        Self {
            name,
            sql,
            weight: None,
            reads: Vec::new(),
            query,
            report_of: Vec::new(),
            limits_from: Vec::new(),
            is_histogram: false,
            same_as: None,
            open: None,
        }
    }

    fn has_one_population(&self) -> bool {
        self.query.populations().count() == 1
    }

    /// Whether the statement itself asks for it: it does not serve another part.
    pub fn is_requested(&self) -> bool {
        self.report_of.is_empty() && !self.is_histogram
    }
}

/// A column that a part reads from the release of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReleasedColumn {
    /// The part, by its index in the statement.
    pub part: usize,
    /// The column of its release.
    pub column: usize,
    /// Whether it is the column in all rows; otherwise it is the value in the one row.
    pub all: bool,
}

impl ReleasedColumn {
    /// The number of its values among all that the statement releases.
    fn number(self) -> usize {
        self.part * MAX_OUTPUTS + self.column
    }
}

impl SqlStatement {
    /// Checks a statement against a contract, and splits its budget over its parts.
    ///
    /// # Errors
    /// Whatever is not SQL, not in the contract, not supported or not provably private.
    pub fn bind(text: &str, contract: &Contract) -> Result<Self, Refusal> {
        bind(text, contract, Paying::Statement).map_err(|refusal| refusal.within(text))
    }

    /// A statement of queries that nothing is computed from.
    pub(crate) fn of_parts(parts: Vec<Part>, consistent: Vec<Consistent>) -> Self {
        Self { parts, around: None, consistent }
    }

    /// A part with limits that were chosen privately in place of the examples.
    ///
    /// # Errors
    /// When the query is refused with these limits.
    pub fn with_limits(&self, part: usize, limits: &ChosenLimits) -> Result<PrivateQuery, Refusal> {
        let missing =
            || Refusal::fault("a part whose limits are chosen privately is not in its statement");
        let target = self.parts.get(part).ok_or_else(missing)?;
        let limited = match target.report_of.first() {
            None => target.open.as_ref().ok_or_else(missing)?.query(limits)?,
            // A report has the limits of its part.
            Some(&of) => {
                let of = self.parts.get(of).and_then(|of| of.open.as_ref());
                of.ok_or_else(missing)?.report(limits)?
            }
        };
        // Its price is the one that was charged.
        Ok(limited.at_the_price_of(&target.query))
    }

    /// Whether the statement is one private query that one population pays for.
    pub fn is_plain(&self) -> bool {
        let [part] = self.parts.as_slice() else { return false };
        self.around.is_none() && part.has_one_population()
    }

    /// The one private query that the statement is.
    ///
    /// # Errors
    /// When it has several parts, or SQL around them, or is about rows of two populations.
    pub fn plain(mut self) -> Result<PrivateQuery, Refusal> {
        let parts = self.parts.len();
        let has_limits = self.parts.iter().any(|part| part.is_histogram);
        if !self.is_plain()
            && let ([part], None) = (self.parts.as_slice(), &self.around)
        {
            let populations: Vec<&str> = part.query.populations().collect();
            return Err(Refusal::new(
                format!(
                    "the query is about rows of both `{}`, but this command is for one \
                     population",
                    populations.join("` and `")
                ),
                "use `query` or `explain`, which take it",
            ));
        }
        match (self.parts.pop(), self.around) {
            (Some(part), None) if parts == 1 => Ok(part.query),
            (Some(_), _) if has_limits => Err(Refusal::new(
                "the statement has limits that are chosen privately, but this command is for one \
                 private SELECT",
                format!("{GIVE_LIMITS}; `query`, `explain` and workloads take AUTO"),
            )),
            (Some(Part { report_of, .. }), _) if !report_of.is_empty() => Err(Refusal::new(
                "the statement has a clipping report, but this command is for one private SELECT",
                "leave clipping_report out; `check` shows the owner of the data what is cut \
                 off, for free",
            )),
            (_, around) => Err(Refusal::new(
                match (parts, around) {
                    (1, _) => "the statement has SQL around its private part, but this command \
                               is for one private SELECT"
                        .to_owned(),
                    _ => format!(
                        "the statement has {parts} private parts, but this command is for one \
                         private SELECT"
                    ),
                },
                "give each private part by itself: one SELECT with its GROUP BY, without window \
                 functions and sub-queries over releases; `query` and `explain` take the whole \
                 statement",
            )),
        }
    }
}

/// Checks a query of a workload, which must be one private SELECT, as [`SqlStatement::bind`] does:
/// with its share of the workload's budget, so that it may not name one itself, and with the
/// workload's defaults before the contract's. Gives the query with the histograms that its limits
/// are chosen from before it, and its clipping report after it.
pub(crate) fn bind_part(
    text: &str,
    contract: &Contract,
    share: WorkloadShare<'_>,
) -> Result<Vec<Part>, Refusal> {
    let mut statement = bind(text, contract, Paying::Share(share))?;
    let mut queries = statement.parts.iter().filter(|part| part.is_requested());
    let is_plain = |part: &Part| statement.around.is_none() && part.has_one_population();
    let is_one = queries.next().is_some_and(is_plain) && queries.next().is_none();
    if !is_one {
        // Refused by name.
        statement.parts.retain(Part::is_requested);
        return statement.plain().map(|_| Vec::new());
    }
    Ok(statement.parts)
}

/// Checks a query with other values for some of its options. Owners use it to compare them; the
/// query that is asked and paid for is unchanged.
///
/// # Errors
/// Whatever [`SqlStatement::bind`] refuses, and statements of several parts.
pub fn bind_trial(
    text: &str,
    contract: &Contract,
    options: &[(&str, &str)],
) -> Result<PrivateQuery, Refusal> {
    let option = |&(name, value): &(&str, &str)| QueryOption {
        name: name.to_owned(),
        value: value.to_owned(),
        span: Span::empty(),
    };
    let options: Vec<QueryOption> = options.iter().map(option).collect();
    bind(text, contract, Paying::Trial(&options))?.plain()
}

fn bind(text: &str, contract: &Contract, paying: Paying<'_>) -> Result<SqlStatement, Refusal> {
    PreparedPatterns::default().within(|| bound(text, contract, paying))
}

fn bound(text: &str, contract: &Contract, paying: Paying<'_>) -> Result<SqlStatement, Refusal> {
    let day = sql::today();
    let sql::ParsedQuery { clauses, mut query } =
        sql::parse(text, contract.quoted_names, day.as_deref())?;
    let unread = settle(&mut query)?;
    foreign_syntax::check(&query, contract)?;
    let mut splitter = Splitter::new(contract, &clauses, paying, &query, unread);
    let kind = splitter.whole(&mut query)?;
    let report_span = splitter.clauses.report_span();
    let (drafts, consistent) = splitter.finished()?;
    let (around, used) = match kind {
        RowsKind::Part(last) => (None, vec![last]),
        RowsKind::Rows | RowsKind::Constant | RowsKind::Around => {
            let released = drafts
                .iter()
                .map(|draft| PartTable { columns: draft.columns(), unique: draft.unique() });
            let released: Vec<PartTable> = released.collect();
            let (around, used) = Around::new(&query, &released)?;
            (Some(around), used)
        }
    };
    let parts = budget::shared(drafts, &used, &consistent)?;
    if let Some(span) = report_span
        && parts.iter().all(|part| part.report_of.is_empty())
    {
        return Err(Refusal::new(
            "clipping_report = true needs a limit that cuts something off, but the statement \
             has none",
            "leave it out: apart from noise, the answer is about all rows",
        )
        .at_span(span));
    }
    if parts.is_empty() {
        return Err(Refusal::new(
            "the statement asks nothing of protected tables",
            "SELECT COUNT(*) FROM a table of the contract that has a privacy unit",
        ));
    }
    Ok(SqlStatement { parts, around, consistent })
}
