//! The intervals that a query requests.

use std::fmt;
use std::str::FromStr;

use hushtable_lang::Refusal;
use serde::{Deserialize, Serialize};

/// The level of an interval: the percentage of releases in which it holds the value without noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Level(f64);

impl Level {
    /// 95 %.
    pub const USUAL: Self = Self(95.0);

    /// The probability with which an interval may miss.
    pub fn outside(self) -> f64 {
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
        let percent = text.trim().parse::<f64>().ok();
        percent.and_then(|percent| Self::try_from(percent).ok()).ok_or_else(|| {
            Refusal::new(
                format!("the level of intervals {text} is not a percentage from 50 to 99.9"),
                "use 95, which is usual",
            )
        })
    }
}

impl TryFrom<f64> for Level {
    type Error = &'static str;

    fn try_from(percent: f64) -> Result<Self, &'static str> {
        let is_level = (50.0..=99.9).contains(&percent);
        is_level.then_some(Self(percent)).ok_or("a level of intervals is from 50 to 99.9")
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The columns of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// Released values alone.
    Values,
    /// Released values, each with its interval.
    Intervals,
}

impl ReportFormat {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Values, Self::Intervals];
}

impl fmt::Display for ReportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Values => "VALUES",
            Self::Intervals => "INTERVALS",
        })
    }
}

/// The intervals to compute beside released values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalRequest {
    /// Their level.
    pub level: Level,
    /// Whether all intervals of a release hold at once with that probability, and not each by
    /// itself.
    pub simultaneous: bool,
}

impl IntervalRequest {
    /// The intervals of each of that many numbers, so that they miss together no more often than
    /// one of these does.
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
