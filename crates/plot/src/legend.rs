//! Colours, and what they stand for.

use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;

use crate::canvas::Canvas;
use crate::dot::dot;
use crate::error::PlotError;
use crate::text::{Anchor, clean, width};
use crate::{Chart, Series, Style};

/// The colours of Okabe & Ito 2008, *Color universal design*, which differ even to those who do not
/// see red or green; without their yellow, which is faint on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// The colour of series without a name.
const GREY: RGBColor = RGBColor(130, 130, 130);

const SIZE: f64 = 12.0;
const ROW: f64 = 19.0;
/// A sample of the line, and what is free before the next entry.
const SAMPLE: f64 = 34.0;
const SPACE: f64 = 22.0;

/// The names of a chart's series, each once, in their order.
fn names(chart: &Chart) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for series in chart.series.iter().filter(|s| !s.name.is_empty() && !s.style.is_reference()) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    names
}

/// The colour of a series of a chart.
pub(crate) fn colour(chart: &Chart, series: &Series) -> RGBColor {
    let named = !series.style.is_reference();
    let index = names(chart).iter().position(|name| named && *name == series.name);
    index.map_or(GREY, |index| COLOURS[index % COLOURS.len()])
}

/// Samples and names, in rows.
pub(crate) struct Legend {
    entries: Vec<LegendEntry>,
    rows: u32,
    width: f64,
}

struct LegendEntry {
    name: String,
    styles: Vec<Style>,
    colour: RGBColor,
    x: f64,
    row: u32,
}

impl Legend {
    /// In rows of at most `most` points, each filled before the next.
    pub(crate) fn new(chart: &Chart, most: f64) -> Self {
        let mut entries: Vec<LegendEntry> = Vec::new();
        let (mut end, mut row) = (0.0, 0);
        for name in names(chart) {
            let has_name = |s: &&Series| s.name == name && !s.style.is_reference();
            let of_name = || chart.series.iter().filter(has_name);
            let Some(first) = of_name().next() else { continue };
            let mut styles: Vec<Style> = of_name().map(|s| s.style).collect();
            styles.dedup();
            let length = SAMPLE + width(&clean(name), SIZE);
            if end > 0.0 && end + length > most {
                (end, row) = (0.0, row + 1);
            }
            let colour = colour(chart, first);
            entries.push(LegendEntry { name: name.to_owned(), styles, colour, x: end, row });
            end += length + SPACE;
        }
        let rows = if entries.is_empty() { 0 } else { row + 1 };
        Self { entries, rows, width: most }
    }

    /// In points.
    pub(crate) fn height(&self) -> u32 {
        self.rows * ROW as u32
    }

    /// Draws it, its upper left being at (left, top).
    pub(crate) fn paint<B: DrawingBackend>(
        &self,
        canvas: &Canvas<B>,
        left: f64,
        top: f64,
    ) -> Result<(), PlotError> {
        for entry in &self.entries {
            let (x, y) = (left + entry.x, top + ROW * (f64::from(entry.row) + 0.5));
            for style in &entry.styles {
                let sample = match style {
                    Style::Points => vec![dot(x + 0.4 * SAMPLE, y)],
                    _ => vec![dot(x, y), dot(x + 0.8 * SAMPLE, y)],
                };
                canvas.series(*style, &sample, entry.colour, 0)?;
            }
            let most = self.width - SAMPLE;
            canvas.text(&entry.name, (x + SAMPLE, y), SIZE, Anchor::Right, most)?;
        }
        Ok(())
    }
}
