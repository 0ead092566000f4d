//! Rows that belong to units of two populations: removing a unit of either costs no more than what
//! is declared.

use std::collections::BTreeSet;
use std::fs;

use hushtable_contract::Contract;
use hushtable_plan::{PrivateQuery, SqlStatement};
use hushtable_privacy::Loss;
use hushtable_quote::{Noise, Quote};
use hushtable_testkit::Dice;

use super::neighbours::{groups, realized};

const CONTRACT: &str = concat!(
    r#"
[units.customer]
budgets.ana = { epsilon = 10, delta = 1e-3 }
[units.shop]
budgets.ana = { epsilon = 10, delta = 1e-3 }
defaults = { epsilon = 1, max_groups_contributed = 4, max_rows_per_group = 2 }
[tables.lines]
path = "lines.csv"
unit = { of = "customer", column = "customer" }
columns = { customer = { type = "int" }, shop = { type = "int" }, part = { type = "int" }, "#,
    r#"k = { type = "string", public_keys = ["a", "b", "c", "d", "e", "f"] }, "#,
    r#"n = { type = "int" } }
[tables.offers]
path = "offers.csv"
unit = { of = "shop", column = "s" }
columns = { s = { type = "int" }, p = { type = "int" }, cost = { type = "int" } }
[tables.towns]
path = "towns.csv"
public = true
unique = ["id"]
columns = { id = { type = "int" }, size = { type = "int" } }
"#,
);

const MEASURED: &str = "COUNT(*), COUNT(DISTINCT s), COUNT(cost), \
                        SUM(n * cost, contribution_bounds_per_group => (-2, 9)), \
                        SUM(n, contribution_bounds_per_row => (0, 4)), \
                        AVG(cost, contribution_bounds_per_row => (-1, 3)), \
                        AVG(n, contribution_bounds_per_group => (1, 5))";

/// Customers as the files have them: two are numbers that their column cannot hold, and would be
/// one unit if rows without a unit counted.
const CUSTOMERS: [&str; 7] =
    ["0", "1", "2", "3", "", "99999999999999999991", "99999999999999999992"];

/// Lines of a customer who buys most, and offers of few shops, some of them twice.
fn tables(dice: &mut Dice) -> (Vec<[u64; 5]>, Vec<[u64; 3]>) {
    let lines = (0..20 + dice.below(40)).map(|_| {
        let customer = [0, 0, 0, 1, 2, 3, 4, 5, 5, 6, 6][dice.below(11) as usize];
        [customer, dice.below(4), dice.below(3), dice.below(6), dice.below(7)]
    });
    let lines = lines.collect();
    let offers = (0..12 + dice.below(12)).map(|_| [dice.below(4), dice.below(3), dice.below(9)]);
    (lines, offers.collect())
}

fn query(dice: &mut Dice, contract: &Contract) -> (String, PrivateQuery) {
    let from = dice.one(&[
        "lines JOIN offers ON s = shop AND p = part",
        "offers JOIN lines ON s = shop AND p = part AND n < 6",
        "lines, offers WHERE s = shop AND p = part AND n + cost > 2",
        "lines JOIN offers ON s = shop",
        "lines JOIN offers ON s = shop AND p = part LEFT JOIN towns ON id = part",
        "towns, offers, lines WHERE s = shop AND p = part AND id = n",
        "(SELECT k, n, s, cost + 1 AS cost FROM lines JOIN offers ON s = shop AND p = part)",
    ]);
    let sql = format!("SELECT k, {MEASURED} FROM {from} GROUP BY k");
    let mut parts = SqlStatement::bind(&sql, contract).unwrap().parts;
    (sql, parts.pop().unwrap().query)
}

/// `HUSHTABLE_RELATION_CASES` asks for more cases than a test run has.
#[test]
fn a_unit_of_either_population_loses_no_more_than_declared() {
    let cases = std::env::var("HUSHTABLE_RELATION_CASES").ok().and_then(|n| n.parse().ok());
    let cases: u64 = cases.unwrap_or(60);
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut largest = [0.0f64; 2];
    for case in 0..cases {
        let mut dice = Dice::new(case.wrapping_mul(0xd134_2543_de82_ef95) + 3);
        let (sql, query) = query(&mut dice, &contract);
        let (lines, offers) = tables(&mut dice);
        let folder = tempfile::tempdir().unwrap();
        let write = |lines: &[[u64; 5]], offers: &[[u64; 3]]| {
            let line = |[customer, shop, part, k, n]: &[u64; 5]| {
                let k = ["a", "b", "c", "d", "e", "f"][*k as usize];
                let customer = CUSTOMERS[*customer as usize];
                format!("{customer},{shop},{part},{k},{n}\n")
            };
            let lines: String = lines.iter().map(line).collect();
            let offers: String = offers.iter().map(|[s, p, c]| format!("{s},{p},{c}\n")).collect();
            let file =
                |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
            file("lines.csv", format!("customer,shop,part,k,n\n{lines}"));
            file("offers.csv", format!("s,p,cost\n{offers}"));
            file("towns.csv", "id,size\n0,1\n1,2\n2,3\n1,9\n".to_owned());
        };
        write(&lines, &offers);
        let (before, _) = runtime.block_on(groups(&query, &contract, folder.path()));
        let side = dice.below(2) as usize;
        let unit = if side == 0 { [0, 0, 1, 5][dice.below(4) as usize] } else { dice.below(3) };
        let of = |row: &u64| *row != unit;
        match side {
            0 => write(&lines.iter().filter(|l| of(&l[0])).copied().collect::<Vec<_>>(), &offers),
            _ => write(&lines, &offers.iter().filter(|o| of(&o[0])).copied().collect::<Vec<_>>()),
        }
        let (after, _) = runtime.block_on(groups(&query, &contract, folder.path()));
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let nothing = vec![0; query.measurements().len()];
        let sums = |of: &super::neighbours::Groups, key: &String| {
            of.get(key).map_or_else(|| nothing.clone(), |(_, sums)| sums.clone())
        };
        let changes = keys.into_iter().map(|key| {
            let pairs = sums(&before, key).into_iter().zip(sums(&after, key));
            pairs.map(|(with, without)| with - without).collect()
        });
        let changes: Vec<Vec<i128>> = changes.collect();
        let quote = Quote::new(query).unwrap();
        let (loss, _) = realized(&quote, &changes);
        let declared: f64 = quote.noise().iter().filter_map(Noise::loss).map(Loss::to_f64).sum();
        assert!(loss <= declared * (1.0 + 1e-9), "case {case}: {loss} of {declared}\n{sql}");
        largest[side] = largest[side].max(loss / declared);
    }
    // Some neighbours of both kinds come near to what is declared.
    assert!(largest[0] > 0.15 && largest[1] > 0.5, "{largest:?}");
}

/// Rows of the side that is bounded first count for nothing where their unit is NULL or cannot be
/// read: they would be one unit together, whoever they belong to.
#[test]
fn rows_without_a_unit_count_for_nothing() {
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let sql = "SELECT k, COUNT(*) FROM lines JOIN offers ON s = shop AND p = part GROUP BY k";
    let query = SqlStatement::bind(sql, &contract).unwrap().parts.pop().unwrap().query;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    file("offers.csv", "s,p,cost\n0,0,5\n1,0,5\n");
    let counted = |customers: [&str; 2]| {
        let [one, other] = customers;
        let lines = format!("customer,shop,part,k,n\n{one},0,0,a,1\n{other},1,0,b,1\n");
        file("lines.csv", &lines);
        runtime.block_on(groups(&query, &contract, folder.path())).0.len()
    };
    assert_eq!(counted(["1", "2"]), 2);
    assert_eq!(counted([CUSTOMERS[4], CUSTOMERS[5]]), 0);
    assert_eq!(counted([CUSTOMERS[5], CUSTOMERS[6]]), 0);
}
