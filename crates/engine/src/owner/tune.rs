//! The error of a query at other limits, bounds, noise and prices, on the data: for their owner
//! alone. No part of the path of a query: nothing is charged, and nothing can be released.

mod report;

use hushtable_contract::NoiseKind;
use hushtable_mechanisms::Strategy;
use hushtable_noise::Generator;
use hushtable_plan::{Groups, Measure, OwnerQuery, PrivateQuery, bind_trial};
use hushtable_quote::Quote;

use crate::contributions::{LARGEST, SamplingKey};
use crate::draw::{CountedGroups, found_at};
use crate::error::EngineError;
use crate::exact::{ExactSums, OwnerScan, ScanOutcome};
use crate::owner::chances::{are_least, chances};
use crate::owner::check::rows;
use crate::progress::Progress;
use crate::runtime::heavy;
use crate::session::{CheckedQuery, Session};
use crate::survey::ScanOptions;
pub use report::{Trial, TrialError, TuneReport, TunedSetting};

/// Most values of a limit that are tried.
const MOST_VALUES: u32 = 12;

/// Factors of bounds and of the price, in quarters.
const QUARTERS: [u32; 5] = [1, 2, 4, 8, 16];

/// Context that all trials share. Secret: no Debug, Display or Serialize.
struct Tuning<'a> {
    session: &'a Session,
    sql: &'a str,
    checked: CheckedQuery<'a>,
    key: SamplingKey,
    progress: &'a Progress,
    /// Without any limit or bound.
    truth: ExactSums,
    /// The sums within the query's limits.
    bounded: ExactSums,
}

impl Session {
    /// Computes the errors that a query would have at other settings, with noise, bounding and
    /// hidden groups apart. Reads the data once for each limit and bound that is tried; charges
    /// nothing and writes nothing.
    ///
    /// # Errors
    /// When the query is refused, the data cannot be read, or there is no randomness.
    pub async fn tune(&self, sql: &str, progress: &Progress) -> Result<TuneReport, EngineError> {
        let session = heavy(|| self.as_analyst(sql))?;
        let checked = heavy(|| session.check(sql))?;
        let key = SamplingKey::draw(&mut Generator::from_os()?)?;
        let mut counting = OwnerQuery::from(checked.quote.query());
        counting.push_measurement(rows());
        let look = ScanOptions { tally: true, ..ScanOptions::default() };
        let scan =
            OwnerScan::of(&counting, false, &checked.data, &progress.reading(), checked.memory)
                .await?;
        let ScanOutcome { tallies, .. } = scan.look(key, look).await?;
        let all = tallies
            .ok_or(EngineError::inconsistent(
                "a scan that was to tally contributions has no tallies",
            ))?
            .all_groups;
        let (groups, rows) = (all.groups_per_unit.at(1.0), all.rows_per_group.at(1.0));
        let query = OwnerQuery::from(checked.quote.query());
        let bounded = read(&checked, &query, true, (key, progress)).await?;
        let unlimited = query.without_limits(LARGEST);
        let truth = read(&checked, &unlimited, false, (key, progress)).await?;
        let tuning = Tuning { session: &session, sql, checked, key, progress, truth, bounded };
        tuning.report(groups, rows).await
    }
}

/// The exact groups of a query, with those of each unit where `votes` may be counted.
async fn read(
    checked: &CheckedQuery<'_>,
    query: &OwnerQuery,
    votes: bool,
    (key, progress): (SamplingKey, &Progress),
) -> Result<ExactSums, EngineError> {
    let with_members = votes && matches!(query.as_read().groups(), Groups::Private { .. });
    let scan =
        OwnerScan::of(query, with_members, &checked.data, &progress.reading(), checked.memory)
            .await?;
    Ok(scan.look(key, ScanOptions::default()).await?.exact)
}

