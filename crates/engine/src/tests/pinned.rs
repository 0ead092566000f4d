//! Optimisations that gave DataFusion wrong rows in silence are off, and what they were wrong about
//! comes out right: DataFusion's issues 24355, 24352, 22941 and 24056.

use std::fs::File;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionConfig;
use hushtable_plan::SqlStatement;

use super::plans::text;
use super::*;
use crate::around::AroundPlan;
use crate::contributions::SamplingKey;
use crate::exact::{Scan, exact_of};
use crate::memory::QueryMemory;

const KEY: SamplingKey = SamplingKey([3; 16]);

const CONTRACT: &str = r#"
[units.person]
budgets.ana = { epsilon = 10, delta = 1e-3 }
[units.person.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 1
max_rows_per_group = 1000
[tables.t]
path = "t.parquet"
unit = { of = "person", column = "id" }
[tables.t.columns]
id = { type = "int" }
a = { type = "int" }
b = { type = "int", bounds = [0, 100_000_000] }
"#;

/// Rows of a row group, and of a page.
const GROUP: usize = 2048;
const PAGE: usize = 50;

type Row = [i64; 3];

/// Unit, a and b, row by row: row groups of which a condition on `a` keeps all rows, those of some
/// pages, none, and all, while `b` is least in the last.
fn rows() -> Vec<Row> {
    (0..4 * GROUP)
        .map(|row| {
            let (group, within) = (row / GROUP, row % GROUP);
            let a = match group {
                0 | 3 => 1,
                1 => i64::from(within / PAGE % 2 == 1),
                _ => 0,
            };
            let b = [1_000_000, 500_000, 700_000, 0][group] + within * 7 % GROUP;
            [row as i64 % 61, a, b as i64]
        })
        .collect()
}

fn fixture(rows: &[Row]) -> Fixture {
    let fixture = Fixture::new(CONTRACT, &[]);
    let column = |at: usize| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row[at])))
    };
    let columns = [("id", column(0)), ("a", column(1)), ("b", column(2))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP))
        .set_data_page_row_count_limit(PAGE)
        .set_write_batch_size(PAGE)
        .set_statistics_enabled(EnabledStatistics::Page)
        .build();
    let file = File::create(fixture.path().join("t.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    assert_eq!(writer.close().unwrap().num_row_groups(), 4);
    fixture
}

fn protected(from: &str) -> String {
    format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_joined = 200) \
         COUNT(*) AS n, SUM(b) AS s FROM {from}"
    )
}

/// The plan of a query, and the number and the sum of b of the rows that it counts: exact.
async fn counted(
    fixture: &Fixture,
    memory: &QueryMemory,
    from: &str,
) -> (String, Result<String, String>) {
    let session = fixture.session();
    let sql = protected(from);
    let checked = session.check(&sql).unwrap();
    let progress = Progress::default();
    let reading = progress.reading();
    let scan = Scan::plan(&checked.quote, &checked.data, &reading, memory);
    let scan = scan.await.unwrap();
    let shown = scan.shown();
    let (plan, memory) = scan.keyed(KEY);
    let exact = exact_of(plan, &memory, checked.quote.query()).await;
    (shown, exact.map(|exact| text(&exact).join("\n")).map_err(|error| error.to_string()))
}

/// The first of each unit's rows by b, of those with that a.
fn first(rows: &[Row], a: i64, most: usize) -> Vec<Row> {
    let mut first = Vec::new();
    for unit in 0..61 {
        let first_rows = rows.iter().filter(|row| row[0] == unit && row[1] == a);
        let mut first_rows: Vec<Row> = first_rows.copied().collect();
        first_rows.sort_by_key(|row| row[2]);
        first_rows.truncate(most);
        first.extend(first_rows);
    }
    first
}

/// Units, rows and their sum of b, as exact groups have them.
fn expected(rows: &[Row]) -> String {
    let mut units: Vec<i64> = rows.iter().map(|row| row[0]).collect();
    units.sort_unstable();
    units.dedup();
    let sum: i64 = rows.iter().map(|row| row[2]).sum();
    format!(": {} {} {sum}", units.len(), rows.len())
}

