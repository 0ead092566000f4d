//! Published tables against all tables that agree with them.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::BTreeSet;

use hushtable_knowledge::{
    BoundedCount, Combination, Differences, KnowledgeError, PublishedCell, PublishedCount,
    PublishedTables,
};
use proptest::prelude::*;

fn cell(level: usize, blocks: &[u32], count: u64) -> PublishedCell {
    PublishedCell { blocks: blocks.to_vec(), count: PublishedCount::exact(count), level }
}

fn differences_of(blocks: usize, cells: &[PublishedCell], k: u64) -> Differences {
    PublishedTables::new(blocks, cells.to_vec()).unwrap().differences(k).unwrap()
}

/// The combinations of somebody that are no published cells.
fn combined(differences: &Differences) -> Vec<Combination> {
    let combinations = differences.combinations.iter();
    combinations.filter(|set| set.terms.len() > 1 && set.count > 0).cloned().collect()
}

fn combination(blocks: &[u32], count: u64, terms: &[(usize, i64)]) -> Combination {
    Combination { blocks: blocks.to_vec(), count, terms: terms.to_vec() }
}

/// PK Example 8: all, and all but one.
#[test]
fn the_count_of_all_but_one() {
    let differences = differences_of(2, &[cell(0, &[0, 1], 100), cell(1, &[0], 99)], 5);
    assert_eq!(combined(&differences), [combination(&[1], 1, &[(0, 1), (1, -1)])]);
    assert!(differences.all_combined && differences.all_bounded);
}

#[test]
fn what_is_large_is_not_found() {
    let cells = [
        cell(0, &[0, 1, 2, 3], 100),
        cell(1, &[0, 1], 40),
        cell(1, &[2, 3], 60),
        cell(2, &[0, 2], 50),
        cell(2, &[1, 3], 50),
    ];
    let differences = differences_of(4, &cells, 5);
    let nothing = Differences { all_combined: true, all_bounded: true, ..Differences::default() };
    assert_eq!(differences, nothing);
}

#[test]
fn levels_and_chains() {
    // All, men, women of age, by three tables.
    let cells = [cell(0, &[0, 1, 2], 100), cell(1, &[0], 60), cell(2, &[1], 38)];
    let chain = combined(&differences_of(3, &cells, 5));
    assert_eq!(chain, [combination(&[2], 2, &[(0, 1), (1, -1), (2, -1)])]);
    // Two bands together are a little more than a third that lies across.
    let cells = [cell(0, &[0, 1], 20), cell(0, &[2, 3], 30), cell(1, &[1, 2], 47)];
    let across = combined(&differences_of(4, &cells, 5));
    assert_eq!(across, [combination(&[0, 3], 3, &[(0, 1), (1, 1), (2, -1)])]);
}

#[test]
fn nobody_comes_last_and_small_cells_come_first() {
    let cells = [cell(0, &[0, 1, 2], 10), cell(1, &[0], 3), cell(1, &[1], 7)];
    let differences = differences_of(3, &cells, 5);
    let all: Vec<_> =
        differences.combinations.iter().map(|set| (set.blocks.clone(), set.count)).collect();
    assert_eq!(all, [(vec![0], 3), (vec![2], 0)]);
}

#[test]
fn suppressed_cells_are_recovered_by_two_margins() {
    let below_5 = PublishedCount { low: 0, high: 4 };
    let hidden =
        |blocks: &[u32]| PublishedCell { blocks: blocks.to_vec(), count: below_5, level: 0 };
    // Two by two, all four suppressed, with both margins: 4 in the first row and the first column,
    // 8 in all.
    let mut cells: Vec<PublishedCell> = (0..4).map(|block| hidden(&[block])).collect();
    cells.extend([cell(1, &[0, 1], 4), cell(1, &[2, 3], 4), cell(2, &[0, 2], 5)]);
    cells.push(cell(2, &[1, 3], 3));
    let differences = differences_of(4, &cells, 5);
    let bounds: BTreeSet<_> = differences
        .recovered
        .iter()
        .map(|r| (format!("{:?}", r.what), r.count.low, r.count.high))
        .collect();
    let want = [("Cell(0)", 1, 4), ("Cell(1)", 0, 3), ("Cell(2)", 1, 4), ("Cell(3)", 0, 3)];
    assert_eq!(bounds, want.map(|(cell, low, high)| (cell.to_owned(), low, high)).into());
}

