//! How many records lose more than rho, where the median error is 10 % (PR 6.3).

use hushtable_noise::Rehearsal;
use hushtable_plot::{Chart, Style};
use hushtable_privacy::Rho;

use super::{RHOS, Record, Variable, sums};
use crate::figure::{ExperimentError, Figure, columns, digits, logarithmic, series};
use crate::sums::{Setting, Sums};

/// Numbers of records.
pub(super) const SIZES: [usize; 6] = [3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

/// The median error that is aimed at.
const AIM: f64 = 0.1;

/// Releases that errors are taken from.
const RELEASES: usize = 20;

/// The threshold at which the median error is [`AIM`]. Noise is in proportion to the threshold, and
/// so is every quantile of the errors, except for rounding: what one threshold gives tells all.
fn threshold(sums: &Sums, rho: Rho, noise: &mut Rehearsal) -> Result<f64, ExperimentError> {
    let setting = Setting { rho, threshold: 1000.0 };
    let error = sums.errors(setting, RELEASES, noise)?.quantile(0.5);
    Ok(setting.threshold * AIM / error)
}

/// The share of records that lose more than rho at a median error of 10 %, over the number of
/// records.
pub(super) fn figure(records: &[Record], noise: &mut Rehearsal) -> Result<Figure, ExperimentError> {
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    let variables: [(&str, Variable); 2] = [("HT1", |r| r.ht1), ("HT2", |r| r.ht2)];
    for (variable, of) in variables {
        let sizes = SIZES.iter().map(|&size| sums(&records[..size], of));
        let sums: Vec<Sums> = sizes.collect();
        for text in RHOS {
            let mut curve = Vec::new();
            for sums in &sums {
                let threshold = threshold(sums, text.parse()?, noise)?;
                let above = sums.distribution().share_above(threshold);
                curve.push((sums.records() as f64, above));
                let mut row = vec![variable.to_owned(), text.to_owned()];
                row.extend([sums.records() as f64, threshold, above].map(digits));
                rows.push(row);
            }
            let style = if variable == "HT1" { Style::Line } else { Style::Dashed };
            curves.push(series(&format!("{variable}, rho = {text}"), style, curve));
        }
    }
    let ends = [SIZES[0], SIZES[SIZES.len() - 1]].map(|size| (size as f64, 0.01));
    curves.push(series("1 %", Style::Line, ends.to_vec()));
    Ok(Figure {
        name: "sim-headline".to_owned(),
        chart: Chart {
            title: "Records that may lose more than rho, at a median error of 10 %".to_owned(),
            x: logarithmic("records in 1000 categories"),
            y: logarithmic("share that may lose more than rho"),
            series: curves,
        },
        columns: columns(&["variable", "rho", "records", "threshold", "share_above_rho"]),
        rows,
    })
}
