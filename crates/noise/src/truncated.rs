//! The discrete Laplace law cut off on both sides.

use crate::exponential::exp_minus_ratio;
use crate::generator::Words;
use crate::variates::{EXPONENTIAL, Variates};
use crate::{DiscreteLaplace, EntropyError, Law, Ratio, WordSource, uniform};

/// The discrete Laplace law conditioned on |x| <= k: P\[x\] proportional to e^(-|x|/scale) for |x|
/// <= k.
///
/// *Source.* The "k-truncated symmetric geometric distribution" of Desfontaines, Voss, Gipson &
/// Mandayam, "Differentially private partition selection" (PoPETs 2022), Definition 6. Drawn by
/// rejection from the untruncated law when k > scale, else from the uniform law on -k ..= k; either
/// way a trial succeeds with probability above 1/3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruncatedDiscreteLaplace {
    scale: Ratio,
    k: u64,
}

impl TruncatedDiscreteLaplace {
    /// The law with this scale on `-k ..= k`. With `k = 0` every draw is zero.
    pub fn new(scale: Ratio, k: u64) -> Self {
        Self { scale, k }
    }

    /// The scale.
    pub fn scale(&self) -> Ratio {
        self.scale
    }

    /// The largest magnitude.
    pub fn k(&self) -> u64 {
        self.k
    }

    fn draw<W: Words>(&self, exponential: &Variates, words: &mut W) -> Result<i128, EntropyError> {
        let (numerator, denominator) = (self.scale.numerator(), self.scale.denominator());
        let k = u128::from(self.k);
        // At most (2^64 - 1) 2^64: fits.
        // Of two ways to reject, the one that accepts more often; both have the same law.
        if k * denominator > numerator {
            let untruncated = DiscreteLaplace::new(self.scale);
            loop {
                let x = untruncated.draw(exponential, words)?;
                if x.unsigned_abs() <= k {
                    return Ok(x);
                }
            }
        }
        loop {
            // At most 2^65 - 1, so it fits.
            let x = uniform::below(words, 2 * k + 1)? as i128 - i128::from(self.k);
            // |x| / scale <= 1.
            if exp_minus_ratio(words, x.unsigned_abs() * denominator, numerator)? {
                return Ok(x);
            }
        }
    }

    /// 1 + 2q + .. + 2q^k, times 1 - q: a sum of two positive terms, without cancellation.
    fn norm(&self) -> f64 {
        let rate = self.scale.inverse();
        let k = self.k as f64;
        -(-rate * (k + 1.0)).exp_m1() - (-rate).exp() * (-rate * k).exp_m1()
    }
}

impl Law for TruncatedDiscreteLaplace {
    fn fill_from(&self, source: WordSource<'_>, draws: &mut [i128]) -> Result<(), EntropyError> {
        let words = source.0;
        let exponential = &*EXPONENTIAL;
        for draw in draws {
            *draw = self.draw(exponential, words)?;
        }
        Ok(())
    }

    /// P\[X = x\]. Relative error below 1e-15 (6 + |x| / scale).
    fn pmf(&self, x: i128) -> f64 {
        if x.unsigned_abs() > u128::from(self.k) {
            return 0.0;
        }
        let rate = self.scale.inverse();
        (-rate * x.unsigned_abs() as f64).exp() * -(-rate).exp_m1() / self.norm()
    }

    /// P\[X >= x\]. Relative error below 1e-15 (6 + max(x, 0) / scale).
    fn tail(&self, x: i128) -> f64 {
        if x <= 0 {
            return 1.0 - self.tail(1i128.saturating_sub(x));
        }
        let k = i128::from(self.k);
        if x > k {
            return 0.0;
        }
        let rate = self.scale.inverse();
        let terms = (k - x + 1) as f64;
        (-rate * x as f64).exp() * -(-rate * terms).exp_m1() / self.norm()
    }

