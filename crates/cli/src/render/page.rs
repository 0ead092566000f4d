//! A quote as one page for people without training in privacy, within 80 columns.

use hushtable::Standing;
use hushtable::privacy::{Loss, Neighbouring};
use hushtable::query::{
    Explanation, GroupSize, GroupsExplanation, PrecisionExplanation, PrivateGroups,
};

use super::assess::wrapped_at;
use super::grid::visible;
use super::learnt;
use super::number::{at_least, number, probability};
use super::plain_quote::{Plain, answered_before};

/// The widest line.
const WIDTH: usize = 80;
/// The largest epsilon that is put in words.
const MOST_MEANING: f64 = 10.0;
/// The column in which texts begin.
const INDENT: usize = 13;

/// A quote as one page. `more` says how all of it is shown.
pub(super) fn text(plain: &Plain<'_>, more: &str) -> String {
    let explanation = &plain.part.explanation;
    let cost = cost(plain) + &meaning(explanation);
    page(explanation, &cost, Subject::Query) + &entry("More", more)
}

/// One query, without its budget.
pub(super) fn of_one_query(explanation: &Explanation) -> String {
    page(explanation, "", Subject::Query)
}

/// The clipping report of some parts.
pub(super) fn of_report(explanation: &Explanation, of: &[String]) -> String {
    let rows = format!("the rows of {}, without its limits", of.join(", "));
    page(explanation, "", Subject::Report(&rows))
}

/// Sizes of units, from which limits are chosen.
pub(super) fn of_histogram(explanation: &Explanation) -> String {
    page(explanation, "", Subject::Sizes)
}

/// The subject of a page.
#[derive(Clone, Copy)]
enum Subject<'a> {
    Query,
    /// The clipping report of a query, which reads these rows.
    Report(&'a str),
    /// The sizes of units.
    Sizes,
}

fn page(explanation: &Explanation, cost: &str, subject: Subject<'_>) -> String {
    let mut out = entry("Protects", &protects(explanation)) + cost;
    let tables = explanation.tables.iter().map(|table| visible(table)).collect::<Vec<_>>();
    let rows = match (&subject, &explanation.condition) {
        (Subject::Report(rows), _) => (*rows).to_owned(),
        (Subject::Sizes, _) => "all rows that count, without limits".to_owned(),
        (Subject::Query, Some(condition)) => {
            format!("{}, where {}", tables.join(", "), visible(condition))
        }
        (Subject::Query, None) => format!("{}, all rows", tables.join(", ")),
    };
    out += &entry("Reads", &rows);
    let groups = match (&subject, &explanation.groups) {
        (Subject::Sizes, GroupsExplanation::Public { groups, .. }) => {
            format!("{} ranges of sizes, each shown, empty or not", number(*groups as f64))
        }
        _ => groups(explanation),
    };
    out += &entry("Groups", &groups);
    if let Some(text) = of_use(explanation) {
        out += &entry("Of use", &text);
    }
    let alike = |a: &PrecisionExplanation, b: &PrecisionExplanation| {
        a.without.is_some() && a.without == b.without
    };
    let precision: Vec<String> = explanation.precision.chunk_by(alike).map(precise).collect();
    if !precision.is_empty() {
        let mut lines = vec![
            "random noise is added: 95 of 100 numbers are this near to those without it".to_owned(),
        ];
        lines.extend(precision);
        out += &entries("Precision", &lines);
    }
    if !explanation.learnt_bounds.is_empty() {
        out += &entries("Bounds", &learnt::lines(&explanation.learnt_bounds));
    }
    let cut_off = &explanation.intervals.not_in_them;
    if !cut_off.is_empty() {
        let mut lines =
            vec!["before the noise is added, so that the ± does not cover it:".to_owned()];
        lines.extend(cut_off.iter().map(|text| format!("- {}", visible(text))));
        out += &entries("Cut off", &lines);
    }
    if !explanation.precision.is_empty() && matches!(subject, Subject::Query) {
        let advice: Vec<String> =
            explanation.advice.iter().map(|text| format!("- {}", visible(text))).collect();
        out += &entries("Less noise", &advice);
    }
    let warnings: Vec<String> = explanation
        .warnings
        .iter()
        .map(|warning| format!("- {}; {}", visible(&warning.what), visible(&warning.hint)))
        .collect();
    if !warnings.is_empty() {
        out += &entries("Warnings", &warnings);
    }
    out
}

