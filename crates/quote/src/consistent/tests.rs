mod coverage;

use hushtable_noise::{DiscreteLaplace, Law, Ratio, TestSeed};
use hushtable_testkit::Dice;
use proptest::prelude::*;

use super::complete::{Complete, KeySet};
use super::*;

/// All cells of the complete level of these keys, without values.
fn level(sizes: &[usize], keys: &[usize], variance: f64) -> LevelCells {
    let cells: usize = keys.iter().map(|&key| sizes[key]).product();
    let mut codes = vec![Vec::with_capacity(cells); keys.len()];
    for cell in 0..cells {
        let mut rest = cell;
        for (column, &key) in codes.iter_mut().zip(keys).rev() {
            column.push(rest % sizes[key]);
            rest /= sizes[key];
        }
    }
    LevelCells { keys: keys.to_vec(), codes, complete: true, values: vec![0; cells], variance }
}

/// Which cells of the table of all keys each cell of a level is the sum of, as rows of zeros and
/// ones.
fn rows_of(sizes: &[usize], level: &LevelCells) -> Vec<Vec<f64>> {
    let all = self::level(sizes, &(0..sizes.len()).collect::<Vec<_>>(), 1.0);
    let row = |cell: usize| {
        let within = |at: usize| {
            level
                .keys
                .iter()
                .zip(&level.codes)
                .all(|(&key, codes)| all.codes[key][at] == codes[cell])
        };
        (0..all.values.len()).map(|at| f64::from(u8::from(within(at)))).collect()
    };
    (0..level.values.len()).map(row).collect()
}

/// The inverse of a matrix, by elimination with pivots.
fn inverse(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    let mut b: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for column in 0..n {
        let pivot = (column..n).max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()));
        a.swap(column, pivot.unwrap());
        b.swap(column, pivot.unwrap());
        let by = a[column][column];
        a[column].iter_mut().chain(&mut b[column]).for_each(|x| *x /= by);
        for row in (0..n).filter(|&row| row != column) {
            let by = a[row][column];
            for at in 0..n {
                a[row][at] -= by * a[column][at];
                b[row][at] -= by * b[column][at];
            }
        }
    }
    b
}

/// The least-squares table of all keys by dense normal equations, and the inverse of their matrix.
fn dense(sizes: &[usize], levels: &[LevelCells], values: &[Vec<f64>]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let cells: usize = sizes.iter().product();
    let (mut normal, mut right) = (vec![vec![0.0; cells]; cells], vec![0.0; cells]);
    for (level, values) in levels.iter().zip(values) {
        for (row, value) in rows_of(sizes, level).iter().zip(values) {
            for i in 0..cells {
                right[i] += row[i] * value / level.variance;
                for j in 0..cells {
                    normal[i][j] += row[i] * row[j] / level.variance;
                }
            }
        }
    }
    let inverse = inverse(normal);
    let dot = |row: &Vec<f64>| row.iter().zip(&right).map(|(a, b)| a * b).sum();
    (inverse.iter().map(dot).collect(), inverse)
}

fn kinds(levels: &[LevelCells]) -> Vec<(KeySet, f64)> {
    levels.iter().map(|level| (keys_of(level), level.variance)).collect()
}

/// Levels of a ROLLUP, a CUBE, and sets that have all keys together only in one.
fn shapes() -> Vec<(Vec<usize>, Vec<Vec<usize>>)> {
    vec![
        (vec![3], vec![vec![0], vec![]]),
        (vec![2, 3, 2], vec![vec![0, 1, 2], vec![0, 1], vec![0], vec![]]),
        (vec![3, 2], vec![vec![0, 1], vec![0], vec![1], vec![]]),
        (vec![2, 3, 2], vec![vec![0, 1, 2], vec![0, 1], vec![1, 2], vec![2]]),
        (vec![4, 2], vec![vec![0, 1], vec![1]]),
    ]
}

fn numbers(seed: u64, many: usize) -> Vec<f64> {
    let mut dice = Dice::new(seed);
    (0..many).map(|_| dice.uniform()).collect()
}

