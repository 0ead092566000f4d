//! The unit of sizes that groups need to appear.

use std::fmt;

use hushtable_plan::Measure;
use serde::{Deserialize, Serialize};

use crate::quote::Quote;

/// The unit of a group's size: a group is as large as its number of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupSize {
    /// Its units.
    #[default]
    Units,
    /// The pieces of its records.
    Pieces,
    /// Its rows.
    Rows,
    /// Its rows with a value.
    Values,
}

impl GroupSize {
    /// Whether it is the number of units.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub fn is_units(&self) -> bool {
        *self == Self::Units
    }
}

impl fmt::Display for GroupSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Units => "units",
            Self::Pieces => "pieces",
            Self::Rows => "rows",
            Self::Values => "values",
        })
    }
}

impl Quote {
    /// The unit of the selection's sizes of groups.
    pub fn group_size(&self) -> GroupSize {
        let deciding =
            self.deciding_count().and_then(|index| self.query().measurements().get(index));
        match deciding.map(|measurement| &measurement.measure) {
            Some(Measure::Rows) => GroupSize::Rows,
            Some(Measure::Values(_)) => GroupSize::Values,
            _ if self.query().chooses_by_pieces() => GroupSize::Pieces,
            _ => GroupSize::Units,
        }
    }
}
