//! Plans: as bytes and back, as text, and within a limit of memory.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::ready;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::physical_expr::expressions::{lit, not};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use datafusion::scalar::ScalarValue;
use datafusion_proto::bytes::physical_plan_to_bytes;
use futures::StreamExt;
use sqllogictest::{DefaultColumnType, Record, parse_file};

use super::backend::InPartitions;
use super::{Fixture, Wait};
use crate::answer::Standing;
use crate::backend::{Accepting, Backend, OpenedPlan, PartialStream, UnopenedPlan};
use crate::codec::{PlanCodec, Share};
use crate::contributions::SamplingKey;
use crate::error::EngineError;
use crate::exact::{ExactSums, OwnerScan, Scan, exact_of};
use crate::executor::Executor;
use crate::limit_rows::keyed;
use crate::measurements::ExactMeasurement;
use crate::memory::QueryMemory;
use crate::partial_groups::PartialGroups;
use crate::progress::Progress;
use crate::session::Session;
use crate::source::{ReadRequest, SourceError, SourceExec, SourceTable, TableData, list_files};
use crate::survey::ScanOptions;

const KEY: SamplingKey = SamplingKey([7; 16]);

/// Exact groups as text, in an order that does not depend on the partitions.
pub(super) fn text(exact: &ExactSums) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let keys: Vec<ArrayFormatter<'_>> =
        exact.keys.iter().map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap()).collect();
    let name = |group: usize| {
        keys.iter().map(|key| key.value(group).to_string()).collect::<Vec<_>>().join("|")
    };
    let mut rows: Vec<String> = (0..exact.units.len())
        .map(|group| {
            let mut row = format!("{}: {}", name(group), exact.units[group]);
            for measured in &exact.measured {
                match measured {
                    ExactMeasurement::Sums(sums) => write!(row, " {}", sums[group]).unwrap(),
                    ExactMeasurement::Values(values) | ExactMeasurement::Distinct(values) => {
                        write!(row, " {:?}", values.of(group)).unwrap();
                    }
                }
            }
            row
        })
        .collect();
    rows.sort();
    if let Some(members) = &exact.members {
        let mut units: Vec<String> = (0..members.units())
            .map(|unit| {
                let groups = members.of(unit).iter().map(|&group| name(group as usize));
                let mut groups: Vec<String> = groups.collect();
                groups.sort();
                groups.join(" ")
            })
            .collect();
        units.sort();
        rows.extend(units);
    }
    rows
}

/// The plan of a query, under the key, and its bytes.
async fn plans(session: &Session, sql: &str) -> (OpenedPlan, Vec<u8>) {
    let checked = session.check(sql).unwrap();
    let progress = Progress::default();
    let reading = progress.reading();
    let scan = Scan::plan(&checked.quote, &checked.data, &reading, checked.memory);
    let (plan, _) = scan.await.unwrap().keyed(KEY);
    let bytes = plan.encode(0..plan.partitions()).unwrap();
    (plan, bytes)
}

/// Runs plans after a way through bytes, and hands back groups after such a way.
struct Travelling;

impl Backend for Travelling {
    fn accept<'a>(&'a self, plan: &'a UnopenedPlan) -> Accepting<'a> {
        Box::pin(ready(plan.check_encodable()))
    }

    fn run(&self, plan: OpenedPlan) -> PartialStream {
        let bytes = plan.encode(0..plan.partitions()).unwrap();
        let received = Executor::new(None).unwrap().decode(&bytes).unwrap();
        let travelled = received.run().map(|partial| PartialGroups::decode(&partial?.encode()?));
        Box::pin(travelled)
    }
}

fn decoded(bytes: &[u8]) -> Result<(Arc<dyn ExecutionPlan>, Share), EngineError> {
    PlanCodec::decode(bytes, &QueryMemory::new(None).unwrap().tasks(), &Arc::default())
}