/// Questions over protected rows, and the rows that count: the shapes of the issues.
fn cases(rows: &[Row]) -> Vec<(&'static str, Vec<Row>)> {
    let with = |a: i64| rows.iter().filter(move |row| row[1] == a);
    let least = |unit: i64| with(1).filter(|r| r[0] == unit).map(|r| r[2]).min().unwrap();
    vec![
        // 24355 and 24352: the first rows by b of those with an a, where parts of row groups have
        // none of them.
        (
            "(SELECT id, b, ROW_NUMBER() OVER (PARTITION BY id ORDER BY b) AS place FROM t \
             WHERE a = 1) WHERE place <= 5",
            first(rows, 1, 5),
        ),
        (
            "(SELECT id, b, ROW_NUMBER() OVER (PARTITION BY id ORDER BY b) AS place FROM t \
             WHERE a = 0) WHERE place <= 3",
            first(rows, 0, 3),
        ),
        // 22941: conditions that whole row groups fulfil, and some pages.
        ("t WHERE a = 1 AND b >= 0", with(1).copied().collect()),
        ("t WHERE b >= 1000000 OR a = 1 AND b < 600000", {
            let counts = |row: &&Row| row[2] >= 1_000_000 || row[1] == 1 && row[2] < 600_000;
            rows.iter().filter(counts).copied().collect()
        }),
        // 24056: rows with a partner that fulfils a condition, or without; many rows of each unit.
        (
            "t WHERE a = 1 AND EXISTS (SELECT 1 FROM t c WHERE c.id = t.id AND c.a = 1 \
             AND c.b < t.b)",
            with(1).filter(|row| row[2] > least(row[0])).copied().collect(),
        ),
        (
            "t WHERE a = 1 AND NOT EXISTS (SELECT 1 FROM t c WHERE c.id = t.id AND c.a = 1 \
             AND c.b < t.b)",
            with(1).filter(|row| row[2] == least(row[0])).copied().collect(),
        ),
        // Joins whose filter of the other side could be known while they run.
        (
            "t JOIN (SELECT id, MIN(b) AS least FROM t WHERE a = 1 GROUP BY id) c ON c.id = t.id \
             WHERE b = least",
            with(1).filter(|row| row[2] == least(row[0])).copied().collect(),
        ),
    ]
}

#[test]
fn rows_that_were_lost_elsewhere_count() {
    let rows = rows();
    let fixture = fixture(&rows);
    let memory = QueryMemory::new(None).unwrap();
    async {
        let mut operators = std::collections::BTreeSet::new();
        for (from, want) in cases(&rows) {
            let (plan, found) = counted(&fixture, &memory, from).await;
            assert_eq!(found.unwrap(), expected(&want), "{from}\n{plan}");
            for word in ["Dynamic", "fetch", "LimitExec", "TopK", "prun", "predicate", "file"] {
                assert!(!plan.contains(word), "{word}\n{plan}");
            }
            let names = plan.lines().filter_map(|line| line.trim().split([':', ' ', ',']).next());
            operators.extend(names.map(str::to_owned));
        }
        // No others are in plans over protected rows, and no rule of an optimizer put them there.
        insta::assert_snapshot!(operators.into_iter().collect::<Vec<_>>().join("\n"));
    }
    .wait();
}

/// Where memory ends, a join fails: it never spills, and never goes on with a part of its rows.
#[test]
fn joins_that_lack_memory_fail() {
    let rows = rows();
    let fixture = fixture(&rows);
    let mut failed = 0;
    async {
        for (from, want) in cases(&rows) {
            for kib in [1024, 1280, 1536, 2048, 4096, 1 << 20] {
                let limit = format!("{kib}KiB").parse().unwrap();
                let memory = QueryMemory::new(Some(limit)).unwrap();
                assert!(!memory.tasks().runtime_env().disk_manager.tmp_files_enabled());
                match counted(&fixture, &memory, from).await.1 {
                    Ok(found) => assert_eq!(found, expected(&want), "{from} in {kib} KiB"),
                    Err(error) => {
                        assert!(error.contains("memory"), "{error}");
                        failed += 1;
                    }
                }
            }
        }
    }
    .wait();
    assert!(failed > 0);
}

