//! Remove any one unit, and no exact group moves more than promised.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, StringViewArray};
use hushtable_contract::Contract;
use hushtable_mechanisms::ChosenGroup;
use hushtable_noise::TestSeed;
use hushtable_plan::bind;
use hushtable_quote::Quote;
use hushtable_testkit::Dice;
use proptest::prelude::*;

use crate::bound::{Bounder, GroupTotals};
use crate::contributions::{Accumulation, ContributionBatch, Listing, SamplingKey};
use crate::draw::{CountedGroups, DrawnAhead};
use crate::error::EngineError;
use crate::exact::ExactSums;
use crate::measurements::ExactMeasurement;
use crate::merged::{MergedGroups, MergedPartitions};
use crate::value_lists::{ValueList, ValueLists};

/// A row: unit, group (NULL is a group), value (NULL adds nothing).
type Row = (i64, Option<u8>, Option<i64>);

const KEY: SamplingKey = SamplingKey([7; 16]);

fn batch(rows: &[Row]) -> ContributionBatch {
    let name = |g: &Option<u8>| g.map(|g| format!("group number {g}"));
    let keys: StringViewArray = rows.iter().map(|(_, g, _)| name(g)).collect();
    ContributionBatch {
        keys: vec![Arc::new(keys)],
        unit: Some(Arc::new(rows.iter().map(|(u, ..)| Some(*u)).collect::<Int64Array>())),
        values: std::iter::once(rows.iter().map(|_| Some(1)).collect())
            .chain(vec![rows.iter().map(|(.., v)| *v).collect(); 5])
            .collect(),
        rows: rows.len(),
    }
}

/// (units, count, sum) of every group; bounds as given for count and sum. And its values, up to 2
/// of each unit, and all of them.
type Groups = HashMap<Option<String>, (i64, i128, i128, [Vec<i64>; 2])>;

const fn sum(low: i64, high: i64) -> Accumulation {
    Accumulation::Sum { bounds: (low, high), size: (low, high) }
}

const fn list(rows: u32, sum: Option<(i64, i64)>) -> Accumulation {
    Accumulation::Values(Listing { range: (-6, 9), rows, sum, mean: None, distinct: false })
}

/// A count, a sum, two lists, and the sums of the same values.
const KEPT: [Accumulation; 6] = [
    sum(0, 3),
    sum(-5, 10),
    list(2, None),
    list(1000, None),
    list(2, Some((-12, 18))),
    list(1000, Some((-6000, 9000))),
];

fn sums_of(total: &GroupTotals) -> &[i128] {
    match total {
        GroupTotals::Sums(sums) => sums,
        GroupTotals::Values(_) => panic!("no sums"),
    }
}

fn exact(partitions: &[&[Row]], most: u32, batch_rows: usize) -> Groups {
    let mut merged = MergedPartitions::new(&KEPT);
    for partition in partitions {
        let mut bounder = Bounder::of_units(KEPT.to_vec(), true, KEY, most);
        for rows in partition.chunks(batch_rows) {
            bounder.add(&batch(rows), &mut |_| Ok(())).unwrap();
        }
        merged.add(bounder.finish().unwrap()).unwrap();
    }
    let MergedGroups { keys, units, totals, .. } = merged.finish().unwrap();
    let sums = [0, 1, 4, 5].map(|index: usize| totals[index].sums().unwrap_or_default());
    let values = [2, 3].map(|index: usize| totals[index].values().unwrap());
    let Some(names) = keys.first() else { return Groups::new() };
    let names: &ArrayRef = names;
    names
        .as_string_view()
        .iter()
        .enumerate()
        .map(|(g, name)| {
            let values = [0, 1].map(|listing: usize| values[listing].of(g).to_vec());
            // The values that count are those that are added up.
            for (values, sums) in values.iter().zip(&sums[2..]) {
                assert_eq!(values.iter().map(|&v| i128::from(v)).sum::<i128>(), sums[g]);
            }
            (name.map(str::to_owned), (units[g], sums[0][g], sums[1][g], values))
        })
        // A group whose units were all pushed out is no group: selection never sees it.
        .filter(|(_, (units, ..))| *units > 0)
        .collect()
}

