//! Bounding beside the same rules written as plainly as they can be: for every unit, the groups
//! with the least hashes, and of these the rows with the least.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, StringViewArray};
use datafusion::arrow::datatypes::Int64Type;
use hushtable_testkit::Dice;
use siphasher::sip::SipHasher24;

use crate::bound::{Bounder, GroupTotals};
use crate::contributions::{Accumulation, ContributionBatch, Listing, SamplingKey};
use crate::intern::{Hashes, too_many};
use crate::members::PartialMembers;

/// A row: unit, group, value (NULL adds nothing).
type Row = (i64, i64, Option<i64>);

const KEY: SamplingKey = SamplingKey([5; 16]);

const SUM: (i64, i64) = (-9, 30);
const RANGE: (i64, i64) = (-6, 15);
const ROWS: u32 = 2;

/// Units of a group; its sums, in the order of the accumulators: rows, sums of some rows, rows with
/// a value, their sum, sums of some with bounds of their mean; different values, and those of some
/// rows.
#[derive(Debug, Default, PartialEq)]
struct Group {
    units: i64,
    sums: [i128; 5],
    values: [Vec<i64>; 2],
}

fn accumulations() -> Vec<Accumulation> {
    let sum = |bounds| Accumulation::Sum { bounds, size: bounds };
    let list = Listing { range: RANGE, rows: ROWS, sum: None, mean: None, distinct: false };
    let values = |listing: Listing| Accumulation::Values(listing);
    vec![
        sum((0, 3)),
        values(Listing { sum: Some(SUM), ..list }),
        sum((1, 4)),
        values(Listing { distinct: true, ..list }),
        sum(SUM),
        values(Listing { sum: Some(SUM), mean: Some((-2, 5)), ..list }),
        values(list),
    ]
}

/// Units as integers, or as texts.
fn units(rows: &[Row], as_texts: bool) -> ArrayRef {
    let units = rows.iter().map(|(unit, ..)| *unit);
    if as_texts {
        Arc::new(units.map(|u| Some(format!("the unit {u}"))).collect::<StringViewArray>())
    } else {
        Arc::new(units.map(Some).collect::<Int64Array>())
    }
}

fn batch(rows: &[Row], as_texts: bool) -> ContributionBatch {
    let groups: Int64Array = rows.iter().map(|(_, group, _)| Some(*group)).collect();
    let value: Int64Array = rows.iter().map(|(.., value)| *value).collect();
    let present: Int64Array = rows.iter().map(|(.., value)| value.map(|_| 1)).collect();
    let mut values = vec![value; 7];
    values[0] = Int64Array::from_value(1, rows.len());
    values[2] = present;
    ContributionBatch {
        keys: vec![Arc::new(groups)],
        unit: Some(units(rows, as_texts)),
        values,
        rows: rows.len(),
    }
}

/// The hash of two numbers.
fn hash(one: u64, other: u64) -> u64 {
    let mut hasher = SipHasher24::new_with_key(&KEY.0);
    hasher.write_u64(one);
    hasher.write_u64(other);
    hasher.finish()
}

/// The values of a pair that count.
fn chosen(pair: u64, mut values: Vec<i64>, distinct: bool) -> Vec<i64> {
    values.iter_mut().for_each(|value| *value = (*value).clamp(RANGE.0, RANGE.1));
    values.sort();
    if distinct {
        values.dedup();
    }
    let hashed = values.iter().enumerate().map(|(index, &value)| {
        let same = values[..index].iter().filter(|other| **other == value).count();
        let mut hasher = SipHasher24::new_with_key(&KEY.0);
        hasher.write_u64(pair);
        hasher.write_i64(value);
        hasher.write_u64(same as u64);
        (hasher.finish(), value)
    });
    let mut hashed: Vec<(u64, i64)> = hashed.collect();
    if hashed.len() > ROWS as usize {
        hashed.sort();
        hashed.truncate(ROWS as usize);
    }
    hashed.into_iter().map(|(_, value)| value).collect()
}

/// The values of rows by the hash of their group, and the group.
type RowsByHash = BTreeMap<(u64, i64), Vec<Option<i64>>>;

/// The exact groups, and the groups of each unit by its hash.
type BoundedRows = (BTreeMap<i64, Group>, BTreeMap<u128, Vec<i64>>);

