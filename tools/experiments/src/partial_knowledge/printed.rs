//! The bounds that the paper prints, and their repairs.

use super::binomial::{Binomial, half_at_least};

/// PK Theorem 3: a count of the target and `others`, each of which is counted with a probability
/// from `lambda` to 1 - `lambda`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theorem3 {
    /// n - 1.
    pub(super) others: u64,
    /// Above 0, at most 1/2.
    pub(super) lambda: f64,
}

impl Theorem3 {
    /// The probability as printed: P\[X/Y >= epsilon\] of independent X and Y ~ Bin(n-1, 2 lambda).
    /// Below the truth where epsilon is large, and at least 1/2 up to epsilon = 1.
    pub(super) fn printed(self, epsilon: f64) -> f64 {
        self.ratio(2.0 * self.lambda, 0.0, epsilon)
    }

    /// The printed probability with e^epsilon in place of epsilon, as for odds. Below the truth.
    pub(super) fn with_exponential(self, epsilon: f64) -> f64 {
        self.ratio(2.0 * self.lambda, 0.0, epsilon.exp())
    }

    /// The probability with e^epsilon, with the law of the blanket's ones and zeroes, Bin(n-1,
    /// lambda), and with the target, but independent of each other. Below the truth where lambda is
    /// near 1/2.
    #[cfg(test)]
    pub(super) fn independent(self, epsilon: f64) -> f64 {
        self.ratio(self.lambda, 1.0, epsilon.exp())
    }

    /// The repair: P\[X + 1 >= e^epsilon Y\] with X and Y the ones and the zeroes of the same
    /// blanket, B ~ Bin(n-1, 2 lambda) records in fair coins. Sound.
    pub(super) fn joint(self, epsilon: f64) -> f64 {
        let odds = epsilon.exp();
        // X + 1 >= odds (B - X).
        let of = |b: u64| half_at_least(b, (odds * b as f64 - 1.0) / (1.0 + odds));
        Binomial::new(self.others, 2.0 * self.lambda).iter().map(|(b, weight)| weight * of(b)).sum()
    }

    /// The closed form as printed, solved for delta: e^(-epsilon^2 lambda (n-1) / 14). `None` where
    /// it says nothing: below 27/(lambda (n-1)) and above 1.
    pub(super) fn printed_closed(self, epsilon: f64) -> Option<f64> {
        let size = self.lambda * self.others as f64;
        let applies = epsilon <= 1.0 && epsilon * size >= 27.0;
        applies.then(|| (-epsilon * epsilon * size / 14.0).exp())
    }

    /// The closed form with ln(2/delta), as it is proven (Balle, Bell, Gascon & Nissim 2019, *The
    /// privacy blanket of the shuffle model*, Theorem 3.1): twice that. Sound.
    pub(super) fn closed(self, epsilon: f64) -> Option<f64> {
        self.printed_closed(epsilon).map(|delta| (2.0 * delta).min(1.0))
    }

    /// The least epsilon of the printed closed form at `delta`, if it is at most 1.
    pub(super) fn printed_closed_epsilon(self, delta: f64) -> Option<f64> {
        self.closed_at(1.0 / delta)
    }

    /// The least epsilon of the proven closed form at `delta`, if it is at most 1.
    pub(super) fn closed_epsilon(self, delta: f64) -> Option<f64> {
        self.closed_at(2.0 / delta)
    }

    fn closed_at(self, inverse: f64) -> Option<f64> {
        let size = self.lambda * self.others as f64;
        let epsilon = (14.0 * inverse.ln() / size).sqrt().max(27.0 / size);
        (epsilon <= 1.0).then_some(epsilon)
    }

    /// P\[X + shift >= odds Y\], X and Y ~ Bin(n-1, p) independent.
    fn ratio(self, p: f64, shift: f64, odds: f64) -> f64 {
        let law = Binomial::new(self.others, p);
        law.iter().map(|(y, weight)| weight * law.at_least(odds * y as f64 - shift)).sum()
    }
}

