//! `hushtable ledger`.

use hushtable::ledger::LedgerError;
use hushtable::wait;

use super::engine;
use crate::arguments::{
    LedgerArguments, LedgerBackupArguments, LedgerCheckArguments, LedgerCommand, ReportFormat,
};
use crate::failure::Failure;
use crate::render::grid::visible;
use crate::render::{ledger, pretty_json};
use crate::stdio;

pub(crate) fn run(asked: &LedgerArguments) -> Result<(), Failure> {
    match &asked.command {
        LedgerCommand::Check(asked) => checked(asked),
        LedgerCommand::Backup(asked) => copied(asked),
    }
}

fn checked(asked: &LedgerCheckArguments) -> Result<(), Failure> {
    let engine = engine(&asked.contract.path())?;
    let found = wait(engine.owner().ledger_check())?;
    let text = match asked.format {
        ReportFormat::Text => ledger::text(&found),
        ReportFormat::Json => pretty_json(&found)?,
    };
    stdio::print(text.as_bytes())?;
    for warning in &found.warnings {
        stdio::note(&format!("{warning}\n"));
    }
    match found.problems.first() {
        None => Ok(()),
        Some(first) => {
            let (path, detail) = (found.path.clone(), first.clone());
            Err(LedgerError::Damaged { path, detail }.into())
        }
    }
}

fn copied(asked: &LedgerBackupArguments) -> Result<(), Failure> {
    let engine = engine(&asked.contract.path())?;
    // Not among the data: a copy would become data.
    engine.protected().pending(&asked.file).map(drop)?;
    let copy = wait(engine.owner().ledger_backup(&asked.file))?;
    let path = visible(&copy.path.display().to_string());
    stdio::note(&format!("the copy {path} is in order: {}\n", ledger::contents(&copy)));
    Ok(())
}
