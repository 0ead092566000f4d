//! `figures`.

use std::fs;
use std::path::Path;

use crate::support::{Run, command_in};

fn figures(folder: &Path, arguments: &[&str]) -> Run {
    let arguments = [&["figures"], arguments].concat();
    Run::of(command_in(folder, &arguments).output().unwrap())
}

#[test]
fn an_experiment_is_files_and_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let told = figures(folder.path(), &["--experiment", "herds", "--out", "a/b"]).success();
    let mut names: Vec<&str> = told.lines().collect();
    for name in &names {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert!(!bytes.is_empty(), "{name}");
    }
    assert!(names.contains(&"a/b/herds-losses-rho-1.csv"), "{told}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), fs::read_dir(folder.path().join("a/b")).unwrap().count());

    for (extension, start) in [("svg", b"<svg".as_slice()), ("png", b"\x89PNG")] {
        let path = folder.path().join(format!("a/b/herds-losses-rho-1.{extension}"));
        let bytes = fs::read(path).unwrap();
        assert!(bytes.windows(start.len()).any(|part| part == start), "{extension}");
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
    let error = figures(folder.path(), &["--experiment", "sim", "--out", "file"]).refusal();
    assert!(error.contains("cannot make the folder file"), "{error}");
    let unknown = figures(folder.path(), &["--experiment", "x", "--out", "a"]);
    assert_eq!(unknown.code, Some(2));
    assert!(!folder.path().join("a").exists());
}
