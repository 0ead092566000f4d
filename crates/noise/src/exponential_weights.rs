//! Draws whose weights fall exponentially with a loss.

use hushtable_numbers::{Bracket, Enclosure};
use num_bigint::BigUint;

use crate::enclosure::enclosed;
use crate::generator::Words;
use crate::uniform::{self, MAX_BOUND};
use crate::{BatchError, EntropyError, Generator, ParameterError, Ratio};

/// The law that gives each of finitely many candidates the weight e^(-rate * loss), for losses that
/// are whole numbers: what an exponential mechanism draws from.
///
/// Candidates come in [`WeightCell`]s, which can be large: the loss of a candidate is asked for
/// only when it is drawn.
///
/// *Source.* Rejection. A candidate of a cell of level j is taken with a weight of 2^-j, which is
/// at or above its own, and kept with probability 2^j e^(-rate * loss), by comparison with an
/// enclosure of that number of as many bits as it takes. So the law is exact, however candidates
/// are put into cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExponentialWeights {
    rate: Ratio,
}

/// Candidates that are drawn with the same weight at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightCell {
    /// How many candidates there are; each counts as one.
    pub candidates: u128,
    /// Each has a loss of [`least_loss`](ExponentialWeights::least_loss) of that level or more.
    pub level: u32,
}

/// 2^level e^-(numerator / denominator).
struct ExponentialWeight<'a> {
    numerator: &'a BigUint,
    denominator: &'a BigUint,
    level: u32,
}

impl Enclosure for ExponentialWeight<'_> {
    fn enclose(&self, bits: u32) -> (BigUint, BigUint) {
        let bounds = Bracket::exp_minus(self.numerator, self.denominator, bits + self.level);
        (bounds.low, bounds.high)
    }
}

impl ExponentialWeights {
    /// The law with that rate.
    pub fn new(rate: Ratio) -> Self {
        Self { rate }
    }

    /// The rate.
    pub fn rate(&self) -> Ratio {
        self.rate
    }

    /// A loss whose weight is 2^-level or less, and hardly less: from there on, a candidate may be
    /// in a cell of that level.
    pub fn least_loss(&self, level: u32) -> u128 {
        // Some roundings of half an ulp each are far less than the margin.
        let loss = f64::from(level) * std::f64::consts::LN_2 / self.rate.to_f64();
        (loss * (1.0 + 1e-14)).ceil() as u128
    }

    /// A candidate: its cell, and its position there. `loss` gives the loss of a candidate; it is
    /// called for about two of them, unless most of the weight is in cells whose losses are far
    /// above their level's.
    ///
    /// # Errors
    /// [`ParameterError::BoundOutOfRange`] unless the cells' candidates, each times two to the
    /// power of its cell's distance from the highest level, are 1 to 2^126;
    /// [`ParameterError::NotAProbability`] if a loss is below that of its cell's level;
    /// [`BatchError::Entropy`] if the operating system's generator fails.
    pub fn sample(
        &self,
        generator: &mut Generator,
        cells: &[WeightCell],
        loss: impl Fn(usize, u128) -> u128,
    ) -> Result<(usize, u128), BatchError> {
        generator.check_process()?;
        self.draw(generator, cells, loss)
    }

    fn draw<W: Words>(
        &self,
        words: &mut W,
        cells: &[WeightCell],
        loss: impl Fn(usize, u128) -> u128,
    ) -> Result<(usize, u128), BatchError> {
        let highest = cells.iter().map(|cell| cell.level).max().unwrap_or(0);
        let weight = |cell: &WeightCell| {
            let shift = highest - cell.level;
            match cell.candidates {
                0 => Some(0),
                // Nothing is shifted out.
                count => (shift <= count.leading_zeros()).then(|| count << shift),
            }
        };
        let total = cells.iter().try_fold(0u128, |sum, cell| sum.checked_add(weight(cell)?));
        let total = total.filter(|total| (1..=MAX_BOUND).contains(total));
        let total = total.ok_or(ParameterError::BoundOutOfRange)?;
        loop {
            let mut rest = uniform::below(words, total)?;
            let mut selected = None;
            for (index, cell) in cells.iter().enumerate() {
                let cell_weight = weight(cell).unwrap_or(0);
                if rest < cell_weight {
                    selected = Some((index, rest >> (highest - cell.level), cell.level));
                    break;
                }
                rest -= cell_weight;
            }
            let (index, position, level) = selected.ok_or(ParameterError::BoundOutOfRange)?;
            let loss = loss(index, position);
            if loss < self.least_loss(level) {
                return Err(ParameterError::NotAProbability.into());
            }
            if self.keeps(words, loss, level)? {
                return Ok((index, position));
            }
        }
    }