/// PK Proposition 7 (Grining & Klonowski 2017, Theorem 3): a count of records of these
/// probabilities, by the central limit theorem. With the absolute third moment p(1-p)(1-2p(1-p)),
/// where p(1-p)|1-2p| is printed, and with mu_2^(3/2) below it, where mu_2^3 is. `None` above
/// epsilon = 1, where its Gaussian mechanism is not proven.
pub(super) fn proposition_7(groups: &[(u64, f64)], epsilon: f64) -> Option<f64> {
    let mean = |of: &dyn Fn(f64) -> f64| {
        let count: f64 = groups.iter().map(|(count, _)| *count as f64).sum();
        (count, groups.iter().map(|(k, p)| *k as f64 * of(p * (1.0 - p))).sum::<f64>() / count)
    };
    let (records, second) = mean(&|variance| variance);
    let (_, third) = mean(&|variance| variance * (1.0 - 2.0 * variance));
    let gaussian = 1.25 * (-epsilon * epsilon * records * second / 2.0).exp();
    let limit = 1.12 * third / (records.sqrt() * second.powf(1.5)) * (1.0 + epsilon.exp());
    (epsilon <= 1.0).then(|| (limit + gaussian).min(1.0))
}

/// PK Theorem 4 without known records: epsilon and delta of a count of `records` of probability at
/// most `p` that is released above `threshold`; `None` where it says nothing, as the threshold is
/// not far enough above the expected count.
pub(super) fn theorem_4(records: u64, p: f64, threshold: u64) -> Option<(f64, f64)> {
    let others = records - 1;
    let r = p * others as f64 / ((1.0 - p) * threshold as f64);
    let delta = Binomial::new(others, p).at(threshold) / (1.0 - r);
    (r < 1.0 && delta < 1.0).then(|| (-(-delta).ln_1p(), delta))
}

#[cfg(test)]
mod tests {
    use hushtable_knowledge::{
        Count, CountAboveWithin, CountWithin, Histogram, Probability, ProbabilityRange, Profile,
    };

    use super::*;

    fn near(got: f64, want: f64) -> bool {
        (got / want - 1.0).abs() < 1e-7
    }

    fn p(value: f64) -> Probability {
        Probability::new(value).unwrap()
    }

    fn worst(theorem: Theorem3, epsilon: f64) -> f64 {
        let between = ProbabilityRange::new(p(theorem.lambda), p(1.0 - theorem.lambda)).unwrap();
        CountWithin::new(theorem.others, between, None).unwrap().worst(epsilon).delta
    }

    fn blanket(theorem: Theorem3, epsilon: f64) -> f64 {
        let lambda = p(theorem.lambda);
        Histogram::new(theorem.others, lambda, lambda).unwrap().delta(epsilon)
    }

    /// Computed apart, with 60 digits.
    #[test]
    fn bounds_are_as_computed_apart() {
        let theorem = Theorem3 { others: 999, lambda: 0.05 };
        assert!(near(theorem.printed(1.0), 0.514_879_91));
        assert!(near(theorem.with_exponential(1.0), 6.608_506_6e-12));
        assert!(near(theorem.independent(1.0), 2.088_875_4e-6));
        assert!(near(theorem.joint(1.0), 3.193_432_4e-6));
        assert!(near(blanket(theorem, 1.0), 1.616_577_5e-7));
        assert!(near(worst(theorem, 1.0), 8.728_848_7e-9));
        let all = Profile::new([(999, p(0.05))]).unwrap();
        assert!(near(Count::new(&all, None).unwrap().delta(1.0), 8.465_839_3e-9));
        let half = Theorem3 { others: 999, lambda: 0.5 };
        assert!((half.independent(0.3) / 2.762_92e-11 - 1.0).abs() < 1e-5);
        assert!((half.joint(0.3) / 1.361_01e-6 - 1.0).abs() < 1e-5);
    }

