//! Refuses clauses and forms of other engines, each with its way out for the very query.
//!
//! They are refused here, where the statement is still as it was written: its parts have other
//! names later.

use std::ops::ControlFlow;

use hushtable_contract::{Contract, Table, TableUnit};
use hushtable_lang::aggregate_names::calls_aggregate;
use hushtable_lang::{ColumnType, Refusal};
use sqlparser::ast::{self, BinaryOperator as Operator, Visit, Visitor};

use super::correlated::MAX_WRITTEN;
use super::select::default_name;
use super::syntax::{call, has_keys, only_value, plain_table, query_of, select_of};
use super::walk::{any, is_name, operands, select_list, table_name};

/// Refuses what no query here may have, by the statement that it stands in.
pub(super) fn check(query: &ast::Query, contract: &Contract) -> Result<(), Refusal> {
    let mut found = ForeignSyntax { contract, named: Vec::new(), is_outermost: true };
    match query.visit(&mut found) {
        ControlFlow::Break(refusal) => Err(refusal),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct ForeignSyntax<'a> {
    contract: &'a Contract,
    /// The names of common table expressions.
    named: Vec<String>,
    /// Whether the next query is the statement itself.
    is_outermost: bool,
}

impl Visitor for ForeignSyntax<'_> {
    type Break = Refusal;

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<Refusal> {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        self.named.extend(ctes.map(|cte| cte.alias.name.value.clone()));
        if std::mem::take(&mut self.is_outermost) {
            let pivot = || self.pivot_by_the_unit(query);
            return refuse(fetch(query).or_else(|| order_by_all(query)).or_else(pivot));
        }
        refuse(order_by_all(query).or_else(|| distinct_on(query)))
    }

    fn pre_visit_select(&mut self, select: &ast::Select) -> ControlFlow<Refusal> {
        refuse(top(select).or_else(|| lateral(select)).or_else(|| unpivot(select)))
    }

    fn pre_visit_expr(&mut self, node: &ast::Expr) -> ControlFlow<Refusal> {
        refuse(quantified(node).or_else(|| self.having_of_rows_around(node)))
    }
}

