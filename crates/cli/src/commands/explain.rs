//! `hushtable explain`.

use hushtable::wait;

use super::engine;
use crate::arguments::{ExplainArguments, ReportFormat};
use crate::failure::Failure;
use crate::render::{explanation, page, parts, quoted};
use crate::stdio;

pub(crate) fn run(asked: &ExplainArguments) -> Result<(), Failure> {
    let engine = engine(&asked.contract.path())?;
    let sql = stdio::query(&asked.question.sql)?;
    if asked.plan {
        let plan = wait(engine.owner().plan(&sql))?;
        return stdio::print(plan.as_bytes());
    }
    let analyst = engine.analyst(asked.question.analyst().as_deref());
    let text = if wait(analyst.is_plain(&sql))? {
        let quote = wait(analyst.explain(&sql))?;
        match asked.format {
            ReportFormat::Text if asked.verbose => explanation::text(&quote),
            ReportFormat::Text => page::text(&quote),
            ReportFormat::Json => quoted::json(&quote)?,
        }
    } else {
        let quote = wait(analyst.explain_parts(&sql))?;
        match asked.format {
            ReportFormat::Text => parts::text(&quote, asked.verbose),
            ReportFormat::Json => parts::json(&quote)?,
        }
    };
    stdio::print(text.as_bytes())
}
