//! Populations of privacy units, and how tables hold them.

use std::collections::{BTreeMap, BTreeSet};

use hushtable_lang::ColumnType;
use hushtable_privacy::{Loss, Neighbouring};
use serde::Serialize;

use super::defaults::{budget, defaults};
use super::former::FormerNames;
use super::read::{ContractError, Item, Section};
use super::{Column, Contract, Defaults, Table};

/// The units that one set of budgets protects, in all tables that hold them.
#[derive(Clone, Debug, Serialize)]
pub struct Population {
    /// Name: of a kind of unit, or of the table whose rows are the units.
    pub name: String,
    /// Which databases are neighbours.
    pub neighbouring: Neighbouring,
    /// Most rows of public tables that one row can meet in all joins of a query together.
    pub max_matches_per_row: u32,
    /// Settings of a query that says nothing else.
    pub defaults: Defaults,
    /// Limits by analyst.
    pub budgets: BTreeMap<String, Loss>,
    /// Names that it had before, and units that it had: their accounts go on in its account.
    pub formerly: Vec<String>,
    /// The section that declares it: `[units.person]`, or `[tables.visits]` for a table that is a
    /// population of its own.
    pub section: String,
}

/// How a table holds privacy units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableUnit {
    /// Every row is a unit of its own.
    Row,
    /// All rows with the same value in this column are one unit's; rows without one count for
    /// nothing.
    Column(String),
    /// Rows belong to the units of the rows of another table that they refer to.
    Through {
        /// The referring column.
        column: String,
        /// The other table.
        table: String,
        /// Its column that is referred to.
        references: String,
    },
    /// Rows are about nobody.
    Public,
}

/// Names that each have budgets of their own, without letter case and white space: people would
/// take two names that differ only in these for one.
#[derive(Default)]
pub(super) struct DistinctNames(BTreeMap<String, String>);

impl DistinctNames {
    pub(super) fn add(
        &mut self,
        what: &str,
        name: &str,
        item: &Item<'_, '_>,
    ) -> Result<(), ContractError> {
        let rest: String = name.to_lowercase().split_whitespace().collect();
        let known = self.0.entry(rest).or_insert_with(|| name.to_owned());
        if known != name {
            return Err(item.error(
                format!("the {what} `{known}` and `{name}` differ only in letter case or spaces"),
                "write a name the same way everywhere, and give others other letters or digits",
            ));
        }
        Ok(())
    }
}

/// Most rows of public tables that one row can meet in all joins together, where the contract does
/// not say.
const DEFAULT_MATCHES: u32 = 1_000;
/// Largest such number that a contract may name.
const MAX_MATCHES: u32 = 1_000_000;

const UNIT: &str = "privacy_unit = \"person_id\", or unit = { of = \"person\", \
                    column = \"person_id\" } with [units.person], or public = true for a table \
                    that is about nobody";
const THROUGH: &str = "through = { column = \"visit_id\", references = \"visits.visit_id\" }";

/// `[units.NAME]`.
pub(super) fn population<'a, 'i>(
    name: &str,
    item: &Item<'a, 'i>,
    analysts: &mut DistinctNames,
    former: &mut FormerNames<'a, 'i>,
) -> Result<Population, ContractError> {
    let label = format!("unit `{name}`");
    let section = item.section(&label, "[units.NAME]")?;
    section.only(&["neighbouring", "max_matches_per_row", "defaults", "budgets", "formerly"])?;
    settings(name, (&label, "units"), &section, analysts, former)
}

