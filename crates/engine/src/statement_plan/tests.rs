//! Statements of several parts: charged together, taken up again, the same when asked again; and
//! what the SQL around them can see.

use datafusion::arrow::array::RecordBatch;
use hushtable_contract::Population;
mod workloads;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use hushtable_ledger::{ChargeState, Notice, Outcome, PaymentOutcome};
use hushtable_noise::TestSeed;
use hushtable_plan::Around;

use super::paying::begin;
use super::*;
use crate::answer::{Answering, Timings};
use crate::answer_table::Answer;
use crate::around::{MAX_PAIRS, Ran};
use crate::ask::Purpose;
use crate::intervals::ColumnIntervals;
use crate::memory::QueryMemory;
use crate::record::ReleaseStatement;
use crate::statement::Statement;
use crate::tests::{Fixture, Wait, shown};

const CONTRACT: &str = r#"
[units.person.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 1
max_rows_per_group = 1
[units.person.budgets]
ana = { epsilon = 2, delta = 1e-5 }
[units.firm.defaults]
max_rows_per_group = 1
[units.firm.budgets]
ana = { epsilon = 0.1 }
[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }
[tables.people.columns]
id = { type = "int" }
town = { type = "string", public_keys = ["A", "B"] }
age = { type = "int", bounds = [0, 100] }
[tables.firms]
path = "firms.csv"
unit = { of = "firm", column = "id" }
[tables.firms.columns]
id = { type = "int" }
"#;

fn fixture() -> Fixture {
    let mut people = "id,town,age\n".to_owned();
    for person in 0..200 {
        people += &format!("{person},{},{}\n", ["A", "B"][person % 2], person % 90);
    }
    let firms = format!("id\n{}", "1\n2\n3\n".repeat(9));
    Fixture::new(CONTRACT, &[("people.csv", &people), ("firms.csv", &firms)])
}

pub(crate) fn ask(fixture: &Fixture, sql: &str, seed: u64) -> Result<Answer, String> {
    let mut generator = TestSeed(seed).generator();
    let (session, progress) = (fixture.session(), Progress::default());
    let answer = session.query_with(sql, None, &progress, &mut generator);
    let answer = answer.wait().map(|(answer, _)| answer);
    answer.map_err(|e| e.to_string().replace(fixture.path().to_str().unwrap(), "F"))
}

/// How many charges there are, how many of them have a release, and what is spent by population.
fn charges(fixture: &Fixture) -> (usize, usize, Vec<String>) {
    let session = fixture.session();
    let Some(ledger) = session.ledger_as_it_is().unwrap() else {
        return (0, 0, Vec::new());
    };
    let charges = ledger.charges().unwrap();
    let spent = |(name, population): (&String, &Population)| {
        ledger.account("ana", name, population.budgets["ana"]).unwrap().spent.to_string()
    };
    let spent = session.contract().populations.iter().map(spent).collect();
    (charges.len(), charges.iter().filter(|c| c.state == ChargeState::Recorded).count(), spent)
}

fn plan(session: &Arc<Session>, sql: &str) -> StatementPlan {
    session.plan(sql, None, Purpose::Quote, &Progress::default()).wait().unwrap()
}

const OLDER: &str = "SELECT town, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place \
                     FROM people WHERE age > (SELECT AVG(age) FROM people) GROUP BY town";
const HALVES: [&str; 2] = ["epsilon = 0", "epsilon = 1"];

#[test]
fn asked_again_it_is_free_and_the_same() {
    let fixture = fixture();
    let first = ask(&fixture, OLDER, 1).unwrap();
    assert_eq!(first.charged().unwrap().to_string(), "epsilon = 1");
    assert_eq!(first.table.num_rows(), 2);
    assert_eq!(charges(&fixture), (2, 2, HALVES.map(str::to_owned).to_vec()));
    let again = ask(&fixture, OLDER, 2).unwrap();
    assert_eq!((again.charged(), again.statement), (None, first.statement.clone()));
    assert_eq!(shown(&again.table), shown(&first.table));
    // Other SQL around the same parts is free.
    let other = OLDER.replace("RANK() OVER (ORDER BY COUNT(*) DESC)", "SUM(COUNT(*)) OVER ()");
    let other = ask(&fixture, &other, 3).unwrap();
    assert_eq!(other.charged(), None);
    // Each part is a question by itself.
    let mean = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) AVG(age) FROM people";
    let mean = ask(&fixture, mean, 4).unwrap();
    assert_eq!(mean.charged(), None);
    let parts = first.statement.parts;
    let stated = ReleaseStatement {
        sql: parts[0].release.sql.clone(),
        ..mean.statement.last_release().unwrap().clone()
    };
    assert_eq!(stated, parts[0].release);
    // The value that the later part has read is in its statement, and the part that it came from
    // in its question.
    let value = mean.table.column(0).as_primitive::<Float64Type>().value(0);
    let read = serde_json::to_string(&parts[1].release.query.filter()).unwrap();
    assert!(read.contains(&value.to_string()), "{read}");
    let of_others = OLDER.replace("AVG(age) FROM people", "AVG(age) FROM people WHERE age > 1");
    assert_eq!(ask(&fixture, &of_others, 5).unwrap().charged().unwrap().to_string(), "epsilon = 1");
    assert_eq!(charges(&fixture).0, 4);
}

