//! Names of columns in expressions over rows.

use sqlparser::ast;

use super::foreign_calls::by_keys;
use super::{Binder, Resolve};
use crate::error::{Refusal, did_you_mean, similar};
use crate::expr::Expr;
use crate::sql::parse_expression;
use crate::types::ColumnType;

/// A column as SQL may name it.
#[derive(Clone, Debug, PartialEq)]
pub struct Visible {
    /// The table's name or alias, before the point.
    pub qualifiers: Vec<String>,
    /// The column's own name.
    pub name: String,
    /// Whether it may be named without a table.
    pub plain: bool,
    /// Its value, over the columns of the rows.
    pub expr: Expr,
}

impl Visible {
    /// A column that can be named with its table or alone.
    pub fn new(qualifier: Option<&str>, name: &str, expr: Expr) -> Self {
        let qualifiers = qualifier.map(str::to_owned).into_iter().collect();
        Self { qualifiers, name: name.to_owned(), plain: true, expr }
    }
}

/// The columns that a row expression may name.
#[derive(Clone, Debug, Default)]
pub struct RowScope {
    visible: Vec<Visible>,
    /// Columns of the query around a sub-query, which it may name where it has no column of its own
    /// of that name.
    outer: Vec<Visible>,
}

impl RowScope {
    /// A scope with these columns, and no query around it.
    pub fn new(visible: Vec<Visible>) -> Self {
        Self { visible, outer: Vec::new() }
    }

    /// The columns of a file.
    pub fn of_columns(columns: &[(String, ColumnType)]) -> Self {
        let visible = |(index, (name, column_type)): (usize, &(String, ColumnType))| {
            Visible::new(None, name, Expr::column(index, *column_type))
        };
        Self::new(columns.iter().enumerate().map(visible).collect())
    }

    /// The scope of a sub-query within another query.
    pub fn within(self, outer: Vec<Visible>) -> Self {
        Self { outer, ..self }
    }

    /// The columns that a name stands for: none, one or several.
    fn find(&self, qualifier: Option<&str>, name: &str) -> Vec<&Visible> {
        let answers = |v: &Visible, same: fn(&str, &str) -> bool| {
            same(&v.name, name)
                && match qualifier {
                    None => v.plain,
                    Some(q) => v.qualifiers.iter().any(|table| table.eq_ignore_ascii_case(q)),
                }
        };
        let exact: fn(&str, &str) -> bool = |a, b| a == b;
        let folded: fn(&str, &str) -> bool = |a, b| a.eq_ignore_ascii_case(b);
        for level in [&self.visible, &self.outer] {
            for same in [exact, folded] {
                let found: Vec<_> = level.iter().filter(|v| answers(v, same)).collect();
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    /// The position among these rows' columns of the one that a name without a table stands for.
    pub fn position(&self, name: &str) -> Option<usize> {
        let found = self.find(None, name);
        let [only] = found.as_slice() else { return None };
        self.visible.iter().position(|visible| std::ptr::eq(visible, *only))
    }

    /// Whether a name stands for a column, perhaps for several.
    pub fn knows(&self, name: &str) -> bool {
        !self.find(None, name).is_empty()
    }

    /// Whether a name without a table is that of a column of these rows, whatever is around them.
    pub fn has(&self, name: &str) -> bool {
        self.visible.iter().any(|v| v.plain && v.name.eq_ignore_ascii_case(name))
    }

    /// The way into a text's JSON, where a path goes on behind the name of a column.
    fn json_key(&self, path: &[&str]) -> Option<String> {
        (1..path.len()).find_map(|length| {
            let (column, keys) = path.split_at_checked(length)?;
            let (name, table) = column.split_last()?;
            let table = (!table.is_empty()).then(|| table.join("."));
            let found = self.find(table.as_deref(), name);
            let [only] = found.as_slice() else { return None };
            let is_text = only.expr.column_type == ColumnType::String;
            is_text.then(|| by_keys(&column.join("."), keys))?
        })
    }

    fn listed(&self) -> String {
        let once = |v: &Visible| {
            let same = |w: &&Visible| w.plain && w.name == v.name;
            self.visible.iter().filter(same).count() < 2
        };
        let name = |v: &Visible| match v.qualifiers.first() {
            Some(table) if !v.plain || !once(v) => format!("{table}.{}", v.name),
            _ => v.name.clone(),
        };
        self.visible.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

impl Resolve for &RowScope {
    fn names(&self, name: &str) -> bool {
        self.knows(name)
    }

    fn qualified(&self, name: &str) -> Option<String> {
        let found = self.find(None, name);
        let [only] = found.as_slice() else { return None };
        Some(format!("{}.{}", only.qualifiers.first()?, only.name))
    }

    fn resolve(&mut self, node: &ast::Expr) -> Option<Result<Expr, Refusal>> {
        let path: Vec<&str> = match node {
            ast::Expr::Identifier(name) => vec![&name.value],
            ast::Expr::CompoundIdentifier(path) => path.iter().map(|p| p.value.as_str()).collect(),
            _ => return None,
        };
        let (name, table) = path.split_last()?;
        let whole = path.join(".");
        let table = (!table.is_empty()).then(|| table.join("."));
        let found = self.find(table.as_deref(), name);
        Some(match found.as_slice() {
            [only] => Ok(only.expr.clone()),
            [] if name.starts_with('@') => {
                let value = name.trim_start_matches('@');
                let hint = format!("--param {value}=18, or a constant in its place");
                let in_code = format!("params={{\"{value}\": 18}}, or a constant in its place");
                let what = format!("the parameter `{name}` has no value");
                Err(Refusal::new(what, hint).in_code(in_code))
            }
            [] => {
                if let Some(hint) = self.json_key(&path) {
                    return Some(Err(Refusal::new(
                        format!("there is no column `{whole}`, and no dots lead into JSON"),
                        hint,
                    )));
                }
                let names = self.visible.iter().filter(|v| v.plain).map(|v| v.name.as_str());
                let hint = format!("the columns are {}", self.listed());
                let hint = did_you_mean(similar(name, names), hint);
                Err(Refusal::new(format!("there is no column `{whole}`"), hint))
            }
            _ => {
                let hint = format!("name the table as well; the columns are {}", self.listed());
                Err(Refusal::new(format!("`{name}` could be more than one column"), hint))
            }
        })
    }
}

/// Binds an expression over the rows of a table.
pub fn bind_row_expression(node: &ast::Expr, scope: &RowScope) -> Result<Expr, Refusal> {
    let mut scope = scope;
    Binder::new(&mut scope).bind(node)
}

/// Checks an expression over `columns`, which are all there are.
///
/// # Errors
/// Whatever is not SQL, not a column or not supported.
pub fn bind_expression(text: &str, columns: &[(String, ColumnType)]) -> Result<Expr, Refusal> {
    bind_row_expression(&parse_expression(text, false)?, &RowScope::of_columns(columns))
}
