//! TPC-H without noise, beside DataFusion's own SQL over the same files.
//!
//! Limits are so wide that nothing reaches them, and noise is left out: what is compared is
//! everything else, from binding to the table that is shown.

#[path = "../../benches/common/tpch.rs"]
mod data;

use std::path::Path;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::{concat_batches, filter_record_batch};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::prelude::SessionContext;
use hushtable_contract::Contract;
use hushtable_plan::{ReleasedColumn, SqlStatement};
use hushtable_quote::Quote;

use super::Wait;
use crate::contributions::SamplingKey;
use crate::draw::CountedGroups;
use crate::exact::OwnerScan;
use crate::progress::Progress;
use crate::release::table;
use crate::session::Session;
use crate::statement_plan::given;
use crate::statement_plan::tests::run;
use crate::survey::ScanOptions;

/// The queries that run as the standard writes them, except for bounds. Query 9 joins lines, which
/// are of customers, with offers, which are of suppliers: its groups must be public.
const ANSWERED: [i32; 15] = [1, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 19, 21, 22];

/// The table that a query would show of all its groups without noise.
async fn without_noise(session: &Session, sql: &str) -> RecordBatch {
    let SqlStatement { parts, around, .. } = SqlStatement::bind(sql, session.contract()).unwrap();
    let mut tables: Vec<(String, RecordBatch)> = Vec::new();
    for part in parts {
        let value = |read: &ReleasedColumn| given(&tables[read.part].1, read).unwrap();
        let values: Vec<_> = part.reads.iter().map(value).collect();
        let quote = Quote::new(part.query).unwrap().with_released(&values).unwrap();
        let data = session.data_of_query(quote.query()).unwrap();
        let progress = Progress::default();
        let scan =
            OwnerScan::plan(&quote, &data, &progress.reading(), session.memory()).await.unwrap();
        let looked = scan.look(SamplingKey([7; 16]), ScanOptions::default()).await.unwrap();
        let (keys, counted) = CountedGroups::new(quote.query(), looked.exact).unwrap();
        let sums = counted.measured.iter().map(|m| m.sums().unwrap().to_vec()).collect();
        let shown = table(quote.query(), keys, sums, counted.groups).unwrap().table;
        tables.push((part.name, shown));
    }
    match around {
        None => tables.pop().unwrap().1,
        Some(around) => run(&around, &tables, session.memory()).await.unwrap().table,
    }
}

/// Values as they are to be compared: numbers without zeros at their end.
fn value(batch: &RecordBatch, column: usize, row: usize) -> String {
    let text = array_value_to_string(batch.column(column), row).unwrap();
    match batch.column(column).data_type() {
        DataType::Decimal128(..) if text.contains('.') => {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => text,
    }
}

/// Means and ratios are floats here and decimals of few places there.
fn close(ours: &RecordBatch, plain: &RecordBatch, column: usize, row: usize) -> bool {
    let ours = ours.column(column).as_primitive::<Float64Type>().value(row);
    let plain: f64 = value(plain, column, row).parse().unwrap();
    (ours - plain).abs() <= 1e-6 * plain.abs().max(1.0)
}

/// The groups that have rows: public ones are shown without any, too, with a sum of zero.
fn with_rows(shown: &RecordBatch) -> RecordBatch {
    let last = shown.num_columns() - 1;
    let has_rows = (0..shown.num_rows()).map(|row| value(shown, last, row) != "0");
    filter_record_batch(shown, &has_rows.collect::<Vec<_>>().into()).unwrap()
}

async fn compare(number: i32, folder: &Path, contract: &Path, plain: &SessionContext) {
    let standard = data::standard(number);
    let session = Session::open(&folder.join(contract)).unwrap();
    let ours = without_noise(&session, &data::bounded(number)).await;
    let ours = if number == 9 { with_rows(&ours) } else { ours };
    let batches = plain.sql(&standard).await.unwrap().collect().await.unwrap();
    let schema = batches[0].schema();
    let theirs = concat_batches(&schema, &batches).unwrap();
    assert_eq!(ours.num_columns(), theirs.num_columns(), "query {number}");
    assert_eq!(ours.num_rows(), theirs.num_rows(), "query {number}");
    assert!(ours.num_rows() > 0, "query {number}");
    for row in 0..ours.num_rows() {
        for column in 0..ours.num_columns() {
            if ours.column(column).data_type() == &DataType::Float64 {
                assert!(close(&ours, &theirs, column, row), "query {number}, row {row}");
                continue;
            }
            // The sum of nothing is zero where noise is added to it.
            let (ours, theirs) = (value(&ours, column, row), value(&theirs, column, row));
            let nothing = theirs.is_empty() && ours == "0";
            assert!(ours == theirs || nothing, "query {number}, row {row}: {ours}, not {theirs}");
        }
    }
}

/// `HUSHTABLE_TPCH_SCALE` asks for tables of another scale.
#[test]
fn tpch_without_noise_is_plain_sql() {
    let scale = std::env::var("HUSHTABLE_TPCH_SCALE").ok().and_then(|scale| scale.parse().ok());
    let folder = tempfile::tempdir().unwrap();
    async {
        data::write(folder.path(), scale.unwrap_or(0.01)).await;
        let contract = |name: &str, text: String| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        contract("groups.toml", data::contract_with_public_groups());
        contract("hushtable.toml", data::contract());
        let plain = data::plain(folder.path()).await;
        for number in ANSWERED {
            let contract = if number == 9 { "groups.toml" } else { "hushtable.toml" };
            compare(number, folder.path(), Path::new(contract), &plain).await;
        }
    }
    .wait();
}

#[test]
fn tpch_that_is_not_private_is_refused() {
    let contract = Contract::parse(&data::contract(), "hushtable.toml").unwrap();
    let mut shown = String::new();
    for number in 1..=22 {
        let sql = data::bounded(number);
        let quoted = |statement: SqlStatement| {
            statement.parts.into_iter().try_for_each(|part| Quote::new(part.query).map(drop))
        };
        if let Err(refusal) = SqlStatement::bind(&sql, &contract).and_then(quoted) {
            shown += &format!("{number}: {refusal}\n\n");
        }
    }
    insta::assert_snapshot!(shown);
}
