//! A first contract, from names and types of columns alone.

mod decisions;
mod links;

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use hushtable_contract::CsvSettings;
use hushtable_engine::{
    FileColumn, FileFormat, ProposedType, SuggestedTypes, file_schema, guess_csv, list_files,
    look_at,
};
use hushtable_lang::ColumnType;

use crate::Error;
use crate::visible::visible;
pub use decisions::{Decisions, UndecidedTable, UnitDecision};
use links::{Holds, SuggestedUnits};

const START: &str = "\
# A contract: what may be asked of this data, and what every answer promises.
#
# Written by `hushtable init` from the names and types of columns; WHAT WAS READ. WHO DECIDES

# Where charges and answers are kept, relative to this file. Keep it safe: without it nobody knows
# what is spent.
ledger = \"hushtable.ledger\"
";

const UNIT: &str = "
# Who is protected: the column that names the person, household or company whose presence must not
# show, or \"row\" where every row is another one. Rows without a value in that column count for
# nothing.
";

const NEIGHBOURS: &str = "\
# Tables that must look alike differ by one unit more or less. Where the number of units is public,
# they may differ by one exchanged for another:
# neighbouring = \"replace\"
";

const POPULATION: &str = "
# Who is protected: the kind of person, household or company whose presence must not show. \
  One budget
# protects it in all tables that hold it. The name comes from the columns: choose another if it is
# wrong.
";

const HELD: &str = "
# How rows belong to them, as the names and types of columns suggest: check it. Rows that belong to
# nobody count for nothing.
";

const NOT_HELD: &str = "
# How rows belong to them: by a column of their own, or through a row of another table that they
# refer to. A table that is about nobody, such as a list of towns, is declared public instead.
";

const PUBLIC_KEY: &str = "\
# If the table is public and this column names its rows, joins on it repeat no row:
";

const COLUMNS: &str = "
# Columns that may be used in queries; delete the others. Values that are not of their column's
# type count as NULL.
";

const TEXT_COLUMNS: &str = "\
# CSV does not say what a column is, so choose: bool, int, decimal(2), float, string, date,
# timestamp.
";

const CSV: &str = "\
# How the CSV is written, from its header line alone. Values may need more: quote, null, decimal,
# thousands, currency and dates, such as { decimal = \",\", thousands = \".\", dates = \"DMY\" }.
";

const JSON_COLUMNS: &str = "\
# They are keys that two or more of the first rows have: a key can be about one person, so delete
# what is no name of a column. JSON does not say what type a column has, so choose: bool, int,
# decimal(2), float, string, date, timestamp.
";

const LOOKED_AT: &str = "\
types below: proposed from the first rows, as the owner asked with
# --look-at-data. They follow from the data, and one odd row can change them: check them against
# what you know of such data. Bounds and public_keys are never taken from the data; a choice of
# yours must not be, either.
";

const SETTINGS: &str = "
# What a column may have besides its type:
#   bounds        SUM, AVG and MEDIAN need them: the least and the greatest value of a row. \
                  Choose
#                 them from what you know of such data, never by looking at this data.
#                   amount = { type = \"decimal(2)\", bounds = [0, 500] }
#   sum_bounds    the least and the most that all rows of a unit add to a group's sum: narrower \
                  ones
#                 mean less noise
#                   amount = { type = \"decimal(2)\", bounds = [0, 500], sum_bounds = [0, 800] }
#   granularity   sums are rounded to multiples of it; the default suits most columns
#                   amount = { type = \"float\", bounds = [0, 500], granularity = 0.0625 }
#   public_keys   groups that are no secret: all are shown, empty or not, at no cost
#                   country = { type = \"string\", public_keys = [\"DE\", \"FR\"] }
#   expression    a column computed from others
#                   year = { type = \"int\", expression = \"EXTRACT(YEAR FROM day)\" }
";

/// One table of the draft.
#[derive(Debug)]
struct DraftTable {
    name: String,
    path: String,
    columns: Vec<FileColumn>,
    /// How its CSV is written.
    csv: Option<CsvSettings>,
    /// Whether its files are JSON lines.
    json: bool,
    /// Types and spellings that its rows suggest, where the owner had them looked at.
    looked_at: Option<SuggestedTypes>,
}

