//! Expressions of dates and timestamps, and of date parts.

use super::Expressions;
use crate::pending::{Construct, pending};
use crate::spelling::{Kind, Sql, form, whole};

impl Expressions<'_> {
    /// A date part of a date or a timestamp.
    pub(super) fn date_part(&mut self, depth: u64) -> Sql {
        let timed = self.below(3) == 0;
        let a = self.of(if timed { Kind::Moment } else { Kind::Day }, depth);
        if timed && self.below(2) == 0 {
            let date_part = self.pick(&["HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"]);
            let theirs = match date_part {
                // Theirs count from the start of the minute.
                "MILLISECOND" | "MICROSECOND" => {
                    let most = if date_part == "MILLISECOND" { 1_000 } else { 1_000_000 };
                    format!("(date_part('{date_part}', {{0}}) % {most})")
                }
                _ => format!("date_part('{date_part}', {{0}})"),
            };
            return form(&format!("EXTRACT({date_part} FROM {{0}})"), &theirs, &[&a]);
        }
        let (ours, theirs) = self.pick(&[
            ("EXTRACT(YEAR FROM {0})", "date_part('year', {0})"),
            ("YEAR({0})", "date_part('year', {0})"),
            ("EXTRACT(MONTH FROM {0})", "date_part('month', {0})"),
            ("EXTRACT(DAY FROM {0})", "date_part('day', {0})"),
            ("EXTRACT(QUARTER FROM {0})", "date_part('quarter', {0})"),
            ("EXTRACT(DAYOFWEEK FROM {0})", "(date_part('dow', {0}) + 1)"),
            ("DATE_PART('dow', {0})", "date_part('dow', {0})"),
            ("EXTRACT(ISODOW FROM {0})", "date_part('isodow', {0})"),
            ("EXTRACT(DAYOFYEAR FROM {0})", "date_part('doy', {0})"),
            ("EXTRACT(ISOYEAR FROM {0})", "date_part('isoyear', {0})"),
            ("EXTRACT(ISOWEEK FROM {0})", "date_part('week', {0})"),
            ("DATE_PART('week', {0})", "date_part('week', {0})"),
            ("EXTRACT(WEEK FROM {0})", "CAST(strftime({0}, '%U') AS BIGINT)"),
            // Of whole microseconds: as a float, the last second of 9999 is the next year's first.
            (
                "EXTRACT(EPOCH FROM {0})",
                "((epoch_us({0}) - (epoch_us({0}) % 1000000 + 1000000) % 1000000) // 1000000)",
            ),
        ]);
        form(ours, theirs, &[&a])
    }

    pub(super) fn difference(&mut self, depth: u64) -> Sql {
        let timed = self.below(3) == 0;
        let kind = if timed { Kind::Moment } else { Kind::Day };
        let (a, b) = (self.of(kind, depth), self.of(kind, depth));
        if timed && self.below(2) == 0 {
            let date_part = self.pick(&["HOUR", "MINUTE", "SECOND", "DAY"]);
            let whole = self.below(2) == 0;
            let (ours, theirs) = if whole {
                // Whole spans, not boundaries.
                (format!("TIMESTAMP_DIFF({{0}}, {{1}}, {date_part})"), "date_sub")
            } else {
                (format!("DATE_DIFF({{0}}, {{1}}, {date_part})"), "date_diff")
            };
            return form(&ours, &format!("{theirs}('{date_part}', {{1}}, {{0}})"), &[&a, &b]);
        }
        let date_part = self.pick(&["YEAR", "QUARTER", "MONTH", "DAY", "ISOWEEK", "WEEK"]);
        let theirs = match date_part {
            // Theirs count weeks before 1970 otherwise.
            "ISOWEEK" => "monday_weeks({1}, {0})".to_owned(),
            // Weeks that begin on Sunday.
            "WEEK" => "sunday_weeks({1}, {0})".to_owned(),
            _ => format!("date_diff('{date_part}', {{1}}, {{0}})"),
        };
        form(&format!("DATE_DIFF({{0}}, {{1}}, {date_part})"), &theirs, &[&a, &b])
    }

    /// A span to move a date by: ours, and theirs.
    fn span(&mut self) -> (String, String) {
        let date_part = self.pick(&["DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]);
        let most = if pending(Construct::DateEnds) { 40 } else { 10_000 };
        let n = match self.below(4) {
            0 => self.small(0, most),
            _ => self.small(0, 14),
        };
        (format!("INTERVAL {n} {date_part}"), format!("INTERVAL '{n}' {date_part}"))
    }

    pub(super) fn day(&mut self, depth: u64) -> Sql {
        match self.below(10) {
            0..=2 => {
                let a = self.of(Kind::Day, depth);
                let (ours, theirs) = self.span();
                let (word, op) = self.pick(&[("DATE_ADD", "+"), ("DATE_SUB", "-")]);
                let ours = match self.below(2) {
                    0 => format!("{word}({{0}}, {ours})"),
                    _ => format!("({{0}} {op} {ours})"),
                };
                form(&ours, &format!("as_day(TRY({{0}} {op} {theirs}))"), &[&a])
            }
            3 => {
                let (a, n) = (self.of(Kind::Day, depth), self.small(0, 400));
                let op = self.pick(&["+", "-"]);
                let theirs = format!("as_day(TRY({{0}} {op} CAST({n} AS INTEGER)))");
                form(&format!("({{0}} {op} {n})"), &theirs, &[&a])
            }
            4 | 5 => {
                let a = self.of(Kind::Day, depth);
                let (ours, theirs) = self.pick(&[
                    ("DATE_TRUNC({0}, YEAR)", "as_day(date_trunc('year', {0}))"),
                    ("DATE_TRUNC({0}, QUARTER)", "as_day(date_trunc('quarter', {0}))"),
                    ("DATE_TRUNC('month', {0})", "as_day(date_trunc('month', {0}))"),
                    ("DATE_TRUNC('week', {0})", "as_day(date_trunc('week', {0}))"),
                    ("DATE_TRUNC({0}, ISOWEEK)", "as_day(date_trunc('week', {0}))"),
                    ("DATE_TRUNC({0}, WEEK)", "as_day(sunday({0}))"),
                    ("LAST_DAY({0})", "as_day(last_day({0}))"),
                ]);
                form(ours, theirs, &[&a])
            }
            6 => {
                let (mut y, m) = (self.of(Kind::Whole, depth), self.leaf(Kind::Whole));
                let d = self.leaf(Kind::Whole);
                if pending(Construct::DateEnds) {
                    y = whole(2_000 + self.small(0, 30));
                }
                form("DATE({0}, {1}, {2})", "as_day(TRY(make_date({0}, {1}, {2})))", &[&y, &m, &d])
            }
            7 => form("DATE({0})", "as_day({0})", &[&self.of(Kind::Moment, depth)]),
            8 => {
                let a = self.of(Kind::Words, depth);
                form("SAFE_CAST({0} AS DATE)", "day_in({0})", &[&a])
            }
            _ => {
                let a = self.of(Kind::Words, depth);
                form(
                    "PARSE_DATE('%Y-%m-%d', {0})",
                    "as_day(TRY(try_strptime({0}, '%Y-%m-%d')))",
                    &[&a],
                )
            }
        }
    }

    pub(super) fn moment(&mut self, depth: u64) -> Sql {
        match self.below(6) {
            0 | 1 => {
                let a = self.of(Kind::Moment, depth);
                let n = self.small(0, 100);
                let date_part = self.pick(&["SECOND", "MINUTE", "HOUR", "DAY", "MONTH"]);
                let (word, op) = self.pick(&[("TIMESTAMP_ADD", "+"), ("TIMESTAMP_SUB", "-")]);
                let theirs = format!("as_moment(TRY({{0}} {op} INTERVAL '{n}' {date_part}))");
                form(&format!("{word}({{0}}, INTERVAL {n} {date_part})"), &theirs, &[&a])
            }
            2 | 3 => {
                let a = self.of(Kind::Moment, depth);
                let date_part = self.pick(&["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"]);
                let theirs = format!("as_moment(date_trunc('{date_part}', {{0}}))");
                form(&format!("TIMESTAMP_TRUNC({{0}}, {date_part})"), &theirs, &[&a])
            }
            _ => {
                let a = self.of(Kind::Day, depth);
                form("CAST({0} AS TIMESTAMP)", "CAST({0} AS TIMESTAMP)", &[&a])
            }
        }
    }
}
