//! CSV files, mostly broken ones.

use std::io::Write;

use super::*;
use ColumnType::{Bool, Date, Float, Int, String as Text, Timestamp};

fn csv(bytes: impl AsRef<[u8]>, columns: &[(&str, ColumnType)]) -> RecordBatch {
    let folder = tempfile::tempdir().unwrap();
    read(&write(&folder, "t.csv", bytes), columns).unwrap()
}

#[test]
fn every_type() {
    let batch = csv(
        "b,i,d,f,s,day,at,unused\n\
         true,-7,1.25,2.5,héllo,2020-02-29,2020-02-29T12:00:00Z,x\n\
         ,,,,,,,\n\
         maybe,seven,1.2.3,two,NULL,2021-02-29,noon,x\n",
        &[
            ("at", Timestamp),
            ("b", Bool),
            ("i", Int),
            ("d", decimal(2)),
            ("f", Float),
            ("s", Text),
            ("day", Date),
        ],
    );
    assert_eq!(micros(batch.column(0)), [Some(1_582_977_600_000_000), None, None]);
    assert_eq!(bools(batch.column(1)), [Some(true), None, None]);
    assert_eq!(ints(batch.column(2)), [Some(-7), None, None]);
    assert_eq!(digits(batch.column(3)), [Some(125), None, None]);
    assert_eq!(floats(batch.column(4)), [Some(2.5_f64.to_bits()), None, None]);
    assert_eq!(strings(batch.column(5)), [Some("héllo"), None, Some("NULL")]);
    assert_eq!(days(batch.column(6)), [Some(18321), None, None]);
}

#[test]
fn rows_of_any_length_and_lines_of_any_end() {
    let batch = csv(
        "\u{feff}a,b,c\r\n1,2,3\r\n4\r\n\r\n5,6,7,8,9\n,\n\"multi\n\
         line\",\"q\"\"q\",\"c,c\"\r\nlast",
        &[("c", Text), ("a", Text), ("b", Text)],
    );
    let expected = [
        [Some("1"), Some("2"), Some("3")],
        [Some("4"), None, None],
        [Some("5"), Some("6"), Some("7")],
        [None, None, None],
        [Some("multi\nline"), Some("q\"q"), Some("c,c")],
        [Some("last"), None, None],
    ];
    for (index, column) in [(2, 0), (0, 1), (1, 2)] {
        let column = strings(batch.column(column));
        assert_eq!(column, expected.map(|row| row[index]));
    }
}

#[test]
fn bytes_that_are_not_text() {
    let batch = csv(
        b"a,b\n\xff\xfe,1\nok,\xc3\n\0,\xed\xa0\x80\n\x80,2\n".as_slice(),
        &[("a", Text), ("b", Int)],
    );
    assert_eq!(strings(batch.column(0)), [None, Some("ok"), Some("\0"), None]);
    assert_eq!(ints(batch.column(1)), [Some(1), None, None, Some(2)]);
}

#[test]
fn quotes_that_do_not_balance() {
    let batch = csv("a,b\n1,\"x\n2,y\n3,z\n", &[("a", Int), ("b", Text)]);
    assert_eq!(ints(batch.column(0)), [Some(1)]);
    assert_eq!(strings(batch.column(1)), [Some("x\n2,y\n3,z\n")]);
    let batch = csv("a,b\n1,x\"y\n\"2\"3,\"y\"z\"\n4,\"\"\"", &[("a", Text), ("b", Text)]);
    assert_eq!(strings(batch.column(0)), [Some("1"), Some("23"), Some("4")]);
    assert_eq!(batch.num_rows(), 3);
}

/// A quote that a text begins with and does not end with has a line or two as a part of its field,
/// and not all that come after it.
#[test]
fn a_quote_that_is_missing_hides_no_more_than_its_field_may_have() {
    let folder = tempfile::tempdir().unwrap();
    let row = |n: usize| match n {
        5 => "5,\"oh,50\n".to_owned(),
        n => format!("{n},fine,{}\n", n * 10),
    };
    let lines: String = (0..2000).map(row).collect();
    write(&folder, "t.csv", format!("id,note,n\n{lines}"));
    let files = list_files("t.csv", folder.path()).unwrap();
    let columns = [("id", Int), ("note", Text), ("n", Int)];
    let found = |columns: &[(&str, ColumnType)], text_bytes: &[(&str, usize)]| {
        let text_bytes = text_bytes.iter().map(|&(name, bytes)| (name.to_owned(), bytes));
        let wanted = ReadRequest {
            text_bytes: text_bytes.collect(),
            ..ReadRequest::columns(&named(columns))
        };
        read_wanted(&files, &wanted, 3).unwrap()
    };
    for (text_bytes, most) in [(&[("note", 64)][..], 64), (&[][..], 1024)] {
        let batch = found(&columns, text_bytes);
        // At least 10 bytes are a line, and the line in which the field ends is one more.
        let rows = batch.num_rows();
        assert!((2000 - most / 10 - 1..2000).contains(&rows), "{rows}");
        let ids = ints(batch.column(0));
        let (before, after) = (&ids[..6], &ids[6..]);
        assert!(before.iter().copied().eq((0..6).map(Some)));
        assert!(after.iter().copied().eq((2000 - after.len() as i64..2000).map(Some)));
        // The field is no text, and what stood behind it is not there.
        assert_eq!((strings(batch.column(1))[5], ints(batch.column(2))[5]), (None, None));
        assert_eq!(batch.column(1).null_count() + batch.column(2).null_count(), 2);
        // The rows do not follow from the columns that are read.
        for some in [&columns[..0], &columns[..1], &columns[1..2], &columns[2..]] {
            assert_eq!(found(some, text_bytes).num_rows(), rows);
        }
    }
    // Within its limit, a text may have lines and be of several rows, as was always so.
    let batch = csv("id,note\n1,\"two\nlines\"\n2,x\n", &[("id", Int), ("note", Text)]);
    assert_eq!(strings(batch.column(1)), [Some("two\nlines"), Some("x")]);
}

