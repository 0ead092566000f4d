//! Queries of SQL around private parts.

use std::collections::HashSet;

use hushtable_lang::Refusal;
use sqlparser::ast;

use super::column_names::{OutputColumn, OutputColumns, Scope, quoted};
use super::origins::cell_name;
use super::trace::{Hidden, Traced, brings_rows_together, hidden, is_grouped};
use super::{Named, Tables, Walk, unsupported};
use crate::bind::aliases::{Aliases, grouped_item, groups_by_name, hidden_key};
use crate::bind::group_by::{MAX_LEVELS, name_all};
use crate::bind::released_tables::MAX_OUTPUTS;
use crate::bind::select::{default_name, is_plain, limits, plain_clauses};
use crate::bind::syntax::{not_a_table, ordered, plain_table, table_factor};
use crate::bind::walk::is_name;

impl Walk<'_> {
    /// The outermost query as it is run, and how the columns that it shows can be followed back.
    pub(super) fn outermost(
        &mut self,
        query: &ast::Query,
    ) -> Result<(ast::Query, OutputColumns, Vec<Traced>), Refusal> {
        let mut traced = None;
        let (query, outputs) = self.ordered_query(
            query,
            &Tables::default(),
            None,
            (Hidden::Cells, Some(&mut traced)),
        )?;
        let plain =
            |column: &OutputColumn| Traced { origins: column.origins.clone(), computed: None };
        let traced = traced.unwrap_or_else(|| outputs.iter().map(plain).collect());
        Ok((query, outputs, traced))
    }

    /// A query as it is run, and the columns that it shows.
    pub(super) fn query(
        &mut self,
        query: &ast::Query,
        tables: &Tables,
        outer: Option<&Scope<'_>>,
        hidden: Hidden,
    ) -> Result<(ast::Query, OutputColumns), Refusal> {
        self.ordered_query(query, tables, outer, (hidden, None))
    }

    /// A query as it is run. The rows of the outermost one, which is traced, have a complete order;
    /// so have those that a LIMIT counts.
    fn ordered_query(
        &mut self,
        query: &ast::Query,
        tables: &Tables,
        outer: Option<&Scope<'_>>,
        (hidden, trace): (Hidden, Option<&mut Option<Vec<Traced>>>),
    ) -> Result<(ast::Query, OutputColumns), Refusal> {
        let outermost = trace.is_some();
        if query.fetch.is_some() {
            return Err(unsupported("FETCH", "LIMIT 10"));
        }
        let mut with = query.with.clone();
        let mut inner_tables = with.as_ref().map(|_| tables.clone());
        if let (Some(with), Some(tables)) = (&mut with, &mut inner_tables) {
            for cte in &mut with.cte_tables {
                let one_row = self.has_one_row(&cte.query, tables);
                let before = std::mem::take(&mut self.columns);
                let (inner, outputs) = self.query(&cte.query, tables, None, Hidden::Cells)?;
                // It costs something where it is named.
                let columns = std::mem::replace(&mut self.columns, before);
                let (alias, outputs) = aliased(&cte.alias, outputs)?;
                let name = cte.alias.name.value.clone();
                tables.0.push(Named { name, outputs, columns, one_row });
                *cte.query = inner;
                cte.alias = alias;
                cte.materialized = None;
            }
        }
        let tables = inner_tables.as_ref().unwrap_or(tables);
        let order_by = match query.order_by.as_ref().map(|by| &by.kind) {
            None => &[],
            Some(ast::OrderByKind::Expressions(items)) => items.as_slice(),
            Some(ast::OrderByKind::All(_)) => {
                return Err(Refusal::new("ORDER BY ALL is not supported", "ORDER BY 1, 2"));
            }
        };
        let (body, outputs, mut order) = match query.body.as_ref() {
            ast::SetExpr::Select(select) => {
                plain_clauses(query, select)?;
                let bound = self.select(select, order_by, tables, outer, (hidden, trace));
                bound.map_err(|refusal| refusal.at(select.as_ref()))?
            }
            body => {
                let (body, outputs) = self.sides(body, tables, outer, hidden)?;
                let order = order_by.iter().map(|item| by_name(item, &outputs));
                let order = order.collect::<Result<Vec<_>, Refusal>>()?;
                (body, outputs, order)
            }
        };
        limits(query)?;
        if outermost || query.limit_clause.is_some() {
            let position = |index: usize| ast::Value::Number((index + 1).to_string(), false);
            let rest = (0..outputs.len()).map(|index| ast::Expr::Value(position(index).into()));
            order.extend(rest.map(|expr| ordered(expr, ast::OrderByOptions::default())));
        }
        let order_by = (!order.is_empty()).then_some(ast::OrderBy {
            kind: ast::OrderByKind::Expressions(order),
            interpolate: None,
        });
        let run = ast::Query { with, body: Box::new(body), order_by, ..query.clone() };
        Ok((run, outputs))
    }

    /// The sides of a set operation. Chains of them are deep, so each step takes little of the
    /// stack: what its cases need is in functions of their own.
    fn sides(
        &mut self,
        body: &ast::SetExpr,
        tables: &Tables,
        outer: Option<&Scope<'_>>,
        hidden: Hidden,
    ) -> Result<(ast::SetExpr, OutputColumns), Refusal> {
        match body {
            ast::SetExpr::Select(select) => self.select_side(select, tables, outer, hidden),
            ast::SetExpr::Query(query) => self.query_side(query, tables, outer, hidden),
            ast::SetExpr::SetOperation { op, set_quantifier, left, right } => {
                let sides = (left.as_ref(), right.as_ref());
                self.set_operation((op, set_quantifier), sides, (tables, outer, hidden))
            }
            other => Err(unsupported(other, "SELECT … FROM … WHERE … GROUP BY …")),
        }
    }

    #[inline(never)]
    fn select_side(
        &mut self,
        select: &ast::Select,
        tables: &Tables,
        outer: Option<&Scope<'_>>,
        hidden: Hidden,
    ) -> Result<(ast::SetExpr, OutputColumns), Refusal> {
        let bound = self.select(select, &[], tables, outer, (hidden, None));
        let (body, outputs, _) = bound.map_err(|refusal| refusal.at(select))?;
        Ok((body, outputs))
    }

    #[inline(never)]
    fn query_side(
        &mut self,
        query: &ast::Query,
        tables: &Tables,
        outer: Option<&Scope<'_>>,
        hidden: Hidden,
    ) -> Result<(ast::SetExpr, OutputColumns), Refusal> {
        let (query, outputs) = self.query(query, tables, outer, hidden)?;
        Ok((ast::SetExpr::Query(Box::new(query)), outputs))
    }

    #[inline(never)]
    fn set_operation(
        &mut self,
        (op, set_quantifier): (&ast::SetOperator, &ast::SetQuantifier),
        (left, right): (&ast::SetExpr, &ast::SetExpr),
        (tables, outer, hidden): (&Tables, Option<&Scope<'_>>, Hidden),
    ) -> Result<(ast::SetExpr, OutputColumns), Refusal> {
        use ast::SetQuantifier as Q;
        if !matches!(set_quantifier, Q::All | Q::Distinct | Q::None)
            || *op == ast::SetOperator::Minus
        {
            return Err(unsupported(
                format!("{op} {set_quantifier}"),
                "use UNION ALL, UNION DISTINCT, EXCEPT DISTINCT or INTERSECT DISTINCT",
            ));
        }
        // Rows that are compared are compared without their cells.
        let all = *op == ast::SetOperator::Union && *set_quantifier == Q::All;
        let hidden = match hidden {
            Hidden::Cells if !all => Hidden::Empty,
            hidden => hidden,
        };
        let (left, mut outputs) = self.sides(left, tables, outer, hidden)?;
        let (right, others) = self.sides(right, tables, outer, hidden)?;
        if outputs.len() != others.len() {
            let (left_count, right_count) = (outputs.len(), others.len());
            return Err(Refusal::new(
                format!("the sides of {op} have {left_count} and {right_count} columns"),
                "SELECT the same columns on all sides",
            ));
        }
        for (column, other) in outputs.iter_mut().zip(others) {
            let both = column.origins.clone().and(other.origins);
            column.origins = if all { both } else { both.changed() };
        }
        let quantifier = match set_quantifier {
            Q::All => Q::All,
            _ => Q::None,
        };
        let body = ast::SetExpr::SetOperation {
            op: *op,
            set_quantifier: quantifier,
            left: Box::new(left),
            right: Box::new(right),
        };
        Ok((body, outputs))
    }

    /// A SELECT, with the columns that it shows and its order.
    #[allow(clippy::type_complexity, reason = "three results of one walk")]
    fn select(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderByExpr],
        tables: &Tables,
        outer: Option<&Scope<'_>>,
        (hidden, trace): (Hidden, Option<&mut Option<Vec<Traced>>>),
    ) -> Result<(ast::SetExpr, OutputColumns, Vec<ast::OrderByExpr>), Refusal> {
        check_columns(select.projection.len())?;
        let mut scope = Scope { outer, ..Scope::default() };
        let mut from = Vec::new();
        for item in &select.from {
            from.push(self.joined(item, &mut scope, tables)?);
        }
        self.check_linked(select, &scope, tables)?;
        let named: Vec<(String, ast::Expr)> = select
            .projection
            .iter()
            .filter_map(|item| match item {
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    Some((alias.value.clone(), expr.clone()))
                }
                _ => None,
            })
            .collect();
        let selection = select.selection.as_ref();
        let selection = selection.map(|node| self.expression(node, &scope, tables)).transpose()?;
        let group_by = self.group_by(select, &mut scope, tables)?;
        let grouped = is_grouped(select);
        let is_column = |name: &str| scope.has(name);
        let is_key = |node: &ast::Expr| !grouped || scope.is_key(node);
        for (name, node) in named.iter().filter(|(name, _)| groups_by_name(select, name)) {
            if is_column(name) && is_name(node) && !is_key(node) {
                return Err(hidden_key(node, name).at(node));
            }
        }
        let aliases = Aliases { named: &named, is_column: &is_column, is_key: &is_key };
        let mut clause = |node: Option<&ast::Expr>, clause: &str| {
            let Some(mut node) = node.cloned() else { return Ok(None) };
            aliases.substitute(&mut node, clause)?;
            self.expression(&node, &scope, tables).map(Some)
        };
        let having = clause(select.having.as_ref(), "HAVING")?;
        let qualify = clause(select.qualify.as_ref(), "QUALIFY")?;
        let together = brings_rows_together(select, order_by);
        let cells = if together && hidden == Hidden::Cells { Hidden::Empty } else { hidden };
        let (mut projection, mut outputs) = self.output_columns(select, &scope, tables, cells)?;
        if together {
            for column in &mut outputs {
                column.origins = column.origins.clone().changed();
            }
        } else if let Some(trace) = trace {
            *trace = Some(self.trace_outermost(&mut projection, &outputs, &scope));
        }
        let mut order = Vec::new();
        for item in order_by {
            if item.with_fill.is_some() {
                return Err(Refusal::new("WITH FILL is not supported", "ORDER BY x DESC"));
            }
            let expr = match &item.expr {
                ast::Expr::Value(_) => position(&item.expr, outputs.len())?,
                ast::Expr::Identifier(name) if shows(&outputs, &name.value) => {
                    ast::Expr::Identifier(quoted(&name.value))
                }
                node => self.expression(node, &scope, tables)?,
            };
            order.push(ordered(expr, item.options));
        }
        let distinct = match &select.distinct {
            Some(ast::Distinct::On(_)) => {
                return Err(Refusal::new("DISTINCT ON is not supported", "SELECT DISTINCT a, b"));
            }
            other => other.clone(),
        };
        let run = ast::Select {
            distinct,
            projection,
            from,
            selection,
            group_by: ast::GroupByExpr::Expressions(group_by, Vec::new()),
            having,
            qualify,
            ..select.clone()
        };
        Ok((ast::SetExpr::Select(Box::new(run)), outputs, order))
    }

    /// GROUP BY as it is run. Its keys are added to the scope.
    fn group_by(
        &mut self,
        select: &ast::Select,
        scope: &mut Scope<'_>,
        tables: &Tables,
    ) -> Result<Vec<ast::Expr>, Refusal> {
        use ast::{Expr as E, GroupByWithModifier as M};
        let mut select = select.clone();
        name_all(&mut select);
        let ast::GroupByExpr::Expressions(nodes, modifiers) = &select.group_by else {
            return Err(unsupported("GROUP BY ALL with levels", "GROUP BY ROLLUP (a, b)"));
        };
        let each = || nodes.iter().map(|node| vec![node.clone()]).collect();
        let with_levels = match modifiers.as_slice() {
            [] => None,
            [M::Rollup] => Some(E::Rollup(each())),
            [M::Cube] => Some(E::Cube(each())),
            [M::GroupingSets(sets)] => Some(sets.clone()),
            _ => return Err(unsupported("GROUP BY … WITH TOTALS", "GROUP BY ROLLUP (a, b)")),
        };
        let nodes = with_levels.as_ref().map_or(nodes.as_slice(), std::slice::from_ref);
        let most = |many: usize| match many > MAX_OUTPUTS {
            true => Err(Refusal::new(
                format!("GROUP BY has more than {MAX_OUTPUTS} keys"),
                "use fewer keys",
            )),
            false => Ok(()),
        };
        most(nodes.len())?;
        let levels = levels_of(nodes)?;
        let mut key = |node: &E| {
            let node = grouped_item(node, &select, &|name| scope.has(name))?;
            let expr = self.expression(node, scope, tables)?;
            scope.keys.push((node.clone(), expr.clone()));
            most(scope.keys.len())?;
            Ok(expr)
        };
        let mut run = |node: &E| {
            let mut node = node.clone();
            match &mut node {
                E::Rollup(sets) | E::Cube(sets) | E::GroupingSets(sets) => {
                    for member in sets.iter_mut().flatten() {
                        *member = key(member)?;
                    }
                }
                other => *other = key(other)?,
            }
            Ok(node)
        };
        let run = nodes.iter().map(&mut run).collect::<Result<Vec<_>, Refusal>>()?;
        // Each level has all keys.
        self.has(levels * scope.keys.len())?;
        Ok(run)
    }

    /// The columns of a SELECT's list, with names that differ.
    fn output_columns(
        &mut self,
        select: &ast::Select,
        scope: &Scope<'_>,
        tables: &Tables,
        cells: Hidden,
    ) -> Result<(Vec<ast::SelectItem>, OutputColumns), Refusal> {
        let mut all: Vec<(ast::Expr, String)> = Vec::new();
        for (position, item) in select.projection.iter().enumerate() {
            check_columns(all.len())?;
            match item {
                ast::SelectItem::UnnamedExpr(node) => {
                    let name = default_name(node, position);
                    all.push((self.expression(node, scope, tables)?, name));
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    all.push((self.expression(expr, scope, tables)?, alias.value.clone()));
                }
                ast::SelectItem::Wildcard(more) if is_plain(more) => all.extend(scope.all(None)),
                ast::SelectItem::QualifiedWildcard(
                    ast::SelectItemQualifiedWildcardKind::ObjectName(table),
                    more,
                ) if is_plain(more) => {
                    let columns = scope.all(Some(&table.to_string().replace('`', "")));
                    if columns.is_empty() {
                        return Err(Refusal::new(
                            format!("`{item}`: there is no table `{table}` in FROM"),
                            "use the name or alias of a table in FROM",
                        ));
                    }
                    all.extend(columns);
                }
                other => return Err(unsupported(other, "columns, expressions and *").at(other)),
            }
        }
        if all.is_empty() {
            return Err(Refusal::new("SELECT shows nothing", "SELECT a, b FROM …"));
        }
        check_columns(all.len())?;
        self.has(all.len())?;
        let mut taken = HashSet::new();
        let (mut items, mut outputs) = (Vec::new(), Vec::new());
        let mut hidden_items = Vec::new();
        for (expr, name) in all {
            let (mut unique, mut copy) = (name.clone(), 1);
            while !taken.insert(unique.to_ascii_lowercase()) {
                copy += 1;
                unique = format!("{name}_{copy}");
            }
            let (origins, cell) = self.traced(&expr, scope);
            let cell = cell.filter(|_| cells == Hidden::Cells);
            hidden_items.push(hidden(cell, cell_name(&unique)));
            items.push(ast::SelectItem::ExprWithAlias { expr, alias: quoted(&unique) });
            outputs.push(OutputColumn { name: unique, origins });
        }
        if cells != Hidden::Without {
            items.extend(hidden_items);
        }
        Ok((items, outputs))
    }

    /// One item of FROM, whose columns are added to the scope.
    fn joined(
        &mut self,
        from: &ast::TableWithJoins,
        scope: &mut Scope<'_>,
        tables: &Tables,
    ) -> Result<ast::TableWithJoins, Refusal> {
        let relation = self.factor(&from.relation, scope, tables)?;
        let mut joins = Vec::with_capacity(from.joins.len());
        for join in &from.joins {
            let relation = self.factor(&join.relation, scope, tables)?;
            use ast::JoinOperator as J;
            let mut on = |constraint: &ast::JoinConstraint| match constraint {
                ast::JoinConstraint::On(node) => {
                    self.expression(node, scope, tables).map(ast::JoinConstraint::On)
                }
                ast::JoinConstraint::Using(names) => {
                    let mut columns = Vec::with_capacity(names.len());
                    for name in names {
                        let [ast::ObjectNamePart::Identifier(name)] = name.0.as_slice() else {
                            return Err(Refusal::new(format!("USING ({name})"), "USING (column)"));
                        };
                        scope.joined.push(name.value.clone());
                        scope.column(std::slice::from_ref(name))?;
                        columns.push(ast::ObjectName::from(vec![quoted(&name.value)]));
                    }
                    Ok(ast::JoinConstraint::Using(columns))
                }
                ast::JoinConstraint::None | ast::JoinConstraint::Natural => Err(Refusal::new(
                    format!("`{}` names no columns to join on", join.to_string().trim()),
                    "JOIN … ON a.key = b.key, or USING (key); CROSS JOIN for all pairs",
                )),
            };
            let join_operator = match &join.join_operator {
                _ if join.global => return Err(no_join(join)),
                J::Join(c) | J::Inner(c) => J::Inner(on(c)?),
                J::Left(c) | J::LeftOuter(c) => J::LeftOuter(on(c)?),
                J::Right(c) | J::RightOuter(c) => J::RightOuter(on(c)?),
                J::FullOuter(c) => J::FullOuter(on(c)?),
                J::CrossJoin(ast::JoinConstraint::None) => J::CrossJoin(ast::JoinConstraint::None),
                _ => return Err(no_join(join)),
            };
            joins.push(ast::Join { relation, global: false, join_operator });
        }
        Ok(ast::TableWithJoins { relation, joins })
    }

    fn factor(
        &mut self,
        factor: &ast::TableFactor,
        scope: &mut Scope<'_>,
        tables: &Tables,
    ) -> Result<ast::TableFactor, Refusal> {
        use ast::TableFactor as F;
        if let Some((name, alias)) = plain_table(factor) {
            let [ast::ObjectNamePart::Identifier(table)] = name.0.as_slice() else {
                return Err(unsupported(factor, "a table's name"));
            };
            let (run, columns) = self.table(&table.value, tables)?;
            let named = match alias {
                Some(alias) => {
                    let (alias, columns) = aliased(alias, columns)?;
                    scope.tables.push((alias.name.value.clone(), columns));
                    Some(alias)
                }
                None => {
                    scope.tables.push((table.value.clone(), columns));
                    None
                }
            };
            return Ok(table_factor(ast::ObjectName::from(vec![quoted(&run)]), named));
        }
        match factor {
            F::Derived { lateral: false, subquery, alias, sample: None } => {
                let (query, columns) = self.query(subquery, tables, None, Hidden::Cells)?;
                let unnamed = || format!("derived_{}", scope.tables.len() + 1);
                let (alias, columns) = match alias {
                    Some(alias) => aliased(alias, columns)?,
                    None => (table_alias(&unnamed()), columns),
                };
                scope.tables.push((alias.name.value.clone(), columns));
                let subquery = Box::new(query);
                Ok(F::Derived { lateral: false, subquery, alias: Some(alias), sample: None })
            }
            F::NestedJoin { table_with_joins, alias: None } => {
                let joined = self.joined(table_with_joins, scope, tables)?;
                Ok(F::NestedJoin { table_with_joins: Box::new(joined), alias: None })
            }
            other => Err(not_a_table(other)),
        }
    }
}

