//! Engines whose queries run elsewhere.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use std::future::ready;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use futures::{StreamExt, stream};
use hushtable::{
    Accepting, Backend, Engine, Error, Executor, OpenedPlan, PartialGroups, PartialStream,
    Standing, UnopenedPlan,
};

const CONTRACT: &str = r#"
[tables.visits]
path = "visits.csv"
privacy_unit = "id"
columns = { id = { type = "int" }, town = { type = "string" } }
budgets.ana = { epsilon = 1000000, delta = 1e-6 }
defaults = { epsilon = 1000000, noise = "LAPLACE", max_rows_per_group = 1 }
"#;

const COUNT: &str = "SELECT COUNT(*) AS n FROM visits";

/// Two executors, which run half of the partitions each; or a connection that fails.
#[derive(Clone, Default)]
struct Halves {
    runs: Arc<AtomicUsize>,
    fails: bool,
}

impl Backend for Halves {
    fn accept<'a>(&'a self, plan: &'a UnopenedPlan) -> Accepting<'a> {
        Box::pin(ready(plan.check_encodable()))
    }

    fn run(&self, plan: OpenedPlan) -> PartialStream {
        self.runs.fetch_add(1, Ordering::Relaxed);
        if self.fails {
            let error = Error::of_backend(&ErrorKind::ConnectionReset.into());
            return Box::pin(stream::once(ready(Err(error))));
        }
        let (all, executor) = (plan.partitions(), Executor::new(None).unwrap());
        let halves = [0..all / 2, all / 2..all].map(|half| {
            let received = executor.decode(&plan.encode(half).unwrap()).unwrap();
            received.run().map(|groups| PartialGroups::decode(&groups?.encode()?))
        });
        Box::pin(stream::iter(halves).flatten())
    }

    fn partitions(&self) -> usize {
        4
    }
}

fn engine(folder: &Path, backend: impl Backend + 'static) -> Engine {
    Engine::builder().contract_text(CONTRACT, folder).backend(backend).open().unwrap()
}

#[test]
fn queries_run_where_the_backend_says() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..1000).map(|id| format!("{id},t\n{id},u\n")).collect();
    std::fs::write(folder.path().join("visits.csv"), format!("id,town\n{rows}")).unwrap();

    let broken = Halves { fails: true, ..Halves::default() };
    let failing = engine(folder.path(), broken.clone());
    let error = block_on(failing.analyst(None).query(COUNT)).unwrap_err();
    assert!(matches!(error, Error::Backend { kind: ErrorKind::ConnectionReset }));
    insta::assert_snapshot!(error);
    assert_eq!(broken.runs.load(Ordering::Relaxed), 1);

    let halves = Halves::default();
    let engine = engine(folder.path(), halves.clone());
    // A limit on memory is another setting.
    let engine = engine.within(Some("1GiB".parse().unwrap())).unwrap();
    assert_eq!(
        block_on(engine.analyst(None).explain(COUNT)).unwrap().parts[0].standing,
        Standing::Paid
    );
    let answer = block_on(engine.analyst(None).query(COUNT)).unwrap();
    assert_eq!(answer.table, block_on(engine.analyst(None).query(COUNT)).unwrap().table);
    assert!(answer.charged().is_none());
    let count = hushtable::arrow::util::pretty::pretty_format_batches(&[answer.table]).unwrap();
    assert!(count.to_string().contains("| 1000 |"), "{count}");
    // A query on record is not run again.
    assert_eq!(halves.runs.load(Ordering::Relaxed), 1);
}
