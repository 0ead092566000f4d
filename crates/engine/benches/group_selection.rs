//! How many groups each strategy shows of a table whose units are in many groups, beside the upper
//! bound for any mechanism, and what it costs beside the same GROUP BY without privacy.
//!
//! `cargo bench -p hushtable-engine --bench group_selection` takes the words of posts, if their
//! file is at hand beside the checkout, and else makes a table of that kind (2 million units, each
//! in about ten of 400,000 groups whose sizes follow a power law). Each strategy runs in a process
//! of its own, so that its peak memory is its own; times are medians, counts are means.
//!
//! No mechanism shows more groups in expectation than the sum of pi_opt over the groups' numbers of
//! units at the same epsilon and delta, since each group alone is a selection with one group per
//! unit.

#![allow(clippy::unwrap_used, reason = "a program of its own that may stop at any error")]

mod common;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::{SessionContext, col, lit};
use hushtable_engine::{Progress, ReadRequest, Session, list_files, scan};
use hushtable_lang::ColumnType;
use hushtable_mechanisms::{Reach, Selection, Strategy};
use hushtable_privacy::{Loss, Neighbouring};

use common::{Mix, Wait, median, peak_mib};

const RUNS: usize = 5;

/// Most groups of one unit: no post has more words.
const KAPPA: u64 = 100;

const PLAIN: &str = "no privacy";

fn real() -> Option<PathBuf> {
    hushtable_testkit::real("reddit_posts_words.parquet")
}

/// 0 to 399,999, the smaller the more often.
fn group(mix: &mut Mix) -> u64 {
    let uniform = (mix.next() >> 11) as f64 / 2f64.powi(53);
    (4e5f64.powf(uniform) - 1.0) as u64
}

fn make(path: &Path) {
    let fields = vec![
        Field::new("post_id", DataType::Int64, false),
        Field::new("word", DataType::Utf8, false),
    ];
    let schema = Arc::new(Schema::new(fields));
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), schema.clone(), None).unwrap();
    let mut mix = Mix(1);
    for batch in 0..20 {
        let mut units: Vec<i64> = Vec::new();
        let mut words: Vec<String> = Vec::new();
        for unit in 0..100_000 {
            let many = 2 + mix.next() % 17;
            let mut groups: Vec<u64> = (0..many).map(|_| group(&mut mix)).collect();
            groups.sort_unstable();
            groups.dedup();
            for group in groups {
                units.push(batch * 100_000 + unit);
                words.push(format!("w{group}"));
            }
        }
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from(units)), Arc::new(StringArray::from(words))];
        writer.write(&RecordBatch::try_new(schema.clone(), columns).unwrap()).unwrap();
    }
    writer.close().unwrap();
}

/// A partition of a plan.
#[derive(Debug)]
struct PlanPartition(SchemaRef, Arc<dyn ExecutionPlan>, usize);

impl PartitionStream for PlanPartition {
    fn schema(&self) -> &SchemaRef {
        &self.0
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        self.1.execute(self.2, context).unwrap()
    }
}

/// The numbers of units of the groups, by a plain aggregation.
fn counts(path: &Path) -> Vec<u64> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let context = SessionContext::new();
        // Read as a private query reads it: DataFusion's own source takes twenty times as long
        // here.
        let files = list_files(path.to_str().unwrap(), Path::new("")).unwrap();
        let columns = [("word".to_owned(), ColumnType::String)];
        let plan = scan(&files, &ReadRequest::columns(&columns), 2, &Arc::default()).await.unwrap();
        let schema = plan.schema();
        let partitions = (0..plan.output_partitioning().partition_count())
            .map(|partition| Arc::new(PlanPartition(schema.clone(), plan.clone(), partition)) as _);
        let table = StreamingTable::try_new(schema.clone(), partitions.collect()).unwrap();
        let table = context.read_table(Arc::new(table)).unwrap();
        let grouped = table.aggregate(vec![col("word")], vec![count(lit(1)).alias("n")]).unwrap();
        let batches = grouped.collect().await.unwrap();
        let values = |b: &RecordBatch| b.column(1).as_primitive::<Int64Type>().values().to_vec();
        batches.iter().flat_map(values).map(|n| n as u64).collect()
    })
}

