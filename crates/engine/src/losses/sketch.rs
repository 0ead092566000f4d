//! The distribution of a loss over many records, in little memory.

use std::collections::BTreeMap;

use serde::Serialize;

/// Bins per doubling: a loss is told up to 0.07 %, rounded up.
const BINS: f64 = 1024.0;

/// Shares of the records that quantiles are told of.
const QUANTILES: [f64; 9] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

/// How many records have which loss.
#[derive(Clone)]
pub(super) struct Sketch {
    /// By the power of two above, in parts of a doubling.
    bins: BTreeMap<i64, u64>,
    none: u64,
    records: u64,
    above: u64,
    limit: f64,
    largest: f64,
}

/// The distribution of a loss over records or owners. About the exact data.
#[derive(Clone, Debug, Serialize)]
pub struct Distribution {
    /// How many of them lose more than the query's rho, that of a record at the thresholds.
    pub above_rho: u64,
    /// The same as a share of all.
    pub share_above_rho: f64,
    /// Losses that so large a share does not exceed, rounded up by less than 0.07 %.
    pub quantiles: Vec<Quantile>,
    /// The largest loss.
    pub largest: f64,
    /// (loss, share that loses no more), for a picture.
    #[serde(skip)]
    pub curve: Vec<(f64, f64)>,
}

/// A quantile of a distribution.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantile {
    /// The share.
    pub share: f64,
    /// The loss, in rho.
    pub loss: f64,
}

impl Sketch {
    /// Of nothing yet; `limit` is the rho that losses are compared with.
    pub(super) fn new(limit: f64) -> Self {
        Self { bins: BTreeMap::new(), none: 0, records: 0, above: 0, limit, largest: 0.0 }
    }

    /// One more record, which loses that much.
    pub(super) fn add(&mut self, loss: f64) {
        self.records += 1;
        // What rounding up has added to a loss at the limit is not more than the limit.
        self.above += u64::from(loss > self.limit * (1.0 + 1e-9));
        self.largest = self.largest.max(loss);
        if loss > 0.0 {
            *self.bins.entry((loss.log2() * BINS).ceil() as i64).or_default() += 1;
        } else {
            self.none += 1;
        }
    }

    pub(super) fn distribution(&self) -> Distribution {
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
            Quantile { share, loss: reached.map_or(self.largest, |(loss, _)| *loss) }
        };
        Distribution {
            above_rho: self.above,
            share_above_rho: self.above as f64 / all,
            quantiles: QUANTILES.into_iter().map(quantile).collect(),
            largest: self.largest,
            curve,
        }
    }

    pub(super) fn records(&self) -> u64 {
        self.records
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
        let told = sketch.distribution();
        // 0.501 to 0.999 are above 0.5.
        assert_eq!((told.above_rho, sketch.records()), (499, 1000));
        assert_eq!(told.share_above_rho, 0.499);
        assert_eq!(told.largest, 0.999);
        for Quantile { share, loss } in told.quantiles {
            let exact = losses[(share * 1000.0).ceil() as usize - 1];
            assert!(loss >= exact && loss <= exact * 1.0007 + 1e-12, "{share} {loss} {exact}");
        }
        assert_eq!(told.curve[0], (0.0, 0.001));
        assert_eq!(told.curve.last(), Some(&(0.999, 1.0)));
    }
}
