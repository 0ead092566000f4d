//! Columns of a contract.

use hushtable_lang::bind_expr::{RowScope, bind_row_expression};
use hushtable_lang::cost::RowExpression;
use hushtable_lang::{
    ColumnType, DEFAULT_TEXT_BYTES, Expr, ExprKind, MAX_KEY_BYTES, MAX_STRING_BYTES, Value, cost,
    sql,
};
use hushtable_numbers::{Number, Step};

use super::read::{ContractError, Item, Section};
use super::split::split;
use super::{Column, MAX_PUBLIC_KEYS};

const TYPES: &str = "the types are bool, int, decimal(SCALE) with a scale from 0 to 18, float, \
    string, date, timestamp";

pub(super) fn columns(
    section: &Section<'_, '_>,
    quoted_names: bool,
) -> Result<Vec<Column>, ContractError> {
    let mut columns = Vec::new();
    let mut computed = Vec::new();
    let mut splits = Vec::new();
    let mut renamed = Vec::new();
    for (name, item) in section.items() {
        let label = format!("column `{name}`");
        let settings = item.section(&label, "{ type = \"int\" }")?;
        settings.only(&[
            "type",
            "column",
            "max_bytes",
            "expression",
            "not_null",
            "bounds",
            "sum_bounds",
            "granularity",
            "public_keys",
            "known_keys",
            "split",
        ])?;
        let type_item = settings.required("type", TYPES)?;
        let type_name = type_item.text("a type", TYPES)?;
        let column_type =
            ColumnType::from_name(type_name).ok_or_else(|| type_item.wrong("a type", TYPES))?;
        let max_bytes = max_bytes(&settings, column_type)?;
        let listed = |name: &str| {
            let listed = |i| listed_keys(name, &i, column_type, max_bytes);
            settings.get(name).map(listed).transpose()
        };
        let (public_keys, known_keys) = (listed("public_keys")?, listed("known_keys")?);
        if let (Some(_), Some(known)) = (&public_keys, settings.get("known_keys"))
            && known_keys.is_some()
        {
            return Err(known.error(
                "a column has both `known_keys` and `public_keys`".to_owned(),
                "keep public_keys where no other values are shown, or known_keys where others \
                 may appear",
            ));
        }
        let column = Column {
            name: name.to_owned(),
            in_file: in_file(name, &settings)?,
            column_type,
            max_bytes,
            expression: None,
            not_null: settings
                .get("not_null")
                .map(|i| i.flag("true where every row has a value: counts of it are those of rows"))
                .transpose()?
                .unwrap_or(false),
            bounds: None,
            sum_bounds: None,
            automatic_bounds: false,
            granularity: settings
                .get("granularity")
                .map(|i| granularity(&i, column_type))
                .transpose()?,
            public_keys,
            known_keys,
            // Read when all columns are known, as it may name another one.
            split: None,
            learnt: None,
        };
        let column = match settings.get("bounds") {
            None => column,
            Some(item) if item.is_auto() && column_type.is_numeric() => {
                Column { automatic_bounds: true, ..column }
            }
            Some(item) => {
                let hint = "bounds = [LOW, HIGH]: the least and the greatest value of a row; or \
                            \"auto\", to have them chosen privately";
                Column { bounds: Some(bounds(&item, "bounds", column_type, hint)?), ..column }
            }
        };
        let sum_bounds = settings.get("sum_bounds").map(|item| {
            let hint = "sum_bounds = [LOW, HIGH]: the least and the most that all rows of one unit \
                        add to a group's sum";
            bounds(&item, "sum_bounds", column_type, hint)
        });
        let column = Column { sum_bounds: sum_bounds.transpose()?, ..column };
        if let Some(split) = settings.get("split") {
            let both = match (column.sum_bounds, column.bounds) {
                (Some(_), _) => Some("sum_bounds"),
                (None, Some(_)) => Some("bounds"),
                (None, None) => column.automatic_bounds.then_some("bounds"),
            };
            if let Some(both) = both {
                return Err(split.error(
                    format!("a column has both `split` and `{both}`"),
                    "keep bounds to clamp larger values, or split to leave them whole at a \
                     larger loss",
                ));
            }
            splits.push((columns.len(), split));
        }
        if let Some(expression) = settings.get("expression") {
            computed.push((columns.len(), expression));
        }
        if let Some(item) = settings.get("column") {
            renamed.push((columns.len(), item));
        }
        columns.push(column);
    }
    let computed_at: Vec<usize> = computed.iter().map(|(i, _)| *i).collect();
    let stored: Vec<(String, ColumnType)> = columns
        .iter()
        .enumerate()
        .filter(|(i, _)| !computed_at.contains(i))
        .map(|(_, c)| (c.name.clone(), c.column_type))
        .collect();
    let bytes: Vec<usize> = columns
        .iter()
        .enumerate()
        .filter(|(i, _)| !computed_at.contains(i))
        .map(|(_, c)| c.max_bytes)
        .collect();
    for (index, item) in computed {
        let expression = expression(&item, &stored, columns[index].column_type, quoted_names)?;
        let clause = "`expression`".to_owned();
        let row_expression = RowExpression { clause, expr: &expression, columns: bytes.clone() };
        cost::check(&[row_expression]).map_err(|e| item.error(e.what, e.hint))?;
        // A query knows a computed column by its expression, and would give both the first one's
        // bounds.
        if let Some(twin) = columns.iter().find(|c| c.expression.as_ref() == Some(&expression)) {
            return Err(item.error(
                format!("`expression` computes what column `{}` does", twin.name),
                "keep one of the two; a query can set other bounds: \
                 SUM(x, contribution_bounds_per_row => (0, 100))",
            ));
        }
        columns[index].expression = Some(expression);
    }
    // Two names of one column would each have bounds, and one could be the unit.
    for (index, item) in renamed {
        let name = columns[index].name_in_file();
        let stored = columns.iter().enumerate().filter(|(_, c)| c.expression.is_none());
        let mut others = stored.filter(|(other, _)| *other != index);
        if let Some((_, other)) = others.find(|(_, other)| other.name_in_file() == name) {
            return Err(item.error(
                format!("`column` = \"{name}\" is column `{}` already", other.name),
                "give each column of the file one name",
            ));
        }
    }
    for (index, item) in splits {
        columns[index].split = Some(split(&item, &columns[index], &columns)?);
    }
    Ok(columns)
}

