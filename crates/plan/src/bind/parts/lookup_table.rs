//! The table in which a sub-query's value is looked up, and the expression in its place.

use hushtable_lang::Refusal;
use hushtable_lang::aggregate_names::{aggregate_name, calls_aggregate};
use sqlparser::ast;

use super::comparisons::Comparisons;
use super::names_around::{FromNames, Outside};
use crate::bind::correlated::way_out;
use crate::bind::from::{Membership, membership};
use crate::bind::syntax::{
    all_of_them, call, count_all, derived, equality, has_keys, number, only_value, plain_table,
    query_of, select_of, simple_select,
};
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
    /// The column that is the unit of the table of that name, where it has one.
    pub(super) unit_of: &'a dyn Fn(&str) -> Option<String>,
    /// The tables of each item of FROM.
    pub(super) tables: Vec<Vec<ast::TableFactor>>,
    /// The tables of the sub-queries that were found.
    pub(super) found: Vec<LookupTable>,
    /// The refusal of the first one that names the rows around it and is no table.
    pub(super) refusal: Option<Refusal>,
}

impl LookupTable {
    /// The condition of the join.
    pub(super) fn condition(&self) -> ast::Expr {
        let equal = self.equal.iter().enumerate();
        let equal = equal
            .map(|(key, around)| equality(around.clone(), column_of(&self.alias, &key_name(key))));
        let always = || ast::Expr::Value(ast::Value::Boolean(true).with_empty_span());
        all_of_them(equal.chain(self.conditions.iter().cloned())).unwrap_or_else(always)
    }
}

