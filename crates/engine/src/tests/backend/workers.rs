//! Worker processes on loopback: this test's program, run again. They decode plans, open the files
//! themselves, and hand partial groups back over a socket.

use std::future::ready;
use std::io::{ErrorKind, Read, Result as IoResult, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use tokio::sync::mpsc;
use tokio::task::{block_in_place, spawn_blocking};

use super::super::Wait;
use crate::backend::{Accepting, Backend, OpenedPlan, PartialStream, UnopenedPlan};
use crate::error::EngineError;
use crate::executor::Executor;
use crate::partial_groups::PartialGroups;
use crate::source::ReadProgress;

/// Where a worker finds its coordinator, and whether it stops after its first partition.
const CHILD: &str = "HUSHTABLE_TEST_WORKER";

/// Kinds of messages.
const PLAN: u8 = 0;
const PROGRESS: u8 = 1;
const PARTIAL: u8 = 2;
const END: u8 = 3;
const FAILED: u8 = 4;

fn send(stream: &mut TcpStream, kind: u8, body: &[u8]) -> IoResult<()> {
    let mut message = vec![kind];
    message.extend((body.len() as u64).to_le_bytes());
    message.extend(body);
    stream.write_all(&message)
}

fn receive(stream: &mut TcpStream) -> IoResult<(u8, Vec<u8>)> {
    let (mut kind, mut length) = ([0], [0; 8]);
    stream.read_exact(&mut kind)?;
    stream.read_exact(&mut length)?;
    let mut body = vec![0; u64::from_le_bytes(length) as usize];
    stream.read_exact(&mut body)?;
    Ok((kind[0], body))
}

/// A worker's life, in a process of its own: it ends when its coordinator does.
#[test]
#[ignore = "the process of a worker, which other tests start"]
fn a_worker_runs_the_plans_of_its_coordinator() {
    let Ok(child) = std::env::var(CHILD) else { return };
    let (port, stops) = child.split_once(' ').unwrap();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port.parse().unwrap())).unwrap();
    let executor = Executor::new(None).unwrap();
    while let Ok((PLAN, plan)) = receive(&mut stream) {
        let work = async {
            let plan = executor.decode(&plan)?;
            let progress = plan.progress();
            let mut partials = plan.run();
            while let Some(partial) = partials.next().await {
                let partial = partial?.encode()?;
                let done = progress.done().to_le_bytes();
                block_in_place(|| {
                    send(&mut stream, PROGRESS, &done).unwrap();
                    send(&mut stream, PARTIAL, &partial).unwrap();
                    if stops == "stops" {
                        // Nothing more comes: it waits for its end.
                        drop(receive(&mut stream));
                    }
                });
            }
            Ok::<_, EngineError>(())
        };
        let ended = if work.wait().is_ok() { END } else { FAILED };
        send(&mut stream, ended, &[]).unwrap();
    }
}

/// A worker, and the way to it.
struct Link {
    child: Child,
    stream: TcpStream,
    /// Whether to end the process after its first partition.
    stops: bool,
}

impl Link {
    fn start(stops: bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let test = "tests::backend::workers::a_worker_runs_the_plans_of_its_coordinator";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env(CHILD, format!("{port} {}", if stops { "stops" } else { "" }))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        listener.set_nonblocking(true).unwrap();
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    assert!(child.try_wait().unwrap().is_none(), "the worker ended");
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => panic!("{error}"),
            }
        };
        stream.set_nonblocking(false).unwrap();
        Self { child, stream, stops }
    }

    /// Lets the worker run a plan, and passes on what it hands back.
    fn run(
        &mut self,
        plan: &[u8],
        mut pass_on: impl FnMut(Result<PartialGroups, EngineError>),
        mut advance: impl FnMut(u64),
    ) {
        let mut before = 0;
        let mut work = || -> Result<(), EngineError> {
            let failed = |error| EngineError::of_backend(&error);
            send(&mut self.stream, PLAN, plan).map_err(failed)?;
            loop {
                let (kind, body) = receive(&mut self.stream).map_err(failed)?;
                match kind {
                    PROGRESS => {
                        let done = u64::from_le_bytes(body.try_into().unwrap());
                        advance(done - before);
                        before = done;
                    }
                    PARTIAL => {
                        pass_on(PartialGroups::decode(&body));
                        if self.stops {
                            self.child.kill().unwrap();
                        }
                    }
                    END => return Ok(()),
                    _ => return Err(failed(ErrorKind::Other.into())),
                }
            }
        };
        if let Err(error) = work() {
            pass_on(Err(error));
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

/// A backend of worker processes, each of which runs a share of the partitions of a plan.
#[derive(Clone)]
pub(super) struct Workers(Vec<Arc<Mutex<Link>>>);

impl Workers {
    pub(super) fn start(count: usize) -> Self {
        Self((0..count).map(|_| Arc::new(Mutex::new(Link::start(false)))).collect())
    }

    /// Workers of which the last one ends in the middle of its first plan.
    pub(super) fn of_which_one_ends(count: usize) -> Self {
        let mut workers = Self::start(count - 1);
        workers.0.push(Arc::new(Mutex::new(Link::start(true))));
        workers
    }

    /// The first of them.
    pub(super) fn first(&self, count: usize) -> Self {
        Self(self.0.iter().take(count).cloned().collect())
    }
}

/// The bytes that all workers have read, as a progress has them.
struct BytesRead {
    progress: Arc<ReadProgress>,
    /// How many workers read the same bytes.
    times: u64,
    done: AtomicU64,
}

impl BytesRead {
    fn advance(&self, bytes: u64) {
        let before = self.done.fetch_add(bytes, Ordering::Relaxed);
        self.progress.advance((before + bytes) / self.times - before / self.times);
    }
}

impl Backend for Workers {
    fn accept<'a>(&'a self, plan: &'a UnopenedPlan) -> Accepting<'a> {
        Box::pin(ready(plan.check_encodable()))
    }

    fn run(&self, plan: OpenedPlan) -> PartialStream {
        let (workers, partitions) = (self.0.len(), plan.partitions());
        let times = if plan.shares_read_everything().unwrap() { workers as u64 } else { 1 };
        let read =
            Arc::new(BytesRead { progress: plan.progress(), times, done: AtomicU64::new(0) });
        let (sender, mut receiver) = mpsc::unbounded_channel();
        for (index, link) in self.0.iter().enumerate() {
            let share = partitions * index / workers..partitions * (index + 1) / workers;
            if share.is_empty() {
                continue;
            }
            let bytes = plan.encode(share);
            let (link, sender, read) = (Arc::clone(link), sender.clone(), Arc::clone(&read));
            spawn_blocking(move || {
                // Nobody may wait any more: the worker ends its plan anyway.
                let pass_on = |partial| drop(sender.send(partial));
                match bytes {
                    Ok(bytes) => {
                        link.lock().unwrap().run(&bytes, pass_on, |bytes| read.advance(bytes));
                    }
                    Err(error) => pass_on(Err(error)),
                }
            });
        }
        Box::pin(futures::stream::poll_fn(move |context| receiver.poll_recv(context)))
    }

    fn partitions(&self) -> usize {
        7
    }
}
