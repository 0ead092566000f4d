//! Engines that a program builds: tables in memory, a ledger elsewhere, a fixed delay.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::executor::block_on;
use hushtable::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use hushtable::arrow::datatypes::{Int64Type, SchemaRef};
use hushtable::{
    Engine, EngineBuilder, MemoryTable, Progress, Provider, Purpose, RowsIdentity, open_workload,
};

const CONTRACT: &str = r#"
[tables.visits]
privacy_unit = "id"
columns = { id = { type = "int" }, town = { type = "string" }, spent = { type = "int" } }
budgets.ana = { epsilon = 1000, delta = 1e-6 }
defaults = { delta = 1e-8, max_groups_contributed = 1, max_rows_per_group = 2 }
[tables.towns]
path = "towns.csv"
public = true
unique = ["name"]
columns = { name = { type = "string" }, region = { type = "string" } }
"#;

const SUM: &str = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 200) region, \
                   SUM(spent, contribution_bounds_per_group => (0, 100)) AS total \
                   FROM visits JOIN towns ON town = name GROUP BY region ORDER BY region";

fn visits(rows: std::ops::Range<i64>) -> RecordBatch {
    let towns = rows.clone().map(|n| if n % 3 == 0 { "Ashford" } else { "Millbrook" });
    let towns: ArrayRef = Arc::new(StringArray::from_iter_values(towns));
    let spent: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone().map(|n| n % 50)));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows));
    RecordBatch::try_from_iter([("id", ids), ("town", towns), ("spent", spent)]).unwrap()
}

fn table(batches: &[RecordBatch]) -> MemoryTable {
    MemoryTable::new(batches[0].schema(), batches.to_vec()).unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let towns = "name,region\nAshford,north\nMillbrook,south\n";
    std::fs::write(folder.path().join("towns.csv"), towns).unwrap();
    folder
}

fn builder(folder: &Path) -> EngineBuilder {
    Engine::builder().contract_text(CONTRACT, folder)
}

fn totals(engine: &Engine) -> (Vec<i64>, bool) {
    let answer = block_on(engine.analyst(Some("ana")).query(SUM)).unwrap();
    let totals = answer.table.column(1).as_primitive::<Int64Type>().values().to_vec();
    (totals, answer.charged().is_some())
}

/// Tables in memory beside files give what the same rows in a file give; asking again is free as
/// long as the rows are the same.
#[test]
fn tables_in_memory_are_asked_like_files() {
    let folder = folder();
    let engine = builder(folder.path()).table("visits", table(&[visits(0..9_000)])).open().unwrap();
    let (first, charged) = totals(&engine);
    assert!(charged);
    let exact =
        |south: bool| -> i64 { (0..9_000).filter(|n| (n % 3 != 0) == south).map(|n| n % 50).sum() };
    // Noise of scale 1 at most: bounds 100, epsilon 200, halved for the choice of groups.
    assert!((first[0] - exact(false)).abs() < 100 && (first[1] - exact(true)).abs() < 100);
    // Cut otherwise, by another engine: the same rows.
    let cut = [visits(0..10), visits(10..9_000)];
    let again = builder(folder.path()).table("visits", table(&cut)).open().unwrap();
    assert_eq!(totals(&again), (first.clone(), false));
    let other = builder(folder.path()).table("visits", table(&[visits(0..8_999)])).open().unwrap();
    assert!(totals(&other).1);
    // The same rows in a file are other data for the ledger, and give the same except for noise.
    let mut csv = "id,town,spent\n".to_owned();
    for n in 0..9_000 {
        let town = if n % 3 == 0 { "Ashford" } else { "Millbrook" };
        csv += &format!("{n},{town},{}\n", n % 50);
    }
    std::fs::write(folder.path().join("visits.csv"), csv).unwrap();
    let with_path = CONTRACT.replacen("privacy_unit", "path = \"visits.csv\"\nprivacy_unit", 1);
    let files = Engine::builder().contract_text(with_path, folder.path()).open().unwrap();
    let (from_files, charged) = totals(&files);
    assert!(charged);
    assert!(from_files.iter().zip(&first).all(|(one, other)| (one - other).abs() < 200));
    // Owners can look at tables in memory, too.
    let report =
        block_on(engine.owner().check(Some("visits"), None, &Progress::default())).unwrap();
    assert_eq!((report.tables[0].rows, report.tables[0].files), (9_000, 0));
}

#[test]
fn builders_refuse_what_does_not_fit() {
    let folder = folder();
    let error = |builder: EngineBuilder| builder.open().err().unwrap().to_string();
    let rows = || table(&[visits(0..3)]);
    let missing = error(builder(folder.path()));
    let unknown = error(builder(folder.path()).table("visits", rows()).table("visit", rows()));
    let twice = error(builder(folder.path()).table("visits", rows()).table("towns", rows()));
    let again = error(builder(folder.path()).table("visits", rows()).table("visits", rows()));
    let file = error(Engine::builder().contract(folder.path().join("none.toml")));
    insta::assert_snapshot!(
        [missing, unknown, twice, again, file.replace(&folder.path().display().to_string(), "")]
            .join("\n\n")
    );
    // Two tables with the same rows and other units.
    let other = CONTRACT.to_owned()
        + "[tables.others]\nprivacy_unit = \"town\"\n\
           columns = { town = { type = \"string\" } }\nbudgets.ana = { epsilon = 1 }\n";
    let both = Engine::builder()
        .contract_text(other, folder.path())
        .table("visits", rows())
        .table("others", rows())
        .open()
        .unwrap();
    let refused = block_on(both.analyst(Some("ana")).query(SUM)).unwrap_err().to_string();
    assert!(refused.contains("have the same rows"), "{refused}");
    assert!(!folder.path().join("hushtable.ledger").exists());
}

