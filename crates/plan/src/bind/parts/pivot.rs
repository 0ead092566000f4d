//! PIVOT: aggregates of the rows that have each of several values, beside each other.
//!
//! `FROM t PIVOT (SUM(x) FOR k IN ('a', 'b'))` is `FROM (SELECT …, SUM(x) FILTER (WHERE k = 'a') AS
//! a, SUM(x) FILTER (WHERE k = 'b') AS b FROM t GROUP BY …)`, where … are the columns of t that
//! PIVOT does not name. Columns have BigQuery's names.

use hushtable_lang::Refusal;
use hushtable_lang::aggregate_names::aggregate_name;
use sqlparser::ast;

use crate::bind::select::default_name;
use crate::bind::star::Star;
use crate::bind::syntax::{plain_table, query_of, simple_select};
use crate::bind::walk::{column, ident, operands, table_name};

/// Most columns that PIVOT makes.
const MAX_COLUMNS: usize = 100;

/// The columns of tables and common table expressions, by name.
type ColumnsOf<'a> = &'a dyn Fn(&str) -> Option<Vec<String>>;

/// Writes the aggregates of PIVOT in its place. A SELECT of all columns of one becomes the SELECT
/// of the aggregates.
pub(super) fn write_pivots(
    select: &mut ast::Select,
    columns_of: ColumnsOf<'_>,
) -> Result<(), Refusal> {
    let mut only = None;
    for from in &mut select.from {
        let joined = from.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut from.relation).chain(joined) {
            if let ast::TableFactor::Pivot {
                table: _,
                aggregate_functions: _,
                value_column: _,
                value_source: _,
                default_on_null: _,
                alias,
            } = &*factor
            {
                let aggregates =
                    aggregates(factor, columns_of).map_err(|refusal| refusal.at(&*factor))?;
                // A name may rename its columns.
                only = alias.is_none().then(|| aggregates.clone());
                *factor = ast::TableFactor::Derived {
                    lateral: false,
                    alias: alias.clone(),
                    subquery: Box::new(query_of(aggregates)),
                    sample: None,
                };
            }
        }
    }
    let Some(only) = only else { return Ok(()) };
    let all = ast::Select {
        select_token: select.select_token.clone(),
        projection: select.projection.clone(),
        from: select.from.clone(),
        ..simple_select()
    };
    let shows_all = matches!(all.projection.as_slice(), [ast::SelectItem::Wildcard(more)]
        if *more == ast::WildcardAdditionalOptions::default());
    let is_alone = matches!(all.from.as_slice(), [from] if from.joins.is_empty());
    if *select == all && shows_all && is_alone {
        *select = ast::Select { select_token: select.select_token.clone(), ..only };
    }
    Ok(())
}