/// The settings of a population, which stand in `[units.NAME]` or in a table of its own.
pub(super) fn settings<'a, 'i>(
    name: &str,
    (label, kind): (&str, &str),
    section: &Section<'a, 'i>,
    analysts: &mut DistinctNames,
    former: &mut FormerNames<'a, 'i>,
) -> Result<Population, ContractError> {
    let neighbouring = match section.get("neighbouring") {
        None => Neighbouring::default(),
        Some(item) => {
            let hint = "\"add_remove\" (the default): one unit more or less; \
                        \"replace\": one unit exchanged for another, their number being public";
            match item.text("\"add_remove\" or \"replace\"", hint)? {
                "add_remove" => Neighbouring::AddRemove,
                "replace" => Neighbouring::Replace,
                _ => return Err(item.wrong("\"add_remove\" or \"replace\"", hint)),
            }
        }
    };
    let max_matches_per_row = match section.get("max_matches_per_row") {
        None => DEFAULT_MATCHES,
        Some(item) => {
            let hint = "max_matches_per_row = 1000: the most rows of public tables that one row \
                        meets in all joins of a query together";
            item.count(1, MAX_MATCHES, hint)?
        }
    };
    let defaults = match section.get("defaults") {
        None => Defaults::default(),
        Some(item) => defaults(&item.section("the defaults", "[tables.NAME.defaults]")?)?,
    };
    let hint = "give each analyst a limit: budgets.ana = { epsilon = 1.0, delta = 1e-6 }";
    let budgets_item = section.required("budgets", hint)?;
    let mut budgets = BTreeMap::new();
    for (analyst, item) in budgets_item.section("the budgets", hint)?.items() {
        analysts.add("analysts", analyst, &item)?;
        budgets.insert(analyst.to_owned(), budget(&item)?);
    }
    if budgets.is_empty() {
        return Err(budgets_item.error(format!("{label} has no budget, so nobody may ask"), hint));
    }
    let formerly = section.get("formerly").map(|item| former.read(&item, Some(name)));
    Ok(Population {
        name: name.to_owned(),
        neighbouring,
        max_matches_per_row,
        defaults,
        budgets,
        formerly: formerly.transpose()?.unwrap_or_default(),
        section: format!("[{kind}.{name}]"),
    })
}

/// Which population a table is of, and how it holds the units; no population for a public table.
/// The references behind `through` are checked by [`references`], when all tables are read.
pub(super) fn membership(
    name: &str,
    section: &Section<'_, '_>,
    columns: &[Column],
) -> Result<(Option<String>, TableUnit), ContractError> {
    let ways = ["privacy_unit", "unit", "public"].map(|key| section.get(key));
    let given: Vec<&Item<'_, '_>> = ways.iter().flatten().collect();
    if let [_, second, ..] = given.as_slice() {
        let what = format!("`{}` and `{}` are both set", second.key, given[0].key);
        return Err(second.error(what, UNIT));
    }
    let [short, unit, public] = ways;
    if let Some(item) = public {
        return match item.value {
            toml::de::DeValue::Boolean(true) => Ok((None, TableUnit::Public)),
            _ => Err(item.wrong("true", UNIT)),
        };
    }
    let Some(item) = unit else {
        let hint = "\"row\" where every row is another person, or the column that names the person";
        let item = match short {
            Some(item) => item,
            None => section.required("privacy_unit", UNIT)?,
        };
        let unit = match item.text("\"row\" or a column", hint)? {
            "row" if columns.iter().any(|c| c.name == "row") => {
                return Err(item.error(
                    "`privacy_unit` = \"row\" could mean every row or the column `row`",
                    "rename the column in the file, or drop it from the contract",
                ));
            }
            "row" => TableUnit::Row,
            column => TableUnit::Column(stored(&item, column, columns, hint)?),
        };
        return Ok((Some(name.to_owned()), unit));
    };
    let form = item.section("the unit", UNIT)?;
    form.only(&["of", "column", "through"])?;
    let of = form.required("of", UNIT)?.text("the name of a [units.NAME]", UNIT)?.to_owned();
    let unit = match (form.get("column"), form.get("through")) {
        (Some(column), None) => {
            let name = column.text("a column of the table", UNIT)?;
            TableUnit::Column(stored(&column, name, columns, UNIT)?)
        }
        (None, Some(through)) => {
            let section = through.section("the reference", THROUGH)?;
            section.only(&["column", "references"])?;
            let column = section.required("column", THROUGH)?;
            let name = column.text("a column of the table", THROUGH)?;
            let column = stored(&column, name, columns, THROUGH)?;
            let target = section.required("references", THROUGH)?;
            let text = target.text("\"table.column\"", THROUGH)?;
            let (table, references) =
                text.rsplit_once('.').ok_or_else(|| target.wrong("\"table.column\"", THROUGH))?;
            let (table, references) = (table.to_owned(), references.to_owned());
            TableUnit::Through { column, table, references }
        }
        _ => return Err(item.error("a unit is named by `column`, or reached `through`", UNIT)),
    };
    Ok((Some(of), unit))
}

