//! How the sums of one measurement are released.

use hushtable_noise::{EntropyError, Generator};
use hushtable_privacy::Loss;

use crate::additive::{Additive, AdditiveLaw};
use crate::per_record::PerRecord;

/// The mechanism of a measurement: exact sums of groups in, released ones out.
#[derive(Clone, Debug, PartialEq)]
pub enum SumMechanism {
    /// Additive noise for contributions within bounds, or Gaussian noise for a threshold.
    Additive(Additive),
    /// Another mechanism for sums that are not clamped.
    PerRecord(Box<PerRecord>),
}

impl SumMechanism {
    /// Cost of all the released sums.
    pub fn loss(&self) -> Loss {
        match self {
            Self::Additive(additive) => additive.loss(),
            Self::PerRecord(record) => record.loss(),
        }
    }

    /// Replaces every sum by what is released of it, with fresh noise.
    ///
    /// # Errors
    /// When the operating system's generator fails; the values must then not be used.
    pub fn release(
        &self,
        generator: &mut Generator,
        sums: &mut [i128],
    ) -> Result<(), EntropyError> {
        match self {
            Self::Additive(additive) => additive.add(generator, sums),
            Self::PerRecord(record) => record.release(generator, sums),
        }
    }

    /// The scale of the noise in lattice units: b of the discrete Laplace, sigma of the Gaussian;
    /// for other mechanisms the standard error of the estimate of a sum of zero.
    pub fn scale(&self) -> f64 {
        match self {
            Self::Additive(additive) => additive.scale(),
            Self::PerRecord(record) => record.standard_error(0.0),
        }
    }

    /// The least w, in lattice units, for which all of `sums` released sums are within w of the
    /// exact ones with probability `level` or more; `None` where that depends on the sums.
    pub fn half_width(&self, level: f64, sums: u64) -> Option<f64> {
        match self {
            Self::Additive(additive) => Some(additive.half_width(level, sums) as f64),
            Self::PerRecord(record) => record.half_width(level, sums),
        }
    }

    /// Whether what is released is Gaussian, or computed from what is: then its losses compose as
    /// Gaussian differential privacy with mu^2 = 2 rho.
    pub fn is_gaussian(&self) -> bool {
        match self {
            Self::Additive(additive) => matches!(additive.law(), AdditiveLaw::RoundedGaussian(_)),
            Self::PerRecord(record) => record.is_gaussian(),
        }
    }

    /// Additive noise, where it is that.
    pub fn additive(&self) -> Option<&Additive> {
        match self {
            Self::Additive(additive) => Some(additive),
            Self::PerRecord(_) => None,
        }
    }

    /// The mechanism of a sum that is not clamped, where it is none of additive Gaussian noise.
    pub fn per_record(&self) -> Option<&PerRecord> {
        match self {
            Self::Additive(_) => None,
            Self::PerRecord(record) => Some(record),
        }
    }
}
