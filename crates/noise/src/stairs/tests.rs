//! Tests of the stairs.

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::*;
use crate::curve::CurveShape;
use crate::script::{Script, enumerate};

fn stairs(shape: CurveShape, numerator: u128, denominator: u128, solid: bool) -> Stairs {
    Stairs::new(Curve { shape, numerator, denominator }, solid)
}

/// The curves of the laws, and of discrete Gaussian laws from the narrowest to the widest.
fn all() -> Vec<Stairs> {
    vec![
        stairs(CurveShape::Exponential, 1, 1, false),
        stairs(CurveShape::Exponential, 1, 32, false),
        stairs(CurveShape::Gaussian, 1, 2, false),
        stairs(CurveShape::Gaussian, 1, 8192, false),
        stairs(CurveShape::Gaussian, 1 << 19, 1, true),
        stairs(CurveShape::Gaussian, 1 << 30, 3 << 24, true),
        stairs(CurveShape::Gaussian, 1, 2, true),
        stairs(CurveShape::Gaussian, 1, 8190, true),
        stairs(CurveShape::Gaussian, 4, 8193, false),
        stairs(CurveShape::Gaussian, (1 << 44) + 1, 1 << 57, false),
    ]
}

fn value(curve: &Curve, x: f64) -> f64 {
    let rate = curve.numerator as f64 / curve.denominator as f64;
    (-rate * if curve.shape == CurveShape::Gaussian { x * x } else { x }).exp()
}

/// The probability of a share, in doubles.
fn share_law(stairs: &Stairs, share: u64) -> f64 {
    let f = |cell: u64| value(&stairs.curve, cell as f64);
    let total: f64 = (0..3000).map(f).sum();
    let cell = share / 2;
    let sure = if stairs.solid { f(cell) } else { f(cell + 1) };
    if share.is_multiple_of(2) { sure / total } else { (f(cell) - sure) / total }
}

/// The proof of the table's error bound, checked against 192 bits for every edge of every table.
#[test]
fn the_true_edges_are_within_the_slack() {
    for stairs in all() {
        let (exact, total) = stairs.exact_edges(256, 192).unwrap();
        assert!(stairs.shares.edges.len() > 2 && exact.len() >= stairs.shares.edges.len());
        assert!(stairs.shares.edges.is_sorted() && stairs.shares.edges[0] == 0);
        // So that the exact path is rare: slack / 2^64 per edge.
        assert!(stairs.shares.slack < 1 << 22, "{}", stairs.shares.slack);
        for (edge, exact) in stairs.shares.edges.iter().zip(&exact) {
            let (low, high) =
                ((&exact.low << 64u32) / &total.high, (&exact.high << 64u32) / &total.low);
            assert!(BigUint::from(*edge) <= low, "{:?}: {edge} {low}", stairs.curve);
            assert!(
                high < BigUint::from(*edge) + stairs.shares.slack,
                "{:?}: {edge} {high}",
                stairs.curve
            );
        }
        // Values beyond the list occur once in 2^40 draws or less.
        assert!(*stairs.shares.edges.last().unwrap() > u64::MAX - (1 << 24));
    }
}

/// The edges to 192 bits are those of the doubles.
#[test]
fn exact_edges_are_the_sums() {
    for stairs in all() {
        let (exact, total) = stairs.exact_edges(256, 192).unwrap();
        let scaled = |x: &BigUint| x.to_f64().unwrap() / 2f64.powi(256);
        let mut sum = 0.0;
        for (share, edge) in exact.iter().enumerate() {
            let float = scaled(&edge.low) / scaled(&total.low);
            assert!((float - sum).abs() < 1e-12, "{:?} {share}: {float} {sum}", stairs.curve);
            assert!(scaled(&edge.high) - scaled(&edge.low) < 1e-50);
            sum += share_law(&stairs, share as u64);
        }
        assert!(scaled(&total.high) - scaled(&total.low) < 1e-50);
    }
}

/// 192 bits of U, with the sign bit before them, as words.
fn words_of(sign: u64, value: &BigUint) -> Vec<u64> {
    let all = (BigUint::from(sign) << 191u32) | (value >> 1u32);
    let mut digits = all.to_u64_digits();
    digits.resize(3, 0);
    digits.reverse();
    digits
}

