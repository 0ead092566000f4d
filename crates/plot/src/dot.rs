//! Points of a drawing.

/// Dots of the drawing per point of the page.
pub(crate) const UNIT: u32 = 4;

/// A position on the drawing, in its smallest units.
pub(crate) type Dot = (i32, i32);

/// Converts a position from points to dots.
pub(crate) fn dot(x: f64, y: f64) -> Dot {
    let unit = f64::from(UNIT);
    ((x * unit).round() as i32, (y * unit).round() as i32)
}
