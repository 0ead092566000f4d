//! `hushtable explain`.

use hushtable::wait;

use super::engine;
use crate::arguments::{ExplainArguments, ReportFormat};
use crate::failure::Failure;
use crate::render::{explanation, quoted};
use crate::stdio;

pub(crate) fn run(asked: &ExplainArguments) -> Result<(), Failure> {
    let engine = engine(&asked.contract.contract)?;
    let sql = stdio::query(&asked.question.sql)?;
    if asked.plan {
        let plan = wait(engine.owner().plan(&sql))?;
        return stdio::print(plan.as_bytes());
    }
    let quote = wait(engine.analyst(asked.question.analyst.as_deref()).explain(&sql))?;
    let text = match asked.format {
        ReportFormat::Text => explanation::text(&quote),
        ReportFormat::Json => quoted::json(&quote)?,
    };
    stdio::print(text.as_bytes())
}
