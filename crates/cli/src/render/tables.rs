//! Tables as the contract declares them.

use hushtable::query::{Column, ColumnType, Contract, Population, Split, Table, TableUnit};
use serde_json::{Value, json};

use super::grid::{Alignment, TextGrid, visible};
use super::pretty_json;
use crate::failure::Failure;

/// Keys of a column that text shows; JSON has all.
const MOST_KEYS: usize = 8;

/// The tables, a line each.
pub(crate) fn list(contract: &Contract) -> String {
    let heading = ["table", "protects", "files"].map(|name| (name, Alignment::Left));
    let mut grid =
        TextGrid::new(heading.into_iter().chain([("columns", Alignment::Right)])).underlined();
    for table in contract.tables.values() {
        let columns = table.columns.len().to_string();
        grid.push([
            visible(&table.name),
            protects(table),
            visible(table.path.as_deref().unwrap_or("-")),
            columns,
        ]);
    }
    grid.text(0) + "\n`hushtable describe TABLE` shows a table's columns.\n"
}

/// The tables as JSON: an array.
pub(crate) fn list_json(contract: &Contract) -> Result<String, Failure> {
    let tables: Vec<Value> = contract
        .tables
        .values()
        .map(|table| {
            let names: Vec<&str> =
                table.columns.iter().map(|column| column.name.as_str()).collect();
            json!({
                "table": table.name,
                "protects": protects(table),
                "population": table.population,
                "path": table.path,
                "columns": names,
            })
        })
        .collect();
    pretty_json(&tables)
}

/// A table with its columns, and the settings of its population.
pub(crate) fn describe(contract: &Contract, table: &Table) -> String {
    let heading = ["column", "type", ""].map(|name| (name, Alignment::Left));
    let mut grid = TextGrid::new(heading).underlined();
    for column in &table.columns {
        let notes: Vec<String> =
            unit_note(table, column).into_iter().chain(notes(column)).collect();
        grid.push([visible(&column.name), column.column_type.to_string(), notes.join("; ")]);
    }
    let mut facts = TextGrid::pairs();
    facts.push(["protects", &protects(table)]);
    facts.push(["files", &visible(table.path.as_deref().unwrap_or("-"))]);
    if !table.unique.is_empty() {
        facts.push(["unique", &visible(&table.unique.join(", "))]);
    }
    if let Some(owner) = &table.owner {
        facts.push(["owner", &visible(owner)]);
    }
    if let Some(population) = contract.population(table) {
        facts.push(["neighbours", &population.neighbouring.to_string()]);
        let most = population.max_matches_per_row;
        facts.push(["joins", &format!("a row meets at most {most} rows of public tables")]);
        let defaults: Vec<String> = defaults(population)
            .into_iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        let defaults = if defaults.is_empty() { "none".to_owned() } else { defaults.join(", ") };
        facts.push(["defaults", &defaults]);
        for (index, (analyst, budget)) in population.budgets.iter().enumerate() {
            let label = if index == 0 { "budgets" } else { "" };
            facts.push([label, &format!("{}: {budget}", visible(analyst))]);
        }
    }
    format!("{}\n{}\n{}", visible(&table.name), facts.text(2), grid.text(2))
}

/// A table with its columns as JSON.
pub(crate) fn describe_json(contract: &Contract, table: &Table) -> Result<String, Failure> {
    let population = contract.population(table);
    let texts = |keys: &Option<Vec<_>>| -> Option<Vec<String>> {
        keys.as_ref().map(|all| all.iter().map(ToString::to_string).collect())
    };
    let columns: Vec<Value> = table
        .columns
        .iter()
        .map(|column| {
            json!({
                "column": column.name,
                "type": column.column_type.to_string(),
                "computed": column.expression.is_some(),
                "not_null": column.not_null,
                "bounds": match column.bounds {
                    Some((low, high)) => json!([low, high]),
                    None if column.automatic_bounds => json!("auto"),
                    None => json!(null),
                },
                "sum_bounds": column.sum_bounds.map(|(low, high)| json!([low, high])),
                "granularity": column.granularity,
                "max_bytes": (column.column_type == ColumnType::String).then_some(column.max_bytes),
                "public_keys": texts(&column.public_keys),
                "known_keys": texts(&column.known_keys),
                "split": column.split.as_ref().map(split),
            })
        })
        .collect();
    pretty_json(&json!({
        "table": table.name,
        "protects": protects(table),
        "path": table.path,
        "neighbouring": population.map(|settings| settings.neighbouring.to_string()),
        "max_matches_per_row": population.map(|settings| settings.max_matches_per_row),
        "defaults": population.map(|settings| &settings.defaults),
        "budgets": population.map(|settings| &settings.budgets),
        "columns": columns,
    }))
}

