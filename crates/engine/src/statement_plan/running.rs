//! Answering a plan: charged once, each part drawn once and put on record, then what is computed
//! from the releases.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use hushtable_lang::Refusal;
use hushtable_ledger::{Ledger, Outcome, Payment, PaymentOutcome};
use hushtable_noise::Generator;
use hushtable_plan::{Around, Part};
use hushtable_quote::Quote;

use super::StatementPlan;
use super::paying::{PaidPart, begin};
use crate::answer::{Answering, Question, Timings};
use crate::answer_table::{AccountCharge, Answer, AnswerTable, Behind, Charges};
use crate::around::AroundPlan;
use crate::consistent;
use crate::error::EngineError;
use crate::exact::Scan;
use crate::intervals::Uncertainty;
use crate::record::{RecordedRelease, ReleaseStatement, decode};
use crate::release::ReleasedTable;
use crate::runtime::heavy;
use crate::statement::{ClippingReport, JointPromise, PartStatement, Statement};
use crate::traced::TracedResult;

/// The release of a part.
pub(super) struct ReleasedPart {
    recorded: RecordedRelease,
    pub(super) table: ReleasedTable,
    statement: ReleaseStatement,
    /// The part with the released values that it reads in their places.
    pub(super) quote: Quote,
    /// Whether it was on record before.
    on_record: bool,
}

/// The contents of the statement, as far as parts are answered.
struct StatementContents {
    stated: Vec<PartStatement>,
    clipping_reports: Vec<ClippingReport>,
    /// Whether levels that were to be adjusted do not fit each other.
    levels_misfit: bool,
    /// The charges for it, in words.
    spent: String,
}

impl StatementContents {
    /// The loss that readers of a table see where levels do not fit each other.
    fn misfit_texts(&self) -> Vec<String> {
        let text = "what limits cut off at some levels more than at others: these do not fit each \
                    other, and stay as they were released";
        self.levels_misfit.then(|| text.to_owned()).into_iter().collect()
    }
}

/// The charges in words.
fn spent(charges: &Charges) -> String {
    let of = |account: &AccountCharge| {
        account.charged.as_ref().map(|charged| format!("{charged} on `{}`", account.population))
    };
    let all: Vec<String> = charges.accounts.iter().filter_map(of).collect();
    match all.is_empty() {
        true => "nothing was charged now".to_owned(),
        false => format!("charged {}", all.join(", ")),
    }
}

/// A refusal that depends on released values, with what was charged for them.
fn after_the_charge(error: EngineError, spent: &str) -> EngineError {
    match error {
        EngineError::Refused(mut refusal) => {
            refusal.what += "; ";
            refusal.what += spent;
            refusal.what += ": the releases are on record, and other SQL around them costs nothing";
            EngineError::Refused(refusal)
        }
        other => other,
    }
}

impl StatementPlan {
    /// Charges all parts that are not paid for, answers them in their order, and puts each on
    /// record by itself. `charged` gets the charges when they stand; `answered` gets each output
    /// when all that it is computed from is on record, and returns the name of the file that it
    /// writes it to, for the statement.
    ///
    /// Stopped at any moment and asked again, a question is not charged again, and what is on
    /// record is given again to the byte.
    ///
    /// # Errors
    /// When the budget does not suffice for all or the ledger cannot be written; when the data
    /// cannot be read, or `answered` fails, which leaves the charges in place.
    pub async fn release<E: From<EngineError>>(
        self,
        charged: impl FnOnce(&Charges),
        answered: impl FnMut(&AnswerTable) -> Result<Option<String>, E>,
    ) -> Result<Statement, E> {
        // A generator that does not work is found out before anything is charged.
        let mut generator = Generator::from_os().map_err(EngineError::from)?;
        Ok(self.release_with(&mut generator, charged, answered).await?.0)
    }

    /// The answer to a question in SQL.
    ///
    /// # Errors
    /// Those of [`release`](Self::release).
    pub async fn answer(self) -> Result<Answer, EngineError> {
        // A generator that does not work is found out before anything is charged.
        let mut generator = Generator::from_os()?;
        Ok(self.answer_with(&mut generator).await?.0)
    }

