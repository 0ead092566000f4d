//! Spans between dates and timestamps, moments moved by spans, and buckets of one span each; NULL
//! beyond the calendar.

use std::sync::Arc;

use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveDateTime, NaiveTime};
use datafusion::arrow::array::{
    ArrayRef, AsArray, Date32Array, Int64Array, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{Date32Type, Int64Type, TimestampMicrosecondType};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{DatePart, calendar_day, calendar_moment, calendar_month};

use super::time::{days, micros, moments};
use super::unexpected;

const DAY: i64 = 86_400_000_000;

/// How many months a part has, where it has some.
fn months(part: DatePart) -> Option<i64> {
    match part {
        DatePart::Year => Some(12),
        DatePart::Quarter => Some(3),
        DatePart::Month => Some(1),
        _ => None,
    }
}

/// The moment that many months later; the last day of the month where it has no such day.
fn months_later(moment: NaiveDateTime, months: i64) -> Option<NaiveDateTime> {
    let size = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    if months < 0 { moment.checked_sub_months(size) } else { moment.checked_add_months(size) }
}

/// Each moment, moved by that many of the part.
pub(super) fn added(
    part: DatePart,
    array: &ArrayRef,
    counts: &ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let counts = counts.as_primitive_opt::<Int64Type>().ok_or_else(|| unexpected())?;
    let dates = array.as_primitive_opt::<Date32Type>();
    if let Some(of_part) = months(part) {
        let later = moments(array)?
            .zip(counts)
            .map(|(moment, count)| months_later(moment?, count?.checked_mul(of_part)?));
        return Ok(match dates {
            Some(_) => Arc::new(later.map(|t| days(t?)).collect::<Date32Array>()),
            None => Arc::new(later.map(|t| micros(t?)).collect::<TimestampMicrosecondArray>()),
        });
    }
    let length = part.microseconds().ok_or_else(|| unexpected())?;
    Ok(match dates {
        Some(dates) => {
            let later = |day: i32, count: i64| {
                let moved = i64::from(day).checked_add(count.checked_mul(length / DAY)?)?;
                calendar_day(i32::try_from(moved).ok()?)
            };
            let all = dates.iter().zip(counts).map(|(day, count)| later(day?, count?));
            Arc::new(all.collect::<Date32Array>())
        }
        None => {
            let moments =
                array.as_primitive_opt::<TimestampMicrosecondType>().ok_or_else(|| unexpected())?;
            let later = |moment: i64, count: i64| {
                calendar_moment(moment.checked_add(count.checked_mul(length)?)?)
            };
            let all = moments.iter().zip(counts).map(|(moment, count)| later(moment?, count?));
            Arc::new(all.collect::<TimestampMicrosecondArray>())
        }
    })
}

/// The number of the part that a moment is in, counted from a fixed one.
fn number(part: DatePart, t: NaiveDateTime) -> Option<i64> {
    let months = calendar_month(&t);
    Some(match part {
        DatePart::Year => i64::from(t.year()),
        DatePart::IsoYear => i64::from(t.iso_week().year()),
        DatePart::Quarter => months.div_euclid(3),
        DatePart::Month => months,
        // 1970 began on a Thursday.
        DatePart::Week => (i64::from(days(t)?) + 4).div_euclid(7),
        DatePart::IsoWeek => (i64::from(days(t)?) + 3).div_euclid(7),
        _ => t.and_utc().timestamp_micros().div_euclid(part.microseconds()?),
    })
}

/// From each second moment to its first.
pub(super) fn difference(
    part: DatePart,
    whole: bool,
    ends: &ArrayRef,
    starts: &ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let between = |end: NaiveDateTime, start: NaiveDateTime| {
        if whole {
            let span =
                end.and_utc().timestamp_micros().checked_sub(start.and_utc().timestamp_micros())?;
            return span.checked_div(part.microseconds()?);
        }
        number(part, end)?.checked_sub(number(part, start)?)
    };
    let pairs = moments(ends)?.zip(moments(starts)?);
    let all: Int64Array = pairs.map(|(end, start)| between(end?, start?)).collect();
    Ok(Arc::new(all))
}

/// The starts of buckets of time, of so many months or microseconds, of which one begins at the
/// origin.
pub(super) fn bucketed(
    array: &ArrayRef,
    months: bool,
    width: i64,
    origin: i64,
) -> Result<ArrayRef, ArrowError> {
    let start = |t: NaiveDateTime| {
        let number = number(if months { DatePart::Month } else { DatePart::Microsecond }, t)?;
        let within = number.checked_sub(origin)?.checked_rem_euclid(width)?;
        let start = number.checked_sub(within)?;
        if !months {
            return Some(DateTime::from_timestamp_micros(start)?.naive_utc());
        }
        let month = u32::try_from(start.rem_euclid(12)).ok()? + 1;
        let year = i32::try_from(start.div_euclid(12)).ok()?;
        Some(NaiveDate::from_ymd_opt(year, month, 1)?.and_time(NaiveTime::MIN))
    };
    let starts = moments(array)?.map(|t| start(t?));
    if array.as_primitive_opt::<Date32Type>().is_some() {
        return Ok(Arc::new(starts.map(|t| days(t?)).collect::<Date32Array>()));
    }
    Ok(Arc::new(starts.map(|t| micros(t?)).collect::<TimestampMicrosecondArray>()))
}
