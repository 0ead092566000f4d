//! A second of fuzzing, one target after the other: CPU time is measured, so nothing runs beside
//! it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use cpu_time::ProcessTime;
use hushtable_fuzz::{
    FuzzOutcome, Limits, Reaction, TARGETS, Target, corpus, fuzz, reaction_to, replay, stored,
};

#[test]
fn readers_take_what_is_made_of_their_seeds() {
    let folder = tempfile::tempdir().unwrap();
    for target in &TARGETS {
        stored_inputs_are_taken(target, folder.path());
        let time = Duration::from_millis(200);
        let FuzzOutcome { runs, .. } = fuzz(target, Vec::new(), time, 1, folder.path()).unwrap();
        let seeds = (target.seeds)().len() as u64;
        assert!(seeds > 0 && runs >= seeds, "{}", target.name);
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    failures_are_found(folder.path());
}

/// Each once. They are few and small.
fn stored_inputs_are_taken(target: &Target, folder: &Path) {
    let inputs = stored(target).unwrap();
    assert!(!inputs.is_empty(), "{} has no stored inputs", target.name);
    assert!(inputs.iter().map(Vec::len).sum::<usize>() <= 50_000, "{}", target.name);
    for input in inputs {
        reaction_to(target, &input, folder).unwrap();
    }
}

/// Folders of targets that are gone would be read by nobody.
#[test]
fn stored_inputs_have_targets() {
    for folder in fs::read_dir(corpus()).unwrap() {
        let name = folder.unwrap().file_name();
        assert!(TARGETS.iter().any(|target| name == target.name), "{name:?}");
    }
}

/// A panic, too much time and too much memory, each with its input in a file.
fn failures_are_found(folder: &Path) {
    let seeds = || vec![b"short".to_vec(), b"longer".to_vec()];
    let panics = |input: &[u8]| {
        assert!(input.len() < 6);
        Reaction::default()
    };
    let takes_long = |input: &[u8]| {
        let started = ProcessTime::now();
        while input.len() > 5 && started.elapsed() <= Limits::USUAL.time {}
        Reaction::default()
    };
    let takes_room = |input: &[u8]| {
        drop(vec![1u8; 6_000_000 * input.len()]);
        Reaction::default()
    };
    let limits = Limits::USUAL;
    let room = Limits { time: Duration::from_secs(9), memory: 33_000_000 };
    let targets = [
        (Target { name: "panics", run: panics, seeds, limits }, "panics"),
        (Target { name: "slow", run: takes_long, seeds, limits }, "of CPU time, more than"),
        (Target { name: "large", run: takes_room, seeds, limits: room }, "bytes, more than"),
    ];
    for (target, cause) in &targets {
        let failed = fuzz(target, Vec::new(), Duration::ZERO, 1, folder).unwrap_err();
        assert!(failed.what.contains(cause), "{}", failed.what);
        assert_eq!(fs::read(&failed.input).unwrap(), b"longer");
        fs::copy(&failed.input, folder.join("kept")).unwrap();
    }
    let panics = targets[0].0;
    let what = replay(&panics, &folder.join("kept"), folder).unwrap_err().what;
    assert!(what.contains("input.len() < 6"), "{what}");
}
