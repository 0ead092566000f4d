//! Draws against their laws, by chi-square with 200,000 draws each.
//!
//! The seeds are fixed, so the outcome never changes from run to run. For a seed chosen blindly
//! each comparison would fail with probability 1e-6 though nothing is wrong.
#![cfg(debug_assertions)]

mod common;

use common::{p_value, upper_gamma};
use hushtable_noise::{
    DiscreteGaussian, DiscreteLaplace, Dyadic, ExponentialPolylogarithmic, Law, Ratio,
    RoundedGaussian, TestSeed, TruncatedDiscreteLaplace, Uniform,
};

const DRAWS: usize = 200_000;
const LEVEL: f64 = 1e-6;

/// Compares draws in the cells between `edges` (each edge is the least value of a cell) with a law
/// given by its tail.
fn check(name: &str, draws: &[i128], edges: &[i128], tail: impl Fn(i128) -> f64) {
    let mut counts = vec![0u64; edges.len() + 1];
    for draw in draws {
        counts[edges.partition_point(|edge| edge <= draw)] += 1;
    }
    let mut bounds = vec![1.0];
    bounds.extend(edges.iter().map(|edge| tail(*edge)));
    bounds.push(0.0);
    let probabilities: Vec<f64> = bounds.windows(2).map(|pair| pair[0] - pair[1]).collect();
    let p = p_value(&counts, &probabilities);
    assert!(p > LEVEL, "{name}: p = {p:e}");
}

/// The lowest four bits, uniform for a law much wider than 16.
fn check_low_bits(name: &str, draws: &[i128]) {
    let mut counts = [0u64; 16];
    for draw in draws {
        counts[draw.rem_euclid(16) as usize] += 1;
    }
    let p = p_value(&counts, &[1.0 / 16.0; 16]);
    assert!(p > LEVEL, "{name}, low bits: p = {p:e}");
}

/// The mean of the squares within six standard errors (the fourth moment bounded by `kurtosis`): a
/// false alarm has probability 2e-9.
fn check_variance(name: &str, draws: &[i128], variance: f64, kurtosis: f64) {
    let mean = draws.iter().map(|x| (*x as f64).powi(2)).sum::<f64>() / draws.len() as f64;
    let error = variance * ((kurtosis - 1.0) / draws.len() as f64).sqrt();
    assert!((mean - variance).abs() < 6.0 * error, "{name}: {mean} for {variance}");
}

#[test]
fn discrete_laplace() {
    let mut draws = Vec::new();
    for (seed, numerator, denominator) in [
        (1, 1, 10),
        (2, 1, 2),
        (3, 1, 1),
        (4, 7, 2),
        (5, 100, 1),
        (6, 1 << 40, 1),
        (7, 1 << 102, 1 << 20),
        (8, (1 << 104) + 1, 3),
    ] {
        let law = DiscreteLaplace::new(Ratio::new(numerator, denominator).unwrap());
        let scale = law.scale().to_f64();
        // At scale 1/10 all but one draw in ten thousand are zero: more draws, to see the others.
        draws.resize(if scale < 0.5 { 20 * DRAWS } else { DRAWS }, 0);
        law.fill(&mut TestSeed(seed).generator(), &mut draws).unwrap();
        let name = format!("discrete Laplace {numerator}/{denominator}");
        let step = ((scale / 8.0) as i128).max(1);
        let edges: Vec<i128> = (-80..=80).map(|i| i * step).collect();
        check(&name, &draws, &edges, |x| law.tail(x));
        if scale > 1e6 {
            check_low_bits(&name, &draws);
        }
        if scale >= 1.0 {
            check_variance(&name, &draws, law.variance(), 6.5);
        }
    }
}

#[test]
fn truncated_discrete_laplace() {
    let mut draws = vec![0; DRAWS];
    for (seed, numerator, denominator, k) in [
        (11, 1, 1, 1),
        (12, 1, 1, 3),
        (13, 7, 2, 3),
        (14, 7, 2, 4),
        (15, 7, 2, 30),
        (16, 100, 1, 5),
        (17, 1, 2, 2),
        (18, 1 << 104, 3, 7),
    ] {
        let law = TruncatedDiscreteLaplace::new(Ratio::new(numerator, denominator).unwrap(), k);
        law.fill(&mut TestSeed(seed).generator(), &mut draws).unwrap();
        let k = i128::from(k);
        let edges: Vec<i128> = (1 - k..=k).collect();
        check(&format!("{law:?}"), &draws, &edges, |x| law.tail(x));
        assert!(draws.iter().all(|x| x.abs() <= k));
    }
}

#[test]
fn rounded_gaussian() {
    let mut draws = vec![0; DRAWS];
    for (seed, mantissa, exponent) in [
        (21, 1, -1),
        (22, 1, 0),
        (23, 2, 0),
        (24, 10, 0),
        (25, 1, 20),
        (26, 1, 70),
        (27, 7_205_759_403_792_794, -53),
        (28, u64::MAX, 30),
    ] {
        let law = RoundedGaussian::new(Dyadic::new(mantissa, exponent).unwrap());
        law.fill(&mut TestSeed(seed).generator(), &mut draws).unwrap();
        let sigma = law.sigma().to_f64();
        let name = format!("rounded Gaussian {sigma}");
        let step = ((sigma / 8.0) as i128).max(1);
        let edges: Vec<i128> = (-48..=48).map(|i| i * step).collect();
        check(&name, &draws, &edges, |x| law.tail(x));
        if sigma > 1e5 {
            check_low_bits(&name, &draws);
        }
        if sigma >= 0.5 {
            check_variance(&name, &draws, law.variance(), 4.0);
        }
    }
}