fn refuse(refusal: Option<Refusal>) -> ControlFlow<Refusal> {
    refusal.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// `FETCH FIRST 2 ROWS ONLY`.
fn fetch(query: &ast::Query) -> Option<Refusal> {
    let ast::Fetch { with_ties, percent, quantity } = query.fetch.as_ref()?;
    let number = quantity.as_ref().map_or_else(|| "1".to_owned(), ToString::to_string);
    let hint = match *with_ties || *percent {
        true => format!("LIMIT {number}, in rows: it cuts ties"),
        false => format!("LIMIT {number}"),
    };
    let refusal = Refusal::new("FETCH is not supported", hint);
    Some(match quantity {
        Some(quantity) => refusal.at(quantity),
        None => refusal.at(query),
    })
}

/// `SELECT TOP 3 …`.
fn top(select: &ast::Select) -> Option<Refusal> {
    let ast::Top { with_ties, percent, quantity } = select.top.as_ref()?;
    let number = match quantity {
        Some(ast::TopQuantity::Constant(number)) => number.to_string(),
        Some(ast::TopQuantity::Expr(expr)) => expr.to_string(),
        None => "10".to_owned(),
    };
    let cuts = if *with_ties || *percent { ", in rows: it cuts ties" } else { "" };
    let hint = format!("LIMIT {number} at the end of the query{cuts}");
    Some(Refusal::new("SELECT TOP is not supported", hint).at(select))
}

/// `ORDER BY ALL`, as an option of its own or as a name.
fn order_by_all(query: &ast::Query) -> Option<Refusal> {
    let order_by = query.order_by.as_ref()?;
    let is_all = match &order_by.kind {
        ast::OrderByKind::All(_) => true,
        ast::OrderByKind::Expressions(items) => match items.as_slice() {
            [only] => match &only.expr {
                ast::Expr::Identifier(name) => {
                    name.quote_style.is_none() && name.value.eq_ignore_ascii_case("ALL")
                }
                _ => false,
            },
            _ => false,
        },
    };
    let items = select_of(query).ok().filter(|_| is_all)?.projection.as_slice();
    let is_name = |item: &ast::SelectItem| match item {
        ast::SelectItem::ExprWithAlias { expr: _, alias } => {
            alias.value.eq_ignore_ascii_case("ALL")
        }
        item => item.to_string().eq_ignore_ascii_case("ALL"),
    };
    if items.iter().any(is_name) {
        return None;
    }
    let columns = items.len();
    let refusal =
        Refusal::new("ORDER BY ALL is not supported", format!("ORDER BY {}", list(1..=columns)));
    Some(match &order_by.kind {
        ast::OrderByKind::Expressions(items) => match items.first() {
            Some(item) => refusal.at(&item.expr),
            None => refusal,
        },
        ast::OrderByKind::All(_) => refusal.at(query),
    })
}

/// `SELECT DISTINCT ON (key) …`: the first row of each key.
fn distinct_on(query: &ast::Query) -> Option<Refusal> {
    let select = select_of(query).ok()?;
    let Some(ast::Distinct::On(keys)) = &select.distinct else { return None };
    if has_groups(select) {
        return None;
    }
    let order_by = match query.order_by.as_ref().map(|order_by| &order_by.kind) {
        Some(ast::OrderByKind::Expressions(items)) => items.as_slice(),
        _ => &[],
    };
    let partition = list(keys.iter());
    let order = match list(order_by.iter().filter(|item| !keys.contains(&item.expr))) {
        // Any order will do, where the query has none.
        none if none.is_empty() => partition.clone(),
        order => order,
    };
    let qualify =
        format!("QUALIFY ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY {order}) = 1");
    let mut rows = select.clone();
    let is_plain = rows.qualify.is_none() && rows.having.is_none() && query.with.is_none();
    rows.distinct = None;
    let hint = match format!("{} {qualify}", query_of(rows)) {
        whole if is_plain && whole.chars().count() <= MAX_WRITTEN => whole,
        _ => format!("{qualify} at the end of the SELECT, without DISTINCT ON and ORDER BY"),
    };
    Some(Refusal::new("DISTINCT ON is not supported", hint).at(select))
}

/// `x > ALL (SELECT …)` and `x > ANY (SELECT …)`.
fn quantified(node: &ast::Expr) -> Option<Refusal> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let (left, op, right, all) = match node {
        ast::Expr::AllOp { left, compare_op, right } => (left, compare_op, right, true),
        ast::Expr::AnyOp { left, compare_op, right, is_some: _ } => {
            (left, compare_op, right, false)
        }
        _ => return None,
    };
    let ast::Expr::Subquery(query) = right.as_ref() else { return None };
    let extreme = match (op, all) {
        (Gt | GtEq, true) | (Lt | LtEq, false) => "MAX",
        (Lt | LtEq, true) | (Gt | GtEq, false) => "MIN",
        _ => "",
    };
    let what =
        format!("`{op} {}` of a sub-query is not supported", if all { "ALL" } else { "ANY" });
    let hint = match (op, extreme_of(query, extreme).map(|query| query.to_string())) {
        (Eq | NotEq, _) => match all {
            true => format!("NOT EXISTS (SELECT 1 FROM … WHERE … <> {left})"),
            false => format!("EXISTS (SELECT 1 FROM … WHERE … <> {left})"),
        },
        (_, Some(extreme)) if extreme.len() <= MAX_WRITTEN => match all {
            true => format!(
                "{left} {op} ({extreme}), which skips NULL and is not true where there are no rows"
            ),
            false => format!("{left} {op} ({extreme})"),
        },
        _ => format!("{left} {op} (SELECT {extreme}(…) FROM …)"),
    };
    Some(Refusal::new(what, hint).at(node))
}

