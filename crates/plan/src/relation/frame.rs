//! Frames of windows: the rows that a window's value is of.

use hushtable_lang::ColumnType;
use serde::{Deserialize, Serialize};

/// Rows around a row of a window, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowFrame {
    /// The first of them.
    pub start: FrameEnd,
    /// The last of them.
    pub end: FrameEnd,
}

/// An end of the rows of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameEnd {
    /// The first or the last row of the partition.
    Open,
    /// The row at that distance: behind the row, or before it where the number is below zero.
    Rows(i32),
    /// The row's peers: the rows with its values in the order.
    Peers,
    /// The rows whose value in the order comes before the row's by that distance.
    Before(Distance),
    /// The rows whose value in the order comes after the row's by that distance.
    After(Distance),
}

/// A distance of two values in the order of a window, not below zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    /// Of integers, or of decimals in units of their last digit.
    Digits(i64),
    /// Of floats.
    Float(f64),
    /// Of dates and timestamps.
    Time {
        /// Months of the calendar.
        months: i32,
        /// Days beside them.
        days: i32,
        /// Microseconds beside both.
        micros: i64,
    },
}

impl Distance {
    /// Largest number of months: no sum of a date and a distance leaves Arrow's type.
    const LARGEST_MONTHS: i32 = 12 * 9_999;
    /// Largest number of days, likewise.
    const LARGEST_DAYS: i32 = 366 * 9_999;
    const DAY: i64 = 86_400_000_000;

    /// A distance of months and microseconds; `None` where it has too many of them.
    pub fn of_time(months: i64, micros: i64) -> Option<Self> {
        Some(Self::Time {
            months: i32::try_from(months).ok()?,
            days: i32::try_from(micros.div_euclid(Self::DAY)).ok()?,
            micros: micros.rem_euclid(Self::DAY),
        })
    }

    /// Whether values of a type have such distances.
    pub fn fits(self, column_type: ColumnType) -> bool {
        use ColumnType as T;
        match self {
            Self::Digits(digits) => {
                matches!(column_type, T::Int | T::Decimal { .. }) && digits >= 0
            }
            Self::Float(distance) => {
                column_type == T::Float && distance.is_finite() && distance >= 0.0
            }
            Self::Time { months, days, micros } => {
                let of_day = if column_type == T::Date { 0..1 } else { 0..Self::DAY };
                matches!(column_type, T::Date | T::Timestamp)
                    && (0..=Self::LARGEST_MONTHS).contains(&months)
                    // A month before is the last of February for several days, at the time of
                    // each: later moments would have earlier ones before them.
                    && (months == 0 || column_type == T::Date)
                    && (0..=Self::LARGEST_DAYS).contains(&days)
                    && of_day.contains(&micros)
            }
        }
    }

    /// Whether a distance is at most another one, from wherever it is taken.
    fn within(self, other: Self) -> bool {
        match (self, other) {
            (Self::Digits(one), Self::Digits(other)) => one <= other,
            (Self::Float(one), Self::Float(other)) => one <= other,
            (
                Self::Time { months, days, micros },
                Self::Time { months: other_months, days: other_days, micros: other_micros },
            ) => {
                let longest = 31 * i64::from(months) + i64::from(days) + i64::from(micros > 0);
                let shortest = 28 * i64::from(other_months) + i64::from(other_days);
                months <= other_months && (days, micros) <= (other_days, other_micros)
                    || longest <= shortest
            }
            _ => false,
        }
    }
}

impl RowFrame {
    /// Whether an end is a distance of values.
    pub fn has_distances(&self) -> bool {
        self.distances().next().is_some()
    }

    /// The distances of its ends.
    pub(super) fn distances(&self) -> impl Iterator<Item = Distance> {
        [self.start, self.end].into_iter().filter_map(|end| match end {
            FrameEnd::Before(distance) | FrameEnd::After(distance) => Some(distance),
            FrameEnd::Open | FrameEnd::Rows(_) | FrameEnd::Peers => None,
        })
    }

    /// Whether no row of any partition has its first row behind its last one.
    pub(crate) fn is_forward(&self) -> bool {
        use FrameEnd as E;
        match (self.start, self.end) {
            (E::Rows(start), E::Rows(end)) => start <= end,
            (E::Before(start), E::Before(end)) => end.within(start),
            (E::After(start), E::After(end)) => start.within(end),
            (E::Open, _) | (_, E::Open) | (E::Before(_) | E::Peers, E::Peers | E::After(_)) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(days: i32) -> Distance {
        Distance::Time { months: 0, days, micros: 0 }
    }

    #[test]
    fn a_frame_starts_before_it_ends_for_every_row() {
        use FrameEnd as E;
        let month = Distance::Time { months: 1, days: 0, micros: 0 };
        let both = Distance::Time { months: 1, days: 30, micros: 0 };
        for (start, end, forward) in [
            (E::Open, E::Before(days(7)), true),
            (E::Before(days(7)), E::Before(days(2)), true),
            (E::Before(days(2)), E::Before(days(7)), false),
            (E::After(days(2)), E::After(days(7)), true),
            (E::Before(days(2)), E::Peers, true),
            (E::Peers, E::Before(days(2)), false),
            (E::After(days(2)), E::Peers, false),
            // Some months are shorter than 30 days.
            (E::Before(month), E::Before(days(30)), false),
            (E::Before(both), E::Before(days(30)), true),
            (E::Before(month), E::Before(days(28)), true),
            (E::After(month), E::After(days(31)), true),
            (E::After(month), E::After(days(30)), false),
            (E::Before(days(31)), E::Before(month), true),
            (E::Before(days(30)), E::Before(month), false),
            (E::Rows(-1), E::Peers, false),
        ] {
            assert_eq!(RowFrame { start, end }.is_forward(), forward, "{start:?} {end:?}");
        }
    }

    #[test]
    fn distances_are_of_their_type_and_in_range() {
        use ColumnType as T;
        let time = Distance::of_time(0, 90_000_000_000).unwrap();
        assert_eq!(time, Distance::Time { months: 0, days: 1, micros: 3_600_000_000 });
        assert!(time.fits(T::Timestamp) && !time.fits(T::Date));
        assert!(days(7).fits(T::Date) && !days(-7).fits(T::Date) && !days(7).fits(T::Int));
        assert!(Distance::Digits(i64::MAX).fits(T::Decimal { scale: 9 }));
        assert!(!Distance::Digits(-1).fits(T::Int));
        assert!(Distance::Float(0.5).fits(T::Float) && !Distance::Float(f64::NAN).fits(T::Float));
        let month = Distance::of_time(1, 0).unwrap();
        assert!(month.fits(T::Date) && !month.fits(T::Timestamp));
        assert_eq!(Distance::of_time(i64::MAX, 0), None);
    }
}
