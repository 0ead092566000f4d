//! A shop's data in a folder of its own, and runs of the command in it.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hushtable::arrow::array::ArrayRef;
use hushtable::arrow::record_batch::RecordBatch;
use hushtable::parquet::arrow::ArrowWriter;
use hushtable_testkit::TestFolder;

pub(crate) const COUNT_BY_PRODUCT: &str =
    "SELECT product, COUNT(*) AS visits FROM visits GROUP BY product";

const CONTRACT: &str = r#"
[tables.visits]
path = "visits.csv"
privacy_unit = "customer"

[tables.visits.columns]
customer = { type = "int" }
town = { type = "string" }
product = { type = "string", public_keys = ["bread", "coffee", "wine"] }
quantity = { type = "int", bounds = [0, 20] }

[tables.visits.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 2
max_rows_per_group = 5

[tables.visits.budgets]
ana = { epsilon = BUDGET, delta = 1e-3 }
"#;

/// A folder with `visits.csv` and `hushtable.toml`.
pub(crate) struct Shop {
    folder: TestFolder,
}

impl Shop {
    pub(crate) fn new() -> Self {
        Self::with(500, "3")
    }

    /// A shop with `customers` customers, three rows each, and ana's budget in epsilon.
    pub(crate) fn with(customers: usize, budget: &str) -> Self {
        let mut csv = String::from("customer,town,product,quantity\n");
        for row in 0..customers * 3 {
            let customer = row / 3;
            let town = if customer % 4 == 0 { "Wick" } else { "Ashford" };
            let product = ["bread", "coffee", "wine", "honey"][row * 7 % 4];
            writeln!(csv, "{customer},{town},{product},{}", row % 9).unwrap();
        }
        let contract = CONTRACT.replace("BUDGET", budget);
        Self { folder: TestFolder::new(&contract, &[("visits.csv", &csv)]) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.file(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        command_in(self.folder.path(), arguments)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// The only account, as `budget --format json` shows it.
    pub(crate) fn account(&self) -> serde_json::Value {
        let budgets = self.run(&["budget", "--format", "json"]).success();
        let budgets: serde_json::Value = serde_json::from_str(&budgets).unwrap();
        assert_eq!(budgets.as_array().unwrap().len(), 1);
        budgets[0].clone()
    }

    pub(crate) fn spent(&self) -> f64 {
        self.account()["spent"]["epsilon"].as_f64().unwrap()
    }

    /// Asserts that nothing was ever charged, not even tried.
    pub(crate) fn assert_untouched(&self) {
        assert!(!self.path("hushtable.ledger").exists());
    }

    pub(crate) fn files(&self) -> Vec<String> {
        self.folder.names()
    }
}

pub(crate) fn command_in(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hushtable"));
    command.current_dir(folder).args(arguments);
    // Settings of the person who runs the tests.
    for name in ["HUSHTABLE_CONTRACT", "HUSHTABLE_ANALYST", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// Writes a Parquet file of some columns, with the folder that it is in.
pub(crate) fn write_parquet<'a>(
    path: &Path,
    columns: impl IntoIterator<Item = (&'a str, ArrayRef)>,
) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{stderr}");
        Self { code: output.status.code(), stdout: output.stdout, stderr }
    }

    /// Standard output of a run that must have gone well.
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        String::from_utf8(self.stdout).unwrap()
    }

    /// Standard error of a run that must have been refused.
    pub(crate) fn refusal(self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        assert!(self.stderr.contains("\n  hint: "), "{}", self.stderr);
        self.stderr
    }
}
