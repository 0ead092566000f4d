//! The losses of all records, one after the other.

use std::collections::HashMap;

use datafusion::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::error::DataFusionError;
use hushtable_plan::{Measure, Measurement, Operator, OwnerQuery, Thresholds};
use hushtable_privacy::{RecordPolicy, Rho, group_loss};
use hushtable_quote::{Noise, Quote, policy_of_noise, rho_at};

use super::{GroupLosses, Losses, OwnerLosses, rho};
use crate::bounding::accumulator_indices;
use crate::classes::ClassLookup;
use crate::contributions::ContributionBatch;
use crate::error::EngineError;
use crate::exact::RowReading;
use crate::intern::Interner;
use crate::progress::Progress;
use crate::runtime::heavy;
use crate::session::CheckedQuery;
use crate::sketch::Sketch;

/// Losses of all records, and by group and owner where requested.
pub(super) struct LossTally {
    pub(super) records: u64,
    pub(super) losses: Losses,
    pub(super) groups: Option<Vec<GroupLosses>>,
    pub(super) owners: Option<OwnerLosses>,
}

/// Reads the table and adds up, as if the noise of each measurement were `times` as large.
///
/// # Errors
/// When the query has no policy that depends on sizes, or the data cannot be read.
pub(super) async fn tally(
    checked: &CheckedQuery<'_>,
    by_group: bool,
    times: &(dyn Fn(usize) -> f64 + Sync),
    progress: &Progress,
) -> Result<LossTally, EngineError> {
    let limit = rho(checked)?.to_f64();
    let mut query = OwnerQuery::from(checked.quote.query());
    let group_keys = query.as_read().keys().len();
    // Other facts about a row come after the keys: its owner, and its class for each
    // sum.
    let owned = checked.table.and_then(|table| Some((table, table.owner.as_ref()?)));
    // The owner is known where the query's rows are the table's.
    let scanned = matches!(query.as_read().relation().operator(), Operator::Scan { .. });
    let owner = owned.filter(|_| scanned);
    let owner = owner.map(|(table, name)| (name.clone(), table.row_expression(name)));
    let owner = match owner {
        Some((name, Some(expr))) => Some((name, query.push_key(expr))),
        Some((_, None)) => {
            return Err(EngineError::inconsistent(
                "the column of a table's owner has no expression",
            ));
        }
        None => None,
    };
    let mut meters = Vec::new();
    let accumulators = accumulator_indices(checked.quote.query());
    let measurements = checked.quote.query().measurements().iter().zip(accumulators);
    for (index, (measurement, accumulator)) in measurements.enumerate() {
        let classes = measurement.thresholds().and_then(|t| t.classes.as_ref());
        let class = match classes {
            Some(classes) => {
                let column = query.push_key(classes.expr.clone());
                Some((ClassLookup::of(classes).map_err(DataFusionError::from)?, column))
            }
            None => None,
        };
        meters.push(Meter { index, accumulator, measurement: measurement.clone(), class });
    }
    let mut records = RecordLossSums {
        quote: &checked.quote,
        times,
        meters,
        policies: HashMap::new(),
        sketches: three(limit),
        groups: by_group.then(ByKey::default),
        owners: owner.map(|(name, column)| OwnerLossSums {
            name,
            column,
            roots: ByKey::default(),
            sketches: three(limit),
        }),
        group_keys,
        limit,
    };
    let reading =
        RowReading::plan(&query, &checked.data, &progress.reading(), checked.memory).await?;
    reading.each(|rows| records.add(&rows)).await?;
    heavy(|| records.finish())
}

fn three(limit: f64) -> [Sketch; 3] {
    [Sketch::new(limit), Sketch::new(limit), Sketch::new(limit)]
}

fn losses(sketches: &[Sketch; 3]) -> Losses {
    let [by_pieces, policy, realised] = sketches.each_ref().map(Sketch::distribution);
    Losses { by_pieces, policy, realised }
}

/// A measurement, and where a row's class is.
struct Meter {
    index: usize,
    /// The accumulator that has its values; none where units are counted.
    accumulator: Option<usize>,
    measurement: Measurement,
    class: Option<(ClassLookup, usize)>,
}

/// Something for each value of some columns.
struct ByKey<T> {
    interner: Option<Interner>,
    values: Vec<T>,
}

impl<T> Default for ByKey<T> {
    fn default() -> Self {
        Self { interner: None, values: Vec::new() }
    }
}

impl<T: Clone> ByKey<T> {
    /// The number of each row's value.
    fn ids(&mut self, columns: &[ArrayRef], new: &T) -> Result<Vec<usize>, DataFusionError> {
        let interner = match &mut self.interner {
            Some(interner) => interner,
            none => none.insert(Interner::new(columns)?),
        };
        let ids = interner.intern(columns)?.to_vec();
        let known = interner.len();
        self.values.resize(known, new.clone());
        Ok(ids)
    }
}

