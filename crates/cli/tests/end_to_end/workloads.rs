//! `release`: many queries under one budget.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use hushtable_testkit::Dice;

use crate::support::{Run, Shop};

const WORKLOAD: &str = r#"epsilon = 2
delta = 1e-6

[levels]
place = ["town", "product"]

[[queries]]
name = "visits_{place}"
sql = "SELECT {place}, COUNT(*) AS visits FROM visits GROUP BY {place}"

[[queries]]
name = "quantities"
sql = "SELECT product, SUM(quantity) AS quantity FROM visits GROUP BY product"
weight = 3

[[queries]]
name = "customers"
file = "customers.sql"
"#;

const NAMES: [&str; 4] = ["visits_town", "visits_product", "quantities", "customers"];

/// Tables with their notes, and the statement.
const FILES: usize = 9;

fn with_workload(customers: usize, budget: &str) -> Shop {
    let shop = Shop::with(customers, budget);
    fs::write(shop.path("workload.toml"), WORKLOAD).unwrap();
    fs::write(shop.path("customers.sql"), "SELECT COUNT(DISTINCT customer) AS n FROM visits")
        .unwrap();
    shop
}

/// Names and contents of a folder's files.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    });
    entries.collect()
}

fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn a_workload_is_charged_once_and_written_to_a_folder() {
    let shop = with_workload(500, "3");
    let run = shop.run(&["release", "--out", "out", "workload.toml"]);
    let stderr = run.stderr.replace(shop.path("").to_str().unwrap(), "FOLDER/");
    insta::assert_snapshot!(stderr);
    assert!(run.success().is_empty());
    let files = contents(&shop.path("out"));
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let expected = [
        "customers.csv",
        "customers.csv.notes.txt",
        "quantities.csv",
        "quantities.csv.notes.txt",
        "statement.json",
        "visits_product.csv",
        "visits_product.csv.notes.txt",
        "visits_town.csv",
        "visits_town.csv.notes.txt",
    ];
    assert_eq!(names, expected);
    assert_eq!(shop.spent(), 2.0);
    let charges = shop.account()["charges"].as_array().unwrap().len();
    assert_eq!(charges, NAMES.len());

    // Again, it is free and the same to the byte.
    let again = shop.run(&["release", "--out", "again", "workload.toml"]);
    assert!(again.stderr.contains("no charge to ana on visits"), "{}", again.stderr);
    again.success();
    assert_eq!(contents(&shop.path("again")), files);
    assert_eq!(shop.spent(), 2.0);

    // A query that asks the same at its share has the same answer.
    let options = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 0)";
    let sql =
        format!("SELECT {options} product, SUM(quantity) AS quantity FROM visits GROUP BY product");
    let single = shop.run(&["query", &sql]).success();
    assert_eq!(single.as_bytes(), files["quantities.csv"]);
    assert_eq!(shop.spent(), 2.0);
}

#[test]
fn tables_fit_each_other_on_request() {
    let shop = Shop::with(500, "3");
    let workload = "epsilon = 2\nconsistent = true\n\n[[queries]]\nname = \"all\"\n\
                    sql = \"SELECT COUNT(*) AS visits FROM visits\"\n\n[[queries]]\n\
                    name = \"products\"\nsql = \"SELECT product, COUNT(*) AS visits FROM visits \
                    GROUP BY product\"\n";
    fs::write(shop.path("workload.toml"), workload).unwrap();
    let text = shop.run(&["release", "--explain", "workload.toml"]).success();
    assert!(text.contains("Levels that fit each other, by the standard deviation"), "{text}");
    shop.run(&["release", "--out", "out", "workload.toml"]).success();
    let files = contents(&shop.path("out"));
    assert_eq!(json(&files["statement.json"])["consistent"], "true");
    let sum = |name: &str| -> i64 {
        let text = std::str::from_utf8(&files[name]).unwrap();
        let last = |line: &str| line.rsplit(',').next().unwrap().parse::<i64>().unwrap();
        text.lines().skip(1).map(last).sum()
    };
    assert_eq!(sum("all.csv"), sum("products.csv"));
}

