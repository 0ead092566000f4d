//! Risks of releases without noise, to an attacker who knows only a part of the records.
//!
//! The setting is that of Desfontaines, Mohammadi, Krahmer & Basin 2020, *Differential privacy with
//! partial knowledge* (PK): records are independent, the attacker's uncertainty is the law of those
//! that are unknown, and the target's record changes its value. delta(epsilon) is the larger of the
//! two hockey-stick divergences between what is then published, as in differential privacy, but it
//! rests on the attacker's not knowing. It is no budget and adds up with none.
//!
//! - [`Count`]: a count, with unknown records of given probabilities ([`Profile`]).
//! - [`CountWithin`]: the worst case where probabilities are known within bounds only
//!   ([`ProbabilityRange`]).
//! - [`GroupCounts`]: tables of counts by group, as a known number of records came to them.
//! - [`Histogram`]: counts of several values.
//! - [`CountAbove`], [`CountAboveWithin`]: a count that is released above a threshold.
//! - [`KAnonymity`]: counts that are released from k on.
//! - [`Dependence`]: several releases together.
//! - [`model`]: every definition of the paper, exactly, in small finite models.
//!
//! Apart from attackers and probabilities, [`PublishedTables`] finds what several exact tables
//! reveal together, and [`Microdata`] what tables of generalised records reveal about each person.
//!
//! Everything is computed with positive terms and rounded up by bounds of its errors, so that no
//! delta is below the true one. Nothing here samples, and nothing here knows of tables.

mod composition;
mod count;
mod count_noise;
mod differencing;
mod divergence;
mod double;
mod error;
mod generalised;
mod groups;
mod histogram;
mod integer_law;
mod k_anonymity;
mod microdata;
pub mod model;
mod probability;
mod threshold;
mod threshold_within;
mod vertices;

pub use composition::{Dependence, Guarantee};
pub use count::{Count, CountWithin};
pub use count_noise::CountNoise;
pub use differencing::{
    BoundedCount, Combination, Differences, PublishedCell, PublishedCount, PublishedTables,
    RecoveredCount,
};
pub use error::KnowledgeError;
pub use generalised::GeneralisedValue;
pub use groups::{GroupCounts, GroupRisk, Knows};
pub use histogram::Histogram;
pub use k_anonymity::{KAnonymity, Pair, Reason, Side};
pub use microdata::{
    EquivalenceClass, Linkage, Microdata, PossibleValues, SensitiveValues, SingledOut, linkages,
};
pub use probability::{Probability, ProbabilityRange, Profile};
pub use threshold::{Attackers, CountAbove};
pub use threshold_within::CountAboveWithin;
pub use vertices::WorstCase;

use hushtable_numbers::search::{falls_to, first, grow};

/// The largest epsilon that is searched for.
pub const MOST_EPSILON: f64 = 1e6;

/// The least epsilon, rounded up by about one part in 10^11, at which the falling function `delta`
/// is at most `target`; `None` if it is not at [`MOST_EPSILON`].
///
/// Noiseless releases have a delta that no epsilon takes away: that of the outcomes which only one
/// of the target's values allows.
pub fn least_epsilon(target: f64, delta: impl Fn(f64) -> f64) -> Option<f64> {
    if target.is_nan() || target <= 0.0 {
        let nothing = |epsilon: f64| delta(epsilon) <= 0.0;
        return nothing(MOST_EPSILON).then(|| first(0.0, MOST_EPSILON, 100, nothing));
    }
    let (_, high) = grow(1.0, 4.0, MOST_EPSILON, |epsilon| delta(epsilon) <= target)?;
    Some(falls_to(target, 0.0, high, delta))
}