/// Median seconds, mean number of groups shown, peak MiB.
fn measure(name: &str, path: &Path, folder: &Path) -> (f64, f64, f64) {
    let (mut seconds, mut shown) = (Vec::new(), Vec::new());
    for run in 0..=RUNS {
        let started = Instant::now();
        let groups = if name == PLAIN {
            counts(path).len()
        } else {
            let session =
                std::sync::Arc::new(Session::open(&folder.join("hushtable.toml")).unwrap());
            let sql = format!(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1.00{run}, delta = 1e-5, \
                 max_groups_contributed = {KAPPA}, group_selection_strategy = {name}) \
                 word FROM posts GROUP BY word"
            );
            let analyst = Some(name);
            session.query(&sql, analyst, &Progress::default()).wait().unwrap().table.num_rows()
        };
        // The first run warms the file's cache up.
        if run > 0 {
            seconds.push(started.elapsed().as_secs_f64());
            shown.push(groups as f64);
        }
    }
    let mean = shown.iter().sum::<f64>() / shown.len() as f64;
    (median(seconds), mean, peak_mib().unwrap_or(f64::NAN))
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|a| a == "--one") {
        let (name, path, folder) = (&arguments[at + 1], &arguments[at + 2], &arguments[at + 3]);
        let (seconds, shown, peak) = measure(name, Path::new(path), Path::new(folder));
        println!("{seconds} {shown} {peak}");
        return;
    }
    let folder = std::env::temp_dir().join(format!("hushtable-selection-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = real().unwrap_or_else(|| {
        let path = folder.join("posts.parquet");
        make(&path);
        path
    });
    let strategies =
        [Strategy::Optimal, Strategy::WeightedGaussian, Strategy::Sips, Strategy::SingleVote];
    let mut contract = format!(
        "[tables.posts]\npath = \"{}\"\nprivacy_unit = \"post_id\"\n[tables.posts.columns]\n\
         post_id = {{ type = \"int\" }}\nword = {{ type = \"string\" }}\n[tables.posts.budgets]\n",
        path.display()
    );
    for strategy in strategies {
        contract += &format!("{strategy} = {{ epsilon = 1000, delta = 0.1 }}\n");
    }
    std::fs::write(folder.join("hushtable.toml"), contract).unwrap();

    let units = counts(&path);
    let loss = Loss::Approximate { epsilon: "1".parse().unwrap(), delta: "1e-5".parse().unwrap() };
    let reach = Reach { groups: 1, neighbouring: Neighbouring::AddRemove };
    let alone = Selection::new(Strategy::Optimal, loss, reach).unwrap();
    let bound: f64 = units.iter().map(|&n| alone.keep_probability(n)).sum();
    println!(
        "{} pairs of a unit and a group, {} groups; epsilon = 1, delta = 1e-5, \
         up to {KAPPA} groups per unit; medians and means of {RUNS}",
        units.iter().sum::<u64>(),
        units.len()
    );
    println!("no mechanism shows more than {bound:.0} groups in expectation");
    let names: Vec<String> = std::iter::once(PLAIN.to_owned())
        .chain(strategies.iter().map(ToString::to_string))
        .collect();
    let mut plain = f64::NAN;
    for name in names {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--one", &name])
            .args([&path, &folder])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let numbers: Vec<f64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let [seconds, shown, peak] = numbers.as_slice() else { continue };
        if name == PLAIN {
            plain = *seconds;
        }
        let share = match name == PLAIN {
            true => "all of them".to_owned(),
            false => format!("{:4.1} % of the bound", 100.0 * shown / bound),
        };
        let ratio = seconds / plain;
        println!(
            "{name:18} {shown:7.0} groups ({share:18}) {seconds:5.2} s ({ratio:4.1} x plain) \
             {peak:6.0} MiB"
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
