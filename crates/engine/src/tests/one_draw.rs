//! One charge, one draw: whatever stops a program, and wherever.
//!
//! Each way in is stopped at each point of the protocol, by an error and by the end of the process,
//! and asked again.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use hushtable_ledger::{ChargeRecord, ChargeState, Location};
use hushtable_noise::TestSeed;
use hushtable_plan::{LearntColumns, SqlStatement};
use hushtable_privacy::Loss;

use super::{Fixture, Wait};
use crate::ask::{Purpose, open_workload};
use crate::error::EngineError;
use crate::progress::Progress;
use crate::session::Session;
use crate::stopping::{Fault, StoppingPoint, inject};

const CONTRACT: &str = r#"
[tables.people]
path = "people.csv"
privacy_unit = "id"
[tables.people.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 1
max_rows_per_group = 1
[tables.people.columns]
id = { type = "int" }
town = { type = "string" }
age = { type = "int", bounds = [0, 100] }
height = { type = "int" }
weight = { type = "float" }
[tables.people.budgets]
ana = { epsilon = 100, delta = 1e-3 }
"#;

const WORKLOAD: &str = r#"
epsilon = 2
delta = 1e-6
[[queries]]
name = "all"
sql = "SELECT COUNT(*) AS n FROM people"
[[queries]]
name = "towns"
sql = "SELECT town, COUNT(*) AS n FROM people GROUP BY town"
"#;

fn fixture() -> Fixture {
    let mut people = "id,town,age,height,weight\n".to_owned();
    for person in 0..200 {
        let (town, age, height) = (["A", "B"][person % 2], person % 90, 100 + person % 90);
        people += &format!("{person},{town},{age},{height},{}.5\n", height - 90);
    }
    Fixture::new(CONTRACT, &[("people.csv", &people), ("workload.toml", WORKLOAD)])
}

/// Every way in, with the number of its private parts.
const WAYS: [(&str, usize); 6] = [
    ("SELECT town, COUNT(*) AS n FROM people GROUP BY town HAVING COUNT(*) >= 101", 1),
    ("SELECT town, COUNT(*) AS n FROM people GROUP BY ROLLUP (town)", 2),
    (
        "SELECT COUNT(*) AS n, SUM(COUNT(*)) OVER () AS s FROM people \
         WHERE age > (SELECT AVG(age) FROM people)",
        2,
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = AUTO) \
         town, COUNT(*) AS n FROM people GROUP BY town",
        2,
    ),
    ("workload.toml", 2),
    (LEARN, 2),
];

/// Bounds of two columns are learnt.
const LEARN: &str = "learn people";

fn ask(session: Arc<Session>, way: &str) -> Result<(), EngineError> {
    let mut generator = TestSeed(1).generator();
    if way == LEARN {
        let progress = Progress::default();
        let of = ("people", &LearntColumns::All);
        let loss = Some(Loss::pure("1".parse().unwrap()));
        let plan = session.plan_learning(of, loss, None, Purpose::Answer, &progress).wait()?;
        let released =
            plan.release_with(&mut generator, |_| {}, |_| Ok::<_, EngineError>(None)).wait();
        return released.map(drop);
    }
    if !way.ends_with(".toml") {
        let progress = Progress::default();
        let asked = session.query_with(way, None, &progress, &mut generator);
        return asked.wait().map(drop);
    }
    let workload = open_workload(&session.folder().join(way))?;
    let progress = Progress::default();
    let plan = session.plan_workload(&workload, None, Purpose::Answer, &progress).wait()?;
    let released = plan.release_with(
        &mut generator,
        |_| {},
        |output| Ok::<_, EngineError>(output.name.clone()),
    );
    released.wait().map(drop)
}

fn open(contract: &Path) -> Arc<Session> {
    Arc::new(Session::open(contract).unwrap())
}

fn charges(fixture: &Fixture) -> Vec<ChargeRecord> {
    let ledger = fixture.session().ledger_for_looking().unwrap();
    ledger.map_or(Vec::new(), |ledger| ledger.charges().unwrap())
}

fn states(charges: &[ChargeRecord]) -> [usize; 3] {
    [ChargeState::Charged, ChargeState::Drawn, ChargeState::Recorded]
        .map(|state| charges.iter().filter(|charge| charge.state == state).count())
}

const POINTS: [StoppingPoint; 5] = [
    StoppingPoint::Charged,
    StoppingPoint::Read,
    StoppingPoint::Drawn,
    StoppingPoint::Noisy,
    StoppingPoint::Recorded,
];

/// The ledger after part `part` was stopped at a point, and after the question was asked again.
fn assert_one_draw(fixture: &Fixture, way: &str, parts: usize, part: usize, point: StoppingPoint) {
    let stopped = charges(fixture);
    let expected = match point {
        StoppingPoint::Charged | StoppingPoint::Read => [parts - part, 0, part],
        StoppingPoint::Drawn | StoppingPoint::Noisy => [parts - part - 1, 1, part],
        StoppingPoint::Recorded => [parts - part - 1, 0, part + 1],
    };
    assert_eq!(states(&stopped), expected, "{way}, part {part} at {point:?}");
    ask(open(&fixture.contract()), way).unwrap();
    let lost = expected[1];
    let finished = charges(fixture);
    // Each draw that was lost is paid, and so is the one in its place.
    assert_eq!(states(&finished), [0, lost, parts], "{way}, part {part} at {point:?}");
    assert_eq!(finished.len(), stopped.len() + lost, "{way}, part {part} at {point:?}");
    ask(open(&fixture.contract()), way).unwrap();
    assert_eq!(charges(fixture), finished, "asked again, it is free");
}

