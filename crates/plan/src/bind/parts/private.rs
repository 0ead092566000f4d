//! A private SELECT with windows or sub-queries over its own results: the part computes what they
//! read, and they are computed around it.

use hushtable_contract::Contract;
use hushtable_lang::aggregate_names::calls_aggregate;
use hushtable_lang::bind_expr::{RowScope, bind_row_expression};
use hushtable_lang::{ColumnType, Expr, ExprKind, Refusal};
use sqlparser::ast::{self, SetExpr};

use super::budget::PartRole;
use super::consistent_levels::LevelWishes;
use super::levels::{self, KeyLevels, grouping};
use super::splitter::{CteNames, RowsKind, Splitter};
use crate::bind::aliases::{Aliases, grouped_item, select_item};
use crate::bind::clauses::{self};
use crate::bind::from::FromAndWhere;
use crate::bind::group_by::{MAX_KEYS, name_all};
use crate::bind::released_tables::MAX_OUTPUTS;
use crate::bind::select::default_name;
use crate::bind::syntax::{
    self, from_table, missing, query_of, select_of, select_of_mut, simple_select,
};
use crate::bind::walk::{
    any, column, ident, is_name, looks_around, operands, operands_mut, ordered, ordered_mut,
    select_list,
};

/// Whether a part's SELECT computes from several of its groups.
fn needs_around(query: &ast::Query, rows: &RowScope) -> Result<bool, Refusal> {
    let select = select_of(query)?;
    let ordered = ordered(query.order_by.as_ref());
    let mut nodes = select_list(select).chain(&select.having).chain(ordered);
    let distinct = matches!(select.distinct, Some(ast::Distinct::Distinct));
    Ok((distinct && !shows_all_keys(select, rows)?)
        || select.qualify.is_some()
        || nodes.any(|node| any(node, &looks_around)))
}

