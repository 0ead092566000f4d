use hushtable_noise::TestSeed;

use super::super::tests::{lists, percentile, pure, rho, with};
use super::*;
use crate::JointQuantiles;

const RELATION: Neighbouring = Neighbouring::AddRemove;

/// Of one value per unit, in one group.
fn reaches(all: &[&str], level: f64, range: (i64, i64), loss: Loss) -> QuantileReaches {
    let percentiles: Vec<Percentile> = all.iter().map(|p| percentile(p)).collect();
    QuantileReaches::new((&percentiles, level), range, 1, (1, true), RELATION, loss).unwrap()
}

/// The law of the candidates around points, by the definition.
fn law(reaches: &QuantileReaches, values: &[i64], points: &[i64]) -> Vec<(Vec<u64>, f64)> {
    let (low, high) = reaches.range;
    let margin = |distances: &[u64]| {
        let each = reaches.percentiles.iter().zip(points).zip(distances);
        let each = each.map(|((percentile, point), &distance)| {
            let target = percentile.to_f64() * values.len() as f64;
            let (from, to) = (point - distance as i64, point + distance as i64);
            let below = values.iter().filter(|v| **v < from).count() as f64;
            let up_to = values.iter().filter(|v| **v <= to).count() as f64;
            let below = if from <= low { f64::INFINITY } else { target - below };
            let above = if to >= high { f64::INFINITY } else { up_to - target };
            below.min(above)
        });
        each.fold(f64::INFINITY, f64::min)
    };
    let mut before = f64::NEG_INFINITY;
    let candidates = reaches.candidates(points);
    let weights: Vec<(Vec<u64>, f64)> = candidates
        .into_iter()
        .zip(&reaches.largest)
        .map(|(distances, &largest)| {
            let margin = margin(&distances);
            let loss = (before - reaches.aim()).max(reaches.aim() - margin).max(0.0);
            before = margin;
            (distances, (largest as f64 + 1.0) * (-reaches.rate() * loss).exp())
        })
        .collect();
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    weights.into_iter().map(|(distances, weight)| (distances, weight / sum)).collect()
}

/// The first and the last point of the range that is an exact quantile.
fn exact(percentile: Percentile, (low, high): (i64, i64), values: &[i64]) -> (i64, i64) {
    let target = percentile.to_f64() * values.len() as f64;
    let is_exact = |x: &i64| {
        let below = values.iter().filter(|v| *v < x).count() as f64;
        let to = values.iter().filter(|v| *v <= x).count() as f64;
        below <= target && target <= to
    };
    let all: Vec<i64> = (low..=high).filter(is_exact).collect();
    (all[0], all[all.len() - 1])
}

/// All lists of that many points of the range.
fn points((low, high): (i64, i64), many: usize) -> Vec<Vec<i64>> {
    let more = |lists: Vec<Vec<i64>>| {
        lists.iter().flat_map(|list| (low..=high).map(|x| [&list[..], &[x]].concat())).collect()
    };
    (0..many).fold(vec![Vec::new()], |lists, _| more(lists))
}

#[test]
fn distances_are_powers_of_two_and_halfway_between() {
    assert_eq!(largest_distances(0), [0]);
    assert_eq!(largest_distances(1), [0, 1]);
    assert_eq!(largest_distances(2), [0, 1, 2]);
    assert_eq!(largest_distances(20), [0, 1, 2, 3, 4, 6, 8, 12, 16, 20]);
    for width in [5, 1_000, 500_000, 1 << 61] {
        let distances = largest_distances(width);
        assert!(distances.is_sorted_by(|a, b| a < b));
        assert!(most_before(&distances) < 4.0, "{width}: {}", most_before(&distances));
        let all: u128 = distances.iter().map(|&d| weight(d)).sum();
        assert!(all < 1 << 63);
    }
}

