//! Bounds that are learnt once, and used by later questions.

use std::collections::BTreeMap;

use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use hushtable_contract::LearntBounds;
use hushtable_noise::TestSeed;
use hushtable_plan::{Learning, LearntColumns, PrivateQuery, WarningCode};
use hushtable_privacy::Loss;
use hushtable_quote::Quote;

use super::{Fixture, Wait, json, shown};
use crate::answer_table::Answer;
use crate::ask::Purpose;
use crate::contributions::SamplingKey;
use crate::error::EngineError;
use crate::exact::OwnerScan;
use crate::owner::AuditOptions;
use crate::progress::Progress;
use crate::statement::Statement;
use crate::survey::ScanOptions;

const CONTRACT: &str = r#"
[units.person.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 4
max_rows_per_group = 2
[units.person.budgets]
ana = { epsilon = 1000, delta = 1e-3 }
ben = { epsilon = 1000, delta = 1e-3 }
[tables.visits]
path = "visits.csv"
unit = { of = "person", column = "id" }
[tables.visits.columns]
id = { type = "int" }
shop = { type = "int", public_keys = [0, 1, 2, 3] }
paid = { type = "int", bounds = "auto" }
tip = { type = "float" }
age = { type = "int", bounds = [0, 100] }
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
[tables.firms.columns]
town = { type = "string", public_keys = ["A", "B"] }
profit = { type = "decimal(2)", bounds = "auto" }
[tables.firms.budgets]
ana = { epsilon = 1000 }
"#;

type Visit = (u32, u32, i64);

fn visits() -> Vec<Visit> {
    (0..4000u32).map(|row| (row / 4, row % 4, i64::from(row / 4 % 50) + 1)).collect()
}

fn text(visits: &[Visit]) -> (String, String) {
    let mut people = "id,shop,paid,tip,age\n".to_owned();
    let mut firms = "town,profit\n".to_owned();
    for (id, shop, paid) in visits {
        people += &format!("{id},{shop},{paid},{}.5,40\n", -paid);
        firms += &format!("A,{paid}.25\n");
    }
    (people, firms)
}

fn fixture_of(visits: &[Visit]) -> Fixture {
    let (people, firms) = text(visits);
    Fixture::new(CONTRACT, &[("visits.csv", &people), ("firms.csv", &firms)])
}

fn named(columns: &[&str]) -> LearntColumns {
    LearntColumns::Named(columns.iter().map(|&column| column.to_owned()).collect())
}

fn epsilon(text: &str) -> Option<Loss> {
    Some(Loss::pure(text.parse().unwrap()))
}

/// The statement of a question from which bounds are learnt, and what it was charged.
fn learn(
    fixture: &Fixture,
    (table, columns): (&str, &LearntColumns),
    loss: Option<Loss>,
    analyst: &str,
) -> Result<(Statement, Option<Loss>), EngineError> {
    let progress = Progress::default();
    let of = (table, columns);
    let session = fixture.session();
    let plan = session.plan_learning(of, loss, Some(analyst), Purpose::Answer, &progress).wait()?;
    let (mut charged, mut generator) = (None, TestSeed(5).generator());
    let released = plan.release_with(
        &mut generator,
        |charges| charged = charges.accounts[0].charged,
        |_| Ok::<_, EngineError>(None),
    );
    let (statement, _) = released.wait()?;
    Ok((statement, charged))
}

/// The bounds of the only column that has any.
fn only(fixture: &Fixture, table: &str) -> LearntBounds {
    let mut all = on_record(fixture, table, "ana");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn on_record(fixture: &Fixture, table: &str, analyst: &str) -> Vec<LearntBounds> {
    let session = fixture.session();
    let table = session.contract().table(table).unwrap();
    session.learnt_of(table, Some(analyst)).unwrap()
}

/// An answer in a process of its own, as far as the session goes.
fn ask(fixture: &Fixture, sql: &str, analyst: &str) -> Result<Answer, EngineError> {
    let mut generator = TestSeed(1).generator();
    let progress = Progress::default();
    let asked = fixture.session();
    let asked = asked.query_with(sql, Some(analyst), &progress, &mut generator).wait();
    asked.map(|(answer, _)| answer)
}

fn used(answer: &Answer) -> &[LearntBounds] {
    &answer.statement.last_release().unwrap().explanation.learnt_bounds
}

#[test]
fn bounds_are_learnt_once_and_free_afterwards() {
    let fixture = fixture_of(&visits());
    // All rows of a column are 1 to 50, and those of the other -50.5 to -1.5.
    let columns = LearntColumns::All;
    let (statement, charged) = learn(&fixture, ("visits", &columns), epsilon("2"), "ana").unwrap();
    assert_eq!(charged.unwrap().to_string(), "epsilon = 2");
    let losses: Vec<String> =
        statement.parts.iter().map(|part| part.release.explanation.total.to_string()).collect();
    assert_eq!(losses, ["epsilon = 1", "epsilon = 1"]);
    let bounds = on_record(&fixture, "visits", "ana");
    let [paid, tip] = bounds.as_slice() else { panic!("{bounds:?}") };
    assert_eq!((paid.column.as_str(), tip.column.as_str()), ("paid", "tip"));
    assert!(paid.is_sure && tip.is_sure && !paid.of_earlier_data);
    assert!(paid.low.is_zero() && (45.0..=80.0).contains(&paid.high.to_f64()), "{paid:?}");
    assert!(tip.high.is_zero() && (-80.0..=-45.0).contains(&tip.low.to_f64()), "{tip:?}");
    // Asked again, it is free, and it is the same.
    let again = learn(&fixture, ("visits", &columns), epsilon("2"), "ana").unwrap();
    assert_eq!(again, (statement, None));

    // Whatever has bounds of rows has them from the record, for the price of the question alone.
    let options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 4)";
    for (what, columns) in [
        ("shop, SUM(paid) AS a FROM visits GROUP BY shop", vec![paid]),
        ("AVG(tip) AS a, AVG(paid) AS b FROM visits", vec![tip, paid]),
        ("MEDIAN(paid) AS a FROM visits", vec![paid]),
        ("STDDEV(tip) AS a FROM visits", vec![tip]),
        ("shop, SUM(paid) AS a FROM visits GROUP BY ROLLUP (shop)", vec![paid]),
    ] {
        let sql = format!("{options} {what}");
        let answer = ask(&fixture, &sql, "ana").unwrap();
        assert_eq!(answer.charged().unwrap().to_string(), "epsilon = 4", "{what}");
        assert!(answer.statement.parts.iter().all(|part| !part.is_histogram), "{what}");
        assert_eq!(used(&answer), columns.into_iter().cloned().collect::<Vec<_>>(), "{what}");
        let again = ask(&fixture, &sql, "ana").unwrap();
        assert_eq!((again.charged(), again.statement), (None, answer.statement), "{what}");
    }
    // It is the question with these bounds written out.
    let written = format!(
        "{options} shop, SUM(paid, contribution_bounds_per_row => ({}, {})) AS a \
         FROM visits GROUP BY shop",
        paid.low, paid.high
    );
    assert_eq!(ask(&fixture, &written, "ana").unwrap().charged(), None);
    // A query's bounds and the contract's come first.
    for what in [
        "SUM(paid, contribution_bounds_per_row => (0, 7)) AS a FROM visits",
        "SUM(paid, contribution_bounds_per_group => (0, 7)) AS a FROM visits",
        "SUM(age) AS a FROM visits",
    ] {
        assert!(used(&ask(&fixture, &format!("{options} {what}"), "ana").unwrap()).is_empty());
    }
    // Conditions leave less.
    let sql = format!("{options} SUM(paid) AS a FROM visits WHERE paid BETWEEN 2 AND 9");
    let answer = ask(&fixture, &sql, "ana").unwrap();
    let measured = &answer.statement.last_release().unwrap().explanation.measurements;
    let rows = measured.iter().filter_map(|m| m.per_row.as_ref());
    assert_eq!(rows.map(|row| row.bounds).collect::<Vec<_>>(), [(2.0, 9.0)]);
}

/// Records of one analyst are nobody else's: bounds would tell others of a release that their
/// budgets have not paid for.
#[test]
fn nobody_uses_what_another_has_learnt() {
    let fixture = fixture_of(&visits());
    let columns = named(&["paid", "tip"]);
    learn(&fixture, ("visits", &columns), epsilon("2"), "ana").unwrap();
    assert!(on_record(&fixture, "visits", "ben").is_empty());
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 4) shop, SUM(paid) AS a \
               FROM visits GROUP BY shop";
    // His question pays for limits of its own, and where none are chosen it is refused.
    let answer = ask(&fixture, sql, "ben").unwrap();
    assert_eq!(answer.statement.parts.iter().filter(|part| part.is_histogram).count(), 1);
    assert!(used(&answer).is_empty());
    let sql = "SELECT SUM(tip) AS a FROM visits";
    assert!(ask(&fixture, sql, "ana").is_ok());
    let refused = ask(&fixture, sql, "ben").unwrap_err().to_string();
    assert!(refused.contains("has no bounds"), "{refused}");
    // He pays for the same question, and gets noise of his own.
    let (statement, charged) = learn(&fixture, ("visits", &columns), epsilon("2"), "ben").unwrap();
    assert_eq!(charged.unwrap().to_string(), "epsilon = 2");
    assert_eq!(statement.analyst, "ben");
    assert_eq!(on_record(&fixture, "visits", "ben").len(), 2);
}

