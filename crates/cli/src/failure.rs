//! Why a command did not do what was asked.

use std::fmt;
use std::io;

use hushtable::ledger::LedgerError;
use hushtable::query::Refusal;
use hushtable::{Error, SourceError};
use hushtable_plot::PlotError;

use crate::render::grid::visible;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Refused or failed: what, and then hints, a line each.
    Told {
        /// The fault.
        what: String,
        /// Ways out that work.
        hints: Vec<String>,
    },
    /// Nobody reads standard output any more.
    ClosedPipe,
    /// An audit has found that a promise is broken, and said so.
    Violation,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Told { what: what.into(), hints: vec![hint.into()] }
    }

    /// From a text whose hints are lines that begin with `hint:`.
    fn from_text(text: &str) -> Self {
        let mut what = Vec::new();
        let mut hints: Vec<String> = Vec::new();
        for line in text.lines() {
            match (line.trim_start().strip_prefix("hint:"), hints.last_mut()) {
                (Some(hint), _) => hints.push(hint.trim().to_owned()),
                (None, Some(hint)) => *hint = format!("{hint} {}", line.trim()),
                (None, None) => what.push(line),
            }
        }
        Self::Told { what: what.join("\n"), hints }
    }

    /// A failure to write standard output.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::new(
            format!("cannot write to standard output: {error}"),
            "an answer that was charged is on record: the same query gives it again for free",
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Told { what, hints } = self else { return Ok(()) };
        // Names of columns and files may hold anything.
        let what: Vec<String> = what.lines().map(visible).collect();
        writeln!(f, "error: {}", what.join("\n"))?;
        hints.iter().try_for_each(|hint| writeln!(f, "  hint: {}", visible(hint)))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => refusal.into(),
            other => Self::from_text(&other.to_string()),
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::from_text(&error.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let lines = [Some(refusal.what.clone()), refusal.excerpt()];
        Self::new(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"), refusal.hint)
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::from_text(&error.to_string())
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Self {
        Self::from_text(&error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_stand_on_lines_of_their_own() {
        let texts = ["no\nhint: a\n  hint: b", "no\n  hint: a\nhint: b"];
        for text in texts {
            let shown = Failure::from_text(text).to_string();
            assert_eq!(shown, "error: no\n  hint: a\n  hint: b\n");
        }
        let shown = Failure::from_text("one\ntwo\nhint: a\n  more").to_string();
        assert_eq!(shown, "error: one\ntwo\n  hint: a more\n");
        assert_eq!(Failure::from_text("no").to_string(), "error: no\n");
        let shown = Failure::from_text("column `\u{1b}[2J`\nhint: a\tb").to_string();
        assert_eq!(shown, "error: column `\\u{1b}[2J`\n  hint: a\\tb\n");
    }
}
