//! The law of a sum of independent Laplace variables of any scales.
//!
//! It is computed on a grid of step g. A variable of scale s that is rounded to it has at each
//! point at most cosh(g/2s) times the probability of a discrete Laplace variable, and that is the
//! difference of two geometric ones, which are summed by a recursion of positive terms, so that
//! tails have all their digits. Rounding moves each by g/2 at most. A scale far below the largest,
//! S, stays outside of the grid: tails fall no faster than e^(-x/S), so that it multiplies them by
//! E e^(|X|/S) = 1/(1 - s/S) at most.

use std::sync::Arc;

/// Most Laplace variables whose sum's law is computed.
pub(crate) const MOST_TERMS: usize = 24;

/// Points of the grid on which the law of a sum of noises is computed, for the largest scale.
const FINENESS: f64 = 256.0;

/// Points of the grid for widths that are needed often.
const COARSE: f64 = 16.0;

/// Tails below this count as equal.
const LEAST_TAIL: f64 = 1e-30;

/// The law on the grid.
#[derive(Clone, Debug)]
pub(crate) struct LaplaceSum {
    step: f64,
    /// P\[the sum, rounded to the grid, is at least that many steps\].
    beyond: Arc<[f64]>,
}

impl LaplaceSum {
    /// The law of a sum of variables of these scales; `None` for too many of them.
    pub(crate) fn new(scales: &[f64]) -> Option<Self> {
        let (step, large, _) = on_the_grid(scales, FINENESS);
        (large.len() <= MOST_TERMS).then(|| Self::of(step, &large, FINENESS, LEAST_TAIL))
    }

    /// The law where the grid reaches as far as tails of that probability.
    fn of(step: f64, scales: &[f64], fineness: f64, outside: f64) -> Self {
        // A sum of n exponential variables is beyond x with probability 2^n e^(-x/2S) at most:
        // e^-30 of the number in question is left out.
        let reach = 30.0 + scales.len() as f64 - outside.ln();
        let points = (2.0 * reach * fineness) as usize;
        let mut law = vec![0.0f64; 2 * points + 1];
        law[points] = 1.0;
        for scale in scales {
            let ratio = (-step / scale).exp();
            let sums = |carried: &mut f64, mass: &mut f64| {
                *carried = ratio * *carried + (1.0 - ratio) * *mass;
                *mass = *carried;
            };
            let mut carried = 0.0;
            law.iter_mut().for_each(|mass| sums(&mut carried, mass));
            carried = 0.0;
            law.iter_mut().rev().for_each(|mass| sums(&mut carried, mass));
        }
        let mut beyond = law.split_off(points);
        let mut sum = 0.0;
        for mass in beyond.iter_mut().rev() {
            sum += *mass;
            *mass = sum;
        }
        Self { step, beyond: beyond.into() }
    }

    /// P\[the sum is at least `x`\], to a relative error of some millionths.
    pub(crate) fn tail(&self, x: f64) -> f64 {
        if x < 0.0 {
            return 1.0 - self.tail(-x);
        }
        // Numbers from half a step before a point on are rounded to it or a later one.
        let position = x / self.step + 0.5;
        let (before, fraction) = (position as usize, position.fract());
        match (self.beyond.get(before), self.beyond.get(before + 1)) {
            (Some(low), Some(high)) => low.powf(1.0 - fraction) * high.powf(fraction),
            _ => 0.0,
        }
    }
}

/// The scale of a Laplace law that is less peaked than a discrete one of this scale with a uniform
/// number between -1/2 and 1/2 added: also in sums, as both are symmetric and unimodal (Birnbaum
/// 1948).
///
/// With x = 1/(2b), the tail of the latter is e^(-2xw) (1 - 2 s tanh x) at w + s for whole w and
/// |s| <= 1/2, which is at most e^(-2 (w + s) tanh x), as tanh x <= x and 1 - y <= e^-y.
pub fn scale_around(scale: f64) -> f64 {
    0.5 / (0.5 / scale).tanh()
}

