//! Owner tools: checks of the data, losses, trials of settings, audits, exact group sizes.
//!
//! They read exact values and charge nothing, so nothing on an analyst's path may lead here. A
//! test of the repository fails where code outside this folder names this module; `lib.rs` alone
//! exports from it, to the library's `Owner`. It is a module and not a crate, since a crate of its
//! own would need exact groups to be public, which the types keep from everyone.

mod audit;
mod chances;
mod check;
mod group_sizes;
mod losses;
mod tune;

pub use audit::{AuditOptions, AuditReport, EventInWords, PairComparison};
pub use check::{
    Advice, CheckReport, ColumnCheck, ContributionLimit, CutOff, FormCount, Forms, GroupsCheck,
    KeysCheck, QueryCheck, RangeCheck, Spread, TableCheck,
};
pub use group_sizes::{GroupSizes, group_sizes};
pub use losses::{
    Distribution, FitOptions, FitReport, FittedNoise, GroupLosses, LossOptions, LossQuantile,
    LossReport, Losses, MechanismLosses, OwnerLosses,
};
pub use tune::{Trial, TrialError, TuneReport, TunedSetting};

use crate::error::EngineError;
use crate::exact::Scan;
use crate::progress::Progress;
use crate::runtime::heavy;
use crate::session::Session;

impl Session {
    /// The physical plan of a query, for the owner of the data: how it is computed, which sides
    /// joins are built from, and which expressions are where.
    ///
    /// # Errors
    /// When the query is refused, or the tables do not have what it reads.
    pub async fn physical_plan(&self, sql: &str) -> Result<String, EngineError> {
        let session = heavy(|| self.as_analyst(sql))?;
        let checked = heavy(|| session.check(sql))?;
        let progress = Progress::default();
        let scan = Scan::plan(&checked.quote, &checked.data, &progress.reading(), session.memory())
            .await?;
        Ok(scan.shown())
    }
}