/// The number of levels of GROUP BY.
fn levels_of(nodes: &[ast::Expr]) -> Result<usize, Refusal> {
    let mut levels = 1usize;
    for node in nodes {
        let factor = match node {
            ast::Expr::Rollup(sets) => sets.len() + 1,
            ast::Expr::Cube(sets) => {
                let sets = u32::try_from(sets.len()).unwrap_or(u32::MAX);
                2usize.checked_pow(sets).unwrap_or(usize::MAX)
            }
            ast::Expr::GroupingSets(sets) => sets.len(),
            _ => 1,
        };
        levels = levels.saturating_mul(factor);
        if levels > MAX_LEVELS {
            return Err(Refusal::new(
                format!("GROUP BY has more than {MAX_LEVELS} levels"),
                "use GROUPING SETS ((a, b), (a), ()) with only the levels that are needed",
            )
            .at(node));
        }
    }
    Ok(levels)
}

/// Refuses a SELECT with many columns.
fn check_columns(columns: usize) -> Result<(), Refusal> {
    if columns <= MAX_OUTPUTS {
        return Ok(());
    }
    Err(Refusal::new(
        format!("SELECT shows more than {MAX_OUTPUTS} columns"),
        "write several statements",
    ))
}

fn table_alias(name: &str) -> ast::TableAlias {
    ast::TableAlias { explicit: true, name: quoted(name), columns: Vec::new(), at: None }
}

