//! Random sub-queries that keep privacy units apart: what may stand in FROM.

use hushtable_testkit::Dice;

use crate::pending::{Construct, pending};
use crate::random_expressions::{Expressions, NamedColumn};
use crate::spelling::{Kind, Names, Sql, form, same};

/// Most pairs of a unit in a join: with more, the limit on rows that meet would leave some out.
const MOST_PAIRS: u64 = 25;

/// A sub-query.
#[derive(Clone, Debug)]
pub struct UnitRows {
    /// Its text, without parentheses.
    pub sql: Sql,
    /// Its columns, without those that are the unit.
    pub columns: Vec<NamedColumn>,
    /// The name of the unit's column; none where rows are units.
    pub unit: Option<String>,
    /// Most rows of one unit.
    pub most: u64,
}

/// A table of the contract.
struct Table {
    name: &'static str,
    unit: Option<&'static str>,
    columns: &'static [(&'static str, Kind)],
    most: u64,
}

const TABLES: [Table; 4] = [
    Table {
        name: "people",
        unit: Some("person_id"),
        columns: &[
            ("town", Kind::Words),
            ("name", Kind::Words),
            ("age", Kind::Whole),
            ("big", Kind::Whole),
            ("f", Kind::Real),
            ("born", Kind::Day),
            ("ok", Kind::Truth),
            ("score", Kind::Money),
        ],
        most: 2,
    },
    Table {
        name: "visits",
        unit: Some("person_id"),
        columns: &[
            ("kind", Kind::Words),
            ("note", Kind::Words),
            ("minutes", Kind::Whole),
            ("day", Kind::Day),
            ("came", Kind::Moment),
            ("price", Kind::Money),
            ("w", Kind::Real),
        ],
        most: 5,
    },
    Table {
        name: "claims",
        unit: None,
        columns: &[("state", Kind::Words), ("amount", Kind::Whole)],
        most: 6,
    },
    Table {
        name: "loans",
        unit: None,
        columns: &[
            ("sector", Kind::Words),
            ("jobs", Kind::Whole),
            ("rate", Kind::Real),
            ("since", Kind::Day),
            ("paid", Kind::Moment),
        ],
        most: 1,
    },
];

const TOWNS: [(&str, Kind); 3] =
    [("town", Kind::Words), ("region", Kind::Words), ("size", Kind::Whole)];
const CODES: [(&str, Kind); 2] = [("kind", Kind::Words), ("label", Kind::Words)];

/// Writes sub-queries.
pub struct Relations<'a> {
    dice: &'a mut Dice,
    names: &'a mut Names,
    plain: bool,
}

fn columns(of: &[(&str, Kind)], of_table: &str) -> Vec<NamedColumn> {
    let column = |(name, kind): &(&str, Kind)| NamedColumn {
        name: format!("{of_table}.{name}"),
        kind: *kind,
    };
    of.iter().map(column).collect()
}

impl<'a> Relations<'a> {
    /// Sub-queries whose columns and tables get these names; with `plain`, text constants are as in
    /// PostgreSQL.
    pub fn new(dice: &'a mut Dice, names: &'a mut Names, plain: bool) -> Self {
        Self { dice, names, plain }
    }

    fn kind(&mut self, columns: &[NamedColumn]) -> Kind {
        Expressions::new(self.dice, columns, self.plain).kind()
    }

    fn expression(&mut self, columns: &[NamedColumn], kind: Kind, depth: u64) -> Sql {
        Expressions::new(self.dice, columns, self.plain).varying(kind, depth)
    }

    fn condition(&mut self, columns: &[NamedColumn], depth: u64) -> Sql {
        self.expression(columns, Kind::Truth, depth)
    }

    /// `SELECT` items for two to five columns, computed or as they are, and the new columns.
    fn items(&mut self, of: &[NamedColumn]) -> (Sql, Vec<NamedColumn>) {
        let mut sql = Sql::alike("");
        let mut found = Vec::new();
        for _ in 0..3 + self.dice.below(4) {
            let (piece, kind) = if self.dice.below(4) == 0 || of.is_empty() {
                let kind = self.kind(of);
                (self.expression(of, kind, 1), kind)
            } else {
                let column = &of[self.dice.below(of.len() as u64) as usize];
                (Sql::alike(column.name.clone()), column.kind)
            };
            let name = self.names.next("c");
            sql = same(&format!("{{0}}, {{1}} AS {name}"), &[&sql, &piece]);
            found.push(NamedColumn { name, kind });
        }
        (sql, found)
    }