#[test]
fn settings_of_builders_hold() {
    let folder = folder();
    let ledger = folder.path().join("elsewhere.ledger");
    let engine = builder(folder.path())
        .table("visits", table(&[visits(0..300)]))
        .ledger(&ledger)
        .memory("1GiB".parse().unwrap())
        .open()
        .unwrap();
    assert!(totals(&engine).1);
    assert_eq!(engine.ledger_path(), ledger);
    assert!(ledger.exists() && !folder.path().join("hushtable.ledger").exists());
    // Nothing may be written over it.
    assert!(engine.protected().refuse(&ledger).is_err());
}

/// Rows that a program changes, or a provider that calls them other rows each time it is asked.
#[derive(Debug, Default)]
struct Live {
    rows: Arc<Mutex<Vec<RecordBatch>>>,
    version: Arc<AtomicU64>,
    restless: bool,
}

impl Provider for Live {
    fn identity(&self) -> RowsIdentity {
        let version = self.version.fetch_add(self.restless.into(), Ordering::Relaxed);
        RowsIdentity::Version(format!("snapshot {version}"))
    }

    fn schema(&self) -> SchemaRef {
        visits(0..1).schema()
    }

    fn chunks(&self) -> Vec<u64> {
        self.rows.lock().unwrap().iter().map(|_| 1000).collect()
    }

    fn read(
        &self,
        chunk: usize,
        columns: &[usize],
        each: &mut dyn FnMut(RecordBatch) -> bool,
    ) -> io::Result<()> {
        let batch = self.rows.lock().unwrap()[chunk].project(columns).map_err(io::Error::other)?;
        each(batch);
        Ok(())
    }
}

/// Other rows are another question, and the same rows are the same.
#[test]
fn rows_that_change_are_charged_anew() {
    let folder = folder();
    let live = Live { rows: Arc::new(Mutex::new(vec![visits(0..3_000)])), ..Live::default() };
    let (rows, version) = (Arc::clone(&live.rows), Arc::clone(&live.version));
    let engine = builder(folder.path()).table("visits", live).open().unwrap();
    let (first, charged) = totals(&engine);
    assert!(charged);
    assert_eq!(totals(&engine), (first.clone(), false));
    rows.lock().unwrap().push(visits(3_000..9_000));
    version.store(7, Ordering::Relaxed);
    let (second, charged) = totals(&engine);
    assert!(charged && second[0] > 2 * first[0], "{first:?} {second:?}");
    assert!(!totals(&engine).1);
    // Back to the earlier state: that answer is on record.
    rows.lock().unwrap().pop();
    version.store(0, Ordering::Relaxed);
    assert_eq!(totals(&engine), (first, false));
}

/// A question is not charged for rows that are gone already.
#[test]
fn rows_that_never_stay_are_not_charged() {
    let folder = folder();
    let live = Live { rows: Arc::new(Mutex::new(vec![visits(0..300)])), ..Live::default() };
    let restless = Live { restless: true, ..live };
    let refused = builder(folder.path()).table("visits", restless).open().err().unwrap();
    assert!(refused.to_string().contains("changed while"), "{refused}");
    assert!(!folder.path().join("hushtable.ledger").exists());
}

/// Answers, refusals and quotes come when the delay has passed, and not before; nothing shows how
/// far the work is.
#[test]
fn analysts_wait_for_the_delay() {
    let folder = folder();
    let delay = Duration::from_millis(200);
    let engine = builder(folder.path())
        .table("visits", table(&[visits(0..300)]))
        .at_least(delay)
        .open()
        .unwrap();
    let analyst = engine.analyst(Some("ana"));
    let waited = |ask: &dyn Fn()| {
        let started = Instant::now();
        ask();
        assert!(started.elapsed() >= delay, "{:?}", started.elapsed());
    };
    waited(&|| drop(block_on(analyst.explain(SUM)).unwrap()));
    let progress = Progress::default();
    let plan = || block_on(analyst.plan(SUM, Purpose::Answer, &progress)).unwrap();
    waited(&|| drop(plan()));
    waited(&|| drop(block_on(plan().answer()).unwrap()));
    waited(&|| drop(block_on(analyst.query_watched(SUM, &progress)).unwrap()));
    assert_eq!(progress.permille(), 0);
    waited(&|| drop(block_on(analyst.query(SUM)).unwrap()));
    waited(&|| drop(block_on(analyst.query("SELECT id FROM visits")).unwrap_err()));
    waited(&|| drop(block_on(analyst.budget(None)).unwrap()));
    let sql = SUM.replace("OPTIONS (epsilon = 200) ", "");
    let text = format!(
        "contract = \"none.toml\"\nepsilon = 1\ndelta = 1e-7\n\
         [[queries]]\nname = \"all\"\nsql = '''{sql}'''\n"
    );
    let workload = folder.path().join("workload.toml");
    std::fs::write(&workload, text).unwrap();
    let workload = open_workload(&workload).unwrap();
    let plan = || block_on(analyst.plan_workload(&workload, Purpose::Answer, &progress)).unwrap();
    waited(&|| drop(plan()));
    let plan = plan();
    let started = Instant::now();
    let mut releasing = plan.release(str::to_owned).unwrap();
    let mut steps = 0;
    while let Some(step) = block_on(releasing.next()) {
        step.unwrap();
        steps += 1;
        assert!(started.elapsed() >= delay, "{:?}", started.elapsed());
    }
    assert_eq!((steps, progress.answered()), (3, 0));
}
