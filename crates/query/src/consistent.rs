//! Consistent tables: released levels of one table, adjusted so that they fit each other.
//!
//! It is computed from released values, the variances of their noise and the keys, and from nothing
//! else, so it costs nothing (post-processing).
//!
//! Levels whose keys are all public have a row for every combination of values. They are adjusted
//! by weighted least squares ([`complete`]): every whole is the sum of its parts, no cell has a
//! bias, and each has less variance than before. Groups that are chosen privately are not all
//! shown. What is known of the others is that together they are not below zero, where no
//! contribution is: a whole is at least the sum of those of its parts that are shown. Values are
//! moved where they are against that, and as little as it needs ([`shown_parts`]). A sum that may
//! be below zero says nothing about what is not shown, and stays.

mod adjusted;
mod adjusted_noise;
mod alike;
mod complete;
mod shown_parts;

use std::collections::HashMap;

pub use self::adjusted::{Adjusted, ConsistentPrecision};
pub use self::adjusted_noise::AdjustedNoise;
use self::alike::Alike;
use self::complete::{Complete, Keys};
use self::shown_parts::{Whole, lowered, nearest};

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
    /// The keys that it has, by their places among all keys, each once.
    pub keys: Vec<usize>,
    /// Of each of these keys, the value of each cell: values are numbered from zero, alike at all
    /// levels.
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

/// Adjusts levels to each other. `sizes` counts the values of each key. `None` by a fault of the
/// caller: where cells do not fit their level.
///
/// Where all levels are complete, it gives the least-squares number of each cell of each level,
/// too: without bias also where tables are not to be below zero. Otherwise it gives no levels.
pub fn adjust(
    sizes: &[usize],
    levels: &mut [LevelCells],
    wanted: AdjustOptions,
) -> Option<Vec<Vec<LeastSquares>>> {
    for level in levels.iter() {
        let fits = |(&key, codes): (&usize, &Vec<usize>)| {
            let size = sizes.get(key).copied().unwrap_or(0);
            codes.len() == level.values.len() && codes.iter().all(|&code| code < size)
        };
        let all = level.keys.len() == level.codes.len() && sizes.len() < Keys::BITS as usize;
        if !all || !level.keys.iter().zip(&level.codes).all(fits) || level.variance <= 0.0 {
            return None;
        }
    }
    if levels.iter().all(|level| level.complete) {
        let non_negative = wanted.non_negative && wanted.from_zero;
        return adjust_complete(sizes, levels, non_negative);
    }
    adjust_shown(sizes, levels, wanted).map(|()| Vec::new())
}

/// The variance of a cell of each complete level when they fit each other, from the keys and the
/// variance of each before that.
pub(crate) fn variances(sizes: &[usize], levels: &[(&[usize], f64)]) -> Vec<f64> {
    let kinds: Vec<(Keys, f64)> = levels.iter().map(|(keys, v)| (set(keys), *v)).collect();
    let table = Complete::new(sizes, &kinds);
    kinds.iter().map(|(keys, _)| table.variance(*keys)).collect()
}

/// How often the noise of each level's cells is in an adjusted cell of the level at that place, and
/// how many cells of the level it is in as often: by level.
pub(crate) fn shares(
    sizes: &[usize],
    levels: &[(&[usize], f64)],
    of: usize,
) -> Option<Vec<(usize, (f64, f64))>> {
    let kinds: Vec<(Keys, f64)> = levels.iter().map(|(keys, v)| (set(keys), *v)).collect();
    let alike = Complete::new(sizes, &kinds).alike(kinds.get(of)?.0);
    let share = |Alike { level, times, cells }: Alike| (level, (times, cells));
    Some(alike.into_iter().map(share).collect())
}

fn set(keys: &[usize]) -> Keys {
    keys.iter().fold(0, |set, key| set | 1 << key)
}

fn keys_of(level: &LevelCells) -> Keys {
    set(&level.keys)
}

