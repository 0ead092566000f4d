//! Tables in FROM that no equality joins: all pairs of their rows meet.
//!
//! How many rows a release has is not known before it is charged, so too many pairs are refused
//! only when they are computed. That several tables of any size are paired with each other can be
//! seen from the SQL, and refused for free.

use hushtable_lang::{Refusal, aggregate_names::calls_aggregate};
use sqlparser::ast;

use super::column_names::Scope;
use super::{Tables, Walk};
use crate::bind::released_tables::part_name;
use crate::bind::syntax::plain_table;
use crate::bind::walk::{any, operands, select_list, table_name};

/// Most tables in FROM that may have several rows and that no equality joins.
const MAX_UNLINKED: usize = 3;

impl Walk<'_> {
    /// Refuses a FROM of several tables whose rows all meet.
    pub(super) fn check_linked(
        &self,
        select: &ast::Select,
        scope: &Scope<'_>,
        tables: &Tables,
    ) -> Result<(), Refusal> {
        let mut factors = Vec::new();
        select.from.iter().for_each(|from| listed(from, &mut factors));
        if factors.len() <= MAX_UNLINKED || factors.len() != scope.tables.len() {
            return Ok(());
        }
        // For each table, the first one that equalities lead to.
        let mut leads: Vec<usize> = (0..factors.len()).collect();
        let mut link = |all: &[usize]| {
            let groups: Vec<usize> =
                all.iter().filter_map(|&table| leads.get(table).copied()).collect();
            let Some(&first) = groups.iter().min() else { return };
            for lead in &mut leads {
                if groups.contains(lead) {
                    *lead = first;
                }
            }
        };
        let mut conditions = Vec::new();
        let mut conjuncts: Vec<&ast::Expr> = select.selection.iter().collect();
        select.from.iter().for_each(|from| {
            constraints(from, &mut conjuncts, &mut |name| {
                let has = |(_, columns): &&(String, super::OutputColumns)| {
                    columns.iter().any(|column| column.is_named(name))
                };
                let linked: Vec<usize> = scope
                    .tables
                    .iter()
                    .enumerate()
                    .filter(|(_, table)| has(table))
                    .map(|(at, _)| at)
                    .collect();
                link(&linked);
            })
        });
        while let Some(node) = conjuncts.pop() {
            match node {
                ast::Expr::Nested(inner) => conjuncts.push(inner),
                ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
                    conjuncts.extend([left.as_ref(), right.as_ref()]);
                }
                ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } => {
                    conditions.push((left.as_ref(), right.as_ref()));
                }
                _ => {}
            }
        }
        for (left, right) in conditions {
            let (mut left_tables, mut right_tables) = (Vec::new(), Vec::new());
            read_by(left, scope, &mut left_tables);
            read_by(right, scope, &mut right_tables);
            if !left_tables.is_empty()
                && !right_tables.is_empty()
                && left_tables.iter().all(|table| !right_tables.contains(table))
            {
                left_tables.extend(right_tables);
                link(&left_tables);
            }
        }
        let mut several: Vec<usize> = leads
            .iter()
            .zip(&factors)
            .filter(|(_, factor)| !self.is_one_row(factor, tables))
            .map(|(lead, _)| *lead)
            .collect();
        several.sort_unstable();
        several.dedup();
        if several.len() <= MAX_UNLINKED {
            return Ok(());
        }
        Err(Refusal::new(
            format!(
                "FROM has {} tables of several rows that no equality joins; at most \
                 {MAX_UNLINKED} are allowed, as all combinations of their rows are made",
                several.len()
            ),
            "JOIN … ON a.key = b.key, or aggregate tables to one row each before they are joined",
        )
        .at(select.from.as_slice()))
    }

    /// Whether a table in FROM has one row at most.
    fn is_one_row(&self, factor: &ast::TableFactor, tables: &Tables) -> bool {
        if let Some((name, _)) = plain_table(factor) {
            let name = table_name(name);
            return match tables.named(&name) {
                Some(named) => named.one_row,
                None => {
                    let part = (0..self.parts.len()).find(|&part| part_name(part) == name);
                    part.and_then(|part| self.parts.get(part)).is_some_and(|part| part.one_row)
                }
            };
        }
        match factor {
            ast::TableFactor::Derived { subquery, lateral: _, alias: _, sample: _ } => {
                self.has_one_row(subquery, tables)
            }
            _ => false,
        }
    }

    /// Whether a query shows one row at most, as its form says.
    pub(super) fn has_one_row(&self, query: &ast::Query, tables: &Tables) -> bool {
        if let Some(ast::LimitClause::LimitOffset { limit: Some(limit), offset: _, limit_by: _ }) =
            &query.limit_clause
            && limit.to_string() == "1"
        {
            return true;
        }
        let select = match query.body.as_ref() {
            ast::SetExpr::Select(select) => select,
            ast::SetExpr::Query(inner) if query.with.is_none() => {
                return self.has_one_row(inner, tables);
            }
            _ => return false,
        };
        let by = match &select.group_by {
            ast::GroupByExpr::Expressions(keys, modifiers) => keys.len() + modifiers.len(),
            ast::GroupByExpr::All(_) => 1,
        };
        if by > 0 {
            return false;
        }
        let windows = |node: &ast::Expr| {
            any(
                node,
                &|part| matches!(part, ast::Expr::Function(function) if function.over.is_some()),
            )
        };
        if select_list(select).any(|node| any(node, &calls_aggregate))
            && !select_list(select).any(windows)
        {
            return true;
        }
        let mut factors = Vec::new();
        select.from.iter().for_each(|from| listed(from, &mut factors));
        // A name of its own WITH is none that is known here.
        query.with.is_none() && factors.iter().all(|factor| self.is_one_row(factor, tables))
    }
}

