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

use hushtable::query::Refusal;
use hushtable::{Engine, MemoryLimit};

use crate::arguments::MemoryArgument;
use crate::failure::Failure;
use crate::pace;

/// The environment's setting of the memory that operators may hold.
const MEMORY: &str = "HUSHTABLE_MEMORY";

/// An engine with the memory that the option or the environment allows.
fn within(engine: Engine, argument: &MemoryArgument) -> Result<Engine, Failure> {
    let limit = match &argument.memory {
        Some(option) => Some(memory("--memory", option)?),
        None => memory_of_environment()?,
    };
    Ok(engine.within(limit)?)
}

fn memory(name: &str, text: &str) -> Result<MemoryLimit, Refusal> {
    text.parse::<MemoryLimit>()
        .map_err(|refusal| Refusal::new(format!("{name}: {}", refusal.what), refusal.hint))
}

/// The memory that the environment's `HUSHTABLE_MEMORY` allows, for other ways in.
///
/// # Errors
/// When the setting is no amount of memory.
pub fn memory_of_environment() -> Result<Option<MemoryLimit>, Refusal> {
    let setting = std::env::var_os(MEMORY).map(|text| text.to_string_lossy().into_owned());
    setting.map(|setting| memory(MEMORY, &setting)).transpose()
}

/// The engine of a contract; what its ledger says goes to standard error.
fn engine(contract: &Path) -> Result<Engine, Failure> {
    Ok(Engine::telling(contract, pace::tell)?)
}
