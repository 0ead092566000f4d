//! `hushtable init`.

use std::io::{self, IsTerminal};
use std::path::Path;

use hushtable::draft::Draft;
use hushtable::output::PendingFile;

use super::interview::interview;
use crate::arguments::InitArguments;
use crate::failure::Failure;
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
