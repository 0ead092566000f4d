//! The library as programs use it: from several threads, with futures that are dropped, with deep
//! queries.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::fmt::Write;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use futures::executor::block_on;
use hushtable::arrow::array::{AsArray, RecordBatch};
use hushtable::arrow::datatypes::Int64Type;
use hushtable::ledger::{ChargeRecord, ChargeState};
use hushtable::{
    AnswerStep, AuditOptions, Engine, Error, LossOptions, Progress, Purpose, Statement,
};
use hushtable_testkit::TestFolder;

const CONTRACT: &str = r#"
[tables.visits]
path = "visits.csv"
privacy_unit = "id"
columns = { id = { type = "int" }, town = { type = "string" }, age = { type = "int" } }
budgets.ana = { epsilon = 1000000, delta = 1e-6 }
budgets.bo = { epsilon = 1, delta = 1e-6 }
"#;

/// A folder with a contract and that many rows, each of another person.
fn folder(rows: usize) -> (TestFolder, PathBuf) {
    let mut csv = "id,town,age\n".to_owned();
    for row in 0..rows {
        writeln!(csv, "{row},Ashford,{}", row % 90).unwrap();
    }
    let folder = TestFolder::new(CONTRACT, &[("visits.csv", &csv)]);
    let contract = folder.contract();
    (folder, contract)
}

/// Counts all, with a question for each name.
fn count(name: &str) -> String {
    format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 100) COUNT(DISTINCT id) AS {name} \
         FROM visits WHERE town <> '{name}'"
    )
}

/// Waits for what other threads bring about, with far more patience than it takes.
fn sometime(holds: impl Fn() -> bool) {
    let tries = (0..3_000).take_while(|_| !holds());
    assert!(tries.inspect(|_| thread::sleep(Duration::from_millis(20))).count() < 3_000);
}

fn number(table: &RecordBatch) -> i64 {
    table.column(0).as_primitive::<Int64Type>().value(0)
}

/// Ana's charges, by another engine.
fn charges(contract: &PathBuf) -> Vec<ChargeRecord> {
    let lines =
        block_on(Engine::open(contract).unwrap().analyst(Some("ana")).budget(None)).unwrap();
    lines.into_iter().flat_map(|line| line.charges).collect()
}

#[test]
fn one_engine_answers_several_threads() {
    let (_folder, contract) = folder(500);
    let engine = Engine::open(&contract).unwrap();
    let answers: Vec<i64> = thread::scope(|scope| {
        let asking = |name: &'static str| {
            let analyst = engine.analyst(Some("ana"));
            scope.spawn(move || number(&block_on(analyst.query(&count(name))).unwrap().table))
        };
        let asked = ["a", "b", "c", "d"].map(asking);
        asked.map(|asked| asked.join().unwrap()).to_vec()
    });
    assert_eq!(answers, [500; 4]);
    assert_eq!(charges(&contract).len(), 4);
    // Two futures on one thread.
    let analyst = engine.analyst(Some("ana"));
    let (one, other) = (count("e"), count("f"));
    let both = async { futures::join!(analyst.query(&one), analyst.explain(&other)) };
    let (answer, quote) = block_on(both);
    assert_eq!(number(&answer.unwrap().table), 500);
    assert_eq!(quote.unwrap().accounts[0].charge.to_string(), "epsilon = 100");
}

#[test]
fn a_future_that_is_dropped_after_the_charge_leaves_its_release() {
    let (_folder, contract) = folder(100_000);
    let dropped = (0..20).find(|&attempt| {
        let sql = count(&format!("n{attempt}"));
        let engine = Engine::open(&contract).unwrap();
        let analyst = engine.analyst(Some("ana"));
        drop(engine);
        let mut asked = Box::pin(async move { analyst.query(&sql).await });
        let mut context = Context::from_waker(Waker::noop());
        while charges(&contract).len() <= attempt {
            if asked.as_mut().poll(&mut context).is_ready() {
                break;
            }
        }
        let charged = charges(&contract);
        // With the future everything goes that the program has of the engine.
        drop(asked);
        charged[attempt].state != ChargeState::Recorded
    });
    let dropped = dropped.unwrap();
    sometime(|| charges(&contract)[dropped].state == ChargeState::Recorded);
    let again = Engine::open(&contract).unwrap().analyst(Some("ana"));
    let answer = block_on(again.query(&count(&format!("n{dropped}")))).unwrap();
    assert_eq!((number(&answer.table), answer.charged()), (100_000, None));
}

#[test]
fn what_is_given_up_before_the_charge_costs_nothing() {
    let (_folder, contract) = folder(10);
    let analyst = Engine::open(&contract).unwrap().analyst(Some("ana"));
    let progress = Progress::default();
    progress.give_up();
    let sql = count("n");
    let asked = block_on(analyst.query_watched(&sql, &progress));
    assert!(matches!(asked, Err(Error::Interrupted)));
    // A future that nobody polls does nothing.
    drop(analyst.query(&sql));
    // Nor does one that is dropped: whether it is ready at once is up to the machine.
    let mut asked = pin!(analyst.explain(&sql));
    let _ = asked.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(charges(&contract), []);
}

