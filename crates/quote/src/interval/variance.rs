//! Variances and standard deviations: an interval that is sharper than that of the sums apart.
//!
//! With Q the sum of squares, S the sum and C the count, all exact, m = S/C and V = Q/C - m^2 have
//! Q - 2 m S + m^2 C = V C. So for the true m, V is a ratio of sums: that of Q - 2 m S + m^2 C and
//! C, with its interval; of a sample, the second is C - 1. m is in an interval of its own, and the
//! union of the intervals of V for all such m holds V. V is hardly smaller or larger elsewhere, as
//! the ratio has its least near the mean.

use hushtable_lang::range::Facts;
use hushtable_lang::{BinaryOp, Expr, ExprKind, Function, Value};

use super::linear::{LastPlane, Linear, LinearRatio, Term, quantile};

/// The part of the probability of a miss that is for the mean.
const FOR_MEAN: f64 = 0.1;

/// Parts that the interval of the mean is divided into.
const CELLS: u32 = 4;

/// A variance of released sums.
pub(super) struct Variance {
    squares: Expr,
    sum: Expr,
    count: Expr,
    /// Over one less than the count.
    of_sample: bool,
    /// Zero where it would be less.
    from_zero: bool,
    planes: LastPlane,
}

/// Released or exact sums, and the probability with which an interval may miss.
#[derive(Clone, Copy)]
pub(super) struct ReleasedSums<'a> {
    pub(super) terms: &'a [Term<'a>],
    pub(super) outside: f64,
    pub(super) halvings: u32,
    pub(super) planes: &'a LastPlane,
}

impl Variance {
    /// An expression as a variance that equals it wherever it has a value.
    pub(super) fn of(expr: &Expr) -> Option<Self> {
        match &expr.kind {
            // Where the condition is not true there is no value.
            ExprKind::Case(branches, None) => match branches.as_slice() {
                [(_, result)] => Self::of(result),
                _ => None,
            },
            ExprKind::Call(Function::Greatest, of) => match of.as_slice() {
                [variance, zero] if is_number(zero, 0.0) => {
                    Some(Self { from_zero: true, ..Self::of(variance)? })
                }
                _ => None,
            },
            ExprKind::Binary(BinaryOp::Mul, variance, more) => {
                let (count, others) = operands(more, BinaryOp::Div)?;
                let (all, one) = operands(others, BinaryOp::Sub)?;
                let variance = Self::of(variance).filter(|variance| !variance.of_sample)?;
                let of_sample = *count == variance.count && count == all && is_number(one, 1.0);
                of_sample.then_some(Self { of_sample, ..variance })
            }
            ExprKind::Binary(BinaryOp::Sub, squares, product) => {
                let (squares, count) = operands(squares, BinaryOp::Div)?;
                let (mean, same) = operands(product, BinaryOp::Mul)?;
                let (sum, of) = operands(mean, BinaryOp::Div)?;
                (mean == same && of == count).then(|| Self {
                    squares: squares.clone(),
                    sum: sum.clone(),
                    count: count.clone(),
                    of_sample: false,
                    from_zero: false,
                    planes: LastPlane::default(),
                })
            }
            _ => None,
        }
    }

    /// The interval of the exact variance, from released sums. It misses with a probability of at
    /// most `outside`. `None` if it is unbounded.
    ///
    /// *Proof.* For the exact mean m, the released Q - 2 m S + m^2 C - V C is a combination of the
    /// noises with coefficients a(m, V) = (1, -2 m, m^2 - V), and so within its quantile q(a). Let
    /// m be between two points m_i of the interval of means, at a distance of h from each other,
    /// and d = (m - m_1) (m_2 - m), which is h^2/4 at most. a(m, V) is a mean of both
    /// a(m_i, V + d),
    /// and q is convex; so V + d is below the upper end for one of m_i, and above the lower end for
    /// one of them. Of a sample, with V (C - 1) in place of V C, the combination at V + d is larger
    /// by d than the mean of those at m_i: the lower end is passed by d over C - 1 less the
    /// quantile of its noise at most, as what is beyond it grows that fast.
    pub(super) fn interval(
        &self,
        (measurements, facts): (usize, &Facts),
        given: ReleasedSums<'_>,
    ) -> Option<(f64, f64)> {
        let sums = VarianceSums::new(self, measurements, facts)?;
        let (first, last) = sums.mean(self, given)?;
        let width = (last - first) / f64::from(CELLS);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for cell in 0..=CELLS {
            let ends = sums.around(first + f64::from(cell) * width, given)?;
            (low, high) = (low.min(ends.0), high.max(ends.1));
        }
        let between = 0.25 * width * width;
        let more = match self.of_sample {
            true => 1.0 / sums.certain_others(given)?,
            false => 0.0,
        };
        self.bounded(low - between * (1.0 + more), high)
    }

