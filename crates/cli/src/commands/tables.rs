//! `hushtable tables` and `hushtable describe`.

use super::engine;
use crate::arguments::{DescribeArguments, TablesArguments, TextOrJson};
use crate::failure::Failure;
use crate::render::tables;
use crate::stdio;

pub(crate) fn list(arguments: &TablesArguments) -> Result<(), Failure> {
    let engine = engine(&arguments.contract.path())?;
    let text = match arguments.format {
        TextOrJson::Text => tables::list(engine.contract()),
        TextOrJson::Json => tables::list_json(engine.contract())?,
    };
    stdio::print(text.as_bytes())
}

pub(crate) fn describe(arguments: &DescribeArguments) -> Result<(), Failure> {
    let engine = engine(&arguments.contract.path())?;
    let contract = engine.contract();
    let table = contract.named_table(&arguments.table)?;
    let text = match arguments.format {
        TextOrJson::Text => tables::describe(contract, table),
        TextOrJson::Json => tables::describe_json(contract, table)?,
    };
    stdio::print(text.as_bytes())
}
