//! Released levels, adjusted to each other: from what is on record and public variances alone.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::Decimal128Type;
use datafusion::arrow::row::{RowConverter, SortField};
use hushtable_query::{Consistent, Groups, LevelCells, Quote, adjust};

use crate::error::EngineError;
use crate::release::{ReleasedTable, table};

/// A level's release.
pub(super) type Level<'a> = (&'a Quote, &'a ReleasedTable);

/// The released tables of levels that fit each other, each under its name.
pub(super) fn tables(
    own: &Consistent,
    levels: &[Level<'_>],
) -> Result<Vec<(String, RecordBatch)>, EngineError> {
    let quotes: Vec<&Quote> = levels.iter().map(|(quote, _)| *quote).collect();
    let (sizes, codes) = codes(own, levels)?;
    let mut sums = levels.iter().map(steps).collect::<Result<Vec<_>, _>>()?;
    for adjusted in own.measurements(&quotes)? {
        let mut cells = Vec::with_capacity(levels.len());
        for (at, &(place, variance)) in adjusted.levels.iter().enumerate() {
            let values = sums[at].get(place).ok_or(EngineError::Inconsistent)?.clone();
            let keys = own.levels[at].keys.clone();
            let complete = !matches!(quotes[at].query().groups(), Groups::Private { .. });
            cells.push(LevelCells { keys, codes: codes[at].clone(), complete, values, variance });
        }
        adjust(&sizes, &mut cells, adjusted.wanted).ok_or(EngineError::Inconsistent)?;
        for ((cells, sums), &(place, _)) in cells.into_iter().zip(&mut sums).zip(&adjusted.levels) {
            sums[place] = cells.values;
        }
    }
    let mut tables = Vec::with_capacity(levels.len());
    for ((level, (quote, released)), sums) in own.levels.iter().zip(levels).zip(sums) {
        let keys = released.values.iter().take(quote.query().keys().len()).cloned().collect();
        let rows = released.table.num_rows();
        tables.push((level.table.clone(), table(quote.query(), keys, sums, rows)?.table));
    }
    Ok(tables)
}

/// The codes of each key's values, row by row, of each level.
type Codes = Vec<Vec<Vec<usize>>>;

/// Numbers the values of each key, alike at all levels, and counts them.
fn codes(own: &Consistent, levels: &[Level<'_>]) -> Result<(Vec<usize>, Codes), EngineError> {
    let mut sizes = vec![1; own.keys()];
    let mut codes: Codes = own.levels.iter().map(|l| vec![Vec::new(); l.keys.len()]).collect();
    for (key, size) in sizes.iter_mut().enumerate() {
        let mut numbers: HashMap<Box<[u8]>, usize> = HashMap::new();
        for (at, (_, released)) in levels.iter().enumerate() {
            let Some(column) = own.levels[at].keys.iter().position(|own| *own == key) else {
                continue;
            };
            let values = released.values.get(column).ok_or(EngineError::Inconsistent)?;
            let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
            for row in converter.convert_columns(std::slice::from_ref(values))?.iter() {
                let next = numbers.len();
                codes[at][column].push(*numbers.entry(row.as_ref().into()).or_insert(next));
            }
        }
        *size = numbers.len().max(1);
    }
    Ok((sizes, codes))
}

/// A release's measurements, in steps.
fn steps((quote, released): &Level<'_>) -> Result<Vec<Vec<i128>>, EngineError> {
    let of = |column: &ArrayRef| {
        let digits =
            column.as_primitive_opt::<Decimal128Type>().ok_or(EngineError::Inconsistent)?;
        Ok(digits.values().to_vec())
    };
    released.values.iter().skip(quote.query().keys().len()).map(of).collect()
}
