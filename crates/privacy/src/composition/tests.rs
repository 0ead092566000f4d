//! Totals against 60-digit values, closed forms and each other.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hushtable_testkit::{Vectors, amount, number};

use super::*;

fn vectors(section: &str) -> Vec<serde_json::Value> {
    Vectors::Accounting.section(section)
}

fn of(events: &[(Event, u64)]) -> Composition {
    Composition::new(events).unwrap()
}

fn gaussian(mu: &str) -> Event {
    Event::Gaussian { mu_squared: mu.parse::<crate::Mu>().unwrap().into() }
}

fn response(epsilon: &str) -> Event {
    Event::DiscreteLaplace { epsilon: epsilon.parse().unwrap() }
}

fn zcdp(rho: &str) -> Event {
    Event::Concentrated { rho: rho.parse().unwrap(), delta: Delta::ZERO }
}

fn lattice(sigma_squared: f64, sensitivity: u64) -> Event {
    Event::DiscreteGaussian(DiscreteGaussianEvent::new(sigma_squared, sensitivity).unwrap())
}

/// Checks that `got` is at or above `want`, and by at most `within` of it.
fn above(got: f64, want: f64, within: f64, what: &str) {
    assert!(got >= want, "{what}: {got} < {want}");
    assert!(got <= want * (1.0 + within), "{what}: {got} > {want}");
}

#[test]
fn gaussians_are_as_in_the_vectors() {
    for row in vectors("gaussian_composition") {
        let events: Vec<(Event, u64)> = row["mu"]
            .as_array()
            .unwrap()
            .iter()
            .map(|mu| (Event::Gaussian { mu_squared: amount::<crate::Mu>(mu).into() }, 1))
            .collect();
        let got = of(&events).delta_at(amount(&row["epsilon"]));
        above(got, number(&row["delta"]), 1e-9, &row["epsilon"].to_string());
    }
    for row in vectors("gaussian_delta") {
        let mu = amount::<crate::Mu>(&row["sensitivity_over_sigma"]);
        let got = of(&[(Event::Gaussian { mu_squared: mu.into() }, 1)]);
        let want = number(&row["delta"]).max(f64::MIN_POSITIVE);
        above(got.delta_at(amount(&row["epsilon"])), want, 1e-8, &row.to_string());
    }
    for row in vectors("zcdp_to_approx") {
        let (rho, delta): (Rho, Delta) = (amount(&row["rho"]), amount(&row["delta"]));
        let got = of(&[(Event::Gaussian { mu_squared: rho.into() }, 1)]).epsilon_at(delta);
        above(got.unwrap().to_f64(), number(&row["epsilon_gaussian"]), 1e-9, &row.to_string());
        let got = of(&[(Event::Concentrated { rho, delta: Delta::ZERO }, 1)]).epsilon_at(delta);
        above(got.unwrap().to_f64(), number(&row["epsilon_any_zcdp"]), 1e-6, &row.to_string());
    }
}

#[test]
fn discrete_laplaces_are_as_in_the_vectors() {
    for row in vectors("discrete_laplace_composition") {
        let epsilon: Epsilon = amount(&row["epsilon0"]);
        let all = of(&[(Event::DiscreteLaplace { epsilon }, row["k"].as_u64().unwrap())]);
        let got = all.epsilon_at(amount(&row["delta"])).unwrap().to_f64();
        above(got, number(&row["epsilon"]), 1e-9, &row.to_string());
    }
}

#[test]
fn approximate_events_are_as_in_the_vectors() {
    for row in vectors("optimal_composition") {
        let (epsilon, delta) = (amount(&row["epsilon0"]), amount(&row["delta0"]));
        let all = of(&[(Event::Approximate { epsilon, delta }, row["k"].as_u64().unwrap())]);
        let got = all.delta_at(amount(&row["epsilon"]));
        above(got, number(&row["delta"]), 1e-9, &row.to_string());
    }
}

