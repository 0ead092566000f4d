//! Keys, measurements and columns of a checked query.

use hushtable_contract::Level;
use hushtable_lang::{ColumnType, Expr, Value};
use hushtable_mechanisms::{Percentile, RecordMechanism, Strategy};
use hushtable_numbers::Step;
use serde::{Deserialize, Serialize};

/// One group key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Its value, from a row.
    pub expr: Expr,
    /// The values it may take, where they are public.
    pub public: Option<Vec<Value>>,
    /// Whether the query names the public values: its rows have no others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_query: bool,
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
    /// Chosen privately.
    Private {
        /// The strategy of the query or the contract; `None` to take the best.
        strategy: Option<Strategy>,
        /// Share of the budget, relative to the measurements' weights; `None` to take the best.
        weight: Option<u32>,
        /// Least number of units of a group that may appear, 1 or more.
        least: u32,
        /// The noisy count that a known group must reach to be shown; `None` to show all.
        known_threshold: Option<i64>,
        /// Whether a record counts as often as it has pieces when groups are chosen (PR section
        /// 5.4).
        by_pieces: bool,
    },
}

/// A measurement of every group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// How a reader would call it.
    pub name: String,
    /// Contribution of one unit to a group, before clamping.
    pub measure: Measure,
    /// Least contribution of a unit to a group that it enters, in steps. Where contributions are
    /// not clamped, the largest threshold below zero.
    pub low: i64,
    /// Greatest contribution, in steps. Where contributions are not clamped, the largest threshold.
    pub high: i64,
    /// Size of a lattice step.
    pub step: Step,
    /// Share of the budget, relative to the others.
    pub weight: u32,
    /// Type of the released value.
    pub column_type: ColumnType,
}

impl Measurement {
    /// Whether it is a sum whose contributions are clamped to bounds.
    pub fn has_bounds(&self) -> bool {
        matches!(self.measure, Measure::ClampedSum(_) | Measure::SumOfRows { .. })
    }

    /// Whether another is the same sum, with the same bounds.
    pub fn is_measured_as(&self, other: &Self) -> bool {
        let lattice = |of: &Self| (of.low, of.high, of.step);
        self.measure == other.measure && lattice(self) == lattice(other)
    }

    /// The splitting thresholds of a sum that is not clamped.
    pub fn thresholds(&self) -> Option<&Thresholds> {
        self.measure.per_record().map(|sum| &sum.thresholds)
    }

    /// Whether it is how far the interval around a quantile reaches.
    pub fn is_reach_of(&self, quantile: &Self) -> bool {
        let mut measure = self.measure.clone();
        let Measure::Quantile { reach, .. } = &mut measure else { return false };
        let lattice = |of: &Self| (of.low, of.high, of.step);
        reach.take().is_some() && measure == quantile.measure && lattice(self) == lattice(quantile)
    }
}

/// A sum whose contributions are not clamped: the more a record adds, the more it loses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerRecordSum {
    /// The value of a row.
    pub of: Expr,
    /// The values up to which a record loses no more than the measurement's rho.
    pub thresholds: Thresholds,
    /// How the sum is released.
    pub mechanism: RecordMechanism,
    /// The offset of a sum that is transformed, in steps, where it is not the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

impl PerRecordSum {
    /// The offset of noise that is made for this threshold, both in steps.
    pub fn offset_at(&self, threshold: i64) -> u64 {
        self.offset.unwrap_or(threshold).unsigned_abs()
    }
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
        let of_class = |classes: &Classes| {
            classes.values.iter().find(|(class, _)| class == value).map(|(_, threshold)| *threshold)
        };
        self.classes.as_ref().and_then(of_class).unwrap_or(self.default)
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

/// Contribution of one unit to a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// One: the measurement counts units.
    Units,
    /// Its number of rows.
    Rows,
    /// Its number of rows with a value.
    Values(Expr),
    /// The sum of its rows' values, each rounded to the lattice, clamped to `low` and `high`.
    ClampedSum(Expr),
    /// The sum of its rows' values, each rounded to the lattice, not clamped. Rows are units.
    PerRecordSum(PerRecordSum),
    /// The sum of some of its rows' values, each rounded to the lattice.
    SumOfRows {
        /// The value of a row.
        of: Expr,
        /// Least value, in steps.
        low: i64,
        /// Greatest value, in steps.
        high: i64,
        /// The values that are clamped to this range.
        clamps: Clamps,
        /// Most rows of a unit in a group that count, of those that have a value.
        rows: u32,
    },
    /// Its different values, as codes: a group's are counted, each once for all its units.
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
        /// How often an interval holds it whose reach, to both sides of the released quantile, is
        /// released in its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reach: Option<Level>,
    },
}

/// The values of a unit's rows in a group that bounds are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clamps {
    /// Each row's value.
    Rows,
    /// The mean of those that count.
    Mean,
}

impl Measure {
    /// Whether rows are added up as they come. A count of units has no need to, and quantiles and
    /// sums of some rows keep values one by one.
    pub fn adds_up(&self) -> bool {
        match self {
            Self::Rows | Self::Values(_) | Self::ClampedSum(_) | Self::PerRecordSum(_) => true,
            Self::Units
            | Self::SumOfRows { .. }
            | Self::Distinct { .. }
            | Self::Quantile { .. } => false,
        }
    }

    /// The sum, if it is not clamped.
    pub fn per_record(&self) -> Option<&PerRecordSum> {
        match self {
            Self::PerRecordSum(sum) => Some(sum),
            _ => None,
        }
    }

    pub(super) fn per_record_mut(&mut self) -> Option<&mut PerRecordSum> {
        match self {
            Self::PerRecordSum(sum) => Some(sum),
            _ => None,
        }
    }

    /// All expressions that are computed of rows.
    pub(super) fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Units | Self::Rows => Vec::new(),
            Self::PerRecordSum(PerRecordSum { of, thresholds, .. }) => {
                let classes = thresholds.classes.as_mut().map(|classes| &mut classes.expr);
                [of].into_iter().chain(classes).collect()
            }
            Self::Values(of)
            | Self::ClampedSum(of)
            | Self::SumOfRows { of, .. }
            | Self::Distinct { of, .. }
            | Self::Quantile { of, .. } => vec![of],
        }
    }

    /// The expression that is computed of a row, where it is not only counted.
    pub fn operand(&self) -> Option<&Expr> {
        match self {
            Self::Units | Self::Rows => None,
            Self::Values(of)
            | Self::ClampedSum(of)
            | Self::PerRecordSum(PerRecordSum { of, .. })
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
    /// The expression to sort by.
    pub expr: Expr,
    /// Greatest first.
    pub descending: bool,
    /// NULLs first.
    pub nulls_first: bool,
}