/// The place of each cell of a complete level in the order of [`Complete`].
fn places(table: &Complete, level: &LevelCells) -> Option<Vec<usize>> {
    let (strides, cells) = table.strides(keys_of(level));
    let mut places = vec![0; level.values.len()];
    for (&key, codes) in level.keys.iter().zip(&level.codes) {
        places.iter_mut().zip(codes).for_each(|(place, code)| *place += strides[key] * code);
    }
    let mut seen = vec![false; cells];
    places.iter().for_each(|&place| seen[place] = true);
    (places.len() == cells && seen.iter().all(|seen| *seen)).then_some(places)
}

fn adjust_complete(
    sizes: &[usize],
    levels: &mut [LevelCells],
    non_negative: bool,
) -> Option<Vec<Vec<LeastSquares>>> {
    let kinds: Vec<(Keys, f64)> = levels.iter().map(|l| (keys_of(l), l.variance)).collect();
    let table = Complete::new(sizes, &kinds);
    let placed = levels.iter().map(|level| places(&table, level)).collect::<Option<Vec<_>>>()?;
    // Large values keep their digits: the finest level stays apart, and only what the levels differ
    // by is estimated.
    let finest = levels.iter().zip(&placed).find(|(level, _)| keys_of(level) == table.all_keys());
    let apart: Vec<i128> = match finest {
        Some((level, places)) => in_order(level, places),
        None => vec![0; table.cells()],
    };
    let measured = levels.iter().zip(&placed).map(|(level, places)| {
        let sums = table.sums(&apart, keys_of(level));
        let values = in_order(level, places);
        values.iter().zip(&sums).map(|(value, sum)| (value - sum) as f64).collect()
    });
    let measured: Vec<Vec<f64>> = measured.collect();
    let estimate = table.estimate(&measured);
    let whole: Vec<i128> = match non_negative {
        true => {
            let all = |(level, places): (&LevelCells, &Vec<usize>)| -> Vec<f64> {
                in_order(level, places).iter().map(|&value| value as f64).collect()
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
        level.values.iter_mut().zip(placed).for_each(|(value, &place)| *value = sums[place]);
        let estimate = |&place: &usize| {
            let near = moved[place].round();
            LeastSquares { whole: apart[place] + near as i128, rest: moved[place] - near }
        };
        estimates.push(placed.iter().map(estimate).collect());
    }
    Some(estimates)
}

/// A level's values in the order of the complete table.
fn in_order(level: &LevelCells, places: &[usize]) -> Vec<i128> {
    let mut values = vec![0; places.len()];
    level.values.iter().zip(places).for_each(|(&value, &place)| values[place] = value);
    values
}

/// The level of all keys that complete levels have, if one has them.
fn base(levels: &[LevelCells]) -> Option<usize> {
    let complete = || levels.iter().enumerate().filter(|(_, level)| level.complete);
    let all = complete().fold(0, |keys, (_, level)| keys | keys_of(level));
    complete().find(|(_, level)| keys_of(level) == all).map(|(place, _)| place)
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

fn adjust_shown(sizes: &[usize], levels: &mut [LevelCells], wanted: AdjustOptions) -> Option<()> {
    let base = base(levels);
    if base.is_none() && levels.iter().any(|level| level.complete) {
        return None;
    }
    // The coarse levels first.
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by_key(|&place| levels[place].keys.len());
    let mut first = vec![0; levels.len()];
    let mut cells = 0;
    for &place in &order {
        first[place] = cells;
        cells += levels[place].values.len();
    }
    let mut wholes: Vec<(usize, usize, Vec<Whole>)> = Vec::new();
    for (at, &of) in order.iter().enumerate() {
        for &parts in &order[at + 1..] {
            let (coarse, fine) = (&levels[of], &levels[parts]);
            let complete = coarse.complete && fine.complete;
            let within = keys_of(coarse) != keys_of(fine) && keys_of(coarse) & !keys_of(fine) == 0;
            // Complete levels are sums of the one that has all of their keys.
            let needed = if complete { Some(parts) == base } else { wanted.from_zero };
            if within && needed {
                let mut own = together((coarse, first[of]), (fine, first[parts]), complete)?;
                own.retain(|own| own.complete || !own.parts.is_empty());
                wholes.push((of, parts, own));
            }
        }
    }
    let (mut before, mut variances) = (Vec::with_capacity(cells), Vec::with_capacity(cells));
    let mut from_zero = Vec::new();
    for &place in &order {
        let level = &levels[place];
        // Sums of what is not below zero are not.
        if wanted.from_zero && wanted.non_negative && (!level.complete || Some(place) == base) {
            from_zero.extend(before.len()..before.len() + level.values.len());
        }
        before.extend(level.values.iter().map(|&value| value as f64));
        variances.resize(before.len(), level.variance);
    }
    let mut after = before.clone();
    let all: Vec<Whole> = wholes
        .iter()
        .flat_map(|(_, _, own)| own)
        .map(|own| Whole { whole: own.whole, parts: own.parts.clone(), complete: own.complete })
        .collect();
    nearest(&mut after, &variances, &all, &from_zero);
    let kept = |value: i128| match wanted.non_negative && wanted.from_zero {
        true => value.max(0),
        false => value,
    };
    // Large values keep their digits: what was added is rounded.
    let mut whole: Vec<i128> = Vec::with_capacity(cells);
    for &place in &order {
        let from = first[place];
        let added = |(at, &value): (usize, &i128)| {
            kept(value + (after[from + at] - before[from + at]).round() as i128)
        };
        whole.extend(levels[place].values.iter().enumerate().map(added));
    }
    if let Some(base) = base {
        let complete = levels.iter().filter(|level| level.complete);
        let kinds: Vec<(Keys, f64)> = complete.map(|l| (keys_of(l), l.variance)).collect();
        let used: Vec<usize> = (0..sizes.len())
            .map(|key| if levels[base].keys.contains(&key) { sizes[key] } else { 1 })
            .collect();
        let table = Complete::new(&used, &kinds);
        let own = first[base]..first[base] + levels[base].values.len();
        let placed = places(&table, &levels[base])?;
        let mut fine = vec![0.0; placed.len()];
        after[own.clone()].iter().zip(&placed).for_each(|(value, &place)| fine[place] = *value);
        let rounded = table.rounded(&fine);
        whole[own]
            .iter_mut()
            .zip(&placed)
            .for_each(|(value, &place)| *value = kept(rounded[place]));
        for sums in wholes.iter().filter(|(_, parts, _)| *parts == base).flat_map(|(.., own)| own) {
            if sums.complete {
                whole[sums.whole] = sums.parts.iter().map(|&part| whole[part]).sum();
            }
        }
    }
    for (_, _, own) in &wholes {
        for sums in own.iter().filter(|own| !own.complete) {
            lowered(&mut whole, sums, wanted.non_negative);
        }
    }
    for (place, level) in levels.iter_mut().enumerate() {
        let own = first[place]..first[place] + level.values.len();
        level.values.copy_from_slice(whole.get(own)?);
    }
    Some(())
}

/// The cells of a coarse level with those of a fine one that they are made of. Parts whose whole is
/// not shown are in none.
fn together(
    (coarse, coarse_from): (&LevelCells, usize),
    (fine, fine_from): (&LevelCells, usize),
    complete: bool,
) -> Option<Vec<Whole>> {
    let key = |level: &LevelCells, columns: &[usize], cell: usize| -> Vec<usize> {
        columns.iter().map(|&column| level.codes[column][cell]).collect()
    };
    let own: Vec<usize> = (0..coarse.keys.len()).collect();
    let theirs = coarse.keys.iter().map(|key| fine.keys.iter().position(|own| own == key));
    let theirs = theirs.collect::<Option<Vec<_>>>()?;
    let mut by_key = HashMap::with_capacity(coarse.values.len());
    let mut wholes = Vec::with_capacity(coarse.values.len());
    for cell in 0..coarse.values.len() {
        by_key.insert(key(coarse, &own, cell), cell);
        wholes.push(Whole { whole: coarse_from + cell, parts: Vec::new(), complete });
    }
    for cell in 0..fine.values.len() {
        if let Some(&whole) = by_key.get(&key(fine, &theirs, cell)) {
            wholes[whole].parts.push(fine_from + cell);
        }
    }
    Some(wholes)
}

#[cfg(test)]
mod tests;
