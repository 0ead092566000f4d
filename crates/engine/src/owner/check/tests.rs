//! Numbers of a check against brute force.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, RecordBatch, TimestampSecondArray};
use datafusion::parquet::arrow::ArrowWriter;
use hushtable_plan::bind;
use hushtable_testkit::Dice;

use super::*;
use crate::exact::{OwnerScan, ScanOutcome};
use crate::survey::ScanOptions;
use crate::tests::{Fixture, Wait};

const CONTRACT: &str = r#"
[tables.sales]
path = "sales.csv"
privacy_unit = "buyer"
[tables.sales.columns]
buyer = { type = "int" }
town = { type = "string" }
kind = { type = "string", public_keys = ["new", "old", "none"] }
euros = { type = "int", bounds = [-10, 50], sum_bounds = [-10, 50] }
weight = { type = "decimal(2)" }
day = { type = "date" }
twice = { type = "int", expression = "euros * 2", bounds = [0, 1000], sum_bounds = [0, 1000] }
[tables.sales.budgets]
ana = { epsilon = 10, delta = 0.9 }

[tables.rows]
path = "rows.csv"
privacy_unit = "row"
[tables.rows.columns]
town = { type = "string", known_keys = ["t0", "t1", "t99"] }
euros = { type = "int", bounds = [-10, 50], sum_bounds = [-10, 50] }
[tables.rows.budgets]
ana = { epsilon = 10, delta = 0.9 }
"#;

/// A row as it is in the file.
struct Sale {
    buyer: Option<u64>,
    town: Option<u64>,
    kind: &'static str,
    euros: Result<Option<i64>, &'static str>,
}

/// 3,000 rows that are messy in ways that are known.
fn sales() -> Vec<Sale> {
    let mut dice = Dice::new(7);
    let mut next = |below: u64| dice.below(below);
    let kinds = ["new", "old", "New", " old ", "other", ""];
    (0..3000)
        .map(|_| {
            // Some buyers have many rows, in many towns.
            let buyer = next(40) * next(12);
            Sale {
                buyer: (buyer != 13).then_some(buyer),
                town: Some(next(12) * next(3)).filter(|town| *town != 5),
                kind: kinds[next(6) as usize],
                euros: match next(20) {
                    0 => Ok(None),
                    1 => Err("12,5"),
                    2 => Err("n/a"),
                    n => Ok(Some(next(3 * n) as i64 - 12)),
                },
            }
        })
        .collect()
}

fn folder(sales: &[Sale]) -> Fixture {
    let mut csv = "buyer,town,kind,euros,weight,day\n".to_owned();
    for (row, sale) in sales.iter().enumerate() {
        let buyer = sale.buyer.map_or_else(String::new, |buyer| buyer.to_string());
        let town = sale.town.map_or_else(String::new, |town| format!("t{town}"));
        let euros = match sale.euros {
            Ok(Some(euros)) => euros.to_string(),
            Ok(None) => String::new(),
            Err(text) => format!("\"{text}\""),
        };
        let day = if row % 3 == 0 { "12.05.2024" } else { "2024-05-12" };
        csv += &format!("{buyer},{town},{},{euros},{}.25,{day}\n", sale.kind, row % 7);
    }
    // Two tables must not read one file.
    Fixture::new(CONTRACT, &[("sales.csv", &csv), ("rows.csv", &csv)])
}

fn check(folder: &Fixture, table: &str, sql: Option<&str>) -> TableCheck {
    let report =
        folder.session().check_data(Some(table), sql, &Progress::default()).wait().unwrap();
    report.tables.into_iter().next().unwrap()
}

fn column<'a>(check: &'a TableCheck, name: &str) -> &'a ColumnCheck {
    check.columns.iter().find(|column| column.name == name).unwrap()
}

/// Median, 95 %, 99 % and the largest of some numbers, by sorting.
fn spread_of(numbers: impl Iterator<Item = usize>) -> Spread {
    let mut all: Vec<u64> = numbers.map(|n| n as u64).collect();
    all.sort_unstable();
    let at = |share: f64| all[(share * all.len() as f64).ceil() as usize - 1];
    Spread { median: at(0.5), at_95: at(0.95), at_99: at(0.99), largest: at(1.0) }
}