/// The step of the grid, the scales on it, and the least factor for tails by those that are not.
fn on_the_grid(scales: &[f64], fineness: f64) -> (f64, Vec<f64>, f64) {
    let largest = scales.iter().copied().fold(0.0, f64::max);
    let step = largest / fineness;
    let (large, small): (Vec<f64>, Vec<f64>) = scales.iter().partition(|s| **s > 2.0 * step);
    (step, large, small.iter().map(|s| 1.0 - s / largest).product())
}

/// A half width that a sum of independent Laplace variables of these scales exceeds, either way,
/// with probability `outside` at most: the least one to within about a hundredth.
pub(crate) fn laplace_width(scales: &[f64], outside: f64) -> f64 {
    width_on_grid(scales, FINENESS, outside)
}

/// A half width like that of `laplace_width`, found in a tenth of the time: hardly wider where
/// `outside` is small.
pub fn laplace_width_bound(scales: &[f64], outside: f64) -> f64 {
    width_on_grid(scales, COARSE, outside)
}

fn width_on_grid(scales: &[f64], fineness: f64, outside: f64) -> f64 {
    let (step, large, factor) = on_the_grid(scales, fineness);
    let outside = outside * factor;
    if let [only] = large.as_slice() {
        return -only * outside.ln();
    }
    if large.len() > MOST_TERMS {
        return chernoff_width(&large, outside);
    }
    let outside = large.iter().fold(outside, |all, s| all / (0.5 * step / s).cosh());
    let law = LaplaceSum::of(step, &large, fineness, outside);
    let within = law.beyond.iter().skip(1).take_while(|beyond| 2.0 * **beyond > outside).count();
    (within as f64 + 0.5 * large.len() as f64) * step
}

/// A half width that a sum of independent Laplace variables exceeds with probability `outside` at
/// most, by Chernoff's bound, which is about a tenth too wide where `outside` is small.
fn chernoff_width(scales: &[f64], outside: f64) -> f64 {
    let largest = scales.iter().copied().fold(0.0, f64::max);
    let bound = |t: f64| {
        let moments: f64 = scales.iter().map(|s| -(-(s * t).powi(2)).ln_1p()).sum();
        (moments + (2.0 / outside).ln()) / t
    };
    // Any t below 1/S gives a bound.
    let bounds = (1..1000).map(|k| bound(f64::from(k) / (1000.0 * largest)));
    bounds.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P[L1 + L2 >= x] = (1/2 + x/4) e^-x, of two of scale 1.
    #[test]
    fn tails_are_those_of_two_in_closed_form() {
        let two = LaplaceSum::new(&[3.0, 3.0]).unwrap();
        for x in [0.0, 0.01, 0.5, 1.0, 7.7, 20.0, 60.0] {
            let want = (0.5 + x / 4.0) * f64::exp(-x);
            let got = two.tail(3.0 * x);
            assert!((got / want - 1.0).abs() < 1e-5, "{x}: {got} {want}");
            assert!((two.tail(-3.0 * x) - (1.0 - want)).abs() < 1e-5);
        }
        assert!(two.tail(1e9) < 1e-30);
        assert!(LaplaceSum::new(&[1.0; 25]).is_none());
    }

    #[test]
    fn bounds_of_widths_are_hardly_wider() {
        for scales in [vec![1.0; 7], vec![2.0, 1.0, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1], vec![3.0; 20]] {
            for outside in [0.5, 0.05, 0.001, 1e-9] {
                let (width, bound) =
                    (laplace_width(&scales, outside), laplace_width_bound(&scales, outside));
                let most = if outside > 0.1 { 1.4 } else { 1.15 };
                assert!(bound >= width && bound < most * width, "{outside}: {bound} {width}");
            }
        }
    }

    #[test]
    fn widths_are_just_beyond_their_tails() {
        for scales in [vec![1.0, 1.0], vec![2.0, 1.0, 0.5], vec![1.0; 16]] {
            let law = LaplaceSum::new(&scales).unwrap();
            for outside in [0.5, 0.05, 1e-9, 1e-15] {
                let beyond = 2.0 * law.tail(laplace_width(&scales, outside));
                let room = 1.0 - 0.005 * (scales.len() as f64 + 1.0);
                assert!(beyond <= outside && beyond > room * outside, "{beyond} {outside}");
            }
        }
    }
}
