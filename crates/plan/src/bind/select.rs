//! The clauses of a SELECT as syntax, of parts, sub-queries and the SQL around parts alike.

use hushtable_lang::Refusal;
use sqlparser::ast;

/// Refuses what neither queries nor sub-queries may have.
pub(super) fn plain_clauses(query: &ast::Query, select: &ast::Select) -> Result<(), Refusal> {
    let refuse =
        |what: &str, hint: &str| Err(Refusal::new(format!("{what} is not supported"), hint));
    // Destructured in full, so that a clause that a new version of the parser adds is not silently
    // accepted here. The callers handle the fields that are bound to `_`.
    let ast::Query {
        with: _,
        body: _,
        order_by: _,
        limit_clause: _,
        fetch: _,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    if !locks.is_empty()
        || for_clause.is_some()
        || settings.is_some()
        || format_clause.is_some()
        || !pipe_operators.is_empty()
    {
        return refuse("a clause after ORDER BY and LIMIT", "end the query there");
    }
    let ast::Select {
        select_token: _,
        // A comment, which has no effect.
        optimizer_hints: _,
        distinct: _,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection: _,
        exclude,
        into,
        from: _,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by: _,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window,
        qualify: _,
        window_before_qualify: _,
        value_table_mode,
        // FROM before SELECT means the same.
        flavor: _,
    } = select;
    if !named_window.is_empty() {
        return refuse("WINDOW", "write OVER (…) where the window is used, in a sub-query");
    }
    let odd = top.is_some()
        || into.is_some()
        || exclude.is_some()
        || select_modifiers.is_some()
        || !lateral_views.is_empty()
        || prewhere.is_some()
        || !connect_by.is_empty()
        || !cluster_by.is_empty()
        || !distribute_by.is_empty()
        || !sort_by.is_empty()
        || value_table_mode.is_some();
    if odd {
        return refuse(
            "a clause of this SELECT",
            "write SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT",
        );
    }
    Ok(())
}

pub(super) fn limits(query: &ast::Query) -> Result<(Option<u64>, u64), Refusal> {
    let number = |node: &ast::Expr| {
        let text = node.to_string();
        text.parse::<u64>().map_err(|_| {
            Refusal::new(format!("LIMIT or OFFSET {text} is not a whole number"), "LIMIT 10")
        })
    };
    match &query.limit_clause {
        None => Ok((None, 0)),
        Some(ast::LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
            let limit = limit.as_ref().map(&number).transpose()?;
            let offset = offset.as_ref().map(|o| number(&o.value)).transpose()?;
            Ok((limit, offset.unwrap_or(0)))
        }
        Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => {
            Ok((Some(number(limit)?), number(offset)?))
        }
        Some(_) => Err(Refusal::new("this form of LIMIT is not supported", "LIMIT 10 OFFSET 20")),
    }
}

pub(super) fn default_name(node: &ast::Expr, position: usize) -> String {
    match node {
        ast::Expr::Identifier(name) => name.value.clone(),
        ast::Expr::CompoundIdentifier(path) => {
            path.last().map_or_else(String::new, |i| i.value.clone())
        }
        ast::Expr::Function(function) => function.name.to_string().to_lowercase(),
        _ => format!("column_{}", position + 1),
    }
}
