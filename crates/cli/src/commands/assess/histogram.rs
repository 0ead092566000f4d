//! `hushtable assess histogram`.

use hushtable::knowledge::{Histogram, Probability};

use super::Assessment;
use super::parse::{CurvePoints, MOST, curve_points, epsilon_at, probability, refused, unknown_of};
use super::plot::DeltaCurve;
use crate::arguments::AssessHistogramArguments;
use crate::failure::Failure;
use crate::given_numbers::{refuse, whole};
use crate::render::assess::{AssessReport, EpsilonOrDelta, GuaranteeRow};
use crate::render::assess_words as words;

/// Most options.
const OPTIONS: u64 = 1_000_000;

pub(super) fn assess(given: &AssessHistogramArguments) -> Result<Assessment, Failure> {
    let curve = curve_points("histogram", &given.curve)?;
    let others = whole("others", &given.others, 1..=MOST, "10000")?;
    let known = whole("known", &given.known, 0..=MOST, "100")?;
    let unknown = unknown_of(others, known)?;
    let lower = lower(given)?;
    let histogram = Histogram::of_values(unknown, &lower)
        .map_err(|e| refused(&e, "--others 10000 --at-least 0.3,0.2,0.01"))?;
    let rows = match curve {
        CurvePoints::Deltas(epsilons) => epsilons
            .into_iter()
            .map(|epsilon| {
                let delta = histogram.delta(epsilon.to_f64());
                GuaranteeRow::new(EpsilonOrDelta::epsilon(epsilon), EpsilonOrDelta::Delta(delta))
            })
            .collect(),
        CurvePoints::Epsilons(deltas) => deltas
            .into_iter()
            .map(|delta| {
                GuaranteeRow::new(
                    epsilon_at(delta, |e| histogram.delta(e)),
                    EpsilonOrDelta::Delta(delta),
                )
            })
            .collect(),
    };
    let words = format!(
        "{} {}{} {}{} {}",
        words::meaning("these counts"),
        words::options(unknown, lower.len()),
        words::known_shift(known),
        words::BLANKET,
        if lower.len() == 2 { words::TWO_OPTIONS } else { "" },
        words::NO_BUDGET
    );
    let report = AssessReport { rows, pairs: Vec::new(), exact: false, words };
    let what = "these counts";
    Ok(Assessment {
        report,
        what,
        curves: vec![DeltaCurve::new("", what, move |e| histogram.delta(e))],
    })
}

fn lower(given: &AssessHistogramArguments) -> Result<Vec<Probability>, Failure> {
    let example = "0.3,0.2,0.01";
    let lower = given.at_least.iter().map(|text| probability("at-least", text, example));
    let lower: Vec<Probability> = lower.collect::<Result<_, _>>()?;
    let Some(options) = &given.options else { return Ok(lower) };
    let options = whole("options", options, 2..=OPTIONS, "4")?;
    let count = usize::try_from(options).unwrap_or(usize::MAX);
    match lower.as_slice() {
        [one] => Ok(vec![*one; count]),
        all if all.len() == count => Ok(lower),
        all => Err(refuse(
            "options",
            options,
            &format!(
                "as many as there are probabilities, {}, or one is for all of them",
                all.len()
            ),
            "4 --at-least 0.05",
        )),
    }
}