#[test]
fn discrete_gaussians_are_as_in_the_vectors() {
    for row in vectors("discrete_gaussian_delta") {
        let event = lattice(number(&row["sigma_squared"]), row["sensitivity"].as_u64().unwrap());
        let got = of(&[(event, 1)]).delta_at(amount(&row["epsilon"]));
        above(got, number(&row["delta"]), 1e-9, &row.to_string());
    }
}

/// The epsilon at `delta` by the law on the grid and nothing else.
fn on_the_grid(events: &ComposingEvents, delta: f64) -> f64 {
    let (tilt, moments) = events.epsilon_at(delta);
    let law = convolution::tilted(events, tilt);
    falls_to(delta, 0.0, moments, |epsilon| law.delta_at(epsilon, events))
}

/// Makes each event a law of its own, rounded to the grid and convolved.
fn apart(epsilon: f64, times: u64) -> ComposingEvents {
    let one = Responses { epsilon: epsilon * (1.0 + f64::EPSILON), times: 1 };
    let responses = vec![one; usize::try_from(times).unwrap()];
    ComposingEvents { responses, common: one.epsilon, ..ComposingEvents::default() }
}

#[test]
fn the_grid_is_as_in_the_vectors() {
    for row in vectors("discrete_laplace_composition") {
        let events = apart(number(&row["epsilon0"]), row["k"].as_u64().unwrap());
        let got = on_the_grid(&events, number(&row["delta"]));
        above(got, number(&row["epsilon"]), 1e-5, &row.to_string());
    }
    for row in vectors("optimal_composition") {
        let events = apart(number(&row["epsilon0"]), row["k"].as_u64().unwrap());
        let epsilon = number(&row["epsilon"]);
        let (tilt, _) = events.ln_delta_at(epsilon);
        let rest = convolution::tilted(&events, tilt).delta_at(epsilon, &events);
        let intact = (1.0 - number(&row["delta0"])).powi(row["k"].as_i64().unwrap() as i32);
        above(1.0 - intact * (1.0 - rest), number(&row["delta"]), 1e-5, &row.to_string());
    }
    for row in vectors("zcdp_to_approx") {
        let events =
            ComposingEvents { mu_squared: 2.0 * number(&row["rho"]), ..ComposingEvents::default() };
        let got = on_the_grid(&events, number(&row["delta"]));
        above(got, number(&row["epsilon_gaussian"]), 1e-5, &row.to_string());
    }
    for row in vectors("discrete_gaussian_delta") {
        let event = DiscreteGaussianEvent::new(
            number(&row["sigma_squared"]),
            row["sensitivity"].as_u64().unwrap(),
        );
        let lattices = vec![Lattice { event: event.unwrap(), times: 1 }];
        let events = ComposingEvents { lattices, ..ComposingEvents::default() };
        let epsilon = number(&row["epsilon"]);
        let (tilt, _) = events.ln_delta_at(epsilon);
        let got = convolution::tilted(&events, tilt).delta_at(epsilon, &events);
        above(got, number(&row["delta"]), 1e-4, &row.to_string());
    }
}

/// 10,000 discrete Laplaces, for which a widely used accountant is 4e-8 low: convolved on the grid
/// one by one, with losses on it and not, against the closed form.
#[test]
fn ten_thousand_discrete_laplaces_are_not_too_low() {
    for (epsilon0, delta) in [("0.01", "1e-6"), ("0.001", "1e-10")] {
        let exact = of(&[(response(epsilon0), 10_000)]).epsilon_at(delta.parse().unwrap());
        let one_by_one = apart(epsilon0.parse().unwrap(), 10_000);
        for events in [ComposingEvents { common: 0.0, ..one_by_one.clone() }, one_by_one] {
            let got = on_the_grid(&events, delta.parse().unwrap());
            // The closed form is rounded up to the twelfth place.
            above(got, exact.unwrap().to_f64() - 1e-12, 1e-4, epsilon0);
        }
    }
}

