//! Stopped after each step, a workload goes on and is not charged again.

use std::path::Path;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use hushtable_contract::IntervalRequest;
use hushtable_ledger::{ChargeState, MOST_ATTEMPTS, Outcome, PaymentOutcome};
use hushtable_noise::TestSeed;
use hushtable_plan::Workload;

use super::super::paying::begin;
use super::super::*;
use crate::answer_table::AnswerTable;
use crate::ask::{Purpose, open_workload};
use crate::record::{ReleaseStatement, decode};
use crate::statement::Statement;
use crate::tests::{Fixture, Wait, json, shown};

const CONTRACT: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
[tables.firms.columns]
county = { type = "string", public_keys = ["A", "B"] }
town = { type = "string" }
pay = { type = "int", split = 100 }
jobs = { type = "int", bounds = [0, 9] }
[tables.firms.budgets]
ana = { rho = 3, delta = 1e-6 }
"#;

const WORKLOAD: &str = r#"
rho = 2
delta = 1e-6
[levels]
place = ["county", "town"]
[[queries]]
name = "pay_{place}"
sql = "SELECT {place}, SUM(pay) AS pay, COUNT(*) AS n FROM firms GROUP BY {place}"
[[queries]]
name = "jobs"
sql = "SELECT SUM(jobs) AS jobs FROM firms"
"#;

fn fixture() -> Fixture {
    let mut csv = "county,town,pay,jobs\n".to_owned();
    for row in 0..60 {
        csv += &format!(
            "{},{},{},{}\n",
            ["A", "B"][row % 2],
            ["x", "y", "z"][row % 3],
            row * 3,
            row % 10
        );
    }
    Fixture::new(CONTRACT, &[("firms.csv", &csv), ("workload.toml", WORKLOAD)])
}

fn plan(fixture: &Fixture) -> StatementPlan {
    planned(fixture).unwrap()
}

fn planned(fixture: &Fixture) -> Result<StatementPlan, EngineError> {
    let (session, progress) = (fixture.session(), Progress::default());
    session.plan_workload(&workload(fixture), None, Purpose::Quote, &progress).wait()
}

fn workload(fixture: &Fixture) -> Workload {
    open_workload(&fixture.path().join("workload.toml")).unwrap()
}

/// Outcome of a run: its statement, and the tables that it gave by name.
type Run = (Result<Statement, String>, Vec<(String, String)>);

/// Runs the workload with a generator of that seed; it ends with an error when it has given that
/// many answers, before any file of the last is written.
fn run(fixture: &Fixture, seed: u64, most: usize) -> Run {
    let plan = plan(fixture);
    let mut tables = Vec::new();
    let mut generator = TestSeed(seed).generator();
    let answer = plan
        .release_with(
            &mut generator,
            |_| {},
            |output| {
                if tables.len() == most {
                    return Err(EngineError::Interrupted);
                }
                tables.push((output.name.clone().unwrap(), shown(&output.table)));
                Ok(output.name.clone())
            },
        )
        .wait();
    let text =
        |error: EngineError| error.to_string().replace(fixture.path().to_str().unwrap(), "F");
    (answer.map(|(statement, _)| statement).map_err(text), tables)
}

/// The charges, and how many of them have a release.
fn charges(fixture: &Fixture) -> (usize, usize, String) {
    let ledger = fixture.session().ledger_as_it_is().unwrap().unwrap();
    let charges = ledger.charges().unwrap();
    let limit = fixture.session().contract().populations["firms"].budgets["ana"];
    let spent = ledger.account("ana", "firms", limit).unwrap().spent;
    (
        charges.len(),
        charges.iter().filter(|c| c.state == ChargeState::Recorded).count(),
        spent.to_string(),
    )
}

