//! From the exact data to the record: one draw for a charge.

use super::Protocol;
use crate::book::ChargeEntry;
use crate::charge::Receipt;
use crate::store::Store;
use crate::{ChargeState, DrawnCharge, LedgerError, Notice, OpenedCharge, Payment, Release};

impl<S: Store> Protocol<S> {
    /// [`Ledger::draw`](crate::Ledger::draw).
    pub(super) fn put_drawn(
        &mut self,
        charge: OpenedCharge,
        others: Vec<Payment>,
        room: u64,
    ) -> Result<DrawnCharge, LedgerError> {
        let OpenedCharge { receipt, claim } = charge;
        let others: Vec<Receipt> = others.into_iter().map(|payment| payment.receipt).collect();
        let drawn = self.patiently(receipt.id, |ledger| {
            // Others may use it first: then the release needs more, or is lost.
            ledger.change(|records, _| records.0.make_room(room))?;
            ledger.change(|records, book| {
                for receipt in [&receipt].into_iter().chain(&others) {
                    let entry = book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
                    may_draw(entry)?;
                    // All accounts change state in one transaction: none may resume a charge that
                    // another has drawn for.
                    records.add_draw(receipt.id)?;
                }
                records.0.free_room()
            })
        });
        match drawn {
            // The only place that makes this type, and exact groups are released with it alone.
            Ok(()) => Ok(DrawnCharge { receipt, others, _claim: claim }),
            Err(error @ (LedgerError::ForeignCharge { .. } | LedgerError::Lapsed { .. })) => {
                Err(error)
            }
            Err(error) => Err(LedgerError::Undrawn { charge: receipt.id, reason: Box::new(error) }),
        }
    }

    /// [`Ledger::record`](crate::Ledger::record).
    pub(super) fn put_release(
        &mut self,
        charge: &DrawnCharge,
        release: &Release,
    ) -> Result<(), LedgerError> {
        let DrawnCharge { receipt, others, .. } = charge;
        let recorded = self.patiently(receipt.id, |ledger| {
            ledger.change(|records, book| {
                for receipt in [receipt].into_iter().chain(others) {
                    let entry = book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
                    // A second release for one charge would show a second draw of the same numbers.
                    if entry.state() != ChargeState::Drawn {
                        return Err(LedgerError::NotDrawn { charge: receipt.id });
                    }
                    records.add_release(receipt.id, release)?;
                }
                Ok(())
            })
        });
        match recorded {
            Err(error) if !matches!(error, LedgerError::ForeignCharge { .. }) => {
                Err(LedgerError::Unrecorded { charge: receipt.id, reason: Box::new(error) })
            }
            other => other,
        }
    }

    /// Tries again as long as another program keeps the store locked.
    pub(super) fn patiently<T>(
        &mut self,
        charge: i64,
        mut work: impl FnMut(&mut Self) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let mut noticed = false;
        loop {
            match work(self) {
                // The loss is spent: to give up here would waste it, and to wait costs only time.
                Err(LedgerError::Busy { path, .. }) => {
                    if !std::mem::replace(&mut noticed, true) {
                        (self.listener)(&Notice::Waiting { path, charge });
                    }
                }
                ended => return ended,
            }
        }
    }
}

/// Refuses a charge that was drawn before.
fn may_draw(entry: &ChargeEntry) -> Result<(), LedgerError> {
    match entry.state() {
        ChargeState::Charged => Ok(()),
        ChargeState::Drawn | ChargeState::Recorded => {
            let lapse = crate::Lapse::Drawn;
            Err(LedgerError::Lapsed { charge: entry.receipt.id, lapse })
        }
    }
}
