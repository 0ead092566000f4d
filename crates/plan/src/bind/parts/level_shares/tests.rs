use super::*;

/// The sets of `many` keys of these numbers of keys.
fn sets(many: usize, of: &[u32]) -> Vec<SharedLevel> {
    let all = (0u32..1 << many).filter(|set| of.contains(&set.count_ones()));
    all.map(|keys| SharedLevel { keys, reach: 1.0 }).collect()
}

fn levels(sets: &[u32]) -> Vec<SharedLevel> {
    sets.iter().map(|&keys| SharedLevel { keys, reach: 1.0 }).collect()
}

fn groups(sizes: &[usize], keys: u32) -> f64 {
    let of_key = sizes.iter().enumerate().filter(|(key, _)| keys & (1 << key) != 0);
    of_key.map(|(_, &size)| size as f64).product()
}

/// The least sum of the levels' variances with these weights at a cost of one, by ResidualPlanner:
/// the square of a sum over all sets of keys that a level has.
fn residual_bound(sizes: &[usize], levels: &[SharedLevel], weights: &[f64]) -> f64 {
    let mut root = 0.0;
    for set in 0u32..1 << sizes.len() {
        let mut needed = 0.0;
        for (level, weight) in levels.iter().zip(weights) {
            if set & !level.keys == 0 {
                needed += weight / groups(sizes, level.keys).powi(2);
            }
        }
        if needed > 0.0 {
            let of_key = sizes.iter().enumerate().filter(|(key, _)| set & (1 << key) != 0);
            let rank: f64 = of_key.map(|(_, &size)| size as f64 - 1.0).product();
            root += rank * f64::sqrt(needed);
        }
    }
    root * root
}

fn cells(sizes: &[usize], levels: &[SharedLevel]) -> Vec<f64> {
    levels.iter().map(|level| groups(sizes, level.keys)).collect()
}

/// The best shares and their variances.
fn best(
    sizes: &[usize],
    levels: &[SharedLevel],
    currency: Currency,
    least: LevelShares,
) -> (Vec<f64>, Vec<f64>) {
    let many = levels.len();
    let shares = weights(sizes, levels, currency, least).unwrap_or_else(|| vec![1; many]);
    let sum: f64 = shares.iter().map(|&share| f64::from(share)).sum();
    let shares: Vec<f64> = shares.iter().map(|&share| f64::from(share) / sum).collect();
    let family = Family::new(sizes, levels, currency).unwrap();
    let variances = family.variances(&family.measured(&shares));
    (shares, variances)
}

fn sum_of(sizes: &[usize], levels: &[SharedLevel], variances: &[f64]) -> f64 {
    cells(sizes, levels).iter().zip(variances).map(|(n, v)| n * v).sum()
}

fn largest(variances: &[f64]) -> f64 {
    variances.iter().copied().fold(0.0, f64::max)
}

/// The sum of variances at even shares.
fn even(sizes: &[usize], levels: &[SharedLevel], currency: Currency) -> Vec<f64> {
    let family = Family::new(sizes, levels, currency).unwrap();
    let shares = vec![1.0 / levels.len() as f64; levels.len()];
    family.variances(&family.measured(&shares))
}

const ADULT: [usize; 14] = [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2];
const CPS: [usize; 5] = [50, 100, 7, 4, 2];

/// The inverse of a matrix.
fn inverse(matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let many = matrix.len();
    let unit = |row: usize| (0..many).map(move |at| f64::from(u8::from(row == at)));
    let rows = matrix.into_iter().enumerate();
    let mut rows: Vec<Vec<f64>> =
        rows.map(|(at, row)| row.into_iter().chain(unit(at)).collect()).collect();
    for column in 0..many {
        let scale = rows[column][column];
        let pivot: Vec<f64> = rows[column].iter().map(|x| x / scale).collect();
        for row in &mut rows {
            let factor = row[column];
            row.iter_mut().zip(&pivot).for_each(|(x, of_pivot)| *x -= factor * of_pivot);
        }
        rows[column] = pivot;
    }
    rows.into_iter().map(|row| row[many..].to_vec()).collect()
}

