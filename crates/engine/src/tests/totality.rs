//! Expressions that fail on some rows change nothing but released values.

use super::{Fixture, exactly};

const CONTRACT: &str = r#"
[tables.t]
path = "t.csv"
privacy_unit = "u"
[tables.t.columns]
u = { type = "int" }
n = { type = "int", bounds = [0, 10], sum_bounds = [0, 10] }
d = { type = "decimal(9)" }
f = { type = "float" }
s = { type = "string", max_bytes = 32 }
day = { type = "date" }
at = { type = "timestamp" }
b = { type = "bool" }
[tables.t.budgets]
ana = { epsilon = 1000000, delta = 0.9999999 }
"#;

const HEADER: &str = "u,n,d,f,s,day,at,b\n";

/// Rows that any unit could have.
const TAME: &str = "\
1,5,1.5,2.5,abc,2020-02-29,2020-02-29T10:11:12,true
2,6,-1.5,0.5,Abd,2021-12-31,1969-12-31T23:59:59,false
3,,,,,,,
";

/// One more unit, whose values break everything that can be broken.
fn wild() -> String {
    let long = "x".repeat(70_000);
    let fit = "é".repeat(32_768);
    let mut rows = String::new();
    for value in [
        "4,9223372036854775807,99999999999999999999,1e308,999999999999999999999999,\
         262142-12-31,+262142-12-31T23:59:59,true"
            .to_owned(),
        "4,-9223372036854775808,-99999999999999999999.999999999999999999,-1e308,-,\
         0000-01-01,0001-01-01T00:00:00,false"
            .to_owned(),
        "4,0,0,0,0,2020-02-30,2020-13-01T00:00:00,maybe".to_owned(),
        format!("4,x,y,inf,{long},z,w,v"),
        format!("4,1e400,1e400,nan,{fit},,,"),
        "4,,,-inf,\"\u{0}\u{feff}\",5881580-07-11,294247-01-10T04:00:54,1".to_owned(),
        "4".to_owned(),
        "4,1,2,3,4,5,6,7,8,9,10".to_owned(),
    ] {
        rows.push_str(&value);
        rows.push('\n');
    }
    rows
}

/// Everything that an expression can be, over every column.
const EXPRESSIONS: &[&str] = &[
    "n + 9223372036854775807",
    "n - 9223372036854775807",
    "n * n",
    "DIV(n, n - 5)",
    "DIV(n, -1)",
    "MOD(n, n)",
    "MOD(n, -1)",
    "-n",
    "ABS(n)",
    "SIGN(n)",
    "1 / (n - 5)",
    "n / 0",
    "SAFE_DIVIDE(n, n)",
    "CAST(s AS INT64)",
    "CAST(s AS FLOAT64) + 1",
    "CAST(s AS NUMERIC)",
    "CAST(s AS DATE)",
    "CAST(s AS TIMESTAMP)",
    "CAST(s AS BOOL)",
    "CAST(f AS INT64)",
    "CAST(f AS NUMERIC(38, 9))",
    "CAST(d AS INT64)",
    "CAST(d AS NUMERIC(38, 2))",
    "CAST(d AS FLOAT64)",
    "CAST(n AS NUMERIC(38, 18))",
    "CAST(n AS BOOL)",
    "CAST(b AS INT64)",
    "CAST(n AS STRING)",
    "CAST(d AS STRING)",
    "CAST(f AS STRING)",
    "CAST(day AS STRING)",
    "CAST(at AS STRING)",
    "CAST(at AS DATE)",
    "CAST(day AS TIMESTAMP)",
    "d + d",
    "d - d * 2",
    "-d",
    "d + n",
    "d / 3",
    "f * f",
    "f + 1e308",
    "SQRT(f)",
    "LN(f)",
    "LOG10(f)",
    "EXP(f)",
    "POWER(f, 0.5)",
    "POWER(n, n)",
    "FLOOR(f)",
    "CEIL(f)",
    "ROUND(f, 18)",
    "ROUND(f, -18)",
    "LOWER(s)",
    "UPPER(s)",
    "TRIM(s)",
    "LENGTH(s)",
    "SUBSTR(s, 2, 4000000000)",
    "SUBSTR(s, 4000000000)",
    "LEFT(s, 1)",
    "RIGHT(s, 3)",
    "s || s || s",
    "CONCAT(s, s, s, s)",
    "STARTS_WITH(s, 'a')",
    "ENDS_WITH(s, s)",
    "s LIKE '%b_'",
    "s LIKE 'a%c'",
    "s LIKE '%\\\\%'",
    "s IN ('abc', 'x')",
    "n IN (5, 6)",
    "d IN (1.5, 2)",
    "f IN (0.5, 1e308)",
    "day IN ('2020-02-29')",
    "EXTRACT(YEAR FROM day)",
    "EXTRACT(QUARTER FROM day)",
    "EXTRACT(DAYOFWEEK FROM at)",
    "EXTRACT(DAYOFYEAR FROM at)",
    "EXTRACT(SECOND FROM at)",
    "DATE(at)",
    "DATE_TRUNC(day, YEAR)",
    "DATE_TRUNC(day, ISOWEEK)",
    "DATE_TRUNC(day, QUARTER)",
    "TIMESTAMP_TRUNC(at, HOUR)",
    "TIMESTAMP_TRUNC(at, ISOWEEK)",
    "COALESCE(n, 0)",
    "IFNULL(s, 'none')",
    "NULLIF(n, 5)",
    "IF(b, n, d)",
    "CASE WHEN n > 5 THEN 1 / (n - 6) ELSE f END",
    "CASE n WHEN 5 THEN 'five' WHEN 6 THEN s END",
    "n BETWEEN 1 AND 5",
    "NOT (n > 5 AND f < 1 OR b IS NOT TRUE)",
    "b IS NULL",
    "n = f",
    "d > f",
    "day < '2021-01-01'",
    "at >= day",
];

