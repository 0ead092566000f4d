//! Differences that tell units apart.

use datafusion::arrow::array::*;

use super::*;
use ColumnType::{Int, String as Text};

/// The units' column of a table, and the same column as values.
fn units(folder: &Path, location: &str, declared: ColumnType) -> (ArrayRef, ArrayRef) {
    let files = list_files(location, folder).unwrap();
    let unit = Some(("x".to_owned(), declared));
    let wanted = Wanted { unit, ..Wanted::columns(&named(&[("x", declared)])) };
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
    assert_eq!(digits(&unit), [Some(1 << 63), Some(5), Some(5), None, None, long]);
    assert_eq!(ints(&value), [None, Some(5), Some(5), None, None, None]);
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

/// Rows of equal values are told apart, in the same way whoever reads which part of the files.
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
    let wanted = Wanted { rows: true, ..Wanted::columns(&named(&[("x", ColumnType::Int)])) };
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
