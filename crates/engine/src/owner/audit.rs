//! A privacy test of a query: runs it many times on the table and on neighbours of it, and bounds
//! from below the epsilon that the outputs show.
//!
//! It knows the exact tables, as the strongest attacker does, and compares them by all it can think
//! of; it can find that a promise is broken, and never prove that it is kept. It is for the owner
//! of the data: it charges nothing, and what it finds is about the exact data.

mod event_search;
mod near;
mod neighbours;
mod pair;
mod report;
mod statistics;
mod words;

use std::sync::Arc;

use datafusion::error::DataFusionError;
use hushtable_lang::{Refusal, Value};
use hushtable_noise::Generator;
use hushtable_plan::{Groups, PrivateQuery, Thresholds};
use hushtable_privacy::{Delta, Loss};
use hushtable_quote::{EpsilonAt, Quote, RecordContribution};

use crate::bounding::accumulator_indices;
use crate::classes::ClassLookup;
use crate::contributions::SamplingKey;
use crate::draw::CountedGroups;
use crate::error::EngineError;
use crate::exact::{ExactSums, OwnerScan, ScanOutcome};
use crate::progress::Progress;
use crate::runtime::heavy;
use crate::session::{CheckedQuery, Session};
use crate::source::ReadProgress;
use crate::survey::ScanOptions;
use event_search::{AuditTrial, search};
use neighbours::{RemovedRow, Who, candidates, comparisons, without_row};
use pair::{ComparedTable, TablePair};
pub use report::{AuditOptions, AuditReport, EventInWords, PairComparison};
use statistics::Statistics;
use words::event_in_words;

/// Most steps of an audit, of a few nanoseconds each: some minutes.
const MOST_WORK: u64 = 10_000_000_000;

/// Fewest runs on each table, whatever work they are.
const FEWEST_RUNS: u64 = 200;

impl Session {
    /// Audits a query. Reads the data, charges nothing and writes nothing.
    ///
    /// # Errors
    /// When the query or an option is refused, the data cannot be read, or there is no randomness.
    pub async fn audit(
        &self,
        sql: &str,
        options: &AuditOptions,
        progress: &Progress,
    ) -> Result<AuditReport, EngineError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let generators: Result<Vec<_>, _> = (0..threads).map(|_| Generator::from_os()).collect();
        self.audit_with(sql, options, progress, &mut generators?).await
    }

    /// Audits with given generators, one for each thread; see [`audit`](Self::audit).
    pub(crate) async fn audit_with(
        &self,
        sql: &str,
        options: &AuditOptions,
        progress: &Progress,
        generators: &mut [Generator],
    ) -> Result<AuditReport, EngineError> {
        options.checked()?;
        let session = heavy(|| self.as_analyst(sql))?;
        let checked = heavy(|| session.check(sql))?;
        let more = match (checked.quote.total(), options.delta) {
            (Loss::Approximate { .. }, Some(_)) => {
                let refusal = Refusal::new(
                    "the audit has a delta, but the query has a delta of its own",
                    "leave --delta out: it is for queries in rho, and an audit in epsilon is at \
                     the query's delta",
                );
                return Err(EngineError::Refused(refusal.in_code(
                    "leave `delta` out: it is for queries in rho, and an audit in epsilon is at \
                     the query's delta",
                )));
            }
            (_, Some(delta)) if delta.is_zero() => {
                let refusal = Refusal::new(
                    "delta = 0 is not valid for an audit of a query in rho: it must be above 0, \
                     as rho promises no epsilon at 0",
                    "for example `--delta 1e-5`",
                );
                return Err(EngineError::Refused(refusal.in_code("for example delta=\"1e-5\"")));
            }
            (_, delta) => delta.map_or(1e-5, Delta::to_f64),
        };
        let promised = EpsilonAt::promised(&checked.quote, more);
        let first = generators
            .first_mut()
            .ok_or(EngineError::inconsistent("an audit has no random generator"))?;
        let key = SamplingKey::draw(first)?;
        let tables = ComparedTables::read(&checked, options.units, key).await?;
        let names: Vec<String> =
            checked.quote.query().measurements().iter().map(|m| m.name.clone()).collect();
        let bar = Bar { promised, more, options };
        let comparisons = heavy(|| {
            audited(&checked.quote, &names, tables, &bar, generators, &progress.reading())
        })?;
        let epsilon_at_least = comparisons.iter().map(|c| c.epsilon_at_least).fold(0.0, f64::max);
        Ok(AuditReport {
            table: checked.population.name.clone(),
            neighbouring: checked.quote.query().neighbouring(),
            loss: checked.quote.total(),
            promised,
            epsilon_at_least,
            confidence: options.confidence,
            violation: comparisons.iter().any(|c| c.violation),
            requested_runs: options.runs,
            comparisons,
        })
    }
}

