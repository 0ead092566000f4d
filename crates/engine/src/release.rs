//! From exact groups to a release: selection and noise; and what is computed from released values.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    RecordBatchOptions, UInt32Array, UInt64Array, new_empty_array,
};
use datafusion::arrow::compute::{SortColumn, SortOptions, filter, lexsort_to_indices, take};
use datafusion::arrow::datatypes::{Decimal128Type, Field, Schema};
use datafusion::error::DataFusionError;
use hushtable_ledger::DrawnCharge;
use hushtable_noise::Generator;
use hushtable_numbers::Step;
use hushtable_plan::{Groups, Measurement, Order, PrivateQuery};
use hushtable_quote::Quote;

use crate::draw::CountedGroups;
use crate::error::EngineError;
use crate::eval::{Program, known};
use crate::exact::DrawnGroups;
use crate::rebuild::rebuilt;
use crate::source::convert::{arrow_type, decimals};

/// A released table, and the released values that it was computed from, row by row.
#[derive(Clone, Debug)]
pub(crate) struct ReleasedTable {
    pub(crate) table: RecordBatch,
    /// The keys and, after them, each measurement in steps of its lattice. Where it is adjusted to
    /// others, the steps are those that intervals are around, and what is left of each is after
    /// them.
    pub(crate) values: Vec<ArrayRef>,
    /// The number of released groups, with those that HAVING and LIMIT hide.
    pub(crate) groups: u64,
}

/// All released groups: what goes on record, and what every answer is computed from.
#[derive(Clone, Debug)]
pub(crate) struct NoisyGroups {
    /// The keys and, after them, each measurement in steps of its lattice.
    pub(crate) columns: Vec<ArrayRef>,
    /// The number of groups.
    pub(crate) groups: usize,
}

/// Released groups, with the charge under which they are to be recorded.
pub(crate) struct ReleasedGroups {
    pub(crate) groups: NoisyGroups,
    pub(crate) charge: DrawnCharge,
}

impl DrawnGroups {
    /// Selects groups and adds noise. Consumes the exact groups.
    ///
    /// # Errors
    /// When the operating system's random generator fails: there is no release then.
    pub(crate) fn release(
        self,
        quote: &Quote,
        generator: &mut Generator,
    ) -> Result<ReleasedGroups, EngineError> {
        let query = quote.query();
        // The exact groups are taken apart here and dropped below: nothing after this function can
        // read them.
        let Self { charge, exact, held } = self;
        let (keys, counted) = CountedGroups::new(query, exact)?;
        // Too little memory ends the release before its first random number. The charge's draw is
        // used up anyway, and is not made again.
        held.try_grow(counted.ahead_bytes(quote))?;
        let (chosen, ahead) = counted.choose(quote, generator)?;
        held.try_grow(counted.fine_bytes(quote))?;
        let sums = counted.measure(quote, (&chosen, &ahead), generator)?;
        // Noisy counts of hidden groups would reveal groups below the threshold; they end here.
        drop(ahead);
        let keys = match query.groups() {
            Groups::Single | Groups::Public => keys,
            // No row had a group: none is shown, in columns of the same types.
            Groups::Private { .. } if counted.groups == 0 => {
                let types = query.keys().iter().map(|k| arrow_type(k.expr.column_type));
                types.map(|t| new_empty_array(&t)).collect()
            }
            Groups::Private { .. } => {
                let rows: UInt64Array = chosen.iter().map(|c| c.group as u64).collect();
                keys.iter().map(|k| take(k, &rows, None)).collect::<Result<_, _>>()?
            }
        };
        drop(counted);
        drop(held);
        Ok(ReleasedGroups { groups: NoisyGroups::new(keys, sums, chosen.len())?, charge })
    }
}

