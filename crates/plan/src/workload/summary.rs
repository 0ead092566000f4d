//! A summary of a table: a workload that asks the usual questions about every column.

mod bins;

use std::collections::BTreeSet;

use hushtable_contract::{Column, Table, TableUnit};
use hushtable_lang::ColumnType;
use hushtable_privacy::{Delta, Loss};

pub use bins::Bin;

/// The quantiles of a summary, in percent.
pub const QUANTILES: [u8; 5] = [5, 25, 50, 75, 95];

/// The heading of counts in the queries of a summary.
pub const COUNT: &str = "n";
/// The query that counts all rows, and its heading.
pub const ROWS: &str = "rows";

/// A workload about a table, and what its queries say of each column. Which queries these are
/// follows from the contract alone.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The workload, as a file would have it.
    pub workload: String,
    /// The columns in the order of the contract, without those that say whose a row is.
    pub columns: Vec<SummaryColumn>,
}

/// The questions of a summary about one column.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
    /// Where rows without a value are counted.
    pub missing: Missing,
    /// The query with its [`QUANTILES`]: one row, in the order of the quantiles.
    pub quantiles: Option<String>,
    /// The query that counts rows by value.
    pub counts: Option<ColumnCounts>,
    /// Why the summary has less of it than of others.
    pub left_out: Option<&'static str>,
}

/// Where the rows without a value of a column are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Nowhere: the contract says that there are none, or no query can name the column.
    NotNull,
    /// In the query about all rows, under this heading.
    WithRows(String),
    /// In the column's own counts: the group NULL.
    WithCounts,
}

/// A query that counts rows by the value of a column: two columns, the value and [`COUNT`].
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnCounts {
    /// The query.
    pub query: String,
    /// The kind of its values.
    pub of: CountsOf,
}

/// The groups of a column's counts.
#[derive(Clone, Debug, PartialEq)]
pub enum CountsOf {
    /// The public keys of the contract, the most frequent first.
    Keys,
    /// TRUE and FALSE.
    Flags,
    /// Ranges of numbers; the query has their indices, in rising order.
    Bins(Vec<Bin>),
    /// The first days of months, in rising order, those with enough units.
    Months,
    /// Values that enough units have, the most frequent first.
    Frequent,
}

const NO_BOUNDS: &str = "no `bounds` in the contract, which quantiles and a histogram need";
const AUTOMATIC: &str =
    "`bounds` in the contract are chosen for each query, and a summary needs numbers";
const NO_DELTA: &str = "no delta in the budget, which the choice of values to show needs";
const NAME: &str = "a backtick in its name, which no query can write";

impl Summary {
    /// Plans a summary for a budget.
    pub fn of(table: &Table, loss: Loss) -> Self {
        let has_delta = loss.delta() != Delta::ZERO;
        let mut names = BTreeSet::from([ROWS.to_owned()]);
        let columns: Vec<SummaryColumn> = table
            .columns
            .iter()
            .filter(|column| !says_whose(table, &column.name))
            .enumerate()
            .map(|(index, column)| summarised(column, index, has_delta, &mut names))
            .collect();
        Self { workload: text(table, loss, &columns), columns }
    }

    /// The name of the column that a query is about; `None` for the query about all rows.
    pub fn about(&self, query: &str) -> Option<&str> {
        let is_about = |column: &&SummaryColumn| {
            let counts = column.counts.as_ref().map(|counts| counts.query.as_str());
            column.quantiles.as_deref() == Some(query) || counts == Some(query)
        };
        self.columns.iter().find(is_about).map(|column| column.name.as_str())
    }
}

/// Whether a column says whose a row is: its values are units, or lead to them.
fn says_whose(table: &Table, name: &str) -> bool {
    match &table.unit {
        TableUnit::Column(unit) | TableUnit::Through { column: unit, .. } => unit == name,
        TableUnit::Row | TableUnit::Public => false,
    }
}