fn plainly(rows: &[Row], most: u32, as_texts: bool) -> BoundedRows {
    let hashes = |column: ArrayRef| {
        let columns = [column];
        Hashes::new(&columns, KEY.0).unwrap().of_rows(&columns).unwrap()
    };
    let of_units = hashes(units(rows, as_texts));
    let of_groups = hashes(Arc::new(rows.iter().map(|row| Some(row.1)).collect::<Int64Array>()));
    let mut pairs: BTreeMap<u128, RowsByHash> = BTreeMap::new();
    for ((&(_, group, value), unit), of_group) in rows.iter().zip(of_units).zip(of_groups) {
        let pair = (hash(unit as u64, of_group as u64), group);
        pairs.entry(unit).or_default().entry(pair).or_default().push(value);
    }
    let (mut groups, mut members) = (BTreeMap::<i64, Group>::new(), BTreeMap::new());
    for (unit, pairs) in pairs {
        let mut groups_of_unit: Vec<i64> = Vec::new();
        for ((pair, group), rows) in pairs.into_iter().take(most as usize) {
            groups_of_unit.push(group);
            let all: Vec<i64> = rows.iter().flatten().copied().collect();
            let total = groups.entry(group).or_default();
            total.units += 1;
            let sum = |values: &[i64]| values.iter().map(|&value| i128::from(value)).sum::<i128>();
            let within = |sum: i128, (low, high): (i64, i64)| sum.clamp(low.into(), high.into());
            total.sums[0] += (rows.len() as i128).min(3);
            if !all.is_empty() {
                let some = chosen(pair, all.clone(), false);
                total.sums[1] += within(sum(&some), SUM);
                total.sums[2] += (all.len() as i128).clamp(1, 4);
                total.sums[3] += within(sum(&all), SUM);
                let count = some.len() as i128;
                total.sums[4] += within(sum(&some).clamp(-2 * count, 5 * count), SUM);
                total.values[0].extend(chosen(pair, all, true));
                total.values[1].extend(some);
            }
        }
        groups_of_unit.sort();
        members.insert(unit, groups_of_unit);
    }
    groups.values_mut().flat_map(|group| &mut group.values).for_each(|values| values.sort());
    (groups, members)
}

fn bounded(rows: &[Row], most: u32, as_texts: bool, ones: bool, batch_rows: usize) -> BoundedRows {
    let mut bounder = Bounder::of_units(accumulations(), true, KEY, most).with_members();
    if ones {
        bounder = bounder.adding_ones(vec![true, false, true]);
    }
    let mut size = 0;
    for rows in rows.chunks(batch_rows) {
        bounder.add(&batch(rows, as_texts), &mut |_| Ok(())).unwrap();
        assert!(bounder.size() > 0);
        size = bounder.size();
    }
    // Rows that wait and units come to less than a packed row's bytes for each, and some more.
    assert!(size < 600 * rows.len() + (1 << 17), "{size} bytes");
    let partial = bounder.finish().unwrap();
    let names: Vec<i64> =
        partial.keys[0].as_primitive::<Int64Type>().values().iter().copied().collect();
    let mut groups = BTreeMap::new();
    for (index, &name) in names.iter().enumerate() {
        let mut group = Group { units: partial.units[index], ..Group::default() };
        let (mut sums, mut values) = (group.sums.iter_mut(), group.values.iter_mut());
        for total in &partial.totals {
            match total {
                GroupTotals::Sums(of) => *sums.next().unwrap() = of[index],
                GroupTotals::Values(list) => {
                    let pairs = list.groups.iter().zip(&list.values);
                    let pairs = pairs.filter(|(group, _)| **group as usize == index);
                    *values.next().unwrap() = pairs.map(|(_, value)| *value).collect();
                }
            }
        }
        group.values.iter_mut().for_each(|values| values.sort());
        // A group that no unit keeps has nothing.
        if group == Group::default() {
            continue;
        }
        groups.insert(name, group);
    }
    let members: PartialMembers = partial.members.unwrap();
    let name = |group: &u32| names[*group as usize];
    let members = members.iter().map(|member| {
        let (unit, groups) = member.unwrap();
        let mut groups: Vec<i64> = groups.iter().map(name).collect();
        groups.sort();
        (unit, groups)
    });
    (groups, members.collect())
}