/// The units that the answers about a table protect.
fn protects(table: &Table) -> String {
    let population = table.population.as_deref().filter(|name| *name != table.name);
    let each = population.map_or_else(|| "row".to_owned(), visible);
    match &table.unit {
        TableUnit::Row => format!("each {each}"),
        TableUnit::Column(column) => match population {
            Some(name) => format!("each {} ({})", visible(name), visible(column)),
            None => format!("each {}", visible(column)),
        },
        TableUnit::Through { table, .. } => format!("each {each}, through {}", visible(table)),
        TableUnit::Public => "nobody: public".to_owned(),
    }
}

fn unit_note(table: &Table, column: &Column) -> Option<String> {
    match &table.unit {
        TableUnit::Column(name) if *name == column.name => Some("the privacy unit".to_owned()),
        TableUnit::Through { column: name, table, references } if *name == column.name => {
            Some(format!("refers to {}.{}", visible(table), visible(references)))
        }
        _ => None,
    }
}

fn notes(column: &Column) -> Vec<String> {
    let mut notes = Vec::new();
    if column.expression.is_some() {
        notes.push("computed".to_owned());
    }
    if column.not_null {
        notes.push("never NULL".to_owned());
    }
    if column.automatic_bounds {
        notes.push("bounds chosen privately".to_owned());
    }
    if let Some((low, high)) = &column.bounds {
        notes.push(format!("bounds {low} to {high}"));
    }
    if let Some((low, high)) = &column.sum_bounds {
        notes.push(format!("a unit's sum {low} to {high}"));
    }
    if let Some(thresholds) = &column.split {
        notes.push(match &thresholds.by {
            None => format!("not clamped, threshold {}", thresholds.default),
            Some(by) => {
                format!(
                    "not clamped, thresholds by {}, else {}",
                    visible(&by.column),
                    thresholds.default
                )
            }
        });
    }
    for (what, keys) in [("public", &column.public_keys), ("known", &column.known_keys)] {
        if let Some(keys) = keys {
            let listed: Vec<String> =
                keys.iter().take(MOST_KEYS).map(|key| visible(&key.to_string())).collect();
            let more = if keys.len() > MOST_KEYS { ", …" } else { "" };
            notes.push(format!("{} {what} keys: {}{more}", keys.len(), listed.join(", ")));
        }
    }
    notes
}

fn split(split: &Split) -> Value {
    let by = split.by.as_ref().map(|by| {
        let values = by
            .values
            .iter()
            .map(|(value, threshold)| (value.to_string(), threshold.to_string().into()));
        json!({ "column": by.column, "values": values.collect::<serde_json::Map<_, Value>>() })
    });
    json!({ "default": split.default, "by": by })
}

fn defaults(population: &Population) -> Vec<(&'static str, String)> {
    let settings = &population.defaults;
    let given = [
        ("epsilon", settings.epsilon.map(|x| x.to_string())),
        ("rho", settings.rho.map(|x| x.to_string())),
        ("delta", settings.delta.map(|x| x.to_string())),
        ("max_groups_contributed", settings.max_groups_contributed.map(|x| x.to_string())),
        ("max_rows_per_group", settings.max_rows_per_group.map(|x| x.to_string())),
        ("max_rows_joined", settings.max_rows_joined.map(|x| x.to_string())),
        ("max_rows_contributed", settings.max_rows_contributed.map(|x| x.to_string())),
        ("group_selection_strategy", settings.group_selection_strategy.map(|x| x.to_string())),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
