use hushtable_noise::TestSeed;
use hushtable_privacy::{Composition, Rho};
use num_bigint::BigUint;
use proptest::prelude::*;

use super::*;

pub(super) fn percentile(text: &str) -> Percentile {
    let (_, digits) = text.split_once('.').unwrap();
    Percentile::new(digits.parse().unwrap(), digits.len() as u8).unwrap()
}

pub(super) fn pure(text: &str) -> Loss {
    Loss::pure(text.parse().unwrap())
}

pub(super) fn rho(text: &str) -> Loss {
    Loss::concentrated(text.parse().unwrap())
}

/// Of values in a range, one per unit, in one group.
pub(super) fn quantile(p: &str, range: (i64, i64), loss: Loss) -> Quantile {
    let relation = Neighbouring::AddRemove;
    let scale = range.0.abs().max(range.1.abs());
    Quantile::new(percentile(p), (range, scale), 1, (1, true), relation, loss).unwrap()
}

/// All points of the range.
fn points(quantile: &Quantile) -> impl Iterator<Item = i64> {
    let (low, high) = (quantile.prior.low(), quantile.prior.high());
    low as i64..=high as i64
}

/// The probability of every point of the range, by the definition.
fn law(quantile: &Quantile, values: &[i64]) -> Vec<f64> {
    let p = quantile.percentile.to_f64() * values.len() as f64;
    let weight = |x: i64| {
        let below = values.iter().filter(|v| **v < x).count() as f64;
        let to = values.iter().filter(|v| **v <= x).count() as f64;
        let distance = (below - p).max(p - to).max(0.0);
        quantile.prior.weight(x.into(), x.into()) as f64 * (-quantile.rate() * distance).exp()
    };
    let weights: Vec<f64> = points(quantile).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|w| w / sum).collect()
}

/// All sorted lists of up to `most` values in the range.
pub(crate) fn lists((low, high): (i64, i64), most: usize) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    let mut last: Vec<Vec<i64>> = all.clone();
    for _ in 0..most {
        let longer = |list: &Vec<i64>| {
            let from = list.last().copied().unwrap_or(low);
            let list = list.clone();
            (from..=high).map(move |value| [list.clone(), vec![value]].concat())
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    all
}

pub(super) fn with(list: &[i64], values: &[i64]) -> Vec<i64> {
    let mut list = [list, values].concat();
    list.sort_unstable();
    list
}

/// The least and greatest ln of the ratio of two laws' probabilities.
fn log_ratios(one: &[f64], other: &[f64]) -> (f64, f64) {
    let ratios = one.iter().zip(other).map(|(a, b)| (a / b).ln());
    ratios.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), r| (l.min(r), h.max(r)))
}

/// The order's Rényi divergence over the order.
fn divergence(one: &[f64], other: &[f64], order: f64) -> f64 {
    let sum: f64 = one.iter().zip(other).map(|(a, b)| b * (a / b).powf(order)).sum();
    sum.ln() / (order - 1.0) / order
}

/// Every list of up to 5 values, and every one with one value more, or with two more, or with one
/// exchanged: no range of log-ratios, no log-ratio and no divergence is above what is promised, and
/// the range is reached.
#[test]
fn neighbours_are_as_near_as_promised() {
    let range = (-1, 3);
    let points: Vec<i64> = (range.0..=range.1).collect();
    for p in ["0.5", "0.25", "0.75"] {
        for (rows, relation) in
            [(1, Neighbouring::AddRemove), (2, Neighbouring::AddRemove), (1, Neighbouring::Replace)]
        {
            let make =
                |loss| Quantile::new(percentile(p), (range, 3), rows, (1, true), relation, loss);
            let epsilon = 1.3;
            let pure_quantile = make(pure("1.3")).unwrap();
            let rho_quantile = make(rho("0.2")).unwrap();
            let mut widest = 0.0f64;
            for list in lists(range, 5) {
                let mut pairs = Vec::new();
                for &one in &points {
                    for &other in &points {
                        pairs.push(match (rows, relation) {
                            (1, Neighbouring::AddRemove) => (list.clone(), with(&list, &[one])),
                            (_, Neighbouring::AddRemove) => {
                                (list.clone(), with(&list, &[one, other]))
                            }
                            _ => (with(&list, &[one]), with(&list, &[other])),
                        });
                    }
                }
                for (first, second) in pairs {
                    let laws = [law(&pure_quantile, &first), law(&pure_quantile, &second)];
                    let (low, high) = log_ratios(&laws[0], &laws[1]);
                    assert!(high - low <= epsilon + 1e-9, "{p} {rows} {relation}: {first:?}");
                    assert!(low >= -epsilon - 1e-9 && high <= epsilon + 1e-9);
                    widest = widest.max(high - low);
                    let laws = [law(&rho_quantile, &first), law(&rho_quantile, &second)];
                    for order in [1.01, 1.5, 2.0, 5.0, 30.0] {
                        let forth = divergence(&laws[0], &laws[1], order);
                        let back = divergence(&laws[1], &laws[0], order);
                        assert!(forth.max(back) <= 0.2 + 1e-9, "{p}: {first:?} at {order}");
                    }
                }
            }
            // Two values more need longer lists to be as bad as they can be.
            let reached = if rows == 1 { 0.999 } else { 0.85 };
            assert!(widest >= reached * epsilon, "{p} {rows} {relation}: {widest}");
        }
    }
}

