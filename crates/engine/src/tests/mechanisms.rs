//! Sums that are not clamped, released by other mechanisms than Gaussian noise.

use hushtable_noise::TestSeed;
use hushtable_privacy::{LossCurve, zcdp_epsilon_at};
use serde_json::Value;

use super::{Fixture, Wait};
use crate::progress::Progress;
use crate::{AuditOptions, FitOptions, Standing};

const CONTRACT: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
[tables.firms.columns]
county = { type = "string", public_keys = ["A", "B"] }
sector = { type = "string", public_keys = ["mining", "farms"] }
pay = { type = "decimal(2)", split = 100 }
jobs = { type = "int", split = 50 }
land = { type = "float", split = { by = "sector", default = 8, values = { mining = 64 } } }
loss = { type = "int", split = 10 }
size = { type = "int", bounds = [0, 10] }
[tables.firms.budgets]
ana = { rho = 1000000, delta = 0.999 }
"#;

const DATA: &str = "\
county,sector,pay,jobs,land,loss,size
A,mining,1000.25,310,600,-400,1
A,mining,20.5,50,80,100,2
B,farms,,40,3,100,3
B,farms,5,0,2.5,100,4
";

fn fixture() -> Fixture {
    Fixture::new(CONTRACT, &[("firms.csv", DATA)])
}

fn private(rho: &str, select: &str) -> String {
    format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = {rho}) {select}")
}

const ALL: &str = "SUM(jobs, mechanism => 'LOG') AS l, SUM(jobs, mechanism => 'sqrt') AS s, \
                   SUM(jobs, mechanism => 'EXPONENTIAL_POLYLOGARITHMIC') AS p FROM firms";

/// The 95 % interval that a statement gives for a released value.
fn interval(measurement: &Value, x: f64) -> (f64, f64) {
    let number = |name: &str| measurement["interval_95"][name].as_f64().unwrap();
    match measurement["interval_95"]["of"].as_str() {
        Some("LOG") => {
            let a = number("offset");
            let end = |factor: &str| ((x + a) * number(factor) - a).max(0.0);
            (end("low_factor"), end("high_factor"))
        }
        Some("SQRT") => {
            let (a, reach) = (number("offset"), number("reach"));
            let root = (x / a + 1.0 + number("variance")).max(0.0).sqrt();
            (
                (a * ((root - reach).max(1.0).powi(2) - 1.0)).max(0.0),
                (a * ((root + reach).powi(2) - 1.0)).max(0.0),
            )
        }
        _ => {
            let half = measurement["half_width_95"].as_f64().unwrap();
            (x - half, x + half)
        }
    }
}

/// The mean of 100 answers is within six standard errors of the sum, of 400 jobs at T = 50: a false
/// alarm has probability 2e-9 for each mechanism. And the intervals of the statement cover the sum
/// in 95 % of them, less six standard deviations of 2.2 %.
#[test]
fn answers_are_unbiased_and_their_intervals_cover() {
    let fixture = fixture();
    let sql = private("6", ALL);
    let mut sums = [0.0; 3];
    let mut covered = [0; 3];
    for seed in 0..100 {
        let _ = std::fs::remove_file(fixture.session().ledger_path());
        let answer = fixture.ask(&sql, seed).unwrap();
        let table = super::shown(&answer.table);
        let promise = &super::json(answer.statement.last_release().unwrap())["measurements"];
        for (fixture, x) in table.trim().split('|').enumerate() {
            let x: f64 = x.parse().unwrap();
            sums[fixture] += x;
            let (low, high) = interval(&promise[fixture], x);
            covered[fixture] += u32::from(low <= 400.0 && 400.0 <= high);
        }
    }
    // Standard errors of one answer at rho = 2: (S + T) sqrt(e^(s^2) - 1) for s = ln 2 / 2,
    // T sqrt(4 (1 + S/T) s^2 + 2 s^4) for s = (sqrt 2 - 1) / 2, and 0.725 T.
    let (log, root) = (2f64.ln() / 2.0, (2f64.sqrt() - 1.0) / 2.0);
    let errors = [
        450.0 * (log * log).exp_m1().sqrt(),
        50.0 * (36.0 * root * root + 2.0 * root.powi(4)).sqrt(),
        36.3,
    ];
    for (fixture, error) in errors.into_iter().enumerate() {
        let mean = sums[fixture] / 100.0;
        assert!((mean - 400.0).abs() < 6.0 * error / 10.0, "{fixture}: {mean} {error}");
        assert!(covered[fixture] > 81, "{fixture}: {}", covered[fixture]);
    }
}

#[test]
fn statements_carry_the_function_of_each_mechanism() {
    let fixture = fixture();
    let sql = private(
        "6",
        "sector, SUM(land, mechanism => 'LOG', offset => 4) AS l, SUM(land, \
         mechanism => 'SQRT') AS s, SUM(pay, mechanism => 'EXPONENTIAL_POLYLOGARITHMIC') AS p, \
         AVG(pay) AS a FROM firms GROUP BY sector",
    );
    let statement = super::json(fixture.ask(&sql, 1).unwrap().statement.last_release().unwrap());
    let shown = ["policy", "measurements"]
        .map(|key| serde_json::to_string_pretty(&statement[key]).unwrap());
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn the_mechanisms_are_compared() {
    let quoted = fixture().session().explain(&private("1", ALL), None).wait().unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&quoted.parts[0].mechanisms[1]).unwrap());
    // A record at the threshold loses the same by each; in the second table the error is the same.
    for sum in &quoted.parts[0].mechanisms {
        for one in &sum.at_equal_loss {
            assert!((one.losses[1] * 3.0 - 1.0).abs() < 1e-9, "{one:?}");
        }
        for one in &sum.at_equal_noise {
            let ratio = one.standard_errors[2] / sum.at_equal_noise[0].standard_errors[2];
            assert!((ratio - 1.0).abs() < 1e-9, "{one:?}");
        }
    }
}

