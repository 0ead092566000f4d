//! Fuzzes on stable Rust: see README.md beside this crate's manifest.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hushtable_fuzz::{Failed, TARGETS, Target, fuzz, replay};

const USAGE: &str = "fuzz [--seconds N] [--seed N] [--replay FILE] [TARGET…]: \
                     N seconds in all (60), the targets sql, contract, workload, model_file, csv, \
                     parquet, arrow (all)";

struct Asked {
    seconds: u64,
    seed: u64,
    replay: Option<PathBuf>,
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
    for target in &asked.targets {
        let name = target.name;
        let result = match &asked.replay {
            Some(file) => replay(target, file, &folder).map(|taken| (1, taken)),
            None => fuzz(target, share, asked.seed, &folder),
        };
        match result {
            Ok((runs, longest)) => {
                println!("{name}: {runs} inputs, the longest {longest:?} of CPU")
            }
            Err(Failed { what, input }) => {
                eprintln!("{name} {what} {} (seed {})", input.display(), asked.seed);
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn asked(mut words: impl Iterator<Item = String>) -> Option<Asked> {
    let clock =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let mut asked = Asked { seconds: 60, seed: clock, replay: None, targets: Vec::new() };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => asked.seconds = words.next()?.parse().ok()?,
            "--seed" => asked.seed = words.next()?.parse().ok()?,
            "--replay" => asked.replay = Some(words.next()?.into()),
            name => asked.targets.push(*TARGETS.iter().find(|target| target.name == name)?),
        }
    }
    if asked.targets.is_empty() {
        asked.targets = TARGETS.to_vec();
    }
    Some(asked)
}