/// The forced exact path: U begins with the word of an edge, and further words decide, just below
/// and just above it, on the right side. Without those words there is no share.
#[test]
fn at_an_edge_further_words_decide() {
    for stairs in all() {
        let (exact, total) = stairs.exact_edges(320, 256).unwrap();
        let last = stairs.shares.edges.len() - 1;
        for share in [1, 2, 3, last / 2, last - 1].into_iter().filter(|share| *share < last) {
            if stairs.shares.edges[share] == stairs.shares.edges[share - 1]
                || stairs.shares.edges[share] == stairs.shares.edges[share + 1]
            {
                continue;
            }
            let edge = (&exact[share].low << 192u32) / &total.low;
            for sign in [0, 1] {
                for (value, expected) in [(&edge - 8u32, share - 1), (&edge + 8u32, share)] {
                    let words = words_of(sign, &value);
                    let run = |words: &[u64]| {
                        let mut script = Script::<64>::new(words);
                        (stairs.share(&mut script).ok(), script.used())
                    };
                    let want = Some((sign == 1, expected as u64));
                    assert_eq!(run(&words), (want, 3), "{:?} {share}", stairs.curve);
                    assert_eq!(run(&words[..2]), (None, 2));
                    // Further away two words are enough, and far away one is.
                    let away = |bits: u32| {
                        let step = BigUint::from(1u8) << bits;
                        if expected == share { &edge + step } else { &edge - step }
                    };
                    assert_eq!(run(&words_of(sign, &away(80))), (want, 2));
                    if stairs.shares.edges[share + 1] - stairs.shares.edges[share - 1] > 1 << 40 {
                        assert_eq!(run(&words_of(sign, &away(128 + 23))), (want, 1));
                    }
                }
            }
        }
    }
}

/// All bit strings: the shares' law, by the table and (without one) by the exact edges alone.
#[test]
fn shares_enumerated() {
    for (shape, numerator, denominator, solid) in [
        (CurveShape::Exponential, 1, 2, false),
        (CurveShape::Gaussian, 1, 2, false),
        (CurveShape::Gaussian, 1, 8, true),
    ] {
        let stairs = stairs(shape, numerator, denominator, solid);
        let bare = Stairs { shares: Shares { edges: Vec::new(), slack: 1 }, ..stairs.clone() };
        let law = |(_, share): &(bool, u64)| 0.5 * share_law(&stairs, *share);
        enumerate::<1, _>(12, |w| stairs.share(w)).assert_below(0.02, law);
        enumerate::<4, _>(4, |w| stairs.share(w)).assert_below(0.005, law);
        enumerate::<3, _>(3, |w| bare.share(w)).assert_below(0.2, law);
        enumerate::<5, _>(2, |w| bare.share(w)).assert_below(0.1, law);
    }
}

/// All bit strings: sign, cell and half of the cell.
#[test]
fn points_enumerated() {
    for (shape, denominator, length, allowed) in [
        (CurveShape::Exponential, 1, 6, 0.6),
        (CurveShape::Exponential, 4, 5, 0.6),
        (CurveShape::Gaussian, 2, 6, 0.6),
        (CurveShape::Gaussian, 8, 5, 0.7),
    ] {
        let stairs = stairs(shape, 1, denominator, false);
        let rate = 1.0 / denominator as f64;
        // The mass above x, the whole being 1.
        let above = |x: f64| match shape {
            CurveShape::Exponential => (-rate * x).exp(),
            CurveShape::Gaussian => libm::erfc(rate.sqrt() * x),
        };
        let outcomes = enumerate::<3, _>(length, |words| {
            let (negative, cell, mut position) = stairs.point(words)?;
            Ok((negative, cell, position.settle(words, 2, 0, |half| half)?))
        });
        outcomes.assert_below(allowed, |(_, cell, half)| {
            let low = *cell as f64 + *half as f64 / 2.0;
            0.5 * (above(low) - above(low + 0.5))
        });
    }
}

/// All bit strings: sign, cell and position among the steps of a cell.
#[test]
fn lattice_points_enumerated() {
    for (numerator, denominator, width) in [(1, 2, 2u128), (1, 8, 3), (9, 50, 3), (1, 5, 1)] {
        let stairs = stairs(CurveShape::Gaussian, numerator, denominator, width == 1);
        let f = |n: u128| value(&stairs.curve, n as f64 / width as f64);
        let total: f64 = (0..3000).map(f).sum();
        enumerate::<3, _>(5, |words| stairs.lattice_point(words, width))
            .assert_below(0.7, |(_, cell, position)| {
                0.5 * f(u128::from(*cell) * width + position) / total
            });
    }
}

/// Compares 500,000 draws, with few and large cells, in which many positions must be tested: each
/// integer's frequency within six standard deviations. A false alarm has probability 2e-9 for each
/// of 60.
#[test]
fn lattice_points_have_their_frequencies() {
    let mut generator = crate::TestSeed(14).generator();
    for (numerator, denominator, width) in [(1, 2, 2u128), (1, 8, 3), (1, 2, 7), (9, 50, 1)] {
        let stairs = stairs(CurveShape::Gaussian, numerator, denominator, width == 1);
        let f = |n: u128| value(&stairs.curve, n as f64 / width as f64);
        let total: f64 = (0..3000).map(f).sum();
        let mut counts = [0.0; 15];
        for _ in 0..500_000 {
            let (_, cell, position) = stairs.lattice_point(&mut generator, width).unwrap();
            assert!(position < width);
            let n = u128::from(cell) * width + position;
            if let Some(count) = usize::try_from(n).ok().and_then(|n| counts.get_mut(n)) {
                *count += 1.0;
            }
        }
        for (n, count) in counts.iter().enumerate() {
            let p = f(n as u128) / total;
            let deviation = (5e5 * p * (1.0 - p)).sqrt().max(1.0);
            assert!((count - 5e5 * p).abs() < 6.0 * deviation, "{width} {n}: {count} {}", 5e5 * p);
        }
    }
}
