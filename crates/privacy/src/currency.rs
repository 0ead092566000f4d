//! The cost of a release in the currency of the budget that pays for it.

use crate::{Composition, Epsilon, Event, Loss, LossError, Rho, pure_epsilon, pure_in_rho};

/// The cost of a loss in the currency of a budget. In rho a loss in epsilon costs what its events
/// do, which is never more than it does as a whole except for their rounding; if they are all of
/// it.
///
/// # Errors
/// When a loss in rho is to be paid from a budget in epsilon.
pub fn cost(loss: Loss, events: &[Event], limit: Loss) -> Result<Loss, LossError> {
    let whole = loss.in_currency_of(limit)?;
    let sum = |nothing: Loss, cost_of: fn(&Event) -> Option<Loss>| {
        events.iter().try_fold(nothing, |sum, event| sum.plus(cost_of(event)?).ok())
    };
    let by_events = || sum(loss.nothing(), Event::in_epsilon) == Some(loss);
    if whole == loss || !(by_events() || is_gaussian(loss, events)) {
        return Ok(whole);
    }
    Ok(match sum(whole.nothing(), Event::in_rho) {
        Some(in_rho) if in_rho.is_within(whole) => in_rho,
        _ => whole,
    })
}

/// Whether a loss in epsilon and delta is that of Gaussian noise, by its events: together they
/// promise that epsilon at that delta, except for a millionth, so that none that matters is
/// missing.
fn is_gaussian(loss: Loss, events: &[Event]) -> bool {
    let Loss::Approximate { epsilon, delta } = loss else { return false };
    let known = events.iter().all(|event| match event {
        Event::Gaussian { .. } | Event::GaussianGroups { .. } => true,
        Event::Approximate { epsilon, .. } => epsilon.is_zero(),
        _ => false,
    });
    let mut all = Composition::default();
    let together = (known && events.iter().all(|event| all.add(event, 1).is_ok()))
        .then(|| all.epsilon_at(delta))
        .flatten();
    together.is_some_and(|loss| {
        let ratio = loss.to_f64() / epsilon.to_f64();
        (1.0 - 1e-6..=1.0 + 1e-6).contains(&ratio)
    })
}

