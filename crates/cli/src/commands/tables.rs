//! `hushtable tables` and `hushtable describe`.

use super::engine;
use crate::arguments::{DescribeArguments, ReportFormat, TablesArguments};
use crate::failure::Failure;
use crate::render::grid::visible;
use crate::render::tables;
use crate::stdio;

pub(crate) fn list(asked: &TablesArguments) -> Result<(), Failure> {
    let engine = engine(&asked.contract.path())?;
    let text = match asked.format {
        ReportFormat::Text => tables::list(engine.contract()),
        ReportFormat::Json => tables::list_json(engine.contract())?,
    };
    stdio::print(text.as_bytes())
}

pub(crate) fn describe(asked: &DescribeArguments) -> Result<(), Failure> {
    let engine = engine(&asked.contract.path())?;
    let contract = engine.contract();
    let Some(table) = contract.table(&asked.table) else {
        let names: Vec<String> = contract.tables.keys().map(|name| visible(name)).collect();
        return Err(Failure::new(
            format!("the contract has no table `{}`", asked.table),
            format!("its tables are {}", names.join(", ")),
        ));
    };
    let text = match asked.format {
        ReportFormat::Text => tables::describe(contract, table),
        ReportFormat::Json => tables::describe_json(contract, table)?,
    };
    stdio::print(text.as_bytes())
}
