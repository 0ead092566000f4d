//! The discrete Laplace law (two-sided geometric).

use crate::exponential::exponential;
use crate::generator::Words;
use crate::{EntropyError, Generator, Ratio};

/// The discrete Laplace law: P\[x\] = (1-q)/(1+q) q^|x| on the integers, with q = e^(-1/scale).
///
/// *Source.* The law is that of Canonne, Kamath & Steinke, "The Discrete Gaussian for Differential
/// Privacy" (2020, arXiv 2004.00010), and so is the frame of their Algorithm 2: a magnitude with
/// P\[m\] = (1-q) q^m, a random sign, and both drawn anew when they say "minus zero". The magnitude is
/// floor(scale * E) for an exponential E of mean 1, since P\[floor(scale E) >= m\] = e^(-m/scale). E comes
/// from von Neumann's comparison method with lazily drawn bits; their Algorithm 2 is the same with a
/// uniform integer below the numerator in the place of the fraction of E. All arithmetic is on integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscreteLaplace {
    scale: Ratio,
}

impl DiscreteLaplace {
    /// The law with this scale.
    pub fn new(scale: Ratio) -> Self {
        Self { scale }
    }

    /// The scale.
    pub fn scale(&self) -> Ratio {
        self.scale
    }

    /// One draw.
    ///
    /// It would saturate at +-i128::MAX beyond 2^20 scales, which has probability below e^-1000000.
    ///
    /// # Errors
    /// [`EntropyError`] if the operating system's generator fails.
    pub fn sample(&self, generator: &mut Generator) -> Result<i128, EntropyError> {
        generator.check_process()?;
        self.draw(generator)
    }

    /// Independent draws, as many as `draws` is long. Cheaper than as many calls of
    /// [`sample`](Self::sample), each of which asks the system for the process id.
    ///
    /// # Errors
    /// As [`sample`](Self::sample). The contents of `draws` are then not to be used.
    pub fn fill(&self, generator: &mut Generator, draws: &mut [i128]) -> Result<(), EntropyError> {
        generator.check_process()?;
        for draw in draws {
            *draw = self.draw(generator)?;
        }
        Ok(())
    }

    pub(crate) fn draw<W: Words>(&self, words: &mut W) -> Result<i128, EntropyError> {
        let (numerator, denominator) = (self.scale.numerator(), self.scale.denominator());
        loop {
            let negative = words.coin()?;
            let (whole, mut fraction) = exponential(words)?;
            // floor(scale E) = floor(floor(numerator E) / denominator).
            let base = numerator.saturating_mul(u128::from(whole));
            let magnitude = fraction.settle(words, numerator, base, |product| {
                if denominator == 1 { product } else { product / denominator }
            })?;
            if !(negative && magnitude == 0) {
                let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
                return Ok(if negative { -magnitude } else { magnitude });
            }
        }
    }

    /// P\[X = x\]. Relative error below 1e-15 (2 + |x| / scale).
    pub fn pmf(&self, x: i128) -> f64 {
        let rate = self.scale.inverse();
        // (1-q)/(1+q) without cancellation.
        (rate / 2.0).tanh() * (-rate * x.unsigned_abs() as f64).exp()
    }

    /// P\[X >= x\]. Relative error below 1e-15 (2 + max(x, 0) / scale).
    pub fn tail(&self, x: i128) -> f64 {
        if x <= 0 {
            return 1.0 - self.tail(1i128.saturating_sub(x));
        }
        let rate = self.scale.inverse();
        (-rate * x as f64).exp() / (1.0 + (-rate).exp())
    }

    /// The variance, 2q / (1-q)^2. Relative error below 1e-15 (2 + 1 / scale).
    pub fn variance(&self) -> f64 {
        let half = (self.scale.inverse() / 2.0).sinh();
        0.5 / (half * half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Script, enumerate};

    fn law(numerator: u128, denominator: u128) -> DiscreteLaplace {
        DiscreteLaplace::new(Ratio::new(numerator, denominator).unwrap())
    }

    /// All bit strings, at scales below, at and above 1.
    #[test]
    fn enumerated() {
        for (numerator, denominator) in [(1, 10), (1, 2), (1, 1), (7, 2), (5, 3), (40, 1)] {
            let laplace = law(numerator, denominator);
            let exact = |x: &i128| laplace.pmf(*x);
            enumerate::<1, _>(19, |w| laplace.draw(w)).assert_below(0.6, exact);
            enumerate::<2, _>(10, |w| laplace.draw(w)).assert_below(0.6, exact);
            enumerate::<3, _>(7, |w| laplace.draw(w)).assert_below(0.6, exact);
        }
    }

    /// More words leave less undecided.
    #[test]
    fn undecided_share_shrinks() {
        let laplace = law(3, 2);
        let shares: Vec<f64> = (4..=10)
            .map(|length| enumerate::<2, _>(length, |w| laplace.draw(w)).undecided)
            .collect();
        assert!(shares.windows(2).all(|pair| pair[1] < 0.95 * pair[0]), "{shares:?}");
    }

    /// Whole part, fraction and sign come together as written down by hand: E = 1 + 3/4.., scale 5/2.
    #[test]
    fn one_draw_by_hand() {
        let half = 1 << 63;
        let three_quarters = 3 << 62;
        // Minus; a failed trial (U1 below the fraction, U2 above); a trial with no run; E = 1.75.
        let words = [half, three_quarters, half, three_quarters, three_quarters, u64::MAX];
        let mut script = Script::<64>::new(&words);
        assert_eq!(law(5, 2).draw(&mut script).unwrap(), -4);
        assert_eq!(script.used(), 6);
        for length in 0..words.len() {
            assert!(law(5, 2).draw(&mut Script::<64>::new(&words[..length])).is_err());
        }
    }

    /// Forced ambiguity: the first word of the fraction leaves the floor open, the next ones settle it.
    #[test]
    fn undecided_floor_draws_further_words() {
        // numerator 3: floor(3 U) changes at 2^64 / 3 = 0x5555555555555555.5555..
        let third = 0x5555_5555_5555_5555;
        let run = |tail: &[u64]| {
            let mut words = vec![0, third, u64::MAX];
            words.extend(tail);
            let mut script = Script::<64>::new(&words);
            (law(3, 1).draw(&mut script).ok(), script.used())
        };
        assert_eq!(run(&[]), (None, 3));
        assert_eq!(run(&[third - 1]), (Some(0), 4));
        assert_eq!(run(&[third + 1]), (Some(1), 4));
        assert_eq!(run(&[third]), (None, 4));
        assert_eq!(run(&[third, third, third + 1]), (Some(1), 6));
    }

    #[test]
    fn extreme_scales() {
        assert_eq!(law(1, 1 << 64).pmf(0), 1.0);
        assert_eq!(law(1, 1 << 64).variance(), 0.0);
        assert_eq!(law(1, 1).tail(i128::MIN), 1.0);
        assert_eq!(law(1, 1).tail(i128::MAX), 0.0);
        let wide = law(1 << 106, 1);
        assert!((wide.tail(1 << 106) / (0.5 * (-1f64).exp()) - 1.0).abs() < 1e-14);
        let mut generator = crate::TestSeed(3).generator();
        for _ in 0..1000 {
            assert_eq!(law(1, 1 << 64).sample(&mut generator).unwrap(), 0);
            assert_ne!(wide.sample(&mut generator).unwrap(), 0);
        }
    }
}
