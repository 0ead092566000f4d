//! Tests of the generator.

#[cfg(unix)]
mod fork;

use num_bigint::BigUint;

use super::*;
use crate::{
    Bernoulli, DiscreteGaussian, DiscreteLaplace, Law, Ratio, RoundedGaussian,
    TruncatedDiscreteLaplace, Uniform,
};

fn constant_seed(key: &mut [u8; 32]) -> Result<(), EntropyError> {
    *key = [7; 32];
    Ok(())
}

fn no_seed(_: &mut [u8; 32]) -> Result<(), EntropyError> {
    Err(EntropyError(getrandom::Error::UNSUPPORTED))
}

fn move_to_another_process(generator: &mut Generator) {
    if let Some(origin) = &mut generator.origin {
        origin.process = origin.process.wrapping_add(1);
    }
}

fn lose_entropy(generator: &mut Generator) {
    if let Some(origin) = &mut generator.origin {
        origin.seed = no_seed;
    }
}

/// RFC 8439 appendix A.1, test vectors 1 and 2: zero key and nonce, blocks 0 and 1.
#[test]
fn stream_is_chacha20() {
    let mut generator = TestSeed(0).generator();
    let mut bytes = [0; 64];
    generator.fill_bytes(&mut bytes).unwrap();
    assert_eq!(bytes[..8], [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
    assert_eq!(
        bytes[56..],
        [
            0x6a, 0x43, 0xb8, 0xf4, 0x15, 0x18, 0xa1, 0x1c, 0xc3, 0x87, 0xb6, 0x69, 0xb2, 0xee,
            0x65, 0x86
        ][8..]
    );
    generator.fill_bytes(&mut bytes).unwrap();
    assert_eq!(bytes[..8], [0x9f, 0x07, 0xe7, 0xbe, 0x55, 0x51, 0x38, 0x7a]);
}

/// Refills go on with the stream: no word repeats (a false alarm has probability 2^-44).
#[test]
fn refills_do_not_repeat() {
    let mut generator = TestSeed(1).generator();
    let mut words = vec![0; 1000];
    generator.fill_u64(&mut words).unwrap();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), 1000);
}

/// Two draws of 128 bits are equal with probability 2^-128.
#[test]
fn os_generators_differ() {
    let pair = |mut g: Generator| [g.next_u64().unwrap(), g.next_u64().unwrap()];
    assert_ne!(pair(Generator::from_os().unwrap()), pair(Generator::from_os().unwrap()));
}

/// The stand-in for the system always gives the same seed, so a reseeded stream starts anew: that
/// distinguishes a reseed from a stream that goes on.
#[test]
fn another_process_drops_the_half_used_buffer() {
    let mut generator = Generator::seeded_by(constant_seed).unwrap();
    let first: Vec<u64> = (0..6).map(|_| generator.next_u64().unwrap()).collect();
    assert_ne!(first[0], first[5]);
    move_to_another_process(&mut generator);
    assert_eq!(generator.next_u64().unwrap(), first[0]);
    assert_eq!(generator.next_u64().unwrap(), first[1], "it reseeds once, not on every call");

    move_to_another_process(&mut generator);
    let mut batch = [0; 3];
    generator.fill_u64(&mut batch).unwrap();
    assert_eq!(batch, first[..3]);

    move_to_another_process(&mut generator);
    generator.next = BUFFER;
    assert_eq!(generator.word().unwrap(), first[0], "a refill looks too");
}

/// Every public way to draw notices another process, and gives no value if it cannot reseed.
#[test]
fn every_call_checks_the_process() {
    fn calls() -> Vec<fn(&mut Generator) -> bool> {
        vec![
            |g| g.next_u64().is_ok(),
            |g| g.fill_u64(&mut [0; 2]).is_ok(),
            |g| g.fill_bytes(&mut [0; 2]).is_ok(),
            |g| Uniform::below(6).unwrap().sample(g).is_ok(),
            |g| Bernoulli::from_f64(0.5).unwrap().sample(g).is_ok(),
            |g| crate::bernoulli_enclosed(g, (1, 1), &Half).is_ok(),
            |g| Uniform::below(6).unwrap().fill(g, &mut [0; 2]).is_ok(),
            |g| Bernoulli::from_f64(0.5).unwrap().fill(g, &mut [true; 2]).is_ok(),
            |g| crate::bernoulli_enclosed_all(g, &mut [true; 2], |_| ((1, 1), Half)).is_ok(),
            |g| laplace().sample(g).is_ok(),
            |g| laplace().fill(g, &mut [0; 2]).is_ok(),
            |g| TruncatedDiscreteLaplace::new(Ratio::new(1, 1).unwrap(), 3).sample(g).is_ok(),
            |g| {
                TruncatedDiscreteLaplace::new(Ratio::new(1, 1).unwrap(), 3)
                    .fill(g, &mut [0; 2])
                    .is_ok()
            },
            |g| {
                let law = DiscreteGaussian::new(crate::Dyadic::at_least(1.0).unwrap());
                law.sample(g).is_ok()
            },
            |g| {
                let law = DiscreteGaussian::new(crate::Dyadic::at_least(1.0).unwrap());
                law.fill(g, &mut [0; 2]).is_ok()
            },
            |g| RoundedGaussian::new(crate::Dyadic::at_least(1.0).unwrap()).sample(g).is_ok(),
            |g| {
                RoundedGaussian::new(crate::Dyadic::at_least(1.0).unwrap())
                    .fill(g, &mut [0; 2])
                    .is_ok()
            },
        ]
    }
    struct Half;
    impl hushtable_numbers::Enclosure for Half {
        fn enclose(&self, bits: u32) -> (BigUint, BigUint) {
            let half = BigUint::from(1u8) << (bits - 1);
            (half.clone(), half)
        }
    }
    fn laplace() -> DiscreteLaplace {
        DiscreteLaplace::new(Ratio::new(1, 1).unwrap())
    }
    for (index, call) in calls().into_iter().enumerate() {
        let mut generator = Generator::seeded_by(constant_seed).unwrap();
        generator.next_u64().unwrap();
        lose_entropy(&mut generator);
        assert!(call(&mut generator), "call {index} in its own process");
        move_to_another_process(&mut generator);
        assert!(!call(&mut generator), "call {index} used a stale stream");
        assert!(!call(&mut generator), "call {index} used a stale stream when asked again");
    }
}

#[test]
fn no_entropy_gives_no_generator() {
    let error = Generator::seeded_by(no_seed).map(|_| ()).unwrap_err();
    assert!(error.to_string().starts_with("the operating system's random generator failed"));
}

#[test]
fn debug_shows_no_state() {
    assert_eq!(format!("{:?}", TestSeed(5).generator()), "Generator { .. }");
}

#[test]
fn test_seeds_ignore_the_process() {
    let mut one = TestSeed(5).generator();
    let mut two = TestSeed(5).generator();
    move_to_another_process(&mut two);
    assert_eq!(one.next_u64().unwrap(), two.next_u64().unwrap());
    assert_ne!(one.next_u64().unwrap(), TestSeed(6).generator().next_u64().unwrap());
}
