//! NOT IN where compared values are NULL: in SQL it then is unknown, and not true.

use hushtable_contract::Contract;
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Refusal, Value};

use super::joins::units_equal;
use super::rowset::{References, RowSet};
use crate::relation::{JoinKind, KnownValues, NamedExpr, Operator, Protection, Relation};

/// Most ways in which the values of one NOT IN can be equal or NULL. The sub-query is read for
/// each. Each of their joins nests the plan, which another process reads up to a depth.
const MAX_WAYS: usize = 9;

/// A value that NOT IN compares with a column of the others.
struct ComparedValue {
    /// Over the columns of the rows.
    value: Expr,
    /// Over the columns of the others.
    other: Expr,
    /// Whether a row's value may be NULL.
    value_may_lack: bool,
    /// Whether that of one of the others may be.
    other_may_lack: bool,
}

/// Why a value of a row and that of one of the others do not differ.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Both are equal.
    Equal,
    /// The row's value is NULL.
    NoValue,
    /// The other's value is NULL.
    NoOther,
}

impl ComparedValue {
    /// The values of a condition over the columns of the rows followed by those of the others.
    fn of(equal: &Expr, shift: usize) -> Option<(Expr, Expr)> {
        let ExprKind::Binary(BinaryOp::Eq, value, other) = &equal.kind else { return None };
        Some((value.as_ref().clone(), other.as_ref().clone().moved(&|c| c - shift)))
    }

    fn ways(&self) -> impl Iterator<Item = Way> {
        let no_value = self.value_may_lack.then_some(Way::NoValue);
        let no_other = self.other_may_lack.then_some(Way::NoOther);
        [Some(Way::Equal), no_value, no_other].into_iter().flatten()
    }

    fn may_lack(&self) -> bool {
        self.value_may_lack || self.other_may_lack
    }
}

impl RowSet {
    /// The rows of which NOT IN is true and not unknown. `equal` compares each value of a row with
    /// a column of the others; `names` are the values and the columns in SQL.
    ///
    /// A row is kept where each of the others differs from it in one of the values: equal values do
    /// not differ, and neither do values of which one is NULL. So a join leaves rows out for each
    /// choice of the values in which one is NULL.
    ///
    /// Of others that are protected, a unit's rows may look at its own alone. That is enough where
    /// values that are never NULL lead to one unit. One value alone that may be NULL is compared
    /// so, too: NULL among the others takes away the rows of its unit. Whether there are any others
    /// at all follows from everybody's rows; there are some in all questions that make sense, so a
    /// row whose value is NULL is left out.
    pub(super) fn not_in(
        self,
        others: Self,
        equal: Vec<Expr>,
        names: &[Vec<String>; 2],
        contract: &Contract,
    ) -> Result<Self, Refusal> {
        let references = References::of(contract);
        let shift = self.relation.fields().len();
        let known = |rows: &Self| KnownValues::of(&rows.relation, Some(contract));
        let (of_rows, of_others) = (known(&self), known(&others));
        let compared = equal.iter().map(|equal| {
            let (value, other) = ComparedValue::of(equal, shift)?;
            let may_lack = |rows: &Self, known: &KnownValues, value: &Expr| {
                let relation = &rows.relation;
                !names_the_unit(relation, value)
                    && !known.is_never_null(value)
                    && !is_matched(relation, value)
            };
            let value_may_lack = may_lack(&self, &of_rows, &value);
            let other_may_lack = may_lack(&others, &of_others, &other);
            Some(ComparedValue { value, other, value_may_lack, other_may_lack })
        });
        let compared: Option<Vec<ComparedValue>> = compared.collect();
        let compared = compared.ok_or_else(|| Refusal::fault("NOT IN compares no values"))?;
        let reads_both = |c: &ComparedValue| c.value.reads_columns() && c.other.reads_columns();
        if !compared.iter().any(reads_both) {
            return Err(Refusal::new(
                "NOT IN compares no column of the rows with one of its sub-query",
                "NOT EXISTS (SELECT 1 FROM … WHERE inner.key = outer.key)",
            ));
        }
        let ways = compared.iter().map(|c| c.ways().count()).fold(1, usize::saturating_mul);
        if ways > MAX_WAYS {
            return Err(Refusal::new(
                format!(
                    "NOT IN of {} values that may be NULL has {ways} ways in which they do not \
                     differ; at most {MAX_WAYS} are allowed",
                    compared.len()
                ),
                without_nulls(&compared, names),
            ));
        }
        let always: Vec<Expr> = equal
            .iter()
            .zip(&compared)
            .filter(|(_, c)| !c.may_lack())
            .map(|(e, _)| e.clone())
            .collect();
        let public = others.is_public();
        let stays_in_unit = public
            || !always.is_empty()
                && self.clone().joined(JoinKind::Anti, others.clone(), always, &references).is_ok();
        let of_unit = compared.iter().any(|c| names_the_unit(&self.relation, &c.value));
        let units = self.equal_units(&others).filter(|_| !of_unit);
        let rows = self.joined(JoinKind::Anti, others.clone(), equal, &references);
        let rows = rows.map_err(|mut refusal| {
            if let Some(units) = &units {
                refusal.hint = with_the_unit(units, names);
            }
            refusal
        })?;
        if stays_in_unit {
            let rows = if public { rows } else { rows.with_units()? };
            return rows.without_lacking(&others, &compared);
        }
        let [only] = compared.as_slice() else {
            return Err(Refusal::new(
                "NOT IN compares values that may be NULL with those of other units",
                without_nulls(&compared, names),
            ));
        };
        let value_is_the_unit = names_the_unit(&rows.relation, &only.value);
        let mut rows = rows.with_units()?;
        if only.other_may_lack {
            rows = rows.without(&others, &compared, vec![vec![Way::NoOther]])?;
        }
        match value_is_the_unit {
            true => Ok(rows),
            false => {
                let there = ExprKind::Not(Box::new(is_null(only.value.clone())));
                rows.filtered(Expr::new(there, ColumnType::Bool))
            }
        }
    }

