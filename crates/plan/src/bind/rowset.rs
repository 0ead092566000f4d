//! Rows while FROM is put together: a relation, and the names that its columns have in SQL.

use hushtable_contract::{Column, Contract, Table, TableUnit};
use hushtable_lang::bind_expr::{RowScope, Visible};
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Refusal};
use sqlparser::ast;

use crate::relation::{JoinKind, NamedExpr, Operator, Origin, Protection, Relation};

/// A relation with named columns.
#[derive(Clone)]
pub(super) struct RowSet {
    pub(super) relation: Relation,
    /// The rows that the relation's rows refer to, where they do not know their units yet.
    pub(super) owners: Option<ReferredRows>,
    pub(super) columns: Vec<RowsColumn>,
}

/// The rows of the table that others refer to, with their units; and the column referred to.
#[derive(Clone)]
pub(super) struct ReferredRows {
    relation: Relation,
    referred: Expr,
}

/// A column that SQL may name.
#[derive(Clone)]
pub(super) struct RowsColumn {
    pub(super) visible: Visible,
    /// Its declaration in the contract.
    pub(super) declared: Column,
    /// The column that its splitting thresholds go by, where they do.
    pub(super) split_by: Option<Expr>,
}

impl RowSet {
    /// The rows with columns that can only be named with their table.
    pub(super) fn named_with_table(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.visible.plain = false);
        self
    }

    /// Whether the rows are public.
    pub(super) fn is_public(&self) -> bool {
        *self.relation.protection() == Protection::Public
    }

    /// The rows of a table.
    pub(super) fn of_table(
        table: &Table,
        alias: &str,
        contract: &Contract,
    ) -> Result<Self, Refusal> {
        let stored = table.stored_columns();
        let index_of = |name: &str| stored.iter().position(|(stored_name, _)| stored_name == name);
        let missing =
            || Refusal::new("a table lacks the column of its unit", "correct the contract");
        let population = || table.population.clone().ok_or_else(missing);
        let protection = match &table.unit {
            TableUnit::Public => Protection::Public,
            TableUnit::Row => Protection::Rows { population: population()?, row: stored.len() },
            TableUnit::Column(name) => Protection::Unit {
                population: population()?,
                column: index_of(name).ok_or_else(missing)?,
            },
            TableUnit::Through { column, table, references } => Protection::Reference {
                population: population()?,
                column: index_of(column).ok_or_else(missing)?,
                references: Origin { table: table.clone(), column: references.clone() },
            },
        };
        let scan = Relation::new(Operator::Scan {
            table: table.name.clone(),
            columns: stored,
            names_in_files: table.names_in_files(),
            column_bytes: table.column_bytes(),
            csv: table.csv.clone(),
            protection: protection.clone(),
        })?;
        let named = |column: &Column| {
            let expr = table.row_expression(&column.name).ok_or_else(missing)?;
            let visible = Visible::new(Some(alias), &column.name, expr);
            let declared = Column { expression: None, ..column.clone() };
            let by = column.split.as_ref().and_then(|split| split.by.as_ref());
            let by = by.map(|by| table.row_expression(&by.column).ok_or_else(missing));
            Ok(RowsColumn { visible, declared, split_by: by.transpose()? })
        };
        let columns = table.columns.iter().map(named).collect::<Result<Vec<_>, Refusal>>()?;
        let owners = match protection {
            Protection::Reference { references, .. } => {
                // The path to the unit, table by table; the contract has no circles.
                let next = contract.tables.get(&references.table).ok_or_else(missing)?;
                let rows = Self::of_table(next, &next.name, contract)?;
                let referred = rows.column(&references.column).ok_or_else(missing)?;
                Some(ReferredRows { relation: rows.with_units()?.relation, referred })
            }
            _ => None,
        };
        Ok(Self { relation: scan, owners, columns })
    }

    /// The rows of a relation with these names.
    pub(super) fn named(relation: Relation, columns: Vec<RowsColumn>) -> Self {
        Self { relation, owners: None, columns }.with_one_unit()
    }

    /// The rows with one expression for the unit, whichever of its columns a name stands for: two
    /// names of it are the same key, and each is the unit wherever it is read.
    pub(super) fn with_one_unit(mut self) -> Self {
        if self.relation.units().len() < 2 {
            return self;
        }
        let naming = |index: usize| self.relation.naming(index);
        for column in &mut self.columns {
            column.visible.expr = column.visible.expr.clone().moved(&naming);
            column.split_by = column.split_by.take().map(|by| by.moved(&naming));
        }
        self
    }

    /// The rows with their units: joined with the table that they refer to, where no join has done
    /// so. Columns keep their places.
    pub(super) fn with_units(mut self) -> Result<Self, Refusal> {
        let owners = self.owners.take();
        if let Some(ReferredRows { relation: right, referred }) = owners
            && let Protection::Reference { column, .. } = *self.relation.protection()
        {
            let on = vec![(Expr::column(column, referred.column_type), referred)];
            let (kind, left) = (JoinKind::Inner, self.relation);
            self.relation = Relation::new(Operator::Join {
                kind,
                left,
                right,
                on,
                condition: None,
                max_rows: None,
            })?;
        }
        Ok(self)
    }

    /// Whether the rows refer to rows that say whose they are, and are not joined with them.
    pub(super) fn finds_units(&self) -> bool {
        self.owners.is_some()
    }

    fn column(&self, name: &str) -> Option<Expr> {
        let column = self.columns.iter().find(|c| c.declared.name == name)?;
        Some(column.visible.expr.clone())
    }

    /// Rows of one table without the sub-queries and filters around it, and the conditions on them:
    /// a query over sub-queries that only filter and compute is the query without them.
    pub(super) fn inlined(
        mut self,
        mut conditions: Vec<Expr>,
    ) -> Result<(Self, Vec<Expr>), Refusal> {
        let mut table = &self.relation;
        while let Operator::Filter { input, .. } | Operator::Project { input, .. } =
            table.operator()
        {
            table = input;
        }
        if !matches!(table.operator(), Operator::Scan { .. }) {
            let rows = conditions.into_iter().try_fold(self, Self::filtered)?;
            return Ok((rows, Vec::new()));
        }
        loop {
            match Operator::from(self.relation.clone()) {
                Operator::Filter { input, condition } => {
                    conditions.insert(0, condition);
                    self.relation = input;
                }
                Operator::Project { input, columns } => {
                    let mut exprs: Vec<&mut Expr> = conditions.iter_mut().collect();
                    for column in &mut self.columns {
                        exprs.push(&mut column.visible.expr);
                        exprs.extend(column.split_by.as_mut());
                    }
                    check_inlined(exprs.iter().map(|expr| &**expr), &columns)?;
                    for expr in exprs {
                        expr.replace_columns(&|index| columns[index].expr.kind.clone());
                        hushtable_lang::bind_expr::check_size(expr)?;
                    }
                    self.relation = input;
                }
                _ => break,
            }
        }
        for column in &mut self.columns {
            if let ExprKind::Column(index) = column.visible.expr.kind
                && let Some(field) = self.relation.fields().get(index)
            {
                column.declared.name.clone_from(&field.name);
            }
        }
        let conditions = conditions.into_iter().flat_map(conjuncts).collect();
        Ok((self, conditions))
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
                    "`{alias}` names {} columns, but there are {}",
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
        self.relation = filtered(self.relation, condition)?;
        Ok(self)
    }

    /// The rows with these columns; the column that tells units apart stays, under no name, where
    /// it is not among them.
    pub(super) fn projected(self, columns: Vec<(String, Expr, Column)>) -> Result<Self, Refusal> {
        let rows = self.with_units()?;
        let mut exprs: Vec<NamedExpr> = columns
            .iter()
            .map(|(name, expr, _)| NamedExpr { name: name.clone(), expr: expr.clone() })
            .collect();
        if let Some(unit) = rows.relation.protection().identity()
            && !exprs.iter().any(|e| rows.relation.is_unit(&e.expr))
            && let Some(field) = rows.relation.fields().get(unit)
        {
            let (name, column_type) = (field.name.clone(), field.column_type);
            exprs.push(NamedExpr { name, expr: Expr::column(unit, column_type) });
        }
        let relation = Relation::new(Operator::Project { input: rows.relation, columns: exprs })?;
        let by: Vec<Option<Expr>> = columns
            .iter()
            .map(|(_, expr, _)| {
                let split_by =
                    rows.columns.iter().find(|c| c.visible.expr == *expr)?.split_by.as_ref()?;
                let index = columns.iter().position(|(_, other, _)| other == split_by)?;
                Some(Expr::column(index, split_by.column_type))
            })
            .collect();
        let columns = columns.into_iter().zip(by).enumerate();
        let columns = columns.map(|(index, ((name, expr, declared), split_by))| {
            let expr = Expr::column(index, expr.column_type);
            // The column that thresholds go by may be gone here.
            let split = declared.split.filter(|s| s.by.is_none() || split_by.is_some());
            let declared = Column { name: name.clone(), split, ..declared };
            RowsColumn { visible: Visible::new(None, &name, expr), declared, split_by }
        });
        Ok(Self::named(relation, columns.collect()))
    }

    /// Projects as [`projected`](Self::projected) does, with the unit's column at the end in any
    /// case.
    pub(super) fn projected_with_unit(
        self,
        mut columns: Vec<(String, Expr, Column)>,
    ) -> Result<Self, Refusal> {
        let width = columns.len();
        let rows = self.with_units()?;
        if let Some(unit) = rows.relation.protection().identity()
            && let Some(field) = rows.relation.fields().get(unit)
        {
            let (name, column_type) = (field.name.clone(), field.column_type);
            let declared = Column::plain(&name, column_type);
            columns.push((name, Expr::column(unit, column_type), declared));
        }
        let mut rows = rows.projected(columns)?;
        rows.columns.truncate(width);
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
        let column = self.columns.iter().find(|c| c.visible.expr == *expr);
        match column {
            Some(column) => column.declared.clone(),
            None => Column::plain(name, expr.column_type),
        }
    }
}

