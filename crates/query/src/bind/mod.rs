//! From a parsed query to a checked one.

mod aggregate;
mod approx;
mod arguments;
mod around;
mod conditions;
mod counts;
mod from;
mod mentions;
mod moments;
mod options;
mod output;
mod parts;
mod quantile;
mod repeats;
mod rows;
mod rowset;
mod statement;
mod subquery;
mod thresholds;
mod view;
mod windows;

use hushtable_mechanisms::{Percentile, RecordMechanism};
use hushtable_privacy::{Contribution, Loss, Neighbouring};
use serde::{Deserialize, Serialize};

use crate::contract::Contract;
use crate::cost::{self, RowPart};
use crate::error::Refusal;
use crate::expr::{Expr, RowScope, bind_row_expression};
use crate::lattice::Step;
use crate::quote::Strategy;
use crate::relation::Relation;
use crate::sql;
use crate::types::{ColumnType, Value};
use crate::warning::Warning;

/// Most operations of all expressions in joins and sub-queries: the first row that reaches them
/// costs as much as some hundred further ones.
const MAX_RELATION_OPERATIONS: usize = 400;

/// A checked query: what is read, how it is bounded, what is measured, what is shown.
///
/// Everything that its privacy rests on follows from its structure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivateQuery {
    /// Whose budget pays: a population of the contract.
    pub population: String,
    /// The rows that are bounded and aggregated.
    pub relation: Relation,
    /// The relation's columns, which [`Expr`]s over rows count, by names that tell them apart.
    pub columns: Vec<(String, ColumnType)>,
    /// Most bytes of a text in each of them; longer text is NULL.
    pub column_bytes: Vec<usize>,
    /// Position of the privacy unit's column; `None` where every row is a unit.
    pub unit: Option<usize>,
    /// Which tables are neighbours.
    pub neighbouring: Neighbouring,
    /// Condition on rows. Rows with public keys that are not listed are already left out.
    pub filter: Option<Expr>,
    /// Group keys; empty without GROUP BY.
    pub keys: Vec<Key>,
    /// How it is known which groups appear.
    pub groups: Groups,
    /// Most groups that one unit enters.
    pub max_groups_contributed: u32,
    /// What is measured of each group, each once.
    pub measurements: Vec<Measurement>,
    /// What is shown, computed from released keys and measurements.
    pub outputs: Vec<Output>,
    /// Condition on released groups.
    pub having: Option<Expr>,
    /// Order of the rows shown; by key where empty.
    pub order_by: Vec<Order>,
    /// Most rows shown.
    pub limit: Option<u64>,
    /// Rows left out before the first shown.
    pub offset: u64,
    /// What the whole query may cost; delta is zero where no group is chosen privately.
    pub loss: Loss,
    /// Probable mistakes in it. They are no part of what is asked.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// One group key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Its value, from a row.
    pub expr: Expr,
    /// The values it may take, where they are public.
    pub public: Option<Vec<Value>>,
    /// Values that are known without the data, where others may appear, too.
    pub known: Option<Vec<Value>>,
}

/// How it is known which groups appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Groups {
    /// No GROUP BY: one group, always shown.
    Single,
    /// All combinations of public keys, always shown.
    Public,
    /// Chosen privately, with that weight in the budget.
    Private {
        /// As the query or the contract says; `None` to take the one that finds smaller groups.
        strategy: Option<Strategy>,
        /// Share of the budget, relative to the measurements' weights.
        weight: u32,
        /// Least number of units of a group that may appear, 1 or more.
        least: u32,
        /// The noisy count that a known group must reach to be shown; `None` to show all.
        known_threshold: Option<i64>,
        /// Whether a record counts as often as it has pieces when groups are chosen (PR section
        /// 5.4).
        by_pieces: bool,
    },
}

/// What is measured of every group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// How a reader would call it.
    pub name: String,
    /// What one unit contributes to a group, before clamping.
    pub measure: Measure,
    /// Least contribution of a unit to a group that it enters, in steps.
    pub low: i64,
    /// Greatest contribution, in steps.
    pub high: i64,
    /// Where contributions are not clamped: the thresholds up to which a record loses no more than
    /// the measurement's rho. `high` is then the largest of them, in steps.
    pub split: Option<Thresholds>,
    /// How a sum that is not clamped is released.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mechanism: RecordMechanism,
    /// The offset of a sum that is transformed, in steps, where it is not the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// Size of a lattice step.
    pub step: Step,
    /// Share of the budget, relative to the others.
    pub weight: u32,
    /// Type of the released value.
    pub column_type: ColumnType,
}