/// A table's alias as it is run, and the columns of the table under it.
fn aliased(
    alias: &ast::TableAlias,
    columns: OutputColumns,
) -> Result<(ast::TableAlias, OutputColumns), Refusal> {
    let mut quoted_alias = table_alias(&alias.name.value);
    if alias.columns.is_empty() {
        return Ok((quoted_alias, columns));
    }
    if alias.columns.len() != columns.len() {
        return Err(Refusal::new(
            format!(
                "`{alias}` names {} columns, but there are {}",
                alias.columns.len(),
                columns.len()
            ),
            "name all columns, or none",
        ));
    }
    let column = |name| ast::TableAliasColumnDef { name, data_type: None };
    let names = alias.columns.iter().map(|column| &column.name.value);
    let cells = names.clone().map(|name| ast::Ident::with_quote('"', cell_name(name)));
    quoted_alias.columns =
        names.clone().map(|name| quoted(name)).chain(cells).map(column).collect();
    let renamed =
        |(name, output): (&String, OutputColumn)| OutputColumn { name: name.clone(), ..output };
    Ok((quoted_alias, names.zip(columns).map(renamed).collect()))
}

fn shows(outputs: &[OutputColumn], name: &str) -> bool {
    outputs.iter().any(|column| column.is_named(name))
}