/// By 60-digit arithmetic.
#[test]
fn the_closed_form_holds_for_many() {
    for (epsilon0, times, epsilon, want) in [
        ("0.01", 10_000, "4.9", 9.322_934_760_839_432e-7),
        ("0.5", 1000, "200", 9.870_978_049_513_232e-8),
        ("0.001", 1_000_000, "5", 5.793_345_416_262_418e-7),
        ("0.001", 1_000_000, "8.5", 6.738_916_366_657_319e-17),
        ("0.0001", 1_000_000, "0.45", 8.683_343_990_117_905e-8),
        ("0.01", 1_000_000, "100", 1.878_131_768_838_733e-7),
        ("0.00001", 1_000_000_000, "1.8", 8.015_792_260_187_174e-10),
    ] {
        let all = of(&[(response(epsilon0), times)]);
        above(all.delta_at(epsilon.parse().unwrap()), want, 1e-6, epsilon0);
        if want < 1e-12 {
            // Not near a decimal that is kept.
            continue;
        }
        let delta = Delta::from_f64_down(want).unwrap();
        let got = all.epsilon_at(delta).unwrap().to_f64();
        above(got, epsilon.parse::<f64>().unwrap(), 1e-6, epsilon0);
    }
}

#[test]
fn sums_are_not_rounded() {
    let (epsilon, delta): (Epsilon, Delta) = ("0.1".parse().unwrap(), "1e-7".parse().unwrap());
    let event = Event::Approximate { epsilon, delta };
    // At just the event's own delta only its own epsilon holds, and it is exact.
    let ten = of(&[(event, 10)]);
    assert_eq!(of(&[(event, 1)]).epsilon_at(delta), Some(epsilon));
    assert_eq!(of(&[(event, 1)]).epsilon_at("9.9e-8".parse().unwrap()), None);
    assert_eq!(ten.epsilon_at("9.9e-7".parse().unwrap()), None);
    // Ten deltas of 1e-7 are lost together with a little less than 1e-6.
    let got = ten.epsilon_at("1e-6".parse().unwrap()).unwrap().to_f64();
    assert!(got > 0.999 && got < 1.0, "{got}");
    assert_eq!(of(&[(response("0.1"), 3)]).epsilon_at(Delta::ZERO), "0.3".parse().ok());
    assert_eq!(of(&[(response("0.1"), 3)]).delta_at("0.3".parse().unwrap()), 0.0);
    assert!(of(&[(response("0.1"), 3)]).delta_at("0.299999999999".parse().unwrap()) > 0.0);
    // Nothing but a delta.
    let nothing = Event::Approximate { epsilon: Epsilon::ZERO, delta };
    assert_eq!(of(&[(nothing, 10)]).epsilon_at("1e-6".parse().unwrap()), Some(Epsilon::ZERO));
    above(of(&[(nothing, 10)]).delta_at(Epsilon::ZERO), 9.999_995_5e-7, 1e-9, "lost");
    assert_eq!(of(&[]).epsilon_at(Delta::ZERO), Some(Epsilon::ZERO));
    assert_eq!(of(&[]).delta_at(Epsilon::ZERO), 0.0);
    // Events that are not pure have no epsilon at a delta of zero.
    for event in [gaussian("1"), lattice(20.0, 1), zcdp("0.5")] {
        assert_eq!(of(&[(event, 1), (response("1"), 1)]).epsilon_at(Delta::ZERO), None);
    }
}

#[test]
fn what_cannot_be_added_is_refused() {
    let most = Composition::MOST;
    let mut all = of(&[(response("1"), most), (gaussian("10000"), 1)]);
    for (event, times, error) in [
        (response("1"), 1, CompositionError::Times(most + 1)),
        (response("2"), 0, CompositionError::Times(0)),
        (gaussian("1"), u64::MAX, CompositionError::Times(u64::MAX)),
        (gaussian("1"), 1, CompositionError::Gaussian),
        (zcdp("1"), most + 1, CompositionError::Times(most + 1)),
    ] {
        assert_eq!(all.add(&event, times), Err(error));
    }
    let one = Event::Approximate { epsilon: Epsilon::ZERO, delta: "1e-9".parse().unwrap() };
    all.add(&one, most).unwrap();
    assert_eq!(all.add(&one, 1), Err(CompositionError::Times(most + 1)));
}