#[test]
fn a_step_that_fails_never_draws_twice_for_a_charge() {
    for (way, parts) in WAYS {
        for point in POINTS {
            for part in 0..parts {
                let fixture = fixture();
                inject(point, part, Fault::Fails);
                ask(open(&fixture.contract()), way).unwrap_err();
                assert_one_draw(&fixture, way, parts, part, point);
            }
        }
    }
}

/// Whatever keeps a ledger's rows, a charge has one draw, and no file is made for it.
#[test]
fn a_ledger_of_another_kind_draws_once_too() {
    for (way, parts) in WAYS {
        for point in POINTS {
            let (fixture, location) = (fixture(), Location::in_memory());
            let session = || {
                let session = Session::open(&fixture.contract()).unwrap();
                Arc::new(session.with_ledger(location.clone()))
            };
            let charges = || {
                let ledger = session().ledger_for_looking().unwrap().unwrap();
                ledger.charges().unwrap()
            };
            inject(point, 0, Fault::Fails);
            ask(session(), way).unwrap_err();
            let lost = usize::from(matches!(point, StoppingPoint::Drawn | StoppingPoint::Noisy));
            assert_eq!(states(&charges())[1], lost, "{way} at {point:?}");
            ask(session(), way).unwrap();
            let finished = charges();
            assert_eq!(states(&finished), [0, lost, parts], "{way} at {point:?}");
            ask(session(), way).unwrap();
            assert_eq!(charges(), finished, "asked again, it is free");
            assert!(!fixture.session().ledger_path().exists());
        }
    }
}

/// An analyst who lets recording fail until they like the answer pays for each draw.
#[test]
fn draws_that_are_thrown_away_are_paid() {
    for (way, parts) in WAYS {
        let fixture = fixture();
        for draws in 1..=3 {
            // From the second time on, earlier parts are on record.
            inject(StoppingPoint::Noisy, if draws == 1 { parts - 1 } else { 0 }, Fault::Fails);
            ask(open(&fixture.contract()), way).unwrap_err();
            assert_eq!(states(&charges(&fixture)), [0, draws, parts - 1], "{way}");
        }
        ask(open(&fixture.contract()), way).unwrap();
        let charges = charges(&fixture);
        assert_eq!(states(&charges), [0, 3, parts], "{way}");
        let spent = |charges: &[ChargeRecord]| {
            charges.iter().map(|charge| charge.charged).reduce(|sum, next| sum.plus(next).unwrap())
        };
        let ledger = fixture.session().ledger().unwrap();
        let limit = fixture.session().contract().populations["people"].budgets["ana"];
        let account = ledger.account("ana", "people", limit).unwrap();
        assert_eq!(spent(&charges), Some(account.spent), "{way}");
    }
}

const CHILD: &str = "HUSHTABLE_ENGINE_TEST_STOPPED";

/// `kill -9` at every point of the protocol: the process ends there, with nothing tidied up.
#[test]
fn a_process_that_ends_never_draws_twice_for_a_charge() {
    if let Some(child) = std::env::var_os(CHILD) {
        let text = child.into_string().unwrap();
        let [contract, way, point, part] = text.split('\n').collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        let (way, _) = WAYS[way.parse::<usize>().unwrap()];
        let point = POINTS[point.parse::<usize>().unwrap()];
        inject(point, part.parse().unwrap(), Fault::Killed);
        panic!("not stopped: {:?}", ask(open(Path::new(contract)), way));
    }
    for (number, (way, parts)) in WAYS.into_iter().enumerate() {
        for (at, point) in POINTS.into_iter().enumerate() {
            for part in 0..parts {
                let fixture = fixture();
                let child = format!("{}\n{number}\n{at}\n{part}", fixture.contract().display());
                let test = "tests::one_draw::a_process_that_ends_never_draws_twice_for_a_charge";
                let output = Command::new("sh")
                    .args(["-c", r#"ulimit -c 0; exec "$0" "$@""#])
                    .arg(std::env::current_exe().unwrap())
                    .args(["--exact", test, "--nocapture"])
                    .env(CHILD, child)
                    .output()
                    .unwrap();
                assert_eq!(output.status.code(), None, "{output:?}");
                assert_one_draw(&fixture, way, parts, part, point);
            }
        }
    }
}

#[test]
fn the_ways_have_as_many_parts_as_they_say() {
    let session = open(&fixture().contract());
    for (way, parts) in WAYS.iter().filter(|(way, _)| way.starts_with("SELECT")) {
        let statement = SqlStatement::bind(way, session.contract()).unwrap();
        assert_eq!(statement.parts.len(), *parts, "{way}");
    }
}
