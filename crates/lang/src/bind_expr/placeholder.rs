//! Placeholders of values that earlier parts of a statement release.

use sqlparser::ast;

use super::common_types::{cast, unify};
use super::literals::sql_name;
use super::{Binder, Resolve};
use crate::error::Refusal;
use crate::expr::{EarlierRows, Expr, ExprKind, KeyedValues};
use crate::types::{ColumnType, Value};

/// Begins the text of a placeholder in a syntax tree. No placeholder that SQL can write has a
/// space.
const MARK: &str = "released value ";
/// Begins the text of one for a column of values.
const COLUMN_MARK: &str = "released column ";
/// Begins the text of one for a column in which a row's value is looked up by its keys.
const FIELD_MARK: &str = "released field ";

/// The syntax that stands for the released value of that number.
pub fn placeholder(value: usize, column_type: ColumnType) -> ast::Expr {
    let text = format!("{MARK}{value} {column_type}");
    ast::Expr::Value(ast::Value::Placeholder(text).into())
}

/// The syntax that stands for all values of the released column of that number, in a list.
pub fn column_placeholder(column: usize, column_type: ColumnType) -> ast::Expr {
    let text = format!("{COLUMN_MARK}{column} {column_type}");
    ast::Expr::Value(ast::Value::Placeholder(text).into())
}

/// The number and the type of the released column that a list stands for, if it does.
pub(super) fn released_column(list: &[ast::Expr]) -> Option<(usize, ColumnType)> {
    let [ast::Expr::Value(value)] = list else { return None };
    let ast::Value::Placeholder(text) = &value.value else { return None };
    let (read, column_type) = text.strip_prefix(COLUMN_MARK)?.split_once(' ')?;
    Some((read.parse().ok()?, ColumnType::from_name(column_type)?))
}

/// The typed placeholder that a syntax stands for, if it does.
pub(super) fn released(value: &ast::Value) -> Option<Expr> {
    let ast::Value::Placeholder(text) = value else { return None };
    let (read, column_type) = text.strip_prefix(MARK)?.split_once(' ')?;
    let kind = ExprKind::Released(read.parse().ok()?);
    Some(Expr::new(kind, ColumnType::from_name(column_type)?))
}

/// A released column of a number, with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleasedField {
    /// Its number.
    pub number: usize,
    /// The type of its values.
    pub column_type: ColumnType,
}

/// Values of a released row that has the keys of a row, as syntax. Each stands for a call with
/// placeholders, which no SQL can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLookup {
    /// Whether there is such a row.
    Found,
    /// Whether there is any row, by a column of them.
    Any(ReleasedField),
    /// The value in a column; NULL where there is no such row.
    Value(ReleasedField),
    /// The key of that column, where there is such a row.
    Key(ReleasedField),
}

impl ReleasedField {
    /// The syntax of the placeholder.
    pub fn placeholder(self) -> ast::Expr {
        let text = format!("{FIELD_MARK}{} {}", self.number, self.column_type);
        ast::Expr::Value(ast::Value::Placeholder(text).into())
    }

    fn of(node: &ast::Expr) -> Option<Self> {
        let ast::Expr::Value(value) = node else { return None };
        let ast::Value::Placeholder(text) = &value.value else { return None };
        let (number, column_type) = text.strip_prefix(FIELD_MARK)?.split_once(' ')?;
        let (number, column_type) = (number.parse().ok()?, ColumnType::from_name(column_type)?);
        Some(Self { number, column_type })
    }
}

impl RowLookup {
    /// The name and the operands of the call, by key columns and a row's values for them.
    pub fn call(self, keys: &[(ReleasedField, ast::Expr)]) -> (&'static str, Vec<ast::Expr>) {
        let (name, of) = match self {
            Self::Found => ("FOUND", None),
            Self::Any(field) => ("ANY_ROW", Some(field)),
            Self::Value(field) => ("LOOKUP", Some(field)),
            Self::Key(field) => ("LOOKUP_KEY", Some(field)),
        };
        let pairs = keys.iter().flat_map(|(field, value)| [field.placeholder(), value.clone()]);
        (name, of.map(ReleasedField::placeholder).into_iter().chain(pairs).collect())
    }

