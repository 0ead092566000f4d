//! The loss of a record of a given size: per-record zCDP.
//!
//! Seeman, Sexton, Pujol and Machanavajjhala's per-record zero-concentrated differential privacy
//! (PRzCDP, Definition 3.2) bounds the loss of each record by a *policy function* of its values.
//! The function is public; what it says of a record is as secret as the record.

use crate::{LossCurve, Rho};

/// Relative error that sums of a few products stay under.
const MARGIN: f64 = 1e-14;

/// A sum to which each record adds its value, however large: with Gaussian noise of standard
/// deviation threshold / sqrt(2 rho), or released in another way that loses rho for a record at the
/// threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyTerm {
    rho: Rho,
    threshold: f64,
    /// The threshold at which the record is split, where it is not that of the noise.
    split_at: f64,
    /// The loss of a record by its value, where that is not rho (value/threshold)^2.
    growth: Option<LossCurve>,
}

/// The policy function of what was released about a record.
///
/// A record enters each sum at most once (one group of a GROUP BY). Its value is that on the
/// lattice: rounded to the granularity.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordPolicy {
    constant: Rho,
    by_pieces: Rho,
    terms: Vec<PolicyTerm>,
}

/// A threshold that is no threshold.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a splitting threshold of {0} is not valid: it must be finite and above 0")]
pub struct PolicyError(f64);

impl PolicyTerm {
    /// A sum at `rho` for a record at the threshold.
    ///
    /// # Errors
    /// Unless the threshold is finite and above zero.
    pub fn new(rho: Rho, threshold: f64) -> Result<Self, PolicyError> {
        if threshold.is_finite() && threshold > 0.0 {
            return Ok(Self { rho, threshold, split_at: threshold, growth: None });
        }
        Err(PolicyError(threshold))
    }

    /// The term for a record that is split at another threshold than that of the noise: one of
    /// another class, in a sum over all classes (PR section 5.4).
    ///
    /// # Errors
    /// Unless the threshold is finite and above zero.
    pub fn split_at(self, threshold: f64) -> Result<Self, PolicyError> {
        let Self { threshold: noise, growth, .. } = self;
        Ok(Self { threshold: noise, growth, ..Self::new(self.rho, threshold)? })
    }

    /// The term for a sum that is released in another way than by Gaussian noise: a record's loss
    /// by its value, calibrated to the rho at the threshold.
    pub fn growing(self, growth: LossCurve) -> Self {
        Self { growth: Some(growth), ..self }
    }

    /// The loss of a record of this value by the sum.
    fn loss(&self, value: f64) -> f64 {
        if let Some(growth) = &self.growth {
            return growth.loss(value);
        }
        let ratio = if value.is_nan() { 0.0 } else { value.abs() / self.threshold };
        self.rho.to_f64() * ratio * ratio
    }

    /// How many pieces a value would be split into: the least m with m T >= |value|, at least 1 (PR
    /// Algorithm 1).
    fn pieces(&self, value: f64) -> f64 {
        (value.abs() / self.split_at).ceil().max(1.0)
    }
}

impl RecordPolicy {
    /// The policy of what costs every record `constant` (counts, and the choice of groups), and of
    /// the sums `terms`.
    pub fn new(constant: Rho, terms: Vec<PolicyTerm>) -> Self {
        Self { constant, by_pieces: Rho::ZERO, terms }
    }

    /// Adds a count of a record as often as it has pieces, at `rho` for one piece: the choice
    /// of groups after the split (PR section 5.4), by a count with Gaussian noise.
    pub fn with_pieces(self, rho: Rho) -> Self {
        Self { by_pieces: rho, ..self }
    }

    /// The loss of every record.
    pub fn constant(&self) -> Rho {
        self.constant
    }

    /// The loss of a record for one piece, by whatever counts pieces.
    pub fn by_pieces(&self) -> Rho {
        self.by_pieces
    }