const REPORTED: &str = r#"epsilon = 2
delta = 1e-6
clipping_report = true

[defaults]
max_rows_per_group = 2

[[queries]]
name = "products"
sql = "SELECT product, COUNT(*) AS visits FROM visits GROUP BY product"

[[queries]]
name = "quantities"
sql = "SELECT SUM(quantity) AS quantity FROM visits"

[[queries]]
name = "customers"
sql = "SELECT COUNT(DISTINCT customer) AS n FROM visits"
"#;

/// Each query that can lose something has a report, which its notes and the statement show.
#[test]
fn workloads_take_clipping_reports() {
    let shop = Shop::with(500, "3");
    fs::write(shop.path("workload.toml"), REPORTED).unwrap();
    let text = shop.run(&["release", "--explain", "workload.toml"]).success();
    insta::assert_snapshot!("explained_with_reports", text);
    let run = shop.run(&["release", "--out", "out", "--intervals", "workload.toml"]);
    assert!(run.stderr.contains("for 5 queries and clipping reports; left"), "{}", run.stderr);
    assert!(run.stderr.contains("3 of 3: out/customers.csv\n"), "{}", run.stderr);
    run.success();
    assert_eq!(shop.spent(), 2.0);
    let files = contents(&shop.path("out"));
    let statement = json(&files["statement.json"]);
    let mut notes = String::new();
    for name in ["products", "quantities", "customers"] {
        notes += std::str::from_utf8(&files[&format!("{name}.csv.notes.txt")]).unwrap();
    }
    for share in statement["clipping_reports"].as_array().unwrap() {
        for share in share["shares"].as_array().unwrap() {
            assert!(notes.contains(share["what"].as_str().unwrap()), "{share} {notes}");
            // With so little budget, some totals may be below zero.
            if let Some(number) = share["share"].as_f64() {
                assert!(notes.contains(&format!("{:.1} %", 100.0 * number)), "{share} {notes}");
            }
        }
    }
    let part_of = |report: &serde_json::Value| report["of"][0].as_str().unwrap().to_owned();
    let reports = statement["clipping_reports"].as_array().unwrap();
    assert_eq!(reports.iter().map(part_of).collect::<Vec<_>>(), ["products", "quantities"]);
    let mut shares = statement["parts"].as_array().unwrap().iter().map(|part| {
        let total = &part["release"]["total"]["epsilon"];
        (part["file"].as_str(), total.as_f64().unwrap())
    });
    let (file, share) = shares.next().unwrap();
    let (none, report) = shares.next().unwrap();
    assert_eq!((file, none), (Some("products.csv"), None));
    assert!((share - 0.6).abs() < 1e-9 && (report - 0.2 / 3.0).abs() < 1e-9, "{share} {report}");
    // Without the numbers, the notes are these.
    let plain: Vec<&str> = notes.lines().filter(|line| !line.starts_with("  ")).collect();
    insta::assert_snapshot!("notes_with_reports", plain.join("\n"));

    // Again, it is free and the same to the byte; in other formats the notes are in the tables.
    shop.run(&["release", "--out", "again", "--intervals", "workload.toml"]).success();
    assert_eq!(contents(&shop.path("again")), files);
    for format in ["markdown", "html", "table"] {
        shop.run(&["release", "--out", format, "--format", format, "workload.toml"]).success();
        let files = contents(&shop.path(format));
        assert_eq!(files.len(), 4);
        for (name, bytes) in files.iter().filter(|(name, _)| *name != "statement.json") {
            let text = std::str::from_utf8(bytes).unwrap();
            assert!(text.contains("cut off, and in no number: ") || name.starts_with("cust"));
            assert_eq!(text.contains("clipping report: "), !name.starts_with("cust"), "{text}");
        }
    }
    assert_eq!(shop.spent(), 2.0);

    // One query by itself may ask, or not; one that asks has the same answer as without a workload.
    let one = REPORTED.replace("clipping_report = true\n", "").replace(
        "SELECT SUM",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (clipping_report = true) SUM",
    );
    fs::write(shop.path("workload.toml"), one.replace("epsilon = 2", "epsilon = 0.9")).unwrap();
    shop.run(&["release", "--out", "one", "workload.toml"]).success();
    let statement = json(&fs::read(shop.path("one/statement.json")).unwrap());
    assert_eq!(statement["clipping_reports"].as_array().unwrap().len(), 1);
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.3, delta = 0, \
               max_rows_per_group = 2, clipping_report = true) SUM(quantity) AS quantity \
               FROM visits";
    let single = shop.run(&["query", sql]).success();
    assert_eq!(single.as_bytes(), fs::read(shop.path("one/quantities.csv")).unwrap());
    assert!((shop.spent() - 2.9).abs() < 1e-9);
    let nothing = REPORTED.split("[[queries]]\nname = \"products\"").next().unwrap().to_owned()
        + "[[queries]]"
        + REPORTED.rsplit("[[queries]]").next().unwrap();
    fs::write(shop.path("workload.toml"), nothing).unwrap();
    let refused = shop.run(&["release", "--out", "no", "workload.toml"]).refusal();
    assert!(refused.contains("needs a limit that cuts something off"), "{refused}");
}

