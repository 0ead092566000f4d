//! Words on a chart.

use std::sync::OnceLock;

use epaint_default_fonts::UBUNTU_LIGHT;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    FontDesc, FontFamily, FontStyle, FontTransform, IntoFont, RGBColor, TextStyle, register_font,
};

use crate::dot::UNIT;
use crate::error::PlotError;

/// Text is black, or what comes near it.
const INK: RGBColor = RGBColor(30, 30, 30);

/// Makes the font known to the library, once. Its widths also place the words of an SVG, which its
/// reader's own font draws.
pub(crate) fn font_is_known() -> Result<(), PlotError> {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    let known =
        *KNOWN.get_or_init(|| register_font("sans-serif", FontStyle::Normal, UBUNTU_LIGHT).is_ok());
    known.then_some(()).ok_or_else(|| PlotError::Drawing("its font is damaged".to_owned()))
}

/// Where the text stands relative to its position.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    /// On both sides of it, above and below.
    Centre,
    /// To its right.
    Right,
    /// To its left.
    Left,
    /// On both sides, to be read from below.
    Upwards,
}

/// Text of a size in points.
pub(crate) fn style(size: f64, anchor: Anchor) -> TextStyle<'static> {
    // The library takes a line's height, which is 1.24 of the letters' size.
    let size = size * 1.24 * f64::from(UNIT);
    let font: FontDesc<'static> = (FontFamily::SansSerif, size).into_font();
    let (horizontal, font) = match anchor {
        Anchor::Centre => (HPos::Center, font),
        Anchor::Right => (HPos::Left, font),
        Anchor::Left => (HPos::Right, font),
        Anchor::Upwards => (HPos::Center, font.transform(FontTransform::Rotate270)),
    };
    TextStyle::from(font).color(&INK).pos(Pos::new(horizontal, VPos::Center))
}

/// Text without what XML does not allow, on one line.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            '\u{FFFE}' | '\u{FFFF}' => char::REPLACEMENT_CHARACTER,
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// The width of text of a size, in points.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    // An estimate fails without a font only, and there is one.
    let dots = style(size, Anchor::Centre).font.box_size(text).map_or(0, |(width, _)| width);
    f64::from(dots) / f64::from(UNIT)
}