/// The work is done on threads with room for it, whatever the caller's has.
#[test]
fn deep_queries_work_from_threads_with_little_room() {
    let (_folder, contract) = folder(50);
    let engine = Engine::open(&contract).unwrap();
    let deep = (0..25).fold("age".to_owned(), |inner, _| format!("ABS({inner})"));
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 100) COUNT(DISTINCT id) AS n \
         FROM visits WHERE {deep} >= 0"
    );
    let small = thread::Builder::new().stack_size(256 << 10);
    let asked = small.spawn(move || {
        let analyst = engine.analyst(Some("ana"));
        let first = number(&block_on(analyst.query(&sql)).unwrap().table);
        let plan = block_on(analyst.plan(&sql, Purpose::Quote, &Progress::default())).unwrap();
        assert!(plan.quoted().unwrap().is_free());
        (first, number(&block_on(plan.answer()).unwrap().table))
    });
    assert_eq!(asked.unwrap().join().unwrap(), (50, 50));
}

#[test]
fn analysts_see_their_own_budgets_and_owners_all() {
    let (_folder, contract) = folder(200);
    let engine = Engine::open(&contract).unwrap();
    block_on(engine.analyst(Some("ana")).query(&count("n"))).unwrap();
    let budgets_of = |name| {
        let lines = block_on(engine.analyst(name).budget(None)).unwrap();
        lines.into_iter().map(|line| (line.analyst, line.charges.len())).collect::<Vec<_>>()
    };
    assert_eq!(budgets_of(Some("ana")), [("ana".to_owned(), 1)]);
    assert_eq!(budgets_of(Some("bo")), [("bo".to_owned(), 0)]);
    // Two analysts have budgets: without a name nobody is meant.
    assert_eq!(budgets_of(None), []);
    assert_eq!(block_on(engine.owner().budgets(None)).unwrap().len(), 2);
    let (answer, timings) = block_on(engine.owner().timed(&count("t"), Some("ana"))).unwrap();
    assert_eq!(number(&answer.table), 200);
    assert!(timings.exact > Duration::ZERO);
}

#[test]
fn owners_look_at_the_data() {
    let (folder, contract) = folder(60);
    let owner = Engine::open(&contract).unwrap().owner();
    let progress = Progress::default();
    let checked = block_on(owner.check(Some("visits"), None, &progress)).unwrap();
    assert_eq!(checked.tables[0].rows, 60);
    let sql = count("n").replace("100)", "1)");
    let options = AuditOptions { runs: 2_000, units: 1, confidence: 0.99, delta: None };
    assert!(!block_on(owner.audit(&sql, &options, &progress)).unwrap().violation);
    // No sum is split.
    assert!(block_on(owner.policy(&sql, LossOptions::default(), &progress)).is_err());
    let file = folder.file("visits.csv");
    let release = "SELECT town, COUNT(*) FROM t GROUP BY town";
    let sizes = block_on(owner.group_sizes(file.to_str().unwrap(), release, &progress)).unwrap();
    assert_eq!(sizes.sizes, [60]);
    // Nothing of all this is charged, and there is no ledger to check.
    assert_eq!(charges(&contract), []);
    assert!(block_on(owner.ledger_check()).is_err());
}

#[test]
fn a_workload_goes_on_record_whether_anybody_waits_or_not() {
    let (folder, contract) = folder(300);
    let text = "epsilon = 300\nanalyst = \"ana\"\n\
                [[queries]]\nname = \"a\"\nsql = \"SELECT COUNT(DISTINCT id) AS a FROM visits\"\n\
                [[queries]]\nname = \"b\"\n\
                sql = \"SELECT COUNT(DISTINCT id) AS b FROM visits WHERE age < 99\"\n";
    let file = folder.write("w.toml", text);
    let (engine, workload) = Engine::with_workload(&file, None, |_| {}).unwrap();
    let analyst = engine.analyst(None);
    let plan = || {
        let progress = Progress::default();
        block_on(analyst.plan_workload(&workload, Purpose::Answer, &progress)).unwrap()
    };
    drop(plan().release(|name| format!("{name}.csv")).unwrap());
    let done = || {
        charges(&contract).iter().filter(|charge| charge.state == ChargeState::Recorded).count()
            == 2
    };
    sometime(done);
    let mut releasing = plan().release(|name| format!("{name}.csv")).unwrap();
    let mut steps = Vec::new();
    while let Some(step) = block_on(releasing.next()) {
        steps.push(match step.unwrap() {
            AnswerStep::Charged(charge) => {
                format!("{} new, {} known", charge.new, charge.on_record)
            }
            AnswerStep::Answered(output) => {
                format!("{}: {}", output.name.unwrap(), number(&output.table))
            }
            AnswerStep::Whole(whole) => {
                let text = serde_json::to_string(&whole).unwrap();
                let read: Statement = serde_json::from_str(&text).unwrap();
                read.parts.into_iter().filter_map(|part| part.file).collect()
            }
        });
    }
    assert_eq!(steps, ["0 new, 2 known", "a: 300", "b: 300", "a.csvb.csv"]);
}
