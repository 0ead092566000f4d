//! Tests of the whole way from a question to its release.

mod automatic;
mod averages;
mod backend;
mod bounding;
mod bounding_plainly;
mod budgets;
mod distinct;
mod errors;
mod identities;
mod joined_rows;
mod learnt;
mod mechanisms;
mod names_in_files;
mod one_draw;
mod one_row;
mod pinned;
mod places;
mod plans;
mod quantiles;
mod releases;
mod selection;
mod sources;
mod split;
mod totality;
mod tpch;

use std::fmt::Write as _;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use hushtable_noise::TestSeed;
use tokio::runtime::Runtime;

use crate::answer_table::Answer;
use crate::error::EngineError;
use crate::progress::Progress;
use crate::runtime::runtime;
use crate::session::Session;
use crate::statement::Statement;

/// A future whose end can be waited for, as tests do.
pub(crate) trait Wait: Future + Sized {
    fn wait(self) -> Self::Output {
        static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| runtime().unwrap());
        RUNTIME.block_on(self)
    }
}

impl<F: Future> Wait for F {}

/// A folder with a contract and data.
pub(crate) struct Fixture(hushtable_testkit::TestFolder);

impl Deref for Fixture {
    type Target = hushtable_testkit::TestFolder;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Fixture {
    pub(crate) fn new(contract: &str, files: &[(&str, &str)]) -> Self {
        Self(hushtable_testkit::TestFolder::new(contract, files))
    }

    pub(crate) fn session(&self) -> Arc<Session> {
        Arc::new(Session::open(&self.contract()).unwrap())
    }

    /// The answer with a generator of that seed.
    fn ask(&self, sql: &str, seed: u64) -> Result<Answer, EngineError> {
        let mut generator = TestSeed(seed).generator();
        let session = self.session();
        let timed = session.query_with(sql, None, &Progress::default(), &mut generator).wait();
        let answer = timed?.0;
        // Statements are read by programs as they are written.
        let text = json(&answer.statement).to_string();
        assert!(serde_json::from_str::<Statement>(&text).is_ok(), "{text}");
        Ok(answer)
    }

    /// The answer's rows, one a line, values separated by `|`; from a fresh budget.
    fn rows(&self, sql: &str) -> String {
        let _ = std::fs::remove_file(self.session().ledger_path());
        match self.ask(sql, 1) {
            Ok(answer) => shown(&answer.table),
            Err(error) => format!("error: {error}\n"),
        }
    }
}

/// A statement as JSON.
pub(crate) fn json(statement: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(statement).unwrap()
}

pub(crate) fn shown(batch: &RecordBatch) -> String {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<ArrayFormatter<'_>> = batch
        .columns()
        .iter()
        .map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap())
        .collect();
    let mut text = String::new();
    for row in 0..batch.num_rows() {
        let values: Vec<String> = columns.iter().map(|c| c.value(row).to_string()).collect();
        writeln!(text, "{}", values.join("|")).unwrap();
    }
    text
}

/// A query whose noise is zero except for a probability below 1e-4, and whose groups all appear
/// except for one of 1e-2; at a fixed seed, so that results are known.
fn exactly(select: &str) -> String {
    format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000000, delta = 0.999999, \
         noise = LAPLACE, group_selection_strategy = GAUSSIAN_THRESHOLD, \
         group_selection_weight = 1, \
         max_groups_contributed = 2, max_rows_per_group = 100) {select}"
    )
}
