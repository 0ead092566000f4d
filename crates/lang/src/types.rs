//! The types and values of the query language.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime};
use hushtable_numbers::decimal::FixedDecimal;
use hushtable_numbers::{Number, Step};
use serde::{Deserialize, Serialize};

/// Type of a column or expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// 64-bit integer; narrower integers of a file are widened.
    Int,
    /// Decimal of up to 38 digits, `scale` of them after the point.
    Decimal {
        /// Digits after the point, at most 18.
        scale: u8,
    },
    /// 64-bit float. NaN is NULL.
    Float,
    /// UTF-8 text, of at most as many bytes as the contract says; longer text is NULL.
    String,
    /// Day of the Gregorian calendar, in the years 1 to 9999.
    Date,
    /// Microseconds since 1970-01-01 00:00:00 UTC, in the years 1 to 9999.
    Timestamp,
}

/// Writes text that [`Value::parse`] reads back; NULL as `NULL`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(n) => write!(f, "{n}"),
            Self::Decimal { digits, scale } => {
                FixedDecimal { digits: *digits, scale: *scale }.fmt(f)
            }
            Self::Float(x) => write!(f, "{x}"),
            Self::String(text) => f.write_str(text),
            Self::Date(days) => match NaiveDate::from_epoch_days(*days) {
                Some(date) => write!(f, "{date}"),
                None => write!(f, "{days} days"),
            },
            Self::Timestamp(micros) => match DateTime::from_timestamp_micros(*micros) {
                Some(time) => write!(f, "{}", time.naive_utc()),
                None => write!(f, "{micros} microseconds"),
            },
        }
    }
}

/// Longer strings are out of range, as too large a number is, and are read as NULL.
pub const MAX_STRING_BYTES: usize = 65_536;

/// Longer text is NULL as a group key, and so is longer text that is put together by `||`: tables
/// of keys must not grow by what a query makes of a row.
pub const MAX_KEY_BYTES: usize = 1_024;

/// Most bytes of a text in a column where the contract sets no limit; at most [`MAX_STRING_BYTES`].
pub const DEFAULT_TEXT_BYTES: usize = 1_024;

/// Longer text is no number, date or timestamp for CAST.
pub const MAX_NUMBER_BYTES: usize = 400;

/// Days of the years 1 to 9999, since 1970-01-01.
const CALENDAR: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;

/// The day, if it is in the years 1 to 9999.
pub fn calendar_day(day: i32) -> Option<i32> {
    CALENDAR.contains(&day).then_some(day)
}

/// The moment in microseconds since 1970, if it is in the years 1 to 9999.
pub fn calendar_moment(micros: i64) -> Option<i64> {
    let day = i32::try_from(micros.div_euclid(86_400_000_000)).ok()?;
    calendar_day(day).map(|_| micros)
}

/// The month that a day is in, counted from the first of the calendar.
pub fn calendar_month(day: &impl Datelike) -> i64 {
    i64::from(day.year()) * 12 + i64::from(day.month0())
}

/// Largest scale of a decimal.
pub const MAX_SCALE: u8 = Number::MAX_SCALE;

impl ColumnType {
    /// Whether values can be added up.
    pub fn is_numeric(self) -> bool {
        matches!(self, Self::Int | Self::Decimal { .. } | Self::Float)
    }

    /// The step of size `value` for measures of this type, if there is one.
    pub fn step(self, value: Number) -> Option<Step> {
        let (digits, scale) = value.digits_and_scale();
        match self {
            Self::Int if scale == 0 => {
                u32::try_from(digits).ok().filter(|&d| d > 0).map(Step::Whole)
            }
            Self::Decimal { scale: column } if digits == 1 && scale <= column => {
                Some(Step::Decimal(scale))
            }
            Self::Float => Step::power_of_two(value),
            _ => None,
        }
    }

    /// The step used where the contract names none: 1 for integers, the column's own scale for
    /// decimals, and for floats the power of two at or below 2^-30 of the larger bound, which
    /// costs a billionth of the bound in rounding and depends on public numbers only.
    pub fn default_step(self, low: Number, high: Number) -> Step {
        match self {
            Self::Decimal { scale } => Step::Decimal(scale),
            Self::Float => Step::for_floats(low.to_f64().abs().max(high.to_f64().abs())),
            _ => Step::Whole(1),
        }
    }

    /// The type of that name in a contract: `int`, `decimal(2)`, `string`, …
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "int" => Self::Int,
            "float" => Self::Float,
            "string" => Self::String,
            "date" => Self::Date,
            "timestamp" => Self::Timestamp,
            _ => {
                let scale = name.strip_prefix("decimal(")?.strip_suffix(')')?.parse().ok()?;
                return (scale <= MAX_SCALE).then_some(Self::Decimal { scale });
            }
        })
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Decimal { scale } => write!(f, "decimal({scale})"),
            Self::Float => f.write_str("float"),
            Self::String => f.write_str("string"),
            Self::Date => f.write_str("date"),
            Self::Timestamp => f.write_str("timestamp"),
        }
    }
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// NULL, of the type that its context has.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// `digits * 10^-scale`.
    Decimal {
        /// The digits as an integer.
        digits: i128,
        /// Digits after the point.
        scale: u8,
    },
    /// A finite float.
    Float(f64),
    /// Text.
    String(String),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01 UTC.
    Timestamp(i64),
}

impl Value {
    /// The value's type; `None` for NULL.
    pub fn column_type(&self) -> Option<ColumnType> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(_) => ColumnType::Bool,
            Self::Int(_) => ColumnType::Int,
            Self::Decimal { scale, .. } => ColumnType::Decimal { scale: *scale },
            Self::Float(_) => ColumnType::Float,
            Self::String(_) => ColumnType::String,
            Self::Date(_) => ColumnType::Date,
            Self::Timestamp(_) => ColumnType::Timestamp,
        })
    }
}

