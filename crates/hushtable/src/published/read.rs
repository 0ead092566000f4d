//! Reads published tables from CSV.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hushtable_knowledge::PublishedCount;
use hushtable_lang::Refusal;

use super::{CellKey, KeyColumn, TableCell, Tables};

/// Cells of all tables, at most.
const MOST_CELLS: usize = 1_000_000;

/// Largest count; sums stay far from overflow.
const MOST_COUNT: u64 = 1_000_000_000_000;

/// Reads tables. The column of counts is `count`, or one of that or the name n. Suppressed counts
/// are below `suppressed_below`: counts that are not given, and rows that are missing.
///
/// # Errors
/// When a file cannot be read, or is no table of counts.
pub fn read(
    paths: &[PathBuf],
    count: Option<&str>,
    suppressed_below: Option<u64>,
) -> Result<Tables, Refusal> {
    let mut tables = Tables { names: Vec::new(), columns: Vec::new(), cells: Vec::new() };
    for path in paths {
        read_one(&mut tables, path, count, suppressed_below)?;
    }
    // Columns that a table does not have, and that were met after it.
    let columns = tables.columns.len();
    tables.cells.iter_mut().for_each(|cell| cell.keys.resize(columns, CellKey::All));
    once(&tables)?;
    if let Some(below) = suppressed_below {
        add_missing(&mut tables, below)?;
    }
    Ok(tables)
}

fn read_one(
    tables: &mut Tables,
    path: &Path,
    count: Option<&str>,
    suppressed_below: Option<u64>,
) -> Result<(), Refusal> {
    let shown = path.display();
    let unread = |error: csv::Error| {
        Refusal::new(
            format!("cannot read `{shown}`: {error}"),
            "give a CSV file with a header, key columns and a column of counts",
        )
    };
    let mut reader = csv::Reader::from_path(path).map_err(unread)?;
    // Some programs write a mark of the byte order before the first heading.
    let name = |name: &str| name.trim_start_matches('\u{feff}').trim().to_owned();
    let headings: Vec<String> = reader.headers().map_err(unread)?.iter().map(name).collect();
    let has = |name: &str| headings.iter().position(|h| h.eq_ignore_ascii_case(name));
    let counts = count.map_or_else(|| has("count").or_else(|| has("n")), has).ok_or_else(|| {
        let wanted = count.map_or("`count` or `n`".to_owned(), |name| format!("`{name}`"));
        Refusal::new(
            format!("`{shown}` has no column {wanted} with counts"),
            format!("name it with --count; the columns are {}", headings.join(", ")),
        )
    })?;
    let table = tables.names.len();
    let name = path.file_name().map_or_else(|| shown.to_string(), |n| n.to_string_lossy().into());
    tables.names.push(if tables.names.contains(&name) { shown.to_string() } else { name });
    let mut indices: Vec<Option<usize>> = Vec::new();
    for (index, heading) in headings.iter().enumerate() {
        indices.push((index != counts).then(|| column(tables, heading)));
    }
    let mut values: Vec<HashMap<String, usize>> = tables
        .columns
        .iter()
        .map(|c| c.values.iter().enumerate().map(|(i, v)| (v.clone(), i)).collect())
        .collect();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(unread)?;
        if tables.cells.len() >= MOST_CELLS {
            return Err(too_many());
        }
        let wrong = |what: String, hint: &str| {
            Refusal::new(format!("row {} of `{shown}`: {what}", row + 1), hint)
        };
        let text = record.get(counts).unwrap_or_default().trim();
        let count = counted(text, suppressed_below).map_err(|(what, hint)| wrong(what, hint))?;
        let mut keys = vec![CellKey::All; tables.columns.len()];
        for (index, field) in indices.iter().zip(record.iter()) {
            let Some(index) = *index else { continue };
            let key = key(field.trim(), &mut tables.columns[index], &mut values[index]);
            // A heading that stands twice, or two that are alike.
            if keys[index] != CellKey::All {
                let name = &tables.columns[index].name;
                return Err(wrong(
                    format!("the column `{name}` appears twice"),
                    "give each column a name of its own",
                ));
            }
            keys[index] = key;
        }
        tables.cells.push(TableCell { table, keys, count });
    }
    Ok(())
}

/// The place of a key column.
fn column(tables: &mut Tables, name: &str) -> usize {
    let found = tables.columns.iter().position(|column| column.name == name);
    found.unwrap_or_else(|| {
        tables.columns.push(KeyColumn { name: name.to_owned(), values: Vec::new() });
        tables.columns.len() - 1
    })
}