proptest! {
    #[test]
    fn estimates_are_those_of_dense_least_squares(seed in any::<u64>(), shape in 0usize..5) {
        let (sizes, sets) = shapes().swap_remove(shape);
        let variances = numbers(seed ^ 1, sets.len());
        let levels: Vec<LevelCells> = sets
            .iter()
            .zip(&variances)
            .map(|(keys, v)| level(&sizes, keys, 0.2 + 9.0 * v))
            .collect();
        let all: usize = levels.iter().map(|level| level.values.len()).sum();
        let mut rest = numbers(seed, all).into_iter().map(|x| 100.0 * x);
        let values: Vec<Vec<f64>> =
            levels.iter().map(|l| rest.by_ref().take(l.values.len()).collect()).collect();
        let table = Complete::new(&sizes, &kinds(&levels));
        let (got, (want, inverse)) = (table.estimate(&values), dense(&sizes, &levels, &values));
        for (got, want) in got.iter().zip(&want) {
            prop_assert!((got - want).abs() < 1e-8 * (1.0 + want.abs()), "{got} {want}");
        }
        for level in &levels {
            let row = &rows_of(&sizes, level)[0];
            let with = |i: usize| row.iter().zip(&inverse[i]).map(|(a, b)| a * b).sum::<f64>();
            let want: f64 = (0..row.len()).map(|i| row[i] * with(i)).sum();
            let variance = table.variance(keys_of(level));
            prop_assert!((variance - want).abs() < 1e-8 * want, "{variance} {want}");
            // Every level gains.
            prop_assert!(variance < level.variance * (1.0 - 1e-9));
        }
    }

    #[test]
    fn noisy_cells_count_as_in_dense_least_squares(seed in any::<u64>(), shape in 0usize..7) {
        let (sizes, sets) = match shape {
            5 => (vec![2, 1, 3, 2], vec![vec![0, 1, 2, 3], vec![0, 2], vec![1, 3], vec![]]),
            6 => (vec![2, 3, 2], vec![vec![0, 1], vec![1, 2], vec![0, 2], vec![]]),
            shape => shapes().swap_remove(shape),
        };
        let variances = numbers(seed, sets.len());
        let levels: Vec<LevelCells> = sets
            .iter()
            .zip(&variances)
            .map(|(keys, v)| level(&sizes, keys, 0.2 + 9.0 * v))
            .collect();
        let table = Complete::new(&sizes, &kinds(&levels));
        // Without a level of all keys some effects are not measured, and no level shows them.
        let without = levels.iter().all(|level| level.keys.len() < sizes.len());
        let all = level(&sizes, &(0..sizes.len()).collect::<Vec<_>>(), 1e9);
        let measured = levels.iter().cloned().chain(without.then_some(all));
        let measured: Vec<LevelCells> = measured.collect();
        let values: Vec<Vec<f64>> = measured.iter().map(|l| vec![0.0; l.values.len()]).collect();
        let (_, inverse) = dense(&sizes, &measured, &values);
        for of in &levels {
            let rows = rows_of(&sizes, of);
            let row = &rows[seed as usize % rows.len()];
            let alike = table.alike(keys_of(of));
            let mut variance = 0.0;
            for (index, level) in levels.iter().enumerate() {
                let times = |cells: &Vec<f64>| -> f64 {
                    let with = |other: &Vec<f64>| -> f64 {
                        cells.iter().zip(other).map(|(a, b)| a * b).sum()
                    };
                    let all = row.iter().zip(&inverse).map(|(row, other)| row * with(other));
                    all.sum::<f64>() / level.variance
                };
                let mut want: Vec<f64> = rows_of(&sizes, level).iter().map(times).collect();
                let entries = alike.iter().filter(|entry| entry.level == index);
                let mut got: Vec<f64> =
                    entries.flat_map(|entry| vec![entry.times; entry.cells as usize]).collect();
                got.resize(want.len(), 0.0);
                want.sort_by(f64::total_cmp);
                got.sort_by(f64::total_cmp);
                for (got, want) in got.iter().zip(&want) {
                    // The dense solution has a level of variance 1e9 in place of none.
                    prop_assert!((got - want).abs() < 1e-5, "{got} {want}");
                }
                variance += level.variance * got.iter().map(|got| got * got).sum::<f64>();
            }
            let want = table.variance(keys_of(of));
            prop_assert!((variance - want).abs() < 1e-9 * want, "{variance} {want}");
        }
    }

    #[test]
    fn tables_from_zero_are_the_nearest_of_those(seed in any::<u64>(), shape in 0usize..5) {
        let (sizes, sets) = shapes().swap_remove(shape);
        let variances = numbers(seed ^ 1, sets.len());
        let levels: Vec<LevelCells> = sets
            .iter()
            .zip(&variances)
            .map(|(keys, v)| level(&sizes, keys, 0.2 + 9.0 * v))
            .collect();
        let all: usize = levels.iter().map(|level| level.values.len()).sum();
        let mut rest = numbers(seed, all).into_iter().map(|x| 12.0 * x - 5.0);
        let values: Vec<Vec<f64>> =
            levels.iter().map(|l| rest.by_ref().take(l.values.len()).collect()).collect();
        let table = Complete::new(&sizes, &kinds(&levels)).non_negative(&values);
        prop_assert!(table.iter().all(|x| *x >= 0.0));
        // The conditions of Karush, Kuhn and Tucker.
        let mut slope = vec![0.0; table.len()];
        for (level, values) in levels.iter().zip(&values) {
            for (row, value) in rows_of(&sizes, level).iter().zip(values) {
                let off: f64 = row.iter().zip(&table).map(|(a, b)| a * b).sum::<f64>() - value;
                slope.iter_mut().zip(row).for_each(|(s, a)| *s += a * off / level.variance);
            }
        }
        for (slope, x) in slope.iter().zip(&table) {
            prop_assert!(*slope > -0.2 && (*x < 1e-3 || slope.abs() < 0.2), "{slope} at {x}");
        }
    }

    #[test]
    fn whole_tables_add_up(seed in any::<u64>(), shape in 0usize..5, non_negative: bool) {
        let (sizes, sets) = shapes().swap_remove(shape);
        let mut levels: Vec<LevelCells> =
            sets.iter().map(|keys| level(&sizes, keys, 4.0)).collect();
        for (index, level) in levels.iter_mut().enumerate() {
            let noise = numbers(seed ^ index as u64, level.values.len());
            level.values = noise.iter().map(|x| (x * 40.0) as i128 - 10).collect();
        }
        let before = levels.clone();
        let options = AdjustOptions { from_zero: true, non_negative };
        let estimates = adjust(&sizes, &mut levels, options).unwrap();
        check_sums(&sizes, &levels);
        if non_negative {
            prop_assert!(levels.iter().all(|level| level.values.iter().all(|x| *x >= 0)));
        } else {
            // Rounding moves no sum by much.
            let values: Vec<Vec<f64>> =
                before.iter().map(|l| l.values.iter().map(|&x| x as f64).collect()).collect();
            let table = Complete::new(&sizes, &kinds(&before));
            let estimate = table.estimate(&values);
            for level in &levels {
                for (got, want) in level.values.iter().zip(table.sums(&estimate, keys_of(level))) {
                    prop_assert!((*got as f64 - want).abs() < 2.0, "{got} {want}");
                }
            }
        }
        // Intervals are around the least-squares numbers, also where none is to be below zero.
        let values: Vec<Vec<f64>> =
            before.iter().map(|l| l.values.iter().map(|&x| x as f64).collect()).collect();
        let table = Complete::new(&sizes, &kinds(&before));
        let estimate = table.estimate(&values);
        for (level, got) in levels.iter().zip(&estimates) {
            for (got, want) in got.iter().zip(table.sums(&estimate, keys_of(level))) {
                let near = (got.whole as f64 + got.rest - want).abs() < 1e-9;
                prop_assert!(near && got.rest.abs() <= 0.5, "{got:?} {want}");
            }
        }
        // The order of rows does not matter.
        let mut turned = before;
        for level in &mut turned {
            level.values.reverse();
            level.codes.iter_mut().for_each(|codes| codes.reverse());
        }
        adjust(&sizes, &mut turned, AdjustOptions { from_zero: true, non_negative }).unwrap();
        for (level, turned) in levels.iter().zip(&turned) {
            prop_assert!(level.values.iter().eq(turned.values.iter().rev()));
        }
    }

    #[test]
    fn parents_are_at_least_the_children_that_are_shown(
        seed in any::<u64>(),
        non_negative: bool,
        public: bool,
    ) {
        // Of a CUBE of two keys, some cells; with the first key's values public, all of its level.
        let sizes = [4, 6];
        let mut levels: Vec<LevelCells> = [vec![0, 1], vec![1], vec![0], vec![]]
            .iter()
            .map(|keys| level(&sizes, keys, 1.0 + keys.len() as f64))
            .collect();
        for (index, level) in levels.iter_mut().enumerate() {
            let cells = level.values.len();
            let noise = numbers(seed ^ (index as u64 + 7), cells);
            level.values = noise.iter().map(|x| (x * 30.0) as i128 - 6).collect();
            level.complete = (public && index == 2) || index == 3;
            if !level.complete {
                let draws = numbers(seed ^ (index as u64 + 77), cells);
                let keep = |cell: usize| draws[cell] > 0.3;
                level.values = (0..cells).filter(|&c| keep(c)).map(|c| level.values[c]).collect();
                for codes in &mut level.codes {
                    *codes = (0..cells).filter(|&c| keep(c)).map(|c| codes[c]).collect();
                }
            }
        }
        let before = levels.clone();
        adjust(&sizes, &mut levels, AdjustOptions { from_zero: true, non_negative }).unwrap();
        for coarse in &levels {
            let finer = |fine: &&LevelCells| {
                keys_of(fine) != keys_of(coarse) && keys_of(coarse) & !keys_of(fine) == 0
            };
            for fine in levels.iter().filter(finer) {
                let complete = coarse.complete && fine.complete;
                for family in together((coarse, 0), (fine, 0), complete).unwrap() {
                    let sum: i128 = family.children.iter().map(|&child| fine.values[child]).sum();
                    let value = coarse.values[family.parent];
                    let any = !family.children.is_empty();
                    let fits = if complete { value == sum } else { value >= sum || !any };
                    prop_assert!(fits, "{value} {sum}");
                }
            }
        }
        if non_negative {
            prop_assert!(levels.iter().all(|level| level.values.iter().all(|x| *x >= 0)));
        }
        // Sums that may be below zero say nothing about groups that are not shown.
        let mut signed = before.clone();
        adjust(&sizes, &mut signed, AdjustOptions { from_zero: false, non_negative }).unwrap();
        for (level, before) in signed.iter().zip(&before).filter(|(level, _)| !level.complete) {
            prop_assert_eq!(&level.values, &before.values);
        }
    }
}

