use std::collections::BTreeMap;

use hushtable_noise::TestSeed;
use hushtable_privacy::{Composition, Epsilon};
use proptest::prelude::*;

use super::*;

const ADD: Neighbouring = Neighbouring::AddRemove;
const REPLACE: Neighbouring = Neighbouring::Replace;

fn percentiles(ten_thousandths: &[u32]) -> Vec<Percentile> {
    ten_thousandths.iter().map(|p| Percentile::new(i128::from(*p), 4).unwrap()).collect()
}

/// k/n for all k in between.
fn equal_shares(n: u32) -> Vec<Percentile> {
    percentiles(&(1..n).map(|k| k * WHOLE / n).collect::<Vec<_>>())
}

fn pure(text: &str) -> Loss {
    Loss::pure(text.parse().unwrap())
}

fn rho(text: &str) -> Loss {
    Loss::concentrated(text.parse().unwrap())
}

/// Of values that stay as they are.
fn coarse(
    of: &[u32],
    (low, high): (i64, i64),
    rows: u32,
    groups: (u32, bool),
    relation: Neighbouring,
    loss: Loss,
) -> JointQuantiles {
    let prior = Prior::new(low, high, low.abs().max(high.abs())).unwrap();
    JointQuantiles::of(&percentiles(of), prior, rows, groups, relation, loss).unwrap()
}

/// The probability of every point of a node, by the definition.
fn law_of_node(node: &QuantileNode, values: &[i128], prior: Prior) -> Vec<(i128, f64)> {
    let relative = node.quantile.percentile().to_f64() * values.len() as f64;
    let weight = |x: i128| {
        let below = values.iter().filter(|v| **v < x).count() as f64;
        let to = values.iter().filter(|v| **v <= x).count() as f64;
        let distance = (below - relative).max(relative - to).max(0.0);
        (x, prior.weight(x, x) as f64 * (-node.quantile.rate() * distance).exp())
    };
    let weights: Vec<(i128, f64)> = (prior.low()..=prior.high()).map(weight).collect();
    let sum: f64 = weights.iter().map(|(_, w)| w).sum();
    weights.into_iter().map(|(x, w)| (x, w / sum)).collect()
}

type Law = Vec<(Vec<i128>, f64)>;

/// The probability of every vector of points of some nodes, by the definition.
fn law_between(joint: &JointQuantiles, nodes: Range<usize>, values: &[i128], prior: Prior) -> Law {
    let Some(at) = middle(&nodes) else { return vec![(Vec::new(), 1.0)] };
    let mut law = Vec::new();
    for (x, p) in law_of_node(&joint.nodes[at], values, prior) {
        let [left, right] = halves(values, x);
        let left = law_between(joint, nodes.start..at, &left, prior.between(prior.low(), x));
        let right = law_between(joint, at + 1..nodes.end, &right, prior.between(x, prior.high()));
        for (a, q) in &left {
            for (b, r) in &right {
                law.push(([a.as_slice(), &[x], b].concat(), p * q * r));
            }
        }
    }
    law
}

fn halves(values: &[i128], x: i128) -> [Vec<i128>; 2] {
    let (left, right) = values.iter().partition(|v| **v <= x);
    [left, right]
}

fn law(joint: &JointQuantiles, values: &[i128]) -> Law {
    law_between(joint, 0..joint.nodes.len(), values, joint.prior)
}

/// All sorted lists of up to `most` values in the range.
fn lists(range: (i64, i64), most: usize) -> Vec<Vec<i128>> {
    let coarse = crate::quantile::tests::lists(range, most);
    coarse.into_iter().map(|list| list.into_iter().map(i128::from).collect()).collect()
}

fn with(list: &[i128], values: &[i128]) -> Vec<i128> {
    let mut list = [list, values].concat();
    list.sort_unstable();
    list
}

/// The least and greatest ln of the ratio of two laws' probabilities.
fn log_ratios(one: &Law, other: &Law) -> (f64, f64) {
    let ratios = one.iter().zip(other).map(|((a, p), (b, q))| {
        assert_eq!(a, b);
        (p / q).ln()
    });
    ratios.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), r| (l.min(r), h.max(r)))
}

