//! The findings of a tuning. About the exact data: for its owner, not to be published.

use hushtable_contract::NoiseKind;
use hushtable_mechanisms::Strategy;
use serde::Serialize;

/// The errors of a query at other settings, each changed alone.
#[derive(Clone, Debug, Serialize)]
pub struct TuneReport {
    /// Whose budget the query would take from.
    pub population: String,
    /// Groups that have a row.
    pub groups_in_data: usize,
    /// The measurements, in the order of the trials' errors.
    pub measurements: Vec<String>,
    /// The settings.
    pub settings: Vec<TunedSetting>,
}

/// A setting, at several values.
#[derive(Clone, Debug, Serialize)]
pub struct TunedSetting {
    /// The option of the query, or `bounds`.
    pub setting: String,
    /// The values, among them the query's own.
    pub trials: Vec<Trial>,
}

/// A query at one value of a setting.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The value.
    pub value: String,
    /// Whether it is the query's own.
    pub is_current: bool,
    /// The noise that is then chosen.
    pub noise: NoiseKind,
    /// The strategy that is then chosen, where groups are chosen privately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The groups that are shown, in expectation.
    pub groups_shown: f64,
    /// The share of all pairs of a unit and a group whose group is not shown, in expectation: the
    /// missing mass. Zero where there are no pairs.
    pub pairs_hidden: f64,
    /// Whether more are to be expected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The errors of each measurement; `None` for quantiles.
    pub errors: Vec<Option<TrialError>>,
}

/// Root mean squared errors over all groups of the data, in the column's units, against the values
/// without any limit, bound or noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrialError {
    /// By noise, in groups that are shown.
    pub noise: f64,
    /// By limits and bounds, in groups that are shown.
    pub bounding: f64,
    /// By groups that are not shown: they count as zero.
    pub not_shown: f64,
    /// All of it.
    pub total: f64,
    /// The root mean square of the values themselves, for comparison.
    pub values: f64,
}

impl Trial {
    /// The total error as a part of the values, over all measurements: what is to be small.
    pub fn relative_error(&self) -> Option<f64> {
        let squares: Vec<f64> = self
            .errors
            .iter()
            .flatten()
            .filter(|error| error.values > 0.0)
            .map(|error| (error.total / error.values).powi(2))
            .collect();
        (!squares.is_empty()).then(|| (squares.iter().sum::<f64>() / squares.len() as f64).sqrt())
    }
}

impl TunedSetting {
    /// The trial with the smallest error; the query's own where none is smaller.
    pub fn best(&self) -> Option<&Trial> {
        let error = |trial: &&Trial| trial.relative_error().unwrap_or(f64::INFINITY);
        let current = self.trials.iter().find(|trial| trial.is_current);
        let others = self.trials.iter().filter(|trial| !trial.is_current);
        current.into_iter().chain(others).reduce(|best, next| {
            if error(&next) < error(&best) * (1.0 - 1e-9) { next } else { best }
        })
    }
}