/// SQL around releases, over a table as large as a file's: the first rows, with and without a
/// condition, and rows with a partner.
#[test]
fn the_first_rows_of_releases_are_the_first() {
    let fixture = fixture(&rows());
    let session = fixture.session();
    let numbers: Vec<i64> = (0..20_000).map(|row| row * 7919 % 20_011).collect();
    let column: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
    let table = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let mut sorted = numbers;
    sorted.sort_unstable();
    let part = "(SELECT COUNT(*) AS n FROM t)";
    let with = "WITH r AS (SELECT COUNT(*) AS n FROM t)";
    let above = |least: i64| sorted.iter().copied().filter(move |&n| n >= least);
    for (sql, want) in [
        (format!("SELECT n FROM {part} ORDER BY n LIMIT 5"), sorted[..5].to_vec()),
        (
            format!("SELECT n FROM {part} WHERE n >= 11000 ORDER BY n LIMIT 5 OFFSET 2"),
            above(11_000).skip(2).take(5).collect(),
        ),
        (
            format!("{with} SELECT a.n FROM r a JOIN r b ON a.n = b.n + 1 ORDER BY a.n LIMIT 3"),
            above(1).filter(|n| sorted.binary_search(&(n - 1)).is_ok()).take(3).collect(),
        ),
        (
            format!(
                "{with} SELECT n FROM r WHERE EXISTS (SELECT 1 FROM r b WHERE b.n = r.n + 3) \
                 AND n >= 19000 ORDER BY n LIMIT 4"
            ),
            above(19_000).filter(|n| sorted.binary_search(&(n + 3)).is_ok()).take(4).collect(),
        ),
        (
            format!("SELECT MAX(n) AS n FROM {part} GROUP BY n ORDER BY n LIMIT 3"),
            sorted[..3].to_vec(),
        ),
    ] {
        let around = SqlStatement::bind(&sql, session.contract()).unwrap().around.unwrap();
        let names: Vec<_> =
            around.tables.iter().map(|name| (name.clone(), table.schema())).collect();
        let plan = AroundPlan::new(&around, &names, session.memory()).wait().unwrap();
        let shown = displayable(plan.inside().1.as_ref()).indent(true).to_string();
        assert!(!shown.contains("Dynamic"), "{shown}");
        let tables: Vec<&RecordBatch> = names.iter().map(|_| &table).collect();
        let ran = plan.run(tables, session.memory()).wait().unwrap();
        let found = ran.table.column(0).as_primitive::<Int64Type>().values().to_vec();
        assert_eq!(found, want, "{sql}\n{shown}");
    }
}

/// Options that another version of DataFusion adds or changes are seen, and so are rules of its
/// optimizer: they see SQL around releases, and no protected row.
#[test]
fn options_and_rules_are_pinned() {
    let fixture = fixture(&rows());
    let session = fixture.session();
    let sql = "SELECT n FROM (SELECT COUNT(*) AS n FROM t)";
    let around = SqlStatement::bind(sql, session.contract()).unwrap().around.unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let table = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let names: Vec<_> = around.tables.iter().map(|name| (name.clone(), table.schema())).collect();
    let plan = AroundPlan::new(&around, &names, session.memory()).wait().unwrap();
    let (state, _) = plan.inside();
    let telling = |config: &SessionConfig| -> String {
        let about = [
            "dynamic",
            "prun",
            "limit",
            "topk",
            "topn",
            "pushdown",
            "page_index",
            "bloom",
            "spill",
            "prefer",
            "merge_join",
            "statistics",
        ];
        let entries = config.options().entries().into_iter();
        let entries = entries.filter(|entry| about.iter().any(|word| entry.key.contains(word)));
        let mut lines: Vec<String> = entries
            .map(|entry| format!("{} = {}\n", entry.key, entry.value.unwrap_or_default()))
            .collect();
        lines.sort();
        lines.concat()
    };
    let options = telling(state.config());
    let tasks = session.memory().tasks();
    assert_eq!(options, telling(tasks.session_config()));
    assert!(!tasks.runtime_env().disk_manager.tmp_files_enabled());
    assert!(!state.runtime_env().disk_manager.tmp_files_enabled());
    let rules = [
        state.analyzer().rules.iter().map(|rule| rule.name().to_owned()).collect::<Vec<_>>(),
        state.optimizers().iter().map(|rule| rule.name().to_owned()).collect(),
        state.physical_optimizers().iter().map(|rule| rule.name().to_owned()).collect(),
    ];
    let rules = rules.map(|names| names.join("\n"));
    insta::assert_snapshot!(format!("{options}\n{}", rules.join("\n\n")));
}
