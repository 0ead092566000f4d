//! The command line of `hushtable generate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  hushtable generate completions bash > \\
      ~/.local/share/bash-completion/completions/hushtable
  hushtable generate man --out ~/.local/share/man/man1
  hushtable generate reference > commands.md
  hushtable generate schema > hushtable.schema.json";

/// Write completions for a shell, man pages, a page of all commands, or the schema of contracts
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct GenerateArguments {
    #[command(subcommand)]
    pub(crate) what: GenerateCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Write completions for a shell to standard output
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write a man page for each command to a folder
    Man {
        /// The folder, which is created if it is missing; files of the same names are replaced
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Write the help of every command to standard output, as a page in Markdown
    Reference,
    /// Write the JSON schema of contracts to standard output, for editors that check and complete
    /// them
    Schema,
}
