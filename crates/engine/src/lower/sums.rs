//! Sums and means of a unit's rows: total, and the same in every order of the rows.
//!
//! DataFusion's own sums wrap where they overflow, and add floats in the order in which rows
//! arrive. The order of rows can depend on the rows of other units, and so could the last bits of
//! the sum.

use std::mem::size_of;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array,
};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{Accumulator, EmitTo};
use datafusion::scalar::ScalarValue;
use hushtable_numbers::decimal::within_digits;

use super::whole_groups::{WholeGroups, unplanned};

/// The output that is made of sums.
#[derive(Clone, Debug)]
pub(super) struct SumOutput {
    mean: bool,
    of: DataType,
}

/// A sum on its way: exact for whole numbers and decimals, compensated for floats.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningSum {
    count: u64,
    whole: i128,
    /// How often `whole` went beyond its 128 bits: zero in the end, whatever the order, where the
    /// sum fits.
    carry: i64,
    float: f64,
    lost: f64,
    /// Whether a value was infinite. Without one, an infinite sum has overflowed.
    infinite: bool,
}

/// A value to add up, by the type of its column.
pub(super) enum SumValue {
    Whole(i128),
    Float(f64),
}

impl RunningSum {
    pub(super) fn add(&mut self, value: SumValue) {
        match value {
            SumValue::Whole(value) => self.add_whole(value),
            SumValue::Float(value) => self.add_float(value),
        }
    }

    fn add_whole(&mut self, value: i128) {
        self.count += 1;
        let (sum, beyond) = self.whole.overflowing_add(value);
        self.whole = sum;
        self.carry += i64::from(beyond) * if value < 0 { -1 } else { 1 };
    }

    /// Takes out a value that was added. Whether there was any.
    fn take_whole(&mut self, value: i128) -> bool {
        let Some(count) = self.count.checked_sub(1) else { return false };
        self.count = count;
        let (sum, beyond) = self.whole.overflowing_sub(value);
        self.whole = sum;
        self.carry -= i64::from(beyond) * if value < 0 { -1 } else { 1 };
        true
    }

    /// Neumaier's summation.
    pub(super) fn add_float(&mut self, value: f64) {
        self.count += 1;
        self.infinite |= value.is_infinite();
        let sum = self.float + value;
        if self.float.abs() >= value.abs() {
            self.lost += (self.float - sum) + value;
        } else {
            self.lost += (value - sum) + self.float;
        }
        self.float = sum;
    }

    /// The sum of floats, if it is a number.
    pub(super) fn float(&self) -> Option<f64> {
        // Rounding errors beside an infinity are not a number.
        let sum = if self.float.is_finite() { self.float + self.lost } else { self.float };
        (sum.is_finite() || (self.infinite && !sum.is_nan())).then_some(sum)
    }
}

impl SumOutput {
    pub(super) fn new(mean: bool, of: &DataType) -> Result<Self> {
        match of {
            DataType::Int64 | DataType::Float64 | DataType::Decimal128(38, _) => {
                Ok(Self { mean, of: of.clone() })
            }
            _ => Err(unplanned()),
        }
    }

    /// The output of an aggregate of one column.
    pub(super) fn of_one(mean: bool, types: &[DataType]) -> Result<Self> {
        let [of] = types else { return Err(unplanned()) };
        Self::new(mean, of)
    }

    /// Hands over each value of an array that is not NULL, with its index.
    pub(super) fn each(
        &self,
        values: &[ArrayRef],
        mut take: impl FnMut(usize, SumValue),
    ) -> Result<()> {
        let [array] = values else { return Err(unplanned()) };
        match &self.of {
            DataType::Int64 => {
                let array = array.as_primitive_opt::<Int64Type>().ok_or_else(|| unplanned())?;
                present(array).for_each(|at| take(at, SumValue::Whole(array.value(at).into())));
            }
            DataType::Decimal128(..) => {
                let array =
                    array.as_primitive_opt::<Decimal128Type>().ok_or_else(|| unplanned())?;
                present(array).for_each(|at| take(at, SumValue::Whole(array.value(at))));
            }
            _ => {
                let array = array.as_primitive_opt::<Float64Type>().ok_or_else(|| unplanned())?;
                present(array).for_each(|at| take(at, SumValue::Float(array.value(at))));
            }
        }
        Ok(())
    }

    /// A value as a float.
    pub(super) fn as_float(&self, value: &SumValue) -> f64 {
        match (value, &self.of) {
            (SumValue::Float(value), _) => *value,
            (SumValue::Whole(value), DataType::Decimal128(_, scale)) => {
                *value as f64 / 10f64.powi(i32::from(*scale))
            }
            (SumValue::Whole(value), _) => *value as f64,
        }
    }

