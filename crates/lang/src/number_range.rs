//! The least and the greatest value of a number, and what functions of one number make of them.

use hushtable_numbers::decimal::{LARGEST, round_quotient};
use hushtable_numbers::{MAX_LATTICE, Step};

use crate::date_part::DatePart;
use crate::types::{ColumnType, Value};

/// 10^38: decimals have fewer digits.
const DECIMAL_LIMIT: i128 = LARGEST + 1;

/// Floats up to here are scaled and rounded without overflow.
const LARGEST_FLOAT: f64 = 1e280;

/// Least and greatest value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Always NULL.
    Nothing,
    /// Integers, or the digits of decimals at the expression's scale.
    Exact(i128, i128),
    /// Finite floats.
    Float(f64, f64),
}

/// A number rounded to that many digits after the point; before it, where they are negative. Halves
/// go away from zero. Ranges are right only for what is computed as they are.
pub fn rounded(x: f64, digits: i8) -> f64 {
    // A power of ten is exact, and a tenth is not.
    let factor = 10f64.powi(i32::from(digits.unsigned_abs()));
    if digits < 0 { (x / factor).round() * factor } else { (x * factor).round() / factor }
}

impl Range {
    /// All values that a type of numbers holds.
    pub(crate) fn of_type(column_type: ColumnType) -> Option<Self> {
        match column_type {
            ColumnType::Int => Some(Self::Exact(i64::MIN.into(), i64::MAX.into())),
            ColumnType::Decimal { .. } => Some(Self::Exact(1 - DECIMAL_LIMIT, DECIMAL_LIMIT - 1)),
            ColumnType::Float => Some(Self::Float(-f64::MAX, f64::MAX)),
            _ => None,
        }
    }

    /// The range, where it says more than the type: both its ends are nearer to zero.
    pub fn bounded(self, column_type: ColumnType) -> Option<Self> {
        let bounded = match (self, Self::of_type(column_type)?) {
            (Self::Exact(low, high), Self::Exact(least, most)) => low > least && high < most,
            (Self::Float(low, high), _) => low > -LARGEST_FLOAT && high < LARGEST_FLOAT,
            _ => false,
        };
        bounded.then_some(self)
    }

    /// The range of sums of one value of the range or more.
    pub fn of_sums(self, column_type: ColumnType) -> Option<Self> {
        Some(match (self, Self::of_type(column_type)?) {
            (Self::Exact(low, high), Self::Exact(least, most)) => {
                Self::Exact(if low < 0 { least } else { low }, if high > 0 { most } else { high })
            }
            (Self::Float(low, high), Self::Float(least, most)) => Self::Float(
                if low < 0.0 { least } else { low },
                if high > 0.0 { most } else { high },
            ),
            _ => Self::Nothing,
        })
    }

    /// The range of a value; `None` for what is no number.
    pub fn of_value(value: &Value) -> Option<Self> {
        Some(match *value {
            Value::Null => Self::Nothing,
            Value::Int(n) => Self::Exact(n.into(), n.into()),
            Value::Decimal { digits, .. } => Self::Exact(digits, digits),
            Value::Float(x) => Self::Float(x, x),
            _ => return None,
        })
    }

    /// The values that a type holds; the others are NULL.
    pub(crate) fn fitting(self, column_type: ColumnType) -> Option<Self> {
        let within = |low: i128, high: i128, least: i128, most: i128| {
            if high < least || low > most {
                Self::Nothing
            } else {
                Self::Exact(low.max(least), high.min(most))
            }
        };
        match (self, column_type) {
            (Self::Nothing, _) => Some(Self::Nothing),
            (Self::Exact(low, high), ColumnType::Int) => {
                Some(within(low, high, i64::MIN.into(), i64::MAX.into()))
            }
            (Self::Exact(low, high), ColumnType::Decimal { .. }) => {
                Some(within(low, high, 1 - DECIMAL_LIMIT, DECIMAL_LIMIT - 1))
            }
            (Self::Float(low, high), ColumnType::Float) => {
                (low.is_finite() && high.is_finite()).then_some(self)
            }
            _ => None,
        }
    }

