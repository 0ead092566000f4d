//! Workloads whose queries are levels of one table, which are to fit each other.

use hushtable_contract::ContractError;

use super::{Workload, WorkloadQuery};
use crate::bind::{Consistent, ConsistentLevel, Key, Measure, PrivateQuery};

impl Workload {
    /// Checks that queries are levels of one table, if that is requested. Rows whose values are not
    /// listed at one level are then left out of all.
    pub(super) fn fitting(
        &self,
        queries: Vec<PrivateQuery>,
    ) -> Result<Vec<PrivateQuery>, ContractError> {
        let (Some(_), Some(first)) = (self.consistent, queries.first()) else { return Ok(queries) };
        let mut keys: Vec<Key> = Vec::new();
        let mut seen: Vec<(Vec<usize>, &str)> = Vec::new();
        for (query, bound) in self.queries.iter().zip(&queries) {
            self.check_level(query, bound, first)?;
            let mut indexes = key_indexes(bound, &mut keys);
            indexes.sort_unstable();
            if let Some((_, other)) = seen.iter().find(|(other, _)| *other == indexes) {
                return Err(self.error(
                    query,
                    &format!("it has the same keys as `{other}`, so it is no level of its own"),
                    "ask for all aggregates in one of them",
                ));
            }
            seen.push((indexes, &query.name));
        }
        if let ([only], Some(query)) = (seen.as_slice(), self.queries.first()) {
            return Err(self.error(
                query,
                &format!("consistent tables are several, but `{}` is the only one", only.1),
                "add a level, such as the total, or leave consistent out",
            ));
        }
        let listed = self.queries.iter().zip(queries).map(|(query, bound)| {
            bound.of_listed(&keys).map_err(|refusal| self.refuse(query, &refusal))
        });
        listed.collect()
    }

    fn check_level(
        &self,
        query: &WorkloadQuery,
        bound: &PrivateQuery,
        first: &PrivateQuery,
    ) -> Result<(), ContractError> {
        let other = self.queries.first().map_or("", |query| query.name.as_str());
        if !bound.is_about_rows_of(first) {
            return Err(self.error(
                query,
                &format!(
                    "it is about other rows than `{other}`, so the two are no levels of one table"
                ),
                "give all queries the same FROM and WHERE; or write two workloads, one of them \
                 with consistent = true",
            ));
        }
        if bound.having().is_some() || bound.limit().is_some() || bound.offset() > 0 {
            return Err(self.error(
                query,
                "HAVING and LIMIT hide groups, but consistent tables need all that are released",
                "leave them out, and look at the tables that are written",
            ));
        }
        let lacks = |of: &PrivateQuery, within: &PrivateQuery| {
            let adds_up = of.measurements().iter();
            let adds_up = adds_up
                .filter(|measurement| !matches!(measurement.measure, Measure::Quantile { .. }));
            let missing = adds_up.filter(|measurement| {
                !within.measurements().iter().any(|other| other.is_measured_as(measurement))
            });
            missing.map(|measurement| measurement.name.clone()).next()
        };
        let differs = lacks(bound, first).map(|name| (name, other));
        if let Some((name, where_not)) =
            differs.or(lacks(first, bound).map(|name| (name, query.name.as_str())))
        {
            return Err(self.error(
                query,
                &format!("the {name} is not measured in `{where_not}`, or with other bounds"),
                "give all consistent queries the same aggregates",
            ));
        }
        Ok(())
    }

    /// The levels that fit each other, if that is requested: all queries, in their order.
    pub(super) fn levels(&self, queries: &[PrivateQuery]) -> Option<Consistent> {
        let fitting = self.consistent?;
        let mut keys = Vec::new();
        let level = |(query, bound): (&WorkloadQuery, &PrivateQuery)| ConsistentLevel {
            part: query.name.clone(),
            table: query.name.clone(),
            keys: key_indexes(bound, &mut keys),
        };
        let levels = self.queries.iter().zip(queries).map(level).collect();
        Some(Consistent { levels, fitting })
    }
}

/// The indexes of a query's keys among those of all levels, to which new ones are added.
fn key_indexes(query: &PrivateQuery, keys: &mut Vec<Key>) -> Vec<usize> {
    let index = |query_key: &Key| {
        keys.iter().position(|key| key.expr == query_key.expr).unwrap_or_else(|| {
            keys.push(query_key.clone());
            keys.len() - 1
        })
    };
    query.keys().iter().map(index).collect()
}
