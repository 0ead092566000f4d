//! Bounded ranges against sums over outcomes and against each t.

use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;
use crate::{Composition, Delta, Event, pure_in_rho};

/// P\[t\] and the two losses.
fn pair(range: f64, t: f64) -> ([f64; 2], [f64; 2]) {
    let high = (t - range).exp_m1() / (-range).exp_m1();
    ([high, 1.0 - high], [t, t - range])
}

fn hockey_stick(weights: &[(f64, f64)], epsilon: f64) -> f64 {
    weights.iter().filter(|(_, l)| *l > epsilon).map(|(p, l)| -p * (epsilon - l).exp_m1()).sum()
}

/// All sums of losses with their probabilities under P.
fn together(laws: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    laws.iter().fold(vec![(1.0, 0.0)], |all, law| {
        let with = |(p, l): &(f64, f64)| law.iter().map(move |(q, m)| (p * q, l + m)).collect();
        all.iter().flat_map(|one: &(f64, f64)| -> Vec<(f64, f64)> { with(one) }).collect()
    })
}

fn at(range: f64, t: f64) -> Vec<(f64, f64)> {
    let (p, l) = pair(range, t);
    p.into_iter().zip(l).collect()
}

fn event(epsilon: f64, draws: u32) -> Event {
    Event::BoundedRange {
        epsilon: Epsilon::from_f64_up(epsilon).unwrap(),
        draws: NonZeroU32::new(draws).unwrap(),
    }
}

/// The closed form is the largest over a fine grid of t for all draws, over pairs of t that differ
/// too, and it is reached.
#[test]
fn the_closed_form_is_the_largest_of_all_t() {
    for range in [0.05, 0.7, 3.0] {
        for draws in [1u64, 2, 3, 9, 30] {
            for fraction in [-0.4, 0.0, 0.1, 0.35, 0.6, 0.9] {
                let epsilon = fraction * draws as f64 * range;
                let ranges = Ranges { range, draws };
                let got = ranges.delta_in_advance(epsilon).unwrap();
                let grid =
                    (1..1000).map(|i| ranges.delta_at(range * f64::from(i) / 1000.0, epsilon));
                let most = grid.fold((-epsilon.exp_m1()).max(0.0), f64::max);
                assert!(
                    got >= most.min(1.0) * (1.0 - 1e-12),
                    "{range} {draws} {fraction}: {got} {most}"
                );
                assert!(got <= most * (1.0 + 1e-2), "{range} {draws} {fraction}: {got} {most}");
                if !(2..=3).contains(&draws) {
                    continue;
                }
                for i in 0..=40 {
                    for j in 0..=40 {
                        let (one, other) =
                            (range * f64::from(i) / 40.0, range * f64::from(j) / 40.0);
                        let mut laws = vec![at(range, one), at(range, other)];
                        laws.truncate(draws as usize);
                        laws.resize(draws as usize, at(range, 0.5 * range));
                        let lost = hockey_stick(&together(&laws), epsilon);
                        assert!(
                            lost <= got + 1e-15,
                            "{range} {draws} {fraction} {i} {j}: {lost} {got}"
                        );
                    }
                }
            }
        }
    }
}

/// The moments at the worst t are those of the best of a fine grid; never more than range^2/8
/// allows; and slopes are slopes.
#[test]
fn moments_are_those_of_the_worst_t() {
    for range in [1e-9, 1e-4, 0.03, 1.0, 7.0, 300.0] {
        for tilt in [1e-6, 0.01, 0.5, 3.0, 40.0, 1e5] {
            let (got, slope) = Ranges { range, draws: 1 }.ln_moment(tilt);
            let moment = |t: f64| {
                let ([high, low], [up, down]) = pair(range, t);
                // About the larger of the two.
                tilt * up + (high + low * (tilt * (down - up)).exp()).ln()
            };
            let most = (1..2000).map(|i| moment(range * f64::from(i) / 2000.0)).fold(0.0, f64::max);
            let square = 0.125 * range * range * tilt * (1.0 + tilt);
            assert!(
                got >= most - 1e-9 * (1.0 + tilt) * range.max(1e-6),
                "{range} {tilt}: {got} {most}"
            );
            assert!(got <= square * (1.0 + 1e-11) && got <= tilt * range * (1.0 + 1e-9) + 1e-12);
            if range * tilt > 1e-3 && range * tilt < 300.0 {
                assert!(got <= most * (1.0 + 1e-2) + 1e-9, "{range} {tilt}: {got} {most}");
                let step = 1e-4 * tilt;
                let next = Ranges { range, draws: 1 }.ln_moment(tilt + step).0;
                let near = (next - got) / step;
                assert!(
                    (slope - near).abs() <= 1e-2 * near + 1e-7,
                    "{range} {tilt}: {slope} {near}"
                );
            }
        }
    }
}

