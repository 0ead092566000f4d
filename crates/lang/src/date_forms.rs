//! Forms of dates and timestamps: `%Y-%m` and the like.

use crate::error::Refusal;
use crate::types::ColumnType;

/// Longest form, in bytes.
const MAX_FORM_BYTES: usize = 100;

/// One piece of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormPiece {
    /// A character that stands for itself.
    Plain(char),
    /// Year, four digits at least.
    Year,
    /// Last two digits of the year.
    ShortYear,
    /// Year of the ISO week.
    IsoYear,
    /// Quarter, 1 to 4.
    Quarter,
    /// Month, two digits.
    Month,
    /// English name of the month.
    MonthName,
    /// First three letters of the month's name.
    ShortMonthName,
    /// Day of the month, two digits.
    Day,
    /// Day of the month, with a blank before a single digit.
    BlankDay,
    /// Day of the year, three digits.
    DayOfYear,
    /// English name of the day of the week.
    DayName,
    /// First three letters of the day's name.
    ShortDayName,
    /// Day of the week, 1 (Monday) to 7.
    IsoDayOfWeek,
    /// Day of the week, 0 (Sunday) to 6.
    DayOfWeekFromZero,
    /// Week of the year by Sundays, two digits.
    Week,
    /// ISO week, two digits.
    IsoWeek,
    /// Hour, 00 to 23.
    Hour,
    /// Hour, 01 to 12.
    ShortHour,
    /// AM or PM.
    HalfOfDay,
    /// Minute, two digits.
    Minute,
    /// Second, two digits.
    Second,
}

/// The pieces of a form; or, as the error, the first `%` with a letter that no form has.
pub fn form_pieces(form: &str) -> Result<Vec<FormPiece>, String> {
    use FormPiece as P;
    let mut pieces = Vec::new();
    let mut characters = form.chars();
    while let Some(c) = characters.next() {
        if c != '%' {
            pieces.push(P::Plain(c));
            continue;
        }
        let letter = characters.next();
        let letter_pieces: &[P] = match letter {
            Some('Y') => &[P::Year],
            Some('y') => &[P::ShortYear],
            Some('G') => &[P::IsoYear],
            Some('Q') => &[P::Quarter],
            Some('m') => &[P::Month],
            Some('B') => &[P::MonthName],
            Some('b' | 'h') => &[P::ShortMonthName],
            Some('d') => &[P::Day],
            Some('e') => &[P::BlankDay],
            Some('j') => &[P::DayOfYear],
            Some('A') => &[P::DayName],
            Some('a') => &[P::ShortDayName],
            Some('u') => &[P::IsoDayOfWeek],
            Some('w') => &[P::DayOfWeekFromZero],
            Some('U') => &[P::Week],
            Some('V') => &[P::IsoWeek],
            Some('H') => &[P::Hour],
            Some('I') => &[P::ShortHour],
            Some('p') => &[P::HalfOfDay],
            Some('M') => &[P::Minute],
            Some('S') => &[P::Second],
            Some('F') => &[P::Year, P::Plain('-'), P::Month, P::Plain('-'), P::Day],
            Some('T' | 'X') => &[P::Hour, P::Plain(':'), P::Minute, P::Plain(':'), P::Second],
            Some('R') => &[P::Hour, P::Plain(':'), P::Minute],
            Some('%') => &[P::Plain('%')],
            other => return Err(other.map_or("%".to_owned(), |letter| format!("%{letter}"))),
        };
        pieces.extend_from_slice(letter_pieces);
    }
    Ok(pieces)
}

/// The patterns of PostgreSQL's TO_CHAR and the pieces that they stand for, each before those that
/// it begins with.
const PATTERNS: [(&str, &str); 20] = [
    ("FMMonth", "%B"),
    ("FMDay", "%A"),
    ("IYYY", "%G"),
    ("YYYY", "%Y"),
    ("HH24", "%H"),
    ("HH12", "%I"),
    ("Mon", "%b"),
    ("DDD", "%j"),
    ("HH", "%I"),
    ("MM", "%m"),
    ("MI", "%M"),
    ("DD", "%d"),
    ("Dy", "%a"),
    ("ID", "%u"),
    ("IW", "%V"),
    ("SS", "%S"),
    ("YY", "%y"),
    ("AM", "%p"),
    ("PM", "%p"),
    ("Q", "%Q"),
];

