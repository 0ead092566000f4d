//! Ratios of sums: an interval that is sharper than that of the sums apart.
//!
//! Means, shares, differences and ratios are N / D for N and D linear in the measurements. The
//! exact ratio t has N - t D = 0, so that of the released numbers, |N - t D| is the size of a known
//! combination of the noises: it exceeds that size's quantile q(t) with the allowed probability
//! alone. The interval is of all t where it does not (Fieller 1954). q is convex, as a quantile of
//! a symmetric log-concave law is a norm of the coefficients (Bobkov 2010), so that all t are one
//! interval, and its ends are found by halving; it is unbounded where D is within its own noise.
//!
//! The noise of a lattice is not log-concave on the reals. With a uniform number within half a step
//! added, it is more peaked than the continuous law below, and stays so in sums (Birnbaum 1948); so
//! the quantile is that of continuous laws, and half a step more for each draw. Sums that share a
//! count share draws, whose multiples add up.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use hushtable_lang::range::{Facts, Range};
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Function, Value};
use hushtable_mechanisms::{Additive, AdditiveLaw, laplace_width_bound, scale_around};
use hushtable_numbers::search::{first, grow};
use hushtable_privacy::normal_quantile;

use super::plane::Plane;
use crate::measurement_noise::Noise;

/// Most Laplace noises in a sum whose law is computed; that of more is bounded.
const MAX_TERMS: usize = 6;

/// How far apart the scales of Laplace noises are taken to be at least, so that their sum's law is
/// computed with enough digits. The smaller is never made smaller.
const APART: f64 = 1.01;

/// Room for the rounding of coefficients and quantiles.
const ROUNDING: f64 = 1e-9;

/// Halvings by which an end is found, once doubling has passed it.
pub(super) const HALVINGS: u32 = 24;
/// Fewer, where three digits do.
pub(super) const FEW_HALVINGS: u32 = 14;

/// A number that is linear in measurements.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Linear {
    constant: f64,
    /// By measurement.
    terms: Vec<(usize, f64)>,
}

/// A ratio of two.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinearRatio {
    pub(super) above: Linear,
    pub(super) below: Linear,
}

impl Linear {
    pub(super) fn of(constant: f64) -> Self {
        Self { constant, terms: Vec::new() }
    }

    pub(super) fn times(mut self, factor: f64) -> Self {
        self.constant *= factor;
        self.terms.iter_mut().for_each(|(_, coefficient)| *coefficient *= factor);
        self
    }

    pub(super) fn plus(mut self, other: Self) -> Self {
        self.constant += other.constant;
        for (index, factor) in other.terms {
            match self.terms.iter_mut().find(|(other, _)| *other == index) {
                Some((_, coefficient)) => *coefficient += factor,
                None => self.terms.push((index, factor)),
            }
        }
        self
    }

    fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }

    pub(super) fn factor(&self, index: usize) -> f64 {
        self.terms.iter().find(|(other, _)| *other == index).map_or(0.0, |(_, factor)| *factor)
    }

    pub(super) fn at(&self, values: &[(usize, f64)]) -> f64 {
        self.constant + values.iter().map(|&(index, value)| self.factor(index) * value).sum::<f64>()
    }
}