fn is_default(mechanism: &RecordMechanism) -> bool {
    *mechanism == RecordMechanism::default()
}

/// The splitting thresholds of a sum, in steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// The threshold of every record, or of those whose class has none of its own.
    pub default: i64,
    /// Thresholds by the class of a record.
    pub classes: Option<Classes>,
}

/// Thresholds by another column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Classes {
    /// The column's name.
    pub column: String,
    /// Its value, from a row.
    pub expr: Expr,
    /// The values that have a threshold of their own.
    pub values: Vec<(Value, i64)>,
    /// The group key that is this column, if there is one: then all records of a group are of one
    /// class, and the group's noise is made for its own threshold. Otherwise it is made for the
    /// largest.
    pub key: Option<usize>,
}

impl Thresholds {
    /// The threshold of the records with that value of the column.
    pub fn of(&self, value: &Value) -> i64 {
        let own = |classes: &Classes| {
            classes.values.iter().find(|(own, _)| own == value).map(|(_, threshold)| *threshold)
        };
        self.classes.as_ref().and_then(own).unwrap_or(self.default)
    }

    /// The classes, where each group is of one.
    pub fn by_key(&self) -> Option<(usize, &Classes)> {
        let classes = self.classes.as_ref()?;
        Some((classes.key?, classes))
    }

    /// All thresholds, each once, the default first.
    pub fn all(&self) -> Vec<i64> {
        let mut all = vec![self.default];
        for (_, threshold) in self.classes.iter().flat_map(|c| &c.values) {
            if !all.contains(threshold) {
                all.push(*threshold);
            }
        }
        all
    }
}

/// What one unit contributes to a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// One: the measurement counts units.
    Units,
    /// Its number of rows.
    Rows,
    /// Its number of rows with a value.
    Values(Expr),
    /// The sum of its rows' values, each rounded to the lattice.
    Sum(Expr),
    /// The sum of some of its rows' values, each rounded to the lattice and clamped by itself.
    SumOfRows {
        /// The value of a row.
        of: Expr,
        /// Least value of a row, in steps.
        low: i64,
        /// Greatest value of a row, in steps.
        high: i64,
        /// Most rows of a unit in a group that count, of those that have a value.
        rows: u32,
    },
    /// Its different values, as codes: a group's are counted, each once whoever has it.
    Distinct {
        /// The code of a row's value.
        of: Expr,
        /// Most different values of a unit in a group that count.
        values: u32,
    },
    /// Its rows' values, each rounded to the lattice and clamped to `low` and `high`: a quantile of
    /// all units' is released.
    Quantile {
        /// The value of a row.
        of: Expr,
        /// Which quantile.
        percentile: Percentile,
        /// Most rows of a unit in a group that count.
        rows: u32,
        /// The size, in steps, up to which the quantile is as likely as not to be expected.
        scale: i64,
    },
}

impl Measure {
    /// Whether rows are added up as they come. A count of units has no need to, and quantiles and
    /// sums of some rows keep values one by one.
    pub fn adds_up(&self) -> bool {
        match self {
            Self::Rows | Self::Values(_) | Self::Sum(_) => true,
            Self::Units
            | Self::SumOfRows { .. }
            | Self::Distinct { .. }
            | Self::Quantile { .. } => false,
        }
    }

    fn operand_mut(&mut self) -> Option<&mut Expr> {
        match self {
            Self::Units | Self::Rows => None,
            Self::Values(of)
            | Self::Sum(of)
            | Self::SumOfRows { of, .. }
            | Self::Distinct { of, .. }
            | Self::Quantile { of, .. } => Some(of),
        }
    }

    /// The expression that is computed of a row, where it is not only counted.
    pub fn operand(&self) -> Option<&Expr> {
        match self {
            Self::Units | Self::Rows => None,
            Self::Values(of)
            | Self::Sum(of)
            | Self::SumOfRows { of, .. }
            | Self::Distinct { of, .. }
            | Self::Quantile { of, .. } => Some(of),
        }
    }
}