#[test]
fn all_parts_are_charged_or_none() {
    let fixture = fixture();
    // The second account cannot pay, and the first is not charged.
    let both = "SELECT (SELECT COUNT(*) FROM people) AS people, (SELECT WITH DIFFERENTIAL_PRIVACY \
                OPTIONS (epsilon = 0.2) COUNT(*) FROM firms) AS firms";
    let session = fixture.session();
    let planned = plan(&session, both);
    assert_eq!(planned.payers_of_all().len(), 2);
    let error = planned.pay(&mut *session.ledger().unwrap()).unwrap_err();
    assert!(error.to_string().contains("`firm`"), "{error}");
    assert_eq!(charges(&fixture), (0, 0, vec!["epsilon = 0".to_owned(); 2]));
    let refused = ask(&fixture, both, 1).unwrap_err();
    let sum = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 3) * FROM (SELECT COUNT(*) AS n \
               FROM people), (SELECT AVG(age) AS m FROM people)";
    insta::assert_snapshot!(format!("{refused}\n\n{}", ask(&fixture, sum, 1).unwrap_err()));
    assert_eq!(charges(&fixture).0, 0);
    let paid = ask(&fixture, &both.replace("0.2", "0.1"), 1).unwrap();
    let text = |charged: Option<Loss>| charged.unwrap().to_string();
    assert_eq!(text(paid.charged()), "epsilon = 1");
    assert_eq!(paid.charges.accounts.len(), 2);
    assert_eq!(text(paid.charges.accounts[1].charged), "epsilon = 0.1");
    assert_eq!(charges(&fixture).0, 2);
}

#[test]
fn clipping_reports_are_charged_and_recorded_with_their_parts() {
    let fixture = fixture();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (EPSILON clipping_report = true) town, \
               SUM(age, contribution_bounds_per_group => (0, 44)) AS s FROM people GROUP BY town";
    let one = sql.replace("EPSILON", "");
    // The budget pays for both or for none.
    let refused = ask(&fixture, &sql.replace("EPSILON", "epsilon = 2.5,"), 1).unwrap_err();
    assert!(refused.contains("epsilon = 2.5"), "{refused}");
    assert_eq!(charges(&fixture).0, 0);
    let quoted = fixture.session().explain(&one, None).wait().unwrap();
    assert_eq!(quoted.accounts[0].charge.to_string(), "epsilon = 1");
    assert_eq!(quoted.parts[1].report_of, ["part_1"]);
    assert_eq!(quoted.parts[1].explanation.total.to_string(), "epsilon = 0.1");
    assert_eq!(charges(&fixture).0, 0);

    let first = ask(&fixture, &one, 1).unwrap();
    assert_eq!(first.charged().unwrap().to_string(), "epsilon = 1");
    assert_eq!((first.table.num_rows(), first.table.num_columns()), (2, 2));
    assert_eq!(charges(&fixture), (2, 2, HALVES.map(str::to_owned).to_vec()));
    let whole = first.statement;
    let [report] = whole.clipping_reports.as_slice() else { panic!("{whole:?}") };
    assert_eq!(report.of, ["part_1"]);
    let fresh = (0..20).map(|seed| ask(&self::fixture(), &one, seed).unwrap());
    let reports: Vec<_> = fresh.map(|answer| answer.statement.clipping_reports).collect();
    // Of 60 intervals at 95 %, 3 miss on average, and more than 9 with probability 0.001.
    let shares = reports.iter().flat_map(|reports| reports[0].shares.iter().zip([0.0, 0.45, 0.22]));
    let missed = shares.filter(|(share, exact)| {
        let (low, high) = (share.low.unwrap_or(0.0), share.high.unwrap_or(1.0));
        low > *exact || *exact > high
    });
    assert!(missed.count() <= 9, "{reports:?}");
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<Statement>(&text).unwrap(), whole);
    let again = ask(&fixture, &one, 2).unwrap();
    assert_eq!((again.charged(), &again.statement), (None, &whole));
    assert_eq!(shown(&again.table), shown(&first.table));
    // The statement of the answer is the question's, and not the report's.
    let release = again.statement.last_release().unwrap();
    assert_eq!(release.explanation.total.to_string(), "epsilon = 0.9");
}

