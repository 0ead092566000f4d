//! Conditions.

use super::{Expressions, LIKES, PATTERNS};
use crate::spelling::{Kind, Sql, form, same};

impl Expressions<'_> {
    fn compared(&mut self, depth: u64) -> (Sql, Sql) {
        let kind = self.kind();
        let (a, b) = (self.of(kind, depth), self.of(kind, depth));
        // Numbers of two types are compared as the wider one.
        if kind == Kind::Whole && self.below(6) == 0 {
            return (a, self.of(Kind::Real, depth));
        }
        (a, b)
    }

    pub(super) fn condition(&mut self, depth: u64) -> Sql {
        match self.below(20) {
            0..=3 => {
                let (a, b) = self.compared(depth);
                let op = self.pick(&["=", "<>", "<", "<=", ">", ">="]);
                same(&format!("({{0}} {op} {{1}})"), &[&a, &b])
            }
            4 => {
                let (a, b) = self.compared(depth);
                let not = self.pick(&["", "NOT "]);
                same(&format!("({{0}} IS {not}DISTINCT FROM {{1}})"), &[&a, &b])
            }
            5 | 6 => {
                let (a, b) = (self.of(Kind::Truth, depth), self.of(Kind::Truth, depth));
                let op = self.pick(&["AND", "OR"]);
                same(&format!("({{0}} {op} {{1}})"), &[&a, &b])
            }
            7 => same("(NOT {0})", &[&self.of(Kind::Truth, depth)]),
            8 => {
                let kind = self.kind();
                let not = self.pick(&["", "NOT "]);
                same(&format!("({{0}} IS {not}NULL)"), &[&self.of(kind, depth)])
            }
            9 => {
                let word = self.pick(&["TRUE", "FALSE", "NOT TRUE", "NOT FALSE"]);
                same(&format!("({{0}} IS {word})"), &[&self.of(Kind::Truth, depth)])
            }
            10 => {
                let kind =
                    self.pick(&[Kind::Whole, Kind::Real, Kind::Money, Kind::Words, Kind::Day]);
                let (a, b, c) = (self.of(kind, depth), self.leaf(kind), self.leaf(kind));
                let not = self.pick(&["", "NOT "]);
                same(&format!("({{0}} {not}BETWEEN {{1}} AND {{2}})"), &[&a, &b, &c])
            }
            11 | 12 => {
                let kind = self.pick(&[Kind::Whole, Kind::Words, Kind::Day, Kind::Money]);
                let (a, b) = (self.of(kind, depth), self.literal(kind));
                let (c, d) = (self.literal(kind), self.literal(kind));
                let not = self.pick(&["", "NOT "]);
                same(&format!("({{0}} {not}IN ({{1}}, {{2}}, {{3}}))"), &[&a, &b, &c, &d])
            }
            13 | 14 => self.like(depth),
            15 => {
                let a = self.of(Kind::Words, depth);
                let pattern = self.pick(&PATTERNS);
                let pattern = self.constant(pattern);
                let ours = self.pick(&["REGEXP_CONTAINS({0}, {1})", "({0} ~ {1})"]);
                form(ours, "regexp_matches({0}, {1})", &[&a, &pattern])
            }
            16 => {
                let (a, b) = (self.of(Kind::Words, depth), self.leaf(Kind::Words));
                let name = self.pick(&["STARTS_WITH", "ENDS_WITH", "CONTAINS"]);
                same(&format!("{name}({{0}}, {{1}})"), &[&a, &b])
            }
            17 => {
                let a = self.of(Kind::Whole, depth);
                form("CAST({0} AS BOOL)", "({0} <> 0)", &[&a])
            }
            18 => {
                let a = self.of(Kind::Words, depth);
                form("SAFE_CAST({0} AS BOOL)", "truth_of({0})", &[&a])
            }
            _ => same("COALESCE({0}, FALSE)", &[&self.of(Kind::Truth, depth)]),
        }
    }

    pub(super) fn like(&mut self, depth: u64) -> Sql {
        let a = self.of(Kind::Words, depth);
        let not = self.pick(&["", "NOT "]);
        let name = self.pick(&["LIKE", "ILIKE"]);
        if self.below(4) == 0 {
            let pattern = Sql::alike("'%!%%'");
            return same(&format!("({{0}} {not}{name} {{1}} ESCAPE '!')"), &[&a, &pattern]);
        }
        let pattern = self.pick(&LIKES);
        let pattern = self.constant(pattern);
        let theirs = format!("({{0}} {not}{name} {{1}} ESCAPE '\\')");
        form(&format!("({{0}} {not}{name} {{1}})"), &theirs, &[&a, &pattern])
    }
}
