//! Changes to make, in words, with the line of the contract or the option of the query.

use std::collections::BTreeSet;

use hushtable_contract::{CsvSettings, Table, TableUnit};
use hushtable_lang::ColumnType;

use super::forms::Forms;
use super::report::{
    Advice, ColumnCheck, ContributionLimit, CutOff, KeysCheck, QueryCheck, RangeCheck, TableCheck,
};
use crate::owner::audit::coarse;

/// Shares below this are not worth a change.
const NOTABLE: f64 = 0.01;

/// Bounds at least this many times as wide as the values are worth a change.
const WIDE: f64 = 10.0;

/// Changes to make in a table, its columns and the query.
pub(super) fn of(table: &Table, identifying: &BTreeSet<&str>, report: &TableCheck) -> Vec<Advice> {
    let mut all = Vec::new();
    let mut say = |about: &str, found: String, change: String| {
        all.push(Advice { about: about.to_owned(), found, change });
    };
    if report.rows == 0 {
        say(&report.table, "there is no row".into(), "see whether `path` is right".into());
        return all;
    }
    odd_rows_advice(report, &mut say);
    if report.rows_without_unit > 0 {
        say(
            &report.privacy_unit,
            format!(
                "{} of the rows have no privacy unit and count for nothing",
                percent(report.rows_without_unit, report.rows)
            ),
            "fill the column in the files; where its values do not fit, declare it as \
             `type = \"string\"`, which keeps every text"
                .into(),
        );
    }
    for column in &report.columns {
        let identifying = identifying.contains(column.name.as_str());
        column_advice(table, column, identifying, report.rows, &mut say);
    }
    if let Some(query) = &report.query {
        query_advice(table, query, &mut say);
    }
    all
}

type Say<'a> = dyn FnMut(&str, String, String) + 'a;

/// Where rows are not what was written, no setting of a column helps.
fn odd_rows_advice(report: &TableCheck, say: &mut Say<'_>) {
    const PARQUET: &str = "where rows come from the people that they are about, write the table as \
                           Parquet: there no row can change how another one is read";
    if report.unclosed_quotes > 0 {
        let found = format!(
            "{} of the rows have a field in quotes that do not end within its `max_bytes`; it \
             swallows the lines up to there",
            percent(report.unclosed_quotes, report.rows)
        );
        let change = format!(
            "{PARQUET}; else write quotes within texts twice, set `quote = \"\"` where fields are \
             never quoted, or a larger `max_bytes` (of the column, or of `csv` for those that are \
             not declared as string) where texts are longer"
        );
        say(&report.table, found, change);
    }
    if report.ragged_rows > 0 {
        let found = format!(
            "{} of the rows have more or fewer fields than the header line",
            percent(report.ragged_rows, report.rows)
        );
        let change = format!(
            "see whether `delimiter` and `quote` are right, and whether texts with a delimiter or \
             a line end stand in quotes; {PARQUET}"
        );
        say(&report.table, found, change);
    }
    if report.lines_not_objects > 0 {
        let found = format!(
            "{} of the lines are not one JSON object of at most 1 MiB and 128 levels, and have no \
             value",
            percent(report.lines_not_objects, report.rows)
        );
        let change = "write each object on a line of its own, with line ends within texts as `\\n`";
        say(&report.table, found, change.to_owned());
    }
}