/// The columns of a result with their intervals: `=` without noise, `-` without an interval, else
/// the ends.
fn ends(answer: &Answer) -> Vec<String> {
    let intervals = answer.intervals(hushtable_contract::IntervalRequest::USUAL).unwrap();
    let schema = answer.table.schema();
    let columns = schema.fields().iter().zip(intervals.columns);
    let text = |column: ColumnIntervals| match column {
        ColumnIntervals::Exact => "=".to_owned(),
        ColumnIntervals::Without(why) => format!("- {why:?}"),
        ColumnIntervals::Ends { low, high } => {
            let ends = [("low", low, true), ("high", high, true)];
            shown(&RecordBatch::try_from_iter_with_nullable(ends).unwrap()).replace('\n', " ")
        }
    };
    columns.map(|(field, column)| format!("{}: {}", field.name(), text(column))).collect()
}

#[test]
fn intervals_go_through_the_sql_around() {
    let fixture = fixture();
    let levels = ask(
        &fixture,
        "SELECT town, COUNT(*) AS n, GROUPING(town) AS g FROM people GROUP BY ROLLUP (town) \
         ORDER BY g, town",
        1,
    )
    .unwrap();
    // Those of the parts by themselves, which are on record.
    let part = |sql: &str| {
        let answer = ask(
            &fixture,
            &format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) {sql}"),
            2,
        );
        let answer = answer.unwrap();
        assert_eq!(answer.charged(), None);
        ends(&answer).last().unwrap().clone()
    };
    let (groups, total) =
        (part("town, COUNT(*) AS n FROM people GROUP BY town"), part("COUNT(*) AS n FROM people"));
    let both = format!("{groups}{}", total.strip_prefix("n: ").unwrap());
    assert_eq!(ends(&levels), ["town: =".to_owned(), both, "g: =".to_owned()]);

    let parts = "(SELECT town, COUNT(*) AS n FROM people GROUP BY town) a \
                 CROSS JOIN (SELECT COUNT(*) AS n FROM people) b";
    let of = |sql: &str| ends(&ask(&fixture, sql, 3).unwrap());
    // Renamed, sorted, cut, joined; and arithmetic on one row.
    let through = of(&format!(
        "WITH c AS (SELECT * FROM {parts}) SELECT d.m AS k, m AS same, m - n_2 AS less, \
         UPPER(town) AS town, LENGTH(town) AS length FROM (SELECT n AS m, n_2, town FROM c \
         ORDER BY m LIMIT 1) AS d"
    ));
    let [k, same, less, town, length] = through.as_slice() else { panic!("{through:?}") };
    assert_eq!(k.strip_prefix("k"), same.strip_prefix("same"));
    assert!(k.contains('|') && groups.contains(k.strip_prefix("k: ").unwrap()), "{k} {groups}");
    assert!(less.contains('|'), "{less}");
    assert_eq!([town, length], ["town: =", "length: ="]);
    // The ends of a difference are those of its terms at half the probability.
    let ratio = of(&format!("SELECT a.n / b.n AS share, 2 AS two FROM {parts}"));
    assert!(ratio[0].matches('|').count() == 2 && ratio[1] == "two: =", "{ratio:?}");

    // Parts that nothing reads are not asked, and do not count.
    let unread =
        of("WITH unread AS (SELECT AVG(age) AS m FROM people), t AS (SELECT town, COUNT(*) AS n \
            FROM people GROUP BY town) SELECT n FROM t ORDER BY town");
    assert_eq!(unread[0].matches('|').count(), 2);

    // A row that an outer join does not find has no value and no interval.
    let missing =
        of("WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) SELECT x.town, y.n \
            FROM t x LEFT JOIN t y ON y.town = x.town AND y.town = 'A' ORDER BY x.town");
    assert!(
        missing[1].ends_with(" NULL|NULL ") && !missing[1].starts_with("y: NULL"),
        "{missing:?}"
    );
    // Values of several rows have none, and neither has what is computed from them.
    let collective = of("SELECT SUM(n) OVER () AS s, n + RANK() OVER (ORDER BY n) AS r, n \
                         FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town)");
    assert_eq!(&collective[..2], ["s: - Around", "r: - Around"]);
    assert!(collective[2].contains('|'));
    let together =
        of("SELECT DISTINCT n, n * 2 AS twice FROM (SELECT town, COUNT(*) AS n FROM people \
            GROUP BY town)");
    assert_eq!(together, ["n: - Around", "twice: - Around"]);
    let union =
        of("WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) SELECT n FROM t \
            UNION DISTINCT SELECT n FROM t");
    assert_eq!(union, ["n: - Around"]);
    let aggregated = of(
        "SELECT town, MAX(n) AS most FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town) \
         GROUP BY town",
    );
    assert_eq!(aggregated, ["town: =", "most: - Around"]);

    // All at once: both parts' intervals are wider.
    let wide = hushtable_contract::IntervalRequest {
        simultaneous: true,
        ..hushtable_contract::IntervalRequest::USUAL
    };
    let width = |wanted| {
        let ColumnIntervals::Ends { low, high } = &levels.intervals(wanted).unwrap().columns[1]
        else {
            panic!()
        };
        let column = |c: &ArrayRef| c.as_primitive::<Int64Type>().value(0);
        column(high) - column(low)
    };
    assert!(width(wide) > width(hushtable_contract::IntervalRequest::USUAL));
}

