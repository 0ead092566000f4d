//! Runs private queries on embedded DataFusion.
//!
//! One way: a [`Session`] binds a query, quotes it, charges it, and only then reads the data;
//! contributions are bounded and added up to exact integer groups, which nothing but selection and
//! noise lets out; the release goes on record before it is shown. The module `owner` is apart from
//! that way: it has the tools of the owner of the data, who sees exact values.

mod answer;
mod around;
mod ask;
mod batches;
mod bound;
mod bound_exec;
mod bounding;
mod budgets;
mod classes;
mod codec;
mod consistent;
mod contributions;
mod distinct_rows;
mod draw;
mod error;
mod eval;
mod exact;
mod feed;
mod intern;
mod intervals;
mod invariant;
mod kept_values;
mod limit_rows;
mod local;
mod lower;
mod measurements;
mod members;
mod memory;
mod memory_limit;
mod merged;
mod one_query;
mod owner;
mod parts;
mod passes_rows;
mod pieces;
mod public_rows;
mod rebuild;
mod record;
mod release;
mod row_counts;
mod rows;
mod runtime;
mod session;
mod sketch;
mod source;
mod statement_of_parts;
mod stopping;
mod survey;
mod tabulate;
mod traced;
mod value;
mod workload;

pub use answer::{Standing, Timings};
pub use ask::Priced;
pub use budgets::{BudgetLine, OtherAccount, Together};
pub use codec::PlanCodec;
pub use distinct_rows::{DistinctRows, distinct_rows};
pub use error::EngineError;
pub use intervals::{ColumnIntervals, TableIntervals, Uncertainty};
pub use invariant::Invariant;
pub use local::{Secret, randomise};
pub use memory_limit::MemoryLimit;
pub use one_query::{Answer, Quoted};
pub use owner::{
    Advice, AuditOptions, AuditReport, CheckReport, ColumnCheck, Compared, ContributionLimit,
    CutOff, Distribution, EventFound, FitOptions, FitReport, Fitted, FormCount, Forms, GroupLosses,
    GroupSizes, GroupsCheck, KeysCheck, LossOptions, LossQuantile, LossReport, Losses,
    MechanismLosses, OwnerLosses, QueryCheck, RangeCheck, Spread, TableCheck, Trial, TrialError,
    TuneReport, TunedSetting, group_sizes,
};
pub use record::Statement;
pub use runtime::runtime;
pub use session::{Progress, ProvidedTables, Session};
pub use source::{
    Compression, DataFile, FileColumn, FileFormat, FolderValue, Identity, LogKind, LookedAt,
    MemoryTable, Proposed, Provider, ReadProgress, RowsIdentity, SourceError, Wanted, file_schema,
    guess_csv, list_files, look_at, resolved, same, scan, would_read,
};
pub use statement_of_parts::{
    AccountCharge, AccountQuoted, ClippedShare, ClippingReport, PartStated, PopulationTotal,
    StatementOfParts, StatementPartQuoted, StatementQuoted,
};
pub use tabulate::{Numbered, Tabulated};
pub use workload::{
    PartAnswer, PartQuoted, PartStatement, WorkloadAnswer, WorkloadCharge, WorkloadPlan,
    WorkloadProgress, WorkloadQuoted, WorkloadStatement, open_workload,
};

#[cfg(test)]
mod tests;
