//! Intervals of values that SQL around private parts hands on, or computes from released values of
//! one row.

use std::collections::HashMap;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use hushtable_contract::IntervalRequest;
use hushtable_lang::{ColumnType, Value};
use hushtable_plan::{ColumnTrace, Origins, TracedExpression};
use hushtable_quote::{KnownOperand, NoInterval, interval_over};

use crate::around::{Ran, ReleasedCell};
use crate::error::EngineError;
use crate::intervals::{ColumnIntervals, TableIntervals, Uncertainty};
use crate::value::value_at;

/// A result of SQL around private parts, and the releases that it was computed from.
#[derive(Clone, Debug)]
pub(crate) struct TracedResult {
    /// The released tables that it reads.
    parts: Vec<Uncertainty>,
    traced: Vec<ColumnTrace>,
    ran: Ran,
}

/// The ends of an interval.
type IntervalEnds = (Value, Value);

/// The noise in a released column, or in one that is made of such.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnNoise {
    Without,
    Within,
    Unknown(NoInterval),
}

impl TracedResult {
    pub(crate) fn new(parts: Vec<Uncertainty>, traced: Vec<ColumnTrace>, ran: Ran) -> Self {
        Self { parts, traced, ran }
    }

    /// The intervals around the values of the result.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn intervals(&self, wanted: IntervalRequest) -> Result<TableIntervals, EngineError> {
        let mut read: Vec<usize> = Vec::new();
        for traced in &self.traced {
            let operands = traced.computed.iter().flat_map(|expression| &expression.operands);
            let origins = operands.map(|(origin, _)| origin).chain([&traced.origins]);
            read.extend(origins.flat_map(|origin| &origin.from).map(|(part, _)| part));
        }
        read.sort_unstable();
        read.dedup();
        let read = read.len();
        let mut levels = IntervalLevels { parts: &self.parts, read, wanted, known: HashMap::new() };
        let width = self.ran.table.num_columns();
        if self.traced.len() != width || self.ran.found.cells.len() != width {
            return Err(EngineError::inconsistent(
                "a statement's table has other columns than those that were traced",
            ));
        }
        let mut columns = Vec::with_capacity(width);
        for (index, traced) in self.traced.iter().enumerate() {
            columns.push(self.of_column(index, traced, &mut levels)?);
        }
        Ok(TableIntervals { wanted, columns })
    }

    /// Where a key has no value because the row is of a level without it, as totals are: by row,
    /// the columns.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn without_keys(&self) -> Result<Vec<Vec<usize>>, EngineError> {
        let none = || vec![Vec::new(); self.ran.table.num_rows()];
        let found = &self.ran.found;
        let operands = found.operands.iter().flatten().flatten();
        let mut parts: Vec<Option<usize>> = vec![None; self.ran.table.num_rows()];
        for column in found.cells.iter().flatten().chain(operands) {
            for (part, cell) in parts.iter_mut().zip(self.cells(*column)?) {
                *part = part.or(cell.map(|cell| cell.part));
            }
        }
        let mut levels: Vec<usize> = parts.iter().copied().flatten().collect();
        levels.sort_unstable();
        levels.dedup();
        if levels.len() < 2 {
            return Ok(none());
        }
        let mut rows = none();
        for (index, traced) in self.traced.iter().enumerate() {
            let Origins { from, as_they_are, unknown } = &traced.origins;
            let of = |part: usize| from.iter().any(|(of, _)| *of == part);
            if *unknown || !as_they_are || !levels.iter().any(|part| of(*part)) {
                continue;
            }
            for (row, part) in rows.iter_mut().zip(&parts) {
                if part.is_some_and(|part| !of(part)) {
                    row.push(index);
                }
            }
        }
        Ok(rows)
    }

    fn of_column(
        &self,
        index: usize,
        traced: &ColumnTrace,
        levels: &mut IntervalLevels<'_>,
    ) -> Result<ColumnIntervals, EngineError> {
        let values = self.ran.table.column(index);
        let Some(column_type) = number_type(values.data_type()) else {
            return Ok(match levels.noise(&traced.origins)? {
                ColumnNoise::Within | ColumnNoise::Unknown(NoInterval::NoNumber) => {
                    ColumnIntervals::Without(NoInterval::NoNumber)
                }
                _ => ColumnIntervals::Exact,
            });
        };
        let ends = match &traced.computed {
            Some(expression) => match self.computed(index, expression, levels)? {
                Ok(ends) => ends,
                Err(ColumnNoise::Without) => return Ok(ColumnIntervals::Exact),
                Err(ColumnNoise::Unknown(why)) => return Ok(ColumnIntervals::Without(why)),
                Err(ColumnNoise::Within) => {
                    return Ok(ColumnIntervals::Without(NoInterval::Around));
                }
            },
            None => match levels.noise(&traced.origins)? {
                ColumnNoise::Without => return Ok(ColumnIntervals::Exact),
                ColumnNoise::Unknown(why) => return Ok(ColumnIntervals::Without(why)),
                ColumnNoise::Within if !traced.origins.as_they_are => {
                    return Ok(ColumnIntervals::Without(NoInterval::Around));
                }
                ColumnNoise::Within => {
                    let cells = self.ran.found.cells.get(index).copied().flatten();
                    let cells = cells.ok_or(EngineError::inconsistent(
                        "a column of released values has no cells",
                    ))?;
                    let cells = self.cells(cells)?;
                    let of = |cell: Option<ReleasedCell>| match levels.ends(cell?, 1) {
                        Ok(ends) => ends.map(Ok),
                        Err(error) => Some(Err(error)),
                    };
                    let ends = cells.into_iter().map(of).map(Option::transpose);
                    ends.collect::<Result<Vec<_>, _>>()?
                }
            },
        };
        let fitting = |(low, high): IntervalEnds| {
            Some((fitted(low, column_type, false)?, fitted(high, column_type, true)?))
        };
        let ends = ends.into_iter().map(|ends| ends.and_then(fitting));
        ColumnIntervals::between(column_type, ends)
    }

    /// The intervals of an expression over released values of one row. All operands hold together,
    /// so that their misses add up to what is allowed.
    #[allow(clippy::type_complexity, reason = "intervals, or why there are none")]
    fn computed(
        &self,
        index: usize,
        expression: &TracedExpression,
        levels: &mut IntervalLevels<'_>,
    ) -> Result<Result<Vec<Option<IntervalEnds>>, ColumnNoise>, EngineError> {
        let mut noisy = 0;
        for (origins, _) in &expression.operands {
            match levels.noise(origins)? {
                ColumnNoise::Without => {}
                ColumnNoise::Within => noisy += 1,
                unknown => return Ok(Err(unknown)),
            }
        }
        if noisy == 0 {
            return Ok(Err(ColumnNoise::Without));
        }
        let operands = self.ran.found.operands.get(index).and_then(Option::as_ref);
        let operands = operands.ok_or(EngineError::inconsistent(
            "a computed column of a statement has no cells of its operands",
        ))?;
        let operands = operands.iter().map(|column| self.cells(*column));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let mut all = Vec::with_capacity(self.ran.table.num_rows());
        for row in 0..self.ran.table.num_rows() {
            let mut known = Vec::with_capacity(operands.len());
            for (cells, (_, operand_type)) in operands.iter().zip(&expression.operands) {
                let cell = cells.get(row).ok_or(EngineError::inconsistent(
                    "a column of released cells has fewer rows than its table",
                ))?;
                match cell {
                    // An outer join found no row.
                    None => known.push(Some(KnownOperand::Value(Value::Null))),
                    Some(cell) => known.push(levels.operand(*cell, *operand_type, noisy)?),
                }
            }
            let known: Option<Vec<KnownOperand>> = known.into_iter().collect();
            all.push(known.and_then(|known| interval_over(&expression.expr, &known)));
        }
        Ok(Ok(all))
    }

    /// The cells in a column as it was run.
    fn cells(&self, index: usize) -> Result<Vec<Option<ReleasedCell>>, EngineError> {
        let column = self.ran.columns.get(index).and_then(|c| c.as_primitive_opt::<Int64Type>());
        let cells = column
            .ok_or(EngineError::inconsistent(
                "a column of released cells is missing or is not of numbers",
            ))?
            .iter();
        let cell = |number: Option<i64>| {
            number
                .map(|number| {
                    ReleasedCell::of(number).ok_or(EngineError::inconsistent(
                        "a number in a column of released cells names none",
                    ))
                })
                .transpose()
        };
        cells.map(cell).collect()
    }
}

