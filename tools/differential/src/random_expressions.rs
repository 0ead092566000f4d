//! Random expressions.

mod calendar;
mod numeric;
mod truths;
mod wording;

use hushtable_testkit::Dice;

use crate::pending::{Construct, pending};
use crate::spelling::{Kind, Quoting, Sql, form, same, text, their_money, whole};

/// A column that an expression may use.
#[derive(Clone, Debug)]
pub struct NamedColumn {
    /// Its name where it is used.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

/// All types of values.
pub const KINDS: [Kind; 7] =
    [Kind::Truth, Kind::Whole, Kind::Real, Kind::Money, Kind::Words, Kind::Day, Kind::Moment];

/// Texts that are in the tables, and that constants are made of.
pub const TEXTS: [&str; 34] = [
    "",
    "a",
    "A",
    "ab",
    "Ab c",
    "a b c",
    " lead",
    "trail\t",
    "\u{a0}wide\u{3000}",
    "a\\b",
    "\\",
    "%",
    "_x",
    "10%",
    "straße",
    "é",
    "e\u{301}a",
    "日本",
    "😀!",
    "a.b",
    "a-b",
    "12",
    "-7",
    " 8 ",
    "1.5",
    "1e3",
    "+3",
    "x'y",
    "\"q\"",
    "a\nb",
    "2024-02-29",
    "2023-02-29",
    "true",
    "ba",
];

const PATTERNS: [&str; 12] =
    ["a", "^a", "b$", "[0-9]+", "\\d", "^\\s", "[^a-z]", "(a|b)c?", "\\.", "\\\\", "^.$", "a.?b"];

const GROUPS: [&str; 5] = ["^([a-z]+)", "^([^ ]+) ", "([0-9]+)$", "^a(.)b", "([ab])"];

const LIKES: [&str; 11] = ["a%", "%b", "_", "%", "", "%a%", "a_b", "%\\%", "\\_%", "%\\\\%", "%é%"];

/// Writes expressions over some columns.
pub struct Expressions<'a> {
    dice: &'a mut Dice,
    columns: &'a [NamedColumn],
    plain: bool,
}

