//! Tests of randomised response.

use super::*;
use hushtable_noise::TestSeed;
use hushtable_privacy::{Contribution, Neighbouring};

use crate::Additive;

fn response(epsilon: &str, categories: u32) -> RandomisedResponse {
    RandomisedResponse::new(epsilon.parse().unwrap(), categories).unwrap()
}

/// floor(2^128 e^epsilon / (e^epsilon + k - 1)), in 60-digit arithmetic (mpmath).
const KEEP: [(&str, u32, &str); 6] = [
    ("1", 2, "248766343494075063008364096112268745332"),
    ("0.1", 3, "121110942288493438990584374139246073858"),
    ("1e-12", 2, "170141183460554302323417538331749949372"),
    ("2.5", 1000, "4099643639706165631491768615724759872"),
    ("40", 7, "340282366920938454789534358376191852474"),
    ("0.693147180560", 4_294_967_295, "158456325028537341255842932067"),
];

#[test]
fn the_probability_to_keep_is_enclosed() {
    for (epsilon, categories, digits) in KEEP {
        let response = response(epsilon, categories);
        let exact: BigUint = digits.parse().unwrap();
        let keep = ResponseProbability { epsilon: response.epsilon, categories };
        let (low, high) = keep.enclose(128);
        assert!(low <= exact && exact <= high, "{epsilon} {categories}: {low} {exact} {high}");
        let (low, high) = keep.enclose(192);
        assert!(&high - &low <= BigUint::from(4u32), "{epsilon} {categories}");
        assert!(low >> 64u32 <= exact && exact <= high >> 64u32);
        // The first word's bounds hold, and leave next to nothing open.
        let (low, high) = response.first;
        assert!(BigUint::from(low) <= &exact >> 64u32 && &exact >> 64u32 <= BigUint::from(high));
        assert!(high - low <= 2);
        let probability = digits.parse::<f64>().unwrap() / 2f64.powi(128);
        assert!((response.keep_probability() / probability - 1.0).abs() < 1e-14);
    }
    // So sure that only further words tell it from one: 1 - e^-1000 = 1 - 2^-1442.7.
    let sure = response("1000", 2);
    assert_eq!((sure.keep_probability(), sure.first.1), (1.0, u64::MAX));
    let keep = ResponseProbability { epsilon: sure.epsilon, categories: 2 };
    let gap = |bits: u32| (BigUint::from(1u32) << bits) - keep.enclose(bits).1;
    assert_eq!(gap(1408), BigUint::ZERO);
    assert!((475..479).contains(&gap(1920).bits()), "{}", gap(1920).bits());
    assert_eq!(response("1000000", 2).keep_probability(), 1.0);
}

/// Every answer's frequency for every category, with six standard deviations: a false alarm has
/// probability 2e-9 for each of 60. Also by the forced exact path: with bounds that leave all open.
#[test]
fn answers_have_their_probabilities() {
    let mut generator = TestSeed(31).generator();
    for (epsilon, categories, forced) in
        [("1", 2, false), ("0.5", 3, false), ("2", 5, false), ("1", 2, true), ("2", 3, true)]
    {
        let mut response = response(epsilon, categories);
        let draws = if forced { 10_000 } else { 300_000 };
        if forced {
            response.first = (0, u64::MAX);
        }
        let e = epsilon.parse::<f64>().unwrap().exp();
        for value in 0..categories {
            let mut answers = vec![0; draws];
            response.respond_all(&vec![value; draws], &mut answers, &mut generator).unwrap();
            for answer in 0..categories {
                let count = answers.iter().filter(|a| **a == answer).count() as f64;
                let weight = if answer == value { e } else { 1.0 };
                let p = weight / (e + f64::from(categories) - 1.0);
                let n = draws as f64;
                let deviation = (n * p * (1.0 - p)).sqrt();
                assert!((count - n * p).abs() < 6.0 * deviation, "{epsilon} {value} {answer}");
            }
        }
    }
}

/// Every record of a long batch has its own draw.
#[test]
fn batches() {
    let response = response("0.3", 4);
    let mut many = TestSeed(32).generator();
    let values: Vec<u32> = (0..1000).map(|i| i % 4).collect();
    let mut answers = vec![9; 1000];
    response.respond_all(&values, &mut answers, &mut many).unwrap();
    assert!(answers.iter().all(|answer| *answer < 4));
    for range in [0..256, 256..512, 744..1000] {
        let same = range.clone().filter(|i| answers[*i] == values[*i]).count();
        // 0.31 of 256 are kept, with a standard deviation of 7.4: six are 45.
        assert!((35..125).contains(&same), "{range:?}: {same}");
    }
    // A probability of 1 - e^-40 to keep.
    let sure = RandomisedResponse::new("40".parse().unwrap(), 4).unwrap();
    sure.respond_all(&values, &mut answers, &mut many).unwrap();
    assert_eq!(answers, values);
    assert_eq!(sure.loss(), Loss::pure("40".parse().unwrap()));
}

