//! The rows that a query aggregates, whose they are, and what the contract says of their columns.

use hushtable_contract::{
    Column, Contract, Defaults, Population, column_of, row_expression, stored,
};
use hushtable_lang::bind_expr::RowScope;
use hushtable_lang::range::Range;
use hushtable_lang::{ColumnType, Expr, ExprKind, Refusal, Value};
use hushtable_numbers::Number;
use hushtable_privacy::Neighbouring;
use sqlparser::ast;

use super::rowset::{References, RowSet};
use crate::relation::{KnownValues, Operator, Origin, Protection, Relation};

/// Protected rows that a query's GROUP BY and aggregates are about.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) relation: Relation,
    /// Whose budget pays.
    pub(crate) population: Population,
    /// The tables that are read, as messages name them.
    pub name: String,
    pub(crate) unit: QueryUnit,
    pub(crate) neighbouring: Neighbouring,
    /// Most rows of a unit of a further population, where its contract says.
    pub(crate) max_rows_contributed: Option<u32>,
    /// Whether groups may be chosen by the pieces of records.
    pub(crate) group_selection_by_pieces: bool,
    /// The relation's columns in their order, then those that are computed from them.
    pub(crate) columns: Vec<Column>,
    /// The names that expressions may use.
    pub(crate) scope: RowScope,
    /// The columns by which tables reach units through others.
    references: References,
    /// Columns with splitting thresholds by another column, and that other one.
    split_by: Vec<(Expr, Expr)>,
    /// The values that columns have, by the structure of the query and the contract's word.
    known: KnownValues,
}

/// The privacy unit of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QueryUnit {
    /// Every row is a unit of its own.
    Row,
    /// The rows with one value in the column of that name are one unit's.
    Column(String),
}

impl View {
    /// Its rows with the query's limit on those of a unit in joins; `None` where there is none, or
    /// they cannot meet each other.
    pub(super) fn with_rows_joined(&self, most: Option<u32>) -> Result<Option<Self>, Refusal> {
        let Some(rows) = most.filter(|_| self.relation.has_meeting_rows()) else {
            return Ok(None);
        };
        let relation = self.relation.clone().with_rows_joined(rows)?;
        Ok(Some(Self { relation, ..self.clone() }))
    }

    /// The rows on which conditions hold.
    ///
    /// # Errors
    /// When the rows are public, or do not know their units.
    pub(super) fn new(
        rows: RowSet,
        conditions: &[Expr],
        contract: &Contract,
    ) -> Result<Self, Refusal> {
        let scope = rows.scope();
        let RowSet { relation, columns: named, .. } = rows;
        let tables: Vec<&str> = relation.tables().into_iter().collect();
        let name = tables.join(", ");
        let population = relation.protection().population();
        let Some(population) = population.and_then(|p| contract.populations.get(p)) else {
            return Err(Refusal::new(
                format!("the query reads public tables only ({name})"),
                "read the file itself, or join it with a table of privacy units: noise is for \
                 these",
            ));
        };
        let mut max_rows_contributed = None;
        if let Some(beside) = relation.beside() {
            let other = contract.populations.get(&beside.population);
            if other.is_none_or(|other| other.neighbouring != population.neighbouring) {
                return Err(Refusal::new(
                    format!(
                        "rows of {name} belong to `{}` and to `{}`, which do not have the same \
                         `neighbouring`",
                        population.name, beside.population
                    ),
                    "write the same neighbouring of both populations in the contract",
                ));
            }
            max_rows_contributed = other.and_then(|other| other.defaults.max_rows_contributed);
        }
        let mut columns: Vec<Column> = Vec::new();
        for (index, field) in relation.fields().iter().enumerate() {
            let named_column = named.iter().find(|c| c.visible.expr.is_column(index));
            let mut column = match named_column {
                Some(named_column) => named_column.declared.clone(),
                None => Column::plain(&field.name, field.column_type),
            };
            // Columns of several tables may share a name; messages must not mix them up.
            let twice = relation.fields().iter().filter(|f| f.name == field.name).count() > 1;
            if let Some(table) =
                named_column.and_then(|c| c.visible.qualifiers.first()).filter(|_| twice)
            {
                column.name = format!("{table}.{}", column.name);
            }
            column.expression = None;
            columns.push(column);
        }
        let unit = match relation.protection() {
            Protection::Rows { .. } => QueryUnit::Row,
            Protection::Unit { column, .. } => match columns.get(*column) {
                Some(column) => QueryUnit::Column(column.name.clone()),
                None => {
                    return Err(Refusal::fault("the rows lost their unit"));
                }
            },
            Protection::Public | Protection::Reference { .. } => {
                return Err(Refusal::new(
                    format!("the rows of {name} do not say whose they are"),
                    "join the table that they refer to",
                ));
            }
        };
        let split_by =
            named.iter().filter_map(|c| Some((c.visible.expr.clone(), c.split_by.clone()?)));
        let split_by = split_by.collect();
        let stored = |e: &Expr| matches!(e.kind, ExprKind::Column(_));
        columns.extend(
            named
                .into_iter()
                .filter(|c| !stored(&c.visible.expr))
                .map(|c| Column { expression: Some(c.visible.expr), ..c.declared }),
        );
        let single = match relation.operator() {
            Operator::Scan { table, .. } => contract.tables.get(table),
            _ => None,
        };
        let references = References::of(contract);
        let mut known = KnownValues::of(&relation, Some(contract));
        known.assume(conditions);
        Ok(Self {
            known,
            references,
            split_by,
            group_selection_by_pieces: single.is_some_and(|t| t.group_selection_by_pieces),
            neighbouring: population.neighbouring,
            max_rows_contributed,
            population: population.clone(),
            relation,
            name,
            unit,
            columns,
            scope,
        })
    }

