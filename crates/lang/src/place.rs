//! Spans of syntax in the SQL.
//!
//! The parser's own function for that recurses into everything, without a limit: a long sum would
//! exhaust the stack. Here both ends are found step by step. Nothing is accepted here, so fields
//! that do not matter for a span need no name.

use sqlparser::ast;
use sqlparser::tokenizer::{Location, Span};

/// Syntax that stands somewhere in the SQL.
pub trait Placed {
    /// Its span; `None` where the parser does not say.
    fn place(&self) -> Option<Span>;
}

fn between(start: Option<Location>, end: Option<Location>) -> Option<Span> {
    Some(Span::new(start?, end?)).filter(|span| span.start < span.end)
}

impl Placed for ast::Expr {
    fn place(&self) -> Option<Span> {
        between(start(self), end(self))
    }
}

impl Placed for ast::Ident {
    fn place(&self) -> Option<Span> {
        between(Some(self.span.start), Some(self.span.end))
    }
}

impl Placed for [ast::Ident] {
    fn place(&self) -> Option<Span> {
        between(Some(self.first()?.span.start), Some(self.last()?.span.end))
    }
}

impl Placed for ast::SetExpr {
    fn place(&self) -> Option<Span> {
        match self {
            Self::Select(select) => select.place(),
            Self::Query(query) => query.place(),
            Self::SetOperation { left, .. } => left.place(),
            _ => None,
        }
    }
}

impl Placed for ast::ObjectName {
    fn place(&self) -> Option<Span> {
        let ident = |name: Option<&ast::ObjectNamePart>| name.and_then(|p| p.as_ident().cloned());
        let (first, last) = (ident(self.0.first())?, ident(self.0.last())?);
        between(Some(first.span.start), Some(last.span.end))
    }
}

impl Placed for ast::SelectItem {
    fn place(&self) -> Option<Span> {
        match self {
            Self::UnnamedExpr(expr) => expr.place(),
            Self::ExprWithAlias { expr, alias } => {
                between(start(expr), Some(alias.span.end)).or_else(|| expr.place())
            }
            Self::Wildcard(more) => Some(more.wildcard_token.0.span),
            Self::QualifiedWildcard(kind, more) => {
                let from = match kind {
                    ast::SelectItemQualifiedWildcardKind::ObjectName(name) => name.place()?.start,
                    ast::SelectItemQualifiedWildcardKind::Expr(expr) => start(expr)?,
                };
                between(Some(from), Some(more.wildcard_token.0.span.end))
            }
            Self::ExprWithAliases { expr, .. } => expr.place(),
        }
    }
}

impl Placed for ast::GroupByExpr {
    fn place(&self) -> Option<Span> {
        match self {
            Self::Expressions(keys, _) => between(start(keys.first()?), end(keys.last()?)),
            Self::All(_) => None,
        }
    }
}

impl Placed for ast::LimitClause {
    fn place(&self) -> Option<Span> {
        match self {
            Self::LimitOffset { limit, offset, .. } => {
                let offset = offset.as_ref().map(|offset| &offset.value);
                limit.as_ref().or(offset)?.place()
            }
            Self::OffsetCommaLimit { limit, .. } => limit.place(),
        }
    }
}

impl Placed for ast::TableFactor {
    fn place(&self) -> Option<Span> {
        match self {
            Self::Table { name, alias, .. } => {
                let name = name.place()?;
                let alias = alias.as_ref().and_then(|alias| alias.name.place());
                between(Some(name.start), Some(alias.map_or(name.end, |alias| alias.end)))
            }
            Self::Derived { subquery, .. } => subquery.place(),
            Self::NestedJoin { table_with_joins, .. } => table_with_joins.place(),
            Self::UNNEST { array_exprs, .. } => {
                between(start(array_exprs.first()?), end(array_exprs.last()?))
            }
            _ => None,
        }
    }
}

impl Placed for ast::Join {
    fn place(&self) -> Option<Span> {
        use ast::JoinOperator as J;
        let relation = self.relation.place()?;
        let constraint = match &self.join_operator {
            J::Join(c) | J::Inner(c) | J::Left(c) | J::LeftOuter(c) | J::Right(c) => Some(c),
            J::RightOuter(c) | J::FullOuter(c) | J::CrossJoin(c) => Some(c),
            _ => None,
        };
        let to = match constraint {
            Some(ast::JoinConstraint::On(expr)) => end(expr),
            Some(ast::JoinConstraint::Using(names)) => {
                names.last().and_then(Placed::place).map(|span| span.end)
            }
            _ => None,
        };
        between(Some(relation.start), Some(to.unwrap_or(relation.end)))
    }
}

impl Placed for ast::TableWithJoins {
    fn place(&self) -> Option<Span> {
        let first = self.relation.place()?;
        let last = self.joins.last().and_then(Placed::place);
        between(Some(first.start), Some(last.map_or(first.end, |last| last.end)))
    }
}

