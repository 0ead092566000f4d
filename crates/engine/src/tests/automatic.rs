//! Limits that are chosen privately.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use hushtable_noise::TestSeed;
use hushtable_plan::{PrivateQuery, SqlStatement, WarningCode, size_buckets};
use hushtable_quote::{Noise, Quote, chosen_limits};

use super::{Fixture, Wait, json, shown};
use crate::answer_table::{Answer, AnswerTable, Charges};
use crate::ask::{Purpose, open_workload};
use crate::contributions::SamplingKey;
use crate::error::EngineError;
use crate::exact::OwnerScan;
use crate::progress::Progress;
use crate::survey::ScanOptions;

const CONTRACT: &str = r#"
[units.person.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = "auto"
max_rows_per_group = 1
[units.person.budgets]
ana = { epsilon = 1000, delta = 1e-3 }
[tables.visits]
path = "visits.csv"
unit = { of = "person", column = "id" }
[tables.visits.columns]
id = { type = "int" }
shop = { type = "int", public_keys = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] }
paid = { type = "int", bounds = "auto" }
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
[tables.firms.columns]
town = { type = "string", public_keys = ["A", "B"] }
profit = { type = "decimal(2)", bounds = "auto" }
[tables.firms.budgets]
ana = { epsilon = 1000 }
"#;

/// Of 400 people, half are in one shop, a quarter in two, an eighth in four and so on to sixteen;
/// each pays up to ten in each. Firms have profits from -400 to 80,000.
fn fixture() -> Fixture {
    let mut visits = "id,shop,paid\n".to_owned();
    for id in 0..400u32 {
        let shops = 1 << (id + 1).trailing_zeros().min(4);
        for shop in 0..shops {
            visits += &format!("{id},{},{}\n", (id + shop) % 16, id % 10 + 1);
        }
    }
    let mut firms = "town,profit\n".to_owned();
    for firm in 0..4000i64 {
        let town = if firm % 3 == 0 { "A" } else { "B" };
        let profit = if firm % 5 == 0 { -(firm / 10) } else { firm * 20 };
        firms += &format!("{town},{profit}.50\n");
    }
    Fixture::new(CONTRACT, &[("visits.csv", &visits), ("firms.csv", &firms)])
}

fn options(options: &str) -> String {
    format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options})")
}

fn bounds(answer: &Answer) -> Vec<(f64, f64)> {
    let measured = &answer.statement.last_release().unwrap().query.measurements();
    measured
        .iter()
        .map(|m| (m.low as f64, m.high as f64))
        .map(|(low, high)| {
            let step = measured[0].step.to_f64();
            (low * step, high * step)
        })
        .collect()
}

#[test]
fn limits_are_charged_with_the_sizes_that_they_are_chosen_from() {
    let fixture = fixture();
    let sql = "SELECT shop, SUM(paid) AS paid, COUNT(*) AS n FROM visits GROUP BY shop";
    let quoted = fixture.session().explain(sql, None).wait().unwrap();
    let totals: Vec<String> =
        quoted.parts.iter().map(|part| part.explanation.total.to_string()).collect();
    assert_eq!(totals, ["epsilon = 0.05", "epsilon = 0.05", "epsilon = 0.9"]);
    let names: Vec<&str> =
        quoted.parts[2].automatic.iter().map(|chosen| chosen.limit.as_str()).collect();
    assert_eq!(names, ["max_groups_contributed", "bounds of the sum of paid"]);
    assert_eq!(quoted.parts[2].limits_from, ["part_1", "part_2"]);

    let answer = fixture.ask(sql, 1).unwrap();
    assert_eq!(answer.charged().unwrap().to_string(), "epsilon = 1");
    let again = fixture.ask(sql, 2).unwrap();
    assert_eq!((again.charged(), again.statement), (None, answer.statement.clone()));
    assert_eq!(shown(&again.table), shown(&answer.table));
    // The query ran with its limits written out, within its own share.
    let query = &answer.statement.last_release().unwrap().query;
    let most = query.max_groups_contributed();
    let (low, high) = bounds(&answer)[0];
    let written = options(&format!("epsilon = 0.9, max_groups_contributed = {most}"))
        + &format!(
            " shop, SUM(paid, contribution_bounds_per_group => ({low}, {high})) AS paid, \
         COUNT(*) AS n FROM visits GROUP BY shop"
        );
    let written = SqlStatement::bind(&written, fixture.session().contract()).unwrap();
    assert_eq!(json(query), json(&written.plain().unwrap()));
    assert!(query.automatic().is_none());
}

