//! From locations to files.

use super::super::{Compression, FileFormat, Sink};
use super::*;

#[test]
fn folders_patterns_and_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "b.csv",
        "a.CSV",
        "c.csv.gz",
        "d.csv.zst",
        "notes.txt",
        ".hidden.csv",
        "_SUCCESS",
        "_tmp/x.csv",
        ".git/x.csv",
        "year=2020/x.csv",
        "year=2020/deep/y.csv",
        "q/p.parquet",
        "q/r.pq",
    ] {
        write(&folder, name, "a\n");
    }
    let base = folder.path();
    let q = ["q/p.parquet", "q/r.pq"];
    assert_eq!(list("q", base).unwrap(), q);
    assert_eq!(list("q/", base).unwrap(), q);
    assert_eq!(list("./q/*.p*", base).unwrap().len(), 2);
    assert_eq!(list("*.csv", base).unwrap(), ["b.csv"]);
    assert_eq!(list("year=*/**/*.csv", base).unwrap(), ["year=2020/deep/y.csv", "year=2020/x.csv"]);
    assert!(matches!(list("**/*.csv", base), Err(SourceError::DifferentFolders { .. })));
    assert_eq!(list("year=*", base).unwrap_err().to_string().lines().count(), 2);
    assert_eq!(list("year=*/?.csv", base).unwrap(), ["year=2020/x.csv"]);
    assert_eq!(list("[ab].*", base).unwrap(), ["a.CSV", "b.csv"]);
    assert_eq!(list("_tmp/*.csv", base).unwrap(), ["_tmp/x.csv"]);
    assert_eq!(list(".hidden.csv", base).unwrap(), [".hidden.csv"]);
    let absolute = base.join("q");
    for location in [absolute.join("*.pq"), absolute.join("r.pq")] {
        let files = list_files(location.to_str().unwrap(), Path::new("/elsewhere")).unwrap();
        assert_eq!(files[0].path, absolute.join("r.pq"));
    }

    let error = |location: &str| list(location, base).unwrap_err();
    assert!(matches!(error("."), SourceError::MixedFormats { .. }));
    assert!(matches!(error("notes.txt"), SourceError::UnknownExtension { .. }));
    assert!(matches!(error("n*"), SourceError::UnknownExtension { .. }));
    for nothing in ["", "none.csv", "none/*.csv", "b.csv/x.csv", "*.pq"] {
        assert!(matches!(error(nothing), SourceError::NothingFound { .. }), "{nothing}");
    }
    assert!(matches!(error("a***b.csv"), SourceError::BadPattern { .. }));
    std::fs::create_dir(base.join("empty")).unwrap();
    assert!(matches!(error("empty"), SourceError::NothingFound { .. }));
}

#[test]
fn what_is_known_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "x.csv.zst", "12345");
    let files = list_files("x.csv.zst", folder.path()).unwrap();
    assert_eq!(files[0].format, FileFormat::Csv { compression: Compression::Zstd });
    assert_eq!(files[0].bytes, 5);
    assert!(files[0].modified_ns > 1_600_000_000_000_000_000);
}

#[test]
fn names_that_look_like_patterns() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("odd [base] {x}, *");
    std::fs::create_dir(&base).unwrap();
    let names =
        ["a b.csv", "a*b.csv", "a?b.csv", "a[1].csv", "a,b.csv", "a%20b.csv", "a#b.csv", "ä.csv"];
    for name in names {
        std::fs::write(base.join(name), format!("x\n{}\n", name.len())).unwrap();
    }
    for name in names {
        let files = list_files(name, &base).unwrap();
        assert_eq!(files.len(), 1, "{name}");
        let batch = read_files(&files, &[("x", ColumnType::Int)], 2).unwrap();
        assert_eq!(ints(batch.column(0)), [Some(name.len() as i64)]);
    }
    assert_eq!(list_files("*.csv", &base).unwrap().len(), names.len());
}

#[cfg(unix)]
#[test]
fn links_do_not_count_twice() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "real/x.csv", "a\n");
    symlink(&path, folder.path().join("again.csv")).unwrap();
    symlink(folder.path(), folder.path().join("real/loop")).unwrap();
    symlink("nowhere", folder.path().join("real/broken.txt")).unwrap();
    assert_eq!(list(".", folder.path()).unwrap().len(), 1);
    symlink("nowhere", folder.path().join("real/broken.csv")).unwrap();
    assert!(matches!(list(".", folder.path()), Err(SourceError::Unreadable { .. })));
}

