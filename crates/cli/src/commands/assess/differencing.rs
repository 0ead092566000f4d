//! `hushtable assess differencing`.

use hushtable_knowledge::KnowledgeError;

use super::parse::MOST;
use crate::arguments::AssessDifferencingArguments;
use crate::commands::parse::whole;
use crate::failure::Failure;
use crate::published::{Tables, divide, read};
use crate::render::differencing::DifferencingReport;

/// Cells that are named where they contradict each other.
const FEW: usize = 6;

pub(super) fn report(given: &AssessDifferencingArguments) -> Result<DifferencingReport, Failure> {
    let k = whole("k", &given.k, 1..=MOST, "5")?;
    let below = given.suppressed_below.as_ref();
    let below = below.map(|text| whole("suppressed-below", text, 1..=MOST, "5")).transpose()?;
    let tables = read(&given.tables, given.count.as_deref(), below)?;
    if tables.cells.is_empty() {
        return Err(Failure::new(
            "the tables have no rows",
            "a row for each combination of keys, with its count",
        ));
    }
    let divided = divide(&tables, given.complete)?;
    let found = divided.published.differences(k);
    let found = found.map_err(|error| contradiction(&error, &tables, given.complete))?;
    Ok(DifferencingReport { k, tables, divided, found, complete: given.complete, all: given.all })
}

fn contradiction(error: &KnowledgeError, tables: &Tables, complete: bool) -> Failure {
    let mut what = error.to_string();
    if let KnowledgeError::Contradiction { cells } = error {
        let named: Vec<String> = cells
            .iter()
            .take(FEW)
            .filter_map(|place| tables.cells.get(*place))
            .map(|cell| format!("{} [{}]", tables.names[cell.table], tables.describe(&cell.keys)))
            .collect();
        if !named.is_empty() {
            let more = if cells.len() > FEW { " and more" } else { "" };
            what = format!("{what}, as {}{more}", named.join(", "));
        }
    }
    let hint = if complete {
        "tables about the same records, by the same definitions; without --complete there may be values \
         that no table has"
    } else {
        "tables about the same records, by the same definitions, without noise or rounding"
    };
    Failure::new(what, hint)
}