/// The order's Rényi divergence over the order.
fn divergence(one: &Law, other: &Law, order: f64) -> f64 {
    let pairs = one.iter().zip(other);
    let sum: f64 = pairs.map(|((_, p), (_, q))| q * (p / q).powf(order)).sum();
    sum.ln() / (order - 1.0) / order
}

/// Pairs of tables whose difference is one unit of that many values, as a relation has them.
fn neighbours(
    range: (i64, i64),
    rows: usize,
    relation: Neighbouring,
    most: usize,
) -> Vec<[Vec<i128>; 2]> {
    let units = lists(range, rows);
    let mut pairs = Vec::new();
    for list in lists(range, most) {
        for one in &units {
            match relation {
                Neighbouring::AddRemove => pairs.push([list.clone(), with(&list, one)]),
                Neighbouring::Replace => {
                    let others = units.iter().map(|other| [with(&list, one), with(&list, other)]);
                    pairs.extend(others);
                }
            }
        }
    }
    pairs
}

/// Every list of up to four values, ties among them, and every one with one more, or two, or with
/// one or two exchanged: no log-ratio of a vector and no divergence is above what is promised, and
/// the range is nearly reached. Two and three levels.
#[test]
fn neighbours_are_as_near_as_promised() {
    for (of, rows, relation, most) in [
        (&[2500, 5000, 7500][..], 1, ADD, 4),
        (&[1000, 5000, 6000], 2, ADD, 3),
        (&[2500, 5000, 7500], 1, REPLACE, 3),
        (&[500, 5000, 9000], 2, REPLACE, 2),
        (&[2000, 4000, 6000, 8000], 1, ADD, 3),
    ] {
        let range = (0, 2);
        let epsilon = 1.3;
        let pure_quantiles = coarse(of, range, rows, (1, true), relation, pure("1.3"));
        let rho_quantiles = coarse(of, range, rows, (1, true), relation, rho("0.2"));
        let (mut widest, mut farthest) = (0.0f64, 0.0f64);
        for [first, second] in neighbours((0, 2), rows as usize, relation, most) {
            let (low, high) =
                log_ratios(&law(&pure_quantiles, &first), &law(&pure_quantiles, &second));
            assert!(
                low >= -epsilon - 1e-9 && high <= epsilon + 1e-9,
                "{of:?} {first:?} {second:?}"
            );
            widest = widest.max(high - low);
            let laws = [law(&rho_quantiles, &first), law(&rho_quantiles, &second)];
            for order in [1.01, 2.0, 10.0] {
                let forth = divergence(&laws[0], &laws[1], order);
                let back = divergence(&laws[1], &laws[0], order);
                farthest = farthest.max(forth).max(back);
            }
        }
        assert!(farthest <= 0.2 + 1e-9 && farthest > 0.05, "{of:?} {rows} {relation}: {farthest}");
        assert!(widest > 0.5 * epsilon, "{of:?} {rows} {relation}: {widest}");
    }
}

/// Given the points of the levels before, the log-ratios of all draws of a level together have a
/// range of at most its share: as one draw, whichever nodes the unit's values are in, enter or
/// leave. The range is nearly reached.
#[test]
fn a_level_is_one_draw_of_bounded_range() {
    for (of, rows, relation, most) in [
        (&[2500, 5000, 7500][..], 1, ADD, 5),
        (&[2500, 5000, 7500], 2, ADD, 4),
        (&[1000, 5000, 9900], 1, ADD, 5),
        (&[2500, 5000, 7500], 1, REPLACE, 4),
        (&[1000, 5000, 9900], 2, REPLACE, 3),
    ] {
        let joint = coarse(of, (0, 2), rows, (1, true), relation, pure("1.3"));
        let [first, second] = joint.events()[..] else { panic!("two levels") };
        let share = |event: Event| match event {
            Event::BoundedRange { epsilon, draws } => {
                assert_eq!(draws.get(), 1);
                epsilon.to_f64()
            }
            event => panic!("{event:?}"),
        };
        assert!((share(first) - 0.65).abs() < 1e-12 && (share(second) - 0.65).abs() < 1e-12);
        let mut widest = [0.0f64; 2];
        for [a, b] in neighbours((0, 2), rows as usize, relation, most) {
            widest[0] = widest[0].max(range_of(&joint.nodes[1], [&a, &b], joint.prior));
            for x in 0..=2 {
                let ([a, c], [b, d]) = (halves(&a, x), halves(&b, x));
                let left = range_of(&joint.nodes[0], [&a, &b], joint.prior.between(0, x));
                let right = range_of(&joint.nodes[2], [&c, &d], joint.prior.between(x, 2));
                widest[1] = widest[1].max(left + right);
            }
        }
        for widest in widest {
            assert!(widest <= 0.65 + 1e-9, "{of:?} {rows} {relation}: {widest}");
            assert!(widest > 0.45 * 0.65, "{of:?} {rows} {relation}: {widest}");
        }
    }
}