    /// Around exact values, how far away released ones are, as an interval: they are outside with a
    /// probability of at most `outside`.
    ///
    /// *Proof.* With m the exact mean and n that of released sums, the released variance is
    /// (Q - 2 m S + m^2 C) / C - (n - m)^2 of released sums: a ratio, as far from V as
    /// [`LinearRatio::interval`] says, less the square of how far the mean is. Of a sample, that
    /// square counts C / (C - 1) times, at most twice.
    pub(super) fn around_exact(
        &self,
        (measurements, facts): (usize, &Facts),
        given: ReleasedSums<'_>,
    ) -> Option<(f64, f64)> {
        let sums = VarianceSums::new(self, measurements, facts)?;
        let mean = sums.exact_mean(given)?;
        let ends = sums.mean(self, given)?;
        let off = (ends.1 - mean).max(mean - ends.0);
        let exact = sums.exact(mean, given);
        let ends = sums.around(mean, given)?;
        let away = (ends.1 - exact).max(exact - ends.0);
        let times = if self.of_sample { 2.0 } else { 1.0 };
        self.bounded(exact - away - times * off * off, exact + away)
    }

    fn bounded(&self, low: f64, high: f64) -> Option<(f64, f64)> {
        let least = if self.from_zero { 0.0 } else { f64::NEG_INFINITY };
        let (low, high) = (low.max(least), high.max(least));
        (low.is_finite() && high.is_finite()).then_some((low, high))
    }
}

/// The sums of a variance, as linear numbers.
struct VarianceSums {
    squares: Linear,
    sum: Linear,
    count: Linear,
    /// The count, less one of a sample.
    others: Linear,
}

impl VarianceSums {
    fn new(of: &Variance, measurements: usize, facts: &Facts) -> Option<Self> {
        let linear = |expr: &Expr| LinearRatio::of(expr, measurements, facts)?.linear();
        let count = linear(&of.count)?;
        let less = Linear::of(if of.of_sample { -1.0 } else { 0.0 });
        let others = count.clone().plus(less);
        Some(Self { squares: linear(&of.squares)?, sum: linear(&of.sum)?, count, others })
    }

    fn mean(&self, of: &Variance, given: ReleasedSums<'_>) -> Option<(f64, f64)> {
        let mean = LinearRatio { above: self.sum.clone(), below: self.count.clone() };
        mean.interval(given.terms, FOR_MEAN * given.outside, given.halvings, &of.planes)
    }

    fn exact_mean(&self, given: ReleasedSums<'_>) -> Option<f64> {
        let values = values_of(given.terms);
        let mean = self.sum.at(&values) / self.count.at(&values);
        mean.is_finite().then_some(mean)
    }

    fn exact(&self, mean: f64, given: ReleasedSums<'_>) -> f64 {
        let values = values_of(given.terms);
        self.ratio(mean).above.at(&values) / self.others.at(&values)
    }

    /// The variance if that is the mean.
    fn ratio(&self, mean: f64) -> LinearRatio {
        let sum = self.sum.clone().times(-2.0 * mean);
        let count = self.count.clone().times(mean * mean);
        let above = self.squares.clone().plus(sum).plus(count);
        LinearRatio { above, below: self.others.clone() }
    }

    /// The interval of the variance if that is the mean.
    fn around(&self, mean: f64, given: ReleasedSums<'_>) -> Option<(f64, f64)> {
        let outside = (1.0 - FOR_MEAN) * given.outside;
        let (low, high) =
            self.ratio(mean).interval(given.terms, outside, given.halvings, given.planes)?;
        // The numbers that cancel each other may be far larger than what is left.
        let values = values_of(given.terms);
        let sizes = self.squares.at(&values).abs()
            + (2.0 * mean * self.sum.at(&values)).abs()
            + (mean * mean * self.count.at(&values)).abs();
        let room = 16.0 * f64::EPSILON * sizes / self.others.at(&values).abs();
        Some((low - room, high + room))
    }

    /// The count less one without what its noise may be.
    fn certain_others(&self, given: ReleasedSums<'_>) -> Option<f64> {
        let factors: Vec<f64> =
            given.terms.iter().map(|term| self.count.factor(term.index)).collect();
        let noise = quantile(given.terms, &factors, (1.0 - FOR_MEAN) * given.outside)?;
        let certain = self.others.at(&values_of(given.terms)).abs() - noise;
        (certain > 0.0).then_some(certain)
    }
}

fn values_of(terms: &[Term<'_>]) -> Vec<(usize, f64)> {
    terms.iter().map(|term| (term.index, term.value)).collect()
}

fn operands(expr: &Expr, of: BinaryOp) -> Option<(&Expr, &Expr)> {
    match &expr.kind {
        ExprKind::Binary(op, left, right) if *op == of => Some((left, right)),
        _ => None,
    }
}

fn is_number(expr: &Expr, number: f64) -> bool {
    matches!(expr.kind, ExprKind::Literal(Value::Float(x)) if x == number)
}
