//! Answers of the engine to many statements, without noise.
//!
//! The epsilon is so large that noise is zero but with probability below 1e-9 a value, and groups
//! of two units appear for certain. Each statement has an analyst of its own, whose budget it
//! spends.

use std::fs;
use std::path::{Path, PathBuf};

use futures::executor::block_on;
use hushtable::Engine;
use hushtable::arrow::array::{Array, AsArray, RecordBatch};
use hushtable::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};
use hushtable::numbers::decimal::FixedDecimal;
use serde_json::Value;

use crate::Failure;

/// Statements that share a ledger. Opening a ledger checks all of its charges, so it stays short.
const PER_LEDGER: usize = 50;

/// The engine's answer to a statement.
pub enum Reply {
    /// The names of the columns' types, and the rows.
    Rows(Vec<&'static str>, Vec<Vec<Value>>),
    /// Why it refuses.
    Refused(String),
}

/// Asks statements about the tables in a folder, one after the other.
pub struct Asking {
    folder: PathBuf,
    contract: String,
    /// How many ledgers there are.
    ledgers: usize,
    /// How many statements the newest one has, and whether backslashes in their texts are plain.
    asked: usize,
    plain: bool,
    engine: Option<Engine>,
}

impl Asking {
    /// `contract` without the budgets of its populations.
    pub fn new(folder: &Path, contract: &str) -> Self {
        let (folder, contract) = (folder.to_owned(), contract.to_owned());
        Self { folder, contract, ledgers: 0, asked: 0, plain: false, engine: None }
    }

    /// The reply to a statement; with `plain`, double quotes are those of names, and backslashes
    /// are characters as others.
    ///
    /// # Errors
    /// When a file cannot be written, or a column is of a type that is not known here.
    pub fn ask(&mut self, sql: &str, plain: bool) -> Result<Reply, Failure> {
        let fits = self.asked < PER_LEDGER && self.plain == plain;
        let engine = match self.engine.take().filter(|_| fits) {
            Some(engine) => engine,
            None => self.open(plain)?,
        };
        let analyst = engine.analyst(Some(&format!("a{}", self.asked)));
        self.asked += 1;
        let reply = match block_on(analyst.query(sql)) {
            Ok(answer) => rows(&answer.table).map(|(types, rows)| Reply::Rows(types, rows)),
            Err(error) => Ok(Reply::Refused(error.to_string())),
        };
        self.engine = Some(engine);
        reply
    }

    fn open(&mut self, plain: bool) -> Result<Engine, Failure> {
        (self.asked, self.plain, self.ledgers) = (0, plain, self.ledgers + 1);
        let number = self.ledgers;
        let analysts: Vec<String> = (0..PER_LEDGER)
            .map(|n| format!("a{n} = {{ epsilon = 1000000, delta = 1e-6 }}"))
            .collect();
        let budgets = format!("budgets = {{ {} }}", analysts.join(", "));
        let contract = self.contract.replace("# budgets", &budgets);
        let path = self.folder.join(format!("{number}.toml"));
        let quotes = if plain { "names" } else { "texts" };
        let top = format!("ledger = \"{number}.ledger\"\ndouble_quotes = \"{quotes}\"\n");
        // An earlier run may have left one.
        let _ = fs::remove_file(self.folder.join(format!("{number}.ledger")));
        fs::write(&path, top + &contract)?;
        Ok(Engine::open(&path)?)
    }
}

fn rows(table: &RecordBatch) -> Result<(Vec<&'static str>, Vec<Vec<Value>>), Failure> {
    let mut types = Vec::new();
    let mut columns = Vec::new();
    for array in table.columns() {
        let (name, cells) = cells(array.as_ref())?;
        types.push(name);
        columns.push(cells);
    }
    let row = |row: usize| columns.iter().map(|cells| cells[row].clone()).collect();
    Ok((types, (0..table.num_rows()).map(row).collect()))
}

/// The name of an array's type, and its values as texts: dates and times as numbers of days and
/// microseconds.
fn cells(array: &dyn Array) -> Result<(&'static str, Vec<Value>), Failure> {
    fn texts<T: ToString>(values: impl Iterator<Item = Option<T>>) -> Vec<Value> {
        values.map(|value| value.map_or(Value::Null, |v| Value::String(v.to_string()))).collect()
    }
    Ok(match array.data_type() {
        DataType::Boolean => ("bool", texts(array.as_boolean().iter())),
        DataType::Int64 => ("int", texts(array.as_primitive::<Int64Type>().iter())),
        DataType::Float64 => ("float", texts(array.as_primitive::<Float64Type>().iter())),
        DataType::Decimal128(_, scale) => {
            let scale = u8::try_from(*scale)?;
            let digits = array.as_primitive::<Decimal128Type>().iter();
            let values = digits.map(|d| d.map(|digits| FixedDecimal { digits, scale }));
            ("decimal", texts(values))
        }
        DataType::Utf8View => ("text", texts(array.as_string_view().iter())),
        DataType::Utf8 => ("text", texts(array.as_string::<i32>().iter())),
        DataType::Date32 => ("date", texts(array.as_primitive::<Date32Type>().iter())),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            ("timestamp", texts(array.as_primitive::<TimestampMicrosecondType>().iter()))
        }
        other => return Err(format!("a column of type {other}").into()),
    })
}
