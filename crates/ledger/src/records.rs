//! Rows of the ledger, by their meaning: each fits the one before it.

use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use hushtable_privacy::{Delta, Epsilon, Loss, Rho};

use crate::chain::{Chain, ChainFault, ChainHead, ChainRow, ChainValue, Link};
use crate::charge::Receipt;
use crate::store::StoreRows;
use crate::units::Units;
use crate::{LedgerError, Release, Request, StoredRelease};

/// The ledger's rows as one transaction sees them.
pub(crate) struct LedgerRecords<'a>(pub(crate) &'a dyn StoreRows);

/// A release on record, except for its content.
#[derive(Clone)]
pub(crate) struct ReleaseRecord {
    pub(crate) id: i64,
    pub(crate) charge_id: i64,
    pub(crate) recorded_at: String,
    /// The hash of its content.
    pub(crate) content: [u8; 32],
}

impl LedgerRecords<'_> {
    pub(crate) fn broken(&self, broken: ChainFault) -> LedgerError {
        LedgerError::broken(self.0.name(), broken)
    }

    /// The error for a charge that this ledger did not make.
    pub(crate) fn foreign(&self, receipt: &Receipt) -> LedgerError {
        LedgerError::ForeignCharge { path: self.0.name().to_owned(), charge: receipt.id }
    }

    /// How far the chain goes.
    fn head(&self, chain: Chain) -> Result<ChainHead, LedgerError> {
        self.0.head(chain)?.ok_or_else(|| self.broken(ChainFault::NoHead(chain)))
    }

    /// Reads a chain from `from` to its end, in order, and checks every link. `each` gets a row's
    /// number, its link and the row, and has nothing for one that it cannot read.
    ///
    /// # Errors
    /// When a row is missing, changed, out of order, one too many or cannot be read.
    pub(crate) fn follow(
        &self,
        chain: Chain,
        from: Option<ChainHead>,
        mut each: impl FnMut(i64, Link, &ChainRow<'_>) -> Option<()>,
    ) -> Result<ChainHead, LedgerError> {
        // The head is a row of its own. Without it, rows cut off at the end would leave a chain
        // that holds.
        let end = self.head(chain)?;
        let mut here = from.unwrap_or(end.start());
        // A backup that was put back under a running program has fewer charges than the program has
        // seen.
        if here.seed != end.seed || here.rows > end.rows {
            return Err(self.broken(ChainFault::Older(chain)));
        }
        self.0.after(chain, here.rows, &mut |values| {
            let (row, next) = (ChainRow(values), here.rows + 1);
            let id = row.integer(0).ok_or_else(|| self.broken(ChainFault::Missing(chain, next)))?;
            if id > end.rows {
                return Err(self.broken(ChainFault::Added(chain, id)));
            }
            if id != next {
                return Err(self.broken(ChainFault::Missing(chain, next)));
            }
            let last = values.len().saturating_sub(1);
            // The link covers all values of the row but the link itself.
            let link = here.link.next(&values[..last]);
            if row.hash(last) != Some(link.0) {
                return Err(self.broken(ChainFault::Changed(chain, id)));
            }
            let read = each(id, link, &row);
            read.ok_or_else(|| self.broken(ChainFault::Unreadable(chain, id)))?;
            here = ChainHead { rows: id, link, ..here };
            Ok(())
        })?;
        match here {
            here if here == end => Ok(here),
            ChainHead { rows, .. } if rows < end.rows => {
                Err(self.broken(ChainFault::Missing(chain, rows + 1)))
            }
            ChainHead { rows, .. } => Err(self.broken(ChainFault::Changed(chain, rows))),
        }
    }

    /// Adds a row to a chain: its number, `values`, and its link. Gives the number and the link.
    fn append(
        &self,
        chain: Chain,
        values: Vec<ChainValue<'static>>,
    ) -> Result<(i64, Link), LedgerError> {
        // The number follows from the head and not from the store, so that a row is never numbered
        // twice.
        let head = self.head(chain)?;
        let id = head.rows + 1;
        let mut row = vec![ChainValue::Integer(id)];
        row.extend(values);
        let link = head.link.next(&row);
        row.push(ChainValue::blob(link.0));
        self.0.append(chain, &row, ChainHead { rows: id, link, ..head })?;
        Ok((id, link))
    }

    /// Adds a charge to the transaction. `units` are those of its population.
    pub(crate) fn add_charge(
        &self,
        request: &Request,
        units: &Units,
        charged: Loss,
    ) -> Result<Receipt, LedgerError> {
        let json = |error: serde_json::Error| {
            let path = self.0.name().to_owned();
            LedgerError::Unexpected { path, detail: error.to_string() }
        };
        let values = vec![
            now(),
            ChainValue::text(request.analyst.clone()),
            ChainValue::text(request.population.clone()),
            ChainValue::text(request.query.clone()),
            ChainValue::blob(*request.fingerprint.as_bytes()),
            ChainValue::text(request.loss.parameter().to_owned()),
            amount(request.loss.units()),
            ChainValue::text(charged.parameter().to_owned()),
            amount(charged.units()),
            amount(charged.delta().units()),
            ChainValue::text(serde_json::to_string(&request.events).map_err(json)?),
            ChainValue::text(serde_json::to_string(units).map_err(json)?),
            ChainValue::blob(*request.family.as_bytes()),
        ];
        let (id, link) = self.append(Chain::Charges, values)?;
        let (fingerprint, loss) = (request.fingerprint, request.loss);
        Ok(Receipt { id, link, fingerprint, loss, charged })
    }

    /// Adds an attempt to the transaction.
    pub(crate) fn add_attempt(&self, charge: i64, attempt: u32) -> Result<(), LedgerError> {
        let values = vec![ChainValue::Integer(charge), ChainValue::Integer(attempt.into()), now()];
        self.append(Chain::Attempts, values).map(drop)
    }

    /// Adds the state *drawn* of a charge to the transaction.
    pub(crate) fn add_draw(&self, charge: i64) -> Result<(), LedgerError> {
        self.append(Chain::Draws, vec![ChainValue::Integer(charge), now()]).map(drop)
    }

    /// Adds a release to the transaction.
    pub(crate) fn add_release(&self, charge: i64, release: &Release) -> Result<(), LedgerError> {
        let values =
            vec![ChainValue::Integer(charge), now(), ChainValue::blob(content_hash(release))];
        let (id, _) = self.append(Chain::Releases, values)?;
        self.0.add_content(id, release)
    }

    /// A release with its content, which must be what was recorded.
    pub(crate) fn release(&self, recorded: &ReleaseRecord) -> Result<StoredRelease, LedgerError> {
        let content = self.0.content(recorded.id)?;
        let release = content
            .ok_or_else(|| self.broken(ChainFault::Missing(Chain::Releases, recorded.id)))?;
        // Contents are outside of the chain, which reads none of them; their hash in it makes up
        // for that.
        if content_hash(&release) != recorded.content {
            return Err(self.broken(ChainFault::Changed(Chain::Releases, recorded.id)));
        }
        let ReleaseRecord { charge_id, recorded_at, .. } = recorded.clone();
        Ok(StoredRelease { charge_id, recorded_at, release })
    }
}

