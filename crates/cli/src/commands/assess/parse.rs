//! The unknown records and the points on the curve, as users give them.

use clap::error::ErrorKind;
use hushtable::knowledge::{KnowledgeError, Probability, ProbabilityRange, Profile, least_epsilon};
use hushtable::privacy::Epsilon;

use crate::arguments::{CurveArguments, OthersArguments};
use crate::commands::usage::wrong_usage;
use crate::failure::Failure;
use crate::given_numbers::{amount, refuse, whole};
use crate::render::assess::EpsilonOrDelta;

/// Most records that are computed with.
pub(super) const MOST: u64 = 1_000_000_000;

const PROBABILITY: &str = "a number from 0 to 1";

/// The points on the curve: deltas at epsilons, or epsilons at deltas.
pub(super) enum CurvePoints {
    Deltas(Vec<Epsilon>),
    Epsilons(Vec<f64>),
}

pub(super) fn curve_points(
    subcommand: &str,
    curve: &CurveArguments,
) -> Result<CurvePoints, Failure> {
    const ONE_OF_TWO: &str = "a guarantee has a delta at each '--epsilon <E,…>', or an epsilon \
                              at each '--delta <D,…>': give one of the two";
    let wrong = |kind| Err(wrong_usage("assess", subcommand, kind, ONE_OF_TWO));
    match (curve.epsilon.as_slice(), curve.delta.as_slice()) {
        ([], []) => wrong(ErrorKind::MissingRequiredArgument),
        (epsilons, []) => {
            let all = epsilons.iter().map(|text| amount("epsilon", text, "0.1,0.5,1"));
            all.collect::<Result<_, _>>().map(CurvePoints::Deltas)
        }
        ([], deltas) => deltas
            .iter()
            .map(|text| delta(text))
            .collect::<Result<_, _>>()
            .map(CurvePoints::Epsilons),
        _ => wrong(ErrorKind::ArgumentConflict),
    }
}

pub(super) fn delta(text: &str) -> Result<f64, Failure> {
    match text.trim().parse::<f64>() {
        Ok(delta) if (1e-300..1.0).contains(&delta) => Ok(delta),
        _ => Err(refuse("delta", text, "a number from 1e-300 to below 1", "1e-9,1e-6")),
    }
}

/// The least epsilon at which `at` is at most `delta`.
pub(super) fn epsilon_at(delta: f64, at: impl Fn(f64) -> f64) -> EpsilonOrDelta {
    epsilon_of(least_epsilon(delta, at))
}

/// An epsilon, rounded up to a decimal, if there is one.
pub(super) fn epsilon_of(least: Option<f64>) -> EpsilonOrDelta {
    EpsilonOrDelta::Epsilon(least.and_then(|least| Epsilon::from_f64_up(least).ok()))
}

pub(super) fn probability(flag: &str, text: &str, example: &str) -> Result<Probability, Failure> {
    let refuse = || refuse(flag, text, PROBABILITY, example);
    let number = text.trim().parse::<f64>().map_err(|_| refuse())?;
    Probability::new(number).map_err(|_| refuse())
}

/// `LO..HI`.
pub(super) fn interval(flag: &str, text: &str, example: &str) -> Result<ProbabilityRange, Failure> {
    let range = "two numbers from 0 to 1, the first at most the second, as LO..HI";
    let refuse = || refuse(flag, text, range, example);
    let (low, high) = text.split_once("..").ok_or_else(refuse)?;
    let end = |text: &str| {
        let number = text.trim().parse::<f64>().map_err(|_| refuse())?;
        Probability::new(number).map_err(|_| refuse())
    };
    ProbabilityRange::new(end(low)?, end(high)?).map_err(|_| refuse())
}

/// `COUNT@P`.
pub(super) fn group(flag: &str, text: &str) -> Result<(u64, Probability), Failure> {
    let example = "500@0.1";
    let range = "a whole number of records from 1 to 1000000000 and a probability from 0 to 1, as \
                 COUNT@P";
    let refuse = || refuse(flag, text, range, example);
    let (count, p) = text.split_once('@').ok_or_else(refuse)?;
    let count = whole(flag, count, 1..=MOST, example).map_err(|_| refuse())?;
    Ok((count, probability(flag, p, example).map_err(|_| refuse())?))
}

/// The other records, some of them known.
pub(super) enum Others {
    Profile(Profile),
    /// This number of unknown records, with bounds of their probabilities.
    Within(u64, ProbabilityRange),
}

/// Of `given`, `known` are known; of those that `given` has by probability, none is. The bounds may
/// come by another flag.
pub(super) fn others(
    subcommand: &str,
    given: &OthersArguments,
    bounds: Option<ProbabilityRange>,
    known: u64,
) -> Result<Others, Failure> {
    const ONE_OF_TWO: &str = "give the other records by '--unknown <COUNT@P>', or by '--others \
                              <M>' together with bounds of their probabilities";
    let between = given.between.as_ref().map(|text| interval("between", text, "0.05..0.95"));
    let between = between.transpose()?.or(bounds);
    match (given.unknown.as_slice(), &given.others, between) {
        ([], Some(others), Some(between)) => {
            let others = whole("others", others, 1..=MOST, "10000")?;
            Ok(Others::Within(unknown_of(others, known)?, between))
        }
        ([_, ..], None, None) => {
            let groups = given.unknown.iter().map(|text| group("unknown", text));
            let groups: Vec<_> = groups.collect::<Result<_, _>>()?;
            let profile = Profile::new(groups).map_err(|e| refused(&e, "--unknown 500@0.1"))?;
            Ok(Others::Profile(profile))
        }
        ([], ..) => {
            Err(wrong_usage("assess", subcommand, ErrorKind::MissingRequiredArgument, ONE_OF_TWO))
        }
        _ => Err(wrong_usage("assess", subcommand, ErrorKind::ArgumentConflict, ONE_OF_TWO)),
    }
}

/// How many of `others` are not known.
pub(super) fn unknown_of(others: u64, known: u64) -> Result<u64, Failure> {
    if known < others {
        return Ok(others - known);
    }
    Err(Failure::new(
        format!(
            "known = {known} is not valid: with {others} others, it must be a whole number from \
             0 to {}",
            others.saturating_sub(1)
        ),
        "leave at least one of the others unknown: an attacker who knows all of them can work \
         out the target",
    ))
}

/// A refusal by the mathematics, with an example that works.
pub(super) fn refused(error: &KnowledgeError, example: &str) -> Failure {
    Failure::new(error.to_string(), format!("for example `{example}`"))
}