/// The ln of the ratio of a node's probabilities under two lists of values: its range.
fn range_of(node: &QuantileNode, values: [&[i128]; 2], prior: Prior) -> f64 {
    let [a, b] = values.map(|values| {
        let law = law_of_node(node, values, prior);
        law.into_iter().map(|(x, p)| (vec![x], p)).collect::<Law>()
    });
    let (low, high) = log_ratios(&a, &b);
    high - low
}

/// A value that leaves one node and enters another changes both: where it does the most to each,
/// the share of the level is reached, and not exceeded.
#[test]
fn an_exchange_may_change_two_nodes() {
    let joint = coarse(&[1500, 5000, 8500], (0, 20), 1, (1, true), REPLACE, pure("1.3"));
    // A value far on the left of the first quartile or so leaves the left half; the right one is
    // its mirror image.
    let left = [2, 5, 6, 8, 8, 8, 8, 8, 8, 8];
    let right: Vec<i128> = left.iter().rev().map(|value| 20 - value).collect();
    let (rest, others) = (&left[1..], &right[..right.len() - 1]);
    let below = range_of(&joint.nodes[0], [&left, rest], joint.prior.between(0, 10));
    let above = range_of(&joint.nodes[2], [others, &right], joint.prior.between(10, 20));
    assert!((below + above - 0.65).abs() < 1e-9, "{below} {above}");
}

/// The digits that distinguish equal values belong to the unit: with the digits of all values at
/// random, as in a release, tables of ties are as near as promised.
#[test]
fn ties_are_broken_without_a_loss() {
    for (relation, rows) in [(ADD, 1), (ADD, 2), (REPLACE, 1)] {
        let of = percentiles(&[2500, 5000, 7500]);
        let prior = Prior::new(0, 1, 1).unwrap().fine(1);
        let joint = JointQuantiles::of(&of, prior, rows, (1, true), relation, pure("1.3")).unwrap();
        let mut known: BTreeMap<Vec<i128>, Law> = BTreeMap::new();
        let mut mixed = |values: &[i128]| -> Law {
            let mut sums: BTreeMap<Vec<i128>, f64> = BTreeMap::new();
            let all = 1u32 << values.len();
            for digits in 0..all {
                let digit = |at: usize| i128::from((digits >> at) & 1);
                let mut fine: Vec<i128> =
                    values.iter().enumerate().map(|(at, v)| 2 * v + digit(at)).collect();
                fine.sort_unstable();
                let law = known.entry(fine).or_insert_with_key(|fine| law(&joint, fine));
                for (points, p) in law {
                    let points = points.iter().map(|x| joint.prior.of_fine(*x).into()).collect();
                    *sums.entry(points).or_default() += *p / f64::from(all);
                }
            }
            sums.into_iter().collect()
        };
        let mut widest = 0.0f64;
        for [first, second] in neighbours((0, 1), rows as usize, relation, 4) {
            let (low, high) = log_ratios(&mixed(&first), &mixed(&second));
            assert!(low >= -1.3 - 1e-9 && high <= 1.3 + 1e-9, "{first:?} {second:?}");
            widest = widest.max(high - low);
        }
        assert!(widest > 0.4, "{relation} {rows}: {widest}");
    }
}

