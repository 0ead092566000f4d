//! Round moments on a chart's axis, and where a line through moments has a gap.

use crate::render::cell::{civil, date, month_start};

const DAY: i128 = 86_400_000_000;
const MINUTE: i128 = 60_000_000;

/// Most moments that are marked: the longer their texts, the fewer.
const MOST_MONTHS: i128 = 12;
const MOST_DAYS: i128 = 8;
const MOST_TIMES: i128 = 6;

/// A step of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CalendarStep {
    /// Microseconds.
    Micros(i128),
    Days(i128),
    Months(i128),
}

use CalendarStep::{Days, Micros, Months};

/// Steps between marks, from short to long. Longer ones are whole millennia.
const STEPS: [CalendarStep; 27] = [
    Micros(1_000_000),
    Micros(5_000_000),
    Micros(15_000_000),
    Micros(30_000_000),
    Micros(MINUTE),
    Micros(5 * MINUTE),
    Micros(15 * MINUTE),
    Micros(30 * MINUTE),
    Micros(60 * MINUTE),
    Micros(180 * MINUTE),
    Micros(360 * MINUTE),
    Micros(720 * MINUTE),
    Days(1),
    Days(2),
    Days(7),
    Days(14),
    Months(1),
    Months(3),
    Months(6),
    Months(12),
    Months(24),
    Months(60),
    Months(120),
    Months(240),
    Months(600),
    Months(1_200),
    Months(12_000),
];

/// Moments, in microseconds since 1970, rising and each once.
pub(super) struct Moments(Vec<i128>);

impl Moments {
    pub(super) fn new(mut moments: Vec<i128>) -> Self {
        moments.sort_unstable();
        moments.dedup();
        Self(moments)
    }

    /// Whether all are midnights, and whether all are the first of a month.
    fn are_days_or_months(&self) -> (bool, bool) {
        let days = self.0.iter().all(|at| at.rem_euclid(DAY) == 0);
        (days, days && self.0.iter().all(|at| civil(days_of(*at)).2 == 1))
    }

    /// Round moments between the first and the last, with their texts, at equal steps of the
    /// calendar; positions are days since 1970.
    pub(super) fn marks(&self) -> Vec<(f64, String)> {
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return Vec::new() };
        let (are_days, are_months) = self.are_days_or_months();
        let suits = |step: &&CalendarStep| match step {
            Micros(_) => !are_days,
            Days(_) => !are_months,
            Months(_) => true,
        };
        let week = self.step(DAY).is_some_and(|step| step % 7 == 0);
        for step in STEPS.iter().filter(suits) {
            let most = match step {
                Micros(_) => MOST_TIMES,
                Days(_) => MOST_DAYS,
                Months(_) => MOST_MONTHS,
            };
            let Some(marks) = step.between(*first, *last, week, most) else { continue };
            if !marks.is_empty() {
                return marks.into_iter().map(|at| (in_days(at), step.text(at))).collect();
            }
        }
        vec![(in_days(*first), text(*first))]
    }

    /// The largest step of which all distances between the moments are multiples.
    fn step(&self, unit: i128) -> Option<i128> {
        let index = |at: &i128| at.div_euclid(unit);
        self.step_of(index)
    }

    fn step_of(&self, index: impl Fn(&i128) -> i128) -> Option<i128> {
        let distances = self.0.windows(2).map(|pair| index(&pair[1]) - index(&pair[0]));
        distances.reduce(greatest_divisor).filter(|step| *step > 0)
    }

    /// Whether a moment follows another one at the step that all have: none is missing between.
    pub(super) fn follows(&self) -> impl Fn(i128, i128) -> bool + use<> {
        let (_, are_months) = self.are_days_or_months();
        let step = if are_months { self.step_of(month) } else { self.step(1) };
        move |before, after| {
            let index = |at: &i128| if are_months { month(at) } else { *at };
            step.is_none_or(|step| index(&after) - index(&before) <= step)
        }
    }
}

impl CalendarStep {
    /// The multiples of the step from one moment to another; `None` if they are more than `most`.
    /// Weeks begin with the first moment where all are `weekly`, and else on Mondays.
    fn between(self, first: i128, last: i128, weekly: bool, most: i128) -> Option<Vec<i128>> {
        let (step, from, to) = match self {
            Micros(step) => (step, first, last),
            Days(step) => (step, first.div_euclid(DAY), last.div_euclid(DAY)),
            Months(step) => (step, month(&first), month(&last)),
        };
        let anchor = match self {
            Days(2) => from,
            Days(7 | 14) if weekly => from,
            // 1970 began with a Thursday.
            Days(7 | 14) => 4,
            _ => 0,
        };
        let beginning = match self {
            // A day or a month that has begun before the first moment is not marked.
            Months(_) if start(from) < first => from + 1,
            Days(_) if from * DAY < first => from + 1,
            _ => from,
        };
        let least = (beginning - anchor + step - 1).div_euclid(step);
        let count = (to - anchor).div_euclid(step) - least + 1;
        let at = |index: i128| {
            let at = anchor + (least + index) * step;
            match self {
                Micros(_) => at,
                Days(_) => at * DAY,
                Months(_) => start(at),
            }
        };
        (count <= most).then(|| (0..count).map(at).collect())
    }

