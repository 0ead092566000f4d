//! Answers to whatever is asked: one private query, or a statement of several parts.

use hushtable_noise::Generator;
use hushtable_query::{PrivateQuery, SqlStatement, Warning};

use crate::answer::Timings;
use crate::error::EngineError;
use crate::one_query::{Answer, Quoted};
use crate::runtime::heavy;
use crate::session::{Progress, Session, payer};
use crate::statement_of_parts::StatementQuoted;

/// The price of a statement, whatever its form.
#[derive(Clone, Debug)]
pub enum Priced {
    /// It is one private query of one population, as audits and workloads take it.
    Query(Box<Quoted>),
    /// It has several parts, or SQL around one.
    Statement(StatementQuoted),
}

impl Priced {
    /// The warnings about it, for people to see before they ask it.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        let (query, statement) = match self {
            Self::Query(query) => (Some(&query.explanation), None),
            Self::Statement(statement) => (None, Some(&statement.parts)),
        };
        let parts = statement.into_iter().flatten().map(|part| &part.explanation);
        query.into_iter().chain(parts).flat_map(|explanation| &explanation.warnings)
    }
}

// The futures of the steps are boxed: together they would not fit a caller's small stack.
impl Session {
    /// Quotes a statement of any form; costs nothing, reads nothing of protected tables but their
    /// schemas, and changes no file.
    ///
    /// # Errors
    /// Those of [`explain`](Self::explain), and when the SQL around parts cannot be run.
    pub async fn price(&self, sql: &str, analyst: Option<&str>) -> Result<Priced, EngineError> {
        let statement = heavy(|| SqlStatement::bind(sql, self.contract()))?;
        if statement.is_plain() {
            let query = heavy(|| statement.plain())?;
            let quoted = Box::pin(self.explain_one(sql, query, analyst)).await?;
            return Ok(Priced::Query(Box::new(quoted)));
        }
        let plan = Box::pin(self.plan_statement(sql, statement, analyst)).await?;
        Ok(Priced::Statement(heavy(|| plan.quoted())?))
    }

    /// Answers a query: charges it, reads the data, adds noise, puts the release on record.
    ///
    /// # Errors
    /// Those of [`explain`](Self::explain); when the budget does not suffice or the ledger cannot
    /// be written; when the data cannot be read, which leaves the charge in place.
    pub async fn query(
        &self,
        sql: &str,
        analyst: Option<&str>,
        progress: &Progress,
    ) -> Result<Answer, EngineError> {
        Ok(self.timed(sql, analyst, progress).await?.0)
    }

    /// Answers a query as [`query`](Self::query) does, and tells the owner where the time went.
    ///
    /// # Errors
    /// Those of [`query`](Self::query).
    pub async fn timed(
        &self,
        sql: &str,
        analyst: Option<&str>,
        progress: &Progress,
    ) -> Result<(Answer, Timings), EngineError> {
        // A generator that does not work is found out before anything is charged.
        let mut generator = Generator::from_os()?;
        self.query_with(sql, analyst, progress, &mut generator).await
    }

    /// Answers a query with a given generator; see [`timed`](Self::timed).
    pub(crate) async fn query_with(
        &self,
        sql: &str,
        analyst: Option<&str>,
        progress: &Progress,
        generator: &mut Generator,
    ) -> Result<(Answer, Timings), EngineError> {
        let statement = heavy(|| SqlStatement::bind(sql, self.contract()))?;
        if !statement.is_plain() {
            heavy(|| self.check_budgets(&statement, analyst))?;
            let plan = Box::pin(self.plan_statement(sql, statement, analyst)).await?;
            return Box::pin(self.answer_statement(plan, progress, generator)).await;
        }
        let query = heavy(|| statement.plain())?;
        Box::pin(self.answer_one(sql, query, analyst, progress, generator)).await
    }

    /// Checks the budgets for the parts of a statement; see [`check_budget`](Self::check_budget).
    fn check_budgets(
        &self,
        statement: &SqlStatement,
        analyst: Option<&str>,
    ) -> Result<(), EngineError> {
        for (name, population) in &self.contract().populations {
            let pays = |query: &PrivateQuery| query.populations().any(|own| own == name);
            let paid = statement.parts.iter().filter(|part| part.same_as.is_none());
            let own = paid.filter(|part| pays(&part.query));
            let queries: Vec<PrivateQuery> = own.map(|part| part.query.clone()).collect();
            if !queries.is_empty() {
                let (payer, limit) = payer(population, analyst)?;
                self.check_budget(&queries, population, &payer, limit)?;
            }
        }
        Ok(())
    }
}
