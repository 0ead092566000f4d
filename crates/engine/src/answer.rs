//! From a charge to the release that it pays for.

use std::time::Instant;

use hushtable_ledger::{Charge, Fingerprint, Ledger, Request};
use hushtable_noise::Generator;
use hushtable_privacy::Loss;
use hushtable_query::{Explanation, Quote};

use crate::bound::SamplingKey;
use crate::error::EngineError;
use crate::exact::Scan;
use crate::record::{Asked, Statement, decode, encode, question};
use crate::release::{Released, ReleasedTable};
use crate::runtime::heavy;
use crate::session::Timings;

/// A query that is checked and priced, and who asks it.
pub(crate) struct Question {
    pub(crate) sql: String,
    pub(crate) analyst: String,
    pub(crate) quote: Quote,
    pub(crate) explanation: Explanation,
    /// Hash of the checked query and its mechanisms.
    pub(crate) question: String,
}

impl Question {
    /// # Errors
    /// A refusal where a statement of it could not be read back.
    pub(crate) fn new(sql: &str, analyst: String, quote: Quote) -> Result<Self, EngineError> {
        let explanation = Explanation::new(&quote);
        let question = question(&quote, &explanation)?;
        Ok(Self { sql: sql.to_owned(), analyst, quote, explanation, question })
    }

    /// The question with released values in its query.
    pub(crate) fn with_quote(&self, quote: Quote) -> Self {
        Self {
            sql: self.sql.clone(),
            analyst: self.analyst.clone(),
            quote,
            explanation: self.explanation.clone(),
            question: self.question.clone(),
        }
    }

    /// The request to the ledger.
    pub(crate) fn request(&self, population: &str, identity: Fingerprint, limit: Loss) -> Request {
        Request {
            analyst: self.analyst.clone(),
            population: population.to_owned(),
            query: self.sql.clone(),
            fingerprint: identity,
            loss: self.quote.total(),
            events: self.quote.events(),
            limit,
        }
    }
}

/// The ledger and the randomness that answer a charge.
pub(crate) struct Answering<'a> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) generator: &'a mut Generator,
}

impl Answering<'_> {
    /// Reads what `charge` has paid for, adds noise and puts the release on record. Gives what is
    /// on record: so that asking again gives the same to the byte, and where another process has
    /// taken up the same charge and was first, that process's release and not this one.
    ///
    /// # Errors
    /// When the data cannot be read, or the ledger not be written: the charge stays then.
    pub(crate) async fn answer(
        &mut self,
        asked: &Question,
        identity: Fingerprint,
        charge: Charge,
        scan: Scan,
        timings: &mut Timings,
    ) -> Result<(ReleasedTable, Statement), EngineError> {
        let Question { sql, analyst, quote, explanation, question } = asked;
        // The receipt must be for this question and for what its noise was made for.
        if charge.fingerprint() != identity || charge.loss() != quote.total() {
            return Err(EngineError::Inconsistent);
        }
        let started = Instant::now();
        let key = SamplingKey::draw(self.generator)?;
        let exact = scan.run(charge.open(), key).await?;
        timings.exact = started.elapsed();
        let started = Instant::now();
        let Released { table: released, charge, showing } =
            heavy(|| exact.release(quote, self.generator))?;
        timings.noise = started.elapsed().saturating_sub(showing);
        timings.showing = showing;
        let started = Instant::now();
        let asked = Asked { analyst, sql, question: question.clone() };
        let release = encode(&released, asked, explanation, quote.query())?;
        let earlier = heavy(|| self.ledger.record(charge, &release))?;
        let shown = decode(earlier.as_ref().map_or(&release, |earlier| &earlier.release))?;
        timings.ledger += started.elapsed();
        Ok(shown)
    }
}
