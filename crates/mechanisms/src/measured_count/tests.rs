//! Tests of [`super`], against laws that are summed up draw by draw.

use hushtable_noise::{DiscreteLaplace, Law, TestSeed};
use hushtable_privacy::{Contribution, Epsilon, Loss, Neighbouring, Rho, gaussian_groups_mu};

use super::*;
use crate::ends::{TiedSum, ValueSpan};
use crate::{Candidates, Reach, Selection, Strategy};

fn count_noise(groups: u32, most: i64, relation: Neighbouring, epsilon: &str) -> Additive {
    let unit = Contribution { groups, single_group: false, low: 0, high: most, beside: None };
    Additive::laplace(unit, relation, epsilon.parse().unwrap()).unwrap()
}

fn tied_sum(span: ValueSpan, share: Loss) -> TiedSum {
    TiedSum { span, share, values: None, beside: None }
}

fn pure(epsilon: &str) -> Loss {
    Loss::pure(epsilon.parse().unwrap())
}

fn rho(rho: &str) -> Loss {
    Loss::concentrated(rho.parse::<Rho>().unwrap())
}

/// The probabilities of a law's points from -`far` to `far`.
fn points(law: AdditiveLaw, far: i128) -> Vec<f64> {
    let law = law.as_law();
    (-far..=far).map(|x| law.tail(x) - law.tail(x + 1)).collect()
}

/// P\[released count - count >= x\] for one sum: the sum of the noise on both ends over the width
/// of the range, rounded with halves up, is at least x where twice that sum is at least
/// width (2x - 1).
fn tail_of_both_ends(noise: &Additive, width: i128, x: i128) -> f64 {
    let far = (40.0 * noise.scale()) as i128;
    let (law, least) = (points(noise.law(), far), (width * (2 * x - 1) + 1).div_euclid(2));
    let mut beyond: Vec<f64> = law.clone();
    for index in (0..beyond.len() - 1).rev() {
        beyond[index] += beyond[index + 1];
    }
    let at_least = |first: i128| {
        let index = (least - first + far).max(0) as usize;
        beyond.get(index).copied().unwrap_or(0.0)
    };
    law.iter().zip(-far..).map(|(mass, first)| mass * at_least(first)).sum()
}

#[test]
fn a_lone_unit_shows_its_groups_with_delta_at_most() {
    let relations = [Neighbouring::AddRemove, Neighbouring::Replace];
    for (delta, groups, relation) in [("1e-8", 4, relations[0]), ("0.01", 1, relations[1])] {
        let delta: Delta = delta.parse().unwrap();
        let all = groups as f64;
        for most in [1i64, 2, 7] {
            let noise = count_noise(groups, most, relation, "0.7");
            let m = MeasuredCount::new(
                MeasuredNoise::Single(&noise),
                most as u64,
                delta,
                groups.into(),
            );
            let m = m.unwrap();
            let above = m.threshold_from(1) - i128::from(most);
            let exact = all * noise.law().as_law().tail(above);
            assert!(exact <= delta.to_f64() && exact > 0.5 * delta.to_f64(), "{most}: {exact}");
            // With a least number, all other units count in both tables.
            assert_eq!(m.threshold_from(3), m.threshold_from(1) + 2 * i128::from(most));
        }
        for (low, high) in [(0, 1), (0, 10), (-3, 50), (20, 60)] {
            for (loss, rows) in [(pure("1"), 1), (pure("0.8"), 3), (rho("0.3"), 2)] {
                let span = ValueSpan { low, high, rows };
                let tied = TiedSums::new(&[tied_sum(span, loss)], groups, relation).unwrap();
                let noise = MeasuredNoise::Tied(&tied);
                let m = MeasuredCount::new(noise, rows.into(), delta, groups.into()).unwrap();
                let above = m.threshold_from(1) - i128::from(rows);
                let width = i128::from(high - low);
                let exact = tail_of_both_ends(tied.noise(0).unwrap(), width, above);
                assert!(all * exact <= delta.to_f64(), "{span:?}: {exact} at {above}");
                // Rounding takes more where it is of whole rows.
                let least = if width > 5 { 0.4 } else { 0.1 };
                assert!(all * exact > least * delta.to_f64(), "{span:?}: {exact} at {above}");
                // The law is nearly exact where the lattice is fine.
                if width > 5 {
                    for x in [-9, 0, 3, above] {
                        let want = tail_of_both_ends(tied.noise(0).unwrap(), width, x);
                        let got = m.tail(x);
                        assert!((got / want - 1.0).abs() < 0.05, "{span:?} {x}: {got} {want}");
                    }
                }
            }
        }
    }
}

