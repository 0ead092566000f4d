//! Wishes of a query by which its mechanisms are chosen.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum NoiseKind {
    /// Discrete Laplace, of an epsilon.
    Laplace,
    /// Rounded Gaussian, of a rho, or of an epsilon and a delta.
    Gaussian,
}

impl NoiseKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Laplace, Self::Gaussian];
}

impl fmt::Display for NoiseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Laplace => "LAPLACE",
            Self::Gaussian => "GAUSSIAN",
        })
    }
}

/// Preference of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Prefer {
    /// Neither of both.
    #[default]
    Balance,
    /// More groups: values may be off by a half.
    Groups,
    /// More precise values: they may be off by a fiftieth.
    Precision,
}

impl Prefer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Balance, Self::Groups, Self::Precision];

    /// The standard deviation of noise, as a part of the value, up to which a value is precise.
    pub fn relative_error(self) -> f64 {
        match self {
            Self::Balance => 0.1,
            Self::Groups => 0.5,
            Self::Precision => 0.02,
        }
    }

    /// Whether it is what holds where nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Prefer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Balance => "BALANCE",
            Self::Groups => "GROUPS",
            Self::Precision => "PRECISION",
        })
    }
}
