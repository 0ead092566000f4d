//! One private query: its price, and its answer.

use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use hushtable_ledger::{Account, Outcome, StoredRelease, cost};
use hushtable_noise::Generator;
use hushtable_privacy::Loss;
use hushtable_query::{
    Explanation, IntervalsWanted, LimitExplained, MechanismsExplained, Population, PrivateQuery,
};

use crate::answer::{Answering, Question, Standing, Timings};
use crate::error::EngineError;
use crate::exact::Scan;
use crate::intervals::{TableIntervals, Uncertainty};
use crate::record::{Statement, decode, fingerprint};
use crate::runtime::heavy;
use crate::session::{Checked, Progress, Session, payer};
use crate::source::Data;
use crate::statement_of_parts::{AccountCharge, StatementOfParts};
use crate::traced::TracedResult;

/// Price of a query, and the account that would pay it.
#[derive(Clone, Debug)]
pub struct Quoted {
    /// Everything that the query promises.
    pub explanation: Explanation,
    /// The mechanisms that there are for sums that are not clamped, side by side.
    pub mechanisms: Vec<MechanismsExplained>,
    /// The price of other limits on the groups of a unit.
    pub limits: Vec<LimitExplained>,
    /// The analyst who would pay.
    pub analyst: String,
    /// The analyst's budget on the table, as it stands.
    pub account: Account,
    /// Amount that this query would take from the account, in the account's currency; zero where
    /// the same question has been answered before.
    pub charge: Loss,
    /// How the question stands with the ledger: what is paid or on record is free.
    pub standing: Standing,
    /// For a new question, when the same text was charged last and answered: about other data, or
    /// under another contract.
    pub answered_before: Option<String>,
}

/// A release.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The noisy table.
    pub table: RecordBatch,
    /// The uncertainty of its values.
    pub(crate) uncertainty: Behind,
    /// The intervals that the query or the contract asks for.
    pub(crate) wanted: Option<IntervalsWanted>,
    /// The machine-readable statement of what was promised; of the last part, where there are
    /// several.
    pub statement: Statement,
    /// The machine-readable statement of all parts, where there are several or SQL around one.
    pub parts: Option<StatementOfParts>,
    /// The analyst who paid.
    pub analyst: String,
    /// The population whose account paid.
    pub population: String,
    /// Amount that was taken from the account; `None` where nothing was.
    pub charged: Option<Loss>,
    /// Whether the release is new, and a program that was stopped had paid for it.
    pub taken_up: bool,
    /// The account after that.
    pub account: Account,
    /// Charges to the accounts of further populations, where a statement has parts of
    /// several.
    pub others: Vec<AccountCharge>,
    /// Whether the ledger's file was made by this query.
    pub ledger_created: bool,
    /// For a question that was charged, when the same text was charged before and answered: about
    /// other data, or under another contract.
    pub answered_before: Option<String>,
}

impl Answer {
    /// The intervals that the query's OPTIONS or the contract's defaults ask for.
    pub fn intervals_wanted(&self) -> Option<IntervalsWanted> {
        self.wanted
    }

    /// The intervals around the values of the table, from what is on record: at no cost, at any
    /// level.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn intervals(&self, wanted: IntervalsWanted) -> Result<TableIntervals, EngineError> {
        match &self.uncertainty {
            Behind::Release(uncertainty) => uncertainty.intervals(wanted),
            Behind::Around(traced) => traced.intervals(wanted),
        }
    }
}

/// The released values behind an answer.
#[derive(Clone, Debug)]
pub(crate) enum Behind {
    /// The answer is a release.
    Release(Box<Uncertainty>),
    /// SQL around private parts computed it.
    Around(Box<TracedResult>),
}

/// A query that is checked, priced and ready to be charged.
struct Prepared<'a> {
    asked: Question,
    limit: Loss,
    data: Data,
    population: &'a Population,
}

impl Session {
    /// Quotes a query; costs nothing, reads nothing of protected tables but their schemas,
    /// and changes no file.
    ///
    /// # Errors
    /// When the query is refused, the analyst has no budget on its table, or the tables do not have
    /// what the query reads.
    pub async fn explain(&self, sql: &str, analyst: Option<&str>) -> Result<Quoted, EngineError> {
        let (query, _) = heavy(|| self.bound(sql))?;
        self.explain_one(sql, query, analyst).await
    }

    /// Quotes a query that is checked.
    pub(crate) async fn explain_one(
        &self,
        sql: &str,
        query: PrivateQuery,
        analyst: Option<&str>,
    ) -> Result<Quoted, EngineError> {
        let prepared = heavy(|| {
            let population = self.population(&query)?;
            self.prepare(sql, query, population, analyst)
        })?;
        let progress = Progress::default();
        Scan::plan(&prepared.asked.quote, &prepared.data, &progress.0, self.memory()).await?;
        self.check_row(prepared.asked.quote.query(), &prepared.data).await?;
        heavy(|| self.quoted(prepared))
    }