/// The least or greatest value that a query shows.
fn extreme_of(query: &ast::Query, function: &str) -> Option<ast::Query> {
    let select = select_of(query).ok()?;
    let value = only_value(select)?;
    let mut query = query.clone();
    let ast::SetExpr::Select(inner) = query.body.as_mut() else { return None };
    if !has_groups(select) {
        let value = call(function, vec![value.clone()]);
        inner.projection = vec![ast::SelectItem::UnnamedExpr(value)];
        return Some(query);
    }
    // Aggregates of aggregates have the groups below them.
    let alias = ast::Ident::new("value");
    let name = ast::Expr::Identifier(alias.clone());
    inner.projection = vec![ast::SelectItem::ExprWithAlias { expr: value.clone(), alias }];
    let mut around = super::syntax::simple_select();
    around.projection = vec![ast::SelectItem::UnnamedExpr(call(function, vec![name]))];
    let mut derived = super::syntax::derived(query, "t");
    if let ast::TableFactor::Derived { lateral: _, subquery: _, alias, sample: _ } =
        &mut derived.relation
    {
        *alias = None;
    }
    around.from = vec![derived];
    Some(query_of(around))
}

/// Whether a SELECT has groups or aggregates.
fn has_groups(select: &ast::Select) -> bool {
    has_keys(select) || select_list(select).any(|node| any(node, &calls_aggregate))
}

/// Visits an expression and all that it is made of.
fn each(node: &ast::Expr, visit: &mut dyn FnMut(&ast::Expr)) {
    visit(node);
    for operand in operands(node).into_iter().flatten() {
        each(operand, visit);
    }
}

/// `FROM t, LATERAL (SELECT …) AS x`.
fn lateral(select: &ast::Select) -> Option<Refusal> {
    let joined = |from: &ast::TableWithJoins| {
        let all = std::iter::once(&from.relation).chain(from.joins.iter().map(|j| &j.relation));
        all.cloned().collect::<Vec<_>>()
    };
    select.from.iter().flat_map(joined).find_map(|factor| {
        let ast::TableFactor::Derived { lateral: true, subquery, alias, sample: _ } = &factor
        else {
            return None;
        };
        let shown = select_of(subquery).ok().map(|inner| inner.projection.as_slice());
        let hint = match (shown, alias) {
            (Some([item]), Some(alias)) => {
                let name = match item {
                    ast::SelectItem::ExprWithAlias { expr: _, alias } => alias.value.clone(),
                    ast::SelectItem::UnnamedExpr(node) => default_name(node, 0),
                    _ => "x".to_owned(),
                };
                format!("({subquery}) in the place of {}.{name}, without LATERAL", alias.name)
            }
            _ => "a sub-query for each value, where it is needed: (SELECT MAX(…) FROM … WHERE …)"
                .to_owned(),
        };
        Some(Refusal::new("LATERAL is not supported", hint).at(&factor))
    })
}

/// `FROM t UNPIVOT (v FOR name IN (a, b))`.
fn unpivot(select: &ast::Select) -> Option<Refusal> {
    let [from] = select.from.as_slice() else { return None };
    let ast::TableFactor::Unpivot { table, value, name, columns, null_inclusion: _, alias: _ } =
        &from.relation
    else {
        return None;
    };
    let (with, of) = match (plain_table(table), table.as_ref()) {
        (Some((name, _)), _) => (String::new(), name.to_string()),
        (None, ast::TableFactor::Derived { lateral: _, subquery, alias: _, sample: _ }) => {
            (format!("WITH t AS ({subquery}) "), "t".to_owned())
        }
        _ => (String::new(), "t".to_owned()),
    };
    let side = |(index, column): (usize, &ast::ExprWithAlias)| {
        let column = &column.expr;
        match index {
            0 => format!("SELECT '{column}' AS {name}, {column} AS {value} FROM {of}"),
            _ => format!("SELECT '{column}', {column} FROM {of}"),
        }
    };
    let sides: Vec<String> = columns.iter().enumerate().map(side).collect();
    let hint = format!("{with}{}", sides.join(" UNION ALL "));
    let refusal = Refusal::new("UNPIVOT is not supported", hint);
    Some(refusal.at(table.as_ref()).at(select))
}

