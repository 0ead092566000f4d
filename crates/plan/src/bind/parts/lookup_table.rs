//! The table in which a sub-query's value is looked up, and the expression in its place.

use hushtable_lang::Refusal;
use hushtable_lang::aggregate_names::{aggregate_name, calls_aggregate};
use sqlparser::ast;

use super::names_around::{FromNames, Outside};
use crate::bind::from::{membership, terms};
use crate::bind::select::limits;
use crate::bind::syntax::{call, plain_table, query_of, select_of, select_of_mut, simple_select};
use crate::bind::walk::{any, is_name, looks_around, operands_mut, select_list, table_name};

/// A sub-query as a table that is joined with the rows around it.
pub(super) struct LookupTable {
    /// The sub-query as it was written.
    pub(super) written: ast::Expr,
    /// The table's name.
    pub(super) alias: String,
    /// The item of FROM whose rows look it up; the first where all rows have one value.
    pub(super) item: usize,
    /// Its SELECT.
    pub(super) select: ast::Select,
    /// The values around it that its keys equal.
    equal: Vec<ast::Expr>,
    /// Conditions on the rows around it alone.
    conditions: Vec<ast::Expr>,
    /// The expression that has its value.
    value: ast::Expr,
}

/// The role of an expression in the one around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A condition, in which NULL is as good as false.
    Condition,
    /// Any value.
    Value,
}

/// The sub-queries of one SELECT.
pub(super) struct Looking<'a> {
    /// The names of each item of FROM.
    pub(super) around: Vec<FromNames>,
    /// Whether a name is that of a public table.
    pub(super) is_public: &'a dyn Fn(&str) -> bool,
    /// The columns of the table of that name, where the contract has it.
    pub(super) columns_of: &'a dyn Fn(&str) -> Option<Vec<String>>,
    /// The tables of the sub-queries that were found.
    pub(super) found: Vec<LookupTable>,
    /// The refusal of the first one that names the rows around it and is no table.
    pub(super) refusal: Option<Refusal>,
}

impl LookupTable {
    /// The condition of the join.
    pub(super) fn condition(&self) -> ast::Expr {
        let equal = self.equal.iter().enumerate().map(|(key, around)| ast::Expr::BinaryOp {
            left: Box::new(around.clone()),
            op: ast::BinaryOperator::Eq,
            right: Box::new(column_of(&self.alias, &key_name(key))),
        });
        let always = || ast::Expr::Value(ast::Value::Boolean(true).with_empty_span());
        all_of_them(equal.chain(self.conditions.iter().cloned())).unwrap_or_else(always)
    }
}

