//! The rows that joins make of one row: few, by what public tables hold and by limits on units.

use std::fmt::Write as _;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use hushtable_plan::{AddedCost, MAX_ADDED_OPERATIONS, Relation};
use hushtable_testkit::Dice;
use tokio::runtime::Builder;

use super::{Fixture, Wait, exactly};
use crate::contributions::SamplingKey;
use crate::error::EngineError;
use crate::eval::steps_of;
use crate::exact::{ExactSums, Scan, exact_of};
use crate::measurements::ExactMeasurement;
use crate::progress::Progress;
use crate::session::Session;

const CONTRACT: &str = r#"
[units.person.budgets]
ana = { epsilon = 1000000, delta = 0.9999999 }
[units.person.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 3
max_rows_per_group = 100
[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }
columns = { id = { type = "int" }, w = { type = "int" }, town = { type = "string" } }
[tables.visits]
path = "visits.csv"
unit = { of = "person", column = "id" }
columns = { id = { type = "int" }, no = { type = "int" }, n = { type = "int", bounds = [0, 9] } }
[tables.p]
path = "p.csv"
public = true
columns = { age = { type = "int" }, town = { type = "string" } }
[tables.towns]
path = "towns.csv"
public = true
unique = ["town"]
columns = { town = { type = "string" }, size = { type = "int" } }
"#;

/// Ninety-nine people with two visits each, and one, of number 0, with that many; and a public
/// table of that many rows, ten of a town and half of them of no age.
fn fixture(visits: usize, public: usize) -> Fixture {
    let (mut people, mut all) = ("id,w,town\n".to_owned(), "id,no,n\n".to_owned());
    for id in 0..100 {
        writeln!(people, "{id},{},town {}", id % 7, id % 9).unwrap();
        for no in 0..if id == 0 { visits } else { 2 } {
            writeln!(all, "{id},{},{}", id * 1000 + no, no % 10).unwrap();
        }
    }
    let mut p = "age,town\n".to_owned();
    for row in 0..public {
        let age = if row % 2 == 0 { row.to_string() } else { String::new() };
        writeln!(p, "{age},town {}", row / 10).unwrap();
    }
    let towns: String = (0..9).map(|town| format!("town {town},{town}\n")).collect();
    let towns = format!("town,size\n{towns}");
    let files =
        [("people.csv", &people), ("visits.csv", &all), ("p.csv", &p), ("towns.csv", &towns)];
    Fixture::new(CONTRACT, &files.map(|(name, text)| (name, text.as_str())))
}

fn refusal(error: EngineError) -> String {
    assert!(matches!(error, EngineError::Refused(_)), "{error}");
    error.to_string()
}

/// Three joins in which all public rows agree made a billion rows of one, for seconds.
#[test]
fn public_rows_are_counted_before_the_charge() {
    let fixture = fixture(2, 1000);
    let session = fixture.session();
    let join = |i: usize| format!(" JOIN p p{i} ON MOD(p{i}.age, 1) = MOD(a.w, 1)");
    let from = |joins: usize| format!("people a{}", (0..joins).map(join).collect::<String>());
    let sql = |joins: usize| format!("SELECT COUNT(*) AS n FROM {} WHERE a.id = 0", from(joins));
    // Half of the rows have an age; one join is few enough, two are not.
    session.explain(&sql(1), None).wait().unwrap();
    let shown = refusal(session.explain(&sql(3), None).wait().unwrap_err());
    insta::assert_snapshot!(shown);
    for joins in [2, 3] {
        let sql = sql(joins);
        let explained = refusal(session.explain(&sql, None).wait().unwrap_err());
        let asked = session.query(&sql, None, &Progress::default()).wait().unwrap_err();
        assert_eq!(refusal(asked), explained);
        // In a statement of several parts, too.
        let parts = format!("{sql} UNION ALL {sql}");
        let priced = session.explain(&parts, None).wait().err().map(refusal);
        assert!(priced.is_some_and(|text| text.contains("one row could meet")), "{parts}");
    }
    assert!(!session.ledger_path().exists(), "something was charged");
    // By the town there are ten, with a condition fewer, and NULL meets nothing.
    for (public, most) in [
        ("p", 10),
        ("(SELECT * FROM p WHERE age >= 0)", 5),
        ("(SELECT * FROM p WHERE age < 0)", 1),
        ("(SELECT DISTINCT town FROM p)", 1),
        ("(SELECT * FROM p UNION ALL SELECT * FROM p)", 20),
        ("(SELECT p.town FROM p JOIN towns t ON t.town = p.town)", 10),
        ("towns", 1),
    ] {
        let sql = format!("SELECT COUNT(*) AS n FROM people a JOIN {public} q ON q.town = a.town");
        assert_eq!(added(&session, &sql).matches, most, "{public}");
    }
    // A file that changes is counted again.
    let sql = "SELECT COUNT(*) AS n FROM people a JOIN p ON p.town = a.town";
    assert_eq!(added(&session, sql).matches, 10);
    let more = "age,town\n".to_owned() + &"1,town 3\n".repeat(1001);
    std::fs::write(fixture.path().join("p.csv"), more).unwrap();
    let shown = refusal(session.explain(sql, None).wait().unwrap_err());
    assert!(shown.contains("1001 rows of `p` by town"), "{shown}");
}

/// The cost that one row can add, as computed before the charge.
fn added(session: &Session, sql: &str) -> AddedCost {
    let checked = session.check(sql).unwrap();
    session.check_row(checked.quote.query(), &checked.data).wait().unwrap()
}

/// The exact groups of a query under a key.
fn exact(session: &Session, sql: &str, key: u8) -> ExactSums {
    let checked = session.check(sql).unwrap();
    async {
        let progress = Progress::default();
        let reading = progress.reading();
        let scan = Scan::plan(&checked.quote, &checked.data, &reading, checked.memory);
        let (plan, memory) = scan.await.unwrap().keyed(SamplingKey([key; 16]));
        exact_of(plan, &memory, checked.quote.query()).await.unwrap()
    }
    .wait()
}

fn sums(exact: &ExactSums, index: usize) -> Vec<i128> {
    match &exact.measured[index] {
        ExactMeasurement::Sums(sums) => sums.clone(),
        ExactMeasurement::Values(_) | ExactMeasurement::Distinct(_) => panic!("no sums"),
    }
}

fn limited(rows: u32, select: &str) -> String {
    format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
         max_groups_contributed = 300, max_rows_per_group = 100000, max_rows_joined = {rows}) \
         {select}"
    )
}

