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
    PartQuote, ReadProgress, ReadRequest, Session, SourceError, file_schema, guess_csv, list_files,
    look_at, runtime, scan,
};
use hushtable_lang::{ColumnType, Value, bind_expression};
use hushtable_plan::{ReleasedColumn, ReleasedValues, SqlStatement, Workload};
use hushtable_quote::{Explanation, Quote};

use crate::charged_plan;
use crate::harness::{Limits, Target};
use crate::ledger_edits;
use crate::reactions::Reaction;
use crate::seeds;

/// Batches of a file that are read: a small file may well hold a billion rows.
const BATCHES: usize = 3;
/// Parts of a statement whose reactions count.
const PARTS: usize = 3;

/// All targets.
pub const TARGETS: [Target; 11] = [
    target("sql", sql, seeds::statements, Limits::STATEMENT),
    target("explain", explain, seeds::statements, Limits::UNTIL_THE_CHARGE),
    target("contract", contract, seeds::contracts, Limits::USUAL),
    target("workload", workload, seeds::workloads, Limits::STATEMENT),
    target("model_file", model_file, seeds::models, Limits::USUAL),
    target("csv", csv, seeds::csv, Limits::FILES),
    target("json_lines", json_lines, seeds::json_lines, Limits::FILES),
    target("parquet", parquet, seeds::parquet, Limits::FILES),
    target("arrow", arrow, seeds::arrow, Limits::FILES),
    target("plan", plan, charged_plan::seeds, Limits::PLAN),
    target("ledger_file", ledger_file, ledger_edits::seeds, Limits::LEDGER),
];

const fn target(
    name: &'static str,
    run: fn(&[u8]) -> Reaction,
    seeds: fn() -> Vec<Vec<u8>>,
    limits: Limits,
) -> Target {
    Target { name, run, seeds, limits }
}

static CONTRACT: LazyLock<Option<Contract>> =
    LazyLock::new(|| Contract::parse(seeds::SHOP, "hushtable.toml").ok());

/// Binds a statement and makes the mechanisms of its parts, whatever budgets they name.
fn ask(sql: &str) -> Reaction {
    let Some(contract) = &*CONTRACT else { return Reaction::default() };
    let statement = match SqlStatement::bind(sql, contract) {
        Ok(statement) => statement,
        Err(refusal) => return Reaction::of(&refusal.to_string()),
    };
    let around = if statement.around.is_some() { "around" } else { "" };
    let mut reaction = Reaction::of(around);
    let parts = statement.parts.len();
    let mut quotes: Vec<Quote> = Vec::new();
    for part in statement.parts {
        let unknown = |read: &ReleasedColumn| match read.all {
            true => ReleasedValues::All(Vec::new()),
            false => ReleasedValues::One(Value::Null),
        };
        let nothing: Vec<ReleasedValues> = part.reads.iter().map(unknown).collect();
        let quote = match Quote::beside(part.query, quotes.iter()) {
            Ok(quote) => quote,
            Err(refusal) => return reaction.and(Reaction::of(&refusal.to_string())),
        };
        if let Ok(quote) = quote.clone().with_released(&nothing) {
            let _ = Explanation::of_part(&quote, parts);
        }
        if quotes.len() < PARTS {
            let selects = if quote.selection().is_some() { "selects" } else { "" };
            reaction = reaction.and(Reaction::of(&format!("{:?} {selects}", quote.noise_kind())));
        }
        quotes.push(quote);
    }
    reaction
}

/// A query, bound and quoted.
pub fn sql(input: &[u8]) -> Reaction {
    let Ok(text) = std::str::from_utf8(input) else { return Reaction::default() };
    ask(text)
}

/// A statement until its charge: bound, quoted, planned on a table's files, and explained.
pub fn explain(input: &[u8]) -> Reaction {
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
    let (Some((_, session)), Some(runtime)) = (&*SHOP, &*RUNTIME) else {
        return Reaction::default();
    };
    let Ok(text) = std::str::from_utf8(input) else { return Reaction::default() };
    let text = text.to_owned();
    // On a thread of the runtime, whose stack is as in the program.
    let quoted = runtime.spawn(async move { session.explain(&text, Some("ana")).await });
    match runtime.block_on(quoted) {
        Ok(Ok(quoted)) => {
            let standing = |part: &PartQuote| format!("{:?}", part.standing);
            let parts: Vec<String> = quoted.parts.iter().take(PARTS).map(standing).collect();
            Reaction::of(&parts.join(" "))
        }
        Ok(Err(error)) => Reaction::of(&error.to_string()),
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        Err(_) => Reaction::default(),
    }
}

/// A contract, with its expressions.
pub fn contract(input: &[u8]) -> Reaction {
    let Ok(text) = std::str::from_utf8(input) else { return Reaction::default() };
    let recognised = Contract::recognises(text);
    of(Contract::parse(text, "hushtable.toml")).and(Reaction::of(&recognised.to_string()))
}

/// A workload, with its queries bound.
pub fn workload(input: &[u8]) -> Reaction {
    let Ok(text) = std::str::from_utf8(input) else { return Reaction::default() };
    let file = |_: &str| Ok("SELECT COUNT(*) FROM visits".to_owned());
    match Workload::parse(text, "workload.toml", &file) {
        // A workload of a thousand queries may take a thousand times as long as a query.
        Ok(workload) => workload
            .queries
            .iter()
            .take(4)
            .fold(Reaction::of("queries"), |reaction, query| reaction.and(ask(&query.sql))),
        Err(error) => Reaction::of(&error.to_string()),
    }
}

