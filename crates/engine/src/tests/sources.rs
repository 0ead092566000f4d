//! Files of many kinds, and their effect on units and rows on the whole way to an answer.

use std::fs::File;

use datafusion::arrow::array::{ArrayRef, Float64Array, TimestampNanosecondArray};
use datafusion::parquet::arrow::ArrowWriter;

use super::*;

const TABLE: &str = r#"
[tables.t]
path = "t"
privacy_unit = "id"
[tables.t.columns]
id = { type = "TYPE" }
note = { type = "string", max_bytes = 32 }
n = { type = "int", bounds = [0, 10] }
[tables.t.budgets]
ana = { epsilon = 1000000, delta = 0.9999999 }
"#;

fn table(id: &str, files: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::new(&TABLE.replace("TYPE", id), &[]);
    for (name, text) in files {
        hushtable_testkit::write(&fixture.path().join("t"), name, text);
    }
    fixture
}

fn units(fixture: &Fixture) -> (String, u64, u64) {
    let report = fixture.session().check_data(None, None, &Progress::default()).wait().unwrap();
    let found = &report.tables[0];
    let count = fixture.rows(&exactly("COUNT(DISTINCT id) AS units, COUNT(*) AS n FROM t"));
    (count, found.units.unwrap(), found.rows_without_unit)
}

/// `01` and `1` may be two people. Under a type for which they are one number, one of them is
/// nobody: as one unit they would count for one, and either of them could change all of it.
#[test]
fn two_names_are_never_one_unit() {
    let rows = "id,note,n\n1,a,1\n01,b,1\n+1,c,1\n1.0,d,1\n";
    let file = [("a.csv", rows)];
    assert_eq!(units(&table("string", &file)), ("4|4\n".to_owned(), 4, 0));
    assert_eq!(units(&table("int", &file)), ("1|1\n".to_owned(), 1, 3));
    assert_eq!(units(&table("decimal(1)", &file)), ("1|1\n".to_owned(), 1, 3));
    let money = [("a.csv", "id,note,n\n1.001,a,1\n1.004,b,1\n1.00,c,1\n")];
    assert_eq!(units(&table("decimal(2)", &money)), ("1|1\n".to_owned(), 1, 2));
}

#[test]
fn types_that_merge_units_are_refused_before_they_cost_anything() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![100, 200]));
    for (ids, declared) in [(floats, "int"), (nanos, "timestamp")] {
        let fixture = table(declared, &[]);
        std::fs::create_dir(fixture.path().join("t")).unwrap();
        let others: ArrayRef = Arc::new(datafusion::arrow::array::Int64Array::from(vec![1, 2]));
        let notes: ArrayRef = Arc::new(datafusion::arrow::array::StringArray::from(vec!["", ""]));
        let columns = [("id", ids), ("note", notes), ("n", others)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = File::create(fixture.path().join("t/a.parquet")).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let error = fixture.rows(&exactly("COUNT(*) AS n FROM t"));
        assert!(error.contains("hint: write it to the files as whole numbers or"), "{error}");
        assert!(!fixture.session().ledger_path().exists());
        // So does an owner who checks the table.
        let checked = fixture.session().check_data(None, None, &Progress::default()).wait();
        assert!(error.contains(&checked.unwrap_err().to_string()), "{error}");
    }
}

/// A quote that one person's text begins with hides a few rows, and all see the same ones.
#[test]
fn queries_and_checks_see_the_same_rows_behind_a_quote() {
    let row = |n: usize| match n {
        7 => "7,\"ouch,1\n".to_owned(),
        n => format!("{n},fine,1\n"),
    };
    let text: String = (0..2000).map(row).collect();
    let fixture = table("int", &[("a.csv", &format!("id,note,n\n{text}"))]);
    let report = fixture.session().check_data(None, None, &Progress::default()).wait().unwrap();
    let found = &report.tables[0];
    // 32 bytes, `ouch,1` among them, and the rest of the line in which they end.
    assert_eq!((found.rows, found.unclosed_quotes, found.ragged_rows), (1997, 1, 1));
    assert!(found.advice.iter().filter(|advice| advice.change.contains("Parquet")).count() == 2);
    assert_eq!(fixture.rows(&exactly("COUNT(*) AS n FROM t")), "1997\n");
    assert_eq!(fixture.rows(&exactly("SUM(n) AS n FROM t")), "1996\n");
    assert_eq!(fixture.rows(&exactly("COUNT(note) AS n FROM t")), "1996\n");
    assert_eq!(fixture.rows(&exactly("COUNT(DISTINCT id) AS n FROM t WHERE id > 10")), "1989\n");
}

