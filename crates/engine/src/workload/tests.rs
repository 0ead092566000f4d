//! Stopped after each step, a workload goes on and is not charged again.

use std::path::Path;

use hushtable_ledger::MOST_ATTEMPTS;
use hushtable_noise::TestSeed;

use super::*;
use crate::tests::{Place, Wait, json, shown};

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

fn place() -> Place {
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
    Place::new(CONTRACT, &[("firms.csv", &csv), ("workload.toml", WORKLOAD)])
}

fn workload(place: &Place) -> Workload {
    open_workload(&place.path().join("workload.toml")).unwrap()
}

/// Outcome of a run: its statement, and the tables that it gave by name.
type Run = (Result<WorkloadStatement, String>, Vec<(String, String)>);

/// Runs the workload with a generator of that seed; it ends with an error when it has given that
/// many answers, before any file of the last is written.
fn run(place: &Place, seed: u64, most: usize) -> Run {
    let (session, workload) = (place.session(), workload(place));
    let plan = session.plan_workload(&workload, None).wait().unwrap();
    let mut tables = Vec::new();
    let mut generator = TestSeed(seed).generator();
    let answer = plan
        .release_with(
            &mut generator,
            |_| {},
            |answer| {
                if tables.len() == most {
                    return Err(EngineError::Interrupted);
                }
                tables.push((answer.name.clone(), shown(&answer.table)));
                Ok(format!("{}.csv", answer.name))
            },
        )
        .wait();
    let told = |error: EngineError| error.to_string().replace(place.path().to_str().unwrap(), "F");
    (answer.map(|answer| answer.statement).map_err(told), tables)
}

/// The charges, and how many of them have a release.
fn charges(place: &Place) -> (usize, usize, String) {
    let ledger = Ledger::open_read_only(&place.session().ledger_path()).unwrap().unwrap();
    let charges = ledger.charges().unwrap();
    let limit = place.session().contract().populations["firms"].budgets["ana"];
    let spent = ledger.account("ana", "firms", limit).unwrap().spent;
    (charges.len(), charges.iter().filter(|c| c.released).count(), spent.to_string())
}

/// Everything up to the moment at which the data of the first query without an answer are read.
fn stopped_before_reading(place: &Place, parts: usize) {
    let (session, workload) = (place.session(), workload(place));
    let plan = session.plan_workload(&workload, None).wait().unwrap();
    let mut ledger = Ledger::open(&session.ledger_path()).unwrap();
    let paid = plan.pay(&mut ledger, |_| {}).unwrap();
    let unanswered = paid.iter().filter_map(|paid| match paid {
        Paid::Charged(payment) => Some(payment),
        Paid::Stored(_) => None,
    });
    for payment in unanswered.take(parts) {
        let part = &plan.parts[0];
        let query = part.asked.quote.query();
        let outcome = begin(&session, query, &part.files, &mut ledger, payment).unwrap();
        assert!(matches!(outcome, Outcome::Charged(_)));
    }
}

const ALL: &str = "rho = 2, delta = 1e-6";

#[test]
fn stopped_after_each_step_it_goes_on() {
    let place = place();
    // Charged, and not begun; begun, and nothing drawn.
    for parts in [0, 1] {
        stopped_before_reading(&place, parts);
        assert_eq!(charges(&place), (3, 0, ALL.to_owned()));
    }
    // The first is on record, and was not shown.
    let (error, tables) = run(&place, 1, 0);
    assert!(error.is_err() && tables.is_empty());
    assert_eq!(charges(&place), (3, 1, ALL.to_owned()));
    // The first is shown, the second is on record.
    let (_, first) = run(&place, 2, 1);
    assert_eq!(charges(&place), (3, 2, ALL.to_owned()));
    stopped_before_reading(&place, 1);
    let (statement, all) = run(&place, 3, 3);
    assert_eq!(charges(&place), (3, 3, ALL.to_owned()));
    assert_eq!(all[..1], first);
    // It is read as it is written.
    let text = json(statement.as_ref().unwrap()).to_string();
    assert!(serde_json::from_str::<WorkloadStatement>(&text).is_ok(), "{text}");
    // The record is shown from then on, whatever the generator.
    let (again, same) = run(&place, 4, 3);
    assert_eq!((again.unwrap(), same), (statement.unwrap(), all));
    assert_eq!(charges(&place), (3, 3, ALL.to_owned()));
}