/// Everything up to the moment at which the data of the first query without an answer are read.
fn stopped_before_reading(fixture: &Fixture, parts: usize) {
    let (session, plan) = (fixture.session(), plan(fixture));
    let mut ledger = session.ledger().unwrap();
    let paid = plan.pay(&mut *ledger).unwrap();
    let unanswered = paid.iter().flatten().filter_map(|paid| match &paid.first {
        PaymentOutcome::Charged(payment) => Some(payment),
        PaymentOutcome::Stored(_) => None,
    });
    for payment in unanswered.take(parts) {
        let part = &plan.parts[0];
        let outcome = begin(&session, &part.data, &mut *ledger, (payment, &[])).unwrap();
        assert!(matches!(outcome, Outcome::Charged(_)));
    }
}

const LEVELS: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
[tables.firms.columns]
county = { type = "string", public_keys = ["A", "B"] }
town = { type = "string", public_keys = ["x", "y", "z"] }
jobs = { type = "int", bounds = [0, 9] }
[tables.firms.budgets]
ana = { epsilon = 1 }
"#;

const FITTING: &str = r#"
epsilon = 1
consistent = true
[[queries]]
name = "all"
sql = "SELECT COUNT(*) AS n, SUM(jobs) AS jobs FROM firms"
[[queries]]
name = "counties"
sql = "SELECT county, COUNT(*) AS n, SUM(jobs) AS jobs FROM firms GROUP BY county ORDER BY jobs"
[[queries]]
name = "towns"
sql = "SELECT county, town, COUNT(*) AS n, SUM(jobs) AS jobs FROM firms GROUP BY county, town"
"#;

/// The first `most` answers to the workload.
fn answers(fixture: &Fixture, seed: u64, most: usize) -> (Vec<AnswerTable>, Option<Statement>) {
    let plan = plan(fixture);
    let mut all = Vec::new();
    let collect = |answer: &AnswerTable| {
        if all.len() == most {
            return Err(EngineError::Interrupted);
        }
        all.push(answer.clone());
        Ok(answer.name.clone())
    };
    let whole = plan.release_with(&mut TestSeed(seed).generator(), |_| {}, collect).wait();
    (all, whole.ok().map(|(statement, _)| statement))
}

/// The numbers of each row: `n` and `jobs`.
fn numbers(answer: &AnswerTable) -> Vec<[i64; 2]> {
    let column = |name| answer.table.column_by_name(name).unwrap().as_primitive::<Int64Type>();
    let (n, jobs) = (column("n"), column("jobs"));
    (0..answer.table.num_rows()).map(|row| [n.value(row), jobs.value(row)]).collect()
}

fn sum(rows: &[[i64; 2]]) -> [i64; 2] {
    [0, 1].map(|at| rows.iter().map(|row| row[at]).sum())
}