/// Everything up to the moment at which the first `answers` parts are on record, and the next one
/// is begun.
fn stopped(fixture: &Fixture, answers: usize) {
    let session = fixture.session();
    let mut planned = plan(&session, OLDER);
    let mut ledger = session.ledger().unwrap();
    let paid = planned.pay(&mut *ledger).unwrap();
    let mut generator = TestSeed(7).generator();
    let mut released = Vec::new();
    for (at, paid) in paid.into_iter().enumerate() {
        if at == answers {
            let paid = paid.unwrap().first;
            if let PaymentOutcome::Charged(payment) = &paid {
                let data = &planned.parts[at].data;
                let begun = begin(&session, data, &mut *ledger, (payment, &[])).unwrap();
                assert!(matches!(begun, Outcome::Charged(_)));
            }
            return;
        }
        let mut answering = Answering { ledger: &mut *ledger, generator: &mut generator };
        let mut timings = Timings::default();
        let next = planned.released(at, paid, &released, &mut answering, &mut timings);
        released.push(next.wait().unwrap());
    }
}

#[test]
fn stopped_after_each_step_it_goes_on() {
    let fixture = fixture();
    for answers in [0, 1] {
        stopped(&fixture, answers);
        assert_eq!(charges(&fixture), (2, answers, HALVES.map(str::to_owned).to_vec()));
    }
    let first = ask(&fixture, OLDER, 1).unwrap();
    assert_eq!(first.charged(), None);
    assert_eq!(charges(&fixture), (2, 2, HALVES.map(str::to_owned).to_vec()));
    let again = ask(&fixture, OLDER, 2).unwrap();
    assert_eq!((again.statement, shown(&again.table)), (first.statement, shown(&first.table)));
}

#[test]
fn a_released_null_is_a_value() {
    let fixture = fixture();
    // The mean of a group that is not shown.
    let sql = "SELECT town, COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people \
               HAVING COUNT(*) < -1000) GROUP BY town";
    let answer = ask(&fixture, sql, 1).unwrap();
    assert_eq!(answer.table.num_rows(), 2);
    let counts = answer.table.column(1).as_primitive::<Int64Type>().clone();
    assert!(counts.iter().flatten().all(|n| n.abs() < 100), "{counts:?}");
}

/// Rows are chosen by the keys that an earlier part shows: which keys these are is part of the
/// question, and its price is known before.
#[test]
fn rows_are_chosen_by_released_keys() {
    let fixture = fixture();
    let towns = |having: &str| {
        format!(
            "SELECT COUNT(*) AS n FROM people WHERE town IN \
             (SELECT town FROM people GROUP BY town HAVING {having})"
        )
    };
    let first = ask(&fixture, &towns("COUNT(*) > -1000"), 1).unwrap();
    assert_eq!(first.charged().unwrap().to_string(), "epsilon = 1");
    assert_eq!(charges(&fixture), (2, 2, HALVES.map(str::to_owned).to_vec()));
    assert_eq!(first.statement.parts[1].reads, ["part_1.town"]);
    let count = |answer: &Answer| answer.table.column(0).as_primitive::<Int64Type>().value(0);
    assert!((count(&first) - 200).abs() < 50, "{}", count(&first));
    let again = ask(&fixture, &towns("COUNT(*) > -1000"), 2).unwrap();
    assert_eq!((again.charged(), again.statement), (None, first.statement.clone()));
    // The counts by town are on record; the count of rows in other towns is another question.
    let none = ask(&fixture, &towns("COUNT(*) > 1000"), 3).unwrap();
    assert_eq!(none.charged().unwrap().to_string(), "epsilon = 0.5");
    assert!(count(&none).abs() < 50, "{}", count(&none));
}

/// Runs SQL over released tables, which the tree reads in their order.
pub(crate) async fn run(
    around: &Around,
    tables: &[(String, RecordBatch)],
    memory: &QueryMemory,
) -> Result<Ran, EngineError> {
    run_within(MAX_PAIRS, around, tables, memory).await
}

async fn run_within(
    pairs: u64,
    around: &Around,
    tables: &[(String, RecordBatch)],
    memory: &QueryMemory,
) -> Result<Ran, EngineError> {
    let schemas: Vec<_> =
        tables.iter().map(|(name, table)| (name.clone(), table.schema())).collect();
    let plan = AroundPlan::within(pairs, around, &schemas, memory).await?;
    let released = |name: &str| &tables.iter().find(|(table, _)| table == name).unwrap().1;
    plan.run(plan.tables().map(released), memory).await
}

