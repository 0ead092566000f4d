//! How values are written, as the `csv` settings of a contract say.

use proptest::prelude::*;

use super::super::parse::{ParsedField, TextParser};
use super::*;

fn parser(
    decimal: char,
    thousands: Option<char>,
    currency: &[&str],
    dates: Option<DateOrder>,
) -> TextParser {
    let currency = currency.iter().map(|sign| (*sign).to_owned()).collect();
    let numbers = NumberFormat::new(decimal, thousands, currency).unwrap();
    let null = ["NA", "-"].map(str::to_owned).to_vec();
    TextParser::new(&TextFormat::new(null, numbers, dates).unwrap())
}

fn german() -> TextParser {
    parser(',', Some('.'), &["€", "EUR", "kr."], None)
}

fn american() -> TextParser {
    parser('.', Some(','), &["$", "US$"], None)
}

/// Cents, or `None` where the text is not a number.
fn cents(parser: &TextParser, text: &str) -> Option<i128> {
    match parser.decimal(Some(text.as_bytes()), 2) {
        ParsedField::Value(cents) => Some(cents),
        ParsedField::Null => panic!("{text:?} is NULL"),
        ParsedField::Unfit => None,
    }
}

#[test]
fn numbers_with_separators_and_currency_signs() {
    for (text, expected) in [
        ("1.234,56", Some(123_456)),
        ("1234,56", Some(123_456)),
        ("1.234.567", Some(123_456_700)),
        ("12.345", Some(1_234_500)),
        ("-1.234,5", Some(-123_450)),
        ("+7", Some(700)),
        (",5", Some(50)),
        ("5,", Some(500)),
        ("0,123", Some(12)),
        ("1,5e3", Some(150_000)),
        ("€ 1.234,56", Some(123_456)),
        ("1.234,56 €", Some(123_456)),
        ("1.234,56\u{a0}€", Some(123_456)),
        ("-€5", Some(-500)),
        ("€-5", Some(-500)),
        ("€ - 5", Some(-500)),
        ("-5 EUR", Some(-500)),
        ("kr. 1.000,00", Some(100_000)),
        // A group has three digits, the first one to three.
        ("1.23", None),
        ("1.2345", None),
        ("1234.567", None),
        ("1.234.56", None),
        (".123", None),
        ("1..234", None),
        ("1.234.", None),
        // A fraction that was written with a point.
        ("0.123", None),
        ("01.234", None),
        // One decimal separator, and no groups after it or beside an exponent.
        ("1,2,3", None),
        ("1,234.567", None),
        ("1.234e5", None),
        ("1.234,5e5", None),
        // Other separators, signs and signs twice.
        ("1 234", None),
        ("1'234", None),
        ("$5", None),
        ("€5€", None),
        ("€ 5 EUR", None),
        ("€€5", None),
        ("-€-5", None),
        ("--5", None),
        ("5-", None),
        ("€", None),
        ("€-", None),
        ("5 %", None),
        ("٣", None),
    ] {
        assert_eq!(cents(&german(), text), expected, "{text:?}");
    }
    for (text, expected) in [
        ("1,234.56", Some(123_456)),
        ("$1,234.56", Some(123_456)),
        ("US$ 1,234", Some(123_400)),
        ("-$5.1", Some(-510)),
        ("1,2,3", None),
        ("12,34", None),
        // Digit groups of India.
        ("1,23,456", None),
        ("1.234,56", None),
        ("1,234,", None),
    ] {
        assert_eq!(cents(&american(), text), expected, "{text:?}");
    }
    for (separator, texts, none) in [
        (' ', ["1 234", "1\u{a0}234", "1\u{202f}234"], ["1\u{a0}234 567", "1\t234", "1  234"]),
        ('\'', ["1'234", "1’234", "1’234"], ["1'234’567", "1 234", "1''234"]),
        ('_', ["1_234", "1_234", "1_234"], ["1__234", "_234", "1_23"]),
    ] {
        let parser = parser(',', Some(separator), &[], None);
        for text in texts {
            assert_eq!(cents(&parser, text), Some(123_400), "{text:?}");
        }
        for text in none {
            assert_eq!(cents(&parser, text), None, "{text:?}");
        }
    }
}

#[test]
fn every_type_of_number() {
    let parser = german();
    let field = |text: &'static str| Some(text.as_bytes());
    assert_eq!(parser.int(field("1.234.567")), ParsedField::Value(1_234_567));
    assert_eq!(parser.int(field("1.234,0")), ParsedField::Unfit);
    assert_eq!(parser.int(field("9.223.372.036.854.775.808")), ParsedField::Unfit);
    assert_eq!(parser.wide(field("9.223.372.036.854.775.808")), ParsedField::Value(1 << 63));
    assert_eq!(parser.wide(field("1,5")), ParsedField::Unfit);
    assert_eq!(parser.wide(field("1e3")), ParsedField::Unfit);
    assert_eq!(parser.float(field("1.234,5 €")), ParsedField::Value(1234.5));
    assert_eq!(parser.float(field("-inf")), ParsedField::Value(f64::NEG_INFINITY));
    assert_eq!(parser.float(field("€ inf")), ParsedField::Unfit);
    assert_eq!(parser.float(field("-0,0")).and_bits(), ParsedField::Value(0));
}

