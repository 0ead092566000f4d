//! Typed expressions: what a query may compute from a row, or from released values.
//!
//! Every expression is total: a cast that fails, a division by zero, an overflow or an invalid date
//! is NULL. The engine that evaluates one must keep to that, as an error that depends on a row
//! would reveal that row.

use serde::{Deserialize, Serialize};

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
    /// Whether the values are those of a row that an earlier part shows. NULL is a value like any
    /// other.
    Among(Vec<Expr>, Rows),
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
pub enum Rows {
    /// Rows that are not released yet: the indexes of their columns among the values that the query
    /// reads.
    Released(Vec<usize>),
    /// Rows that are known.
    Shown(Vec<Vec<Value>>),
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

/// Functions, with what is constant in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// Minus the number.
    Negate,
    /// Absolute value.
    Abs,
    /// -1, 0 or 1.
    Sign,
    /// Greatest whole float at or below.
    Floor,
    /// Least whole float at or above.
    Ceil,
    /// Float rounded to that many digits after the point, halves away from zero.
    Round(i8),
    /// Number rounded to an integer, halves away from zero.
    ToInt,
    /// Square root of a float.
    Sqrt,
    /// Natural logarithm of a float.
    Ln,
    /// Decimal logarithm of a float.
    Log10,
    /// Exponential of a float.
    Exp,
    /// Float without its fraction.
    Trunc,
    /// Greatest argument; NULL if one is NULL.
    Greatest,
    /// Least argument; NULL if one is NULL.
    Least,
    /// Which of the buckets between two constant bounds a float is in: 0 below, 1 to n within, n +
    /// 1 from the upper bound up. The operands are the float, the bounds and n.
    WidthBucket,
    /// How many of the ascending constants are not above the first argument.
    RangeBucket,
    /// Lower case.
    Lower,
    /// Upper case.
    Upper,
    /// Without white space at both ends.
    Trim,
    /// Without white space at the start.
    LTrim,
    /// Without white space at the end.
    RTrim,
    /// Each word with its first letter in upper case and the others in lower case.
    InitCap,
    /// The characters in reverse.
    Reverse,
    /// Number of characters.
    Length,
    /// Position of the second text in the first, from 1; 0 where it does not occur.
    Position,
    /// The first text with every occurrence of a constant replaced by another.
    Replace,
    /// A part of the first text, which a constant divides.
    SplitPart {
        /// From 1, or backwards from -1.
        part: i32,
        /// Whether the text is empty where there is no such part; otherwise it is NULL.
        or_empty: bool,
    },
    /// The first text cut or filled to that many characters with the second, a constant.
    Pad {
        /// Number of characters.
        length: u32,
        /// Whether the filling stands before the text.
        left: bool,
    },
    /// Characters from `start` (1 is the first), at most `length` of them.
    Substr {
        /// First character, from 1.
        start: u32,
        /// Most characters.
        length: Option<u32>,
    },
    /// The given number of last characters.
    Right(u32),
    /// Whether the first text starts with the second.
    StartsWith,
    /// Whether the first text ends with the second.
    EndsWith,
    /// The texts, one after the other.
    Concat,
    /// The first argument that is not NULL.
    Coalesce,
    /// A whole number for each value, to tell values apart: of texts and decimals by a hash of 64
    /// bits. NULL for text over [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES). It has no name in SQL.
    Code,
    /// A part of a date or timestamp as an integer.
    DatePart(DatePart),
    /// The start of the part that a date or timestamp is in.
    DateTrunc(DatePart),
    /// A date or timestamp moved by that many of the part.
    DateAdd(DatePart),
    /// From the second date or timestamp to the first, in that part.
    DateDiff {
        /// The part that is counted.
        part: DatePart,
        /// Whether whole spans are counted; otherwise the boundaries between.
        whole: bool,
    },
    /// A date or timestamp written in a constant form.
    DateFormat,
    /// A date or timestamp that a text is in a constant form.
    DateParse,
    /// The date of a year, a month and a day.
    MakeDate,
}