/// A plan has places for the tables of its parts, and runs once over tables with their columns.
#[test]
fn the_sql_around_sees_released_tables_only() {
    let fixture = fixture();
    let session = fixture.session();
    let sql = "SELECT n + 1 AS n FROM (SELECT COUNT(*) AS n FROM people)";
    let around = SqlStatement::bind(sql, session.contract()).unwrap().around.unwrap();
    let table = |column: ArrayRef| RecordBatch::try_from_iter([("n", column)]).unwrap();
    let numbers = table(Arc::new(Int64Array::from(vec![3, 1, 2])));
    let memory = session.memory();
    let plan = |name: &str| {
        AroundPlan::new(&around, &[(name.to_owned(), numbers.schema())], memory).wait()
    };
    for name in ["people", "firms", "part_2", "information_schema.tables"] {
        assert!(plan(name).is_err(), "{name}");
    }
    let texts = table(Arc::new(StringArray::from(vec!["a"])));
    for wrong in [vec![&texts], vec![]] {
        assert!(plan("part_1").unwrap().run(wrong, memory).wait().is_err());
    }
    let plan = plan("part_1").unwrap();
    assert_eq!(plan.run([&numbers], memory).wait().unwrap().table.num_rows(), 3);
    assert!(plan.run([&numbers], memory).wait().is_err());
}

/// All pairs that a join makes of rows count, but not those that are as many as the rows.
#[test]
fn pairs_of_rows_of_releases_are_bounded() {
    let fixture = fixture();
    let session = fixture.session();
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new((0..100).collect::<Int64Array>())),
        ("one", Arc::new(Int64Array::from_value(1, 100))),
        ("none", Arc::new(Int64Array::new_null(100))),
    ];
    let table = vec![("part_1".to_owned(), RecordBatch::try_from_iter(columns).unwrap())];
    let run = |sql: &str, pairs: u64| {
        let sql = format!(
            "WITH t AS (SELECT COUNT(*) AS n, COUNT(*) + 1 AS one, COUNT(*) + 2 AS none \
             FROM people GROUP BY town) SELECT COUNT(*) AS n FROM {sql}"
        );
        let around = SqlStatement::bind(&sql, session.contract()).unwrap().around.unwrap();
        let ran = run_within(pairs, &around, &table, session.memory()).wait();
        ran.map(|_| ()).map_err(|error| error.to_string())
    };
    for (sql, pairs) in [
        ("t a JOIN t b ON a.n = b.n", 0),
        ("t a LEFT JOIN t b ON a.none = b.none", 0),
        ("t a CROSS JOIN (SELECT SUM(n) AS s FROM t) b", 0),
        ("t UNION ALL SELECT n FROM t", 0),
        ("t a JOIN t b ON a.n < b.n", 10_000 - 200),
        ("t a LEFT JOIN t b ON a.one = b.one AND a.n + b.n = 3", 10_000 - 200),
        ("t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.n > a.n)", 10_000 - 200),
        ("t a JOIN t b ON a.one = b.one JOIN t c ON a.n = c.n", 10_000 - 200),
    ] {
        assert_eq!(run(sql, pairs), Ok(()), "{sql}");
        if let Some(less) = pairs.checked_sub(1) {
            let refused = run(sql, less).unwrap_err();
            assert!(refused.contains("pairs more than"), "{sql}: {refused}");
        }
    }
}

/// A refusal that depends on released values comes when these are on record, and costs nothing
/// more.
#[test]
fn too_many_pairs_leave_the_parts_on_record() {
    let keys: Vec<String> = (0..300).map(|key| key.to_string()).collect();
    let contract = CONTRACT.replace(
        r#"id = { type = "int" }
town"#,
        &format!(
            "id = {{ type = \"int\" }}\nkey = {{ type = \"int\", public_keys = [{}] }}\ntown",
            keys.join(", ")
        ),
    );
    let people = format!("id,key,town,age\n{}", "1,2,A,30\n".repeat(9));
    let firms = "id\n1\n".to_owned();
    let fixture = Fixture::new(&contract, &[("people.csv", &people), ("firms.csv", &firms)]);
    let counts = "WITH t AS (SELECT key, COUNT(*) AS n FROM people GROUP BY key)";
    // Where nothing is asked of the pairs they are not made: COUNT(*) of them is a product.
    let sql = format!(
        "{counts} SELECT COUNT(*) AS n FROM t a JOIN t b ON a.key < b.key + 1000 \
         JOIN t c ON c.key < a.key + 1000"
    );
    let refused = ask(&fixture, &sql, 1).unwrap_err();
    assert!(refused.contains("more than 20000000 rows"), "{refused}");
    let spent = "; charged epsilon = 1 on `person`: the releases are on record";
    assert!(refused.contains(spent), "{refused}");
    let one = (1, 1, ["epsilon = 0", "epsilon = 1"].map(str::to_owned).to_vec());
    assert_eq!(charges(&fixture), one);
    let answer = ask(&fixture, &format!("{counts} SELECT COUNT(*) AS n FROM t"), 2).unwrap();
    assert_eq!(answer.charged(), None);
    assert_eq!(answer.table.column(0).as_primitive::<Int64Type>().value(0), 300);
    assert_eq!(charges(&fixture), one);
}

