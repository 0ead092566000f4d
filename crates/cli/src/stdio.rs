//! Standard streams, which may be closed, full or no terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Read, Write};

use hushtable::query::MAX_QUERY_BYTES;

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
        let bytes = shown(text.as_bytes(), io::stderr().is_terminal());
        let _ = io::stderr().lock().write_all(&bytes);
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

/// The query as it was given, or from standard input for `-`.
pub(crate) fn sql(given: &str) -> Result<String, Failure> {
    if given == "-" { read_query(io::stdin().lock()) } else { Ok(given.to_owned()) }
}

/// Reads a query, and no more than a query may have.
fn read_query(input: impl Read) -> Result<String, Failure> {
    let cannot_read = |reason: &dyn std::fmt::Display| {
        Failure::new(
            format!("cannot read the query from standard input: {reason}"),
            "give it as text in UTF-8, for example `hushtable query - < query.sql`",
        )
    };
    let mut bytes = Vec::new();
    let one_more = MAX_QUERY_BYTES as u64 + 1;
    input.take(one_more).read_to_end(&mut bytes).map_err(|e| cannot_read(&e))?;
    if bytes.len() > MAX_QUERY_BYTES {
        return Err(Failure::new(
            format!("the query has more than {MAX_QUERY_BYTES} bytes; the rest is not read"),
            "move long lists of values into the contract's public_keys",
        ));
    }
    String::from_utf8(bytes).map_err(|e| cannot_read(&e.utf8_error()))
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
    fn reading_stops_at_the_limit() {
        let longest = vec![b' '; MAX_QUERY_BYTES];
        assert_eq!(read_query(longest.as_slice()).unwrap().len(), MAX_QUERY_BYTES);
        // Input without an end.
        let refusal = read_query(io::repeat(b' ')).unwrap_err().to_string();
        assert!(refusal.contains("more than 65536 bytes"), "{refusal}");
        assert!(read_query(&b"\xff"[..]).is_err());
    }
}