/// The SELECT that a PIVOT stands for.
fn aggregates(
    factor: &ast::TableFactor,
    columns_of: ColumnsOf<'_>,
) -> Result<ast::Select, Refusal> {
    let ast::TableFactor::Pivot {
        table,
        aggregate_functions,
        value_column,
        value_source,
        default_on_null,
        alias: _,
    } = factor
    else {
        return Err(crate::bind::syntax::missing());
    };
    let [by] = value_column.as_slice() else {
        return Err(Refusal::new(
            "PIVOT by several columns is not supported",
            "FOR one column IN (…); the others are keys of the groups",
        ));
    };
    let by = named(by).ok_or_else(|| {
        Refusal::new(
            format!("PIVOT … FOR `{by}` names no column"),
            "name it in the sub-query before PIVOT: (SELECT …, expression AS k FROM …) PIVOT (… \
             FOR k IN (…))",
        )
    })?;
    let given = columns(table, columns_of).ok_or_else(|| {
        Refusal::new(
            "PIVOT needs to know the columns of its rows, which are the keys of its groups",
            "name them in a sub-query: FROM (SELECT a, k, x FROM …) PIVOT (SUM(x) FOR k IN (…))",
        )
    })?;
    let ast::PivotValueSource::List(values) = value_source else {
        return Err(Refusal::new(
            format!("PIVOT needs the values of `{by}`: which ones there are depends on the data"),
            format!("write them: FOR {by} IN ('a', 'b'); or GROUP BY {by} beside other columns"),
        ));
    };
    if default_on_null.is_some() {
        return Err(Refusal::new(
            "DEFAULT ON NULL of PIVOT is not supported",
            "leave it out, and write COALESCE(column, 0) in the SELECT around",
        ));
    }
    let mut read = Vec::new();
    for aggregate in aggregate_functions {
        if aggregate_name(&aggregate.expr).is_none() {
            return Err(Refusal::new(
                format!("PIVOT takes aggregates alone, not `{}`", aggregate.expr),
                "PIVOT (SUM(x) AS s, COUNT(*) AS n FOR k IN (…)), and compute with s and n around \
                 it",
            ));
        }
        if aggregate.alias.is_none() && aggregate_functions.len() > 1 {
            return Err(Refusal::new(
                format!("PIVOT has several aggregates, but `{}` has no name", aggregate.expr),
                "SUM(x) AS s, COUNT(*) AS n",
            ));
        }
        add_names(&aggregate.expr, &mut read);
    }
    read.push(by.clone());
    let is_read = |name: &String| read.iter().any(|one| one.eq_ignore_ascii_case(name));
    let keys: Vec<String> = given.into_iter().filter(|name| !is_read(name)).collect();
    let item = |(expr, name): (ast::Expr, &str)| ast::SelectItem::ExprWithAlias {
        expr,
        alias: ident(name),
    };
    let mut projection: Vec<ast::SelectItem> = Vec::new();
    let mut names = keys.clone();
    projection.extend(keys.iter().map(|name| ast::SelectItem::UnnamedExpr(column(name))));
    for value in values {
        let (condition, of_value) = condition(&by, value)?;
        for aggregate in aggregate_functions {
            let name = match &aggregate.alias {
                Some(alias) => format!("{}_{of_value}", alias.value),
                None => of_value.clone(),
            };
            if names.iter().any(|one| one.eq_ignore_ascii_case(&name)) {
                return Err(Refusal::new(
                    format!("PIVOT makes two columns of the name `{name}`"),
                    format!("give a value another name: IN ({} AS other_name)", value.expr),
                ));
            }
            projection.push(item((filtered(&aggregate.expr, &condition), &name)));
            names.push(name);
        }
    }
    if names.len() > keys.len() + MAX_COLUMNS {
        return Err(Refusal::new(
            format!("PIVOT makes more than {MAX_COLUMNS} columns"),
            "use fewer values or aggregates, or GROUP BY",
        ));
    }
    let keys = keys.iter().map(|name| column(name)).collect();
    Ok(ast::Select {
        projection,
        from: vec![ast::TableWithJoins { relation: (**table).clone(), joins: Vec::new() }],
        group_by: ast::GroupByExpr::Expressions(keys, Vec::new()),
        ..simple_select()
    })
}

/// The condition that a column has a value, and the value in names of columns.
fn condition(by: &str, value: &ast::ExprWithAlias) -> Result<(ast::Expr, String), Refusal> {
    let constant = &value.expr;
    let (left, right) = (Box::new(column(by)), Box::new(constant.clone()));
    let is_null = is_null(constant);
    let written = written(constant).ok_or_else(|| {
        Refusal::new(
            format!("PIVOT … FOR {by} IN (…) has `{constant}`, which is no constant"),
            "IN ('a', 'b' AS name, 3)",
        )
    })?;
    let name = value.alias.as_ref().map_or(written, |alias| alias.value.clone());
    let condition = match is_null {
        true => ast::Expr::IsNull(left),
        false => ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right },
    };
    Ok((condition, name))
}

/// Whether a constant is NULL, in brackets or not.
fn is_null(constant: &ast::Expr) -> bool {
    match constant {
        ast::Expr::Value(value) => value.value == ast::Value::Null,
        ast::Expr::Nested(inner) => is_null(inner),
        _ => false,
    }
}

