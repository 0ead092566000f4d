//! Consistent tables: released levels of one table, adjusted so that they fit each other.
//!
//! Adjusting costs nothing (post-processing): it reads only released values, the variances of their
//! noise and the keys.
//!
//! Levels whose keys are all public have a row for every combination of values. They are adjusted
//! by weighted least squares ([`complete`]): every cell is the sum of its children, no cell has a
//! bias, and each has less variance than before. Groups that are chosen privately are not all
//! shown. If no contribution is below zero, the hidden groups together are not below zero either,
//! so that a cell is at least the sum of its visible children. Values that contradict this are
//! moved, as little as possible ([`shown_children`]). A sum that may be below zero says nothing
//! about hidden groups, and stays.

mod adjusted;
mod adjusted_noise;
mod alike;
mod complete;
mod misfit;
mod shown_children;

use std::collections::HashMap;

pub use self::adjusted::{AdjustedMeasurement, ConsistentPrecision, QuotedLevels};
pub use self::adjusted_noise::AdjustedNoise;
use self::alike::Alike;
use self::complete::{Complete, KeySet};
pub use self::misfit::fit;
use self::shown_children::{CellFamily, lowered, nearest};

/// A least-squares number before it is rounded, in steps: a whole number near it, and the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastSquares {
    /// The whole number.
    pub whole: i128,
    /// The rest, of either sign.
    pub rest: f64,
}

/// The released cells of one level.
#[derive(Clone, Debug)]
pub struct LevelCells {
    /// Its keys, as indexes into all keys, each once.
    pub keys: Vec<usize>,
    /// For each of these keys, the value of each cell: a number from zero, the same at all levels.
    pub codes: Vec<Vec<usize>>,
    /// Whether it has a cell for all combinations of values.
    pub complete: bool,
    /// The released values, in steps.
    pub values: Vec<i128>,
    /// The variance of their noise.
    pub variance: f64,
}

/// The demands on a consistent table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdjustOptions {
    /// Whether no contribution is below zero, so that no exact value is.
    pub from_zero: bool,
    /// Whether released values are not to be below zero either.
    pub non_negative: bool,
}

/// Adjusts levels to each other. `sizes` counts the values of each key. Returns `None` if cells do
/// not fit their level, which is a fault of the caller.
///
/// If all levels are complete, returns the least-squares number of each cell of each level, which
/// has no bias even where tables must not be below zero. Otherwise returns no levels.
pub fn adjust(
    sizes: &[usize],
    levels: &mut [LevelCells],
    options: AdjustOptions,
) -> Option<Vec<Vec<LeastSquares>>> {
    for level in levels.iter() {
        let fits = |(&key, codes): (&usize, &Vec<usize>)| {
            let size = sizes.get(key).copied().unwrap_or(0);
            codes.len() == level.values.len() && codes.iter().all(|&code| code < size)
        };
        let all = level.keys.len() == level.codes.len() && sizes.len() < KeySet::BITS as usize;
        if !all || !level.keys.iter().zip(&level.codes).all(fits) || level.variance <= 0.0 {
            return None;
        }
    }
    if levels.iter().all(|level| level.complete) {
        let non_negative = options.non_negative && options.from_zero;
        return adjust_complete(sizes, levels, non_negative);
    }
    adjust_visible(sizes, levels, options).map(|()| Vec::new())
}

/// The variance of a cell of each complete level when they fit each other, from the keys and the
/// variance of each before that.
pub(crate) fn variances(sizes: &[usize], levels: &[(&[usize], f64)]) -> Vec<f64> {
    let kinds: Vec<(KeySet, f64)> = levels.iter().map(|(keys, v)| (set(keys), *v)).collect();
    let table = Complete::new(sizes, &kinds);
    kinds.iter().map(|(keys, _)| table.variance(*keys)).collect()
}

/// For each level, how often the noise of its cells counts in an adjusted cell of the level `of`,
/// and how many of its cells count that often.
pub(crate) fn shares(
    sizes: &[usize],
    levels: &[(&[usize], f64)],
    of: usize,
) -> Option<Vec<(usize, (f64, f64))>> {
    let kinds: Vec<(KeySet, f64)> = levels.iter().map(|(keys, v)| (set(keys), *v)).collect();
    let alike = Complete::new(sizes, &kinds).alike(kinds.get(of)?.0);
    let share = |Alike { level, times, cells }: Alike| (level, (times, cells));
    Some(alike.into_iter().map(share).collect())
}

fn set(keys: &[usize]) -> KeySet {
    keys.iter().fold(0, |set, key| set | 1 << key)
}

fn keys_of(level: &LevelCells) -> KeySet {
    set(&level.keys)
}