proptest! {
    #[test]
    fn errors_do_not_grow(seed in any::<u64>()) {
        // Two cells with three children each, in a parent of their own.
        let exact = [60.0, 20.0, 30.0, 9.0, 8.0, 2.0, 20.0, 0.0, 5.0];
        let children: [&[usize]; 3] = [&[1, 2], &[3, 4, 5], &[6, 7, 8]];
        let families: Vec<CellFamily> = (0..3)
            .map(|parent| {
                let children = children[parent].to_vec();
                CellFamily { parent, children, complete: false }
            })
            .collect();
        let variances: Vec<f64> = numbers(seed, 9).iter().map(|x| 1.0 + 40.0 * x).collect();
        let noise = numbers(seed ^ 9, 9);
        let mut values: Vec<f64> =
            exact.iter().zip(&noise).map(|(x, n)| x + 40.0 * (n - 0.5)).collect();
        let error = |values: &[f64]| -> f64 {
            let off = values.iter().zip(&exact).zip(&variances);
            off.map(|((value, exact), variance)| (value - exact).powi(2) / variance).sum()
        };
        let before = error(&values);
        nearest(&mut values, &variances, &families, &(3..9).collect::<Vec<_>>());
        prop_assert!(error(&values) <= before * (1.0 + 1e-5), "{} {before}", error(&values));
        for family in &families {
            let sum: f64 = family.children.iter().map(|&child| values[child]).sum();
            prop_assert!(values[family.parent] >= sum - 1e-3);
        }
    }
}

