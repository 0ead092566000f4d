//! The tool writes its files, and nearly all statements are answered.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::fs;
use std::process::Command;

use serde_json::Value;

#[test]
fn most_statements_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_differential"));
        let output = command.arg("--out").arg(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answers = fs::read_to_string(folder.path().join("answers.jsonl")).unwrap();
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let answers = run(&["--seed", "3", "--statements", "20"]);
    let answered: Vec<&Value> = answers.iter().filter(|a| a["refused"].is_null()).collect();
    assert_eq!(answered.len(), 20);
    assert!(answers.len() <= 26, "{} statements", answers.len());
    assert!(answered.iter().any(|a| !a["rows"].as_array().unwrap().is_empty()));
    for name in ["people", "visits", "claims", "towns", "codes", "loans"] {
        assert!(folder.path().join(format!("{name}.parquet")).is_file(), "{name}");
    }
    let schema = fs::read_to_string(folder.path().join("theirs.sql")).unwrap();
    assert!(schema.contains("CREATE VIEW claims"), "{schema}");

    // The same statement again, alone.
    let fifth = run(&["--seed", "3", "--only", "5"]);
    assert_eq!(fifth, answers[5..6]);
}
