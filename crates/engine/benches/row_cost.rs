//! The cost of one row: every kind of expression beside the operations that are claimed for it, and
//! a query with a person beside the same query without.
//!
//! `cargo bench -p hushtable-engine --bench row_cost` prints nanoseconds for each operation: above
//! 1, the costs in `lang::cost` are too low. Each query has as many terms of one kind as are
//! accepted, over values that are the dearest for it, and is asked of a table with and without rows
//! that its condition keeps; every second row is kept, so that kept rows never lie side by side.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program of its own that may stop at any error"
)]

mod common;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use hushtable_contract::Contract;
use hushtable_engine::{Progress, Session};
use hushtable_lang::MAX_ROW_OPERATIONS;
use hushtable_plan::bind;

use common::{Wait, median, peak_mib};

const ROWS: usize = 20_000;
const RUNS: usize = 7;

const CONTRACT: &str = r#"
[tables.t]
path = "t.csv"
privacy_unit = "row"
[tables.t.columns]
kept = { type = "int" }
n = { type = "int" }
x = { type = "float" }
d = { type = "decimal(9)" }
day = { type = "date" }
moment = { type = "timestamp" }
note = { type = "string" }
[tables.t.budgets]
bench = { epsilon = 1000000, delta = 0.1 }
"#;

const JOINED: &str = r#"
ledger = "v.ledger"
[tables.v]
path = "v.csv"
privacy_unit = "id"
columns = { id = { type = "int" }, n = { type = "int" } }
defaults = { epsilon = 1, delta = 1e-9, max_groups_contributed = 1, max_rows_per_group = 9 }
budgets.bench = { epsilon = 1000000, delta = 0.1 }
[tables.p]
path = "p.csv"
public = true
columns = { n = { type = "int" }, m = { type = "int" } }
"#;

/// A condition, and the text that is dearest for it.
const TERMS: [(&str, &str); 39] = [
    ("n = 1", "a"),
    ("n + 1 > 2", "a"),
    ("MOD(n, 7) = 1", "a"),
    ("MOD(d, 0.000000007) = 1", "a"),
    ("d * d > 1", "a"),
    ("x / 3 > 1", "a"),
    ("x * 1.5e0 > 1", "a"),
    ("SQRT(x * 1.5e0) > 1", "a"),
    ("ROUND(x * 1.5e0, 2) > 1", "a"),
    ("IF(n > 1, n, 2) = 1", "a"),
    ("COALESCE(n, 2) = 1", "a"),
    ("GREATEST(n, 2) = 1", "a"),
    ("n IN (1, 2, 3)", "a"),
    ("POWER(x, 0.3) = 1", "a"),
    ("EXP(x) = 1", "a"),
    ("LN(x) = 1", "a"),
    ("ROUND(x, 3) = 1", "a"),
    ("SQRT(x) = 1", "a"),
    ("CAST(x AS STRING) = 'a'", "a"),
    ("CAST(d AS STRING) = 'a'", "a"),
    ("CAST(moment AS STRING) = 'a'", "a"),
    ("EXTRACT(WEEK FROM day) = 1", "a"),
    ("DATE_ADD(day, INTERVAL 1 MONTH) > DATE '2020-01-01'", "a"),
    ("CAST(note AS FLOAT64) > 1", "9"),
    ("UPPER(note) = 'A'", "\u{390}"),
    ("LOWER(note) = 'A'", "\u{3a3}:"),
    ("INITCAP(SUBSTR(note, 1, 100)) = 'A'", "\u{390}"),
    ("TRIM(note) = 'A'", "\u{3000}"),
    ("REVERSE(note) = 'A'", "a"),
    ("REPLACE(note, 'a', 'bb') = 'A'", "a"),
    ("SPLIT_PART(note, 'a', -600) = 'A'", "a"),
    ("note ->> 0 = 'A'", "["),
    ("CONCAT('[', note, '0]') ->> 1 = 'A'", "1,"),
    ("STRPOS(note, 'aaaaaaaaaaaaaaaaaaaaaaab') = 1", "a"),
    ("LPAD(note, 200) = 'A'", ""),
    ("LENGTH(note) = 1", "\u{e9}"),
    ("note LIKE '%a%b%'", "a"),
    ("note || 'x' = 'A'", "a"),
    ("REGEXP_CONTAINS(note, 'a+b')", "a"),
];

