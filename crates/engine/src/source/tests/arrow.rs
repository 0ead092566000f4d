//! Arrow's IPC format: as a file and as a stream.

use datafusion::arrow::array::*;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int8Type, TimeUnit};
use datafusion::arrow::ipc::CompressionType;
use datafusion::arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

use super::*;
use ColumnType::{Bool, Date, Float, Int, String as Text, Timestamp};

pub(super) fn as_file(batches: &[RecordBatch]) -> Vec<u8> {
    file_with(batches, IpcWriteOptions::default())
}

fn file_with(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

pub(super) fn as_stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

pub(super) fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(n, a)| (n, a.clone(), true)))
        .unwrap()
}

/// Columns of the types that both formats have, with values that are hard to read.
pub(super) fn columns() -> Vec<(&'static str, ArrayRef, ColumnType)> {
    let keys = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let text: ArrayRef =
        Arc::new(StringArray::from(vec![Some("a"), None, Some(""), Some("a"), Some("äö𝄞")]));
    let money = Decimal128Array::from(vec![Some(1), None, Some(-1), Some(i128::MAX), Some(99)]);
    vec![
        ("int", Arc::new(Int32Array::from(vec![Some(1), None, Some(-3), Some(4), Some(5)])), Int),
        ("large", Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1, 2, 3])), Int),
        (
            "float",
            Arc::new(Float64Array::from(vec![f64::NAN, -0.0, 1.5, f64::INFINITY, 2.0])),
            Float,
        ),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), None, None])),
            Bool,
        ),
        ("text", text.clone(), Text),
        ("large_text", cast(&text, &DataType::LargeUtf8).unwrap(), Text),
        ("view", cast(&text, &DataType::Utf8View).unwrap(), Text),
        ("keyed", cast(&text, &keys).unwrap(), Text),
        ("money", Arc::new(money.with_precision_and_scale(38, 2).unwrap()), decimal(3)),
        ("day", Arc::new(Date32Array::from(vec![Some(0), None, Some(-1), Some(9), Some(1)])), Date),
        (
            "at",
            Arc::new(TimestampNanosecondArray::from(vec![1_500, -1_500, i64::MIN, i64::MAX, 0])),
            Timestamp,
        ),
        ("nothing", new_null_array(&DataType::Null, 5), Text),
    ]
}

#[test]
fn arrow_files_and_streams_hold_what_parquet_holds() {
    let folder = tempfile::tempdir().unwrap();
    let arrays: Vec<(&str, ArrayRef)> = columns().iter().map(|c| (c.0, c.1.clone())).collect();
    let wanted: Vec<(&str, ColumnType)> = columns().iter().map(|c| (c.0, c.2)).collect();
    let parquet = folder.path().join("t.parquet");
    write_parquet(&parquet, &arrays, None);
    let expected = read(&parquet, &wanted).unwrap();
    let all = batch(&arrays);
    let slices = [all.slice(0, 2), all.slice(2, 3)];
    let with = |compression| {
        let options = IpcWriteOptions::default();
        file_with(&slices, options.try_with_compression(Some(compression)).unwrap())
    };
    for (name, bytes) in [
        ("t.arrow", as_file(&slices)),
        ("zstd.feather", with(CompressionType::ZSTD)),
        ("lz4.feather", with(CompressionType::LZ4_FRAME)),
        ("t.arrows", as_stream(&slices)),
    ] {
        let path = write(&folder, name, bytes);
        let files = list_files(path.to_str().unwrap(), Path::new("")).unwrap();
        assert_eq!(super::super::file_schema(&files, None).unwrap().len(), arrays.len());
        assert_eq!(rows(&files), 5, "{name}");
        let found = read_files(&files, &wanted, 1).unwrap();
        let mut rows: Vec<_> = (0..5).map(|row| format!("{:?}", found.slice(row, 1))).collect();
        let mut same: Vec<_> = (0..5).map(|row| format!("{:?}", expected.slice(row, 1))).collect();
        rows.sort();
        same.sort();
        assert_eq!(rows, same, "{name}");
    }
}

