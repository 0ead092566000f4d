//! The work that one row adds to a query, counted in steps of the evaluator.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, StringViewArray};
use hushtable_contract::Contract;
use hushtable_lang::MAX_ROW_OPERATIONS;
use hushtable_numbers::search::last_whole;
use hushtable_plan::{PrivateQuery, bind};

use crate::bounding::Bounding;
use crate::eval::steps_of;
use crate::rows::RowProgram;

const CONTRACT: &str = r#"
[tables.t]
path = "t.csv"
privacy_unit = "row"
[tables.t.columns]
n = { type = "int" }
name = { type = "string" }
note = { type = "string" }
[tables.t.budgets]
ana = { epsilon = 1, delta = 1e-6 }
"#;

/// Conditions that are dear for a row, of text and of numbers.
fn terms() -> Vec<String> {
    let filler = "a".repeat(1000);
    let wild = "a_".repeat(40);
    vec![
        format!("name || '{filler}' LIKE '%a_a_a_a_a_a_a_a_a_a_b0%'"),
        format!("note LIKE '%{wild}b%{wild}c%'"),
        "note LIKE '%a%a%a%a%a%a%b%'".to_owned(),
        "UPPER(note) = 'A'".to_owned(),
        "LOWER(note) = 'A'".to_owned(),
        "TRIM(note) = ''".to_owned(),
        "note || note || note = note".to_owned(),
        "RIGHT(note, 1000) = name".to_owned(),
        "CAST(note AS FLOAT64) > 1".to_owned(),
        "CAST(SUBSTR(note, 1, 400) AS NUMERIC) > 1".to_owned(),
        "CAST(note AS TIMESTAMP) > TIMESTAMP '2020-01-01'".to_owned(),
        "LENGTH(CAST(SQRT(n) AS STRING)) = 1".to_owned(),
        "POWER(n, 0.3) = 1".to_owned(),
        "n IN (1, 2, 3)".to_owned(),
        "n + 1 > 2".to_owned(),
        "n = 1".to_owned(),
    ]
}

/// The query with as many conditions in its measure as are accepted, and no more.
fn dearest(term: &str, contract: &Contract) -> PrivateQuery {
    let bound = |terms: usize| {
        // In parts, as a chain of thousands inside of a call is nested too deep to be parsed.
        let chain = |terms: usize| format!("({})", vec![term; terms].join(" OR "));
        let lengths = (0..terms).step_by(40).map(|done| (terms - done).min(40));
        let all = lengths.map(chain).collect::<Vec<_>>().join(" OR ");
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) SUM(CAST({all} AS INT64), \
             contribution_bounds_per_group => (0, 1)) FROM t WHERE name = 'Ada'"
        );
        bind(&sql, contract)
    };
    assert!(bound(2000).is_err(), "{term}");
    let fits = last_whole(1, 2000, |terms| bound(terms).is_ok());
    // The simplest conditions come to their most nodes before.
    let refusal = bound(fits + 1).unwrap_err().to_string();
    let known = ["one row could cost", "more than 5000 parts"];
    assert!(known.iter().any(|words| refusal.contains(words)), "{term}: {refusal}");
    bound(fits).unwrap()
}

/// A batch of rows, one of them with that name.
fn batch(name: &str, note: &str) -> Vec<ArrayRef> {
    let mut names = vec!["Bo"; 50];
    names[17] = name;
    vec![
        Arc::new(StringViewArray::from(names)),
        Arc::new(Int64Array::from(vec![i64::MAX; 50])),
        Arc::new(StringViewArray::from(vec![note; 50])),
    ]
}

fn program(query: &PrivateQuery) -> RowProgram {
    RowProgram::new(&Bounding::new(query, false).unwrap()).unwrap()
}

#[test]
fn a_kept_row_adds_no_more_than_is_allowed() {
    let contract = Contract::parse(CONTRACT, "t.toml").unwrap();
    for term in terms() {
        let query = dearest(&term, &contract);
        let names: Vec<&str> = query.columns().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["n", "name", "note", "row"]);
        let program = program(&query);
        for note in ["a", " ", "1", "é", "ΐ", "Σ:", "日"] {
            let note = note.repeat(1024 / note.len());
            let steps = |name: &str| {
                let mut columns = batch(name, &note);
                columns.swap(0, 1);
                let (steps, rows) = steps_of(|| program.apply(&columns, None, 50).unwrap());
                (steps, rows.rows)
            };
            let ((with, one), (without, none)) = (steps("Ada"), steps("Eve"));
            assert_eq!((one, none), (1, 0));
            assert!(
                with.saturating_sub(without) <= MAX_ROW_OPERATIONS,
                "{term} on {note:.4}: {with} with the row, {without} without"
            );
        }
    }
}