/// Bounds of earlier data are constants, and stay in use until newer ones are on record.
#[test]
fn bounds_of_earlier_data_are_used_and_named() {
    let fixture = fixture_of(&visits());
    let columns = named(&["profit"]);
    learn(&fixture, ("firms", &columns), epsilon("2"), "ana").unwrap();
    let before = only(&fixture, "firms");
    let larger: Vec<Visit> = visits().into_iter().map(|(id, shop, p)| (id, shop, 30 * p)).collect();
    let file = fixture.contract().with_file_name("firms.csv");
    std::fs::write(file, text(&larger).1).unwrap();
    let now = only(&fixture, "firms");
    assert_eq!(now, LearntBounds { of_earlier_data: true, ..before.clone() });
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) SUM(profit) AS a FROM firms";
    assert_eq!(used(&ask(&fixture, sql, "ana").unwrap()), [now]);

    // Asked about new data, it is a new question, and is charged.
    let (_, charged) = learn(&fixture, ("firms", &columns), epsilon("2"), "ana").unwrap();
    assert_eq!(charged.unwrap().to_string(), "epsilon = 2");
    let newest = only(&fixture, "firms");
    assert!(!newest.of_earlier_data && newest.high.to_f64() > 10.0 * before.high.to_f64());
    let answer = ask(&fixture, sql, "ana").unwrap();
    assert_eq!(used(&answer), [newest]);
    assert_eq!(answer.charged().unwrap().to_string(), "epsilon = 1");
}