#[test]
fn there_is_an_end_to_attempts() {
    let place = place();
    (0..MOST_ATTEMPTS).for_each(|_| stopped_before_reading(&place, 1));
    let (error, tables) = run(&place, 1, 3);
    insta::assert_snapshot!(error.unwrap_err());
    assert!(tables.is_empty());
    assert_eq!(charges(&place), (3, 0, ALL.to_owned()));
}

#[test]
fn a_part_is_the_query_at_its_share() {
    let place = place();
    let (statement, tables) = run(&place, 1, 3);
    // A third of rho and no delta, as it chooses no groups.
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.666666666666) \
               SUM(jobs) AS jobs FROM firms";
    let session = place.session();
    let mut generator = TestSeed(9).generator();
    let single =
        session.query_with(sql, None, &crate::Progress::default(), &mut generator).wait().unwrap();
    assert_eq!(single.0.charged, None);
    assert_eq!(shown(&single.0.table), tables[2].1);
    assert_eq!(single.0.statement, statement.unwrap().parts[2].statement);
}

#[test]
fn what_changes_while_it_is_at_work_is_not_mixed_in() {
    let place = place();
    let (session, workload) = (place.session(), workload(&place));
    let plan = session.plan_workload(&workload, None).wait().unwrap();
    let data = place.path().join("firms.csv");
    let mut generator = TestSeed(1).generator();
    let mut answers = 0;
    let error = plan
        .release_with(
            &mut generator,
            |_| {},
            |_| -> Result<String, EngineError> {
                answers += 1;
                std::fs::write(Path::new(&data), "county,town,pay,jobs\nA,x,1,1\n").unwrap();
                Ok(String::new())
            },
        )
        .wait();
    let error = error.unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(place.path().to_str().unwrap(), "F"));
    assert_eq!(answers, 1);
    assert_eq!(charges(&place), (3, 1, ALL.to_owned()));
    // On other data it is another workload, for which there is not enough.
    let plan = session.plan_workload(&workload, None).wait().unwrap();
    let refused = plan
        .release_with(
            &mut generator,
            |_| {},
            |_| -> Result<String, EngineError> { Ok(String::new()) },
        )
        .wait();
    assert!(refused.unwrap_err().to_string().contains("these 3 queries together"));
    assert_eq!(charges(&place), (3, 1, ALL.to_owned()));
}

#[test]
fn what_cannot_be_read_is_found_before_anything_is_charged() {
    let place = place();
    std::fs::write(place.path().join("firms.csv"), "county,town,jobs\n").unwrap();
    let (session, workload) = (place.session(), workload(&place));
    let Err(error) = session.plan_workload(&workload, None).wait() else { panic!("planned") };
    insta::assert_snapshot!(error.to_string().replace(place.path().to_str().unwrap(), "F"));
    assert!(!session.ledger_path().exists());
}

/// Refuses a workload that cannot be paid before mechanisms are made, and none that was paid for.
#[test]
fn what_the_budget_cannot_pay_is_refused_before_mechanisms_are_made() {
    let place = place();
    let session = place.session();
    let refused = |rho: &str| {
        let mut asked = workload(&place);
        asked.loss = Loss::Concentrated { rho: rho.parse().unwrap(), delta: asked.loss.delta() };
        session.check_workload_budget(&asked, None).map_err(|error| error.to_string())
    };
    assert_eq!(refused("2"), Ok(()));
    insta::assert_snapshot!(refused("5000").unwrap_err());
    let (statement, _) = run(&place, 1, 3);
    statement.unwrap();
    assert_eq!(refused("2"), Ok(()));
}
