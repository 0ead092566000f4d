//! Gaussian noise at the cost of an epsilon and a delta.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use hushtable_contract::Contract;
use hushtable_plan::bind;
use hushtable_privacy::{Composition, Delta, Event, Loss, cost, gaussian_delta, joint_delta};
use hushtable_quote::{Noise, Quote};

fn quoted(options: &str, select: &str) -> Result<Quote, String> {
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select} FROM posts GROUP BY ALL"
    );
    let contract = Contract::parse(&common::with_many_groups(), "hushtable.toml").unwrap();
    let query = bind(&sql, &contract).map_err(|refusal| format!("{sql}\n{refusal}"))?;
    Quote::new(query).map_err(|refusal| format!("{sql}\n{refusal}"))
}

const COUNTS: &str = "forum, COUNT(DISTINCT author)";

fn options(groups: u32, more: &str) -> String {
    format!(
        "epsilon = 1, delta = 1e-8, max_groups_contributed = {groups}, max_rows_per_group = 2{more}"
    )
}

/// The mechanisms together, computed anew from their events, promise no more than the quote, and
/// nearly as much.
#[test]
fn gaussian_noise_keeps_epsilon_and_delta() {
    for select in
        [COUNTS, "forum, AVG(score)", "forum, AVG(score), COUNT(price)", "lang, AVG(score)"]
    {
        for strategy in ["GAUSSIAN_THRESHOLD", "WEIGHTED_GAUSSIAN", "SIPS"] {
            for amount in ["0.1", "1", "5"] {
                let more = format!(", noise = GAUSSIAN, group_selection_strategy = {strategy}");
                let text = options(9, &more).replace("epsilon = 1", &format!("epsilon = {amount}"));
                let quote = quoted(&text, select).unwrap();
                assert_eq!(quote.total().to_string(), format!("epsilon = {amount}, delta = 1e-8"));
                let Loss::Approximate { epsilon, delta } = quote.total() else {
                    panic!("currency")
                };
                let events = quote.events();
                let (mu_squared, new) = match events[..] {
                    [Event::GaussianGroups { mu_squared, delta, .. }] => (mu_squared, delta),
                    // All groups are public.
                    [Event::Gaussian { mu_squared }] => (mu_squared, Delta::ZERO),
                    _ => panic!("{events:?}"),
                };
                let all = Composition::new(&[(events[0], 1)]).unwrap();
                let (e, d) = (epsilon.to_f64(), delta.to_f64());
                // Each by itself is within delta; both together are not.
                let noise = gaussian_delta(mu_squared.to_f64_up().sqrt(), e);
                assert!(
                    noise <= d && new <= delta && noise + new.to_f64() > d * (1.0 - 1e-6),
                    "{noise} {new}"
                );
                let together = all.epsilon_at(delta).unwrap().to_f64();
                assert!(
                    together <= e * (1.0 + 1e-9) && together > e * (1.0 - 1e-6),
                    "{together} {e}"
                );
                // A budget in rho pays for the noise, and for the delta of choosing groups.
                let rho = mu_squared.to_rho_up().unwrap();
                let limit: Loss = Loss::concentrated("10".parse().unwrap()).with_delta(delta);
                let want = Loss::Concentrated { rho, delta: new };
                assert_eq!(cost(quote.total(), &events, limit), Ok(want));
                assert!(quote.noise().iter().all(Noise::is_gaussian));
            }
        }
    }
}

