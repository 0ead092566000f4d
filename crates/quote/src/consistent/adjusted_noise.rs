//! The noise of an adjusted cell: a sum of multiples of many independent draws, and how far it may
//! be from zero.
//!
//! Let X be that sum, and Y = X + s N with a normal N. On a circle of length P, Y is within w of
//! zero with probability w h / pi + 2/pi * sum over k > 0 of sin(k h w) / k * f(k h), with h = 2 pi
//! / P and f the characteristic function of Y: that is the Fourier series of its density there
//! (Poisson). f is the product of those of all draws, which are real as their laws are symmetric,
//! and of e^(-s^2 u^2 / 2), which ends the series. On the line, Y is within w with no less than
//! that except for P\[|Y| > P - w\], which Chernoff's bound makes small. And where X > w and s N >
//! -z s, Y > w - z s: so P\[|X| > w\] is at most P\[|Y| > w - z s\] / P\[N < z\]. All steps are
//! exact or on the safe side.

use hushtable_mechanisms::{Additive, AdditiveLaw};
use hushtable_numbers::search::first;

/// Deviation of the normal number that makes the law smooth, relative to that of the noise.
const SMOOTH: f64 = 0.01;

/// How far below zero the normal number may be.
const AWAY: f64 = 2.0;

/// A little less than the probability that a normal number is below [`AWAY`].
const NEAR: f64 = 0.9772;

/// The part of the probability of a miss for what is beyond half of the circle.
const WRAPPED: f64 = 1e-4;

/// Room for rounding in probabilities. Below a hundred thousand times that, Chernoff's bound alone
/// counts.
const ROUNDING: f64 = 1e-13;

/// Logarithm below which a factor is zero beside others.
const NOTHING: f64 = -45.0;

/// Most terms of the characteristic function of rounded Gaussian noise.
const MOST_TERMS: u32 = 100;

/// The noise of an adjusted cell.
#[derive(Clone, Debug, Default)]
pub struct AdjustedNoise {
    draws: Vec<Draws>,
    /// Steps by which what was measured together is rounded, at most.
    rounding: f64,
    /// Whether levels fit each other before noise is added, whatever the data: then the number
    /// without noise is a whole one, and the exact answer to the query.
    fits: bool,
}

/// Independent draws of a law that count alike.
#[derive(Clone, Copy, Debug)]
struct Draws {
    times: f64,
    many: f64,
    law: AdditiveLaw,
}

impl AdjustedNoise {
    pub(crate) fn new(fits: bool) -> Self {
        Self { fits, ..Self::default() }
    }

    /// Adds the noise of `many` cells, each of which counts `times` and contains the draw `draw`
    /// times.
    pub(crate) fn add(&mut self, (times, many): (f64, f64), draw: f64, noise: &Additive) {
        let (times, law) = ((times * draw).abs(), noise.law());
        if times == 0.0 {
            return;
        }
        let entry = self.draws.iter_mut().find(|entry| entry.times == times && entry.law == law);
        match entry {
            Some(entry) => entry.many += many,
            None => self.draws.push(Draws { times, many, law }),
        }
    }

    /// Adds the rounding of that many cells, each of which counts `times`, to whole steps.
    pub(crate) fn add_rounding(&mut self, (times, many): (f64, f64)) {
        self.rounding += 0.5 * times.abs() * many;
    }

    pub(crate) fn fits(&self) -> bool {
        self.fits
    }

    /// The variance, except for rounding.
    pub(crate) fn variance(&self) -> f64 {
        self.draws.iter().map(Draws::variance).sum()
    }

    /// A number of steps that the noise exceeds in either direction with a probability of at most
    /// `outside`. `None` if the noise is too small for that.
    pub(crate) fn half_width(&self, outside: f64) -> Option<f64> {
        let mut noise = self.clone();
        // The widest laws first: their factors are the first to make a product zero.
        noise.draws.sort_by(|a, b| b.variance().total_cmp(&a.variance()));
        let scale = noise.variance().sqrt();
        if scale == 0.0 {
            return Some(noise.rounding);
        }
        let bound = noise.chernoff(outside, 0.0)?;
        let width = noise.inverted(outside, scale).map_or(bound, |width| width.min(bound));
        Some((width + noise.rounding) * (1.0 + 1e-9))
    }

