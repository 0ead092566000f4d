//! Data as it is found: messy CSV, folders that are columns, tables with a log, wide identifiers.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use hushtable::arrow::array::{ArrayRef, Int64Array, UInt64Array};
use hushtable::arrow::ipc::writer::FileWriter;
use hushtable::arrow::record_batch::RecordBatch;

use crate::support::{Run, command_in, write_parquet};

const BUDGETS: &str = "\n[tables.t.budgets]\nana = { epsilon = 10_000, delta = 1e-3 }\n";

/// Noise that is zero but once in e^100.
const OPTIONS: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 400)";

fn run(folder: &Path, arguments: &[&str]) -> Run {
    Run::of(command_in(folder, arguments).output().unwrap())
}

fn ask(folder: &Path, query: &str) -> Run {
    run(folder, &["query", &format!("{OPTIONS} {query}"), "--format", "csv"])
}

fn contract(folder: &Path, text: &str) {
    fs::write(folder.join("hushtable.toml"), format!("{text}{BUDGETS}")).unwrap();
}

/// Sales as a German office exports them, in windows-1252.
fn sales(folder: &Path) {
    let mut text = String::from("Händler;Betrag;Tag;Größe;Filiale\n");
    for row in 0..300 {
        let (whole, cents) = (1000 + row, row % 100);
        let amount = match row % 5 {
            0 => "NA".to_owned(),
            1 => format!("{}.{:03},{cents:02} €", whole / 1000, whole % 1000),
            2 => format!("€ {whole},{cents:02}"),
            3 => format!("\"-{}.{:03},{cents:02}\"", whole / 1000, whole % 1000),
            _ => format!("  {}.{:03},{cents:02}  ", whole / 1000, whole % 1000),
        };
        let city = ["Köln", "Zürich"][row % 2];
        text.push_str(&format!(
            "{city};{amount};{}.{:02}.2024;{row};0{}\n",
            1 + row % 28,
            1 + row % 12,
            row % 9
        ));
    }
    let bytes: Vec<u8> = text
        .chars()
        .map(|c| if c == '€' { 0x80 } else { u8::try_from(u32::from(c)).unwrap() })
        .collect();
    fs::write(folder.join("sales.csv"), bytes).unwrap();
}

/// The sum of a city's amounts in cents, and its rows of March.
fn expected(city: usize) -> (i64, usize) {
    let rows = (0..300).filter(|row| row % 2 == city);
    let cents = rows.clone().filter(|row| row % 5 != 0).map(|row| {
        let cents = 100 * (1000 + row as i64) + row as i64 % 100;
        if row % 5 == 3 { -cents } else { cents }
    });
    (cents.sum(), rows.filter(|row| row % 12 == 2).count())
}

