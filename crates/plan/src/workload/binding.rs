//! From a workload to the statement that asks its queries.

use hushtable_contract::{AUTO, Contract, ContractError};
use hushtable_lang::Refusal;
use hushtable_privacy::{Delta, Loss};

use super::{Workload, WorkloadQuery};
use crate::bind::{
    GIVE_LIMITS, Groups, Part, PrivateQuery, SqlStatement, WorkloadShare, bind_part,
};

/// The parts of a query: histograms that its limits are chosen from, itself, and its report.
type QueryParts = Vec<Part>;

impl Workload {
    /// Checks all queries against a contract, each with its share of the budget, which is that of
    /// each population: epsilon or rho by weight among the queries about it, and delta by weight
    /// among those that choose groups privately, as the others use none. A clipping report has a
    /// tenth of its query's share, and so have the histograms from which its limits are chosen. The
    /// shares add up to the whole exactly.
    ///
    /// # Errors
    /// For the first query that would be refused by itself, names its own budget, or asks the same
    /// as one before; and where a level is no column.
    pub fn bind(
        &self,
        contract: &Contract,
    ) -> Result<Vec<(PrivateQuery, Option<PrivateQuery>)>, ContractError> {
        let pair = |parts: QueryParts| {
            let (queries, others): (QueryParts, _) =
                parts.into_iter().partition(Part::is_requested);
            let report = others.into_iter().find(|part| !part.report_of.is_empty());
            queries.into_iter().map(move |part| (part.query, report.clone().map(|part| part.query)))
        };
        Ok(self.parts(contract)?.into_iter().flat_map(pair).collect())
    }

    fn parts(&self, contract: &Contract) -> Result<Vec<QueryParts>, ContractError> {
        self.check_levels(contract)?;
        let weights: Vec<u32> = self.queries.iter().map(|query| query.weight).collect();
        let mut all = self.bound_at(self.loss.split(&weights), contract)?;
        let payers = Payers::of(&all);
        if payers.are_several() {
            // Whose budgets pay is known now: each has all of the loss for its own queries.
            let shares = payers.split(&weights, |weights| self.loss.split(weights));
            all = self.bound_at(shares, contract)?;
        }
        let queries = all.iter().flatten().filter(|part| part.is_requested());
        let queries: Vec<PrivateQuery> = queries.map(|part| part.query.clone()).collect();
        self.check_reports(&all)?;
        self.check_chosen(&queries)?;
        let mut queries = self.fitting(queries)?;
        // A weight is a wish for another split.
        if let Some(levels) = self.levels(&queries)
            && weights.windows(2).all(|two| two[0] == two[1])
        {
            levels.share(&mut queries.iter_mut().collect::<Vec<_>>());
        }
        self.check_repetitions(&queries)?;
        let chooses = |query: &PrivateQuery| matches!(query.groups(), Groups::Private { .. });
        let chooses_groups: Vec<u32> =
            queries.iter().zip(&weights).map(|(q, &w)| if chooses(q) { w } else { 0 }).collect();
        let deltas = payers.split(&chooses_groups, |weights| self.loss.delta().split(weights));
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
        for ((query, bound), parts) in self.queries.iter().zip(queries).zip(&mut all) {
            self.settled(query, &bound, parts)?;
        }
        Ok(all)
    }

    /// Binds all queries, each at its share.
    fn bound_at(
        &self,
        shares: Vec<Loss>,
        contract: &Contract,
    ) -> Result<Vec<QueryParts>, ContractError> {
        let bind = |(query, share): (&WorkloadQuery, Loss)| {
            // Any delta, until it is known which queries use one.
            let share = WorkloadShare {
                loss: share.with_delta(Delta::from_units(1).unwrap_or(Delta::ZERO)),
                defaults: &self.defaults,
                clipping_report: self.clipping_report,
            };
            let bound = bind_part(&query.sql, contract, share);
            bound.map_err(|refusal| self.refuse(query, &refusal))
        };
        self.queries.iter().zip(shares).map(bind).collect()
    }

    /// Puts a query in its place, and its report, which is about the rows that the query is about
    /// in the end.
    fn settled(
        &self,
        query: &WorkloadQuery,
        bound: &PrivateQuery,
        parts: &mut QueryParts,
    ) -> Result<(), ContractError> {
        let report = bound.clipping_report();
        let report = report.map_err(|refusal| self.refuse(query, &refusal))?;
        parts.retain(|part| part.report_of.is_empty() || report.is_some());
        for part in parts {
            if part.is_requested() {
                part.query = bound.clone();
            } else if let (false, Some(report)) = (part.report_of.is_empty(), &report) {
                part.query = report.clone().at_the_price_of(&part.query);
            }
        }
        Ok(())
    }

    /// The statement that asks all queries, each a part by itself, at its share of the budget.
    ///
    /// # Errors
    /// Those of [`bind`](Self::bind).
    pub fn statement(&self, contract: &Contract) -> Result<SqlStatement, ContractError> {
        let mut parts: Vec<Part> = Vec::with_capacity(self.queries.len());
        for (query, all) in self.queries.iter().zip(self.parts(contract)?) {
            let before = parts.len();
            let WorkloadQuery { name, sql, weight, .. } = query;
            // Each report follows its query, whose table is then written with it.
            parts
                .extend(all.into_iter().map(|part| part.in_workload(before, (name, sql, *weight))));
        }
        let queries = parts.iter().filter(|part| part.is_requested());
        let queries: Vec<PrivateQuery> = queries.map(|part| part.query.clone()).collect();
        let consistent = self.levels(&queries).into_iter().collect();
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

    /// Tables whose limits are chosen each for itself do not fit each other.
    fn check_chosen(&self, queries: &[PrivateQuery]) -> Result<(), ContractError> {
        let mut chosen = self.queries.iter().zip(queries).filter(|(_, q)| !q.automatic().is_none());
        match chosen.next() {
            Some((query, _)) if self.consistent.is_some() => Err(self.error(
                query,
                &format!(
                    "tables that fit each other with limits that are chosen ({AUTO}) are not \
                     supported"
                ),
                &format!("leave consistent out, or {GIVE_LIMITS}"),
            )),
            _ => Ok(()),
        }
    }

    /// A report on nothing is none.
    fn check_reports(&self, parts: &[QueryParts]) -> Result<(), ContractError> {
        let mut all = parts.iter().flatten();
        match self.queries.first() {
            Some(first) if self.clipping_report && all.all(|part| part.report_of.is_empty()) => {
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

/// The population that pays for each query of a workload.
struct Payers(Vec<String>);

impl Payers {
    fn of(queries: &[QueryParts]) -> Self {
        let requested = queries.iter().flatten().filter(|part| part.is_requested());
        Self(requested.map(|part| part.query.population().to_owned()).collect())
    }

    fn are_several(&self) -> bool {
        self.0.windows(2).any(|two| two[0] != two[1])
    }

    /// The share of each query in an amount that is split by weight among the queries of each
    /// population.
    fn split<T>(&self, weights: &[u32], split: impl Fn(&[u32]) -> Vec<T>) -> Vec<T> {
        let share = |(index, payer): (usize, &String)| {
            let of_payer = self.0.iter().zip(weights);
            let of_payer = of_payer.map(|(other, &weight)| if other == payer { weight } else { 0 });
            split(&of_payer.collect::<Vec<_>>()).into_iter().nth(index)
        };
        self.0.iter().enumerate().filter_map(share).collect()
    }
}
