//! The distribution of a number over many records, in little memory.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::flat::flat;

/// Bins per doubling: a loss is known up to 0.07 %, rounded up.
const BINS: f64 = 1024.0;

/// Shares of the records that quantiles are reported for.
const QUANTILES: [f64; 9] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

/// How many records have which loss.
#[derive(Clone)]
pub(crate) struct Sketch {
    /// By the power of two above, in parts of a doubling.
    bins: BTreeMap<i64, u64>,
    none: u64,
    records: u64,
    above: u64,
    limit: f64,
    largest: f64,
}

flat!(Sketch { bins, none, records, above, limit, largest });

/// The distribution of a loss over records or owners. About the exact data.
#[derive(Clone, Debug, Serialize)]
pub struct Distribution {
    /// How many of them lose more than the query's rho, that of a record at the thresholds.
    pub above_rho: u64,
    /// Their share of all.
    pub share_above_rho: f64,
    /// Losses that so large a share does not exceed, rounded up by less than 0.07 %.
    pub quantiles: Vec<LossQuantile>,
    /// The largest loss.
    pub largest: f64,
    /// (loss, share that loses no more), for a picture.
    #[serde(skip)]
    pub curve: Vec<(f64, f64)>,
}

/// A quantile of a distribution.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LossQuantile {
    /// The share.
    pub share: f64,
    /// The loss, in rho.
    pub loss: f64,
}

impl Sketch {
    /// Of nothing yet; `limit` is the rho that losses are compared with.
    pub(crate) fn new(limit: f64) -> Self {
        Self { bins: BTreeMap::new(), none: 0, records: 0, above: 0, limit, largest: 0.0 }
    }

    /// One more record, which loses that much.
    pub(crate) fn add(&mut self, loss: f64) {
        self.records += 1;
        // A loss at the limit that was rounded up is not above the limit.
        self.above += u64::from(loss > self.limit * (1.0 + 1e-9));
        self.largest = self.largest.max(loss);
        if loss > 0.0 {
            *self.bins.entry((loss.log2() * BINS).ceil() as i64).or_default() += 1;
        } else {
            self.none += 1;
        }
    }

    pub(crate) fn distribution(&self) -> Distribution {
        let all = self.records.max(1) as f64;
        let mut curve = Vec::with_capacity(self.bins.len() + 1);
        let mut below = self.none;
        if below > 0 {
            curve.push((0.0, below as f64 / all));
        }
        for (&bin, count) in &self.bins {
            below += count;
            let loss = (bin as f64 / BINS).exp2().min(self.largest);
            curve.push((loss, below as f64 / all));
        }
        let quantile = |share: f64| {
            let reached = curve.iter().find(|(_, below)| *below >= share);
            LossQuantile { share, loss: reached.map_or(self.largest, |(loss, _)| *loss) }
        };
        Distribution {
            above_rho: self.above,
            share_above_rho: self.above as f64 / all,
            quantiles: QUANTILES.into_iter().map(quantile).collect(),
            largest: self.largest,
            curve,
        }
    }

    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Adds the records of another one.
    fn merge(&mut self, other: &Self) {
        for (&bin, count) in &other.bins {
            *self.bins.entry(bin).or_default() += count;
        }
        self.none += other.none;
        self.records += other.records;
        self.above += other.above;
        self.largest = self.largest.max(other.largest);
    }

    /// The number of that rank, 1 for the smallest.
    fn at_rank(&self, rank: u64) -> f64 {
        let mut below = self.none;
        if rank <= below {
            return 0.0;
        }
        for (&bin, count) in &self.bins {
            below += count;
            if rank <= below {
                return (bin as f64 / BINS).exp2().min(self.largest);
            }
        }
        self.largest
    }
}

/// Numbers of either sign. Secret: no Debug, Display or Serialize.
#[derive(Clone)]
pub(crate) struct SignedSketch {
    /// The sizes of those below zero.
    below: Sketch,
    /// The others.
    above: Sketch,
}

flat!(SignedSketch { below, above });

impl SignedSketch {
    /// Of nothing yet.
    pub(crate) fn new() -> Self {
        Self { below: Sketch::new(0.0), above: Sketch::new(0.0) }
    }

    /// One more number, which is not NaN.
    pub(crate) fn add(&mut self, number: f64) {
        let side = if number < 0.0 { &mut self.below } else { &mut self.above };
        side.add(number.abs());
    }

    /// Adds the numbers of another one.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.below.merge(&other.below);
        self.above.merge(&other.above);
    }

    /// The number that a share of all do not exceed, its size rounded up by less than 0.07 %; the
    /// smallest for a share of zero. `None` if there is none.
    pub(crate) fn at(&self, share: f64) -> Option<f64> {
        let (below, all) = (self.below.records, self.below.records + self.above.records);
        if all == 0 {
            return None;
        }
        let rank = ((share * all as f64).ceil() as u64).clamp(1, all);
        Some(match rank.checked_sub(below) {
            None | Some(0) => -self.below.at_rank(below - rank + 1),
            Some(rank) => self.above.at_rank(rank),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_losses() {
        let mut sketch = Sketch::new(0.5);
        let losses: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.001).collect();
        losses.iter().for_each(|&loss| sketch.add(loss));
        let reported = sketch.distribution();
        // 0.501 to 0.999 are above 0.5.
        assert_eq!((reported.above_rho, sketch.records()), (499, 1000));
        assert_eq!(reported.share_above_rho, 0.499);
        assert_eq!(reported.largest, 0.999);
        for LossQuantile { share, loss } in reported.quantiles {
            let exact = losses[(share * 1000.0).ceil() as usize - 1];
            assert!(loss >= exact && loss <= exact * 1.0007 + 1e-12, "{share} {loss} {exact}");
        }
        assert_eq!(reported.curve[0], (0.0, 0.001));
        assert_eq!(reported.curve.last(), Some(&(0.999, 1.0)));
    }

    #[test]
    fn quantiles_of_numbers_of_either_sign_are_those_of_the_numbers() {
        let mut numbers: Vec<f64> = (-300..=700).map(|i| f64::from(i * 37 % 501) * 0.25).collect();
        let (mut sketch, mut other) = (SignedSketch::new(), SignedSketch::new());
        assert_eq!(sketch.at(0.5), None);
        for (index, &number) in numbers.iter().enumerate() {
            if index % 3 == 0 { &mut other } else { &mut sketch }.add(number);
        }
        sketch.merge(&other);
        numbers.sort_by(f64::total_cmp);
        for share in [0.0, 0.01, 0.25, 0.29, 0.3, 0.31, 0.5, 0.99, 1.0] {
            let rank = ((share * 1001.0f64).ceil() as usize).max(1);
            let (exact, found) = (numbers[rank - 1], sketch.at(share).unwrap());
            assert!((found - exact).abs() <= exact.abs() * 0.0007, "{share} {found} {exact}");
            assert!(found.abs() >= exact.abs() * (1.0 - 1e-12), "{share} {found} {exact}");
        }
    }
}
