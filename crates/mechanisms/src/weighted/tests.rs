use hushtable_noise::TestSeed;
use hushtable_privacy::{
    Neighbouring, gaussian_delta, gaussian_groups_mu, joint_delta, normal_tail,
};

use super::*;
use crate::Strategy;
use crate::joint::{appears, appears_at_most};

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
            // All numbers of unshared groups, of the unit that leaves and of the one that enters.
            let appear = |unshared: u64| {
                let one = |&(sigma, t): &(f64, f64)| {
                    appears(t, sigma, (unshared.max(1) as f64).sqrt().recip(), unshared as f64)
                };
                1.0 - rounds.iter().map(|round| 1.0 - one(round)).product::<f64>()
            };
            let some = (0..=groups)
                .filter(|unshared| *unshared < 20 || unshared % 97 == 0 || *unshared == groups);
            let mut worst: f64 = 0.0;
            for unshared in some.clone() {
                let fraction = unshared as f64 / groups as f64;
                if neighbouring == Neighbouring::AddRemove {
                    let mu = (mu_squared * (1.0 - fraction)).sqrt();
                    worst = worst.max(joint_delta(1.0, mu, appear(unshared), 0.0));
                    worst = worst.max(joint_delta(1.0, mu, 0.0, appear(unshared)));
                    continue;
                }
                for other in some.clone() {
                    let apart = 2.0 - fraction - other as f64 / groups as f64;
                    let mu = (mu_squared * apart).sqrt();
                    worst = worst.max(joint_delta(1.0, mu, appear(unshared), appear(other)));
                }
            }
            let all = (mu_squared.sqrt() * l2, appear(groups));
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

/// Weights beside numbers that are measured: a unit of `all` groups, of which it has some for
/// itself, is in as many of the numbers, and weighs as much as it can in each round.
#[test]
fn measurements_and_weights_share_delta() {
    let (epsilon, delta) = loss();
    for neighbouring in [Neighbouring::AddRemove, Neighbouring::Replace] {
        for (groups, strategy) in [1u64, 2, 4, 20, 100]
            .into_iter()
            .flat_map(|groups| [Strategy::Sips, Strategy::WeightedGaussian].map(|s| (groups, s)))
        {
            let reach = Reach { groups, neighbouring };
            let shown = delta.share(2);
            let mu_shares = strategy.mu_squared_shares(reach);
            let mu = gaussian_groups_mu(epsilon, delta, shown, mu_shares);
            let rho = Rho::from_f64_down(0.5 * mu * mu).unwrap();
            let [chosen, _] = rho.split(&[1, 2])[..] else { panic!("shares") };
            let of_numbers = 2.0 * (rho.to_f64() - chosen.to_f64());
            let made = match strategy {
                Strategy::Sips => WeightedGaussian::sips_concentrated(chosen, shown, reach),
                _ => WeightedGaussian::concentrated(chosen, shown, reach),
            };
            let rounds = analysed(&made.unwrap());
            let precision: f64 = rounds.iter().map(|(sigma, _)| sigma.powi(-2)).sum();
            // In later rounds only the unshared groups may be left; in one round, all are there.
            let appear = |unshared: u64, all: u64| {
                let left = if strategy == Strategy::Sips { unshared } else { all };
                let one = |&(sigma, t): &(f64, f64)| {
                    appears(t, sigma, (left.max(1) as f64).sqrt().recip(), unshared as f64)
                };
                1.0 - rounds.iter().map(|round| 1.0 - one(round)).product::<f64>()
            };
            let units: Vec<(u64, u64)> = (1..=groups)
                .filter(|all| *all < 5 || *all == groups)
                .flat_map(|all| (0..=all).map(move |unshared| (unshared, all)))
                .collect();
            // Shared fractions of the weights, and of the numbers of k groups.
            let shared = |(unshared, all): (u64, u64)| {
                let left = (all - unshared) as f64;
                (left / all as f64, left / groups as f64)
            };
            let sides = reach.touched() as f64 / groups as f64;
            let mu = |of: (f64, f64)| (precision * of.0 + of_numbers / sides * of.1).sqrt();
            let mut worst = 0.0f64;
            for &left in &units {
                let p = appear(left.0, left.1);
                if neighbouring == Neighbouring::AddRemove {
                    let mu = mu(shared(left));
                    worst = worst.max(joint_delta(1.0, mu, p, 0.0));
                    worst = worst.max(joint_delta(1.0, mu, 0.0, p));
                    continue;
                }
                for &entered in &units {
                    let (a, b) = (shared(left), shared(entered));
                    let mu = mu((a.0 + b.0, a.1 + b.1));
                    worst = worst.max(joint_delta(1.0, mu, p, appear(entered.0, entered.1)));
                }
            }
            let case = format!("{neighbouring:?} {groups} {strategy}: {worst}");
            assert!(worst <= 1e-5 && worst > 0.5e-5, "{case}");
        }
    }
}

/// A group that units of both tables or of one share with others.
#[derive(Clone, Copy, Debug)]
struct SharedGroup {
    /// The others' weights. They are in no other group, so that they weigh as much in every round.
    sum: f64,
    /// Whether the unit that leaves is in it, and the one that enters.
    of: [bool; 2],
}

/// The probabilities with which groups appear in any way over the rounds in two neighbouring
/// tables, added up to both divergences. The unit that leaves and the one that enters have
/// `unshared` groups to themselves, none where there is no such unit, and share others.
struct Law<'a> {
    rounds: &'a [(f64, f64)],
    epsilon: f64,
    unshared: [u32; 2],
}

