//! Every refusal of a query, word for word.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use std::fmt::Write as _;

use hushtable_contract::Contract;
use hushtable_lang::ColumnType;
use hushtable_plan::{SqlStatement, bind, bind_count_release};
use hushtable_quote::Quote;

/// The error of every query, under the query.
fn refusals(queries: &[&str]) -> String {
    let contract = common::contract();
    let mut report = String::new();
    for query in queries {
        let refusal = match bind(query, &contract).and_then(Quote::new) {
            Ok(_) => "ACCEPTED".to_owned(),
            Err(refusal) => refusal.to_string(),
        };
        writeln!(report, "{query}\n-> {refusal}\n").unwrap();
    }
    report
}

#[test]
fn clauses() {
    insta::assert_snapshot!(refusals(&[
        "SELEC 1",
        "",
        "SELECT COUNT(*) FROM loans; SELECT COUNT(*) FROM loans",
        "DELETE FROM loans",
        "WITH x AS (SELECT 1) SELECT COUNT(*) FROM x",
        "SELECT COUNT(*) FROM loans UNION ALL SELECT COUNT(*) FROM loans",
        "SELECT DISTINCT county FROM loans",
        "SELECT DISTINCT county, COUNT(*) FROM loans GROUP BY county, amount",
        "SELECT DISTINCT ON (county) county FROM loans",
        "SELECT DISTINCT 1 FROM loans",
        "SELECT * FROM loans",
        "SELECT county FROM loans",
        "SELECT county, COUNT(*) FROM loans",
        "SELECT COUNT(*)",
        "SELECT COUNT(*) FROM nowhere",
        "SELECT COUNT(*) FROM loans, posts",
        "SELECT COUNT(*) FROM loans JOIN posts ON true",
        "SELECT COUNT(*) FROM (SELECT * FROM loans)",
        "SELECT COUNT(*) FROM UNNEST([1, 2])",
        "SELECT COUNT(*) FROM loans, UNNEST(SPLIT(county, ',')) AS part",
        "SELECT county, COUNT(*) FROM loans GROUP BY ROLLUP (county)",
        "SELECT county, COUNT(*) FROM loans GROUP BY ALL",
        "SELECT COUNT(*) FROM loans GROUP BY 1",
        "SELECT COUNT(*) FROM loans GROUP BY 7",
        "SELECT 1 FROM loans",
        "SELECT lang FROM posts GROUP BY lang",
        "SELECT county, COUNT(*) FROM loans GROUP BY county ORDER BY ALL",
        "SELECT county, COUNT(*) FROM loans GROUP BY county ORDER BY 5",
        "SELECT county, COUNT(*) FROM loans GROUP BY county LIMIT -1",
        "SELECT county, COUNT(*) FROM loans GROUP BY county QUALIFY true",
        "SELECT county, COUNT(*) FROM loans GROUP BY county HAVING COUNT(*)",
        "SELECT COUNT(*) FROM loans WHERE amount",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) author, COUNT(DISTINCT author) \
         FROM posts GROUP BY author",
    ]));
}

#[test]
fn options() {
    let with = |options: &str| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) forum, COUNT(DISTINCT author) \
             FROM posts GROUP BY forum"
        )
    };
    let queries: Vec<String> = [
        "",
        "epsilon = 1",
        "epsilon = 1, delta = 1e-6",
        "epsilon = 1, rho = 1",
        "epsilon = 1, report_format = JSON",
        "epsilon = 1, quantile_intervals = 95, report_format = VALUES",
        "epsilon = 1, quantile_intervals = 90, intervals = 95",
        "epsilon = 0, delta = 1e-6, max_groups_contributed = 1",
        "epsilon = -1",
        "epsilon = 1e-13",
        "epsilon = lots",
        "epsilon = 1, delta = 1, max_groups_contributed = 1",
        "epsilon = 1, delta = 1e-6, max_groups_contributed = 0",
        "epsilon = 1, delta = 1e-6, max_groups_contributed = 1.5",
        "epsilon = 1, delta = 1e-6, max_groups_contributed = 1, group_selection_strategy = BEST",
        "epsilon = 1, delta = 1e-6, max_groups_contributed = 1, group_selection_weight = 0",
        "epsilon = 1, privacy_unit_column = forum",
        "epsilon = 1, neighbouring = replace",
        "epsilon = 1, kappa = 3",
        "epsilon = 1, epsilon = 2",
        "epsilon 1",
        "epsilon = 1e-12, delta = 1e-6, max_groups_contributed = 1000",
    ]
    .map(with)
    .to_vec();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    insta::assert_snapshot!(refusals(&queries));
}

