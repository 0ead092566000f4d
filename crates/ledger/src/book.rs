//! The content of the ledger's rows, read from the tables themselves and checked link by link.
//!
//! Every decision rests on this and none on an index of the store: so no damaged page of one can
//! hide a charge.

use std::collections::HashMap;

use hushtable_privacy::{Loss, LossError};

use crate::chain::{Chain, ChainFault, ChainHead, ChainRow};
use crate::charge::Receipt;
use crate::populations::{ChargedPopulations, Populations};
use crate::records::{self, LedgerRecords, ReleaseRecord};
use crate::units::Units;
use crate::{Account, ChargeRecord, ChargeState, Fingerprint, Lapse, LedgerError, MOST_ATTEMPTS};

/// All charges, with their attempts and releases.
#[derive(Default)]
pub(crate) struct Book {
    /// In order: charge 1 is first.
    charges: Vec<ChargeEntry>,
    /// Places in `charges` by question, oldest first.
    questions: HashMap<Fingerprint, Vec<usize>>,
    /// Places in `charges` by family of questions, oldest first.
    families: HashMap<Fingerprint, Vec<usize>>,
    heads: Option<Heads>,
    /// The contract's populations, whose accounts the charges are on.
    populations: Populations,
    charged: ChargedPopulations,
}

/// How far each chain is read.
#[derive(Clone, Copy)]
struct Heads {
    charges: ChainHead,
    attempts: ChainHead,
    draws: ChainHead,
    releases: ChainHead,
}

/// A charge, as far as decisions go.
pub(crate) struct ChargeEntry {
    pub(crate) receipt: Receipt,
    analyst: Box<str>,
    /// As the contract names it now.
    population: Box<str>,
    pub(crate) attempts: u32,
    /// Whether its release was drawn, or was about to be.
    pub(crate) drawn: bool,
    pub(crate) release: Option<ReleaseRecord>,
}

impl Book {
    /// An empty book for the populations of a contract.
    pub(crate) fn new(populations: Populations) -> Self {
        Self { populations, ..Self::default() }
    }

    /// The units of a population that a question is about.
    ///
    /// # Errors
    /// When the contract does not name the population, or does not fit the ledger's charges: those
    /// who were charged for would have a fresh budget.
    pub(crate) fn units(&self, population: &str) -> Result<&Units, LedgerError> {
        self.check_populations()?;
        let unknown = || LedgerError::UnknownPopulation { population: population.to_owned() };
        self.populations.units(population).ok_or_else(unknown)
    }

    /// Refuses a contract that does not fit the ledger's charges.
    pub(crate) fn check_populations(&self) -> Result<(), LedgerError> {
        let checked = self.populations.check(&self.charged);
        checked.map_err(|differ| LedgerError::PopulationsDiffer(Box::new(differ)))
    }

    /// Reads the rows that are new, in a transaction of the caller's.
    ///
    /// # Errors
    /// When a row is missing, changed or out of order, and when the file cannot be read.
    pub(crate) fn catch_up(&mut self, records: &LedgerRecords<'_>) -> Result<(), LedgerError> {
        let result = self.read(records);
        if result.is_err() {
            // Half of the new rows may be here.
            *self = Self::new(std::mem::take(&mut self.populations));
        }
        result
    }