fn protects(explanation: &Explanation) -> String {
    let unit = visible(&explanation.privacy_unit);
    let (one, together) = match unit.as_str() {
        "row" => ("each row".to_owned(), String::new()),
        unit => (format!("each {unit}"), format!(", with all rows of the same {unit}")),
    };
    let population = visible(&explanation.population);
    let promise = match explanation.neighbouring {
        Neighbouring::AddRemove => "nobody can tell whether it is in the data",
        Neighbouring::Replace => "nobody can tell it from another; how many there are is public",
    };
    let policy = match explanation.policy {
        Some(_) => ". Large records lose more than small ones",
        None => "",
    };
    let beside = match &explanation.beside {
        Some(beside) => format!(". Each unit of {} as well", visible(&beside.population)),
        None => String::new(),
    };
    format!("{one} of {population}{together}: {promise}{policy}{beside}")
}

fn groups(explanation: &Explanation) -> String {
    match &explanation.groups {
        GroupsExplanation::Single => "one row, always shown".to_owned(),
        GroupsExplanation::Public { groups: 1, by_query: true } => {
            "the one that the query names is shown, empty or not; choosing costs nothing".to_owned()
        }
        GroupsExplanation::Public { groups, by_query: true } => format!(
            "all {} that the query names are shown, empty or not; choosing costs nothing",
            number(*groups as f64)
        ),
        GroupsExplanation::Public { groups, by_query: false } => {
            format!("all {} of the contract's keys are shown, empty or not", number(*groups as f64))
        }
        GroupsExplanation::Private(private) => appears_from(private, &explanation.privacy_unit),
    }
}

/// From how many units on a group is of use.
fn of_use(explanation: &Explanation) -> Option<String> {
    let choice = &explanation.choice;
    let usefulness = choice.usefulness;
    if usefulness.to_be_precise <= 0.0 || matches!(explanation.groups, GroupsExplanation::Single) {
        return None;
    }
    let units = match explanation.privacy_unit.as_str() {
        "row" => "rows".to_owned(),
        unit => format!("different {}", visible(unit)),
    };
    let size = number(usefulness.size().ceil());
    let error = number(100.0 * usefulness.relative_error);
    Some(format!(
        "groups of about {size} {units} or more: their noise is {error} % of the largest values or \
         less"
    ))
}

/// From how many units on a group is shown.
fn appears_from(private: &PrivateGroups, unit: &str) -> String {
    let units = match (private.sizes_in, unit) {
        (GroupSize::Pieces, _) => "pieces of records".to_owned(),
        (GroupSize::Rows, _) => "rows".to_owned(),
        (GroupSize::Values, _) => "values".to_owned(),
        (_, "row") => "rows".to_owned(),
        (_, unit) => format!("different {}", visible(unit)),
    };
    let half = number(private.units_for_half as f64);
    let mut out = format!(
        "only large ones appear, as a small one could give somebody away: with {half} {units} half \
         of the time, with more nearly always"
    );
    if let Some(one) = private.keep.iter().find(|keep| keep.units == 1) {
        out += &format!(", with 1 with probability {}", probability(one.probability));
    }
    if let Some(least) = private.min_units {
        out += &format!(", with fewer than {} never", number(least as f64));
    }
    if let Some(known) = private.known_groups {
        out += &format!("; the {} known ones always appear", number(known as f64));
    }
    out
}

/// How precise an output is, or outputs that have no ± for one reason.
fn precise(alike: &[PrecisionExplanation]) -> String {
    let Some(output) = alike.first() else { return String::new() };
    let name = visible(&output.name);
    if let Some(why) = &output.without {
        let names: Vec<String> = alike.iter().map(|other| visible(&other.name)).collect();
        let each = if names.len() > 1 { "each" } else { "it" };
        return format!("{}: no ±, as {each} {why}", names.join(", "));
    }
    let Some(first) = output.half_widths.first() else {
        return format!("{name}: by its size");
    };
    let same = output
        .half_widths
        .iter()
        .all(|other| (other.half_width - first.half_width).abs() <= 0.02 * first.half_width.abs());
    let mut out = if same {
        format!("{name}: ± {}", short(first.half_width))
    } else {
        let sizes: Vec<String> = output
            .half_widths
            .iter()
            .map(|at| format!("± {} in {} rows", short(at.half_width), number(at.rows as f64)))
            .collect();
        format!("{name}: {}", sizes.join(", "))
    };
    if let Some(rows) = output.rows_for_tenth {
        out += &format!("; that is 10 % of a group of {} rows", number(rows as f64));
    }
    out
}