impl DraftTable {
    /// `location` names the table, unless one of `others` has that name.
    fn new(location: &str, path: String, columns: Vec<FileColumn>, others: &[Self]) -> Self {
        let base = table_name(location);
        let taken = |name: &str| others.iter().any(|t| t.name.eq_ignore_ascii_case(name));
        let numbered = (2..).map(|i: u32| format!("{base}_{i}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name));
        Self { name: name.unwrap_or(base), path, columns, csv: None, json: false, looked_at: None }
    }

    /// Sets how its CSV is written.
    fn text(self, csv: CsvSettings) -> Self {
        Self { csv: Some(csv), ..self }
    }

    /// Adds what was found in its rows.
    fn looked_at(self, found: SuggestedTypes) -> Self {
        Self { csv: found.csv.clone(), looked_at: Some(found), ..self }
    }

    fn proposed(&self, column: &FileColumn) -> Option<&ProposedType> {
        let mut proposed = self.looked_at.iter().flat_map(|found| &found.columns);
        proposed.find(|proposed| proposed.name == column.name)
    }

    /// The type that a column is declared with.
    fn type_of(&self, column: &FileColumn) -> Option<ColumnType> {
        self.proposed(column).map_or(column.column_type, |proposed| Some(proposed.column_type))
    }
}

/// Values of a column that do not fit the type that a draft proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfits {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// The type that is proposed.
    pub column_type: String,
    /// How many values do not fit it.
    pub values: usize,
    /// How many rows were looked at.
    pub rows: usize,
    /// Some of their forms: digits as 9, letters as a or A.
    pub forms: Vec<String>,
}

/// A contract that its owner has not decided on.
#[derive(Debug)]
pub struct Draft {
    tables: Vec<DraftTable>,
}

impl Draft {
    /// Drafts a contract for the tables at some locations, as the contract's folder sees them.
    /// With `look`, the first rows of CSV and JSON lines are read, too, and the draft says so.
    ///
    /// # Errors
    /// When there are no files at a location, or one cannot be opened.
    pub fn of(locations: &[String], folder: &Path, look: bool) -> Result<Self, Error> {
        read(locations, folder, look).map(|tables| Self { tables })
    }

    /// The contract, with TODO where its owner has to decide.
    pub fn text(&self) -> String {
        contract(&self.tables, None)
    }

    /// Everything in the rows that were looked at that does not fit the types of the draft. About
    /// the exact data, and for its owner alone.
    pub fn misfits(&self) -> Vec<Misfits> {
        let each = self.tables.iter().flat_map(|table| {
            let found = table.looked_at.as_ref().map_or(0, |found| found.rows);
            let columns = table.looked_at.iter().flat_map(|found| &found.columns);
            columns.filter(|column| column.misfits > 0).map(move |column| Misfits {
                table: table.name.clone(),
                column: column.name.clone(),
                column_type: column.column_type.to_string(),
                values: column.misfits,
                rows: found,
                forms: column.forms.clone(),
            })
        });
        each.collect()
    }

