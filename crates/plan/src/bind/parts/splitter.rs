//! The state of a walk through a statement: the common table expressions in reach, and the private
//! parts that were found.

use std::rc::Rc;
use std::sync::Arc;

use hushtable_contract::{AUTO, Contract};
use hushtable_lang::bind_expr::{ReleasedField, column_placeholder, placeholder};
use hushtable_lang::sql::{PrivacyClause, select_at};
use hushtable_lang::{ColumnType, EarlierRows, Expr, ExprKind, Refusal};
use sqlparser::ast;

use super::budget::{Clauses, DraftPart, PartRole, PartTerms, Paying};
use super::consistent_levels::{Consistent, ConsistentLevel, LevelWishes};
use super::open_limits::OpenLimits;
use super::settle::Unread;
use super::{MAX_PARTS, ReleasedColumn};
use crate::bind::PrivateQuery;
use crate::bind::aliases::RoomForNames;
use crate::bind::automatic::GIVE_LIMITS;
use crate::bind::clauses;
use crate::bind::from::{FromAndWhere, QueryTables};
use crate::bind::released_tables::{MAX_OUTPUTS, consistent_name, part_name};
use crate::bind::syntax::missing;

/// Kind of rows that a query of a statement shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowsKind {
    /// Rows of protected or public tables: only a part may read them.
    Rows,
    /// Constants: it reads no table.
    Constant,
    /// The release of one part, as it is.
    Part(usize),
    /// Something that is computed from releases.
    Around,
}

impl RowsKind {
    /// Whether it is a release, or computed from some.
    pub(super) fn is_release(self) -> bool {
        matches!(self, Self::Part(_) | Self::Around)
    }

    /// Whether FROM joins rows with a release.
    pub(super) fn is_joined_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Rows, other) => other.is_release(),
            (before, Self::Rows) => before.is_release(),
            _ => false,
        }
    }

    /// Kind of a query that reads queries of both kinds.
    ///
    /// # Errors
    /// When one shows rows and the other a release.
    pub(super) fn beside(self, other: Self, context: &str) -> Result<Self, Refusal> {
        match (self, other) {
            (Self::Rows, Self::Rows) => Ok(Self::Rows),
            (Self::Constant, Self::Constant) => Ok(Self::Constant),
            (Self::Rows, _) | (_, Self::Rows) => Err(mixed(context)),
            _ => Ok(Self::Around),
        }
    }
}

/// Rows and releases do not meet.
pub(super) fn mixed(context: &str) -> Refusal {
    Refusal::new(
        format!("{context} puts rows of a table beside released values"),
        "aggregate the rows first, in a sub-query with its own GROUP BY, \
         and join its release; the SQL around private parts sees nothing but what they release",
    )
}

/// The common table expressions that a query may name, the nearest last.
#[derive(Clone, Default)]
pub(super) struct CteNames {
    pub(super) kinds: Vec<(String, RowsKind)>,
    /// The expressions that show rows.
    pub(super) rows: Vec<Rc<ast::Cte>>,
}

impl CteNames {
    pub(super) fn kind(&self, name: &str) -> Option<RowsKind> {
        let is_named = |(cte_name, _): &&(String, RowsKind)| cte_name.eq_ignore_ascii_case(name);
        self.kinds.iter().rfind(is_named).map(|(_, kind)| *kind)
    }

    /// The tables that a query over rows may name.
    pub(super) fn tables<'a>(&'a self, contract: &'a Contract) -> QueryTables<'a> {
        QueryTables::naming(contract, self.rows.iter().map(Rc::as_ref).collect())
    }

    /// SQL with the common table expressions that it names.
    pub(super) fn complete(&self, sql: String) -> String {
        let (mut named, mut text) = (Vec::new(), sql.to_ascii_lowercase());
        for cte in self.rows.iter().rev() {
            if text.contains(&cte.alias.name.value.to_ascii_lowercase()) {
                let cte_sql = cte.to_string();
                text.push_str(&cte_sql.to_ascii_lowercase());
                named.push(cte_sql);
            }
        }
        named.reverse();
        if named.is_empty() { sql } else { format!("WITH {} {sql}", named.join(", ")) }
    }
}

