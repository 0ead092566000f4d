//! `hushtable tables` and `hushtable describe`.

use hushtable::query::{Contract, Table};

use super::engine;
use crate::arguments::{DescribeArguments, TablesArguments, TextOrJson};
use crate::failure::Failure;
use crate::render::grid::visible;
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
    let table = named(contract, &arguments.table)?;
    let text = match arguments.format {
        TextOrJson::Text => tables::describe(contract, table),
        TextOrJson::Json => tables::describe_json(contract, table)?,
    };
    stdio::print(text.as_bytes())
}

/// The table of that name.
pub(super) fn named<'a>(contract: &'a Contract, name: &str) -> Result<&'a Table, Failure> {
    contract.table(name).ok_or_else(|| {
        let names: Vec<String> = contract.tables.keys().map(|name| visible(name)).collect();
        Failure::new(
            format!("there is no table `{name}`"),
            format!("the tables are {}", names.join(", ")),
        )
    })
}
