use hushtable_testkit::{Vectors, number};

use super::*;
use crate::gaussian_delta;

fn delta(sigma_squared: f64, sensitivity: u64, epsilon: f64) -> f64 {
    DiscreteGaussianLoss::new(sigma_squared).unwrap().delta(sensitivity, epsilon).unwrap()
}

/// How far `got` is above `want`, relatively; it must not be below.
fn above(got: f64, want: f64, what: &str) -> f64 {
    assert!(got >= want, "{what}: {got} < {want}");
    got / want - 1.0
}

#[test]
fn delta_is_never_below_the_vectors_and_close_to_them() {
    let rows = Vectors::Accounting.section("discrete_gaussian_delta");
    assert!(rows.len() >= 12);
    let mut most = 0.0f64;
    for row in rows {
        let (s, epsilon) = (number(&row["sigma_squared"]), number(&row["epsilon"]));
        let shift = row["sensitivity"].as_u64().unwrap();
        most = most.max(above(delta(s, shift, epsilon), number(&row["delta"]), &row.to_string()));
    }
    assert!(most < 7e-13, "{most}");
}

/// By 50-digit arithmetic, term by term: where the law is nearly one point, where delta is nearly
/// 1 or next to nothing, and where sigma is large.
#[test]
fn delta_holds_at_the_ends_of_its_range() {
    let mut most = 0.0f64;
    for (s, shift, epsilon, want) in [
        (0.01, 1, 1.0, 0.9999999999999999999992828),
        (0.01, 1, 30.0, 0.999_999_997_938_846_4),
        (0.01, 1, 49.5, 0.393_469_340_287_366_6),
        (0.01, 1, 60.0, 1.928_749_847_963_917_8e-22),
        (0.01, 3, 0.0, 1.0),
        // A hair below the loss of an x, which the rounded border is not: all of delta is x.
        (0.01, 3, 449.99999999999994, 4.747_591_228_340_711_6e-14),
        (0.01, 3, 749.9999999999999, 1.891_608_422_061_091e-35),
        (0.011, 1, 227.27272727272728, 5.926_887_903_512_018e-94),
        (0.05, 1, 2.0, 0.999_619_172_021_462),
        (0.16, 1, 0.5, 0.893_015_387_500_641_7),
        (0.3, 2, 7.0, 0.137_516_103_663_517_77),
        (0.7, 1, 0.0, 0.476_826_275_200_453_7),
        (1.0, 1, 20.0, 2.172_323_903_558_413_4e-88),
        (1.0, 5, 0.1, 0.990_385_323_553_374_3),
        (3.0, 10, 1.0, 0.994_041_747_003_334_3),
        (1000.5, 1, 0.01, 0.008_279_571_133_182_816),
        (1000.5, 100, 10.0, 0.033_667_580_082_952_98),
        (1000.5, 1, 1.0, 1.058_174_762_681_967_5e-222),
        (10000.0, 300, 5.0, 0.319_395_182_796_461_96),
        (10000.0, 1, 0.25, 1.384_654_822_521_259_8e-141),
        (12345678.9, 1, 0.001, 1.577_140_161_168_435e-8),
        (12345678.9, 5000, 1.0, 0.289_723_402_002_060_76),
        (12345678.9, 5000, 40.0, 7.209_326_192_815_846e-167),
        (12345678.9, 1000, 0.0, 0.113_158_923_663_645_73),
    ] {
        let got = delta(s, shift, epsilon);
        most = most.max(above(got, want, &format!("{s} {shift} {epsilon}")));
    }
    assert!(most < 7e-13, "{most}");
}

/// The definition, over all x that matter and in the order of x.
#[test]
fn delta_is_the_sum_over_the_lattice() {
    for s in [0.01, 0.04, 0.2, 0.5, 1.0, 1.0001, 2.7, 9.0, 50.0] {
        let law = |x: i32| (-f64::from(x * x) / (2.0 * s)).exp();
        let total: f64 = (-300..=300).map(law).sum();
        for shift in [1, 2, 3, 7, 40] {
            for epsilon in [0.0, 0.01, 0.3, 1.0, 2.0, 5.0, 12.0] {
                let want: f64 = (-300..=300)
                    .map(|x| (law(x) - f64::exp(epsilon) * law(x - shift)).max(0.0) / total)
                    .sum();
                let got = delta(s, shift.unsigned_abs().into(), epsilon);
                let what = format!("{s} {shift} {epsilon}: {got} {want}");
                // The sum over x cancels, term by term, and its exponents are large.
                assert!(got >= want * (1.0 - 1e-12), "{what}");
                assert!(got <= want * (1.0 + 1e-11) + 1e-15, "{what}");
            }
        }
    }
}

