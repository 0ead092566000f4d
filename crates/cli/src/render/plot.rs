//! A result as a chart: its first column of noisy numbers, with an error bar for each interval.
//!
//! Dates and amounts are on the horizontal axis; dates that follow each other are joined by a line,
//! for each group of the other keys. Names and codes are below each other, with bars to the right.

mod moments;

use std::collections::BTreeMap;

use hushtable::ColumnIntervals;
use hushtable::arrow::array::{Array, ArrayRef, AsArray};
use hushtable::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use hushtable::visible::visible;
use hushtable_plot::{Axis, Chart, Scale, Series, Style};

use self::moments::{Moments, in_days};
use super::cell::{ResultCell, is_number, rows};
use super::intervals::TableView;
use super::table::cell_text;
use crate::failure::Failure;

/// Most rows that are below each other.
const MOST_NAMES: usize = 60;
/// Most lines.
const MOST_LINES: usize = 8;
/// Larger numbers have no position on an axis.
const MOST: f64 = 1e300;
/// Microseconds of a day.
const DAY: i128 = 86_400_000_000;

/// Last words of names of numbers that stand for something, and are no amounts.
const CODES: [&str; 15] = [
    "ansi", "code", "codes", "fips", "id", "isco", "key", "naics", "nace", "no", "nr", "number",
    "plz", "sic", "zip",
];

/// The words on a chart that its user chooses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChartWords<'a> {
    /// In place of the names of columns.
    pub(crate) title: Option<&'a str>,
    /// The unit of the numbers.
    pub(crate) unit: Option<&'a str>,
}

/// A value with its interval, at a position on the axis of its key.
struct ChartPoint {
    position: f64,
    /// The moment, where the key is one.
    moment: Option<i128>,
    value: f64,
    ends: Option<(f64, f64)>,
}

/// A column of numbers and the keys beside it, from which a chart is drawn.
struct ChartSource<'a> {
    view: &'a TableView<'a>,
    cells: Vec<Vec<ResultCell<'a>>>,
    value: usize,
    keys: Vec<usize>,
    title: String,
    measured: String,
}

/// A result as a chart. Whatever the values are, it can be drawn: without any, the axes alone.
///
/// # Errors
/// When the result has no column of noisy numbers.
pub(crate) fn chart(view: &TableView<'_>, words: ChartWords<'_>) -> Result<Chart, Failure> {
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
    let unit = words.unit.map_or_else(String::new, |unit| format!(" in {}", visible(unit)));
    let measured = format!("{}{unit} (bars: {level} %, noise only)", name_of(value));
    let of_what: Vec<String> = keys.iter().map(|&key| name_of(key)).collect();
    let by = if of_what.is_empty() { String::new() } else { format!(" by {}", of_what.join(", ")) };
    let title = words.title.map_or_else(|| format!("{}{by}", name_of(value)), visible);
    let along = keys.iter().copied().find(|&key| {
        let column = view.table.column(key);
        is_moment(column)
            || (keys.len() == 1
                && is_number(column.data_type())
                && !are_codes(&name_of(key), column))
    });
    let source = ChartSource { view, cells: rows(view.table)?, value, keys, title, measured };
    Ok(match along {
        Some(along) => source.over(along),
        None => source.below(),
    })
}

/// Axes without points, for a result that has no numbers.
pub(crate) fn empty(words: ChartWords<'_>) -> Chart {
    let axis = || Axis { label: String::new(), scale: Scale::Linear, marks: Vec::new() };
    let title = words.title.map_or_else(String::new, visible);
    Chart { title, x: axis(), y: axis(), series: Vec::new() }
}

fn is_moment(column: &ArrayRef) -> bool {
    matches!(column.data_type(), DataType::Date32 | DataType::Timestamp(..))
}

