//! Sub-queries that are one value for each row around them, as joins.
//!
//! `day = (SELECT MAX(w.day) FROM visits AS w WHERE w.pid = v.pid)` compares with a column of
//! `LEFT JOIN (SELECT w.pid, MAX(w.day) … GROUP BY w.pid) ON w.pid = v.pid`, and a value of a
//! public table is a join with its one row. EXISTS and IN look up how many rows there are. Whether
//! units stay apart is checked of the join, as of any other.
//!
//! EXISTS and IN that WHERE joins by AND are semi-joins, and are left as they are.

use hushtable_contract::TableUnit;
use hushtable_lang::Refusal;
use hushtable_lang::aggregate_names::{aggregate_name, calls_aggregate};
use sqlparser::ast;

use super::splitter::{CteNames, RowsKind, Splitter};
use crate::bind::from::{membership, terms};
use crate::bind::syntax::{call, plain_table, query_of, select_of, select_of_mut, simple_select};
use crate::bind::walk::{
    any, looks_around, operands, operands_mut, select_list, select_list_mut, table_name,
};

/// The column of the joined table that has the value.
const VALUE: &str = "value";

/// A sub-query as a table that is joined with the rows around it.
struct LookedUp {
    /// The item of FROM whose rows look it up; the first where all rows have one value.
    item: usize,
    /// The values that are compared: those of the table, and those around it.
    equal: Vec<(ast::Expr, ast::Expr)>,
    /// The SELECT without what is compared.
    select: ast::Select,
    /// Whether its value counts rows, so that it is 0 where there are none.
    counts: bool,
}

impl Splitter<'_> {
    /// Puts columns of joined tables in the place of the sub-queries that are values of rows.
    pub(super) fn look_up(
        &mut self,
        select: &mut ast::Select,
        names: &CteNames,
    ) -> Result<(), Refusal> {
        // All columns would be those of the joined tables, too.
        let wild = |item: &ast::SelectItem| {
            matches!(item, ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(_, _))
        };
        if select.projection.iter().any(wild) {
            return Ok(());
        }
        let is_public = |name: &str| {
            let table = self.contract.table(name).filter(|_| names.kind(name).is_none());
            table.is_some_and(|table| table.unit == TableUnit::Public)
        };
        let around: Vec<Vec<String>> = select.from.iter().map(names_of).collect();
        let mut found = Vec::new();
        let looking = Looking { around: &around, is_public: &is_public };
        for node in select_list_mut(select) {
            looking.put_columns(node, false, &mut found);
        }
        if let Some(node) = &mut select.selection {
            looking.put_in_terms(node, &mut found);
        }
        for (number, table) in found.into_iter().enumerate() {
            let join = self.lookup_join(number, &table, names)?;
            if let Some(from) = select.from.get_mut(table.item) {
                from.joins.push(join);
            }
        }
        Ok(())
    }

    /// The join with a table in which a value is looked up.
    fn lookup_join(
        &mut self,
        number: usize,
        table: &LookedUp,
        names: &CteNames,
    ) -> Result<ast::Join, Refusal> {
        let mut query = query_of(table.select.clone());
        let kind = self.query(&mut query, names, false)?;
        if kind != RowsKind::Rows {
            return Err(Refusal::new(
                "a sub-query in a condition has a value for each row around it, which follows \
                 from the rows of many units",
                "compare the privacy unit in it: WHERE inner.unit = outer.unit; or use one value \
                 for all rows: (SELECT AVG(x) FROM table)",
            ));
        }
        let name = alias_of(number);
        let relation = ast::TableFactor::Derived {
            lateral: false,
            subquery: Box::new(query),
            alias: Some(ast::TableAlias {
                explicit: true,
                name: ast::Ident::new(name.as_str()),
                columns: Vec::new(),
                at: None,
            }),
            sample: None,
        };
        let equal = table.equal.iter().enumerate().map(|(key, (_, around))| ast::Expr::BinaryOp {
            left: Box::new(around.clone()),
            op: ast::BinaryOperator::Eq,
            right: Box::new(column_of(&name, &key_name(key))),
        });
        let all = equal.reduce(|left, right| ast::Expr::BinaryOp {
            left: Box::new(left),
            op: ast::BinaryOperator::And,
            right: Box::new(right),
        });
        let join_operator = match all {
            Some(all) => ast::JoinOperator::LeftOuter(ast::JoinConstraint::On(all)),
            None => {
                // Its one row, or none where there are no public rows.
                let always = ast::Value::Boolean(true).with_empty_span();
                let always = ast::JoinConstraint::On(ast::Expr::Value(always));
                ast::JoinOperator::LeftOuter(always)
            }
        };
        Ok(ast::Join { relation, global: false, join_operator })
    }
}

fn alias_of(number: usize) -> String {
    format!("sub_query_{}", number + 1)
}

fn key_name(number: usize) -> String {
    format!("key_{}", number + 1)
}

fn column_of(table: &str, name: &str) -> ast::Expr {
    ast::Expr::CompoundIdentifier(vec![ast::Ident::new(table), ast::Ident::new(name)])
}