impl Looking<'_> {
    /// Puts columns in the place of the sub-queries of WHERE, but for semi-joins.
    pub(super) fn put_in_terms(&mut self, node: &mut ast::Expr) {
        match node {
            _ if membership(node).is_some() => {}
            ast::Expr::Nested(inner) => self.put_in_terms(inner),
            ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
                self.put_in_terms(left);
                self.put_in_terms(right);
            }
            _ => self.put_columns(node, Role::Condition),
        }
    }

    /// Puts columns in the place of the sub-queries of an expression.
    pub(super) fn put_columns(&mut self, node: &mut ast::Expr, role: Role) {
        let is_value = matches!(node, ast::Expr::InSubquery { expr: _, subquery: _, negated: _ })
            && role == Role::Value;
        let same = |table: &&LookupTable| table.written == *node && !is_value;
        if let Some(earlier) = self.found.iter().find(same) {
            *node = earlier.value.clone();
            return;
        }
        let table = match &*node {
            ast::Expr::Subquery(query) => self.table(node, query, None),
            ast::Expr::Exists { subquery, negated: _ } => {
                let rows = rows_of(subquery, true);
                rows.and_then(|(query, _)| self.table(node, &query, None))
            }
            // NOT IN of what may be NULL is not the opposite of IN.
            ast::Expr::InSubquery { expr, subquery, negated: false } if role == Role::Condition => {
                rows_of(subquery, false).and_then(|(query, column)| {
                    self.table(node, &query, Some((column?, expr.as_ref().clone())))
                })
            }
            _ => None,
        };
        if let Some(mut table) = table {
            let compared = |op| {
                let (left, right) = (Box::new(table.value.clone()), Box::new(zero()));
                ast::Expr::Nested(Box::new(ast::Expr::BinaryOp { left, op, right }))
            };
            table.value = match node {
                ast::Expr::Subquery(_) => ast::Expr::Nested(Box::new(table.value.clone())),
                ast::Expr::Exists { subquery: _, negated: true } => {
                    compared(ast::BinaryOperator::Eq)
                }
                _ => compared(ast::BinaryOperator::Gt),
            };
            *node = table.value.clone();
            self.found.push(table);
            return;
        }
        self.refuse_other_comparisons(node);
        if let ast::Expr::Function(function) = node
            && let Some(filter) = &mut function.filter
        {
            self.put_columns(filter, Role::Condition);
        }
        for (operand, role) in operands_in_roles(node, role) {
            self.put_columns(operand, role);
        }
    }

    /// Keeps the refusal of a sub-query that names columns around it and is no table.
    fn refuse_other_comparisons(&mut self, node: &ast::Expr) {
        let (ast::Expr::Subquery(query) | ast::Expr::Exists { subquery: query, negated: _ }) = node
        else {
            return;
        };
        let Ok(select) = select_of(query) else { return };
        let inner = FromNames::of(&select.from, self.columns_of);
        let outside = Outside { inner: &inner, around: &self.around };
        let names_around = |e: &ast::Expr| outside.item_named(e).is_some();
        let mut clauses = select_list(select).chain(&select.selection).chain(&select.having);
        if self.refusal.is_none() && clauses.any(|clause| any(clause, &names_around)) {
            let refusal = Refusal::new(
                "a sub-query reads the rows around it in a way that is not supported where it \
                 stands",
                "one SELECT of aggregates without GROUP BY, HAVING and LIMIT that compares by \
                 equality in WHERE: (SELECT MAX(y) FROM t WHERE t.unit = rows.unit); other \
                 comparisons in WHERE EXISTS (…), or in a join in FROM",
            );
            self.refusal = Some(refusal.at(node));
        }
    }

    /// The sub-query as a table, if it is made of aggregates of rows that are equal to those around
    /// it in some values, or of public rows. `equal` is compared beside the values of WHERE.
    fn table(
        &self,
        written: &ast::Expr,
        query: &ast::Query,
        equal: Option<(ast::Expr, ast::Expr)>,
    ) -> Option<LookupTable> {
        let (select, value) = one_aggregate(query)?;
        let inner = FromNames::of(&select.from, self.columns_of);
        let outside = Outside { inner: &inner, around: &self.around };
        let mut item = None;
        if let Some((column, value)) = &equal {
            // IN compares a value that stands outside: a name without a table is one of a single
            // item, whatever columns that has.
            let only = (self.around.len() == 1).then_some(0);
            item = Some(outside.item(value)?.or(only)?);
            if outside.item(column)?.is_some() {
                return None;
            }
        }
        let mut equal: Vec<(ast::Expr, ast::Expr)> = equal.into_iter().collect();
        let (mut rest, mut conditions) = (Vec::new(), Vec::new());
        for term in select.selection.iter().flat_map(terms) {
            let Some(of) = outside.item(term)? else {
                rest.push(term.clone());
                continue;
            };
            if item.is_some_and(|item| item != of) {
                return None;
            }
            item = Some(of);
            match outside.equality(term) {
                Some(pair) => equal.push(pair),
                None if outside.is_around(term) => conditions.push(term.clone()),
                None => return None,
            }
        }
        if equal.is_empty() && !self.is_of_public_tables(select) {
            return None;
        }
        let alias = self.free_alias();
        let (mut value, mut aggregates) = (value.clone(), Vec::new());
        put_aggregates(&mut value, &alias, &mut aggregates)?;
        let is_outside = |name: &ast::Expr| match name {
            ast::Expr::CompoundIdentifier(path)
                if path.first().is_some_and(|p| p.value == alias) =>
            {
                true
            }
            _ => outside.item_named(name).is_some(),
        };
        if any(&value, &|e| is_name(e) && !is_outside(e)) {
            return None;
        }
        let (keys, equal): (Vec<ast::Expr>, Vec<ast::Expr>) = equal.into_iter().unzip();
        let named =
            |(expr, name)| ast::SelectItem::ExprWithAlias { expr, alias: ast::Ident::new(name) };
        let key_columns = keys.iter().cloned().enumerate().map(|(n, key)| (key, key_name(n)));
        let values = aggregates.into_iter().enumerate().map(|(n, one)| (one, value_name(n)));
        let table = ast::Select {
            projection: key_columns.chain(values).map(named).collect(),
            selection: all_of_them(rest.into_iter()),
            group_by: ast::GroupByExpr::Expressions(keys, Vec::new()),
            ..select.clone()
        };
        let item = item.unwrap_or(0);
        let written = written.clone();
        Some(LookupTable { written, alias, item, select: table, equal, conditions, value })
    }

    /// A name that no table around has.
    fn free_alias(&self) -> String {
        let mut number = self.found.len() + 1;
        let name = |number: usize| format!("sub_query_{number}");
        while self.around.iter().any(|names| names.has_table(&name(number))) {
            number += 1;
        }
        name(number)
    }

    /// Whether a SELECT reads public tables of the contract alone.
    fn is_of_public_tables(&self, select: &ast::Select) -> bool {
        let is_public = |factor: &ast::TableFactor| {
            plain_table(factor).is_some_and(|(name, _)| (self.is_public)(&table_name(name)))
        };
        let all = |from: &ast::TableWithJoins| {
            is_public(&from.relation) && from.joins.iter().all(|join| is_public(&join.relation))
        };
        !select.from.is_empty() && select.from.iter().all(all)
    }
}

