//! The plan of a question: its private parts, checked and priced, each ready to be read.
//!
//! All parts are planned before anything is charged, and all are charged at once. Each is answered
//! and put on record by itself, and what is around them is computed from what is on record. A
//! question that was stopped continues with what it has paid for.

mod holes;
mod on_record;
mod paying;
mod quoting;
mod running;

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use hushtable_ledger::{Fingerprint, Ledger};
use hushtable_plan::{
    Consistent, ConsistentLevel, Part, ReleasedColumn, ReleasedValues, SqlStatement, Warning,
};
use hushtable_privacy::Loss;
use hushtable_quote::{JointExplanation, Quote, QuotedLevels};

#[cfg(test)]
pub(crate) use self::holes::given;
use self::on_record::OnRecord;
use crate::answer::Question;
use crate::around::AroundPlan;
use crate::error::EngineError;
use crate::exact::Scan;
use crate::learnt_records;
use crate::origin::QuestionOrigin;
use crate::progress::Progress;
use crate::record::{family, fingerprint};
use crate::runtime::heavy;
use crate::session::Session;
use crate::source::convert::arrow_type;
use crate::source::{Data, ReadProgress};
use crate::statement::PopulationTotal;

/// A question that has passed every check that does not need the ledger: it can be quoted, or
/// answered.
pub struct StatementPlan {
    session: Arc<Session>,
    origin: QuestionOrigin,
    /// Its parts as they were bound, the SQL around them and what is adjusted.
    statement: SqlStatement,
    /// The SQL around the parts as it runs.
    around: Option<AroundPlan>,
    analyst: String,
    /// The parts of the statement, in its order.
    parts: Vec<PlannedPart>,
    /// The loss of each population's units by all parts.
    totals: Vec<PopulationTotal>,
    /// The joint promise of all queries of a workload.
    together: Option<JointExplanation>,
    progress: Progress,
}

/// A private part that is ready to be charged.
struct PlannedPart {
    question: Question,
    identity: Fingerprint,
    /// The part of its identity that questions share if one's release may hold the other's answer.
    family: Fingerprint,
    /// Where the rows of its tables are.
    data: Data,
    /// The accounts that pay; that of the population that the part bounds is first.
    payers: Vec<Payer>,
    /// The earlier part whose release it shows in another way.
    same_as: Option<usize>,
    reading: Arc<ReadProgress>,
    /// The reading of the data for it; `None` where only earlier releases, or another part's
    /// reading, can tell.
    scan: Option<Scan>,
}

/// An account that pays, by its population, with the analyst's limit on it.
#[derive(Clone, Debug, PartialEq)]
struct Payer {
    population: String,
    limit: Loss,
}

impl StatementPlan {
    /// Checks and prices all parts of a statement; looks whether the tables have what they read,
    /// and whether the SQL around them can be run. Charges nothing, reads no value of protected
    /// tables and changes no file.
    ///
    /// # Errors
    /// For the first part that is refused; when the analyst has no budget for it.
    pub(crate) async fn new(
        session: &Arc<Session>,
        origin: QuestionOrigin,
        statement: SqlStatement,
        analyst: Option<&str>,
        progress: &Progress,
    ) -> Result<Self, EngineError> {
        let readings = progress.start(statement.parts.len());
        // Behind a lock, as plans move between threads.
        let ledger = Mutex::new(heavy(|| session.ledger_in_silence())?);
        let mut plan = Self {
            session: Arc::clone(session),
            origin,
            statement,
            around: None,
            analyst: String::new(),
            parts: Vec::with_capacity(readings.len()),
            totals: Vec::new(),
            together: None,
            progress: progress.clone(),
        };
        for (index, reading) in readings.into_iter().enumerate() {
            let (name, payers) = plan.payers(index, analyst)?;
            if index == 0 {
                plan.analyst = name;
            } else if name != plan.analyst {
                return Err(no_common_analyst(&payers, &name, &plan.analyst));
            }
            let part = plan.planned(index, payers, reading, &ledger).await;
            let part = part.map_err(|error| plan.error_of(index, error))?;
            plan.parts.push(part);
        }
        if plan.parts.is_empty() {
            return Err(EngineError::inconsistent("a statement has no part"));
        }
        // The SQL around may be refused, too, and a refusal after the charge would cost the budget
        // for nothing.
        plan.around = plan.planned_around().await?;
        // Nothing that follows from the question alone may fail after the charge.
        plan.totals = plan.all_totals()?;
        plan.together = heavy(|| plan.joint())?;
        Ok(plan)
    }

