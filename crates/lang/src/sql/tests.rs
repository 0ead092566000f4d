use super::*;

fn parse(text: &str) -> Result<ParsedQuery, Refusal> {
    super::parse(text, false, None)
}

#[test]
fn the_clause_is_lifted_out() {
    let parsed = parse(
        "select WITH differential_privacy OPTIONS (epsilon=1.5, Delta = 1e-5, \
         privacy_unit_column = `user id`, group_selection_strategy = 'OPTIMAL') k, COUNT(*) \
         FROM t GROUP BY k;",
    )
    .unwrap();
    let options: Vec<_> =
        parsed.clauses[0].options.iter().map(|o| (o.name.as_str(), o.value.as_str())).collect();
    assert_eq!(
        options,
        [
            ("epsilon", "1.5"),
            ("delta", "1e-5"),
            ("privacy_unit_column", "user id"),
            ("group_selection_strategy", "OPTIMAL"),
        ]
    );
    assert_eq!(parsed.query.to_string(), "SELECT k, COUNT(*) FROM t GROUP BY k");
}

#[test]
fn without_a_clause_or_options() {
    assert!(parse("SELECT 1 FROM t").unwrap().clauses.is_empty());
    assert!(
        parse("SELECT WITH DIFFERENTIAL_PRIVACY 1 FROM t").unwrap().clauses[0].options.is_empty()
    );
    let empty = parse("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS () 1 FROM t").unwrap();
    assert!(empty.clauses[0].options.is_empty());
}

#[test]
fn what_is_not_one_select_is_refused() {
    for (text, expected) in [
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon 1) 1 FROM t", "where `=`"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon=1", "the end"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (a=1, a=2) 1 FROM t", "twice"),
        ("DELETE FROM t WHERE true", "DELETE"),
        ("SELECT 1; SELECT 2", "exactly one"),
        ("", "exactly one"),
        ("SELEC 1", "not valid SQL"),
        ("SELECT 'a", "not valid SQL"),
    ] {
        let refusal = parse(text).unwrap_err();
        assert!(refusal.what.contains(expected), "{text}: {}", refusal.what);
    }
    let deep = format!("SELECT {}1{} FROM t", "(".repeat(500), ")".repeat(500));
    assert!(parse(&deep).unwrap_err().what.contains("nested"));
}

/// Openings, what is wrong within them, and endings.
const FORMS: [(&str, &str, &str); 36] = [
    ("CAST(", "1 1", " AS INT64)"),
    ("SAFE_CAST(", "1 1", " AS INT64)"),
    ("TRY_CAST(", "1 1", " AS INT64)"),
    ("CONVERT(", "1 1", ")"),
    ("CASE WHEN ", "1 1", " THEN 1 END"),
    ("CASE WHEN x THEN ", "1 1", " END"),
    ("CASE x WHEN 1 THEN 2 ELSE ", "1 1", " END"),
    ("SUBSTRING(", "1 1", ")"),
    ("SUBSTR(", "1 1", ", 1)"),
    ("CEIL(", "1 1", ")"),
    ("FLOOR(", "1 1", ")"),
    ("POSITION(", "1 1", ")"),
    ("POSITION('a' IN ", "1 1", ")"),
    ("POSITION(", "1", ")"),
    ("OVERLAY(", "1 1", ")"),
    ("TRIM(", "1 1", ")"),
    ("EXTRACT(DAY FROM ", "1 1", ")"),
    ("NOT (", "1 1", ")"),
    ("NOT ", "1 1", ""),
    ("NOT a BETWEEN b AND ", "1 1", ""),
    ("INTERVAL ", "1 1", ""),
    ("INTERVAL (", "1 1", ") DAY"),
    ("ARRAY[", "1 1", "]"),
    ("ARRAY(SELECT ", "1 1 1", ")"),
    ("STRUCT(", "1 1", ")"),
    ("EXISTS(SELECT ", "1 1 1", ")"),
    ("CURRENT_DATE(", "1 1", ")"),
    ("x IN (", "1 1", ")"),
    ("x IN (SELECT ", "1 1 1", ")"),
    ("x.y.", "(1 1)", ""),
    ("x[1].", "(1 1)", ""),
    ("f(", "1 1", ")"),
    ("a.f(", "1 1", ")"),
    ("f(a => ", "1 1", ")"),
    ("{fn f(", "1 1", ")}"),
    ("(", "1 1", ")"),
];

/// How many expressions the parser has begun, and the tokens of the text.
fn attempts(text: &str) -> (usize, usize) {
    let dialect = dialect(false);
    let tokens = tokens(text, &dialect, |e| panic!("{e}")).unwrap();
    let count = tokens.len();
    let _ = parser(&dialect, tokens).parse_query();
    (token_limits::MAX_WORK - dialect.attempts_left(), count)
}

#[test]
fn wrong_texts_are_parsed_once() {
    for (open, wrong, close) in FORMS {
        // Fields of elements are tried twice; the bounds refuse more than some of them.
        let (depth, again) = if open.contains("].") { (9, 1 << 10) } else { (25, 1) };
        for end in [close, ""] {
            let text = format!("SELECT {}{wrong}{}", open.repeat(depth), end.repeat(depth));
            let (attempts, tokens) = attempts(&text);
            assert!(attempts <= tokens * again, "{attempts} for {tokens} tokens: {text}");
        }
    }
}

