//! Populations as a contract declares them, as far as the ledger looks at them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the tables of a population hold its units: for each table, a text that says by which column,
/// or through which reference. Texts are compared byte for byte and mean nothing else here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Units(pub BTreeMap<String, String>);

/// A population as the contract has it now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedPopulation {
    /// How its tables hold the units.
    pub units: Units,
    /// Names that it had before, and the texts of [`Units`] that named its units before.
    pub formerly: Vec<String>,
    /// Where the contract declares it, for errors: `[tables.visits]`.
    pub section: String,
}

impl Units {
    /// Whether a table holds the units in this way.
    pub(crate) fn has(&self, (table, text): (&String, &String)) -> bool {
        self.0.get(table) == Some(text)
    }
}
