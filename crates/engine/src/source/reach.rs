//! Which paths a location would read, also of files that are not there yet.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

use super::files::format_of;

/// Whether [`list_files`](super::list_files) would read the path for the location once there is a
/// file.
///
/// Links are resolved first, and letter case is passed over, as some file systems do. In doubt the
/// answer is yes.
pub fn would_read(location: &str, base: &Path, path: &Path) -> bool {
    let root = base.join(location);
    let path = resolved(path);
    if same(&resolved(&root), &path) {
        return true;
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let name = name.to_string_lossy();
    if root.is_dir() {
        return format_of(&path).is_some()
            && !hidden(&name)
            && real(all_within(root)).contains(folder);
    }
    let (folders, last) = match location.rsplit_once('/') {
        Some((folders, last)) => (folders, last),
        None => ("", location),
    };
    if !location.contains(['*', '?', '[']) || (hidden(&name) && !hidden(last)) {
        return false;
    }
    let start = if location.starts_with('/') { PathBuf::from("/") } else { base.to_owned() };
    let start = if start.as_os_str().is_empty() { PathBuf::from(".") } else { start };
    let mut reached = vec![start];
    for component in folders.split('/').filter(|component| !component.is_empty()) {
        reached = reached.into_iter().flat_map(|folder| step(folder, component)).collect();
    }
    if last == "**" {
        reached = reached.into_iter().flat_map(all_within).collect();
    }
    fits(last, &name) && real(reached).contains(folder)
}

/// The path as the file system has it, also of a file that is not there yet.
pub fn resolved(path: &Path) -> PathBuf {
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

/// Whether two resolved paths differ by the letter case of the file's name at most.
pub fn same(one: &Path, other: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    one == other || (one.parent() == other.parent() && name(one) == name(other))
}

/// The folders that a component of a pattern leads to.
fn step(folder: PathBuf, component: &str) -> Vec<PathBuf> {
    if component == "**" {
        return all_within(folder);
    }
    if component.contains(['*', '?', '[']) {
        return folders_in(&folder)
            .filter(|(name, _)| fits(component, name))
            .map(|(_, path)| path)
            .collect();
    }
    vec![folder.join(component)]
}

fn fits(pattern: &str, name: &str) -> bool {
    let options = MatchOptions { case_sensitive: false, ..MatchOptions::new() };
    // The query reports what is wrong with a pattern.
    Pattern::new(pattern).is_ok_and(|pattern| pattern.matches_with(name, options))
}

/// The folder and all folders in it, through links.
fn all_within(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut visited = HashSet::new();
    let mut left = vec![folder];
    while let Some(folder) = left.pop() {
        // Links may form a loop.
        if fs::canonicalize(&folder).is_ok_and(|real| visited.insert(real)) {
            left.extend(folders_in(&folder).map(|(_, path)| path));
            found.push(folder);
        }
    }
    found
}

fn folders_in(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(_, path)| path.is_dir())
}

fn real(folders: Vec<PathBuf>) -> HashSet<PathBuf> {
    folders.iter().filter_map(|folder| fs::canonicalize(folder).ok()).collect()
}

fn hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}
