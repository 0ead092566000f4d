//! From one text to one value: a function for each type.

use std::borrow::Cow;

use chrono::{NaiveDate, Utc};
use datafusion::arrow::compute::kernels::cast_utils::{Parser, string_to_datetime};
use datafusion::arrow::datatypes::{Date32Type, Float64Type, Int64Type, Time64NanosecondType};
use hushtable_contract::{DateOrder, NumberFormat, TextFormat};
use hushtable_lang::{ColumnType, MAX_STRING_BYTES, Value, calendar_day, calendar_moment};
use hushtable_numbers::decimal::WrittenDecimal;

/// A field of text, read as a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParsedField<T> {
    /// A value.
    Value(T),
    /// No value, and the text says so: it is empty or one of the texts for NULL.
    Null,
    /// Text that is not a value of the type. Read as NULL.
    Unfit,
}

impl<T> ParsedField<T> {
    fn of(value: Option<T>) -> Self {
        value.map_or(Self::Unfit, Self::Value)
    }

    fn and_then<U>(self, next: impl FnOnce(T) -> Option<U>) -> ParsedField<U> {
        match self {
            Self::Value(value) => ParsedField::of(next(value)),
            Self::Null => ParsedField::Null,
            Self::Unfit => ParsedField::Unfit,
        }
    }

    /// Hands over the value, or `None` for NULL; keeps which it was.
    pub(super) fn give(self, take: impl FnOnce(Option<T>)) -> ParsedField<()> {
        let (value, kind) = match self {
            Self::Value(value) => (Some(value), ParsedField::Value(())),
            Self::Null => (None, ParsedField::Null),
            Self::Unfit => (None, ParsedField::Unfit),
        };
        take(value);
        kind
    }
}

/// Reads text as values, as a table's settings have them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextParser {
    format: TextFormat,
    /// Whether numbers are written otherwise than programs write them.
    local_numbers: bool,
    /// Whether a text has a value only if it is what `CAST` to text makes of that value: then no
    /// two texts have one value.
    exactly: bool,
}

impl TextParser {
    pub(crate) fn new(format: &TextFormat) -> Self {
        let local_numbers = *format.numbers() != NumberFormat::default();
        Self { format: format.clone(), local_numbers, exactly: false }
    }

    /// The parser of texts that tell units apart: `007` and `7` could be two of them, so that only
    /// one has a value.
    pub(crate) fn exactly(&self) -> Self {
        Self { exactly: true, ..self.clone() }
    }

    /// The value of a field, if the field need not be what `written` makes of it, or is.
    fn if_written<T: Copy>(
        &self,
        field: Option<&[u8]>,
        value: ParsedField<T>,
        written: impl Fn(T) -> Value,
    ) -> ParsedField<T> {
        match value {
            ParsedField::Value(parsed) if self.exactly => {
                let same = field == Some(written(parsed).to_string().as_bytes());
                if same { value } else { ParsedField::Unfit }
            }
            other => other,
        }
    }

    /// The whole number in a field, if it need not be written with no more signs than it takes, or
    /// is.
    fn if_plain<T>(&self, field: Option<&[u8]>, value: ParsedField<T>) -> ParsedField<T> {
        match value {
            ParsedField::Value(_) if self.exactly && !field.is_some_and(is_plain) => {
                ParsedField::Unfit
            }
            other => other,
        }
    }

    pub(super) fn format(&self) -> &TextFormat {
        &self.format
    }

    /// Whether a field has a value of that type.
    pub(crate) fn fit(&self, field: Option<&[u8]>, to: ColumnType) -> ParsedField<()> {
        match to {
            ColumnType::Bool => self.bool(field).give(|_| ()),
            ColumnType::Int => self.int(field).give(|_| ()),
            ColumnType::Decimal { scale } => self.decimal(field, scale).give(|_| ()),
            ColumnType::Float => self.float(field).give(|_| ()),
            ColumnType::String => self.string(field).give(|_| ()),
            ColumnType::Date => self.date(field).give(|_| ()),
            ColumnType::Timestamp => self.timestamp(field).give(|_| ()),
        }
    }