#[test]
fn tables_fit_each_other_and_are_on_record_as_they_were_released() {
    let mut csv = "county,town,jobs\n".to_owned();
    for row in 0..900 {
        // A third is of a county that is not listed.
        csv += &format!(
            "{},{},{}\n",
            ["A", "B", "C"][row % 3],
            ["x", "y", "z"][row / 3 % 3],
            row % 10
        );
    }
    let fixture = Fixture::new(LEVELS, &[("firms.csv", &csv), ("workload.toml", FITTING)]);
    let quoted = plan(&fixture);
    let quoted = quoted.quoted().unwrap();
    assert_eq!(quoted.consistent.len(), 6);
    for level in &quoted.consistent {
        assert!(level.adjusted.unwrap() < level.released, "{level:?}");
    }
    // Stopped before the second table is written, when all are on record.
    let (first, stated) = answers(&fixture, 1, 1);
    assert!((first.len(), stated.is_none()) == (1, true));
    let (all, stated) = answers(&fixture, 2, 9);
    assert_eq!(stated.unwrap().consistent.as_deref(), Some("true"));
    assert!(all.iter().all(|answer| answer.on_record));
    assert_eq!(shown(&first[0].table), shown(&all[0].table));
    let [total, counties, towns] = [0, 1, 2].map(|n| numbers(&all[n]));
    assert_eq!((total.len(), counties.len(), towns.len()), (1, 2, 6));
    assert_eq!(sum(&counties), total[0]);
    assert_eq!(sum(&towns), total[0]);
    for county in &counties {
        assert!(sum(&towns[..3]) == *county || sum(&towns[3..]) == *county);
    }
    // ORDER BY looks at the adjusted numbers.
    assert!(counties[0][1] <= counties[1][1]);
    // Only rows of listed counties are in the total.
    assert!((500..700).contains(&total[0][0]), "{total:?}");
    for answer in &all {
        let ends = answer.intervals(IntervalRequest::USUAL).unwrap();
        let both = ends.beside(&answer.table).unwrap();
        let first_output = AnswerTable { table: both, ..answer.clone() };
        let column = |name: &str| {
            first_output.table.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone()
        };
        let (low, high) = (column("n_low"), column("n_high"));
        for (row, [n, _]) in numbers(&first_output).into_iter().enumerate() {
            assert!(
                low.value(row) <= n && n <= high.value(row) && low.value(row) < high.value(row)
            );
        }
    }
    // Released tables do not add up before they are adjusted.
    let plan = plan(&fixture);
    let ledger = fixture.session().ledger_as_it_is().unwrap().unwrap();
    let raw = |part: usize| {
        let stored = ledger.stored("ana", "firms", &plan.parts[part].identity).unwrap().unwrap();
        let recorded = decode(&stored.release).unwrap();
        let (released, _) = recorded.answering(&plan.parts[part].question).unwrap();
        numbers(&AnswerTable { table: released.table, ..all[part].clone() })
    };
    assert_ne!(sum(&raw(2)), raw(0)[0]);
}

const ALL: &str = "rho = 2, delta = 1e-6";

#[test]
fn stopped_after_each_step_it_goes_on() {
    let fixture = fixture();
    // Charged, and not begun; begun, and nothing drawn.
    for parts in [0, 1] {
        stopped_before_reading(&fixture, parts);
        assert_eq!(charges(&fixture), (3, 0, ALL.to_owned()));
    }
    // The first is on record, and was not shown.
    let (error, tables) = run(&fixture, 1, 0);
    assert!(error.is_err() && tables.is_empty());
    assert_eq!(charges(&fixture), (3, 1, ALL.to_owned()));
    // The first is shown, the second is on record.
    let (_, first) = run(&fixture, 2, 1);
    assert_eq!(charges(&fixture), (3, 2, ALL.to_owned()));
    stopped_before_reading(&fixture, 1);
    let (statement, all) = run(&fixture, 3, 3);
    assert_eq!(charges(&fixture), (3, 3, ALL.to_owned()));
    assert_eq!(all[..1], first);
    // It is read as it is written.
    let text = json(statement.as_ref().unwrap()).to_string();
    assert!(serde_json::from_str::<Statement>(&text).is_ok(), "{text}");
    // The record is shown from then on, whatever the generator.
    let (again, same) = run(&fixture, 4, 3);
    assert_eq!((again.unwrap(), same), (statement.unwrap(), all));
    assert_eq!(charges(&fixture), (3, 3, ALL.to_owned()));
}

#[test]
fn there_is_an_end_to_attempts() {
    let fixture = fixture();
    (0..MOST_ATTEMPTS).for_each(|_| stopped_before_reading(&fixture, 1));
    assert_eq!(charges(&fixture), (3, 0, ALL.to_owned()));
    // The part that was read so often is charged anew, and the others are not.
    let (statement, tables) = run(&fixture, 1, 3);
    assert!(statement.is_ok() && tables.len() == 3);
    let more = "rho = 2.666666666667, delta = 1e-6".to_owned();
    assert_eq!(charges(&fixture), (4, 3, more));
}

#[test]
fn a_part_is_the_query_at_its_share() {
    let fixture = fixture();
    let (statement, tables) = run(&fixture, 1, 3);
    // A third of rho and no delta, as it chooses no groups.
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.666666666666) \
               SUM(jobs) AS jobs FROM firms";
    let session = fixture.session();
    let mut generator = TestSeed(9).generator();
    let single =
        session.query_with(sql, None, &crate::Progress::default(), &mut generator).wait().unwrap();
    assert_eq!(single.0.charged(), None);
    assert_eq!(shown(&single.0.table), tables[2].1);
    let part = &statement.unwrap().parts[2].release;
    let release = single.0.statement.last_release().unwrap().clone();
    assert_eq!(ReleaseStatement { sql: part.sql.clone(), ..release }, *part);
}

