//! Constants, and the names of types and date parts.

use hushtable_numbers::Number;
use sqlparser::ast;

use crate::date_part::DatePart;
use crate::error::Refusal;
use crate::expr::{Expr, ExprKind};
use crate::types::{ColumnType, MAX_KEY_BYTES, MAX_SCALE, Value};

/// The text of a text constant.
pub(super) fn text(value: &ast::Value) -> Option<&str> {
    use ast::Value as V;
    match value {
        V::SingleQuotedString(text)
        | V::DoubleQuotedString(text)
        | V::TripleSingleQuotedString(text)
        | V::TripleDoubleQuotedString(text)
        | V::SingleQuotedRawStringLiteral(text)
        | V::DoubleQuotedRawStringLiteral(text)
        | V::TripleSingleQuotedRawStringLiteral(text)
        | V::TripleDoubleQuotedRawStringLiteral(text) => Some(text),
        _ => None,
    }
}

pub(super) fn constant(value: &ast::Value) -> Result<Value, Refusal> {
    use ast::Value as V;
    if let Some(text) = text(value) {
        if text.len() > MAX_KEY_BYTES {
            let size = text.len();
            return Err(Refusal::new(
                format!("a text constant has {size} bytes; at most {MAX_KEY_BYTES} are allowed"),
                "compare with a part of it: STARTS_WITH(x, 'the first words')",
            ));
        }
        return Ok(Value::String(text.to_owned()));
    }
    let parsed = match value {
        V::Null => Some(Value::Null),
        V::Boolean(b) => Some(Value::Bool(*b)),
        V::Number(text, _) => match text.parse::<i64>() {
            Ok(n) => Some(Value::Int(n)),
            Err(_) => match Number::parse(text) {
                Some(number) => {
                    let (digits, scale) = number.digits_and_scale();
                    Some(Value::Decimal { digits, scale })
                }
                None => Value::parse(text, ColumnType::Float),
            },
        },
        _ => None,
    };
    parsed.ok_or_else(|| {
        Refusal::new(
            format!("the constant {value} is not supported"),
            "use numbers, 'text', TRUE, FALSE, NULL, DATE '2026-01-31' or TIMESTAMP '2026-01-31 \
             10:00:00'",
        )
    })
}

pub(super) fn typed_literal(typed: &ast::TypedString) -> Result<Expr, Refusal> {
    let target = sql_type(&typed.data_type)?;
    let Some(text) = text(&typed.value.value) else {
        let what = format!("`{}` is not a text", typed.value.value);
        return Err(Refusal::new(what, "DATE '2026-01-31'"));
    };
    Value::parse(text, target).map(Expr::literal).ok_or_else(|| {
        Refusal::new(
            format!("'{text}' is not a {target}"),
            "DATE '2026-01-31', TIMESTAMP '2026-01-31 10:00:00'",
        )
    })
}

pub(super) fn sql_name(column_type: ColumnType) -> &'static str {
    match column_type {
        ColumnType::Bool => "BOOL",
        ColumnType::Int => "INT64",
        ColumnType::Decimal { .. } => "NUMERIC",
        ColumnType::Float => "FLOAT64",
        ColumnType::String => "STRING",
        ColumnType::Date => "DATE",
        ColumnType::Timestamp => "TIMESTAMP",
    }
}

/// The type of that name.
///
/// # Errors
/// When there is none, or a length or a precision would cut off parts of values.
pub(super) fn sql_type(data_type: &ast::DataType) -> Result<ColumnType, Refusal> {
    use ast::{CharacterLength as L, DataType as D, ExactNumberInfo as N};
    match data_type {
        D::String(Some(length))
        | D::Varchar(Some(L::IntegerLength { length, unit: _ }))
        | D::Char(Some(L::IntegerLength { length, unit: _ })) => {
            return Err(Refusal::new(
                format!("the length in {data_type} is not supported"),
                format!("write STRING, or SUBSTR(x, 1, {length}) for the first characters"),
            ));
        }
        D::Timestamp(Some(digits), _) | D::Datetime(Some(digits)) if *digits != 6 => {
            return Err(Refusal::new(
                format!("the precision in {data_type} is not supported"),
                "write TIMESTAMP, which has microseconds; or TIMESTAMP_TRUNC(CAST(x AS TIMESTAMP), \
                 SECOND)",
            ));
        }
        _ => {}
    }
    let decimal = |info: &N| match info {
        // GoogleSQL's NUMERIC keeps nine decimal places.
        N::None => Some(9),
        N::Precision(_) => Some(0),
        N::PrecisionAndScale(_, scale) => u8::try_from(*scale).ok().filter(|&s| s <= MAX_SCALE),
    };
    let column_type = match data_type {
        D::Bool | D::Boolean => Some(ColumnType::Bool),
        D::Int64 | D::BigInt(_) | D::Int(_) | D::Integer(_) | D::SmallInt(_) | D::TinyInt(_) => {
            Some(ColumnType::Int)
        }
        D::Float64 | D::Double(_) | D::DoublePrecision | D::Float(_) | D::Real => {
            Some(ColumnType::Float)
        }
        D::String(_) | D::Varchar(_) | D::Text | D::Char(_) => Some(ColumnType::String),
        D::Date => Some(ColumnType::Date),
        D::Timestamp(_, _) | D::Datetime(_) => Some(ColumnType::Timestamp),
        D::Numeric(info) | D::Decimal(info) => {
            decimal(info).map(|scale| ColumnType::Decimal { scale })
        }
        _ => None,
    };
    column_type.ok_or_else(|| {
        Refusal::new(
            format!("the type {data_type} is not supported"),
            "use BOOL, INT64, NUMERIC(p, s), FLOAT64, STRING, DATE or TIMESTAMP",
        )
    })
}

pub(super) fn date_part(name: &str) -> Result<DatePart, Refusal> {
    Ok(match name.to_uppercase().as_str() {
        "YEAR" | "YEARS" => DatePart::Year,
        "ISOYEAR" => DatePart::IsoYear,
        "QUARTER" | "QUARTERS" => DatePart::Quarter,
        "MONTH" | "MONTHS" | "MON" => DatePart::Month,
        "WEEK" | "WEEKS" | "WEEK(SUNDAY)" => DatePart::Week,
        "ISOWEEK" | "WEEK(MONDAY)" => DatePart::IsoWeek,
        "DAY" | "DAYS" | "DAYOFMONTH" => DatePart::Day,
        "DAYOFWEEK" => DatePart::DayOfWeek,
        "DOW" => DatePart::DayOfWeekFromZero,
        "ISODOW" => DatePart::IsoDayOfWeek,
        "DAYOFYEAR" | "DOY" => DatePart::DayOfYear,
        "HOUR" | "HOURS" => DatePart::Hour,
        "MINUTE" | "MINUTES" => DatePart::Minute,
        "SECOND" | "SECONDS" => DatePart::Second,
        "MILLISECOND" | "MILLISECONDS" => DatePart::Millisecond,
        "MICROSECOND" | "MICROSECONDS" => DatePart::Microsecond,
        "EPOCH" => DatePart::Epoch,
        other => {
            return Err(Refusal::new(
                format!("the date part {other} is not supported"),
                "use YEAR, ISOYEAR, QUARTER, MONTH, WEEK, ISOWEEK, DAY, DAYOFWEEK, DOW, ISODOW, \
                 DAYOFYEAR, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND or EPOCH",
            ));
        }
    })
}

/// A constant whole number.
pub(super) fn integer(expr: &Expr) -> Option<i64> {
    match expr.kind {
        ExprKind::Literal(Value::Int(n)) => Some(n),
        _ => None,
    }
}
