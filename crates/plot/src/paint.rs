//! Where everything is on a chart, and its drawing.

use plotters::drawing::IntoDrawingArea;
use plotters::prelude::DrawingBackend;
use plotters::style::{Color, RGBColor, WHITE};

use crate::axis::AxisRange;
use crate::canvas::{Canvas, failed};
use crate::dot::{Dot, UNIT, dot};
use crate::error::PlotError;
use crate::legend::{Legend, colour};
use crate::overlap::hidden_by;
use crate::text::{Anchor, clean, font_is_known, width};
use crate::thin::{stepped, thinned};
use crate::{Axis, Chart, EMPTY, Series, Style};

/// The page, in points; its height is without the legend.
const WIDTH: u32 = 800;
const HEIGHT: u32 = 488;
/// Height of a mark on a vertical axis.
const MARK: u32 = 17;
/// Most width of the text at a tick of a vertical axis.
const WIDEST: f64 = 240.0;
/// And of a horizontal one.
const WIDEST_BELOW: f64 = 120.0;
const MARGIN: f64 = 14.0;

/// Sizes of text, in points.
const TITLE: f64 = 15.0;
const LABEL: f64 = 12.5;
const TICK: f64 = 11.5;

const GRID: RGBColor = RGBColor(222, 222, 222);
/// Of lines that mark a number on an axis.
const REFERENCE: RGBColor = RGBColor(110, 110, 110);
const FRAME: RGBColor = RGBColor(110, 110, 110);

/// A chart with the positions of all its parts. Lengths are in points, from the upper left.
pub(crate) struct ChartLayout<'a> {
    chart: &'a Chart,
    x: AxisRange,
    y: AxisRange,
    legend: Legend,
    /// Whether no series has a point.
    is_empty: bool,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Without the legend.
    height: u32,
}

impl<'a> ChartLayout<'a> {
    pub(crate) fn new(chart: &'a Chart) -> Result<Self, PlotError> {
        font_is_known()?;
        let points: usize = chart.series.iter().map(|s| s.points.len()).sum();
        let is_empty = chart.is_empty();
        let range = |axis: &Axis, positions: &mut dyn Iterator<Item = f64>| {
            let range = match &axis.marks[..] {
                [] => AxisRange::around(axis.scale, positions),
                marks => AxisRange::marked(axis.scale, marks, positions),
            };
            let empty = || is_empty.then(AxisRange::empty);
            range.or_else(empty).ok_or(PlotError::Nothing { points })
        };
        let drawn = || chart.series.iter().filter(|series| !series.style.is_reference());
        let points = || drawn().flat_map(|series| positions(chart, series));
        let upright = marked(chart, Style::Upright).map(|(x, _)| x);
        let level = marked(chart, Style::Level).map(|(y, _)| y);
        let x = range(&chart.x, &mut points().map(|p| p.0).chain(upright))?;
        let y = range(&chart.y, &mut points().map(|p| p.1).chain(level))?;
        let ticks = y.ticks.iter().map(|(_, label)| width(label, TICK)).fold(0.0, f64::max);
        let ticks = ticks.min(WIDEST);
        let marks = u32::try_from(chart.y.marks.len()).unwrap_or(u32::MAX).min(1_000);
        let height = HEIGHT.max(MARK * marks + 90);
        let label = |axis: &Axis| if axis.label.is_empty() { 0.0 } else { 22.0 };
        let left = MARGIN + label(&chart.y) + ticks + 8.0;
        let right = f64::from(WIDTH) - MARGIN - 12.0;
        let top = MARGIN + if chart.title.is_empty() { 0.0 } else { 24.0 };
        let bottom = f64::from(height) - MARGIN - 20.0 - label(&chart.x);
        let legend = Legend::new(chart, right - left);
        Ok(Self { chart, x, y, legend, is_empty, left, right, top, bottom, height })
    }

    /// Width and height of the page, in points.
    pub(crate) fn size(&self) -> (u32, u32) {
        (WIDTH, self.height + self.legend.height())
    }

    /// Draws it, on a `bitmap` or not.
    pub(crate) fn paint<B: DrawingBackend>(
        &self,
        backend: B,
        bitmap: bool,
    ) -> Result<(), PlotError> {
        let canvas = Canvas { area: backend.into_drawing_area(), bitmap };
        canvas.area.fill(&WHITE).map_err(failed)?;
        self.axes(&canvas)?;
        self.references(&canvas)?;
        let all: Vec<Vec<Dot>> = self.chart.series.iter().map(|s| self.dots(s)).collect();
        let is_line = |series: &Series| series.style != Style::Points;
        let lines = self.chart.series.iter().zip(&all);
        let lines: Vec<&[Dot]> =
            lines.map(|(s, dots)| if is_line(s) { dots.as_slice() } else { &[] }).collect();
        for ((series, dots), above) in self.chart.series.iter().zip(&all).zip(hidden_by(&lines)) {
            canvas.series(series.style, dots, colour(self.chart, series), above)?;
        }
        self.legend.paint(&canvas, self.left, f64::from(self.height) - MARGIN)?;
        canvas.area.present().map_err(failed)
    }

