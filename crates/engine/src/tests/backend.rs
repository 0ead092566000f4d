//! Plans that run elsewhere: in worker processes, and in backends that break their rules.

mod workers;

use std::fmt::Write as _;
use std::future::ready;
use std::iter;
use std::ops::Range;

use datafusion::arrow::array::Int64Array;
use futures::StreamExt;
use hushtable_lang::ColumnType;
use hushtable_numbers::Step;
use hushtable_plan::{Measure, Measurement, OwnerQuery};
use sqllogictest::{DefaultColumnType, Record, parse_file};

use super::plans::text;
use super::*;
use crate::AuditOptions;
use crate::answer::Standing;
use crate::backend::{Accepting, Backend, OpenedPlan, PartialStream, UnopenedPlan};
use crate::contributions::{LARGEST, SamplingKey};
use crate::exact::{OwnerScan, Scan, ScanOutcome, exact_of};
use crate::executor::Executor;
use crate::flat::Flat;
use crate::memory::QueryMemory;
use crate::partial_groups::PartialGroups;
use crate::session::ProvidedTables;
use crate::source::MemoryTable;
use crate::survey::{ScanOptions, Survey};
use workers::Workers;

const KEY: SamplingKey = SamplingKey([11; 16]);

const CONTRACT: &str = r#"
[units.person]
budgets.ana = { epsilon = 1000000, delta = 0.999999 }
[units.person.defaults]
epsilon = 1000
delta = 1e-6
max_groups_contributed = 3
max_rows_per_group = 2
[tables.visits]
path = "visits-*.csv"
unit = { of = "person", column = "id" }
[tables.visits.columns]
id = { type = "int" }
town = { type = "string" }
n = { type = "int", bounds = [0, 100], sum_bounds = [0, 100] }
[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }
[tables.people.columns]
id = { type = "int" }
age = { type = "int", bounds = [0, 100], sum_bounds = [0, 100] }
[tables.lines]
path = "lines-*.csv"
privacy_unit = "row"
[tables.lines.columns]
town = { type = "string" }
x = { type = "decimal(2)", bounds = [-50, 50], sum_bounds = [-50, 50] }
[tables.lines.defaults]
max_groups_contributed = 3
epsilon = 1000
delta = 1e-6
[tables.lines.budgets]
ana = { epsilon = 1000000, delta = 0.999999 }
[tables.towns]
path = "towns.csv"
public = true
[tables.towns.columns]
town = { type = "string" }
area = { type = "string" }
"#;

/// Units in all kinds of limits: rows of each are in every one of the files.
fn fixture() -> Fixture {
    let mut files = Vec::new();
    for file in 0..5 {
        let (mut visits, mut lines) = ("id,town,n\n".to_owned(), "town,x\n".to_owned());
        for id in 0..120 {
            for visit in 0..(id % 4) {
                let town = (id + visit * file) % 7;
                writeln!(visits, "{id},t{town},{}", (id * visit + file * 11) % 140).unwrap();
            }
            writeln!(lines, "t{},{}.{:02}", (id + file) % 13, id - 60, id % 100).unwrap();
        }
        files.push((format!("visits-{file}.csv"), visits));
        files.push((format!("lines-{file}.csv"), lines));
    }
    let mut people = "id,age\n".to_owned();
    (0..110).for_each(|id| writeln!(people, "{id},{}", id % 90).unwrap());
    files.push(("people.csv".to_owned(), people));
    let mut towns = "town,area\n".to_owned();
    (0..12).for_each(|town| writeln!(towns, "t{town},{}", town % 3).unwrap());
    files.push(("towns.csv".to_owned(), towns));
    let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    Fixture::new(CONTRACT, &files)
}

