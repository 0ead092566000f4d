//! Tests of the rounded normal law.

use super::*;
use crate::TestSeed;
use crate::script::{Script, enumerate};

fn law(sigma: f64) -> RoundedGaussian {
    RoundedGaussian::new(Dyadic::at_least(sigma).unwrap())
}

/// P[a <= |N| < b] of the standard normal law.
fn mass(a: f64, b: f64) -> f64 {
    libm::erfc(a / SQRT_2) - libm::erfc(b / SQRT_2)
}

/// All bit strings: the whole part and the first half of the fraction.
#[test]
fn half_normal_enumerated() {
    let exact = |(whole, part): &(u64, u128)| {
        let low = *whole as f64 + *part as f64 / 2.0;
        mass(low, low + 0.5)
    };
    for length in [8, 10] {
        let outcomes = enumerate::<2, _>(length, |words| {
            let (whole, mut fraction) = half_normal(words)?;
            Ok((whole, fraction.settle(words, 2, 0, |x| x)?))
        });
        outcomes.assert_below(if length == 8 { 0.7 } else { 0.6 }, exact);
    }
}

/// All bit strings: the trial that makes the fraction, given the first bits of x, lies between its
/// probabilities at the ends of the interval that they leave.
#[test]
fn root_trial_enumerated() {
    let p = |k: f64, x: f64| (-x * (2.0 * k + x) / (2.0 * k + 2.0)).exp();
    for k in 0..3u64 {
        for eighth in 0..8 {
            let outcomes = enumerate::<3, _>(7, |words| {
                let mut x = Deviate::draw(&mut Script::<3>::new(&[eighth]))?;
                root_trial(words, k, &mut x)
            });
            let (low, high) =
                (p(k as f64, (eighth + 1) as f64 / 8.0), p(k as f64, eighth as f64 / 8.0));
            assert!(outcomes.undecided < 0.25, "{}", outcomes.undecided);
            assert!(
                outcomes.mass[&true] <= high && outcomes.mass[&true] + outcomes.undecided >= low
            );
            assert!(outcomes.mass.get(&false).copied().unwrap_or(0.0) <= 1.0 - low);
        }
    }
}

/// All bit strings, rounded, below, at and above sigma = 1, and with a mantissa of 53 bits.
#[test]
fn enumerated() {
    for sigma in [0.25, 0.5, 1.0, 1.1, 2.0, 10.0] {
        let law = law(sigma);
        enumerate::<2, _>(10, |w| law.draw(w)).assert_below(0.75, |x| law.pmf(*x));
        enumerate::<1, _>(18, |w| law.draw(w)).assert_below(0.75, |x| law.pmf(*x));
    }
}

/// Words that lead to k = 0 and a fraction with the given first word, which is accepted at once.
fn accepted(negative: bool, fraction: u64) -> Vec<u64> {
    vec![u64::from(negative) << 63, u64::MAX, fraction, u64::MAX]
}

fn run(sigma: Dyadic, words: &[u64]) -> (Option<i128>, usize) {
    let mut script = Script::<64>::new(words);
    (RoundedGaussian::new(sigma).draw(&mut script).ok(), script.used())
}

#[test]
fn draws_by_hand() {
    let sigma = Dyadic::new(5, 0).unwrap();
    // 5 * 0.75 = 3.75
    assert_eq!(run(sigma, &accepted(false, 3 << 62)), (Some(4), 4));
    assert_eq!(run(sigma, &accepted(true, 3 << 62)), (Some(-4), 4));
    // k = 3 takes e^(-1/2) three times, then six more times for k (k - 1), then four trials: 5 * 3.75.
    let mut words = vec![0; 16];
    words[4] = u64::MAX;
    words[11] = 3 << 62;
    words[12..].fill(u64::MAX);
    assert_eq!(run(sigma, &words), (Some(19), 16));
    // A failure among the six starts all over, and so does one among the four (a run of length one).
    words[10] = u64::MAX;
    words.truncate(11);
    words.extend(&accepted(false, 3 << 62)[1..]);
    assert_eq!(run(sigma, &words), (Some(4), 14));
    let restarted = [0, u64::MAX, 3 << 62, 1, 0, 1, 3 << 62, u64::MAX, 3 << 62, u64::MAX];
    assert_eq!(run(sigma, &restarted), (Some(4), 10));
    for length in 0..words.len() {
        assert_eq!(run(sigma, &words[..length]), (None, length), "no value without all its words");
    }
}

