//! Many queries under one budget: all are planned before anything is charged, all are charged at
//! once, and each is answered and put on record by itself. A workload that was stopped takes up
//! what it has paid for.

mod progress;
mod report;
mod statement;

use std::path::Path;
use std::sync::Arc;

use hushtable_ledger::{Account, Fingerprint, Ledger, Outcome, Paid, Payment, StoredRelease, cost};
use hushtable_noise::Generator;
use hushtable_privacy::Loss;
use hushtable_query::{
    Consistent, ContractError, Explanation, Population, PrivateQuery, Quote, Warning, Workload,
    WorkloadExplanation, WorkloadQuery,
};

pub use self::progress::WorkloadProgress;
pub use self::report::{PartAnswer, PartQuoted, WorkloadAnswer, WorkloadCharge, WorkloadQuoted};
use self::statement::statement;
pub use self::statement::{PartStatement, WorkloadStatement};
use crate::answer::{Answering, Question, Standing, Timings};
use crate::consistent;
use crate::error::EngineError;
use crate::exact::Scan;
use crate::intervals::Uncertainty;
use crate::record::{Statement, decode, fingerprint};
use crate::release::ReleasedTable;
use crate::runtime::heavy;
use crate::session::{Session, payer};
use crate::source::Data;

/// Reads and checks a workload. Paths in it are relative to its folder.
///
/// # Errors
/// When the file cannot be read or the workload is wrong.
pub fn open_workload(path: &Path) -> Result<Workload, EngineError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| EngineError::WorkloadFile { path: path.to_owned(), error })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let sql_file =
        |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|e| e.to_string());
    Ok(Workload::parse(&text, &path.display().to_string(), &sql_file)?)
}

/// A workload that has passed every check that does not need the ledger: it can be explained, or
/// released.
pub struct WorkloadPlan {
    session: Arc<Session>,
    workload: Workload,
    population: Population,
    analyst: String,
    limit: Loss,
    parts: Vec<Part>,
    explanation: WorkloadExplanation,
    /// The queries as levels that fit each other, where that is asked for.
    levels: Option<Consistent>,
    progress: Arc<WorkloadProgress>,
}

/// An answer that is on record, and not shown yet.
struct Waiting {
    quote: Quote,
    released: ReleasedTable,
    statement: Statement,
    on_record: bool,
}

/// A query that is ready to be charged.
struct Part {
    asked: Question,
    identity: Fingerprint,
    data: Data,
    scan: Scan,
}

impl Session {
    /// Checks and prices all queries of a workload, and looks whether the tables have what they
    /// read. Charges nothing, reads no value of protected tables and changes no file.
    ///
    /// # Errors
    /// For the first query that is refused, with its name and line; when the analyst has no budget
    /// on the table.
    pub async fn plan_workload(
        self: &Arc<Self>,
        workload: &Workload,
        analyst: Option<&str>,
    ) -> Result<WorkloadPlan, EngineError> {
        let quotes = heavy(|| workload.quotes(workload.bind(self.contract())?))?;
        let first = quotes.first().ok_or(EngineError::inconsistent("a workload has no query"))?;
        let population = self.population(first.query())?;
        let (analyst, limit) = pays(workload, population, analyst)?;
        let levels = workload.levels(&quotes.iter().collect::<Vec<_>>())?;
        let progress = Arc::new(WorkloadProgress::new(quotes.len()));
        let mut parts = Vec::with_capacity(quotes.len());
        for ((query, quote), reading) in workload.queries.iter().zip(quotes).zip(progress.parts()) {
            let data = self.own_data(quote.query())?;
            let planned = Scan::plan(&quote, &data, &reading.0, self.memory()).await;
            let scan = planned.map_err(|error| in_workload(workload, query, error))?;
            let checked = self.check_row(quote.query(), &data).await;
            checked.map_err(|error| in_workload(workload, query, error))?;
            let asked = Question::new(&query.sql, analyst.clone(), quote)
                .map_err(|error| in_workload(workload, query, error))?;
            let identity = fingerprint(&analyst, &asked.question, &data)?;
            parts.push(Part { asked, identity, data, scan });
        }
        let each: Vec<(&str, &Quote, &Explanation)> = workload
            .queries
            .iter()
            .zip(&parts)
            .map(|(query, part)| (query.name.as_str(), &part.asked.quote, &part.asked.explanation))
            .collect();
        let table = self.contract().tables.get(&population.name);
        let explanation = WorkloadExplanation::new(&each, table)?;
        Ok(WorkloadPlan {
            session: Arc::clone(self),
            workload: workload.clone(),
            population: population.clone(),
            analyst,
            limit,
            parts,
            explanation,
            levels,
            progress,
        })
    }
}

