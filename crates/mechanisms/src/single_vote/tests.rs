use hushtable_noise::TestSeed;
use proptest::prelude::*;

use super::*;

fn single_vote(groups: u64) -> SingleVote {
    SingleVote::new("1".parse().unwrap(), "1e-5".parse().unwrap(), groups).unwrap()
}

/// A unit in some of 12 groups, in any order.
fn unit() -> impl Strategy<Value = (u64, Vec<u32>)> {
    let groups = prop::sample::subsequence((0..12u32).collect::<Vec<_>>(), 0..6).prop_shuffle();
    (any::<u64>(), groups)
}

proptest! {
    #[test]
    fn one_unit_more_is_one_vote_more_in_one_group(
        units in prop::collection::vec(unit(), 1..600),
        at in any::<prop::sample::Index>(),
        open in prop::collection::vec(prop::bool::weighted(0.9), 12),
        least in 1u64..5,
    ) {
        let mechanism = single_vote(6);
        let with = mechanism.votes(&Memberships::of_units(&units), &open, least);
        let mut fewer = units.clone();
        let (_, gone) = fewer.remove(at.index(units.len()));
        let without = mechanism.votes(&Memberships::of_units(&fewer), &open, least);
        let moved: Vec<(u64, u64)> =
            with.into_iter().zip(without).filter(|(with, without)| with != without).collect();
        prop_assert!(moved.len() <= 1, "{moved:?}");
        prop_assert!(moved.iter().all(|(with, without)| *with == without + 1), "{moved:?}");
        // A unit in no open group has no vote.
        prop_assert!(moved.is_empty() || gone.iter().any(|&g| open[g as usize]));
    }
}

#[test]
fn a_vote_never_makes_a_group_need_votes_more() {
    for (epsilon, delta) in [("1", "1e-5"), ("0.01", "1e-9"), ("20", "0.3"), ("1e-6", "0.01")] {
        let (epsilon, delta) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let mechanism = SingleVote::new(epsilon, delta, 9).unwrap();
        for (least, careful) in [(1, false), (7, false), (1, true), (7, true)] {
            let need = |votes| mechanism.need(votes, least, careful).unwrap_or(u64::MAX);
            assert!((0..5000).map(need).is_sorted());
        }
    }
}

#[test]
fn the_order_in_which_units_come_does_not_matter() {
    let units: Vec<(u64, Vec<u32>)> = (0..300u32)
        .map(|u| (u64::from(u).wrapping_mul(0x9e37_79b9_7f4a_7c15), vec![u % 5, 5 + u % 7]))
        .collect();
    let mut reversed = units.clone();
    reversed.reverse();
    let (mechanism, open) = (single_vote(2), vec![true; 12]);
    let votes = mechanism.votes(&Memberships::of_units(&units), &open, 1);
    assert_eq!(votes, mechanism.votes(&Memberships::of_units(&reversed), &open, 1));
    // Seven groups of 43 and five of 60 are certain from 23 votes on.
    assert!(votes.iter().all(|&votes| (20..=23).contains(&votes)), "{votes:?}");
}

#[test]
fn votes_go_where_they_are_needed() {
    // A thousand units are in one group, fifteen of them in another, too.
    let units: Vec<(u64, Vec<u32>)> =
        (0..1000u64).map(|u| (u, if u < 985 { vec![0] } else { vec![0, 1] })).collect();
    let mechanism = single_vote(100);
    let open = vec![true; 2];
    assert_eq!(mechanism.votes(&Memberships::of_units(&units), &open, 1), [23, 15]);
    let chances = mechanism.chances(&Memberships::of_units(&units), &open, 1);
    assert_eq!(chances[0], 1.0);
    assert!((chances[1] - 0.988_072).abs() < 1e-6, "{chances:?}");
    let mut generator = TestSeed(1).generator();
    let counts = [1000, 15];
    let mut appearances = [0; 2];
    for _ in 0..1000 {
        let appears = mechanism
            .select(Some(&Memberships::of_units(&units)), &counts, &open, 1, &mut generator)
            .unwrap();
        (0..2).for_each(|g| appearances[g] += u32::from(appears[g]));
    }
    assert_eq!(appearances[0], 1000);
    // pi(15) is 0.988.
    assert!((965..=999).contains(&appearances[1]), "{appearances:?}");
    // Groups that are not open take none.
    assert_eq!(mechanism.votes(&Memberships::of_units(&units), &[false, true], 1), [0, 15]);
    let appears = mechanism.select(None, &counts, &[true, false], 1, &mut generator).unwrap();
    assert_eq!(appears, [true, false]);
}

