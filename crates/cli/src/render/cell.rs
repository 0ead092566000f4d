//! One value of a result.

use hushtable::arrow::array::{Array, AsArray};
use hushtable::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};
use hushtable::arrow::record_batch::RecordBatch;
use hushtable::numbers::decimal::FixedDecimal;

use super::cannot_show;
use crate::failure::Failure;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// One value of a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ResultCell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// The written digits, with the column's scale.
    Decimal(String),
    Float(f64),
    Text(&'a str),
    /// A date or timestamp as ISO 8601 has it.
    Moment(String),
}

/// The rows of a result.
pub(crate) fn rows(batch: &RecordBatch) -> Result<Vec<Vec<ResultCell<'_>>>, Failure> {
    let row = |i| batch.columns().iter().map(|column| cell(column.as_ref(), i)).collect();
    let rows: Option<Vec<_>> = (0..batch.num_rows()).map(row).collect();
    rows.ok_or_else(|| cannot_show("column"))
}

/// Whether a column's values are numbers.
pub(crate) fn is_number(column_type: &DataType) -> bool {
    matches!(column_type, DataType::Int64 | DataType::Decimal128(..) | DataType::Float64)
}

/// `None` for a type that results do not have.
fn cell(column: &dyn Array, i: usize) -> Option<ResultCell<'_>> {
    if column.data_type() == &DataType::Null || column.is_null(i) {
        return Some(ResultCell::Null);
    }
    Some(match column.data_type() {
        DataType::Boolean => ResultCell::Bool(column.as_boolean_opt()?.value(i)),
        DataType::Int64 => ResultCell::Int(column.as_primitive_opt::<Int64Type>()?.value(i)),
        DataType::Float64 => ResultCell::Float(column.as_primitive_opt::<Float64Type>()?.value(i)),
        DataType::Decimal128(_, scale) => {
            let digits = column.as_primitive_opt::<Decimal128Type>()?.value(i);
            let scale = u8::try_from(*scale).ok()?;
            ResultCell::Decimal(FixedDecimal { digits, scale }.to_string())
        }
        DataType::Utf8 => ResultCell::Text(column.as_string_opt::<i32>()?.value(i)),
        DataType::Utf8View => ResultCell::Text(column.as_string_view_opt()?.value(i)),
        DataType::Date32 => {
            let days = column.as_primitive_opt::<Date32Type>()?.value(i);
            ResultCell::Moment(date(i64::from(days)))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = column.as_primitive_opt::<TimestampMicrosecondType>()?.value(i);
            ResultCell::Moment(timestamp(micros))
        }
        _ => return None,
    })
}

/// The Gregorian year, month and day, for every day that fits: what libraries for dates have no
/// year for would otherwise have to be an error.
pub(super) fn civil(days: i64) -> (i64, i64, i64) {
    // Years from March, so that leap days come last; eras of 400 years have 146,097 days.
    let from_march = days + 719_468;
    let (era, day_of_era) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The days from 1970 to the first of a month; months are counted from the year 0 on.
pub(super) fn month_start(months: i64) -> i64 {
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12));
    // Years from March again.
    let (year, shifted_month) = if month >= 2 { (year, month - 2) } else { (year - 1, month + 10) };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * shifted_month + 2) / 5;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The Gregorian date.
pub(crate) fn date(days: i64) -> String {
    let (year, month, day) = civil(days);
    // ISO 8601 wants a sign outside of four digits.
    let sign = match year {
        0..=9999 => "",
        10_000.. => "+",
        _ => "-",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// The moment that is this number of microseconds after 1970.
pub(crate) fn timestamp(micros: i64) -> String {
    let (days, rest) = (micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY));
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:06}") };
    format!("{}T{hour:02}:{minute:02}:{second:02}{fraction}", date(days))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_all_ages() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
            (19_782, "2024-02-29"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
            (i64::from(i32::MAX), "+5881580-07-11"),
            (i64::from(i32::MIN), "-5877641-06-23"),
        ] {
            assert_eq!(date(days), text, "{days}");
            let (year, month, day) = civil(days);
            assert_eq!(month_start(12 * year + month - 1) + day - 1, days);
        }
    }

    #[test]
    fn timestamps_show_fractions_where_there_are_any() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00");
        assert_eq!(timestamp(-1), "1969-12-31T23:59:59.999999");
        assert_eq!(timestamp(1_709_210_096_000_100), "2024-02-29T12:34:56.000100");
        assert_eq!(timestamp(i64::MIN), "-290308-12-21T19:59:05.224192");
    }
}