#[test]
fn discrete_gaussian() {
    let mut draws = Vec::new();
    // Parameters are sigma^2: from sigma = 0.2, on both sides of where cells of more than one
    // integer begin (sigma = 64), to sigma = 2^40.
    for (seed, sigma_squared) in [
        (51, 0.04),
        (52, 0.25),
        (53, 1.0),
        (54, 12.5),
        (55, 4095.9),
        (56, 4096.0),
        (57, 10_000.0),
        (58, 1e6),
        (59, 2f64.powi(40)),
        (60, 3e24),
    ] {
        draws.resize(if sigma_squared < 0.1 { 20 * DRAWS } else { DRAWS }, 0);
        let law = DiscreteGaussian::new(Dyadic::at_least(sigma_squared).unwrap());
        law.fill(&mut TestSeed(seed).generator(), &mut draws).unwrap();
        let sigma = sigma_squared.sqrt();
        let name = format!("discrete Gaussian {sigma_squared}");
        let step = ((sigma / 8.0) as i128).max(1);
        let edges: Vec<i128> = (-48..=48).map(|i| i * step).collect();
        check(&name, &draws, &edges, |x| law.tail(x));
        if sigma > 50.0 {
            check_low_bits(&name, &draws);
        }
        if sigma >= 0.5 {
            check_variance(&name, &draws, law.variance(), 4.0);
        }
    }
}

#[test]
fn exponential_polylogarithmic() {
    let mut draws = vec![0; DRAWS];
    // From a law that is nearly always zero to one beyond 2^80, with light tails and with heavy
    // ones.
    for (seed, shape, offset, scale) in [
        (61, 1.0, 2.75, 0.25),
        (62, 1.0, 2.75, 3.0),
        (63, 0.25, 2.75, 1000.0),
        (64, 4.0, 10.0, 1e6),
        (65, 64.0, 3.0, 1e4),
        (66, 0.25, 64.0, 2f64.powi(80)),
    ] {
        let [d, a, s] = [shape, offset, scale].map(|x| Dyadic::at_least(x).unwrap());
        let law = ExponentialPolylogarithmic::new(d, a, s).unwrap();
        law.fill(&mut TestSeed(seed).generator(), &mut draws).unwrap();
        let name = format!("{law:?}");
        // Edges that grow as the cells of the law do, past its far quantiles.
        let step = scale * offset / (2.0 * shape * f64::ln(offset)) / 8.0;
        let mut edges: Vec<i128> =
            (1..100).map(|i| (step * (1.1f64.powi(i) - 1.0) * 10.0) as i128 + 1).collect();
        edges.dedup();
        let mut both: Vec<i128> = edges.iter().rev().map(|edge| 1 - edge).collect();
        both.extend(&edges);
        both.dedup();
        check(&name, &draws, &both, |x| law.tail(x));
        if scale >= 1000.0 {
            check_low_bits(&name, &draws);
        }
    }
}

#[test]
fn uniform() {
    for (seed, bound) in [(31, 6u128), (32, 1 << 70), (33, (1 << 126) - 5)] {
        let law = Uniform::below(bound).unwrap();
        let mut generator = TestSeed(seed).generator();
        let mut counts = [0u64; 6];
        for _ in 0..DRAWS {
            let draw = law.sample(&mut generator).unwrap();
            assert!(draw < bound);
            counts[(draw as f64 / bound as f64 * 6.0 + 1e-12) as usize] += 1;
        }
        assert!(p_value(&counts, &[1.0 / 6.0; 6]) > LEVEL, "{counts:?}");
    }
}

/// One call per draw and a batch use the same words the same way.
#[test]
fn sample_and_fill_agree() {
    let law = RoundedGaussian::new(Dyadic::new(3, 0).unwrap());
    let mut draws = vec![0; 1000];
    law.fill(&mut TestSeed(41).generator(), &mut draws).unwrap();
    let mut generator = TestSeed(41).generator();
    for draw in draws {
        assert_eq!(law.sample(&mut generator).unwrap(), draw);
    }
}

/// Known values: Q(1, x) = e^-x, Q(1/2, x) = erfc(sqrt x), and the table value P[chi2(10) > 18.307]
/// = 5 %.
#[test]
fn helper_is_right() {
    for x in [0.1, 1.0, 2.5, 14.0, 100.0] {
        assert!((upper_gamma(1.0, x) / f64::exp(-x) - 1.0).abs() < 1e-9);
        assert!((upper_gamma(0.5, x) / libm::erfc(x.sqrt()) - 1.0).abs() < 1e-9);
    }
    assert!((upper_gamma(5.0, 18.307 / 2.0) - 0.05).abs() < 1e-6);
    assert!(p_value(&[100, 100, 160], &[1.0 / 3.0; 3]) < 1e-3);
    assert!(p_value(&[118, 122, 120], &[1.0 / 3.0; 3]) > 0.5);
}
