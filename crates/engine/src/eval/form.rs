//! Dates and timestamps as text, in a constant form, and read from it.

use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike, Weekday};
use datafusion::arrow::array::{ArrayRef, Date32Array, TimestampMicrosecondArray};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{ColumnType, FormPiece, form_pieces};

use super::counted::count;
use super::text_functions::{builder, texts};
use super::time::{days, micros, moments, week};
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

/// A parsed form.
pub(super) struct MomentForm(Vec<FormPiece>);

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

impl MomentForm {
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

    /// The moment that each text is; NULL where it is none.
    pub(super) fn read(
        &self,
        array: &ArrayRef,
        column_type: ColumnType,
    ) -> Result<ArrayRef, ArrowError> {
        let moment = |text: &str| {
            let (mut fields, mut rest) = (MomentFields::default(), text);
            for piece in &self.0 {
                count(|| 5);
                read(*piece, &mut rest, &mut fields)?;
            }
            fields.moment().filter(|_| rest.is_empty())
        };
        let read = texts(array)?.iter().map(|text| moment(text?));
        if column_type == ColumnType::Date {
            let array: Date32Array = read.map(|t| days(t?)).collect();
            return Ok(Arc::new(array));
        }
        let array: TimestampMicrosecondArray = read.map(|t| micros(t?)).collect();
        Ok(Arc::new(array))
    }
}

/// The fields of a moment that were read so far.
#[derive(Default)]
struct MomentFields {
    year: i32,
    month: Option<u32>,
    day: Option<u32>,
    of_year: Option<u32>,
    hour: u32,
    /// Whether it is after noon, where the text says so.
    late: Option<bool>,
    minute: u32,
    second: u32,
}

impl MomentFields {
    fn moment(&self) -> Option<NaiveDateTime> {
        let day = match self.of_year {
            Some(day) => NaiveDate::from_yo_opt(self.year, day)?,
            None => {
                let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
                NaiveDate::from_ymd_opt(self.year, month, day)?
            }
        };
        let hour = match self.late {
            Some(late) if (1..=12).contains(&self.hour) => self.hour % 12 + 12 * u32::from(late),
            Some(_) => return None,
            None => self.hour,
        };
        day.and_hms_opt(hour, self.minute, self.second)
    }
}

/// Takes a number of at most `digits` digits from the front of a text.
fn number(rest: &mut &str, digits: usize) -> Option<u32> {
    let end = rest.bytes().take(digits).take_while(u8::is_ascii_digit).count();
    let number = rest.get(..end)?.parse().ok();
    *rest = rest.get(end..)?;
    number
}

/// Takes one of these names from the front of a text, in any case; gives its index.
fn name(rest: &mut &str, mut names: impl Iterator<Item = &'static str>) -> Option<u32> {
    let mut found = None;
    let index = names.position(|name| {
        found = rest.get(..name.len()).filter(|prefix| prefix.eq_ignore_ascii_case(name));
        found.is_some()
    });
    *rest = rest.get(found?.len()..)?;
    u32::try_from(index?).ok()
}

/// Takes what a piece of a form stands for from the front of a text.
fn read(piece: FormPiece, rest: &mut &str, fields: &mut MomentFields) -> Option<()> {
    use FormPiece as P;
    let short = |name: &&'static str| name.get(..3).unwrap_or_default();
    let mut year = |digits| number(rest, digits).and_then(|year| i32::try_from(year).ok());
    match piece {
        P::Plain(c) => *rest = rest.strip_prefix(c)?,
        P::Year => fields.year = year(4)?,
        // POSIX: 69 to 99 are of the last century.
        P::ShortYear => fields.year = year(2).map(|y| if y < 69 { 2000 + y } else { 1900 + y })?,
        P::Month => fields.month = Some(number(rest, 2)?),
        P::MonthName => fields.month = Some(1 + name(rest, MONTHS.into_iter())?),
        P::ShortMonthName => {
            fields.month = Some(1 + name(rest, MONTHS.iter().map(short))?);
        }
        P::Day => fields.day = Some(number(rest, 2)?),
        P::BlankDay => {
            *rest = rest.strip_prefix(' ').unwrap_or(rest);
            fields.day = Some(number(rest, 2)?);
        }
        P::DayOfYear => fields.of_year = Some(number(rest, 3)?),
        P::Hour | P::ShortHour => fields.hour = number(rest, 2)?,
        P::HalfOfDay => fields.late = Some(name(rest, ["AM", "PM"].into_iter())? == 1),
        P::Minute => fields.minute = number(rest, 2)?,
        P::Second => fields.second = number(rest, 2)?,
        // No form that is read has these.
        P::IsoYear
        | P::Quarter
        | P::DayName
        | P::ShortDayName
        | P::IsoDayOfWeek
        | P::DayOfWeekFromZero
        | P::Week
        | P::IsoWeek => return None,
    }
    Some(())
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
