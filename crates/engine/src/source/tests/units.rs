//! Differences that tell units apart.

use datafusion::arrow::array::*;
use proptest::prelude::*;

use super::super::convert::{ReadType, StoredType};
use super::super::from_text::TextColumn;
use super::super::normalise::read_as;
use super::super::parse::TextParser;
use super::*;
use ColumnType::{Int, String as Text};

/// The units' column of a table, and the same column as values.
fn units(folder: &Path, location: &str, declared: ColumnType) -> (ArrayRef, ArrayRef) {
    let files = list_files(location, folder).unwrap();
    let unit = Some(("x".to_owned(), declared));
    let wanted = ReadRequest { unit, ..ReadRequest::columns(&named(&[("x", declared)])) };
    let batch = read_wanted(&files, &wanted, 1).unwrap();
    assert_eq!(batch.num_columns(), 2);
    (Arc::clone(batch.column(1)), Arc::clone(batch.column(0)))
}

#[test]
fn whole_numbers_beyond_64_bits_with_a_sign_are_units() {
    let folder = tempfile::tempdir().unwrap();
    let (most, beyond) = (u64::MAX, i64::MAX as u64 + 1);
    let path = folder.path().join("a.parquet");
    let array = UInt64Array::from(vec![Some(most), Some(beyond), Some(7), None]);
    write_parquet(&path, &[("x", Arc::new(array))], None);
    let (unit, value) = units(folder.path(), "a.parquet", Int);
    let wide = [Some(i128::from(most)), Some(i128::from(beyond)), Some(7), None];
    assert_eq!(digits(&unit), wide);
    // As a value, the column stays what it is declared to be.
    assert_eq!(ints(&value), [None, None, Some(7), None]);

    // One unit in files of different types is one unit.
    write_parquet(&folder.path().join("b.parquet"), &[("x", ints_of(&[7, -1]))], None);
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    write_parquet(&folder.path().join("c.parquet"), &[("x", flags)], None);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["7", "18446744073709551615", "7.0", "x"]));
    write_parquet(&folder.path().join("d.parquet"), &[("x", text)], None);
    let money = Decimal128Array::from(vec![7]).with_precision_and_scale(38, 0).unwrap();
    write_parquet(&folder.path().join("e.parquet"), &[("x", Arc::new(money))], None);
    let nothing: ArrayRef = Arc::new(NullArray::new(1));
    write_parquet(&folder.path().join("f.parquet"), &[("x", nothing)], None);
    let (unit, _) = units(folder.path(), ".", Int);
    let mut found = digits(&unit);
    found.sort_unstable();
    let most = Some(i128::from(most));
    let seven = Some(7);
    let expected = [None, None, None, None, Some(-1), Some(1), seven, seven, seven, seven];
    assert_eq!(found[..10], expected);
    assert_eq!(found[10..], [Some(i128::from(beyond)), most, most]);
}

fn ints_of(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

#[test]
fn units_in_csv_have_up_to_38_digits() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "t.csv", "x\n9223372036854775808\n+5\n 5 \n1.0\n1e3\n12345678901234567890123\n");
    let (unit, value) = units(folder.path(), "t.csv", Int);
    let long = Some(12_345_678_901_234_567_890_123);
    assert_eq!(digits(&unit), [Some(1 << 63), None, None, None, None, long]);
    assert_eq!(ints(&value), [None; 6]);
    let (unit, value) = units(folder.path(), "t.csv", Text);
    assert_eq!(strings(&unit), strings(&value));
}

/// A unit that fits 64 bits stays there, in half of the memory.
#[test]
fn other_units_are_as_they_are_declared() {
    let folder = tempfile::tempdir().unwrap();
    let path = one_column(&folder, UInt32Array::from(vec![u32::MAX]));
    let (unit, _) = units(folder.path(), path.to_str().unwrap(), Int);
    assert_eq!(ints(&unit), [Some(i64::from(u32::MAX))]);
    let (unit, _) = units(folder.path(), path.to_str().unwrap(), decimal(2));
    assert_eq!(digits(&unit), [Some(i128::from(u32::MAX) * 100)]);
    // In the name of a folder, it is text.
    write(&folder, "t/x=18446744073709551615/a.csv", "n\n1\n");
    let (unit, value) = units(folder.path(), "t", Int);
    assert_eq!(digits(&unit), [Some(i128::from(u64::MAX))]);
    assert_eq!(ints(&value), [None]);
}