impl NoisyGroups {
    fn new(
        keys: Vec<ArrayRef>,
        sums: Vec<Vec<i128>>,
        groups: usize,
    ) -> Result<Self, DataFusionError> {
        let columns = keys.iter().cloned().map(Ok).chain(sums.into_iter().map(steps));
        let columns = columns.collect::<Result<Vec<_>, DataFusionError>>()?;
        // Groups come in the order in which the data name them, which is not released, and nor is
        // what is beside the chosen keys in memory.
        let order = by_keys(&keys, groups)?;
        let taken = columns.iter().map(|column| rebuilt(&take(column, &order, None)?));
        Ok(Self { columns: taken.collect::<Result<_, _>>()?, groups })
    }

    /// The table that a query shows, whose keys and measurements are at these columns.
    ///
    /// # Errors
    /// When they are not: only by a fault of this program.
    pub(crate) fn shown(
        &self,
        query: &PrivateQuery,
        columns: &[usize],
    ) -> Result<ReleasedTable, EngineError> {
        let key_columns = columns.iter().map(|&at| self.columns.get(at).cloned());
        let mut keys = key_columns.collect::<Option<Vec<_>>>().ok_or(EngineError::inconsistent(
            "a query shows a column that its release does not have",
        ))?;
        let sums = keys.split_off(query.keys().len().min(keys.len()));
        let sums = sums.iter().map(|column| {
            let digits = column.as_primitive_opt::<Decimal128Type>();
            Ok(digits
                .ok_or(EngineError::inconsistent(
                    "a released measurement is not a column of whole steps",
                ))?
                .values()
                .to_vec())
        });
        let sums = sums.collect::<Result<Vec<_>, EngineError>>()?;
        if sums.len() != query.measurements().len() {
            return Err(EngineError::inconsistent(
                "a release has another number of measurements than its query",
            ));
        }
        Ok(table(query, keys, sums, self.groups)?)
    }
}

/// Noisy sums of a measurement in steps, as a column.
fn steps(sums: Vec<i128>) -> Result<ArrayRef, DataFusionError> {
    // The column of the record holds 38 digits. Clamping a noisy sum is post-processing.
    let most = 10i128.pow(38) - 1;
    Ok(decimals(sums.into_iter().map(|s| s.clamp(-most, most)).collect(), 0)?)
}

/// Computes the table shown of groups with these keys and these sums of each measurement, in steps.
pub(crate) fn table(
    query: &PrivateQuery,
    keys: Vec<ArrayRef>,
    sums: Vec<Vec<i128>>,
    groups: usize,
) -> Result<ReleasedTable, DataFusionError> {
    let behind = NumbersBehind { steps: sums.clone(), rest: Vec::new() };
    table_of(query, keys, sums, behind, groups)
}

/// The numbers behind a table, by measurement.
#[derive(Default)]
pub(crate) struct NumbersBehind {
    /// In steps.
    pub(crate) steps: Vec<Vec<i128>>,
    /// The rests of least-squares numbers beside whole ones; none where there are none.
    pub(crate) rest: Vec<Vec<f64>>,
}

/// Computes the table shown, with these numbers behind it.
pub(crate) fn table_of(
    query: &PrivateQuery,
    keys: Vec<ArrayRef>,
    sums: Vec<Vec<i128>>,
    behind: NumbersBehind,
    groups: usize,
) -> Result<ReleasedTable, DataFusionError> {
    let steps = behind.steps.into_iter().map(steps);
    let rest = behind.rest.into_iter();
    let rest = rest.map(|values| Ok(Arc::new(Float64Array::from(values)) as ArrayRef));
    let values = keys.iter().cloned().map(Ok).chain(steps).chain(rest).collect::<Result<_, _>>()?;
    let measured = query.measurements().iter().zip(sums).map(|(m, sums)| released(m, sums));
    let columns = keys.into_iter().map(Ok).chain(measured).collect::<Result<_, _>>()?;
    shown(query, columns, values, groups)
}

