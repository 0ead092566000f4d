//! How much each noisy cell counts in an adjusted one.
//!
//! The adjusted cell A of level T is the sum over all levels l and their cells B of c(A, B) y(B),
//! with (G = H^-1 the sum of c_U Avg_U, see [`complete`](super::complete))
//!
//! ```text
//! c(A, B) = 1/v_l * sum of c_U * N_(not T) / (n_((U and l) without T) * n_(l without U))
//! ```
//!
//! over the sets U whose keys among those of T and l both have the same values in A and B. Here n
//! counts the values of keys together. *Proof.* The entry is that of M_T Avg_U M_l' / v_l. Of the
//! cells of the table, i in A and j in B have to agree on U. i is free in the keys that are not
//! T's, except for those of U and l, which B gives. Then j is free in the keys that neither l nor U
//! has. So there are N_(not T) / n_((U and l) without T) * N_(not (l or U)) pairs, each with 1 /
//! N_(not U), and N_(not U) = N_(not (l or U)) n_(l without U). So cells of a level that agree with
//! A on the same keys count alike, and how many these are is a product over keys.

use std::collections::BTreeMap;

use super::complete::{Complete, KeySet};

/// Noisy cells of a level that count alike in an adjusted cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Alike {
    /// The level's index.
    pub(super) level: usize,
    /// How much each of them counts.
    pub(super) times: f64,
    /// How many there are.
    pub(super) cells: f64,
}

impl Complete {
    /// The noisy cells of all levels in an adjusted cell of the level with the keys `of`. The cells
    /// of one level do not differ in this.
    pub(super) fn alike(&self, of: KeySet) -> Vec<Alike> {
        let factors = self.inverse();
        let mut all = Vec::new();
        for (level, &(keys, variance)) in self.levels().iter().enumerate() {
            // By the keys on which cells must agree.
            let mut terms: BTreeMap<KeySet, f64> = BTreeMap::new();
            for &(set, factor) in &factors {
                let apart = self.values(set & keys & !of) * self.values(keys & !set);
                *terms.entry(set & keys & of).or_default() += factor / apart;
            }
            let terms: Vec<(KeySet, f64)> = terms.into_iter().collect();
            // Cells that agree in the keys so far, by the terms that they can still be in.
            let mut cells: BTreeMap<Vec<bool>, f64> = BTreeMap::new();
            cells.insert(vec![true; terms.len()], self.values(keys & !of));
            for (key, size) in self.sizes().iter().enumerate() {
                let key: KeySet = 1 << key;
                if keys & of & key == 0 || *size < 2 {
                    continue;
                }
                let mut next: BTreeMap<Vec<bool>, f64> = BTreeMap::new();
                for (within, many) in cells {
                    let differ = within.iter().zip(&terms);
                    let differ =
                        differ.map(|(possible, (needed, _))| *possible && needed & key == 0);
                    *next.entry(differ.collect()).or_default() += many * (size - 1) as f64;
                    *next.entry(within).or_default() += many;
                }
                cells = next;
            }
            for (within, cells) in cells {
                let matching = within.iter().zip(&terms).filter(|(within, _)| **within);
                let sum: f64 = matching.map(|(_, (_, term))| term).sum();
                let times = self.beside(of) / variance * sum;
                if times != 0.0 {
                    all.push(Alike { level, times, cells });
                }
            }
        }
        all
    }
}