/// Count, sum if there is any, and values of a unit in a group.
type Pair = (i128, Option<i128>, Vec<i64>);

/// Bounds rows the slow and plain way, where no unit has more groups than it may keep.
fn plain(rows: &[Row]) -> Groups {
    let mut by_pair: HashMap<(i64, Option<u8>), Pair> = HashMap::new();
    for (unit, group, value) in rows {
        let entry = by_pair.entry((*unit, *group)).or_default();
        entry.0 += 1;
        if let Some(v) = value {
            entry.1 = Some(entry.1.unwrap_or(0) + i128::from(*v));
            entry.2.push((*v).clamp(-6, 9));
        }
    }
    let mut groups = Groups::new();
    for ((_, group), (count, sum, values)) in by_pair {
        let entry = groups.entry(group.map(|g| format!("group number {g}"))).or_default();
        entry.0 += 1;
        entry.1 += count.clamp(0, 3);
        entry.2 += sum.map_or(0, |s| s.clamp(-5, 10));
        entry.3[1].extend(values);
        entry.3[1].sort_unstable();
    }
    groups
}

#[test]
fn units_with_many_groups_are_bounded_in_any_order() {
    // 80 groups a unit, twice each: more than are searched one by one. Unit by unit, group by
    // group, and the other way round.
    let mut rows: Vec<Row> = Vec::new();
    for unit in 0..5 {
        for turn in 0..160u8 {
            rows.push((unit, Some(turn % 80), Some(i64::from(turn))));
        }
    }
    let mut by_group = rows.clone();
    by_group.sort_by_key(|(unit, group, value)| (*group, *value, *unit));
    let mut reversed = rows.clone();
    reversed.reverse();
    for most in [1, 10, 31, 32, 33, 40, 79, 80, 100] {
        let want = exact(&[&rows], most, 7);
        assert_eq!(exact(&[&by_group], most, 7), want, "{most}");
        assert_eq!(exact(&[&reversed], most, 1000), want, "{most}");
        let kept: i64 = want.values().map(|(units, ..)| units).sum();
        assert_eq!(kept, 5 * i64::from(most.min(80)));
        if most >= 80 {
            // Each unit is twice in each group.
            let plain = plain(&rows).into_iter();
            let twice = |(name, mut group): (_, (_, _, _, [Vec<i64>; 2]))| {
                group.3[0] = group.3[1].clone();
                (name, group)
            };
            assert_eq!(want, plain.map(twice).collect());
        }
    }
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let value = prop_oneof![
        3 => (-20i64..20).prop_map(Some),
        1 => Just(None),
        1 => prop_oneof![Just(i64::MAX), Just(i64::MIN)].prop_map(Some),
    ];
    let group = prop_oneof![5 => (0u8..12).prop_map(Some), 1 => Just(None)];
    prop::collection::vec((0i64..8, group, value), 0..200)
}