/// By the mechanisms that are drawn with: a unit that is alone in some of its groups, and its
/// neighbour without it, are told apart within delta, however many these are.
#[test]
fn every_number_of_unshared_groups_keeps_delta() {
    for strategy in ["GAUSSIAN_THRESHOLD", "MEASURED_COUNT"] {
        for groups in [1u32, 2, 9, 64] {
            let more = format!(", noise = GAUSSIAN, group_selection_strategy = {strategy}");
            let text =
                options(groups, &more).replace("max_rows_per_group = 2", "max_rows_per_group = 1");
            let quote = quoted(&text, "forum, COUNT(*), AVG(score)").unwrap();
            let selection = quote.selection().unwrap();
            // The chance of a group of one unit, which counts once, and mu^2 by what is drawn.
            let chance = selection.keep_probability(1);
            let mut rho = selection.loss().rho().unwrap().to_f64();
            rho += quote.noise().iter().filter_map(Noise::loss).map(Loss::to_f64).sum::<f64>();
            let worst = (0..=groups).map(|unshared| {
                let fraction = f64::from(unshared) / f64::from(groups);
                let appears = -(f64::from(unshared) * (-chance).ln_1p()).exp_m1();
                let mu = (2.0 * rho * (1.0 - fraction)).sqrt();
                joint_delta(1.0, mu, appears, 0.0).max(joint_delta(1.0, mu, 0.0, appears))
            });
            let worst = worst.fold(0.0, f64::max);
            assert!(worst <= 1e-8 && worst > 0.99e-8, "{strategy} {groups}: {worst}");
            assert!(chance * f64::from(groups) > 0.3e-8, "{strategy} {groups}: {chance}");
        }
    }
}

/// At epsilon = 1 and delta = 1e-6: with one part in 64 of delta, 24.4, 115 and 267.
#[test]
fn thresholds_on_counts_have_nearly_all_of_delta() {
    let named = ["GAUSSIAN_THRESHOLD", "MEASURED_COUNT"];
    for (groups, want) in [(1, [21.11, 22.0]), (20, [101.75, 103.0]), (100, [238.32, 239.0])] {
        for (strategy, want) in named.into_iter().zip(want) {
            let more = format!(", noise = GAUSSIAN, group_selection_strategy = {strategy}");
            let text = options(groups, &more).replace("delta = 1e-8", "delta = 1e-6");
            let quote = quoted(&text, COUNTS).unwrap();
            let threshold = quote.selection().unwrap().threshold().unwrap();
            assert!((threshold - want).abs() < 0.01, "{strategy} {groups}: {threshold}");
        }
    }
}

/// With 64 groups of each unit Gaussian noise is far smaller, with one group Laplace noise.
#[test]
fn gaussian_noise_is_smaller_with_many_groups() {
    let deviation = |groups: u32, noise: &str| {
        let quote = quoted(&options(groups, noise), "lang, AVG(score)").unwrap();
        quote.noise()[0].deviation().unwrap()
    };
    assert!(deviation(64, ", noise = LAPLACE") > 2.0 * deviation(64, ", noise = 'gaussian'"));
    assert_eq!(deviation(64, ""), deviation(64, ", noise = GAUSSIAN"));
    assert!(deviation(1, "") < deviation(1, ", noise = GAUSSIAN"));
    assert_eq!(deviation(3, ""), deviation(3, ", noise = LAPLACE"));
    // Laplace noise leaves delta to selection.
    let public = quoted(&options(3, ""), "lang, AVG(score)").unwrap();
    assert_eq!(public.total().to_string(), "epsilon = 1");
}

#[test]
fn noise_that_a_budget_does_not_buy_is_refused() {
    let refused = |options: &str, select: &str| quoted(options, select).unwrap_err();
    let gaussian = options(2, ", noise = GAUSSIAN");
    let all = [
        refused(&options(2, ", noise = CAUCHY"), COUNTS),
        refused(&gaussian, "forum, MEDIAN(score)"),
        refused(&options(2, ", noise = GAUSSIAN, group_selection_strategy = OPTIMAL"), COUNTS),
        refused(&gaussian.replace("delta = 1e-8, ", ""), "lang, AVG(score)"),
        refused(&options(2, ", noise = LAPLACE").replace("epsilon = 1", "rho = 1"), COUNTS),
    ];
    insta::assert_snapshot!(all.join("\n---\n"));
}