#[test]
fn variances_are_those_of_dense_least_squares() {
    let sizes = [2, 3, 4];
    let all = groups(&sizes, 7) as usize;
    let index = |cell: usize, keys: u32| -> usize {
        let digits = [cell % 2, cell / 2 % 3, cell / 6];
        let mut index = 0;
        for (key, digit) in digits.iter().enumerate() {
            if keys & (1 << key) != 0 {
                index = index * sizes[key] + digit;
            }
        }
        index
    };
    for (currency, of) in [
        (Currency::Rho, vec![7, 3, 1, 0]),
        (Currency::Epsilon, vec![7, 6, 5, 0]),
        (Currency::Rho, vec![7, 6, 5, 4, 3, 2, 1, 0]),
    ] {
        let mut levels = levels(&of);
        levels[0].reach = 3.0;
        levels[1].reach = 2.0;
        let many = levels.len();
        let shares: Vec<f64> =
            (1..=many).map(|at| 2.0 * at as f64 / (many * (many + 1)) as f64).collect();
        let family = Family::new(&sizes, &levels, currency).unwrap();
        let variances = family.variances(&family.measured(&shares));
        let power = if currency == Currency::Rho { 1 } else { 2 };
        let mut h = vec![vec![0.0; all]; all];
        for (level, share) in levels.iter().zip(&shares) {
            let precision = (share / level.reach).powi(power);
            for (row, of_row) in h.iter_mut().enumerate() {
                for (cell, value) in of_row.iter_mut().enumerate() {
                    if index(row, level.keys) == index(cell, level.keys) {
                        *value += precision;
                    }
                }
            }
        }
        let covariance = inverse(h);
        for (level, variance) in levels.iter().zip(variances) {
            let of_first: Vec<usize> =
                (0..all).filter(|&cell| index(cell, level.keys) == 0).collect();
            let pairs = of_first.iter().flat_map(|&a| of_first.iter().map(move |&b| (a, b)));
            let sum: f64 = pairs.map(|(a, b)| covariance[a][b]).sum();
            assert!((variance / sum - 1.0).abs() < 1e-9, "{variance} {sum}");
        }
    }
}

/// Xiao, He, Zhang & Kifer 2023: the roots of the mean squared error at a cost of one.
#[test]
fn the_bound_is_that_of_the_paper() {
    for (sizes, of, rmse) in [
        (&ADULT[..], &[1][..], 3.047),
        (&ADULT, &[2], 6.359),
        (&ADULT, &[3], 10.515),
        (&ADULT, &[0, 1, 2, 3], 10.665),
        (&CPS, &[1], 1.744),
        (&CPS, &[2], 2.035),
        (&CPS, &[3], 2.048),
        (&CPS, &[0, 1, 2, 3], 2.276),
    ] {
        let levels = sets(sizes.len(), of);
        let cells = cells(sizes, &levels);
        let bound = residual_bound(sizes, &levels, &cells) / cells.iter().sum::<f64>();
        assert!((bound.sqrt() - rmse).abs() < 6e-4, "{} {rmse}", bound.sqrt());
    }
}

