//! The rules of joins: which values they compare, and what no rule covers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use hushtable_contract::Contract;
use hushtable_plan::{Operator, Relation, bind};

const CONTRACT: &str = r#"
[units.person]
budgets.ana = { epsilon = 3, delta = 1e-5 }

[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }
columns = { id = { type = "int" }, age = { type = "int" } }

[tables.loans]
path = "loans.csv"
unit = { of = "person", column = "person" }
columns = { person = { type = "int" } }

[tables.visits]
path = "visits.csv"
unit = { of = "person", through = { column = "person", references = "people.id" } }
columns = { person = { type = "int" } }

[tables.cards]
path = "cards.csv"
public = true
columns = { card = { type = "int" }, holder = { type = "int" } }

[tables.keys]
path = "keys.csv"
public = true
columns = { holder = { type = "int" } }
"#;

fn relation(from: &str) -> Result<Relation, String> {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 1, \
         max_rows_per_group = 2) COUNT(*) FROM {from}"
    );
    let query = bind(&sql, &contract).map_err(|refusal| refusal.to_string())?;
    Ok(query.relation().clone())
}

/// A question is known again by its relation, so a rule may not come to write it in another way.
#[test]
fn rows_that_lead_to_units_are_compared_by_them_too() {
    let compared = |from: &str| match relation(from).unwrap().operator() {
        Operator::Join { on, .. } => on.len(),
        other => panic!("no join: {other:?}"),
    };
    // The right side finds its units first.
    let sub_query = "(SELECT person FROM visits) s JOIN visits v ON s.person = v.person";
    assert_eq!(compared(sub_query), 2);
    // The right side's rows refer to the left one's.
    assert_eq!(compared("visits u JOIN visits v ON u.person = v.person"), 1);
    assert_eq!(compared("people p JOIN visits v ON p.id = v.person"), 1);
    assert_eq!(compared("loans l JOIN loans m ON l.person = m.person"), 1);
}

/// A value that is the unit by two joins: it is known to be where it is compared with a unit, and
/// not where the other side has to find its units first.
#[test]
fn values_that_equal_the_unit_by_other_joins() {
    let holders = "cards c JOIN keys k ON c.holder = k.holder JOIN loans l ON k.holder = l.person";
    assert!(relation(&format!("{holders} JOIN people p ON c.holder = p.id")).is_ok());
    let refusal = relation(&format!("{holders} JOIN visits v ON c.holder = v.person")).unwrap_err();
    assert!(refusal.contains("could bring units of `person` together"), "{refusal}");
}