const SALES: &str = concat!(
    r#"
[tables.t]
path = "sales.csv"
privacy_unit = "row"
csv = { delimiter = ";", encoding = "windows-1252", null = ["NA"], decimal = ",", "#,
    r#"thousands = ".", currency = ["€"], dates = "DMY" }

[tables.t.columns]
"Händler" = { type = "string", public_keys = ["Köln", "Zürich"] }
Betrag = { type = "decimal(2)", bounds = [-2000, 2000] }
Tag = { type = "date" }
"#,
);

const SUMS: &str = "`Händler` AS city, SUM(Betrag) AS total, COUNT(Betrag) AS n FROM t GROUP BY 1";

/// Counts are exact but once in e^100, and sums near: their noise has a scale of 10.
fn assert_sums(table: &str, cities: &[usize]) {
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("city,total,n"));
    for &city in cities {
        let cells: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!((cells[0], cells[2]), (["Köln", "Zürich"][city], "120"), "{table}");
        let total: f64 = cells[1].parse().unwrap();
        assert!((total - expected(city).0 as f64 / 100.0).abs() < 1000.0, "{table}");
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn a_messy_csv_is_read_as_its_settings_say() {
    let folder = tempfile::tempdir().unwrap();
    sales(folder.path());
    contract(folder.path(), SALES);
    assert_sums(&ask(folder.path(), SUMS).success(), &[0, 1]);
    let march =
        "`Händler` AS city, COUNT(*) AS n FROM t WHERE EXTRACT(MONTH FROM Tag) = 3 GROUP BY 1";
    let table = ask(folder.path(), march).success();
    assert_eq!(table, format!("city,n\nKöln,{}\nZürich,{}\n", expected(0).1, expected(1).1));

    // Asking again is free; with another setting it is another question, with other values.
    let again = ask(folder.path(), SUMS);
    assert!(again.stderr.contains("nothing charged") || !again.stderr.contains("charged epsilon"));
    contract(folder.path(), &SALES.replace("thousands = \".\", ", ""));
    let changed = ask(folder.path(), SUMS);
    assert!(changed.stderr.contains("charged epsilon = 400"), "{}", changed.stderr);
    // Text that does not parse is NULL, and no error.
    assert_eq!(changed.success().lines().nth(1).unwrap().rsplit(',').next(), Some("30"));
}

#[test]
fn drafts_propose_how_a_csv_is_written() {
    let folder = tempfile::tempdir().unwrap();
    sales(folder.path());
    let run = |arguments: &[&str]| run(folder.path(), arguments);
    // From the header line alone: other rows give the same.
    let draft = run(&["init", "--output", "-", "sales.csv"]).success();
    assert!(
        draft.contains("csv = { delimiter = \";\", encoding = \"windows-1252\" }\n"),
        "{draft}"
    );
    assert!(draft.contains("no value was read"));
    assert!(draft.contains("Betrag = { type = \"string\" }\n"), "{draft}");
    let bytes = fs::read(folder.path().join("sales.csv")).unwrap();
    let header = bytes.split(|byte| *byte == b'\n').next().unwrap();
    fs::create_dir(folder.path().join("other")).unwrap();
    fs::write(folder.path().join("other/sales.csv"), header).unwrap();
    let other = run(&["init", "--output", "-", "other/sales.csv"]).success();
    assert_eq!(other.replace("other/", ""), draft);

    let looked = run(&["init", "--look-at-data", "sales.csv"]);
    assert!(looked.stderr.contains("wrote hushtable.toml"));
    let draft = fs::read_to_string(folder.path().join("hushtable.toml")).unwrap();
    insta::assert_snapshot!("a_draft_from_rows", draft);
    let decided = draft
        .replace("\"TODO: a column, or row\"", "\"row\"")
        .replace(
            "Betrag = { type = \"decimal(2)\"",
            "Betrag = { type = \"decimal(2)\", bounds = [-2000, 2000]",
        )
        .replace(
            "\"Händler\" = { type = \"string\"",
            "\"Händler\" = { type = \"string\", public_keys = [\"Köln\"]",
        )
        .replace(
            "analyst = \"TODO: { epsilon = …, delta = … }, under the analyst's name\"",
            "ana = { epsilon = 1000 }",
        )
        .replace("sales", "t");
    fs::write(folder.path().join("hushtable.toml"), decided.replace("t.csv", "sales.csv")).unwrap();
    assert_sums(&ask(folder.path(), SUMS).success(), &[0]);
}

#[test]
fn rows_that_leave_it_open_leave_it_to_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let text = "a;b;c;d;e;f\n1,234;01/02/2024;2024-01-02;yes;1e5;\n\
                5,678;03/04/2024;2024-01-02 03:04:05;no;2;\n";
    fs::write(folder.path().join("t.csv"), text).unwrap();
    let draft = run(folder.path(), &["init", "--look-at-data", "--output", "-", "t.csv"]).success();
    for line in [
        "csv = { delimiter = \";\" }\n",
        "a = { type = \"string\" }     # decimals or thousands? set `decimal` or `thousands`, \
         then the type\n",
        "b = { type = \"string\" }     # day or month first? set `dates`, then the type\n",
        "c = { type = \"timestamp\" }\n",
        "d = { type = \"bool\" }\n",
        "e = { type = \"float\" }\n",
        "f = { type = \"string\" }     # no value in the rows looked at\n",
    ] {
        assert!(draft.contains(line), "{line}{draft}");
    }
}

#[test]
fn folders_give_columns_and_tables_with_a_log_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for (sex, rows) in [("f", 40), ("m", 25), ("__HIVE_DEFAULT_PARTITION__", 5)] {
        let values: Int64Array = (0..rows).collect();
        let path = data.join(format!("sex={sex}/part-0.parquet"));
        write_parquet(&path, [("age", Arc::new(values) as ArrayRef)]);
    }
    let draft = run(folder.path(), &["init", "--output", "-", "data"]).success();
    assert!(draft.contains("sex = { type = \"string\" }  # in the names of folders\n"), "{draft}");
    contract(
        folder.path(),
        "[tables.t]\npath = \"data\"\nprivacy_unit = \"row\"\n\
         [tables.t.columns]\nage = { type = \"int\" }\n\
         sex = { type = \"string\", known_keys = [\"f\", \"m\"] }\n",
    );
    let query = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 400, delta = 1e-6) \
                 sex, COUNT(*) AS n FROM t WHERE age >= 5 GROUP BY sex";
    let table = run(folder.path(), &["query", query, "--format", "csv"]).success();
    assert_eq!(table, "sex,n\nf,35\nm,20\n");

    // An analyst's error has no value of a column, also where it is in the name of a folder.
    fs::write(data.join("sex=f/part-0.parquet"), "broken").unwrap();
    let error = run(folder.path(), &["query", query]).refusal();
    assert!(error.contains("sex=…/part-0.parquet` is damaged"), "{error}");
    fs::remove_dir_all(&data).unwrap();
    let age: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    write_parquet(&data.join("part-0.parquet"), [("age", age)]);
    fs::create_dir(data.join("_delta_log")).unwrap();
    for arguments in
        [&["query", query][..], &["explain", query], &["init", "--output", "-", "data"]]
    {
        let error = run(folder.path(), arguments).refusal();
        assert!(error.contains("a Delta Lake table") && error.contains("delta_scan"), "{error}");
    }
}