/// The epsilon of 100 draws of range 0.1: 4.77 as pure events, and each bound is near the next.
#[test]
fn a_hundred_draws_cost_half_of_pure_ones() {
    let delta: Delta = "1e-6".parse().unwrap();
    let epsilon = |all: Composition| all.epsilon_at(delta).unwrap().to_f64();
    let of = |event, times| epsilon(Composition::new(&[(event, times)]).unwrap());
    let pure = of(Event::DiscreteLaplace { epsilon: "0.1".parse().unwrap() }, 100);
    let rho = of(Event::Concentrated { rho: "0.125".parse().unwrap(), delta: Delta::ZERO }, 1);
    let adaptive = of(event(0.1, 1), 100);
    let query = of(event(10.0, 100), 1);
    let in_advance = epsilon(Composition::new(&[(event(0.1, 1), 100)]).unwrap().in_advance());
    let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-3, "{got} {want}");
    near(pure, 4.7746);
    near(rho, 2.4191);
    near(adaptive, 2.4002);
    near(query, 2.2460);
    assert!((query / in_advance - 1.0).abs() < 1e-9);
    // Too many for the closed form.
    assert!(of(event(1.0, 10_000), 1) < of(event(1.0, 1), 1));
    // One large draw: no more than its range.
    assert!(of(event(3.0, 1), 1) < 3.0);
    assert_eq!(epsilon(Composition::new(&[(event(0.0, 1), 3)]).unwrap()), 0.0);
}

#[test]
fn ranges_in_rho_are_an_eighth_of_their_squares() {
    let rho = |epsilon: &str, draws| ranges_rho(epsilon.parse().unwrap(), draws).to_string();
    assert_eq!(rho("1", 1), "0.125");
    assert_eq!(rho("1", 4), "0.03125");
    assert_eq!(rho("1", 3), "0.041666666667");
    // As pure ones, each of which loses epsilon tanh(epsilon/2), where ranges are large.
    assert_eq!(rho("40", 1), "40");
    assert_eq!(rho("1000000", 1), "1000000");
    assert_eq!(rho("1000000", 1_000_000), "125000");
    for rho in [1e-9, 0.1, 1.0, 7.0, 8.0, 9.0, 50.0, 1e5] {
        let range = range_of_rho(rho);
        let range_in_rho = |range: f64| (0.125 * range * range).min(pure_in_rho(range));
        assert!(range_in_rho(range) <= rho * (1.0 + 2e-12));
        assert!(range_in_rho(range * (1.0 + 1e-9)) > rho);
    }
    assert!((range_of_rho(0.125) - 1.0).abs() < 1e-15 && range_of_rho(9.0) > 9.0);
}

/// A law with log-ratios in a range: outputs with probabilities and losses, in one direction.
fn mechanism(range: f64, most: usize) -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((0.01..1.0f64, 0.0..=1.0f64, any::<bool>()), 2..=most).prop_map(
        move |outputs| {
            let whole: f64 = outputs.iter().map(|(q, ..)| q).sum();
            // Often at an end of the range.
            let position = |u: f64, end: bool| if end { u.round() } else { u };
            let ratios: Vec<(f64, f64)> =
                outputs.iter().map(|&(q, u, end)| (q / whole, position(u, end) * range)).collect();
            let sum: f64 = ratios.iter().map(|(q, l)| q * l.exp()).sum();
            ratios.iter().map(|(q, l)| (q * l.exp() / sum, l - sum.ln())).collect()
        },
    )
}