/// m quantiles have ceil(log2(m + 1)) events, which come to the loss; several groups are as many
/// draws of each.
#[test]
fn levels_share_the_loss() {
    for (count, levels) in [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (19, 5), (99, 7)] {
        assert_eq!(JointQuantiles::levels(count), levels);
        let of = equal_shares(count as u32 + 1);
        for (loss, relation, groups) in [
            (pure("1"), ADD, (1, true)),
            (pure("1"), REPLACE, (3, false)),
            (rho("0.5"), ADD, (3, false)),
            (rho("0.5"), REPLACE, (3, false)),
            (rho("0.5"), REPLACE, (1, true)),
        ] {
            let joint =
                JointQuantiles::new(&of, ((0, 999), 999), 2, groups, relation, loss).unwrap();
            let events = joint.events();
            assert_eq!((events.len(), joint.loss()), (levels as usize, loss));
            if let Loss::Approximate { epsilon, .. } = loss {
                let sum = events.iter().map(|event| event.in_epsilon().unwrap());
                assert_eq!(sum.reduce(|a, b| a.plus(b).unwrap()), Some(Loss::pure(epsilon)));
            } else {
                let sum =
                    events.iter().map(|event| event.in_rho().unwrap().rho().unwrap().to_f64());
                assert!((sum.sum::<f64>() / 0.5 - 1.0).abs() < 1e-8, "{count} {relation}");
            }
            for event in &events {
                if let Event::BoundedRange { draws, .. } = event {
                    assert_eq!(draws.get(), groups.0);
                }
            }
        }
    }
    // Deciles as four draws of a quarter each.
    let deciles = JointQuantiles::new(&equal_shares(10), ((0, 9), 9), 1, (1, true), ADD, pure("1"));
    let all: Vec<_> = deciles.unwrap().events().into_iter().map(|event| (event, 1)).collect();
    let at = Epsilon::from_f64_down(0.999).unwrap();
    let delta = Composition::new(&all).unwrap().delta_at(at);
    assert!(delta < 0.01, "{delta}");
}

/// Each node has its share of the values between two splits as its percentile, and each value costs
/// the same in all nodes of a level.
#[test]
fn nodes_have_relative_percentiles() {
    let of = [500, 1000, 5000, 9000, 9999];
    let joint = coarse(&of, (0, 9), 3, (1, true), ADD, pure("3"));
    let shares: Vec<f64> = joint.nodes.iter().map(|n| n.quantile.percentile().to_f64()).collect();
    // The middle of the left half is the second: its share of what is below the median.
    assert_eq!(shares, [0.5, 0.2, 0.5, 8000.0 / 9998.0, 4999.0 / 5000.0]);
    let rates: Vec<f64> = joint.nodes.iter().map(|n| n.quantile.rate()).collect();
    for (share, rate) in shares.iter().zip(rates) {
        // A level of three has a third of the loss, over 3 rows.
        let range = rate * 2.0 * share.max(1.0 - share) * 3.0;
        assert!((range - 1.0).abs() < 1e-9, "{share}: {range}");
    }
    assert_eq!(joint.percentile(4).unwrap().to_f64(), 0.9999);
    assert!(joint.ranges().iter().all(|range| (range * 3.0 - 1.0).abs() < 1e-9));
}

/// The rank distance of a released point, whose ties count as one.
fn far(values: &[i64], p: Percentile, point: i64) -> f64 {
    distance(p, values, point)
}

/// Deciles of 10,000 values of which most are tied, at a fixed seed: 95 of 100 are as near as
/// stated for even gaps. Without finer values they are far off: those next to a split at a tie have
/// wrong shares.
#[test]
fn deciles_of_ties_are_near() {
    let mut generator = TestSeed(51).generator();
    let of = equal_shares(10);
    // 55 % zero, 25 % at ten, and the rest spread.
    let mut values = vec![0i64; 5_500];
    values.extend([10; 2_500]);
    values.extend((0..2_000).map(|i| 20 + 7 * i));
    let range = ((0, 20_000), 20_000);
    let fine = JointQuantiles::new(&of, range, 1, (1, true), ADD, pure("0.5")).unwrap();
    let prior = Prior::new(0, 20_000, 20_000).unwrap();
    let plain = JointQuantiles::of(&of, prior, 1, (1, true), ADD, pure("0.5")).unwrap();
    let mut missed = [[0u32; 2]; 9];
    let runs = 400;
    for _ in 0..runs {
        for (joint, at) in [(&fine, 0), (&plain, 1)] {
            let points = match at {
                0 => joint.release(&mut generator, &values).unwrap(),
                _ => {
                    let values: Vec<i128> = values.iter().map(|v| i128::from(*v)).collect();
                    let points = joint.draw(&mut generator, &values).unwrap();
                    points.into_iter().map(|x| x as i64).collect()
                }
            };
            assert!(points.is_sorted());
            for (nth, (p, point)) in of.iter().zip(&points).enumerate() {
                let stated = joint.rank_distance_even(nth, 0.95);
                assert!(stated < 150.0, "{stated}");
                missed[nth][at] += u32::from(far(&values, *p, *point) > stated);
            }
        }
    }
    // 5 % of 400, and four standard deviations.
    assert!(missed.iter().all(|[fine, _]| *fine <= 37), "{missed:?}");
    assert!(missed.iter().any(|[_, plain]| *plain > 200), "{missed:?}");
}

