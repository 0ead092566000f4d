//! FROM and WHERE: tables, sub-queries, joins and memberships to one relation.

use hushtable_contract::Contract;
use hushtable_lang::bind_expr::{
    RowScope, Visible, bind_row_expression, compare, condition, row_values,
};
use hushtable_lang::{BinaryOp, Expr, Refusal, did_you_mean, similar};
use sqlparser::ast;

use super::mentions::has_aggregate;
use super::rowset::{References, RowSet, RowsColumn, conjuncts};
use super::select::plain_clauses;
use super::syntax::{not_a_table, plain_table, select_of};
use super::walk::table_name;
use crate::relation::{JoinKind, Operator};

/// The tables and common table expressions that a query may name.
#[derive(Clone)]
pub(super) struct QueryTables<'a> {
    pub(super) contract: &'a Contract,
    /// In the order of WITH: each may name those before it, and hides those of its name.
    named: Vec<&'a ast::Cte>,
}

/// FROM and WHERE of one SELECT.
#[derive(Clone)]
pub(super) struct FromAndWhere {
    pub(super) rows: RowSet,
    /// Conditions of WHERE on them that are left to apply.
    pub(super) rest: Vec<Expr>,
    /// Conditions on the rows of the query around followed by these.
    correlated: Vec<Expr>,
}

impl<'a> QueryTables<'a> {
    pub(super) fn of(contract: &'a Contract) -> Self {
        Self { contract, named: Vec::new() }
    }

    /// With common table expressions, in their order.
    pub(super) fn naming(contract: &'a Contract, named: Vec<&'a ast::Cte>) -> Self {
        Self { contract, named }
    }

    /// With the names that a WITH gives.
    pub(super) fn with(&self, with: Option<&'a ast::With>) -> Result<Self, Refusal> {
        let mut tables = self.clone();
        let Some(with) = with else { return Ok(tables) };
        if with.recursive {
            return Err(Refusal::new(
                "WITH RECURSIVE is not supported",
                "write a fixed number of steps, each a common table expression",
            ));
        }
        let around = tables.named.len();
        for cte in &with.cte_tables {
            let name = &cte.alias.name.value;
            if tables.named[around..].iter().any(|c| c.alias.name.value.eq_ignore_ascii_case(name))
            {
                let twice =
                    Refusal::new(format!("WITH names `{name}` twice"), "give it another name");
                return Err(twice.at(&cte.alias.name));
            }
            tables.named.push(cte);
        }
        Ok(tables)
    }

    /// The rows of FROM, with all conditions of WHERE.
    pub(super) fn filtered(&self, select: &'a ast::Select) -> Result<RowSet, Refusal> {
        let FromAndWhere { rows, rest, .. } = self.selected(select, None)?;
        rest.into_iter().try_fold(rows, RowSet::filtered)
    }

    /// The rows of FROM and the conditions of WHERE. `outer` are the rows of the query around,
    /// whose columns conditions may name.
    pub(super) fn selected(
        &self,
        select: &'a ast::Select,
        outer: Option<&RowSet>,
    ) -> Result<FromAndWhere, Refusal> {
        if select.from.is_empty() {
            return Err(Refusal::new("the query has no FROM", self.listed()));
        }
        let mut sides = FromItems::new(outer);
        for from in &select.from {
            let mut rows = self.factor(&from.relation)?;
            for join in &from.joins {
                rows = self.join(rows, join).map_err(|refusal| refusal.at(join))?;
            }
            sides.add(rows);
        }
        let (mut conditions, mut memberships) = (Vec::new(), Vec::new());
        if let Some(node) = &select.selection {
            let scope = sides.scope();
            for term in terms(node) {
                match membership(term) {
                    Some(membership) => memberships.push(membership),
                    None => {
                        let bound = condition(bind_row_expression(term, &scope)?, term, "WHERE");
                        conditions.extend(conjuncts(bound.map_err(|refusal| refusal.at(term))?));
                    }
                }
            }
        }
        let joined = sides.joined(conditions, &References::of(self.contract));
        let mut selected = joined.map_err(|refusal| refusal.at(select.from.as_slice()))?;
        if !memberships.is_empty() {
            // Conditions first: fewer rows are looked up.
            let rest = std::mem::take(&mut selected.rest);
            let mut rows = rest.into_iter().try_fold(selected.rows, RowSet::filtered)?;
            for membership in memberships {
                let member = self.member(rows, &membership);
                rows = member.map_err(|refusal| refusal.at(membership.node))?;
            }
            selected.rows = rows;
        }
        Ok(selected)
    }

