//! The identity of a question: what must be the same for two askings to have one release.
//!
//! It has an explicit format number, the checked query and the exact calibrations of its
//! mechanisms, and nothing of how they are shown: a new line in `explain` charges nobody again. Nor
//! do the wishes by which the mechanisms were chosen. A version of the engine that chooses others
//! asks another question; `tests/choice.rs` has the choices, so that none changes by mistake.

use hushtable_mechanisms::{
    Additive, AdditiveLaw, RecordMechanism, Selection, Strategy, SumMechanism, TiedPart,
};
use hushtable_privacy::{Event, Loss};
use serde::Serialize;

use crate::bind::PrivateQuery;
use crate::drawn_together::Joint;
use crate::measurement_noise::Noise;
use crate::quote::Quote;
use crate::tie::Tied;

/// The format of identities. It changes when the same bytes would mean another release: when an
/// expression, a bound or a mechanism comes to do something else than before.
const FORMAT: u32 = 2;

#[derive(Serialize)]
struct Identity {
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
        /// Of the end of an interval, how far it aims beyond the quantile.
        #[serde(skip_serializing_if = "is_zero")]
        away: u64,
    },
    /// A part of what is drawn together.
    Joint {
        first: usize,
        part: usize,
        events: Vec<Event>,
        rate: f64,
    },
    /// By class, that of all others last.
    ByClass(Vec<Self>),
    OfSelection,
    /// A part of a common measurement, with the noise on both ends of a sum.
    Tied {
        count: usize,
        part: Option<usize>,
        ends: Option<Box<Self>>,
    },
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(away: &u64) -> bool {
    *away == 0
}

impl NoiseIdentity {
    fn of(noise: &Noise) -> Self {
        match noise {
            Noise::Own(own) => Self::of_sums(own),
            Noise::ByClass(by_class) => Self::ByClass(by_class.all().map(Self::of_sums).collect()),
            Noise::Quantile(quantile) => {
                let (event, rate) = (quantile.event(), quantile.rate());
                Self::Quantile { event, rate, away: quantile.away() }
            }
            Noise::Joint(Joint { first, part, draws }) => {
                let (events, rate) = (draws.events(), draws.rate(*part));
                Self::Joint { first: *first, part: *part, events, rate }
            }
            Noise::OfSelection => Self::OfSelection,
            Noise::Tied(Tied { count, part, noise }) => {
                let place = match part {
                    TiedPart::Count => None,
                    TiedPart::Sum(place) => Some(*place),
                };
                let ends = place.and_then(|place| noise.noise(place));
                let ends = ends.map(|ends| Box::new(Self::of_additive(ends)));
                Self::Tied { count: *count, part: place, ends }
            }
        }
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
    /// tables, the order of options and the names that readers see for measurements do not matter;
    /// the names of the released columns do. Nor do the names of populations: under another name
    /// they have the same account, if the contract says so.
    ///
    /// # Errors
    /// When the query cannot be serialised, which binding excludes.
    pub fn identity(&self) -> Result<Vec<u8>, serde_json::Error> {
        let identity = serde_json::to_string(&Identity {
            format: FORMAT,
            query: self.query().unnamed(),
            selection: self.selection().map(SelectionIdentity::of),
            noise: self.noise().iter().map(NoiseIdentity::of).collect(),
        })?;
        Ok(numbered(&identity).into_bytes())
    }
}

/// JSON with the numbers of populations, in the order in which they appear, in place of their
/// names.
fn numbered(json: &str) -> String {
    // A quotation mark within a text is escaped, so this is nowhere but where a field begins.
    const FIELD: &str = "\"population\":\"";
    let mut fields = json.split(FIELD);
    let mut out = fields.next().unwrap_or_default().to_owned();
    let mut names: Vec<&str> = Vec::new();
    for field in fields {
        let mut escaped = false;
        let end = field.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let (name, rest) = field.split_at(end.unwrap_or(field.len()));
        let number = names.iter().position(|known| *known == name).unwrap_or(names.len());
        if number == names.len() {
            names.push(name);
        }
        out += FIELD;
        out += &number.to_string();
        out += rest;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_populations_become_numbers() {
        let odd = ["a\"b\\", "p\\\",\"population\":\"q", "a\"b\\"];
        let all = odd.map(|name| serde_json::json!({ "population": name, "n": name }));
        let text = serde_json::to_string(&all).unwrap();
        let found: Vec<serde_json::Value> = serde_json::from_str(&numbered(&text)).unwrap();
        let wanted = odd.iter().zip(["0", "1", "0"]);
        let wanted = wanted.map(|(n, number)| serde_json::json!({ "population": number, "n": n }));
        assert_eq!(found, wanted.collect::<Vec<_>>());
        assert_eq!(numbered("[]"), "[]");
    }
}