    /// A table of the contract, with some of its columns.
    fn table(&mut self) -> UnitRows {
        let table = &TABLES[[0, 0, 1, 1, 1, 2, 3][self.dice.below(7) as usize]];
        let alias = self.names.next("t");
        let of = columns(table.columns, &alias);
        let (items, columns) = self.items(&of);
        let unit = table.unit.map(|_| self.names.next("u"));
        let (name, start) = (table.name, items.ours.len().min(2));
        let items = Sql::two(&items.ours[start..], &items.theirs[start..]);
        let sql = match (&unit, table.unit) {
            (Some(unit), Some(of)) => same(
                &format!("SELECT {alias}.{of} AS {unit}, {{0}} FROM {name} {alias}"),
                &[&items],
            ),
            _ => same(&format!("SELECT {{0}} FROM {name} {alias}"), &[&items]),
        };
        UnitRows { sql, columns, unit, most: table.most }
    }

    /// Visits with their claims, which know the visit and not the person.
    fn visits_with_claims(&mut self) -> UnitRows {
        let (v, c, unit) = (self.names.next("t"), self.names.next("t"), self.names.next("u"));
        let mut of = columns(TABLES[1].columns, &v);
        of.extend(columns(TABLES[2].columns, &c));
        let (items, found) = self.items(&of);
        let kind = ["JOIN", "LEFT JOIN"][self.dice.below(2) as usize];
        let more = match self.dice.below(3) {
            0 => same(" AND {0}", &[&self.condition(&of, 1)]),
            _ => Sql::alike(""),
        };
        let head =
            format!("SELECT {v}.person_id AS {unit}{{0}} FROM visits {v} {kind} claims {c} ");
        let on = format!("ON {c}.visit_id = {v}.visit_id");
        // A declared reference also compares units.
        let theirs = format!("{head}{on} AND {c}.of_person = {v}.person_id{{1}}");
        let sql = form(&format!("{head}{on}{{1}}"), &theirs, &[&items, &more]);
        UnitRows { sql, columns: found, unit: Some(unit), most: 10 }
    }

    /// Visits that some claim refers to, or none.
    fn visits_among_claims(&mut self) -> UnitRows {
        let (v, c, unit) = (self.names.next("t"), self.names.next("t"), self.names.next("u"));
        let of = columns(TABLES[1].columns, &v);
        let (items, found) = self.items(&of);
        let test = self.condition(&columns(TABLES[2].columns, &c), 1);
        let same_unit = format!("{c}.visit_id = {v}.visit_id AND {c}.of_person = {v}.person_id");
        let known = if pending(Construct::NotInOfNull) { "TRUE" } else { "{3} IS NOT NULL" };
        let (ours, theirs) = match self.dice.below(4) {
            0 => (
                "{3} IN (SELECT {4} FROM {2} WHERE {1})",
                "EXISTS (SELECT 1 FROM {2} WHERE ({1}) AND {5})".to_owned(),
            ),
            1 => (
                "{3} NOT IN (SELECT {4} FROM {2} WHERE {1})",
                format!("{known} AND NOT EXISTS (SELECT 1 FROM {{2}} WHERE ({{1}}) AND {{5}})"),
            ),
            2 => (
                "EXISTS (SELECT 1 FROM {2} WHERE ({1}) AND {6})",
                "EXISTS (SELECT 1 FROM {2} WHERE ({1}) AND {5})".to_owned(),
            ),
            _ => (
                "NOT EXISTS (SELECT 1 FROM {2} WHERE ({1}) AND {6})",
                "NOT EXISTS (SELECT 1 FROM {2} WHERE ({1}) AND {5})".to_owned(),
            ),
        };
        let head = format!("SELECT {v}.person_id AS {unit}{{0}} FROM visits {v} WHERE ");
        let pieces = [
            format!("claims {c}"),
            format!("{v}.visit_id"),
            format!("{c}.visit_id"),
            same_unit,
            format!("{c}.visit_id = {v}.visit_id"),
        ]
        .map(Sql::alike);
        let mut all = vec![&items, &test];
        all.extend(&pieces);
        let sql = form(&format!("{head}{ours}"), &format!("{head}{theirs}"), &all);
        UnitRows { sql, columns: found, unit: Some(unit), most: 5 }
    }

