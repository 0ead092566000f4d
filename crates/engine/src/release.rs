//! From exact groups to a release: selection, noise, and what is computed from released values.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    RecordBatchOptions, UInt64Array, new_empty_array,
};
use datafusion::arrow::compute::{
    SortColumn, SortOptions, concat, filter, lexsort_to_indices, take,
};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::error::DataFusionError;
use hushtable_ledger::OpenedCharge;
use hushtable_mechanisms::{Chosen, Population};
use hushtable_noise::Generator;
use hushtable_query::{
    Groups, Key, Measurement, Noise, Order, PrivateQuery, Quote, Step, Value, known_groups,
    public_groups,
};

use crate::error::EngineError;
use crate::eval::{Program, constant, known};
use crate::exact::ExactGroups;
use crate::intern::Interner;
use crate::rebuild::rebuilt;
use crate::source::convert::arrow_type;
use crate::source::normalise::decimals;

/// What came out, with the charge under which it is to be recorded.
pub(crate) struct Released {
    pub(crate) table: RecordBatch,
    pub(crate) charge: OpenedCharge,
    /// Time that computing what is shown took, after all noise was drawn.
    pub(crate) showing: Duration,
}

impl ExactGroups {
    /// Selects groups, adds noise, and computes what the query shows. Consumes the exact groups.
    ///
    /// # Errors
    /// When the operating system's random generator fails: there is no release then.
    pub(crate) fn release(
        self,
        quote: &Quote,
        generator: &mut Generator,
    ) -> Result<Released, EngineError> {
        let query = quote.query();
        let Self { charge, keys, units, mut sums, members } = self;
        let keys = match query.groups {
            Groups::Single => {
                sums.iter_mut().for_each(|s| s.resize(1, 0));
                Vec::new()
            }
            Groups::Public => {
                let listed = columns_of(&query.keys, &public_groups(&query.keys))?;
                let (keys, aligned) = align(listed, &keys, sums)?;
                sums = aligned;
                keys
            }
            Groups::Private { known_threshold, .. } => {
                let units: Result<Vec<u64>, _> = units.into_iter().map(u64::try_from).collect();
                let mut units = units.map_err(|_| EngineError::Inconsistent)?;
                let (keys, known) = with_known(&query.keys, keys, &mut units)?;
                sums.iter_mut().for_each(|s| s.resize(units.len(), 0));
                let population =
                    Population { units: &units, members: members.as_ref(), known: &known };
                let selection = quote.selection().ok_or(EngineError::Inconsistent)?;
                let mut chosen = selection.choose(&population, generator)?;
                if let Some(threshold) = known_threshold {
                    let reaches = |c: &Chosen| c.noisy_count.is_some_and(|n| n >= threshold.into());
                    chosen.retain(|c| known.get(c.group) != Some(&true) || reaches(c));
                }
                keep(quote, &chosen, &mut sums);
                if units.is_empty() {
                    // No row had a group: none is shown, in columns of the same types.
                    let types = query.keys.iter().map(|k| arrow_type(k.expr.column_type));
                    types.map(|t| new_empty_array(&t)).collect()
                } else {
                    let rows: UInt64Array = chosen.iter().map(|c| c.group as u64).collect();
                    keys.iter().map(|k| take(k, &rows, None)).collect::<Result<_, _>>()?
                }
            }
        };
        for (noise, sums) in quote.noise().iter().zip(&mut sums) {
            if let Noise::Own(additive) = noise {
                additive.add(generator, sums)?;
            }
        }
        let rows = sums.first().map_or_else(|| keys.first().map_or(1, |k| k.len()), Vec::len);
        let measured = query.measurements.iter().zip(sums).map(|(m, sums)| released(m, sums));
        let columns = keys
            .into_iter()
            .map(Ok)
            .chain(measured)
            .collect::<Result<Vec<ArrayRef>, DataFusionError>>()?;
        let started = Instant::now();
        let table = shown(query, columns, rows)?;
        Ok(Released { table, charge, showing: started.elapsed() })
    }
}

/// Keeps the sums of the groups that appear, and the noisy counts of the selection where they serve as
/// measurements.
fn keep(quote: &Quote, chosen: &[Chosen], sums: &mut [Vec<i128>]) {
    for (noise, sums) in quote.noise().iter().zip(sums) {
        *sums = match noise {
            Noise::OfSelection => chosen.iter().map(|c| c.noisy_count.unwrap_or(0)).collect(),
            Noise::Own(_) => {
                chosen.iter().map(|c| sums.get(c.group).copied().unwrap_or(0)).collect()
            }
        };
    }
}

/// Groups as columns of keys.
fn columns_of(keys: &[Key], groups: &[Vec<Value>]) -> Result<Vec<ArrayRef>, DataFusionError> {
    let column = |(place, key): (usize, &Key)| {
        let values = groups
            .iter()
            .filter_map(|row| row.get(place))
            .map(|value| constant(value, key.expr.column_type))
            .collect::<Result<Vec<_>, _>>()?;
        let values: Vec<_> = values.iter().map(AsRef::as_ref).collect();
        Ok(concat(&values)?)
    };
    keys.iter().enumerate().map(column).collect()
}