impl LinearRatio {
    /// An expression as a ratio that equals it wherever it has a value. Columns from `measurements`
    /// on are known.
    pub(super) fn of(expr: &Expr, measurements: usize, facts: &Facts) -> Option<Self> {
        let ratio = |e: &Expr| Self::of(e, measurements, facts);
        match &expr.kind {
            ExprKind::Column(index) if *index < measurements => {
                let terms = vec![(*index, 1.0)];
                Some(Self { above: Linear { constant: 0.0, terms }, below: Linear::of(1.0) })
            }
            ExprKind::Column(_) | ExprKind::Literal(_) => {
                let known = match &expr.kind {
                    ExprKind::Literal(Value::Null) => None,
                    _ => Range::given(expr, facts)?.to_f64(expr.column_type),
                };
                let (low, high) = known?;
                (low == high).then(|| Self { above: Linear::of(low), below: Linear::of(1.0) })
            }
            // A cast that rounds is another number.
            ExprKind::Cast(inner) => match (inner.column_type, expr.column_type) {
                (ColumnType::Int | ColumnType::Decimal { .. }, ColumnType::Float)
                | (ColumnType::Int, ColumnType::Decimal { .. }) => ratio(inner),
                (ColumnType::Decimal { scale }, ColumnType::Decimal { scale: to })
                    if to >= scale =>
                {
                    ratio(inner)
                }
                _ => None,
            },
            ExprKind::Call(Function::Negate, of) => Some(ratio(of.first()?)?.times(-1.0)),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (ratio(left)?, ratio(right)?);
                match op {
                    BinaryOp::Add => left.plus(right),
                    BinaryOp::Sub => left.plus(right.times(-1.0)),
                    BinaryOp::Mul => match (left.constant(), right.constant()) {
                        (Some(factor), _) => Some(right.times(factor)),
                        (_, Some(factor)) => Some(left.times(factor)),
                        _ => None,
                    },
                    BinaryOp::Div => left.over(right),
                    _ => None,
                }
            }
            // Where the condition is not true there is no value.
            ExprKind::Case(branches, None) => match branches.as_slice() {
                [(_, result)] => ratio(result),
                _ => None,
            },
            _ => None,
        }
    }

    /// The number, if it is linear.
    pub(super) fn linear(self) -> Option<Linear> {
        let by = self.below.constant;
        (self.below.is_constant() && by != 0.0).then(|| self.above.times(1.0 / by))
    }

    /// Whether both are of the same multiples of measurements.
    fn has_the_noise_of(&self, other: &Self) -> bool {
        self.above.terms == other.above.terms && self.below.terms == other.below.terms
    }

    fn constant(&self) -> Option<f64> {
        let constant = self.above.is_constant() && self.below.is_constant();
        (constant && self.below.constant != 0.0).then(|| self.above.constant / self.below.constant)
    }

    fn times(self, factor: f64) -> Self {
        Self { above: self.above.times(factor), ..self }
    }

    fn plus(self, other: Self) -> Option<Self> {
        if self.below == other.below {
            return Some(Self { above: self.above.plus(other.above), below: self.below });
        }
        match (self.constant(), other.constant()) {
            (Some(constant), _) => {
                Some(Self { above: other.above.plus(other.below.clone().times(constant)), ..other })
            }
            (_, Some(constant)) => {
                Some(Self { above: self.above.plus(self.below.clone().times(constant)), ..self })
            }
            _ => None,
        }
    }

    fn over(self, other: Self) -> Option<Self> {
        // (a / b) / (c / d), where b or c and d are constant.
        if other.below.is_constant() && self.below.is_constant() {
            let factor = other.below.constant / self.below.constant;
            return Some(Self { above: self.above.times(factor), below: other.above });
        }
        let factor = 1.0 / other.constant()?;
        Some(self.times(factor))
    }

    /// The interval of the exact ratio, from the released values of the measurements that it reads.
    /// It misses with a probability of at most `outside`. `None` if it is unbounded.
    ///
    /// Around exact values it also says how far away released ones are: as far as its farther end.
    ///
    /// *Proof.* Let S and C be the exact sums, r = S/C with C > 0, M and N their noises, and q(t)
    /// what |M - t N| exceeds with probability o. (S + M)/(C + N) is above r + h only if
    /// M - (r + h) N > h C, and below r - h only if (r - h) N - M > h C. Where q(r + h) and
    /// q(r - h) are at most h C, each has o/2 at most, as the noises are symmetric. The ends of the
    /// interval are where
    /// q(r + h) = h C and q(r - h) = h C; beyond them h C is larger, as q has no bends inwards and
    /// rises less than C h (else it is unbounded).
    pub(super) fn interval(
        &self,
        terms: &[Term<'_>],
        outside: f64,
        halvings: u32,
        planes: &LastPlane,
    ) -> Option<(f64, f64)> {
        let values: Vec<(usize, f64)> = terms.iter().map(|term| (term.index, term.value)).collect();
        let (above, below) = (self.above.at(&values), self.below.at(&values));
        // The width of u M + v N.
        let exact = |[u, v]: [f64; 2]| {
            let factor = |term: &Term<'_>| {
                u * self.above.factor(term.index) + v * self.below.factor(term.index)
            };
            quantile(terms, &terms.iter().map(factor).collect::<Vec<_>>(), outside)
        };
        if self.below.is_constant() {
            let (middle, half) = (above / below, exact([1.0, 0.0])? / below.abs());
            return bounded(middle - half, middle + half);
        }
        let plane = planes.of(self, terms, || Plane::new([exact([1.0, 0.0])?, exact([0.0, 1.0])?]));
        let width_of = |uv: [f64; 2]| match &plane {
            Some(plane) => plane.width(uv, exact).map(|width| width * (1.0 + ROUNDING)),
            None => exact(uv),
        };
        let width = |ratio: f64| width_of([1.0, -ratio]);
        if below.abs() <= width_of([0.0, 1.0])? * (1.0 + ROUNDING) {
            return None;
        }
        let middle = above / below;
        let end = |side: f64| {
            // A ratio of unknown width is inside.
            let out = |away: f64| {
                width(middle + side * away).is_some_and(|width| away * below.abs() > width)
            };
            let start = width(middle)? / below.abs();
            let (near, far) = grow(start, 2.0, start * 200f64.exp2(), out)?;
            Some(middle + side * first(near.unwrap_or(0.0), far, halvings, out))
        };
        bounded(end(-1.0)?, end(1.0)?)
    }
}