#[cfg(unix)]
#[test]
fn hard_links_do_not_count_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "t/x.csv", "a\n1\n2\n");
    std::fs::hard_link(&path, folder.path().join("t/y.csv")).unwrap();
    std::fs::create_dir(folder.path().join("t/deep")).unwrap();
    std::fs::hard_link(&path, folder.path().join("t/deep/x.csv")).unwrap();
    for location in ["t", "t/**/*.csv", "t/*.csv"] {
        assert_eq!(list(location, folder.path()).unwrap().len(), 1, "{location}");
    }
    let files = list_files("t", folder.path()).unwrap();
    assert_eq!(rows(&files), 2);
    // A copy is another file.
    std::fs::copy(&path, folder.path().join("t/z.csv")).unwrap();
    assert_eq!(list("t", folder.path()).unwrap(), ["t/deep/x.csv", "t/z.csv"]);
    // A link under another value of a column: which of them do its rows have?
    write(&folder, "u/year=1/x.csv", "a\n1\n");
    std::fs::create_dir(folder.path().join("u/year=2")).unwrap();
    let [one, other] = ["u/year=1/x.csv", "u/year=2/x.csv"].map(|name| folder.path().join(name));
    std::fs::hard_link(one, &other).unwrap();
    let error = list("u", folder.path()).unwrap_err().to_string();
    let error = error.replace(folder.path().to_str().unwrap(), "FOLDER");
    let text = "the files `FOLDER/u/year=…/x.csv` and `FOLDER/u/year=…/x.csv` of `u` are one file \
                (a link), in folders that give its rows different values\n  \
                hint: remove the link, or copy the file if its rows are there twice";
    assert_eq!(error, text);
    std::fs::remove_file(&other).unwrap();
    std::os::unix::fs::symlink("../year=1/x.csv", &other).unwrap();
    assert!(matches!(list("u", folder.path()), Err(SourceError::OneFileInTwoFolders { .. })));
}

#[cfg(unix)]
#[test]
fn names_that_are_not_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.csv"));
    if std::fs::write(&path, "a\n5\n").is_err() {
        println!("skipped: this file system wants UTF-8 names");
        return;
    }
    let files = list_files(".", folder.path()).unwrap();
    let batch = read_files(&files, &[("a", ColumnType::Int)], 1).unwrap();
    assert_eq!(ints(batch.column(0)), [Some(5)]);
}

#[test]
fn a_file_that_is_written_after_it_was_listed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "t.csv", "a\n1\n");
    let files = list_files("t.csv", folder.path()).unwrap();
    assert_eq!(read_files(&files, &[("a", ColumnType::Int)], 1).unwrap().num_rows(), 1);
    write(&folder, "t.csv", "a\n1\n2\n");
    let text = read_files(&files, &[("a", ColumnType::Int)], 1).unwrap_err();
    assert!(text.contains("t.csv` changed while") && text.contains("hint: "), "{text}");
}

/// Replaced while it is read, a file's rows are not those that were charged for: none are released,
/// whatever the format makes of them.
#[test]
fn a_file_that_is_written_while_it_is_read_is_an_error() {
    struct Replacing(PathBuf, Vec<u8>);
    impl Sink for Replacing {
        fn batch(&mut self, _: Vec<ArrayRef>, _: usize) -> bool {
            std::fs::write(&self.0, &self.1).unwrap();
            true
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..50_000));
    let columns = [("a", numbers)];
    let csv: String = (0..50_000).map(|n| format!("{n}\n")).collect();
    let csv = write(&folder, "t.csv", format!("a\n{csv}"));
    let parquet = folder.path().join("t.parquet");
    write_parquet(&parquet, &columns, None);
    let batch = super::arrow::batch(&columns);
    let arrow = write(&folder, "t.arrow", super::arrow::as_file(&[batch]));
    for path in [csv, parquet, arrow] {
        let files = list_files(path.to_str().unwrap(), Path::new("")).unwrap();
        let wanted = ReadRequest::columns(&named(&[("a", ColumnType::Int)]));
        let mut other = std::fs::read(&path).unwrap();
        other.truncate(100);
        let mut sink = Replacing(path, other);
        let data = TableData::Files(files);
        let error = super::super::observe(&data, &wanted, &Arc::default(), &mut sink).unwrap_err();
        assert!(matches!(error, SourceError::Changed { .. }), "{error}");
        // Before it is read, too.
        let error = super::super::observe(&data, &wanted, &Arc::default(), &mut sink).unwrap_err();
        assert!(matches!(error, SourceError::Changed { .. }), "{error}");
    }
}
