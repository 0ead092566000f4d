//! `hushtable assess compose`.

use hushtable::knowledge::{Dependence, Guarantee, KnowledgeError};
use hushtable::privacy::Epsilon;

use super::Assessment;
use super::parse::refused;
use super::plot::DeltaCurve;
use crate::arguments::AssessComposeArguments;
use crate::failure::Failure;
use crate::given_numbers::{amount, refuse};
use crate::render::assess::{AssessReport, EpsilonOrDelta, GuaranteeRow};
use crate::render::assess_words as words;

/// Most releases with a curve of their own.
const ALONE: usize = 6;

pub(super) fn assess(given: &AssessComposeArguments) -> Result<Assessment, Failure> {
    let releases = given.releases.iter().map(|text| release(text));
    let releases: Vec<Guarantee> = releases.collect::<Result<_, _>>()?;
    let dependence = dependence(given)?;
    let all = Dependence::together(dependence, &releases).map_err(|error| match error {
        KnowledgeError::Unbounded => Failure::new(
            error.to_string(),
            "say how they depend on each other: `--independent` if they are about unrelated \
             records, `--dependence MU,NU` or `--temporal C`; or assess them as one release",
        ),
        error => refused(&error, "--release 0.1,1e-9 --release 0.2,1e-9 --dependence 0.05"),
    })?;
    let tie = match dependence {
        Some(Dependence::Temporal { .. }) if releases.len() > 2 => words::TEMPORAL_MANY,
        Some(Dependence::Temporal { .. }) => words::TEMPORAL,
        Some(Dependence::NONE) => words::INDEPENDENT,
        _ => words::DEPENDENT,
    };
    let words = format!("{} {tie} {}", words::together(releases.len()), words::NO_BUDGET);
    let rows = vec![GuaranteeRow::new(
        EpsilonOrDelta::epsilon(all.epsilon),
        EpsilonOrDelta::Delta(all.delta),
    )];
    let report = AssessReport { rows, pairs: Vec::new(), exact: false, words };
    let mut curves = vec![DeltaCurve::new("", "all together", move |e| all.delta_at(e))];
    let mut alone: Vec<Guarantee> = Vec::new();
    for release in releases {
        if !alone.contains(&release) && alone.len() < ALONE {
            alone.push(release);
            let name = format!("({}, {}) alone", release.epsilon, release.delta);
            curves.push(DeltaCurve::unmarked(&name, move |e| release.delta_at(e)));
        }
    }
    Ok(Assessment { report, what: "these releases together", curves })
}

fn dependence(given: &AssessComposeArguments) -> Result<Option<Dependence>, Failure> {
    if given.independent {
        return Ok(Some(Dependence::NONE));
    }
    if let Some(text) = &given.dependence {
        let (mu, nu) = text.split_once(',').unwrap_or((text, "0"));
        let range = "a mu from 0 to 1000000 and a nu from 0 to 1, as MU,NU";
        let (mu, nu) =
            pair(mu, nu).ok_or_else(|| refuse("dependence", text, range, "0.05,1e-10"))?;
        return Ok(Some(Dependence::Bounded { mu, nu }));
    }
    let Some(text) = &given.temporal else { return Ok(None) };
    let c: Epsilon = amount("temporal", text, "0.01")?;
    Ok(Some(Dependence::Temporal { c }))
}

/// `EPSILON,DELTA`.
fn release(text: &str) -> Result<Guarantee, Failure> {
    let range = "an epsilon from 0 to 1000000 and a delta from 0 to 1, as EPSILON,DELTA";
    let guarantee = text.split_once(',').and_then(|(epsilon, delta)| pair(epsilon, delta));
    let (epsilon, delta) = guarantee.ok_or_else(|| refuse("release", text, range, "0.1,1e-9"))?;
    Ok(Guarantee { epsilon, delta })
}

fn pair(amount: &str, probability: &str) -> Option<(Epsilon, f64)> {
    let amount = amount.trim().parse().ok()?;
    let probability = probability.trim().parse().ok().filter(|p| (0.0..=1.0).contains(p))?;
    Some((amount, probability))
}
