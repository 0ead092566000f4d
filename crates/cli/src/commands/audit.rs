//! `hushtable audit`.

use futures::executor::block_on;
use hushtable::{AuditOptions, Progress};

use super::{engine, within};
use crate::arguments::{AuditArguments, TextOrJson};
use crate::failure::Failure;
use crate::progress::watched;
use crate::render::audit;
use crate::{given_numbers, sql_input, stdio};

pub(crate) fn run(arguments: &AuditArguments) -> Result<(), Failure> {
    let confidence_range = "a number from 0.5 to 0.999999999";
    let (range, example) = (AuditOptions::CONFIDENCE, "0.999");
    let options = AuditOptions {
        runs: given_numbers::whole("runs", &arguments.runs, AuditOptions::RUNS, "200000")?,
        units: given_numbers::whole("units", &arguments.units, AuditOptions::UNITS, "3")?,
        confidence: given_numbers::real(
            "confidence",
            &arguments.confidence,
            range,
            confidence_range,
            example,
        )?,
        delta: match &arguments.delta {
            Some(text) => Some(given_numbers::amount("delta", text, "1e-5")?),
            None => None,
        },
    };
    let owner = within(engine(&arguments.contract.path())?, &arguments.memory)?.owner();
    let sql = sql_input::query(&arguments.sql, owner.contract())?;
    let progress = Progress::default();
    let report =
        watched("auditing", &progress, || block_on(owner.audit(&sql, &options, &progress)))?;
    let text = match arguments.format {
        TextOrJson::Text => audit::text(&report),
        TextOrJson::Json => audit::json(&report)?,
    };
    ended(stdio::print(text.as_bytes()), report.violation)
}

/// The exit code reports a violation, too, for those who do not read on.
fn ended(printed: Result<(), Failure>, violation: bool) -> Result<(), Failure> {
    match printed {
        Ok(()) | Err(Failure::ClosedPipe) if violation => Err(Failure::Violation),
        printed => printed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_an_end_of_its_own() {
        assert!(matches!(ended(Ok(()), false), Ok(())));
        assert!(matches!(ended(Ok(()), true), Err(Failure::Violation)));
        assert!(matches!(ended(Err(Failure::ClosedPipe), true), Err(Failure::Violation)));
        let full = || Err(Failure::new("full", "empty it"));
        assert!(matches!(ended(full(), true), Err(Failure::Error { .. })));
    }
}
