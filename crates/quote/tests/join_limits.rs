//! The noise that tighter limits on joined rows would give, as `explain` says it.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::fmt::Write as _;

use hushtable_contract::Contract;
use hushtable_plan::{LimitSource, SqlStatement};
use hushtable_quote::{Explanation, Quote};

const CONTRACT: &str = r#"
[units.customer]
budgets.ana = { epsilon = 10, delta = 1e-3 }
defaults = { epsilon = 1, delta = 1e-6, max_groups_contributed = 3, max_rows_per_group = 5 }
[units.shop]
budgets.ana = { epsilon = 10, delta = 1e-3 }
defaults = { epsilon = 1, max_groups_contributed = 3, max_rows_per_group = 5 }

[tables.people]
path = "people.csv"
unit = { of = "customer", column = "id" }
columns = { id = { type = "int" }, town = { type = "string", public_keys = ["x", "y"] } }

[tables.visits]
path = "visits.csv"
unit = { of = "customer", column = "id" }
[tables.visits.columns]
id = { type = "int" }
day = { type = "int" }
cost = { type = "int", bounds = [0, 90] }

[tables.lines]
path = "lines.csv"
unit = { of = "customer", column = "customer" }
columns = { customer = { type = "int" }, shop = { type = "int" }, part = { type = "int" } }

[tables.offers]
path = "offers.csv"
unit = { of = "shop", column = "shop_id" }
columns = { shop_id = { type = "int" }, part_id = { type = "int" } }

[tables.days]
path = "days.csv"
public = true
columns = { day = { type = "int" }, week = { type = "int" } }
"#;

fn quoted(sql: &str, contract: &str) -> Quote {
    let contract = Contract::parse(contract, "hushtable.toml").unwrap();
    let mut parts = SqlStatement::bind(sql, &contract).unwrap().parts;
    Quote::new(parts.pop().unwrap().query).unwrap()
}

fn with(options: &str, rest: &str) -> String {
    format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {rest}")
}

const VISITS: &str = "COUNT(*), SUM(v.cost) FROM people p JOIN visits v ON v.id = p.id";
const OFFERS: &str = "COUNT(*) FROM lines JOIN offers ON shop_id = shop AND part_id = part";

/// Named where the noise follows from a limit, with where that comes from; elsewhere nothing.
#[test]
fn limits_that_reach_the_noise_are_explained() {
    let mut shown = String::new();
    for (options, rest) in [
        // Rows of one unit.
        ("epsilon = 1", VISITS.to_owned()),
        ("max_rows_joined = 2", format!("{VISITS} AND v.day > 3 AND p.town < 'm'")),
        ("max_rows_joined = 20", format!("p.town, {VISITS} GROUP BY p.town")),
        ("epsilon = 1", format!("{VISITS} JOIN visits w ON w.id = v.id AND w.day > v.day")),
        // Rows of two.
        ("max_rows_contributed = 50", OFFERS.to_owned()),
        ("max_rows_contributed = 8", OFFERS.to_owned()),
        // The noise is the same with any limit.
        ("max_rows_joined = 1", VISITS.to_owned()),
        ("max_rows_per_group = 1", VISITS.to_owned()),
        ("epsilon = 1", "COUNT(DISTINCT p.id) FROM people p JOIN visits v ON v.id = p.id".into()),
        ("epsilon = 1", format!("{VISITS} JOIN days d ON d.day = v.day")),
        ("epsilon = 1", OFFERS.to_owned()),
        ("epsilon = 1", "COUNT(*) FROM visits".to_owned()),
    ] {
        let sql = with(options, &rest);
        let explanation = Explanation::new(&quoted(&sql, CONTRACT));
        let said = explanation.advice.iter().filter(|text| text.contains("tighter limit"));
        let said: Vec<&str> = said.map(String::as_str).collect();
        assert_eq!(said.len(), explanation.join_limits.len());
        writeln!(shown, "{sql}\n{}\n", said.join("\n")).unwrap();
    }
    insta::assert_snapshot!(shown);
    let explanation = Explanation::new(&quoted(&with("epsilon = 1", VISITS), CONTRACT));
    insta::assert_snapshot!(serde_json::to_string_pretty(&explanation.join_limits).unwrap());
}