/// The tables around the sub-queries of a SELECT.
struct Looking<'a> {
    /// The names of the tables of each item of FROM.
    around: &'a [Vec<String>],
    /// Whether a name is that of a public table.
    is_public: &'a dyn Fn(&str) -> bool,
}

impl Looking<'_> {
    /// Puts columns in the place of the sub-queries of WHERE, but for semi-joins.
    fn put_in_terms(&self, node: &mut ast::Expr, found: &mut Vec<LookedUp>) {
        match node {
            _ if membership(node).is_some() => {}
            ast::Expr::Nested(inner) => self.put_in_terms(inner, found),
            ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
                self.put_in_terms(left, found);
                self.put_in_terms(right, found);
            }
            _ => self.put_columns(node, true, found),
        }
    }

    /// Puts columns in the place of the sub-queries of an expression, and gives the tables of them.
    /// In a condition it does not matter whether what is not true is false or unknown.
    fn put_columns(&self, node: &mut ast::Expr, is_condition: bool, found: &mut Vec<LookedUp>) {
        let table = match node {
            ast::Expr::Subquery(query) => self.looked_up(query, None),
            ast::Expr::Exists { subquery, negated: _ } => {
                rows_of(subquery).and_then(|(query, _)| self.looked_up(&query, None))
            }
            ast::Expr::InSubquery { expr, subquery, negated: false } if is_condition => {
                rows_of(subquery).and_then(|(query, column)| {
                    self.looked_up(&query, Some((column?, expr.as_ref().clone())))
                })
            }
            _ => None,
        };
        if let Some(table) = table {
            let value = column_of(&alias_of(found.len()), VALUE);
            let zero = ast::Value::Number("0".to_owned(), false).with_empty_span();
            let zero = ast::Expr::Value(zero);
            let value = match table.counts {
                true => call("COALESCE", vec![value, zero.clone()]),
                false => value,
            };
            let compared = |op| {
                let (left, right) = (Box::new(value.clone()), Box::new(zero.clone()));
                ast::Expr::Nested(Box::new(ast::Expr::BinaryOp { left, op, right }))
            };
            *node = match node {
                ast::Expr::Subquery(_) => value,
                ast::Expr::Exists { subquery: _, negated: true } => {
                    compared(ast::BinaryOperator::Eq)
                }
                _ => compared(ast::BinaryOperator::Gt),
            };
            found.push(table);
            return;
        }
        for (operand, is_condition) in operands_in_roles(node, is_condition) {
            self.put_columns(operand, is_condition, found);
        }
    }
}

/// The operands of an expression, each with whether it is a condition.
fn operands_in_roles(node: &mut ast::Expr, is_condition: bool) -> Vec<(&mut ast::Expr, bool)> {
    use ast::BinaryOperator::{And, Or};
    let first = match node {
        ast::Expr::Function(function) => {
            let name = function.name.to_string().to_uppercase();
            matches!(name.as_str(), "COUNTIF" | "IF" | "IIF" | "IFF")
        }
        _ => false,
    };
    match node {
        ast::Expr::Nested(inner) => vec![(inner, is_condition)],
        ast::Expr::BinaryOp { left, op: And | Or, right } => {
            vec![(left, is_condition), (right, is_condition)]
        }
        ast::Expr::Case { case_token: _, end_token: _, operand: None, conditions, else_result } => {
            let mut all: Vec<(&mut ast::Expr, bool)> = Vec::new();
            for branch in conditions {
                all.push((&mut branch.condition, true));
                all.push((&mut branch.result, is_condition));
            }
            all.extend(else_result.iter_mut().map(|e| (&mut **e, is_condition)));
            all
        }
        _ => {
            let operands = operands_mut(node).into_iter().flatten().enumerate();
            operands.map(|(index, operand)| (operand, first && index == 0)).collect()
        }
    }
}

/// A sub-query of EXISTS or IN as the number of its rows, and the column that it shows.
fn rows_of(query: &ast::Query) -> Option<(ast::Query, Option<ast::Expr>)> {
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
    let counted = select_of_mut(&mut query).ok()?;
    // Equal rows are there or are not, all of them.
    counted.distinct = None;
    counted.projection = vec![ast::SelectItem::UnnamedExpr(count)];
    Some((query, column))
}

