//! Released levels, adjusted to each other: from what is on record and public variances alone.

use std::collections::HashMap;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::Decimal128Type;
use datafusion::arrow::row::{RowConverter, SortField};
use hushtable_plan::{Consistent, Groups};
use hushtable_quote::{AdjustedNoise, LeastSquares, LevelCells, Quote, QuotedLevels, adjust, fit};

use crate::error::EngineError;
use crate::intervals::Uncertainty;
use crate::release::{NumbersBehind, ReleasedTable, table_of};

/// A level's release.
pub(crate) type ReleasedLevel<'a> = (&'a Quote, &'a ReleasedTable);

/// A measurement of a level when it fits the others.
struct Fitting {
    /// Its values, in steps.
    values: Vec<i128>,
    /// The numbers that its intervals are around: least-squares numbers where all levels are
    /// complete, and otherwise the released ones.
    around: Vec<LeastSquares>,
    noise: Option<AdjustedNoise>,
}

/// Levels after they were adjusted to each other.
pub(crate) struct AdjustedLevels {
    /// Their tables, in their order, with their uncertainty.
    pub(crate) tables: Vec<Uncertainty>,
    /// Whether the released levels fit each other but for noise. Where limits cut more off at one
    /// level than at another they do not, and the tables are as they were released.
    pub(crate) fit: bool,
}

/// Adjusts released levels to each other.
pub(crate) fn adjusted(
    consistent: &Consistent,
    levels: &[ReleasedLevel<'_>],
) -> Result<AdjustedLevels, EngineError> {
    let quotes: Vec<&Quote> = levels.iter().map(|(quote, _)| *quote).collect();
    let (sizes, codes) = codes(consistent, levels)?;
    let mut fitting = levels.iter().map(released).collect::<Result<Vec<_>, _>>()?;
    let quoted = QuotedLevels::new(consistent, &quotes);
    for adjusted in quoted.measurements()? {
        let mut cells = Vec::with_capacity(levels.len());
        for (at, &(measurement, variance)) in adjusted.levels.iter().enumerate() {
            let values = &fitting[at]
                .get(measurement)
                .ok_or(EngineError::inconsistent(
                    "a consistent table adjusts a measurement that a release does not have",
                ))?
                .values;
            let keys = consistent.levels[at].keys.clone();
            // Hidden groups are unknown, and not zero: a level that lacks some has no closed form.
            let complete = !matches!(quotes[at].query().groups(), Groups::Private { .. });
            let (codes, values) = (codes[at].clone(), values.clone());
            cells.push(LevelCells { keys, codes, complete, values, variance });
        }
        let fit = fit(&sizes, &cells).ok_or(EngineError::inconsistent(
            "the levels of a consistent table cannot be compared with each other",
        ))?;
        if !fit {
            let released = |(quote, table): &ReleasedLevel<'_>| {
                Uncertainty::new(quote, ReleasedTable::clone(table))
            };
            return Ok(AdjustedLevels { tables: levels.iter().map(released).collect(), fit });
        }
        let estimates = adjust(&sizes, &mut cells, adjusted.wanted);
        let estimates = estimates.ok_or(EngineError::inconsistent(
            "the levels of a consistent table cannot be adjusted to each other",
        ))?;
        let noises = quoted.noises(&adjusted, &sizes);
        let mut known = noises.map(|noises| estimates.into_iter().zip(noises));
        for ((cells, fitting), &(index, _)) in
            cells.into_iter().zip(&mut fitting).zip(&adjusted.levels)
        {
            fitting[index].values = cells.values;
            if let Some((around, noise)) = known.as_mut().and_then(Iterator::next) {
                fitting[index].around = around;
                fitting[index].noise = Some(noise);
            }
        }
    }
    let mut tables = Vec::with_capacity(levels.len());
    for ((quote, released), fitting) in levels.iter().zip(fitting) {
        let keys = released.values.iter().take(quote.query().keys().len()).cloned().collect();
        let rows = released.table.num_rows();
        let (mut sums, mut noises) = (Vec::new(), Vec::new());
        let mut behind = NumbersBehind::default();
        for Fitting { values, around, noise } in fitting {
            sums.push(values);
            behind.steps.push(around.iter().map(|number| number.whole).collect());
            behind.rest.push(around.iter().map(|number| number.rest).collect());
            noises.push(noise);
        }
        let fitting = table_of(quote.query(), keys, sums, behind, rows)?;
        let fitting = ReleasedTable { groups: released.groups, ..fitting };
        tables.push(Uncertainty::adjusted(quote, fitting, noises));
    }
    Ok(AdjustedLevels { tables, fit: true })
}

/// A release's measurements, in steps.
fn released((quote, released): &ReleasedLevel<'_>) -> Result<Vec<Fitting>, EngineError> {
    let of = |column: &ArrayRef| {
        let digits = column.as_primitive_opt::<Decimal128Type>().ok_or(
            EngineError::inconsistent("a released measurement is not a column of whole steps"),
        )?;
        let values = digits.values().to_vec();
        let around = values.iter().map(|&whole| LeastSquares { whole, rest: 0.0 }).collect();
        Ok(Fitting { values, around, noise: None })
    };
    released.values.iter().skip(quote.query().keys().len()).map(of).collect()
}

/// The codes of each key's values, row by row, of each level.
type KeyCodes = Vec<Vec<Vec<usize>>>;

/// Numbers the values of each key, alike at all levels, and counts them.
fn codes(
    consistent: &Consistent,
    levels: &[ReleasedLevel<'_>],
) -> Result<(Vec<usize>, KeyCodes), EngineError> {
    let mut sizes = vec![1; consistent.keys()];
    let mut codes: KeyCodes =
        consistent.levels.iter().map(|l| vec![Vec::new(); l.keys.len()]).collect();
    for (key, size) in sizes.iter_mut().enumerate() {
        let mut numbers: HashMap<Box<[u8]>, usize> = HashMap::new();
        for (at, (_, released)) in levels.iter().enumerate() {
            let Some(column) = consistent.levels[at].keys.iter().position(|other| *other == key)
            else {
                continue;
            };
            let values = released.values.get(column).ok_or(EngineError::inconsistent(
                "a level of a consistent table has a key that its release does not have",
            ))?;
            let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
            for row in converter.convert_columns(std::slice::from_ref(values))?.iter() {
                let next = numbers.len();
                // Numbers follow from released keys, the same at all levels, whatever the order of
                // their rows.
                codes[at][column].push(*numbers.entry(row.as_ref().into()).or_insert(next));
            }
        }
        *size = numbers.len().max(1);
    }
    Ok((sizes, codes))
}

#[cfg(test)]
mod tests;
