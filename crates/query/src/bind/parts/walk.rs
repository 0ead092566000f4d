//! The operands of SQL expressions.

use sqlparser::ast::{self, BinaryOperator as Operator};

use super::named_windows::NamedWindows;
use crate::bind_expr::{paired, too_deep};
use crate::error::Refusal;

/// Defines a function that lists the operands of an expression in any form that the binder knows;
/// `None` for other forms. Sub-queries are no operands, but the value before IN is.
macro_rules! operands_of {
    ($name:ident, $items:ident $(, $mutable:tt)?) => {
        pub(in crate::bind) fn $name(
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
                    if let ast::FunctionArguments::List(list) = & $($mutable)? function.args {
                        for argument in list.args.$items() {
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

/// Deepest nesting of an expression, and most sides of a chain of set operations.
const MAX_NESTING: usize = 100;
/// Deepest nesting of a whole statement: those who walk it recurse as deep.
const MAX_DEPTH: usize = 400;

/// How deep a walk is: in its expression or chain, and in the whole statement.
#[derive(Clone, Copy, Default)]
struct Depth {
    own: usize,
    whole: usize,
}

impl Depth {
    fn deeper(self) -> Result<Self, Refusal> {
        let next = Self { own: self.own + 1, whole: self.whole + 1 };
        if next.own > MAX_NESTING || next.whole > MAX_DEPTH {
            return Err(too_deep(MAX_NESTING));
        }
        Ok(next)
    }

    /// Within a query of its own.
    fn within(self) -> Result<Self, Refusal> {
        Self { own: 0, whole: self.whole }.deeper()
    }
}

/// Refuses a statement that is nested too deep for those who walk it. Chains of AND and OR, which
/// the parser nests, are balanced: the same terms in the same order, few of them deep. Windows are
/// written where they are used. Common table expressions that nothing reads are left out.
/// Gives their names.
pub(super) fn settle(query: &mut ast::Query) -> Result<Vec<String>, Refusal> {
    let mut settling = Settling::default();
    settling.query(query, Depth::default())?;
    Ok(settling.unread)
}

#[derive(Default)]
struct Settling {
    /// The names of tables that were met.
    tables: Vec<String>,
    /// The windows that the SELECT names.
    windows: NamedWindows,
    /// Characters of named windows that were written where they are used.
    written: usize,
    /// The common table expressions that are left out.
    unread: Vec<String>,
}

impl Settling {
    fn query(&mut self, query: &mut ast::Query, depth: Depth) -> Result<(), Refusal> {
        let depth = depth.within()?;
        let before = self.tables.len();
        let own = match query.body.as_mut() {
            ast::SetExpr::Select(select) => NamedWindows::take(select)?,
            _ => NamedWindows::default(),
        };
        let around = std::mem::replace(&mut self.windows, own);
        for node in ordered_mut(query.order_by.as_mut()) {
            self.expression(node, depth)?;
        }
        match query.body.as_mut() {
            ast::SetExpr::Select(select) => self.select(select, depth)?,
            body => self.body(body, depth)?,
        }
        self.windows = around;
        let Some(with) = &mut query.with else { return Ok(()) };
        // Each may be read by those after it.
        for mut cte in std::mem::take(&mut with.cte_tables).into_iter().rev() {
            let name = &cte.alias.name.value;
            if with.recursive
                || self.tables[before..].iter().any(|own| own.eq_ignore_ascii_case(name))
            {
                self.query(&mut cte.query, depth)?;
                with.cte_tables.push(cte);
            } else {
                self.unread.push(cte.alias.name.value);
            }
        }
        with.cte_tables.reverse();
        if with.cte_tables.is_empty() {
            query.with = None;
        }
        Ok(())
    }

    fn body(&mut self, body: &mut ast::SetExpr, depth: Depth) -> Result<(), Refusal> {
        match body {
            ast::SetExpr::Select(select) => {
                let own = NamedWindows::take(select)?;
                let around = std::mem::replace(&mut self.windows, own);
                self.select(select, depth)?;
                self.windows = around;
                Ok(())
            }
            ast::SetExpr::Query(query) => self.query(query, depth),
            ast::SetExpr::SetOperation { left, op: _, set_quantifier: _, right } => {
                let chain = |_| {
                    let what =
                        format!("a chain of set operations has more than {MAX_NESTING} sides");
                    Refusal::new(what, "write several statements")
                };
                let depth = depth.deeper().map_err(chain)?;
                self.body(left, depth)?;
                self.body(right, depth)
            }
            // Not supported: refused by name where they are bound.
            ast::SetExpr::Values(_)
            | ast::SetExpr::Insert(_)
            | ast::SetExpr::Update(_)
            | ast::SetExpr::Delete(_)
            | ast::SetExpr::Merge(_)
            | ast::SetExpr::Table(_) => Ok(()),
        }
    }

    fn select(&mut self, select: &mut ast::Select, depth: Depth) -> Result<(), Refusal> {
        // The SELECT's list follows below, named windows are taken out, and the rest is refused by
        // name.
        let ast::Select {
            select_token: _,
            optimizer_hints: _,
            distinct: _,
            select_modifiers: _,
            top: _,
            top_before_distinct: _,
            projection: _,
            exclude: _,
            into: _,
            from,
            lateral_views: _,
            prewhere: _,
            selection,
            connect_by: _,
            group_by,
            cluster_by: _,
            distribute_by: _,
            sort_by: _,
            having,
            named_window: _,
            qualify,
            window_before_qualify: _,
            value_table_mode: _,
            flavor: _,
        } = select;
        for from in from {
            self.from(from, depth)?;
        }
        let (keys, modifiers) = match group_by {
            ast::GroupByExpr::Expressions(keys, modifiers) => (keys.as_mut_slice(), modifiers),
            ast::GroupByExpr::All(modifiers) => (&mut [][..], modifiers),
        };
        let sets = modifiers.iter_mut().filter_map(|modifier| match modifier {
            ast::GroupByWithModifier::GroupingSets(sets) => Some(sets),
            ast::GroupByWithModifier::Rollup
            | ast::GroupByWithModifier::Cube
            | ast::GroupByWithModifier::Totals => None,
        });
        let clauses = selection.iter_mut().chain(having).chain(qualify).chain(keys);
        for node in clauses.chain(sets) {
            self.expression(node, depth)?;
        }
        for node in shown_mut(select) {
            self.expression(node, depth)?;
        }
        Ok(())
    }

    fn from(&mut self, from: &mut ast::TableWithJoins, depth: Depth) -> Result<(), Refusal> {
        self.factor(&mut from.relation, depth)?;
        for join in &mut from.joins {
            self.factor(&mut join.relation, depth)?;
        }
        for node in on_mut(&mut from.joins) {
            self.expression(node, depth)?;
        }
        Ok(())
    }

    fn factor(&mut self, factor: &mut ast::TableFactor, depth: Depth) -> Result<(), Refusal> {
        match factor {
            ast::TableFactor::Derived { lateral: _, subquery, alias: _, sample: _ } => {
                self.query(subquery, depth)
            }
            ast::TableFactor::NestedJoin { table_with_joins, alias: _ } => {
                self.from(table_with_joins, depth.within()?)
            }
            ast::TableFactor::Table {
                name,
                alias: _,
                with_hints: _,
                version: _,
                with_ordinality: _,
                partitions: _,
                json_path: _,
                sample: _,
                index_hints: _,
                args: _,
            } => {
                self.tables.push(table_name(name));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn expression(&mut self, node: &mut ast::Expr, depth: Depth) -> Result<(), Refusal> {
        let depth = depth.deeper()?;
        self.windows.write(node, &mut self.written)?;
        if let ast::Expr::BinaryOp { left: _, op: op @ (Operator::And | Operator::Or), right: _ } =
            node
        {
            let op = op.clone();
            let null = || ast::Expr::value(ast::Value::Null);
            let mut terms = chain(std::mem::replace(node, null()), &op);
            for term in &mut terms {
                self.expression(term, depth)?;
            }
            let joined = |left, right| ast::Expr::BinaryOp {
                left: Box::new(left),
                op: op.clone(),
                right: Box::new(right),
            };
            *node = paired(terms, &joined).unwrap_or_else(null);
            return Ok(());
        }
        if let ast::Expr::Subquery(query)
        | ast::Expr::Exists { subquery: query, negated: _ }
        | ast::Expr::InSubquery { expr: _, subquery: query, negated: _ } = node
        {
            self.query(query, depth)?;
        }
        for operand in operands_mut(node).into_iter().flatten() {
            self.expression(operand, depth)?;
        }
        Ok(())
    }
}

/// A table's name without quotes, its parts joined by points.
pub(in crate::bind) fn table_name(name: &ast::ObjectName) -> String {
    let part =
        |p: &ast::ObjectNamePart| p.as_ident().map_or_else(|| p.to_string(), |i| i.value.clone());
    name.0.iter().map(part).collect::<Vec<_>>().join(".")
}

/// The terms of a chain of one operator, from left to right.
fn chain(node: ast::Expr, op: &Operator) -> Vec<ast::Expr> {
    let (mut terms, mut rest) = (Vec::new(), node);
    loop {
        match rest {
            ast::Expr::BinaryOp { left, op: own, right } if own == *op => {
                terms.push(*right);
                rest = *left;
            }
            last => {
                terms.push(last);
                terms.reverse();
                return terms;
            }
        }
    }
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
            | J::FullOuter(ast::JoinConstraint::On(node)) => Some(node),
            _ => None,
        }
    })
}

/// Whether a test holds for an expression or a part of it, in the forms that the binder knows.
pub(in crate::bind) fn any(node: &ast::Expr, test: &dyn Fn(&ast::Expr) -> bool) -> bool {
    test(node) || operands(node).into_iter().flatten().any(|operand| any(operand, test))
}

/// Whether an expression looks at more than one row of what is released: a window, or a
/// sub-query.
pub(in crate::bind) fn looks_around(node: &ast::Expr) -> bool {
    match node {
        ast::Expr::Function(function) => function.over.is_some(),
        ast::Expr::Subquery(_)
        | ast::Expr::Exists { subquery: _, negated: _ }
        | ast::Expr::InSubquery { expr: _, subquery: _, negated: _ } => true,
        _ => false,
    }
}

/// Puts expressions in the place of names that stand for them.
pub(in crate::bind) fn substitute(node: &mut ast::Expr, named: &[(String, ast::Expr)]) {
    if let ast::Expr::Identifier(name) = node {
        let own = named.iter().find(|(own, _)| own.eq_ignore_ascii_case(&name.value));
        if let Some((_, expr)) = own {
            *node = ast::Expr::Nested(Box::new(expr.clone()));
        }
        return;
    }
    for operand in operands_mut(node).into_iter().flatten() {
        substitute(operand, named);
    }
}

/// The expressions of a SELECT's list.
pub(in crate::bind) fn shown(select: &ast::Select) -> impl Iterator<Item = &ast::Expr> {
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
pub(in crate::bind) fn shown_mut(select: &mut ast::Select) -> impl Iterator<Item = &mut ast::Expr> {
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
pub(in crate::bind) fn ordered(
    order_by: Option<&ast::OrderBy>,
) -> impl Iterator<Item = &ast::Expr> {
    let items = order_by.and_then(|by| match &by.kind {
        ast::OrderByKind::Expressions(items) => Some(items),
        ast::OrderByKind::All(_) => None,
    });
    items.into_iter().flatten().map(|item| &item.expr)
}

/// The expressions of ORDER BY, to be changed.
pub(in crate::bind) fn ordered_mut(
    order_by: Option<&mut ast::OrderBy>,
) -> impl Iterator<Item = &mut ast::Expr> {
    let items = order_by.and_then(|by| match &mut by.kind {
        ast::OrderByKind::Expressions(items) => Some(items),
        ast::OrderByKind::All(_) => None,
    });
    items.into_iter().flatten().map(|item| &mut item.expr)
}

/// A bare column name.
pub(in crate::bind) fn column(name: &str) -> ast::Expr {
    ast::Expr::Identifier(ident(name))
}

/// A name, quoted where it needs to be.
pub(in crate::bind) fn ident(name: &str) -> ast::Ident {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { ast::Ident::new(name) } else { ast::Ident::with_quote('`', name) }
}
