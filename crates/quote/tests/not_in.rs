//! The joins that NOT IN is written as.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hushtable_contract::Contract;
use hushtable_lang::Refusal;
use hushtable_plan::bind;

const CONTRACT: &str = r#"
[units.person]
budgets.ana = { epsilon = 9, delta = 1e-5 }
defaults = { epsilon = 1, delta = 1e-6, max_groups_contributed = 3, max_rows_per_group = 5 }

[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }
[tables.people.columns]
id = { type = "int" }
town = { type = "string" }
sex = { type = "string" }
age = { type = "int", not_null = true }

[tables.visits]
path = "visits.csv"
unit = { of = "person", column = "id" }
[tables.visits.columns]
id = { type = "int" }
no = { type = "int" }
kind = { type = "string" }
hours = { type = "int", not_null = true }

[tables.towns]
path = "towns.csv"
public = true
[tables.towns.columns]
town = { type = "string" }
region = { type = "string" }
size = { type = "int", not_null = true }
"#;

/// The number of joins that keep rows without a partner.
fn joins(condition: &str) -> Result<usize, Refusal> {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let query = bind(&format!("SELECT COUNT(*) AS n FROM people WHERE {condition}"), &contract)?;
    let relation = serde_json::to_string(&query).unwrap();
    Ok(relation.matches("\"kind\":\"anti\"").count())
}

/// A join for each choice of the values of which one may be NULL.
#[test]
fn values_that_are_never_null_need_no_joins() {
    for (condition, expected) in [
        ("age NOT IN (SELECT size FROM towns)", 1),
        ("town NOT IN (SELECT town FROM towns)", 2),
        ("town NOT IN (SELECT town FROM towns WHERE town IS NOT NULL) AND town IS NOT NULL", 1),
        ("(town, age) NOT IN (SELECT town, size FROM towns)", 2),
        ("(town, sex) NOT IN (SELECT town, region FROM towns)", 4),
        ("(town, sex, age) NOT IN (SELECT town, region, size FROM towns)", 4),
        ("(town, sex, 5) NOT IN (SELECT town, region, size FROM towns)", 4),
        ("(town, sex, age) NOT IN (SELECT 'a', 'b', LENGTH(region) FROM towns)", 8),
        ("id NOT IN (SELECT id FROM visits)", 1),
        ("(id, age) NOT IN (SELECT id, hours FROM visits)", 1),
        ("(id, sex) NOT IN (SELECT id, kind FROM visits)", 2),
        ("(id, sex, town) NOT IN (SELECT id, kind, kind FROM visits)", 4),
    ] {
        assert_eq!(joins(condition).unwrap(), expected, "{condition}");
    }
}

/// NOT IN that would take too many joins, or compare rows of several units, is refused. The hint
/// works.
#[test]
fn nulls_are_left_out_where_they_would_take_too_many_joins() {
    let all = "(town, sex, age + 1) NOT IN (SELECT town, region, size + 1 FROM towns)";
    let refusal = joins(all).unwrap_err();
    assert!(refusal.what.contains("27 ways"), "{refusal}");
    let hint = "AND town IS NOT NULL AND sex IS NOT NULL AND (age + 1) IS NOT NULL, and WHERE town \
                IS NOT NULL AND region IS NOT NULL AND (size + 1) IS NOT NULL in the sub-query";
    assert!(refusal.hint.starts_with(hint), "{refusal}");
    let (values, columns) = hint.split_once(", and ").unwrap();
    let columns = columns.strip_suffix(" in the sub-query").unwrap();
    let without =
        format!("{} {values}", all.replace(" FROM towns", &format!(" FROM towns {columns}")));
    assert_eq!(joins(&without).unwrap(), 1, "{without}");

    let others = "(id, town) NOT IN (SELECT no, kind FROM visits)";
    assert!(joins(others).is_err());
    let others = "(town, id) NOT IN (SELECT kind, IF(hours > 1, id, NULL) FROM visits)";
    let refusal = joins(others).unwrap_err();
    assert!(refusal.what.contains("could bring units"), "{refusal}");
}
