//! How sums are protected: by clamping (PR Table 7) or by splitting (PR Table 8).

use hushtable_privacy::{PolicyTerm, RecordPolicy, Rho};

use super::cells::{LEVELS, MEASURES, Measure, SIZES};
use crate::ExperimentError;

/// The treatment of an establishment above its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A larger size counts as the threshold: the sum is too low, and every establishment loses the
    /// same.
    TopCoding,
    /// A larger size counts in full, and loses more.
    Splitting,
}

/// Thresholds of employees, annual and first-quarter pay (thousands of dollars).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scheme {
    pub(super) kind: Kind,
    pub(super) name: &'static str,
    /// In the order of [`SIZES`].
    pub(super) thresholds: [i64; 3],
}

const fn scheme(kind: Kind, name: &'static str, thresholds: [i64; 3]) -> Scheme {
    Scheme { kind, name, thresholds }
}

/// PR Tables 7 and 8.
pub(super) const SCHEMES: [Scheme; 6] = [
    scheme(Kind::TopCoding, "conservative", [1_000, 100_000, 25_000]),
    scheme(Kind::TopCoding, "moderate", [300, 10_000, 2_500]),
    scheme(Kind::TopCoding, "aggressive", [100, 1_000, 250]),
    scheme(Kind::Splitting, "conservative", [100, 10_000, 2_500]),
    scheme(Kind::Splitting, "moderate", [5, 500, 125]),
    scheme(Kind::Splitting, "median", [2, 104, 24]),
];

/// The schemes that split.
pub(super) fn splitting() -> impl Iterator<Item = Scheme> {
    SCHEMES.into_iter().filter(|scheme| scheme.kind == Kind::Splitting)
}

impl Scheme {
    /// Its name in titles and files.
    pub(super) fn label(&self) -> String {
        format!("{}, {}", self.kind.name(), self.name)
    }

    /// The most that one establishment below the thresholds adds.
    pub(super) fn threshold(&self, measure: Measure) -> i64 {
        let index = SIZES.iter().position(|size| *size == measure);
        index.map_or(1, |index| self.thresholds[index])
    }

    /// The number that a value counts as.
    pub(super) fn counted(&self, measure: Measure, value: i64) -> i64 {
        match self.kind {
            Kind::TopCoding => value.min(self.threshold(measure)),
            Kind::Splitting => value,
        }
    }

    /// The standard deviation of a measure's noise, where all its cells of one level cost `rho`.
    pub(super) fn sigma(&self, measure: Measure, rho: f64) -> f64 {
        self.threshold(measure) as f64 / (2.0 * rho).sqrt()
    }

    /// The loss of an establishment by all queries of a scheme that splits, as a function of its
    /// sizes in the order of [`SIZES`], where each of [`MEASURES`] costs that much at all levels
    /// together: it is in one cell of every level, so that levels and measures add up (PR Lemmas
    /// 4.2, 4.3 and 5.6). Under top-coding, every establishment loses the whole budget.
    ///
    /// # Errors
    /// None in fact: thresholds are above zero.
    pub(super) fn policy(
        &self,
        [counts, sizes @ ..]: [Rho; 4],
    ) -> Result<RecordPolicy, ExperimentError> {
        let pairs = sizes.iter().zip(self.thresholds);
        let terms: Result<Vec<PolicyTerm>, _> =
            pairs.map(|(rho, threshold)| PolicyTerm::new(*rho, threshold as f64)).collect();
        Ok(RecordPolicy::new(counts, terms?))
    }
}

impl Kind {
    /// Its name in titles and files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TopCoding => "top-coding",
            Self::Splitting => "splitting",
        }
    }
}

/// Queries that an establishment is in: every measure at every level.
pub(super) const QUERIES: u32 = (MEASURES.len() * LEVELS.len()) as u32;

/// A budget that levels and measures share evenly. (The paper does not say how it shares its own.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    each: Rho,
}

impl Budget {
    /// Shares the loss of an establishment below the thresholds evenly.
    pub(super) fn evenly(total: Rho) -> Self {
        Self { each: total.share(u64::from(QUERIES)) }
    }

    /// The price of the cells of one measure at one level.
    pub(super) fn each(self) -> f64 {
        self.each.to_f64()
    }

    /// The price of each of [`MEASURES`] at all levels together.
    pub(super) fn measures(self) -> [Rho; 4] {
        [self.each.checked_mul(LEVELS.len() as u64).unwrap_or(self.each); 4]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs()
    }

    #[test]
    fn policies_are_the_sum_over_the_queries_that_a_record_is_in() {
        let rho: Rho = "1".parse().unwrap();
        let budget = Budget::evenly(rho);
        assert!(near(budget.each(), 0.05));
        for scheme in splitting() {
            let policy = scheme.policy(budget.measures()).unwrap();
            let values = [7.0, 1_234.0, 301.0];
            // Query by query: (what the record adds)^2 / (2 sigma^2).
            let mut by_hand = 0.0;
            for _level in LEVELS {
                for measure in MEASURES {
                    let index = SIZES.iter().position(|size| *size == measure);
                    let ratio = index.map_or(1.0, |index| values[index])
                        / scheme.sigma(measure, budget.each());
                    by_hand += 0.5 * ratio * ratio;
                }
            }
            assert!(near(policy.exact(&values), by_hand), "{}", scheme.label());
            assert!(policy.exact(&values) <= policy.split(&values));
        }
    }

    /// A record at the thresholds of any scheme loses the budget, and no more.
    #[test]
    fn thresholds_are_where_the_budget_ends() {
        let budget = Budget::evenly("0.5".parse().unwrap());
        for scheme in splitting() {
            let policy = scheme.policy(budget.measures()).unwrap();
            let at = scheme.thresholds.map(|t| t as f64);
            assert!(near(policy.exact(&at), 0.5) && near(policy.split(&at), 0.5));
            assert!(near(policy.split(&[0.0; 3]), 0.5), "PolicyMin of the paper's policy");
            assert!(near(policy.exact(&[0.0; 3]), 0.125), "of ours: the counts");
        }
    }
}
