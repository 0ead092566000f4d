//! Rows while FROM is put together: a relation, and the names that its columns have in SQL.

use sqlparser::ast;

use crate::contract::{Column, Contract, Table, TableUnit};
use crate::error::Refusal;
use crate::expr::{BinaryOp, Expr, ExprKind, RowScope, Visible};
use crate::relation::{JoinKind, NamedExpr, Operator, Origin, Protection, Relation};
use crate::types::ColumnType;

/// A relation with named columns.
#[derive(Clone)]
pub(super) struct Rows {
    pub(super) relation: Relation,
    /// The rows without their units, where they reach these through another table: a join with that
    /// table brings the units along. It begins with the same columns as `relation`.
    bare: Option<Relation>,
    pub(super) columns: Vec<RowsColumn>,
}

/// A column that SQL may name.
#[derive(Clone)]
pub(super) struct RowsColumn {
    pub(super) visible: Visible,
    /// Its declaration in the contract.
    pub(super) declared: Column,
}

impl Rows {
    /// The rows of a table; joined with the tables that name their units, where it reaches these
    /// through others.
    pub(super) fn of_table(
        table: &Table,
        alias: &str,
        contract: &Contract,
    ) -> Result<Self, Refusal> {
        let stored = table.stored_columns();
        let place = |name: &str| stored.iter().position(|(own, _)| own == name);
        let missing = || Refusal::new("a table lacks the column of its unit", "mend the contract");
        let population = || table.population.clone().ok_or_else(missing);
        let protection = match &table.unit {
            TableUnit::Public => Protection::Public,
            TableUnit::Row => Protection::Rows { population: population()? },
            TableUnit::Column(name) => Protection::Unit {
                population: population()?,
                column: place(name).ok_or_else(missing)?,
            },
            TableUnit::Through { column, table, references } => Protection::Reference {
                population: population()?,
                column: place(column).ok_or_else(missing)?,
                references: Origin { table: table.clone(), column: references.clone() },
            },
        };
        let scan = Relation::new(Operator::Scan {
            table: table.name.clone(),
            columns: stored,
            column_bytes: table.column_bytes(),
            csv: table.csv.clone(),
            protection: protection.clone(),
        })?;
        let named = |column: &Column| {
            let expr = table.row_expression(&column.name).ok_or_else(missing)?;
            let visible = Visible::new(Some(alias), &column.name, expr);
            let declared = Column { expression: None, ..column.clone() };
            Ok(RowsColumn { visible, declared })
        };
        let columns = table.columns.iter().map(named).collect::<Result<Vec<_>, Refusal>>()?;
        let Protection::Reference { column, references, .. } = protection else {
            return Ok(Self { relation: scan, bare: None, columns });
        };
        // The path to the unit, table by table; the contract has no circles.
        let next = contract.tables.get(&references.table).ok_or_else(missing)?;
        let owner = Self::of_table(next, &next.name, contract)?;
        let referred = owner.column(&references.column).ok_or_else(missing)?;
        let on = vec![(Expr::column(column, referred.column_type), referred)];
        let relation = Relation::new(Operator::Join {
            kind: JoinKind::Inner,
            left: scan.clone(),
            right: owner.relation,
            on,
            condition: None,
        })?;
        Ok(Self { relation, bare: Some(scan), columns })
    }

    /// The rows of a relation with these names.
    pub(super) fn named(relation: Relation, columns: Vec<RowsColumn>) -> Self {
        Self { relation, bare: None, columns }
    }

    fn column(&self, name: &str) -> Option<Expr> {
        let column = self.columns.iter().find(|c| c.declared.name == name)?;
        Some(column.visible.expr.clone())
    }

    /// The names that expressions may use.
    pub(super) fn scope(&self) -> RowScope {
        RowScope::new(self.columns.iter().map(|c| c.visible.clone()).collect())
    }

