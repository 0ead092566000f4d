//! The JSON schema has exactly the settings that a contract may have.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::collections::BTreeSet;
use std::path::Path;

use hushtable_contract::Contract;
use serde_json::Value;

const COLUMN: &str =
    "[tables.t]\npath = 'a.csv'\nprivacy_unit = 'row'\nbudgets.ana = { epsilon = 1 }\n";

/// A contract with a setting that does not exist, for each object of the schema.
fn contracts() -> Vec<(&'static str, String)> {
    let table = |more: &str| format!("{COLUMN}{more}");
    vec![
        ("", "zzz = 1\n".to_owned()),
        ("population", "[units.u]\nzzz = 1\n".to_owned()),
        ("table", table("zzz = 1\n")),
        ("csv", table("csv = { zzz = 1 }\n")),
        ("column", table("columns.x = { type = 'int', zzz = 1 }\n")),
        (
            "split_by",
            table(
                "columns.y = { type = 'int' }\ncolumns.x = { type = 'int', split = { zzz = 1 } }\n",
            ),
        ),
        ("defaults", table("columns.x = { type = 'int' }\ndefaults.zzz = 1\n")),
        (
            "budget",
            "[units.u]\nbudgets.ana = { epsilon = 1, zzz = 1 }\n[tables.t]\npath = 'a'\n"
                .to_owned(),
        ),
        ("unit", units("unit = { of = 'u', zzz = 1 }")),
        ("through", units("unit = { of = 'u', through = { zzz = 1 } }")),
    ]
}

fn units(unit: &str) -> String {
    format!(
        "[units.u]\nbudgets.ana = {{ epsilon = 1 }}\n[tables.t]\npath = 'a.csv'\n{unit}\n\
         columns.x = {{ type = 'int' }}\n"
    )
}

fn properties(object: &Value) -> BTreeSet<String> {
    object["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_setting_of_a_contract_is_in_the_schema() {
    let schema: Value = serde_json::from_str(Contract::SCHEMA).unwrap();
    let mut seen = BTreeSet::new();
    for (name, text) in contracts() {
        let error = Contract::parse(&text, "hushtable.toml").unwrap_err().to_string();
        let (_, settings) =
            error.split_once("the settings are ").unwrap_or_else(|| panic!("{error}"));
        assert!(error.contains("`zzz` is not a setting"), "{error}");
        let settings: BTreeSet<String> = settings.trim().split(", ").map(str::to_owned).collect();
        let object = if name.is_empty() { &schema } else { &schema["$defs"][name] };
        assert_eq!(properties(object), settings, "{name}");
        assert_eq!(object["additionalProperties"], false, "{name}");
        seen.insert(name.to_owned());
    }
    let objects = schema["$defs"].as_object().unwrap().iter();
    for (name, _) in objects.filter(|(_, object)| object.get("properties").is_some()) {
        assert!(seen.contains(name), "no contract tries the settings of {name}");
    }
}

/// Whether a value fits a schema, by the keywords that this schema uses.
fn valid(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        valid(value, root.pointer(name.trim_start_matches('#')).unwrap(), root)?;
    }
    let fails = |what: &str| Err(format!("{value} is not as {what} says: {schema}"));
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        other => panic!("{other}"),
    };
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.into_iter().any(is) {
        return fails("type");
    }
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        return fails("enum");
    }
    let matching = |key: &str| {
        let forms = schema[key].as_array();
        forms.map(|all| all.iter().filter(|form| valid(value, form, root).is_ok()).count())
    };
    if matching("oneOf").is_some_and(|n| n != 1) || matching("anyOf") == Some(0) {
        return fails("oneOf or anyOf");
    }
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !object.contains_key(name.as_str().unwrap()) {
                return fails("required");
            }
        }
        for (key, field) in object {
            match (&schema["properties"][key], &schema["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => return fails("additionalProperties"),
                (Value::Null, Value::Null) => {}
                (Value::Null, others) => valid(field, others, root)?,
                (property, _) => valid(field, property, root)?,
            }
        }
    }
    if let (Some(items), form @ Value::Object(_)) = (value.as_array(), &schema["items"]) {
        items.iter().try_for_each(|item| valid(item, form, root))?;
    }
    Ok(())
}

#[test]
fn the_examples_are_of_the_schema() {
    let schema: Value = serde_json::from_str(Contract::SCHEMA).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut contracts = 0;
    for folder in std::fs::read_dir(examples).unwrap() {
        let Ok(text) = std::fs::read_to_string(folder.unwrap().path().join("hushtable.toml"))
        else {
            continue;
        };
        let contract: Value = toml::from_str(&text).unwrap();
        valid(&contract, &schema, &schema).unwrap_or_else(|e| panic!("{e}"));
        contracts += 1;
    }
    assert!(contracts >= 4, "{contracts}");
    let wrong: Value =
        toml::from_str(&format!("{COLUMN}columns = {{ x = {{ typo = 'int' }} }}")).unwrap();
    assert!(valid(&wrong, &schema, &schema).is_err());
}
