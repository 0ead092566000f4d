//! The contract: what the owner of the data declares, in `hushtable.toml`.

mod columns;
mod csv;
mod defaults;
mod former;
mod learnt_bounds;
pub mod read;
mod split;
mod tables;
mod unit_texts;
mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hushtable_lang::{
    ColumnType, DEFAULT_TEXT_BYTES, Expr, ExprKind, PreparedPatterns, Refusal, Value, did_you_mean,
    similar,
};
use hushtable_numbers::{Number, Step};
use hushtable_privacy::{Delta, Epsilon, Loss, Rho};
use serde::Serialize;
use toml::de::{DeTable, DeValue};

use crate::interval_request::Level;
use crate::wishes::{NoiseKind, Prefer};
use hushtable_mechanisms::Strategy;

pub use csv::{CsvSettingError, CsvSettings, DateOrder, NumberFormat, TextFormat};
pub use defaults::{MAX_GROUPS, MAX_ROWS, MAX_ROWS_JOINED, defaults, loss};
pub use learnt_bounds::LearntBounds;
pub use read::ContractError;
pub use units::{Population, TableUnit};

/// Most values that `public_keys` or `known_keys` of one column may list.
pub const MAX_PUBLIC_KEYS: usize = 1_000_000;

/// The word for a limit that is chosen privately.
pub const AUTO: &str = "AUTO";

/// A checked contract.
#[derive(Clone, Debug)]
pub struct Contract {
    /// Where the ledger is, relative to the contract's folder.
    pub ledger: String,
    /// Whether double quotes are those of names, as in PostgreSQL, and not of texts.
    pub quoted_names: bool,
    /// Populations by name: each has budgets of its own.
    pub populations: BTreeMap<String, Population>,
    /// Tables by name.
    pub tables: BTreeMap<String, Table>,
    /// Names of populations that are gone: nothing is charged to their accounts any more.
    pub retired: Vec<String>,
}

/// One table and what may be asked of it.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Name in SQL.
    pub name: String,
    /// A file, a folder or a glob, relative to the contract's folder; `None` where a program
    /// provides the rows.
    pub path: Option<String>,
    /// How its CSV files are written; `None` where the contract does not say.
    pub csv: Option<CsvSettings>,
    /// The population that its rows are about; `None` for a public table.
    pub population: Option<String>,
    /// How it holds the privacy units.
    pub unit: TableUnit,
    /// Columns of a public table in which no two of its rows agree, or the unit's column of a
    /// protected table with one row of each unit; empty where the contract names none.
    pub unique: Vec<String>,
    /// The column that names who owns a record, where several may have one owner. It changes no
    /// promise: what an owner loses by all of its records follows from what each of them loses.
    pub owner: Option<String>,
    /// Whether groups may be chosen by the pieces of records: then the keys of large records come
    /// out.
    pub group_selection_by_pieces: bool,
    /// Columns, in the order of their names.
    pub columns: Vec<Column>,
}

/// A declared column.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Name in SQL, and in the file unless that has another, or `expression` is given.
    pub name: String,
    /// Its name in the file, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_file: Option<String>,
    /// Its type. A value that cannot be read as that type is NULL.
    pub column_type: ColumnType,
    /// Most bytes of a text; longer text is NULL.
    pub max_bytes: usize,
    /// For a column computed from others: the expression, over the table's stored columns.
    pub expression: Option<Expr>,
    /// Whether every row has a value: then counts of it are those of rows, and a row without one
    /// counts as zero, within the bounds.
    pub not_null: bool,
    /// Least and greatest value of a row.
    pub bounds: Option<(Number, Number)>,
    /// Least and greatest that all rows of one unit add to a group's sum.
    pub sum_bounds: Option<(Number, Number)>,
    /// Whether bounds are chosen privately for each query.
    pub automatic_bounds: bool,
    /// The lattice that contributions are rounded to.
    pub granularity: Option<Step>,
    /// The values that are public as group keys.
    pub public_keys: Option<Vec<Value>>,
    /// Splitting thresholds: sums are not clamped, and a record loses rho (value / threshold)^2.
    pub split: Option<Split>,
    /// Values that are known to be group keys without the data; others may appear, too.
    pub known_keys: Option<Vec<Value>>,
    /// Bounds of a row's value that the analyst who asks has on record; in no contract's text.
    #[serde(skip)]
    pub learnt: Option<LearntBounds>,
}

impl Column {
    /// Its name in the file.
    pub fn name_in_file(&self) -> &str {
        self.in_file.as_ref().unwrap_or(&self.name)
    }