    /// Settings of a query that says nothing else.
    pub(crate) fn defaults(&self) -> &Defaults {
        &self.population.defaults
    }

    /// The columns that rows come with, in the order that [`ExprKind::Column`] counts.
    pub(crate) fn stored_columns(&self) -> Vec<(String, ColumnType)> {
        stored(&self.columns).map(|c| (c.name.clone(), c.column_type)).collect()
    }

    /// The column that an expression is, if it is one.
    pub(crate) fn column_of(&self, expr: &Expr) -> Option<&Column> {
        column_of(&self.columns, expr)
    }

    /// The column whose bounds hold for an expression: the column itself, or one that some rows
    /// leave out, as with `IF(condition, x, NULL)`, or count as zero, which the bounds must hold.
    /// Thresholds of `split` are for the column itself.
    pub(crate) fn bounded_column(&self, expr: &Expr) -> Option<&Column> {
        if let Some(column) = self.column_of(expr) {
            return Some(column);
        }
        let ExprKind::Case(branches, otherwise) = &expr.kind else { return None };
        let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
        let (mut common, mut zero) = (None, false);
        for result in results {
            match &result.kind {
                ExprKind::Literal(Value::Null) => {}
                ExprKind::Literal(value) if value.is_zero() => zero = true,
                _ if common.is_none_or(|earlier| earlier == result) => common = Some(result),
                _ => return None,
            }
        }
        let column = self.bounded_column(common?).filter(|column| column.split.is_none())?;
        let zero_fits = [column.bounds, column.sum_bounds]
            .into_iter()
            .flatten()
            .all(|(low, high)| low <= Number::whole(0) && Number::whole(0) <= high);
        (!zero || zero_fits).then_some(column)
    }

    /// Whether an expression has a value in every row, as its structure and the contract say.
    pub(crate) fn is_never_null(&self, expr: &Expr) -> bool {
        self.known.is_never_null(expr)
    }

    /// The range of an expression, as its structure and the contract say. The contract may be
    /// wrong.
    pub(crate) fn range(&self, expr: &Expr) -> Option<Range> {
        self.known.range(expr)
    }

    /// The range of a number, also where it is narrower than its type at one end alone.
    pub(crate) fn range_at_any_end(&self, expr: &Expr) -> Option<Range> {
        self.known.range_at_any_end(expr)
    }

    /// An expression that is to be added up: where it has a value in every row, NULL is zero, so
    /// that every row counts whatever the files have.
    pub(crate) fn complete(&self, expr: Expr) -> Expr {
        let promised = self.is_never_null(&expr) && !expr.is_never_null();
        if promised { expr.or_zero() } else { expr }
    }

    /// Whether an expression is the privacy unit.
    pub(crate) fn is_unit(&self, expr: &Expr) -> bool {
        self.relation.protection().unit().is_some() && self.relation.is_unit(expr)
    }

    /// The table's column that an expression is, where tables reach their units by it.
    pub(crate) fn leading_to_units(&self, expr: &Expr) -> Option<&Origin> {
        self.references.leading_to_units(expr, &self.relation)
    }

    /// The column that the splitting thresholds of a column go by, where they do.
    pub(crate) fn split_by(&self, column: &Expr) -> Option<&Expr> {
        self.split_by.iter().find(|(split_column, _)| split_column == column).map(|(_, by)| by)
    }

    /// The unit, where a name stands for it that is no column: `row`, where rows are the units and
    /// may be there several times.
    pub(crate) fn unit_by_name(&self, node: &ast::Expr) -> Option<Expr> {
        let ast::Expr::Identifier(name) = node else { return None };
        let unit = self.relation.protection().unit()?;
        let field = self.relation.fields().get(unit)?;
        let named = field.origin.is_none() && name.value.eq_ignore_ascii_case(&field.name);
        named.then(|| Expr::column(unit, field.column_type))
    }

    /// The value of a declared column, from a row.
    pub(crate) fn row_expression(&self, name: &str) -> Option<Expr> {
        row_expression(&self.columns, name)
    }
}