/// Every query of the SQL suite that is not refused gives the same exact groups directly, and by a
/// plan that has been bytes; and for their owner.
#[test]
fn plans_compute_the_same_after_a_round_trip() {
    for (folder, least) in [("tests/sql", 40), ("tests/sql/relations", 20)] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files: Vec<_> = std::fs::read_dir(from).unwrap().map(|f| f.unwrap().path()).collect();
        let fixture = Fixture::new("", &[]);
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e != "slt")) {
            std::fs::copy(file, fixture.path().join(file.file_name().unwrap())).unwrap();
        }
        let session = fixture.session();
        let mut seen = 0;
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "slt")) {
            for record in parse_file::<DefaultColumnType>(file).unwrap() {
                let Record::Query { sql, .. } = record else { continue };
                let Ok(checked) = session.check(&sql) else { continue };
                let query = checked.quote.query();
                async {
                    let (plan, bytes) = plans(&session, &sql).await;
                    let (again, share) = decoded(&bytes).unwrap();
                    assert_eq!(PlanCodec::encode(&again, &share).unwrap(), bytes, "{sql}");
                    let direct = text(&exact_of(plan, checked.memory, query).await.unwrap());
                    let (plan, _) = plans(&session, &sql).await;
                    let travelling = checked.memory.clone().with_backend(Arc::new(Travelling));
                    let travelled = text(&exact_of(plan, &travelling, query).await.unwrap());
                    assert_eq!(direct, travelled, "{sql}");
                    let progress = Progress::default();
                    let reading = progress.reading();
                    let scan =
                        OwnerScan::plan(&checked.quote, &checked.data, &reading, &travelling);
                    let looked =
                        scan.await.unwrap().look(KEY, ScanOptions::default()).await.unwrap();
                    assert_eq!(text(&looked.exact), direct, "{sql}");
                }
                .wait();
                seen += 1;
            }
        }
        assert!(seen >= least, "{folder}: {seen} queries");
    }
}

