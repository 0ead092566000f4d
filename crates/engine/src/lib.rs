//! Runs private queries on embedded DataFusion.
//!
//! One way: a [`Session`] binds a query, quotes it, charges it, and only then reads the data;
//! contributions are bounded and added up to exact integer groups, which nothing but selection and
//! noise lets out; the release goes on record before it is shown. [`group_sizes`] is apart from
//! that way: it is for the owner of the data, who assesses a table of exact counts.

mod answer;
mod around;
mod audit;
mod batches;
mod bound;
mod bounding;
mod budgets;
mod check;
mod classes;
mod codec;
mod draw;
mod error;
mod eval;
mod exact;
mod feed;
mod group_sizes;
mod intern;
mod intervals;
mod kept_values;
mod local;
mod losses;
mod lower;
mod memory;
mod merged;
mod parts;
mod pieces;
mod rebuild;
mod record;
mod release;
mod rows;
mod runtime;
mod session;
mod sketch;
mod source;
mod survey;
mod tabulate;
mod traced;
mod tune;
mod value;
mod workload;

#[cfg(test)]
mod tests;

pub use audit::{AuditOptions, AuditReport, Compared, EventFound};
pub use budgets::{BudgetLine, Together};
pub use check::{
    Advice, CheckReport, ColumnCheck, ContributionLimit, CutOff, FormCount, Forms, GroupsCheck,
    KeysCheck, QueryCheck, RangeCheck, Spread, TableCheck,
};
pub use codec::PlanCodec;
pub use error::EngineError;
pub use group_sizes::{GroupSizes, group_sizes};
pub use intervals::{ColumnIntervals, TableIntervals, Uncertainty};
pub use local::{Secret, randomise};
pub use losses::{
    Distribution, FitOptions, FitReport, Fitted, GroupLosses, LossOptions, LossQuantile,
    LossReport, Losses, MechanismLosses, OwnerLosses,
};
pub use memory::MemoryLimit;
pub use parts::{
    AccountCharge, AccountQuoted, ClippedShare, ClippingReport, PartStated, PopulationTotal,
    StatementOfParts, StatementPartQuoted, StatementQuoted,
};
pub use record::Statement;
pub use runtime::runtime;
pub use session::{Answer, Progress, Quoted, Session, Timings};
pub use source::{
    Compression, DataFile, FileColumn, FileFormat, FolderValue, LogKind, LookedAt, Proposed,
    ReadProgress, SourceError, Wanted, file_schema, guess_csv, list_files, look_at, resolved, same,
    scan, would_read,
};
pub use tabulate::{Numbered, Tabulated};
pub use tune::{Trial, TrialError, TuneReport, TunedSetting};
pub use workload::{
    PartAnswer, PartQuoted, PartStatement, Standing, WorkloadAnswer, WorkloadCharge, WorkloadPlan,
    WorkloadProgress, WorkloadQuoted, WorkloadStatement, open_workload,
};