/// The chosen limits follow the data's sizes.
#[test]
fn limits_follow_sizes() {
    let fixture = fixture();
    let sql = options("epsilon = 500") + " shop, SUM(paid) AS paid FROM visits GROUP BY shop";
    let answer = fixture.ask(&sql, 1).unwrap();
    // Noise is small, so that nothing is cut off: nobody is in more shops, or pays more. Limits are
    // sure.
    let explanation = &answer.statement.last_release().unwrap().explanation;
    assert!(explanation.warnings.is_empty(), "{:?}", explanation.warnings);
    assert_eq!(answer.statement.last_release().unwrap().query.max_groups_contributed(), 16);
    let (low, high) = bounds(&answer)[0];
    assert!(low == 0.0 && (10.0..=20.0).contains(&high), "{low} {high}");

    let sql = options("epsilon = 100") + " town, SUM(profit) AS profit FROM firms GROUP BY town";
    let answer = fixture.ask(&sql, 1).unwrap();
    let (low, high) = bounds(&answer)[0];
    assert!((-1000.0..=-400.0).contains(&low), "{low}");
    assert!((70_000.0..=140_000.0).contains(&high), "{high}");
    // With little budget less is let in: the largest are cut off.
    let sql = options("epsilon = 0.5") + " town, SUM(profit) AS profit FROM firms GROUP BY town";
    let little = bounds(&fixture.ask(&sql, 1).unwrap())[0].1;
    assert!(little <= high && little >= 10_000.0, "{little}");
    // Means have bounds for rows; a mean is within them.
    let sql = options("epsilon = 100, bounds = AUTO") + " AVG(paid) AS mean FROM visits";
    let answer = fixture.ask(&sql, 1).unwrap();
    assert!(shown(&answer.table).trim().parse::<f64>().is_ok(), "{}", shown(&answer.table));
}

/// Where noise decides, the answer says so, also when it is on record.
#[test]
fn a_limit_that_noise_may_have_decided_has_a_warning() {
    let fixture = fixture();
    let sql = options("epsilon = 0.01") + " town, SUM(profit) AS profit FROM firms GROUP BY town";
    for _ in 0..2 {
        let answer = fixture.ask(&sql, 3).unwrap();
        let warnings = &answer.statement.last_release().unwrap().explanation.warnings;
        let codes: Vec<WarningCode> = warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, [WarningCode::UncertainLimit]);
        assert!(warnings[0].what.contains("choose bounds of the sum of profit"), "{warnings:?}");
    }
    // The fallback is near the values, not 0 to 1: 121 firms with profits up to 9,000.
    let mut firms = "town,profit\n".to_owned();
    (0..121).for_each(|firm| firms += &format!("A,{}.50\n", 6_000 + 25 * firm));
    let fixture =
        Fixture::new(CONTRACT, &[("visits.csv", "id,shop,paid\n"), ("firms.csv", &firms)]);
    let sql = options("epsilon = 2") + " SUM(profit) AS profit FROM firms";
    let high = bounds(&fixture.ask(&sql, 1).unwrap())[0].1;
    assert!((6_000.0..=20_000.0).contains(&high), "{high}");
}

