//! The discrete Laplace law (two-sided geometric).

use crate::generator::Words;
use crate::variates::{EXPONENTIAL, Variates};
use crate::{EntropyError, Law, Ratio, WordSource};

/// The discrete Laplace law: P\[x\] = (1-q)/(1+q) q^|x| on the integers, with q = e^(-1/scale).
///
/// *Source.* The law is that of Canonne, Kamath & Steinke, "The Discrete Gaussian for Differential
/// Privacy" (2020, arXiv 2004.00010), and so is the frame of their Algorithm 2: a magnitude with
/// P\[m\] = (1-q) q^m, a random sign, and both drawn anew when they say "minus zero". The magnitude
/// is floor(scale * E) for an exponential E of mean 1, since P\[floor(scale E) >= m\] =
/// e^(-m/scale). E is drawn exactly, from a table of stairs above its density, with lazily drawn
/// bits. All arithmetic is on integers.
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

    pub(crate) fn draw<W: Words>(
        &self,
        exponential: &Variates,
        words: &mut W,
    ) -> Result<i128, EntropyError> {
        let (numerator, denominator) = (self.scale.numerator(), self.scale.denominator());
        loop {
            let (negative, cell, mut fraction) = exponential.draw(words)?;
            // floor(scale E) = floor(floor(floor(numerator (cell + fraction)) / 2^bits) /
            // denominator).
            let base = numerator.saturating_mul(u128::from(cell));
            let magnitude = fraction.settle(words, numerator, base, |product| {
                let product = product >> exponential.bits;
                if denominator == 1 { product } else { product / denominator }
            })?;
            // Zero has both signs; with both it would be twice as likely.
            if !(negative && magnitude == 0) {
                let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
                return Ok(if negative { -magnitude } else { magnitude });
            }
        }
    }
}

impl Law for DiscreteLaplace {
    /// A draw would saturate at +-i128::MAX beyond 2^17 scales, which has probability below
    /// e^-100000.
    fn fill_from(&self, source: WordSource<'_>, draws: &mut [i128]) -> Result<(), EntropyError> {
        let words = source.0;
        let exponential = &*EXPONENTIAL;
        for draw in draws {
            *draw = self.draw(exponential, words)?;
        }
        Ok(())
    }

    /// P\[X = x\]. Relative error below 1e-15 (2 + |x| / scale).
    fn pmf(&self, x: i128) -> f64 {
        let rate = self.scale.inverse();
        // (1-q)/(1+q) without cancellation.
        (rate / 2.0).tanh() * (-rate * x.unsigned_abs() as f64).exp()
    }

    /// P\[X >= x\]. Relative error below 1e-15 (2 + max(x, 0) / scale).
    fn tail(&self, x: i128) -> f64 {
        if x <= 0 {
            return 1.0 - self.tail(1i128.saturating_sub(x));
        }
        let rate = self.scale.inverse();
        (-rate * x as f64).exp() / (1.0 + (-rate).exp())
    }