    /// A sub-query of that depth.
    pub fn of(&mut self, depth: u64) -> UnitRows {
        if depth == 0 {
            return match self.dice.below(8) {
                0 => self.visits_with_claims(),
                1 => self.visits_among_claims(),
                _ => self.table(),
            };
        }
        let inner = self.of(depth - 1);
        match (self.dice.below(14), inner.unit.clone()) {
            (0, _) => self.filtered(inner),
            (1, _) => self.with_public(inner),
            (2, _) => self.in_public(inner),
            (3 | 4, Some(unit)) => self.joined(inner, &unit, depth - 1),
            (5 | 6, Some(unit)) => self.aggregated(inner, &unit),
            (7 | 8, Some(unit)) => self.windowed(inner, &unit),
            (9, Some(unit)) => self.among_units(inner, &unit, depth - 1),
            (10, Some(unit)) => self.existing(inner, &unit, depth - 1),
            (12, Some(unit)) => self.looked_up(inner, &unit, depth - 1),
            (13, Some(unit)) => self.in_some_way(inner, &unit, depth - 1),
            (11, Some(unit)) => match self.dice.below(4) {
                0 => self.distinct(inner),
                1 => self.twice(inner, &unit),
                2 if !pending(Construct::UnitTwice) => self.unit_twice(inner, &unit),
                _ => self.united(inner, &unit, depth - 1),
            },
            _ => self.filtered(inner),
        }
    }

    /// The inner query under an alias, its columns qualified by that.
    fn aliased(&mut self, inner: &UnitRows) -> (Sql, String, Vec<NamedColumn>) {
        let alias = self.names.next("q");
        let sql = same(&format!("({{0}}) {alias}"), &[&inner.sql]);
        let column =
            |c: &NamedColumn| NamedColumn { name: format!("{alias}.{}", c.name), kind: c.kind };
        let columns = inner.columns.iter().map(column).collect();
        (sql, alias, columns)
    }

    fn unit_item(&mut self, unit: Option<&str>, alias: &str) -> (String, Option<String>) {
        match unit {
            Some(unit) => {
                let name = self.names.next("u");
                (format!("{alias}.{unit} AS {name}, "), Some(name))
            }
            None => (String::new(), None),
        }
    }

    /// `SELECT` of the unit and items, without the comma before the first.
    fn select(
        &mut self,
        inner: &UnitRows,
        alias: &str,
        of: &[NamedColumn],
    ) -> (Sql, Vec<NamedColumn>, Option<String>) {
        let (items, found) = self.items(of);
        let (unit, name) = self.unit_item(inner.unit.as_deref(), alias);
        let items = Sql::two(&items.ours[2..], &items.theirs[2..]);
        (same(&format!("SELECT {unit}{{0}}"), &[&items]), found, name)
    }

    fn filtered(&mut self, inner: UnitRows) -> UnitRows {
        let (from, alias, of) = self.aliased(&inner);
        let condition = self.condition(&of, 2);
        let (select, columns, unit) = self.select(&inner, &alias, &of);
        let sql = same("{0} FROM {1} WHERE {2}", &[&select, &from, &condition]);
        UnitRows { sql, columns, unit, most: inner.most }
    }

