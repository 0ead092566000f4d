//! `hushtable assess threshold`.

use std::rc::Rc;

use clap::error::ErrorKind;
use hushtable::knowledge::{
    Attackers, CountAbove, CountAboveWithin, Probability, ProbabilityRange, Profile,
};
use hushtable::privacy::Epsilon;

use super::Assessment;
use super::parse::{
    CurvePoints, MOST, Others, curve_points, epsilon_at, group, others, probability, refused,
};
use super::plot::DeltaCurve;
use crate::arguments::AssessThresholdArguments;
use crate::commands::usage::wrong_usage;
use crate::failure::Failure;
use crate::given_numbers::{refuse, whole};
use crate::render::assess::{AssessReport, EpsilonOrDelta, GuaranteeRow};
use crate::render::assess_words as words;

/// A count of either kind.
enum EitherThreshold {
    Exact(Box<CountAbove>),
    Within(CountAboveWithin),
}

impl EitherThreshold {
    fn delta(&self, epsilon: f64) -> Attackers {
        match self {
            Self::Exact(threshold) => threshold.delta(epsilon),
            Self::Within(within) => within.delta(epsilon),
        }
    }
}

pub(super) fn assess(given: &AssessThresholdArguments) -> Result<Assessment, Failure> {
    let curve = curve_points("threshold", &given.curve)?;
    let above = whole("release-above", &given.release_above, 0..=MOST, "10")?;
    let at_most = given.at_most.as_ref().map(|text| probability("at-most", text, "0.01"));
    let bounds = at_most.transpose()?.map(|high| ProbabilityRange::new(Probability::ZERO, high));
    let bounds = bounds.transpose().map_err(|e| refused(&e, "--at-most 0.01"))?;
    let in_bounds = given.others.unknown.is_empty();
    let known = if in_bounds { known_of_others(&given.known)? } else { 0 };
    let example = "--release-above 10 --others 1000 --at-most 0.002";
    let (release, known, mut who) = match others("threshold", &given.others, bounds, known)? {
        Others::Profile(profile) => {
            let known = known_profile(&given.known, &profile)?;
            let threshold = CountAbove::new(above, &profile, &known)
                .map_err(|e| refused(&e, "--release-above 6 --unknown 199@0.01"))?;
            let who = words::unknown(profile.records());
            (EitherThreshold::Exact(Box::new(threshold)), known.records(), who)
        }
        Others::Within(unknown, between) => {
            let within = CountAboveWithin::new(above, unknown, known, between)
                .map_err(|e| refused(&e, example))?;
            (EitherThreshold::Within(within), known, words::within(unknown, between))
        }
    };
    let forgone = match &release {
        EitherThreshold::Exact(_) => 0,
        EitherThreshold::Within(within) => within.forgone(),
    };
    if forgone > 0 {
        who.push_str(words::FORGONE);
    }
    let rows = match curve {
        CurvePoints::Deltas(epsilons) => epsilons.into_iter().map(|e| row(e, &release)).collect(),
        CurvePoints::Epsilons(deltas) => deltas.into_iter().map(|d| row_at(d, &release)).collect(),
    };
    let what = "this count, or that it is missing,";
    let words = format!(
        "{} {who}{} {}",
        words::meaning(what),
        words::known_threshold(known),
        words::NO_BUDGET
    );
    let report = AssessReport { rows, pairs: Vec::new(), exact: forgone == 0, words };
    let active = Rc::new(release);
    let passive = Rc::clone(&active);
    let curves = vec![
        DeltaCurve::new("_active", "active attackers", move |e| active.delta(e).active),
        DeltaCurve::new("_passive", "passive attackers", move |e| passive.delta(e).passive)
            .dashed(),
    ];
    Ok(Assessment { report, what, curves })
}

/// `delta` is that of active attackers, which is the larger.
fn row(epsilon: Epsilon, release: &EitherThreshold) -> GuaranteeRow {
    let deltas = release.delta(epsilon.to_f64());
    let mut row =
        GuaranteeRow::new(EpsilonOrDelta::epsilon(epsilon), EpsilonOrDelta::Delta(deltas.active));
    row.push("delta_passive", EpsilonOrDelta::Delta(deltas.passive));
    row.push("delta_active", EpsilonOrDelta::Delta(deltas.active));
    row
}

fn row_at(delta: f64, release: &EitherThreshold) -> GuaranteeRow {
    let active = epsilon_at(delta, |e| release.delta(e).active);
    let passive = epsilon_at(delta, |e| release.delta(e).passive);
    let mut row = GuaranteeRow::new(active, EpsilonOrDelta::Delta(delta));
    row.push("epsilon_passive", passive);
    row.push("epsilon_active", active);
    row
}

/// How many of `--others` are known.
fn known_of_others(known: &[String]) -> Result<u64, Failure> {
    match known {
        [] => Ok(0),
        [one] => whole("known", one, 0..=MOST, "10").map_err(|_| {
            let range = "a whole number below that of the others, whose probabilities are bounded";
            refuse("known", one, range, "10")
        }),
        _ => Err(wrong_usage(
            "assess",
            "threshold",
            ErrorKind::ArgumentConflict,
            "give '--known <K>' once with '--others <M>'",
        )),
    }
}

/// The known records beside `--unknown`.
fn known_profile(known: &[String], unknown: &Profile) -> Result<Profile, Failure> {
    let mut groups = Vec::new();
    for text in known {
        if text.contains('@') {
            groups.push(group("known", text)?);
            continue;
        }
        let count = whole("known", text, 0..=MOST, "12@0.01")?;
        match unknown.groups() {
            _ if count == 0 => {}
            [(_, p)] => groups.push((count, *p)),
            _ => {
                let range = "K@P, as the unknown records have more than one probability";
                return Err(refuse("known", text, range, "12@0.01"));
            }
        }
    }
    if groups.is_empty() {
        return Ok(Profile::none());
    }
    Profile::new(groups).map_err(|e| refused(&e, "--known 12@0.01"))
}
