//! SQL around private parts as a tree of relational nodes over released tables: pure data.
//!
//! Columns are numbered. An expression names those of the node's input by their indices, and the
//! scalar part of it is one of our own total expressions, so it means what it means in a private
//! query.

use hushtable_lang::{ColumnType, Expr, ExprKind};
use serde::{Deserialize, Serialize};

/// A query over released tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// One row without columns, for a SELECT without FROM.
    One,
    /// A released table.
    Released {
        /// Its index among the tables that the SQL reads.
        table: usize,
        /// The types of its columns.
        columns: Vec<ColumnType>,
        /// Columns whose values no two of its rows share, if there are any: none where it has one
        /// row at most.
        unique: Option<Vec<usize>>,
    },
    /// The rows for which the condition is true.
    Filter(Box<Node>, Scalar),
    /// Expressions over each row.
    Project(Box<Node>, Vec<Scalar>),
    /// Pairs of rows of two inputs.
    Join(Box<Join>),
    /// The rows of two inputs as sets.
    Set(Box<Set>),
    /// Each different row once.
    Distinct(Box<Node>),
    /// Groups: their keys, and after these the aggregates of their rows.
    Aggregate {
        /// The rows.
        input: Box<Node>,
        /// The keys.
        keys: Vec<Scalar>,
        /// The keys of each level, by their indices; `None` where there is one level of all.
        levels: Option<Vec<Vec<usize>>>,
        /// The aggregates.
        aggregates: Vec<Aggregate>,
    },
    /// The input's columns, and after these its windows.
    Window(Box<Node>, Vec<Window>),
    /// The rows in an order.
    Sort(Box<Node>, Vec<SortKey>),
    /// Some of the first rows.
    Limit {
        /// The rows.
        input: Box<Node>,
        /// How many are left out.
        offset: u64,
        /// Most rows after these.
        limit: Option<u64>,
    },
}

/// A join of two inputs. Its columns are those of the left one, those of the right one, and
/// `merged`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Join {
    /// The left input.
    pub left: Node,
    /// The right input.
    pub right: Node,
    /// The rows that are in it without a partner.
    pub kind: JoinSides,
    /// The condition, over the columns of both; `None` where all pairs are joined.
    pub on: Option<Scalar>,
    /// The columns of FULL JOIN … USING, over those of both.
    pub merged: Vec<Scalar>,
}

/// Which rows a join has without a partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinSides {
    /// None.
    Inner,
    /// Those of the left input.
    Left,
    /// Those of the right input.
    Right,
    /// Those of both.
    Full,
}

/// The rows of two inputs as sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Set {
    /// The operation.
    pub operation: SetOperation,
    /// The types of its columns, which may be wider than those of its inputs.
    pub columns: Vec<ColumnType>,
    /// The left input.
    pub left: Node,
    /// The right input.
    pub right: Node,
}

/// An operation on sets of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetOperation {
    /// All rows of both.
    UnionAll,
    /// Each different row of both once.
    Union,
    /// Each different row of the left one that is not in the right one.
    Except,
    /// Each different row that is in both.
    Intersect,
}

/// A scalar expression over the columns of a node's input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scalar {
    /// The expression; its columns are the operands.
    pub expr: Expr,
    /// The values that it is computed from.
    pub operands: Vec<Operand>,
}

/// An operand of a scalar expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operand {
    /// A column of the input.
    Column(usize),
    /// In a sub-query, a column of the input of the expression around it.
    Outer {
        /// How many more sub-queries lie between.
        level: usize,
        /// The column.
        column: usize,
    },
    /// The value in the one row of a sub-query; NULL where it has none.
    Value(Box<Node>),
    /// Whether a sub-query has a row.
    Exists(Box<Node>),
    /// Whether a sub-query has a row with the value.
    Among(Box<Scalar>, Box<Node>),
}

/// An aggregate of the rows of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    /// The function.
    pub function: AggregateFunction,
    /// Its operands; none for COUNT(*).
    pub operands: Vec<Scalar>,
    /// Whether each different value counts once.
    pub distinct: bool,
    /// The rows that count.
    pub filter: Option<Scalar>,
    /// The type of its value.
    pub column_type: ColumnType,
}

