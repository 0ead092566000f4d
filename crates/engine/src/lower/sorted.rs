//! Aggregates that look at all values of a group together: different values, medians, variances,
//! and the value where another one is least or greatest.
//!
//! Values are sorted before they are aggregated, so that the order in which rows arrive does not
//! matter: it can depend on the rows of other units.

use std::mem::size_of;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Float64Array, Int64Array, UInt64Array};
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::error::Result;
use datafusion::logical_expr::EmitTo;
use hushtable_plan::SortedAggregate;

use super::sums::{RunningSum, SumOutput};
use super::whole_groups::{WholeGroups, unplanned};

/// Most bytes of rows that become one array: a text has at most 64 KiB, so that an array never has
/// as much as its offsets can number.
const MOST_BYTES: usize = if cfg!(test) { 64 } else { 1 << 30 };

/// The values of many groups.
#[derive(Debug)]
pub(super) struct GroupedValues {
    aggregate: SortedAggregate,
    types: Vec<DataType>,
    converter: RowConverter,
    /// The values of each row that was seen, as bytes in their order.
    rows: Rows,
    /// The rows that have all values, each behind its group.
    entries: Vec<(usize, usize)>,
    groups: usize,
}

impl GroupedValues {
    /// No values yet, of columns of these types.
    pub(super) fn new(aggregate: SortedAggregate, mut types: Vec<DataType>) -> Result<Self> {
        if let SortedAggregate::ArgMin | SortedAggregate::ArgMax = aggregate {
            // The value that is least or greatest comes first in the order.
            types.reverse();
        }
        let fields = types.iter().map(|of| SortField::new(of.clone())).collect();
        let converter = RowConverter::new(fields)?;
        let rows = converter.empty_rows(0, 0);
        Ok(Self { aggregate, types, converter, rows, entries: Vec::new(), groups: 0 })
    }

    /// The number of different rows of each group.
    fn different(&self, entries: &[(usize, usize)], groups: usize) -> Result<ArrayRef> {
        let mut counts = vec![0i64; groups];
        for (at, (group, _)) in entries.iter().enumerate() {
            if !self.repeats(entries, at) {
                *counts.get_mut(*group).ok_or_else(unplanned)? += 1;
            }
        }
        Ok(Arc::new(Int64Array::from(counts)))
    }

    /// Whether an entry is the one before it once more.
    fn repeats(&self, entries: &[(usize, usize)], at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| entries.get(before));
        let (Some((group, row)), Some((other, other_row))) = (entries.get(at), before) else {
            return false;
        };
        group == other && self.rows.row(*row) == self.rows.row(*other_row)
    }

    /// The last value of a row of each group: the first row, or the last.
    fn picked(&self, entries: &[(usize, usize)], groups: usize) -> Result<ArrayRef> {
        let mut picked: Vec<Option<usize>> = vec![None; groups];
        for (group, row) in entries {
            let picked = picked.get_mut(*group).ok_or_else(unplanned)?;
            if picked.is_none() || self.aggregate == SortedAggregate::ArgMax {
                *picked = Some(*row);
            }
        }
        let rows: Vec<usize> = picked.iter().copied().flatten().collect();
        let mut next = 0..;
        let places: UInt64Array = picked.iter().map(|row| row.and_then(|_| next.next())).collect();
        let values = self.last_values(&rows)?;
        Ok(take(&values, &places, None)?)
    }

    /// The last column of these rows.
    fn last_values(&self, rows: &[usize]) -> Result<ArrayRef> {
        let mut chunks: Vec<ArrayRef> = Vec::new();
        let mut rest = rows;
        loop {
            // One array has at most 4 GiB of text, and nothing says where it has more: what is
            // beyond would be other units' text.
            let mut bytes = 0;
            let fits = |row: &&usize| {
                bytes += self.rows.row(**row).as_ref().len();
                bytes <= MOST_BYTES
            };
            let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
            let (chunk, behind) = rest.split_at(count);
            let columns = self.converter.convert_rows(chunk.iter().map(|row| self.rows.row(*row)));
            chunks.push(columns?.pop().ok_or_else(unplanned)?);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
        Ok(concat(&chunks)?)
    }

    /// The columns of the entries, which are numbers, in their order.
    fn sorted(&self, entries: &[(usize, usize)]) -> Result<Vec<ArrayRef>> {
        Ok(self.converter.convert_rows(entries.iter().map(|(_, row)| self.rows.row(*row)))?)
    }

    /// The sums or means of each group's different values, or of those in its middle.
    fn sums(&self, entries: &[(usize, usize)], groups: usize, of: &SumOutput) -> Result<ArrayRef> {
        let values = self.sorted(entries)?;
        let mut sums = vec![RunningSum::default(); groups];
        let sizes = sizes(entries, groups)?;
        let (mut group_before, mut number) = (None, 0);
        of.each(&values, |at, value| {
            let Some(&(group, _)) = entries.get(at) else { return };
            number = if group_before == Some(group) { number + 1 } else { 0 };
            group_before = Some(group);
            let counts = match self.aggregate {
                SortedAggregate::Median => sizes
                    .get(group)
                    .is_some_and(|size| number == size / 2 || 2 * number + 2 == *size),
                _ => !self.repeats(entries, at),
            };
            if let (true, Some(sum)) = (counts, sums.get_mut(group)) {
                sum.add(value);
            }
        })?;
        of.array(&sums)
    }

    /// The variance of each group's values, or its root.
    fn variances(&self, entries: &[(usize, usize)], groups: usize) -> Result<ArrayRef> {
        use SortedAggregate as S;
        let of = SumOutput::new(true, self.types.first().ok_or_else(unplanned)?)?;
        let values = self.sorted(entries)?;
        let mut floats = Vec::with_capacity(entries.len());
        of.each(&values, |_, value| floats.push(of.as_float(&value)))?;
        let mut variances: Vec<Option<f64>> = vec![None; groups];
        let mut rest = floats.as_slice();
        for (variance, size) in variances.iter_mut().zip(sizes(entries, groups)?) {
            let (of_group, behind) = rest.split_at_checked(size).ok_or_else(unplanned)?;
            rest = behind;
            let divisor = match self.aggregate {
                S::SampleVariance | S::SampleDeviation => size.saturating_sub(1),
                _ => size,
            };
            if divisor == 0 {
                continue;
            }
            let mut sum = RunningSum::default();
            of_group.iter().for_each(|value| sum.add_float(*value));
            let mean = sum.float().map(|sum| sum / size as f64);
            let squares = mean.and_then(|mean| {
                let mut squares = RunningSum::default();
                of_group.iter().for_each(|value| squares.add_float((value - mean).powi(2)));
                squares.float()
            });
            let squared = squares.map(|squares| squares / divisor as f64);
            *variance = match self.aggregate {
                S::SampleDeviation | S::PopulationDeviation => squared.map(f64::sqrt),
                _ => squared,
            }
            .filter(|variance| variance.is_finite());
        }
        Ok(Arc::new(Float64Array::from(variances)))
    }
}

