//! Flags that do not go together in a way that clap's definitions cannot say.

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::arguments::Cli;
use crate::failure::Failure;

/// The failure, in clap's words.
pub(super) fn wrong_usage(group: &str, subcommand: &str, kind: ErrorKind, what: &str) -> Failure {
    let mut command = Cli::command();
    command.build();
    let group = command.find_subcommand_mut(group);
    Failure::Usage(Box::new(match group.and_then(|group| group.find_subcommand_mut(subcommand)) {
        Some(command) => command.error(kind, what),
        None => command.error(kind, what),
    }))
}