/// Forced rounding fallback: the first word leaves open whether sigma x is below 1/2, further ones say.
#[test]
fn undecided_rounding_draws_further_words() {
    let third = 0x5555_5555_5555_5555;
    // sigma = 3/2: sigma x = 1/2 at x = 1/3.
    let sigma = Dyadic::new(3, -1).unwrap();
    let extended = |tail: &[u64]| {
        let mut words = accepted(false, third);
        words.extend(tail);
        run(sigma, &words)
    };
    assert_eq!(extended(&[]), (None, 4));
    assert_eq!(extended(&[third - 1]), (Some(0), 5));
    assert_eq!(extended(&[third + 1]), (Some(1), 5));
    assert_eq!(extended(&[third, third, third, third - 1]), (Some(0), 8));
    assert_eq!(extended(&[third, third, third, third + 1]), (Some(1), 8));
}

/// At sigma = 2^100 the second word sets the low digits, and an open carry goes to the third.
#[test]
fn wide_sigma_uses_two_words() {
    let sigma = Dyadic::new(1, 100).unwrap();
    let extended = |tail: &[u64]| {
        let mut words = accepted(true, 1);
        words.extend(tail);
        run(sigma, &words)
    };
    // x = 2^-64 + w 2^-128; sigma x = 2^36 + w 2^-28.
    assert_eq!(extended(&[0]), (Some(-(1 << 36)), 5));
    assert_eq!(extended(&[(1 << 27) - 1]), (Some(-(1 << 36)), 5));
    assert_eq!(extended(&[1 << 27]), (Some(-(1 << 36) - 1), 5));
    // 3 * 2^98 has an odd part, so a tie needs more: sigma x = 0.75 (2^36 + w 2^-28) is half-integral
    // where 3 w 2^-30 = 1/2 mod 1, w = 2^29 / 3.
    let sigma = Dyadic::new(3, 98).unwrap();
    let w = (1u64 << 29) / 3;
    let fraction = |third: u64| {
        let mut words = accepted(false, 0);
        words.extend([w, third]);
        run(sigma, &words)
    };
    assert_eq!(fraction(0), (Some(0), 6));
    assert_eq!(fraction(u64::MAX), (Some(1), 6));
}

/// Two doubles further than rounding apart from each other: the two formulas for the mass of a cell agree
/// where both are good, and large sigma is right where the difference would cancel.
#[test]
fn cell_agrees_with_the_difference() {
    for width in [0.02f64, 0.04, 0.06] {
        for step in 0..20 {
            let z = f64::from(step) * 0.05;
            if width * (z + 1.0) < 0.1 {
                let difference = 0.5
                    * (libm::erf((z + width / 2.0) / SQRT_2)
                        - libm::erf((z - width / 2.0) / SQRT_2));
                assert!((cell(z, width) / difference - 1.0).abs() < 2e-14, "{z} {width}");
            }
        }
    }
    let wide = law(2f64.powi(70));
    let at_one = wide.pmf(1 << 70) * 2f64.powi(70);
    assert!((at_one / 0.241_970_724_519_143_35 - 1.0).abs() < 1e-14);
}

/// The mass adds up to 1, and to the tails.
#[test]
fn pmf_sums_to_tail() {
    for sigma in [0.05, 0.5, 1.0, 3.7, 9.0, 11.0, 100.0] {
        let law = law(sigma);
        let reach = (sigma * 12.0) as i128 + 2;
        let mut sum = law.tail(reach + 1);
        for x in (-reach..=reach).rev() {
            sum += law.pmf(x);
            let tail = law.tail(x);
            if tail > 1e-25 {
                assert!((sum / tail - 1.0).abs() < 2e-12, "sigma = {sigma}, x = {x}: {sum} {tail}");
            }
        }
        assert!((sum - 1.0).abs() < 1e-13);
    }
}

/// The two branches of the variance meet.
#[test]
fn variance_branches_meet() {
    for sigma in [1.5, 1.9, 1.999_999] {
        let difference = law(sigma).variance() / (sigma * sigma + 1.0 / 12.0) - 1.0;
        assert!(difference.abs() < 1e-14, "{difference}");
    }
    assert_eq!(law(2f64.powi(-20)).variance(), 0.0);
    assert_eq!(law(2f64.powi(-20)).pmf(0), 1.0);
}

/// Extreme sigmas draw: nothing overflows (this profile checks overflow).
#[test]
fn extreme_sigmas() {
    let mut generator = TestSeed(8).generator();
    let (narrow, wide) = (law(2f64.powi(-20)), law(2f64.powi(100)));
    let full = RoundedGaussian::new(Dyadic::new(u64::MAX, -83).unwrap());
    for _ in 0..2000 {
        assert_eq!(narrow.sample(&mut generator).unwrap(), 0);
        assert!(full.sample(&mut generator).unwrap() == 0);
        assert!(wide.sample(&mut generator).unwrap().unsigned_abs() < 1 << 104);
    }
}
