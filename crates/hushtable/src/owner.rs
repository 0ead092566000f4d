//! The owner of the data sees how the contract fits the data, and what its promises are
//! worth on it. About the exact data, and not to be published.

use std::path::Path;
use std::sync::Arc;

use hushtable_contract::Contract;
use hushtable_engine::{
    Answer, AuditOptions, AuditReport, BudgetLine, CheckReport, FitOptions, FitReport, GroupSizes,
    LossOptions, LossReport, OtherAccount, Progress, Session, Timings, TuneReport,
};
use hushtable_ledger::Inspection;
use hushtable_privacy::Delta;

use crate::Error;
use crate::workers::Workers;

/// The owner of the data. All results are confidential, unless a method says otherwise.
#[derive(Clone)]
pub struct Owner {
    session: Arc<Session>,
    workers: Workers,
}

impl Owner {
    pub(crate) fn new(session: Arc<Session>, workers: Workers) -> Self {
        Self { session, workers }
    }

    /// The contract.
    pub fn contract(&self) -> &Contract {
        self.session.contract()
    }

    /// Looks at the values of a table, or of all tables, and at what a query makes of them. Charges
    /// nothing and writes nothing.
    ///
    /// # Errors
    /// When there is no such table, the query is refused or of another table, or the data cannot be
    /// read.
    pub async fn check(
        &self,
        table: Option<&str>,
        sql: Option<&str>,
        progress: &Progress,
    ) -> Result<CheckReport, Error> {
        let (session, progress) = (Arc::clone(&self.session), progress.clone());
        let (table, sql) = (table.map(str::to_owned), sql.map(str::to_owned));
        let work =
            async move { session.check_data(table.as_deref(), sql.as_deref(), &progress).await };
        self.workers.run(work).await
    }

    /// Computes the errors that a query would have at other limits, bounds, noise and prices, with
    /// noise, bounding and hidden groups apart. Charges nothing and writes nothing.
    ///
    /// # Errors
    /// When the query is refused, or the data cannot be read.
    pub async fn tune(&self, sql: &str, progress: &Progress) -> Result<TuneReport, Error> {
        let (session, sql, progress) =
            (Arc::clone(&self.session), sql.to_owned(), progress.clone());
        self.workers.run(async move { session.tune(&sql, &progress).await }).await
    }

    /// The physical plan of a query: how it is computed. Which sides joins are built from follows
    /// from the sizes of files.
    ///
    /// # Errors
    /// When the query is refused, or the tables do not have what it reads.
    pub async fn plan(&self, sql: &str) -> Result<String, Error> {
        let (session, sql) = (Arc::clone(&self.session), sql.to_owned());
        self.workers.run(async move { session.physical_plan(&sql).await }).await
    }

    /// Tries to break a query's promise on the data. Charges nothing and writes nothing.
    ///
    /// # Errors
    /// When the query or an option is refused, or the data cannot be read.
    pub async fn audit(
        &self,
        sql: &str,
        options: &AuditOptions,
        progress: &Progress,
    ) -> Result<AuditReport, Error> {
        let (session, sql) = (Arc::clone(&self.session), sql.to_owned());
        let (options, progress) = (*options, progress.clone());
        self.workers.run(async move { session.audit(&sql, &options, &progress).await }).await
    }

    /// Computes what the records of a table lose by a query whose sums are not clamped. Charges
    /// nothing and writes nothing.
    ///
    /// # Errors
    /// When the query is refused or has no such sum, or the data cannot be read.
    pub async fn policy(
        &self,
        sql: &str,
        options: LossOptions,
        progress: &Progress,
    ) -> Result<LossReport, Error> {
        let (session, sql, progress) =
            (Arc::clone(&self.session), sql.to_owned(), progress.clone());
        self.workers.run(async move { session.losses(&sql, options, &progress).await }).await
    }

    /// Finds the smallest policy with which a share of a query's groups meets a target for the
    /// relative error. Charges nothing and writes nothing.
    ///
    /// # Errors
    /// When the query or an option is refused, no noise is small enough, or the data cannot be
    /// read.
    pub async fn fit(
        &self,
        sql: &str,
        options: &FitOptions,
        progress: &Progress,
    ) -> Result<FitReport, Error> {
        let (session, sql) = (Arc::clone(&self.session), sql.to_owned());
        let (options, progress) = (*options, progress.clone());
        self.workers.run(async move { session.fit(&sql, &options, &progress).await }).await
    }

    /// Every budget of the contract, with what its charges come to. Not confidential, except for
    /// the queries of others.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn budgets(&self, delta: Option<Delta>) -> Result<Vec<BudgetLine>, Error> {
        let session = Arc::clone(&self.session);
        self.workers.block(move || session.budget(delta)).await
    }

    /// The accounts of the ledger that the contract does not name. Not confidential, except for the
    /// queries of others.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn other_accounts(&self) -> Result<Vec<OtherAccount>, Error> {
        let session = Arc::clone(&self.session);
        self.workers.block(move || session.other_accounts()).await
    }

    /// Looks whether the contract names everybody who was charged for.
    ///
    /// # Errors
    /// When it does not: every query is refused with this error. When the ledger cannot be read.
    pub async fn check_populations(&self) -> Result<(), Error> {
        let session = Arc::clone(&self.session);
        self.workers.block(move || session.check_populations()).await
    }

    /// Answers a query in the name of an analyst, who pays for it, and tells where the time went:
    /// that depends on the data, so it is not for the analyst.
    ///
    /// # Errors
    /// Fails where [`Analyst::query`](crate::Analyst::query) does.
    pub async fn timed(
        &self,
        sql: &str,
        analyst: Option<&str>,
    ) -> Result<(Answer, Timings), Error> {
        let (session, sql) = (Arc::clone(&self.session), sql.to_owned());
        let analyst = analyst.map(str::to_owned);
        let work =
            async move { session.timed(&sql, analyst.as_deref(), &Progress::default()).await };
        self.workers.finish(work).await
    }

    /// Counts the records of each group of some files, for a release of counts, as
    /// [`group_sizes`](crate::group_sizes) does.
    ///
    /// # Errors
    /// Those of [`group_sizes`](crate::group_sizes).
    pub async fn group_sizes(
        &self,
        location: &str,
        release: &str,
        progress: &Progress,
    ) -> Result<GroupSizes, Error> {
        crate::group_sizes(&self.workers, location, release, progress).await
    }

    /// Checks all of the ledger's file.
    ///
    /// # Errors
    /// When there is none, or it cannot be read. Damage is no error: it is in the result.
    pub async fn ledger_check(&self) -> Result<Inspection, Error> {
        let path = self.session.ledger_path();
        self.workers.block(move || Ok(hushtable_ledger::check(&path)?)).await
    }

    /// Copies the ledger to a new file, and checks the copy.
    ///
    /// # Errors
    /// When there is no ledger, the file is there, or it cannot be written.
    pub async fn ledger_backup(&self, file: &Path) -> Result<Inspection, Error> {
        let (path, file) = (self.session.ledger_path(), file.to_owned());
        self.workers.block(move || Ok(hushtable_ledger::backup(&path, &file)?)).await
    }
}