/// Adds up what single records lose.
struct RecordLossSums<'a> {
    quote: &'a Quote,
    times: &'a (dyn Fn(usize) -> f64 + Sync),
    meters: Vec<Meter>,
    /// The policy function of the records that meet the same thresholds.
    policies: HashMap<Vec<(usize, [i64; 2])>, RecordPolicy>,
    sketches: [Sketch; 3],
    groups: Option<ByKey<[Sketch; 3]>>,
    owners: Option<OwnerLossSums>,
    group_keys: usize,
    limit: f64,
}

/// Adds up what owners lose.
struct OwnerLossSums {
    name: String,
    /// Where a row's owner is among its keys.
    column: usize,
    /// The sums of the roots of the losses of each owner's records.
    roots: ByKey<Option<[f64; 3]>>,
    sketches: [Sketch; 3],
}

impl OwnerLossSums {
    /// The owner of each row, if it has one.
    fn of(&mut self, rows: &ContributionBatch) -> Result<Vec<Option<usize>>, DataFusionError> {
        let names = rows.keys.get(self.column).map(std::slice::from_ref).unwrap_or_default();
        let ids = self.roots.ids(names, &None)?;
        let named = |row: usize| names.first().is_some_and(|names| names.is_valid(row));
        Ok(ids.into_iter().enumerate().map(|(row, id)| named(row).then_some(id)).collect())
    }

    /// Adds the losses of a record of that owner; a record without an owner is its own owner.
    fn add(&mut self, owner: Option<usize>, lost: [f64; 3]) {
        match owner.and_then(|owner| self.roots.values.get_mut(owner)) {
            Some(roots) => {
                let roots = roots.get_or_insert([0.0; 3]);
                roots.iter_mut().zip(lost).for_each(|(root, lost)| *root += lost.sqrt());
            }
            None => self.add_roots(lost.map(f64::sqrt)),
        }
    }

    fn add_roots(&mut self, roots: [f64; 3]) {
        for (sketch, root) in self.sketches.iter_mut().zip(roots) {
            sketch.add(group_loss([root * root]));
        }
    }

    fn finish(mut self) -> OwnerLosses {
        for roots in std::mem::take(&mut self.roots.values).into_iter().flatten() {
            self.add_roots(roots);
        }
        let [sketch, ..] = &self.sketches;
        let (owners, losses) = (sketch.records(), losses(&self.sketches));
        OwnerLosses { column: self.name, owners, losses }
    }
}

