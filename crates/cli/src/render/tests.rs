use hushtable::ledger::{Account, ChargeRecord, ChargeState, Units};
use hushtable::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use hushtable::query::Strategy;
use hushtable::{BudgetLine, OtherAccount, Together};

use hushtable::arrow::record_batch::RecordBatch;

use super::samples::{batch, epsilon, intervals, private, public, rho, single};
use super::*;

fn style(format: TableFormat) -> TableStyle {
    TableStyle::new(format, false, false).unwrap()
}

/// A result without intervals that were asked for.
fn written(table: &RecordBatch, format: TableFormat) -> Vec<u8> {
    let intervals = intervals(table);
    let view = TableView {
        table,
        intervals,
        requested: false,
        published: false,
        not_in_them: &[],
        clipping: &[],
        without_keys: Vec::new(),
    };
    result(&view, style(format)).unwrap()
}

fn text(format: TableFormat) -> String {
    String::from_utf8(written(&batch(), format)).unwrap()
}

#[test]
fn intervals_are_beside_their_values() {
    let table = batch().project(&[0, 2, 3, 4]).unwrap();
    let intervals = intervals(&table);
    let not_in_them = &["groups of one person beyond 3".to_owned()];
    let view = TableView {
        table: &table,
        intervals,
        requested: true,
        published: false,
        not_in_them,
        clipping: &[],
        without_keys: Vec::new(),
    };
    let texts = [TableFormat::Table, TableFormat::Csv, TableFormat::Json]
        .map(|format| String::from_utf8(result(&view, style(format)).unwrap()).unwrap());
    insta::assert_snapshot!(texts.join("\n") + &view.json().unwrap());
    let page = String::from_utf8(result(&view, style(TableFormat::Html)).unwrap()).unwrap();
    assert!(page.contains("<pre>\nintervals: noise only; each holds the value"), "{page}");
    assert!(page.contains("cut off, and not in them: groups of one person beyond 3\n"));
}

#[test]
fn tables() {
    insta::assert_snapshot!(text(TableFormat::Table));
}

#[test]
fn markdown_texts() {
    insta::assert_snapshot!(text(TableFormat::Markdown));
}

#[test]
fn html_pages() {
    insta::assert_snapshot!(text(TableFormat::Html));
}

#[test]
fn csv_texts() {
    insta::assert_snapshot!(text(TableFormat::Csv));
}

#[test]
fn json_texts() {
    insta::assert_snapshot!(text(TableFormat::Json));
}

#[test]
fn results_without_rows() {
    let none = batch().slice(0, 0).project(&[0, 2]).unwrap();
    let text = |format| String::from_utf8(written(&none, format)).unwrap();
    assert_eq!(text(TableFormat::Table), "town  n\n────  ─\n");
    assert_eq!(text(TableFormat::Csv), "town,n\n");
    assert_eq!(text(TableFormat::Json), "[]\n");
    assert!(!written(&none, TableFormat::Parquet).is_empty());
}

#[test]
fn other_programs_read_the_same_csv() {
    let written = text(TableFormat::Csv);
    let mut reader = ::csv::Reader::from_reader(written.as_bytes());
    assert_eq!(reader.headers().unwrap().len(), 8);
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 4);
    assert_eq!(&records[0][0], "Århus, \"old\"");
    assert_eq!(&records[3][0], "日本\nx");
    assert_eq!(records[0][4].parse::<f64>().unwrap().to_bits(), (0.1_f64 + 0.2).to_bits());
    assert_eq!(records[1][4].parse::<f64>().unwrap(), 1e-7);
}

#[test]
fn other_programs_read_the_same_json() {
    let rows: serde_json::Value = serde_json::from_str(&text(TableFormat::Json)).unwrap();
    assert_eq!(rows[0]["town"], "Århus, \"old\"");
    assert_eq!(rows[0]["paid"], 12.5);
    assert_eq!(rows[3]["paid"], "1234567890123456789012345678.90");
    assert_eq!(rows[3]["n"], "9223372036854775807");
    assert!(rows[3]["mean"] == "-Infinity" && rows[2]["town"].is_null());
}

