//! Parquet files that Arrow would not write.

use datafusion::parquet::basic::Compression;
use datafusion::parquet::column::writer::ColumnWriter;
use datafusion::parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use datafusion::parquet::file::properties::EnabledStatistics;
use datafusion::parquet::file::writer::SerializedFileWriter;
use datafusion::parquet::schema::parser::parse_message_type;

use super::*;
use ColumnType::{Date, Float, Int, String as Text, Timestamp};

/// Values of a column without NULLs.
enum Raw {
    Bytes(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<[u32; 3]>),
}

/// A file with one required column `x` of that Parquet type.
fn raw(folder: &tempfile::TempDir, declared: &str, values: &Raw, dictionary: bool) -> PathBuf {
    let schema = parse_message_type(&format!("message m {{ required {declared}; }}")).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(dictionary)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_compression(Compression::SNAPPY)
        .build();
    let path = folder.path().join("raw.parquet");
    let mut file = SerializedFileWriter::new(
        File::create(&path).unwrap(),
        Arc::new(schema),
        Arc::new(properties),
    )
    .unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    match (column.untyped(), values) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Raw::Bytes(values)) => {
            let values: Vec<_> = values.iter().cloned().map(ByteArray::from).collect();
            writer.write_batch(&values, None, None).unwrap()
        }
        (ColumnWriter::FixedLenByteArrayColumnWriter(writer), Raw::Fixed(values)) => {
            let values: Vec<_> = values.iter().cloned().map(FixedLenByteArray::from).collect();
            writer.write_batch(&values, None, None).unwrap()
        }
        (ColumnWriter::Int32ColumnWriter(writer), Raw::Int32(values)) => {
            writer.write_batch(values, None, None).unwrap()
        }
        (ColumnWriter::Int64ColumnWriter(writer), Raw::Int64(values)) => {
            writer.write_batch(values, None, None).unwrap()
        }
        (ColumnWriter::Int96ColumnWriter(writer), Raw::Int96(values)) => {
            let values: Vec<_> = values.iter().map(|v| Int96::from(v.to_vec())).collect();
            writer.write_batch(&values, None, None).unwrap()
        }
        _ => unreachable!(),
    };
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
    path
}

#[test]
fn text_that_is_not_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let long = [b"a string that is not inlined: ".as_slice(), b"\xff"].concat();
    let fine = "a string that is not inlined either";
    let values =
        [b"7".to_vec(), b"\xff".to_vec(), long, fine.into(), b"".to_vec(), vec![b'z'; 70_000]];
    let values = Raw::Bytes(values.to_vec());
    for declared in ["binary x (UTF8)", "binary x (STRING)", "binary x (ENUM)", "binary x (JSON)"] {
        for dictionary in [true, false] {
            let path = raw(&folder, declared, &values, dictionary);
            let expected = [Some("7"), None, None, Some(fine), Some(""), None];
            assert_eq!(strings(&read_as(&path, "x", Text)), expected, "{declared}");
            assert_eq!(ints(&read_as(&path, "x", Int))[..2], [Some(7), None]);
        }
    }
    let path = raw(&folder, "binary x", &values, true);
    assert!(refused(&path, "x", Text).contains("binary"));
}