/// The position of each cell of a complete level in the order of [`Complete`].
fn positions(table: &Complete, level: &LevelCells) -> Option<Vec<usize>> {
    let (strides, cells) = table.strides(keys_of(level));
    let mut positions = vec![0; level.values.len()];
    for (&key, codes) in level.keys.iter().zip(&level.codes) {
        positions
            .iter_mut()
            .zip(codes)
            .for_each(|(position, code)| *position += strides[key] * code);
    }
    let mut seen = vec![false; cells];
    positions.iter().for_each(|&position| seen[position] = true);
    (positions.len() == cells && seen.iter().all(|seen| *seen)).then_some(positions)
}

fn adjust_complete(
    sizes: &[usize],
    levels: &mut [LevelCells],
    non_negative: bool,
) -> Option<Vec<Vec<LeastSquares>>> {
    let kinds: Vec<(KeySet, f64)> = levels.iter().map(|l| (keys_of(l), l.variance)).collect();
    let table = Complete::new(sizes, &kinds);
    let placed = levels.iter().map(|level| positions(&table, level)).collect::<Option<Vec<_>>>()?;
    // Large values keep their digits: the finest level stays apart, and only what the levels differ
    // by is estimated.
    let finest = levels.iter().zip(&placed).find(|(level, _)| keys_of(level) == table.all_keys());
    let apart: Vec<i128> = match finest {
        Some((level, positions)) => in_order(level, positions),
        None => vec![0; table.cells()],
    };
    let measured = levels.iter().zip(&placed).map(|(level, positions)| {
        let sums = table.sums(&apart, keys_of(level));
        let values = in_order(level, positions);
        values.iter().zip(&sums).map(|(value, sum)| (value - sum) as f64).collect()
    });
    let measured: Vec<Vec<f64>> = measured.collect();
    let estimate = table.estimate(&measured);
    let whole: Vec<i128> = match non_negative {
        true => {
            let all = |(level, positions): (&LevelCells, &Vec<usize>)| -> Vec<f64> {
                in_order(level, positions).iter().map(|&value| value as f64).collect()
            };
            let measured: Vec<Vec<f64>> = levels.iter().zip(&placed).map(all).collect();
            table.rounded(&table.non_negative(&measured))
        }
        false => {
            let rounded = table.rounded(&estimate);
            apart.iter().zip(rounded).map(|(apart, moved)| apart + moved).collect()
        }
    };
    let mut estimates = Vec::with_capacity(levels.len());
    for (level, placed) in levels.iter_mut().zip(&placed) {
        let keys = keys_of(level);
        let (sums, apart) = (table.sums(&whole, keys), table.sums(&apart, keys));
        let moved = table.sums(&estimate, keys);
        level.values.iter_mut().zip(placed).for_each(|(value, &position)| *value = sums[position]);
        let estimate = |&position: &usize| {
            let near = moved[position].round();
            LeastSquares { whole: apart[position] + near as i128, rest: moved[position] - near }
        };
        estimates.push(placed.iter().map(estimate).collect());
    }
    Some(estimates)
}

/// A level's values in the order of the complete table.
fn in_order(level: &LevelCells, positions: &[usize]) -> Vec<i128> {
    let mut values = vec![0; positions.len()];
    level.values.iter().zip(positions).for_each(|(&value, &position)| values[position] = value);
    values
}

/// The index of the level that has all keys of the complete levels, if there is one.
fn base(levels: &[LevelCells]) -> Option<usize> {
    let complete = || levels.iter().enumerate().filter(|(_, level)| level.complete);
    let all = complete().fold(0, |keys, (_, level)| keys | keys_of(level));
    complete().find(|(_, level)| keys_of(level) == all).map(|(index, _)| index)
}

/// Whether levels can be adjusted: where some are complete and others not, one of those that are
/// needs all of their keys.
pub(crate) fn has_base(levels: &[(Vec<usize>, bool)]) -> bool {
    let cells = |(keys, complete): &(Vec<usize>, bool)| LevelCells {
        keys: keys.clone(),
        codes: Vec::new(),
        complete: *complete,
        values: Vec::new(),
        variance: 1.0,
    };
    let cells: Vec<LevelCells> = levels.iter().map(cells).collect();
    let of = |complete| cells.iter().any(|level| level.complete == complete);
    !of(true) || !of(false) || base(&cells).is_some()
}

