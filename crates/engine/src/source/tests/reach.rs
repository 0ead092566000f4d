//! Paths that a location would read are those that it reads once the files are there.

use std::fs;
use std::path::Path;

use crate::source::{list_files, would_read};

/// Whether the location reads the path when there is a file.
fn reads(location: &str, base: &Path, path: &Path) -> bool {
    let made = !path.exists();
    if made {
        fs::write(path, "a\n1\n").unwrap();
    }
    let real = fs::canonicalize(path).unwrap();
    let files = list_files(location, base).unwrap_or_default();
    let found = files.iter().any(|file| fs::canonicalize(&file.path).unwrap() == real);
    if made {
        fs::remove_file(path).unwrap();
    }
    found
}

#[test]
fn new_files_are_known_to_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    for sub in ["data/2021/north", "data/2022", "data/_old", "other"] {
        fs::create_dir_all(base.join(sub)).unwrap();
    }
    for file in ["a.csv", "data/2021/a.csv", "data/2022/a.csv"] {
        fs::write(base.join(file), "a\n1\n").unwrap();
    }
    let locations = [
        "a.csv",
        "none.csv",
        "data",
        "data/",
        "./data/../data",
        "*.csv",
        "data/*/a*.csv",
        "data/*/*",
        "data/202[12]/?.csv",
        "data/**/a.csv",
        "data/**",
        "**/*.csv",
        "_*.csv",
        "data/2021/../2022/*.csv",
    ];
    let names = ["a.csv", "ab.csv", "none.csv", ".a.csv", "_a.csv", "x.csv.gz", "s.json"];
    let folders =
        ["", "data", "data/2021", "data/2021/north", "data/2022", "data/2021/../2022", "other"];
    let mut read = 0;
    for location in locations {
        for (sub, name) in folders.iter().flat_map(|sub| names.map(|name| (sub, name))) {
            let path = base.join(sub).join(name);
            let would = would_read(location, base, &path);
            if reads(location, base, &path) {
                assert!(would, "{location} reads {}", path.display());
                read += 1;
            } else if location != "data/*/*" && location != "data/**" && !location.contains("none")
            {
                // Those two match files of unknown formats, too, which is an error of the query.
                assert!(!would, "{location} does not read {}", path.display());
            }
        }
    }
    assert!(read > 40, "{read}");
    assert!(would_read("none.csv", base, &base.join("NONE.csv")));
    assert!(would_read("*.csv", base, &base.join("B.CSV")));
    let absolute = format!("{}/data/*/*.csv", base.display());
    assert!(would_read(&absolute, Path::new("elsewhere"), &base.join("data/2021/b.csv")));
}

#[cfg(unix)]
#[test]
fn links_lead_to_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    for sub in ["data", "real"] {
        fs::create_dir(base.join(sub)).unwrap();
    }
    fs::write(base.join("real/a.csv"), "a\n1\n").unwrap();
    std::os::unix::fs::symlink(base.join("real"), base.join("data/linked")).unwrap();
    std::os::unix::fs::symlink(base.join("data"), base.join("data/loop")).unwrap();
    std::os::unix::fs::symlink(base.join("real/a.csv"), base.join("a.csv")).unwrap();
    for location in ["data", "data/*/*.csv", "data/**/*.csv", "data/linked/*.csv"] {
        assert!(would_read(location, base, &base.join("real/new.csv")), "{location}");
        assert!(!would_read(location, base, &base.join("new.csv")), "{location}");
    }
    assert!(would_read("a.csv", base, &base.join("real/a.csv")));
}