#[test]
fn units_beyond_64_bits_with_a_sign_count() {
    let folder = tempfile::tempdir().unwrap();
    let many = 200_u64;
    let ids: UInt64Array = (0..many).flat_map(|unit| [u64::MAX - unit; 3]).collect();
    write_parquet(&folder.path().join("t.parquet"), [("id", Arc::new(ids) as ArrayRef)]);
    let text = (0..many).flat_map(|unit| [u64::MAX - unit; 3]).map(|id| format!("{id}\n"));
    fs::write(folder.path().join("t.csv"), format!("id\n{}", text.collect::<String>())).unwrap();
    for (file, column_type) in [
        ("t.parquet", "int"),
        ("t.parquet", "decimal(0)"),
        ("t.parquet", "string"),
        ("t.csv", "int"),
        ("t.csv", "decimal(0)"),
        ("t.csv", "string"),
    ] {
        let table = format!(
            "[tables.t]\npath = \"{file}\"\nprivacy_unit = \"id\"\n[tables.t.columns]\n\
             id = {{ type = \"{column_type}\" }}\n"
        );
        contract(folder.path(), &table);
        let query = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 400, \
                     max_rows_per_group = 2) COUNT(*) AS rows_, COUNT(DISTINCT id) AS units FROM t";
        let table = run(folder.path(), &["query", query, "--format", "csv"]).success();
        assert_eq!(table, "rows_,units\n400,200\n", "{file} {column_type}");
    }
    // In an expression, an INT column has 64 bits as always: this one is NULL.
    contract(
        folder.path(),
        "[tables.t]\npath = \"t.parquet\"\nprivacy_unit = \"id\"\n[tables.t.columns]\n\
         id = { type = \"int\" }\n",
    );
    let table = ask(folder.path(), "COUNT(DISTINCT id) AS n FROM t WHERE id IS NULL").success();
    assert_eq!(table, "n\n200\n");
}

#[test]
fn arrow_files_are_tables() {
    let folder = tempfile::tempdir().unwrap();
    let ages: ArrayRef = Arc::new((0..300).collect::<Int64Array>());
    let batch = RecordBatch::try_from_iter([("age", ages)]).unwrap();
    let file = File::create(folder.path().join("people.arrow")).unwrap();
    let mut writer = FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let draft = run(folder.path(), &["init", "--output", "-", "people.arrow"]).success();
    assert!(draft.contains("[tables.people]\n") && draft.contains("path = \"people.arrow\"\n"));
    assert!(draft.contains("age = { type = \"int\" }"), "{draft}");
    contract(
        folder.path(),
        "[tables.t]\npath = \"people.arrow\"\nprivacy_unit = \"row\"\n[tables.t.columns]\n\
         age = { type = \"int\" }\n",
    );
    let table = ask(folder.path(), "COUNT(*) AS n FROM t WHERE age >= 100").success();
    assert_eq!(table, "n\n200\n");
}