#[test]
fn aggregates() {
    let with = |select: &str| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
             max_groups_contributed = 2) {select} FROM posts GROUP BY forum"
        )
    };
    let queries: Vec<String> = [
        "COUNT(*)",
        "COUNT(forum, 1)",
        "COUNT(DISTINCT forum)",
        "COUNT(DISTINCT author, contribution_bounds_per_group => (0, 1))",
        "SUM(DISTINCT score)",
        "SUM(*)",
        "SUM(forum)",
        "SUM(weight)",
        "SUM(score + 1)",
        "SUM(score, contribution_bounds_per_group => (5, 1))",
        "SUM(score, contribution_bounds_per_group => (0, score))",
        "SUM(score, contribution_bounds_per_group => 5)",
        "SUM(score, contribution_bounds_per_group => (0, 0))",
        "SUM(score, contribution_bounds_per_group => (0, 1e30))",
        "SUM(weight, contribution_bounds_per_group => (0, 0.01))",
        "SUM(score, weight => 0)",
        "SUM(score, report_format => 'JSON')",
        "SUM(score, limits => (0, 1))",
        "SUM(SUM(score))",
        "AVG(score)",
        "MIN(score)",
        "MAX(score)",
        "COUNT(*) OVER ()",
        "COUNT(*) FILTER (WHERE score)",
        "COUNT(*) FILTER (WHERE MAX(score) > 1)",
        "COUNTIF(score)",
        "COUNTIF(score > 3, contribution_bounds_per_row => (0, 1))",
        "SUM(IF(score > 3, score, 7))",
        "STDDEV(score)",
        "score",
        "nonsense",
        "COUNT(*, contribution_bounds_per_group => (0, 0))",
        "MEDIAN(score)",
        "MEDIAN(forum)",
        "MEDIAN(weight)",
        "MEDIAN(score, 0.5)",
        "MEDIAN(DISTINCT score)",
        "MEDIAN(score + 1)",
        "MEDIAN(score, contribution_bounds_per_group => (0, 5))",
        "MEDIAN(score, contribution_bounds_per_row => (5, 0))",
        "MEDIAN(weight, contribution_bounds_per_row => (0.01, 0.02))",
        "MEDIAN(score, contribution_bounds_per_row => (0, 1e30))",
        "MEDIAN(score, mechanism => 'LOG')",
        "MEDIAN(score, offset => 5)",
        "PERCENTILE_CONT(score)",
        "PERCENTILE_CONT(score, 1)",
        "PERCENTILE_CONT(score, 0)",
        "PERCENTILE_CONT(score, 0.99999)",
        "PERCENTILE_CONT(score, score)",
        "PERCENTILE_CONT(score, 0.5) OVER ()",
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY score)",
        "PERCENTILE_DISC(score, 0.5)",
        "APPROX_QUANTILES(score, 2)",
        "SUM(score) WITHIN GROUP (ORDER BY score)",
        "SUM(score, contribution_bounds_per_row => (0, 5))",
        "SUM(score, contribution_bounds_per_row => (0, 5), \
         contribution_bounds_per_group => (0, 9))",
        "SUM(score, contribution_bounds_per_row => (0, 0))",
        "SUM(score, contribution_bounds_per_row => (0, 1e30))",
        "COUNT(score, contribution_bounds_per_row => (0, 5))",
        "SUM(EXTRACT(MONTH FROM posted))",
        "SUM(LENGTH(forum))",
        "AVG(weight / 2)",
        "SUM(MEDIAN(score))",
    ]
    .map(with)
    .to_vec();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    insta::assert_snapshot!(refusals(&queries));
}