/// On a table and on a neighbour of it: as group keys, in conditions, and counted.
#[test]
fn failing_expressions_fail_for_nobody() {
    let tame = Fixture::new(CONTRACT, &[("t.csv", &format!("{HEADER}{TAME}"))]);
    let neighbour = Fixture::new(CONTRACT, &[("t.csv", &format!("{HEADER}{TAME}{}", wild()))]);
    for some in EXPRESSIONS.chunks(12) {
        let each = |form: &dyn Fn(usize, &str) -> String, between: &str| {
            let all: Vec<String> = some.iter().enumerate().map(|(i, e)| form(i, e)).collect();
            all.join(between)
        };
        let keys = each(&|i, e| format!("{e} AS k{i}"), ", ");
        let names = each(&|i, _| format!("k{i}"), ", ");
        let grouped = exactly(&format!("{keys}, COUNT(DISTINCT u) AS c FROM t GROUP BY {names}"));
        let condition = each(&|_, e| format!("({e}) IS NULL"), " OR ");
        let filtered = exactly(&format!("COUNT(DISTINCT u) AS c FROM t WHERE {condition}"));
        let counts = each(&|i, e| format!("COUNT({e}) AS c{i}"), ", ");
        let counted = exactly(&format!("{counts} FROM t"));
        for sql in [&grouped, &filtered, &counted] {
            let (a, b) = (tame.rows(sql), neighbour.rows(sql));
            assert!(!a.starts_with("error") && !b.starts_with("error"), "{sql}: {a} {b}");
            if sql == &grouped {
                continue;
            }
            // The wild unit adds itself, or its eight rows, or nothing, and changes nothing else.
            for (a, b) in a.trim().split('|').zip(b.trim().split('|')) {
                let (a, b): (i64, i64) = (a.parse().unwrap(), b.parse().unwrap());
                let most = if sql == &filtered { 1 } else { 8 };
                assert!((a..=a + most).contains(&b), "{sql}: {a} {b}");
            }
        }
    }
}