fn check_sums(sizes: &[usize], levels: &[LevelCells]) {
    for coarse in levels {
        for fine in levels {
            if keys_of(coarse) & !keys_of(fine) == 0 {
                let fine_level = LevelCells { complete: true, ..fine.clone() };
                for family in together((coarse, 0), (&fine_level, 0), true).unwrap() {
                    let sum: i128 = family.children.iter().map(|&child| fine.values[child]).sum();
                    assert_eq!(coarse.values[family.parent], sum, "{sizes:?}");
                }
            }
        }
    }
}

#[test]
fn values_that_fit_stay() {
    let mut values = [10.0, 4.0, 3.0, 5.0];
    let family = |parent, children: &[usize]| CellFamily {
        parent,
        children: children.to_vec(),
        complete: false,
    };
    nearest(&mut values, &[1.0; 4], &[family(0, &[1, 2])], &[]);
    assert_eq!(values, [10.0, 4.0, 3.0, 5.0]);
    // Two children are 6 more than their parent: each of the three gives its share of variance.
    let mut values = [1.0, 4.0, 3.0, 5.0];
    nearest(&mut values, &[2.0, 1.0, 3.0, 1.0], &[family(0, &[1, 2])], &[]);
    assert_eq!(values, [3.0, 3.0, 0.0, 5.0]);
}

#[test]
fn cells_that_do_not_fit_their_level_are_refused() {
    let sizes = [2, 2];
    let mut twice = level(&sizes, &[0], 1.0);
    twice.codes = vec![vec![0, 0]];
    let options = AdjustOptions { from_zero: true, non_negative: false };
    assert!(adjust(&sizes, &mut [twice], options).is_none());
    let mut beyond = level(&sizes, &[0], 1.0);
    beyond.codes = vec![vec![0, 2]];
    assert!(adjust(&sizes, &mut [beyond], options).is_none());
    assert!(adjust(&sizes, &mut [level(&sizes, &[0], 0.0)], options).is_none());
}

