//! FROM in SQL around private parts: tables, sub-queries and joins.

use hushtable_lang::bind_expr::{compare, paired, unify_all};
use hushtable_lang::{BinaryOp, Expr, Function, Refusal};
use sqlparser::ast;

use super::expressions::Several;
use super::queries::aliased;
use super::scope::{FromScope, ScopeView};
use super::tree::{Join, JoinSides, Node, Operand, Scalar};
use super::{NamedTables, TreeWalk, unsupported};
use crate::bind::syntax::{not_a_table, plain_table};

impl TreeWalk<'_> {
    /// The rows of FROM, and their columns.
    pub(super) fn from(
        &mut self,
        items: &[ast::TableWithJoins],
        tables: &NamedTables,
        outer: Option<&ScopeView<'_>>,
    ) -> Result<(Node, FromScope), Refusal> {
        let mut all: Option<(Node, FromScope)> = None;
        let mut before = 0;
        for item in items {
            let (right, right_scope) = self.joined(item, (tables, outer), &mut before)?;
            all = Some(match all {
                None => (right, right_scope),
                Some((left, scope)) => {
                    let scope = scope.beside(left.width(), right_scope);
                    let scope = scope.map_err(|refusal| refusal.at(item))?;
                    let node = pairs(left, right, JoinSides::Inner, None);
                    self.has(node.width())?;
                    (node, scope)
                }
            });
        }
        Ok(all.unwrap_or_else(|| (Node::One, FromScope::default())))
    }

    /// One item of FROM, before which there are so many tables.
    fn joined(
        &mut self,
        from: &ast::TableWithJoins,
        (tables, outer): (&NamedTables, Option<&ScopeView<'_>>),
        before: &mut usize,
    ) -> Result<(Node, FromScope), Refusal> {
        use ast::JoinOperator as J;
        let columns = self.columns;
        let mut all = self.factor(&from.relation, (tables, outer), before)?;
        for join in &from.joins {
            let right = self.factor(&join.relation, (tables, outer), before)?;
            let at = |refusal: Refusal| refusal.at(&join.relation);
            let (kind, constraint) = match &join.join_operator {
                _ if join.global => return Err(no_join(join)),
                J::Join(c) | J::Inner(c) => (JoinSides::Inner, c),
                J::Left(c) | J::LeftOuter(c) => (JoinSides::Left, c),
                J::Right(c) | J::RightOuter(c) => (JoinSides::Right, c),
                J::FullOuter(c) => (JoinSides::Full, c),
                J::CrossJoin(ast::JoinConstraint::None) => {
                    let scope = all.1.beside(all.0.width(), right.1).map_err(at)?;
                    all = (pairs(all.0, right.0, JoinSides::Inner, None), scope);
                    self.has(all.0.width())?;
                    continue;
                }
                _ => return Err(no_join(join)),
            };
            all = match constraint {
                ast::JoinConstraint::On(node) => {
                    let scope = all.1.beside(all.0.width(), right.1).map_err(at)?;
                    let columns = self.columns.saturating_sub(columns);
                    let view = ScopeView { scope: &scope, keys: None, outer, columns };
                    let on = self.condition((node, "ON"), view, Several::None, tables)?;
                    if kind != JoinSides::Inner && on.reads_sub_queries_of_rows() {
                        return Err(outer_sub_query(join).at(node));
                    }
                    (pairs(all.0, right.0, kind, Some(on)), scope)
                }
                ast::JoinConstraint::Using(names) => using(all, right, kind, names).map_err(at)?,
                ast::JoinConstraint::None | ast::JoinConstraint::Natural => {
                    return Err(Refusal::new(
                        format!("`{}` names no columns to join on", join.to_string().trim()),
                        "JOIN … ON a.key = b.key, or USING (key); CROSS JOIN for all pairs",
                    ));
                }
            };
            self.has(all.0.width())?;
        }
        Ok(all)
    }

    fn factor(
        &mut self,
        factor: &ast::TableFactor,
        (tables, outer): (&NamedTables, Option<&ScopeView<'_>>),
        before: &mut usize,
    ) -> Result<(Node, FromScope), Refusal> {
        use ast::TableFactor as F;
        if let F::NestedJoin { table_with_joins, alias: None } = factor {
            return self.joined(table_with_joins, (tables, outer), before);
        }
        *before += 1;
        if let Some((name, alias)) = plain_table(factor) {
            let [ast::ObjectNamePart::Identifier(table)] = name.0.as_slice() else {
                return Err(unsupported(factor, "a table's name"));
            };
            let (node, columns) = self.table(&table.value, tables)?;
            let (name, columns) = match alias {
                Some(alias) => (&alias.name.value, aliased(alias, columns)?),
                None => (&table.value, columns),
            };
            return Ok((node, FromScope::of_table(name.clone(), columns)));
        }
        let F::Derived { lateral: false, subquery, alias, sample: None } = factor else {
            return Err(not_a_table(factor));
        };
        let (node, columns) = self.query(subquery, tables, None)?;
        let (name, columns) = match alias {
            Some(alias) => (alias.name.value.clone(), aliased(alias, columns)?),
            None => (format!("derived_{before}"), columns),
        };
        Ok((node, FromScope::of_table(name, columns)))
    }
}

/// Refuses a sub-query of the rows that an outer join pairs: it has a value for each pair, and
/// there are no pairs before the rows are joined.
fn outer_sub_query(join: &ast::Join) -> Refusal {
    let kind = match join.join_operator {
        ast::JoinOperator::Right(_) | ast::JoinOperator::RightOuter(_) => "RIGHT JOIN",
        ast::JoinOperator::FullOuter(_) => "FULL JOIN",
        _ => "LEFT JOIN",
    };
    Refusal::new(
        format!("ON of a {kind} has a sub-query that reads its rows"),
        format!(
            "compute it as a column before: FROM (SELECT *, EXISTS (SELECT …) AS found FROM a) \
             AS a {kind} b ON a.k = b.k AND a.found"
        ),
    )
}

fn pairs(left: Node, right: Node, kind: JoinSides, on: Option<Scalar>) -> Node {
    Node::Join(Box::new(Join { left, right, kind, on, merged: Vec::new() }))
}

/// A join on the columns of these names, which mean those of both sides.
fn using(
    (left, left_scope): (Node, FromScope),
    (right, right_scope): (Node, FromScope),
    kind: JoinSides,
    names: &[ast::ObjectName],
) -> Result<(Node, FromScope), Refusal> {
    let (left_width, width) = (left.width(), left.width() + right.width());
    let (mut columns, mut merged) = (Vec::new(), Vec::new());
    let (mut conditions, mut operands) = (Vec::new(), Vec::new());
    for name in names {
        let [ast::ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
            return Err(Refusal::new(format!("USING ({name})"), "USING (column)"));
        };
        let path = std::slice::from_ref(ident);
        let of = |scope: &FromScope| scope.find(path)?.ok_or_else(|| scope.unknown(path));
        let (left_column, left_type) = of(&left_scope)?;
        let (right_column, right_type) = of(&right_scope)?;
        let right_column = left_width + right_column;
        let both = [Operand::Column(left_column), Operand::Column(right_column)];
        let exprs = |first| [Expr::column(first, left_type), Expr::column(first + 1, right_type)];
        let [left_expr, right_expr] = exprs(operands.len());
        let equal = compare(BinaryOp::Eq, left_expr, right_expr);
        conditions.push(equal.map_err(|refusal| refusal.at(path))?);
        operands.extend(both.clone());
        let column = match kind {
            JoinSides::Inner | JoinSides::Left => (left_column, left_type),
            JoinSides::Right => (right_column, right_type),
            JoinSides::Full => {
                let exprs = unify_all(exprs(0).into(), "USING")?;
                let column_type = exprs.first().map_or(left_type, |expr| expr.column_type);
                let expr = Expr::call(Function::Coalesce, exprs, column_type);
                merged.push(Scalar { expr, operands: both.into() });
                (width + merged.len() - 1, column_type)
            }
        };
        columns.push((&ident.value, column));
    }
    let on = paired(conditions, &Expr::and).map(|expr| Scalar { expr, operands });
    let mut scope = left_scope.beside(left_width, right_scope)?;
    for (name, column) in columns {
        scope.merge(name, column);
    }
    Ok((Node::Join(Box::new(Join { left, right, kind, on, merged })), scope))
}

/// Refuses a join of a kind that results cannot have.
fn no_join(join: &ast::Join) -> Refusal {
    let hint = "use JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN or CROSS JOIN";
    unsupported(join.to_string().trim(), hint)
}
