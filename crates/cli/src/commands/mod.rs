//! What each command does.

pub(crate) mod assess;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod calc;
pub(crate) mod explain;
pub(crate) mod figures;
pub(crate) mod init;
pub(crate) mod local;
mod parse;
pub(crate) mod query;
mod usage;