    /// The answer to a question in SQL, with a given generator.
    pub(crate) async fn answer_with(
        self,
        generator: &mut Generator,
    ) -> Result<(Answer, Timings), EngineError> {
        if self.origin.has_answer_for_each() {
            return Err(EngineError::Refused(Refusal::new(
                "the question has an answer for each of its parts, and no single one",
                "release it; nothing was charged",
            )));
        }
        let (mut charges, mut output) = (None, None);
        let charged = |now: &Charges| charges = Some(now.clone());
        let answered = |now: &AnswerTable| {
            output = Some(now.clone());
            Ok::<_, EngineError>(None)
        };
        let (statement, timings) = self.release_with(generator, charged, answered).await?;
        let (Some(charges), Some(output)) = (charges, output) else {
            return Err(EngineError::inconsistent("a question was answered without an output"));
        };
        let table = output.table.clone();
        Ok((Answer { table, output, statement, charges }, timings))
    }

    /// Answers with a given generator; see [`release`](Self::release).
    pub(crate) async fn release_with<E: From<EngineError>>(
        mut self,
        generator: &mut Generator,
        charged: impl FnOnce(&Charges),
        mut answered: impl FnMut(&AnswerTable) -> Result<Option<String>, E>,
    ) -> Result<(Statement, Timings), E> {
        if self.progress.is_given_up() {
            return Err(EngineError::Interrupted.into());
        }
        let mut timings = Timings::default();
        let started = Instant::now();
        let (mut ledger, paid, spent) = heavy(|| {
            let mut ledger = self.session.ledger_of(&self.progress)?;
            let before = self.answered_before(Some(&*ledger))?;
            let paid = self.pay(&mut *ledger)?;
            let charges = self.charges(&paid, &*ledger, before)?;
            if charges.accounts.iter().any(|account| account.charged.is_some()) {
                // The parts that this question was charged for go on record, whoever still waits.
                ledger.give_up_when(Arc::new(|| false));
            }
            charged(&charges);
            Ok::<_, EngineError>((ledger, paid, spent(&charges)))
        })?;
        timings.ledger = started.elapsed();
        let mut whole = StatementContents {
            stated: Vec::new(),
            clipping_reports: Vec::new(),
            levels_misfit: false,
            spent,
        };
        let mut released: Vec<ReleasedPart> = Vec::with_capacity(paid.len());
        for (index, paid) in paid.into_iter().enumerate() {
            let mut answering = Answering { ledger: &mut *ledger, generator: &mut *generator };
            // One after the other: a part may read the release of an earlier one, and each is on
            // record before the next is drawn.
            let next = self.released(index, paid, &released, &mut answering, &mut timings).await;
            let next = next.map_err(|error| self.error_of(index, error))?;
            released.push(next);
            let following = self.statement.parts.get(index + 1);
            if self.is_streamed() && following.is_none_or(Part::is_requested) {
                // A query, and its clipping report if it has one.
                let group = std::mem::take(&mut released);
                self.answer_each(index + 1 - group.len(), group, &mut whole, &mut answered)?;
            }
            self.progress.advance();
        }
        if !released.is_empty() {
            let started = Instant::now();
            self.answer_together(released, &mut whole, answered).await?;
            timings.showing += started.elapsed();
        }
        Ok((self.whole_statement(whole)?, timings))
    }

    /// Whether each part is an output by itself, which needs the release of no other part.
    fn is_streamed(&self) -> bool {
        self.origin.has_answer_for_each()
            && self.statement.consistent.is_empty()
            && self.parts.iter().all(|part| part.same_as.is_none())
            && self.statement.parts.iter().all(|part| part.limits_from.is_empty())
    }

