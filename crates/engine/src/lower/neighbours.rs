//! Exact groups over random tables: removing a unit moves them by no more than is promised, and
//! changes neither whether there is an error nor the order in which groups are shown.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::util::display::array_value_to_string;
use hushtable_contract::Contract;
use hushtable_mechanisms::{Additive, AdditiveLaw, TiedRole};
use hushtable_plan::{Measure, PrivateQuery, bind};
use hushtable_privacy::Loss;
use hushtable_quote::{Noise, Quote};
use hushtable_testkit::Dice;

use super::tests::{CONTRACT, Tables, rows};
use crate::contributions::SamplingKey;
use crate::exact::OwnerScan;
use crate::measurements::ExactMeasurement;
use crate::memory::QueryMemory;
use crate::release::table;
use crate::source::{Data, ReadProgress, TableData, list_files};
use crate::survey::ScanOptions;

/// Units and sums of each group; for quantiles, how often each value is there.
pub(super) type GroupSums = BTreeMap<String, (i64, Vec<i128>)>;

/// The exact groups, which an error would end, and the groups of the table that would be shown of
/// them without noise, in its order.
pub(super) async fn groups(
    query: &PrivateQuery,
    contract: &Contract,
    folder: &Path,
) -> (GroupSums, Vec<String>) {
    let mut data = Data::new();
    for name in query.relation().tables() {
        let path = contract.tables[name].path.as_deref().unwrap();
        let files = list_files(path, folder).unwrap();
        data.insert(name.to_owned(), TableData::Files(files));
    }
    let progress = Arc::new(ReadProgress::default());
    let scan =
        OwnerScan::of(&query.into(), false, &data, &progress, &QueryMemory::new(None).unwrap())
            .await
            .unwrap();
    // One key, so that choices are the same before and after.
    let exact = scan.look(SamplingKey([5; 16]), ScanOptions::default()).await.unwrap().exact;
    let text = |column: &ArrayRef, at: usize| array_value_to_string(column, at).unwrap() + "|";
    let group = |at: usize| {
        let key = exact.keys.iter().map(|k| text(k, at)).collect();
        let sum = |m: &ExactMeasurement| match m.values() {
            Some(values) => values.of(at).iter().map(|value| 1i128 << (VALUE * value)).sum(),
            None => m.sums().unwrap()[at],
        };
        let sums = exact.measured.iter().map(sum).collect();
        (key, (exact.units[at], sums))
    };
    let groups = (0..exact.units.len()).map(group).collect();
    if exact.units.is_empty() {
        return (groups, Vec::new());
    }
    let none = || vec![0; exact.units.len()];
    let sums = exact.measured.iter().map(|m| m.sums().map_or_else(none, |sums| sums.to_vec()));
    let sums = sums.collect();
    let released = table(query, exact.keys.clone(), sums, exact.units.len()).unwrap();
    let order =
        (0..released.table.num_rows()).map(|row| text(released.table.column(0), row)).collect();
    (groups, order)
}

const MEASURED: &str = "COUNT(*), COUNT(DISTINCT UNIT), \
                        SUM(n, contribution_bounds_per_group => (-2, 9)), \
                        SUM(n, contribution_bounds_per_row => (0, 4)), \
                        AVG(n, contribution_bounds_per_row => (-1, 3)), \
                        AVG(n, contribution_bounds_per_group => (1, 5)), AVG(IF(n > 2, 1, 0)), \
                        COUNT(n + 0, contribution_bounds_per_group => (0, 1)), SUM(n + 0, \
                        contribution_bounds_per_group => (-2, 9)), SUM(GREATEST(LEAST(n, 4), -1))";

/// Three quantiles of one expression, which are drawn together.
const QUANTILES: &str = "PERCENTILE_CONT(n, 0.9, contribution_bounds_per_row => (0, 4)), \
                         PERCENTILE_CONT(n, 0.25, contribution_bounds_per_row => (0, 4)), \
                         MEDIAN(n, contribution_bounds_per_row => (0, 4))";

/// Binary digits for how often a value is there.
const VALUE: i64 = 16;

/// How many values there are.
fn values(counts: i128) -> i128 {
    (0..5).map(|value| (counts >> (VALUE * value)) & 0xffff).sum()
}