    /// Keeps the rows that are, or are not, members.
    fn member(&self, rows: RowSet, membership: &Membership<'a>) -> Result<RowSet, Refusal> {
        let references = References::of(self.contract);
        let kind = if membership.negated { JoinKind::Anti } else { JoinKind::Semi };
        let shift = rows.relation.fields().len();
        let Some(value) = membership.value else {
            let select = self.plain_select(membership.query)?;
            let FromAndWhere { rows: inner, rest, correlated } =
                self.selected(select, Some(&rows))?;
            let inner = rest.into_iter().try_fold(inner, RowSet::filtered)?;
            return rows.joined(kind, inner, correlated, &references);
        };
        let nodes = row_values(value).unwrap_or(std::slice::from_ref(value));
        let scope = rows.scope();
        let values = nodes.iter().map(|value| bind_row_expression(value, &scope));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let inner = self.query(membership.query)?;
        if inner.columns.len() != values.len() {
            let columns = inner.columns.len();
            return Err(match values.len() {
                1 => Refusal::new(
                    format!("a sub-query of IN has {columns} columns"),
                    "x IN (SELECT y FROM …)",
                ),
                values => Refusal::new(
                    format!("{values} values are looked for in a sub-query with {columns} columns"),
                    "(a, b) IN (SELECT x, y FROM …)",
                ),
            });
        }
        let equal = values.into_iter().zip(&inner.columns).map(|(value, column)| {
            compare(BinaryOp::Eq, value, column.visible.expr.clone().moved(&|c| c + shift))
        });
        let equal = equal.collect::<Result<Vec<_>, _>>()?;
        if !membership.negated {
            return rows.joined(kind, inner, equal, &references);
        }
        let names = [
            nodes.iter().map(operand).collect(),
            selected_operands(membership.query, &inner.columns),
        ];
        rows.not_in(inner, equal, &names, self.contract)
    }

    /// The SELECT of EXISTS, where only the existence of rows matters.
    fn plain_select(&self, query: &'a ast::Query) -> Result<&'a ast::Select, Refusal> {
        let hint = "EXISTS (SELECT 1 FROM … WHERE inner.key = outer.key AND …)";
        match query.body.as_ref() {
            ast::SetExpr::Select(select)
                if query.with.is_none()
                    && query.limit_clause.is_none()
                    && query.fetch.is_none()
                    && select.qualify.is_none()
                    && !has_aggregate(select)
                    && matches!(
                        &select.group_by,
                        ast::GroupByExpr::Expressions(keys, _) if keys.is_empty()
                    )
                    && select.having.is_none() =>
            {
                plain_clauses(query, select)?;
                Ok(select)
            }
            _ => Err(Refusal::new("this form of EXISTS is not supported", hint)),
        }
    }

    /// One table or sub-query of FROM.
    fn factor(&self, factor: &'a ast::TableFactor) -> Result<RowSet, Refusal> {
        if let Some((name, alias)) = plain_table(factor) {
            return self.named_table(name, alias).map_err(|refusal| refusal.at(factor));
        }
        let rows = match factor {
            ast::TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
                self.query(subquery).and_then(|rows| match alias {
                    Some(alias) => rows.renamed(alias),
                    None => Ok(rows),
                })
            }
            // A table in which values are looked up: no name without a table finds its columns.
            ast::TableFactor::Derived {
                lateral: true,
                subquery,
                alias: Some(alias),
                sample: None,
            } => {
                let rows = select_of(subquery).and_then(|select| self.select(select, true));
                rows.and_then(|rows| rows.renamed(alias)).map(RowSet::named_with_table)
            }
            ast::TableFactor::NestedJoin { table_with_joins, alias: None } => {
                let first = self.factor(&table_with_joins.relation);
                table_with_joins.joins.iter().fold(first, |rows, join| {
                    self.join(rows?, join).map_err(|refusal| refusal.at(join))
                })
            }
            other => Err(not_a_table(other)),
        };
        rows.map_err(|refusal| refusal.at(factor))
    }

