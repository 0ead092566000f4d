//! The text that a value in JSON is read from, as fields of CSV are.

use std::borrow::Cow;
use std::str;

use hushtable_lang::{ColumnType, JsonKind, JsonValue, Value};
use hushtable_numbers::decimal::WrittenDecimal;

use super::convert::ReadType;
use super::parse::is_plain;

/// The text of a value that is not `null`; `None` where its kind does not fit the type.
///
/// A text is what it says. A number is a number, however it is written: `7`, `7.0` and `70e-1` are
/// one whole number, and so one unit. Where texts are wanted, every value is as it is written; but
/// where these tell units apart, it has to be a text or a whole number without a fraction or an
/// exponent, as one value of another kind can be written in several ways.
pub(super) fn field(value: JsonValue<'_>, to: ReadType) -> Option<Cow<'_, [u8]>> {
    let (declared, exactly) = match to {
        ReadType::Value(declared) => (declared, false),
        ReadType::Identifier(declared) => (declared, true),
        ReadType::Wide => (ColumnType::Int, true),
    };
    let written = value.written();
    let as_written = Some(Cow::Borrowed(written));
    match (value.kind(), declared) {
        (JsonKind::Text, _) => value.text().map(|text| match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }),
        (JsonKind::Number, ColumnType::Decimal { scale }) if exactly => exact(written, scale),
        (JsonKind::Number, ColumnType::Int) if !is_plain(written) => exact(written, 0),
        (JsonKind::Number, ColumnType::String) if exactly && !is_plain(written) => None,
        (JsonKind::Array | JsonKind::Object, ColumnType::String) if !exactly => as_written,
        (JsonKind::Null | JsonKind::Array | JsonKind::Object, _) => None,
        // The unit of a number that stands for a time is not known.
        (JsonKind::Number, ColumnType::Date | ColumnType::Timestamp) => None,
        (JsonKind::Bool | JsonKind::Number, _) => as_written,
    }
}

/// A number as `CAST` to text writes it; `None` where it has more decimal places.
fn exact(written: &[u8], scale: u8) -> Option<Cow<'_, [u8]>> {
    let number = WrittenDecimal::read(str::from_utf8(written).ok()?)?;
    let digits = number.rounded(scale).filter(|_| number.places() <= u64::from(scale))?;
    let value = match scale {
        0 => digits.to_string(),
        scale => Value::Decimal { digits, scale }.to_string(),
    };
    Some(Cow::Owned(value.into_bytes()))
}
