//! The quote of a plan: the price of each part, and how it stands with the ledger.

use hushtable_ledger::{Account, Ledger};
use hushtable_plan::Part;
use hushtable_privacy::{Loss, cost};
use hushtable_quote::{LimitExplanation, MechanismsExplanation, QuotedLevels};

use super::{Payer, PlannedPart, StatementPlan};
use crate::answer::Standing;
use crate::error::EngineError;
use crate::quoted::{AccountQuote, PartQuote, QuestionQuote};

/// Most parts of a statement whose mechanisms and limits are compared with others: each comparison
/// calibrates the part some times more.
const MAX_COMPARED: usize = 3;

impl StatementPlan {
    /// The promise and the price of the question. Changes no file.
    ///
    /// # Errors
    /// When the ledger cannot be read, or refuses every question.
    pub fn quoted(&self) -> Result<QuestionQuote, EngineError> {
        let ledger = self.session.ledger_for_looking()?;
        let mut parts = Vec::with_capacity(self.parts.len());
        for (part, planned) in self.statement.parts.iter().zip(&self.parts) {
            parts.push(self.part_quoted(part, planned, ledger.as_deref())?);
        }
        let mut accounts = Vec::new();
        for (payer, total) in self.payers_of_all().into_iter().zip(&self.totals) {
            accounts.push(self.account_quoted(payer, total.total, &parts, ledger.as_deref())?);
        }
        let mut consistent = Vec::new();
        for levels in &self.statement.consistent {
            consistent.extend(QuotedLevels::new(levels, &self.quotes_of(levels)?).precision()?);
        }
        Ok(QuestionQuote {
            analyst: self.analyst.clone(),
            parts,
            around: self.statement.around.as_ref().map(|around| around.sql.clone()),
            consistent,
            together: self.together.clone(),
            accounts,
            answered_before: self.answered_before(ledger.as_deref())?,
        })
    }

    fn part_quoted(
        &self,
        part: &Part,
        planned: &PlannedPart,
        ledger: Option<&dyn Ledger>,
    ) -> Result<PartQuote, EngineError> {
        let quote = &planned.question.quote;
        let is_compared = self.parts.len() <= MAX_COMPARED;
        Ok(PartQuote {
            name: part.name.clone(),
            sql: planned.question.sql.clone(),
            weight: part.weight,
            reads: self.names_read(part),
            report_of: self.names_of(&part.report_of),
            limits_from: self.names_of(&part.limits_from),
            is_histogram: part.is_histogram,
            same_as: self.name_of_first(planned)?,
            automatic: quote.query().automatic_limits(),
            explanation: planned.question.explanation.clone(),
            mechanisms: if is_compared { MechanismsExplanation::of(quote) } else { Vec::new() },
            limits: if is_compared { LimitExplanation::around(quote) } else { Vec::new() },
            standing: self.standing(planned, ledger)?,
        })
    }

    fn account_quoted(
        &self,
        payer: &Payer,
        total: Loss,
        parts: &[PartQuote],
        ledger: Option<&dyn Ledger>,
    ) -> Result<AccountQuote, EngineError> {
        let Payer { population, limit } = payer;
        let mut charge: Option<Loss> = None;
        for (planned, quoted) in self.parts.iter().zip(parts) {
            let pays = planned.same_as.is_none() && planned.is_paid_by(population);
            if pays && quoted.standing == Standing::New {
                // A loss that the budget's currency cannot hold is shown as it is; the ledger would
                // refuse it.
                let loss = planned.question.loss;
                let loss = cost(loss, &planned.question.quote.events(), *limit).unwrap_or(loss);
                let sum = charge.map_or(Ok(loss), |charge| charge.plus(loss));
                charge = Some(sum.map_err(|_| {
                    EngineError::inconsistent("the charges of the parts have no sum")
                })?);
            }
        }
        let account = match ledger {
            Some(ledger) => ledger.account(&self.analyst, population, *limit)?,
            None => Account::untouched(*limit),
        };
        let charge = charge.unwrap_or(limit.nothing());
        Ok(AccountQuote { population: population.clone(), total, account, charge })
    }

    fn standing(
        &self,
        planned: &PlannedPart,
        ledger: Option<&dyn Ledger>,
    ) -> Result<Standing, EngineError> {
        let population = &planned.payer()?.population;
        match ledger {
            Some(ledger) => Standing::of(ledger, &self.analyst, population, &planned.identity),
            None => Ok(Standing::New),
        }
    }

    /// When the text of a question that is to be charged was charged last and answered: about other
    /// data, or under another contract. For plain queries alone: the text of a part lacks its share
    /// of the budget and the options of its statement.
    pub(super) fn answered_before(
        &self,
        ledger: Option<&dyn Ledger>,
    ) -> Result<Option<String>, EngineError> {
        let (Some(ledger), Some(sql)) = (ledger, self.origin.sql()) else { return Ok(None) };
        if !self.statement.is_plain() {
            return Ok(None);
        }
        let planned = self.part(0)?;
        if self.standing(planned, Some(ledger))? != Standing::New {
            return Ok(None);
        }
        Ok(ledger.answered_before(&self.analyst, &planned.payer()?.population, sql)?)
    }
}