#[test]
fn units_keep_few_rows_on_each_side_of_a_join() {
    let fixture = fixture(60, 10);
    let session = fixture.session();
    let pairs = |rows: u32, from: &str| {
        sums(&exact(&session, &limited(rows, &format!("COUNT(*) AS n FROM {from}")), 1), 0)
    };
    let self_join = "visits a JOIN visits b ON a.id = b.id";
    // The others have four pairs each.
    assert_eq!(pairs(100, self_join), [60 * 60 + 99 * 4]);
    assert_eq!(pairs(60, self_join), [60 * 60 + 99 * 4]);
    assert_eq!(pairs(7, self_join), [7 * 7 + 99 * 4]);
    assert_eq!(pairs(1, self_join), [100]);
    // Conditions on one side come first.
    let some = "(SELECT * FROM visits WHERE n < 2) a JOIN visits b ON a.id = b.id";
    assert_eq!(pairs(7, some), [7 * 7 + 99 * 4]);
    assert_eq!(pairs(20, some), [12 * 20 + 99 * 4]);
    assert_eq!(pairs(7, &format!("{self_join} WHERE a.n < 0")), [0]);
    // Also of the left rows of an outer join.
    let left = "visits a LEFT JOIN visits b ON a.id = b.id AND b.n < 0";
    assert_eq!(pairs(7, left), [7 + 99 * 2]);
    // Of memberships, the rows that are looked at: all of them have a partner here.
    let later = "visits a WHERE EXISTS (SELECT 1 FROM visits b WHERE a.id = b.id AND b.n >= a.n)";
    assert_eq!(pairs(100, later), [60 + 99 * 2]);
    let kept = pairs(7, later)[0];
    assert!((99 * 2..60 + 99 * 2).contains(&kept), "{kept}");
    // Without a condition they lose nothing, however many rows there are.
    for from in [
        "visits a WHERE a.id IN (SELECT id FROM visits)",
        "visits a WHERE EXISTS (SELECT 1 FROM visits b WHERE a.id = b.id)",
        "visits a JOIN (SELECT id, COUNT(*) AS k FROM visits GROUP BY id) b ON a.id = b.id",
    ] {
        assert_eq!(pairs(1, from), [60 + 99 * 2], "{from}");
    }
    let none = "visits a WHERE NOT EXISTS (SELECT 1 FROM visits b WHERE a.id = b.id)";
    assert_eq!(pairs(1, none), [0]);
}

