//! The program, as it is run.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn experiments(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_experiments"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

#[test]
fn an_experiment_is_files_and_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let run = experiments(folder.path(), &["herds", "--out", "a/b"]);
    assert!(run.status.success(), "{run:?}");
    let printed = String::from_utf8(run.stdout).unwrap();
    let mut names: Vec<&str> = printed.lines().collect();
    for name in &names {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert!(!bytes.is_empty(), "{name}");
    }
    assert!(names.contains(&"a/b/herds-losses-rho-1.csv"), "{printed}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), fs::read_dir(folder.path().join("a/b")).unwrap().count());

    for (extension, start) in [("svg", b"<svg".as_slice()), ("png", b"\x89PNG")] {
        let path = folder.path().join(format!("a/b/herds-losses-rho-1.{extension}"));
        let bytes = fs::read(path).unwrap();
        assert!(bytes.windows(start.len()).any(|window| window == start), "{extension}");
    }
    let mut reader =
        csv::Reader::from_path(folder.path().join("a/b/herds-losses-rho-1.csv")).unwrap();
    assert_eq!(&reader.headers().unwrap()[0], "rho");
    assert!(reader.records().map(Result::unwrap).count() > 100);
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "mine").unwrap();
    let run = experiments(folder.path(), &["sim", "--out", "file"]);
    assert_eq!(run.status.code(), Some(1));
    let error = String::from_utf8(run.stderr).unwrap();
    assert!(error.contains("cannot create the folder `file"), "{error}");
    let unknown = experiments(folder.path(), &["x", "--out", "a"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(!folder.path().join("a").exists());
}
