//! Parts of dates and timestamps; NULL beyond the calendar (years -262143 to 262142).

use std::sync::Arc;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};
use datafusion::arrow::array::{
    ArrayRef, AsArray, Date32Array, Int64Array, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{Date32Type, TimestampMicrosecondType};
use datafusion::arrow::error::ArrowError;
use hushtable_query::{ColumnType, DatePart};

use super::cast::date_of;
use super::unexpected;

/// The moments of a date or timestamp array.
fn moments(
    array: &ArrayRef,
) -> Result<Box<dyn Iterator<Item = Option<NaiveDateTime>> + '_>, ArrowError> {
    if let Some(days) = array.as_primitive_opt::<Date32Type>() {
        return Ok(Box::new(days.iter().map(|d| Some(date_of(d?)?.and_time(NaiveTime::MIN)))));
    }
    let micros = array.as_primitive_opt::<TimestampMicrosecondType>().ok_or_else(unexpected)?;
    Ok(Box::new(micros.iter().map(|t| Some(DateTime::from_timestamp_micros(t?)?.naive_utc()))))
}

pub(super) fn part(part: DatePart, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let of = |t: NaiveDateTime| -> i64 {
        match part {
            DatePart::Year => i64::from(t.year()),
            DatePart::Quarter => i64::from(t.quarter()),
            DatePart::Month => i64::from(t.month()),
            DatePart::IsoWeek => i64::from(t.iso_week().week()),
            DatePart::Day => i64::from(t.day()),
            DatePart::DayOfWeek => i64::from(t.weekday().number_from_sunday()),
            DatePart::DayOfYear => i64::from(t.ordinal()),
            DatePart::Hour => i64::from(t.hour()),
            DatePart::Minute => i64::from(t.minute()),
            DatePart::Second => i64::from(t.second()),
        }
    };
    let parts: Int64Array = moments(array)?.map(|t| Some(of(t?))).collect();
    Ok(Arc::new(parts))
}

/// The first moment of the part that `t` is in.
fn start(part: DatePart, t: NaiveDateTime) -> Option<NaiveDateTime> {
    let day = t.date();
    let first = |month: u32| NaiveDate::from_ymd_opt(day.year(), month, 1);
    let midnight = match part {
        DatePart::Year => first(1)?,
        DatePart::Quarter => first(3 * (day.month0() / 3) + 1)?,
        DatePart::Month => first(day.month())?,
        DatePart::IsoWeek => {
            let since = i64::from(day.weekday().num_days_from_monday());
            day.checked_sub_signed(TimeDelta::try_days(since)?)?
        }
        DatePart::Day => day,
        DatePart::Hour => return day.and_hms_opt(t.hour(), 0, 0),
        DatePart::Minute => return day.and_hms_opt(t.hour(), t.minute(), 0),
        DatePart::Second => return day.and_hms_opt(t.hour(), t.minute(), t.second()),
        DatePart::DayOfWeek | DatePart::DayOfYear => return None,
    };
    Some(midnight.and_time(NaiveTime::MIN))
}

pub(super) fn truncate(
    part: DatePart,
    array: &ArrayRef,
    column_type: ColumnType,
) -> Result<ArrayRef, ArrowError> {
    let starts = moments(array)?.map(|t| start(part, t?));
    if column_type == ColumnType::Date {
        let days = |t: NaiveDateTime| {
            let days = t.date().signed_duration_since(NaiveDate::default()).num_days();
            i32::try_from(days).ok()
        };
        let array: Date32Array = starts.map(|t| days(t?)).collect();
        return Ok(Arc::new(array));
    }
    let array: TimestampMicrosecondArray =
        starts.map(|t| Some(t?.and_utc().timestamp_micros())).collect();
    Ok(Arc::new(array))
}
