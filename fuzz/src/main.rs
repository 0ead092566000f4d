//! Fuzzes on stable Rust: see README.md beside this crate's manifest.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hushtable_fuzz::{Cost, Failed, TARGETS, Target, fuzz, measured, replay, statements};

const USAGE: &str = "fuzz [--seconds N] [--seed N] [--replay FILE] [--stress] [TARGET…]: \
                     N seconds in all (60), the targets sql, explain, contract, workload, \
                     model_file, csv, parquet, arrow (all); --stress lists the statements of all \
                     kinds that take most";

/// Statements that are listed.
const WORST: usize = 10;

struct Asked {
    seconds: u64,
    seed: u64,
    replay: Option<PathBuf>,
    stress: bool,
    targets: Vec<Target>,
}

fn main() -> ExitCode {
    let Some(asked) = asked(std::env::args().skip(1)) else {
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
            Some(file) => replay(target, file, &folder).map(|taken| (1, taken)),
            None => fuzz(target, share, asked.seed, &folder),
        };
        match result {
            Ok((runs, most)) => println!("{name}: {runs} inputs, at most {most}"),
            Err(Failed { what, input }) => {
                eprintln!("{name} {what} {} (seed {})", input.display(), asked.seed);
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
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
                Err(Failed { what, input }) => {
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

fn asked(mut words: impl Iterator<Item = String>) -> Option<Asked> {
    let clock =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let mut asked =
        Asked { seconds: 60, seed: clock, replay: None, stress: false, targets: Vec::new() };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => asked.seconds = words.next()?.parse().ok()?,
            "--seed" => asked.seed = words.next()?.parse().ok()?,
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
