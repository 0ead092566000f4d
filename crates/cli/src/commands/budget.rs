//! `hushtable budget`.

use hushtable_engine::Session;

use crate::arguments::{BudgetArguments, ReportFormat};
use crate::failure::Failure;
use crate::render::budget;
use crate::stdio;

pub(crate) fn run(asked: &BudgetArguments) -> Result<(), Failure> {
    let lines = Session::open(&asked.contract.contract)?.budget()?;
    let text = match asked.format {
        ReportFormat::Text => budget::text(&lines),
        ReportFormat::Json => budget::json(&lines)?,
    };
    stdio::print(text.as_bytes())
}
