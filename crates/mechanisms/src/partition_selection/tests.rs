use hushtable_noise::TestSeed;
use hushtable_privacy::Neighbouring;

use super::*;
use crate::steps;

const ADD_REMOVE: Neighbouring = Neighbouring::AddRemove;

fn approximate(epsilon: &str, delta: &str) -> Loss {
    Loss::Approximate { epsilon: epsilon.parse().unwrap(), delta: delta.parse().unwrap() }
}

fn reach(groups: u64) -> Reach {
    Reach { groups, neighbouring: ADD_REMOVE }
}

fn by_themselves() -> impl Iterator<Item = Strategy> {
    Strategy::ALL.into_iter().filter(|s| s.is_by_itself())
}

fn selection_of(strategy: Strategy, epsilon: &str, delta: &str, groups: u64) -> Selection {
    Selection::new(strategy, approximate(epsilon, delta), reach(groups)).unwrap()
}

#[test]
fn optimal_releases_first_at_equal_cost() {
    for groups in [1, 2] {
        let all = by_themselves().map(|s| selection_of(s, "1", "1e-5", groups).half_size());
        let sizes: Vec<u64> = all.collect();
        assert!(sizes[1..].iter().all(|&s| s >= sizes[0]), "{sizes:?}");
    }
    let one = |s| selection_of(s, "1", "1e-5", 1);
    assert_eq!(one(Strategy::Optimal).half_size(), 12);
    assert!(one(Strategy::Optimal).keep_probability(11) < 0.5);
}

#[test]
fn the_default_follows_the_number_of_groups() {
    let best = |groups| {
        let mut best = selection_of(Strategy::Optimal, "1", "1e-5", groups);
        for strategy in Strategy::ALL.into_iter().filter(|s| s.is_by_itself()) {
            let other = selection_of(strategy, "1", "1e-5", groups);
            if other.shows_smaller_groups(&best) {
                best = other;
            }
        }
        best.strategy()
    };
    // One group: pi_opt. Some: it decides by single votes. Many: what divides a weight over them,
    // in rounds.
    assert_eq!(best(1), Strategy::Optimal);
    assert_eq!([2, 8, 20, 100].map(best), [Strategy::SingleVote; 4]);
    assert_eq!([500, 1000].map(best), [Strategy::Sips; 2]);
    // In one round, weights are never worse than counts.
    for groups in [1, 2, 4, 10, 100] {
        let weighted = selection_of(Strategy::WeightedGaussian, "1", "1e-5", groups);
        let counts = selection_of(Strategy::GaussianThreshold, "1", "1e-5", groups);
        let (weighted, counts) = (weighted.half_size(), counts.half_size());
        assert!(weighted <= counts + counts / 50, "{groups}: {weighted} {counts}");
    }
}

#[test]
fn the_budget_is_split_over_groups() {
    let alone = selection_of(Strategy::Optimal, "1", "1e-5", 1);
    // Optimal composition is never worse than equal shares, and much better for many groups. Single
    // votes split nothing.
    for strategy in by_themselves().filter(|s| *s != Strategy::SingleVote) {
        let split = selection_of(strategy, "3", "3e-5", 3);
        let equal = selection_of(strategy, "1", "1e-5", 1);
        assert!(split.half_size() <= equal.half_size(), "{strategy}");
    }
    let many = selection_of(Strategy::Optimal, "1", "1e-5", 100);
    let equal = selection_of(Strategy::Optimal, "0.01", "1e-7", 1);
    assert!(many.half_size() * 2 < equal.half_size(), "{}", many.half_size());
    let concentrated = |rho: &str, delta: &str, groups| {
        let rho = rho.parse().unwrap();
        let loss = Loss::Concentrated { rho, delta: delta.parse().unwrap() };
        Selection::new(Strategy::Optimal, loss, reach(groups)).unwrap()
    };
    // 3 groups at epsilon 1 cost 3 tanh(1/2); and a rho of 8 pays for epsilon = 8.
    let large = selection_of(Strategy::Optimal, "8.005340595359", "1e-5", 1);
    for (of_rho, of_epsilon) in
        [(concentrated("1.386351471781", "3e-5", 3), alone), (concentrated("8", "1e-5", 1), large)]
    {
        for n in 0..30 {
            let (a, b) = (of_rho.keep_probability(n), of_epsilon.keep_probability(n));
            assert!((a - b).abs() < 1e-9);
        }
    }
}

