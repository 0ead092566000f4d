//! Bounds that an analyst has on record, as if the contract had them.
//!
//! Each is found under the identity of its column, whatever the data were. Of several records one
//! of the present data counts, then one with less noise, then a newer one. Nothing is computed but
//! from what is on record for the account of the analyst who asks: what others have paid for is
//! theirs.

use std::sync::Arc;

use hushtable_contract::{Column, Contract, LearntBounds, Population, Table};
use hushtable_ledger::{Fingerprint, Ledger, StoredRelease};
use hushtable_plan::Learning;
use hushtable_quote::{Quote, learnt_bounds};

use crate::error::EngineError;
use crate::record::{decode, fingerprint};
use crate::released_sizes::released_sizes;
use crate::session::{Session, payer};

/// Raised with every change of what a record of bounds is, or of where it is found.
const LEARNT_FORMAT: u32 = 1;

/// Names a column in the ledger: its table, and how its values are read.
pub(crate) fn column_identity(
    population: &Population,
    table: &Table,
    column: &Column,
) -> Result<String, EngineError> {
    let Column { name, column_type, expression, not_null, .. } = column;
    let identity = (
        "learnt bounds",
        LEARNT_FORMAT,
        population.neighbouring,
        &table.name,
        &table.unit,
        &table.csv,
        (name, column_type, expression, not_null),
    );
    let bytes = serde_json::to_vec(&identity)
        .map_err(|_| EngineError::inconsistent("a column cannot be written as JSON"))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

/// The identity that all records of a column's bounds share, of whatever data.
pub(crate) fn column_family(identity: &str) -> Fingerprint {
    Fingerprint::new(*blake3::hash(identity.as_bytes()).as_bytes())
}

/// The identity of a part of a question that bounds are learnt from.
pub(crate) fn identity_of_part(
    session: &Session,
    learning: &Learning,
    part: usize,
) -> Result<String, EngineError> {
    let contract = session.contract();
    let table = contract.table(&learning.table);
    let column =
        learning.columns.get(part).zip(table).and_then(|(name, table)| {
            Some((contract.population(table)?, table, table.column(name)?))
        });
    let (population, table, column) = column
        .ok_or(EngineError::inconsistent("a column that is learnt is not in the contract"))?;
    column_identity(population, table, column)
}

impl Session {
    /// This session with the bounds that the analyst has on record for the columns that a text
    /// may read.
    ///
    /// # Errors
    /// When the ledger or a record in it cannot be read.
    pub(crate) fn with_learnt(
        self: &Arc<Self>,
        analyst: Option<&str>,
        text: &str,
    ) -> Result<Arc<Self>, EngineError> {
        Ok(match self.contract_with_learnt(analyst, text)? {
            Some(contract) => Arc::new(Self::clone(self).with_contract(contract)),
            None => Arc::clone(self),
        })
    }

    /// This session for an owner's reading of a text, as the analyst would ask it who alone has
    /// budgets on its tables. Where there are several, each has bounds of their own, and none of
    /// them are known here.
    ///
    /// # Errors
    /// Those of [`with_learnt`](Self::with_learnt).
    pub(crate) fn as_analyst(&self, text: &str) -> Result<Self, EngineError> {
        let contract = self.contract_with_learnt(None, text)?;
        Ok(match contract {
            Some(contract) => self.clone().with_contract(contract),
            None => self.clone(),
        })
    }

    /// The contract with bounds that the analyst has on record; `None` where there are none.
    fn contract_with_learnt(
        &self,
        analyst: Option<&str>,
        text: &str,
    ) -> Result<Option<Contract>, EngineError> {
        let text = text.to_lowercase();
        let named = |name: &str| text.contains(&name.to_lowercase());
        let tables = self.contract().tables.values().filter(|table| named(&table.name));
        // Most questions need no such bounds, and for them the ledger is not read here.
        let tables: Vec<&Table> = tables
            .filter(|table| table.columns.iter().any(|c| table.can_learn(c) && named(&c.name)))
            .collect();
        let mut all = Vec::new();
        for table in tables {
            all.extend(self.learnt_of(table, analyst)?);
        }
        if all.is_empty() {
            return Ok(None);
        }
        let mut contract = self.contract().clone();
        for bounds in all {
            let table = contract.tables.get_mut(&bounds.table);
            let mut columns = table.into_iter().flat_map(|table| table.columns.iter_mut());
            if let Some(column) = columns.find(|column| column.name == bounds.column) {
                column.learnt = Some(bounds);
            }
        }
        Ok(Some(contract))
    }

    /// The bounds of a table's columns that an analyst has on record.
    ///
    /// # Errors
    /// When the ledger or a record in it cannot be read.
    pub fn learnt_of(
        &self,
        table: &Table,
        analyst: Option<&str>,
    ) -> Result<Vec<LearntBounds>, EngineError> {
        let Some(population) = self.contract().population(table) else { return Ok(Vec::new()) };
        // Whoever cannot ask has learnt nothing: where the question is priced, it is refused.
        let Ok((analyst, _)) = payer(population, analyst) else { return Ok(Vec::new()) };
        let Some(ledger) = self.ledger_in_silence()? else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for column in table.columns.iter().filter(|column| table.can_learn(column)) {
            all.extend(self.best_learnt(&*ledger, (population, &analyst), table, column)?);
        }
        Ok(all)
    }

    /// The bounds of a column by the best record of them.
    fn best_learnt(
        &self,
        ledger: &dyn Ledger,
        (population, analyst): (&Population, &str),
        table: &Table,
        column: &Column,
    ) -> Result<Option<LearntBounds>, EngineError> {
        let family = column_family(&column_identity(population, table, column)?);
        let mut best: Option<(LearntBounds, f64)> = None;
        for stored in ledger.related(analyst, &population.name, &family)? {
            let next = self.learnt_by(ledger, (population, analyst), (table, column), &stored)?;
            let is_better = best.as_ref().is_none_or(|(bounds, deviation)| {
                match (bounds.of_earlier_data, next.0.of_earlier_data) {
                    (true, false) => true,
                    (false, true) => false,
                    _ => next.1 <= *deviation,
                }
            });
            if is_better {
                best = Some(next);
            }
        }
        Ok(best.map(|(bounds, _)| bounds))
    }

    /// The bounds by one record, and the standard deviation of its noise.
    fn learnt_by(
        &self,
        ledger: &dyn Ledger,
        (population, analyst): (&Population, &str),
        (table, column): (&Table, &Column),
        stored: &StoredRelease,
    ) -> Result<(LearntBounds, f64), EngineError> {
        let recorded = decode(&stored.release)?;
        let query = &recorded.statement.query;
        let columns = query.columns_in(query).map_err(|_| EngineError::Record)?;
        let shown = recorded.groups.shown(query, &columns.ok_or(EngineError::Record)?)?;
        let deviation = Quote::new(query.clone())?
            .deviation(0)
            .ok_or(EngineError::inconsistent("a histogram on record has no standard deviation"))?;
        let sizes = released_sizes(&shown.table)?;
        let (low, high, is_sure) = learnt_bounds(column, &sizes, deviation)?;
        // Files that are not there any more are others.
        let is_of_now = match self.data_of_query(query) {
            Ok(data) => {
                let identity = fingerprint(analyst, &recorded.statement.question, &data)?;
                let now = ledger.stored(analyst, &population.name, &identity)?;
                now.is_some_and(|now| now.charge_id == stored.charge_id)
            }
            Err(_) => false,
        };
        let bounds = LearntBounds {
            table: table.name.clone(),
            column: column.name.clone(),
            low,
            high,
            paid: recorded.statement.explanation.total,
            released_at: recorded.statement.released_at,
            of_earlier_data: !is_of_now,
            is_sure,
        };
        Ok((bounds, deviation))
    }
}
