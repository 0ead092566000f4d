//! Finds the private parts of a statement and takes them out of its syntax.

use std::rc::Rc;

use hushtable_contract::TableUnit;
use hushtable_lang::bind_expr::{RowScope, column_placeholder, placeholder};
use hushtable_lang::sql::select_at;
use hushtable_lang::{Placed, Refusal, did_you_mean, similar};
use sqlparser::ast;

use super::budget::PartRole;
use super::lookup_table::{has_groups, tables_of};
use super::pivot::{shown_columns, write_pivots};
use super::splitter::{CteNames, RowsKind, Splitter, mixed};
use super::{MAX_NAMES, ReleasedColumn, private};
use crate::bind::aliases::{reads_earlier, write_out_earlier};
use crate::bind::clauses::{self};
use crate::bind::from::{FromAndWhere, QueryTables};
use crate::bind::group_by::bound_keys;
use crate::bind::rowset::References;
use crate::bind::select::plain_clauses;
use crate::bind::syntax::{
    all_of, missing, not_a_table, plain_table, query_of, select_of, select_of_mut, simple_select,
    table_factor,
};
use crate::bind::walk::{
    ident, on_mut, operands_mut, ordered_mut, select_list, select_list_mut, table_name,
};
use crate::bind::{Groups, Output};
use crate::relation::Protection;

