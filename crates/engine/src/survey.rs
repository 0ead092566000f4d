//! Contributions of single units, for an audit: which of them weigh the most, and the table without
//! one of them.

use datafusion::arrow::array::{AsArray, BooleanArray};
use datafusion::arrow::compute::filter;
use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use serde::{Deserialize, Serialize};

use crate::contributions::{ContributionBatch, Listing, SamplingKey};
use crate::flat::{Flat, Numbers, flat, foreign};
use crate::intern::Hashes;
use crate::members::PartialMembers;

/// Readings for owners beside exact groups, or in place of them: by default none.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScanOptions {
    /// Tell what single units contribute.
    pub(crate) survey: bool,
    /// Tally contributions and what limits cut off. The last measurement must count rows, without a
    /// bound.
    pub(crate) tally: bool,
    /// Leave out the rows of the unit with that keyed hash.
    pub(crate) without: Option<u128>,
}

impl ScanOptions {
    /// Whether partitions have more than exact groups.
    pub(crate) fn finds_more(self) -> bool {
        self.survey || self.tally
    }
}

/// Contributions of single units of one partition. Secret: no Debug, Display or Serialize.
pub(crate) enum Survey {
    /// The sums that each unit adds, and its kept groups.
    Units {
        /// By unit, in the order of `members`.
        shares: Vec<UnitShares>,
        /// The groups of each.
        members: PartialMembers,
    },
    /// Where rows are units: the rows of each group that add the most.
    Rows(Vec<Extremes>),
}

impl Flat for Survey {
    fn write(&self, numbers: &mut Vec<u64>) {
        match self {
            Self::Units { shares, members } => {
                numbers.push(0);
                shares.write(numbers);
                members.write(numbers);
            }
            Self::Rows(extremes) => {
                numbers.push(1);
                extremes.write(numbers);
            }
        }
    }

    fn read(numbers: &mut Numbers<'_>) -> Result<Self, DataFusionError> {
        Ok(match numbers.take()? {
            0 => Self::Units { shares: Flat::read(numbers)?, members: Flat::read(numbers)? },
            1 => Self::Rows(Flat::read(numbers)?),
            _ => return Err(foreign()),
        })
    }
}

/// A survey, with the numbers that the partition's groups have in the whole.
pub(crate) struct PartitionSurvey {
    pub(crate) survey: Survey,
    pub(crate) groups: Vec<usize>,
}

/// Contributions of one unit, as shares of what their bounds allow: one for each group, and one for
/// each sum that is as large as it can be.
#[derive(Clone, Copy, Default)]
pub(crate) struct UnitShares {
    /// Whatever the sign.
    pub(crate) size: f64,
    /// With the sign.
    pub(crate) signed: f64,
}

flat!(UnitShares { size, signed });

impl UnitShares {
    /// Adds what a unit contributes to one more group, each value with its bounds.
    pub(crate) fn add(&mut self, contributions: impl Iterator<Item = (i128, (i64, i64))>) {
        self.size += 1.0;
        for (value, (low, high)) in contributions {
            let most = low.unsigned_abs().max(high.unsigned_abs()).max(1);
            let share = value as f64 / most as f64;
            self.size += share.abs();
            self.signed += share;
        }
    }

    /// Adds a value that is kept one by one, as a share of those that the unit may have in a group.
    pub(crate) fn add_value(&mut self, value: i64, listing: &Listing) {
        let (low, high) = listing.mean.unwrap_or(listing.range);
        let most = low.unsigned_abs().max(high.unsigned_abs()).max(1);
        if listing.distinct {
            // One value is as good as another.
            let share = 1.0 / f64::from(listing.rows.max(1));
            self.size += share;
            self.signed += share;
            return;
        }
        let share = value.clamp(low, high) as f64 / most as f64 / f64::from(listing.rows.max(1));
        self.size += share.abs();
        self.signed += share;
    }
}

/// A row that is a unit.
#[derive(Clone)]
pub(crate) struct HeavyRow {
    pub(crate) shares: UnitShares,
    /// Its contribution to each accumulator, clamped; `None` where it has no value to be kept.
    pub(crate) values: Vec<Option<i128>>,
}

flat!(HeavyRow { shares, values });

/// The rows of a group that add the most and the least, by their signed shares.
#[derive(Clone, Default)]
pub(crate) struct Extremes {
    pub(crate) most: Option<HeavyRow>,
    pub(crate) least: Option<HeavyRow>,
}

flat!(Extremes { most, least });

impl Extremes {
    /// Looks at one more row: its values, each with what it is compared with.
    pub(crate) fn add(&mut self, values: impl Iterator<Item = (Option<i128>, (i64, i64))> + Clone) {
        let mut shares = UnitShares::default();
        shares.add(values.clone().map(|(value, range)| (value.unwrap_or(0), range)));
        let row = || HeavyRow { shares, values: values.clone().map(|(v, _)| v).collect() };
        if self.most.as_ref().is_none_or(|extreme| shares.signed > extreme.shares.signed) {
            self.most = Some(row());
        }
        if self.least.as_ref().is_none_or(|extreme| shares.signed < extreme.shares.signed) {
            self.least = Some(row());
        }
    }
}

/// Leaves out the rows of one unit, before anything is bounded: what comes out is what would be if
/// they were not in the table.
pub(crate) struct Without {
    unit: u128,
    key: SamplingKey,
    hashes: Option<Hashes>,
}

impl Without {
    /// Of the unit with that hash under the key.
    pub(crate) fn new(unit: u128, key: SamplingKey) -> Self {
        Self { unit, key, hashes: None }
    }

    /// The other rows.
    pub(crate) fn apply(
        &mut self,
        rows: ContributionBatch,
    ) -> Result<ContributionBatch, DataFusionError> {
        let Some(unit) = &rows.unit else { return Ok(rows) };
        let unit = std::slice::from_ref(unit);
        let hashes = match &mut self.hashes {
            Some(hashes) => hashes,
            none => none.insert(Hashes::new(unit, self.key.0)?),
        };
        let others: BooleanArray =
            hashes.of_rows(unit)?.into_iter().map(|hash| Some(hash != self.unit)).collect();
        if others.true_count() == rows.rows {
            return Ok(rows);
        }
        let keys = rows.keys.iter().map(|k| filter(k, &others));
        let filtered = |m| Ok::<_, ArrowError>(filter(m, &others)?.as_primitive().clone());
        Ok(ContributionBatch {
            keys: keys.collect::<Result<_, _>>()?,
            unit: rows.unit.as_ref().map(|u| filter(u, &others)).transpose()?,
            values: rows.values.iter().map(|m| filtered(m)).collect::<Result<_, _>>()?,
            rows: others.true_count(),
        })
    }
}