/// With a fine lattice, the discrete law is the continuous one. The largest sigma has more terms
/// than any other.
#[test]
fn delta_goes_over_to_the_continuous_one() {
    for (bits, mu, epsilon) in [(30, 1.0, 0.5), (40, 1.0, 1.0), (40, 3.0, 0.1), (40, 30.0, 1.0)] {
        let s = 2f64.powi(bits);
        let shift = mu * s.sqrt();
        let (got, want) = (delta(s, shift as u64, epsilon), gaussian_delta(mu, epsilon));
        assert!((got / want - 1.0).abs() < 1e-9, "{bits} {mu}: {got} {want}");
    }
    // At a small sigma it is larger (theory section 5).
    assert!(delta(1.0, 1, 1.0) > 1.1 * gaussian_delta(1.0, 1.0));
}

/// An x whose loss is epsilon exactly has no part in delta: sigma^2 = 1/2, y = 0 and a shift of 2
/// have loss 4 = epsilon.
#[test]
fn ties_and_their_neighbours() {
    let tie = delta(0.5, 2, 4.0);
    let law = DiscreteGaussianLoss::new(0.5).unwrap();
    // P[Y > 0] - e^4 P[Y > 2].
    let weights = |from: i32| (from..20).map(|y| law.weight(f64::from(y))).sum::<f64>();
    let want = (weights(1) - 4f64.exp() * weights(3)) / law.normaliser();
    assert!((tie / want - 1.0).abs() < 1e-12, "{tie} {want}");
    for neighbour in [4f64.next_down(), 4f64.next_up()] {
        assert!((delta(0.5, 2, neighbour) / tie - 1.0).abs() < 1e-13);
    }
}

#[test]
fn delta_falls_with_epsilon_and_rises_with_the_sensitivity() {
    for s in [0.01, 0.3, 1.0, 17.0, 1e6] {
        let mut before = vec![f64::INFINITY; 12];
        for epsilon in [0.0, 1e-9, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0, 1e6, f64::INFINITY] {
            let deltas: Vec<f64> = (1..=12).map(|shift| delta(s, shift, epsilon)).collect();
            for (now, before) in deltas.iter().zip(&before) {
                assert!(*now <= before * (1.0 + 1e-12), "{s} {epsilon}");
            }
            for pair in deltas.windows(2) {
                assert!(pair[0] <= pair[1] * (1.0 + 1e-12), "{s} {epsilon}");
            }
            before = deltas;
        }
        assert_eq!(before, [f64::MIN_POSITIVE; 12]);
    }
}

#[test]
fn what_is_out_of_range_is_refused() {
    for s in [0.0, -1.0, 0.0099, 1.1e12, f64::NAN, f64::INFINITY] {
        assert!(DiscreteGaussianLoss::new(s).is_err(), "{s}");
    }
    let law = DiscreteGaussianLoss::new(1.0).unwrap();
    for sensitivity in [0, (1 << 25) + 1, u64::MAX] {
        let error = law.delta(sensitivity, 1.0).unwrap_err();
        assert_eq!(error, DiscreteGaussianError::Sensitivity(sensitivity));
    }
    assert_eq!(law.delta(1 << 25, 1.0), Ok(1.0));
    assert_eq!(law.delta(1, -1.0), Ok(1.0));
    assert_eq!(law.delta(1, f64::NAN), Ok(1.0));
}

#[test]
fn variances_and_probabilities_are_those_of_the_vectors() {
    for row in Vectors::Noise.section("discrete_gaussian") {
        let law = DiscreteGaussianLoss::new(number(&row["sigma_squared"])).unwrap();
        let want = number(&row["variance"]);
        assert!((law.variance() / want - 1.0).abs() < 1e-14, "{row}: {}", law.variance());
        let want = number(&row["pmf_at_0"]);
        assert!((1.0 / law.normaliser() / want - 1.0).abs() < 1e-14, "{row}");
    }
    // Both forms of the sums are right on both sides of where they change over.
    for s in [0.5, 0.999, 1.0, 1.0f64.next_up(), 2.0] {
        let law = DiscreteGaussianLoss::new(s).unwrap();
        let terms = || (1..50).rev().map(f64::from).map(|x| (x, (-x * x / (2.0 * s)).exp()));
        let total: f64 = 1.0 + 2.0 * terms().map(|(_, w)| w).sum::<f64>();
        let squares: f64 = 2.0 * terms().map(|(x, w)| x * x * w).sum::<f64>();
        assert!((law.normaliser() / total - 1.0).abs() < 1e-14, "{s}");
        assert!((law.variance() / (squares / total) - 1.0).abs() < 1e-14, "{s}");
    }
}