    fn read(&mut self, records: &LedgerRecords<'_>) -> Result<(), LedgerError> {
        let broken = |broken| records.broken(broken);
        let Self { charges, questions, families, heads, populations, charged: by_name } = self;
        let charges_head =
            records.follow(Chain::Charges, heads.map(|h| h.charges), |id, link, row| {
                let (loss, charged) = records::losses(row, 6)?;
                let fingerprint = Fingerprint::new(row.hash(5)?);
                let population = row.text(3)?;
                by_name.add(population, row.text(12)?).ok()?;
                questions.entry(fingerprint).or_default().push(charges.len());
                let family = Fingerprint::new(row.hash(13)?);
                families.entry(family).or_default().push(charges.len());
                charges.push(ChargeEntry {
                    receipt: Receipt { id, link, fingerprint, loss, charged },
                    analyst: row.text(2)?.into(),
                    population: populations.account(population).into(),
                    attempts: 0,
                    drawn: false,
                    release: None,
                });
                Some(())
            })?;
        let mut misplaced = None;
        let attempts_head =
            records.follow(Chain::Attempts, heads.map(|h| h.attempts), |id, _, row| {
                let attempt = u32::try_from(row.integer(2)?).ok()?;
                match entry(charges, row.integer(1)?) {
                    // Attempts are numbered: one taken out would give a charge another try.
                    Some(entry) if attempt == entry.attempts + 1 => {
                        entry.attempts = attempt;
                    }
                    _ => misplaced = Some(ChainFault::Misplaced(Chain::Attempts, id)),
                }
                Some(())
            })?;
        let draws_head = records.follow(Chain::Draws, heads.map(|h| h.draws), |id, _, row| {
            match entry(charges, row.integer(1)?) {
                // States only go forward. A row that would skip or repeat one is damage, not a
                // decision.
                Some(entry) if !entry.drawn && entry.attempts > 0 => entry.drawn = true,
                _ => misplaced = Some(ChainFault::Misplaced(Chain::Draws, id)),
            }
            Some(())
        })?;
        let releases_head =
            records.follow(Chain::Releases, heads.map(|h| h.releases), |id, _, row| {
                let charge_id = row.integer(1)?;
                let recorded_at = row.text(2)?.to_owned();
                let recorded = ReleaseRecord { id, charge_id, recorded_at, content: row.hash(3)? };
                match entry(charges, charge_id) {
                    Some(entry) if entry.drawn && entry.release.is_none() => {
                        entry.release = Some(recorded);
                    }
                    _ => misplaced = Some(ChainFault::Misplaced(Chain::Releases, id)),
                }
                Some(())
            })?;
        if let Some(misplaced) = misplaced {
            return Err(broken(misplaced));
        }
        *heads = Some(Heads {
            charges: charges_head,
            attempts: attempts_head,
            draws: draws_head,
            releases: releases_head,
        });
        Ok(())
    }

    /// All charges, oldest first.
    pub(crate) fn charges(&self) -> &[ChargeEntry] {
        &self.charges
    }

    /// All charges with their texts, oldest first.
    pub(crate) fn recorded(
        &self,
        records: &LedgerRecords<'_>,
    ) -> Result<Vec<ChargeRecord>, LedgerError> {
        let mut charges = Vec::with_capacity(self.charges.len());
        records.follow(Chain::Charges, None, |id, _, row| {
            let (asked, charged) = records::losses(row, 6)?;
            let table = row.text(3)?.to_owned();
            charges.push(ChargeRecord {
                id,
                charged_at: row.text(1)?.to_owned(),
                analyst: row.text(2)?.to_owned(),
                account: self.populations.account(&table).to_owned(),
                table,
                query: row.text(4)?.to_owned(),
                asked,
                charged,
                state: self.charges.get(charges.len())?.state(),
                events: serde_json::from_str(row.text(11)?).ok()?,
                units: serde_json::from_str(row.text(12)?).ok()?,
            });
            Some(())
        })?;
        Ok(charges)
    }

    /// When the same text was charged last to the account, where its release is on record.
    pub(crate) fn answered_before(
        &self,
        records: &LedgerRecords<'_>,
        analyst: &str,
        population: &str,
        query: &str,
    ) -> Result<Option<String>, LedgerError> {
        let mut last = None;
        records.0.after(Chain::Charges, 0, &mut |values| {
            let row = ChainRow(values);
            let mut entry = || {
                // Most rows differ here.
                let same = row.text(2)? == analyst && row.text(4)? == query;
                let index = usize::try_from(row.integer(0)?).ok()?.checked_sub(1)?;
                let entry = self.charges.get(index).filter(|_| same)?;
                let recorded = entry.state() == ChargeState::Recorded;
                if recorded && *entry.population == *population {
                    last = Some(row.text(1)?.to_owned());
                }
                Some(())
            };
            // Rows that another program has put there are none of these charges.
            entry();
            Ok(())
        })?;
        Ok(last)
    }

    /// The charge of a receipt; `None` where it is of another ledger.
    pub(crate) fn charge(&self, receipt: &Receipt) -> Option<&ChargeEntry> {
        let index = usize::try_from(receipt.id).ok()?.checked_sub(1)?;
        // A number alone could name a charge of another ledger.
        self.charges.get(index).filter(|entry| entry.receipt.link == receipt.link)
    }