/// The exact histograms of a statement over these rows, without noise.
fn histograms(sql: &str, visits: &[(u32, u32, i64)]) -> Vec<BTreeMap<String, i64>> {
    let mut text = "id,shop,paid\n".to_owned();
    visits.iter().for_each(|(id, shop, paid)| text += &format!("{id},{shop},{paid}\n"));
    let mut firms = "town,profit\n".to_owned();
    visits.iter().for_each(|(_, _, paid)| firms += &format!("A,{paid}\n"));
    let fixture = Fixture::new(CONTRACT, &[("visits.csv", &text), ("firms.csv", &firms)]);
    let session = fixture.session();
    let statement = SqlStatement::bind(sql, session.contract()).unwrap();
    let of = |query: &PrivateQuery| {
        let quote = Quote::new(query.clone()).unwrap();
        let data = session.data_of_query(query).unwrap();
        let progress = Progress::default();
        let exact = async {
            let scan = OwnerScan::plan(&quote, &data, &progress.reading(), session.memory())
                .await
                .unwrap();
            scan.look(SamplingKey([3; 16]), ScanOptions::default()).await.unwrap().exact
        };
        let exact = exact.wait();
        let options = FormatOptions::default();
        let sizes = ArrayFormatter::try_new(exact.keys[0].as_ref(), &options).unwrap();
        let size = |group: usize| (sizes.value(group).to_string(), exact.units[group]);
        let all = (0..exact.units.len()).map(size);
        all.filter(|(_, units)| *units != 0).collect()
    };
    let histograms = statement.parts.iter().filter(|part| part.is_histogram);
    histograms.map(|part| of(&part.query)).collect()
}

/// Each unit is one of one bucket: without it, that bucket has one less, and all others are as they
/// were. So it is for numbers of groups, sums of groups, values of rows, and rows that are units.
#[test]
fn a_unit_is_one_of_one_bucket() {
    let mut visits: Vec<(u32, u32, i64)> = Vec::new();
    for id in 0..30u32 {
        let shops = 1 << (id % 5);
        let paid = i64::from(id * id) - 90;
        for shop in 0..shops {
            // Units differ in the most rows that they have in one shop.
            let visit = (id, (id + shop) % 16, paid * i64::from(shop));
            visits.extend(std::iter::repeat_n(visit, (1 + id as usize % 4).max(shop as usize)));
        }
    }
    let of_people = options("epsilon = 1, bounds = AUTO, max_rows_per_group = AUTO")
        + " shop, SUM(paid), AVG(paid), MEDIAN(2 * paid), COUNT(*) \
                     FROM visits WHERE paid < 700 GROUP BY shop";
    let of_firms = options("epsilon = 1") + " town, SUM(profit) FROM firms GROUP BY town";
    for (sql, expected, by_row) in [(of_people, 5, false), (of_firms, 1, true)] {
        let all = histograms(&sql, &visits);
        assert_eq!(all.len(), expected);
        for gone in [0, 1, 7, 12, 29] {
            let left = |(index, visit): &(usize, &(u32, u32, i64))| match by_row {
                true => *index != gone,
                false => visit.0 as usize != gone,
            };
            let rest: Vec<_> = visits.iter().enumerate().filter(left).map(|(_, v)| *v).collect();
            for (with, without) in all.iter().zip(histograms(&sql, &rest)) {
                let size = |of: &BTreeMap<String, i64>| of.values().sum::<i64>();
                assert_eq!(size(with) - size(&without), 1, "{sql} {gone}");
                let apart = |size: &&String| with.get(*size) != without.get(*size);
                assert_eq!(with.keys().filter(apart).count(), 1, "{sql} {gone}");
                assert!(without.keys().all(|size| with.contains_key(size)));
            }
        }
    }
}

