//! From a parsed query to a checked one.

mod aggregate;
mod aliases;
mod approx;
mod around;
mod automatic;
mod automatic_limits;
mod bounds_in_steps;
mod call_arguments;
mod clauses;
mod clipping;
mod collected;
mod conditions;
mod correlated;
mod count_release;
mod describe;
mod foreign_syntax;
mod from;
mod full_joins;
mod gaussian;
mod group_by;
mod grouping_sets;
mod joins;
mod leaf;
mod learning;
mod limit_sources;
mod listed_groups;
mod measure;
mod mentions;
mod moments;
mod named_groups;
mod named_noise;
mod not_in;
mod one_to_one;
mod options;
mod output_exprs;
mod owner_query;
mod parts;
mod public_joins;
mod quantile;
mod query;
mod released_tables;
mod row_bounds;
mod rows_joined;
mod rowset;
mod same_rows;
mod select;
mod single_rows;
mod star;
mod subquery;
mod syntax;
mod thresholds;
mod two_populations;
mod unit_aggregate;
mod view;
mod walk;
mod window_frame;
mod windows;

use hushtable_contract::Contract;
use hushtable_lang::Refusal;

pub use self::around::{Around, ColumnTrace, Origins, TracedExpression, tree as around_tree};
pub(crate) use self::automatic::GIVE_LIMITS;
pub use self::automatic::{GROUP_OCTAVES, row_buckets, size_buckets};
pub use self::automatic_limits::{
    Automatic, AutomaticBounds, AutomaticLimit, ChosenLimits, ReleasedSizes,
};
pub use self::automatic_limits::{EXAMPLE_BOUND, EXAMPLE_ROWS};
pub use self::count_release::{CountRelease, bind_count_release};
pub use self::gaussian::{as_gaussian, delta_shares, gaussian_choices, is_gaussian};
pub use self::leaf::{Leaf, numbered};
pub use self::learning::{Learning, LearntColumns};
pub use self::limit_sources::{LimitSource, LimitSources};
pub use self::listed_groups::{known_groups, public_groups};
pub use self::measure::{
    Clamps, Classes, Groups, Key, Measure, Measurement, Order, Output, PerRecordSum, Thresholds,
};
pub use self::options::option_names;
pub use self::owner_query::OwnerQuery;
pub use self::parts::{
    Consistent, ConsistentLevel, LevelShares, LevelWishes, MAX_PARTS, Part, ReleasedColumn,
    ReleasedValues, SqlStatement, bind_trial,
};
pub(crate) use self::parts::{WorkloadShare, bind_part};
pub use self::public_joins::{Most, PublicJoin, PublicRows};
pub use self::query::{MAX_MATCH_OPERATIONS, PrivateQuery};

/// Checks a query against a contract: a statement that is one private SELECT.
///
/// # Errors
/// Whatever is not SQL, not in the contract, not supported or not provably private; and statements
/// of several parts.
pub fn bind(text: &str, contract: &Contract) -> Result<PrivateQuery, Refusal> {
    SqlStatement::bind(text, contract)?.plain()
}
