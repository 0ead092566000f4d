//! Typed expressions: what a query may compute from a row, or from released values.
//!
//! Every expression is total: a cast that fails, a division by zero, an overflow or an invalid date
//! is NULL. The engine that evaluates one must keep to that, as an error that depends on a row
//! would reveal that row.

use serde::{Deserialize, Serialize};

use crate::functions::Function;
use crate::pattern::Pattern;
use crate::types::{ColumnType, Value};

/// A typed expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    /// Its operation, with the operands.
    pub kind: ExprKind,
    /// Type of its value.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
}

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExprKind {
    /// A column of the input, by position.
    Column(usize),
    /// A constant.
    Literal(Value),
    /// The one value that an earlier part of the statement releases, as an index into the values
    /// that the query reads. Only its type is known until that part is released.
    Released(usize),
    /// Logical NOT.
    Not(Box<Expr>),
    /// Whether the value is NULL.
    IsNull(Box<Expr>),
    /// Two operands of the same type (booleans for AND and OR).
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Whether the values are those of a row that an earlier part shows; NULL is a value like any
    /// other. [`EarlierRows`] has more that can be asked of such rows.
    Among(Vec<Expr>, EarlierRows),
    /// The value in the row of an earlier part that has these keys; NULL where it shows none. A key
    /// that is NULL is that of no row.
    ValueAt(Vec<Expr>, KeyedValues),
    /// Whether the value is one of the constants, which have its type and are not NULL.
    InList(Box<Expr>, Vec<Value>),
    /// SQL LIKE with a constant pattern.
    Like {
        /// The text.
        value: Box<Expr>,
        /// `%` for any characters, `_` for one, a backslash before either for itself.
        pattern: String,
        /// Whether letters of ASCII match in either case, as with ILIKE.
        any_case: bool,
    },
    /// A text and a regular expression.
    Match {
        /// The text.
        value: Box<Expr>,
        /// The regular expression.
        pattern: Pattern,
        /// The use of its matches.
        wanted: MatchUse,
    },
    /// The result of the first branch whose condition is true.
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    /// A cast to the expression's type; NULL where it fails.
    Cast(Box<Expr>),
    /// A function.
    Call(Function, Vec<Expr>),
}

/// The rows that an earlier part shows, column by column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlierRows {
    /// Rows that are not released yet: the indexes of their columns among the values that the query
    /// reads.
    Released(Vec<usize>),
    /// The rows of such columns in which no value is NULL.
    Values(Vec<usize>),
    /// True where one such column has no rows, whatever the key's value.
    Empty(usize),
    /// True where one such column has a NULL, or a value that does not fit the key's type, whatever
    /// the key's value.
    AnyNull(usize),
    /// Rows that are known.
    Shown(Vec<Vec<Value>>),
}

/// The values of a column that an earlier part shows, by the keys of its rows, column by column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyedValues {
    /// Values that are not released yet.
    Released {
        /// The indexes of the keys' columns among the values that the query reads.
        keys: Vec<usize>,
        /// The index of the column.
        value: usize,
    },
    /// Values that are known.
    Shown {
        /// The keys.
        keys: Vec<Vec<Value>>,
        /// The values, one for each row.
        values: Vec<Value>,
    },
}

/// Use of the matches of a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchUse {
    /// Whether there is one.
    Contains,
    /// How many there are.
    Count,
    /// The first, or its group where the pattern has one.
    Extract,
    /// The text with each replaced; `\1` stands for the first group.
    Replace(String),
}

/// Operators on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BinaryOp {
    /// Logical AND.
    And,
    /// Logical OR.
    Or,
    /// =
    Eq,
    /// <>
    Ne,
    /// <
    Lt,
    /// <=
    Le,
    /// >
    Gt,
    /// >=
    Ge,
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product; of decimals, the scales add up.
    Mul,
    /// Quotient of floats.
    Div,
    /// Quotient of integers, towards zero.
    IntDiv,
    /// Remainder of integers, with the dividend's sign.
    Mod,
    /// Power of floats.
    Power,
}

impl BinaryOp {
    /// The operator as SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::And => "AND",
            Self::Or => "OR",
            Self::Eq => "=",
            Self::Ne => "<>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::IntDiv => "DIV",
            Self::Mod => "MOD",
            Self::Power => "POW",
        }
    }
}

impl Expr {
    /// An expression of a type.
    pub fn new(kind: ExprKind, column_type: ColumnType) -> Self {
        Self { kind, column_type }
    }

    /// The column at that position.
    pub fn column(index: usize, column_type: ColumnType) -> Self {
        Self::new(ExprKind::Column(index), column_type)
    }