/// How many rows of a unit count must be known, and rows that are bounded one by one can still be
/// too many.
#[test]
fn averages_of_units_with_several_rows() {
    let with = |rows: u32, select: &str| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
             max_groups_contributed = 2, max_rows_per_group = {rows}) {select} FROM posts \
             GROUP BY forum"
        )
    };
    let queries = [
        with(3, "AVG(score)"),
        with(3, "AVG(score, contribution_bounds_per_group => (0, 0))"),
        with(3, "AVG(score, contribution_bounds_per_row => (0, 5))"),
        with(3, "AVG(IF(score >= 5, 1, 0))"),
        with(1, "AVG(score)"),
        with(1_000_000_000, "SUM(weight, contribution_bounds_per_row => (0, 1e9))"),
    ];
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    insta::assert_snapshot!(refusals(&queries));
}

/// Conditions that cannot mean what they say.
#[test]
fn conditions() {
    let loans = |condition: &str| format!("SELECT COUNT(*) FROM loans WHERE {condition}");
    let posts = |select: &str| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
             max_groups_contributed = 2, max_rows_per_group = 1) {select}"
        )
    };
    let queries = [
        loans("county = NULL"),
        loans("NULL <> county"),
        loans("amount > CAST(NULL AS FLOAT64)"),
        loans("amount BETWEEN 1 AND NULL"),
        loans("CASE county WHEN NULL THEN TRUE ELSE FALSE END"),
        loans("NULLIF(county, NULL) = 'x'"),
        loans("\"county\" = 'x'"),
        loans("county = \"COUNTY\""),
        loans("county IN ('a', \"amount\")"),
        loans("county LIKE \"county\""),
        "SELECT COUNT(\"county\") FROM loans".to_owned(),
        "SELECT COUNT(*) FROM loans GROUP BY \"county\"".to_owned(),
        "SELECT COUNT(*) FROM loans GROUP BY \"county \"".to_owned(),
        "SELECT COUNT(*) FROM loans GROUP BY 'county'".to_owned(),
        "SELECT county, COUNT(*) AS n FROM loans GROUP BY county HAVING \"n\" > '3'".to_owned(),
        "SELECT county, COUNT(*) AS n FROM loans GROUP BY county ORDER BY \"n\"".to_owned(),
        "SELECT county, COUNT(*) AS n FROM loans GROUP BY county HAVING COUNT(*) = NULL".to_owned(),
        posts("lang, COUNT(*) FROM posts WHERE lang = 'DE ' GROUP BY lang"),
        posts("lang, COUNT(*) FROM posts WHERE lang IN ('es', 'it') AND score > 3 GROUP BY lang"),
        posts("year, COUNT(*) FROM posts WHERE year = 2023 GROUP BY year"),
        posts("lang, COUNT(*) FROM posts WHERE lang IN ('es', 'de') GROUP BY lang"),
        loans("county = \"elsewhere\""),
        loans(r"REGEXP_CONTAINS(county, '^\d+$')"),
        loans(r"county LIKE '%\_%'"),
        loans(r#"county IN ('x', "it's \w")"#),
        loans("county = '''two\nlines \\x4'''"),
        loans(r"county = r'\'"),
        loans(r"county = '\ud800'"),
        loans("county LIKE 'x'"),
    ];
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    insta::assert_snapshot!(refusals(&queries));
}