impl Looking<'_> {
    /// Puts columns in the place of the sub-queries of WHERE, but for semi-joins.
    pub(super) fn put_in_terms(&mut self, node: &mut ast::Expr) {
        match node {
            _ if membership(node).is_some_and(|term| self.is_semi_join(&term)) => {}
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
            ast::Expr::Exists { subquery, negated: _ } => self.rows_table(node, subquery, None),
            // NOT IN of what may be NULL is not the opposite of IN.
            ast::Expr::InSubquery { expr, subquery, negated: false } if role == Role::Condition => {
                self.rows_table(node, subquery, Some(expr))
            }
            _ => None,
        };
        if let Some(mut table) = table {
            let compared = |op| {
                let (left, right) = (Box::new(table.value.clone()), Box::new(number(0)));
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
        let (ast::Expr::Subquery(query)
        | ast::Expr::Exists { subquery: query, negated: _ }
        | ast::Expr::InSubquery { expr: _, subquery: query, negated: _ }) = node
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
                way_out(node, &names_around),
            );
            self.refusal = Some(refusal.at(node));
        }
    }

    /// Whether a sub-query of WHERE is a semi-join as it is. EXISTS of groups, and an IN that names
    /// the rows around, are not.
    fn is_semi_join(&self, term: &Membership<'_>) -> bool {
        let Ok(select) = select_of(term.query) else { return true };
        let inner = FromNames::of(&select.from, self.columns_of);
        let outside = Outside { inner: &inner, around: &self.around };
        let names_around = |e: &ast::Expr| outside.item_named(e).is_some();
        match term.value {
            Some(_) => !select.selection.iter().any(|node| any(node, &names_around)),
            None => !has_groups(select),
        }
    }

    /// The item of FROM that the value before IN is of.
    pub(super) fn item_of_value(&self, outside: &Outside<'_>, value: &ast::Expr) -> Option<usize> {
        // It stands outside: a name without a table is one of a single item, whatever columns that
        // has.
        let only = (self.around.len() == 1).then_some(0);
        outside.item(value)?.or(only)
    }

    /// The sub-query as a table, if it is made of aggregates of rows that are compared with those
    /// around it, or of public rows. `equal` is compared beside the values of WHERE.
    pub(super) fn table(
        &self,
        written: &ast::Expr,
        query: &ast::Query,
        equal: Option<(ast::Expr, ast::Expr)>,
    ) -> Option<LookupTable> {
        let (select, value) = one_value(query)?;
        let inner = FromNames::of(&select.from, self.columns_of);
        let outside = Outside { inner: &inner, around: &self.around };
        let mut item = None;
        if let Some((column, value)) = &equal {
            item = Some(self.item_of_value(&outside, value)?);
            if outside.item(column)?.is_some() {
                return None;
            }
        }
        let mut compared = Comparisons::new(&outside, select.selection.as_ref(), item)?;
        let value = only_groups(select, value, &compared)?;
        if !any(&value, &calls_aggregate) {
            return None;
        }
        let mut from = select.from.clone();
        let is_public = self.is_of_public_tables(select);
        self.add_candidates(&outside, &mut compared, is_public, &mut from)?;
        compared.equal.splice(0..0, equal);
        if compared.equal.is_empty() && !is_public {
            return None;
        }
        let is_outside = |name: &ast::Expr| outside.item_named(name).is_some();
        let select_token = select.select_token.clone();
        let of = ast::Select { select_token, from, ..simple_select() };
        self.looked_up(written, of, compared, value, &is_outside)
    }

    /// The table in which the value is looked up, of the rows of a SELECT's FROM.
    pub(super) fn looked_up(
        &self,
        written: &ast::Expr,
        of: ast::Select,
        compared: Comparisons,
        mut value: ast::Expr,
        is_outside: &dyn Fn(&ast::Expr) -> bool,
    ) -> Option<LookupTable> {
        let Comparisons { item, equal, otherwise: _, rest, conditions } = compared;
        let alias = self.free_alias();
        let mut aggregates = Vec::new();
        put_aggregates(&mut value, &alias, &mut aggregates)?;
        let is_known = |name: &ast::Expr| match name {
            ast::Expr::CompoundIdentifier(path)
                if path.first().is_some_and(|p| p.value == alias) =>
            {
                true
            }
            _ => is_outside(name),
        };
        if any(&value, &|e| is_name(e) && !is_known(e)) {
            return None;
        }
        let (keys, equal): (Vec<ast::Expr>, Vec<ast::Expr>) = equal.into_iter().unzip();
        let named =
            |(expr, name)| ast::SelectItem::ExprWithAlias { expr, alias: ast::Ident::new(name) };
        let key_columns = keys.iter().cloned().enumerate().map(|(n, key)| (key, key_name(n)));
        let values = aggregates.into_iter().enumerate().map(|(n, one)| (one, value_name(n)));
        let select = ast::Select {
            projection: key_columns.chain(values).map(named).collect(),
            selection: all_of_them(rest.into_iter()),
            group_by: ast::GroupByExpr::Expressions(keys, Vec::new()),
            ..of
        };
        let (item, written) = (item.unwrap_or(0), written.clone());
        Some(LookupTable { written, alias, item, select, equal, conditions, value })
    }

    /// Joins the different values around that the sub-query's rows are compared with otherwise than
    /// by equality, so that all of them are keys. Rows that are not public must equal one, too.
    pub(super) fn add_candidates(
        &self,
        outside: &Outside<'_>,
        compared: &mut Comparisons,
        is_public: bool,
        from: &mut Vec<ast::TableWithJoins>,
    ) -> Option<()> {
        if compared.otherwise.is_empty() {
            return Some(());
        }
        if compared.equal.is_empty() && !is_public {
            return None;
        }
        let table = format!("{}_keys", self.free_alias());
        let mut around: Vec<ast::Expr> = Vec::new();
        for (inner, value) in std::mem::take(&mut compared.equal) {
            let key = key_of(&value, &mut around, &table);
            compared.rest.push(equality(inner, key));
        }
        for term in std::mem::take(&mut compared.otherwise) {
            compared
                .rest
                .push(outside.keyed(&term, &mut |value| key_of(value, &mut around, &table))?);
        }
        let factor = self.tables.get(compared.item?)?.iter().find(|factor| {
            let alone = ast::TableWithJoins { relation: (*factor).clone(), joins: Vec::new() };
            let names = [FromNames::of([&alone], self.columns_of)];
            let of_table = Outside { inner: outside.inner, around: &names };
            around.iter().all(|value| of_table.is_around(value))
        })?;
        let (name, alias) = plain_table(factor)?;
        if let Some(unit) = (self.unit_of)(&table_name(name)) {
            let of = alias.map_or_else(|| table_name(name), |alias| alias.name.value.clone());
            key_of(&column_of(&of, &unit), &mut around, &table);
        }
        let named = |(number, expr): (usize, &ast::Expr)| ast::SelectItem::ExprWithAlias {
            expr: expr.clone(),
            alias: ast::Ident::new(key_name(number)),
        };
        let keys = ast::Select {
            distinct: Some(ast::Distinct::Distinct),
            projection: around.iter().enumerate().map(named).collect(),
            from: vec![ast::TableWithJoins { relation: factor.clone(), joins: Vec::new() }],
            ..simple_select()
        };
        from.insert(0, derived(query_of(keys), &table));
        let keyed = around.into_iter().enumerate();
        compared.equal =
            keyed.map(|(number, value)| (column_of(&table, &key_name(number)), value)).collect();
        Some(())
    }

    /// A name that no table around has.
    pub(super) fn free_alias(&self) -> String {
        let mut number = self.found.len() + 1;
        let name = |number: usize| format!("sub_query_{number}");
        while self.around.iter().any(|names| names.has_table(&name(number))) {
            number += 1;
        }
        name(number)
    }

    /// Whether a SELECT reads public tables of the contract alone.
    pub(super) fn is_of_public_tables(&self, select: &ast::Select) -> bool {
        let is_public = |factor: &ast::TableFactor| {
            plain_table(factor).is_some_and(|(name, _)| (self.is_public)(&table_name(name)))
        };
        !select.from.is_empty() && select.from.iter().flat_map(tables_of).all(is_public)
    }
}

