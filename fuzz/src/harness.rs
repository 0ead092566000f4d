//! Runs a target on mutated inputs for some time, and measures the CPU time of each.

use std::collections::HashSet;
use std::fmt;
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
use peak_alloc::PeakAlloc;

use crate::mutate::{Random, mutated};
use crate::reactions::Reaction;

/// Counts the bytes that an input takes. Its own code is the only one here that is not safe.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Most that an input may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// CPU time, in optimised builds and in tests alike: the dev profile optimises what reads SQL
    /// and TOML.
    pub time: Duration,
    /// Memory beside what was in use before, in bytes.
    pub memory: usize,
}

impl Limits {
    /// For most targets.
    pub const USUAL: Self = Self { time: Duration::from_millis(100), memory: 200_000_000 };
    /// For a statement of SQL, as docs/limits.md says. The dev profile leaves some of what reads
    /// patterns and computes quotes unoptimised: there it may take three times as long.
    pub const STATEMENT: Self = match cfg!(debug_assertions) {
        true => Self { time: Duration::from_millis(600), ..Self::USUAL },
        false => Self { time: Duration::from_millis(200), ..Self::USUAL },
    };
    /// For a statement until its charge. The dev profile leaves DataFusion unoptimised, which plans
    /// the SQL around private parts: there it may take ten times as long.
    pub const UNTIL_THE_CHARGE: Self = match cfg!(debug_assertions) {
        true => Self { time: Duration::from_secs(2), ..Self::USUAL },
        false => Self::STATEMENT,
    };
    /// For a plan that another process made, which is run, too, in whatever profile.
    pub const PLAN: Self = Self::UNTIL_THE_CHARGE;
    /// For a ledger: opening one checks all of it, and tests the locks of its folder.
    pub const LEDGER: Self = Self::STATEMENT;
    /// For files of rows, whose decoders make room for what a file says that it has. The dev
    /// profile leaves what parses values unoptimised: there they may take ten times as long.
    pub const FILES: Self = match cfg!(debug_assertions) {
        true => Self { time: Duration::from_secs(1), memory: usize::MAX },
        false => Self { memory: usize::MAX, ..Self::USUAL },
    };
}

/// CPU time and memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// CPU time of the process.
    pub time: Duration,
    /// The most bytes at a time.
    pub memory: usize,
}

impl Cost {
    /// The larger time, and the larger memory.
    pub fn max(self, other: Self) -> Self {
        Self { time: self.time.max(other.time), memory: self.memory.max(other.memory) }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        write!(f, "{seconds:.3} s of CPU time and {:.1} MB", self.memory as f64 / 1e6)
    }
}

/// Time after which an input hangs, by the clock, as other programs may have the processor and
/// the disk: a multiple of the time that it may take.
const PATIENCE: u32 = 300;

/// Inputs that took longest, from which others are made.
const SLOWEST: usize = 16;
/// Inputs with new reactions, from which others are made: of more, the latest ones.
const NEW: usize = 256;

/// The last panic of a target, in words.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// A reader, and inputs to begin with.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Reads an input.
    pub run: fn(&[u8]) -> Reaction,
    /// Makes the first inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// The most that an input may take.
    pub limits: Limits,
}

/// An input that a target did not take as it should.
#[derive(Debug)]
pub struct FuzzFailure {
    /// The failure, in words.
    pub what: String,
    /// Where the input is.
    pub input: PathBuf,
}

/// The outcome of some time of fuzzing in which nothing failed.
#[derive(Debug)]
pub struct FuzzOutcome {
    /// How many inputs were run.
    pub runs: u64,
    /// The most that one took.
    pub most: Cost,
    /// Inputs with reactions that no input before them had; not those that are seeds or stored.
    pub new: Vec<Vec<u8>>,
}

