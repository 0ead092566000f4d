//! Tests of the rounded normal law.

use super::*;
use crate::TestSeed;
use crate::script::{Script, enumerate};

fn law(sigma: f64) -> RoundedGaussian {
    RoundedGaussian::new(Dyadic::at_least(sigma).unwrap())
}

/// All bit strings, rounded, below, at and above sigma = 1, and with a mantissa of 53 bits; with
/// few cells per unit and with those in use.
#[test]
fn enumerated() {
    for sigma in [0.25, 0.5, 1.0, 1.1, 2.0, 10.0] {
        let law = law(sigma);
        for bits in [0, 1] {
            let few = Variates::normal(bits);
            enumerate::<2, _>(9, |w| law.draw(&few, w)).assert_below(0.75, |x| law.pmf(*x));
            enumerate::<3, _>(6, |w| law.draw(&few, w)).assert_below(0.75, |x| law.pmf(*x));
        }
        enumerate::<1, _>(18, |w| law.draw(&NORMAL, w)).assert_below(0.9, |x| law.pmf(*x));
        enumerate::<4, _>(4, |w| law.draw(&NORMAL, w)).assert_below(0.9, |x| law.pmf(*x));
    }
}

/// With one cell per unit, where half of all positions must be tested, and in the outer cells with
/// several trials: each value's frequency within six standard deviations. A false alarm has
/// probability 2e-9 for each of 60.
#[test]
fn frequencies_with_few_cells() {
    let (law, few) = (law(7.3), Variates::normal(0));
    let mut generator = TestSeed(13).generator();
    let mut counts = [0.0; 61];
    for _ in 0..500_000 {
        let x = law.draw(&few, &mut generator).unwrap();
        if let Some(count) = usize::try_from(x + 30).ok().and_then(|i| counts.get_mut(i)) {
            *count += 1.0;
        }
    }
    for (i, count) in counts.iter().enumerate() {
        let p = law.pmf(i as i128 - 30);
        assert!((count - 5e5 * p).abs() < 6.0 * (5e5 * p).sqrt().max(1.0), "{i}: {count}");
    }
}

/// Words that lead to a sure point in cell 0 (of one per unit) with the given first word of its
/// position.
fn accepted(negative: bool, position: u64) -> Vec<u64> {
    vec![u64::from(negative) << 63 | 1, position]
}

fn run(sigma: Dyadic, words: &[u64]) -> (Option<i128>, usize) {
    let mut script = Script::<64>::new(words);
    (RoundedGaussian::new(sigma).draw(&Variates::normal(0), &mut script).ok(), script.used())
}

#[test]
fn draws_by_hand() {
    let sigma = Dyadic::new(5, 0).unwrap();
    // 5 * 0.75 = 3.75
    assert_eq!(run(sigma, &accepted(false, 3 << 62)), (Some(4), 2));
    assert_eq!(run(sigma, &accepted(true, 3 << 62)), (Some(-4), 2));
    // The treads are 1, e^(-1/2), e^-2, ..: the share of cell 1 between f(2) and f(1) ends at their
    // sum.
    let f = |x: f64| (-0.5 * x * x).exp();
    let total: f64 = (0..20).map(|x| f(f64::from(x))).sum();
    let word = |u: f64| (u / total * 2f64.powi(63)) as u64;
    // Surely in cell 1: 5 * 1.75 = 8.75.
    assert_eq!(run(sigma, &[word(f(0.0) + 0.5 * f(2.0)), 3 << 62]), (Some(9), 2));
    // Above f(2), at the position 3/4. The crossing is proposed with the density of the larger of
    // two, as part 2 of 3 says: 1/4 and 1/2; it is kept in two trials, by coins of probability 3/4
    // that fail. So it is at 1/2, the position is not under the curve, and all is drawn anew.
    let upper = word(f(0.0) + f(1.0) - 0.001);
    let mut words = vec![upper, 3 << 62, 1 << 62, u64::MAX, 1 << 63, u64::MAX, u64::MAX];
    assert_eq!(run(sigma, &words), (None, 7));
    words.extend(accepted(false, 3 << 62));
    assert_eq!(run(sigma, &words), (Some(4), 9));
    // With the other one of the two at 7/8 it is.
    words[4] = 7 << 61;
    assert_eq!(run(sigma, &words), (Some(9), 7));
    for length in 0..7 {
        assert_eq!(run(sigma, &words[..length]), (None, length), "no value without all its words");
    }
}

/// Forced rounding fallback: the first word leaves open whether sigma x is below 1/2, further ones
/// say.
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
    assert_eq!(extended(&[]), (None, 2));
    assert_eq!(extended(&[third - 1]), (Some(0), 3));
    assert_eq!(extended(&[third + 1]), (Some(1), 3));
    assert_eq!(extended(&[third, third, third, third - 1]), (Some(0), 6));
    assert_eq!(extended(&[third, third, third, third + 1]), (Some(1), 6));
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
    assert_eq!(extended(&[0]), (Some(-(1 << 36)), 3));
    assert_eq!(extended(&[(1 << 27) - 1]), (Some(-(1 << 36)), 3));
    assert_eq!(extended(&[1 << 27]), (Some(-(1 << 36) - 1), 3));
    // 3 * 2^98 has an odd part, so a tie needs more: sigma x = 0.75 (2^36 + w 2^-28) is
    // half-integral where 3 w 2^-30 = 1/2 mod 1, w = 2^29 / 3.
    let sigma = Dyadic::new(3, 98).unwrap();
    let w = (1u64 << 29) / 3;
    let fraction = |third: u64| {
        let mut words = accepted(false, 0);
        words.extend([w, third]);
        run(sigma, &words)
    };
    assert_eq!(fraction(0), (Some(0), 4));
    assert_eq!(fraction(u64::MAX), (Some(1), 4));
}

/// Two doubles further than rounding apart from each other: the two formulas for the mass of a cell
/// agree where both are good, and large sigma is right where the difference would cancel.
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