#[test]
fn cubes_and_rollups_reach_the_bound() {
    let cubes = [vec![10, 10, 10], vec![50, 12], vec![2, 2, 2], vec![3, 7, 2, 20]];
    for sizes in cubes {
        let many = sizes.len();
        let levels = sets(many, &(0..=many as u32).collect::<Vec<_>>());
        let (shares, variances) = best(&sizes, &levels, Currency::Rho, LevelShares::Sum);
        let bound = residual_bound(&sizes, &levels, &cells(&sizes, &levels));
        let sum = sum_of(&sizes, &levels, &variances);
        assert!((1.0..1.001).contains(&(sum / bound)), "{sizes:?}: {sum} {bound}");
        // The shares in closed form.
        let closed = |level: &SharedLevel| {
            let rest = sizes.iter().enumerate().filter(|(key, _)| level.keys & (1 << key) == 0);
            let rest: f64 = rest.map(|(_, &size)| (size as f64 + 1.0).sqrt() - 1.0).product();
            groups(&sizes, level.keys) * rest
        };
        let all: f64 = levels.iter().map(closed).sum();
        for (level, share) in levels.iter().zip(shares) {
            assert!((closed(level) / all - share).abs() < 0.01, "{sizes:?} {level:?} {share}");
        }
    }
    let sizes = [5, 20, 12];
    let levels = levels(&[0, 1, 3, 7]);
    let (shares, variances) = best(&sizes, &levels, Currency::Rho, LevelShares::Sum);
    let bound = residual_bound(&sizes, &levels, &cells(&sizes, &levels));
    let sum = sum_of(&sizes, &levels, &variances);
    assert!((1.0..1.001).contains(&(sum / bound)), "{sum} {bound}");
    let needed: Vec<f64> = (0..=4)
        .map(|from| levels[from.min(4)..].iter().map(|l| 1.0 / groups(&sizes, l.keys)).sum())
        .collect();
    let closed = (0..4).map(|at| {
        groups(&sizes, levels[at].keys) * (f64::sqrt(needed[at]) - f64::sqrt(needed[at + 1]))
    });
    let closed: Vec<f64> = closed.collect();
    let all: f64 = closed.iter().sum();
    for (closed, share) in closed.iter().zip(shares) {
        assert!((closed / all - share).abs() < 0.01, "{closed} {all} {share}");
    }
}

/// Noise that is independent from cell to cell measures some sets of keys more than once where sets
/// overlap and none has all keys.
#[test]
fn other_sets_of_keys_come_near_the_bound() {
    for (sizes, of, most) in [
        (&ADULT[..], &[1][..], 1.012),
        (&ADULT, &[2], 1.024),
        (&ADULT, &[3], 1.036),
        (&ADULT, &[0, 1, 2, 3], 1.027),
        (&CPS, &[1], 1.008),
        (&CPS, &[2], 1.016),
        (&CPS, &[3], 1.021),
        (&CPS, &[0, 1, 2, 3], 1.002),
    ] {
        let levels = sets(sizes.len(), of);
        let cells = cells(sizes, &levels);
        let (_, variances) = best(sizes, &levels, Currency::Rho, LevelShares::Sum);
        let sum = sum_of(sizes, &levels, &variances);
        let even = sum_of(sizes, &levels, &even(sizes, &levels, Currency::Rho));
        let bound = residual_bound(sizes, &levels, &cells);
        let (ratio, of_even) = ((sum / bound).sqrt(), (even / bound).sqrt());
        println!("{} keys, {of:?}: {ratio:.4} of the bound, evenly {of_even:.4}", sizes.len());
        assert!(ratio >= 1.0 - 1e-9 && ratio < most && ratio < of_even, "{ratio} {of_even}");
    }
}

/// No shares have less: the variances weighted by any numbers are at least their least sum, which
/// is convex in the shares.
#[test]
fn the_largest_variance_is_the_least_there_is() {
    for (sizes, levels) in [
        (&[5, 20, 12][..], levels(&[0, 1, 3, 7])),
        (&[50, 3], levels(&[0, 1, 3])),
        (&CPS, sets(5, &[3])),
        (&CPS, sets(5, &[0, 1, 2, 3])),
        (&ADULT, sets(14, &[1])),
        (&ADULT, sets(14, &[2])),
    ] {
        let (shares, variances) = best(sizes, &levels, Currency::Rho, LevelShares::Largest);
        let most = largest(&variances);
        assert!(most <= largest(&even(sizes, &levels, Currency::Rho)) * (1.0 + 1e-5));
        let family = Family::new(sizes, &levels, Currency::Rho).unwrap();
        let mut bound = 0f64;
        for exponent in [32.0, 64.0, 128.0, 256.0, 512.0] {
            let weights: Vec<f64> = variances.iter().map(|v| (v / most).powf(exponent)).collect();
            let measured = family.measured(&shares);
            let gains = family.gains(&shares, &measured, &weights);
            let sum: f64 = weights.iter().zip(&variances).map(|(w, v)| w * v).sum();
            let steepest = largest(&gains);
            bound = bound.max((2.0 * sum - steepest) / weights.iter().sum::<f64>());
        }
        println!("{} levels: {:.4} of the least", levels.len(), most / bound);
        assert!(most / bound < 1.03, "{most} {bound}");
    }
}