#[test]
fn parquet_keeps_everything() {
    let bytes = written(&batch(), TableFormat::Parquet);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::File::open(path).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let metadata = builder.schema().metadata()["hushtable.intervals"].clone();
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    assert_eq!((&metadata["level"], &metadata["cover"]), (&95.into(), &"noise only".into()));
    assert_eq!(metadata["columns"]["n"]["low"][1], -5);
    assert!(metadata["columns"]["n"]["high"][2].is_null());
    let back: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
    assert_eq!(back.len(), 1);
    assert_eq!(back[0].columns(), batch().columns());
}

#[test]
fn explanations() {
    let mut rendered = vec![quoted::text(&single(), true), quoted::text(&public(), true)];
    rendered.extend(Strategy::ALL.map(|strategy| quoted::text(&private(strategy), true)));
    insta::assert_snapshot!(rendered.join("\n================\n\n"));
}

#[test]
fn explanations_as_json() {
    let quotes = [single(), public(), private(Strategy::TruncatedGeometric)];
    let rendered: Vec<_> = quotes.iter().map(|quote| quoted::json(quote).unwrap()).collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

fn budgets() -> Vec<BudgetLine> {
    let charge = |id, query: &str, requested, charged, state| ChargeRecord {
        id,
        charged_at: format!("2026-03-0{id}T12:34:56.789Z"),
        analyst: "ana".to_owned(),
        table: if id == 1 { "posts" } else { "entries" }.to_owned(),
        account: "posts".to_owned(),
        units: Units([("posts".to_owned(), "posts.author".to_owned())].into()),
        query: query.to_owned(),
        asked: requested,
        charged,
        state,
        events: vec![requested.into()],
    };
    let together = |fixed: &str| Together {
        delta: "1e-5".parse().unwrap(),
        fixed: Some(fixed.parse().unwrap()),
        delta_at_all_times: "2e-5".parse().unwrap(),
        adaptive: None,
    };
    let first = epsilon("1", "1e-6");
    let long = format!("SELECT forum,\n   COUNT(*)\tFROM posts WHERE x = '{}'", "long ".repeat(20));
    vec![
        BudgetLine {
            analyst: "ana".to_owned(),
            table: "posts".to_owned(),
            account: Account {
                total: rho("3", "1e-5"),
                spent: rho("0.712117157261", "1e-6"),
                left: rho("2.287882842739", "9e-6"),
            },
            charges: vec![
                charge(1, &long, first, rho("0.462117157261", "1e-6"), ChargeState::Recorded),
                {
                    let rho = rho("0.25", "0");
                    charge(2, "SELECT COUNT(*) FROM posts", rho, rho, ChargeState::Drawn)
                },
            ],
            together: together("3.456789012"),
            per_record: false,
        },
        BudgetLine {
            analyst: "bo".to_owned(),
            table: "posts".to_owned(),
            account: Account { total: first, spent: epsilon("0", "0"), left: first },
            charges: Vec::new(),
            together: together("0"),
            per_record: true,
        },
    ]
}

fn other_accounts() -> Vec<OtherAccount> {
    let charges: Vec<ChargeRecord> = budgets().remove(0).charges;
    let account = |retired: bool, charge: &ChargeRecord| OtherAccount {
        analyst: "ana".to_owned(),
        table: charge.table.clone(),
        retired,
        spent: vec![charge.asked],
        charges: vec![charge.clone()],
    };
    vec![account(true, &charges[0]), account(false, &charges[1])]
}

#[test]
fn budgets_as_text() {
    insta::assert_snapshot!(budget::text(&budgets(), &other_accounts()));
}

#[test]
fn budgets_as_json() {
    insta::assert_snapshot!(budget::json(&budgets(), &other_accounts()).unwrap());
}