impl Splitter<'_> {
    /// Takes the parts out of a whole statement.
    pub(super) fn whole(&mut self, query: &mut ast::Query) -> Result<RowsKind, Refusal> {
        match self.query(query, &CteNames::default(), true)? {
            RowsKind::Constant => {
                Err(Refusal::new("the query has no FROM", QueryTables::of(self.contract).listed()))
            }
            kind => Ok(kind),
        }
    }

    /// Takes the parts out of a query, which is the `outermost` one or a sub-query.
    pub(super) fn query(
        &mut self,
        query: &mut ast::Query,
        names: &CteNames,
        outermost: bool,
    ) -> Result<RowsKind, Refusal> {
        let inner_names = self.with(query.with.as_mut(), names)?;
        let names = inner_names.as_ref().unwrap_or(names);
        let kind = match query.body.as_mut() {
            ast::SetExpr::Select(_) => self.select(query, names)?,
            ast::SetExpr::Query(inner) => self.query(inner, names, outermost)?,
            ast::SetExpr::SetOperation { left: _, op: _, set_quantifier: _, right: _ } => {
                self.sides(&mut query.body, names)?
            }
            // Not supported: refused by name where it is bound.
            ast::SetExpr::Values(_)
            | ast::SetExpr::Insert(_)
            | ast::SetExpr::Update(_)
            | ast::SetExpr::Delete(_)
            | ast::SetExpr::Merge(_)
            | ast::SetExpr::Table(_) => RowsKind::Rows,
        };
        if outermost && kind == RowsKind::Rows {
            // Rows are never shown: bound as a part, the statement is refused for the right reason.
            let select = clauses::check(query)?;
            let selected = names.tables(self.contract).selected(select, None)?;
            let sql = query.to_string();
            return self.part(sql, query, selected, PartRole::ONLY).map(RowsKind::Part);
        }
        if kind != RowsKind::Rows
            && let Some(with) = &mut query.with
        {
            // Rows stay with the parts that are made of them.
            with.cte_tables.retain(|cte| {
                let rows = |row_cte: &Rc<ast::Cte>| row_cte.alias.name == cte.alias.name;
                !names.rows.iter().any(rows)
            });
            if with.cte_tables.is_empty() {
                query.with = None;
            }
        }
        Ok(kind)
    }

    /// The names with those that a WITH adds, if there is one.
    fn with(
        &mut self,
        with: Option<&mut ast::With>,
        names: &CteNames,
    ) -> Result<Option<CteNames>, Refusal> {
        let Some(with) = with else { return Ok(None) };
        let mut names = names.clone();
        if names.kinds.len() + with.cte_tables.len() > MAX_NAMES {
            return Err(Refusal::new(
                format!("WITH names more than {MAX_NAMES} tables"),
                "use fewer common table expressions",
            ));
        }
        // Refuses what no WITH may have.
        QueryTables::of(self.contract).with(Some(with))?;
        for cte in &mut with.cte_tables {
            let name = &cte.alias.name.value;
            let number = name.to_ascii_lowercase();
            let number = number.strip_prefix("part_").and_then(|rest| rest.split('_').next());
            let number = number.map(str::parse::<u32>);
            if matches!(number, Some(Ok(_))) {
                return Err(Refusal::new(
                    format!("WITH names `{name}`, which is kept for the parts of statements"),
                    "give it another name",
                )
                .at(&cte.alias.name));
            }
            let kind = self.query(&mut cte.query, &names, false)?;
            self.refer(&mut cte.query, kind)?;
            if kind == RowsKind::Rows {
                names.rows.push(Rc::new(cte.clone()));
            }
            // A release whose columns have other names here is SQL around it.
            let kind = match kind {
                RowsKind::Part(_) if !cte.alias.columns.is_empty() => RowsKind::Around,
                kind => kind,
            };
            names.kinds.push((cte.alias.name.value.clone(), kind));
        }
        Ok(Some(names))
    }

    /// Puts the name of a part's release in the place of its query.
    pub(super) fn refer(&self, query: &mut ast::Query, kind: RowsKind) -> Result<(), Refusal> {
        let RowsKind::Part(part) = kind else { return Ok(()) };
        *query = query_of(all_of(&self.name_of(part)?));
        Ok(())
    }

    /// The sides of a set operation, each a query of its own.
    fn sides(&mut self, body: &mut ast::SetExpr, names: &CteNames) -> Result<RowsKind, Refusal> {
        match body {
            ast::SetExpr::SetOperation { left, op, set_quantifier: _, right } => {
                let kind = self.sides(left, names)?;
                let other = self.sides(right, names)?;
                kind.beside(other, &op.to_string()).map_err(|refusal| refusal.at(right.as_ref()))
            }
            ast::SetExpr::Select(select) => {
                let mut query = query_of(std::mem::replace(select.as_mut(), simple_select()));
                let kind = self.query(&mut query, names, false)?;
                self.refer(&mut query, kind)?;
                *body = *query.body;
                Ok(if matches!(kind, RowsKind::Part(_)) { RowsKind::Around } else { kind })
            }
            ast::SetExpr::Query(query) => {
                let kind = self.query(query, names, false)?;
                self.refer(query, kind)?;
                Ok(if matches!(kind, RowsKind::Part(_)) { RowsKind::Around } else { kind })
            }
            ast::SetExpr::Values(_)
            | ast::SetExpr::Insert(_)
            | ast::SetExpr::Update(_)
            | ast::SetExpr::Delete(_)
            | ast::SetExpr::Merge(_)
            | ast::SetExpr::Table(_) => Ok(RowsKind::Rows),
        }
    }

    fn select(&mut self, query: &mut ast::Query, names: &CteNames) -> Result<RowsKind, Refusal> {
        let select = select_of_mut(query)?;
        write_pivots(select, &|name| self.columns_of(name, names))?;
        let mut sources: Option<RowsKind> = None;
        let mut kinds: Vec<Vec<RowsKind>> = Vec::new();
        for from in &mut select.from {
            let joined = from.joins.iter_mut().map(|join| &mut join.relation);
            let mut of_item = Vec::new();
            for factor in std::iter::once(&mut from.relation).chain(joined) {
                let kind = self.factor(factor, names)?;
                of_item.push(kind);
                sources = Some(match (sources, kind) {
                    (None, kind) => kind,
                    (Some(before), kind) if before.is_joined_with(kind) => RowsKind::Rows,
                    (Some(before), kind) => {
                        before.beside(kind, "FROM").map_err(|r| r.at(factor))?
                    }
                });
            }
            kinds.push(of_item);
        }
        let is_release = |kind: &RowsKind| kind.is_release();
        if sources == Some(RowsKind::Rows) && kinds.iter().flatten().any(is_release) {
            if !self.has_protected_rows(&select.from, &kinds, names) {
                let mut factors =
                    select.from.iter().flat_map(tables_of).zip(kinds.iter().flatten());
                let first = factors.next().map(|(_, kind)| kind.is_release());
                let other = factors.find(|(_, kind)| Some(kind.is_release()) != first);
                let refusal = mixed("FROM");
                return Err(other.map_or(refusal.clone(), |(factor, _)| refusal.at(factor)));
            }
            self.look_up_releases(query, &kinds, names)?;
        }
        match sources {
            None => {
                let inner = self.free_clauses(query, names)?;
                Ok(if inner { RowsKind::Around } else { RowsKind::Constant })
            }
            Some(RowsKind::Rows) => self.over_rows(query, names),
            Some(RowsKind::Constant | RowsKind::Part(_) | RowsKind::Around) => {
                self.free_clauses(query, names)?;
                Ok(RowsKind::Around)
            }
        }
    }

    /// Whether some rows of FROM may be protected: those that are no public table.
    fn has_protected_rows(
        &self,
        from: &[ast::TableWithJoins],
        kinds: &[Vec<RowsKind>],
        names: &CteNames,
    ) -> bool {
        let is_protected = |factor: &ast::TableFactor| {
            let Some((name, _)) = plain_table(factor) else { return true };
            let name = table_name(name);
            let table = self.contract.table(&name).filter(|_| names.kind(&name).is_none());
            table.is_none_or(|table| table.unit != TableUnit::Public)
        };
        let mut factors = from.iter().flat_map(tables_of).zip(kinds.iter().flatten());
        factors.any(|(factor, kind)| *kind == RowsKind::Rows && is_protected(factor))
    }

    /// The columns of the table or of the rows of that name, where they are known.
    pub(super) fn columns_of(&self, name: &str, names: &CteNames) -> Option<Vec<String>> {
        if names.kind(name).is_none() {
            let columns = self.contract.table(name)?.columns.iter();
            return Some(columns.map(|column| column.name.clone()).collect());
        }
        let is_named = |cte: &&Rc<ast::Cte>| cte.alias.name.value.eq_ignore_ascii_case(name);
        let cte = names.rows.iter().rfind(is_named)?;
        if !cte.alias.columns.is_empty() {
            return Some(cte.alias.columns.iter().map(|c| c.name.value.clone()).collect());
        }
        // It may name those before it, and not itself.
        let of_table = |name: &str| match names.kind(name) {
            None => self.columns_of(name, names),
            Some(_) => None,
        };
        shown_columns(&cte.query, &of_table)
    }

    /// One table or sub-query of FROM.
    fn factor(
        &mut self,
        factor: &mut ast::TableFactor,
        names: &CteNames,
    ) -> Result<RowsKind, Refusal> {
        if let Some((written, _)) = plain_table(factor) {
            let name = table_name(written);
            return match names.kind(&name) {
                Some(kind @ (RowsKind::Rows | RowsKind::Part(_))) => Ok(kind),
                Some(_) => Ok(RowsKind::Around),
                None if self.contract.table(&name).is_some() => Ok(RowsKind::Rows),
                None => {
                    let named = names.kinds.iter().map(|(name, _)| name);
                    let others = named.chain(&self.unread).map(String::as_str);
                    let others: Vec<&str> = others.collect();
                    Err(names.tables(self.contract).unknown(written, &others))
                }
            };
        }
        match factor {
            ast::TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
                let kind = self.query(subquery, names, false)?;
                if let RowsKind::Part(part) = kind {
                    let name = ast::ObjectName::from(vec![ident(&self.name_of(part)?)]);
                    *factor = table_factor(name, alias.clone());
                }
                Ok(kind)
            }
            ast::TableFactor::NestedJoin { table_with_joins, alias: None } => {
                let mut kind = self.factor(&mut table_with_joins.relation, names)?;
                for join in &mut table_with_joins.joins {
                    let joined = self.factor(&mut join.relation, names)?;
                    kind = kind.beside(joined, "a join").map_err(|r| r.at(&join.relation))?;
                }
                Ok(kind)
            }
            other => Err(not_a_table(other)),
        }
    }

    /// A SELECT over rows: a part, or rows again.
    fn over_rows(&mut self, query: &mut ast::Query, names: &CteNames) -> Result<RowsKind, Refusal> {
        let select = select_of_mut(query)?;
        let aggregates = has_groups(select);
        let location = select_at(select_of(query)?);
        let asks_other = self.clauses.other_row(location)?;
        let consistent = self.clauses.consistent(location)?;
        let select = select_of_mut(query)?;
        self.look_up(select, names)?;
        for condition in constraints_mut(&mut select.from).chain(&mut select.selection) {
            self.rows_expression(condition, names)?;
        }
        if reads_earlier(select) {
            // A sub-query that reads columns around it is bound with them, and refused there.
            let selected = names.tables(self.contract).selected(select_of(query)?, None);
            if let Ok(scope) = selected.and_then(|selected| selected.rows.with_units()) {
                let scope = scope.scope();
                let is_column = |name: &str| scope.has(name);
                write_out_earlier(select_of_mut(query)?, &is_column, &mut self.room_for_names)?;
            }
        }
        if !aggregates {
            private::grouped(query, &RowScope::default(), asks_other, consistent)?;
        } else {
            plain_clauses(query, select_of(query)?)?;
            let selected = names.tables(self.contract).selected(select_of(query)?, None)?;
            let rows = selected.rows.clone().with_units()?.scope();
            let grouped = private::grouped(query, &rows, asks_other, consistent)?;
            let select = select_of_mut(query)?;
            if let ast::GroupByExpr::Expressions(keys, _) = &mut select.group_by {
                for key in keys {
                    self.rows_expression(key, names)?;
                }
            }
            if !stays_with_units(select, &selected, &References::of(self.contract))? {
                return self.private(query, grouped.as_ref(), selected, names);
            }
            if !asks_other && grouped.is_some_and(|grouped| grouped.levels.is_some()) {
                return Err(Refusal::new(
                    "ROLLUP, CUBE, GROUPING SETS and GROUPING are for releases, but this GROUP \
                     BY shows rows again: its table is public, or one of its keys is the \
                     privacy unit",
                    "write GROUP BY a, b here, and the levels in the SELECT around it",
                )
                .at(&select.group_by));
            }
        }
        let select = select_of_mut(query)?;
        for node in select_list_mut(select) {
            self.rows_expression(node, names)?;
        }
        for node in select.having.iter_mut().chain(&mut select.qualify) {
            self.rows_expression(node, names)?;
        }
        Ok(RowsKind::Rows)
    }

    /// Puts placeholders in the place of sub-queries that release one value, in an expression over
    /// rows.
    pub(super) fn rows_expression(
        &mut self,
        node: &mut ast::Expr,
        names: &CteNames,
    ) -> Result<(), Refusal> {
        match node {
            ast::Expr::Subquery(query) => {
                let span = query.place();
                let at = |refusal: Refusal| match span {
                    Some(span) => refusal.at_span(span),
                    None => refusal,
                };
                let kind = self.query(query, names, false).map_err(alone).map_err(at)?;
                match kind {
                    RowsKind::Rows | RowsKind::Constant => {}
                    RowsKind::Part(part) => *node = self.one_value(part, None).map_err(at)?,
                    RowsKind::Around => match self.column_of_part(query, names) {
                        Some((part, column)) => {
                            *node = self.one_value(part, Some(&column)).map_err(at)?;
                        }
                        None => {
                            return Err(at(Refusal::new(
                                "a sub-query in a condition on rows computes its value from \
                                 several releases, or with SQL around one",
                                "use one SELECT of one aggregate: (SELECT AVG(x) FROM table \
                                 WHERE …); or one column of a common table expression that is \
                                 one",
                            )));
                        }
                    },
                }
            }
            ast::Expr::Exists { subquery: query, negated: _ } => {
                let kind = self.query(query, names, false)?;
                if matches!(kind, RowsKind::Part(_) | RowsKind::Around) {
                    return Err(mixed("EXISTS").at(query.as_ref()));
                }
            }
            ast::Expr::InSubquery { expr, subquery: query, negated } => {
                let released = match self.query(query, names, false)? {
                    RowsKind::Rows | RowsKind::Constant => None,
                    RowsKind::Part(part) => Some((part, None)),
                    RowsKind::Around => {
                        let column = self.column_of_part(query, names);
                        let (part, column) =
                            column.ok_or_else(|| mixed("IN").at(query.as_ref()))?;
                        Some((part, Some(column)))
                    }
                };
                if let Some((part, column)) = released {
                    let list = self.all_values(part, column.as_deref());
                    let list = vec![list.map_err(|refusal| refusal.at(query.as_ref()))?];
                    let (expr, negated) = (expr.clone(), *negated);
                    *node = ast::Expr::InList { expr, list, negated };
                }
            }
            _ => {}
        }
        for operand in operands_mut(node).into_iter().flatten() {
            self.rows_expression(operand, names)?;
        }
        Ok(())
    }

    /// The part and its column that `SELECT column FROM name` is about, where the name stands for a
    /// part's release.
    fn column_of_part(&self, query: &ast::Query, names: &CteNames) -> Option<(usize, String)> {
        let select = select_of(query).ok()?;
        let plain = ast::Select {
            select_token: select.select_token.clone(),
            projection: select.projection.clone(),
            from: select.from.clone(),
            ..simple_select()
        };
        let [from] = select.from.as_slice() else { return None };
        let (name, alias) = plain_table(&from.relation)?;
        if alias.is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        if *select != plain || !from.joins.is_empty() || *query != query_of(plain.clone()) {
            return None;
        }
        let name = table_name(name);
        let part = match names.kind(&name) {
            Some(RowsKind::Part(part)) => part,
            Some(_) => return None,
            None => self.drafts.iter().position(|draft| draft.name == name)?,
        };
        let mut items = select_list(select);
        let column = match (items.next()?, items.next()) {
            (ast::Expr::Identifier(column), None) => &column.value,
            (ast::Expr::CompoundIdentifier(path), None) => {
                let [of, column] = path.as_slice() else { return None };
                let given = alias.map_or(name.as_str(), |alias| alias.name.value.as_str());
                if !of.value.eq_ignore_ascii_case(given) {
                    return None;
                }
                &column.value
            }
            _ => return None,
        };
        Some((part, column.clone()))
    }

    /// The placeholder of all values that a part releases in the column of that name.
    fn all_values(&self, part: usize, column: Option<&str>) -> Result<ast::Expr, Refusal> {
        let (index, output) = self.released_column(part, column)?;
        let read = ReleasedColumn { part, column: index, all: true };
        Ok(column_placeholder(read.number(), output.expr.column_type))
    }

    /// The column of that name that a part releases, or its only one.
    fn released_column(
        &self,
        part: usize,
        column: Option<&str>,
    ) -> Result<(usize, &Output), Refusal> {
        let query = &self.drafts.get(part).ok_or_else(missing)?.query;
        let outputs = query.outputs.iter().enumerate();
        let named =
            |name: &String| column.is_none_or(|required| required.eq_ignore_ascii_case(name));
        let mut outputs = outputs.filter(|(_, output)| named(&output.name));
        match (outputs.next(), outputs.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => {
                let required = column.unwrap_or("?");
                let what = format!("there is no released column `{required}`");
                let names: Vec<&str> = query.outputs.iter().map(|o| o.name.as_str()).collect();
                let hint = format!("the columns are {}", names.join(", "));
                Err(Refusal::new(what, did_you_mean(similar(required, names), hint)))
            }
            (Some(_), Some(_)) => Err(Refusal::new(
                format!("a sub-query in an expression shows {} columns", query.outputs.len()),
                "(SELECT AVG(x) FROM table WHERE …), or IN (SELECT key FROM table GROUP BY key), \
                 of one column",
            )),
        }
    }

    /// The placeholder of the one value that a part releases, in the column of that name.
    fn one_value(&self, part: usize, column: Option<&str>) -> Result<ast::Expr, Refusal> {
        let (index, output) = self.released_column(part, column)?;
        let query = &self.drafts.get(part).ok_or_else(missing)?.query;
        if query.groups != Groups::Single && query.limit != Some(1) {
            return Err(Refusal::new(
                "a sub-query in an expression may show several rows",
                "(SELECT AVG(x) FROM table WHERE …), without GROUP BY; or ORDER BY … LIMIT 1",
            ));
        }
        let read = ReleasedColumn { part, column: index, all: false };
        Ok(placeholder(read.number(), output.expr.column_type))
    }

    /// Takes the parts out of the sub-queries in the clauses of a SELECT over releases. Whether it
    /// has any.
    fn free_clauses(&mut self, query: &mut ast::Query, names: &CteNames) -> Result<bool, Refusal> {
        let before = self.drafts.len();
        for node in ordered_mut(query.order_by.as_mut()) {
            self.free_expression(node, names)?;
        }
        let select = select_of_mut(query)?;
        let keys = match &mut select.group_by {
            ast::GroupByExpr::Expressions(keys, _) => keys.as_mut_slice(),
            ast::GroupByExpr::All(_) => &mut [],
        };
        let clauses = constraints_mut(&mut select.from)
            .chain(&mut select.selection)
            .chain(keys)
            .chain(&mut select.having)
            .chain(&mut select.qualify);
        for node in clauses {
            self.free_expression(node, names)?;
        }
        for node in select_list_mut(select) {
            self.free_expression(node, names)?;
        }
        Ok(self.drafts.len() > before)
    }

    /// Takes the parts out of the sub-query that an expression over releases is, if it is one.
    pub(super) fn released_query(
        &mut self,
        node: &mut ast::Expr,
        names: &CteNames,
    ) -> Result<(), Refusal> {
        let (ast::Expr::Subquery(query)
        | ast::Expr::Exists { subquery: query, negated: _ }
        | ast::Expr::InSubquery { expr: _, subquery: query, negated: _ }) = node
        else {
            return Ok(());
        };
        let span = query.place();
        let kind = self.query(query, names, false)?;
        if kind == RowsKind::Rows {
            let mixed = mixed("a sub-query");
            return Err(span.into_iter().fold(mixed, Refusal::at_span));
        }
        self.refer(query, kind)
    }

    /// Takes the parts out of the sub-queries of an expression over releases.
    pub(super) fn free_expression(
        &mut self,
        node: &mut ast::Expr,
        names: &CteNames,
    ) -> Result<(), Refusal> {
        self.released_query(node, names)?;
        for operand in operands_mut(node).into_iter().flatten() {
            self.free_expression(operand, names)?;
        }
        Ok(())
    }
}