/// Owners look at a question as the analyst asks it who alone has budgets on its tables.
#[test]
fn owners_look_at_questions_with_learnt_bounds() {
    let fixture = fixture_of(&visits());
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) SUM(profit) AS a, \
               MEDIAN(profit) AS b FROM firms";
    let (session, progress) = (fixture.session(), Progress::default());
    let options = AuditOptions { runs: 1_000, units: 1, confidence: 0.99, delta: None };
    assert!(session.check_data(None, Some(sql), &progress).wait().is_err());
    assert!(session.tune(sql, &progress).wait().is_err());
    assert!(session.audit(sql, &options, &progress).wait().is_err());
    for table in ["firms", "visits"] {
        learn(&fixture, (table, &LearntColumns::Automatic), epsilon("2"), "ana").unwrap();
    }
    let checked = session.check_data(None, Some(sql), &progress).wait().unwrap();
    assert!(checked.tables.iter().any(|table| table.query.is_some()));
    assert_eq!(session.tune(sql, &progress).wait().unwrap().population, "firms");
    let report = session.audit(sql, &options, &progress).wait().unwrap();
    assert!(!report.violation);
    session.physical_plan(sql).wait().unwrap();
    // Two analysts have budgets on it, of whom one has learnt.
    let of_two = "SELECT AVG(paid) AS a FROM visits";
    assert!(session.check_data(None, Some(of_two), &progress).wait().is_err());
}

