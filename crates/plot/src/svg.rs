//! A chart as SVG.

use plotters::backend::SVGBackend;

use crate::Chart;
use crate::dot::UNIT;
use crate::error::PlotError;
use crate::paint::ChartLayout;

pub(crate) fn draw(chart: &Chart) -> Result<Vec<u8>, PlotError> {
    let layout = ChartLayout::new(chart)?;
    let (width, height) = layout.size();
    let mut text = String::new();
    layout.paint(SVGBackend::with_string(&mut text, (width * UNIT, height * UNIT)), false)?;
    // The library draws on whole numbers: a finer grid, shown smaller, gives smooth curves.
    let size = |unit: u32| format!("width=\"{}\" height=\"{}\"", width * unit, height * unit);
    Ok(text.replacen(&size(UNIT), &size(1), 1).into_bytes())
}
