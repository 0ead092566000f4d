//! Commands of the shell, which begin with a backslash or are words of other shells.

use std::fmt::Write;
use std::path::PathBuf;

use hushtable::query::{IntervalRequest, Level};

use crate::commands::query::by_extension;
use crate::failure::Failure;

/// The name of each command, its argument and its effect.
pub(super) const COMMANDS: [(&str, &str, &str); 9] = [
    ("\\d", "[TABLE]", "list the tables, or show a table's columns, bounds and budgets"),
    ("\\explain", "SQL;", "show what a statement would promise and cost, without asking it"),
    ("\\auto", "[on|off]", "charge without asking first, or ask again"),
    ("\\intervals", "[LEVEL|off]", "put intervals beside released values, at 95 % or at LEVEL"),
    ("\\o", "[FILE]", "write the next result to a file: .csv, .json, .md, .html, .parquet, .xlsx"),
    ("\\budget", "", "show your budgets, and what was charged to them"),
    ("\\history", "[on|off]", "say where your statements are kept, or stop keeping them"),
    ("\\help", "", "list these commands"),
    ("\\q", "", "leave, as Ctrl-D does"),
];

/// A command, checked.
#[derive(Debug, PartialEq)]
pub(super) enum ShellCommand {
    /// Lists the tables, or describes one.
    Describe(Option<String>),
    /// Sets whether statements are charged without asking; the other way round without a word.
    Auto(Option<bool>),
    /// Sets the intervals beside results.
    Intervals(Option<IntervalRequest>),
    /// Names the file of the next result; none for the screen.
    Output(Option<PathBuf>),
    /// Shows the budgets.
    Budget,
    /// Says where the history is, or switches it.
    History(Option<bool>),
    /// Lists the commands.
    Help,
    /// Ends the shell.
    Quit,
}

/// A line without the end that statements have.
fn bare(line: &str) -> &str {
    line.trim().trim_end_matches(';').trim_end()
}

/// The command that a line without a backslash stands for, as other shells write it.
fn foreign(line: &str) -> Option<ShellCommand> {
    let words: Vec<&str> = bare(line).split_whitespace().collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    match lower.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["exit" | "quit"] => Some(ShellCommand::Quit),
        ["help" | "?"] => Some(ShellCommand::Help),
        ["show", "tables"] => Some(ShellCommand::Describe(None)),
        ["describe" | "desc", _] => {
            let name = words.last()?.trim_matches(['`', '"']);
            Some(ShellCommand::Describe(Some(name.to_owned())))
        }
        _ => None,
    }
}

/// The statement after `\explain` or `EXPLAIN`.
pub(super) fn explained(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace)?;
    (word == "\\explain" || word.eq_ignore_ascii_case("EXPLAIN")).then_some(rest)
}

/// Whether a line is a command, and no `\explain`, which a statement follows.
pub(super) fn is_command(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    (word.starts_with('\\') && word != "\\explain") || foreign(line).is_some()
}

