//! Errors as fields, so that every program shows them in its own way and none reads texts apart.
//!
//! An error enum says its [`ErrorText`] in one place ([`Hint::error_text`]), and writes it as its
//! message.

use std::fmt;

/// The text of an error: its fault, where that is, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorText {
    /// The fault: what, with which value, and what is allowed.
    pub what: String,
    /// The lines of SQL that it is about, with the piece underlined.
    pub place: Option<String>,
    /// A way that works.
    pub hint: Option<String>,
}

/// An error that gives its text as data. Its message has all of it but the place.
pub trait Hint {
    /// The whole text.
    fn error_text(&self) -> ErrorText;

    /// The fault: what, with which value, and what is allowed.
    fn what(&self) -> String {
        self.error_text().what
    }

    /// The lines of SQL that it is about, with the piece underlined; `None` where there is none.
    fn place(&self) -> Option<String> {
        self.error_text().place
    }

    /// A way that works.
    fn hint(&self) -> Option<String> {
        self.error_text().hint
    }
}

impl ErrorText {
    /// A fault, and what would work.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::from((what.into(), Some(hint.into())))
    }
}

/// A fault, and what would work if anything does.
impl From<(String, Option<String>)> for ErrorText {
    fn from((what, hint): (String, Option<String>)) -> Self {
        Self { what, place: None, hint }
    }
}

/// Writes the fault, and the hint on a line of its own: the text of an error.
impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.hint.iter().try_for_each(|hint| write!(f, "\n  hint: {hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Unknown;

    impl Hint for Unknown {
        fn error_text(&self) -> ErrorText {
            let place = Some("1 | SELECT a\n  |        ^".to_owned());
            ErrorText { place, ..ErrorText::new("there is no column `a`", "the columns are b, c") }
        }
    }

    #[test]
    fn the_text_has_the_fault_and_the_hint() {
        let error: &dyn Hint = &Unknown;
        let text = error.error_text().to_string();
        assert_eq!(text, "there is no column `a`\n  hint: the columns are b, c");
        assert_eq!(text, format!("{}\n  hint: {}", error.what(), error.hint().unwrap()));
        assert!(error.place().is_some());
        assert_eq!(ErrorText::from(("it ended".to_owned(), None)).to_string(), "it ended");
    }
}