    /// Text as it stands, blanks included.
    pub(crate) fn string<'a>(&self, field: Option<&'a [u8]>) -> ParsedField<&'a str> {
        let Some(bytes) = field else { return ParsedField::Null };
        if bytes.len() > MAX_STRING_BYTES {
            return ParsedField::Unfit;
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return ParsedField::Unfit };
        let null = self.format.null();
        if !null.is_empty() && (null.iter().any(|n| n == text || n == text.trim_ascii())) {
            return ParsedField::Null;
        }
        ParsedField::Value(text)
    }

    /// Text without the blanks around it; NULL if nothing else is there.
    fn trimmed<'a>(&self, field: Option<&'a [u8]>) -> ParsedField<&'a str> {
        match self.string(field) {
            ParsedField::Value(text) => match text.trim_ascii() {
                "" => ParsedField::Null,
                text => ParsedField::Value(text),
            },
            other => other,
        }
    }

    /// `true`, `t`, `yes`, `y`, `on`, `1` or their opposites, in any letter case.
    pub(crate) fn bool(&self, field: Option<&[u8]>) -> ParsedField<bool> {
        let value = self.trimmed(field).and_then(|text| {
            let is = |words: [&str; 6]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
            if is(["true", "t", "yes", "y", "on", "1"]) {
                return Some(true);
            }
            is(["false", "f", "no", "n", "off", "0"]).then_some(false)
        });
        self.if_written(field, value, Value::Bool)
    }

    /// A whole number of 64 bits.
    pub(crate) fn int(&self, field: Option<&[u8]>) -> ParsedField<i64> {
        self.if_plain(field, self.number(field, Int64Type::parse))
    }

    /// A whole number of up to 38 digits.
    pub(crate) fn wide(&self, field: Option<&[u8]>) -> ParsedField<i128> {
        let value = self.number(field, |text| {
            let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
            let whole = digits.bytes().all(|digit| digit.is_ascii_digit());
            if whole { decimal(text, 0) } else { None }
        });
        self.if_plain(field, value)
    }

    /// A decimal, rounded to the scale half away from zero.
    pub(crate) fn decimal(&self, field: Option<&[u8]>, scale: u8) -> ParsedField<i128> {
        let value = self.number(field, |text| decimal(text, scale));
        self.if_written(field, value, |digits| Value::Decimal { digits, scale })
    }

    /// A float; NaN is none, and neither are digits that stand for more than the largest float.
    pub(crate) fn float(&self, field: Option<&[u8]>) -> ParsedField<f64> {
        // Adding 0 turns −0 into 0.
        let value = self.number(field, |text| {
            let value = Float64Type::parse(text).filter(|value| !value.is_nan())?;
            let has_digits = || text.bytes().any(|byte| byte.is_ascii_digit());
            (value.is_finite() || !has_digits()).then_some(value + 0.0)
        });
        self.if_written(field, value, Value::Float)
    }

    fn number<T>(&self, field: Option<&[u8]>, parse: impl Fn(&str) -> Option<T>) -> ParsedField<T> {
        self.trimmed(field).and_then(|text| {
            if self.local_numbers {
                parse(&plain_number(text, self.format.numbers())?)
            } else {
                parse(text)
            }
        })
    }

    /// A day, as days since 1970-01-01; of an instant, its day.
    pub(crate) fn date(&self, field: Option<&[u8]>) -> ParsedField<i32> {
        let value = self.trimmed(field).and_then(|text| {
            let ordered = self.format.dates().and_then(|order| instant(text, order));
            let days = |(day, _): (NaiveDate, i64)| Date32Type::from_naive_date(day);
            ordered.map(days).or_else(|| Date32Type::parse(self.iso(text)?)).and_then(calendar_day)
        });
        self.if_written(field, value, Value::Date)
    }

    /// An instant, in microseconds since 1970-01-01 UTC.
    pub(crate) fn timestamp(&self, field: Option<&[u8]>) -> ParsedField<i64> {
        let value = self.trimmed(field).and_then(|text| {
            let ordered = self.format.dates().and_then(|order| instant(text, order));
            let micros = |(day, nanos): (NaiveDate, i64)| {
                let days = i64::from(Date32Type::from_naive_date(day));
                Some(days * 86_400_000_000 + nanos / 1000)
            };
            // The error holds the text, and ends here.
            let iso = |text| string_to_datetime(&Utc, text).ok().map(|at| at.timestamp_micros());
            ordered.and_then(micros).or_else(|| iso(self.iso(text)?)).and_then(calendar_moment)
        });
        self.if_written(field, value, Value::Timestamp)
    }

    /// The text, if a date in it may be written with the year first. Eight digits in a row could be
    /// in any order.
    fn iso<'a>(&self, text: &'a str) -> Option<&'a str> {
        let year_first = match self.format.dates() {
            None | Some(DateOrder::YearMonthDay) => true,
            Some(_) => text.as_bytes().get(4) == Some(&b'-'),
        };
        year_first.then_some(text)
    }
}

