//! The mechanisms for sums that are not clamped, on the records and groups of a table.

use hushtable_mechanisms::RecordMechanism;
use hushtable_quote::{MechanismsOnData, SizeQuantile};

use super::MechanismLosses;
use super::each_record::tally;
use super::fit::counted;
use crate::bounding::accumulator_indices;
use crate::contributions::ContributionBatch;
use crate::error::EngineError;
use crate::exact::RowReading;
use crate::measurements::ExactMeasurement;
use crate::progress::Progress;
use crate::runtime::heavy;
use crate::session::CheckedQuery;
use crate::sketch::Sketch;

/// The losses by each mechanism that can be drawn at the query's rho.
pub(super) async fn by_mechanism(
    checked: &CheckedQuery<'_>,
) -> Result<Vec<MechanismLosses>, EngineError> {
    let mut all = Vec::new();
    for mechanism in RecordMechanism::ALL {
        // Whether noise can be drawn follows from the rho and the thresholds.
        let Ok(quote) = heavy(|| checked.quote.with_mechanism(mechanism)) else { continue };
        let other = CheckedQuery { quote, data: checked.data.clone(), ..*checked };
        let policy = tally(&other, false, &|_| 1.0, &Progress::default()).await?.losses.policy;
        all.push(MechanismLosses { mechanism, policy });
    }
    Ok(all)
}

/// Shares of the records whose sizes are reported.
const VALUES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];
/// The share of the records that lose no more by every mechanism than the same.
const SAME_LOSS: f64 = 0.95;
/// Shares of the groups whose sums are reported.
const SUMS: [f64; 3] = [0.1, 0.5, 0.9];
/// The share of the groups at which mechanisms are equally precise.
const SAME_NOISE: f64 = 0.5;

/// The mechanisms for each sum that is not clamped, at equal loss quantiles and at equal noise.
pub(super) async fn on_data(
    checked: &CheckedQuery<'_>,
) -> Result<Vec<MechanismsOnData>, EngineError> {
    let query = checked.quote.query();
    // Indices among the accumulators, which rows have values of, and among the measurements.
    let split = accumulator_indices(query).into_iter().zip(query.measurements()).enumerate();
    let split = split.filter(|(_, (_, m))| m.measure.per_record().is_some());
    let mut sizes: Vec<(usize, usize, Sketch)> =
        split.filter_map(|(index, (at, _))| Some((at?, index, Sketch::new(0.0)))).collect();
    let reading = RowReading::plan(
        &query.into(),
        &checked.data,
        &Progress::default().reading(),
        checked.memory,
    )
    .await?;
    let add = |rows: ContributionBatch| {
        for (at, _, sketch) in &mut sizes {
            let values = rows.values.get(*at).into_iter().flatten().flatten();
            values.for_each(|value| sketch.add(value.unsigned_abs() as f64));
        }
        Ok(())
    };
    reading.each(add).await?;
    let groups = counted(checked, &Progress::default()).await?;
    let mut all = Vec::new();
    for (_, index, sketch) in sizes {
        let (Some(measurement), Some(sums)) = (
            query.measurements().get(index),
            groups.counted.measured.get(index).and_then(ExactMeasurement::sums),
        ) else {
            continue;
        };
        let step = measurement.step.to_f64();
        let distribution = sketch.distribution();
        let value = |share: f64| {
            let reported = distribution.quantiles.iter().find(|quantile| quantile.share == share);
            // Sizes are whole steps, except for what the sketch rounds up.
            let size = reported.map_or(0.0, |quantile| quantile.loss.round() * step);
            SizeQuantile { share, size }
        };
        let present = groups.records.iter().zip(sums.iter()).filter(|(records, _)| **records > 0);
        let mut sorted: Vec<u128> = present.map(|(_, sum)| sum.unsigned_abs()).collect();
        sorted.sort_unstable();
        let sum = |share: f64| {
            let at = (share * sorted.len() as f64) as usize;
            SizeQuantile { share, size: sorted.get(at).map_or(0.0, |&sum| sum as f64 * step) }
        };
        let (sums, values) = (SUMS.map(sum).to_vec(), VALUES.map(value).to_vec());
        let (noise, loss) = (sum(SAME_NOISE), value(SAME_LOSS));
        all.extend(MechanismsOnData::of(&checked.quote, index, (sums, noise), (values, loss)));
    }
    Ok(all)
}