/// Functions are known by name: nothing is left to chance, to the clock or to files.
#[test]
fn what_cannot_be_computed_is_refused_before_the_charge() {
    let fixture = fixture();
    let mut refusals = String::new();
    for shown in [
        "FOO(n)",
        "RANDOM()",
        "CURRENT_TIMESTAMP",
        "READ_FILE('x')",
        "STRING_AGG(town)",
        "n + town",
        "SUM(town)",
        "LAG(n, town) OVER (ORDER BY n)",
        "(SELECT n FROM t WHERE t.n > o.n)",
        "n, COUNT(*)",
    ] {
        let sql = format!(
            "WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) \
             SELECT {shown} FROM t o"
        );
        let refused = ask(&fixture, &sql, 1).map_or_else(|e| e, |_| "ACCEPTED".to_owned());
        refusals += &format!("{shown}\n-> {refused}\n\n");
    }
    insta::assert_snapshot!(refusals);
    assert_eq!(charges(&fixture).0, 0);
}

/// Rows of two populations: both accounts are charged at once, or none, and both have the release.
#[test]
fn both_populations_of_a_query_pay() {
    let contract = CONTRACT.to_owned()
        + concat!(
            r#"
[tables.jobs]
path = "jobs.csv"
unit = { of = "person", column = "person" }
columns = { person = { type = "int" }, firm = { type = "int" }, "#,
            r#"kind = { type = "string", public_keys = ["x", "y"] } }
"#,
        );
    let contract = contract.replace("ana = { epsilon = 0.1 }", "ana = { epsilon = 1.5 }");
    let jobs: String = (0..60).map(|i| format!("{i},{},{}\n", i % 4, ["x", "y"][i % 2])).collect();
    let jobs = format!("person,firm,kind\n{jobs}");
    let firms = format!("id\n{}", "1\n2\n3\n".repeat(3));
    let fixture = Fixture::new(&contract, &[("jobs.csv", &jobs), ("firms.csv", &firms)]);
    let sql = |kind: &str| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 2) \
             kind, COUNT(*) AS n FROM jobs JOIN firms ON id = firm WHERE kind <> '{kind}' \
             GROUP BY kind"
        )
    };
    let session = fixture.session();
    assert!(!SqlStatement::bind(&sql("z"), session.contract()).unwrap().is_plain());
    let quoted = session.explain(&sql("z"), None).wait().unwrap();
    let accounts: Vec<_> = quoted.accounts.iter().map(|a| (&*a.population, a.charge)).collect();
    let one = accounts[0].1;
    assert_eq!(accounts, [("firm", one), ("person", one)]);
    assert_eq!(charges(&fixture).0, 0);

    let first = ask(&fixture, &sql("z"), 1).unwrap();
    assert_eq!(
        (first.charges.accounts[0].population.as_str(), first.charged()),
        ("firm", Some(one))
    );
    assert_eq!(first.charges.accounts[1].population, "person");
    assert_eq!(first.charges.accounts[1].charged, Some(one));
    let spent = ["epsilon = 1", "epsilon = 1"].map(str::to_owned).to_vec();
    assert_eq!(charges(&fixture), (2, 2, spent.clone()));
    let again = ask(&fixture, &sql("z"), 2).unwrap();
    assert_eq!((again.charged(), again.charges.accounts[1].charged), (None, None));
    assert_eq!(shown(&again.table), shown(&first.table));
    // The firm's account cannot pay for another one, and the person's, which could, does not.
    let refused = ask(&fixture, &sql("w"), 3).unwrap_err();
    assert!(refused.contains("firm"), "{refused}");
    assert_eq!(charges(&fixture), (2, 2, spent));
}

