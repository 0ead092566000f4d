//! The law of a composition's loss, tilted towards the losses that matter.

use super::kinds::{ComposingEvents, ROUNDING, ln_price};
use super::residual::Residual;

/// Logarithm of how little the weights that are no longer looked at may count.
const NEGLIGIBLE: f64 = -80.0;

/// More than all that is lost where values are below the smallest doubles, as 2^22 of them may be,
/// far from the losses that the tilt is for.
const UNDERFLOW: f64 = 1e-300;

/// The law of a loss L on an equidistant set of losses, weighted by e^(tilt L) and divided by the
/// moment E\[e^(tilt L)\].
///
/// At the tilt that the moments choose, half of the weight or so is at losses beyond the epsilon in
/// question, however small the delta. So errors that are small beside the whole weight are small
/// beside delta.
#[derive(Clone, Debug)]
pub(crate) struct TiltedLaw {
    pub(crate) tilt: f64,
    /// ln of what the weights were divided by.
    pub(crate) ln_moment: f64,
    /// The most by which `ln_moment` may be too low.
    pub(crate) slack: f64,
    /// The lowest loss, the distance to the next, and what a loss may be above its computed value.
    pub(crate) lowest: f64,
    pub(crate) step: f64,
    pub(crate) loss_slack: f64,
    /// From the lowest loss up.
    pub(crate) weights: Vec<f64>,
    /// Bound of the root of the sum of squares of what the weights are too low by.
    pub(crate) error: f64,
    /// Bound of all the weight that is not there.
    pub(crate) left_out: f64,
}

impl TiltedLaw {
    /// The delta at `epsilon` of the events with this law and those of `events` without one
    /// together, rounded up; may be above 1.
    pub(crate) fn delta_at(&self, epsilon: f64, events: &ComposingEvents) -> f64 {
        let mut residual = Residual::new(events);
        let bound = events.ln_bound(self.tilt).0;
        let (mut sum, mut squares) = (0.0f64, 0.0f64);
        // Without a residual, what is at or below epsilon counts for nothing.
        let border = (epsilon - self.loss_slack - self.lowest) / self.step;
        let start = if residual.is_nothing() && border > 0.0 { border.floor() as usize } else { 0 };
        for (index, weight) in self.weights.iter().enumerate().skip(start) {
            let loss = self.lowest + index as f64 * self.step + self.loss_slack;
            let x = epsilon - loss;
            if self.tilt * x < NEGLIGIBLE {
                // Each of the rest counts by less than this.
                let rest: f64 = self.weights[index..].iter().sum();
                let count = (self.weights.len() - index) as f64;
                sum += NEGLIGIBLE.exp() * rest;
                squares += count * (2.0 * NEGLIGIBLE).exp();
                break;
            }
            let value = (self.tilt * x + residual.ln_at(x) - bound).exp();
            sum += weight * value;
            squares += value * value;
        }
        let outside = self.left_out * ln_price(self.tilt).exp();
        let all = sum + squares.sqrt() * self.error + outside + UNDERFLOW;
        let exponent = self.ln_moment + bound - self.tilt * epsilon;
        let sizes = self.ln_moment.abs() + bound.abs() + self.tilt * epsilon;
        // A loss that is taken too high is divided by too much of its tilt.
        let rounding = 1e-12
            + self.tilt * self.loss_slack
            + 4.0 * ROUNDING * (self.weights.len() as f64 + 4.0 * sizes);
        // The two exponentials may each be out of a double's range, but not their product.
        (exponent + all.ln() + self.slack + rounding).exp()
    }
}