const QUERIES: [&str; 15] = [
    "SELECT COUNT(*) AS n, SUM(n) AS s FROM visits",
    "SELECT town, COUNT(*) AS n, COUNT(DISTINCT id) AS u, SUM(n) AS s, AVG(n) AS a FROM visits \
     GROUP BY town",
    "SELECT town, MEDIAN(n) AS m, COUNT(DISTINCT n) AS d FROM visits GROUP BY town",
    "SELECT SUM(n, contribution_bounds_per_row => (5, 60)) AS s FROM visits WHERE n > 3",
    "SELECT town FROM visits GROUP BY town",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = SINGLE_VOTE) town, \
     COUNT(*) AS n FROM visits GROUP BY town",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = SIPS) town, COUNT(*) AS \
     n, MEDIAN(n) AS m FROM visits GROUP BY town",
    "SELECT area, COUNT(*) AS n, SUM(n) AS s FROM visits JOIN towns USING (town) GROUP BY area",
    "SELECT town, SUM(age) AS s FROM visits JOIN people ON visits.id = people.id GROUP BY town",
    "SELECT a.town, COUNT(*) AS n FROM visits a JOIN visits b ON a.id = b.id GROUP BY a.town",
    "SELECT k, COUNT(*) AS n FROM (SELECT id, COUNT(*) AS k FROM visits GROUP BY id) GROUP BY k",
    "SELECT town, COUNT(*) AS n FROM (SELECT id, town, ROW_NUMBER() OVER (PARTITION BY id ORDER \
     BY town, n) AS k FROM visits) WHERE k = 2 GROUP BY town",
    "SELECT town, COUNT(*) AS n, SUM(x) AS s, MEDIAN(x) AS m FROM lines GROUP BY town",
    "SELECT area, SUM(x) AS s FROM lines JOIN towns ON lines.town = towns.town GROUP BY area",
    "SELECT COUNT(*) AS n FROM lines WHERE EXISTS (SELECT 1 FROM towns WHERE towns.town = \
     lines.town AND area = '1')",
];

