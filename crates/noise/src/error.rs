//! Errors: the operating system has no randomness to give, or a parameter is out of range.

/// The operating system's random generator failed.
///
/// No value comes with it: a caller must stop, never go on without the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system's random generator failed: {0}")]
pub struct EntropyError(pub(crate) getrandom::Error);

/// A parameter of a law is outside the range in which the samplers are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// A ratio has a numerator or denominator of zero.
    #[error("a ratio needs a numerator and a denominator above zero")]
    ZeroRatio,
    /// A ratio in lowest terms has a numerator above 2^106.
    #[error("the numerator of a ratio in lowest terms is at most 2^106")]
    NumeratorTooLarge,
    /// A ratio in lowest terms has a denominator above 2^64.
    #[error("the denominator of a ratio in lowest terms is at most 2^64")]
    DenominatorTooLarge,
    /// A dyadic number is zero, negative, infinite or not a number.
    #[error("a dyadic number must be positive and finite")]
    NotPositive,
    /// A dyadic number is outside 2^-20 ..= 2^100.
    #[error("a dyadic number must be between 2^-20 and 2^100")]
    DyadicOutOfRange,
    /// A probability is not in [0, 1].
    #[error("a probability must be between 0 and 1")]
    NotAProbability,
    /// A bound or denominator is not in 1 ..= 2^126.
    #[error("a bound must be between 1 and 2^126")]
    BoundOutOfRange,
    /// The parameters of an exponential-polylogarithmic law are outside their ranges.
    #[error(
        "an exponential-polylogarithmic law needs a shape from 1/4 to 64, \
         an offset from e to 64 and a scale from 2^-20 to 2^80"
    )]
    PolylogarithmicOutOfRange,
    /// The numbers of parameters and draws differ.
    #[error("a batch needs as many parameters as draws")]
    LengthsDiffer,
}

/// A batch with parameters of its own was refused, or the operating system's generator failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// A parameter is out of range; nothing was drawn.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The operating system's generator failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}
