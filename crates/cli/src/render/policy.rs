//! Possible loss of a record of a given size, as text.

use std::fmt::Write;

use hushtable::mechanisms::RecordMechanism;
use hushtable::privacy::LossCurve;
use hushtable::query::{
    ClassesExplanation, ExchangeExplanation, JointPolicy, JointTerm, PolicyExample,
    PolicyExplanation, PolicyTermExplanation,
};

use super::grid::{Alignment, TextGrid, visible};
use super::number::{at_least, number};

/// Most classes that are listed in text; JSON has all.
pub(super) const MOST_CLASSES: usize = 10;

/// The policy function, as a formula and by examples.
pub(super) fn policy(policy: Option<&PolicyExplanation>) -> String {
    let Some(policy) = policy else { return String::new() };
    let mut formula = format!("rho(record) = {}", policy.rho_constant);
    if let Some(rho) = policy.rho_pieces {
        // Writing to a String cannot fail.
        let _ = write!(formula, " + {rho} pieces^2");
    }
    for term in &policy.terms {
        let _ = write!(formula, " + {}", loss_by(term, &summed(term)));
    }
    let mut notes = String::new();
    if policy.rho_pieces.is_some() {
        notes.push_str(
            "  pieces: the largest of 1 and every value over its threshold, rounded up\n",
        );
    }
    if let Some(note) = policy.terms.iter().find_map(|term| polylogarithm(term.growth?)) {
        notes.push_str(&note);
    }
    for term in &policy.terms {
        notes.push_str(&classes(term));
        notes.push_str(&lost_by_class(term).unwrap_or_default());
    }
    let examples = examples(&policy.examples);
    let exchanged = exchanged(policy.exchange);
    format!("What a record may lose\n  {formula}\n{notes}\n{examples}\n{exchanged}{SECRET}")
}

/// The cost of exchanging one record for another.
fn exchanged(exchange: ExchangeExplanation) -> String {
    let ExchangeExplanation { any, different_groups, none_negative, delta } = exchange;
    let rho = |times: u32| if times == 1 { "r".to_owned() } else { format!("{times} r") };
    let mut text = format!(
        "  If two records each lose at most r, the exchange of one for the other costs at most {}",
        rho(any)
    );
    let cases = [
        (different_groups, "if they are in different groups"),
        (none_negative, "if neither has a value below zero"),
    ];
    for (times, when) in cases {
        if let Some(times) = times {
            let _ = write!(text, ",\n  {} {when}", rho(times));
        }
    }
    if delta.is_some() {
        text.push_str(".\n  The delta of choosing groups then counts twice");
    }
    text.push_str(
        ".\n  Nothing is promised for an exchange with a record that loses more than r.\n",
    );
    text
}

/// Note under every policy function.
const SECRET: &str = "  The function is public; JSON and statements have all digits of it. \
                      Its value for a record in the table is as\n  secret as the record.\n";

/// The policy function of a workload, in the same way.
pub(super) fn policy_of_workload(policy: &JointPolicy) -> String {
    let mut formula = format!("rho(record) = {}", policy.rho_constant);
    for (index, pieces) in policy.pieces.iter().enumerate() {
        if let Some(rho) = pieces.rho_choice {
            let _ = write!(formula, "\n    + {rho} pieces_{}^2", index + 1);
        }
    }
    for JointTerm { column, term, .. } in &policy.terms {
        let _ = write!(formula, "\n    + {}", loss_by(term, &visible(column)));
    }
    let mut notes = String::new();
    for (index, pieces) in policy.pieces.iter().enumerate() {
        if pieces.rho_choice.is_some() {
            let columns =
                pieces.terms.iter().filter_map(|i| Some(policy.terms.get(*i)?.column.as_str()));
            let columns: Vec<String> = columns.map(visible).collect();
            let _ = writeln!(
                notes,
                "  pieces_{}: the largest of 1 and {} over their thresholds, rounded up",
                index + 1,
                columns.join(", ")
            );
        }
    }
    if let Some(note) = policy.terms.iter().find_map(|entry| polylogarithm(entry.term.growth?)) {
        notes.push_str(&note);
    }
    let mut lines: Vec<String> = Vec::new();
    let by_class = policy.terms.iter().filter_map(|entry| lost_by_class(&entry.term));
    for text in policy.terms.iter().filter_map(|entry| listed(&entry.term)).chain(by_class) {
        if !lines.contains(&text) {
            lines.push(text);
        }
    }
    notes += &lines.concat();
    let examples = examples(&policy.examples);
    format!(
        "What a record may lose by all queries\n  {formula}\n{notes}\n\
         {examples}\n  A record enters each query at most once; one that the WHERE of some leaves \
         out loses less.\n{SECRET}"
    )
}

/// Loss of a record by a sum of `name`.
fn loss_by(term: &PolicyTermExplanation, name: &str) -> String {
    match term.growth {
        None => format!("{} ({name} / {})^2", term.rho, threshold(term)),
        // Its numbers are those of the record's class, which are listed below.
        Some(_) if by_class(term).is_some() => format!("loss({name})"),
        Some(growth) => lost(growth, name),
    }
}