/// Of several ways to write a value, one is a unit.
#[test]
fn text_that_is_not_written_exactly_is_no_unit() {
    let folder = tempfile::tempdir().unwrap();
    let money = ["1.001", "1.004", "1.00", "1.0", "1", "+1.00", "01.00", "-0.00", "0.00", "1e0"];
    let days = ["2024-01-05", "2024-01-05T07:00:00", "2024-1-5", "20240105", " 2024-01-05"];
    let times =
        ["2024-01-05 07:00:00", "2024-01-05T07:00:00", "2024-01-05 07:00:00.0000001", "2024-01-05"];
    let texts = ["a", " a", "A", "01", "1"];
    let kept = |declared: ColumnType, texts: &[&str]| {
        let rows: String = texts.iter().map(|text| format!("{text}\n")).collect();
        write(&folder, "t.csv", format!("x\n{rows}"));
        let text: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        write_parquet(&folder.path().join("t.parquet"), &[("x", text)], None);
        let [csv, parquet] = ["t.csv", "t.parquet"].map(|file| {
            let (unit, value) = units(folder.path(), file, declared);
            // In columns of units, values are what units are.
            assert_eq!(unit.is_valid(0), value.is_valid(0), "{declared}");
            let kept = texts.iter().enumerate().filter(|(row, _)| unit.is_valid(*row));
            kept.map(|(_, text)| (*text).to_owned()).collect::<Vec<String>>()
        });
        assert_eq!(csv, parquet, "{declared}");
        csv
    };
    assert_eq!(
        kept(Int, &["0", "-0", "7", "07", "+7", "7.0", "7e0", "-7", " 7"]),
        ["0", "7", "-7"]
    );
    assert_eq!(kept(decimal(2), &money), ["1.00", "0.00"]);
    assert_eq!(kept(ColumnType::Date, &days), ["2024-01-05"]);
    assert_eq!(kept(ColumnType::Timestamp, &times), ["2024-01-05 07:00:00"]);
    assert_eq!(kept(Text, &texts), texts);
}

/// Types in which two values of a file could be one.
#[test]
fn types_that_lose_digits_tell_no_units_apart() {
    use ColumnType::{Bool, Date, Float, Timestamp};
    let folder = tempfile::tempdir().unwrap();
    let decimals = |scale: i8| {
        let digits = Decimal128Array::from(vec![1001, 1004]).with_precision_and_scale(38, scale);
        Arc::new(digits.unwrap()) as ArrayRef
    };
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![100, 200]));
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![100, 200]));
    let whole: ArrayRef = ints_of(&[9_007_199_254_740_992, 9_007_199_254_740_993]);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let read = |array: &ArrayRef, wanted: &ReadRequest| {
        write_parquet(&folder.path().join("t.parquet"), &[("x", Arc::clone(array))], None);
        let files = list_files("t.parquet", folder.path()).unwrap();
        read_wanted(&files, wanted, 1)
    };
    // Those of units, and those that name rows for others.
    let both = |declared: ColumnType| {
        let unit = Some(("x".to_owned(), declared));
        let referred = ReadRequest::columns(&named(&[("x", declared)]));
        let identifying = ["x".to_owned()].into();
        [ReadRequest { unit, ..ReadRequest::default() }, ReadRequest { identifying, ..referred }]
    };
    let mut refused = String::new();
    for (array, declared) in [
        (&whole, Float),
        (&whole, Bool),
        (&text, Float),
        (&floats, Float),
        (&floats, Int),
        (&decimals(3), Float),
        (&decimals(3), decimal(2)),
        (&decimals(20), decimal(18)),
        (&micros, Date),
        (&nanos, Timestamp),
        (&nanos, Date),
    ] {
        let [unit, referred] = both(declared).map(|wanted| read(array, &wanted).unwrap_err());
        assert_eq!(unit, referred);
        let error = unit.replace(folder.path().to_str().unwrap(), "FOLDER");
        refused.push_str(&format!("{error}\n"));
    }
    insta::assert_snapshot!(refused);
    for (array, declared) in [
        (&whole, Int),
        (&whole, decimal(2)),
        (&whole, Text),
        (&text, Text),
        (&decimals(3), decimal(3)),
        (&decimals(3), decimal(18)),
        (&micros, Timestamp),
    ] {
        for wanted in both(declared) {
            let batch = read(array, &wanted).unwrap();
            let unit = batch.column(0);
            assert_eq!((unit.len(), unit.null_count()), (2, 0), "{declared}");
            let distinct = |a: &ArrayRef| a.slice(0, 1).to_data() != a.slice(1, 1).to_data();
            assert!(distinct(unit), "{declared}");
        }
    }
    // Where they tell nothing apart, they are read as before.
    for (array, declared) in [(&nanos, Timestamp), (&nanos, Date), (&whole, Float)] {
        let wanted = ReadRequest::columns(&named(&[("x", declared)]));
        assert_eq!(read(array, &wanted).unwrap().column(0).null_count(), 0);
    }
}

