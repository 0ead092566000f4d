//! The grid against closed forms and plain sums, at random parameters.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use proptest::prelude::*;

use super::*;

/// By direct convolution, and by transforms only.
fn on_the_grid(events: &ComposingEvents, delta: f64) -> [f64; 2] {
    let (tilt, moments) = events.epsilon_at(delta);
    [usize::MAX, 0].map(|work| {
        let law = convolution::with_work(events, tilt, work);
        // One law alone needs neither.
        assert_eq!(law.error > 0.0, work == 0 && events.responses.len() > 1);
        falls_to(delta, 0.0, moments, |epsilon| law.delta_at(epsilon, events))
    })
}

fn delta_on_the_grid(events: &ComposingEvents, epsilon: f64) -> [f64; 2] {
    let (tilt, _) = events.ln_delta_at(epsilon);
    [usize::MAX, 0].map(|work| convolution::with_work(events, tilt, work).delta_at(epsilon, events))
}

/// A Gaussian event's delta at any real epsilon.
fn gaussian_at(mu: f64, epsilon: f64) -> f64 {
    if epsilon >= 0.0 {
        return gaussian_delta(mu, epsilon);
    }
    // With the roles of the two laws exchanged: 1 - e^eps (1 - delta at -eps).
    1.0 - epsilon.exp() + epsilon.exp() * gaussian_delta(mu, -epsilon)
}

/// Responses with a Gaussian event on top: a sum over the outcomes.
fn responses_with_gaussian(epsilon0: f64, times: u32, mu: f64, epsilon: f64) -> f64 {
    let p = 1.0 / (1.0 + (-epsilon0).exp());
    let mut weight = p.powi(times as i32);
    let mut delta = 0.0;
    for less in 0..=times {
        let loss = f64::from(times as i32 - 2 * less as i32) * epsilon0;
        delta += weight * gaussian_at(mu, epsilon - loss);
        weight *= f64::from(times - less) / f64::from(less + 1) * (-epsilon0).exp();
    }
    delta
}

/// Several discrete Gaussians of one kind: their sum's law by plain convolution.
fn lattices_plainly(s: f64, shift: u32, times: u32, epsilon: f64) -> f64 {
    let reach = (9.0 * s.sqrt()).ceil() as i32 + 2;
    let law: Vec<f64> = (-reach..=reach).map(|y| (-f64::from(y * y) / (2.0 * s)).exp()).collect();
    let total: f64 = law.iter().sum();
    let mut sum = vec![1.0];
    for _ in 0..times {
        let mut next = vec![0.0; sum.len() + law.len() - 1];
        for (i, a) in sum.iter().enumerate() {
            for (j, b) in law.iter().enumerate() {
                next[i + j] += a * b / total;
            }
        }
        sum = next;
    }
    let (shift, times) = (f64::from(shift), f64::from(times));
    let lowest = -f64::from(reach) * times;
    let losses =
        (0..sum.len()).map(|i| shift * (2.0 * (lowest + i as f64) + times * shift) / (2.0 * s));
    losses.zip(&sum).filter(|(l, _)| *l > epsilon).map(|(l, w)| -w * (epsilon - l).exp_m1()).sum()
}

/// A number whose logarithm is uniform.
fn between(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low.ln()..high.ln()).prop_map(f64::exp)
}

/// Checks that `got` is at or above `want`, except for the rounding of `want`, and by at most that
/// part of it. Where delta is about 1e-15, `want` is rounded up by 5e-10 of it and more.
fn above(both: [f64; 2], want: f64, most: f64) -> Result<(), TestCaseError> {
    for got in both {
        prop_assert!(got >= want * (1.0 - 1e-8), "{got} < {want}, {:e}", 1.0 - got / want);
        prop_assert!(got <= want * (1.0 + most), "{got} > {want}, {:e}", got / want - 1.0);
    }
    Ok(())
}

/// Checks events of discrete Gaussians with parameter s and that shift, together and apart, at an
/// epsilon that is such a fraction of what there may be.
fn near_the_convolution(
    s: f64,
    shift: u32,
    times: u32,
    fraction: f64,
) -> Result<(), TestCaseError> {
    let event = DiscreteGaussianEvent::new(s, shift.into()).unwrap();
    let mu_squared = f64::from(times * shift * shift) / s;
    let epsilon = fraction * (0.5 * mu_squared + 5.0 * mu_squared.sqrt());
    let want = lattices_plainly(s, shift, times, epsilon);
    prop_assume!(want > 1e-12);
    // Apart, losses are not on the grid, and epsilon may be next to one of them: with few and large
    // losses nearly all of delta then comes from those that are within a step above it.
    let most = lattices_plainly(s, shift, times, epsilon * (1.0 - 1e-3));
    for lattices in [
        vec![Lattice { event, times: times.into() }],
        vec![Lattice { event, times: 1 }; times as usize],
    ] {
        let events = ComposingEvents { lattices, ..ComposingEvents::default() };
        for got in delta_on_the_grid(&events, epsilon) {
            prop_assert!(got >= want * (1.0 - 1e-9), "{got} < {want}");
            prop_assert!(got <= most * 1.02, "{got} > {most}, {want}");
        }
    }
    Ok(())
}

