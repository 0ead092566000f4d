//! The mechanisms for sums that are not clamped, side by side, as text.

use hushtable_query::{IntervalExplained, MechanismCompared, MechanismsExplained};

use super::grid::{Grid, Side, visible};
use super::number::{at_least, number};

/// What the mechanisms for each sum would cost and how precise they would be.
pub(super) fn compared(all: &[MechanismsExplained]) -> String {
    let sections: Vec<String> = all.iter().map(one).collect();
    sections.join("\n")
}

fn one(sum: &MechanismsExplained) -> String {
    let (name, threshold) = (visible(&sum.measurement), number(sum.threshold));
    let same_at = number(sum.same_at);
    let (loss, noise) = (table(sum, &sum.at_equal_loss), table(sum, &sum.at_equal_noise));
    format!(
        "Mechanisms for the {name}, T = {threshold}\n  made so that a record at T loses the same\n{loss}\n  made so \
         that a sum of {same_at} T is equally precise\n{noise}"
    )
}

fn table(sum: &MechanismsExplained, all: &[MechanismCompared]) -> String {
    let head = |i: usize, first: &str, multiple: f64| {
        let multiple = format!("{} T", number(multiple));
        (if i == 0 { format!("{first} {multiple}") } else { multiple }, Side::Right)
    };
    let mut headings = vec![("mechanism".to_owned(), Side::Left)];
    headings.extend(
        sum.sums.iter().enumerate().map(|(i, m)| head(i, "standard error at a sum of", *m)),
    );
    headings.extend(sum.values.iter().enumerate().map(|(i, m)| head(i, "rho of a record of", *m)));
    let columns = headings.len();
    let mut grid = Grid::new(headings);
    let mut notes = String::new();
    for compared in all {
        let own = if compared.mechanism == sum.mechanism { " (this query)" } else { "" };
        let mut row = vec![format!("{}{own}", compared.mechanism)];
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
pub(super) fn interval(interval: IntervalExplained) -> String {
    match interval {
        IntervalExplained::Log { offset, low_factor, high_factor } => {
            let offset = number(offset);
            let end = |factor: f64| format!("{} (x + {offset}) - {offset}", number(factor));
            let (low, high) = (end(low_factor), end(high_factor));
            format!("95 % of released x are such that the sum is between {low} and {high}")
        }
        IntervalExplained::Sqrt { offset, variance, reach } => {
            let (offset, reach) = (number(offset), number(reach));
            let plus = number(1.0 + variance);
            format!(
                "95 % of released x are such that the sum is between {offset} (max(1, r - {reach})^2 - 1) and \
                 {offset} ((r + {reach})^2 - 1) for r = sqrt(x / {offset} + {plus})"
            )
        }
    }
}