/// A question about values that a sub-query computes of each unit, whose bounds follow from its
/// structure, or from the contract's bounds, which the data do not keep.
fn about_units(dice: &mut Dice) -> String {
    let value = dice.one(&[
        "MAX(m)",
        "SUM(m)",
        "AVG(m)",
        "SUM(IF(m > 1, m, 0))",
        "MAX(m) - MIN(m)",
        "LEAST(COUNT(*), 3)",
        "MAX(IF(m > 2, 1, 0))",
        "LEAST(SUM(m + 1), 5)",
        "MEDIAN(m)",
        "STDDEV(m)",
        "AVG(DISTINCT m)",
        "LEAST(COUNT(DISTINCT m, kind), 2)",
        "ARG_MIN(m, visit_id)",
    ]);
    let of_units = dice.one(&[
        "SELECT person_id AS u, kind AS k, VALUE AS y FROM visits GROUP BY person_id, kind",
        "SELECT person_id AS u, MAX(kind) AS k, VALUE AS y FROM visits GROUP BY person_id",
        "SELECT person_id AS u, kind AS k, m * 2 - 1 AS y FROM visits",
        "SELECT person_id AS u, kind AS k, \
         SUM(m) OVER (PARTITION BY person_id ORDER BY m) AS y FROM visits",
        "SELECT p.person_id AS u, p.town AS k, v.y FROM people p LEFT JOIN (SELECT person_id AS u, \
         VALUE AS y FROM visits GROUP BY person_id) v ON v.u = p.person_id",
    ]);
    let of_units = of_units.replace("VALUE", value);
    format!("SELECT k, COUNT(*), COUNT(y), SUM(y), AVG(y) FROM ({of_units}) GROUP BY k")
}

/// A question about people, and whether it is private.
fn about_people(dice: &mut Dice) -> (String, bool) {
    if dice.below(4) == 0 {
        // Rows that reach their units through others.
        let from = dice.one(&[
            "claims c",
            "claims c JOIN towns t ON c.state = t.town",
            "towns t JOIN claims c ON c.state = t.town",
            "claims c LEFT JOIN towns t ON c.state = t.town",
            "claims c JOIN visits v USING (visit_id)",
            "towns t, claims c, visits v WHERE t.town = c.state AND v.visit_id = c.visit_id",
            "claims c WHERE EXISTS (SELECT 1 FROM claims d \
             WHERE d.visit_id = c.visit_id AND d.amount > c.amount)",
            "claims c WHERE state NOT IN (SELECT town FROM towns)",
        ]);
        let measured = "COUNT(*), SUM(c.amount, contribution_bounds_per_group => (0, 9)), \
                        AVG(c.amount, contribution_bounds_per_row => (-2, 7))";
        return (format!("SELECT c.state, {measured} FROM {from} GROUP BY c.state"), true);
    }
    if dice.below(4) == 0 {
        return (about_units(dice), true);
    }
    let depth = dice.below(4);
    let (sql, private) = rows(dice, depth);
    let measured = MEASURED.replace("UNIT", "u");
    (format!("SELECT k, {measured} FROM ({sql}) GROUP BY k"), private)
}

/// A question about loans, each of which is a unit.
fn about_rows(dice: &mut Dice) -> String {
    let repeated = [
        "SELECT t.region AS k, l.n FROM loans l JOIN towns t ON t.town = l.k",
        "SELECT t.region AS k, l.n FROM towns t, loans l WHERE t.town = l.k AND l.n > 2",
        "SELECT t.region AS k, l.n FROM loans l LEFT JOIN towns t ON t.town = l.k",
        "SELECT a.region AS k, l.n FROM loans l JOIN towns a ON a.town = l.k \
         JOIN towns b ON b.town = l.k",
        "SELECT k, n FROM loans UNION ALL SELECT k, n FROM loans WHERE n > 3",
    ];
    let once = [
        "SELECT k, n FROM loans",
        "SELECT c.region AS k, l.n FROM loans l JOIN cities c ON c.town = l.k",
        "SELECT c.region AS k, l.n FROM cities c JOIN loans l ON c.town = l.k \
         WHERE c.region <> 'n'",
        "SELECT c.region AS k, l.n FROM loans l LEFT JOIN cities c ON c.town = l.k",
        "SELECT k, n FROM loans WHERE k IN (SELECT town FROM towns)",
        "SELECT k, n FROM loans WHERE k NOT IN (SELECT town FROM towns WHERE region = 's')",
    ];
    if dice.below(2) == 0 {
        let measured = MEASURED.replace("UNIT", "row");
        return format!("SELECT k, {measured} FROM ({}) GROUP BY k", dice.one(&repeated));
    }
    let measured = MEASURED.replace("COUNT(DISTINCT UNIT), ", "");
    format!("SELECT k, {measured} FROM ({}) GROUP BY k", dice.one(&once))
}

