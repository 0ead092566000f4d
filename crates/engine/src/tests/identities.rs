//! The hashes by which questions are known. A change here means that a question on record is
//! charged again, and is a change of `identity::FORMAT`.

use std::fmt::Write;

use hushtable_contract::Contract;
use hushtable_plan::bind;
use hushtable_quote::{Explanation, Quote};

use crate::record::question;

const CONTRACT: &str = r#"
[tables.visits]
path = "visits.csv"
privacy_unit = "person"
defaults = { epsilon = 1, delta = 1e-6, max_groups_contributed = 2, max_rows_per_group = 3 }
budgets.ana = { epsilon = 10, delta = 1e-4 }
[tables.visits.columns]
person = { type = "int" }
town = { type = "string", public_keys = ["Ashford", "Millbrook"] }
product = { type = "string", max_bytes = 40 }
day = { type = "date" }
spent = { type = "decimal(2)", bounds = [0, 100] }
[tables.towns]
path = "towns.csv"
public = true
unique = ["name"]
columns = { name = { type = "string" }, region = { type = "string" } }
"#;

const QUERIES: [&str; 10] = [
    "SELECT COUNT(DISTINCT person) AS n FROM visits",
    "SELECT town, COUNT(*) AS n FROM visits GROUP BY town",
    "SELECT product, COUNT(*) AS n FROM visits WHERE spent > 5 GROUP BY product",
    "SELECT product, SUM(spent) AS s, AVG(spent) AS a FROM visits GROUP BY product",
    "SELECT town, MEDIAN(spent) AS m FROM visits GROUP BY town",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.1) town, COUNT(*) FROM visits GROUP BY town",
    "SELECT EXTRACT(YEAR FROM day) AS year, COUNT(DISTINCT person) FROM visits \
     WHERE product LIKE 'a%' GROUP BY year",
    "SELECT region, SUM(spent) FROM visits JOIN towns ON town = name GROUP BY region",
    "SELECT COUNT(*) FROM visits WHERE person IN \
     (SELECT person FROM visits GROUP BY person HAVING SUM(spent) > 10)",
    "SELECT town, STDDEV(spent) AS s FROM visits WHERE REGEXP_CONTAINS(product, '^b+') \
     GROUP BY town",
];

#[test]
fn questions_are_known_by_these_hashes() {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let mut hashes = String::new();
    for sql in QUERIES {
        let quote = Quote::new(bind(sql, &contract).unwrap()).unwrap();
        let hash = question(&quote, &Explanation::new(&quote)).unwrap();
        writeln!(hashes, "{} {sql}", &hash[..16]).unwrap();
    }
    insta::assert_snapshot!(hashes);
}
