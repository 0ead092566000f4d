//! LIKE against a slow matcher, and what a row can cost against its bound.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    StringViewArray, TimestampMicrosecondArray,
};
use hushtable_lang::{ColumnType, Expr, Refusal, bind_expression, function_examples};
use proptest::prelude::*;

use super::{Program, steps_of};

/// LIKE as its definition has it: what `%` stands for is tried in every length.
fn slow_like(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|n| slow_like(rest, &text[n..])),
        ['_', rest @ ..] => !text.is_empty() && slow_like(rest, &text[1..]),
        ['\\', c, rest @ ..] => text.first() == Some(c) && slow_like(rest, &text[1..]),
        [c, rest @ ..] => text.first() == Some(c) && slow_like(rest, &text[1..]),
    }
}

fn text_array(texts: &[&str]) -> ArrayRef {
    Arc::new(texts.iter().copied().map(Some).collect::<StringViewArray>())
}

fn like(pattern: &str, text: &str) -> bool {
    let found =
        super::like::LikePattern::new(pattern, false).matched(&text_array(&[text])).unwrap();
    found.as_any().downcast_ref::<BooleanArray>().unwrap().value(0)
}

#[test]
fn patterns_match_as_in_sql() {
    for (pattern, text, want) in [
        ("abc", "abc", true),
        ("abc", "abcd", false),
        ("a%", "abc", true),
        ("%c", "abc", true),
        ("%b%", "abc", true),
        ("%b", "abc", false),
        ("a_c", "abc", true),
        ("a_c", "aäc", true),
        ("a_c", "ac", false),
        ("%", "", true),
        ("", "", true),
        ("", "a", false),
        ("%a%a%", "a", false),
        ("%ab%ab", "aabab ab", true),
        ("%aab", "aaaab", true),
        ("_%_", "a", false),
        ("_%_", "ab", true),
        ("%_é_%", "日é日", true),
        ("%__%", "日", false),
        ("100\\%", "100%", true),
        ("100\\%", "1000", false),
        ("a\\_b", "a_b", true),
        ("a\\", "a\\", true),
        ("a.c", "abc", false),
    ] {
        assert_eq!(like(pattern, text), want, "{pattern} {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn like_is_what_the_slow_matcher_says(
        pattern in "[ab%%%_é日\\\\]{0,9}",
        text in "[ab%_é日\u{1F600}\\\\]{0,9}",
    ) {
        let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
        prop_assert_eq!(like(&pattern, &text), slow_like(&p, &t), "{} {}", pattern, text);
    }

    /// Segments of more than one word of 64 bits, at every place in a word.
    #[test]
    fn long_segments_are_found(
        before in "[ab]{0,70}",
        segment in "[ab_]{50,200}",
        also in "[ab_é]{1,70}",
        filling in "[abé]{0,70}",
        seed in any::<bool>(),
    ) {
        let pattern = format!("{before}%{segment}%{also}%");
        let meant = |c: char| if c == '_' { if seed { '日' } else { 'a' } } else { c };
        let found: String = segment.chars().map(meant).collect();
        let also: String = also.chars().map(meant).collect();
        let text = format!("{before}{filling}{found}{filling}{also}{filling}");
        prop_assert!(like(&pattern, &text), "{} {}", pattern, text);
        // A text that lacks the last character of all that must follow each other.
        let short = format!("{before}{found}{also}");
        let short: String = short.chars().take(short.chars().count() - 1).collect();
        prop_assert!(!like(&pattern, &short), "{} {}", pattern, short);
    }
}

fn types() -> Vec<(String, ColumnType)> {
    use ColumnType as T;
    let named = [
        ("s", T::String),
        ("n", T::Int),
        ("f", T::Float),
        ("d", T::Decimal { scale: 9 }),
        ("day", T::Date),
        ("at", T::Timestamp),
        ("b", T::Bool),
        ("y", T::Float),
        ("moment", T::Timestamp),
    ];
    named.map(|(name, column_type)| (name.to_owned(), column_type)).to_vec()
}

/// Rows of the most that each column can hold, with that text.
fn rows(text: &str, rows: usize) -> Vec<ArrayRef> {
    let digits = Decimal128Array::from(vec![i128::MAX / 10; rows]);
    vec![
        Arc::new(StringViewArray::from(vec![text; rows])),
        Arc::new(Int64Array::from(vec![i64::MIN + 1; rows])),
        Arc::new(Float64Array::from(vec![-f64::MIN_POSITIVE; rows])),
        Arc::new(digits.with_precision_and_scale(38, 9).unwrap()),
        Arc::new(Date32Array::from(vec![-95_000_000; rows])),
        Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN; rows])),
        Arc::new(BooleanArray::from(vec![true; rows])),
        Arc::new(Float64Array::from(vec![f64::MIN_POSITIVE; rows])),
        Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN; rows])),
    ]
}