#[test]
fn half_widths_of_counts() {
    let g = selection_of(Strategy::TruncatedGeometric, "1", "1e-5", 1);
    assert_eq!(g.noise_half_width(0.95, 1), Some(3));
    let l = selection_of(Strategy::LaplaceThreshold, "1", "1e-5", 1);
    assert_eq!(l.noise_half_width(0.95, 1), Some(3));
    for strategy in [Strategy::Optimal, Strategy::Sips] {
        assert_eq!(selection_of(strategy, "1", "1e-5", 1).noise_half_width(0.95, 1), None);
    }
}

/// How often each of some groups appears; every unit is in one group.
fn frequencies(selection: &Selection, units: &[u64], runs: u32) -> Vec<f64> {
    let mut generator = TestSeed(11).generator();
    let mut counts = vec![0u32; units.len()];
    for _ in 0..runs {
        let population = Candidates { units, members: None, known: &[], counts: &[] };
        for chosen in selection.choose(&population, &mut generator).unwrap() {
            counts[chosen.group] += 1;
            assert_eq!(chosen.noisy_count.is_some(), selection.strategy().gives_count());
        }
    }
    counts.into_iter().map(|c| f64::from(c) / f64::from(runs)).collect()
}

#[test]
fn every_strategy_keeps_its_probabilities_and_its_least_number() {
    let units = [0, 1, 4, 5, 6, 9, 12, 30];
    for strategy in by_themselves() {
        for least in [1, 5] {
            let selection = selection_of(strategy, "1", "0.05", 1).with_least(least);
            let runs = 20_000;
            for (&units, frequency) in units.iter().zip(frequencies(&selection, &units, runs)) {
                let want = selection.keep_probability(units);
                if units < least {
                    assert_eq!((frequency, want), (0.0, 0.0), "{strategy} {units}");
                }
                if units == least {
                    // As a group of one unit without a least number.
                    assert!(want <= 0.05 && want > 0.01, "{strategy} {least} {want}");
                }
                // Six standard deviations: a false alarm once in 5e8, a hundred times.
                let error = 6.0 * (want * (1.0 - want) / f64::from(runs)).sqrt() + 1e-9;
                assert!(
                    (frequency - want).abs() <= error,
                    "{strategy} {units}: {frequency} {want}"
                );
            }
        }
    }
}

#[test]
fn known_groups_always_appear_with_their_noisy_counts() {
    let units = [0, 50, 0, 1000];
    let known = [true, false, false, true];
    let mut generator = TestSeed(3).generator();
    for strategy in by_themselves() {
        let selection = selection_of(strategy, "1", "1e-5", 1);
        let population = Candidates { units: &units, members: None, known: &known, counts: &[] };
        let mut negative = 0;
        for _ in 0..100 {
            let chosen = selection.choose(&population, &mut generator).unwrap();
            let groups: Vec<usize> = chosen.iter().map(|c| c.group).collect();
            assert_eq!(groups, [0, 1, 3], "{strategy}");
            match chosen[0].noisy_count {
                Some(count) => {
                    assert!(strategy.gives_count() && count.abs() < 60);
                    negative += u32::from(count < 0);
                }
                None => assert!(!strategy.gives_count()),
            }
        }
        // The count of a known group that no unit is in has noise like the others.
        assert_eq!(negative > 20, strategy.gives_count(), "{strategy}");
    }
}

#[test]
fn a_least_number_does_not_move_counts() {
    let mut generator = TestSeed(4).generator();
    for strategy in Strategy::ALL.into_iter().filter(|s| s.gives_count()) {
        let selection = selection_of(strategy, "10", "1e-5", 1).with_least(50);
        // The count of a known group of 40 units is not raised to the least number, and others have
        // all of their units in their counts.
        let population = Candidates {
            units: &[40, 1000, 40],
            members: None,
            known: &[true, false, false],
            counts: &[],
        };
        for _ in 0..100 {
            let chosen = selection.choose(&population, &mut generator).unwrap();
            let counts: Vec<i128> = chosen.iter().filter_map(|c| c.noisy_count).collect();
            assert!(counts.len() == 2, "{strategy}: {counts:?}");
            assert!((counts[0] - 40).abs() < 8 && (counts[1] - 1000).abs() < 8, "{counts:?}");
        }
    }
}

