//! Tests of the optimal selection.

use super::*;
use hushtable_noise::TestSeed;
use hushtable_testkit::{Vectors, number};
use proptest::prelude::*;

fn optimal(epsilon: &str, delta: &str) -> Optimal {
    Optimal::new(epsilon.parse().unwrap(), delta.parse().unwrap()).unwrap()
}

#[test]
fn keep_probabilities_are_those_of_the_vectors() {
    let mut seen = 0;
    for case in Vectors::PartitionSelection.all() {
        let (epsilon, delta) = (case["epsilon"].as_str().unwrap(), case["delta"].as_str().unwrap());
        let pi = optimal(epsilon, delta);
        for row in case["keep"].as_array().unwrap() {
            let n = row["n"].as_u64().unwrap();
            let want = number(&row["optimal"]);
            let got = pi.keep_probability(n);
            assert!((got - want).abs() <= 1e-11 * want, "{epsilon} {delta} {n}: {got} {want}");
            let (low, high) = PiOpt { optimal: &pi, units: n }.enclose(128);
            let as_float = |x: &BigUint| x.to_string().parse::<f64>().unwrap() / 2f64.powi(128);
            if n > 0 {
                assert!(&high - &low < BigUint::from(1u64 << 40), "{epsilon} {delta} {n}");
                assert!((as_float(&low) - want).abs() <= 2e-15 * want, "{epsilon} {delta} {n}");
                let first = pi.bounds(n);
                assert!(BigUint::from(first.0) << 64u32 <= high, "{epsilon} {delta} {n}");
                assert!((BigUint::from(first.1) + 1u32) << 64u32 >= low, "{epsilon} {delta} {n}");
            }
            seen += 1;
        }
    }
    assert!(seen > 50);
}

/// PS Lemma 1, in floating point.
fn recursion(epsilon: f64, delta: f64, n: u64) -> f64 {
    let mut pi = 0.0f64;
    for _ in 0..n {
        let hidden = (1.0 - pi - delta) * (-epsilon).exp();
        pi = (epsilon.exp() * pi + delta).min(1.0 - hidden).min(1.0);
    }
    pi
}

/// The largest counts whose probability is the first and the second argument of PS Lemma 1's
/// minimum (PS Lemma 2), counted along the recursion. Each step is at least e^-eps delta.
fn crossovers(epsilon: f64, delta: f64) -> (u64, u64) {
    let (mut pi, mut first_until, mut second_until) = (0.0f64, 0, 0);
    for n in 1u64.. {
        let first = epsilon.exp() * pi + delta;
        let second = 1.0 - (1.0 - pi - delta) * (-epsilon).exp();
        let next = first.min(second).min(1.0);
        if next == 1.0 && second > 1.0 {
            return (first_until, second_until);
        }
        assert!(next - pi >= (-epsilon).exp() * delta * (1.0 - 1e-6) - 1e-15, "{epsilon} {n}");
        if first <= second {
            // No branch is taken again once the next one was.
            assert_eq!((first_until, second_until), (n - 1, n - 1), "{epsilon} {delta}");
            first_until = n;
        }
        second_until = n;
        pi = next;
    }
    unreachable!("a rising sequence ends")
}

/// PS Lemmas 2 and 3: the branches follow each other once, where Lemmas 4 and 5 say. (Lemma 3 is
/// printed with "delta <= 0", where delta > 0 is meant.)
#[test]
fn the_branches_change_where_the_lemmas_say() {
    for case in Vectors::PartitionSelection.all() {
        let (epsilon, delta) = (case["epsilon"].as_str().unwrap(), case["delta"].as_str().unwrap());
        let pi = optimal(epsilon, delta);
        let (first, second) = (case["n1"].as_u64().unwrap(), case["n2"].as_u64().unwrap());
        assert_eq!(pi.turn, first, "{epsilon} {delta}");
        assert_eq!(pi.certain_from(), second + 1, "{epsilon} {delta}");
    }
    let mut ties = 0;
    for epsilon in ["0.003", "0.1", "0.77", "1", "2.5", "7"] {
        for delta in ["1e-12", "1e-6", "1e-3", "0.02", "0.3", "0.8"] {
            let pi = optimal(epsilon, delta);
            let (e, d): (f64, f64) = (epsilon.parse().unwrap(), delta.parse().unwrap());
            // Lemmas 4 and 5, as printed.
            let one = ((e.exp() + 2.0 * d - 1.0) / ((e.exp() + 1.0) * d)).ln() / e;
            let turn = 1 + one.floor() as u64;
            let hidden = 1.0 - pi.keep_probability(turn);
            let two = (1.0 + (e.exp() - 1.0) / d * hidden).ln() / e;
            if [one, two].iter().any(|x| (x - x.round()).abs() < 1e-6) {
                ties += 1;
                continue;
            }
            let want = (turn, turn + two.floor() as u64);
            assert_eq!(crossovers(e, d), want, "{epsilon} {delta}");
            assert_eq!((pi.turn, pi.certain_from()), (want.0, want.1 + 1), "{epsilon} {delta}");
        }
    }
    assert!(ties <= 3, "{ties}");
}

