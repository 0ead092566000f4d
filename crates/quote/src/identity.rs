//! The identity of a question: what two queries must have in common to share one release.
//!
//! It has an explicit format number, the query's [leaf](hushtable_plan::Leaf) and the exact
//! calibrations of its mechanisms, and nothing of what is computed from released values: another
//! ORDER BY or a new line in `explain` charges nobody again. Nor do the wishes by which the
//! mechanisms were chosen. A version of the engine that chooses others asks another question;
//! `tests/choice.rs` has the choices, so that none changes by mistake.

use hushtable_mechanisms::{
    Additive, AdditiveLaw, RecordMechanism, Selection, Strategy, SumMechanism, TiedRole,
};
use hushtable_plan::{Leaf, PrivateQuery, numbered};
use hushtable_privacy::{Event, Loss};
use serde::Serialize;

use crate::drawn_together::{Joint, QuantileReach};
use crate::measurement_noise::Noise;
use crate::quote::Quote;
use crate::tie::TiedMeasurement;

/// The format of identities. It changes when the same bytes would mean another release: when an
/// expression, a bound or a mechanism comes to do something else than before.
const FORMAT: u32 = 4;

#[derive(Serialize)]
struct QueryIdentity {
    format: u32,
    query: PrivateQuery,
    selection: Option<SelectionIdentity>,
    noise: Vec<NoiseIdentity>,
}

/// How groups are chosen.
#[derive(Serialize)]
struct SelectionIdentity {
    strategy: Strategy,
    loss: Loss,
    least: u64,
    threshold: Option<f64>,
    scale: Option<f64>,
    rounds: Vec<(f64, f64)>,
}

/// How a measurement is released.
#[derive(Serialize)]
enum NoiseIdentity {
    /// The scale's numerator and denominator.
    DiscreteLaplace {
        loss: Loss,
        scale: (u128, u128),
    },
    /// Sigma's mantissa and exponent.
    RoundedGaussian {
        loss: Loss,
        sigma: (u64, i32),
    },
    PerRecord {
        loss: Loss,
        mechanism: RecordMechanism,
        error_at_zero: f64,
    },
    Quantile {
        event: Event,
        rate: f64,
    },
    /// The interval around a quantile. The measurements tell which others it is drawn with.
    Reach {
        event: Event,
        rate: f64,
        aim: f64,
    },
    /// One of the quantiles that are drawn together.
    Joint {
        first: usize,
        /// Which of them it is; records have it by this name.
        part: usize,
        events: Vec<Event>,
        rate: f64,
    },
    /// By class, that of all others last.
    ByClass(Vec<Self>),
    OfSelection,
    /// One number of a common measurement, with the noise on the ends of a sum.
    Tied {
        count: usize,
        /// The count of a sum's values, where it is not that of all rows.
        #[serde(skip_serializing_if = "Option::is_none")]
        values: Option<usize>,
        ends: Option<Box<Self>>,
        /// The range that the ends are of.
        #[serde(skip_serializing_if = "Option::is_none")]
        span: Option<(i64, i64)>,
    },
}

impl NoiseIdentity {
    /// Of a leaf's measurement. Others that it is drawn with are named by their positions in the
    /// leaf.
    fn of(noise: &Noise, leaf: &Leaf) -> Result<Self, serde_json::Error> {
        Ok(match noise {
            Noise::Single(mechanism) => Self::of_sums(mechanism),
            Noise::ByClass(by_class) => Self::ByClass(by_class.all().map(Self::of_sums).collect()),
            Noise::Quantile(quantile) => {
                let (event, rate) = (quantile.event(), quantile.rate());
                Self::Quantile { event, rate }
            }
            Noise::Reach(QuantileReach { draws, .. }) => {
                Self::Reach { event: draws.event(), rate: draws.rate(), aim: draws.aim() }
            }
            Noise::Joint(Joint { first, nth, draws }) => {
                let (events, rate) = (draws.events(), draws.rate(*nth));
                Self::Joint { first: leaf.position(*first)?, part: *nth, events, rate }
            }
            Noise::OfSelection => Self::OfSelection,
            Noise::Tied(TiedMeasurement { count, values, role, noise }) => {
                let position = |index: &usize| leaf.position(*index);
                let (ends, span) = match role {
                    TiedRole::Sum(sum) => (noise.noise(*sum), noise.span(*sum)),
                    TiedRole::Count | TiedRole::Values(_) => (None, None),
                };
                Self::Tied {
                    count: position(count)?,
                    values: values.as_ref().map(position).transpose()?,
                    ends: ends.map(|ends| Box::new(Self::of_additive(ends))),
                    span: span.map(|span| (span.low, span.high)),
                }
            }
        })
    }

    fn of_additive(additive: &Additive) -> Self {
        let loss = additive.loss();
        match additive.law() {
            AdditiveLaw::DiscreteLaplace(law) => {
                let scale = law.scale();
                let scale = (scale.numerator(), scale.denominator());
                Self::DiscreteLaplace { loss, scale }
            }
            AdditiveLaw::RoundedGaussian(law) => {
                let sigma = (law.sigma().mantissa(), law.sigma().exponent());
                Self::RoundedGaussian { loss, sigma }
            }
        }
    }

    fn of_sums(measuring: &SumMechanism) -> Self {
        let loss = measuring.loss();
        match measuring {
            SumMechanism::Additive(additive) => Self::of_additive(additive),
            SumMechanism::PerRecord(record) => Self::PerRecord {
                loss,
                mechanism: record.mechanism(),
                error_at_zero: record.standard_error(0.0),
            },
        }
    }
}

impl SelectionIdentity {
    fn of(selection: &Selection) -> Self {
        Self {
            strategy: selection.strategy(),
            loss: selection.loss(),
            least: selection.least(),
            threshold: selection.threshold(),
            scale: selection.noise_scale(),
            rounds: selection.rounds(),
        }
    }
}

impl Quote {
    /// The bytes that tell this question from all others on the same data. Spelling, aliases of
    /// tables, the order of options, keys, aggregates and conditions do not matter, nor does
    /// anything that is computed from released values: names of columns, expressions over
    /// aggregates, HAVING, ORDER BY, LIMIT. Nor do the names of populations: under another name
    /// they have the same account, if the contract says so.
    ///
    /// # Errors
    /// When the query cannot be serialised, which binding excludes.
    pub fn identity(&self) -> Result<Vec<u8>, serde_json::Error> {
        let leaf = Leaf::of(self.query())?;
        // In the order of the leaf: SELECT may name the same aggregates in any order.
        let noise = leaf.in_order(self.noise())?;
        let noise = noise.map(|noise| NoiseIdentity::of(noise, &leaf));
        let noise = noise.collect::<Result<_, _>>()?;
        let selection = self.selection().map(SelectionIdentity::of);
        let identity = QueryIdentity { format: FORMAT, query: leaf.into_query(), selection, noise };
        Ok(numbered(&serde_json::to_string(&identity)?).into_bytes())
    }
}