impl Session {
    /// Refuses a workload that the analyst's budget cannot pay for, before mechanisms are made for
    /// it.
    ///
    /// # Errors
    /// When it cannot; for the first query that is refused.
    pub fn check_workload_budget(
        &self,
        workload: &Workload,
        analyst: Option<&str>,
    ) -> Result<(), EngineError> {
        let queries = workload.bind(self.contract())?;
        let first = queries.first().ok_or(EngineError::inconsistent("a workload has no query"))?;
        let population = self.population(first)?;
        let (analyst, limit) = pays(workload, population, analyst)?;
        self.check_budget(&queries, population, &analyst, limit)
    }
}

/// The analyst whose budget pays for a workload, and that budget.
fn pays(
    workload: &Workload,
    population: &Population,
    analyst: Option<&str>,
) -> Result<(String, Loss), EngineError> {
    let asks = analyst.or(workload.analyst.as_deref());
    let (analyst, limit) = payer(population, asks).map_err(|error| nobody(workload, error))?;
    if let (Loss::Concentrated { .. }, Loss::Approximate { .. }) = (workload.loss, limit) {
        return Err(EngineError::Contract(in_rho(workload, &analyst, population, limit)));
    }
    Ok((analyst, limit))
}

impl WorkloadPlan {
    /// How far the work is, for another thread to look at.
    pub fn progress(&self) -> Arc<WorkloadProgress> {
        Arc::clone(&self.progress)
    }

