//! Releases that FROM joins with rows.
//!
//! A release has one row for each of its keys. So a join by equality on all of them adds nothing to
//! a row but values that are looked up by the row's own keys, and these values are public when the
//! rows are read. The release leaves FROM: names of its columns become lookups, and an inner join
//! becomes the condition that its row is there.

use hushtable_lang::Refusal;
use hushtable_lang::bind_expr::{ReleasedField, RowLookup, placeholder};
use sqlparser::ast;

use super::ReleasedColumn;
use super::joined_release::{JoinedRelease, Joining, ReplacedColumns, RowKeys};
use super::lookup_table::tables_of;
use super::names_around::FromNames;
use super::splitter::{CteNames, RowsKind, Splitter};
use crate::bind::Groups;
use crate::bind::syntax::{all_of_them, call, missing, plain_table};
use crate::bind::walk::{on_mut, ordered_mut, table_name};

impl Splitter<'_> {
    /// Puts lookups in the place of the releases that FROM joins with rows. `kinds` are those of
    /// its tables, item by item.
    pub(super) fn look_up_releases(
        &mut self,
        query: &mut ast::Query,
        kinds: &[Vec<RowsKind>],
        names: &CteNames,
    ) -> Result<(), Refusal> {
        let ast::SetExpr::Select(select) = query.body.as_mut() else { return Err(missing()) };
        let mut conditions = Vec::new();
        select.selection.take().into_iter().for_each(|node| split(node, &mut conditions));
        let mut pending: Vec<JoinedRelease> = Vec::new();
        let mut from = Vec::new();
        for (item, kinds) in std::mem::take(&mut select.from).into_iter().zip(kinds) {
            from.extend(self.rows_of(item, kinds, &mut conditions, &mut pending)?);
        }
        select.from = from;
        if let Some(all) = select.projection.iter().find(|item| is_of_all(item, &pending)) {
            return Err(Refusal::new(
                format!("`{all}` of rows that are joined with a release is not supported"),
                "name the columns that are read, each with its table",
            )
            .at(all));
        }
        let columns_of = |name: &str| self.columns_of(name, names);
        let rows = FromNames::of(&select.from, &columns_of);
        let is_named = |of: usize, name: &str| {
            rows.has_table(name)
                || pending[..of].iter().any(|other| other.name.eq_ignore_ascii_case(name))
        };
        let twice = pending.iter().enumerate().find(|(of, release)| is_named(*of, &release.name));
        if let Some((_, twice)) = twice {
            return Err(Refusal::new(
                format!("FROM has two tables `{}`", twice.name),
                "give one another name: (SELECT …) AS r",
            )
            .at(&twice.factor));
        }
        let aliases: Vec<String> = select.projection.iter().filter_map(alias_of).collect();
        while !pending.is_empty() {
            let next = self.next_keyed(&mut pending, &mut conditions)?;
            let Some((release, keys)) = next else {
                return Err(self.not_by_keys(&pending, select, &columns_of));
            };
            let values = self.values(&release, &keys)?;
            let there = self.is_there(&release, &keys)?;
            let replaced =
                ReplacedColumns { release: &release, values, rows: &rows, aliases: &aliases };
            // Conditions of its own ON beside the keys.
            let mut rest = release.on.clone();
            rest.iter_mut().try_for_each(|node| replaced.put(node))?;
            let met = all_of_them(there.clone().into_iter().chain(rest.iter().cloned()));
            match release.joining {
                Joining::Inner => conditions.extend(there),
                Joining::Semi => {
                    conditions.extend(met);
                    continue;
                }
                Joining::Anti => {
                    let met = met.unwrap_or_else(|| constant(ast::Value::Boolean(true)));
                    conditions
                        .push(ast::Expr::IsNotTrue(Box::new(ast::Expr::Nested(Box::new(met)))));
                    continue;
                }
                Joining::Left => {}
            }
            let guarded = |value: ast::Expr| match all_of_them(rest.iter().cloned()) {
                Some(guard) => call("IF", vec![guard, value, constant(ast::Value::Null)]),
                None => value,
            };
            let values = replaced.values.iter().cloned();
            let values = match release.joining {
                Joining::Left => values.map(guarded).collect(),
                _ => values.collect(),
            };
            let replaced = ReplacedColumns { values, ..replaced };
            for node in conditions.iter_mut().chain(pending.iter_mut().flat_map(|r| &mut r.on)) {
                replaced.put(node)?;
            }
            for node in select.from.iter_mut().flat_map(|from| on_mut(&mut from.joins)) {
                replaced.put(node)?;
            }
            for (position, item) in select.projection.iter_mut().enumerate() {
                replaced.put_in_item(item, position)?;
            }
            if let ast::GroupByExpr::Expressions(keys, _) = &mut select.group_by {
                keys.iter_mut().try_for_each(|key| replaced.put(key))?;
            }
            for node in select.having.iter_mut().chain(&mut select.qualify) {
                replaced.put(node)?;
            }
            for node in ordered_mut(query.order_by.as_mut()) {
                replaced.put_in_order(node)?;
            }
        }
        select.selection = all_of_them(conditions.into_iter().map(nested));
        Ok(())
    }

    /// An item of FROM without the releases in it, which are added to `pending`; `None` where it
    /// has nothing else.
    fn rows_of(
        &self,
        item: ast::TableWithJoins,
        kinds: &[RowsKind],
        conditions: &mut Vec<ast::Expr>,
        pending: &mut Vec<JoinedRelease>,
    ) -> Result<Option<ast::TableWithJoins>, Refusal> {
        let ast::TableWithJoins { mut relation, joins } = item;
        let mut kinds = kinds.iter();
        let mut kind = kinds.next().copied().ok_or_else(missing)?;
        let mut joins = joins.into_iter();
        let before = pending.len();
        // Releases before the first table of rows: what joins them joins it with them.
        while kind != RowsKind::Rows {
            let mut release = self.release(relation, kind)?;
            let Some(join) = joins.next() else {
                pending.push(release);
                return Ok(None);
            };
            let next = kinds.next().copied().ok_or_else(missing)?;
            use ast::JoinOperator as J;
            let constraint = match &join.join_operator {
                J::Join(c) | J::Inner(c) | J::CrossJoin(c) => c.clone(),
                // With releases before it, those could leave out rows that it keeps.
                J::Right(c) | J::RightOuter(c)
                    if next == RowsKind::Rows && pending.len() == before =>
                {
                    release.joining = Joining::Left;
                    c.clone()
                }
                _ => return Err(not_of_rows(&join)),
            };
            match constraint {
                ast::JoinConstraint::On(node) if release.joining == Joining::Inner => {
                    split(node, conditions);
                }
                ast::JoinConstraint::On(node) => split(node, &mut release.on),
                ast::JoinConstraint::Using(names) if next == RowsKind::Rows => {
                    release.using(&names)?;
                }
                ast::JoinConstraint::None => {}
                ast::JoinConstraint::Using(_) | ast::JoinConstraint::Natural => {
                    return Err(not_of_rows(&join));
                }
            }
            pending.push(release);
            (relation, kind) = (join.relation, next);
        }
        let mut left = Vec::new();
        for join in joins {
            let kind = kinds.next().copied().ok_or_else(missing)?;
            use ast::JoinOperator as J;
            if kind == RowsKind::Rows {
                // It has rows without a partner, in which no column of a release may have a value.
                if pending.len() > before
                    && let J::Right(_) | J::RightOuter(_) | J::FullOuter(_) = join.join_operator
                {
                    return Err(Refusal::new(
                        format!(
                            "`{}` after a join with a release is not supported",
                            join.to_string().trim()
                        ),
                        "join the release last, or in a sub-query: FROM (SELECT … FROM rows JOIN \
                         release ON …) AS t RIGHT JOIN …",
                    )
                    .at(&join));
                }
                left.push(join);
                continue;
            }
            let (joining, constraint) = match &join.join_operator {
                J::Join(c) | J::Inner(c) | J::CrossJoin(c) => (Joining::Inner, c.clone()),
                J::Left(c) | J::LeftOuter(c) => (Joining::Left, c.clone()),
                J::Semi(c) | J::LeftSemi(c) => (Joining::Semi, c.clone()),
                J::Anti(c) | J::LeftAnti(c) => (Joining::Anti, c.clone()),
                _ => return Err(not_of_rows(&join)),
            };
            if joining != Joining::Inner && matches!(constraint, ast::JoinConstraint::None) {
                return Err(not_of_rows(&join));
            }
            let mut release = self.release(join.relation.clone(), kind)?;
            release.joining = joining;
            match constraint {
                ast::JoinConstraint::On(node) if joining == Joining::Inner => {
                    split(node, conditions);
                }
                ast::JoinConstraint::On(node) => split(node, &mut release.on),
                ast::JoinConstraint::Using(names) => release.using(&names)?,
                ast::JoinConstraint::None => {}
                ast::JoinConstraint::Natural => return Err(not_of_rows(&join)),
            }
            pending.push(release);
        }
        Ok(Some(ast::TableWithJoins { relation, joins: left }))
    }

    /// A table of FROM that is the release of one part.
    fn release(&self, factor: ast::TableFactor, kind: RowsKind) -> Result<JoinedRelease, Refusal> {
        let (RowsKind::Part(part), Some((table, alias))) = (kind, plain_table(&factor)) else {
            return Err(Refusal::new(
                "FROM joins rows with what SQL around private parts computes",
                "join the SELECT with its GROUP BY itself, without windows, levels and a SELECT \
                 around it, and compute from its columns beside the rows: v.x > 2 * r.mean",
            )
            .at(&factor));
        };
        let draft = self.drafts.get(part).ok_or_else(missing)?;
        let mut columns: Vec<String> = draft.columns().into_iter().map(|(name, _)| name).collect();
        if let Some(alias) = alias.filter(|alias| !alias.columns.is_empty()) {
            let renamed = alias.columns.iter().map(|column| column.name.value.clone());
            let renamed: Vec<String> = renamed.collect();
            if renamed.len() != columns.len() {
                return Err(Refusal::new(
                    format!(
                        "`{}` has {} columns and {} names",
                        alias.name,
                        columns.len(),
                        renamed.len()
                    ),
                    format!("name each of {}", columns.join(", ")),
                )
                .at(&factor));
            }
            columns = renamed;
        }
        let name = alias.map_or_else(|| table_name(table), |alias| alias.name.value.clone());
        Ok(JoinedRelease {
            part,
            name,
            columns,
            joining: Joining::Inner,
            on: Vec::new(),
            equal: Vec::new(),
            hidden: Vec::new(),
            factor: factor.clone(),
        })
    }

    /// The first release whose keys are all given by rows, with these values; `None` where there
    /// is none.
    fn next_keyed(
        &self,
        pending: &mut Vec<JoinedRelease>,
        conditions: &mut Vec<ast::Expr>,
    ) -> Result<Option<(JoinedRelease, RowKeys)>, Refusal> {
        for index in 0..pending.len() {
            let mut release = pending.remove(index);
            let waits = |node: &ast::Expr| pending.iter().any(|other| other.is_named_in(node));
            let keys = self.drafts.get(release.part).ok_or_else(missing)?.unique();
            let keys = keys.filter(|_| !release.on.iter().any(waits));
            let mut rest = std::mem::take(&mut release.on);
            let terms =
                if release.joining == Joining::Inner { &mut *conditions } else { &mut rest };
            let found = keys.and_then(|keys| release.keyed(&keys, terms, pending));
            release.on = rest;
            match found {
                Some(keys) => return Ok(Some((release, keys))),
                None => pending.insert(index, release),
            }
        }
        Ok(None)
    }

    /// The columns of a release as values of rows, where its row is known to be there by its keys,
    /// or NULL.
    fn values(
        &self,
        release: &JoinedRelease,
        keys: &[(usize, ast::Expr)],
    ) -> Result<Vec<ast::Expr>, Refusal> {
        let fields = self.fields(release)?;
        let by = pairs(&fields, keys);
        let value = |(column, field): (usize, &ReleasedField)| {
            let is_key = keys.iter().any(|(key, _)| *key == column);
            match release.joining {
                // A release of one row at most.
                _ if by.is_empty() => placeholder(field.number, field.column_type),
                Joining::Inner if is_key => looked_up(RowLookup::Key(*field), &by),
                _ => looked_up(RowLookup::Value(*field), &by),
            }
        };
        Ok(fields.iter().enumerate().map(value).collect())
    }

    /// The condition that a release has a row for these keys; `None` where it always has.
    fn is_there(
        &self,
        release: &JoinedRelease,
        keys: &[(usize, ast::Expr)],
    ) -> Result<Option<ast::Expr>, Refusal> {
        let fields = self.fields(release)?;
        let by = pairs(&fields, keys);
        if !by.is_empty() {
            return Ok(Some(looked_up(RowLookup::Found, &by)));
        }
        let query = &self.drafts.get(release.part).ok_or_else(missing)?.query;
        let always = query.groups == Groups::Single
            && query.having.is_none()
            && query.limit != Some(0)
            && query.offset == 0;
        let first = *fields.first().ok_or_else(missing)?;
        Ok((!always).then(|| looked_up(RowLookup::Any(first), &[])))
    }

    /// The columns of a release.
    fn fields(&self, release: &JoinedRelease) -> Result<Vec<ReleasedField>, Refusal> {
        let draft = self.drafts.get(release.part).ok_or_else(missing)?;
        let columns = draft.columns().into_iter().enumerate();
        let field = |(column, (_, column_type))| ReleasedField {
            number: ReleasedColumn { part: release.part, column, all: true }.number(),
            column_type,
        };
        Ok(columns.map(field).collect())
    }

    /// Refuses a join of a release with rows that may meet several of its rows.
    fn not_by_keys(
        &self,
        pending: &[JoinedRelease],
        select: &ast::Select,
        columns_of: &dyn Fn(&str) -> Option<Vec<String>>,
    ) -> Refusal {
        let Some(release) = pending.first() else { return missing() };
        let Some(draft) = self.drafts.get(release.part) else { return missing() };
        let name = &release.name;
        let what = format!(
            "rows meet several rows of the release `{name}`: they are not joined by equality on \
             all keys of its GROUP BY"
        );
        let Some(keys) = draft.unique() else {
            let hint = "show all of its keys: SELECT town, … GROUP BY town; and join by them: ON \
                        v.town = r.town";
            return Refusal::new(what, hint).at(&release.factor);
        };
        // A table of rows that has a column of that name.
        let tables = select.from.iter().flat_map(tables_of);
        let named = tables.filter_map(plain_table).map(|(table, alias)| {
            let table = table_name(table);
            let columns = columns_of(&table).unwrap_or_default();
            (alias.map_or(table, |alias| alias.name.value.clone()), columns)
        });
        let named: Vec<(String, Vec<String>)> = named.collect();
        let equal = keys.iter().map(|key| {
            let column = &release.columns[*key];
            let has = |(_, columns): &&(String, Vec<String>)| {
                columns.iter().any(|other| other.eq_ignore_ascii_case(column))
            };
            let table = named.iter().find(has).or(named.first()).map_or("v", |(name, _)| name);
            format!("{table}.{column} = {name}.{column}")
        });
        let equal = equal.collect::<Vec<_>>().join(" AND ");
        Refusal::new(what, format!("ON {equal}, beside other conditions")).at(&release.factor)
    }
}

