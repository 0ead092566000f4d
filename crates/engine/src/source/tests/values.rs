//! Conversions of single values.

use hushtable_numbers::decimal::within_digits;
use proptest::prelude::*;

use super::super::convert::ReadType;
use super::super::from_text::TextColumn;
use super::super::normalise::big_endian;
use super::super::parse::{ParsedField, decimal};
use super::*;

const TYPES: [ColumnType; 8] = [
    ColumnType::Bool,
    ColumnType::Int,
    ColumnType::Decimal { scale: 0 },
    ColumnType::Decimal { scale: 18 },
    ColumnType::Float,
    ColumnType::String,
    ColumnType::Date,
    ColumnType::Timestamp,
];

fn column(to: ColumnType, fields: &[&str]) -> ArrayRef {
    let mut column = TextColumn::new(ReadType::Value(to), &Arc::default(), 8);
    for field in fields {
        column.push(Some(field.as_bytes()));
    }
    column.finish().unwrap()
}

#[test]
fn text_to_decimals() {
    for (text, scale, expected) in [
        ("1.005", 2, Some(101)),
        ("-1.005", 2, Some(-101)),
        ("1.00499999", 2, Some(100)),
        (".5", 0, Some(1)),
        ("0.49", 0, Some(0)),
        ("5.", 1, Some(50)),
        ("+7", 0, Some(7)),
        ("1e3", 2, Some(100_000)),
        ("1.5E-2", 2, Some(2)),
        ("1e-3", 2, Some(0)),
        ("5e-3", 2, Some(1)),
        ("0e999999999", 2, Some(0)),
        ("1e999999999", 2, None),
        ("1e-999999999", 2, Some(0)),
        ("1e99999999999", 2, None),
        ("99999999999999999999999999999999999999", 0, Some(10_i128.pow(38) - 1)),
        ("99999999999999999999999999999999999999.5", 0, None),
        ("100000000000000000000000000000000000000", 0, None),
        ("170141183460469231731687303715884105727.9", 0, None),
        ("00000000000000000000000000000000000000000000001", 0, Some(1)),
        ("", 0, None),
        (".", 0, None),
        ("-", 0, None),
        ("--1", 0, None),
        ("1 000", 0, None),
        ("1,000", 0, None),
        ("e5", 0, None),
        ("1e", 0, None),
        ("1.2.3", 0, None),
        ("nan", 0, None),
        ("٣", 0, None),
    ] {
        assert_eq!(decimal(text, scale), expected, "{text}");
    }
}

#[test]
fn text_to_other_types() {
    let array = column(ColumnType::Bool, &["true", "F", " yes ", "0", "2", ""]);
    assert_eq!(bools(&array), [Some(true), Some(false), Some(true), Some(false), None, None]);

    let array = column(
        ColumnType::Int,
        &["9223372036854775807", "9223372036854775808", " -5", "+5", "1.0", "0x1", "-"],
    );
    assert_eq!(ints(&array), [Some(i64::MAX), None, Some(-5), Some(5), None, None, None]);

    let array = column(ColumnType::Float, &["1e400", "-0", "NaN", "-inf", "1e-400", "x", "1_0"]);
    let bits = |v: f64| Some(v.to_bits());
    let infinite = f64::INFINITY;
    assert_eq!(floats(&array), [None, bits(0.0), None, bits(-infinite), bits(0.0), None, None]);

    let array = column(
        ColumnType::Date,
        &[
            "1970-01-02",
            "2024-02-30",
            "9999-12-31",
            "+10000-01-01",
            "0001-01-01",
            "0000-12-31",
            "01/02/2020",
            "20200101",
        ],
    );
    let (first, last) = (-719_162, 2_932_896);
    assert_eq!(
        days(&array),
        [Some(1), None, Some(last), None, Some(first), None, None, Some(18262)]
    );

    let array = column(
        ColumnType::Timestamp,
        &[
            "1970-01-01 00:00:00.000001",
            "1970-01-01T01:00:00+01:00",
            "1969-12-31T23:59:59.9999999Z",
            "1970-01-02",
            "9999-12-31 23:59:59.999999",
            "9999-12-31 23:59:60",
            "1970-01-01 25:00:00",
            "1970-01-01 00:00:00 Mars/Base",
        ],
    );
    let last = 253_402_300_799_999_999;
    assert_eq!(
        micros(&array),
        [Some(1), Some(0), Some(-1), Some(86_400_000_000), Some(last), None, None, None]
    );
}

#[test]
fn bytes_to_integers() {
    assert_eq!(big_endian(&[]), None);
    assert_eq!(big_endian(&[0xff]), Some(-1));
    assert_eq!(big_endian(&[0x7f]), Some(127));
    assert_eq!(big_endian(&[0; 40]), Some(0));
    assert_eq!(big_endian(&[0xff; 40]), Some(-1));
    assert_eq!(big_endian(&i128::MIN.to_be_bytes()), Some(i128::MIN));
    let mut wide = [0; 17];
    wide[1] = 0x80;
    assert_eq!(big_endian(&wide), None);
    assert_eq!(within_digits(10_i128.pow(38)), None);
}

proptest! {
    /// Whatever the bytes, every type takes them, and as one value.
    #[test]
    fn any_bytes(
        fields in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..20),
    ) {
        for to in TYPES {
            let mut column = TextColumn::new(ReadType::Value(to), &Arc::default(), 4);
            let fits: Vec<bool> = fields
                .iter()
                .map(|field| column.push(Some(field)) == ParsedField::Value(()))
                .collect();
            let values = column.finish().unwrap();
            let present: Vec<bool> = (0..values.len()).map(|row| values.is_valid(row)).collect();
            prop_assert_eq!(fits, present);
        }
    }

    /// Text that looks like numbers and dates comes deeper into the parsers.
    #[test]
    fn likely_text(
        text in "[+-]?[0-9]{0,5}[-/.: eE]?[0-9]{0,3}[-/.:]?[0-9]{0,3}[ Tt]?[0-9:.]{0,16}\
                 [ Zz]?[+-]?[0-9:é]{0,6}",
        tail in "(\u{7f}|é|𝄞|0|9|:|\\.|Z){0,40}",
    ) {
        for to in TYPES {
            for text in [text.clone(), format!("{text}{tail}")] {
                prop_assert_eq!(column(to, &[&text]).len(), 1);
            }
        }
    }

    /// A decimal's text is read as that decimal.
    #[test]
    fn decimals_round_trip(digits in -10_i128.pow(38) + 1..10_i128.pow(38), scale in 0_u8..=18) {
        let text = format!("{digits}e-{scale}");
        prop_assert_eq!(decimal(&text, scale), Some(digits));
    }

    /// Sign extension does not change a number.
    #[test]
    fn big_endian_extends(value in any::<i128>(), more in 0_usize..20) {
        let mut bytes = vec![if value < 0 { 0xff } else { 0 }; more];
        bytes.extend(value.to_be_bytes());
        prop_assert_eq!(big_endian(&bytes), Some(value));
    }
}