/// A constant in the name of a column, as BigQuery writes it: `_2024`, `minus_1_point_5`.
fn written(constant: &ast::Expr) -> Option<String> {
    match constant {
        ast::Expr::Value(value) => Some(match &value.value {
            ast::Value::SingleQuotedString(text) | ast::Value::DoubleQuotedString(text) => {
                text.clone()
            }
            ast::Value::Number(digits, _) => format!("_{}", digits.replace('.', "_point_")),
            ast::Value::Boolean(truth) => truth.to_string(),
            ast::Value::Null => "NULL".to_owned(),
            _ => return None,
        }),
        ast::Expr::TypedString(ast::TypedString { data_type: _, value, uses_odbc_syntax: _ }) => {
            let text = value.clone().into_string()?;
            Some(format!("_{}", text.replace(|c: char| !c.is_ascii_alphanumeric(), "_")))
        }
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => {
            Some(format!("minus{}", written(expr)?))
        }
        ast::Expr::Nested(inner) => written(inner),
        _ => None,
    }
}

/// An aggregate of the rows that meet a condition, beside its own.
fn filtered(aggregate: &ast::Expr, condition: &ast::Expr) -> ast::Expr {
    let mut aggregate = aggregate.clone();
    if let ast::Expr::Function(function) = &mut aggregate {
        let condition = match function.filter.take() {
            Some(filter) => ast::Expr::BinaryOp {
                left: Box::new(ast::Expr::Nested(filter)),
                op: ast::BinaryOperator::And,
                right: Box::new(condition.clone()),
            },
            None => condition.clone(),
        };
        function.filter = Some(Box::new(condition));
    }
    aggregate
}

/// The names of columns that an expression reads.
fn add_names(node: &ast::Expr, names: &mut Vec<String>) {
    names.extend(named(node));
    operands(node).into_iter().flatten().for_each(|operand| add_names(operand, names));
}

fn named(node: &ast::Expr) -> Option<String> {
    match node {
        ast::Expr::Identifier(name) => Some(name.value.clone()),
        ast::Expr::CompoundIdentifier(path) => path.last().map(|name| name.value.clone()),
        _ => None,
    }
}

/// The names of the columns of a table or sub-query of FROM, where they are known.
fn columns(factor: &ast::TableFactor, columns_of: ColumnsOf<'_>) -> Option<Vec<String>> {
    if let Some((name, alias)) = plain_table(factor) {
        return renamed(alias, || columns_of(&table_name(name)));
    }
    match factor {
        ast::TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
            renamed(alias.as_ref(), || shown_columns(subquery, columns_of))
        }
        _ => None,
    }
}

fn renamed(
    alias: Option<&ast::TableAlias>,
    columns: impl FnOnce() -> Option<Vec<String>>,
) -> Option<Vec<String>> {
    match alias {
        Some(alias) if !alias.columns.is_empty() => {
            Some(alias.columns.iter().map(|column| column.name.value.clone()).collect())
        }
        _ => columns(),
    }
}

/// The names of the columns that a query shows, where they are known.
pub(super) fn shown_columns(query: &ast::Query, columns_of: ColumnsOf<'_>) -> Option<Vec<String>> {
    let mut body = query.body.as_ref();
    let select = loop {
        match body {
            ast::SetExpr::Select(select) => break select,
            ast::SetExpr::SetOperation { left, op: _, set_quantifier: _, right: _ } => body = left,
            ast::SetExpr::Query(inner) => body = inner.body.as_ref(),
            _ => return None,
        }
    };
    let mut names = Vec::new();
    for (position, item) in select.projection.iter().enumerate() {
        match item {
            ast::SelectItem::UnnamedExpr(node) => names.push(default_name(node, position)),
            ast::SelectItem::ExprWithAlias { expr: _, alias } => names.push(alias.value.clone()),
            _ => {
                let star = Star::of(item).ok()??;
                let [from] = select.from.as_slice() else { return None };
                if !from.joins.is_empty() || star.table().is_some() {
                    return None;
                }
                let all = columns(&from.relation, columns_of)?;
                names.extend(star.of_columns(all, String::as_str).ok()?);
            }
        }
    }
    Some(names)
}