#[test]
fn expressions() {
    let with = |condition: &str| format!("SELECT COUNT(*) FROM loans WHERE {condition}");
    let queries: Vec<String> = [
        "nonsense > 1",
        "amount > 'a'",
        "amount AND true",
        "NOT amount",
        "county + 1 > 0",
        "county LIKE county",
        "county REGEXP 'a'",
        "county IN (SELECT county FROM loans)",
        "county IN ('a', NULL)",
        "EXISTS (SELECT 1)",
        "RAND() < 0.5",
        "CURRENT_TIMESTAMP > TIMESTAMP '2020-01-01'",
        "CURRENT_DATE('UTC') > DATE '2020-01-01'",
        "county ILIKE county",
        "WIDTH_BUCKET(amount, 5, 1, 10) = 1",
        "RANGE_BUCKET(amount, [5, 1]) = 1",
        "REPLACE(county, county, '') = ''",
        "SPLIT_PART(county, '/', 0) = ''",
        "county -> 'a' = 'b'",
        "county ->> county = 'b'",
        "county ->> -1 = 'b'",
        "county ->> '/a' = 'b'",
        "county ->> '$.a b' = 'b'",
        "JSON_VALUE(county, 'a') = 'b'",
        "JSON_VALUE(county, '$.a[*]') = 'b'",
        "JSON_VALUE(county, county) = 'b'",
        "JSON_QUERY(county, '$.a') = 'b'",
        "amount ->> 'a' = 'b'",
        "LPAD(county, 1000) = ''",
        "DATE_TRUNC('century', DATE '2020-01-01') = DATE '2020-01-01'",
        "DATE_TRUNC(DATE '2020-01-01', HOUR) = DATE '2020-01-01'",
        "DATE '2020-01-01' + INTERVAL 3 DAYOFWEEK > DATE '2020-01-01'",
        "DATE '2020-01-01' + INTERVAL '3 parsecs' > DATE '2020-01-01'",
        "INTERVAL 3 DAY > INTERVAL 2 DAY",
        "TIMESTAMP '2020-01-01' - TIMESTAMP '2020-01-01' > 3",
        "TIMESTAMP_DIFF(TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-01', MONTH) > 3",
        "FORMAT_DATE('%Y-%z', DATE '2020-01-01') = ''",
        "FORMAT_DATE('%H', DATE '2020-01-01') = ''",
        "YEAR(amount) = 2020",
        "SUM(amount) > 1",
        "foo(amount) > 1",
        "SUBSTR(county, 0) = 'a'",
        "SUBSTR(county, 1, LENGTH(county)) = 'a'",
        "ROUND(amount, 99) = 1",
        "DATE '2020-02-30' = DATE '2020-01-01'",
        "EXTRACT(YEAR FROM amount) = 2020",
        "CAST(amount AS BYTES) = 1",
        "CAST(county AS VARCHAR(3)) = 'abc'",
        "CAST(county AS TIMESTAMP(3)) IS NULL",
        "CAST(amount AS DATE) = DATE '2020-01-01'",
        "amount MOD 2 = 1",
        "MOD(amount, 2) = 1",
        "CASE WHEN amount > 1 THEN 'a' ELSE 2 END = 'a'",
        "amount = ALL (SELECT 1)",
        "county = 'it''s'",
        "X'00' = county",
    ]
    .map(with)
    .to_vec();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let report = refusals(&queries);
    insta::assert_snapshot!(report);
    // Long chains are joined two by two, so it is depth that is limited, and size.
    let chain = |terms: usize, joint: &str| {
        format!("SELECT COUNT(*) FROM loans WHERE {}", vec!["amount > 1"; terms].join(joint))
    };
    let fine = refusals(&[
        &chain(400, " OR "),
        &chain(100, " AND "),
        &format!(
            "SELECT COUNT(*) FROM loans WHERE CONCAT({}) = 'x'",
            vec!["county"; 500].join(", ")
        ),
    ]);
    assert_eq!(fine.matches("-> ACCEPTED").count(), 3, "{fine}");
    let nested = |open: &str, close: &str, depth: usize| {
        let inner = format!("{}county{}", open.repeat(depth), close.repeat(depth));
        format!("SELECT COUNT(*) FROM loans WHERE {inner} = 'x'")
    };
    let sum = format!("SELECT COUNT(*) FROM loans WHERE {} > 0", vec!["amount"; 50].join(" + "));
    for (query, limit) in [
        (nested("UPPER(", ")", 40), "nested more than 30"),
        (nested("NULLIF(", ", 'a')", 20), "more than 5000 parts"),
        (nested("(", ")", 200), "nested more than 60"),
        (sum, "nested more than 30"),
        (chain(3000, " OR "), "more than 5000 parts"),
        (
            format!("SELECT {}, 1 FROM loans GROUP BY ALL", vec!["amount > 1"; 3000].join(" OR ")),
            "more than 5000 parts",
        ),
    ] {
        let text = refusals(&[&query]);
        assert!(text.contains(limit), "{limit}: {}", &text[text.len() - 200..]);
    }
    let long = format!("SELECT COUNT(*) FROM loans WHERE county = '{}'", "x".repeat(70_000));
    let text = refusals(&[&long]);
    assert!(text.contains("at most 65536"), "{}", &text[text.len() - 200..]);
}

