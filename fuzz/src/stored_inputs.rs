//! Stored inputs of each target, one folder each: small ones that differ in their reactions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::harness::{FuzzFailure, Target, reaction_to};
use crate::reactions::Reaction;

/// Largest input that is stored.
const MOST_BYTES: usize = 4_096;
/// Most inputs of a target: those with the fewest bytes stay.
const MOST_INPUTS: usize = 48;
/// Most runs that making one input smaller takes.
const MOST_RUNS: usize = 200;

/// The folder of all of them. cargo-fuzz reads and adds to it, too.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The stored inputs of a target, in the order of their names; none where there is no folder.
///
/// # Errors
/// When one cannot be read.
pub fn stored(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let folder = corpus().join(target.name);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let paths: BTreeSet<PathBuf> = paths.collect::<io::Result<_>>()?;
    paths.into_iter().map(fs::read).collect()
}

/// Stores an input, under a name that follows from its bytes.
///
/// # Errors
/// When it cannot be written.
pub fn store(target: &Target, input: &[u8]) -> io::Result<()> {
    let folder = corpus().join(target.name);
    fs::create_dir_all(&folder)?;
    let name = blake3::hash(input).to_hex();
    fs::write(folder.join(&name[..16]), input)
}

/// Makes the stored inputs of a target few and small: of each reaction the input with the fewest
/// bytes, from which everything is cut that can go without changing the reaction. Returns how many
/// there were, and how many there are.
///
/// # Errors
/// When an input fails, or the folder cannot be read or written.
pub fn minimise(target: &Target, failures: &Path) -> Result<(usize, usize), FuzzFailure> {
    let folder = corpus().join(target.name);
    let failed = |error: io::Error| FuzzFailure { what: error.to_string(), input: folder.clone() };
    let all = stored(target).map_err(failed)?;
    let before = all.len();
    let mut least: BTreeMap<Reaction, Vec<u8>> = BTreeMap::new();
    // Seeds are there without being stored.
    let mut seeds = BTreeSet::new();
    for seed in (target.seeds)() {
        seeds.insert(reaction_to(target, &seed, failures)?.0);
    }
    for input in all {
        let (reaction, _) = reaction_to(target, &input, failures)?;
        let smaller = least.get(&reaction).is_none_or(|other| input.len() < other.len());
        if smaller && !seeds.contains(&reaction) {
            least.insert(reaction, input);
        }
    }
    let mut least: Vec<(Reaction, Vec<u8>)> = least.into_iter().collect();
    least.sort_by_key(|(_, input)| input.len());
    let mut inputs = BTreeSet::new();
    for (reaction, input) in least.into_iter().take(MOST_INPUTS) {
        let input = cut(target, &reaction, input, failures)?;
        if input.len() <= MOST_BYTES {
            inputs.insert(input);
        }
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    inputs.iter().try_for_each(|input| store(target, input)).map_err(failed)?;
    Ok((before, inputs.len()))
}

/// The input without whatever can go: halves first, then ever smaller pieces.
fn cut(
    target: &Target,
    reaction: &Reaction,
    mut input: Vec<u8>,
    failures: &Path,
) -> Result<Vec<u8>, FuzzFailure> {
    let mut runs = 0;
    let mut piece = input.len().div_ceil(2);
    while piece > 0 {
        let mut from = 0;
        while from < input.len() && runs < MOST_RUNS {
            let mut rest = input.clone();
            rest.drain(from..(from + piece).min(input.len()));
            runs += 1;
            match reaction_to(target, &rest, failures)?.0 == *reaction {
                true => input = rest,
                false => from += piece,
            }
        }
        piece /= 2;
    }
    Ok(input)
}
