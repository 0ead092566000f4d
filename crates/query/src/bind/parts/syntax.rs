//! Syntax that is put in the place of other syntax.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{self, SetExpr};

use super::walk::ident;
use crate::error::Refusal;

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
pub(in crate::bind) fn table_factor(
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

/// The name of a table that nothing but another name is given to.
pub(in crate::bind) fn plain_table(
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

/// The SELECT of a query that is one, to be changed.
pub(super) fn select_of_mut(query: &mut ast::Query) -> Result<&mut ast::Select, Refusal> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(missing()),
    }
}

/// A statement that came apart in another way than it was put together.
pub(super) fn missing() -> Refusal {
    Refusal::new(
        "the statement could not be divided into its private parts",
        "use fewer nested sub-queries",
    )
}
