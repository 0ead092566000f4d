//! Interval arithmetic in fixed point, for probabilities to any precision.
//!
//! Every operation rounds outwards: if the operands enclose two numbers, the result encloses the
//! result of the operation on them.

use num_bigint::BigUint;
use num_traits::{One, Zero};

/// A real number p in [0, 1] with enclosures of any precision.
pub trait Enclosure {
    /// `(lo, hi)` with `lo <= p * 2^bits <= hi`.
    ///
    /// `(hi - lo) / 2^bits` must go to zero as `bits` grows; a constant `hi - lo` of a few units is
    /// ideal. A draw by it is exact only if the bounds are true, for every `bits`.
    fn enclose(&self, bits: u32) -> (BigUint, BigUint);
}

/// A non-negative real number between `low` and `high`, both in units of 2^-bits.
///
/// The operands of one operation must have the same number of bits.
#[derive(Clone, Debug)]
pub struct Bracket {
    /// The lower bound.
    pub low: BigUint,
    /// The upper bound.
    pub high: BigUint,
    bits: u32,
}

impl Bracket {
    /// `numerator / denominator`, for a denominator above zero.
    pub fn ratio(numerator: &BigUint, denominator: &BigUint, bits: u32) -> Self {
        let scaled = numerator << bits;
        Self { low: &scaled / denominator, high: ceil_div(&scaled, denominator), bits }
    }

    /// A whole number, without error.
    pub fn whole(value: u32, bits: u32) -> Self {
        let value = BigUint::from(value) << bits;
        Self { low: value.clone(), high: value, bits }
    }

    /// e^-x for x = `numerator / denominator` >= 0. The bounds are a few units apart.
    pub fn exp_minus(numerator: &BigUint, denominator: &BigUint, bits: u32) -> Self {
        // x / 2^halvings <= 1/2, so that the alternating series falls by half or more each term;
        // squaring back doubles the relative error each time, for which the extra bits are.
        let ratio_bits = (numerator / denominator).bits() as u32;
        let halvings = ratio_bits + 1;
        let inner = bits + 2 * halvings + 32;
        let x = Self::ratio(numerator, &(denominator << halvings), inner);
        // Sum over k of (-x)^k / k!, its terms enclosed one by one; even terms are added, odd ones
        // subtracted. The rest is at most the first term not taken.
        let one = Self::whole(1, inner);
        let mut term = one.clone();
        let (mut added, mut subtracted) = (one, Self::whole(0, inner));
        for k in 1u32.. {
            term = term.times(&x).over(k);
            if k % 2 == 0 {
                added = added.plus(&term);
            } else {
                subtracted = subtracted.plus(&term);
            }
            if term.high <= BigUint::one() {
                break;
            }
        }
        let mut result = added.minus(&subtracted);
        result.high += term.high;
        for _ in 0..halvings {
            result = result.times(&result);
        }
        result.rescaled(bits)
    }

    /// e^-x for every x that this may be. The bounds are a few units wider than those of x.
    pub fn exp_of_minus(&self) -> Self {
        let one = BigUint::one() << self.bits;
        let low = Self::exp_minus(&self.high, &one, self.bits).low;
        Self { low, high: Self::exp_minus(&self.low, &one, self.bits).high, bits: self.bits }
    }

    /// ln x for x = `numerator / denominator` >= 1. The bounds are a few units apart.
    pub fn ln(numerator: &BigUint, denominator: &BigUint, bits: u32) -> Self {
        // x = 2^doublings z for a z in [1, 2), and ln z = 2 artanh((z - 1) / (z + 1)); ln 2 = 2
        // artanh(1/3).
        let doublings = (numerator / denominator).bits().saturating_sub(1);
        let whole = denominator << doublings;
        let inner = bits + 32;
        let rest = Self::artanh(&(numerator - &whole), &(numerator + &whole), inner);
        let two = Self::artanh(&BigUint::one(), &BigUint::from(3u32), inner);
        let sum = two.scaled(&BigUint::from(doublings)).plus(&rest);
        sum.scaled(&BigUint::from(2u32)).rounded(bits)
    }

    /// artanh w = w + w^3/3 + w^5/5 + .. for w = `numerator / denominator` in 0 ..= 1/3.
    fn artanh(numerator: &BigUint, denominator: &BigUint, bits: u32) -> Self {
        let w = Self::ratio(numerator, denominator, bits);
        let square = w.times(&w);
        let (mut sum, mut power) = (w.clone(), w);
        for k in 1u32.. {
            power = power.times(&square);
            sum = sum.plus(&power.over(2 * k + 1));
            if power.high <= BigUint::one() {
                break;
            }
        }
        // The terms left out are below power (w^2 + w^4 + ..) <= power / 8.
        sum.high += power.high;
        sum
    }

