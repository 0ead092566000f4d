//! Ways out for IN of a sub-query where it is not supported.

use sqlparser::ast;

/// The IN as EXISTS, which is supported in more places. `qualified` gives a column around it with
/// the name of its table. `None` where the names of both sides could not be told apart.
pub(super) fn as_exists(
    value: &ast::Expr,
    query: &ast::Query,
    negated: bool,
    qualified: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else { return None };
    let ([ast::SelectItem::UnnamedExpr(item)], [from]) =
        (select.projection.as_slice(), select.from.as_slice())
    else {
        return None;
    };
    let is_grouped = match &select.group_by {
        ast::GroupByExpr::Expressions(keys, more) => !keys.is_empty() || !more.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    let is_plain = select.having.is_none()
        && select.qualify.is_none()
        && query.with.is_none()
        && query.limit_clause.is_none();
    if is_grouped || !is_plain || !from.joins.is_empty() {
        return None;
    }
    let inner = match (item, &from.relation) {
        (
            ast::Expr::Identifier(column),
            ast::TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints: _,
                version: None,
                with_ordinality: false,
                partitions: _,
                json_path: None,
                sample: None,
                index_hints: _,
            },
        ) => {
            let table =
                alias.as_ref().map_or_else(|| name.to_string(), |alias| alias.name.to_string());
            format!("{table}.{column}")
        }
        (ast::Expr::CompoundIdentifier(_), _) => item.to_string(),
        _ => return None,
    };
    let outer = match value {
        ast::Expr::Identifier(column) => qualified(&column.value)?,
        ast::Expr::CompoundIdentifier(_) => value.to_string(),
        _ => return None,
    };
    let more = match &select.selection {
        Some(node @ ast::Expr::BinaryOp { left: _, op: ast::BinaryOperator::Or, right: _ }) => {
            format!(" AND ({node})")
        }
        Some(node) => format!(" AND {node}"),
        None => String::new(),
    };
    let (not, note) = match negated {
        true => ("NOT ", ", which is true beside NULL, too"),
        false => ("", ""),
    };
    (inner != outer)
        .then(|| format!("{not}EXISTS (SELECT 1 FROM {from} WHERE {inner} = {outer}{more}){note}"))
}
