//! Standard streams, which may be closed, full or no terminal.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use hushtable::visible::visible_lines;

use crate::colour;
use crate::delayed_effects;
use crate::failure::Failure;

/// Writes a result.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    if delayed_effects::is_delayed() {
        let bytes = bytes.to_vec();
        return delayed_effects::perform(move || print_now(&bytes));
    }
    print_now(bytes)
}

fn print_now(bytes: &[u8]) -> Result<(), Failure> {
    // Keys come from data, and control characters in them could steer a terminal.
    let bytes = for_stream(bytes, stdout_is_terminal());
    let mut stdout = io::stdout().lock();
    stdout.write_all(&bytes).and_then(|()| stdout.flush()).map_err(|e| Failure::stdout(&e))
}

/// Writes a message to stderr. A failure is ignored, as there is no other stream to report it on.
pub(crate) fn note(text: &str) {
    let text = text.to_owned();
    let _ = delayed_effects::perform(move || {
        let is_terminal = io::stderr().is_terminal();
        let text = String::from_utf8_lossy(&for_stream(text.as_bytes(), is_terminal)).into_owned();
        let text = if colour::is_on(is_terminal) { colour::painted(&text) } else { text };
        let _ = io::stderr().lock().write_all(text.as_bytes());
        Ok(())
    });
}

/// The bytes for a stream: on a terminal without control characters, whatever the format.
fn for_stream(bytes: &[u8], is_terminal: bool) -> Cow<'_, [u8]> {
    if is_terminal {
        visible_lines(&String::from_utf8_lossy(bytes)).into_bytes().into()
    } else {
        bytes.into()
    }
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The arguments of the command, with a blank before a text that begins with a comment of SQL: it
/// is a query and no option. So is what follows `--intervals`, unless it is a number.
pub(crate) fn arguments(
    given: impl IntoIterator<Item = OsString>,
) -> impl Iterator<Item = OsString> {
    let is_level = |next: &OsString| next.to_str().is_some_and(|text| text.parse::<f64>().is_ok());
    let mut all = given.into_iter().peekable();
    std::iter::from_fn(move || {
        let argument = all.next()?;
        Some(match argument.to_str() {
            Some("--intervals") if !all.peek().is_some_and(is_level) => "--intervals=95".into(),
            Some(text) if is_comment(text) => format!(" {text}").into(),
            _ => argument,
        })
    })
}

/// Whether a text begins with a comment of SQL. The name of an option has no blanks.
fn is_comment(text: &str) -> bool {
    let name = text.strip_prefix("--").and_then(|rest| rest.split('=').next());
    name.is_some_and(|name| name.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_not_steered() {
        let text = "town,n\na\u{1b}[2J\u{200b},1\n".as_bytes();
        assert_eq!(for_stream(text, false), text);
        assert_eq!(*for_stream(text, true), *b"town,n\na\\u{1b}[2J\\u{200b},1\n");
        assert_eq!(*for_stream(b"\xff", true), *"\u{fffd}".as_bytes());
    }

    #[test]
    fn comments_are_no_options() {
        for (text, want) in [
            ("-- people\nSELECT 1", true),
            ("--people per county\nSELECT 1", true),
            ("--\nSELECT 1", true),
            ("--param=a b", false),
            ("--format", false),
            ("--", false),
            ("SELECT 1 -- one", false),
        ] {
            assert_eq!(is_comment(text), want, "{text}");
        }
    }
}