/// The column of that name, if it is one of the files and of a type that tells units apart.
fn stored(
    item: &Item<'_, '_>,
    name: &str,
    columns: &[Column],
    hint: &str,
) -> Result<String, ContractError> {
    match columns.iter().find(|c| c.name == name) {
        // A float has one value for several long numbers, and a bool has one for all but two.
        Some(c)
            if c.expression.is_none()
                && matches!(c.column_type, ColumnType::Float | ColumnType::Bool) =>
        {
            Err(item.error(
                format!(
                    "`{}` = \"{name}\" is a column of type {}, which cannot tell units apart",
                    item.key, c.column_type
                ),
                "declare it as int, decimal(SCALE) or string; where the files have floats, write \
                 whole numbers or text in their place",
            ))
        }
        Some(c) if c.expression.is_none() => Ok(name.to_owned()),
        Some(_) => Err(item.error(
            format!("`{}` = \"{name}\" is a computed column", item.key),
            "the privacy unit, and what refers to it, must be columns of the file",
        )),
        None => {
            Err(item
                .error(format!("`{}` = \"{name}\" is not a column of the table", item.key), hint))
        }
    }
}

impl Contract {
    /// The columns of a table's files that tell units apart, or the rows that other tables refer
    /// to. Reading must not make one of two values there: that would make one unit of two.
    pub fn identifying(&self, table: &Table) -> BTreeSet<&str> {
        let mut columns = BTreeSet::new();
        for other in self.tables.values() {
            match &other.unit {
                TableUnit::Column(column) if other.name == table.name => {
                    columns.insert(column.as_str());
                }
                TableUnit::Through { column, table: target, references } => {
                    if other.name == table.name {
                        columns.insert(column);
                    }
                    if *target == table.name {
                        columns.insert(references);
                    }
                }
                TableUnit::Column(_) | TableUnit::Row | TableUnit::Public => {}
            }
        }
        columns
    }
}

/// Checks the references between tables: they lead, in the end, to a table that names the units.
pub(super) fn references(
    tables: &BTreeMap<String, Table>,
    item: &Item<'_, '_>,
) -> Result<(), ContractError> {
    for table in tables.values() {
        let mut at = table;
        let mut steps = 0;
        while let TableUnit::Through { column, table: next, references } = &at.unit {
            let wrong = |what: String| item.error(what, THROUGH);
            let target = tables.get(next).ok_or_else(|| {
                wrong(format!("`{}` refers to `{next}`, which is not a table", at.name))
            })?;
            let declared = |t: &Table, name: &str| {
                t.columns.iter().find(|c| c.name == name && c.expression.is_none()).cloned()
            };
            let (from, to) = (declared(at, column), declared(target, references));
            let to = to.ok_or_else(|| {
                wrong(format!(
                    "`{}` refers to `{next}.{references}`, which is not a column of a file",
                    at.name
                ))
            })?;
            if from.is_none_or(|from| from.column_type != to.column_type) {
                return Err(wrong(format!(
                    "`{}.{column}` and `{next}.{references}` have different types",
                    at.name
                )));
            }
            if target.population != at.population {
                return Err(wrong(format!(
                    "`{}` refers to `{next}`, but they do not hold the same units",
                    at.name
                )));
            }
            steps += 1;
            if steps > tables.len() {
                return Err(wrong(format!("the references of `{}` lead in a circle", table.name)));
            }
            at = target;
        }
        if table.population.is_some() && at.unit == TableUnit::Row && steps > 0 {
            return Err(item.error(
                format!("`{}` refers to `{}`, whose rows are the units", table.name, at.name),
                "a table with a column that names the unit",
            ));
        }
    }
    Ok(())
}
