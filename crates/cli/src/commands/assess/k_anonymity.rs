//! `hushtable assess k-anonymity`.

use std::rc::Rc;

use hushtable::knowledge::{
    KAnonymity, MOST_EPSILON, Pair, ProbabilityRange, Reason, Side, least_epsilon,
};

use super::Assessment;
use super::parse::{CurvePoints, MOST, curve_points, epsilon_at, epsilon_of, interval, refused};
use super::plot::DeltaCurve;
use crate::arguments::AssessKAnonymityArguments;
use crate::failure::Failure;
use crate::given_numbers::{refuse, whole};
use crate::render::assess::{AssessReport, EpsilonOrDelta, GuaranteeRow, PairRow};
use crate::render::assess_words as words;

/// Most pairs with a curve of their own.
const PAIRS: usize = 6;

const EXAMPLE: &str = "common=0.3..0.6";

pub(super) fn assess(given: &AssessKAnonymityArguments) -> Result<Assessment, Failure> {
    let curve = curve_points("k-anonymity", &given.curve)?;
    let others = whole("others", &given.others, 1..=MOST, "1000")?;
    let k = whole("k", &given.k, 1..=MOST + 1, "10")?;
    let values = given.values.iter().map(|text| value(text));
    let values: Vec<(String, ProbabilityRange)> = values.collect::<Result<_, _>>()?;
    for (index, (name, _)) in values.iter().enumerate() {
        if values[..index].iter().any(|(other, _)| other == name) {
            return Err(refuse("value", name, "another name than those before it", EXAMPLE));
        }
    }
    let absent = given.absent.as_ref().map(|text| interval("absent", text, "0.2..0.5"));
    let absent = absent.transpose()?;
    let bounds: Vec<ProbabilityRange> = values.iter().map(|(_, bounds)| *bounds).collect();
    let example = "--k 10 --others 1000 --value a=0.3..0.6 --value b=0.4..0.7";
    let table = KAnonymity::new(k, others, &bounds, absent).map_err(|e| refused(&e, example))?;

    let named = |side: Side| match side {
        Side::Value(index) => values.get(index).map_or("", |(name, _)| name.as_str()).to_owned(),
        Side::Absent => "(absent)".to_owned(),
    };
    let row = |pair: Pair, epsilon: EpsilonOrDelta, delta: f64| PairRow {
        one: named(pair.one),
        other: named(pair.other),
        epsilon,
        delta,
        because: because(pair.reason),
    };
    let mut rows = Vec::new();
    let mut pairs = Vec::new();
    let mut open = false;
    match curve {
        CurvePoints::Deltas(epsilons) => {
            for epsilon in epsilons {
                let all_pairs = table.pairs(epsilon.to_f64());
                let worst = all_pairs.iter().map(|pair| pair.delta).fold(0.0, f64::max);
                rows.push(GuaranteeRow::new(
                    EpsilonOrDelta::epsilon(epsilon),
                    EpsilonOrDelta::Delta(worst),
                ));
                open |= all_pairs.iter().any(|pair| pair.reason == Reason::Unprotected);
                let at = |pair: Pair| row(pair, EpsilonOrDelta::epsilon(epsilon), pair.delta);
                pairs.extend(all_pairs.into_iter().map(at));
            }
        }
        CurvePoints::Epsilons(deltas) => {
            for delta in deltas {
                rows.push(GuaranteeRow::new(
                    epsilon_at(delta, |e| table.delta(e)),
                    EpsilonOrDelta::Delta(delta),
                ));
                for pair in table.pairs(0.0) {
                    let of = |e: f64| table.pair(pair.one, pair.other, e);
                    let least = least_epsilon(delta, |e| of(e).delta);
                    let reason = of(least.unwrap_or(MOST_EPSILON)).reason;
                    open |= reason == Reason::Unprotected;
                    let pair_row = row(Pair { reason, ..pair }, epsilon_of(least), delta);
                    let beyond = least.is_none() && reason != Reason::Unprotected;
                    let because = if beyond { "at a larger delta only" } else { pair_row.because };
                    pairs.push(PairRow { because, ..pair_row });
                }
            }
        }
    }
    let words = format!(
        "{} {}{}{} {}",
        words::meaning("this table"),
        words::k_anonymity(others, k),
        if absent.is_some() { words::ABSENT } else { words::PUBLIC_TOTAL },
        if open { words::UNPROTECTED } else { "" },
        words::NO_BUDGET
    );
    let report = AssessReport { rows, pairs, exact: false, words };
    Ok(Assessment { report, what: "this table", curves: curves(&Rc::new(table), named) })
}

/// The worst pair, and each of them where they are few.
fn curves(table: &Rc<KAnonymity>, named: impl Fn(Side) -> String) -> Vec<DeltaCurve> {
    let pairs = table.pairs(0.0);
    let worst = Rc::clone(table);
    let mut curves = vec![DeltaCurve::new("", "the worst pair", move |e| worst.delta(e))];
    if (2..=PAIRS).contains(&pairs.len()) {
        for pair in pairs {
            let name = format!("{} or {}", named(pair.one), named(pair.other));
            let of = Rc::clone(table);
            let delta = move |e: f64| of.pair(pair.one, pair.other, e).delta;
            curves.push(DeltaCurve::unmarked(&name, delta));
        }
    }
    curves
}

fn because(reason: Reason) -> &'static str {
    match reason {
        Reason::Spread => "both are common",
        Reason::Rare => "dropped, being rare",
        Reason::ThroughAbsent => "rare, and the total is hidden",
        Reason::Unprotected => "not protected",
    }
}

/// `name=LO..HI`.
fn value(text: &str) -> Result<(String, ProbabilityRange), Failure> {
    let range = "a name and two numbers from 0 to 1, the first at most the second, as NAME=LO..HI";
    match text.rsplit_once('=') {
        Some((name, bounds)) if !name.trim().is_empty() => {
            let bounds = interval("value", bounds, EXAMPLE);
            let bounds = bounds.map_err(|_| refuse("value", text, range, EXAMPLE))?;
            Ok((name.trim().to_owned(), bounds))
        }
        _ => Err(refuse("value", text, range, EXAMPLE)),
    }
}
