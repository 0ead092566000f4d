//! Lines of the shell: from a terminal, with an editor; else from standard input.

use std::io::{self, BufRead, IsTerminal, Read};

use hushtable::output::ProtectedFiles;
use hushtable::query::MAX_QUERY_BYTES;
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};

use super::history::History;
use super::words::Completions;
use crate::failure::Failure;

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// Its text, without the end of the line.
    Text(String),
    /// The statement that was begun is given up: Ctrl-C.
    GivenUp,
    /// There are no more lines.
    End,
}

/// Where lines come from.
pub(super) trait Input {
    /// The next line.
    fn line(&mut self, prompt: &str) -> Result<InputLine, Failure>;

    /// Keeps a statement or command for later.
    fn remember(&mut self, _entry: &str) {}

    /// The history, where one is kept.
    fn history(&mut self) -> Option<&mut History> {
        None
    }
}

/// The terminal, where standard input is one; else standard input. A history is kept outside of
/// what is protected.
pub(super) fn input(
    words: Completions,
    protected: &ProtectedFiles,
) -> Result<Box<dyn Input>, Failure> {
    if io::stdin().is_terminal() {
        return Ok(Box::new(Terminal::new(words, protected)?));
    }
    Ok(Box::new(InputLines(io::stdin().lock())))
}

/// Lines of a file, a pipe or a test.
pub(super) struct InputLines<R>(pub(super) R);

impl<R: BufRead> Input for InputLines<R> {
    fn line(&mut self, _prompt: &str) -> Result<InputLine, Failure> {
        let mut bytes = Vec::new();
        let one_more = MAX_QUERY_BYTES as u64 + 1;
        let mut limited = self.0.by_ref().take(one_more);
        let read = limited.read_until(b'\n', &mut bytes).map_err(|e| cannot_read(&e))?;
        if read == 0 {
            return Ok(InputLine::End);
        }
        if bytes.len() > MAX_QUERY_BYTES {
            // The rest of the line must not be taken for a statement.
            return Err(Failure::new(
                format!("a line has more than {MAX_QUERY_BYTES} bytes; the rest is not read"),
                "write the statement on several lines",
            ));
        }
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::new(
                "standard input is not text in UTF-8",
                "convert it first: iconv -t UTF-8 questions.sql",
            )
        })?;
        Ok(InputLine::Text(text.trim_end_matches(['\n', '\r']).to_owned()))
    }
}

/// A terminal with an editor of lines, completion and a history.
struct Terminal {
    editor: Editor<Completions, MemHistory>,
    history: History,
}

impl Terminal {
    fn new(words: Completions, protected: &ProtectedFiles) -> Result<Self, Failure> {
        let config = Config::builder()
            .history_ignore_dups(true)
            .and_then(|config| config.max_history_size(super::history::MOST_ENTRIES))
            .map_err(|e| no_terminal(&e))?
            .build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history).map_err(|e| no_terminal(&e))?;
        editor.set_helper(Some(words));
        editor.set_auto_add_history(false);
        let history = History::of_the_user(protected)?;
        for entry in history.entries() {
            editor.add_history_entry(entry).map_err(|e| no_terminal(&e))?;
        }
        Ok(Self { editor, history })
    }
}

impl Input for Terminal {
    fn line(&mut self, prompt: &str) -> Result<InputLine, Failure> {
        match self.editor.readline(prompt) {
            Ok(text) => Ok(InputLine::Text(text)),
            Err(ReadlineError::Interrupted) => Ok(InputLine::GivenUp),
            Err(ReadlineError::Eof) => Ok(InputLine::End),
            Err(error) => Err(no_terminal(&error)),
        }
    }

    fn remember(&mut self, entry: &str) {
        // Without it, only the history lacks an entry.
        let _ = self.editor.add_history_entry(entry);
        self.history.add(entry);
    }

    fn history(&mut self) -> Option<&mut History> {
        Some(&mut self.history)
    }
}

fn cannot_read(error: &io::Error) -> Failure {
    Failure::new(format!("cannot read standard input: {error}"), "hushtable shell < questions.sql")
}

fn no_terminal(error: &ReadlineError) -> Failure {
    Failure::new(
        format!("cannot read from the terminal: {error}"),
        "give the statements on standard input: hushtable shell < questions.sql",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_without_their_ends_and_have_a_limit() {
        let mut lines = InputLines(&b"SELECT 1;\r\n\nlast"[..]);
        for text in ["SELECT 1;", "", "last"] {
            assert_eq!(lines.line("").unwrap(), InputLine::Text(text.to_owned()));
        }
        assert_eq!(lines.line("").unwrap(), InputLine::End);
        let long = "x".repeat(MAX_QUERY_BYTES + 1) + "\nSELECT 1;";
        assert!(InputLines(long.as_bytes()).line("").is_err());
        assert!(InputLines(&b"\xff\n"[..]).line("").is_err());
    }
}