fn adjust_visible(
    sizes: &[usize],
    levels: &mut [LevelCells],
    options: AdjustOptions,
) -> Option<()> {
    let base = base(levels);
    if base.is_none() && levels.iter().any(|level| level.complete) {
        return None;
    }
    // The coarse levels first.
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by_key(|&index| levels[index].keys.len());
    let mut first = vec![0; levels.len()];
    let mut cells = 0;
    for &index in &order {
        first[index] = cells;
        cells += levels[index].values.len();
    }
    let mut families: Vec<(usize, usize, Vec<CellFamily>)> = Vec::new();
    for (at, &of) in order.iter().enumerate() {
        for &finer in &order[at + 1..] {
            let (coarse, fine) = (&levels[of], &levels[finer]);
            let complete = coarse.complete && fine.complete;
            let within = keys_of(coarse) != keys_of(fine) && keys_of(coarse) & !keys_of(fine) == 0;
            // Complete levels are sums of the one that has all of their keys.
            let needed = if complete { Some(finer) == base } else { options.from_zero };
            if within && needed {
                let mut list = together((coarse, first[of]), (fine, first[finer]), complete)?;
                list.retain(|sums| sums.complete || !sums.children.is_empty());
                families.push((of, finer, list));
            }
        }
    }
    let (mut before, mut variances) = (Vec::with_capacity(cells), Vec::with_capacity(cells));
    let mut from_zero = Vec::new();
    for &index in &order {
        let level = &levels[index];
        // Sums of numbers that are not below zero are not below zero either.
        if options.from_zero && options.non_negative && (!level.complete || Some(index) == base) {
            from_zero.extend(before.len()..before.len() + level.values.len());
        }
        before.extend(level.values.iter().map(|&value| value as f64));
        variances.resize(before.len(), level.variance);
    }
    let mut after = before.clone();
    let all: Vec<CellFamily> = families
        .iter()
        .flat_map(|(_, _, list)| list)
        .map(|sums| CellFamily {
            parent: sums.parent,
            children: sums.children.clone(),
            complete: sums.complete,
        })
        .collect();
    nearest(&mut after, &variances, &all, &from_zero);
    let clamped = |value: i128| match options.non_negative && options.from_zero {
        true => value.max(0),
        false => value,
    };
    // Large values keep their digits: what was added is rounded.
    let mut whole: Vec<i128> = Vec::with_capacity(cells);
    for &index in &order {
        let from = first[index];
        let added = |(at, &value): (usize, &i128)| {
            clamped(value + (after[from + at] - before[from + at]).round() as i128)
        };
        whole.extend(levels[index].values.iter().enumerate().map(added));
    }
    if let Some(base) = base {
        let complete = levels.iter().filter(|level| level.complete);
        let kinds: Vec<(KeySet, f64)> = complete.map(|l| (keys_of(l), l.variance)).collect();
        let used: Vec<usize> = (0..sizes.len())
            .map(|key| if levels[base].keys.contains(&key) { sizes[key] } else { 1 })
            .collect();
        let table = Complete::new(&used, &kinds);
        let range = first[base]..first[base] + levels[base].values.len();
        let placed = positions(&table, &levels[base])?;
        let mut fine = vec![0.0; placed.len()];
        after[range.clone()]
            .iter()
            .zip(&placed)
            .for_each(|(value, &position)| fine[position] = *value);
        let rounded = table.rounded(&fine);
        whole[range]
            .iter_mut()
            .zip(&placed)
            .for_each(|(value, &position)| *value = clamped(rounded[position]));
        for sums in
            families.iter().filter(|(_, finer, _)| *finer == base).flat_map(|(.., list)| list)
        {
            if sums.complete {
                whole[sums.parent] = sums.children.iter().map(|&child| whole[child]).sum();
            }
        }
    }
    for (_, _, list) in &families {
        for sums in list.iter().filter(|sums| !sums.complete) {
            lowered(&mut whole, sums, options.non_negative);
        }
    }
    for (index, level) in levels.iter_mut().enumerate() {
        let range = first[index]..first[index] + level.values.len();
        level.values.copy_from_slice(whole.get(range)?);
    }
    Some(())
}

/// The cells of a coarse level, each with the cells of a fine level that it is the sum of.
/// Children whose parent is not shown are left out.
fn together(
    (coarse, coarse_from): (&LevelCells, usize),
    (fine, fine_from): (&LevelCells, usize),
    complete: bool,
) -> Option<Vec<CellFamily>> {
    let key = |level: &LevelCells, columns: &[usize], cell: usize| -> Vec<usize> {
        columns.iter().map(|&column| level.codes[column][cell]).collect()
    };
    let coarse_columns: Vec<usize> = (0..coarse.keys.len()).collect();
    let fine_columns =
        coarse.keys.iter().map(|key| fine.keys.iter().position(|other| other == key));
    let fine_columns = fine_columns.collect::<Option<Vec<_>>>()?;
    let mut by_key = HashMap::with_capacity(coarse.values.len());
    let mut families = Vec::with_capacity(coarse.values.len());
    for cell in 0..coarse.values.len() {
        by_key.insert(key(coarse, &coarse_columns, cell), cell);
        families.push(CellFamily { parent: coarse_from + cell, children: Vec::new(), complete });
    }
    for cell in 0..fine.values.len() {
        if let Some(&parent) = by_key.get(&key(fine, &fine_columns, cell)) {
            families[parent].children.push(fine_from + cell);
        }
    }
    Some(families)
}

#[cfg(test)]
mod tests;