/// This machine's clock: UTC, RFC 3339. No decision rests on it.
fn now() -> ChainValue<'static> {
    let now = DateTime::<Utc>::from(SystemTime::now());
    ChainValue::text(now.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// The hash under which a release's content is on record.
fn content_hash(release: &Release) -> [u8; 32] {
    let Release { table, statement } = release;
    let values =
        [ChainValue::Text(statement.as_bytes().into()), ChainValue::Blob(table.as_slice().into())];
    Link([0; 32]).next(&values).0
}

/// Every amount is at most 10^18; anything above would break a CHECK.
fn amount(units: u64) -> ChainValue<'static> {
    ChainValue::Integer(i64::try_from(units).unwrap_or(i64::MAX))
}

/// The loss as asked and as charged, from five columns in the order of the table.
pub(crate) fn losses(row: &ChainRow<'_>, first: usize) -> Option<(Loss, Loss)> {
    let units = |at: usize| u64::try_from(row.integer(at)?).ok();
    let delta = Delta::from_units(units(first + 4)?).ok()?;
    let loss = |at: usize| {
        let units = units(at + 1)?;
        Some(match row.text(at)? {
            "epsilon" => Loss::Approximate { epsilon: Epsilon::from_units(units).ok()?, delta },
            "rho" => Loss::Concentrated { rho: Rho::from_units(units).ok()?, delta },
            _ => return None,
        })
    };
    Some((loss(first)?, loss(first + 2)?))
}
