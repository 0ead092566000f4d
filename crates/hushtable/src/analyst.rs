//! Analysts: they ask, and see what asking would cost.

use std::future::Future;
use std::sync::Arc;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use hushtable_engine::{
    Answer, BudgetLine, PartAnswer, Priced, Progress, Quoted, Session, StatementQuoted,
    WorkloadAnswer, WorkloadCharge, WorkloadPlan, WorkloadProgress, WorkloadQuoted,
};
use hushtable_privacy::Delta;
use hushtable_query::{Warning, Workload};

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

    /// Quotes a query. Costs nothing, reads no value of protected tables and changes no file.
    ///
    /// # Errors
    /// When the query is refused, the analyst has no budget for it, or the tables do not have
    /// what it reads.
    pub async fn explain(&self, sql: &str) -> Result<Quoted, Error> {
        let (session, sql, name) = self.owned(sql);
        self.run(async move { session.explain(&sql, name.as_deref()).await }).await
    }

    /// Quotes a statement of any number of private parts, and SQL around them. Costs nothing, reads
    /// no value and changes no file.
    ///
    /// # Errors
    /// Fails where [`explain`](Self::explain) does, and when the SQL around the parts cannot be
    /// run.
    pub async fn explain_parts(&self, sql: &str) -> Result<StatementQuoted, Error> {
        let (session, sql, name) = self.owned(sql);
        self.run(async move { session.explain_parts(&sql, name.as_deref()).await }).await
    }

    /// Quotes a statement of any form, as [`explain`](Self::explain) or
    /// [`explain_parts`](Self::explain_parts) does. Costs nothing, reads no value and changes no
    /// file.
    ///
    /// # Errors
    /// Fails where they do.
    pub async fn price(&self, sql: &str) -> Result<Priced, Error> {
        let (session, sql, name) = self.owned(sql);
        self.run(async move { session.price(&sql, name.as_deref()).await }).await
    }

    /// The probable mistakes in a query. Costs nothing and reads no file.
    ///
    /// # Errors
    /// When the query is refused.
    pub async fn warnings(&self, sql: &str) -> Result<Vec<Warning>, Error> {
        let (session, sql, _) = self.owned(sql);
        self.block(move || session.warnings(&sql)).await
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
        // How far it is would tell when the work ends.
        let progress = if self.delay.is_none() { progress.clone() } else { progress.unseen() };
        let mut unwanted = Unwanted(Some(progress.clone()));
        let work = async move { session.query(&sql, name.as_deref(), &progress).await };
        let answer = self.workers.finish(self.delay.keep(work)).await;
        unwanted.0 = None;
        answer
    }

    /// Refuses a workload that the budget cannot pay for, before mechanisms are made for it.
    ///
    /// # Errors
    /// When it cannot; for the first query that is refused.
    pub async fn affords(&self, workload: &Workload) -> Result<(), Error> {
        let (session, workload, name) =
            (Arc::clone(&self.session), workload.clone(), self.name.clone());
        let work = move || session.check_workload_budget(&workload, name.as_deref());
        self.block(work).await
    }

    /// Checks and prices all queries of a workload. Charges nothing, reads no value and changes no
    /// file.
    ///
    /// # Errors
    /// For the first query that is refused; when the analyst has no budget for them.
    pub async fn plan(&self, workload: &Workload) -> Result<Plan, Error> {
        let (session, workload, name) =
            (Arc::clone(&self.session), workload.clone(), self.name.clone());
        let work = async move { session.plan_workload(&workload, name.as_deref()).await };
        let plan = self.run(work).await?;
        Ok(Plan { plan, workers: self.workers.clone(), delay: self.delay })
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

    fn owned(&self, sql: &str) -> (Arc<Session>, String, Option<String>) {
        (Arc::clone(&self.session), sql.to_owned(), self.name.clone())
    }
}

/// Gives a query up when it is dropped, unless it has ended.
struct Unwanted(Option<Progress>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        if let Some(progress) = &self.0 {
            progress.give_up();
        }
    }
}

/// A workload that has passed every check that does not need the ledger.
pub struct Plan {
    plan: WorkloadPlan,
    workers: Workers,
    delay: AnsweringDelay,
}

/// The steps of a workload, one after the other.
pub enum WorkloadStep {
    /// The charge stands.
    Charged(Box<WorkloadCharge>),
    /// The answer to the next query is on record.
    Answered(Box<PartAnswer>),
    /// All queries are answered.
    Whole(Box<WorkloadAnswer>),
}

impl Plan {
    /// How far the work is, for another thread to look at; with a fixed delay, always at its
    /// beginning.
    pub fn progress(&self) -> Arc<WorkloadProgress> {
        let progress = self.plan.progress();
        if self.delay.is_none() { progress } else { Arc::new(progress.unseen()) }
    }

    /// The warnings about the queries, each with its query's name.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &Warning)> {
        self.plan.warnings()
    }

    /// The promise and the price of the workload. Changes no file, and depends on nothing but the
    /// workload and the ledger: it comes at once.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn quoted(&self) -> Result<WorkloadQuoted, Error> {
        self.plan.quoted()
    }

    /// Charges all queries that are not paid for, and answers them one by one, in their order.
    /// `file` names the file that the answer to a query is written to, for the statement.
    ///
    /// The work goes on until all releases are on record, whether anybody waits for them or not.
    /// With a fixed delay, all steps come at its end.
    /// Stopped all the same, and planned and released again, a workload is not charged again.
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
            // Where nobody listens, the releases go on record all the same.
            let charged = |charge: &WorkloadCharge| {
                let _ = charges.unbounded_send(Ok(WorkloadStep::Charged(Box::new(charge.clone()))));
            };
            let answered = |answer: &PartAnswer| {
                let _ =
                    answers.unbounded_send(Ok(WorkloadStep::Answered(Box::new(answer.clone()))));
                Ok::<_, Error>(file(&answer.name))
            };
            let ended = plan.release(charged, answered).await;
            let _ = steps.unbounded_send(ended.map(|answer| WorkloadStep::Whole(Box::new(answer))));
        };
        if delay.is_none() {
            workers.begin(work)?;
        } else {
            // The times of the steps would tell of the data.
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

/// A workload that is being answered.
pub struct Releasing {
    steps: UnboundedReceiver<Result<WorkloadStep, Error>>,
    ended: bool,
}

impl Releasing {
    /// The next step; `None` after the last.
    ///
    /// # Errors
    /// When the budget does not suffice for all or the ledger cannot be written; when the data
    /// cannot be read, which leaves the charges in place.
    pub async fn next(&mut self) -> Option<Result<WorkloadStep, Error>> {
        if self.ended {
            return None;
        }
        let step = self.steps.next().await.unwrap_or(Err(Error::Interrupted));
        self.ended = !matches!(step, Ok(WorkloadStep::Charged(_) | WorkloadStep::Answered(_)));
        Some(step)
    }
}