/// Bounds that noise may have decided have a warning each time.
#[test]
fn bounds_that_are_not_clear_have_a_warning() {
    let fixture = fixture_of(&visits()[..40]);
    learn(&fixture, ("visits", &LearntColumns::Automatic), epsilon("0.01"), "ana").unwrap();
    let bounds = only(&fixture, "visits");
    assert!(!bounds.is_sure);
    for _ in 0..2 {
        let answer = ask(&fixture, "SELECT SUM(paid) AS a FROM visits", "ana").unwrap();
        let warnings = &answer.statement.last_release().unwrap().explanation.warnings;
        let codes: Vec<WarningCode> = warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, [WarningCode::UncertainLimit]);
    }
}

#[test]
fn what_cannot_be_learnt_is_refused_and_costs_nothing() {
    let fixture = fixture_of(&visits()[..40]);
    let refused = [
        ("nowhere", LearntColumns::All),
        ("visits", named(&["pad"])),
        ("visits", named(&["id"])),
        ("visits", named(&["age"])),
    ];
    let texts: Vec<String> = refused
        .iter()
        .map(|(table, columns)| {
            learn(&fixture, (table, columns), epsilon("1"), "ana").unwrap_err().to_string()
        })
        .chain([learn(&fixture, ("firms", &LearntColumns::All), None, "ana")
            .unwrap_err()
            .to_string()])
        .collect();
    insta::assert_snapshot!(texts.join("\n"));
    assert!(!fixture.session().ledger_path().exists());
}

/// Without a price of its own it takes a tenth of the contract's default.
#[test]
fn a_tenth_is_the_price() {
    let fixture = fixture_of(&visits());
    let columns = LearntColumns::All;
    let (_, charged) = learn(&fixture, ("visits", &columns), None, "ana").unwrap();
    assert_eq!(charged.unwrap().to_string(), "epsilon = 0.1");
}

/// The exact histograms of a question from which bounds are learnt.
fn histograms(table: &str, visits: &[Visit]) -> Vec<BTreeMap<String, i64>> {
    let fixture = fixture_of(visits);
    let session = fixture.session();
    let contract = session.contract();
    let learning = Learning::new(contract, table, &LearntColumns::All, epsilon("1")).unwrap();
    let of = |query: &PrivateQuery| {
        let quote = Quote::new(query.clone()).unwrap();
        let data = session.data_of_query(query).unwrap();
        let progress = Progress::default();
        let exact = async {
            let reading = progress.reading();
            let scan = OwnerScan::plan(&quote, &data, &reading, session.memory()).await.unwrap();
            scan.look(SamplingKey([3; 16]), ScanOptions::default()).await.unwrap().exact
        };
        let exact = exact.wait();
        let options = FormatOptions::default();
        let sizes = ArrayFormatter::try_new(exact.keys[0].as_ref(), &options).unwrap();
        let size = |group: usize| (sizes.value(group).to_string(), exact.units[group]);
        let all = (0..exact.units.len()).map(size);
        all.filter(|(_, units)| *units != 0).collect()
    };
    learning.statement.parts.iter().map(|part| of(&part.query)).collect()
}

