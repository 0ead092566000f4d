//! The laws against values computed elsewhere with 60 digits.

use hushtable_noise::{DiscreteGaussian, DiscreteLaplace, Dyadic, Law, Ratio, RoundedGaussian};
use hushtable_testkit::Vectors;
use serde_json::Value;

fn close(name: &str, computed: f64, expected: &Value) {
    let expected: f64 = expected.as_str().unwrap_or_default().parse().unwrap_or(f64::NAN);
    let error = (computed / expected - 1.0).abs();
    // Written so that NaN fails.
    assert!(error < 1e-12, "{name}: {computed}, should be {expected}, off by {error:e}");
}

fn vectors(law: &str) -> Vec<Value> {
    Vectors::Noise.section(law)
}

#[test]
fn discrete_laplace() {
    let cases = [("0.1", 1, 10), ("0.5", 1, 2), ("1", 1, 1), ("3.5", 7, 2), ("100", 100, 1)];
    let vectors = vectors("discrete_laplace");
    assert_eq!(vectors.len(), cases.len());
    for (vector, (name, numerator, denominator)) in vectors.iter().zip(cases) {
        assert_eq!(vector["scale"], name);
        let law = DiscreteLaplace::new(Ratio::new(numerator, denominator).unwrap());
        close(name, law.pmf(0), &vector["pmf_at_0"]);
        close(name, law.variance(), &vector["variance"]);
    }
}

#[test]
fn rounded_gaussian() {
    let vectors = vectors("rounded_gaussian");
    assert_eq!(vectors.len(), 5);
    for vector in &vectors {
        let name = vector["sigma_squared"].as_str().unwrap();
        let sigma = name.parse::<f64>().unwrap().sqrt();
        let law = RoundedGaussian::new(Dyadic::at_least(sigma).unwrap());
        close(name, law.pmf(0), &vector["pmf_at_0"]);
        close(name, law.pmf(1), &vector["pmf_at_1"]);
        close(name, law.pmf(-1), &vector["pmf_at_1"]);
        close(name, law.variance(), &vector["variance"]);
    }
}

#[test]
fn discrete_gaussian() {
    let vectors = vectors("discrete_gaussian");
    assert_eq!(vectors.len(), 5);
    for vector in &vectors {
        let name = vector["sigma_squared"].as_str().unwrap();
        let law = DiscreteGaussian::new(Dyadic::at_least(name.parse().unwrap()).unwrap());
        close(name, law.pmf(0), &vector["pmf_at_0"]);
        close(name, law.variance(), &vector["variance"]);
    }
}

/// Tails and masses fit together, and the variance is the sum that it should be.
#[test]
fn discrete_laplace_sums() {
    for (numerator, denominator) in [(1, 10), (1, 2), (1, 1), (7, 2), (100, 1)] {
        let law = DiscreteLaplace::new(Ratio::new(numerator, denominator).unwrap());
        let (mut sum, mut variance) = (law.tail(4001), 0.0);
        for x in (-4000i128..=4000).rev() {
            sum += law.pmf(x);
            variance += (x * x) as f64 * law.pmf(x);
            if law.tail(x) > 1e-280 {
                assert!((sum / law.tail(x) - 1.0).abs() < 3e-12, "{law:?} {x}");
            }
        }
        assert!((variance / law.variance() - 1.0).abs() < 1e-12);
    }
}
