//! A private SELECT with windows or sub-queries over its own results: the part computes what they
//! look at, and they are computed around it.

use sqlparser::ast;

use super::MAX_SHOWN;
use super::split::{Kind, Names, Splitter};
use super::syntax::{from_table, query_of, select_of, select_of_mut, simple_select};
use super::walk::{
    any, calls_aggregate, column, ident, looks_around, operands, operands_mut, ordered_mut, shown,
    substitute,
};
use crate::bind::from::Selected;
use crate::bind::statement::{self, MAX_KEYS, default_name, select_item};
use crate::error::Refusal;

/// Whether a part's SELECT computes from several of its groups.
fn needs_around(query: &ast::Query) -> Result<bool, Refusal> {
    let select = select_of(query)?;
    let ordered = query.order_by.iter().flat_map(|by| match &by.kind {
        ast::OrderByKind::Expressions(items) => items.as_slice(),
        ast::OrderByKind::All(_) => &[],
    });
    let mut nodes = shown(select).chain(&select.having).chain(ordered.map(|item| &item.expr));
    let distinct = matches!(select.distinct, Some(ast::Distinct::Distinct));
    Ok((distinct && !shows_all_keys(select)?)
        || select.qualify.is_some()
        || nodes.any(|node| any(node, &looks_around)))
}