#[test]
fn cubes_have_the_least_largest_variance_evenly() {
    for sizes in [vec![10, 10, 10], vec![50, 12], vec![2, 3, 4, 5]] {
        let many = sizes.len();
        let levels = sets(many, &(0..=many as u32).collect::<Vec<_>>());
        assert_eq!(weights(&sizes, &levels, Currency::Rho, LevelShares::Largest), None);
        // All levels have the same variance, and it is the residual bound of that.
        let variances = even(&sizes, &levels, Currency::Rho);
        let most = largest(&variances);
        assert!(variances.iter().all(|v| (v / most - 1.0).abs() < 1e-9), "{variances:?}");
        let weight = |level: &SharedLevel| {
            let keys = sizes.iter().enumerate().filter(|(key, _)| level.keys & (1 << key) != 0);
            keys.map(|(_, &size)| size as f64 / (size as f64 + 2.0)).product::<f64>()
        };
        let weights: Vec<f64> = levels.iter().map(weight).collect();
        let bound = residual_bound(&sizes, &levels, &weights) / weights.iter().sum::<f64>();
        assert!((most / bound - 1.0).abs() < 1e-9, "{most} {bound}");
    }
}

#[test]
fn shares_of_epsilon_are_no_worse_than_even_ones() {
    for least in [LevelShares::Sum, LevelShares::Largest] {
        for (sizes, levels) in [
            (&[10, 10, 10][..], sets(3, &[0, 1, 2, 3])),
            (&[2, 2, 2], sets(3, &[0, 1, 2, 3])),
            (&[5, 20, 12], levels(&[0, 1, 3, 7])),
            (&CPS, sets(5, &[2, 3])),
        ] {
            let (shares, variances) = best(sizes, &levels, Currency::Epsilon, least);
            let even = even(sizes, &levels, Currency::Epsilon);
            let objective = |variances: &[f64]| match least {
                LevelShares::Sum => sum_of(sizes, &levels, variances),
                _ => largest(variances),
            };
            assert!(objective(&variances) <= objective(&even) * (1.0 + 1e-5));
            let least_share = LEAST / levels.len() as f64;
            assert!(shares.iter().all(|share| *share > 0.7 * least_share), "{shares:?}");
        }
    }
    // Where nothing is in common, shares are as the cube roots of the numbers of groups.
    let sizes = [1_000, 8];
    let levels = levels(&[1, 2]);
    let (shares, _) = best(&sizes, &levels, Currency::Epsilon, LevelShares::Sum);
    assert!((shares[0] / shares[1] - 5.0).abs() < 0.1, "{shares:?}");
}

#[test]
fn levels_that_cannot_gain_share_evenly() {
    let none = |sizes: &[usize], levels: &[SharedLevel], least| {
        weights(sizes, levels, Currency::Rho, least).is_none()
    };
    assert!(none(&[9], &levels(&[1]), LevelShares::Sum));
    assert!(none(&[9], &levels(&[0, 1]), LevelShares::Even));
    assert!(none(&[1, 1], &levels(&[0, 1, 3]), LevelShares::Sum));
    // Thousands of intersections are not looked at.
    let sizes = [2; 20];
    assert!(none(&sizes, &sets(20, &[19, 18, 17]), LevelShares::Sum));
}
