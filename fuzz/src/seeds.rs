//! Inputs to begin with.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
use datafusion::parquet::arrow::ArrowWriter;

use crate::stress;

pub(crate) const SHOP: &str = include_str!("../../examples/shop/hushtable.toml");

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Statements of every kind of the stress list: some of it, and as much as there is room for.
pub(crate) fn statements() -> Vec<Vec<u8>> {
    const SOME: usize = 20;
    let mut all = sql();
    let mut kinds = stress::statements().into_iter().peekable();
    while let Some((kind, pieces, sql)) = kinds.next() {
        if pieces == SOME || kinds.peek().is_none_or(|(next, ..)| *next != kind) {
            all.push(sql.into_bytes());
        }
    }
    all
}

pub(crate) fn sql() -> Vec<Vec<u8>> {
    let many = format!("SELECT {}town FROM visits GROUP BY town", "COUNT(*),".repeat(7_000));
    let long = format!("SELECT {}(amount) FROM visits", "ab".repeat(5_000));
    texts(&[
        &many,
        &long,
        include_str!("../../examples/establishments/counties.sql"),
        include_str!("../../examples/herds/districts.sql"),
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, \
         delta = 1e-6, max_groups_contributed = 3) town, COUNT(*) AS n, \
         SUM(CASE WHEN quantity > 2 THEN CAST(amount AS FLOAT64) ELSE 0 END) AS s FROM visits \
         WHERE NOT (town = 'x' OR quantity IN (1, 2)) AND day BETWEEN DATE '2024-01-01' \
         AND DATE '2024-12-31' GROUP BY town HAVING n > 10 ORDER BY s DESC LIMIT 20",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 100000, delta = 1e-6, \
         max_groups_contributed = 1, group_selection_strategy = OPTIMAL) town, COUNT(*) \
         FROM visits GROUP BY town",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
         max_groups_contributed = 2, max_rows_per_group = 2, noise = LAPLACE, \
         group_selection_strategy = MEASURED_COUNT) town, AVG(quantity), AVG(amount), \
         AVG(quantity, contribution_bounds_per_row => (0, 7)) FROM visits GROUP BY town",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 900, delta = 1e-9, \
         max_groups_contributed = 20) town, MEDIAN(amount) FROM visits GROUP BY town",
        "WITH t AS (SELECT town, COUNT(*) AS n FROM visits \
         WHERE amount > (SELECT AVG(amount) FROM visits) GROUP BY town) SELECT a.town, \
         a.n / SUM(b.n) OVER (PARTITION BY a.town ORDER BY b.n), (SELECT MAX(n) FROM t \
         WHERE t.town = a.town) FROM t a LEFT JOIN t b ON a.n < b.n UNION ALL SELECT 'x', 1, 2",
        "SELECT town, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM visits \
         GROUP BY 1 HAVING COUNT(*) > (SELECT COUNT(*) FROM visits) / 10 QUALIFY r < 3 \
         ORDER BY r LIMIT 2",
        "SELECT EXTRACT(YEAR FROM day), MEDIAN(amount), PERCENTILE_CONT(amount, 0.9) FROM visits \
         GROUP BY EXTRACT(YEAR FROM day)",
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FILTER \
         (WHERE town ILIKE '%a%'), COUNT(DISTINCT town) FROM visits \
         WHERE day > CURRENT_DATE - INTERVAL '900 days' AND town !~ '(a|b)*c{2,5}' GROUP BY ALL",
        "SELECT DISTINCT REGEXP_REPLACE(town, r'([a-z]+)-', r'\\1'), \
         FORMAT_DATE('%Y %b', day) FROM visits",
        "SELECT APPROX_QUANTILES(amount, 4)[OFFSET(1)], STDDEV(amount), \
         POSITION('a' IN 'b') FROM visits",
        "SELECT SUBSTR(town, 1, 2) || UPPER(TRIM(town)), COUNT(DISTINCT customer_id) FROM visits \
         WHERE town LIKE '%a_b%' GROUP BY SUBSTR(town, 1, 2) || UPPER(TRIM(town))",
    ])
}

