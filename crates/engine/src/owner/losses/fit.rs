//! The smallest policy that is precise enough (PR section 6, Figure 4): noise as large as a target
//! for the relative error allows.

use std::ops::RangeInclusive;

use hushtable_lang::Refusal;
use hushtable_mechanisms::RecordMechanism;
use hushtable_plan::{Measure, Measurement};
use hushtable_privacy::{Loss, Rho, normal_quantile};
use hushtable_quote::{Noise, Quote, TiedMeasurement, rho_at};
use serde::Serialize;

use super::each_record::tally;
use super::{Losses, rho};
use crate::contributions::SamplingKey;
use crate::draw::CountedGroups;
use crate::error::EngineError;
use crate::exact::{OwnerScan, ScanOutcome};
use crate::measurements::ExactMeasurement;
use crate::progress::Progress;
use crate::runtime::heavy;
use crate::session::{CheckedQuery, Session};
use crate::survey::ScanOptions;

/// Precision that a release is to have.
#[derive(Clone, Copy, Debug)]
pub struct FitOptions {
    /// The relative error that is aimed at, as a share: 0.05 for 5 %.
    pub target: f64,
    /// The share of the groups that are to meet it.
    pub at: f64,
    /// The probability with which a group is to meet it.
    pub probability: f64,
    /// Groups of fewer records do not count.
    pub least_records: u64,
}

impl FitOptions {
    /// Targets that can be requested.
    pub const TARGETS: RangeInclusive<f64> = 0.0001..=10.0;
    /// Shares of the groups that can be requested.
    pub const SHARES: RangeInclusive<f64> = 0.01..=1.0;
    /// Probabilities that can be requested.
    pub const PROBABILITIES: RangeInclusive<f64> = 0.5..=0.999_999;
}

/// The smallest policy that meets a target. About the exact data: for its owner, not to be
/// published.
#[derive(Clone, Debug, Serialize)]
pub struct FitReport {
    /// The table.
    pub table: String,
    /// Groups that count.
    pub groups: u64,
    /// Needs of each measurement.
    pub measurements: Vec<FittedNoise>,
    /// Cost of the choice of groups, which stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho_of_selection: Option<Rho>,
    /// Cost of all of it to a record at the thresholds of the contract.
    pub rho: Rho,
    /// Cost of the query as it is.
    pub requested_rho: Rho,
    /// Losses of records then, compared with the rho of the query as it is.
    pub losses: Losses,
}

/// Noise and rho that a measurement needs.
#[derive(Clone, Debug, Serialize)]
pub struct FittedNoise {
    /// The measurement.
    pub measurement: String,
    /// The factor by which its noise may be larger than in the query.
    pub noise_times: f64,
    /// The rho that gives that noise with the thresholds of the contract.
    pub rho: Rho,
    /// The threshold that gives that noise with the rho of the query, in the column's units; the
    /// largest, where there are several, which are to be multiplied by `noise_times`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<f64>,
}

impl Session {
    /// The smallest policy with which a share of a query's groups meets a target for the relative
    /// error. Reads the data, charges nothing and writes nothing.
    ///
    /// # Errors
    /// When the query or an option is refused, no noise is small enough, or the data cannot be
    /// read.
    pub async fn fit(
        &self,
        sql: &str,
        options: &FitOptions,
        progress: &Progress,
    ) -> Result<FitReport, EngineError> {
        let checked = heavy(|| self.check(sql))?;
        let requested_rho = rho(&checked)?;
        let quote = &checked.quote;
        only_gaussian(quote)?;
        let counted = counted(&checked, progress).await?;
        let records = counted.records.iter().enumerate();
        let counts = records.filter(|(_, n)| **n >= options.least_records.into());
        let counts: Vec<usize> = counts.map(|(group, _)| group).collect();
        let mut measurements = Vec::new();
        let mut times = vec![1.0; quote.noise().len()];
        let selection = quote.selection().map(|s| s.loss());
        let mut total = selection.map_or(Some(Rho::ZERO), Loss::rho);
        let all = quote.query().measurements().iter().zip(quote.noise());
        for (index, (measurement, noise)) in all.enumerate() {
            if noise.is_quantile() {
                continue;
            }
            let Some(loss) = noise.loss() else { continue };
            let mut allowed = allowed_of(&counted, index, noise, &counts, options);
            // Counts and their sums have one noise.
            if let Noise::Tied(TiedMeasurement { count, values, .. }) = noise {
                for other in std::iter::once(*count).chain(*values) {
                    let Some(common) = quote.noise().get(other) else { continue };
                    let of_count = allowed_of(&counted, other, common, &counts, options);
                    allowed = allowed.zip(of_count).map(|(left, right)| left.min(right));
                }
            }
            let Some(allowed) = allowed.filter(|&times| times > 0.0) else {
                return Err(impossible(measurement, counts.len(), options));
            };
            if let Some(times) = times.get_mut(index) {
                *times = allowed;
            }
            let rho = loss.rho().and_then(|rho| rho_at(rho, allowed));
            let rho = rho.ok_or_else(|| impossible(measurement, counts.len(), options))?;
            total = total.and_then(|total| total.checked_add(rho));
            let step = measurement.step.to_f64();
            measurements.push(FittedNoise {
                measurement: measurement.name.clone(),
                noise_times: allowed,
                rho,
                split: measurement.thresholds().map(|_| measurement.high as f64 * step * allowed),
            });
        }
        let too_much = || {
            EngineError::Refused(
                Refusal::new(
                    "the target needs a rho above 1000000, the largest allowed",
                    "raise --target, lower --at, or give --groups-with-at-least",
                )
                .in_code("raise `target`, lower `at`, or give `least_records`"),
            )
        };
        let rho = total.ok_or_else(too_much)?;
        let of = |index: usize| times.get(index).copied().unwrap_or(1.0);
        let losses = tally(&checked, false, &of, progress).await?.losses;
        Ok(FitReport {
            table: checked.population.name.clone(),
            groups: counts.len() as u64,
            measurements,
            rho_of_selection: selection.and_then(Loss::rho),
            rho,
            requested_rho,
            losses,
        })
    }
}

