//! Expressions of texts.

use super::{Expressions, GROUPS, PATTERNS};
use crate::spelling::{Kind, Sql, form, same};

impl Expressions<'_> {
    pub(super) fn words(&mut self, depth: u64) -> Sql {
        match self.below(25) {
            0 | 1 => {
                let (a, b) = (self.of(Kind::Words, depth), self.of(Kind::Words, depth));
                let ours = self.pick(&["({0} || {1})", "CONCAT({0}, {1})"]);
                form(ours, "({0} || {1})", &[&a, &b])
            }
            2..=4 => {
                let a = self.of(Kind::Words, depth);
                let (ours, theirs) = self.pick(&[
                    ("UPPER({0})", "upper(replace({0}, 'ß', 'ss'))"),
                    ("LOWER({0})", "lower({0})"),
                    ("REVERSE({0})", "backwards({0})"),
                    ("TRIM({0})", "trim({0}, white())"),
                    ("LTRIM({0})", "ltrim({0}, white())"),
                    ("RTRIM({0})", "rtrim({0}, white())"),
                ]);
                form(ours, theirs, &[&a])
            }
            5..=7 => {
                let a = self.of(Kind::Words, depth);
                let (n, m) = (self.small(1, 4), self.small(0, 4));
                let from_end = format!("SUBSTR({{0}}, -{n}, {m})");
                let ours = match self.below(6) {
                    4 => format!("SUBSTR({{0}}, -{n})"),
                    5 => {
                        // The other engine counts characters before the first one.
                        let theirs = format!("left(right({{0}}, {n}), {m})");
                        return form(&from_end, &theirs, &[&a]);
                    }
                    0 => format!("SUBSTR({{0}}, {n})"),
                    1 => format!("SUBSTR({{0}}, {n}, {m})"),
                    2 => format!("LEFT({{0}}, {m})"),
                    _ => format!("RIGHT({{0}}, {m})"),
                };
                same(&ours, &[&a])
            }
            8 => {
                let (a, with) = (self.of(Kind::Words, depth), self.pick(&["*", "ab", "é"]));
                let (name, n) = (self.pick(&["LPAD", "RPAD"]), self.small(0, 7));
                same(&format!("{name}({{0}}, {n}, '{with}')"), &[&a])
            }
            9 => {
                let a = self.of(Kind::Words, depth);
                let (from, to) = (self.pick(&["a", "b", "\\", " ", "ab"]), self.word());
                let from = self.constant(from);
                same("REPLACE({0}, {1}, {2})", &[&a, &from, &to])
            }
            10 => {
                let a = self.of(Kind::Words, depth);
                let by = self.pick(&[" ", "a", ".", "\\", "-"]);
                let by = self.constant(by);
                let n = self.pick(&[1, 2, 3, -1, -2]);
                same(&format!("SPLIT_PART({{0}}, {{1}}, {n})"), &[&a, &by])
            }
            11 => {
                let a = self.of(Kind::Words, depth);
                let n = self.small(0, 2);
                let theirs = format!("string_split({{0}}, ' ')[{}]", n + 1);
                form(&format!("SPLIT({{0}}, ' ')[OFFSET({n})]"), &theirs, &[&a])
            }
            12 => {
                let a = self.of(Kind::Words, depth);
                let pattern = self.pick(&PATTERNS[..7]);
                let pattern = self.constant(pattern);
                let theirs =
                    "CASE WHEN regexp_matches({0}, {1}) THEN regexp_extract({0}, {1}, 0) END";
                form("REGEXP_EXTRACT({0}, {1})", theirs, &[&a, &pattern])
            }
            13 => {
                let a = self.of(Kind::Words, depth);
                let pattern = self.pick(&GROUPS);
                let pattern = self.constant(pattern);
                let theirs =
                    "CASE WHEN regexp_matches({0}, {1}) THEN regexp_extract({0}, {1}, 1) END";
                form("REGEXP_EXTRACT({0}, {1})", theirs, &[&a, &pattern])
            }
            14 | 15 => {
                let a = self.of(Kind::Words, depth);
                let pattern = self.pick(&GROUPS);
                let pattern = self.constant(pattern);
                let with = self.pick(&["-", "", "<\\1>", "\\0\\0", "\\\\"]);
                let with = self.constant(with);
                let theirs = "regexp_replace({0}, {1}, {2}, 'g')";
                form("REGEXP_REPLACE({0}, {1}, {2})", theirs, &[&a, &pattern, &with])
            }
            16 => {
                let kind = self.pick(&[Kind::Whole, Kind::Truth, Kind::Money, Kind::Day]);
                let a = self.of(kind, depth);
                form("CAST({0} AS STRING)", "CAST({0} AS VARCHAR)", &[&a])
            }
            17 | 18 => {
                let kind = self.pick(&[Kind::Day, Kind::Moment]);
                let a = self.of(kind, depth);
                let (ours, theirs) = self.pick(&[
                    ("%Y-%m", "%Y-%m"),
                    ("%G-%V", "%G-%V"),
                    ("%F", "%Y-%m-%d"),
                    ("%j %a %b %y", "%j %a %b %y"),
                    ("%A, %d %B", "%A, %d %B"),
                    ("%u %w %U", "%u %w %U"),
                ]);
                let ours = format!("FORMAT_DATE('{ours}', {{0}})");
                form(&ours, &format!("strftime({{0}}, '{theirs}')"), &[&a])
            }
            22 => {
                let a = self.of(Kind::Words, depth);
                let name = self.pick(&["TRIM", "LTRIM", "RTRIM"]);
                let of = self.word();
                same(&format!("{name}({{0}}, {{1}})"), &[&a, &of])
            }
            23 => {
                let a = self.of(Kind::Words, depth);
                let from = self.pick(&["ab", "a-é", " \\", "日A1"]);
                let to = self.pick(&["x", "", "éa", "zzzz"]);
                let (from, to) = (self.constant(from), self.constant(to));
                same("TRANSLATE({0}, {1}, {2})", &[&a, &from, &to])
            }
            24 => {
                let (a, b) = (self.of(Kind::Words, depth), self.of(Kind::Words, depth));
                let between = self.leaf(Kind::Words);
                same("CONCAT_WS({0}, {1}, {2})", &[&between, &a, &b])
            }
            19 => same("DAYNAME({0})", &[&self.of(Kind::Day, depth)]),
            20 => {
                let a = self.of(Kind::Moment, depth);
                form(
                    "FORMAT_TIMESTAMP('%H:%M:%S %p %I', {0})",
                    "strftime({0}, '%H:%M:%S %p %I')",
                    &[&a],
                )
            }
            _ => same("MONTHNAME({0})", &[&self.of(Kind::Day, depth)]),
        }
    }
}