impl Tuning<'_> {
    /// The exact groups within the limits of a query.
    async fn within(&self, quote: &Quote) -> Result<ExactSums, EngineError> {
        read(&self.checked, &quote.query().into(), true, (self.key, self.progress)).await
    }

    async fn report(&self, groups: u64, rows: u64) -> Result<TuneReport, EngineError> {
        let query = self.checked.quote.query();
        let mut settings = Vec::new();
        let by_unit = query.unit().is_some() && query.groups() != Groups::Single;
        if by_unit {
            let limit = query.max_groups_contributed();
            let name = "max_groups_contributed";
            settings.push(self.limit(name, limit, groups).await?);
        }
        if let Some(limit) = rows_per_group(query) {
            settings.push(self.limit("max_rows_per_group", limit, rows).await?);
        }
        if query.measurements().iter().any(|m| m.has_bounds()) {
            settings.push(self.bounds().await?);
        }
        settings.push(self.named("noise", &NoiseKind::ALL)?);
        if matches!(query.groups(), Groups::Private { .. }) {
            settings.push(self.named("group_selection_strategy", &Strategy::ALL)?);
        }
        settings.push(self.price()?);
        settings.retain(|setting| setting.trials.len() > 1);
        Ok(TuneReport {
            population: query.population().to_owned(),
            groups_in_data: self.truth.units.iter().filter(|units| **units > 0).count(),
            measurements: query.measurements().iter().map(|m| m.name.clone()).collect(),
            settings,
        })
    }

    /// The query with another value of an option; `None` where it is then refused.
    fn with_option(&self, name: &str, value: &str) -> Result<Option<Quote>, EngineError> {
        heavy(|| {
            let bound = bind_trial(self.sql, self.session.contract(), &[(name, value)]);
            Ok(bound.and_then(Quote::new).ok())
        })
    }

    /// Powers of two up to the largest number that a unit has, and the query's own limit.
    async fn limit(
        &self,
        name: &str,
        current: u32,
        largest: u64,
    ) -> Result<TunedSetting, EngineError> {
        let powers = (0..MOST_VALUES).map(|power| 1u32 << power);
        let mut values: Vec<u32> =
            powers.take_while(|value| u64::from(*value) < largest.saturating_mul(2)).collect();
        values.push(current);
        values.sort_unstable();
        values.dedup();
        let mut trials = Vec::new();
        for value in values {
            if value == current {
                trials.push(self.trial(
                    value.to_string(),
                    &self.checked.quote,
                    &self.bounded,
                    true,
                )?);
                continue;
            }
            let text = value.to_string();
            let Some(quote) = self.with_option(name, &text)? else { continue };
            let bounded = self.within(&quote).await?;
            trials.push(self.trial(text, &quote, &bounded, false)?);
        }
        Ok(TunedSetting { setting: name.to_owned(), trials })
    }

    /// A quarter to four times all bounds.
    async fn bounds(&self) -> Result<TunedSetting, EngineError> {
        let mut trials = Vec::new();
        for quarters in QUARTERS {
            let text = format!("{} times", f64::from(quarters) / 4.0);
            if quarters == 4 {
                trials.push(self.trial(text, &self.checked.quote, &self.bounded, true)?);
                continue;
            }
            let scaled = self.checked.quote.query().clone().with_bounds_times(quarters, 4);
            let Some(quote) = scaled.and_then(|query| Quote::new(query).ok()) else { continue };
            let bounded = self.within(&quote).await?;
            trials.push(self.trial(text, &quote, &bounded, false)?);
        }
        Ok(TunedSetting { setting: "bounds".to_owned(), trials })
    }

    /// The values that an option names, on the same exact numbers.
    fn named<T: ToString>(&self, name: &str, values: &[T]) -> Result<TunedSetting, EngineError> {
        let mut trials =
            vec![self.trial("as now".to_owned(), &self.checked.quote, &self.bounded, true)?];
        for value in values {
            let text = value.to_string();
            if let Some(quote) = self.with_option(name, &text)? {
                trials.push(self.trial(text, &quote, &self.bounded, false)?);
            }
        }
        Ok(TunedSetting { setting: name.to_owned(), trials })
    }

    /// A quarter to four times the price, on the same exact numbers.
    fn price(&self) -> Result<TunedSetting, EngineError> {
        let loss = self.checked.quote.query().loss();
        let (name, current) = (loss.parameter(), loss.to_f64());
        let mut trials = Vec::new();
        for quarters in QUARTERS {
            let text = format!("{}", current * f64::from(quarters) / 4.0);
            if quarters == 4 {
                trials.push(self.trial(text, &self.checked.quote, &self.bounded, true)?);
            } else if let Some(quote) = self.with_option(name, &text)? {
                trials.push(self.trial(text, &quote, &self.bounded, false)?);
            }
        }
        Ok(TunedSetting { setting: name.to_owned(), trials })
    }

    /// The errors of a query against the truth: over all groups of the data, where a group that is
    /// not shown counts as zero.
    fn trial(
        &self,
        value: String,
        quote: &Quote,
        bounded: &ExactSums,
        is_current: bool,
    ) -> Result<Trial, EngineError> {
        heavy(|| {
            let query = quote.query();
            let (keys, counted) = CountedGroups::new(query, bounded.clone())?;
            let chances = chances(quote, &counted)?;
            // Where each group is among those of the truth.
            let indices: Vec<Option<usize>> = match keys.is_empty() {
                true => vec![Some(0); counted.groups],
                false => found_at(&keys, &self.truth.keys)?,
            };
            // The chance that a group of the truth is hidden. Sums of such chances lose no digits.
            let mut hidden = vec![1.0; self.truth.units.len()];
            for (index, chance) in indices.iter().zip(&chances) {
                if let Some(hidden) = index.and_then(|index| hidden.get_mut(index)) {
                    *hidden = (1.0 - chance).max(0.0);
                }
            }
            let groups = self.truth.units.len().max(counted.groups).max(1) as f64;
            let units = || self.truth.units.iter().map(|units| *units as f64);
            let pairs: f64 = units().sum();
            let pairs_hidden: f64 =
                units().zip(&hidden).map(|(units, hidden)| units * hidden).sum();
            let mut errors = Vec::new();
            for (m, measurement) in query.measurements().iter().enumerate() {
                let (Some(bounded), Some(truth), Some(deviation)) = (
                    counted.measured.get(m).and_then(|measured| measured.sums()),
                    self.truth.measured.get(m).and_then(|measured| measured.sums()),
                    quote.deviation(m),
                ) else {
                    errors.push(None);
                    continue;
                };
                let all: f64 = truth.iter().map(|sum| square(*sum)).sum();
                let not_shown: f64 =
                    truth.iter().zip(&hidden).map(|(sum, hidden)| hidden * square(*sum)).sum();
                let (mut noise, mut bounding) = (0.0, 0.0);
                for ((sum, &chance), index) in bounded.iter().zip(&chances).zip(&indices) {
                    let exact = index.and_then(|index| truth.get(index)).copied().unwrap_or(0);
                    noise += chance * deviation * deviation;
                    bounding += chance * square(sum - exact);
                }
                let step = measurement.step.to_f64();
                let mean = |sum: f64| (sum / groups).sqrt() * step;
                errors.push(Some(TrialError {
                    noise: mean(noise),
                    bounding: mean(bounding),
                    not_shown: mean(not_shown),
                    total: mean(noise + bounding + not_shown),
                    values: mean(all),
                }));
            }
            Ok(Trial {
                value,
                is_current,
                noise: quote.noise_kind(),
                strategy: quote.selection().map(hushtable_mechanisms::Selection::strategy),
                groups_shown: chances.iter().sum(),
                pairs_hidden: pairs_hidden / pairs.max(1.0),
                at_least: are_least(quote, &counted),
                errors,
            })
        })
    }
}

/// The most rows of a unit that count in a group, where the query has such a limit.
fn rows_per_group(query: &PrivateQuery) -> Option<u32> {
    query.unit()?;
    let limits = query.measurements().iter().filter_map(|m| match m.measure {
        Measure::Rows | Measure::Values(_) => u32::try_from(m.high).ok(),
        Measure::SumOfRows { rows, .. } | Measure::Quantile { rows, .. } => Some(rows),
        Measure::Distinct { values, .. } => Some(values),
        Measure::Units | Measure::ClampedSum(_) | Measure::PerRecordSum(_) => None,
    });
    limits.max()
}

fn square(value: i128) -> f64 {
    let value = value as f64;
    value * value
}

#[cfg(test)]
mod tests;
