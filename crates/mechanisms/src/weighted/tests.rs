use hushtable_noise::TestSeed;
use hushtable_privacy::{Neighbouring, gaussian_delta, normal_tail};

use super::*;
use crate::joint::{appears, appears_at_most, joint_delta};

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

/// Rounds as the analysis has them: thresholds before they are rounded to the lattice and up.
fn analysed(mechanism: &WeightedGaussian) -> Vec<(f64, f64)> {
    mechanism.rounds().map(|(sigma, threshold)| (sigma, threshold - 2.0 / FINE as f64)).collect()
}

#[test]
fn rounds_compose_to_the_budget() {
    let (epsilon, delta) = loss();
    for neighbouring in [Neighbouring::AddRemove, Neighbouring::Replace] {
        for groups in [1u64, 2, 4, 100, 5000] {
            let reach = Reach { groups, neighbouring };
            let l2 = reach.l2(Weights::Roots);
            let sips = WeightedGaussian::sips_approximate(epsilon, delta, reach).unwrap();
            let rounds = analysed(&sips);
            let mu_squared: f64 = rounds.iter().map(|(sigma, _)| sigma.powi(-2)).sum();
            // All numbers of own groups, of the unit that leaves and of the one that enters.
            let shown = |own: u64| {
                let one = |&(sigma, t): &(f64, f64)| {
                    appears(t, sigma, (own.max(1) as f64).sqrt().recip(), own as f64)
                };
                1.0 - rounds.iter().map(|round| 1.0 - one(round)).product::<f64>()
            };
            let some = (0..=groups).filter(|own| *own < 20 || own % 97 == 0 || *own == groups);
            let mut worst: f64 = 0.0;
            for own in some.clone() {
                let part = own as f64 / groups as f64;
                if neighbouring == Neighbouring::AddRemove {
                    let mu = (mu_squared * (1.0 - part)).sqrt();
                    worst = worst.max(joint_delta(1.0, mu, shown(own), 0.0));
                    worst = worst.max(joint_delta(1.0, mu, 0.0, shown(own)));
                    continue;
                }
                for other in some.clone() {
                    let apart = 2.0 - part - other as f64 / groups as f64;
                    let mu = (mu_squared * apart).sqrt();
                    worst = worst.max(joint_delta(1.0, mu, shown(own), shown(other)));
                }
            }
            let all = (mu_squared.sqrt() * l2, shown(groups));
            assert!(worst <= 1e-5 && worst > 0.999e-5, "{neighbouring:?} {groups}: {worst}");
            // Neither noise nor thresholds have less than nearly all of it.
            assert!(gaussian_delta(all.0, 1.0) > 0.99e-5 && all.1 > 0.98e-5, "{groups}: {all:?}");

            let rho = "0.03".parse().unwrap();
            let sips = WeightedGaussian::sips_concentrated(rho, delta, reach).unwrap();
            let spent: f64 = sips.rounds().map(|(sigma, _)| (l2 / sigma).powi(2) / 2.0).sum();
            let appear: f64 = analysed(&sips)
                .iter()
                .map(|&(sigma, t)| appears_at_most(t, sigma, groups, Weights::Roots))
                .sum();
            assert!(spent <= 0.03 && spent > 0.0299 && appear <= 1e-5 * (1.0 + 1e-6));
        }
    }
}

/// The probabilities with which one unit's groups appear in any way over the rounds, with and
/// without that unit, added up to both divergences. It has so many own groups, and shares others
/// with units that are in no other group, so that these weigh as much in every round.
struct Law<'a> {
    rounds: &'a [(f64, f64)],
    epsilon: f64,
    own: u32,
}