    /// The variance, 2q / (1-q)^2. Relative error below 1e-15 (2 + 1 / scale).
    fn variance(&self) -> f64 {
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

    /// All bit strings, at scales below, at and above 1, with few cells per unit and with those in
    /// use.
    #[test]
    fn enumerated() {
        for (numerator, denominator) in [(1, 10), (1, 2), (1, 1), (7, 2), (5, 3), (40, 1)] {
            let laplace = law(numerator, denominator);
            let exact = |x: &i128| laplace.pmf(*x);
            for bits in [0, 1] {
                let few = Variates::exponential(bits);
                enumerate::<2, _>(9, |w| laplace.draw(&few, w)).assert_below(0.8, exact);
                enumerate::<3, _>(6, |w| laplace.draw(&few, w)).assert_below(0.8, exact);
            }
            enumerate::<1, _>(18, |w| laplace.draw(&EXPONENTIAL, w)).assert_below(0.9, exact);
            enumerate::<4, _>(4, |w| laplace.draw(&EXPONENTIAL, w)).assert_below(0.9, exact);
        }
    }

    /// With one cell per unit, where a third of all positions must be tested: each value's
    /// frequency within six standard deviations. A false alarm has probability 2e-9 for each of 60.
    #[test]
    fn frequencies_with_few_cells() {
        let (laplace, few) = (law(7, 2), Variates::exponential(0));
        let mut generator = crate::TestSeed(12).generator();
        let mut counts = [0.0; 61];
        for _ in 0..500_000 {
            let x = laplace.draw(&few, &mut generator).unwrap();
            if let Some(count) = usize::try_from(x + 30).ok().and_then(|i| counts.get_mut(i)) {
                *count += 1.0;
            }
        }
        for (i, count) in counts.iter().enumerate() {
            let p = laplace.pmf(i as i128 - 30);
            assert!((count - 5e5 * p).abs() < 6.0 * (5e5 * p).sqrt(), "{i}: {count}");
        }
    }

    /// More words leave less undecided.
    #[test]
    fn undecided_share_shrinks() {
        let (laplace, few) = (law(3, 2), Variates::exponential(0));
        let shares: Vec<f64> = (4..=9)
            .map(|length| enumerate::<2, _>(length, |w| laplace.draw(&few, w)).undecided)
            .collect();
        assert!(shares.windows(2).all(|pair| pair[1] < 0.97 * pair[0]), "{shares:?}");
    }

    /// Cells, fraction and sign come together as written down by hand. With one cell per unit, half
    /// of U's first share is 0.37 (1 - 1/e), the share of cell 1 ends at 1 - e^-2.
    #[test]
    fn one_draw_by_hand() {
        let word = |sign: u64, u: f64| sign << 63 | (u * 2f64.powi(63)) as u64;
        let one = Variates::exponential(0);
        let run = |words: &[u64]| {
            let mut script = Script::<64>::new(words);
            (law(5, 2).draw(&one, &mut script).ok(), script.used())
        };
        // Minus, cell 1, surely: E = 1.75, 5/2 E = 4.375.
        let sure = 1.0 - (-1f64).exp() + 0.01;
        let words = [word(1, sure), 3 << 62];
        assert_eq!(run(&words), (Some(-4), 2));
        // The upper share of cell 0, which ends at 1 - 1/e; position 0.75; its crossing 0.5, kept
        // as U1 is above it: the position is not under the curve. Then the same with the crossing
        // at 7/8.
        let upper = 1.0 - (-1f64).exp() - 0.01;
        let tried = [word(0, upper), 3 << 62, 1 << 63, 0, u64::MAX];
        let mut words = tried.to_vec();
        assert_eq!(run(&words), (None, 5), "drawn anew");
        words.extend([word(0, upper), 3 << 62, 7 << 61, 0, u64::MAX]);
        assert_eq!(run(&words), (Some(1), 10), "E = 0.75");
        // Minus zero is drawn anew.
        let mut words = vec![word(1, 0.01), 1 << 60];
        words.extend([word(0, 0.01), 1 << 60]);
        assert_eq!(run(&words), (Some(0), 4));
        for length in 0..words.len() {
            assert_eq!(run(&words[..length]), (None, length), "no value without all its words");
        }
    }

    /// Forced ambiguity: the first word of the fraction leaves the floor open, the next ones settle
    /// it.
    #[test]
    fn undecided_floor_draws_further_words() {
        // numerator 3: floor(3 U) changes at 2^64 / 3 = 0x5555555555555555.5555..
        let third = 0x5555_5555_5555_5555;
        let one = Variates::exponential(0);
        let run = |tail: &[u64]| {
            let mut words = vec![1, third];
            words.extend(tail);
            let mut script = Script::<64>::new(&words);
            (law(3, 1).draw(&one, &mut script).ok(), script.used())
        };
        assert_eq!(run(&[]), (None, 2));
        assert_eq!(run(&[third - 1]), (Some(0), 3));
        assert_eq!(run(&[third + 1]), (Some(1), 3));
        assert_eq!(run(&[third]), (None, 3));
        assert_eq!(run(&[third, third, third + 1]), (Some(1), 5));
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
