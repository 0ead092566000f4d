//! Sums that are not clamped, and how the loss of a record grows with its value.

use std::fmt;

use hushtable_noise::{
    Dyadic, EntropyError, ExponentialPolylogarithmic, Generator, Law, RoundedGaussian,
};
use hushtable_privacy::{Loss, LossCurve, Rho, normal_quantile};
use serde::{Deserialize, Serialize};

use crate::additive::half_width;
use crate::error::MechanismError;
use crate::transform::{Transform, TransformedSum};

/// How a sum that is not clamped is released. All are calibrated so that a record at the threshold
/// loses the sum's rho; they differ in what smaller and larger records lose, and in the noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RecordMechanism {
    /// Gaussian noise on the sum: the loss grows as the square of the value.
    #[default]
    Gaussian,
    /// Gaussian noise on the logarithm of the sum: the loss grows as the square of the value's
    /// logarithm, the noise in proportion to the sum.
    Log,
    /// Gaussian noise on the root of the sum: the loss grows in proportion to the value, the noise
    /// as the root of the sum.
    Sqrt,
    /// Noise with heavy tails on the sum: the loss grows as the square of the value's logarithm,
    /// the noise is the same for all sums.
    ExponentialPolylogarithmic,
}

impl RecordMechanism {
    /// All mechanisms, the default first.
    pub const ALL: [Self; 4] =
        [Self::Gaussian, Self::Log, Self::Sqrt, Self::ExponentialPolylogarithmic];

    /// Names that a user may write, in words.
    pub const NAMES: &'static str = "one of GAUSSIAN, LOG, SQRT, EXPONENTIAL_POLYLOGARITHMIC";

    /// The shape d of exponential-polylogarithmic noise. Its standard deviation is then about a
    /// third above that of Laplace noise of the same loss at the threshold. Larger shapes come
    /// nearer to Laplace noise, under which the loss grows in proportion to the value; smaller ones
    /// have far more noise.
    pub const SHAPE: f64 = 1.0;

    /// The offset a of exponential-polylogarithmic noise, in units of its scale: the double above
    /// e, the least that is allowed.
    pub const POLYLOGARITHMIC_OFFSET: f64 = 2.718_281_828_459_045_5;

    /// The mechanism of that name, in any letter case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.to_string().eq_ignore_ascii_case(name))
    }

    /// Whether the sum is transformed: then it has an offset, and sums below zero are released as
    /// zero.
    pub fn transforms(self) -> bool {
        matches!(self, Self::Log | Self::Sqrt)
    }

    /// The loss function at which a record at `threshold` loses `rho`; `offset` as for
    /// [`PerRecord::new`], in the threshold's unit.
    ///
    /// # Errors
    /// When there is none.
    pub fn growth(
        self,
        threshold: f64,
        offset: f64,
        rho: Rho,
    ) -> Result<LossCurve, MechanismError> {
        match self {
            Self::Gaussian => LossCurve::gaussian(rho, threshold),
            Self::Log => LossCurve::log(rho, threshold, offset),
            Self::Sqrt => LossCurve::sqrt(rho, threshold, offset),
            Self::ExponentialPolylogarithmic => LossCurve::exponential_polylogarithmic(
                rho,
                threshold,
                Self::SHAPE,
                Self::POLYLOGARITHMIC_OFFSET,
            ),
        }
        .map_err(|e| MechanismError::NoLossCurve(e.name))
    }

    /// The loss function at which a released sum of `sum` has the standard error `error`, for
    /// comparisons. All in one unit.
    pub fn growth_at_error(self, offset: f64, sum: f64, error: f64) -> LossCurve {
        let (whole, relative) = (1.0 + sum / offset, error / offset);
        match self {
            Self::Gaussian => LossCurve::Gaussian { deviation: error },
            Self::Log => {
                let deviation = (relative / whole).powi(2).ln_1p().sqrt();
                LossCurve::Log { offset, deviation }
            }
            Self::Sqrt => {
                // 4 (1 + S/a) s^2 + 2 s^4 = (error/a)^2.
                let root = (4.0 * whole * whole + 2.0 * relative * relative).sqrt() + 2.0 * whole;
                LossCurve::Sqrt { offset, deviation: (relative * relative / root).sqrt() }
            }
            Self::ExponentialPolylogarithmic => LossCurve::ExponentialPolylogarithmic {
                shape: Self::SHAPE,
                offset: Self::POLYLOGARITHMIC_OFFSET,
                scale: error / UNIT_DEVIATION,
            },
        }
    }
}