    /// The rows under another name.
    pub(super) fn renamed(mut self, alias: &ast::TableAlias) -> Result<Self, Refusal> {
        for column in &mut self.columns {
            column.visible.qualifiers = vec![alias.name.value.clone()];
        }
        if alias.columns.is_empty() {
            return Ok(self);
        }
        if alias.columns.len() != self.columns.len() {
            return Err(Refusal::new(
                format!(
                    "`{alias}` names {} columns, and there are {}",
                    alias.columns.len(),
                    self.columns.len()
                ),
                "name all columns, or none",
            ));
        }
        for (column, name) in self.columns.iter_mut().zip(&alias.columns) {
            column.visible.name.clone_from(&name.name.value);
        }
        Ok(self)
    }

    /// The rows on which a condition holds; it is tested as early as can be.
    pub(super) fn filtered(mut self, condition: Expr) -> Result<Self, Refusal> {
        self.bare = self.bare.map(|bare| filtered(bare, condition.clone())).transpose()?;
        self.relation = filtered(self.relation, condition)?;
        Ok(self)
    }

    /// A join with conditions over the left side's columns followed by the right's.
    pub(super) fn joined(
        self,
        kind: JoinKind,
        right: Self,
        conditions: Vec<Expr>,
        references: &References,
    ) -> Result<Self, Refusal> {
        let shift = self.relation.fields().len();
        let (mut left, mut right) = (self, right);
        let (mut on, mut rest) = (Vec::new(), Vec::new());
        for condition in conditions {
            match sides(&condition, shift) {
                (false, true) => {
                    right = right.filtered(condition.moved(&|c| c - shift))?;
                }
                (true, false) if matches!(kind, JoinKind::Inner | JoinKind::Semi) => {
                    left = left.filtered(condition)?;
                }
                _ => match equality(&condition, shift) {
                    Some(pair) => on.push(pair),
                    None => rest.push(condition),
                },
            }
        }
        let condition = (!rest.is_empty()).then(|| crate::bind_expr::balanced(rest, &Expr::and));
        let attempt = |l: &Relation, r: &Relation, on: &[(Expr, Expr)]| {
            // The right side's columns follow those of this very left side.
            let moved = l.fields().len();
            let condition = condition.clone().map(|c| {
                c.moved(&|place| if place < shift { place } else { place - shift + moved })
            });
            Relation::new(Operator::Join {
                kind,
                left: l.clone(),
                right: r.clone(),
                on: on.to_vec(),
                condition,
            })
        };
        // A side that reaches its units through the other side needs no further join.
        if let Some(bare) = &right.bare
            && let Ok(relation) = attempt(&left.relation, bare, &on)
        {
            return Ok(Self::combined(kind, left, right, relation, shift));
        }
        if kind == JoinKind::Inner
            && let Some(bare) = &left.bare
            && let Ok(relation) = attempt(bare, &right.relation, &on)
        {
            let shift_now = bare.fields().len();
            return Ok(Self::combined(kind, left, right, relation, shift_now));
        }
        if references.carry_the_unit(&on, &left.relation, &right.relation) {
            on.extend(units_equal(&left.relation, &right.relation));
        }
        let relation = attempt(&left.relation, &right.relation, &on)?;
        Ok(Self::combined(kind, left, right, relation, shift))
    }

    fn combined(kind: JoinKind, left: Self, right: Self, relation: Relation, shift: usize) -> Self {
        let mut columns = left.columns;
        if kind.shows_right() {
            let units = same_unit(&relation);
            let place = |c: usize| match units {
                Some((ours, theirs)) if c + shift == theirs => ours,
                _ => c + shift,
            };
            columns.extend(right.columns.into_iter().map(|mut column| {
                column.visible.expr = column.visible.expr.moved(&place);
                column
            }));
        }
        Self { relation, bare: None, columns }
    }