    /// The loss of a record with these values, one for each term: constant + sum of rho (v/T)^2, or
    /// of what other mechanisms make of v, rounded up. It is what the noise protects (theory
    /// section 6): a record moves a sum by |v|, and the noise has a standard deviation of T /
    /// sqrt(2 rho). NaN counts as zero, as NULL does.
    pub fn exact(&self, values: &[f64]) -> f64 {
        self.exact_in_pieces(values, self.pieces(values))
    }

    /// The loss of a record that is split into `pieces` pieces.
    pub fn exact_in_pieces(&self, values: &[f64], pieces: f64) -> f64 {
        let sums: f64 = self.terms.iter().zip(values).map(|(term, &value)| term.loss(value)).sum();
        // Where nothing counts pieces, infinitely many cost nothing.
        let for_pieces = match self.by_pieces.is_zero() {
            true => 0.0,
            false => self.by_pieces.to_f64() * pieces * pieces,
        };
        (self.constant.to_f64() + for_pieces + sums) * (1.0 + MARGIN)
    }

    /// How many pieces a record with these values is split into: those of the value that has most,
    /// at least 1 (PR Algorithm 1).
    pub fn pieces(&self, values: &[f64]) -> f64 {
        let pieces = |(term, value): (&PolicyTerm, &f64)| {
            if value.is_nan() { 1.0 } else { term.pieces(*value) }
        };
        self.terms.iter().zip(values).map(pieces).fold(1.0, f64::max)
    }

    /// The loss by the paper's splitting (PR Algorithm 1, Lemma 5.3): constant + rho m^2 for the
    /// rho of all that runs after the split, where m is the number of [`pieces`](Self::pieces).
    /// Never less than [`exact`](Self::exact), as long as no record is split at more than the
    /// threshold of the noise: by every mechanism m pieces of at most T lose at most m^2 rho
    /// together.
    pub fn split(&self, values: &[f64]) -> f64 {
        let most = self.pieces(values);
        let sums: f64 = self.terms.iter().map(|term| term.rho.to_f64()).sum();
        let rho = self.by_pieces.to_f64() + sums;
        (self.constant.to_f64() + rho * most * most) * (1.0 + 2.0 * MARGIN)
    }
}

