//! `hushtable assess differencing`.

use hushtable::published::{differences, divide, read};

use super::parse::MOST;
use crate::arguments::AssessDifferencingArguments;
use crate::failure::Failure;
use crate::given_numbers::whole;
use crate::render::differencing::DifferencingReport;

pub(super) fn report(given: &AssessDifferencingArguments) -> Result<DifferencingReport, Failure> {
    let k = whole("k", &given.k, 1..=MOST, "5")?;
    let below = given.suppressed_below.as_ref();
    let below = below.map(|text| whole("suppressed-below", text, 1..=MOST, "5")).transpose()?;
    let tables = read(&given.tables, given.count.as_deref(), below)?;
    if tables.cells.is_empty() {
        return Err(Failure::new(
            "the tables have no rows",
            "write a row for each combination of keys, with its count",
        ));
    }
    let divided = divide(&tables, given.complete)?;
    let findings = differences(&tables, &divided, k, given.complete)?;
    Ok(DifferencingReport {
        k,
        tables,
        divided,
        findings,
        complete: given.complete,
        all: given.all,
    })
}
