//! Tests with a process that is really forked.
//!
//! A child has the one thread that forked. It draws into memory that it has already, writes to a
//! pipe and ends: it takes no lock that another thread of the parent may have held.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of a test")]

use std::io::{Read, Write, pipe};

use fork::{Fork, fork, waitpid};

use super::{constant_seed, lose_entropy};
use crate::{
    Bernoulli, DiscreteGaussian, DiscreteLaplace, Dyadic, Generator, Law, Ratio, Rehearsal,
    RoundedGaussian, TruncatedDiscreteLaplace, Uniform,
};

/// The draws of a forked child, sent through a pipe, and the draws here after them.
fn in_both<const N: usize>(draw: &mut dyn FnMut() -> [u8; N]) -> ([u8; N], [u8; N]) {
    let (mut reader, mut writer) = pipe().unwrap();
    match fork().unwrap() {
        Fork::Child => {
            // No panic may unwind into the test runner's copy.
            let written = writer.write_all(&draw());
            std::process::exit(i32::from(written.is_err()));
        }
        Fork::Parent(child) => {
            drop(writer);
            let mut from_child = [0; N];
            reader.read_exact(&mut from_child).expect("the child writes all");
            assert_eq!(waitpid(child).unwrap(), 0);
            (from_child, draw())
        }
    }
}

/// 64 bytes from a generator, zero if it fails.
fn bytes(generator: &mut Generator) -> [u8; 64] {
    let mut bytes = [0; 64];
    if generator.fill_bytes(&mut bytes).is_ok() { bytes } else { [0; 64] }
}

/// Forked in the middle of its buffer, the stream goes on in the parent, and the child has another
/// one. Eight words all differ except for a chance of 2^-61.
#[test]
fn a_forked_generator_takes_a_new_seed() {
    let mut generator = Generator::from_os().unwrap();
    for _ in 0..3 {
        generator.next_u64().unwrap();
        let (child, parent) = in_both(&mut || bytes(&mut generator));
        assert!(child != [0; 64] && parent != [0; 64], "both draw");
        for (child, parent) in child.chunks(8).zip(parent.chunks(8)) {
            assert_ne!(child, parent);
        }
    }
    // Children of the same moment differ from each other too.
    let mut draw = || bytes(&mut generator);
    let (first, _) = in_both(&mut draw);
    let (second, _) = in_both(&mut draw);
    assert_ne!(first, second);
}

/// The seed is fresh, and the buffer of the parent is gone: with a system that gives the same seed
/// to all, the child begins its stream anew while the parent's goes on.
#[test]
fn a_forked_generator_drops_the_buffer() {
    let mut generator = Generator::seeded_by(constant_seed).unwrap();
    let start = bytes(&mut generator);
    let (child, parent) = in_both(&mut || bytes(&mut generator));
    assert_eq!(child, start);
    assert_ne!(parent, start);
}

/// The comparison would see two equal streams: a rehearsal, which nothing reseeds, is the same in
/// both.
#[test]
fn a_forked_rehearsal_repeats() {
    let law = DiscreteLaplace::new(Ratio::new(1 << 30, 1).unwrap());
    let mut rehearsal = Rehearsal::new(1);
    let (child, parent) = in_both(&mut || {
        let mut draws = [0; 8];
        let drawn = law.rehearse(&mut rehearsal, &mut draws).is_ok();
        let mut all = [u8::from(drawn); 129];
        for (bytes, draw) in all.chunks_mut(16).zip(draws) {
            bytes.copy_from_slice(&draw.to_le_bytes()[..bytes.len()]);
        }
        all
    });
    assert_eq!((child, child[128]), (parent, 1));
}

/// Where the system has no seed to give to the child, every law fails there: nothing is drawn from
/// the parent's stream. In the parent, which needs no seed, all goes on.
#[test]
fn a_forked_generator_without_a_seed_fails() {
    let mut generator = Generator::seeded_by(constant_seed).unwrap();
    generator.next_u64().unwrap();
    lose_entropy(&mut generator);
    let scale = Ratio::new(1000, 1).unwrap();
    let sigma = Dyadic::new(1000, 0).unwrap();
    let g = &mut generator;
    let discrete = DiscreteGaussian::new(sigma);
    // Shared tables are built before the fork.
    DiscreteLaplace::new(scale).fill(g, &mut [0; 2]).unwrap();
    RoundedGaussian::new(sigma).fill(g, &mut [0; 2]).unwrap();
    let (child, parent) = in_both(&mut || {
        [
            g.next_u64().is_ok(),
            g.fill_u64(&mut [0; 2]).is_ok(),
            g.fill_bytes(&mut [0; 2]).is_ok(),
            Uniform::below(6).is_ok_and(|law| law.fill(g, &mut [0; 2]).is_ok()),
            Bernoulli::from_f64(0.5).is_ok_and(|law| law.fill(g, &mut [true; 2]).is_ok()),
            DiscreteLaplace::new(scale).fill(g, &mut [0; 2]).is_ok(),
            TruncatedDiscreteLaplace::new(scale, 9).fill(g, &mut [0; 2]).is_ok(),
            RoundedGaussian::new(sigma).fill(g, &mut [0; 2]).is_ok(),
            discrete.fill(g, &mut [0; 2]).is_ok(),
        ]
        .map(u8::from)
    });
    assert_eq!((child, parent), ([0; 9], [1; 9]));
}
