//! SQL behaviour as files: every `.slt` under `tests/sql` is run by the `sqllogictest` crate.
//!
//! The contract's default epsilon is so large that noise is zero but with probability below 1e-40,
//! and that groups of two units or more appear for certain; every query has a fresh ledger. So the
//! files show what is computed, exactly. They say nothing about privacy, which other tests do.
//! The lines of clipping reports stand below a result.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use hushtable_engine::{EngineError, Progress, Session, Statement, runtime};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};
use tokio::runtime::Runtime;

struct Hushtable {
    folder: PathBuf,
    runtime: Arc<Runtime>,
}

impl DB for Hushtable {
    type Error = EngineError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, EngineError> {
        let session = std::sync::Arc::new(Session::open(&self.folder.join("hushtable.toml"))?);
        let _ = std::fs::remove_file(session.ledger_path());
        let progress = Progress::default();
        let answer = self.runtime.block_on(session.query(sql, None, &progress))?;
        let statement = serde_json::to_string(&answer.statement).unwrap();
        assert!(serde_json::from_str::<Statement>(&statement).is_ok(), "{statement}");
        let table = answer.table;
        let options = FormatOptions::default().with_null("NULL");
        let columns: Vec<ArrayFormatter<'_>> = table
            .columns()
            .iter()
            .map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap())
            .collect();
        let text = |row: usize| {
            let value = |c: &ArrayFormatter<'_>| {
                let text = c.value(row).to_string();
                if text.is_empty() { "(empty)".to_owned() } else { text }
            };
            columns.iter().map(value).collect()
        };
        let mut rows: Vec<Vec<String>> = (0..table.num_rows()).map(text).collect();
        for report in &answer.statement.clipping_reports {
            let share = |share: Option<f64>| share.map_or("NULL".to_owned(), |x| format!("{x:.3}"));
            let lines = report.shares.iter();
            rows.extend(lines.map(|line| vec![format!("{}:", line.what), share(line.share)]));
        }
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Any; columns.len()], rows })
    }

    fn engine_name(&self) -> &str {
        "hushtable"
    }
}

#[test]
fn sql_over_one_table_behaves_as_the_files_say() {
    let seen = run_all("tests/sql");
    assert!(seen >= 4, "{seen} files");
}

#[test]
fn sql_over_several_tables_behaves_as_the_files_say() {
    let seen = run_all("tests/sql/relations");
    assert!(seen >= 1, "{seen} files");
}

/// Runs the files of a folder over its contract and its tables.
fn run_all(folder: &str) -> usize {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let all: Vec<PathBuf> = std::fs::read_dir(files).unwrap().map(|f| f.unwrap().path()).collect();
    let has = |file: &Path, ends: &[&str]| {
        file.extension().is_some_and(|e| ends.iter().any(|end| e == *end))
    };
    let runtime = Arc::new(runtime().unwrap());
    let mut seen = 0;
    for file in all.iter().filter(|file| has(file, &["slt"])) {
        let folder = tempfile::tempdir().unwrap();
        for source in all.iter().filter(|file| has(file, &["toml", "csv"])) {
            std::fs::copy(source, folder.path().join(source.file_name().unwrap())).unwrap();
        }
        let (at, waiting) = (folder.path().to_owned(), Arc::clone(&runtime));
        let mut runner = Runner::new(move || {
            let (folder, runtime) = (at.clone(), Arc::clone(&waiting));
            async move { Ok(Hushtable { folder, runtime }) }
        });
        runner.run_file(file).unwrap_or_else(|e| panic!("{e}"));
        seen += 1;
    }
    seen
}
