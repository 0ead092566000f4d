//! `hushtable query`.

use std::fs;
use std::path::{Path, PathBuf};

use hushtable_engine::{Answer, Progress, Session, list_files};

use crate::arguments::{QueryArguments, TableFormat};
use crate::failure::Failure;
use crate::files::PendingFile;
use crate::progress::watched;
use crate::render::cell::timestamp;
use crate::render::grid::visible;
use crate::{render, stdio};

pub(crate) fn run(asked: &QueryArguments) -> Result<(), Failure> {
    // Whatever can be wrong with the command is found before the budget is touched.
    let format = format(asked)?;
    let session = Session::open(&asked.contract.contract)?;
    let sql = stdio::sql(&asked.question.sql)?;
    let protected = Protected::of(&session, &asked.contract.contract);
    let output = asked.output.as_deref().map(|p| protected.pending(p)).transpose()?;
    let statement = asked.statement.as_deref().map(|p| protected.pending(p)).transpose()?;
    if let (Some(output), Some(statement)) = (&asked.output, &asked.statement)
        && resolved(output) == resolved(statement)
    {
        return Err(Failure::new(
            format!("--output and --statement both name {}", output.display()),
            "give them different names",
        ));
    }

    let progress = Progress::default();
    let analyst = asked.question.analyst.as_deref();
    let answer = watched(&progress, || session.query(&sql, analyst, &progress))?;
    // From here on the charge stands, so it is told whatever happens to the files.
    stdio::note(&account_of(&answer, &session));
    let result = render::result(&answer.table, format)?;
    if let Some(statement) = statement {
        statement.write(render::pretty_json(&answer.statement)?.as_bytes())?;
    }
    match output {
        Some(output) => output.write(&result),
        None => stdio::print(&result),
    }
}

fn format(asked: &QueryArguments) -> Result<TableFormat, Failure> {
    match (asked.format, &asked.output) {
        (Some(TableFormat::Parquet), None) if stdio::stdout_is_terminal() => Err(Failure::new(
            "Parquet is not for terminals",
            "--output result.parquet, or send it into a pipe",
        )),
        (Some(format), _) => Ok(format),
        (None, None) if stdio::stdout_is_terminal() => Ok(TableFormat::Table),
        (None, None) => Ok(TableFormat::Csv),
        (None, Some(path)) => by_extension(path).ok_or_else(|| {
            Failure::new(
                format!("the name {} does not say which format to write", path.display()),
                "end it in .csv, .json or .parquet, or give --format table, csv, json or parquet",
            )
        }),
    }
}

fn by_extension(path: &Path) -> Option<TableFormat> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(TableFormat::Csv),
        "json" => Some(TableFormat::Json),
        "parquet" | "pq" => Some(TableFormat::Parquet),
        _ => None,
    }
}

/// The files that a result must not replace. A ledger that is replaced forgets what was spent.
struct Protected(Vec<PathBuf>);

impl Protected {
    fn of(session: &Session, contract: &Path) -> Self {
        let ledger = session.ledger_path();
        let mut journal = ledger.clone().into_os_string();
        journal.push("-journal");
        let mut paths = vec![contract.to_owned(), ledger, journal.into()];
        let folder = contract.parent().unwrap_or(Path::new(""));
        for table in session.contract().tables.values() {
            // What is wrong with a location is for the query to say.
            if let Ok(files) = list_files(&table.path, folder) {
                paths.extend(files.into_iter().map(|file| file.path));
            }
        }
        Self(paths.iter().map(|path| resolved(path)).collect())
    }

    fn pending(&self, path: &Path) -> Result<PendingFile, Failure> {
        if self.0.contains(&resolved(path)) {
            return Err(Failure::new(
                format!("{} belongs to the contract or is data of it", path.display()),
                "give another name; nothing was asked, and nothing was charged",
            ));
        }
        PendingFile::replacing(path)
    }
}

/// The path as the file system has it, also for a file that is not there yet.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match (fs::canonicalize(folder), path.file_name()) {
        (Ok(real), Some(name)) => real.join(name),
        _ => path.to_owned(),
    }
}

/// What was charged and what is left.
fn account_of(answer: &Answer, session: &Session) -> String {
    let mut out = String::new();
    if answer.ledger_created {
        out = format!(
            "made the ledger {}, which keeps what is spent: keep it\n",
            session.ledger_path().display()
        );
    }
    let analyst = visible(&answer.analyst);
    let table = answer.statement.get("table").and_then(|table| table.as_str());
    let table = table.map_or(String::new(), |table| format!(" on {}", visible(table)));
    let left = answer.account.left;
    out + &match answer.charged {
        Some(charged) => format!("charged {charged} to {analyst}{table}; left: {left}\n"),
        None => {
            let since = released_at(answer).map_or(String::new(), |at| format!(" since {at} UTC"));
            format!("on record{since}: no charge to {analyst}{table}; left: {left}\n")
        }
    }
}

fn released_at(answer: &Answer) -> Option<String> {
    let seconds = answer.statement.get("released_at")?.as_i64()?;
    Some(timestamp(seconds.checked_mul(1_000_000)?).replacen('T', " ", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_name_formats() {
        for (name, format) in [
            ("a.csv", Some(TableFormat::Csv)),
            ("a.b/c.JSON", Some(TableFormat::Json)),
            ("a.parquet", Some(TableFormat::Parquet)),
            ("a.txt", None),
            ("csv", None),
        ] {
            assert_eq!(by_extension(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn one_file_has_one_resolved_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let other = folder.path().join(".").join("x.csv");
        assert_eq!(resolved(&path), resolved(&other));
        fs::write(&path, "").unwrap();
        assert_eq!(resolved(&path), resolved(&other));
    }
}