/// Up to three values of one unit in a group, or in each of two groups, take the place of up to
/// three of another: of as many, of fewer or of more, as where some of its rows have no value. The
/// promise for both groups together holds, in range and in every divergence, and is reached except
/// for the short lists.
#[test]
fn exchanges_of_several_rows_in_several_groups_are_as_near_as_promised() {
    let range = (0, 2);
    let rows = 3;
    let relation = Neighbouring::Replace;
    for p in ["0.5", "0.9"] {
        let make = |loss, groups| {
            Quantile::new(percentile(p), (range, 2), rows, groups, relation, loss).unwrap()
        };
        let law_under = |groups, loss| move |list: &[i64]| law(&make(loss, groups), list);
        // The worst of a group: where one unit takes another's place, and where it enters or
        // leaves.
        let worst = |law: &dyn Fn(&[i64]) -> Vec<f64>| {
            let mut worst = [(0.0f64, 0.0f64); 2];
            for list in lists(range, 6).iter().filter(|list| list.len() != 5) {
                for one in lists(range, rows as usize) {
                    let first = law(&with(list, &one));
                    for other in lists(range, rows as usize) {
                        let second = law(&with(list, &other));
                        let (low, high) = log_ratios(&first, &second);
                        let order = [1.01, 2.0, 10.0];
                        let far = order.map(|order| divergence(&first, &second, order));
                        let far = far.into_iter().fold(0.0, f64::max);
                        let alone = usize::from(one.is_empty() || other.is_empty());
                        let both = if alone == 1 { &mut worst[..] } else { &mut worst[..1] };
                        for worst in both {
                            *worst = (worst.0.max(high - low), worst.1.max(far));
                        }
                    }
                }
            }
            worst
        };
        let single = worst(&law_under((1, true), pure("1.3")));
        assert!(single[0].0 <= 1.3 + 1e-9 && single[0].0 > 0.6 * 1.3, "{p}: {single:?}");
        let single = worst(&law_under((1, true), rho("0.2")));
        assert!(single[0].1 <= 0.2 + 1e-9, "{p}: {single:?}");
        // Each of two groups is shared with the other unit, or left, and then another one is
        // entered.
        let [shared, alone] = worst(&law_under((2, false), pure("1.3")));
        let all = (2.0 * shared.0).max(shared.0 + 2.0 * alone.0).max(4.0 * alone.0);
        assert!(all <= 1.3 + 1e-9 && all > 0.6 * 1.3, "{p}: {shared:?} {alone:?}");
        let [shared, alone] = worst(&law_under((2, false), rho("0.2")));
        let all = (2.0 * shared.1).max(shared.1 + 2.0 * alone.1).max(4.0 * alone.1);
        assert!(all <= 0.2 + 1e-9, "{p}: {shared:?} {alone:?}");
    }
}

/// The promise for several groups: each has its share, as exact sums or as sums of squares.
#[test]
fn several_groups_share_the_loss() {
    let range = (0, 9);
    let rate = |groups: (u32, bool), rows, relation, loss| {
        Quantile::new(Percentile::MEDIAN, (range, 9), rows, groups, relation, loss).unwrap().rate()
    };
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    let (add, replace) = (Neighbouring::AddRemove, Neighbouring::Replace);
    near(rate((1, true), 1, add, pure("1")), 1.0);
    near(rate((3, false), 2, add, pure("1")), 1.0 / 6.0);
    near(rate((1, true), 1, replace, pure("1")), 0.5);
    near(rate((3, false), 1, replace, pure("1")), 1.0 / 6.0);
    near(rate((1, true), 1, add, rho("0.125")), 1.0);
    near(rate((4, false), 1, add, rho("0.125")), 0.5);
    near(rate((4, false), 3, add, rho("0.125")), 0.5 / 3.0);
    near(rate((1, false), 1, replace, rho("0.125")), 0.5);
}

