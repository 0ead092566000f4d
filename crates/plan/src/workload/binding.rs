//! From a workload to the statement that asks its queries.

use hushtable_contract::{Contract, ContractError};
use hushtable_lang::Refusal;
use hushtable_privacy::Delta;

use super::{Workload, WorkloadQuery};
use crate::bind::{Groups, Part, PrivateQuery, SqlStatement, WorkloadShare, bind_part};

/// The clipping report of a query, if it has one.
type ClippingQuery = Option<PrivateQuery>;

impl Workload {
    /// Checks all queries against a contract, each with its share of the budget: epsilon or rho by
    /// weight, and delta by weight among those that choose groups privately, as the others use
    /// none. A clipping report has a tenth of its query's share. The shares add up to the whole
    /// exactly.
    ///
    /// # Errors
    /// For the first query that would be refused by itself, names its own budget, is about another
    /// table than the first, or asks the same as one before; and where a level is no column.
    pub fn bind(
        &self,
        contract: &Contract,
    ) -> Result<Vec<(PrivateQuery, Option<PrivateQuery>)>, ContractError> {
        self.check_levels(contract)?;
        let weights: Vec<u32> = self.queries.iter().map(|query| query.weight).collect();
        let mut queries = Vec::with_capacity(weights.len());
        let mut reports = Vec::with_capacity(weights.len());
        for (query, share) in self.queries.iter().zip(self.loss.split(&weights)) {
            // Any delta, until it is known which queries use one.
            let share = WorkloadShare {
                loss: share.with_delta(Delta::from_units(1).unwrap_or(Delta::ZERO)),
                defaults: &self.defaults,
                clipping_report: self.clipping_report,
            };
            let bound = bind_part(&query.sql, contract, share);
            let (bound, report) = bound.map_err(|refusal| self.refuse(query, &refusal))?;
            queries.push(bound);
            reports.push(report);
        }
        self.check_populations(&queries)?;
        self.check_reports(&reports)?;
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
        self.reports(queries, reports)
    }

    /// The queries with their reports, which are about the rows that each query is about in the
    /// end.
    fn reports(
        &self,
        queries: Vec<PrivateQuery>,
        reports: Vec<ClippingQuery>,
    ) -> Result<Vec<(PrivateQuery, ClippingQuery)>, ContractError> {
        let mut all = Vec::with_capacity(queries.len());
        for ((query, bound), priced) in self.queries.iter().zip(queries).zip(reports) {
            let report = match priced {
                None => None,
                Some(priced) => {
                    let report = bound.clipping_report();
                    let report = report.map_err(|refusal| self.refuse(query, &refusal))?;
                    report.map(|report| report.at_the_price_of(&priced))
                }
            };
            all.push((bound, report));
        }
        Ok(all)
    }

    /// The statement that asks all queries, each a part by itself, at its share of the budget.
    ///
    /// # Errors
    /// Those of [`bind`](Self::bind).
    pub fn statement(&self, contract: &Contract) -> Result<SqlStatement, ContractError> {
        let (queries, reports): (Vec<_>, Vec<_>) = self.bind(contract)?.into_iter().unzip();
        let consistent = self.levels(&queries).into_iter().collect();
        let mut parts = Vec::with_capacity(queries.len());
        for ((query, bound), report) in self.queries.iter().zip(queries).zip(reports) {
            let of = parts.len();
            let WorkloadQuery { name, sql, weight, .. } = query;
            parts.push(Part::of_workload(name.clone(), sql.clone(), *weight, bound));
            // Each report follows its query, whose table is then written with it.
            parts.extend(report.map(|report| Part::report(of, name, report)));
        }
        Ok(SqlStatement::of_parts(parts, consistent))
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

    /// A report on nothing is none.
    fn check_reports(&self, reports: &[ClippingQuery]) -> Result<(), ContractError> {
        match self.queries.first() {
            Some(first) if self.clipping_report && reports.iter().all(Option::is_none) => {
                Err(ContractError {
                    file: self.file.clone(),
                    line: first.line,
                    what: "clipping_report = true needs a limit that cuts something off, but no \
                           query has one"
                        .to_owned(),
                    hint: "leave it out: apart from noise, the tables are about all rows"
                        .to_owned(),
                })
            }
            _ => Ok(()),
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
