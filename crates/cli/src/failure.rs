//! Why a command did not do what was asked.

use std::fmt;
use std::io;

use hushtable::ledger::LedgerError;
use hushtable::query::Refusal;
use hushtable::visible::visible;
use hushtable::{Error, ErrorText, Hint, SourceError};
use hushtable_plot::PlotError;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Refused or failed.
    Error {
        /// The fault, with the lines of SQL that it is about.
        what: String,
        /// A way that works.
        hint: Option<String>,
    },
    /// A number that a user gives is not in its range.
    Argument {
        /// The option's name, without its hyphens in front.
        flag: String,
        /// The value.
        value: String,
        /// The values that it may have.
        range: String,
        /// One of them.
        example: String,
    },
    /// Options that do not go together.
    Usage(Box<clap::Error>),
    /// A rule of the program's own is broken.
    Fault(String),
    /// Nobody reads standard output any more.
    ClosedPipe,
    /// An audit has found that a promise is broken, and said so.
    Violation,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Error { what: what.into(), hint: Some(hint.into()) }
    }

    /// The text of an error.
    fn of(error: &dyn Hint) -> Self {
        let ErrorText { what, place, hint, .. } = error.error_text();
        let lines: Vec<String> = [what].into_iter().chain(place).collect();
        Self::Error { what: lines.join("\n"), hint }
    }

    /// The failure as a warning: it stops other commands, and not this one.
    pub(crate) fn warning(&self) -> String {
        self.to_string().replacen("error: ", "warning: ", 1)
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
        let (what, hint) = match self {
            Self::Error { what, hint } => (what, hint),
            Self::Argument { flag, value, range, example } => {
                let what = format!("{flag} = {value} is not valid: it must be {range}");
                let hint = Some(format!("for example `--{flag} {example}`"));
                return Self::Error { what, hint }.fmt(f);
            }
            Self::Usage(error) => return error.fmt(f),
            Self::Fault(text) => return f.write_str(text),
            Self::ClosedPipe | Self::Violation => return Ok(()),
        };
        // Names of columns and files may hold anything.
        let what: Vec<String> = what.lines().map(visible).collect();
        writeln!(f, "error: {}", what.join("\n"))?;
        hint.iter().try_for_each(|hint| writeln!(f, "  hint: {}", visible(hint)))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::of(&error);
        if is_fault(&error) { Self::Fault(failure.to_string()) } else { failure }
    }
}

/// Whether the program broke a rule of its own, in a query of a workload, too.
fn is_fault(error: &Error) -> bool {
    match error {
        Error::Inconsistent(_) => true,
        Error::InWorkload { error, .. } => is_fault(error),
        _ => false,
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::of(&error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::of(&refusal)
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::of(&error)
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Self {
        Self::of(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_rules_are_faults_of_the_program() {
        let broken = || Error::inconsistent("a rule of a test");
        let in_workload = Error::InWorkload {
            file: "w.toml".to_owned(),
            line: 3,
            query: "q".to_owned(),
            error: Box::new(broken()),
        };
        for error in [broken(), in_workload] {
            let text = error.to_string();
            let failure = Failure::from(error);
            assert!(matches!(failure, Failure::Fault(_)), "{failure}");
            assert!(failure.to_string().contains("a rule of a test"), "{failure} {text}");
        }
        assert!(!matches!(Failure::from(Error::Interrupted), Failure::Fault(_)));
    }

    #[test]
    fn errors_of_all_crates_give_their_hints_as_data() {
        let path = || "a.ledger".into();
        let missing = || LedgerError::Missing { path: path() };
        let in_workload = Error::InWorkload {
            file: "w.toml".to_owned(),
            line: 3,
            query: "q".to_owned(),
            error: Box::new(Error::Ledger(missing())),
        };
        let unknown = SourceError::UnknownExtension { path: "a.xls".into() };
        let failures = [
            Failure::from(Refusal::new("there is no column `a`", "the columns are b, c")),
            Failure::from(missing()),
            Failure::from(unknown),
            Failure::from(in_workload),
            Failure::from(PlotError::Extension("a.gif".into())),
            Failure::new("column `\u{1b}[2J`", "a\tb"),
        ];
        for failure in &failures {
            let Failure::Error { what, hint } = failure else { panic!("{failure}") };
            assert!(!what.contains("hint") && hint.as_ref().is_some_and(|h| !h.contains('\n')));
        }
        let rendered = failures.map(|failure| failure.to_string()).join("\n");
        insta::assert_snapshot!(rendered);
    }
}