/// Intervals of no candidate are narrower than those of the one before, and the last ones are the
/// range, whatever the points.
#[test]
fn intervals_grow_to_the_range() {
    let range = (-1_000, 5_000);
    let all = ["0.1", "0.2", "0.5", "0.75", "0.9"];
    for many in 1..=5 {
        let reaches = reaches(&all[..many], 0.95, range, pure("1"));
        for points in [[-1_000, 0, 7, 80, 5_000], [3, 3, 3, 3, 3], [5_000, 4, 3, -1_000, 1]] {
            let candidates = reaches.candidates(&points[..many]);
            for pair in candidates.windows(2) {
                assert!(pair[0].iter().zip(&pair[1]).all(|(before, after)| before <= after));
            }
            assert_eq!(candidates.last(), Some(&vec![6_000; many]));
        }
    }
}

/// Intervals miss an exact quantile of their values with no more than the probability that is
/// left: exactly, for every list of up to 4 values, ties among them, and all released points.
#[test]
fn reaches_hold_the_quantiles() {
    for (all, range, loss) in [
        (&["0.5"][..], (0, 12), "2"),
        (&["0.2"], (0, 12), "0.9"),
        (&["0.75"], (0, 12), "4"),
        (&["0.9999"], (0, 12), "3"),
        (&["0.3", "0.7"], (0, 6), "3"),
    ] {
        for level in [0.5, 0.95] {
            let reaches = reaches(all, level, range, pure(loss));
            let mut most = 0.0f64;
            for list in lists(range, 4) {
                let exact: Vec<(i64, i64)> =
                    reaches.percentiles.iter().map(|p| exact(*p, range, &list)).collect();
                for points in points(range, all.len()) {
                    let misses = |distances: &[u64]| {
                        let each = points.iter().zip(distances).zip(&exact);
                        each.into_iter().any(|((&point, &distance), &(first, last))| {
                            let (point, distance) = (point.into(), distance.into());
                            let ends = QuantileReaches::interval(range, point, distance);
                            ends.0 > first.into() || ends.1 < last.into()
                        })
                    };
                    let law = law(&reaches, &list, &points);
                    let missed = law.iter().filter(|(distances, _)| misses(distances));
                    let missed: f64 = missed.map(|(_, p)| p).sum();
                    assert!(missed <= 1.0 - level, "{all:?} {loss} {list:?} {points:?}: {missed}");
                    most = most.max(missed);
                }
            }
            assert!(most > 0.01 * (1.0 - level), "{all:?} {loss} {level}: {most}");
        }
    }
}

/// For the worst values the probability of a miss is about what is stated: half of them at the
/// point, the others far away, so that any value between is an exact median.
#[test]
fn the_worst_values_miss_about_as_often_as_stated() {
    let reaches = reaches(&["0.5"], 0.95, (0, 100_000), pure("0.5"));
    let values = [[50_000; 500], [58_192; 500]].concat();
    let law = law(&reaches, &values, &[50_000]);
    let missed: f64 = law.iter().filter(|(d, _)| d[0] < 8_192).map(|(_, p)| p).sum();
    assert!(missed > 0.025 && missed <= 0.05, "{missed}");
}

/// The range of the log-ratios of all distances together is that of one quantile: over all small
/// tables and points, for one value more and one exchanged.
#[test]
fn reaches_are_as_private_as_one_quantile() {
    for (all, most) in [(&["0.5"][..], 3), (&["0.8"], 3), (&["0.5", "0.8"], 2)] {
        let range = (0, most);
        let percentiles: Vec<Percentile> = all.iter().map(|p| percentile(p)).collect();
        for relation in [RELATION, Neighbouring::Replace] {
            let reaches =
                QuantileReaches::new((&percentiles, 0.6), range, 1, (1, true), relation, pure("6"));
            let reaches = reaches.unwrap();
            assert!((0.1..3.0).contains(&reaches.aim()), "{}", reaches.aim());
            let mut widest = 0.0f64;
            let mut compare = |first: &[i64], second: &[i64]| {
                for points in points(range, all.len()) {
                    let laws = [first, second].map(|values| law(&reaches, values, &points));
                    let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
                    for ((_, p), (_, q)) in laws[0].iter().zip(&laws[1]) {
                        assert_eq!(*p > 0.0, *q > 0.0);
                        if *p > 0.0 {
                            let ratio = (p / q).ln();
                            (least, greatest) = (least.min(ratio), greatest.max(ratio));
                        }
                    }
                    widest = widest.max(greatest - least);
                }
            };
            for list in lists(range, 5) {
                for one in 0..=most {
                    let more = with(&list, &[one]);
                    match relation {
                        Neighbouring::AddRemove => compare(&list, &more),
                        Neighbouring::Replace => {
                            (0..=most).for_each(|other| compare(&more, &with(&list, &[other])));
                        }
                    }
                }
            }
            assert!(widest <= 6.0 + 1e-9 && widest > 2.5, "{all:?} {relation}: {widest}");
        }
    }
}

