//! A quote of one private query, and words for how questions stand with the ledger.

use hushtable::{AccountQuote, PartQuote, QuestionQuote, Standing};

/// A quote of one private query of one population.
pub(super) struct Plain<'a> {
    pub(super) analyst: &'a str,
    pub(super) part: &'a PartQuote,
    pub(super) account: &'a AccountQuote,
    pub(super) answered_before: Option<&'a str>,
}

impl<'a> Plain<'a> {
    pub(super) fn of(quoted: &'a QuestionQuote) -> Option<Self> {
        let (part, account) = quoted.plain()?;
        let answered_before = quoted.answered_before.as_deref();
        Some(Self { analyst: &quoted.analyst, part, account, answered_before })
    }
}

/// Says that the same text has an answer on record, which is not the one that would be given.
pub(crate) fn answered_before(charged_at: &str) -> String {
    let day = charged_at.get(..10).unwrap_or(charged_at);
    format!(
        "The same text was charged on {day} and answered; that answer is not for the present \
         data, contract or version"
    )
}

/// How it stands with the charge of a part.
pub(super) fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::New => "to be paid",
        Standing::Paid => "paid, no answer yet",
        Standing::OnRecord => "on record",
    }
}