/// PS Theorem 2: at epsilon = 0 a group appears with probability min(1, n delta), which pi_opt
/// falls to as epsilon does; at delta = 0 nothing appears. Neither is offered: the first has
/// nothing left to measure with, and shows a group of a thousand units with a thousand deltas; the
/// other shows no group.
#[test]
fn without_epsilon_a_unit_adds_delta_and_without_delta_nothing_appears() {
    for (delta, d) in [("0.5", 0.5), ("0.3", 0.3), ("0.07", 0.07), ("0.001", 0.001)] {
        let least = optimal("1e-12", delta);
        for n in 0..=(1.5 / d) as u64 {
            let want = (n as f64 * d).min(1.0);
            assert!((recursion(0.0, d, n) - want).abs() <= 1e-12, "{delta} {n}");
            let probability = least.keep_probability(n);
            assert!(
                (want * (1.0 - 1e-11)..=want + 1e-9).contains(&probability),
                "{delta} {n}: {probability}"
            );
        }
    }
    for epsilon in [0.0, 0.1, 1.0, 20.0] {
        assert_eq!(recursion(epsilon, 0.0, 10_000), 0.0);
    }
    // The least delta that there is, times what one unit can add.
    let smallest = optimal("1", "1e-18");
    for n in 1..20u32 {
        let most = 1e-18 * (f64::from(n).exp() - 1.0) / (1f64.exp() - 1.0);
        assert!(smallest.keep_probability(u64::from(n)) <= most * (1.0 + 1e-11));
    }
    let refused = |epsilon: Epsilon, delta: Delta| Optimal::new(epsilon, delta).unwrap_err();
    let (epsilon, delta) = ("1".parse().unwrap(), "1e-5".parse().unwrap());
    assert_eq!(refused(Epsilon::ZERO, delta), MechanismError::NoBudget("epsilon"));
    assert_eq!(refused(epsilon, Delta::ZERO), MechanismError::NoBudget("delta"));
}

proptest! {
    #[test]
    fn the_closed_form_is_the_recursion(
        pico in 1_000_000_000u64..5_000_000_000_000,
        exponent in 2u32..14,
        n in 1u64..3000,
    ) {
        let epsilon = Epsilon::from_units(pico).unwrap();
        let delta: Delta = format!("3e-{exponent}").parse().unwrap();
        let pi = Optimal::new(epsilon, delta).unwrap();
        let want = recursion(epsilon.to_f64(), delta.to_f64(), n);
        let got = pi.keep_probability(n);
        prop_assert!((got - want).abs() <= 1e-9 * want, "{got} {want}");
    }

    /// Theorem 1's four inequalities hold for the probabilities that are drawn with.
    #[test]
    fn neighbouring_counts_are_hard_to_tell_apart(
        pico in 1_000_000_000u64..3_000_000_000_000,
        exponent in 2u32..14,
        n in 0u64..500,
    ) {
        let epsilon = Epsilon::from_units(pico).unwrap();
        let delta: Delta = format!("7e-{exponent}").parse().unwrap();
        let pi = Optimal::new(epsilon, delta).unwrap();
        let (a, b) = (pi.keep_probability(n), pi.keep_probability(n + 1));
        let (e, d) = (epsilon.to_f64().exp(), delta.to_f64());
        let most = |x: f64| e * x + d * (1.0 + 1e-9) + 1e-11 * x;
        prop_assert!(a <= most(b) && b <= most(a));
        prop_assert!(1.0 - a <= most(1.0 - b) + 1e-12 && 1.0 - b <= most(1.0 - a) + 1e-12);
        prop_assert!(a <= b);
    }
}

/// Where delta is large beside epsilon, pi rises by nearly delta a step.
#[test]
fn small_epsilon_with_large_delta() {
    for (epsilon, delta) in
        [("1e-12", "0.1"), ("1e-12", "0.2"), ("1e-9", "0.001"), ("1e-12", "1e-5"), ("1e-6", "0.3")]
    {
        let pi = optimal(epsilon, delta);
        let (e, d): (f64, f64) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let last = (1.5 / d) as u64;
        for n in (0..last).step_by((last / 50).max(1) as usize) {
            let want = recursion(e, d, n);
            let got = pi.keep_probability(n);
            assert!((got - want).abs() <= 1e-11 * want, "{epsilon} {delta} {n}: {got} {want}");
            if n > 0 {
                let (low, high) = PiOpt { optimal: &pi, units: n }.enclose(128);
                let first = pi.bounds(n);
                assert!(BigUint::from(first.0) << 64u32 <= high, "{epsilon} {delta} {n}");
                let top = (BigUint::from(first.1) + 1u32) << 64u32;
                assert!(top >= low, "{epsilon} {delta} {n}");
            }
        }
    }
}

