//! Lemmas of per-record zCDP (PR) on exact laws: Rényi divergences of what is released with and
//! without one record, summed over all outputs.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::BTreeMap;

use hushtable_noise::{DiscreteLaplace, Dyadic, Law, Ratio, RoundedGaussian};
use hushtable_privacy::{Epsilon, PolicyTerm, RecordPolicy, Rho, pure_rho};
use hushtable_testkit::Dice;

const ORDERS: [f64; 6] = [1.01, 1.5, 2.0, 4.0, 10.0, 16.0];

/// The splitting threshold, in lattice steps.
const THRESHOLD: f64 = 20.0;

type Output = BTreeMap<i128, f64>;

fn rho(text: &str) -> Rho {
    text.parse().unwrap()
}

/// A sum with Gaussian noise at `rho` for a record at the threshold.
fn noisy_sum(sum: i128, rho: Rho) -> Output {
    let sigma = THRESHOLD / (2.0 * rho.to_f64()).sqrt();
    noisy(&RoundedGaussian::new(Dyadic::at_least(sigma).unwrap()), sum, (36.0 * sigma) as i128)
}

/// Points further from the value than `reach` are left out, which makes no divergence larger by
/// more than rounding.
fn noisy(law: &dyn Law, value: i128, reach: i128) -> Output {
    (-reach..=reach).map(|x| (value + x, law.pmf(x))).collect()
}

/// The Rényi divergence of an order above one, over the outputs that both have.
fn divergence(one: &Output, other: &Output, order: f64) -> f64 {
    let term = |(output, p): (&i128, &f64)| {
        let q = other.get(output)?;
        Some(order * p.ln() + (1.0 - order) * q.ln())
    };
    let terms: Vec<f64> = one.iter().filter_map(term).filter(|t| t.is_finite()).collect();
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = terms.iter().map(|t| (t - most).exp()).sum();
    (most + sum.ln()) / (order - 1.0)
}

/// The larger of both directions, over the order.
fn loss(one: &Output, other: &Output, order: f64) -> f64 {
    divergence(one, other, order).max(divergence(other, one, order)) / order
}

fn after(law: &Output, function: impl Fn(i128) -> i128) -> Output {
    let mut images = Output::new();
    law.iter().for_each(|(output, p)| *images.entry(function(*output)).or_default() += p);
    images
}

fn policy(constant: Rho, sum: Rho) -> RecordPolicy {
    RecordPolicy::new(constant, vec![PolicyTerm::new(sum, THRESHOLD).unwrap()])
}

/// PR Lemma 4.1: what is computed from a noisy sum, and nothing else, loses no more of any record
/// than the policy says; and no more than the sum itself does.
#[test]
fn functions_of_releases_lose_no_more_than_the_policy() {
    let functions: [fn(i128) -> i128; 5] = [
        |x| x.max(0),
        |x| i128::from(x > 45),
        |x| (x + 5).div_euclid(10) * 10,
        |x| x.rem_euclid(7),
        |x| x * x,
    ];
    let policy = policy(Rho::ZERO, rho("0.5"));
    for value in [1, 10, 20, 33, 60] {
        let (without, with) = (noisy_sum(30, rho("0.5")), noisy_sum(30 + value, rho("0.5")));
        // Where the divergence has its mass, doubles have digits left.
        for order in ORDERS.into_iter().filter(|order| order * value as f64 <= 30.0 * THRESHOLD) {
            let most = policy.exact(&[value as f64]);
            let all = loss(&without, &with, order);
            assert!(all <= most * (1.0 + 1e-9), "{value} {order}: {all} {most}");
            for function in functions {
                let lost = loss(&after(&without, function), &after(&with, function), order);
                assert!(lost <= all * (1.0 + 1e-9), "{value} {order}: {lost} {all}");
            }
        }
    }
}