impl Value {
    /// Whether it is the number zero.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Int(n) => *n == 0,
            Self::Decimal { digits, .. } => *digits == 0,
            Self::Float(x) => *x == 0.0,
            _ => false,
        }
    }

    /// The value as SQL writes it.
    pub fn as_sql(&self) -> String {
        match self {
            Self::String(text) => text_as_sql(text),
            Self::Date(_) => format!("DATE '{self}'"),
            Self::Timestamp(_) => format!("TIMESTAMP '{self}'"),
            Self::Bool(truth) => truth.to_string().to_uppercase(),
            Self::Null | Self::Int(_) | Self::Decimal { .. } | Self::Float(_) => self.to_string(),
        }
    }

    /// The value that `text` writes in that type.
    pub fn parse(text: &str, column_type: ColumnType) -> Option<Self> {
        Some(match column_type {
            ColumnType::Bool => Self::Bool(text.parse().ok()?),
            ColumnType::Int => Self::Int(text.replace('_', "").parse().ok()?),
            ColumnType::Decimal { scale } => {
                let (digits, text_scale) = Number::parse(text)?.digits_and_scale();
                let factor = 10i128.pow(u32::from(scale.checked_sub(text_scale)?));
                Self::Decimal { digits: digits.checked_mul(factor)?, scale }
            }
            ColumnType::Float => {
                let float: f64 = text.replace('_', "").parse().ok()?;
                // Minus zero is zero, as in the data.
                Self::Float(if float.is_finite() { float + 0.0 } else { return None })
            }
            ColumnType::String => {
                (text.len() <= MAX_STRING_BYTES).then(|| Self::String(text.to_owned()))?
            }
            ColumnType::Date => {
                let date: NaiveDate = text.parse().ok()?;
                let days = date.signed_duration_since(NaiveDate::default()).num_days();
                Self::Date(calendar_day(i32::try_from(days).ok()?)?)
            }
            ColumnType::Timestamp => {
                let micros = if let Ok(zoned) = DateTime::parse_from_rfc3339(text) {
                    zoned.timestamp_micros()
                } else if let Ok(date) = text.parse::<NaiveDate>() {
                    date.and_time(NaiveTime::MIN).and_utc().timestamp_micros()
                } else {
                    let plain = text.replacen(' ', "T", 1);
                    let minutes = || NaiveDateTime::parse_from_str(&plain, "%Y-%m-%dT%H:%M");
                    let at = plain.parse::<NaiveDateTime>().or_else(|_| minutes()).ok()?;
                    at.and_utc().timestamp_micros()
                };
                Self::Timestamp(calendar_moment(micros)?)
            }
        })
    }
}

/// A text as SQL writes it, on one line; raw where that keeps its backslashes readable.
pub fn text_as_sql(text: &str) -> String {
    if text.contains('\\') && !text.ends_with('\\') && !text.contains(['\'', '\n', '\r']) {
        return format!("r'{text}'");
    }
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{}'", text.replace('\n', "\\n").replace('\r', "\\r"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind_expr::bind_expression;
    use crate::expr::ExprKind;

    /// A constant of a message can be pasted into a query.
    #[test]
    fn constants_are_read_back_as_they_are_written() {
        for value in [
            Value::Null,
            Value::Bool(true),
            Value::Int(3),
            Value::Decimal { digits: 1_255, scale: 2 },
            Value::String("it's \\ \"so\"\r\n'".to_owned()),
            Value::String(r"^\d+\\$".to_owned()),
            Value::String("\\".to_owned()),
            Value::Date(20_000),
            Value::Timestamp(1_700_000_000_000_000),
        ] {
            let bound = bind_expression(&value.as_sql(), &[]).unwrap();
            assert_eq!(bound.kind, ExprKind::Literal(value));
        }
    }

    #[test]
    fn the_calendar_has_the_years_1_to_9999() {
        for (text, fits) in [
            ("0001-01-01", true),
            ("9999-12-31", true),
            ("0000-12-31", false),
            ("+10000-01-01", false),
            ("-0001-01-01", false),
        ] {
            assert_eq!(Value::parse(text, ColumnType::Date).is_some(), fits, "{text}");
            assert_eq!(Value::parse(text, ColumnType::Timestamp).is_some(), fits, "{text}");
        }
        let last = Value::parse("9999-12-31T23:59:59.999999", ColumnType::Timestamp);
        let Some(Value::Timestamp(last)) = last else { panic!("{last:?}") };
        assert_eq!((calendar_moment(last), calendar_moment(last + 1)), (Some(last), None));
    }

    #[test]
    fn steps_fit_their_types() {
        let n = |text: &str| Number::parse(text).unwrap();
        let decimal = ColumnType::Decimal { scale: 2 };
        assert_eq!(ColumnType::Int.step(n("100")), Some(Step::Whole(100)));
        assert_eq!(ColumnType::Int.step(n("0.5")), None);
        assert_eq!(ColumnType::Int.step(n("0")), None);
        assert_eq!(decimal.step(n("0.01")), Some(Step::Decimal(2)));
        assert_eq!(decimal.step(n("0.001")), None);
        assert_eq!(ColumnType::Float.step(n("0.0625")), Some(Step::PowerOfTwo(-4)));
        assert_eq!(ColumnType::Float.step(n("0.1")), None);
        let of_floats = ColumnType::Float.default_step(n("-3"), n("1000"));
        assert_eq!(of_floats, Step::PowerOfTwo(-21));
    }
}
