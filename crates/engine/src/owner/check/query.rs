//! The part of a table that a query's limits leave, by the code that bounds contributions for a
//! release.

use hushtable_lang::ColumnType;
use hushtable_mechanisms::{Selection, Strategy};
use hushtable_numbers::{Step, search::least_whole};
use hushtable_plan::{Clamps, Groups, Measure, Measurement, OwnerQuery, PrivateQuery};
use hushtable_quote::{GroupSize, Quote};

use super::report::{ContributionLimit, CutOff, GroupsCheck, QueryCheck};
use super::spread;
use crate::bound::{AccumulatorTally, Cut, Tallies};
use crate::bounding::accumulator_indices;
use crate::contributions::LARGEST;
use crate::contributions::SamplingKey;
use crate::draw::CountedGroups;
use crate::error::EngineError;
use crate::exact::{ExactSums, OwnerScan, ScanOutcome};
use crate::owner::chances::{are_least, chances};
use crate::progress::Progress;
use crate::session::CheckedQuery;
use crate::survey::ScanOptions;

/// Shares whose quantiles are reported.
const QUANTILES: [f64; 4] = [0.01, 0.5, 0.95, 0.99];

/// Reads the rows that count for a query, and bounds them with and without the limit on groups.
///
/// # Errors
/// When the data cannot be read, or there is too little memory.
pub(super) async fn read(
    checked: &CheckedQuery<'_>,
    key: SamplingKey,
    progress: &Progress,
) -> Result<QueryCheck, EngineError> {
    let quote = &checked.quote;
    let query = quote.query();
    let mut counting = OwnerQuery::from(query);
    counting.push_measurement(rows());
    let look = ScanOptions { tally: true, ..ScanOptions::default() };
    // The chances of groups follow from their sizes, except for votes.
    let votes = quote.selection().is_some_and(|s| s.strategy() == Strategy::SingleVote);
    let scan =
        OwnerScan::of(&counting, votes, &checked.data, &progress.reading(), checked.memory).await?;
    let ScanOutcome { mut exact, tallies, .. } = scan.look(key, look).await?;
    // The groups are those of the query itself.
    exact.measured.pop();
    let tallies = tallies.ok_or(EngineError::inconsistent(
        "a scan that was to tally contributions has no tallies",
    ))?;
    let all = &tallies.all_groups;
    Ok(QueryCheck {
        rows: all.rows_per_group.sum(),
        units: all.groups_per_unit.all(),
        max_groups_contributed: query.max_groups_contributed(),
        max_rows_joined: query.relation().max_rows_joined(),
        groups_per_unit: spread(&all.groups_per_unit),
        rows_per_group: spread(&all.rows_per_group),
        cut_off: cut_off(query, &tallies)?,
        groups: groups(quote, query, exact)?,
    })
}

/// The number of rows of each unit in each group, without a limit.
pub(crate) fn rows() -> Measurement {
    Measurement {
        name: "rows".to_owned(),
        measure: Measure::Rows,
        low: 0,
        high: LARGEST,
        step: Step::Whole(1),
        weight: 0,
        column_type: ColumnType::Int,
    }
}

fn share(amount: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { amount as f64 / whole as f64 }
}

