//! The end of every run: exit codes, fixed delays, and panics that say nothing of the data.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;
use crate::pace::Pace;
use crate::stdio;

/// Exit code after an audit that found a violation.
const VIOLATION: u8 = 3;

/// Exit code where options do not go together, as clap has it.
const USAGE: u8 = 2;

/// Exit code after a fault of the program.
const FAULT: u8 = 101;

const FAULT_TEXT: &str = "error: internal error; no result was released\n  hint: this is a \
                          fault in Hushtable: please report the command, without data; what was \
                          charged stays charged\n";

/// Keeps panics from writing: a message could quote a value of the data, and the decoders of data
/// files panic where a file is damaged, which is caught and told in other words.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Runs a command to its exit code, not before its delay has passed, and says on stderr what went
/// wrong.
pub(crate) fn guarded(pace: Pace, run: impl FnOnce() -> Result<(), Failure>) -> u8 {
    let (code, text) = ending(pace, thread::sleep, run);
    // Where stderr is closed, there is nobody to tell.
    stdio::note(&text);
    code
}

fn ending(
    pace: Pace,
    sleep: impl FnOnce(Duration),
    run: impl FnOnce() -> Result<(), Failure>,
) -> (u8, String) {
    let (ended, effects) = pace.keep(sleep, || catch_unwind(AssertUnwindSafe(run)));
    // Also where the command failed: it may have said what was charged before.
    let show = || effects.into_iter().try_for_each(|effect| effect());
    let printed = catch_unwind(AssertUnwindSafe(show));
    // A failure to print must not hide the failure of the command.
    let ended = match ended {
        Ok(Ok(())) => printed,
        other => other,
    };
    match ended {
        // A reader that closes the pipe early is no failure: the result is there.
        Ok(Ok(()) | Err(Failure::ClosedPipe)) => (0, String::new()),
        Ok(Err(Failure::Violation)) => (VIOLATION, String::new()),
        Ok(Err(Failure::Fault(text))) => (FAULT, text),
        Ok(Err(Failure::Usage(error))) => {
            // In colour where stderr has it. Where stderr is closed, there is nobody to tell.
            let _ = error.print();
            (USAGE, String::new())
        }
        // One code for all refusals and failures: a code of its own could tell something about the
        // data.
        Ok(Err(failure)) => (1, failure.to_string()),
        Err(_) => (FAULT, FAULT_TEXT.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;
    use std::time::Instant;

    use super::*;
    use crate::delayed_effects::perform;

    fn at_once(run: impl FnOnce() -> Result<(), Failure>) -> (u8, String) {
        let sleep = |_| panic!("there is no delay");
        ending(Pace::none(Instant::now()), sleep, run)
    }

    #[test]
    fn a_panic_ends_in_a_constant_text() {
        let (code, text) = at_once(|| panic!("Ada Lovelace owes 17.20"));
        assert_eq!(code, 101);
        let fault = || Err(Failure::Fault("a rule".to_owned()));
        assert_eq!(at_once(fault), (101, "a rule".to_owned()));
        insta::assert_snapshot!(text, @"
        error: internal error; no result was released
          hint: this is a fault in Hushtable: please report the command, without data; \
                what was charged stays charged
        ");
    }

    #[test]
    fn exit_codes() {
        assert_eq!(at_once(|| Ok(())), (0, String::new()));
        assert_eq!(at_once(|| Err(Failure::ClosedPipe)), (0, String::new()));
        assert_eq!(at_once(|| Err(Failure::Violation)), (3, String::new()));
        let (code, text) = at_once(|| Err(Failure::new("no", "yes")));
        assert_eq!((code, text.as_str()), (1, "error: no\n  hint: yes\n"));
    }

    /// How a command ends, in order: what it does, the sleep, what is seen of it.
    fn delayed(run: impl FnOnce() -> Result<(), Failure>) -> (u8, Vec<&'static str>) {
        let order = Rc::new(RefCell::new(Vec::new()));
        let pace = Pace::of(Some("3600"), Instant::now()).unwrap();
        let left = Cell::new(Duration::ZERO);
        let sleep = |duration| {
            left.set(duration);
            order.borrow_mut().push("sleep");
        };
        let (code, _) = ending(pace, sleep, || {
            let log = Rc::clone(&order);
            perform(move || {
                log.borrow_mut().push("shown");
                Ok(())
            })?;
            order.borrow_mut().push("run");
            run()
        });
        // Less what has gone by since the start.
        assert!(left.get() > Duration::ZERO && left.get() < Duration::from_secs(3600));
        (code, order.take())
    }

    #[test]
    fn answers_refusals_and_panics_are_seen_after_the_delay() {
        let order = vec!["run", "sleep", "shown"];
        assert_eq!(delayed(|| Ok(())), (0, order.clone()));
        assert_eq!(delayed(|| Err(Failure::new("no", "yes"))), (1, order.clone()));
        assert_eq!(delayed(|| panic!("Ada")), (101, order));
    }

    #[test]
    fn what_cannot_be_shown_after_the_delay_is_told() {
        let pace = Pace::of(Some("1"), Instant::now()).unwrap();
        let (code, text) = ending(pace, |_| (), || perform(|| Err(Failure::new("full", "room"))));
        assert_eq!((code, text.as_str()), (1, "error: full\n  hint: room\n"));
    }
}