const CONTRACT: &str = "\
[tables.t]
path = \"t.csv\"
privacy_unit = \"u\"
[tables.t.columns]
u = { type = \"int\" }
town = { type = \"string\" }
n = { type = \"int\", bounds = [0, 100] }
[tables.t.budgets]
ana = { epsilon = 100, delta = 1e-3 }
[tables.towns]
path = \"towns.csv\"
public = true
[tables.towns.columns]
town = { type = \"string\" }
area = { type = \"string\" }
";

fn fixture(units: usize) -> Fixture {
    let mut rows = "u,town,n\n".to_owned();
    for unit in 0..units {
        for n in 0..3 {
            writeln!(rows, "{unit},town number {},{n}", (unit + n) % 900).unwrap();
        }
    }
    let mut towns = "town,area\n".to_owned();
    (0..900).for_each(|town| writeln!(towns, "town number {town},{}", town % 9).unwrap());
    Fixture::new(CONTRACT, &[("t.csv", &rows), ("towns.csv", &towns)])
}

fn private(select: &str) -> String {
    format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, \
         max_groups_contributed = 3, max_rows_per_group = 3) {select}"
    )
}

const JOINED: &str = "area, COUNT(*) AS c, SUM(n + 1, contribution_bounds_per_group => (0, 9)) AS \
                      s FROM t JOIN towns ON t.town = towns.town GROUP BY area";

/// The structure and nothing of the data: not how large files are, nor how many chunks they have.
#[test]
fn owners_see_the_plan() {
    let shown = |units: usize| {
        let fixture = fixture(units);
        let session = Arc::unwrap_or_clone(fixture.session());
        let session = session.with_backend(Arc::new(InPartitions(5)));
        Arc::new(session).physical_plan(&private(JOINED)).wait().unwrap()
    };
    let plan = shown(10);
    assert_eq!(plan, shown(3_000));
    insta::assert_snapshot!(plan);
}

/// Whatever is wrong with the bytes, they make an error.
#[test]
fn foreign_plans_are_errors() {
    let fixture = fixture(10);
    let session = fixture.session();
    let (plan, bytes) = plans(&session, &private(JOINED)).wait();
    assert!(decoded(&bytes).is_ok());
    for partitions in [0..0, 1..1, 0..17, 16..17] {
        let error = plan.encode(partitions).unwrap_err();
        assert!(matches!(error, EngineError::BrokenBackend { .. }), "{error}");
    }
    for at in (0..bytes.len()).step_by(11) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x21;
        for damaged in [&damaged, &bytes[..at]] {
            assert!(matches!(decoded(damaged), Err(EngineError::ForeignPlan)), "{at}");
        }
    }
    // Also where somebody hashes what they have made: an error, or a plan with these very bytes.
    for at in 40..bytes.len() {
        let mut damaged = bytes[40..].to_vec();
        damaged[at - 40] ^= 0x21;
        let damaged = crate::sealed::sealed(b"hushplan", &damaged);
        if let Ok((plan, share)) = decoded(&damaged) {
            assert_eq!(PlanCodec::encode(&plan, &share).unwrap(), damaged, "{at}");
        }
    }
    // A build that takes values to other partitions would bound the units of another share.
    let hash = bytes.windows(12).position(|name| name == b"\"shuffled\":[").unwrap() + 12;
    let mut elsewhere = bytes.clone();
    elsewhere[hash] = if bytes[hash] == b'1' { b'2' } else { b'1' };
    let elsewhere = crate::sealed::sealed(b"hushplan", &elsewhere[40..]);
    assert!(matches!(decoded(&elsewhere), Err(EngineError::ForeignPlan)));
    // A worker reads the rows that the plan was made for.
    std::fs::write(fixture.path().join("towns.csv"), "town,area\nelsewhere,1\n").unwrap();
    let error = decoded(&bytes).err().unwrap();
    assert!(matches!(error, EngineError::Source(SourceError::Changed { .. })), "{error}");
}

/// The bytes of a plan as DataFusion writes it, behind the head of others.
fn foreign(plan: Arc<dyn ExecutionPlan>, ours: &[u8]) -> Vec<u8> {
    let length = u64::from_le_bytes(ours[40..48].try_into().unwrap()) as usize;
    let mut body = ours[40..48 + length].to_vec();
    body.extend(physical_plan_to_bytes(plan).unwrap());
    crate::sealed::sealed(b"hushplan", &body)
}

/// DataFusion knows how to read many operators and constants that no plan of this program has: a
/// list of constants, say, comes as an Arrow stream, whose reader makes room for what it says.
#[test]
fn plans_have_the_nodes_of_plans_alone() {
    let fixture = fixture(10);
    let session = fixture.session();
    let (plan, bytes) = plans(&session, &private(JOINED)).wait();
    let input = || -> Arc<dyn ExecutionPlan> {
        Arc::new(PlaceholderRowExec::new(Arc::new(Schema::empty())))
    };
    let projected = |value: ScalarValue| -> Arc<dyn ExecutionPlan> {
        let exprs = vec![(lit(value), "a".to_owned())];
        Arc::new(ProjectionExec::try_new(exprs, input()).unwrap())
    };
    let list = ScalarValue::new_list(&[ScalarValue::from(1i64)], &DataType::Int64, true);
    let spread = Partitioning::RoundRobinBatch(3);
    let many = Partitioning::Hash(vec![lit(1i64)], 1_000_000_000);
    let negated = vec![(not(lit(1i64)).unwrap(), "a".to_owned())];
    let others: [Arc<dyn ExecutionPlan>; 7] = [
        input(),
        Arc::new(ProjectionExec::try_new(negated, input()).unwrap()),
        Arc::new(EmptyExec::new(Arc::new(Schema::empty()))),
        projected(ScalarValue::from("text")),
        projected(ScalarValue::List(list)),
        Arc::new(RepartitionExec::try_new(input(), spread).unwrap()),
        Arc::new(RepartitionExec::try_new(input(), many).unwrap()),
    ];
    for other in others {
        let shown = format!("{other:?}");
        assert!(PlanCodec::encode(&other, &Share::whole(1)).is_err(), "{shown}");
        let decoded = decoded(&foreign(other, &bytes));
        assert!(matches!(decoded, Err(EngineError::ForeignPlan)), "{shown}");
    }
    // A field that no reader knows is passed over, and is gone when the plan is written again.
    let unknown = [&bytes[40..], &[0xf8, 0x7f, 1]].concat();
    let unknown = crate::sealed::sealed(b"hushplan", &unknown);
    assert!(matches!(decoded(&unknown), Err(EngineError::ForeignPlan)));
    // A plan within a plan would hand on exact groups as rows.
    let within: Arc<dyn ExecutionPlan> =
        Arc::new(CoalescePartitionsExec::new(Arc::clone(plan.operators())));
    let within = PlanCodec::encode(&within, &Share::whole(1)).unwrap();
    let executor = Executor::new(None).unwrap();
    assert!(executor.decode(&bytes).is_ok());
    assert!(matches!(executor.decode(&within), Err(EngineError::ForeignPlan)));
}

/// A plan's bytes with another text of the same length, under a seal of their own.
fn changed(bytes: &[u8], text: &str, other: &str) -> Vec<u8> {
    assert_eq!(text.len(), other.len());
    let mut body = bytes[40..].to_vec();
    let at = body.windows(text.len()).position(|window| window == text.as_bytes()).expect(text);
    body[at..at + text.len()].copy_from_slice(other.as_bytes());
    crate::sealed::sealed(b"hushplan", &body)
}

/// Ranges that end before they begin, and steps of no size, would end a worker's task by a panic.
#[test]
fn plans_have_ranges_that_values_can_be_clamped_to() {
    let fixture = fixture(10);
    let session = fixture.session();
    let median = "town, MEDIAN(n) AS m FROM t GROUP BY town";
    let rows = "SUM(n, contribution_bounds_per_row => (1, 9)) AS s FROM t";
    for (select, text, other) in [
        (JOINED, r#""bounds":[0,9]"#, r#""bounds":[9,0]"#),
        (JOINED, r#""size":[0,9]"#, r#""size":[9,0]"#),
        (JOINED, r#"{"whole":1}"#, r#"{"whole":0}"#),
        (median, r#""range":[0,100]"#, r#""range":[1,000]"#),
        (median, r#""range":[0,100]"#, r#""range":[9,001]"#),
        (median, r#""range":[0,100]"#, r#""range":[900,1]"#),
        (rows, r#""range":[1,9]"#, r#""range":[9,1]"#),
    ] {
        let (_, bytes) = plans(&session, &private(select)).wait();
        let decoded = decoded(&changed(&bytes, text, other));
        assert!(matches!(decoded, Err(EngineError::ForeignPlan)), "{select}: {other}");
    }
}

/// Limits on rows and on groups are drawn by one key.
#[test]
fn a_plan_has_one_key() {
    let fixture = fixture(10);
    let limited = "a.town, COUNT(*) AS c FROM t AS a JOIN t AS b ON a.u = b.u GROUP BY a.town";
    let (plan, bytes) = plans(&fixture.session(), &private(limited)).wait();
    let executor = Executor::new(None).unwrap();
    assert!(executor.decode(&bytes).is_ok());
    let two = keyed(Arc::clone(plan.operators()), SamplingKey([8; 16])).unwrap();
    let two = PlanCodec::encode(&two, &Share::whole(1)).unwrap();
    assert!(matches!(executor.decode(&two), Err(EngineError::ForeignPlan)));
}

/// However many partitions somebody writes, there is room for few.
#[test]
fn partitions_are_bounded() {
    let fixture = fixture(10);
    let (_, bytes) = plans(&fixture.session(), &private("COUNT(*) AS c FROM t")).wait();
    let text = String::from_utf8_lossy(&bytes);
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let end = format!("}},{threads}]}}");
    assert!(text.contains(&end), "{text}");
    // As long as before: lengths stand before the text.
    let at = bytes.windows(end.len()).position(|text| text == end.as_bytes()).unwrap();
    let mut other = bytes.clone();
    other[at + 2] = if other[at + 2] == b'9' { b'8' } else { other[at + 2] + 1 };
    assert!(decoded(&crate::sealed::sealed(b"hushplan", &other[40..])).is_ok());
    let many = SourceExec::of_all(
        SourceTable::open(
            &TableData::Files(list_files("t.csv", fixture.path()).unwrap()),
            &ReadRequest { rows: true, ..ReadRequest::default() },
        )
        .unwrap(),
        1_000_000_000_000,
        &Arc::default(),
    );
    let many: Arc<dyn ExecutionPlan> = Arc::new(many.unwrap());
    assert_eq!(many.properties().output_partitioning().partition_count(), 1024);
}

/// The sampling key and the constants of a plan are not for logs.
#[test]
fn plans_do_not_show_their_key() {
    let fixture = fixture(10);
    let (plan, bytes) = plans(&fixture.session(), &private(JOINED)).wait();
    assert!(String::from_utf8_lossy(&bytes).contains("7,7,7,7"));
    let shown = format!("{:?}", plan.operators());
    assert!(!shown.contains("7, 7, 7, 7"), "{shown}");
}

/// Without a charge nothing is bounded, and no unit is bounded in several places.
#[test]
fn bounding_needs_a_key_and_whole_units() {
    let fixture = fixture(10);
    let session = fixture.session();
    async {
        let checked = session.check(&private("COUNT(*) AS c FROM t")).unwrap();
        let progress = Progress::default();
        let reading = progress.reading();
        let scan = Scan::plan(&checked.quote, &checked.data, &reading, checked.memory);
        let (plan, memory) = scan.await.unwrap().keyed(KEY);
        let bound = plan.operators().downcast_ref::<crate::bound_exec::BoundExec>().unwrap();
        let spread = Arc::clone(bound.input().children()[0]);
        assert!(crate::bound_exec::BoundExec::new(spread, Arc::clone(bound.bounding())).is_err());
        let input = Arc::clone(bound.input());
        let closed =
            crate::bound_exec::BoundExec::new(input, Arc::clone(bound.bounding())).unwrap();
        let error = closed.execute(0, memory.tasks()).err().unwrap();
        assert!(error.to_string().contains("without the key of a charge"), "{error}");
    }
    .wait();
}

/// Each kind of operator stops at the limit, with an error that says it; the charge stays, and with
/// more memory there is an answer.
#[test]
fn too_little_memory_is_a_clean_error() {
    let fixture = fixture(20_000);
    for select in [
        "town, COUNT(*) AS c FROM t GROUP BY town",
        "town, MEDIAN(n) AS m FROM t GROUP BY town",
        "k, COUNT(*) AS c FROM (SELECT u, COUNT(*) AS k FROM t GROUP BY u) GROUP BY k",
        "k, COUNT(*) AS c \
         FROM (SELECT u, ROW_NUMBER() OVER (PARTITION BY u ORDER BY n) AS k FROM t) GROUP BY k",
        "a.town, COUNT(*) AS c FROM t AS a JOIN t AS b ON a.u = b.u GROUP BY a.town",
    ] {
        let sql = private(select);
        let spent = || {
            let quoted = fixture.session().explain(&sql, None).wait().unwrap();
            (quoted.accounts[0].account, quoted.parts[0].standing)
        };
        let before = spent();
        let ask = |limit: Option<&str>| {
            let limit = limit.map(|limit| limit.parse().unwrap());
            let session = Arc::unwrap_or_clone(fixture.session()).with_memory(limit).unwrap();
            Arc::new(session).query(&sql, None, &Progress::default()).wait()
        };
        let error = ask(Some("1MiB")).unwrap_err();
        assert!(matches!(error, EngineError::Memory { limit: Some(_) }), "{select}: {error}");
        assert!(error.to_string().contains("more memory than the limit of 1MiB"), "{error}");
        let after = spent();
        assert_ne!(format!("{:?}", before.0), format!("{:?}", after.0), "{select}");
        // Nothing was drawn: with more memory the same charge is answered.
        assert_eq!(after.1, Standing::Paid);
        assert_eq!(ask(Some("4GiB")).unwrap().charged(), None, "{select}");
    }
}

const VISITS: &str = r#"
[units.person.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 9
group_selection_strategy = "SINGLE_VOTE"
[units.person.budgets]
ana = { epsilon = 1, delta = 1e-5 }
[tables.visits]
path = "visits.csv"
unit = { of = "person", column = "id" }
[tables.visits.columns]
id = { type = "int" }
shop = { type = "string" }
"#;

/// The order of each unit's groups, by the group that it alone is in, from these rows.
fn orders(rows: &[(u32, String)]) -> BTreeMap<String, Vec<String>> {
    let mut text = "id,shop\n".to_owned();
    rows.iter().for_each(|(id, shop)| writeln!(text, "{id},{shop}").unwrap());
    let fixture = Fixture::new(VISITS, &[("visits.csv", &text)]);
    let session = fixture.session();
    let checked = session.check("SELECT shop FROM visits GROUP BY shop").unwrap();
    let progress = Progress::default();
    let reading = progress.reading();
    let scan = OwnerScan::plan(&checked.quote, &checked.data, &reading, checked.memory);
    let exact =
        async { scan.await.unwrap().look(KEY, ScanOptions::default()).await.unwrap().exact };
    let exact = exact.wait();
    let options = FormatOptions::default();
    let shops = ArrayFormatter::try_new(exact.keys[0].as_ref(), &options).unwrap();
    let members = exact.members.unwrap();
    let shops_of = |unit| -> Vec<String> {
        members.of(unit).iter().map(|&group| shops.value(group as usize).to_string()).collect()
    };
    let of_unit = |unit| {
        let shops = shops_of(unit);
        (shops.iter().find(|shop| shop.starts_with('u')).unwrap().clone(), shops)
    };
    (0..members.units()).map(of_unit).collect()
}

/// One unit less, or rows in another order, change the order of no other unit's groups: the proof
/// of single votes rests on that.
#[test]
fn the_order_of_a_units_groups_follows_from_it_alone() {
    let mut rows: Vec<(u32, String)> = Vec::new();
    for id in 0..40u32 {
        rows.push((id, format!("u{id}")));
        rows.extend((0..id % 6).map(|shop| (id, format!("s{}", (id * 7 + shop * shop) % 11))));
    }
    let all = orders(&rows);
    assert_eq!(all.len(), 40);
    for gone in [0, 1, 5, 17, 39] {
        let mut rest: Vec<_> = rows.iter().filter(|(id, _)| *id != gone).cloned().collect();
        rest.reverse();
        let mut want = all.clone();
        want.remove(&format!("u{gone}"));
        assert_eq!(orders(&rest), want, "without {gone}");
    }
    // It is drawn for each unit: one order for all would show itself.
    let first = all.values().filter(|shops| shops.len() > 3 && shops[0].starts_with('u')).count();
    assert!((1..20).contains(&first), "{first}");
}