    /// A quote, with what the ledger says of it.
    fn quoted(&self, prepared: Prepared<'_>) -> Result<Quoted, EngineError> {
        let Prepared { asked, limit, data, population } = prepared;
        let Question { sql, quote, explanation, question, analyst, .. } = asked;
        let identity = fingerprint(&analyst, &question, &data)?;
        let (mut account, mut standing) = (Account::untouched(limit), Standing::New);
        let mut answered_before = None;
        if let Some(ledger) = self.ledger_for_looking()? {
            account = ledger.account(&analyst, &population.name, limit)?;
            standing = Standing::of(&ledger, &analyst, &population.name, &identity)?;
            if standing == Standing::New {
                answered_before = ledger.answered_before(&analyst, &population.name, &sql)?;
            }
        }
        // A loss that the budget's currency cannot hold is shown as it is; the ledger would refuse
        // it.
        let charge = match standing {
            Standing::Paid | Standing::OnRecord => limit.nothing(),
            Standing::New => {
                cost(quote.total(), &quote.events(), limit).unwrap_or_else(|_| quote.total())
            }
        };
        let mechanisms = MechanismsExplained::of(&quote);
        let limits = LimitExplained::around(&quote);
        Ok(Quoted {
            explanation,
            mechanisms,
            limits,
            analyst,
            account,
            charge,
            standing,
            answered_before,
        })
    }

    /// Answers a query with a given generator: charges it, reads the data, adds noise, puts the
    /// release on record.
    ///
    /// # Errors
    /// When the budget does not suffice, the ledger cannot be written or the data not be read.
    pub(crate) async fn answer_one(
        &self,
        sql: &str,
        query: PrivateQuery,
        analyst: Option<&str>,
        progress: &Progress,
        generator: &mut Generator,
    ) -> Result<(Answer, Timings), EngineError> {
        let Prepared { asked, limit, data, population } = heavy(|| {
            let population = self.population(&query)?;
            let (payer, limit) = payer(population, analyst)?;
            self.check_budget(std::slice::from_ref(&query), population, &payer, limit)?;
            self.prepare(sql, query, population, analyst)
        })?;
        // Whatever may fail by schema alone fails here, before the charge.
        let scan = Scan::plan(&asked.quote, &data, &progress.0, self.memory()).await?;
        self.check_row(asked.quote.query(), &data).await?;
        if progress.is_given_up() {
            return Err(EngineError::Interrupted);
        }
        let mut timings = Timings::default();
        let started = Instant::now();
        let (mut ledger, identity, outcome, before) = heavy(|| {
            let identity = fingerprint(&asked.analyst, &asked.question, &data)?;
            let mut ledger = self.ledger_of(progress)?;
            // Charged for rows that are gone, it could not be taken up again.
            self.check_unchanged(asked.quote.query(), &data)?;
            let before = ledger.answered_before(&asked.analyst, &population.name, &asked.sql)?;
            let outcome = ledger.charge(&asked.request(&population.name, identity, limit))?;
            Ok::<_, EngineError>((ledger, identity, outcome, before))
        })?;
        let ledger_created = ledger.created();
        timings.ledger = started.elapsed();
        let mut taken_up = false;
        let (charged, recorded) = match outcome {
            Outcome::Stored(StoredRelease { release, .. }) => (None, decode(&release)?),
            Outcome::Charged(charge) => {
                taken_up = !charge.is_new();
                let charged = charge.is_new().then(|| charge.charged());
                let mut answering = Answering { ledger: &mut ledger, generator };
                let charge = (charge, Vec::new());
                let answer = answering.answer(&asked, identity, charge, scan, &mut timings);
                (charged, answer.await?)
            }
        };
        let started = Instant::now();
        let (released, statement) = heavy(|| recorded.answering(&asked))?;
        timings.showing = started.elapsed();
        let account = heavy(|| ledger.account(&asked.analyst, &population.name, limit))?;
        let answer = Answer {
            table: released.table.clone(),
            wanted: asked.quote.query().intervals(),
            uncertainty: Behind::Release(Box::new(Uncertainty::new(&asked.quote, released))),
            statement,
            parts: None,
            analyst: asked.analyst,
            population: population.name.clone(),
            charged,
            taken_up,
            account,
            others: Vec::new(),
            ledger_created,
            answered_before: before.filter(|_| charged.is_some()),
        };
        Ok((answer, timings))
    }

    fn prepare<'a>(
        &'a self,
        sql: &str,
        query: PrivateQuery,
        population: &'a Population,
        analyst: Option<&str>,
    ) -> Result<Prepared<'a>, EngineError> {
        let Checked { quote, data, population, .. } = self.priced(query, population)?;
        let (analyst, limit) = payer(population, analyst)?;
        let asked = Question::new(sql, analyst, quote)?;
        Ok(Prepared { asked, limit, data, population })
    }
}