impl ForeignSyntax<'_> {
    /// The contract's table of a factor of FROM, and the name that its columns are qualified by.
    fn table(&self, factor: &ast::TableFactor) -> Option<(&Table, String)> {
        let (name, alias) = plain_table(factor)?;
        let name = table_name(name);
        // A common table expression hides a table.
        if self.named.iter().any(|named| named.eq_ignore_ascii_case(&name)) {
            return None;
        }
        let table = self.contract.table(&name)?;
        Some((table, alias.map_or(name, |alias| alias.name.value.clone())))
    }

    /// HAVING of an EXISTS with GROUP BY that names a column of no table in its FROM.
    fn having_of_rows_around(&self, node: &ast::Expr) -> Option<Refusal> {
        let ast::Expr::Exists { subquery, negated: _ } = node else { return None };
        let select = select_of(subquery).ok()?;
        let ast::GroupByExpr::Expressions(keys, more) = &select.group_by else { return None };
        let having = select.having.as_ref().filter(|_| !keys.is_empty() && more.is_empty())?;
        let tables = select.from.iter().flat_map(|from| {
            std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
        });
        let tables = tables.map(|factor| Some(self.table(factor)?.1));
        let tables: Vec<String> = tables.collect::<Option<_>>()?;
        let is_inner = |table: &str| tables.iter().any(|inner| inner.eq_ignore_ascii_case(table));
        let mut outer = None;
        each(having, &mut |node| {
            if let ast::Expr::CompoundIdentifier(path) = node
                && let [table, _] = path.as_slice()
                && !is_inner(&table.value)
                && outer.is_none()
            {
                outer = Some(node.clone());
            }
        });
        let outer = outer?;
        let what = format!(
            "HAVING reads `{outer}` of the rows around its sub-query: that is not supported"
        );
        let hint = "compare it with a value of the groups, computed before: (SELECT MAX(g.n) FROM \
                    (SELECT unit, SUM(x) AS n FROM … GROUP BY unit, …) AS g WHERE g.unit = \
                    outer.unit)";
        Some(Refusal::new(what, hint).at(&outer))
    }

    /// `SELECT * FROM t PIVOT (…)` of a table whose unit is among the columns that PIVOT does not
    /// name: these are the keys of its groups.
    fn pivot_by_the_unit(&self, query: &ast::Query) -> Option<Refusal> {
        let select = select_of(query).ok()?;
        let ([ast::SelectItem::Wildcard(_)], [from]) =
            (select.projection.as_slice(), select.from.as_slice())
        else {
            return None;
        };
        let ast::TableFactor::Pivot {
            table,
            aggregate_functions,
            value_column,
            value_source: _,
            default_on_null: _,
            alias: _,
        } = &from.relation
        else {
            return None;
        };
        let (of, _) = self.table(table)?;
        let name = plain_table(table).map(|(name, _)| table_name(name))?;
        let TableUnit::Column(unit) = &of.unit else { return None };
        let read = value_column.iter().chain(aggregate_functions.iter().map(|one| &one.expr));
        let read: Vec<&ast::Expr> = read.collect();
        let reads = |name: &str| {
            let is_it = |node: &ast::Expr| node.to_string().eq_ignore_ascii_case(name);
            read.iter().any(|node| any(node, &|node| is_name(node) && is_it(node)))
        };
        if reads(unit) {
            return None;
        }
        let key = of.columns.iter().find(|column| {
            column.column_type == ColumnType::String && column.name != *unit && !reads(&column.name)
        });
        let chosen = of
            .columns
            .iter()
            .filter(|column| reads(&column.name) || key.is_some_and(|key| key.name == column.name));
        let chosen: Vec<&str> = chosen.map(|column| column.name.as_str()).collect();
        let [chosen, aggregates, by] =
            [chosen.join(", "), list(aggregate_functions.iter()), list(value_column.iter())];
        let what = format!(
            "PIVOT groups by all other columns of `{name}`, and `{unit}` among them is the privacy \
             unit"
        );
        let hint = format!(
            "choose the columns before it: FROM (SELECT {chosen} FROM {name}) PIVOT ({aggregates} \
             FOR {by} IN (…))"
        );
        Some(Refusal::new(what, hint).at(table.as_ref()))
    }
}

fn list<T: ToString>(all: impl Iterator<Item = T>) -> String {
    all.map(|one| one.to_string()).collect::<Vec<_>>().join(", ")
}
