//! Losses of a table's records by a query whose policy function depends on their size. They are for
//! the owner of the data, as the function's value for a record is as secret as the record.

mod each_record;
mod fit;
mod mechanisms;

use hushtable_lang::Refusal;
use hushtable_mechanisms::RecordMechanism;
use hushtable_privacy::{Loss, Rho};
use hushtable_quote::MechanismsOnData;
use serde::Serialize;

use crate::error::EngineError;
use crate::progress::Progress;
use crate::runtime::heavy;
use crate::session::{CheckedQuery, Session};
pub use crate::sketch::{Distribution, LossQuantile};
use each_record::{LossTally, tally};
pub use fit::{FitOptions, FitReport, FittedNoise};
use mechanisms::{by_mechanism, on_data};

/// Losses of records by a query. They are about the exact data: for its owner, not to be published.
#[derive(Clone, Debug, Serialize)]
pub struct LossReport {
    /// The table.
    pub table: String,
    /// Cost of the query to a record at the thresholds.
    pub rho: Rho,
    /// How many records the query's conditions leave. The others lose nothing by it.
    pub records: u64,
    /// Their losses.
    pub losses: Losses,
    /// The losses by group, where requested, those with the largest loss first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupLosses>>,
    /// Losses of owners by all of their records together, where the contract names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owners: Option<OwnerLosses>,
    /// The losses of records by other mechanisms, each scaled so that a record at the thresholds
    /// loses the same; where requested, and for mechanisms that can be drawn at this rho.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mechanisms: Option<Vec<MechanismLosses>>,
    /// The mechanisms for each sum that is not clamped, at equal loss quantiles and at equal noise;
    /// where requested. None for sums of which 95 % of the values are zero, or half of the
    /// groups' sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<Vec<MechanismsOnData>>,
}

/// Details to report beside the losses of the whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossOptions {
    /// The losses by group.
    pub by_group: bool,
    /// The losses by each mechanism that there is for sums that are not clamped.
    pub by_mechanism: bool,
}

/// Losses of records if all sums that are not clamped are released by one mechanism.
#[derive(Clone, Debug, Serialize)]
pub struct MechanismLosses {
    /// The mechanism, with the default offset.
    pub mechanism: RecordMechanism,
    /// The losses by its policy function.
    pub policy: Distribution,
}

/// Losses in three ways, each at least the next.
#[derive(Clone, Debug, Serialize)]
pub struct Losses {
    /// By the paper's splitting into whole pieces.
    pub by_pieces: Distribution,
    /// By the policy function.
    pub policy: Distribution,
    /// By what the noise gives for the values that the query measures: less than the policy where
    /// sums are clamped and values are smaller than their bounds.
    pub realised: Distribution,
}

/// Losses of the records of a group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupLosses {
    /// The group's keys, as text; `None` for NULL.
    pub keys: Vec<Option<String>>,
    /// How many records are in it.
    pub records: u64,
    /// Their losses.
    pub losses: Losses,
}

/// Losses of owners: (sum of the roots of their records' losses)^2.
#[derive(Clone, Debug, Serialize)]
pub struct OwnerLosses {
    /// The column that names them.
    pub column: String,
    /// How many there are; a record without an owner is its own owner.
    pub owners: u64,
    /// Their losses.
    pub losses: Losses,
}

impl Session {
    /// Computes what the records of the table lose by a query. Reads the data, charges nothing and
    /// writes nothing.
    ///
    /// # Errors
    /// When the query is refused or has no policy that depends on sizes, or the data cannot be
    /// read.
    pub async fn losses(
        &self,
        sql: &str,
        options: LossOptions,
        progress: &Progress,
    ) -> Result<LossReport, EngineError> {
        let checked = heavy(|| self.check(sql))?;
        let LossTally { records, losses, groups, owners } =
            tally(&checked, options.by_group, &|_| 1.0, progress).await?;
        let (mechanisms, compared) = match options.by_mechanism {
            true => (Some(by_mechanism(&checked).await?), Some(on_data(&checked).await?)),
            false => (None, None),
        };
        let (rho, table) = (rho(&checked)?, checked.population.name.clone());
        Ok(LossReport { table, rho, records, losses, groups, owners, mechanisms, compared })
    }
}

/// The rho of a query that has sums that are not clamped.
fn rho(checked: &CheckedQuery<'_>) -> Result<Rho, EngineError> {
    let splits =
        checked.quote.query().measurements().iter().any(|m| m.measure.per_record().is_some());
    match checked.quote.total() {
        Loss::Concentrated { rho, .. } if splits => Ok(rho),
        total => Err(EngineError::Refused(Refusal::new(
            format!(
                "the query has no sum of a column with `split`: every record loses the same, \
                 {total}"
            ),
            "ask for SUM or AVG of a column with `split` in the contract, without bounds in the \
             query, and with rho in OPTIONS",
        ))),
    }
}

#[cfg(test)]
mod tests;
