//! Statements of up to 64 KiB, each as much of one thing as fits.
//!
//! Whatever can multiply has a kind here: names that stand for queries, levels, sides, lists,
//! patterns, parts. Each kind comes at several sizes, as what is dearest is often just below a
//! limit.

/// Most bytes of a statement.
const MAX_BYTES: usize = 65_536;

/// A kind of statement: its name, and the statement with that many pieces.
type Kind = (&'static str, fn(usize) -> String);

/// The sizes of each kind that are tried: those that fit.
const SIZES: [usize; 13] = [2, 5, 10, 20, 31, 49, 99, 199, 400, 900, 2_000, 5_000, 12_000];

/// Every kind.
const KINDS: [Kind; 60] = [
    ("unions of rows", |n| doubled("SELECT amount AS n FROM visits", n, "SELECT COUNT(*) FROM")),
    ("unions of releases", |n| {
        doubled("SELECT COUNT(*) AS n FROM visits GROUP BY product", n, "SELECT SUM(n) FROM")
    }),
    ("joins of releases with themselves", |n| {
        let first = "a0 AS (SELECT product, COUNT(*) AS n FROM visits GROUP BY product)";
        let next = |i: usize| {
            format!(
                ", a{} AS (SELECT x.product, x.n + y.n AS n \
                 FROM a{i} x JOIN a{i} y USING (product))",
                i + 1
            )
        };
        format!("WITH {first}{} SELECT * FROM a{n}", repeated(n, next))
    }),
    ("a chain of joins of a release", |n| {
        let first = "r AS (SELECT product, COUNT(*) AS n FROM visits GROUP BY product)";
        let next = |i: usize| format!(" JOIN r r{} ON r{}.product = r{i}.product", i + 1, i + 1);
        format!("WITH {first} SELECT SUM(r0.n) AS s FROM r r0{}", repeated(n, next))
    }),
    ("joins of rows with themselves", |n| {
        let next = |i: usize| {
            format!(
                ", a{} AS (SELECT x.customer_id, x.amount FROM a{i} x JOIN a{i} y \
                 ON x.customer_id = y.customer_id)",
                i + 1
            )
        };
        format!(
            "WITH a0 AS (SELECT customer_id, amount FROM visits){} SELECT COUNT(*) FROM a{n}",
            repeated(n, next)
        )
    }),
    ("scalar sub-queries that double", |n| {
        let next = |i: usize| {
            format!(
                ", a{} AS (SELECT (SELECT MAX(n) FROM a{i}) + (SELECT MIN(n) FROM a{i}) AS n)",
                i + 1
            )
        };
        format!(
            "WITH a0 AS (SELECT COUNT(*) AS n FROM visits){} SELECT n FROM a{n}",
            repeated(n, next)
        )
    }),
    ("columns that double", |n| {
        let next = |i: usize| format!(", a{} AS (SELECT n + n AS n FROM a{i})", i + 1);
        format!(
            "WITH a0 AS (SELECT COUNT(*) AS n FROM visits){} SELECT n FROM a{n}",
            repeated(n, next)
        )
    }),
    ("columns of rows that double", |n| {
        let next = |i: usize| format!(", a{} AS (SELECT n + n AS n FROM a{i})", i + 1);
        format!(
            "WITH a0 AS (SELECT quantity AS n FROM visits){} SELECT SUM(n) FROM a{n}",
            repeated(n, next)
        )
    }),
    ("tables of columns that double", |n| {
        let next = |i: usize| format!(", a{} AS (SELECT * FROM a{i} x CROSS JOIN a{i} y)", i + 1);
        format!(
            "WITH a0 AS (SELECT COUNT(*) AS n FROM visits){} SELECT * FROM a{n}",
            repeated(n, next)
        )
    }),
    ("a chain of names", |n| {
        let next = |i: usize| format!(", a{} AS (SELECT n FROM a{i})", i + 1);
        format!(
            "WITH a0 AS (SELECT COUNT(*) AS n FROM visits){} SELECT n FROM a{n}",
            repeated(n, next)
        )
    }),
    ("a chain of wide names", |n| {
        let columns = repeated(300, |i| format!("n AS c{i},"));
        let next = |i: usize| format!(", a{} AS (SELECT * FROM a{i})", i + 1);
        format!(
            "WITH a0 AS (SELECT {columns} n FROM (SELECT COUNT(*) AS n FROM visits)){} \
             SELECT * FROM a{n}",
            repeated(n, next)
        )
    }),
    ("a chain of names of rows", |n| {
        let next = |i: usize| format!(", a{} AS (SELECT * FROM a{i})", i + 1);
        format!("WITH a0 AS (SELECT * FROM visits){} SELECT COUNT(*) FROM a{n}", repeated(n, next))
    }),
    ("UNION", |n| {
        let side = |_| "SELECT product, COUNT(*) FROM visits GROUP BY product".to_owned();
        joined(n, " UNION ", side)
    }),
    ("UNION ALL of constants", |n| {
        format!("SELECT COUNT(*) FROM visits {}", repeated(n, |i| format!("UNION ALL SELECT {i} ")))
    }),
    ("UNION ALL of different parts", |n| {
        joined(n, " UNION ALL ", |i| format!("SELECT COUNT(*) FROM visits WHERE quantity > {i}"))
    }),
    ("parts with groups", |n| {
        joined(n, " UNION ALL ", |i| {
            format!(
                "SELECT town, COUNT(*), AVG(amount) FROM visits WHERE quantity > {i} GROUP BY town"
            )
        })
    }),
    ("parts with quantiles", |n| {
        joined(n, " UNION ALL ", |i| {
            format!("SELECT town, MEDIAN(amount) FROM visits WHERE quantity > {i} GROUP BY town")
        })
    }),
    ("parts with AUTO limits", |n| {
        joined(n, " UNION ALL ", |i| {
            format!(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
                 max_groups_contributed = AUTO) town, COUNT(*) FROM visits \
                 WHERE quantity > {i} GROUP BY town"
            )
        })
    }),
    ("parts with measured counts", |n| {
        joined(n, " UNION ALL ", |i| {
            format!(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
                 max_groups_contributed = 20, noise = GAUSSIAN, group_selection_strategy = \
                 MEASURED_COUNT) town, COUNT(*), AVG(amount) FROM visits \
                 WHERE quantity > {i} GROUP BY town"
            )
        })
    }),
    ("parts with clipping reports", |n| {
        joined(n, " UNION ALL ", |i| {
            format!(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
                 max_groups_contributed = 3, clipping_report = true) town, SUM(amount) \
                 FROM visits WHERE quantity > {i} GROUP BY town"
            )
        })
    }),
    ("wide SELECT of counts", |n| {
        format!("SELECT {} COUNT(*) FROM visits", repeated(n, |_| "COUNT(*), ".to_owned()))
    }),
    ("wide SELECT of sums", |n| {
        format!(
            "SELECT {} COUNT(*) FROM visits",
            repeated(n, |i| format!("SUM(IF(quantity > {i}, amount, 0)), "))
        )
    }),
    ("wide SELECT of conditional counts", |n| {
        format!(
            "SELECT product, {} COUNT(*) FROM visits GROUP BY product",
            repeated(n, |i| format!("COUNTIF(quantity > {i}), "))
        )
    }),
    ("wide SELECT of quantiles", |n| {
        format!(
            "SELECT {} COUNT(*) FROM visits",
            repeated(n, |i| format!("PERCENTILE_CONT(amount, 0.{i:04}), "))
        )
    }),
    ("wide SELECT of quantiles by group", |n| {
        format!(
            "SELECT town, {} COUNT(*) FROM visits GROUP BY town",
            repeated(n, |i| format!("PERCENTILE_CONT(amount, 0.{i:04}), "))
        )
    }),
    ("wide SELECT of means", |n| {
        format!(
            "SELECT town, {} COUNT(*) FROM visits GROUP BY town",
            repeated(n, |i| format!("AVG(IF(quantity > {i}, amount, 0)), "))
        )
    }),
    ("wide SELECT of deviations", |n| {
        format!(
            "SELECT town, {} COUNT(*) FROM visits GROUP BY town",
            repeated(n, |i| format!("STDDEV(IF(quantity > {i}, amount, 0)), "))
        )
    }),
    ("wide SELECT of ratios", |n| {
        format!(
            "SELECT product, {} COUNT(*) FROM visits GROUP BY product",
            repeated(n, |i| format!("SUM(amount) / (COUNT(*) + {i}), "))
        )
    }),
    ("wide SELECT of expressions around", |n| {
        format!(
            "SELECT {} n FROM (SELECT product, COUNT(*) AS n FROM visits GROUP BY product) t \
             CROSS JOIN (SELECT COUNT(*) AS m FROM visits) u",
            repeated(n, |i| format!("n * {i} + m, "))
        )
    }),
    ("operands of an expression around", |n| {
        let columns = joined(99, ", ", |i| format!("n + {i} AS c{i}"));
        format!(
            "WITH t AS (SELECT {columns} FROM (SELECT COUNT(*) AS n FROM visits)) SELECT {} FROM t",
            joined(n, " + ", |i| format!("c{}", i % 99))
        )
    }),
    ("ROLLUP", |n| {
        format!(
            "SELECT COUNT(*) FROM visits GROUP BY ROLLUP ({})",
            joined(n, ", ", |i| format!("MOD(quantity, {})", i + 2))
        )
    }),
    ("CUBE", |n| {
        format!(
            "SELECT COUNT(*) FROM visits GROUP BY CUBE ({})",
            joined(n, ", ", |i| format!("MOD(quantity, {})", i + 2))
        )
    }),
    ("CUBE twice", |n| {
        let keys = ["product", "town", "month", "quantity", "day"];
        let keys = keys[..n.min(5)].join(", ");
        format!("SELECT {keys}, COUNT(*), AVG(amount) FROM visits GROUP BY CUBE ({keys})")
    }),
    ("GROUPING SETS", |n| {
        format!(
            "SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ({})",
            joined(n, ", ", |i| format!("(MOD(quantity, {}), town)", i + 2))
        )
    }),
    ("ROLLUP of a release", |n| {
        format!(
            "WITH t AS (SELECT product, town, COUNT(*) AS n FROM visits GROUP BY product, town) \
             SELECT SUM(n) FROM t GROUP BY CUBE ({})",
            joined(n, ", ", |i| format!("MOD(n, {})", i + 2))
        )
    }),
    ("keys", |n| {
        format!(
            "SELECT COUNT(*) FROM visits GROUP BY {}",
            joined(n, ", ", |i| format!("MOD(quantity, {})", i + 2))
        )
    }),
    ("parentheses", |n| {
        format!("SELECT COUNT(*) FROM visits WHERE {}quantity > 0{}", "(".repeat(n), ")".repeat(n))
    }),
    ("NOT", |n| format!("SELECT COUNT(*) FROM visits WHERE {} quantity > 0", "NOT ".repeat(n))),
    ("nested sub-queries", |n| {
        format!("SELECT COUNT(*) FROM {}visits{}", "(SELECT * FROM ".repeat(n), ")".repeat(n))
    }),
    ("nested CASE", |n| {
        format!(
            "SELECT COUNT(*) FROM visits WHERE {}quantity{} > 0",
            "CASE quantity WHEN 1 THEN 2 ELSE ".repeat(n),
            " END".repeat(n)
        )
    }),
    ("nested NULLIF", |n| {
        format!("SELECT SUM({}quantity{}) FROM visits", "NULLIF(".repeat(n), ", 1)".repeat(n))
    }),
    ("a list of numbers", |n| {
        format!(
            "SELECT COUNT(*) FROM visits WHERE quantity IN ({})",
            joined(n, ", ", |i| i.to_string())
        )
    }),
    ("a list of texts", |n| {
        format!(
            "SELECT COUNT(*) FROM visits WHERE town IN ({})",
            joined(n, ", ", |i| format!("'t{i}'"))
        )
    }),
    ("a list around", |n| {
        format!(
            "SELECT * FROM (SELECT COUNT(*) AS n FROM visits) WHERE n IN ({})",
            joined(n, ", ", |i| i.to_string())
        )
    }),
    ("many lists", |n| {
        let list = joined(100, ", ", |i| i.to_string());
        format!(
            "SELECT COUNT(*) FROM visits WHERE {}",
            joined(n, " OR ", |i| format!("quantity + {i} IN ({list})"))
        )
    }),
    ("OR", |n| {
        format!(
            "SELECT COUNT(*) FROM visits WHERE {}",
            joined(n, " OR ", |i| format!("quantity = {i}"))
        )
    }),
    ("AND of OR", |n| {
        format!(
            "SELECT COUNT(*) FROM visits WHERE {}",
            joined(n, " OR ", |i| format!("(quantity > {i} AND town = 'x')"))
        )
    }),
    ("sums of columns", |n| {
        format!("SELECT SUM({}) FROM visits", joined(n, " + ", |_| "quantity".to_owned()))
    }),
    ("windows around", |n| {
        let window = |i: usize| format!("SUM(n) OVER (PARTITION BY town ORDER BY n + {i})");
        format!(
            "SELECT {} FROM (SELECT town, COUNT(*) AS n FROM visits GROUP BY town)",
            joined(n, ", ", window)
        )
    }),
    ("windows over rows", |n| {
        let window = |i: usize| {
            format!("LAG(amount, {}) OVER (PARTITION BY customer_id ORDER BY day) AS w{i}", i + 1)
        };
        format!(
            "SELECT COUNT(*) FROM (SELECT customer_id, {} FROM visits) t",
            joined(n, ", ", window)
        )
    }),
    ("patterns", |n| {
        format!(
            "SELECT COUNT(*) FROM visits WHERE {}",
            joined(n, " OR ", |i| format!("REGEXP_CONTAINS(town, r'a{{900}}{i}')"))
        )
    }),
    ("patterns with optional pieces", |n| {
        let pieces = "(?:ab)?".repeat(n.min(150));
        format!(
            "SELECT COUNT(*) FROM visits WHERE REGEXP_EXTRACT(town, r'^x{pieces}(a*)(?:b)$') = 'x' \
             OR {}",
            joined(n, " OR ", |i| format!("REGEXP_EXTRACT(town, r'{i}(a*)a') = 'x'"))
        )
    }),
    ("patterns of classes", |n| {
        format!(
            "SELECT COUNT(*) FROM visits WHERE REGEXP_CONTAINS(town, r'(?i){}')",
            r"\pL".repeat(n)
        )
    }),
    ("many patterns of classes", |n| {
        format!(
            "SELECT COUNT(*) FROM visits WHERE {}",
            joined(n, " OR ", |i| format!(r"REGEXP_CONTAINS(town, r'(?i)[\pL\pN]{{9}}{i}')"))
        )
    }),
    ("patterns of LIKE", |n| {
        format!(
            "SELECT COUNT(*) FROM visits WHERE {}",
            joined(n, " OR ", |i| format!("town LIKE '%a{i}%b{i}%'"))
        )
    }),
    ("a long name", |n| format!("SELECT {} FROM visits", "abcdefg".repeat(n))),
    ("long names of tables", |n| {
        let names =
            joined(20, ", ", |i| format!("{}{i} AS (SELECT * FROM visits)", "ab".repeat(n)));
        format!("WITH {names} SELECT COUNT(*) FROM {}", "ba".repeat(n))
    }),
    ("many names that are near", |n| {
        let column = |i: usize| format!("n AS nearly_the_same_name_{i}");
        format!(
            "SELECT nearly_the_same_nane FROM (SELECT {} FROM (SELECT COUNT(*) AS n FROM visits))",
            joined(n, ", ", column)
        )
    }),
    ("aliases that stand for each other", |n| {
        format!(
            "SELECT COUNT(*) AS a0, {} FROM visits HAVING a{n} > 0",
            joined(n, ", ", |i| format!("a{i} + a{i} AS a{}", i + 1))
        )
    }),
    ("options", |n| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, {}) COUNT(*) FROM visits",
            joined(n, ", ", |i| format!("optoin_{i} = 1"))
        )
    }),
];

/// All statements, with the names of their kinds.
pub fn statements() -> Vec<(&'static str, usize, String)> {
    let mut all = Vec::new();
    for (kind, of) in KINDS {
        for pieces in SIZES {
            let sql = of(pieces);
            if sql.len() > MAX_BYTES {
                break;
            }
            all.push((kind, pieces, sql));
        }
    }
    all
}

fn repeated(n: usize, piece: impl Fn(usize) -> String) -> String {
    (0..n).map(piece).collect()
}

fn joined(n: usize, between: &str, piece: impl Fn(usize) -> String) -> String {
    (0..n).map(piece).collect::<Vec<_>>().join(between)
}

/// Names that each read the one before twice.
fn doubled(first: &str, n: usize, last: &str) -> String {
    let next =
        |i: usize| format!(", a{} AS (SELECT n FROM a{i} UNION ALL SELECT n FROM a{i})", i + 1);
    format!("WITH a0 AS ({first}){} {last} a{n}", repeated(n, next))
}