#[test]
fn columns_are_counted_as_by_hand() {
    let sales = sales();
    let report = check(&folder(&sales), "sales", None);
    let count =
        |predicate: &dyn Fn(&Sale) -> bool| sales.iter().filter(|s| predicate(s)).count() as u64;
    assert_eq!(report.rows, 3000);
    assert_eq!(report.rows_without_unit, count(&|s| s.buyer.is_none()));
    let mut rows: BTreeMap<u64, usize> = BTreeMap::new();
    sales.iter().filter_map(|s| s.buyer).for_each(|b| *rows.entry(b).or_default() += 1);
    assert_eq!(report.units, Some(rows.len() as u64));
    assert_eq!(report.rows_per_unit, Some(spread_of(rows.values().copied())));

    let euros = column(&report, "euros");
    assert_eq!(euros.nulls, count(&|s| s.euros == Ok(None)));
    assert_eq!(euros.do_not_fit, count(&|s| s.euros.is_err()));
    let mut forms = vec![
        FormCount { form: "99,9".into(), values: count(&|s| s.euros == Err("12,5")) },
        FormCount { form: "a/a".into(), values: count(&|s| s.euros == Err("n/a")) },
    ];
    forms.sort_by_key(|form| std::cmp::Reverse(form.values));
    assert_eq!(euros.forms, Forms { most_frequent: forms, others: 0 });
    let range = euros.range.as_ref().unwrap();
    let mut values: Vec<i64> = sales.iter().filter_map(|s| s.euros.ok().flatten()).collect();
    values.sort_unstable();
    assert_eq!(range.bounds, Some((-10.0, 50.0)));
    assert_eq!(range.below, values.iter().filter(|v| **v < -10).count() as u64);
    assert_eq!(range.above, values.iter().filter(|v| **v > 50).count() as u64);
    assert!(range.below > 0 && range.above == 0);
    for &(share, value) in &range.quantiles {
        let rank = ((share * values.len() as f64).ceil() as usize).max(1);
        let exact = values[rank - 1] as f64;
        assert!((value - exact).abs() <= exact.abs() * 0.0007, "{share}: {value} {exact}");
    }

    let twice = column(&report, "twice");
    assert_eq!((twice.do_not_fit, twice.nulls), (0, euros.nulls + euros.do_not_fit));
    assert_eq!(
        twice.range.as_ref().unwrap().below,
        values.iter().filter(|v| **v < 0).count() as u64
    );
    let day = column(&report, "day");
    assert_eq!((day.do_not_fit, day.nulls), (1000, 0));
    assert_eq!(day.forms.most_frequent[0].form, "99.99.9999");
    assert!(column(&report, "buyer").range.is_none() && column(&report, "weight").range.is_some());

    let keys = column(&report, "kind").keys.as_ref().unwrap();
    let listed = |s: &Sale| ["new", "old"].contains(&s.kind);
    assert_eq!(keys.rows_listed, count(&listed));
    assert_eq!(keys.rows_not_listed, count(&|s| !listed(s) && !s.kind.is_empty()));
    assert_eq!(keys.rows_nearly_listed, count(&|s| ["New", " old "].contains(&s.kind)));
    assert_eq!(keys.without_rows, ["none"]);
    let mut kinds: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    for sale in sales.iter().filter(|s| listed(s)) {
        if let Some(buyer) = sale.buyer {
            kinds.entry(buyer).or_default().insert(sale.kind);
        }
    }
    assert_eq!(keys.per_unit, Some(spread_of(kinds.values().map(BTreeSet::len))));
}

/// The sales of each buyer in each town: rows, and the sum of its euros.
fn by_unit(sales: &[Sale]) -> BTreeMap<u64, BTreeMap<Option<u64>, (usize, i64)>> {
    let mut all: BTreeMap<u64, BTreeMap<Option<u64>, (usize, i64)>> = BTreeMap::new();
    for sale in sales {
        let Some(buyer) = sale.buyer else { continue };
        let entry = all.entry(buyer).or_default().entry(sale.town).or_default();
        entry.0 += 1;
        entry.1 += sale.euros.ok().flatten().unwrap_or(0);
    }
    all
}

