//! Levels of one SELECT that are to fit each other.

use hushtable_privacy::Loss;

use super::level_shares::{Currency, LevelShares, SharedLevel, weights};
use crate::bind::{Groups, Measure, PrivateQuery};

/// The wishes for levels that are to fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelWishes {
    /// Whether no number that counts or adds up what is not below zero is to be below zero.
    pub non_negative: bool,
    /// The aim of the split of the budget.
    pub shares: LevelShares,
}

/// The levels of one SELECT that are to fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consistent {
    /// Each of its levels, once.
    pub levels: Vec<ConsistentLevel>,
    /// The wishes for them.
    pub fitting: LevelWishes,
}

/// A level among those that are to fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsistentLevel {
    /// The name of its part.
    pub part: String,
    /// The name of its table in the SQL around when it fits.
    pub table: String,
    /// Its keys in the part's order, by their indices among those of all levels.
    pub keys: Vec<usize>,
}

impl Consistent {
    /// The number of keys of all levels together.
    pub fn keys(&self) -> usize {
        self.levels.iter().flat_map(|level| &level.keys).max().map_or(0, |last| last + 1)
    }

    /// Splits the budget of levels anew, so that the noise of the adjusted numbers is the least.
    /// `queries` are those of the levels, in their order; together they cost what they did. Where
    /// groups are chosen privately or a level has a quantile, shares stay as they are.
    pub(crate) fn share(&self, queries: &mut [&mut PrivateQuery]) {
        let is_adjusted = |query: &&mut PrivateQuery| {
            let quantile = |measure: &Measure| matches!(measure, Measure::Quantile { .. });
            !matches!(query.groups(), Groups::Private { .. })
                && !query.measurements().iter().any(|m| quantile(&m.measure))
        };
        let keys = self.keys();
        if queries.len() != self.levels.len()
            || keys >= u32::BITS as usize
            || !queries.iter().all(is_adjusted)
        {
            return;
        }
        let mut sizes = vec![1; keys];
        let mut levels = Vec::with_capacity(queries.len());
        for (level, query) in self.levels.iter().zip(queries.iter()) {
            for (&key, of_query) in level.keys.iter().zip(query.keys()) {
                sizes[key] = of_query.public.as_ref().map_or(1, Vec::len);
            }
            let groups = query.listed_groups().unwrap_or(1).max(1) as f64;
            let set = level.keys.iter().fold(0, |set, key| set | 1 << key);
            let reach = f64::from(query.max_groups_contributed()).min(groups);
            levels.push(SharedLevel { keys: set, reach });
        }
        let mut losses = queries.iter().map(|query| query.loss().without_delta());
        let Some(whole) = losses.next().and_then(|first| first.plus_all(losses).ok()) else {
            return;
        };
        let currency = match whole {
            Loss::Approximate { .. } => Currency::Epsilon,
            Loss::Concentrated { .. } => Currency::Rho,
        };
        let Some(weights) = weights(&sizes, &levels, currency, self.fitting.shares) else {
            return;
        };
        for (query, share) in queries.iter_mut().zip(whole.split(&weights)) {
            query.set_share(share);
        }
    }
}
