//! The area of a drawing, and its lines, dots and texts.

use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::element::{Circle, Drawable, PathElement, PointCollection, Text};
use plotters::prelude::DrawingBackend;
use plotters::style::{Color, RGBColor, ShapeStyle};

use crate::Style;
use crate::dot::{Dot, UNIT, dot};
use crate::error::PlotError;
use crate::text::{Anchor, clean, style, width};
use crate::thin::{along, dashed};

pub(crate) fn failed<E: std::error::Error + Send + Sync>(
    error: DrawingAreaErrorKind<E>,
) -> PlotError {
    PlotError::Drawing(error.to_string())
}

/// The area of a drawing.
pub(crate) struct Canvas<B: DrawingBackend> {
    pub(crate) area: DrawingArea<B, Shift>,
    /// Whether the library makes dots itself. There it fills wide lines as polygons, which have
    /// holes where corners are many and are thinner in some directions, and places text by the
    /// height of a line.
    pub(crate) bitmap: bool,
}

impl<B: DrawingBackend> Canvas<B> {
    pub(crate) fn draw<E>(&self, element: &E) -> Result<(), PlotError>
    where
        for<'e> &'e E: PointCollection<'e, Dot>,
        E: Drawable<B>,
    {
        self.area.draw(element).map_err(failed)
    }

    /// Points in the manner of a series; `above` is the number of lines that lie over its own.
    pub(crate) fn series(
        &self,
        style: Style,
        dots: &[Dot],
        colour: RGBColor,
        above: u32,
    ) -> Result<(), PlotError> {
        let stroke = colour.stroke_width(2 * UNIT - 1 + 2 * UNIT * above);
        match (style, dots) {
            // A line through one point.
            (Style::Points, _) | (_, [_]) => dots
                .iter()
                .try_for_each(|at| self.draw(&Circle::new(*at, 4 * UNIT - 2, colour.filled()))),
            (Style::Upright | Style::Level, _) => Ok(()),
            (Style::Line | Style::Steps, _) => self.line(dots, stroke),
            (Style::Dashed, _) => {
                let [dash, gap] = [7.0, 4.0].map(|points| points * f64::from(UNIT));
                dashed(dots, dash, gap).iter().try_for_each(|piece| self.line(piece, stroke))
            }
        }
    }

    pub(crate) fn line(&self, dots: &[Dot], stroke: ShapeStyle) -> Result<(), PlotError> {
        if !self.bitmap {
            return self.draw(&PathElement::new(dots, stroke));
        }
        let brush = stroke.color.filled();
        for pair in dots.windows(2) {
            if pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1 {
                self.draw(&PathElement::new(pair, stroke))?;
                continue;
            }
            for at in along(pair[0], pair[1]) {
                self.draw(&Circle::new(at, stroke.stroke_width / 2, brush))?;
            }
        }
        let corners = dots.get(1..dots.len().saturating_sub(1)).unwrap_or_default();
        corners
            .iter()
            .try_for_each(|at| self.draw(&Circle::new(*at, stroke.stroke_width / 2, brush)))
    }

    /// Draws text at a position in points, made smaller if it would be wider than `most`.
    pub(crate) fn text(
        &self,
        text: &str,
        (x, y): (f64, f64),
        size: f64,
        anchor: Anchor,
        most: f64,
    ) -> Result<(), PlotError> {
        if text.is_empty() {
            return Ok(());
        }
        let text = clean(text);
        let size = size * (most / width(&text, size).max(most));
        let lower = if self.bitmap { 0.2 * size } else { 0.0 };
        let (x, y) = match anchor {
            Anchor::Upwards => (x + lower, y),
            _ => (x, y + lower),
        };
        self.draw(&Text::new(text, dot(x, y), style(size, anchor)))
    }
}
