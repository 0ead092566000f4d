//! Further laws of made-up establishments.

use crate::Draws;

/// e^(spread N), of mean e^(spread^2 / 2).
pub(super) fn log_normal(draws: &mut Draws, spread: f64) -> f64 {
    libm::exp(spread * draws.normal())
}

/// A lognormal factor with mean 1.
pub(super) fn factor(draws: &mut Draws, spread: f64) -> f64 {
    libm::exp(spread * draws.normal() - 0.5 * spread * spread)
}

/// Uniform on `0..end`, for `end` below 2^40.
pub(super) fn below(draws: &mut Draws, end: usize) -> usize {
    // `uniform` is above 0 and at most 1.
    (((1.0 - draws.uniform()) * end as f64) as usize).min(end.saturating_sub(1))
}

/// In random order (Fisher & Yates).
pub(super) fn shuffle<T>(draws: &mut Draws, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(draws, last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means of 100,000 log-normals: their standard errors are below 0.01.
    #[test]
    fn factors_have_a_mean_of_one() {
        let mut draws = Draws::new(3);
        for spread in [0.2, 1.0] {
            let mean = (0..100_000).map(|_| factor(&mut draws, spread)).sum::<f64>() / 1e5;
            assert!((mean - 1.0).abs() < 0.03, "{mean}");
            let mean = (0..100_000).map(|_| log_normal(&mut draws, spread)).sum::<f64>() / 1e5;
            assert!((mean / (0.5 * spread * spread).exp() - 1.0).abs() < 0.03, "{mean}");
        }
    }

    #[test]
    fn shuffles_keep_everything() {
        let mut draws = Draws::new(4);
        let mut items: Vec<usize> = (0..1000).collect();
        shuffle(&mut draws, &mut items);
        assert_ne!(items[..10], (0..10).collect::<Vec<usize>>());
        items.sort_unstable();
        assert_eq!(items, (0..1000).collect::<Vec<usize>>());
        assert!((0..10_000).all(|_| below(&mut draws, 3) < 3));
    }
}