/// The dearest forms of every function and operator.
const DEAREST: &[&str] = &[
    "s LIKE '%a_a_a_a_b0%'",
    "s LIKE '%a%a%a%a%a%b%'",
    "s LIKE 'aaaa%aaaa'",
    "s LIKE 'aaaa_aaaa'",
    "UPPER(s)",
    "LOWER(UPPER(LOWER(s)))",
    "UPPER(s) LIKE '%_b%'",
    "TRIM(s)",
    "LTRIM(s) || RTRIM(s)",
    "TRIM(s, 'a01éb')",
    "LTRIM(s, 'a') || RTRIM(s, '日é')",
    "LENGTH(s)",
    "SUBSTR(s, 3)",
    "SUBSTR(s, 300, 200)",
    "SUBSTR(s, -300, 200)",
    "SUBSTR(s, -500)",
    "LEFT(s, 100)",
    "RIGHT(s, 500)",
    "s || s || s",
    "CONCAT(s, s, s, s, s, s, s, s)",
    "CONCAT_WS(s, s, 'a', s, s)",
    "CONCAT_WS('--', SUBSTR(s, 1, 3), LEFT(s, 2), s, NULL)",
    "STARTS_WITH(s, s)",
    "ENDS_WITH(s, UPPER(s))",
    "s < UPPER(s)",
    "s = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
    "s BETWEEN 'a' AND s",
    "s IN ('aaaaaaaaaaaaaaaaaaaaaaaaaa', 'b')",
    "NULLIF(s, TRIM(s))",
    "COALESCE(s, UPPER(s), 'a')",
    "CASE UPPER(s) WHEN 'A' THEN s WHEN 'B' THEN LOWER(s) ELSE TRIM(s) END",
    "CAST(s AS INT64) + CAST(s AS FLOAT64)",
    "CAST(s AS DATE)",
    "CAST(s AS TIMESTAMP)",
    "CAST(f AS STRING) || CAST(d AS STRING) || CAST(at AS STRING) || CAST(day AS STRING)",
    "LENGTH(CAST(n AS STRING) || CAST(b AS STRING))",
    "POWER(f, n) + EXP(f) / SQRT(n)",
    "n IN (1, 2, 3) OR f IN (1.5, 2.5) OR d IN (1, 2)",
    "EXTRACT(YEAR FROM day) + EXTRACT(SECOND FROM at)",
    "s ILIKE '%a_A_0%' OR s ILIKE 'aaAA%AAaa'",
    "s ILIKE '%é%'",
    "REGEXP_CONTAINS(s, r'(a|b|é)*c')",
    r"s ~ '(?i)x\\w+\\s' OR s !~* '^q'",
    "REGEXP_COUNT(s, '[aé]')",
    "REGEXP_COUNT(s, 'a*b|a')",
    "REGEXP_EXTRACT(s, 'a.*$')",
    "REGEXP_EXTRACT(s, '^.([^b]*)')",
    "REGEXP_REPLACE(s, '[a-c]', '')",
    "REGEXP_REPLACE(s, '(a)', r'<\\1>')",
    "REGEXP_REPLACE(s, '.*b|a', 'x')",
    "INITCAP(s)",
    "REVERSE(s)",
    "STRPOS(s, REVERSE(s)) + POSITION('aab' IN s)",
    "CONTAINS(s, 'aaaaaaaaaaaaaaaaaaaaaaab')",
    "REPLACE(s, 'a', 'bcd')",
    "REPLACE(s, 'aaaa', '')",
    "TRANSLATE(s, 'a01é', '日😀b')",
    "TRANSLATE(s, 'abc日', '')",
    "SPLIT_PART(s, 'a', 500)",
    "SPLIT_PART(s, 'aab', -2)",
    "SPLIT(s, 'aab')[SAFE_OFFSET(2)]",
    "JSON_VALUE(s, '$.a.b[0]')",
    "s -> 'a' ->> 0",
    "JSON_VALUE('[' || LEFT(s, 90) || ']', '$[7]') || ('\"' || s || '\"' ->> '$')",
    "s LIKE ANY ('%a%b%', '%a%') AND s LIKE '%a!%a%' ESCAPE '!'",
    "PARSE_DATE('%d %B %Y', s) < PARSE_TIMESTAMP('%F %T', s)",
    "DATE(n, n, 1) > day OR MOD(d, 1.5) > 0",
    "LPAD(s, 200, 'é') || RPAD(s, 150)",
    "GREATEST(s, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', REVERSE(s))",
    "LEAST(f, n, d)",
    "WIDTH_BUCKET(f, 0, 1, 10) + RANGE_BUCKET(n, [1, 2, 3])",
    "RANGE_BUCKET(s, ['a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'])",
    "DATE_DIFF(day, DATE '2024-01-01', MONTH) + TIMESTAMP_DIFF(at, at, SECOND)",
    "FORMAT_DATE('%A, %B %e, %Y %Q %j %G %V', day) || FORMAT_TIMESTAMP('%T %p', at)",
    "DATE_ADD(day, INTERVAL 3 MONTH) < at + INTERVAL 3 HOUR",
    "TRUNC(f) + LOG(f, 3)",
    "s IS DISTINCT FROM REVERSE(s)",
];

