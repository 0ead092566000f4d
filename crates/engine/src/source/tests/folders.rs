//! Columns in the names of folders, and folders that are no tables.

use datafusion::arrow::array::*;

use super::super::{LogKind, file_schema};
use super::*;
use ColumnType::{Bool, Date, Float, Int, String as Text, Timestamp};

/// Reads columns of a folder, sorted by the first, which is of whole numbers.
fn rows(folder: &Path, location: &str, columns: &[(&str, ColumnType)]) -> RecordBatch {
    let files = list_files(location, folder).unwrap();
    let batch = read_files(&files, columns, 3).unwrap();
    let order = datafusion::arrow::compute::sort_to_indices(batch.column(0), None, None).unwrap();
    datafusion::arrow::compute::take_record_batch(&batch, &order).unwrap()
}

fn number(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

#[test]
fn folders_give_columns_of_every_type() {
    let folder = tempfile::tempdir().unwrap();
    for (path, rows) in [
        ("data/sex=f/day=2024-01-02/one.parquet", vec![1, 2]),
        ("data/sex=m/day=2024-01-03/one.parquet", vec![3]),
        ("data/sex=__HIVE_DEFAULT_PARTITION__/day=never/two.parquet", vec![4]),
        ("data/sex=a%2Fb%3D%25%/day=/one.parquet", vec![5]),
        ("data/sex=/day=2024-01-02 10%3A11%3A12/one.parquet", vec![6]),
        ("data/sex=%FF/day=20240102/three.parquet", vec![7]),
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_parquet(&path, &[("n", number(&rows))], None);
    }
    let asked = [("n", Int), ("day", Date), ("sex", Text)];
    let batch = rows(folder.path(), "data", &asked);
    let day = Some(19_724);
    assert_eq!(days(batch.column(1)), [day, day, Some(19_725), None, None, day, day]);
    let sexes = [Some("f"), Some("f"), Some("m"), None, Some("a/b=%%"), None, None];
    assert_eq!(strings(batch.column(2)), sexes);
    // The order in which columns are asked for, and whether there are others, make no difference.
    for location in ["data", "data/", "./data", "data/*/*/*.parquet", "data/**/*.parquet", "d*a"] {
        let Ok(files) = list_files(location, folder.path()) else {
            assert_eq!(location, "d*a");
            continue;
        };
        let batch = read_files(&files, &[("sex", Text), ("n", Int), ("day", Text)], 2).unwrap();
        assert_eq!(batch.num_rows(), 7, "{location}");
        assert_eq!(batch.column(0).null_count(), 3, "{location}");
        let only = read_files(&files, &[("sex", Text)], 2).unwrap();
        assert_eq!(only.column(0).null_count(), 3, "{location}");
        assert_eq!(only.num_rows(), 7);
    }
    let asked = [("n", Int), ("day", Timestamp), ("sex", Bool)];
    let batch = rows(folder.path(), "data", &asked);
    assert_eq!(micros(batch.column(1))[5], Some(1_704_190_272_000_000));
    assert_eq!(bools(batch.column(2))[..3], [Some(false), Some(false), None]);
    for to in [Int, Float, decimal(2)] {
        let batch = rows(folder.path(), "data", &[("n", Int), ("day", to)]);
        assert_eq!(batch.column(1).null_count(), 6, "{to}");
    }

    // Listed for a contract, with the columns of the files.
    let files = list_files("data", folder.path()).unwrap();
    let schema = file_schema(&files, None).unwrap();
    let found: Vec<_> = schema.iter().map(|c| (c.name.as_str(), c.file_type.as_str())).collect();
    assert_eq!(found, [("n", "int64"), ("sex", "folder"), ("day", "folder")]);
}

#[test]
fn only_folders_below_the_location_are_columns() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("run=7");
    for year in ["2023", "2024"] {
        let path = base.join(format!("year={year}/deep/x.csv"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "n\n1\n2\n").unwrap();
    }
    let columns = |location: &str| -> Vec<String> {
        let files = list_files(location, &base).unwrap();
        let schema = file_schema(&files, None).unwrap();
        schema.into_iter().map(|column| column.name).collect()
    };
    assert_eq!(columns("."), ["n", "year"]);
    assert_eq!(columns("year=*/deep/*.csv"), ["n", "year"]);
    assert_eq!(columns("**/x.csv"), ["n", "year"]);
    assert_eq!(columns("year=2024"), ["n"]);
    assert_eq!(columns("year=2024/**/*.csv"), ["n"]);
    assert_eq!(columns("year=2024/deep/x.csv"), ["n"]);
    assert_eq!(columns(base.join("year=*/*/*").to_str().unwrap()), ["n", "year"]);
    let batch = rows(&base, ".", &[("year", Int), ("n", Int)]);
    assert_eq!(ints(batch.column(0)), [2023, 2023, 2024, 2024].map(Some));
}

#[test]
fn folders_that_differ_or_repeat_a_column_are_refused() {
    let write_all = |names: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| {
            write(&folder, name, "n,sex\n1,f\n");
        });
        folder
    };
    for names in [
        ["sex=f/x.csv", "y.csv"],
        ["sex=f/x.csv", "year=1/y.csv"],
        ["a=1/b=2/x.csv", "b=2/a=1/y.csv"],
        ["a=1/b=2/x.csv", "a=1/y.csv"],
    ] {
        let error = list(".", write_all(&names).path()).unwrap_err();
        assert!(matches!(error, SourceError::DifferentFolders { .. }), "{names:?}");
    }
    let folder = write_all(&["sex=secret/x.csv", "sex=hidden/deep=secret/y.csv"]);
    let error = list(".", folder.path()).unwrap_err().to_string();
    let error = error.replace(folder.path().to_str().unwrap(), "FOLDER");
    insta::assert_snapshot!("folders_that_differ", error);

    let folder = write_all(&["sex=f/x.csv", "sex=m/y.csv"]);
    let files = list_files(".", folder.path()).unwrap();
    let error = read_files(&files, &[("n", Int), ("sex", Text)], 1).unwrap_err();
    let error = error.replace(folder.path().to_str().unwrap(), "FOLDER");
    insta::assert_snapshot!("a_column_in_file_and_folder", error);
    assert!(matches!(file_schema(&files, None), Err(SourceError::FolderColumn { .. })));
    // Errors name no columns that analysts cannot use.
    assert_eq!(read_files(&files, &[("n", Int)], 1).unwrap().num_rows(), 2);
    let folder = write_all(&["a=1/a=2/x.csv"]);
    let files = list_files(".", folder.path()).unwrap();
    assert!(matches!(file_schema(&files, None), Err(SourceError::DuplicateColumn { .. })));
    assert!(read_files(&files, &[("a", Int)], 1).unwrap_err().contains("more than one column `a`"));
}

