//! `hushtable tune`.

use futures::executor::block_on;
use hushtable::Progress;

use super::losses::opened;
use crate::arguments::{TextOrJson, TuneArguments};
use crate::failure::Failure;
use crate::progress::watched;
use crate::render::tune;
use crate::{sql_input, stdio};

pub(crate) fn run(arguments: &TuneArguments) -> Result<(), Failure> {
    let (owner, plot) = opened(&arguments.contract, &arguments.memory, arguments.plot.as_deref())?;
    let sql = sql_input::query(&arguments.sql, owner.contract())?;
    let progress = Progress::default();
    let report = watched("reading", &progress, || block_on(owner.tune(&sql, &progress)))?;
    let text = match arguments.format {
        TextOrJson::Text => tune::text(&report),
        TextOrJson::Json => tune::json(&report)?,
    };
    stdio::print(text.as_bytes())?;
    plot.map_or(Ok(()), |file| file.write(&tune::chart(&report)))
}