#[test]
fn decimals_of_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let too_wide = [vec![1], vec![0; 20]].concat();
    let padded = [vec![0xff; 30], vec![0x85]].concat();
    let values = [vec![], vec![0x05], vec![0xfb], too_wide, padded, i128::MAX.to_be_bytes().into()];
    let path = raw(&folder, "binary x (DECIMAL(20,2))", &Raw::Bytes(values.to_vec()), false);
    let expected = [None, Some(5), Some(-5), None, Some(-123), None];
    assert_eq!(digits(&read_as(&path, "x", decimal(2))), expected);
    assert_eq!(floats(&read_as(&path, "x", Float))[1], Some(0.05_f64.to_bits()));

    for length in [1_usize, 9, 16, 17, 24] {
        let of = |first: u8, rest: u8| [vec![first; length - 1], vec![rest]].concat();
        let values = Raw::Fixed(vec![of(0, 9), of(0xff, 0xf7), of(0x70, 0x70)]);
        let declared = format!("fixed_len_byte_array({length}) x (DECIMAL(2,1))");
        let path = raw(&folder, &declared, &values, true);
        let column = digits(&read_as(&path, "x", decimal(1)));
        assert_eq!(column[..2], [Some(9), Some(-9)], "{length}");
        assert_eq!(column[2].is_none(), length > 15, "{length}");
    }
    // More digits than the types say.
    let path = raw(&folder, "int32 x (DECIMAL(2,1))", &Raw::Int32(vec![i32::MAX, i32::MIN]), false);
    let expected = [Some(21_474_836_470), Some(-21_474_836_480)];
    assert_eq!(digits(&read_as(&path, "x", decimal(2))), expected);
    let path = raw(&folder, "int64 x (DECIMAL(2,0))", &Raw::Int64(vec![i64::MAX]), false);
    assert_eq!(ints(&read_as(&path, "x", Int)), [Some(i64::MAX)]);
}

#[test]
fn numbers_beyond_their_annotation() {
    let folder = tempfile::tempdir().unwrap();
    for declared in ["int32 x (INT_8)", "int32 x (UINT_8)", "int32 x (INT_16)", "int32 x (UINT_32)"]
    {
        let path = raw(&folder, declared, &Raw::Int32(vec![i32::MAX, i32::MIN]), true);
        assert_eq!(ints(&read_as(&path, "x", Int)).len(), 2);
    }
    let path = raw(&folder, "int64 x (TIMESTAMP(NANOS,true))", &Raw::Int64(vec![i64::MIN]), true);
    assert_eq!(days(&read_as(&path, "x", Date)), [Some(-106_752)]);
    for unit in ["TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"] {
        let values = Raw::Int64(vec![i64::MIN, i64::MAX]);
        let path = raw(&folder, &format!("int64 x ({unit})"), &values, true);
        assert_eq!(read_as(&path, "x", Timestamp).len(), 2);
    }
}

#[test]
fn old_timestamps() {
    let folder = tempfile::tempdir().unwrap();
    // Nanoseconds of the day in two halves, and the Julian day.
    let values = [[1000, 0, 2_440_588], [0, 0, 5_373_484], [u32::MAX; 3], [0, 0, 1 << 31]];
    let path = raw(&folder, "int96 x", &Raw::Int96(values.to_vec()), false);
    let column = micros(&read_as(&path, "x", Timestamp));
    // The second is 9999-12-31, which does not fit 64 bits of nanoseconds.
    assert_eq!(column[..2], [Some(1), Some(253_402_214_400_000_000)]);
    assert_eq!(days(&read_as(&path, "x", Date)).len(), 4);
}

/// A damaged file is an error, never a panic, and the error does not say what is in the file.
#[test]
fn damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = (0..2000).map(|i| format!("secret {i}")).collect::<Vec<_>>();
    let array = StringViewArray::from_iter_values(&text);
    let numbers = Int64Array::from_iter_values(0..2000);
    let path = folder.path().join("t.parquet");
    write_parquet(&path, &[("x", Arc::new(array)), ("y", Arc::new(numbers))], None);
    let whole = std::fs::read(&path).unwrap();
    // Panics of the decoder are caught, but would fill the output of the test.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut refused = 0;
    for index in (0..whole.len()).step_by(97).chain(whole.len() - 300..whole.len()) {
        let mut bytes = whole.clone();
        bytes[index] ^= 0xff;
        for bytes in [&bytes[..], &whole[..index]] {
            std::fs::write(&path, bytes).unwrap();
            if let Err(error) = read(&path, &[("x", Text), ("y", Int)]) {
                refused += 1;
                assert!(error.contains("\n  hint: ") && !error.contains("secret"), "{error}");
            }
        }
    }
    std::panic::set_hook(hook);
    assert!(refused > 100, "{refused}");
}