/// A contract that is wrong about a table costs rows, and no time.
#[test]
fn one_row_of_each_unit_is_joined_where_the_contract_says_so() {
    let text = CONTRACT.replace("[tables.people]", "[tables.people]\nunique = [\"id\"]");
    for (people, counts) in [("0,1,a\n1,1,a\n2,1,a\n", 4), ("0,1,a\n0,2,b\n0,3,c\n,4,d\n", 2)] {
        let people = format!("id,w,town\n{people}");
        let visits = "id,no,n\n0,1,1\n0,2,1\n1,3,1\n2,4,1\n3,5,1\n";
        let files = [("people.csv", people.as_str()), ("visits.csv", visits)];
        let fixture = Fixture::new(&text, &files);
        let sql = "COUNT(*) AS n FROM people p JOIN visits v ON v.id = p.id";
        assert_eq!(fixture.rows(&exactly(sql)).trim(), counts.to_string(), "{people}");
    }
}

/// The rows that are kept follow from a secret key and the unit's own rows, in whatever order they
/// are, and however they are spread over files.
#[test]
fn the_rows_that_are_kept_are_drawn_by_a_key() {
    let sql = limited(
        3,
        "a.no, COUNT(*) AS n FROM visits a JOIN people b ON a.id = b.id WHERE a.id = 0 \
         GROUP BY a.no",
    );
    let kept = |fixture: &Fixture, key: u8| -> Vec<i64> {
        let exact = exact(&fixture.session(), &sql, key);
        let mut rows: Vec<i64> = exact.keys[0].as_primitive::<Int64Type>().values().to_vec();
        rows.sort_unstable();
        assert_eq!(rows.len(), 3);
        rows
    };
    let first = fixture(40, 10);
    let all: Vec<_> = (0..8).map(|key| kept(&first, key)).collect();
    let mut different = all.clone();
    different.sort();
    different.dedup();
    assert!(different.len() > 4, "{all:?}");
    // Other rows of others, in another order.
    let second = fixture(40, 10);
    let text = std::fs::read_to_string(second.path().join("visits.csv")).unwrap();
    let mut lines: Vec<&str> = text.lines().skip(1).filter(|l| !l.starts_with("17,")).collect();
    lines.reverse();
    std::fs::write(second.path().join("visits.csv"), format!("id,no,n\n{}\n", lines.join("\n")))
        .unwrap();
    for (key, want) in (0..).zip(&all) {
        assert_eq!(kept(&second, key), *want);
    }
}

#[test]
fn limits_on_rows_need_a_key() {
    let fixture = fixture(5, 10);
    let session = fixture.session();
    let sql = limited(3, "COUNT(*) AS n FROM visits a JOIN visits b ON a.id = b.id");
    let checked = session.check(&sql).unwrap();
    async {
        let progress = Progress::default();
        let reading = progress.reading();
        let scan = Scan::plan(&checked.quote, &checked.data, &reading, checked.memory);
        let shown = scan.await.unwrap().shown();
        assert_eq!(shown.matches("LimitRowsExec: unit=0, rows=3").count(), 2, "{shown}");
        let reading = progress.reading();
        let scan = Scan::plan(&checked.quote, &checked.data, &reading, checked.memory);
        let (plan, memory) = scan.await.unwrap().keyed(SamplingKey([1; 16]));
        let again = crate::limit_rows::LimitRowsExec::new(
            Arc::clone(plan.operators().children()[0]),
            crate::limit_rows::RowLimit { unit: 0, rows: 3 },
        );
        let error = again.unwrap().execute(0, memory.tasks()).err().unwrap();
        assert!(error.to_string().contains("without the key of a charge"), "{error}");
    }
    .wait();
    let answer = fixture.rows(&exactly("COUNT(*) AS n FROM visits a JOIN visits b ON a.id = b.id"));
    assert_eq!(answer.trim(), (5 * 5 + 99 * 4).to_string());
}