fn column_advice(
    table: &Table,
    column: &ColumnCheck,
    identifying: bool,
    rows: u64,
    say: &mut Say<'_>,
) {
    let name = &column.name;
    if identifying && column.written_otherwise > 0 {
        let found = format!(
            "{} of the rows write a value in another way, as `007` or `+7` are 7; these could \
             be several units, and count as NULL",
            percent(column.written_otherwise, rows)
        );
        let change = "`type = \"string\"`, under which every text is another unit; or write all \
                      values in one way, as `CAST(… AS STRING)` does";
        say(name, found, change.into());
    }
    if column.do_not_fit > column.written_otherwise {
        let found = format!(
            "{} of the rows have a value that is no {}; it counts as NULL",
            percent(column.do_not_fit - column.written_otherwise, rows),
            column.column_type
        );
        let declared = table.columns.iter().find(|other| other.name == *name);
        let csv = table.csv.clone().unwrap_or_default();
        say(name, found, mend(declared.map(|declared| declared.column_type), &column.forms, &csv));
    }
    let missing = column.nulls + column.do_not_fit;
    if missing > 0 && table.columns.iter().any(|other| other.name == *name && other.not_null) {
        let found = format!(
            "{} of the rows have no value, and the contract says `not_null`: sums count them as \
             zero, within the bounds, and COUNT({name}) counts them",
            percent(missing, rows)
        );
        say(name, found, "not_null = false, or fill the column in the files".into());
    }
    if column.nulls == rows {
        let found = "no row has a value".to_owned();
        let change = match column.computed {
            true => "see whether the expression does what it should",
            false => "leave the column out of the contract, or fill it in the files",
        };
        say(name, found, change.into());
    }
    if let Some(range) = &column.range {
        range_advice(name, range, rows, say);
    }
    if let Some(keys) = &column.keys {
        keys_advice(name, keys, rows, say);
    }
}

/// The remedy for values that do not fit, by their most frequent form. It is none that `csv` has
/// already.
fn mend(column_type: Option<ColumnType>, forms: &Forms, csv: &CsvSettings) -> String {
    let (values, numbers) = (csv.values(), csv.values().numbers());
    let form = forms.most_frequent.first().map_or("", |count| count.form.as_str());
    let has = |c: char| form.contains(c);
    let number = column_type.is_some_and(ColumnType::is_numeric);
    let sign = ["€", "$", "£", "¥"].into_iter().find(|sign| form.contains(sign));
    let currency = format!("currency = [\"{}\"]", sign.unwrap_or("€"));
    let (likely, setting) =
        if has('\u{fffd}') && csv.encoding() == CsvSettings::default().encoding() {
            ("the text is not UTF-8: ", "encoding = \"windows-1252\"")
        } else if number && has('9') && has(',') && numbers.decimal() != ',' {
            let likely = "they look like numbers with decimal commas or thousands separators: ";
            (likely, "decimal = \",\", thousands = \".\"")
        } else if number
            && has('9')
            && sign.is_some_and(|sign| !numbers.currency().iter().any(|known| known == sign))
        {
            ("they look like numbers with the sign of a currency: ", currency.as_str())
        } else if number && has('9') && has('.') && column_type == Some(ColumnType::Int) {
            let likely = "they look like numbers with a fraction, for which `type = \"float\"` or \
                      `type = \"decimal(2)\"` is right; or ";
            (likely, "")
        } else if matches!(column_type, Some(ColumnType::Date | ColumnType::Timestamp))
            && has('9')
            && values.dates().is_none()
        {
            ("they look like dates that are written in another way: ", "dates = \"DMY\"")
        } else if !has('9') && column_type != Some(ColumnType::String) {
            let likely = "they look like marks for a missing value, and may stay NULL; or ";
            let listed = if values.null().is_empty() { "null = [\"NA\"]" } else { "null" };
            (likely, listed)
        } else {
            ("", "")
        };
    let csv = match setting {
        "" => String::new(),
        "null" => "; or list them in `null` of `csv`, too".to_owned(),
        setting => format!("; or say how CSV files have them, as in `csv = {{ {setting} }}`"),
    };
    format!("{likely}write them as the type has it, or declare another `type`{csv}")
}