/// One column that is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Heading.
    pub name: String,
    /// Its value, over the released columns: the keys, then the measurements.
    pub expr: Expr,
}

/// One sort key over the released columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// What to sort by.
    pub expr: Expr,
    /// Greatest first.
    pub descending: bool,
    /// NULLs first.
    pub nulls_first: bool,
}

impl PrivateQuery {
    /// What one unit can do to the sums of a measurement.
    pub fn contribution(&self, measurement: &Measurement) -> Contribution {
        self.contribution_within(measurement.low, measurement.high)
    }

    /// What one unit can do to sums that it adds from `low` to `high` steps to.
    pub(crate) fn contribution_within(&self, low: i64, high: i64) -> Contribution {
        let single_group = self.groups == Groups::Single;
        Contribution { groups: self.max_groups_contributed, single_group, low, high }
    }

    /// Whether a record counts as often as it has pieces when groups are chosen.
    pub fn chooses_by_pieces(&self) -> bool {
        matches!(self.groups, Groups::Private { by_pieces: true, .. })
    }

    /// Refuses a query in which one row can cost more than it may.
    fn check_cost(&self) -> Result<(), Refusal> {
        let part = |place: String, expr| {
            let columns = self.column_bytes.clone();
            RowPart { place, expr, columns }
        };
        let mut parts = self.relation.row_parts();
        let operations: usize = parts.iter().map(|part| part.expr.size().1).sum();
        if operations > MAX_RELATION_OPERATIONS {
            return Err(Refusal::new(
                format!(
                    "the joins and sub-queries have {operations} operations, and at most \
                     {MAX_RELATION_OPERATIONS} are allowed, so that the time of a query does not show \
                     whether a row is there"
                ),
                "long expressions in the outer query, or in computed columns of the contract",
            ));
        }
        // Public keys are looked up in their lists, together with WHERE.
        let public = self.keys.iter().any(|key| key.public.is_some());
        let place = if public { "WHERE or the public keys" } else { "WHERE" };
        parts.extend(self.filter.iter().map(|e| part(place.to_owned(), e)));
        parts.extend(self.keys.iter().map(|key| part("GROUP BY".to_owned(), &key.expr)));
        for measurement in &self.measurements {
            let place = || format!("the {}", measurement.name);
            parts.extend(measurement.measure.operand().map(|e| part(place(), e)));
            let classes = measurement.split.as_ref().and_then(|split| split.classes.as_ref());
            if let Some(classes) = classes.filter(|_| self.chooses_by_pieces()) {
                parts.push(part(place(), &classes.expr));
            }
        }
        cost::check(&parts)
    }

    /// The privacy unit as readers know it: the column that names it, or `row`.
    pub fn unit_name(&self) -> &str {
        let column = self.unit.and_then(|unit| self.columns.get(unit));
        column.map_or("row", |(name, _)| name)
    }

    /// Names and types of the released columns that outputs are computed from.
    pub fn released_types(&self) -> Vec<ColumnType> {
        let keys = self.keys.iter().map(|k| k.expr.column_type);
        keys.chain(self.measurements.iter().map(|m| m.column_type)).collect()
    }
}

pub(crate) use aggregate::AGGREGATES;

/// Checks a query against a contract: a statement that is one private SELECT.
///
/// # Errors
/// Whatever is not SQL, not in the contract, not supported or not provably private; and statements
/// of several parts.
pub fn bind(text: &str, contract: &Contract) -> Result<PrivateQuery, Refusal> {
    Statement::bind(text, contract)?.plain()
}

/// Checks an expression over `columns`, which are all there are.
///
/// # Errors
/// Whatever is not SQL, not a column or not supported.
pub fn bind_expression(text: &str, columns: &[(String, ColumnType)]) -> Result<Expr, Refusal> {
    bind_row_expression(&sql::parse_expression(text)?, &RowScope::of_columns(columns))
}

pub use around::{Around, Computed};
pub use parts::{MAX_PARTS, Part, Read, Statement};
pub(crate) use parts::{bind_part, released};

pub use counts::{CountRelease, bind_count_release};
pub use statement::{known_groups, public_groups};
