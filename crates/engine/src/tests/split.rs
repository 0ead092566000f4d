//! Sums that are not clamped.

use hushtable_noise::TestSeed;
use hushtable_privacy::gaussian_epsilon_at;

use super::{Fixture, Wait};
use crate::AuditOptions;
use crate::progress::Progress;

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

fn fixture() -> Fixture {
    Fixture::new(CONTRACT, &[("firms.csv", DATA)])
}

fn ask(options: &str, select: &str) -> String {
    fixture().rows(&format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select}"))
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

/// Nothing of a sum with thresholds is cut off; a report on others is paid for in rho.
#[test]
fn clipping_reports_leave_out_sums_that_are_not_clamped() {
    let both = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 200000, \
                clipping_report = true) SUM(pay) AS pay, \
                SUM(jobs, contribution_bounds_per_group => (0, 10)) AS j FROM firms";
    let answer = fixture().ask(both, 1).unwrap();
    let report = &answer.statement.clipping_reports[0];
    let shares =
        report.shares.iter().map(|line| format!("{} {:.1}", line.what, line.share.unwrap()));
    let shares: Vec<String> = shares.collect();
    // Of 7, -3 and a million, one is within. The report sees 40 of each.
    assert_eq!(shares, ["units cut in the sum of jobs 0.5", "part cut of the sum of jobs 0.9"]);
    let none = ask("rho = 1, clipping_report = true", "SUM(pay) AS pay FROM firms");
    assert!(none.contains("needs a limit that cuts something off"), "{none}");
}

#[test]
fn the_noise_is_that_of_the_threshold() {
    // sigma = 5 / sqrt(2 * 0.5) = 5, whatever the largest value is.
    let fixture = fixture();
    let mut squares = 0.0;
    for seed in 0..300 {
        let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5) SUM(jobs) AS j FROM firms";
        let _ = std::fs::remove_file(fixture.session().ledger_path());
        let table = fixture.ask(sql, seed).unwrap().table;
        let sum: f64 = super::shown(&table).trim().parse().unwrap();
        squares += (sum - 1_000_004.0).powi(2);
    }
    // The mean of 300 squares is 25 with a standard error of 2; six of them.
    let variance: f64 = squares / 300.0;
    assert!((variance - 25.0).abs() < 12.5, "{variance}");
}

#[test]
fn the_statement_carries_the_policy() {
    let fixture = fixture();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6, \
               max_groups_contributed = 1, group_selection_strategy = GAUSSIAN_THRESHOLD) \
               town, SUM(pay, weight => 2) AS p, SUM(jobs) AS j, COUNT(*) AS n \
               FROM firms GROUP BY town";
    let statement = super::json(fixture.ask(sql, 1).unwrap().statement.last_release().unwrap());
    insta::assert_snapshot!(serde_json::to_string_pretty(&statement["policy"]).unwrap());
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
        let fixture = Fixture::new(contract, &[("firms.csv", DATA)]);
        match super::super::session::Session::open(&fixture.contract()) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string().replace(fixture.path().to_str().unwrap(), "FOLDER"),
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
    let fixture = fixture();
    let audit = |sql: &str| {
        let options = AuditOptions {
            runs: 40_000,
            units: 2,
            confidence: 0.999_999,
            delta: "0.01".parse().ok(),
        };
        let mut generators = vec![TestSeed(9).generator()];
        let session = fixture.session();
        session.audit_with(sql, &options, &Progress::default(), &mut generators).wait().unwrap()
    };
    // Rows of 2 and 1 times the threshold, or less: they lose 4 and 1 times the rho, and less.
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.125) SUM(jobs) AS j FROM firms \
               WHERE jobs < 100";
    let report = audit(sql);
    assert!(!report.violation, "{report:#?}");
    let heaviest = &report.comparisons[0];
    // 7 jobs: mu = 1.4 sqrt(0.25) = 0.7, which at a delta of 0.01 is more than the promise at 5
    // jobs.
    let want = gaussian_epsilon_at(0.7, 0.01);
    assert!(want > 1.3 * report.promised.epsilon);
    // Told coarsely: the next of 1, 2 and 5.
    assert!(want > 1.0 && heaviest.promised == 2.0, "{want} {}", heaviest.promised);
    assert!(heaviest.epsilon_at_least > 0.5 * want, "{report:#?}");
}

