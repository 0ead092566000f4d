//! The results of an experiment.

use hushtable_knowledge::KnowledgeError;
use hushtable_mechanisms::MechanismError;
use hushtable_noise::{EntropyError, ParameterError};
use hushtable_plot::{Axis, Chart, Scale, Series, Style};
use hushtable_privacy::{AmountError, PolicyError};

/// A figure, and the numbers in it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of its files, without an extension: letters, digits and hyphens.
    pub name: String,
    /// The drawing.
    pub chart: Chart,
    /// The names of the columns of `rows`.
    pub columns: Vec<String>,
    /// The numbers, a row as long as `columns` each.
    pub rows: Vec<Vec<String>>,
}

/// Why there is no figure. None of it depends on data, as there are none: it is a mistake in the
/// experiment.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExperimentError {
    /// Noise of a size that cannot be drawn exactly.
    #[error("its noise cannot be drawn exactly: {0}")]
    Scale(#[from] ParameterError),
    /// Noise that is not drawn.
    #[error("its noise cannot be drawn: {0}")]
    Noise(#[from] EntropyError),
    /// A privacy loss that is none.
    #[error(transparent)]
    Amount(#[from] AmountError),
    /// A release that is not assessed.
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
    /// A mechanism that cannot be made.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// A threshold that is none.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// Points of a chart.
pub(crate) fn series(name: &str, style: Style, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_owned(), style, points }
}

/// An axis of numbers above zero.
pub(crate) fn logarithmic(label: &str) -> Axis {
    Axis { label: label.to_owned(), scale: Scale::Logarithmic, marks: Vec::new() }
}

/// The names of columns.
pub(crate) fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Six significant digits, which is more than simulation can tell; the shortest form of them.
pub(crate) fn digits(value: f64) -> String {
    let rounded = format!("{value:.5e}").parse().unwrap_or(value);
    // Where the plain form is long, the one with an exponent.
    let (plain, short) = (format!("{rounded}"), format!("{rounded:e}"));
    if plain.len() <= short.len() + 4 { plain } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits() {
        for (value, text) in [
            (0.1 + 0.2, "0.3"),
            (1234567.8, "1234570"),
            (1.0, "1"),
            (-2.5e-3, "-0.0025"),
            (1.23456789e-30, "1.23457e-30"),
            (1e30, "1e30"),
            (0.0, "0"),
        ] {
            assert_eq!(digits(value), text);
        }
    }
}