    /// True with probability 2^level e^(-rate * loss).
    fn keeps<W: Words>(&self, words: &mut W, loss: u128, level: u32) -> Result<bool, EntropyError> {
        if loss == 0 {
            // So is the level.
            return Ok(true);
        }
        let first = self.first_bounds(loss, level, W::BITS);
        let numerator = BigUint::from(loss) * self.rate.numerator();
        let denominator = BigUint::from(self.rate.denominator());
        enclosed(
            words,
            first,
            &ExponentialWeight { numerator: &numerator, denominator: &denominator, level },
        )
    }

    /// Bounds of 2^level e^(-rate * loss) in units of a first word of that many bits, as
    /// [`enclosed`] has them.
    fn first_bounds(&self, loss: u128, level: u32, bits: u32) -> (u64, u64) {
        let exponent = loss as f64 * self.rate.to_f64();
        if exponent >= 1000.0 {
            // Far below 2^-64, as levels are below 128.
            return (0, 1);
        }
        // The exponent is right to 1e-12, and so is the power except for some ulps.
        let p = (f64::from(level) * std::f64::consts::LN_2 - exponent).exp();
        let one = f64::from(bits).exp2();
        let (low, high) = (p * (1.0 - 1e-10) * one, p * (1.0 + 1e-10) * one);
        let most = u64::MAX >> (64 - bits);
        // Casts saturate.
        ((low as u64).min(most), (high as u64).saturating_add(1).min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestSeed;
    use crate::script::enumerate;

    fn weights(numerator: u128, denominator: u128) -> ExponentialWeights {
        ExponentialWeights::new(Ratio::new(numerator, denominator).unwrap())
    }

    /// Losses of candidates 0, 1, .. and the levels of the cells that they are put into, one by one
    /// or together.
    const PUT: [(&[u128], &[&[usize]]); 4] = [
        (&[0, 1, 2], &[&[0], &[1], &[2]]),
        (&[0, 1, 2], &[&[0, 1, 2]]),
        (&[3, 0, 9, 4], &[&[0, 2], &[1], &[3]]),
        (&[5, 7], &[&[0], &[1]]),
    ];

    /// All bit strings: whatever cells candidates are in, and whatever losses start at.
    #[test]
    fn enumerated() {
        for (numerator, denominator) in [(1, 2), (7, 5), (1, 10)] {
            let law = weights(numerator, denominator);
            let rate = numerator as f64 / denominator as f64;
            for (losses, put) in PUT {
                for finest in [false, true] {
                    let cells: Vec<WeightCell> = put
                        .iter()
                        .map(|members| {
                            let least = members.iter().map(|&p| losses[p]).min().unwrap();
                            let fits = |level: &u32| law.least_loss(*level) <= least;
                            let level = (0..40).filter(fits).max().unwrap();
                            let level = if finest { level } else { level.saturating_sub(1) };
                            WeightCell { candidates: members.len() as u128, level }
                        })
                        .collect();
                    let loss = |cell: usize, position: u128| losses[put[cell][position as usize]];
                    let sum: f64 = losses.iter().map(|&l| (-rate * l as f64).exp()).sum();
                    let outcomes = enumerate::<4, _>(5, |words| {
                        law.draw(words, &cells, loss)
                            .map(|(cell, position)| put[cell][position as usize])
                            .map_err(|error| match error {
                                BatchError::Entropy(error) => error,
                                BatchError::Parameter(error) => panic!("{error}"),
                            })
                    });
                    let undecided = if finest { 0.3 } else { 0.6 };
                    outcomes.assert_below(undecided, |&index| {
                        (-rate * losses[index] as f64).exp() / sum
                    });
                }
            }
        }
    }

    /// The level's loss is the least whose weight is at most 2^-level, to a rounding.
    #[test]
    fn levels_are_above_the_curve() {
        for (numerator, denominator) in [(1u128, 1u128), (1, 1 << 40), (123, 1000), (40, 1)] {
            let law = weights(numerator, denominator);
            for level in [0, 1, 2, 7, 60, 120] {
                let least = law.least_loss(level);
                // e^(-rate * least) <= 2^-level, exactly.
                let (n, d) = (BigUint::from(numerator * least), BigUint::from(denominator));
                let bounds = Bracket::exp_minus(&n, &d, 400);
                assert!(bounds.low <= BigUint::from(1u8) << (400 - level), "{level}");
                let before = least.saturating_sub(2 + (least >> 40)) as f64;
                let exponent = before * numerator as f64 / denominator as f64;
                assert!(least < 2 || exponent <= f64::from(level) * std::f64::consts::LN_2);
            }
        }
    }

    /// All bit strings: a candidate is kept with just the probability that its level leaves to be
    /// kept with, so that bounds which are off by a power of two, or by little, are seen.
    #[test]
    fn candidates_are_kept_with_the_rest_of_their_likelihood() {
        for (numerator, denominator) in [(1, 2), (7, 5), (1, 10), (1, 1 << 40)] {
            let law = weights(numerator, denominator);
            for level in [0, 1, 2, 7, 60] {
                for more in [0, 1, 2, 5 * denominator / numerator] {
                    let loss = law.least_loss(level) + more;
                    let exponent = loss as f64 * numerator as f64 / denominator as f64;
                    let p = (f64::from(level) * std::f64::consts::LN_2 - exponent).exp();
                    let outcomes = enumerate::<4, _>(4, |words| law.keeps(words, loss, level));
                    outcomes.assert_below(3.0 / 65536.0, |&yes| if yes { p } else { 1.0 - p });
                }
            }
        }
    }

    /// The first word is compared with a bound on the safe side of the exact probability: at rates
    /// from 2^-64 to 2^40, all levels, and losses from the least to far beyond, where the
    /// probability is below what a word can tell.
    #[test]
    fn first_bounds_are_bounds() {
        for (numerator, denominator) in [
            (1u128, 1u128 << 64),
            ((1 << 30) + 1, 1 << 64),
            (u128::from(u64::MAX), 1 << 64),
            (12_345_678_901_234_567, 1 << 62),
            (1, 3),
            (1, 1),
            (700, 1),
            ((1 << 40) + 1, 1),
        ] {
            let law = weights(numerator, denominator);
            let rate = law.rate().to_f64();
            for level in [0, 1, 5, 58, 100, 126] {
                let least = law.least_loss(level);
                let far = [1e-9, 0.1, 44.0, 300.0, 911.0, 1000.0, 1e6].map(|x| (x / rate) as u128);
                for more in far.into_iter().chain([0, 1]) {
                    let loss = least + more;
                    if loss == 0 {
                        continue;
                    }
                    let numerator = BigUint::from(loss) * law.rate().numerator();
                    let denominator = BigUint::from(law.rate().denominator());
                    let keep = ExponentialWeight {
                        numerator: &numerator,
                        denominator: &denominator,
                        level,
                    };
                    let (low, high) = keep.enclose(400);
                    assert!(low <= BigUint::from(1u8) << 400u32, "{level} {loss}");
                    for bits in [4, 64] {
                        let first = law.first_bounds(loss, level, bits);
                        assert!(BigUint::from(first.0) << (400 - bits) <= low, "{level} {loss}");
                        assert!((BigUint::from(first.1) + 1u8) << (400 - bits) >= high);
                    }
                }
            }
        }
    }

    /// A million candidates far away are drawn as often as they should be, beside one that is near:
    /// 200,000 draws, 6 standard deviations (a false alarm has probability 2e-9), at a fixed seed.
    #[test]
    fn frequencies() {
        let law = weights(1, 3);
        let level = 18;
        let far = law.least_loss(level) + 2;
        let cells = [
            WeightCell { candidates: 1, level: 0 },
            WeightCell { candidates: 1_000_000, level },
            WeightCell { candidates: 0, level: 3 },
        ];
        let mut generator = TestSeed(31).generator();
        let mut drawn = [0u32; 3];
        let mut halves = 0;
        for _ in 0..200_000 {
            let loss = |cell: usize, _| if cell == 0 { 0 } else { far };
            let (cell, position) = law.sample(&mut generator, &cells, loss).unwrap();
            drawn[cell] += 1;
            halves += u32::from(cell == 1 && position < 500_000);
        }
        let weight = 1e6 * (-(far as f64) / 3.0).exp();
        let p = weight / (1.0 + weight);
        let (count, sd) = (200_000.0 * p, (200_000.0 * p * (1.0 - p)).sqrt());
        assert!((f64::from(drawn[1]) - count).abs() < 6.0 * sd, "{drawn:?} {count}");
        let half = f64::from(drawn[1]) / 2.0;
        assert!((f64::from(halves) - half).abs() < 6.0 * half.sqrt());
        assert_eq!(drawn[2], 0);
    }

    #[test]
    fn cells_are_checked() {
        let law = weights(1, 2);
        let mut generator = TestSeed(1).generator();
        let mut ask = |cells: &[WeightCell], loss: u128| {
            law.sample(&mut generator, cells, |_, _| loss).unwrap_err()
        };
        let out_of_range = BatchError::Parameter(ParameterError::BoundOutOfRange);
        assert_eq!(ask(&[], 0), out_of_range);
        assert_eq!(ask(&[WeightCell { candidates: 0, level: 0 }], 0), out_of_range);
        let far =
            [WeightCell { candidates: 1, level: 0 }, WeightCell { candidates: 1, level: 127 }];
        assert_eq!(ask(&far, 1000), out_of_range);
        assert_eq!(ask(&[WeightCell { candidates: u128::MAX, level: 0 }], 0), out_of_range);
        let wrong = BatchError::Parameter(ParameterError::NotAProbability);
        assert_eq!(ask(&[WeightCell { candidates: 1, level: 4 }], 5), wrong);
    }
}