    /// The warnings about the queries, each with its query's name.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &Warning)> {
        self.workload.queries.iter().zip(&self.parts).flat_map(|(query, part)| {
            part.asked.explanation.warnings.iter().map(|warning| (query.name.as_str(), warning))
        })
    }

    /// Promise and price of the workload. Changes no file.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn quoted(&self) -> Result<WorkloadQuoted, EngineError> {
        let ledger = self.session.ledger_for_looking()?;
        let (analyst, table) = (self.analyst.as_str(), self.population.name.as_str());
        let mut charge = self.limit.nothing();
        let mut parts = Vec::with_capacity(self.parts.len());
        for (query, Part { asked, identity, .. }) in self.workload.queries.iter().zip(&self.parts) {
            let standing = match &ledger {
                Some(ledger) => Standing::of(ledger, analyst, table, identity)?,
                None => Standing::New,
            };
            if standing == Standing::New {
                // A loss that the budget's currency cannot hold is shown as it is; the ledger would
                // refuse it.
                let own = asked.quote.total();
                let own = cost(own, &asked.quote.events(), self.limit).unwrap_or(own);
                charge = charge.plus(own).unwrap_or(self.explanation.total);
            }
            parts.push(PartQuoted {
                name: query.name.clone(),
                weight: query.weight,
                explanation: asked.explanation.clone(),
                standing,
            });
        }
        let account = match &ledger {
            Some(ledger) => ledger.account(analyst, table, self.limit)?,
            None => Account::untouched(self.limit),
        };
        let (explanation, analyst) = (self.explanation.clone(), self.analyst.clone());
        let quotes: Vec<&Quote> = self.parts.iter().map(|part| &part.asked.quote).collect();
        let consistent = self.levels.as_ref().map(|own| own.precision(&quotes)).transpose()?;
        let consistent = consistent.unwrap_or_default();
        Ok(WorkloadQuoted { explanation, parts, consistent, analyst, account, charge })
    }

    /// Charges all queries that are not paid for, and answers them one by one, in their order.
    /// `charged` gets the charge when it stands; `answered` gets each answer when it is on record,
    /// and gives the name of the file that it writes it to, for the statement. Tables that fit each
    /// other are given when all are on record.
    ///
    /// Stopped at any moment and planned and released again, a workload is not charged again, and
    /// what is on record is given again to the byte.
    ///
    /// # Errors
    /// When the budget does not suffice for all or the ledger cannot be written; when the data
    /// cannot be read, or `answered` fails, which leaves the charges in place.
    pub async fn release<E: From<EngineError>>(
        self,
        charged: impl FnOnce(&WorkloadCharge),
        answered: impl FnMut(&PartAnswer) -> Result<String, E>,
    ) -> Result<WorkloadAnswer, E> {
        // A generator that does not work is found out before anything is charged.
        let mut generator = Generator::from_os().map_err(EngineError::from)?;
        self.release_with(&mut generator, charged, answered).await
    }

    /// Releases with a given generator; see [`release`](Self::release).
    pub(crate) async fn release_with<E: From<EngineError>>(
        self,
        generator: &mut Generator,
        charged: impl FnOnce(&WorkloadCharge),
        mut answered: impl FnMut(&PartAnswer) -> Result<String, E>,
    ) -> Result<WorkloadAnswer, E> {
        let mut ledger = heavy(|| self.session.ledger())?;
        let paid = heavy(|| self.pay(&mut ledger, charged))?;
        let Self { session, workload, analyst, parts, explanation, levels, .. } = self;
        let mut stated = Vec::with_capacity(parts.len());
        let mut waiting = Vec::new();
        let workload = &workload;
        let mut tell = |query: &WorkloadQuery, own: Waiting, uncertainty: Uncertainty| {
            let (name, table) = (query.name.clone(), uncertainty.table().clone());
            let Waiting { statement, on_record, .. } = own;
            let answer = PartAnswer { name, table, uncertainty, statement, on_record };
            let file = answered(&answer)?;
            let PartAnswer { name, statement, .. } = answer;
            stated.push(PartStatement { name, file, weight: query.weight, statement });
            Ok::<_, E>(())
        };
        for ((query, part), paid) in workload.queries.iter().zip(parts).zip(paid) {
            let outcome = match paid {
                Paid::Stored(stored) => Outcome::Stored(stored),
                Paid::Charged(payment) => {
                    let own = part.asked.quote.query();
                    heavy(|| begin(&session, own, &part.data, &mut ledger, (&payment, &[])))
                        .map_err(|error| in_workload(workload, query, error))?
                }
            };
            let on_record = matches!(outcome, Outcome::Stored(_));
            let Part { asked, identity, scan, .. } = part;
            let recorded = match outcome {
                Outcome::Stored(StoredRelease { release, .. }) => decode(&release),
                Outcome::Charged(charge) => {
                    let mut answering = Answering { ledger: &mut ledger, generator };
                    let mut timings = Timings::default();
                    let charge = (charge, Vec::new());
                    Box::pin(answering.answer(&asked, identity, charge, scan, &mut timings)).await
                }
            };
            let shown = recorded.and_then(|recorded| heavy(|| recorded.answering(&asked)));
            let (released, statement) =
                shown.map_err(|error| in_workload(workload, query, error))?;
            let own = Waiting { quote: asked.quote, released, statement, on_record };
            if levels.is_some() {
                waiting.push(own);
            } else {
                let uncertainty = Uncertainty::new(&own.quote, own.released.clone());
                tell(query, own, uncertainty)?;
            }
            self.progress.advance();
        }
        if let Some(levels) = &levels {
            let own: Vec<_> = waiting.iter().map(|own| (&own.quote, &own.released)).collect();
            let tables = heavy(|| consistent::tables(levels, &own))?;
            for ((query, own), uncertainty) in workload.queries.iter().zip(waiting).zip(tables) {
                tell(query, own, uncertainty)?;
            }
        }
        let consistent = workload.consistent;
        Ok(WorkloadAnswer { statement: statement(analyst, explanation, consistent, stated) })
    }

    /// Charges what is not paid for.
    fn pay(
        &self,
        ledger: &mut Ledger,
        charged: impl FnOnce(&WorkloadCharge),
    ) -> Result<Vec<Paid>, EngineError> {
        let table = &self.population.name;
        let requests: Vec<_> = self
            .parts
            .iter()
            .map(|part| part.asked.request(table, part.identity, self.limit))
            .collect();
        // Charged for rows that are gone, nothing could be taken up again.
        for part in &self.parts {
            self.session.check_unchanged(part.asked.quote.query(), &part.data)?;
        }
        let paid = ledger.charge_all(&requests)?;
        let count = |of: fn(&Payment) -> bool| {
            paid.iter().filter(|paid| matches!(paid, Paid::Charged(p) if of(p))).count()
        };
        let new = paid.iter().filter_map(|paid| match paid {
            Paid::Charged(payment) if payment.is_new() => Some(payment.charged()),
            _ => None,
        });
        let sum = new.map(Ok).reduce(|sum, loss| {
            let sum = sum?.plus(loss?);
            sum.map_err(|_| EngineError::inconsistent("the new charges have no sum"))
        });
        charged(&WorkloadCharge {
            analyst: self.analyst.clone(),
            table: table.clone(),
            charged: sum.transpose()?,
            new: count(Payment::is_new),
            paid: count(|payment| !payment.is_new()),
            on_record: paid.iter().filter(|paid| matches!(paid, Paid::Stored(_))).count(),
            account: ledger.account(&self.analyst, table, self.limit)?,
            ledger_created: ledger.created(),
        });
        Ok(paid)
    }
}

