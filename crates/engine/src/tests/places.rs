//! Where a budget is: with the contract itself, and with the one table that reads a file.

use std::fs;
use std::sync::Arc;

use super::{Fixture, Wait};
use crate::ask::Purpose;
use crate::progress::Progress;
use crate::session::Session;

const CONTRACT: &str = r#"
[tables.visits]
path = "visits.csv"
privacy_unit = "row"
[tables.visits.columns]
days = { type = "int", bounds = [0, 10] }
[tables.visits.budgets]
ana = { epsilon = 1 }

[tables.stays]
path = "OTHER"
privacy_unit = "row"
[tables.stays.columns]
days = { type = "int", bounds = [0, 10] }
[tables.stays.budgets]
ana = { epsilon = 1 }
"#;

const DATA: &str = "days\n1\n2\n";

const SQL: &str =
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) SUM(days) AS n FROM visits";

fn fixture(other: &str) -> Fixture {
    Fixture::new(&CONTRACT.replace("OTHER", other), &[("visits.csv", DATA), ("stays.csv", DATA)])
}

/// An analyst who may not change the contract links to it, and finds the same ledger.
#[cfg(unix)]
#[test]
fn a_link_to_the_contract_finds_the_same_budget() {
    use std::os::unix::fs::symlink;
    let fixture = fixture("stays.csv");
    let answer = fixture.ask(SQL, 1).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (link, second) = (elsewhere.path().join("hushtable.toml"), elsewhere.path().join("b.toml"));
    symlink(fixture.contract(), &link).unwrap();
    symlink("hushtable.toml", &second).unwrap();
    for contract in [&link, &second] {
        let session = Arc::new(Session::open(contract).unwrap());
        let again = session.query(SQL, None, &Progress::default()).wait().unwrap();
        assert_eq!((again.charged(), again.table), (None, answer.table.clone()));
        let other = SQL.replace("visits", "visits WHERE days > 0");
        let refused =
            session.query(&other, None, &Progress::default()).wait().unwrap_err().to_string();
        assert!(refused.contains("1 of 1 is spent"), "{refused}");
    }
    // Nothing was made beside the links.
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 2);
    // A folder that is a link has the ledger of the folder that it leads to.
    let folder = elsewhere.path().join("folder");
    symlink(fixture.path(), &folder).unwrap();
    let line = &Session::open(&folder.join("hushtable.toml")).unwrap().budget(None).unwrap()[1];
    assert_eq!((line.table.as_str(), line.charges.len()), ("visits", 1));
}

#[test]
fn two_tables_of_one_file_are_refused() {
    let check = |fixture: &Fixture| match fixture.session().explain(SQL, None).wait() {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string().replace(fixture.path().to_str().unwrap(), "FOLDER"),
    };
    insta::assert_snapshot!(check(&fixture("visits.csv")));
    for other in ["./visits.csv", "*.csv", "v*", ".", "**/visits.csv"] {
        let fixture = fixture(other);
        assert!(check(&fixture).contains("both read `FOLDER/"), "{other}: {}", check(&fixture));
        let refused = fixture.ask(SQL, 1).unwrap_err().to_string();
        assert!(refused.contains("do not hold the same units"), "{refused}");
        assert!(!fixture.session().ledger_path().exists());
        // Whichever of the two is asked.
        let other = SQL.replace("visits", "stays");
        assert!(fixture.session().explain(&other, None).wait().is_err());
    }
    // Files of their own, or none.
    for other in ["stays.csv", "s*", "nothing.csv"] {
        assert_eq!(check(&fixture(other)), "accepted", "{other}");
    }
    #[cfg(unix)]
    for hard in [false, true] {
        let fixture = fixture("linked.csv");
        let (file, link) = (fixture.path().join("visits.csv"), fixture.path().join("linked.csv"));
        match hard {
            true => fs::hard_link(file, link).unwrap(),
            false => std::os::unix::fs::symlink(file, link).unwrap(),
        }
        assert!(check(&fixture).contains("both read `FOLDER/"), "hard: {hard}");
    }
}

#[test]
fn a_workload_asks_no_table_that_shares_its_file() {
    let workload = "epsilon = 1\n[[queries]]\nname = \"n\"\n\
                    sql = \"SELECT SUM(days) AS n FROM visits\"\n";
    let contract = CONTRACT.replace("OTHER", "visits.csv");
    let fixture = Fixture::new(&contract, &[("visits.csv", DATA), ("w.toml", workload)]);
    let workload = crate::ask::open_workload(&fixture.path().join("w.toml")).unwrap();
    let session = fixture.session();
    let progress = Progress::default();
    let plan = session.plan_workload(&workload, None, Purpose::Quote, &progress);
    let Err(error) = plan.wait() else { panic!("planned") };
    assert!(error.to_string().contains("both read"), "{error}");
}