/// The exact groups of a query by a backend.
async fn exact(session: &Session, sql: &str, memory: &QueryMemory) -> Vec<String> {
    let checked = session.check(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let progress = Progress::default();
    let scan =
        Scan::plan(&checked.quote, &checked.data, &progress.reading(), memory).await.unwrap();
    let (plan, memory) = scan.keyed(KEY);
    let exact = exact_of(plan, &memory, checked.quote.query()).await;
    let exact = exact.unwrap_or_else(|error| panic!("{sql}: {error}"));
    if checked.data.len() == 1 {
        assert_eq!(progress.permille(), 1000, "{sql}");
    }
    text(&exact)
}

/// Contributions as the owner reads them: those of all units, and those of single ones.
async fn found(session: &Session, sql: &str, memory: &QueryMemory) -> (Vec<u64>, Vec<Vec<u64>>) {
    let checked = session.check(sql).unwrap();
    let mut query = OwnerQuery::from(checked.quote.query());
    query.push_measurement(Measurement {
        name: "rows".to_owned(),
        measure: Measure::Rows,
        low: 0,
        high: LARGEST,
        step: Step::Whole(1),
        weight: 0,
        column_type: ColumnType::Int,
    });
    let progress = Progress::default();
    let scan =
        OwnerScan::of(&query, false, &checked.data, &progress.reading(), memory).await.unwrap();
    let look = ScanOptions { survey: true, tally: true, without: None };
    let ScanOutcome { surveys, tallies, .. } = scan.look(KEY, look).await.unwrap();
    let mut numbers = Vec::new();
    tallies.unwrap().write(&mut numbers);
    let mut singles = Vec::new();
    fn flat(single: &impl Flat) -> Vec<u64> {
        let mut numbers = Vec::new();
        single.write(&mut numbers);
        numbers
    }
    for survey in surveys {
        match survey.survey {
            Survey::Units { shares, members } => {
                // Shares are added up in the order of the rows.
                let rounded = |share: f64| (share * 1e9).round();
                let units = shares.iter().zip(&members.ranks).map(|(shares, rank)| {
                    [flat(&[shares.size, shares.signed].map(rounded)), flat(rank)].concat()
                });
                singles.extend(units);
            }
            Survey::Rows(extremes) => singles.extend(extremes.iter().map(flat)),
        }
    }
    singles.sort();
    (numbers, singles)
}

/// Worker processes that each run a share of the partitions come to the same integers, whatever
/// their number: rows of one unit meet in one of them, though every file has rows of every unit.
#[test]
fn workers_come_to_the_same_integers() {
    let fixture = fixture();
    let session = fixture.session();
    let workers = Workers::start(3);
    for sql in QUERIES {
        async {
            let embedded = exact(&session, sql, session.memory()).await;
            assert!(!embedded.is_empty(), "{sql}");
            for count in 1..=3 {
                let memory = session.memory().clone().with_backend(Arc::new(workers.first(count)));
                assert_eq!(exact(&session, sql, &memory).await, embedded, "{count}: {sql}");
            }
        }
        .wait();
    }
    // Limits decide: units have more groups, and more rows in them, than count.
    let limit = |limits: &str| {
        let options = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({limits})");
        let sql = QUERIES[1].replace("SELECT", &options);
        exact(&session, &sql, session.memory()).wait()
    };
    let limited = exact(&session, QUERIES[1], session.memory()).wait();
    assert_eq!(limit("max_groups_contributed = 3, max_rows_per_group = 2"), limited);
    assert_ne!(limit("max_groups_contributed = 99"), limited);
    assert_ne!(limit("max_rows_per_group = 99"), limited);
}

/// Runs plans in this process, in that many partitions.
pub(super) struct InPartitions(pub(super) usize);

impl Backend for InPartitions {
    fn accept<'a>(&'a self, _: &'a UnopenedPlan) -> Accepting<'a> {
        Box::pin(ready(Ok(())))
    }

    fn run(&self, plan: OpenedPlan) -> PartialStream {
        plan.execute()
    }

    fn partitions(&self) -> usize {
        self.0
    }
}

/// How many partitions there are changes no integer.
#[test]
fn partitions_do_not_matter() {
    let fixture = fixture();
    let session = fixture.session();
    let mut first = Vec::new();
    for partitions in [1, 2, 5, 16, 1000] {
        let backend = Arc::new(InPartitions(partitions));
        let memory = session.memory().clone().with_backend(backend);
        let all: Vec<_> = QUERIES.iter().map(|sql| exact(&session, sql, &memory).wait()).collect();
        if first.is_empty() {
            first = all.clone();
        }
        assert_eq!(all, first, "{partitions}");
    }
}

/// Every query of the SQL suite that is not refused, too.
#[test]
fn workers_run_the_sql_suite() {
    let workers = Workers::start(2);
    for (folder, least) in [("tests/sql", 40), ("tests/sql/relations", 20)] {
        let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files: Vec<_> = std::fs::read_dir(from).unwrap().map(|f| f.unwrap().path()).collect();
        let fixture = Fixture::new("", &[]);
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e != "slt")) {
            std::fs::copy(file, fixture.path().join(file.file_name().unwrap())).unwrap();
        }
        let session = fixture.session();
        let memory = session.memory().clone().with_backend(Arc::new(workers.clone()));
        let mut seen = 0;
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "slt")) {
            for record in parse_file::<DefaultColumnType>(file).unwrap() {
                let Record::Query { sql, .. } = record else { continue };
                if session.check(&sql).is_err() {
                    continue;
                }
                let embedded = exact(&session, &sql, session.memory()).wait();
                assert_eq!(exact(&session, &sql, &memory).wait(), embedded, "{sql}");
                seen += 1;
            }
        }
        assert!(seen >= least, "{folder}: {seen} queries");
    }
}

/// Owners' readings go through the backend, with what they read beside exact groups.
#[test]
fn workers_run_owners_readings() {
    let fixture = fixture();
    let session = fixture.session();
    let workers = Workers::start(2);
    let memory = session.memory().clone().with_backend(Arc::new(workers.clone()));
    for sql in [QUERIES[0], QUERIES[2], QUERIES[3], QUERIES[8], QUERIES[12]] {
        // Single rows stand out in each partition.
        let here = session.memory().clone().with_backend(Arc::new(InPartitions(7)));
        let embedded = found(&session, sql, &here).wait();
        assert!(embedded.1.len() > 10, "{sql}: {}", embedded.1.len());
        assert!(found(&session, sql, &memory).wait() == embedded, "{sql}");
    }
    let elsewhere = Arc::unwrap_or_clone(fixture.session()).with_backend(Arc::new(workers));
    let checks = [&*session, &elsewhere].map(|session| {
        let progress = Progress::default();
        // No sampling key decides in it.
        let report = session.check_data(Some("visits"), Some(QUERIES[0]), &progress);
        json(&report.wait().unwrap())
    });
    assert_eq!(checks[0], checks[1]);
    let tuned = elsewhere.tune(QUERIES[2], &Progress::default()).wait().unwrap();
    assert_eq!(tuned.groups_in_data, 7);
    let options = AuditOptions { runs: 1000, units: 1, confidence: 0.999, delta: None };
    let audited = elsewhere.audit(QUERIES[1], &options, &Progress::default()).wait().unwrap();
    assert!(!audited.violation && !audited.comparisons.is_empty());
}

