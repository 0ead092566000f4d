//! Rules of the engine that did not hold: errors of the program itself.

use std::fmt;
use std::panic::Location;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;

/// A rule that the engine broke, and where that was noticed. Both stand in the program's text, so
/// that nothing of the data can be in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Invariant {
    /// The state that the rule excludes.
    pub broken: &'static str,
    /// Where in the code that was noticed.
    pub noticed: &'static Location<'static>,
}

impl Invariant {
    /// A broken rule that is noticed where this is called.
    #[track_caller]
    pub(crate) fn new(broken: &'static str) -> Self {
        Self { broken, noticed: Location::caller() }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { broken, noticed } = self;
        write!(f, "{broken} ({}:{})", in_crate(noticed.file()), noticed.line())
    }
}

/// A file of the code in its crate, without the folders of the machine that built it.
fn in_crate(file: &str) -> String {
    let file = file.replace('\\', "/");
    let Some((folder, path)) = file.rsplit_once("/src/") else { return file };
    let name = folder.rsplit_once('/').map_or(folder, |(_, name)| name);
    format!("{name}/src/{path}")
}

// Operators report to the libraries that run them: the rule goes through these as it is.

impl From<Invariant> for DataFusionError {
    fn from(invariant: Invariant) -> Self {
        Self::External(Box::new(invariant))
    }
}

impl From<Invariant> for ArrowError {
    fn from(invariant: Invariant) -> Self {
        Self::ExternalError(Box::new(invariant))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::error::EngineError;

    const BROKEN: &str = "a test has no result";

    fn assert_names(error: &EngineError, line: u32) {
        let text = error.to_string();
        let expected = format!(
            "the engine broke its own rule: {BROKEN} (engine/src/invariant.rs:{line})\n  \
             hint: this is a fault in Hushtable: "
        );
        assert!(text.starts_with(&expected), "{text}");
    }

    #[test]
    fn inconsistent_errors_name_the_invariant_and_the_place() {
        let missing: Option<()> = None;
        let (error, line) = (EngineError::inconsistent(BROKEN), line!());
        assert_names(&error, line);
        let (error, line) = (missing.ok_or(EngineError::inconsistent(BROKEN)), line!());
        assert_names(&error.unwrap_err(), line);
        let (error, line) = (missing.ok_or_else(|| EngineError::inconsistent(BROKEN)), line!());
        assert_names(&error.unwrap_err(), line);
        // Libraries hand on what an operator reports, wrapped in errors of their own.
        let (invariant, line) = (Invariant::new(BROKEN), line!());
        let nested = || DataFusionError::from(ArrowError::from(invariant));
        let shared = [DataFusionError::from(invariant), nested()].map(Arc::new);
        for wrapped in [
            DataFusionError::from(invariant),
            DataFusionError::Context("a plan".to_owned(), Box::new(nested())),
            DataFusionError::Shared(Arc::clone(&shared[0])),
            DataFusionError::Shared(Arc::clone(&shared[1])),
            DataFusionError::from(ArrowError::ExternalError(Box::new(DataFusionError::from(
                invariant,
            )))),
        ] {
            assert_names(&wrapped.into(), line);
        }
        drop(shared);
        // The error of a library is noticed where it comes into the engine.
        let divided = || -> Result<(), EngineError> { Err(ArrowError::DivideByZero)? };
        let line = line!() - 1;
        let text = divided().unwrap_err().to_string();
        assert!(text.contains(&format!("engine/src/invariant.rs:{line}")), "{text}");
    }

    #[test]
    fn inconsistent_errors_name_no_folder_of_the_machine() {
        for folder in ["crates/", "", "/home/x/src/", "C:\\x\\"] {
            let file = format!("{folder}engine/src/a.rs");
            assert_eq!(in_crate(&file), "engine/src/a.rs");
        }
    }
}
