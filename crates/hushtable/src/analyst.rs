//! Analysts: they ask, and see what asking would cost.

use std::future::Future;
use std::sync::Arc;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use hushtable_contract::LearntBounds;
use hushtable_engine::{
    Answer, AnswerTable, BudgetLine, Charges, Progress, Purpose, QuestionQuote, Session, Statement,
    StatementPlan,
};
use hushtable_plan::{LearntColumns, Warning, Workload};
use hushtable_privacy::{Delta, Loss};

use crate::Error;
use crate::answering_delay::AnsweringDelay;
use crate::workers::Workers;

/// An analyst with budgets. All that an analyst gets is charged or free of the data; nothing leads
/// from here to what is for the owner.
///
/// ```compile_fail,E0599
/// # async fn of(analyst: hushtable::Analyst) {
/// analyst.audit("SELECT COUNT(*) FROM visits", &Default::default()).await;
/// # }
/// ```
///
/// ```compile_fail,E0599
/// # async fn of(analyst: hushtable::Analyst) {
/// analyst.check(None, None).await;
/// # }
/// ```
///
/// ```compile_fail,E0609
/// # async fn of(analyst: hushtable::Analyst) {
/// analyst.query("SELECT COUNT(*) FROM visits").await.unwrap().timings;
/// # }
/// ```
#[derive(Clone)]
pub struct Analyst {
    session: Arc<Session>,
    workers: Workers,
    delay: AnsweringDelay,
    name: Option<String>,
}

impl Analyst {
    pub(crate) fn new(
        session: Arc<Session>,
        workers: Workers,
        delay: AnsweringDelay,
        name: Option<&str>,
    ) -> Self {
        Self { session, workers, delay, name: name.map(str::to_owned) }
    }

    /// Quotes a statement of any form. Costs nothing, reads no value of protected tables, and
    /// changes no file.
    ///
    /// # Errors
    /// When the statement is refused, the analyst has no budget for it, the tables do not have what
    /// it reads, or the SQL around its private parts cannot be run.
    pub async fn explain(&self, sql: &str) -> Result<QuestionQuote, Error> {
        let (session, sql, name) = self.owned(sql);
        self.run(async move { session.explain(&sql, name.as_deref()).await }).await
    }

    /// Plans a statement of any form, to be quoted and answered without being read again. Costs
    /// nothing, reads no value and changes no file. Its answer can be watched, and given up, with
    /// `progress`.
    ///
    /// # Errors
    /// Fails where [`explain`](Self::explain) does; to be answered, also when the budget cannot
    /// suffice.
    pub async fn plan(
        &self,
        sql: &str,
        purpose: Purpose,
        progress: &Progress,
    ) -> Result<Plan, Error> {
        let (session, sql, name) = self.owned(sql);
        let progress = self.visible(progress);
        let plan = async move { session.plan(&sql, name.as_deref(), purpose, &progress).await };
        Ok(self.planned(self.run(plan).await?))
    }

    /// Plans all queries of a workload, as [`plan`](Self::plan) does.
    ///
    /// # Errors
    /// For the first query that is refused, with its name and line; when the analyst has no budget
    /// for them.
    pub async fn plan_workload(
        &self,
        workload: &Workload,
        purpose: Purpose,
        progress: &Progress,
    ) -> Result<Plan, Error> {
        let (session, workload, name) =
            (Arc::clone(&self.session), workload.clone(), self.name.clone());
        let progress = self.visible(progress);
        let plan = async move {
            session.plan_workload(&workload, name.as_deref(), purpose, &progress).await
        };
        Ok(self.planned(self.run(plan).await?))
    }

