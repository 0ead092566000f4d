//! Runs a target on mutated inputs for some time, and measures the CPU time of each.

use std::fs;
use std::io;
use std::panic::{catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::mutate::{Random, mutated};

/// Most CPU time that an input may take, in optimised builds and in tests alike: the dev profile
/// optimises what reads SQL and TOML.
pub const LIMIT: Duration = Duration::from_millis(100);

/// Time after which an input hangs, by the clock, as other programs may have the processor and
/// the disk.
const PATIENCE: Duration = LIMIT.saturating_mul(300);

/// Inputs that took longest, from which others are made.
const KEPT: usize = 16;

/// The last panic of a target, in words.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// A reader, and inputs to begin with.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Reads an input.
    pub run: fn(&[u8]),
    /// Makes the first inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// An input that a target did not take as it should.
#[derive(Debug)]
pub struct Failed {
    /// The failure, in words.
    pub what: String,
    /// Where the input is.
    pub input: PathBuf,
}

/// Runs the target's first inputs, then mutated ones for as long as asked, one after the other: CPU
/// time is that of the process, so nothing else may run in it. Returns how many inputs were run,
/// and the longest CPU time of one.
///
/// # Errors
/// At the first input that panics or takes too long, which is left in `folder`. A crash of the
/// process or a hang, which ends it, leaves the input there, too.
pub fn fuzz(
    target: &Target,
    time: Duration,
    seed: u64,
    folder: &Path,
) -> Result<(u64, Duration), Failed> {
    let started = Instant::now();
    let mut random = Random::new(seed);
    let seeds = (target.seeds)();
    let mut slowest: Vec<(Duration, Vec<u8>)> = Vec::new();
    let mut pool = seeds.clone();
    let (mut runs, mut longest) = (0, Duration::ZERO);
    let mut first = seeds.into_iter();
    loop {
        let input = match first.next() {
            Some(input) => input,
            None if started.elapsed() >= time => return Ok((runs, longest)),
            None => mutated(&pool, &mut random),
        };
        let taken = one(target, &input, folder)?;
        runs += 1;
        longest = longest.max(taken);
        // Inputs that take long are half way to those that take too long.
        if slowest.last().is_none_or(|(least, _)| taken > *least || slowest.len() < KEPT) {
            slowest.push((taken, input));
            slowest.sort_by_key(|(taken, _)| std::cmp::Reverse(*taken));
            slowest.truncate(KEPT);
            pool = (target.seeds)();
            pool.extend(slowest.iter().map(|(_, input)| input.clone()));
        }
    }
}

/// Runs one input from a file.
///
/// # Errors
/// If it fails.
pub fn replay(target: &Target, file: &Path, folder: &Path) -> Result<Duration, Failed> {
    let input = fs::read(file)
        .map_err(|error| Failed { what: error.to_string(), input: file.to_owned() })?;
    one(target, &input, folder)
}

/// Keeps the panics of targets in words, without a backtrace. Readers catch the panics of the
/// decoders that they use, so most are no failures; and to write a backtrace for each takes longer
/// than an input may.
fn keep_panics(running: bool) {
    static ONCE: Once = Once::new();
    static RUNNING: AtomicBool = AtomicBool::new(false);
    RUNNING.store(running, Ordering::SeqCst);
    ONCE.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            if !RUNNING.load(Ordering::SeqCst) {
                return others(panic);
            }
            *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
        }));
    });
}

/// The CPU time that an input takes.
fn one(target: &Target, input: &[u8], folder: &Path) -> Result<Duration, Failed> {
    let path = folder.join(format!("{}.input", target.name));
    let failed = |what: String| Failed { what, input: path.clone() };
    let kept = fs::create_dir_all(folder).and_then(|()| fs::write(&path, input));
    kept.map_err(|error| failed(format!("cannot keep the input: {error}:")))?;

    let (running, ended) = channel::<()>();
    let shown = path.clone();
    let watch = thread::spawn(move || {
        if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            // Nothing can stop a thread that hangs but the end of its process.
            let what =
                format!("hangs: an input runs for {PATIENCE:?}; it is in {}\n", shown.display());
            let _ = io::Write::write_all(&mut io::stderr(), what.as_bytes());
            std::process::exit(1);
        }
    });
    let before = ProcessTime::try_now().map_err(|error| failed(error.to_string()))?;
    let run = target.run;
    keep_panics(true);
    let result = catch_unwind(|| run(input));
    keep_panics(false);
    let taken = before.try_elapsed().map_err(|error| failed(error.to_string()))?;
    drop(running);
    let _ = watch.join();
    if result.is_err() {
        let panic = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone();
        return Err(failed(format!("panics: {panic}:")));
    }
    if taken > LIMIT {
        return Err(failed(format!("takes {taken:?} of CPU time, more than {LIMIT:?}:")));
    }
    fs::remove_file(&path).map_err(|error| failed(error.to_string()))?;
    Ok(taken)
}
