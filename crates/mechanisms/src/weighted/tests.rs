use hushtable_noise::TestSeed;
use hushtable_privacy::Neighbouring;

use super::*;
use crate::joint::{appears_at_most, summed_delta};

fn reach(groups: u64) -> Reach {
    Reach { groups, neighbouring: Neighbouring::AddRemove }
}

fn loss() -> (Epsilon, Delta) {
    ("1".parse().unwrap(), "1e-5".parse().unwrap())
}

#[test]
fn weights_have_an_l2_norm_of_at_most_one() {
    for groups in (1..2000).chain([10_000, 1 << 20, (1 << 31) - 1]) {
        let weight = u128::from(weight_of(groups));
        let norm = u128::from(groups) * weight * weight;
        assert!(norm <= 1 << 60, "{groups}");
        // The next larger weight would be too large.
        assert!(u128::from(groups) * (weight + 1) * (weight + 1) > 1 << 60, "{groups}");
    }
}

#[test]
fn rounds_compose_to_the_budget() {
    let (epsilon, delta) = loss();
    for neighbouring in [Neighbouring::AddRemove, Neighbouring::Replace] {
        for groups in [1, 4, 100, 5000] {
            let reach = Reach { groups, neighbouring };
            let l2 = reach.l2(Weights::Roots);
            for sips in [
                WeightedGaussian::sips_approximate(epsilon, delta, reach).unwrap(),
                WeightedGaussian::sips_concentrated("0.03".parse().unwrap(), delta, reach).unwrap(),
            ] {
                assert_eq!(sips.rounds.len(), 3);
                let mu_squared: f64 = sips.rounds().map(|(sigma, _)| (l2 / sigma).powi(2)).sum();
                let appear: f64 = sips
                    .rounds()
                    .map(|(sigma, t)| appears_at_most(t, sigma, groups, Weights::Roots))
                    .sum();
                let joint = summed_delta(1.0, mu_squared.sqrt(), appear);
                let spent = mu_squared / 2.0;
                assert!(joint <= 1e-5 && joint > 0.999e-5 || spent <= 0.03 && spent > 0.0299);
                assert!(appear <= 1e-5);
            }
        }
    }
}

#[test]
fn sums_of_weights_do_not_depend_on_threads_or_order() {
    let mut members = Memberships::default();
    let mut reversed = Memberships::default();
    let units: Vec<Vec<u32>> =
        (0..5000u32).map(|u| (0..u % 7).map(|i| (u * 31 + i * 17) % 97).collect()).collect();
    for (place, groups) in units.iter().enumerate() {
        members.push(place as u128, groups.iter().copied());
    }
    for (place, groups) in units.iter().enumerate().rev() {
        reversed.push(place as u128, groups.iter().copied());
    }
    let open: Vec<bool> = (0..97).map(|g| g % 3 != 0).collect();
    let mut want = vec![0i64; 97];
    for groups in &units {
        let open: Vec<u32> = groups.iter().copied().filter(|g| g % 3 != 0).collect();
        for &group in &open {
            want[group as usize] += weight_of(open.len() as u64) as i64;
        }
    }
    for most in [2, 100] {
        assert_eq!(sums_of_weights(&members, &open, most), want);
        assert_eq!(sums_of_weights(&reversed, &open, most), want);
    }
}

#[test]
fn later_rounds_find_what_the_first_hide() {
    // Each unit is in eight groups that all have, and in one that sixty share.
    let (epsilon, delta) = loss();
    let mut members = Memberships::default();
    let mut units = vec![0u64; 108];
    for unit in 0..6_000u32 {
        let groups: Vec<u32> = (0..8).chain([8 + unit % 100]).collect();
        for &group in &groups {
            units[group as usize] += 1;
        }
        members.push(u128::from(unit), groups);
    }
    let weighted = WeightedGaussian::approximate(epsilon, delta, reach(9)).unwrap();
    let sips = WeightedGaussian::sips_approximate(epsilon, delta, reach(9)).unwrap();
    let mut generator = TestSeed(5).generator();
    let mut kept = |mechanism: &WeightedGaussian, units: &[u64]| {
        let open = vec![true; units.len()];
        let appears = mechanism.select(Some(&members), units, open, 1, &mut generator).unwrap();
        assert!(appears[..8].iter().all(|&a| a));
        appears[8..].iter().filter(|&&a| a).count()
    };
    // 60 units at a weight of 1/3 are about at the threshold, at a weight of 1 far above it.
    assert_eq!(kept(&sips, &units), 100);
    let once = kept(&weighted, &units);
    assert!((30..85).contains(&once), "{once}");
    assert!(sips.keep_probability(60, 1) < 0.5);
    // 30 units are enough only when their other groups have been released.
    assert!(weighted.keep_probability(30, 1) < 0.05);
    assert!(sips.keep_probability_alone(30, 1) > 0.95);
}

/// The exact probability that nothing but the shared group appears, with and without one unit.
#[test]
fn a_unit_alone_in_its_groups_hardly_appears() {
    let delta: Delta = "0.02".parse().unwrap();
    let mechanism =
        WeightedGaussian::sips_approximate("1".parse().unwrap(), delta, reach(4)).unwrap();
    let mut generator = TestSeed(8).generator();
    for groups in 1..=4u32 {
        let mut members = Memberships::default();
        members.push(0, 0..groups);
        let units = vec![1u64; groups as usize];
        let runs = 40_000;
        let mut seen = 0;
        for _ in 0..runs {
            let open = vec![true; groups as usize];
            let appears =
                mechanism.select(Some(&members), &units, open, 1, &mut generator).unwrap();
            seen += u32::from(appears.contains(&true));
        }
        // At most delta; six standard deviations above it come once in a billion.
        assert!(f64::from(seen) <= f64::from(runs) * 0.02 + 6.0 * (f64::from(runs) * 0.02).sqrt());
        assert!(seen > 20, "{groups}: {seen}");
    }
}
