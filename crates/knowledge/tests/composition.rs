//! Counts of the same records at two times, by enumeration.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hushtable_knowledge::{Dependence, Guarantee, KnowledgeError};
use hushtable_privacy::Epsilon;
use proptest::prelude::*;

/// A record's chance of being counted before, and after for those who were not and were before.
#[derive(Clone, Copy, Debug)]
struct Record {
    before: f64,
    after: [f64; 2],
}

impl Record {
    fn later(self) -> f64 {
        self.before * self.after[1] + (1.0 - self.before) * self.after[0]
    }

    /// The least c such that what comes after is c-indistinguishable from what it is without
    /// knowing what was before.
    fn correlation(self) -> f64 {
        let q = self.later();
        self.after
            .iter()
            .flat_map(|a| [(a / q).ln().abs(), ((1.0 - a) / (1.0 - q)).ln().abs()])
            .fold(0.0, f64::max)
    }
}

/// P\[S_1 = i, S_2 = j\] of the others.
fn joint(others: &[Record]) -> Vec<Vec<f64>> {
    let size = others.len() + 1;
    let mut law = vec![vec![0.0; size]; size];
    law[0][0] = 1.0;
    for record in others {
        let mut next = vec![vec![0.0; size]; size];
        for i in 0..size {
            for j in 0..size {
                for (was, chance) in [(0, 1.0 - record.before), (1, record.before)] {
                    let after = record.after[was];
                    for (is, after) in [(0, 1.0 - after), (1, after)] {
                        if law[i][j] > 0.0 && i + was < size && j + is < size {
                            next[i + was][j + is] += law[i][j] * chance * after;
                        }
                    }
                }
            }
        }
        law = next;
    }
    law
}

/// The largest |Dep| (PK Definition 17) of the later count on the earlier, over targets that are
/// counted or not at either time, where it is defined.
fn dependence(others: &[Record]) -> f64 {
    let law = joint(others);
    let at = |i: i64, j: i64| {
        let row = usize::try_from(i).ok().and_then(|i| law.get(i));
        row.and_then(|row| usize::try_from(j).ok().and_then(|j| row.get(j))).copied().unwrap_or(0.0)
    };
    let size = law.len() as i64;
    let before = |i: i64| (0..size).map(|j| at(i, j)).sum::<f64>();
    let later = |j: i64| (0..size).map(|i| at(i, j)).sum::<f64>();
    let mut most = 0.0f64;
    for i in 0..=size {
        for j in 0..=size {
            for (a, b) in [((1, 1), (0, 0)), ((1, 0), (0, 1)), ((1, 0), (0, 0)), ((0, 1), (0, 0))] {
                let known = |(was, is)| at(i - was, j - is) / before(i - was);
                let loss = (known(a) / known(b)).ln() - (later(j - a.1) / later(j - b.1)).ln();
                if loss.is_finite() {
                    most = most.max(loss.abs());
                }
            }
        }
    }
    most
}

fn epsilon(text: &str) -> Epsilon {
    text.parse().unwrap()
}

fn mu_of(c: f64) -> f64 {
    Dependence::Temporal { c: Epsilon::from_f64_up(c).unwrap() }.bound().unwrap().0.to_f64()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2000)
    })]

    #[test]
    fn temporal_dependence_is_bounded(
        others in prop::collection::vec((0.05..0.95f64, 0.05..0.95f64, 0.05..0.95f64), 1..=6),
    ) {
        let others: Vec<Record> =
            others.iter().map(|(p, a, b)| Record { before: *p, after: [*a, *b] }).collect();
        let c = others.iter().map(|r| r.correlation()).fold(0.0, f64::max);
        let brute = dependence(&others);
        prop_assert!(mu_of(c) >= brute * (1.0 - 1e-9), "{c}: {brute}");
    }

    /// The pair of counts, against the sum of what each promises.
    #[test]
    fn two_counts_are_bounded(
        others in prop::collection::vec((0.1..0.9f64, 0.1..0.9f64, -0.1..0.1f64), 1..=6),
        first in 0.0..2.0f64,
        second in 0.0..2.0f64,
    ) {
        let others: Vec<Record> = others
            .iter()
            .map(|(p, q, d)| Record { before: *p, after: [q + 0.9 * d.min(1.0 - q), *q] })
            .collect();
        let c = others.iter().map(|r| r.correlation()).fold(0.0, f64::max);
        let law = joint(&others);
        let size = law.len();
        let at = |i: usize, j: usize| law.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0.0);
        let before = |i: usize| (0..size).map(|j| at(i, j)).sum::<f64>();
        let later = |j: usize| (0..size).map(|i| at(i, j)).sum::<f64>();
        // Counted at both times, or at neither.
        let (first, second) =
            (Epsilon::from_f64_up(first).unwrap(), Epsilon::from_f64_up(second).unwrap());
        let single = |count: &dyn Fn(usize) -> f64, epsilon: Epsilon| {
            let e = epsilon.to_f64().exp();
            let less = |k: usize| if k == 0 { 0.0 } else { count(k - 1) };
            let up: f64 = (0..=size).map(|k| (less(k) - e * count(k)).max(0.0)).sum();
            let down: f64 = (0..=size).map(|k| (count(k) - e * less(k)).max(0.0)).sum();
            Guarantee { epsilon, delta: up.max(down).min(1.0) }
        };
        let releases = [single(&before, first), single(&later, second)];
        let temporal = Dependence::Temporal { c: Epsilon::from_f64_up(c).unwrap() };
        let all = Dependence::together(Some(temporal), &releases).unwrap();
        let e = all.epsilon.to_f64().exp();
        let less = |i: usize, j: usize| if i == 0 || j == 0 { 0.0 } else { at(i - 1, j - 1) };
        let (mut up, mut down) = (0.0, 0.0);
        for i in 0..=size {
            for j in 0..=size {
                up += (less(i, j) - e * at(i, j)).max(0.0);
                down += (at(i, j) - e * less(i, j)).max(0.0);
            }
        }
        prop_assert!(all.delta >= f64::max(up, down) - 1e-14, "{} {up} {down}", all.delta);
    }
}