    /// Chernoff's bound of the noise with a normal number of that deviation added.
    fn chernoff(&self, outside: f64, smooth: f64) -> Option<f64> {
        let needed = (2.0 / outside).ln();
        let bound = |t: f64| {
            let sum: f64 =
                self.draws.iter().map(|draws| draws.many * draws.moment(draws.times * t)).sum();
            (sum + 0.5 * (smooth * t).powi(2) + needed) / t
        };
        // Any t gives a bound. Normal numbers have the first; Laplace noise needs one below the
        // last.
        let normal = (2.0 * needed / (self.variance() + smooth * smooth)).sqrt();
        let last = self.draws.iter().filter_map(Draws::largest).fold(f64::INFINITY, f64::min);
        let tried = (1..=60).map(|k| normal * f64::from(k) / 40.0);
        let tried = tried.chain((1..100).map(|k| last * f64::from(k) / 100.0));
        let tried = tried.filter(|t| t.is_finite() && *t < last);
        let least =
            tried.map(bound).filter(|value| value.is_finite()).fold(f64::INFINITY, f64::min);
        least.is_finite().then_some(least)
    }

    /// The width by the series; `None` where it does not give one.
    fn inverted(&self, outside: f64, scale: f64) -> Option<f64> {
        let outside = outside * NEAR;
        if outside < 1e5 * ROUNDING {
            return None;
        }
        let smooth = SMOOTH * scale;
        let most = self.chernoff(outside * (1.0 - 2.0 * WRAPPED), smooth)?;
        let circle = most + self.chernoff(outside * WRAPPED, smooth)?;
        let step = 2.0 * std::f64::consts::PI / circle;
        // e^-37 of the series is left out.
        let terms = (8.7 / (smooth * step)).ceil() as usize;
        let factors: Vec<f64> = (1..=terms)
            .map(|k| Some(self.characteristic(k as f64 * step, smooth)? / k as f64))
            .collect::<Option<_>>()?;
        let beyond = |w: f64| {
            let sines =
                factors.iter().zip(1..).map(|(factor, k)| factor * (f64::from(k) * step * w).sin());
            let within = (step * w + 2.0 * sines.sum::<f64>()) / std::f64::consts::PI;
            1.0 - within + outside * WRAPPED + ROUNDING * (1.0 + terms as f64)
        };
        let within = |w: f64| beyond(w) <= outside;
        within(most).then(|| first(0.0, most, 24, within) + AWAY * smooth)
    }

    /// The characteristic function of the noise with a normal number of that deviation added.
    fn characteristic(&self, u: f64, smooth: f64) -> Option<f64> {
        let (mut log, mut sign) = (-0.5 * (smooth * u).powi(2), 1.0);
        for draws in &self.draws {
            if log < NOTHING {
                return Some(0.0);
            }
            let (size, negative) = characteristic(draws.law, draws.times * u)?;
            log += draws.many * size;
            if negative && draws.many % 2.0 == 1.0 {
                sign = -sign;
            }
        }
        Some(sign * log.exp())
    }
}

impl Draws {
    fn variance(&self) -> f64 {
        self.times * self.times * self.many * self.law.as_law().variance()
    }

    /// The t from which on the moments of the law are infinite.
    fn largest(&self) -> Option<f64> {
        match &self.law {
            AdditiveLaw::DiscreteLaplace(law) => Some(1.0 / (law.scale().to_f64() * self.times)),
            AdditiveLaw::RoundedGaussian(_) => None,
        }
    }

