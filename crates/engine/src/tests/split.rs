//! Sums that are not clamped.

use hushtable_noise::TestSeed;
use hushtable_privacy::gaussian_epsilon_at;

use super::Place;
use crate::audit::AuditOptions;
use crate::session::Progress;

const CONTRACT: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
[tables.firms.columns]
county = { type = "string", public_keys = ["A", "B"] }
town = { type = "string" }
pay = { type = "decimal(2)", split = 100 }
jobs = { type = "int", split = 5 }
load = { type = "float", split = 0.5, granularity = 0.25 }
fine = { type = "float", split = 0.001, granularity = 0.25 }
twice = { type = "int", split = 10, expression = "jobs * 2" }
[tables.firms.budgets]
ana = { rho = 1000000, delta = 0.999 }
"#;

const DATA: &str = "\
county,town,pay,jobs,load,fine
A,x,1000000.25,7,inf,1
A,x,-250.004,-3,0.3,1
B,y,12.5,,nan,1
B,y,x,1000000,-0.5,1
";

fn place() -> Place {
    Place::new(CONTRACT, &[("firms.csv", DATA)])
}

fn ask(options: &str, select: &str) -> String {
    place().rows(&format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select}"))
}

/// Noise of far less than a step.
const EXACT: &str = "rho = 200000, max_groups_contributed = 1";

#[test]
fn sums_are_whole_and_of_any_size() {
    let select = "county, ROUND(SUM(pay) / 10, 0) AS tens, SUM(jobs) AS jobs, AVG(jobs) AS mean, \
                  COUNT(*) AS n FROM firms GROUP BY county";
    let rows = ask(EXACT, select);
    // 1000000.25 - 250.00; a mean over the values that there are.
    assert_eq!(rows, "A|99975.0|4|2.0|2\nB|1.0|1000000|1000000.0|2\n");
    // A computed column with a threshold of its own, a condition on a column that is split.
    assert_eq!(ask(EXACT, "SUM(twice) AS t FROM firms WHERE pay > 0"), "14\n");
    // Clamped, where the query has bounds.
    let clamped = "SUM(jobs, contribution_bounds_per_group => (0, 10)) AS j FROM firms";
    assert_eq!(ask(EXACT, clamped), "17\n");
}

#[test]
fn infinity_is_as_large_as_can_be_and_nan_is_nothing() {
    let rows = ask(EXACT, "SUM(load) AS s FROM firms");
    // 2^62 steps of a quarter, to which 0.25 and -0.5 are nothing in a float.
    assert_eq!(rows.trim().parse::<f64>().unwrap(), 2f64.powi(60));
}

#[test]
fn the_noise_is_that_of_the_threshold() {
    // sigma = 5 / sqrt(2 * 0.5) = 5, whatever the largest value is.
    let place = place();
    let mut squares = 0.0;
    for seed in 0..300 {
        let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5) SUM(jobs) AS j FROM firms";
        let _ = std::fs::remove_file(place.session().ledger_path());
        let table = place.ask(sql, seed).unwrap().table;
        let sum: f64 = super::shown(&table).trim().parse().unwrap();
        squares += (sum - 1_000_004.0).powi(2);
    }
    // The mean of 300 squares is 25 with a standard error of 2; six of them.
    let variance: f64 = squares / 300.0;
    assert!((variance - 25.0).abs() < 12.5, "{variance}");
}

#[test]
fn the_statement_carries_the_policy() {
    let place = place();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6, \
               max_groups_contributed = 1, group_selection_strategy = GAUSSIAN_THRESHOLD) \
               town, SUM(pay, weight => 2) AS p, SUM(jobs) AS j, COUNT(*) AS n \
               FROM firms GROUP BY town";
    let statement = place.ask(sql, 1).unwrap().statement;
    let policy = &statement["promise"]["policy"];
    let policy = if policy.is_null() { find(&statement).unwrap() } else { policy };
    insta::assert_snapshot!(serde_json::to_string_pretty(policy).unwrap());
}

/// The policy, wherever the statement has it.
fn find(value: &serde_json::Value) -> Option<&serde_json::Value> {
    let map = value.as_object()?;
    map.get("policy").or_else(|| map.values().find_map(find))
}

#[test]
fn what_is_not_known_is_refused() {
    let first = |text: String| text.lines().take(2).collect::<Vec<_>>().join("\n");
    let shown = [
        first(ask("rho = 1", "SUM(pay * 2) AS s FROM firms")),
        first(ask("rho = 1", "SUM(IF(town = 'x', pay, NULL)) AS s FROM firms")),
        first(ask("epsilon = 1", "SUM(pay) AS s FROM firms")),
        first(ask("epsilon = 1", "AVG(jobs) AS s FROM firms")),
        first(ask("rho = 1", "SUM(fine) AS s FROM firms")),
    ];
    insta::assert_snapshot!(shown.join("\n"));
    let error = |contract: &str| {
        let place = Place::new(contract, &[("firms.csv", DATA)]);
        match super::super::session::Session::open(&place.contract()) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string().replace(place.path().to_str().unwrap(), "FOLDER"),
        }
    };
    let shown = [
        error(&CONTRACT.replace("\"row\"", "\"town\"")),
        error(&CONTRACT.replace("\"row\"", "\"row\"\nneighbouring = \"replace\"")),
        error(&CONTRACT.replace("split = 5 }", "split = 0 }")),
        error(&CONTRACT.replace("split = 5 }", "split = -5 }")),
        error(&CONTRACT.replace("split = 5 }", "split = nan }")),
        error(&CONTRACT.replace("split = 5 }", "split = 5, bounds = [0, 1] }")),
    ];
    insta::assert_snapshot!("contracts_that_cannot_split", shown.join("\n"));
}

#[test]
fn an_audit_finds_what_the_policy_says_and_no_more() {
    let place = place();
    let audit = |sql: &str| {
        let options = AuditOptions {
            runs: 40_000,
            units: 2,
            confidence: 0.999_999,
            delta: "0.01".parse().ok(),
        };
        let mut generators = vec![TestSeed(9).generator()];
        let session = place.session();
        session.audit_with(sql, &options, &Progress::default(), &mut generators).unwrap()
    };
    // Rows of 2 and 1 times the threshold, or less: they lose 4 and 1 times the rho, and less.
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.125) SUM(jobs) AS j FROM firms \
               WHERE jobs < 100";
    let report = audit(sql);
    assert!(!report.violation, "{report:#?}");
    let heaviest = &report.comparisons[0];
    // 7 jobs: mu = 1.4 sqrt(0.25) = 0.7, which at a delta of 0.01 is more than the promise at 5 jobs.
    let want = gaussian_epsilon_at(0.7, 0.01);
    assert!((heaviest.promised - want).abs() < 1e-9, "{}", heaviest.promised);
    assert!(heaviest.promised > 1.3 * report.promised.epsilon);
    assert!(heaviest.epsilon_at_least > 0.5 * want, "{report:#?}");
}