    /// The contract as its owner has decided.
    pub fn decided(&self, decisions: &Decisions) -> String {
        contract(&self.tables, Some(decisions))
    }
}

fn read(locations: &[String], folder: &Path, look: bool) -> Result<Vec<DraftTable>, Error> {
    let mut tables: Vec<DraftTable> = Vec::new();
    for location in locations {
        let files = list_files(location, Path::new(""))?;
        let csv = guess_csv(&files)?;
        let columns = file_schema(&files, csv.as_ref())?;
        let mut table = DraftTable::new(location, seen_from(folder, location), columns, &tables);
        let format = files.first().map(|file| file.format);
        table.json = matches!(format, Some(FileFormat::JsonLines { .. }));
        if look && (table.json || csv.is_some()) {
            table = table.looked_at(look_at(&files, csv.as_ref())?);
        } else if let Some(csv) = csv {
            table = table.text(csv);
        }
        tables.push(table);
    }
    Ok(tables)
}

/// A location, relative to the working folder, as the contract's folder sees it.
fn seen_from(folder: &Path, location: &str) -> String {
    let path = Path::new(location);
    if folder.components().all(|component| component == Component::CurDir) || path.is_absolute() {
        return location.to_owned();
    }
    let (Ok(folder), Ok(whole)) = (std::path::absolute(folder), std::path::absolute(path)) else {
        return location.to_owned();
    };
    let absolute = whole.to_string_lossy().into_owned();
    let turns = |path: &Path| path.components().any(|component| component == Component::ParentDir);
    if turns(&folder) || turns(&whole) {
        // Where `..` leads depends on links.
        return absolute;
    }
    let mut from = folder.components().peekable();
    let mut to = whole.components().peekable();
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let back = from.map(|_| Component::ParentDir);
    let relative: PathBuf = back.chain(to).collect();
    match relative.to_str() {
        Some("") => ".".to_owned(),
        Some(text) => text.to_owned(),
        None => absolute,
    }
}

/// The contract's text. One table is a population of its own; several share one.
fn contract(tables: &[DraftTable], decisions: Option<&Decisions>) -> String {
    let looked = tables.iter().any(|table| table.looked_at.is_some());
    let read = match (looked, tables.iter().any(|table| table.json)) {
        (true, _) => "rows were read where it says so",
        (false, true) => "keys of JSON were read, and no value",
        (false, false) => "no value was read",
    };
    let wait = match decisions {
        None => {
            "The owner of\n\
             # the data decides what is marked TODO; until then, no query is answered."
        }
        Some(_) => {
            "The owner of\n# the data has answered its questions, and may change every answer here."
        }
    };
    let mut out = START.replace("WHAT WAS READ", read).replace("WHO DECIDES", wait);
    if let [table] = tables {
        out.push_str(&head(table));
        out.push_str(UNIT);
        let decided = decisions.and_then(|all| all.unit_of(&table.name)).map(|unit| match unit {
            UnitDecision::Column(column) => text(column),
            UnitDecision::Row | UnitDecision::Public => text("row"),
        });
        let unit = decided.unwrap_or_else(|| text(&open_unit(tables)));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "privacy_unit = {unit}");
        out.push_str(NEIGHBOURS);
        out.push_str(&columns(table));
        out.push_str(SETTINGS);
        out.push_str(&budgets(&format!("tables.{}", table.name), decisions));
        return out;
    }
    let suggested = SuggestedUnits::of(tables);
    let unit = &suggested.unit;
    out.push_str(POPULATION);
    let _ = writeln!(out, "[units.{unit}]");
    out.push_str(NEIGHBOURS);
    out.push_str(&budgets(&format!("units.{unit}"), decisions));
    for (table, holds) in tables.iter().zip(&suggested.tables) {
        out.push_str(&head(table));
        let decided = decisions.and_then(|all| all.unit_of(&table.name));
        out.push_str(&held(unit, holds, decided));
        out.push_str(&columns(table));
    }
    out.push_str(SETTINGS);
    out
}

/// The open decision about the unit of a table alone, with the column that seems to name one.
fn open_unit(tables: &[DraftTable]) -> String {
    match SuggestedUnits::of(tables).tables.first() {
        Some(Holds::Column(column)) => {
            format!("TODO: {column}, by its name; or another column, or row")
        }
        _ => "TODO: a column, or row".to_owned(),
    }
}

/// How a table holds the units; `decided` where the names did not tell.
fn held(unit: &str, holds: &Holds, decided: Option<&UnitDecision>) -> String {
    let of = text(unit);
    match holds {
        Holds::Column(column) => {
            format!("{HELD}unit = {{ of = {of}, column = {} }}\n", text(column))
        }
        Holds::Through { column, table, references } => format!(
            "{HELD}unit = {{ of = {of}, through = {{ column = {}, references = {} }} }}\n",
            text(column),
            text(&format!("{table}.{references}"))
        ),
        Holds::Unknown { key } => {
            let setting = match decided {
                Some(UnitDecision::Column(column)) => {
                    format!("unit = {{ of = {of}, column = {} }}", text(column))
                }
                Some(UnitDecision::Public) => "public = true".to_owned(),
                Some(UnitDecision::Row) | None => {
                    let form = format!("TODO: {{ of = {of}, column = … }}, or public = true");
                    format!("unit = {}", text(&form))
                }
            };
            let unique =
                key.as_ref().map(|key| format!("{PUBLIC_KEY}# unique = [{}]\n", text(key)));
            format!("{NOT_HELD}{setting}\n{}", unique.unwrap_or_default())
        }
    }
}

/// The table's heading, with where its files are and how they are written.
fn head(table: &DraftTable) -> String {
    let mut out = String::new();
    let _ = write!(out, "\n[tables.{}]\n", table.name);
    let _ = writeln!(out, "# A file, a folder or a pattern, relative to this file.");
    let _ = writeln!(out, "path = {}", text(&table.path));
    let Some(csv) = &table.csv else {
        if table.looked_at.is_some() {
            let _ = write!(out, "\n# The {LOOKED_AT}");
        }
        return out;
    };
    match &table.looked_at {
        Some(_) => {
            let _ = write!(out, "\n# How the CSV is written, and the {LOOKED_AT}");
        }
        None => out.push_str(CSV),
    }
    let comment = if csv.is_default() { "# " } else { "" };
    let _ = writeln!(out, "{comment}csv = {{ {} }}", csv_settings(csv));
    out
}

