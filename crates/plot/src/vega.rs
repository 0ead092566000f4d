//! Charts as Vega-Lite, for programs that draw themselves: notebooks, Altair, web pages.

use serde_json::{Map, Value, json};

use crate::{Axis, Chart, EMPTY, PlotError, Scale, Series, Style};

/// The version of Vega-Lite that the description is written in.
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v5.json";
/// Points of the page for each name that stands beside a vertical axis.
const LINE: usize = 18;
/// The least height of a chart, in points.
const LEAST_HEIGHT: usize = 240;
/// Points of the page between the outermost values and the ends of an axis.
const PADDING: usize = 10;
/// The width of a chart, in points.
const WIDTH: usize = 480;

impl Chart {
    /// The chart as a specification of Vega-Lite, in JSON: its data are within it. It has the
    /// points that a file of [`draw`](Self::draw) has, one layer for each style.
    ///
    /// # Errors
    /// [`PlotError::Nothing`] if there are points, and none that both axes can show.
    pub fn vega_lite(&self) -> Result<String, PlotError> {
        let drawn = self.series.iter().filter(|s| !s.style.is_reference());
        let is_empty = self.is_empty();
        if !is_empty && !drawn.clone().any(|series| self.points(series).next().is_some()) {
            let points = drawn.map(|series| series.points.len()).sum();
            return Err(PlotError::Nothing { points });
        }
        let styles =
            [Style::Upright, Style::Level, Style::Line, Style::Dashed, Style::Steps, Style::Points];
        let mut layers: Vec<Value> =
            styles.into_iter().filter_map(|style| self.layer(style)).collect();
        if is_empty {
            layers.push(self.layer_of(Style::Points, Vec::new()));
        }
        let title = match is_empty {
            true => json!({ "text": self.title, "subtitle": EMPTY }),
            false => json!(self.title),
        };
        let height = LEAST_HEIGHT.max(LINE * self.y.marks.len());
        let chart = json!({
            "$schema": SCHEMA,
            "title": title,
            "width": WIDTH,
            "height": height,
            "layer": layers,
        });
        Ok(chart.to_string())
    }

    /// The points of a series that both axes can show.
    fn points<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        let can_show = |axis: &Axis, at: f64| axis.scale.position(at).is_some();
        let (x_only, y_only) = (series.style == Style::Upright, series.style == Style::Level);
        series.points.iter().copied().filter(move |(x, y)| {
            (y_only || can_show(&self.x, *x)) && (x_only || can_show(&self.y, *y))
        })
    }

    /// All series of a style.
    fn layer(&self, style: Style) -> Option<Value> {
        let mut rows = Vec::new();
        for (number, series) in self.series.iter().enumerate().filter(|(_, s)| s.style == style) {
            for (order, (x, y)) in self.points(series).enumerate() {
                let mut row = Map::new();
                row.insert("x".to_owned(), json!(x));
                row.insert("y".to_owned(), json!(y));
                row.insert("name".to_owned(), json!(series.name));
                row.insert("series".to_owned(), json!(number));
                row.insert("order".to_owned(), json!(order));
                for (key, axis, at) in [("x_text", &self.x, x), ("y_text", &self.y, y)] {
                    if let Some((_, text)) = axis.marks.iter().find(|(mark, _)| *mark == at) {
                        row.insert(key.to_owned(), json!(text));
                    }
                }
                rows.push(Value::Object(row));
            }
        }
        (!rows.is_empty()).then(|| self.layer_of(style, rows))
    }

    /// A layer of a style with its points.
    fn layer_of(&self, style: Style, rows: Vec<Value>) -> Value {
        let mark = match style {
            Style::Line => json!({ "type": "line" }),
            Style::Dashed => json!({ "type": "line", "strokeDash": [6, 4] }),
            Style::Steps => json!({ "type": "line", "interpolate": "step-after" }),
            Style::Points => json!({ "type": "point", "filled": true, "size": 50, "opacity": 1 }),
            Style::Upright | Style::Level => {
                json!({ "type": "rule", "strokeDash": [4, 4], "color": "gray" })
            }
        };
        let mut encoding = Map::new();
        if style != Style::Level {
            encoding.insert("x".to_owned(), position("x", &self.x));
        }
        if style != Style::Upright {
            encoding.insert("y".to_owned(), position("y", &self.y));
        }
        encoding.insert("tooltip".to_owned(), self.tooltip(style));
        if !style.is_reference() {
            if self.series.iter().any(|s| !s.style.is_reference() && !s.name.is_empty()) {
                let colour = json!({ "field": "name", "type": "nominal", "title": null });
                encoding.insert("color".to_owned(), colour);
            }
            encoding.insert("detail".to_owned(), json!({ "field": "series", "type": "nominal" }));
            let order = json!({ "field": "order", "type": "quantitative" });
            encoding.insert("order".to_owned(), order);
        }
        json!({ "data": { "values": rows }, "mark": mark, "encoding": encoding })
    }

    fn tooltip(&self, style: Style) -> Value {
        let of = |key: &str, axis: &Axis| {
            let title = in_expressions(&axis.label);
            match axis.marks.is_empty() {
                true => json!({ "field": key, "type": "quantitative", "title": title }),
                false => {
                    json!({ "field": format!("{key}_text"), "type": "nominal", "title": title })
                }
            }
        };
        if style.is_reference() {
            return json!([{ "field": "name", "type": "nominal" }]);
        }
        json!([of("x", &self.x), of("y", &self.y)])
    }
}

/// A title that Vega-Lite writes into expressions, as the description of a point and its tooltip.
/// It puts it between quotes, in which it escapes quotes and nothing else.
fn in_expressions(title: &str) -> String {
    let mut escaped = String::new();
    for c in title.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// How an axis places the numbers of a field.
fn position(field: &str, axis: &Axis) -> Value {
    let scale = match axis.scale {
        Scale::Linear => {
            json!({ "zero": false, "nice": axis.marks.is_empty(), "padding": PADDING })
        }
        Scale::Logarithmic => json!({ "type": "log" }),
    };
    let mut position = json!({
        "field": field,
        "type": "quantitative",
        "title": in_expressions(&axis.label),
        "scale": scale,
        "axis": { "title": axis.label },
    });
    if !axis.marks.is_empty() {
        let at: Vec<f64> = axis.marks.iter().map(|(at, _)| *at).collect();
        let texts: Vec<&str> = axis.marks.iter().map(|(_, text)| text.as_str()).collect();
        // Both lists are constants of Vega's expressions, in which JSON is written as it is. Only
        // U+2028 and U+2029 would end a line there.
        let constant = |list: Value| {
            list.to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
        };
        let label =
            format!("({})[indexof({}, datum.value)]", constant(json!(texts)), constant(json!(at)));
        let marks = json!({
            "title": axis.label,
            "values": at,
            "labelExpr": label,
            "labelOverlap": false,
        });
        if let Some(position) = position.as_object_mut() {
            position.insert("axis".to_owned(), marks);
        }
    }
    position
}