    fn mean(&self, sum: &RunningSum) -> Option<f64> {
        if sum.count == 0 || sum.carry != 0 {
            return None;
        }
        let total = match self.of {
            DataType::Float64 => sum.float()?,
            DataType::Decimal128(_, scale) => sum.whole as f64 / 10f64.powi(i32::from(scale)),
            _ => sum.whole as f64,
        };
        // Minus zero is zero.
        Some(total / sum.count as f64 + 0.0)
    }

    fn whole(&self, sum: &RunningSum) -> Option<i128> {
        (sum.count > 0 && sum.carry == 0).then_some(sum.whole)
    }

    fn decimal(&self, sum: &RunningSum) -> Option<i128> {
        self.whole(sum).and_then(within_digits)
    }

    fn float(&self, sum: &RunningSum) -> Option<f64> {
        if sum.count == 0 { None } else { Some(sum.float()? + 0.0) }
    }

    pub(super) fn array(&self, sums: &[RunningSum]) -> Result<ArrayRef> {
        let sums = sums.iter();
        Ok(match (&self.of, self.mean) {
            (_, true) => Arc::new(sums.map(|s| self.mean(s)).collect::<Float64Array>()),
            (DataType::Int64, false) => {
                let fits = |s| self.whole(s).and_then(|n| i64::try_from(n).ok());
                Arc::new(sums.map(fits).collect::<Int64Array>())
            }
            (DataType::Decimal128(precision, scale), false) => Arc::new(
                sums.map(|s| self.decimal(s))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(*precision, *scale)?,
            ),
            (_, false) => Arc::new(sums.map(|s| self.float(s)).collect::<Float64Array>()),
        })
    }
}

fn present(array: &dyn Array) -> impl Iterator<Item = usize> {
    (0..array.len()).filter(|&at| array.is_valid(at))
}

/// The sum or mean of one window.
#[derive(Debug)]
pub(super) struct RunningWindow {
    state: RunningSum,
    output: SumOutput,
}

impl RunningWindow {
    pub(super) fn new(output: SumOutput) -> Self {
        Self { state: RunningSum::default(), output }
    }
}

impl Accumulator for RunningWindow {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Self { state, output } = self;
        output.each(values, |_, value| state.add(value))
    }

    /// Takes out the rows that a moving frame leaves behind.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Self { state, output } = self;
        let mut whole = true;
        output.each(values, |_, value| match value {
            SumValue::Whole(value) => whole &= state.take_whole(value),
            SumValue::Float(_) => whole = false,
        })?;
        if whole { Ok(()) } else { Err(unplanned()) }
    }

    fn supports_retract_batch(&self) -> bool {
        self.output.of != DataType::Float64
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.output.array(&[self.state])?, 0)
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Err(unplanned())
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Err(unplanned())
    }
}

/// The sums of many groups. Floats are kept until the end and added up from the least to the
/// greatest, so that the order in which they came does not matter.
#[derive(Debug)]
pub(super) struct GroupedSums {
    sums: Vec<RunningSum>,
    floats: Vec<(usize, f64)>,
    output: SumOutput,
}

impl GroupedSums {
    pub(super) fn new(output: SumOutput) -> Self {
        Self { sums: Vec::new(), floats: Vec::new(), output }
    }
}

impl WholeGroups for GroupedSums {
    fn add(&mut self, values: &[ArrayRef], groups: &[usize], total_groups: usize) -> Result<()> {
        self.sums.resize(total_groups, RunningSum::default());
        let Self { sums, floats, output } = self;
        output.each(values, |at, value| {
            let Some(&group) = groups.get(at) else { return };
            match value {
                SumValue::Whole(value) => {
                    if let Some(sum) = sums.get_mut(group) {
                        sum.add_whole(value);
                    }
                }
                SumValue::Float(value) => floats.push((group, value)),
            }
        })
    }

    fn results(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let emitted = match emit_to {
            EmitTo::All => self.sums.len(),
            EmitTo::First(n) => n.min(self.sums.len()),
        };
        let later = self.sums.split_off(emitted);
        let mut sums = std::mem::replace(&mut self.sums, later);
        let (mut floats, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.floats).into_iter().partition(|(group, _)| *group < emitted);
        self.floats = later.into_iter().map(|(group, value)| (group - emitted, value)).collect();
        floats.sort_unstable_by(|(group, value), (other, than)| {
            group.cmp(other).then_with(|| value.total_cmp(than))
        });
        for (group, value) in floats {
            sums.get_mut(group).ok_or_else(|| unplanned())?.add_float(value);
        }
        self.output.array(&sums)
    }

    fn bytes(&self) -> usize {
        self.sums.capacity() * size_of::<RunningSum>()
            + self.floats.capacity() * size_of::<(usize, f64)>()
    }
}