/// Rows that look up in the tables of a plan's joins, once it has run.
fn looked_up(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let input_rows = |metrics: MetricsSet| metrics.sum_by_name("input_rows");
    let at_this_node = match plan.name() {
        "HashJoinExec" => plan.metrics().and_then(input_rows).map_or(0, |rows| rows.as_usize()),
        _ => 0,
    };
    plan.children().into_iter().map(looked_up).sum::<u64>() + at_this_node as u64
}

/// Where no row is put into a table, the rows that look up are read and looked up all the same:
/// else the first row would cost the time of all of them.
#[test]
fn a_side_without_rows_leaves_the_other_as_it_is() {
    let fixture = fixture(5, 10);
    let session = fixture.session();
    let run = |from: &str| {
        let sql = limited(9, &format!("COUNT(*) AS n FROM {from}"));
        let checked = session.check(&sql).unwrap();
        async {
            let reading = Progress::default().reading();
            let scan = Scan::plan(&checked.quote, &checked.data, &reading, checked.memory);
            let (plan, memory) = scan.await.unwrap().keyed(SamplingKey([3; 16]));
            let operators = Arc::clone(plan.operators());
            let exact = exact_of(plan, &memory, checked.quote.query()).await.unwrap();
            (sums(&exact, 0), looked_up(&operators), reading.done())
        }
        .wait()
    };
    for from in [
        "(SELECT id FROM people WHERE w = @) x JOIN visits v ON x.id = v.id",
        "(SELECT id FROM people WHERE w = @) x JOIN visits v ON CAST(x.id AS STRING) = \
         CAST(v.id AS STRING) AND x.id = v.id",
        "visits v WHERE id IN (SELECT id FROM people WHERE w = @)",
        "visits v WHERE NOT EXISTS (SELECT 1 FROM people x WHERE x.id = v.id AND w = @)",
        "(SELECT id FROM visits WHERE n = @) x JOIN visits v ON x.id = v.id",
    ] {
        let all: Vec<_> = ["1", "2", "77"].map(|w| run(&from.replace('@', w))).into();
        assert_ne!(all[0].0, all[2].0, "{from}");
        assert!(all[2].1 > 100 && all[2].2 > 1_000, "{from}: {all:?}");
        assert!(all.iter().all(|(_, rows, bytes)| (*rows, *bytes) == (all[2].1, all[2].2)));
    }
}

/// Rows that all joins of a plan have given, once it has run.
fn joined(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let at_this_node = match plan.name() {
        "HashJoinExec" => plan.metrics().and_then(|m| m.output_rows()).unwrap_or(0) as u64,
        _ => 0,
    };
    plan.children().into_iter().map(joined).sum::<u64>() + at_this_node
}