    /// The logarithm of E e^(t X) of one draw, or a little more.
    fn moment(&self, t: f64) -> f64 {
        match &self.law {
            // E e^(tX) = 1 / (1 - (sinh(t/2) / sinh(1/2b))^2).
            AdditiveLaw::DiscreteLaplace(law) => {
                let ratio = (0.5 * t).sinh() / (0.5 / law.scale().to_f64()).sinh();
                if ratio >= 1.0 { f64::INFINITY } else { -(-ratio * ratio).ln_1p() }
            }
            AdditiveLaw::RoundedGaussian(law) => rounded_moment(law.sigma().to_f64(), t),
        }
    }
}

/// The logarithm of |E e^(i u X)|, and whether it is below zero; `None` where there are too many
/// terms.
fn characteristic(law: AdditiveLaw, u: f64) -> Option<(f64, bool)> {
    match law {
        // 1 / (1 + (sin(u/2) / sinh(1/2b))^2).
        AdditiveLaw::DiscreteLaplace(law) => {
            let ratio = (0.5 * u).sin() / (0.5 / law.scale().to_f64()).sinh();
            Some((-(ratio * ratio).ln_1p(), false))
        }
        // By Poisson's sum, that of all e^(-sigma^2 x^2 / 2) sin(x/2) / (x/2) at x = u + 2 pi m.
        AdditiveLaw::RoundedGaussian(law) => {
            let sigma = law.sigma().to_f64();
            let around = 2.0 * std::f64::consts::PI;
            let u = u - around * (u / around).round();
            if u == 0.0 {
                return Some((0.0, false));
            }
            let first = -0.5 * (sigma * u).powi(2);
            let mut rest = 0.0;
            for m in 1..=MOST_TERMS {
                let shift = around * f64::from(m);
                // Beside the first term, so that it has all of its digits.
                let term = |x: f64| (first.abs() - 0.5 * (sigma * x).powi(2)).exp() * u / x;
                let both = term(u + shift) + term(u - shift);
                rest += if m % 2 == 0 { both } else { -both };
                if 0.5 * sigma * sigma * (shift - u.abs()).powi(2) + first > 45.0 {
                    let whole = 1.0 + rest;
                    let log = match rest.abs() < 0.5 {
                        true => rest.ln_1p(),
                        false => whole.abs().ln(),
                    };
                    return Some((first + log_sinc(0.5 * u) + log, whole < 0.0));
                }
            }
            None
        }
    }
}

/// The logarithm of sin x / x for |x| up to pi/2.
fn log_sinc(x: f64) -> f64 {
    let square = x * x;
    if x.abs() < 1e-2 {
        -square / 6.0 - square * square / 180.0 - square.powi(3) / 2835.0
    } else {
        (x.sin() / x).ln()
    }
}

