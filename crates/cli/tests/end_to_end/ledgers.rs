//! No ledger, no release; and no more releases than the budget has room for.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{COUNT_BY_PRODUCT, Run, Shop};

/// A query of its own for every number: another heading is another question.
fn numbered(n: usize) -> String {
    format!("SELECT product, COUNT(*) AS visits{n} FROM visits GROUP BY product")
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

/// The file size limit stands for a full disk: a write beyond it fails. Whatever the write at which
/// it happens, either the answer is complete and charged, or there is none.
#[test]
fn a_full_disk_means_no_release() {
    let shop = Shop::with(50, "1000");
    shop.run(&["query", &numbered(0)]).success();
    let mut answered = 0;
    let limits = [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 128, 192, 400];
    for (n, limit) in limits.into_iter().enumerate() {
        let before = shop.spent();
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$@\"");
        let output = Command::new("sh")
            .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_hushtable"), "query", &numbered(n + 1)])
            .current_dir(shop.path("."))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let run = Run::of(output);
        if run.code == Some(0) {
            answered += 1;
            assert_eq!(run.stdout.iter().filter(|b| **b == b'\n').count(), 4);
            assert!((shop.spent() - before - 1.0).abs() < 1e-9);
        } else {
            run.refusal();
            // A charge may stand without its release, never the other way round.
            assert!([0.0, 1.0].contains(&(shop.spent() - before)));
        }
    }
    assert!(answered > 0 && answered < limits.len(), "{answered} of {}", limits.len());
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
    let shown = |text: String| {
        let folder = shop.path("").canonicalize().unwrap();
        text.replace(folder.to_str().unwrap(), "FOLDER")
    };
    let mut texts = String::new();
    texts += &shown(shop.run(&["ledger", "check"]).refusal());
    texts += &shown(shop.run(&["ledger", "backup", "copy.ledger"]).refusal());
    shop.assert_untouched();
    let answer = shop.run(&["query", COUNT_BY_PRODUCT]).success();
    shop.run(&["query", &numbered(1)]).success();
    texts += &shown(shop.run(&["ledger", "check"]).success());
    let copy = shop.run(&["ledger", "backup", "copy.ledger"]);
    texts += &shown(copy.stderr.clone());
    assert_eq!(copy.success(), "");
    texts += &shown(shop.run(&["ledger", "backup", "copy.ledger"]).refusal());
    for place in ["hushtable.toml", "visits.csv", "no/such/copy"] {
        texts += &shown(shop.run(&["ledger", "backup", place]).refusal());
    }
    texts += &shown(shop.run(&["ledger", "check", "--format", "json"]).success());

    // The last page of the ledger is lost, and then all of it: the copy has it all.
    let ledger = shop.path("hushtable.ledger");
    let mut bytes = fs::read(&ledger).unwrap();
    let end = bytes.len();
    bytes[end - 4096..].fill(0);
    fs::write(&ledger, &bytes).unwrap();
    let check = shop.run(&["ledger", "check"]);
    assert_eq!(check.code, Some(1));
    let stdout = String::from_utf8(check.stdout).unwrap();
    assert!(stdout.contains("is not in order\n  "), "{stdout}");
    assert!(check.stderr.contains("is damaged: "), "{}", check.stderr);
    shop.run(&["ledger", "backup", "second.ledger"]).refusal();
    assert!(!shop.path("second.ledger").exists());
    fs::write(&ledger, "").unwrap();
    texts += &shown(shop.run(&["ledger", "check"]).refusal());
    texts += &shown(shop.run(&["query", COUNT_BY_PRODUCT]).refusal());
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
    let linked = ["--contract", "mine/hushtable.toml"];
    let again = shop.run(&[&["query"], &linked[..], &[COUNT_BY_PRODUCT]].concat());
    assert_eq!(again.success(), answer);
    let refused = shop.run(&[&["query"], &linked[..], &[&numbered(1)]].concat()).refusal();
    assert!(refused.contains("1 of 1 is spent"), "{refused}");
    // Nor does an answer replace the ledger that the link leads to.
    let output = ["--output", "hushtable.ledger", "--format", "csv", COUNT_BY_PRODUCT];
    shop.run(&[&["query"], &linked[..], &output[..]].concat()).refusal();
    assert_eq!(shop.files().len(), 4);
    assert_eq!(fs::read_dir(shop.path("mine")).unwrap().count(), 1);
}