#[test]
fn long_fields() {
    let fits = "x".repeat(MAX_STRING_BYTES);
    let huge = "y".repeat(20_000_000);
    let text = format!("a,b\n{fits},1\n{fits}x,2\n\"{huge}\",3\n1{},4\n", " ".repeat(70_000));
    let batch = csv(&text, &[("a", Text), ("b", Int)]);
    assert_eq!(strings(batch.column(0)), [Some(fits.as_str()), None, None, None]);
    assert_eq!(ints(batch.column(1)), [Some(1), Some(2), Some(3), Some(4)]);
}

#[test]
fn no_rows_and_no_header() {
    let folder = tempfile::tempdir().unwrap();
    for header in ["a,b", "a,b\n", "a,b\r\n", "\u{feff}a,b\n\n\n"] {
        let path = write(&folder, "t.csv", header);
        assert_eq!(read(&path, &[("b", Int)]).unwrap().num_rows(), 0);
    }
    for nothing in ["", "\n\n", "\u{feff}", ",,\n1,2,3\n"] {
        let path = write(&folder, "t.csv", nothing);
        let text = read(&path, &[("b", Int)]).unwrap_err();
        assert!(text.contains("no header line\n  hint: "), "{text}");
    }
    for not_text in [b"a,\xff\n1,2\n".as_slice(), b"a\0,\0b\0\n", b"\xff\xfea\0,\0\xff"] {
        let path = write(&folder, "t.csv", not_text);
        let text = read(&path, &[("a", Int)]).unwrap_err();
        assert!(text.contains("not UTF-8 text\n  hint: "), "{text}");
    }
}

#[test]
fn no_columns_still_counts_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "t.csv", "a,b\n1,2\n3\n,\n");
    let files = list_files(path.to_str().unwrap(), Path::new("")).unwrap();
    assert_eq!(rows(&files), 3);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

#[test]
fn compressed_whole_and_cut() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("\u{feff}a,b\n");
    (0..50_000).for_each(|i| text.push_str(&format!("{i},secret{}\n", i * 7919 % 50_000)));
    for (name, encode) in [("t.csv.gz", gzip as fn(&[u8]) -> Vec<u8>), ("t.csv.zst", zst)] {
        // Two members; the second starts within a row.
        let (one, two) = text.as_bytes().split_at(text.len() / 3);
        let whole = [encode(one), encode(two)].concat();
        let path = write(&folder, name, &whole);
        let batch = read(&path, &[("a", Int), ("b", Text)]).unwrap();
        assert_eq!(ints(batch.column(0)), (0..50_000).map(Some).collect::<Vec<_>>());
        assert_eq!(batch.column(1).null_count(), 0);

        let mut broken = whole.clone();
        broken[whole.len() / 2..].iter_mut().for_each(|byte| *byte ^= 0x55);
        for bytes in [&whole[..whole.len() - 20], &whole[..whole.len() / 2], &broken, b"a,b\n1,2\n"]
        {
            let path = write(&folder, name, bytes);
            let text = read(&path, &[("a", Int)]).unwrap_err();
            assert!(text.contains("is damaged") && text.contains("\n  hint: "), "{text}");
            assert!(text.contains(name) && !text.contains("secret"), "{text}");
        }
        assert!(read(&write(&folder, name, ""), &[("a", Int)]).is_err());
    }
}

#[test]
fn a_file_that_goes_away() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"] {
        let path = write(&folder, name, "a\n1\n");
        let files = list_files(name, folder.path()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let text = read_files(&files, &[("a", Int)], 1).unwrap_err();
        assert!(text.contains("cannot read") && text.contains("\n  hint: "), "{text}");
    }
}

/// Batches end by rows and by bytes, and neither is seen.
#[test]
fn many_rows() {
    let mut text = String::from("a,b\n");
    let long = "z".repeat(MAX_STRING_BYTES - 1);
    for i in 0..20_000 {
        text.push_str(&format!("{i},{}\n", if i % 50 == 0 { &long } else { "short" }));
    }
    let batch = csv(&text, &[("b", Text), ("a", Int)]);
    assert_eq!(ints(batch.column(1)), (0..20_000).map(Some).collect::<Vec<_>>());
    let lengths = strings(batch.column(0)).into_iter().map(|s| s.unwrap().len());
    assert_eq!(lengths.filter(|n| *n == MAX_STRING_BYTES - 1).count(), 400);
}