#[test]
fn a_mechanism_that_does_not_fit_is_refused() {
    let fixture = fixture();
    let ask = |rho: &str, select: &str| {
        let text = fixture.rows(&private(rho, select));
        text.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    let shown = [
        ask("1", "SUM(pay, mechanism => 'CAUCHY') AS s FROM firms"),
        ask("1", "SUM(size, mechanism => 'LOG') AS s FROM firms"),
        ask(
            "1",
            "SUM(pay, mechanism => 'LOG', contribution_bounds_per_group => (0, 1)) AS s FROM firms",
        ),
        ask("1", "COUNT(pay, mechanism => 'LOG') AS s FROM firms"),
        ask("1", "SUM(pay, mechanism => 'GAUSSIAN', offset => 3) AS s FROM firms"),
        ask("1", "SUM(pay, mechanism => 'LOG', offset => 0) AS s FROM firms"),
        ask("1", "SUM(jobs, mechanism => 'LOG', offset => 0.5) AS s FROM firms"),
        ask("0.005", "SUM(pay, mechanism => 'LOG') AS s FROM firms"),
        ask("2000", "SUM(pay, mechanism => 'EXPONENTIAL_POLYLOGARITHMIC') AS s FROM firms"),
        ask("1", "SUM(pay, noise => 'LOG') AS s FROM firms"),
    ];
    insta::assert_snapshot!(shown.join("\n"));
    let options = FitOptions { target: 0.1, at: 0.5, probability: 0.9, least_records: 1 };
    let sql = private("1", "county, SUM(pay, mechanism => 'LOG') AS s FROM firms GROUP BY county");
    let refused = fixture.session().fit(&sql, &options, &Progress::default()).wait().unwrap_err();
    insta::assert_snapshot!("no_fit", refused.to_string());
}

#[test]
fn means_sums_below_zero_and_naming_the_default() {
    let fixture = fixture();
    // Little noise: at a rho of 100,000 the deviation of the logarithm is a part in 650.
    let sql = private(
        "100000",
        "ROUND(SUM(loss, mechanism => 'SQRT') / 4, 0) AS s, \
         ROUND(SUM(loss) / 4, 0) AS g, ROUND(AVG(jobs, mechanism => 'LOG') / 5, 0) AS a FROM firms",
    );
    // -400 + 300 is below zero, and counts as zero; a mean is the sum over a noisy count.
    assert_eq!(fixture.rows(&sql), "0.0|-25.0|20.0\n");
    // The default by its name is the same question.
    let named = private("1", "SUM(pay, mechanism => 'GAUSSIAN') AS s FROM firms");
    let plain = private("1", "SUM(pay) AS s FROM firms");
    assert_eq!(fixture.rows(&named), fixture.rows(&plain));
    let standing =
        |sql: &str| fixture.session().explain(sql, None).wait().unwrap().parts[0].standing;
    assert_eq!(standing(&plain), Standing::OnRecord);
    let other = private("1", "SUM(pay, mechanism => 'SQRT') AS s FROM firms");
    assert_eq!(standing(&other), Standing::New);
}

/// An audit promises a record what its mechanism's function says, and finds no more.
#[test]
fn audits_know_the_mechanism() {
    let fixture = fixture();
    for (mechanism, least) in [("LOG", 0.3), ("SQRT", 0.3), ("EXPONENTIAL_POLYLOGARITHMIC", 0.2)] {
        let options = AuditOptions {
            runs: 20_000,
            units: 1,
            confidence: 0.999_999,
            delta: "0.01".parse().ok(),
        };
        let mut generators = vec![TestSeed(29).generator()];
        let sql =
            private("0.25", &format!("SUM(jobs, mechanism => '{mechanism}') AS j FROM firms"));
        let session = fixture.session();
        let report = session
            .audit_with(&sql, &options, &Progress::default(), &mut generators)
            .wait()
            .unwrap();
        assert!(!report.violation, "{report:#?}");
        let heaviest = &report.comparisons[0];
        // Without the 310 jobs there are 90, with them 400.
        let rho = "0.25".parse().unwrap();
        let growth = match mechanism {
            "LOG" => LossCurve::log(rho, 50.0, 50.0),
            "SQRT" => LossCurve::sqrt(rho, 50.0, 50.0),
            _ => LossCurve::exponential_polylogarithmic(rho, 50.0, 1.0, 2.718_281_828_459_045_5),
        };
        let lost = growth.unwrap().loss(310.0);
        let most = zcdp_epsilon_at(lost, 0.01);
        assert!(heaviest.epsilon_at_least > least, "{mechanism}: {report:#?}");
        assert!(heaviest.epsilon_at_least < most, "{mechanism}: {report:#?}");
        // Told coarsely: the next of 1, 2 and 5.
        assert!(heaviest.promised <= 2.5 * most, "{mechanism}: {most} {report:#?}");
    }
}
