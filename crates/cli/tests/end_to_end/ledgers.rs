//! No ledger, no release; and no more releases than the budget has room for.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{COUNT_BY_PRODUCT, Run, Shop};

/// A query of its own for every number: another condition is another question.
fn numbered(n: usize) -> String {
    format!("SELECT product, COUNT(*) FROM visits WHERE quantity < 10{n} GROUP BY product")
}

#[test]
fn a_ledger_that_cannot_be_written_means_no_release() {
    let shop = Shop::new();
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    fs::create_dir(shop.path("folder.ledger")).unwrap();
    fs::write(shop.path("other.ledger"), "a file of another program, of some length").unwrap();
    fs::write(shop.path("empty.ledger"), "").unwrap();
    for ledger in [
        "no/such/folder/a.ledger",
        "folder.ledger",
        "other.ledger",
        "empty.ledger",
        "/proc/self/a.ledger",
    ] {
        let text = format!("ledger = \"{ledger}\"\n{contract}");
        fs::write(shop.path("hushtable.toml"), text).unwrap();
        let refusal = shop.run(&["query", COUNT_BY_PRODUCT]).refusal();
        assert!(refusal.contains("ledger"), "{refusal}");
    }
}

/// Whoever starts the command could let recording fail where an answer is large, by a limit on the
/// size of files: under a limit that the command may not lift, nothing is charged.
#[test]
fn a_limit_on_the_size_of_files_is_lifted_or_refused() {
    let workload = "epsilon = 1\n[[queries]]\nname = \"all\"\n\
                    sql = \"SELECT COUNT(DISTINCT customer) AS n FROM visits\"\n";
    for blocks in [1, 64, 1_000_000] {
        let shop = Shop::with(50, "1000");
        fs::write(shop.path("workload.toml"), workload).unwrap();
        let limited = |limit: &str, arguments: &[&str], input: &str| {
            let script = format!("{limit}; exec \"$@\"");
            let mut command = Command::new("sh");
            command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_hushtable")]);
            command.args(arguments).current_dir(shop.path("."));
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            Run::of(child.wait_with_output().unwrap())
        };
        let hard = format!("ulimit -f {blocks}");
        let (sum, rollup) = (numbered(1), format!("{} WITH ROLLUP", numbered(2)));
        let session = format!("{sum};\ny\n");
        for (arguments, input) in [
            (&["query", &sum] as &[&str], ""),
            (&["query", &rollup.replace("BY product WITH ROLLUP", "BY ROLLUP (product)")], ""),
            (&["release", "--out", "out", "workload.toml"], ""),
            (&["shell"], &session),
        ] {
            let run = limited(&hard, arguments, input);
            assert!(run.stderr.contains("this process may write files of at most"), "{run:?}");
        }
        assert_eq!(shop.files().iter().filter(|name| name.contains("ledger")).count(), 0);
        // One that may be lifted is no limit, and the signal that it sends ends nothing.
        limited(&format!("ulimit -S -f {blocks}"), &["query", &sum], "").success();
        assert_eq!(shop.spent(), 1.0);
    }
}