/// The state of a walk through a statement.
pub(super) struct Splitter<'a> {
    pub(super) contract: &'a Contract,
    pub(super) clauses: Clauses<'a>,
    pub(super) drafts: Vec<DraftPart>,
    /// The levels that are to fit each other.
    consistent: Vec<Consistent>,
    /// How often a part was bound; some were the same.
    bound: usize,
    /// Common table expressions that nothing reads.
    pub(super) unread: Vec<String>,
    pub(super) room_for_names: RoomForNames,
}

impl<'a> Splitter<'a> {
    pub(super) fn new(
        contract: &'a Contract,
        clauses: &'a [PrivacyClause],
        paying: Paying<'a>,
        query: &ast::Query,
        Unread { names, selects }: Unread,
    ) -> Self {
        let outermost = match query.body.as_ref() {
            ast::SetExpr::Select(select) => Some(select_at(select)),
            _ => None,
        };
        Self {
            contract,
            clauses: Clauses::new(clauses, outermost, paying, &selects),
            drafts: Vec::new(),
            consistent: Vec::new(),
            bound: 0,
            unread: names,
            room_for_names: RoomForNames::default(),
        }
    }

    /// All parts, and which of them are to fit each other, when the whole statement is walked.
    pub(super) fn finished(self) -> Result<(Vec<DraftPart>, Vec<Consistent>), Refusal> {
        self.clauses.check()?;
        Ok((self.drafts, self.consistent))
    }

    /// Has a part's level fit the others of its SELECT, the last one. Gives the name of its table
    /// then.
    pub(super) fn fits(&mut self, part: usize, keys: &[usize]) -> Result<String, Refusal> {
        let draft = self.drafts.get(part).ok_or_else(missing)?;
        if draft.query.keys.len() != keys.len() {
            return Err(missing());
        }
        if draft.open.is_some() {
            // Each level would cut off other rows, so that they would not add up.
            return Err(Refusal::new(
                format!(
                    "levels that fit each other with limits that are chosen ({AUTO}) are not \
                     supported"
                ),
                format!("leave consistent out, or {GIVE_LIMITS}"),
            ));
        }
        let select = self.consistent.len();
        let table = consistent_name(&draft.name, select);
        let level =
            ConsistentLevel { part: draft.name.clone(), table: table.clone(), keys: keys.to_vec() };
        let last = self.consistent.last_mut().ok_or_else(missing)?;
        if !last.levels.contains(&level) {
            last.levels.push(level);
        }
        Ok(table)
    }

    /// Begins a SELECT whose levels are to fit each other.
    pub(super) fn begin_consistent(&mut self, fitting: LevelWishes) {
        self.consistent.push(Consistent { levels: Vec::new(), fitting });
    }

    /// Binds a part; the same question at the same terms is one part.
    pub(super) fn part(
        &mut self,
        sql: String,
        query: &ast::Query,
        selected: FromAndWhere,
        role: PartRole,
    ) -> Result<usize, Refusal> {
        let select = clauses::check(query)?;
        self.bound += 1;
        if self.bound > MAX_PARTS {
            return Err(Refusal::new(
                format!("the statement has more than {MAX_PARTS} private parts"),
                "write several statements: each part has a share of the budget",
            ));
        }
        let (view, conditions) = clauses::view(selected, self.contract)?;
        let PartTerms { pot, weight, options } =
            self.clauses.terms(select_at(select), role, &view)?;
        let bound = clauses::bind(query, select, &view, conditions.clone(), &options)?;
        let (bound, reads) = bound.numbered()?;
        let wants_report = !role.is_other && self.clauses.clipping_report(select_at(select))?;
        bound.check_automatic()?;
        let histograms = bound.histograms()?;
        let whole = options.loss;
        let open = (!bound.automatic.is_none())
            .then(|| Arc::new(OpenLimits::new(query, (view, conditions), options, &bound)));
        let sql = self.readable(sql);
        let draft = DraftPart {
            name: String::new(),
            sql,
            query: bound,
            reads,
            pot,
            weight,
            whole,
            report_of: Vec::new(),
            limits_from: Vec::new(),
            is_histogram: false,
            open,
        };
        if let Some(part) = self.drafts.iter().position(|earlier| earlier.same_as(&draft)) {
            if wants_report {
                self.report(part)?;
            }
            return Ok(part);
        }
        // Its limits are chosen from what is released before it.
        let limits_from = histograms.into_iter().map(|query| self.histogram(query, &draft));
        let limits_from = limits_from.collect();
        let part = self.drafts.len();
        self.drafts.push(DraftPart { name: part_name(part), limits_from, ..draft });
        if wants_report {
            self.report(part)?;
        }
        Ok(part)
    }

