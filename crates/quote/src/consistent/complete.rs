//! Least squares over complete tables: all combinations of their keys' values are there.
//!
//! Let x be the table of all keys, M_l the sums of its cells at level l, and y_l = M_l x + noise of
//! variance v_l. The weighted least-squares estimate is H^-1 b with H the sum of M_l' M_l / v_l and
//! b that of M_l' y_l / v_l (Gauss, Markov and Aitken: without bias, and no linear estimate without
//! bias has less variance in any cell of any level). On a complete table M_l' M_l = N_(not l)
//! Avg_l, where Avg_l puts in each cell the mean over those that agree with it on the keys of l,
//! and N counts cells. Averages are projections, and Avg_l Avg_k = Avg_(l and k). So with a family
//! of key sets that has all intersections of its members, every function g(H) is a sum of c_T Avg_T
//! over that family; the eigenvalue of H on what Avg_T keeps, and no average over fewer keys does,
//! is the sum of N_(not l) / v_l over all levels l that contain T, and the c of all sets from T
//! upwards add up to g of that. All of it takes one pass over the table for each set, and no
//! iteration.
//!
//! The variance of a cell of level T is the diagonal of M_T H^-1 M_T': N_(not T) times the sum of
//! c_U / N_(T without U).

/// Rounds of [`Complete::non_negative`] at most.
const MAX_ROUNDS: usize = 1000;

/// A set of keys, a bit for each.
pub(super) type KeySet = u32;

/// A table of all combinations of its keys' values, the last key's the fastest.
pub(super) struct Complete {
    /// How many values each key has.
    sizes: Vec<usize>,
    /// Each level's keys and the variance of its noise.
    levels: Vec<(KeySet, f64)>,
    /// The levels, the set of all keys and all their intersections, the largest first, each with
    /// the eigenvalue of H.
    family: Vec<(KeySet, f64)>,
}

impl Complete {
    pub(super) fn new(sizes: &[usize], levels: &[(KeySet, f64)]) -> Self {
        // A table without keys has one cell.
        let sizes = if sizes.is_empty() { vec![1] } else { sizes.to_vec() };
        let mut table = Self { sizes, levels: levels.to_vec(), family: Vec::new() };
        let mut sets = vec![table.all_keys()];
        for &(keys, _) in levels {
            let meets: Vec<KeySet> = sets.iter().map(|set| set & keys).chain([keys]).collect();
            sets.extend(meets);
            sets.sort_unstable();
            sets.dedup();
        }
        sets.sort_by_key(|set| std::cmp::Reverse(set.count_ones()));
        let weight = |&(keys, variance): &(KeySet, f64)| table.beside(keys) / variance;
        let eigenvalue = |set: KeySet| {
            let above = levels.iter().filter(|(keys, _)| set & !keys == 0);
            (set, above.map(weight).sum())
        };
        table.family = sets.into_iter().map(eigenvalue).collect();
        table
    }