proptest! {
    /// Add or remove one unit: at most `most` groups move, each by at most its bounds.
    #[test]
    fn one_unit_moves_no_more_than_promised(rows in rows(), unit in 0i64..8, most in 1u32..6) {
        let without: Vec<Row> = rows.iter().copied().filter(|(u, ..)| *u != unit).collect();
        let (with, without) = (exact(&[&rows], most, 50), exact(&[&without], most, 50));
        let mut moved = 0;
        let names: std::collections::HashSet<_> = with.keys().chain(without.keys()).collect();
        for name in names {
            let (a, b) = (
                with.get(name).cloned().unwrap_or_default(),
                without.get(name).cloned().unwrap_or_default(),
            );
            let change = (a.0 - b.0, a.1 - b.1, a.2 - b.2);
            moved += u32::from(a != b);
            let gone = left_over(a.3[0].clone(), &b.3[0]);
            prop_assert!(gone.is_some_and(|gone| gone <= 2), "{:?} {:?}", a.3, b.3);
            prop_assert!(left_over(a.3[1].clone(), &b.3[1]).is_some());
            prop_assert!((0..=1).contains(&change.0), "{change:?}");
            prop_assert!((0..=3).contains(&change.1), "{change:?}");
            prop_assert!((-5..=10).contains(&change.2), "{change:?}");
            let sum = |values: &[i64]| values.iter().sum::<i64>();
            // Two rows of a unit at most, each from -6 to 9.
            let change = sum(&a.3[0]) - sum(&b.3[0]);
            prop_assert!((-12..=18).contains(&change), "{change:?}");
        }
        prop_assert!(moved <= most, "{moved} groups moved");
    }

    /// Row order, batches and the way that units are spread over partitions change nothing.
    #[test]
    fn order_and_partitions_do_not_matter(
        rows in rows(),
        most in 1u32..6,
        seed in any::<u64>(),
        batch_rows in 1usize..60,
    ) {
        let want = exact(&[&rows], most, 1000);
        let mut shuffled = rows.clone();
        Dice::new(seed).shuffle(&mut shuffled);
        prop_assert_eq!(&want, &exact(&[&shuffled], most, batch_rows));
        let (even, odd): (Vec<Row>, Vec<Row>) = shuffled.iter().partition(|(u, ..)| u % 2 == 0);
        prop_assert_eq!(&want, &exact(&[&odd, &even, &[]], most, batch_rows));
    }

    /// With room for every group, the sums are the plain ones.
    #[test]
    fn sums_are_exact(rows in rows()) {
        let mut found = exact(&[&rows], 13, 64);
        for (units, _, _, values) in found.values_mut() {
            let [some, all] = values;
            prop_assert!(some.len() <= all.len() && some.len() <= 2 * *units as usize);
            prop_assert!(left_over(all.clone(), some).is_some());
            some.clear();
        }
        prop_assert_eq!(found, plain(&rows));
    }
}

/// How many values are left when some of them are taken away; `None` if they are not all
/// there.
fn left_over(mut all: Vec<i64>, some: &[i64]) -> Option<usize> {
    for value in some {
        let index = all.iter().position(|other| other == value)?;
        all.swap_remove(index);
    }
    Some(all.len())
}

/// Which of a unit's rows are kept is a matter of the key, and each is as likely as another, equal
/// ones among them.
#[test]
fn rows_are_kept_by_keyed_hash() {
    let rows: Vec<Row> = [3, 5, 5, 5, 8].map(|v| (1, None, Some(v))).to_vec();
    let mut kept = HashMap::new();
    for key in 0..5000u32 {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&key.to_le_bytes());
        let mut bounder = Bounder::of_units(KEPT.to_vec(), true, SamplingKey(bytes), 1);
        bounder.add(&batch(&rows), &mut |_| Ok(())).unwrap();
        let mut merged = MergedPartitions::new(&KEPT);
        merged.add(bounder.finish().unwrap()).unwrap();
        let values = merged.finish().unwrap().totals[2].values().unwrap().of(0).to_vec();
        assert_eq!(values.len(), 2);
        *kept.entry(values).or_insert(0u32) += 1;
    }
    // Of the ten pairs of rows, three are two of the fives, and so on: six standard deviations of
    // 34 at most (a false alarm once in 1e8).
    for (values, pairs) in [([3, 5], 3), ([5, 5], 3), ([5, 8], 3), ([3, 8], 1)] {
        let count = kept.get(values.as_slice()).copied().unwrap_or(0);
        assert!(count.abs_diff(pairs * 500) <= 204, "{kept:?}");
    }
}

/// Which groups are kept is a matter of the key, and each is as likely as another.
#[test]
fn groups_are_kept_by_keyed_hash() {
    let rows: Vec<Row> = (0..10).map(|g| (1, Some(g), Some(1))).collect();
    let mut kept = [0u32; 10];
    for key in 0..2000u32 {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&key.to_le_bytes());
        let mut bounder = Bounder::of_units(KEPT.to_vec(), true, SamplingKey(bytes), 3);
        bounder.add(&batch(&rows), &mut |_| Ok(())).unwrap();
        let partial = bounder.finish().unwrap();
        assert_eq!(partial.units.iter().sum::<i64>(), 3);
        for (g, units) in partial.units.iter().enumerate() {
            kept[g] += u32::try_from(*units).unwrap();
        }
    }
    // 600 expected, standard deviation 20.5: six of them are 123 (a false alarm once in 5e7).
    assert!(kept.iter().all(|k| (477..=723).contains(k)), "{kept:?}");
}