    /// A column that declares nothing but its type.
    pub fn plain(name: &str, column_type: ColumnType) -> Self {
        Self {
            name: name.to_owned(),
            in_file: None,
            column_type,
            max_bytes: DEFAULT_TEXT_BYTES,
            expression: None,
            not_null: false,
            bounds: None,
            sum_bounds: None,
            automatic_bounds: false,
            granularity: None,
            public_keys: None,
            split: None,
            known_keys: None,
            learnt: None,
        }
    }
}

/// The thresholds of a column whose sums are not clamped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// The threshold of all records, or of those that `by` does not list.
    pub default: Number,
    /// Another column, whose value tells which threshold a record has.
    pub by: Option<SplitBy>,
}

/// Thresholds by another column (PR section 5.4).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitBy {
    /// The column, a stored or a computed one; not of floats.
    pub column: String,
    /// Its values that have a threshold of their own.
    pub values: Vec<(Value, Number)>,
}

/// A limit on what one unit adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitLimit {
    /// At most that many.
    Most(u32),
    /// Chosen privately for each query.
    Automatic,
}

impl fmt::Display for UnitLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Most(most) => most.fmt(f),
            Self::Automatic => f.write_str(AUTO),
        }
    }
}

impl Serialize for UnitLimit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Most(most) => serializer.serialize_u32(*most),
            Self::Automatic => serializer.serialize_str("auto"),
        }
    }
}

/// Options that a query may leave out.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Defaults {
    /// Budget of a query, in epsilon.
    pub epsilon: Option<Epsilon>,
    /// Budget of a query, in rho.
    pub rho: Option<Rho>,
    /// Budget of a query for choosing groups.
    pub delta: Option<Delta>,
    /// Most groups that one unit enters.
    pub max_groups_contributed: Option<UnitLimit>,
    /// Most rows of one unit that count in one group.
    pub max_rows_per_group: Option<UnitLimit>,
    /// Most rows of one unit on each side of a join in which its rows can meet each other.
    pub max_rows_joined: Option<u32>,
    /// Most rows of one unit in queries about rows that belong to units of two populations, where
    /// the other population's are bounded.
    pub max_rows_contributed: Option<u32>,
    /// How groups are chosen.
    pub group_selection_strategy: Option<Strategy>,
    /// The noise of queries; `None` for the better.
    pub noise: Option<NoiseKind>,
    /// Preference of queries, by which their mechanisms are chosen.
    pub prefer: Option<Prefer>,
    /// The level of the intervals beside released values.
    pub intervals: Option<Level>,
    /// Whether all of them hold at once.
    pub simultaneous_intervals: Option<bool>,
}

impl Defaults {
    /// The names of the options. In statements they hold for all parts.
    pub const NAMES: [&str; 12] = [
        "epsilon",
        "rho",
        "delta",
        "max_groups_contributed",
        "max_rows_per_group",
        "max_rows_joined",
        "max_rows_contributed",
        "group_selection_strategy",
        "noise",
        "prefer",
        "intervals",
        "simultaneous_intervals",
    ];

    /// The budget of a query that says nothing else; `None` where neither epsilon nor rho is set.
    pub fn loss(&self) -> Option<Loss> {
        let loss = match (self.epsilon, self.rho) {
            (Some(epsilon), _) => Loss::pure(epsilon),
            (None, Some(rho)) => Loss::concentrated(rho),
            (None, None) => return None,
        };
        Some(loss.with_delta(self.delta.unwrap_or(Delta::ZERO)))
    }
}

impl Contract {
    /// The JSON schema of contracts, for editors.
    pub const SCHEMA: &str = include_str!("contract/schema.json");

    /// Reads the text of a `hushtable.toml`; `file` is its name in errors.
    ///
    /// # Errors
    /// Whatever is wrong, with its line, value, allowed range and a hint.
    pub fn parse(text: &str, file: &str) -> Result<Self, ContractError> {
        Self::parse_with(text, file, &BTreeSet::new())
    }

    /// Reads and checks a contract as [`parse`](Self::parse) does, where a program provides the
    /// rows of some tables: these, and no others, have no path.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub fn parse_with(
        text: &str,
        file: &str,
        provided: &BTreeSet<&str>,
    ) -> Result<Self, ContractError> {
        PreparedPatterns::default().within(|| tables::contract(text, file, provided))
    }

    /// Whether a text is a contract, be it right, wrong or not finished.
    pub fn recognises(text: &str) -> bool {
        let is_table = |value: &DeValue<'_>| {
            let marks = ["privacy_unit", "unit", "public"];
            value.as_table().is_some_and(|table| marks.iter().any(|mark| table.contains_key(*mark)))
        };
        // Most texts are none, and need not be parsed.
        text.contains("tables")
            && DeTable::parse(text).is_ok_and(|root| {
                let tables =
                    root.get_ref().get("tables").and_then(|tables| tables.get_ref().as_table());
                tables.is_some_and(|all| all.values().any(|table| is_table(table.get_ref())))
            })
    }

    /// The table of that name, in any letter case: no two names differ in that alone.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.values().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// The table of that name, for a command that is about one.
    ///
    /// # Errors
    /// When there is none.
    pub fn named_table(&self, name: &str) -> Result<&Table, Refusal> {
        self.table(name).ok_or_else(|| {
            let names = self.tables.keys().map(String::as_str);
            let all: Vec<&str> = names.clone().collect();
            let hint = format!("the tables are {}", all.join(", "));
            let what = format!("there is no table `{name}`");
            Refusal::new(what, did_you_mean(similar(name, names), hint))
        })
    }

    /// The population whose units a table holds; `None` for a public table.
    pub fn population(&self, table: &Table) -> Option<&Population> {
        self.populations.get(table.population.as_deref()?)
    }
}

