//! What was charged to whom, and what it comes to.

use hushtable_ledger::{Account, ChargeRecord, Ledger};
use hushtable_privacy::{Composition, Delta, Epsilon, Event, Loss, Odometer, Rho};

use crate::error::EngineError;
use crate::session::Session;

/// One analyst's budget on one table.
#[derive(Clone, Debug)]
pub struct BudgetLine {
    /// The analyst.
    pub analyst: String,
    /// The table.
    pub table: String,
    /// Total, spent and left.
    pub account: Account,
    /// The charges, oldest first.
    pub charges: Vec<ChargeRecord>,
    /// The tightest epsilon that is known to hold for all charges together, at a delta.
    pub together: Together,
    /// Whether the table has columns with `split`: then all of this is about a record at the thresholds, and
    /// larger ones may lose more.
    pub per_record: bool,
}

/// What all charges to a budget come to, as an (epsilon, delta) promise.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    /// The delta that was asked for.
    pub delta: Delta,
    /// If what each question would cost was fixed before the first was answered (the questions
    /// themselves may depend on answers). `None` where no epsilon holds: the charges' own deltas are
    /// above the delta, or the epsilon is too large to be kept.
    pub fixed: Option<Epsilon>,
    /// Whatever depends on answers: with this delta as the probability that the loss was ever above it.
    /// `None` as before.
    pub adaptive: Option<Epsilon>,
}

impl Together {
    fn of(charges: &[ChargeRecord], limit: Loss, delta: Delta) -> Self {
        let events = || charges.iter().flat_map(|charge| &charge.events);
        let mut all = Composition::default();
        let fits = events().all(|event| all.add(event, 1).is_ok());
        let fixed = if fits { all.epsilon_at(delta) } else { None };
        let own = events().try_fold(Delta::ZERO, |sum, event| {
            let delta = match event {
                Event::Approximate { delta, .. } | Event::Concentrated { delta, .. } => *delta,
                _ => Delta::ZERO,
            };
            sum.checked_add(delta)
        });
        let rho = match limit.in_rho() {
            Ok(Loss::Concentrated { rho, .. }) => rho,
            _ => Rho::ZERO,
        };
        // What the charges' deltas leave is the chance that the bound fails.
        let adaptive = own.and_then(|own| {
            let mut odometer = Odometer::new(delta.checked_sub(own)?, own, rho).ok()?;
            events().all(|event| odometer.record(event, 1).is_ok()).then_some(())?;
            odometer.epsilon()
        });
        Self { delta, fixed, adaptive }
    }
}

impl Session {
    /// Every budget of the contract, with what its charges come to at `delta`: by default the
    /// budget's own, or 1e-6 where that is zero. Changes no file.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn budget(&self, delta: Option<Delta>) -> Result<Vec<BudgetLine>, EngineError> {
        let small = Delta::from_units(1_000_000_000_000).unwrap_or(Delta::ZERO);
        let ledger = Ledger::open_read_only(&self.ledger_path())?;
        let charges = ledger.as_ref().map(Ledger::charges).transpose()?.unwrap_or_default();
        let mut lines = Vec::new();
        for table in self.contract().tables.values() {
            for (analyst, &limit) in &table.budgets {
                let account = match &ledger {
                    Some(ledger) => ledger.account(analyst, &table.name, limit)?,
                    None => Account::untouched(limit),
                };
                let own = charges.iter().filter(|c| c.analyst == *analyst && c.table == table.name);
                let own: Vec<ChargeRecord> = own.cloned().collect();
                let usual = if limit.delta().is_zero() { small } else { limit.delta() };
                lines.push(BudgetLine {
                    analyst: analyst.clone(),
                    table: table.name.clone(),
                    account,
                    together: Together::of(&own, limit, delta.unwrap_or(usual)),
                    charges: own,
                    per_record: table.columns.iter().any(|column| column.split.is_some()),
                });
            }
        }
        Ok(lines)
    }
}
