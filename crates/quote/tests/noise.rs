//! Gaussian noise at the cost of an epsilon and a delta.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use hushtable_plan::bind;
use hushtable_privacy::{Composition, Event, Loss, gaussian_delta};
use hushtable_quote::{Noise, Quote};

fn quoted(options: &str, select: &str) -> Result<Quote, String> {
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select} FROM posts GROUP BY ALL"
    );
    let query = bind(&sql, &common::contract()).map_err(|refusal| format!("{sql}\n{refusal}"))?;
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
                let (mut all, mut mu_squared, mut new) = (Composition::default(), 0.0f64, 0.0);
                for event in quote.events() {
                    all.add(&event, 1).unwrap();
                    match event {
                        Event::Gaussian { mu_squared: part } => mu_squared += part.to_f64_up(),
                        Event::Approximate { epsilon, delta } => {
                            assert!(epsilon.is_zero());
                            new += delta.to_f64();
                        }
                        other => panic!("{other:?}"),
                    }
                }
                let (e, d) = (epsilon.to_f64(), delta.to_f64());
                let left = gaussian_delta(mu_squared.sqrt(), e);
                assert!(
                    left + new <= d * (1.0 + 1e-9) && left + new > 0.99 * d,
                    "{left} {new} {d}"
                );
                let together = all.epsilon_at(delta).unwrap().to_f64();
                assert!(together <= e * (1.0 + 1e-6) && together > 0.99 * e, "{together} {e}");
                assert!(quote.noise().iter().all(Noise::is_gaussian));
            }
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