/// Whether a whole number is written with no more signs than it takes: no plus, no zero in front,
/// no blanks around it.
pub(super) fn is_plain(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    match digits {
        b"0" => digits.len() == number.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn is_blank(c: char) -> bool {
    // The no-break spaces of one and of less than one space's width, and that of a digit's.
    c.is_ascii_whitespace() || ['\u{a0}', '\u{202f}', '\u{2007}'].contains(&c)
}

/// A number as programs write it, from one with separators and a currency sign; `None` if it is not
/// written as the format says.
fn plain_number<'a>(text: &'a str, format: &NumberFormat) -> Option<Cow<'a, str>> {
    let text = text.trim_matches(is_blank);
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        // Infinities, and what is no number.
        return Some(Cow::Borrowed(text));
    }
    let (mut negative, rest) = sign(text);
    let mut number = rest.unwrap_or(text);
    if let Some(after) = longest(format, |sign| number.strip_prefix(sign)) {
        number = after.trim_start_matches(is_blank);
        // Either side of the currency sign, but not both.
        if let (within, Some(after)) = sign(number) {
            if rest.is_some() {
                return None;
            }
            (negative, number) = (within, after);
        }
    } else if let Some(before) = longest(format, |sign| number.strip_suffix(sign)) {
        number = before.trim_end_matches(is_blank);
    }
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (number, None),
    };
    let (whole, fraction) = match mantissa.split_once(format.decimal()) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut plain = String::with_capacity(text.len());
    if negative {
        plain.push('-');
    }
    if digits(whole) {
        plain.push_str(whole);
    } else if exponent.is_none() {
        push_groups(&mut plain, whole, format.thousands()?)?;
    } else {
        return None;
    }
    if let Some(fraction) = fraction {
        if !digits(fraction) {
            return None;
        }
        plain.push('.');
        plain.push_str(fraction);
    }
    if let Some(exponent) = exponent {
        plain.push('e');
        plain.push_str(exponent);
    }
    Some(Cow::Owned(plain))
}

/// Whether a number begins with a minus, and what comes after its sign if it has one.
fn sign(text: &str) -> (bool, Option<&str>) {
    let after = text.strip_prefix(['-', '+']);
    (text.starts_with('-'), after.map(|after| after.trim_start_matches(is_blank)))
}

/// The rest of the text without the longest of the currency signs that are there.
fn longest<'a>(format: &NumberFormat, strip: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    format.currency().iter().filter_map(|sign| strip(sign)).min_by_key(|rest| rest.len())
}

/// Adds the digits of `1.234.567`: one to three digits, of which the first is not 0, then groups of
/// three, all after the same separator. `0.123` is a fraction, and `1.23` no number at all.
fn push_groups(plain: &mut String, whole: &str, thousands: char) -> Option<()> {
    let separator = whole.chars().find(|c| !c.is_ascii_digit())?;
    let same = match thousands {
        ' ' => separator == ' ' || (is_blank(separator) && !separator.is_ascii()),
        '\'' => separator == '\'' || separator == '\u{2019}',
        other => separator == other,
    };
    let mut groups = whole.split(separator);
    let first = groups.next()?;
    if !same || !(1..=3).contains(&first.len()) || first.starts_with('0') {
        return None;
    }
    plain.push_str(first);
    for group in groups {
        if group.len() != 3 || !group.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        plain.push_str(group);
    }
    Some(())
}

/// `31.12.2024`, `31/12/2024` or `31-12-2024`, in some order, and perhaps a time: the day, and the
/// nanoseconds since its beginning. Days and months have one or two digits, years four.
fn instant(text: &str, order: DateOrder) -> Option<(NaiveDate, i64)> {
    let (day, time) = match text.split_once([' ', 'T']) {
        Some((day, time)) => (day, Some(time.trim_ascii_start())),
        None => (text, None),
    };
    let separator = day.chars().find(|c| !c.is_ascii_digit())?;
    if !['.', '/', '-'].contains(&separator) {
        return None;
    }
    let mut fields = day.split(separator);
    let fields =
        [fields.next()?, fields.next()?, fields.next().filter(|_| fields.next().is_none())?];
    let [year, month, day] = match order {
        DateOrder::DayMonthYear => [fields[2], fields[1], fields[0]],
        DateOrder::MonthDayYear => [fields[2], fields[0], fields[1]],
        DateOrder::YearMonthDay => fields,
    };
    let number = |field: &str, least: usize, most: usize| {
        let digits = field.bytes().all(|byte| byte.is_ascii_digit());
        if digits && (least..=most).contains(&field.len()) {
            field.parse::<u32>().ok()
        } else {
            None
        }
    };
    let year = i32::try_from(number(year, 4, 4)?).ok()?;
    let day = NaiveDate::from_ymd_opt(year, number(month, 1, 2)?, number(day, 1, 2)?)?;
    let nanos = match time {
        None => 0,
        // Without a colon, the parser would take a number for nanoseconds.
        Some(time) if time.contains(':') => Time64NanosecondType::parse(time)?,
        Some(_) => return None,
    };
    Some((day, nanos))
}

/// A decimal times `10^scale`, rounded half away from zero; `None` if it has more than 38 digits.
pub(super) fn decimal(text: &str, scale: u8) -> Option<i128> {
    WrittenDecimal::read(text)?.rounded(scale)
}
