//! Constructs that the engine does not answer rightly yet.

/// A construct that is left out, or translated as the engine answers it today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Construct {
    /// Floats beyond the largest: NULL, as an overflow of other types is. While pending, infinity.
    Infinity,
    /// Dates and timestamps beyond the years 1 to 9999: NULL. While pending, no dates near the
    /// ends; yet a text such as `+32024-02-29` may come about, and is a date in this engine alone.
    DateEnds,
    /// `x NOT IN (SELECT …)` and `NOT (x IN (SELECT …))` with NULL on either side: unknown, as in
    /// SQL. While pending, NULLs in the list are passed over, and rows without x are kept.
    NotInOfNull,
    /// The unit under two names in one sub-query: each of them is the unit.
    UnitTwice,
    /// `WHERE key IN (…)`: the listed groups are public and appear without rows, too.
    ListedGroups,
    /// `SELECT UPPER(c) AS c … GROUP BY 1 ORDER BY c`: ORDER BY reads what SELECT shows.
    AliasOfColumn,
    /// Plain text constants where `double_quotes = "names"`: a backslash is itself.
    PlainBackslash,
}

/// Constructs that are pending. A construct that is taken out of this list is generated, and
/// compared.
pub const PENDING: &[Construct] = &[];

/// Whether a construct is pending.
pub fn pending(construct: Construct) -> bool {
    PENDING.contains(&construct)
}