    /// No table has that name. `others` are names that are no tables here, and may have been meant.
    pub(super) fn unknown(&self, name: &ast::ObjectName, others: &[&str]) -> Refusal {
        let (requested, names) = (table_name(name), self.names());
        let similar = similar(&requested, names.iter().chain(others).copied());
        let hint = did_you_mean(similar, self.listed());
        Refusal::new(format!("there is no table `{requested}`"), hint).at(name)
    }

    fn named_table(
        &self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
    ) -> Result<RowSet, Refusal> {
        let requested = table_name(name);
        let is_named = |cte: &&ast::Cte| cte.alias.name.value.eq_ignore_ascii_case(&requested);
        let rows = match self.named.iter().rposition(is_named) {
            Some(index) => {
                let cte = self.named[index];
                let before = Self { contract: self.contract, named: self.named[..index].to_vec() };
                before.query(&cte.query)?.renamed(&cte.alias)?
            }
            None => {
                let table =
                    self.contract.table(&requested).ok_or_else(|| self.unknown(name, &[]))?;
                RowSet::of_table(table, &table.name, self.contract)?
            }
        };
        match alias {
            Some(alias) => rows.renamed(alias),
            None => Ok(rows),
        }
    }

    fn names(&self) -> Vec<&str> {
        let cte_names = self.named.iter().map(|c| c.alias.name.value.as_str());
        cte_names.chain(self.contract.tables.keys().map(String::as_str)).collect()
    }

    pub(super) fn listed(&self) -> String {
        format!("the tables are {}", self.names().join(", "))
    }

