//! Differentially private SQL over files and tables in memory, as a library.
//!
//! An [`Engine`] has a contract open, with its data and its ledger. It gives out two kinds of
//! handles: an [`Analyst`] asks, pays from a budget and gets answers with noise; the [`Owner`] of
//! the data checks and audits, and gets what is not for analysts. All work runs on the engine's own
//! threads, so that the futures can be awaited in any runtime, or in none with
//! `futures::executor::block_on`.
//!
//! ```
//! use futures::executor::block_on;
//! use hushtable::Engine;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # std::fs::write(folder.path().join("visits.csv"), "id,town\n1,Ashford\n2,Millbrook\n")?;
//! # let contract = folder.path().join("hushtable.toml");
//! # std::fs::write(&contract, r#"
//! # [tables.visits]
//! # path = "visits.csv"
//! # privacy_unit = "id"
//! # columns = { id = { type = "int" }, town = { type = "string" } }
//! # budgets.ana = { epsilon = 3, delta = 1e-6 }
//! # "#)?;
//! let engine = Engine::open(&contract)?;
//! let analyst = engine.analyst(Some("ana"));
//! let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(DISTINCT id) AS n \
//!            FROM visits";
//! let quote = block_on(analyst.explain(sql))?;
//! assert_eq!(quote.accounts[0].charge.to_string(), "epsilon = 1");
//! let answer = block_on(analyst.query(sql))?;
//! assert_eq!(answer.table.num_rows(), 1);
//! assert_eq!(answer.charges.accounts[0].account.left.to_string(), "epsilon = 2, delta = 1e-6");
//! // The same question is free, and has the same answer.
//! assert_eq!(block_on(analyst.query(sql))?.table, answer.table);
//! # Ok(())
//! # }
//! ```

mod analyst;
mod answering_delay;
mod bare_files;
mod builder;
pub mod draft;
mod engine;
mod microdata_files;
pub mod model;
pub mod output;
mod owner;
pub mod published;
pub mod visible;
mod workers;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;

pub use analyst::{Analyst, AnswerStep, Plan, Releasing};
pub use answering_delay::AnsweringDelay;
pub use bare_files::{group_sizes, randomise};
pub use builder::EngineBuilder;
pub use datafusion::{arrow, parquet};
pub use engine::Engine;
pub use hushtable_engine::{
    Accepting, AccountCharge, AccountQuote, Advice, Answer, AnswerTable, AuditOptions, AuditReport,
    Backend, BudgetLine, Charges, CheckReport, ClippedShare, ClippingReport, ColumnCheck,
    ColumnIntervals, ContributionLimit, CutOff, Distribution, Embedded, EngineError as Error,
    EventInWords, Executor, FitOptions, FitReport, FittedNoise, FormCount, Forms, GroupLosses,
    GroupSizes, GroupsCheck, JointPromise, KeysCheck, LossOptions, LossQuantile, LossReport,
    Losses, MechanismLosses, MemoryLimit, MemoryTable, OpenedPlan, OtherAccount, OwnerLosses,
    PairComparison, PartQuote, PartStatement, PartialGroups, PartialStream, PopulationTotal,
    Progress, Provider, Purpose, QueryCheck, QuestionQuote, RangeCheck, ReadProgress, ReceivedPlan,
    ReleaseStatement, RowsIdentity, Secret, SourceError, Spread, Standing, Statement, TableCheck,
    TableIntervals, Timings, Together, Trial, TrialError, TuneReport, TunedSetting, UnopenedPlan,
    open_workload, resolved, runtime, same,
};
pub use hushtable_errors::{ErrorText, Hint};
pub use hushtable_knowledge as knowledge;
pub use hushtable_mechanisms as mechanisms;
pub use hushtable_noise as noise;
pub use hushtable_numbers as numbers;
pub use hushtable_privacy as privacy;
pub use microdata_files::{MicrodataFile, read_microdata};
pub use owner::Owner;
pub use workers::Workers;

/// Contracts, and what queries promise.
pub mod query {
    pub use hushtable_contract::{
        Column, Contract, ContractError, CsvSettings, Defaults, IntervalRequest, LearntBounds,
        Level, NoiseKind, Population, Prefer, Split, SplitBy, Table, TableUnit, UnitLimit,
    };
    pub use hushtable_lang::{
        ColumnType, MAX_QUERY_BYTES, Refusal, function_names, statement_end, with_parameters,
    };
    pub use hushtable_mechanisms::Strategy;
    pub use hushtable_numbers::{MAX_LATTICE, Number};
    pub use hushtable_plan::{
        AutomaticLimit, Clamps, LearntColumns, LimitSource, PrivateQuery, Relation, Warning,
        WarningCode, Workload, WorkloadQuery, option_names, summary,
    };
    pub use hushtable_quote::{
        ChoiceExplanation, ClassesExplanation, ConsistentPrecision, EpsilonAt, ExchangeExplanation,
        Explanation, GroupSize, GroupsExplanation, HalfWidth, INTERVAL_LEVEL, IntervalExplanation,
        IntervalsExplanation, JoinExplanation, JoinLimitExplanation, JointExplanation, JointPolicy,
        JointTerm, KeepProbability, LimitExplanation, MeasurementExplanation, MechanismComparison,
        MechanismsExplanation, MechanismsOnData, NoInterval, OutputExplanation, PerRowExplanation,
        PolicyExample, PolicyExplanation, PolicyTermExplanation, PrecisionExplanation,
        PrivateGroups, QuantileExplanation, ReachExplanation, RoundExplanation, RunnerUp,
        SimultaneousInterval, SizeQuantile, TighterLimit, Usefulness,
    };
}

/// Accounts, charges and what the ledger says.
pub mod ledger {
    pub use hushtable_ledger::{
        Account, ChargeRecord, ChargeState, Inspection, Lapse, LedgerError, Notice, Units,
    };
}