/// Thresholds by sector, as PR Example 5.8 has them by industry.
const SECTORS: &str = concat!(
    r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
group_selection_by_pieces = true
[tables.firms.columns]
county = { type = "string" }
sector = { type = "string" }
first = { type = "string", expression = "SUBSTR(sector, 1, 1)" }
pay = { type = "int", split = { by = "sector", default = 100, "#,
    r#"values = { mining = 1000, tech = 2000 } } }
jobs = { type = "int", split = { by = "first", default = 5, values = { t = 50 } } }
[tables.firms.budgets]
ana = { rho = 1000000, delta = 0.999 }
"#,
);

const FIRMS: &str = "\
county,sector,pay,jobs
A,mining,3000,1
A,tech,2500,40
A,farms,90,4
B,farms,250,-11
B,,50,1
B,farms,10,3
";

/// The query's policy and what else the statement of a quote says of classes.
fn explained(sql: &str) -> String {
    let fixture = Fixture::new(SECTORS, &[("firms.csv", FIRMS)]);
    match fixture.session().explain(sql, None).wait() {
        Ok(quoted) => {
            let json = serde_json::to_value(&quoted.parts[0].explanation).unwrap();
            let classes = json["measurements"].as_array().unwrap().iter().map(|m| {
                let (scale, threshold) = (&m["noise_scale"], &m["split_threshold"]);
                format!("{}: T {threshold}, noise {scale}, {}", m["name"], m["by_class"])
            });
            let classes: Vec<String> = classes.collect();
            format!("{}\n{}\n", classes.join("\n"), json["policy"]["terms"])
        }
        Err(refused) => format!("{refused}\n"),
    }
}

#[test]
fn thresholds_follow_the_class() {
    let ask = |rest: &str| {
        explained(&format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5, delta = 1e-6) {rest}"
        ))
    };
    let shown = [
        // A key: each group has its own noise.
        ask("sector, SUM(pay) AS p FROM firms GROUP BY sector"),
        // No key: the noise of the largest.
        ask("SUM(pay) AS p FROM firms"),
        // By a computed column, as a key.
        ask("first, SUM(jobs) AS j FROM firms GROUP BY first"),
        // One class, a few of them, one that has no threshold of its own.
        ask("SUM(pay) AS p FROM firms WHERE sector = 'mining' AND county = 'A'"),
        ask("SUM(pay) AS p FROM firms WHERE sector IN ('mining', 'farms')"),
        ask("SUM(pay) AS p FROM firms WHERE sector = 'farms'"),
        // Either of two conditions says nothing of the class.
        ask("SUM(pay) AS p FROM firms WHERE sector = 'farms' OR county = 'A'"),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn groups_have_the_noise_of_their_class() {
    let fixture = Fixture::new(SECTORS, &[("firms.csv", FIRMS)]);
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5, delta = 0.9, \
               group_selection_weight = 1000, group_selection_strategy = LAPLACE_THRESHOLD) \
               sector, SUM(pay) AS p FROM firms GROUP BY sector";
    // The sum gets a part in 1001 of rho.
    let unit = (1001f64).sqrt();
    let mut squares = std::collections::BTreeMap::<String, (f64, f64)>::new();
    for seed in 0..160 {
        let _ = std::fs::remove_file(fixture.session().ledger_path());
        for line in super::shown(&fixture.ask(sql, seed).unwrap().table).lines() {
            let (sector, sum) = line.split_once('|').unwrap();
            let exact = match sector {
                "mining" => 3000.0,
                "tech" => 2500.0,
                "farms" => 350.0,
                _ => 50.0,
            };
            let (count, sum_of_squares) = squares.entry(sector.to_owned()).or_default();
            *count += 1.0;
            *sum_of_squares += (sum.parse::<f64>().unwrap() - exact).powi(2);
        }
    }
    for (sector, threshold) in
        [("mining", 1000.0), ("tech", 2000.0), ("farms", 100.0), ("NULL", 100.0)]
    {
        let (count, sum) = squares[sector];
        let ratio = (sum / count).sqrt() / (threshold * unit);
        // The standard deviation of n draws has a relative error of 1/sqrt(2n): six of them.
        assert!(
            count > 100.0 && (ratio - 1.0).abs() < 6.0 / (2.0 * count).sqrt(),
            "{sector} {ratio} {count}"
        );
    }
}

#[test]
fn large_records_make_their_groups_appear() {
    let fixture = Fixture::new(SECTORS, &[("firms.csv", FIRMS)]);
    let shown = |by: &str| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 2, delta = 1e-6, \
             group_selection_weight = 1, group_selection_strategy = GAUSSIAN_THRESHOLD{by}) \
             sector, SUM(jobs) AS j FROM firms GROUP BY sector"
        );
        let mut seen = std::collections::BTreeMap::<String, u32>::new();
        for seed in 0..60 {
            let _ = std::fs::remove_file(fixture.session().ledger_path());
            for line in super::shown(&fixture.ask(&sql, seed).unwrap().table).lines() {
                *seen.entry(line.split('|').next().unwrap().to_owned()).or_default() += 1;
            }
        }
        seen
    };
    // The choice has rho = 1, a noise of 0.71, and a threshold of about 4.4. By records no sector
    // has more than 3. By pieces farms have 1 + 3 + 1 (-11 jobs at 5), tech 1 (40 jobs at 50).
    assert!(shown("").values().all(|n| *n < 10));
    let by_pieces = shown(", group_selection_by = PIECES");
    assert!(by_pieces["farms"] > 30, "{by_pieces:?}");
    assert!(!by_pieces.contains_key("tech"), "{by_pieces:?}");
}

