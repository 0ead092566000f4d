//! What a record of a given size may lose, as text.

use std::fmt::Write;

use hushtable_mechanisms::RecordMechanism;
use hushtable_privacy::Growth;
use hushtable_query::{PolicyExplained, PolicyTermExplained};

use super::grid::{Grid, Side, visible};
use super::number::{at_least, number};

/// Most classes that are listed in text; JSON has all.
pub(super) const MOST_CLASSES: usize = 10;

/// The policy function, as a formula and by examples.
pub(super) fn policy(policy: Option<&PolicyExplained>) -> String {
    let Some(policy) = policy else { return String::new() };
    let mut formula = format!("rho(record) = {}", policy.rho_constant);
    if let Some(rho) = policy.rho_pieces {
        // Writing to a String cannot fail.
        let _ = write!(formula, " + {rho} pieces^2");
    }
    for term in &policy.terms {
        let threshold = match &term.classes {
            Some(classes) if classes.noise_by_class => format!("T({})", visible(&classes.by)),
            _ => number(term.threshold),
        };
        let _ = match term.growth {
            None => write!(formula, " + {} ({} / {threshold})^2", term.rho, summed(term)),
            Some(growth) => write!(formula, " + {}", lost(growth, &summed(term))),
        };
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
    }
    format!(
        "What a record may lose\n  {formula}\n{notes}\n{}\n  The function is public. What it says of a record \
         in the table is as secret as the record.\n",
        examples(policy).text(2)
    )
}

fn summed(term: &PolicyTermExplained) -> String {
    let name = visible(&term.measurement);
    let name = name.strip_prefix("sum of ").map_or_else(|| name.clone(), str::to_owned);
    // The mechanism is told by the formula.
    let bare = RecordMechanism::ALL.iter().find_map(|m| name.strip_suffix(&format!(" by {m}")));
    bare.map_or_else(|| name.clone(), str::to_owned)
}

/// What a record loses by a sum that is not released by Gaussian noise.
fn lost(growth: Growth, name: &str) -> String {
    match growth {
        Growth::Gaussian { deviation } => format!("0.5 ({name} / {})^2", number(deviation)),
        Growth::Log { offset, deviation } => {
            format!("0.5 (ln(1 + {name} / {}) / {})^2", number(offset), number(deviation))
        }
        Growth::Sqrt { offset, deviation } => {
            format!("0.5 ((sqrt(1 + {name} / {}) - 1) / {})^2", number(offset), number(deviation))
        }
        Growth::ExponentialPolylogarithmic { scale, .. } => {
            format!("L({name} / {})", number(scale))
        }
    }
}

/// What L stands for in it.
fn polylogarithm(growth: Growth) -> Option<String> {
    let Growth::ExponentialPolylogarithmic { shape, offset, .. } = growth else { return None };
    let (shape, offset) = (number(shape), number(offset));
    Some(format!(
        "  L(x): epsilon tanh(epsilon / 2) for the pure epsilon = {shape} (ln^2(x + {offset}) - ln^2 {offset})\n"
    ))
}

fn examples(policy: &PolicyExplained) -> Grid {
    // Where groups are chosen privately, there is a delta, too.
    let private = policy.examples.iter().any(|example| example.delta.is_some());
    let mut headings = vec![
        ("times the thresholds", Side::Right),
        ("rho", Side::Right),
        ("mu", Side::Right),
        ("epsilon at delta = 1e-6", Side::Right),
    ];
    headings.extend(private.then_some(("delta of choosing groups", Side::Right)));
    headings.push(("rho by whole pieces", Side::Right));
    let mut grid = Grid::new(headings);
    for example in &policy.examples {
        let mut row = vec![
            number(example.multiple),
            at_least(example.exact),
            at_least(example.mu),
            at_least(example.epsilon),
        ];
        row.extend(example.delta.map(at_least));
        row.push(at_least(example.split));
        grid.push(row);
    }
    grid
}

/// The thresholds of a sum by class.
fn classes(term: &PolicyTermExplained) -> String {
    let Some(classes) = &term.classes else { return String::new() };
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
    let mut text = format!("  T({by}) of {name}: {listed}{more}, {others} in others\n");
    if !classes.noise_by_class {
        let _ = writeln!(
            text,
            "  {by} is no key of this query: the noise of {name} is made for {}, and T({by}) counts for pieces \
             only",
            number(term.threshold)
        );
    }
    text
}
