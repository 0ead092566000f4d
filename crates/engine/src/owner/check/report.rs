//! The findings of a check. About the exact data: for its owner, not to be published.

use hushtable_quote::GroupSize;
use serde::Serialize;

use super::forms::Forms;

/// The findings of a check in the tables of a contract.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The tables, in the order of their names.
    pub tables: Vec<TableCheck>,
}

/// The findings of a check in a table.
#[derive(Clone, Debug, Serialize)]
pub struct TableCheck {
    /// The table.
    pub table: String,
    /// Its files; none where a program provides its rows.
    pub files: usize,
    /// Its rows.
    pub rows: u64,
    /// Rows of CSV files with more or fewer fields than their header line.
    pub ragged_rows: u64,
    /// Rows of CSV files with a field whose quotes do not end within the bytes that it may have. It
    /// ends at the next line end, and lines up to there are parts of it.
    pub unclosed_quotes: u64,
    /// Lines of JSON lines that are not an object, or too long to be read: rows without a value.
    pub lines_not_objects: u64,
    /// The column that names the privacy unit, or `row`.
    pub privacy_unit: String,
    /// Privacy units; `None` where the table alone does not determine them.
    pub units: Option<u64>,
    /// Rows that have no privacy unit and count for nothing.
    pub rows_without_unit: u64,
    /// Rows of a unit; absent where every row is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_unit: Option<Spread>,
    /// The declared columns.
    pub columns: Vec<ColumnCheck>,
    /// The findings for a query of the table, where one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<QueryCheck>,
    /// Changes to make in the contract, the query or the files.
    pub advice: Vec<Advice>,
}

/// The distribution of a number over units. All are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// Median: at least half of the units have no more.
    pub median: u64,
    /// 95 % have no more.
    pub at_95: u64,
    /// 99 % have no more.
    pub at_99: u64,
    /// The largest.
    pub largest: u64,
}

/// The findings of a check in a column.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnCheck {
    /// Its name.
    pub name: String,
    /// Its declared type.
    pub column_type: String,
    /// Whether it is computed from others.
    pub computed: bool,
    /// Rows without a value in the files; of a computed column, rows where the expression is NULL.
    pub nulls: u64,
    /// Values in the files that do not fit the declared type, and count as NULL.
    pub do_not_fit: u64,
    /// Those of them that are other ways to write a number, date or timestamp, in a column that
    /// identifies units: `007` and `7` could be two of them.
    pub written_otherwise: u64,
    /// The forms of those.
    pub forms: Forms,
    /// The distribution of the values; of numbers that are no unit, owner or group key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<RangeCheck>,
    /// The values against the listed keys, where the contract lists some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeysCheck>,
}

/// The values of a column against its bounds.
#[derive(Clone, Debug, Serialize)]
pub struct RangeCheck {
    /// The declared bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(f64, f64)>,
    /// Rows with a value below the bounds.
    pub below: u64,
    /// Rows with a value above the bounds.
    pub above: u64,
    /// (share, value that this share of the rows with a value does not exceed), from the smallest
    /// to the largest value. These two are exact; sizes of the others are rounded up by less than
    /// 0.07 %.
    pub quantiles: Vec<(f64, f64)>,
}

/// The values of a column against `public_keys` or `known_keys`.
#[derive(Clone, Debug, Serialize)]
pub struct KeysCheck {
    /// Whether they are public keys, so that rows with other values are left out.
    pub public: bool,
    /// How many values are listed.
    pub listed: usize,
    /// Rows with a listed value.
    pub rows_listed: u64,
    /// Rows with another value; NULLs apart.
    pub rows_not_listed: u64,
    /// Rows with another value that differs from a listed one only in letter case or spaces around
    /// it.
    pub rows_nearly_listed: u64,
    /// The forms of other values, of columns of text.
    pub forms: Forms,
    /// Listed values that no row has: public, as the list is.
    pub without_rows: Vec<String>,
    /// How many of the listed values the rows of a unit have, where units have several rows and
    /// keys are public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_unit: Option<Spread>,
}

/// The findings for a query of a table.
#[derive(Clone, Debug, Serialize)]
pub struct QueryCheck {
    /// Rows that count.
    pub rows: u64,
    /// Privacy units that count.
    pub units: u64,
    /// The most groups that a unit may enter.
    pub max_groups_contributed: u32,
    /// The most rows of a unit on each side of a join in which its rows can meet each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rows_joined: Option<u32>,
    /// Groups of a unit.
    pub groups_per_unit: Spread,
    /// Rows of a unit in a group.
    pub rows_per_group: Spread,
    /// The parts that limits cut off, in the order in which they work.
    pub cut_off: Vec<CutOff>,
    /// Which groups are to be expected.
    pub groups: GroupsCheck,
}

/// A limit on what a unit contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContributionLimit {
    /// The most groups of a unit.
    GroupsPerUnit,
    /// The most rows of a unit in a group.
    RowsPerGroup,
    /// Bounds of what a unit adds to a group.
    BoundsPerGroup,
    /// Bounds of each value.
    BoundsPerRow,
    /// Bounds of the mean of a unit's values in a group.
    BoundsOfMean,
}

/// The part that a limit cuts off.
#[derive(Clone, Debug, Serialize)]
pub struct CutOff {
    /// The measurement, as the statement of the query calls it.
    pub measurement: String,
    /// The limit.
    pub limit: ContributionLimit,
    /// The least and the most that are allowed; of rows and groups the most is of interest.
    pub allowed: (f64, f64),
    /// The share of units that lose something to it, of those that count.
    pub share_of_units: f64,
    /// The part cut off, as a share of what all units contribute without limits: of the sum of the
    /// sizes of their contributions to groups, or of values for a quantile.
    pub share_of_total: f64,
    /// Values that 1 %, 50 %, 95 % and 99 % of the contributions do not exceed, one for each unit
    /// and group, in the column's units; for bounds per group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<(f64, f64)>,
}

/// Which groups a release is expected to show.
#[derive(Clone, Debug, Serialize)]
pub struct GroupsCheck {
    /// Groups that have a unit, after the limit on groups.
    pub in_data: usize,
    /// Groups that are known without the data.
    pub known: usize,
    /// Expected number of groups that are shown before HAVING and LIMIT.
    pub expected: f64,
    /// Whether more are to be expected, as a group's chances are better where its units' other
    /// groups have appeared.
    pub at_least: bool,
    /// Share of the contributions, one for each unit and group, that are in a group that is shown,
    /// in expectation.
    pub share_of_contributions: f64,
    /// The least size, in what `sizes_in` says, with which a group appears half of the time; absent
    /// where all groups are public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_half: Option<u64>,
    /// The least size with which a group appears 95 % of the time; absent where all groups are
    /// public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_95: Option<u64>,
    /// The unit of both sizes.
    #[serde(skip_serializing_if = "GroupSize::is_units")]
    pub sizes_in: GroupSize,
}

/// Something to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The table, column, measurement or limit that it is about.
    pub about: String,
    /// The finding.
    pub found: String,
    /// The change that would help.
    pub change: String,
}
