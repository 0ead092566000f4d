//! Dates and timestamps as text, in a constant form.

use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{Datelike, NaiveDateTime, Timelike, Weekday};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::error::ArrowError;
use hushtable_query::{FormPiece, form_pieces};

use super::counted::count;
use super::text::builder;
use super::time::{moments, week};
use super::unexpected;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A form, made ready.
pub(super) struct Form(Vec<FormPiece>);

fn day_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Mon => "Monday",
        Weekday::Tue => "Tuesday",
        Weekday::Wed => "Wednesday",
        Weekday::Thu => "Thursday",
        Weekday::Fri => "Friday",
        Weekday::Sat => "Saturday",
        Weekday::Sun => "Sunday",
    }
}

impl Form {
    pub(super) fn new(form: &str) -> Result<Self, ArrowError> {
        form_pieces(form).map(Self).map_err(|_| unexpected())
    }

    /// The text of each moment.
    pub(super) fn written(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let mut builder = builder(array.len());
        let mut line = String::new();
        for moment in moments(array)? {
            builder.append_option(moment.map(|t| {
                line.clear();
                self.0.iter().for_each(|piece| write(&mut line, *piece, t));
                count(|| 5 * line.len());
                line.as_str()
            }));
        }
        Ok(Arc::new(builder.finish()))
    }
}

fn write(line: &mut String, piece: FormPiece, t: NaiveDateTime) {
    use FormPiece as P;
    let month = MONTHS.get(t.month0() as usize).copied().unwrap_or_default();
    let day = day_name(t.weekday());
    let short = |name: &'static str| name.get(..3).unwrap_or_default();
    // Writing to a text does not fail.
    let _ = match piece {
        P::Plain(c) => write!(line, "{c}"),
        P::Year => write!(line, "{:04}", t.year()),
        P::ShortYear => write!(line, "{:02}", t.year().rem_euclid(100)),
        P::IsoYear => write!(line, "{:04}", t.iso_week().year()),
        P::Quarter => write!(line, "{}", t.quarter()),
        P::Month => write!(line, "{:02}", t.month()),
        P::MonthName => write!(line, "{month}"),
        P::ShortMonthName => write!(line, "{}", short(month)),
        P::Day => write!(line, "{:02}", t.day()),
        P::BlankDay => write!(line, "{:2}", t.day()),
        P::DayOfYear => write!(line, "{:03}", t.ordinal()),
        P::DayName => write!(line, "{day}"),
        P::ShortDayName => write!(line, "{}", short(day)),
        P::IsoDayOfWeek => write!(line, "{}", t.weekday().number_from_monday()),
        P::DayOfWeekFromZero => write!(line, "{}", t.weekday().num_days_from_sunday()),
        P::Week => write!(line, "{:02}", week(t)),
        P::IsoWeek => write!(line, "{:02}", t.iso_week().week()),
        P::Hour => write!(line, "{:02}", t.hour()),
        P::ShortHour => write!(line, "{:02}", t.hour12().1),
        P::HalfOfDay => write!(line, "{}", if t.hour12().0 { "PM" } else { "AM" }),
        P::Minute => write!(line, "{:02}", t.minute()),
        P::Second => write!(line, "{:02}", t.second()),
    };
}