/// The estimates are right on average, and so are their squared errors: over all outcomes of a
/// small number of records, by enumeration (no chance).
#[test]
fn estimates_are_unbiased() {
    for (epsilon, truth) in [("1", vec![3u64, 2]), ("0.2", vec![1, 0, 3]), ("3", vec![2, 1, 1])] {
        let k = truth.len();
        let response = response(epsilon, k as u32);
        let records: Vec<usize> =
            truth.iter().enumerate().flat_map(|(j, n)| vec![j; *n as usize]).collect();
        let keep = response.keep_probability();
        let lie = (1.0 - keep) / (k as f64 - 1.0);
        let (mut mean, mut square, mut claimed) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
        for code in 0..k.pow(records.len() as u32) {
            let (mut counts, mut p, mut rest) = (vec![0u64; k], 1.0, code);
            for record in &records {
                let answer = rest % k;
                rest /= k;
                counts[answer] += 1;
                p *= if answer == *record { keep } else { lie };
            }
            for (j, estimate) in response.estimate(&counts).unwrap().iter().enumerate() {
                mean[j] += p * estimate.count;
                square[j] += p * estimate.count.powi(2);
                claimed[j] += p * estimate.standard_error.powi(2);
            }
        }
        for j in 0..k {
            assert!((mean[j] - truth[j] as f64).abs() < 1e-10, "{epsilon} {j}: {}", mean[j]);
            let variance = square[j] - mean[j].powi(2);
            assert!((claimed[j] / variance - 1.0).abs() < 1e-9, "{epsilon} {j}");
        }
    }
}

/// The law of how many of some records answer "one", if that many are ones and zeroes.
fn answers(response: &RandomisedResponse, ones: usize, zeroes: usize) -> Vec<f64> {
    let keep = response.keep_probability();
    let chances = [vec![keep; ones], vec![1.0 - keep; zeroes]].concat();
    let mut law = vec![1.0];
    for chance in chances {
        law.push(0.0);
        for successes in (0..law.len()).rev() {
            let fewer = if successes > 0 { law[successes - 1] } else { 0.0 };
            law[successes] = law[successes] * (1.0 - chance) + fewer * chance;
        }
    }
    law
}

/// The error of the estimated number of ones, with its probability, over all answers.
fn errors(response: &RandomisedResponse, ones: usize, zeroes: usize) -> Vec<(f64, f64)> {
    let error = |yes: usize| {
        let counts = [(ones + zeroes - yes) as u64, yes as u64];
        response.estimate(&counts).unwrap()[1].count - ones as f64
    };
    let law = answers(response, ones, zeroes);
    law.into_iter().enumerate().map(|(yes, p)| (error(yes), p)).collect()
}

const EPSILONS: [(&str, f64); 6] =
    [("0.01", 0.01), ("0.1", 0.1), ("0.5", 0.5), ("1", 1.0), ("3", 3.0), ("10", 10.0)];

/// L Theorem 2.5: its squared error is n e^epsilon/(e^epsilon - 1)^2, whatever the records are. So
/// n/epsilon^2 bounds it at every epsilon, and not at small ones alone; the lecture's own bound is
/// at least four times as much, as (2.8) bounds the variance of a bit by one.
#[test]
fn squared_errors_are_at_most_n_over_epsilon_squared() {
    for (text, epsilon) in EPSILONS {
        let response = response(text, 2);
        for (ones, zeroes) in [(1, 0), (0, 1), (3, 2), (0, 40), (60, 40)] {
            let n = (ones + zeroes) as f64;
            let square: f64 = errors(&response, ones, zeroes).iter().map(|(e, p)| e * e * p).sum();
            let exact = n * epsilon.exp() / epsilon.exp_m1().powi(2);
            assert!((square / exact - 1.0).abs() < 1e-8, "{text} {ones} {zeroes}: {square}");
            assert!(square <= n / epsilon.powi(2), "{text} {ones} {zeroes}: {square}");
            let printed = n * (1.0 + 2.0 / epsilon.exp_m1()).powi(2);
            assert!(4.0 * square <= printed * (1.0 + 1e-8), "{text} {ones} {zeroes}: {printed}");
        }
    }
}

