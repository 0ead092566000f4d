//! The mechanisms for sums that are not clamped, side by side, as text.

use hushtable::mechanisms::RecordMechanism;
use hushtable::query::{
    IntervalExplanation, MechanismComparison, MechanismsExplanation, MechanismsOnData, SizeQuantile,
};

use super::grid::{Alignment, TextGrid, visible};
use super::number::{at_least, number};

/// Comparison of the mechanisms for each sum, by cost and precision.
pub(super) fn compared(all: &[MechanismsExplanation]) -> String {
    let sections: Vec<String> = all.iter().map(one).collect();
    sections.join("\n")
}

fn one(sum: &MechanismsExplanation) -> String {
    let (name, threshold) = (visible(&sum.measurement), number(sum.threshold));
    let same_at = number(sum.same_at);
    let multiples = |all: &[f64]| -> Vec<String> {
        all.iter().map(|multiple| format!("{} T", number(*multiple))).collect()
    };
    let (sums, values) = (multiples(&sum.sums), multiples(&sum.values));
    let table = |all| table(sum.mechanism, &sums, &values, all);
    let (loss, noise) = (table(&sum.at_equal_loss), table(&sum.at_equal_noise));
    format!(
        "Mechanisms for the {name}, T = {threshold}\n  made so that a record at T loses the same\n\
         {loss}\n  made so that a sum of {same_at} T is equally precise\n{noise}"
    )
}

/// The mechanisms for each sum, on the records and groups of a table.
pub(super) fn on_data(all: &[MechanismsOnData]) -> String {
    let one = |sum: &MechanismsOnData| {
        let at = |all: &[SizeQuantile]| {
            let text =
                |q: &SizeQuantile| format!("{} ({} %)", number(q.size), number(q.share * 100.0));
            all.iter().map(text).collect::<Vec<_>>()
        };
        let (sums, values) = (at(&sum.sums), at(&sum.values));
        let table = |all| table(sum.mechanism, &sums, &values, all);
        let (loss, noise) = (table(&sum.at_equal_loss), table(&sum.at_equal_noise));
        format!(
            "Mechanisms for the {}, on these records and groups (sizes, and the shares that have \
             no larger ones)\n  made so that {} % of the records lose no more than the same\n\
             {loss}\n  made so that the sum of the group in the middle is equally precise\n{noise}",
            visible(&sum.measurement),
            number(sum.same_loss.share * 100.0),
        )
    };
    all.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Standard errors of sums and losses of records.
fn table(
    current: RecordMechanism,
    sums: &[String],
    values: &[String],
    all: &[MechanismComparison],
) -> String {
    let head = |i: usize, first: &str, size: &str| {
        (if i == 0 { format!("{first} {size}") } else { size.to_owned() }, Alignment::Right)
    };
    let mut headings = vec![("mechanism".to_owned(), Alignment::Left)];
    headings.extend(sums.iter().enumerate().map(|(i, m)| head(i, "standard error at a sum of", m)));
    headings.extend(values.iter().enumerate().map(|(i, m)| head(i, "rho of a record of", m)));
    let columns = headings.len();
    let mut grid = TextGrid::new(headings);
    let mut notes = String::new();
    for compared in all {
        let note = if compared.mechanism == current { " (this query)" } else { "" };
        let mut row = vec![format!("{}{note}", compared.mechanism)];
        row.extend(compared.standard_errors.iter().map(|error| number(*error)));
        row.extend(compared.losses.iter().map(|loss| at_least(*loss)));
        row.resize(columns, "-".to_owned());
        grid.push(row);
        if let Some(why) = &compared.impossible {
            notes.push_str(&format!("  {}: {why}\n", compared.mechanism));
        }
    }
    format!("{}{notes}", grid.text(2))
}

/// The interval around a released value x, in words.
pub(super) fn interval(interval: IntervalExplanation) -> String {
    match interval {
        IntervalExplanation::Log { offset, low_factor, high_factor } => {
            let offset = number(offset);
            let end = |factor: f64| format!("{} (x + {offset}) - {offset}", number(factor));
            let (low, high) = (end(low_factor), end(high_factor));
            format!("95 % of released x are such that the sum is between {low} and {high}")
        }
        IntervalExplanation::Sqrt { offset, variance, reach } => {
            let (offset, reach) = (number(offset), number(reach));
            let plus = number(1.0 + variance);
            format!(
                "95 % of released x are such that the sum is between {offset} (max(1, \
                 r - {reach})^2 - 1) and {offset} ((r + {reach})^2 - 1) for \
                 r = sqrt(x / {offset} + {plus})"
            )
        }
    }
}