/// How much smaller the root of the mean squared rank error is than of quantiles that are drawn one
/// by one at the same loss, all together: about as the formulas say, more the more quantiles there
/// are.
#[test]
fn joint_draws_are_nearer_than_separate_ones() {
    let mut generator = TestSeed(52).generator();
    let values: Vec<i64> = (0..20_000).map(|i| 1_000 + 40 * i).collect();
    let range = ((0, 1_000_000), 1_000_000);
    for (count, loss, least) in [
        (3, pure("1"), 1.2),
        (9, pure("1"), 1.8),
        (19, pure("1"), 2.8),
        (3, rho("0.05"), 1.0),
        (9, rho("0.05"), 1.15),
        (19, rho("0.05"), 1.4),
    ] {
        let of = equal_shares(count + 1);
        let joint = JointQuantiles::new(&of, range, 1, (1, true), ADD, loss).unwrap();
        let share = match loss {
            Loss::Approximate { epsilon, .. } => Loss::pure(epsilon.split(&vec![1; of.len()])[0]),
            Loss::Concentrated { rho, .. } => Loss::concentrated(rho.split(&vec![1; of.len()])[0]),
        };
        let alone: Vec<Quantile> = of
            .iter()
            .map(|p| Quantile::new(*p, range, 1, (1, true), ADD, share).unwrap())
            .collect();
        let mut squares = [0.0f64; 2];
        for _ in 0..100 {
            let points = joint.release(&mut generator, &values).unwrap();
            for ((p, point), alone) in of.iter().zip(points).zip(&alone) {
                let other = alone.release(&mut generator, &values).unwrap();
                squares[0] += far(&values, *p, point).powi(2);
                squares[1] += far(&values, *p, other).powi(2);
            }
        }
        let gain = (squares[1] / squares[0]).sqrt();
        let variances = (0..of.len()).map(|nth| joint.deviation_even(nth).powi(2));
        let variances = variances.sum::<f64>();
        let others: f64 = alone.iter().map(|quantile| quantile.deviation_even().powi(2)).sum();
        let formula = (others / variances).sqrt();
        println!("{count} quantiles at {loss}: {gain:.2} times less, by formula {formula:.2}");
        assert!(gain > least && (gain / formula - 1.0).abs() < 0.2, "{count}: {gain} {formula}");
    }
}

/// Rank distances, for even gaps and for any data, are exceeded no more often than stated: 2,000
/// draws of seven quantiles, where the last ones have errors of three levels.
#[test]
fn rank_distances_are_kept() {
    let mut generator = TestSeed(53).generator();
    let of = percentiles(&[500, 1000, 2500, 5000, 7500, 9000, 9900]);
    let values: Vec<i64> = (0..20_000).map(|i| 1_000 + 40 * i).collect();
    let range = ((0, 1_000_000), 1_000_000);
    let joint = JointQuantiles::new(&of, range, 1, (1, true), ADD, pure("0.5")).unwrap();
    let mut beyond = [[0u32; 2]; 7];
    let mut squares = [0.0f64; 7];
    for _ in 0..2_000 {
        let points = joint.release(&mut generator, &values).unwrap();
        for (nth, point) in points.iter().enumerate() {
            let far = far(&values, of[nth], *point);
            beyond[nth][0] += u32::from(far > joint.rank_distance_even(nth, 0.9));
            beyond[nth][1] += u32::from(far > joint.rank_distance(nth, 0.9));
            squares[nth] += far * far / 2_000.0;
        }
    }
    for (nth, [even, worst]) in beyond.into_iter().enumerate() {
        assert!((140..=250).contains(&even), "{nth}: {beyond:?}");
        assert!(worst <= 20, "{nth}: {beyond:?}");
        assert!(joint.rank_distance(nth, 0.9) > joint.rank_distance_even(nth, 0.9));
        let deviation = squares[nth].sqrt() / joint.deviation_even(nth);
        assert!((deviation - 1.0).abs() < 0.15, "{nth}: {deviation}");
    }
}