#[test]
fn limits_cut_off_what_they_cut_off_by_hand() {
    let sales = sales();
    let sql = |groups: u32| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-3, \
             max_groups_contributed = {groups}, max_rows_per_group = 2) town, COUNT(*) AS n, \
             COUNT(DISTINCT buyer) AS b, SUM(euros) AS e FROM sales GROUP BY town"
        )
    };
    let units = by_unit(&sales);
    let pairs = || units.values().flat_map(BTreeMap::values);
    let folder = folder(&sales);
    // No unit is in that many groups.
    let report = check(&folder, "sales", Some(&sql(100))).query.unwrap();
    assert_eq!(report.units, units.len() as u64);
    assert_eq!(report.rows as usize, pairs().map(|(rows, _)| rows).sum::<usize>());
    assert_eq!(report.groups_per_unit, spread_of(units.values().map(BTreeMap::len)));
    assert_eq!(report.rows_per_group, spread_of(pairs().map(|(rows, _)| *rows)));
    let cut = |query: &QueryCheck, measurement: &str, limit: ContributionLimit| {
        let of = |c: &&CutOff| c.measurement.starts_with(measurement) && c.limit == limit;
        let entry = query.cut_off.iter().find(of).unwrap();
        (entry.share_of_units, entry.share_of_total)
    };
    let near = |(units, total): (f64, f64), by_hand: (f64, f64)| {
        assert!((units - by_hand.0).abs() < 1e-12, "units {units} {}", by_hand.0);
        assert!((total - by_hand.1).abs() < 1e-12, "total {total} {}", by_hand.1);
    };
    let touched = |touches: &dyn Fn(&(usize, i64)) -> bool| {
        let any = units.values().filter(|groups| groups.values().any(touches)).count();
        any as f64 / units.len() as f64
    };
    let rows: usize = pairs().map(|(rows, _)| rows).sum();
    let beyond: usize = pairs().map(|(rows, _)| rows.saturating_sub(2)).sum();
    near(
        cut(&report, "count of rows", ContributionLimit::RowsPerGroup),
        (touched(&|(rows, _)| *rows > 2), beyond as f64 / rows as f64),
    );
    let size: i64 = pairs().map(|(_, sum)| sum.abs()).sum();
    let clamped: i64 = pairs().map(|(_, sum)| (sum - sum.clamp(&-10, &50)).abs()).sum();
    near(
        cut(&report, "sum of euros", ContributionLimit::BoundsPerGroup),
        (touched(&|(_, sum)| !(-10..=50).contains(sum)), clamped as f64 / size as f64),
    );
    near(cut(&report, "count of rows", ContributionLimit::GroupsPerUnit), (0.0, 0.0));

    // Whichever groups a unit keeps, their number is the same.
    let report = check(&folder, "sales", Some(&sql(3))).query.unwrap();
    let many = units.values().filter(|groups| groups.len() > 3).count() as f64 / units.len() as f64;
    let all: usize = units.values().map(BTreeMap::len).sum();
    let retained: usize = units.values().map(|groups| groups.len().min(3)).sum();
    near(
        cut(&report, "count of privacy units", ContributionLimit::GroupsPerUnit),
        (many, 1.0 - retained as f64 / all as f64),
    );
    assert!(many > 0.3 && retained < all);
}

