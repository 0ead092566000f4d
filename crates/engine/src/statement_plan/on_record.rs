//! Releases on record that hold the answer to a question, and more.

use hushtable_ledger::{Fingerprint, Ledger};
use hushtable_quote::Quote;

use crate::answer::{Question, Standing};
use crate::error::EngineError;
use crate::record::{ReleaseStatement, fingerprint};
use crate::source::Data;

/// Most releases of a family that are compared with a question. Those that were recorded first are,
/// so that one of them stays the answer.
const MOST_COMPARED: usize = 40;

/// The releases of an account about some data.
pub(super) struct OnRecord<'a> {
    pub(super) ledger: &'a dyn Ledger,
    pub(super) population: &'a str,
    pub(super) data: &'a Data,
}

impl OnRecord<'_> {
    /// The question with all that a release on record has measured, where that release holds its
    /// answer: it is free then. `None` for a question that is on record or paid for itself, and
    /// where there is no such release. Of several, the one that was recorded first, so that it
    /// stays the answer.
    pub(super) fn wider(
        &self,
        question: &Question,
        parts: usize,
        (identity, family): (Fingerprint, Fingerprint),
    ) -> Result<Option<Question>, EngineError> {
        let Self { ledger, population, data } = *self;
        let Question { sql, analyst, quote, .. } = question;
        if Standing::of(ledger, analyst, population, &identity)? != Standing::New {
            return Ok(None);
        }
        for stored in ledger.related(analyst, population, &family)?.into_iter().take(MOST_COMPARED)
        {
            let statement: ReleaseStatement =
                serde_json::from_str(&stored.release.statement).map_err(|_| EngineError::Record)?;
            let wider = quote.query().with_measurements_of(&statement.query).map_err(|_| {
                EngineError::inconsistent("the leaf of a query cannot be written as JSON")
            })?;
            let Some(Ok(quote)) = wider.map(Quote::new) else { continue };
            let measured = quote.query().measurements().len();
            let mut wider = Question::new(sql, analyst.clone(), quote, parts)?;
            if measured > question.quote.query().measurements().len() {
                // Advice that brings the release nearer brings no part of it nearer.
                wider.explanation.advice = vec![format!(
                    "another budget in OPTIONS: then it is measured by itself, and charged (this \
                     answer is a part of a release on record with {measured} measurements)"
                )];
            }
            // Mechanisms that this version chooses otherwise are another question.
            let identity = fingerprint(analyst, &wider.hash, data)?;
            // The identity is computed anew, so that a release is used only if this version would
            // measure the same.
            if ledger.stored(analyst, population, &identity)?.is_some() {
                return Ok(Some(wider));
            }
        }
        Ok(None)
    }
}
