//! Holes in a part's query, which the values of earlier releases fill: limits that are chosen
//! privately, and values that it reads.

use datafusion::arrow::array::RecordBatch;
use hushtable_lang::Value;
use hushtable_plan::{ChosenLimits, ReleasedColumn, ReleasedSizes, ReleasedValues};
use hushtable_quote::{Quote, chosen_limits};

use super::StatementPlan;
use super::running::ReleasedPart;
use crate::answer::Question;
use crate::error::EngineError;
use crate::released_sizes::released_sizes;
use crate::value::value_at;

impl StatementPlan {
    /// The question of a part with all that it takes from earlier releases: its limits, and the
    /// values that it reads.
    pub(super) fn filled(
        &self,
        index: usize,
        earlier: &[ReleasedPart],
    ) -> Result<Question, EngineError> {
        let limited = self.limited(index, earlier)?;
        let question = limited.as_ref().unwrap_or(&self.part(index)?.question);
        let reads = &self.bound(index)?.reads;
        let mut values = Vec::with_capacity(reads.len());
        for read in reads {
            let release = earlier.get(read.part).ok_or(EngineError::inconsistent(
                "a part reads another part that is not released before it",
            ))?;
            values.push(given(&release.table.table, read)?);
        }
        Ok(question.with_quote(question.quote.clone().with_released(&values)?))
    }

    /// The question of a part with limits that follow from earlier releases; `None` where it gives
    /// all of its limits itself.
    fn limited(
        &self,
        index: usize,
        earlier: &[ReleasedPart],
    ) -> Result<Option<Question>, EngineError> {
        let (part, planned) = (self.bound(index)?, self.part(index)?);
        if part.limits_from.is_empty() {
            return Ok(None);
        }
        let histograms = part.limits_from.iter().map(|&from| {
            let histogram = earlier.get(from).ok_or(EngineError::inconsistent(
                "a part takes its limits from another part that is not released before it",
            ))?;
            let deviation = histogram.quote.deviation(0).ok_or(EngineError::inconsistent(
                "a histogram that limits are chosen by has no standard deviation",
            ))?;
            Ok((released_sizes(&histogram.table.table)?, deviation))
        });
        let histograms = histograms.collect::<Result<Vec<_>, EngineError>>()?;
        // A report has the limits of its part, whose answer has the warnings.
        let of = part.report_of.first().copied();
        let query = self.part(of.unwrap_or(index))?.question.quote.query();
        let (limits, warnings) = chosen_limits(query, &histograms)?;
        let quote = match self.possible(index, limits)? {
            Some(quote) => quote,
            // This quote was tried before the charge, so that a paid part always has limits.
            None => self.smallest(index, &planned.question)?,
        };
        // The ledger has charged the quoted loss. Limits that cost more would be paid by nobody.
        check_price(&quote, &planned.question)?;
        let warnings = if of.is_none() { warnings } else { Vec::new() };
        Ok(Some(planned.question.with_limits(quote, warnings)))
    }

    /// The quote of a part with the largest limits, from these on, with which it and its report can
    /// be quoted: they may be too large for what a sum or noise can be. `None` where there are
    /// none.
    fn possible(
        &self,
        index: usize,
        mut limits: ChosenLimits,
    ) -> Result<Option<Quote>, EngineError> {
        let of = self.bound(index)?.report_of.first().copied().unwrap_or(index);
        let all = self.statement.parts.iter().enumerate();
        let together = all.filter(|(at, part)| *at == of || part.report_of == [of]);
        let together: Vec<usize> = together.map(|(at, _)| at).collect();
        loop {
            let quotes = together.iter().map(|&at| Ok((at, self.with_limits(at, &limits)?)));
            if let Ok(quotes) = quotes.collect::<Result<Vec<_>, EngineError>>() {
                let quote = quotes.into_iter().find(|(at, _)| *at == index);
                return Ok(quote.map(|(_, quote)| quote));
            }
            match limits.smaller() {
                Some(smaller) => limits = smaller,
                None => return Ok(None),
            }
        }
    }

    fn with_limits(&self, index: usize, limits: &ChosenLimits) -> Result<Quote, EngineError> {
        Ok(Quote::new(self.statement.with_limits(index, limits)?)?)
    }

    /// The quote of a part with the limits that follow from empty histograms.
    pub(super) fn smallest(&self, index: usize, question: &Question) -> Result<Quote, EngineError> {
        let part = self.bound(index)?;
        let nothing = vec![(ReleasedSizes::new(), 1.0); part.limits_from.len()];
        let query = match part.report_of.first() {
            Some(&of) => self.part(of)?.question.quote.query(),
            None => question.quote.query(),
        };
        let (limits, _) = chosen_limits(query, &nothing)?;
        let quote = self.with_limits(index, &limits)?;
        check_price(&quote, question)?;
        Ok(quote)
    }
}

/// Checks that a part with its limits costs no more than was quoted.
fn check_price(quote: &Quote, question: &Question) -> Result<(), EngineError> {
    if quote.total().is_within(question.loss) {
        Ok(())
    } else {
        Err(EngineError::inconsistent(
            "the chosen limits of a part cost more than was quoted for it",
        ))
    }
}

/// Stand-in for values that are read before they are released.
pub(super) fn unknown(read: &ReleasedColumn) -> ReleasedValues {
    if read.all { ReleasedValues::All(Vec::new()) } else { ReleasedValues::One(Value::Null) }
}

/// Values that are read from a released table: a column, or its value in the one row, NULL where
/// there is no row.
pub(crate) fn given(
    table: &RecordBatch,
    read: &ReleasedColumn,
) -> Result<ReleasedValues, EngineError> {
    let column = table.columns().get(read.column).ok_or(EngineError::inconsistent(
        "a part reads a column that the release before it does not have",
    ))?;
    let value = |row| {
        value_at(column, row)
            .ok_or(EngineError::inconsistent("a released column has no value in one of its rows"))
    };
    Ok(match table.num_rows() {
        rows if read.all => ReleasedValues::All((0..rows).map(value).collect::<Result<_, _>>()?),
        0 => unknown(read),
        1 => ReleasedValues::One(value(0)?),
        _ => {
            return Err(EngineError::inconsistent(
                "a part reads one value of a release that has several rows",
            ));
        }
    })
}