#[test]
fn what_was_asked_before_is_taken_from_the_record() {
    let shop = with_workload(500, "3");
    let options = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)";
    let sql =
        format!("SELECT {options} product, SUM(quantity) AS quantity FROM visits GROUP BY product");
    let single = shop.run(&["query", &sql]).success();
    // 1 of 3 is spent, and 1 of the workload's 2 is what it was spent on.
    let text = shop.run(&["release", "--explain", "workload.toml"]).success();
    insta::assert_snapshot!("explained_half_paid", text);
    let run = shop.run(&["release", "--out", "out", "--format", "json", "workload.toml"]);
    assert!(run.stderr.contains("charged epsilon = 1, delta = 1e-6"), "{}", run.stderr);
    assert!(run.stderr.contains("for 3 queries"), "{}", run.stderr);
    assert!(run.stderr.contains("3 of 4: out/quantities.json (on record)"), "{}", run.stderr);
    run.success();
    assert_eq!(shop.spent(), 2.0);
    let files = contents(&shop.path("out"));
    let quantities = json(&files["quantities.json"]);
    assert!(single.contains(&quantities[0]["quantity"].to_string()), "{single} {quantities}");
}

#[test]
fn the_statement_is_about_all_of_it() {
    let shop = with_workload(500, "3");
    let explained = shop.run(&["release", "--explain=json", "workload.toml"]).success();
    let mut explained = json(explained.as_bytes());
    assert_eq!(explained["accounts"][0]["suffices"], true);
    assert_eq!(explained["accounts"][0]["charge"]["epsilon"], 2.0);
    shop.assert_untouched();
    shop.run(&["release", "--out", "out", "workload.toml"]).success();
    let statement = json(&fs::read(shop.path("out/statement.json")).unwrap());
    let explained_parts = explained["parts"].take();
    for (key, value) in explained["together"].as_object().unwrap() {
        assert_eq!(&statement["together"][key], value, "{key}");
    }
    for total in [&statement["together"]["total"], &statement["totals"][0]["total"]] {
        assert_eq!((&total["epsilon"], &total["delta"]), (&2.0.into(), &1e-6.into()));
    }
    assert_eq!(statement["analyst"], "ana");
    for (i, part) in statement["parts"].as_array().unwrap().iter().enumerate() {
        assert_eq!(part["name"], NAMES[i]);
        assert_eq!(part["file"], format!("{}.csv", NAMES[i]));
        assert_eq!(part["weight"], [1, 1, 3, 1][i]);
        for (key, value) in explained_parts[i]["explanation"].as_object().unwrap() {
            assert_eq!(&part["release"][key], value, "{key}");
        }
        // The statement that the query by itself would have.
        assert!(part["release"]["sql"].is_string() && part["release"]["question"].is_string());
    }
    // Nothing of the data's files.
    let text = fs::read_to_string(shop.path("out/statement.json")).unwrap();
    let bytes = fs::metadata(shop.path("visits.csv")).unwrap().len().to_string();
    assert!(!text.contains("visits.csv\"") || !text.contains(&bytes), "{text}");
}