#[test]
fn a_million_cells_gain_at_every_level_and_add_up() {
    // A CUBE of a hundred values of each of three keys: 1,030,301 cells in all.
    let sizes = [100, 100, 100];
    let sets: [&[usize]; 8] = [&[0, 1, 2], &[0, 1], &[0, 2], &[1, 2], &[0], &[1], &[2], &[]];
    let noise = DiscreteLaplace::new(Ratio::new(30, 1).unwrap());
    let variance = 1.0 / (2.0 * (0.5f64 / 30.0).sinh().powi(2));
    let mut generator = TestSeed(14).generator();
    let mut levels: Vec<LevelCells> =
        sets.iter().map(|keys| level(&sizes, keys, variance)).collect();
    let truth = |codes: &[usize]| (codes.iter().sum::<usize>() % 50) as i128;
    let base: Vec<i128> =
        (0..1_000_000).map(|cell| truth(&[cell / 10_000, cell / 100 % 100, cell % 100])).collect();
    let table = Complete::new(&sizes, &kinds(&levels));
    for level in &mut levels {
        level.values = table.sums(&base, keys_of(level));
        for value in &mut level.values {
            *value += noise.sample(&mut generator).unwrap();
        }
    }
    for non_negative in [false, true] {
        let mut adjusted = levels.clone();
        adjust(&sizes, &mut adjusted, AdjustOptions { from_zero: true, non_negative }).unwrap();
        for level in &adjusted {
            let sums = table.sums(&adjusted[0].values, keys_of(level));
            assert_eq!(level.values, sums);
            let exact = table.sums(&base, keys_of(level));
            let squares = |values: &[i128]| {
                values.iter().zip(&exact).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>()
                    / exact.len() as f64
            };
            let (error, variance) = (squares(&level.values), table.variance(keys_of(level)));
            println!(
                "{:?} {non_negative}: {error:.0} of {}; {variance:.0}",
                level.keys, level.variance
            );
            if !non_negative && level.keys.len() >= 2 {
                assert!((error / variance - 1.0).abs() < 0.1, "{error} {variance}");
            }
        }
    }
}

#[test]
fn levels_fit_with_noise_alone() {
    let mut dice = TestSeed(11).generator();
    let sizes = [3, 4];
    for (numerator, denominator) in [(10, 1), (1, 1), (1, 100)] {
        let scale = Ratio::new(denominator, numerator).unwrap();
        let law = DiscreteLaplace::new(scale);
        for _ in 0..500 {
            let keys: [&[usize]; 4] = [&[], &[0], &[1], &[0, 1]];
            let mut levels = keys.map(|keys| level(&sizes, keys, law.variance()));
            for level in &mut levels {
                let exact = 1200 / level.values.len() as i128;
                for value in &mut level.values {
                    *value = exact + law.sample(&mut dice).unwrap();
                }
            }
            assert_eq!(fit(&sizes, &levels), Some(true));
        }
    }
}

#[test]
fn levels_that_differ_by_more_than_noise_do_not_fit() {
    let sizes = [2, 3];
    let differ = |keys: [&[usize]; 2], by: i128| {
        let mut levels = keys.map(|keys| level(&sizes, keys, 4.0));
        levels[0].values[0] += by;
        let swapped = [levels[1].clone(), levels[0].clone()];
        let both = fit(&sizes, &levels).unwrap();
        assert_eq!(fit(&sizes, &swapped), Some(both));
        both
    };
    // A total and six cells: a standard deviation of sqrt(28), 30 of which are 158.7 steps.
    assert!(differ([&[], &[0, 1]], 158) && !differ([&[], &[0, 1]], 159));
    assert!(differ([&[], &[0, 1]], -158) && !differ([&[], &[0, 1]], -159));
    // Two margins have their total in common: sqrt(20), and 134.2 steps.
    assert!(differ([&[0], &[1]], 134) && !differ([&[0], &[1]], 135));
    // Less than a step of noise counts as one.
    let mut levels = [level(&sizes, &[], 1e-9), level(&sizes, &[0], 1e-9)];
    levels[0].values[0] = 30;
    assert_eq!(fit(&sizes, &levels), Some(true));
    levels[0].values[0] = 31;
    assert_eq!(fit(&sizes, &levels), Some(false));
    // Hidden groups may be anything.
    levels[1].complete = false;
    assert_eq!(fit(&sizes, &levels), Some(true));
}
