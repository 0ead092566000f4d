//! `randomize`, `estimate` and `calc sample`.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Run, command_in};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut people = "vote,age\n".to_owned();
        for i in 0..3000 {
            let vote = ["yes", "no", "no"][i % 3];
            people += &format!("{vote},{}\n", i % 100);
        }
        people += ",\nmaybe,old\n";
        std::fs::write(folder.path().join("people.csv"), people).unwrap();
        Self(folder)
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(command_in(self.0.path(), arguments).output().unwrap())
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }
}

/// An epsilon at which a lie comes once in e^40.
const SURELY: &str = "40";

#[test]
fn reports_are_made_and_counted() {
    let folder = Folder::new();
    let values = ["--values", "yes,no", "--other", "else", "--epsilon", SURELY];
    let line = ["randomize", "people.csv", "--column", "vote", "--output", "reports.csv"];
    assert_eq!(folder.run(&[&line[..], &values].concat()).success(), "");
    let reports = folder.read("reports.csv");
    assert!(reports.starts_with("report\nyes\nno\nno\n"), "{reports}");
    assert!(reports.ends_with("\nelse\nelse\n"), "{reports}");
    let text = folder.run(&[&["estimate", "reports.csv"][..], &values].concat()).success();
    insta::assert_snapshot!("estimates", text);

    // The predicate: 82 of each hundred are 18 or more; what is no number is not.
    let predicate = "CAST(age AS INT64) >= 18";
    let line = ["randomize", "people.csv", "--predicate", predicate, "--epsilon", SURELY];
    let reports = folder.run(&line).success();
    let mut child =
        command_in(folder.0.path(), &["estimate", "-", "--epsilon", SURELY, "--format", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
    child.stdin.take().unwrap().write_all(reports.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let estimates: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(estimates["estimates"][1]["value"], "true");
    assert!((estimates["estimates"][1]["estimate"].as_f64().unwrap() - 2460.0).abs() < 1e-6);
}

#[test]
fn estimates_are_right_within_their_intervals() {
    let folder = Folder::new();
    let values = ["--values", "yes,no", "--epsilon", "1"];
    let line = ["randomize", "people.csv", "--column", "vote", "--output", "reports.csv"];
    folder.run(&[&line[..], &values].concat()).success();
    let estimate = ["estimate", "reports.csv", "--format", "json", "--level", "0.999999999"];
    let text = folder.run(&[&estimate[..], &values].concat()).success();
    let estimates: serde_json::Value = serde_json::from_str(&text).unwrap();
    let yes = &estimates["estimates"][0];
    // 1000, and half of the two that have neither. The lecture's variance: e/(e - 1)^2 each.
    let (low, high) = (yes["low"].as_f64().unwrap(), yes["high"].as_f64().unwrap());
    assert!(low < 1001.0 && 1001.0 < high, "{text}");
    let variance = 3002.0 * 1f64.exp() / (1f64.exp() - 1.0).powi(2);
    let error = yes["standard_error"].as_f64().unwrap();
    assert!((error - variance.sqrt()).abs() < 1e-9, "{error}");
}

#[test]
fn wrong_local_reports() {
    let folder = Folder::new();
    std::fs::write(folder.0.path().join("reports.csv"), "report\ntrue\nmaybe\n").unwrap();
    std::fs::write(folder.0.path().join("other.csv"), "a,b\n1,2\n").unwrap();
    let rendered: Vec<String> = [
        "randomize people.csv --column votes --values yes,no --epsilon 1",
        "randomize people.csv --column vote --values yes --epsilon 1",
        "randomize people.csv --column vote --values yes,yes --epsilon 1",
        "randomize people.csv --column vote --values yes,no --other no --epsilon 1",
        "randomize people.csv --column vote --values yes,no --epsilon 0",
        "randomize people.csv --column vote --values yes,no --epsilon -1",
        "randomize people.csv --column vote --values yes,no --epsilon nan",
        "randomize people.csv --column vote --values yes,no --epsilon inf",
        "randomize people.csv --predicate age --epsilon 1",
        "randomize people.csv --predicate income>1 --epsilon 1",
        "randomize people.csv --predicate SELECT --epsilon 1",
        "randomize nobody.csv --column vote --values yes,no --epsilon 1",
        "estimate reports.csv --epsilon 1",
        "estimate other.csv --epsilon 1",
        "estimate reports.csv --values a,b --epsilon 1 --level 1",
        "calc sample --mechanism gaussian --sigma-squared 0 --draws 3",
        "calc sample --mechanism gaussian --sigma-squared inf --draws 3",
        "calc sample --mechanism discrete-gaussian --sigma-squared 1e30 --draws 3",
        "calc sample --mechanism discrete-laplace --scale 0.001 --draws 3",
        "calc sample --mechanism discrete-laplace --scale 1099511627777 --draws 3",
        "calc sample --mechanism truncated-laplace --scale 1 --bound 0 --draws 3",
        "calc sample --mechanism discrete-laplace --scale 1 --draws 0",
        "calc sample --mechanism discrete-laplace --scale 1 --draws 3 --seed -1",
    ]
    .iter()
    .map(|line| {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        format!("> {line}\n{}", folder.run(&arguments).refusal())
    })
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

fn draws(line: &str) -> Vec<i128> {
    let line = format!("calc sample {line}");
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let text = Run::of(command_in(Path::new("."), &arguments).output().unwrap()).success();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn samples_have_the_stated_law() {
    for (line, variance) in [
        // 2 q/(1 - q)^2 with q = e^(-1/3.5).
        ("--mechanism discrete-laplace --scale 3.5", 24.334),
        ("--mechanism gaussian --sigma-squared 20", 20.0 + 1.0 / 12.0),
        ("--mechanism discrete-gaussian --sigma-squared 20", 20.0),
        ("--mechanism truncated-laplace --scale 3.5 --bound 1", 0.600_4),
    ] {
        let drawn = draws(&format!("{line} --draws 100000 --seed 7"));
        assert_eq!(drawn.len(), 100_000);
        let mean = drawn.iter().sum::<i128>() as f64 / 1e5;
        let squares = drawn.iter().map(|d| (d * d) as f64).sum::<f64>() / 1e5;
        // Six standard errors, where the fourth moment is at most six times the variance squared.
        assert!(mean.abs() < 6.0 * (variance / 1e5f64).sqrt(), "{line}: {mean}");
        assert!((squares - variance).abs() < 6.0 * variance * (5.0 / 1e5f64).sqrt(), "{squares}");
    }
    let same = "--mechanism gaussian --sigma-squared 1e20 --draws 5";
    assert_eq!(draws(&format!("{same} --seed 7")), draws(&format!("{same} --seed 7")));
    assert_ne!(draws(&format!("{same} --seed 7")), draws(&format!("{same} --seed 8")));
    assert_ne!(draws(same), draws(same));
}
