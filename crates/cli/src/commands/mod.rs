//! The work of each command.

pub(crate) mod assess;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod calc;
mod chart;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod init;
pub(crate) mod ledger;
pub(crate) mod local;
pub(crate) mod losses;
pub(crate) mod parse;
pub(crate) mod query;
pub(crate) mod release;
pub(crate) mod tables;
mod usage;

use std::path::Path;

use hushtable::{Engine, MemoryLimit};

use crate::arguments::MemoryArgument;
use crate::failure::Failure;
use crate::pace;

/// The environment's setting of the memory that operators may hold.
const MEMORY: &str = "HUSHTABLE_MEMORY";

/// An engine with the memory that the option or the environment allows.
fn within(engine: Engine, asked: &MemoryArgument) -> Result<Engine, Failure> {
    let setting = std::env::var_os(MEMORY).map(|text| text.to_string_lossy().into_owned());
    let limit = match (&asked.memory, &setting) {
        (Some(option), _) => Some(option.parse::<MemoryLimit>().map_err(|text| ("--memory", text))),
        (None, Some(setting)) => Some(setting.parse().map_err(|text| (MEMORY, text))),
        (None, None) => None,
    };
    let limit = limit.transpose().map_err(|(name, text): (_, String)| {
        let (what, hint) = text.split_once("\n  hint: ").unwrap_or((&text, "4GiB"));
        Failure::new(format!("{name}: {what}"), hint)
    })?;
    Ok(engine.within(limit)?)
}

/// The engine of a contract; what its ledger says goes to standard error.
fn engine(contract: &Path) -> Result<Engine, Failure> {
    Ok(Engine::telling(contract, pace::teller())?)
}