#[test]
fn one_wrong_query_refuses_all() {
    let shop = with_workload(100, "3");
    fs::create_dir(shop.path("old")).unwrap();
    fs::write(shop.path("file"), "").unwrap();
    let before = shop.files();
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let two = contract + "bo = { epsilon = 1 }\n";
    let mut rendered = String::new();
    let mut refused = |changes: &[(&str, &str)], arguments: &[&str]| {
        let mut text = WORKLOAD.to_owned();
        for (old, new) in changes {
            assert!(text.contains(old), "{old}");
            text = text.replace(old, new);
        }
        fs::write(shop.path("workload.toml"), text).unwrap();
        let run = shop.run(&[&["release"], arguments].concat());
        let error = run.refusal().replace(shop.path("").to_str().unwrap(), "FOLDER/");
        writeln!(rendered, "{changes:?} {}\n{error}", arguments.join(" ")).unwrap();
    };
    let out = ["--out", "out", "workload.toml"];
    refused(&[("place = [\"town\", \"product\"]", "place = [\"town\", \"region\"]")], &out);
    refused(&[("{place}", "{level}")], &out);
    refused(
        &[(
            "SELECT product, SUM",
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) product, SUM",
        )],
        &out,
    );
    refused(&[("\"quantities\"", "\"customers\"")], &out);
    refused(&[("\"quantities\"", "\"../quantities\"")], &out);
    refused(&[("SUM(quantity)", "SUM(towns)")], &out);
    refused(&[("customers.sql", "nothing.sql")], &out);
    refused(&[("epsilon = 2", "epsilon = 3.000001")], &out);
    refused(&[("delta = 1e-6", "delta = 1.1e-3")], &out);
    refused(&[("epsilon = 2", "rho = 0.1")], &out);
    refused(&[("epsilon = 2", "analyst = \"cy\"\nepsilon = 2")], &out);
    refused(&[("epsilon = 2", "contract = \"no.toml\"\nepsilon = 2")], &out);
    refused(&[], &["--out", "file", "workload.toml"]);
    refused(&[], &["--out", "no/such", "workload.toml"]);
    refused(&[], &["--out", "out", "no.toml"]);
    refused(&[("\"quantities\"", "\"visits\"")], &["--out", ".", "workload.toml"]);
    fs::write(shop.path("hushtable.toml"), two).unwrap();
    refused(&[], &out);
    insta::assert_snapshot!(rendered);
    let text = fs::read_to_string(shop.path("workload.toml")).unwrap();
    fs::write(shop.path("empty.toml"), text.split("[[queries]]").next().unwrap()).unwrap();
    let error = shop.run(&["release", "--out", "out", "empty.toml"]).refusal();
    assert!(error.contains("has no `queries`"), "{error}");
    fs::remove_file(shop.path("empty.toml")).unwrap();
    // The ledger was made by those that came as far as the budget; nothing is in it.
    let files: Vec<String> =
        shop.files().into_iter().filter(|name| name != "hushtable.ledger").collect();
    assert_eq!(files, before);
    let budgets = json(shop.run(&["budget", "--format", "json"]).success().as_bytes());
    assert!(
        budgets.as_array().unwrap().iter().all(|b| b["charges"].as_array().unwrap().is_empty())
    );
    // Named on the command line, the analyst pays.
    shop.run(&["release", "--analyst", "ana", "--out", "out", "workload.toml"]).success();
}

