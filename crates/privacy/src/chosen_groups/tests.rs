//! Tests of [`super`], against every fraction one by one.

use super::*;
use crate::{Composition, Event, Loss, normal_quantile};

fn shares(shares: u64) -> NonZeroU64 {
    NonZeroU64::new(shares).unwrap()
}

fn decimal<A: std::str::FromStr>(text: &str) -> A
where
    A::Err: std::fmt::Debug,
{
    text.parse().unwrap()
}

/// The largest delta on a fine grid of fractions, in both directions, with what the other unit may
/// show from nothing to all.
fn one_by_one(epsilon: f64, mu_squared: f64, unshared: u64, shown: f64) -> f64 {
    let mut worst = 0.0f64;
    for step in 0..=400 {
        let fraction = f64::from(step) / 400.0;
        let mu = (mu_squared * (1.0 - fraction / unshared as f64)).sqrt();
        let left = -(fraction * (-shown).ln_1p()).exp_m1();
        for entered in [0.0, 0.5 * shown, shown] {
            worst = worst.max(joint_delta(epsilon, mu, left, entered));
        }
        worst = worst.max(joint_delta(epsilon, mu, 0.0, left));
    }
    worst
}

const CASES: [(&str, &str); 9] = [
    ("1", "1e-6"),
    ("0.1", "1e-9"),
    ("5", "1e-12"),
    ("1", "0.01"),
    ("0.01", "0.001"),
    ("0.5", "0.3"),
    ("30", "1e-6"),
    ("0.001", "0.01"),
    ("0.01", "0.1"),
];

#[test]
fn no_fraction_loses_more_and_the_worst_is_near() {
    for (epsilon, delta) in CASES {
        let (epsilon, delta): (Epsilon, Delta) = (decimal(epsilon), decimal(delta));
        for unshared in [1u64, 2, 3, 20, 1 << 31] {
            for weights in [[31, 1], [1, 1], [1, 7]] {
                let shown = delta.split(&weights)[0];
                let case = format!("{epsilon} {delta} {unshared} {weights:?}");
                let mu = gaussian_groups_mu(epsilon, delta, shown, shares(unshared));
                let (e, d) = (epsilon.to_f64(), delta.to_f64());
                let groups = ChosenGroups::of(mu * mu, shares(unshared), shown);
                let (exact, bound) =
                    (one_by_one(e, mu * mu, unshared, shown.to_f64()), groups.delta_at(e));
                assert!(exact <= bound && bound <= d, "{case}: {exact} {bound}");
                assert!(bound >= 0.9999 * d, "{case}: {bound}");
                assert!(exact >= 0.98 * bound, "{case}: {exact} {bound}");
                // Never less than what adds up, and never more than all of delta buys.
                let apart = analytic_gaussian_mu(e, delta.checked_sub(shown).unwrap().to_f64());
                let most = analytic_gaussian_mu(e, d);
                assert!(mu >= apart * (1.0 - 1e-6) && mu <= most, "{case}: {apart} {mu} {most}");
            }
        }
    }
}

/// Where a unit that is alone moves nothing else, noise and groups both have nearly all of delta.
#[test]
fn counts_of_one_have_delta_twice() {
    for (epsilon, delta) in [("1", "1e-6"), ("0.1", "1e-9"), ("5", "1e-12")] {
        let (epsilon, delta): (Epsilon, Delta) = (decimal(epsilon), decimal(delta));
        let shown = delta.split(&[31, 1])[0];
        for unshared in [1, 2] {
            let mu = gaussian_groups_mu(epsilon, delta, shown, shares(unshared));
            let most = analytic_gaussian_mu(epsilon.to_f64(), delta.to_f64());
            assert!(mu > most * (1.0 - 1e-6), "{epsilon} {delta}: {mu} {most}");
        }
    }
    // The threshold of a count of units at (1, 1e-6): 22.4, 107.5 and 251.2 where deltas add up.
    let (epsilon, delta): (Epsilon, Delta) = (decimal("1"), decimal("1e-6"));
    let shown = delta.split(&[31, 1])[0];
    let mu = gaussian_groups_mu(epsilon, delta, shown, shares(1));
    for (groups, want) in [(1.0f64, 21.11), (20.0, 101.75), (100.0, 238.32)] {
        let threshold = 1.0 + groups.sqrt() / mu * normal_quantile(shown.to_f64() / groups);
        assert!((threshold - want).abs() < 0.006, "{groups}: {threshold}");
    }
}

#[test]
fn one_such_event_is_told_by_its_worst_pair_and_several_add_up() {
    let (epsilon, delta): (Epsilon, Delta) = (decimal("1"), decimal("1e-6"));
    let shown = delta.split(&[31, 1])[0];
    let mu = gaussian_groups_mu(epsilon, delta, shown, shares(2));
    let rho = crate::Rho::from_f64_down(0.5 * mu * mu).unwrap();
    let groups = Event::GaussianGroups { mu_squared: rho.into(), parts: shares(2), delta: shown };
    let apart = [
        (Event::Gaussian { mu_squared: rho.into() }, 1),
        (Event::Approximate { epsilon: Epsilon::ZERO, delta: shown }, 1),
    ];
    let of = |events: &[(Event, u64)]| Composition::new(events).unwrap();
    let alone = of(&[(groups, 1)]);
    let alone_epsilon = alone.epsilon_at(delta).unwrap().to_f64();
    assert!(alone_epsilon <= 1.0 && alone_epsilon > 1.0 - 1e-6, "{alone_epsilon}");
    assert!(alone.delta_at(epsilon) <= delta.to_f64());
    assert!(alone.delta_at(epsilon) > 0.9999 * delta.to_f64());
    // Where the delta is large, what the noise alone needs.
    let large: Delta = decimal("0.01");
    let near = of(&apart[..1]).epsilon_at(large).unwrap().to_f64();
    assert!((alone.epsilon_at(large).unwrap().to_f64() / near - 1.0).abs() < 1e-3);
    assert_eq!(alone.epsilon_at(decimal("9e-7")), None);
    // Its own delta is lost whatever epsilon is.
    assert_eq!(alone.epsilon_at(shown), None);
    assert!(alone.epsilon_at(decimal("9.7e-7")).is_some());
    // With anything else, and as several, it is noise and a delta apart.
    let (twice, other) = (of(&[(groups, 2)]), Event::DiscreteLaplace { epsilon });
    let together = of(&[(apart[0].0, 2), (apart[1].0, 2)]);
    for delta in ["1e-6", "2e-6", "1e-5", "0.1"] {
        assert_eq!(twice.epsilon_at(decimal(delta)), together.epsilon_at(decimal(delta)));
        let beside = |first: &[(Event, u64)]| {
            let mut all = of(first);
            all.add(&other, 1).unwrap();
            all.epsilon_at(decimal(delta))
        };
        assert_eq!(beside(&[(groups, 1)]), beside(&apart));
    }
    let in_rho = groups.in_rho().unwrap();
    assert_eq!(in_rho, Loss::Concentrated { rho, delta: shown });
}