/// Tables to compare.
struct ComparedTables(Vec<([ComparedTable; 2], PairLabels)>);

/// Names of two tables, and the row by which they differ.
struct PairLabels {
    names: [String; 2],
    /// The row that one of them is without, where rows are units.
    removed: Option<OmittedRow>,
}

/// A row that is left out. Secret: no Debug, Display or Serialize.
struct OmittedRow {
    /// Its addition to each measurement that adds up.
    sums: Vec<i128>,
    pieces: i128,
    /// The keys of its group, where its class is one of them.
    keys: Vec<Value>,
}

impl ComparedTables {
    /// Reads the table once, and once more without each unit. All under one sampling key: what is
    /// promised holds under every key, so that this is the stricter test.
    async fn read(
        checked: &CheckedQuery<'_>,
        most: u64,
        key: SamplingKey,
    ) -> Result<Self, EngineError> {
        let query = checked.quote.query();
        let scan = async |look: ScanOptions| {
            let unwatched = Arc::new(ReadProgress::default());
            let scan =
                OwnerScan::plan(&checked.quote, &checked.data, &unwatched, checked.memory).await?;
            scan.look(key, look).await
        };
        let ScanOutcome { exact, surveys, .. } =
            scan(ScanOptions { survey: true, ..ScanOptions::default() }).await?;
        // The least number of units with which a group appears.
        let least = match query.groups() {
            Groups::Private { least, .. } => Some(i64::from(least)),
            Groups::Single | Groups::Public => None,
        };
        let candidates = candidates(&surveys, &exact.units, least.unwrap_or(1))?;
        drop(surveys);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let without = async |who: &Option<Who>| match who {
            None => table(query, exact.clone()),
            Some(Who::Unit(unit)) => {
                let look = ScanOptions { without: Some(*unit), ..ScanOptions::default() };
                let ScanOutcome { exact, .. } = scan(look).await?;
                table(query, exact)
            }
            Some(Who::Row(row)) => table(query, without_row(&exact, query, row)?),
        };
        let mut first: Option<ComparedTable> = None;
        let mut all = Vec::new();
        for comparison in comparisons(&candidates, most, query, least.is_some()) {
            let [one, other] = &comparison.without;
            // It is the same in all comparisons.
            let one = match &first {
                Some(table) => table.clone(),
                None => without(one).await?,
            };
            first = Some(one.clone());
            let removed = match other {
                Some(Who::Row(RemovedRow { group, values, .. })) => {
                    let value = |at: usize| {
                        let value = values.get(at).copied().flatten();
                        value.ok_or(EngineError::inconsistent(
                            "a removed row has no value of a measurement",
                        ))
                    };
                    let accumulators =
                        accumulator_indices(query).into_iter().zip(query.measurements());
                    let accumulators = accumulators.filter(|(_, m)| m.measure.adds_up());
                    let sums = accumulators.map(|(index, _)| {
                        value(index.ok_or(EngineError::inconsistent(
                            "a measured sum has no accumulator",
                        ))?)
                    });
                    let sums = sums.collect::<Result<_, EngineError>>()?;
                    let pieces = match query.chooses_by_pieces() {
                        // They come after the measurements.
                        true => value(values.len().checked_sub(1).ok_or(
                            EngineError::inconsistent("a removed row has no number of pieces"),
                        )?)?,
                        false => 1,
                    };
                    let keys = class_keys(query, &exact, *group)?;
                    Some(OmittedRow { sums, pieces, keys })
                }
                _ => None,
            };
            all.push((
                [one, without(other).await?],
                PairLabels { names: comparison.names, removed },
            ));
        }
        Ok(Self(all))
    }
}

