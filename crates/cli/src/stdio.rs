//! Standard streams, which may be closed, full or no terminal.

use std::io::{self, IsTerminal, Read, Write};

use crate::failure::Failure;

/// Writes a result.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|e| Failure::stdout(&e))
}

/// Writes what is not a result. Where stderr is closed, there is nobody to tell.
pub(crate) fn note(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The query as it was given, or from standard input for `-`.
pub(crate) fn sql(given: &str) -> Result<String, Failure> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text).map_err(|e| {
        Failure::new(
            format!("cannot read the query from standard input: {e}"),
            "give it as text in UTF-8, for example `hushtable query - < query.sql`",
        )
    })?;
    Ok(text)
}
