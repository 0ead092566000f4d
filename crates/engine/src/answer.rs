//! From a charge to the release that it pays for.

use std::time::{Duration, Instant};

use hushtable_ledger::{Charge, Fingerprint, Ledger, Payment, Request};
use hushtable_noise::Generator;
use hushtable_plan::Warning;
use hushtable_privacy::Loss;
use hushtable_quote::{Explanation, Quote};
use serde::Serialize;

use crate::contributions::SamplingKey;
use crate::error::EngineError;
use crate::exact::Scan;
use crate::record::{
    AnalystQuestion, RecordedRelease, ReleaseStatement, decode, encode, question, room,
};
use crate::release::{ReleasedGroups, ReleasedTable};
use crate::runtime::heavy;
use crate::stopping::{StoppingPoint, reached};

/// A query that is checked and priced, and who asks it.
pub(crate) struct Question {
    pub(crate) sql: String,
    pub(crate) analyst: String,
    pub(crate) quote: Quote,
    pub(crate) explanation: Explanation,
    /// Hash of the checked query and its mechanisms.
    pub(crate) hash: String,
    /// Its price.
    pub(crate) loss: Loss,
}

impl Question {
    /// A query that is one of `parts` of a statement, which share its precision.
    ///
    /// # Errors
    /// A refusal where a statement of it could not be read back.
    pub(crate) fn new(
        sql: &str,
        analyst: String,
        quote: Quote,
        parts: usize,
    ) -> Result<Self, EngineError> {
        let explanation = Explanation::of_part(&quote, parts);
        let hash = question(&quote, &explanation)?;
        let loss = quote.total();
        Ok(Self { sql: sql.to_owned(), analyst, quote, explanation, hash, loss })
    }

    /// Adds something that the question depends on to its hash.
    pub(crate) fn extend(&mut self, more: &str) {
        let both = format!("{} {more}", self.hash);
        self.hash = blake3::hash(both.as_bytes()).to_hex().to_string();
    }

    /// The question with released values in its query.
    pub(crate) fn with_quote(&self, quote: Quote) -> Self {
        Self {
            sql: self.sql.clone(),
            analyst: self.analyst.clone(),
            quote,
            explanation: self.explanation.clone(),
            hash: self.hash.clone(),
            loss: self.loss,
        }
    }

    /// The question with limits that were chosen for it, whose explanation says which, with
    /// warnings about them.
    pub(crate) fn with_limits(&self, quote: Quote, warnings: Vec<Warning>) -> Self {
        let mut explanation = Explanation::new(&quote);
        explanation.warnings.extend(warnings);
        Self { explanation, ..self.with_quote(quote) }
    }

    /// The request to the ledger, with the identities of the question on its data and of its
    /// family.
    pub(crate) fn request(
        &self,
        population: &str,
        (question, family): (Fingerprint, Fingerprint),
        limit: Loss,
    ) -> Request {
        Request {
            analyst: self.analyst.clone(),
            population: population.to_owned(),
            query: self.sql.clone(),
            fingerprint: question,
            family,
            loss: self.loss,
            events: self.quote.events(),
            limit,
        }
    }
}

/// How a question stands with the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// To be paid.
    New,
    /// Paid for, and to be answered: a program was stopped, or is at work.
    Paid,
    /// Answered: its release is given again.
    OnRecord,
}

impl Standing {
    /// The standing of a question of an account.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(crate) fn of(
        ledger: &dyn Ledger,
        analyst: &str,
        population: &str,
        identity: &Fingerprint,
    ) -> Result<Self, EngineError> {
        Ok(if ledger.stored(analyst, population, identity)?.is_some() {
            Self::OnRecord
        } else if ledger.is_paid(analyst, population, identity)? {
            Self::Paid
        } else {
            Self::New
        })
    }
}

