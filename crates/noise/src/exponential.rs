//! Events of probability e^-x, by von Neumann's method.
//!
//! J. von Neumann, "Various techniques used in connection with random digits" (1951): among uniform
//! deviates U1, U2, .. the chance that x > U1 > U2 > .. > Un is x^n / n!, so the chance that the
//! longest such run has even length is 1 - x + x^2/2 - .. = e^-x.

use crate::EntropyError;
use crate::deviate::Deviate;
use crate::generator::Words;

/// True with probability e^-(numerator / denominator), for `numerator <= denominator`,
/// `1 <= denominator < 2^127`.
pub(crate) fn exp_minus_ratio<W: Words>(
    words: &mut W,
    numerator: u128,
    denominator: u128,
) -> Result<bool, EntropyError> {
    let mut previous = Deviate::draw(words)?;
    // U < numerator / denominator exactly if floor(denominator * U) < numerator.
    if !previous.settle(words, denominator, 0, |x| x < numerator)? {
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

    /// Ties inside a run: 5 < 7 starts it, the tie 5 = 5 goes to the second words.
    #[test]
    fn ties_inside_a_run() {
        // x = 7/16; U1 = 5; U2 = 5 ties; second words 1 (of U2) and 2 (of U1): U2 is below; U3 = 6
        // ends.
        let mut script = Script::<4>::new(&[5, 5, 1, 2, 6]);
        assert!(exp_minus_ratio(&mut script, 7, 16).unwrap());
        assert_eq!(script.used(), 5);
        // The other way round: U2 is above, and the run has odd length.
        let mut script = Script::<4>::new(&[5, 5, 2, 1]);
        assert!(!exp_minus_ratio(&mut script, 7, 16).unwrap());
        assert_eq!(script.used(), 4);
    }

    /// Cut off anywhere, a script gives an error and no value.
    #[test]
    fn no_words_no_value() {
        let full = [5, 5, 1, 2, 6];
        for length in 0..full.len() {
            assert!(exp_minus_ratio(&mut Script::<4>::new(&full[..length]), 7, 16).is_err());
        }
    }
}
