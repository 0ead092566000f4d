//! A whole contract, and its tables.

use std::collections::{BTreeMap, BTreeSet};

use hushtable_privacy::Neighbouring;

use super::columns;
use super::csv;
use super::former::FormerNames;
use super::read::{ContractError, ContractText, Item, Section};
use super::units::{self, DistinctNames, TableUnit};
use super::{Column, Contract, Population, Table};

const QUOTES: &str =
    "double_quotes = \"names\" as in PostgreSQL; \"texts\", the default, as in GoogleSQL";

/// `provided` are the tables whose rows a program provides.
pub(super) fn contract(
    text: &str,
    file: &str,
    provided: &BTreeSet<&str>,
) -> Result<Contract, ContractError> {
    let source = ContractText::new(text, file);
    let parsed = source.parse()?;
    let span = parsed.span();
    let root = Section::root(source, parsed.get_ref(), span, "the contract");
    root.refuse_todos()?;
    root.only(&["ledger", "double_quotes", "retired", "units", "tables"])?;
    let ledger = match root.get("ledger") {
        Some(item) => item.text("a file name", "ledger = \"hushtable.ledger\"")?.to_owned(),
        None => "hushtable.ledger".to_owned(),
    };
    let quoted_names = match root.get("double_quotes") {
        None => false,
        Some(item) => match item.text("names or texts", QUOTES)? {
            "names" => true,
            "texts" => false,
            _ => return Err(item.wrong("\"names\" or \"texts\"", QUOTES)),
        },
    };
    let mut former = FormerNames::default();
    let retired = root.get("retired").map(|item| former.read(&item, None)).transpose()?;
    let (mut names, mut analysts) = (DistinctNames::default(), DistinctNames::default());
    let mut populations = BTreeMap::new();
    if let Some(item) = root.get("units") {
        for (name, item) in item.section("units", "[units.NAME]")?.items() {
            names.add("populations", name, &item)?;
            let population = units::population(name, &item, &mut analysts, &mut former)?;
            populations.insert(name.to_owned(), population);
        }
    }
    let hint = "declare at least one table: [tables.NAME]";
    let tables_item = root.required("tables", hint)?;
    let mut tables = BTreeMap::new();
    let section = tables_item.section("tables", hint)?;
    section.items().try_for_each(|(name, item)| names.add("tables", name, &item))?;
    for (name, item) in section.items() {
        let settings = (quoted_names, provided.contains(name));
        let (table, population) = table(name, &item, settings, &mut analysts, &mut former)?;
        if let Some(population) = population
            && populations.insert(name.to_owned(), population).is_some()
        {
            return Err(item.error(
                format!("table `{name}` is a population of its own, and there is [units.{name}]"),
                "give one of them another name",
            ));
        }
        if let Some(population) = &table.population
            && !populations.contains_key(population)
        {
            let hint = format!("[units.{population}] with budgets");
            return Err(item.error(format!("there is no [units.{population}]"), hint));
        }
        tables.insert(name.to_owned(), table);
    }
    if tables.is_empty() {
        return Err(tables_item.error("the contract has no table", hint));
    }
    units::references(&tables, &tables_item)?;
    former.check(|name| populations.contains_key(name), &tables)?;
    let retired = retired.unwrap_or_default();
    Ok(Contract { ledger, quoted_names, populations, tables, retired })
}

