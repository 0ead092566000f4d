//! Colours of errors, warnings and hints on standard error.
//!
//! They are put on lines that have no control characters left, so that a name in a message cannot
//! bring its own.

use std::sync::OnceLock;

use clap::ValueEnum;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColourChoice {
    /// On terminals, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always, also into a pipe
    Always,
    /// Never
    Never,
}

const BOLD_RED: &str = "\u{1b}[1;31m";
const BOLD_YELLOW: &str = "\u{1b}[1;33m";
const BOLD_CYAN: &str = "\u{1b}[1;36m";
const PLAIN: &str = "\u{1b}[0m";

/// Words that begin a line, and their colours.
const WORDS: [(&str, &str); 3] =
    [("error:", BOLD_RED), ("warning:", BOLD_YELLOW), ("hint:", BOLD_CYAN)];

static CHOICE: OnceLock<ColourChoice> = OnceLock::new();

/// Keeps the choice of the command line; the first one holds.
pub(crate) fn choose(choice: ColourChoice) {
    let _ = CHOICE.set(choice);
}

/// Whether to use colours on a stream.
pub(crate) fn is_on(is_terminal: bool) -> bool {
    let setting = |name: &str| std::env::var_os(name);
    // As https://no-color.org has it: set, and not empty.
    let off = setting("NO_COLOR").is_some_and(|text| !text.is_empty())
        || setting("TERM").is_some_and(|text| text == "dumb");
    decided(CHOICE.get().copied().unwrap_or_default(), is_terminal, off)
}

fn decided(choice: ColourChoice, is_terminal: bool, off: bool) -> bool {
    match choice {
        ColourChoice::Always => true,
        ColourChoice::Never => false,
        ColourChoice::Auto => is_terminal && !off,
    }
}

/// The lines with the words that begin them, and the marks under SQL, in colours.
pub(crate) fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

fn line(line: &str) -> String {
    let start = line.len() - line.trim_start().len();
    let (blanks, rest) = line.split_at(start);
    for (word, colour) in WORDS {
        if let Some(after) = rest.strip_prefix(word) {
            return format!("{blanks}{colour}{word}{PLAIN}{after}");
        }
    }
    // A line of an excerpt: `  |       ^^^^`.
    if let Some(marks) = rest.strip_prefix('|')
        && marks.contains('^')
        && marks.chars().all(|c| c == '^' || c.is_whitespace())
    {
        return format!("{blanks}|{}", marks.replacen('^', &format!("{BOLD_RED}^"), 1))
            .trim_end_matches('\n')
            .to_owned()
            + PLAIN
            + "\n";
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_begin_lines_are_coloured() {
        let text =
            "error: no\n  | SELECT x\n  |        ^^\n  hint: an error: or hint: is none\nplain";
        let want = "\u{1b}[1;31merror:\u{1b}[0m no\n  | SELECT x\n  |        \
                    \u{1b}[1;31m^^\u{1b}[0m\n  \
                    \u{1b}[1;36mhint:\u{1b}[0m an error: or hint: is none\nplain";
        assert_eq!(painted(text), want);
    }

    #[test]
    fn no_color_holds_where_nothing_else_is_said() {
        use ColourChoice::{Always, Auto, Never};
        for (choice, is_terminal, off, want) in [
            (Auto, true, false, true),
            (Auto, true, true, false),
            (Auto, false, false, false),
            (Always, false, true, true),
            (Never, true, false, false),
        ] {
            assert_eq!(decided(choice, is_terminal, off), want, "{choice:?}");
        }
    }
}
