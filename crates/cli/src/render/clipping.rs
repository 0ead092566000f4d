//! Clipping reports: the shares that limits cut off, as they were released.

use hushtable::{ClippedShare, ClippingReport};

use super::grid::{Alignment, TextGrid, visible};
use super::pretty_json;
use crate::failure::Failure;

/// The reports in lines for people; nothing where there are none.
pub(crate) fn note(reports: &[ClippingReport]) -> String {
    let mut out = String::new();
    for ClippingReport { of, shares } in reports {
        let of_parts = match reports {
            [_] => String::new(),
            _ => format!(" of {}", of.join(", ")),
        };
        let mut grid = TextGrid::new([
            ("", Alignment::Left),
            ("share", Alignment::Right),
            ("from", Alignment::Right),
            ("to", Alignment::Right),
        ]);
        for ClippedShare { what, share, low, high } in shares {
            grid.push([visible(what), percent(*share), percent(*low), percent(*high)]);
        }
        out += &format!(
            "clipping report{of_parts}: noisy shares, each within from and to with 95 %\n{}",
            grid.text(2)
        );
    }
    out
}

/// The reports as JSON on one line, for the metadata of a file; `None` where there are none.
pub(super) fn json(reports: &[ClippingReport]) -> Result<Option<String>, Failure> {
    if reports.is_empty() { Ok(None) } else { pretty_json(&reports).map(Some) }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}
