//! The source of randomness: ChaCha20 seeded by the operating system.

use std::fmt;

use chacha20::rand_core::SeedableRng;
use chacha20::rand_core::block::Generator as _;
use chacha20::variants::Legacy;
use chacha20::{ChaChaCore, R20};

use crate::EntropyError;

/// Uniform words of `BITS` bits, the only thing a sampler sees of a generator.
///
/// The generator gives 64 bits at a time. Tests run the same samplers on words of one to four bits,
/// so that every possible input up to some length can be tried.
pub(crate) trait Words {
    /// Bits in a word, 1 ..= 64. The bits above them are zero.
    const BITS: u32;

    /// The next word.
    fn word(&mut self) -> Result<u64, EntropyError>;
}

/// ChaCha20 with a 64-bit block counter, as Bernstein defined it (the stream starts at block 0,
/// nonce 0).
type Stream = ChaChaCore<R20, Legacy>;

/// Words of 32 bits that the cipher makes in one call.
const CHUNK: usize = 64;
/// Words of 64 bits in the buffer: 1 KiB, so that the check of the process id (a system call) on
/// each refill costs less than a nanosecond a word.
const BUFFER: usize = 128;

/// Where an operating-system seed came from, and for which process.
struct SeedOrigin {
    process: u32,
    seed: fn(&mut [u8; 32]) -> Result<(), EntropyError>,
}

/// A cryptographic generator: the ChaCha20 stream under a 32-byte key from the operating system.
///
/// *Fork.* A forked child must not repeat its parent's stream. The generator remembers the process
/// it was seeded in and takes a new seed from the system when it finds itself in another one. It
/// looks on every refill of its buffer and at the start of every public call that draws (once per
/// batch). It cannot see two things: a virtual machine restored twice from one snapshot, and a new
/// process that happens to have the very id of the (ended) process that seeded it without drawing
/// in between, or has the same id in another pid namespace.
///
/// It cannot be cloned, and `Debug` shows nothing of its state.
pub struct Generator {
    stream: Stream,
    buffer: [u64; BUFFER],
    /// Index of the next unused word; `BUFFER` when none is left.
    next: usize,
    /// `None` for a known seed (of a test or a rehearsal), which is never replaced.
    origin: Option<SeedOrigin>,
}

impl Generator {
    /// A generator with a fresh seed from the operating system.
    ///
    /// # Errors
    /// [`EntropyError`] if the operating system gives no randomness.
    pub fn from_os() -> Result<Self, EntropyError> {
        Self::seeded_by(seed_from_os)
    }

    pub(crate) fn seeded_by(
        seed: fn(&mut [u8; 32]) -> Result<(), EntropyError>,
    ) -> Result<Self, EntropyError> {
        let mut key = [0; 32];
        seed(&mut key)?;
        // A fork copies the buffer. Without its process a child would draw the same noise as its
        // parent.
        let process = std::process::id();
        Ok(Self::with_key(key, Some(SeedOrigin { process, seed })))
    }

    /// The generator of a known seed: the same words on every machine, also after a fork.
    pub(crate) fn with_known_seed(seed: u64) -> Self {
        let mut key = [0; 32];
        for (byte, seed) in key.iter_mut().zip(seed.to_le_bytes()) {
            *byte = seed;
        }
        Self::with_key(key, None)
    }

    fn with_key(key: [u8; 32], origin: Option<SeedOrigin>) -> Self {
        Self { stream: Stream::from_seed(key), buffer: [0; BUFFER], next: BUFFER, origin }
    }

    /// 64 uniform bits.
    ///
    /// # Errors
    /// [`EntropyError`] if a new seed was needed and the operating system gave none.
    pub fn next_u64(&mut self) -> Result<u64, EntropyError> {
        self.check_process()?;
        self.word()
    }

    /// Fills `words` with uniform bits.
    ///
    /// # Errors
    /// Fails where [`next_u64`](Self::next_u64) does. Do not use the contents of `words` then.
    pub fn fill_u64(&mut self, words: &mut [u64]) -> Result<(), EntropyError> {
        self.check_process()?;
        for word in words {
            *word = self.word()?;
        }
        Ok(())
    }

    /// Fills `bytes` with uniform bits, for instance to make a key.
    ///
    /// # Errors
    /// Fails where [`next_u64`](Self::next_u64) does. Do not use the contents of `bytes` then.
    pub fn fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        self.check_process()?;
        for chunk in bytes.chunks_mut(8) {
            let word = self.word()?.to_le_bytes();
            for (byte, random) in chunk.iter_mut().zip(word) {
                *byte = random;
            }
        }
        Ok(())
    }

    /// Takes a new seed if the process is not the one of the present seed.
    ///
    /// Every public call that draws does this first: a fork can happen while the buffer is half
    /// used. No fork can happen *during* a call, as the child process holds only the thread that
    /// forked.
    #[inline]
    pub(crate) fn check_process(&mut self) -> Result<(), EntropyError> {
        if let Some(origin) = &self.origin
            && origin.process != std::process::id()
        {
            // If this fails the old process id stays, and so every later call fails or reseeds too.
            *self = Self::seeded_by(origin.seed)?;
        }
        Ok(())
    }

    #[cold]
    fn refill(&mut self) -> Result<(), EntropyError> {
        self.check_process()?;
        let mut chunk = [0u32; CHUNK];
        for words in self.buffer.chunks_mut(CHUNK / 2) {
            self.stream.generate(&mut chunk);
            for (word, halves) in words.iter_mut().zip(chunk.chunks_exact(2)) {
                if let [low, high] = halves {
                    *word = u64::from(*high) << 32 | u64::from(*low);
                }
            }
        }
        self.next = 0;
        Ok(())
    }
}

impl Words for Generator {
    const BITS: u32 = 64;

    #[inline]
    fn word(&mut self) -> Result<u64, EntropyError> {
        loop {
            if let Some(&word) = self.buffer.get(self.next) {
                self.next += 1;
                return Ok(word);
            }
            self.refill()?;
        }
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").finish_non_exhaustive()
    }
}

fn seed_from_os(key: &mut [u8; 32]) -> Result<(), EntropyError> {
    getrandom::fill(key).map_err(EntropyError)
}

/// A fixed seed, for tests.
///
/// It exists only in builds with debug assertions (or this crate's own tests), so no release build
/// can make a generator with a known seed.
#[cfg(any(test, debug_assertions))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestSeed(pub u64);

#[cfg(any(test, debug_assertions))]
impl TestSeed {
    /// The generator of this seed: the same words on every machine. It is not reseeded after a
    /// fork.
    pub fn generator(self) -> Generator {
        Generator::with_known_seed(self.0)
    }

    /// A generator of a system that gives no randomness: it was seeded in another process, and
    /// finds no new seed.
    pub fn without_system(self) -> Generator {
        let mut generator = self.generator();
        let seed = |_: &mut [u8; 32]| Err(EntropyError(getrandom::Error::UNSUPPORTED));
        generator.origin = Some(SeedOrigin { process: 0, seed });
        generator
    }
}

#[cfg(test)]
mod tests;
