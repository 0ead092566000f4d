//! The end of every run: exit codes, and panics that say nothing of the data.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::stdio;

/// Exit code after an audit that found a violation.
const VIOLATION: u8 = 3;

/// Exit code after a fault of the program.
const FAULT: u8 = 101;

const FAULT_TEXT: &str = "error: internal error; no result was released\n  \
    hint: this is a fault in Hushtable, please report the command (not the data); what was \
    charged stays charged\n";

/// Keeps panics from writing: a message could quote a value of the data, and the decoders of data
/// files panic where a file is damaged, which is caught and told in other words.
pub(crate) fn silence_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Runs a command to its exit code, and says on stderr what went wrong.
pub(crate) fn guarded(run: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    let (code, text) = ending(run);
    stdio::note(&text);
    ExitCode::from(code)
}

fn ending(run: impl FnOnce() -> Result<(), Failure>) -> (u8, String) {
    match catch_unwind(AssertUnwindSafe(run)) {
        // Whoever closed the pipe has seen enough of a result that is there.
        Ok(Ok(()) | Err(Failure::ClosedPipe)) => (0, String::new()),
        Ok(Err(Failure::Violation)) => (VIOLATION, String::new()),
        Ok(Err(failure)) => (1, failure.to_string()),
        Err(_) => (FAULT, FAULT_TEXT.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_in_a_constant_text() {
        let (code, text) = ending(|| panic!("Ada Lovelace owes 17.20"));
        assert_eq!(code, 101);
        insta::assert_snapshot!(text, @"
        error: internal error; no result was released
          hint: this is a fault in Hushtable, please report the command (not the data); what was charged stays charged
        ");
    }

    #[test]
    fn exit_codes() {
        assert_eq!(ending(|| Ok(())), (0, String::new()));
        assert_eq!(ending(|| Err(Failure::ClosedPipe)), (0, String::new()));
        assert_eq!(ending(|| Err(Failure::Violation)), (3, String::new()));
        let (code, text) = ending(|| Err(Failure::new("no", "yes")));
        assert_eq!((code, text.as_str()), (1, "error: no\n  hint: yes\n"));
    }
}