fn table(query: &PrivateQuery, exact: ExactSums) -> Result<ComparedTable, EngineError> {
    let (keys, counted) = CountedGroups::new(query, exact)?;
    Ok(ComparedTable { keys, counted: Arc::new(counted) })
}

/// The next of 1, 2 and 5 times a power of ten that is not below.
pub(crate) fn coarse(epsilon: f64) -> f64 {
    if !epsilon.is_finite() || epsilon <= 0.0 {
        return epsilon;
    }
    let power = 10f64.powi(epsilon.log10().floor() as i32);
    [1.0, 2.0, 5.0].into_iter().map(|n| n * power).find(|&n| n >= epsilon).unwrap_or(10.0 * power)
}

/// The keys of a group that are the classes of its records; NULL for its other keys.
fn class_keys(
    query: &PrivateQuery,
    exact: &ExactSums,
    group: usize,
) -> Result<Vec<Value>, EngineError> {
    let mut keys = vec![Value::Null; query.keys().len()];
    let by_key =
        query.measurements().iter().filter_map(|m| m.thresholds().and_then(Thresholds::by_key));
    for (key, classes) in by_key {
        let column = exact.keys.get(key).map(|column| column.slice(group, 1));
        let column = column.ok_or(EngineError::inconsistent(
            "a class follows from a key that the groups do not have",
        ))?;
        let lookup = ClassLookup::of(classes).map_err(DataFusionError::from)?;
        let indices = lookup.indices(&column).map_err(DataFusionError::from)?;
        let listed = indices.first().and_then(|&index| classes.values.get(index));
        if let (Some((value, _)), Some(key)) = (listed, keys.get_mut(key)) {
            *key = value.clone();
        }
    }
    Ok(keys)
}

/// The promise that comparisons are held against, and their options.
struct Bar<'a> {
    promised: EpsilonAt,
    /// The delta beside that of choosing groups, for queries in rho.
    more: f64,
    options: &'a AuditOptions,
}

/// Compares the tables with what the quote's mechanisms draw.
fn audited(
    quote: &Quote,
    measured: &[String],
    tables: ComparedTables,
    bar: &Bar<'_>,
    generators: &mut [Generator],
    progress: &ReadProgress,
) -> Result<Vec<PairComparison>, EngineError> {
    let count = tables.0.len().max(1) as u64;
    let mut work = Vec::new();
    for ([one, other], labels) in &tables.0 {
        let pair = TablePair::new(quote, [one, other])?;
        let most = MOST_WORK / count / pair.work(quote).max(1);
        let runs = bar.options.runs.min(most.max(FEWEST_RUNS));
        work.push((pair, labels, runs));
    }
    progress.expect(work.iter().map(|(.., runs)| 2 * runs).sum());
    let mut all = Vec::new();
    for (pair, PairLabels { names, removed }, runs) in work {
        // Where sums are not clamped, what is promised follows from the size of the row.
        let of_record = removed.as_ref().and_then(|OmittedRow { sums, pieces, keys }| {
            EpsilonAt::of_record(
                quote,
                &RecordContribution { sums, pieces: *pieces, keys },
                bar.more,
            )
        });
        let promised = of_record.unwrap_or(bar.promised);
        let mut compared = PairComparison {
            tables: names.clone(),
            runs,
            epsilon_at_least: 0.0,
            promised: of_record.map_or(promised.epsilon, |at| coarse(at.epsilon)),
            violation: false,
            event: None,
        };
        if !pair.differing.is_empty() {
            let [one, other] = &pair.sides;
            let trial = AuditTrial {
                samplers: [&|g| one.draw(quote, g), &|g| other.draw(quote, g)],
                runs,
                delta: promised.delta,
                // All bounds are to be right at once.
                error: (1.0 - bar.options.confidence) / count as f64,
            };
            let mut statistics = Statistics::new(quote, pair.differing.clone());
            let found = search(&trial, &mut statistics, generators, progress)?;
            compared.epsilon_at_least = found.epsilon;
            compared.violation = found.epsilon > promised.epsilon;
            compared.event = Some(event_in_words(&found, names, measured));
        }
        all.push(compared);
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
