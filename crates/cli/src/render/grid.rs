//! Text in aligned columns.

use unicode_width::UnicodeWidthStr;

pub(crate) use hushtable::visible::visible;

/// Blanks between columns.
const GAP: usize = 2;

/// Text in aligned columns. Without headings if they are all empty.
#[derive(Debug)]
pub(crate) struct TextGrid {
    columns: Vec<(String, Alignment)>,
    rows: Vec<Vec<String>>,
    underlined: bool,
}

/// Where a column's texts stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alignment {
    Left,
    Right,
}

impl TextGrid {
    pub(crate) fn new(columns: impl IntoIterator<Item = (impl Into<String>, Alignment)>) -> Self {
        let columns = columns.into_iter().map(|(name, side)| (name.into(), side)).collect();
        Self { columns, rows: Vec::new(), underlined: false }
    }

    /// Two columns without headings: names, and what they stand for.
    pub(crate) fn pairs() -> Self {
        Self::new([("", Alignment::Left), ("", Alignment::Left)])
    }

    /// With a line under each heading.
    pub(crate) fn underlined(self) -> Self {
        Self { underlined: true, ..self }
    }

    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(row.into_iter().map(Into::into).collect());
    }

    /// The lines, each behind `indent` blanks.
    pub(crate) fn text(&self, indent: usize) -> String {
        let headings: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let mut widths: Vec<usize> = headings.iter().map(|name| name.width()).collect();
        for row in &self.rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = (*width).max(text.width());
            }
        }
        let mut out = String::new();
        if headings.iter().any(|name| !name.is_empty()) {
            self.line(&mut out, indent, &widths, &headings);
        }
        if self.underlined {
            let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            self.line(&mut out, indent, &widths, &rules);
        }
        for row in &self.rows {
            self.line(&mut out, indent, &widths, row);
        }
        out
    }

    fn line(&self, out: &mut String, indent: usize, widths: &[usize], texts: &[String]) {
        let mut line = " ".repeat(indent);
        for (i, ((text, width), (_, side))) in
            texts.iter().zip(widths).zip(&self.columns).enumerate()
        {
            if i > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let blanks = " ".repeat(width.saturating_sub(text.width()));
            match side {
                Alignment::Left => line.extend([text.as_str(), &blanks]),
                Alignment::Right => line.extend([blanks.as_str(), text]),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice() {
        let mut grid =
            TextGrid::new([("a", Alignment::Left), ("n", Alignment::Right)]).underlined();
        grid.push(["日本", "1"]);
        grid.push(["é", "-10"]);
        insta::assert_snapshot!(grid.text(1), @"
         a       n
         ────  ───
         日本    1
         é     -10
        ");
    }
}
