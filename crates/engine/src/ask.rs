//! Questions: text in SQL, a workload or columns whose bounds are to be learnt; bound once, then
//! planned, quoted or answered.

use std::path::Path;
use std::sync::Arc;

use hushtable_lang::Refusal;
use hushtable_noise::Generator;
use hushtable_plan::{Learning, LearntColumns, PrivateQuery, SqlStatement, Workload};
use hushtable_privacy::Loss;

use crate::answer::Timings;
use crate::answer_table::Answer;
use crate::error::EngineError;
use crate::origin::QuestionOrigin;
use crate::progress::Progress;
use crate::quoted::QuestionQuote;
use crate::runtime::heavy;
use crate::session::Session;
use crate::statement_plan::StatementPlan;

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

/// The purpose of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A quote: a budget that does not suffice is part of it.
    Quote,
    /// An answer: a budget that cannot suffice refuses it, before mechanisms are made for it.
    Answer,
}

// The futures of the steps are boxed: together they would not fit a caller's small stack.
impl Session {
    /// Plans a statement of any form; costs nothing, reads nothing of protected tables but their
    /// schemas, and changes no file.
    ///
    /// # Errors
    /// When it is refused, the analyst has no budget on its tables, the tables do not have what it
    /// reads, or the SQL around its private parts cannot be run.
    pub async fn plan(
        self: &Arc<Self>,
        sql: &str,
        analyst: Option<&str>,
        purpose: Purpose,
        progress: &Progress,
    ) -> Result<StatementPlan, EngineError> {
        let session = heavy(|| self.with_learnt(analyst, sql))?;
        let statement = heavy(|| SqlStatement::bind(sql, session.contract()))?;
        let origin = QuestionOrigin::Sql(sql.to_owned());
        session.plan_bound(origin, statement, analyst, purpose, progress).await
    }

    /// Plans all queries of a workload, as [`plan`](Self::plan) does.
    ///
    /// # Errors
    /// For the first query that is refused, with its name and line; when the analyst has no budget
    /// on its table.
    pub async fn plan_workload(
        self: &Arc<Self>,
        workload: &Workload,
        analyst: Option<&str>,
        purpose: Purpose,
        progress: &Progress,
    ) -> Result<StatementPlan, EngineError> {
        let text: String = workload.queries.iter().map(|query| query.sql.as_str()).collect();
        let payer = analyst.or(workload.analyst.as_deref());
        let session = heavy(|| self.with_learnt(payer, &text))?;
        let statement = heavy(|| workload.statement(session.contract()))?;
        let origin = QuestionOrigin::Workload(Box::new(workload.clone()));
        session.plan_bound(origin, statement, analyst, purpose, progress).await
    }

    /// Plans the question from which bounds of a table's columns are learnt, as
    /// [`plan`](Self::plan) does: for `loss` in equal shares, or a tenth of what the contract's
    /// defaults give a query.
    ///
    /// # Errors
    /// When a column is not there or has bounds, when nothing says what it may cost, and when the
    /// analyst has no budget on the table.
    pub async fn plan_learning(
        self: &Arc<Self>,
        (table, columns): (&str, &LearntColumns),
        loss: Option<Loss>,
        analyst: Option<&str>,
        purpose: Purpose,
        progress: &Progress,
    ) -> Result<StatementPlan, EngineError> {
        let learning = heavy(|| Learning::new(self.contract(), table, columns, loss))?;
        let statement = learning.statement.clone();
        let origin = QuestionOrigin::Learning(Box::new(learning));
        self.plan_bound(origin, statement, analyst, purpose, progress).await
    }

    async fn plan_bound(
        self: &Arc<Self>,
        origin: QuestionOrigin,
        statement: SqlStatement,
        analyst: Option<&str>,
        purpose: Purpose,
        progress: &Progress,
    ) -> Result<StatementPlan, EngineError> {
        check_currencies(&statement)?;
        if purpose == Purpose::Answer {
            heavy(|| self.check_budgets(&origin, &statement, analyst))?;
        }
        Box::pin(StatementPlan::new(self, origin, statement, analyst, progress)).await
    }

