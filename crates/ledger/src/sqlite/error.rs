//! SQLite's error codes, in words for the person who can mend the file.

use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use super::file::BUSY_SECONDS;
use crate::LedgerError;

impl LedgerError {
    pub(crate) fn sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let (path, detail) = (path.to_owned(), error.to_string());
        let code = match &error {
            rusqlite::Error::SqliteFailure(code, _) => code,
            // A value that the schema does not allow.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => return Self::Damaged { path, detail },
            _ => return Self::Unexpected { path, detail },
        };
        match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                Self::Busy { path, seconds: BUSY_SECONDS }
            }
            ErrorCode::ReadOnly => match code.extended_code {
                ffi::SQLITE_READONLY_DBMOVED => Self::Moved { path },
                ffi::SQLITE_READONLY_ROLLBACK | ffi::SQLITE_READONLY_RECOVERY => {
                    Self::Interrupted { path }
                }
                _ => Self::ReadOnly { path, detail },
            },
            ErrorCode::DiskFull => Self::Full { path },
            ErrorCode::SystemIoFailure => Self::Disk { path, detail },
            // Not `detail`, which repeats the path.
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                Self::Open { path, detail: code.to_string() }
            }
            ErrorCode::NotADatabase => Self::NotALedger { path },
            ErrorCode::DatabaseCorrupt => Self::Damaged { path, detail },
            _ => Self::Unexpected { path, detail },
        }
    }
}