/// Queries that could take longer on one row than is allowed.
#[test]
fn dear_queries() {
    let filler = "a".repeat(1000);
    let hostile = format!("IF(county || '{filler}' LIKE '%a_a_a_a_a_a_a_a_b0%', 1, 0)");
    let sum = |terms: usize| {
        // Two by two, as a sum of many terms would be too deep.
        let rows = vec![[hostile.as_str(); 5].join(" + "); terms / 5];
        format!(
            "SELECT SUM(({}), contribution_bounds_per_group => (0, 1)) FROM loans \
             WHERE county = 'Ada'",
            rows.join(") + (")
        )
    };
    let queries = [
        sum(25),
        "SELECT COUNT(*) FROM loans WHERE UPPER(county) LIKE '%A%' AND LOWER(county) LIKE '%b%'"
            .to_owned(),
        "SELECT TRIM(LOWER(county)), UPPER(county), COUNT(*) FROM loans GROUP BY 1, 2".to_owned(),
        format!("SELECT COUNT(*) FROM loans WHERE county LIKE '%{}%'", "a_".repeat(300)),
        "SELECT AVG(LENGTH(UPPER(county)), contribution_bounds_per_group => (0, 9)) FROM loans"
            .to_owned(),
    ];
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let report = refusals(&queries).replace(&filler, "<1000 a>");
    insta::assert_snapshot!(report.replace(&hostile.replace(&filler, "<1000 a>"), "<term>"));
    // Names, codes and notes are asked for as elsewhere.
    let accepted = [
        "SELECT COUNT(*) FROM loans WHERE UPPER(county) LIKE '%ADA%'",
        "SELECT COUNT(*) FROM loans \
         WHERE county LIKE '%new%' OR county LIKE '%old%' OR county LIKE '%s_n%'",
        "SELECT LOWER(TRIM(SUBSTR(county, 1, 100))), COUNT(*) FROM loans GROUP BY 1",
        "SELECT IF(county IN ('a', 'b'), 'c', county || ', ' || 'US'), COUNT(*) \
         FROM loans GROUP BY 1",
        "SELECT COUNT(*) FROM loans \
         WHERE CAST(county AS FLOAT64) > 1 OR CAST(county AS DATE) IS NULL",
    ];
    let report = refusals(&accepted);
    assert_eq!(report.matches("-> ACCEPTED").count(), accepted.len(), "{report}");
    // Where the owner says that texts are short, more may be asked of them.
    let short = common::CONTRACT
        .replace("county]\ntype = \"string\"", "county]\ntype = \"string\"\nmax_bytes = 32");
    let short = hushtable_contract::Contract::parse(&short, "hushtable.toml").unwrap();
    bind(queries[1], &short).unwrap();
    bind(queries[2], &short).unwrap();
}

#[test]
fn long_conditions_of_outer_joins_and_exists_are_refused() {
    let contract = Contract::parse(JOINED, "joined.toml").unwrap();
    let bound = |from: &str, terms: usize| {
        let term = |i: usize| format!("ABS(t.size) + v.person_id > {i}");
        let long = (0..terms).map(term).collect::<Vec<_>>().join(" OR ");
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(DISTINCT v.person_id) \
             FROM {} ",
            from.replace("LONG", &format!("({long})"))
        );
        bind(&sql, &contract).map(|_| ())
    };
    let left = "visits v LEFT JOIN towns t ON t.town = v.town AND LONG";
    let exists = "visits v WHERE EXISTS (SELECT 1 FROM towns t WHERE t.town = v.town AND LONG)";
    for from in [left, exists] {
        assert!(bound(from, 2).is_ok(), "{:?}", bound(from, 2));
        insta::allow_duplicates! {
            let Err(refusal) = bound(from, 10) else { panic!("{from}") };
            insta::assert_snapshot!(refusal);
        }
    }
    // Computed after the join, for batches of pairs.
    assert!(bound("visits v JOIN towns t ON t.town = v.town AND LONG", 10).is_ok());
}

const JOINED: &str = r#"
[units.person]
budgets.ana = { epsilon = 1, delta = 1e-6 }
[tables.visits]
path = "visits.csv"
unit = { of = "person", column = "person_id" }
columns = { person_id = { type = "int" }, town = { type = "string" } }
[tables.towns]
path = "towns.csv"
public = true
unique = ["town"]
columns = { town = { type = "string" }, size = { type = "int" } }
"#;

