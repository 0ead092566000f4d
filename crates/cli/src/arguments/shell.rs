//! The command line of `hushtable shell`.

use clap::Args;

use super::{ContractArgument, MemoryArgument, PaceArguments};

const SHELL_EXAMPLES: &str = "\
Examples:
  hushtable shell
  hushtable shell --analyst ana --contract examples/shop/hushtable.toml
  hushtable shell --auto < questions.sql

A statement ends with `;` and may have many lines. Its price is shown, and nothing is charged \
before you say yes. Commands begin with a backslash; \\help lists them.

On a terminal, statements are kept in a history file that only you can read: HUSHTABLE_HISTORY, or \
hushtable/history in your state folder (~/.local/state). It holds your SQL and no answers. \
\\history off stops it, and HUSHTABLE_HISTORY=off does so for good.";

/// Ask queries interactively; each shows its price before it is charged
#[derive(Debug, Args)]
#[command(after_long_help = SHELL_EXAMPLES)]
pub(crate) struct ShellArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    #[command(flatten)]
    pub(crate) memory: MemoryArgument,

    /// The analyst who asks and pays [default: HUSHTABLE_ANALYST, or the only one with a budget]
    #[arg(long, value_name = "NAME")]
    pub(crate) analyst: Option<String>,

    /// Charge without asking first, like the shell's command \auto
    #[arg(long)]
    pub(crate) auto: bool,

    #[command(flatten)]
    pub(crate) pace: PaceArguments,
}