    /// The variance. Relative error below 1e-13 (the 1 / scale of a scale below 1 adds to it, as in
    /// [`DiscreteLaplace::variance`]).
    fn variance(&self) -> f64 {
        // The sums of q^j, j q^j and j^2 q^j over 0 <= j < m, for m = the leading bits of k + 1.
        // Doubling m and adding one keep all terms positive, so nothing cancels; the closed form
        // would.
        let rate = self.scale.inverse();
        let count = u128::from(self.k) + 1;
        let (mut zeroth, mut first, mut second, mut m) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        for bit in (0..=count.ilog2()).rev() {
            let shift = (-rate * m).exp();
            second += shift * (second + m * (2.0 * first + m * zeroth));
            first += shift * (first + m * zeroth);
            zeroth += shift * zeroth;
            m *= 2.0;
            if count >> bit & 1 == 1 {
                let power = (-rate * m).exp();
                zeroth += power;
                first += m * power;
                second += m * m * power;
                m += 1.0;
            }
        }
        // Both sides, zero counted once.
        2.0 * second / (2.0 * zeroth - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::enumerate;

    fn law(numerator: u128, denominator: u128, k: u64) -> TruncatedDiscreteLaplace {
        TruncatedDiscreteLaplace::new(Ratio::new(numerator, denominator).unwrap(), k)
    }

    /// All bit strings, on both branches (k below and above the scale).
    #[test]
    fn enumerated() {
        for (numerator, denominator, k) in
            [(1, 1, 1), (1, 1, 2), (7, 2, 3), (7, 2, 4), (1, 2, 1), (100, 1, 5), (3, 1, 0)]
        {
            let law = law(numerator, denominator, k);
            let few = Variates::exponential(0);
            let outcomes = enumerate::<2, _>(8, |w| law.draw(&few, w));
            outcomes.assert_below(0.75, |x| law.pmf(*x));
            assert!(outcomes.mass.keys().all(|x| x.unsigned_abs() <= u128::from(k)));
        }
    }

    /// The closed forms against plain sums.
    #[test]
    fn laws_agree_with_sums() {
        for (numerator, denominator) in [(1, 10), (1, 1), (7, 2), (1000, 1), (1 << 40, 1)] {
            for k in [0u64, 1, 2, 3, 10, 64, 999] {
                let law = law(numerator, denominator, k);
                let rate = denominator as f64 / numerator as f64;
                let weight = |x: i128| (-rate * x.unsigned_abs() as f64).exp();
                let all = -i128::from(k)..=i128::from(k);
                let total: f64 = all.clone().map(weight).sum();
                // Subnormal numbers have fewer digits.
                let close = |a: f64, b: f64| {
                    assert!((a - b).abs() <= 1e-13 * b.abs() + 1e-300, "{law:?}: {a:e} {b:e}");
                };
                for x in all.clone() {
                    close(law.pmf(x), weight(x) / total);
                    close(law.tail(x), (x..=i128::from(k)).map(weight).sum::<f64>() / total);
                }
                close(law.variance(), all.map(|x| (x * x) as f64 * weight(x)).sum::<f64>() / total);
                assert_eq!(
                    (law.pmf(i128::MIN), law.tail(i128::from(k) + 1), law.tail(i128::MIN)),
                    (0.0, 0.0, 1.0)
                );
            }
        }
    }

    /// Cut off far out, it is the untruncated law; nearly flat, the uniform one.
    #[test]
    fn limits() {
        let wide = law(7, 2, 1 << 40);
        let untruncated = DiscreteLaplace::new(Ratio::new(7, 2).unwrap());
        assert!((wide.variance() / untruncated.variance() - 1.0).abs() < 1e-13);
        assert!((wide.pmf(3) / untruncated.pmf(3) - 1.0).abs() < 1e-14);
        let flat = law(1 << 106, 1, u64::MAX);
        let k = u64::MAX as f64;
        assert!((flat.variance() / (k * k / 3.0) - 1.0).abs() < 1e-9);
        let mut generator = crate::TestSeed(4).generator();
        for _ in 0..1000 {
            assert!(flat.sample(&mut generator).unwrap().unsigned_abs() <= u128::from(u64::MAX));
        }
    }
}
