//! `hushtable budget`.

use hushtable::privacy::Delta;
use hushtable::wait;

use super::engine;
use crate::arguments::{BudgetArguments, ReportFormat};
use crate::failure::Failure;
use crate::given_numbers::amount;
use crate::render::budget;
use crate::stdio;

pub(crate) fn run(asked: &BudgetArguments) -> Result<(), Failure> {
    let delta = asked.delta.as_ref().map(|text| amount::<Delta>("delta", text, "1e-6"));
    let lines = wait(engine(&asked.contract.path())?.owner().budgets(delta.transpose()?))?;
    let text = match asked.format {
        ReportFormat::Text => budget::text(&lines),
        ReportFormat::Json => budget::json(&lines)?,
    };
    stdio::print(text.as_bytes())
}
