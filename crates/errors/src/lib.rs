//! Errors in parts, so that every program shows them in its own way and none reads texts apart.
//!
//! An error enum says its [`Parts`] in one place ([`Hint::parts`]), and writes them as its text.

use std::fmt;

/// The parts of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The fault: what, with which value, and what is allowed.
    pub what: String,
    /// The lines of SQL that it is about, with the piece underlined.
    pub place: Option<String>,
    /// A way that works.
    pub hint: Option<String>,
}

/// An error that gives its parts as data. Its text has all of them but the place.
pub trait Hint {
    /// All parts.
    fn parts(&self) -> Parts;

    /// The fault: what, with which value, and what is allowed.
    fn what(&self) -> String {
        self.parts().what
    }

    /// The lines of SQL that it is about, with the piece underlined; `None` where there is none.
    fn place(&self) -> Option<String> {
        self.parts().place
    }

    /// A way that works.
    fn hint(&self) -> Option<String> {
        self.parts().hint
    }
}

impl Parts {
    /// A fault, and what would work.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::from((what.into(), Some(hint.into())))
    }
}

/// A fault, and what would work if anything does.
impl From<(String, Option<String>)> for Parts {
    fn from((what, hint): (String, Option<String>)) -> Self {
        Self { what, place: None, hint }
    }
}

/// Writes the fault, and the hint on a line of its own: the text of an error.
impl fmt::Display for Parts {
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
        fn parts(&self) -> Parts {
            let place = Some("1 | SELECT a\n  |        ^".to_owned());
            Parts { place, ..Parts::new("there is no column `a`", "the columns are b, c") }
        }
    }

    #[test]
    fn the_text_has_the_fault_and_the_hint() {
        let error: &dyn Hint = &Unknown;
        let text = error.parts().to_string();
        assert_eq!(text, "there is no column `a`\n  hint: the columns are b, c");
        assert_eq!(text, format!("{}\n  hint: {}", error.what(), error.hint().unwrap()));
        assert!(error.place().is_some());
        assert_eq!(Parts::from(("it ended".to_owned(), None)).to_string(), "it ended");
    }
}
