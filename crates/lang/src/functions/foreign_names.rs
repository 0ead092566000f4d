//! The functions of BigQuery, PostgreSQL, DuckDB, Snowflake, Spark, MySQL and SQL Server that have
//! another name here, or none.

/// The way to say here what another engine calls otherwise.
enum Instead {
    /// Calls of ours, any of which does the same.
    Calls(&'static [&'static str]),
    /// Another way, or the reason why there is none.
    Advice(&'static str),
}

use Instead::{Advice, Calls};

const FREQUENT: Instead = Advice(
    "GROUP BY x with COUNT(*), which shows the values that are frequent: values of single records \
     are never shown",
);

/// Names that are not called here, and what to write in their place.
static FOREIGN: &[(&[&str], Instead)] = &[
    (
        &[
            "RAND",
            "RANDN",
            "RANDOM",
            "GENERATE_UUID",
            "GEN_RANDOM_UUID",
            "NEWID",
            "UNIFORM",
            "UUID",
            "UUID_STRING",
        ],
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
        &[
            "CURRENT_TIMESTAMP",
            "CURRENT_DATETIME",
            "CURRENT_TIME",
            "CURDATE",
            "GETDATE",
            "GETUTCDATE",
            "LOCALTIMESTAMP",
            "NOW",
            "SYSDATE",
            "SYSDATETIME",
            "UTC_TIMESTAMP",
        ],
        Advice("use CURRENT_DATE, or a constant, as in TIMESTAMP '2026-01-31 10:00:00'"),
    ),
    (
        &["SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "ATAN2", "RADIANS", "DEGREES", "PI"],
        Advice("compute angles in a column of the file: trigonometry is not supported"),
    ),
    (
        &[
            "MD5",
            "SHA1",
            "SHA2",
            "SHA256",
            "SHA512",
            "HASH",
            "HASHBYTES",
            "XXHASH64",
            "CRC32",
            "CHECKSUM",
            "FARM_FINGERPRINT",
            "TO_HEX",
            "TO_BASE64",
        ],
        Advice(
            "leave it out: a hash of a value shows as much as the value does, and its groups are \
             chosen like those of any other",
        ),
    ),
    // Text.
    (
        &["JSON_EXTRACT", "JSON_QUERY", "JSON_EXTRACT_PATH_TEXT", "PARSE_JSON"],
        Calls(&["JSON_VALUE(x, '$.a.b[0]')", "x ->> 'a'"]),
    ),
    (
        &[
            "DIFFERENCE",
            "EDITDISTANCE",
            "EDIT_DISTANCE",
            "JAROWINKLER_SIMILARITY",
            "JARO_WINKLER_SIMILARITY",
            "LEVENSHTEIN",
            "SOUNDEX",
        ],
        Advice(
            "compute it in a column of the file: its time follows from the texts; \
             REGEXP_CONTAINS(x, r'[Mm]e[iy]er') finds spellings",
        ),
    ),
    (
        &["ST_CONTAINS", "ST_DISTANCE", "ST_DWITHIN", "ST_GEOGPOINT", "ST_POINT", "ST_WITHIN"],
        Advice(
            "compute it in a column of the file, such as the name of an area: geography is not \
             supported",
        ),
    ),
    (&["LEN", "BYTE_LENGTH", "OCTET_LENGTH", "LENGTHB"], Calls(&["LENGTH(x)"])),
    (&["ASCII", "UNICODE", "TO_CODE_POINTS"], Calls(&["SUBSTR(x, 1, 1)"])),
    (&["SUBSTRING_INDEX", "STRTOK"], Calls(&["SPLIT_PART(x, '/', 1)"])),
    (&["OVERLAY", "STUFF"], Calls(&["CONCAT(SUBSTR(x, 1, 2), '!', SUBSTR(x, 4))"])),
    (&["CONTAINS_SUBSTR"], Calls(&["CONTAINS(LOWER(x), 'a')"])),
    (
        &["NORMALIZE", "NORMALIZE_AND_CASEFOLD", "STRIP_ACCENTS", "UNACCENT"],
        Calls(&["TRANSLATE(LOWER(x), 'áé', 'ae')"]),
    ),
    (&["FIND_IN_SET", "FIELD"], Calls(&["x IN ('a', 'b')"])),
    (&["REGEXP_INSTR", "REGEXP_POSITION"], Calls(&["STRPOS(x, 'a')"])),
    (&["REGEXP_ILIKE"], Calls(&["REGEXP_CONTAINS(x, r'(?i)flu|covid')"])),
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
    (&["SQUARE"], Calls(&["POWER(x, 2)"])),
    (&["LOG1P"], Calls(&["LN(1 + x)"])),
    (&["EXPM1"], Calls(&["EXP(x) - 1"])),
    (
        &[
            "PARSE_NUMERIC",
            "TO_DECIMAL",
            "TO_NUMBER",
            "TO_NUMERIC",
            "TRY_TO_DECIMAL",
            "TRY_TO_NUMBER",
            "TRY_TO_NUMERIC",
        ],
        Calls(&["CAST(x AS NUMERIC)"]),
    ),
    (&["INT", "INTEGER", "BIGINT", "TO_INT"], Calls(&["CAST(x AS INT64)"])),
    (&["DOUBLE", "TO_DOUBLE"], Calls(&["CAST(x AS FLOAT64)"])),
    (&["STR", "STRING", "TO_STRING", "TO_VARCHAR"], Calls(&["CAST(x AS STRING)"])),
    (&["BITAND", "BIT_COUNT", "BITOR", "BITXOR"], Calls(&["MOD(DIV(n, 4), 2)"])),
    (&["ISNAN", "IS_INF", "IS_NAN", "ISFINITE"], Calls(&["x IS NULL"])),
    // Conditions.
    (&["ISNULL"], Calls(&["x IS NULL"])),
    (&["IFERROR", "ISERROR", "TRY"], Calls(&["COALESCE(x, y)"])),
    (&["EQUAL_NULL"], Calls(&["x IS NOT DISTINCT FROM y"])),
    (&["CHOOSE", "ELT"], Calls(&["CASE n WHEN 1 THEN 'a' WHEN 2 THEN 'b' END"])),
    (&["NVL2"], Calls(&["IF(x IS NOT NULL, y, NULL)"])),
    (&["ZEROIFNULL"], Calls(&["COALESCE(x, 0)"])),
    (&["NULLIFZERO"], Calls(&["NULLIF(x, 0)"])),
    (&["DECODE"], Calls(&["CASE x WHEN 'a' THEN 1 ELSE 0 END"])),
    // Dates.
    (
        &["DATEADD", "ADDDATE", "DATE_SHIFT", "SUBDATE", "TIMESTAMPADD"],
        Calls(&["DATE_ADD(day, INTERVAL 30 DAY)", "day + INTERVAL 30 DAY"]),
    ),
    (&["ADD_MONTHS"], Calls(&["DATE_ADD(day, INTERVAL 3 MONTH)"])),
    (&["AGE", "MONTHS_BETWEEN"], Calls(&["DATE_DIFF(day, DATE '2026-01-31', MONTH)"])),
    (
        &["DATETRUNC", "TRUNC_DATE"],
        Calls(&["DATE_TRUNC(day, MONTH)", "TIMESTAMP_TRUNC(moment, HOUR)"]),
    ),
    (&["DATE_FORMAT", "TIME_FORMAT"], Calls(&["FORMAT_DATE('%Y-%m', day)"])),
    (&["DATEPART"], Calls(&["EXTRACT(YEAR FROM day)", "DATE_PART('year', day)"])),
    (
        &["EPOCH", "TO_UNIX_TIMESTAMP", "UNIX_SECONDS", "UNIX_TIMESTAMP"],
        Calls(&["EXTRACT(EPOCH FROM moment)"]),
    ),
    (&["EPOCH_MS", "UNIX_MILLIS"], Calls(&["1000 * EXTRACT(EPOCH FROM moment)"])),
    (&["UNIX_DATE", "TO_DAYS"], Calls(&["DATE_DIFF(day, DATE '1970-01-01', DAY)"])),
    (
        &["FROM_UNIXTIME", "TIMESTAMP_SECONDS"],
        Calls(&["DATE_ADD(TIMESTAMP '1970-01-01', INTERVAL n SECOND)"]),
    ),
    (
        &["TIMEDIFF", "TIMESTAMPDIFF"],
        Calls(&["TIMESTAMP_DIFF(moment, TIMESTAMP '2026-01-31', HOUR)"]),
    ),
    (
        &["DAYOFWEEK_ISO", "DAY_OF_WEEK", "DOW", "ISODOW", "WEEKDAY"],
        Calls(&["EXTRACT(ISODOW FROM day)"]),
    ),
    (&["DAY_OF_YEAR", "DOY"], Calls(&["EXTRACT(DAYOFYEAR FROM day)"])),
    (&["ISOWEEK", "WEEKISO", "WEEK_OF_YEAR"], Calls(&["EXTRACT(ISOWEEK FROM day)"])),
    (&["YEARWEEK", "YEAROFWEEK"], Calls(&["FORMAT_DATE('%G-%V', day)"])),
    (&["EOMONTH"], Calls(&["LAST_DAY(day)"])),
    (&["TIME_SLICE"], Calls(&["TIME_BUCKET(INTERVAL 15 MINUTE, moment)"])),
    (
        &["CONVERT_TIMEZONE", "CONVERT_TZ", "FROM_UTC_TIMESTAMP", "TIMEZONE", "TO_UTC_TIMESTAMP"],
        Calls(&["moment AT TIME ZONE 'Europe/Berlin'"]),
    ),
    (
        &["TIMESTAMP", "DATETIME", "MAKE_TIMESTAMP", "TIMESTAMP_FROM_PARTS"],
        Calls(&["CAST(x AS TIMESTAMP)"]),
    ),
    (
        &["STR_TO_DATE", "TO_DATE", "TO_TIMESTAMP", "TRY_TO_DATE", "TRY_TO_TIMESTAMP"],
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
    (
        &["APPROX_MEDIAN", "PERCENTILE", "PERCENTILE_APPROX", "QUANTILE", "QUANTILES", "TDIGEST"],
        Advice("PERCENTILE_CONT(x, 0.9), or MEDIAN(x)"),
    ),
    (&["COUNT_IF", "SUM_IF", "SUMIF"], Advice("COUNTIF(x > 0), or SUM(IF(x > 0, x, 0))")),
    (&["COUNT_BIG", "COUNT_STAR"], Advice("COUNT(*)")),
    (
        &["APPROX_DISTINCT", "COUNT_DISTINCT", "HLL", "NDV", "UNIQ"],
        Advice("COUNT(DISTINCT x, contribution_bounds_per_group => (0, 3))"),
    ),
    (&["FSUM", "KAHAN_SUM", "SUM0", "TOTAL"], Advice("SUM(x)")),
    (&["MEAN", "AVERAGE", "FAVG"], Advice("AVG(x)")),
    (&["STD", "STDEVP", "STDDEVP"], Advice("STDDEV(x), or STDDEV_POP(x)")),
    (&["VAR", "VARP", "VARIANCE_POP", "VARIANCE_SAMP"], Advice("VARIANCE(x), or VAR_POP(x)")),
    (
        &["REGR_SLOPE", "REGR_R2", "REGR_INTERCEPT"],
        Advice(
            "the slope is COVAR_POP(x, y) / VAR_POP(y), and CORR(x, y) squared the share that it \
             explains",
        ),
    ),
    (
        &["GEOMEAN", "GEOMETRIC_MEAN", "PRODUCT"],
        Advice("EXP(AVG(LN(x), contribution_bounds_per_row => (0, 10)))"),
    ),
    (
        &["SKEWNESS", "KURTOSIS", "KURT_POP", "SKEW"],
        Advice("AVG(POWER(x - 50, 3), contribution_bounds_per_row => (-1000, 1000))"),
    ),
    (
        &["BOOL_AND", "BOOL_OR", "EVERY", "LOGICAL_AND", "LOGICAL_OR"],
        Advice("COUNTIF(x): one record alone would decide whether all or any are"),
    ),
    (
        &[
            "ANY_VALUE",
            "APPROX_TOP_COUNT",
            "APPROX_TOP_K",
            "ARBITRARY",
            "ARG_MAX",
            "ARG_MIN",
            "ARRAY_AGG",
            "COLLECT_LIST",
            "COLLECT_SET",
            "FIRST",
            "GROUP_CONCAT",
            "HISTOGRAM",
            "JSON_AGG",
            "JSON_ARRAYAGG",
            "LAST",
            "LIST",
            "LISTAGG",
            "MAX_BY",
            "MIN_BY",
            "MODE",
            "STRING_AGG",
            "TOP_K",
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