const IN_FILE: &str =
    "column = \"Betrag (€)\": its name in the file, where SQL is to have another one";

/// The name of a column in the file, where the contract says another one.
fn in_file(name: &str, settings: &Section<'_, '_>) -> Result<Option<String>, ContractError> {
    let Some(item) = settings.get("column") else { return Ok(None) };
    let in_file = item.text("a name in the file", IN_FILE)?;
    if settings.get("expression").is_some() {
        return Err(item.error(
            "`column` is set on a column that is computed, and in no file".to_owned(),
            "keep column for a column of the file, or expression for a computed one",
        ));
    }
    Ok((in_file != name).then(|| in_file.to_owned()))
}

/// The most bytes of a text of the column.
fn max_bytes(settings: &Section<'_, '_>, column_type: ColumnType) -> Result<usize, ContractError> {
    let Some(item) = settings.get("max_bytes") else { return Ok(DEFAULT_TEXT_BYTES) };
    let hint = "max_bytes = 64: longer text is NULL, and shorter text allows longer expressions";
    if column_type != ColumnType::String || settings.get("expression").is_some() {
        return Err(item.error(
            "`max_bytes` is set on a column that is not text of the file".to_owned(),
            "leave max_bytes out: it is for columns of type string without an expression",
        ));
    }
    let most = item.count(1, MAX_STRING_BYTES as u32, hint)?;
    usize::try_from(most).map_err(|_| item.wrong("a number of bytes", hint))
}

