//! Which intervals are wanted.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::error::Refusal;

/// The level of an interval: the percentage of releases in which it holds the value without noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level(f64);

impl Level {
    /// 95 %.
    pub const USUAL: Self = Self(95.0);

    /// The probability with which an interval may miss.
    pub(crate) fn outside(self) -> f64 {
        1.0 - self.0 / 100.0
    }

    /// In percent.
    pub fn percent(self) -> f64 {
        self.0
    }
}

impl FromStr for Level {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let percent = text.trim().parse().ok().filter(|p| (50.0..=99.9).contains(p));
        percent.map(Self).ok_or_else(|| {
            Refusal::new(
                format!("the level of intervals, {text}, is no percentage from 50 to 99.9"),
                "95, which is usual",
            )
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The intervals that are wanted beside released values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalsWanted {
    /// Their level.
    pub level: Level,
    /// Whether all intervals of a release hold at once with that probability, and not each by
    /// itself.
    pub simultaneous: bool,
}

impl IntervalsWanted {
    /// The intervals of each of so many numbers, so that they miss together no more often than one
    /// of these does.
    pub fn of_each(self, many: usize) -> Self {
        if many <= 1 {
            return self;
        }
        let outside = (100.0 - self.level.0) / many as f64;
        Self { level: Level(100.0 - outside), ..self }
    }

    /// Each interval by itself, at 95 %.
    pub const USUAL: Self = Self { level: Level::USUAL, simultaneous: false };
}