/// Conditions on a long column of a sub-query are refused before the column is written out in each.
#[test]
fn sub_queries_that_multiply_are_refused() {
    let column = vec!["score > 1"; 1_200].join(" AND ");
    let conditions = vec!["b"; 3_000].join(" AND ");
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) \
         FROM (SELECT author, {column} AS b FROM posts) WHERE {conditions}"
    );
    let refused = bind(&sql, &common::contract()).unwrap_err();
    assert!(refused.what.contains("at most 20000 are allowed"), "{refused}");
}

/// The first row that reaches a sub-query's expressions must not show by its time.
#[test]
fn long_sub_queries_are_refused() {
    let contract = common::contract();
    let terms = |n: usize| vec!["score"; n].join(" + ");
    let sql = |n: usize| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
             max_groups_contributed = 1, max_rows_per_group = 1) forum, COUNT(*) \
             FROM (SELECT DISTINCT forum, author, {} AS s FROM posts) WHERE s > 0 GROUP BY forum",
            terms(n)
        )
    };
    bind(&sql(20), &contract).unwrap();
    let many = (0..20).map(|i| format!("{} AS s{i}", terms(15))).collect::<Vec<_>>().join(", ");
    let refused = bind(&sql(15).replace("AS s FROM", &format!("AS s, {many} FROM")), &contract);
    assert!(refused.unwrap_err().what.contains("at most 400 are allowed"));
}

/// Clauses beside a table or a join are refused by name wherever they may stand, and not dropped.
#[test]
fn nothing_beside_tables_and_joins_is_dropped() {
    let contract = common::contract();
    let part = "(SELECT COUNT(*) AS n FROM loans)";
    for sql in [
        "SELECT COUNT(*) FROM posts p GLOBAL JOIN posts q ON p.author = q.author".to_owned(),
        format!("SELECT a.n FROM {part} a GLOBAL JOIN {part} b ON a.n = b.n"),
        format!("SELECT n FROM {part} TABLESAMPLE (10 ROWS)"),
        format!("SELECT n FROM {part} AS a TABLESAMPLE BERNOULLI (10)"),
        format!("SELECT n FROM ({part} a CROSS JOIN {part} b) AS c"),
        "SELECT COUNT(*) FROM loans TABLESAMPLE (10 ROWS)".to_owned(),
    ] {
        let refusal = SqlStatement::bind(&sql, &contract).unwrap_err().to_string();
        assert!(refusal.contains("is not supported"), "{sql}: {refusal}");
    }
    let columns = [("county".to_owned(), ColumnType::String)];
    let release = |from: &str| {
        let sql = format!("SELECT county, COUNT(*) FROM {from} GROUP BY county");
        bind_count_release(&sql, &columns).map(|_| ()).map_err(|refusal| refusal.to_string())
    };
    assert_eq!(release("t AS u"), Ok(()));
    for from in
        ["t FOR SYSTEM_TIME AS OF '2020-01-01'", "t WITH ORDINALITY", "t TABLESAMPLE (1 ROWS)"]
    {
        let refusal = release(from).unwrap_err();
        assert!(refusal.contains("is not supported"), "{from}: {refusal}");
    }
}

#[test]
fn orders_of_groups_are_for_percentiles() {
    let contract = r#"
        [tables.t]
        path = "t.csv"
        privacy_unit = "row"
        [tables.t.columns]
        x = { type = "int", bounds = [0, 9] }
        [tables.t.defaults]
        epsilon = 1
        [tables.t.budgets]
        ana = { epsilon = 1 }
    "#;
    let contract = Contract::parse(contract, "hushtable.toml").unwrap();
    assert!(bind("SELECT SUM(x) FROM t", &contract).is_ok());
    for sum in ["SUM(x) WITHIN GROUP (ORDER BY x)", "SUM(ABS(x) WITHIN GROUP (ORDER BY x))"] {
        let refused = bind(&format!("SELECT {sum} FROM t"), &contract);
        assert!(refused.unwrap_err().what.contains("is not supported"), "{sum}");
    }
}
