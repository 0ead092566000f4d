//! JSON lines: what values become, and which lines are rows.

use std::io::Write;

use hushtable_lang::ColumnType::{Bool, Date, Float, Int, String as Text, Timestamp};
use proptest::prelude::*;
use serde_json::Value;

use super::super::{Compression, FileFormat, OddRow, Sink, file_schema, look_at, observe};
use super::*;
use crate::source::Misfit;

fn json(bytes: impl AsRef<[u8]>, columns: &[(&str, ColumnType)]) -> RecordBatch {
    let folder = tempfile::tempdir().unwrap();
    read(&write(&folder, "t.jsonl", bytes), columns).unwrap()
}

/// The key `x` of some values, each on a line of its own.
fn lines(values: &[&str]) -> String {
    values.iter().map(|value| format!("{{\"x\": {value}}}\n")).collect()
}

/// The values of a column that tells units apart.
fn units(values: &[&str], declared: ColumnType) -> ArrayRef {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "t.ndjson", lines(values));
    let files = list_files(path.to_str().unwrap(), Path::new("")).unwrap();
    let wanted = ReadRequest { unit: Some(("x".to_owned(), declared)), ..ReadRequest::default() };
    Arc::clone(read_wanted(&files, &wanted, 1).unwrap().column(0))
}

#[test]
fn every_type() {
    let batch = json(
        r#"{"b": true, "i": -7, "d": 1.25, "f": 2.5, "s": "h\u00e9llo", "day": "2020-02-29",
            "unused": [1, {"b": false}], "at": "2020-02-29T12:00:00Z"}"#
            .replace('\n', " ")
            + "\n{\"b\": null, \"i\": null}\n"
            + r#"{"b": "maybe", "i": "seven", "d": "1.2.3", "f": [1], "s": null, "day": 20200229,
            "at": 1582977600}"#
                .replace('\n', " ")
                .as_str()
            + "\n"
            + r#"{"b": "yes", "i": "12", "d": "1.255", "f": "1e3", "s": "", "day": " 2020-02-29 ",
            "at": ""}"#
                .replace('\n', " ")
                .as_str(),
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
    assert_eq!(micros(batch.column(0)), [Some(1_582_977_600_000_000), None, None, None]);
    assert_eq!(bools(batch.column(1)), [Some(true), None, None, Some(true)]);
    assert_eq!(ints(batch.column(2)), [Some(-7), None, None, Some(12)]);
    assert_eq!(digits(batch.column(3)), [Some(125), None, None, Some(126)]);
    let bits = [Some(2.5_f64.to_bits()), None, None, Some(1000_f64.to_bits())];
    assert_eq!(floats(batch.column(4)), bits);
    assert_eq!(strings(batch.column(5)), [Some("héllo"), None, None, Some("")]);
    assert_eq!(days(batch.column(6)), [Some(18321), None, None, Some(18321)]);
}

#[test]
fn numbers_are_numbers_however_they_are_written() {
    let written = [
        "1",
        "1.0",
        "10e-1",
        "-0",
        "-0.0",
        "1.5",
        "\"1.0\"",
        "9007199254740993",
        "9223372036854775808",
        "1e400",
        "true",
        "[1]",
    ];
    let batch = json(lines(&written), &[("x", Int)]);
    let large = Some(9_007_199_254_740_993);
    assert_eq!(
        ints(batch.column(0)),
        [Some(1), Some(1), Some(1), Some(0), Some(0), None, None, large, None, None, None, None]
    );
    let batch = json(lines(&["0.1", "1e400", "-0.0", "\"NaN\"", "1E2"]), &[("x", Float)]);
    let values = [Some(0.1_f64), None, Some(0.0), None, Some(100.0)];
    assert_eq!(floats(batch.column(0)), values.map(|value| value.map(f64::to_bits)));
    let batch = json(lines(&["1.005", "1e2", "-2", "1e40"]), &[("x", decimal(2))]);
    assert_eq!(digits(batch.column(0)), [Some(101), Some(10_000), Some(-200), None]);
}

