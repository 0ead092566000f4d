//! Probable mistakes in a query that is answered anyway.

use serde::{Deserialize, Serialize};

/// Something that is probably a mistake. It follows from the query, the contract and released
/// values alone, so it reveals nothing else of the data; all but that of a limit that was chosen
/// are known before anything is charged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Its kind.
    pub code: WarningCode,
    /// The mistake, as it seems.
    pub what: String,
    /// The probable intention.
    pub hint: String,
}

/// The kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// A condition that no row meets, whatever the data.
    NeverTrue,
    /// A comparison of constants.
    ConstantCondition,
    /// A constant that is not among the public keys of the column it is compared with.
    NotAPublicKey,
    /// A name in GROUP BY that is a column's, while SELECT shows something else under it.
    HiddenAlias,
    /// A limit that was chosen privately from too few units to be sure of it.
    UncertainLimit,
    /// A limit on rows that counts rows of which a later condition may leave none.
    ChosenBeforeJoin,
}

impl Warning {
    /// A warning, with a way out.
    pub fn new(code: WarningCode, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, what: what.into(), hint: hint.into() }
    }
}