/// Reads a line that is a command.
pub(super) fn parse(line: &str) -> Result<ShellCommand, Failure> {
    if let Some(command) = foreign(line) {
        return Ok(command);
    }
    let line = bare(line);
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = Some(argument.trim()).filter(|text| !text.is_empty());
    let switch = || match argument {
        None => Ok(None),
        Some("on") => Ok(Some(true)),
        Some("off") => Ok(Some(false)),
        Some(other) => Err(Failure::new(
            format!("{name} {other} is not valid: it must be on or off"),
            format!("{name} on"),
        )),
    };
    let alone = |command: ShellCommand| match argument {
        None => Ok(command),
        Some(other) => Err(Failure::new(
            format!("{name} takes no argument, but has `{other}`"),
            format!("write {name} by itself"),
        )),
    };
    match name {
        "\\d" => Ok(ShellCommand::Describe(argument.map(str::to_owned))),
        "\\dt" => alone(ShellCommand::Describe(None)),
        "\\auto" => Ok(ShellCommand::Auto(switch()?)),
        "\\intervals" => Ok(ShellCommand::Intervals(match argument {
            Some("off") => None,
            given => {
                let level = given.unwrap_or("95").parse::<Level>();
                let level =
                    level.map_err(|refusal| Failure::new(refusal.what, "\\intervals 95"))?;
                Some(IntervalRequest { level, simultaneous: false })
            }
        })),
        "\\o" => {
            let file = argument.map(PathBuf::from);
            match file.as_deref().filter(|path| by_extension(path).is_none()) {
                None => Ok(ShellCommand::Output(file)),
                Some(path) => Err(Failure::new(
                    format!("the name `{}` does not say which format to write", path.display()),
                    "end it in .csv, .json, .md, .html, .parquet or .xlsx",
                )),
            }
        }
        "\\budget" => alone(ShellCommand::Budget),
        "\\history" => Ok(ShellCommand::History(switch()?)),
        "\\help" | "\\h" | "\\?" => alone(ShellCommand::Help),
        "\\q" | "\\quit" => alone(ShellCommand::Quit),
        other => {
            let names: Vec<&str> = COMMANDS.iter().map(|(name, ..)| *name).collect();
            Err(Failure::new(
                format!("there is no command `{other}`"),
                format!("the commands are {}; \\help says more", names.join(" ")),
            ))
        }
    }
}

/// The commands, a line each.
pub(super) fn help() -> String {
    let mut text = String::from(
        "A statement ends with `;` and may have many lines. Its price is shown before it \
         is charged.\n",
    );
    for (name, argument, effect) in COMMANDS {
        let command = format!("{name} {argument}");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {command:<23}{effect}");
    }
    text += "SHOW TABLES, DESCRIBE TABLE, EXPLAIN SQL, help and exit do what other shells do.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_listed_is_known() {
        for (name, ..) in COMMANDS {
            // `\explain` is followed by a statement, which the shell takes as one.
            assert!(name == "\\explain" || parse(name).is_ok(), "{name}");
        }
        insta::assert_snapshot!(help());
    }

    #[test]
    fn words_of_other_shells_are_commands() {
        for (line, command) in [
            ("exit", ShellCommand::Quit),
            ("QUIT;", ShellCommand::Quit),
            (" help ", ShellCommand::Help),
            ("?", ShellCommand::Help),
            ("show tables;", ShellCommand::Describe(None)),
            ("\\dt", ShellCommand::Describe(None)),
            ("DESCRIBE visits;", ShellCommand::Describe(Some("visits".to_owned()))),
            ("desc `Visits`", ShellCommand::Describe(Some("Visits".to_owned()))),
        ] {
            assert!(is_command(line), "{line}");
            assert_eq!(parse(line).unwrap(), command, "{line}");
        }
        for line in
            ["SELECT 1;", "exit now", "EXPLAIN SELECT 1", "\\explain SELECT 1", "\\explain", ""]
        {
            assert!(!is_command(line), "{line}");
        }
        assert_eq!(explained("explain\nSELECT 1;"), Some("SELECT 1;"));
        assert_eq!(explained("EXPLAINED SELECT 1;"), None);
    }

    #[test]
    fn commands_are_read() {
        assert_eq!(
            parse("\\d visits;").unwrap(),
            ShellCommand::Describe(Some("visits".to_owned()))
        );
        assert_eq!(parse("  \\auto  on ").unwrap(), ShellCommand::Auto(Some(true)));
        assert_eq!(parse("\\intervals off").unwrap(), ShellCommand::Intervals(None));
        assert_eq!(parse("\\o").unwrap(), ShellCommand::Output(None));
        assert_eq!(parse("\\o a b.csv").unwrap(), ShellCommand::Output(Some("a b.csv".into())));
        let refusals = ["\\dd", "\\auto yes", "\\o x.txt", "\\q now", "\\intervals 120"];
        let refused = refusals.map(|line| parse(line).unwrap_err().to_string());
        insta::assert_snapshot!(refused.concat());
    }
}
