use hushtable_noise::{Generator, Law, TestSeed};
use hushtable_privacy::{gaussian_delta, hockey_stick};

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
    // The mechanism's output for the two units: whether one of their unshared groups appeared, else
    // a Gaussian.
    let mut generator = TestSeed(1).generator();
    for (epsilon, mu, left, entered) in [
        (0.5f64, 0.7f64, 0.05f64, 0.0f64),
        (0.5, 0.7, 0.0, 0.05),
        (1.0, 1.2, 0.2, 0.1),
        (0.1, 0.05, 0.3, 0.3),
        (1.0, 0.0, 0.1, 0.7),
    ] {
        let runs = 400_000;
        // E_P[(1 - e^epsilon Q/P)+] for P = (1 - left) N(mu, 1) and Q = (1 - entered) N(0, 1),
        // where no unshared group has appeared.
        let shift = (-left).ln_1p() - (-entered).ln_1p();
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..runs {
            let x = normal(&mut generator) + mu;
            let p: f64 = if normal_tail(normal(&mut generator)) < left {
                1.0
            } else {
                (1.0 - (epsilon - (mu * x - 0.5 * mu * mu + shift)).exp()).max(0.0)
            };
            sum += p;
            squares += p * p;
        }
        let n = f64::from(runs);
        let want = joint_delta(epsilon, mu, left, entered);
        let estimate = sum / n;
        // Five standard errors: a false alarm once in 1.7 million, five times.
        let slack = 5.0 * ((squares / n - estimate * estimate) / n).sqrt() + 1e-12;
        assert!(
            (estimate - want).abs() <= slack,
            "{epsilon} {mu} {left} {entered}: {estimate} {want}"
        );
    }
}

#[test]
fn joint_delta_lies_between_its_terms() {
    let appears = [0.0, 1e-9, 1e-3, 0.5, 1.0];
    for epsilon in [0.0, 0.1, 1.0, 5.0] {
        for mu in [0.0, 0.1, 1.0, 3.0] {
            let mut before = [0.0; 5];
            for left in appears {
                let mut last = 0.0;
                for (entered, before) in appears.into_iter().zip(&mut before) {
                    let joint = joint_delta(epsilon, mu, left, entered);
                    let least = left.max(last).max(*before);
                    assert!(joint >= least * (1.0 - 1e-12), "{epsilon} {mu} {left} {entered}");
                    (last, *before) = (joint, joint);
                    if left.max(entered) < 1.0 {
                        let most = left + hockey_stick(mu, epsilon + (-entered).ln_1p());
                        assert!(joint <= most * (1.0 + 1e-12), "{epsilon} {mu} {left} {entered}");
                    }
                }
                assert!(last >= gaussian_delta(mu, epsilon) * (1.0 - 1e-12));
            }
        }
    }
}

/// Groups of one unit: some that it has for itself, some that it shares.
type Groups = (u32, u32);

/// The divergence of the tables' released counts, by enumeration: noise is rounded to quarters of a
/// unit, which loses a little of it, and shared groups are so large that they appear for certain.
fn enumerated(epsilon: f64, (sigma, threshold): (f64, f64), left: Groups, entered: Groups) -> f64 {
    let mass = |x: i32, shift: i32| {
        let at = f64::from(x - 4 * shift);
        normal_tail((at - 0.5) / 4.0 / sigma) - normal_tail((at + 0.5) / 4.0 / sigma)
    };
    let hidden = |groups: u32| (1.0 - normal_tail((threshold - 1.0) / sigma)).powi(groups as i32);
    // Probabilities of one outcome after the other in both tables, where no unshared group has
    // appeared.
    let mut laws = vec![(hidden(left.0), hidden(entered.0))];
    for group in 0..left.1 + entered.1 {
        let (first, second) = if group < left.1 { (1, 0) } else { (0, 1) };
        let points = -24..=28;
        laws = laws
            .iter()
            .flat_map(|&(p, q)| {
                points.clone().map(move |x| (p * mass(x, first), q * mass(x, second)))
            })
            .filter(|&(p, q)| p + q > 1e-12)
            .collect();
    }
    let probability = 1.0 - hidden(left.0);
    probability + laws.iter().map(|&(p, q)| (p - epsilon.exp() * q).max(0.0)).sum::<f64>()
}

