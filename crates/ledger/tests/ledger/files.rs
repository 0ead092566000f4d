//! Files that are not what they should be.

use std::fs;
use std::path::Path;

use hushtable_ledger::{Ledger, LedgerError};
use insta::assert_snapshot;
use rusqlite::Connection;

use crate::support::{as_child, new_ledger, pay, request, said, say};

/// An error's text without the folder of this run.
fn text(error: LedgerError, path: &Path) -> String {
    error.to_string().replace(path.to_str().unwrap(), "ledger.sqlite")
}

#[test]
fn a_ledger_is_made_once_and_looking_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    assert!(Ledger::open_read_only(&path).unwrap().is_none());
    assert!(!path.exists());
    // As a crash before the first commit would leave it.
    fs::write(&path, "").unwrap();
    assert!(Ledger::open_read_only(&path).unwrap().is_none());
    assert!(Ledger::open(&path).unwrap().created());
    assert!(!Ledger::open(&path).unwrap().created());
    assert!(!Ledger::open_read_only(&path).unwrap().unwrap().created());
}

#[test]
fn other_files_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    let mut contents = vec![b"hello".to_vec(), b"id,name\n1,x\n".repeat(1000)];
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        .unwrap();
    drop(conn);
    contents.push(fs::read(&path).unwrap());
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA application_id = 7").unwrap();
    drop(conn);
    contents.push(fs::read(&path).unwrap());
    for content in contents {
        fs::write(&path, &content).unwrap();
        for error in [Ledger::open(&path).err(), Ledger::open_read_only(&path).err()] {
            let error = error.unwrap();
            assert!(matches!(error, LedgerError::NotALedger { .. }), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), content);
    }
    let error = Ledger::open(&path).unwrap_err();
    assert_snapshot!(text(error, &path), @r#"
    `ledger.sqlite` is not a ledger: it was made by another program; it was left as it is
      hint: give the path of a ledger, or of a file that does not exist yet
    "#);
}

#[test]
fn paths_that_cannot_be_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in
        [folder.path().join("missing/ledger.sqlite"), file.join("ledger"), folder.path().into()]
    {
        let error = Ledger::open(&path).unwrap_err();
        assert!(matches!(error, LedgerError::Open { .. }), "{error}");
    }
    let path = folder.path().join("missing/ledger.sqlite");
    assert_snapshot!(text(Ledger::open(&path).unwrap_err(), &path), @r#"
    cannot open the ledger `ledger.sqlite`: No such file or directory (os error 2)
      hint: the ledger's folder must exist, and this program needs read and write access to the folder and to the file
    "#);
    assert!(Ledger::open(Path::new("")).is_err());
    assert!(Ledger::open_read_only(&path).unwrap().is_none());
    assert!(Ledger::open_read_only(&file.join("ledger")).is_err());
    // No file can be made there, whoever asks.
    #[cfg(target_os = "linux")]
    assert!(Ledger::open(Path::new("/proc/ledger.sqlite")).is_err());
}

/// To SQLite these are databases in memory, which forget; here they are files.
#[test]
fn no_path_means_a_ledger_in_memory() {
    if let Some(folder) = as_child() {
        std::env::set_current_dir(folder).unwrap();
        for name in [":memory:", "file:ledger?mode=memory"] {
            let mut ledger = Ledger::open(Path::new(name)).unwrap();
            let charge = pay(&mut ledger, &request(1, "epsilon 1", "epsilon 1"));
            say("charged", charge.id());
        }
        return;
    }
    // A child, as the current folder belongs to the whole process.
    let folder = tempfile::tempdir().unwrap();
    let test = "files::no_path_means_a_ledger_in_memory";
    let output = crate::support::child(test, folder.path(), "").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said(&text, "charged"), [1, 1], "{text}");
    for name in [":memory:", "file:ledger?mode=memory"] {
        let ledger = Ledger::open_read_only(&folder.path().join(name)).unwrap().unwrap();
        assert_eq!(ledger.charges().unwrap().len(), 1, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_went_away_is_not_charged() {
    let (folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, &request(1, "epsilon 0.1", "epsilon 1"));
    fs::rename(&path, folder.path().join("old")).unwrap();
    let error = ledger.charge(&request(2, "epsilon 0.1", "epsilon 1")).unwrap_err();
    assert_snapshot!(text(error, &path), @r#"
    the ledger `ledger.sqlite` was moved, replaced or deleted while it was in use
      hint: put the file back, then start this program again
    "#);
    // Nor one that was replaced.
    let _new = Ledger::open(&path).unwrap();
    let error = ledger.charge(&request(2, "epsilon 0.1", "epsilon 1")).unwrap_err();
    assert!(matches!(error, LedgerError::Moved { .. }), "{error}");
    fs::rename(folder.path().join("old"), &path).unwrap();
    assert_eq!(pay(&mut ledger, &request(2, "epsilon 0.1", "epsilon 1")).id(), 2);
}

/// Permissions do not bind root, so root runs this as `nobody`, from a copy of this program that
/// `nobody` can read.
#[cfg(unix)]
#[test]
fn without_permission_to_write_nothing_is_charged() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    if let Some(path) = as_child() {
        let charge = |ledger: &mut Ledger| ledger.charge(&request(2, "epsilon 0.1", "epsilon 1"));
        match Ledger::open(&path).and_then(|mut ledger| charge(&mut ledger)) {
            Ok(_) => say("charged", 0),
            Err(error) => println!("\nerror {}", text(error, &path).replace('\n', " | ")),
        }
        let look = Ledger::open_read_only(&path).unwrap().unwrap();
        say("looked", look.charges().unwrap().len() as i64);
        return;
    }
    let (folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut ledger, &request(1, "epsilon 0.1", "epsilon 1"));
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let root = fs::metadata(&path).unwrap().uid() == 0;
    let run = || {
        let mut command = Command::new(&program);
        command.args([
            "--exact",
            "files::without_permission_to_write_nothing_is_charged",
            "--nocapture",
            "--test-threads=1",
        ]);
        command.env("HUSHTABLE_LEDGER_TEST_PATH", &path);
        if root {
            command.uid(65534).gid(65534);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said(&text, "looked"), [1], "{text}");
        assert!(said(&text, "charged").is_empty(), "{text}");
        let error = text.lines().find_map(|line| line.strip_prefix("error ")).unwrap();
        error.replace(" | ", "\n")
    };
    mode(folder.path(), 0o555);
    mode(&path, 0o444);
    assert_snapshot!(run(), @r#"
    the ledger `ledger.sqlite` cannot be written: the file is read-only
      hint: a charge needs write access to the ledger and to its folder, and a disk that is not read-only
    "#);
    // The file may be written, but its folder not.
    mode(&path, 0o666);
    assert_snapshot!(run(), @r#"
    the ledger `ledger.sqlite` cannot be written: attempt to write a readonly database
      hint: a charge needs write access to the ledger and to its folder, and a disk that is not read-only
    "#);
    mode(folder.path(), 0o755);
    assert_eq!(ledger.charges().unwrap().len(), 1);
    let _charge = pay(&mut ledger, &request(2, "epsilon 0.1", "epsilon 1"));
}