    /// How far the work is, for another thread to look at.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The warnings about the parts, each with its part's name.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &Warning)> {
        self.statement.parts.iter().zip(&self.parts).flat_map(|(part, planned)| {
            let warnings = planned.question.explanation.warnings.iter();
            warnings.map(|warning| (part.name.as_str(), warning))
        })
    }

    /// An error about a part, with the place of its query in a workload. Reports follow theirs, and
    /// what limits are chosen from stands before them.
    fn error_of(&self, part: usize, error: EngineError) -> EngineError {
        let parts = &self.statement.parts;
        let before = parts.iter().take(part).filter(|part| part.is_requested()).count();
        let is_report = parts.get(part).is_some_and(|part| !part.report_of.is_empty());
        self.origin.error_of(before.saturating_sub(usize::from(is_report)), error)
    }

    /// The analyst who pays for a part, and the accounts.
    fn payers(
        &self,
        index: usize,
        analyst: Option<&str>,
    ) -> Result<(String, Vec<Payer>), EngineError> {
        let mut payers: Vec<Payer> = Vec::new();
        let mut first: Option<String> = None;
        for population in self.session.populations(&self.bound(index)?.query)? {
            let (name, limit) = self.origin.payer(population, analyst)?;
            payers.push(Payer { population: population.name.clone(), limit });
            match &first {
                Some(first) if *first != name => {
                    return Err(no_common_analyst(&payers, &name, first));
                }
                _ => first = Some(name),
            }
        }
        let first =
            first.ok_or(EngineError::inconsistent("a part has no population that pays for it"))?;
        Ok((first, payers))
    }

    /// Prices the next part, and plans what is read for it.
    async fn planned(
        &self,
        index: usize,
        payers: Vec<Payer>,
        reading: Arc<ReadProgress>,
        ledger: &Mutex<Option<Box<dyn Ledger>>>,
    ) -> Result<PlannedPart, EngineError> {
        let mut next = heavy(|| {
            let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            self.priced(index, payers, reading, ledger.as_deref())
        })?;
        let part = self.bound(index)?;
        let memory = self.session.memory();
        let quote = &next.question.quote;
        let scan = if part.reads.is_empty() {
            Scan::plan(quote, &next.data, &next.reading, memory).await?
        } else {
            // The types of released values are known, and no schema depends on the values.
            let nothing: Vec<ReleasedValues> = part.reads.iter().map(holes::unknown).collect();
            let quote = quote.clone().with_released(&nothing)?;
            Scan::plan(&quote, &next.data, &next.reading, memory).await?
        };
        // A query in which one row could cost too much is refused before it is charged.
        self.session.check_row(quote.query(), &next.data).await?;
        if !part.limits_from.is_empty() {
            // Limits that are always possible are tried before anything is charged.
            heavy(|| self.smallest(index, &next.question))?;
        }
        let is_whole = part.reads.is_empty() && part.limits_from.is_empty();
        // The plan of a part with holes was only tried: its real limits and values are not known
        // yet.
        next.scan = (is_whole && next.same_as.is_none()).then_some(scan);
        Ok(next)
    }

    fn priced(
        &self,
        index: usize,
        payers: Vec<Payer>,
        reading: Arc<ReadProgress>,
        ledger: Option<&dyn Ledger>,
    ) -> Result<PlannedPart, EngineError> {
        let part = self.bound(index)?;
        let earlier = self.parts.iter().map(|part| &part.question.quote);
        let quote = Quote::beside(part.query.clone(), earlier)?;
        let data = self.session.data_of_query(quote.query())?;
        let sql = self.sql_of(part);
        let analyst = self.analyst.clone();
        let parts = self.origin.parts_together(&self.statement);
        let mut question = Question::new(sql, analyst, quote, parts)?;
        // Which values it will read is part of the question, and so are the files they come from.
        let mut all = data.clone();
        for &ReleasedColumn { part, column, .. } in &part.reads {
            let read = self.part(part)?;
            let text = read.question.quote.query().shown_in(column);
            let text = text.map_err(|_| {
                EngineError::inconsistent("a column that a part reads cannot be written as JSON")
            })?;
            question.extend(&format!("{} {text}", read.question.hash));
            // Otherwise a part would be given from the record although the value that it reads is
            // of other files.
            all.extend(self.all_data(part)?);
        }
        for &from in &part.limits_from {
            // Which mechanisms it has follows from its wishes when its limits are known.
            let wishes = question.quote.query().wishes();
            question.extend(&format!("limits {} {wishes}", self.part(from)?.question.hash));
        }
        if let (false, Some(&of)) = (part.limits_from.is_empty(), part.report_of.first()) {
            // Its limits are those of its part, which follow from all that the part measures.
            question.extend(&format!("limits of {}", self.part(of)?.question.hash));
        }
        // Where bounds are learnt, later questions find the record by the column, whatever the data
        // are then.
        let learnt = match &self.origin {
            QuestionOrigin::Learning(learning) => {
                Some(learnt_records::identity_of_part(&self.session, learning, index)?)
            }
            QuestionOrigin::Sql(_) | QuestionOrigin::Workload(_) => None,
        };
        if let Some(column) = &learnt {
            question.extend(column);
        }
        let mut identity = fingerprint(&question.analyst, &question.hash, &all)?;
        let family = match &learnt {
            Some(column) => learnt_records::column_family(column),
            None => fingerprint(&question.analyst, &family(question.quote.query())?, &all)?,
        };
        if let Some(ledger) = ledger
            && let Some(payer) = payers.first()
            && self.may_be_part_of_another(index)?
        {
            let on_record = OnRecord { ledger, population: &payer.population, data: &all };
            if let Some(wider) = on_record.wider(&question, parts, (identity, family))? {
                identity = fingerprint(&wider.analyst, &wider.hash, &all)?;
                question = wider;
            }
        }
        // Parts that were not expected to have one release may come to the same price.
        let same_as = self.parts.iter().position(|other| other.identity == identity);
        let expected = part.same_as.map(|first| self.part(first)).transpose()?;
        // The statement's budget was divided as if both were one release; two would cost more.
        if expected.is_some_and(|first| first.identity != identity) {
            return Err(EngineError::inconsistent(
                "a part and the part whose release it shares have different identities",
            ));
        }
        Ok(PlannedPart { question, identity, family, data, payers, same_as, reading, scan: None })
    }

    /// Whether a release on record that was made for more can answer a part. Not where parts depend
    /// on each other: then what each has measured counts, and is part of the other's identity.
    fn may_be_part_of_another(&self, index: usize) -> Result<bool, EngineError> {
        let part = self.bound(index)?;
        let is_needed = |other: &Part| {
            other.reads.iter().any(|read| read.part == index)
                || other.limits_from.contains(&index)
                || other.report_of.contains(&index)
        };
        Ok(!matches!(self.origin, QuestionOrigin::Learning(_))
            && part.reads.is_empty()
            && part.limits_from.is_empty()
            && part.is_requested()
            && self.statement.consistent.is_empty()
            && !self.statement.parts.iter().any(is_needed))
    }

    /// The SQL of a part: that of the whole statement, where the part is all of it.
    fn sql_of<'a>(&'a self, part: &'a Part) -> &'a str {
        match &self.origin {
            QuestionOrigin::Sql(sql) if self.statement.is_plain() => sql,
            _ => &part.sql,
        }
    }

    /// Plans the SQL around the parts; checks that levels can be adjusted to each other.
    async fn planned_around(&self) -> Result<Option<AroundPlan>, EngineError> {
        let parts = self.statement.parts.iter().zip(&self.parts);
        let tables =
            parts.map(|(part, planned)| (part.name.clone(), schema(&planned.question.quote)));
        let mut tables: Vec<_> = tables.collect();
        for consistent in &self.statement.consistent {
            let quotes = self.quotes_of(consistent)?;
            let levels = QuotedLevels::new(consistent, &quotes);
            levels.measurements().map_err(|refusal| self.origin.refused(refusal))?;
            let names = consistent.levels.iter().map(|level| level.table.clone());
            tables.extend(names.zip(quotes.into_iter().map(schema)));
        }
        let Some(around) = &self.statement.around else { return Ok(None) };
        let planned = AroundPlan::new(around, &tables, self.session.memory()).await;
        planned.map(Some).map_err(|error| match error {
            EngineError::Refused(refusal) => self.origin.refused(refusal),
            error => error,
        })
    }

    /// The promise of all queries of a workload together; `None` where several populations pay,
    /// each for its own queries.
    fn joint(&self) -> Result<Option<JointExplanation>, EngineError> {
        let QuestionOrigin::Workload(_) = &self.origin else { return Ok(None) };
        let payers = self.payers_of_all();
        let [payer] = payers.as_slice() else { return Ok(None) };
        let parts = self.statement.parts.iter().zip(&self.parts);
        // One release is paid for once.
        let paid = parts.filter(|(_, planned)| planned.same_as.is_none());
        let each = paid.map(|(part, planned)| {
            (part.name.as_str(), &planned.question.quote, &planned.question.explanation)
        });
        let table = self.session.contract().tables.get(&payer.population);
        Ok(Some(JointExplanation::new(&each.collect::<Vec<_>>(), table)?))
    }

    /// The loss of a population's units by all parts.
    fn total_of(&self, population: &str) -> Result<Loss, EngineError> {
        let parts = self.parts.iter().filter(|part| part.same_as.is_none());
        let paid = parts.filter(|part| part.is_paid_by(population));
        let sum = paid.map(|part| Ok(part.question.loss)).reduce(|sum, loss| {
            sum?.plus(loss?).map_err(|_| {
                EngineError::inconsistent("the losses of the parts to one population have no sum")
            })
        });
        sum.unwrap_or(Err(EngineError::inconsistent(
            "a population that pays for a statement pays for none of its parts",
        )))
    }

    /// The loss of each population's units, in the order of the accounts.
    fn all_totals(&self) -> Result<Vec<PopulationTotal>, EngineError> {
        let total = |payer: &Payer| {
            let total = self.total_of(&payer.population)?;
            Ok(PopulationTotal { population: payer.population.clone(), total })
        };
        self.payers_of_all().into_iter().map(total).collect()
    }

    /// A part as it was bound.
    fn bound(&self, index: usize) -> Result<&Part, EngineError> {
        self.statement
            .parts
            .get(index)
            .ok_or(EngineError::inconsistent("a part is planned that is not in the statement"))
    }

    /// A part that is planned.
    fn part(&self, index: usize) -> Result<&PlannedPart, EngineError> {
        self.parts.get(index).ok_or(EngineError::inconsistent(
            "a part names another part that is not planned before it",
        ))
    }

    /// The files that a part and the parts before it that it reads are about.
    fn all_data(&self, index: usize) -> Result<Data, EngineError> {
        let mut all = self.part(index)?.data.clone();
        for read in &self.bound(index)?.reads {
            all.extend(self.all_data(read.part)?);
        }
        Ok(all)
    }

    /// The accounts that pay, each once.
    fn payers_of_all(&self) -> Vec<&Payer> {
        let mut all: Vec<&Payer> = Vec::new();
        for payer in self.parts.iter().flat_map(|part| &part.payers) {
            if !all.contains(&payer) {
                all.push(payer);
            }
        }
        all
    }

    /// The names of the parts at these indexes.
    fn names_of(&self, indexes: &[usize]) -> Vec<String> {
        let name = |&index: &usize| Some(self.statement.parts.get(index)?.name.clone());
        indexes.iter().filter_map(name).collect()
    }

    /// The values that a part reads, as people name them.
    fn names_read(&self, part: &Part) -> Vec<String> {
        let name = |&ReleasedColumn { part, column, .. }: &ReleasedColumn| {
            let read = self.statement.parts.get(part)?;
            let output = self.parts.get(part)?.question.quote.query().outputs().get(column)?;
            Some(format!("{}.{}", read.name, output.name))
        };
        part.reads.iter().filter_map(name).collect()
    }

    /// The name of the part whose release a part shows in another way.
    fn name_of_first(&self, planned: &PlannedPart) -> Result<Option<String>, EngineError> {
        planned.same_as.map(|first| Ok(self.bound(first)?.name.clone())).transpose()
    }

    /// The indexes of the parts of each level.
    fn levels_of(&self, consistent: &Consistent) -> Result<Vec<usize>, EngineError> {
        let parts = &self.statement.parts;
        let index = |level: &ConsistentLevel| parts.iter().position(|p| p.name == level.part);
        consistent
            .levels
            .iter()
            .map(index)
            .collect::<Option<_>>()
            .ok_or(EngineError::inconsistent("a level of a consistent table has no part"))
    }

    /// The quotes of the parts of each level.
    fn quotes_of(&self, consistent: &Consistent) -> Result<Vec<&Quote>, EngineError> {
        let quote = |index: usize| Ok(&self.part(index)?.question.quote);
        self.levels_of(consistent)?.into_iter().map(quote).collect()
    }
}

impl PlannedPart {
    /// The account of the population that the part bounds.
    fn payer(&self) -> Result<&Payer, EngineError> {
        self.payers
            .first()
            .ok_or(EngineError::inconsistent("a part has no population that pays for it"))
    }

    fn is_paid_by(&self, population: &str) -> bool {
        self.payers.iter().any(|payer| payer.population == population)
    }
}

/// The populations of a statement have one analyst each, and they differ.
fn no_common_analyst(payers: &[Payer], name: &str, first: &str) -> EngineError {
    EngineError::NoAnalyst {
        table: payers.last().map(|payer| payer.population.clone()).unwrap_or_default(),
        analysts: format!("{name} and not of {first}"),
    }
}

/// The columns that a query releases.
fn schema(quote: &Quote) -> SchemaRef {
    let outputs = quote.query().outputs().iter();
    let field = outputs.map(|o| Field::new(&o.name, arrow_type(o.expr.column_type), true));
    Arc::new(Schema::new(field.collect::<Vec<_>>()))
}

#[cfg(test)]
pub(crate) mod tests;