/// The number of entries of each group.
fn sizes(entries: &[(usize, usize)], groups: usize) -> Result<Vec<usize>> {
    let mut sizes = vec![0usize; groups];
    for (group, _) in entries {
        *sizes.get_mut(*group).ok_or_else(unplanned)? += 1;
    }
    Ok(sizes)
}

impl WholeGroups for GroupedValues {
    fn add(&mut self, values: &[ArrayRef], groups: &[usize], total_groups: usize) -> Result<()> {
        if values.len() != self.types.len() {
            return Err(unplanned());
        }
        self.groups = total_groups;
        let mut columns = values.to_vec();
        if let SortedAggregate::ArgMin | SortedAggregate::ArgMax = self.aggregate {
            columns.reverse();
        }
        let before = self.rows.num_rows();
        self.converter.append(&mut self.rows, &columns)?;
        for (at, group) in groups.iter().enumerate() {
            if values.iter().all(|column| column.is_valid(at)) {
                self.entries.push((*group, before + at));
            }
        }
        Ok(())
    }

    fn results(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        use SortedAggregate as S;
        let emitted = match emit_to {
            EmitTo::All => self.groups,
            EmitTo::First(n) => n.min(self.groups),
        };
        let (mut entries, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.entries).into_iter().partition(|(group, _)| *group < emitted);
        // Equal entries are of equal values: their order does not matter.
        entries.sort_unstable_by(|(group, row), (other, other_row)| {
            let by_value = || self.rows.row(*row).cmp(&self.rows.row(*other_row));
            group.cmp(other).then_with(by_value)
        });
        let first = self.types.first().ok_or_else(unplanned)?;
        let result = match self.aggregate {
            S::CountDistinct => self.different(&entries, emitted),
            S::SumDistinct => self.sums(&entries, emitted, &SumOutput::new(false, first)?),
            S::AverageDistinct | S::Median => {
                self.sums(&entries, emitted, &SumOutput::new(true, first)?)
            }
            S::ArgMin | S::ArgMax => self.picked(&entries, emitted),
            S::SampleVariance
            | S::PopulationVariance
            | S::SampleDeviation
            | S::PopulationDeviation => self.variances(&entries, emitted),
        }?;
        self.entries = later.into_iter().map(|(group, row)| (group - emitted, row)).collect();
        self.groups -= emitted;
        if self.entries.is_empty() {
            self.rows = self.converter.empty_rows(0, 0);
        }
        Ok(result)
    }

