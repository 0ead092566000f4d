//! The readers, each as a function of arbitrary bytes that must return soon, whatever they are.

use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlanProperties;
use futures::StreamExt;
use hushtable::model::{ModelFile, Publication};
use hushtable_contract::Contract;
use hushtable_engine::{
    ReadProgress, Session, Wanted, file_schema, guess_csv, list_files, look_at, runtime, scan,
};
use hushtable_lang::{ColumnType, Value, bind_expression};
use hushtable_plan::{Given, Read, SqlStatement, Workload};
use hushtable_quote::{Explanation, Quote};

use crate::harness::{Limits, Target};
use crate::seeds;

/// Batches of a file that are read: a small file may well hold a billion rows.
const BATCHES: usize = 3;

/// All targets.
pub const TARGETS: [Target; 8] = [
    target("sql", sql, seeds::statements, Limits::STATEMENT),
    target("explain", explain, seeds::statements, Limits::UNTIL_THE_CHARGE),
    target("contract", contract, seeds::contracts, Limits::USUAL),
    target("workload", workload, seeds::workloads, Limits::STATEMENT),
    target("model_file", model_file, seeds::models, Limits::USUAL),
    target("csv", csv, seeds::csv, Limits::FILES),
    target("parquet", parquet, seeds::parquet, Limits::FILES),
    target("arrow", arrow, seeds::arrow, Limits::FILES),
];

const fn target(
    name: &'static str,
    run: fn(&[u8]),
    seeds: fn() -> Vec<Vec<u8>>,
    limits: Limits,
) -> Target {
    Target { name, run, seeds, limits }
}

static CONTRACT: LazyLock<Option<Contract>> =
    LazyLock::new(|| Contract::parse(seeds::SHOP, "hushtable.toml").ok());

/// Binds a statement and makes the mechanisms of its parts, whatever budgets they name.
fn ask(sql: &str) {
    if let Some(contract) = &*CONTRACT
        && let Ok(statement) = SqlStatement::bind(sql, contract)
    {
        let parts = statement.parts.len();
        let mut quotes: Vec<Quote> = Vec::new();
        for part in statement.parts {
            let unknown = |read: &Read| match read.all {
                true => Given::All(Vec::new()),
                false => Given::One(Value::Null),
            };
            let nothing: Vec<Given> = part.reads.iter().map(unknown).collect();
            let Ok(quote) = Quote::beside(part.query, quotes.iter()) else { return };
            if let Ok(quote) = quote.clone().with_released(&nothing) {
                let _ = Explanation::of_part(&quote, parts);
            }
            quotes.push(quote);
        }
    }
}

/// A query, bound and quoted.
pub fn sql(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        ask(text);
    }
}

/// A statement until its charge: bound, quoted, planned on a table's files, and explained.
pub fn explain(input: &[u8]) {
    static SHOP: LazyLock<Option<(tempfile::TempDir, Arc<Session>)>> = LazyLock::new(|| {
        let folder = tempfile::tempdir().ok()?;
        let contract = folder.path().join("hushtable.toml");
        fs::write(&contract, seeds::SHOP).ok()?;
        let rows = "customer_id,day,town,product,quantity,amount\n1,2025-08-25,A,bread,3,8.92\n";
        fs::write(folder.path().join("visits.csv"), rows).ok()?;
        let session = Session::open(&contract).ok()?;
        Some((folder, Arc::new(session)))
    });
    static RUNTIME: LazyLock<Option<tokio::runtime::Runtime>> = LazyLock::new(|| runtime().ok());
    let (Some((_, session)), Some(runtime)) = (&*SHOP, &*RUNTIME) else { return };
    let Ok(text) = std::str::from_utf8(input) else { return };
    let text = text.to_owned();
    // On a thread of the runtime, whose stack is as in the program.
    let quoted = runtime.spawn(async move { session.explain(&text, Some("ana")).await });
    match runtime.block_on(quoted) {
        Ok(quoted) => drop(quoted.map(|quoted| quoted.parts.len())),
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        Err(_) => {}
    }
}