/// The columns of the contract's tables that tell rows apart.
#[derive(Clone, Debug)]
pub(super) struct References {
    /// Columns that lead to the same unit wherever they are equal: a column that others refer to,
    /// and those that refer to it.
    classes: Vec<Vec<Origin>>,
    /// For each public table that has one, its unique key.
    unique: Vec<Vec<Origin>>,
    /// The units' columns of the tables that have one row of each unit.
    single: Vec<Origin>,
}

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
        let keyed = |table: &&Table| !table.unique.is_empty();
        let single = contract.tables.values().filter(keyed).filter_map(|table| match &table.unit {
            TableUnit::Column(column) => {
                Some(Origin { table: table.name.clone(), column: column.clone() })
            }
            _ => None,
        });
        let single = single.collect();
        let keyed = contract.tables.values().filter(keyed);
        let keyed = keyed.filter(|table| table.unit == TableUnit::Public);
        let key = |table: &Table| {
            let origin =
                |column: &String| Origin { table: table.name.clone(), column: column.clone() };
            table.unique.iter().map(origin).collect()
        };
        Self { classes, unique: keyed.map(key).collect(), single }
    }

    /// Rows of one public table, the first of each key that the contract says is unique, where
    /// these expressions over them hold all of it. The contract may be wrong.
    pub(super) fn first_of_each<'a>(
        &self,
        rows: Relation,
        exprs: impl Iterator<Item = &'a Expr> + Clone,
    ) -> Result<Relation, Refusal> {
        match self.unique_key(&rows, exprs) {
            Some(keys) => Relation::new(Operator::First { input: rows, keys }),
            None => Ok(rows),
        }
    }

    /// The columns of a key that the contract says is unique in a public table, where these
    /// expressions over rows of it hold all of the key.
    pub(super) fn unique_key<'a>(
        &self,
        rows: &Relation,
        exprs: impl Iterator<Item = &'a Expr> + Clone,
    ) -> Option<Vec<usize>> {
        let mut table = rows;
        loop {
            table = match table.operator() {
                Operator::Filter { input, .. }
                | Operator::Project { input, .. }
                | Operator::First { input, .. } => input,
                Operator::Join { kind, left, .. } if !kind.shows_right() => left,
                Operator::Scan { .. } => break,
                // A join may repeat what is unique in its table.
                _ => return None,
            };
        }
        let column_of = |sought: &Origin| {
            exprs.clone().find_map(|expr| match expr.kind {
                ExprKind::Column(column) => {
                    let origin = rows.fields().get(column)?.origin.as_ref()?;
                    (origin == sought).then_some(column)
                }
                _ => None,
            })
        };
        self.unique.iter().find_map(|key| key.iter().map(column_of).collect::<Option<_>>())
    }

    /// One row of each unit, where the contract says that there are no more. The contract may be
    /// wrong.
    pub(super) fn one_of_each_unit(&self, rows: &Relation) -> Result<Relation, Refusal> {
        let unit = rows.protection().unit().and_then(|unit| rows.fields().get(unit));
        let origin = unit.and_then(|field| field.origin.as_ref());
        let single = origin.is_some_and(|origin| self.single.contains(origin));
        if single && rows.beside().is_none() && self.repeats_nothing(rows) {
            return Relation::new(Operator::Take { input: rows.clone(), rows: 1 });
        }
        Ok(rows.clone())
    }

    /// Whether rows are those of one protected table, none of them several times.
    fn repeats_nothing(&self, rows: &Relation) -> bool {
        match rows.operator() {
            Operator::Scan { .. } => true,
            Operator::Filter { input, .. } | Operator::Project { input, .. } => {
                self.repeats_nothing(input)
            }
            Operator::Join { kind, left, .. } if !kind.shows_right() => self.repeats_nothing(left),
            Operator::Join { left, right, on, .. } => {
                let keys = on.iter().map(|(_, key)| key);
                *right.protection() == Protection::Public
                    && (right.has_one(keys.clone()) || self.unique_key(right, keys).is_some())
                    && self.repeats_nothing(left)
            }
            _ => false,
        }
    }

    /// Whether the values of a table's column lead to units.
    pub(super) fn lead_to_units(&self, column: &Origin) -> bool {
        self.classes.iter().any(|class| class.contains(column))
    }

    /// The table's column that a value is, where rows that agree in it are of one unit: it refers
    /// to a row, or is referred to.
    pub(super) fn leading_to_units<'a>(
        &self,
        value: &Expr,
        rows: &'a Relation,
    ) -> Option<&'a Origin> {
        let ExprKind::Column(column) = value.kind else { return None };
        let origin = rows.fields().get(column)?.origin.as_ref()?;
        self.lead_to_units(origin).then_some(origin)
    }

    /// Whether one of the equalities is between columns of one class.
    pub(super) fn carry_the_unit(
        &self,
        on: &[(Expr, Expr)],
        left: &Relation,
        right: &Relation,
    ) -> bool {
        let origin = |expr: &Expr, relation: &Relation| match expr.kind {
            ExprKind::Column(column) => relation.fields().get(column)?.origin.clone(),
            _ => None,
        };
        on.iter().any(|(l, r)| {
            let (Some(l), Some(r)) = (origin(l, left), origin(r, right)) else { return false };
            self.classes.iter().any(|class| class.contains(&l) && class.contains(&r))
        })
    }
}

