//! A result as a chart: its first column of noisy numbers, with an error bar for each interval.
//!
//! Dates and numbers are on the horizontal axis; dates are joined by a line, for each group of the
//! other keys. Names are below each other, with bars to the right.

use std::collections::BTreeMap;

use hushtable::ColumnIntervals;
use hushtable::arrow::array::{Array, ArrayRef, AsArray};
use hushtable::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use hushtable::visible::visible;
use hushtable_plot::{Axis, Chart, Scale, Series, Style};

use super::cell::{is_number, rows};
use super::intervals::TableView;
use super::table::cell_text;
use crate::failure::Failure;

/// Most rows that are below each other.
const MOST_NAMES: usize = 60;
/// Most lines.
const MOST_LINES: usize = 8;
/// About as many dates are marked.
const MARKS: usize = 7;

/// A value with its interval, at a position on the axis of its key.
struct PlottedPoint {
    position: f64,
    value: f64,
    ends: Option<(f64, f64)>,
}

/// A result as a chart.
pub(crate) fn chart(view: &TableView<'_>) -> Result<Chart, Failure> {
    let schema = view.table.schema();
    let noisy = |column: &usize| {
        let intervals = view.intervals.columns.get(*column);
        let field = schema.fields().get(*column);
        field.is_some_and(|f| is_number(f.data_type()))
            && intervals.is_some_and(|intervals| !matches!(intervals, ColumnIntervals::Exact))
    };
    let Some(value) = (0..schema.fields().len()).find(noisy) else {
        return Err(Failure::new(
            "a chart draws a column of noisy numbers, but the result has none",
            "add COUNT(*), SUM(x) or AVG(x) to SELECT; the answer without a plot is on record, \
             and asking again is free",
        ));
    };
    let keys: Vec<usize> = (0..schema.fields().len())
        .filter(|column| {
            matches!(view.intervals.columns.get(*column), Some(ColumnIntervals::Exact))
        })
        .collect();
    let name_of = |column: usize| visible(schema.fields().get(column).map_or("", |f| f.name()));
    let level = view.intervals.wanted.level;
    let measured = format!("{} (bars: {level} %, noise only)", name_of(value));
    let along = keys.iter().copied().find(|&key| {
        let column = view.table.column(key);
        is_moment(column) || (keys.len() == 1 && is_number(column.data_type()))
    });
    let of_what: Vec<String> = keys.iter().map(|&key| name_of(key)).collect();
    let by = if of_what.is_empty() { String::new() } else { format!(" by {}", of_what.join(", ")) };
    let title = format!("{}{by}", name_of(value));
    match along {
        Some(along) => over(view, (value, along), &keys, (title, measured)),
        None => below(view, value, &keys, (title, measured)),
    }
}

fn is_moment(column: &ArrayRef) -> bool {
    matches!(column.data_type(), DataType::Date32 | DataType::Timestamp(..))
}

/// Along dates or numbers.
fn over(
    view: &TableView<'_>,
    (value, along): (usize, usize),
    keys: &[usize],
    (title, measured): (String, String),
) -> Result<Chart, Failure> {
    let cells = rows(view.table)?;
    let column = view.table.column(along);
    let mut lines: BTreeMap<String, Vec<PlottedPoint>> = BTreeMap::new();
    let mut marks: BTreeMap<i64, (f64, String)> = BTreeMap::new();
    for (row, cells) in cells.iter().enumerate() {
        let others = keys.iter().filter(|key| **key != along);
        let name = others.filter_map(|key| cells.get(*key)).map(cell_text).collect::<Vec<_>>();
        let (Some(position), Some(cell)) = (number(column, row), cells.get(along)) else {
            continue;
        };
        if let Some(point) = point(view, value, row, position) {
            lines.entry(name.join(", ")).or_default().push(point);
            marks.insert(position as i64, (position, cell_text(cell)));
        }
    }
    let dated = is_moment(column);
    let marks: Vec<(f64, String)> = match dated {
        true => marks.into_values().collect(),
        false => Vec::new(),
    };
    let every = marks.len().div_ceil(MARKS).max(1);
    let marks = marks.into_iter().step_by(every).collect();
    let whole = lines.len();
    let title =
        if whole > MOST_LINES { format!("{title}: {MOST_LINES} of {whole}") } else { title };
    let mut series = Vec::new();
    for (name, mut points) in lines.into_iter().take(MOST_LINES) {
        points.sort_by(|a, b| a.position.total_cmp(&b.position));
        let all: Vec<(f64, f64)> = points.iter().map(|p| (p.position, p.value)).collect();
        let line = |style, points| Series { name: name.clone(), style, points };
        series.push(line(Style::Points, all.clone()));
        if dated {
            series.push(line(Style::Line, all));
        }
        series.extend(points.iter().filter_map(|p| {
            let (low, high) = p.ends?;
            Some(line(Style::Line, vec![(p.position, low), (p.position, high)]))
        }));
    }
    let x = visible(view.table.schema().field(along).name());
    Ok(Chart {
        title,
        x: Axis { label: x, scale: Scale::Linear, marks },
        y: Axis { label: measured, scale: Scale::Linear, marks: Vec::new() },
        series,
    })
}

