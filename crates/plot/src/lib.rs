//! Charts as SVG, PNG and Vega-Lite, from plain numbers.
//!
//! A [`Chart`] is a title, two [`Axis`] and some [`Series`] of points; [`Chart::draw`] gives the
//! bytes of a file, and [`Chart::vega_lite`] a description for programs that draw themselves. SVG
//! and PNG have the same drawing, with a font that comes with the crate, so that it is the same on
//! every machine. Nothing here knows what the numbers are about.

mod axis;
mod canvas;
mod dot;
mod error;
mod format;
mod legend;
mod overlap;
mod paint;
mod png;
mod svg;
mod text;
mod thin;
mod vega;

pub use error::PlotError;
pub use format::ImageFormat;

/// The words on a chart without points.
const EMPTY: &str = "nothing to show";

/// A chart: series of points over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Stands above the chart; may be empty.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// The series, drawn in their order: later ones above earlier ones. Where lines lie on each
    /// other, earlier ones are wider, so that all are seen.
    pub series: Vec<Series>,
}

/// One of a chart's axes. Its range is that of the points, rounded outwards to a tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The name of the quantity, with its unit; may be empty.
    pub label: String,
    /// How they are placed.
    pub scale: Scale,
    /// The numbers that are marked, rising, with their texts: names or dates. Without any, round
    /// numbers are. On a vertical axis the page grows with them.
    pub marks: Vec<(f64, String)>,
}

/// How numbers are placed along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences, equal distances.
    Linear,
    /// Equal ratios, equal distances. Only numbers above 0 have a position.
    Logarithmic,
}

/// Points that belong together.
///
/// Series of the same name have the same colour and one place in the legend, as a curve and the
/// points that are marked on it; those without a name have none.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How the points are drawn.
    pub style: Style,
    /// (x, y), in the order in which they are joined. Points that an axis cannot show (not finite,
    /// beyond 1e300, not above 0 on a logarithmic axis) are left out, and their neighbours joined.
    pub points: Vec<(f64, f64)>,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line through them.
    Line,
    /// A dashed line through them.
    Dashed,
    /// Constant from each point to the next, as a cumulative distribution.
    Steps,
    /// A dot at each.
    Points,
    /// A grey dashed line from the bottom to the top at each point's x, with the name beside it. It
    /// is not in the legend.
    Upright,
    /// A grey dashed line from left to right at each point's y, with the name above it. It is not
    /// in the legend.
    Level,
}

impl Style {
    /// Whether it marks a number on an axis, and no points.
    fn is_reference(self) -> bool {
        matches!(self, Self::Upright | Self::Level)
    }
}

impl Chart {
    /// The bytes of a file that shows the chart. SVG is 800 points wide, PNG twice as many pixels;
    /// the height is 500 points and grows with the legend. A chart without points has axes, and
    /// says so.
    ///
    /// # Errors
    /// [`PlotError::Nothing`] if there are points, and none that both axes can show.
    pub fn draw(&self, format: ImageFormat) -> Result<Vec<u8>, PlotError> {
        match format {
            ImageFormat::Svg => svg::draw(self),
            ImageFormat::Png => png::draw(self),
        }
    }

    /// Whether no series has a point.
    pub fn is_empty(&self) -> bool {
        let mut drawn = self.series.iter().filter(|series| !series.style.is_reference());
        drawn.all(|series| series.points.is_empty())
    }
}

#[cfg(test)]
mod tests;