/// Parts that differ in what they compute from a release have one, whose price is that of the
/// statement.
#[test]
fn parts_with_one_release_are_paid_for_once() {
    let fixture = fixture();
    let sql = "SELECT a.town, a.n, b.people, (SELECT SUM(n) FROM (SELECT town, COUNT(*) AS n \
               FROM people GROUP BY town HAVING n > 1)) AS all_people \
               FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town) a \
               JOIN (SELECT town, COUNT(*) AS people FROM people GROUP BY town ORDER BY people \
               LIMIT 9) b ON a.town = b.town";
    let quoted = fixture.session().explain(sql, None).wait().unwrap();
    let same: Vec<_> = quoted.parts.iter().map(|part| part.same_as.as_deref()).collect();
    assert_eq!(same.iter().flatten().count(), quoted.parts.len() - 1, "{same:?}");
    let [account] = quoted.accounts.as_slice() else { panic!("{:?}", quoted.accounts) };
    let priced = (account.total.to_string(), account.charge.to_string());
    assert_eq!(priced, ("epsilon = 1".to_owned(), "epsilon = 1".to_owned()));
    let answer = ask(&fixture, sql, 1).unwrap();
    assert_eq!(answer.charged().unwrap().to_string(), "epsilon = 1");
    assert_eq!(charges(&fixture), (1, 1, HALVES.map(str::to_owned).to_vec()));
    let whole = answer.statement;
    assert_eq!(whole.totals[0].total.to_string(), "epsilon = 1");
    // The numbers are those of the one release.
    let rows = shown(&answer.table);
    let mut sum = 0;
    for row in rows.lines() {
        let cells: Vec<&str> = row.split('|').collect();
        assert_eq!(cells[1], cells[2], "{rows}");
        sum += cells[1].parse::<i64>().unwrap();
    }
    assert!(rows.lines().all(|row| row.ends_with(&format!("|{sum}"))), "{rows}");
    let again = ask(&fixture, sql, 2).unwrap();
    assert_eq!((again.charged(), &again.statement), (None, &whole));
    // And those of the plain question at the whole price, with another heading.
    let plain = "SELECT town, COUNT(*) AS plain FROM people GROUP BY town ORDER BY plain DESC";
    assert_eq!(ask(&fixture, plain, 3).unwrap().charged(), None);
}

/// A value that a part reads is part of its question, whatever the order of the aggregates that
/// it is computed from; and parts that read the same value in other words are one.
#[test]
fn what_parts_read_tells_them_apart() {
    let fixture = fixture();
    let older = |value: &str, having: &str| {
        format!(
            "SELECT COUNT(*) FROM people WHERE age > (SELECT {value} FROM people HAVING {having})"
        )
    };
    let first = older("SUM(age) / 1000", "COUNT(*) > 0");
    let second = older("COUNT(*) / 1000", "SUM(age) > 0");
    assert_eq!(ask(&fixture, &first, 1).unwrap().charged().unwrap().to_string(), "epsilon = 1");
    let answer = ask(&fixture, &second, 2).unwrap();
    // The sums and counts that are read are on record.
    assert_eq!(answer.charged().unwrap().to_string(), "epsilon = 0.5");
    let fixture = self::fixture();
    let twice = "SELECT x.n, y.m FROM \
                 (SELECT COUNT(*) AS n FROM people \
                 WHERE age > (SELECT AVG(age) AS a FROM people)) x CROSS JOIN \
                 (SELECT COUNT(*) AS m FROM people \
                 WHERE age > (SELECT AVG(age) AS b FROM people)) y";
    let answer = ask(&fixture, twice, 3).unwrap();
    let spent = answer.charged().unwrap().to_string();
    assert!(spent.starts_with("epsilon = 0.6") || spent == "epsilon = 1", "{spent}");
}

/// The measurements for one question answer others that ask for less: they have its release, with
/// its noise, its intervals and its statement, at no cost.
#[test]
fn fewer_aggregates_than_are_on_record_are_free() {
    let fixture = fixture();
    let all = "SELECT town, COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a FROM people \
               WHERE age > 3 GROUP BY town";
    let first = ask(&fixture, all, 1).unwrap();
    assert_eq!(first.charged().unwrap().to_string(), "epsilon = 1");
    let of = |answer: &Answer, column: &str| {
        let column = answer.table.column_by_name(column).unwrap().clone();
        shown(&RecordBatch::try_from_iter([("x", column)]).unwrap())
    };
    let mut seed = 1;
    for (sql, column, of_all) in [
        ("SELECT town, COUNT(*) AS people FROM people WHERE age > 3 GROUP BY town", "people", "n"),
        ("SELECT SUM(age) AS s FROM people WHERE age > 3 GROUP BY town", "s", "s"),
        (
            "SELECT AVG(age) AS mean, town FROM people WHERE age > 3 GROUP BY town \
             HAVING COUNT(*) > -1000 ORDER BY town LIMIT 9",
            "mean",
            "a",
        ),
    ] {
        seed += 1;
        let quoted = fixture.session().explain(sql, None).wait().unwrap();
        assert!(quoted.is_free(), "{sql}");
        let fewer = ask(&fixture, sql, seed).unwrap();
        assert_eq!(fewer.charged(), None, "{sql}");
        assert_eq!(of(&fewer, column), of(&first, of_all), "{sql}");
        let (release, whole) =
            (fewer.statement.last_release().unwrap(), first.statement.last_release().unwrap());
        assert_eq!(release.question, whole.question);
        assert_eq!(release.explanation.total, whole.explanation.total);
        let ends = |answer: &Answer, column: &str| {
            let ends = ends(answer).into_iter().find(|text| text.starts_with(column));
            ends.unwrap().split_once(": ").unwrap().1.to_owned()
        };
        assert_eq!(ends(&fewer, column), ends(&first, of_all), "{sql}");
    }
    assert_eq!(charges(&fixture).0, 1);
    // A part of another statement, and SQL around it.
    let around = "SELECT town, n / SUM(n) OVER () AS share FROM (SELECT WITH \
                  DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) town, COUNT(*) AS n FROM people \
                  WHERE age > 3 GROUP BY town)";
    assert_eq!(ask(&fixture, around, 7).unwrap().charged(), None);
    assert_eq!(charges(&fixture).0, 1);
    // More, other rows and another budget are other questions, of which this account can pay one.
    for sql in [
        all.replace("AVG(age) AS a", "AVG(age) AS a, MEDIAN(age) AS m"),
        "SELECT town, COUNT(*) AS n FROM people WHERE age > 4 GROUP BY town".to_owned(),
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) town, COUNT(*) AS n FROM people \
         WHERE age > 3 GROUP BY town"
            .to_owned(),
    ] {
        let quoted = fixture.session().explain(&sql, None).wait().unwrap();
        assert!(!quoted.is_free(), "{sql}");
    }
    // About other data it is another question, too.
    let people = std::fs::read_to_string(fixture.path().join("people.csv")).unwrap();
    std::fs::write(fixture.path().join("people.csv"), people + "1000,A,50\n").unwrap();
    let sql = "SELECT town, COUNT(*) AS n FROM people WHERE age > 3 GROUP BY town";
    assert!(!fixture.session().explain(sql, None).wait().unwrap().is_free());
}