/// Noisy lattice sums in the measurement's own units.
fn released(measurement: &Measurement, sums: Vec<i128>) -> Result<ArrayRef, DataFusionError> {
    Ok(match measurement.step {
        Step::Whole(size) => {
            let value = |s: i128| {
                let value = s.saturating_mul(i128::from(size));
                value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
            };
            Arc::new(sums.into_iter().map(value).collect::<Int64Array>())
        }
        Step::Decimal(scale) => {
            let most = 10i128.pow(38) - 1;
            let digits: Decimal128Array = sums.into_iter().map(|s| s.clamp(-most, most)).collect();
            decimals(digits, scale)?
        }
        Step::PowerOfTwo(exponent) => {
            let factor = 2f64.powi(i32::from(exponent));
            Arc::new(sums.into_iter().map(|s| s as f64 * factor).collect::<Float64Array>())
        }
    })
}

/// HAVING, ORDER BY, LIMIT and SELECT over the released columns.
fn shown(
    query: &PrivateQuery,
    mut columns: Vec<ArrayRef>,
    mut values: Vec<ArrayRef>,
    mut rows: usize,
) -> Result<ReleasedTable, DataFusionError> {
    let groups = rows as u64;
    if let Some(having) = query.having() {
        let keep: BooleanArray = known(&Program::new(having)?.condition(&columns, rows)?);
        for columns in [&mut columns, &mut values] {
            *columns = columns.iter().map(|c| filter(c, &keep)).collect::<Result<_, _>>()?;
        }
        rows = keep.true_count();
    }
    let outputs = query
        .outputs()
        .iter()
        .map(|o| Program::new(&o.expr)?.evaluate(&columns, rows))
        .collect::<Result<Vec<_>, _>>()?;
    let (from, to) = window(query, rows);
    let order = sorted(query, &columns, rows)?.slice(from, to - from);
    let taken = |columns: Vec<ArrayRef>| {
        columns.iter().map(|c| rebuilt(&take(c, &order, None)?)).collect::<Result<Vec<_>, _>>()
    };
    let (outputs, values) = (taken(outputs)?, taken(values)?);
    let fields: Vec<Field> = query
        .outputs()
        .iter()
        .map(|o| Field::new(&o.name, arrow_type(o.expr.column_type), true))
        .collect();
    let length = outputs.first().map_or(0, |c| c.len());
    let options = RecordBatchOptions::new().with_row_count(Some(length));
    let schema = Arc::new(Schema::new(fields));
    let table = RecordBatch::try_new_with_options(schema, outputs, &options)?;
    Ok(ReleasedTable { table, values, groups })
}

/// First row shown, and the first not shown any more.
fn window(query: &PrivateQuery, rows: usize) -> (usize, usize) {
    let bounded = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(rows);
    let from = bounded(query.offset());
    let most = query.limit().map_or(rows, bounded);
    (from, from.saturating_add(most).min(rows))
}

/// The order of ORDER BY, and then of the keys: so that it follows from what is released alone.
fn sorted(
    query: &PrivateQuery,
    columns: &[ArrayRef],
    rows: usize,
) -> Result<UInt32Array, DataFusionError> {
    let mut by = Vec::new();
    for Order { expr, descending, nulls_first } in query.order_by() {
        by.push(SortColumn {
            values: Program::new(expr)?.evaluate(columns, rows)?,
            options: Some(SortOptions { descending: *descending, nulls_first: *nulls_first }),
        });
    }
    by.extend(columns.iter().take(query.keys().len()).map(ascending));
    in_order(&by, rows)
}

/// The order of the keys, which are released.
fn by_keys(keys: &[ArrayRef], rows: usize) -> Result<UInt32Array, DataFusionError> {
    in_order(&keys.iter().map(ascending).collect::<Vec<_>>(), rows)
}

fn ascending(key: &ArrayRef) -> SortColumn {
    let options = Some(SortOptions { descending: false, nulls_first: true });
    SortColumn { values: Arc::clone(key), options }
}

fn in_order(by: &[SortColumn], rows: usize) -> Result<UInt32Array, DataFusionError> {
    if by.is_empty() {
        return Ok((0..rows as u32).collect());
    }
    Ok(lexsort_to_indices(by, None)?)
}
