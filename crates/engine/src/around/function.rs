//! Scalar expressions of SQL around private parts, as functions of DataFusion.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use hushtable_lang::{ColumnType, Expr};

use crate::eval::Program;
use crate::source::convert::arrow_type;

/// A column in the engine's own types. A value that a type does not hold is NULL, and so is a float
/// that is no number.
pub(super) fn in_engine_types(column: &ArrayRef) -> Result<ArrayRef> {
    in_type(column, column_type(column.data_type())?)
}

/// A column in one of the engine's types.
fn in_type(column: &ArrayRef, column_type: ColumnType) -> Result<ArrayRef> {
    let target = arrow_type(column_type);
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let column = cast_with_options(column, &target, &options)?;
    let Some(floats) = column.as_primitive_opt::<Float64Type>() else { return Ok(column) };
    let finite: Float64Array = floats.iter().map(|x| x.filter(|x| x.is_finite())).collect();
    Ok(Arc::new(finite))
}

fn column_type(data_type: &DataType) -> Result<ColumnType> {
    Ok(match data_type {
        DataType::Null | DataType::Boolean => ColumnType::Bool,
        integer if integer.is_integer() => ColumnType::Int,
        float if float.is_floating() => ColumnType::Float,
        DataType::Decimal128(_, scale) if (0..=18).contains(scale) => {
            ColumnType::Decimal { scale: scale.unsigned_abs() }
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnType::String,
        DataType::Date32 => ColumnType::Date,
        DataType::Timestamp(..) => ColumnType::Timestamp,
        other => {
            return Err(DataFusionError::Plan(format!("values of type {other} are not supported")));
        }
    })
}

/// A scalar expression as a function of its operands.
#[derive(Debug)]
pub(super) struct ExprFunction {
    /// Its name, which no other expression of the plan has.
    name: String,
    expr: Expr,
    operands: Vec<ColumnType>,
    signature: Signature,
}

impl PartialEq for ExprFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.expr == other.expr
    }
}

impl Eq for ExprFunction {}

impl Hash for ExprFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ExprFunction {
    /// The function that computes an expression from operands of these types.
    pub(super) fn new(name: String, expr: Expr, operands: Vec<ColumnType>) -> Self {
        let signature = match operands.len() {
            0 => Signature::nullary(Volatility::Immutable),
            many => Signature::one_of(vec![TypeSignature::Any(many)], Volatility::Immutable),
        };
        Self { name, expr, operands, signature }
    }
}

impl ScalarUDFImpl for ExprFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(arrow_type(self.expr.column_type))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let operands = args.args.into_iter().zip(&self.operands);
        let columns =
            operands.map(|(value, column_type)| in_type(&value.into_array(rows)?, *column_type));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let value = Program::new(&self.expr)?.evaluate(&columns, rows)?;
        Ok(ColumnarValue::Array(value))
    }
}
