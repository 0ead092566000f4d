//! From a location in a contract to files.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use glob::{MatchOptions, Pattern};

use super::folders::{FolderValue, columns_of, folder_values};
use super::logs::LogSearch;
use super::{Compression, DataFile, FileFormat, SourceError, SourceIdentity};

/// Characters that make a name a pattern.
const PATTERN: [char; 3] = ['*', '?', '['];

/// The files of a location: a file, a folder (all files of a known format in it and in its
/// folders) or a pattern with `*`, `?`, `[…]` and `**`. It is relative to `base`, the contract's
/// folder, unless it is absolute.
///
/// Names that start with `.` or `_` are passed over unless the location spells them out. A file
/// or folder that exists under the very name of the location is taken even if the name looks like
/// a pattern. A file that several paths lead to (symbolic and hard links, mounted folders) is
/// listed once, under the first of them, as its rows must not count twice. The result is sorted by
/// path and never empty.
///
/// Folders such as `year=2024` below the location, or below the components of a pattern that have
/// no `*`, `?` or `[`, give each of their files a value of a column.
///
/// # Errors
///
/// If nothing matches, a file that is named or matched by a pattern has an unknown extension (files
/// of unknown extension within a folder are passed over), formats are mixed, files are in
/// folders of different columns, one file is in folders of different values, a file is in a table
/// of Delta Lake, Iceberg or Hudi, the pattern is not valid, or something cannot be read.
pub fn list_files(location: &str, base: &Path) -> Result<Vec<DataFile>, SourceError> {
    let root = base.join(location);
    let nothing =
        || SourceError::NothingFound { location: location.to_owned(), looked: root.clone() };
    if location.is_empty() {
        return Err(nothing());
    }
    let (mut paths, named) = match fs::metadata(&root) {
        Ok(found) if found.is_dir() => (walk(&root)?, root.clone()),
        Ok(_) => (vec![root.clone()], root.clone()),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let fixed = location.split('/').take_while(|component| !component.contains(PATTERN));
            let fixed: Vec<&str> = fixed.collect();
            (matches_of(location, base)?, base.join(fixed.join("/")))
        }
        Err(e) => return Err(unreadable(&root, &e)),
    };
    paths.sort();

    // By their sizes and times, too: some file systems number different files alike.
    let mut seen: HashMap<(FileId, u64, i128), usize> = HashMap::new();
    let mut logs = LogSearch::default();
    let mut files: Vec<DataFile> = Vec::with_capacity(paths.len());
    for path in paths {
        let real = fs::canonicalize(&path).map_err(|e| unreadable(&path, &e))?;
        for path in [&path, &real] {
            if let Some((kind, log)) = logs.above(path) {
                return Err(SourceError::TableLog { location: location.to_owned(), kind, log });
            }
        }
        let id = id_of(&path).map_err(|e| unreadable(&path, &e))?;
        let file = data_file(path.clone(), folder_values(&path, &named))?;
        match seen.entry((id, file.bytes, file.modified_ns)) {
            Entry::Vacant(entry) => {
                entry.insert(files.len());
                files.push(file);
            }
            // Its rows would have other values of these columns by one path than by the other.
            Entry::Occupied(entry) => {
                if let Some(first) = files.get(*entry.get())
                    && first.folders != file.folders
                {
                    return Err(SourceError::OneFileInTwoFolders {
                        location: location.to_owned(),
                        one: first.path.clone(),
                        other: path,
                    });
                }
            }
        }
    }
    if files.is_empty() {
        return Err(nothing());
    }
    if let Some(one) = files.first()
        && let Some(other) = files.iter().find(|f| f.format.name() != one.format.name())
    {
        return Err(SourceError::MixedFormats {
            location: location.to_owned(),
            one: (one.format.name(), one.path.clone()),
            other: (other.format.name(), other.path.clone()),
        });
    }
    if let Some(one) = files.first()
        && let Some(other) = files.iter().find(|f| columns_of(f) != columns_of(one))
    {
        let columns = |file: &DataFile| columns_of(file).into_iter().map(str::to_owned).collect();
        return Err(SourceError::DifferentFolders {
            location: location.to_owned(),
            one: one.path.clone(),
            one_columns: columns(one),
            other: other.path.clone(),
            other_columns: columns(other),
        });
    }
    Ok(files)
}

/// The identity of one file, whatever its path: hard links and symbolic links lead to the same.
#[cfg(unix)]
pub(crate) type FileId = (u64, u64);
/// The identity of one file, whatever its path: symbolic links lead to the same.
#[cfg(not(unix))]
pub(crate) type FileId = PathBuf;

/// The identity of a file, where it can be looked at.
pub(crate) fn file_id(path: &Path) -> Option<FileId> {
    id_of(path).ok()
}

#[cfg(unix)]
fn id_of(path: &Path) -> std::io::Result<FileId> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn id_of(path: &Path) -> std::io::Result<FileId> {
    fs::canonicalize(path)
}

