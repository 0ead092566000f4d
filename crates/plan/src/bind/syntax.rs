//! Syntax that is put in the place of other syntax.

use hushtable_lang::Refusal;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{self, SetExpr};

use super::walk::ident;

/// A SELECT with nothing in it.
pub(super) fn simple_select() -> ast::Select {
    ast::Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection: Vec::new(),
        exclude: None,
        into: None,
        from: Vec::new(),
        lateral_views: Vec::new(),
        prewhere: None,
        selection: None,
        connect_by: Vec::new(),
        group_by: ast::GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: ast::SelectFlavor::Standard,
    }
}

/// `SELECT * FROM` a table.
pub(super) fn all_of(table: &str) -> ast::Select {
    let all = ast::SelectItem::Wildcard(ast::WildcardAdditionalOptions::default());
    ast::Select { projection: vec![all], from: vec![from_table(table)], ..simple_select() }
}

/// A table in FROM.
pub(super) fn from_table(table: &str) -> ast::TableWithJoins {
    let name = ast::ObjectName::from(vec![ident(table)]);
    ast::TableWithJoins { relation: table_factor(name, None), joins: Vec::new() }
}

/// A table under its name, or another one.
pub(super) fn table_factor(
    name: ast::ObjectName,
    alias: Option<ast::TableAlias>,
) -> ast::TableFactor {
    ast::TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// The name of a table in FROM, and its alias; `None` where it has anything else.
pub(super) fn plain_table(
    factor: &ast::TableFactor,
) -> Option<(&ast::ObjectName, Option<&ast::TableAlias>)> {
    match factor {
        ast::TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
            Some((name, alias.as_ref()))
        }
        _ => None,
    }
}

/// A query that is one SELECT.
pub(super) fn query_of(select: ast::Select) -> ast::Query {
    ast::Query {
        with: None,
        body: Box::new(SetExpr::Select(Box::new(select))),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// The SELECT of a query that is one.
pub(super) fn select_of(query: &ast::Query) -> Result<&ast::Select, Refusal> {
    match query.body.as_ref() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(missing()),
    }
}

/// The one expression that a SELECT shows, if it shows one.
pub(super) fn only_value(select: &ast::Select) -> Option<&ast::Expr> {
    match select.projection.as_slice() {
        [
            ast::SelectItem::UnnamedExpr(value)
            | ast::SelectItem::ExprWithAlias { expr: value, alias: _ },
        ] => Some(value),
        _ => None,
    }
}

/// Whether a SELECT has keys of GROUP BY.
pub(super) fn has_keys(select: &ast::Select) -> bool {
    match &select.group_by {
        ast::GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
        ast::GroupByExpr::All(_) => true,
    }
}

/// The SELECT of a query that is one, to be changed.
pub(super) fn select_of_mut(query: &mut ast::Query) -> Result<&mut ast::Select, Refusal> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(missing()),
    }
}

/// Refuses a statement that could not be divided into its private parts.
pub(super) fn missing() -> Refusal {
    Refusal::new(
        "the statement could not be divided into its private parts",
        "use fewer nested sub-queries",
    )
}

/// A sort key that states where NULL goes: in GoogleSQL, NULL is the least value.
pub(super) fn ordered(expr: ast::Expr, options: ast::OrderByOptions) -> ast::OrderByExpr {
    let descending = options.asc == Some(false);
    let nulls_first = Some(options.nulls_first.unwrap_or(!descending));
    let options = ast::OrderByOptions { asc: Some(!descending), nulls_first };
    ast::OrderByExpr { expr, options, with_fill: None }
}

pub(super) fn unnamed(expr: ast::Expr) -> ast::FunctionArg {
    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr))
}

/// A call of a function.
pub(super) fn call(name: &str, operands: Vec<ast::Expr>) -> ast::Expr {
    let args = operands.into_iter().map(unnamed).collect();
    ast::Expr::Function(ast::Function {
        name: ast::ObjectName::from(vec![ast::Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Refuses what is no table, join or sub-query.
pub(super) fn not_a_table(factor: &ast::TableFactor) -> Refusal {
    let hint = match factor {
        ast::TableFactor::UNNEST {
            alias: _,
            array_exprs,
            with_offset: _,
            with_offset_alias: _,
            with_ordinality: _,
        } => match array_exprs.as_slice() {
            [ast::Expr::Function(_)] => {
                "SPLIT(x, ',')[SAFE_OFFSET(0)] for one part of a text; a public table of the parts \
                 for all of them: JOIN parts ON CONTAINS(CONCAT(',', x, ','), \
                 CONCAT(',', parts.part, ','))"
            }
            _ => {
                "x IN UNNEST([1, 2]) or x IN (1, 2) for a condition; a public table of the \
                 contract for rows of constants; SPLIT(x, ',')[SAFE_OFFSET(0)] for one part of a \
                 text"
            }
        },
        _ => "use tables, joins and sub-queries",
    };
    Refusal::new(format!("`{factor}` in FROM is not supported"), hint).at(factor)
}

/// A sub-query in FROM.
pub(super) fn derived(query: ast::Query, name: &str) -> ast::TableWithJoins {
    let relation = ast::TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias: Some(ast::TableAlias {
            explicit: true,
            name: ast::Ident::new(name),
            columns: Vec::new(),
            at: None,
        }),
        sample: None,
    };
    ast::TableWithJoins { relation, joins: Vec::new() }
}

/// `COUNT(*)`.
pub(super) fn count_all() -> ast::Expr {
    let all = ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard);
    let mut count = call("COUNT", Vec::new());
    if let ast::Expr::Function(function) = &mut count
        && let ast::FunctionArguments::List(list) = &mut function.args
    {
        list.args.push(all);
    }
    count
}

/// All of some conditions; `None` where there is none.
pub(super) fn all_of_them(conditions: impl Iterator<Item = ast::Expr>) -> Option<ast::Expr> {
    conditions.reduce(|left, right| ast::Expr::BinaryOp {
        left: Box::new(left),
        op: ast::BinaryOperator::And,
        right: Box::new(right),
    })
}

/// A whole number.
pub(super) fn number(value: u32) -> ast::Expr {
    ast::Expr::Value(ast::Value::Number(value.to_string(), false).with_empty_span())
}

/// `left = right`.
pub(super) fn equality(left: ast::Expr, right: ast::Expr) -> ast::Expr {
    ast::Expr::BinaryOp {
        left: Box::new(left),
        op: ast::BinaryOperator::Eq,
        right: Box::new(right),
    }
}