    /// The outputs that are computed from several releases.
    async fn answer_together<E: From<EngineError>>(
        &self,
        released: Vec<ReleasedPart>,
        whole: &mut StatementContents,
        mut answered: impl FnMut(&AnswerTable) -> Result<Option<String>, E>,
    ) -> Result<(), E> {
        if self.origin.has_answer_for_each() {
            return self.answer_each(0, released, whole, &mut answered);
        }
        let (table, behind) = match (&self.statement.around, &self.around) {
            (Some(around), Some(plan)) => {
                let ran = self.around(around, plan, &released, &mut whole.levels_misfit).await;
                ran.map_err(|error| after_the_charge(error, &whole.spent))?
            }
            _ => {
                let last = released.get(self.last_asked()?);
                let last = last.ok_or(EngineError::inconsistent(
                    "the last part that is asked has no release",
                ))?;
                let uncertainty = Uncertainty::new(&last.quote, last.table.clone());
                (last.table.table.clone(), Behind::Release(Box::new(uncertainty)))
            }
        };
        let parts = self.statement.parts.iter();
        let wanted = parts.clone().find_map(|part| part.query.intervals());
        let on_record = released.iter().all(|release| release.on_record);
        let mut cut_off: Vec<String> = whole.misfit_texts();
        for (index, (part, release)) in parts.zip(released).enumerate() {
            let ReleasedPart { statement, table, quote, .. } = release;
            for text in &statement.explanation.intervals.not_in_them {
                if part.is_requested() && !cut_off.contains(text) {
                    cut_off.push(text.clone());
                }
            }
            whole.clipping_reports.extend(self.report(part, &quote, &table)?);
            whole.stated.push(self.stated(index, None, statement)?);
        }
        let clipping_reports = whole.clipping_reports.clone();
        let name = None;
        answered(&AnswerTable {
            name,
            table,
            on_record,
            cut_off,
            clipping_reports,
            wanted,
            behind,
        })?;
        Ok(())
    }

    /// The outputs of a workload's queries, which are the parts from `first` on, each with its
    /// clipping report.
    fn answer_each<E: From<EngineError>>(
        &self,
        first: usize,
        released: Vec<ReleasedPart>,
        whole: &mut StatementContents,
        answered: &mut impl FnMut(&AnswerTable) -> Result<Option<String>, E>,
    ) -> Result<(), E> {
        let misfit = &mut whole.levels_misfit;
        let tables = heavy(|| self.tables_of_workload(first, &released, misfit))?;
        let mut reports: Vec<(usize, ClippingReport)> = Vec::new();
        for (index, next) in (first..).zip(&released) {
            let part = self.bound(index)?;
            let report = self.report(part, &next.quote, &next.table)?;
            reports.extend(part.report_of.iter().copied().zip(report));
        }
        let mut tables = tables.into_iter();
        for (index, next) in (first..).zip(released) {
            let part = self.bound(index)?;
            let mut file = None;
            if part.is_requested() {
                let uncertainty = tables
                    .next()
                    .ok_or(EngineError::inconsistent("a query of a workload has no table"))?;
                let about = reports.iter().filter(|(of, _)| *of == index);
                let output = AnswerTable {
                    name: Some(part.name.clone()),
                    table: uncertainty.table().clone(),
                    on_record: next.on_record,
                    cut_off: [
                        whole.misfit_texts(),
                        next.statement.explanation.intervals.not_in_them.clone(),
                    ]
                    .concat(),
                    clipping_reports: about.map(|(_, report)| report.clone()).collect(),
                    wanted: uncertainty.interval_request(),
                    behind: Behind::Release(Box::new(uncertainty)),
                };
                file = answered(&output)?;
            }
            whole.stated.push(self.stated(index, file, next.statement)?);
        }
        whole.clipping_reports.extend(reports.into_iter().map(|(_, report)| report));
        Ok(())
    }

    /// The tables of the queries among some parts of a workload, adjusted to each other where that
    /// is asked for; `misfit` becomes true where they do not fit.
    fn tables_of_workload(
        &self,
        first: usize,
        released: &[ReleasedPart],
        misfit: &mut bool,
    ) -> Result<Vec<Uncertainty>, EngineError> {
        let parts = self.statement.parts.iter().skip(first).zip(released);
        let queries = parts.filter(|(part, _)| part.is_requested());
        if self.statement.consistent.is_empty() {
            let table = |(_, next): (&Part, &ReleasedPart)| {
                Uncertainty::new(&next.quote, next.table.clone())
            };
            return Ok(queries.map(table).collect());
        }
        let adjusted = self.adjusted(released, misfit)?;
        let names = queries.map(|(part, _)| &part.name);
        if !names.eq(adjusted.iter().map(|(name, _)| name)) {
            return Err(EngineError::inconsistent(
                "the adjusted tables of a workload are not those of its queries",
            ));
        }
        Ok(adjusted.into_iter().map(|(_, table)| table).collect())
    }