/// The syntax of a lookup.
fn looked_up(lookup: RowLookup, by: &[(ReleasedField, ast::Expr)]) -> ast::Expr {
    let (name, operands) = lookup.call(by);
    call(name, operands)
}

/// The columns of keys with the values of rows.
fn pairs(fields: &[ReleasedField], keys: &[(usize, ast::Expr)]) -> Vec<(ReleasedField, ast::Expr)> {
    keys.iter().filter_map(|(key, value)| Some((*fields.get(*key)?, value.clone()))).collect()
}

/// Refuses a join whose rows are not those of a table, each at most once.
fn not_of_rows(join: &ast::Join) -> Refusal {
    Refusal::new(
        format!("`{}` of rows and a release is not supported", join.to_string().trim()),
        "FROM rows JOIN release ON …, or LEFT JOIN for all rows: a row of a release alone is no \
         protected row",
    )
    .at(join)
}

/// The terms of a condition that AND joins.
fn split(node: ast::Expr, terms: &mut Vec<ast::Expr>) {
    match node {
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
            split(*left, terms);
            split(*right, terms);
        }
        ast::Expr::Nested(inner) if is_and(&inner) => split(*inner, terms),
        node => terms.push(node),
    }
}

fn is_and(node: &ast::Expr) -> bool {
    match node {
        ast::Expr::Nested(inner) => is_and(inner),
        ast::Expr::BinaryOp { left: _, op, right: _ } => *op == ast::BinaryOperator::And,
        _ => false,
    }
}

/// A condition as it stands beside AND.
fn nested(node: ast::Expr) -> ast::Expr {
    match &node {
        ast::Expr::BinaryOp { left: _, op: ast::BinaryOperator::Or, right: _ } => {
            ast::Expr::Nested(Box::new(node))
        }
        _ => node,
    }
}

/// Whether an item of SELECT is of all columns, some of which are a release's.
fn is_of_all(item: &ast::SelectItem, pending: &[JoinedRelease]) -> bool {
    match item {
        ast::SelectItem::Wildcard(_) => true,
        ast::SelectItem::QualifiedWildcard(kind, _) => match kind {
            ast::SelectItemQualifiedWildcardKind::ObjectName(name) => {
                let name = table_name(name);
                pending.iter().any(|release| release.name.eq_ignore_ascii_case(&name))
            }
            ast::SelectItemQualifiedWildcardKind::Expr(_) => true,
        },
        _ => false,
    }
}

fn alias_of(item: &ast::SelectItem) -> Option<String> {
    match item {
        ast::SelectItem::ExprWithAlias { expr: _, alias } => Some(alias.value.clone()),
        _ => None,
    }
}

fn constant(value: ast::Value) -> ast::Expr {
    ast::Expr::Value(value.with_empty_span())
}
