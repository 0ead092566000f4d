use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use hushtable_contract::IntervalRequest;

use crate::answer_table::Answer;
use crate::intervals::ColumnIntervals;
use crate::statement_plan::tests::ask;
use crate::tests::{Fixture, shown};

const CONTRACT: &str = r#"
[units.person.defaults]
epsilon = 0.2
delta = 1e-6
max_groups_contributed = 1
max_rows_per_group = 1
[units.person.budgets]
ana = { epsilon = 20, delta = 1e-3 }
[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }
[tables.people.columns]
id = { type = "int" }
town = { type = "string", public_keys = ["A", "B", "C"] }
sex = { type = "string", public_keys = ["f", "m"] }
village = { type = "string" }
age = { type = "int", bounds = [0, 100] }
pet = { type = "string" }
"#;

fn folder() -> Fixture {
    let mut people = "id,town,sex,village,age,pet\n".to_owned();
    for id in 0..4000 {
        // One in four is of a town that is not listed.
        let town = ["A", "B", "C", "D"][id % 4];
        let (sex, village) = (["f", "m"][id / 4 % 2], id % 16);
        people += &format!("{id},{town},{sex},v{village},{},cat\n", id % 90);
    }
    Fixture::new(CONTRACT, &[("people.csv", &people)])
}

const TEXT: [&str; 3] = ["town", "sex", "village"];

/// Each row: its texts, `None` for NULL, and its whole numbers.
fn rows(table: &RecordBatch) -> Vec<(Vec<Option<String>>, Vec<i64>)> {
    let schema = table.schema();
    let is_text = |at: &usize| TEXT.contains(&schema.field(*at).name().as_str());
    let columns = || 0..table.num_columns();
    (0..table.num_rows())
        .map(|row| {
            let text = |at: usize| {
                let column = table.column(at).as_string_view();
                (!column.is_null(row)).then(|| column.value(row).to_owned())
            };
            let number = |at: usize| table.column(at).as_primitive::<Int64Type>().value(row);
            let texts = columns().filter(is_text).map(text).collect();
            (texts, columns().filter(|at| !is_text(at)).map(number).collect())
        })
        .collect()
}

/// Pairs of each row and the sums of the rows that are of one more key and agree with it.
fn with_sums(table: &RecordBatch) -> Vec<(Vec<i64>, Vec<i64>)> {
    let rows = rows(table);
    let mut pairs = Vec::new();
    for (keys, numbers) in &rows {
        for free in (0..keys.len()).filter(|&key| keys[key].is_none()) {
            let mut sums = vec![0; numbers.len()];
            for (other_keys, numbers) in &rows {
                let agree = |key: usize| (key == free) != (other_keys[key] == keys[key]);
                if other_keys[free].is_some() && (0..keys.len()).all(agree) {
                    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
                }
            }
            pairs.push((numbers.clone(), sums));
        }
    }
    pairs
}

/// The mean width of the intervals of each column of numbers: all rows have one, which holds the
/// released number.
fn widths(answer: &Answer) -> Vec<f64> {
    let intervals = answer.intervals(IntervalRequest::USUAL).unwrap();
    let rows = answer.table.num_rows();
    let mut widths = Vec::new();
    for (released, ends) in answer.table.columns().iter().zip(&intervals.columns) {
        let ColumnIntervals::Ends { low, high } = ends else { continue };
        let [released, low, high] =
            [released, low, high].map(|column| column.as_primitive::<Int64Type>());
        assert_eq!((low.null_count(), high.null_count()), (0, 0));
        let within = |row: usize| (low.value(row)..=high.value(row)).contains(&released.value(row));
        assert!((0..rows).all(within));
        let width: i64 = (0..rows).map(|row| high.value(row) - low.value(row)).sum();
        widths.push(width as f64 / rows as f64);
    }
    widths
}

fn query(options: &str, rest: &str) -> String {
    format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {rest}")
}

#[test]
fn levels_of_public_keys_add_up_and_are_the_same_again() {
    let folder = folder();
    let rest = "town, sex, COUNT(*) AS n, SUM(age) AS years FROM people GROUP BY CUBE (town, sex)";
    let sql = query("consistent = true", rest);
    let first = ask(&folder, &sql, 1).unwrap();
    let pairs = with_sums(&first.table);
    assert_eq!((first.table.num_rows(), pairs.len()), (12, 7));
    for (whole, sums) in &pairs {
        assert_eq!(whole, sums);
    }
    // Rows of the town that is not listed are in no level.
    let total = rows(&first.table).into_iter().find(|(keys, _)| keys.iter().all(Option::is_none));
    let total = total.unwrap().1[0];
    assert!((2800..3200).contains(&total), "{total}");
    let again = ask(&folder, &sql, 2).unwrap();
    assert_eq!((again.charged(), shown(&again.table)), (None, shown(&first.table)));
    assert_eq!(again.statement, first.statement);
    // Not without the option.
    let plain = ask(&folder, &query("consistent = false", rest), 3).unwrap();
    let (adjusted_widths, plain_widths) = (widths(&first), widths(&plain));
    assert!(
        adjusted_widths.iter().zip(&plain_widths).all(|(adjusted, plain)| adjusted < plain),
        "{adjusted_widths:?} {plain_widths:?}"
    );
    assert!(with_sums(&plain.table).iter().any(|(whole, sums)| whole != sums));
}