/// Parts in epsilon and in rho have no total: nothing is charged for them, whether they are asked
/// at once or after their quote.
#[test]
fn parts_in_two_currencies_are_refused_before_the_charge() {
    let fixture = fixture();
    let part = |budget: &str| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({budget}) COUNT(DISTINCT id) AS n \
             FROM people"
        )
    };
    let both = format!("{} UNION ALL {}", part("epsilon = 0.1"), part("rho = 0.1"));
    let refused = ask(&fixture, &both, 1).unwrap_err();
    insta::assert_snapshot!(refused);
    for purpose in [Purpose::Quote, Purpose::Answer] {
        let (session, progress) = (fixture.session(), Progress::default());
        let planned = session.plan(&both, None, purpose, &progress).wait();
        assert_eq!(planned.err().unwrap().to_string(), refused);
    }
    assert_eq!(charges(&fixture).0, 0);
}

/// Parts that ask the same and less than a release on record are answered by it, in whatever order,
/// beside the part that it was made for.
#[test]
fn parts_of_one_wider_release_are_free_together() {
    let fixture = fixture();
    let wide = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) town, COUNT(*) AS n, \
                SUM(age) AS s, AVG(age) AS a FROM people GROUP BY town";
    let first = ask(&fixture, wide, 1).unwrap();
    // The same aggregates in another order.
    let other = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) AVG(age) AS a, \
                 SUM(age) AS s, COUNT(*) AS n, town FROM people GROUP BY town";
    assert_eq!(ask(&fixture, other, 2).unwrap().charged(), None);
    let three = "SELECT a.town, a.n, b.m, c.k FROM \
                 (SELECT town, COUNT(*) AS n, SUM(age) AS s, AVG(age) AS v FROM people \
                 GROUP BY town) a \
                 JOIN (SELECT town, COUNT(*) AS m FROM people GROUP BY town) b ON a.town = b.town \
                 JOIN (SELECT town, COUNT(*) AS k FROM people GROUP BY town) c ON c.town = a.town";
    let answer = ask(&fixture, three, 3).unwrap();
    assert_eq!(answer.charged(), None);
    let of =
        |answer: &Answer, at: usize| answer.table.column(at).as_primitive::<Int64Type>().clone();
    for column in 1..4 {
        assert_eq!(of(&answer, column), of(&first, 1));
    }
    assert_eq!(charges(&fixture).0, 1);
}

/// A question that another program answers is waited for as long as somebody wants it: nothing was
/// charged for it here.
#[test]
fn waiting_for_another_program_can_be_given_up() {
    let fixture = fixture();
    let sql = "SELECT COUNT(*) AS n FROM people";
    let session = fixture.session();
    let other = plan(&session, sql);
    let mut ledger = session.ledger().unwrap();
    let paid = other.pay(&mut *ledger).unwrap().remove(0).unwrap();
    let PaymentOutcome::Charged(payment) = paid.first else { panic!("{paid:?}") };
    let begun = begin(&session, &other.parts[0].data, &mut *ledger, (&payment, &[])).unwrap();
    let progress = Progress::default();
    let waiting = progress.clone();
    let session = Arc::unwrap_or_clone(session).telling(move |notice| {
        if matches!(notice, Notice::UnderWay { .. }) {
            waiting.give_up();
        }
    });
    let mut generator = TestSeed(1).generator();
    let asked = Arc::new(session).query_with(sql, None, &progress, &mut generator).wait();
    assert!(matches!(asked.err(), Some(EngineError::Interrupted)));
    assert_eq!(charges(&fixture).0, 1);
    drop(begun);
    assert_eq!(ask(&fixture, sql, 2).unwrap().charged(), None);
}