/// The event covers all that one unit does, in both directions: by the whole law of every pair of
/// small groups, where it enters or leaves two, or another takes its place in them, or in others.
#[test]
fn events_cover_what_a_unit_changes() {
    let range = (0, 2);
    type Law = Vec<(f64, f64)>;
    for p in ["0.5", "0.9"] {
        for loss in [pure("1.3"), rho("0.2")] {
            for (groups, relation) in [
                (2, Neighbouring::AddRemove),
                (1, Neighbouring::Replace),
                (2, Neighbouring::Replace),
            ] {
                let reach = (groups, false);
                let quantile =
                    Quantile::new(percentile(p), (range, 2), 1, reach, relation, loss).unwrap();
                let losses = |first: &[i64], second: &[i64]| -> Law {
                    let (first, second) = (law(&quantile, first), law(&quantile, second));
                    first.iter().zip(&second).map(|(a, b)| (*a, (a / b).ln())).collect()
                };
                let (mut alone, mut shared): (Vec<Law>, Vec<Law>) = (Vec::new(), Vec::new());
                for list in lists(range, 3) {
                    for one in range.0..=range.1 {
                        let more = with(&list, &[one]);
                        alone.extend([losses(&list, &more), losses(&more, &list)]);
                        for other in range.0..=range.1 {
                            shared.push(losses(&more, &with(&list, &[other])));
                        }
                    }
                }
                let all = Composition::new(&[(quantile.event(), 1)]).unwrap();
                let at: Vec<(f64, f64)> = [0.1, 0.4, 0.7, 0.95]
                    .into_iter()
                    .map(|share| Epsilon::from_f64_down(share * 1.3).unwrap())
                    .map(|epsilon| (epsilon.to_f64(), all.delta_at(epsilon)))
                    .collect();
                let check = |laws: [&Law; 2]| {
                    let [first, second] = laws;
                    for (epsilon, reported) in &at {
                        let joint = first
                            .iter()
                            .flat_map(|(p, l)| second.iter().map(move |(q, m)| (p * q, l + m)));
                        let lost: f64 = joint
                            .filter(|(_, l)| l > epsilon)
                            .map(|(p, l)| -p * (epsilon - l).exp_m1())
                            .sum();
                        assert!(
                            lost <= reported + 1e-13,
                            "{p} {loss} {relation}: {lost} {reported}"
                        );
                    }
                };
                let nothing: Law = vec![(1.0, 0.0)];
                let (pairs, lone) = match (relation, groups) {
                    (Neighbouring::AddRemove, _) => (vec![&alone], vec![]),
                    // One group is left and another entered, or one is shared.
                    (Neighbouring::Replace, 1) => (vec![&alone], vec![&shared]),
                    (Neighbouring::Replace, _) => (vec![&shared], vec![]),
                };
                for laws in pairs {
                    for first in laws {
                        for second in laws {
                            check([first, second]);
                        }
                    }
                }
                for first in lone.into_iter().flatten() {
                    check([first, &nothing]);
                }
            }
        }
    }
}

/// Under a rho the event spends it, and no more than what rounding adds; large ones pay for as much
/// as a pure epsilon does.
#[test]
fn events_spend_their_rho() {
    for (p, relation, groups) in [
        ("0.5", Neighbouring::AddRemove, (1, true)),
        ("0.9", Neighbouring::AddRemove, (5, false)),
        ("0.5", Neighbouring::Replace, (5, false)),
        ("0.9", Neighbouring::Replace, (1, true)),
        ("0.9", Neighbouring::Replace, (5, false)),
    ] {
        for text in ["0.001", "0.2", "8", "100", "1000"] {
            let quantile =
                Quantile::new(percentile(p), ((0, 9), 9), 2, groups, relation, rho(text));
            let Some(Loss::Concentrated { rho, .. }) = quantile.unwrap().event().in_rho() else {
                panic!("no rho")
            };
            let requested: f64 = text.parse().unwrap();
            assert!((rho.to_f64() / requested - 1.0).abs() < 1e-8, "{p} {relation} {text}: {rho}");
        }
    }
    // The range is epsilon, not twice that.
    let median = quantile("0.5", (0, 9), pure("1.3"));
    let draws = NonZeroU32::new(1).unwrap();
    assert_eq!(median.event(), Event::BoundedRange { epsilon: "1.3".parse().unwrap(), draws });
    assert!((median.rate() - 1.3).abs() < 1e-12);
}