#[test]
fn a_least_number_takes_votes_off() {
    let units: Vec<(u64, Vec<u32>)> = (0..100u64).map(|u| (u, vec![0])).collect();
    let mechanism = single_vote(2);
    assert_eq!(mechanism.votes(&Memberships::of_units(&units), &[true], 50), [72]);
    let mut generator = TestSeed(2).generator();
    let mut selected = |least| {
        mechanism
            .select(Some(&Memberships::of_units(&units)), &[100], &[true], least, &mut generator)
            .unwrap()
    };
    assert_eq!(selected(50), [true]);
    assert_eq!(selected(101), [false]);
}

/// Units that share a group, and are alone in others, whose order is drawn for each: the group
/// appears no more seldom than stated, and hardly more often.
#[test]
fn the_stated_probability_is_that_of_the_worst_case() {
    let mut state = 1u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 33) as usize % below
    };
    for (groups, shared) in [(2usize, 24u32), (4, 48), (4, 60), (10, 120)] {
        let mechanism = single_vote(groups as u64);
        let (tables, mut chance) = (400, 0.0);
        for _ in 0..tables {
            let units: Vec<(u64, Vec<u32>)> = (0..shared)
                .map(|u| {
                    let first = u * (groups as u32 - 1);
                    let mut of: Vec<u32> = (1 + first..first + groups as u32).collect();
                    of.insert(draw(groups), 0);
                    (u64::from(u), of)
                })
                .collect();
            let open = vec![true; 1 + shared as usize * (groups - 1)];
            let votes = mechanism.votes(&Memberships::of_units(&units), &open, 1);
            chance += mechanism.optimal.keep_probability(votes[0]) / f64::from(tables);
        }
        let stated = mechanism.keep_probability(u64::from(shared), 1);
        // Five standard deviations of the mean of 400.
        assert!(stated < chance + 0.125, "{groups} {shared}: {stated} {chance}");
        assert!(stated > chance - 0.2, "{groups} {shared}: {stated} {chance}");
    }
}

/// A thousand units with a large group and a small one each: those that are not careful leave the
/// large group early, and the careful ones bring it near certainty.
#[test]
fn careful_units_keep_large_groups_from_being_hidden() {
    let of = |u: u64| vec![0u32, 1 + u as u32];
    let units: Vec<(u64, Vec<u32>)> = (0..1000).map(|u| (u, of(u))).collect();
    let mechanism = single_vote(2);
    assert_eq!((mechanism.enough, mechanism.enough_for_careful), (14, 18));
    let votes = mechanism.votes(&Memberships::of_units(&units), &vec![true; 1001], 1);
    assert_eq!(votes[0], 18);
    // Votes that are not spent on it are those of others.
    assert_eq!(votes.iter().sum::<u64>(), 1000);
    let stated = mechanism.keep_probability(1_000_000, 1);
    assert!(stated > 0.998 && stated <= 1.0, "{stated}");
}

/// Against exact sums.
#[test]
fn chances_of_votes_are_lower_bounds() {
    for (trials, of) in [(1u64, 2u64), (20, 2), (30, 7), (1000, 100), (1500, 100), (60, 1000)] {
        let chance = 1.0 / of as f64;
        let mut term = (trials as f64 * (-chance).ln_1p()).exp();
        let mut fewer = 0.0;
        for k in 1..=trials.min(60) {
            fewer += term;
            term *= (trials - k + 1) as f64 / k as f64 * chance / (1.0 - chance);
            // The bound lies between this and the chance of more than k.
            let exact = 1.0 - fewer;
            let bound = reaches(trials, of, k);
            assert!(bound <= exact + 1e-12, "{trials} {of} {k}: {bound} {exact}");
            assert!(bound >= exact - term - 1e-12, "{trials} {of} {k}: {bound} {exact}");
        }
        assert_eq!(reaches(trials, of, 0), 1.0);
        assert_eq!(reaches(trials, of, trials + 1), 0.0);
    }
    // Where the chance is next to nothing, or certain, at any size.
    assert!(reaches(u64::MAX, 4_000_000_000, 1 << 30) > 0.999);
    assert!(reaches(u64::MAX, 4_000_000_000, 1 << 60) < 1e-9);
}
