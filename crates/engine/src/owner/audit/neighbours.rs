//! Which units to leave out: those that weigh the most, and one that is most alone.

use std::collections::HashMap;

use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::compute::filter;
use hushtable_plan::PrivateQuery;
use hushtable_privacy::Neighbouring;

use crate::bounding::accumulator_indices;
use crate::error::EngineError;
use crate::exact::ExactSums;
use crate::measurements::ExactMeasurement;
use crate::survey::{HeavyRow, PartitionSurvey, Survey, UnitShares};

/// A unit, as it can be found again. Secret: no Debug, Display or Serialize.
#[derive(Clone)]
pub(crate) enum Who {
    /// By its keyed hash.
    Unit(u128),
    /// A row that is a unit.
    Row(RemovedRow),
}

/// A row, as it is left out. Secret: no Debug, Display or Serialize.
#[derive(Clone)]
pub(crate) struct RemovedRow {
    pub(crate) group: usize,
    /// Its contribution to each accumulator.
    pub(crate) values: Vec<Option<i128>>,
}

/// A unit that may be left out.
pub(crate) struct CandidateUnit {
    pub(crate) who: Who,
    shares: UnitShares,
    /// The shares that it is of the units of its groups, of those that decide, added up.
    alone: f64,
}

/// Two tables to compare, by the unit that each is without; `None` for the whole table.
pub(crate) struct TableComparison {
    pub(crate) without: [Option<Who>; 2],
    pub(crate) names: [String; 2],
}

/// The units of a table, heaviest first; where rows are units, the extremes of each group. Groups
/// have that many units, and appear from `least` on.
///
/// # Errors
/// Only by a fault of this program.
pub(crate) fn candidates(
    surveys: &[PartitionSurvey],
    units: &[i64],
    least: i64,
) -> Result<Vec<CandidateUnit>, EngineError> {
    let share = |group: usize| match units.get(group).map(|&n| n - least) {
        Some(beyond) if beyond >= 0 => 1.0 / (beyond + 1) as f64,
        _ => 0.0,
    };
    let mut by_unit: HashMap<u128, (UnitShares, f64)> = HashMap::new();
    let mut by_group: HashMap<usize, [Option<&HeavyRow>; 2]> = HashMap::new();
    for PartitionSurvey { survey, groups } in surveys {
        let id = |local: usize| groups.get(local).copied();
        match survey {
            Survey::Units { shares, members } => {
                for (shares, member) in shares.iter().zip(members.iter()) {
                    let (unit, unit_groups) = member?;
                    // All of a unit is in one partition, unless there is a fault: it is seen.
                    let (all, alone) = by_unit.entry(unit).or_default();
                    all.size += shares.size;
                    all.signed += shares.signed;
                    *alone +=
                        unit_groups.iter().filter_map(|&g| id(g as usize)).map(share).sum::<f64>();
                }
            }
            Survey::Rows(extremes) => {
                for (local, extremes) in extremes.iter().enumerate() {
                    let Some(group) = id(local) else { continue };
                    let [most, least] = by_group.entry(group).or_default();
                    let signed = |row: &HeavyRow| row.shares.signed;
                    if let Some(row) = &extremes.most
                        && most.is_none_or(|current| signed(row) > signed(current))
                    {
                        *most = Some(row);
                    }
                    if let Some(row) = &extremes.least
                        && least.is_none_or(|current| signed(row) < signed(current))
                    {
                        *least = Some(row);
                    }
                }
            }
        }
    }
    let mut all: Vec<CandidateUnit> = by_unit
        .into_iter()
        // A unit that keeps none of its groups is still a unit, but changes nothing.
        .filter(|(_, (shares, _))| shares.size > 0.0)
        .map(|(unit, (shares, alone))| CandidateUnit { who: Who::Unit(unit), shares, alone })
        .collect();
    for (group, [most, least]) in by_group {
        let row = |row: &HeavyRow| CandidateUnit {
            who: Who::Row(RemovedRow { group, values: row.values.clone() }),
            shares: row.shares,
            alone: share(group),
        };
        all.extend(most.map(row));
        let differs = |l: &&HeavyRow| most.is_none_or(|m| l.values != m.values);
        all.extend(least.filter(differs).map(row));
    }
    // In an order that does not depend on the maps'.
    let name = |c: &CandidateUnit| match &c.who {
        Who::Unit(unit) => (*unit, Vec::new()),
        Who::Row(RemovedRow { group, values }) => (*group as u128, values.clone()),
    };
    all.sort_by(|a, b| b.shares.size.total_cmp(&a.shares.size).then_with(|| name(a).cmp(&name(b))));
    Ok(all)
}