/// A position of ORDER BY.
fn position(node: &ast::Expr, columns: usize) -> Result<ast::Expr, Refusal> {
    let text = node.to_string();
    if text.parse().is_ok_and(|number: usize| (1..=columns).contains(&number)) {
        return Ok(node.clone());
    }
    Err(Refusal::new(
        format!("ORDER BY {text} is not the position of a column in SELECT"),
        "ORDER BY 1 is the first column",
    ))
}

/// An order of a set operation's rows, by its columns.
fn by_name(item: &ast::OrderByExpr, outputs: &[OutputColumn]) -> Result<ast::OrderByExpr, Refusal> {
    let expr = match &item.expr {
        ast::Expr::Value(_) => position(&item.expr, outputs.len())?,
        ast::Expr::Identifier(name) if shows(outputs, &name.value) => {
            ast::Expr::Identifier(quoted(&name.value))
        }
        other => {
            return Err(unsupported(
                format!("ORDER BY {other}"),
                "a column's name or position, after UNION, EXCEPT and INTERSECT",
            ));
        }
    };
    Ok(ordered(expr, item.options))
}

/// Refuses a join of a kind that results cannot have.
fn no_join(join: &ast::Join) -> Refusal {
    let hint = "use JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN or CROSS JOIN";
    unsupported(join.to_string().trim(), hint)
}