#[test]
fn racing_queries_share_the_last_of_the_budget_once() {
    let shop = Shop::with(500, "2");
    let children: Vec<_> = (0..6)
        .map(|n| {
            let mut command = shop.command(&["query", &numbered(n)]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let mut answers = 0;
    for child in children {
        let run = Run::of(child.wait_with_output().unwrap());
        if run.code == Some(0) {
            answers += 1;
        } else {
            assert!(run.refusal().contains("does not allow this query"));
        }
    }
    assert_eq!(answers, 2);
    assert_eq!(shop.account()["left"]["epsilon"], 0.0);
}

#[test]
fn a_ledger_is_checked_and_copied() {
    let shop = Shop::new();
    let without_folder = |text: String| {
        let folder = shop.path("").canonicalize().unwrap();
        text.replace(folder.to_str().unwrap(), "FOLDER")
    };
    let mut texts = String::new();
    texts += &without_folder(shop.run(&["ledger", "check"]).refusal());
    texts += &without_folder(shop.run(&["ledger", "backup", "copy.ledger"]).refusal());
    shop.assert_untouched();
    let answer = shop.run(&["query", COUNT_BY_PRODUCT]).success();
    shop.run(&["query", &numbered(1)]).success();
    texts += &without_folder(shop.run(&["ledger", "check"]).success());
    let copy = shop.run(&["ledger", "backup", "copy.ledger"]);
    texts += &without_folder(copy.stderr.clone());
    assert_eq!(copy.success(), "");
    texts += &without_folder(shop.run(&["ledger", "backup", "copy.ledger"]).refusal());
    for target in ["hushtable.toml", "visits.csv", "no/such/copy"] {
        texts += &without_folder(shop.run(&["ledger", "backup", target]).refusal());
    }
    texts += &without_folder(shop.run(&["ledger", "check", "--format", "json"]).success());

    // A page of the ledger is lost, and then all of it: the copy has it all.
    let ledger = shop.path("hushtable.ledger");
    let mut bytes = fs::read(&ledger).unwrap();
    bytes[4096..8192].fill(0);
    fs::write(&ledger, &bytes).unwrap();
    let check = shop.run(&["ledger", "check"]);
    assert_eq!(check.code, Some(1));
    let stdout = String::from_utf8(check.stdout).unwrap();
    assert!(stdout.contains("is not in order\n  "), "{stdout}");
    assert!(check.stderr.contains("is damaged: "), "{}", check.stderr);
    shop.run(&["ledger", "backup", "second.ledger"]).refusal();
    assert!(!shop.path("second.ledger").exists());
    fs::write(&ledger, "").unwrap();
    texts += &without_folder(shop.run(&["ledger", "check"]).refusal());
    texts += &without_folder(shop.run(&["query", COUNT_BY_PRODUCT]).refusal());
    fs::rename(shop.path("copy.ledger"), &ledger).unwrap();
    assert_eq!(shop.run(&["query", COUNT_BY_PRODUCT]).success(), answer);
    assert_eq!(shop.spent(), 2.0);
    insta::assert_snapshot!(texts);
}

/// Whatever the umask; and a mode that lets others in is said once for each command, not refused.
#[cfg(unix)]
#[test]
fn ledgers_are_for_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let shop = Shop::new();
    let script = "umask 000; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_hushtable"), "query", COUNT_BY_PRODUCT])
        .current_dir(shop.path("."))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let run = Run::of(output);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    run.success();
    let ledger = shop.path("hushtable.ledger");
    assert_eq!(fs::metadata(&ledger).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&ledger, fs::Permissions::from_mode(0o644)).unwrap();
    for arguments in [
        &["query", COUNT_BY_PRODUCT] as &[&str],
        &["query", &numbered(1)],
        &["explain", COUNT_BY_PRODUCT],
        &["budget"],
        &["ledger", "check"],
    ] {
        let run = shop.run(arguments);
        let warnings = run.stderr.matches("warning: other users can open the ledger").count();
        assert_eq!(warnings, 1, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("(its mode is 0644)"), "{}", run.stderr);
        run.success();
    }
}

/// A contract that somebody links to has its budgets where it is.
#[cfg(unix)]
#[test]
fn a_link_to_the_contract_gives_no_other_ledger() {
    let shop = Shop::with(500, "1");
    let answer = shop.run(&["query", COUNT_BY_PRODUCT]).success();
    fs::create_dir(shop.path("mine")).unwrap();
    std::os::unix::fs::symlink("../hushtable.toml", shop.path("mine/hushtable.toml")).unwrap();
    let contract = ["--contract", "mine/hushtable.toml"];
    let again = shop.run(&[&["query"], &contract[..], &[COUNT_BY_PRODUCT]].concat());
    assert_eq!(again.success(), answer);
    let refused = shop.run(&[&["query"], &contract[..], &[&numbered(1)]].concat()).refusal();
    assert!(refused.contains("1 of 1 is spent"), "{refused}");
    // Nor does an answer replace the ledger that the link leads to.
    let output = ["--output", "hushtable.ledger", "--format", "csv", COUNT_BY_PRODUCT];
    shop.run(&[&["query"], &contract[..], &output[..]].concat()).refusal();
    assert_eq!(shop.files().len(), 4);
    assert_eq!(fs::read_dir(shop.path("mine")).unwrap().count(), 1);
}