/// The exact groups of a query. Secret: no Debug, Display or Serialize.
pub(super) struct FitGroups {
    pub(super) records: Vec<i128>,
    pub(super) counted: CountedGroups,
}

/// Reads the table without a charge: what comes out is for its owner.
pub(super) async fn counted(
    checked: &CheckedQuery<'_>,
    progress: &Progress,
) -> Result<FitGroups, EngineError> {
    let query = checked.quote.query();
    let scan =
        OwnerScan::plan(&checked.quote, &checked.data, &progress.reading(), checked.memory).await?;
    // Rows are units, so that no group is left out by the key.
    let ScanOutcome { mut exact, .. } =
        scan.look(SamplingKey([0; 16]), ScanOptions::default()).await?;
    // The numbers of records go along with the sums, so that they come in the order of the groups.
    exact.measured.push(ExactMeasurement::Sums(exact.units.iter().map(|&n| n.into()).collect()));
    let (_, mut counted) = CountedGroups::new(query, exact)?;
    let Some(ExactMeasurement::Sums(records)) = counted.measured.pop() else {
        return Err(EngineError::inconsistent("the number of records, measured last, is no sum"));
    };
    Ok(FitGroups { records, counted })
}

/// How many times as large the noise of a measurement may be; `None` where no group counts.
fn allowed_of(
    groups: &FitGroups,
    index: usize,
    noise: &Noise,
    counts: &[usize],
    options: &FitOptions,
) -> Option<f64> {
    // |noise| <= quantile * scale with the requested probability.
    let quantile = normal_quantile((1.0 - options.probability) / 2.0);
    let sums = groups.counted.measured.get(index)?.sums()?;
    let mut allowed: Vec<f64> = counts
        .iter()
        .filter_map(|&group| {
            let scale = match noise {
                Noise::Single(additive) => additive.scale(),
                Noise::ByClass(by_class) => {
                    let class = *groups.counted.classes.get(index)?.get(group)?;
                    by_class.of(class).scale()
                }
                Noise::Tied(tied) => tied.noise.deviation(tied.role),
                Noise::Quantile(_) | Noise::Joint(_) | Noise::Reach(_) | Noise::OfSelection => {
                    return None;
                }
            };
            let size = sums.get(group)?.unsigned_abs() as f64;
            Some(options.target * size / (quantile * scale))
        })
        .collect();
    allowed.sort_by(f64::total_cmp);
    let failing = ((1.0 - options.at) * allowed.len() as f64 + 1e-9).floor() as usize;
    allowed.get(failing).copied()
}

/// How much noise is allowed says which rho is needed where noise is in inverse proportion to its
/// root, for all groups.
fn only_gaussian(quote: &Quote) -> Result<(), EngineError> {
    let other = |m: &&Measurement| {
        matches!(m.measure, Measure::Quantile { .. })
            || m.measure.per_record().is_some_and(|s| s.mechanism != RecordMechanism::Gaussian)
    };
    match quote.query().measurements().iter().find(other) {
        None => Ok(()),
        Some(measurement) => Err(EngineError::Refused(Refusal::new(
            format!(
                "the smallest policy is found for Gaussian noise only, but the {} has another \
                 mechanism",
                measurement.name
            ),
            "leave `mechanism` and quantiles out of the query; its quote compares mechanisms",
        ))),
    }
}

fn impossible(measurement: &Measurement, groups: usize, options: &FitOptions) -> EngineError {
    // As confidential as what a fit finds.
    let what = if groups == 0 {
        "CONFIDENTIAL: no group has that many records".to_owned()
    } else {
        let name = match measurement.measure {
            Measure::Units => "count",
            _ => measurement.name.as_str(),
        };
        format!(
            "CONFIDENTIAL: no noise is small enough for the {name}: it is zero in more than \
             {:.0} % of the {groups} groups, and no error is small beside zero",
            100.0 * (1.0 - options.at)
        )
    };
    let refusal = Refusal::new(
        what,
        "change --groups-with-at-least, which says which groups are to be precise, or --at, how \
         many of them",
    );
    EngineError::Refused(refusal.in_code(
        "change `least_records`, which says which groups are to be precise, or `at`, how many of \
         them",
    ))
}