/// The part of each measurement that each limit takes away.
fn cut_off(query: &PrivateQuery, tallies: &Tallies) -> Result<Vec<CutOff>, EngineError> {
    let Tallies { limited, all_groups } = tallies;
    let most = query.max_groups_contributed();
    let units = all_groups.groups_per_unit.all();
    let many = all_groups.groups_per_unit.above(most.into());
    let mut found = Vec::new();
    for (measurement, index) in query.measurements().iter().zip(accumulator_indices(query)) {
        let name = &measurement.name;
        let of = |limit, allowed, cut: Cut, total: u128| CutOff {
            measurement: name.clone(),
            limit,
            allowed,
            share_of_units: share(cut.units.into(), units.into()),
            share_of_total: share(cut.cut, total),
            quantiles: Vec::new(),
        };
        // The total with the limit on groups, and the total without it.
        let by_groups = |left: u128, total: u128| {
            let cut = Cut { total, cut: total.saturating_sub(left), units: many };
            of(ContributionLimit::GroupsPerUnit, (0.0, most.into()), cut, total)
        };
        let step = measurement.step.to_f64();
        let (low, high) = match measurement.measure {
            Measure::SumOfRows { low, high, .. } => (low, high),
            _ => (measurement.low, measurement.high),
        };
        let bounds = (low as f64 * step, high as f64 * step);
        let tallied = index.map(|index| (limited.cut.get(index), all_groups.cut.get(index)));
        match (&measurement.measure, tallied) {
            (Measure::Units, None) => {
                let pairs = |tally: &crate::bound::ContributionTally| {
                    u128::from(tally.rows_per_group.all())
                };
                found.push(by_groups(pairs(limited), pairs(all_groups)));
            }
            (
                Measure::Quantile { rows, .. } | Measure::SumOfRows { rows, .. },
                Some((
                    Some(AccumulatorTally::Values([beyond, range])),
                    Some(AccumulatorTally::Values([all, _])),
                )),
            ) => {
                found.push(by_groups(beyond.total, all.total));
                let rows = (0.0, f64::from(*rows));
                found.push(of(ContributionLimit::RowsPerGroup, rows, *beyond, all.total));
                let mean =
                    matches!(measurement.measure, Measure::SumOfRows { clamps: Clamps::Mean, .. });
                let limit = if mean {
                    ContributionLimit::BoundsOfMean
                } else {
                    ContributionLimit::BoundsPerRow
                };
                found.push(of(limit, bounds, *range, all.total));
            }
            (
                Measure::Distinct { values, .. },
                Some((
                    Some(AccumulatorTally::Values([beyond, _])),
                    Some(AccumulatorTally::Values([all, _])),
                )),
            ) => {
                found.push(by_groups(beyond.total, all.total));
                let values = (0.0, f64::from(*values));
                found.push(of(ContributionLimit::RowsPerGroup, values, *beyond, all.total));
            }
            (
                Measure::Rows
                | Measure::Values(_)
                | Measure::ClampedSum(_)
                | Measure::PerRecordSum(_),
                Some((
                    Some(AccumulatorTally::Sums(cut, _)),
                    Some(AccumulatorTally::Sums(all, sizes)),
                )),
            ) => {
                found.push(by_groups(cut.total, all.total));
                if measurement.measure.per_record().is_some() {
                    continue;
                }
                let limit = match measurement.measure {
                    Measure::ClampedSum(_) => ContributionLimit::BoundsPerGroup,
                    _ => ContributionLimit::RowsPerGroup,
                };
                let reported = QUANTILES.iter().filter_map(|&s| Some((s, sizes.at(s)? * step)));
                let quantiles = reported.collect();
                found.push(CutOff { quantiles, ..of(limit, bounds, *cut, all.total) });
            }
            _ => {
                return Err(EngineError::inconsistent("a measurement has a tally of another kind"));
            }
        }
    }
    // A row is in one group, and so is a unit without GROUP BY.
    let limits_groups = query.unit().is_some() && query.groups() != Groups::Single;
    found.retain(|cut| cut.limit != ContributionLimit::GroupsPerUnit || limits_groups);
    Ok(found)
}

/// Which groups a release is expected to show.
fn groups(
    quote: &Quote,
    query: &PrivateQuery,
    exact: ExactSums,
) -> Result<GroupsCheck, EngineError> {
    let in_data = exact.units.iter().filter(|&&units| units > 0).count();
    let units: Vec<u64> =
        exact.units.iter().map(|&n| u64::try_from(n).unwrap_or_default()).collect();
    let (_, counted) = CountedGroups::new(query, exact)?;
    if !matches!(query.groups(), Groups::Private { .. }) {
        return Ok(GroupsCheck {
            in_data,
            known: counted.groups,
            expected: counted.groups as f64,
            at_least: false,
            share_of_contributions: 1.0,
            shown_half: None,
            shown_95: None,
            sizes_in: GroupSize::Units,
        });
    }
    let selection = quote
        .selection()
        .ok_or(EngineError::inconsistent("a query with private groups has no selection"))?;
    let (mut expected, mut visible, mut all) = (0.0, 0.0, 0.0);
    for (group, chance) in chances(quote, &counted)?.into_iter().enumerate() {
        let units = units.get(group).copied().unwrap_or_default() as f64;
        expected += chance;
        visible += chance * units;
        all += units;
    }
    Ok(GroupsCheck {
        in_data,
        known: counted.known.iter().filter(|known| **known).count(),
        expected,
        at_least: are_least(quote, &counted),
        share_of_contributions: if all > 0.0 { visible / all } else { 1.0 },
        shown_half: Some(selection.half_size()),
        shown_95: Some(least_visible_size(selection, 0.95)),
        sizes_in: quote.group_size(),
    })
}

/// The least size with which a group is shown with that probability.
fn least_visible_size(selection: &Selection, probability: f64) -> u64 {
    let likely = |size: u64| selection.keep_probability(size) >= probability;
    let most = 1 << 62;
    least_whole(0, selection.half_size().max(1), most, likely).unwrap_or(most)
}