#[test]
fn texts_are_what_they_say_and_other_values_as_they_are_written() {
    let written = [
        r#""a\n\"b\"""#,
        r#""\ud83d\ude00""#,
        r#""\ud83d""#,
        "1.50",
        "true",
        r#"{"a": [1, null]}"#,
        "[]",
        "null",
        "\"NULL\"",
    ];
    let batch = json(lines(&written), &[("x", Text)]);
    let texts = ["a\n\"b\"", "😀", "", "1.50", "true", r#"{"a": [1, null]}"#, "[]", "", "NULL"];
    let texts = texts.map(|text| (!text.is_empty()).then_some(text));
    assert_eq!(strings(batch.column(0)), texts);
    let fits = format!("\"{}\"", "x".repeat(MAX_STRING_BYTES));
    let batch = json(lines(&[&fits, &fits.replacen('x', "xx", 1)]), &[("x", Text)]);
    assert_eq!(batch.column(0).null_count(), 1);
    let batch = json(b"{\"x\":\"\xff\"}\n{\"\xff\":1,\"x\":\"y\"}", &[("x", Text)]);
    assert_eq!(strings(batch.column(0)), [None, Some("y")]);
}

#[test]
fn a_line_is_a_row() {
    let text = "\u{feff}{\"a\":1,\"b\":\"x\"}\r\n\n \t\r\n{\"b\":\"y\"}\n{}\n[1]\n{\"a\":5\n\
                {\"a\":6,\"a\":null,\"a\":7}\n{\"\\u0061\":8}{}\n{\"\\u0061\":9,\"A\":1}";
    let batch = json(text, &[("b", Text), ("a", Int), ("nowhere", Date)]);
    let ints = ints(batch.column(1));
    assert_eq!(ints, [Some(1), None, None, None, None, Some(6), None, Some(9)]);
    let texts = [Some("x"), Some("y"), None, None, None, None, None, None];
    assert_eq!(strings(batch.column(0)), texts);
    assert_eq!(batch.column(2).null_count(), 8);
    assert_eq!(json("", &[("a", Int)]).num_rows(), 0);
    // In UTF-16 with its mark, too.
    let utf16 = "\u{feff}{\"a\":\"ő\"}\n".encode_utf16().flat_map(u16::to_le_bytes);
    let batch = json(utf16.collect::<Vec<u8>>(), &[("a", Text)]);
    assert_eq!(strings(batch.column(0)), [Some("ő")]);
}

/// As much as a line may have, and one byte more.
#[test]
fn a_line_that_is_too_long_is_a_row_without_values() {
    let most = 1 << 20;
    let object = "{\"a\": 1, \"b\": 2}";
    let line = |bytes: usize| object.to_owned() + &" ".repeat(bytes.saturating_sub(object.len()));
    let text = [line(most), line(most + 1), line(3 * most), line(0), line(most + 1)].join("\n");
    let batch = json(&text, &[("a", Int)]);
    assert_eq!(ints(batch.column(0)), [Some(1), None, None, Some(1), None]);
}

#[test]
fn two_numbers_are_two_units_and_one_number_is_one() {
    let same = ["7", "7.0", "70e-1", "\"7\"", "0.7E1"];
    assert_eq!(digits(&units(&same, Int)), [Some(7); 5]);
    let none = ["\"007\"", "\"7.0\"", "\" 7\"", "7.5", "true", "[7]", "{}", "null", "\"\\ud800\""];
    assert_eq!(units(&none, Int).null_count(), none.len());
    let large = ["9007199254740992", "9007199254740993", "9007199254740993.0", "1e37", "-1e37"];
    let wide = digits(&units(&large, Int));
    let ten = 10_i128.pow(37);
    let two = [9_007_199_254_740_992, 9_007_199_254_740_993, 9_007_199_254_740_993];
    assert_eq!(wide, [two[0], two[1], two[2], ten, -ten].map(Some));
    assert_eq!(units(&["1e38", "123456789012345678901234567890123456789"], Int).null_count(), 2);
    let money = ["1.5", "1.50", "\"1.50\"", "15e-1", "7", "\"1.5\"", "1.501", "1.504"];
    let values = [Some(150), Some(150), Some(150), Some(150), Some(700), None, None, None];
    assert_eq!(digits(&units(&money, decimal(2))), values);
    // As texts, numbers of one value must not be two.
    let texts = ["\"007\"", "7", "\"7\"", "7.0", "7e0", "-0", "1.5", "true", "[7]", "{}", "\"\""];
    let texts = units(&texts, Text);
    let found = [Some("007"), Some("7"), Some("7"), None, None, None, None, Some("true")];
    assert_eq!(strings(&texts)[..8], found);
    assert_eq!(strings(&texts)[8..], [None, None, Some("")]);
    assert_eq!(units(&["20240131", "\"20240131\"", "\"2024-01-31\""], Date).null_count(), 2);
}

/// Rows in three formats are the same values.
#[test]
fn values_are_those_of_csv_and_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 20_000;
    let (mut csv, mut json) = ("id,town,amount,day\n".to_owned(), String::new());
    let (mut ids, mut towns, mut amounts) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let (id, town, cents) = (row * 7 % 1000, format!("town, \"{}\" é", row % 13), row % 991);
        let amount = format!("{}.{:02}", cents / 100, cents % 100);
        let day = format!("2024-02-{:02}", row % 29 + 1);
        csv += &format!("{id},\"{}\",{amount},{day}\n", town.replace('"', "\"\""));
        let text = Value::from(town.clone()).to_string().replace('é', "\\u00E9");
        json += &format!("{{\"day\":\"{day}\",\"id\":{id},\"amount\":{amount},\"town\":{text}}}\n");
        ids.push(row * 7 % 1000);
        towns.push(town);
        amounts.push(i128::from(cents));
    }
    let wanted = [("id", Int), ("town", Text), ("amount", decimal(2))];
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from(ids))),
        ("town", Arc::new(StringViewArray::from_iter_values(towns))),
        (
            "amount",
            Arc::new(Decimal128Array::from(amounts).with_precision_and_scale(38, 2).unwrap()),
        ),
    ];
    let parquet = folder.path().join("t.parquet");
    write_parquet(&parquet, &columns, None);
    let (csv, json) = (write(&folder, "t.csv", csv), write(&folder, "t.jsonl", json));
    let [parquet, csv_rows, json_rows] =
        [&parquet, &csv, &json].map(|path| read(path, &wanted).unwrap());
    assert_eq!(json_rows.num_rows(), usize::try_from(rows).unwrap());
    for column in 0..wanted.len() {
        assert_eq!(json_rows.column(column), csv_rows.column(column));
        assert_eq!(json_rows.column(column), parquet.column(column));
    }
    let days = [&csv, &json].map(|path| read_as(path, "day", Date));
    assert_eq!(&days[0], &days[1]);
}

