//! Queries about rows that belong to units of two populations.

use hushtable_contract::NoiseKind;
use hushtable_lang::Refusal;
use hushtable_privacy::{Loss, Neighbouring};

use super::{Groups, Measure, PrivateQuery};
use crate::relation::{Beside, Relation};

/// Refuses groups that are not public, where rows belong to two populations: a unit of the one that
/// is bounded beside may change how many of the others' units a group has by more than one.
pub(super) fn check_groups(relation: &Relation, groups: Groups) -> Result<(), Refusal> {
    let (Some(beside), Groups::Single | Groups::Private { .. }) = (relation.beside(), groups)
    else {
        return Ok(());
    };
    let population = relation.protection().population().unwrap_or_default();
    Err(Refusal::new(
        format!(
            "the query is about rows of both `{population}` and `{}`, but its groups are not \
             public",
            beside.population
        ),
        "GROUP BY columns with public_keys in the contract, which may be computed ones",
    ))
}

impl PrivateQuery {
    /// The populations whose budgets pay, the one that the query bounds first.
    pub fn populations(&self) -> impl Iterator<Item = &str> {
        let beside = self.relation.beside().map(|beside| beside.population.as_str());
        [self.population.as_str()].into_iter().chain(beside)
    }

    /// Most rows of a unit of a further population that may go into the query, so that it can move
    /// the answer no farther than a unit that the query bounds.
    ///
    /// Noise is discrete Laplace, calibrated to a change of every measurement by k M in all groups
    /// together. A row that goes changes it by 2 M at most, so that m <= k / 2 rows of a unit are
    /// within that. Proof: `theorems/queries.md#two-populations`.
    pub fn most_rows_beside(&self) -> u32 {
        self.max_groups_contributed / 2
    }

    /// The query with its further population bounded, where it has one.
    pub(super) fn bounded_beside(mut self) -> Result<Self, Refusal> {
        let Some(beside) = self.relation.beside() else { return Ok(self) };
        let most = self.rows_allowed(beside)?;
        self.noise = Some(NoiseKind::Laplace);
        self.relation = self.relation.with_rows_beside(most)?;
        Ok(self)
    }

    /// Most rows of a unit of a further population; a refusal where the rest of the query is not
    /// bounded for both.
    fn rows_allowed(&self, beside: &Beside) -> Result<u32, Refusal> {
        let both = format!("`{}` and `{}`", self.population, beside.population);
        let refused = |why: &str, hint: &str| {
            Err(Refusal::new(format!("the query is about rows of both {both}, but {why}"), hint))
        };
        if self.neighbouring != Neighbouring::AddRemove {
            return refused(
                "a change of one unit's rows for another's is not bounded there",
                "neighbouring = \"add_remove\" of both populations in the contract",
            );
        }
        check_groups(&self.relation, self.groups)?;
        let is_sum = |measure: &Measure| match measure {
            Measure::Units
            | Measure::Rows
            | Measure::Values(_)
            | Measure::ClampedSum(_)
            | Measure::SumOfRows { .. } => true,
            Measure::PerRecordSum(_) | Measure::Distinct { .. } | Measure::Quantile { .. } => false,
        };
        if let Some(other) = self.measurements.iter().find(|m| !is_sum(&m.measure)) {
            return refused(
                &format!("the {} is not bounded for both", other.name),
                "use COUNT, SUM or AVG",
            );
        }
        if !matches!(self.loss, Loss::Approximate { .. }) || self.noise == Some(NoiseKind::Gaussian)
        {
            return refused(
                "only discrete Laplace noise is made for both",
                "use epsilon in place of rho, without noise = GAUSSIAN",
            );
        }
        let most = self.most_rows_beside();
        if most == 0 {
            return refused(
                &format!(
                    "max_groups_contributed is {}: half of that is the number of rows that may \
                     count of one unit of `{}`",
                    self.max_groups_contributed, beside.population
                ),
                "set max_groups_contributed = 2 or more",
            );
        }
        Ok(most)
    }

    /// Checks that a query which was read back, or made by hand, bounds its further population.
    pub fn check_beside(&self) -> Result<(), Refusal> {
        let Some(beside) = self.relation.beside() else { return Ok(()) };
        let most = self.rows_allowed(beside)?;
        if beside.rows <= most && self.noise == Some(NoiseKind::Laplace) {
            return Ok(());
        }
        Err(Refusal::new(
            format!("{} rows of a unit of `{}`", beside.rows, beside.population),
            "use a query that this version of the engine wrote",
        ))
    }
}