/// Rates are rounded down, by exact whole numbers: no more than the loss is drawn, and no less
/// except for what rounding takes, of the float or of the last of the rate's 2^-64.
#[test]
fn rates_are_rounded_down() {
    let below = |drawn: BigUint, promised: BigUint, n: BigUint| {
        assert!(drawn <= promised, "{drawn} {promised}");
        let lost = (promised.clone() >> 46u32) + (promised.clone() / n) * 3u8;
        assert!(promised - drawn <= lost);
    };
    for rows in [1u32, 3, 7, 1_000_000] {
        for groups in [1u32, 2, 5, 1000] {
            for units in [1_000_000_007u64, 123_456_789_012, 1_000_000_000_000, 8_999_999_999_999] {
                for (p, m, q) in [("0.5", 1u32, 2u32), ("0.9", 9, 10), ("0.9999", 9999, 10_000)] {
                    // All that a unit can do to ranks, in units of 1/q: 2 m for each row in each
                    // group.
                    let apart = BigUint::from(2 * m) * rows;
                    let make = |loss| {
                        let relation = Neighbouring::AddRemove;
                        let groups = (groups, false);
                        Quantile::new(percentile(p), ((0, 9), 9), rows, groups, relation, loss)
                            .unwrap()
                    };
                    assert_eq!(make(pure("1")).percentile.of, q);
                    let one = BigUint::from(Rho::units_per_one());
                    let fraction_of = |quantile: &Quantile| {
                        let rate = quantile.weights.rate();
                        (BigUint::from(rate.numerator()), BigUint::from(rate.denominator()))
                    };
                    let mechanism = make(Loss::pure(Epsilon::from_units(units).unwrap()));
                    let (n, d) = fraction_of(&mechanism);
                    below(&n * &apart * groups * &one, d * units, n);
                    // rate^2 apart^2 groups / 8 <= rho, unless a pure epsilon of a group's is
                    // larger.
                    let mechanism = make(Loss::concentrated(Rho::from_units(units).unwrap()));
                    let (n, d) = fraction_of(&mechanism);
                    let drawn = &n * &n * &apart * &apart * groups * &one;
                    if units / u64::from(groups) > 8 * Rho::units_per_one() {
                        assert!(drawn > &d * &d * units * 8u8);
                    } else {
                        below(drawn, &d * &d * units * 8u8, n);
                    }
                }
            }
        }
    }
}

/// Wherever values are in the largest range, a draw has a point of the range after few tries: none
/// is so unlikely that the rest of the range hides it, and no error depends on values.
#[test]
fn tries_are_few_whatever_the_values() {
    let mut generator = TestSeed(43).generator();
    let far = 1i64 << 60;
    for (low, high, scale) in [
        (-far, far, far),
        (-far, far, 1000),
        (-far, far, 1),
        (0, far, far),
        (-far, 0, far),
        (far - 1, far, far),
        (-far, -far, far),
        (-1, 1000, 1000),
    ] {
        let middle = low + (high / 2 - low / 2);
        for (p, loss) in [("0.5", "1e-9"), ("0.5", "1"), ("0.0001", "10"), ("0.9999", "1000000")] {
            let relation = Neighbouring::AddRemove;
            let range = ((low, high), scale);
            let mechanism =
                Quantile::new(percentile(p), range, 1, (1, true), relation, pure(loss)).unwrap();
            for (first, rest) in [(low, low), (high, high), (low, high), (middle, high)] {
                for count in [0, 1, 2, 100_001] {
                    let mut values = vec![first; count / 2];
                    values.resize(count, rest);
                    let (starts, cells) = mechanism.cells(&values, mechanism.prior);
                    let last = cells.iter().map(|cell| cell.level).max().unwrap();
                    assert!(last < 86);
                    let all: u128 =
                        cells.iter().map(|cell| cell.candidates << (last - cell.level)).sum();
                    assert!(
                        all <= 35 * mechanism.prior.weight(low.into(), high.into()),
                        "{low} {high} {p} {loss}"
                    );
                    let tries = std::cell::Cell::new(0);
                    for _ in 0..20 {
                        // At most 2.2 for each are to be expected.
                        let loss = |cell: usize, offset: u128| {
                            tries.set(tries.get() + 1);
                            assert!(tries.get() < 120, "{low} {high} {p} {loss} {first} {rest}");
                            mechanism.distance(&values, mechanism.prior.nth(starts[cell], offset))
                        };
                        mechanism.weights.sample(&mut generator, &cells, loss).unwrap();
                    }
                    let point = mechanism.release(&mut generator, &values).unwrap();
                    assert!((low..=high).contains(&point));
                }
            }
        }
    }
}