/// The name of a folder holds a value: errors must not have it, whatever goes wrong.
#[test]
fn errors_do_not_show_the_values_in_names_of_folders() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "illness=secret/x.csv", "n\n1\n");
    let other = write(&folder, "illness=other/x.csv", "m\n1\n");
    let read = |columns: &[(&str, ColumnType)]| {
        let files = list_files(".", folder.path()).map_err(|e| e.to_string())?;
        read_files(&files, columns, 1).map(|_| ())
    };
    let mut errors = vec![
        read(&[("n", Int)]).unwrap_err(),
        file_schema(&list_files(".", folder.path()).unwrap(), None).unwrap_err().to_string(),
    ];
    std::fs::remove_file(&other).unwrap();
    errors.push(read(&[("missing", Int)]).unwrap_err());
    for bytes in [b"".as_slice(), b"n,\xff\n", b"n,n\n"] {
        std::fs::write(&path, bytes).unwrap();
        errors.push(read(&[("n", Int)]).unwrap_err());
    }
    std::fs::rename(&path, path.with_extension("parquet")).unwrap();
    errors.push(read(&[("n", Int)]).unwrap_err());
    std::fs::rename(path.with_extension("parquet"), path.with_extension("csv.gz")).unwrap();
    errors.push(read(&[("n", Int)]).unwrap_err());
    for error in errors {
        assert!(!error.contains("secret") && !error.contains("other/"), "{error}");
        assert!(error.contains("illness=…"), "{error}");
    }
}

#[test]
fn tables_with_a_log_are_refused() {
    for (kind, log) in [
        (LogKind::Delta, "t/_delta_log/00000000000000000000.json"),
        (LogKind::Hudi, "t/.hoodie/hoodie.properties"),
        (LogKind::Iceberg, "t/metadata/v3.metadata.json"),
        (LogKind::Iceberg, "t/metadata/version-hint.text"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, "t/data/year=1/x.csv", "a\n1\n");
        for before in ["t", "t/data", "t/**/*.csv"] {
            assert_eq!(list(before, folder.path()).unwrap().len(), 1);
        }
        write(&folder, log, "{}");
        write(&folder, "plain/x.csv", "a\n1\n");
        let table = folder.path().join("t");
        std::os::unix::fs::symlink(&table, folder.path().join("link")).unwrap();
        let file = table.join("data/year=1/x.csv");
        std::os::unix::fs::symlink(&file, folder.path().join("file.csv")).unwrap();
        for location in [
            "t",
            ".",
            "t/data",
            "t/data/year=1/x.csv",
            "t/**/*.csv",
            "link",
            "link/data/year=1",
            "file.csv",
        ] {
            let error = list(location, folder.path()).unwrap_err();
            assert!(
                matches!(error, SourceError::TableLog { kind: found, .. } if found == kind),
                "{location}: {error}"
            );
        }
        assert!(list_files("year=1/x.csv", &table.join("data")).is_err());
        assert_eq!(list("plain", folder.path()).unwrap().len(), 1);
    }
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "t/x.csv", "a\n1\n");
    write(&folder, "t/metadata/readme.txt", "");
    assert_eq!(list("t", folder.path()).unwrap().len(), 1);
    write(&folder, "t/_delta_log/0.json", "");
    let error = list("t", folder.path()).unwrap_err().to_string();
    let error = error.replace(folder.path().to_str().unwrap(), "FOLDER");
    insta::assert_snapshot!("a_table_with_a_log", error);
}

/// The real files are the same, and their values are not.
#[cfg(unix)]
#[test]
fn links_with_other_names_make_another_question() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let identity = |links: [(&str, &str); 2]| {
        let table = folder.path().join("table");
        std::fs::create_dir(&table).unwrap();
        for (name, real) in links {
            write(&folder, &format!("{real}/x.csv"), "n\n1\n");
            let times = std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
            let path = folder.path().join(real).join("x.csv");
            let file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
            file.set_times(times).unwrap();
            symlink(folder.path().join(real), table.join(name)).unwrap();
        }
        let files = list_files("table", folder.path()).unwrap();
        let tables = [("t".to_owned(), TableData::Files(files.clone()))].into();
        let identity = crate::record::fingerprint("ana", "question", &tables).unwrap();
        std::fs::remove_dir_all(&table).unwrap();
        identity
    };
    let one = identity([("sex=f", "a"), ("sex=m", "b")]);
    assert!(one == identity([("sex=f", "a"), ("sex=m", "b")]));
    assert!(one != identity([("sex=m", "a"), ("sex=f", "b")]));
    assert!(one != identity([("sex=f", "a"), ("sex=x", "b")]));
}
