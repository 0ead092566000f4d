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

use hushtable_engine::{Session, runtime};

use crate::failure::Failure;
use crate::stdio;

/// Waits for the engine.
fn wait<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<T, Failure>
where
    Failure: From<E>,
{
    Ok(runtime()?.block_on(work)?)
}

/// The contract's session, for commands that open the ledger: what that says goes to standard
/// error.
fn session(contract: &Path) -> Result<Session, Failure> {
    Ok(Session::open(contract)?.telling(|notice| stdio::note(&format!("{notice}\n"))))
}
