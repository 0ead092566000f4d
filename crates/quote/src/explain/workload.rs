//! Joint promise of the queries of a workload.

use hushtable_contract::Table;
use hushtable_lang::Refusal;
use hushtable_plan::{Measure, Measurement};
use hushtable_privacy::{
    Composition, Delta, Event, Loss, Neighbouring, Rho, gaussian_epsilon_at, zcdp_epsilon_at,
};
use serde::{Deserialize, Serialize};

use super::{
    EpsilonAt, Explanation, PolicyExample, PolicyExplanation, PolicyTermExplanation, all_gaussian,
};
use crate::measurement_noise::Noise;
use crate::quote::Quote;

/// Promise of a workload, all of its queries together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointExplanation {
    /// Whose budget pays: a population of the contract.
    pub population: String,
    /// `row`, or the column of the privacy unit.
    pub privacy_unit: String,
    /// Which tables are neighbours.
    pub neighbouring: Neighbouring,
    /// The sum of what the queries are charged.
    pub total: Loss,
    /// The tightest epsilon that is known to hold for all of them together, at some deltas beside
    /// their own: what each costs was fixed before the first was answered.
    pub total_as_epsilon: Vec<EpsilonAt>,
    /// The possible loss of a record that is larger than a threshold, where sums are not clamped;
    /// the total is then that of a record at the thresholds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<JointPolicy>,
    /// Every mechanism, as a program can add it up.
    pub events: Vec<Event>,
}

/// The possible loss of a record of a given size by a whole workload, as a function that a program
/// can evaluate: the sum of the queries' policies (PR Lemma 4.2).
///
/// P(r) = rho_constant + sum over `pieces` of rho_choice m^2 + sum over `terms` of rho (value /
/// threshold)^2, or of what a term's `growth` says of value, where a value is that of the record in
/// the term's column, rounded to the granularity, and m is the largest of 1 and ceil(value /
/// split_at) over the terms of those pieces. By the paper's splitting of the record into whole
/// pieces it is rho_constant + sum over `pieces` of rho m^2. A term's thresholds are as in
/// [`PolicyExplanation`]: those of the record's class, where there are classes.
///
/// It holds for every record. A record enters each query at most once, and one that a query's WHERE
/// leaves out loses nothing by that query: then it loses less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointPolicy {
    /// The loss of every record: counts, quantiles, clamped sums, and the choice of groups by
    /// records.
    pub rho_constant: Rho,
    /// Sums that are not clamped, those of one column with the same thresholds together if their
    /// noise is Gaussian.
    pub terms: Vec<JointTerm>,
    /// Mechanisms that run after a record is split into whole pieces, queries that split it in the
    /// same way together.
    pub pieces: Vec<WholePieces>,
    /// Records with the same multiple of every threshold that they meet. Where queries have
    /// different thresholds for a column, records with at most that multiple of each.
    pub examples: Vec<PolicyExample>,
}

/// The sums of one column in a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointTerm {
    /// The column of the contract.
    pub column: String,
    /// Multiples that its values are rounded to.
    pub granularity: f64,
    /// The thresholds, with the rho that all these queries together spend on the sum.
    #[serde(flatten)]
    pub term: PolicyTermExplanation,
    /// The queries that sum it.
    pub queries: Vec<String>,
}

/// Queries that split a record in the same way, as they sum the same columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholePieces {
    /// The rho that they spend on all that runs after the split: these sums, and the choice of
    /// groups by pieces.
    pub rho: Rho,
    /// Their share for the choice of groups by pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho_choice: Option<Rho>,
    /// Positions of the columns' terms.
    pub terms: Vec<usize>,
}

impl JointExplanation {
    /// Explains queries of one population, each with its name, its quote and its own promise.
    /// `table` is the one whose rows are the units, where they are.
    ///
    /// # Errors
    /// When their losses cannot be added.
    pub fn new(
        parts: &[(&str, &Quote, &Explanation)],
        table: Option<&Table>,
    ) -> Result<Self, Refusal> {
        let [(_, first, explained), others @ ..] = parts else {
            return Err(Refusal::new("the workload has no query", "add at least one query"));
        };
        let total = first
            .total()
            .plus_all(others.iter().map(|(_, quote, _)| quote.total()))
            .map_err(|e| {
                Refusal::new(
                    format!("cannot add up the losses of the queries: {e}"),
                    "use a smaller budget",
                )
            })?;
        let events: Vec<Event> = parts.iter().flat_map(|(_, quote, _)| quote.events()).collect();
        Ok(Self {
            population: explained.population.clone(),
            privacy_unit: explained.privacy_unit.clone(),
            neighbouring: explained.neighbouring,
            total,
            total_as_epsilon: together(&events, total, in_advance(parts)),
            policy: table.and_then(|table| policy(parts, table)),
            events,
        })
    }
}

/// Whether all mechanisms of a workload are fixed before the first answer. None of its queries
/// depends on an answer, but quantiles that are drawn together do, each level on those before, and
/// intervals depend on the quantiles that they are around.
fn in_advance(parts: &[(&str, &Quote, &Explanation)]) -> bool {
    let adaptive = |noise: &Noise| matches!(noise, Noise::Joint(_) | Noise::Reach(_));
    !parts.iter().any(|(_, quote, _)| quote.noise().iter().any(adaptive))
}

