//! The names of FROM around a sub-query, and those of its own, which hide them.

use sqlparser::ast;

use crate::bind::syntax::plain_table;
use crate::bind::walk::{any, is_name, looks_around, operands, table_name};

/// The names of the tables around a sub-query, and its own, which hide them.
pub(super) struct Outside<'a> {
    pub(super) inner: &'a FromNames,
    pub(super) around: &'a [FromNames],
}

impl Outside<'_> {
    /// The item of FROM around the sub-query whose column a name is.
    pub(super) fn item_named(&self, node: &ast::Expr) -> Option<usize> {
        match node {
            ast::Expr::CompoundIdentifier(path) => {
                let table = &path.first()?.value;
                let outer = !holds(&self.inner.tables, table);
                self.around.iter().position(|names| outer && holds(&names.tables, table))
            }
            ast::Expr::Identifier(name) if self.inner.complete => {
                let outer = !holds(&self.inner.columns, &name.value);
                self.around.iter().position(|names| outer && holds(&names.columns, &name.value))
            }
            _ => None,
        }
    }

    /// The item of FROM around the sub-query whose columns an expression names, or none; `None`
    /// where it names several, or has a sub-query.
    pub(super) fn item(&self, node: &ast::Expr) -> Option<Option<usize>> {
        if looks_around(node) {
            return None;
        }
        let mut item = self.item_named(node);
        for operand in operands(node)? {
            match (item, self.item(operand)?) {
                (Some(one), Some(other)) if one != other => return None,
                (earlier, other) => item = earlier.or(other),
            }
        }
        Some(item)
    }

    /// An equality of a value of the sub-query and one around it.
    pub(super) fn equality(&self, term: &ast::Expr) -> Option<(ast::Expr, ast::Expr)> {
        let ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } = term else {
            return None;
        };
        // A constant is no key: the term is a condition on the rows around.
        let has_names = |node: &ast::Expr| any(node, &is_name);
        match (self.item(left)?, self.item(right)?) {
            (None, Some(_)) if has_names(left) && self.is_around(right) => {
                Some((*left.clone(), *right.clone()))
            }
            (Some(_), None) if has_names(right) && self.is_around(left) => {
                Some((*right.clone(), *left.clone()))
            }
            _ => None,
        }
    }

    /// Whether all names of an expression are of the tables around.
    pub(super) fn is_around(&self, node: &ast::Expr) -> bool {
        !any(node, &|e| is_name(e) && self.item_named(e).is_none())
    }
}

fn holds(names: &[String], name: &str) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// The names that FROM gives.
#[derive(Default)]
pub(super) struct FromNames {
    /// Those of tables and sub-queries.
    tables: Vec<String>,
    /// Those of the columns of the contract's tables.
    columns: Vec<String>,
    /// Whether these are all columns.
    complete: bool,
}

impl FromNames {
    /// Whether a table has that name.
    pub(super) fn has_table(&self, name: &str) -> bool {
        holds(&self.tables, name)
    }

    /// Whether a table is known to have a column of that name.
    pub(super) fn has_column(&self, name: &str) -> bool {
        holds(&self.columns, name)
    }

    pub(super) fn of<'a>(
        from: impl IntoIterator<Item = &'a ast::TableWithJoins>,
        columns_of: &dyn Fn(&str) -> Option<Vec<String>>,
    ) -> Self {
        let mut names = Self { complete: true, ..Self::default() };
        for item in from {
            names.add(item, columns_of);
        }
        names
    }

    fn add(
        &mut self,
        from: &ast::TableWithJoins,
        columns_of: &dyn Fn(&str) -> Option<Vec<String>>,
    ) {
        let joined = from.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&from.relation).chain(joined) {
            match factor {
                ast::TableFactor::NestedJoin { table_with_joins, alias: _ } => {
                    self.add(table_with_joins, columns_of);
                    continue;
                }
                ast::TableFactor::Derived { lateral: _, subquery: _, alias, sample: _ } => {
                    self.tables.extend(alias.as_ref().map(|alias| alias.name.value.clone()));
                }
                _ => {}
            }
            let table = plain_table(factor);
            let columns = table.and_then(|(name, _)| columns_of(&table_name(name)));
            self.complete &= columns.is_some();
            self.columns.extend(columns.into_iter().flatten());
            self.tables.extend(table.map(|(name, alias)| {
                alias.map_or_else(|| table_name(name), |alias| alias.name.value.clone())
            }));
        }
    }
}
