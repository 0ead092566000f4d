//! Plans in bytes, as a worker process reads and runs them.
//!
//! An input is the share of a plan in JSON, a line break, and the plan itself. All around it that
//! another build or machine has otherwise is put in here: the folder of the files, the hashes of
//! the shuffle, and the seal of the whole, without which nearly every change would look alike.

use std::fs::{self, File};
use std::future::ready;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use futures::StreamExt;
use hushtable_engine::{
    Accepting, Backend, EngineError, Executor, OpenedPlan, PartialGroups, PartialStream, Progress,
    Session, UnopenedPlan, runtime,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::reactions::Reaction;

/// The first bytes of plans, and the version that their hash is of.
const MAGIC: &[u8; 8] = b"hushplan";
const ENGINE: &str = concat!("hushtable ", env!("CARGO_PKG_VERSION"));
/// Bytes before the head of a plan: the magic, the hash and the head's length.
const BEFORE_HEAD: usize = 48;
/// Where the share ends in the head.
const HASHES: &[u8] = b",\"shuffled\":";

/// The folder of the files in inputs, in as many bytes as it really has.
const FOLDER: &str = "/the/folder/of/the/files/that/the/plan/reads/wherever/it/may/be/on/this/\
                      machine/so/that/stored/inputs/hold/on/others";

const CONTRACT: &str = "\
[units.person]
budgets.ana = { epsilon = 1000000, delta = 0.999999 }
[units.person.defaults]
epsilon = 10
delta = 1e-6
max_groups_contributed = 3
max_rows_per_group = 2
[tables.visits]
path = \"visits.csv\"
unit = { of = \"person\", column = \"id\" }
[tables.visits.columns]
id = { type = \"int\" }
town = { type = \"string\" }
day = { type = \"date\" }
n = { type = \"int\", bounds = [0, 100], sum_bounds = [0, 100] }
x = { type = \"decimal(2)\", bounds = [-5, 50] }
f = { type = \"float\", bounds = [-1, 1], sum_bounds = [-3, 2] }
[tables.towns]
path = \"towns.csv\"
public = true
[tables.towns.columns]
town = { type = \"string\" }
area = { type = \"string\" }
";
const VISITS: &str = "id,town,day,n,x,f\n1,A,2025-01-01,3,1.25,0.5\n1,B,2025-01-02,7,,-1\n\
                      2,A,2025-01-03,,9,1e-3\n3,C,2025-02-01,1,-2.5,\n3,A,2025-02-02,2,30,0\n\
                      4,,2025-02-03,5,4,0.25\n";
const TOWNS: &str = "town,area\nA,x\nB,y\nC,x\n";

const QUERIES: [&str; 13] = [
    "SELECT COUNT(*) FROM visits",
    "SELECT town, COUNT(*), SUM(n), AVG(n) FROM visits WHERE n > 1 GROUP BY town",
    "SELECT town, MEDIAN(n), COUNT(DISTINCT n) FROM visits GROUP BY town",
    "SELECT area, SUM(n, contribution_bounds_per_row => (0, 9)) FROM visits JOIN towns \
     USING (town) GROUP BY area",
    "SELECT a.town, COUNT(*) FROM visits a JOIN visits b ON a.id = b.id AND a.n < b.n \
     GROUP BY a.town",
    "SELECT k, COUNT(*) FROM (SELECT id, COUNT(*) AS k, MAX(n) AS m FROM visits GROUP BY id) \
     GROUP BY k",
    "SELECT town, COUNT(*) FROM (SELECT id, town, LAG(n) OVER (PARTITION BY id ORDER BY day) AS k \
     FROM visits) WHERE k > 2 GROUP BY town",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = SINGLE_VOTE) town \
     FROM visits WHERE town LIKE '%A%' OR REGEXP_CONTAINS(town, '^(B|C)+$') GROUP BY town",
    "SELECT town, SUM(x), AVG(f), PERCENTILE_CONT(x, 0.9) FROM visits GROUP BY town",
    "SELECT EXTRACT(MONTH FROM day), SUM(CASE WHEN f > 0 THEN ROUND(x * 2, 1) ELSE 0 END, \
     contribution_bounds_per_group => (0, 9)) FROM visits GROUP BY EXTRACT(MONTH FROM day)",
    "SELECT UPPER(SUBSTR(town, 1, 1)), COUNT(DISTINCT id) FROM (SELECT id, town FROM visits \
     UNION ALL SELECT id, town FROM visits WHERE NOT (n IN (1, 2) OR x IS NULL)) GROUP BY 1",
    "SELECT r, SUM(s) FROM (SELECT id, RANK() OVER (PARTITION BY id ORDER BY x DESC) AS r, \
     SUM(n) OVER (PARTITION BY id) AS s FROM visits) GROUP BY r",
    "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM towns WHERE towns.town = \
     visits.town AND area = 'x')",
];

/// A folder of files, and the plans of all queries over them.
struct Plans {
    _folder: TempDir,
    /// The folder as plans name it.
    path: String,
    runtime: Runtime,
    executor: Arc<Executor>,
    /// The hashes of the shuffle, in JSON to the end of the head.
    hashes: Vec<u8>,
    plans: Vec<Vec<u8>>,
}

static PLANS: LazyLock<Option<Plans>> = LazyLock::new(Plans::new);

/// Runs plans in this process, and keeps their bytes.
#[derive(Default)]
struct Recorder(Mutex<Vec<Vec<u8>>>);

impl Backend for Recorder {
    fn accept<'a>(&'a self, plan: &'a UnopenedPlan) -> Accepting<'a> {
        Box::pin(ready(plan.check_encodable()))
    }

    fn run(&self, plan: OpenedPlan) -> PartialStream {
        if let Ok(bytes) = plan.encode(0..plan.partitions()) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        }
        plan.execute()
    }
}

impl Plans {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        for (name, text) in
            [("hushtable.toml", CONTRACT), ("visits.csv", VISITS), ("towns.csv", TOWNS)]
        {
            let path = folder.path().join(name);
            fs::write(&path, text).ok()?;
            // Plans hold the time at which a file was written.
            let time = UNIX_EPOCH + Duration::from_secs(1_750_000_000);
            File::options().write(true).open(&path).ok()?.set_modified(time).ok()?;
        }
        let path = as_long(folder.path())?;
        let recorder = Arc::new(Recorder::default());
        let session = Session::open(&Path::new(&path).join("hushtable.toml")).ok()?;
        let session = Arc::new(session.with_backend(Arc::clone(&recorder) as _));
        let runtime = runtime().ok()?;
        for sql in QUERIES {
            runtime.block_on(session.query(sql, Some("ana"), &Progress::default())).ok()?;
        }
        let plans = std::mem::take(&mut *recorder.0.lock().unwrap_or_else(PoisonError::into_inner));
        let (head, _) = divided(plans.first()?)?;
        let hashes = head.get(find(head, HASHES)?..)?.to_vec();
        let executor = Arc::new(Executor::new("64MiB".parse().ok()).ok()?);
        Some(Self { _folder: folder, path, runtime, executor, hashes, plans })
    }

    /// The bytes of the plan in an input.
    fn sealed(&self, input: &[u8]) -> Option<Vec<u8>> {
        let end = input.iter().position(|&byte| byte == b'\n')?;
        let (share, plan) = (&input[..end], &input[end + 1..]);
        let head = [b"{\"share\":", share, &self.hashes].concat();
        let mut body = (head.len() as u64).to_le_bytes().to_vec();
        body.extend(head);
        body.extend(replaced(plan, FOLDER, &self.path));
        let mut hasher = blake3::Hasher::new();
        hasher.update(ENGINE.as_bytes());
        hasher.update(&body);
        Some([MAGIC.as_slice(), hasher.finalize().as_bytes(), &body].concat())
    }

    /// The input that stands for the bytes of a plan.
    fn input(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (head, plan) = divided(bytes)?;
        let share = head.strip_prefix(b"{\"share\":")?;
        let share = &share[..find(share, HASHES)?];
        Some([share, b"\n", &replaced(plan, &self.path, FOLDER)].concat())
    }
}

/// The path of a folder in as many bytes as the one in inputs, by further separators.
fn as_long(folder: &Path) -> Option<String> {
    let (parent, name) = (folder.parent()?.to_str()?, folder.file_name()?.to_str()?);
    let separators = FOLDER.len().checked_sub(parent.len() + name.len())?;
    Some(format!("{parent}{}{name}", "/".repeat(separators)))
}

/// The head of a plan's bytes, and the plan.
fn divided(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = bytes.get(BEFORE_HEAD - 8..BEFORE_HEAD)?.try_into().ok()?;
    bytes.get(BEFORE_HEAD..)?.split_at_checked(u64::from_le_bytes(length).try_into().ok()?)
}

fn find(bytes: &[u8], piece: &[u8]) -> Option<usize> {
    bytes.windows(piece.len()).position(|window| window == piece)
}

/// The bytes with one text in the place of another of that length.
fn replaced(bytes: &[u8], text: &str, other: &str) -> Vec<u8> {
    let mut all = bytes.to_vec();
    while let Some(at) = find(&all, text.as_bytes()) {
        all[at..at + text.len()].copy_from_slice(other.as_bytes());
    }
    all
}

/// The plans of all queries.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let Some(plans) = &*PLANS else { return Vec::new() };
    plans.plans.iter().filter_map(|bytes| plans.input(bytes)).collect()
}

/// Reads an input, as it is and as the plan that it stands for, and runs what is a plan.
///
/// # Panics
/// Where a plan that was read breaks the rules that all plans keep.
#[allow(clippy::panic, reason = "the finding of a target")]
pub(crate) fn run(input: &[u8]) -> Reaction {
    let Some(plans) = &*PLANS else { return Reaction::default() };
    assert!(plans.executor.decode(input).is_err(), "bytes without their seal were read");
    let Some(bytes) = plans.sealed(input) else { return Reaction::of("no share") };
    let executor = Arc::clone(&plans.executor);
    // On a thread of the runtime, whose stack is as in a worker.
    let run = plans.runtime.spawn(async move { executed(&executor, &bytes).await });
    match plans.runtime.block_on(run) {
        Ok(Ok(partitions)) => Reaction::of(if partitions == 1 { "one" } else { "several" }),
        Ok(Err(error)) => {
            let text = error.to_string();
            // Where a partition ends by a panic, the query is interrupted.
            assert!(!matches!(error, EngineError::Interrupted), "a partition ended by a panic");
            Reaction::of(&text.replace(&plans.path, ""))
        }
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        Err(_) => Reaction::default(),
    }
}

/// The number of partitions that ran.
async fn executed(executor: &Executor, bytes: &[u8]) -> Result<usize, EngineError> {
    let plan = executor.decode(bytes)?;
    let partitions = plan.partitions();
    assert!(!partitions.is_empty() && partitions.end <= 1024, "{partitions:?}");
    let mut all = plan.run();
    let mut ran = 0;
    while let Some(groups) = all.next().await {
        PartialGroups::decode(&groups?.encode()?)?;
        ran += 1;
    }
    assert_eq!(ran, partitions.len(), "partitions that are missing, or more than there are");
    Ok(ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole of each seed is a plan that runs, or nothing would be tried.
    #[test]
    fn seeds_are_plans() {
        let seeds = seeds();
        assert_eq!(seeds.len(), QUERIES.len());
        for seed in seeds {
            let reaction = run(&seed);
            assert!(
                [Reaction::of("one"), Reaction::of("several")].contains(&reaction),
                "{reaction:?}"
            );
            assert!(find(&seed, FOLDER.as_bytes()).is_some());
        }
    }
}
