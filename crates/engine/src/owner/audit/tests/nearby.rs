//! The excerpt of a table that is drawn from decides as the whole table does.

use std::sync::Arc;

use datafusion::arrow::array::Int64Array;
use hushtable_mechanisms::Memberships;
use proptest::prelude::*;

use super::super::near::near;
use super::super::pair::{ComparedTable, TablePair};
use super::*;
use crate::measurements::ExactMeasurement;

/// A table of that many groups, with units that are each in some of them.
fn counted(groups: usize, units: &[Vec<u32>], known: &[bool]) -> CountedGroups {
    let mut members = Memberships::default();
    let mut counts = vec![0u64; groups];
    for unit_groups in units {
        members.push(0, unit_groups.iter().copied());
        unit_groups.iter().for_each(|&g| counts[g as usize] += 1);
    }
    let sums = ExactMeasurement::Sums((0..groups).map(|g| g as i128).collect());
    CountedGroups {
        groups,
        units: counts,
        known: known.to_vec(),
        measured: vec![sums],
        classes: Vec::new(),
        members: Some(members),
    }
}

const GROUPS: usize = 14;

proptest! {
    /// In one round and in several, which there are where a unit may be in many groups. Thresholds
    /// are just above 1, and noise is so small that only sums of weights above 1.1 appear, of which
    /// none lies between.
    #[test]
    fn near_groups_are_decided_as_in_the_whole(
        units in prop::collection::vec(
            prop::collection::btree_set(0..GROUPS as u32, 1..4)
                .prop_map(|s| s.into_iter().collect()),
            1..12,
        ),
        targets in prop::collection::vec(prop::bool::weighted(0.15), GROUPS),
        known in prop::collection::vec(prop::bool::weighted(0.1), GROUPS),
    ) {
        let folder = folder();
        for strategy in ["WEIGHTED_GAUSSIAN", "SIPS"] {
            let options = format!(
                "rho = 1000000, delta = 1e-9, max_groups_contributed = 1000, \
                 group_selection_strategy = {strategy}"
            );
            let quote = quote(&folder, &sql(&options, "town FROM visits GROUP BY town"));
            let rounds = quote.selection().unwrap().rounds().len();
            prop_assert_eq!(rounds > 2, strategy == "SIPS");
            let whole = counted(GROUPS, &units, &known);
            let (excerpt, retained) = near(&whole, &targets, rounds).unwrap();
            let chosen_groups = |counted: &CountedGroups| {
                let mut generator = TestSeed(1).generator();
                let (chosen, _) = counted.choose(&quote, &mut generator).unwrap();
                chosen.into_iter().map(|c| c.group).collect::<Vec<_>>()
            };
            let only_targets = |groups: Vec<usize>| {
                groups.into_iter().filter(|&g| targets[g]).collect::<Vec<_>>()
            };
            let of_excerpt = chosen_groups(&excerpt).into_iter().map(|g| retained[g]).collect();
            prop_assert_eq!(
                only_targets(chosen_groups(&whole)),
                only_targets(of_excerpt),
                "{}",
                strategy
            );
            for (index, &group) in retained.iter().enumerate() {
                prop_assert_eq!(excerpt.units[index], whole.units[group]);
                prop_assert_eq!(excerpt.measured[0].sums().unwrap()[index], group as i128);
            }
        }
    }
}

/// Group 0 appears in the third round, because 1 has appeared in the second, because 2 has in the
/// first: with weights of 1.077 instead of 1, where a little more than 1 is needed.
#[test]
fn every_round_is_looked_behind() {
    let folder = folder();
    let options = "rho = 1000000, delta = 1e-9, max_groups_contributed = 1000, \
                   group_selection_strategy = SIPS";
    let quote = quote(&folder, &sql(options, "town FROM visits GROUP BY town"));
    let units = [vec![0, 1, 3, 4], vec![0, 5, 6, 7], vec![1, 2, 8, 9], vec![2]];
    let (whole, mut targets) = (counted(10, &units, &[]), vec![false; 10]);
    targets[0] = true;
    let appears = |rounds: usize| {
        let (excerpt, retained) = near(&whole, &targets, rounds).unwrap();
        let (chosen, _) = excerpt.choose(&quote, &mut TestSeed(2).generator()).unwrap();
        chosen.iter().any(|c| retained[c.group] == 0)
    };
    assert_eq!([1, 2, 3, 4].map(appears), [false, false, true, true]);
    assert!(quote.selection().unwrap().rounds().len() > 2);
}

/// Statistics add up floats group by group: in another order the same output could have another
/// value, and an event of all outputs with at most that value would look as if it told the tables
/// apart.
#[test]
fn outputs_have_their_groups_in_one_order_on_both_sides() {
    let folder = folder();
    let options = "epsilon = 2, delta = 0.02, max_groups_contributed = 2";
    let quote = quote(&folder, &sql(options, "town, SUM(days) AS d FROM visits GROUP BY town"));
    let table = |order: [i64; 3], more: i128| ComparedTable {
        keys: vec![Arc::new(Int64Array::from(order.to_vec()))],
        counted: Arc::new(CountedGroups {
            units: vec![1000; 3],
            measured: vec![ExactMeasurement::Sums(
                order.map(|key| i128::from(key) + more).to_vec(),
            )],
            members: None,
            ..counted(3, &[], &[])
        }),
    };
    let pair = TablePair::new(&quote, [&table([1, 2, 3], 0), &table([3, 1, 2], 1)]).unwrap();
    for side in &pair.sides {
        let output = side.draw(&quote, &mut TestSeed(1).generator()).unwrap();
        assert_eq!(output.groups, [0, 1, 2]);
    }
}
