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
    // Of 9 groups with 20 rows each: half where a count and a sum are measured together; where a
    // shop counts once in a group, as many as it has groups.
    for (sql, most) in FORMS.into_iter().zip([90, 90, 9, 180]) {
        let quote = bound(sql).unwrap();
        let query = quote.query();
        assert_eq!(query.populations().collect::<Vec<_>>(), ["shop", "customer"], "{sql}");
        assert_eq!(row_limit(query.relation()), Some(most), "{sql}");
        let beside = query.relation().beside().unwrap();
        assert_eq!((beside.population.as_str(), beside.rows), ("customer", most));
        let explanation = Explanation::new(&quote);
        assert_eq!(explanation.beside.as_ref(), Some(beside));
        let cut = &explanation.intervals.not_in_them;
        let beyond = format!("rows of one unit of customer beyond {most}");
        assert!(cut.contains(&beyond), "{cut:?}");
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
fn a_query_that_was_read_back_is_bounded() {
    let quote = bound(FORMS[0]).unwrap();
    let text = serde_json::to_string(quote.query()).unwrap();
    assert_eq!(Quote::new(serde_json::from_str(&text).unwrap()).unwrap().query(), quote.query());
    // Noise is made for the rows that the relation has, whoever wrote it.
    let more = text.replace("\"rows\":90}", "\"rows\":900}");
    assert_ne!(more, text);
    let more = Quote::new(serde_json::from_str(&more).unwrap()).unwrap();
    assert!(more.deviation(0).unwrap() > 7.0 * quote.deviation(0).unwrap());
}

/// The scale of noise is that of the population whose unit can do more: a shop with up to 20 rows
/// in each of its groups, or a customer with its rows.
#[test]
fn noise_is_for_what_rows_move() {
    let pairs = "lines l JOIN orders o ON o.order_id = l.order_id JOIN offers f ON f.shop_id = \
                 l.shop AND f.part_id = l.part";
    let total = "SUM(cost, contribution_bounds_per_group => (0, 1000))";
    let signed = "SUM(cost - 40, contribution_bounds_per_group => (-300, 1000))";
    let (year, one) = ("GROUP BY year", "");
    let cases = [
        // One group: a row of a count moves it by 1, of a sum by its bound, or by all of it.
        ("epsilon = 1", "COUNT(*)", one, 20, 20.0),
        ("epsilon = 1, max_rows_contributed = 50", "COUNT(*)", one, 50, 50.0),
        ("epsilon = 1, max_rows_contributed = 3", "COUNT(*)", one, 3, 20.0),
        ("epsilon = 1, max_rows_contributed = 50", "SUM(cost)", one, 50, 50.0 * 90.0),
        ("epsilon = 1", total, one, 1, 1000.0),
        ("epsilon = 1, max_rows_contributed = 5", total, one, 5, 5000.0),
        // From one end to the other.
        ("epsilon = 1", signed, one, 1, 1300.0),
        // All groups are kept: two of at most nine, or of two.
        ("epsilon = 1", "COUNT(*)", year, 180, 180.0),
        ("epsilon = 1, max_groups_contributed = 2", "COUNT(*)", year, 40, 40.0),
        ("epsilon = 1, max_groups_contributed = 2", total, year, 2, 2000.0),
        // Some may be lost, and others come in their place.
        ("epsilon = 1, max_groups_contributed = 1", "COUNT(*)", year, 1, 21.0),
        ("epsilon = 1, max_groups_contributed = 1", total, year, 1, 2000.0),
        // In l2 a customer's rows are in one group at worst.
        ("rho = 0.5", "COUNT(*)", year, 60, 60.0),
        ("rho = 0.5, max_rows_contributed = 100", "COUNT(*)", year, 100, 100.0),
        ("rho = 0.5, max_groups_contributed = 1", "COUNT(*)", year, 1, 401f64.sqrt()),
    ];
    for (options, measured, keys, rows, scale) in cases {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {measured} FROM {pairs} {keys}"
        );
        let quote = bound(&sql).unwrap();
        assert_eq!(row_limit(quote.query().relation()), Some(rows), "{sql}");
        let explanation = Explanation::new(&quote);
        let found = explanation.measurements[0].noise_scale.unwrap();
        assert!((found / scale - 1.0).abs() < 1e-9, "{found} {scale}: {sql}");
    }
    // Gaussian noise at the cost of an epsilon and a delta.
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, noise = GAUSSIAN) \
         COUNT(*), SUM(cost) FROM {pairs}"
    );
    assert_eq!(bound(&sql).unwrap().noise_kind(), hushtable_contract::NoiseKind::Gaussian);
}

