//! Fixed delays: lower bounds only, as nothing is timed in a test.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{COUNT_BY_PRODUCT, Run, Shop};

const DELAY: Duration = Duration::from_millis(700);

/// Runs a command with the delay as an option, and another time as a setting.
fn delayed(shop: &Shop, arguments: &[&str]) -> [Run; 2] {
    let option = [arguments, &["--at-least-seconds", "0.7"]].concat();
    let mut commands = [shop.command(&option), shop.command(arguments)];
    commands[1].env("HUSHTABLE_AT_LEAST_SECONDS", "0.7");
    commands.map(|mut command| {
        let started = Instant::now();
        let run = Run::of(command.output().unwrap());
        assert!(started.elapsed() >= DELAY, "{arguments:?}");
        run
    })
}

#[test]
fn answers_and_refusals_take_as_long() {
    let shop = Shop::new();
    for run in delayed(&shop, &["query", COUNT_BY_PRODUCT]) {
        assert!(run.stderr.contains("to ana on visits"), "{}", run.stderr);
        assert!(run.success().starts_with("product,visits"));
    }
    for run in delayed(&shop, &["explain", COUNT_BY_PRODUCT]) {
        run.success();
    }
    for arguments in [
        &["query", "SELECT nothing FROM visits"] as &[&str],
        &["query", "--contract", "missing.toml", COUNT_BY_PRODUCT],
        &["explain", "SELEC"],
        &["release", "--out", "out", "missing.toml"],
    ] {
        for run in delayed(&shop, arguments) {
            run.refusal();
        }
    }
    assert_eq!(shop.spent(), 1.0);
}

#[test]
fn files_are_written_after_the_delay() {
    let shop = Shop::new();
    let workload = format!(
        "epsilon = 1\ndelta = 1e-6\n[[queries]]\nname = \"products\"\n\
         sql = \"{COUNT_BY_PRODUCT}\"\n"
    );
    fs::write(shop.path("w.toml"), workload).unwrap();
    let started = std::time::SystemTime::now();
    for (arguments, file) in [
        (&["query", "--output", "r.csv", COUNT_BY_PRODUCT] as &[&str], "r.csv"),
        (&["release", "--out", "out", "w.toml"], "out/products.csv"),
        (&["release", "--out", "out", "w.toml"], "out/statement.json"),
    ] {
        for run in delayed(&shop, arguments) {
            run.success();
        }
        let written = fs::metadata(shop.path(file)).unwrap().modified().unwrap();
        // Clocks of file systems tick in some milliseconds.
        assert!(written.duration_since(started).unwrap() >= DELAY.mul_f64(0.9), "{file}");
    }
}

#[test]
fn a_delay_must_be_a_time() {
    let shop = Shop::new();
    let option = ["query", "--at-least-seconds", "-1", COUNT_BY_PRODUCT];
    let refusal = shop.run(&option).refusal();
    assert!(refusal.contains("at-least-seconds = -1"), "{refusal}");
    let mut command = shop.command(&["query", COUNT_BY_PRODUCT]);
    let run = Run::of(command.env("HUSHTABLE_AT_LEAST_SECONDS", "soon").output().unwrap());
    assert!(run.refusal().contains("HUSHTABLE_AT_LEAST_SECONDS = soon"));
    shop.assert_untouched();
}