fn range_advice(name: &str, range: &RangeCheck, rows: u64, say: &mut Say<'_>) {
    let Some((low, high)) = range.bounds else { return };
    let outside = range.below + range.above;
    let at = |share: f64| {
        range.quantiles.iter().find(|(quantile, _)| *quantile == share).map(|(_, v)| *v)
    };
    let (Some(least), Some(most)) = (at(0.01), at(0.99)) else { return };
    let bounds = (round(least.min(0.0)), round(most.max(0.0)));
    if bounds == (low, high) {
        return;
    }
    let suggested = format!("`bounds = {}`", pair(bounds.0, bounds.1));
    if outside as f64 >= NOTABLE * rows as f64 {
        let found = format!(
            "{} of the rows have a value outside of the bounds, which are clamped",
            percent(outside, rows)
        );
        say(name, found, format!("{suggested} holds the middle 98 % of the values"));
    }
    let (reach, bound) = (least.abs().max(most.abs()), low.abs().max(high.abs()));
    if reach * WIDE <= bound && bound.is_finite() {
        let found = format!(
            "99 % of the values are within {}, and noise is made for {}",
            grouped(reach),
            grouped(bound)
        );
        say(name, found, format!("{suggested} needs less noise"));
    }
}

fn keys_advice(name: &str, keys: &KeysCheck, rows: u64, say: &mut Say<'_>) {
    if !keys.public || keys.rows_not_listed == 0 {
        return;
    }
    let found = format!(
        "{} of the rows have a value that `public_keys` does not list; \
         queries by it leave them out",
        percent(keys.rows_not_listed, rows)
    );
    let nearly = match keys.rows_nearly_listed {
        0 => String::new(),
        _ => format!(
            "{} of the rows differ from a listed value only in letter case or spaces: mend the \
             files, or group by a computed column, `expression = \"UPPER(TRIM({name}))\"`, with \
             public keys of its own; ",
            percent(keys.rows_nearly_listed, rows)
        ),
    };
    let change = format!(
        "{nearly}list what is public knowledge, or leave `public_keys` out (or name them \
         `known_keys`) to have other groups chosen privately"
    );
    say(name, found, change);
}

fn query_advice(table: &Table, query: &QueryCheck, say: &mut Say<'_>) {
    if query.rows == 0 {
        say("the query", "no row counts for it".into(), "see whether WHERE is right".into());
        return;
    }
    groups_per_unit_advice(query, say);
    for cut in &query.cut_off {
        match cut.limit {
            ContributionLimit::GroupsPerUnit => {}
            ContributionLimit::RowsPerGroup => rows_advice(table, query, cut, say),
            ContributionLimit::BoundsPerGroup => bounds_advice(table, cut, say),
            ContributionLimit::BoundsPerRow | ContributionLimit::BoundsOfMean => {
                let (what, name) = match cut.limit {
                    ContributionLimit::BoundsOfMean => {
                        ("means of units", "contribution_bounds_per_group")
                    }
                    _ => ("values", "bounds` of the column or `contribution_bounds_per_row"),
                };
                if cut.share_of_total >= NOTABLE {
                    say(
                        &cut.measurement,
                        format!("{} of the {what} are clamped to the range", shared(cut)),
                        format!(
                            "a wider range in `{name}`, if more than the tails of the {what} are \
                             outside of it"
                        ),
                    );
                }
            }
        }
    }
    let groups = &query.groups;
    let in_data = groups.in_data as f64;
    if groups.shown_half.is_none() && groups.in_data < groups.known {
        let found = format!(
            "{} of {} public groups have no row",
            groups.known.saturating_sub(groups.in_data),
            groups.known
        );
        say("groups", found, "they show noise alone; list fewer keys, or group by fewer".into());
    }
    if let Some(size) = groups.shown_half
        && groups.share_of_contributions < 0.9
    {
        let found = format!(
            "of {} groups, {} are expected to be shown, with {} of all contributions; \
             a group of {} {} is shown half of the time",
            grouped(in_data),
            grouped(groups.expected),
            percent_of(groups.share_of_contributions),
            grouped(size as f64),
            groups.sizes_in,
        );
        let change = "group by something coarser; a larger epsilon, rho or delta; fewer groups per \
                      unit; or `public_keys`, if the groups are public knowledge";
        say("groups", found, change.into());
    }
}

