//! Rows that belong to units of two populations: removing a unit of either costs no more than what
//! is declared.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, Int64Array, StringViewArray};
use hushtable_contract::Contract;
use hushtable_plan::{PrivateQuery, SqlStatement};
use hushtable_privacy::Loss;
use hushtable_quote::{Noise, Quote};
use hushtable_testkit::Dice;

use super::neighbours::{groups, realized};
use crate::bound::{Bounder, GroupTotals};
use crate::bounding::{Bounding, RowValue};
use crate::contributions::{ContributionBatch, SamplingKey};

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

const MEASURED: [&str; 10] = [
    "COUNT(*)",
    "COUNT(DISTINCT s)",
    "COUNT(cost)",
    "COUNT(*, contribution_bounds_per_group => (2, 2))",
    "SUM(n * cost, contribution_bounds_per_group => (-2, 9))",
    "SUM(n - 2, contribution_bounds_per_row => (-2, 2))",
    "SUM(n, contribution_bounds_per_row => (0, 4))",
    "SUM(n, contribution_bounds_per_row => (2, 4))",
    "AVG(cost, contribution_bounds_per_row => (-1, 3))",
    "AVG(n, contribution_bounds_per_group => (1, 5))",
];

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

/// One aggregate, a count and another one, or all of them; with noise and limits of any kind, so
/// that shops keep all of their groups in some queries, and lose some in others.
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
    let one = dice.one(&MEASURED);
    let measured = match dice.below(4) {
        0 => MEASURED.join(", "),
        1 => format!("{}, {one}", dice.one(&["COUNT(*)", "COUNT(DISTINCT s)", "COUNT(cost)"])),
        _ => one.to_owned(),
    };
    let loss = dice.one(&["epsilon = 1", "rho = 1", "epsilon = 1, delta = 1e-3"]);
    let noise = if loss.contains("delta") { ", noise = GAUSSIAN" } else { "" };
    let most = dice.one(&["", "", ", max_rows_contributed = 1", ", max_rows_contributed = 3"]);
    let groups = dice.one(&["1", "2", "4", "6", "7"]);
    let keys = dice.one(&["GROUP BY k", "GROUP BY k", ""]);
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({loss}{noise}{most}, max_groups_contributed = \
         {groups}) {measured} FROM {from} {keys}"
    );
    let mut parts = SqlStatement::bind(&sql, contract).unwrap().parts;
    (sql, parts.pop().unwrap().query)
}