/// Whether rows differ in the keys that SELECT shows, so that DISTINCT changes nothing.
fn shows_all_keys(select: &ast::Select) -> Result<bool, Refusal> {
    let ast::GroupByExpr::Expressions(keys, _) = &select.group_by else { return Ok(true) };
    for key in keys.iter().take(MAX_KEYS) {
        let key = select_item(key, select)?;
        if !shown(select).any(|node| node == key) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The keys of GROUP BY before placeholders are put into them, with expressions for positions and
/// names in SELECT; empty where nothing is computed around.
pub(super) fn keys_as_written(query: &mut ast::Query) -> Result<Vec<ast::Expr>, Refusal> {
    if !needs_around(query)? {
        return Ok(Vec::new());
    }
    let select = select_of_mut(query)?;
    let ast::GroupByExpr::Expressions(keys, _) = &select.group_by else { return Ok(Vec::new()) };
    if keys.len() > MAX_KEYS {
        // Refused by name when they are bound.
        return Ok(Vec::new());
    }
    let items = keys.iter().map(|key| select_item(key, select).cloned());
    let items = items.collect::<Result<Vec<_>, _>>()?;
    if let ast::GroupByExpr::Expressions(keys, _) = &mut select.group_by {
        keys.clone_from(&items);
    }
    Ok(items)
}

/// What a part shows to the SQL around it.
#[derive(Default)]
struct Outputs {
    shown: Vec<(ast::Expr, String)>,
}

impl Outputs {
    /// The name of a column with that value.
    fn add(&mut self, value: ast::Expr, name: &str) -> ast::Expr {
        if let Some((_, own)) = self.shown.iter().find(|(own, _)| *own == value) {
            return column(own);
        }
        let taken = |name: &str| self.shown.iter().any(|(_, own)| own.eq_ignore_ascii_case(name));
        let mut unique = name.to_owned();
        let mut copy = 1;
        while taken(&unique) {
            copy += 1;
            unique = format!("{name}_{copy}");
        }
        let shown = column(&unique);
        self.shown.push((value, unique));
        shown
    }
}

/// The keys of a part: as they are written, and with placeholders.
struct Keys<'a> {
    written: &'a [ast::Expr],
    bound: Vec<ast::Expr>,
}

impl Splitter<'_> {
    /// Binds a private SELECT. Leaves in `query` what is computed around it.
    pub(super) fn private(
        &mut self,
        query: &mut ast::Query,
        written: &[ast::Expr],
        selected: Selected,
        names: &Names,
    ) -> Result<Kind, Refusal> {
        if !needs_around(query)? {
            let select = statement::check(query)?;
            let sql = names.complete(query.to_string());
            return self.part(sql, query, select, selected).map(Kind::Part);
        }
        let mut inner = select_of(query)?.clone();
        if inner.projection.len() > MAX_SHOWN {
            return Err(Refusal::new(
                format!("SELECT shows more than {MAX_SHOWN} columns"),
                "several statements",
            ));
        }
        let bound = match &inner.group_by {
            ast::GroupByExpr::Expressions(keys, _) => keys.clone(),
            ast::GroupByExpr::All(_) => Vec::new(),
        };
        let keys = Keys { written, bound };
        let mut outputs = Outputs::default();
        let mut outer = ast::Select { distinct: inner.distinct.take(), ..simple_select() };
        let mut named: Vec<(String, ast::Expr)> = Vec::new();
        for (position, item) in std::mem::take(&mut inner.projection).into_iter().enumerate() {
            let (mut node, name) = match item {
                ast::SelectItem::UnnamedExpr(node) => {
                    let name = default_name(&node, position);
                    (node, name)
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    named.push((alias.value.clone(), expr.clone()));
                    (expr, alias.value)
                }
                item => {
                    return Err(Refusal::new(
                        format!("`{item}` in SELECT is not supported"),
                        "name the group keys and aggregates to be shown; rows are never shown",
                    ));
                }
            };
            self.take_out(&mut node, &name, &keys, &mut outputs, names)?;
            outer.projection.push(listed(node, &name));
        }
        if let Some(mut having) = inner.having.take() {
            substitute(&mut having, &named);
            if any(&having, &looks_around) {
                self.take_out(&mut having, "having", &keys, &mut outputs, names)?;
                outer.selection = Some(having);
            } else {
                inner.having = Some(having);
            }
        }
        if let Some(mut qualify) = inner.qualify.take() {
            substitute(&mut qualify, &named);
            self.take_out(&mut qualify, "qualify", &keys, &mut outputs, names)?;
            outer.qualify = Some(qualify);
        }
        for node in ordered_mut(query.order_by.as_mut()) {
            let alias = |(own, _): &(String, ast::Expr)| matches!(node, ast::Expr::Identifier(name) if own.eq_ignore_ascii_case(&name.value));
            if !named.iter().any(alias) && !matches!(node, ast::Expr::Value(_)) {
                self.take_out(node, "order_by", &keys, &mut outputs, names)?;
            }
        }
        if let (true, Some(key)) = (outputs.shown.is_empty(), keys.bound.first()) {
            // What is shown is about the groups alone, as COUNT(*) OVER () is.
            outputs.add(key.clone(), "key");
        }
        let shown = outputs.shown.into_iter();
        inner.projection = shown.map(|(expr, name)| listed(expr, &name)).collect();
        let inner = query_of(inner);
        let sql = names.complete(inner.to_string());
        let part = self.part(sql, &inner, statement::check(&inner)?, selected)?;
        outer.from = vec![from_table(&self.name_of(part)?)];
        *select_of_mut(query)? = outer;
        Ok(Kind::Around)
    }

    /// Puts names of the part's columns in the place of everything that it can compute from one
    /// group.
    fn take_out(
        &mut self,
        node: &mut ast::Expr,
        name: &str,
        keys: &Keys<'_>,
        outputs: &mut Outputs,
        names: &Names,
    ) -> Result<(), Refusal> {
        if let Some(place) = keys.written.iter().position(|key| key == node) {
            let key = keys.bound.get(place).unwrap_or(node).clone();
            *node = outputs.add(key, name);
            return Ok(());
        }
        if !any(node, &looks_around) {
            if any(node, &|part| calls_aggregate(part) || is_name(part)) {
                *node = outputs.add(node.clone(), name);
            }
            return Ok(());
        }
        if calls_aggregate(node) {
            self.rows_expression(node, names)?;
            *node = outputs.add(node.clone(), name);
            return Ok(());
        }
        self.released_query(node, names)?;
        if operands(node).is_none() {
            return Err(Refusal::new(
                format!("`{node}` is not supported"),
                "comparisons, arithmetic, CASE, CAST and functions of released values",
            ));
        }
        for operand in operands_mut(node).into_iter().flatten() {
            let name = default_name(operand, outputs.shown.len());
            self.take_out(operand, &name, keys, outputs, names)?;
        }
        Ok(())
    }
}

/// A column of a SELECT's list, under a name.
fn listed(expr: ast::Expr, name: &str) -> ast::SelectItem {
    match &expr {
        ast::Expr::Identifier(own) if own.value == name => ast::SelectItem::UnnamedExpr(expr),
        _ => ast::SelectItem::ExprWithAlias { expr, alias: ident(name) },
    }
}

fn is_name(node: &ast::Expr) -> bool {
    matches!(node, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_))
}