    /// Adds a histogram from which a limit of a part is chosen. Limits on the same rows have one.
    fn histogram(&mut self, query: PrivateQuery, of: &DraftPart) -> usize {
        let same = |other: &DraftPart| {
            other.is_histogram
                && other.query == query
                && other.reads == of.reads
                && other.pot == of.pot
        };
        if let Some(existing) = self.drafts.iter().position(same) {
            return existing;
        }
        let sql = "sizes of units, from which limits are chosen".to_owned();
        let draft = of.beside(part_name(self.drafts.len()), sql, query);
        self.drafts.push(DraftPart { is_histogram: true, ..draft });
        self.drafts.len() - 1
    }

    /// Adds the clipping report of a part, where its limits can cut anything off. Parts with the
    /// same limits on the same rows have one.
    fn report(&mut self, of: usize) -> Result<(), Refusal> {
        let part = self.drafts.get(of).ok_or_else(missing)?;
        let report = part.query.clipping_report().map_err(|refusal| {
            let what =
                format!("the clipping report of this SELECT is not possible: {}", refusal.what);
            Refusal::new(what, "use fewer aggregates, or two SELECTs with a part of them each")
        });
        let Some(query) = report? else { return Ok(()) };
        let sql = format!("the clipping report of {}", part.name);
        let mut draft = part.beside(part_name(self.drafts.len()), sql, query);
        if !draft.query.automatic.is_none() {
            // Its limits are those of its part, whatever they are: it is of no other part.
            draft.limits_from.clone_from(&part.limits_from);
            draft.report_of.push(of);
            if !self.drafts.iter().any(|other| other.report_of == draft.report_of) {
                self.drafts.push(draft);
            }
            return Ok(());
        }
        let question_of = |other: &DraftPart| {
            (other.reads == draft.reads && other.pot == draft.pot).then(|| other.query.unnamed())
        };
        let unnamed = draft.query.unnamed();
        if let Some(existing) = self.drafts.iter_mut().find(|existing| {
            !existing.report_of.is_empty() && question_of(existing).as_ref() == Some(&unnamed)
        }) {
            if !existing.report_of.contains(&of) {
                existing.report_of.push(of);
            }
            return Ok(());
        }
        self.drafts.push(DraftPart { report_of: vec![of], ..draft });
        Ok(())
    }

    /// SQL with the names of parts in the place of placeholders.
    fn readable(&self, mut sql: String) -> String {
        for (part, draft) in self.drafts.iter().enumerate().rev() {
            for (column, output) in draft.query.outputs.iter().enumerate() {
                let read = ReleasedColumn { part, column, all: false };
                let text = placeholder(read.number(), output.expr.column_type).to_string();
                if sql.contains(&text) {
                    sql = sql.replace(&text, &format!("({}.{})", draft.name, output.name));
                }
                let of_row =
                    ReleasedField { number: read.number(), column_type: output.expr.column_type };
                let text = of_row.placeholder().to_string();
                if sql.contains(&text) {
                    sql = sql.replace(&text, &format!("{}.{}", draft.name, output.name));
                }
                let text = column_placeholder(read.number(), output.expr.column_type).to_string();
                if sql.contains(&text) {
                    let of_all = format!("SELECT {} FROM {}", output.name, draft.name);
                    sql = sql.replace(&text, &of_all);
                }
            }
        }
        sql
    }

    /// Whether rows are not among those that a part shows in these columns.
    pub(super) fn not_among(
        &self,
        part: usize,
        columns: &[String],
        keys: &[Expr],
    ) -> Result<Expr, Refusal> {
        let outputs = self.drafts.get(part).ok_or_else(missing)?.query.outputs();
        let index = |name: &String| outputs.iter().position(|output| output.name == *name);
        let numbers = columns.iter().map(|name| Some(part * MAX_OUTPUTS + index(name)?));
        let numbers = numbers.collect::<Option<Vec<_>>>().ok_or_else(missing)?;
        let among = ExprKind::Among(keys.to_vec(), EarlierRows::Released(numbers));
        let among = Expr::new(among, ColumnType::Bool);
        Ok(Expr::new(ExprKind::Not(Box::new(among)), ColumnType::Bool))
    }

    pub(super) fn name_of(&self, part: usize) -> Result<String, Refusal> {
        Ok(self.drafts.get(part).ok_or_else(missing)?.name.clone())
    }
}