/// The largest delta of all neighbours, by trial.
fn worst(neighbours: &Neighbours, epsilon: f64, noise: (f64, f64)) -> f64 {
    first(0.0, 1.0, 50, |delta| neighbours.keep_within(epsilon, delta, &[noise]))
}

#[test]
fn small_tables_show_what_the_formula_says() {
    for (epsilon, sigma, threshold) in [(0.5, 1.5, 3.0), (1.0, 1.2, 2.0), (0.2, 2.0, 2.0)] {
        for most in [1, 2u32] {
            let (mut enumeration, mut formula) = ([0f64; 2], [0f64; 2]);
            for (unshared, other) in (0..=most).flat_map(|a| (0..=most).map(move |b| (a, b))) {
                let (left, entered) = ((unshared, most - unshared), (other, most - other));
                let appear = |n: u32| appears(threshold, sigma, 1.0, f64::from(n));
                let delta = |left: Groups, entered: Groups| {
                    let mu = f64::from(left.1 + entered.1).sqrt() / sigma;
                    let formula = joint_delta(epsilon, mu, appear(left.0), appear(entered.0));
                    let exact = enumerated(epsilon, (sigma, threshold), left, entered);
                    assert!(exact <= formula * (1.0 + 1e-9) + 1e-9, "{exact} {formula}");
                    assert!(exact >= 0.96 * formula, "{left:?} {entered:?}: {exact} {formula}");
                    (exact, formula)
                };
                let alone = [delta(left, (0, 0)), delta((0, 0), left)];
                for (index, all) in [&alone[..], &[delta(left, entered)]].iter().enumerate() {
                    for (exact, bound) in *all {
                        enumeration[index] = enumeration[index].max(*exact);
                        formula[index] = formula[index].max(*bound);
                    }
                }
            }
            for (index, neighbouring) in [ADD_REMOVE, Neighbouring::Replace].iter().enumerate() {
                let reach = Reach { groups: u64::from(most), neighbouring: *neighbouring };
                let all = Neighbours::new(reach, Weights::Ones);
                let worst = worst(&all, epsilon, (sigma, threshold));
                assert!((worst / formula[index] - 1.0).abs() < 1e-9, "{worst} {formula:?}");
                assert!(enumeration[index] <= worst && enumeration[index] > 0.96 * worst);
            }
        }
    }
}

/// Every unit of at most that many groups, by the fraction of its squared weights in unshared
/// groups and the probability that one of these appears.
fn units(most: u64, weights: Weights, (sigma, threshold): (f64, f64)) -> Vec<(f64, f64)> {
    let of = |groups: u64| {
        let (weight, whole) = match weights {
            Weights::Ones => (1.0, most as f64),
            _ => (1.0 / (groups as f64).sqrt(), groups as f64),
        };
        (0..=groups).map(move |unshared| {
            let appear = appears(threshold, sigma, weight, unshared as f64);
            (unshared as f64 / whole, appear)
        })
    };
    let least = if weights == Weights::Ones { most } else { 1 };
    (least..=most).flat_map(of).collect()
}

/// The largest delta of all neighbours, one after the other.
fn one_by_one(neighbours: &Neighbours, epsilon: f64, noise: (f64, f64)) -> f64 {
    let &Neighbours { reach: Reach { groups, neighbouring }, weights, .. } = neighbours;
    let units = units(groups, weights, noise);
    let mu = |shared: [f64; 2]| weights.distance(groups, shared) / noise.0;
    let mut worst: f64 = 0.0;
    for &(left, appear) in &units {
        if neighbouring == ADD_REMOVE {
            let mu = mu([1.0 - left, 0.0]);
            let both = [(appear, 0.0), (0.0, appear)].map(|(a, b)| joint_delta(epsilon, mu, a, b));
            worst = worst.max(both[0]).max(both[1]);
            continue;
        }
        for &(entered, other) in &units {
            let mu = mu([1.0 - left, 1.0 - entered]);
            worst = worst.max(joint_delta(epsilon, mu, appear, other));
        }
    }
    worst
}

const ALL_WEIGHTS: [Weights; 2] = [Weights::Ones, Weights::Roots];