/// Most nodes of all expressions of a query when sub-queries' columns stand in place of their
/// names.
const MAX_INLINED: usize = 20_000;

/// Refuses expressions over a sub-query's columns that would be too long, before they are written
/// out.
fn check_inlined<'a>(
    exprs: impl Iterator<Item = &'a Expr>,
    columns: &[NamedExpr],
) -> Result<(), Refusal> {
    let sizes: Vec<usize> = columns.iter().map(|column| column.expr.size().1).collect();
    let (mut nodes, mut known) = (0usize, true);
    for expr in exprs {
        nodes = nodes.saturating_add(expr.size().1);
        expr.visit_columns(&mut |index| match sizes.get(index) {
            Some(size) => nodes = nodes.saturating_add(*size),
            None => known = false,
        });
    }
    if !known {
        return Err(Refusal::new(
            "a sub-query lacks a column that is read from it",
            "use columns that the sub-query's SELECT lists",
        ));
    }
    if nodes > MAX_INLINED {
        return Err(Refusal::new(
            format!(
                "the query has {nodes} parts when its sub-queries' columns are written out; at \
                 most {MAX_INLINED} are allowed"
            ),
            "use shorter columns in the sub-query, or fewer conditions on them",
        ));
    }
    Ok(())
}

/// Whether an expression reads columns before `shift`, and from there on.
pub(super) fn sides(expr: &Expr, shift: usize) -> (bool, bool) {
    let (mut left, mut right) = (false, false);
    expr.visit_columns(&mut |c| if c < shift { left = true } else { right = true });
    (left, right)
}