/// The keys found and, after them, the known ones that were not, with no units; and which of all are
/// known.
fn with_known(
    keys: &[Key],
    found: Vec<ArrayRef>,
    units: &mut Vec<u64>,
) -> Result<(Vec<ArrayRef>, Vec<bool>), DataFusionError> {
    let groups = known_groups(keys);
    if groups.is_empty() {
        return Ok((found, Vec::new()));
    }
    let listed = columns_of(keys, &groups)?;
    if units.is_empty() {
        *units = vec![0; groups.len()];
        return Ok((listed, vec![true; groups.len()]));
    }
    let mut interner = Interner::new(&found)?;
    // Numbers need not be in the order of the rows.
    let rows_of: HashMap<usize, usize> =
        interner.intern(&found)?.iter().enumerate().map(|(row, &id)| (id, row)).collect();
    let mut known = vec![false; units.len()];
    let mut absent: Vec<u64> = Vec::new();
    for (place, id) in interner.intern(&listed)?.iter().enumerate() {
        match rows_of.get(id).and_then(|&row| known.get_mut(row)) {
            Some(known) => *known = true,
            None => absent.push(place as u64),
        }
    }
    units.resize(units.len() + absent.len(), 0);
    known.resize(units.len(), true);
    let absent = UInt64Array::from(absent);
    let with_absent = |(found, listed): (&ArrayRef, &ArrayRef)| {
        Ok(concat(&[found.as_ref(), take(listed, &absent, None)?.as_ref()])?)
    };
    let all = found.iter().zip(&listed).map(with_absent).collect::<Result<_, DataFusionError>>()?;
    Ok((all, known))
}

/// The public groups, and the sums in their order: zero where the data has none.
fn align(
    columns: Vec<ArrayRef>,
    found: &[ArrayRef],
    sums: Vec<Vec<i128>>,
) -> Result<(Vec<ArrayRef>, Vec<Vec<i128>>), DataFusionError> {
    let groups = columns.first().map_or(0, |c| c.len());
    let mut interner = Interner::new(&columns)?;
    // Numbers need not be in the order of the rows.
    let rows_of: HashMap<usize, usize> =
        interner.intern(&columns)?.iter().enumerate().map(|(row, &id)| (id, row)).collect();
    let mut aligned = vec![vec![0i128; groups]; sums.len()];
    if found.first().is_some_and(|k| !k.is_empty()) {
        let ids = interner.intern(found)?;
        for (own, sums) in aligned.iter_mut().zip(&sums) {
            for (id, &sum) in ids.iter().zip(sums) {
                // Rows with other keys were left out before they were counted.
                if let Some(slot) = rows_of.get(id).and_then(|&row| own.get_mut(row)) {
                    *slot = sum;
                }
            }
        }
    }
    Ok((columns, aligned))
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
    mut rows: usize,
) -> Result<RecordBatch, DataFusionError> {
    if let Some(having) = &query.having {
        let keep: BooleanArray = known(&Program::new(having)?.condition(&columns, rows)?);
        columns = columns.iter().map(|c| filter(c, &keep)).collect::<Result<_, _>>()?;
        rows = keep.true_count();
    }
    let outputs = query
        .outputs
        .iter()
        .map(|o| Program::new(&o.expr)?.evaluate(&columns, rows))
        .collect::<Result<Vec<_>, _>>()?;
    let (from, to) = window(query, rows);
    let order = sorted(query, &columns, rows)?.slice(from, to - from);
    let outputs =
        outputs.iter().map(|c| rebuilt(&take(c, &order, None)?)).collect::<Result<Vec<_>, _>>()?;
    let fields: Vec<Field> = query
        .outputs
        .iter()
        .map(|o| Field::new(&o.name, arrow_type(o.expr.column_type), true))
        .collect();
    let length = outputs.first().map_or(0, |c| c.len());
    let options = RecordBatchOptions::new().with_row_count(Some(length));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), outputs, &options)?)
}

/// First row shown, and the first not shown any more.
fn window(query: &PrivateQuery, rows: usize) -> (usize, usize) {
    let bounded = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(rows);
    let from = bounded(query.offset);
    let most = query.limit.map_or(rows, bounded);
    (from, from.saturating_add(most).min(rows))
}

/// The order of ORDER BY, and then of the keys: so that it follows from what is released alone.
fn sorted(
    query: &PrivateQuery,
    columns: &[ArrayRef],
    rows: usize,
) -> Result<datafusion::arrow::array::UInt32Array, DataFusionError> {
    let mut by = Vec::new();
    for Order { expr, descending, nulls_first } in &query.order_by {
        by.push(SortColumn {
            values: Program::new(expr)?.evaluate(columns, rows)?,
            options: Some(SortOptions { descending: *descending, nulls_first: *nulls_first }),
        });
    }
    for key in columns.iter().take(query.keys.len()) {
        let options = Some(SortOptions { descending: false, nulls_first: true });
        by.push(SortColumn { values: Arc::clone(key), options });
    }
    if by.is_empty() {
        return Ok((0..rows as u32).collect());
    }
    Ok(lexsort_to_indices(&by, None)?)
}