    fn text(self, at: i128) -> String {
        let date = date(days_of(at));
        let without =
            |parts: usize| date.rsplitn(parts + 1, '-').last().unwrap_or(&date).to_owned();
        match self {
            Micros(_) => text(at),
            Days(_) => date,
            Months(step) if step % 12 == 0 => without(2),
            Months(_) => without(1),
        }
    }
}

/// A moment with its time of day, where it has one.
fn text(at: i128) -> String {
    let date = date(days_of(at));
    let seconds = at.rem_euclid(DAY) / 1_000_000;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (seconds, second) {
        (0, _) => date,
        (_, 0) => format!("{date} {hour:02}:{minute:02}"),
        _ => format!("{date} {hour:02}:{minute:02}:{second:02}"),
    }
}

/// The month, counted from the year 0 on.
fn month(at: &i128) -> i128 {
    let (year, month, _) = civil(days_of(*at));
    i128::from(12 * year + month - 1)
}

/// The beginning of a month.
fn start(month: i128) -> i128 {
    i128::from(month_start(month as i64)) * DAY
}

/// The day, counted from 1970 on.
fn days_of(at: i128) -> i64 {
    at.div_euclid(DAY) as i64
}

/// Days since 1970, with their part of a day.
pub(super) fn in_days(at: i128) -> f64 {
    at as f64 / DAY as f64
}

fn greatest_divisor(one: i128, other: i128) -> i128 {
    let (mut one, mut other) = (one, other);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(moments: impl IntoIterator<Item = i128>) -> String {
        let marks = Moments::new(moments.into_iter().collect()).marks();
        let texts: Vec<String> = marks.into_iter().map(|(_, text)| text).collect();
        texts.join(" ")
    }

    #[test]
    fn marks_are_at_equal_steps_of_the_calendar() {
        // 2024-01-01 is day 19,723, a Monday.
        let day = |n: i128| (19_723 + n) * DAY;
        let months = |from: i128, to: i128| (from..to).map(|m| start(12 * 2024 + m));
        for (moments, expected) in [
            (vec![day(3)], "2024-01-04"),
            ((0..5).map(day).collect(), "2024-01-01 2024-01-02 2024-01-03 2024-01-04 2024-01-05"),
            ((2..38).map(day).collect(), "2024-01-08 2024-01-15 2024-01-22 2024-01-29 2024-02-05"),
            // Weeks that begin on Sundays.
            (
                (0..4).map(|n| day(6 + 7 * n)).collect(),
                "2024-01-07 2024-01-14 2024-01-21 2024-01-28",
            ),
            ((1..130).map(day).collect(), "2024-02 2024-03 2024-04 2024-05"),
            (
                (0..366).map(day).collect(),
                "2024-01 2024-02 2024-03 2024-04 2024-05 2024-06 2024-07 2024-08 2024-09 2024-10 \
                 2024-11 2024-12",
            ),
            (months(0, 2).collect(), "2024-01 2024-02"),
            (
                months(0, 24).collect(),
                "2024-01 2024-04 2024-07 2024-10 2025-01 2025-04 2025-07 2025-10",
            ),
            (months(-36, 60).step_by(12).collect(), "2021 2022 2023 2024 2025 2026 2027 2028"),
            (
                months(-1_200, 12).step_by(12).collect(),
                "1930 1940 1950 1960 1970 1980 1990 2000 2010 2020",
            ),
            (
                (0..24).map(|hour| day(0) + 60 * MINUTE * hour).collect(),
                "2024-01-01 2024-01-01 06:00 2024-01-01 12:00 2024-01-01 18:00",
            ),
            (vec![day(0) + 5, day(0) + 7], "2024-01-01"),
        ] {
            assert_eq!(marks(moments), expected);
        }
        assert_eq!(marks([]), "");
        assert!(!marks([-(1 << 67), 1 << 67]).is_empty());
    }

    #[test]
    fn a_missing_moment_is_a_gap() {
        let follows = |moments: &[i128], before, after| {
            Moments::new(moments.to_vec()).follows()(before, after)
        };
        let days = [DAY, 2 * DAY, 4 * DAY];
        assert!(follows(&days, DAY, 2 * DAY));
        assert!(!follows(&days, 2 * DAY, 4 * DAY));
        let [january, february, march, may] = [0, 1, 2, 4].map(start);
        let months = [january, february, march, may];
        assert!(follows(&months, january, february) && follows(&months, february, march));
        assert!(!follows(&months, march, may));
        // All of what there is.
        assert!(follows(&[january, may], january, may));
        assert!(follows(&[january], january, january));
    }
}
