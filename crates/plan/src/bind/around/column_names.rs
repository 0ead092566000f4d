//! Names of columns in SQL around private parts.

use hushtable_lang::{Refusal, did_you_mean, similar};
use sqlparser::ast;

use super::origins::{Origins, cell_name};

/// The columns that a query shows.
pub(super) type OutputColumns = Vec<OutputColumn>;

/// A column that a query shows.
#[derive(Clone)]
pub(super) struct OutputColumn {
    pub(super) name: String,
    pub(super) origins: Origins,
}

impl OutputColumn {
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// The columns that an expression may name.
#[derive(Clone, Default)]
pub(super) struct Scope<'a> {
    /// The tables of FROM: their names, and their columns.
    pub(super) tables: Vec<(String, OutputColumns)>,
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
        let joined = self.joined.iter().any(|c| c.eq_ignore_ascii_case(name));
        let candidates = self.tables.iter().filter(|(table_name, columns)| {
            table.is_none_or(|table| table_name.eq_ignore_ascii_case(table))
                && columns.iter().any(|column| column.is_named(name))
        });
        match (candidates.count(), self.outer) {
            (0, Some(outer)) => outer.column(path),
            (0, None) => Err(self.unknown(path)),
            (2.., _) if table.is_none() && !joined => Err(Refusal::new(
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

    /// Whether a name without a table is that of a column of its tables.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tables.iter().any(|(_, columns)| columns.iter().any(|column| column.is_named(name)))
    }

    /// Whether a name is that of a column which GROUP BY has, too, perhaps by another name.
    pub(super) fn is_key(&self, name: &ast::Expr) -> bool {
        let column = self.table_and_column(name);
        self.keys.iter().any(|(written, _)| {
            written == name || (column.is_some() && self.table_and_column(written) == column)
        })
    }

    /// The first column that a name stands for, by the indices of its table and in it.
    fn table_and_column(&self, name: &ast::Expr) -> Option<(usize, usize)> {
        let (table, name) = match name {
            ast::Expr::Identifier(name) => (None, name),
            ast::Expr::CompoundIdentifier(path) => match path.as_slice() {
                [table, name] => (Some(table.value.as_str()), name),
                _ => return None,
            },
            _ => return None,
        };
        // A column that USING has joined is one of several tables.
        let joined = self.joined.iter().position(|c| c.eq_ignore_ascii_case(&name.value));
        if let Some(index) = joined {
            return Some((self.tables.len(), index));
        }
        let mut tables = self.tables.iter().enumerate();
        tables.find_map(|(index, (table_name, columns))| {
            let is_meant = table.is_none_or(|table| table_name.eq_ignore_ascii_case(table));
            let column = columns.iter().position(|column| column.is_named(&name.value));
            Some((index, column.filter(|_| is_meant)?))
        })
    }

    fn unknown(&self, path: &[ast::Ident]) -> Refusal {
        let whole: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
        let columns = self.tables.iter().flat_map(|(_, columns)| columns);
        let columns = columns.map(|column| column.name.as_str());
        let meant = whole.last().and_then(|name| similar(name, columns));
        Refusal::new(
            format!("there is no released column `{}`", whole.join(".")),
            did_you_mean(meant, format!("the columns are {}", self.listed())),
        )
        .at(path)
    }

    fn listed(&self) -> String {
        let named = |(table, columns): &(String, OutputColumns)| {
            let column = |OutputColumn { name, .. }: &OutputColumn| match self.tables.len() {
                1 => name.clone(),
                _ => format!("{table}.{name}"),
            };
            columns.iter().map(column).collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(named).collect::<Vec<_>>().join(", ")
    }

    /// Where the values of a column come from, by its name as it is run; and the column with their
    /// cells, if there is one.
    pub(super) fn origins(&self, path: &[ast::Ident]) -> (Origins, Option<ast::Expr>) {
        let (table, name) = match path {
            [name] => (None, &name.value),
            [table, name] => (Some(table.value.as_str()), &name.value),
            _ => return (Origins::unknown(), None),
        };
        let tables = self.tables.iter();
        let mut candidates = tables
            .filter(|(table_name, _)| table.is_none_or(|t| table_name.eq_ignore_ascii_case(t)));
        let resolved = candidates.find_map(|(table, columns)| {
            Some((table, columns.iter().find(|column| column.is_named(name))?))
        });
        let Some((table, column)) = resolved else { return (Origins::unknown(), None) };
        // A column that USING has joined is one of several.
        if table_is_joined(self, path) {
            return (column.origins.clone().changed(), None);
        }
        let cell = ast::Ident::with_quote('"', cell_name(&column.name));
        (column.origins.clone(), Some(ast::Expr::CompoundIdentifier(vec![quoted(table), cell])))
    }

    /// All columns of a table, or of all tables, for `*`.
    pub(super) fn all(&self, table: Option<&str>) -> Vec<(ast::Expr, String)> {
        let mut all: Vec<(ast::Expr, String)> = Vec::new();
        for (table_name, columns) in &self.tables {
            if table.is_some_and(|table| !table_name.eq_ignore_ascii_case(table)) {
                continue;
            }
            for OutputColumn { name: column, .. } in columns {
                let joined = self.joined.iter().any(|c| c.eq_ignore_ascii_case(column));
                let is_listed = all.iter().any(|(_, c)| c.eq_ignore_ascii_case(column));
                if table.is_none() && joined && is_listed {
                    continue;
                }
                let path = vec![quoted(table_name), quoted(column)];
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

/// Whether a name without a table is that of a column that USING has joined.
fn table_is_joined(scope: &Scope<'_>, path: &[ast::Ident]) -> bool {
    let [name] = path else { return false };
    scope.joined.iter().any(|column| column.eq_ignore_ascii_case(&name.value))
}
