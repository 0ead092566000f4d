//! The errors of trials against brute force.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::BTreeMap;

use hushtable_testkit::near;

use super::*;
use crate::tests::{Fixture, Wait};

const CONTRACT: &str = r#"
[tables.sales]
path = "sales.csv"
privacy_unit = "buyer"
[tables.sales.columns]
buyer = { type = "int" }
town = { type = "string" }
kind = { type = "string", public_keys = ["k0", "k1", "k2", "k3", "k4", "k5", "none"] }
euros = { type = "int", bounds = [0, 20], sum_bounds = [0, 20], not_null = true }
[tables.sales.budgets]
ana = { epsilon = 10, delta = 0.9 }
"#;

/// (buyer, town, euros): buyers are in one to six towns, with one to three rows in each.
fn sales() -> Vec<(u32, u32, i64)> {
    let mut all = Vec::new();
    for buyer in 0..600u32 {
        for town in 0..=(buyer % 6) {
            for row in 0..=(buyer % 3) {
                all.push((buyer, town, i64::from(7 * town + 3 * row)));
            }
        }
    }
    all
}

fn tuned(sql: &str) -> TuneReport {
    let rows = sales().iter().map(|(b, p, e)| format!("{b},t{p},k{p},{e}\n")).collect::<String>();
    let csv = "buyer,town,kind,euros\n".to_owned() + &rows;
    let folder = Fixture::new(CONTRACT, &[("sales.csv", &csv)]);
    let session = folder.session();
    let report = session.tune(sql, &Progress::default()).wait().unwrap();
    assert!(!session.ledger_path().exists(), "nothing is charged");
    report
}

fn setting<'a>(report: &'a TuneReport, name: &str) -> &'a TunedSetting {
    report.settings.iter().find(|setting| setting.setting == name).unwrap()
}

/// With public groups and all groups of each unit, what is missing is what limits and bounds cut
/// off.
#[test]
fn errors_are_as_by_hand() {
    let report = tuned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 6, \
         max_rows_per_group = 3) kind, COUNT(*) AS n, SUM(euros) AS s FROM sales GROUP BY kind",
    );
    assert_eq!(report.groups_in_data, 6);
    let mean = |of: &dyn Fn(u32) -> f64| ((0..6).map(|p| of(p).powi(2)).sum::<f64>() / 7.0).sqrt();
    for trial in &setting(&report, "max_rows_per_group").trials {
        let most: u64 = trial.value.parse().unwrap();
        let mut cut: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        sales().iter().for_each(|&(b, p, _)| *cut.entry((b, p)).or_default() += 1);
        let lost = |town: u32| {
            let rows = cut.iter().filter(|((_, p), _)| *p == town).map(|(_, rows)| *rows);
            rows.map(|rows| rows.saturating_sub(most) as f64).sum::<f64>()
        };
        let error = trial.errors[0].unwrap();
        assert!(near(error.bounding, mean(&lost)), "{trial:?}");
        assert!(error.not_shown < 1e-6 && error.noise > 0.0, "{trial:?}");
        assert_eq!((trial.groups_shown, trial.pairs_hidden), (7.0, 0.0));
    }
    // Bounds per group cut a unit's sum off at 20, and at 80.
    let bounds = setting(&report, "bounds");
    for (trial, bound) in bounds.trials.iter().zip([5, 10, 20, 40, 80]) {
        let mut sums: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        sales().iter().for_each(|&(b, p, euros)| *sums.entry((b, p)).or_default() += euros);
        let lost = |town: u32| {
            let all = sums.iter().filter(|((_, p), _)| *p == town).map(|(_, sum)| *sum);
            all.map(|sum| (sum - sum.min(bound)) as f64).sum::<f64>()
        };
        let error = trial.errors[1].unwrap();
        assert!(near(error.bounding, mean(&lost)), "{bound} {trial:?}");
    }
}

/// Larger limits cut less off, with more noise; all components add up; hidden groups count.
#[test]
fn components_of_errors_add_up() {
    let report = tuned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, delta = 1e-6, \
         max_groups_contributed = 2, max_rows_per_group = 3) town, COUNT(*) AS n FROM sales \
         GROUP BY town",
    );
    let names: Vec<&str> = report.settings.iter().map(|entry| entry.setting.as_str()).collect();
    let all = [
        "max_groups_contributed",
        "max_rows_per_group",
        "noise",
        "group_selection_strategy",
        "epsilon",
    ];
    assert_eq!(names, all);
    for setting in &report.settings {
        assert_eq!(setting.trials.iter().filter(|trial| trial.is_current).count(), 1);
        for trial in &setting.trials {
            let TrialError { noise, bounding, not_shown, total, values } = trial.errors[0].unwrap();
            let sum = noise * noise + bounding * bounding + not_shown * not_shown;
            assert!(near(total * total, sum), "{trial:?}");
            // Votes show all of the six for certain.
            assert!(not_shown > 0.0 || trial.groups_shown == 6.0, "{trial:?}");
            assert!(not_shown <= values, "{trial:?}");
            // A town's part of the squares is 0.45 to 1.23 times its part of the pairs.
            let squares = (not_shown / values).powi(2);
            let range = 0.45 * trial.pairs_hidden..=1.23 * trial.pairs_hidden;
            assert!(range.contains(&squares), "{trial:?}");
            assert!(trial.groups_shown > 0.0 && trial.groups_shown <= 6.0, "{trial:?}");
        }
        let best = setting.best().unwrap().relative_error();
        assert!(setting.trials.iter().all(|trial| trial.relative_error() >= best));
    }
    let limits = &setting(&report, "max_groups_contributed").trials;
    let values: Vec<&str> = limits.iter().map(|trial| trial.value.as_str()).collect();
    assert_eq!(values, ["1", "2", "4", "8"]);
    let bounding = |index: usize| limits[index].errors[0].unwrap().bounding;
    assert!(bounding(1) > bounding(2) && near(bounding(3), 0.0));
}