    fn bytes(&self) -> usize {
        self.rows.size()
            + self.converter.size()
            + self.entries.capacity() * size_of::<(usize, usize)>()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{AsArray, Decimal128Array, StringViewArray};
    use datafusion::arrow::datatypes::{Float64Type, Int64Type};

    use super::*;

    fn values_of(aggregate: SortedAggregate, types: &[DataType]) -> GroupedValues {
        GroupedValues::new(aggregate, types.to_vec()).unwrap()
    }

    fn floats(aggregate: SortedAggregate, of: &ArrayRef, groups: &[usize]) -> Vec<Option<f64>> {
        let mut values = values_of(aggregate, &[of.data_type().clone()]);
        let total = groups.iter().max().map_or(0, |most| most + 1);
        values.add(std::slice::from_ref(of), groups, total).unwrap();
        let result = values.results(EmitTo::All).unwrap();
        result.as_primitive::<Float64Type>().iter().collect()
    }

    #[test]
    fn results_are_null_where_a_float_overflows_or_is_not_finite() {
        use SortedAggregate as S;
        let large: ArrayRef = Arc::new(Float64Array::from(vec![1e308, -1e308, f64::INFINITY, 1.0]));
        let groups = [0, 0, 1, 1];
        assert_eq!(floats(S::SampleVariance, &large, &groups), [None, None]);
        assert_eq!(floats(S::Median, &large, &groups), [Some(0.0), Some(f64::INFINITY)]);
        let digits = Decimal128Array::from(vec![10i128.pow(38) - 1; 2]);
        let digits: ArrayRef = Arc::new(digits.with_precision_and_scale(38, 2).unwrap());
        // The two in the middle have no sum of 128 bits.
        assert_eq!(floats(S::Median, &digits, &[0, 0]), [None]);
        assert_eq!(floats(S::Median, &digits, &[0, 1]), [Some(1e36), Some(1e36)]);
        assert_eq!(floats(S::PopulationVariance, &digits, &[0, 1]), [Some(0.0), Some(0.0)]);
        assert_eq!(floats(S::SampleDeviation, &digits, &[0, 1]), [None, None]);
    }

    /// Groups may be handed out a few at a time, and more rows come in between.
    #[test]
    fn groups_that_are_left_keep_their_values() {
        let column =
            |values: &[Option<i64>]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
        let mut values = values_of(SortedAggregate::SumDistinct, &[DataType::Int64]);
        let first = column(&[Some(1), Some(5), Some(1), None]);
        values.add(&[first], &[0, 1, 0, 2], 3).unwrap();
        let result = values.results(EmitTo::First(1)).unwrap();
        assert_eq!(result.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(1)]);
        let second = column(&[Some(5), Some(7)]);
        values.add(&[second], &[0, 0], 2).unwrap();
        let result = values.results(EmitTo::All).unwrap();
        assert_eq!(result.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(12), None]);
    }

    /// Whatever the order of the rows.
    #[test]
    fn ties_are_broken_by_the_values_alone() {
        let pick = |aggregate, order: &[usize]| {
            let texts = ["b", "c", "a", "d"];
            let by = [2i64, 2, 2, 1];
            let texts: StringViewArray = order.iter().map(|at| Some(texts[*at])).collect();
            let by: Int64Array = order.iter().map(|at| by[*at]).collect();
            let mut values = values_of(aggregate, &[DataType::Utf8View, DataType::Int64]);
            let columns: [ArrayRef; 2] = [Arc::new(texts), Arc::new(by)];
            values.add(&columns, &[0; 4], 1).unwrap();
            let result = values.results(EmitTo::All).unwrap();
            result.as_string_view().value(0).to_owned()
        };
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            assert_eq!(pick(SortedAggregate::ArgMax, &order), "c");
            assert_eq!(pick(SortedAggregate::ArgMin, &order), "d");
        }
    }

    /// Texts are taken out of their rows in several arrays where they are long.
    #[test]
    fn long_texts_stay_those_of_their_groups() {
        let text = |at: usize| format!("text number {at} of {}", "x".repeat(20 + at % 7));
        let texts: StringViewArray = (0..100).map(|at| Some(text(at))).collect();
        let by = Int64Array::from(vec![1; 100]);
        let mut values = values_of(SortedAggregate::ArgMax, &[DataType::Utf8View, DataType::Int64]);
        let groups: Vec<usize> = (0..100).map(|at| at + at / 50).collect();
        let columns: [ArrayRef; 2] = [Arc::new(texts), Arc::new(by)];
        values.add(&columns, &groups, 102).unwrap();
        let result = values.results(EmitTo::All).unwrap();
        let result = result.as_string_view();
        for (at, group) in groups.into_iter().enumerate() {
            assert_eq!(result.value(group), text(at));
        }
        assert!(result.is_null(50) && result.is_null(101));
    }
}