    /// A join with a public table.
    fn with_public(&mut self, inner: UnitRows) -> UnitRows {
        let (from, alias, mut of) = self.aliased(&inner);
        let Some(text) = of.iter().find(|c| c.kind == Kind::Words).map(|c| c.name.clone()) else {
            return self.filtered(inner);
        };
        let public = self.names.next("t");
        let (name, key, fields, most): (_, _, &[(&str, Kind)], _) = match self.dice.below(2) {
            0 => ("towns", "town", &TOWNS, 3),
            _ => ("codes", "kind", &CODES, 1),
        };
        of.extend(columns(fields, &public));
        let kind = ["JOIN", "LEFT JOIN"][self.dice.below(2) as usize];
        let (select, columns, unit) = self.select(&inner, &alias, &of);
        let template =
            format!("{{0}} FROM {{1}} {kind} {name} {public} ON {text} = {public}.{key}");
        UnitRows { sql: same(&template, &[&select, &from]), columns, unit, most: inner.most * most }
    }

    fn in_public(&mut self, inner: UnitRows) -> UnitRows {
        let (from, alias, of) = self.aliased(&inner);
        let Some(text) = of.iter().find(|c| c.kind == Kind::Words).map(|c| c.name.clone()) else {
            return self.filtered(inner);
        };
        let below = self.dice.below(10) as i64 - 2;
        let test = match self.dice.below(4) {
            0 => Sql::alike(format!("{text} IN (SELECT town FROM towns WHERE size > {below})")),
            1 => Sql::alike(format!(
                "EXISTS (SELECT 1 FROM towns z WHERE z.town = {text} AND z.size > {below})"
            )),
            2 => Sql::alike(format!(
                "NOT EXISTS (SELECT 1 FROM towns z WHERE z.town = {text} AND z.size > {below})"
            )),
            _ => {
                let list = format!("SELECT town FROM towns WHERE size > {below}");
                let ours = match self.dice.below(2) {
                    0 => format!("{text} NOT IN ({list})"),
                    _ => format!("NOT ({text} IN ({list}))"),
                };
                // While it is pending, NULLs are passed over on both sides.
                let theirs =
                    format!("({text} NOT IN ({list} AND town IS NOT NULL) OR {text} IS NULL)");
                if pending(Construct::NotInOfNull) {
                    Sql::two(ours, theirs)
                } else {
                    Sql::alike(ours)
                }
            }
        };
        let (select, columns, unit) = self.select(&inner, &alias, &of);
        let sql = same("{0} FROM {1} WHERE {2}", &[&select, &from, &test]);
        UnitRows { sql, columns, unit, most: inner.most }
    }

    /// Another sub-query that names its units.
    fn other(&mut self, depth: u64) -> (UnitRows, String) {
        let depth = self.dice.below(depth + 1);
        for _ in 0..20 {
            let other = self.of(depth);
            if let Some(unit) = other.unit.clone() {
                return (other, unit);
            }
        }
        let sql = Sql::alike("SELECT person_id AS pid, age FROM people");
        let columns = vec![NamedColumn { name: "age".to_owned(), kind: Kind::Whole }];
        (UnitRows { sql, columns, unit: Some("pid".to_owned()), most: 2 }, "pid".to_owned())
    }

    fn joined(&mut self, inner: UnitRows, unit: &str, depth: u64) -> UnitRows {
        let (other, their_unit) = self.other(depth);
        if inner.most * other.most > MOST_PAIRS {
            return self.filtered(inner);
        }
        let ((a, left, mut of), (b, right, more)) = (self.aliased(&inner), self.aliased(&other));
        of.extend(more);
        let kind = ["JOIN", "LEFT JOIN"][self.dice.below(2) as usize];
        let further = match self.dice.below(3) {
            0 => same(" AND {0}", &[&self.condition(&of, 1)]),
            _ => Sql::alike(""),
        };
        let (select, columns, name) = self.select(&inner, &left, &of);
        let template =
            format!("{{0}} FROM {{1}} {kind} {{2}} ON {left}.{unit} = {right}.{their_unit}{{3}}");
        let sql = same(&template, &[&select, &a, &b, &further]);
        UnitRows { sql, columns, unit: name, most: inner.most * other.most }
    }