#[test]
fn rows_that_are_units_are_clamped_one_by_one() {
    let rows: Vec<Row> = vec![(0, Some(1), Some(100)), (0, Some(1), Some(-100)), (0, None, None)];
    let mut bounder = Bounder::of_rows(KEPT[..4].to_vec(), true);
    let mut all = batch(&rows);
    all.unit = None;
    all.values.truncate(4);
    bounder.add(&all, &mut |_| Ok(())).unwrap();
    let partial = bounder.finish().unwrap();
    let GroupTotals::Values(list) = &partial.totals[2] else { panic!("no values") };
    let values = ValueLists::sorted(std::slice::from_ref(list), 2);
    assert_eq!((values.of(0), values.of(1)), (&[-6, 9][..], &[][..]));
    assert_eq!(*partial.units, [2, 1]);
    assert_eq!([0, 1].map(|index: usize| sums_of(&partial.totals[index])), [[2, 1], [5, 0]]);
}

/// A sum of rows is bounded once more as a whole, by what its noise is made for.
#[test]
fn sums_of_rows_are_within_their_bounds() {
    let rows: Vec<Row> =
        vec![(1, None, Some(9)), (1, None, Some(9)), (2, None, Some(-9)), (3, None, None)];
    let mut bounder = Bounder::of_units(vec![list(2, Some((-5, 10)))], true, KEY, 1);
    let mut all = batch(&rows);
    all.values.drain(..5);
    bounder.add(&all, &mut |_| Ok(())).unwrap();
    let partial = bounder.finish().unwrap();
    assert_eq!((&*partial.units, sums_of(&partial.totals[0])), (&[3][..], &[10 - 5][..]));
    // Where rows are units, no sum of rows is asked for.
    let mut rows_are_units = Bounder::of_rows(KEPT.to_vec(), true);
    let mut all = batch(&rows);
    all.unit = None;
    assert!(rows_are_units.add(&all, &mut |_| Ok(())).is_err());
}

/// Where the mean is clamped, a unit with c rows that count adds from c times the low to c times
/// the high end, and the same rows are chosen as where each is clamped.
#[test]
fn means_are_clamped_by_the_rows_that_count() {
    let wide = Listing { range: (-1000, 1000), rows: 2, sum: None, mean: None, distinct: false };
    let sum = Some((-6, 10));
    let kept = vec![
        Accumulation::Values(Listing { sum, mean: Some((-3, 5)), ..wide }),
        Accumulation::Values(wide),
    ];
    let added = |values: &[Option<i64>]| {
        let rows: Vec<Row> = values.iter().map(|&v| (1, None, v)).collect();
        let mut bounder = Bounder::of_units(kept.clone(), true, KEY, 1);
        let mut all = batch(&rows);
        all.values.drain(..4);
        bounder.add(&all, &mut |_| Ok(())).unwrap();
        let partial = bounder.finish().unwrap();
        let GroupTotals::Values(list) = &partial.totals[1] else { panic!("no values") };
        let chosen = ValueLists::sorted(std::slice::from_ref(list), 1).of(0).to_vec();
        (sums_of(&partial.totals[0])[0], chosen)
    };
    assert_eq!(added(&[None]), (0, vec![]));
    assert_eq!(added(&[Some(9)]).0, 5);
    assert_eq!(added(&[Some(9), None]).0, 5);
    // One of them alone would be clamped.
    assert_eq!(added(&[Some(9), Some(-2)]).0, 7);
    assert_eq!(added(&[Some(-9), Some(-9)]).0, -6);
    for first in -8..=8 {
        let (sum, chosen) = added(&[Some(first), Some(3), Some(7), Some(-7)]);
        assert_eq!(chosen.len(), 2);
        assert_eq!(sum, i128::from(chosen.iter().sum::<i64>().clamp(-6, 10)));
    }
}