/// A table with one unit, and one without it, and a third that shares a group with it: everything
/// that is released, summed up.
#[test]
fn small_tables_are_told_apart_within_epsilon_and_delta() {
    for (epsilon, delta) in [("0.5", "0.05"), ("1", "0.2"), ("2", "0.001")] {
        let noise = count_noise(2, 1, Neighbouring::AddRemove, epsilon);
        let (delta, e) = (delta.parse::<Delta>().unwrap(), epsilon.parse::<f64>().unwrap());
        let m = MeasuredCount::new(MeasuredNoise::Single(&noise), 1, delta, 2).unwrap();
        let law = noise.law();
        // The law of what is released of a group: hidden, and the noisy counts from the threshold
        // on.
        let released = |count: i128| -> Vec<f64> {
            if count == 0 {
                return vec![1.0];
            }
            let law = law.as_law();
            let first = m.threshold_from(1) - count;
            let far = first.max(0) + (30.0 * noise.scale()) as i128;
            let from = (first..far).map(|x| law.tail(x) - law.tail(x + 1));
            std::iter::once(1.0 - law.tail(first)).chain(from).collect()
        };
        let both = |a: i128, b: i128| -> Vec<Vec<f64>> {
            let (a, b) = (released(a), released(b));
            a.iter().map(|x| b.iter().map(|y| x * y).collect()).collect()
        };
        let divergence = |p: &[Vec<f64>], q: &[Vec<f64>]| -> f64 {
            let at = |t: &[Vec<f64>], i: usize, j: usize| {
                t.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0.0)
            };
            let (rows, columns) = (p.len(), p.iter().map(Vec::len).max().unwrap_or(0));
            let cells = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
            cells.map(|(i, j)| (at(p, i, j) - e.exp() * at(q, i, j)).max(0.0)).sum()
        };
        let mut worst = 0.0f64;
        for with in [[1, 1], [2, 1], [4, 1], [4, 4], [9, 1]] {
            let [a, b] = with;
            let (with_unit, without_unit) = (both(a, b), both(a - 1, b - 1));
            worst = worst
                .max(divergence(&with_unit, &without_unit))
                .max(divergence(&without_unit, &with_unit));
        }
        assert!(worst <= delta.to_f64() * (1.0 + 1e-9), "{epsilon}: {worst}");
        assert!(worst > 0.3 * delta.to_f64(), "{epsilon}: {worst}");
    }
}

/// Laws of what is released of a group: hidden, or the noisy numbers from the threshold on, for a
/// count, or a count and a sum with the same noise.
fn released(law: AdditiveLaw, threshold: i128, count: i128, sum: Option<i128>) -> Vec<f64> {
    let far = 9 * (law.scale().ceil() as i128);
    let law = law.as_law();
    // A group without a unit never appears.
    let seen = |x: i128| if count > 0 { law.tail(x - count) } else { 0.0 };
    let mut all = vec![1.0 - seen(threshold)];
    for noisy in threshold..=threshold + far + 30 {
        let mass = seen(noisy) - seen(noisy + 1);
        match sum {
            None => all.push(mass),
            Some(sum) => all.extend((-far..=far + 9).map(|x| {
                let between = law.tail(x - sum) - law.tail(x + 1 - sum);
                mass * between
            })),
        }
    }
    all
}