/// The query with as many terms as are accepted.
fn longest(term: &str, contract: &Contract) -> String {
    let sql = |terms: usize| {
        let all = (0..terms).collect::<Vec<_>>();
        let chains =
            all.chunks(40).map(|some| format!("({})", vec![term; some.len()].join(" OR ")));
        format!(
            "SUM(CAST({} AS INT64), contribution_bounds_per_group => (0, 1))",
            chains.collect::<Vec<_>>().join(" OR ")
        )
    };
    let asked = |terms: usize| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) {} AS s FROM t WHERE kept = 1",
            sql(terms)
        )
    };
    let (mut fits, mut beyond) = (1, 1_000);
    while beyond - fits > 1 {
        let terms = (fits + beyond) / 2;
        if bind(&asked(terms), contract).is_ok() { fits = terms } else { beyond = terms }
    }
    asked(fits)
}

/// Median of the seconds that reading takes.
fn seconds(session: Session, sql: &str) -> f64 {
    let session = Arc::new(session);
    let runs = (0..=RUNS).map(|run| {
        // Another budget is another question.
        let sql = sql.replacen("epsilon = 1", &format!("epsilon = 1.00{run}"), 1);
        let started = Instant::now();
        session.timed(&sql, None, &Progress::default()).wait().unwrap();
        started.elapsed().as_secs_f64()
    });
    median(runs.skip(1).collect())
}

fn expressions(folder: &Path) {
    let contract = Contract::parse(CONTRACT, "t.toml").unwrap();
    std::fs::write(folder.join("t.toml"), CONTRACT).unwrap();
    let write = |text: &str, kept: bool| {
        let note = if text.is_empty() { "x".to_owned() } else { text.repeat(1024 / text.len()) };
        let mut lines = "kept,n,x,d,day,moment,note\n".to_owned();
        for row in 0..ROWS {
            let dear = u8::from(kept && row % 2 == 0);
            let rest = "-9223372036854775807,1e-310,-12345678901234567890.123456789,2024-02-29,\
                        2024-02-29T23:59:59.999999";
            writeln!(lines, "{dear},{rest},{note}").unwrap();
        }
        std::fs::write(folder.join("t.csv"), lines).unwrap();
    };
    println!("ns per operation, of at most {MAX_ROW_OPERATIONS} operations a row");
    for (term, text) in TERMS {
        let sql = longest(term, &contract);
        let taken = |kept: bool| {
            write(text, kept);
            seconds(Session::open(&folder.join("t.toml")).unwrap(), &sql)
        };
        let more = taken(true) - taken(false);
        let each = more * 1e9 / (ROWS as f64 / 2.0);
        println!("{:6.2}  {term}", each / MAX_ROW_OPERATIONS as f64);
    }
}

/// Joins in which one unit of one row, or of some hundred, meets as many rows as it may.
fn joins(folder: &Path) {
    std::fs::write(folder.join("v.toml"), JOINED).unwrap();
    let public: String = (0..1000).map(|row| format!("{row},1\n")).collect();
    std::fs::write(folder.join("p.csv"), format!("n,m\n{public}")).unwrap();
    println!("milliseconds of a query without a unit, with it, and the ratio");
    for (rows, from) in [
        (1, "v JOIN p ON MOD(p.m, 1) = MOD(v.n, 1) WHERE v.id = 0"),
        (1000, "v a JOIN v b ON a.id = b.id"),
        (1000, "v a JOIN v b ON a.id = b.id JOIN v c ON a.id = c.id"),
    ] {
        let name = if from.contains("v a") { "a.id" } else { "v.id" };
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(DISTINCT {name}) \
             FROM {from}"
        );
        let taken = |rows: usize| {
            let first_unit: String = (0..rows).map(|n| format!("0,{n}\n")).collect();
            let others: String = (1..100_000).map(|id| format!("{id},7\n")).collect();
            std::fs::write(folder.join("v.csv"), format!("id,n\n{first_unit}{others}")).unwrap();
            1e3 * seconds(Session::open(&folder.join("v.toml")).unwrap(), &sql)
        };
        let (without, with) = (taken(0), taken(rows));
        println!("{without:8.2} {with:8.2} {:6.3}  {rows} rows: {from}", with / without);
    }
}

fn main() {
    let folder = std::env::temp_dir().join(format!("hushtable-row-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    expressions(&folder);
    joins(&folder);
    println!("peak {:.0} MiB", peak_mib().unwrap_or(f64::NAN));
    std::fs::remove_dir_all(&folder).unwrap();
}
