use hushtable_noise::{Generator, TestSeed};

use super::*;

const ADD_REMOVE: Neighbouring = Neighbouring::AddRemove;

fn reach(groups: u64) -> Reach {
    Reach { groups, neighbouring: ADD_REMOVE }
}

/// A standard normal deviate, to 2^-40.
fn normal(generator: &mut Generator) -> f64 {
    let law = RoundedGaussian::new(Dyadic::new(1, 40).unwrap());
    law.sample(generator).unwrap() as f64 / 2f64.powi(40)
}

#[test]
fn joint_delta_is_the_divergence_of_the_mechanism() {
    // What the mechanism shows of a unit: whether one of its new groups appeared, else a Gaussian.
    let mut generator = TestSeed(1).generator();
    for (epsilon, mu, appear) in
        [(0.5f64, 0.7f64, 0.05f64), (1.0, 1.2, 0.2), (0.1, 0.05, 0.3), (1.0, 0.0, 0.1)]
    {
        let runs = 400_000;
        // E_P[(1 - e^epsilon Q/P)+], where P is the table with the unit, and then the one without.
        // ln(P/Q), where nothing new has appeared.
        let ratio = |x: f64| mu * x - 0.5 * mu * mu + (-appear).ln_1p();
        let (mut with, mut without) = (0.0, 0.0);
        let (mut with2, mut without2) = (0.0, 0.0);
        for _ in 0..runs {
            let z = normal(&mut generator);
            let p: f64 = if (normal_tail(normal(&mut generator))) < appear {
                1.0
            } else {
                // P = (1 - appear) N(mu, 1), Q = N(0, 1), at a draw of P.
                (1.0 - (epsilon - ratio(z + mu)).exp()).max(0.0)
            };
            with += p;
            with2 += p * p;
            let q: f64 = (1.0 - (epsilon + ratio(z)).exp()).max(0.0);
            without += q;
            without2 += q * q;
        }
        let n = f64::from(runs);
        let error = |sum: f64, squares: f64| 5.0 * ((squares / n - (sum / n).powi(2)) / n).sqrt();
        let want = joint_delta(epsilon, mu, appear, ADD_REMOVE);
        let found = (with / n).max(without / n);
        // Five standard errors: a false alarm once in 1.7 million, eight times.
        let slack = error(with, with2).max(error(without, without2));
        assert!((found - want).abs() <= slack, "{epsilon} {mu} {appear}: {found} {want} {slack}");
    }
}

#[test]
fn joint_delta_lies_between_its_parts() {
    for epsilon in [0.0, 0.1, 1.0, 5.0] {
        for mu in [0.0, 0.1, 1.0, 3.0] {
            for appear in [0.0, 1e-9, 1e-3, 0.5, 1.0] {
                let joint = joint_delta(epsilon, mu, appear, ADD_REMOVE);
                let noise = gaussian_delta(mu, epsilon);
                assert!(joint >= noise.max(appear) * (1.0 - 1e-12));
                let replaced = joint_delta(epsilon, mu, appear, Neighbouring::Replace);
                assert!(joint <= replaced * (1.0 + 1e-12), "{epsilon} {mu} {appear}");
            }
        }
    }
}

#[test]
fn the_worst_case_covers_every_unit() {
    // Every number of groups, and how many of them are new.
    for weights in [Weights::Ones, Weights::Roots] {
        for most in [1u64, 2, 3, 7, 40, 200] {
            for (sigma, threshold) in
                [(0.5, 1.5), (1.0, 4.0), (3.7, 19.0), (3.7, 10.0), (30.0, 100.0)]
            {
                let worst = worst_delta(1.0, (sigma, threshold), reach(most), weights, 0.0);
                let mut exact: f64 = 0.0;
                for groups in 1..=most {
                    let weight = match weights {
                        Weights::Ones => 1.0,
                        Weights::Roots => 1.0 / (groups as f64).sqrt(),
                    };
                    for new in 0..=groups {
                        let appear = appears(threshold, sigma, weight, new as f64);
                        let mu = ((groups - new) as f64).sqrt() * weight / sigma;
                        exact = exact.max(joint_delta(1.0, mu, appear, ADD_REMOVE));
                    }
                }
                assert!(worst >= exact * (1.0 - 1e-12), "{weights:?} {most} {sigma} {threshold}");
                // For few groups the steps are the numbers themselves.
                if weights == Weights::Ones && most <= 128 {
                    assert!(worst <= exact * (1.0 + 1e-9), "{most} {sigma}: {worst} {exact}");
                }
            }
        }
    }
}

#[test]
fn the_derivative_over_the_number_of_groups_changes_its_sign_once() {
    // appears_at_most looks at the ends only: 1/2 + ln Phi(z) (z + h) / h < 0 with h = phi / Phi.
    for step in -3500..=3500 {
        let z = f64::from(step) / 100.0;
        let cdf = normal_tail(-z);
        let h = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt() / cdf;
        let ln_cdf = if z > 0.0 { (-normal_tail(z)).ln_1p() } else { cdf.ln() };
        let sign = 0.5 + ln_cdf * (z + h) / h;
        if h > 1e-300 && cdf > 1e-300 {
            assert!(sign < 0.0, "{z}: {sign}");
        }
    }
    for most in [1u64, 2, 10, 300] {
        for (sigma, threshold) in [(0.1, 0.9), (0.3, 1.2), (1.0, 3.0), (3.7, 19.0), (50.0, 60.0)] {
            let exact = (1..=most)
                .map(|t| appears(threshold, sigma, 1.0 / (t as f64).sqrt(), t as f64))
                .fold(0.0, f64::max);
            let found = appears_at_most(threshold, sigma, most, Weights::Roots);
            assert!((found - exact).abs() <= 1e-12 * exact, "{most} {sigma}: {found} {exact}");
        }
    }
}

#[test]
fn delta_need_not_be_halved() {
    // epsilon = 1, delta = 1e-5: the halved threshold, as Gopi et al. have it, is 20.79 at kappa = 100.
    for (groups, halved) in [(50, 20.336), (100, 20.790), (200, 21.244)] {
        let (law, threshold) = calibrate(1.0, 1e-5, reach(groups), Weights::Roots, 0.0).unwrap();
        let threshold = threshold as f64 / FINE as f64;
        let sigma = law.sigma().to_f64() / FINE as f64;
        assert!(threshold < 0.945 * halved, "{groups}: {threshold}");
        let worst = worst_delta(1.0, (sigma, threshold), reach(groups), Weights::Roots, 0.0);
        assert!(worst <= 1e-5 && worst > 0.99e-5, "{worst}");
    }
}