#[test]
fn compressed_lines_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(&["1", "2"]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for (name, bytes) in [("a.ndjson.gz", &gzip), ("b.jsonl.zst", &zstd)] {
        let path = write(&folder, name, bytes);
        assert_eq!(ints(&read_as(&path, "x", Int)), [Some(1), Some(2)]);
        // Damage is found before the rows are read, where it is at the beginning.
        let path = write(&folder, name, [&b"no"[..], bytes].concat());
        let error = read(&path, &[("x", Int)]).unwrap_err();
        assert!(error.contains("is damaged"), "{error}");
    }
    let files = list_files(folder.path().join("a.ndjson.gz").to_str().unwrap(), Path::new(""));
    let compression = Compression::Gzip;
    assert_eq!(files.unwrap()[0].format, FileFormat::JsonLines { compression });
}

#[test]
fn columns_are_the_keys_of_the_first_rows() {
    let folder = tempfile::tempdir().unwrap();
    // One line alone has `mia`.
    let lines = [
        "{\"b\":1,\"a\":2,\"\":0,\"year\":1}",
        "[]",
        "{\"c\":1,\"b\":2,\"mia\":1,\"mia\":2}",
        "{\"c\":1,\"a\":3,\"\":0,\"year\":1}",
    ];
    write(&folder, "t/year=2024/a.jsonl", lines.join("\n"));
    write(&folder, "t/year=2025/b.jsonl", "{\"a\":1,\"d\\u0021\":{\"e\":1},\"\\u0000\":1}\n");
    let files = list_files("t", folder.path()).unwrap();
    let schema = file_schema(&files, None).unwrap();
    let found = schema.iter().map(|c| (c.name.as_str(), c.column_type, c.file_type.as_str()));
    let json = |name| (name, Some(Text), "JSON");
    let expected = [json("b"), json("a"), json("c"), json("d!"), ("year", Some(Text), "folder")];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    // A folder's value counts, and a key of its name does not.
    let batch = read_files(&files, &[("year", Int), ("a", Int)], 1).unwrap();
    let years = [Some(2024), Some(2024), Some(2024), Some(2024), Some(2025)];
    assert_eq!(ints(batch.column(0)), years);
    assert_eq!(ints(batch.column(1)), [Some(2), None, None, Some(3), Some(1)]);
    let wanted = ReadRequest { csv: Some(CsvSettings::default()), ..ReadRequest::default() };
    let error = read_wanted(&files, &wanted, 1).unwrap_err();
    assert!(error.contains("leave `csv` out; JSON lines says itself"), "{error}");
}

