//! Folders with a contract and data, which go when a test ends.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder with a contract and data.
#[derive(Debug)]
pub struct TestFolder {
    folder: TempDir,
}

impl TestFolder {
    /// A folder with these files, each with its text, beside the contract.
    pub fn new(contract: &str, files: &[(&str, &str)]) -> Self {
        let folder = Self { folder: tempfile::tempdir().unwrap() };
        folder.write("hushtable.toml", contract);
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The contract's path.
    pub fn contract(&self) -> PathBuf {
        self.file("hushtable.toml")
    }

    /// Writes a file, with the folders that it is in, and gives its path.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        write(self.path(), name, bytes)
    }

    /// The names of what is in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Writes a file below a folder, with the folders between, and gives its path.
pub fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}
