//! The falling curves that the samplers draw under, and heights on them.

use crate::EntropyError;
use crate::deviate::Deviate;
use crate::generator::Words;
use crate::uniform;

/// The quantity that the exponent of a curve grows with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CurveShape {
    /// f(x) = e^(-rate x)
    Exponential,
    /// f(x) = e^(-rate x^2)
    Gaussian,
}

/// A curve f on x >= 0 with f(0) = 1 that falls to zero; rate = numerator / denominator > 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Curve {
    pub(crate) shape: CurveShape,
    pub(crate) numerator: u128,
    /// Below 2^102, so that small multiples of it are below 2^127.
    pub(crate) denominator: u128,
}

impl Curve {
    /// The t in [0, 1) at which f(cell + t) = V, for a height V that is uniform between f(cell + 1)
    /// and f(cell). For the exponential curve, rate <= 1.
    ///
    /// As f falls, V < f(cell + x) exactly if x < t. The density of t is proportional to -f'(cell +
    /// t): f itself for the exponential curve, (cell + t) f(cell + t) for the Gaussian one. It is
    /// drawn by rejection: t is proposed with density 1, or proportional to cell + t, and kept with
    /// probability f(cell + t) / f(cell).
    #[cold]
    pub(crate) fn crossing<W: Words>(
        &self,
        words: &mut W,
        cell: u64,
    ) -> Result<Deviate, EntropyError> {
        let twice = u128::from(cell).saturating_mul(2);
        loop {
            let mut t = Deviate::draw(words)?;
            // Density (2 cell + 2t) / (2 cell + 1): one segment in 2 cell + 1 has the density 2t,
            // which the larger of two uniform deviates has.
            if self.shape == CurveShape::Gaussian && uniform::below(words, twice + 1)? == twice {
                let mut other = Deviate::draw(words)?;
                if t.below(&mut other, words)? {
                    t = other;
                }
            }
            if self.keeps(words, twice, &mut t)? {
                return Ok(t);
            }
        }
    }

    /// True with probability f(cell + t) / f(cell), that is e^(-rate t) or e^(-rate (2 cell + t)
    /// t).
    fn keeps<W: Words>(
        &self,
        words: &mut W,
        twice: u128,
        t: &mut Deviate,
    ) -> Result<bool, EntropyError> {
        let Self { shape, numerator, denominator } = *self;
        if shape == CurveShape::Exponential {
            return run_is_even(words, t, |words, _| uniform::ratio(words, numerator, denominator));
        }
        // As many trials at the root as make its rate at most one.
        let most = numerator.saturating_mul(twice + 1);
        let trials = most.div_ceil(denominator);
        let denominator = denominator.saturating_mul(trials);
        for _ in 0..trials {
            let even = run_is_even(words, t, |words, t| {
                Ok(uniform::ratio(words, most, denominator)? && is_before_cut(words, twice, t)?)
            })?;
            if !even {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// True with probability e^(-x p), for a `coin` that is true with probability p: von Neumann's run
/// x > U1 > U2 > .., of which every step must also pass the coin, has even length (Karney,
/// "Sampling exactly from the normal distribution", 2016, Algorithm B).
fn run_is_even<W: Words>(
    words: &mut W,
    x: &mut Deviate,
    coin: impl Fn(&mut W, &mut Deviate) -> Result<bool, EntropyError>,
) -> Result<bool, EntropyError> {
    let mut previous: Option<Deviate> = None;
    let mut even = true;
    loop {
        // The coin first: it nearly always ends the run.
        if !coin(words, x)? {
            return Ok(even);
        }
        let mut next = Deviate::draw(words)?;
        if !next.below(previous.as_mut().unwrap_or(x), words)? {
            return Ok(even);
        }
        previous = Some(next);
        even = !even;
    }
}

/// True with probability (2 cell + t) / (2 cell + 1): of the 2 cell + 1 equal segments of [0, 1),
/// the last one is cut at t.
fn is_before_cut<W: Words>(
    words: &mut W,
    twice: u128,
    t: &mut Deviate,
) -> Result<bool, EntropyError> {
    let segment = uniform::below(words, twice + 1)?;
    Ok(segment < twice || Deviate::draw(words)?.below(t, words)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Script, enumerate};

    /// The rates of the engine's own curves, of one that needs several trials, and of one in
    /// between.
    const CURVES: [Curve; 5] = [
        Curve { shape: CurveShape::Exponential, numerator: 1, denominator: 16 },
        Curve { shape: CurveShape::Exponential, numerator: 1, denominator: 1 },
        Curve { shape: CurveShape::Gaussian, numerator: 1, denominator: 2 },
        Curve { shape: CurveShape::Gaussian, numerator: 1, denominator: 8 },
        Curve { shape: CurveShape::Gaussian, numerator: 1, denominator: 2048 },
    ];

    /// How much may be undecided after 18 bits: next to all where many trials are needed.
    fn allowed(curve: &Curve, cell: u64) -> f64 {
        let most = curve.numerator * u128::from(2 * cell + 1);
        if curve.shape == CurveShape::Gaussian && most > curve.denominator { 1.0 } else { 0.7 }
    }

    fn value(curve: &Curve, x: f64) -> f64 {
        let rate = curve.numerator as f64 / curve.denominator as f64;
        (-rate * if curve.shape == CurveShape::Gaussian { x * x } else { x }).exp()
    }

    /// All bit strings: the eighth in which the crossing lies.
    #[test]
    fn crossing_enumerated() {
        for curve in CURVES {
            for cell in [0u64, 1, 2, 5] {
                let height = |eighth: f64| value(&curve, cell as f64 + eighth / 8.0);
                let all = height(0.0) - height(8.0);
                let outcomes = enumerate::<3, _>(6, |words| {
                    curve.crossing(words, cell)?.settle(words, 8, 0, |eighth| eighth)
                });
                outcomes.assert_below(allowed(&curve, cell), |eighth| {
                    (height(*eighth as f64) - height(*eighth as f64 + 1.0)) / all
                });
            }
        }
    }

    /// All bit strings: the probability to be kept, given the first bits of t, lies between those
    /// at the ends of the interval that they leave.
    #[test]
    fn keeps_enumerated() {
        for curve in CURVES {
            for cell in [0u64, 1, 4] {
                for eighth in 0..8u64 {
                    let outcomes = enumerate::<3, _>(6, |words| {
                        let mut t = Deviate::draw(&mut Script::<3>::new(&[eighth]))?;
                        curve.keeps(words, 2 * u128::from(cell), &mut t)
                    });
                    let start = value(&curve, cell as f64);
                    let at =
                        |eighths: u64| value(&curve, cell as f64 + eighths as f64 / 8.0) / start;
                    let (low, high) = (at(eighth + 1), at(eighth));
                    let mass = |yes| outcomes.mass.get(&yes).copied().unwrap_or(0.0);
                    assert!(outcomes.undecided <= allowed(&curve, cell), "{curve:?} {cell}");
                    assert!(mass(true) <= high && mass(true) + outcomes.undecided >= low);
                    assert!(mass(false) <= 1.0 - low);
                }
            }
        }
    }
}
