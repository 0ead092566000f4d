//! Ledgers, recognised without opening them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::schema::APPLICATION_ID;

/// The bytes that every SQLite file begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where the application's id is in the header, big end first.
const ID: std::ops::Range<usize> = 68..72;

/// Whether the file is a ledger, of any contract and version, by its application id.
///
/// A file that cannot be read is none.
pub fn is_ledger(path: &Path) -> bool {
    let mut header = [0; ID.end];
    // A pipe would wait for a writer.
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    let read = is_file && File::open(path).and_then(|mut f| f.read_exact(&mut header)).is_ok();
    let id = header[ID].iter().fold(0, |id, &byte| id << 8 | i64::from(byte));
    read && header.starts_with(MAGIC) && id == APPLICATION_ID
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn ledgers_are_known_by_their_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        assert!(!is_ledger(&path));
        std::fs::write(&path, "").unwrap();
        assert!(!is_ledger(&path));
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(!is_ledger(&path));
        conn.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        assert!(is_ledger(&path));
    }
}