pub(crate) fn contracts() -> Vec<Vec<u8>> {
    texts(&[
        SHOP,
        include_str!("../../examples/establishments/hushtable.toml"),
        include_str!("../../examples/herds/hushtable.toml"),
        include_str!("../../examples/sim/hushtable.toml"),
    ])
}

pub(crate) fn workloads() -> Vec<Vec<u8>> {
    texts(&[
        include_str!("../../examples/establishments/workload.toml"),
        "epsilon = 1\ndelta = 1e-6\n[levels]\nplace = [\"town\", \"product\"]\n[[queries]]\n\
         name = \"{place}\"\nsql = \"SELECT {place}, COUNT(*) FROM visits GROUP BY {place}\"\n\
         weight = 2\n",
    ])
}

pub(crate) fn models() -> Vec<Vec<u8>> {
    texts(&[
        include_str!("../../examples/partial-knowledge/example-1-noise.toml"),
        include_str!("../../examples/partial-knowledge/example-4-sum.toml"),
        include_str!("../../examples/partial-knowledge/example-6-correlated.toml"),
        include_str!("../../examples/partial-knowledge/example-9.toml"),
    ])
}

pub(crate) fn csv() -> Vec<Vec<u8>> {
    texts(&[
        "id,town,amount,day\n1,Ashford,12.50,2024-01-31\n2,\"Wick, \"\"old\"\"\",-3,\n,,,\n",
        "a;b\r\n1;2\r\n\r\n\"x\ny\";4",
        "\u{feff}a,a b,\n1e400,NaN,99999999999999999999\n",
    ])
}

pub(crate) fn json_lines() -> Vec<Vec<u8>> {
    texts(&[
        "{\"id\":1,\"town\":\"Ashford\",\"amount\":12.50,\"day\":\"2024-01-31\"}\n\
         {\"id\":2.0,\"town\":\"W\\u00edck \\ud83d\\ude00\\n\",\"amount\":-3e2,\"day\":null}\n",
        "\u{feff}{\"a\": [1, {\"b\": [[]]}], \"a\": \"\\ud800\"}\r\n\r\n[]\n\
         {\"c\" : true } \n{\"a\":",
        "{\"x\":1e400,\"y\":99999999999999999999}\n{}\n{\"x\":\"007\"}",
    ])
}

/// Rows of several types.
fn columns() -> [(&'static str, ArrayRef); 3] {
    let numbers: Vec<Option<i64>> = (0..40).map(|i| (i % 7 != 0).then_some(i * 1_000)).collect();
    let names: Vec<String> = (0..40).map(|i| format!("town {}", i % 5)).collect();
    let floats: Vec<f64> = (0..40).map(|i| f64::from(i) / 3.0).collect();
    [
        ("id", Arc::new(Int64Array::from(numbers))),
        ("town", Arc::new(StringArray::from(names))),
        ("amount", Arc::new(Float64Array::from(floats))),
    ]
}

pub(crate) fn arrow() -> Vec<Vec<u8>> {
    let town = ("town", columns()[1].1.clone());
    let keys = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let batches = [
        RecordBatch::try_from_iter(columns()).ok(),
        cast(&town.1, &keys).ok().and_then(|town| RecordBatch::try_from_iter([("t", town)]).ok()),
    ];
    let file = |batch: &RecordBatch| {
        let mut writer = FileWriter::try_new(Vec::new(), batch.schema_ref()).ok()?;
        writer.write(batch).ok()?;
        writer.into_inner().ok()
    };
    let stream = |batch: &RecordBatch| {
        let mut writer = StreamWriter::try_new(Vec::new(), batch.schema_ref()).ok()?;
        writer.write(batch).ok()?;
        writer.into_inner().ok()
    };
    let batches = batches.iter().flatten();
    batches.flat_map(|batch| [file(batch), stream(batch)]).flatten().collect()
}

pub(crate) fn parquet() -> Vec<Vec<u8>> {
    let columns = columns();
    let written = |columns: &[(&str, ArrayRef)]| {
        let batch = RecordBatch::try_from_iter(columns.to_vec()).ok()?;
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).ok()?;
        writer.write(&batch).ok()?;
        writer.into_inner().ok()
    };
    [written(&columns), written(&columns[..1]), written(&columns[1..2])]
        .into_iter()
        .flatten()
        .collect()
}