/// Of several rows in several groups, in either currency: the farthest quantile decides.
#[test]
fn reaches_cost_what_one_quantile_does() {
    let groups = (2, false);
    for loss in [pure("1"), rho("0.5")] {
        for relation in [RELATION, Neighbouring::Replace] {
            let farthest =
                Quantile::new(percentile("0.1"), ((0, 99), 99), 3, groups, relation, loss);
            let farthest = farthest.unwrap();
            let all = ["0.5", "0.1", "0.7"].map(percentile);
            let reaches =
                QuantileReaches::new((&all, 0.95), (0, 99), 3, groups, relation, loss).unwrap();
            assert_eq!((reaches.loss(), reaches.quantiles()), (farthest.loss(), 3));
            assert!((reaches.rate() / farthest.rate() - 1.0).abs() < 1e-9);
            assert!(reaches.rate() <= farthest.rate() * (1.0 + 1e-15));
        }
    }
    let none = QuantileReaches::new((&[], 0.95), (0, 99), 1, groups, RELATION, pure("1"));
    assert_eq!(none, Err(MechanismError::NoSensitivity));
    let median = [percentile("0.5")];
    let empty = QuantileReaches::new((&median, 0.95), (1, 0), 1, groups, RELATION, pure("1"));
    assert_eq!(empty, Err(MechanismError::NoSensitivity));
}

/// Distances are drawn as often as the definition says, also where most candidates are so far from
/// the aim that they share a cell's level: 40,000 draws each, a false alarm with probability below
/// 1e-8 for each frequency; at fixed seeds. Likelihoods are those of the law.
#[test]
fn reaches_have_their_frequencies() {
    let mut generator = TestSeed(45).generator();
    let spread: Vec<i64> = (0..400).map(|i| 1_000 + 7 * i).collect();
    let far = 1i64 << 60;
    let medians = &["0.5"][..];
    for (all, range, values, points, loss) in [
        (medians, (0, 10_000), spread.clone(), vec![2_300], "0.2"),
        (medians, (0, 10_000), spread.clone(), vec![9_000], "3"),
        (medians, (0, 10_000), Vec::new(), vec![400], "1"),
        (&["0.5", "0.9"], (0, 10_000), spread.clone(), vec![2_350, 3_800], "1"),
        (medians, (-far, far), spread, vec![2_401], "40"),
    ] {
        let reaches = reaches(all, 0.9, range, pure(loss));
        let law = law(&reaches, &values, &points);
        let mut drawn = vec![0u32; law.len()];
        for _ in 0..40_000 {
            let distances = reaches.release(&mut generator, &values, &points).unwrap();
            let is_drawn =
                |(of, _): &(Vec<u64>, f64)| of.iter().zip(&distances).all(|(a, b)| *a == *b as u64);
            drawn[law.iter().position(is_drawn).unwrap()] += 1;
        }
        for (count, (distances, p)) in drawn.into_iter().zip(&law) {
            let (mean, sd) = (40_000.0 * p, (40_000.0 * p * (1.0 - p)).sqrt());
            let off = (f64::from(count) - mean).abs();
            assert!(off <= 6.0 * sd + 3.0, "{distances:?}: {count} {mean}");
        }
        let less = &values[..values.len() - values.len().min(1)];
        let other = self::law(&reaches, less, &points);
        let mut ratios = law.iter().zip(&other).filter(|((_, p), _)| *p > 1e-200);
        let mut shift = None;
        assert!(ratios.all(|((distances, p), (_, q))| {
            let distance = (0, distances[0] as i64);
            let got = reaches.log_ratio(distance, &points, [&values, less]).unwrap();
            let off = (p / q).ln() - got;
            (off - *shift.get_or_insert(off)).abs() < 1e-6
        }));
    }
}