/// The declarations of the columns.
fn columns(table: &DraftTable) -> String {
    let name = &table.name;
    let mut out = COLUMNS.to_owned();
    if table.csv.is_some() && table.looked_at.is_none() {
        out.push_str(TEXT_COLUMNS);
    }
    if table.json && table.looked_at.is_none() {
        out.push_str(JSON_COLUMNS);
    }
    let _ = writeln!(out, "[tables.{name}.columns]");
    let declared: Vec<(String, Option<String>)> = table
        .columns
        .iter()
        .filter_map(|column| {
            let column_type = table.type_of(column)?;
            let comment = match table.proposed(column).and_then(|proposed| proposed.note) {
                Some(note) => Some(note.to_owned()),
                None if column.file_type == "folder" => Some("in the names of folders".to_owned()),
                None if table.csv.is_some() || table.json => None,
                None => Some(format!("{} in the file", visible(&column.file_type))),
            };
            Some((declaration(column, column_type), comment))
        })
        .collect();
    let widest = declared.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    for (line, comment) in &declared {
        let _ = match comment {
            Some(comment) => writeln!(out, "{line:widest$}  # {comment}"),
            None => writeln!(out, "{line}"),
        };
    }
    for column in table.columns.iter().filter(|c| c.column_type.is_none()) {
        let (key, file_type) = (key(&column.name), visible(&column.file_type));
        let _ = writeln!(out, "# {key} is left out: {file_type} is not a type that is read");
    }
    out
}

/// Defaults and budgets of a population, under its heading.
fn budgets(heading: &str, decisions: Option<&Decisions>) -> String {
    let (defaults, reason, budget) = match decisions {
        None => (
            "\
# epsilon = 1
# delta = 1e-6
# max_groups_contributed = 3
# max_rows_per_group = 10
"
            .to_owned(),
            "A smaller budget protects more; at an epsilon of 1, seeing the\n# answers makes any \
             guess about one unit at most 2.7 times as likely."
                .to_owned(),
            "analyst = \"TODO: { epsilon = …, delta = … }, under the analyst's name\"".to_owned(),
        ),
        Some(decisions) => decisions.settings(),
    };
    format!(
        "
# Defaults of queries.
[{heading}.defaults]
{defaults}
# The most that each analyst may spend, as {{ epsilon = 3, delta = 1e-5 }} or
# {{ rho = 0.5, delta = 1e-5 }}. {reason}
[{heading}.budgets]
{budget}
"
    )
}

/// The settings that are not the usual ones; delimiter and encoding where all are.
fn csv_settings(csv: &CsvSettings) -> String {
    let usual = CsvSettings::default();
    let (values, numbers) = (csv.values(), csv.values().numbers());
    let one = |c: char| text(&c.to_string());
    let list = |texts: &[String]| {
        let texts: Vec<String> = texts.iter().map(|one| text(one)).collect();
        format!("[{}]", texts.join(", "))
    };
    let mut settings = Vec::new();
    if csv.is_default() || csv.delimiter() != usual.delimiter() {
        settings.push(format!("delimiter = {}", one(csv.delimiter())));
    }
    if csv.is_default() || csv.encoding() != usual.encoding() {
        settings.push(format!("encoding = {}", text(&csv.encoding().name().to_ascii_lowercase())));
    }
    if numbers.decimal() != '.' {
        settings.push(format!("decimal = {}", one(numbers.decimal())));
    }
    settings.extend(numbers.thousands().map(|c| format!("thousands = {}", one(c))));
    if !numbers.currency().is_empty() {
        settings.push(format!("currency = {}", list(numbers.currency())));
    }
    settings.extend(values.dates().map(|order| format!("dates = \"{order}\"")));
    if !values.null().is_empty() {
        settings.push(format!("null = {}", list(values.null())));
    }
    settings.join(", ")
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

/// An SQL name from the last segment of a location that says something.
fn table_name(location: &str) -> String {
    let extensions = [
        ".gz", ".zst", ".csv", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow", ".arrows",
        ".feather",
    ];
    for segment in Path::new(location).components().rev() {
        let segment = segment.as_os_str().to_string_lossy();
        let mut stem = segment.as_ref();
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