/// The points that are drawn have their probabilities: 20,000 draws for each of several lists and
/// rates, by a chi-squared statistic with 99 degrees of freedom or fewer, under 200 in all but one
/// case in 10^8.
#[test]
fn points_have_their_frequencies() {
    let mut generator = TestSeed(41).generator();
    let range = (-20, 79);
    for (p, loss) in [("0.5", "0.1"), ("0.5", "3"), ("0.1", "1"), ("0.99", "0.5")] {
        let mechanism = quantile(p, range, pure(loss));
        for values in [
            Vec::new(),
            vec![5],
            vec![79; 40],
            with(&[-20; 30], &[0, 1, 2, 3, 60, 61, 62, 63, 64, 65, 79]),
            (-20..80).step_by(3).collect(),
        ] {
            let expected = law(&mechanism, &values);
            let mut counts = vec![0u32; 100];
            for _ in 0..20_000 {
                counts[(mechanism.release(&mut generator, &values).unwrap() + 20) as usize] += 1;
            }
            // Points that are rare are put together.
            let (mut statistic, mut rare) = (0.0, (0.0, 0.0));
            for (count, p) in counts.iter().zip(&expected) {
                let mean = 20_000.0 * p;
                if mean < 20.0 {
                    rare = (rare.0 + f64::from(*count), rare.1 + mean);
                } else {
                    statistic += (f64::from(*count) - mean).powi(2) / mean;
                }
            }
            if rare.1 >= 5.0 {
                statistic += (rare.0 - rare.1).powi(2) / rare.1;
            } else {
                assert!(rare.0 < 40.0);
            }
            assert!(statistic < 200.0, "{p} {loss} {values:?}: {statistic}");
        }
    }
}

/// Values of any order of magnitude on all of the lattice: the released median of a thousand is
/// between their quantiles at 45 % and 55 % at rho = 0.5, 200 times of 200 (one would miss with
/// probability below 1e-7), and what it is for a few values is still a point of the range.
#[test]
fn medians_on_all_of_the_lattice_are_near() {
    let mut generator = TestSeed(42).generator();
    let all = (-(1 << 60), 1 << 60);
    let relation = Neighbouring::AddRemove;
    let of = |scale: i64| {
        Quantile::new(Percentile::MEDIAN, (all, scale), 1, (1, true), relation, rho("0.5")).unwrap()
    };
    let median = of(1000);
    for scale in [1.0, 1e6, 1e15] {
        let mut values: Vec<i64> =
            (1..=1000).map(|i| (scale * (1.0 - f64::from(i) / 1001.0).powf(-1.2)) as i64).collect();
        values.sort_unstable();
        for _ in 0..200 {
            let point = median.release(&mut generator, &values).unwrap();
            assert!((values[450]..=values[550]).contains(&point), "{scale}: {point}");
        }
    }
    for values in [vec![], vec![1 << 60], vec![-(1 << 60), 0]] {
        let point = median.release(&mut generator, &values).unwrap();
        assert!((all.0..=all.1).contains(&point));
    }
}

/// Half the range and more is at the quantile only if the promised distance is kept: exactly, for
/// every list of up to 6 values.
#[test]
fn rank_distances_are_kept() {
    let range = (0, 6);
    for (p, loss) in [("0.5", "2"), ("0.2", "5"), ("0.75", "0.5")] {
        let mechanism = quantile(p, range, pure(loss));
        for level in [0.5, 0.95] {
            let promised = mechanism.rank_distance(level);
            for list in lists(range, 6) {
                let of = f64::from(mechanism.percentile.of);
                let far = |x: &i64| mechanism.distance(&list, (*x).into()) as f64 / of > promised;
                let points = range.0..=range.1;
                let beyond: f64 = points
                    .zip(law(&mechanism, &list))
                    .filter(|(x, _)| far(x))
                    .map(|(_, p)| p)
                    .sum();
                assert!(beyond <= 1.0 - level, "{p} {loss} {list:?}");
            }
        }
    }
}