    fn aggregated(&mut self, inner: UnitRows, unit: &str) -> UnitRows {
        let (from, alias, of) = self.aliased(&inner);
        let name = self.names.next("u");
        let mut select = Sql::alike(format!("SELECT {alias}.{unit} AS {name}"));
        let (mut keys, mut found) = (Sql::alike(format!("{alias}.{unit}")), Vec::new());
        let keyed = self.dice.below(2) == 0;
        if keyed {
            let kind = self.kind(&of);
            let key = self.expression(&of, kind, 1);
            let column = self.names.next("c");
            select = same(&format!("{{0}}, {{1}} AS {column}"), &[&select, &key]);
            // Theirs takes a number among the keys as a place in SELECT, and ours does, too.
            keys = same(&format!("{{0}}, {column}"), &[&keys]);
            found.push(NamedColumn { name: column, kind });
        }
        for _ in 0..1 + self.dice.below(3) {
            let (measure, kind) = self.within_unit(&of);
            let column = self.names.next("c");
            select = same(&format!("{{0}}, {{1}} AS {column}"), &[&select, &measure]);
            found.push(NamedColumn { name: column, kind });
        }
        let having =
            ["", " HAVING COUNT(*) > 1", " HAVING COUNT(*) < 3"][self.dice.below(3) as usize];
        let sql =
            same(&format!("{{0}} FROM {{1}} GROUP BY {{2}}{having}"), &[&select, &from, &keys]);
        let most = if keyed { inner.most } else { 1 };
        UnitRows { sql, columns: found, unit: Some(name), most }
    }

    /// An aggregate of a unit's rows.
    fn within_unit(&mut self, of: &[NamedColumn]) -> (Sql, Kind) {
        let kind = self.kind(of);
        match self.dice.below(13) {
            9 => {
                let x = self.expression(of, Kind::Whole, 1);
                let theirs = "TRY_CAST(SUM(DISTINCT {0}) AS BIGINT)";
                (form("SUM(DISTINCT {0})", theirs, &[&x]), Kind::Whole)
            }
            10 => {
                let (x, y) = (self.expression(of, kind, 1), self.expression(of, Kind::Whole, 1));
                let theirs = "COUNT(DISTINCT ({0}, {1})) FILTER (WHERE {0} IS NOT NULL AND {1} IS \
                              NOT NULL)";
                (form("COUNT(DISTINCT {0}, {1})", theirs, &[&x, &y]), Kind::Whole)
            }
            11 => {
                let (x, y) = (self.expression(of, kind, 1), self.expression(of, Kind::Whole, 1));
                let (ours, theirs) = [
                    ("ARG_MAX", "arg_max({0}, ({1}, {0}))"),
                    ("ARG_MIN", "arg_min({0}, ({1}, {0}))"),
                ][self.dice.below(2) as usize];
                let ours = format!("{ours}({{0}}, {{1}})");
                let theirs =
                    format!("{theirs} FILTER (WHERE {{0}} IS NOT NULL AND {{1}} IS NOT NULL)");
                (form(&ours, &theirs, &[&x, &y]), kind)
            }
            12 => (same("MEDIAN({0})", &[&self.expression(of, Kind::Whole, 1)]), Kind::Real),
            0 => (Sql::alike("COUNT(*)"), Kind::Whole),
            1 => (same("COUNT({0})", &[&self.expression(of, kind, 1)]), Kind::Whole),
            2 => (same("COUNT(DISTINCT {0})", &[&self.expression(of, kind, 1)]), Kind::Whole),
            3 => {
                let test = self.condition(of, 1);
                (form("COUNTIF({0})", "COUNT(*) FILTER (WHERE {0})", &[&test]), Kind::Whole)
            }
            4 => {
                let x = self.expression(of, Kind::Whole, 1);
                (form("SUM({0})", "TRY_CAST(SUM({0}) AS BIGINT)", &[&x]), Kind::Whole)
            }
            5 => {
                let (x, test) = (self.expression(of, Kind::Whole, 1), self.condition(of, 1));
                let ours = "SUM({0}) FILTER (WHERE {1})";
                let theirs = "TRY_CAST(SUM({0}) FILTER (WHERE {1}) AS BIGINT)";
                (form(ours, theirs, &[&x, &test]), Kind::Whole)
            }
            which => {
                let name = if which == 6 { "MIN" } else { "MAX" };
                (same(&format!("{name}({{0}})"), &[&self.expression(of, kind, 1)]), kind)
            }
        }
    }

