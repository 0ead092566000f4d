//! Where the noise of a query's measurements comes from.

use hushtable_lang::Value;
use hushtable_mechanisms::{Additive, Quantile, SumMechanism, TiedRole};
use hushtable_privacy::Loss;

use crate::drawn_together::{Joint, QuantileReach};
use crate::tie::TiedMeasurement;

/// Where a measurement's noise comes from.
#[derive(Clone, Debug)]
pub enum Noise {
    /// Noise on its sums.
    Single(SumMechanism),
    /// A mechanism for each class of groups, all at the same loss: a record is in a group of one
    /// class.
    ByClass(NoiseByClass),
    /// A draw near the quantile of the groups' values.
    Quantile(Box<Quantile>),
    /// One of several quantiles of the same values that are drawn together.
    Joint(Joint),
    /// How far the interval around a quantile reaches.
    Reach(QuantileReach),
    /// The selection's noisy count, which is paid for already.
    OfSelection,
    /// One number of a common measurement of sums and their count.
    Tied(TiedMeasurement),
}

/// The noise of groups by their class, which a group key tells.
#[derive(Clone, Debug)]
pub struct NoiseByClass {
    /// Position of the key.
    pub key: usize,
    /// The classes that have a threshold of their own.
    pub classes: Vec<(Value, SumMechanism)>,
    /// The noise of all others.
    pub others: SumMechanism,
}

impl NoiseByClass {
    /// The mechanisms in the order of their classes, that of all others last.
    pub fn all(&self) -> impl Iterator<Item = &SumMechanism> {
        self.classes.iter().map(|(_, mechanism)| mechanism).chain([&self.others])
    }

    /// The mechanism of the class at that index.
    pub fn of(&self, class: usize) -> &SumMechanism {
        self.classes.get(class).map_or(&self.others, |(_, mechanism)| mechanism)
    }
}

impl Noise {
    /// Cost of the measurement; `None` where the selection or another measurement has paid.
    pub fn loss(&self) -> Option<Loss> {
        match self {
            Self::Single(mechanism) => Some(mechanism.loss()),
            Self::ByClass(by_class) => Some(by_class.others.loss()),
            Self::Quantile(quantile) => Some(quantile.loss()),
            Self::OfSelection => None,
            Self::Joint(joint) => joint.pays().then(|| joint.draws.loss()),
            Self::Reach(reach) => reach.pays().then(|| reach.draws.loss()),
            Self::Tied(tied) => match tied.role {
                // The sums have paid.
                TiedRole::Count | TiedRole::Values(_) => None,
                TiedRole::Sum(sum) => tied.noise.noise(sum).map(Additive::loss),
            },
        }
    }

    /// The standard deviation of additive noise in lattice units, except for rounding of what is
    /// measured together; `None` for other mechanisms.
    pub fn deviation(&self) -> Option<f64> {
        match self {
            Self::Single(SumMechanism::Additive(additive)) => Some(additive.variance().sqrt()),
            Self::Tied(tied) => Some(tied.noise.deviation(tied.role)),
            _ => None,
        }
    }

    /// Whether what is released is Gaussian, or computed from what is; counts of the selection are
    /// for it to say.
    pub fn is_gaussian(&self) -> bool {
        match self {
            Self::Quantile(_) | Self::Joint(_) | Self::Reach(_) => false,
            Self::Tied(tied) => tied.noise.is_gaussian(),
            noise => noise.largest().is_none_or(SumMechanism::is_gaussian),
        }
    }

    /// Whether it is a draw near a quantile, alone or with others, or of an interval around it.
    pub fn is_quantile(&self) -> bool {
        match self {
            Self::Quantile(_) | Self::Joint(_) | Self::Reach(_) => true,
            Self::Single(_) | Self::ByClass(_) | Self::OfSelection | Self::Tied(_) => false,
        }
    }

    /// The mechanism of sums whose noise is the largest; `None` for a quantile, and where the
    /// selection gives it.
    pub fn largest(&self) -> Option<&SumMechanism> {
        match self {
            Self::Single(mechanism) => Some(mechanism),
            Self::ByClass(by_class) => {
                by_class.all().max_by(|a, b| a.scale().total_cmp(&b.scale()))
            }
            Self::Quantile(_)
            | Self::Joint(_)
            | Self::Reach(_)
            | Self::OfSelection
            | Self::Tied(_) => None,
        }
    }
}