/// Whether numbers stand for something, as an industry's code does: by the column's name, or
/// because they are few whole numbers among many.
fn are_codes(name: &str, column: &ArrayRef) -> bool {
    let mut words = name.rsplit(|c: char| !c.is_alphanumeric());
    let last = words.find(|word| !word.is_empty()).unwrap_or_default().to_lowercase();
    if CODES.contains(&last.as_str()) {
        return true;
    }
    let mut values: Vec<f64> = (0..column.len()).filter_map(|row| number(column, row)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() < 3 || values.len() > MOST_NAMES || values.iter().any(|v| v.fract() != 0.0) {
        return false;
    }
    let mut distances = values.windows(2).map(|pair| pair[1] - pair[0]);
    let first = distances.next().unwrap_or(0.0);
    // Equal steps are an axis, however wide they are.
    if distances.all(|distance| distance == first) {
        return false;
    }
    let range = values.last().unwrap_or(&0.0) - values.first().unwrap_or(&0.0);
    2.0 * values.len() as f64 <= range + 1.0
}

impl ChartSource<'_> {
    /// Along dates or amounts.
    fn over(self, along: usize) -> Chart {
        let column = self.view.table.column(along);
        let mut lines: BTreeMap<String, Vec<ChartPoint>> = BTreeMap::new();
        for row in 0..self.cells.len() {
            let others: Vec<usize> =
                self.keys.iter().copied().filter(|key| *key != along).collect();
            if let Some(position) = number(column, row)
                && let Some(point) = self.point(row, position, moment(column, row))
            {
                lines.entry(self.name(row, &others)).or_default().push(point);
            }
        }
        let moments = Moments::new(lines.values().flatten().filter_map(|p| p.moment).collect());
        let follows = moments.follows();
        let whole = lines.len();
        let title = match whole > MOST_LINES {
            true => format!("{}: {MOST_LINES} of {whole}", self.title),
            false => self.title,
        };
        let mut series = Vec::new();
        for (name, mut points) in lines.into_iter().take(MOST_LINES) {
            points.sort_by(|a, b| a.position.total_cmp(&b.position));
            let dots = |points: &[ChartPoint]| {
                points.iter().map(|p| (p.position, p.value)).collect::<Vec<(f64, f64)>>()
            };
            let line = |style, points| Series { name: name.clone(), style, points };
            series.push(line(Style::Points, dots(&points)));
            let joined = |before: &ChartPoint, after: &ChartPoint| {
                before
                    .moment
                    .zip(after.moment)
                    .is_some_and(|(before, after)| follows(before, after))
            };
            let runs = points.chunk_by(joined).filter(|run| run.len() > 1);
            series.extend(runs.map(|run| line(Style::Line, dots(run))));
            series.extend(points.iter().filter_map(|p| {
                let (low, high) = p.ends?;
                Some(line(Style::Line, vec![(p.position, low), (p.position, high)]))
            }));
        }
        let label = visible(self.view.table.schema().field(along).name());
        Chart {
            title,
            x: Axis { label, scale: Scale::Linear, marks: moments.marks() },
            y: Axis { label: self.measured, scale: Scale::Linear, marks: Vec::new() },
            series,
        }
    }

    /// Below each other, the first row at the top.
    fn below(self) -> Chart {
        let whole = self.cells.len();
        let count = whole.min(MOST_NAMES);
        let title = match whole > count {
            true => format!("{}: the first {count} of {whole}", self.title),
            false => self.title.clone(),
        };
        let (mut marks, mut points) = (Vec::new(), Vec::new());
        for row in 0..count {
            let position = (count - 1 - row) as f64;
            marks.push((position, self.name(row, &self.keys)));
            points.extend(self.point(row, position, None));
        }
        marks.reverse();
        let dots: Vec<(f64, f64)> = points.iter().map(|p| (p.value, p.position)).collect();
        let mut series = vec![Series { name: String::new(), style: Style::Points, points: dots }];
        series.extend(points.iter().filter_map(|p| {
            let (low, high) = p.ends?;
            let points = vec![(low, p.position), (high, p.position)];
            Some(Series { name: String::new(), style: Style::Line, points })
        }));
        let schema = self.view.table.schema();
        let names: Vec<String> =
            self.keys.iter().map(|key| visible(schema.field(*key).name())).collect();
        Chart {
            title,
            x: Axis { label: self.measured, scale: Scale::Linear, marks: Vec::new() },
            y: Axis { label: names.join(", "), scale: Scale::Linear, marks },
            series,
        }
    }

    /// The keys of a row; `all` where it is a total over them.
    fn name(&self, row: usize, keys: &[usize]) -> String {
        let Some(cells) = self.cells.get(row) else { return String::new() };
        let without = self.view.without_keys.get(row).map_or(&[][..], Vec::as_slice);
        let is_total = |key: &usize| {
            without.contains(key) && matches!(cells.get(*key), Some(ResultCell::Null))
        };
        if !keys.is_empty() && keys.iter().all(is_total) {
            return "all".to_owned();
        }
        let names = keys.iter().filter_map(|key| match is_total(key) {
            true => Some("all".to_owned()),
            false => cells.get(*key).map(cell_text),
        });
        names.collect::<Vec<_>>().join(", ")
    }

    fn point(&self, row: usize, position: f64, moment: Option<i128>) -> Option<ChartPoint> {
        let value = number(self.view.table.column(self.value), row)?;
        let ends = match self.view.intervals.columns.get(self.value)? {
            ColumnIntervals::Ends { low, high } => number(low, row).zip(number(high, row)),
            ColumnIntervals::Exact | ColumnIntervals::Without(_) => None,
        };
        Some(ChartPoint { position, moment, value, ends })
    }
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
        _ => in_days(moment(column, row)?),
    };
    (number.abs() <= MOST).then_some(number)
}