fn expression(
    item: &Item<'_, '_>,
    stored: &[(String, ColumnType)],
    column_type: ColumnType,
    quoted_names: bool,
) -> Result<Expr, ContractError> {
    let text = item.text("an SQL expression", "expression = \"DIV(naics, 10000)\"")?;
    let bound = sql::parse_expression(text, quoted_names)
        .and_then(|ast| bind_row_expression(&ast, &RowScope::of_columns(stored)))
        .map_err(|e| item.error(format!("`expression`: {}", e.what), e.hint))?;
    if matches!(bound.kind, ExprKind::Column(_)) {
        return Err(item.error(
            format!("`expression` = \"{text}\" is a column of the file, and computes nothing"),
            "use that column itself, under its own name",
        ));
    }
    if bound.column_type != column_type {
        return Err(item.error(
            format!(
                "`expression` is of type {}, but the column is {column_type}",
                bound.column_type
            ),
            format!("type = \"{}\", or CAST the expression", bound.column_type),
        ));
    }
    Ok(bound)
}

/// Bounds of a column's values, or of their sums.
fn bounds(
    item: &Item<'_, '_>,
    name: &str,
    column_type: ColumnType,
    hint: &str,
) -> Result<(Number, Number), ContractError> {
    if !column_type.is_numeric() {
        return Err(item.error(
            format!("`{name}` is set on a column of type {column_type}, which cannot be summed"),
            format!("leave {name} out: they are for int, decimal and float columns"),
        ));
    }
    let items = item.list(hint)?;
    let [low, high] = items.as_slice() else {
        return Err(item.wrong("a pair of numbers", hint));
    };
    let (low, high) = (low.number(hint)?, high.number(hint)?);
    if low > high {
        return Err(item.error(
            format!("`{name}` = [{low}, {high}] has its low end above its high end"),
            hint,
        ));
    }
    Ok((low, high))
}

fn granularity(item: &Item<'_, '_>, column_type: ColumnType) -> Result<Step, ContractError> {
    let hint = "int: a whole number such as 1 or 100; decimal(s): 1, 0.1, … 10^-s; \
                float: a power of two such as 0.0625";
    let value = item.number(hint)?;
    column_type.step(value).ok_or_else(|| {
        item.wrong(&format!("a granularity of a column of type {column_type}"), hint)
    })
}

/// The values that `public_keys` or `known_keys` lists.
fn listed_keys(
    name: &str,
    item: &Item<'_, '_>,
    column_type: ColumnType,
    max_bytes: usize,
) -> Result<Vec<Value>, ContractError> {
    let most = MAX_KEY_BYTES.min(max_bytes);
    let hint = match name {
        "public_keys" => {
            "public_keys = [\"GA\", \"AL\"]: every group to be shown, known without the data"
        }
        _ => "known_keys = [\"GA\", \"AL\"]: groups that are known without the data, among others",
    };
    let items = item.list(hint)?;
    if items.is_empty() || items.len() > MAX_PUBLIC_KEYS {
        return Err(item.error(
            format!(
                "`{name}` lists {} values; from 1 to {MAX_PUBLIC_KEYS} are allowed",
                items.len()
            ),
            format!("leave {name} out to have groups chosen privately"),
        ));
    }
    let mut keys = Vec::with_capacity(items.len());
    for item in &items {
        let text = match item.value {
            toml::de::DeValue::Boolean(b) => b.to_string(),
            toml::de::DeValue::Datetime(d) => d.to_string(),
            _ => item.number_text(&format!("a {column_type}"), hint)?,
        };
        let quoted = matches!(item.value, toml::de::DeValue::String(_));
        let fits = quoted == (column_type == ColumnType::String)
            || matches!(column_type, ColumnType::Date | ColumnType::Timestamp);
        if column_type == ColumnType::String && text.len() > most {
            return Err(item.error(
                format!("`{name}` has a text of {} bytes; at most {most} are allowed", text.len()),
                "group by a shorter column, or by a part of it: longer keys count as NULL",
            ));
        }
        let value = Value::parse(&text, column_type).filter(|_| fits);
        keys.push(value.ok_or_else(|| item.wrong(&format!("a {column_type}"), hint))?);
    }
    let mut seen = std::collections::HashSet::new();
    if let Some((at, _)) = keys.iter().enumerate().find(|(_, k)| !seen.insert(format!("{k:?}"))) {
        return Err(items[at].error(
            format!("`{name}` lists {} twice", items[at].rendered()),
            "list every group once",
        ));
    }
    Ok(keys)
}
