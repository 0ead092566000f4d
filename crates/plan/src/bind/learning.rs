//! Bounds of columns that are learnt once: by a question of its own, whose release later questions
//! take them from.
//!
//! Of each column the question releases how many units there are by their largest value of a row,
//! as `bounds = AUTO` does for the mean of the column within one statement. Each unit has one
//! largest value, and so is in one group. Later questions are bound with what follows from the
//! release, as if their author had written it.
//!
//! *Privacy.* The question is charged like any other. Bounds are computed from releases on record
//! of the analyst who asks, and of nobody else: they are constants of the question that is bound
//! with them, which is charged for itself. This is adaptive composition. No answer rests on their
//! being true: rows are clamped to them.

use hushtable_contract::{AUTO, Column, Contract, LearntBounds, Table};
use hushtable_lang::sql::QueryOption;
use hushtable_lang::{Expr, PreparedPatterns, Refusal, did_you_mean, similar};
use hushtable_numbers::{MAX_LATTICE, Number};
use hushtable_privacy::Loss;
use sqlparser::ast;
use sqlparser::tokenizer::Span;

use super::PrivateQuery;
use super::clauses;
use super::collected::Aggregates;
use super::from::QueryTables;
use super::options::Options;
use super::parts::{MAX_PARTS, Part, SqlStatement};
use super::syntax::{call, from_table, missing, query_of, simple_select};
use super::walk::column as column_of;
use crate::warning::{Warning, WarningCode};

/// A question that bounds of a table's columns are learnt from: a part for each column.
#[derive(Clone, Debug)]
pub struct Learning {
    /// The table.
    pub table: String,
    /// Its columns, one for each part.
    pub columns: Vec<String>,
    /// The question.
    pub statement: SqlStatement,
}

/// The columns that are to be learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LearntColumns {
    /// These.
    Named(Vec<String>),
    /// Those with `bounds = "auto"` in the contract.
    Automatic,
    /// All that can be.
    All,
}

impl Learning {
    /// The question, which costs `loss` in equal shares, and otherwise a tenth of what the
    /// contract's defaults give a query.
    ///
    /// # Errors
    /// When the table or a column is not there or has no such bounds, and when there is no loss.
    pub fn new(
        contract: &Contract,
        table: &str,
        columns: &LearntColumns,
        loss: Option<Loss>,
    ) -> Result<Self, Refusal> {
        PreparedPatterns::default().within(|| Self::bound(contract, table, columns, loss))
    }

    fn bound(
        contract: &Contract,
        table: &str,
        columns: &LearntColumns,
        loss: Option<Loss>,
    ) -> Result<Self, Refusal> {
        let table = contract.named_table(table)?;
        let columns = chosen_columns(contract, table, columns)?;
        if columns.len() > MAX_PARTS {
            return Err(Refusal::new(
                format!("{} columns are to be learnt, at most {MAX_PARTS} at once", columns.len()),
                "name some of them; each has a share of the budget",
            ));
        }
        let population = contract.population(table).ok_or_else(|| public(table))?;
        let usual = || population.defaults.loss()?.split(&[1, 9]).first().copied();
        let Some(loss) = loss.or_else(usual) else {
            return Err(Refusal::new(
                format!("nothing says what learning bounds of `{}` may cost", table.name),
                "give epsilon or rho; or a default epsilon in the contract, of which it takes a \
                 tenth",
            ));
        };
        let shares = loss.without_delta().split(&vec![1; columns.len()]);
        let mut parts = Vec::with_capacity(columns.len());
        for ((column, histogram), share) in columns.iter().zip(shares) {
            let query = histogram.clone().with_loss(share);
            let sql = format!("units of {} by their largest {}", table.name, column.name);
            parts.push(Part::of_learning(column.name.clone(), sql, query));
        }
        Ok(Self {
            table: table.name.clone(),
            columns: columns.iter().map(|(column, _)| column.name.clone()).collect(),
            statement: SqlStatement::of_parts(parts, Vec::new()),
        })
    }
}

/// Units by their largest value of a column; `None` where its expression tells the bounds.
fn histogram(
    contract: &Contract,
    table: &Table,
    column: &Column,
) -> Result<Option<PrivateQuery>, Refusal> {
    // The mean has the values of rows, whatever a unit has of them.
    let mean = call("AVG", vec![column_of(&column.name)]);
    let select = ast::Select {
        projection: vec![ast::SelectItem::UnnamedExpr(mean)],
        from: vec![from_table(&table.name)],
        ..simple_select()
    };
    let selected = QueryTables::of(contract).selected(&select, None)?;
    let (view, conditions) = clauses::view(selected, contract)?;
    let option = |name: &str, value: &str| QueryOption {
        name: name.to_owned(),
        value: value.to_owned(),
        span: Span::empty(),
    };
    let given = [
        option("epsilon", "1"),
        option("max_groups_contributed", "1"),
        option("max_rows_per_group", "1"),
        option("bounds", AUTO),
    ];
    let options = Options::read(&given, &view, &Default::default())?;
    let query = query_of(select.clone());
    let bound = clauses::bind(&query, &select, &view, conditions, &options)?;
    let mut histograms = bound.histograms()?;
    Ok(histograms.pop().filter(|_| histograms.is_empty()))
}