/// Time spent in the parts of a query; zero for what an answer on record did not need. It depends
/// on the data: for measurements by its owner, not for analysts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Reading, bounding contributions and exact aggregation.
    pub exact: Duration,
    /// Selection and noise.
    pub noise: Duration,
    /// Computing and ordering what is shown. Together with `exact`, the time of the same query
    /// without noise.
    pub showing: Duration,
    /// The ledger: charging and recording, with their syncs to disk.
    pub ledger: Duration,
}

impl Timings {
    /// The time of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            exact: self.exact + other.exact,
            noise: self.noise + other.noise,
            showing: self.showing + other.showing,
            ledger: self.ledger + other.ledger,
        }
    }
}

/// The ledger and the randomness that answer a charge.
pub(crate) struct Answering<'a> {
    pub(crate) ledger: &'a mut dyn Ledger,
    pub(crate) generator: &'a mut Generator,
}

impl Answering<'_> {
    /// Reads what `charge` has paid for, uses up its one draw, adds noise and puts the release on
    /// record, for the accounts of `others`, too. Gives what is on record, so that asking again
    /// gives the same to the byte.
    ///
    /// # Errors
    /// When the data cannot be read, or the ledger not be written: the charge stays then. Up to the
    /// draw it can be taken up again.
    pub(crate) async fn answer(
        &mut self,
        asked: &Question,
        identity: Fingerprint,
        (charge, others): (Charge, Vec<Payment>),
        scan: Scan,
        timings: &mut Timings,
    ) -> Result<RecordedRelease, EngineError> {
        let Question { sql, analyst, quote, explanation, hash, loss } = asked;
        // The receipt must be for this question and for what its noise was made for.
        if charge.fingerprint() != identity
            || charge.loss() != *loss
            || !quote.total().is_within(*loss)
        {
            return Err(EngineError::inconsistent(
                "a charge is used for another question or a larger loss than it was made for",
            ));
        }
        reached(StoppingPoint::Charged)?;
        let started = Instant::now();
        // A random key for each charge: only then do keyed hashes of row numbers have one law
        // however rows are numbered (`theorems/queries.md#rows-as-units`).
        let key = SamplingKey::draw(self.generator)?;
        let exact = scan.run(charge.open(), key).await?;
        timings.exact = started.elapsed();
        reached(StoppingPoint::Read)?;
        let started = Instant::now();
        // The statement and the room for it are made before the draw, so that less can fail after
        // it.
        let stated = AnalystQuestion { analyst, sql, question: hash.clone() };
        let statement = stated.stated(explanation, quote.query())?;
        let room = room(&statement, explanation, quote.query());
        let drawn = heavy(|| exact.draw(self.ledger, others, room))?;
        timings.ledger += started.elapsed();
        reached(StoppingPoint::Drawn)?;
        let started = Instant::now();
        let ReleasedGroups { groups: released, charge } =
            heavy(|| drawn.release(quote, self.generator))?;
        timings.noise = started.elapsed();
        let started = Instant::now();
        let release = encode(&released, statement)?;
        reached(StoppingPoint::Noisy)?;
        heavy(|| self.ledger.record(charge, &release))?;
        timings.ledger += started.elapsed();
        reached(StoppingPoint::Recorded)?;
        // From the bytes on record, and not from memory: the first answer is that of every later
        // one.
        decode(&release)
    }
}

impl RecordedRelease {
    /// Answers a question of the release's leaf. The statement is the release's, about this
    /// question: it is the same however often the question is asked.
    ///
    /// # Errors
    /// When the release is not of the question's leaf.
    pub(crate) fn answering(
        &self,
        asked: &Question,
    ) -> Result<(ReleasedTable, ReleaseStatement), EngineError> {
        let query = asked.quote.query();
        let columns = query.columns_in(&self.statement.query).map_err(|_| EngineError::Record)?;
        let table = self.groups.shown(
            query,
            &columns.ok_or(EngineError::inconsistent(
                "a release on record lacks columns that its question shows",
            ))?,
        )?;
        let statement = ReleaseStatement {
            sql: asked.sql.clone(),
            explanation: asked.explanation.clone(),
            query: query.clone(),
            ..self.statement.clone()
        };
        Ok((table, statement))
    }
}