/// A row whose values are NULL, among rows without any NULL, and a row of which an expression makes
/// the first NULL.
#[test]
fn the_first_null_costs_what_another_value_does() {
    let contract = Contract::parse(CONTRACT, "t.toml").unwrap();
    let terms = ["n = 1", "n + 1 > 2", "note LIKE '%a%b%'", "(n IS NULL) = (10 / n > 1)"];
    for term in terms {
        let query = dearest(term, &contract);
        let program = program(&query);
        let steps = |n: Option<i64>, note: Option<&str>| {
            let (mut ns, mut notes) = (vec![Some(7); 50], vec![Some("ab"); 50]);
            (ns[30], notes[30]) = (n, note);
            let columns: Vec<ArrayRef> = vec![
                Arc::new(Int64Array::from(ns)),
                Arc::new(StringViewArray::from(vec!["Ada"; 50])),
                Arc::new(StringViewArray::from(notes)),
            ];
            let (steps, rows) = steps_of(|| program.apply(&columns, None, 50).unwrap());
            assert_eq!(rows.rows, 50);
            steps
        };
        let value = steps(Some(7), Some("ab"));
        for (n, note) in [(None, Some("ab")), (Some(7), None), (None, None), (Some(0), Some("b"))] {
            let other = steps(n, note);
            assert!(
                other.abs_diff(value) <= MAX_ROW_OPERATIONS,
                "{term} with {n:?}, {note:?}: {other}, without {value}"
            );
        }
    }
}

/// The row of NULLs that is computed after others is no row of the query's.
#[test]
fn long_queries_give_what_short_ones_do() {
    let contract = Contract::parse(CONTRACT, "t.toml").unwrap();
    let rows = |terms: usize| {
        let same = vec!["(n IS NULL OR n > -5)"; terms].join(" AND ");
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) \
             name, COUNT(note), SUM(IF({same}, COALESCE(n, 3), 100), \
             contribution_bounds_per_group => (0, 200)) FROM t WHERE name <> 'Bo' GROUP BY name"
        );
        let program = program(&bind(&sql, &contract).unwrap());
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![Some(1), None, Some(-9), Some(4)])),
            Arc::new(StringViewArray::from(vec![
                Some("Ada"),
                Some("Eve"),
                Some("Eve"),
                Some("Bo"),
            ])),
            Arc::new(StringViewArray::from(vec![None, Some("x"), Some("y"), None])),
        ];
        let rows = program.apply(&columns, None, 4).unwrap();
        let names: Vec<Option<String>> = rows.keys[0]
            .as_any()
            .downcast_ref::<StringViewArray>()
            .unwrap()
            .iter()
            .map(|name| name.map(str::to_owned))
            .collect();
        let measures: Vec<Vec<Option<i64>>> =
            rows.values.iter().map(|m| m.iter().collect()).collect();
        (rows.rows, names, measures)
    };
    let short = rows(1);
    assert_eq!(short.0, 3);
    assert_eq!(short.2, [vec![None, Some(1), Some(1)], vec![Some(1), Some(3), Some(100)]]);
    assert_eq!(rows(60), short);
}

/// Partitions and batches without any row begin as those with some do.
#[test]
fn a_first_row_costs_what_a_further_one_does() {
    let contract = Contract::parse(CONTRACT, "t.toml").unwrap();
    let query = dearest("n = 1", &contract);
    let program = program(&query);
    let mut columns = batch("Ada", "a");
    columns.swap(0, 1);
    let steps = |rows: usize| {
        let some: Vec<ArrayRef> = columns.iter().map(|c| c.slice(17, rows)).collect();
        steps_of(|| program.apply(&some, None, rows).unwrap()).0
    };
    assert!(steps(1).abs_diff(steps(0)) <= MAX_ROW_OPERATIONS);
    assert!(steps(0) > 10 * MAX_ROW_OPERATIONS, "{}", steps(0));
}

#[test]
fn text_beyond_the_columns_most_is_null() {
    let contract = CONTRACT.replace("name = { type", "name = { max_bytes = 3, type");
    let contract = Contract::parse(&contract, "t.toml").unwrap();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) name, COUNT(*) \
               FROM t GROUP BY name";
    let program = program(&bind(sql, &contract).unwrap());
    let names: ArrayRef = Arc::new(StringViewArray::from(vec!["Ada", "Adam", "", "éé", "aé"]));
    let filler: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let rows = program.apply(&[filler.clone(), names, filler], None, 5).unwrap();
    let keys = rows.keys[0].as_any().downcast_ref::<StringViewArray>().unwrap();
    let want = [Some("Ada"), None, Some(""), None, Some("aé")];
    assert_eq!(keys.iter().collect::<Vec<_>>(), want);
}