fn summarised(
    column: &Column,
    index: usize,
    has_delta: bool,
    names: &mut BTreeSet<String>,
) -> SummaryColumn {
    let plain = column.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let stem = match plain && names.insert(column.name.to_lowercase()) {
        true => column.name.clone(),
        false => format!("column-{}", index + 1),
    };
    let is_number = matches!(
        column.column_type,
        ColumnType::Int | ColumnType::Decimal { .. } | ColumnType::Float
    );
    let bounds = column.bounds.filter(|_| is_number);
    let (of, left_out) = match (column.column_type, bounds) {
        _ if column.name.contains('`') => (None, Some(NAME)),
        _ if column.public_keys.is_some() => (Some(CountsOf::Keys), None),
        _ if column.automatic_bounds => (None, Some(AUTOMATIC)),
        (ColumnType::Bool, _) => (Some(CountsOf::Flags), None),
        (column_type, Some((low, high))) => {
            (Some(CountsOf::Bins(bins::bins(low, high, column_type == ColumnType::Int))), None)
        }
        (ColumnType::Decimal { .. } | ColumnType::Float, None) => (None, Some(NO_BOUNDS)),
        (ColumnType::Int | ColumnType::String, None) if has_delta => {
            (Some(CountsOf::Frequent), None)
        }
        (ColumnType::Date | ColumnType::Timestamp, None) if has_delta => {
            (Some(CountsOf::Months), None)
        }
        _ => (None, Some(NO_DELTA)),
    };
    let missing = match &of {
        // Whatever the contract says of them, rows without a value are in no range.
        Some(CountsOf::Bins(_) | CountsOf::Flags) => Missing::WithCounts,
        _ if column.not_null || left_out == Some(NAME) => Missing::NotNull,
        _ => Missing::WithRows(format!("missing_{}", index + 1)),
    };
    SummaryColumn {
        name: column.name.clone(),
        column_type: column.column_type,
        missing,
        quantiles: (bounds.is_some() && left_out.is_none()).then(|| format!("{stem}.quantiles")),
        counts: of.map(|of| ColumnCounts { query: format!("{stem}.counts"), of }),
        left_out,
    }
}

fn text(table: &Table, loss: Loss, columns: &[SummaryColumn]) -> String {
    let budget = match loss {
        Loss::Approximate { epsilon, delta } => format!("epsilon = {epsilon}\ndelta = {delta}\n"),
        Loss::Concentrated { rho, delta } => format!("rho = {rho}\ndelta = {delta}\n"),
    };
    let from = format!("FROM {}", quoted(&table.name));
    let missing = columns.iter().filter_map(|column| match &column.missing {
        Missing::WithRows(heading) => {
            Some(format!(", COUNT(*) - COUNT({}) AS {heading}", quoted(&column.name)))
        }
        Missing::NotNull | Missing::WithCounts => None,
    });
    let missing: String = missing.collect();
    let mut out = budget + &query(ROWS, &format!("SELECT COUNT(*) AS `{ROWS}`{missing} {from}"));
    for column in columns {
        let name = quoted(&column.name);
        if let Some(quantiles) = &column.quantiles {
            let all = QUANTILES
                .map(|percent| format!("PERCENTILE_CONT({name}, 0.{percent:02}) AS q{percent:02}"));
            out += &query(quantiles, &format!("SELECT {} {from}", all.join(", ")));
        }
        if let Some(counts) = &column.counts {
            out += &query(&counts.query, &counted(&counts.of, &name, &from));
        }
    }
    out
}

/// The SQL of a column's counts.
fn counted(of: &CountsOf, name: &str, from: &str) -> String {
    let (key, order) = match of {
        CountsOf::Keys | CountsOf::Frequent => (name.to_owned(), format!("{COUNT} DESC, value")),
        CountsOf::Flags => {
            let key = format!("CASE WHEN {name} THEN 'TRUE' WHEN NOT {name} THEN 'FALSE' END");
            (key, "value DESC".to_owned())
        }
        CountsOf::Bins(bins) => (bins::case(bins, name), "value".to_owned()),
        CountsOf::Months => (format!("DATE_TRUNC({name}, MONTH)"), "value".to_owned()),
    };
    format!("SELECT {key} AS value, COUNT(*) AS {COUNT} {from} GROUP BY {key} ORDER BY {order}")
}

/// A query of a workload. Texts of JSON are texts of TOML.
fn query(name: &str, sql: &str) -> String {
    let sql = serde_json::Value::from(sql.replace('{', "{{").replace('}', "}}"));
    format!("\n[[queries]]\nname = \"{name}\"\nsql = {sql}\n")
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

#[cfg(test)]
mod tests;