/// The intervals of the parts at the levels that are needed.
struct IntervalLevels<'a> {
    parts: &'a [Uncertainty],
    /// How many of them the result shows values of.
    read: usize,
    wanted: IntervalRequest,
    /// By part, and by how many numbers share the probability of a miss.
    known: HashMap<(usize, usize), TableIntervals>,
}

impl IntervalLevels<'_> {
    fn of(&mut self, part: usize, together: usize) -> Result<&TableIntervals, EngineError> {
        // All intervals of all parts that are shown hold at once, or those of one value.
        let many = if self.wanted.simultaneous { self.read } else { together };
        let levels = match self.known.entry((part, many)) {
            std::collections::hash_map::Entry::Occupied(levels) => levels.into_mut(),
            std::collections::hash_map::Entry::Vacant(vacant) => {
                let uncertainty = self.parts.get(part).ok_or(EngineError::inconsistent(
                    "a released cell is in a part that the statement does not have",
                ))?;
                vacant.insert(uncertainty.intervals(self.wanted.of_each(many))?)
            }
        };
        Ok(levels)
    }

    fn column(
        &mut self,
        (part, column): (usize, usize),
        together: usize,
    ) -> Result<&ColumnIntervals, EngineError> {
        self.of(part, together)?.columns.get(column).ok_or(EngineError::inconsistent(
            "a released cell is in a column that its part does not have",
        ))
    }

    fn noise(&mut self, origins: &Origins) -> Result<ColumnNoise, EngineError> {
        if origins.unknown {
            return Ok(ColumnNoise::Unknown(NoInterval::Around));
        }
        let mut noise = ColumnNoise::Without;
        for &from in &origins.from {
            match self.column(from, 1)? {
                ColumnIntervals::Exact => {}
                ColumnIntervals::Ends { .. } => noise = ColumnNoise::Within,
                ColumnIntervals::Without(why) => return Ok(ColumnNoise::Unknown(*why)),
            }
        }
        Ok(noise)
    }

    /// A released value in a type, or its interval; `None` where that is unbounded.
    fn operand(
        &mut self,
        cell: ReleasedCell,
        column_type: ColumnType,
        together: usize,
    ) -> Result<Option<KnownOperand>, EngineError> {
        if let ColumnIntervals::Exact = self.column((cell.part, cell.column), together)? {
            let value = self.value(cell)?;
            if value == Value::Null || value.column_type() == Some(column_type) {
                return Ok(Some(KnownOperand::Value(value)));
            }
        }
        let Some((low, high)) = self.ends(cell, together)? else { return Ok(None) };
        let ends = fitted(low, column_type, false).zip(fitted(high, column_type, true));
        Ok(ends.map(|(low, high)| KnownOperand::Between(low, high)))
    }

    /// The interval of a released value.
    fn ends(
        &mut self,
        cell: ReleasedCell,
        together: usize,
    ) -> Result<Option<IntervalEnds>, EngineError> {
        let end = |column: &ArrayRef| {
            value_at(column, cell.row)
                .ok_or(EngineError::inconsistent("an interval has no end for a released row"))
        };
        let (low, high) = match self.column((cell.part, cell.column), together)? {
            ColumnIntervals::Ends { low, high } => (end(low)?, end(high)?),
            ColumnIntervals::Without(_) => return Ok(None),
            ColumnIntervals::Exact => {
                let value = self.value(cell)?;
                (value.clone(), value)
            }
        };
        Ok((low != Value::Null && high != Value::Null).then_some((low, high)))
    }

    fn value(&self, cell: ReleasedCell) -> Result<Value, EngineError> {
        let part = self.parts.get(cell.part).ok_or(EngineError::inconsistent(
            "a released cell is in a part that the statement does not have",
        ))?;
        let column = part.table().columns().get(cell.column).ok_or(EngineError::inconsistent(
            "a released cell is in a column that its part does not have",
        ))?;
        value_at(column, cell.row).ok_or(EngineError::inconsistent(
            "a released cell is in a row that its part does not have",
        ))
    }
}

/// The type of numbers in the engine's own types.
fn number_type(data_type: &DataType) -> Option<ColumnType> {
    match data_type {
        DataType::Int64 => Some(ColumnType::Int),
        DataType::Float64 => Some(ColumnType::Float),
        DataType::Decimal128(_, scale) => {
            Some(ColumnType::Decimal { scale: u8::try_from(*scale).ok()? })
        }
        _ => None,
    }
}

/// An end of an interval in the type of its column, which the sides of a union may have made wider;
/// rounded outwards.
fn fitted(value: Value, column_type: ColumnType, up: bool) -> Option<Value> {
    match (value, column_type) {
        (Value::Int(n), ColumnType::Float) => {
            let near = n as f64;
            let exact = n.unsigned_abs() <= 1 << 53;
            Some(Value::Float(match (exact, up) {
                (true, _) => near,
                (false, true) => near.next_up(),
                (false, false) => near.next_down(),
            }))
        }
        (Value::Int(n), ColumnType::Decimal { scale }) => {
            let digits = i128::from(n).checked_mul(10i128.checked_pow(scale.into())?)?;
            Some(Value::Decimal { digits, scale })
        }
        (value, _) => (value.column_type() == Some(column_type)).then_some(value),
    }
}