/// L (2.13) to (2.15): of n records, randomised responses have n/2 times the variance of discrete
/// Laplace noise on their count at the same epsilon, whatever that is. So a curator's noise is
/// smaller from three records on, and one record does better by answering for itself.
#[test]
fn responses_have_n_halves_of_the_variance_of_laplace_noise() {
    // A record that is replaced changes one bit.
    let bit = Contribution { groups: 1, single_group: true, low: 0, high: 1, beside: None };
    for (text, epsilon) in EPSILONS {
        let noise = Additive::laplace(bit, Neighbouring::Replace, text.parse().unwrap()).unwrap();
        let response = response(text, 2);
        for n in [1u64, 2, 3, 100, 1_000_000] {
            let error = response.estimate(&[n, 0]).unwrap()[1].standard_error;
            let times = error * error / noise.variance();
            assert!((times / (n as f64 / 2.0) - 1.0).abs() < 1e-9, "{text} {n}: {times}");
        }
        for missed in [0.1, 0.01] {
            // (2.13), in records: ln(1/zeta)/epsilon, up to the next lattice point.
            let width = noise.half_width(1.0 - missed, 1) as f64;
            assert!(width <= (-f64::ln(missed) / epsilon).ceil(), "{text} {missed}: {width}");
            // (2.15): Chebyshev's bound holds, and falls with the root of zeta alone.
            for (ones, zeroes) in [(20, 0), (100, 100)] {
                let n = (ones + zeroes) as f64;
                let bound = (n / missed).sqrt() / epsilon;
                let all = errors(&response, ones, zeroes);
                let beyond = |w: f64| -> f64 {
                    all.iter().filter(|(e, _)| e.abs() > w).map(|(_, p)| p).sum()
                };
                assert!(beyond(bound) <= missed, "{text} {missed}");
                // The curator's width is left more often than it states, from small epsilons on.
                let often = beyond(width);
                assert!(epsilon > 1.0 || often > 2.0 * missed, "{text} {missed} {n}: {often}");
            }
        }
    }
    // As printed, (2.15) has epsilon under the root: sqrt(1/(zeta n epsilon)) for the mean. It is
    // left in more than half of all cases where it states one in twenty.
    let n = 2000.0;
    let all = errors(&response("0.01", 2), 1000, 1000);
    let printed = n * (1.0 / (0.05 * n * 0.01_f64)).sqrt();
    let beyond: f64 = all.iter().filter(|(e, _)| e.abs() > printed).map(|(_, p)| p).sum();
    assert!(beyond > 0.5, "{beyond}");
}

/// The binary formulas of theory section 2, and extreme epsilons.
#[test]
fn estimates_by_hand() {
    let e = 1f64.exp();
    let estimates = response("1", 2).estimate(&[30, 70]).unwrap();
    let z = |y: f64| ((e + 1.0) * y - 1.0) / (e - 1.0);
    let want = 70.0 * z(1.0) + 30.0 * z(0.0);
    assert!((estimates[1].count / want - 1.0).abs() < 1e-14);
    assert!((estimates[0].count + estimates[1].count - 100.0).abs() < 1e-12);
    let error = (100.0 * e / (e - 1.0).powi(2)).sqrt();
    assert!(estimates.iter().all(|one| (one.standard_error / error - 1.0).abs() < 1e-14));

    let sure = response("1000000", 3).estimate(&[5, 0, 1 << 52]).unwrap();
    assert_eq!(sure[2], Estimate { count: 2f64.powi(52), standard_error: 0.0 });
    let vague = response("1e-12", 2).estimate(&[1, 0]).unwrap();
    assert!((vague[0].count / 1e12 - 1.0).abs() < 1e-9 && vague[1].count < -0.9e12);
    assert!((vague[0].standard_error / 1e12 - 1.0).abs() < 1e-9);
    let nobody = response("1", 2).estimate(&[0, 0]).unwrap();
    assert_eq!(nobody, [Estimate { count: 0.0, standard_error: 0.0 }; 2]);
}

#[test]
fn what_is_out_of_range_is_refused() {
    let one: Epsilon = "1".parse().unwrap();
    for categories in [0, 1] {
        let error = RandomisedResponse::new(one, categories).unwrap_err();
        assert_eq!(error, MechanismError::TooFewCategories(categories));
        assert!(error.to_string().contains("at least 2 categories"), "{error}");
    }
    let error = RandomisedResponse::new(Epsilon::ZERO, 2).unwrap_err();
    assert_eq!(error, MechanismError::NoBudget("epsilon"));
    for epsilon in ["nan", "inf", "-1", "1e-13", "1000001"] {
        assert!(epsilon.parse::<Epsilon>().is_err(), "{epsilon}");
    }
    let (response, mut generator) = (response("1", 3), TestSeed(33).generator());
    let refused = Err(ResponseError::Value { categories: 3 });
    for value in [3, u32::MAX] {
        let mut answers = [7];
        assert_eq!(response.respond_all(&[value], &mut answers, &mut generator), refused);
        assert_eq!(answers, [7]);
    }
    let mut answers = [7; 2];
    assert_eq!(
        response.respond_all(&[0, 3], &mut answers, &mut generator),
        Err(ResponseError::Value { categories: 3 })
    );
    for values in [&[0][..], &[0; 3]] {
        assert_eq!(
            response.respond_all(values, &mut answers, &mut generator),
            Err(ResponseError::LengthsDiffer)
        );
    }
    assert_eq!(answers, [7; 2], "nothing was written");
    assert_eq!(generator.next_u64(), TestSeed(33).generator().next_u64(), "or drawn");
    assert_eq!(response.estimate(&[1, 2]), Err(ResponseError::Counts { given: 2, categories: 3 }));
    for counts in [[u64::MAX, 1, 0], [1 << 53, 1, 0]] {
        assert_eq!(response.estimate(&counts), Err(ResponseError::TooManyAnswers));
    }
    assert!(response.estimate(&[1 << 53, 0, 0]).is_ok());
}