#[test]
fn wrong_texts_are_refused() {
    for (open, wrong, close) in FORMS {
        for depth in [1, 25, 50, 500] {
            for end in [close, ""] {
                let text = format!("{}{wrong}{}", open.repeat(depth), end.repeat(depth));
                // A call of a function that does not exist is for the binder.
                let valid = wrong == "1" && end == ")" && depth <= 50;
                let query = parse(&format!("SELECT {text} FROM t"));
                assert_eq!(query.is_ok(), valid, "{text}");
                assert_eq!(parse_expression(&text, false).is_ok(), valid, "{text}");
            }
        }
    }
}

#[test]
fn queries_in_doubled_parentheses_are_bounded() {
    let nested = |open: &str, depth: usize, close: &str| {
        parse(&format!("SELECT * FROM {}a{}", open.repeat(depth), close.repeat(depth)))
    };
    assert!(nested("(SELECT * FROM ", 20, ")").is_ok());
    assert!(nested("((SELECT * FROM ", 4, "))").is_ok());
    for open in ["((SELECT * FROM ", "((WITH b AS (SELECT * FROM a) SELECT * FROM "] {
        let refusal = nested(open, 15, "))").unwrap_err();
        assert!(refusal.what.contains("doubled parentheses"), "{}", refusal.what);
    }
    let elements = format!("SELECT {}b FROM t", "a[1].".repeat(40));
    assert!(parse(&elements).unwrap_err().what.contains("nested too deep"));
}

#[test]
fn types_in_types_are_bounded() {
    for open in ["ARRAY<", "STRUCT<a "] {
        for text in [open.repeat(5_000), format!("CAST(x AS {}", open.repeat(5_000))] {
            let text = format!("SELECT {text}");
            let text = if text.contains('(') { text + ")" } else { text };
            assert!(parse(&text).unwrap_err().what.contains("5000 times"));
        }
    }
}

#[test]
fn brackets_must_match() {
    for (text, expected) in [
        ("SELECT f(a FROM t", "the `(` at line 1, column 9 is never closed"),
        ("SELECT f(a))\nFROM t", "the `)` at line 1, column 12 closes nothing"),
        (
            "SELECT f(a\n] FROM t",
            "the `]` at line 2, column 1 does not close the `(` at line 1, column 9",
        ),
    ] {
        let refusal = parse(text).unwrap_err();
        assert!(refusal.what.contains(expected), "{text}: {}", refusal.what);
    }
    assert!(parse("SELECT ')', `(` FROM t -- ((").is_ok());
}

#[test]
fn words_of_forms_are_names_elsewhere() {
    for text in [
        "SELECT floor, position, t.interval, cast, t.case FROM t WHERE ceil = 2 GROUP BY floor",
        "SELECT FLOOR(floor), CAST(cast AS INT64), SUBSTR(substr, 1, 2), POSITION(a, b) FROM t",
        "SELECT DATE '2026-01-31', a.b.f(x), `a b`.c FROM t",
        "SELECT EXTRACT(YEAR FROM t.day), TRIM(x), INTERVAL 1 DAY, ARRAY[1] FROM t",
    ] {
        let parsed = parse(text).unwrap();
        assert_eq!(parsed.query.to_string(), text);
    }
}

#[test]
fn real_queries_are_accepted() {
    let case = |depth: usize| {
        let open = "CASE WHEN CAST(a AS INT64) > 1 THEN 0 ELSE ".repeat(depth);
        format!("SELECT {open}1{} FROM t", " END".repeat(depth))
    };
    assert!(parse(&case(20)).is_ok());
    // TPC-H 8, with its subquery.
    let market_share = "SELECT o_year, SUM(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) \
        / SUM(volume) AS mkt_share FROM (SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year, \
        l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation FROM part, supplier, \
        lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey \
        AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' AND p_type IN ('A', 'B') \
        ) AS all_nations GROUP BY o_year ORDER BY o_year";
    assert!(parse(market_share).is_ok());
    let long = format!("SELECT 1 FROM t WHERE a IN ({}1)", "1,".repeat(32_000));
    assert!(parse(&long).is_ok());
}

#[test]
fn double_quotes_are_of_names_where_the_contract_says_so() {
    let text = "SELECT \"my town\", \"select\", 'a' FROM t GROUP BY \"my town\"";
    let parsed = super::parse(text, true, None).unwrap();
    let want = "SELECT `my town`, `select`, 'a' FROM t GROUP BY `my town`";
    assert_eq!(parsed.query.to_string(), want);
    assert_eq!(parse(text).unwrap().query.to_string(), text);
}

#[test]
fn a_statement_ends_at_a_semicolon_of_its_own() {
    for (text, want) in [
        ("SELECT 1; SELECT 2;", Some("SELECT 1;")),
        (
            "SELECT ';' -- ;\n, \"é;\", `;` /* ; */\n; x",
            Some("SELECT ';' -- ;\n, \"é;\", `;` /* ; */\n;"),
        ),
        ("SELECT 'an open text; ", None),
        ("SELECT 1 /* an open comment; ", None),
        ("SELECT 1", None),
        ("", None),
        ("SELECT 'it\\'s; fine';", Some("SELECT 'it\\'s; fine';")),
    ] {
        assert_eq!(super::statement_end(text, false).map(|end| &text[..end]), want, "{text}");
    }
    let plain = r"SELECT '\'; x";
    assert_eq!(super::statement_end(plain, true).map(|end| &plain[..end]), Some(r"SELECT '\';"));
    assert_eq!(super::statement_end(plain, false), None);
}