    /// The rows without those that do not differ from one of the others because a value is NULL.
    fn without_lacking(self, others: &Self, compared: &[ComparedValue]) -> Result<Self, Refusal> {
        let mut all = vec![Vec::new()];
        for value in compared {
            let longer = |ways: &Vec<Way>| {
                let ways = ways.clone();
                value.ways().map(move |way| ways.iter().copied().chain([way]).collect())
            };
            all = all.iter().flat_map(longer).collect::<Vec<Vec<Way>>>();
        }
        // Those in which the same values are equal share a join.
        let lacking = |ways: &[Way]| ways.iter().map(|way| *way != Way::Equal).collect::<Vec<_>>();
        let mut joins: Vec<Vec<Vec<Way>>> = Vec::new();
        for ways in all.into_iter().filter(|ways| lacking(ways).contains(&true)) {
            match joins.iter_mut().find(|join| join.iter().any(|w| lacking(w) == lacking(&ways))) {
                Some(join) => join.push(ways),
                None => joins.push(vec![ways]),
            }
        }
        joins.into_iter().try_fold(self, |rows, ways| rows.without(others, compared, ways))
    }

    /// The rows without those that do not differ from one of the others, of the same unit where the
    /// others are protected, in one of these ways. The same values are equal in all of them.
    fn without(
        mut self,
        others: &Self,
        compared: &[ComparedValue],
        ways: Vec<Vec<Way>>,
    ) -> Result<Self, Refusal> {
        let (mut on, mut inputs) = (Vec::new(), Vec::new());
        for ways in ways {
            let (mut found, mut columns) = (others.clone(), Vec::new());
            on.clear();
            for (index, (compared, way)) in compared.iter().zip(ways).enumerate() {
                // A row without a value does not differ from any of the others; one with a value
                // does not from those that have none.
                let marked =
                    |lacks| (is_null(compared.value.clone()), Expr::literal(Value::Bool(lacks)));
                let (value, expr) = match way {
                    Way::Equal => (compared.value.clone(), compared.other.clone()),
                    Way::NoValue => marked(true),
                    Way::NoOther => {
                        found = found.filtered(is_null(compared.other.clone()))?;
                        marked(false)
                    }
                };
                on.push((value, Expr::column(index, expr.column_type)));
                columns.push(NamedExpr { name: format!("compared_{index}"), expr });
            }
            let input = found.with_units()?.relation;
            if *input.protection() != Protection::Public {
                let (left_unit, right_unit) = units_equal(&self.relation, &input)
                    .ok_or_else(|| Refusal::fault("a sub-query of NOT IN has no unit"))?;
                on.push((left_unit, Expr::column(columns.len(), right_unit.column_type)));
                columns.push(NamedExpr { name: "unit".to_owned(), expr: right_unit });
            }
            inputs.push(Relation::new(Operator::Project { input, columns })?);
        }
        let right = match <[Relation; 1]>::try_from(inputs) {
            Ok([only]) => only,
            Err(inputs) => Relation::new(Operator::UnionAll { inputs })?,
        };
        let (kind, left, condition) = (JoinKind::Anti, self.relation, None);
        self.relation =
            Relation::new(Operator::Join { kind, left, right, on, condition, max_rows: None })?;
        Ok(self)
    }
}

