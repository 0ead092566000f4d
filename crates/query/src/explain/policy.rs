//! What a record of a given size may lose, where sums are not clamped.

use hushtable_privacy::{
    Loss, PolicyTerm, RecordPolicy, Rho, gaussian_epsilon_at, zcdp_epsilon_at,
};
use serde::Serialize;

use super::all_gaussian;
use crate::quote::{Noise, Quote};

/// What a record of a given size may lose (per-record zCDP), as a function that a program can evaluate:
/// P(r) = rho_constant + sum over the terms of rho (value / threshold)^2, where a value is that of the
/// record, rounded to the granularity. A record enters each sum at most once.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyExplained {
    /// What every record loses: counts, clamped sums, and the choice of groups.
    pub rho_constant: Rho,
    /// Sums that are not clamped.
    pub terms: Vec<PolicyTermExplained>,
    /// Records with the same multiple of every threshold.
    pub examples: Vec<PolicyExample>,
}

/// One sum of the policy function.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyTermExplained {
    /// Which sum.
    pub measurement: String,
    /// What a record at the threshold loses by it.
    pub rho: Rho,
    /// The threshold, in the column's units.
    pub threshold: f64,
}

/// What a record loses whose values are this multiple of the thresholds; all rounded up.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PolicyExample {
    /// Values over thresholds.
    pub multiple: f64,
    /// The loss in rho: what the noise gives.
    pub exact: f64,
    /// mu of Gaussian differential privacy, sqrt(2 rho).
    pub mu: f64,
    /// The epsilon that the exact loss implies at delta = 1e-6, beside the delta of choosing groups.
    pub epsilon: f64,
    /// The loss in rho by the paper's splitting of the record into whole pieces.
    pub split: f64,
}

/// The policy function with its terms; `None` where every sum is clamped.
pub(super) fn policy_of(quote: &Quote) -> Option<(RecordPolicy, Vec<PolicyTermExplained>)> {
    let mut terms = Vec::new();
    let mut constant = quote.selection().and_then(|s| rho_of(s.loss())).unwrap_or(Rho::ZERO);
    for (measurement, noise) in quote.query().measurements.iter().zip(quote.noise()) {
        let Noise::Own(additive) = noise else { continue };
        let rho = rho_of(additive.loss())?;
        if measurement.split {
            let threshold = measurement.high as f64 * measurement.step.to_f64();
            terms.push(PolicyTermExplained {
                measurement: measurement.name.clone(),
                rho,
                threshold,
            });
        } else {
            constant = constant.checked_add(rho)?;
        }
    }
    if terms.is_empty() {
        return None;
    }
    let policy: Result<Vec<PolicyTerm>, _> =
        terms.iter().map(|t| PolicyTerm::new(t.rho, t.threshold)).collect();
    Some((RecordPolicy::new(constant, policy.ok()?), terms))
}

/// The policy function as it is shown.
pub(super) fn explain_policy(quote: &Quote) -> Option<PolicyExplained> {
    let (policy, terms) = policy_of(quote)?;
    let gaussian = all_gaussian(quote);
    let example = |multiple: f64| {
        let values: Vec<f64> = terms.iter().map(|t| t.threshold * multiple).collect();
        let exact = policy.exact(&values);
        let mu = (2.0 * exact).sqrt() * (1.0 + 1e-15);
        let epsilon =
            if gaussian { gaussian_epsilon_at(mu, 1e-6) } else { zcdp_epsilon_at(exact, 1e-6) };
        PolicyExample { multiple, exact, mu, epsilon, split: policy.split(&values) }
    };
    let examples = [0.1, 1.0, 10.0, 100.0, 1000.0].into_iter().map(example).collect();
    Some(PolicyExplained { rho_constant: policy.constant(), terms, examples })
}

fn rho_of(loss: Loss) -> Option<Rho> {
    match loss {
        Loss::Concentrated { rho, .. } => Some(rho),
        Loss::Approximate { .. } => None,
    }
}