/// The noise is that of the query with the other limit, and of the contract with the unique keys.
#[test]
fn tighter_limits_give_the_noise_that_is_said() {
    let unique = |table: &str| format!("[tables.{table}]\nunique = [\"id\"]");
    let single = ["people", "visits"]
        .into_iter()
        .fold(CONTRACT.to_owned(), |text, t| text.replace(&format!("[tables.{t}]"), &unique(t)));
    for (options, rest) in [
        ("max_rows_joined = 2", VISITS.to_owned()),
        ("max_rows_joined = 20", format!("p.town, {VISITS} GROUP BY p.town")),
        ("max_rows_joined = 20", format!("p.town, {VISITS} AND v.day > 3 GROUP BY p.town")),
        (
            "max_rows_joined = 2, rho = 0.5",
            "SUM(cost), COUNT(DISTINCT v.day) FROM people p \
          JOIN visits v ON v.id = p.id"
                .to_owned(),
        ),
        ("max_rows_contributed = 50", OFFERS.to_owned()),
        ("max_rows_contributed = 9", OFFERS.to_owned()),
    ] {
        let sql = with(options, &rest);
        let quote = quoted(&sql, CONTRACT);
        let limits = Explanation::new(&quote).join_limits;
        let [limit] = limits.as_slice() else { panic!("{sql}") };
        assert_eq!(limit.from, LimitSource::Options);
        let index = quote.query().measurements().iter().position(|m| m.name == limit.measurement);
        let deviation = |sql: &str, contract: &str| {
            let quote = quoted(sql, contract);
            let index = index.unwrap();
            quote.deviation(index).unwrap() * quote.query().measurements()[index].step.to_f64()
        };
        assert_eq!(deviation(&sql, CONTRACT), limit.deviation);
        assert!(!limit.tighter.is_empty(), "{sql}");
        let set = |rows: u32| format!("{} = {rows}", limit.option);
        for tighter in &limit.tighter {
            let again = sql.replace(&set(limit.rows), &set(tighter.rows));
            assert_ne!(again, sql);
            assert_eq!(deviation(&again, CONTRACT), tighter.deviation, "{again}");
        }
        if !limit.unique.is_empty() {
            assert_eq!(limit.unique, ["people.id", "visits.id"]);
            let last = limit.tighter.last().unwrap();
            assert_eq!((last.rows, last.deviation), (1, deviation(&sql, &single)), "{sql}");
        }
    }
}

/// Where both sides have one row of a unit, so have the pairs: no other limit is needed.
#[test]
fn units_with_one_row_on_both_sides_have_one_pair() {
    let sql = with("max_rows_joined = 1", &format!("v.day, {VISITS} GROUP BY v.day"));
    let unlimited = CONTRACT.replace(", max_groups_contributed = 3, max_rows_per_group = 5", "");
    assert_ne!(unlimited, CONTRACT);
    let (quote, same) = (quoted(&sql, &unlimited), quoted(&sql, CONTRACT));
    assert_eq!(quote.query().max_groups_contributed(), 1);
    assert_eq!(quote.query().measurements(), same.query().measurements());
    assert_eq!(quote.query().measurements()[0].high, 1);
    let cut = Explanation::new(&quote).intervals.not_in_them;
    assert!(!cut.iter().any(|what| what.contains("in a group")), "{cut:?}");
}

/// The defaults of the contract are named as such.
#[test]
fn defaults_are_named() {
    let text =
        CONTRACT.replace("max_rows_per_group = 5", "max_rows_per_group = 5, max_rows_joined = 9");
    let quote = quoted(&format!("SELECT {VISITS}"), &text);
    let limits = Explanation::new(&quote).join_limits;
    assert_eq!((limits[0].from, limits[0].rows), (LimitSource::Defaults, 9));
    let quote = quoted(&format!("SELECT {VISITS}"), CONTRACT);
    assert_eq!(Explanation::new(&quote).join_limits[0].from, LimitSource::Computed);
}
