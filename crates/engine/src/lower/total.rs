//! Total expressions inside DataFusion's operators.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, new_null_array};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::PhysicalExpr;
use hushtable_lang::{ColumnType, Expr};
use serde::{Deserialize, Serialize};

use crate::eval::Program;
use crate::eval::{at_most, with_null_row};
use crate::feed::rows_at_once;
use crate::invariant::Invariant;
use crate::source::convert::arrow_type;

/// An expression of the query language as an expression of DataFusion's. Whatever the values are,
/// its result is an array: what does not fit is NULL.
pub(crate) struct TotalExpr {
    /// Its columns count `inputs`.
    expr: Expr,
    inputs: Vec<Arc<dyn PhysicalExpr>>,
    program: Arc<Program>,
    /// Whether a row of NULLs is computed after the others, so that no row brings the first NULL.
    padded: bool,
}

impl TotalExpr {
    /// An expression over the columns of a schema.
    ///
    /// # Errors
    /// Only for expressions that binding cannot produce.
    pub(crate) fn over(
        expr: &Expr,
        schema: &Schema,
        padded: bool,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let mut read = Vec::new();
        expr.visit_columns(&mut |index| read.push(index));
        read.sort_unstable();
        read.dedup();
        let inputs = read
            .iter()
            .map(|&index| {
                let name = schema.fields().get(index).ok_or_else(|| misfit())?.name();
                Ok(Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>)
            })
            .collect::<Result<Vec<_>>>()?;
        // A column alone is DataFusion's own: its operators know that it is one.
        if let [only] = inputs.as_slice()
            && read.first().is_some_and(|&index| expr.is_column(index))
        {
            return Ok(Arc::clone(only));
        }
        let expr = expr.clone().moved(&|index| read.binary_search(&index).unwrap_or(usize::MAX));
        Ok(Arc::new(Self::new(expr, inputs, padded)?))
    }

    /// The values of a column, as an expression that may be NULL.
    pub(crate) fn nullable(
        column: Arc<dyn PhysicalExpr>,
        column_type: ColumnType,
        padded: bool,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self::new(Expr::column(0, column_type), vec![column], padded)?))
    }

    fn new(expr: Expr, inputs: Vec<Arc<dyn PhysicalExpr>>, padded: bool) -> Result<Self> {
        let program = if padded { Program::padded(&expr)? } else { Program::new(&expr)? };
        Ok(Self { expr, inputs, program: Arc::new(program), padded })
    }

    /// The value of each row.
    fn computed(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        if !self.padded {
            return Ok(self.program.evaluate(columns, rows)?);
        }
        let columns = with_null_row(columns)?;
        Ok(self.program.evaluate(&columns, rows + 1)?.slice(0, rows))
    }
}

#[track_caller]
fn misfit() -> DataFusionError {
    Invariant::new("an expression reads a column that its input lacks").into()
}

impl PhysicalExpr for TotalExpr {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(arrow_type(self.expr.column_type))
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let columns = self
            .inputs
            .iter()
            .map(|input| input.evaluate(batch)?.into_array(rows))
            .collect::<Result<Vec<_>>>()?;
        if rows == 0 {
            // Where there is no row, one of NULLs costs as much as the first would.
            let nulls: Vec<ArrayRef> =
                columns.iter().map(|c| new_null_array(c.data_type(), 1)).collect();
            return Ok(ColumnarValue::Array(self.computed(&nulls, 1)?.slice(0, 0)));
        }
        let step = rows_at_once(&columns, rows, self.expr.size().1);
        if step >= rows {
            return Ok(ColumnarValue::Array(self.computed(&columns, rows)?));
        }
        let mut results = Vec::new();
        for from in (0..rows).step_by(step) {
            let rows = step.min(rows - from);
            let columns: Vec<ArrayRef> = columns.iter().map(|c| c.slice(from, rows)).collect();
            results.push(self.computed(&columns, rows)?);
        }
        let results: Vec<&dyn Array> = results.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&results)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.inputs.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        if children.len() != self.inputs.len() {
            return Err(misfit());
        }
        Ok(Arc::new(Self::new(self.expr.clone(), children, self.padded)?))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TotalExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs: Vec<String> = self.inputs.iter().map(ToString::to_string).collect();
        write!(f, "{:?} of ({})", self.expr.kind, inputs.join(", "))
    }
}

impl fmt::Debug for TotalExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for TotalExpr {
    fn eq(&self, other: &Self) -> bool {
        (&self.expr, &self.inputs, self.padded) == (&other.expr, &other.inputs, other.padded)
    }
}

/// An expression of this module, encoded with a plan. Its inputs are encoded beside it.
#[derive(PartialEq, Serialize, Deserialize)]
pub(crate) enum EncodedExpr {
    /// A [`TotalExpr`], and whether it is padded.
    Total(Box<Expr>, bool),
    /// A [`ValueLimit`]: name and index of the column, and the bytes.
    ValueLimit(String, usize, usize),
}

impl EncodedExpr {
    /// `None` for expressions of others.
    pub(crate) fn of(expr: &Arc<dyn PhysicalExpr>) -> Option<Self> {
        if let Some(total) = expr.downcast_ref::<TotalExpr>() {
            return Some(Self::Total(Box::new(total.expr.clone()), total.padded));
        }
        let ValueLimit { column, bytes } = expr.downcast_ref::<ValueLimit>()?;
        Some(Self::ValueLimit(column.name().to_owned(), column.index(), *bytes))
    }

    /// The expression over its inputs.
    ///
    /// # Errors
    /// When it reads inputs that are not there.
    pub(crate) fn decoded(self, inputs: &[Arc<dyn PhysicalExpr>]) -> Result<Arc<dyn PhysicalExpr>> {
        match self {
            Self::Total(expr, padded) => {
                let mut within = true;
                expr.visit_columns(&mut |index| within &= index < inputs.len());
                if !within {
                    return Err(misfit());
                }
                Ok(Arc::new(TotalExpr::new(*expr, inputs.to_vec(), padded)?))
            }
            Self::ValueLimit(name, index, bytes) => {
                Ok(Arc::new(ValueLimit { column: Column::new(&name, index), bytes }))
            }
        }
    }
}

/// A column of text, NULL where it is longer than the contract says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ValueLimit {
    pub(super) column: Column,
    pub(super) bytes: usize,
}

impl PhysicalExpr for ValueLimit {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.column.data_type(schema)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let text = self.column.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(at_most(&text, self.bytes)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ValueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of at most {} bytes", self.column, self.bytes)
    }
}

// Constants of floats are finite, so equality is reflexive.
impl Eq for TotalExpr {}

impl Hash for TotalExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}