/// The plane of the ratio that was last asked for, at one probability of a miss: the ratio of one
/// row is mostly that of the next.
#[derive(Debug, Default)]
pub(super) struct LastPlane(Mutex<Option<(LinearRatio, Arc<Plane>)>>);

impl LastPlane {
    /// The plane of a ratio of these terms; `None` where the width of each combination is found
    /// quickly.
    fn of(
        &self,
        ratio: &LinearRatio,
        terms: &[Term<'_>],
        new: impl FnOnce() -> Option<Plane>,
    ) -> Option<Arc<Plane>> {
        let draws = terms.iter().flat_map(|term| &term.noise.draws);
        if draws.map(|draw| draw.name).collect::<HashSet<_>>().len() <= MAX_TERMS {
            return None;
        }
        // A plane is whole before it is stored.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, plane)) = last.as_ref()
            && of.has_the_noise_of(ratio)
        {
            return Some(Arc::clone(plane));
        }
        let plane = Arc::new(new()?);
        *last = Some((ratio.clone(), Arc::clone(&plane)));
        Some(plane)
    }
}

/// Ends with room for rounding.
fn bounded(low: f64, high: f64) -> Option<(f64, f64)> {
    let room = ROUNDING * (high - low) + 8.0 * f64::EPSILON * low.abs().max(high.abs());
    let (low, high) = (low - room, high + room);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// A measurement in a ratio.
pub(super) struct Term<'a> {
    pub(super) index: usize,
    /// Its released value.
    pub(super) value: f64,
    /// The size of a lattice step.
    pub(super) step: f64,
    pub(super) noise: &'a CombinedNoise<'a>,
}

/// The noise of a measurement: multiples of independent draws.
pub(super) struct CombinedNoise<'a> {
    draws: Vec<Draw<'a>>,
    /// Steps by which the result may be rounded.
    rounding: f64,
}

struct Draw<'a> {
    /// Draws that measurements share have the same name.
    name: (usize, usize),
    times: f64,
    noise: &'a Additive,
}

impl<'a> CombinedNoise<'a> {
    /// The noise of the measurement at that index; `None` for other mechanisms.
    pub(super) fn new(index: usize, noise: &'a Noise) -> Option<Self> {
        match noise {
            Noise::Single(mechanism) => {
                let draw = Draw { name: (index, 0), times: 1.0, noise: mechanism.additive()? };
                Some(Self { draws: vec![draw], rounding: 0.0 })
            }
            Noise::Tied(tied) => {
                // No index of a measurement.
                let common = usize::MAX - tied.count;
                let draws = tied.noise.draws(tied.role).into_iter().enumerate();
                let draws =
                    draws.map(|(at, (times, noise))| Draw { name: (common, at), times, noise });
                Some(Self { draws: draws.collect(), rounding: 0.5 })
            }
            _ => None,
        }
    }
}