impl ParsedField<f64> {
    fn and_bits(self) -> ParsedField<u64> {
        match self {
            Self::Value(value) => ParsedField::Value(value.to_bits()),
            Self::Null => ParsedField::Null,
            Self::Unfit => ParsedField::Unfit,
        }
    }
}

#[test]
fn what_is_null_and_what_does_not_fit() {
    let parser = german();
    let all = [
        ColumnType::Bool,
        ColumnType::Int,
        decimal(2),
        ColumnType::Float,
        ColumnType::Date,
        ColumnType::Timestamp,
    ];
    for to in all {
        for text in ["NA", " NA ", "-", "", "   "] {
            assert_eq!(
                parser.fit(Some(text.as_bytes()), to),
                ParsedField::Null,
                "{text:?} as {to}"
            );
        }
        assert_eq!(parser.fit(None, to), ParsedField::Null);
        for text in ["na", "N/A", "--", "x", "\u{fffd}"] {
            assert_eq!(
                parser.fit(Some(text.as_bytes()), to),
                ParsedField::Unfit,
                "{text:?} as {to}"
            );
        }
        assert_eq!(parser.fit(Some(b"\xff1"), to), ParsedField::Unfit);
    }
    let string = |text: &'static str| parser.string(Some(text.as_bytes()));
    assert_eq!(string("NA"), ParsedField::Null);
    assert_eq!(string(" - "), ParsedField::Null);
    assert_eq!(string("NAN"), ParsedField::Value("NAN"));
    assert_eq!(string(" x "), ParsedField::Value(" x "));
    assert_eq!(parser.string(Some(b"\xff")), ParsedField::Unfit);
    assert_eq!(TextParser::default().string(Some(b"NA")), ParsedField::Value("NA"));
}

#[test]
fn dates_in_some_order() {
    use DateOrder::{DayMonthYear, MonthDayYear, YearMonthDay};
    let day = |order, text: &str| {
        let parsed = parser('.', None, &[], order).date(Some(text.as_bytes()));
        if let ParsedField::Value(days) = parsed { Some(days) } else { None }
    };
    // 2024-03-04 is day 19,786.
    for (text, dmy, mdy, ymd, none) in [
        ("04.03.2024", Some(19_786), Some(19_816), None, None),
        ("4/3/2024", Some(19_786), Some(19_816), None, None),
        ("03-04-2024", Some(19_816), Some(19_786), None, None),
        ("31.12.2024", Some(20_088), None, None, None),
        ("12/31/2024", None, Some(20_088), None, None),
        ("2024/03/04", None, None, Some(19_786), None),
        ("2024.3.4", None, None, Some(19_786), None),
        // ISO dates are the same in every order.
        ("2024-03-04", Some(19_786), Some(19_786), Some(19_786), Some(19_786)),
        ("2024-03-04T05:06:07Z", Some(19_786), Some(19_786), Some(19_786), Some(19_786)),
        // Eight digits could be in any order, unless the year is known to be first.
        ("20240304", None, None, Some(19_786), Some(19_786)),
        // Two-digit years, two separators, other separators, too many digits.
        ("04.03.24", None, None, None, None),
        ("24/03/04", None, None, None, None),
        ("04.03/2024", None, None, None, None),
        ("04 03 2024", None, None, None, None),
        ("004.03.2024", None, None, None, None),
        ("04.03.02024", None, None, None, None),
        ("04.03.2024.", None, None, None, None),
        ("04.03", None, None, None, None),
        ("+4.3.2024", None, None, None, None),
        // No such day.
        ("30.02.2024", None, None, None, None),
        ("29.02.2023", None, None, None, None),
        ("00.01.2024", None, None, None, None),
        ("4. März 2024", None, None, None, None),
    ] {
        assert_eq!(day(Some(DayMonthYear), text), dmy, "{text} as DMY");
        assert_eq!(day(Some(MonthDayYear), text), mdy, "{text} as MDY");
        assert_eq!(day(Some(YearMonthDay), text), ymd, "{text} as YMD");
        assert_eq!(day(None, text), none, "{text}");
    }
}

