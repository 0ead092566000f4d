//! `hushtable init`.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;

use hushtable::draft::{Draft, Misfits};
use hushtable::output::PendingFile;

use super::interview::interview;
use crate::arguments::InitArguments;
use crate::failure::Failure;
use crate::render::audit::CONFIDENTIAL;
use crate::render::grid::visible;
use crate::{delayed_effects, stdio};

pub(crate) fn run(arguments: &InitArguments) -> Result<(), Failure> {
    let to_stdout = arguments.output == Path::new("-");
    // Found before the files are looked at, as it is the commoner mistake.
    let pending = (!to_stdout).then(|| PendingFile::new(&arguments.output)).transpose()?;
    let folder = match arguments.output.parent() {
        Some(parent) if !to_stdout => parent,
        _ => Path::new(""),
    };
    let draft = Draft::of(&arguments.files, folder, arguments.look_at_data)?;
    stdio::note(&misfits(&draft.misfits()));
    // Only people at a terminal can be asked.
    let asks = !arguments.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    let text = if asks {
        let decisions = interview(&draft, &mut io::stdin().lock(), &mut io::stderr().lock())?;
        draft.decided(&decisions)
    } else {
        draft.text()
    };
    let Some(pending) = pending else { return stdio::print(text.as_bytes()) };
    delayed_effects::write(pending, text.into_bytes())?;
    let next = if asks {
        "check the types of columns, and give bounds to those that are summed"
    } else {
        "fill in what is marked TODO"
    };
    let path = arguments.output.display();
    stdio::note(&format!("wrote {path}: {next}, then `hushtable explain` a query\n"));
    Ok(())
}

/// Everything that does not fit the types that are proposed. It is for the owner's eyes, and in no
/// contract, which analysts see.
fn misfits(all: &[Misfits]) -> String {
    let mut out = String::new();
    for found in all {
        let Misfits { table, column, column_type, values, rows, forms } = found;
        let (table, column) = (visible(table), visible(column));
        let forms: Vec<String> =
            forms.iter().map(|form| format!("\"{}\"", visible(form))).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "  {table}.{column}: {values} of the values in {rows} rows are not of type \
             {column_type}, and count as NULL: {}",
            forms.join(", ")
        );
    }
    if out.is_empty() { out } else { format!("{CONFIDENTIAL}\n{out}") }
}