/// A finite model, with its expressions bound.
pub fn model_file(input: &[u8]) -> Reaction {
    let Ok(text) = std::str::from_utf8(input) else { return Reaction::default() };
    let model = match ModelFile::parse(text, "model.toml") {
        Ok(model) => model,
        Err(error) => return Reaction::of(&error.to_string()),
    };
    let columns: Vec<(String, ColumnType)> =
        model.parameters.iter().map(|p| (p.name.clone(), p.column_type)).collect();
    let records = model.records.iter().flatten().map(|(_, written)| written);
    let published = match &model.publication {
        Publication::Expressions { written, .. } => written.as_slice(),
        Publication::Table(_) => &[],
    };
    let expressions = records.chain(&model.knowledge).chain(published).take(4);
    expressions.fold(Reaction::of("model"), |reaction, written| {
        reaction.and(of(bind_expression(&written.text, &columns)))
    })
}

/// A file of CSV.
pub fn csv(input: &[u8]) -> Reaction {
    read("input.csv", input)
}

/// A file of JSON lines.
pub fn json_lines(input: &[u8]) -> Reaction {
    read("input.jsonl", input)
}

/// A file of Parquet.
pub fn parquet(input: &[u8]) -> Reaction {
    read("input.parquet", input)
}

/// A file of Arrow's IPC format, or a stream of it.
pub fn arrow(input: &[u8]) -> Reaction {
    read("input.arrow", input)
}

/// A plan in bytes, as a worker process gets it: read, and run where it can be.
pub fn plan(input: &[u8]) -> Reaction {
    charged_plan::run(input)
}

/// A ledger whose bytes and rows were changed: checked, opened, and asked to charge.
pub fn ledger_file(input: &[u8]) -> Reaction {
    ledger_edits::run(input)
}

/// The reaction in a result.
fn of<T, E: std::fmt::Display>(result: Result<T, E>) -> Reaction {
    match result {
        Ok(_) => Reaction::of("well"),
        Err(error) => Reaction::of(&error.to_string()),
    }
}

/// Reads a file's schema, and its first batches as the types that it has and as text; CSV as its
/// header line suggests.
fn read(name: &str, input: &[u8]) -> Reaction {
    let Ok(folder) = tempfile::tempdir() else { return Reaction::default() };
    if fs::write(folder.path().join(name), input).is_err() {
        return Reaction::default();
    }
    let path = folder.path().display().to_string();
    let error = |error: SourceError| Reaction::of(&error.to_string().replace(&path, ""));
    let files = match list_files(name, folder.path()) {
        Ok(files) => files,
        Err(failed) => return error(failed),
    };
    let csv = match guess_csv(&files) {
        Ok(csv) => csv,
        Err(failed) => return error(failed),
    };
    let _ = look_at(&files, csv.as_ref());
    let schema = match file_schema(&files, csv.as_ref()) {
        Ok(schema) => schema,
        Err(failed) => return error(failed),
    };
    let types = [ColumnType::Int, ColumnType::Date, ColumnType::Float, ColumnType::Timestamp];
    let columns = schema.iter().zip(types.iter().cycle()).take(64).map(|(column, other)| {
        let known = column.column_type.filter(|known| *known != ColumnType::String);
        (column.name.clone(), known.unwrap_or(*other))
    });
    let columns: Vec<(String, ColumnType)> = columns.collect();
    let texts = columns.iter().map(|(name, _)| (name.clone(), ColumnType::String)).collect();
    let mut reaction = Reaction::of("schema");
    for columns in [columns, texts] {
        let unit = columns.first().cloned();
        let rows = unit.is_none();
        let wanted =
            ReadRequest { columns, rows, unit, csv: csv.clone(), ..ReadRequest::default() };
        let end = read_as(folder.path(), name, &wanted).replace(&path, "");
        reaction = reaction.and(Reaction::of(&end));
    }
    reaction
}

/// Reads some batches. Returns how that ended.
fn read_as(folder: &Path, name: &str, wanted: &ReadRequest) -> String {
    static RUNTIME: LazyLock<Option<tokio::runtime::Runtime>> =
        LazyLock::new(|| tokio::runtime::Builder::new_current_thread().build().ok());
    static CONTEXT: LazyLock<Arc<TaskContext>> = LazyLock::new(Arc::default);
    let (Some(runtime), Ok(files)) = (&*RUNTIME, list_files(name, folder)) else {
        return String::new();
    };
    let progress = Arc::new(ReadProgress::default());
    let all = async {
        let plan = scan(&files, wanted, 1, &progress).await.map_err(|error| error.to_string())?;
        let mut rows = 0;
        for partition in 0..plan.output_partitioning().partition_count() {
            let stream = plan.execute(partition, Arc::clone(&CONTEXT));
            let mut stream = stream.map_err(|error| error.to_string())?.take(BATCHES);
            while let Some(batch) = stream.next().await {
                rows += batch.map_err(|error| error.to_string())?.num_rows();
            }
        }
        Ok::<_, String>(if rows == 0 { "no rows" } else { "rows" }.to_owned())
    };
    runtime.block_on(all).unwrap_or_else(|error| error)
}
