//! Remove any one unit, and no count of different values moves more than promised.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, Int64Array};
use datafusion::arrow::datatypes::Int64Type;
use proptest::prelude::*;

use crate::bound::Bounder;
use crate::contributions::{Accumulation, ContributionBatch, Listing, SamplingKey};
use crate::measurements::ExactMeasurement;
use crate::merged::{MergedGroups, MergedPartitions};

/// A row: unit, group, value (NULL adds nothing).
type Row = (i64, i64, Option<i64>);

fn batch(rows: &[Row]) -> ContributionBatch {
    let keys: Int64Array = rows.iter().map(|(_, group, _)| Some(*group)).collect();
    ContributionBatch {
        keys: vec![Arc::new(keys)],
        unit: Some(Arc::new(rows.iter().map(|(unit, ..)| Some(*unit)).collect::<Int64Array>())),
        values: vec![rows.iter().map(|(.., value)| *value).collect()],
        rows: rows.len(),
    }
}

/// How many different values each group has, of units that have at most that many groups, and that
/// many values in each.
fn counts(partitions: &[&[Row]], groups: u32, values: u32) -> BTreeMap<i64, i128> {
    let listing = Listing {
        range: (i64::MIN, i64::MAX),
        rows: values,
        sum: None,
        mean: None,
        distinct: true,
    };
    let kept = vec![Accumulation::Values(listing)];
    let mut merged = MergedPartitions::new(&kept);
    for partition in partitions {
        let mut bounder = Bounder::of_units(kept.clone(), true, SamplingKey([7; 16]), groups);
        for rows in partition.chunks(20) {
            bounder.add(&batch(rows), &mut |_| Ok(())).unwrap();
        }
        merged.add(bounder.finish().unwrap()).unwrap();
    }
    let MergedGroups { keys, mut totals, .. } = merged.finish().unwrap();
    let Some(keys) = keys.first() else { return BTreeMap::new() };
    let Some(ExactMeasurement::Values(values)) = totals.pop() else { panic!("no values") };
    let measured = ExactMeasurement::Distinct(values);
    let known = keys.as_primitive::<Int64Type>().values().iter().copied().enumerate();
    known.map(|(index, key)| (key, measured.sum(index).unwrap())).collect()
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let value =
        prop_oneof![4 => (0i64..12).prop_map(Some), 1 => Just(None), 1 => Just(Some(i64::MIN))];
    prop::collection::vec((0i64..6, 0i64..8, value), 0..150)
}

proptest! {
    /// Each of `groups` groups at most loses from nothing to `values`, whoever else has the values.
    #[test]
    fn one_unit_moves_no_more_values_than_promised(
        rows in rows(),
        unit in 0i64..6,
        groups in 1u32..5,
        values in 1u32..5,
    ) {
        let without: Vec<Row> = rows.iter().copied().filter(|(other, ..)| *other != unit).collect();
        let with = counts(&[&rows], groups, values);
        let without = counts(&[&without], groups, values);
        let mut moved = 0;
        for group in 0..8 {
            let of = |counts: &BTreeMap<i64, i128>| counts.get(&group).copied().unwrap_or(0);
            let change = of(&with) - of(&without);
            prop_assert!((0..=i128::from(values)).contains(&change), "{change}");
            moved += u32::from(change != 0);
        }
        prop_assert!(moved <= groups, "{moved} groups moved");
    }

    /// With room for all of them, values are counted exactly, whatever partitions and order are.
    #[test]
    fn values_are_counted_once(rows in rows()) {
        let mut plain: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        for (_, group, value) in &rows {
            plain.entry(*group).or_default().extend(value);
        }
        let plain: BTreeMap<i64, i128> =
            plain.into_iter().map(|(group, values)| (group, values.len() as i128)).collect();
        prop_assert_eq!(&counts(&[&rows], 8, 13), &plain);
        let (even, odd): (Vec<Row>, Vec<Row>) = rows.iter().rev().partition(|(u, ..)| u % 2 == 0);
        prop_assert_eq!(&counts(&[&odd, &even], 8, 13), &plain);
        let few = counts(&[&rows], 3, 2);
        prop_assert_eq!(&counts(&[&odd, &even], 3, 2), &few);
    }
}

/// Equal values of a unit are one, and take no place from others.
#[test]
fn values_that_a_unit_has_often_count_as_one() {
    let often = |unit: i64| (0..40).map(move |row| (unit, 0, Some(if row == 0 { 5 } else { 4 })));
    let rows: Vec<Row> = often(1).chain(often(2)).collect();
    assert_eq!(counts(&[&rows], 1, 2), BTreeMap::from([(0, 2)]));
    let many: Vec<Row> = (0..40).map(|value| (1, 0, Some(value))).collect();
    assert_eq!(counts(&[&many], 1, 7), BTreeMap::from([(0, 7)]));
}