fn data_file(path: PathBuf, folders: Vec<FolderValue>) -> Result<DataFile, SourceError> {
    let Some(format) = format_of(&path) else {
        return Err(SourceError::UnknownExtension { path });
    };
    let found = fs::metadata(&path).map_err(|e| unreadable(&path, &e))?;
    if !found.is_file() {
        // A pipe could be read only once, and reading a device may never end.
        return Err(SourceError::Unreadable { path, reason: "not a regular file".to_owned() });
    }
    Ok(DataFile { path, format, bytes: found.len(), modified_ns: modified_ns(&found), folders })
}

/// The identity of a file's state, unlike earlier and later ones.
pub(super) fn identity_of(path: &Path, found: &Metadata) -> SourceIdentity {
    let (bytes, modified_ns) = (found.len(), modified_ns(found));
    SourceIdentity::File { path: path.to_owned(), bytes, modified_ns }
}

fn modified_ns(found: &Metadata) -> i128 {
    let nanos = |d: std::time::Duration| i128::try_from(d.as_nanos()).unwrap_or(i128::MAX);
    match found.modified().map(|at| at.duration_since(UNIX_EPOCH)) {
        Ok(Ok(after)) => nanos(after),
        Ok(Err(before)) => -nanos(before.duration()),
        Err(_) => 0,
    }
}

/// The format that a name stands for.
pub(super) fn format_of(path: &Path) -> Option<FileFormat> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let csv = |compression| FileFormat::Csv { compression };
    let json = |compression| FileFormat::JsonLines { compression };
    [
        (".parquet", FileFormat::Parquet),
        (".pq", FileFormat::Parquet),
        (".arrow", FileFormat::Arrow),
        (".arrows", FileFormat::Arrow),
        (".feather", FileFormat::Arrow),
        (".csv", csv(Compression::None)),
        (".csv.gz", csv(Compression::Gzip)),
        (".csv.zst", csv(Compression::Zstd)),
        (".jsonl", json(Compression::None)),
        (".jsonl.gz", json(Compression::Gzip)),
        (".jsonl.zst", json(Compression::Zstd)),
        (".ndjson", json(Compression::None)),
        (".ndjson.gz", json(Compression::Gzip)),
        (".ndjson.zst", json(Compression::Zstd)),
    ]
    .into_iter()
    .find_map(|(end, format)| name.ends_with(end).then_some(format))
}

/// All files of a known format in a folder and in its folders.
fn walk(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    // Links to folders are followed, and may form a loop.
    let mut visited = HashSet::new();
    while let Some(folder) = folders.pop() {
        let real = fs::canonicalize(&folder).map_err(|e| unreadable(&folder, &e))?;
        if !visited.insert(real) {
            continue;
        }
        for entry in fs::read_dir(&folder).map_err(|e| unreadable(&folder, &e))? {
            let entry = entry.map_err(|e| unreadable(&folder, &e))?;
            if starts_with(&entry.file_name().to_string_lossy(), &['.', '_']) {
                continue;
            }
            let path = entry.path();
            match fs::metadata(&path) {
                Ok(found) if found.is_dir() => folders.push(path),
                // A broken link is of interest only if it should be data.
                Ok(_) | Err(_) if format_of(&path).is_none() => {}
                Ok(_) => files.push(path),
                Err(e) => return Err(unreadable(&path, &e)),
            }
        }
    }
    Ok(files)
}

/// The files that match a pattern.
fn matches_of(location: &str, base: &Path) -> Result<Vec<PathBuf>, SourceError> {
    if !location.contains(PATTERN) {
        return Ok(Vec::new());
    }
    let bad = |reason: String| SourceError::BadPattern { location: location.to_owned(), reason };
    let pattern = if Path::new(location).is_absolute() || base.as_os_str().is_empty() {
        location.to_owned()
    } else {
        let base = base.to_str().ok_or_else(|| bad("the contract's folder is not UTF-8".into()))?;
        format!("{}/{location}", Pattern::escape(base.trim_end_matches('/')))
    };
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let names_underscore = location.split('/').any(|component| starts_with(component, &['_']));
    let mut files = Vec::new();
    for found in glob::glob_with(&pattern, options).map_err(|e| bad(e.msg.to_owned()))? {
        let path = found.map_err(|e| unreadable(e.path(), e.error()))?;
        let within = path.strip_prefix(base).unwrap_or(&path);
        let underscore = within.components().any(|component| match component {
            Component::Normal(name) => starts_with(&name.to_string_lossy(), &['_']),
            _ => false,
        });
        if (names_underscore || !underscore) && !path.is_dir() {
            files.push(path);
        }
    }
    Ok(files)
}

fn starts_with(name: &str, any: &[char]) -> bool {
    name.starts_with(any)
}

fn unreadable(path: &Path, error: &std::io::Error) -> SourceError {
    SourceError::Unreadable { path: path.to_owned(), reason: error.to_string() }
}
