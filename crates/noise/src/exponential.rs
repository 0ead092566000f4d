//! Events of probability e^-x, and exponential deviates, by von Neumann's method.
//!
//! J. von Neumann, "Various techniques used in connection with random digits" (1951): among uniform
//! deviates U1, U2, .. the chance that x > U1 > U2 > .. > Un is x^n / n!, so the chance that the longest
//! such run has even length is 1 - x + x^2/2 - .. = e^-x.

use crate::EntropyError;
use crate::deviate::Deviate;
use crate::generator::Words;

/// Whether a run that goes down has even length. `starts` says whether the first deviate is below x.
#[inline]
fn run_is_even<W: Words>(
    words: &mut W,
    starts: impl FnOnce(&mut Deviate, &mut W) -> Result<bool, EntropyError>,
) -> Result<bool, EntropyError> {
    let mut previous = Deviate::draw(words)?;
    if !starts(&mut previous, words)? {
        return Ok(true);
    }
    let mut even = false;
    loop {
        let mut next = Deviate::draw(words)?;
        if !next.below(&mut previous, words)? {
            return Ok(even);
        }
        previous = next;
        even = !even;
    }
}

/// True with probability e^-(numerator / denominator), for `numerator <= denominator`,
/// `1 <= denominator < 2^127`.
pub(crate) fn exp_minus_ratio<W: Words>(
    words: &mut W,
    numerator: u128,
    denominator: u128,
) -> Result<bool, EntropyError> {
    // U < numerator / denominator exactly if floor(denominator * U) < numerator.
    run_is_even(words, |first, words| first.settle(words, denominator, 0, |x| x < numerator))
}

/// An exponential deviate of mean 1: its whole part and its fraction.
///
/// A trial takes a uniform x and succeeds with probability e^-x, so an accepted x has the density of
/// the fraction, and as a trial fails with probability 1/e, the failures before it have the law of the
/// whole part and are independent of it (von Neumann).
#[inline]
pub(crate) fn exponential<W: Words>(words: &mut W) -> Result<(u64, Deviate), EntropyError> {
    let mut whole = 0u64;
    loop {
        let mut fraction = Deviate::draw(words)?;
        if run_is_even(words, |first, words| first.below(&mut fraction, words))? {
            return Ok((whole, fraction));
        }
        whole = whole.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Script, enumerate};

    /// All bit strings, at several x in [0, 1].
    #[test]
    fn exp_minus_ratio_enumerated() {
        for (numerator, denominator) in [(0u128, 1u128), (1, 3), (1, 2), (5, 7), (99, 100), (1, 1)]
        {
            let p = (-(numerator as f64) / denominator as f64).exp();
            let law = |yes: &bool| if *yes { p } else { 1.0 - p };
            enumerate::<1, _>(17, |w| exp_minus_ratio(w, numerator, denominator))
                .assert_below(0.04, law);
            enumerate::<3, _>(6, |w| exp_minus_ratio(w, numerator, denominator))
                .assert_below(0.08, law);
        }
    }

    /// All bit strings: whole part and first fraction bits against the exponential law.
    #[test]
    fn exponential_enumerated() {
        let outcomes = enumerate::<2, _>(9, |words| {
            let (whole, mut fraction) = exponential(words)?;
            Ok((whole, fraction.settle(words, 4, 0, |x| x)?))
        });
        outcomes.assert_below(0.2, |(whole, quarter)| {
            let low = *whole as f64 + *quarter as f64 / 4.0;
            (-low).exp() - (-(low + 0.25)).exp()
        });
    }

    /// Ties inside a run: 5 < 7 starts it, the tie 5 = 5 goes to the second words.
    #[test]
    fn ties_inside_a_run() {
        // x = 7/..; U1 = 5; U2 = 5 ties; second words 1 (of U2) and 2 (of U1): U2 is below; U3 = 6 ends.
        let mut script = Script::<4>::new(&[7, 5, 5, 1, 2, 6]);
        let (whole, mut fraction) = exponential(&mut script).unwrap();
        assert_eq!((whole, script.used()), (0, 6));
        assert_eq!(fraction.settle(&mut script, 16, 0, |x| x).unwrap(), 7);
        // The other way round: U2 is above, the run has odd length, the trial fails.
        let mut script = Script::<4>::new(&[7, 5, 5, 2, 1, 3, 4]);
        let (whole, _) = exponential(&mut script).unwrap();
        assert_eq!((whole, script.used()), (1, 7));
    }

    /// Cut off anywhere, a script gives an error and no value.
    #[test]
    fn no_words_no_value() {
        let full = [7, 5, 5, 1, 2, 6];
        for length in 0..full.len() {
            assert!(exponential(&mut Script::<4>::new(&full[..length])).is_err());
        }
    }
}
