//! `*` in a SELECT's list, and the columns that it leaves out.

use hushtable_lang::{Refusal, did_you_mean, similar};
use sqlparser::ast;

use super::walk::table_name;

/// A `*`, with the names of the columns that it leaves out.
pub(super) struct Star<'a> {
    item: &'a ast::SelectItem,
    /// The table whose columns it stands for, where it names one.
    table: Option<String>,
    left_out: Vec<String>,
}

impl<'a> Star<'a> {
    /// The `*` of a SELECT's list, or none where the item is another expression.
    ///
    /// # Errors
    /// When the `*` has options other than EXCEPT, or EXCLUDE, as other engines call it.
    pub(super) fn of(item: &'a ast::SelectItem) -> Result<Option<Self>, Refusal> {
        let (table, more) = match item {
            ast::SelectItem::Wildcard(more) => (None, more),
            ast::SelectItem::QualifiedWildcard(
                ast::SelectItemQualifiedWildcardKind::ObjectName(table),
                more,
            ) => (Some(table_name(table)), more),
            _ => return Ok(None),
        };
        let ast::WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = more;
        let instead = match opt_replace {
            Some(replace) => Some(replaced(replace)),
            None if opt_ilike.is_some() || opt_rename.is_some() || opt_alias.is_some() => {
                Some("name the columns".to_owned())
            }
            None => None,
        };
        if let Some(instead) = instead {
            return Err(Refusal::new(format!("`{item}` is not supported"), instead).at(item));
        }
        let mut left_out = Vec::new();
        if let Some(ast::ExceptSelectItem { first_element, additional_elements }) = opt_except {
            let all = std::iter::once(first_element).chain(additional_elements);
            left_out.extend(all.map(|name| name.value.clone()));
        }
        match opt_exclude {
            Some(ast::ExcludeSelectItem::Single(name)) => left_out.push(table_name(name)),
            Some(ast::ExcludeSelectItem::Multiple(names)) => {
                left_out.extend(names.iter().map(table_name));
            }
            None => {}
        }
        Ok(Some(Self { item, table, left_out }))
    }

    /// The table whose columns it stands for, where it names one.
    pub(super) fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// The columns that stay of those that it stands for, by their names.
    ///
    /// # Errors
    /// When there is no such table, when a column that it leaves out is not there, and when none
    /// stays.
    pub(super) fn of_columns<C>(
        &self,
        columns: Vec<C>,
        name: impl Fn(&C) -> &str,
    ) -> Result<Vec<C>, Refusal> {
        let Self { item, table, left_out } = self;
        let item = *item;
        if let (Some(table), true) = (table, columns.is_empty()) {
            return Err(Refusal::new(
                format!("`{item}`: there is no table `{table}` in FROM"),
                "use the name or alias of a table in FROM",
            )
            .at(item));
        }
        let is = |column: &C, other: &String| name(column).eq_ignore_ascii_case(other);
        let is_there = |other: &&String| columns.iter().any(|c| is(c, other));
        if let Some(unknown) = left_out.iter().find(|other| !is_there(other)) {
            let similar = similar(unknown, columns.iter().map(&name));
            return Err(Refusal::new(
                format!("`*` has no column `{unknown}` to leave out"),
                did_you_mean(similar, "EXCEPT names columns that `*` stands for"),
            )
            .at(item));
        }
        let kept = columns.into_iter().filter(|c| !left_out.iter().any(|other| is(c, other)));
        let kept: Vec<C> = kept.collect();
        if kept.is_empty() && !left_out.is_empty() {
            return Err(Refusal::new(
                format!("`{item}` leaves out every column"),
                "leave one of them",
            )
            .at(item));
        }
        Ok(kept)
    }
}

/// A `*` without the columns that REPLACE gives anew, and these.
fn replaced(replace: &ast::ReplaceSelectItem) -> String {
    let names: Vec<String> = replace.items.iter().map(|i| i.column_name.to_string()).collect();
    let anew: Vec<String> =
        replace.items.iter().map(|i| format!("{} AS {}", i.expr, i.column_name)).collect();
    format!("* EXCEPT ({}), {}", names.join(", "), anew.join(", "))
}