/// The charge with which the data can be read, if they are still those that were planned for.
pub(crate) fn begin(
    session: &Session,
    query: &PrivateQuery,
    data: &Data,
    ledger: &mut Ledger,
    (payment, others): (&Payment, &[Payment]),
) -> Result<Outcome, EngineError> {
    session.check_unchanged(query, data)?;
    Ok(ledger.begin(payment, others)?)
}

fn in_workload(workload: &Workload, query: &WorkloadQuery, error: EngineError) -> EngineError {
    EngineError::InWorkload {
        file: workload.file.clone(),
        line: query.line,
        query: query.name.clone(),
        error: Box::new(error),
    }
}

/// The budget cannot pay.
fn in_rho(
    workload: &Workload,
    analyst: &str,
    population: &Population,
    limit: Loss,
) -> ContractError {
    ContractError {
        file: workload.file.clone(),
        line: 1,
        what: format!(
            "the workload's budget is in rho, but the budget of analyst `{analyst}` on `{}` is \
             in epsilon ({limit}), and a loss in rho cannot be paid from it",
            population.name
        ),
        hint: "give epsilon in place of rho at the top, or ask the owner of the data for a \
               budget in rho"
            .to_owned(),
    }
}

/// Where nobody is named who could pay, the workload is the place to name somebody.
fn nobody(workload: &Workload, error: EngineError) -> EngineError {
    match error {
        EngineError::NoAnalyst { table, analysts } => EngineError::Contract(ContractError {
            file: workload.file.clone(),
            line: 1,
            what: format!("no analyst given: `{table}` has budgets of {analysts}"),
            hint: "give analyst = \"NAME\" at the top, or --analyst NAME".to_owned(),
        }),
        error => error,
    }
}

#[cfg(test)]
mod tests;