/// A contract, with its expressions.
pub fn contract(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        let _ = Contract::recognises(text);
        let _ = Contract::parse(text, "hushtable.toml");
    }
}

/// A workload, with its queries bound.
pub fn workload(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let file = |_: &str| Ok("SELECT COUNT(*) FROM visits".to_owned());
    let Ok(workload) = Workload::parse(text, "workload.toml", &file) else { return };
    // A workload of a thousand queries may take a thousand times as long as a query.
    workload.queries.iter().take(4).for_each(|query| ask(&query.sql));
}

/// A finite model, with its expressions bound.
pub fn model_file(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(model) = ModelFile::parse(text, "model.toml") else { return };
    let columns: Vec<(String, ColumnType)> =
        model.parameters.iter().map(|p| (p.name.clone(), p.column_type)).collect();
    let records = model.records.iter().flatten().map(|(_, written)| written);
    let published = match &model.publication {
        Publication::Expressions { parts, .. } => parts.as_slice(),
        Publication::Table(_) => &[],
    };
    for written in records.chain(&model.knowledge).chain(published).take(4) {
        let _ = bind_expression(&written.text, &columns);
    }
}

/// A file of CSV.
pub fn csv(input: &[u8]) {
    read("input.csv", input);
}

/// A file of Parquet.
pub fn parquet(input: &[u8]) {
    read("input.parquet", input);
}

/// A file of Arrow's IPC format, or a stream of it.
pub fn arrow(input: &[u8]) {
    read("input.arrow", input);
}

/// Reads a file's schema, and its first batches as the types that it has and as text; CSV as its
/// header line suggests.
fn read(name: &str, input: &[u8]) {
    let Ok(folder) = tempfile::tempdir() else { return };
    if fs::write(folder.path().join(name), input).is_err() {
        return;
    }
    let Ok(files) = list_files(name, folder.path()) else { return };
    let Ok(csv) = guess_csv(&files) else { return };
    if let Some(csv) = &csv {
        let _ = look_at(&files, csv);
    }
    let Ok(schema) = file_schema(&files, csv.as_ref()) else { return };
    let types = [ColumnType::Int, ColumnType::Date, ColumnType::Float, ColumnType::Timestamp];
    let columns = schema.iter().zip(types.iter().cycle()).take(64).map(|(column, other)| {
        let own = column.column_type.filter(|own| *own != ColumnType::String);
        (column.name.clone(), own.unwrap_or(*other))
    });
    let columns: Vec<(String, ColumnType)> = columns.collect();
    let texts = columns.iter().map(|(name, _)| (name.clone(), ColumnType::String)).collect();
    for columns in [columns, texts] {
        let unit = columns.first().cloned();
        read_as(
            folder.path(),
            name,
            &Wanted { columns, rows: unit.is_none(), unit, csv: csv.clone(), ..Wanted::default() },
        );
    }
}

fn read_as(folder: &Path, name: &str, wanted: &Wanted) {
    static RUNTIME: LazyLock<Option<tokio::runtime::Runtime>> =
        LazyLock::new(|| tokio::runtime::Builder::new_current_thread().build().ok());
    static CONTEXT: LazyLock<Arc<TaskContext>> = LazyLock::new(Arc::default);
    let (Some(runtime), Ok(files)) = (&*RUNTIME, list_files(name, folder)) else { return };
    let progress = Arc::new(ReadProgress::default());
    runtime.block_on(async {
        let Ok(plan) = scan(&files, wanted, 1, &progress).await else { return };
        for partition in 0..plan.output_partitioning().partition_count() {
            let Ok(stream) = plan.execute(partition, Arc::clone(&CONTEXT)) else { return };
            let mut stream = stream.take(BATCHES);
            while let Some(Ok(_)) = stream.next().await {}
        }
    });
}