impl Function {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Negate => "-",
            Self::Abs => "ABS",
            Self::Sign => "SIGN",
            Self::Floor => "FLOOR",
            Self::Ceil => "CEIL",
            Self::Round(_) => "ROUND",
            Self::ToInt => "CAST",
            Self::Sqrt => "SQRT",
            Self::Ln => "LN",
            Self::Log10 => "LOG10",
            Self::Exp => "EXP",
            Self::Trunc => "TRUNC",
            Self::Greatest => "GREATEST",
            Self::Least => "LEAST",
            Self::WidthBucket => "WIDTH_BUCKET",
            Self::RangeBucket => "RANGE_BUCKET",
            Self::Lower => "LOWER",
            Self::Upper => "UPPER",
            Self::Trim => "TRIM",
            Self::LTrim => "LTRIM",
            Self::RTrim => "RTRIM",
            Self::InitCap => "INITCAP",
            Self::Reverse => "REVERSE",
            Self::Length => "LENGTH",
            Self::Position => "STRPOS",
            Self::Replace => "REPLACE",
            Self::SplitPart { .. } => "SPLIT_PART",
            Self::Pad { left: true, .. } => "LPAD",
            Self::Pad { left: false, .. } => "RPAD",
            Self::Substr { .. } => "SUBSTR",
            Self::Right(_) => "RIGHT",
            Self::StartsWith => "STARTS_WITH",
            Self::EndsWith => "ENDS_WITH",
            Self::Concat => "||",
            Self::Coalesce => "COALESCE",
            Self::Code => "COUNT(DISTINCT)",
            Self::DatePart(_) => "EXTRACT",
            Self::DateTrunc(_) => "DATE_TRUNC",
            Self::DateAdd(_) => "DATE_ADD",
            Self::DateDiff { .. } => "DATE_DIFF",
            Self::DateFormat => "FORMAT_DATE",
            Self::DateParse => "PARSE_DATE",
            Self::MakeDate => "DATE",
        }
    }
}

/// Parts of dates and timestamps (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePart {
    /// Year.
    Year,
    /// Year of the ISO week.
    IsoYear,
    /// Quarter, 1 to 4.
    Quarter,
    /// Month, 1 to 12.
    Month,
    /// Week that starts on Sunday, 0 to 53.
    Week,
    /// Week that starts on Monday, 1 to 53.
    IsoWeek,
    /// Day of the month.
    Day,
    /// Day of the week, 1 (Sunday) to 7.
    DayOfWeek,
    /// Day of the week, 0 (Sunday) to 6.
    DayOfWeekFromZero,
    /// Day of the week, 1 (Monday) to 7.
    IsoDayOfWeek,
    /// Day of the year, from 1.
    DayOfYear,
    /// Hour, 0 to 23.
    Hour,
    /// Minute.
    Minute,
    /// Second.
    Second,
    /// Thousandth of a second, within the second.
    Millisecond,
    /// Millionth of a second, within the second.
    Microsecond,
    /// Seconds since 1970.
    Epoch,
}

impl DatePart {
    /// Its length in microseconds, where all of them have the same.
    pub fn microseconds(self) -> Option<i64> {
        const SECOND: i64 = 1_000_000;
        Some(match self {
            Self::Week | Self::IsoWeek => 7 * 86_400 * SECOND,
            Self::Day => 86_400 * SECOND,
            Self::Hour => 3_600 * SECOND,
            Self::Minute => 60 * SECOND,
            Self::Second => SECOND,
            Self::Millisecond => 1_000,
            Self::Microsecond => 1,
            _ => return None,
        })
    }

    /// Whether it is shorter than a day.
    pub fn within_day(self) -> bool {
        self.microseconds().is_some_and(|micros| micros < 86_400_000_000)
    }

    /// Whether it is a span of time, and not only a number that a date has.
    pub(crate) fn is_span(self) -> bool {
        self.microseconds().is_some()
            || matches!(self, Self::Year | Self::IsoYear | Self::Quarter | Self::Month)
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

    /// Whether it is NULL, as a constant.
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

    /// Calls `visit` with the expression and all its parts.
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

    /// Calls `change` with the expression and all its parts, operands first.
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
            ExprKind::Call(_, arguments) | ExprKind::Among(arguments, _) => {
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
            ExprKind::Call(_, arguments) | ExprKind::Among(arguments, _) => {
                arguments.iter().for_each(visit);
            }
        }
    }

    /// How deep the expression is, and how many parts it has.
    pub fn size(&self) -> (usize, usize) {
        let (mut deepest, mut parts) = (0, 1);
        self.each_operand(&mut |e| {
            let inner = e.size();
            deepest = deepest.max(inner.0);
            parts += inner.1;
        });
        (deepest + 1, parts)
    }

    /// Calls `visit` with every column that the expression reads.
    pub fn visit_columns(&self, visit: &mut impl FnMut(usize)) {
        if let ExprKind::Column(index) = self.kind {
            visit(index);
        }
        self.each_operand(&mut |e| e.visit_columns(visit));
    }
}
