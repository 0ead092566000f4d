//! `hushtable ledger`.

use futures::executor::block_on;
use hushtable::ledger::LedgerError;

use super::engine;
use crate::arguments::{
    LedgerArguments, LedgerBackupArguments, LedgerCheckArguments, LedgerCommand, TextOrJson,
};
use crate::failure::Failure;
use crate::render::grid::visible;
use crate::render::{ledger, pretty_json};
use crate::stdio;

pub(crate) fn run(arguments: &LedgerArguments) -> Result<(), Failure> {
    match &arguments.command {
        LedgerCommand::Check(arguments) => check(arguments),
        LedgerCommand::Backup(arguments) => back_up(arguments),
    }
}

fn check(arguments: &LedgerCheckArguments) -> Result<(), Failure> {
    let engine = engine(&arguments.contract.path())?;
    let report = block_on(engine.owner().ledger_check())?;
    let text = match arguments.format {
        TextOrJson::Text => ledger::text(&report),
        TextOrJson::Json => pretty_json(&report)?,
    };
    stdio::print(text.as_bytes())?;
    for warning in &report.warnings {
        stdio::note(&format!("{warning}\n"));
    }
    match report.problems.first() {
        None => Ok(()),
        Some(first) => {
            let (path, detail) = (report.path.clone(), first.clone());
            Err(LedgerError::Damaged { path, detail }.into())
        }
    }
}

fn back_up(arguments: &LedgerBackupArguments) -> Result<(), Failure> {
    let engine = engine(&arguments.contract.path())?;
    // Not among the data: a copy would become data.
    engine.protected().pending(&arguments.file).map(drop)?;
    let copy = block_on(engine.owner().ledger_backup(&arguments.file))?;
    let path = visible(&copy.path.display().to_string());
    stdio::note(&format!("the copy {path} is in order: {}\n", ledger::contents(&copy)));
    Ok(())
}