/// A table, and the population that it is, where it is one of its own.
fn table<'a, 'i>(
    name: &str,
    item: &Item<'a, 'i>,
    (quoted_names, is_provided): (bool, bool),
    analysts: &mut DistinctNames,
    former: &mut FormerNames<'a, 'i>,
) -> Result<(Table, Option<Population>), ContractError> {
    let label = format!("table `{name}`");
    let section = item.section(&label, "[tables.NAME]")?;
    section.only(&[
        "path",
        "csv",
        "privacy_unit",
        "unit",
        "public",
        "unique",
        "neighbouring",
        "max_matches_per_row",
        "owner",
        "group_selection_by_pieces",
        "columns",
        "defaults",
        "budgets",
        "formerly",
    ])?;
    let path = path(&section, &label, is_provided)?;
    let csv = section.get("csv").map(|item| csv::csv(&item)).transpose()?;

    let columns_hint = "declare columns as [tables.NAME.columns.COLUMN] with a type";
    let columns_item = section.required("columns", columns_hint)?;
    let columns = columns_item.section(&label, columns_hint)?;
    let columns = columns::columns(&columns, quoted_names)?;

    let (population, unit) = units::membership(name, &section, &columns)?;
    let settings = match &population {
        // The short form: the table is a population of its own.
        Some(population) if section.get("unit").is_none() => {
            Some(units::settings(population, (&label, "tables"), &section, analysts, former)?)
        }
        _ => {
            let elsewhere =
                ["neighbouring", "max_matches_per_row", "defaults", "budgets", "formerly"];
            if let Some(item) = elsewhere.iter().find_map(|key| section.get(key)) {
                return Err(item.error(
                    format!(
                        "`{}` is set in {label}, which is not a population of its own",
                        item.key
                    ),
                    "move budgets, defaults, neighbouring and formerly to [units.NAME], where they \
                     hold for all its tables",
                ));
            }
            None
        }
    };
    if let Some(column) = columns.iter().find(|c| c.split.is_some())
        && (unit != TableUnit::Row
            || settings
                .as_ref()
                .is_none_or(|settings| settings.neighbouring != Neighbouring::AddRemove))
    {
        let ways = ["privacy_unit", "unit", "public"];
        let unit_item = ways.iter().find_map(|way| section.get(way));
        return Err(unit_item.as_ref().unwrap_or(item).error(
            format!(
                "column `{}` has `split`, but {label} does not protect single rows",
                column.name
            ),
            "leave split out: it is for privacy_unit = \"row\" and neighbouring = \
             \"add_remove\": what a row may lose follows from its own values; or use bounds in \
             place of split",
        ));
    }
    let unique = section.get("unique").map(|item| unique(&item, &unit, &columns)).transpose()?;
    let owner = section.get("owner").map(|item| owner(&item, &unit, &columns)).transpose()?;
    let by_pieces = section.get("group_selection_by_pieces").map(|item| {
        item.flag(
            "true: queries may count large records several times when groups are chosen, so that \
             their groups appear, with every key that the query names",
        )
    });
    let group_selection_by_pieces = by_pieces.transpose()?.unwrap_or(false);
    let table = Table {
        name: name.to_owned(),
        path,
        csv,
        population,
        unit,
        unique: unique.unwrap_or_default(),
        owner,
        group_selection_by_pieces,
        columns,
    };
    Ok((table, settings))
}

/// Where a table's files are; nowhere, if a program provides its rows.
fn path(
    section: &Section<'_, '_>,
    label: &str,
    is_provided: bool,
) -> Result<Option<String>, ContractError> {
    let hint = "path = \"data/people.parquet\": a file, a folder or a glob of Parquet or CSV";
    let item = match section.get("path") {
        None if is_provided => return Ok(None),
        Some(item) if is_provided => {
            return Err(item.error(
                format!("{label} has a path, and the program provides its rows"),
                "leave out the path, or do not provide the table",
            ));
        }
        _ => section.required("path", hint)?,
    };
    Ok(Some(item.text("a path", hint)?.to_owned()))
}

/// The columns in which no two rows of a public table agree; or the column of the unit, of which a
/// protected table has one row each.
fn unique(
    item: &Item<'_, '_>,
    unit: &TableUnit,
    columns: &[Column],
) -> Result<Vec<String>, ContractError> {
    let hint = "unique = [\"town\"]: the columns in which no two rows agree";
    let unit_column = match unit {
        TableUnit::Public => None,
        TableUnit::Column(column) => Some(column),
        TableUnit::Row | TableUnit::Through { .. } => {
            return Err(item.error(
                "`unique` is set, but the table is neither public nor names its units",
                "leave unique out: it is for public = true, and for tables with one row of each \
                 unit",
            ));
        }
    };
    let mut names = Vec::new();
    for entry in item.list(hint)? {
        let name = entry.text("a column of the table", hint)?;
        if !columns.iter().any(|c| c.name == name && c.expression.is_none()) {
            return Err(entry.error(format!("`{name}` is not a column of the table's files"), hint));
        }
        if names.iter().any(|earlier| earlier == name) {
            return Err(entry.error(format!("`unique` lists `{name}` twice"), "list it once"));
        }
        names.push(name.to_owned());
    }
    if names.is_empty() {
        return Err(item.error("`unique` lists no column", hint));
    }
    if let Some(column) = unit_column
        && names != [column.as_str()]
    {
        return Err(item.error(
            "`unique` of a protected table lists other columns than its unit",
            format!("unique = [\"{column}\"], if every unit has one row; or leave it out"),
        ));
    }
    Ok(names)
}

/// The column that names the owner of a record.
fn owner(
    item: &Item<'_, '_>,
    unit: &TableUnit,
    columns: &[Column],
) -> Result<String, ContractError> {
    let hint = "owner = \"firm_id\": the column that names who owns a record, \
                such as the firm of an establishment";
    let name = item.text("the name of a column", hint)?;
    if !columns.iter().any(|c| c.name == name) {
        return Err(item.error(format!("`owner` = \"{name}\" is not a column of the table"), hint));
    }
    if *unit != TableUnit::Row {
        return Err(item.error(
            "`owner` is set, but rows are not the privacy units",
            "leave owner out: it is for privacy_unit = \"row\": what is promised to a unit is \
             already for all of its rows",
        ));
    }
    Ok(name.to_owned())
}