/// One more unit, with one row or with hundreds of whatever values, is one more in one bucket of
/// each column's histogram. So is a row that is a unit.
#[test]
fn a_unit_with_many_rows_moves_one_bucket_by_one() {
    let rest: Vec<Visit> = (0..200u32).map(|row| (row / 5, row % 4, i64::from(row) - 90)).collect();
    let spread = |row: u32| 3i64.pow(row % 20) * if row.is_multiple_of(2) { 1 } else { -1 };
    for rows in [1, 2, 7, 300] {
        for (table, added) in [("visits", rows), ("firms", 1)] {
            let mut more = rest.clone();
            more.extend((0..added).map(|row| (900, row % 4, spread(row))));
            let (with, without) = (histograms(table, &more), histograms(table, &rest));
            assert_eq!(with.len(), if table == "visits" { 2 } else { 1 });
            for (with, without) in with.iter().zip(&without) {
                let size = |of: &BTreeMap<String, i64>| of.values().sum::<i64>();
                assert_eq!(size(with) - size(without), 1, "{table} {rows}");
                let apart = |size: &&String| with.get(*size) != without.get(*size);
                assert_eq!(with.keys().filter(apart).count(), 1, "{table} {rows}");
                assert!(without.keys().all(|size| with.contains_key(size)));
            }
        }
    }
}

/// The statement says all of it, and `explain` the same.
#[test]
fn the_statement_and_the_quote_say_where_bounds_are_from() {
    let fixture = fixture_of(&visits());
    learn(&fixture, ("firms", &LearntColumns::Automatic), epsilon("2"), "ana").unwrap();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) AVG(profit) AS a FROM firms";
    let quoted = fixture.session().explain(sql, Some("ana")).wait().unwrap();
    let answer = ask(&fixture, sql, "ana").unwrap();
    let [of_quote] = quoted.parts[0].explanation.learnt_bounds.as_slice() else { panic!("none") };
    assert_eq!(used(&answer), std::slice::from_ref(of_quote));
    let release = json(&answer.statement.last_release().unwrap());
    for at in ["/learnt_bounds/0", "/query/learnt/0"] {
        let mut bounds = release.pointer(at).unwrap().clone();
        assert!(bounds["released_at"].as_u64().unwrap() > 1_700_000_000);
        bounds["released_at"] = 0.into();
        insta::allow_duplicates! { insta::assert_snapshot!(bounds.to_string()) };
    }
    assert!(shown(&answer.table).trim().parse::<f64>().is_ok());
}

/// Bounds that are best for all rows would cut large values off where these are asked for alone,
/// and a query that has its bounds chosen for itself has them so.
#[test]
fn what_asks_for_large_values_alone_has_other_bounds() {
    let fixture = fixture_of(&visits());
    learn(&fixture, ("visits", &named(&["paid"])), epsilon("2"), "ana").unwrap();
    for (options, condition, is_learnt) in [
        ("epsilon = 4", "paid > 40", false),
        ("epsilon = 4", "paid BETWEEN 40 AND 1000", false),
        ("epsilon = 4, bounds = AUTO", "TRUE", false),
        ("epsilon = 4", "paid < 9", true),
        ("epsilon = 4", "paid > 2", true),
    ] {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) SUM(paid) AS a FROM visits \
             WHERE {condition}"
        );
        let answer = ask(&fixture, &sql, "ana").unwrap();
        assert_eq!(used(&answer).len(), usize::from(is_learnt), "{sql}");
        let measured = &answer.statement.last_release().unwrap().explanation.measurements;
        let high = measured[0].per_row.as_ref().map(|row| row.bounds.1);
        if condition == "paid < 9" {
            assert_eq!(high, Some(8.0));
        }
    }
}

/// A record with more noise does not replace a better one, and a release says where all of its
/// bounds are from, whichever of its aggregates are shown.
#[test]
fn the_best_record_counts_and_is_named_by_all_of_its_release() {
    let fixture = fixture_of(&visits());
    learn(&fixture, ("visits", &named(&["paid"])), epsilon("2"), "ana").unwrap();
    let best = only(&fixture, "visits");
    learn(&fixture, ("visits", &named(&["paid"])), epsilon("0.5"), "ana").unwrap();
    assert_eq!(only(&fixture, "visits"), best);
    let options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 4)";
    let sql = format!("{options} SUM(paid) AS a, COUNT(*) AS n FROM visits");
    assert_eq!(used(&ask(&fixture, &sql, "ana").unwrap()), std::slice::from_ref(&best));
    let fewer = ask(&fixture, &format!("{options} COUNT(*) AS n FROM visits"), "ana").unwrap();
    assert_eq!((fewer.charged(), used(&fewer)), (None, &[best][..]));
}
