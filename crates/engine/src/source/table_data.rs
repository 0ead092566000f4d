//! Where the rows of tables are.

use std::collections::BTreeMap;

use super::folders::FolderValue;
use super::provided::ProviderSource;
use super::stored::Source;
use super::{DataFile, ResolvedIdentity, SourceError};

/// Where the rows of every table that a query reads are.
pub(crate) type Data = BTreeMap<String, TableData>;

/// Where the rows of a table are.
#[derive(Clone, Debug)]
pub(crate) enum TableData {
    /// In files, as they were listed.
    Files(Vec<DataFile>),
    /// With a program that provides them.
    Provided(ProviderSource),
}

impl TableData {
    /// Its files; none where it has none.
    pub(crate) fn files(&self) -> &[DataFile] {
        match self {
            Self::Files(files) => files,
            Self::Provided(_) => &[],
        }
    }

    /// Bytes of all rows, as they are stored.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Files(files) => files.iter().map(|file| file.bytes).fold(0, u64::saturating_add),
            Self::Provided(table) => table.chunks().into_iter().fold(0, u64::saturating_add),
        }
    }

    /// The identities of all that it is read from: of each file with the values in the names of its
    /// folders.
    ///
    /// # Errors
    /// When a file is gone.
    pub(crate) fn identities(
        &self,
    ) -> Result<Vec<(ResolvedIdentity, &[FolderValue])>, SourceError> {
        match self {
            Self::Files(files) => {
                let of = |file: &DataFile| file.identity().resolved();
                files.iter().map(|file| Ok((of(file)?, file.folders.as_slice()))).collect()
            }
            Self::Provided(table) => Ok(vec![(table.identity().resolved()?, &[])]),
        }
    }

    /// Whether its rows are those of the other, as far as their identities say.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Files(files), Self::Files(others)) => files == others,
            (Self::Provided(table), Self::Provided(other)) => table.identity() == other.identity(),
            _ => false,
        }
    }

    /// Whether a program provides both, and they are surely the same rows.
    pub(crate) fn shares_rows_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Provided(table), Self::Provided(other)) => table.has_rows_of(other),
            _ => false,
        }
    }
}