    /// Plans the question from which bounds of a table's columns are learnt, as
    /// [`plan`](Self::plan) does. Of each column it releases how many units there are by their
    /// largest value of a row. Later questions of this analyst have their bounds from that. It
    /// costs `loss`, of which each column has an equal share, or a tenth of what the contract's
    /// defaults give a query.
    ///
    /// # Errors
    /// When a column is not there or has bounds, when nothing says what it may cost, and when the
    /// analyst has no budget on the table.
    pub async fn plan_learning(
        &self,
        table: &str,
        columns: &LearntColumns,
        loss: Option<Loss>,
        purpose: Purpose,
        progress: &Progress,
    ) -> Result<Plan, Error> {
        let (session, table, name) = self.owned(table);
        let columns = columns.clone();
        let progress = self.visible(progress);
        let plan = async move {
            let of = (table.as_str(), &columns);
            session.plan_learning(of, loss, name.as_deref(), purpose, &progress).await
        };
        Ok(self.planned(self.run(plan).await?))
    }

    /// The bounds of a table's columns that this analyst has on record, which later questions use.
    /// Costs nothing, reads no value of protected tables, and changes no file.
    ///
    /// # Errors
    /// When there is no such table, and when the ledger cannot be read.
    pub async fn learnt(&self, table: &str) -> Result<Vec<LearntBounds>, Error> {
        let (session, table, name) = self.owned(table);
        self.block(move || {
            session.learnt_of(session.contract().named_table(&table)?, name.as_deref())
        })
        .await
    }

    /// Answers a query: charges it, reads the data, adds noise, puts the release on record.
    ///
    /// A future that is dropped before the charge costs nothing. After the charge the work goes on
    /// until the release is on record, where the same query finds it.
    ///
    /// # Errors
    /// Fails where [`explain`](Self::explain) does; when the budget does not suffice or the ledger
    /// cannot be written; when the data cannot be read, which leaves the charge in place.
    pub async fn query(&self, sql: &str) -> Result<Answer, Error> {
        self.query_watched(sql, &Progress::default()).await
    }

    /// Answers a query as [`query`](Self::query) does; another thread can look at its progress,
    /// which is for this query alone. With a fixed delay the progress stays at its beginning.
    ///
    /// # Errors
    /// Those of [`query`](Self::query).
    pub async fn query_watched(&self, sql: &str, progress: &Progress) -> Result<Answer, Error> {
        let (session, sql, name) = self.owned(sql);
        let progress = self.visible(progress);
        let given_up = progress.clone();
        let work = async move { session.query(&sql, name.as_deref(), &progress).await };
        finished(&self.workers, self.delay.keep(work), given_up).await
    }

    /// The analyst's budgets, with what their charges come to at `delta`: by default the budget's
    /// own, or 1e-6 where that is zero. Without a name, the budgets of populations that have one
    /// analyst only. Changes no file.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn budget(&self, delta: Option<Delta>) -> Result<Vec<BudgetLine>, Error> {
        let session = Arc::clone(&self.session);
        let mut lines = self.block(move || session.budget(delta)).await?;
        let populations = &self.session.contract().populations;
        // Budgets of other analysts show what they have asked for, and how much.
        lines.retain(|line| match &self.name {
            Some(name) => line.analyst == *name,
            None => populations.get(&line.table).is_some_and(|p| p.budgets.len() == 1),
        });
        Ok(lines)
    }

    /// Does work that ends when nobody waits for it; its result comes after the delay.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.workers.run(self.delay.keep(work)).await
    }

    /// Does work that is not asynchronous, to its end; its result comes after the delay.
    async fn block<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let workers = self.workers.clone();
        self.run(async move { workers.block(work).await }).await
    }

    /// The progress that work reports to: with a fixed delay, one that nobody sees, as it would
    /// tell when the work ends.
    fn visible(&self, progress: &Progress) -> Progress {
        if self.delay.is_none() { progress.clone() } else { progress.unseen() }
    }

    fn planned(&self, plan: StatementPlan) -> Plan {
        Plan { plan, workers: self.workers.clone(), delay: self.delay }
    }

    fn owned(&self, sql: &str) -> (Arc<Session>, String, Option<String>) {
        (Arc::clone(&self.session), sql.to_owned(), self.name.clone())
    }
}

/// Waits for work that is given up when nobody waits for it any more, and otherwise ends.
async fn finished<T: Send + 'static>(
    workers: &Workers,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
    progress: Progress,
) -> Result<T, Error> {
    let mut unwanted = CancelOnDrop(Some(progress));
    let result = workers.finish(work).await;
    unwanted.0 = None;
    result
}