/// Runs the target's seeds and the stored inputs, then mutated ones for as long as given, one after
/// the other: CPU time and memory are those of the process, so nothing else may run in it. Others
/// are made of inputs that took long, which are half way to those that take too long, and of inputs
/// whose reactions are new.
///
/// # Errors
/// At the first input that panics or takes too much, which is left in `folder`. A crash of the
/// process or a hang, which ends it, leaves the input there, too.
pub fn fuzz(
    target: &Target,
    stored: Vec<Vec<u8>>,
    time: Duration,
    seed: u64,
    folder: &Path,
) -> Result<FuzzOutcome, FuzzFailure> {
    let started = Instant::now();
    let mut random = Random::new(seed);
    let mut pool = (target.seeds)();
    pool.extend(stored);
    let first = pool.len();
    let mut slowest: Vec<(Duration, Vec<u8>)> = Vec::new();
    let mut reactions: HashSet<Reaction> = HashSet::new();
    let mut fuzzed = FuzzOutcome { runs: 0, most: Cost::default(), new: Vec::new() };
    loop {
        let ran = usize::try_from(fuzzed.runs).unwrap_or(usize::MAX);
        let input = match pool.get(ran).filter(|_| ran < first) {
            Some(input) => input.clone(),
            None if started.elapsed() >= time => return Ok(fuzzed),
            None => mutated(&pool, &mut random),
        };
        let (reaction, taken) = reaction_to(target, &input, folder)?;
        fuzzed.runs += 1;
        fuzzed.most = fuzzed.most.max(taken);
        let taken = taken.time;
        let is_new = reactions.insert(reaction) && ran >= first;
        let is_slow =
            slowest.last().is_none_or(|(least, _)| taken > *least || slowest.len() < SLOWEST);
        if is_new {
            fuzzed.new.push(input.clone());
        }
        if is_slow {
            slowest.push((taken, input));
            slowest.sort_by_key(|(taken, _)| std::cmp::Reverse(*taken));
            slowest.truncate(SLOWEST);
        }
        if is_new || is_slow {
            pool.truncate(first);
            pool.extend(slowest.iter().map(|(_, input)| input.clone()));
            pool.extend(fuzzed.new.iter().rev().take(NEW).cloned());
        }
    }
}

/// Runs one input from a file.
///
/// # Errors
/// If it fails.
pub fn replay(target: &Target, file: &Path, folder: &Path) -> Result<Cost, FuzzFailure> {
    let input = fs::read(file)
        .map_err(|error| FuzzFailure { what: error.to_string(), input: file.to_owned() })?;
    Ok(reaction_to(target, &input, folder)?.1)
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

/// Time and memory of an input, however much they are.
///
/// # Errors
/// At a panic.
pub fn measured(target: &Target, input: &[u8], folder: &Path) -> Result<Cost, FuzzFailure> {
    let no_limits = Limits { time: Duration::MAX, memory: usize::MAX };
    Ok(reaction_to(&Target { limits: no_limits, ..*target }, input, folder)?.1)
}

/// The reaction to an input, its time and its memory.
///
/// # Errors
/// At a panic, and where it takes too much.
pub fn reaction_to(
    target: &Target,
    input: &[u8],
    folder: &Path,
) -> Result<(Reaction, Cost), FuzzFailure> {
    let path = folder.join(format!("{}.input", target.name));
    let failed = |what: String| FuzzFailure { what, input: path.clone() };
    let kept = fs::create_dir_all(folder).and_then(|()| fs::write(&path, input));
    kept.map_err(|error| failed(format!("cannot keep the input: {error}:")))?;

    let (running, ended) = channel::<()>();
    let shown = path.clone();
    let limits = target.limits;
    let patience = limits.time.checked_mul(PATIENCE).unwrap_or(Duration::from_secs(3600));
    let watch = thread::spawn(move || {
        if ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            // Nothing can stop a thread that hangs but the end of its process.
            let what =
                format!("hangs: an input runs for {patience:?}; it is in {}\n", shown.display());
            let _ = io::Write::write_all(&mut io::stderr(), what.as_bytes());
            std::process::exit(1);
        }
    });
    let before = ProcessTime::try_now().map_err(|error| failed(error.to_string()))?;
    let run = target.run;
    MEMORY.reset_peak_usage();
    let in_use = MEMORY.current_usage();
    keep_panics(true);
    let result = catch_unwind(|| run(input));
    keep_panics(false);
    let time = before.try_elapsed().map_err(|error| failed(error.to_string()))?;
    let taken = Cost { time, memory: MEMORY.peak_usage().saturating_sub(in_use) };
    drop(running);
    let _ = watch.join();
    let Ok(reaction) = result else {
        let panic = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone();
        return Err(failed(format!("panics: {panic}:")));
    };
    if time > limits.time {
        return Err(failed(format!("takes {time:?} of CPU time, more than {:?}:", limits.time)));
    }
    if taken.memory > limits.memory {
        let (used, most) = (taken.memory, limits.memory);
        return Err(failed(format!("takes {used} bytes, more than {most}:")));
    }
    fs::remove_file(&path).map_err(|error| failed(error.to_string()))?;
    Ok((reaction, taken))
}