impl Law<'_> {
    /// Adds the rounds from `index` on to both divergences, if these shared groups are open and an
    /// outcome has had these probabilities in both tables.
    fn add(&self, index: usize, open: &[SharedGroup], before: [f64; 2], sums: &mut [f64; 2]) {
        let Some(&(sigma, threshold)) = self.rounds.get(index) else {
            sums[0] += (before[0] - self.epsilon.exp() * before[1]).max(0.0);
            sums[1] += (before[1] - self.epsilon.exp() * before[0]).max(0.0);
            return;
        };
        let weights = [0, 1].map(|unit| {
            let shared = open.iter().filter(|group| group.of[unit]).count();
            let groups = f64::from(self.unshared[unit]) + shared as f64;
            if groups > 0.0 { groups.sqrt().recip() } else { 0.0 }
        });
        let passes = |sum: f64| normal_tail((threshold - sum) / sigma);
        let hidden = [0, 1].map(|u| (1.0 - passes(weights[u])).powi(self.unshared[u] as i32));
        for table in [0, 1] {
            sums[table] += before[table] * (1.0 - hidden[table]);
        }
        for subset in 0..1u32 << open.len() {
            let (mut now, mut left) = ([0, 1].map(|u| before[u] * hidden[u]), Vec::new());
            for (bit, group) in open.iter().enumerate() {
                let appears = subset >> bit & 1 == 1;
                for table in [0, 1] {
                    let weight = if group.of[table] { weights[table] } else { 0.0 };
                    let pass = passes(group.sum + weight);
                    now[table] *= if appears { pass } else { 1.0 - pass };
                }
                if !appears {
                    left.push(*group);
                }
            }
            self.add(index + 1, &left, now, sums);
        }
    }
}

/// The larger divergence over delta of the worst table with these units, by exact laws: their
/// shared groups have sums about each round's threshold, far below it and far above.
fn worst_table(law: &Law<'_>, shared: &[[bool; 2]], delta: f64) -> f64 {
    let about = |&(sigma, t): &(f64, f64)| [t - sigma, t, t + 2.0 * sigma];
    let sums: Vec<f64> = law.rounds.iter().flat_map(about).filter(|&sum| sum > 0.0).collect();
    let tables = 0..sums.len().pow(shared.len() as u32);
    let of = |table: usize| {
        let sum = |group: usize| sums[table / sums.len().pow(group as u32) % sums.len()];
        let groups = shared.iter().enumerate();
        let open: Vec<SharedGroup> =
            groups.map(|(i, &of)| SharedGroup { sum: sum(i), of }).collect();
        let mut divergences = [0.0; 2];
        law.add(0, &open, [1.0; 2], &mut divergences);
        divergences[0].max(divergences[1]) / delta
    };
    tables.map(of).fold(0.0, f64::max)
}

#[test]
fn no_table_shows_more_over_the_rounds_than_delta() {
    for neighbouring in [Neighbouring::AddRemove, Neighbouring::Replace] {
        let mut closest: f64 = 0.0;
        for (epsilon, delta) in [("0.3", "0.02"), ("1", "0.05"), ("2", "0.001")] {
            let (epsilon, delta): (Epsilon, Delta) =
                (epsilon.parse().unwrap(), delta.parse().unwrap());
            let most_groups = if neighbouring == Neighbouring::AddRemove { 3 } else { 2u32 };
            for most in 1..=most_groups {
                let reach = Reach { groups: u64::from(most), neighbouring };
                let sips = WeightedGaussian::sips_approximate(epsilon, delta, reach).unwrap();
                let rounds: Vec<(f64, f64)> = sips.rounds().collect();
                // Unshared and shared groups of each unit, and groups that both are in.
                let of_one = (0..=most)
                    .flat_map(|unshared| (0..=most - unshared).map(move |s| (unshared, s)));
                let of_one: Vec<(u32, u32)> = of_one.collect();
                let entered = match neighbouring {
                    Neighbouring::AddRemove => vec![(0, 0)],
                    Neighbouring::Replace => of_one.clone(),
                };
                for &(unshared, shared) in &of_one {
                    for &(other, entered) in &entered {
                        for both in 0..=shared.min(entered).min(1) {
                            let law = Law {
                                rounds: &rounds,
                                epsilon: epsilon.to_f64(),
                                unshared: [unshared, other],
                            };
                            let mut groups = vec![[true, false]; (shared - both) as usize];
                            groups.extend(vec![[false, true]; (entered - both) as usize]);
                            groups.extend(vec![[true, true]; both as usize]);
                            let worst = worst_table(&law, &groups, delta.to_f64());
                            assert!(
                                worst <= 1.0,
                                "{epsilon:?} {unshared} {other} {groups:?}: {worst}"
                            );
                            closest = closest.max(worst);
                        }
                    }
                }
            }
        }
        // Units that are in unshared groups alone come as close to delta as possible.
        assert!(closest > 0.99, "{closest}");
    }
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
    for (unit, groups) in units.iter().enumerate() {
        members.push(unit as u128, groups.iter().copied());
    }
    for (unit, groups) in units.iter().enumerate().rev() {
        reversed.push(unit as u128, groups.iter().copied());
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
    let mut released = |mechanism: &WeightedGaussian, units: &[u64]| {
        let open = vec![true; units.len()];
        let appears = mechanism.select(Some(&members), units, open, 1, &mut generator).unwrap();
        assert!(appears[..8].iter().all(|&a| a));
        appears[8..].iter().filter(|&&a| a).count()
    };
    // 60 units at a weight of 1/3 are about at the threshold, at a weight of 1 far above it.
    assert_eq!(released(&sips, &units), 100);
    let once = released(&weighted, &units);
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