    fn windowed(&mut self, inner: UnitRows, unit: &str) -> UnitRows {
        let (from, alias, of) = self.aliased(&inner);
        let (mut select, mut found, name) = self.select(&inner, &alias, &of);
        let by = match self.dice.below(3) {
            0 => {
                let column = &of[self.dice.below(of.len() as u64) as usize];
                format!("{alias}.{unit}, {}", column.name)
            }
            _ => format!("{alias}.{unit}"),
        };
        let first = self.dice.below(of.len() as u64) as usize;
        let order = of[first].name.clone();
        // UnitRows that agree in all columns may be numbered in any order.
        let ties: Vec<&str> =
            of.iter().map(|c| c.name.as_str()).filter(|name| *name != order).collect();
        let ties =
            |nulls: &str| ties.iter().map(|name| format!(", {name}{nulls}")).collect::<String>();
        let (ours, theirs) = match self.dice.below(2) {
            0 => (order.clone(), format!("{order} NULLS FIRST")),
            _ => (format!("{order} DESC"), format!("{order} DESC NULLS LAST")),
        };
        let numbered = (ours.clone() + &ties(""), theirs.clone() + &ties(" NULLS FIRST"));
        let kind = self.kind(&of);
        let x = self.expression(&of, kind, 1);
        let (call, kind) = match self.dice.below(14) {
            0 => (Sql::alike("RANK()"), Kind::Whole),
            11 => (Sql::alike("DENSE_RANK()"), Kind::Whole),
            12 => (Sql::alike("NTILE(3)"), Kind::Whole),
            13 => (Sql::alike(format!("NTH_VALUE({order}, 2)")), self.kind_of(&of, &order)),
            1 => (same("COUNT({0})", &[&self.condition(&of, 1)]), Kind::Whole),
            2 => (Sql::alike("COUNT(*)"), Kind::Whole),
            3 => (same("COUNT({0})", &[&x]), Kind::Whole),
            4 => {
                let x = self.expression(&of, Kind::Whole, 1);
                (same("SUM({0})", &[&x]), Kind::Whole)
            }
            5 => (same("MIN({0})", &[&x]), kind),
            6 => (same("MAX({0})", &[&x]), kind),
            // The value that comes first is the same whichever of equal rows it is of.
            7 => (Sql::alike(format!("FIRST_VALUE({order})")), self.kind_of(&of, &order)),
            8 => (Sql::alike("ROW_NUMBER()"), Kind::Whole),
            _ => {
                let name = ["LAG", "LEAD"][self.dice.below(2) as usize];
                (Sql::alike(format!("{name}({order})")), self.kind_of(&of, &order))
            }
        };
        let is_one = |names: &[&str]| names.iter().any(|name| call.ours.starts_with(name));
        let numbered_too = numbered.clone();
        let (mut ours, mut theirs) = match is_one(&["ROW_NUMBER", "LAG", "LEAD", "NTILE", "NTH"]) {
            true => numbered,
            false => (ours, theirs),
        };
        let positions = ["RANK", "DENSE", "FIRST", "ROW_NUMBER", "LAG", "LEAD", "NTILE", "NTH"];
        let ordered = is_one(&positions) || self.dice.below(2) == 0;
        let frame = match is_one(&["COUNT", "SUM", "MIN", "MAX"]) && self.dice.below(2) == 0 {
            true => {
                (ours, theirs) = numbered_too;
                [
                    " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                    " ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
                    " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                    " ROWS UNBOUNDED PRECEDING",
                ][self.dice.below(4) as usize]
            }
            false => "",
        };
        let over = |order: &str| {
            if ordered || !frame.is_empty() {
                format!("OVER (PARTITION BY {by} ORDER BY {order}{frame})")
            } else {
                format!("OVER (PARTITION BY {by})")
            }
        };
        let column = self.names.next("c");
        let summed = call.ours.starts_with("SUM");
        let (before, after) = if summed { ("TRY_CAST(", " AS BIGINT)") } else { ("", "") };
        select = form(
            &format!("{{0}}, {{1}} {} AS {column}", over(&ours)),
            &format!("{{0}}, {before}{{1}} {}{after} AS {column}", over(&theirs)),
            &[&select, &call],
        );
        found.push(NamedColumn { name: column, kind });
        let sql = same("{0} FROM {1}", &[&select, &from]);
        UnitRows { sql, columns: found, unit: name, most: inner.most }
    }