#[test]
fn other_data_is_another_workload() {
    let shop = with_workload(500, "3");
    shop.run(&["release", "--out", "out", "workload.toml"]).success();
    let before = contents(&shop.path("out"));
    let mut csv = fs::read_to_string(shop.path("visits.csv")).unwrap();
    csv.push_str("9999,Ashford,wine,1\n");
    fs::write(shop.path("visits.csv"), csv).unwrap();
    // It would be charged anew, and there is not enough left: the folder stays as it is.
    let error = shop.run(&["release", "--out", "out", "workload.toml"]).refusal();
    assert!(error.contains("these 4 queries together: they cost epsilon = 2"), "{error}");
    assert_eq!(contents(&shop.path("out")), before);
    assert_eq!(shop.spent(), 2.0);
}

/// Of two at once, both have the answers and one has paid.
#[test]
fn two_at_once_pay_once() {
    let shop = with_workload(5_000, "2");
    let children: Vec<_> = ["one", "two", "three"]
        .map(|out| {
            let mut command = shop.command(&["release", "--out", out, "workload.toml"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .into_iter()
        .collect();
    for child in children {
        Run::of(child.wait_with_output().unwrap()).success();
    }
    let files = contents(&shop.path("one"));
    assert_eq!(files.len(), FILES);
    assert_eq!(contents(&shop.path("two")), files);
    assert_eq!(contents(&shop.path("three")), files);
    assert_eq!(shop.spent(), 2.0);
    assert_eq!(shop.account()["charges"].as_array().unwrap().len(), NAMES.len());
}

/// Starts the workload and kills it: after the first line with `step` on it, and then `later`.
fn killed(shop: &Shop, step: Option<&str>, later: Duration) -> bool {
    let mut child = shop
        .command(&["release", "--out", "out", "workload.toml"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    if let Some(step) = step {
        assert!(lines.by_ref().any(|line| line.contains(step)), "{step}");
    }
    thread::sleep(later);
    let _ = child.kill();
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().all(|line| !line.contains("error")), "{rest:?}");
    !child.wait().unwrap().success()
}

/// Started again, it ends, and changes nothing that was there.
fn finish(shop: &Shop, released: &mut BTreeMap<String, Vec<u8>>) {
    for _ in 0..2 {
        shop.run(&["release", "--out", "out", "workload.toml"]).success();
        check(shop, released, true);
        assert_eq!(released.len(), FILES);
    }
    let account = shop.account();
    let charges = account["charges"].as_array().unwrap();
    assert!(charges.iter().all(|charge| charge["state"] != "charged"), "{account}");
}

#[test]
fn killed_after_each_step_it_goes_on_and_pays_once() {
    for step in ["left: epsilon = 18", "1 of 4: ", "2 of 4: ", "3 of 4: ", "4 of 4: "] {
        let shop = with_workload(500, "20");
        let mut released = BTreeMap::new();
        if !step.starts_with("left") {
            // Of an older workload: it must not stand beside new tables.
            fs::create_dir(shop.path("out")).unwrap();
            fs::write(shop.path("out/statement.json"), "old").unwrap();
        }
        assert!(killed(&shop, Some(step), Duration::ZERO) || step.starts_with('4'), "{step}");
        check(&shop, &mut released, true);
        // Every reported step has its file.
        let reported = step.split(' ').next().unwrap().parse().unwrap_or(0);
        assert!(released.len() >= reported, "{step}: {:?}", released.keys());
        finish(&shop, &mut released);
    }
}

#[test]
fn killed_at_any_moment_it_goes_on_and_pays_once() {
    let whole = {
        let shop = with_workload(8_000, "20");
        let start = Instant::now();
        shop.run(&["release", "--out", "out", "workload.toml"]).success();
        start.elapsed()
    };
    let mut dice = Dice::new(0x9E37_79B9_7F4A_7C15);
    let mut unfinished = 0;
    for _ in 0..3 {
        let shop = with_workload(8_000, "20");
        let mut released = BTreeMap::new();
        for _ in 0..4 {
            unfinished += usize::from(killed(&shop, None, whole.mul_f64(dice.uniform())));
            check(&shop, &mut released, false);
        }
        finish(&shop, &mut released);
    }
    eprintln!("{unfinished} of 12 runs were killed in time, of {whole:?} each");
    assert!(unfinished > 0);
}

/// All charges are there or none; no file has changed; and with the statement, the folder is whole.
fn check(shop: &Shop, released: &mut BTreeMap<String, Vec<u8>>, charged: bool) {
    let account = shop.account();
    let charges = account["charges"].as_array().unwrap();
    // A kill between a draw and its record loses that draw, which stays paid.
    let lasting: Vec<_> = charges.iter().filter(|charge| charge["state"] != "drawn").collect();
    let loss = |charge: &serde_json::Value| charge["charged"]["epsilon"].as_f64().unwrap();
    let paid: f64 = lasting.iter().map(|charge| loss(charge)).sum();
    let all: f64 = charges.iter().map(loss).sum();
    assert!((account["spent"]["epsilon"].as_f64().unwrap() - all).abs() < 1e-9, "{account}");
    let whole = lasting.len() == 4 && (paid - 2.0).abs() < 1e-9;
    let lost = charges.len() - lasting.len();
    assert!(whole || lasting.len() + lost == 4 || !charged && charges.is_empty(), "{account}");
    if !shop.path("out").exists() {
        return;
    }
    let mut files = contents(&shop.path("out"));
    // Left over by a kill in the middle of writing.
    files.retain(|name, _| !name.starts_with(".hushtable-"));
    if files.contains_key("statement.json") {
        assert_eq!(files.len(), FILES);
    }
    for (name, bytes) in files {
        let earlier = released.entry(name.clone()).or_insert_with(|| bytes.clone());
        assert!(*earlier == bytes, "{name} has changed");
    }
}

const FIRMS: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
[tables.firms.columns]
state = { type = "string", public_keys = ["FL", "GA"] }
county = { type = "string" }
pay = { type = "decimal(2)", split = { by = "state", default = 1_000, values = { GA = 5_000 } } }
jobs = { type = "int", split = 50, granularity = 10 }
[tables.firms.budgets]
ana = { rho = 2, delta = 1e-5 }
"#;

const FIRMS_WORKLOAD: &str = concat!(
    r#"rho = 1.5
delta = 1e-6
[levels]
place = ["state", "county"]
[[queries]]
name = "{place}"
sql = "SELECT {place}, SUM(pay) AS pay, SUM(jobs) AS jobs, COUNT(*) AS n "#,
    r#"FROM firms GROUP BY {place}"
[[queries]]
name = "all"
sql = "SELECT AVG(jobs) AS jobs, COUNT(*) AS n FROM firms WHERE pay > 0"
[[queries]]
name = "n"
sql = "SELECT COUNT(*) AS n FROM firms WHERE pay > 0"
"#,
);

/// rho (value / threshold)^2 summed over terms, from JSON alone; `column` of each term.
fn sums(
    terms: &serde_json::Value,
    column: &dyn Fn(usize) -> String,
    firm: (&str, f64, f64),
) -> f64 {
    let (state, pay, jobs) = firm;
    let each = terms.as_array().unwrap().iter().enumerate().map(|(i, term)| {
        let value = if column(i) == "pay" { pay } else { jobs };
        let classes = &term["classes"];
        let class_threshold = match state {
            "GA" => &classes["listed"][0]["threshold"],
            _ => &classes["default"],
        };
        let by_class = classes["noise_by_class"] == true;
        let threshold = if by_class { class_threshold } else { &term["threshold"] };
        let ratio = value / threshold.as_f64().unwrap();
        term["rho"].as_f64().unwrap() * ratio * ratio
    });
    each.sum()
}

#[test]
fn the_policy_in_the_statement_is_the_sum_of_the_parts() {
    let shop = Shop::with(1, "1");
    let mut csv = "state,county,pay,jobs\n".to_owned();
    for row in 0..400 {
        let state = ["FL", "GA"][row % 2];
        writeln!(csv, "{state},C{},{}.5,{}", row % 3, row * 7 % 900, row % 80).unwrap();
    }
    fs::write(shop.path("firms.csv"), csv).unwrap();
    fs::write(shop.path("hushtable.toml"), FIRMS).unwrap();
    fs::write(shop.path("workload.toml"), FIRMS_WORKLOAD).unwrap();
    insta::assert_snapshot!(
        "explained_by_size",
        shop.run(&["release", "--explain", "workload.toml"]).success()
    );
    shop.run(&["release", "--out", "out", "workload.toml"]).success();
    let statement = json(&fs::read(shop.path("out/statement.json")).unwrap());
    let policy = &statement["together"]["policy"];
    let parts = statement["parts"].as_array().unwrap();
    let mut dice = Dice::new(1);
    let mut random = || dice.uniform();
    for i in 0..200 {
        let firm = (["FL", "GA"][i % 2], 20_000.0 * random(), 500.0 * random());
        let of = |i: usize| policy["terms"][i]["column"].as_str().unwrap().to_owned();
        let whole = policy["rho_constant"].as_f64().unwrap() + sums(&policy["terms"], &of, firm);
        let part = |part: &serde_json::Value| {
            let part_policy = &part["release"]["policy"];
            if part_policy.is_null() {
                return part["release"]["total"]["rho"].as_f64().unwrap();
            }
            let of = |i: usize| {
                part_policy["terms"][i]["measurement"].as_str().unwrap().replace("sum of ", "")
            };
            part_policy["rho_constant"].as_f64().unwrap() + sums(&part_policy["terms"], &of, firm)
        };
        let want: f64 = parts.iter().map(part).sum();
        assert!((whole - want).abs() < 1e-9 * want, "{firm:?}: {whole} {want}");
    }
    // Two of the queries sum jobs at one threshold, and pay has one by state and one for all.
    assert_eq!(policy["terms"].as_array().unwrap().len(), 3);
    assert_eq!(policy["terms"][1]["queries"], serde_json::json!(["state", "county", "all"]));
}

/// The workload of the documentation is one.
#[test]
fn the_example_of_the_documentation_works() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workloads.md");
    let docs = fs::read_to_string(docs).unwrap();
    let example = docs.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let shop = Shop::with(1, "1");
    let columns =
        "naics2 = { type = \"string\" }\nnaics3 = { type = \"string\" }\n[tables.firms.budgets]";
    fs::write(shop.path("hushtable.toml"), FIRMS.replace("[tables.firms.budgets]", columns))
        .unwrap();
    fs::write(shop.path("firms.csv"), "state,county,naics2,naics3,pay,jobs\n").unwrap();
    fs::write(shop.path("workload.toml"), example).unwrap();
    let text = shop.run(&["release", "--explain", "workload.toml"]).success();
    for name in ["state_naics2", "state_naics3", "county_naics2", "county_naics3", "state  "] {
        assert!(text.contains(name), "{name}: {text}");
    }
    assert!(text.contains("The budget suffices."), "{text}");
    shop.run(&["release", "--out", "2022", "workload.toml"]).success();
    assert!(
        shop.path("2022/state_naics2.csv").exists() && shop.path("2022/statement.json").exists()
    );
}
