//! Walks through syntax: the operands of expressions, and the expressions of clauses.

use sqlparser::ast;

/// Defines a function that lists the operands of an expression in any form that the binder knows;
/// `None` for other forms. Sub-queries are no operands, but the value before IN is.
macro_rules! operands_of {
    ($name:ident, $items:ident $(, $mutable:tt)?) => {
        pub(super) fn $name(
            node: & $($mutable)? ast::Expr,
        ) -> Option<Vec<& $($mutable)? ast::Expr>> {
            use ast::Expr as E;
            Some(match node {
                E::Identifier(_)
                | E::CompoundIdentifier(_)
                | E::Value(_)
                | E::TypedString(_)
                | E::Subquery(_)
                | E::Exists { subquery: _, negated: _ } => Vec::new(),
                E::Nested(e)
                | E::IsNull(e)
                | E::IsNotNull(e)
                | E::IsTrue(e)
                | E::IsNotTrue(e)
                | E::IsFalse(e)
                | E::IsNotFalse(e)
                | E::IsUnknown(e)
                | E::IsNotUnknown(e)
                | E::UnaryOp { op: _, expr: e }
                | E::Cast { kind: _, expr: e, data_type: _, array: _, format: _ }
                | E::Extract { field: _, syntax: _, expr: e }
                | E::Floor { expr: e, field: _ }
                | E::Ceil { expr: e, field: _ }
                | E::Collate { expr: e, collation: _ }
                | E::CompoundFieldAccess { root: e, access_chain: _ }
                | E::JsonAccess { value: e, path: _ }
                | E::InSubquery { expr: e, subquery: _, negated: _ } => vec![e],
                E::IsDistinctFrom(left, right)
                | E::IsNotDistinctFrom(left, right)
                | E::BinaryOp { left, op: _, right }
                | E::Position { expr: left, r#in: right }
                | E::AtTimeZone { timestamp: left, time_zone: right }
                | E::AnyOp { left, compare_op: _, right, is_some: _ }
                | E::AllOp { left, compare_op: _, right }
                | E::SimilarTo { negated: _, expr: left, pattern: right, escape_char: _ }
                | E::RLike { negated: _, expr: left, pattern: right, regexp: _ }
                | E::Like { negated: _, any: _, expr: left, pattern: right, escape_char: _ }
                | E::ILike { negated: _, any: _, expr: left, pattern: right, escape_char: _ } => {
                    vec![left, right]
                },
                E::Between { expr, negated: _, low, high } => vec![expr, low, high],
                E::Interval(interval) => vec![& $($mutable)? interval.value],
                E::Tuple(all) => all.$items().collect(),
                E::Rollup(sets) | E::Cube(sets) | E::GroupingSets(sets) => {
                    sets.$items().flatten().collect()
                }
                E::Array(array) => array.elem.$items().collect(),
                E::InUnnest { expr, array_expr, negated: _ } => vec![expr, array_expr],
                E::InList { expr, list, negated: _ } => {
                    let mut all: Vec<& $($mutable)? E> = vec![expr];
                    all.extend(list);
                    all
                }
                E::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                    let mut all: Vec<& $($mutable)? E> = Vec::new();
                    all.extend(operand.$items().map(|e| & $($mutable)? **e));
                    for branch in conditions {
                        all.push(& $($mutable)? branch.condition);
                        all.push(& $($mutable)? branch.result);
                    }
                    all.extend(else_result.$items().map(|e| & $($mutable)? **e));
                    all
                }
                E::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                    let mut all: Vec<& $($mutable)? E> = vec![expr];
                    all.extend(substring_from.$items().map(|e| & $($mutable)? **e));
                    all.extend(substring_for.$items().map(|e| & $($mutable)? **e));
                    all
                }
                E::Trim { trim_where: _, trim_what, expr, trim_characters } => {
                    let mut all: Vec<& $($mutable)? E> = vec![expr];
                    all.extend(trim_what.$items().map(|e| & $($mutable)? **e));
                    all.extend(trim_characters.$items().flatten());
                    all
                }
                E::Function(function) => {
                    let mut all: Vec<& $($mutable)? E> = Vec::new();
                    let part = date_part_index(function);
                    if let ast::FunctionArguments::List(list) = & $($mutable)? function.args {
                        for (index, argument) in list.args.$items().enumerate() {
                            if part == Some(index) {
                                continue;
                            }
                            use ast::{FunctionArg as A, FunctionArgExpr as X};
                            let (A::Unnamed(value)
                            | A::Named { name: _, arg: value, operator: _ }
                            | A::ExprNamed { name: _, arg: value, operator: _ }) = argument;
                            match value {
                                X::Expr(e) => all.push(e),
                                X::QualifiedWildcard(_)
                                | X::Wildcard
                                | X::WildcardWithOptions(_) => {}
                            }
                        }
                    }
                    all.extend(function.filter.$items().map(|e| & $($mutable)? **e));
                    all.extend(function.within_group.$items().map(|by| & $($mutable)? by.expr));
                    if let Some(ast::WindowType::WindowSpec(window)) =
                        & $($mutable)? function.over
                    {
                        all.extend(window.partition_by.$items());
                        all.extend(
                            window.order_by.$items().map(|by| & $($mutable)? by.expr),
                        );
                    }
                    all
                }
                _ => return None,
            })
        }
    };
}

operands_of!(operands, iter);
operands_of!(operands_mut, iter_mut, mut);