/// The loss of a neighbour by the noise on measurements, in epsilon or rho, from the changes of
/// their exact sums: what the scales of the noise say, and nothing of what the quote declares. And
/// how many are measured together.
pub(super) fn realized(quote: &Quote, changes: &[Vec<i128>]) -> (f64, usize) {
    let (mut loss, mut together) = (0.0, 0);
    for (index, noise) in quote.noise().iter().enumerate() {
        let lost = |of: &dyn Fn(&[i128]) -> i128, noise: &Additive| -> f64 {
            let moved = changes.iter().map(|change| of(change).unsigned_abs() as f64);
            match noise.law() {
                AdditiveLaw::DiscreteLaplace(law) => moved.sum::<f64>() / law.scale().to_f64(),
                AdditiveLaw::RoundedGaussian(law) => {
                    moved.map(|x| x * x).sum::<f64>() / (2.0 * law.sigma().to_f64().powi(2))
                }
            }
        };
        match noise {
            Noise::Single(additive) => {
                loss += lost(&|change| change[index], additive.additive().unwrap())
            }
            Noise::Tied(tied) => {
                let TiedRole::Sum(sum) = tied.role else { continue };
                let span = tied.noise.span(sum).unwrap();
                let values = tied.values.unwrap_or(tied.count);
                let ends =
                    |change: &[i128], end: i64| change[index] - i128::from(end) * change[values];
                let additive = tied.noise.noise(sum).unwrap();
                let width = i128::from(span.high) - i128::from(span.low);
                let without = |change: &[i128]| width * (change[tied.count] - change[values]);
                // Zero where every row has a value.
                loss += lost(&without, additive);
                loss += lost(&|change| ends(change, span.low), additive);
                loss += lost(&|change| ends(change, span.high), additive);
                together += 1;
            }
            Noise::Joint(joint) => {
                // All quantiles lose together what the levels do.
                if !joint.pays() {
                    continue;
                }
                for range in joint.draws.ranges() {
                    for change in changes {
                        let range = range * values(change[index].abs()) as f64;
                        loss += match quote.total() {
                            Loss::Approximate { .. } => range,
                            Loss::Concentrated { .. } => range * range / 8.0,
                        };
                    }
                }
                together += 1;
            }
            Noise::OfSelection | Noise::ByClass(_) | Noise::Quantile(_) | Noise::Reach(_) => {}
        }
    }
    (loss, together)
}