impl RecordLossSums<'_> {
    fn add(&mut self, rows: &ContributionBatch) -> Result<(), DataFusionError> {
        let single = vec![0; rows.rows];
        let groups = match &mut self.groups {
            Some(groups) if self.group_keys > 0 => {
                let keys = rows.keys.get(..self.group_keys).unwrap_or_default();
                Some(groups.ids(keys, &three(self.limit))?)
            }
            Some(groups) => {
                groups.values.resize(1, three(self.limit));
                Some(single)
            }
            None => None,
        };
        let owners = match &mut self.owners {
            Some(owners) => owners.of(rows)?,
            None => Vec::new(),
        };
        let thresholds = self.thresholds(rows)?;
        for row in 0..rows.rows {
            let lost = self.lost(rows, &thresholds, row);
            for (sketch, lost) in self.sketches.iter_mut().zip(lost) {
                sketch.add(lost);
            }
            if let (Some(ids), Some(groups)) = (&groups, &mut self.groups)
                && let Some(sketches) = ids.get(row).and_then(|&id| groups.values.get_mut(id))
            {
                sketches.iter_mut().zip(lost).for_each(|(sketch, lost)| sketch.add(lost));
            }
            if let Some(by_owner) = &mut self.owners {
                by_owner.add(owners.get(row).copied().flatten(), lost);
            }
        }
        Ok(())
    }

    /// The threshold of each row for each sum whose records have classes.
    fn thresholds(
        &self,
        rows: &ContributionBatch,
    ) -> Result<Vec<Option<Vec<i64>>>, DataFusionError> {
        let of = |meter: &Meter| {
            let (Some((lookup, column)), Some(split)) =
                (&meter.class, meter.measurement.thresholds())
            else {
                return Ok(None);
            };
            let Some(classes) = rows.keys.get(*column) else { return Ok(None) };
            let listed = split.classes.as_ref().map_or(&[][..], |classes| &classes.values);
            let threshold = |class: usize| listed.get(class).map_or(split.default, |(_, t)| *t);
            Ok(Some(lookup.indices(classes)?.into_iter().map(threshold).collect()))
        };
        self.meters.iter().map(of).collect()
    }

    /// Loss of a row: by pieces, by the policy function, and as measured.
    fn lost(
        &mut self,
        rows: &ContributionBatch,
        thresholds: &[Option<Vec<i64>>],
        row: usize,
    ) -> [f64; 3] {
        let mut met = Vec::new();
        let mut values = Vec::new();
        let mut saved = 0.0;
        for (meter, thresholds) in self.meters.iter().zip(thresholds) {
            let measurement = &meter.measurement;
            let value = match (&measurement.measure, meter.accumulator) {
                // It may lose all that these cost, whatever it has.
                (
                    Measure::SumOfRows { .. } | Measure::Distinct { .. } | Measure::Quantile { .. },
                    _,
                ) => continue,
                (_, Some(index)) => rows.values.get(index).map_or(0, |m| value_at(m, row)),
                (_, None) => 1,
            };
            match measurement.thresholds() {
                Some(split) => {
                    let threshold = thresholds.as_ref().and_then(|t| t.get(row)).copied();
                    let threshold = threshold.unwrap_or(split.default);
                    let noise = if split.by_key().is_some() { threshold } else { measurement.high };
                    met.push((meter.index, [noise, threshold]));
                    values.push(value as f64 * measurement.step.to_f64());
                }
                None => saved += self.saved(meter, value),
            }
        }
        let Some(policy) = self.policy(met) else { return [f64::INFINITY; 3] };
        let exact = policy.exact(&values);
        [policy.split(&values).max(exact), exact, (exact - saved).max(0.0)]
    }

    /// Loss that a clamped value saves compared with the largest.
    fn saved(&self, meter: &Meter, value: i64) -> f64 {
        let Some(Noise::Single(additive)) = self.quote.noise().get(meter.index) else { return 0.0 };
        let rho = additive.loss().rho().and_then(|rho| rho_at(rho, (self.times)(meter.index)));
        let rho = rho.map_or(0.0, Rho::to_f64);
        let Measurement { low, high, .. } = meter.measurement;
        let most = low.unsigned_abs().max(high.unsigned_abs()).max(1) as f64;
        let fraction = value.clamp(low, high) as f64 / most;
        // Less is saved than this, as the policy is rounded up.
        rho * (1.0 - fraction * fraction) * (1.0 - 1e-12)
    }

    /// The policy function of the records that meet these thresholds, by the measurement.
    fn policy(&mut self, met: Vec<(usize, [i64; 2])>) -> Option<&RecordPolicy> {
        if !self.policies.contains_key(&met) {
            let of = |index: usize, measurement: &Measurement, _: &Thresholds| {
                let entry = met.iter().find(|(other, _)| *other == index);
                entry.map_or([measurement.high; 2], |(_, thresholds)| *thresholds)
            };
            let policy = policy_of_noise(self.quote, self.times, &of)?;
            self.policies.insert(met.clone(), policy);
        }
        self.policies.get(&met)
    }

    fn finish(self) -> Result<LossTally, EngineError> {
        let groups = match self.groups {
            Some(groups) => Some(ranked_groups(groups)?),
            None => None,
        };
        let owners = self.owners.map(OwnerLossSums::finish);
        let [sketch, ..] = &self.sketches;
        Ok(LossTally { records: sketch.records(), losses: losses(&self.sketches), groups, owners })
    }
}

fn value_at(measure: &Int64Array, row: usize) -> i64 {
    if measure.is_valid(row) { measure.value(row) } else { 0 }
}

/// The groups, those with the largest loss first.
fn ranked_groups(groups: ByKey<[Sketch; 3]>) -> Result<Vec<GroupLosses>, EngineError> {
    let keys = groups.interner.map_or(Ok(Vec::new()), Interner::finish)?;
    let text = |column: &ArrayRef, group: usize| {
        let text = column.is_valid(group).then(|| array_value_to_string(column, group));
        text.transpose().map_err(DataFusionError::from)
    };
    let mut all = Vec::with_capacity(groups.values.len());
    for (group, sketches) in groups.values.iter().enumerate() {
        let keys = keys.iter().map(|column| text(column, group));
        let keys = keys.collect::<Result<_, DataFusionError>>()?;
        let [sketch, ..] = sketches;
        all.push(GroupLosses { keys, records: sketch.records(), losses: losses(sketches) });
    }
    let largest = |group: &GroupLosses| group.losses.policy.largest;
    all.sort_by(|a, b| largest(b).total_cmp(&largest(a)).then(a.keys.cmp(&b.keys)));
    Ok(all)
}