fn is_null(value: Expr) -> Expr {
    Expr::new(ExprKind::IsNull(Box::new(value)), ColumnType::Bool)
}

/// The conditions under which no compared value is NULL.
fn without_nulls(compared: &[ComparedValue], [values, columns]: &[Vec<String>; 2]) -> String {
    let present = |names: &[String], may_lack: fn(&ComparedValue) -> bool| {
        let lacking = compared.iter().zip(names).filter(|(value, _)| may_lack(value));
        let terms = lacking.map(|(_, name)| format!("{name} IS NOT NULL"));
        terms.collect::<Vec<_>>().join(" AND ")
    };
    let values = present(values, |value| value.value_may_lack);
    let columns = present(columns, |value| value.other_may_lack);
    let advice = match (values.as_str(), columns.as_str()) {
        ("", columns) => format!("WHERE {columns} in the sub-query"),
        (values, "") => format!("AND {values}"),
        (values, columns) => format!("AND {values}, and WHERE {columns} in the sub-query"),
    };
    format!("{advice}; or not_null = true in the contract, where no row lacks a value")
}

/// The ways out where rows of several units would be compared.
fn with_the_unit(units: &str, [values, columns]: &[Vec<String>; 2]) -> String {
    let unit = units.split(" = ").next().unwrap_or(units);
    let name = unit.rsplit('.').next().unwrap_or(unit);
    let (values, columns) = (values.join(", "), columns.join(", "));
    format!(
        "GROUP BY {columns} in the sub-query, which makes a release of it; or \
         ({unit}, {values}) NOT IN (SELECT {name}, {columns} FROM …), which compares rows of one \
         unit"
    )
}

/// Whether a value is the unit, or the reference that leads to it: rows in which it is NULL count
/// for nothing.
fn names_the_unit(relation: &Relation, value: &Expr) -> bool {
    match relation.protection() {
        Protection::Unit { column, .. } | Protection::Reference { column, .. } => {
            value.is_column(*column)
        }
        Protection::Public | Protection::Rows { .. } => false,
    }
}

/// Whether a value is a column that a join has compared: NULL equals nothing.
fn is_matched(relation: &Relation, value: &Expr) -> bool {
    let ExprKind::Column(index) = value.kind else { return false };
    match relation.operator() {
        Operator::Filter { input, .. } => is_matched(input, value),
        Operator::Project { input, columns } => {
            columns.get(index).is_some_and(|column| is_matched(input, &column.expr))
        }
        Operator::Join { kind, left, right, on, .. } => {
            let inner = *kind == JoinKind::Inner;
            match index.checked_sub(left.fields().len()) {
                None => {
                    inner && on.iter().any(|(key, _)| key.is_column(index))
                        || is_matched(left, value)
                }
                Some(index) => {
                    let value = Expr::column(index, value.column_type);
                    inner && (on.iter().any(|(_, key)| *key == value) || is_matched(right, &value))
                }
            }
        }
        _ => false,
    }
}