/// Whether a SELECT that aggregates shows rows again: of single units, or public ones.
fn stays_with_units(
    select: &ast::Select,
    selected: &FromAndWhere,
    references: &References,
) -> Result<bool, Refusal> {
    let rows = selected.rows.clone().with_units()?;
    Ok(match rows.relation.protection() {
        Protection::Public => true,
        Protection::Unit { .. } | Protection::Rows { .. } => {
            let keys = bound_keys(select, &rows.scope())?;
            keys.iter().any(|(_, key)| {
                rows.relation.is_unit(key)
                    || references.leading_to_units(key, &rows.relation).is_some()
            })
        }
        Protection::Reference { .. } => false,
    })
}

/// A sub-query that is no join knows no columns but its own.
fn alone(mut refusal: Refusal) -> Refusal {
    if !refusal.what.starts_with("there is no column") {
        return refusal;
    }
    let hint = "a sub-query names columns of the query around it with their table, and compares \
                them by equality in WHERE: inner.unit = outer.unit";
    refusal.hint = format!("{hint}; {}", refusal.hint);
    refusal
}

/// The conditions of all joins.
fn constraints_mut(from: &mut [ast::TableWithJoins]) -> impl Iterator<Item = &mut ast::Expr> {
    from.iter_mut().flat_map(|from| on_mut(&mut from.joins))
}
