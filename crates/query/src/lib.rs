//! SQL and a contract to a checked [`PrivateQuery`], and to its [`Quote`]; and the file of a finite
//! model of partial knowledge to a [`ModelFile`]. Pure: reads no file, and nothing of the data.

mod aggregate_names;
mod best_limit;
mod bind;
mod bind_expr;
mod call;
mod consistent;
mod contract;
mod cost;
mod date_forms;
mod deciding_count;
mod drawn_together;
mod error;
mod explain;
mod expr;
mod group_size;
mod identity;
mod interval;
mod intervals_wanted;
mod like;
mod measurement_noise;
mod model;
mod objective;
mod one_row;
mod pattern;
mod place;
mod plan;
mod presence;
mod quote;
mod range;
mod relation;
mod sql;
mod tie;
mod types;
mod warning;
mod wishes;
mod workload;

pub use bind::{
    Around, Automatic, AutomaticBounds, AutomaticLimit, CellOrigins, ChosenLimits, Clamps, Classes,
    Computed, Consistent, ConsistentLevel, CountRelease, Given, Groups, Key, MAX_MATCH_OPERATIONS,
    MAX_PARTS, Measure, Measurement, Most, Order, Output, OwnerQuery, Part, PerRecordSum,
    PrivateQuery, PublicJoin, PublicRows, QuantileEnd, Read, ReleasedSizes, SqlStatement,
    Thresholds, Traced, TracedExpression, bind, bind_count_release, bind_expression, bind_trial,
    cell_name, known_groups, option_names, public_groups,
};
pub use bind_expr::function_names;
pub use consistent::{
    AdjustOptions, Adjusted, AdjustedNoise, ConsistentPrecision, LeastSquares, LevelCells, adjust,
};
pub use contract::{
    Column, Contract, ContractError, CsvSettingError, CsvSettings, DateOrder, Defaults, GroupLimit,
    MAX_PUBLIC_KEYS, NumberFormat, Population, Split, SplitBy, Table, TableUnit, TextFormat,
};
pub use cost::MAX_ROW_OPERATIONS;
pub use date_forms::{FormPiece, form_pieces};
pub use drawn_together::Joint;
pub use error::Refusal;
pub use explain::{
    ChoiceExplained, ClassExplained, ClassThreshold, ClassesExplained, Contributed, EpsilonAt,
    ExchangeExplained, Explanation, GroupsExplained, HalfWidth, INTERVAL_LEVEL, IntervalExplained,
    IntervalsExplained, JointExplanation, JointPolicy, JointTerm, KeepProbability, LimitExplained,
    MeasurementExplained, MechanismCompared, MechanismsExplained, MechanismsOnData, Met,
    OutputExplained, PerRowExplained, PolicyExample, PolicyExplained, PolicyTermExplained,
    PrecisionExplained, PrivateGroups, QuantileEndExplained, QuantileExplained, RoundExplained,
    SimultaneousInterval, SizeQuantile, WholePieces, policy_of, policy_of_noise, rho_at,
};
pub use expr::{BinaryOp, DatePart, Expr, ExprKind, Function, MatchUse, Rows};
pub use group_size::GroupSize;
pub use hushtable_mechanisms::Strategy;
pub use hushtable_numbers::{MAX_LATTICE, Number, Step};
pub use interval::{Covered, Intervals, KnownOperand, NoInterval, ReleasedRow, interval_over};
pub use intervals_wanted::{IntervalsWanted, Level};
pub use like::like_parts;
pub use measurement_noise::{Noise, NoiseByClass};
pub use model::{ModelFile, Publication, RandomVariable, TableRow, Written};
pub use objective::Usefulness;
pub use one_row::{Added, MAX_ADDED_OPERATIONS};
pub use pattern::{GroupCache, Pattern, TemplatePiece, looks_allowed, template};
pub use plan::RunnerUp;
pub use quote::{Quote, least_loss};
pub use range::rounded;
pub use relation::{
    Beside, Field, JoinKind, NamedExpr, Operator, Origin, Protection, Relation, UnitAggregate,
    WindowFunction, WindowOrder, WindowedColumn,
};
pub use sql::{MAX_QUERY_BYTES, statement_end, with_parameters};
pub use tie::Tied;
pub use types::{
    ColumnType, DEFAULT_TEXT_BYTES, MAX_KEY_BYTES, MAX_NUMBER_BYTES, MAX_SCALE, MAX_STRING_BYTES,
    Value, calendar_day, calendar_moment,
};
pub use warning::{Warning, WarningCode};
pub use wishes::{NoiseKind, Prefer};
pub use workload::{MAX_QUERIES, Workload, WorkloadQuery};
