//! Answers on record.

/// The result of a query: the noisy table and its statement. Opaque here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The released table, in whatever encoding the caller uses.
    pub table: Vec<u8>,
    /// The statement that goes with it.
    pub statement: String,
}

/// A release that the ledger keeps: the answer, free, to the same question asked again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRelease {
    /// The charge that paid for it.
    pub charge_id: i64,
    /// When it was stored: UTC, RFC 3339, to the millisecond.
    pub recorded_at: String,
    /// The release.
    pub release: Release,
}
