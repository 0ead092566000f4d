//! Errors in parts, for programs that show them in their own way.

use crate::Error;
use crate::SourceError;
use crate::ledger::LedgerError;
use crate::query::{ContractError, Refusal};

/// An error that gives its parts as data. Its text has all of them but the place in the SQL.
pub trait Hint {
    /// The fault: what, with which value, and what is allowed.
    fn what(&self) -> String;

    /// The lines of SQL that it is about, with the piece underlined; `None` where there is none.
    fn place(&self) -> Option<String> {
        None
    }

    /// A way that works.
    fn hint(&self) -> Option<String>;
}

impl Hint for Refusal {
    fn what(&self) -> String {
        self.what.clone()
    }

    fn place(&self) -> Option<String> {
        self.excerpt()
    }

    fn hint(&self) -> Option<String> {
        Some(self.hint.clone())
    }
}

impl Hint for Error {
    fn what(&self) -> String {
        self.what_and_hint().0
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => refusal.place(),
            _ => None,
        }
    }

    fn hint(&self) -> Option<String> {
        self.what_and_hint().1
    }
}

macro_rules! without_place {
    ($($error:ty),*) => {$(
        impl Hint for $error {
            fn what(&self) -> String {
                self.what_and_hint().0
            }

            fn hint(&self) -> Option<String> {
                self.what_and_hint().1
            }
        }
    )*};
}

without_place!(ContractError, LedgerError, SourceError);