#[test]
fn no_number_is_below_zero_on_request() {
    let folder = folder();
    let rest = "town, sex, COUNT(*) AS n FROM people WHERE age > 99 GROUP BY CUBE (town, sex)";
    let below = |sql: &str, seed| {
        let answer = ask(&folder, sql, seed).unwrap();
        for (whole, sums) in with_sums(&answer.table) {
            assert_eq!(whole, sums);
        }
        rows(&answer.table).iter().any(|(_, numbers)| numbers[0] < 0)
    };
    assert!(below(&query("consistent = true", rest), 4));
    assert!(!below(&query("consistent = non_negative", rest), 5));
    let answer = ask(&folder, &query("consistent = non_negative", rest), 5).unwrap();
    assert_eq!(widths(&answer).len(), 1);
}

#[test]
fn wholes_are_at_least_the_groups_that_are_shown() {
    for seed in 0..4 {
        let folder = folder();
        let rest = "town, village, COUNT(*) AS n FROM people GROUP BY ROLLUP (town, village)";
        let answer = ask(&folder, &query("epsilon = 1, consistent = true", rest), seed).unwrap();
        assert_eq!(widths(&answer).len(), 1);
        let (mut equal, mut visible) = (0, 0);
        for (keys, numbers) in rows(&answer.table) {
            let sum = |of: &dyn Fn(&[Option<String>]) -> bool| {
                let all = rows(&answer.table).into_iter().filter(|(keys, _)| of(keys));
                all.map(|(_, numbers)| numbers[0]).sum::<i64>()
            };
            match keys.as_slice() {
                // All towns are shown: public keys.
                [None, None] => {
                    assert_eq!(numbers[0], sum(&|k| k[0].is_some() && k[1].is_none()));
                }
                [town, None] => {
                    let villages = sum(&|k| k[0] == *town && k[1].is_some());
                    assert!(villages <= numbers[0], "{villages} of {town:?} are {}", numbers[0]);
                    equal += usize::from(villages == numbers[0]);
                }
                _ => visible += 1,
            }
        }
        // Of towns with all villages shown, some were less than their villages before.
        assert!(visible > 6, "{visible}");
        println!("{equal} of 3 towns are as much as their villages, of which {visible} are shown");
    }
}

#[test]
fn what_does_not_add_up_is_refused_before_the_charge() {
    let folder = folder();
    for (rest, reason) in [
        (
            "town, COUNT(DISTINCT pet) AS pets FROM people GROUP BY ROLLUP (town)",
            "is not the sum over the groups of a finer level",
        ),
        (
            "town, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((town), (sex), (village))",
            "need one level that has all of these keys",
        ),
        (
            "town, sex, COUNT(*) AS n FROM people \
             GROUP BY GROUPING SETS ((town, sex), (sex, town))",
            "the same keys in different orders",
        ),
    ] {
        let error = ask(&folder, &query("consistent = true", rest), 1).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
    let pets =
        "town, COUNT(DISTINCT id) AS n, MEDIAN(age) AS age FROM people GROUP BY ROLLUP (town)";
    let table = ask(&folder, &query("epsilon = 1, consistent = true", pets), 1).unwrap().table;
    assert_eq!(table.num_rows(), 4);
}

/// Rows of a person in several towns: a limit of one group leaves one of them at the level of
/// towns, and all in the total.
#[test]
fn levels_that_limits_cut_differently_stay_as_they_were_released() {
    let mut people = "id,town,sex,village,age,pet\n".to_owned();
    for id in 0..2000 {
        for town in ["A", "B", "C"] {
            people += &format!("{id},{town},f,v1,30,cat\n");
        }
    }
    let fixture = Fixture::new(CONTRACT, &[("people.csv", &people)]);
    let query = |options: &str| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2, max_rows_per_group = 5, \
             consistent = true{options}) town, COUNT(*) AS n FROM people GROUP BY ROLLUP (town) \
             ORDER BY town"
        );
        ask(&fixture, &sql, 5).unwrap()
    };
    let cut = query("");
    assert!(cut.statement.levels_misfit);
    assert!(cut.output.cut_off[0].contains("do not fit each other"), "{:?}", cut.output.cut_off);
    for (keys, numbers) in rows(&cut.table) {
        let exact = if keys[0].is_none() { 6000 } else { 667 };
        assert!((numbers[0] - exact).abs() < 200, "{keys:?} {numbers:?}");
    }
    let fits = query(", max_groups_contributed = 3");
    assert!(!fits.statement.levels_misfit);
    with_sums(&fits.table).into_iter().for_each(|(whole, sums)| assert_eq!(whole, sums));
}