    fn join(&self, left: RowSet, join: &'a ast::Join) -> Result<RowSet, Refusal> {
        use ast::JoinOperator as J;
        let ast::Join { relation, global, join_operator } = join;
        let (kind, constraint, swapped) = match join_operator {
            _ if *global => return Err(no_join(join)),
            J::CrossJoin(c @ ast::JoinConstraint::None) => (JoinKind::Inner, c, false),
            J::Join(c) | J::Inner(c) => (JoinKind::Inner, c, false),
            J::Left(c) | J::LeftOuter(c) | J::FullOuter(c) => (JoinKind::Left, c, false),
            J::Right(c) | J::RightOuter(c) => (JoinKind::Left, c, true),
            J::Semi(c) | J::LeftSemi(c) => (JoinKind::Semi, c, false),
            J::Anti(c) | J::LeftAnti(c) => (JoinKind::Anti, c, false),
            _ => return Err(no_join(join)),
        };
        let is_full = matches!(join_operator, J::FullOuter(_));
        let right = self.factor(relation)?;
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        let left = if is_full { left.with_units()?.materialised()? } else { left };
        let right = if is_full { right.with_units()? } else { right };
        // Without a match all columns are NULL, computed ones too.
        let mut right = if kind == JoinKind::Left { right.materialised()? } else { right };
        let shift = left.relation.fields().len();
        let mut shared = Vec::new();
        let shifted = |column: &RowsColumn| Visible {
            expr: column.visible.expr.clone().moved(&|c| c + shift),
            ..column.visible.clone()
        };
        let mut equal = Vec::new();
        match constraint {
            ast::JoinConstraint::On(node) => {
                let both = left.columns.iter().map(|c| c.visible.clone());
                let scope = RowScope::new(both.chain(right.columns.iter().map(shifted)).collect());
                equal = conjuncts(condition(bind_row_expression(node, &scope)?, node, "ON")?);
            }
            ast::JoinConstraint::Using(names) => {
                let (left_scope, right_scope) =
                    (left.scope(), RowScope::new(right.columns.iter().map(shifted).collect()));
                for name in names {
                    let [only] = name.0.as_slice() else {
                        return Err(Refusal::new(format!("USING ({name})"), "USING (column)"));
                    };
                    let ident = only.as_ident().cloned().unwrap_or_else(|| ast::Ident::new(""));
                    let node = ast::Expr::Identifier(ident.clone());
                    let left_value = bind_row_expression(&node, &left_scope)?;
                    let other = bind_row_expression(&node, &right_scope)?;
                    equal.push(compare(BinaryOp::Eq, left_value, other)?);
                    let position = |scope: &RowScope| {
                        let lost = || Refusal::fault("a column that USING names is not found");
                        scope.position(&ident.value).ok_or_else(lost)
                    };
                    let (of_left, of_right) = (position(&left_scope)?, position(&right_scope)?);
                    // The name means the left side's column from here on.
                    if let Some(column) = right.columns.get_mut(of_right) {
                        column.visible.plain = false;
                    }
                    shared.push((of_left, of_right));
                }
            }
            ast::JoinConstraint::None if matches!(join_operator, J::CrossJoin(_)) => {}
            ast::JoinConstraint::Natural | ast::JoinConstraint::None => {
                return Err(Refusal::new(
                    format!("`{}` names no columns to join on", join.to_string().trim()),
                    "JOIN … ON a.key = b.key, or USING (key)",
                ));
            }
        }
        let references = References::of(self.contract);
        if is_full {
            return left.fully_joined(right, equal, &shared, &references);
        }
        left.joined(kind, right, equal, &references)
    }
}

/// An expression as it stands before an operator.
fn operand(node: &ast::Expr) -> String {
    match node {
        ast::Expr::BinaryOp { left: _, op: _, right: _ }
        | ast::Expr::UnaryOp { op: _, expr: _ } => format!("({node})"),
        _ => node.to_string(),
    }
}

/// The columns of a sub-query as its WHERE can name them.
fn selected_operands(query: &ast::Query, columns: &[RowsColumn]) -> Vec<String> {
    let items = match query.body.as_ref() {
        ast::SetExpr::Select(select) => select.projection.as_slice(),
        _ => &[],
    };
    let named = items.iter().map(|item| match item {
        ast::SelectItem::UnnamedExpr(node) => Some(operand(node)),
        ast::SelectItem::ExprWithAlias { expr, alias: _ } => Some(operand(expr)),
        _ => None,
    });
    let named = named.collect::<Option<Vec<_>>>().filter(|named| named.len() == columns.len());
    named.unwrap_or_else(|| columns.iter().map(|c| c.visible.name.clone()).collect())
}

/// Refuses a join of a kind that rows cannot have.
fn no_join(join: &ast::Join) -> Refusal {
    Refusal::new(
        format!("`{}` is not supported", join.to_string().trim()),
        "use JOIN … ON, LEFT, RIGHT or FULL JOIN … ON, or tables after commas in FROM with \
         equalities in WHERE",
    )
}

/// `x [NOT] IN (SELECT …)` or `[NOT] EXISTS (SELECT …)`.
pub(super) struct Membership<'a> {
    node: &'a ast::Expr,
    pub(super) value: Option<&'a ast::Expr>,
    pub(super) query: &'a ast::Query,
    negated: bool,
}

/// The terms of a chain of AND.
pub(super) fn terms(node: &ast::Expr) -> Vec<&ast::Expr> {
    match node {
        ast::Expr::Nested(inner) => terms(inner),
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
            let mut all = terms(left);
            all.extend(terms(right));
            all
        }
        _ => vec![node],
    }
}

