//! Many numbers, seen by their quantiles.

/// Numbers in rising order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Distribution(Vec<f64>);

impl Distribution {
    /// Of these numbers.
    pub(crate) fn new(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        Self(numbers)
    }

    /// The numbers, in rising order.
    #[cfg(test)]
    pub(crate) fn sorted(&self) -> &[f64] {
        &self.0
    }

    /// The least number that a `share` of all is at or below; NaN if there is none.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.max(1) - 1).or(self.0.last()).copied().unwrap_or(f64::NAN)
    }

    /// The share of numbers above `bound`.
    pub(crate) fn share_above(&self, bound: f64) -> f64 {
        let below = self.0.partition_point(|number| *number <= bound);
        (self.0.len() - below) as f64 / self.0.len() as f64
    }
}

/// Shares of that many records, from all down to one: ten a decade.
pub(crate) fn tail(records: usize) -> impl Iterator<Item = f64> {
    let least = 1.0 / records as f64;
    let shares = (0..).map(|step| 10f64.powf(-f64::from(step) / 10.0));
    shares.take_while(move |share| *share > least).chain([least])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_shares_by_hand() {
        let numbers = Distribution::new(vec![4.0, 1.0, 3.0, 100.0]);
        let quantiles = [0.0, 0.25, 0.26, 0.5, 1.0].map(|share| numbers.quantile(share));
        assert_eq!(quantiles, [1.0, 1.0, 3.0, 3.0, 100.0]);
        assert_eq!([0.0, 3.0, 100.0].map(|bound| numbers.share_above(bound)), [1.0, 0.5, 0.0]);
        assert!(Distribution::new(Vec::new()).quantile(0.5).is_nan());
    }

    #[test]
    fn tails_go_from_all_to_one() {
        let shares: Vec<f64> = tail(100).collect();
        assert_eq!((shares[0], shares[20], shares.len()), (1.0, 0.01, 21));
    }
}