#[test]
fn what_choosing_by_pieces_costs_is_told() {
    let fixture = Fixture::new(SECTORS, &[("firms.csv", FIRMS)]);
    let quote = |options: &str, select: &str| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 2, delta = 1e-6{options}) {select}"
        );
        match fixture.session().explain(&sql, None).wait() {
            Ok(quoted) => {
                serde_json::to_string_pretty(&quoted.parts[0].explanation.policy).unwrap()
            }
            Err(refused) => refused.to_string(),
        }
    };
    let by_pieces = ", group_selection_by = PIECES";
    let sum = "county, SUM(pay) AS p, COUNT(*) AS n FROM firms GROUP BY county";
    insta::assert_snapshot!(quote(by_pieces, sum));
    let refused = [
        quote(by_pieces, "county, COUNT(*) AS n FROM firms GROUP BY county"),
        Fixture::new(
            &SECTORS.replace("group_selection_by_pieces = true", ""),
            &[("firms.csv", FIRMS)],
        )
        .session()
        .explain(
            &format!(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 2, delta = 1e-6{by_pieces}) {sum}"
            ),
            None,
        )
        .wait()
        .map_or_else(|refused| refused.to_string(), |_| "allowed".to_owned()),
        quote(", group_selection_by = SIZES", sum),
        quote(", group_selection_by = PIECES, group_selection_strategy = SIPS", sum),
        quote(", group_selection_by = PIECES, min_privacy_units_per_group = 3", sum),
    ];
    insta::assert_snapshot!("pieces_that_are_refused", refused.join("\n"));
}

#[test]
fn audits_know_classes_and_pieces() {
    let fixture = Fixture::new(SECTORS, &[("firms.csv", FIRMS)]);
    let audit = |sql: &str| {
        let options = AuditOptions {
            runs: 20_000,
            units: 6,
            confidence: 0.999_999,
            delta: "0.01".parse().ok(),
        };
        let mut generators = vec![TestSeed(19).generator()];
        let session = fixture.session();
        session.audit_with(sql, &options, &Progress::default(), &mut generators).wait().unwrap()
    };
    for select in [
        "sector, SUM(pay) AS p FROM firms GROUP BY sector",
        "county, SUM(jobs) AS j FROM firms GROUP BY county",
    ] {
        for by in ["RECORDS", "PIECES"] {
            let report = audit(&format!(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.25, delta = 0.01, \
                 group_selection_by = {by}, group_selection_weight = 1, \
                 group_selection_strategy = GAUSSIAN_THRESHOLD) {select}"
            ));
            assert!(!report.violation, "{select} {by} {report:#?}");
            assert!(report.epsilon_at_least > 0.3, "{report:#?}");
        }
    }
}