fn standing(session: &Arc<Session>, sql: &str) -> Standing {
    session.explain(sql, None).wait().unwrap().parts[0].standing
}

fn with(fixture: &Fixture, backend: impl Backend + 'static) -> Arc<Session> {
    let session = Arc::unwrap_or_clone(fixture.session());
    Arc::new(session.with_backend(Arc::new(backend)))
}

/// A worker that ends in the middle makes an error before the draw: the charge is taken up again,
/// by other workers, and comes to the sums that it would have come to.
#[test]
fn a_worker_that_ends_releases_nothing() {
    let fixture = fixture();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (noise = LAPLACE, epsilon = 1000000) \
               COUNT(*) AS n, SUM(n) AS s FROM visits";
    let ask = |session: &Arc<Session>| session.query(sql, None, &Progress::default()).wait();
    let session = with(&fixture, Workers::of_which_one_ends(2));
    let error = ask(&session).unwrap_err();
    assert!(matches!(error, EngineError::Backend { .. }), "{error}");
    assert_eq!(standing(&fixture.session(), sql), Standing::Paid);
    // It is gone, and so is every question after it.
    assert!(matches!(ask(&session).unwrap_err(), EngineError::Backend { .. }));
    assert_eq!(standing(&fixture.session(), sql), Standing::Paid);
    let answer = ask(&with(&fixture, Workers::start(2))).unwrap();
    assert!(answer.charged().is_none());
    let other = self::fixture();
    assert_eq!(shown(&answer.table), shown(&ask(&other.session()).unwrap().table));
}

/// Runs some shares of a plan in this process, as if they were far away.
struct Shares(fn(usize) -> Vec<Range<usize>>, fn(PartialGroups) -> PartialGroups);

impl Backend for Shares {
    fn accept<'a>(&'a self, plan: &'a UnopenedPlan) -> Accepting<'a> {
        Box::pin(ready(plan.check_encodable()))
    }

    fn run(&self, plan: OpenedPlan) -> PartialStream {
        let change = self.1;
        let shares = (self.0)(plan.partitions()).into_iter().map(|share| {
            let bytes = plan.encode(share).unwrap();
            let received = Executor::new(None).unwrap().decode(&bytes).unwrap();
            received.run().map(move |partial| partial.map(change))
        });
        Box::pin(futures::stream::iter(shares.collect::<Vec<_>>()).flatten())
    }

    fn partitions(&self) -> usize {
        16
    }
}

/// All partitions in one place.
fn whole(all: usize) -> Vec<Range<usize>> {
    iter::once(0..all).collect()
}