/// The index of the argument that names a date part and is no value, as MONTH in
/// `DATE_TRUNC(x, MONTH)`.
fn date_part_index(function: &ast::Function) -> Option<usize> {
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    // A part that is a text stands first, and is a constant as any other.
    let text_first = matches!(
        list.args.first(),
        Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Value(_))))
    );
    let name = function.name.to_string().replace('`', "").to_uppercase();
    match (name.as_str(), list.args.len()) {
        _ if text_first => None,
        ("DATE_TRUNC" | "TIMESTAMP_TRUNC" | "DATETIME_TRUNC", 2) => Some(1),
        ("DATE_DIFF" | "TIMESTAMP_DIFF" | "DATETIME_DIFF", 3) => Some(2),
        ("DATEDIFF", 3) => Some(0),
        _ => None,
    }
}

/// A table's name without quotes, its identifiers joined by points.
pub(super) fn table_name(name: &ast::ObjectName) -> String {
    let text =
        |p: &ast::ObjectNamePart| p.as_ident().map_or_else(|| p.to_string(), |i| i.value.clone());
    name.0.iter().map(text).collect::<Vec<_>>().join(".")
}

/// The conditions of ON.
pub(super) fn on_mut(joins: &mut [ast::Join]) -> impl Iterator<Item = &mut ast::Expr> {
    joins.iter_mut().filter_map(|join| {
        use ast::JoinOperator as J;
        match &mut join.join_operator {
            J::Join(ast::JoinConstraint::On(node))
            | J::Inner(ast::JoinConstraint::On(node))
            | J::Left(ast::JoinConstraint::On(node))
            | J::LeftOuter(ast::JoinConstraint::On(node))
            | J::Right(ast::JoinConstraint::On(node))
            | J::RightOuter(ast::JoinConstraint::On(node))
            | J::FullOuter(ast::JoinConstraint::On(node))
            | J::Semi(ast::JoinConstraint::On(node))
            | J::LeftSemi(ast::JoinConstraint::On(node))
            | J::Anti(ast::JoinConstraint::On(node))
            | J::LeftAnti(ast::JoinConstraint::On(node)) => Some(node),
            _ => None,
        }
    })
}

/// Whether a test holds for an expression or a part of it, in the forms that the binder knows.
pub(super) fn any(node: &ast::Expr, test: &dyn Fn(&ast::Expr) -> bool) -> bool {
    test(node) || operands(node).into_iter().flatten().any(|operand| any(operand, test))
}

/// Whether an expression looks at more than one row of what is released: a window, or a
/// sub-query.
pub(super) fn looks_around(node: &ast::Expr) -> bool {
    match node {
        ast::Expr::Function(function) => function.over.is_some(),
        ast::Expr::Subquery(_)
        | ast::Expr::Exists { subquery: _, negated: _ }
        | ast::Expr::InSubquery { expr: _, subquery: _, negated: _ } => true,
        _ => false,
    }
}

/// The expressions of a SELECT's list.
pub(super) fn select_list(select: &ast::Select) -> impl Iterator<Item = &ast::Expr> {
    select.projection.iter().filter_map(|item| match item {
        ast::SelectItem::UnnamedExpr(e) | ast::SelectItem::ExprWithAlias { expr: e, alias: _ } => {
            Some(e)
        }
        ast::SelectItem::ExprWithAliases { expr: _, aliases: _ }
        | ast::SelectItem::QualifiedWildcard(_, _)
        | ast::SelectItem::Wildcard(_) => None,
    })
}

/// The expressions of a SELECT's list, to be changed.
pub(super) fn select_list_mut(select: &mut ast::Select) -> impl Iterator<Item = &mut ast::Expr> {
    select.projection.iter_mut().filter_map(|item| match item {
        ast::SelectItem::UnnamedExpr(e) | ast::SelectItem::ExprWithAlias { expr: e, alias: _ } => {
            Some(e)
        }
        ast::SelectItem::ExprWithAliases { expr: _, aliases: _ }
        | ast::SelectItem::QualifiedWildcard(_, _)
        | ast::SelectItem::Wildcard(_) => None,
    })
}

/// The expressions of ORDER BY.
pub(super) fn ordered(order_by: Option<&ast::OrderBy>) -> impl Iterator<Item = &ast::Expr> {
    let items = order_by.and_then(|by| match &by.kind {
        ast::OrderByKind::Expressions(items) => Some(items),
        ast::OrderByKind::All(_) => None,
    });
    items.into_iter().flatten().map(|item| &item.expr)
}

/// The expressions of ORDER BY, to be changed.
pub(super) fn ordered_mut(
    order_by: Option<&mut ast::OrderBy>,
) -> impl Iterator<Item = &mut ast::Expr> {
    let items = order_by.and_then(|by| match &mut by.kind {
        ast::OrderByKind::Expressions(items) => Some(items),
        ast::OrderByKind::All(_) => None,
    });
    items.into_iter().flatten().map(|item| &mut item.expr)
}

/// A bare column name.
pub(super) fn column(name: &str) -> ast::Expr {
    ast::Expr::Identifier(ident(name))
}

/// A name, quoted where it needs to be.
pub(super) fn ident(name: &str) -> ast::Ident {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { ast::Ident::new(name) } else { ast::Ident::with_quote('`', name) }
}

/// Whether an expression is the name of a column.
pub(super) fn is_name(node: &ast::Expr) -> bool {
    matches!(node, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_))
}
