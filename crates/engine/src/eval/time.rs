//! Parts of dates and timestamps; NULL beyond the calendar of the years 1 to 9999.

use std::sync::Arc;

use chrono::{
    DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta, TimeZone, Timelike,
};
use chrono_tz::Tz;
use datafusion::arrow::array::{
    ArrayRef, AsArray, Date32Array, Int64Array, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{Date32Type, Int64Type, TimestampMicrosecondType};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{ColumnType, DatePart, calendar_day, calendar_moment};

use super::cast::date_of;
use super::unexpected;

/// The moments of a date or timestamp array.
pub(super) fn moments(
    array: &ArrayRef,
) -> Result<Box<dyn Iterator<Item = Option<NaiveDateTime>> + '_>, ArrowError> {
    if let Some(days) = array.as_primitive_opt::<Date32Type>() {
        return Ok(Box::new(days.iter().map(|d| Some(date_of(d?)?.and_time(NaiveTime::MIN)))));
    }
    let micros =
        array.as_primitive_opt::<TimestampMicrosecondType>().ok_or_else(|| unexpected())?;
    Ok(Box::new(micros.iter().map(|t| Some(DateTime::from_timestamp_micros(t?)?.naive_utc()))))
}

/// The week of the year, by Sundays: days before the first one are in week 0.
pub(super) fn week(t: NaiveDateTime) -> u32 {
    (t.ordinal0() + 7 - t.weekday().num_days_from_sunday()) / 7
}

/// The day of a moment, in days since 1970, if the calendar has it.
pub(super) fn days(t: NaiveDateTime) -> Option<i32> {
    let days = t.date().signed_duration_since(NaiveDate::default()).num_days();
    calendar_day(i32::try_from(days).ok()?)
}

/// A moment in microseconds since 1970, if the calendar has it.
pub(super) fn micros(t: NaiveDateTime) -> Option<i64> {
    calendar_moment(t.and_utc().timestamp_micros())
}

pub(super) fn part(part: DatePart, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let of = |t: NaiveDateTime| -> i64 {
        match part {
            DatePart::Year => i64::from(t.year()),
            DatePart::Quarter => i64::from(t.quarter()),
            DatePart::Month => i64::from(t.month()),
            DatePart::IsoYear => i64::from(t.iso_week().year()),
            DatePart::Week => i64::from(week(t)),
            DatePart::IsoWeek => i64::from(t.iso_week().week()),
            DatePart::Day => i64::from(t.day()),
            DatePart::DayOfWeek => i64::from(t.weekday().number_from_sunday()),
            DatePart::DayOfWeekFromZero => i64::from(t.weekday().num_days_from_sunday()),
            DatePart::IsoDayOfWeek => i64::from(t.weekday().number_from_monday()),
            DatePart::DayOfYear => i64::from(t.ordinal()),
            DatePart::Hour => i64::from(t.hour()),
            DatePart::Minute => i64::from(t.minute()),
            DatePart::Second => i64::from(t.second()),
            DatePart::Millisecond => i64::from(t.nanosecond() / 1_000_000),
            DatePart::Microsecond => i64::from(t.nanosecond() / 1_000),
            DatePart::Epoch => t.and_utc().timestamp(),
        }
    };
    let parts: Int64Array = moments(array)?.map(|t| Some(of(t?))).collect();
    Ok(Arc::new(parts))
}

/// The time that clocks show in a zone at moments of UTC.
pub(super) fn local(array: &ArrayRef, zone: Tz) -> Result<ArrayRef, ArrowError> {
    let micros =
        array.as_primitive_opt::<TimestampMicrosecondType>().ok_or_else(|| unexpected())?;
    let of = |utc: i64| {
        let moment = DateTime::from_timestamp_micros(utc)?.naive_utc();
        let ahead = zone.offset_from_utc_datetime(&moment).fix().local_minus_utc();
        calendar_moment(utc.checked_add(i64::from(ahead) * 1_000_000)?)
    };
    let local: TimestampMicrosecondArray = micros.iter().map(|utc| of(utc?)).collect();
    Ok(Arc::new(local))
}

/// Dates of years, months and days; NULL where there is no such day.
pub(super) fn dates(
    years: &ArrayRef,
    months: &ArrayRef,
    of_month: &ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let numbers = |array: &ArrayRef| array.as_primitive_opt::<Int64Type>().cloned();
    let all = numbers(years).zip(numbers(months)).zip(numbers(of_month));
    let ((years, months), of_month) = all.ok_or_else(|| unexpected())?;
    let date = |year: Option<i64>, month: Option<i64>, day: Option<i64>| {
        let (month, day) = (u32::try_from(month?).ok()?, u32::try_from(day?).ok()?);
        let day = NaiveDate::from_ymd_opt(i32::try_from(year?).ok()?, month, day)?;
        days(day.and_time(NaiveTime::MIN))
    };
    let rows = years.iter().zip(months.iter()).zip(of_month.iter());
    let array: Date32Array = rows.map(|((year, month), day)| date(year, month, day)).collect();
    Ok(Arc::new(array))
}

/// The first moment of the part that `t` is in.
fn start(part: DatePart, t: NaiveDateTime) -> Option<NaiveDateTime> {
    let day = t.date();
    let first = |month: u32| NaiveDate::from_ymd_opt(day.year(), month, 1);
    let before = |days: u32| day.checked_sub_signed(TimeDelta::try_days(days.into())?);
    let midnight = match part {
        DatePart::Year => first(1)?,
        DatePart::Quarter => first(3 * (day.month0() / 3) + 1)?,
        DatePart::Month => first(day.month())?,
        DatePart::IsoYear => {
            NaiveDate::from_isoywd_opt(day.iso_week().year(), 1, chrono::Weekday::Mon)?
        }
        DatePart::Week => before(day.weekday().num_days_from_sunday())?,
        DatePart::IsoWeek => before(day.weekday().num_days_from_monday())?,
        DatePart::Day => day,
        DatePart::Hour => return day.and_hms_opt(t.hour(), 0, 0),
        DatePart::Minute => return day.and_hms_opt(t.hour(), t.minute(), 0),
        DatePart::Second => return day.and_hms_opt(t.hour(), t.minute(), t.second()),
        DatePart::Millisecond => {
            return t.with_nanosecond(t.nanosecond() / 1_000_000 * 1_000_000);
        }
        DatePart::Microsecond => return Some(t),
        DatePart::DayOfWeek
        | DatePart::DayOfWeekFromZero
        | DatePart::IsoDayOfWeek
        | DatePart::DayOfYear
        | DatePart::Epoch => return None,
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
        let array: Date32Array = starts.map(|t| days(t?)).collect();
        return Ok(Arc::new(array));
    }
    let array: TimestampMicrosecondArray = starts.map(|t| micros(t?)).collect();
    Ok(Arc::new(array))
}
