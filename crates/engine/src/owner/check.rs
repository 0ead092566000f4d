//! How well a table fits its contract, and what a query's limits leave of it: for the owner of the
//! data alone. No part of the path of a query: nothing is charged, and nothing can be released.

mod advice;
mod columns;
mod forms;
mod query;
mod report;

use hushtable_contract::Table;
use hushtable_lang::Refusal;
use hushtable_noise::Generator;

use crate::bound::CountHistogram;
use crate::contributions::SamplingKey;
use crate::error::EngineError;
use crate::progress::Progress;
use crate::runtime::heavy;
use crate::session::Session;
pub use forms::{FormCount, Forms};
pub(crate) use query::rows;
pub use report::{
    Advice, CheckReport, ColumnCheck, ContributionLimit, CutOff, GroupsCheck, KeysCheck,
    QueryCheck, RangeCheck, Spread, TableCheck,
};

impl Session {
    /// Looks at the values of a table, or of all tables, and at what a query makes of them. Reads
    /// the data once, and once more for a query; charges nothing and writes nothing.
    ///
    /// # Errors
    /// When there is no such table, the query is refused or of another table, the data cannot be
    /// read, or there is no randomness.
    pub async fn check_data(
        &self,
        table: Option<&str>,
        sql: Option<&str>,
        progress: &Progress,
    ) -> Result<CheckReport, EngineError> {
        let key = SamplingKey::draw(&mut Generator::from_os()?)?;
        let session = heavy(|| self.as_analyst(sql.unwrap_or_default()))?;
        let checked = heavy(|| sql.map(|sql| session.check(sql)).transpose())?;
        let named = table.map(|name| self.contract().named_table(name)).transpose()?;
        let tables: Vec<&Table> = match (named, &checked) {
            (Some(table), Some(checked)) if !checked.data.contains_key(&table.name) => {
                let read: Vec<&str> = checked.data.keys().map(String::as_str).collect();
                return Err(EngineError::Refused(Refusal::new(
                    format!("the query reads `{}`, not `{}`", read.join(", "), table.name),
                    "leave the table out: the query names it",
                )));
            }
            (None, Some(checked)) => {
                let named = checked.data.keys().map(|name| self.contract().named_table(name));
                named.collect::<Result<_, _>>()?
            }
            (Some(table), _) => vec![table],
            (None, None) => self.contract().tables.values().collect(),
        };
        let read = |table: &&Table| {
            let identifying = self.contract().identifying(table);
            columns::read(table, &identifying, &self.data_of_one(table)?, progress)
        };
        let mut reports = heavy(|| tables.iter().map(read).collect::<Result<Vec<_>, _>>())?;
        if let Some(checked) = &checked {
            // The query's part of the report stands with the first table that holds units.
            let holds = |table: &&Table| table.population.is_some();
            let index = tables.iter().position(holds).unwrap_or(0);
            let report = reports.get_mut(index).ok_or(EngineError::inconsistent(
                "a checked query has no table whose report it can stand in",
            ))?;
            report.query = Some(query::read(checked, key, progress).await?);
        }
        for (table, report) in tables.iter().zip(&mut reports) {
            report.advice = advice::of(table, &self.contract().identifying(table), report);
        }
        Ok(CheckReport { tables: reports })
    }
}

fn spread(histogram: &CountHistogram) -> Spread {
    Spread {
        median: histogram.at(0.5),
        at_95: histogram.at(0.95),
        at_99: histogram.at(0.99),
        largest: histogram.at(1.0),
    }
}

#[cfg(test)]
mod tests;
