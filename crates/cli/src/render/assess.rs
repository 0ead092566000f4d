//! Results of `assess`.

use hushtable::privacy::Epsilon;

use super::grid::{Alignment, TextGrid, visible};
use super::number::{at_least, digits17};

/// Columns to which words are set.
const WIDTH: usize = 96;

/// The sentence of every report: an assessment is easily taken for more than it is.
const BRIEF: &str = "A measured risk and no privacy budget: it holds against those who know no \
                     more than is assumed. --verbose says what the numbers mean, and what they \
                     rest on.";

/// Guarantees, and what they mean and rest on.
#[derive(Clone, Debug)]
pub(crate) struct AssessReport {
    pub(crate) rows: Vec<GuaranteeRow>,
    /// For each pair of values, if it is about such.
    pub(crate) pairs: Vec<PairRow>,
    /// Whether the deltas are those of the worst attacker within the assumptions, and not above.
    pub(crate) exact: bool,
    pub(crate) words: String,
}

/// An epsilon or a delta, rounded up where it was computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EpsilonOrDelta {
    /// None if no epsilon is enough.
    Epsilon(Option<Epsilon>),
    Delta(f64),
}

impl EpsilonOrDelta {
    pub(crate) fn epsilon(epsilon: Epsilon) -> Self {
        Self::Epsilon(Some(epsilon))
    }

    pub(crate) fn json(self) -> String {
        match self {
            Self::Epsilon(epsilon) => epsilon.map_or("null".to_owned(), |e| e.to_string()),
            Self::Delta(delta) => digits17(delta),
        }
    }

    pub(crate) fn text(self) -> String {
        match self {
            Self::Epsilon(epsilon) => epsilon.map_or("none".to_owned(), |e| e.to_string()),
            Self::Delta(delta) => at_least(delta),
        }
    }
}

/// One guarantee: `epsilon`, `delta`, and others beside them, by their JSON keys.
#[derive(Clone, Debug)]
pub(crate) struct GuaranteeRow(Vec<(&'static str, EpsilonOrDelta)>);

impl GuaranteeRow {
    pub(crate) fn new(epsilon: EpsilonOrDelta, delta: EpsilonOrDelta) -> Self {
        Self(vec![("epsilon", epsilon), ("delta", delta)])
    }

    pub(crate) fn push(&mut self, key: &'static str, amount: EpsilonOrDelta) {
        self.0.push((key, amount));
    }

    /// Epsilon and delta of a column, by how its name goes on after `epsilon` or `delta`; where one
    /// of the two is the same for all columns, it has no such name.
    pub(crate) fn point(&self, column: &str) -> Option<(f64, f64)> {
        let of =
            |name: &str| self.0.iter().find(|(key, _)| *key == name).map(|(_, amount)| *amount);
        let find = |key: &str| of(&format!("{key}{column}")).or_else(|| of(key));
        match (find("epsilon")?, find("delta")?) {
            (EpsilonOrDelta::Epsilon(Some(epsilon)), EpsilonOrDelta::Delta(delta)) => {
                Some((epsilon.to_f64(), delta))
            }
            _ => None,
        }
    }

    fn json(&self) -> String {
        let fields: Vec<String> =
            self.0.iter().map(|(key, amount)| format!("\"{key}\":{}", amount.json())).collect();
        format!("{{{}}}", fields.join(","))
    }
}

/// The promise for two values of the target.
#[derive(Clone, Debug)]
pub(crate) struct PairRow {
    pub(crate) one: String,
    pub(crate) other: String,
    pub(crate) epsilon: EpsilonOrDelta,
    pub(crate) delta: f64,
    pub(crate) because: &'static str,
}

impl PairRow {
    fn json(&self) -> String {
        let values = serde_json::json!([self.one, self.other]);
        format!(
            "{{\"values\":{values},\"epsilon\":{},\"delta\":{},\"because\":\"{}\"}}",
            self.epsilon.json(),
            digits17(self.delta),
            self.because
        )
    }
}

impl AssessReport {
    /// On one line.
    pub(crate) fn json(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(GuaranteeRow::json).collect();
        let mut fields = vec![format!("\"guarantees\":[{}]", rows.join(","))];
        if !self.pairs.is_empty() {
            let pairs: Vec<String> = self.pairs.iter().map(PairRow::json).collect();
            fields.push(format!("\"pairs\":[{}]", pairs.join(",")));
        }
        fields.push(format!("\"exact\":{}", self.exact));
        fields.push(format!("\"assumptions\":{}", serde_json::json!(self.words)));
        format!("{{{}}}\n", fields.join(","))
    }

    /// For people: deltas are rounded up. `verbose` says what they mean and rest on, too.
    pub(crate) fn text(&self, verbose: bool) -> String {
        let headings = self.rows.first().map(|row| row.0.clone()).unwrap_or_default();
        let headings = headings.iter().map(|(key, _)| (key.replace('_', " "), Alignment::Left));
        let mut grid = TextGrid::new(headings).underlined();
        for row in &self.rows {
            grid.push(row.0.iter().map(|(_, amount)| amount.text()));
        }
        let mut out = grid.text(0);
        if !self.pairs.is_empty() {
            let headings = ["one value", "the other", "epsilon", "delta", "because"];
            let mut grid = TextGrid::new(headings.map(|name| (name, Alignment::Left))).underlined();
            for pair in &self.pairs {
                let (epsilon, delta) = (pair.epsilon.text(), at_least(pair.delta));
                let because = pair.because.to_owned();
                grid.push([visible(&pair.one), visible(&pair.other), epsilon, delta, because]);
            }
            out.push('\n');
            out.push_str(&grid.text(0));
        }
        out.push('\n');
        out.push_str(&prose(&self.words, verbose));
        out
    }
}

/// The meaning of an assessment and its assumptions, or that there are some.
pub(crate) fn prose(words: &str, verbose: bool) -> String {
    wrapped(if verbose { words } else { BRIEF })
}

/// Lines of at most [`WIDTH`] columns, broken between words.
pub(crate) fn wrapped(text: &str) -> String {
    wrapped_at(text, WIDTH)
}

/// Lines of at most `width` columns, broken between words.
pub(crate) fn wrapped_at(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}
