//! `shell`.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::{COUNT_BY_PRODUCT, Run, Shop};

/// A shell that reads these lines.
fn shell(shop: &Shop, arguments: &[&str], lines: &str) -> Run {
    let mut command = shop.command(&[&["shell"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    Run::of(child.wait_with_output().unwrap())
}

#[test]
fn each_statement_has_its_price_and_is_charged_after_a_yes() {
    let shop = Shop::new();
    let lines = format!("{COUNT_BY_PRODUCT}\n;\ny\nSELECT COUNT(*) AS n FROM visits;\nn\n");
    let run = shell(&shop, &[], &lines);
    let price = "epsilon = 1, of epsilon = 3, delta = 0.001 that ana has left on visits";
    let stderr = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(stderr.contains(price), "{stderr}");
    assert!(run.stderr.contains("not asked: nothing is charged"), "{}", run.stderr);
    let answer = run.success();
    assert!((shop.spent() - 1.0).abs() < 1e-9);
    // `query` finds the answer on record, free: the shell takes its path.
    assert_eq!(shop.run(&["query", COUNT_BY_PRODUCT]).success(), answer);
    let again = shell(&shop, &[], &format!("{COUNT_BY_PRODUCT};"));
    assert!(again.stderr.contains("nothing: the answer is on record"), "{}", again.stderr);
    assert_eq!(again.success(), answer);
    assert!((shop.spent() - 1.0).abs() < 1e-9);
}

#[test]
fn without_an_answer_nothing_is_charged() {
    let shop = Shop::new();
    // The end of the input, and the next statement, are no consent.
    let lines = format!("{COUNT_BY_PRODUCT};\n{COUNT_BY_PRODUCT}");
    let run = shell(&shop, &[], &lines);
    assert_eq!(run.stderr.matches("not asked: nothing is charged").count(), 2, "{}", run.stderr);
    assert!(run.success().is_empty());
    shop.assert_untouched();
}

#[test]
fn refusals_end_no_shell() {
    let shop = Shop::new();
    let lines =
        "SELECT * FROM visits;\n\\nonsense\n\\d nowhere\nSELECT COUNT(*) AS n\nFROM visits;";
    let run = shell(&shop, &["--auto"], lines);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr.matches("error: ").count(), 4, "{}", run.stderr);
    assert!(run.stderr.matches("  hint: ").count() >= 4, "{}", run.stderr);
    assert!(run.stderr.contains("3 of 4 statements and commands failed"), "{}", run.stderr);
    assert!(run.stdout.starts_with(b"n\n"), "{run:?}");
}

#[test]
fn a_statement_that_the_budget_does_not_pay_is_not_asked() {
    let shop = Shop::with(500, "0.5");
    let run = shell(&shop, &["--auto"], &format!("{COUNT_BY_PRODUCT};\n"));
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("the budget does not suffice"), "{}", run.stderr);
    shop.assert_untouched();
}

#[test]
fn commands_describe_explain_and_write_files() {
    let shop = Shop::new();
    let lines = format!(
        "\\d\n\\d visits\n\\help\n\\explain {COUNT_BY_PRODUCT};\n\\auto\n\\o counts.json\n\
         {COUNT_BY_PRODUCT};\n\\intervals 90\n{COUNT_BY_PRODUCT};\n\\budget\n\\history\n\
         \\q\nnever read"
    );
    let run = shell(&shop, &[], &lines);
    assert!(run.stderr.contains("wrote counts.json"), "{}", run.stderr);
    let stdout = run.success();
    for expected in [
        shop.run(&["tables"]).success(),
        shop.run(&["describe", "visits"]).success(),
        "product,visits,visits_low,visits_high\n".to_owned(),
        shop.run(&["budget"]).success(),
    ] {
        assert!(stdout.contains(&expected), "{expected} is not in\n{stdout}");
    }
    assert!(stdout.contains("Protects") && stdout.contains("\\explain"), "{stdout}");
    let written = fs::read_to_string(shop.path("counts.json")).unwrap();
    assert!(written.contains("\"visits\""), "{written}");
}

#[test]
fn words_of_other_shells_work() {
    let shop = Shop::new();
    let lines = format!(
        "SHOW TABLES;\n\\dt\nDESCRIBE visits\nEXPLAIN {COUNT_BY_PRODUCT};\nhelp\n?\nexit\n\
         never read"
    );
    let run = shell(&shop, &[], &lines);
    let stdout = run.success();
    let count = |part: &str| stdout.matches(part).count();
    assert_eq!(count(&shop.run(&["tables"]).success()), 2, "{stdout}");
    assert_eq!(count(&shop.run(&["describe", "visits"]).success()), 1, "{stdout}");
    assert_eq!(count("A statement ends with `;`"), 2, "{stdout}");
    assert!(stdout.contains("Protects"), "{stdout}");
    shop.assert_untouched();
}