/// The standard error of a released sum under a loss function of [`RecordMechanism::growth`], all
/// in one unit: the root of the estimate's variance, except for rounding to the lattice.
pub fn standard_error(growth: LossCurve, sum: f64) -> f64 {
    let whole = |offset: f64| 1.0 + sum.max(0.0) / offset;
    match growth {
        LossCurve::Gaussian { deviation } => deviation,
        LossCurve::Log { offset, deviation: s } => offset * whole(offset) * (s * s).exp_m1().sqrt(),
        LossCurve::Sqrt { offset, deviation: s } => {
            offset * (4.0 * whole(offset) * s * s + 2.0 * s.powi(4)).sqrt()
        }
        LossCurve::ExponentialPolylogarithmic { scale, .. } => scale * UNIT_DEVIATION,
    }
}

/// The standard deviation of the continuous exponential-polylogarithmic law of scale 1, at the
/// shape and the offset in use.
const UNIT_DEVIATION: f64 = 2.611_000_236_970_473;

impl fmt::Display for RecordMechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gaussian => "GAUSSIAN",
            Self::Log => "LOG",
            Self::Sqrt => "SQRT",
            Self::ExponentialPolylogarithmic => "EXPONENTIAL_POLYLOGARITHMIC",
        })
    }
}

/// A mechanism for sums of values that are not clamped, calibrated to a threshold and a loss.
///
/// One record enters one sum, with a whole number of lattice steps. Its loss as a function of its
/// value is public, [`growth`](Self::growth) (Finley et al. 2024).
#[derive(Clone, Debug, PartialEq)]
pub struct PerRecord {
    mechanism: RecordMechanism,
    growth: LossCurve,
    rho: Rho,
    noise: PerRecordNoise,
}

#[derive(Clone, Debug, PartialEq)]
enum PerRecordNoise {
    Gaussian(RoundedGaussian),
    Transformed(TransformedSum),
    Polylogarithmic(Box<ExponentialPolylogarithmic>),
}

impl PerRecordNoise {
    /// The law of what is added to a sum, or to what it is transformed to.
    fn as_law(&self) -> &dyn Law {
        match self {
            Self::Gaussian(law) => law,
            Self::Transformed(transformed) => transformed.noise(),
            Self::Polylogarithmic(law) => law.as_ref(),
        }
    }
}

impl PerRecord {
    /// The mechanism under which a record of `threshold` steps loses `rho`. A transformation is of
    /// 1 + sum/offset, for an `offset` in steps.
    ///
    /// # Errors
    /// Zero rho, threshold or offset; noise that is too large or small to be drawn exactly; a
    /// logarithm whose estimates would have a standard error of millions of times the sum.
    pub fn new(
        mechanism: RecordMechanism,
        threshold: u64,
        offset: u64,
        rho: Rho,
    ) -> Result<Self, MechanismError> {
        if rho.is_zero() {
            return Err(MechanismError::NoBudget("rho"));
        }
        // Doubles of whole numbers above 2^53 are off by one part in 2^53, which the losses'
        // margins cover.
        let growth = mechanism.growth(threshold as f64, offset as f64, rho)?;
        let noise =
            match growth {
                LossCurve::Gaussian { deviation } => {
                    PerRecordNoise::Gaussian(RoundedGaussian::new(Dyadic::at_least(deviation)?))
                }
                LossCurve::Log { deviation, .. } => PerRecordNoise::Transformed(
                    TransformedSum::new(Transform::Log, offset, deviation)?,
                ),
                LossCurve::Sqrt { deviation, .. } => PerRecordNoise::Transformed(
                    TransformedSum::new(Transform::Sqrt, offset, deviation)?,
                ),
                LossCurve::ExponentialPolylogarithmic { shape, offset, scale } => {
                    let [d, a, s] = [shape, offset, scale].map(Dyadic::at_least);
                    PerRecordNoise::Polylogarithmic(Box::new(ExponentialPolylogarithmic::new(
                        d?, a?, s?,
                    )?))
                }
            };
        Ok(Self { mechanism, growth, rho, noise })
    }