    fn kind_of(&self, columns: &[NamedColumn], name: &str) -> Kind {
        columns.iter().find(|c| c.name == name).map_or(Kind::Words, |c| c.kind)
    }

    /// IN and NOT IN of units.
    fn among_units(&mut self, inner: UnitRows, unit: &str, depth: u64) -> UnitRows {
        let (other, their_unit) = self.other(depth);
        let (from, alias, of) = self.aliased(&inner);
        let (list, other_alias, _) = self.aliased(&other);
        let word = ["IN", "IN", "NOT IN"][self.dice.below(3) as usize];
        let (select, columns, name) = self.select(&inner, &alias, &of);
        let template = |ignored: &str| {
            format!(
                "{{0}} FROM {{1}} WHERE {alias}.{unit} {word} \
                 (SELECT {other_alias}.{their_unit} FROM {{2}}{ignored})"
            )
        };
        // Rows of nobody are in no list.
        let known = format!(" WHERE {other_alias}.{their_unit} IS NOT NULL");
        let sql = form(&template(""), &template(&known), &[&select, &from, &list]);
        UnitRows { sql, columns, unit: name, most: inner.most }
    }

    /// EXISTS and NOT EXISTS.
    fn existing(&mut self, inner: UnitRows, unit: &str, depth: u64) -> UnitRows {
        let (other, their_unit) = self.other(depth);
        let (from, alias, of) = self.aliased(&inner);
        let (list, other_alias, mut both) = self.aliased(&other);
        let word = ["EXISTS", "NOT EXISTS"][self.dice.below(2) as usize];
        both.extend(of.iter().cloned());
        let further = match self.dice.below(2) {
            0 => same(" AND {0}", &[&self.condition(&both, 1)]),
            _ => Sql::alike(""),
        };
        let (select, columns, name) = self.select(&inner, &alias, &of);
        let template = format!(
            "{{0}} FROM {{1}} WHERE {word} (SELECT 1 FROM {{2}} \
             WHERE {other_alias}.{their_unit} = {alias}.{unit}{{3}})"
        );
        let sql = same(&template, &[&select, &from, &list, &further]);
        UnitRows { sql, columns, unit: name, most: inner.most }
    }

    /// An aggregate of another sub-query's rows of the same unit, as a value of each row.
    fn looked_up(&mut self, inner: UnitRows, unit: &str, depth: u64) -> UnitRows {
        let (other, their_unit) = self.other(depth);
        let (from, alias, of) = self.aliased(&inner);
        let (list, other_alias, further) = self.aliased(&other);
        let (measure, kind) = self.within_unit(&further);
        let condition = match self.dice.below(2) {
            0 => same(" AND {0}", &[&self.condition(&further, 1)]),
            _ => Sql::alike(""),
        };
        let (select, mut found, name) = self.select(&inner, &alias, &of);
        let column = self.names.next("c");
        let template = format!(
            "{{0}}, (SELECT {{1}} FROM {{2}} \
             WHERE {other_alias}.{their_unit} = {alias}.{unit}{{3}}) AS {column} FROM {{4}}"
        );
        found.push(NamedColumn { name: column, kind });
        let sql = same(&template, &[&select, &measure, &list, &condition, &from]);
        UnitRows { sql, columns: found, unit: name, most: inner.most }
    }