    /// The lookup that a call stands for, with its keys, if it does.
    fn of(function: &ast::Function) -> Option<(Self, Vec<(ReleasedField, &ast::Expr)>)> {
        let ast::FunctionArguments::List(list) = &function.args else { return None };
        let operands = list.args.iter().map(|argument| match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(operand)) => Some(operand),
            _ => None,
        });
        let operands = operands.collect::<Option<Vec<_>>>()?;
        let first = ReleasedField::of(operands.first()?)?;
        let (lookup, pairs) = match function.name.to_string().as_str() {
            "FOUND" => (Self::Found, operands.as_slice()),
            "ANY_ROW" => (Self::Any(first), operands.get(1..)?),
            "LOOKUP" => (Self::Value(first), operands.get(1..)?),
            "LOOKUP_KEY" => (Self::Key(first), operands.get(1..)?),
            _ => return None,
        };
        let pairs = pairs.chunks(2).map(|pair| match pair {
            [field, value] => Some((ReleasedField::of(field)?, *value)),
            _ => None,
        });
        Some((lookup, pairs.collect::<Option<_>>()?))
    }
}

impl<R: Resolve> Binder<'_, R> {
    /// The lookup in a release that a call stands for, if it does.
    pub(super) fn released_lookup(
        &mut self,
        function: &ast::Function,
    ) -> Option<Result<Expr, Refusal>> {
        let (lookup, keys) = RowLookup::of(function)?;
        Some(self.lookup(lookup, &keys))
    }

    fn lookup(
        &mut self,
        lookup: RowLookup,
        keys: &[(ReleasedField, &ast::Expr)],
    ) -> Result<Expr, Refusal> {
        let mut values = Vec::with_capacity(keys.len());
        for (field, node) in keys {
            let value = self.bind(node)?;
            values.push(comparable(value, *field, "a join").map_err(|r| r.at(*node))?);
        }
        let numbers = || keys.iter().map(|(field, _)| field.number).collect();
        Ok(match lookup {
            RowLookup::Found => {
                let among = ExprKind::Among(values, EarlierRows::Values(numbers()));
                Expr::new(among, ColumnType::Bool)
            }
            RowLookup::Any(ReleasedField { number, column_type }) => {
                let empty = of_column(EarlierRows::Empty(number), column_type);
                Expr::new(ExprKind::Not(Box::new(empty)), ColumnType::Bool)
            }
            RowLookup::Value(ReleasedField { number: value, column_type }) => {
                let of = KeyedValues::Released { keys: numbers(), value };
                Expr::new(ExprKind::ValueAt(values, of), column_type)
            }
            RowLookup::Key(of) => {
                let position = keys.iter().position(|(field, _)| *field == of);
                let key = position.and_then(|index| values.get(index).cloned());
                key.ok_or_else(|| Refusal::fault("a key of a release is not joined"))?
            }
        })
    }
}

/// Something that is asked of a released column, whatever a row has.
pub(super) fn of_column(asked: EarlierRows, column_type: ColumnType) -> Expr {
    let null = cast(Expr::literal(Value::Null), column_type);
    Expr::new(ExprKind::Among(vec![null], asked), ColumnType::Bool)
}

/// A value in the type of released ones that it is compared with, if that holds it.
pub(super) fn comparable(
    value: Expr,
    ReleasedField { number, column_type }: ReleasedField,
    context: &str,
) -> Result<Expr, Refusal> {
    let from = value.column_type;
    let known = Expr::new(ExprKind::Released(number), column_type);
    let (value, other) = unify(value, known, context)?;
    if matches!(other.kind, ExprKind::Released(_)) {
        return Ok(value);
    }
    Err(Refusal::new(
        format!("{context} looks for a {from} among released values of type {column_type}"),
        format!("CAST(… AS {})", sql_name(column_type)),
    ))
}