/// PK Example 9 has 2c, which is too little.
#[test]
fn twice_the_correlation_is_not_enough() {
    let record = Record { before: 0.5, after: [0.475, 0.525] };
    let c = record.correlation();
    assert!(dependence(&[record; 1]) < 2.0 * c);
    assert!(dependence(&[record; 4]) > 2.9 * c);
    let many = dependence(&[record; 16]);
    assert!(many > 3.6 * c && many < mu_of(c), "{}", many / c);
}

#[test]
fn releases_add_up() {
    let release = |e: &str, delta: f64| Guarantee { epsilon: epsilon(e), delta };
    let three = [release("0.1", 1e-9), release("0.2", 2e-9), release("0.3", 0.0)];
    let apart = Dependence::together(Some(Dependence::NONE), &three).unwrap();
    assert_eq!(apart.epsilon, epsilon("0.6"));
    assert!(apart.delta >= 3e-9 && apart.delta < 3.000_001e-9);
    let bounded = Dependence::Bounded { mu: epsilon("0.05"), nu: 1e-10 };
    let near = Dependence::together(Some(bounded), &three).unwrap();
    assert_eq!(near.epsilon, epsilon("0.7"));
    assert!(near.delta >= 3.2e-9 && near.delta < 3.200_001e-9);
    assert_eq!(Dependence::together(None, &three), Err(KnowledgeError::Unbounded));
    for nu in [-1.0, 1.5, f64::NAN, f64::INFINITY] {
        let wrong = Dependence::Bounded { mu: Epsilon::ZERO, nu };
        assert!(Dependence::together(Some(wrong), &three).is_err());
        assert!(Dependence::together(Some(Dependence::NONE), &[release("1", nu)]).is_err());
    }
    let much = [release("600000", 0.0), release("600000", 0.0)];
    assert!(Dependence::together(Some(Dependence::NONE), &much).is_err());
    assert!(Dependence::Temporal { c: epsilon("250001") }.bound().is_err());
}

/// A guarantee at other epsilons: the divergence of the worst pair of laws that it allows, which
/// are delta, 0, e^E/(1+e^E) and 1/(1+e^E) against their mirror image.
#[test]
fn a_guarantee_at_another_epsilon_is_that_of_the_worst_pair() {
    for (stated, delta) in [("0", 0.0), ("0.5", 1e-9), ("1", 0.0), ("3", 0.25), ("800", 0.1)] {
        let release = Guarantee { epsilon: stated.parse().unwrap(), delta };
        let stated: f64 = stated.parse().unwrap();
        let more = (1.0 - delta) / (1.0 + (-stated).exp());
        let law = [delta, 0.0, more, (1.0 - delta) / (1.0 + stated.exp())];
        for epsilon in [0.0, 0.1, 0.5, 0.9, 1.0, 2.0, 700.0] {
            let mirrored = [law[1], law[0], law[3], law[2]];
            let pairs = law.iter().zip(mirrored);
            let want: f64 = pairs.map(|(p, q)| (p - f64::exp(epsilon) * q).max(0.0)).sum();
            let got = release.delta_at(epsilon);
            let near = |slack: f64| (got - want).abs() <= slack;
            // Where the odds are e^epsilon to the last bit, the pair has a rounding error left.
            assert!(near(1e-14 + 1e-12 * want), "{stated} {delta} {epsilon}: {got:e} {want:e}");
            assert!(got >= release.delta && release.delta_at(epsilon + 0.1) <= got);
        }
        assert_eq!(release.delta_at(f64::NAN), 1.0);
    }
}