    /// The rows with these columns; the unit's column stays, under no name, where it is not among
    /// them.
    pub(super) fn projected(self, columns: Vec<(String, Expr, Column)>) -> Result<Self, Refusal> {
        let mut exprs: Vec<NamedExpr> = columns
            .iter()
            .map(|(name, expr, _)| NamedExpr { name: name.clone(), expr: expr.clone() })
            .collect();
        if let Some(unit) = self.relation.protection().unit()
            && !exprs.iter().any(|e| e.expr.is_column(unit))
            && let Some(field) = self.relation.fields().get(unit)
        {
            let (name, column_type) = (field.name.clone(), field.column_type);
            exprs.push(NamedExpr { name, expr: Expr::column(unit, column_type) });
        }
        let relation = Relation::new(Operator::Project { input: self.relation, columns: exprs })?;
        let columns = columns.into_iter().enumerate().map(|(place, (name, expr, declared))| {
            let expr = Expr::column(place, expr.column_type);
            // Thresholds by another column hold for the table's own column of that name, which may
            // be gone here, or be another one.
            let split = declared.split.filter(|split| split.by.is_none());
            let declared = Column { name: name.clone(), split, ..declared };
            RowsColumn { visible: Visible::new(None, &name, expr), declared }
        });
        Ok(Self { relation, bare: None, columns: columns.collect() })
    }

    /// Projects as [`projected`](Self::projected) does, with the unit's column at the end in any
    /// case.
    pub(super) fn projected_with_unit(
        self,
        mut columns: Vec<(String, Expr, Column)>,
    ) -> Result<Self, Refusal> {
        let shown = columns.len();
        if let Some(unit) = self.relation.protection().unit()
            && let Some(field) = self.relation.fields().get(unit)
        {
            let (name, column_type) = (field.name.clone(), field.column_type);
            let declared = Column::plain(&name, column_type);
            columns.push((name, Expr::column(unit, column_type), declared));
        }
        let mut rows = self.projected(columns)?;
        rows.columns.truncate(shown);
        Ok(rows)
    }

    /// The rows with computed columns as columns of their own, which an outer join can make NULL.
    pub(super) fn materialised(self) -> Result<Self, Refusal> {
        let stored = |c: &RowsColumn| matches!(c.visible.expr.kind, ExprKind::Column(_));
        if self.columns.iter().all(stored) {
            return Ok(self);
        }
        let named: Vec<Visible> = self.columns.iter().map(|c| c.visible.clone()).collect();
        let all = self
            .columns
            .iter()
            .map(|c| (c.visible.name.clone(), c.visible.expr.clone(), c.declared.clone()));
        let all = all.collect();
        let mut rows = self.projected(all)?;
        for (column, old) in rows.columns.iter_mut().zip(named) {
            column.visible = Visible { expr: column.visible.expr.clone(), ..old };
        }
        Ok(rows)
    }

    /// The contract's declaration of a column, if the expression is one.
    pub(super) fn declared(&self, expr: &Expr, name: &str) -> Column {
        let own = self.columns.iter().find(|c| c.visible.expr == *expr);
        match own {
            Some(own) => own.declared.clone(),
            None => Column::plain(name, expr.column_type),
        }
    }
}

/// The columns that lead to the same unit wherever they are equal: a column that others refer to,
/// and those that refer to it.
pub(super) struct References(Vec<Vec<Origin>>);

impl References {
    pub(super) fn of(contract: &Contract) -> Self {
        let mut classes: Vec<Vec<Origin>> = Vec::new();
        for table in contract.tables.values() {
            let TableUnit::Through { column, table: target, references } = &table.unit else {
                continue;
            };
            let referred = Origin { table: target.clone(), column: references.clone() };
            let referring = Origin { table: table.name.clone(), column: column.clone() };
            match classes.iter_mut().find(|c| c.contains(&referred) || c.contains(&referring)) {
                Some(class) => class.extend([referred, referring]),
                None => classes.push(vec![referred, referring]),
            }
        }
        Self(classes)
    }

    /// Whether the values of a table's column lead to units.
    pub(super) fn lead_to_units(&self, column: &Origin) -> bool {
        self.0.iter().any(|class| class.contains(column))
    }

    /// Whether one of the equalities is between columns of one class.
    fn carry_the_unit(&self, on: &[(Expr, Expr)], left: &Relation, right: &Relation) -> bool {
        let origin = |expr: &Expr, relation: &Relation| match expr.kind {
            ExprKind::Column(place) => relation.fields().get(place)?.origin.clone(),
            _ => None,
        };
        on.iter().any(|(l, r)| {
            let (Some(l), Some(r)) = (origin(l, left), origin(r, right)) else { return false };
            self.0.iter().any(|class| class.contains(&l) && class.contains(&r))
        })
    }
}

