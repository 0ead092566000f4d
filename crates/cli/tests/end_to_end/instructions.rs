//! How many instructions six fixed questions take, beside what they took before.
//!
//! Callgrind counts them, on one core, with no clock: the number is nearly the same on a busy
//! machine, and between runs (units are hashed with a random key) it differs by less than 1 %.
//! The command is that of the tests, which is not optimised: the counts tell of work that is done
//! twice, and nothing of how fast a release is.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use hushtable::arrow::array::{ArrayRef, Int64Array, StringArray};
use hushtable_testkit::{Dice, TestFolder};

use crate::support::write_parquet;

const CONTRACT: &str = r#"
[units.buyer]
[units.buyer.defaults]
epsilon = 1
delta = 1e-6
[units.buyer.budgets]
ana = { epsilon = 1000, delta = 0.1 }

[tables.sales]
path = "sales.parquet"
unit = { of = "buyer", column = "buyer" }
[tables.sales.columns]
buyer = { type = "int" }
shop = { type = "int" }
kind = { type = "string", public_keys = ["kind 0", "kind 1", "kind 2", "kind 3"] }
pieces = { type = "int", bounds = [0, 10] }
price = { type = "int", bounds = [0, 100] }
tax = { type = "int", bounds = [0, 20] }

[tables.buyers]
path = "buyers.parquet"
unit = { of = "buyer", column = "buyer" }
unique = ["buyer"]
[tables.buyers.columns]
buyer = { type = "int" }
born = { type = "int", bounds = [1920, 2010] }
"#;

const ROWS: usize = 50_000;
const BUYERS: u64 = 5_000;

/// Names of questions, with what is run.
const QUESTIONS: [(&str, &str, &str); 6] = [
    (
        "one group of each unit",
        "query",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) shop, \
         COUNT(DISTINCT buyer) AS n FROM sales GROUP BY shop",
    ),
    (
        "four groups of two rows",
        "query",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 4, \
         max_rows_per_group = 2) shop, COUNT(*) AS n, SUM(price) AS s, AVG(price) AS a \
         FROM sales GROUP BY shop",
    ),
    (
        "wide aggregates",
        "query",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 4, \
         max_rows_per_group = 8) kind, COUNT(*) AS n, SUM(pieces) AS a, SUM(price) AS b, \
         SUM(price * pieces) AS c, SUM(price * pieces + tax) AS d, AVG(tax) AS e \
         FROM sales GROUP BY kind",
    ),
    (
        "a join",
        "query",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2, \
         max_rows_per_group = 5) DIV(b.born, 10) AS decade, COUNT(*) AS n \
         FROM sales s JOIN buyers b USING (buyer) WHERE s.kind IN ('kind 1', 'kind 2') \
         AND s.kind LIKE '%d%' GROUP BY 1",
    ),
    (
        "quantiles",
        "query",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2, \
         max_rows_per_group = 3) kind, MEDIAN(price) AS m FROM sales GROUP BY kind",
    ),
    (
        "a quote",
        "explain",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 3) shop, \
         COUNT(DISTINCT buyer) AS n FROM sales WHERE price > 10 GROUP BY ROLLUP (shop)",
    ),
];

/// A count may be so much larger than the one kept.
const TOLERANCE: f64 = 1.05;

#[test]
#[ignore = "takes a minute, and needs valgrind"]
fn questions_take_no_more_instructions_than_before() {
    let folder = TestFolder::new(CONTRACT, &[]);
    make_data(folder.path());
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/instructions.txt");
    let before: BTreeMap<String, f64> = fs::read_to_string(kept)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_once(" M "))
        .map(|(millions, name)| (name.to_owned(), millions.trim().parse().unwrap()))
        .collect();
    let mut now = String::new();
    let mut grown = String::new();
    for (name, command, sql) in QUESTIONS {
        let count = millions(folder.path(), command, sql);
        writeln!(now, "{count:>6.0} M {name}").unwrap();
        let most = before.get(name).map_or(0.0, |before| before * TOLERANCE);
        if count > most {
            writeln!(grown, "{name}: {count:.0} M instructions, at most {most:.0} M").unwrap();
        }
    }
    if std::env::var_os("HUSHTABLE_KEEP_INSTRUCTIONS").is_some() {
        fs::write(kept, &now).unwrap();
        return;
    }
    println!("{now}");
    assert!(
        grown.is_empty(),
        "{grown}Where more work is right, run this with HUSHTABLE_KEEP_INSTRUCTIONS=1, and say why."
    );
}

/// The instructions of a run of the command, in millions.
fn millions(folder: &Path, command: &str, sql: &str) -> f64 {
    let output = Command::new("taskset")
        .args(["--cpu-list", &a_core(), "valgrind", "--tool=callgrind"])
        .args(["--callgrind-out-file=/dev/null"])
        .args([env!("CARGO_BIN_EXE_hushtable"), command, sql])
        .current_dir(folder)
        .output()
        .expect("taskset and valgrind are installed");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{sql}: {stderr}");
    let collected = stderr.split("Collected :").nth(1).and_then(|rest| rest.lines().next());
    collected.unwrap().trim().parse::<f64>().unwrap() / 1e6
}

/// The number of a core that this process may use.
fn a_core() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap().trim().split(['-', ',']).next().unwrap().to_owned()
}

fn make_data(folder: &Path) {
    let mut dice = Dice::new(27);
    let mut numbers = |end: u64| -> ArrayRef {
        let numbers = (0..ROWS).map(|_| dice.below(end) as i64);
        Arc::new(numbers.collect::<Int64Array>())
    };
    let (buyer, pieces, price, tax) = (numbers(BUYERS), numbers(11), numbers(101), numbers(21));
    let mut dice = Dice::new(8);
    // Few shops are large and most small.
    let shop = (0..ROWS).map(|_| (1.0 / dice.uniform().powi(2)).min(2_000.0) as i64);
    let shop: ArrayRef = Arc::new(shop.collect::<Int64Array>());
    let kind = (0..ROWS).map(|_| Some(format!("kind {}", dice.below(4))));
    let kind: ArrayRef = Arc::new(kind.collect::<StringArray>());
    let columns = [
        ("buyer", buyer),
        ("shop", shop),
        ("kind", kind),
        ("pieces", pieces),
        ("price", price),
        ("tax", tax),
    ];
    write_parquet(&folder.join("sales.parquet"), columns);
    let buyer: ArrayRef = Arc::new((0..BUYERS as i64).collect::<Int64Array>());
    let born = (0..BUYERS).map(|_| 1920 + dice.below(91) as i64);
    let born: ArrayRef = Arc::new(born.collect::<Int64Array>());
    write_parquet(&folder.join("buyers.parquet"), [("buyer", buyer), ("born", born)]);
}
