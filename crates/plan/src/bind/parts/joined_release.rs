//! A release in FROM beside rows, and its columns in the expressions of a SELECT.

use hushtable_lang::{Refusal, did_you_mean, similar};
use sqlparser::ast;

use super::names_around::FromNames;
use crate::bind::select::default_name;
use crate::bind::syntax::{equality, missing};
use crate::bind::walk::{any, column, ident, operands_mut, table_name};

/// The values of rows for the key columns of a release.
pub(super) type RowKeys = Vec<(usize, ast::Expr)>;

/// The rows of a join with a release.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joining {
    /// Those that meet one of its rows.
    Inner,
    /// All; without one of its rows, its columns are NULL.
    Left,
    /// Those that meet one of its rows, without its columns.
    Semi,
    /// Those that meet none.
    Anti,
}

/// A release in FROM.
pub(super) struct JoinedRelease {
    pub(super) part: usize,
    /// The name before its columns.
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) joining: Joining,
    /// The conditions of its own ON.
    pub(super) on: Vec<ast::Expr>,
    /// The columns that USING names, with the rows' values.
    pub(super) equal: RowKeys,
    /// The columns that no name without a table means.
    pub(super) hidden: Vec<String>,
    /// Its syntax, for errors.
    pub(super) factor: ast::TableFactor,
}

/// The columns of a release as expressions over rows.
pub(super) struct ReplacedColumns<'a> {
    pub(super) release: &'a JoinedRelease,
    pub(super) values: Vec<ast::Expr>,
    /// The names of the rows' tables.
    pub(super) rows: &'a FromNames,
    /// The names that SELECT gives.
    pub(super) aliases: &'a [String],
}

impl JoinedRelease {
    /// The column that a name stands for.
    pub(super) fn column(&self, node: &ast::Expr) -> Result<Option<usize>, Refusal> {
        let same = |name: &ast::Ident| {
            let position = |same: fn(&str, &str) -> bool| {
                self.columns.iter().position(|column| same(column, &name.value))
            };
            position(|a, b| a == b).or_else(|| position(|a, b| a.eq_ignore_ascii_case(b)))
        };
        match node {
            ast::Expr::CompoundIdentifier(path) => match path.as_slice() {
                [table, name] if table.value.eq_ignore_ascii_case(&self.name) => match same(name) {
                    Some(column) => Ok(Some(column)),
                    None => {
                        let names = self.columns.iter();
                        let names = names.map(|column| format!("{}.{column}", self.name));
                        let names: Vec<String> = names.collect();
                        let hint = format!("the columns are {}", names.join(", "));
                        let near = similar(&node.to_string(), names.iter().map(String::as_str));
                        Err(Refusal::new(
                            format!("there is no released column `{node}`"),
                            did_you_mean(near, hint),
                        )
                        .at(node))
                    }
                },
                _ => Ok(None),
            },
            ast::Expr::Identifier(name) => {
                let is_name = |hidden: &String| hidden.eq_ignore_ascii_case(&name.value);
                Ok(same(name).filter(|_| !self.hidden.iter().any(is_name)))
            }
            _ => Ok(None),
        }
    }

    /// Whether an expression names one of its columns.
    pub(super) fn is_named_in(&self, node: &ast::Expr) -> bool {
        any(node, &|node| self.column(node).is_ok_and(|column| column.is_some()))
    }

    /// Adds the equalities that USING names, with a table of rows.
    pub(super) fn using(&mut self, names: &[ast::ObjectName]) -> Result<(), Refusal> {
        for name in names {
            let name = table_name(name);
            let node = column(&name);
            let of = self.column(&node)?.ok_or_else(|| self.lacks(&name))?;
            self.equal.push((of, node));
            self.hidden.push(name);
        }
        Ok(())
    }

    fn lacks(&self, name: &str) -> Refusal {
        let hint = format!("the columns are {}", self.columns.join(", "));
        let what = format!("there is no released column `{name}`");
        Refusal::new(what, hint).at(&self.factor)
    }