impl Looking<'_> {
    /// The sub-query as a table, if it is one aggregate of rows that are equal to those around it
    /// in some values, or of public rows. `equal` is compared beside the values of WHERE.
    fn looked_up(
        &self,
        query: &ast::Query,
        equal: Option<(ast::Expr, ast::Expr)>,
    ) -> Option<LookedUp> {
        let select = select_of(query).ok()?;
        let ast::GroupByExpr::Expressions(keys, modifiers) = &select.group_by else { return None };
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
        if !keys.is_empty()
            || !modifiers.is_empty()
            || *select != plain
            || *query != query_of(plain)
            || !any(value, &calls_aggregate)
        {
            return None;
        }
        let is_count =
            |node: &ast::Expr| aggregate_name(node).is_some_and(|(_, name)| name.contains("COUNT"));
        let counts = is_count(value);
        if !counts && any(value, &is_count) {
            return None;
        }
        let inner: Vec<String> = select.from.iter().flat_map(names_of).collect();
        let outside = Outside { inner: &inner, around: self.around };
        let (mut rest, mut item) = (Vec::new(), None);
        if let Some((column, value)) = &equal {
            // A name without a table is one of the rows around, as it stands outside.
            let only = (self.around.len() == 1).then_some(0);
            item = Some(outside.item(value)?.or(only)?);
            if outside.item(column)?.is_some() {
                return None;
            }
        }
        let mut equal: Vec<(ast::Expr, ast::Expr)> = equal.into_iter().collect();
        for term in select.selection.iter().flat_map(terms) {
            let Some(of) = outside.item(term)? else {
                rest.push(term.clone());
                continue;
            };
            if item.is_some_and(|item| item != of) {
                return None;
            }
            item = Some(of);
            equal.push(outside.equality(term)?);
        }
        if outside.item(value)?.is_some() || item.is_none() && !reads_only(select, self.is_public) {
            return None;
        }
        let mut table = select.clone();
        table.projection = equal
            .iter()
            .enumerate()
            .map(|(key, (inner, _))| (inner.clone(), key_name(key)))
            .chain([(value.clone(), VALUE.to_owned())])
            .map(|(expr, name)| ast::SelectItem::ExprWithAlias {
                expr,
                alias: ast::Ident::new(name),
            })
            .collect();
        table.selection = rest.into_iter().reduce(|left, right| ast::Expr::BinaryOp {
            left: Box::new(left),
            op: ast::BinaryOperator::And,
            right: Box::new(right),
        });
        let keys = equal.iter().map(|(inner, _)| inner.clone()).collect();
        table.group_by = ast::GroupByExpr::Expressions(keys, Vec::new());
        Some(LookedUp { item: item.unwrap_or(0), equal, select: table, counts })
    }
}

/// The names of the tables around a sub-query, and its own, which hide them.
struct Outside<'a> {
    inner: &'a [String],
    around: &'a [Vec<String>],
}

impl Outside<'_> {
    /// The item of FROM around the sub-query whose columns an expression names, or none; `None`
    /// where it names several, or has a sub-query.
    fn item(&self, node: &ast::Expr) -> Option<Option<usize>> {
        let mut item = None;
        if let ast::Expr::CompoundIdentifier(path) = node
            && let Some(table) = path.first().map(|ident| &ident.value)
            && !holds(self.inner, table)
        {
            item = self.around.iter().position(|names| holds(names, table));
        }
        if looks_around(node) {
            return None;
        }
        for operand in operands(node)? {
            match (item, self.item(operand)?) {
                (Some(one), Some(other)) if one != other => return None,
                (earlier, other) => item = earlier.or(other),
            }
        }
        Some(item)
    }

    /// An equality of a value of the sub-query and one around it.
    fn equality(&self, term: &ast::Expr) -> Option<(ast::Expr, ast::Expr)> {
        let ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } = term else {
            return None;
        };
        let only_around = |node: &ast::Expr| {
            let is_inner = |node: &ast::Expr| match node {
                ast::Expr::Identifier(_) => true,
                ast::Expr::CompoundIdentifier(path) => {
                    path.first().is_none_or(|table| holds(self.inner, &table.value))
                }
                _ => false,
            };
            !any(node, &is_inner)
        };
        match (self.item(left)?, self.item(right)?) {
            (None, Some(_)) if only_around(right) => Some((*left.clone(), *right.clone())),
            (Some(_), None) if only_around(left) => Some((*right.clone(), *left.clone())),
            _ => None,
        }
    }
}

fn holds(names: &[String], table: &str) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(table))
}

/// The names by which columns of an item of FROM can be named.
fn names_of(from: &ast::TableWithJoins) -> Vec<String> {
    let joined = from.joins.iter().map(|join| &join.relation);
    std::iter::once(&from.relation).chain(joined).flat_map(factor_names).collect()
}

fn factor_names(factor: &ast::TableFactor) -> Vec<String> {
    if let Some((name, alias)) = plain_table(factor) {
        return vec![alias.map_or_else(|| table_name(name), |alias| alias.name.value.clone())];
    }
    match factor {
        ast::TableFactor::Derived { lateral: _, subquery: _, alias: Some(alias), sample: _ } => {
            vec![alias.name.value.clone()]
        }
        ast::TableFactor::NestedJoin { table_with_joins, alias: _ } => names_of(table_with_joins),
        _ => Vec::new(),
    }
}

/// Whether a SELECT reads tables of a kind alone.
fn reads_only(select: &ast::Select, is_of_kind: &dyn Fn(&str) -> bool) -> bool {
    let fits = |factor: &ast::TableFactor| {
        plain_table(factor).is_some_and(|(name, _)| is_of_kind(&table_name(name)))
    };
    select
        .from
        .iter()
        .all(|from| fits(&from.relation) && from.joins.iter().all(|join| fits(&join.relation)))
}