/// The logarithm of E e^(t X) of a rounded normal number: the characteristic function at -i t.
fn rounded_moment(sigma: f64, t: f64) -> f64 {
    let x = 0.5 * t;
    let sinch = if x.abs() < 1e-2 {
        x * x / 6.0 - x.powi(4) / 180.0 + x.powi(6) / 2835.0
    } else {
        (x.sinh() / x).ln()
    };
    let mut rest = 0.0;
    for m in 1..=MOST_TERMS {
        let shift = 2.0 * std::f64::consts::PI * f64::from(m);
        let size = (-0.5 * (shift * sigma).powi(2)).exp();
        let angle = shift * t * sigma * sigma;
        let term = 2.0 * t * (t * angle.cos() + shift * angle.sin()) / (shift * shift + t * t);
        rest += if m % 2 == 0 { size * term } else { -size * term };
        if size < 1e-20 {
            return 0.5 * (sigma * t).powi(2) + sinch + rest.ln_1p();
        }
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushtable_noise::{DiscreteLaplace, Dyadic, Ratio, RoundedGaussian};

    fn laplace(scale: u128) -> AdditiveLaw {
        AdditiveLaw::DiscreteLaplace(DiscreteLaplace::new(Ratio::new(scale, 1).unwrap()))
    }

    fn gaussian(sigma: f64) -> AdditiveLaw {
        AdditiveLaw::RoundedGaussian(RoundedGaussian::new(Dyadic::at_least(sigma).unwrap()))
    }

    fn pmf(law: AdditiveLaw, x: i128) -> f64 {
        law.as_law().pmf(x)
    }

    fn of(draws: &[(f64, f64, AdditiveLaw)]) -> AdjustedNoise {
        let draws = draws.iter().map(|&(times, many, law)| Draws { times, many, law });
        AdjustedNoise { draws: draws.collect(), rounding: 0.0, fits: true }
    }

    #[test]
    fn functions_of_laws_are_those_of_their_sums() {
        for law in [laplace(1), laplace(7), gaussian(0.4), gaussian(1.0), gaussian(9.0)] {
            for u in [0.001, 0.02, 0.3, 1.7, 3.1, 5.0, -40.0] {
                let sum: f64 = (-400..=400).map(|x| pmf(law, x) * (u * x as f64).cos()).sum();
                let (log, negative) = characteristic(law, u).unwrap();
                let got = if negative { -log.exp() } else { log.exp() };
                assert!((got - sum).abs() < 1e-10, "{law:?} {u}: {got} {sum}");
            }
            for t in [0.001, 0.01, 0.05, 0.1] {
                let sum: f64 = (-900..=900).map(|x| pmf(law, x) * (t * x as f64).exp()).sum();
                let moment = Draws { times: 1.0, many: 1.0, law }.moment(t);
                assert!((moment - sum.ln()).abs() < 1e-9, "{law:?} {t}: {moment} {}", sum.ln());
            }
        }
    }

    /// Against laws that are summed point by point: never too narrow, and hardly wider by more than
    /// a step.
    #[test]
    fn widths_hold_the_exact_laws() {
        // Multiples of a half of a few draws.
        for draws in [
            vec![(1.0, 1.0, laplace(5))],
            vec![(0.5, 3.0, laplace(4)), (1.0, 1.0, gaussian(6.0))],
            vec![(0.5, 40.0, laplace(3))],
            vec![(1.5, 2.0, gaussian(3.0)), (0.5, 5.0, gaussian(2.0))],
        ] {
            let (reach, mut law) = (1200i128, vec![0.0; 2401]);
            law[1200] = 1.0;
            for &(times, many, draw_law) in &draws {
                let halves = (2.0 * times) as i128;
                for _ in 0..many as usize {
                    let mut next = vec![0.0; law.len()];
                    for (at, mass) in law.iter().enumerate().filter(|(_, mass)| **mass > 1e-18) {
                        for x in -90..=90 {
                            let to = at as i128 + halves * x;
                            if let Some(to) = usize::try_from(to).ok().filter(|t| *t < next.len()) {
                                next[to] += mass * pmf(draw_law, x);
                            }
                        }
                    }
                    law = next;
                }
            }
            let noise = of(&draws);
            for outside in [0.5, 0.1, 0.05, 0.001, 1e-6] {
                let width = noise.half_width(outside).unwrap();
                let beyond = |w: f64| -> f64 {
                    let far = (-reach..=reach).zip(&law).filter(|(x, _)| *x as f64 / 2.0 > w);
                    2.0 * far.map(|(_, mass)| mass).sum::<f64>()
                };
                assert!(beyond(width) <= outside, "{draws:?} {outside}: {width}");
                let scale = noise.variance().sqrt();
                assert!(beyond(0.96 * width - 0.03 * scale - 1.0) > outside, "{outside}: {width}");
            }
        }
    }

    #[test]
    fn many_small_draws_are_nearly_normal() {
        for law in [laplace(10), gaussian(10.0)] {
            let noise = of(&[(1.0, 1e6, law)]);
            let scale = noise.variance().sqrt();
            let width = noise.half_width(0.05).unwrap() / scale;
            assert!((1.96..2.01).contains(&width), "{width}");
            // All of very many at once.
            let far = noise.half_width(1e-12).unwrap() / scale;
            assert!((7.1..7.7).contains(&far), "{far}");
        }
        assert_eq!(of(&[]).half_width(0.05), Some(0.0));
    }
}