/// Limits are chosen for each level, for the row of all others, and for what a clipping report is
/// about; and all of it is charged once.
#[test]
fn limits_are_chosen_for_levels_others_and_reports() {
    let fixture = fixture();
    let questions = [
        ("max_rows_per_group = AUTO", "shop, COUNT(*), SUM(paid), MEDIAN(paid)", "ROLLUP (shop)"),
        (
            "clipping_report = true, max_groups_contributed = 3, max_rows_per_group = AUTO",
            "shop, COUNT(*), SUM(paid)",
            "shop",
        ),
        ("clipping_report = true", "COUNT(DISTINCT id), STDDEV(paid)", "shop"),
        ("other_row = true", "shop, SUM(paid) AS paid", "shop ORDER BY paid DESC LIMIT 3"),
    ];
    for (settings, select, groups) in questions {
        let sql = options(&format!("epsilon = 50, {settings}"))
            + &format!(" {select} FROM visits GROUP BY {groups}");
        let answer = fixture.ask(&sql, 1).unwrap();
        assert_eq!(answer.charged().unwrap().to_string(), "epsilon = 50", "{sql}");
        let again = fixture.ask(&sql, 2).unwrap();
        assert_eq!((again.charged(), &again.statement), (None, &answer.statement), "{sql}");
        assert_eq!(shown(&again.table), shown(&answer.table));
        let parts = &answer.statement.parts;
        let (mut reports, mut limited) = (0, 0);
        for part in parts {
            let query = &part.release.query;
            assert!(query.automatic().is_none(), "{sql}");
            limited += usize::from(!part.limits_from.is_empty());
            let Some(of) = part.report_of.first() else { continue };
            // The report is about the limits that were chosen.
            let of = parts.iter().find(|other| other.name == *of).unwrap();
            let of = &of.release.query;
            let report = of.clipping_report().unwrap().unwrap();
            // It shows the share of units in more groups also where there are no more.
            if of.max_groups_contributed() < 16 {
                assert_eq!(json(&report.with_loss(query.loss())), json(query), "{sql}");
            }
            reports += 1;
        }
        let has_report = settings.contains("clipping_report");
        assert_eq!((reports, limited), (usize::from(has_report), 2), "{sql}");
        assert_eq!(answer.output.clipping_reports.len(), reports);
    }
}

/// Rows of a unit in a group, and the bounds of a median, follow the data.
#[test]
fn limits_on_rows_and_bounds_of_medians_follow_sizes() {
    let mut visits = "id,shop,paid\n".to_owned();
    for id in 0..400u32 {
        // Half of the people have one row in a shop, and half have five.
        for _ in 0..1 + 4 * (id % 2) {
            visits += &format!("{id},{},{}\n", id % 16, 500 + id);
        }
    }
    let fixture =
        Fixture::new(CONTRACT, &[("visits.csv", &visits), ("firms.csv", "town,profit\n")]);
    let sql =
        options("epsilon = 500, max_rows_per_group = AUTO") + " COUNT(*), MEDIAN(paid) FROM visits";
    let answer = fixture.ask(&sql, 1).unwrap();
    let rows = shown(&answer.table);
    let values: Vec<f64> = rows.trim().split('|').map(|value| value.parse().unwrap()).collect();
    assert!((values[0] - 1200.0).abs() <= 5.0 && (values[1] - 700.0).abs() < 30.0, "{rows}");
    let release = answer.statement.last_release().unwrap();
    assert!(release.explanation.warnings.is_empty(), "{:?}", release.explanation.warnings);
    let measured = release.query.measurements();
    assert!(measured[0].low == 0 && (5..=9).contains(&measured[0].high), "{measured:?}");
    assert!(measured[1].low == 0 && (800..=1_300).contains(&measured[1].high), "{measured:?}");
}

