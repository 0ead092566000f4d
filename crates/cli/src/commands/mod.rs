//! What each command does.

pub(crate) mod assess;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod calc;
mod chart;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod figures;
pub(crate) mod init;
pub(crate) mod ledger;
pub(crate) mod local;
pub(crate) mod losses;
pub(crate) mod parse;
pub(crate) mod query;
pub(crate) mod release;
mod usage;

use std::path::Path;

use hushtable::Engine;

use crate::failure::Failure;
use crate::pace;

/// The engine of a contract; what its ledger says goes to standard error.
fn engine(contract: &Path) -> Result<Engine, Failure> {
    Ok(Engine::telling(contract, pace::teller())?)
}
