//! How far apart two laws are, at every epsilon, exactly.

use hushtable_numbers::Quotient;
use num_bigint::BigUint;
use num_traits::Zero;

use super::error::ModelError;
use super::fraction::Fraction;

/// Most probabilities that are stored for comparisons.
pub(super) const MOST_TERMS: usize = 2_000_000;

/// Where two laws are compared: for which record, of which values, to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The target, by its index among the records.
    pub target: usize,
    /// The target's value, where there is one.
    pub value: Option<u32>,
    /// The value that it is compared with or changed to, where there is one.
    pub other: Option<u32>,
    /// The attacker's knowledge; `None` where it is averaged over.
    pub knowledge: Option<u32>,
    /// The output that was published, for inferences from it.
    pub output: Option<u32>,
}

/// One law against another: delta at e^epsilon = x is the sum of all (p - x q)_+ over `scale`.
#[derive(Clone, Debug)]
struct SeparationCurve {
    /// Pairs (p, q), p not zero, by falling p/q.
    terms: Vec<(BigUint, BigUint)>,
    scale: BigUint,
    witness: Witness,
}

/// All comparisons that a definition makes. It holds where all of them do.
#[derive(Clone, Debug, Default)]
pub(super) struct Curves {
    all: Vec<SeparationCurve>,
    terms: usize,
}

/// The worst of them.
#[derive(Clone, Debug)]
pub(super) struct WorstSeparation<A> {
    pub(super) amount: A,
    /// `None` where no comparison shows any difference.
    pub(super) witness: Option<Witness>,
}

impl Curves {
    /// Compares the law whose probabilities are the `p`s over `scale` with that of the `q`s.
    pub(super) fn push(
        &mut self,
        witness: Witness,
        terms: impl IntoIterator<Item = (BigUint, BigUint)>,
        scale: BigUint,
    ) -> Result<(), ModelError> {
        // Where p is at most q there is nothing at any epsilon.
        let mut terms: Vec<_> = terms.into_iter().filter(|(p, q)| p > q).collect();
        if terms.is_empty() {
            return Ok(());
        }
        self.terms += terms.len();
        if self.terms > MOST_TERMS {
            let size = format!("over {MOST_TERMS}");
            let what = "probabilities to compare";
            return Err(ModelError::Large { what, size, most: MOST_TERMS });
        }
        terms.sort_by(|(p, q), (r, s)| (r * q).cmp(&(p * s)));
        self.all.push(SeparationCurve { terms, scale, witness });
        Ok(())
    }

    /// The law of the `p`s against that of the `q`s and the other way round.
    pub(super) fn push_both(
        &mut self,
        witness: Witness,
        terms: &[(BigUint, BigUint)],
        scale: &BigUint,
    ) -> Result<(), ModelError> {
        self.push(witness, terms.iter().cloned(), scale.clone())?;
        self.push(witness, terms.iter().map(|(p, q)| (q.clone(), p.clone())), scale.clone())
    }

    /// The largest delta where e^epsilon is `x`, which is at least 1.
    pub(super) fn delta(&self, x: &Quotient) -> WorstSeparation<Quotient> {
        let mut worst = WorstSeparation {
            amount: Quotient { above: BigUint::zero(), below: BigUint::from(1u8) },
            witness: None,
        };
        for curve in &self.all {
            let delta = curve.delta(x);
            if delta.is_above(&worst.amount) {
                worst = WorstSeparation { amount: delta, witness: Some(curve.witness) };
            }
        }
        worst
    }

    /// The least e^epsilon at which no delta is above `delta`; `None` if there is no such epsilon.
    pub(super) fn least(&self, delta: &Fraction) -> WorstSeparation<Option<Quotient>> {
        let mut worst = WorstSeparation { amount: Some(Quotient::one()), witness: None };
        for curve in &self.all {
            let least = curve.least(delta);
            let above = match (&least, &worst.amount) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(least), Some(most)) => least.is_above(most),
            };
            if above {
                worst = WorstSeparation { amount: least, witness: Some(curve.witness) };
            }
        }
        worst
    }
}

impl SeparationCurve {
    fn delta(&self, x: &Quotient) -> Quotient {
        let mut sum = BigUint::zero();
        for (p, q) in &self.terms {
            let (whole, subtrahend) = (p * &x.below, q * &x.above);
            if whole <= subtrahend {
                break;
            }
            sum += whole - subtrahend;
        }
        Quotient { above: sum, below: &x.below * &self.scale }
    }

    /// Between two neighbouring ratios p/q, delta is linear in x: the sum of the `p`s less x times
    /// that of the `q`s, over those with larger ratios.
    fn least(&self, delta: &Fraction) -> Option<Quotient> {
        let allowed = &delta.numerator * &self.scale;
        let (mut ps, mut qs) = (BigUint::zero(), BigUint::zero());
        for (p, q) in &self.terms {
            // At x = p/q: (ps - x qs) / scale > delta?
            let minuend = &ps * q;
            let subtrahend = p * &qs;
            if minuend > subtrahend && (minuend - subtrahend) * &delta.denominator > &allowed * q {
                break;
            }
            ps += p;
            qs += q;
        }
        let above = &ps * &delta.denominator;
        if above <= allowed {
            return Some(Quotient::one());
        }
        if qs.is_zero() {
            return None;
        }
        let least = Quotient { above: above - allowed, below: qs * &delta.denominator };
        let one = Quotient::one();
        Some(if least.is_above(&one) { least } else { one })
    }
}