/// The largest epsilon, except for rounding, that a budget with `left` of its rho pays for.
/// `epsilon` costs `cost` of it, and another would be shared out in the same way over the same
/// number of queries and mechanisms.
///
/// With shares that are smaller by a factor s, costs fall by tanh(s e/2)/tanh(e/2) more than s,
/// which is least for the largest share e, and so no less than for the whole; or by s^2. A unit of
/// rounding is left for each of a hundred mechanisms in each query.
pub fn affordable_epsilon(epsilon: Epsilon, cost: Rho, left: Rho, queries: usize) -> Epsilon {
    let rest = left.units().saturating_sub(100 * queries as u64) as f64;
    let fraction = (rest / cost.units().max(1) as f64).min(1.0) * (1.0 - 1e-9);
    let shared = Rho::from_f64_down(pure_in_rho(epsilon.to_f64()) * fraction)
        .map_or(Epsilon::ZERO, |rho| pure_epsilon(rho, 1));
    // As a whole a query costs no less than its mechanisms together.
    if queries == 1 { shared.max(pure_epsilon(left, 1)) } else { shared }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::{analytic_gaussian_mu, pure_rho};

    fn epsilon(epsilon: &str, delta: &str) -> Loss {
        Loss::Approximate { epsilon: epsilon.parse().unwrap(), delta: delta.parse().unwrap() }
    }

    fn rho(rho: &str, delta: &str) -> Loss {
        Loss::Concentrated { rho: rho.parse().unwrap(), delta: delta.parse().unwrap() }
    }

    /// A loss in epsilon costs in rho what its mechanisms do, if those are all of it.
    #[test]
    fn a_budget_in_rho_pays_for_the_mechanisms_of_an_epsilon() {
        let half = Event::DiscreteLaplace { epsilon: "0.5".parse().unwrap() };
        let asked = epsilon("1", "0");
        let in_rho = |events: &[Event]| cost(asked, events, rho("10", "0")).unwrap();
        assert_eq!(in_rho(&[half, half]), rho("0.244918662404", "0"));
        let whole = rho("0.462117157261", "0");
        assert_eq!(in_rho(&[asked.into()]), whole);
        // A quantile in one group, and in up to four.
        let quantile = |draws| {
            let epsilon = "1".parse().unwrap();
            [Event::BoundedRange { epsilon, draws: NonZeroU32::new(draws).unwrap() }]
        };
        assert_eq!(in_rho(&quantile(1)), rho("0.125", "0"));
        assert_eq!(in_rho(&quantile(4)), rho("0.03125", "0"));
        // Where the events are less than what was asked, or more, they are not believed.
        assert_eq!(in_rho(&[half]), whole);
        assert_eq!(in_rho(&[half; 3]), whole);
        assert_eq!(in_rho(&[]), whole);
        // In epsilon it costs itself, and a loss in rho is not paid there.
        assert_eq!(cost(asked, &[half, half], epsilon("2", "0")), Ok(asked));
        assert_eq!(cost(rho("0.1", "0"), &[], epsilon("2", "0")), Err(LossError::Currency));
    }

    /// A loss in epsilon and delta that is all Gaussian noise costs the rho of the noise, and the
    /// delta that is left for choosing groups.
    #[test]
    fn a_budget_in_rho_pays_for_gaussian_noise_by_its_rho() {
        let mu = analytic_gaussian_mu(1.0, 5e-9);
        let noise_rho = Rho::from_f64_down(0.5 * mu * mu * (1.0 - 1e-12)).unwrap();
        let noise = |rho: Rho| Event::Gaussian { mu_squared: rho.into() };
        let choosing =
            Event::Approximate { epsilon: Epsilon::ZERO, delta: "5e-9".parse().unwrap() };
        let in_rho =
            |events: &[Event]| cost(epsilon("1", "1e-8"), events, rho("10", "1e-6")).unwrap();
        let exact = Loss::Concentrated { rho: noise_rho, delta: "5e-9".parse().unwrap() };
        assert_eq!(in_rho(&[choosing, noise(noise_rho)]), exact);
        assert!(noise_rho.to_f64() < 0.05 * 0.46);
        let halves = noise_rho.split(&[1, 1]);
        assert_eq!(in_rho(&[choosing, noise(halves[0]), noise(halves[1])]), exact);
        // Where the events are less than what was asked, more, or other noise, they are not
        // believed.
        let whole = rho("0.462117157261", "1e-8");
        assert_eq!(in_rho(&[choosing, noise(noise_rho.share(2))]), whole);
        assert_eq!(in_rho(&[choosing, noise(noise_rho), noise(noise_rho.share(2))]), whole);
        assert_eq!(in_rho(&[choosing, choosing, choosing, noise(noise_rho)]), whole);
        let laplace = Event::DiscreteLaplace { epsilon: "0.5".parse().unwrap() };
        assert_eq!(in_rho(&[choosing, noise(noise_rho), laplace]), whole);
    }

    #[test]
    fn the_epsilon_for_several_fits() {
        for (whole, weights, left) in
            [("1", &[1u32, 1, 1][..], "0.1"), ("3.3", &[5, 1], "2"), ("0.01", &[1; 7], "1e-6")]
        {
            let cost = |epsilon: Epsilon| {
                let rhos = epsilon.split(weights).into_iter().map(pure_rho);
                rhos.reduce(|a, b| a.checked_add(b).unwrap()).unwrap()
            };
            let (asked, left): (Epsilon, Rho) = (whole.parse().unwrap(), left.parse().unwrap());
            let most = affordable_epsilon(asked, cost(asked), left, weights.len());
            assert!(cost(most) <= left, "{whole}");
            assert!(cost(most).to_f64() > 0.96 * left.to_f64(), "{whole}");
        }
    }
}