/// A moment, in microseconds since 1970.
fn moment(column: &ArrayRef, row: usize) -> Option<i128> {
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::Date32 => {
            Some(i128::from(column.as_primitive_opt::<Date32Type>()?.value(row)) * DAY)
        }
        DataType::Timestamp(..) => {
            Some(i128::from(column.as_primitive_opt::<TimestampMicrosecondType>()?.value(row)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hushtable::TableIntervals;
    use hushtable::arrow::array::{Date32Array, Int64Array, StringViewArray};
    use hushtable::arrow::record_batch::RecordBatch;
    use hushtable::query::IntervalRequest;
    use hushtable_plot::ImageFormat;

    use super::*;

    fn counts(
        keys: Vec<(&str, ArrayRef)>,
        totals: Vec<Vec<usize>>,
        words: ChartWords<'_>,
    ) -> Chart {
        let rows = keys[0].1.len() as i64;
        let of = |first: i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values((0..rows).map(|row| first - 10 * row)))
        };
        let mut columns = vec![ColumnIntervals::Exact; keys.len()];
        columns.push(ColumnIntervals::Ends { low: of(45), high: of(55) });
        let keys = keys.into_iter().chain([("n", of(50))]);
        let keys = keys.map(|(name, column)| (name, column, true));
        let table = RecordBatch::try_from_iter_with_nullable(keys).unwrap();
        let intervals = TableIntervals { wanted: IntervalRequest::USUAL, columns };
        let view = TableView {
            table: &table,
            intervals,
            requested: false,
            published: false,
            not_in_them: &[],
            clipping: &[],
            without_keys: totals,
        };
        chart(&view, words).unwrap()
    }

    fn by(name: &str, key: ArrayRef) -> Chart {
        counts(vec![(name, key)], Vec::new(), ChartWords::default())
    }

    fn names(axis: &Axis) -> Vec<&str> {
        axis.marks.iter().map(|(_, name)| name.as_str()).collect()
    }

    #[test]
    fn names_are_below_each_other_with_error_bars() {
        let plot = by("key", Arc::new(StringViewArray::from(vec!["a", "b", "c"])));
        assert_eq!(plot.title, "n by key");
        assert_eq!(plot.x.label, "n (bars: 95 %, noise only)");
        assert_eq!(names(&plot.y), ["c", "b", "a"]);
        assert_eq!(plot.series[0].points, [(50.0, 2.0), (40.0, 1.0), (30.0, 0.0)]);
        assert_eq!(plot.series[1].points, [(45.0, 2.0), (55.0, 2.0)]);
    }

    #[test]
    fn dates_that_follow_each_other_are_joined_by_a_line() {
        let plot = by("day", Arc::new(Date32Array::from(vec![19_782, 19_785, 19_783])));
        let marks = ["2024-02-29", "2024-03-01", "2024-03-02", "2024-03-03"];
        assert_eq!(names(&plot.x), marks);
        assert_eq!(plot.x.marks[0].0, 19_782.0);
        assert_eq!(plot.series[0].points.len(), 3);
        assert_eq!(plot.series[1].style, Style::Line);
        assert_eq!(plot.series[1].points, [(19_782.0, 50.0), (19_783.0, 30.0)]);
        // The day that is missing is no part of a line; error bars come next.
        assert_eq!(plot.series[2].points, [(19_782.0, 45.0), (19_782.0, 55.0)]);
    }

    #[test]
    fn codes_are_names_and_amounts_are_on_an_axis() {
        let numbers = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
        let industries = by("sector", numbers(&[11, 21, 22, 23, 31, 42, 44, 92]));
        assert_eq!(names(&industries.y), ["92", "44", "42", "31", "23", "22", "21", "11"]);
        assert_eq!(names(&by("state_fips", numbers(&[1, 2, 3])).y), ["3", "2", "1"]);
        for (name, amounts) in [
            ("age", [18, 19, 20, 22]),
            ("year", [1990, 2000, 2010, 2020]),
            ("code_length", [1, 2, 3, 4]),
        ] {
            let plot = by(name, numbers(&amounts));
            assert!(plot.y.marks.is_empty() && plot.x.marks.is_empty(), "{name}");
            assert_eq!(plot.series[0].points[0], (amounts[0] as f64, 50.0));
        }
    }

    #[test]
    fn totals_are_of_all() {
        let text = |values: [Option<&str>; 3]| -> ArrayRef {
            Arc::new(StringViewArray::from(values.to_vec()))
        };
        let towns = text([None, Some("Wick"), Some("Wick")]);
        let products = text([None, None, None]);
        let keys = vec![("town", towns), ("product", products)];
        // The last row has products without a name.
        let totals = vec![vec![0, 1], vec![1], Vec::new()];
        let plot = counts(keys, totals, ChartWords::default());
        assert_eq!(names(&plot.y), ["Wick, NULL", "Wick, all", "all"]);
    }

    #[test]
    fn words_are_chosen_and_nothing_is_drawn_on_axes() {
        let words = ChartWords { title: Some("Customers"), unit: Some("thousands") };
        let no_rows: ArrayRef = Arc::new(StringViewArray::from(Vec::<&str>::new()));
        let plot = counts(vec![("town", no_rows)], Vec::new(), words);
        assert_eq!((plot.title.as_str(), plot.y.label.as_str()), ("Customers", "town"));
        assert_eq!(plot.x.label, "n in thousands (bars: 95 %, noise only)");
        let no_days: ArrayRef = Arc::new(Date32Array::from(vec![None, None]));
        for plot in [plot, by("day", no_days), empty(words)] {
            assert!(plot.is_empty());
            assert!(plot.draw(ImageFormat::Svg).is_ok() && plot.vega_lite().is_ok());
        }
    }
}
