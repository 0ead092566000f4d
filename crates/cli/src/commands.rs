//! The work of each command.

pub(crate) mod assess;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod calc;
mod charges;
mod chart;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod init;
mod interview;
pub(crate) mod learn;
pub(crate) mod ledger;
pub(crate) mod local;
pub(crate) mod losses;
mod note_file;
pub(crate) mod query;
pub(crate) mod release;
pub(crate) mod shell;
pub(crate) mod summary;
pub(crate) mod tables;
pub(crate) mod tune;
mod usage;

use std::path::Path;

use hushtable::{Engine, MemoryLimit};

use crate::arguments::MemoryArgument;
use crate::failure::Failure;
use crate::pace;

/// The environment's setting of the memory that operators may hold.
const MEMORY: &str = "HUSHTABLE_MEMORY";

/// An engine with the memory that the option or the environment allows.
fn within(engine: Engine, argument: &MemoryArgument) -> Result<Engine, Failure> {
    let setting = std::env::var_os(MEMORY).map(|text| text.to_string_lossy().into_owned());
    let source = match (&argument.memory, &setting) {
        (Some(option), _) => Some(("--memory", option)),
        (None, setting) => setting.as_ref().map(|setting| (MEMORY, setting)),
    };
    let limit = source.map(|(name, text)| {
        text.parse::<MemoryLimit>()
            .map_err(|refusal| Failure::new(format!("{name}: {}", refusal.what), refusal.hint))
    });
    let limit = limit.transpose()?;
    Ok(engine.within(limit)?)
}

/// The engine of a contract; what its ledger says goes to standard error.
fn engine(contract: &Path) -> Result<Engine, Failure> {
    Ok(Engine::telling(contract, pace::tell)?)
}