pub(super) fn membership(node: &ast::Expr) -> Option<Membership<'_>> {
    match node {
        ast::Expr::Nested(inner) => membership(inner),
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Not, expr } => {
            let inner = membership(expr)?;
            Some(Membership { negated: !inner.negated, node, ..inner })
        }
        ast::Expr::InSubquery { expr, subquery, negated } => {
            Some(Membership { node, value: Some(expr), query: subquery, negated: *negated })
        }
        ast::Expr::Exists { subquery, negated } => {
            Some(Membership { node, value: None, query: subquery, negated: *negated })
        }
        _ => None,
    }
}

/// The items of FROM before they are joined. Conditions count the columns of the query around
/// first, then those of each item.
struct FromItems {
    outer: Vec<Visible>,
    outer_width: usize,
    items: Vec<RowSet>,
}

impl FromItems {
    fn new(outer: Option<&RowSet>) -> Self {
        Self {
            outer: outer
                .map_or_else(Vec::new, |o| o.columns.iter().map(|c| c.visible.clone()).collect()),
            outer_width: outer.map_or(0, |o| o.relation.fields().len()),
            items: Vec::new(),
        }
    }

    fn add(&mut self, rows: RowSet) {
        self.items.push(rows);
    }

    /// Where each item's columns begin.
    fn starts(&self) -> Vec<usize> {
        let mut next = self.outer_width;
        let start = |rows: &RowSet| {
            let start = next;
            next += rows.relation.fields().len();
            start
        };
        self.items.iter().map(start).collect()
    }

    fn scope(&self) -> RowScope {
        let mut visible = Vec::new();
        for (rows, start) in self.items.iter().zip(self.starts()) {
            visible.extend(rows.columns.iter().map(|c| Visible {
                expr: c.visible.expr.clone().moved(&|column| column + start),
                ..c.visible.clone()
            }));
        }
        RowScope::new(visible).within(self.outer.clone())
    }