    /// The smallest range that holds all ranges.
    pub fn hull(mut all: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        all.try_fold(Self::Nothing, |whole, next| {
            Some(match (whole, next?) {
                (Self::Nothing, other) | (other, Self::Nothing) => other,
                (Self::Exact(a, b), Self::Exact(c, d)) => Self::Exact(a.min(c), b.max(d)),
                (Self::Float(a, b), Self::Float(c, d)) => Self::Float(a.min(c), b.max(d)),
                _ => return None,
            })
        })
    }

    /// The range of what both ranges hold; the nearest end of `self` where they have nothing in
    /// common.
    pub fn within(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact(a, b), Self::Exact(c, d)) if c <= d => {
                Self::Exact(a.clamp(c, d), b.clamp(c, d))
            }
            (Self::Float(a, b), Self::Float(c, d)) if c <= d => {
                Self::Float(a.clamp(c, d), b.clamp(c, d))
            }
            _ => self,
        }
    }

    /// The range of the greatest or the least of values: no end is beyond those of the others.
    pub(crate) fn extreme(all: impl Iterator<Item = Option<Self>>, greatest: bool) -> Option<Self> {
        let pick = |a: i128, b: i128| if greatest { a.max(b) } else { a.min(b) };
        let float = |a: f64, b: f64| if greatest { a.max(b) } else { a.min(b) };
        let ranges = all.collect::<Option<Vec<_>>>()?;
        ranges.into_iter().map(Some).reduce(|whole, next| {
            Some(match (whole?, next?) {
                (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
                (Self::Exact(a, b), Self::Exact(c, d)) => Self::Exact(pick(a, c), pick(b, d)),
                (Self::Float(a, b), Self::Float(c, d)) => Self::Float(float(a, c), float(b, d)),
                _ => return None,
            })
        })?
    }

    /// Minus the number.
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Exact(low, high) => Self::Exact(-high, -low),
            Self::Float(low, high) => Self::Float(0.0 - high, 0.0 - low),
        }
    }

    /// The number without its sign.
    pub(crate) fn absolute(self) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Exact(low, high) => {
                let least = if low <= 0 && high >= 0 { 0 } else { low.abs().min(high.abs()) };
                Self::Exact(least, low.abs().max(high.abs()))
            }
            Self::Float(low, high) => {
                let crosses = low <= 0.0 && high >= 0.0;
                let least = if crosses { 0.0 } else { low.abs().min(high.abs()) };
                Self::Float(least, low.abs().max(high.abs()))
            }
        }
    }

    /// The sign of a number, in which one has the digits `one`.
    pub(crate) fn sign(self, one: i128) -> Self {
        let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
        match self {
            Self::Nothing => Self::Nothing,
            Self::Exact(low, high) => Self::Exact(low.signum() * one, high.signum() * one),
            Self::Float(low, high) => Self::Float(sign(low), sign(high)),
        }
    }

    /// The number rounded to a whole one, where one has the digits `one`.
    pub(crate) fn to_whole(self, one: i128) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Exact(low, high) => {
                Self::Exact(round_quotient(low, one), round_quotient(high, one))
            }
            Self::Float(low, high) => Self::Exact(low.round() as i128, high.round() as i128),
        }
    }

    /// The range of a function of floats that never falls, and that is computed exactly.
    pub(crate) fn rising(self, function: impl Fn(f64) -> f64) -> Option<Self> {
        match self {
            Self::Nothing => Some(Self::Nothing),
            Self::Float(low, high) => Some(Self::Float(function(low) + 0.0, function(high) + 0.0)),
            Self::Exact(..) => None,
        }
    }

    /// The range of a function of floats that rises, and that libraries compute to within a few
    /// units in the last place.
    pub(crate) fn rising_nearly(self, function: impl Fn(f64) -> f64) -> Option<Self> {
        let away = |x: f64| 4.0 * f64::EPSILON * x.abs() + f64::MIN_POSITIVE;
        match self.rising(function)? {
            Self::Float(low, high) => Some(Self::Float(low - away(low), high + away(high))),
            other => Some(other),
        }
    }

    /// The float rounded to that many digits after the point.
    pub(crate) fn rounded(self, digits: i8) -> Option<Self> {
        if let Self::Float(low, high) = self {
            let most = low.abs().max(high.abs());
            if most.max(most * 10f64.powi(i32::from(digits))) > LARGEST_FLOAT {
                return None;
            }
        }
        self.rising(|x| rounded(x, digits))
    }

    /// The square root of a float. Roots of what is below zero are NULL.
    pub(crate) fn square_root(self) -> Option<Self> {
        match self {
            Self::Float(_, high) if high < 0.0 => Some(Self::Nothing),
            other => other.rising(|x| x.max(0.0).sqrt()),
        }
    }

    /// A logarithm of a float. Logarithms of what is not above zero are NULL.
    pub(crate) fn logarithm(self, function: impl Fn(f64) -> f64) -> Option<Self> {
        match self {
            Self::Float(_, high) if high <= 0.0 => Some(Self::Nothing),
            Self::Float(low, _) if low <= 0.0 => None,
            other => other.rising_nearly(function),
        }
    }

    /// The numbers that a part of dates has.
    pub(crate) fn of_part(part: DatePart) -> Option<Self> {
        Some(match part {
            DatePart::Quarter => Self::Exact(1, 4),
            DatePart::Month => Self::Exact(1, 12),
            DatePart::Day => Self::Exact(1, 31),
            DatePart::DayOfWeek | DatePart::IsoDayOfWeek => Self::Exact(1, 7),
            DatePart::DayOfWeekFromZero => Self::Exact(0, 6),
            DatePart::Week => Self::Exact(0, 53),
            DatePart::IsoWeek => Self::Exact(1, 53),
            DatePart::DayOfYear => Self::Exact(1, 366),
            DatePart::Hour => Self::Exact(0, 23),
            DatePart::Minute | DatePart::Second => Self::Exact(0, 59),
            DatePart::Millisecond => Self::Exact(0, 999),
            DatePart::Microsecond => Self::Exact(0, 999_999),
            // A calendar of half a million years is no bound that anybody wants noise for.
            DatePart::Year | DatePart::IsoYear | DatePart::Epoch => return None,
        })
    }

    /// The range as floats: of whole numbers, and of decimals by their scale.
    pub fn to_f64(self, column_type: ColumnType) -> Option<(f64, f64)> {
        let one = match column_type {
            ColumnType::Decimal { scale } => 10f64.powi(scale.into()),
            _ => 1.0,
        };
        match self {
            Self::Nothing => None,
            Self::Exact(low, high) => Some((low as f64 / one, high as f64 / one)),
            Self::Float(low, high) => Some((low, high)),
        }
    }

    /// The size of lattice steps where none is declared.
    pub fn default_step(&self, column_type: ColumnType) -> Step {
        match (*self, column_type) {
            (Self::Float(low, high), _) => Step::for_floats(low.abs().max(high.abs())),
            (_, ColumnType::Decimal { scale }) => Step::Decimal(scale),
            _ => Step::Whole(1),
        }
    }

    /// The range in steps of the lattice, rounded outwards: it holds every value, rounded. `None`
    /// without any value, and beyond [`MAX_LATTICE`].
    pub fn in_steps(&self, step: Step, column_type: ColumnType) -> Option<(i64, i64)> {
        let (low, high) = match (*self, step, column_type) {
            (Self::Exact(low, high), Step::Whole(n), ColumnType::Int) => {
                outwards(low, high, n.into())
            }
            (Self::Exact(low, high), Step::Decimal(to), ColumnType::Decimal { scale }) => {
                outwards(low, high, 10i128.pow(scale.checked_sub(to)?.into()))
            }
            (Self::Float(low, high), Step::PowerOfTwo(exponent), ColumnType::Float) => {
                let size = 2f64.powi(exponent.into());
                ((low / size).floor() as i128, (high / size).ceil() as i128)
            }
            _ => return None,
        };
        let fits = |steps: i128| i64::try_from(steps).ok().filter(|n| n.abs() <= MAX_LATTICE);
        Some((fits(low)?, fits(high)?))
    }
}

/// The whole multiples of `size` around both ends.
pub(crate) fn outwards(low: i128, high: i128, size: i128) -> (i128, i128) {
    (low.div_euclid(size), -(-high).div_euclid(size))
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn what_has_no_digits_to_round_away_stays() {
        for (x, digits, want) in [
            (f64::MAX, -2, f64::MAX),
            (-1e22, -3, -1e22),
            (1250.0, -2, 1300.0),
            (-1250.0, -2, -1300.0),
            (2.345, 1, 2.3),
            (2.5, 0, 3.0),
        ] {
            assert_eq!(rounded(x, digits), want, "{x} {digits}");
        }
    }
}
