//! Shares of a budget for levels that fit each other: those with the least noise once the levels
//! are adjusted. They follow from the numbers of public values, and never from data.
//!
//! Proofs are in `theorems/intervals.md#shares-of-consistent-levels`.

use serde::Serialize;

/// The aim of a split of a budget over levels that fit each other: the least of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LevelShares {
    /// The largest variance of a number, of all levels.
    #[default]
    Largest,
    /// The sum of the variances of all numbers, of all levels.
    Sum,
    /// Nothing: all levels have the same share.
    Even,
}

impl LevelShares {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Largest, Self::Sum, Self::Even];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Largest => "LARGEST",
            Self::Sum => "SUM",
            Self::Even => "EVEN",
        }
    }

    /// The one with that name, in any letter case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name))
    }
}

/// A level of public keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedLevel {
    /// Its keys, a bit for each.
    pub(crate) keys: u32,
    /// The most groups that a unit enters.
    pub(crate) reach: f64,
}

/// The currency of a budget that levels share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Currency {
    /// Noise has a variance in inverse proportion to its share.
    Rho,
    /// Noise has a variance in inverse proportion to the square of its share.
    Epsilon,
}

/// All shares together, as whole numbers.
const WHOLE: f64 = 1e6;
/// The least share of a level, relative to an even one: every level is released, and is to have
/// noise that numbers hold.
const LEAST: f64 = 0.01;
/// Steps at most at one exponent.
const STEPS: usize = 200;
/// Shares are the best ones where no level's gain is above the mean one by more than this.
const NEAR: f64 = 1e-3;
/// The exponents of the means that come nearer and nearer to the largest variance.
const EXPONENTS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
/// Most pairs of a level and a set of keys: more are shared evenly.
const MAX_PAIRS: usize = 500_000;

/// The shares of levels, as weights; `None` where they are even. `sizes` counts the values of each
/// key.
pub(crate) fn weights(
    sizes: &[usize],
    levels: &[SharedLevel],
    currency: Currency,
    least: LevelShares,
) -> Option<Vec<u32>> {
    if levels.len() < 2 || least == LevelShares::Even {
        return None;
    }
    let family = Family::new(sizes, levels, currency)?;
    let even = vec![1.0 / levels.len() as f64; levels.len()];
    let best = family.best(&even, least);
    // Weights are the same on every machine, also where the last digits of doubles are not.
    let weights = best.iter().map(|share| (share * WHOLE).round().max(1.0) as u32);
    (best != even).then(|| weights.collect())
}

/// The levels and the intersections of their keys.
struct Family<'a> {
    levels: &'a [SharedLevel],
    currency: Currency,
    /// The groups of each level.
    groups: Vec<f64>,
    /// For each set of keys the levels that have all of them, and how many effects belong to it and
    /// to no smaller set.
    sets: Vec<(Vec<usize>, f64)>,
}

impl<'a> Family<'a> {
    fn new(sizes: &[usize], levels: &'a [SharedLevel], currency: Currency) -> Option<Self> {
        let groups = |keys: u32| {
            let of_key = sizes.iter().enumerate().filter(|(key, _)| keys & (1 << key) != 0);
            of_key.map(|(_, &size)| size as f64).product::<f64>()
        };
        let mut sets: Vec<u32> = Vec::new();
        for level in levels {
            let meets: Vec<u32> =
                sets.iter().map(|set| set & level.keys).chain([level.keys]).collect();
            sets.extend(meets);
            sets.sort_unstable();
            sets.dedup();
            if sets.len() * levels.len() > MAX_PAIRS {
                return None;
            }
        }
        sets.sort_by_key(|set| set.count_ones());
        let mut ranks: Vec<(u32, f64)> = Vec::with_capacity(sets.len());
        for set in sets {
            let within = ranks.iter().filter(|(other, _)| other & !set == 0);
            let rank = groups(set) - within.map(|(_, rank)| rank).sum::<f64>();
            ranks.push((set, rank));
        }
        let with_levels = |(set, rank): (u32, f64)| {
            let above = levels.iter().enumerate().filter(|(_, level)| set & !level.keys == 0);
            (above.map(|(at, _)| at).collect(), rank)
        };
        let groups = levels.iter().map(|level| groups(level.keys)).collect();
        Some(Self { levels, currency, groups, sets: ranks.into_iter().map(with_levels).collect() })
    }