/// Three digits.
fn short(value: f64) -> String {
    let magnitude = if value > 0.0 { value.log10().floor() } else { 0.0 };
    let unit = 10f64.powf(magnitude - 2.0);
    number(if unit < 1.0 || value >= 1e3 { (value / unit).round() * unit } else { value })
}

/// The price, and what is left of the budget.
pub(super) fn cost(plain: &Plain<'_>) -> String {
    let Plain { analyst, part, account, .. } = plain;
    let explanation = &part.explanation;
    let (analyst, population) = (visible(analyst), visible(&explanation.population));
    let left = account.account.left;
    let of_whom =
        if explanation.policy.is_some() { ", for a record at the thresholds" } else { "" };
    let mut text = match account.left_after() {
        _ if part.standing == Standing::OnRecord => {
            format!("nothing: the answer is on record. Left to {analyst} on {population}: {left}")
        }
        _ if part.standing == Standing::Paid => {
            format!("nothing: it is paid for. Left to {analyst} on {population}: {left}")
        }
        Some(after) => format!(
            "{}{of_whom}, of {left} that {analyst} has left on {population}; then {after} is left",
            account.charge
        ),
        None => format!(
            "{}{of_whom}, and {analyst} has only {left} left on {population}: \
             the budget does not suffice, and the query would be refused",
            account.charge
        ),
    };
    if let Some(before) = plain.answered_before {
        text += &format!(". {}", answered_before(before));
    }
    if let [.., implied] = explanation.total_as_epsilon.as_slice() {
        let (epsilon, delta) = (at_least(implied.epsilon), at_least(implied.delta));
        text += &format!(". This implies epsilon = {epsilon} at delta = {delta}");
    }
    entry("Costs", &text)
}

/// The meaning of the price for somebody who has not read about epsilon.
fn meaning(explanation: &Explanation) -> String {
    if explanation.policy.is_some() {
        return String::new();
    }
    let epsilon = match (explanation.total, explanation.total_as_epsilon.as_slice()) {
        (Loss::Approximate { epsilon, .. }, _) => epsilon.to_f64(),
        (_, [.., implied]) => implied.epsilon,
        (_, []) => return String::new(),
    };
    // Beyond it the number says nothing to anybody.
    if epsilon > MOST_MEANING {
        return entry("That is", "so much that this answer protects hardly anybody");
    }
    let one = match explanation.privacy_unit.as_str() {
        "row" => "one row".to_owned(),
        unit => format!("one {}", visible(unit)),
    };
    let times = number((epsilon.exp() * 100.0).ceil() / 100.0);
    entry(
        "That is",
        &format!(
            "the answer makes no guess about {one} more than {times} times as likely (e to the \
             power of epsilon); delta, if there is one, is the probability that this fails"
        ),
    )
}

/// A title and its text.
fn entry(title: &str, text: &str) -> String {
    entries(title, &[text.to_owned()])
}

/// A title and its lines.
fn entries(title: &str, lines: &[String]) -> String {
    let text: String = lines.iter().map(|line| folded(line, 2, WIDTH - INDENT)).collect();
    let mut out = String::new();
    for (index, line) in text.lines().enumerate() {
        let title = if index == 0 { title } else { "" };
        out += &format!("{title:INDENT$}{line}\n");
    }
    out
}

/// A line broken between words, with what follows moved to the right by `by` columns.
fn folded(line: &str, by: usize, width: usize) -> String {
    let mut out = String::new();
    for (index, wrapped) in wrapped_at(line, width - by).lines().enumerate() {
        let before = if index == 0 { 0 } else { by };
        out += &format!("{:before$}{wrapped}\n", "");
    }
    out
}