/// The queries of a workload have their limits chosen each for itself, and their reports with them.
#[test]
fn limits_are_chosen_for_the_queries_of_a_workload() {
    let workload = r#"
contract = "hushtable.toml"
epsilon = 50
clipping_report = true
[defaults]
max_groups_contributed = "auto"
max_rows_per_group = "auto"
[[queries]]
name = "shops"
weight = 3
sql = "SELECT shop, COUNT(*) AS n, SUM(paid) AS paid FROM visits GROUP BY shop"
[[queries]]
name = "all"
sql = "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS people FROM visits WHERE paid > 3"
[[queries]]
name = "given"
sql = "SELECT SUM(paid, contribution_bounds_per_group => (0, 90)) AS paid FROM visits"
"#;
    let fixture = fixture();
    let (session, progress) = (fixture.session(), Progress::default());
    std::fs::write(fixture.path().join("workload.toml"), workload).unwrap();
    let workload = open_workload(&fixture.path().join("workload.toml")).unwrap();
    let mut runs = Vec::new();
    for seed in [1, 2] {
        let plan =
            session.plan_workload(&workload, None, Purpose::Answer, &progress).wait().unwrap();
        let mut names = Vec::new();
        let mut spent = None;
        let mut generator = TestSeed(seed).generator();
        let answered = |output: &AnswerTable| {
            names.push((output.name.clone().unwrap(), shown(&output.table)));
            Ok::<_, EngineError>(None)
        };
        let charged = |charges: &Charges| {
            spent = charges.accounts[0].charged.map(|loss| loss.to_string());
        };
        let (statement, _) = plan.release_with(&mut generator, charged, answered).wait().unwrap();
        runs.push((names, statement, spent));
    }
    let [(names, statement, spent), (again, same, free)] = runs.try_into().unwrap();
    assert_eq!((&names, &statement), (&again, &same));
    assert_eq!((spent.as_deref(), free), (Some("epsilon = 50"), None));
    let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["shops", "all", "given"]);
    let parts: Vec<(&str, usize)> =
        statement.parts.iter().map(|part| (part.name.as_str(), part.limits_from.len())).collect();
    assert_eq!(
        parts,
        [
            ("sizes 1 of shops", 0),
            ("sizes 2 of shops", 0),
            ("sizes 3 of shops", 0),
            ("shops", 3),
            ("clipping report of shops", 3),
            ("sizes 1 of all", 0),
            ("all", 1),
            ("clipping report of all", 1),
            ("given", 0),
            ("clipping report of given", 0),
        ]
    );
    assert!(statement.parts.iter().all(|part| part.release.query.automatic().is_none()));
}

#[test]
fn what_cannot_be_chosen_is_refused() {
    let fixture = fixture();
    let asked = [
        options("max_groups_contributed = few") + " COUNT(*) FROM visits GROUP BY shop",
        options("bounds = 3") + " SUM(paid) FROM visits GROUP BY shop",
        options("max_rows_per_group = few") + " COUNT(*) FROM visits GROUP BY shop",
        options("consistent = true") + " shop, COUNT(*) FROM visits GROUP BY ROLLUP (shop)",
        "SELECT MEDIAN(2 * paid) FROM visits".to_owned(),
        "SELECT STDDEV(2 * paid) FROM visits".to_owned(),
    ];
    let refused: Vec<String> = asked.iter().map(|sql| fixture.rows(sql)).collect();
    insta::assert_snapshot!(refused.join("\n"));
}