    /// The power of a share to which variance is in inverse proportion.
    fn power(&self) -> i32 {
        match self.currency {
            Currency::Rho => 1,
            Currency::Epsilon => 2,
        }
    }

    /// How much larger a level's variance is as a unit enters several groups.
    fn spread(&self, level: usize) -> f64 {
        self.levels[level].reach.powi(self.power())
    }

    /// How much shares measure of each set of keys: the sum over the levels that have them of one
    /// over their variance and their groups.
    fn measured(&self, shares: &[f64]) -> Vec<f64> {
        let of_level =
            |&at: &usize| shares[at].powi(self.power()) / (self.spread(at) * self.groups[at]);
        self.sets.iter().map(|(levels, _)| levels.iter().map(of_level).sum()).collect()
    }

    /// The variance of a cell of each level when the levels fit each other.
    fn variances(&self, measured: &[f64]) -> Vec<f64> {
        let mut variances = vec![0.0; self.levels.len()];
        for ((levels, rank), measured) in self.sets.iter().zip(measured) {
            levels.iter().for_each(|&at| variances[at] += rank / measured);
        }
        for (variance, groups) in variances.iter_mut().zip(&self.groups) {
            *variance /= groups * groups;
        }
        variances
    }

    /// How fast the sum of variances, by these weights, falls with what each level measures, in
    /// each level.
    fn gains(&self, shares: &[f64], measured: &[f64], weights: &[f64]) -> Vec<f64> {
        let mut gains = vec![0.0; shares.len()];
        for ((levels, rank), measured) in self.sets.iter().zip(measured) {
            let weight = |&at: &usize| weights[at] / (self.groups[at] * self.groups[at]);
            let needed: f64 = levels.iter().map(weight).sum();
            let slope = rank * needed / (measured * measured);
            levels.iter().for_each(|&at| gains[at] += slope);
        }
        for (at, gain) in gains.iter_mut().enumerate() {
            let share = shares[at].powi(self.power() - 1);
            *gain *= share / (self.groups[at] * self.spread(at));
        }
        gains
    }

    fn objective(&self, variances: &[f64], least: LevelShares) -> f64 {
        match least {
            LevelShares::Sum => variances.iter().zip(&self.groups).map(|(v, n)| v * n).sum(),
            LevelShares::Largest | LevelShares::Even => {
                variances.iter().copied().fold(0.0, f64::max)
            }
        }
    }

    /// The best shares that are found from `even` on, never worse than these.
    fn best(&self, even: &[f64], least: LevelShares) -> Vec<f64> {
        let exponents = if least == LevelShares::Sum { &EXPONENTS[..1] } else { &EXPONENTS };
        let many = even.len() as f64;
        let mut shares = even.to_vec();
        let mut measured = self.measured(&shares);
        let mut variances = self.variances(&measured);
        let mut best = (self.objective(&variances, least) * (1.0 - NEAR), even.to_vec());
        for &exponent in exponents {
            for _ in 0..STEPS {
                let largest = variances.iter().copied().fold(0.0, f64::max);
                let weight = |(variance, groups): (&f64, &f64)| match least {
                    LevelShares::Sum => *groups,
                    _ => (variance / largest).powf(exponent - 1.0),
                };
                let weights: Vec<f64> = variances.iter().zip(&self.groups).map(weight).collect();
                let gains = self.gains(&shares, &measured, &weights);
                let mean: f64 = gains.iter().zip(&shares).map(|(gain, share)| gain * share).sum();
                let most = gains.iter().copied().fold(0.0, f64::max);
                if most <= mean * (1.0 + NEAR) {
                    break;
                }
                let step = 1.0 / (f64::from(self.power()) * exponent + 1.0);
                let moved = shares.iter().zip(&gains);
                shares = moved
                    .map(|(share, gain)| (share * (gain / mean).powf(step)).max(LEAST / many))
                    .collect();
                let sum: f64 = shares.iter().sum();
                shares.iter_mut().for_each(|share| *share /= sum);
                measured = self.measured(&shares);
                variances = self.variances(&measured);
                let found = self.objective(&variances, least);
                if found < best.0 {
                    best = (found, shares.clone());
                }
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests;
