//! Quotients of whole numbers, rounded only in the end.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

/// A quotient of whole numbers, not below zero.
#[derive(Clone, Debug)]
pub struct Quotient {
    /// The numerator.
    pub above: BigUint,
    /// The denominator, which is not zero.
    pub below: BigUint,
}

/// Bits of the powers of e.
const BITS: u64 = 256;

/// Exponents above it are taken for it.
const MOST: u64 = 2000;

impl Quotient {
    /// One.
    pub fn one() -> Self {
        Self { above: BigUint::one(), below: BigUint::one() }
    }

    /// Whether it is more than another.
    pub fn is_above(&self, other: &Self) -> bool {
        &self.above * &other.below > &other.above * &self.below
    }

    /// The least float that is at least the quotient (of those with all their digits: what is
    /// smaller becomes the smallest of them); infinity where none is.
    pub fn up(&self) -> f64 {
        if self.above.is_zero() {
            return 0.0;
        }
        // 54 or 55 bits of the quotient, then 53, rounded up.
        let shift = 54 + self.below.bits() as i64 - self.above.bits() as i64;
        let (above, below) = match u64::try_from(shift) {
            Ok(shift) => (&self.above << shift, self.below.clone()),
            Err(_) => (self.above.clone(), &self.below << shift.unsigned_abs()),
        };
        let quotient = &above / &below;
        let rest = above - &quotient * below;
        let surplus = quotient.bits() - 53;
        let digits = &quotient >> surplus;
        let exact = rest.is_zero() && quotient.trailing_zeros() >= Some(surplus);
        let digits = digits.to_f64().unwrap_or(f64::INFINITY) + f64::from(u8::from(!exact));
        let exponent = surplus as i64 - shift;
        if exponent < -1100 {
            return f64::MIN_POSITIVE;
        }
        // In two steps, as a power of two alone may be too small where the product is not.
        let half = i32::try_from(exponent / 2).unwrap_or(2000);
        let rest = i32::try_from(exponent - exponent / 2).unwrap_or(2000);
        (digits * 2f64.powi(half) * 2f64.powi(rest)).max(f64::MIN_POSITIVE)
    }

    /// The natural logarithm, rounded up by at most one part in 10^14, of a quotient of at least 1;
    /// of a smaller one, zero.
    pub fn ln_up(&self) -> f64 {
        if self.above <= self.below {
            return 0.0;
        }
        let more = Self { above: &self.above - &self.below, below: self.below.clone() };
        let size = self.above.bits() as i64 - self.below.bits() as i64;
        let ln = if size < 900 {
            more.up().ln_1p()
        } else {
            let reduced = Self { above: self.above.clone(), below: &self.below << size as u64 };
            reduced.up().ln() + size as f64 * std::f64::consts::LN_2
        };
        ln * (1.0 + 1e-15)
    }

