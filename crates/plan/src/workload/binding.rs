//! From a workload to the statement that asks its queries.

use hushtable_contract::{Contract, ContractError};
use hushtable_lang::Refusal;
use hushtable_privacy::Delta;

use super::{Workload, WorkloadQuery};
use crate::bind::{Groups, Part, PrivateQuery, SqlStatement, bind_part};

impl Workload {
    /// Checks all queries against a contract, each with its share of the budget: epsilon or rho by
    /// weight, and delta by weight among those that choose groups privately, as the others use
    /// none. The shares add up to the whole exactly.
    ///
    /// # Errors
    /// For the first query that would be refused by itself, names its own budget, is about another
    /// table than the first, or asks the same as one before; and where a level is no column.
    pub fn bind(&self, contract: &Contract) -> Result<Vec<PrivateQuery>, ContractError> {
        self.check_levels(contract)?;
        let weights: Vec<u32> = self.queries.iter().map(|query| query.weight).collect();
        let mut queries = Vec::with_capacity(weights.len());
        for (query, share) in self.queries.iter().zip(self.loss.split(&weights)) {
            // Any delta, until it is known which queries use one.
            let share = share.with_delta(Delta::from_units(1).unwrap_or(Delta::ZERO));
            let bound = bind_part(&query.sql, contract, share, &self.defaults);
            queries.push(bound.map_err(|refusal| self.refuse(query, &refusal))?);
        }
        self.check_populations(&queries)?;
        let mut queries = self.fitting(queries)?;
        self.check_repetitions(&queries)?;
        let chooses = |query: &PrivateQuery| matches!(query.groups(), Groups::Private { .. });
        let chooses_groups: Vec<u32> =
            queries.iter().zip(&weights).map(|(q, &w)| if chooses(q) { w } else { 0 }).collect();
        let deltas = self.loss.delta().split(&chooses_groups);
        for ((query, bound), delta) in self.queries.iter().zip(&mut queries).zip(deltas) {
            if chooses(bound) && delta.is_zero() {
                return Err(self.error(
                    query,
                    "choosing groups privately needs a delta above zero",
                    "delta = 1e-6 at the top of the workload: the probability that a group of one \
                     unit appears; or public_keys of the columns in the contract",
                ));
            }
            bound.set_delta(delta);
        }
        Ok(queries)
    }

    /// The statement that asks all queries, each a part by itself, at its share of the budget.
    ///
    /// # Errors
    /// Those of [`bind`](Self::bind).
    pub fn statement(&self, contract: &Contract) -> Result<SqlStatement, ContractError> {
        let queries = self.bind(contract)?;
        let consistent = self.levels(&queries).into_iter().collect();
        let parts = self.queries.iter().zip(queries);
        let parts = parts.map(|(query, bound)| {
            Part::of_workload(query.name.clone(), query.sql.clone(), query.weight, bound)
        });
        Ok(SqlStatement::of_parts(parts.collect(), consistent))
    }

    pub(super) fn refuse(&self, query: &WorkloadQuery, refusal: &Refusal) -> ContractError {
        self.error(query, &refusal.what, &refusal.hint)
    }

    fn check_levels(&self, contract: &Contract) -> Result<(), ContractError> {
        for level in &self.levels {
            for (column, line) in &level.columns {
                if contract.tables.values().all(|table| table.column(column).is_none()) {
                    return Err(ContractError {
                        file: self.file.clone(),
                        line: *line,
                        what: format!(
                            "`{column}` of the level `{}` is not a column of the contract",
                            level.name
                        ),
                        hint: "use a column of the table, or declare a computed one: naics2 = { \
                               type = \"string\", expression = \"SUBSTR(naics, 1, 2)\" }"
                            .to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    /// One population, as its budget pays for all.
    fn check_populations(&self, queries: &[PrivateQuery]) -> Result<(), ContractError> {
        let Some(first) = queries.first().map(|query| query.population()) else { return Ok(()) };
        match self.queries.iter().zip(queries).find(|(_, query)| query.population() != first) {
            None => Ok(()),
            Some((query, other)) => Err(self.error(
                query,
                &format!("it is about `{}`, but others are about `{first}`", other.population()),
                "write a workload for each population: a budget is for one analyst on one \
                 population",
            )),
        }
    }

    /// No question twice: a second answer to it would be the first one.
    fn check_repetitions(&self, queries: &[PrivateQuery]) -> Result<(), ContractError> {
        let mut seen: Vec<(Vec<u8>, &str)> = Vec::with_capacity(queries.len());
        for (query, bound) in self.queries.iter().zip(queries) {
            let whatever_it_costs = bound.clone().with_loss(self.loss);
            let Some(release) = whatever_it_costs.leaf_bytes() else { continue };
            if let Some((_, other)) = seen.iter().find(|(other, _)| *other == release) {
                return Err(self.error(
                    query,
                    &format!("it has the same release as `{other}`"),
                    "ask once, with a weight if it should be more precise; headings, HAVING and \
                     ORDER BY are computed from a release",
                ));
            }
            seen.push((release, &query.name));
        }
        Ok(())
    }
}
