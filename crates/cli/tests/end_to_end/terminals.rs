//! The output on a terminal, through a pseudo-terminal, and what spreadsheets do.

use std::fs;
#[cfg(target_os = "linux")]
use std::io::Write;
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};

use crate::support::{COUNT_BY_PRODUCT, Shop};

/// The shop with keys that move the cursor, hide, begin formulas or break lines.
fn hostile() -> Shop {
    let shop = Shop::new();
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let keys = r#"["\u001b[2J", "bre\u200Bad", "\U000E0041", "=1+1", "a\nb", "\u009b2J",
                   "\u2800", "\u00a0"]"#;
    let hostile = contract.replace(r#"["bread", "coffee", "wine"]"#, keys);
    fs::write(shop.path("hushtable.toml"), hostile).unwrap();
    shop
}

/// The output of a command on a terminal, which `script` of util-linux makes for it.
#[cfg(target_os = "linux")]
fn on_a_terminal(shop: &Shop, arguments: &[&str], input: &str) -> String {
    let (screen, success) = with_history(shop, arguments, input, "history");
    assert!(success, "{screen}");
    screen
}

/// The output of a command on a terminal, and whether it succeeds.
#[cfg(target_os = "linux")]
fn with_history(shop: &Shop, arguments: &[&str], input: &str, history: &str) -> (String, bool) {
    // A program that waits for more input fails the test.
    let mut command = Command::new("timeout");
    command.args(["60", "script"]);
    let quoted = |text: &&str| format!("'{}'", text.replace('\'', "'\\''"));
    let words: Vec<String> = arguments.iter().map(quoted).collect();
    let run = format!("exec \"$HUSHTABLE\" {}", words.join(" "));
    command.args(["--quiet", "--return", "--command", &run, "/dev/null"]);
    command.env("HUSHTABLE", env!("CARGO_BIN_EXE_hushtable")).env("SHELL", "/bin/sh");
    command.env("HUSHTABLE_HISTORY", history);
    command.current_dir(shop.path("")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let screen = String::from_utf8(output.stdout).unwrap();
    (screen.replace("\r\n", "\n"), output.status.success())
}

#[cfg(target_os = "linux")]
#[test]
fn a_history_is_no_ledger_contract_or_data() {
    let shop = Shop::new();
    shop.run(&["query", COUNT_BY_PRODUCT]).success();
    fs::create_dir(shop.path("data")).unwrap();
    fs::rename(shop.path("visits.csv"), shop.path("data/visits.csv")).unwrap();
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let moved = contract.replace("path = \"visits.csv\"", "path = \"data\"");
    fs::write(shop.path("hushtable.toml"), moved).unwrap();
    fs::copy(shop.path("hushtable.ledger"), shop.path("other.ledger")).unwrap();
    std::os::unix::fs::symlink("hushtable.ledger", shop.path("link")).unwrap();
    for (history, expected) in [
        ("hushtable.toml", "belongs to the contract"),
        ("hushtable.ledger", "belongs to the contract"),
        ("hushtable.ledger-journal", "belongs to the contract"),
        ("link", "belongs to the contract"),
        ("other.ledger", "is a ledger"),
        ("data/visits.csv", "is where table `visits` reads its data"),
        ("data/new.csv", "is where table `visits` reads its data"),
    ] {
        let before = fs::read(shop.path(history)).ok();
        let input = "SELECT COUNT(*) AS n FROM visits;\ny\n\\q\n";
        let (screen, success) = with_history(&shop, &["shell"], input, history);
        assert!(!success && screen.contains(expected), "{history}: {screen}");
        assert!(screen.contains("HUSHTABLE_HISTORY"), "{history}: {screen}");
        assert_eq!(fs::read(shop.path(history)).ok(), before, "{history}");
    }
    assert!((shop.spent() - 1.0).abs() < 1e-9);
}

#[cfg(target_os = "linux")]
#[test]
fn terminals_are_not_steered_by_keys_in_any_format() {
    let shop = hostile();
    for format in ["table", "csv", "json"] {
        let screen = on_a_terminal(&shop, &["query", "--format", format, COUNT_BY_PRODUCT], "");
        assert!(screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen:?}");
        assert!(!screen.contains(['\u{200b}', '\u{e0041}', '\u{2800}', '\u{a0}']), "{screen:?}");
        let escape = if format == "json" { "bre\\u200bad" } else { "bre\\u{200b}ad" };
        assert!(screen.contains(escape), "{screen}");
        assert!(!screen.contains("a\nb"), "{screen}");
    }
    // Reports, too, whatever a contract calls its columns.
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let renamed = contract.replace("quantity =", "\"qu\u{202e}antity\" =");
    fs::write(shop.path("hushtable.toml"), renamed).unwrap();
    let csv = fs::read_to_string(shop.path("visits.csv")).unwrap();
    fs::write(shop.path("visits.csv"), csv.replace("quantity", "qu\u{202e}antity")).unwrap();
    let sql = "SELECT product, SUM(`qu\u{202e}antity`) FROM visits GROUP BY product";
    for format in ["text", "json"] {
        let screen = on_a_terminal(&shop, &["explain", "--format", format, sql], "");
        assert!(!screen.contains('\u{202e}') && screen.contains("202e"), "{screen}");
    }
}

#[test]
fn programs_get_keys_as_they_are() {
    let shop = hostile();
    let csv = shop.run(&["query", "--format", "csv", COUNT_BY_PRODUCT]).success();
    assert!(csv.contains("\u{1b}[2J") && csv.contains("bre\u{200b}ad"), "{csv}");
    let json = shop.run(&["query", "--format", "json", COUNT_BY_PRODUCT]).success();
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    let keys: Vec<&str> =
        rows.as_array().unwrap().iter().filter_map(|r| r["product"].as_str()).collect();
    assert!(keys.contains(&"\u{1b}[2J") && keys.contains(&"\u{e0041}"), "{keys:?}");
}

#[test]
fn spreadsheets_get_no_formulas() {
    let shop = hostile();
    let plain = shop.run(&["query", COUNT_BY_PRODUCT]).success();
    assert!(plain.contains("\n=1+1,"), "{plain}");
    let safe = shop.run(&["query", "--csv-safe", COUNT_BY_PRODUCT]).success();
    assert_eq!(safe, plain.replace("\n=1+1,", "\n'=1+1,"));
    let workload = format!(
        "epsilon = 1\ndelta = 1e-6\n[[queries]]\nname = \"products\"\n\
         sql = \"{COUNT_BY_PRODUCT}\"\n"
    );
    fs::write(shop.path("w.toml"), workload).unwrap();
    shop.run(&["release", "--csv-safe", "--out", "out", "w.toml"]).success();
    let safe = fs::read_to_string(shop.path("out/products.csv")).unwrap();
    assert!(safe.contains("\n'=1+1,"), "{safe}");
    let json = ["query", "--csv-safe", "--format", "json", COUNT_BY_PRODUCT];
    let refusal = shop.run(&json).refusal();
    assert!(refusal.contains("--csv-safe"), "{refusal}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_shells_prompt_has_the_rest_of_the_budget() {
    let shop = Shop::new();
    let screen = on_a_terminal(&shop, &["shell"], "\\q\n");
    assert!(screen.contains("hushtable [left: epsilon = 3, delta = 0.001]> "), "{screen}");
    assert!(screen.contains("only you can read it"), "{screen}");
    shop.assert_untouched();
}

/// Lines that are typed ahead while one is read are not lost.
#[cfg(target_os = "linux")]
#[test]
fn pasted_lines_are_kept() {
    let shop = Shop::new();
    let lines = format!("\\auto on\n{COUNT_BY_PRODUCT}\n;\n\\d\n\\d visits\n\\q\n");
    let screen = on_a_terminal(&shop, &["shell"], &lines);
    for part in ["bread", "`hushtable describe TABLE`", "quantity"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!((shop.spent() - 1.0).abs() < 1e-9);
}
