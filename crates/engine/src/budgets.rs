//! Charges of each analyst, and the loss of all together.

use std::collections::BTreeMap;

use hushtable_ledger::{Account, ChargeRecord, LedgerError};
use hushtable_privacy::{Composition, Delta, Epsilon, Loss, Odometer, Rho};

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
    /// Whether the table has columns with `split`: then all of this is about a record at the
    /// thresholds, and larger ones may lose more.
    pub per_record: bool,
}

/// An account of the ledger that the contract does not name.
#[derive(Clone, Debug)]
pub struct OtherAccount {
    /// The analyst.
    pub analyst: String,
    /// The population, by its name when it was charged.
    pub table: String,
    /// Whether the contract says that it is closed. If not, no query is answered.
    pub retired: bool,
    /// The sum of its charges, in epsilon, in rho or in both.
    pub spent: Vec<Loss>,
    /// The charges, oldest first.
    pub charges: Vec<ChargeRecord>,
}

/// The total of all charges to a budget, as (epsilon, delta) promises.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    /// The delta of [`fixed`](Self::fixed).
    pub delta: Delta,
    /// If what each question would cost was fixed before the first was answered (the questions
    /// themselves may depend on answers). `None` where no epsilon holds: the charges' own deltas
    /// are above the delta, or the epsilon is too large to be kept.
    pub fixed: Option<Epsilon>,
    /// The delta of [`adaptive`](Self::adaptive): that which was asked for, or twice the budget's,
    /// half of which is room for all deltas that the budget can be charged.
    pub delta_at_all_times: Delta,
    /// Whatever depends on answers: what an [`Odometer`] of that delta reads. `None` where the
    /// charges' own deltas are above half of it, or the epsilon is too large to be kept.
    pub adaptive: Option<Epsilon>,
}

/// The rho at which odometers are tightest. From a tenth of it to a thousand times it, readings are
/// within a tenth of those of an odometer that is tightest there. It is the same for all budgets,
/// so that nothing of a reading depends on a limit, which the owner may change in view of answers.
fn near() -> Rho {
    Rho::from_units(Rho::units_per_one() / 100).unwrap_or(Rho::ZERO)
}

impl Together {
    fn of(charges: &[ChargeRecord], delta: Delta, delta_at_all_times: Delta) -> Self {
        let events = || charges.iter().flat_map(|charge| &charge.events);
        let mut all = Composition::default();
        let fits = events().all(|event| all.add(event, 1).is_ok());
        let fixed = if fits { all.epsilon_at(delta) } else { None };
        let adaptive = Odometer::new(delta_at_all_times, near()).ok().and_then(|mut odometer| {
            events().all(|event| odometer.record(event, 1).is_ok()).then_some(())?;
            odometer.epsilon()
        });
        Self { delta, fixed, delta_at_all_times, adaptive }
    }
}

impl Session {
    /// Every budget of the contract, with what its charges come to at `delta`: by default the
    /// budget's own, or 1e-6 where that is zero, and at all times at twice that. Changes no file.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn budget(&self, delta: Option<Delta>) -> Result<Vec<BudgetLine>, EngineError> {
        let small = Delta::from_units(1_000_000_000_000).unwrap_or(Delta::ZERO);
        let ledger = self.ledger_as_it_is()?;
        let charges =
            ledger.as_ref().map(|ledger| ledger.charges()).transpose()?.unwrap_or_default();
        let mut lines = Vec::new();
        let contract = self.contract();
        for population in contract.populations.values() {
            let name = &population.name;
            let per_record = contract.tables.get(name);
            let per_record =
                per_record.is_some_and(|t| t.columns.iter().any(|column| column.split.is_some()));
            for (analyst, &limit) in &population.budgets {
                let account = match &ledger {
                    Some(ledger) => ledger.account(analyst, name, limit)?,
                    None => Account::untouched(limit),
                };
                let records =
                    charges.iter().filter(|c| c.analyst == *analyst && c.account == *name);
                let records: Vec<ChargeRecord> = records.cloned().collect();
                let usual = if limit.delta().is_zero() { small } else { limit.delta() };
                let together = match delta {
                    Some(delta) => Together::of(&records, delta, delta),
                    None => Together::of(&records, usual, usual.checked_mul(2).unwrap_or(usual)),
                };
                lines.push(BudgetLine {
                    analyst: analyst.clone(),
                    table: name.clone(),
                    account,
                    together,
                    charges: records,
                    per_record,
                });
            }
        }
        Ok(lines)
    }

    /// The accounts of the ledger that the contract does not name, by population and analyst.
    /// Changes no file.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn other_accounts(&self) -> Result<Vec<OtherAccount>, EngineError> {
        let ledger = self.ledger_in_silence()?;
        let charges =
            ledger.as_ref().map(|ledger| ledger.charges()).transpose()?.unwrap_or_default();
        let contract = self.contract();
        let mut accounts: BTreeMap<(String, String), Vec<ChargeRecord>> = BTreeMap::new();
        for charge in charges {
            if !contract.populations.contains_key(&charge.account) {
                let account = (charge.account.clone(), charge.analyst.clone());
                accounts.entry(account).or_default().push(charge);
            }
        }
        let account = |((table, analyst), charges): ((String, String), Vec<ChargeRecord>)| {
            let (retired, spent) = (contract.retired.contains(&table), spent(&charges)?);
            Ok(OtherAccount { analyst, table, retired, spent, charges })
        };
        accounts.into_iter().map(account).collect()
    }

    /// Looks whether the contract names everybody who was charged for. Changes no file.
    ///
    /// # Errors
    /// When it does not: every query is refused with this error. When the ledger cannot be read.
    pub fn check_populations(&self) -> Result<(), EngineError> {
        let ledger = self.ledger_in_silence()?;
        Ok(ledger.as_ref().map_or(Ok(()), |ledger| ledger.check_populations())?)
    }
}