/// The divergence of pairs of groups, whose noise is drawn apart.
fn divergence(e: f64, tables: &[(Vec<f64>, Vec<f64>)]) -> f64 {
    let mut all = vec![(1.0, 1.0)];
    for (first, second) in tables {
        let group: Vec<(f64, f64)> = first.iter().copied().zip(second.iter().copied()).collect();
        let pairs = all.iter().flat_map(|&(p, q)| group.iter().map(move |&(a, b)| (p * a, q * b)));
        all = pairs.filter(|&(p, q)| p + q > 1e-13).collect();
    }
    all.iter().map(|&(p, q)| (p - e.exp() * q).max(0.0)).sum()
}

/// Tables with a unit and without it, and with another in its place, alone in its groups or not:
/// everything that is released, summed up. The noise and the groups have nearly all of delta each.
#[test]
fn small_tables_share_delta_between_noise_and_groups() {
    use Neighbouring::{AddRemove, Replace};
    for (epsilon, delta) in [("1", "0.001"), ("0.5", "0.01"), ("0.7", "1e-5")] {
        let (epsilon, delta): (Epsilon, Delta) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let shown = delta.split(&[62, 2])[0];
        let e = epsilon.to_f64();
        for (groups, relation, sums) in [
            (1, AddRemove, false),
            (2, AddRemove, false),
            (1, Replace, false),
            (1, AddRemove, true),
        ] {
            let reach = Reach { groups: u64::from(groups), neighbouring: relation };
            let mu_shares = Strategy::MeasuredCount.mu_squared_shares(reach);
            let mu = gaussian_groups_mu(epsilon, delta, shown, mu_shares);
            let numbers = if sums { 2 } else { 1 };
            let rho = Rho::from_f64_down(0.5 * mu * mu).unwrap().share(numbers);
            let unit = Contribution { groups, single_group: false, low: 0, high: 1, beside: None };
            let noise = Additive::gaussian(unit, relation, rho).unwrap();
            let single = MeasuredNoise::Single(&noise);
            let m = MeasuredCount::new(single, 1, shown, reach.groups).unwrap();
            let of = |count: i128| {
                // In a sum each unit has a one, too.
                released(noise.law(), m.threshold_from(1), count, sums.then_some(count))
            };
            let pair = |with: i128, without: i128| (of(with), of(without));
            let t = m.threshold_from(1);
            let sizes = [1, 2, t, 4 * t];
            let mut tables = Vec::new();
            for a in sizes {
                match (groups, relation) {
                    (1, AddRemove) => tables.push(vec![pair(a, a - 1)]),
                    // The one leaves a group, the other enters another.
                    (1, Replace) => {
                        tables.extend(sizes.map(|b| vec![pair(a, a - 1), pair(b - 1, b)]));
                    }
                    _ => tables.extend(sizes.map(|b| vec![pair(a, a - 1), pair(b, b - 1)])),
                }
            }
            let mut worst = 0.0f64;
            for table in &tables {
                let back: Vec<_> = table.iter().map(|(p, q)| (q.clone(), p.clone())).collect();
                worst = worst.max(divergence(e, table)).max(divergence(e, &back));
            }
            let case = format!("{epsilon} {delta} {groups} {relation} {sums}: {worst}");
            // Noise and thresholds that are whole leave a little of it.
            assert!(worst <= delta.to_f64() && worst > 0.8 * delta.to_f64(), "{case}");
            // The chance that a unit alone appears is not what is left by the noise.
            let alone = 1.0 - (1.0 - of(1)[1..].iter().sum::<f64>()).powi(groups as i32);
            assert!(alone > 0.3 * delta.to_f64(), "{case} {alone}");
        }
    }
}