#[test]
fn extremes() {
    let sure = optimal("1000000", "1e-6");
    assert_eq!(sure.keep_probability(1), 1e-6);
    assert_eq!(sure.keep_probability(2), 1.0);
    let mut generator = TestSeed(1).generator();
    assert!(sure.decide(u64::MAX, &mut generator).unwrap());
    assert!(!sure.decide(0, &mut generator).unwrap());
    let slow = optimal("1e-9", "1e-15");
    assert!(slow.keep_probability(1_000_000) > 0.9e-9);
    assert!(slow.keep_probability(u64::MAX) == 1.0);
    assert!(slow.decide(u64::MAX, &mut generator).unwrap());
    assert!(Optimal::new(Epsilon::ZERO, "0.1".parse().unwrap()).is_err());
    assert!(Optimal::new("1".parse().unwrap(), Delta::ZERO).is_err());
}

/// A batch takes the words that single decisions take, except for those that are certain.
#[test]
fn batches_are_single_decisions() {
    let pi = optimal("1", "1e-5");
    let (mut one, mut many) = (TestSeed(12).generator(), TestSeed(12).generator());
    let units: Vec<u64> = (1..=20).collect();
    let mut decisions = vec![true; 20];
    for _ in 0..200 {
        pi.decide_all(&units, &mut decisions, &mut many).unwrap();
        for (units, decision) in units.iter().zip(&decisions) {
            assert_eq!(pi.decide(*units, &mut one).unwrap(), *decision);
        }
    }
    let mut decisions = [true, false, false, true, true];
    pi.decide_all(&[0, 23, u64::MAX, 0], &mut decisions, &mut many).unwrap();
    assert_eq!(
        decisions,
        [false, true, true, false, false],
        "what is certain, and what has no count"
    );
    // Beyond the table.
    let slow = optimal("0.001", "1e-9");
    assert!(slow.ready.len() as u64 == TABLE);
    let mut decisions = [false; 2];
    slow.decide_all(&[u64::MAX, 100_000], &mut decisions, &mut many).unwrap();
    assert_eq!(decisions, [true; 2]);
}

/// The forced exact path: with bounds that leave everything open, the enclosures decide alone, with
/// the stated probability.
#[test]
fn exact_decisions_have_the_stated_probability() {
    let mut pi = optimal("1", "1e-5");
    for bounds in &mut pi.ready {
        *bounds = (0, u64::MAX);
    }
    let mut generator = TestSeed(13).generator();
    let units = [0, 10, 11, 12, 15, 23];
    let mut counts = [0.0; 6];
    let mut decisions = [false; 6];
    for _ in 0..2000 {
        pi.decide_all(&units, &mut decisions, &mut generator).unwrap();
        for (count, decision) in counts.iter_mut().zip(decisions) {
            *count += f64::from(u8::from(decision));
        }
    }
    for (units, count) in units.iter().zip(counts) {
        let want = pi.keep_probability(*units);
        // Six standard deviations: a false alarm once in 5e8.
        let deviation = (2e3 * want * (1.0 - want)).sqrt();
        assert!((count - 2e3 * want).abs() <= 6.0 * deviation, "{units}: {count}");
    }
}

#[test]
fn decisions_have_the_stated_probability() {
    let pi = optimal("1", "1e-5");
    let mut generator = TestSeed(11).generator();
    for n in [10, 11, 12, 15] {
        let appearances = (0..200_000).filter(|_| pi.decide(n, &mut generator).unwrap()).count();
        let want = pi.keep_probability(n);
        let deviation = (want * (1.0 - want) / 2e5).sqrt();
        // Six standard deviations: a false alarm once in 5e8.
        assert!((appearances as f64 / 2e5 - want).abs() < 6.0 * deviation, "{n}: {appearances}");
    }
    assert!((0..1000).all(|_| pi.decide(23, &mut generator).unwrap()));
}

/// The least count from which on pi is one, at all epsilons: nothing is certain before it.
#[test]
fn certainty_begins_where_pi_is_one() {
    assert_eq!(optimal("1", "1e-5").certain_from(), 23);
    for epsilon in ["1e-12", "1e-6", "0.01", "1", "3.3", "41", "100", "1000", "100000", "1000000"] {
        for delta in ["1e-18", "1e-9", "1e-5", "0.01", "0.3", "0.5", "0.7", "0.999999"] {
            let pi = optimal(epsilon, delta);
            let first = pi.certain_from();
            assert!(pi.is_certain(first) && !pi.is_certain(first - 1), "{epsilon} {delta} {first}");
            assert!(pi.is_certain(first + 1) && pi.keep_probability(first) == 1.0);
            assert!(pi.keep_probability(first - 1) > 0.0);
            assert_eq!(pi.first(first), (u64::MAX, u64::MAX));
        }
    }
}
