//! `hushtable init`.

use std::path::{Component, Path, PathBuf};

use hushtable_engine::{file_schema, guess_csv, list_files, look_at};

use crate::arguments::InitArguments;
use crate::draft::{DraftTable, contract};
use crate::failure::Failure;
use crate::files::PendingFile;
use crate::stdio;

pub(crate) fn run(asked: &InitArguments) -> Result<(), Failure> {
    let to_stdout = asked.output == Path::new("-");
    // Found before the files are looked at, as it is the commoner mistake.
    let pending = (!to_stdout).then(|| PendingFile::new(&asked.output)).transpose()?;
    let folder = match asked.output.parent() {
        Some(parent) if !to_stdout => parent,
        _ => Path::new(""),
    };
    let mut tables: Vec<DraftTable> = Vec::new();
    for location in &asked.files {
        let files = list_files(location, Path::new(""))?;
        let path = seen_from(folder, location);
        let csv = guess_csv(&files)?;
        let columns = file_schema(&files, csv.as_ref())?;
        let mut table = DraftTable::new(location, path, columns, &tables);
        if let Some(csv) = csv {
            table = match asked.look_at_data {
                true => table.looked_at(look_at(&files, &csv)?),
                false => table.text(csv),
            };
        }
        tables.push(table);
    }
    let text = contract(&tables);
    let Some(pending) = pending else { return stdio::print(text.as_bytes()) };
    pending.write(text.into_bytes())?;
    stdio::note(&format!(
        "wrote {}: fill in what is marked TODO, then `hushtable explain` a query\n",
        asked.output.display()
    ));
    Ok(())
}

/// A location, relative to the working folder, as the contract's folder sees it.
fn seen_from(folder: &Path, location: &str) -> String {
    let path = Path::new(location);
    if folder.components().all(|part| part == Component::CurDir) || path.is_absolute() {
        return location.to_owned();
    }
    let (Ok(folder), Ok(whole)) = (std::path::absolute(folder), std::path::absolute(path)) else {
        return location.to_owned();
    };
    let absolute = whole.to_string_lossy().into_owned();
    let turns = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    if turns(&folder) || turns(&whole) {
        // What `..` leads to depends on links.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_relative_to_the_contract() {
        for (folder, location, seen) in [
            ("", "a/b.csv", "a/b.csv"),
            (".", "a/*.csv", "a/*.csv"),
            ("a", "a/b.csv", "b.csv"),
            ("a", "a", "."),
            ("x/y", "a/b.csv", "../../a/b.csv"),
            ("x/y", "x/z/*.csv", "../z/*.csv"),
            ("x", "/data/b.csv", "/data/b.csv"),
        ] {
            assert_eq!(seen_from(Path::new(folder), location), seen, "{folder} {location}");
        }
    }
}