#[test]
fn texts_that_look_like_numbers_stay_texts() {
    let folder = tempfile::tempdir().unwrap();
    let row = |n: u32| {
        format!(
            "{{\"id\":\"{n:03}\",\"zip\":\"{}\",\"code\":\"202401{:02}\",\"n\":{n},\"x\":{n}.5,\
             \"f\":1e{},\"yes\":{},\"no\":\"no\",\"day\":\"2024-01-{:02}\",\"few\":{},\"deep\":[],\
             \"odd\":{}}}\n",
            1000 + n,
            n % 28 + 1,
            n % 9,
            n.is_multiple_of(2),
            n % 28 + 1,
            if n == 7 { n.to_string() } else { "null".to_owned() },
            if n.is_multiple_of(40) { "\"NA?\"".to_owned() } else { n.to_string() },
        )
    };
    let text: String = (0..200).map(row).collect();
    write(&folder, "t.jsonl", text);
    let files = list_files("t.jsonl", folder.path()).unwrap();
    let found = look_at(&files, None).unwrap();
    assert!((found.rows, found.csv.is_none()) == (200, true));
    let types = found.columns.iter().map(|column| (column.name.as_str(), column.column_type));
    let expected = [
        ("id", Text),
        ("zip", Text),
        ("code", Text),
        ("n", Int),
        ("x", decimal(1)),
        ("f", Float),
        ("yes", Bool),
        ("no", Text),
        ("day", Date),
        ("few", Int),
        ("deep", Text),
        ("odd", Int),
    ];
    assert_eq!(types.collect::<Vec<_>>(), expected);
    let odd = found.columns.iter().find(|column| column.name == "odd").unwrap();
    assert_eq!((odd.misfits, odd.forms.clone()), (5, vec!["AA?".to_owned()]));
}

/// All that an owner hears of.
#[derive(Default)]
struct Oddities {
    rows: usize,
    misfits: Vec<(usize, String)>,
    not_objects: usize,
}

impl Sink for Oddities {
    fn batch(&mut self, _columns: Vec<ArrayRef>, rows: usize) -> bool {
        self.rows += rows;
        true
    }

    fn misfit(&mut self, column: usize, what: Misfit<'_>) {
        let Misfit::Text(text) = what else { panic!("another misfit") };
        self.misfits.push((column, String::from_utf8_lossy(text).into_owned()));
    }

    fn odd_row(&mut self, what: OddRow) {
        assert_eq!(what, OddRow::NotAnObject);
        self.not_objects += 1;
    }
}

#[test]
fn owners_hear_of_what_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "{\"a\":\"x\\u0079\",\"b\":\"\\ud800\"}\n{\"a\":1.5,\"b\":[1]}\n{\"a\":null}\nno\n{}\n";
    let path = write(&folder, "t.jsonl", text);
    let files = list_files(path.to_str().unwrap(), Path::new("")).unwrap();
    let wanted = ReadRequest {
        identifying: ["b".to_owned()].into(),
        ..ReadRequest::columns(&named(&[("a", Int), ("b", Text)]))
    };
    let mut found = Oddities::default();
    observe(&TableData::Files(files), &wanted, &Arc::default(), &mut found).unwrap();
    let misfits = [(0, "xy"), (1, "\"\\ud800\""), (0, "1.5"), (1, "[1]")];
    assert_eq!(found.misfits, misfits.map(|(column, text)| (column, text.to_owned())));
    assert_eq!((found.rows, found.not_objects), (5, 1));
}

proptest! {
    /// Whatever a program writes, a reader gets: numbers with all of their digits, texts with all
    /// of their characters.
    #[test]
    fn values_come_back(values in prop::collection::vec((any::<i64>(), any::<String>()), 0..20)) {
        let line = |(n, text): &(i64, String)| serde_json::json!({"s": text, "n": n}).to_string();
        let text: String = values.iter().map(|value| line(value) + "\n").collect();
        let batch = json(text, &[("n", Int), ("s", Text)]);
        let (n, s): (Vec<_>, Vec<_>) = values.iter().map(|(n, s)| (Some(*n), Some(&**s))).unzip();
        prop_assert_eq!(ints(batch.column(0)), n);
        prop_assert_eq!(strings(batch.column(1)), s);
    }
}