/// Sums and averages of the same, which clamp what they can and leave out what they cannot.
#[test]
fn failing_measures_fail_for_nobody() {
    let neighbour = Fixture::new(CONTRACT, &[("t.csv", &format!("{HEADER}{TAME}{}", wild()))]);
    for measure in
        ["n", "d", "f", "n * n", "d * 2", "f * f", "1 / (n - 5)", "CAST(s AS INT64)", "-f"]
    {
        let sql = exactly(&format!(
            "SUM({measure}, contribution_bounds_per_group => (0, 8)) AS s, \
             COUNT({measure}) AS c FROM t"
        ));
        let rows = neighbour.rows(&sql);
        assert!(!rows.starts_with("error"), "{measure}: {rows}");
    }
    // Units 1 and 2 have 5 and 6. The wild one's largest and smallest numbers count as 2^62 and
    // -2^62, and leave the 1 of its last row.
    let sql = exactly("SUM(n) AS s FROM t");
    assert_eq!(neighbour.rows(&sql), "12\n");
}

/// Frames of windows whose distances take every value out of its type.
#[test]
fn frames_fail_for_nobody() {
    let neighbour = Fixture::new(CONTRACT, &[("t.csv", &format!("{HEADER}{TAME}{}", wild()))]);
    for (order, distance) in [
        ("n", "9223372036854775807"),
        ("d DESC", "9000000000"),
        ("f", "1e308"),
        ("f * f DESC", "1e308"),
        ("day", "INTERVAL 9999 YEAR"),
        ("day DESC", "1000000"),
        ("at", "INTERVAL '3000000 days 3 hours'"),
    ] {
        let frame = |start: &str, end: &str| {
            let sql = exactly(&format!(
                "COUNT(DISTINCT u) AS c FROM (SELECT u, SUM(n) OVER (PARTITION BY u ORDER BY \
                 {order} RANGE BETWEEN {start} AND {end}) AS k FROM t) \
                 WHERE k > 0 OR k <= 0 OR k IS NULL"
            ));
            let rows = neighbour.rows(&sql);
            assert_eq!(rows, "4\n", "{order}: {start}, {end}");
        };
        frame(&format!("{distance} PRECEDING"), &format!("{distance} FOLLOWING"));
        frame(&format!("{distance} PRECEDING"), "CURRENT ROW");
        frame("CURRENT ROW", &format!("{distance} FOLLOWING"));
        frame(&format!("{distance} FOLLOWING"), "UNBOUNDED FOLLOWING");
    }
}

/// The deepest and largest expressions that are accepted, with no row and with one: a stack that
/// overflows, or a statement that cannot be read back, would reveal the row.
#[test]
fn the_deepest_expressions_are_computed() {
    let empty = Fixture::new(CONTRACT, &[("t.csv", HEADER)]);
    let one = Fixture::new(CONTRACT, &[("t.csv", &format!("{HEADER}{TAME}"))]);
    let nested = |open: &str, close: &str, depth: usize| {
        format!("{}s{} = 'x'", open.repeat(depth), close.repeat(depth))
    };
    let concat = format!("CONCAT({}) = 'x'", vec!["s"; 1000].join(", "));
    let listed: Vec<String> = (0..300).map(|i| format!("n + {i}")).collect();
    for condition in [
        nested("COALESCE(", ")", 28),
        nested("IF(n > 1, s, ", ")", 22),
        nested("CASE WHEN n > 1 THEN 'a' ELSE ", " END", 22),
        concat,
        format!("n IN ({})", listed.join(", ")),
        vec!["s = 'a'"; 600].join(" OR "),
    ] {
        let sql = exactly(&format!("COUNT(*) AS c FROM t WHERE {condition}"));
        assert_eq!(empty.rows(&sql), "0\n", "{}", &condition[..60]);
        let rows = one.rows(&sql);
        assert!(rows.trim().parse::<i64>().is_ok(), "{}: {rows}", &condition[..60]);
    }
    // A query that could not be read back is refused before it is charged.
    let deep = nested("CASE WHEN n > 1 THEN ", " END", 27);
    let sql = exactly(&format!("COUNT(*) AS c FROM t WHERE {deep}"));
    let error = one.ask(&sql, 1).unwrap_err().to_string();
    assert!(error.contains("nested too deep"), "{error}");
    assert!(
        !one.session().ledger_path().exists()
            || one.session().budget(None).unwrap()[0].charges.len() < 2
    );
}