#[test]
fn what_cannot_select_is_refused() {
    for strategy in by_themselves() {
        let refused = |loss, groups| Selection::new(strategy, loss, reach(groups)).unwrap_err();
        assert_eq!(refused(approximate("1", "1e-5"), 0), MechanismError::NoGroups);
        for (epsilon, delta) in [("0", "1e-5"), ("1", "0")] {
            let error = refused(approximate(epsilon, delta), 3);
            assert!(matches!(error, MechanismError::NoBudget(_)), "{strategy}: {error}");
        }
        let rho = Loss::Concentrated { rho: "0".parse().unwrap(), delta: "1e-5".parse().unwrap() };
        assert!(Selection::new(strategy, rho, reach(3)).is_err(), "{strategy}");
    }
}

/// The share of draws of a known group's noisy count that reach a threshold.
#[test]
fn known_groups_reach_a_threshold_as_often_as_computed() {
    let groups = 20_000;
    for strategy in Strategy::ALL.into_iter().filter(|s| s.gives_count()) {
        let selection = selection_of(strategy, "1", "1e-3", 1);
        for (units, threshold) in [(5, 5), (5, 7), (9, 6), (0, 3)] {
            let (units_of, known) = (vec![units; groups], vec![true; groups]);
            let population =
                Candidates { units: &units_of, members: None, known: &known, counts: &[] };
            let chosen = selection.choose(&population, &mut TestSeed(5).generator()).unwrap();
            let reached = |c: &&ChosenGroup| c.noisy_count >= Some(i128::from(threshold));
            let share = chosen.iter().filter(reached).count() as f64 / groups as f64;
            let want = selection.reach_probability(units, threshold);
            let deviation = (want * (1.0 - want) / groups as f64).sqrt();
            assert!((share - want).abs() < 5.0 * deviation, "{strategy} {units}: {share} {want}");
        }
    }
}

/// Making a selection, and telling what it does, takes a bounded number of steps at every loss that
/// is accepted: counted, not timed. A step is some tens to hundreds of nanoseconds.
#[test]
fn no_loss_makes_selections_slow() {
    let amounts = ["1e-12", "1e-4", "1", "1000", "1000000"];
    let mut seen = 0;
    for (amount, delta) in amounts.iter().flat_map(|a| ["1e-18", "1e-6", "0.5"].map(|d| (a, d))) {
        let (epsilon, rho) = (amount.parse().unwrap(), amount.parse().unwrap());
        let delta: Delta = delta.parse().unwrap();
        for loss in [Loss::Approximate { epsilon, delta }, Loss::Concentrated { rho, delta }] {
            for groups in [1, 3, 1000, u64::from(u32::MAX)] {
                for neighbouring in [ADD_REMOVE, Neighbouring::Replace] {
                    for strategy in by_themselves() {
                        steps::take();
                        let reach = Reach { groups, neighbouring };
                        let Ok(selection) = Selection::new(strategy, loss, reach) else { continue };
                        selection.half_size_alone();
                        selection.noise_half_width(0.95, 1);
                        for units in [1, 10, 100, selection.half_size(), u64::MAX] {
                            selection.keep_probability(units);
                        }
                        let steps = steps::take();
                        let case = format!("{strategy} {loss} {groups} {neighbouring:?}");
                        assert!(steps < 100_000, "{case}: {steps}");
                        seen += 1;
                    }
                }
            }
        }
    }
    assert!(seen > 500);
}

/// The more groups units are usually in, the larger the groups that appear; from some 33 on SIPS
/// shows smaller ones than votes.
#[test]
fn sizes_to_appear_follow_from_the_usual_number_of_groups() {
    let of = |strategy| Selection::new(strategy, approximate("1", "1e-5"), reach(100)).unwrap();
    let (votes, sips) = (of(Strategy::SingleVote), of(Strategy::Sips));
    for selection in [&votes, &sips] {
        let sizes = [1, 2, 14, 40, 100].map(|usual| selection.size_to_appear(Some(usual)));
        assert!(sizes.is_sorted(), "{sizes:?}");
        assert_eq!(sizes[0], selection.half_size_alone() as f64);
        assert!(sizes[4] <= selection.half_size() as f64);
        // No unit is in more groups than the most.
        assert_eq!(selection.size_to_appear(Some(1000)), sizes[4]);
    }
    let votes_are_better =
        |usual| votes.size_to_appear(Some(usual)) < sips.size_to_appear(Some(usual));
    let first = (1..100).find(|&usual| !votes_are_better(usual)).unwrap();
    assert!((28..=38).contains(&first), "{first}");
    assert!((first..=100).all(|usual| !votes_are_better(usual)));
    // Counts do not depend on other groups.
    let counts = of(Strategy::GaussianThreshold);
    assert_eq!(counts.size_to_appear(Some(3)), counts.size_to_appear(None));
}
