//! Standard streams, which may be closed, full or no terminal.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};

use hushtable::query::{MAX_QUERY_BYTES, with_parameters};

use crate::arguments::{SqlArguments, SqlMoreArguments};
use crate::colour;
use crate::failure::Failure;
use crate::pace;
use hushtable::visible::visible_lines;

/// Writes a result.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    if pace::is_kept() {
        let bytes = bytes.to_vec();
        return pace::seen(move || print_now(&bytes));
    }
    print_now(bytes)
}

fn print_now(bytes: &[u8]) -> Result<(), Failure> {
    let bytes = shown(bytes, stdout_is_terminal());
    let mut stdout = io::stdout().lock();
    stdout.write_all(&bytes).and_then(|()| stdout.flush()).map_err(|e| Failure::stdout(&e))
}

/// Writes what is not a result. Where stderr is closed, there is nobody to tell.
pub(crate) fn note(text: &str) {
    let text = text.to_owned();
    let _ = pace::seen(move || {
        let is_terminal = io::stderr().is_terminal();
        let text = String::from_utf8_lossy(&shown(text.as_bytes(), is_terminal)).into_owned();
        let text = if colour::wanted(is_terminal) { colour::painted(&text) } else { text };
        let _ = io::stderr().lock().write_all(text.as_bytes());
        Ok(())
    });
}

/// The bytes that go to a stream: whatever the format, no terminal is steered.
fn shown(bytes: &[u8], is_terminal: bool) -> Cow<'_, [u8]> {
    if is_terminal {
        visible_lines(&String::from_utf8_lossy(bytes)).into_bytes().into()
    } else {
        bytes.into()
    }
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The query that a command takes, with the values of its parameters.
pub(crate) fn query(asked: &SqlArguments) -> Result<String, Failure> {
    let text = optional_query(asked.sql.as_deref(), &asked.more)?;
    // The command line needs one of them.
    text.ok_or_else(|| Failure::new("no query given", "give it as text, or --file query.sql"))
}

/// The query as it was given, or from a file; with the values of its parameters.
pub(crate) fn optional_query(
    given: Option<&str>,
    more: &SqlMoreArguments,
) -> Result<Option<String>, Failure> {
    let text = match (given, &more.file) {
        (Some(_), Some(file)) => {
            return Err(Failure::new(
                format!("the query is given both as text and as --file `{}`", file.display()),
                "keep one of them",
            ));
        }
        // A comment at its start came with a blank before it.
        (Some(given), None) => sql(given.trim_start())?,
        (None, Some(file)) => {
            let place = format!("`{}`", file.display());
            let input = File::open(file).map_err(|e| cannot_read(&place, &e))?;
            read_query(input, &place)?
        }
        (None, None) => match more.parameters.first() {
            Some(parameter) => {
                return Err(Failure::new(
                    format!("--param {parameter} needs a query, but none is given"),
                    "give the query as text, or --file query.sql",
                ));
            }
            None => return Ok(None),
        },
    };
    let pair = |parameter: &String| match parameter.split_once('=') {
        Some((name, value)) => Ok((name.trim_start_matches('@').to_owned(), value.to_owned())),
        None => Err(Failure::new(
            format!("--param {parameter} has no value"),
            format!("--param {parameter}=18"),
        )),
    };
    let parameters = more.parameters.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    let text = with_parameters(&text, &parameters);
    text.map(Some).map_err(Failure::from)
}

/// The arguments of the command, with a blank before a text that begins with a comment of SQL: it
/// is a query and no option. So is what follows `--intervals`, unless it is a number.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    let is_level = |next: &OsString| next.to_str().is_some_and(|text| text.parse::<f64>().is_ok());
    let mut all = std::env::args_os().peekable();
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

/// The query as it was given, or from standard input for `-`.
pub(crate) fn sql(given: &str) -> Result<String, Failure> {
    if given == "-" {
        read_query(io::stdin().lock(), &"standard input")
    } else {
        Ok(given.to_owned())
    }
}

/// Reads a query, and no more than a query may have.
fn read_query(input: impl Read, place: &dyn Display) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let one_more = MAX_QUERY_BYTES as u64 + 1;
    input.take(one_more).read_to_end(&mut bytes).map_err(|e| cannot_read(place, &e))?;
    if bytes.len() > MAX_QUERY_BYTES {
        return Err(Failure::new(
            format!("the query has more than {MAX_QUERY_BYTES} bytes; the rest is not read"),
            "move long lists of values into the contract's public_keys",
        ));
    }
    String::from_utf8(bytes).map_err(|e| cannot_read(place, &e.utf8_error()))
}

fn cannot_read(place: &dyn Display, reason: &dyn Display) -> Failure {
    Failure::new(
        format!("cannot read the query from {place}: {reason}"),
        "give it as text in UTF-8, for example `hushtable query --file query.sql`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_not_steered() {
        let text = "town,n\na\u{1b}[2J\u{200b},1\n".as_bytes();
        assert_eq!(shown(text, false), text);
        assert_eq!(*shown(text, true), *b"town,n\na\\u{1b}[2J\\u{200b},1\n");
        assert_eq!(*shown(b"\xff", true), *"\u{fffd}".as_bytes());
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

    #[test]
    fn reading_stops_at_the_limit() {
        let longest = vec![b' '; MAX_QUERY_BYTES];
        let read_query = |input: &mut dyn Read| super::read_query(input, &"a test");
        assert_eq!(read_query(&mut longest.as_slice()).unwrap().len(), MAX_QUERY_BYTES);
        // Input without an end.
        let refusal = read_query(&mut io::repeat(b' ')).unwrap_err().to_string();
        assert!(refusal.contains("more than 65536 bytes"), "{refusal}");
        assert!(read_query(&mut &b"\xff"[..]).is_err());
    }
}
