//! Parts of dates and timestamps.

use serde::{Deserialize, Serialize};

/// Parts of dates and timestamps (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePart {
    /// Year.
    Year,
    /// Year of the ISO week.
    IsoYear,
    /// Quarter, 1 to 4.
    Quarter,
    /// Month, 1 to 12.
    Month,
    /// Week that starts on Sunday, 0 to 53.
    Week,
    /// Week that starts on Monday, 1 to 53.
    IsoWeek,
    /// Day of the month.
    Day,
    /// Day of the week, 1 (Sunday) to 7.
    DayOfWeek,
    /// Day of the week, 0 (Sunday) to 6.
    DayOfWeekFromZero,
    /// Day of the week, 1 (Monday) to 7.
    IsoDayOfWeek,
    /// Day of the year, from 1.
    DayOfYear,
    /// Hour, 0 to 23.
    Hour,
    /// Minute.
    Minute,
    /// Second.
    Second,
    /// Thousandth of a second, within the second.
    Millisecond,
    /// Millionth of a second, within the second.
    Microsecond,
    /// Seconds since 1970.
    Epoch,
}

impl DatePart {
    /// Its length in microseconds, where all of them have the same.
    pub fn microseconds(self) -> Option<i64> {
        const SECOND: i64 = 1_000_000;
        Some(match self {
            Self::Week | Self::IsoWeek => 7 * 86_400 * SECOND,
            Self::Day => 86_400 * SECOND,
            Self::Hour => 3_600 * SECOND,
            Self::Minute => 60 * SECOND,
            Self::Second => SECOND,
            Self::Millisecond => 1_000,
            Self::Microsecond => 1,
            _ => return None,
        })
    }

    /// Whether it is shorter than a day.
    pub fn within_day(self) -> bool {
        self.microseconds().is_some_and(|micros| micros < 86_400_000_000)
    }

    /// Whether it is a span of time, and not only a number that a date has.
    pub(crate) fn is_span(self) -> bool {
        self.microseconds().is_some()
            || matches!(self, Self::Year | Self::IsoYear | Self::Quarter | Self::Month)
    }
}
