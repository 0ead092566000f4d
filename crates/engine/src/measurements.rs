//! Exact measurements of groups.

use std::borrow::Cow;

use crate::error::EngineError;
use crate::value_lists::ValueLists;

/// The exact measurement of each group. No Debug, Display or Serialize.
#[derive(Clone)]
pub(crate) enum ExactMeasurement {
    /// Sums, in lattice units.
    Sums(Vec<i128>),
    /// The values of each group, for a quantile of them.
    Values(ValueLists),
    /// The values of each group, for the number of different ones.
    Distinct(ValueLists),
}

impl ExactMeasurement {
    /// The sums, or numbers of different values, where there are any.
    pub(crate) fn sums(&self) -> Option<Cow<'_, [i128]>> {
        match self {
            Self::Sums(sums) => Some(sums.into()),
            Self::Values(_) => None,
            Self::Distinct(values) => {
                let counts = (0..values.groups()).map(|group| values.distinct_of(group));
                Some(counts.collect::<Vec<_>>().into())
            }
        }
    }

    /// The sum of a group, or its number of different values; `None` where there is none.
    pub(crate) fn sum(&self, group: usize) -> Option<i128> {
        match self {
            Self::Sums(sums) => sums.get(group).copied(),
            Self::Values(_) => None,
            Self::Distinct(values) => (group < values.groups()).then(|| values.distinct_of(group)),
        }
    }

    /// The values, where a quantile of them is wanted.
    pub(crate) fn values(&self) -> Option<&ValueLists> {
        match self {
            Self::Sums(_) | Self::Distinct(_) => None,
            Self::Values(values) => Some(values),
        }
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        match self {
            Self::Sums(sums) => sums.len(),
            Self::Values(values) | Self::Distinct(values) => values.groups(),
        }
    }

    /// Other groups: each as the one that is named, or without any row.
    pub(crate) fn rearranged(
        &self,
        groups: impl Iterator<Item = Option<usize>>,
    ) -> Result<Self, EngineError> {
        match self {
            Self::Sums(sums) => {
                let sum_of = |group| {
                    sums.get(group).copied().ok_or(EngineError::inconsistent(
                        "a rearranged group is not among the exact groups",
                    ))
                };
                let sums = groups.map(|group: Option<usize>| group.map_or(Ok(0), sum_of));
                Ok(Self::Sums(sums.collect::<Result<_, _>>()?))
            }
            Self::Values(values) | Self::Distinct(values) => {
                let lists = groups.map(|group| match group {
                    Some(group) if group >= values.groups() => Err(EngineError::inconsistent(
                        "a rearranged group is not among the exact groups",
                    )),
                    group => Ok(group),
                });
                let groups = lists.collect::<Result<Vec<_>, _>>()?;
                let values = values.rearranged(groups.into_iter());
                Ok(match self {
                    Self::Distinct(_) => Self::Distinct(values),
                    _ => Self::Values(values),
                })
            }
        }
    }
}