/// Below each other, the first row at the top.
fn below(
    view: &TableView<'_>,
    value: usize,
    keys: &[usize],
    (title, measured): (String, String),
) -> Result<Chart, Failure> {
    let cells = rows(view.table)?;
    let whole = cells.len();
    let count = whole.min(MOST_NAMES);
    let title =
        if whole > count { format!("{title}: the first {count} of {whole}") } else { title };
    let (mut marks, mut points) = (Vec::new(), Vec::new());
    for (row, cells) in cells.iter().take(count).enumerate() {
        let position = (count - 1 - row) as f64;
        let names: Vec<String> =
            keys.iter().filter_map(|key| cells.get(*key)).map(cell_text).collect();
        marks.push((position, names.join(", ")));
        points.extend(point(view, value, row, position));
    }
    marks.reverse();
    let mut series = vec![Series {
        name: String::new(),
        style: Style::Points,
        points: points.iter().map(|p| (p.value, p.position)).collect(),
    }];
    series.extend(points.iter().filter_map(|p| {
        let (low, high) = p.ends?;
        let points = vec![(low, p.position), (high, p.position)];
        Some(Series { name: String::new(), style: Style::Line, points })
    }));
    let names: Vec<String> =
        keys.iter().map(|key| visible(view.table.schema().field(*key).name())).collect();
    Ok(Chart {
        title,
        x: Axis { label: measured, scale: Scale::Linear, marks: Vec::new() },
        y: Axis { label: names.join(", "), scale: Scale::Linear, marks },
        series,
    })
}

fn point(view: &TableView<'_>, column: usize, row: usize, position: f64) -> Option<PlottedPoint> {
    let value = number(view.table.column(column), row)?;
    let ends = match view.intervals.columns.get(column)? {
        ColumnIntervals::Ends { low, high } => number(low, row).zip(number(high, row)),
        ColumnIntervals::Exact | ColumnIntervals::Without(_) => None,
    };
    Some(PlottedPoint { position, value, ends })
}

/// A number, or a moment as days since 1970.
fn number(column: &ArrayRef, row: usize) -> Option<f64> {
    if column.is_null(row) {
        return None;
    }
    let number = match column.data_type() {
        DataType::Int64 => column.as_primitive_opt::<Int64Type>()?.value(row) as f64,
        DataType::Float64 => column.as_primitive_opt::<Float64Type>()?.value(row),
        DataType::Decimal128(_, scale) => {
            let digits = column.as_primitive_opt::<Decimal128Type>()?.value(row) as f64;
            digits / 10f64.powi(i32::from(*scale))
        }
        DataType::Date32 => f64::from(column.as_primitive_opt::<Date32Type>()?.value(row)),
        DataType::Timestamp(..) => {
            column.as_primitive_opt::<TimestampMicrosecondType>()?.value(row) as f64 / 86_400e6
        }
        _ => return None,
    };
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hushtable::TableIntervals;
    use hushtable::arrow::array::{Date32Array, Int64Array, StringViewArray};
    use hushtable::arrow::record_batch::RecordBatch;
    use hushtable::query::IntervalRequest;

    use super::*;

    fn counts(key: ArrayRef) -> Chart {
        let of = |values: [i64; 3]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
        let columns = [("key", key, true), ("n", of([50, 40, 30]), true)];
        let table = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let ends = ColumnIntervals::Ends { low: of([45, 35, 25]), high: of([55, 45, 35]) };
        let columns = vec![ColumnIntervals::Exact, ends];
        let intervals = TableIntervals { wanted: IntervalRequest::USUAL, columns };
        chart(&TableView {
            table: &table,
            intervals,
            requested: false,
            published: false,
            not_in_them: &[],
            clipping: &[],
        })
        .unwrap()
    }

    #[test]
    fn names_are_below_each_other_with_error_bars() {
        let plot = counts(Arc::new(StringViewArray::from(vec!["a", "b", "c"])));
        assert_eq!(plot.title, "n by key");
        assert_eq!(plot.x.label, "n (bars: 95 %, noise only)");
        let marks: Vec<&str> = plot.y.marks.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(marks, ["c", "b", "a"]);
        assert_eq!(plot.series[0].points, [(50.0, 2.0), (40.0, 1.0), (30.0, 0.0)]);
        assert_eq!(plot.series[1].points, [(45.0, 2.0), (55.0, 2.0)]);
    }

    #[test]
    fn dates_are_joined_by_a_line() {
        let plot = counts(Arc::new(Date32Array::from(vec![19_782, 19_784, 19_783])));
        assert_eq!(plot.x.marks[0], (19_782.0, "2024-02-29".to_owned()));
        assert_eq!(plot.series[1].style, Style::Line);
        assert_eq!(plot.series[1].points, [(19_782.0, 50.0), (19_783.0, 30.0), (19_784.0, 40.0)]);
        assert_eq!(plot.series[2].points, [(19_782.0, 45.0), (19_782.0, 55.0)]);
    }
}