/// Milliseconds that should stand for days, and need not.
#[test]
fn fractions_of_days_are_no_units() {
    let day = 86_400_000;
    let values: ArrayRef = Arc::new(Date64Array::from(vec![0, day, day + 1, -day, -1]));
    let read = |to: ReadType| read_as(&values, StoredType::Date, to).unwrap();
    let date = ColumnType::Date;
    assert_eq!(days(&read(ReadType::Identifier(date))), [Some(0), Some(1), None, Some(-1), None]);
    assert_eq!(days(&read(ReadType::Value(date))), [0, 1, 1, -1, -1].map(Some));
}

/// Texts in which several spellings are of one value.
const WRITTEN: &str =
    "[-+]?[0-2.,' eE]{1,6}| ?200[01]-0?1-1[ T]?(0[01]:00(:00(.[01]{1,9})?)?Z?)?|[tTy1]";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    /// No two texts are one unit, under whatever settings.
    #[test]
    fn two_texts_are_never_one_unit(
        one in WRITTEN,
        zeros in 0usize..3,
        other in WRITTEN,
        change in 0usize..8,
        local in any::<bool>(),
    ) {
        // Another way to write the same number, more often than chance has it.
        let other = match change {
            0 => format!("{}{one}", "0".repeat(zeros)),
            1 => format!("{one}{}", "0".repeat(zeros)),
            2 => format!(" {one}"),
            3 => format!("+{one}"),
            4 => format!("{one}."),
            5 => one.replace(' ', "T"),
            _ => other,
        };
        let format = match local {
            false => TextFormat::default(),
            true => {
                let numbers = NumberFormat::new(',', Some('.'), vec!["EUR".to_owned()]).unwrap();
                TextFormat::new(Vec::new(), numbers, Some(DateOrder::DayMonthYear)).unwrap()
            }
        };
        let parser = Arc::new(TextParser::new(&format));
        let types =
            [Int, decimal(0), decimal(2), Text, ColumnType::Date, ColumnType::Timestamp];
        let targets = types.map(ReadType::Identifier).into_iter().chain([ReadType::Wide]);
        for target in targets {
            let mut column = TextColumn::new(target, &parser, 2);
            column.push(Some(one.as_bytes()));
            column.push(Some(other.as_bytes()));
            let values = column.finish().unwrap();
            if one != other && values.null_count() == 0 {
                let (a, b) = (values.slice(0, 1), values.slice(1, 1));
                prop_assert!(a.to_data() != b.to_data(), "{target:?}: {one:?} and {other:?}");
            }
        }
    }
}

/// Rows of equal values are told apart, in the same way whoever reads which chunk of the files.
#[test]
fn rows_are_told_apart_by_their_places() {
    let folder = tempfile::tempdir().unwrap();
    for (name, from) in [("a", 0), ("b", 20_000)] {
        let numbers = (from..from + 20_000).map(|n| n / 2);
        let lines: String = numbers.clone().map(|n| format!("{n}\n")).collect();
        write(&folder, &format!("{name}.csv"), format!("x\n{lines}"));
        let groups = WriterProperties::builder().set_max_row_group_row_count(Some(6_000)).build();
        let numbers = Arc::new(numbers.collect::<Int64Array>());
        let path = folder.path().join(format!("{name}.parquet"));
        write_parquet(&path, &[("x", numbers)], Some(groups));
    }
    let wanted =
        ReadRequest { rows: true, ..ReadRequest::columns(&named(&[("x", ColumnType::Int)])) };
    for pattern in ["*.csv", "*.parquet"] {
        let files = list_files(pattern, folder.path()).unwrap();
        assert_eq!(files.len(), 2);
        let read = |partitions: usize| {
            let rows = read_wanted(&files, &wanted, partitions).unwrap();
            let all = ints(rows.column(1)).into_iter().zip(ints(rows.column(0)));
            let mut all: Vec<_> = all.collect();
            all.sort_unstable();
            all
        };
        // In the order of the files and of their rows, and each apart.
        let alone = read(1);
        assert!(alone.windows(2).all(|pair| pair[0].0.is_some() && pair[0].0 < pair[1].0));
        assert!(alone.iter().map(|row| row.1.unwrap()).eq((0..40_000).map(|n| n / 2)));
        assert_eq!(read(3), alone);
        assert_eq!(read(16), alone);
    }
}