/// The joint loss of several records of one owner, from the loss of each: (sum of sqrt P)^2 (theory
/// section 6; PR Lemmas 4.4 and 4.5 are never less), rounded up.
pub fn group_loss(losses: impl IntoIterator<Item = f64>) -> f64 {
    let root: f64 = losses.into_iter().map(f64::sqrt).sum();
    root * root * (1.0 + MARGIN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rho(text: &str) -> Rho {
        text.parse().unwrap()
    }

    fn near(a: f64, b: f64) -> bool {
        a >= b && a <= b * (1.0 + 1e-12)
    }

    /// PR Table 2: employees split at 50, payroll at 5,000,000.
    fn table_2(rho_each: &str) -> RecordPolicy {
        let term = |threshold| PolicyTerm::new(rho(rho_each), threshold).unwrap();
        RecordPolicy::new(Rho::ZERO, vec![term(50.0), term(5e6)])
    }

    #[test]
    fn table_2_row_by_row() {
        let policy = table_2("0.5");
        for (values, pieces, exact) in [
            // 150 employees are 3 pieces, 10 million are 2: the exact loss is (9 + 4)/2.
            ([150.0, 10e6], 3.0, 6.5),
            ([50.0, 15e6], 3.0, 5.0),
            ([100.0, 10e6], 2.0, 4.0),
            ([50.0, 10e6], 2.0, 2.5),
            ([20.0, 1e6], 1.0, 0.5 * (0.16 + 0.04)),
        ] {
            // Both sums after one split, at a rho of 1 together.
            assert!(near(policy.split(&values), pieces * pieces), "{values:?}");
            assert!(near(policy.exact(&values), exact), "{values:?}");
        }
    }

    #[test]
    fn what_runs_before_the_split_costs_its_rho() {
        // As PR Example 5.7 (by Lemma 5.6): a median at rho_1 before, a sum at rho_2 after.
        let sum = PolicyTerm::new(rho("0.2"), 5e6).unwrap();
        let policy = RecordPolicy::new(rho("0.1"), vec![sum]);
        assert!(near(policy.split(&[15e6]), 0.1 + 9.0 * 0.2));
        assert!(near(policy.exact(&[12e6]), 0.1 + 0.2 * 2.4 * 2.4));
        assert!(near(policy.split(&[12e6]), 0.1 + 9.0 * 0.2));
        assert!(near(policy.exact(&[0.0]), 0.1));
        assert!(near(policy.exact(&[f64::NAN]), 0.1));
        assert!(near(policy.exact(&[-12e6]), policy.exact(&[12e6])));
        assert_eq!(policy.exact(&[f64::INFINITY]), f64::INFINITY);
    }

    /// PR Example 5.8: grouped by industry, payroll is split at 10 million in mining, with the
    /// groups chosen after the split.
    #[test]
    fn thresholds_of_another_class() {
        let policy = |payroll: f64| {
            let term = |threshold| PolicyTerm::new(rho("0.3"), threshold).unwrap();
            RecordPolicy::new(Rho::ZERO, vec![term(50.0), term(payroll)]).with_pieces(rho("0.1"))
        };
        let (elsewhere, mining) = (policy(5e6), policy(10e6));
        for (policy, values, pieces) in [
            (&elsewhere, [150.0, 10e6], 3.0),
            (&elsewhere, [50.0, 15e6], 3.0),
            (&mining, [100.0, 10e6], 2.0),
            (&mining, [50.0, 10e6], 1.0),
        ] {
            assert_eq!(policy.pieces(&values), pieces);
            assert!(near(policy.split(&values), 0.7 * pieces * pieces), "{values:?}");
        }
        // Sums are 2 and 1 times their thresholds, the choice of groups counts two pieces.
        assert!(near(mining.exact(&[100.0, 10e6]), 0.3 * (4.0 + 1.0) + 0.1 * 4.0));
        // In a sum over all industries the noise is that of mining, and other records are split at
        // their own thresholds.
        let term = PolicyTerm::new(rho("0.5"), 10e6).unwrap().split_at(5e6).unwrap();
        let all = RecordPolicy::new(Rho::ZERO, vec![term]);
        assert!(near(all.exact(&[15e6]), 0.5 * 2.25));
        assert!(near(all.split(&[15e6]), 0.5 * 9.0));
        assert!(term.split_at(0.0).is_err());
    }

    /// PR Example 3.3: a policy of rho ceil(employees / 50) is rho for every piece.
    #[test]
    fn example_3_3_counts_pieces() {
        let employees = PolicyTerm::new(rho("1"), 50.0).unwrap();
        let policy = RecordPolicy::new(Rho::ZERO, vec![employees]);
        let pieces = [150.0, 50.0, 100.0, 50.0, 20.0].map(|value| policy.pieces(&[value]));
        assert_eq!(pieces, [3.0, 1.0, 2.0, 1.0, 1.0]);
    }

    /// PR Lemma 4.3: of two tables of disjoint records each record is in one, and loses by that
    /// alone; so the policy of both together is that of the record's own class.
    #[test]
    fn records_of_one_class_lose_by_it_alone() {
        let class = |rho_each: &str, threshold| {
            RecordPolicy::new(Rho::ZERO, vec![PolicyTerm::new(rho(rho_each), threshold).unwrap()])
        };
        let (small, large) = (class("1", 10.0), class("0.5", 100.0));
        let both = |is_large: bool, value: f64| {
            // It adds nothing to the other class's sum.
            let (policy, other_policy) = if is_large { (&large, &small) } else { (&small, &large) };
            (policy.exact(&[value]), policy.exact(&[value]) + other_policy.exact(&[0.0]))
        };
        for (is_large, value) in [(true, 250.0), (false, 25.0), (false, 3.0)] {
            let (alone, together) = both(is_large, value);
            assert!(near(together, alone));
        }
    }

    #[test]
    fn thresholds_are_above_zero() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(PolicyTerm::new(rho("1"), bad).is_err());
        }
    }

    proptest! {
        #[test]
        fn exact_is_never_more_than_split(
            terms in proptest::collection::vec((1u32..1000, 1e-3f64..1e6, -1e9f64..1e9), 0..5),
            constant in 0u32..1000,
        ) {
            let thousandths = |n: u32| rho(&format!("{}.{:03}", n / 1000, n % 1000));
            let policy = RecordPolicy::new(
                thousandths(constant),
                terms
                    .iter()
                    .map(|(r, t, _)| PolicyTerm::new(thousandths(*r), *t).unwrap())
                    .collect(),
            );
            let values: Vec<f64> = terms.iter().map(|(.., v)| *v).collect();
            prop_assert!(policy.exact(&values) <= policy.split(&values));
            prop_assert!(policy.exact(&values) >= f64::from(constant) / 1000.0);
        }

        /// A sum in another way is one term among others, and never loses more than by pieces.
        #[test]
        fn other_mechanisms_lose_no_more_than_by_pieces(
            thousandths in 1u32..100_000, threshold in 1e-3f64..1e6, value in -1e12f64..1e12,
        ) {
            let share = rho(&format!("{}.{:03}", thousandths / 1000, thousandths % 1000));
            let plain = PolicyTerm::new(share, threshold).unwrap();
            for growth in [
                LossCurve::log(share, threshold, threshold).unwrap(),
                LossCurve::sqrt(share, threshold, 3.0 * threshold).unwrap(),
                LossCurve::exponential_polylogarithmic(share, threshold, 1.0, 3.0).unwrap(),
            ] {
                let terms = vec![plain, plain.growing(growth)];
                let policy = RecordPolicy::new(rho("0.5"), terms);
                let exact = policy.exact(&[0.0, value]);
                prop_assert!((exact / (0.5 + growth.loss(value)) - 1.0).abs() < 1e-12);
                prop_assert!(policy.exact(&[value, value]) <= policy.split(&[value, value]));
                // By classes: the record is split at its own threshold, the noise is the sum's.
                let term = plain.growing(growth).split_at(threshold / 3.0).unwrap();
                let by_class = RecordPolicy::new(rho("0.5"), vec![term]);
                prop_assert!(by_class.exact(&[value]) <= by_class.split(&[value]));
            }
        }

        #[test]
        fn groups_lose_no_more_than_the_papers_lemmas_say(
            losses in proptest::collection::vec(0.0f64..100.0, 1..6),
        ) {
            let together = group_loss(losses.iter().copied());
            let count = losses.len() as f64;
            let sum: f64 = losses.iter().sum();
            // Lemma 4.4: J times the sum.
            prop_assert!(together <= count * sum * (1.0 + 1e-12) + 1e-12);
            prop_assert!(together >= sum * (1.0 - 1e-12));
            // Lemma 4.5 at any k, as it is printed and with the last hop as its own example has it.
            let mut descending = losses.clone();
            descending.sort_by(|a, b| b.total_cmp(a));
            for k in [1.01, 1.1, 1.5, 2.0, 3.0, 10.0, 100.0] {
                let hop = |(j, loss): (usize, &f64)| f64::powi(k, j as i32 + 1) / (k - 1.0) * loss;
                let printed: f64 = descending.iter().enumerate().map(hop).sum();
                let last = descending[descending.len() - 1];
                let most = f64::powi(k, losses.len() as i32 - 1);
                let rest: f64 = descending[..losses.len() - 1].iter().enumerate().map(hop).sum();
                prop_assert!(together <= (rest + most * last) * (1.0 + 1e-12), "{k}");
                prop_assert!(rest + most * last <= printed * (1.0 + 1e-12));
            }
        }
    }
}