/// A single one is a quantile.
#[test]
fn one_alone_is_a_quantile() {
    let range = ((0, 1000), 1000);
    let of = percentiles(&[9000]);
    for (relation, loss) in [(ADD, pure("1")), (REPLACE, rho("0.1"))] {
        let joint = JointQuantiles::new(&of, range, 2, (3, false), relation, loss).unwrap();
        let alone = Quantile::new(of[0], range, 2, (3, false), relation, loss).unwrap();
        assert_eq!(joint.rate(0), alone.rate());
        assert_eq!(joint.events(), [alone.event()]);
        let distance = joint.rank_distance_even(0, 0.95);
        assert!((distance / alone.rank_distance_even(0.95) - 1.0).abs() < 0.05, "{distance}");
        let tables: [&[i64]; 2] = [&[1, 5, 7], &[1, 7]];
        assert!((joint.log_ratio(0, 6, tables) - alone.log_ratio(6, tables)).abs() < 1e-12);
    }
}

/// Wherever values are on all of the lattice, points are drawn, in order, at the ends of the range.
#[test]
fn all_of_the_lattice_is_drawn_from() {
    let mut generator = TestSeed(54).generator();
    let far = 1i64 << 60;
    let of = equal_shares(20);
    for (low, high, scale) in
        [(-far, far, far), (-far, far, 1), (0, far, 1000), (far - 1, far, far)]
    {
        for loss in ["1e-9", "1", "1000000"] {
            let range = ((low, high), scale);
            let joint = JointQuantiles::new(&of, range, 1, (1, true), ADD, pure(loss)).unwrap();
            for count in [0, 1, 1001] {
                for (first, rest) in [(low, low), (high, high), (low, high)] {
                    let mut values = vec![first; count / 2];
                    values.resize(count, rest);
                    let points = joint.release(&mut generator, &values).unwrap();
                    assert!(points.is_sorted());
                    assert!(points.iter().all(|x| (low..=high).contains(x)));
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let make = |of: &[u32], range, rows, loss| {
        JointQuantiles::new(&percentiles(of), range, rows, (1, true), ADD, loss).unwrap_err()
    };
    let range = ((0, 9), 9);
    assert_eq!(make(&[], range, 1, pure("1")), MechanismError::NoSensitivity);
    assert_eq!(make(&[1000], range, 0, pure("1")), MechanismError::NoSensitivity);
    assert_eq!(make(&[1000], ((1, 0), 1), 1, pure("1")), MechanismError::NoSensitivity);
    let none = Loss::pure(Epsilon::ZERO);
    assert_eq!(make(&[1000, 2000], range, 1, none), MechanismError::NoBudget("epsilon"));
}

proptest! {
    /// Points never cross, whatever the percentiles, their order and the values; equal percentiles
    /// have equal points.
    #[test]
    fn points_never_cross(
        mut values in prop::collection::vec(-40i64..60, 0..80),
        of in prop::collection::vec(1u32..10_000, 1..12),
        milli in 1u64..20_000,
        seed in any::<u64>(),
    ) {
        values.sort_unstable();
        let loss = Loss::pure(Epsilon::from_units(milli * 1_000_000_000).unwrap());
        let of = percentiles(&of);
        let joint = JointQuantiles::new(&of, ((-40, 59), 59), 1, (1, true), ADD, loss).unwrap();
        prop_assert_eq!(joint.quantiles(), of.len());
        let points = joint.release(&mut TestSeed(seed).generator(), &values).unwrap();
        let mut pairs: Vec<_> = of.iter().map(|p| p.ten_thousandths()).zip(points).collect();
        pairs.sort_unstable();
        prop_assert!(pairs.is_sorted_by_key(|(_, point)| *point));
        prop_assert!(pairs.windows(2).all(|w| w[0].0 != w[1].0 || w[0].1 == w[1].1));
        prop_assert!(pairs.iter().all(|(_, point)| (-40..60).contains(point)));
    }
}