/// A function of several rows that has one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AggregateFunction {
    /// The number of rows or of values.
    Count,
    /// The sum.
    Sum,
    /// The mean of floats.
    Mean,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The median.
    Median,
    /// The standard deviation of a sample.
    Stddev,
    /// The standard deviation.
    StddevPop,
    /// The variance of a sample.
    Variance,
    /// The variance.
    VariancePop,
    /// The correlation of two numbers.
    Correlation,
    /// The covariance of a sample.
    Covariance,
    /// The covariance.
    CovariancePop,
    /// Whether all values are true.
    All,
    /// Whether one value is true.
    Any,
    /// 1 where the level is without the key of that index, and 0 where it has it.
    Grouping(usize),
}

/// A function of the rows around each row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The function.
    pub function: WindowCall,
    /// Its operands.
    pub operands: Vec<Scalar>,
    /// The rows with the same values are a partition.
    pub partition_by: Vec<Scalar>,
    /// The order within a partition.
    pub order_by: Vec<SortKey>,
    /// The rows of the partition that count, where it is said.
    pub frame: Option<Frame>,
    /// Whether NULLs are left out.
    pub ignores_nulls: bool,
    /// The type of its value.
    pub column_type: ColumnType,
}

/// A window function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowCall {
    /// An aggregate.
    Aggregate(AggregateFunction),
    /// The number of the row.
    RowNumber,
    /// The number of rows before those that are equal, and one.
    Rank,
    /// The number of different rows up to it.
    DenseRank,
    /// The rank as a share.
    PercentRank,
    /// The share of rows up to it.
    CumeDist,
    /// Its bucket, of so many.
    Ntile,
    /// The value in a row before.
    Lag,
    /// The value in a row after.
    Lead,
    /// The value in the first row.
    FirstValue,
    /// The value in the last row.
    LastValue,
    /// The value in the row of that number.
    NthValue,
}

/// The rows around a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The unit of its bounds.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
}

/// The units of a frame's bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// The difference of the value that rows are ordered by.
    Range,
    /// Groups of rows that are equal in the order.
    Groups,
}

/// A bound of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameBound {
    /// A distance before the row; `None` for all rows before it.
    Preceding(Option<u32>),
    /// The row.
    CurrentRow,
    /// A distance after the row; `None` for all rows after it.
    Following(Option<u32>),
}

impl Frame {
    /// Whether a bound is a distance from the row's own value.
    pub(super) fn counts_values(&self) -> bool {
        let is_distance = |bound: &FrameBound| {
            matches!(bound, FrameBound::Preceding(Some(_)) | FrameBound::Following(Some(_)))
        };
        self.units == FrameUnits::Range && (is_distance(&self.start) || is_distance(&self.end))
    }
}

/// A key that rows are ordered by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SortKey {
    /// The value.
    pub value: Scalar,
    /// Whether the greatest value is first.
    pub descending: bool,
    /// Whether NULL is before all values.
    pub nulls_first: bool,
}

impl Scalar {
    /// A column of the input.
    pub(super) fn column(index: usize, column_type: ColumnType) -> Self {
        Self { expr: Expr::column(0, column_type), operands: vec![Operand::Column(index)] }
    }

    /// The column of the input that the expression is.
    pub fn as_column(&self) -> Option<usize> {
        match self.operands.as_slice() {
            [Operand::Column(index)] if self.expr.is_column(0) => Some(*index),
            _ => None,
        }
    }

    /// Whether it has sub-queries that come to different values for the rows of its input.
    pub(super) fn reads_sub_queries_of_rows(&self) -> bool {
        self.operands.iter().any(|operand| match operand {
            Operand::Column(_) | Operand::Outer { .. } => false,
            Operand::Value(node) | Operand::Exists(node) => !node.outer_columns().is_empty(),
            Operand::Among(..) => true,
        })
    }

    /// Whether the expression is a constant or an operand as it is.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.expr.kind, ExprKind::Column(_) | ExprKind::Literal(_))
    }
}

impl Node {
    /// How many columns it has.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::One => 0,
            Self::Released { columns, .. } => columns.len(),
            Self::Filter(input, _) | Self::Distinct(input) | Self::Sort(input, _) => input.width(),
            Self::Limit { input, .. } => input.width(),
            Self::Project(_, columns) => columns.len(),
            Self::Join(join) => join.left.width() + join.right.width() + join.merged.len(),
            Self::Set(set) => set.columns.len(),
            Self::Aggregate { keys, aggregates, .. } => keys.len() + aggregates.len(),
            Self::Window(input, windows) => input.width() + windows.len(),
        }
    }
}