#[test]
fn the_worst_case_covers_every_unit() {
    for neighbouring in [ADD_REMOVE, Neighbouring::Replace] {
        for weights in ALL_WEIGHTS {
            for groups in [1u64, 2, 3, 7] {
                for noise in [(0.5, 1.5), (1.0, 4.0), (3.7, 19.0), (3.7, 10.0), (30.0, 100.0)] {
                    let reach = Reach { groups, neighbouring };
                    let neighbours = Neighbours::new(reach, weights);
                    let exact = one_by_one(&neighbours, 1.0, noise);
                    let worst = worst(&neighbours, 1.0, noise);
                    let case = format!("{neighbouring:?} {weights:?} {groups} {noise:?}");
                    assert!(worst >= exact * (1.0 - 1e-12), "{case}: {worst} {exact}");
                    // Counts are cut into groups themselves, weights into steps.
                    if weights == Weights::Ones || groups == 1 {
                        assert!(worst <= exact * (1.0 + 1e-9) + 1e-15, "{case}: {worst} {exact}");
                    }
                }
            }
        }
    }
}

#[test]
fn thresholds_meet_their_promise_and_no_more() {
    for (epsilon, delta) in [(1.0, 1e-5), (0.1, 1e-9), (5.0, 0.01), (0.5, 0.3), (30.0, 1e-15)] {
        for neighbouring in [ADD_REMOVE, Neighbouring::Replace] {
            for weights in ALL_WEIGHTS {
                for groups in [1u64, 2, 12] {
                    let reach = Reach { groups, neighbouring };
                    let (law, threshold) = calibrate(epsilon, delta, reach, weights).unwrap();
                    let noise = law.sigma().to_f64() / FINE as f64;
                    let noise = (noise, threshold as f64 / FINE as f64);
                    let neighbours = Neighbours::new(reach, weights);
                    let share = one_by_one(&neighbours, epsilon, noise) / delta;
                    let case = format!("{epsilon} {delta} {neighbouring:?} {weights:?} {groups}");
                    assert!(share <= 1.0 && share > 0.98, "{case}: {share}");
                }
            }
        }
    }
}

/// With more groups than are listed one by one: units whose groups are all unshared, all shared, or
/// of both kinds.
#[test]
fn many_groups_meet_their_promise_too() {
    for (epsilon, delta) in [(1.0, 1e-5), (0.1, 1e-9)] {
        for neighbouring in [ADD_REMOVE, Neighbouring::Replace] {
            for weights in ALL_WEIGHTS {
                for groups in [40u64, 10_000, 1 << 31] {
                    let reach = Reach { groups, neighbouring };
                    let (law, threshold) = calibrate(epsilon, delta, reach, weights).unwrap();
                    let sigma = law.sigma().to_f64() / FINE as f64;
                    let threshold = threshold as f64 / FINE as f64;
                    let mut worst: f64 = 0.0;
                    for fraction in [0.0, 1.0 / groups as f64, 0.5, 1.0] {
                        let appear = match fraction {
                            0.0 => 0.0,
                            fraction => appears_with_fraction(
                                threshold,
                                sigma,
                                groups,
                                weights,
                                (fraction, fraction),
                            ),
                        };
                        let entered = f64::from(u8::from(neighbouring == Neighbouring::Replace));
                        let mu = weights.distance(groups, [1.0 - fraction, entered]) / sigma;
                        worst = worst.max(joint_delta(epsilon, mu, appear, 0.0));
                    }
                    let case = format!("{epsilon} {neighbouring:?} {weights:?} {groups}");
                    let share = worst / delta;
                    assert!(share <= 1.0 && share > 0.98, "{case}: {share}");
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
            let computed = appears_at_most(threshold, sigma, most, Weights::Roots);
            assert!(
                (computed - exact).abs() <= 1e-12 * exact,
                "{most} {sigma}: {computed} {exact}"
            );
        }
    }
}

#[test]
fn delta_need_not_be_halved() {
    // epsilon = 1, delta = 1e-5: the halved threshold, as Gopi et al. have it, is 20.79 at
    // kappa = 100.
    for (groups, halved) in [(50, 20.336), (100, 20.790), (200, 21.244)] {
        let (_, threshold) = calibrate(1.0, 1e-5, reach(groups), Weights::Roots).unwrap();
        assert!(threshold as f64 / FINE as f64 / halved < 0.945, "{groups}: {threshold}");
    }
}