/// The SELECT of a query that shows one expression of aggregates, and that expression.
fn one_aggregate(query: &ast::Query) -> Option<(&ast::Select, &ast::Expr)> {
    let select = select_of(query).ok()?;
    let [
        ast::SelectItem::UnnamedExpr(value)
        | ast::SelectItem::ExprWithAlias { expr: value, alias: _ },
    ] = select.projection.as_slice()
    else {
        return None;
    };
    let plain = ast::Select {
        select_token: select.select_token.clone(),
        projection: select.projection.clone(),
        from: select.from.clone(),
        selection: select.selection.clone(),
        ..simple_select()
    };
    let is_plain = *select == plain && *query == query_of(plain);
    (is_plain && any(value, &calls_aggregate)).then_some((select, value))
}

/// Puts columns of the table in the place of the aggregates of an expression. A count of no rows is
/// zero, and every other aggregate of none is NULL, as a row without a match has it.
fn put_aggregates(
    node: &mut ast::Expr,
    table: &str,
    aggregates: &mut Vec<ast::Expr>,
) -> Option<()> {
    if calls_aggregate(node) {
        let known = aggregates.iter().position(|aggregate| aggregate == node);
        let index = known.unwrap_or(aggregates.len());
        let column = column_of(table, &value_name(index));
        let counts = aggregate_name(node).is_some_and(|(_, name)| name.contains("COUNT"));
        let in_place = if counts { call("COALESCE", vec![column, zero()]) } else { column };
        let aggregate = std::mem::replace(node, in_place);
        if known.is_none() {
            aggregates.push(aggregate);
        }
        return Some(());
    }
    if looks_around(node) {
        return None;
    }
    operands_mut(node)?.into_iter().try_for_each(|e| put_aggregates(e, table, aggregates))
}

/// The operands of an expression, each with its role.
fn operands_in_roles(node: &mut ast::Expr, role: Role) -> Vec<(&mut ast::Expr, Role)> {
    use ast::BinaryOperator::{And, Or};
    let first = match node {
        ast::Expr::Function(function) => {
            let name = function.name.to_string().to_uppercase();
            matches!(name.as_str(), "COUNTIF" | "SUM" | "IF" | "IIF" | "IFF")
        }
        _ => false,
    };
    match node {
        ast::Expr::Nested(inner) => vec![(inner, role)],
        ast::Expr::BinaryOp { left, op: And | Or, right } => vec![(left, role), (right, role)],
        ast::Expr::Case { case_token: _, end_token: _, operand: None, conditions, else_result } => {
            let mut all: Vec<(&mut ast::Expr, Role)> = Vec::new();
            for branch in conditions {
                all.push((&mut branch.condition, Role::Condition));
                all.push((&mut branch.result, role));
            }
            all.extend(else_result.iter_mut().map(|e| (&mut **e, role)));
            all
        }
        _ => {
            let operands = operands_mut(node).into_iter().flatten().enumerate();
            let role_of = |index| if first && index == 0 { Role::Condition } else { Role::Value };
            operands.map(|(index, operand)| (operand, role_of(index))).collect()
        }
    }
}

/// A sub-query of EXISTS or IN as the number of its rows, and the column that it shows.
fn rows_of(query: &ast::Query, exists: bool) -> Option<(ast::Query, Option<ast::Expr>)> {
    let select = select_of(query).ok()?;
    let ast::GroupByExpr::Expressions(keys, _) = &select.group_by else { return None };
    let has_groups = !keys.is_empty() || select.having.is_some();
    if has_groups || select_list(select).any(|node| any(node, &calls_aggregate)) {
        return None;
    }
    let column = match select.projection.as_slice() {
        [
            ast::SelectItem::UnnamedExpr(e) | ast::SelectItem::ExprWithAlias { expr: e, alias: _ },
        ] => Some(e.clone()),
        _ => None,
    };
    let all = ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard);
    let mut count = call("COUNT", Vec::new());
    if let ast::Expr::Function(function) = &mut count
        && let ast::FunctionArguments::List(list) = &mut function.args
    {
        list.args.push(all);
    }
    let mut query = query.clone();
    // A LIMIT of one row or more leaves one, if there is any.
    if exists && matches!(limits(&query), Ok((Some(1..), 0))) {
        (query.order_by, query.limit_clause) = (None, None);
    }
    let counted = select_of_mut(&mut query).ok()?;
    // Equal rows are there or are not, all of them.
    counted.distinct = None;
    counted.projection = vec![ast::SelectItem::UnnamedExpr(count)];
    Some((query, column))
}

fn all_of_them(conditions: impl Iterator<Item = ast::Expr>) -> Option<ast::Expr> {
    conditions.reduce(|left, right| ast::Expr::BinaryOp {
        left: Box::new(left),
        op: ast::BinaryOperator::And,
        right: Box::new(right),
    })
}

fn zero() -> ast::Expr {
    ast::Expr::Value(ast::Value::Number("0".to_owned(), false).with_empty_span())
}

fn key_name(number: usize) -> String {
    format!("key_{}", number + 1)
}

fn value_name(number: usize) -> String {
    format!("value_{}", number + 1)
}

fn column_of(table: &str, name: &str) -> ast::Expr {
    ast::Expr::CompoundIdentifier(vec![ast::Ident::new(table), ast::Ident::new(name)])
}
