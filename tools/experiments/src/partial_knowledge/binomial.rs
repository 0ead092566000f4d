//! Binomial laws for the comparison curves, in plain floating point.

/// Probabilities below this part of the largest one are left out.
const FLOOR: f64 = 1e-90;

/// Bin(m, p) around its mode.
pub(super) struct Binomial {
    /// The value of the first probability.
    first: u64,
    weights: Vec<f64>,
    /// For each value, the probability of it or more; one more than `weights`.
    tails: Vec<f64>,
}

impl Binomial {
    /// `m` trials of probability `p`, from 0 to 1.
    pub(super) fn new(m: u64, p: f64) -> Self {
        let mode = ((m as f64 + 1.0) * p).floor().clamp(0.0, m as f64) as u64;
        let odds = p / (1.0 - p);
        // f(k+1)/f(k) = odds (m-k)/(k+1).
        let up = (mode..m).scan(1.0, |weight, k| {
            *weight *= odds * (m - k) as f64 / (k + 1) as f64;
            (*weight > FLOOR).then_some(*weight)
        });
        let down = (1..=mode).rev().scan(1.0, |weight, k| {
            *weight *= k as f64 / (odds * (m - k + 1) as f64);
            (*weight > FLOOR).then_some(*weight)
        });
        let mut weights: Vec<f64> = down.collect();
        let first = mode - weights.len() as u64;
        weights.reverse();
        weights.push(1.0);
        weights.extend(up);
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        let mut tails = vec![0.0; weights.len() + 1];
        for index in (0..weights.len()).rev() {
            tails[index] = tails[index + 1] + weights[index];
        }
        Self { first, weights, tails }
    }

    /// The values that have a probability, with it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        (self.first..).zip(self.weights.iter().copied())
    }

    /// The probability of `value`.
    pub(super) fn at(&self, value: u64) -> f64 {
        let index = value.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.weights.get(index)).copied().unwrap_or(0.0)
    }

    /// The probability of `value` or more.
    pub(super) fn at_least(&self, value: f64) -> f64 {
        let index = (value.ceil() - self.first as f64).clamp(0.0, self.weights.len() as f64);
        self.tails[index as usize]
    }
}

/// P\[Bin(m, 1/2) >= value\], for one `m` of many.
pub(super) fn half_at_least(m: u64, value: f64) -> f64 {
    let from = value.ceil().max(0.0);
    if from > m as f64 {
        return 0.0;
    }
    let (m, k) = (m as f64, from);
    let log = libm::lgamma(m + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(m - k + 1.0);
    let mut weight = (log - m * std::f64::consts::LN_2).exp();
    let mut sum = 0.0;
    let mut k = from;
    while k <= m && (weight > 1e-17 * sum || 2.0 * k < m) {
        sum += weight;
        weight *= (m - k) / (k + 1.0);
        k += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_are_binomial() {
        let law = Binomial::new(5, 0.25);
        let expected = [243.0, 405.0, 270.0, 90.0, 15.0, 1.0].map(|n| n / 1024.0);
        let found: Vec<f64> = law.iter().map(|(_, weight)| weight).collect();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
        assert!((law.at_least(3.5) - 16.0 / 1024.0).abs() < 1e-15);
        assert_eq!((law.at_least(-1.0), law.at_least(6.0)), (law.at_least(0.0), 0.0));
        assert_eq!(Binomial::new(0, 0.3).iter().collect::<Vec<_>>(), [(0, 1.0)]);
        assert_eq!(Binomial::new(7, 1.0).iter().collect::<Vec<_>>(), [(7, 1.0)]);
        assert_eq!(Binomial::new(7, 0.0).iter().collect::<Vec<_>>(), [(0, 1.0)]);
        let many = Binomial::new(1_000_000, 0.1);
        let mean: f64 = many.iter().map(|(k, weight)| k as f64 * weight).sum();
        assert!((mean - 100_000.0).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn tails_of_halves_are_those_of_the_law() {
        for m in [0, 1, 7, 1000] {
            let law = Binomial::new(m, 0.5);
            for value in [-1.0, 0.0, 0.5, 3.0, 7.0, 500.0, 620.5, 1001.0] {
                let (a, b) = (half_at_least(m, value), law.at_least(value));
                assert!((a - b).abs() <= 1e-11 * b, "{m} {value}: {a} {b}");
            }
        }
    }
}
