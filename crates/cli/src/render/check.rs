//! The findings of a check, as text. About the exact data: every form of it says so.

use std::fmt::Write;

use hushtable::{
    CheckReport, ColumnCheck, ContributionLimit, CutOff, Forms, GroupsCheck, KeysCheck, QueryCheck,
    Spread, TableCheck,
};
use serde::Serialize;

use super::assess::wrapped_at;
use super::audit::CONFIDENTIAL;
use super::grid::{Alignment, TextGrid, visible};
use super::number::{exact, number};
use super::pretty_json;
use crate::failure::Failure;

/// Most forms of a column that are listed in text; JSON has more.
const MOST_FORMS: usize = 3;

/// Most listed keys without a row that are named in text; JSON has all.
const MOST_KEYS: usize = 5;

/// Longest name of a column in a table of them.
const LONGEST: usize = 24;

/// Columns of the page.
const WIDTH: usize = 80;

/// The warning below what to change.
const PUBLIC: &str = "Analysts see the contract. Set what you could have said without the data: \
                      a bound or a list of keys that is taken from the data reveals \
                      something about it.";

#[derive(Serialize)]
struct CheckFindings<'a> {
    confidential: bool,
    #[serde(flatten)]
    report: &'a CheckReport,
}

/// The findings as JSON.
pub(crate) fn json(report: &CheckReport) -> Result<String, Failure> {
    pretty_json(&CheckFindings { confidential: true, report })
}

/// The findings as text.
pub(crate) fn text(report: &CheckReport) -> String {
    let mut out = format!("{CONFIDENTIAL}\n");
    for table in &report.tables {
        let _ = write!(out, "\n{}", of_table(table));
    }
    if report.tables.iter().any(|table| !table.advice.is_empty()) {
        let _ = write!(out, "\n{}", wrapped_at(PUBLIC, WIDTH));
    }
    out
}

fn of_table(table: &TableCheck) -> String {
    let mut facts = TextGrid::pairs();
    facts.push(["files", &count(table.files as u64)]);
    facts.push(["rows", &count(table.rows)]);
    if table.ragged_rows > 0 {
        let ragged = number_and_share(table.ragged_rows, table.rows);
        let ragged = format!("{ragged}; more or fewer fields than the header line");
        facts.push(["ragged rows", &ragged]);
    }
    if table.unclosed_quotes > 0 {
        let unclosed = number_and_share(table.unclosed_quotes, table.rows);
        facts.push(["unclosed quotes", &format!("{unclosed}; such fields end with a line")]);
    }
    if table.lines_not_objects > 0 {
        let lines = number_and_share(table.lines_not_objects, table.rows);
        facts.push(["lines that are no object", &format!("{lines}; rows without a value")]);
    }
    match (&table.rows_per_unit, table.units) {
        (None, Some(_)) => facts.push(["privacy units", "every row is one"]),
        (_, None) => facts.push(["privacy units", &visible(&table.privacy_unit)]),
        (Some(spread), Some(units)) => {
            let units = format!("{}, by {}", count(units), visible(&table.privacy_unit));
            facts.push(["privacy units", &units]);
            if table.rows_without_unit > 0 {
                let without = number_and_share(table.rows_without_unit, table.rows);
                facts.push(["rows without a unit", &format!("{without}; they count for nothing")]);
            }
            facts.push(["rows per unit", &spread_text(spread)]);
        }
    }
    let mut out = format!("Check of {}\n{}", visible(&table.table), facts.text(2));
    out += &columns(table);
    out += &misfits(&table.columns);
    out += &ranges(&table.columns);
    for column in &table.columns {
        if let Some(keys) = &column.keys {
            out += &keys_text(&column.name, keys, table.rows);
        }
    }
    out += &table.query.as_ref().map(query).unwrap_or_default();
    out += &advice(table);
    out
}

fn columns(table: &TableCheck) -> String {
    let mut grid = TextGrid::new([
        ("column", Alignment::Left),
        ("type", Alignment::Left),
        ("NULL", Alignment::Right),
        ("does not fit", Alignment::Right),
    ])
    .underlined();
    for column in &table.columns {
        let kind = if column.computed { ", computed" } else { "" };
        grid.push([
            name(&column.name),
            format!("{}{kind}", column.column_type),
            number_and_share(column.nulls, table.rows),
            number_and_share(column.do_not_fit, table.rows),
        ]);
    }
    format!("\nColumns\n{}", grid.text(2))
}

