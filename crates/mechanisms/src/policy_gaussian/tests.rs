use hushtable_noise::TestSeed;
use hushtable_privacy::Neighbouring;
use proptest::prelude::*;

use super::*;

fn policy(groups: u64) -> PolicyGaussian {
    let reach = Reach { groups, neighbouring: Neighbouring::AddRemove };
    PolicyGaussian::approximate("1".parse().unwrap(), "1e-5".parse().unwrap(), reach).unwrap()
}

fn unit() -> impl Strategy<Value = (u64, Vec<u32>)> {
    (any::<u64>(), proptest::collection::btree_set(0u32..12, 0..6))
        .prop_map(|(order_key, groups)| (order_key, groups.into_iter().collect()))
}

use proptest::strategy::Strategy;

proptest! {
    #[test]
    fn one_unit_moves_the_weights_by_at_most_one(
        units in proptest::collection::vec(unit(), 1..400), at in any::<prop::sample::Index>(),
    ) {
        let policy = policy(6);
        let open = vec![true; 12];
        let with = policy.weights(&Memberships::of_units(&units), &open);
        let mut fewer = units.clone();
        let gone = fewer.remove(at.index(units.len()));
        let without = policy.weights(&Memberships::of_units(&fewer), &open);
        let squares: f64 = with.iter().zip(&without).map(|(a, b)| (a - b) * (a - b)).sum();
        prop_assert!(squares.sqrt() <= 1.0 + 1e-9, "{}", squares.sqrt());
        // New groups of the unit have the same weight, with squares of at most one, and leave to
        // the shared ones what is left of it.
        let new: Vec<f64> = gone.1.iter().map(|&g| g as usize)
            .filter(|&g| without[g] == 0.0).map(|g| with[g]).collect();
        if let Some(&first) = new.first() {
            prop_assert!(new.iter().all(|w| (w - first).abs() < 1e-9));
            prop_assert!(new.iter().map(|w| w * w).sum::<f64>() <= 1.0 + 1e-9);
            prop_assert!(first >= 1.0 / (gone.1.len() as f64).sqrt() - 1e-9);
        }
    }
}

#[test]
fn it_is_indifferent_to_the_order_of_units() {
    let units: Vec<(u64, Vec<u32>)> = (0..300u32)
        .map(|u| (u64::from(u).wrapping_mul(0x9e37_79b9_7f4a_7c15), vec![u % 5, 5 + u % 7]))
        .collect();
    let mut reversed = units.clone();
    reversed.reverse();
    let (policy, open) = (policy(2), vec![true; 12]);
    assert_eq!(
        policy.weights(&Memberships::of_units(&units), &open),
        policy.weights(&Memberships::of_units(&reversed), &open)
    );
}

#[test]
fn weight_goes_where_it_is_needed() {
    // A thousand units share one group, and thirty of them another, which would have 30/sqrt(2) =
    // 21 of weight in one round.
    let units: Vec<(u64, Vec<u32>)> =
        (0..1000u64).map(|u| (u, if u < 970 { vec![0] } else { vec![0, 1] })).collect();
    let policy = policy(2);
    let weights = policy.weights(&Memberships::of_units(&units), &[true, true]);
    assert!((weights[0] - policy.cutoff()).abs() < 1e-9);
    assert!((weights[1] - 30.0).abs() < 1e-9);
    let counts = [1000, 30];
    let mut generator = TestSeed(1).generator();
    let appears = policy
        .select(Some(&Memberships::of_units(&units)), &counts, &[true, true], &mut generator)
        .unwrap();
    assert_eq!(appears, [true, true]);
    let closed = policy
        .select(Some(&Memberships::of_units(&units)), &counts, &[true, false], &mut generator)
        .unwrap();
    assert_eq!(closed, [true, false]);
}

#[test]
fn what_rounding_costs_is_small() {
    let (sigma, threshold) = policy(100).sigma_and_threshold();
    assert!((3.731..3.75).contains(&sigma), "{sigma}");
    assert!((19.49..19.65).contains(&threshold), "{threshold}");
}

#[test]
fn the_stated_probability_is_that_of_the_worst_case() {
    // Units that share one group, and are alone in 99 others each.
    let policy = policy(100);
    for shared in [150u32, 250, 300, 400] {
        let units: Vec<(u64, Vec<u32>)> = (0..shared)
            .map(|u| {
                (u64::from(u), std::iter::once(0).chain(1 + u * 99..1 + (u + 1) * 99).collect())
            })
            .collect();
        let members = Memberships::of_units(&units);
        let open = vec![true; 1 + shared as usize * 99];
        let weight = policy.weights(&members, &open)[0];
        let want = policy.keep_probability(u64::from(shared));
        assert!((policy.keep(1, weight) - want).abs() < 1e-6, "{shared}: {want}");
    }
    assert!((policy.keep_probability(287) - 0.5).abs() < 0.02);
}