/// The part that is left of the total is what a release under the same key adds up, before noise.
#[test]
fn what_is_left_is_what_a_release_has() {
    let sales: Vec<Sale> = sales()
        .into_iter()
        .map(|s| Sale { euros: s.euros.map(|e| e.map(i64::abs)), ..s })
        .collect();
    let folder = folder(&sales);
    let session = folder.session();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-3, \
               max_groups_contributed = 3, max_rows_per_group = 2) town, SUM(euros) AS e, \
               MEDIAN(euros, contribution_bounds_per_row => (0, 20)) AS m \
               FROM sales GROUP BY town";
    let checked = session.check(sql).unwrap();
    let key = SamplingKey([9; 16]);
    let report = query::read(&checked, key, &Progress::default()).wait().unwrap();
    let look = async {
        let progress = Progress::default();
        let scan =
            OwnerScan::plan(&checked.quote, &checked.data, &progress.reading(), checked.memory)
                .await?;
        scan.look(key, ScanOptions::default()).await
    };
    let ScanOutcome { exact, .. } = look.wait().unwrap();
    let total: i64 = by_unit(&sales).values().flat_map(BTreeMap::values).map(|(_, sum)| sum).sum();
    let cut = |measurement: &str| -> Vec<f64> {
        let cuts = report.cut_off.iter().filter(|c| c.measurement.starts_with(measurement));
        cuts.map(|c| c.share_of_total).collect()
    };
    let sum = cut("sum");
    assert!(sum.len() == 2 && sum.iter().all(|share| *share > 0.02), "{sum:?}");
    let left = exact.measured[0].sums().unwrap().iter().sum::<i128>() as f64 / total as f64;
    assert!((1.0 - sum.iter().sum::<f64>() - left).abs() < 1e-12, "{sum:?} {left}");
    let values =
        sales.iter().filter(|s| s.buyer.is_some() && matches!(s.euros, Ok(Some(_)))).count();
    let listed = exact.measured[1].values().unwrap();
    let retained: usize = (0..exact.units.len()).map(|group| listed.of(group).len()).sum();
    let median = cut("median");
    assert!(median.len() == 3 && median.iter().all(|share| *share > 0.02), "{median:?}");
    let left = retained as f64 / values as f64;
    assert!((1.0 - median[0] - median[1] - left).abs() < 1e-12, "{median:?} {left}");
}

#[test]
fn groups_are_expected_by_their_chances() {
    let sales = sales();
    let folder = folder(&sales);
    let options = "epsilon = 0.2, delta = 1e-4, max_groups_contributed = 100";
    let ask = |table: &str, more: &str| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}{more}) town FROM {table} \
             GROUP BY town"
        )
    };
    let chance = |sql: &str| {
        let query = bind(sql, folder.session().contract()).unwrap();
        let quote = hushtable_quote::Quote::new(query).unwrap();
        quote.selection().unwrap().clone()
    };
    let mut sizes: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    by_unit(&sales)
        .values()
        .flat_map(BTreeMap::keys)
        .for_each(|t| *sizes.entry(*t).or_default() += 1);

    for (more, at_least) in [
        (", group_selection_strategy = LAPLACE_THRESHOLD", false),
        (", group_selection_strategy = SIPS", true),
    ] {
        let sql = ask("sales", more);
        let selection = chance(&sql);
        let report = check(&folder, "sales", Some(&sql)).query.unwrap().groups;
        let expected: f64 = sizes.values().map(|&n| selection.keep_probability(n)).sum();
        assert!((report.expected - expected).abs() < 1e-9, "{} {expected}", report.expected);
        assert_eq!((report.in_data, report.known, report.at_least), (sizes.len(), 0, at_least));
        assert_eq!(report.shown_half, Some(selection.half_size()));
        let size = report.shown_95.unwrap();
        let likely = |n: u64| selection.keep_probability(n) >= 0.95;
        assert!(likely(size) && !likely(size - 1), "{size}");
    }

    // Votes are counted, so that the number is no lower bound.
    let sql = ask("sales", ", group_selection_strategy = SINGLE_VOTE");
    let selection = chance(&sql);
    let report = check(&folder, "sales", Some(&sql)).query.unwrap().groups;
    let least: f64 = sizes.values().map(|&n| selection.keep_probability(n)).sum();
    assert!(!report.at_least && report.expected > least, "{} {least}", report.expected);

    // By the count of rows, of which two of a unit count.
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2, delta = 1e-4, \
               max_groups_contributed = 100, max_rows_per_group = 2, \
               group_selection_strategy = MEASURED_COUNT) town, COUNT(*) AS n FROM sales \
               GROUP BY town";
    let selection = chance(sql);
    let mut rows_by_town: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    for (town, (rows, _)) in by_unit(&sales).values().flatten() {
        *rows_by_town.entry(*town).or_default() += (*rows).min(2) as u64;
    }
    let report = check(&folder, "sales", Some(sql)).query.unwrap().groups;
    let expected: f64 = rows_by_town.values().map(|&n| selection.keep_probability(n)).sum();
    assert!((report.expected - expected).abs() < 1e-9, "{} {expected}", report.expected);
    assert_eq!((report.at_least, report.sizes_in), (false, hushtable_quote::GroupSize::Rows));
    assert_eq!(report.shown_half, Some(selection.threshold().unwrap() as u64));

    // Rows as units, and groups that are known: one of them has no row.
    let mut rows: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    sales.iter().for_each(|sale| *rows.entry(sale.town).or_default() += 1);
    let sql =
        ask("rows", ", group_selection_strategy = LAPLACE_THRESHOLD, known_groups_threshold = 280");
    let selection = chance(&sql);
    let report = check(&folder, "rows", Some(&sql)).query.unwrap();
    let known = |town: &Option<u64>| [Some(0), Some(1)].contains(town);
    let others = rows.iter().filter(|(town, _)| !known(town));
    let mut expected: f64 = others.map(|(_, &n)| selection.keep_probability(n)).sum();
    for n in [rows[&Some(0)], rows[&Some(1)], 0] {
        expected += selection.reach_probability(n, 280);
    }
    assert!(
        (report.groups.expected - expected).abs() < 1e-9,
        "{} {expected}",
        report.groups.expected
    );
    assert_eq!((report.groups.in_data, report.groups.known), (rows.len(), 3));
    assert_eq!((report.units, report.groups_per_unit.largest), (3000, 1));
}

