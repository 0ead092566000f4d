//! Fuzzes on stable Rust: see README.md beside this crate's manifest.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hushtable_fuzz::{
    Cost, FuzzFailure, FuzzOutcome, TARGETS, Target, corpus, fuzz, measured, minimise, replay,
    statements, store, stored,
};

const USAGE: &str = "fuzz [--seconds N] [--seed N] [--replay FILE] [--add] [--minimise] [--stress] \
                     [TARGET…]: N seconds in all (60), the targets sql, explain, contract, \
                     workload, model_file, csv, parquet, arrow, plan, ledger_file (all); --add \
                     stores inputs with new reactions; --minimise makes the stored inputs few and \
                     small; --stress lists the statements of all kinds that take most";

/// Statements that are listed.
const WORST: usize = 10;

struct FuzzedStatements {
    seconds: u64,
    seed: u64,
    replay: Option<PathBuf>,
    add: bool,
    minimise: bool,
    stress: bool,
    targets: Vec<Target>,
}

fn main() -> ExitCode {
    let Some(asked) = arguments(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("failures");
    let share =
        Duration::from_secs(asked.seconds) / u32::try_from(asked.targets.len()).unwrap_or(1);
    if asked.stress {
        return stress(&asked.targets, &folder);
    }
    for target in &asked.targets {
        let name = target.name;
        let result = match &asked.replay {
            Some(file) => replay(target, file, &folder).map(|taken| format!("at most {taken}")),
            None if asked.minimise => minimise(target, &folder)
                .map(|(before, after)| format!("{after} of {before} stored inputs")),
            None => fuzzed(target, share, &asked, &folder),
        };
        match result {
            Ok(line) => println!("{name}: {line}"),
            Err(FuzzFailure { what, input }) => {
                eprintln!("{name} {what} {} (seed {})", input.display(), asked.seed);
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Fuzzes a target from its seeds and its stored inputs, and stores what is new where asked for.
fn fuzzed(
    target: &Target,
    share: Duration,
    asked: &FuzzedStatements,
    folder: &Path,
) -> Result<String, FuzzFailure> {
    let failed = |error: io::Error| FuzzFailure { what: error.to_string(), input: corpus() };
    let stored = stored(target).map_err(failed)?;
    let FuzzOutcome { runs, most, new } = fuzz(target, stored, share, asked.seed, folder)?;
    if asked.add {
        new.iter().try_for_each(|input| store(target, input)).map_err(failed)?;
    }
    Ok(format!("{runs} inputs, {} new reactions, at most {most}", new.len()))
}

/// Lists the statements that take most time, and those that take most memory. Fails where one is
/// above its limits.
fn stress(targets: &[Target], folder: &Path) -> ExitCode {
    let mut within = true;
    for target in targets.iter().filter(|target| matches!(target.name, "sql" | "explain")) {
        let mut all: Vec<(String, Cost)> = Vec::new();
        for (kind, pieces, sql) in statements() {
            let of = format!("{kind}, {pieces} times, {} bytes", sql.len());
            match measured(target, sql.as_bytes(), folder) {
                Ok(cost) => all.push((of, cost)),
                Err(FuzzFailure { what, input }) => {
                    eprintln!("{} {what} {}", target.name, input.display());
                    return ExitCode::FAILURE;
                }
            }
        }
        let limits = target.limits;
        within &=
            all.iter().all(|(_, cost)| cost.time <= limits.time && cost.memory <= limits.memory);
        println!("{}: {} statements; most time:", target.name, all.len());
        all.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.time));
        all.iter().take(WORST).for_each(|(of, cost)| println!("  {cost}: {of}"));
        println!("most memory:");
        all.sort_by_key(|(_, cost)| std::cmp::Reverse(cost.memory));
        all.iter().take(WORST).for_each(|(of, cost)| println!("  {cost}: {of}"));
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Option<FuzzedStatements> {
    let clock =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let mut asked = FuzzedStatements {
        seconds: 60,
        seed: clock,
        replay: None,
        add: false,
        minimise: false,
        stress: false,
        targets: Vec::new(),
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => asked.seconds = words.next()?.parse().ok()?,
            "--seed" => asked.seed = words.next()?.parse().ok()?,
            "--add" => asked.add = true,
            "--minimise" => asked.minimise = true,
            "--stress" => asked.stress = true,
            "--replay" => asked.replay = Some(words.next()?.into()),
            name => asked.targets.push(*TARGETS.iter().find(|target| target.name == name)?),
        }
    }
    if asked.targets.is_empty() {
        asked.targets = TARGETS.to_vec();
    }
    Some(asked)
}
