//! A first contract, from names and types of columns alone.

use std::fmt::Write;
use std::path::Path;

use hushtable_engine::FileColumn;
use hushtable_query::ColumnType;

use crate::render::grid::visible;

const START: &str = "\
# A contract: what may be asked of this data, and what every answer promises.
#
# Written by `hushtable init` from the names and types of columns; no value was read. The owner of
# the data decides what is marked TODO; until then, no query is answered.

# Where charges and answers are kept, relative to this file. Keep it safe: without it nobody knows
# what is spent.
ledger = \"hushtable.ledger\"
";

const UNIT: &str = "
# Who is protected: the column that names the person, household or company whose presence must not
# show, or \"row\" where every row is another one. Rows without a value in that column count for
# nothing.
privacy_unit = \"TODO: a column, or row\"
# Tables that must look alike differ by one unit more or less. Where the number of units is public,
# they may differ by one exchanged for another:
# neighbouring = \"replace\"
";

const COLUMNS: &str = "
# Columns that may be used in queries; delete the others. Values that are not of their column's
# type count as NULL.
";

const TEXT_COLUMNS: &str = "\
# CSV does not say what a column is, so choose: bool, int, decimal(2), float, string, date,
# timestamp.
";

const SETTINGS: &str = "
# What a column may have besides its type:
#   bounds        SUM and AVG need them: the least and most that one unit adds to a group; and MEDIAN
#                 as its range. Choose them from what you know of such data, never by looking at this
#                 data.
#                   amount = { type = \"decimal(2)\", bounds = [0, 500] }
#   granularity   sums are rounded to multiples of it; the default suits most columns
#                   amount = { type = \"float\", bounds = [0, 500], granularity = 0.0625 }
#   public_keys   groups that are no secret: all are shown, empty or not, at no cost
#                   country = { type = \"string\", public_keys = [\"DE\", \"FR\"] }
#   expression    a column computed from others
#                   year = { type = \"int\", expression = \"EXTRACT(YEAR FROM day)\" }
";

/// One table of the draft.
#[derive(Debug)]
pub(crate) struct DraftTable {
    name: String,
    path: String,
    is_text: bool,
    columns: Vec<FileColumn>,
}

impl DraftTable {
    /// `location` names the table, unless one of `others` has that name.
    pub(crate) fn new(
        location: &str,
        path: String,
        is_text: bool,
        columns: Vec<FileColumn>,
        others: &[Self],
    ) -> Self {
        let base = table_name(location);
        let taken = |name: &str| others.iter().any(|t| t.name.eq_ignore_ascii_case(name));
        let numbered = (2..).map(|i: u32| format!("{base}_{i}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name));
        Self { name: name.unwrap_or(base), path, is_text, columns }
    }
}

/// The contract's text.
pub(crate) fn contract(tables: &[DraftTable]) -> String {
    let mut out = START.to_owned();
    for table in tables {
        out.push_str(&section(table));
    }
    out
}

fn section(table: &DraftTable) -> String {
    let name = &table.name;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write!(out, "\n[tables.{name}]\n");
    let _ = writeln!(out, "# A file, a folder or a pattern, relative to this file.");
    let _ = writeln!(out, "path = {}", text(&table.path));
    out.push_str(UNIT);
    out.push_str(COLUMNS);
    if table.is_text {
        out.push_str(TEXT_COLUMNS);
    }
    let _ = writeln!(out, "[tables.{name}.columns]");
    let declared: Vec<(String, &FileColumn)> =
        table.columns.iter().filter_map(|c| Some((declaration(c, c.column_type?), c))).collect();
    let widest = declared.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    for (line, column) in &declared {
        if table.is_text {
            let _ = writeln!(out, "{line}");
        } else {
            let _ = writeln!(out, "{line:widest$}  # {} in the file", visible(&column.file_type));
        }
    }
    for column in table.columns.iter().filter(|c| c.column_type.is_none()) {
        let (key, file_type) = (key(&column.name), visible(&column.file_type));
        let _ = writeln!(out, "# {key} is left out: {file_type} is not a type that is read");
    }
    out.push_str(SETTINGS);
    let _ = write!(
        out,
        "
# What a query has that says nothing else.
[tables.{name}.defaults]
# epsilon = 1
# delta = 1e-6
# max_groups_contributed = 3
# max_rows_per_group = 10

# The most that each analyst may spend, as {{ epsilon = 3, delta = 1e-5 }} or
# {{ rho = 0.5, delta = 1e-5 }}. A smaller budget protects more; at an epsilon of 1, seeing the
# answers makes any guess about one unit at most 2.7 times as likely.
[tables.{name}.budgets]
analyst = \"TODO: {{ epsilon = …, delta = … }}, under the analyst's name\"
"
    );
    out
}

fn declaration(column: &FileColumn, column_type: ColumnType) -> String {
    format!("{} = {{ type = \"{column_type}\" }}", key(&column.name))
}

/// A TOML key.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { text(name) }
}

/// A TOML string.
fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// An SQL name from the last part of a location that says something.
fn table_name(location: &str) -> String {
    let extensions = [".gz", ".zst", ".csv", ".parquet", ".pq"];
    for part in Path::new(location).components().rev() {
        let part = part.as_os_str().to_string_lossy();
        let mut stem = part.as_ref();
        for extension in extensions {
            let lower = stem.to_ascii_lowercase();
            if lower.ends_with(extension) {
                stem = &stem[..stem.len() - extension.len()];
            }
        }
        let mut name = String::new();
        for c in stem.chars() {
            if c.is_ascii_alphanumeric() {
                name.push(c);
            } else if !name.is_empty() && !name.ends_with('_') {
                name.push('_');
            }
        }
        let name = name.trim_end_matches('_');
        if name.is_empty() {
            continue;
        }
        let reserved = RESERVED.iter().any(|word| word.eq_ignore_ascii_case(name));
        return if reserved || name.starts_with(|c: char| c.is_ascii_digit()) {
            format!("table_{name}")
        } else {
            name.to_owned()
        };
    }
    "data".to_owned()
}

/// Words that cannot stand alone as a table's name in SQL.
const RESERVED: [&str; 44] = [
    "all",
    "and",
    "as",
    "between",
    "by",
    "case",
    "cast",
    "cross",
    "distinct",
    "else",
    "end",
    "except",
    "exists",
    "false",
    "fetch",
    "for",
    "from",
    "full",
    "group",
    "having",
    "in",
    "inner",
    "intersect",
    "into",
    "is",
    "join",
    "left",
    "like",
    "limit",
    "not",
    "null",
    "offset",
    "on",
    "or",
    "order",
    "outer",
    "right",
    "select",
    "table",
    "then",
    "true",
    "union",
    "where",
    "with",
];

#[cfg(test)]
mod tests;
