//! Names of columns in SQL around private parts.

use sqlparser::ast;

use crate::error::{Refusal, did_you_mean, similar};

/// The names of the columns that a query shows.
pub(super) type Shown = Vec<String>;

/// The columns that an expression may name.
#[derive(Clone, Default)]
pub(super) struct Scope<'a> {
    /// The tables of FROM: their names, and their columns.
    pub(super) tables: Vec<(String, Vec<String>)>,
    /// Columns that USING has joined: the name means both sides'.
    pub(super) joined: Vec<String>,
    /// The query around a sub-query.
    pub(super) outer: Option<&'a Scope<'a>>,
    /// Expressions of GROUP BY, as they are written and as they are run.
    pub(super) keys: Vec<(ast::Expr, ast::Expr)>,
}

/// A name as it is run.
pub(super) fn quoted(name: &str) -> ast::Ident {
    ast::Ident::with_quote('"', name.to_ascii_lowercase())
}

impl Scope<'_> {
    /// The column that a name stands for.
    pub(super) fn column(&self, path: &[ast::Ident]) -> Result<ast::Expr, Refusal> {
        let (table, name) = match path {
            [name] => (None, &name.value),
            [table, name] => (Some(table.value.as_str()), &name.value),
            _ => return Err(self.unknown(path)),
        };
        let named = |columns: &Vec<String>| columns.iter().any(|c| c.eq_ignore_ascii_case(name));
        let found = self.tables.iter().filter(|(own, columns)| {
            table.is_none_or(|table| own.eq_ignore_ascii_case(table)) && named(columns)
        });
        match (found.count(), self.outer) {
            (0, Some(outer)) => outer.column(path),
            (0, None) => Err(self.unknown(path)),
            (2.., _) if table.is_none() && !named(&self.joined) => Err(Refusal::new(
                format!("`{name}` could be more than one column"),
                format!("name the table as well; the columns are {}", self.listed()),
            )
            .at(path)),
            _ => Ok(match table {
                None => ast::Expr::Identifier(quoted(name)),
                Some(table) => ast::Expr::CompoundIdentifier(vec![quoted(table), quoted(name)]),
            }),
        }
    }

    fn unknown(&self, path: &[ast::Ident]) -> Refusal {
        let whole: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
        let columns = self.tables.iter().flat_map(|(_, columns)| columns).map(String::as_str);
        let meant = whole.last().and_then(|wanted| similar(wanted, columns));
        Refusal::new(
            format!("there is no released column `{}`", whole.join(".")),
            did_you_mean(meant, format!("the columns are {}", self.listed())),
        )
        .at(path)
    }

    fn listed(&self) -> String {
        let named = |(table, columns): &(String, Vec<String>)| {
            let column = |column: &String| match self.tables.len() {
                1 => column.clone(),
                _ => format!("{table}.{column}"),
            };
            columns.iter().map(column).collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(named).collect::<Vec<_>>().join(", ")
    }

    /// All columns of a table, or of all tables, for `*`.
    pub(super) fn all(&self, table: Option<&str>) -> Vec<(ast::Expr, String)> {
        let mut all: Vec<(ast::Expr, String)> = Vec::new();
        for (own, columns) in &self.tables {
            if table.is_some_and(|table| !own.eq_ignore_ascii_case(table)) {
                continue;
            }
            for column in columns {
                let joined = self.joined.iter().any(|c| c.eq_ignore_ascii_case(column));
                let shown = all.iter().any(|(_, c)| c.eq_ignore_ascii_case(column));
                if table.is_none() && joined && shown {
                    continue;
                }
                let path = vec![quoted(own), quoted(column)];
                let expr = match table.is_none() && joined {
                    true => ast::Expr::Identifier(quoted(column)),
                    false => ast::Expr::CompoundIdentifier(path),
                };
                all.push((expr, column.clone()));
            }
        }
        all
    }
}