    /// The clipping report that a part is, if it is one.
    fn report(
        &self,
        part: &Part,
        quote: &Quote,
        table: &ReleasedTable,
    ) -> Result<Option<ClippingReport>, EngineError> {
        if part.report_of.is_empty() {
            return Ok(None);
        }
        let of = self.names_of(&part.report_of);
        ClippingReport::new(of, &Uncertainty::new(quote, table.clone())).map(Some)
    }

    /// The tables of levels that are adjusted to each other, by their names in the SQL around;
    /// `misfit` becomes true where some do not fit.
    fn adjusted(
        &self,
        released: &[ReleasedPart],
        misfit: &mut bool,
    ) -> Result<Vec<(String, Uncertainty)>, EngineError> {
        let mut tables = Vec::new();
        for levels in &self.statement.consistent {
            let of = |index: usize| released.get(index).map(|r| (&r.quote, &r.table));
            let releases: Option<Vec<_>> = self.levels_of(levels)?.into_iter().map(of).collect();
            let releases = releases
                .ok_or(EngineError::inconsistent("a level of a consistent table has no release"))?;
            let names = levels.levels.iter().map(|level| level.table.clone());
            let adjusted = consistent::adjusted(levels, &releases)?;
            *misfit |= !adjusted.fit;
            tables.extend(names.zip(adjusted.tables));
        }
        Ok(tables)
    }

    /// Runs the SQL around the parts on their released tables.
    async fn around(
        &self,
        around: &Around,
        plan: &AroundPlan,
        released: &[ReleasedPart],
        misfit: &mut bool,
    ) -> Result<(RecordBatch, Behind), EngineError> {
        let names = self.statement.parts.iter().map(|part| part.name.clone());
        let uncertainty =
            |release: &ReleasedPart| Uncertainty::new(&release.quote, release.table.clone());
        let mut tables: Vec<_> = names.zip(released.iter().map(uncertainty)).collect();
        tables.extend(heavy(|| self.adjusted(released, misfit))?);
        let mut behind: Vec<Uncertainty> = Vec::new();
        for name in plan.tables() {
            let table = tables.iter().find(|(table, _)| table == name);
            let (_, table) = table.ok_or(EngineError::inconsistent(
                "SQL around private parts reads a table that no part releases",
            ))?;
            behind.push(table.clone());
        }
        let tables = behind.iter().map(Uncertainty::table);
        let ran = plan.run(tables, self.session.memory()).await?;
        let table = ran.table.clone();
        let traced = around.traced.clone();
        Ok((table, Behind::Around(Box::new(TracedResult::new(behind, traced, ran)))))
    }

    /// The release of a part: that on record, or a new one.
    pub(super) async fn released(
        &mut self,
        index: usize,
        paid: Option<PaidPart>,
        earlier: &[ReleasedPart],
        answering: &mut Answering<'_>,
        timings: &mut Timings,
    ) -> Result<ReleasedPart, EngineError> {
        // Values from earlier releases have noise, so that limits and constants that follow from
        // them are free.
        let question = heavy(|| self.filled(index, earlier))?;
        let mut on_record = true;
        let recorded = match (paid, self.part(index)?.same_as.and_then(|first| earlier.get(first)))
        {
            (Some(paid), _) => match heavy(|| paid.due(answering.ledger))? {
                Due::Nothing(recorded) => *recorded,
                Due::Release(payments) => {
                    let scan = self.parts.get_mut(index).and_then(|part| part.scan.take());
                    let answered = self.answered(index, &question, payments, scan, answering);
                    let (recorded, times, is_old) = answered.await?;
                    *timings = timings.and(times);
                    on_record = is_old;
                    recorded
                }
            },
            // The same identity is the same release: a second draw would be a second charge.
            (None, Some(first)) => first.recorded.clone(),
            (None, None) => {
                return Err(EngineError::inconsistent(
                    "a part is neither paid for nor the same as a released part",
                ));
            }
        };
        let started = Instant::now();
        let (table, statement) = heavy(|| recorded.answering(&question))?;
        timings.showing += started.elapsed();
        Ok(ReleasedPart { recorded, table, statement, quote: question.quote, on_record })
    }