/// Whether rows differ in the keys that SELECT shows, so that DISTINCT changes nothing.
fn shows_all_keys(select: &ast::Select, rows: &RowScope) -> Result<bool, Refusal> {
    let ast::GroupByExpr::Expressions(keys, _) = &select.group_by else { return Ok(true) };
    for key in keys.iter().take(MAX_KEYS) {
        let key = grouped_item(key, select, &|name| rows.has(name))?;
        if !select_list(select).any(|node| node == key) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The keys of a SELECT with something computed around its groups.
pub(super) struct SelectKeys {
    /// The keys before placeholders are put into them, with expressions for positions and names in
    /// SELECT.
    written: Vec<ast::Expr>,
    /// Its levels, where it may have several.
    pub(super) levels: Option<KeyLevels>,
    /// Whether its last level is the row of all groups that are not shown.
    with_other: bool,
    /// Whether its levels are to fit each other, and if so, how.
    consistent: Option<LevelWishes>,
}

/// Writes GROUP BY as a list of keys, where something is computed around its groups; else gives
/// `None`. `rows` are those of its FROM.
pub(super) fn grouped(
    query: &mut ast::Query,
    rows: &RowScope,
    with_other: bool,
    consistent: Option<LevelWishes>,
) -> Result<Option<SelectKeys>, Refusal> {
    let levels = levels::flatten(query, rows)?;
    if consistent.is_some() && levels.as_ref().is_none_or(|all| all.len() < 2) {
        return Err(Refusal::new(
            "consistent needs a GROUP BY with several levels",
            "GROUP BY ROLLUP (state, county): the counties of a state then add up to it",
        ));
    }
    if with_other
        && (levels.as_ref().is_some_and(|all| all.len() > 1) || needs_around(query, rows)?)
    {
        return Err(Refusal::new(
            "other_row needs a SELECT without levels, windows, QUALIFY, DISTINCT and \
             sub-queries over its groups",
            "write a SELECT with them around it: SELECT …, RANK() OVER (ORDER BY n DESC) FROM \
             (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (other_row = true) town, COUNT(*) AS n \
             FROM people GROUP BY town)",
        ));
    }
    if levels.is_none() && !with_other && !needs_around(query, rows)? {
        return Ok(None);
    }
    let select = select_of_mut(query)?;
    name_all(select);
    let ast::GroupByExpr::Expressions(keys, _) = &select.group_by else { return Ok(None) };
    if keys.len() > MAX_KEYS {
        // Refused by name when they are bound.
        return Ok(Some(SelectKeys { written: Vec::new(), levels, with_other, consistent }));
    }
    let written = keys.iter().map(|key| grouped_item(key, select, &|name| rows.has(name)).cloned());
    let written = written.collect::<Result<Vec<_>, _>>()?;
    if let ast::GroupByExpr::Expressions(keys, _) = &mut select.group_by {
        keys.clone_from(&written);
    }
    if with_other && written.is_empty() {
        return Err(Refusal::new(
            "other_row needs a GROUP BY: it is the row of the groups that are not shown",
            "leave it out: without GROUP BY, the one row is about all rows",
        ));
    }
    let levels = match with_other {
        true => Some(vec![(0..written.len()).collect(), Vec::new()]),
        false => levels,
    };
    Ok(Some(SelectKeys { written, levels, with_other, consistent }))
}

/// Columns that a part shows to the SQL around it.
#[derive(Default)]
struct PartOutputs {
    columns: Vec<(ast::Expr, String)>,
    /// How many of them are for more than ORDER BY.
    of_select: usize,
}

impl PartOutputs {
    /// The name of a column with that value.
    fn add(&mut self, value: ast::Expr, name: &str) -> ast::Expr {
        if let Some((_, existing)) = self.columns.iter().find(|(expr, _)| *expr == value) {
            return column(existing);
        }
        let taken = |name: &str| {
            self.columns.iter().any(|(_, existing)| existing.eq_ignore_ascii_case(name))
        };
        let mut unique = name.to_owned();
        let mut copy = 1;
        while taken(&unique) {
            copy += 1;
            unique = format!("{name}_{copy}");
        }
        let output = column(&unique);
        self.columns.push((value, unique));
        output
    }
}

/// The keys of a part.
struct PartKeys<'a> {
    written: &'a [ast::Expr],
    /// With placeholders in them.
    placed: Vec<ast::Expr>,
    /// Bound over these rows.
    bound: Vec<Expr>,
    rows: RowScope,
    levels: Option<&'a KeyLevels>,
    with_other: bool,
    consistent: Option<LevelWishes>,
}

impl<'a> PartKeys<'a> {
    fn new(
        grouped: &'a SelectKeys,
        select: &ast::Select,
        selected: &FromAndWhere,
    ) -> Result<Self, Refusal> {
        let SelectKeys { written, levels, with_other, consistent } = grouped;
        let placed = match &select.group_by {
            ast::GroupByExpr::Expressions(keys, _) => keys.clone(),
            ast::GroupByExpr::All(_) => Vec::new(),
        };
        let rows = selected.rows.clone().with_units()?.scope();
        let bound = placed.iter().map(|key| bind_row_expression(key, &rows));
        let bound = bound.collect::<Result<_, _>>()?;
        let (levels, with_other, consistent) = (levels.as_ref(), *with_other, *consistent);
        Ok(Self { written, placed, bound, rows, levels, with_other, consistent })
    }

    /// The index of the key that an expression is, however it is written.
    fn key_index(&self, node: &ast::Expr) -> Option<usize> {
        if let Some(index) = self.written.iter().position(|key| key == node) {
            return self.first(index);
        }
        self.levels?;
        let form = |node| std::mem::discriminant(unwrapped(node));
        let is_named =
            matches!(unwrapped(node), ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_));
        if !is_named && !self.written.iter().any(|key| form(key) == form(node)) {
            return None;
        }
        let bound = bind_row_expression(node, &self.rows).ok()?;
        self.bound.iter().position(|key| *key == bound)
    }

    /// Whether an expression over rows has one value in each group.
    fn has_one_value(&self, node: &ast::Expr) -> bool {
        let Ok(bound) = bind_row_expression(node, &self.rows) else { return false };
        !bound.reads_columns() || self.bound.contains(&bound)
    }

    /// The first of the keys that are the same as this one.
    fn first(&self, index: usize) -> Option<usize> {
        let bound = self.bound.get(index)?;
        self.bound.iter().position(|key| key == bound)
    }

    /// The columns that show the keys, in their order.
    fn columns(&self, outputs: &PartOutputs) -> Result<Vec<String>, Refusal> {
        let column = |index: usize| {
            let is_key =
                |(expr, _): &&(ast::Expr, String)| self.key_index(expr) == self.first(index);
            outputs.columns.iter().find(is_key).map(|(_, name)| name.clone())
        };
        (0..self.placed.len()).map(column).collect::<Option<_>>().ok_or_else(missing)
    }

    /// SQL for the rows whose keys a part does not show.
    fn not_in(&self, part: &str, columns: &[String]) -> ast::Expr {
        let items = columns.iter().map(|name| ast::SelectItem::UnnamedExpr(column(name)));
        let projection = items.collect();
        let from = vec![from_table(part)];
        let keys = self.placed.clone();
        ast::Expr::InSubquery {
            expr: Box::new(ast::Expr::Tuple(keys)),
            subquery: Box::new(query_of(ast::Select { projection, from, ..simple_select() })),
            negated: true,
        }
    }

    /// The keys that divide the groups of a level, each once, in its order.
    fn divided_by(&self, level: &[usize]) -> Vec<usize> {
        let mut keys = Vec::with_capacity(level.len());
        for index in level.iter().filter_map(|&index| self.first(index)) {
            if self.bound[index].reads_columns() && !keys.contains(&index) {
                keys.push(index);
            }
        }
        keys
    }

    /// Of levels that are to fit each other, the keys whose values are listed, and the condition
    /// that a row's value is.
    fn listed(
        &self,
        selected: &FromAndWhere,
        contract: &Contract,
    ) -> Result<Vec<(usize, Expr)>, Refusal> {
        let mut all = Vec::new();
        if self.consistent.is_none() {
            return Ok(all);
        }
        let (view, _) = clauses::view(selected.clone(), contract)?;
        for (index, key) in self.placed.iter().enumerate() {
            let in_view = bind_row_expression(key, &view.scope)?;
            let listed = view.column_of(&in_view).and_then(|column| column.public_keys.clone());
            if let (Some(values), Some(bound)) = (listed, self.bound.get(index)) {
                let condition = ExprKind::InList(Box::new(bound.clone()), values);
                all.push((index, Expr::new(condition, ColumnType::Bool)));
            }
        }
        Ok(all)
    }

    fn is_in(&self, level: &[usize], index: usize) -> bool {
        level.iter().any(|&key| self.first(key) == Some(index))
    }

    /// Whether an expression depends on more than its group as the part computes it: on several
    /// groups, or on the level that a group is of.
    fn looks_around(&self, node: &ast::Expr) -> bool {
        let Some(levels) = self.levels else { return looks_around(node) };
        looks_around(node)
            || grouping(node).is_some()
            || self
                .key_index(node)
                .is_some_and(|index| !levels.iter().all(|l| self.is_in(l, index)))
    }

    /// Value of GROUPING at a level: a bit for each key, which is set where the level is without
    /// it.
    fn absent(&self, keys: &[&ast::Expr], level: &[usize]) -> Result<u64, Refusal> {
        if keys.len() > MAX_KEYS {
            return Err(Refusal::new(
                format!("GROUPING is about {} keys; at most {MAX_KEYS} are allowed", keys.len()),
                "GROUPING(a)",
            ));
        }
        keys.iter().try_fold(0, |bits, key| {
            let index = self.key_index(key).ok_or_else(|| {
                let keys: Vec<String> = self.written.iter().map(ToString::to_string).collect();
                Refusal::new(
                    format!("GROUPING({key}): `{key}` is not a key of GROUP BY"),
                    format!("the keys are {}", keys.join(", ")),
                )
                .at(*key)
            })?;
            Ok(2 * bits + u64::from(!self.is_in(level, index)))
        })
    }
}