/// A number that the size of a combination of noises exceeds with a probability of `outside` at
/// most; `None` for too many of them, and for noises of different kinds.
pub(super) fn quantile(terms: &[Term<'_>], factors: &[f64], outside: f64) -> Option<f64> {
    let mut draws: Vec<((usize, usize), f64, &Additive)> = Vec::new();
    let mut half_steps = 0.0;
    for (term, factor) in terms.iter().zip(factors) {
        half_steps += term.noise.rounding * factor.abs() * term.step;
        for Draw { name, times, noise } in &term.noise.draws {
            let size = factor * term.step * times;
            match draws.iter_mut().find(|(other, ..)| other == name) {
                Some((_, total, _)) => *total += size,
                None => draws.push((*name, size, noise)),
            }
        }
    }
    // Noise on a lattice is within half a step of what is more peaked than the continuous law.
    half_steps += 0.5 * draws.iter().map(|(_, size, _)| size.abs()).sum::<f64>();
    let all = |law: fn(AdditiveLaw) -> Option<f64>| -> Option<Vec<f64>> {
        draws.iter().map(|(_, size, noise)| Some(size.abs() * law(noise.law())?)).collect()
    };
    let gaussian = all(|law| match law {
        AdditiveLaw::RoundedGaussian(gaussian) => Some(gaussian.sigma().to_f64()),
        AdditiveLaw::DiscreteLaplace(_) => None,
    });
    let width = match gaussian {
        Some(sigmas) => {
            normal_quantile(0.5 * outside) * sigmas.iter().map(|s| s * s).sum::<f64>().sqrt()
        }
        None => sum_of_laplaces(
            all(|law| match law {
                AdditiveLaw::DiscreteLaplace(laplace) => {
                    Some(scale_around(laplace.scale().to_f64()))
                }
                AdditiveLaw::RoundedGaussian(_) => None,
            })?,
            outside,
        )?,
    };
    Some((width + half_steps) * (1.0 + ROUNDING))
}

/// The t with P\[|sum of Laplace numbers of these scales| > t\] = `outside`, or a little more.
///
/// For different scales b the probability is the sum of w_j e^(-t / b_j) with w_j the product of
/// b_j^2 / (b_j^2 - b_i^2), from the partial fractions of the product of 1 / (1 + b^2 s^2).
fn sum_of_laplaces(scales: Vec<f64>, outside: f64) -> Option<f64> {
    let largest = scales.iter().copied().fold(0.0, f64::max);
    // A millionth of a millionth of the largest comes from rounding alone, and is no part of it.
    let mut scales: Vec<f64> = scales.into_iter().filter(|b| *b > largest * 1e-12).collect();
    if scales.len() > MAX_TERMS {
        return Some(laplace_width_bound(&scales, outside));
    }
    scales.sort_by(f64::total_cmp);
    for index in 1..scales.len() {
        scales[index] = scales[index].max(APART * scales[index - 1]);
    }
    let Some(&largest) = scales.last() else { return Some(0.0) };
    let weight = |index: usize, b: f64| {
        let others = scales.iter().enumerate().filter(|(other, _)| *other != index);
        others.map(|(_, a)| 1.0 / (1.0 - (a / b) * (a / b))).product::<f64>()
    };
    let weights: Vec<(f64, f64)> =
        scales.iter().enumerate().map(|(index, &b)| (b, weight(index, b))).collect();
    let tail = |t: f64| weights.iter().map(|(b, weight)| weight * (-t / b).exp()).sum::<f64>();
    let within = |t: f64| tail(t) <= outside * (1.0 - ROUNDING);
    let (low, high) = grow(largest, 2.0, f64::MAX, within)?;
    Some(first(low.unwrap_or(0.0), high, HALVINGS, within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushtable_noise::{DiscreteLaplace, Law, Ratio as Scale, TestSeed};

    #[test]
    fn quantiles_of_sums_are_those_of_the_law() {
        // P[|L1 + L2| > t] = (1 + t/2) e^-t for two of scale 1.
        for (scales, outside, want) in [
            (vec![1.0], 0.05, 20f64.ln()),
            (vec![1.0, 1.0], 0.05, 4.1126),
            (vec![2.0, 1e-9], 0.1, 4.6052),
        ] {
            let got = sum_of_laplaces(scales.clone(), outside).unwrap();
            assert!(got >= want * (1.0 - 1e-4) && got < want * 1.011, "{scales:?} {got} {want}");
        }
        // More of them have a bound: at least that of six, at most that of a normal law and an
        // eighth.
        let (six, seven) = (vec![1.0; 6], vec![1.0; 7]);
        let (six, seven) = (sum_of_laplaces(six, 0.05), sum_of_laplaces(seven, 0.05));
        assert!(seven > six && seven < Some(14f64.sqrt() * 1.96 * 1.125), "{six:?} {seven:?}");
    }

    /// Sums are within their quantiles even where the noise is not much more than a step.
    #[test]
    fn sums_of_lattice_noise_are_within_their_quantiles() {
        let mut generator = TestSeed(5).generator();
        for (scales, factors) in
            [([1u128, 1], [1.0, 1.0]), ([1, 1], [1.0, -0.3]), ([2, 9], [1.0, 1.0])]
        {
            let laws = scales.map(|b| DiscreteLaplace::new(Scale::new(b, 1).unwrap()));
            let scaled = || {
                scales.iter().zip(factors).map(|(&b, f): (_, f64)| f.abs() * scale_around(b as f64))
            };
            let half_steps: f64 = factors.iter().map(|f| 0.5 * f.abs()).sum();
            let width = sum_of_laplaces(scaled().collect(), 0.1).unwrap() + half_steps;
            let mut beyond = 0;
            for _ in 0..20_000 {
                let sum: f64 = laws
                    .iter()
                    .zip(factors)
                    .map(|(law, f)| f * law.sample(&mut generator).unwrap() as f64)
                    .sum();
                beyond += usize::from(sum.abs() > width);
            }
            // The deviation is 0.2 %: six of them are 1.3 %.
            let share = beyond as f64 / 20_000.0;
            assert!((0.03..0.113).contains(&share), "{scales:?} {factors:?}: {share}");
        }
    }
}