#[test]
fn parquet_values_that_become_null_are_counted() {
    let contract = r#"
[tables.t]
path = "t.parquet"
privacy_unit = "row"
[tables.t.columns]
x = { type = "float" }
at = { type = "timestamp" }
[tables.t.budgets]
ana = { epsilon = 1 }
"#;
    let folder = Fixture::new(contract, &[]);
    let x: ArrayRef = Arc::new(Float64Array::from(vec![
        Some(1.0),
        None,
        Some(f64::NAN),
        Some(-2.0),
        Some(f64::NAN),
    ]));
    let at: ArrayRef = Arc::new(TimestampSecondArray::from(vec![
        Some(0),
        None,
        None,
        Some(i64::MAX),
        Some(i64::MIN / 2),
    ]));
    let batch = RecordBatch::try_from_iter([("x", x), ("at", at)]).unwrap();
    let file = File::create(folder.path().join("t.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let report = check(&folder, "t", None);
    let (x, at) = (column(&report, "x"), column(&report, "at"));
    assert_eq!((x.nulls, x.do_not_fit), (1, 2));
    assert_eq!(x.forms.most_frequent, [FormCount { form: "NaN".into(), values: 2 }]);
    assert_eq!((at.nulls, at.do_not_fit), (2, 2));
}

#[test]
fn text_that_is_not_utf8_or_too_long_does_not_fit() {
    let folder = Fixture::new(CONTRACT, &[]);
    let mut csv = b"buyer,town,kind,euros,weight,day\n1,caf\xe9,new,1,1,\n2,".to_vec();
    csv.extend("x".repeat(70_000).bytes());
    csv.extend(b",new,1,99999999999999999999999999999999999999,\n");
    std::fs::write(folder.path().join("sales.csv"), csv).unwrap();
    let report = check(&folder, "sales", None);
    let town = column(&report, "town");
    assert_eq!((town.nulls, town.do_not_fit), (0, 2));
    assert_eq!(town.forms.most_frequent[0].form, format!("{}…", "a".repeat(40)));
    assert_eq!(town.forms.most_frequent[1].form, "aaa\u{fffd}");
    assert_eq!(column(&report, "weight").do_not_fit, 1);
    assert_eq!(column(&report, "day").nulls, 2);
    assert!(report.advice.iter().any(|a| a.about == "town"), "{:?}", report.advice);
}

#[test]
fn other_ways_to_write_a_unit_are_counted() {
    let rows = ["7", "07", "+7", "7.0", "x", ""].map(|id| format!("{id},t1,new,07,1.504,\n"));
    let csv = format!("buyer,town,kind,euros,weight,day\n{}", rows.concat());
    let report = check(&Fixture::new(CONTRACT, &[("sales.csv", &csv)]), "sales", None);
    assert_eq!((report.units, report.rows_without_unit), (Some(1), 5));
    let buyer = column(&report, "buyer");
    assert_eq!((buyer.nulls, buyer.do_not_fit, buyer.written_otherwise), (1, 4, 2));
    // Other columns identify nothing.
    assert_eq!((column(&report, "euros").do_not_fit, column(&report, "weight").do_not_fit), (0, 0));
    let advice: Vec<String> = report
        .advice
        .iter()
        .filter(|advice| advice.about == "buyer")
        .map(|advice| format!("{}: {}", advice.found, advice.change))
        .collect();
    let advice = advice.join("\n");
    for expected in ["write a value in another way", "`type = \"string\"`, under which every text"]
    {
        assert!(advice.contains(expected), "{advice}");
    }
}

#[test]
fn rows_that_are_not_what_was_written_are_counted() {
    let long = "x".repeat(2000);
    let csv = format!(
        "buyer,town,kind,euros,weight,day\n1,t1,new,1,1,\n2,t1,new,1,1,,more\n3,t1\n\
         4,\"{long}\n5,\"t1\"\n6,t1,new,\"1\n{long}\n7,\"t1\nt2\",new,1,1,\n"
    );
    let report = check(&Fixture::new(CONTRACT, &[("sales.csv", &csv)]), "sales", None);
    assert_eq!((report.rows, report.ragged_rows, report.unclosed_quotes), (7, 5, 2));
    let (town, euros) = (column(&report, "town"), column(&report, "euros"));
    assert_eq!((town.do_not_fit, euros.do_not_fit), (1, 1));
    assert_eq!(euros.forms.most_frequent[0].form, "text in quotes without an end");
    let advice: Vec<String> = report
        .advice
        .iter()
        .filter(|advice| advice.about == "sales")
        .map(|advice| format!("{}: {}", advice.found, advice.change))
        .collect();
    let advice = advice.join("\n");
    for expected in
        ["in quotes that do not end", "more or fewer fields", "write the table as Parquet"]
    {
        assert!(advice.contains(expected), "{advice}");
    }
}

#[test]
fn wrong_tables_are_refused() {
    let folder = folder(&[]);
    let session = folder.session();
    let message = |table: Option<&str>, sql: Option<&str>| {
        session.check_data(table, sql, &Progress::default()).wait().unwrap_err().to_string()
    };
    let of_rows = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM rows";
    insta::assert_snapshot!(
        [message(Some("nothing"), None), message(Some("sales"), Some(of_rows))].join("\n"),
        @r"
    there is no table `nothing`
      hint: the tables are rows, sales
    the query reads `rows`, not `sales`
      hint: leave the table out: the query names it
    "
    );
    // An empty table is one.
    let report = check(&folder, "sales", None);
    assert_eq!((report.rows, report.units, report.advice.len()), (0, Some(0), 1));
}

#[test]
fn what_a_table_is_read_as_is_what_is_checked() {
    let contract = r#"
[tables.t]
path = "t"
privacy_unit = "id"
csv = { delimiter = ";", decimal = ",", thousands = ".", null = ["NA"] }
[tables.t.columns]
year = { type = "int" }
id = { type = "int" }
euros = { type = "decimal(2)", bounds = [0, 2000], sum_bounds = [0, 2000] }
[tables.t.budgets]
ana = { epsilon = 10, delta = 0.9 }
"#;
    let data_folder = Fixture::new(contract, &[]);
    for (folder, rows) in [
        ("year=2024", "18446744073709551615;1.234,56\n7;NA\n7;1,234.56\n"),
        ("year=soon", "18446744073709551615;5\nx;6\n;7\n"),
    ] {
        let folder = data_folder.path().join("t").join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.csv"), format!("id;euros\n{rows}")).unwrap();
    }
    let report = data_folder.session().check_data(None, None, &Progress::default()).wait().unwrap();
    let table = &report.tables[0];
    assert_eq!((table.rows, table.units, table.rows_without_unit), (6, Some(2), 2));
    let column = |name: &str| {
        let checked = table.columns.iter().find(|column| column.name == name).unwrap();
        let forms =
            checked.forms.most_frequent.iter().map(|f| (f.form.clone(), f.values)).collect();
        (checked.nulls, checked.do_not_fit, forms)
    };
    let form = |text: &str, values| vec![(text.to_owned(), values)];
    // A unit that is too large for an INT64 is a unit, and no value that does not fit.
    assert_eq!(column("id"), (1, 1, form("a", 1)));
    assert_eq!(column("euros"), (1, 1, form("9,999.99", 1)));
    assert_eq!(column("year"), (0, 3, form("aaaa", 3)));
}