/// Whatever a backend does with the partitions, units never count twice or not at all: it is an
/// error before the draw.
#[test]
fn partitions_count_once_each() {
    let fixture = fixture();
    let sql = QUERIES[1];
    let same = |groups| groups;
    let other_run = |groups: PartialGroups| PartialGroups { run: [0; 16], ..groups };
    let beyond = |groups: PartialGroups| PartialGroups { partition: 99, ..groups };
    for (broken, expected) in [
        (Shares(|all| vec![0..all, 0..1], same), "a partition twice"),
        (Shares(|all| vec![0..all / 2 + 1, all / 2..all], same), "a partition twice"),
        (
            Shares(|all| iter::once(1..all).collect(), same),
            "without the exact groups of all partitions",
        ),
        (Shares(|all| vec![0..4, 5..all], same), "without the exact groups of all partitions"),
        (Shares(|_| vec![], same), "without the exact groups of all partitions"),
        (Shares(whole, other_run), "of another run"),
        (Shares(whole, beyond), "one that its plan does not have"),
    ] {
        let session = with(&fixture, broken);
        let error = session.query(sql, None, &Progress::default()).wait().unwrap_err();
        assert!(matches!(error, EngineError::BrokenBackend { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(standing(&fixture.session(), sql), Standing::Paid);
    }
    let in_two = Shares(|all| vec![0..3, 3..all], same);
    let answer = with(&fixture, in_two).query(sql, None, &Progress::default()).wait().unwrap();
    assert!(answer.charged().is_none());
}

/// Partial groups that were damaged, or are none, are errors.
#[test]
fn foreign_partial_groups_are_errors() {
    let fixture = fixture();
    let session = fixture.session();
    let checked = session.check(QUERIES[6]).unwrap();
    let encoded = async {
        let progress = Progress::default();
        let reading = progress.reading();
        let scan = Scan::plan(&checked.quote, &checked.data, &reading, checked.memory);
        let (plan, _) = scan.await.unwrap().keyed(KEY);
        let groups = plan.execute().next().await.unwrap().unwrap();
        groups.encode().unwrap()
    };
    let encoded = encoded.wait();
    assert!(PartialGroups::decode(&encoded).is_ok());
    for at in (0..encoded.len()).step_by(7) {
        let mut damaged = encoded.clone();
        damaged[at] ^= 0x10;
        for damaged in [&damaged, &encoded[..at]] {
            let error = PartialGroups::decode(damaged).err().unwrap();
            assert!(matches!(error, EngineError::ForeignPartial), "{at}: {error}");
        }
    }
}

/// Rows that only the program has go to no other process: the query is refused, and costs nothing.
#[test]
fn rows_of_a_program_stay_in_it() {
    let contract = CONTRACT.replace("path = \"people.csv\"\n", "");
    let fixture = Fixture::new(&contract, &[("visits-0.csv", "id,town,n\n1,t1,1\n")]);
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as _;
    let people =
        RecordBatch::try_from_iter([("id", column(vec![1, 2])), ("age", column(vec![30, 40]))]);
    let people = people.unwrap();
    let table = MemoryTable::new(people.schema(), [people]).unwrap();
    let tables = ProvidedTables::from([("people".to_owned(), Arc::new(table) as _)]);
    let embedded = Session::open_with(&fixture.contract(), tables).unwrap();
    let shares = Arc::new(Shares(whole, |p| p));
    let elsewhere = Arc::new(embedded.clone().with_backend(shares));
    let embedded = Arc::new(embedded);
    let sql = "SELECT town, SUM(age) AS s FROM visits JOIN people USING (id) GROUP BY town";
    let explained = elsewhere.explain(sql, None).wait().unwrap_err();
    let asked = elsewhere.query(sql, None, &Progress::default()).wait().unwrap_err();
    assert_eq!(asked.to_string(), explained.to_string());
    assert!(!embedded.ledger_path().exists(), "something was charged");
    insta::assert_snapshot!(asked);
    assert!(embedded.query(sql, None, &Progress::default()).wait().is_ok());
    // Tables in files are read by the same engine.
    let sql = "SELECT COUNT(*) AS n FROM visits";
    assert!(elsewhere.query(sql, None, &Progress::default()).wait().is_ok());
}

/// A plan that another process could not read is refused before the charge.
#[test]
fn plans_are_read_before_they_are_paid() {
    // The engine's threads have room for deep plans, those of tests do not.
    let deep = std::thread::Builder::new().stack_size(16 << 20).spawn(deep_plans_are_refused);
    deep.unwrap().join().unwrap();
}

fn deep_plans_are_refused() {
    let fixture = fixture();
    let elsewhere = with(&fixture, Shares(whole, |groups| groups));
    let query = |terms: usize| {
        let terms = (0..terms)
            .map(|term| format!("town NOT IN (SELECT town FROM towns WHERE area = '{term}')"));
        let terms: Vec<String> = terms.collect();
        format!("SELECT COUNT(*) AS n FROM visits WHERE {}", terms.join(" AND "))
    };
    assert!(elsewhere.explain(&query(3), None).wait().is_ok());
    let deep = query(11);
    let explained = elsewhere.explain(&deep, None).wait().unwrap_err();
    let asked = elsewhere.query(&deep, None, &Progress::default()).wait().unwrap_err();
    assert!(matches!(explained, EngineError::DeepPlan), "{explained}");
    assert!(matches!(asked, EngineError::DeepPlan), "{asked}");
    assert!(!elsewhere.ledger_path().exists(), "something was charged");
    // In this process it runs.
    let answer = fixture.session().query(&deep, None, &Progress::default()).wait();
    assert!(answer.is_ok(), "{:?}", answer.err());
}