impl Placed for [ast::TableWithJoins] {
    fn place(&self) -> Option<Span> {
        between(Some(self.first()?.place()?.start), Some(self.last()?.place()?.end))
    }
}

/// The word that it begins with: where it ends, the parser does not say.
impl Placed for ast::Select {
    fn place(&self) -> Option<Span> {
        Some(self.select_token.0.span)
    }
}

impl Placed for ast::Query {
    fn place(&self) -> Option<Span> {
        let mut body = self.body.as_ref();
        loop {
            body = match body {
                ast::SetExpr::Select(select) => return select.place(),
                ast::SetExpr::Query(query) => query.body.as_ref(),
                ast::SetExpr::SetOperation { left, .. } => left,
                _ => return None,
            };
        }
    }
}

/// Where an expression begins, or what comes first in it.
fn start(expr: &ast::Expr) -> Option<Location> {
    use ast::Expr as E;
    let mut at = expr;
    loop {
        at = match at {
            E::Identifier(name) => return Some(name.span.start),
            E::CompoundIdentifier(path) => return path.first().map(|name| name.span.start),
            E::Value(value) => return Some(value.span.start),
            E::TypedString(typed) => return Some(typed.value.span.start),
            E::Function(function) => return function.name.place().map(|span| span.start),
            E::Case { case_token, .. } => return Some(case_token.0.span.start),
            E::InSubquery { expr, .. }
            | E::InList { expr, .. }
            | E::Between { expr, .. }
            | E::Like { expr, .. }
            | E::ILike { expr, .. }
            | E::UnaryOp { expr, .. }
            | E::Cast { expr, .. }
            | E::Extract { expr, .. }
            | E::Substring { expr, .. }
            | E::Trim { expr, .. }
            | E::Ceil { expr, .. }
            | E::Floor { expr, .. }
            | E::Position { expr, .. } => expr,
            E::IsNull(expr)
            | E::IsNotNull(expr)
            | E::IsTrue(expr)
            | E::IsNotTrue(expr)
            | E::IsFalse(expr)
            | E::IsNotFalse(expr)
            | E::Nested(expr) => expr,
            E::BinaryOp { left, .. }
            | E::AnyOp { left, .. }
            | E::AllOp { left, .. }
            | E::InUnnest { expr: left, .. }
            | E::CompoundFieldAccess { root: left, .. } => left,
            E::Array(array) => array.elem.first()?,
            E::Exists { subquery, .. } | E::Subquery(subquery) => {
                return subquery.place().map(|span| span.start);
            }
            _ => return None,
        };
    }
}

/// Where an expression ends, without the brackets after its last part.
fn end(expr: &ast::Expr) -> Option<Location> {
    use ast::Expr as E;
    let mut at = expr;
    loop {
        at = match at {
            E::Identifier(name) => return Some(name.span.end),
            E::CompoundIdentifier(path) => return path.last().map(|name| name.span.end),
            E::Value(value) => return Some(value.span.end),
            E::TypedString(typed) => return Some(typed.value.span.end),
            E::Case { end_token, .. } => return Some(end_token.0.span.end),
            E::Function(function) => {
                let name = function.name.place().map(|span| span.end);
                match last_argument(function) {
                    Some(last) => last,
                    None => return name,
                }
            }
            E::InList { expr, list, .. } => list.last().unwrap_or(expr),
            E::Between { high, .. } => high,
            E::Like { pattern, .. } | E::ILike { pattern, .. } => pattern,
            E::Substring { expr, substring_from, substring_for, .. } => {
                substring_for.as_deref().or(substring_from.as_deref()).unwrap_or(expr)
            }
            E::UnaryOp { expr, .. }
            | E::Cast { expr, .. }
            | E::Extract { expr, .. }
            | E::Trim { expr, .. }
            | E::Ceil { expr, .. }
            | E::Floor { expr, .. } => expr,
            E::IsNull(expr)
            | E::IsNotNull(expr)
            | E::IsTrue(expr)
            | E::IsNotTrue(expr)
            | E::IsFalse(expr)
            | E::IsNotFalse(expr)
            | E::Nested(expr) => expr,
            E::BinaryOp { right, .. }
            | E::AnyOp { right, .. }
            | E::AllOp { right, .. }
            | E::InUnnest { array_expr: right, .. } => right,
            E::Array(array) => array.elem.last()?,
            E::InSubquery { subquery, .. } | E::Exists { subquery, .. } | E::Subquery(subquery) => {
                return subquery.place().map(|span| span.end);
            }
            _ => return None,
        };
    }
}

fn last_argument(function: &ast::Function) -> Option<&ast::Expr> {
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let argument = match list.args.last()? {
        ast::FunctionArg::Named { arg, .. }
        | ast::FunctionArg::ExprNamed { arg, .. }
        | ast::FunctionArg::Unnamed(arg) => arg,
    };
    match argument {
        ast::FunctionArgExpr::Expr(expr) => Some(expr),
        _ => None,
    }
}