/// A table in three formats has the same units, rows and exact groups.
#[test]
fn answers_from_json_lines_are_those_from_csv_and_parquet() {
    use datafusion::arrow::array::{Int64Array, StringArray};
    let (mut csv, mut json) = ("id,note,n\n".to_owned(), String::new());
    let (mut ids, mut notes, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..600_i64 {
        let id = row * 31 % 97;
        let (note, n) = (format!("note {}", id % 7), id % 11);
        csv += &format!("{id},{note},{n}\n");
        // Written in any way, and some with keys that nobody asks for.
        json += &match row % 3 {
            0 => format!("{{\"id\": {id}, \"note\": \"{note}\", \"n\": {n}}}\n"),
            1 => format!(
                "{{\"n\":{n}.0,\"more\":[{{}}],\"note\":\"n\\u006fte {}\",\"id\":{id}.0}}\n",
                id % 7
            ),
            _ => format!("{{\"n\":\"{n}\",\"id\":\"{id}\",\"note\":\"{note}\",\"n\":99}}\r\n\n"),
        };
        ids.push(id);
        notes.push(note);
        numbers.push(n);
    }
    let csv = table("int", &[("a.csv", &csv)]);
    let json = table("int", &[("a.jsonl", &json)]);
    let parquet = table("int", &[]);
    std::fs::create_dir(parquet.path().join("t")).unwrap();
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(ids)) as ArrayRef),
        ("note", Arc::new(StringArray::from(notes))),
        ("n", Arc::new(Int64Array::from(numbers))),
    ]);
    let batch = batch.unwrap();
    let file = File::create(parquet.path().join("t/a.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    assert_eq!(units(&json), ("97|600\n".to_owned(), 97, 0));
    for sql in [
        "note, COUNT(*) AS c, COUNT(DISTINCT id), SUM(n) AS s FROM t GROUP BY note ORDER BY note",
        "n, COUNT(*) AS c FROM t WHERE note <> 'note 3' GROUP BY n ORDER BY n",
    ] {
        let [found, first, second] = [&json, &csv, &parquet].map(|t| t.rows(&exactly(sql)));
        assert!(found.lines().count() > 6, "{found}");
        assert_eq!((&found, &found), (&first, &second));
    }
}

/// A key that no line has is a column of NULLs: which keys there are is known from the rows alone.
#[test]
fn lines_that_are_no_object_are_rows_without_a_unit() {
    let text = "{\"id\":1,\"n\":2}\n{\"id\":\n[3]\n{\"id\":4.5,\"n\":1}\n";
    let fixture = table("int", &[("a.ndjson", text)]);
    assert_eq!(units(&fixture), ("1|1\n".to_owned(), 1, 3));
    let report = fixture.session().check_data(None, None, &Progress::default()).wait().unwrap();
    let found = &report.tables[0];
    assert_eq!((found.rows, found.lines_not_objects, found.ragged_rows), (4, 2, 0));
    assert!(found.advice.iter().any(|advice| advice.found.contains("50 % of the lines")));
    assert_eq!(fixture.rows(&exactly("COUNT(note) AS n, SUM(n) AS s FROM t")), "0|2\n");
}

#[cfg(unix)]
#[test]
fn rows_behind_two_links_count_once() {
    let fixture = table("int", &[("a.csv", "id,note,n\n1,a,1\n2,b,1\n")]);
    let folder = fixture.path().join("t");
    std::fs::hard_link(folder.join("a.csv"), folder.join("b.csv")).unwrap();
    std::os::unix::fs::symlink("a.csv", folder.join("c.csv")).unwrap();
    assert_eq!(units(&fixture), ("2|2\n".to_owned(), 2, 0));
}