/// The classes with noise of their own.
fn by_class(term: &PolicyTermExplanation) -> Option<&ClassesExplanation> {
    term.classes.as_ref().filter(|classes| classes.noise_by_class)
}

/// Losses of records of each class by a sum that is not released by Gaussian noise.
fn lost_by_class(term: &PolicyTermExplanation) -> Option<String> {
    let (classes, name) = (by_class(term)?, summed(term));
    let mut text = String::new();
    let listed = classes.listed.iter().take(MOST_CLASSES);
    let growths = listed.filter_map(|class| Some((visible(&class.value), class.growth?)));
    for (class, growth) in growths.chain(Some(("others".to_owned(), classes.default_growth?))) {
        let _ = writeln!(text, "  loss({name}) in {class}: {}", lost(growth, &name));
    }
    Some(text)
}

/// The threshold of the noise.
fn threshold(term: &PolicyTermExplanation) -> String {
    match &term.classes {
        Some(classes) if classes.noise_by_class => format!("T({})", visible(&classes.by)),
        _ => number(term.threshold),
    }
}

fn summed(term: &PolicyTermExplanation) -> String {
    let name = visible(&term.measurement);
    let name = name.strip_prefix("sum of ").map_or_else(|| name.clone(), str::to_owned);
    // The formula shows the mechanism.
    let bare = RecordMechanism::ALL.iter().find_map(|m| name.strip_suffix(&format!(" by {m}")));
    bare.map_or_else(|| name.clone(), str::to_owned)
}

/// Loss of a record by a sum that is not released by Gaussian noise.
fn lost(growth: LossCurve, name: &str) -> String {
    match growth {
        LossCurve::Gaussian { deviation } => format!("0.5 ({name} / {})^2", number(deviation)),
        LossCurve::Log { offset, deviation } => {
            format!("0.5 (ln(1 + {name} / {}) / {})^2", number(offset), number(deviation))
        }
        LossCurve::Sqrt { offset, deviation } => {
            format!("0.5 ((sqrt(1 + {name} / {}) - 1) / {})^2", number(offset), number(deviation))
        }
        LossCurve::ExponentialPolylogarithmic { scale, .. } => {
            format!("L({name} / {})", number(scale))
        }
    }
}

/// Definition of L in it.
fn polylogarithm(growth: LossCurve) -> Option<String> {
    let LossCurve::ExponentialPolylogarithmic { shape, offset, .. } = growth else { return None };
    let (shape, offset) = (number(shape), number(offset));
    Some(format!(
        "  L(x): epsilon tanh(epsilon / 2) for the pure epsilon = {shape} \
         (ln^2(x + {offset}) - ln^2 {offset})\n"
    ))
}

/// Records at multiples of the thresholds.
fn examples(examples: &[PolicyExample]) -> String {
    // Where groups are chosen privately, there is a delta, too.
    let private = examples.iter().any(|example| example.delta.is_some());
    // Where all noise is Gaussian, there is a mu.
    let gaussian = examples.iter().any(|example| example.mu.is_some());
    let mut headings =
        vec![("times its thresholds", Alignment::Right), ("rho, at most", Alignment::Right)];
    headings.extend(gaussian.then_some(("mu", Alignment::Right)));
    headings.push(("epsilon at delta = 1e-6", Alignment::Right));
    headings.extend(private.then_some(("delta of choosing groups", Alignment::Right)));
    headings.push(("rho by whole pieces", Alignment::Right));
    let mut grid = TextGrid::new(headings);
    for example in examples {
        let mut row = vec![number(example.multiple), at_least(example.exact)];
        row.extend(example.mu.map(at_least));
        row.push(at_least(example.epsilon));
        row.extend(example.delta.map(at_least));
        row.push(at_least(example.split));
        grid.push(row);
    }
    grid.text(2)
}

/// The thresholds of a sum by class.
fn listed(term: &PolicyTermExplanation) -> Option<String> {
    let classes = term.classes.as_ref()?;
    let (by, name) = (visible(&classes.by), summed(term));
    let listed: Vec<String> = classes
        .listed
        .iter()
        .take(MOST_CLASSES)
        .map(|class| format!("{} in {}", number(class.threshold), visible(&class.value)))
        .collect();
    let more = classes.listed.len().saturating_sub(MOST_CLASSES);
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    let (listed, others) = (listed.join(", "), number(classes.default));
    Some(format!("  T({by}) of {name}: {listed}{more}, {others} in others\n"))
}

/// The thresholds of a sum by class, with a note where the noise does not depend on the class.
fn classes(term: &PolicyTermExplanation) -> String {
    let (Some(classes), Some(mut text)) = (&term.classes, listed(term)) else {
        return String::new();
    };
    if !classes.noise_by_class {
        let (by, name) = (visible(&classes.by), summed(term));
        let _ = writeln!(
            text,
            "  {by} is no key of this query: the noise of {name} is made for {}, \
             and T({by}) counts for pieces only",
            number(term.threshold)
        );
    }
    text
}
