//! Texts of the command when it does not do what was asked, word for word.

use std::fmt::Write;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::support::{COUNT_BY_PRODUCT, Run, Shop};

#[test]
fn refusals_read_as_expected() {
    let shop = Shop::with(20, "1");
    fs::create_dir(shop.path("folder.csv")).unwrap();
    let count = COUNT_BY_PRODUCT;
    let command_lines: Vec<Vec<&str>> = vec![
        vec!["query", "--output", "a.csv", "--statement", "a.csv", count],
        vec!["query", "--output", "result.txt", count],
        vec!["query", "--output", "folder.csv", count],
        vec!["query", "--output", "no/such/folder/a.csv", count],
        vec!["query", "--output", "visits.csv", count],
        vec!["query", "--statement", "hushtable.toml", count],
        vec!["query", "--contract", "missing.toml", count],
        vec!["query", "--analyst", "eve", count],
        vec!["query", "SELECT nothing FROM visits"],
        vec![
            "explain",
            "--verbose",
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) COUNT(*) FROM visits",
        ],
        vec!["query", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) COUNT(*) FROM visits"],
        vec![
            "query",
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2) COUNT(*) FROM visits",
        ],
        vec!["budget", "--contract", "missing.toml"],
        vec!["init", "visits.csv"],
        vec!["init", "--output", "new.toml", "missing.parquet"],
        vec!["init", "--output", "new.toml", "hushtable.toml"],
    ];
    let mut text = String::new();
    for arguments in command_lines {
        let run = shop.run(&arguments);
        let code = run.code.unwrap();
        // A quote of what the budget cannot pay is no error: it says so, and costs nothing.
        if arguments[0] == "explain" {
            let stdout = String::from_utf8(run.stdout).unwrap();
            let last = stdout.lines().last().unwrap_or_default();
            writeln!(text, "{}\n-> {code}: … {last}{}", arguments.join(" "), run.stderr).unwrap();
            continue;
        }
        assert!(run.stdout.is_empty(), "{arguments:?}");
        writeln!(text, "{}\n-> {code}: {}", arguments.join(" "), run.stderr).unwrap();
    }
    let text = text.replace(&shop.path("").display().to_string(), "FOLDER/");
    insta::assert_snapshot!(text);
}

#[test]
fn a_query_that_is_no_text_is_refused() {
    let shop = Shop::new();
    let mut command = shop.command(&["query", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"SELECT \xff").unwrap();
    let refusal = Run::of(child.wait_with_output().unwrap()).refusal();
    insta::assert_snapshot!(refusal);
}