impl<'a> Expressions<'a> {
    /// Expressions of these columns; with `plain`, text constants are as in PostgreSQL.
    pub fn new(dice: &'a mut Dice, columns: &'a [NamedColumn], plain: bool) -> Self {
        Self { dice, columns, plain }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.dice.below(end)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn word(&mut self) -> Sql {
        let value = self.pick(&TEXTS);
        self.constant(value)
    }

    fn constant(&mut self, value: &str) -> Sql {
        let quoting = self.pick(&[Quoting::Escaped, Quoting::Raw]);
        text(value, if self.plain { Quoting::Plain } else { quoting })
    }

    fn small(&mut self, from: i64, to: i64) -> i64 {
        from + self.below((to - from + 1) as u64) as i64
    }

    /// A column of that type; none where there is none.
    fn column(&mut self, kind: Kind) -> Option<Sql> {
        let columns = self.columns;
        let fitting: Vec<&NamedColumn> = columns.iter().filter(|c| c.kind == kind).collect();
        if fitting.is_empty() {
            return None;
        }
        let found = fitting[self.below(fitting.len() as u64) as usize];
        Some(Sql::alike(found.name.clone()))
    }

    fn literal(&mut self, kind: Kind) -> Sql {
        match kind {
            Kind::Truth => Sql::alike(self.pick(&["TRUE", "FALSE"])),
            Kind::Whole => {
                let value = match self.below(6) {
                    0 => self.pick(&[i64::MAX, i64::MIN, i64::MAX - 1, 1 << 53, (1 << 53) + 1]),
                    _ => self.small(-9, 9),
                };
                whole(value)
            }
            Kind::Real => {
                let text = match self.below(8) {
                    0 if !pending(Construct::Infinity) => {
                        self.pick(&["1e308", "-1e308", "5e-324", "1e16", "9.3e18"])
                    }
                    _ => self.pick(&["0.5", "-2.5", "0.1", "3", "-1", "0", "7.25", "1e-3", "100"]),
                };
                Sql::two(format!("CAST('{text}' AS FLOAT64)"), format!("CAST('{text}' AS DOUBLE)"))
            }
            Kind::Money => {
                let text = self.pick(&["0.50", "-2.50", "12.34", "0.00", "-0.05", "99.99"]);
                Sql::two(
                    format!("CAST('{text}' AS NUMERIC(20, 2))"),
                    their_money(&format!("'{text}'")),
                )
            }
            Kind::Words => self.word(),
            Kind::Day => {
                let ends = ["2024-02-29", "1969-12-31", "2023-12-31", "2000-01-01", "2024-12-30"];
                let mut days = ends.to_vec();
                if !pending(Construct::DateEnds) {
                    days.extend(["0001-01-01", "9999-12-31"]);
                }
                Sql::alike(format!("DATE '{}'", self.pick(&days)))
            }
            Kind::Moment => {
                let mut moments = vec!["2024-02-29 23:59:59.999999", "1969-12-31 23:00:00"];
                if !pending(Construct::DateEnds) {
                    moments.extend(["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"]);
                }
                Sql::alike(format!("TIMESTAMP '{}'", self.pick(&moments)))
            }
        }
    }

    /// A type that a column has, most of the time.
    pub fn kind(&mut self) -> Kind {
        let columns = self.columns;
        if columns.is_empty() || self.below(4) == 0 {
            return self.pick(&KINDS);
        }
        columns[self.below(columns.len() as u64) as usize].kind
    }

    /// A column or a constant.
    fn leaf(&mut self, kind: Kind) -> Sql {
        if self.below(8) == 0 {
            return self.literal(kind);
        }
        self.column(kind).or_else(|| self.converted(kind)).unwrap_or_else(|| self.literal(kind))
    }

    /// A value of that type from a column of another.
    fn converted(&mut self, kind: Kind) -> Option<Sql> {
        let columns = self.columns;
        if columns.is_empty() {
            return None;
        }
        let column = &columns[self.below(columns.len() as u64) as usize];
        let (ours, theirs) = match (column.kind, kind) {
            (_, Kind::Truth) => ("({0} IS NULL)", "({0} IS NULL)"),
            (Kind::Words, Kind::Whole) => ("LENGTH({0})", "LENGTH({0})"),
            (Kind::Words, Kind::Real) => ("CAST({0} AS FLOAT64)", "real_in({0})"),
            (Kind::Words, Kind::Money) => ("CAST({0} AS NUMERIC(20, 2))", "money_in({0})"),
            (Kind::Words, Kind::Day) => ("CAST({0} AS DATE)", "day_in({0})"),
            (Kind::Whole | Kind::Money, Kind::Real) => {
                ("CAST({0} AS FLOAT64)", "CAST({0} AS DOUBLE)")
            }
            (Kind::Truth | Kind::Money, Kind::Whole) => {
                ("CAST({0} AS INT64)", "TRY_CAST({0} AS BIGINT)")
            }
            (Kind::Real, Kind::Whole) => ("CAST({0} AS INT64)", "whole_of({0})"),
            (Kind::Truth | Kind::Whole | Kind::Money | Kind::Day, Kind::Words) => {
                ("CAST({0} AS STRING)", "CAST({0} AS VARCHAR)")
            }
            (Kind::Day | Kind::Moment, Kind::Whole) => {
                ("EXTRACT(DAY FROM {0})", "date_part('day', {0})")
            }
            (Kind::Moment, Kind::Words) => {
                ("FORMAT_TIMESTAMP('%d %H', {0})", "strftime({0}, '%d %H')")
            }
            (Kind::Day, Kind::Moment) => ("CAST({0} AS TIMESTAMP)", "CAST({0} AS TIMESTAMP)"),
            (Kind::Moment, Kind::Day) => ("DATE({0})", "as_day({0})"),
            _ => return None,
        };
        Some(form(ours, theirs, &[&Sql::alike(column.name.clone())]))
    }

    /// An expression of that type that depends on a column, if there is one.
    pub fn varying(&mut self, kind: Kind, depth: u64) -> Sql {
        let columns = self.columns;
        let mut found = self.of(kind, depth);
        for _ in 0..20 {
            let mut words = found.ours.split(|c: char| !c.is_alphanumeric() && !"._".contains(c));
            if words.any(|word| columns.iter().any(|column| column.name == word)) {
                break;
            }
            found = self.of(kind, depth);
        }
        found
    }

    /// An expression of that type.
    pub fn of(&mut self, kind: Kind, depth: u64) -> Sql {
        if depth == 0 || self.below(6) == 0 {
            return self.leaf(kind);
        }
        let depth = depth - 1;
        if self.below(5) == 0 {
            return self.choice(kind, depth);
        }
        match kind {
            Kind::Truth => self.condition(depth),
            Kind::Whole => self.whole(depth),
            Kind::Real => self.real(depth),
            Kind::Money => self.money(depth),
            Kind::Words => self.words(depth),
            Kind::Day => self.day(depth),
            Kind::Moment => self.moment(depth),
        }
    }

    /// Forms that all types have: CASE, COALESCE and the like.
    fn choice(&mut self, kind: Kind, depth: u64) -> Sql {
        let (a, b) = (self.of(kind, depth), self.of(kind, depth));
        match self.below(8) {
            0 => {
                let test = self.of(Kind::Truth, depth);
                form("IF({0}, {1}, {2})", "CASE WHEN {0} THEN {1} ELSE {2} END", &[&test, &a, &b])
            }
            1 => {
                let (one, two) = (self.of(Kind::Truth, depth), self.of(Kind::Truth, depth));
                let c = self.leaf(kind);
                let otherwise = self.pick(&["", " ELSE {4}"]);
                let template =
                    format!("CASE WHEN {{0}} THEN {{1}} WHEN {{2}} THEN {{3}}{otherwise} END");
                same(&template, &[&one, &a, &two, &b, &c])
            }
            2 => {
                let (value, one) = (self.leaf(Kind::Words), self.literal(Kind::Words));
                same("CASE {0} WHEN {1} THEN {2} ELSE {3} END", &[&value, &one, &a, &b])
            }
            3 => same("COALESCE({0}, {1})", &[&a, &b]),
            4 => form("IFNULL({0}, {1})", "COALESCE({0}, {1})", &[&a, &b]),
            5 => same("NULLIF({0}, {1})", &[&a, &b]),
            which if kind != Kind::Truth => {
                let name = if which == 6 { "GREATEST" } else { "LEAST" };
                let theirs = format!(
                    "CASE WHEN {{0}} IS NOT NULL AND {{1}} IS NOT NULL \
                     THEN {name}({{0}}, {{1}}) END"
                );
                form(&format!("{name}({{0}}, {{1}})"), &theirs, &[&a, &b])
            }
            _ => same("COALESCE({0}, {1})", &[&a, &b]),
        }
    }
}