/// The columns with their histograms.
fn chosen_columns<'a>(
    contract: &Contract,
    table: &'a Table,
    columns: &LearntColumns,
) -> Result<Vec<(&'a Column, PrivateQuery)>, Refusal> {
    let mut chosen = Vec::new();
    for column in named_columns(table, columns)? {
        match (histogram(contract, table, column)?, columns) {
            (Some(histogram), _) => chosen.push((column, histogram)),
            (None, LearntColumns::Named(_)) => {
                return Err(Refusal::new(
                    format!("bounds of `{}` follow from its expression", column.name),
                    "leave it out: queries have its bounds already",
                ));
            }
            (None, LearntColumns::Automatic | LearntColumns::All) => {}
        }
    }
    match chosen.is_empty() {
        true => Err(Refusal::new(
            format!("all bounds of `{}` follow from expressions", table.name),
            "ask: queries have these bounds already",
        )),
        false => Ok(chosen),
    }
}

fn named_columns<'a>(
    table: &'a Table,
    columns: &LearntColumns,
) -> Result<Vec<&'a Column>, Refusal> {
    let mut all: Vec<&Column> = table.columns.iter().filter(|c| table.can_learn(c)).collect();
    let LearntColumns::Named(names) = columns else {
        match columns {
            LearntColumns::Automatic => all.retain(|column| column.automatic_bounds),
            // Numbers that are keys of groups are names.
            _ => all.retain(|c| c.public_keys.is_none() && c.known_keys.is_none()),
        }
        if all.is_empty() {
            return Err(Refusal::new(
                match columns {
                    LearntColumns::Automatic => {
                        format!("no column of `{}` has bounds = \"auto\"", table.name)
                    }
                    _ => format!("no column of `{}` has numbers without bounds", table.name),
                },
                "name the columns whose bounds are to be learnt; or write bounds = \"auto\" at \
                 each in the contract",
            ));
        }
        return Ok(all);
    };
    let mut chosen: Vec<&Column> = Vec::new();
    for name in names {
        let Some(column) = table.column(name) else {
            let known = table.columns.iter().map(|column| column.name.as_str());
            return Err(Refusal::new(
                format!("`{}` has no column `{name}`", table.name),
                did_you_mean(similar(name, known), "name a column of the contract".to_owned()),
            ));
        };
        if !table.can_learn(column) {
            return Err(Refusal::new(
                format!("bounds of `{}` cannot be learnt", column.name),
                "name columns of numbers that have no bounds and no split, and that are not the \
                 privacy unit",
            ));
        }
        if !chosen.iter().any(|other| other.name == column.name) {
            chosen.push(column);
        }
    }
    if chosen.is_empty() { Err(missing()) } else { Ok(chosen) }
}

fn public(table: &Table) -> Refusal {
    Refusal::new(
        format!("`{}` is public: there is nothing to be learnt privately", table.name),
        "look at its file",
    )
}

impl PrivateQuery {
    /// The bounds of it that are on record from an earlier question.
    pub fn learnt(&self) -> &[LearntBounds] {
        &self.learnt
    }
}

impl Aggregates<'_> {
    /// Bounds on record of each row's value in a sum or a mean, where the rows of a unit have a
    /// limit, too.
    pub(super) fn learnt_of_sum(&mut self, operand: &Expr) -> Option<(Number, Number)> {
        self.learnt(operand, self.rows_for_now()?)
    }

    /// Bounds on record of each row's value, where that many rows count: of a column by itself,
    /// less what conditions leave out. `None` where the query has its bounds chosen for itself,
    /// where no lattice holds their sum, and where conditions leave large values alone: bounds that
    /// are best for all rows would cut these off.
    pub(super) fn learnt(&mut self, operand: &Expr, rows: u32) -> Option<(Number, Number)> {
        if self.options.automatic_bounds {
            return None;
        }
        let table = self.table;
        let column = table.bounded_column(operand).filter(|column| column.split.is_none())?;
        let learnt = column.learnt.as_ref()?;
        let (mut low, mut high) = (learnt.low, learnt.high);
        let range = table.range_at_any_end(operand);
        if let Some((least, most)) = range.and_then(|range| range.to_f64(operand.column_type)) {
            if least > high.to_f64() / 2.0 || most < low.to_f64() / 2.0 {
                return None;
            }
            let number = |end: f64| Number::parse(&end.to_string());
            low = low.max(number(least).unwrap_or(low));
            high = high.min(number(most).unwrap_or(high));
        }
        // Conditions leave rows alone that were not visible when the bounds were learnt.
        if low >= high {
            return None;
        }
        let step = column.granularity.unwrap_or(operand.column_type.default_step(low, high));
        let fits = |end: i64| end.checked_mul(rows.into()).is_some_and(|n| n.abs() <= MAX_LATTICE);
        if !step.floor(low).is_some_and(fits) || !step.ceil(high).is_some_and(fits) {
            return None;
        }
        if !self.learnt.contains(learnt) {
            self.learnt.push(learnt.clone());
            self.warnings.extend((!learnt.is_sure).then(|| not_sure(&column.name)));
        }
        Some((low, high))
    }
}

/// The warning about bounds that their record does not clearly show.
fn not_sure(column: &str) -> Warning {
    Warning::new(
        WarningCode::UncertainLimit,
        format!(
            "too few units were visible when bounds of {column} were learnt: noise may have \
             decided, and the answer may be far off"
        ),
        "give bounds yourself if you can, or learn them again with a larger budget",
    )
}