#[test]
fn what_changes_while_it_is_at_work_is_not_mixed_in() {
    let fixture = fixture();
    let plan = plan(&fixture);
    let data = fixture.path().join("firms.csv");
    let mut generator = TestSeed(1).generator();
    let mut answers = 0;
    let error = plan
        .release_with(
            &mut generator,
            |_| {},
            |_| -> Result<Option<String>, EngineError> {
                answers += 1;
                std::fs::write(Path::new(&data), "county,town,pay,jobs\nA,x,1,1\n").unwrap();
                Ok(None)
            },
        )
        .wait();
    let error = error.unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(fixture.path().to_str().unwrap(), "F"));
    assert_eq!(answers, 1);
    assert_eq!(charges(&fixture), (3, 1, ALL.to_owned()));
    // On other data it is another workload, for which there is not enough.
    let plan = self::plan(&fixture);
    let refused = plan
        .release_with(
            &mut generator,
            |_| {},
            |_| -> Result<Option<String>, EngineError> { Ok(None) },
        )
        .wait();
    assert!(refused.unwrap_err().to_string().contains("these 3 queries together"));
    assert_eq!(charges(&fixture), (3, 1, ALL.to_owned()));
}

#[test]
fn what_cannot_be_read_is_found_before_anything_is_charged() {
    let fixture = fixture();
    std::fs::write(fixture.path().join("firms.csv"), "county,town,jobs\n").unwrap();
    let session = fixture.session();
    let Err(error) = planned(&fixture) else { panic!("planned") };
    insta::assert_snapshot!(error.to_string().replace(fixture.path().to_str().unwrap(), "F"));
    assert!(!session.ledger_path().exists());
}