impl Table {
    /// The column of that name: exactly, or in other letter case where that is unambiguous.
    pub fn column(&self, name: &str) -> Option<&Column> {
        if let Some(column) = self.columns.iter().find(|c| c.name == name) {
            return Some(column);
        }
        let mut candidates = self.columns.iter().filter(|c| c.name.eq_ignore_ascii_case(name));
        candidates.next().filter(|_| candidates.next().is_none())
    }

    /// Whether bounds of a column can be learnt: it has numbers without bounds, and does not name
    /// the privacy unit.
    pub fn can_learn(&self, column: &Column) -> bool {
        let names_unit = match &self.unit {
            TableUnit::Column(unit) => *unit == column.name,
            TableUnit::Through { column: through, .. } => *through == column.name,
            TableUnit::Row => false,
            TableUnit::Public => true,
        };
        column.column_type.is_numeric()
            && column.bounds.is_none()
            && column.split.is_none()
            && !names_unit
    }

    /// The column that an expression over the stored columns is, if it is one: a column of the
    /// file, or a computed one.
    pub fn column_of(&self, expr: &Expr) -> Option<&Column> {
        column_of(&self.columns, expr)
    }

    /// The value of a declared column, from a row; `None` if there is no such column.
    pub fn row_expression(&self, name: &str) -> Option<Expr> {
        row_expression(&self.columns, name)
    }

    /// The columns that are in the file, in the order of their names: what [`Expr`]s over the
    /// table's rows count.
    pub fn stored_columns(&self) -> Vec<(String, ColumnType)> {
        stored(&self.columns).map(|c| (c.name.clone(), c.column_type)).collect()
    }

    /// The name in files of the column that SQL calls so.
    pub fn name_in_file<'a>(&'a self, name: &'a str) -> &'a str {
        let column = self.columns.iter().find(|column| column.name == name);
        column.map_or(name, Column::name_in_file)
    }

    /// The names in files of those stored columns that SQL calls otherwise, by their names in SQL.
    pub fn names_in_files(&self) -> BTreeMap<String, String> {
        let named = |c: &Column| Some((c.name.clone(), c.in_file.clone()?));
        self.columns.iter().filter_map(named).collect()
    }

    /// How it holds the privacy units, with its own column by the name in files.
    pub fn unit_in_files(&self) -> TableUnit {
        let in_file = |name: &String| self.name_in_file(name).to_owned();
        match &self.unit {
            TableUnit::Column(column) => TableUnit::Column(in_file(column)),
            TableUnit::Through { column, table, references } => TableUnit::Through {
                column: in_file(column),
                table: table.clone(),
                references: references.clone(),
            },
            unit @ (TableUnit::Row | TableUnit::Public) => unit.clone(),
        }
    }

    /// The most bytes of a text in each of the stored columns.
    pub fn column_bytes(&self) -> Vec<usize> {
        stored(&self.columns).map(|c| c.max_bytes).collect()
    }
}

/// The columns that rows come with; [`ExprKind::Column`] counts these.
pub fn stored(columns: &[Column]) -> impl Iterator<Item = &Column> {
    columns.iter().filter(|column| column.expression.is_none())
}

/// The column that an expression over the stored columns is, if it is one.
pub fn column_of<'a>(columns: &'a [Column], expr: &Expr) -> Option<&'a Column> {
    match expr.kind {
        ExprKind::Column(index) => stored(columns).nth(index),
        _ => columns.iter().find(|column| column.expression.as_ref() == Some(expr)),
    }
}

/// The value of the column of that name, from a row.
pub fn row_expression(columns: &[Column], name: &str) -> Option<Expr> {
    let column = columns.iter().find(|column| column.name == name)?;
    if let Some(expression) = &column.expression {
        return Some(expression.clone());
    }
    let index = stored(columns).position(|other| other.name == name)?;
    Some(Expr::column(index, column.column_type))
}