impl Splitter<'_> {
    /// Binds a private SELECT. Leaves in `query` what is computed around it.
    pub(super) fn private(
        &mut self,
        query: &mut ast::Query,
        grouped: Option<&SelectKeys>,
        selected: FromAndWhere,
        names: &CteNames,
    ) -> Result<RowsKind, Refusal> {
        let Some(grouped) = grouped else {
            let sql = names.complete(query.to_string());
            return self.part(sql, query, selected, PartRole::ONLY).map(RowsKind::Part);
        };
        let mut inner = select_of(query)?.clone();
        if inner.projection.len() > MAX_OUTPUTS {
            return Err(Refusal::new(
                format!("SELECT shows more than {MAX_OUTPUTS} columns"),
                "write several statements",
            ));
        }
        let keys = PartKeys::new(grouped, &inner, &selected)?;
        let mut outputs = PartOutputs::default();
        let mut outer = ast::Select { distinct: inner.distinct.take(), ..simple_select() };
        let mut named: Vec<(String, ast::Expr)> = Vec::new();
        for (position, item) in std::mem::take(&mut inner.projection).into_iter().enumerate() {
            let (mut node, name) = match item {
                ast::SelectItem::UnnamedExpr(node) => {
                    let name = default_name(&node, position);
                    (node, name)
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    named.push((alias.value.clone(), expr.clone()));
                    (expr, alias.value)
                }
                item => {
                    return Err(Refusal::new(
                        format!("`{item}` in SELECT is not supported"),
                        "name the group keys and aggregates to be shown; rows are never shown",
                    ));
                }
            };
            self.take_out(&mut node, &name, &keys, &mut outputs, names)?;
            outer.projection.push(listed(node, &name));
        }
        let is_column = |name: &str| keys.rows.has(name);
        let is_key = |node: &ast::Expr| keys.has_one_value(node);
        let aliases = Aliases { named: &named, is_column: &is_column, is_key: &is_key };
        if let Some(mut having) = inner.having.take() {
            aliases.substitute(&mut having, "HAVING")?;
            // Consistent numbers are known when all levels are released.
            let around = keys.consistent.is_some()
                || (!keys.with_other && any(&having, &|node| keys.looks_around(node)));
            if around {
                self.take_out(&mut having, "having", &keys, &mut outputs, names)?;
                outer.selection = Some(having);
            } else {
                inner.having = Some(having);
            }
        }
        if let Some(mut qualify) = inner.qualify.take() {
            aliases.substitute(&mut qualify, "QUALIFY")?;
            self.take_out(&mut qualify, "qualify", &keys, &mut outputs, names)?;
            outer.qualify = Some(qualify);
        }
        // Which groups are shown is decided before the others are put together.
        let mut template = query_of(simple_select());
        if keys.with_other {
            template.order_by.clone_from(&query.order_by);
            for node in ordered_mut(template.order_by.as_mut()) {
                if let Ok(item) = select_item(node, select_of(query)?) {
                    *node = item.clone();
                }
            }
            template.limit_clause = query.limit_clause.take();
            for key in &keys.placed {
                outputs.add(key.clone(), "key");
            }
        }
        outputs.of_select = outputs.columns.len();
        for node in ordered_mut(query.order_by.as_mut()) {
            let alias = |(alias_name, _): &(String, ast::Expr)| {
                matches!(
                    node,
                    ast::Expr::Identifier(name) if alias_name.eq_ignore_ascii_case(&name.value)
                )
            };
            if !named.iter().any(alias) && !matches!(node, ast::Expr::Value(_)) {
                self.take_out(node, "order_by", &keys, &mut outputs, names)?;
            }
        }
        if let (true, Some(key)) = (keys.with_other, keys.placed.first()) {
            let last = outputs.add(levels::grouping_of(key), "other_row");
            let last = syntax::ordered(last, ast::OrderByOptions::default());
            let by = query.order_by.take().map(|by| by.kind);
            let rest = match by {
                Some(ast::OrderByKind::Expressions(items)) => items,
                _ => Vec::new(),
            };
            let kind = ast::OrderByKind::Expressions(std::iter::once(last).chain(rest).collect());
            query.order_by = Some(ast::OrderBy { kind, interpolate: None });
        }
        outer.from =
            vec![self.released_groups((&inner, template), &keys, outputs, selected, names)?];
        *select_of_mut(query)? = outer;
        Ok(RowsKind::Around)
    }

    /// Binds a part for each level, and gives the table of all of their groups.
    fn released_groups(
        &mut self,
        (select, template): (&ast::Select, ast::Query),
        keys: &PartKeys<'_>,
        outputs: PartOutputs,
        selected: FromAndWhere,
        names: &CteNames,
    ) -> Result<ast::TableWithJoins, Refusal> {
        let all: KeyLevels = vec![(0..keys.placed.len()).collect()];
        let levels = keys.levels.unwrap_or(&all);
        let mut table: Option<SetExpr> = None;
        let mut first = None;
        let listed_keys = keys.listed(&selected, self.contract)?;
        if let Some(fitting) = keys.consistent {
            self.begin_consistent(fitting);
        }
        for level in levels {
            let is_other = keys.with_other && first.is_some();
            let mut selected = selected.clone();
            // Rows whose values are not listed are in no group of the finest level: they are in
            // none.
            let others = listed_keys.iter().filter(|(index, _)| !keys.is_in(level, *index));
            let mut conditions = Vec::new();
            for (index, condition) in others {
                selected.rest.push(condition.clone());
                conditions.extend(keys.placed.get(*index).map(in_public_keys));
            }
            let mut inner = ast::Select { projection: Vec::new(), ..select.clone() };
            let level_keys: Vec<ast::Expr> =
                level.iter().map(|&key| keys.placed[key].clone()).collect();
            // Columns of the part, and what is shown of them beside those of other levels.
            let mut columns = Vec::new();
            for (at, (expr, name)) in outputs.columns.iter().enumerate() {
                let only_order = at >= outputs.of_select;
                let index = keys.levels.and_then(|_| keys.key_index(expr));
                columns.push(match (grouping(expr), index) {
                    (Some(of), _) => {
                        let bits = keys.absent(&of, level)?.to_string();
                        named(ast::Expr::value(ast::Value::Number(bits, false)), name)
                    }
                    (None, Some(index)) if !keys.is_in(level, index) => {
                        let is_text = keys.bound[index].column_type == ColumnType::String;
                        let value = match is_other && is_text {
                            true => ast::Value::SingleQuotedString("(other)".to_owned()),
                            false => ast::Value::Null,
                        };
                        named(ast::Expr::value(value), name)
                    }
                    // One row has an order.
                    (None, None) if is_other && only_order => {
                        named(ast::Expr::value(ast::Value::Null), name)
                    }
                    _ => {
                        inner.projection.push(listed(expr.clone(), name));
                        ast::SelectItem::UnnamedExpr(column(name))
                    }
                });
            }
            if columns.is_empty() && levels.len() > 1 {
                columns.push(named(ast::Expr::value(ast::Value::Null), "key"));
            }
            let mut side = ast::Select { projection: columns, ..simple_select() };
            if inner.projection.is_empty()
                && let Some(key) = level_keys.first()
            {
                // The query shows something about the groups alone, such as COUNT(*) OVER ().
                inner.projection.push(named(key.clone(), "key"));
            }
            if inner.projection.is_empty() && inner.having.is_some() {
                // Nothing is shown of the total but whether it is there.
                let marker = ast::Expr::value(ast::Value::Number("1".to_owned(), false));
                inner.projection.push(named(marker, "key"));
            }
            if !inner.projection.is_empty() {
                inner.group_by = ast::GroupByExpr::Expressions(level_keys, Vec::new());
                if let (true, Some(first)) = (is_other, first) {
                    inner.having = None;
                    let columns = keys.columns(&outputs)?;
                    selected.rest.push(self.not_among(first, &columns, &keys.bound)?);
                    conditions.push(keys.not_in(&self.name_of(first)?, &columns));
                }
                // As people read it; the conditions are bound already.
                for condition in conditions {
                    inner.selection = Some(match inner.selection.take() {
                        None => condition,
                        Some(existing) => ast::Expr::BinaryOp {
                            left: Box::new(ast::Expr::Nested(Box::new(existing))),
                            op: ast::BinaryOperator::And,
                            right: Box::new(condition),
                        },
                    });
                }
                let mut query = match first {
                    None => template.clone(),
                    Some(_) => query_of(simple_select()),
                };
                *query.body = SetExpr::Select(Box::new(inner));
                let sql = names.complete(query.to_string());
                let role = PartRole { of: levels.len(), is_other };
                let part = self.part(sql, &query, selected, role)?;
                first.get_or_insert(part);
                let released = match keys.consistent {
                    None => self.name_of(part)?,
                    Some(_) => self.fits(part, &keys.divided_by(level))?,
                };
                side.from = vec![from_table(&released)];
            }
            if levels.len() == 1 && side.projection.iter().all(is_column) {
                return side.from.pop().ok_or_else(missing);
            }
            let side = SetExpr::Select(Box::new(side));
            table = Some(match table {
                None => side,
                Some(before) => SetExpr::SetOperation {
                    op: ast::SetOperator::Union,
                    set_quantifier: ast::SetQuantifier::All,
                    left: Box::new(before),
                    right: Box::new(side),
                },
            });
        }
        let body = Box::new(table.ok_or_else(missing)?);
        let subquery = Box::new(ast::Query { body, ..query_of(simple_select()) });
        let relation =
            ast::TableFactor::Derived { lateral: false, subquery, alias: None, sample: None };
        Ok(ast::TableWithJoins { relation, joins: Vec::new() })
    }

    /// Puts names of the part's columns in the place of everything that it can compute from one
    /// group.
    fn take_out(
        &mut self,
        node: &mut ast::Expr,
        name: &str,
        keys: &PartKeys<'_>,
        outputs: &mut PartOutputs,
        names: &CteNames,
    ) -> Result<(), Refusal> {
        if let Some(index) = keys.key_index(node) {
            let key = keys.placed.get(index).unwrap_or(node).clone();
            *node = outputs.add(key, name);
            return Ok(());
        }
        if grouping(node).is_some() && keys.levels.is_some() {
            *node = outputs.add(node.clone(), name);
            return Ok(());
        }
        if !any(node, &|node| keys.looks_around(node)) {
            if any(node, &|inner| calls_aggregate(inner) || is_name(inner)) {
                *node = outputs.add(node.clone(), name);
            }
            return Ok(());
        }
        if calls_aggregate(node) {
            self.rows_expression(node, names)?;
            *node = outputs.add(node.clone(), name);
            return Ok(());
        }
        self.released_query(node, names)?;
        if operands(node).is_none() {
            return Err(Refusal::new(
                format!("`{node}` is not supported"),
                "use comparisons, arithmetic, CASE, CAST and functions of released values",
            ));
        }
        for operand in operands_mut(node).into_iter().flatten() {
            let name = default_name(operand, outputs.columns.len());
            self.take_out(operand, &name, keys, outputs, names)?;
        }
        Ok(())
    }
}

/// An expression without the brackets around it.
fn unwrapped(mut node: &ast::Expr) -> &ast::Expr {
    while let ast::Expr::Nested(inner) = node {
        node = inner;
    }
    node
}

/// SQL for the rows whose value the contract lists.
fn in_public_keys(key: &ast::Expr) -> ast::Expr {
    let (expr, list) = (Box::new(key.clone()), vec![column("public_keys")]);
    ast::Expr::InList { expr, list, negated: false }
}

/// A column of a SELECT's list, under a name.
fn listed(expr: ast::Expr, name: &str) -> ast::SelectItem {
    match &expr {
        ast::Expr::Identifier(identifier) if identifier.value == name => {
            ast::SelectItem::UnnamedExpr(expr)
        }
        _ => named(expr, name),
    }
}

fn named(expr: ast::Expr, name: &str) -> ast::SelectItem {
    ast::SelectItem::ExprWithAlias { expr, alias: ident(name) }
}

/// Whether SELECT shows a column as it is.
fn is_column(item: &ast::SelectItem) -> bool {
    matches!(item, ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(_)))
}
