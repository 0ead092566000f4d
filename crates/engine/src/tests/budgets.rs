//! All charges of an analyst together.

use hushtable_privacy::{Delta, Epsilon, gaussian_epsilon_at};

use super::{Fixture, Wait};

const CONTRACT: &str = r#"
[tables.visits]
path = "visits.csv"
privacy_unit = "row"
[tables.visits.columns]
town = { type = "string" }
days = { type = "int", bounds = [0, 10] }
[tables.visits.budgets]
ana = { rho = 10, delta = 1e-5 }
bob = { epsilon = 10, delta = 1e-5 }
"#;

fn fixture() -> Fixture {
    Fixture::new(CONTRACT, &[("visits.csv", "town,days\nA,1\nB,2\n")])
}

fn delta(text: &str) -> Option<Delta> {
    Some(text.parse().unwrap())
}

fn ask(fixture: &Fixture, analyst: &str, options: &str, rest: &str) {
    let sql = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {rest}");
    let progress = crate::progress::Progress::default();
    fixture.session().query(&sql, Some(analyst), &progress).wait().unwrap();
}

#[test]
fn gaussian_queries_add_up_exactly() {
    let fixture = fixture();
    for i in 0..8 {
        ask(&fixture, "ana", "rho = 0.0625", &format!("SUM(days) FROM visits WHERE days > {i}"));
    }
    let lines = fixture.session().budget(delta("1e-6")).unwrap();
    let together = lines[0].together;
    // mu^2 = 2 rho = 1: less than zCDP says (5.222), and less still than the sum of epsilons.
    let want = gaussian_epsilon_at(1.0, 1e-6);
    let fixed = together.fixed.unwrap().to_f64();
    assert!(fixed >= want * (1.0 - 1e-11) && fixed <= want * (1.0 + 1e-9), "{fixed} {want}");
    assert!((fixed - 4.887).abs() < 1e-3);
    assert!(together.adaptive.unwrap().to_f64() > fixed);
    // With a threshold's delta, which is lost once; the budget's own delta is not above it.
    ask(&fixture, "ana", "rho = 0.0625, delta = 1e-6", "town FROM visits GROUP BY town");
    let lines = fixture.session().budget(delta("2e-6")).unwrap();
    let more = lines[0].together.fixed.unwrap().to_f64();
    assert!(more > fixed && more < 5.3, "{more}");
    assert_eq!(fixture.session().budget(delta("1e-7")).unwrap()[0].together.fixed, None);
    // Nobody else is charged.
    assert_eq!(lines[1].together.fixed, Some(Epsilon::ZERO));
}

#[test]
fn many_small_queries_cost_less_than_their_sum() {
    let fixture = fixture();
    for i in 0..40 {
        ask(&fixture, "bob", "epsilon = 0.125", &format!("SUM(days) FROM visits WHERE days > {i}"));
    }
    let line = &fixture.session().budget(delta("1e-5")).unwrap()[1];
    assert_eq!(line.account.spent.to_string(), "epsilon = 5");
    let (fixed, adaptive) = (line.together.fixed.unwrap(), line.together.adaptive.unwrap());
    // 40 discrete Laplaces: a binomial sum.
    assert!(fixed.to_f64() > 2.0 && fixed.to_f64() < 3.5, "{fixed}");
    assert!(fixed < adaptive && adaptive.to_f64() <= 5.0, "{adaptive}");
    // By default at the budget's delta.
    let usual = fixture.session().budget(None).unwrap()[1].together;
    assert_eq!((Some(usual.delta), usual.fixed), (delta("1e-5"), Some(fixed)));
}

/// The budget comes before the mechanisms: a query that it cannot pay is refused as the ledger
/// would refuse it, also where no mechanism could be made; and what is on record stays free.
#[test]
fn what_the_budget_cannot_pay_is_refused_before_mechanisms_are_made() {
    let fixture = fixture();
    let error_of = |analyst: &str, options: &str, rest: &str| {
        let sql = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {rest}");
        let progress = crate::progress::Progress::default();
        fixture.session().query(&sql, Some(analyst), &progress).wait().unwrap_err().to_string()
    };
    let error = |options: &str, rest: &str| error_of("bob", options, rest);
    let unmakeable = "delta = 1e-6, group_selection_strategy = MEASURED_COUNT";
    let groups = "town, SUM(days) AS n FROM visits GROUP BY town";
    let most = error(&format!("epsilon = 1000000, {unmakeable}"), groups);
    insta::assert_snapshot!(most, @"
    the budget of analyst `bob` on `visits` does not allow this query: it costs epsilon = 1000000, \
                                    and 0 of 10 is spent
      hint: ask with epsilon at most 10, or ask the owner of the data for a larger budget
    ");
    assert!(!fixture.session().ledger_path().exists());
    let refused = error(&format!("epsilon = 10, {unmakeable}"), groups);
    assert!(refused.contains("the query measures none"), "{refused}");
    // In the other currency.
    insta::assert_snapshot!(error(&format!("rho = 1, {unmakeable}"), groups), @"
    this query costs rho = 1, delta = 1e-6, but the budget of analyst `bob` on `visits` is in \
        epsilon (epsilon = 10, delta = 1e-5), and a loss in rho cannot be paid from it
      hint: ask with epsilon in place of rho, or ask the owner of the data for a budget in rho
    ");
    let converted = error_of("ana", &format!("epsilon = 1000000, {unmakeable}"), groups);
    insta::assert_snapshot!(converted, @"
    the budget of analyst `ana` on `visits` does not allow this query: it costs rho = 1000000 (for \
                                         epsilon = 1000000), and 0 of 10 is spent
      hint: ask with epsilon at most 10.000907216367, or ask the owner of the data for a \
                                         larger budget
    ");
    let refused = error_of("ana", &format!("epsilon = 10, {unmakeable}"), groups);
    assert!(refused.contains("the query measures none"), "{refused}");

    ask(&fixture, "bob", "epsilon = 6", "SUM(days) AS s FROM visits");
    ask(&fixture, "bob", "epsilon = 6", "SUM(days) AS s FROM visits");
    // By the ledger, as a release of that loss is on record, and by the budget alone.
    let by_ledger = error("epsilon = 6", "SUM(days) AS s FROM visits WHERE days > 1");
    let by_budget = error("epsilon = 12.5", "SUM(days) AS s FROM visits WHERE days > 1");
    assert_eq!(by_ledger, by_budget.replace("12.5", "6"));
}
