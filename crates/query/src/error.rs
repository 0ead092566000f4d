//! Why a query was not accepted.

/// A query that cannot be answered privately, or is not a query; says what would work instead.
///
/// Refusals follow from the SQL and the contract alone, so they show nothing of the data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  hint: {hint}")]
pub struct Refusal {
    /// What is wrong, by name.
    pub what: String,
    /// What would work.
    pub hint: String,
}

impl Refusal {
    /// A refusal: what is wrong, and what would work.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}
