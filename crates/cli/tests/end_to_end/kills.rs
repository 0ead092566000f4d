//! Killed at any moment: what was shown was paid for, and is shown again in the same words.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use hushtable_testkit::Dice;

use crate::support::{Run, Shop};

const KILLS: usize = 30;
const QUESTIONS: usize = 8;

fn question(i: usize) -> String {
    format!("SELECT product, COUNT(*) AS visits FROM visits WHERE quantity > {i} GROUP BY product")
}

#[test]
fn killed_queries_leave_a_consistent_ledger() {
    let shop = Shop::with(20_000, "1000");
    // How long a whole run takes decides where kills fall.
    let start = Instant::now();
    shop.run(&["query", &question(99)]).success();
    let whole = start.elapsed();

    let mut dice = Dice::new(0x9E37_79B9_7F4A_7C15);
    let mut answers: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut unfinished = 0;
    for kill in 0..KILLS {
        let sql = question(kill % QUESTIONS);
        let mut child = shop
            .command(&["query", &sql])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(whole.mul_f64(dice.uniform() * 1.6));
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            let earlier = answers.entry(sql).or_insert_with(|| output.stdout.clone());
            assert_eq!(*earlier, output.stdout);
        } else {
            unfinished += 1;
            // Written with one call, so there are no halves.
            if !output.stdout.is_empty() {
                let earlier = answers.entry(sql).or_insert_with(|| output.stdout.clone());
                assert_eq!(*earlier, output.stdout);
            }
        }
    }
    eprintln!("{unfinished} of {KILLS} runs were killed in time, of {whole:?} each");
    assert!(unfinished > 0);

    check(&shop, &answers, unfinished);
    for i in 0..QUESTIONS {
        let sql = question(i);
        let first = shop.run(&["query", &sql]).success().into_bytes();
        let again = shop.run(&["query", &sql]).success().into_bytes();
        assert_eq!(first, again);
        assert_eq!(*answers.entry(sql).or_insert(first), again);
    }
    check(&shop, &answers, unfinished);
}

/// Charges are never fewer than the answers shown, nor more than the runs that could have made
/// them, and their sum is what is spent.
fn check(shop: &Shop, answers: &BTreeMap<String, Vec<u8>>, unfinished: usize) {
    let account = shop.account();
    let charges = account["charges"].as_array().unwrap();
    for sql in answers.keys() {
        let of: Vec<_> = charges.iter().filter(|c| c["query"] == sql.as_str()).collect();
        let recorded = of.iter().filter(|c| c["state"] == "recorded").count();
        assert_eq!(recorded, 1, "{sql}: {of:?}");
    }
    eprintln!("{} charges, {} answers shown", charges.len(), answers.len());
    let lost = charges.iter().filter(|c| c["state"] == "drawn").count();
    assert!(lost <= unfinished, "{lost} of {unfinished}");
    let sum: f64 = charges.iter().map(|c| c["charged"]["epsilon"].as_f64().unwrap()).sum();
    assert_eq!(account["spent"]["epsilon"].as_f64().unwrap(), sum);
}

/// Ctrl-C before the charge costs nothing; after it, the answer comes anyway.
#[cfg(unix)]
#[test]
fn interrupted_queries_cost_nothing_or_are_answered() {
    let shop = Shop::with(20_000, "1000");
    let start = Instant::now();
    shop.run(&["query", &question(99)]).success();
    let whole = start.elapsed();
    let mut dice = Dice::new(0x2545_F491_4F6C_DD1D);
    let (mut answered, mut given_up) = (1.0, 0);
    for round in 0..KILLS {
        let mut command = shop.command(&["query", &question(round)]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        thread::sleep(whole.mul_f64(dice.uniform()));
        let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupt.is_ok());
        let run = Run::of(child.wait_with_output().unwrap());
        if run.code == Some(0) {
            answered += 1.0;
        } else {
            given_up += 1;
            // Before the question is read, Ctrl-C ends the process as it does by default.
            let interrupted = run.code.is_none() || run.stderr.contains("was interrupted");
            assert!(interrupted, "{run:?}");
        }
        assert_eq!(shop.spent(), answered, "{run:?}");
    }
    assert!(answered > 1.0 && given_up > 0, "{answered} {given_up}");
}
