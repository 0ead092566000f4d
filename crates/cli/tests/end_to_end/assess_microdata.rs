//! `assess microdata`.

use std::path::Path;
use std::sync::Arc;

use hushtable::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use hushtable::parquet::arrow::ArrowWriter;

use crate::support::{Run, command_in};

/// A folder with the tables of the lecture's Figures 2.1 and 2.2, and others.
struct Folder(tempfile::TempDir);

const BOTH: &str = "hospital_1.csv hospital_2.csv";
const COLUMNS: &str = "--quasi zip,age,nationality --sensitive condition";

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let figures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/docs/assess");
        for name in ["hospital_1.csv", "hospital_2.csv"] {
            std::fs::copy(figures.join(name), folder.0.path().join(name)).unwrap();
        }
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn assess(&self, line: &str) -> Run {
        let line = ["assess", "--verbose", "microdata"].into_iter().chain(line.split_whitespace());
        let line: Vec<&str> = line.collect();
        Run::of(command_in(self.0.path(), &line).output().unwrap())
    }

    fn json(&self, line: &str) -> serde_json::Value {
        let text = self.assess(&format!("{line} --format json")).success();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    }
}

/// Everybody in the thirties has cancer, and of those below 30 who were in both hospitals all have
/// AIDS, among them Alice, who is 28 and lives in 13012.
#[test]
fn the_figures_of_the_lecture_are_attacked() {
    let folder = Folder::new();
    // More sensitive columns, of which one table has one, and a person in several classes.
    folder.write(
        "survey.csv",
        "town,age,income,party\nWick,20-29,low,green\nWick,25-34,low,blue\nWick,25-34,high,blue\n\
         *,20-29,high,\nHolm|Ashford,40+,high,green\n",
    );
    folder.write(
        "later.csv",
        "age,income\n20-24,low\n20-24,low\n25-29,low\n25-29,high\n\">=30\",mid\n\">=30\",high\n",
    );
    let rendered: Vec<String> = [
        format!("hospital_1.csv {COLUMNS}"),
        format!("{BOTH} {COLUMNS}"),
        format!("{BOTH} {COLUMNS} --person zip=13012,age=28"),
        format!("{BOTH} {COLUMNS} --person age=40 --person age=30-39 --person zip=14012"),
        "survey.csv later.csv --quasi town,age --sensitive income,party".to_owned(),
        "survey.csv --quasi town,age --sensitive income,party --person age=27,town=Wick".to_owned(),
    ]
    .iter()
    .map(|line| format!("> {line}\n{}", folder.assess(line).success()))
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn microdata_for_programs() {
    let folder = Folder::new();
    let text = folder.assess(&format!("{BOTH} {COLUMNS} --format json")).success();
    let (findings, words) = text.split_once(",\"assumptions\":").unwrap();
    assert!(words.len() > 200, "{words}");
    insta::assert_snapshot!(findings);
    let alice = folder.json(&format!("{BOTH} {COLUMNS} --person zip=13012,age=28"));
    assert_eq!(alice.get("together"), None);
    let person = &alice["people"][0];
    assert_eq!(person["keys"], serde_json::json!({"zip": "13012", "age": "28"}));
    assert_eq!(person["sensitive"][0]["values"], serde_json::json!(["AIDS"]));
    let one = &person["sensitive"][0]["tables"][0];
    assert_eq!((&one["classes"], &one["records"]), (&1.into(), &4.into()));
    assert_eq!(one["values"], serde_json::json!(["AIDS", "Heart Disease", "Viral Infection"]));
}

/// Numbers in a Parquet file are the same as those in a CSV file.
#[test]
fn parquet_is_read_like_csv() {
    let folder = Folder::new();
    let zip = [13012i64, 13012, 14099, 14099];
    let columns: [(&str, ArrayRef); 2] = [
        ("zip", Arc::new(Int64Array::from(zip.to_vec()))),
        ("condition", Arc::new(StringArray::from(vec!["Flu", "AIDS", "Flu", "Flu"]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(folder.0.path().join("clinic.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let report = folder.json("clinic.parquet --quasi zip --sensitive condition");
    let table = &report["tables"][0];
    assert_eq!((&table["records"], &table["k"]), (&4.into(), &2.into()));
    let one = &table["sensitive"][0]["classes_of_one_value"];
    let want = serde_json::json!([{"keys": {"zip": "14099"}, "records": 2, "value": "Flu"}]);
    assert_eq!(*one, want);
    let both = folder.json("clinic.parquet hospital_2.csv --quasi zip,age --sensitive condition");
    assert_eq!(both["together"][0]["pairs"], 2);
}

#[test]
fn wrong_microdata_are_refused() {
    let folder = Folder::new();
    folder.write("empty.csv", "zip,age,condition\n");
    folder.write("other.csv", "zip,party\n13012,green\n");
    let ids: String = (0..10_001).map(|id| format!("{id},x\n")).collect();
    folder.write("ids.csv", &format!("id,condition\n{ids}"));
    let ranges: String = (0..2100).map(|id| format!("{id}-9999,x\n")).collect();
    folder.write("ranges.csv", &format!("id,condition\n{ranges}"));
    folder.write("long.csv", &format!("zip,condition\n{},x\n", "9".repeat(2000)));
    let many: Vec<String> = (0..33).map(|i| format!("c{i}")).collect();
    let rendered: Vec<String> = [
        "nowhere.csv --quasi zip --sensitive condition",
        "empty.csv --quasi zip --sensitive condition",
        "hospital_1.csv --quasi zip,town --sensitive condition",
        "hospital_1.csv --quasi zip --sensitive illness",
        "hospital_1.csv --quasi zip,zip --sensitive condition",
        "hospital_1.csv --quasi zip,condition --sensitive condition",
        &format!("hospital_1.csv --quasi {} --sensitive condition", many.join(",")),
        "hospital_1.csv other.csv --quasi zip --sensitive condition",
        "hospital_1.csv --quasi zip --sensitive condition --person 13012",
        "hospital_1.csv --quasi zip --sensitive condition --person age=28",
        "hospital_1.csv --quasi zip --sensitive condition --person zip=1,zip=2",
        "ids.csv ids.csv --quasi id --sensitive condition",
        "ranges.csv ranges.csv --quasi id --sensitive condition",
        "long.csv --quasi zip --sensitive condition",
    ]
    .iter()
    .map(|line| {
        format!("> {}\n{}", line.replace(&many.join(","), "…"), folder.assess(line).refusal())
    })
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
    // For one person many classes are no matter.
    let line = "ids.csv ids.csv --quasi id --sensitive condition --person id=7";
    assert!(folder.assess(line).success().contains("A person with id=7"));
    for line in ["", "hospital_1.csv --quasi zip", "a b c --quasi zip --sensitive condition"] {
        assert_eq!(folder.assess(line).code, Some(2), "{line}");
    }
}
