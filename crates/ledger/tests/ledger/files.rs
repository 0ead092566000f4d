//! Files that are not what they should be.

use std::fs;
use std::path::Path;

use hushtable_ledger::{Ledger, LedgerError, Notice, backup, check};
use insta::assert_snapshot;
use rusqlite::Connection;

use crate::support::{
    ChargeOne, as_child, new_ledger, open, open_read_only, pay, request, said, say, visits,
};

/// An error's text without the folder of this run.
fn text(error: LedgerError, path: &Path) -> String {
    error.to_string().replace(path.to_str().unwrap(), "ledger.sqlite")
}

#[test]
fn a_ledger_is_made_once_and_looking_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    assert!(open_read_only(&path, visits()).unwrap().is_none());
    assert!(!path.exists());
    assert!(open(&path, visits()).unwrap().created());
    assert!(!open(&path, visits()).unwrap().created());
    assert!(!open_read_only(&path, visits()).unwrap().unwrap().created());
}

/// Whoever can empty the file cannot start budgets afresh.
#[test]
fn an_empty_file_is_no_new_ledger() {
    let (_folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut *ledger, &request(1, "epsilon 1", "epsilon 1"));
    drop(ledger);
    fs::write(&path, "").unwrap();
    for error in [
        open(&path, visits()).err(),
        open_read_only(&path, visits()).err(),
        check(&path).err(),
        backup(&path, &path.with_extension("copy")).err(),
    ] {
        assert!(matches!(error, Some(LedgerError::Empty { .. })), "{error:?}");
    }
    assert_snapshot!(text(open(&path, visits()).unwrap_err(), &path), @"
    the ledger `ledger.sqlite` is an empty file: what was spent in it is not known
      hint: restore it from a backup; if nothing was ever charged, delete the file, \
            and the next query makes a new ledger
    ");
    assert_eq!(fs::read(&path).unwrap(), b"");
    // Nor is a database without tables.
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("VACUUM").unwrap();
    let error = open(&path, visits()).unwrap_err();
    assert!(matches!(error, LedgerError::Empty { .. }), "{error:?}");
}

/// Made whole or not at all: no program that is stopped leaves an empty file under the ledger's
/// name.
#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_no_new_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
    let error = open(&path, visits()).unwrap_err();
    assert!(matches!(error, LedgerError::Open { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Under any umask, and with the mode said where others can open the file.
#[cfg(unix)]
#[test]
fn a_ledger_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::{Arc, Mutex};
    if let Some(path) = as_child() {
        let mut ledger = open(&path, visits()).unwrap();
        let charge = pay(&mut *ledger, &request(1, "epsilon 1", "epsilon 1"));
        backup(&path, &path.with_extension("copy")).unwrap();
        return say("charged", charge.id());
    }
    let test = "files::a_ledger_is_for_its_owner_alone";
    let mut texts = Vec::new();
    for umask in ["000", "022", "077"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let shell = format!("umask {umask};");
        let output = crate::support::child(test, &path, &shell).output().unwrap();
        assert_eq!(said(&String::from_utf8(output.stdout).unwrap(), "charged"), [1]);
        for file in [&path, &path.with_extension("copy")] {
            let mode = file.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{} under umask {umask}: {mode:o}", file.display());
        }
        let notices = Arc::new(Mutex::new(Vec::new()));
        let listen = || {
            let notices = Arc::clone(&notices);
            move |notice: &Notice| notices.lock().unwrap().push(notice.to_string())
        };
        let ledger = open(&path, visits()).unwrap().telling(listen());
        assert!(notices.lock().unwrap().is_empty());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let look = open_read_only(&path, visits()).unwrap().unwrap().telling(listen());
        let notices =
            notices.lock().unwrap().join("\n").replace(path.to_str().unwrap(), "ledger.sqlite");
        texts.push(notices);
        drop((ledger, look));
    }
    assert_eq!(texts[1..], [texts[0].clone(), texts[0].clone()]);
    assert_snapshot!(texts[0], @"
    warning: other users can open the ledger `ledger.sqlite` (its mode is 0640): \
        they can read queries and answers in it, or lock it and so hold up queries
      hint: chmod 600 'ledger.sqlite'
    ");
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
        for error in [open(&path, visits()).err(), open_read_only(&path, visits()).err()] {
            let error = error.unwrap();
            assert!(matches!(error, LedgerError::NotALedger { .. }), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), content);
    }
    let error = open(&path, visits()).unwrap_err();
    assert_snapshot!(text(error, &path), @r#"
    `ledger.sqlite` is not a ledger: it was made by another program; it was left unchanged
      hint: give the path of a ledger, or of a file that does not exist yet
    "#);
}

#[test]
fn paths_that_cannot_be_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    for path in
        [folder.path().join("missing/ledger.sqlite"), file.join("ledger"), folder.path().into()]
    {
        let error = open(&path, visits()).unwrap_err();
        assert!(matches!(error, LedgerError::Open { .. }), "{error}");
    }
    let path = folder.path().join("missing/ledger.sqlite");
    assert_snapshot!(text(open(&path, visits()).unwrap_err(), &path), @"
    cannot open the ledger `ledger.sqlite`: No such file or directory (os error 2)
      hint: check that the ledger's folder exists, and that this program has read and write access \
        to the folder and to the file
    ");
    assert!(open(Path::new(""), visits()).is_err());
    assert!(open_read_only(&path, visits()).unwrap().is_none());
    assert!(open_read_only(&file.join("ledger"), visits()).is_err());
    // No file can be made there, whoever asks.
    #[cfg(target_os = "linux")]
    assert!(open(Path::new("/proc/ledger.sqlite"), visits()).is_err());
}

/// To SQLite these are databases in memory, which forget; here they are files.
#[test]
fn no_path_means_a_ledger_in_memory() {
    if let Some(folder) = as_child() {
        std::env::set_current_dir(folder).unwrap();
        for name in [":memory:", "file:ledger?mode=memory"] {
            let mut ledger = open(Path::new(name), visits()).unwrap();
            let charge = pay(&mut *ledger, &request(1, "epsilon 1", "epsilon 1"));
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
        let ledger = open_read_only(&folder.path().join(name), visits()).unwrap().unwrap();
        assert_eq!(ledger.charges().unwrap().len(), 1, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_went_away_is_not_charged() {
    let (folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut *ledger, &request(1, "epsilon 0.1", "epsilon 1"));
    fs::rename(&path, folder.path().join("old")).unwrap();
    let error = ledger.charge(&request(2, "epsilon 0.1", "epsilon 1")).unwrap_err();
    assert_snapshot!(text(error, &path), @r#"
    the ledger `ledger.sqlite` was moved, replaced or deleted while it was in use
      hint: put the file back, then start this program again
    "#);
    // Nor one that was replaced.
    let _new = open(&path, visits()).unwrap();
    let error = ledger.charge(&request(2, "epsilon 0.1", "epsilon 1")).unwrap_err();
    assert!(matches!(error, LedgerError::Moved { .. }), "{error}");
    fs::rename(folder.path().join("old"), &path).unwrap();
    assert_eq!(pay(&mut *ledger, &request(2, "epsilon 0.1", "epsilon 1")).id(), 2);
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
        let charge =
            |ledger: &mut dyn Ledger| ledger.charge(&request(2, "epsilon 0.1", "epsilon 1"));
        match open(&path, visits()).and_then(|mut ledger| charge(&mut *ledger)) {
            Ok(_) => say("charged", 0),
            Err(error) => println!("\nerror {}", text(error, &path).replace('\n', " | ")),
        }
        let look = open_read_only(&path, visits()).unwrap().unwrap();
        say("looked", look.charges().unwrap().len() as i64);
        return;
    }
    let (folder, path, mut ledger) = new_ledger();
    let _charge = pay(&mut *ledger, &request(1, "epsilon 0.1", "epsilon 1"));
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
    assert_snapshot!(run(), @"
    cannot write the ledger `ledger.sqlite`: the file is read-only
      hint: give this program write access to the ledger and to its folder, \
                              on a disk that is not read-only
    ");
    // The file may be written, but its folder not.
    mode(&path, 0o666);
    assert_snapshot!(run(), @"
    cannot write the ledger `ledger.sqlite`: no file can be made in its folder: permission denied
      hint: give this program write access to the ledger and to its folder, \
                              on a disk that is not read-only
    ");
    mode(folder.path(), 0o755);
    assert_eq!(ledger.charges().unwrap().len(), 1);
    let _charge = pay(&mut *ledger, &request(2, "epsilon 0.1", "epsilon 1"));
}