/// `HUSHTABLE_RELATION_CASES` asks for more cases than a test run has.
#[test]
fn removing_a_unit_moves_groups_by_no_more_than_promised() {
    let cases = std::env::var("HUSHTABLE_RELATION_CASES").ok().and_then(|n| n.parse().ok());
    let cases: u64 = cases.unwrap_or(100);
    let contract = Contract::parse(CONTRACT, "hushtable.toml").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (mut moved, mut reported, mut most, mut largest) = (0, 0, 0, 0.0f64);
    let (mut drawn, mut joint) = (0, 0);
    for case in 0..cases {
        let mut dice = Dice::new(case.wrapping_mul(0xd134_2543_de82_ef95) + 7);
        let of_rows = dice.below(3) == 0;
        let (sql, private) =
            if of_rows { (about_rows(&mut dice), true) } else { about_people(&mut dice) };
        let last = "SUM(GREATEST(LEAST(n, 4), -1))";
        let with_quantiles = format!("{last}, {QUANTILES}");
        // Without them, noise may be Gaussian.
        let sql = if case % 2 == 0 { sql } else { sql.replace(last, &with_quantiles) };
        let query = match bind(&sql, &contract) {
            Ok(query) => query,
            Err(refusal) => {
                // A random query may be longer than queries are, or sum what is always zero.
                let refusal = refusal.to_string();
                let may_be = ["are allowed", "always zero"].map(|words| refusal.contains(words));
                assert!(!private || may_be != [false; 2], "case {case}: {refusal}\n{sql}");
                continue;
            }
        };
        let tables = Tables::random(&mut dice);
        let mut rest = tables.clone();
        if of_rows {
            // The last row: removing another one would number those behind it anew.
            rest.loans.pop();
        } else {
            let unit = dice.one(&["1", "1", "2", "3"]);
            rest = tables.without(unit, dice.below(2) == 0);
        }
        let folder = tempfile::tempdir().unwrap();
        // Every second time the report on what the query's limits cut off.
        let reports = dice.below(2) == 0;
        let query = match query.clipping_report() {
            Ok(Some(report)) if reports => report,
            _ => query,
        };
        tables.write(folder.path());
        let (before, order) = runtime.block_on(groups(&query, &contract, folder.path()));
        rest.write(folder.path());
        let (after, order_after) = runtime.block_on(groups(&query, &contract, folder.path()));

        let both = |order: &[String]| -> Vec<String> {
            let both = |key: &&String| before.contains_key(*key) && after.contains_key(*key);
            order.iter().filter(both).cloned().collect()
        };
        assert_eq!(both(&order), both(&order_after), "case {case}: order\n{sql}");

        let none = || (0, vec![0; query.measurements().len()]);
        let (mut changed, mut changes) = (0, Vec::new());
        let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let (with, without) = (before.get(key), after.get(key));
            let (with, without) =
                (with.cloned().unwrap_or_else(none), without.cloned().unwrap_or_else(none));
            if with == without {
                continue;
            }
            changed += 1;
            changes.push(with.1.iter().zip(&without.1).map(|(a, b)| a - b).collect());
            assert_eq!(with.0 - without.0, 1, "case {case}, group {key}: units\n{sql}");
            for (at, measurement) in query.measurements().iter().enumerate() {
                let by = with.1[at] - without.1[at];
                if let Measure::Quantile { rows, .. } = measurement.measure {
                    // Values go, and none comes.
                    let gone = by >= 0 && values(by) <= rows.into();
                    assert!(gone, "case {case}, group {key}: {by:x} of {rows}\n{sql}");
                    drawn += u32::from(by > 0);
                    continue;
                }
                let allowed = i128::from(measurement.low).min(0)..=measurement.high.into();
                let name = &measurement.name;
                assert!(allowed.contains(&by), "case {case}, group {key}: {name} by {by}\n{sql}");
            }
        }
        assert!(changed <= query.max_groups_contributed(), "case {case}: {changed} groups\n{sql}");
        let quote = Quote::new(query.clone()).unwrap();
        let (loss, together) = realized(&quote, &changes);
        let declared: f64 = quote.noise().iter().filter_map(Noise::loss).map(Loss::to_f64).sum();
        assert!(loss <= declared * (1.0 + 1e-9), "case {case}: {loss} of {declared}\n{sql}");
        let is_report = query.outputs().iter().any(|output| output.name.starts_with("part cut"));
        // One row of each unit is counted where groups are chosen.
        let counted = quote.noise().iter().any(|noise| matches!(noise, Noise::OfSelection));
        // Where apart is nearer, nothing is measured together.
        joint += u32::from(together >= 1 || counted || is_report);
        reported += u32::from(is_report && changed > 0);
        largest = largest.max(loss / declared);
        moved += u32::from(changed > 0);
        most = most.max(changed);
    }
    // Some neighbours come near to what is declared.
    assert!(largest > 0.5, "{largest}");
    assert!(u64::from(reported) > cases / 16, "{reported} reports");
    assert!(u64::from(drawn) > cases / 4, "{drawn} quantiles");
    assert!(u64::from(joint) > cases / 2, "{joint} measured together");
    assert!(moved > 0 && u64::from(moved) > cases / 8 && most > 1, "{moved} moved, {most} at most");
}