#[test]
fn groups_are_chosen_by_the_noisy_counts_that_they_are_shown_with() {
    let (delta, reach) =
        ("0.01".parse().unwrap(), Reach { groups: 1, neighbouring: Neighbouring::AddRemove });
    let noise = count_noise(1, 2, Neighbouring::AddRemove, "1");
    let loss = pure("1").with_delta(delta);
    let selection =
        Selection::by_measured_count(MeasuredNoise::Single(&noise), 2, loss, reach).unwrap();
    assert_eq!(selection.loss().to_f64(), 0.0);
    assert_eq!(selection.loss().delta(), delta);
    let least = selection.clone().with_least(3);
    let t = selection.threshold().unwrap() as i128;
    assert_eq!(least.threshold().unwrap() as i128, t + 4);
    let counts = [t - 1, t, t + 4, -90, t + 4];
    let population = Candidates {
        units: &[5, 5, 2, 5, 3],
        members: None,
        known: &[false, false, false, true, false],
        counts: &counts,
    };
    let mut generator = TestSeed(3).generator();
    let groups = |chooser: &Selection, generator: &mut _| -> Vec<usize> {
        chooser.choose(&population, generator).unwrap().iter().map(|c| c.group).collect()
    };
    assert_eq!(groups(&selection, &mut generator), [1, 2, 3, 4]);
    assert_eq!(groups(&least, &mut generator), [3, 4]);
    // A group of two units that count twice has the chances of four that count once.
    assert_eq!(selection.half_size(), t as u64);
    assert_eq!(selection.half_size_alone(), t.unsigned_abs() as u64 / 2 + t as u64 % 2);
    let (once, often) = (selection.half_size() as f64, selection.half_size_alone() as f64);
    assert_eq!(selection.size_to_appear(None), 0.9 * often + 0.1 * once);
    let exact = Candidates { counts: &[4, t, t, 0, 9], ..population };
    let AdditiveLaw::DiscreteLaplace(law) = noise.law() else { panic!("law") };
    let want = |law: &DiscreteLaplace, n: i128| law.tail(t - n);
    let chances = selection.chances(&exact);
    assert_eq!(chances, [4, t, t, 0, 9].map(|n| want(&law, n)));
    assert_eq!(least.chances(&exact)[2], 0.0);
}

/// Coverage given that the count is seen, summed over the exact law, also where the noise is hardly
/// more than the rounding of its draws.
#[test]
fn intervals_of_counts_hold_where_these_are_seen() {
    let reach = Reach { groups: 1, neighbouring: Neighbouring::AddRemove };
    let delta: Delta = "0.001".parse().unwrap();
    for (width, loss) in [(1, rho("4")), (2, rho("3.5")), (1, pure("3")), (9, rho("0.1"))] {
        let span = ValueSpan { low: 0, high: width, rows: 1 };
        let tied = TiedSums::new(&[tied_sum(span, loss)], 1, reach.neighbouring).unwrap();
        let noise = MeasuredNoise::Tied(&tied);
        let selection =
            Selection::by_measured_count(noise, 1, loss.with_delta(delta), reach).unwrap();
        let threshold = selection.threshold().unwrap() as i128;
        let tail = |x: i128| tail_of_both_ends(tied.noise(0).unwrap(), width.into(), x);
        for count in [1, threshold - 1, threshold, threshold + 3, 4 * threshold] {
            let (mut held, mut seen) = (0.0, 0.0);
            for noisy in threshold..threshold + 60 {
                let mass = tail(noisy - count) - tail(noisy - count + 1);
                let interval = selection.count_interval(noisy, 0.99, crate::ShowReason::Selected);
                let (low, high) = interval.unwrap();
                assert!(low <= noisy && noisy <= high);
                seen += mass;
                held += if (low..=high).contains(&count) { mass } else { 0.0 };
            }
            assert!(held >= 0.99 * seen, "{width} {count} of {threshold}: {}", held / seen);
        }
    }
}