    /// The charges of an account for a question, oldest first.
    fn charges_of<'a, 'b>(
        &'a self,
        analyst: &'b str,
        population: &'b str,
        fingerprint: &Fingerprint,
    ) -> impl Iterator<Item = &'a ChargeEntry> + use<'a, 'b> {
        let indices = self.questions.get(fingerprint).into_iter().flatten();
        indices
            .filter_map(|&index| self.charges.get(index))
            .filter(move |entry| *entry.analyst == *analyst && *entry.population == *population)
    }

    /// The release that was recorded first for the question.
    pub(crate) fn stored(
        &self,
        analyst: &str,
        population: &str,
        fingerprint: &Fingerprint,
    ) -> Option<&ReleaseRecord> {
        let releases =
            self.charges_of(analyst, population, fingerprint).filter_map(|e| e.release.as_ref());
        // The first one, so that the same question always has the same answer.
        releases.min_by_key(|release| release.id)
    }

    /// The releases of an account for questions of a family, in the order in which they were
    /// recorded.
    pub(crate) fn related(
        &self,
        analyst: &str,
        population: &str,
        family: &Fingerprint,
    ) -> Vec<&ReleaseRecord> {
        let indices = self.families.get(family).into_iter().flatten();
        let entries = indices.filter_map(|&index| self.charges.get(index));
        let of_account =
            entries.filter(|entry| *entry.analyst == *analyst && *entry.population == *population);
        let mut releases: Vec<&ReleaseRecord> =
            of_account.filter_map(|entry| entry.release.as_ref()).collect();
        releases.sort_by_key(|release| release.id);
        releases
    }

    /// The charge for the question that can still be answered: nothing was drawn for it, and the
    /// data may be read once more.
    pub(crate) fn resumable(
        &self,
        analyst: &str,
        population: &str,
        fingerprint: &Fingerprint,
    ) -> Option<&ChargeEntry> {
        self.charges_of(analyst, population, fingerprint).find(|entry| entry.may_begin())
    }

    /// The charges for the question whose release was drawn and is not on record.
    pub(crate) fn drawn<'a, 'b>(
        &'a self,
        analyst: &'b str,
        population: &'b str,
        fingerprint: &Fingerprint,
    ) -> impl Iterator<Item = i64> + use<'a, 'b> {
        self.charges_of(analyst, population, fingerprint)
            .filter(|entry| entry.state() == ChargeState::Drawn)
            .map(|entry| entry.receipt.id)
    }

    /// The account in the currency of `limit`, summed up charge by charge.
    pub(crate) fn account(
        &self,
        analyst: &str,
        population: &str,
        limit: Loss,
    ) -> Result<Account, LedgerError> {
        let mut account = Account::untouched(limit);
        // Charges count whatever became of them: a lost draw has been paid, too.
        let of_analyst =
            |entry: &&ChargeEntry| *entry.analyst == *analyst && *entry.population == *population;
        for Receipt { id: charge, loss, charged, .. } in
            self.charges.iter().filter(of_analyst).map(|entry| &entry.receipt)
        {
            let (charge, loss) = (*charge, *loss);
            let (analyst, population) = (analyst.to_owned(), population.to_owned());
            account = account.after(loss, *charged).map_err(|error| match error {
                LossError::Currency => {
                    LedgerError::SpentInRho { analyst, population, charge, loss, limit }
                }
                LossError::TooLarge => LedgerError::SpentTooLarge { analyst, population },
            })?;
        }
        Ok(account)
    }
}

impl ChargeEntry {
    /// Whether the data may be read once more for this charge.
    pub(crate) fn may_begin(&self) -> bool {
        self.state() == ChargeState::Charged && self.attempts < MOST_ATTEMPTS
    }

    /// Refuses a charge under which the data may not be read once more.
    pub(crate) fn check_may_begin(&self) -> Result<(), LedgerError> {
        if self.may_begin() {
            return Ok(());
        }
        let lapse = match self.state() {
            ChargeState::Charged => Lapse::Attempts,
            ChargeState::Drawn | ChargeState::Recorded => Lapse::Drawn,
        };
        Err(LedgerError::Lapsed { charge: self.receipt.id, lapse })
    }

    pub(crate) fn state(&self) -> ChargeState {
        match (&self.release, self.drawn) {
            (Some(_), _) => ChargeState::Recorded,
            (None, true) => ChargeState::Drawn,
            (None, false) => ChargeState::Charged,
        }
    }
}

fn entry(charges: &mut [ChargeEntry], id: i64) -> Option<&mut ChargeEntry> {
    charges.get_mut(usize::try_from(id).ok()?.checked_sub(1)?)
}