#[test]
fn what_no_table_has_is_refused() {
    for cells in [
        vec![cell(0, &[0, 1], 3), cell(1, &[0], 4)],
        vec![cell(0, &[0], 3), cell(1, &[0], 4)],
        vec![cell(0, &[0, 1], 3), cell(1, &[0], 1), cell(1, &[1], 1)],
        // Only together: 0 + 1, 1 + 2 and 0 + 2 have one each.
        vec![cell(0, &[0, 1], 1), cell(1, &[1, 2], 1), cell(2, &[0, 2], 1)],
    ] {
        let error = PublishedTables::new(3, cells).unwrap().differences(5).unwrap_err();
        assert!(matches!(error, KnowledgeError::Contradiction { .. }), "{error}");
    }
    for bad in [cell(0, &[], 1), cell(0, &[1, 0], 1), cell(0, &[7], 1)] {
        assert!(PublishedTables::new(3, vec![bad]).is_err());
    }
    assert!(PublishedTables::new(3, vec![cell(0, &[0, 1], 3), cell(0, &[1], 1)]).is_err());
}

/// All tables of that many blocks that agree with the cells.
fn agreeing(blocks: usize, cells: &[PublishedCell]) -> Vec<Vec<u64>> {
    fn extend(
        blocks: usize,
        cells: &[PublishedCell],
        table: &mut Vec<u64>,
        all: &mut Vec<Vec<u64>>,
    ) {
        let next = table.len();
        // Partial sums must fit, and complete ones must be right.
        for cell in cells {
            let sum: u64 = cell.blocks.iter().filter_map(|p| table.get(*p as usize)).sum();
            let complete = cell.blocks.iter().all(|p| (*p as usize) < next);
            if sum > cell.count.high || (complete && sum < cell.count.low) {
                return;
            }
        }
        if next == blocks {
            all.push(table.clone());
            return;
        }
        for count in 0..=20 {
            table.push(count);
            extend(blocks, cells, table, all);
            table.pop();
        }
    }
    let mut all = Vec::new();
    extend(blocks, cells, &mut Vec::new(), &mut all);
    all
}

