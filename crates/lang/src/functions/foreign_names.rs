//! The functions of BigQuery, PostgreSQL and DuckDB that have another name here, or none.

/// The way to say here what another engine calls otherwise.
enum Instead {
    /// Calls of ours, any of which does the same.
    Calls(&'static [&'static str]),
    /// Another way, or the reason why there is none.
    Advice(&'static str),
}

use Instead::{Advice, Calls};

const FREQUENT: Instead = Advice(
    "use GROUP BY x with COUNT(*), which shows frequent values: this would show values of single \
     records",
);

/// Names that are not called here, and what to write in their place.
static FOREIGN: &[(&[&str], Instead)] = &[
    (
        &["RAND", "RANDOM", "GENERATE_UUID", "GEN_RANDOM_UUID", "UUID"],
        Advice(
            "leave it out: a query must be a function of the data, and the engine adds the noise",
        ),
    ),
    (
        &["CURRENT_DATE", "TODAY"],
        Advice(
            "write a constant, as in DATE '2026-01-31': a contract holds on every day, and only a \
             query has a day on which it is asked",
        ),
    ),
    (
        &["CURRENT_TIMESTAMP", "CURRENT_DATETIME", "CURRENT_TIME", "NOW", "GETDATE"],
        Advice("use CURRENT_DATE, or a constant, as in TIMESTAMP '2026-01-31 10:00:00'"),
    ),
    (
        &["SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "ATAN2", "RADIANS", "DEGREES", "PI"],
        Advice("compute angles in a column of the file: trigonometry is not supported"),
    ),
    (
        &["MD5", "SHA1", "SHA256", "SHA512", "HASH", "FARM_FINGERPRINT", "TO_HEX", "TO_BASE64"],
        Advice(
            "leave it out: a hash of a value shows as much as the value does, and its groups are \
             chosen like those of any other",
        ),
    ),
    // Text.
    (
        &["JSON_EXTRACT", "JSON_QUERY", "JSON_EXTRACT_PATH_TEXT"],
        Calls(&["JSON_VALUE(x, '$.a.b[0]')", "x ->> 'a'"]),
    ),
    (&["LEN"], Calls(&["LENGTH(x)"])),
    (&["UCASE"], Calls(&["UPPER(x)"])),
    (&["LCASE"], Calls(&["LOWER(x)"])),
    (&["LOCATE", "CHARINDEX"], Calls(&["STRPOS(x, 'a')"])),
    (&["PREFIX", "STARTSWITH"], Calls(&["STARTS_WITH(x, 'a')"])),
    (&["SUFFIX", "ENDSWITH"], Calls(&["ENDS_WITH(x, 'a')"])),
    (&["MID"], Calls(&["SUBSTR(x, 2, 3)"])),
    (
        &["STRING_SPLIT", "STR_SPLIT", "STRING_TO_ARRAY", "REGEXP_SPLIT_TO_ARRAY"],
        Calls(&["SPLIT(x, '/')[SAFE_OFFSET(0)]", "SPLIT_PART(x, '/', 1)"]),
    ),
    (&["REGEXP_FULL_MATCH"], Calls(&["REGEXP_CONTAINS(x, r'^(?:flu|covid)$')"])),
    (
        &["REGEXP_EXTRACT_ALL"],
        Calls(&["REGEXP_EXTRACT(x, r'[0-9]+')", "REGEXP_COUNT(x, r'[0-9]+')"]),
    ),
    // Numbers.
    (&["SAFE_ADD", "ADD"], Calls(&["x + y"])),
    (&["SAFE_SUBTRACT", "SUBTRACT"], Calls(&["x - y"])),
    (&["SAFE_MULTIPLY", "MULTIPLY"], Calls(&["x * y"])),
    (&["SAFE_NEGATE"], Calls(&["-x"])),
    (&["DIVIDE", "FDIV"], Calls(&["x / y"])),
    (&["CBRT"], Calls(&["POWER(x, 1 / 3)"])),
    (&["PARSE_NUMERIC", "TO_NUMBER"], Calls(&["CAST(x AS NUMERIC)"])),
    // Conditions.
    (&["ISNULL"], Calls(&["x IS NULL"])),
    (&["NVL2"], Calls(&["IF(x IS NOT NULL, x, y)"])),
    (&["ZEROIFNULL"], Calls(&["COALESCE(x, 0)"])),
    (&["NULLIFZERO"], Calls(&["NULLIF(x, 0)"])),
    (&["DECODE"], Calls(&["CASE x WHEN 'a' THEN 1 ELSE 0 END"])),
    // Dates.
    (
        &["DATEADD", "ADDDATE", "DATE_SHIFT"],
        Calls(&["DATE_ADD(day, INTERVAL 30 DAY)", "day + INTERVAL 30 DAY"]),
    ),
    (&["ADD_MONTHS"], Calls(&["DATE_ADD(day, INTERVAL 3 MONTH)"])),
    (&["AGE", "MONTHS_BETWEEN"], Calls(&["DATE_DIFF(day, DATE '2026-01-31', MONTH)"])),
    (
        &["DATETRUNC", "TRUNC_DATE"],
        Calls(&["DATE_TRUNC(day, MONTH)", "TIMESTAMP_TRUNC(moment, HOUR)"]),
    ),
    (&["DATE_FORMAT"], Calls(&["FORMAT_DATE('%Y-%m', day)"])),
    (&["DATEPART"], Calls(&["EXTRACT(YEAR FROM day)", "DATE_PART('year', day)"])),
    (&["EPOCH", "UNIX_SECONDS", "UNIX_TIMESTAMP"], Calls(&["EXTRACT(EPOCH FROM moment)"])),
    (&["ISODOW"], Calls(&["EXTRACT(ISODOW FROM day)"])),
    (&["TIMESTAMP", "DATETIME", "MAKE_TIMESTAMP"], Calls(&["CAST(x AS TIMESTAMP)"])),
    (
        &["TO_DATE", "TO_TIMESTAMP"],
        Calls(&["PARSE_DATE('%d.%m.%Y', x)", "PARSE_TIMESTAMP('%F %T', x)"]),
    ),
    (&["TO_CHAR"], Calls(&["FORMAT_DATE('%Y-%m', day)", "CAST(x AS STRING)"])),
    // Aggregates.
    (
        &["APPROX_QUANTILES"],
        Advice(
            "APPROX_QUANTILES(x, 4)[OFFSET(1)] in an expression; alone in SELECT it shows a \
             column for each",
        ),
    ),
    (&["QUANTILE"], Advice("PERCENTILE_CONT(x, 0.9), or MEDIAN(x)")),
    (&["COUNT_IF", "SUM_IF", "SUMIF"], Advice("COUNTIF(x > 0), or SUM(IF(x > 0, x, 0))")),
    (&["MEAN", "AVERAGE"], Advice("AVG(x)")),
    (&["STD"], Advice("STDDEV(x)")),
    (
        &["BOOL_AND", "BOOL_OR", "EVERY", "LOGICAL_AND", "LOGICAL_OR"],
        Advice("COUNTIF(x > 0): one record alone would decide whether all or any are"),
    ),
    (
        &[
            "ANY_VALUE",
            "ARG_MAX",
            "ARG_MIN",
            "ARRAY_AGG",
            "FIRST",
            "GROUP_CONCAT",
            "LAST",
            "LIST",
            "LISTAGG",
            "MAX_BY",
            "MIN_BY",
            "MODE",
            "STRING_AGG",
        ],
        FREQUENT,
    ),
];

/// The names of other engines, and the calls that do the same.
#[cfg(test)]
pub(super) fn foreign_names()
-> impl Iterator<Item = (&'static [&'static str], &'static [&'static str])> {
    FOREIGN.iter().map(|(names, instead)| match instead {
        Calls(calls) => (*names, *calls),
        Advice(_) => (*names, &[][..]),
    })
}

/// A hint for a name of another engine.
pub(crate) fn hint_for(name: &str) -> Option<String> {
    let (_, instead) = FOREIGN.iter().find(|(names, _)| names.contains(&name))?;
    Some(match instead {
        Calls(calls) => calls.join(", or "),
        Advice(advice) => (*advice).to_owned(),
    })
}