    #[test]
    fn three_bounds_are_below_the_truth() {
        let theorem = Theorem3 { others: 999, lambda: 0.05 };
        assert!(theorem.with_exponential(1.0) < 1e-3 * worst(theorem, 1.0));
        // As printed it is far above the truth first, and below it where only the chance of no ones
        // is left: 0.9^999 in place of 0.95^999.
        assert!(theorem.printed(1.0) > 0.5 && theorem.printed(8.0) < worst(theorem, 8.0));
        for (lambda, factor) in [(0.5, 1e-2), (0.4, 0.9)] {
            let theorem = Theorem3 { others: 999, lambda };
            assert!(theorem.independent(0.3) < factor * worst(theorem, 0.3), "{lambda}");
        }
    }

    #[test]
    fn repairs_are_above_the_truth() {
        let mut closed = 0;
        for others in [1, 2, 10, 99, 999] {
            for lambda in [0.001, 0.05, 0.2, 0.45, 0.5] {
                let theorem = Theorem3 { others, lambda };
                for epsilon in [0.0, 0.05, 0.2, 0.5, 1.0, 3.0] {
                    let (joint, blanket) = (theorem.joint(epsilon), blanket(theorem, epsilon));
                    let worst = worst(theorem, epsilon);
                    let case = format!("{theorem:?} {epsilon}: {joint:e} {blanket:e} {worst:e}");
                    // Rounded up by no more than this.
                    let nearly = |delta: f64| delta * (1.0 - 1e-8) - 1e-80;
                    assert!(joint >= nearly(blanket), "{case}");
                    assert!(blanket >= nearly(worst), "{case}");
                    if let Some(delta) = theorem.closed(epsilon) {
                        assert!(delta >= worst, "{case}: {delta:e}");
                        closed += 1;
                    }
                }
            }
        }
        assert!(closed >= 10, "{closed}");
        let many = Theorem3 { others: 9999, lambda: 0.2 };
        assert!(many.closed(0.05).unwrap() >= worst(many, 0.05));
        let theorem = Theorem3 { others: 9999, lambda: 0.05 };
        for delta in [1e-3, 1e-10] {
            let epsilon = theorem.closed_epsilon(delta).unwrap();
            assert!(theorem.closed(epsilon * (1.0 + 1e-12)).unwrap() <= delta * (1.0 + 1e-9));
            assert!(theorem.printed_closed_epsilon(delta).unwrap() < epsilon);
        }
        assert_eq!(Theorem3 { others: 99, lambda: 0.05 }.closed_epsilon(0.01), None);
    }

    /// E|D - p|^3 of a fair coin is 1/8, and not 0.
    #[test]
    fn proposition_7_has_the_third_moment() {
        let fair = proposition_7(&[(10_000, 0.5)], 0.5).unwrap();
        let limit = 1.12 * 0.125 / (100.0 * 0.125) * (1.0 + 0.5f64.exp());
        assert!((fair - limit).abs() < 1e-12, "{fair} {limit}");
        assert_eq!(proposition_7(&[(10_000, 0.5)], 1.1), None);
    }

    /// PK Theorem 4 holds: the worst case up to p is below it.
    #[test]
    fn theorem_4_is_above_the_truth() {
        for (records, p, threshold) in [(100, 0.05, 8), (100, 0.05, 20), (1000, 0.005, 15)] {
            let (epsilon, delta) = theorem_4(records, p, threshold).unwrap();
            let between = ProbabilityRange::new(Probability::ZERO, super::tests::p(p)).unwrap();
            let exact = CountAboveWithin::new(threshold, records - 1, 0, between).unwrap();
            let exact = exact.delta(epsilon).active;
            assert!(exact <= delta, "{records} {p} {threshold}: {exact:e} {delta:e} {epsilon}");
        }
        assert_eq!(theorem_4(1000, 0.005, 5), None);
    }
}