/// PR Lemma 5.1: of whatever runs on the pieces at rho for one of them, a record of m pieces loses
/// rho m^2. Full pieces in a sum lose that much; discrete Laplace noise on the number of pieces
/// loses no more.
#[test]
fn pieces_lose_by_the_square_of_their_number() {
    let policy = policy(Rho::ZERO, rho("0.5"));
    for value in [1, 20, 21, 40, 55, 60, 100] {
        let (without, with) = (noisy_sum(0, rho("0.5")), noisy_sum(value, rho("0.5")));
        let by_pieces = policy.split(&[value as f64]);
        for order in ORDERS {
            let divergence = loss(&without, &with, order);
            assert!(
                divergence <= by_pieces * (1.0 + 1e-9),
                "{value} {order}: {divergence} {by_pieces}"
            );
            // Up to the tails that are left out, rounding to the lattice takes little.
            let full = value % 20 == 0 && order <= 2.0;
            assert!(
                !full || divergence >= 0.99 * by_pieces,
                "{value} {order}: {divergence} {by_pieces}"
            );
        }
    }
    for (text, scale) in [("0.5", 2), ("1", 1)] {
        let epsilon: Epsilon = text.parse().unwrap();
        let law = DiscreteLaplace::new(Ratio::new(scale, 1).unwrap());
        let one_piece = pure_rho(epsilon).to_f64();
        for pieces in 1..=8 {
            let (without, with) = (noisy(&law, 0, 300), noisy(&law, pieces, 300));
            let most = one_piece * (pieces * pieces) as f64;
            for order in ORDERS {
                let divergence = loss(&without, &with, order);
                assert!(
                    divergence <= most * (1.0 + 1e-9),
                    "{text} {pieces} {order}: {divergence} {most}"
                );
            }
        }
    }
}

/// A row of some columns, split by PR Algorithm 1 at a threshold for each: as few pieces as keep
/// every value within its threshold, at least one. (By the letter, a row of zeroes has none.)
fn split(row: &[i64], thresholds: &[i64]) -> Vec<Vec<i64>> {
    let needed = |(value, t): (&i64, &i64)| (value.abs() + t - 1) / t;
    let pieces = row.iter().zip(thresholds).map(needed).max().unwrap_or(0).max(1);
    let mut left = row.to_vec();
    (0..pieces)
        .map(|_| {
            let piece: Vec<i64> =
                left.iter().zip(thresholds).map(|(value, t)| *value.clamp(&-t, t)).collect();
            left.iter_mut().zip(&piece).for_each(|(left, piece)| *left -= piece);
            piece
        })
        .collect()
}

/// PR Lemma 5.2: the queries of Table 3 on the pieces (SUM, COUNT of different rows, and their
/// quotient) have the values of those on the rows, and the noise is nothing as rho grows. By the
/// letter of Algorithm 1 rows of zeroes have no piece, and are not counted.
#[test]
fn splitting_changes_no_answer() {
    let thresholds = [50, 5_000_000];
    let table_2 =
        [[150, 10_000_000], [50, 15_000_000], [100, 10_000_000], [50, 10_000_000], [20, 1_000_000]];
    let pieces = table_2.map(|row| split(&row, &thresholds));
    assert_eq!(pieces.each_ref().map(Vec::len), [3, 3, 2, 2, 1], "PR Table 2 (b)");
    assert_eq!(pieces[0], [[50, 5_000_000], [50, 5_000_000], [50, 0]]);
    assert_eq!(pieces[1], [[50, 5_000_000], [0, 5_000_000], [0, 5_000_000]]);

    let terms = thresholds.map(|t| PolicyTerm::new(rho("1"), t as f64).unwrap());
    let policy = RecordPolicy::new(Rho::ZERO, terms.to_vec());
    let mut dice = Dice::new(7);
    for _ in 0..200 {
        let rows: Vec<[i64; 2]> = (0..dice.below(20) + 1)
            .map(|_| {
                let value = |most: u64, dice: &mut Dice| dice.below(2 * most) as i64 - most as i64;
                [value(400, &mut dice), value(40_000_000, &mut dice)]
            })
            .chain([[0, 0]])
            .collect();
        let mut all_pieces: Vec<(usize, Vec<i64>)> = Vec::new();
        for (id, row) in rows.iter().enumerate() {
            let pieces = split(row, &thresholds);
            assert_eq!(pieces.len() as f64, policy.pieces(&row.map(|value| value as f64)));
            let within = |piece: &Vec<i64>| piece.iter().zip(thresholds).all(|(v, t)| v.abs() <= t);
            assert!(pieces.iter().all(within), "{row:?}");
            all_pieces.extend(pieces.into_iter().map(|piece| (id, piece)));
        }
        let different: std::collections::BTreeSet<usize> =
            all_pieces.iter().map(|(id, _)| *id).collect();
        assert_eq!(different.len(), rows.len(), "COUNT");
        for column in 0..2 {
            let by_pieces: i64 = all_pieces.iter().map(|(_, piece)| piece[column]).sum();
            assert_eq!(by_pieces, rows.iter().map(|row| row[column]).sum::<i64>(), "SUM");
        }
    }
    let mut still = 0.0;
    for exponent in 0..7 {
        let share = rho(&format!("{}", 10u32.pow(exponent)));
        let silent = noisy_sum(0, share).get(&0).copied().unwrap_or(0.0);
        assert!(silent >= still, "{exponent}: {silent}");
        still = silent;
    }
    assert!(still > 1.0 - 1e-9, "{still}");
}