/// Queries that differ in their keys share noise only where units lose groups in both or in none.
#[test]
fn noise_of_another_query_is_shared_only_where_it_suffices() {
    let query = |keys: &str| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2, \
             max_rows_contributed = 40) COUNT(*) FROM lines l JOIN orders o ON o.order_id = \
             l.order_id JOIN parts p ON p.id = l.part JOIN offers f ON f.shop_id = l.shop AND \
             f.part_id = l.part GROUP BY {keys}"
        );
        bound(&sql).unwrap()
    };
    for (first, second) in [("year", "colour, year"), ("colour, year", "year"), ("year", "colour")]
    {
        let (first, second) = (query(first), query(second));
        let shared = Quote::beside(second.query().clone(), [&first].into_iter()).unwrap();
        assert_eq!(shared.deviation(0), second.deviation(0));
    }
}

/// The limit may be in the contract of the population that it is about; `explain` says what others
/// would cost, and where rows are chosen before a condition.
#[test]
fn limits_on_rows_are_explained() {
    let limited = "max_rows_contributed = 7, max_groups_contributed = 3";
    let text = CONTRACT.replace("max_groups_contributed = 3", limited);
    let contract = Contract::parse(&text, "hushtable.toml").unwrap();
    let explained = |sql: &str, contract: &Contract| {
        let mut parts = SqlStatement::bind(sql, contract).unwrap().parts;
        let quote = Quote::new(parts.pop().unwrap().query).unwrap();
        let rows = row_limit(quote.query().relation()).unwrap();
        let Explanation { advice, warnings, .. } = Explanation::new(&quote);
        let advice = advice.into_iter().filter(|a| a.contains("max_rows")).collect::<Vec<_>>();
        (rows, advice, warnings.into_iter().map(|w| w.what).collect::<Vec<_>>())
    };
    let on = "shop_id = shop AND part_id = part";
    let mut shown = String::new();
    for (options, from) in [
        ("", format!("lines JOIN offers ON {on}")),
        ("max_rows_contributed = 20", format!("lines JOIN offers ON {on}")),
        ("max_rows_contributed = 50", format!("lines JOIN offers ON {on} AND cost > 3 AND n > 2")),
        ("max_rows_contributed = 50", format!("lines JOIN offers ON {on} AND n > 2")),
        ("", format!("lines JOIN offers ON {on} AND cost > n")),
        ("", format!("lines JOIN offers ON {on} WHERE cost > n")),
        (
            "",
            "lines JOIN parts ON id = part JOIN offers ON shop_id = shop AND id = part_id"
                .to_owned(),
        ),
    ] {
        let sql =
            format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) COUNT(*) FROM {from}");
        let sql = sql.replace("WITH DIFFERENTIAL_PRIVACY OPTIONS () ", "");
        writeln!(shown, "{sql}\n{:#?}\n", explained(&sql, &contract)).unwrap();
    }
    insta::assert_snapshot!(shown);
    let one = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 3) COUNT(*) FROM \
               orders";
    insta::assert_snapshot!(bound(one).map(|_| ()).unwrap_err());
}

#[test]
fn what_is_not_bounded_for_both_is_refused() {
    let pairs = "lines JOIN offers ON shop_id = shop AND part_id = part";
    let queries = [
        // Groups that are chosen privately.
        format!("SELECT n, COUNT(*) FROM {pairs} GROUP BY n"),
        // Measures.
        format!("SELECT part, MEDIAN(cost) FROM {pairs} JOIN parts ON id = part GROUP BY part"),
        format!("SELECT colour, MEDIAN(cost) FROM {pairs} JOIN parts ON id = part GROUP BY colour"),
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
