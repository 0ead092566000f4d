//! Expressions of numbers.

use super::{Expressions, PATTERNS};
use crate::pending::{Construct, pending};
use crate::spelling::{Kind, Sql, form, same, their_money, whole};

impl Expressions<'_> {
    pub(super) fn whole(&mut self, depth: u64) -> Sql {
        match self.below(26) {
            0..=3 => {
                let (a, b) = (self.of(Kind::Whole, depth), self.of(Kind::Whole, depth));
                let op = self.pick(&["+", "-", "*"]);
                form(&format!("({{0}} {op} {{1}})"), &format!("TRY({{0}} {op} {{1}})"), &[&a, &b])
            }
            4 => {
                let (a, b) = (self.of(Kind::Whole, depth), self.of(Kind::Whole, depth));
                form("DIV({0}, {1})", "TRY({0} // {1})", &[&a, &b])
            }
            5 => {
                let (a, b) = (self.of(Kind::Whole, depth), self.of(Kind::Whole, depth));
                let ours = self.pick(&["MOD({0}, {1})", "({0} % {1})"]);
                form(ours, "TRY({0} % {1})", &[&a, &b])
            }
            6 => {
                let a = self.of(Kind::Whole, depth);
                match self.below(3) {
                    0 => form("ABS({0})", "TRY(abs({0}))", &[&a]),
                    1 => form("SIGN({0})", "CAST(sign({0}) AS BIGINT)", &[&a]),
                    // DuckDB's minus before a constant of 64 bits may give one of 128.
                    _ => form("(-{0})", "TRY(CAST('0' AS BIGINT) - {0})", &[&a]),
                }
            }
            7 => same("LENGTH({0})", &[&self.of(Kind::Words, depth)]),
            8 => {
                let (a, b) = (self.of(Kind::Words, depth), self.leaf(Kind::Words));
                let ours = self.pick(&["STRPOS({0}, {1})", "POSITION({1} IN {0})"]);
                form(ours, "instr({0}, {1})", &[&a, &b])
            }
            9 => form("CAST({0} AS INT64)", "whole_of({0})", &[&self.of(Kind::Real, depth)]),
            10 => form(
                "CAST({0} AS INT64)",
                "TRY_CAST({0} AS BIGINT)",
                &[&self.of(Kind::Money, depth)],
            ),
            11 => {
                form("CAST({0} AS INT64)", "CAST({0} AS BIGINT)", &[&self.of(Kind::Truth, depth)])
            }
            12 | 13 => {
                let cast =
                    self.pick(&["CAST({0} AS INT64)", "SAFE_CAST({0} AS INT64)", "{0}::INT64"]);
                form(cast, "whole_in({0})", &[&self.of(Kind::Words, depth)])
            }
            14..=17 => self.date_part(depth),
            18 => {
                let (a, b) = (self.of(Kind::Day, depth), self.of(Kind::Day, depth));
                form("({0} - {1})", "date_diff('day', {1}, {0})", &[&a, &b])
            }
            19 | 20 => self.difference(depth),
            21 => {
                let pattern = self.pick(&PATTERNS);
                let pattern = self.constant(pattern);
                let a = self.of(Kind::Words, depth);
                form("REGEXP_COUNT({0}, {1})", "len(regexp_extract_all({0}, {1}))", &[&a, &pattern])
            }
            22 => {
                let a = self.of(Kind::Real, depth);
                form(
                    "WIDTH_BUCKET({0}, -4, 12, 8)",
                    "CAST(CASE WHEN {0} < -4 THEN 0 WHEN {0} >= 12 THEN 9 \
                     ELSE floor(({0} + 4) / 2) + 1 END AS BIGINT)",
                    &[&a],
                )
            }
            23 => {
                let a = self.of(Kind::Whole, depth);
                form(
                    "RANGE_BUCKET({0}, [-3, 0, 0, 7])",
                    "(CAST({0} >= -3 AS BIGINT) + 2 * CAST({0} >= 0 AS BIGINT) \
                     + CAST({0} >= 7 AS BIGINT))",
                    &[&a],
                )
            }
            _ => {
                let (a, b) = (self.of(Kind::Whole, depth), self.leaf(Kind::Whole));
                form("({0} + {1})", "TRY({0} + {1})", &[&a, &b])
            }
        }
    }

    pub(super) fn real(&mut self, depth: u64) -> Sql {
        match self.below(20) {
            0..=3 => {
                let (a, b) = (self.of(Kind::Real, depth), self.of(Kind::Real, depth));
                let op = self.pick(&["+", "-", "*"]);
                form(&format!("({{0}} {op} {{1}})"), &format!("fin({{0}} {op} {{1}})"), &[&a, &b])
            }
            4 | 5 => {
                let kinds = [Kind::Real, Kind::Whole, Kind::Money];
                let (a, b) = (self.pick(&kinds), self.pick(&kinds));
                let (a, b) = (self.of(a, depth), self.of(b, depth));
                let ours = self.pick(&["({0} / {1})", "SAFE_DIVIDE({0}, {1})"]);
                form(ours, "quotient(CAST({0} AS DOUBLE), CAST({1} AS DOUBLE))", &[&a, &b])
            }
            6..=8 => {
                let a = self.of(Kind::Real, depth);
                let (ours, theirs) = self.pick(&[
                    ("FLOOR({0})", "fin(floor({0}))"),
                    ("CEIL({0})", "fin(ceil({0}))"),
                    ("TRUNC({0})", "fin(trunc({0}))"),
                    ("ROUND({0})", "fin(round({0}))"),
                    ("ROUND({0}, 1)", "fin(round({0}, 1))"),
                    ("ROUND({0}, 3)", "fin(round({0}, 3))"),
                    ("ROUND({0}, -2)", "fin(round({0}, -2))"),
                    ("ABS({0})", "fin(abs({0}))"),
                    ("(-{0})", "fin(-{0})"),
                    ("SIGN({0})", "CAST(sign({0}) AS DOUBLE)"),
                ]);
                form(ours, theirs, &[&a])
            }
            9..=11 => {
                let a = self.of(Kind::Real, depth);
                let growing = if pending(Construct::Infinity) { 2 } else { 0 };
                let forms = [
                    ("SQRT({0})", "CASE WHEN {0} >= 0 THEN fin(sqrt({0})) END"),
                    ("LN({0})", "CASE WHEN {0} > 0 THEN fin(ln({0})) END"),
                    ("LOG({0})", "CASE WHEN {0} > 0 THEN fin(ln({0})) END"),
                    ("LOG10({0})", "CASE WHEN {0} > 0 THEN fin(log10({0})) END"),
                    (
                        "LOG2({0})",
                        "CASE WHEN {0} > 0 THEN fin(ln({0}) / ln(CAST(2 AS DOUBLE))) END",
                    ),
                    ("EXP({0})", "fin(exp({0}))"),
                    ("POWER({0}, 2)", "fin(power({0}, CAST(2 AS DOUBLE)))"),
                ];
                let (ours, theirs) = self.pick(&forms[..forms.len() - growing]);
                form(ours, theirs, &[&a])
            }
            12 if !pending(Construct::Infinity) => {
                let (a, b) = (self.of(Kind::Real, depth), self.leaf(Kind::Real));
                form("POWER({0}, {1})", "fin(power({0}, {1}))", &[&a, &b])
            }
            13 => {
                let (a, b) = (self.of(Kind::Real, depth), self.leaf(Kind::Real));
                form(
                    "LOG({0}, {1})",
                    "CASE WHEN {0} > 0 AND {1} > 0 THEN quotient(ln({0}), ln({1})) END",
                    &[&a, &b],
                )
            }
            14 | 15 => {
                form("CAST({0} AS FLOAT64)", "CAST({0} AS DOUBLE)", &[&self.of(Kind::Whole, depth)])
            }
            16 => {
                form("CAST({0} AS FLOAT64)", "CAST({0} AS DOUBLE)", &[&self.of(Kind::Money, depth)])
            }
            17 | 18 => {
                form("SAFE_CAST({0} AS FLOAT64)", "real_in({0})", &[&self.of(Kind::Words, depth)])
            }
            _ => {
                let (a, b) = (self.of(Kind::Whole, depth), self.of(Kind::Real, depth));
                let op = self.pick(&["+", "-", "*"]);
                let theirs = format!("fin(CAST({{0}} AS DOUBLE) {op} {{1}})");
                form(&format!("({{0}} {op} {{1}})"), &theirs, &[&a, &b])
            }
        }
    }

    pub(super) fn money(&mut self, depth: u64) -> Sql {
        match self.below(8) {
            0 | 1 => {
                let (a, b) = (self.of(Kind::Money, depth), self.leaf(Kind::Money));
                let op = self.pick(&["+", "-"]);
                form(
                    &format!("({{0}} {op} {{1}})"),
                    &their_money(&format!("{{0}} {op} {{1}}")),
                    &[&a, &b],
                )
            }
            2 => {
                let a = self.of(Kind::Money, depth);
                match self.below(2) {
                    0 => form("ABS({0})", &their_money("abs({0})"), &[&a]),
                    _ => form("(-{0})", &their_money("-{0}"), &[&a]),
                }
            }
            3 => {
                let (a, b) = (self.of(Kind::Money, depth), self.leaf(Kind::Money));
                form("MOD({0}, {1})", &their_money("TRY({0} % {1})"), &[&a, &b])
            }
            4 => {
                let n = self.small(-9, 9);
                let (a, n) = (self.of(Kind::Money, depth), whole(n));
                form("({0} * {1})", &their_money("{0} * CAST({1} AS DECIMAL(2, 0))"), &[&a, &n])
            }
            5 => {
                let n = self.small(-9, 9);
                form("CAST({0} AS NUMERIC(20, 2))", &their_money("{0}"), &[&whole(n)])
            }
            6 => {
                let (a, b) = (self.leaf(Kind::Money), self.leaf(Kind::Money));
                form(
                    "CAST({0} * {1} AS NUMERIC(20, 2))",
                    &their_money("CAST({0} AS DECIMAL(18, 2)) * CAST({1} AS DECIMAL(18, 2))"),
                    &[&a, &b],
                )
            }
            _ => {
                let a = self.of(Kind::Words, depth);
                form("SAFE_CAST({0} AS NUMERIC(20, 2))", "money_in({0})", &[&a])
            }
        }
    }
}