/// PR Table 3: COUNT loses rho, SUM rho m^2, and AVG both, as it is two queries. The printed rho
/// m^2 of AVG is right with rho for both together, and not with rho for each.
#[test]
fn averages_lose_by_their_sum_and_by_their_count() {
    let each = rho("0.5");
    let (sum_alone, together) = (policy(Rho::ZERO, each), policy(each, each));
    // As wide as the sum's, so that rounding to the lattice takes little from it: a step of the
    // threshold for each record.
    let noisy_count = |count: i128| noisy_sum(count * THRESHOLD as i128, each);
    let count = |order| loss(&noisy_count(9), &noisy_count(10), order);
    for (value, pieces) in [(0, 1.0), (20, 1.0), (35, 2.0), (60, 3.0)] {
        let values = [value as f64];
        for order in [1.01, 1.5, 2.0] {
            let sum = loss(&noisy_sum(90, each), &noisy_sum(90 + value, each), order);
            // Of independent outputs divergences add up.
            let average = sum + count(order);
            assert!(average <= together.exact(&values) * (1.0 + 1e-9), "{value} {order}");
            assert!(together.exact(&values) <= together.split(&values));
            let budget = 1.0;
            assert!(together.split(&values) <= budget * pieces * pieces * (1.0 + 1e-9));
            assert!((count(order) - 0.5).abs() < 0.01, "whatever the record's value is");
            // One full piece: twice as much as is printed.
            assert!(value != 20 || average > 1.9 * sum_alone.split(&values), "{average}");
        }
    }
}

/// PR Lemma 5.6: a release at plain rho loses that of every record, whatever its value; beside a
/// split sum the two add up.
#[test]
fn plain_rho_is_a_constant_policy() {
    let law = DiscreteLaplace::new(Ratio::new(1, 1).unwrap());
    let one = pure_rho("1".parse().unwrap());
    let (before, both) = (RecordPolicy::new(one, Vec::new()), policy(one, rho("0.5")));
    for order in ORDERS {
        let count = loss(&noisy(&law, 7, 300), &noisy(&law, 8, 300), order);
        for value in [0, 1, 20, 50] {
            let values = [value as f64];
            assert!(count <= before.exact(&values) * (1.0 + 1e-9), "{value} {order}: {count}");
            let sum = loss(&noisy_sum(0, rho("0.5")), &noisy_sum(value, rho("0.5")), order);
            assert!(count + sum <= both.exact(&values) * (1.0 + 1e-9), "{value} {order}");
        }
    }
    assert_eq!(before.exact(&[]), before.exact(&[1e12]));
}

/// PR Definition 4.6, personalised zCDP: with the policy as Phi its inequalities are the same, but
/// Phi is public. A published loss gives back the size of the record's value, exactly or to a
/// piece: two tables that differ in one value are told apart for certain. Only a constant may be
/// published for each record; so the function is published, and no record's value of it.
#[test]
fn a_published_loss_gives_the_value_back() {
    let policy = policy(rho("0.1"), rho("0.5"));
    for value in [1.0f64, 19.0, 20.0, 21.0, 1e6] {
        let published = policy.exact(&[value]);
        let back = THRESHOLD * ((published - 0.1) / 0.5).sqrt();
        assert!((back / value - 1.0).abs() < 1e-9, "{value}: {back}");
        let pieces = ((policy.split(&[value]) - 0.1) / 0.5).sqrt();
        assert_eq!(pieces.round(), (value / THRESHOLD).ceil());
    }
    // A release about a record at a loss of rho: a law that no other value changes.
    let point = |value: f64| Output::from([((policy.exact(&[value]) * 1e9) as i128, 1.0)]);
    let (one, other) = (point(20.0), point(21.0));
    assert!(one.keys().all(|output| !other.contains_key(output)), "no output in common");
    let constant = RecordPolicy::new(rho("0.1"), Vec::new());
    assert_eq!(constant.exact(&[20.0]), constant.exact(&[21.0]));
}
