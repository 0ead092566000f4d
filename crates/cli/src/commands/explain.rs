//! `hushtable explain`.

use futures::executor::block_on;

use super::engine;
use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::render::quoted;
use crate::{sql_input, stdio};

pub(crate) fn run(arguments: &ExplainArguments) -> Result<(), Failure> {
    let engine = engine(&arguments.contract.path())?;
    let sql = sql_input::query(&arguments.question.sql, engine.contract())?;
    if arguments.plan {
        let plan = block_on(engine.owner().plan(&sql))?;
        return stdio::print(plan.as_bytes());
    }
    let analyst = engine.analyst(arguments.question.analyst().as_deref());
    let quote = block_on(analyst.explain(&sql))?;
    let text = quoted::in_format(&quote, arguments.format, arguments.verbose)?;
    stdio::print(text.as_bytes())
}