/// The tightest epsilons, where they are less than the sum; none where the events cannot be added
/// up. Draws of bounded range that are fixed `in_advance` come to less.
fn together(events: &[Event], total: Loss, in_advance: bool) -> Vec<EpsilonAt> {
    let mut all = Composition::default();
    if events.iter().any(|event| all.add(event, 1).is_err()) {
        return Vec::new();
    }
    let all = if in_advance { all.in_advance() } else { all };
    let at = |more: &str| {
        let delta = more.parse::<Delta>().ok()?.checked_add(total.delta())?;
        let epsilon = all.epsilon_at(delta)?;
        let is_less = match total {
            // By what four digits show.
            Loss::Approximate { epsilon: sum, .. } => epsilon.to_f64() < 0.999 * sum.to_f64(),
            Loss::Concentrated { .. } => true,
        };
        is_less.then(|| EpsilonAt { delta: delta.to_f64(), epsilon: epsilon.to_f64() })
    };
    ["1e-5", "1e-6", "1e-9"].into_iter().filter_map(at).collect()
}

/// The sum of the queries' policies; `None` where every sum is clamped.
fn policy(parts: &[(&str, &Quote, &Explanation)], table: &Table) -> Option<JointPolicy> {
    let mut whole = JointPolicy {
        rho_constant: Rho::ZERO,
        terms: Vec::new(),
        pieces: Vec::new(),
        examples: Vec::new(),
    };
    for (name, quote, explained) in parts {
        let constant = match &explained.policy {
            Some(policy) => {
                whole.add(name, policy, columns(quote, table)?)?;
                policy.rho_constant
            }
            // It costs every record the same.
            None => quote.total().rho()?,
        };
        whole.rho_constant = whole.rho_constant.checked_add(constant)?;
    }
    let first = parts.iter().find_map(|(.., explained)| explained.policy.as_ref())?;
    whole.examples =
        (0..first.examples.len()).filter_map(|index| sum_of_examples(parts, index)).collect();
    Some(whole)
}

impl JointPolicy {
    /// Adds the policy of a query, whose terms are of these columns; `None` where a sum is too
    /// large.
    fn add(
        &mut self,
        query: &str,
        policy: &PolicyExplanation,
        columns: Vec<(String, f64)>,
    ) -> Option<()> {
        let mut indexes = Vec::new();
        let mut rho = policy.rho_pieces.unwrap_or(Rho::ZERO);
        for (term, (column, granularity)) in policy.terms.iter().zip(columns) {
            rho = rho.checked_add(term.rho)?;
            let same = |other: &JointTerm| {
                term.growth.is_none()
                    && other.column == column
                    && other.term == PolicyTermExplanation { rho: other.term.rho, ..term.clone() }
            };
            let index = match self.terms.iter().position(same) {
                Some(index) => {
                    let other = self.terms.get_mut(index)?;
                    other.term.rho = other.term.rho.checked_add(term.rho)?;
                    other.queries.push(query.to_owned());
                    index
                }
                None => {
                    let (term, queries) = (term.clone(), vec![query.to_owned()]);
                    self.terms.push(JointTerm { column, granularity, term, queries });
                    self.terms.len() - 1
                }
            };
            indexes.push(index);
        }
        indexes.sort_unstable();
        match self.pieces.iter_mut().find(|pieces| pieces.terms == indexes) {
            Some(pieces) => {
                pieces.rho = pieces.rho.checked_add(rho)?;
                pieces.rho_choice = match (pieces.rho_choice, policy.rho_pieces) {
                    (Some(choice), Some(more)) => Some(choice.checked_add(more)?),
                    (choice, more) => choice.or(more),
                };
            }
            None => {
                let rho_choice = policy.rho_pieces;
                self.pieces.push(WholePieces { rho, rho_choice, terms: indexes });
            }
        }
        Some(())
    }
}

/// A record that is the same multiple of all thresholds loses the sum of what it loses by each
/// query.
fn sum_of_examples(parts: &[(&str, &Quote, &Explanation)], index: usize) -> Option<PolicyExample> {
    let (mut exact, mut split, mut delta, mut multiple) = (0.0, 0.0, 0.0, None);
    let mut private = false;
    for (_, quote, explained) in parts {
        let query_delta = match &explained.policy {
            Some(policy) => {
                let example = policy.examples.get(index)?;
                multiple = Some(example.multiple);
                exact += example.exact;
                split += example.split;
                example.delta
            }
            None => {
                let rho = quote.total().rho()?.to_f64();
                exact += rho;
                split += rho;
                quote.selection().map(|_| quote.total().delta().to_f64())
            }
        };
        private |= query_delta.is_some();
        delta += query_delta.unwrap_or(0.0);
    }
    // Each addition is off by half an epsilon at most.
    let up = |sum: f64| sum * (1.0 + parts.len() as f64 * f64::EPSILON);
    let (exact, split) = (up(exact), up(split));
    let mu = (2.0 * exact).sqrt() * (1.0 + 1e-15);
    let gaussian = parts.iter().all(|(_, quote, _)| all_gaussian(quote));
    let epsilon =
        if gaussian { gaussian_epsilon_at(mu, 1e-6) } else { zcdp_epsilon_at(exact, 1e-6) };
    let delta = private.then(|| up(delta).min(1.0));
    let mu = gaussian.then_some(mu);
    Some(PolicyExample { multiple: multiple?, exact, mu, epsilon, delta, split })
}

/// The columns of a query's sums that are not clamped, and what their values are rounded to, in the
/// order of its policy's terms.
fn columns(quote: &Quote, table: &Table) -> Option<Vec<(String, f64)>> {
    let column = |measurement: &Measurement| match &measurement.measure {
        Measure::PerRecordSum(sum) => {
            Some((table.column_of(&sum.of)?.name.clone(), measurement.step.to_f64()))
        }
        _ => None,
    };
    let measurements = quote.query().measurements().iter();
    measurements.filter(|m| m.measure.per_record().is_some()).map(column).collect()
}