    /// Which mechanism.
    pub fn mechanism(&self) -> RecordMechanism {
        self.mechanism
    }

    /// Loss of a record by its value, in lattice steps.
    pub fn growth(&self) -> LossCurve {
        self.growth
    }

    /// Loss of a record at the threshold by the sums.
    pub fn loss(&self) -> Loss {
        Loss::concentrated(self.rho)
    }

    /// Turns exact sums into estimates of them, each with fresh noise. With a transformation a sum
    /// below zero counts as zero; the estimates are unbiased (see `TransformedSum`) before they are
    /// rounded to whole steps. Saturates at the ends of `i128`.
    ///
    /// # Errors
    /// When the operating system's generator fails; the values must then not be used.
    pub fn release(
        &self,
        generator: &mut Generator,
        sums: &mut [i128],
    ) -> Result<(), EntropyError> {
        let mut draws = vec![0i128; sums.len()];
        self.noise.as_law().fill(generator, &mut draws)?;
        for (sum, draw) in sums.iter_mut().zip(draws) {
            *sum = match &self.noise {
                PerRecordNoise::Transformed(transformed) => {
                    transformed.estimate(transformed.steps(*sum).saturating_add(draw))
                }
                _ => sum.saturating_add(draw),
            };
        }
        Ok(())
    }

    /// Whether the noise is Gaussian, on the sum or on its transformation.
    pub fn is_gaussian(&self) -> bool {
        !matches!(self.noise, PerRecordNoise::Polylogarithmic(_))
    }

    /// ln of the ratio of the densities with which an estimate comes from the first sum and from
    /// the second; for guessing between two tables, not for a proof.
    pub fn log_ratio(&self, estimate: i128, [first, second]: [i128; 2]) -> f64 {
        let normal = |near: f64, far: f64, s: f64| 0.5 * (far - near) * (far + near) / (s * s);
        let away = |sum: i128| estimate.saturating_sub(sum) as f64;
        match (&self.noise, self.growth) {
            (PerRecordNoise::Gaussian(law), _) => {
                normal(away(first), away(second), law.sigma().to_f64())
            }
            (PerRecordNoise::Transformed(transformed), _) => {
                let middle = transformed.middle(estimate as f64);
                let away = |sum: i128| middle - transformed.real(sum);
                normal(away(first), away(second), transformed.deviation())
            }
            (_, growth) => {
                growth.epsilon(away(second)).unwrap_or(0.0)
                    - growth.epsilon(away(first)).unwrap_or(0.0)
            }
        }
    }

    /// The standard error of the estimate of a sum, in steps: the root of its variance.
    pub fn standard_error(&self, sum: f64) -> f64 {
        match &self.noise {
            PerRecordNoise::Transformed(_) => standard_error(self.growth, sum),
            noise => noise.as_law().variance().sqrt(),
        }
    }

    /// An interval around the sum that covers it with a probability of `level` or more, in steps,
    /// from its estimate; `level` in (0, 1). With a transformation it is for the sum that is at
    /// least zero.
    pub fn interval(&self, estimate: i128, level: f64) -> (f64, f64) {
        match &self.noise {
            PerRecordNoise::Transformed(transformed) => {
                // Estimates are rounded to whole steps.
                let deviations = normal_quantile(0.5 * (1.0 - level));
                let (low, _) = transformed.interval(estimate as f64 - 0.5, deviations);
                let (_, high) = transformed.interval(estimate as f64 + 0.5, deviations);
                (low, high)
            }
            _ => {
                let width = self.half_width(level, 1).unwrap_or(f64::INFINITY);
                (estimate as f64 - width, estimate as f64 + width)
            }
        }
    }

    /// The half-width of intervals that cover that many sums at once. `None` with a transformation,
    /// as the half-width then depends on the sum.
    pub fn half_width(&self, level: f64, sums: u64) -> Option<f64> {
        let target = (level, sums);
        match &self.noise {
            PerRecordNoise::Gaussian(law) => {
                Some(half_width(law.sigma().to_f64(), target, |x| law.tail(x)) as f64)
            }
            PerRecordNoise::Transformed(_) => None,
            PerRecordNoise::Polylogarithmic(law) => {
                Some(half_width(1.0, target, |x| law.tail(x)) as f64)
            }
        }
    }
}

#[cfg(test)]
mod tests;
