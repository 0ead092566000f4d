//! Where results go.

use std::fs::{self, File, OpenOptions};
use std::process::Stdio;

use hushtable::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::support::{COUNT_BY_PRODUCT, Run, Shop};

#[test]
fn formats_agree() {
    let shop = Shop::new();
    let csv = shop.run(&["query", COUNT_BY_PRODUCT]).success();
    let table = shop.run(&["query", "--format", "table", COUNT_BY_PRODUCT]).success();
    let json = shop.run(&["query", "--format", "json", COUNT_BY_PRODUCT]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let lines: Vec<&str> = csv.lines().skip(1).collect();
    for (i, line) in lines.iter().enumerate() {
        let (product, visits) = line.split_once(',').unwrap();
        assert_eq!(json[i]["product"], product);
        assert_eq!(json[i]["visits"].to_string(), visits);
        assert!(table.contains(visits), "{table}");
    }
    let piped = shop.run(&["query", "--format", "parquet", COUNT_BY_PRODUCT]);
    assert_eq!(&piped.stdout[..4], b"PAR1");
    assert_eq!(shop.spent(), 1.0);
}

#[test]
fn files_are_written_in_the_format_of_their_name() {
    let shop = Shop::new();
    let csv = shop.run(&["query", COUNT_BY_PRODUCT]).success();
    for name in ["r.csv", "r.json", "r.parquet"] {
        let run = shop.run(&["query", "--output", name, COUNT_BY_PRODUCT]);
        assert!(run.success().is_empty());
    }
    assert_eq!(fs::read_to_string(shop.path("r.csv")).unwrap(), csv);
    assert!(fs::read_to_string(shop.path("r.json")).unwrap().starts_with('['));
    let file = File::open(shop.path("r.parquet")).unwrap();
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    assert_eq!(reader.next().unwrap().unwrap().num_rows(), 3);
    shop.run(&["query", "--output", "r.txt", "--format", "table", COUNT_BY_PRODUCT]).success();
    assert!(fs::read_to_string(shop.path("r.txt")).unwrap().starts_with("product"));
    // No temporary files are left.
    assert!(shop.files().iter().all(|name| !name.starts_with('.')), "{:?}", shop.files());
}

#[test]
fn what_cannot_be_written_is_found_before_anything_is_charged() {
    let shop = Shop::new();
    for arguments in [
        &["--output", "no/such/r.csv"] as &[&str],
        &["--output", "r.txt"],
        &["--output", "r"],
        &["--output", ".", "--format", "csv"],
        &["--statement", "no/such/s.json"],
        &["--output", "r.json", "--statement", "./r.json"],
        &["--output", "hushtable.ledger", "--format", "csv"],
        &["--output", "hushtable.toml", "--format", "csv"],
        &["--output", "visits.csv"],
    ] {
        let before = shop.files();
        shop.run(&[&["query", COUNT_BY_PRODUCT], arguments].concat()).refusal();
        assert_eq!(shop.files(), before, "{arguments:?}");
    }
    shop.assert_untouched();
}

#[test]
fn statements_say_what_was_promised() {
    let shop = Shop::new();
    shop.run(&["query", "--statement", "s.json", COUNT_BY_PRODUCT]).success();
    let statement = fs::read_to_string(shop.path("s.json")).unwrap();
    let statement: serde_json::Value = serde_json::from_str(&statement).unwrap();
    let explained = shop.run(&["explain", "--format", "json", COUNT_BY_PRODUCT]).success();
    let explained: serde_json::Value = serde_json::from_str(&explained).unwrap();
    let release = &statement["parts"][0]["release"];
    for (key, value) in explained["parts"][0]["explanation"].as_object().unwrap() {
        assert_eq!(&release[key], value, "{key}");
    }
    assert_eq!(release["population"], "visits");
    assert_eq!(release["total"]["epsilon"], 1.0);
    assert_eq!(statement["totals"][0]["total"]["epsilon"], 1.0);
    // It is kept with the answer.
    shop.run(&["query", "--statement", "t.json", COUNT_BY_PRODUCT]).success();
    assert_eq!(fs::read(shop.path("s.json")).unwrap(), fs::read(shop.path("t.json")).unwrap());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let shop = Shop::new();
    for arguments in [&["query", COUNT_BY_PRODUCT] as &[&str], &["budget"], &["--help"]] {
        let mut child = shop
            .command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(!run.stderr.contains("error"), "{run:?}");
    }
    assert_eq!(shop.spent(), 1.0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_the_answer_stays_on_record() {
    let shop = Shop::new();
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = shop.command(&["query", COUNT_BY_PRODUCT]).stdout(full()).output().unwrap();
    let error = Run::of(output);
    assert_eq!(error.code, Some(1));
    assert!(error.stderr.contains("charged epsilon = 1"), "{}", error.stderr);
    assert!(error.stderr.contains("error: cannot write to standard output"), "{}", error.stderr);
    let file = ["query", "--output", "/dev/full", "--format", "csv", COUNT_BY_PRODUCT];
    let error = shop.run(&file);
    assert_eq!(error.code, Some(1));
    assert!(error.stderr.contains("error: cannot write `/dev/full`"), "{}", error.stderr);
    // Nobody to tell is no reason to fail.
    let output = shop.command(&["query", COUNT_BY_PRODUCT]).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.starts_with(b"product"));
    assert_eq!(shop.spent(), 1.0);
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    let shop = Shop::new();
    for arguments in
        [&["query"] as &[&str], &["ask"], &["query", "--format", "xml", "SELECT 1"], &["init"]]
    {
        let run = shop.run(arguments);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stdout.is_empty() && run.stderr.contains("--help"), "{run:?}");
    }
    let version = shop.run(&["--version"]).success();
    assert_eq!(version, format!("hushtable {}\n", env!("CARGO_PKG_VERSION")));
    assert!(shop.run(&["--help"]).success().contains("Examples:"));
}

/// An Excel file is an archive of XML; a sheet that cannot hold the answer is refused before the
/// charge where its size is public.
#[test]
fn excel_files_come_from_queries_and_releases() {
    let shop = Shop::new();
    shop.run(&["query", "--output", "a.xlsx", COUNT_BY_PRODUCT]).success();
    let written = fs::read(shop.path("a.xlsx")).unwrap();
    assert!(written.starts_with(b"PK\x03\x04"), "{:?}", &written[..8]);
    shop.run(&["query", "--output", "again.xlsx", COUNT_BY_PRODUCT]).success();
    assert_eq!(fs::read(shop.path("again.xlsx")).unwrap(), written);
    let workload = format!(
        "epsilon = 1\ndelta = 1e-6\n[[queries]]\nname = \"products\"\n\
         sql = \"{COUNT_BY_PRODUCT}\"\n"
    );
    fs::write(shop.path("w.toml"), workload).unwrap();
    shop.run(&["release", "--format", "xlsx", "--out", "out", "w.toml"]).success();
    assert!(fs::read(shop.path("out/products.xlsx")).unwrap().starts_with(b"PK"));
    assert!(!shop.path("out/products.xlsx.notes.txt").exists());
}