/// The sum of charges in each currency.
fn spent(charges: &[ChargeRecord]) -> Result<Vec<Loss>, EngineError> {
    let mut sums: Vec<Loss> = Vec::new();
    for charge in charges {
        match sums.iter_mut().find(|sum| sum.parameter() == charge.asked.parameter()) {
            Some(sum) => {
                *sum = sum.plus(charge.asked).map_err(|_| LedgerError::LossesTooLarge)?;
            }
            None => sums.push(charge.asked),
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use hushtable_ledger::{ChargeState, Units};
    use hushtable_privacy::Event;
    use hushtable_testkit::Dice;

    use super::*;

    fn charge(event: Event) -> ChargeRecord {
        let nothing = Loss::concentrated(Rho::ZERO);
        ChargeRecord {
            id: 1,
            charged_at: String::new(),
            analyst: String::new(),
            table: String::new(),
            account: String::new(),
            units: Units::default(),
            query: String::new(),
            asked: nothing,
            charged: nothing,
            state: ChargeState::Recorded,
            events: vec![event],
        }
    }

    /// Standard normal deviates, by Box and Muller.
    fn normals() -> impl FnMut() -> f64 {
        let mut dice = Dice::new(11);
        let mut uniform = move || dice.uniform();
        let mut other = None;
        move || {
            other.take().unwrap_or_else(|| {
                let radius = (-2.0 * uniform().ln()).sqrt();
                let (sin, cos) = (2.0 * std::f64::consts::PI * uniform()).sin_cos();
                other = Some(radius * sin);
                radius * cos
            })
        }
    }

    /// Someone asks with Gaussian noise until the loss is above the reading, and where it never
    /// was, spends a delta that tells all with that probability. One or the other must not happen
    /// more often than the stated delta, 0.01. It does in 0.0085 of 100,000 runs (with a standard
    /// deviation of 0.0003), and did in 0.012 as long as the reading's confidence was all of delta
    /// that had not been charged yet.
    #[test]
    fn the_loss_is_above_the_reading_no_more_often_than_stated() {
        let (runs, delta, stated) = (100_000u32, "0.01".parse().unwrap(), "0.005".parse().unwrap());
        // Often enough that the loss is never far above the reading when that is seen.
        let sums: Vec<f64> = (0..320).map(|i| 0.001 * 1.025f64.powi(i)).collect();
        let mut before = 0.0;
        let steps: Vec<f64> =
            sums.iter().map(|sum| sum - std::mem::replace(&mut before, *sum)).collect();
        let mut charges: Vec<ChargeRecord> = Vec::new();
        let readings: Vec<f64> = steps
            .iter()
            .map(|rho| {
                let rho = Rho::from_f64_up(*rho).unwrap();
                charges.push(charge(Event::Gaussian { mu_squared: rho.into() }));
                Together::of(&charges, delta, delta).adaptive.unwrap().to_f64()
            })
            .collect();
        // The odometer still has a reading after the delta, and it is the same.
        charges.push(charge(Event::Approximate { epsilon: Epsilon::ZERO, delta: stated }));
        let last = Together::of(&charges, delta, delta).adaptive;
        assert_eq!(last.map(Epsilon::to_f64), readings.last().copied());
        let mut normal = normals();
        let mut above = 0;
        for _ in 0..runs {
            // A Gaussian event's loss is normal with mean rho and variance 2 rho.
            let mut loss = 0.0;
            above += u32::from(steps.iter().zip(&readings).any(|(rho, reading)| {
                loss += rho + (2.0 * rho).sqrt() * normal();
                loss > *reading
            }));
        }
        let above = f64::from(above) / f64::from(runs);
        let stated: Delta = stated;
        let rate = above + (1.0 - above) * stated.to_f64();
        assert!(rate < 0.01, "{rate}");
        assert!(rate > 0.008, "the bound is far from what it bounds: {rate}");
    }

    /// By default there is room for all deltas that the budget can be charged.
    #[test]
    fn a_budget_whose_delta_is_spent_has_a_reading() {
        let (delta, twice) = ("1e-5".parse().unwrap(), "2e-5".parse().unwrap());
        let event = Event::Approximate { epsilon: "0.1".parse().unwrap(), delta };
        let together = Together::of(&[charge(event)], delta, twice);
        assert_eq!(together.adaptive, "0.1".parse().ok());
        assert_eq!(Together::of(&[charge(event)], delta, delta).adaptive, None);
    }
}
