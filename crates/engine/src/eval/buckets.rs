//! WIDTH_BUCKET and RANGE_BUCKET.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum, Int64Array, Scalar};
use datafusion::arrow::compute::kernels::cmp;
use datafusion::arrow::datatypes::Float64Type;
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{Expr, ExprKind, Value};

use super::cast::constant;
use super::counted::count;
use super::text_functions::compared;
use super::unexpected;

/// Spans between constants.
pub(super) enum Buckets {
    /// `buckets` spans of the same width.
    Even { low: f64, high: f64, buckets: i64 },
    /// From one of ascending constants, each an array of one value, to the next.
    Listed(Vec<ArrayRef>),
}

fn value(expr: &Expr) -> Result<&Value, ArrowError> {
    match &expr.kind {
        ExprKind::Literal(value) => Ok(value),
        _ => Err(unexpected()),
    }
}

impl Buckets {
    pub(super) fn even(constants: &[Expr]) -> Result<Self, ArrowError> {
        let [low, high, buckets] = constants else { return Err(unexpected()) };
        match (value(low)?, value(high)?, value(buckets)?) {
            (&Value::Float(low), &Value::Float(high), &Value::Int(buckets)) if buckets > 0 => {
                Ok(Self::Even { low, high, buckets })
            }
            _ => Err(unexpected()),
        }
    }

    pub(super) fn listed(constants: &[Expr]) -> Result<Self, ArrowError> {
        let array = |e: &Expr| constant(value(e)?, e.column_type);
        Ok(Self::Listed(constants.iter().map(array).collect::<Result<_, _>>()?))
    }

    /// The bucket of each value.
    pub(super) fn found(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let found: Int64Array = match self {
            &Self::Even { low, high, buckets } => {
                let values = array.as_primitive_opt::<Float64Type>().ok_or_else(|| unexpected())?;
                let bucket = |x: f64| {
                    if x < low {
                        0
                    } else if x >= high {
                        buckets + 1
                    } else {
                        // Halves of the ends, as their difference may be beyond all floats.
                        let share = (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
                        // A cast of floats ends at the largest integers.
                        (share * buckets as f64).floor().clamp(0.0, (buckets - 1) as f64) as i64 + 1
                    }
                };
                values.unary(bucket)
            }
            Self::Listed(limits) => {
                let mut below = vec![0i64; array.len()];
                for limit in limits {
                    let limit = Scalar::new(Arc::clone(limit));
                    count(|| compared(array, &limit.get().0.slice(0, 1)));
                    let reached = cmp::gt_eq(array, &limit)?;
                    for (below, reached) in below.iter_mut().zip(reached.values()) {
                        *below += i64::from(reached);
                    }
                }
                Int64Array::new(below.into(), array.logical_nulls())
            }
        };
        Ok(Arc::new(found))
    }
}