/// The expression, where `x` is the text, the float or the day.
fn bound(sql: &str) -> Expr {
    let of_x = |column: usize| {
        let mut columns = types();
        let x = columns.len();
        columns.push(("x".to_owned(), columns[column].1));
        let expr = bind_expression(sql, &columns)?;
        Ok::<_, Refusal>(expr.moved(&|index| if index == x { column } else { index }))
    };
    of_x(0).or_else(|_| of_x(2)).or_else(|_| of_x(4)).unwrap()
}

#[test]
fn no_row_takes_more_steps_than_binding_says() {
    const BYTES: usize = 600;
    let columns = [BYTES; 7];
    let long = "a_".repeat(70);
    let words = format!("s LIKE '%{long}b%{long}_'");
    // Every function of the table is tried by its example, at least.
    let all: Vec<&str> = DEAREST.iter().copied().chain(function_examples()).collect();
    for sql in all.into_iter().chain([words.as_str()]) {
        let expr = bound(sql);
        let program = Program::new(&expr).unwrap();
        let allowed = expr.row_operations(&columns);
        for text in ["a", " ", "0", "1", "é", "ΐ", "İ", "Σ", "Σ:", "日", "\u{2003}", "\u{1F600}"]
        {
            let text = text.repeat(BYTES / text.len());
            let steps = |n: usize| steps_of(|| program.evaluate(&rows(&text, n), n).unwrap()).0;
            let more = steps(2) - steps(1);
            assert!(more <= allowed, "{sql} of {text:.4}: {more} of {allowed}");
        }
    }
}

#[test]
fn no_text_is_longer_than_binding_says() {
    let columns = [40; 7];
    for sql in DEAREST.iter().copied().chain(function_examples()) {
        let expr = bound(sql);
        if expr.column_type != ColumnType::String {
            continue;
        }
        let program = Program::new(&expr).unwrap();
        for text in ["a", "é", "ΐ", "İ", "ŉ", "ᾷ", "ﬃ", "\u{2003}"] {
            let columns_of = rows(&text.repeat(40 / text.len()), 1);
            let array = program.evaluate(&columns_of, 1).unwrap();
            let texts = array.as_any().downcast_ref::<StringViewArray>().unwrap();
            let longest = texts.iter().flatten().map(str::len).max().unwrap_or(0);
            assert!(longest <= expr.most_bytes(&columns), "{sql} of {text}: {longest}");
        }
    }
    // Every character, in upper and lower case as often as there is a change.
    let upper = Program::new(&bound("UPPER(s)")).unwrap();
    let lower = Program::new(&bound("LOWER(s)")).unwrap();
    let all: Vec<String> = ('\0'..=char::MAX).map(String::from).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut columns_of = rows("", all.len());
    let first = text_array(&all);
    columns_of[0] = Arc::clone(&first);
    for cases in [[&upper, &lower], [&lower, &upper], [&upper, &upper], [&lower, &lower]].concat() {
        columns_of[0] = cases.evaluate(&columns_of, all.len()).unwrap();
        let (converted, first) = (columns_of[0].clone(), first.clone());
        let texts =
            |array: ArrayRef| array.as_any().downcast_ref::<StringViewArray>().unwrap().clone();
        for (converted, first) in texts(converted).iter().zip(&texts(first)) {
            assert!(
                converted.unwrap().len() <= 3 * first.unwrap().len(),
                "{first:?} {converted:?}"
            );
        }
    }
}

