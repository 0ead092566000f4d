//! What each command does.

pub(crate) mod budget;
pub(crate) mod calc;
pub(crate) mod explain;
pub(crate) mod init;
pub(crate) mod local;
pub(crate) mod query;
