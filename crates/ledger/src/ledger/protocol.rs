//! From the exact data to the record: one draw for a charge.

use super::Ledger;
use crate::book::Entry;
use crate::charge::Receipt;
use crate::{ChargeState, DrawnCharge, LedgerError, Notice, OpenedCharge, Payment, Release};

impl Ledger {
    /// Puts the state *drawn* of a charge on disk: from here on nobody takes it up again. Only then
    /// may the first random number of its release be drawn, which are to take some `room` bytes on
    /// record. That room is made in the ledger's file first, so that lack of it shows before the
    /// draw. `others` are the payments of further accounts for the same release, begun with it.
    ///
    /// Where another program keeps the file locked, this waits for as long as that takes, and says
    /// so once ([`Self::telling`]).
    ///
    /// # Errors
    /// When a charge is of another ledger or was drawn before, and when the file cannot be written
    /// ([`LedgerError::Undrawn`]). Nothing may be drawn then, and the charge can be taken up again.
    pub fn draw(
        &mut self,
        charge: OpenedCharge,
        others: Vec<Payment>,
        room: u64,
    ) -> Result<DrawnCharge, LedgerError> {
        let OpenedCharge { receipt, claim } = charge;
        let others: Vec<Receipt> = others.into_iter().map(|payment| payment.receipt).collect();
        let drawn = self.patiently(receipt.id, |ledger| {
            ledger.make_room(room)?;
            ledger.change(|records, book| {
                for receipt in [&receipt].into_iter().chain(&others) {
                    let entry = book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
                    may_draw(entry)?;
                    records.add_draw(receipt.id)?;
                }
                records.free_room()
            })
        });
        match drawn {
            Ok(()) => Ok(DrawnCharge { receipt, others, _claim: claim }),
            Err(error @ (LedgerError::ForeignCharge { .. } | LedgerError::Lapsed { .. })) => {
                Err(error)
            }
            Err(error) => Err(LedgerError::Undrawn { charge: receipt.id, reason: Box::new(error) }),
        }
    }

    /// Stores the release that `charge` paid for. When this returns, it is on disk and may be
    /// shown.
    ///
    /// Where another program keeps the file locked, this waits for as long as that takes, and says
    /// so once ([`Self::telling`]): the release is paid for.
    ///
    /// # Errors
    /// When the charge is of another ledger, and when the file cannot be written
    /// ([`LedgerError::Unrecorded`]). The release must not be shown then; the loss stays spent.
    pub fn record(&mut self, charge: DrawnCharge, release: &Release) -> Result<(), LedgerError> {
        let DrawnCharge { receipt, others, .. } = &charge;
        let recorded = self.patiently(receipt.id, |ledger| {
            ledger.change(|records, book| {
                for receipt in [receipt].into_iter().chain(others) {
                    let entry = book.charge(receipt).ok_or_else(|| records.foreign(receipt))?;
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

    /// Sees to it that the file has free pages for so many bytes. Others may use them first: then
    /// the file grows later, or the release is lost.
    fn make_room(&mut self, room: u64) -> Result<(), LedgerError> {
        self.change(|records, _| match room.saturating_sub(records.free_bytes()?) {
            0 => Ok(()),
            missing => records.fill_room(missing),
        })
    }

    /// Tries again as long as another program keeps the file locked.
    pub(super) fn patiently<T>(
        &mut self,
        charge: i64,
        mut work: impl FnMut(&mut Self) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let mut noticed = false;
        loop {
            match work(self) {
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
fn may_draw(entry: &Entry) -> Result<(), LedgerError> {
    match entry.state() {
        ChargeState::Charged => Ok(()),
        ChargeState::Drawn | ChargeState::Recorded => {
            let lapse = crate::Lapse::Drawn;
            Err(LedgerError::Lapsed { charge: entry.receipt.id, lapse })
        }
    }
}