#[test]
fn times_after_dates_in_some_order() {
    let parser = parser('.', None, &[], Some(DateOrder::MonthDayYear));
    let day = 19_786 * 86_400_000_000;
    for (text, expected) in [
        ("03/04/2024", Some(0)),
        ("03/04/2024 5:06", Some(18_360_000_000)),
        ("03/04/2024 05:06:07", Some(18_367_000_000)),
        ("3/4/2024 05:06:07.123456789", Some(18_367_123_456)),
        ("3/4/2024T05:06:07", Some(18_367_000_000)),
        ("3/4/2024 12:00:00 AM", Some(0)),
        ("3/4/2024 5:06 PM", Some(61_560_000_000)),
        ("2024-03-04T05:06:07+01:00", Some(14_767_000_000)),
        ("3/4/2024 13:00 PM", None),
        ("3/4/2024 25:00", None),
        ("3/4/2024 17", None),
        ("3/4/2024 noon", None),
        ("13/4/2024 05:06", None),
        ("05:06", None),
    ] {
        let expected =
            expected.map_or(ParsedField::Unfit, |micros: i64| ParsedField::Value(day + micros));
        assert_eq!(parser.timestamp(Some(text.as_bytes())), expected, "{text}");
    }
    assert_eq!(parser.date(Some(b"03/04/2024 05:06:07")), ParsedField::Value(19_786));
    assert_eq!(parser.date(Some(b"03/04/2024 later")), ParsedField::Unfit);
}

/// Digits with a separator between groups of three.
fn grouped(digits: &str, separator: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push_str(separator);
        }
        text.push(digit);
    }
    text
}

proptest! {
    /// A number written as the settings say is read as that number; with the other settings, never
    /// as another one, unless it has no more than a separator that both have.
    #[test]
    fn numbers_round_trip(
        value in -10_i128.pow(20)..10_i128.pow(20),
        group in any::<bool>(),
        sign in 0_usize..5,
    ) {
        for (decimal, thousands, parser) in [(',', ".", german()), ('.', ",", american())] {
            let (whole, fraction) = (value.abs() / 100, value.abs() % 100);
            let whole = whole.to_string();
            let whole = if group { grouped(&whole, thousands) } else { whole };
            let number = format!("{whole}{decimal}{fraction:02}");
            let currency = if decimal == ',' { "€" } else { "$" };
            let minus = if value < 0 { "-" } else { "" };
            let text = match sign {
                0 => format!("{minus}{number}"),
                1 => format!("{minus}{currency}{number}"),
                2 => format!("{currency} {minus}{number}"),
                3 => format!("{minus}{number} {currency}"),
                _ => format!("  {minus}{number}{currency} "),
            };
            prop_assert_eq!(cents(&parser, &text), Some(value), "{}", text);
            // Two digits after a comma are never a group.
            if sign == 0 {
                let other = if decimal == ',' { american() } else { german() };
                prop_assert_eq!(cents(&other, &text), None, "{}", text);
            }
        }
    }

    /// A day written in an order is read as that day in this order.
    #[test]
    fn dates_round_trip(
        days in -719_162_i32..2_932_897,
        separator in 0_usize..3,
        padded in any::<bool>(),
    ) {
        use chrono::{Datelike, NaiveDate};
        let date = NaiveDate::from_epoch_days(days).unwrap();
        let separator = [".", "/", "-"][separator];
        let two = |n: u32| if padded { format!("{n:02}") } else { n.to_string() };
        let (day, month) = (two(date.day()), two(date.month()));
        let year = format!("{:04}", date.year());
        for (order, fields) in [
            (DateOrder::DayMonthYear, [&day, &month, &year]),
            (DateOrder::MonthDayYear, [&month, &day, &year]),
            (DateOrder::YearMonthDay, [&year, &month, &day]),
        ] {
            let text = fields.map(String::as_str).join(separator);
            let parser = parser('.', None, &[], Some(order));
            let date = parser.date(Some(text.as_bytes()));
            prop_assert_eq!(date, ParsedField::Value(days), "{}", text);
        }
    }

    /// Whatever the text, every type takes it under every setting.
    #[test]
    fn settings_are_total(
        text in "[-+ €$]{0,2}[0-9]{0,4}[.,' /\u{a0}-]?[0-9]{0,4}[.,/:-]?[0-9]{0,4}\
                 [ €TeE:]{0,2}[0-9APM:]{0,5}",
        bytes in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let orders = [DateOrder::DayMonthYear, DateOrder::MonthDayYear, DateOrder::YearMonthDay];
        for order in orders {
            for parser in [
                parser(',', Some('.'), &["€", "kr."], Some(order)),
                parser('.', Some(' '), &["$"], Some(order)),
                parser('.', Some('\''), &[], Some(order)),
            ] {
                for field in [text.as_bytes(), &bytes] {
                    for to in [
                        ColumnType::Bool,
                        ColumnType::Int,
                        decimal(18),
                        ColumnType::Float,
                        ColumnType::String,
                        ColumnType::Date,
                        ColumnType::Timestamp,
                    ] {
                        parser.fit(Some(field), to);
                    }
                    parser.wide(Some(field));
                }
            }
        }
    }
}