/// Intervals at 95 % around quantiles of 2,000 values, alone and drawn together, over 1,000
/// releases each: they miss in no more than 5 %, all of a release at once, and are on average at
/// most three times as wide as the central 95 % of the released points; of several quantiles, whose
/// widths are in one proportion, up to four times.
#[test]
fn intervals_cover_and_are_about_twice_as_wide_as_errors() {
    let mut generator = TestSeed(44).generator();
    let spread: Vec<i64> = (0..2_000).map(|i| 100 + 45 * i).collect();
    let skewed: Vec<i64> = (0..2_000).map(|i| (f64::from(i) * 0.0055).exp() as i64).collect();
    let tied: Vec<i64> = (0..2_000).map(|i| 1_000 * (i / 250)).collect();
    let few: Vec<i64> = (0..10).map(|i| 5_000 + 1_000 * i).collect();
    let deciles = ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"];
    let quartiles = ["0.25", "0.5", "0.75"];
    for (values, all, loss, widest) in [
        (&spread, &["0.5"][..], "0.3", 3.0),
        (&spread, &["0.9"], "0.3", 3.0),
        (&skewed, &["0.5"], "0.3", 3.0),
        (&skewed, &["0.9"], "1", 3.0),
        (&spread, &quartiles, "0.3", 3.5),
        (&skewed, &quartiles, "1", 4.2),
        (&spread, &deciles, "1", 3.0),
        (&skewed, &deciles, "2", 3.5),
        (&tied, &["0.5"], "0.3", f64::INFINITY),
        (&few, &["0.5"], "0.3", f64::INFINITY),
    ] {
        let range = (0, 100_000);
        let percentiles: Vec<Percentile> = all.iter().map(|p| percentile(p)).collect();
        let bounds = (range, 100_000);
        let points = JointQuantiles::new(&percentiles, bounds, 1, (1, true), RELATION, pure(loss));
        let points = points.unwrap();
        let reaches = reaches(all, 0.95, range, pure(loss));
        let last = |p: &Percentile| (p.to_f64() * values.len() as f64).ceil() as usize - 1;
        let exact: Vec<i64> = percentiles.iter().map(|p| values[last(p)]).collect();
        let mut missed = 0;
        let mut widths = vec![0.0; all.len()];
        let mut drawn: Vec<Vec<i64>> = vec![Vec::new(); all.len()];
        for _ in 0..1_000 {
            let points = points.release(&mut generator, values).unwrap();
            let distances = reaches.release(&mut generator, values, &points).unwrap();
            let mut is_missed = false;
            for (nth, (&point, distance)) in points.iter().zip(distances).enumerate() {
                let ends = QuantileReaches::interval(range, point.into(), distance.into());
                is_missed |= ends.0 > exact[nth].into() || ends.1 < exact[nth].into();
                widths[nth] += (ends.1 - ends.0) as f64 / 1_000.0;
                drawn[nth].push(point);
            }
            missed += u32::from(is_missed);
        }
        let times = widths.iter().zip(&mut drawn).map(|(width, drawn)| {
            drawn.sort_unstable();
            width / (drawn[974] - drawn[25]) as f64
        });
        let times: Vec<f64> = times.collect();
        println!("{} of {}: {missed} of 1,000 missed, {times:.2?} wide", all.len(), values.len());
        assert!(missed <= 50, "{all:?}: {missed}");
        assert!(times.iter().all(|times| *times <= widest), "{all:?}: {times:?}");
    }
}