/// Three mechanisms, each chosen in view of the answers before, the second and third of them by
/// tables.
fn adaptive(
    first: &[(f64, f64)],
    second: &[Vec<(f64, f64)>],
    third: &[Vec<(f64, f64)>],
) -> Vec<(f64, f64)> {
    let mut all = Vec::new();
    for (i, (p, l)) in first.iter().enumerate() {
        for (j, (q, m)) in second[i % second.len()].iter().enumerate() {
            for (r, n) in &third[(i + 2 * j) % third.len()] {
                all.push((p * q * r, l + m + n));
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// No composition of mechanisms of bounded range, adaptively chosen, of equal ranges or not,
    /// with a randomised response and Gaussian noise among them, loses more than is reported.
    #[test]
    fn no_composition_loses_more_than_is_reported(
        (ranges, first, second, third) in
            [0.05..3.0f64, 0.05..3.0, 0.05..3.0].prop_flat_map(|ranges| {
                let [a, b, c] = ranges;
                (
                    Just(ranges),
                    mechanism(a, 4),
                    prop::collection::vec(mechanism(b, 4), 1..4),
                    prop::collection::vec(mechanism(c, 3), 1..6),
                )
            }),
        response in 0.05..1.5f64,
        fraction in 0.0..1.0f64,
    ) {
        let [a, b, c] = ranges;
        let mut events = vec![(event(a, 1), 1), (event(b, 1), 1), (event(c, 1), 1)];
        let outcomes = adaptive(&first, &second, &third);
        let epsilon = fraction * (a + b + c);
        let at = Epsilon::from_f64_down(epsilon).unwrap();
        let reported = Composition::new(&events).unwrap().delta_at(at);
        let lost = hockey_stick(&outcomes, epsilon);
        prop_assert!(lost <= reported + 1e-14, "{lost} {reported}");
        // With two more kinds, of which the response is the worst that there is.
        let worst = Epsilon::from_f64_up(response).unwrap();
        events.push((Event::DiscreteLaplace { epsilon: worst }, 1));
        let p = 1.0 / (1.0 + (-response).exp());
        let mixed = together(&[outcomes, vec![(p, response), (1.0 - p, -response)]]);
        let epsilon = fraction * (a + b + c + response);
        let at = Epsilon::from_f64_down(epsilon).unwrap();
        let reported = Composition::new(&events).unwrap().delta_at(at);
        let lost = hockey_stick(&mixed, epsilon);
        prop_assert!(lost <= reported + 1e-14, "{lost} {reported}");
        let mu = crate::Mu::from_f64_up(response).unwrap();
        events.push((Event::Gaussian { mu_squared: mu.into() }, 1));
        let reported = Composition::new(&events).unwrap().delta_at(at);
        let gaussian = |x: f64| {
            if x >= 0.0 { crate::gaussian_delta(response, x) } else {
                1.0 - x.exp() + x.exp() * crate::gaussian_delta(response, -x)
            }
        };
        let lost: f64 = mixed.iter().map(|(p, l)| p * gaussian(epsilon - l)).sum();
        prop_assert!(lost <= reported * (1.0 + 1e-9) + 1e-14, "{lost} {reported}");
    }

    /// No more is lost by equal ranges of one query, either: each draw has a law of its own,
    /// whatever the others gave.
    #[test]
    fn no_query_of_several_draws_loses_more_than_is_reported(
        (range, laws) in (0.05..2.0f64).prop_flat_map(|range| {
            (Just(range), prop::collection::vec(mechanism(range, 3), 1..6))
        }),
        fraction in 0.0..1.0f64,
    ) {
        let draws = laws.len() as u32;
        let epsilon = fraction * range * f64::from(draws);
        let all = Composition::new(&[(event(range * f64::from(draws), draws), 1)]).unwrap();
        let at = Epsilon::from_f64_down(epsilon).unwrap();
        let (lost, reported) = (hockey_stick(&together(&laws), epsilon), all.delta_at(at));
        prop_assert!(lost <= reported + 1e-14, "{lost} {reported}");
        let delta = Delta::from_f64_up(reported.clamp(1e-15, 0.9)).unwrap();
        let back = all.epsilon_at(delta).unwrap().to_f64();
        prop_assert!(back <= epsilon + 1e-6 || reported < 1e-15, "{back} {epsilon}");
    }
}