fn misfits(columns: &[ColumnCheck]) -> String {
    let mut grid =
        TextGrid::new([("", Alignment::Left), ("", Alignment::Right), ("", Alignment::Left)]);
    for column in columns.iter().filter(|column| column.do_not_fit > 0) {
        forms(&mut grid, &name(&column.name), &column.forms);
    }
    match grid.text(2) {
        text if text.is_empty() => text,
        text => format!(
            "\nForms of what does not fit (digits as 9, letters as a or A); \
             it counts as NULL\n{text}"
        ),
    }
}

/// Adds the most frequent forms: the name, how many values have the form, the form.
fn forms(grid: &mut TextGrid, name: &str, forms: &Forms) {
    let frequent = forms.most_frequent.iter().take(MOST_FORMS);
    let mut others = forms.others;
    others += forms.most_frequent.iter().skip(MOST_FORMS).map(|form| form.values).sum::<u64>();
    let mut name = name.to_owned();
    for form in frequent {
        let quoted = format!("\"{}\"", visible(&form.form));
        grid.push([std::mem::take(&mut name), count(form.values), quoted]);
    }
    if others > 0 {
        grid.push([std::mem::take(&mut name), count(others), "other forms".to_owned()]);
    }
}

fn ranges(columns: &[ColumnCheck]) -> String {
    let mut grid = TextGrid::new([
        ("column", Alignment::Left),
        ("smallest", Alignment::Right),
        ("1 %", Alignment::Right),
        ("median", Alignment::Right),
        ("99 %", Alignment::Right),
        ("largest", Alignment::Right),
        ("bounds", Alignment::Right),
        ("rows outside", Alignment::Right),
    ])
    .underlined();
    let mut any = false;
    for column in columns {
        let Some(range) = column.range.as_ref().filter(|range| !range.quantiles.is_empty()) else {
            continue;
        };
        any = true;
        let at = |share: f64, shown: fn(f64) -> String| {
            let quantile = range.quantiles.iter().find(|(level, _)| *level == share);
            quantile.map_or_else(String::new, |(_, value)| shown(*value))
        };
        let (bounds, outside) = match range.bounds {
            Some(bounds) => (pair(bounds), count(range.below + range.above)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let [first, median, last] = [0.01, 0.5, 0.99].map(|share| at(share, short));
        let cells = [at(0.0, exact), first, median, last, at(1.0, exact), bounds, outside];
        grid.push(std::iter::once(name(&column.name)).chain(cells));
    }
    if any { format!("\nValues of numbers, row by row\n{}", grid.text(2)) } else { String::new() }
}

fn keys_text(column: &str, keys: &KeysCheck, rows: u64) -> String {
    let kind = if keys.public { "public_keys" } else { "known_keys" };
    let mut grid = TextGrid::pairs();
    let listed = format!("{} listed", count(keys.listed as u64));
    let without = keys.without_rows.len();
    let named: Vec<String> =
        keys.without_rows.iter().take(MOST_KEYS).map(|key| visible(&cut(key))).collect();
    let more = if without > MOST_KEYS { ", …" } else { "" };
    let without = match without {
        0 => "; all of them have rows".to_owned(),
        n => format!("; {} without a row: {}{more}", count(n as u64), named.join(", ")),
    };
    grid.push(["values", &(listed + &without)]);
    grid.push(["rows with a listed value", &number_and_share(keys.rows_listed, rows)]);
    let left_out = if keys.public { "; queries by it leave them out" } else { "" };
    grid.push([
        "rows with another value",
        &(number_and_share(keys.rows_not_listed, rows) + left_out),
    ]);
    if keys.rows_nearly_listed > 0 {
        let nearly = number_and_share(keys.rows_nearly_listed, rows);
        grid.push(["", &format!("{nearly} differ in letter case or spaces alone")]);
    }
    if !keys.forms.is_empty() {
        let examples = keys.forms.most_frequent.iter().take(MOST_FORMS);
        let examples: Vec<String> =
            examples.map(|f| format!("\"{}\" ({})", visible(&f.form), count(f.values))).collect();
        grid.push(["forms of other values", &examples.join(", ")]);
    }
    if let Some(spread) = &keys.per_unit {
        grid.push(["listed values per unit", &spread_text(spread)]);
    }
    format!("\nKeys of {} ({kind})\n{}", visible(column), grid.text(2))
}

fn query(query: &QueryCheck) -> String {
    let mut facts = TextGrid::pairs();
    facts.push(["rows that count", &count(query.rows)]);
    facts.push(["privacy units", &count(query.units)]);
    facts.push(["groups per unit", &spread_text(&query.groups_per_unit)]);
    facts.push(["rows per unit and group", &spread_text(&query.rows_per_group)]);
    if let Some(rows) = query.max_rows_joined {
        let rows = format!("{}, others are cut off", number(f64::from(rows)));
        facts.push(["most rows of a unit on a side of a join", &rows]);
    }
    let mut grid = TextGrid::new([
        ("measurement", Alignment::Left),
        ("limit", Alignment::Left),
        ("units touched", Alignment::Right),
        ("of the total", Alignment::Right),
    ])
    .underlined();
    for cut in &query.cut_off {
        grid.push([
            visible(&cut.measurement),
            limit(cut),
            percent(cut.share_of_units),
            percent(cut.share_of_total),
        ]);
    }
    let cut = if query.cut_off.is_empty() {
        "  nothing: no limit applies\n".to_owned()
    } else {
        grid.text(2)
    };
    format!(
        "\nThe query\n{}\nWhat its limits cut off, one after the other\n{cut}\nGroups\n{}",
        facts.text(2),
        groups(&query.groups)
    )
}

fn limit(cut: &CutOff) -> String {
    let most = cut.allowed.1;
    match cut.limit {
        ContributionLimit::GroupsPerUnit => format!("{} groups per unit", number(most)),
        ContributionLimit::RowsPerGroup => format!("{} rows per unit and group", number(most)),
        ContributionLimit::BoundsPerGroup => format!("{} per unit and group", pair(cut.allowed)),
        ContributionLimit::BoundsPerRow => format!("{} per row", pair(cut.allowed)),
        ContributionLimit::BoundsOfMean => {
            format!("mean of {} per unit and group", pair(cut.allowed))
        }
    }
}

fn groups(groups: &GroupsCheck) -> String {
    let mut facts = TextGrid::pairs();
    facts.push(["groups with a unit", &count(groups.in_data as u64)]);
    let (Some(half), Some(most)) = (groups.shown_half, groups.shown_95) else {
        facts.push(["shown", &format!("{}, whatever the data", count(groups.known as u64))]);
        return facts.text(2);
    };
    if groups.known > 0 {
        facts.push(["known without the data", &count(groups.known as u64)]);
    }
    let least = if groups.at_least { "at least " } else { "" };
    let expected = number((groups.expected * 10.0).round() / 10.0);
    let share = percent(groups.share_of_contributions);
    facts.push([
        "expected to be shown",
        &format!("{least}{expected}, with {share} of what units add"),
    ]);
    let sizes = format!(
        "half of the time with {} {}, 95 % of the time with {}",
        count(half),
        groups.sizes_in,
        count(most)
    );
    facts.push(["a group is shown", &sizes]);
    facts.text(2)
}

fn advice(table: &TableCheck) -> String {
    if table.advice.is_empty() {
        return "\nWhat to change\n  nothing that this check looks at\n".to_owned();
    }
    let mut out = "\nWhat to change\n".to_owned();
    for (index, advice) in table.advice.iter().enumerate() {
        let text = format!("{}: {}. {}.", advice.about, advice.found, capital(&advice.change));
        out += &indented(&visible(&text), &format!("{}. ", index + 1));
    }
    out
}

/// Lines that are as wide as the page, the first after a number.
fn indented(text: &str, first: &str) -> String {
    let blanks = " ".repeat(2 + first.len());
    let lines = wrapped_at(text, WIDTH - blanks.len());
    let mut lines = lines.lines();
    let mut out = format!("  {first}{}\n", lines.next().unwrap_or_default());
    for line in lines {
        let _ = writeln!(out, "{blanks}{line}");
    }
    out
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

fn spread_text(spread: &Spread) -> String {
    let Spread { median, at_95, at_99, largest } = spread;
    let [median, at_95, at_99, largest] = [median, at_95, at_99, largest].map(|n| count(*n));
    format!("median {median}, 95 % {at_95}, 99 % {at_99}, largest {largest}")
}

fn pair((low, high): (f64, f64)) -> String {
    format!("{} to {}", exact(low), exact(high))
}

fn count(number_of: u64) -> String {
    number(number_of as f64)
}

/// A number of three digits, as a sketch is no more precise.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return number(value);
    }
    number(format!("{value:.2e}").parse().unwrap_or(value))
}

/// `120 (8 %)`, or `0`.
fn number_and_share(counted: u64, whole: u64) -> String {
    match counted {
        0 => "0".to_owned(),
        n => format!("{} ({})", count(n), percent(n as f64 / whole.max(1) as f64)),
    }
}

/// A share in percent; no share above zero is shown as zero.
fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p > 0.0 && p < 0.1 => "<0.1 %".to_owned(),
        p if p < 99.95 => format!("{} %", number((p * 10.0).round() / 10.0)),
        p if p < 100.0 => ">99.9 %".to_owned(),
        p => format!("{} %", number(p.round())),
    }
}

fn name(text: &str) -> String {
    visible(&cut(text))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