/// Pairs of tables to compare: up to `most` neighbours, and one more for groups that are chosen
/// privately, if the unit that is most alone in its groups is not among them.
pub(crate) fn comparisons(
    candidates: &[CandidateUnit],
    most: usize,
    query: &PrivateQuery,
    private: bool,
) -> Vec<TableComparison> {
    let unit = if query.unit().is_some() { "unit" } else { "row" };
    let heavy = |rank: usize| match rank {
        0 => format!("the heaviest {unit}"),
        rank => format!("{unit} number {} by weight", rank + 1),
    };
    let extreme = |key: fn(&CandidateUnit) -> f64| {
        let best = candidates
            .iter()
            .enumerate()
            .max_by(|(i, a), (j, b)| key(a).total_cmp(&key(b)).then(j.cmp(i)));
        best.map(|(index, _)| index)
    };
    let replaced = query.neighbouring() == Neighbouring::Replace;
    let mut order: Vec<(usize, String)> = Vec::new();
    if replaced && let Some(lowest) = extreme(|c| -c.shares.signed) {
        // Whoever is exchanged for another should be as unlike it as can be.
        order.push((lowest, format!("the {unit} that adds the least")));
    }
    order.extend((0..candidates.len()).take(most + 2).map(|index| (index, heavy(index))));
    let alone = extreme(|c| c.alone).filter(|_| private);
    let alone = alone.map(|index| (index, format!("the {unit} with the smallest groups")));
    let mut picked: Vec<(usize, String)> = Vec::new();
    let new = |picked: &[(usize, String)], index: usize| {
        // The unit that is exchanged is always the heaviest.
        !(replaced && index == 0) && picked.iter().all(|(other, _)| *other != index)
    };
    for (index, name) in order {
        if picked.len() < most && new(&picked, index) {
            picked.push((index, name));
        }
    }
    picked.extend(alone.filter(|(index, _)| new(&picked, *index)));
    let who = |index: usize| candidates.get(index).map(|c| c.who.clone());
    picked
        .into_iter()
        .map(|(index, name)| match replaced {
            false => TableComparison {
                without: [None, who(index)],
                names: ["the whole table".to_owned(), format!("the table without {name}")],
            },
            true => TableComparison {
                without: [who(0), who(index)],
                names: [
                    format!("the table without {}", heavy(0)),
                    format!("the table without {name}"),
                ],
            },
        })
        .collect()
}

/// Exact groups without a row of one of them.
///
/// # Errors
/// Only by a fault of this program.
pub(crate) fn without_row(
    exact: &ExactSums,
    query: &PrivateQuery,
    row: &RemovedRow,
) -> Result<ExactSums, EngineError> {
    let mut exact = exact.clone();
    let group = row.group;
    if let Some(units) = exact.units.get_mut(group) {
        *units -= 1;
    }
    let no_group = || EngineError::inconsistent("a removed row is in a group that was not found");
    let columns = accumulator_indices(query);
    for (column, measured) in columns.iter().zip(&mut exact.measured) {
        let value = match column {
            None => Some(1),
            Some(column) => *row.values.get(*column).ok_or_else(|| {
                EngineError::inconsistent("a removed row has no value of a measurement")
            })?,
        };
        match (measured, value) {
            (ExactMeasurement::Sums(sums), Some(value)) => {
                *sums.get_mut(group).ok_or_else(no_group)? -= value;
            }
            // Of the different ones, another row may have the same.
            (ExactMeasurement::Values(list) | ExactMeasurement::Distinct(list), Some(value)) => {
                list.remove(
                    group,
                    i64::try_from(value).map_err(|_| {
                        EngineError::inconsistent("a removed row has a value beyond 64 bits")
                    })?,
                );
            }
            (_, None) => {}
        }
    }
    if let Some(pieces) = &mut exact.pieces {
        // They come after the measurements.
        let piece =
            row.values.last().copied().flatten().ok_or_else(|| {
                EngineError::inconsistent("a removed row has no number of pieces")
            })?;
        *pieces.get_mut(group).ok_or_else(no_group)? -= piece;
    }
    if exact.units.get(group) == Some(&0) && !exact.keys.is_empty() {
        // A group without any row is none.
        let keep: BooleanArray = (0..exact.units.len()).map(|g| Some(g != group)).collect();
        exact.keys = exact.keys.iter().map(|k| filter(k, &keep)).collect::<Result<_, _>>()?;
        exact.units.remove(group);
        let others = || (0..keep.len()).filter(|&g| g != group).map(Some);
        for measured in &mut exact.measured {
            *measured = measured.rearranged(others())?;
        }
        if let Some(pieces) = &mut exact.pieces {
            pieces.remove(group);
        }
    }
    Ok(exact)
}