/// An epsilon just below one of a few losses that are far apart.
#[test]
fn discrete_gaussians_next_to_a_loss_are_near_their_convolution() {
    near_the_convolution(0.1648647789129463, 3, 10, 0.9804071524055603).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_gaussian_on_the_grid_is_the_gaussian(
        mu in between(1e-3, 30.0),
        delta in between(1e-15, 0.01),
    ) {
        let events = ComposingEvents { mu_squared: mu * mu, ..ComposingEvents::default() };
        above(on_the_grid(&events, delta), gaussian_epsilon_at(mu, delta), 1e-3)?;
    }

    #[test]
    fn responses_one_by_one_are_the_closed_form(
        epsilon in between(1e-3, 3.0),
        times in 1usize..80,
        delta in between(1e-15, 0.01),
    ) {
        let one = Responses { epsilon, times: 1 };
        let apart = ComposingEvents { responses: vec![one; times], ..ComposingEvents::default() };
        let all = Responses { times: times as u64, ..one };
        let closed = ComposingEvents { responses: vec![all], ..ComposingEvents::default() };
        let (tilt, moments) = closed.epsilon_at(delta);
        let law = binomial::tilted(all, &closed, tilt);
        let want = falls_to(delta, 0.0, moments, |epsilon| law.delta_at(epsilon, &closed));
        above(on_the_grid(&apart, delta), want, 1e-3)?;
    }

    #[test]
    fn mixtures_are_the_sum_over_outcomes(
        epsilon0 in between(0.01, 2.0),
        times in 1u32..40,
        mu in between(0.05, 5.0),
        fraction in 0.0..1.5f64,
    ) {
        let one = Responses { epsilon: epsilon0, times: 1 };
        let responses = vec![one; times as usize];
        let mu_squared = mu * mu;
        let events = ComposingEvents { mu_squared, responses, ..Default::default() };
        let spread = (f64::from(times) * epsilon0 * epsilon0 + mu * mu).sqrt();
        let epsilon = (fraction * 4.0 * spread).min(0.9 * f64::from(times) * epsilon0 + 4.0 * mu);
        let want = responses_with_gaussian(epsilon0, times, mu, epsilon);
        // A delta moves by more than the epsilon that it is at: seldom by 1e-3.
        above(delta_on_the_grid(&events, epsilon), want, 1e-2)?;
    }

    #[test]
    fn discrete_gaussians_are_their_convolution(
        s in between(0.1, 30.0),
        shift in 1u32..4,
        times in 1u32..12,
        fraction in 0.0..1.0f64,
    ) {
        near_the_convolution(s, shift, times, fraction)?;
    }

    /// Gaussian noise is zCDP, so that knowing only its rho gives more; and no more than what the
    /// moments or an even split of epsilon give.
    #[test]
    fn what_is_known_in_rho_only_is_between_its_bounds(
        epsilon0 in between(0.01, 1.0),
        times in 1u64..60,
        rho in between(1e-3, 2.0),
        epsilon in between(0.1, 10.0),
    ) {
        let responses = vec![Responses { epsilon: epsilon0, times }];
        let mu_squared = 2.0 * rho;
        let alone = ComposingEvents { responses, ..Default::default() };
        let known = ComposingEvents { mu_squared, ..alone.clone() };
        let events = ComposingEvents { rho, ..alone.clone() };
        let closed = Composition::law(&events, events.ln_delta_at(epsilon).0);
        let [known, _] = delta_on_the_grid(&known, epsilon);
        let [direct, transformed] = delta_on_the_grid(&events, epsilon);
        for got in [direct, transformed, closed.delta_at(epsilon, &events)] {
            prop_assert!(got >= known * (1.0 - 1e-3));
            prop_assert!(got <= events.ln_delta_at(epsilon).1.exp() * (1.0 + 1e-3));
            let [alone, _] = delta_on_the_grid(&alone, 0.5 * epsilon);
            prop_assert!(got <= (alone + zcdp_delta_at(rho, 0.5 * epsilon)) * (1.0 + 1e-3));
        }
    }
}