/// Whatever the limit, the number of units and groups, the order and the batches: the same units,
/// groups, rows and sums, to the last integer.
#[test]
fn bounding_is_what_its_rules_say() {
    let limits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 31, 40, 200, u32::MAX];
    for seed in 0..96u64 {
        let mut dice = Dice::new(seed * 77 + 5);
        let most = limits[seed as usize % limits.len()];
        let units = [1, 3, 40, 400][(seed / 5) as usize % 4];
        let groups = [1, 9, 30, 300][(seed / 3) as usize % 4];
        let count = dice.below(if seed % 3 == 0 { 1500 } else { 300 });
        let mut rows: Vec<Row> = Vec::new();
        for _ in 0..count {
            let value = match dice.below(12) {
                0 => None,
                1 => Some([i64::MIN, i64::MAX][dice.below(2) as usize]),
                _ => Some(dice.below(30) as i64 - 10),
            };
            let group = (dice.below(groups) * dice.below(groups) / groups) as i64;
            rows.push((dice.below(units) as i64 - 2, group, value));
        }
        let (as_texts, ones) = (dice.below(3) == 0, dice.below(2) == 0);
        let want = plainly(&rows, most, as_texts);
        let mut by_unit = rows.clone();
        by_unit.sort();
        let mut backwards = by_unit.clone();
        backwards.reverse();
        for (order, rows) in [rows, by_unit, backwards].iter().enumerate() {
            if rows.is_empty() {
                continue;
            }
            let batch_rows = [7, 100, 2000][(seed as usize + order) % 3];
            let found = bounded(rows, most, as_texts, ones, batch_rows);
            assert!(found == want, "seed {seed}, order {order}, most {most}");
        }
    }
}

/// Units with many times the groups that they may keep, each group again and again, in passes and
/// one by one: what was pushed out never comes back.
#[test]
fn groups_that_are_pushed_out_stay_out() {
    for most in [1, 2, 3, 5, 8, 9, 12, 40] {
        let groups = 6 * i64::from(most) + 60;
        let row = |turn: i64, group: i64, unit: i64| (unit, group, Some((turn + group) % 20 - 7));
        let passes = (0..3).flat_map(|turn| (0..groups).map(move |group| (turn, group)));
        let passes: Vec<Row> =
            passes.flat_map(|(turn, group)| [1, 2].map(|unit| row(turn, group, unit))).collect();
        let mut one_by_one = passes.clone();
        one_by_one.sort();
        let want = plainly(&passes, most, false);
        assert!(want.1.values().all(|groups_of_unit| groups_of_unit.len() == most as usize));
        for rows in [passes, one_by_one] {
            assert!(bounded(&rows, most, false, true, 50) == want, "most {most}");
        }
    }
}

/// Rows that wait take more memory once they are bounded: that counts before the groups are there,
/// also where all of them wait until the end.
#[test]
fn memory_is_counted_while_rows_are_bounded() {
    let rows: Vec<Row> = (0..10).map(|unit| (unit, unit, Some(1))).collect();
    let mut bounder = Bounder::of_units(accumulations(), true, KEY, 3);
    bounder.add(&batch(&rows, false), &mut |_| Ok(())).unwrap();
    let limit = bounder.size();
    let mut grown = |bytes: usize| match bytes > limit {
        true => Err(too_many()),
        false => Ok(()),
    };
    assert!(bounder.end(&mut grown).is_err());
}

/// A count of rows whose values are no ones would be wrong in silence.
#[test]
fn accumulators_of_ones_have_no_other_values() {
    let mut bounder = Bounder::of_units(accumulations(), true, KEY, 3).adding_ones(vec![true; 3]);
    let mut rows = batch(&[(1, 2, Some(1)), (1, 3, None)], false);
    bounder.add(&rows, &mut |_| Ok(())).unwrap();
    rows.values[2] = Int64Array::from(vec![Some(1), Some(2)]);
    assert!(bounder.add(&rows, &mut |_| Ok(())).is_err());
}

/// Rows without a unit are left out before: one that comes here would be a unit of its own.
#[test]
fn rows_without_a_unit_are_an_error() {
    let mut bounder = Bounder::of_units(accumulations(), true, KEY, 3);
    let mut rows = batch(&[(1, 2, Some(1)), (1, 3, None)], false);
    rows.unit = Some(Arc::new(Int64Array::from(vec![Some(1), None])));
    assert!(bounder.add(&rows, &mut |_| Ok(())).is_err());
}