/// Gives work up when it is dropped, unless the work has ended.
struct CancelOnDrop(Option<Progress>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(progress) = &self.0 {
            progress.give_up();
        }
    }
}

/// A statement or a workload that has passed every check that does not need the ledger.
pub struct Plan {
    plan: StatementPlan,
    workers: Workers,
    delay: AnsweringDelay,
}

/// The steps of an answer, one after the other.
pub enum AnswerStep {
    /// The charges stand.
    Charged(Box<Charges>),
    /// All releases behind the next output are on record.
    Answered(Box<AnswerTable>),
    /// Everything is answered.
    Whole(Box<Statement>),
}

impl Plan {
    /// The warnings about the private parts, each with its part's name.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &Warning)> {
        self.plan.warnings()
    }

    /// The promise and the price. Changes no file, and depends on nothing but the question and the
    /// ledger: it comes at once.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn quoted(&self) -> Result<QuestionQuote, Error> {
        self.plan.quoted()
    }

    /// Answers a statement: charges it, reads the data, adds noise, puts the releases on record.
    ///
    /// A future that is dropped before the charge costs nothing. After the charge the work goes on
    /// until the releases are on record, where the same question finds them.
    ///
    /// # Errors
    /// When the budget does not suffice or the ledger cannot be written; when the data cannot be
    /// read, which leaves the charge in place.
    pub async fn answer(self) -> Result<Answer, Error> {
        let Self { plan, workers, delay } = self;
        let progress = plan.progress().clone();
        finished(&workers, delay.keep(plan.answer()), progress).await
    }

    /// Charges all parts that are not paid for, and gives the outputs one by one, in their order.
    /// `file` names the file that the answer to a workload's query is written to, for the
    /// statement.
    ///
    /// The work goes on until all releases are on record, whether anybody waits for them or not.
    /// With a fixed delay, all steps come at its end. Stopped anyway, and planned and released
    /// again, a workload is not charged again.
    ///
    /// # Errors
    /// When there are no threads left to work on.
    pub fn release(
        self,
        file: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Result<Releasing, Error> {
        let Self { plan, workers, delay } = self;
        let (steps, mut receiver) = unbounded();
        let (charges, answers) = (steps.clone(), steps.clone());
        let work = async move {
            // Where nobody listens, the releases go on record anyway.
            let charged = |charges_now: &Charges| {
                let _ =
                    charges.unbounded_send(Ok(AnswerStep::Charged(Box::new(charges_now.clone()))));
            };
            let answered = |output: &AnswerTable| {
                let _ = answers.unbounded_send(Ok(AnswerStep::Answered(Box::new(output.clone()))));
                Ok::<_, Error>(output.name.as_deref().map(&file))
            };
            let ended = Box::pin(plan.release(charged, answered)).await;
            let _ = steps.unbounded_send(ended.map(|whole| AnswerStep::Whole(Box::new(whole))));
        };
        if delay.is_none() {
            workers.begin(work)?;
        } else {
            // The times of the steps would reveal something about the data.
            let (delayed, delayed_receiver) = unbounded();
            let all = std::mem::replace(&mut receiver, delayed_receiver);
            workers.begin(async move {
                delay.keep(work).await;
                let _ = all.map(Ok).forward(delayed).await;
            })?;
        }
        Ok(Releasing { steps: receiver, ended: false })
    }
}

/// A question that is being answered, step by step.
pub struct Releasing {
    steps: UnboundedReceiver<Result<AnswerStep, Error>>,
    ended: bool,
}

impl Releasing {
    /// The next step; `None` after the last.
    ///
    /// # Errors
    /// When the budget does not suffice for all or the ledger cannot be written; when the data
    /// cannot be read, which leaves the charges in place.
    pub async fn next(&mut self) -> Option<Result<AnswerStep, Error>> {
        if self.ended {
            return None;
        }
        let step = self.steps.next().await.unwrap_or(Err(Error::Interrupted));
        self.ended = !matches!(step, Ok(AnswerStep::Charged(_) | AnswerStep::Answered(_)));
        Some(step)
    }
}
