//! Probabilities as they are written, without rounding.

use std::fmt;
use std::str::FromStr;

use hushtable_numbers::decimal::WrittenDecimal;
use hushtable_numbers::{Quotient, lcm, lowest_terms};
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::error::ModelError;

/// Longest text of a fraction.
const MOST_TEXT: usize = 400;
/// Most characters of a text that an error quotes.
const MOST_QUOTED: usize = 60;
/// Most decimal places.
const MOST_PLACES: i64 = 300;

/// A probability as a fraction of whole numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fraction {
    pub(super) numerator: BigUint,
    pub(super) denominator: BigUint,
}

impl Fraction {
    /// Zero.
    pub fn zero() -> Self {
        Self { numerator: BigUint::zero(), denominator: BigUint::one() }
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > MOST_TEXT {
            return None;
        }
        let (numerator, denominator) = match text.split_once('/') {
            Some((above, below)) => (whole(above.trim())?, whole(below.trim())?),
            None => decimal(text)?,
        };
        if denominator.is_zero() || numerator > denominator {
            return None;
        }
        let (numerator, denominator) = lowest_terms(numerator, denominator);
        Some(Self { numerator, denominator })
    }
}

impl FromStr for Fraction {
    type Err = ModelError;

    /// `0.25`, `1e-7` or `1/3`.
    fn from_str(text: &str) -> Result<Self, ModelError> {
        Self::parse(text).ok_or_else(|| {
            let quoted: String = text.chars().take(MOST_QUOTED).collect();
            let more = if quoted.len() < text.len() { "…" } else { "" };
            ModelError::Fraction(quoted + more)
        })
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator.is_one() {
            return self.numerator.fmt(f);
        }
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

fn whole(text: &str) -> Option<BigUint> {
    let digits = text.replace('_', "");
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| BigUint::from_str(&digits).ok()).flatten()
}

/// A decimal, perhaps with an exponent, over a power of ten.
fn decimal(text: &str) -> Option<(BigUint, BigUint)> {
    let text = text.replace('_', "");
    let written = WrittenDecimal::read(&text).filter(|written| !written.is_negative())?;
    let (digits, places) = written.all_digits()?;
    if !(-MOST_PLACES..=MOST_PLACES).contains(&places) {
        return None;
    }
    let power = BigUint::from(10u8).pow(u32::try_from(places.unsigned_abs()).ok()?);
    Some(if places < 0 { (digits * power, BigUint::one()) } else { (digits, power) })
}

/// The law of something finite: a weight for each value, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiniteLaw {
    pub(super) weights: Vec<BigUint>,
    pub(super) total: BigUint,
}

impl FiniteLaw {
    /// Values with these probabilities.
    ///
    /// # Errors
    /// If there are none, or if they do not add up to one exactly.
    pub fn new(probabilities: &[Fraction]) -> Result<Self, ModelError> {
        if probabilities.is_empty() {
            return Err(ModelError::Empty);
        }
        let total =
            probabilities.iter().fold(BigUint::one(), |all, p| lcm(all, p.denominator.clone()));
        let weights: Vec<BigUint> =
            probabilities.iter().map(|p| &p.numerator * (&total / &p.denominator)).collect();
        let sum: BigUint = weights.iter().sum();
        if sum != total {
            let near = Quotient { above: sum.clone(), below: total.clone() }.up();
            let (numerator, denominator) = lowest_terms(sum, total);
            let sum = Fraction { numerator, denominator };
            let text = sum.to_string();
            let long = text.len() > MOST_QUOTED;
            return Err(ModelError::Sum(if long { format!("about {near}") } else { text }));
        }
        Ok(Self { weights, total })
    }

    /// `values` values that are equally likely.
    ///
    /// # Errors
    /// If there are none.
    pub fn uniform(values: usize) -> Result<Self, ModelError> {
        if values == 0 {
            return Err(ModelError::Empty);
        }
        Ok(Self { weights: vec![BigUint::one(); values], total: BigUint::from(values) })
    }

    /// The number of values, including those with probability zero.
    pub fn values(&self) -> usize {
        self.weights.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_read_exactly() {
        for (text, rendered) in [
            ("0.1", "1/10"),
            ("1e-7", "1/10000000"),
            ("2.50e-1", "1/4"),
            ("1/3", "1/3"),
            (" 2 / 6 ", "1/3"),
            ("1", "1"),
            ("1.0", "1"),
            ("0", "0"),
            (".5", "1/2"),
            ("0.000_1", "1/10000"),
            ("1_000e-4", "1/10"),
        ] {
            assert_eq!(text.parse::<Fraction>().unwrap().to_string(), rendered, "{text}");
        }
        for wrong in [
            "", "-0.1", "1.1", "4/3", "1/0", "0/0", "nan", "inf", "1e-301", "1e301", "1/-3", "a/b",
            "1/3/3", "1 2", "0x1", ".", "+", "e5", "1e", "--1",
        ] {
            let refused = wrong.parse::<Fraction>();
            assert_eq!(refused, Err(ModelError::Fraction(wrong.to_owned())), "{wrong}");
        }
        let long = "1".repeat(500).parse::<Fraction>();
        assert_eq!(long, Err(ModelError::Fraction("1".repeat(60) + "…")));
    }

    #[test]
    fn laws_add_up_exactly() {
        let fractions = |texts: &[&str]| -> Vec<Fraction> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let law = FiniteLaw::new(&fractions(&["1/3", "0.5", "1/6", "0"])).unwrap();
        assert_eq!(law.weights, [2u8, 3, 1, 0].map(BigUint::from));
        assert_eq!(law.total, BigUint::from(6u8));
        assert!(FiniteLaw::new(&fractions(&["0.1"; 10])).is_ok());
        let short = FiniteLaw::new(&fractions(&["0.33", "0.33", "0.33"]));
        assert_eq!(short, Err(ModelError::Sum("99/100".to_owned())));
        let near = FiniteLaw::new(&fractions(&["0.999", "1e-280"]));
        assert_eq!(near, Err(ModelError::Sum("about 0.9990000000000001".to_owned())));
        assert_eq!(FiniteLaw::new(&[]), Err(ModelError::Empty));
        assert_eq!(FiniteLaw::uniform(0), Err(ModelError::Empty));
    }
}
