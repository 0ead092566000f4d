//! Common divisors and multiples of whole numbers of any size.

use std::ops::{Div, Mul, Rem};

use num_traits::Zero;

/// The greatest common divisor, by Euclid; of a number and zero, that number.
pub fn gcd<T: Clone + Zero + Rem<Output = T>>(a: T, b: T) -> T {
    let (mut divisor, mut rest) = (a, b);
    while !rest.is_zero() {
        let next = divisor % rest.clone();
        (divisor, rest) = (rest, next);
    }
    divisor
}

/// The least common multiple of numbers above zero.
pub fn lcm<T>(a: T, b: T) -> T
where
    T: Clone + Zero + Rem<Output = T> + Div<Output = T> + Mul<Output = T>,
{
    a.clone() / gcd(a, b.clone()) * b
}

/// A quotient in lowest terms: numerator and denominator, not both zero.
pub fn lowest_terms<T>(numerator: T, denominator: T) -> (T, T)
where
    T: Clone + Zero + Rem<Output = T> + Div<Output = T>,
{
    let divisor = gcd(numerator.clone(), denominator.clone());
    (numerator / divisor.clone(), denominator / divisor)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    #[test]
    fn terms_are_reduced() {
        assert_eq!(
            (gcd(12u32, 18), gcd(0u32, 7), gcd(7u32, 0), gcd(1u128, u128::MAX)),
            (6, 7, 7, 1)
        );
        assert_eq!(lcm(4u64, 6), 12);
        assert_eq!(lowest_terms(u128::MAX, u128::MAX), (1, 1));
        assert_eq!(lowest_terms(0u32, 9), (0, 1));
        let big = |n: u32| BigUint::from(n) << 200u32;
        assert_eq!(lowest_terms(big(6), big(4)), (BigUint::from(3u32), BigUint::from(2u32)));
    }
}