/// A value that is cast to text has the digits that binding counts with.
#[test]
fn numbers_and_dates_are_no_longer_as_text_than_binding_says() {
    let program = |sql| Program::new(&bound(sql)).unwrap();
    for sql in
        ["CAST(f AS STRING)", "CAST(d AS STRING)", "CAST(at AS STRING)", "CAST(day AS STRING)"]
    {
        let most = bound(sql).most_bytes(&[]);
        let mut columns_of = rows("", 6);
        let floats = [f64::MIN, f64::MAX, -5e-324, -f64::MIN_POSITIVE, -1.2345678901234e-310, 0.1];
        columns_of[2] = Arc::new(Float64Array::from(floats.to_vec()));
        let days = [i32::MIN, i32::MAX, -96_000_000, 95_000_000, 0, -1_000_000];
        columns_of[4] = Arc::new(Date32Array::from(days.to_vec()));
        let moments =
            [i64::MIN, i64::MAX, -1, 8_000_000_000_000_000_001, -8_300_000_000_000_000_001, 0];
        columns_of[5] = Arc::new(TimestampMicrosecondArray::from(moments.to_vec()));
        let array = program(sql).evaluate(&columns_of, 6).unwrap();
        let texts = array.as_any().downcast_ref::<StringViewArray>().unwrap();
        let longest = texts.iter().flatten().map(str::len).max().unwrap_or(0);
        assert!((10..=most).contains(&longest), "{sql}: {longest} of {most}");
    }
}

#[test]
fn all_white_space_is_trimmed() {
    let blank = "\u{0009}\u{000B}\u{0085}\u{00A0}\u{1680}\u{2003}\u{2028}\u{202F}\u{3000} ";
    let text = format!("{blank}a{blank}b{blank}");
    for (sql, want) in [
        ("TRIM(s)", format!("a{blank}b")),
        ("LTRIM(s)", format!("a{blank}b{blank}")),
        ("RTRIM(s)", format!("{blank}a{blank}b")),
    ] {
        let array = Program::new(&bound(sql)).unwrap().evaluate(&rows(&text, 1), 1).unwrap();
        let texts = array.as_any().downcast_ref::<StringViewArray>().unwrap();
        assert_eq!(texts.value(0), want, "{sql}");
    }
}

#[test]
fn a_sigma_at_the_end_of_a_word_has_its_own_form() {
    for (text, want) in [("ΟΔΟΣ", "οδος"), ("ΣΟΦΟΣ ΣΑΣ.", "σοφος σας."), ("Σ", "σ"), ("ÀÉ", "àé")]
    {
        let lower = Program::new(&bound("LOWER(s)")).unwrap();
        let array = lower.evaluate(&rows(text, 1), 1).unwrap();
        let texts = array.as_any().downcast_ref::<StringViewArray>().unwrap();
        assert_eq!(texts.value(0), want);
    }
}

/// Rows are found by all of their values, NULL among them, in steps that do not depend on the rows.
#[test]
fn rows_are_looked_up_among_others() {
    use hushtable_lang::{EarlierRows, ExprKind, Value};
    let columns = vec![
        vec![Value::String("a".to_owned()), Value::Null, Value::String("b".to_owned())],
        vec![Value::Int(1), Value::Int(2), Value::Null],
    ];
    let keys = vec![Expr::column(0, ColumnType::String), Expr::column(1, ColumnType::Int)];
    let among = |listed: Vec<Vec<Value>>| Expr {
        kind: ExprKind::Among(keys.clone(), EarlierRows::Shown(listed)),
        column_type: ColumnType::Bool,
    };
    let texts: StringViewArray =
        [Some("a"), None, Some("b"), Some("a"), None].into_iter().collect();
    let numbers = Int64Array::from(vec![Some(1), Some(2), None, Some(2), None]);
    let arrays: Vec<ArrayRef> = vec![Arc::new(texts), Arc::new(numbers)];
    let found = |listed| {
        let program = Program::new(&among(listed)).unwrap();
        let array = program.evaluate(&arrays, 5).unwrap();
        array.as_any().downcast_ref::<BooleanArray>().unwrap().iter().flatten().collect::<Vec<_>>()
    };
    assert_eq!(found(columns.clone()), [true, true, true, false, false]);
    assert_eq!(found(vec![Vec::new(), Vec::new()]), [false; 5]);
    let program = Program::new(&among(columns.clone())).unwrap();
    let long = rows(&"é".repeat(300), 2);
    let (steps, _) = steps_of(|| program.evaluate(&long, 2).unwrap());
    assert!(steps <= 2 * among(columns).row_operations(&[600; 7]), "{steps}");
    let unknown = Expr {
        kind: ExprKind::Among(keys, EarlierRows::Released(vec![0, 1])),
        column_type: ColumnType::Bool,
    };
    assert!(Program::new(&unknown).is_err());
}