    /// The number of cells.
    pub(super) fn cells(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The set of all keys.
    pub(super) fn all_keys(&self) -> KeySet {
        (1 << self.sizes.len()) - 1
    }

    /// How many values each key has.
    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Each level's keys and the variance of its noise.
    pub(super) fn levels(&self) -> &[(KeySet, f64)] {
        &self.levels
    }

    /// How many values these keys have together.
    pub(super) fn values(&self, keys: KeySet) -> f64 {
        let sizes = self.sizes.iter().enumerate().filter(|(key, _)| keys & (1 << key) != 0);
        sizes.map(|(_, &size)| size as f64).product()
    }

    /// How many cells of the table each cell of a level is the sum of.
    pub(super) fn beside(&self, keys: KeySet) -> f64 {
        self.values(!keys)
    }

    /// How far apart the cells of a level are in each key, and how many cells it has.
    pub(super) fn strides(&self, keys: KeySet) -> (Vec<usize>, usize) {
        let (mut strides, mut cells) = (vec![0; self.sizes.len()], 1);
        for (key, size) in self.sizes.iter().enumerate().rev() {
            if keys & (1 << key) != 0 {
                strides[key] = cells;
                cells *= size;
            }
        }
        (strides, cells)
    }

    /// Visits all cells in their order, each with its index in a level.
    fn visit(&self, keys: KeySet, mut visit: impl FnMut(usize, usize)) {
        let strides = self.strides(keys).0;
        let last = self.sizes.len() - 1;
        let (length, step) = (self.sizes[last], strides[last]);
        let mut digits = vec![0; last];
        let (mut cell, mut index) = (0, 0);
        while cell < self.cells() {
            for value in 0..length {
                visit(cell + value, index + value * step);
            }
            cell += length;
            for key in (0..last).rev() {
                digits[key] += 1;
                index += strides[key];
                if digits[key] < self.sizes[key] {
                    break;
                }
                index -= strides[key] * self.sizes[key];
                digits[key] = 0;
            }
        }
    }

    /// The sums of a table's cells at a level.
    pub(super) fn sums<T>(&self, table: &[T], keys: KeySet) -> Vec<T>
    where
        T: Copy + Default + std::ops::AddAssign,
    {
        let mut sums = vec![T::default(); self.strides(keys).1];
        self.visit(keys, |cell, index| sums[index] += table[cell]);
        sums
    }

    /// Adds a level's value to each of its cells.
    fn spread(&self, table: &mut [f64], keys: KeySet, values: &[f64], factor: f64) {
        self.visit(keys, |cell, index| table[cell] += factor * values[index]);
    }

    /// The factors of the averages that g(H) is the sum of.
    fn factors(&self, g: impl Fn(f64) -> f64) -> Vec<(KeySet, f64)> {
        let mut factors: Vec<(KeySet, f64)> = Vec::with_capacity(self.family.len());
        for &(set, eigenvalue) in &self.family {
            let above = factors.iter().filter(|(other, _)| set & !other == 0);
            let above: f64 = above.map(|(_, factor)| factor).sum();
            factors.push((set, g(eigenvalue) - above));
        }
        factors
    }

    /// The c_U of H^-1. Effects that no level measures are zero: of all tables that fit as well, it
    /// gives the most even one.
    pub(super) fn inverse(&self) -> Vec<(KeySet, f64)> {
        self.factors(|eigenvalue| if eigenvalue > 0.0 { 1.0 / eigenvalue } else { 0.0 })
    }

    fn apply(&self, factors: &[(KeySet, f64)], table: &[f64]) -> Vec<f64> {
        let mut result = vec![0.0; table.len()];
        for &(set, factor) in factors.iter().filter(|(_, factor)| *factor != 0.0) {
            let sums = self.sums(table, set);
            self.spread(&mut result, set, &sums, factor / self.beside(set));
        }
        result
    }

    /// The sum of M_l' y_l / v_l.
    fn weighted(&self, measured: &[Vec<f64>]) -> Vec<f64> {
        let mut all = vec![0.0; self.cells()];
        for (&(keys, variance), values) in self.levels.iter().zip(measured) {
            self.spread(&mut all, keys, values, 1.0 / variance);
        }
        all
    }

    /// The least-squares table of all keys, from the values of each level.
    pub(super) fn estimate(&self, measured: &[Vec<f64>]) -> Vec<f64> {
        self.apply(&self.inverse(), &self.weighted(measured))
    }

    /// The variance of each cell of a level in [`estimate`](Self::estimate).
    pub(super) fn variance(&self, keys: KeySet) -> f64 {
        let factors = self.inverse();
        let of = |&(set, factor): &(KeySet, f64)| factor / self.values(keys & !set);
        self.beside(keys) * factors.iter().map(of).sum::<f64>()
    }

    /// The least-squares table among those without cells below zero.
    ///
    /// By alternating directions (Boyd and others 2011, section 5.2): a table that fits, one that
    /// is not below zero, and the sum of their differences. It ends when no cell of the two differs
    /// by more than a ten-thousandth of the noise of a cell, or after 1,000 rounds; the result is
    /// never below zero.
    pub(super) fn non_negative(&self, measured: &[Vec<f64>]) -> Vec<f64> {
        let weighted = self.weighted(measured);
        let positive = self
            .family
            .iter()
            .map(|(_, eigenvalue)| *eigenvalue)
            .filter(|eigenvalue| *eigenvalue > 0.0);
        let penalty = positive.fold(f64::INFINITY, f64::min);
        let factors = self.factors(|eigenvalue| 1.0 / (eigenvalue + penalty));
        let near = 1e-4 / penalty.sqrt();
        let mut clipped: Vec<f64> =
            self.estimate(measured).into_iter().map(|value| value.max(0.0)).collect();
        let mut differences = vec![0.0; clipped.len()];
        for _ in 0..MAX_ROUNDS {
            let target = weighted.iter().zip(&clipped).zip(&differences);
            let target: Vec<f64> = target
                .map(|((weight, clipped), difference)| weight + penalty * (clipped - difference))
                .collect();
            let fitting = self.apply(&factors, &target);
            let mut farthest = 0f64;
            for ((fits, clipped), difference) in
                fitting.iter().zip(&mut clipped).zip(&mut differences)
            {
                let next = (fits + *difference).max(0.0);
                farthest = farthest.max((next - *clipped).abs()).max((fits - next).abs());
                *difference += fits - next;
                *clipped = next;
            }
            if farthest <= near {
                break;
            }
        }
        clipped
    }

    /// Whole numbers near a table, whose sums are near the table's at all levels. Each cell is
    /// rounded to the side that leaves the errors of the sums so far smaller, together. No cell
    /// moves past a whole number, so that a table that is not below zero stays so.
    pub(super) fn rounded(&self, table: &[f64]) -> Vec<i128> {
        let all = self.all_keys();
        let mut levels: Vec<(Vec<usize>, Vec<f64>)> = Vec::new();
        for &(keys, _) in self.levels.iter().filter(|(keys, _)| *keys != all) {
            let (strides, cells) = self.strides(keys);
            levels.push((strides, vec![0.0; cells]));
        }
        let many = (levels.len() + 1) as f64;
        let mut digits = vec![0; self.sizes.len()];
        let mut indexes = vec![0; levels.len()];
        let mut whole = Vec::with_capacity(table.len());
        for &value in table {
            let down = value.floor();
            let rest = value - down;
            let errors = levels.iter().zip(&indexes).map(|((_, errors), &index)| errors[index]);
            let up = errors.sum::<f64>() + many * (0.5 - rest) < 0.0;
            let error = if up { 1.0 - rest } else { -rest };
            whole.push(down as i128 + i128::from(up));
            for ((_, errors), &index) in levels.iter_mut().zip(&indexes) {
                errors[index] += error;
            }
            for key in (0..digits.len()).rev() {
                digits[key] += 1;
                let begins = digits[key] == self.sizes[key];
                for ((strides, _), index) in levels.iter().zip(&mut indexes) {
                    *index += strides[key];
                    if begins {
                        *index -= strides[key] * self.sizes[key];
                    }
                }
                if !begins {
                    break;
                }
                digits[key] = 0;
            }
        }
        whole
    }
}
