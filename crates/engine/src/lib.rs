//! Runs private queries on embedded DataFusion.
//!
//! One way: a [`Session`] binds a query, quotes it, charges it, and only then reads the data;
//! contributions are bounded and added up to exact integer groups, which nothing but selection and
//! noise lets out; the release goes on record before it is shown. The module `owner` is apart from
//! that way: it has the tools of the owner of the data, who sees exact values.

mod answer;
mod answer_table;
mod around;
mod ask;
mod backend;
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
mod executor;
mod feed;
mod flat;
mod intern;
mod intervals;
mod invariant;
mod learnt_records;
mod limit_rows;
mod local;
mod lower;
mod measurements;
mod members;
mod memory;
mod memory_limit;
mod merged;
mod origin;
mod owner;
mod partial_groups;
mod pieces;
mod pinned;
mod plan_operators;
mod progress;
mod public_rows;
mod quoted;
mod rebuild;
mod record;
mod release;
mod released_sizes;
mod row_counts;
mod rows;
mod runtime;
mod sealed;
mod session;
mod sketch;
mod source;
mod statement;
mod statement_plan;
mod stopping;
mod survey;
mod tabulate;
mod traced;
mod value;
mod value_lists;

pub use answer::{Standing, Timings};
pub use answer_table::{AccountCharge, Answer, AnswerTable, Charges};
pub use ask::{Purpose, open_workload};
pub use backend::{Accepting, Backend, Embedded, OpenedPlan, PartialStream, UnopenedPlan};
pub use budgets::{BudgetLine, OtherAccount, Together};
pub use distinct_rows::{DistinctRows, distinct_rows};
pub use error::EngineError;
pub use executor::{Executor, ReceivedPlan};
pub use intervals::{ColumnIntervals, TableIntervals};
pub use invariant::Invariant;
pub use local::{Secret, randomise};
pub use memory_limit::MemoryLimit;
pub use owner::{
    Advice, AuditOptions, AuditReport, CheckReport, ColumnCheck, ContributionLimit, CutOff,
    Distribution, EventInWords, FitOptions, FitReport, FittedNoise, FormCount, Forms, GroupLosses,
    GroupSizes, GroupsCheck, KeysCheck, LossOptions, LossQuantile, LossReport, Losses,
    MechanismLosses, OwnerLosses, PairComparison, QueryCheck, RangeCheck, Spread, TableCheck,
    Trial, TrialError, TuneReport, TunedSetting, group_sizes,
};
pub use partial_groups::PartialGroups;
pub use progress::Progress;
pub use quoted::{AccountQuote, PartQuote, QuestionQuote};
pub use record::ReleaseStatement;
pub use runtime::runtime;
pub use session::{ProvidedTables, Session};
pub use source::{
    Compression, DataFile, FileColumn, FileFormat, FolderValue, LogKind, MemoryTable, ProposedType,
    Provider, ReadProgress, ReadRequest, RowsIdentity, SourceError, SourceIdentity, SuggestedTypes,
    file_schema, guess_csv, list_files, look_at, resolved, same, scan, would_read,
};
pub use statement::{
    ClippedShare, ClippingReport, JointPromise, PartStatement, PopulationTotal, Statement,
};
pub use statement_plan::StatementPlan;
pub use tabulate::{GeneratedColumn, NumberedColumn};
#[cfg(test)]
mod tests;