fn groups_per_unit_advice(query: &QueryCheck, say: &mut Say<'_>) {
    let by_groups =
        query.cut_off.iter().filter(|cut| cut.limit == ContributionLimit::GroupsPerUnit);
    let Some(worst) = by_groups.max_by(|a, b| a.share_of_total.total_cmp(&b.share_of_total)) else {
        return;
    };
    let (limit, spread) = (u64::from(query.max_groups_contributed), query.groups_per_unit);
    if worst.share_of_total >= NOTABLE {
        let found = format!(
            "{} of the units are in more groups, and {} of `{}` is cut off",
            percent_of(worst.share_of_units),
            shared(worst),
            worst.measurement
        );
        let change = format!(
            "`max_groups_contributed = {}` holds all groups of 95 % of the units, and needs more \
             noise in each",
            spread.at_95.max(limit + 1)
        );
        say("max_groups_contributed", found, change);
    } else if spread.largest > 0 && spread.largest < limit {
        let found =
            format!("no unit is in more than {} of the {limit} groups allowed", spread.largest);
        let change = format!("`max_groups_contributed = {}` needs less noise", spread.largest);
        say("max_groups_contributed", found, change);
    }
}

fn rows_advice(table: &Table, query: &QueryCheck, cut: &CutOff, say: &mut Say<'_>) {
    if table.unit == TableUnit::Row {
        return;
    }
    let spread = query.rows_per_group;
    if cut.share_of_total >= NOTABLE {
        let found = format!(
            "{} of the units have more rows in a group, and {} is cut off",
            percent_of(cut.share_of_units),
            shared(cut)
        );
        let change = format!(
            "`max_rows_per_group = {}` holds all rows of 95 % of the units' groups, and needs more \
             noise",
            spread.at_95.max(cut.allowed.1 as u64 + 1)
        );
        say(&cut.measurement, found, change);
    } else if (spread.largest as f64) < cut.allowed.1 {
        let found = format!(
            "no unit has more than {} of the {} rows in a group that are allowed",
            spread.largest,
            digits(cut.allowed.1)
        );
        let change = format!("`max_rows_per_group = {}` needs less noise", spread.largest);
        say(&cut.measurement, found, change);
    }
}

fn bounds_advice(table: &Table, cut: &CutOff, say: &mut Say<'_>) {
    let setting = match table.unit {
        TableUnit::Row | TableUnit::Public => "bounds",
        TableUnit::Column(_) | TableUnit::Through { .. } => "sum_bounds",
    };
    let at =
        |share: f64| cut.quantiles.iter().find(|(quantile, _)| *quantile == share).map(|(_, v)| *v);
    let (Some(least), Some(most)) = (at(0.01), at(0.95)) else { return };
    let bounds = (round(least.min(0.0)), round(most.max(0.0)));
    if bounds == cut.allowed {
        return;
    }
    let suggested = pair(bounds.0, bounds.1);
    let (reach, bound) =
        (least.abs().max(most.abs()), cut.allowed.0.abs().max(cut.allowed.1.abs()));
    if cut.share_of_total >= NOTABLE {
        let found = format!(
            "the bounds touch {} of the units and cut off {} of the total",
            percent_of(cut.share_of_units),
            shared(cut)
        );
        let change = format!(
            "`{setting} = {suggested}` of the column, or `contribution_bounds_per_group`, \
             holds what 95 % of the units add to a group"
        );
        say(&cut.measurement, found, change);
    } else if reach * WIDE <= bound {
        let found = format!(
            "95 % of the units add {} or less to a group, and noise is made for {}",
            grouped(reach),
            grouped(bound)
        );
        say(&cut.measurement, found, format!("`{setting} = {suggested}` needs less noise"));
    }
}

fn shared(cut: &CutOff) -> String {
    percent_of(cut.share_of_total)
}

fn percent(amount: u64, whole: u64) -> String {
    percent_of(amount as f64 / whole.max(1) as f64)
}

/// A share in percent, with two digits; no share above zero is shown as zero.
fn percent_of(share: f64) -> String {
    match share * 100.0 {
        p if p > 0.0 && p < 0.1 => "under 0.1 %".to_owned(),
        p if p < 10.0 => format!("{} %", (p * 10.0).round() / 10.0),
        p => format!("{} %", p.round()),
    }
}

