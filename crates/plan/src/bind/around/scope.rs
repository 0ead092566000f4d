//! Names of columns in SQL around private parts.

use hushtable_lang::{ColumnType, Refusal, did_you_mean, similar};
use sqlparser::ast;

use super::tree::{Operand, Scalar};

/// A column that a query shows.
#[derive(Clone)]
pub(super) struct OutputColumn {
    pub(super) name: String,
    pub(super) column_type: ColumnType,
    /// Whether it is the constant NULL, which fits every type.
    pub(super) is_null: bool,
}

impl OutputColumn {
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// A table of FROM.
#[derive(Clone)]
pub(super) struct ScopeTable {
    name: String,
    /// The index of its first column among those of FROM.
    first: usize,
    columns: Vec<OutputColumn>,
}

impl ScopeTable {
    fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.is_named(name))
    }

    /// The columns of that name.
    fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = ScopeColumn> + 's {
        let columns = self.columns.iter().enumerate();
        let named = columns.filter(move |(_, column)| column.is_named(name));
        named.map(|(index, column)| (self.first + index, column.column_type))
    }
}

/// A column of FROM: its index and its type.
pub(super) type ScopeColumn = (usize, ColumnType);

/// The columns of FROM.
#[derive(Clone, Default)]
pub(super) struct FromScope {
    tables: Vec<ScopeTable>,
    /// Columns that USING has joined: the name means both sides'.
    merged: Vec<(String, ScopeColumn)>,
}

impl FromScope {
    /// The columns of one table.
    pub(super) fn of_table(name: String, columns: Vec<OutputColumn>) -> Self {
        Self { tables: vec![ScopeTable { name, first: 0, columns }], merged: Vec::new() }
    }

    /// The columns of both, where this one has that many.
    ///
    /// # Errors
    /// When two tables have the same name.
    pub(super) fn beside(mut self, width: usize, mut other: Self) -> Result<Self, Refusal> {
        let is_known =
            |name: &str| self.tables.iter().any(|table| table.name.eq_ignore_ascii_case(name));
        if let Some(ScopeTable { name, .. }) = other.tables.iter().find(|t| is_known(&t.name)) {
            return Err(Refusal::new(
                format!("two tables in FROM have the name `{name}`"),
                format!("give one of them another alias, as in AS {name}_2"),
            ));
        }
        other.tables.iter_mut().for_each(|table| table.first += width);
        other.merged.iter_mut().for_each(|(_, (index, _))| *index += width);
        self.tables.extend(other.tables);
        self.merged.extend(other.merged);
        Ok(self)
    }

    /// Notes the column that a name means which USING has joined.
    pub(super) fn merge(&mut self, name: &str, column: ScopeColumn) {
        self.merged.retain(|(merged, _)| !merged.eq_ignore_ascii_case(name));
        self.merged.push((name.to_owned(), column));
    }

    fn merged(&self, name: &str) -> Option<ScopeColumn> {
        let mut merged = self.merged.iter();
        merged.find(|(merged, _)| merged.eq_ignore_ascii_case(name)).map(|(_, column)| *column)
    }