/// A thousand values, ten points apart, and a median drawn 20,000 times at each of two rates:
/// beyond the distance for even gaps are as many as there should be, to six standard deviations.
#[test]
fn rank_distances_over_even_gaps_have_their_law() {
    let mut generator = TestSeed(43).generator();
    let values: Vec<i64> = (0..1000).map(|i| 100_000 + 10 * i).collect();
    for loss in ["0.3", "2"] {
        let median = quantile("0.5", (0, 200_000), pure(loss));
        let promised = median.rank_distance_even(0.9);
        assert!(promised < median.rank_distance(0.9) / 3.0);
        // At the next whole distance the probability is what the law says, 0.1 or less.
        let (most, r) = (promised.ceil(), (-median.rate()).exp());
        let p = 2.0 * r.powf(most + 1.0) / (1.0 + r);
        assert!(p <= 0.1 && p >= 0.1 * r);
        let far = (0..20_000).filter(|_| {
            let point = median.release(&mut generator, &values).unwrap();
            median.distance(&values, point.into()) as f64 / 2.0 > most
        });
        let (mean, sd) = (20_000.0 * p, (20_000.0 * p * (1.0 - p)).sqrt());
        // Values themselves are one point of ten, and half a gap nearer to the middle.
        let far = far.count() as f64;
        assert!(far < mean + 6.0 * sd && far > 0.8 * mean - 6.0 * sd, "{far} {mean}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let make = |loss, rows| {
        let relation = Neighbouring::AddRemove;
        Quantile::new(Percentile::MEDIAN, ((0, 9), 9), rows, (1, false), relation, loss)
            .unwrap_err()
    };
    let zero = Loss::pure(Epsilon::ZERO);
    assert_eq!(make(zero, 1), MechanismError::NoBudget("epsilon"));
    assert_eq!(make(Loss::concentrated(Rho::ZERO), 1), MechanismError::NoBudget("rho"));
    assert_eq!(make(pure("1"), 0), MechanismError::NoSensitivity);
    assert_eq!(make(rho("1"), 0), MechanismError::NoSensitivity);
    let empty = Quantile::new(
        Percentile::MEDIAN,
        ((1, 0), 1),
        1,
        (1, false),
        Neighbouring::AddRemove,
        pure("1"),
    );
    assert_eq!(empty, Err(MechanismError::NoSensitivity));
    for (digits, scale) in [(0, 0), (1, 0), (-5, 1), (10, 1), (5, 5), (12, 1)] {
        assert_eq!(Percentile::new(digits, scale), None, "{digits}e-{scale}");
    }
    assert_eq!(percentile("0.5"), Percentile::MEDIAN);
    assert_eq!(percentile("0.2500").to_string(), "0.25");
    assert_eq!(serde_json::to_string(&percentile("0.95")).unwrap(), "\"0.95\"");
}

proptest! {
    /// Every point is in one cell, whose level's loss it has or more; and likelihoods are those of
    /// the law.
    #[test]
    fn cells_cover_the_range_once(
        mut values in prop::collection::vec(-40i64..60, 0..60),
        p in 1i128..100,
        milli in 1u64..20_000,
        scale in 0i64..60,
    ) {
        values.sort_unstable();
        let loss = Loss::pure(Epsilon::from_units(milli * 1_000_000_000).unwrap());
        let percentile = Percentile::new(p, 2).unwrap();
        let relation = Neighbouring::AddRemove;
        let range = ((-40, 59), scale);
        let mechanism = Quantile::new(percentile, range, 1, (1, true), relation, loss).unwrap();
        let (starts, cells) = mechanism.cells(&values, mechanism.prior);
        let mut seen = [false; 100];
        for (&start, cell) in starts.iter().zip(&cells) {
            let mut left = cell.candidates;
            let mut x = start;
            while left > 0 {
                prop_assert!(
                    mechanism.distance(&values, x) >= mechanism.weights.least_loss(cell.level)
                );
                prop_assert!(!std::mem::replace(&mut seen[(x + 40) as usize], true));
                left -= mechanism.prior.weight(x, x);
                x += 1;
            }
        }
        prop_assert!(seen.iter().all(|s| *s));
        let (one, other) = (law(&mechanism, &values), law(&mechanism, &[]));
        let known = |x: i64| mechanism.log_ratio(x, [&values, &[]]);
        for x in -39..60 {
            let index = (x + 40) as usize;
            let exact = (one[index] / other[index]).ln() - (one[0] / other[0]).ln();
            prop_assert!((known(x) - known(-40) - exact).abs() < 1e-6 * (1.0 + exact.abs()));
        }
    }
}
