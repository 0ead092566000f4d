//! Gaussian noise at the cost of an epsilon and a delta.

use hushtable_lang::Refusal;
use hushtable_mechanisms::Strategy;
use hushtable_privacy::{Delta, Loss, Rho, analytic_gaussian_mu};

use super::{Groups, Measure, PrivateQuery};

/// How often delta is halved for the part that choosing groups has beside Gaussian noise, where
/// more than once is tried.
pub const DELTA_HALVINGS: [u32; 2] = [3, 6];

/// Gaussian noise at the cost of a query in epsilon and delta: a rho for all of it, and the delta
/// that is left for choosing groups, which is one part in 2^`halvings`.
///
/// *Proof.* Mechanisms with Gaussian noise whose rhos add up to rho are together Gaussian
/// differentially private with mu^2 = 2 rho, except for the chance that a group appears that only
/// one of two neighbours has, which the selection's delta bounds. By the analytic Gaussian
/// mechanism the rest is (epsilon, noise's delta)-differentially private, and both deltas add up.
///
/// # Errors
/// When the query's loss does not buy Gaussian noise.
pub fn as_gaussian(query: &PrivateQuery, halvings: u32) -> Result<Loss, Refusal> {
    let Loss::Approximate { epsilon, delta } = query.loss() else { return Ok(query.loss()) };
    let quantile = |measure: &Measure| matches!(measure, Measure::Quantile { .. });
    if query.measurements().iter().any(|m| quantile(&m.measure)) {
        return Err(Refusal::new(
            "noise = GAUSSIAN with an epsilon and a quantile is not supported: \
             a quantile has no noise",
            "use rho in place of epsilon, leave noise out, or ask for the quantile in a query \
             of its own",
        ));
    }
    // The rest of the promise is about a unit as a whole, not about the size of its records.
    if query.chooses_by_pieces()
        || query.measurements().iter().any(|m| m.measure.per_record().is_some())
    {
        return Err(Refusal::new(
            "noise = GAUSSIAN with an epsilon and a sum that is not clamped is not supported",
            "use rho in place of epsilon, or leave noise out",
        ));
    }
    let (selection, noise) = match query.groups() {
        Groups::Private { .. } => {
            let part = delta.share(1 << halvings.clamp(1, 63));
            (part, delta.checked_sub(part).unwrap_or(Delta::ZERO))
        }
        Groups::Single | Groups::Public => (Delta::ZERO, query.noise_delta()),
    };
    let mu = match noise.is_zero() {
        true => 0.0,
        false => analytic_gaussian_mu(epsilon.to_f64(), noise.to_f64()),
    };
    // Rounded down, and by more than the error of mu, so that epsilon and delta are not exceeded.
    let rho = Rho::from_f64_down(0.5 * mu * mu * (1.0 - 1e-12)).unwrap_or(Rho::ZERO);
    if rho.is_zero() {
        return Err(Refusal::new(
            format!("noise = GAUSSIAN with epsilon = {epsilon} needs a delta that is large enough"),
            "delta = 1e-6 in OPTIONS; or rho in place of epsilon; or leave noise out",
        ));
    }
    Ok(Loss::Concentrated { rho, delta: selection })
}

/// Whether a strategy is Gaussian under a rho, or has no rho, so that it composes exactly with
/// Gaussian noise.
pub fn is_gaussian(strategy: Strategy) -> bool {
    match strategy {
        Strategy::GaussianThreshold
        | Strategy::WeightedGaussian
        | Strategy::Sips
        | Strategy::MeasuredCount => true,
        Strategy::Optimal
        | Strategy::TruncatedGeometric
        | Strategy::LaplaceThreshold
        | Strategy::SingleVote => false,
    }
}
