//! `hushtable explain`.

use hushtable::{Priced, wait};

use super::engine;
use crate::arguments::{ExplainArguments, ReportFormat};
use crate::failure::Failure;
use crate::render::{explanation, page, parts, quoted};
use crate::{sql_input, stdio};

pub(crate) fn run(arguments: &ExplainArguments) -> Result<(), Failure> {
    let engine = engine(&arguments.contract.path())?;
    let sql = sql_input::query(&arguments.question.sql, engine.contract())?;
    if arguments.plan {
        let plan = wait(engine.owner().plan(&sql))?;
        return stdio::print(plan.as_bytes());
    }
    let analyst = engine.analyst(arguments.question.analyst().as_deref());
    let text = match (wait(analyst.price(&sql))?, arguments.format) {
        (Priced::Query(quote), ReportFormat::Text) if arguments.verbose => {
            explanation::text(&quote)
        }
        (Priced::Query(quote), ReportFormat::Text) => page::text(&quote),
        (Priced::Query(quote), ReportFormat::Json) => quoted::json(&quote)?,
        (Priced::Statement(quote), ReportFormat::Text) => parts::text(&quote, arguments.verbose),
        (Priced::Statement(quote), ReportFormat::Json) => parts::json(&quote)?,
    };
    stdio::print(text.as_bytes())
}