/// The value of each row's keys is that of the first row that has them, in steps that do not depend
/// on the rows.
#[test]
fn values_are_looked_up_by_their_keys() {
    use hushtable_lang::{ExprKind, KeyedValues, Value};
    let text = |text: &str| Value::String(text.to_owned());
    let listed = vec![
        vec![text("a"), text("b"), text("a")],
        vec![Value::Int(1), Value::Int(2), Value::Int(1)],
    ];
    let keys = vec![Expr::column(0, ColumnType::String), Expr::column(1, ColumnType::Int)];
    let of = |keys: Vec<Vec<Value>>, values: Vec<Value>| KeyedValues::Shown { keys, values };
    let long = "é".repeat(300);
    let values = vec![text(&long), Value::Null, text("another one of more than a view")];
    let value_at =
        |of| Expr { kind: ExprKind::ValueAt(keys.clone(), of), column_type: ColumnType::String };
    let texts: StringViewArray =
        [Some("a"), Some("b"), Some("b"), None, Some("a")].into_iter().collect();
    let numbers = Int64Array::from(vec![Some(1), Some(2), Some(1), Some(1), None]);
    let arrays: Vec<ArrayRef> = vec![Arc::new(texts), Arc::new(numbers)];
    let found = |expr: &Expr| {
        let array = Program::new(expr).unwrap().evaluate(&arrays, 5).unwrap();
        let texts = array.as_any().downcast_ref::<StringViewArray>().unwrap();
        // An array of any number of values from it holds one buffer.
        assert!(texts.data_buffers().len() <= 1);
        texts.iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
    };
    let known = value_at(of(listed, values));
    assert_eq!(found(&known), [Some(long.clone()), None, None, None, None]);
    assert_eq!(found(&value_at(of(vec![Vec::new(); 2], Vec::new()))), [const { None }; 5]);
    let rows = rows(&long, 2);
    let (steps, _) = steps_of(|| Program::new(&known).unwrap().evaluate(&rows, 2).unwrap());
    assert!(steps <= 2 * known.row_operations(&[600; 7]), "{steps}");
    let unknown = KeyedValues::Released { keys: vec![0, 1], value: 2 };
    assert!(Program::new(&value_at(unknown)).is_err());
}

#[test]
fn any_case_is_that_of_letters() {
    let found = |pattern: &str, text: &str| {
        let bound = bound(&format!("s ILIKE '{pattern}'"));
        let array = Program::new(&bound).unwrap().evaluate(&rows(text, 1), 1).unwrap();
        array.as_any().downcast_ref::<BooleanArray>().unwrap().value(0)
    };
    for (pattern, text, want) in [
        ("%FLU%", "a flu shot", true),
        ("flu%", "FLU", true),
        ("%a_B", "xAéb", true),
        ("a[", "A{", false),
        ("%@%", "`", false),
        ("ÄHR%", "ährenfeld", true),
        ("%É%", "É", true),
    ] {
        assert_eq!(found(pattern, text), want, "{pattern} {text}");
    }
}

/// Dates at the ends of their types, and steps as large as there are.
#[test]
fn dates_beyond_the_calendar_are_null() {
    for sql in [
        "DATE_ADD(day, INTERVAL 9223372036854775807 YEAR)",
        "DATE_ADD(day, INTERVAL 9223372036854775807 DAY)",
        "DATE_SUB(at, INTERVAL n SECOND)",
        "DATE_ADD(at, INTERVAL n MONTH)",
        "TIMESTAMP_DIFF(TIMESTAMP '2024-01-01', at, MICROSECOND)",
        "DATE_TRUNC(at, ISOYEAR)",
        "FORMAT_TIMESTAMP('%F', at)",
    ] {
        let array = Program::new(&bound(sql)).unwrap().evaluate(&rows("", 1), 1).unwrap();
        assert!(array.is_null(0), "{sql}");
    }
}
