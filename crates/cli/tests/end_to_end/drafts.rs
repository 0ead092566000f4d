//! `init`.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use hushtable::arrow::array::{
    ArrayRef, BinaryArray, Decimal128Array, Float64Array, Int32Array, TimestampMillisecondArray,
};
use hushtable::arrow::record_batch::RecordBatch;
use hushtable::parquet::arrow::ArrowWriter;
use hushtable::query::{Contract, UnitLimit};

use crate::support::{Run, command_in};

/// A Parquet and a CSV file whose values all depend on `seed`.
fn files(folder: &Path, seed: i32) {
    let rows = 3 + seed;
    let ids: Int32Array = (0..rows).map(|i| Some(i * seed)).collect();
    let paid: Decimal128Array = (0..rows).map(|i| (i != seed).then_some(i128::from(i))).collect();
    let seen: TimestampMillisecondArray = (0..rows).map(|i| Some(i64::from(i + seed))).collect();
    let score: Float64Array = (0..rows).map(|i| Some(f64::from(i * seed))).collect();
    let blob: BinaryArray = (0..rows).map(|i| Some(i.to_le_bytes())).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(ids)),
        ("amount paid", Arc::new(paid.with_precision_and_scale(12, 2).unwrap())),
        ("seen", Arc::new(seen.with_timezone("UTC"))),
        ("a.b", Arc::new(score)),
        ("blob", Arc::new(blob)),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    fs::create_dir_all(folder.join("data")).unwrap();
    let file = File::create(folder.join("data/visits.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let csv = format!("who,\"how, much\"\n{seed},{}\n\"{seed}\n\",x\n", seed * 2);
    fs::write(folder.join("data/2024 claims.csv"), csv).unwrap();
}

fn init(folder: &Path, arguments: &[&str]) -> Run {
    let arguments = [&["init"], arguments].concat();
    Run::of(command_in(folder, &arguments).output().unwrap())
}

const BOTH: [&str; 2] = ["data/visits.parquet", "data/2024 claims.csv"];

#[test]
fn a_draft_is_accepted_once_its_owner_has_decided() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), 1);
    let run = init(folder.path(), &BOTH);
    assert!(run.stderr.contains("wrote hushtable.toml"), "{}", run.stderr);
    assert!(run.success().is_empty());
    let draft = fs::read_to_string(folder.path().join("hushtable.toml")).unwrap();
    insta::assert_snapshot!(draft);

    draft.parse::<toml::Table>().unwrap();
    let error = Contract::parse(&draft, "hushtable.toml").unwrap_err();
    assert!(error.what.contains("still to be decided by the owner of the data"), "{error}");
    let query = ["explain", "SELECT COUNT(DISTINCT id) FROM visits"];
    let refused = Run::of(command_in(folder.path(), &query).output().unwrap()).refusal();
    assert!(refused.contains("still to be decided by the owner of the data"), "{refused}");

    let mut units = ["unit = { of = \"person\", column = \"id\" }", "public = true"].into_iter();
    let decided: Vec<String> = draft
        .lines()
        .map(|line| match line.split_once(" = \"TODO") {
            Some(("unit", _)) => units.next().unwrap().to_owned(),
            Some((key, _)) => format!("{key} = {{ epsilon = 1, delta = 1e-6 }}"),
            None => line.to_owned(),
        })
        .collect();
    let decided = decided.join("\n");
    let contract = Contract::parse(&decided, "hushtable.toml").unwrap();
    let names = |table: &str| -> Vec<String> {
        contract.tables[table].columns.iter().map(|c| c.name.clone()).collect()
    };
    assert_eq!(names("visits"), ["a.b", "amount paid", "id", "seen"]);
    assert_eq!(names("table_2024_claims"), ["how, much", "who"]);

    // Its examples are right, too.
    let examples: String = decided
        .lines()
        .filter(|line| !line.starts_with("# neighbouring") && !line.starts_with("# unique"))
        .map(|line| match line.strip_prefix("# ") {
            Some(text) if text.contains(" = ") && !text.contains('{') => format!("{text}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let contract = Contract::parse(&examples, "hushtable.toml").unwrap();
    assert_eq!(
        contract.populations["person"].defaults.max_groups_contributed,
        Some(UnitLimit::Most(3))
    );

    fs::write(folder.path().join("hushtable.toml"), decided).unwrap();
    let query = [
        "query",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) \
         COUNT(DISTINCT id) AS n FROM visits",
    ];
    let answer = Run::of(command_in(folder.path(), &query).output().unwrap()).success();
    assert!(answer.starts_with("n\n"), "{answer}");
}

#[test]
fn a_draft_depends_on_no_value() {
    let drafts: Vec<String> = [1, 7]
        .into_iter()
        .map(|seed| {
            let folder = tempfile::tempdir().unwrap();
            files(folder.path(), seed);
            init(folder.path(), &[&["--output", "-"], &BOTH as &[&str]].concat()).success()
        })
        .collect();
    assert!(drafts[0].contains("[tables.visits.columns]"));
    assert_eq!(drafts[0], drafts[1]);
}

#[test]
fn a_contract_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), 1);
    fs::write(folder.path().join("hushtable.toml"), "mine").unwrap();
    let error = init(folder.path(), &BOTH).refusal();
    assert!(error.contains("--output"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("hushtable.toml")).unwrap(), "mine");
    // Paths are as the contract's folder sees them.
    init(folder.path(), &["--output", "data/c.toml", BOTH[0], "data/*.csv"]).success();
    let draft = fs::read_to_string(folder.path().join("data/c.toml")).unwrap();
    assert!(draft.contains("path = \"visits.parquet\"\n"), "{draft}");
    assert!(draft.contains("path = \"*.csv\"\n"), "{draft}");
    assert!(draft.contains("[tables.data.columns]"), "{draft}");
}

#[test]
fn what_is_no_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path(), 1);
    fs::write(folder.path().join("bad.parquet"), "PAR1 is not enough").unwrap();
    for location in ["nothing.csv", "*.pq", "data", "bad.parquet"] {
        init(folder.path(), &[location]).refusal();
        assert!(!folder.path().join("hushtable.toml").exists(), "{location}");
    }
}

/// Keys that a draft suggests from names are right; only budgets are left to fill in.
#[test]
fn several_tables_share_units_by_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("customers.csv", "id,town\n1,Ashford\n"),
        ("orders.csv", "order_id,customer_id,day\n1,1,2024-01-31\n"),
        ("lines.csv", "order_id,product,amount\n1,soap,2\n"),
        ("towns.csv", "town,region\nAshford,north\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let files = ["customers.csv", "orders.csv", "lines.csv", "towns.csv"];
    init(folder.path(), &files).success();
    let draft = fs::read_to_string(folder.path().join("hushtable.toml")).unwrap();
    insta::assert_snapshot!(draft);
    let decided: Vec<&str> = draft
        .lines()
        .map(|line| match line.split_once(" = \"TODO") {
            Some(("unit", _)) => "public = true",
            Some(_) => "ana = { epsilon = 3, delta = 1e-6 }",
            None => line,
        })
        .collect();
    fs::write(folder.path().join("hushtable.toml"), decided.join("\n")).unwrap();
    let query = [
        "query",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(DISTINCT c.id) AS n \
         FROM customers c JOIN orders o ON o.customer_id = c.id \
         JOIN lines l ON l.order_id = o.order_id JOIN towns t ON t.town = c.town",
    ];
    let answer = Run::of(command_in(folder.path(), &query).output().unwrap()).success();
    assert!(answer.starts_with("n\n"), "{answer}");
}