/// An equality between the sides, as the left side's value and the right's over its own columns.
pub(super) fn equality(condition: &Expr, shift: usize) -> Option<(Expr, Expr)> {
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
    match operator {
        Operator::Take { input, rows } => {
            Relation::new(Operator::Take { input: filtered(input, condition)?, rows })
        }
        // Of protected rows, the first is chosen among those that are wanted.
        Operator::First { input, keys } if input.protection().unit().is_some() => {
            Relation::new(Operator::First { input: filtered(input, condition)?, keys })
        }
        operator => below_join(operator, condition),
    }
}

/// Puts a condition below a join, where there is one.
fn below_join(operator: Operator, condition: Expr) -> Result<Relation, Refusal> {
    if let Operator::Join { kind, left, right, on, condition: join_condition, max_rows } = operator
    {
        let shift = left.fields().len();
        let (left, right) = match sides(&condition, shift) {
            (true, false) => (filtered(left, condition)?, right),
            (false, true) if kind == JoinKind::Inner => {
                (left, filtered(right, condition.moved(&|c| c - shift))?)
            }
            _ => {
                let join =
                    Operator::Join { kind, left, right, on, condition: join_condition, max_rows };
                return Relation::new(Operator::Filter { input: Relation::new(join)?, condition });
            }
        };
        return Relation::new(Operator::Join {
            kind,
            left,
            right,
            on,
            condition: join_condition,
            max_rows,
        });
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
                (!terms.is_empty()).then(|| hushtable_lang::bind_expr::balanced(terms, &Expr::and))
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