    /// The product with a whole number.
    pub fn scaled(&self, factor: &BigUint) -> Self {
        Self { low: &self.low * factor, high: &self.high * factor, bits: self.bits }
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high, bits: self.bits }
    }

    /// The difference, cut off at zero.
    pub fn minus(&self, other: &Self) -> Self {
        let saturating = |a: &BigUint, b: &BigUint| if a > b { a - b } else { BigUint::zero() };
        Self {
            low: saturating(&self.low, &other.high),
            high: saturating(&self.high, &other.low),
            bits: self.bits,
        }
    }

    /// The product.
    pub fn times(&self, other: &Self) -> Self {
        let one = BigUint::one() << self.bits;
        Self {
            low: (&self.low * &other.low) >> self.bits,
            high: ceil_div(&(&self.high * &other.high), &one),
            bits: self.bits,
        }
    }

    fn over(&self, divisor: u32) -> Self {
        let divisor = BigUint::from(divisor);
        Self { low: &self.low / &divisor, high: ceil_div(&self.high, &divisor), bits: self.bits }
    }

    /// The quotient; `None` where the divisor might be zero.
    pub fn divided_by(&self, other: &Self) -> Option<Self> {
        if other.low.is_zero() {
            return None;
        }
        Some(Self {
            low: (&self.low << self.bits) / &other.high,
            high: ceil_div(&(&self.high << self.bits), &other.low),
            bits: self.bits,
        })
    }

    /// The smallest interval around both.
    pub fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high), bits: self.bits }
    }

    /// The interval in units of 2^-bits, rounded outwards, and no higher than one.
    pub fn rescaled(&self, bits: u32) -> Self {
        let Self { low, high, bits } = self.rounded(bits);
        let one = BigUint::one() << bits;
        Self { low: low.min(one.clone()), high: high.min(one), bits }
    }

    /// The interval in units of 2^-bits, rounded outwards.
    fn rounded(&self, bits: u32) -> Self {
        let (low, high) = if bits >= self.bits {
            let shift = bits - self.bits;
            (&self.low << shift, &self.high << shift)
        } else {
            let shift = self.bits - bits;
            (&self.low >> shift, ceil_div(&self.high, &(BigUint::one() << shift)))
        };
        Self { low, high, bits }
    }
}

fn ceil_div(a: &BigUint, b: &BigUint) -> BigUint {
    let quotient = a / b;
    if (&quotient * b) == *a { quotient } else { quotient + 1u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exp_minus(numerator: u64, denominator: u64, bits: u32) -> Bracket {
        Bracket::exp_minus(&BigUint::from(numerator), &BigUint::from(denominator), bits)
    }

    #[test]
    fn exponentials_are_enclosed_tightly() {
        // floor(e^-1 2^64) and floor(e^-20.5 2^96), from 40-digit values of the two.
        let one = exp_minus(1, 1, 64);
        assert!(one.low <= BigUint::from(6_786_177_901_268_885_274u64));
        assert!(one.high > BigUint::from(6_786_177_901_268_885_274u64));
        assert!(&one.high - &one.low <= BigUint::from(2u32));
        for (n, d) in [(1u64, 1_000_000u64), (1, 3), (7, 1), (41, 2), (45, 1), (700, 1)] {
            let tight = exp_minus(n, d, 256);
            assert!((&tight.high - &tight.low) <= BigUint::from(4u32), "{n}/{d}");
            let exact = (-(n as f64) / d as f64).exp();
            let float = (&tight.low >> 64u32).to_string().parse::<f64>().unwrap() / 2f64.powi(192);
            if exact > 1e-40 {
                assert!((float / exact - 1.0).abs() < 1e-13, "{n}/{d}: {float} {exact}");
            }
        }
        let zero = exp_minus(0, 1, 64);
        assert!(zero.low <= BigUint::one() << 64u32 && zero.high >= BigUint::one() << 64u32);
    }

    /// ln 3, ln 2^100 and ln(1 + 2^-40) to 50 digits, and e^-x of an enclosed x.
    #[test]
    fn logarithms_are_enclosed_tightly() {
        let scale = BigUint::from(10u32).pow(50);
        let one = BigUint::from(1u32);
        for (numerator, denominator, digits) in [
            (
                BigUint::from(3u32),
                one.clone(),
                "109861228866810969139524523692252570464749055782274",
            ),
            (&one << 100u32, one.clone(), "6931471805599453094172321214581765680755001343602552"),
            ((&one << 40u32) + 1u32, &one << 40u32, "90949470177251464760876279943469247090"),
            (one.clone(), one.clone(), "0"),
        ] {
            let digits: BigUint = digits.parse().unwrap();
            for bits in [1u32, 64, 120] {
                let ln = Bracket::ln(&numerator, &denominator, bits);
                assert!(ln.low <= ((&digits + 1u32) << bits) / &scale, "{digits} {bits}");
                assert!(ln.high >= (&digits << bits) / &scale, "{digits} {bits}");
                assert!(&ln.high - &ln.low <= BigUint::from(3u32), "{digits} {bits}");
                // e^-(ln x) = 1/x.
                let inverse = ln.exp_of_minus();
                let exact = Bracket::ratio(&denominator, &numerator, bits);
                assert!(inverse.low <= exact.high && exact.low <= inverse.high);
                assert!(&inverse.high - &inverse.low <= BigUint::from(7u32));
            }
        }
    }
}
