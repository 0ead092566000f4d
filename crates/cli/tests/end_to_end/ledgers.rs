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
    for ledger in
        ["no/such/folder/a.ledger", "folder.ledger", "other.ledger", "/proc/self/a.ledger"]
    {
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