    /// Rows for which a condition holds, or some row of the unit is elsewhere.
    fn in_some_way(&mut self, inner: UnitRows, unit: &str, depth: u64) -> UnitRows {
        let (other, their_unit) = self.other(depth);
        let (from, alias, of) = self.aliased(&inner);
        let (list, other_alias, further) = self.aliased(&other);
        let (condition, test) = (self.condition(&of, 1), self.condition(&further, 1));
        let (select, columns, name) = self.select(&inner, &alias, &of);
        let there = match self.dice.below(3) {
            0 => format!(
                "{alias}.{unit} IN (SELECT {other_alias}.{their_unit} FROM {{2}} WHERE {{4}})"
            ),
            which => {
                let word = if which == 1 { "EXISTS" } else { "NOT EXISTS" };
                format!(
                    "{word} (SELECT 1 FROM {{2}} WHERE {other_alias}.{their_unit} = {alias}.{unit} \
                     AND {{4}})"
                )
            }
        };
        let template = format!("{{0}} FROM {{1}} WHERE {{3}} OR {there}");
        let sql = same(&template, &[&select, &from, &list, &condition, &test]);
        UnitRows { sql, columns, unit: name, most: inner.most }
    }

    fn distinct(&mut self, inner: UnitRows) -> UnitRows {
        let (from, alias, of) = self.aliased(&inner);
        let (select, columns, name) = self.select(&inner, &alias, &of);
        let select = Sql::two(
            select.ours.replacen("SELECT", "SELECT DISTINCT", 1),
            select.theirs.replacen("SELECT", "SELECT DISTINCT", 1),
        );
        let sql = same("{0} FROM {1}", &[&select, &from]);
        UnitRows { sql, columns, unit: name, most: inner.most }
    }

    /// A common table expression that is read twice.
    fn twice(&mut self, inner: UnitRows, unit: &str) -> UnitRows {
        if inner.most * inner.most > MOST_PAIRS {
            return self.filtered(inner);
        }
        let (table, a, b) = (self.names.next("w"), self.names.next("q"), self.names.next("q"));
        let side = |alias: &str| {
            inner
                .columns
                .iter()
                .map(move |c| NamedColumn { name: format!("{alias}.{}", c.name), kind: c.kind })
                .collect::<Vec<_>>()
        };
        let mut of = side(&a);
        of.extend(side(&b));
        let (items, columns) = self.items(&of);
        let name = self.names.next("u");
        let template = format!(
            "WITH {table} AS ({{0}}) SELECT {a}.{unit} AS {name}{{1}} FROM {table} {a} \
             JOIN {table} {b} ON {a}.{unit} = {b}.{unit}"
        );
        let sql = same(&template, &[&inner.sql, &items]);
        UnitRows { sql, columns, unit: Some(name), most: inner.most * inner.most }
    }

    /// The unit under two names, of which the first goes on.
    fn unit_twice(&mut self, inner: UnitRows, unit: &str) -> UnitRows {
        let (from, alias, of) = self.aliased(&inner);
        let (items, columns) = self.items(&of);
        let (name, second) = (self.names.next("u"), self.names.next("u"));
        let template =
            format!("SELECT {alias}.{unit} AS {name}, {alias}.{unit} AS {second}{{0}} FROM {{1}}");
        let sql = same(&template, &[&items, &from]);
        let unit = if self.dice.below(2) == 0 { name } else { second };
        UnitRows { sql, columns, unit: Some(unit), most: inner.most }
    }

    fn united(&mut self, inner: UnitRows, unit: &str, depth: u64) -> UnitRows {
        let (other, their_unit) = self.other(depth);
        let ((a, left, of), (b, right, more)) = (self.aliased(&inner), self.aliased(&other));
        let name = self.names.next("u");
        let mut first = Sql::alike(format!("SELECT {left}.{unit} AS {name}"));
        let mut second = Sql::alike(format!("SELECT {right}.{their_unit} AS {name}"));
        let mut columns = Vec::new();
        for _ in 0..1 + self.dice.below(3) {
            let kind = self.kind(&of);
            let (x, y) = (self.expression(&of, kind, 1), self.expression(&more, kind, 1));
            let column = self.names.next("c");
            first = same(&format!("{{0}}, {{1}} AS {column}"), &[&first, &x]);
            second = same(&format!("{{0}}, {{1}} AS {column}"), &[&second, &y]);
            columns.push(NamedColumn { name: column, kind });
        }
        let sql = same("{0} FROM {1} UNION ALL {2} FROM {3}", &[&first, &a, &second, &b]);
        UnitRows { sql, columns, unit: Some(name), most: inner.most + other.most }
    }
}
