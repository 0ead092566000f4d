//! Mechanisms that cannot be made.

use hushtable_noise::ParameterError;
use hushtable_privacy::{Delta, Epsilon};

/// Parameters for which there is no mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MechanismError {
    /// A share of the privacy loss is zero, so that the noise would have to be infinite.
    #[error("its share of {0} is zero")]
    NoBudget(&'static str),
    /// Every contribution is bounded by zero: there is nothing to measure, and no noise is refused.
    #[error("its bounds allow no contribution but zero")]
    NoSensitivity,
    /// The noise scale is outside what can be drawn exactly.
    #[error("its noise scale cannot be drawn exactly: {0}")]
    Scale(#[from] ParameterError),
    /// Units that are in no group at all.
    #[error("a unit must be allowed in at least one group")]
    NoGroups,
    /// A least number of units, where it has no meaning.
    /// A count from more sums than its law is computed for.
    #[error("MEASURED_COUNT takes a count that is measured together with at most 8 sums")]
    ManySums,
    /// A measured count for a selection that has none, or the other way round.
    #[error("MEASURED_COUNT needs a count that is measured")]
    NoCount,
    /// No mechanism exists at which a record at the threshold loses its rho.
    #[error("no noise gives this loss at the threshold: {0} would be out of range")]
    NoLossCurve(&'static str),
    /// Noise on the logarithm under which estimates are nearly always zero, and rarely enormous.
    #[error(
        "the noise on its logarithm would be so large that estimates are useless: \
         a standard error of millions of times the sum"
    )]
    TooSkewed,
    /// The noise would be too large for 128-bit sums.
    #[error("its sensitivity or its noise is too large to be kept in 128-bit integers")]
    TooLarge,
    /// Randomised response needs something else to answer.
    #[error("randomised response needs at least 2 categories, not {0}")]
    TooFewCategories(u32),
}

/// Selection group by group needs both an epsilon and a delta.
pub(crate) fn need_both(epsilon: Epsilon, delta: Delta) -> Result<(), MechanismError> {
    if epsilon.is_zero() {
        return Err(MechanismError::NoBudget("epsilon"));
    }
    if delta.is_zero() {
        return Err(MechanismError::NoBudget("delta"));
    }
    Ok(())
}