    /// Quotes a statement of any form; see [`plan`](Self::plan).
    ///
    /// # Errors
    /// Those of [`plan`](Self::plan), and when the ledger cannot be read.
    pub async fn explain(
        self: &Arc<Self>,
        sql: &str,
        analyst: Option<&str>,
    ) -> Result<QuestionQuote, EngineError> {
        let plan = self.plan(sql, analyst, Purpose::Quote, &Progress::default()).await?;
        heavy(|| plan.quoted())
    }

    /// Answers a statement: charges it, reads the data, adds noise, puts the releases on record.
    ///
    /// # Errors
    /// Those of [`explain`](Self::explain); when the budget does not suffice or the ledger cannot
    /// be written; when the data cannot be read, which leaves the charge in place.
    pub async fn query(
        self: &Arc<Self>,
        sql: &str,
        analyst: Option<&str>,
        progress: &Progress,
    ) -> Result<Answer, EngineError> {
        Ok(self.timed(sql, analyst, progress).await?.0)
    }

    /// Answers a statement as [`query`](Self::query) does, and tells the owner where the time went.
    ///
    /// # Errors
    /// Those of [`query`](Self::query).
    pub async fn timed(
        self: &Arc<Self>,
        sql: &str,
        analyst: Option<&str>,
        progress: &Progress,
    ) -> Result<(Answer, Timings), EngineError> {
        // A generator that does not work is found out before anything is charged.
        let mut generator = Generator::from_os()?;
        self.query_with(sql, analyst, progress, &mut generator).await
    }

    /// Answers a statement with a given generator; see [`timed`](Self::timed).
    pub(crate) async fn query_with(
        self: &Arc<Self>,
        sql: &str,
        analyst: Option<&str>,
        progress: &Progress,
        generator: &mut Generator,
    ) -> Result<(Answer, Timings), EngineError> {
        let plan = self.plan(sql, analyst, Purpose::Answer, progress).await?;
        Box::pin(plan.answer_with(generator)).await
    }

    /// Checks the budgets for the parts of a statement; see [`check_budget`](Self::check_budget).
    fn check_budgets(
        &self,
        origin: &QuestionOrigin,
        statement: &SqlStatement,
        analyst: Option<&str>,
    ) -> Result<(), EngineError> {
        for (name, population) in &self.contract().populations {
            let pays = |query: &PrivateQuery| query.populations().any(|payer| payer == name);
            let paid = statement.parts.iter().filter(|part| part.same_as.is_none());
            let queries = paid.filter(|part| pays(&part.query)).map(|part| part.query.clone());
            let queries: Vec<PrivateQuery> = queries.collect();
            if !queries.is_empty() {
                let (payer, limit) = origin.payer(population, analyst)?;
                self.check_budget(&queries, population, &payer, limit)?;
            }
        }
        Ok(())
    }
}

/// Refuses parts that cost one population epsilon and rho: they have no common total.
fn check_currencies(statement: &SqlStatement) -> Result<(), EngineError> {
    let mut losses: Vec<(&str, Loss)> = Vec::new();
    for part in statement.parts.iter().filter(|part| part.same_as.is_none()) {
        let loss = part.query.loss();
        for population in part.query.populations() {
            match losses.iter().find(|(other, _)| *other == population) {
                Some((_, first)) if first.parameter() != loss.parameter() => {
                    return Err(EngineError::Refused(Refusal::new(
                        format!(
                            "the statement has parts in epsilon and parts in rho about \
                             `{population}`, which have no common total"
                        ),
                        "give all of its parts a budget in epsilon, or all of them one in rho",
                    )));
                }
                Some(_) => {}
                None => losses.push((population, loss)),
            }
        }
    }
    Ok(())
}
