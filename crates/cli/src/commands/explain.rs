//! `hushtable explain`.

use hushtable::{Priced, wait};

use super::engine;
use crate::arguments::{ExplainArguments, ReportFormat};
use crate::failure::Failure;
use crate::render::{explanation, page, parts, quoted};
use crate::{sql_input, stdio};

pub(crate) fn run(asked: &ExplainArguments) -> Result<(), Failure> {
    let engine = engine(&asked.contract.path())?;
    let sql = sql_input::query(&asked.question.sql, engine.contract())?;
    if asked.plan {
        let plan = wait(engine.owner().plan(&sql))?;
        return stdio::print(plan.as_bytes());
    }
    let analyst = engine.analyst(asked.question.analyst().as_deref());
    let text = match (wait(analyst.price(&sql))?, asked.format) {
        (Priced::Query(quote), ReportFormat::Text) if asked.verbose => explanation::text(&quote),
        (Priced::Query(quote), ReportFormat::Text) => page::text(&quote),
        (Priced::Query(quote), ReportFormat::Json) => quoted::json(&quote)?,
        (Priced::Statement(quote), ReportFormat::Text) => parts::text(&quote, asked.verbose),
        (Priced::Statement(quote), ReportFormat::Json) => parts::json(&quote)?,
    };
    stdio::print(text.as_bytes())
}