/// Rows without a value for each accumulator would leave sums of zero.
#[test]
fn rows_without_all_values_are_an_error() {
    let mut bounder = Bounder::of_units(KEPT.to_vec(), true, KEY, 1);
    let mut rows = batch(&[(1, None, Some(9))]);
    rows.values.pop();
    assert!(bounder.add(&rows, &mut |_| Ok(())).is_err());
    let mut merged = MergedPartitions::new(&KEPT[..1]);
    let mut bounder = Bounder::of_units(KEPT.to_vec(), true, KEY, 1);
    bounder.add(&batch(&[(1, None, Some(9))]), &mut |_| Ok(())).unwrap();
    assert!(merged.add(bounder.finish().unwrap()).is_err());
}

#[test]
fn no_rows_make_no_group_but_the_single_one() {
    let accumulations = || KEPT[..2].to_vec();
    let keyed = Bounder::of_rows(accumulations(), true).finish().unwrap();
    assert!(keyed.units.is_empty());
    let single = Bounder::of_units(accumulations(), false, KEY, 1).finish().unwrap();
    assert_eq!(*single.units, [0]);
    assert_eq!([0, 1].map(|index: usize| sums_of(&single.totals[index])), [[0], [0]]);
    let mut bounder = Bounder::of_units(accumulations(), false, KEY, 1);
    let mut rows = batch(&[(1, None, Some(4)), (1, None, Some(4)), (2, None, None)]);
    rows.keys.clear();
    rows.values.truncate(2);
    bounder.add(&rows, &mut |_| Ok(())).unwrap();
    let partial = bounder.finish().unwrap();
    let sums = [0, 1].map(|index: usize| sums_of(&partial.totals[index]));
    assert_eq!((&*partial.units, sums), (&[2][..], [&[3][..], &[8][..]]));
}

/// A sum that is missing must never become a zero with noise around it.
#[test]
fn what_is_missing_is_no_zero() {
    let contract = Contract::parse(
        "[tables.t]\npath = \"t.csv\"\nprivacy_unit = \"u\"\n[tables.t.columns]\n\
         u = { type = \"int\" }\nk = { type = \"int\", public_keys = [1, 2] }\n\
         n = { type = \"int\", bounds = [0, 9] }\n[tables.t.budgets]\n\
         ana = { epsilon = 10, delta = 1e-6 }\n",
        "t.toml",
    )
    .unwrap();
    let groups = ["", " GROUP BY k", " GROUP BY n"];
    for (groups, found) in groups.into_iter().zip([1, 2, 2]) {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
             max_groups_contributed = 2, max_rows_per_group = 2) COUNT(*), MEDIAN(n) FROM t{groups}"
        );
        let query = bind(&sql, &contract).unwrap();
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let values = |groups: usize| {
            let mut list = ValueList::default();
            (0..groups).for_each(|group| list.push(u32::try_from(group).unwrap(), 5));
            ExactMeasurement::Values(ValueLists::sorted(&[list], groups))
        };
        let exact = |sums: usize, listed: usize| ExactSums {
            keys: if found == 1 { Vec::new() } else { vec![Arc::clone(&keys)] },
            units: vec![1; found],
            pieces: None,
            measured: vec![ExactMeasurement::Sums(vec![3; sums]), values(listed)],
            members: None,
        };
        let counted = |exact| CountedGroups::new(&query, exact).map(|_| ());
        assert!(counted(exact(found, found)).is_ok(), "{sql}");
        for (sums, listed) in [(found - 1, found), (found + 1, found), (found, found - 1)] {
            let error = counted(exact(sums, listed)).unwrap_err();
            assert!(matches!(error, EngineError::Inconsistent(_)), "{sql}: {error}");
        }
        let quote = Quote::new(query.clone()).unwrap();
        let (_, mut lost) = CountedGroups::new(&query, exact(found, found)).unwrap();
        lost.measured.swap(0, 1);
        let chosen = [ChosenGroup { group: 0, noisy_count: None }];
        let measure = |lost: &CountedGroups| {
            let generator = &mut TestSeed(1).generator();
            lost.measure(&quote, (&chosen, &DrawnAhead::default()), generator)
        };
        let error = measure(&lost).unwrap_err();
        assert!(matches!(error, EngineError::Inconsistent(_)), "{sql}: {error}");
        lost.measured.clear();
        let error = measure(&lost).unwrap_err();
        assert!(matches!(error, EngineError::Inconsistent(_)), "{sql}: {error}");
    }
}
