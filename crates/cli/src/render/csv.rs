//! Results as CSV (RFC 4180 with bare line feeds), for programs.
//!
//! Written here rather than with the `csv` crate, which cannot tell NULL from empty text: NULL is
//! nothing between commas, and empty text is `""`.

use std::borrow::Cow;

use hushtable::arrow::record_batch::RecordBatch;

use super::cell::{ResultCell, rows};
use crate::failure::Failure;
use hushtable::visible::visible;

/// How texts are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CsvStyle {
    /// With a ' before what a spreadsheet would take as a formula.
    pub(crate) no_formulas: bool,
    /// With escapes for what steers a terminal or cannot be seen.
    pub(crate) visible: bool,
}

/// A header line and a line for each row.
pub(crate) fn csv(batch: &RecordBatch, style: CsvStyle) -> Result<String, Failure> {
    let mut out = String::new();
    let schema = batch.schema();
    line(&mut out, schema.fields().iter().map(|field| style.text(field.name())));
    for row in rows(batch)? {
        line(&mut out, row.iter().map(|cell| style.field(cell)));
    }
    Ok(out)
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    for (i, field) in fields.enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&field);
    }
    out.push('\n');
}

impl CsvStyle {
    fn field(self, cell: &ResultCell<'_>) -> String {
        match cell {
            ResultCell::Null => String::new(),
            ResultCell::Bool(value) => value.to_string(),
            ResultCell::Int(value) => value.to_string(),
            ResultCell::Decimal(text) => text.clone(),
            // Years outside of four digits begin with a sign.
            ResultCell::Moment(text) => self.text(text),
            ResultCell::Float(value) if value.is_infinite() => self.text(&value.to_string()),
            // The shortest text that reads back as the same float.
            ResultCell::Float(value) => {
                if *value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
                    value.to_string()
                } else {
                    format!("{value:e}")
                }
            }
            ResultCell::Text(text) => self.text(text),
        }
    }

    fn text(self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        if self.no_formulas {
            text = without_formulas(&text).into();
        }
        if self.visible {
            text = visible(&text).into();
        }
        quoted(&text)
    }
}

/// A ' before each character that would begin a formula: at the start, or where a spreadsheet that
/// splits lines in another way than at commas would see a start.
fn without_formulas(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    let mut starts = true;
    for c in text.chars() {
        if starts && matches!(c, '=' | '+' | '-' | '@' | '\t' | '\r' | '＝' | '＋' | '－' | '＠')
        {
            out.push('\'');
        }
        out.push(c);
        let separates = matches!(c, ',' | ';' | '|' | '\t' | '\r' | '\n' | '"');
        starts = separates || (starts && c.is_whitespace());
    }
    out
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreadsheets_see_no_formulas() {
        for (text, safe) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t'=1"),
            (" =1", " '=1"),
            ("＝1", "'＝1"),
            ("a;=1", "a;'=1"),
            ("a\n=1", "a\n'=1"),
            ("\"=1", "\"'=1"),
            ("a=1-2", "a=1-2"),
            ("Stoke-on-Trent", "Stoke-on-Trent"),
            ("", ""),
        ] {
            assert_eq!(without_formulas(text), safe, "{text}");
        }
        let safe = CsvStyle { no_formulas: true, visible: false };
        assert_eq!(safe.field(&ResultCell::Int(-3)), "-3");
        assert_eq!(safe.field(&ResultCell::Float(f64::NEG_INFINITY)), "'-inf");
        assert_eq!(safe.field(&ResultCell::Moment("-0001-12-31".to_owned())), "'-0001-12-31");
        assert_eq!(safe.field(&ResultCell::Text("=A1,B1")), "\"'=A1,B1\"");
    }

    #[test]
    fn terminals_see_escapes() {
        let style = CsvStyle { no_formulas: false, visible: true };
        assert_eq!(style.field(&ResultCell::Text("a\nb\u{200b}")), "a\\nb\\u{200b}");
    }
}