/// A random FROM and WHERE with joins that repeat rows, and long expressions over what they give.
fn statement(dice: &mut Dice) -> String {
    let mut from =
        dice.one(&["visits a", "visits a", "(SELECT * FROM visits WHERE n < 5) a"]).to_owned();
    let mut columns = vec!["a.n".to_owned(), "a.no".to_owned()];
    for i in 0..dice.below(4) {
        let (join, column) = match dice.below(7) {
            0 => (format!(" JOIN visits v{i} ON v{i}.id = a.id"), format!("v{i}.n")),
            1 => (
                format!(" LEFT JOIN visits v{i} ON v{i}.id = a.id AND v{i}.n > a.n"),
                format!("v{i}.no"),
            ),
            2 => (format!(" JOIN people v{i} ON v{i}.id = a.id"), format!("v{i}.w")),
            3 => (format!(" JOIN p v{i} ON MOD(v{i}.age, 2) = MOD(a.n, 2)"), format!("v{i}.age")),
            4 => (format!(" JOIN p v{i} ON MOD(v{i}.age, 50) = a.n"), format!("v{i}.age")),
            5 => (
                format!(
                    " JOIN (SELECT id, COUNT(*) AS k FROM visits GROUP BY id) v{i} \
                     ON v{i}.id = a.id"
                ),
                format!("v{i}.k"),
            ),
            _ => (
                format!(
                    " JOIN (SELECT id, n, ROW_NUMBER() OVER (PARTITION BY id ORDER BY no) AS k \
                     FROM visits) v{i} ON v{i}.id = a.id AND v{i}.n = a.n"
                ),
                format!("v{i}.k"),
            ),
        };
        from += &join;
        columns.push(column);
    }
    if dice.below(3) == 0 {
        from += " WHERE EXISTS (SELECT 1 FROM visits e WHERE e.id = a.id AND e.n >= a.n)";
    }
    let terms = 1 + dice.below(9) as usize;
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let sum: Vec<String> = (0..terms)
        .map(|i| {
            let column = dice.one(&columns);
            dice.one(&["ABS(# + @)", "LENGTH(CAST(# + @ AS STRING))", "POWER(#, 2) + @", "# * @"])
                .replace('#', column)
                .replace('@', &i.to_string())
        })
        .collect();
    format!(
        "SELECT SUM({}, contribution_bounds_per_group => (0, 9)) AS s, COUNT(DISTINCT a.id) AS n \
         FROM {from}",
        sum.join(" + ")
    )
}

/// Searches for the statement of which one row costs most, in rows of joins and steps of
/// expressions. `HUSHTABLE_ROW_CASES` asks for more than a test run has.
#[test]
fn one_row_adds_no_more_than_is_said_before_the_charge() {
    let cases = std::env::var("HUSHTABLE_ROW_CASES").ok().and_then(|n| n.parse().ok());
    let (with, without) = (fixture(301, 60), fixture(300, 60));
    let runtime = Builder::new_current_thread().build().unwrap();
    let mut dice = Dice::new(20_261_123);
    let (mut accepted, mut refused, mut dearest) = (0, 0, (0, String::new()));
    for _ in 0..cases.unwrap_or(60) {
        let sql = statement(&mut dice);
        let cost = |fixture: &Fixture| {
            let session = fixture.session();
            let checked = session.check(&sql).unwrap();
            let query = checked.quote.query();
            let row = runtime.block_on(session.check_row(query, &checked.data)).ok()?;
            let progress = Progress::default();
            let reading = progress.reading();
            let scan = Scan::plan(&checked.quote, &checked.data, &reading, checked.memory);
            let (plan, memory) = runtime.block_on(scan).unwrap().keyed(SamplingKey([4; 16]));
            let operators = Arc::clone(plan.operators());
            let run = exact_of(plan, &memory, query);
            let (steps, _) = steps_of(|| runtime.block_on(run).unwrap());
            Some((row, steps, joined(&operators), operations(query.relation())))
        };
        let (Some((row, steps, rows, nodes)), Some((_, fewer_steps, fewer_rows, _))) =
            (cost(&with), cost(&without))
        else {
            refused += 1;
            continue;
        };
        accepted += 1;
        // A batch that one row begins, in each partition, takes 64 steps for each node.
        let batches = 64 * (nodes + 100) * 16;
        let counted = steps.saturating_sub(fewer_steps) + 100 * rows.saturating_sub(fewer_rows);
        assert!(counted <= row.operations + batches, "{counted}, {row:?}: {sql}");
        assert!(rows.saturating_sub(fewer_rows) <= row.operations / 300, "{row:?}: {sql}");
        assert!(row.operations <= MAX_ADDED_OPERATIONS, "{row:?}: {sql}");
        if counted > dearest.0 {
            dearest = (counted, sql);
        }
    }
    println!("{accepted} accepted, {refused} refused, the dearest: {dearest:?}");
    assert!(accepted > 10 && refused > 0, "{accepted} {refused}");
    assert!(dearest.0 > 1000, "{dearest:?}");
}

fn operations(relation: &Relation) -> u64 {
    relation.operations() as u64
}