#[test]
fn contracts_name_classes_that_there_are() {
    let error = |split: &str| {
        let contract = SECTORS.replace(
            "{ by = \"sector\", default = 100, values = { mining = 1000, tech = 2000 } }",
            split,
        );
        let fixture = Fixture::new(&contract, &[("firms.csv", FIRMS)]);
        match super::super::session::Session::open(&fixture.contract()) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string().replace(fixture.path().to_str().unwrap(), "FOLDER"),
        }
    };
    let shown = [
        error("{ by = \"industry\", default = 100, values = { mining = 1000 } }"),
        error("{ by = \"pay\", default = 100, values = { mining = 1000 } }"),
        error("{ by = \"jobs\", default = 100, values = { mining = 1000 } }"),
        error("{ by = \"jobs\", default = 100, values = { 1 = 1000, 01 = 5 } }"),
        error("{ by = \"sector\", values = { mining = 1000 } }"),
        error("{ by = \"sector\", default = 100, values = { } }"),
        error("{ by = \"sector\", default = 100, values = { mining = 0 } }"),
        error("{ by = \"sector\", default = -1, values = { mining = 5 } }"),
        error("{ by = \"sector\", default = 1, others = { mining = 5 } }"),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

/// Thresholds are whole steps, and rounded up: a record at the threshold of the contract, which is
/// rounded as its values are, loses no more than the rho.
#[test]
fn records_at_the_threshold_lose_no_more_than_rho() {
    for (split, granularity) in [(10, 4), (199, 100), (5, 5), (7, 2)] {
        let column =
            format!("jobs = {{ type = \"int\", split = {split}, granularity = {granularity} }}");
        let contract = SECTORS.replace(
            "jobs = { type = \"int\", split = { by = \"first\", default = 5, \
             values = { t = 50 } } }",
            &column,
        );
        let fixture = Fixture::new(&contract, &[("firms.csv", FIRMS)]);
        let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) SUM(jobs) AS j FROM firms";
        let policy = fixture
            .session()
            .explain(sql, None)
            .wait()
            .unwrap()
            .parts
            .remove(0)
            .explanation
            .policy
            .unwrap();
        let rounded = (f64::from(split) / f64::from(granularity)).round() * f64::from(granularity);
        assert!(rounded <= policy.terms[0].threshold, "{column}: {:?}", policy.terms);
    }
}

/// With an offset for all classes, a record at a multiple of its threshold loses more where that is
/// small: the examples are of the class that loses most, and the formulas of each.
#[test]
fn examples_are_of_the_class_that_loses_most() {
    let fixture = Fixture::new(SECTORS, &[("firms.csv", FIRMS)]);
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, \
               delta = 1e-6, group_selection_weight = 1) sector, \
               SUM(pay, mechanism => 'LOG', offset => 1000) AS p FROM firms GROUP BY sector";
    let policy = fixture
        .session()
        .explain(sql, None)
        .wait()
        .unwrap()
        .parts
        .remove(0)
        .explanation
        .policy
        .unwrap();
    let [_, _, ten, _, _] = policy.examples[..] else { panic!("examples") };
    let growth = |threshold: f64| {
        hushtable_privacy::LossCurve::log("0.5".parse().unwrap(), threshold, 1000.0).unwrap()
    };
    let lost = [100.0, 1000.0, 2000.0].map(|t| 0.5 + growth(t).loss(10.0 * t));
    let most = lost.into_iter().fold(0.0, f64::max);
    assert!(lost[0] > 1.5 * lost[2], "{lost:?}");
    assert!((ten.exact / most - 1.0).abs() < 1e-9, "{lost:?} {ten:?}");
}
