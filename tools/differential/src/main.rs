//! Writes tables, random statements about them, and this engine's answers, for
//! `tests/differential.sh`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use hushtable_differential::asking::{Asking, Reply};
use hushtable_differential::{Failure, made_up_tables, whole_statements};
use serde_json::json;

/// Write made-up tables, random SQL about them, and this engine's answers without noise
///
/// The folder gets Parquet files, `theirs.sql`, which DuckDB runs first, and `answers.jsonl`: a
/// statement in both spellings with its rows, or with the reason for which it is refused.
#[derive(Debug, Parser)]
#[command(name = "differential", max_term_width = 100)]
struct Arguments {
    /// The folder to write to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// The seed of the statements
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How many statements are to be answered; those that are refused do not count
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    statements: u64,

    /// Only the statement of this number
    #[arg(long, value_name = "N")]
    only: Option<u64>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error is the reader's business.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = &arguments.out;
    fs::create_dir_all(folder)?;
    made_up_tables::write(folder)?;
    fs::write(folder.join("theirs.sql"), made_up_tables::their_schema())?;
    let mut answers = BufWriter::new(File::create(folder.join("answers.jsonl"))?);
    let mut asking = Asking::new(folder, made_up_tables::CONTRACT);
    let (mut answered, mut number) = (0, arguments.only.unwrap_or(0));
    // Should nearly all be refused, that ends, too, and is seen.
    while answered < arguments.statements && number < 3 * arguments.statements + 10_000 {
        let sql = whole_statements::statement(arguments.seed, number);
        let (types, rows, refused) = match asking.ask(&sql.ours, whole_statements::plain(number))? {
            Reply::Rows(types, rows) => (types, rows, None),
            Reply::Refused(why) => (Vec::new(), Vec::new(), Some(why)),
        };
        answered += u64::from(refused.is_none());
        let line = json!({
            "seed": arguments.seed, "number": number, "ours": sql.ours, "theirs": sql.theirs,
            "types": types, "rows": rows, "refused": refused,
        });
        writeln!(answers, "{line}")?;
        number += 1;
        if arguments.only.is_some() {
            break;
        }
    }
    Ok(answers.flush()?)
}
