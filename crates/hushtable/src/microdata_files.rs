//! Published microdata, as files.

use std::collections::BTreeSet;
use std::path::Path;

use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use hushtable_engine::{DistinctRows, Progress, distinct_rows};
use hushtable_knowledge::Microdata;
use hushtable_lang::Refusal;

use crate::Error;
use crate::workers::Workers;

/// Columns that a table is read by, at most.
const MOST_COLUMNS: usize = 32;

/// A published table of generalised records.
#[derive(Debug)]
pub struct MicrodataFile {
    /// Its name.
    pub name: String,
    /// The table. A quasi-identifier that it does not have is `*` in every row.
    pub table: Microdata,
    /// By sensitive column: whether the table has it.
    pub has: Vec<bool>,
}

/// Reads tables by some columns that an attacker may know, and some that are sensitive. A column
/// may be missing from a table, but not from all of them.
///
/// # Errors
/// When a file cannot be read or has no rows, or a column is in no table or named twice.
pub async fn read_microdata(
    workers: &Workers,
    locations: &[String],
    quasi: &[String],
    sensitive: &[String],
    progress: &Progress,
) -> Result<Vec<MicrodataFile>, Error> {
    let wanted = [quasi, sensitive].concat();
    check_names(&wanted)?;
    let mut read = Vec::with_capacity(locations.len());
    for location in locations {
        let (file, columns, progress) = (location.clone(), wanted.clone(), progress.clone());
        let work = async move { distinct_rows(&file, &columns, &progress).await };
        let rows = workers.run(work).await?;
        if rows.counts.iter().all(|count| *count == 0) {
            return Err(Refusal::new(
                format!("`{location}` has no rows"),
                "give published microdata: a row for each person",
            )
            .into());
        }
        read.push(rows);
    }
    for name in &wanted {
        if !read.iter().any(|rows| rows.columns.contains(name)) {
            let all: BTreeSet<&str> =
                read.iter().flat_map(|rows| &rows.columns).map(String::as_str).collect();
            let all: Vec<&str> = all.into_iter().collect();
            return Err(Refusal::new(
                format!("there is no column `{name}`"),
                format!("the columns are {}", all.join(", ")),
            )
            .into());
        }
    }
    let mut files: Vec<MicrodataFile> = Vec::with_capacity(read.len());
    for (location, rows) in locations.iter().zip(read) {
        let short = Path::new(location).file_name().map(|name| name.to_string_lossy().into_owned());
        let taken = |name: &String| files.iter().any(|file| file.name == *name);
        let name = short.filter(|name| !taken(name)).unwrap_or_else(|| location.clone());
        files.push(table(name, &rows, quasi, sensitive)?);
    }
    Ok(files)
}

fn check_names(wanted: &[String]) -> Result<(), Refusal> {
    if wanted.len() > MOST_COLUMNS {
        let what =
            format!("there are {} columns; at most {MOST_COLUMNS} are allowed", wanted.len());
        return Err(Refusal::new(what, "name fewer columns at a time"));
    }
    let mut seen = BTreeSet::new();
    match wanted.iter().find(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(twice) => Err(Refusal::new(
            format!("the column `{twice}` is given twice"),
            "name each column once, as a quasi-identifier or as sensitive",
        )),
    }
}

fn table(
    name: String,
    read: &DistinctRows,
    quasi: &[String],
    sensitive: &[String],
) -> Result<MicrodataFile, Error> {
    let options = FormatOptions::default();
    let formatter = |name: &String| {
        let column = read.rows.column_by_name(name);
        column.map(|column| ArrayFormatter::try_new(column, &options)).transpose()
    };
    let columns = |names: &[String]| names.iter().map(formatter).collect::<Result<Vec<_>, _>>();
    let (quasi, sensitive) = (columns(quasi)?, columns(sensitive)?);
    let texts = |columns: &[Option<ArrayFormatter<'_>>], row: usize| -> Vec<String> {
        let text = |column: &Option<ArrayFormatter<'_>>| {
            column.as_ref().map_or_else(String::new, |column| column.value(row).to_string())
        };
        columns.iter().map(text).collect()
    };
    let rows = read.counts.iter().enumerate();
    let rows = rows.map(|(row, count)| (texts(&quasi, row), texts(&sensitive, row), *count));
    let table = Microdata::new(quasi.len(), rows);
    let has = sensitive.iter().map(Option::is_some).collect();
    Ok(MicrodataFile { name, table, has })
}