fn key(text: &str, column: &mut KeyColumn, values: &mut HashMap<String, usize>) -> CellKey {
    if text.is_empty() || text == "*" {
        return CellKey::All;
    }
    let (but, list) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let mut indices: Vec<usize> = list
        .split('|')
        .map(|value| {
            let value = value.trim();
            *values.entry(value.to_owned()).or_insert_with(|| {
                column.values.push(value.to_owned());
                column.values.len() - 1
            })
        })
        .collect();
    indices.sort_unstable();
    indices.dedup();
    if but { CellKey::AllBut(indices) } else { CellKey::Any(indices) }
}

/// A count, or what is known of one that is suppressed.
fn counted(text: &str, below: Option<u64>) -> Result<PublishedCount, (String, &'static str)> {
    if let Ok(count) = text.parse::<u64>() {
        return if count <= MOST_COUNT {
            Ok(PublishedCount::exact(count))
        } else {
            Err((format!("the count {count} is above {MOST_COUNT}"), "counts of records"))
        };
    }
    let limit = text.strip_prefix('<').and_then(|below| below.trim().parse::<u64>().ok());
    if matches!(text, "" | "*" | "-" | "(D)") || limit.is_some() {
        return match limit.or(below) {
            Some(below @ 1..=MOST_COUNT) => Ok(PublishedCount { low: 0, high: below - 1 }),
            _ => Err((
                "the count is suppressed, but no limit is given below which counts are".to_owned(),
                "give it, as in --suppressed-below 5",
            )),
        };
    }
    Err((
        format!("the count `{text}` is not a whole number"),
        "write 12 for a count; nothing, *, -, (D) or <5 for a suppressed one",
    ))
}

fn too_many() -> Refusal {
    Refusal::new(
        format!("there are more than {MOST_CELLS} cells, including suppressed ones"),
        "give fewer tables at a time, or tables with fewer columns",
    )
}

/// Each cell once in a table.
fn once(tables: &Tables) -> Result<(), Refusal> {
    let mut seen = std::collections::HashSet::new();
    match tables.cells.iter().find(|cell| !seen.insert((cell.table, &cell.keys))) {
        None => Ok(()),
        Some(twice) => Err(Refusal::new(
            format!(
                "{} has two rows for {}",
                tables.names.get(twice.table).map_or("a table", String::as_str),
                tables.describe(&twice.keys)
            ),
            "write one row for each combination of keys",
        )),
    }
}

/// Cells that could be in a table by the values that it has, and are not. Only of rows that give
/// single values: what else would be missing nobody can tell.
fn add_missing(tables: &mut Tables, below: u64) -> Result<(), Refusal> {
    let Some(high) = below.checked_sub(1) else { return Ok(()) };
    // By table and columns that are given: the cells that are there.
    let mut margins: HashMap<(usize, Vec<usize>), Vec<Vec<usize>>> = HashMap::new();
    for cell in &tables.cells {
        let Some(single) = single(&cell.keys) else { continue };
        let (columns, values) = single.into_iter().unzip();
        margins.entry((cell.table, columns)).or_default().push(values);
    }
    let mut margins: Vec<_> = margins.into_iter().collect();
    margins.sort_unstable();
    for ((table, columns), rows) in margins {
        let values: Vec<Vec<usize>> = (0..columns.len())
            .map(|index| {
                let mut codes: Vec<usize> = rows.iter().map(|row| row[index]).collect();
                codes.sort_unstable();
                codes.dedup();
                codes
            })
            .collect();
        let all = values.iter().map(Vec::len).fold(1usize, usize::saturating_mul);
        if all - rows.len() > MOST_CELLS - tables.cells.len() {
            return Err(too_many());
        }
        let there: std::collections::HashSet<Vec<usize>> = rows.into_iter().collect();
        for number in 0..all {
            let mut rest = number;
            let mut row = Vec::with_capacity(values.len());
            for choices in &values {
                row.push(choices[rest % choices.len()]);
                rest /= choices.len();
            }
            if !there.contains(&row) {
                let mut keys = vec![CellKey::All; tables.columns.len()];
                for (column, value) in columns.iter().zip(row) {
                    keys[*column] = CellKey::Any(vec![value]);
                }
                tables.cells.push(TableCell {
                    table,
                    keys,
                    count: PublishedCount { low: 0, high },
                });
            }
        }
    }
    Ok(())
}

/// The columns of which a cell gives a single value, with it; `None` if it gives several of one.
pub(super) fn single(keys: &[CellKey]) -> Option<Vec<(usize, usize)>> {
    let given = keys.iter().enumerate().filter(|(_, key)| **key != CellKey::All);
    given
        .map(|(column, key)| match key {
            CellKey::Any(values) => match values.as_slice() {
                [value] => Some((column, *value)),
                _ => None,
            },
            _ => None,
        })
        .collect()
}
