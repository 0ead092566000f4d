//! `hushtable init`.

use std::path::Path;

use hushtable::draft::draft;
use hushtable::output::PendingFile;

use crate::arguments::InitArguments;
use crate::failure::Failure;
use crate::{pace, stdio};

pub(crate) fn run(asked: &InitArguments) -> Result<(), Failure> {
    let to_stdout = asked.output == Path::new("-");
    // Found before the files are looked at, as it is the commoner mistake.
    let pending = (!to_stdout).then(|| PendingFile::new(&asked.output)).transpose()?;
    let folder = match asked.output.parent() {
        Some(parent) if !to_stdout => parent,
        _ => Path::new(""),
    };
    let text = draft(&asked.files, folder, asked.look_at_data)?;
    let Some(pending) = pending else { return stdio::print(text.as_bytes()) };
    pace::written(pending, text.into_bytes())?;
    stdio::note(&format!(
        "wrote {}: fill in what is marked TODO, then `hushtable explain` a query\n",
        asked.output.display()
    ));
    Ok(())
}
