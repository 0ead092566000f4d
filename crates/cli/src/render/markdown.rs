//! Results as a table in Markdown (GitHub's form), for reports.

use hushtable::arrow::record_batch::RecordBatch;

use super::cell::{is_number, rows};
use super::grid::visible;
use super::table::cell_text;
use crate::failure::Failure;

/// Characters that Markdown or HTML would take as a sign inside of a line.
const SIGNS: &str = "\\`*_[]<>|~&$";

/// A table in Markdown. Numbers are on the right.
pub(crate) fn markdown(batch: &RecordBatch) -> Result<String, Failure> {
    let schema = batch.schema();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names = schema.fields().iter().map(|field| plain(&visible(field.name()))).collect();
    let rule = |is_number: bool| if is_number { "---:" } else { ":---" }.to_owned();
    let rules = schema.fields().iter().map(|field| rule(is_number(field.data_type()))).collect();
    let mut out = line(names) + &line(rules);
    for row in rows(batch)? {
        let cells = row.iter().zip(schema.fields());
        let text = |content: String, number: bool| if number { content } else { plain(&content) };
        out += &line(
            cells
                .map(|(cell, field)| text(cell_text(cell), is_number(field.data_type())))
                .collect(),
        );
    }
    Ok(out)
}

/// Text that stays as it is, whatever Markdown's signs are in it.
fn plain(text: &str) -> String {
    let escape = |c: char| if SIGNS.contains(c) { format!("\\{c}") } else { c.to_string() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn texts_are_no_markup() {
        assert_eq!(plain("a|b"), "a\\|b");
        assert_eq!(plain("<img src=x> *bold* [l](u)"), "\\<img src=x\\> \\*bold\\* \\[l\\](u)");
        assert_eq!(plain("Århus 12"), "Århus 12");
    }
}