/// Refuses a workload that cannot be paid before mechanisms are made, and none that was paid for.
#[test]
fn what_the_budget_cannot_pay_is_refused_before_mechanisms_are_made() {
    let fixture = fixture();
    let session = fixture.session();
    let refused = |rho: &str| {
        let mut asked = workload(&fixture);
        asked.loss = Loss::Concentrated { rho: rho.parse().unwrap(), delta: asked.loss.delta() };
        let progress = Progress::default();
        let planned = session.plan_workload(&asked, None, Purpose::Answer, &progress).wait();
        planned.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(refused("2"), Ok(()));
    insta::assert_snapshot!(refused("5000").unwrap_err());
    let (statement, _) = run(&fixture, 1, 3);
    statement.unwrap();
    assert_eq!(refused("2"), Ok(()));
}

/// A workload has several answers, so that asking for its one answer costs nothing.
#[test]
fn a_workload_has_no_single_answer() {
    let fixture = fixture();
    let refused = plan(&fixture).answer().wait().unwrap_err();
    assert!(refused.to_string().contains("nothing was charged"), "{refused}");
    assert!(!fixture.session().ledger_path().exists());
}

/// Queries whose answers are in one release on record are free, alone and beside new ones, and the
/// workload goes on as any other.
#[test]
fn queries_with_one_release_on_record_are_answered() {
    const WIDE: &str = "SELECT county, COUNT(*) AS n, SUM(jobs) AS jobs FROM firms GROUP BY county";
    const COUNTS: &str = "SELECT county, COUNT(*) AS n FROM firms GROUP BY county";
    const JOBS: &str = "SELECT county, SUM(jobs) AS jobs FROM firms GROUP BY county";
    const NEW: &str = "SELECT SUM(jobs) AS jobs FROM firms";
    let contract = LEVELS.replace("{ epsilon = 1 }", "{ epsilon = 3 }");
    for (queries, epsilon, charged) in [
        (&[COUNTS, JOBS][..], 2, None),
        (&[WIDE, JOBS], 2, None),
        (&[COUNTS, NEW, JOBS], 3, Some("epsilon = 1")),
    ] {
        let mut text = format!("epsilon = {epsilon}\n");
        for (number, sql) in queries.iter().enumerate() {
            text += &format!("[[queries]]\nname = \"q{number}\"\nsql = \"{sql}\"\n");
        }
        let csv = "county,town,jobs\nA,x,3\nB,y,4\n".to_owned() + &"A,z,5\n".repeat(50);
        let fixture = Fixture::new(&contract, &[("firms.csv", &csv), ("workload.toml", &text)]);
        let session = fixture.session();
        let options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)";
        let sql = WIDE.replacen("SELECT", options, 1);
        let (mut generator, progress) = (TestSeed(1).generator(), Progress::default());
        let wide = session.query_with(&sql, None, &progress, &mut generator).wait();
        let wide = shown(&wide.unwrap().0.table);
        let mut statements = Vec::new();
        for seed in [2, 3] {
            let mut sum = None;
            let mut tables = Vec::new();
            let mut generator = TestSeed(seed).generator();
            let answer = plan(&fixture).release_with(
                &mut generator,
                |charges| sum = charges.accounts[0].charged,
                |output| {
                    tables.push(shown(&output.table));
                    Ok::<_, EngineError>(output.name.clone())
                },
            );
            statements.push(answer.wait().unwrap().0);
            let expected = if seed == 2 { charged } else { None };
            assert_eq!(sum.map(|sum| sum.to_string()).as_deref(), expected);
            assert_eq!(tables.len(), queries.len());
            // The numbers are those of the one release.
            for (sql, table) in queries.iter().zip(&tables).filter(|(sql, _)| **sql != NEW) {
                let column = if *sql == COUNTS { 1 } else { 2 };
                let of = |row: &str| row.split('|').map(str::to_owned).collect::<Vec<_>>();
                for (row, all) in table.lines().zip(wide.lines()) {
                    let (row, all) = (of(row), of(all));
                    assert_eq!((&row[0], row.last()), (&all[0], all.get(column)), "{sql}");
                }
            }
        }
        assert_eq!(statements[0], statements[1]);
    }
}

/// Each query is paid for by its own population, for whose queries the whole budget is.
#[test]
fn populations_of_a_workload_pay_for_their_own_queries() {
    let people = r#"
[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }
columns = { id = { type = "int" } }
[units.person]
budgets.ana = { epsilon = 1 }
defaults = { max_groups_contributed = 1, max_rows_per_group = 1 }
"#;
    let workload = r#"
epsilon = 1
[[queries]]
name = "jobs"
sql = "SELECT SUM(jobs) AS s FROM firms"
[[queries]]
name = "firms"
sql = "SELECT COUNT(*) AS n FROM firms"
[[queries]]
name = "people"
sql = "SELECT COUNT(*) AS n FROM people"
weight = 2
"#;
    let files = [
        ("firms.csv", "county,town,jobs\nA,x,3\nB,y,4\n"),
        ("people.csv", "id\n1\n2\n"),
        ("workload.toml", workload),
    ];
    let fixture = Fixture::new(&format!("{LEVELS}{people}"), &files);
    let quoted = plan(&fixture).quoted().unwrap();
    assert!(quoted.together.is_none());
    let price = |population: &str| (population.to_owned(), "epsilon = 1".to_owned());
    let expected = [price("firms"), price("person")];
    let accounts = quoted.accounts.iter();
    let totals = accounts.map(|a| (a.population.clone(), a.total.to_string()));
    assert_eq!(totals.collect::<Vec<_>>(), expected);
    let (statement, tables) = run(&fixture, 1, 3);
    let totals = statement.unwrap().totals;
    let totals = totals.iter().map(|t| (t.population.clone(), t.total.to_string()));
    assert_eq!(totals.collect::<Vec<_>>(), expected);
    assert_eq!(tables.len(), 3);
}
