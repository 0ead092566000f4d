//! SQL and a contract to private queries: relations in which every node knows the columns that are
//! the privacy unit, what is measured of them, and statements of several private parts. Pure: reads
//! nothing of the data.

mod bind;
mod one_row;
mod relation;
mod warning;
mod workload;

pub use bind::{
    Around, Automatic, AutomaticBounds, AutomaticLimit, ChosenLimits, Clamps, Classes, ColumnTrace,
    Consistent, ConsistentLevel, CountRelease, EXAMPLE_BOUND, EXAMPLE_ROWS, GROUP_OCTAVES, Groups,
    Key, Leaf, Learning, LearntColumns, LevelShares, LevelWishes, LimitSource, LimitSources,
    MAX_MATCH_OPERATIONS, MAX_PARTS, Measure, Measurement, Most, Order, Origins, Output,
    OwnerQuery, Part, PerRecordSum, PrivateQuery, PublicJoin, PublicRows, ReleasedColumn,
    ReleasedSizes, ReleasedValues, SqlStatement, Thresholds, TracedExpression, around_tree,
    as_gaussian, bind, bind_count_release, bind_trial, delta_shares, gaussian_choices, is_gaussian,
    known_groups, numbered, option_names, public_groups, row_buckets, size_buckets,
};
pub use one_row::{AddedCost, MAX_ADDED_OPERATIONS};
pub use relation::{
    Beside, Distance, Field, FrameEnd, JoinKind, KnownValues, NamedExpr, Operator, Origin,
    Protection, Relation, RowFrame, SortedAggregate, UnitAggregate, WindowFunction, WindowOrder,
    WindowedColumn,
};
pub use warning::{Warning, WarningCode};
pub use workload::{MAX_QUERIES, Workload, WorkloadQuery, summary};
