//! Queries about rows that belong to units of two populations.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::fmt::Write as _;

use hushtable_contract::Contract;
use hushtable_plan::{Operator, Relation, SqlStatement, bind};
use hushtable_quote::{Explanation, Quote};

const CONTRACT: &str = concat!(
    r#"
[units.customer]
budgets.ana = { epsilon = 10, delta = 1e-3 }
defaults = { epsilon = 1, max_groups_contributed = 3, max_rows_per_group = 5 }
[units.shop]
budgets.ana = { epsilon = 10, delta = 1e-3 }
defaults = { epsilon = 1, max_groups_contributed = 9, max_rows_per_group = 20 }

[tables.orders]
path = "orders.csv"
unit = { of = "customer", column = "customer" }
columns = { order_id = { type = "int" }, customer = { type = "int" }, day = { type = "date" }, "#,
    r#"year = { type = "int", expression = "EXTRACT(YEAR FROM day)", public_keys = [2024, 2025] } }

[tables.lines]
path = "lines.csv"
unit = { of = "customer", through = { column = "order_id", references = "orders.order_id" } }
columns = { order_id = { type = "int" }, shop = { type = "int" }, part = { type = "int" }, "#,
    r#"n = { type = "int" } }

[tables.offers]
path = "offers.csv"
unit = { of = "shop", column = "shop_id" }
columns = { shop_id = { type = "int" }, part_id = { type = "int" }, "#,
    r#"cost = { type = "int", bounds = [0, 90] } }

[tables.parts]
path = "parts.csv"
public = true
unique = ["id"]
columns = { id = { type = "int" }, colour = { type = "string", public_keys = ["red", "blue"] } }

[tables.words]
path = "words.csv"
public = true
columns = { part = { type = "int" }, word = { type = "string" } }
"#,
);

fn contract() -> Contract {
    Contract::parse(CONTRACT, "hushtable.toml").unwrap()
}

fn bound(sql: &str) -> Result<Quote, String> {
    let mut parts = SqlStatement::bind(sql, &contract()).map_err(|r| r.to_string())?.parts;
    assert_eq!(parts.len(), 1);
    Quote::new(parts.pop().unwrap().query).map_err(|r| r.to_string())
}

/// The limit on the rows of each unit, on the side that is bounded first.
fn row_limit(relation: &Relation) -> Option<u32> {
    match relation.operator() {
        Operator::Take { rows, .. } => Some(*rows),
        Operator::Filter { input, .. } | Operator::Project { input, .. } => row_limit(input),
        Operator::Join { left, right, .. } => row_limit(left).or_else(|| row_limit(right)),
        _ => None,
    }
}

const FORMS: [&str; 4] = [
    "SELECT year, COUNT(*), SUM(cost) FROM lines l JOIN orders o ON o.order_id = l.order_id \
     JOIN offers f ON f.shop_id = l.shop AND f.part_id = l.part GROUP BY year",
    // The table of the other population comes last, wherever it stands.
    "SELECT colour, year, AVG(cost) FROM parts, offers, lines, orders WHERE id = part \
     AND shop_id = shop AND part_id = part AND orders.order_id = lines.order_id AND n > 2 \
     GROUP BY colour, year",
    // The owner may stand first, and a public table come after.
    "SELECT colour, COUNT(*), COUNT(DISTINCT shop_id) FROM offers JOIN lines ON shop_id = shop \
     AND part_id = part JOIN parts ON id = part GROUP BY colour",
    "SELECT colour, SUM(2 * c, contribution_bounds_per_row => (0, 9)) \
     FROM (SELECT colour, n * cost AS c FROM lines, offers, parts \
     WHERE shop_id = shop AND part_id = part AND id = part) GROUP BY colour",
];

#[test]
fn both_populations_pay_and_are_bounded() {
    for sql in FORMS {
        let quote = bound(sql).unwrap();
        let query = quote.query();
        assert_eq!(query.populations().collect::<Vec<_>>(), ["shop", "customer"], "{sql}");
        // Half of the 9 groups of a shop.
        assert_eq!(row_limit(query.relation()), Some(4), "{sql}");
        let beside = query.relation().beside().unwrap();
        assert_eq!((beside.population.as_str(), beside.rows), ("customer", 4));
        let explanation = Explanation::new(&quote);
        assert_eq!(explanation.beside.as_ref(), Some(beside));
        let cut = &explanation.intervals.not_in_them;
        assert!(cut.contains(&"rows of one unit of customer beyond 4".to_owned()), "{cut:?}");
        // Commands for one population refuse.
        let refusal = bind(sql, &contract()).unwrap_err().to_string();
        assert!(refusal.contains("rows of both `shop` and `customer`"), "{refusal}");
    }
}

/// A statement's budget is that of each of its populations, also where one of them pays for two
/// parts.
#[test]
fn parts_of_common_populations_share_a_budget() {
    let one = "SELECT COUNT(*) AS n FROM orders";
    let sql = format!(
        "SELECT p.n, q.n FROM ({one}) AS p CROSS JOIN (SELECT MAX(n) AS n FROM ({}) AS r) AS q",
        FORMS[0].replacen("COUNT(*)", "COUNT(*) AS n", 1)
    );
    let parts = SqlStatement::bind(&sql, &contract()).unwrap().parts;
    let losses: Vec<String> = parts.iter().map(|part| part.query.loss().to_string()).collect();
    assert_eq!(losses, ["epsilon = 0.5", "epsilon = 0.5"]);
}

#[test]
fn a_query_that_was_read_back_is_bounded_or_refused() {
    let quote = bound(FORMS[0]).unwrap();
    let text = serde_json::to_string(quote.query()).unwrap();
    assert_eq!(Quote::new(serde_json::from_str(&text).unwrap()).unwrap().query(), quote.query());
    let more = text.replace("\"rows\":4}", "\"rows\":5}");
    assert_ne!(more, text);
    Quote::new(serde_json::from_str(&more).unwrap()).unwrap_err();
    let gaussian = text.replace("\"LAPLACE\"", "\"GAUSSIAN\"");
    assert_ne!(gaussian, text);
    Quote::new(serde_json::from_str(&gaussian).unwrap()).unwrap_err();
}

#[test]
fn what_is_not_bounded_for_both_is_refused() {
    let pairs = "lines JOIN offers ON shop_id = shop AND part_id = part";
    let queries = [
        // Groups that are chosen privately, and one group.
        format!("SELECT n, COUNT(*) FROM {pairs} GROUP BY n"),
        format!("SELECT SUM(cost) FROM {pairs}"),
        // Measures and losses.
        format!("SELECT part, MEDIAN(cost) FROM {pairs} JOIN parts ON id = part GROUP BY part"),
        format!("SELECT colour, MEDIAN(cost) FROM {pairs} JOIN parts ON id = part GROUP BY colour"),
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) colour, COUNT(*) FROM {pairs} \
             JOIN parts ON id = part GROUP BY colour"
        ),
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) colour, \
             COUNT(*) FROM {pairs} JOIN parts ON id = part GROUP BY colour"
        ),
        // Not the owner's unit; outer and half joins; a third table; a public table that repeats
        // rows.
        "SELECT colour, COUNT(*) FROM lines JOIN offers ON part_id = part JOIN parts ON id = part \
         GROUP BY colour"
            .to_owned(),
        "SELECT colour, COUNT(*) FROM lines LEFT JOIN offers ON shop_id = shop AND part_id = part \
         JOIN parts ON id = part GROUP BY colour"
            .to_owned(),
        "SELECT colour, COUNT(*) FROM lines JOIN parts ON id = part \
         WHERE shop IN (SELECT shop_id FROM offers) GROUP BY colour"
            .to_owned(),
        format!(
            "SELECT colour, COUNT(*) FROM {pairs} JOIN parts ON id = part JOIN words ON \
             words.part = lines.part GROUP BY colour"
        ),
        format!(
            "SELECT colour, COUNT(*) FROM {pairs} JOIN parts ON id = part JOIN orders ON \
             orders.order_id = lines.order_id GROUP BY colour"
        ),
        format!(
            "SELECT n, COUNT(*) FROM (SELECT shop_id, COUNT(*) AS n FROM {pairs} GROUP BY shop_id) \
             GROUP BY n"
        ),
    ];
    let mut refusals = String::new();
    for sql in &queries {
        let refusal = bound(sql).map(|_| ()).unwrap_err();
        writeln!(refusals, "{sql}\n-> {refusal}\n").unwrap();
    }
    insta::assert_snapshot!(refusals);
}