    /// Reads what is paid for, draws once and records; or finds that another program has.
    async fn answered(
        &self,
        index: usize,
        question: &Question,
        (payment, others): (Payment, Vec<Payment>),
        scan: Option<Scan>,
        answering: &mut Answering<'_>,
    ) -> Result<(RecordedRelease, Timings, bool), EngineError> {
        let part = self.part(index)?;
        let scan = match scan {
            Some(scan) => scan,
            None => {
                let memory = self.session.memory();
                Scan::plan(&question.quote, &part.data, &part.reading, memory).await?
            }
        };
        let mut timings = Timings::default();
        let paid = (&payment, others.as_slice());
        match heavy(|| begin(&self.session, &part.data, answering.ledger, paid))? {
            Outcome::Stored(stored) => {
                // Another program drew it meanwhile. The other accounts get that draw, never one of
                // their own.
                heavy(|| answering.ledger.copy(&others, &stored.release))?;
                Ok((decode(&stored.release)?, timings, true))
            }
            Outcome::Charged(charge) => {
                let charge = (charge, others);
                let answer =
                    Box::pin(answering.answer(question, part.identity, charge, scan, &mut timings));
                let recorded = answer.await?;
                Ok((recorded, timings, false))
            }
        }
    }

    /// The index of the last part that asks what the question asks.
    fn last_asked(&self) -> Result<usize, EngineError> {
        let index = self.statement.parts.iter().rposition(|part| part.is_requested());
        index.ok_or(EngineError::inconsistent("no part of a statement is asked for"))
    }

    fn stated(
        &self,
        index: usize,
        file: Option<String>,
        release: ReleaseStatement,
    ) -> Result<PartStatement, EngineError> {
        let part = self.bound(index)?;
        Ok(PartStatement {
            name: part.name.clone(),
            file,
            weight: part.weight,
            reads: self.names_read(part),
            report_of: self.names_of(&part.report_of),
            limits_from: self.names_of(&part.limits_from),
            is_histogram: part.is_histogram,
            same_as: self.name_of_first(self.part(index)?)?,
            release,
        })
    }

    fn whole_statement(&self, whole: StatementContents) -> Result<Statement, EngineError> {
        Ok(Statement {
            sql: self.origin.sql().map(str::to_owned),
            together: self.together.clone().map(JointPromise::new),
            around: self.statement.around.as_ref().map(|around| around.sql.clone()),
            consistent: self.origin.consistent().map(str::to_owned),
            levels_misfit: whole.levels_misfit,
            clipping_reports: whole.clipping_reports,
            ..Statement::new(self.analyst.clone(), self.totals.clone(), whole.stated)
        })
    }
}

/// The work that is left for a part that is paid for.
enum Due {
    /// Nothing: its release is on record.
    Nothing(Box<RecordedRelease>),
    /// Its release, for these payments: that of the population that the part bounds is first.
    Release((Payment, Vec<Payment>)),
}

impl PaidPart {
    /// The work that is left. A release that one of the accounts has on record is copied to the
    /// others.
    fn due(self, ledger: &mut dyn Ledger) -> Result<Due, EngineError> {
        let mut payments = Vec::new();
        let mut stored = None;
        for paid in [self.first].into_iter().chain(self.beside) {
            match paid {
                // A population that has the release must not see another draw of it: the others
                // get a copy, though they have paid.
                PaymentOutcome::Stored(release) => stored = stored.or(Some(release)),
                PaymentOutcome::Charged(payment) => payments.push(payment),
            }
        }
        if let Some(stored) = stored {
            // The copy goes on record before it is shown, or an account could be charged again for
            // the same answer.
            ledger.copy(&payments, &stored.release)?;
            return Ok(Due::Nothing(Box::new(decode(&stored.release)?)));
        }
        let mut payments = payments.into_iter();
        let first = payments.next().ok_or(EngineError::inconsistent("a part has no payment"))?;
        Ok(Due::Release((first, payments.collect())))
    }
}
