//! The command line of `hushtable ledger`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ContractArgument, TextOrJson};

const LEDGER_EXAMPLES: &str = "\
Examples:
  hushtable ledger check
  hushtable ledger backup backups/2026-05-01.ledger";

/// Check the ledger, or copy it while others use it
#[derive(Debug, Args)]
#[command(after_long_help = LEDGER_EXAMPLES)]
pub(crate) struct LedgerArguments {
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    Check(LedgerCheckArguments),
    Backup(LedgerBackupArguments),
}

const CHECK_EXAMPLES: &str = "\
Examples:
  hushtable ledger check
  hushtable ledger check --contract examples/shop/hushtable.toml --format json

Checks all pages of the file; that no charge is missing, changed or out of order; and that every \
release is as it was recorded. The exit code is 0 if the ledger is whole, and 1 if it is not. \
Queries check the charges, too, each time that they open the ledger.";

/// Check that the ledger is whole
#[derive(Debug, Args)]
#[command(after_long_help = CHECK_EXAMPLES)]
pub(crate) struct LedgerCheckArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextOrJson,
}

const BACKUP_EXAMPLES: &str = "\
Examples:
  hushtable ledger backup backups/2026-05-01.ledger
  hushtable ledger backup --contract examples/shop/hushtable.toml /mnt/backup/shop.ledger

The copy is the ledger of one moment, even if queries are charged meanwhile. It is checked, and \
only its owner can open it. An existing file is not replaced. To restore a copy, stop all queries \
and put it in the ledger's place. It does not know what was charged after it was made, so count \
that by hand.";

/// Copy the ledger to a new file, and check the copy
#[derive(Debug, Args)]
#[command(after_long_help = BACKUP_EXAMPLES)]
pub(crate) struct LedgerBackupArguments {
    #[command(flatten)]
    pub(crate) contract: ContractArgument,

    /// The new file; its folder must exist
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
