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
    /// The way out for callers from code, where `hint` names options of the command.
    pub hint_in_code: Option<String>,
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

    /// With another hint for programs, which call methods and have no options.
    #[must_use]
    pub fn in_code(self, hint: impl Into<String>) -> Self {
        Self { hint_in_code: Some(hint.into()), ..self }
    }

    /// The text as a program shows it.
    #[must_use]
    pub fn for_code(mut self) -> Self {
        self.hint = self.hint_in_code.take().or(self.hint);
        self
    }
}

/// A fault, and what would work if anything does.
impl From<(String, Option<String>)> for ErrorText {
    fn from((what, hint): (String, Option<String>)) -> Self {
        Self { what, place: None, hint, hint_in_code: None }
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

    #[test]
    fn programs_have_hints_in_their_words() {
        let text = ErrorText::new("no analyst given", "give --analyst NAME");
        assert_eq!(text.clone().for_code(), text);
        let text = text.in_code("name one");
        assert_eq!(text.hint.as_deref(), Some("give --analyst NAME"));
        assert_eq!(text.for_code().hint.as_deref(), Some("name one"));
    }
}