    /// Puts values of rows in the place of its keys among the conditions, and takes the equalities
    /// out. `None` where some key has none.
    pub(super) fn keyed(
        &self,
        keys: &[usize],
        conditions: &mut Vec<ast::Expr>,
        others: &[JoinedRelease],
    ) -> Option<RowKeys> {
        let is_of_rows = |node: &ast::Expr| {
            !self.is_named_in(node) && !others.iter().any(|other| other.is_named_in(node))
        };
        let value_of = |key: usize, term: &ast::Expr| {
            let ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } = term else {
                return None;
            };
            let is_key = |node: &ast::Expr| matches!(self.column(node), Ok(Some(c)) if c == key);
            match () {
                () if is_key(left) && is_of_rows(right) => Some((**right).clone()),
                () if is_key(right) && is_of_rows(left) => Some((**left).clone()),
                () => None,
            }
        };
        let (mut found, mut taken) = (Vec::new(), Vec::new());
        for &key in keys {
            if let Some((_, value)) = self.equal.iter().find(|(column, _)| *column == key) {
                found.push((key, value.clone()));
                continue;
            }
            let equal = |(at, term): (usize, &ast::Expr)| Some((at, value_of(key, term)?));
            let (at, value) = conditions.iter().enumerate().find_map(equal)?;
            found.push((key, value));
            taken.push(at);
        }
        taken.sort_unstable();
        for at in taken.into_iter().rev() {
            conditions.remove(at);
        }
        // Columns beside the keys that USING names.
        for (of, value) in self.equal.iter().filter(|(of, _)| !keys.contains(of)) {
            let named = vec![ident(&self.name), ident(&self.columns[*of])];
            conditions.push(equality(ast::Expr::CompoundIdentifier(named), value.clone()));
        }
        Some(found)
    }
}

impl ReplacedColumns<'_> {
    /// Puts lookups in the place of the release's columns.
    pub(super) fn put(&self, node: &mut ast::Expr) -> Result<(), Refusal> {
        if let Some(of) = self.release.column(node)? {
            if let ast::Expr::Identifier(name) = &*node
                && self.rows.has_column(&name.value)
            {
                return Err(Refusal::new(
                    format!("`{name}` could be more than one column"),
                    format!("name the table as well: {}.{name}", self.release.name),
                )
                .at(&*node));
            }
            *node = self.values.get(of).ok_or_else(missing)?.clone();
            return Ok(());
        }
        operands_mut(node).into_iter().flatten().try_for_each(|operand| self.put(operand))
    }

    /// Puts lookups into an item of SELECT, which keeps its name.
    pub(super) fn put_in_item(
        &self,
        item: &mut ast::SelectItem,
        position: usize,
    ) -> Result<(), Refusal> {
        match item {
            ast::SelectItem::UnnamedExpr(node) => {
                let name = default_name(node, position);
                self.put(node)?;
                if default_name(node, position) != name {
                    let (expr, alias) = (node.clone(), ident(&name));
                    *item = ast::SelectItem::ExprWithAlias { expr, alias };
                }
            }
            ast::SelectItem::ExprWithAlias { expr, alias: _ } => self.put(expr)?,
            ast::SelectItem::ExprWithAliases { expr: _, aliases: _ }
            | ast::SelectItem::QualifiedWildcard(_, _)
            | ast::SelectItem::Wildcard(_) => {}
        }
        Ok(())
    }

    /// Puts lookups into ORDER BY, where the names of SELECT come first.
    pub(super) fn put_in_order(&self, node: &mut ast::Expr) -> Result<(), Refusal> {
        let is_alias = |name: &ast::Ident| {
            self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(&name.value))
        };
        match node {
            ast::Expr::Identifier(name) if is_alias(name) => Ok(()),
            _ => self.put(node),
        }
    }
}
