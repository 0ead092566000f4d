//! Tests of the discrete Gaussian law.

use super::*;
use crate::TestSeed;
use crate::script::enumerate;

fn law(sigma_squared: f64) -> DiscreteGaussian {
    DiscreteGaussian::new(Dyadic::at_least(sigma_squared).unwrap())
}

/// All bit strings, from a sigma that gives nearly always 0 to cells of several integers.
#[test]
fn enumerated() {
    for sigma_squared in [1e-4, 0.25, 1.0, 2.5, 100.0, 5000.0, 1e6] {
        let law = law(sigma_squared);
        enumerate::<2, _>(9, |w| law.draw(w)).assert_below(0.97, |x| law.pmf(*x));
        enumerate::<4, _>(5, |w| law.draw(w)).assert_below(0.97, |x| law.pmf(*x));
    }
}

/// Cells are as wide as the documentation says, and their curve is that of sigma^2.
#[test]
fn cells() {
    for (sigma_squared, width) in [
        (2f64.powi(-20), 1),
        (1.0, 1),
        (63.9 * 63.9, 1),
        (4096.0, 2),
        (1e6, 16),
        (2f64.powi(80), (1 << 34) + 1),
        (2f64.powi(100), (1 << 44) + 1),
    ] {
        let law = law(sigma_squared);
        assert_eq!((law.width, law.stairs.solid), (width, width == 1));
        let Curve { numerator, denominator, .. } = law.stairs.curve;
        let rate = (width as f64).powi(2) / (2.0 * sigma_squared);
        assert!((numerator as f64 / denominator as f64 / rate - 1.0).abs() < 1e-15);
        assert!(denominator < 1 << 102 && law.stairs.shares.edges.len() <= 1 << 11);
    }
}

/// The mass adds up to 1 and to the tails, and the variance is the sum that it should be.
#[test]
fn pmf_sums_to_tail() {
    for sigma_squared in [2f64.powi(-20), 1e-4, 0.25, 0.999, 1.0, 1.001, 4.0, 100.0, 12345.678] {
        let law = law(sigma_squared);
        let reach = (sigma_squared.sqrt() * 12.0) as i128 + 2;
        let (mut sum, mut variance) = (law.tail(reach + 1), 0.0);
        for x in (-reach..=reach).rev() {
            sum += law.pmf(x);
            variance += (x * x) as f64 * law.pmf(x);
            let tail = law.tail(x);
            if tail > 1e-25 {
                assert!((sum / tail - 1.0).abs() < 2e-13, "{sigma_squared} {x}: {sum} {tail}");
            }
        }
        assert!((sum - 1.0).abs() < 1e-13, "{sigma_squared}: {sum}");
        assert!((variance - law.variance()).abs() <= 1e-13 * variance, "{sigma_squared}");
    }
}

/// The two ways to compute tails agree where they change over, and with the normal law further on.
#[test]
fn tail_branches_meet() {
    let (below, above) = (law(16_777_215.999_999), law(16_777_216.0));
    for x in [1, 2, 100, 4096, 10_000, 30_000, 80_000] {
        let z = x as f64 / 4096.0;
        let ratio = below.tail(x) / above.tail(x);
        // sigma differs by 3e-14 of itself, which moves a far tail by z^2 times that.
        assert!((ratio - 1.0).abs() < 1e-13 * (1.0 + z * z), "{x}: {ratio}");
    }
    assert_eq!(above.tail(1 << 18), 0.0);
    let wide = law(2f64.powi(100));
    assert!((wide.tail(1 << 50) / 0.158_655_253_931_457_05 - 1.0).abs() < 1e-14);
    assert!((wide.pmf(0) * 2f64.powi(50) * (2.0 * PI).sqrt() - 1.0).abs() < 1e-15);
}

/// Extreme parameters draw: nothing overflows (this profile checks overflow).
#[test]
fn extreme_parameters() {
    let mut generator = TestSeed(9).generator();
    let narrow = [Dyadic::new(1, -20).unwrap(), Dyadic::new(u64::MAX, -83).unwrap()];
    let wide = [Dyadic::new(1, 100).unwrap(), Dyadic::new(u64::MAX, 36).unwrap()];
    for _ in 0..2 {
        let mut draws = [1; 20_000];
        for sigma_squared in narrow {
            DiscreteGaussian::new(sigma_squared).fill(&mut generator, &mut draws).unwrap();
            assert!(draws.iter().all(|x| *x == 0));
        }
        for sigma_squared in wide {
            DiscreteGaussian::new(sigma_squared).fill(&mut generator, &mut draws).unwrap();
            assert!(draws.iter().all(|x| x.unsigned_abs() < 1 << 53));
            assert!(draws.iter().any(|x| x.unsigned_abs() > 1 << 51));
        }
    }
}
