//! Evaluates expressions on batches, totally: whatever the values, the result is an array.
//!
//! Arrow's kernels do the comparisons and the logic; arithmetic, casts, text and dates are done
//! here, since the kernels of libraries return errors for values that do not fit, and an error that
//! depends on a row would reveal it. A value that does not fit is NULL.

mod among;
mod arithmetic;
mod buckets;
mod cast;
mod code;
mod counted;
mod find;
mod form;
mod json_lookup;
mod kernels;
mod like;
mod listed;
mod pattern;
mod shift;
mod text_functions;
mod time;

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Datum, Int64Array, new_null_array,
};
use datafusion::arrow::compute::concat;
use datafusion::arrow::compute::kernels::{boolean, cmp, nullif::nullif, zip::zip};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{
    BinaryOp, ColumnType, EarlierRows, Expr, ExprKind, KeyedValues, MAX_KEY_BYTES,
};

use crate::invariant::Invariant;
use crate::source::convert::arrow_type;

pub(crate) use cast::constant;
use counted::count;
#[cfg(test)]
pub(crate) use counted::steps_of;
use kernels::ArrayKernel;
pub(crate) use text_functions::at_most;

/// An expression compiled for batches of rows.
pub(crate) struct Program {
    kind: ProgramNode,
    column_type: ColumnType,
    /// Whether every result is NULL in the last row.
    padded: bool,
}

enum ProgramNode {
    Column(usize),
    /// An array with the one value.
    Constant(ArrayRef),
    Not(Box<Program>),
    IsNull(Box<Program>),
    Logic(BinaryOp, Box<Program>, Box<Program>),
    Compare(BinaryOp, Box<Program>, Box<Program>),
    Arithmetic(BinaryOp, Box<Program>, Box<Program>),
    In(Box<Program>, listed::ListedConstants),
    Among(Vec<Program>, among::Among),
    ValueAt(Vec<Program>, among::ValuesByKeys),
    Like(Box<Program>, like::LikePattern),
    Match(Box<Program>, pattern::Matcher),
    Case(Vec<(Program, Program)>, Option<Box<Program>>),
    Cast(Box<Program>),
    Call(ArrayKernel, Vec<Program>),
}

/// An array, or one value for all rows.
struct ArrayOperand {
    array: ArrayRef,
    constant: bool,
}

impl Datum for ArrayOperand {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array.as_ref(), self.constant)
    }
}

/// A type that was checked when the query was bound is not what arrives.
#[track_caller]
fn unexpected() -> ArrowError {
    Invariant::new("an expression met a type that it was not checked for").into()
}

impl Program {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Only for expressions that binding cannot produce.
    pub(crate) fn new(expr: &Expr) -> Result<Self, ArrowError> {
        Self::compiled(expr, false)
    }

    /// Compiles an expression for batches whose last row is a filler of NULLs. Every node of the
    /// expression is NULL in that row, even where SQL has a value (`n IS NULL`): so every node
    /// computes with NULLs in every batch, and the time does not show that a row brings the first.
    ///
    /// # Errors
    /// Only for expressions that binding cannot produce.
    pub(crate) fn padded(expr: &Expr) -> Result<Self, ArrowError> {
        Self::compiled(expr, true)
    }