/// More events never promise more, and all kinds go together; each total is at most the sum of the
/// events' at a split delta.
#[test]
fn every_event_adds_up() {
    let delta: Delta = "1e-6".parse().unwrap();
    let approximate =
        Event::Approximate { epsilon: "0.3".parse().unwrap(), delta: "1e-8".parse().unwrap() };
    let events = [
        (gaussian("0.4"), 3),
        (response("0.1"), 20),
        (approximate, 2),
        (lattice(50.0, 2), 4),
        (lattice(0.5, 1), 1),
        (zcdp("0.02"), 2),
        (response("2.25"), 1),
    ];
    let mut before = (0.0, Epsilon::ZERO);
    for upto in 1..=events.len() {
        let all = of(&events[..upto]);
        let now = (all.delta_at("1".parse().unwrap()), all.epsilon_at(delta).unwrap());
        assert!(now.0 > before.0 && now.1 > before.1, "{upto}: {now:?} {before:?}");
        let seventh = Delta::from_units(delta.units() / 7).unwrap();
        let apart: f64 = events[..upto]
            .iter()
            .map(|event| of(&[*event]).epsilon_at(seventh).unwrap().to_f64())
            .sum();
        assert!(now.1.to_f64() <= apart, "{upto}: {now:?} {apart}");
        // There and back.
        let back = all.delta_at(now.1);
        assert!(
            back <= delta.to_f64() * (1.0 + 1e-3) && back > 0.99 * delta.to_f64(),
            "{upto}: {back}"
        );
        before = now;
    }
}

/// Where nothing is well-conditioned: the bounds hold, and nothing is lost on the way.
#[test]
fn extremes_have_a_total() {
    for (events, delta, least, most) in [
        // A loss that is almost sure, next to one that is almost nothing.
        (vec![(response("999999"), 1), (gaussian("0.001"), 1)], "1e-6", 999_999.0, 999_999.1),
        (vec![(response("30"), 2), (gaussian("1e-6"), 1)], "1e-9", 59.9, 60.1),
        (vec![(lattice(0.01, 1), 3), (response("0.5"), 1)], "1e-9", 150.0, 150.6),
        (vec![(response("1e-9"), 1_000_000), (gaussian("1e-6"), 1)], "1e-12", 0.0, 1e-4),
        (vec![(lattice(1e6, 1), 1_000_000_000), (response("0.1"), 1)], "1e-6", 500.0, 800.0),
        (vec![(gaussian("100"), 1), (response("0.1"), 7)], "1e-18", 5000.0, 6000.0),
        (vec![(gaussian("1"), 1), (response("0.1"), 7)], "0.9", 0.0, 0.01),
        // Where every value at a small epsilon is below the smallest double.
        (vec![(zcdp("5.6"), 21_660), (response("1.575"), 1)], "2.7e-8", 121_296.0, 130_000.0),
        // Losses in two heaps, far from each other.
        (vec![(response("1e-6"), 50_000), (lattice(0.017, 1), 1)], "1e-12", 29.4, 29.5),
        (vec![(zcdp("1000"), 1), (response("0.1"), 7)], "1e-6", 1000.0, 1300.0),
    ] {
        let all = of(&events);
        let got = all.epsilon_at(delta.parse().unwrap()).map(Epsilon::to_f64);
        assert!(got.is_some_and(|e| (least..=most).contains(&e)), "{events:?}: {got:?}");
    }
    let too_much = of(&[(response("1000000"), 2)]);
    assert_eq!(too_much.epsilon_at(Delta::ZERO), None);
    assert!(too_much.delta_at("1000000".parse().unwrap()) > 0.999);
}