/// The number with three digits.
fn digits(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let unit = 10f64.powi(number.abs().log10().floor() as i32 - 2);
    let rounded = (number / unit).round();
    // Dividing by a power of ten is nearer to a short decimal than multiplying by its inverse.
    if unit < 1.0 { rounded / (1.0 / unit).round() } else { rounded * unit }.to_string()
}

/// The next of 1, 2 and 5 times a power of ten that is not nearer to zero.
fn round(number: f64) -> f64 {
    // A number that a sketch has rounded up is no reason to round further.
    number.signum() * coarse(number.abs() * (1.0 - 0.0007))
}

/// The number with three digits, and a comma after every three digits of a whole number.
fn grouped(number: f64) -> String {
    let text = digits(number);
    let whole = text.trim_start_matches('-');
    if whole.len() < 4 || !whole.bytes().all(|b| b.is_ascii_digit()) {
        return text;
    }
    let mut out = text[..text.len() - whole.len()].to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn pair(low: f64, high: f64) -> String {
    format!("[{}, {}]", digits(low + 0.0), digits(high + 0.0))
}

#[cfg(test)]
mod tests {
    use hushtable_contract::{DateOrder, NumberFormat, TextFormat};

    use super::super::forms::FormCount;
    use super::*;

    #[test]
    fn nothing_is_proposed_that_is_set() {
        let mended = |form: &str, csv: &CsvSettings| {
            let count = FormCount { form: form.to_owned(), values: 1 };
            let forms = Forms { most_frequent: vec![count], others: 0 };
            let to =
                if form.matches('.').count() == 2 { ColumnType::Date } else { ColumnType::Float };
            mend(Some(to), &forms, csv)
        };
        let plain = CsvSettings::default();
        let numbers = NumberFormat::new(',', Some('.'), vec!["€".to_owned()]).unwrap();
        let values =
            TextFormat::new(vec!["k.A.".to_owned()], numbers, Some(DateOrder::DayMonthYear))
                .unwrap();
        let set = CsvSettings::new(';', Some('"'), "windows-1252", values).unwrap();
        for (form, setting) in [
            ("9\u{fffd}", "encoding"),
            ("9,99 %", "decimal"),
            ("9 €", "currency"),
            ("99.99.9999", "dates"),
            ("aa", "null = [\"NA\"]"),
        ] {
            assert!(mended(form, &plain).contains(setting), "{form}");
            assert!(!mended(form, &set).contains(setting), "{form}: {}", mended(form, &set));
        }
        assert!(mended("9 $", &set).contains("currency = [\"$\"]"));
        assert!(mended("aa", &set).contains("in `null` of `csv`, too"));
        let range = |quantiles: &[(f64, f64)]| RangeCheck {
            bounds: Some((0.0, 500.0)),
            below: 0,
            above: 5,
            quantiles: quantiles.to_vec(),
        };
        let mut found = Vec::new();
        let mut say = |_: &str, _, change| found.push(change);
        range_advice("x", &range(&[(0.01, 0.0), (0.99, 480.0)]), 100, &mut say);
        range_advice("x", &range(&[(0.01, 0.0), (0.99, 800.0)]), 100, &mut say);
        assert_eq!(found, ["`bounds = [0, 1000]` holds the middle 98 % of the values"]);
    }

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (0.0, "0"),
            (2.6187, "2.62"),
            (0.012_345, "0.0123"),
            (87.0, "87"),
            (999.7, "1,000"),
            (1_234_567.0, "1,230,000"),
            (-5000.0, "-5,000"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(pair(round(-0.0), round(30.25)), "[0, 50]");
        assert_eq!(pair(round(-1234.0), round(100.05)), "[-2000, 100]");
        for (share, text) in [
            (0.0, "0 %"),
            (1e-9, "under 0.1 %"),
            (0.0149, "1.5 %"),
            (0.333, "33 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent_of(share), text);
        }
    }
}