/// The tables and sub-queries of an item of FROM, in their order.
fn listed<'a>(from: &'a ast::TableWithJoins, all: &mut Vec<&'a ast::TableFactor>) {
    let joined = from.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&from.relation).chain(joined) {
        match factor {
            ast::TableFactor::NestedJoin { table_with_joins, alias: None } => {
                listed(table_with_joins, all);
            }
            factor => all.push(factor),
        }
    }
}

/// The conditions of joins, and the columns that USING names.
fn constraints<'a>(
    from: &'a ast::TableWithJoins,
    all: &mut Vec<&'a ast::Expr>,
    using: &mut dyn FnMut(&str),
) {
    use ast::JoinOperator as J;
    let joined = from.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&from.relation).chain(joined) {
        if let ast::TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
            constraints(table_with_joins, all, using);
        }
    }
    for join in &from.joins {
        let (J::Join(constraint)
        | J::Inner(constraint)
        | J::Left(constraint)
        | J::LeftOuter(constraint)
        | J::Right(constraint)
        | J::RightOuter(constraint)
        | J::FullOuter(constraint)) = &join.join_operator
        else {
            continue;
        };
        match constraint {
            ast::JoinConstraint::On(node) => all.push(node),
            ast::JoinConstraint::Using(names) => {
                for name in names {
                    using(&table_name(name));
                }
            }
            ast::JoinConstraint::Natural | ast::JoinConstraint::None => {}
        }
    }
}

/// The tables in FROM whose columns an expression reads.
fn read_by(node: &ast::Expr, scope: &Scope<'_>, all: &mut Vec<usize>) {
    let path = match node {
        ast::Expr::Identifier(name) => std::slice::from_ref(name),
        ast::Expr::CompoundIdentifier(path) => path.as_slice(),
        _ => {
            for operand in operands(node).into_iter().flatten() {
                read_by(operand, scope, all);
            }
            return;
        }
    };
    let index = scope.tables.iter().position(|(table, columns)| match path {
        [name] => columns.iter().any(|column| column.is_named(&name.value)),
        [of, _] => of.value.eq_ignore_ascii_case(table),
        _ => false,
    });
    all.extend(index.filter(|index| !all.contains(index)));
}
