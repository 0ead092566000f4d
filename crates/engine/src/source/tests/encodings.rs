//! CSV files of other encodings, delimiters and quotes.

use encoding_rs::Encoding;
use proptest::prelude::*;

use super::*;
use ColumnType::{Int, String as Text};

/// A file with those settings.
fn csv(
    bytes: impl AsRef<[u8]>,
    settings: CsvSettings,
    columns: &[(&str, ColumnType)],
) -> Result<RecordBatch, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "t.csv", bytes);
    let files = list_files(path.to_str().unwrap(), Path::new("")).unwrap();
    let wanted = ReadRequest { csv: Some(settings), ..ReadRequest::columns(&named(columns)) };
    read_wanted(&files, &wanted, 1)
}

fn encoded(name: &str) -> CsvSettings {
    CsvSettings::new(',', Some('"'), name, TextFormat::default()).unwrap()
}

fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

#[test]
fn delimiters_and_quotes() {
    let settings = |delimiter, quote| {
        CsvSettings::new(delimiter, quote, "utf-8", TextFormat::default()).unwrap()
    };
    let columns = [("a", Text), ("b", Text)];
    for (text, delimiter, quote, expected) in [
        ("a;b\n1,5;\"x;\"\"y\"\n", ';', Some('"'), ("1,5", "x;\"y")),
        ("a|b\n1|'x|''y'\n", '|', Some('\''), ("1", "x|'y")),
        ("a\tb\n1\t\"x\n", '\t', None, ("1", "\"x")),
        ("a b\n1 \"x y\"\n", ' ', Some('"'), ("1", "x y")),
    ] {
        let batch = csv(text, settings(delimiter, quote), &columns).unwrap();
        assert_eq!(strings(batch.column(0)), [Some(expected.0)], "{text}");
        assert_eq!(strings(batch.column(1)), [Some(expected.1)], "{text}");
    }
    let error = csv("a;b\n1;2\n", settings(',', Some('"')), &columns).unwrap_err();
    assert!(error.contains("declares column `a`"), "{error}");
}

#[test]
fn text_of_every_encoding() {
    let text = "größe,b\nŸ – “x”,1\nok,2\n";
    for name in ["windows-1252", "utf-8", "gb18030"] {
        let (bytes, _, unmappable) = Encoding::for_label(name.as_bytes()).unwrap().encode(text);
        assert!(!unmappable, "{name}");
        let batch = csv(bytes, encoded(name), &[("größe", Text), ("b", Int)]).unwrap();
        assert_eq!(strings(batch.column(0)), [Some("Ÿ – “x”"), Some("ok")], "{name}");
        assert_eq!(ints(batch.column(1)), [Some(1), Some(2)], "{name}");
    }
    // A mark says more than the settings, and without any settings, too.
    let little = utf16(&format!("\u{feff}{text}"), u16::to_le_bytes);
    let big = utf16(&format!("\u{feff}{text}"), u16::to_be_bytes);
    let marked = format!("\u{feff}{text}").into_bytes();
    for bytes in [little, big, marked] {
        for name in ["utf-8", "windows-1252", "utf-16le", "utf-16be"] {
            let batch = csv(&bytes, encoded(name), &[("größe", Text)]).unwrap();
            assert_eq!(strings(batch.column(0)), [Some("Ÿ – “x”"), Some("ok")], "{name}");
        }
    }
    let batch = csv(utf16(text, u16::to_le_bytes), encoded("utf-16le"), &[("b", Int)]).unwrap();
    assert_eq!(ints(batch.column(0)), [Some(1), Some(2)]);
    // Of another encoding than is said.
    let error = csv(b"gr\xf6\xdfe\n1\n", encoded("utf-8"), &[("x", Int)]).unwrap_err();
    assert!(error.contains("is not UTF-8 text\n  hint: ") && error.contains("windows-1252"));
}

#[test]
fn bytes_that_cannot_be_decoded_are_null() {
    // 0x81 and 0xff are nothing in these.
    for (name, bytes) in [
        ("shift_jis", b"a,b\n\x83\x66,1\n\x83\xff,2\nok,\xff3\n".as_slice()),
        ("euc-kr", b"a,b\n\xb0\xa1,1\n\xb0\xff,2\nok,\xff3\n"),
    ] {
        let batch = csv(bytes, encoded(name), &[("a", Text), ("b", Int)]).unwrap();
        assert_eq!(strings(batch.column(0))[1..], [None, Some("ok")], "{name}");
        assert!(strings(batch.column(0))[0].is_some());
        assert_eq!(ints(batch.column(1)), [Some(1), Some(2), None], "{name}");
    }
    // A half of a pair, and half a unit at the end.
    let mut bytes = utf16("\u{feff}a,b\n?,1\nok,2", u16::to_le_bytes);
    let question = bytes.chunks(2).position(|unit| unit == [b'?', 0]).unwrap();
    bytes[2 * question + 1] = 0xd8;
    bytes.push(b'3');
    let batch = csv(bytes, encoded("utf-8"), &[("a", Text), ("b", Int)]).unwrap();
    assert_eq!(strings(batch.column(0)), [None, Some("ok")]);
    assert_eq!(ints(batch.column(1)), [Some(1), None]);
    // A character that was replaced before is text.
    let batch = csv("a\n\u{fffd}\n", encoded("utf-8"), &[("a", Text)]).unwrap();
    assert_eq!(strings(batch.column(0)), [Some("\u{fffd}")]);
}

#[test]
fn long_files_are_decoded_in_pieces() {
    let mut text = String::from("a,b\n");
    for i in 0..40_000 {
        text.push_str(&format!("{i},é{}\n", "日本".repeat(i % 7)));
    }
    let bytes = utf16(&format!("\u{feff}{text}"), u16::to_be_bytes);
    let batch = csv(bytes, CsvSettings::default(), &[("a", Int), ("b", Text)]).unwrap();
    assert_eq!(ints(batch.column(0)), (0..40_000).map(Some).collect::<Vec<_>>());
    let found = strings(batch.column(1));
    assert!(found.iter().enumerate().all(|(i, s)| s.unwrap().chars().count() == 1 + 2 * (i % 7)));
}

#[test]
fn settings_are_for_csv_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = one_column(&folder, Int64Array::from(vec![1]));
    let files = list_files(path.to_str().unwrap(), Path::new("")).unwrap();
    let wanted = ReadRequest { csv: Some(CsvSettings::default()), ..ReadRequest::default() };
    let error = read_wanted(&files, &wanted, 1).unwrap_err();
    assert!(error.contains("is Parquet\n  hint: leave `csv` out"), "{error}");
}

proptest! {
    /// Whatever the bytes, they are read, and those that a decoder turns into text are that text.
    #[test]
    fn any_bytes_in_any_encoding(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        index in 0_usize..7,
    ) {
        let name = [
            "windows-1252", "utf-16le", "utf-16be", "shift_jis", "gb18030", "big5", "euc-jp",
        ][index];
        let encoding = Encoding::for_label(name.as_bytes()).unwrap();
        let input = std::io::Cursor::new(bytes.clone());
        let mut decoded = Vec::new();
        let mut stream = super::super::decode::utf8(Box::new(input), encoding).unwrap();
        std::io::Read::read_to_end(&mut stream, &mut decoded).unwrap();
        let (expected, _, malformed) = encoding.decode(&bytes);
        if !malformed && Encoding::for_bom(&bytes).is_none() {
            prop_assert_eq!(decoded, expected.as_bytes());
        } else if malformed && Encoding::for_bom(&bytes).is_none() {
            prop_assert!(std::str::from_utf8(&decoded).is_err());
        }
    }
}