/// A library that trusts a file's text has no value to give where it is not UTF-8, and no error
/// may say so.
#[test]
fn text_that_is_not_utf_8_is_null() {
    let folder = tempfile::tempdir().unwrap();
    let plain: ArrayRef = Arc::new(StringArray::from(vec!["fine", "@@@@", "", "12"]));
    let view = cast(&plain, &DataType::Utf8View).unwrap();
    let keyed = DictionaryArray::<Int8Type>::new(vec![0, 1, 2, 3].into(), plain.clone());
    let all = batch(&[("plain", plain), ("keyed", Arc::new(keyed)), ("view", view)]);
    let all = [all];
    for (name, mut written) in [("t.arrow", as_file(&all)), ("t.arrows", as_stream(&all))] {
        let offsets: Vec<usize> =
            (0..written.len() - 4).filter(|&at| &written[at..at + 4] == b"@@@@").collect();
        assert!(offsets.len() >= 3);
        offsets.iter().for_each(|&at| written[at] = 0xff);
        let path = write(&folder, name, written);
        let texts = [("plain", Text), ("keyed", Text), ("view", Text), ("plain", Int)];
        let found = read(&path, &texts).unwrap();
        for column in 0..3 {
            let strings = strings(found.column(column));
            assert_eq!(strings, [Some("fine"), None, Some(""), Some("12")], "{name} {column}");
        }
        assert_eq!(ints(found.column(3)), [None, None, None, Some(12)]);
    }
}

#[test]
fn large_batches_are_read_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..50_000));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..50_000).map(|n| format!("number {n}"))));
    let path = write(&folder, "t.arrow", as_file(&[batch(&[("n", numbers), ("t", texts)])]));
    let found = read(&path, &[("t", Text), ("n", Int)]).unwrap();
    assert!(ints(found.column(1)).into_iter().eq((0..50_000).map(Some)));
    assert_eq!(strings(found.column(0))[49_999], Some("number 49999"));
}

#[test]
fn types_that_are_not_read_stand_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a"), None]);
    lists.append_null();
    let time = Time64MicrosecondArray::from(vec![1, 2]);
    let all = batch(&[
        ("list", Arc::new(lists.finish())),
        ("n", Arc::new(Int8Array::from(vec![1, 2]))),
        ("time", Arc::new(time)),
        ("text", Arc::new(StringArray::from(vec!["x", "y"]))),
    ]);
    let all = [all];
    for (name, bytes) in [("t.arrow", as_file(&all)), ("t.arrows", as_stream(&all))] {
        let path = write(&folder, name, bytes);
        let found = read(&path, &[("text", Text), ("n", Int)]).unwrap();
        assert_eq!(strings(found.column(0)), [Some("x"), Some("y")]);
        assert_eq!(ints(found.column(1)), [Some(1), Some(2)]);
        refused(&path, "list", Text);
        refused(&path, "time", Timestamp);
    }
    let stamp = TimestampSecondArray::from(vec![1]).with_timezone("+02:00");
    assert_eq!(stamp.data_type(), &DataType::Timestamp(TimeUnit::Second, Some("+02:00".into())));
    let path = write(&folder, "z.arrow", as_file(&[batch(&[("at", Arc::new(stamp))])]));
    assert_eq!(micros(&read_as(&path, "at", Timestamp)), [Some(1_000_000)]);
}

/// Whatever is wrong with a file, the error says that it is damaged, and nothing of what is in it.
#[test]
fn damaged_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("secret"), None, Some("hidden")]));
    let keys = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let keyed = cast(&text, &keys).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let all = [batch(&[("t", text), ("k", keyed), ("n", numbers)])];
    let options = IpcWriteOptions::default();
    let zstd = options.try_with_compression(Some(CompressionType::ZSTD)).unwrap();
    let written = [as_file(&all), as_stream(&all), file_with(&all, zstd)];
    let mut failed = 0;
    for bytes in &written {
        let short = (0..bytes.len()).step_by(7).map(|length| bytes[..length].to_vec());
        let flipped = (0..bytes.len()).step_by(3).flat_map(|at| {
            [0x00, 0x7f, 0xff].map(|byte| {
                let mut bytes = bytes.clone();
                bytes[at] = byte;
                bytes
            })
        });
        for bytes in short.chain(flipped) {
            let path = write(&folder, "t.arrow", bytes);
            if let Err(text) = read(&path, &[("t", Text), ("k", Text), ("n", Int)]) {
                assert!(text.contains("\n  hint: "), "{text}");
                assert!(!text.contains("secret") && !text.contains("hidden"), "{text}");
                failed += 1;
            }
        }
    }
    assert!(failed > 100, "{failed}");
    for bytes in [b"".as_slice(), b"ARROW1", b"FEA1....FEA1", b"\xff\xff\xff\xff\xff\xff\xff\x7f"] {
        let text = read(&write(&folder, "t.feather", bytes), &[("t", Text)]).unwrap_err();
        assert!(text.contains("is damaged: it is not valid Arrow"), "{text}");
    }
}