/// The units of both sides, where both have one.
fn units_equal(left: &Relation, right: &Relation) -> Option<(Expr, Expr)> {
    let unit = |relation: &Relation| {
        let place = relation.protection().unit()?;
        Some(Expr::column(place, relation.fields().get(place)?.column_type))
    };
    let (left, right) = (unit(left)?, unit(right)?);
    (left.column_type == right.column_type).then_some((left, right))
}

/// The columns of an inner join on the unit that hold it, the left side's and the right side's: they
/// are the same.
pub(super) fn same_unit(relation: &Relation) -> Option<(usize, usize)> {
    let Operator::Join { kind: JoinKind::Inner, left, right, on, .. } = relation.operator() else {
        return None;
    };
    let (ours, theirs) = (left.protection().unit()?, right.protection().unit()?);
    let joined = on.iter().any(|(l, r)| l.is_column(ours) && r.is_column(theirs));
    joined.then_some((ours, left.fields().len() + theirs))
}

/// Whether an expression reads columns before `shift`, and from there on.
pub(super) fn sides(expr: &Expr, shift: usize) -> (bool, bool) {
    let (mut left, mut right) = (false, false);
    expr.visit_columns(&mut |c| if c < shift { left = true } else { right = true });
    (left, right)
}

/// An equality between the sides, as the left side's value and the right's over its own columns.
fn equality(condition: &Expr, shift: usize) -> Option<(Expr, Expr)> {
    let ExprKind::Binary(BinaryOp::Eq, one, other) = &condition.kind else { return None };
    let (left, right) = match (sides(one, shift), sides(other, shift)) {
        ((true, false), (false, true)) => (one, other),
        ((false, true), (true, false)) => (other, one),
        _ => return None,
    };
    Some((left.as_ref().clone(), right.as_ref().clone().moved(&|c| c - shift)))
}

/// Puts a condition below joins, where it reads the columns of one side only: fewer rows are
/// joined.
fn filtered(relation: Relation, condition: Expr) -> Result<Relation, Refusal> {
    let operator = Operator::from(relation);
    if let Operator::Join { kind, left, right, on, condition: own } = operator {
        let shift = left.fields().len();
        let (left, right) = match sides(&condition, shift) {
            (true, false) => (filtered(left, condition)?, right),
            (false, true) if kind == JoinKind::Inner => {
                (left, filtered(right, condition.moved(&|c| c - shift))?)
            }
            _ => {
                let join = Operator::Join { kind, left, right, on, condition: own };
                return Relation::new(Operator::Filter { input: Relation::new(join)?, condition });
            }
        };
        return Relation::new(Operator::Join { kind, left, right, on, condition: own });
    }
    Relation::new(Operator::Filter { input: Relation::new(operator)?, condition })
}

/// The terms that must all hold for a condition to hold.
pub(super) fn conjuncts(condition: Expr) -> Vec<Expr> {
    debug_assert_eq!(condition.column_type, ColumnType::Bool);
    match condition.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            let mut all = conjuncts(*left);
            all.extend(conjuncts(*right));
            all
        }
        ExprKind::Binary(BinaryOp::Or, left, right) => {
            // A condition that both branches demand is demanded in any case.
            let (left, right) = (conjuncts(*left), conjuncts(*right));
            let mut common: Vec<Expr> = Vec::new();
            for term in &left {
                if right.contains(term) && !common.contains(term) {
                    common.push(term.clone());
                }
            }
            let rest = |terms: Vec<Expr>| {
                let terms: Vec<Expr> = terms.into_iter().filter(|t| !common.contains(t)).collect();
                (!terms.is_empty()).then(|| crate::bind_expr::balanced(terms, &Expr::and))
            };
            // A branch with nothing of its own makes the other one superfluous.
            if let (Some(left), Some(right)) = (rest(left), rest(right)) {
                common.push(Expr::binary(BinaryOp::Or, left, right, ColumnType::Bool));
            }
            common
        }
        _ => vec![condition],
    }
}