/// The tables of an item of FROM.
pub(super) fn tables_of(from: &ast::TableWithJoins) -> impl Iterator<Item = &ast::TableFactor> {
    std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
}

/// The SELECT of a query that shows one expression, and that expression.
fn one_value(query: &ast::Query) -> Option<(&ast::Select, &ast::Expr)> {
    let select = plain_groups(query)?;
    Some((select, only_value(select)?))
}

/// The SELECT of a query that has nothing but a list, FROM, WHERE, GROUP BY and HAVING.
pub(super) fn plain_groups(query: &ast::Query) -> Option<&ast::Select> {
    let select = select_of(query).ok()?;
    let plain = ast::Select {
        select_token: select.select_token.clone(),
        projection: select.projection.clone(),
        from: select.from.clone(),
        selection: select.selection.clone(),
        group_by: select.group_by.clone(),
        having: select.having.clone(),
        ..simple_select()
    };
    (*select == plain && *query == query_of(plain)).then_some(select)
}

/// The value of the one group of a SELECT that HAVING lets through. Its keys are values that are
/// equal to the rows around: without rows there is no group.
fn only_groups(
    select: &ast::Select,
    value: &ast::Expr,
    compared: &Comparisons,
) -> Option<ast::Expr> {
    let ast::GroupByExpr::Expressions(keys, more) = &select.group_by else { return None };
    let is_compared = |key: &ast::Expr| compared.equal.iter().any(|(inner, _)| inner == key);
    if !more.is_empty() || !keys.iter().all(is_compared) {
        return None;
    }
    let has_rows = (!keys.is_empty()).then(|| ast::Expr::BinaryOp {
        left: Box::new(count_all()),
        op: ast::BinaryOperator::Gt,
        right: Box::new(number(0)),
    });
    let having = select.having.iter().map(|having| ast::Expr::Nested(Box::new(having.clone())));
    Some(match all_of_them(has_rows.into_iter().chain(having)) {
        Some(condition) => {
            let null = ast::Expr::Value(ast::Value::Null.with_empty_span());
            call("IF", vec![condition, value.clone(), null])
        }
        None => value.clone(),
    })
}

/// Whether a SELECT has GROUP BY, HAVING or aggregates.
pub(super) fn has_groups(select: &ast::Select) -> bool {
    has_keys(select)
        || select.having.is_some()
        || select_list(select).any(|node| any(node, &calls_aggregate))
}

/// The column of a table of keys that has a value, which is added if it is not among them.
fn key_of(value: &ast::Expr, keys: &mut Vec<ast::Expr>, table: &str) -> ast::Expr {
    let known = keys.iter().position(|key| key == value);
    let number = known.unwrap_or_else(|| {
        keys.push(value.clone());
        keys.len() - 1
    });
    column_of(table, &key_name(number))
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
        let in_place = if counts { call("COALESCE", vec![column, number(0)]) } else { column };
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

pub(super) fn key_name(number: usize) -> String {
    format!("key_{}", number + 1)
}

pub(super) fn value_name(number: usize) -> String {
    format!("value_{}", number + 1)
}

pub(super) fn column_of(table: &str, name: &str) -> ast::Expr {
    ast::Expr::CompoundIdentifier(vec![ast::Ident::new(table), ast::Ident::new(name)])
}
