//! The widths of all combinations of two noises, from those in a few directions.
//!
//! A ratio's interval asks for the width of M - t N at many t, and each takes long where M and N
//! are sums of many draws. The width is a norm of the coefficients (see `linear`), so that of a
//! vector between two directions is at most the sum of those of its parts along them.

use std::f64::consts::PI;
use std::sync::OnceLock;

/// Directions in half a turn. Between two of them, the bound of a Euclidean norm is too wide by
/// 8e-5 at most, and that of a norm with edges by a hundredth or two.
const DIRECTIONS: usize = 128;

/// Angle from one direction to the next.
const ANGLE: f64 = PI / DIRECTIONS as f64;

/// Widths of u M + v N for noises M and N, found when they are first needed.
#[derive(Debug)]
pub(super) struct Plane {
    /// The widths of M and N.
    axes: [f64; 2],
    widths: Vec<OnceLock<Option<f64>>>,
}

impl Plane {
    /// The plane of two noises that have these widths.
    pub(super) fn new(axes: [f64; 2]) -> Option<Self> {
        let usable = axes.iter().all(|width| width.is_finite() && *width > 0.0);
        let widths = std::iter::repeat_with(OnceLock::new).take(DIRECTIONS).collect();
        usable.then_some(Self { axes, widths })
    }

    /// An upper bound of the width of u M + v N, by `width`, which gives that of any combination.
    pub(super) fn width(
        &self,
        [u, v]: [f64; 2],
        width: impl Fn([f64; 2]) -> Option<f64>,
    ) -> Option<f64> {
        // In units of the axes' widths, so that directions are spread evenly.
        let (x, y) = (u * self.axes[0], v * self.axes[1]);
        let angle = y.atan2(x).rem_euclid(PI);
        let before = ((angle / ANGLE) as usize).min(DIRECTIONS - 1);
        let of_direction = |index: usize| {
            // Half a turn is the first direction again, the other way round.
            let (cos, sin) = direction(index);
            let find = || width([cos / self.axes[0], sin / self.axes[1]]);
            *self.widths.get(index % DIRECTIONS)?.get_or_init(find)
        };
        let (length, rest) = (x.hypot(y), angle - before as f64 * ANGLE);
        let along = (ANGLE - rest).sin() / ANGLE.sin();
        let beside = rest.sin() / ANGLE.sin();
        let total = along.abs() * of_direction(before)? + beside.abs() * of_direction(before + 1)?;
        Some(length * total)
    }
}

/// The cosine and the sine of a direction's angle.
fn direction(index: usize) -> (f64, f64) {
    let (sin, cos) = ((index % DIRECTIONS) as f64 * ANGLE).sin_cos();
    (cos, sin)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of norms that are known, widths are never below the exact ones, and hardly above.
    #[test]
    fn widths_are_upper_bounds_and_near() {
        let norms: [fn(f64, f64) -> f64; 3] = [
            |u, v| u.hypot(v),
            |u, v| u.abs() + 3.0 * v.abs(),
            // Draws that both share.
            |u, v| (u + 0.5 * v).abs().max((0.1 * u - 20.0 * v).abs()) + 0.2 * v.abs(),
        ];
        for norm in norms {
            let plane = Plane::new([norm(1.0, 0.0), norm(0.0, 1.0)]).unwrap();
            for step in 0..10_000 {
                let angle = f64::from(step) * 0.001;
                let (u, v) = (7.0 * angle.cos(), 0.3 * angle.sin());
                let got = plane.width([u, v], |[u, v]| Some(norm(u, v))).unwrap();
                let exact = norm(u, v);
                assert!(got >= exact * (1.0 - 1e-12), "{u} {v}: {got} {exact}");
                assert!(got <= exact * 1.02, "{u} {v}: {got} {exact}");
            }
        }
        let euclidean = Plane::new([1.0, 1.0]).unwrap();
        let got = euclidean.width([0.6, 0.8], |[u, v]| Some(u.hypot(v))).unwrap();
        assert!((1.0..1.0 + 8e-5).contains(&got), "{got}");
    }

    #[test]
    fn noises_without_a_width_have_no_plane() {
        assert!(Plane::new([0.0, 1.0]).is_none());
        assert!(Plane::new([1.0, f64::INFINITY]).is_none());
    }
}