    /// Whether a name without a table is that of a column of its tables.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tables.iter().any(|table| table.has(name))
    }

    /// The column that a name stands for, if there is one.
    pub(super) fn find(&self, path: &[ast::Ident]) -> Result<Option<ScopeColumn>, Refusal> {
        let (table, name) = match path {
            [name] => (None, &name.value),
            [table, name] => (Some(&table.value), &name.value),
            _ => return Ok(None),
        };
        if table.is_none()
            && let Some(column) = self.merged(name)
        {
            return Ok(Some(column));
        }
        let meant = |of: &&ScopeTable| table.is_none_or(|name| of.name.eq_ignore_ascii_case(name));
        let mut columns = self.tables.iter().filter(meant).flat_map(|table| table.named(name));
        match (columns.next(), columns.next()) {
            (Some(_), Some(_)) if table.is_none() => Err(Refusal::new(
                format!("`{name}` could be more than one column"),
                format!("name the table as well; the columns are {}", self.listed()),
            )
            .at(path)),
            (column, _) => Ok(column),
        }
    }

    pub(super) fn unknown(&self, path: &[ast::Ident]) -> Refusal {
        let whole: Vec<&str> = path.iter().map(|ident| ident.value.as_str()).collect();
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        let columns = columns.map(|column| column.name.as_str());
        let meant = whole.last().and_then(|name| similar(name, columns));
        Refusal::new(
            format!("there is no released column `{}`", whole.join(".")),
            did_you_mean(meant, format!("the columns are {}", self.listed())),
        )
        .at(path)
    }

    fn listed(&self) -> String {
        let named = |table: &ScopeTable| {
            let column = |column: &OutputColumn| match self.tables.len() {
                1 => column.name.clone(),
                _ => format!("{}.{}", table.name, column.name),
            };
            table.columns.iter().map(column).collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(named).collect::<Vec<_>>().join(", ")
    }

    /// All columns of a table, or of all tables, for `*`, with their names.
    pub(super) fn all(&self, of: Option<&str>) -> Vec<(ScopeColumn, OutputColumn)> {
        let mut all: Vec<(ScopeColumn, OutputColumn)> = Vec::new();
        for table in &self.tables {
            if of.is_some_and(|name| !table.name.eq_ignore_ascii_case(name)) {
                continue;
            }
            for (index, column) in table.columns.iter().enumerate() {
                let merged = self.merged(&column.name).filter(|_| of.is_none());
                if merged.is_none() || !all.iter().any(|(_, listed)| listed.is_named(&column.name))
                {
                    let plain = (table.first + index, column.column_type);
                    all.push((merged.unwrap_or(plain), column.clone()));
                }
            }
        }
        all
    }
}

/// The columns that an expression may name, as the node under it has them.
#[derive(Clone, Copy)]
pub(super) struct ScopeView<'a> {
    pub(super) scope: &'a FromScope,
    /// The keys of the groups, as they are written and bound; `None` for the rows of FROM.
    pub(super) keys: Option<&'a [(ast::Expr, Scalar)]>,
    /// The columns around a sub-query, which it may name, too.
    pub(super) outer: Option<&'a ScopeView<'a>>,
    /// The columns of FROM and of all that it reads, written out.
    pub(super) columns: usize,
}

impl<'a> ScopeView<'a> {
    /// The rows of FROM under the groups.
    pub(super) fn rows(self) -> Self {
        Self { keys: None, ..self }
    }

    /// The columns of the rows and of those around them, written out.
    pub(super) fn written_out(&self) -> usize {
        let around = self.outer.map_or(0, Self::written_out);
        self.columns.saturating_add(around)
    }

    /// A column of FROM, which has that name, as the node under the expression has it.
    pub(super) fn seen(
        &self,
        (column, column_type): ScopeColumn,
        name: &str,
    ) -> Result<ScopeColumn, Refusal> {
        let index = match self.keys {
            None => Some(column),
            Some(keys) => keys.iter().position(|(_, key)| key.as_column() == Some(column)),
        };
        index.map(|index| (index, column_type)).ok_or_else(|| {
            Refusal::new(
                format!("`{name}` is neither grouped by nor aggregated"),
                format!("add {name} to GROUP BY, or write SUM({name}) or COUNT({name})"),
            )
        })
    }

    /// The operand that a name stands for, and its type.
    pub(super) fn column(&self, path: &[ast::Ident]) -> Result<(Operand, ColumnType), Refusal> {
        if let Some(column) = self.scope.find(path)? {
            let name: Vec<&str> = path.iter().map(|ident| ident.value.as_str()).collect();
            let seen = self.seen(column, &name.join(".")).map_err(|refusal| refusal.at(path))?;
            return Ok((Operand::Column(seen.0), seen.1));
        }
        let Some(outer) = self.outer else { return Err(self.scope.unknown(path)) };
        let (operand, column_type) = outer.column(path)?;
        let operand = match operand {
            Operand::Outer { level, column } => Operand::Outer { level: level + 1, column },
            Operand::Column(column) => Operand::Outer { level: 0, column },
            other => other,
        };
        Ok((operand, column_type))
    }

    /// Whether a name stands for a column.
    pub(super) fn names(&self, name: &str) -> bool {
        self.scope.has(name) || self.outer.is_some_and(|outer| outer.names(name))
    }
}
