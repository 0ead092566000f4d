//! `hushtable check`.

use futures::executor::block_on;
use hushtable::{Engine, Progress};

use super::{engine, within};
use crate::arguments::{CheckArguments, TextOrJson};
use crate::failure::Failure;
use crate::progress::watched;
use crate::render::check;
use crate::{sql_input, stdio};

pub(crate) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let engine = within(engine(&arguments.contract.path())?, &arguments.memory)?;
    let (table, sql) = match (arguments.table.as_deref(), arguments.sql.as_deref()) {
        (Some(only), None) if is_query(&engine, only) => (None, Some(only)),
        both => both,
    };
    let sql = sql_input::optional_query(sql, &arguments.more, engine.contract())?;
    let progress = Progress::default();
    let report = watched("checking", &progress, || {
        block_on(engine.owner().check(table, sql.as_deref(), &progress))
    })?;
    let text = match arguments.format {
        TextOrJson::Text => check::text(&report),
        TextOrJson::Json => check::json(&report)?,
    };
    stdio::print(text.as_bytes())
}

/// Whether what stands alone is a query and not a table: its name would have no blanks, or be
/// declared.
fn is_query(engine: &Engine, text: &str) -> bool {
    let blank = text.trim().contains(char::is_whitespace);
    engine.contract().table(text).is_none() && (text == "-" || blank)
}