/// The total error of sums with chosen bounds against that with the best fixed bounds, for real
/// loans and payrolls at epsilon = 1: expected over the noise, and the mean square over choices.
/// Choices are at fixed seeds.
#[test]
fn bounds_of_loans_and_payrolls_are_nearly_the_best() {
    let tables = [
        ("ppp2020_georgia_partial.csv.gz", "Amount", "NAICS", 10_000),
        ("ppp2020_georgia_partial.csv.gz", "Amount", "FIPS", 1),
        ("qcew2016_county_naics6_private.csv.gz", "wages_q1", "naics6", 10_000),
        ("qcew2016_county_naics6_private.csv.gz", "wages_q1", "area_fips", 1_000),
    ];
    for (file, value, key, divisor) in tables {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(file);
        let Ok(file) = std::fs::File::open(&path) else {
            eprintln!("skipped: {} is not here", path.display());
            continue;
        };
        let mut text = String::new();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
        let mut lines = csv::Reader::from_reader(text.as_bytes());
        let headings = lines.headers().unwrap().clone();
        let index_of = |name: &str| headings.iter().position(|heading| heading == name).unwrap();
        let (value_index, key_index) = (index_of(value), index_of(key));
        let mut rows_of_unit: Vec<(i64, i64)> = Vec::new();
        for line in lines.records() {
            let line = line.unwrap();
            let number = |column: usize| line[column].trim().parse::<i64>().ok();
            if let (Some(value), Some(key)) = (number(value_index), number(key_index)) {
                rows_of_unit.push((key / divisor, value));
            }
        }
        let mut groups: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        rows_of_unit.iter().for_each(|(key, value)| groups.entry(*key).or_default().push(*value));
        let cut = |bound: f64| {
            let beyond = |values: &Vec<i64>| -> f64 {
                values.iter().map(|value| (*value as f64 - bound).max(0.0)).sum()
            };
            groups.values().map(|values| beyond(values).powi(2)).sum::<f64>() / groups.len() as f64
        };
        let noise = |bound: f64, epsilon: f64| 2.0 * (bound / epsilon).powi(2);
        let bounds_tried = (20..160).map(|step| 2f64.powf(f64::from(step) / 4.0));
        let best = bounds_tried.map(|b| cut(b) + noise(b, 1.0)).fold(f64::INFINITY, f64::min);

        let keys: Vec<String> = groups.keys().map(ToString::to_string).collect();
        let mut rows = "key,value\n".to_owned();
        rows_of_unit.iter().for_each(|(key, value)| rows += &format!("{key},{value}\n"));
        let contract = format!(
            "[tables.t]\npath = \"t.csv\"\nprivacy_unit = \"row\"\n[tables.t.columns]\n\
             key = {{ type = \"int\", public_keys = [{}] }}\n\
             value = {{ type = \"int\", bounds = \"auto\" }}\n\
             [tables.t.budgets]\nme = {{ epsilon = 100 }}\n",
            keys.join(", ")
        );
        // Once as it is asked, and then with histograms of other seeds.
        let fixture = Fixture::new(&contract, &[("t.csv", &rows)]);
        let sql = options("epsilon = 1") + " key, SUM(value) AS s FROM t GROUP BY key";
        let asked = bounds(&fixture.ask(&sql, 0).unwrap())[0];
        assert!(asked.0 == 0.0 && cut(asked.1) + noise(asked.1, 0.9) < 16.0 * best, "{asked:?}");
        let statement = SqlStatement::bind(&sql, fixture.session().contract()).unwrap();
        let quotes = [0, 1].map(|part| Quote::new(statement.parts[part].query.clone()).unwrap());
        let Noise::Single(units) = &quotes[0].noise()[0] else { panic!("noise of its own") };
        let units = units.additive().unwrap();
        // Buckets of values below zero, zero, and buckets above.
        let ends = size_buckets(&quotes[1].query().automatic().bounds[0].of);
        let mut exact = vec![0i128; 2 * ends.len() + 1];
        for (_, value) in &rows_of_unit {
            let above = ends.partition_point(|(low, _)| *low < *value as f64);
            exact[ends.len() + above] += 1;
        }
        let mut generator = TestSeed(7).generator();
        let mut ratios = Vec::new();
        for _ in 0..100 {
            let mut noisy = exact.clone();
            units.add(&mut generator, &mut noisy).unwrap();
            let sizes = (0..).zip(noisy).map(|(size, units)| (size, units as f64)).collect();
            let sizes = vec![(sizes, quotes[0].deviation(0).unwrap())];
            let (low, high) = chosen_limits(quotes[1].query(), &sizes).unwrap().0.bounds[0];
            assert!(low.is_zero());
            ratios.push((cut(high.to_f64()) + noise(high.to_f64(), 0.9)) / best);
        }
        let ratio = (ratios.iter().sum::<f64>() / ratios.len() as f64).sqrt();
        println!("{value} by {key} / {divisor}, {} groups: {ratio:.2}", groups.len());
        assert!(ratio <= 1.3, "{value} by {key}: {ratio}");
    }
}