    /// e^x for x = `units / one` (`one` above zero), or less by at most one part in 2^150; that of
    /// 2000 for a larger x.
    pub fn exp_down(units: u64, one: u64) -> Self {
        let units = units.min(one.saturating_mul(MOST));
        // e^x = (e^(x / 2^halvings))^(2^halvings), the exponent being at most 1/2.
        let mut halvings = 0u64;
        while u128::from(units) * 2 > u128::from(one) << halvings {
            halvings += 1;
        }
        let unit = BigUint::one() << BITS;
        let x = (BigUint::from(units) << (BITS - halvings)) / BigUint::from(one);
        // Every term is rounded down.
        let (mut sum, mut term) = (unit.clone(), unit);
        let mut n = 1u32;
        loop {
            term = ((term * &x) >> BITS) / BigUint::from(n);
            if term.is_zero() {
                break;
            }
            sum += &term;
            n += 1;
        }
        // digits * 2^exponent.
        let (mut digits, mut exponent) = (sum, -(BITS as i64));
        for _ in 0..halvings {
            digits = &digits * &digits;
            exponent *= 2;
            let surplus = digits.bits().saturating_sub(BITS);
            digits >>= surplus;
            exponent += surplus as i64;
        }
        let one = BigUint::one();
        match u64::try_from(exponent) {
            Ok(up) => Self { above: digits << up, below: one },
            Err(_) => Self { above: digits, below: one << exponent.unsigned_abs() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(above: u128, below: u128) -> Quotient {
        Quotient { above: BigUint::from(above), below: BigUint::from(below) }
    }

    #[test]
    fn floats_are_above_and_near() {
        for (above, below) in [
            (1, 3),
            (2, 3),
            (1, 1),
            (7, 1),
            (1, u128::MAX),
            (u128::MAX, 1),
            (u128::MAX, u128::MAX - 1),
        ] {
            let float = ratio(above, below).up();
            let near = above as f64 / below as f64;
            assert!(float >= near && float <= near * (1.0 + 1e-15), "{above}/{below}: {float:e}");
        }
        assert_eq!(ratio(0, 7).up(), 0.0);
        assert_eq!(ratio(5 << 90, 10 << 90).up(), 0.5);
        assert_eq!(ratio(1, 3).up(), (1.0f64 / 3.0).next_up());
        assert_eq!(ratio((1 << 53) + 1, 1).up(), 2f64.powi(53) + 2.0);
        let huge = BigUint::one() << 3000u32;
        assert_eq!(Quotient { above: BigUint::one(), below: huge.clone() }.up(), f64::MIN_POSITIVE);
        assert_eq!(Quotient { above: huge.clone(), below: BigUint::one() }.up(), f64::INFINITY);
        let near = Quotient { above: &huge * 3u8, below: huge * 4u8 }.up();
        assert!((0.75..=0.75 + 1e-15).contains(&near));
        // Two thirds of the smallest normal number but one bit.
        let small =
            Quotient { above: BigUint::from(2u8), below: BigUint::from(3u8) << 1020u32 }.up();
        assert!(small >= 2.0 / 3.0 * 2f64.powi(-1020) && small < 0.67 * 2f64.powi(-1020));
    }

    #[test]
    fn logarithms_are_above_and_near() {
        for (above, below, ln) in [
            (2, 1, std::f64::consts::LN_2),
            (3, 1, 1.098_612_288_668_109_8),
            (10u128.pow(38), 1, 87.498_233_533_773_74),
            (1_000_000_001, 1_000_000_000, 9.999_999_995e-10),
        ] {
            let up = ratio(above, below).ln_up();
            assert!(up >= ln && up <= ln * (1.0 + 1e-14), "{above}/{below}: {up:e}");
        }
        assert_eq!(ratio(5, 5).ln_up(), 0.0);
        let huge = Quotient { above: BigUint::one() << 3000u32, below: BigUint::one() };
        assert!((huge.ln_up() / (3000.0 * std::f64::consts::LN_2) - 1.0).abs() < 1e-14);
    }

    /// Against digits from a computation apart.
    #[test]
    fn powers_of_e_are_below_and_near() {
        let e = "2718281828459045235360287471352662497757247093699959574966967627724076630353547";
        let one = 1_000_000_000_000;
        for (units, digits, scale) in [
            (one, e, 78),
            (0, "1", 0),
            // e^20 and e^0.000000000001.
            (20 * one, "48516519540979027796910683054154055868463898894484", 41),
            (1, "1000000000001000000000000500000000000166666666666708", 51),
        ] {
            let quotient = Quotient::exp_down(units, one);
            let digits: BigUint = digits.parse().unwrap();
            let scaled = (&quotient.above * BigUint::from(10u8).pow(scale)) / &quotient.below;
            assert!(scaled <= digits, "{units}: {scaled}");
            assert!(&digits - &scaled <= &digits / BigUint::from(10u8).pow(45) + 1u8, "{scaled}");
        }
        // The exponential of a logarithm rounded up is at least the quotient.
        for (above, below) in [(3, 1), (21, 20), (1_000_003, 1_000_001), (10u128.pow(30), 7)] {
            let quotient = ratio(above, below);
            let units = (quotient.ln_up() * one as f64 * (1.0 + 4.0 * f64::EPSILON)).ceil() as u64;
            assert!(!quotient.is_above(&Quotient::exp_down(units, one)), "{above}/{below}");
        }
        let most = Quotient::exp_down(1_000_000 * one, one);
        assert!((most.ln_up() - 2000.0).abs() < 1e-9);
    }
}