/// `HUSHTABLE_RELATION_CASES` asks for more cases than a test run has.
#[test]
fn a_unit_of_either_population_loses_no_more_than_declared() {
    let cases = std::env::var("HUSHTABLE_RELATION_CASES").ok().and_then(|n| n.parse().ok());
    let cases: u64 = cases.unwrap_or(250);
    let exchanged = CONTRACT.replace("budgets", "neighbouring = \"replace\"\nbudgets");
    let contracts = [CONTRACT, &exchanged];
    let contracts = contracts.map(|text| Contract::parse(text, "hushtable.toml").unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut largest = [[0.0f64; 2]; 2];
    for case in 0..cases {
        let mut dice = Dice::new(case.wrapping_mul(0xd134_2543_de82_ef95) + 3);
        let replaces = usize::from(dice.below(3) == 0);
        let contract = &contracts[replaces];
        let (sql, query) = query(&mut dice, contract);
        let (lines, offers) = tables(&mut dice);
        let folder = tempfile::tempdir().unwrap();
        let write = |lines: &[[u64; 5]], offers: &[[u64; 3]]| {
            let line = |[customer, shop, item, k, n]: &[u64; 5]| {
                let k = ["a", "b", "c", "d", "e", "f"][*k as usize];
                let customer = CUSTOMERS[*customer as usize];
                format!("{customer},{shop},{item},{k},{n}\n")
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
        let (before, _) = runtime.block_on(groups(&query, contract, folder.path()));
        let side = dice.below(2) as usize;
        let unit = if side == 0 { [0, 0, 1, 5][dice.below(4) as usize] } else { dice.below(3) };
        // Another unit's rows come in place of these, under the same name.
        let (other_lines, other_offers) = tables(&mut dice);
        let is = |row: &u64| *row == unit;
        let mut lines: Vec<[u64; 5]> =
            lines.into_iter().filter(|l| side == 1 || !is(&l[0])).collect();
        let mut offers: Vec<[u64; 3]> =
            offers.into_iter().filter(|o| side == 0 || !is(&o[0])).collect();
        if replaces == 1 && side == 0 {
            lines.extend(other_lines.iter().filter(|l| is(&l[0])));
        } else if replaces == 1 {
            offers.extend(other_offers.iter().filter(|o| is(&o[0])));
        }
        write(&lines, &offers);
        let (after, _) = runtime.block_on(groups(&query, contract, folder.path()));
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let nothing = vec![0; query.measurements().len()];
        let sums = |of: &super::neighbours::GroupSums, key: &String| {
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
        largest[replaces][side] = largest[replaces][side].max(loss / declared);
    }
    // Some neighbours of both kinds come near to what is declared.
    assert!(largest[0][0] > 0.6 && largest[0][1] > 0.9, "{largest:?}");
    assert!(largest[1][0] > 0.1 && largest[1][1] > 0.2, "{largest:?}");
}

/// Over all tables of up to three rows of one shop in two groups, each row that goes moves every
/// measurement by no more than its noise is made for, and by that for some table.
#[test]
fn one_row_moves_sums_as_far_as_is_said() {
    let text = CONTRACT.replace(r#"["a", "b", "c", "d", "e", "f"]"#, r#"["a", "b"]"#);
    let contract = Contract::parse(&text, "hushtable.toml").unwrap();
    let values = [None, Some(-5), Some(-1), Some(1), Some(2), Some(30)];
    let rows: Vec<(&str, Option<i64>)> =
        ["a", "b"].into_iter().flat_map(|k| values.map(|v| (k, v))).collect();
    let mut tables: Vec<Vec<usize>> = vec![Vec::new()];
    let mut last = tables.clone();
    for _ in 0..3 {
        let longer = |table: &Vec<usize>| -> Vec<Vec<usize>> {
            let first = table.last().copied().unwrap_or(0);
            (first..rows.len()).map(|row| [&table[..], &[row]].concat()).collect()
        };
        last = last.iter().flat_map(longer).collect();
        tables.extend(last.iter().cloned());
    }
    for (limit, by_key) in [("2", true), ("1", true), ("1", false)] {
        let measured = MEASURED.join(", ");
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = {limit}) \
             {measured} FROM lines JOIN offers ON s = shop AND p = part {}",
            if by_key { "GROUP BY k" } else { "" }
        );
        let query = SqlStatement::bind(&sql, &contract).unwrap().parts.pop().unwrap().query;
        assert_eq!(query.keeps_all_groups(), !by_key || limit == "2");
        let bounding = Bounding::new(&query, false).unwrap();
        // The sums of both groups; the count of shops first, as far as it is measured.
        let sums = |table: &[usize], key: u8| -> Vec<Vec<i128>> {
            let key = SamplingKey([key; 16]);
            let mut bounder =
                Bounder::of_units(bounding.accumulations(), by_key, key, bounding.most_groups);
            let keys: StringViewArray = table.iter().map(|row| Some(rows[*row].0)).collect();
            let value = |of: &RowValue| -> Int64Array {
                let of_row = |row: &usize| match of {
                    RowValue::One => Some(1),
                    RowValue::Present(_) => rows[*row].1.map(|_| 1),
                    _ => rows[*row].1,
                };
                table.iter().map(of_row).collect()
            };
            let batch = ContributionBatch {
                keys: if by_key { vec![Arc::new(keys)] } else { Vec::new() },
                unit: Some(Arc::new(table.iter().map(|_| Some(1)).collect::<Int64Array>())),
                values: bounding.accumulators.iter().map(|a| value(&a.value)).collect(),
                rows: table.len(),
            };
            bounder.add(&batch, &mut |_| Ok(())).unwrap();
            let partial = bounder.finish().unwrap();
            let names: Vec<usize> = match partial.keys.first() {
                Some(names) => {
                    names.as_string_view().iter().map(|k| usize::from(k == Some("b"))).collect()
                }
                None => vec![0],
            };
            let spread = |of: &[i128]| {
                let mut both = vec![0; 2];
                names.iter().zip(of).for_each(|(at, sum)| both[*at] = *sum);
                both
            };
            let units: Vec<i128> = partial.units.iter().map(|units| i128::from(*units)).collect();
            let mut totals = partial.totals.iter();
            let of_measurement = |index: &Option<usize>| match index.and_then(|_| totals.next()) {
                Some(GroupTotals::Sums(sums)) => spread(sums),
                Some(GroupTotals::Values(_)) => panic!("no sums"),
                None => spread(&units),
            };
            crate::bounding::accumulator_indices(&query).iter().map(of_measurement).collect()
        };
        let mut worst = vec![(0, 0); query.measurements().len()];
        for table in tables.iter().filter(|table| !table.is_empty()) {
            for (gone, key) in (0..table.len()).flat_map(|gone| (0..6).map(move |key| (gone, key)))
            {
                let mut rest = table.clone();
                rest.remove(gone);
                for (worst, (with, without)) in
                    worst.iter_mut().zip(sums(table, key).iter().zip(sums(&rest, key)))
                {
                    let apart = with.iter().zip(&without).map(|(a, b)| a.abs_diff(*b));
                    worst.0 = worst.0.max(apart.clone().sum::<u128>());
                    worst.1 = worst.1.max(apart.map(|d| d * d).sum::<u128>());
                }
            }
        }
        for (measurement, worst) in query.measurements().iter().zip(worst) {
            let said = query.contribution(measurement).beside.unwrap();
            let (name, said) = (&measurement.name, (said.apart, said.apart_squared));
            assert_eq!(worst, said, "{name} {limit} {by_key}");
        }
    }
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