    /// A constant.
    pub fn literal(value: Value) -> Self {
        // NULL gets a type from its surroundings; on its own it is a boolean.
        let column_type = value.column_type().unwrap_or(ColumnType::Bool);
        Self::new(ExprKind::Literal(value), column_type)
    }

    /// A call of a function.
    pub fn call(function: Function, arguments: Vec<Self>, column_type: ColumnType) -> Self {
        Self::new(ExprKind::Call(function, arguments), column_type)
    }

    /// An operation on two operands.
    pub fn binary(op: BinaryOp, left: Self, right: Self, column_type: ColumnType) -> Self {
        Self::new(ExprKind::Binary(op, Box::new(left), Box::new(right)), column_type)
    }

    /// Whether it is the constant TRUE.
    pub fn is_true(&self) -> bool {
        matches!(self.kind, ExprKind::Literal(Value::Bool(true)))
    }

    /// Whether it is the constant NULL.
    pub fn is_null_literal(&self) -> bool {
        matches!(self.kind, ExprKind::Literal(Value::Null))
    }

    /// `self` and `other`, where both must hold.
    pub fn and(self, other: Self) -> Self {
        Self::binary(BinaryOp::And, self, other, ColumnType::Bool)
    }

    /// Whether the expression is that column and nothing else.
    pub fn is_column(&self, column: usize) -> bool {
        matches!(self.kind, ExprKind::Column(index) if index == column)
    }

    /// Calls `visit` with the expression and all nodes below it.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        self.each_operand(&mut |e| e.visit(visit));
    }

    /// The expression with its columns renumbered.
    #[must_use]
    pub fn moved(mut self, new_index: &impl Fn(usize) -> usize) -> Self {
        self.replace_columns(&|column| ExprKind::Column(new_index(column)));
        self
    }

    /// Replaces columns by values of the same types.
    pub fn replace_columns(&mut self, value: &impl Fn(usize) -> ExprKind) {
        self.change(&mut |e| {
            if let ExprKind::Column(index) = e.kind {
                e.kind = value(index);
            }
        });
    }

    /// Calls `change` with the expression and all nodes below it, operands first.
    pub fn change(&mut self, change: &mut dyn FnMut(&mut Self)) {
        self.each_operand_mut(&mut |e| e.change(change));
        change(self);
    }

    /// Calls `change` with every operand.
    pub fn each_operand_mut(&mut self, change: &mut dyn FnMut(&mut Self)) {
        match &mut self.kind {
            ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Released(_) => {}
            ExprKind::Not(e) | ExprKind::IsNull(e) | ExprKind::Cast(e) | ExprKind::InList(e, _) => {
                change(e);
            }
            ExprKind::Like { value, .. } | ExprKind::Match { value, .. } => change(value),
            ExprKind::Binary(_, left, right) => {
                change(left);
                change(right);
            }
            ExprKind::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    change(condition);
                    change(result);
                }
                otherwise.iter_mut().for_each(|e| change(e));
            }
            ExprKind::Call(_, arguments)
            | ExprKind::Among(arguments, _)
            | ExprKind::ValueAt(arguments, _) => {
                arguments.iter_mut().for_each(change);
            }
        }
    }

    /// Calls `visit` with every operand.
    pub fn each_operand<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        match &self.kind {
            ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Released(_) => {}
            ExprKind::Not(e) | ExprKind::IsNull(e) | ExprKind::Cast(e) | ExprKind::InList(e, _) => {
                visit(e);
            }
            ExprKind::Like { value, .. } | ExprKind::Match { value, .. } => visit(value),
            ExprKind::Binary(_, left, right) => {
                visit(left);
                visit(right);
            }
            ExprKind::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                otherwise.iter().for_each(|e| visit(e));
            }
            ExprKind::Call(_, arguments)
            | ExprKind::Among(arguments, _)
            | ExprKind::ValueAt(arguments, _) => {
                arguments.iter().for_each(visit);
            }
        }
    }

    /// How deep the expression is, and how many nodes it has.
    pub fn size(&self) -> (usize, usize) {
        let (mut deepest, mut nodes) = (0, 1);
        self.each_operand(&mut |e| {
            let inner = e.size();
            deepest = deepest.max(inner.0);
            nodes += inner.1;
        });
        (deepest + 1, nodes)
    }

    /// Whether the expression reads a column.
    pub fn reads_columns(&self) -> bool {
        let mut reads = false;
        self.visit_columns(&mut |_| reads = true);
        reads
    }

    /// Calls `visit` with every column that the expression reads.
    pub fn visit_columns(&self, visit: &mut impl FnMut(usize)) {
        if let ExprKind::Column(index) = self.kind {
            visit(index);
        }
        self.each_operand(&mut |e| e.visit_columns(visit));
    }
}