impl Law<'_> {
    /// What the rounds from `place` on add to both divergences, if shared groups with these sums
    /// of the others' weights are open and an outcome has had the probabilities `with` and
    /// `without`.
    fn add(&self, place: usize, open: &[f64], (with, without): (f64, f64), sums: &mut [f64; 2]) {
        let Some(&(sigma, threshold)) = self.rounds.get(place) else {
            sums[0] += (with - self.epsilon.exp() * without).max(0.0);
            sums[1] += (without - self.epsilon.exp() * with).max(0.0);
            return;
        };
        let groups = f64::from(self.own) + open.len() as f64;
        let weight = if groups > 0.0 { groups.sqrt().recip() } else { 0.0 };
        let shown = |sum: f64| normal_tail((threshold - sum) / sigma);
        let hidden = (1.0 - shown(weight)).powi(self.own as i32);
        sums[0] += with * (1.0 - hidden);
        for subset in 0..1u32 << open.len() {
            let (mut now, mut left) = ((with * hidden, without), Vec::new());
            for (group, &sum) in open.iter().enumerate() {
                let (p, q) = (shown(sum + weight), shown(sum));
                if subset >> group & 1 == 1 {
                    now = (now.0 * p, now.1 * q);
                } else {
                    now = (now.0 * (1.0 - p), now.1 * (1.0 - q));
                    left.push(sum);
                }
            }
            self.add(place + 1, &left, now, sums);
        }
    }
}

/// Exact laws of tables whose shared groups leave in any of the rounds.
#[test]
fn no_table_shows_more_over_the_rounds_than_delta() {
    let mut closest: f64 = 0.0;
    for (epsilon, delta) in [("0.3", "0.02"), ("1", "0.05"), ("2", "0.001")] {
        for most in 1..=3u32 {
            let (epsilon, delta): (Epsilon, Delta) =
                (epsilon.parse().unwrap(), delta.parse().unwrap());
            let reach = reach(u64::from(most));
            let sips = WeightedGaussian::sips_approximate(epsilon, delta, reach).unwrap();
            let rounds: Vec<(f64, f64)> = sips.rounds().collect();
            for groups in 1..=most {
                for own in 0..=groups {
                    let law = Law { rounds: &rounds, epsilon: epsilon.to_f64(), own };
                    // Sums about each round's threshold, far below it and far above.
                    let about = |&(sigma, t): &(f64, f64)| [t - sigma, t, t + 2.0 * sigma];
                    let sums: Vec<f64> =
                        rounds.iter().flat_map(about).filter(|&sum| sum > 0.0).collect();
                    for table in 0..sums.len().pow(groups - own) {
                        let sum = |i: u32| sums[table / sums.len().pow(i) % sums.len()];
                        let open: Vec<f64> = (0..groups - own).map(sum).collect();
                        let mut found = [0.0; 2];
                        law.add(0, &open, (1.0, 1.0), &mut found);
                        let most = found[0].max(found[1]) / delta.to_f64();
                        assert!(most <= 1.0, "{epsilon:?} {groups} {own} {open:?}: {most}");
                        closest = closest.max(most);
                    }
                }
            }
        }
    }
    // Units that are in own groups alone come as close to delta as can be.
    assert!(closest > 0.99, "{closest}");
}

#[test]
fn rounds_and_shares_follow_from_the_budget() {
    let rounds = |epsilon: &str, delta: &str, groups| {
        let (epsilon, delta) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let sips = WeightedGaussian::sips_approximate(epsilon, delta, reach(groups)).unwrap();
        let rounds: Vec<_> = sips.rounds().collect();
        // Noise falls with the root of the growth.
        let growth = (rounds[0].0 / rounds[1].0).powi(2).round();
        (rounds.len(), growth)
    };
    assert_eq!(rounds("1", "1e-5", 4), (3, 8.0));
    assert_eq!(rounds("1", "1e-5", 100), (3, 12.0));
    // A weight is one at most, which the second round reaches.
    assert_eq!(rounds("4", "1e-8", 2), (2, 24.0));
    assert_eq!(rounds("0.1", "1e-6", 1000), (2, 24.0));
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
    assert!(sips.keep_probability(50, 1) < 0.5);
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