/// A form as TO_CHAR has it, with `%`; text in double quotes stands for itself.
pub(crate) fn percent_form(form: &str) -> Result<String, Refusal> {
    let (mut percent, mut rest, mut quoted) = (String::new(), form, false);
    while let Some(c) = rest.chars().next() {
        let pattern = PATTERNS.iter().find(|(name, _)| !quoted && rest.starts_with(name));
        if let Some((name, piece)) = pattern {
            percent.push_str(piece);
            rest = rest.strip_prefix(name).unwrap_or_default();
            continue;
        }
        rest = rest.strip_prefix(c).unwrap_or_default();
        match c {
            '"' => quoted = !quoted,
            '%' => percent.push_str("%%"),
            _ if quoted || !c.is_alphanumeric() => percent.push(c),
            _ => {
                let names: Vec<&str> = PATTERNS.iter().map(|(name, _)| *name).collect();
                return Err(Refusal::new(
                    format!("the format `{form}` has `{c}`, which is not supported"),
                    format!("use {}, and text in double quotes", names.join(" ")),
                ));
            }
        }
    }
    Ok(percent)
}

/// Whether a piece is a part of a day.
fn within_day(piece: FormPiece) -> bool {
    use FormPiece as P;
    matches!(piece, P::Hour | P::ShortHour | P::HalfOfDay | P::Minute | P::Second)
}

/// Refuses a form that is not known.
pub(crate) fn check_format(form: &str, of: ColumnType) -> Result<(), Refusal> {
    let known = "%Y %y %G %Q %m %B %b %d %e %j %A %a %u %w %U %V %F are, \
                 and %H %I %p %M %S %T %R of timestamps";
    if form.len() > MAX_FORM_BYTES {
        return Err(Refusal::new(
            format!("a format has {} bytes; at most {MAX_FORM_BYTES} are allowed", form.len()),
            "FORMAT_DATE('%Y-%m', day)",
        ));
    }
    let pieces = form_pieces(form).map_err(|odd| {
        Refusal::new(format!("the format `{form}` has {odd}, which is not supported"), known)
    })?;
    if of == ColumnType::Date && pieces.iter().any(|piece| within_day(*piece)) {
        return Err(Refusal::new(
            format!("the format `{form}` has a time of day, but the value is a date"),
            known,
        ));
    }
    Ok(())
}

/// Refuses a form that does not say which moment a text is.
pub(crate) fn check_parsed(form: &str, target: ColumnType) -> Result<(), Refusal> {
    use FormPiece as P;
    check_format(form, target)?;
    let pieces = form_pieces(form).unwrap_or_default();
    let count = |of: &[P]| pieces.iter().filter(|piece| of.contains(piece)).count();
    let of_year =
        [P::IsoYear, P::Quarter, P::Week, P::IsoWeek, P::IsoDayOfWeek, P::DayOfWeekFromZero];
    let names = [P::DayName, P::ShortDayName];
    let months = [P::Month, P::MonthName, P::ShortMonthName];
    let date = count(&[P::Year, P::ShortYear]) == 1
        && match count(&[P::DayOfYear]) {
            0 => count(&months) <= 1 && count(&[P::Day, P::BlankDay]) <= count(&months),
            days => days == 1 && count(&months) == 0 && count(&[P::Day, P::BlankDay]) == 0,
        };
    let hours = (count(&[P::Hour]), count(&[P::ShortHour]), count(&[P::HalfOfDay]));
    let time = matches!(hours, (0 | 1, 0, 0) | (0, 1, 1))
        && count(&[P::Minute]) <= hours.0 + hours.1
        && count(&[P::Second]) <= count(&[P::Minute]);
    if date && time && count(&of_year) == 0 && count(&names) == 0 {
        return Ok(());
    }
    Err(Refusal::new(
        format!("the format `{form}` does not say which day a text means"),
        "give one year (%Y or %y), and then a month (%m, %b or %B), and then a day (%d or %e); \
         or the day of the year (%j); of timestamps also %H or %I and %p, %M and %S",
    ))
}

/// Most bytes of what a form writes: years have up to seven characters, names up to nine.
pub(crate) fn form_bytes(form: &str) -> usize {
    let pieces = form_pieces(form).unwrap_or_default();
    let bytes = |piece: &FormPiece| match piece {
        FormPiece::Plain(c) => c.len_utf8(),
        _ => 9,
    };
    pieces.iter().map(bytes).sum()
}