    fn axes<B: DrawingBackend>(&self, canvas: &Canvas<B>) -> Result<(), PlotError> {
        let (left, right, top, bottom) = (self.left, self.right, self.top, self.bottom);
        for (at, label) in &self.x.ticks {
            let x = left + self.x.share(*at) * (right - left);
            canvas.line(&[dot(x, top), dot(x, bottom)], GRID.stroke_width(UNIT / 2))?;
            // The last text may be wider than what is left of the page.
            let half = width(label, TICK).min(WIDEST_BELOW) / 2.0;
            let middle = x.min(f64::from(WIDTH) - 3.0 - half).max(3.0 + half);
            canvas.text(label, (middle, bottom + 12.0), TICK, Anchor::Centre, WIDEST_BELOW)?;
        }
        for (at, label) in &self.y.ticks {
            let y = bottom - self.y.share(*at) * (bottom - top);
            canvas.line(&[dot(left, y), dot(right, y)], GRID.stroke_width(UNIT / 2))?;
            canvas.text(label, (left - 7.0, y), TICK, Anchor::Left, WIDEST)?;
        }
        let frame = [dot(left, top), dot(left, bottom), dot(right, bottom)];
        canvas.line(&frame, FRAME.stroke_width(UNIT))?;

        let (middle, centre) = ((left + right) / 2.0, (top + bottom) / 2.0);
        let width = f64::from(WIDTH) - 2.0 * MARGIN;
        let from_middle = 2.0 * (f64::from(WIDTH) - MARGIN - middle);
        canvas.text(
            &self.chart.title,
            (middle, MARGIN + 6.0),
            TITLE,
            Anchor::Centre,
            from_middle,
        )?;
        canvas.text(&self.chart.x.label, (middle, bottom + 32.0), LABEL, Anchor::Centre, width)?;
        let beside = (MARGIN + 4.0, centre);
        canvas.text(&self.chart.y.label, beside, LABEL, Anchor::Upwards, bottom - top)?;
        match self.is_empty {
            true => canvas.text(EMPTY, (middle, centre), TITLE, Anchor::Centre, right - left),
            false => Ok(()),
        }
    }

    /// Lines at numbers of an axis, with their names.
    fn references<B: DrawingBackend>(&self, canvas: &Canvas<B>) -> Result<(), PlotError> {
        let (left, right, top, bottom) = (self.left, self.right, self.top, self.bottom);
        for (index, (at, name)) in marked(self.chart, Style::Upright).enumerate() {
            let x = left + self.x.share(at) * (right - left);
            let line = [dot(x, top), dot(x, bottom)];
            canvas.series(Style::Dashed, &line, REFERENCE, 0)?;
            // One below the other, as lines may be near each other.
            let y = top + 8.0 + 14.0 * (index % 8) as f64;
            let fits = x + 5.0 + width(&clean(name), TICK) < right;
            let (x, anchor) = if fits { (x + 5.0, Anchor::Right) } else { (x - 5.0, Anchor::Left) };
            canvas.text(name, (x, y), TICK, anchor, right - left)?;
        }
        for (at, name) in marked(self.chart, Style::Level) {
            let y = bottom - self.y.share(at) * (bottom - top);
            canvas.series(Style::Dashed, &[dot(left, y), dot(right, y)], REFERENCE, 0)?;
            // Below the line where there is no room above it.
            let above = y - top > 14.0;
            let y = if above { y - 8.0 } else { y + 9.0 };
            canvas.text(name, (right - 4.0, y), TICK, Anchor::Left, right - left)?;
        }
        Ok(())
    }

    /// The dots of a series' points, or of the corners of its line.
    fn dots(&self, series: &Series) -> Vec<Dot> {
        if series.style.is_reference() {
            return Vec::new();
        }
        let dots: Vec<Dot> = positions(self.chart, series)
            .map(|(x, y)| {
                let across = self.x.share(x) * (self.right - self.left);
                let up = self.y.share(y) * (self.bottom - self.top);
                dot(self.left + across, self.bottom - up)
            })
            .collect();
        let dots = match series.style {
            Style::Steps => stepped(&dots),
            _ => dots,
        };
        thinned(series.style, &dots)
    }
}

/// The positions of reference lines of a style along their axis, with their names.
fn marked(chart: &Chart, style: Style) -> impl Iterator<Item = (f64, &str)> {
    let of_style = chart.series.iter().filter(move |series| series.style == style);
    of_style.flat_map(move |series| {
        let position = move |&(x, y): &(f64, f64)| match style {
            Style::Level => chart.y.scale.position(y),
            _ => chart.x.scale.position(x),
        };
        series.points.iter().filter_map(position).map(|at| (at, series.name.as_str()))
    })
}

/// The points of a series that both axes can show.
fn positions(chart: &Chart, series: &Series) -> impl Iterator<Item = (f64, f64)> {
    let (x, y) = (chart.x.scale, chart.y.scale);
    series.points.iter().filter_map(move |p| Some((x.position(p.0)?, y.position(p.1)?)))
}
