//! EXISTS and IN as tables of numbers of rows.

use sqlparser::ast;

use super::comparisons::Comparisons;
use super::lookup_table::{Looking, LookupTable, column_of, has_groups, plain_groups, tables_of};
use super::names_around::{FromNames, Outside};
use crate::bind::select::limits;
use crate::bind::syntax::{
    all_of_them, call, count_all, derived, number, plain_table, query_of, select_of, select_of_mut,
    simple_select,
};
use crate::bind::walk::{select_list, table_name};

impl Looking<'_> {
    /// The sub-query of EXISTS or IN as a table of numbers of rows.
    pub(super) fn rows_table(
        &self,
        written: &ast::Expr,
        query: &ast::Query,
        value: Option<&ast::Expr>,
    ) -> Option<LookupTable> {
        let select = select_of(query).ok()?;
        match &select.group_by {
            ast::GroupByExpr::Expressions(keys, more) if !keys.is_empty() && more.is_empty() => {
                return self.groups_table(written, query, value);
            }
            ast::GroupByExpr::Expressions(_, _) => {}
            ast::GroupByExpr::All(_) => return None,
        }
        // An aggregate without GROUP BY has a row where there are no rows, if HAVING holds.
        if let (Some(having), None) = (&select.having, value) {
            let mut query = query.clone();
            let select = select_of_mut(&mut query).ok()?;
            let number = call("IF", vec![having.clone(), number(1), number(0)]);
            select.projection = vec![ast::SelectItem::UnnamedExpr(number)];
            select.having = None;
            return self.table(written, &query, None);
        }
        let (query, column) = rows_of(query, value.is_none())?;
        let equal = match value {
            Some(value) => Some((column?, value.clone())),
            None => None,
        };
        self.table(written, &query, equal)
    }

    /// The groups of a sub-query as a table of their numbers.
    fn groups_table(
        &self,
        written: &ast::Expr,
        query: &ast::Query,
        value: Option<&ast::Expr>,
    ) -> Option<LookupTable> {
        let mut groups = plain_groups(query)?.clone();
        // Only the keys and what IN compares is shown.
        if groups.projection.len() != select_list(&groups).count() {
            return None;
        }
        let inner = FromNames::of(&groups.from, self.columns_of);
        let outside = Outside { inner: &inner, around: &self.around };
        let item = match value {
            Some(value) => Some(self.item_of_value(&outside, value)?),
            None => None,
        };
        let mut compared = Comparisons::new(&outside, groups.selection.as_ref(), item)?;
        let is_alone = compared.equal.is_empty() && compared.otherwise.is_empty();
        if is_alone && !self.has_groups_of_units(&groups) {
            return None;
        }
        let is_public = self.is_of_public_tables(&groups);
        self.add_candidates(&outside, &mut compared, is_public, &mut groups.from)?;
        let table = format!("{}_groups", self.free_alias());
        let column = free_name(query);
        let mut equal = Vec::new();
        if let Some(value) = value {
            let name = format!("{column}_value");
            equal.push((column_of(&table, &only_column(&mut groups, name)?), value.clone()));
        }
        // The values that are compared are keys of the groups, too.
        let ast::GroupByExpr::Expressions(keys, _) = &mut groups.group_by else { return None };
        for (number, (key, around)) in compared.equal.into_iter().enumerate() {
            let name = format!("{column}_{number}");
            let alias = ast::Ident::new(&name);
            groups.projection.push(ast::SelectItem::ExprWithAlias { expr: key.clone(), alias });
            keys.push(key);
            equal.push((column_of(&table, &name), around));
        }
        if equal.is_empty() {
            return None;
        }
        groups.selection = all_of_them(compared.rest.into_iter());
        let select_token = groups.select_token.clone();
        let from = vec![derived(query_of(groups), &table)];
        let select = ast::Select { select_token, from, ..simple_select() };
        let compared = Comparisons { equal, rest: Vec::new(), ..compared };
        self.looked_up(written, select, compared, count_all(), &|_| false)
    }

    /// Whether the groups of a SELECT are public, or have the unit of a table among their keys.
    /// Other groups are those of a release.
    fn has_groups_of_units(&self, select: &ast::Select) -> bool {
        let tables = select.from.iter().flat_map(tables_of);
        let names = tables.filter_map(plain_table).map(|(name, _)| table_name(name));
        let units: Vec<String> = names.filter_map(|name| (self.unit_of)(&name)).collect();
        let ast::GroupByExpr::Expressions(keys, _) = &select.group_by else { return false };
        let is_unit = |key: &ast::Expr| {
            let name = match key {
                ast::Expr::Identifier(name) => Some(name),
                ast::Expr::CompoundIdentifier(path) => path.last(),
                _ => None,
            };
            name.is_some_and(|name| units.iter().any(|u| u.eq_ignore_ascii_case(&name.value)))
        };
        self.is_of_public_tables(select) || keys.iter().any(is_unit)
    }
}

/// Begins names that nothing in a query has.
fn free_name(query: &ast::Query) -> String {
    let text = query.to_string().to_lowercase();
    let mut name = "group_key".to_owned();
    while text.contains(&name) {
        name.push('_');
    }
    name
}

/// The name of the one column that a SELECT shows, which gets this one if it has none.
fn only_column(select: &mut ast::Select, name: String) -> Option<String> {
    let [item] = select.projection.as_mut_slice() else { return None };
    match item {
        ast::SelectItem::UnnamedExpr(expr) => {
            let expr = expr.clone();
            *item = ast::SelectItem::ExprWithAlias { expr, alias: ast::Ident::new(&name) };
            Some(name)
        }
        ast::SelectItem::ExprWithAlias { expr: _, alias } => Some(alias.value.clone()),
        _ => None,
    }
}

/// A sub-query of EXISTS or IN as the number of its rows, and the column that it shows.
fn rows_of(query: &ast::Query, exists: bool) -> Option<(ast::Query, Option<ast::Expr>)> {
    let select = select_of(query).ok()?;
    if has_groups(select) {
        return None;
    }
    let column = match select.projection.as_slice() {
        [
            ast::SelectItem::UnnamedExpr(e) | ast::SelectItem::ExprWithAlias { expr: e, alias: _ },
        ] => Some(e.clone()),
        _ => None,
    };
    let mut query = query.clone();
    // A LIMIT of one row or more leaves one, if there is any.
    if exists && matches!(limits(&query), Ok((Some(1..), 0))) {
        (query.order_by, query.limit_clause) = (None, None);
    }
    let counted = select_of_mut(&mut query).ok()?;
    // Equal rows are there or are not, all of them.
    counted.distinct = None;
    counted.projection = vec![ast::SelectItem::UnnamedExpr(count_all())];
    Some((query, column))
}