    fn compiled(expr: &Expr, padded: bool) -> Result<Self, ArrowError> {
        let child = |e: &Expr| Self::compiled(e, padded);
        let boxed = |e: &Expr| child(e).map(Box::new);
        let kind = match &expr.kind {
            ExprKind::Column(index) => ProgramNode::Column(*index),
            ExprKind::Literal(value) => ProgramNode::Constant(constant(value, expr.column_type)?),
            // Values that are released earlier are put in before a query is run.
            ExprKind::Released(_) => return Err(unexpected()),
            ExprKind::Not(e) => ProgramNode::Not(boxed(e)?),
            ExprKind::IsNull(e) => ProgramNode::IsNull(boxed(e)?),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (boxed(left)?, boxed(right)?);
                match op {
                    BinaryOp::And | BinaryOp::Or => ProgramNode::Logic(*op, left, right),
                    BinaryOp::Eq
                    | BinaryOp::Ne
                    | BinaryOp::Lt
                    | BinaryOp::Le
                    | BinaryOp::Gt
                    | BinaryOp::Ge => ProgramNode::Compare(*op, left, right),
                    _ => ProgramNode::Arithmetic(*op, left, right),
                }
            }
            ExprKind::Among(keys, EarlierRows::Shown(columns)) => {
                let types: Vec<ColumnType> = keys.iter().map(|key| key.column_type).collect();
                let among = among::Among::new(columns, &types)?;
                ProgramNode::Among(keys.iter().map(child).collect::<Result<_, _>>()?, among)
            }
            ExprKind::ValueAt(keys, KeyedValues::Shown { keys: columns, values }) => {
                let types: Vec<ColumnType> = keys.iter().map(|key| key.column_type).collect();
                let of = among::ValuesByKeys::new((columns, &types), (values, expr.column_type))?;
                ProgramNode::ValueAt(keys.iter().map(child).collect::<Result<_, _>>()?, of)
            }
            ExprKind::Among(..) | ExprKind::ValueAt(..) => return Err(unexpected()),
            ExprKind::InList(e, values) => {
                ProgramNode::In(boxed(e)?, listed::ListedConstants::new(values, e.column_type))
            }
            ExprKind::Like { value, pattern, any_case } => {
                ProgramNode::Like(boxed(value)?, like::LikePattern::new(pattern, *any_case))
            }
            ExprKind::Match { value, pattern, wanted } => {
                ProgramNode::Match(boxed(value)?, pattern::Matcher::new(pattern, wanted)?)
            }
            ExprKind::Case(branches, otherwise) => {
                let branches = branches
                    .iter()
                    .map(|(test, result)| Ok((child(test)?, child(result)?)))
                    .collect::<Result<_, ArrowError>>()?;
                ProgramNode::Case(branches, otherwise.as_deref().map(boxed).transpose()?)
            }
            ExprKind::Cast(e) => ProgramNode::Cast(boxed(e)?),
            ExprKind::Call(function, operands) => {
                let kernel = ArrayKernel::new(*function, operands, expr.column_type)?;
                let count = match kernel {
                    ArrayKernel::OfFirst(_) => 1,
                    ArrayKernel::OfAll(_) => operands.len(),
                };
                ProgramNode::Call(
                    kernel,
                    operands.iter().take(count).map(child).collect::<Result<_, _>>()?,
                )
            }
        };
        Ok(Self { kind, column_type: expr.column_type, padded })
    }

    /// The expression's value for every one of `rows` rows.
    ///
    /// # Errors
    /// Only for arrays that are not of the types that the expression was checked for: never
    /// because of a value.
    pub(crate) fn evaluate(
        &self,
        columns: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef, ArrowError> {
        let operand = self.operand(columns, rows)?;
        if !operand.constant {
            return Ok(operand.array);
        }
        let first = Int64Array::from_value(0, rows);
        datafusion::arrow::compute::take(&operand.array, &first, None)
    }

    fn operand(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayOperand, ArrowError> {
        let mut operand = self.unpadded(columns, rows)?;
        if self.padded && !operand.constant && !operand.array.is_null(rows - 1) {
            operand.array = nullif(&operand.array, &only_last(rows))?;
        }
        // NULLs are kept, copied and combined beside the values.
        count(|| if operand.array.null_count() > 0 { 64 } else { 0 });
        Ok(operand)
    }

    fn unpadded(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayOperand, ArrowError> {
        // Allocating results takes longer than computing some of them, where there are any.
        count(|| if rows == 0 { 0 } else { 64 + rows });
        let array: ArrayRef = match &self.kind {
            ProgramNode::Constant(array) => {
                return Ok(ArrayOperand { array: Arc::clone(array), constant: true });
            }
            ProgramNode::Column(index) => {
                Arc::clone(columns.get(*index).ok_or_else(|| unexpected())?)
            }
            ProgramNode::Not(e) => Arc::new(boolean::not(&e.condition(columns, rows)?)?),
            ProgramNode::IsNull(e) => Arc::new(boolean::is_null(&e.evaluate(columns, rows)?)?),
            ProgramNode::Logic(op, left, right) => {
                let left = left.condition(columns, rows)?;
                let right = right.condition(columns, rows)?;
                Arc::new(match op {
                    BinaryOp::And => boolean::and_kleene(&left, &right)?,
                    _ => boolean::or_kleene(&left, &right)?,
                })
            }
            ProgramNode::Compare(op, left, right) => {
                let left = left.operand(columns, rows)?;
                let right = right.operand(columns, rows)?;
                let constant = left.constant && right.constant;
                let array = Arc::new(compare(*op, &left, &right)?);
                return Ok(ArrayOperand { array, constant });
            }
            ProgramNode::Arithmetic(op, left, right) => {
                let (left, right) = (left.operand(columns, rows)?, right.operand(columns, rows)?);
                arithmetic::binary(*op, (&left, &right), rows, self.column_type)?
            }
            ProgramNode::In(e, listed) => {
                listed.found(&e.evaluate(columns, rows)?, e.column_type)?
            }
            ProgramNode::Like(e, pattern) => pattern.matched(&e.evaluate(columns, rows)?)?,
            ProgramNode::Match(e, matcher) => matcher.applied(&e.evaluate(columns, rows)?)?,
            ProgramNode::Case(branches, otherwise) => {
                let mut result = match otherwise {
                    Some(e) => e.evaluate(columns, rows)?,
                    None => new_null_array(&arrow_type(self.column_type), rows),
                };
                // Totality makes it safe to evaluate what is not taken.
                for (test, value) in branches.iter().rev() {
                    let taken = known(&test.condition(columns, rows)?);
                    result = zip(&taken, &value.evaluate(columns, rows)?, &result)?;
                }
                result
            }
            ProgramNode::Cast(e) => {
                cast::cast(&e.evaluate(columns, rows)?, e.column_type, self.column_type)?
            }
            ProgramNode::Among(keys, among) => {
                Arc::new(among.found(&keys_of(keys, columns, rows)?)?)
            }
            ProgramNode::ValueAt(keys, of) => of.looked_up(&keys_of(keys, columns, rows)?)?,
            ProgramNode::Call(kernel, operands) => {
                let arrays = operands.iter().map(|e| e.evaluate(columns, rows));
                let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
                match (kernel, arrays.as_slice()) {
                    (ArrayKernel::OfFirst(compute), [only]) => compute(only)?,
                    (ArrayKernel::OfFirst(_), _) => return Err(unexpected()),
                    (ArrayKernel::OfAll(compute), all) => compute(all)?,
                }
            }
        };
        Ok(ArrayOperand { array, constant: false })
    }

    /// The value as booleans.
    pub(crate) fn condition(
        &self,
        columns: &[ArrayRef],
        rows: usize,
    ) -> Result<BooleanArray, ArrowError> {
        let array = self.evaluate(columns, rows)?;
        array.as_boolean_opt().cloned().ok_or_else(|| unexpected())
    }
}

/// Values that are looked up, limited as group keys are.
fn keys_of(
    keys: &[Program],
    columns: &[ArrayRef],
    rows: usize,
) -> Result<Vec<ArrayRef>, ArrowError> {
    keys.iter().map(|e| at_most(&e.evaluate(columns, rows)?, MAX_KEY_BYTES)).collect()
}

/// True in the last of some rows.
fn only_last(rows: usize) -> BooleanArray {
    (1..=rows).map(|row| Some(row == rows)).collect()
}

/// Columns with a row of NULLs after their last, for [`Program::padded`]. Columns that are not read
/// stay empty.
///
/// # Errors
/// When a column would be too large.
pub(crate) fn with_null_row(columns: &[ArrayRef]) -> Result<Vec<ArrayRef>, ArrowError> {
    let padded = |column: &ArrayRef| -> Result<ArrayRef, ArrowError> {
        if column.is_empty() {
            return Ok(Arc::clone(column));
        }
        let null = new_null_array(column.data_type(), 1);
        concat(&[column.as_ref(), null.as_ref()])
    };
    columns.iter().map(padded).collect()
}

/// The values as text, as a cast writes them.
pub(crate) fn as_text(array: &ArrayRef, from: ColumnType) -> Result<ArrayRef, ArrowError> {
    cast::cast(array, from, ColumnType::String)
}

/// NULL is not true.
pub(crate) fn known(condition: &BooleanArray) -> BooleanArray {
    match condition.nulls() {
        None => condition.clone(),
        Some(nulls) => BooleanArray::new(condition.values() & nulls.inner(), None),
    }
}

fn compare(
    op: BinaryOp,
    left: &ArrayOperand,
    right: &ArrayOperand,
) -> Result<BooleanArray, ArrowError> {
    count(|| text_functions::compared(&left.array, &right.array));
    match op {
        BinaryOp::Eq => cmp::eq(left, right),
        BinaryOp::Ne => cmp::neq(left, right),
        BinaryOp::Lt => cmp::lt(left, right),
        BinaryOp::Le => cmp::lt_eq(left, right),
        BinaryOp::Gt => cmp::gt(left, right),
        BinaryOp::Ge => cmp::gt_eq(left, right),
        _ => Err(unexpected()),
    }
}

#[cfg(test)]
mod tests;
