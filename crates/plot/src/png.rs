//! A chart as PNG.

use plotters::backend::BitMapBackend;

use crate::Chart;
use crate::dot::UNIT;
use crate::error::PlotError;
use crate::paint::ChartLayout;

/// Dots of the drawing in each direction that become one pixel.
const DOTS: u32 = 2;

pub(crate) fn draw(chart: &Chart) -> Result<Vec<u8>, PlotError> {
    let layout = ChartLayout::new(chart)?;
    let (width, height) = layout.size();
    let (width, height) = (width * UNIT, height * UNIT);
    let mut dots = vec![255; (width * height * 3) as usize];
    layout.paint(BitMapBackend::with_buffer(&mut dots, (width, height)), true)?;
    let pixels = averaged(&dots, width as usize);

    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width / DOTS, height / DOTS);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    written.map_err(|e| PlotError::Drawing(e.to_string()))?;
    Ok(bytes)
}

/// Means of squares of dots, which makes edges smooth.
fn averaged(dots: &[u8], width: usize) -> Vec<u8> {
    let side = DOTS as usize;
    let mut pixels = Vec::with_capacity(dots.len() / (side * side));
    for rows in dots.chunks_exact(3 * width * side) {
        for column in (0..width).step_by(side) {
            for colour in 0..3 {
                let offsets = (0..side * side).map(|i| (i / side) * width + column + i % side);
                let sum: usize = offsets.map(|at| usize::from(rows[3 * at + colour])).sum();
                pixels.push((sum / (side * side)) as u8);
            }
        }
    }
    pixels
}