/// The published margins of a table of two by three by perhaps two.
fn tables() -> impl Strategy<Value = (Vec<u64>, Vec<PublishedCell>, u64)> {
    let sizes = prop_oneof![Just([2usize, 3, 1]), Just([2, 2, 2]), Just([3, 2, 1])];
    sizes.prop_flat_map(|sizes| {
        let blocks = sizes.iter().product::<usize>();
        (
            prop::collection::vec(prop_oneof![3 => 0..=2u64, 1 => 3..=5u64], blocks),
            prop::collection::vec((0..8u8, prop::collection::vec(0..4u8, blocks)), 1..=3),
            1..=4u64,
        )
            .prop_map(move |(truth, margins, threshold)| {
                let everyone: Vec<u32> = (0..blocks as u32).collect();
                let mut cells = vec![cell(0, &everyone, truth.iter().sum())];
                for (level, (axes, dice)) in margins.iter().enumerate() {
                    let key = |block: u32| {
                        let mut rest = block as usize;
                        let mut key = Vec::new();
                        for (axis, size) in sizes.iter().enumerate() {
                            key.push(if axes >> axis & 1 == 1 { rest % size } else { 9 });
                            rest /= size;
                        }
                        key
                    };
                    let keys: BTreeSet<Vec<usize>> = everyone.iter().map(|p| key(*p)).collect();
                    for (target, dice) in keys.iter().zip(dice) {
                        let blocks: Vec<u32> =
                            everyone.iter().copied().filter(|p| key(*p) == *target).collect();
                        let count: u64 = blocks.iter().map(|p| truth[*p as usize]).sum();
                        let hidden = PublishedCount { low: 0, high: threshold - 1 };
                        // A few cells are not published at all.
                        let count = match (*dice, count < threshold) {
                            (0, _) => continue,
                            (_, true) => hidden,
                            (_, false) => PublishedCount::exact(count),
                        };
                        cells.push(PublishedCell { blocks, count, level: level + 1 });
                    }
                }
                (truth, cells, threshold)
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    })]

    #[test]
    fn what_is_found_is_so_in_all_tables((truth, cells, k) in tables()) {
        // Few enough tables that agree to look at them all.
        prop_assume!(truth.iter().sum::<u64>() <= 12);
        let differences = differences_of(truth.len(), &cells, k);
        let all = agreeing(truth.len(), &cells);
        prop_assert!(all.contains(&truth));
        let range = |blocks: &[u32]| {
            let sum = |table: &Vec<u64>| blocks.iter().map(|p| table[*p as usize]).sum::<u64>();
            let sums: BTreeSet<u64> = all.iter().map(sum).collect();
            (*sums.first().unwrap(), *sums.last().unwrap())
        };
        for set in &differences.combinations {
            prop_assert_eq!(range(&set.blocks), (set.count, set.count));
            prop_assert!(set.count < k);
            let mut sum = 0i64;
            let mut covered = vec![0i64; truth.len()];
            for (index, factor) in &set.terms {
                let cell = &cells[*index];
                prop_assert_eq!(cell.count.low, cell.count.high);
                sum += factor * i64::try_from(cell.count.low).unwrap();
                cell.blocks.iter().for_each(|block| covered[*block as usize] += factor);
            }
            prop_assert_eq!(sum, i64::try_from(set.count).unwrap());
            let indicator = (0..truth.len() as u32).map(|p| i64::from(set.blocks.contains(&p)));
            prop_assert_eq!(covered, indicator.collect::<Vec<_>>());
        }
        for recovered in &differences.recovered {
            let blocks = match recovered.what {
                BoundedCount::Cell(index) => cells[index].blocks.clone(),
                BoundedCount::Block(block) => vec![block],
            };
            prop_assert_eq!(range(&blocks), (recovered.count.low, recovered.count.high));
        }
        // And nothing is left out: suppressed cells with closer bounds, single blocks with exact
        // ones.
        prop_assert!(differences.all_combined && differences.all_bounded);
        let derivable = |blocks: &[u32]| {
            differences.combinations.iter().any(|set| {
                set.blocks == blocks
                    || (set.count == 0 && blocks.iter().all(|p| set.blocks.contains(p)))
                    || set.blocks.iter().all(|p| blocks.contains(p))
                        && range(blocks).1 == set.count
            })
        };
        for (index, cell) in cells.iter().enumerate() {
            let (low, high) = range(&cell.blocks);
            let listed = differences.recovered.iter().any(|r| r.what == BoundedCount::Cell(index));
            if cell.count.low < cell.count.high && high - low < cell.count.high - cell.count.low {
                prop_assert!(listed || derivable(&cell.blocks), "{index}: {low} to {high}");
            }
        }
        for block in 0..truth.len() as u32 {
            let (low, high) = range(&[block]);
            let has_cell = cells.iter().any(|cell| cell.blocks == [block]);
            let listed = differences.recovered.iter().any(|r| r.what == BoundedCount::Block(block));
            if low == high && high < k && !has_cell {
                prop_assert!(listed || derivable(&[block]), "block {block}: {low}");
            }
        }
    }
}
