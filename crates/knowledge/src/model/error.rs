//! Errors of models that are wrong or too large.

/// Why a model was not assessed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Neither a decimal nor a fraction, or not from 0 to 1.
    #[error(
        "`{0}` is not a probability: it must be a decimal or a fraction such as \"1/3\", from 0 \
         to 1"
    )]
    Fraction(String),
    /// Probabilities of other than one in all.
    #[error("the probabilities add up to {0}: the sum must be exactly 1")]
    Sum(String),
    /// No values at all.
    #[error("there are no values")]
    Empty,
    /// Too much to enumerate.
    #[error("{what}: {size}; at most {most} are allowed")]
    Large {
        /// Of what.
        what: &'static str,
        /// How many, as text: it may be more than any integer holds.
        size: String,
        /// How many are possible.
        most: usize,
    },
    /// Tables that do not fit each other: a fault of the caller.
    #[error("the tables of the model do not fit each other")]
    Inconsistent,
}