    /// Joins the items by the equalities among the conditions, each with one that is joined
    /// already.
    fn joined(
        self,
        conditions: Vec<Expr>,
        references: &References,
    ) -> Result<FromAndWhere, Refusal> {
        let starts = self.starts();
        let outer_width = self.outer_width;
        // Item 0 is the query around.
        let item_of = |column: usize| starts.iter().take_while(|start| **start <= column).count();
        let items_of = |expr: &Expr| {
            let mut items = Vec::new();
            expr.visit_columns(&mut |c| {
                if !items.contains(&item_of(c)) {
                    items.push(item_of(c));
                }
            });
            items
        };
        let mut pending: Vec<Option<RowSet>> = self.items.into_iter().map(Some).collect();
        let only = pending.len() == 1;
        let (mut between, mut rest, mut correlated) = (Vec::new(), Vec::new(), Vec::new());
        for condition in conditions {
            match items_of(&condition).as_slice() {
                items if items.contains(&0) => correlated.push(condition),
                [item] if !only => {
                    let start = starts[*item - 1];
                    let slot = &mut pending[*item - 1];
                    let local = condition.moved(&|c| c - start);
                    *slot = slot.take().map(|rows| rows.filtered(local)).transpose()?;
                }
                [] | [_] => rest.push(condition),
                _ => between.push(condition),
            }
        }
        let mut offsets: Vec<Option<usize>> = vec![None; pending.len()];
        let mut order = vec![0];
        let mut rows = pending[0].take().ok_or_else(lost)?;
        let mut widths = vec![rows.columns.len()];
        // Columns that hold the unit once more, and the one that names it.
        let mut again: Vec<(usize, usize)> = Vec::new();
        offsets[0] = Some(0);
        while order.len() < pending.len() {
            let linked = |item: usize| {
                between.iter().any(|condition| {
                    let items = items_of(condition);
                    items.contains(&(item + 1))
                        && items.iter().all(|&i| i == item + 1 || offsets[i - 1].is_some())
                        && matches!(
                            condition.kind,
                            hushtable_lang::ExprKind::Binary(BinaryOp::Eq, ..)
                        )
                })
            };
            // Tables of a second population come last: what they are joined with is bounded before.
            let population = rows.relation.protection().population();
            let alike = |item: &usize| {
                let other = pending[*item].as_ref();
                let other = other.and_then(|rows| rows.relation.protection().population());
                population.is_none() || other.is_none() || population == other
            };
            let waiting = |item: &usize| offsets[*item].is_none() && linked(*item);
            let items = (0..pending.len()).filter(waiting);
            let public = |item: &usize| pending[*item].as_ref().is_some_and(RowSet::is_public);
            // Rows may meet all of a public table.
            let unlinked = || {
                let beside =
                    |item: &usize| offsets[*item].is_none() && public(item) != rows.is_public();
                (0..pending.len()).find(beside)
            };
            let next = items.clone().find(alike).or_else(|| items.clone().next());
            let next = next.or_else(unlinked);
            let next = next.ok_or_else(|| {
                let equal = pending.iter().flatten().find_map(|other| rows.equal_units(other));
                Refusal::new(
                    "FROM has tables that no equality in WHERE joins with the others",
                    match equal {
                        Some(equal) => format!("WHERE {equal}, which compares their units"),
                        None => "JOIN … ON a.key = b.key".to_owned(),
                    },
                )
            })?;
            let right = pending[next].take().ok_or_else(lost)?;
            let shift = rows.relation.fields().len();
            let ready = |condition: &Expr| {
                items_of(condition).iter().all(|&i| i == next + 1 || offsets[i - 1].is_some())
            };
            let (now, later): (Vec<Expr>, Vec<Expr>) = between.iter().cloned().partition(ready);
            between = later;
            let joined_column = |c: usize| {
                let item = item_of(c) - 1;
                let within = c - starts[item];
                named_once(offsets[item].unwrap_or(shift) + within, &again)
            };
            let now = now.into_iter().map(|condition| condition.moved(&joined_column)).collect();
            widths.push(right.columns.len());
            rows = rows.joined(JoinKind::Inner, right, now, references)?;
            offsets[next] = Some(match rows.relation.operator() {
                Operator::Join { left, .. } => left.fields().len(),
                _ => return Err(lost()),
            });
            again = rows.relation.units().iter().map(|&c| (c, rows.relation.naming(c))).collect();
            order.push(next);
        }
        // The columns in the order of FROM, whatever the order of joining.
        let mut columns: Vec<Vec<RowsColumn>> = vec![Vec::new(); order.len()];
        let mut joined = std::mem::take(&mut rows.columns).into_iter();
        for (item, count) in order.iter().zip(widths) {
            columns[*item] = joined.by_ref().take(count).collect();
        }
        rows.columns = columns.into_iter().flatten().collect();
        let joined_column = |c: usize| match item_of(c) {
            0 => c,
            item => {
                let within = c - starts[item - 1];
                outer_width + named_once(offsets[item - 1].unwrap_or(0) + within, &again)
            }
        };
        let local = |c: usize| joined_column(c) - outer_width;
        Ok(FromAndWhere {
            rows,
            rest: rest.into_iter().map(|condition| condition.moved(&local)).collect(),
            correlated: correlated
                .into_iter()
                .map(|condition| condition.moved(&joined_column))
                .collect(),
        })
    }
}

/// The column, or the one that names the unit where it holds the unit once more.
fn named_once(column: usize, again: &[(usize, usize)]) -> usize {
    again.iter().find(|(twin, _)| *twin == column).map_or(column, |(_, unit)| *unit)
}

fn lost() -> Refusal {
    Refusal::new(
        "the tables in FROM cannot be joined one after another",
        "write JOIN … ON in the order of the equalities",
    )
}
