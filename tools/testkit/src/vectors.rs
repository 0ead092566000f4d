//! Values that were computed apart, with 50 digits and more.

use serde_json::Value;

/// A file of such values. Each belongs to the crate that it checks first, and others may read it.
#[derive(Clone, Copy, Debug)]
pub enum Vectors {
    /// Laws of noise.
    Noise,
    /// Losses, their composition and conversions.
    Accounting,
    /// Probabilities with which groups are kept.
    PartitionSelection,
    /// Deltas of releases without noise.
    PartialKnowledge,
}

impl Vectors {
    fn text(self) -> &'static str {
        match self {
            Self::Noise => include_str!("../../../crates/noise/tests/data/noise.json"),
            Self::Accounting => include_str!("../../../crates/privacy/tests/data/accounting.json"),
            Self::PartitionSelection => {
                include_str!("../../../crates/mechanisms/tests/data/partition_selection.json")
            }
            Self::PartialKnowledge => {
                include_str!("../../../crates/knowledge/tests/data/partial_knowledge.json")
            }
        }
    }

    /// All of a file that has no sections.
    pub fn all(self) -> Vec<Value> {
        serde_json::from_str(self.text()).unwrap()
    }

    /// The section of that name; it must not be empty.
    pub fn section(self, name: &str) -> Vec<Value> {
        let all: Value = serde_json::from_str(self.text()).unwrap();
        let section = all[name].as_array().unwrap_or_else(|| panic!("no section {name}"));
        assert!(!section.is_empty(), "{name} is empty");
        section.clone()
    }
}

/// A value, which is written as text so that no digit is lost, as the nearest double.
pub fn number(value: &Value) -> f64 {
    amount(value)
}

/// A value as one of our amounts.
pub fn amount<A: std::str::FromStr<Err: std::fmt::Debug>>(value: &Value) -> A {
    value.as_str().unwrap().parse().unwrap()
}

/// Whether two numbers are equal except for rounding: one part in a billion, or as much of 1.
pub fn near(got: f64, want: f64) -> bool {
    (got - want).abs() <= 1e-9 * want.abs().max(1.0)
}
