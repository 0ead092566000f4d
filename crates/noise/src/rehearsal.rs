//! Reproducible draws, to look at.

use crate::Generator;

/// A known seed that the samplers can be rehearsed with: the same draws on every machine.
///
/// It is there in release builds, to show what noise looks like and to check a law by hand. It is
/// *not* a [`Generator`] and cannot be made into one, so that nothing which asks for a generator
/// (no mechanism, no release) can be given a known seed. Only
/// [`Law::rehearse`](crate::Law::rehearse) takes it; that runs the same code on the same kind of
/// stream as `fill`.
///
/// ```
/// use hushtable_noise::{DiscreteLaplace, Law, Ratio, Rehearsal};
///
/// let law = DiscreteLaplace::new(Ratio::new(10, 1)?);
/// let (mut one, mut two) = ([0; 5], [0; 5]);
/// law.rehearse(&mut Rehearsal::new(7), &mut one)?;
/// law.rehearse(&mut Rehearsal::new(7), &mut two)?;
/// assert_eq!(one, two);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```compile_fail
/// # use hushtable_noise::{DiscreteLaplace, Law, Ratio, Rehearsal};
/// # let law = DiscreteLaplace::new(Ratio::new(10, 1).unwrap());
/// // A rehearsal is no generator.
/// law.fill(&mut Rehearsal::new(7), &mut [0; 5]);
/// ```
#[derive(Debug)]
pub struct Rehearsal(pub(crate) Generator);

impl Rehearsal {
    /// The rehearsal of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Generator::with_known_seed(seed))
    }
}
