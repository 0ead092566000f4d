//! Splitting thresholds of a column.

use hushtable_lang::{ColumnType, MAX_KEY_BYTES, Value};
use hushtable_numbers::Number;

use super::read::{ContractError, Item};
use super::{Column, Split, SplitBy};

const HINT: &str = "split = 10_000: the size up to which a record loses no more than a query's \
     rho; or split = { by = \"sector\", default = 10_000, values = { mining = 50_000 } }";

/// Most values with a threshold of their own.
const MAX_VALUES: usize = 10_000;

/// Reads `split` of a column; `columns` are all columns of the table.
pub(super) fn split(
    item: &Item<'_, '_>,
    column: &Column,
    columns: &[Column],
) -> Result<Split, ContractError> {
    if !column.column_type.is_numeric() {
        return Err(item.error(
            format!(
                "`split` is set on a column of type {}, which cannot be summed",
                column.column_type
            ),
            "leave split out: it is for int, decimal and float columns",
        ));
    }
    if !matches!(item.value, toml::de::DeValue::Table(_)) {
        return Ok(Split { default: threshold(item)?, by: None });
    }
    let settings = item.section("`split`", HINT)?;
    settings.only(&["by", "default", "values"])?;
    let by = settings.required("by", HINT)?;
    let name = by.text("the name of a column", HINT)?;
    let other = columns
        .iter()
        .find(|c| c.name == name)
        .ok_or_else(|| by.error(format!("`by` = \"{name}\" is not a column of the table"), HINT))?;
    if other.name == column.name {
        return Err(by.error(
            format!("`by` = \"{name}\" is the column itself"),
            "name another column, such as a sector: a threshold never depends on the value that \
             it is for",
        ));
    }
    if other.column_type == ColumnType::Float {
        return Err(by.error(
            format!("`by` = \"{name}\" is a column of floats"),
            "use a column of whole numbers, text or dates",
        ));
    }
    let default = threshold(&settings.required("default", HINT)?)?;
    let listed = settings.required("values", HINT)?;
    let items: Vec<_> = listed.section("`values`", HINT)?.items().collect();
    if items.is_empty() || items.len() > MAX_VALUES {
        return Err(listed.error(
            format!("`values` lists {} values; from 1 to {MAX_VALUES} are allowed", items.len()),
            HINT,
        ));
    }
    let mut values: Vec<(Value, Number)> = Vec::with_capacity(items.len());
    for (text, item) in items {
        let fits = text.len() <= MAX_KEY_BYTES;
        let value = Value::parse(text, other.column_type).filter(|_| fits).ok_or_else(|| {
            item.error(
                format!(
                    "`{text}` is not a value of type {}, as those of `{name}` are",
                    other.column_type
                ),
                HINT,
            )
        })?;
        if values.iter().any(|(earlier, _)| *earlier == value) {
            return Err(item.error(format!("`values` lists `{text}` twice"), "list it once"));
        }
        values.push((value, threshold(&item)?));
    }
    Ok(Split { default, by: Some(SplitBy { column: name.to_owned(), values }) })
}

fn threshold(item: &Item<'_, '_>) -> Result<Number, ContractError> {
    let threshold = item.number(HINT)?;
    if threshold <= Number::whole(0) {
        return Err(item.wrong("a threshold above 0", HINT));
    }
    Ok(threshold)
}
