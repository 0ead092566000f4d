//! Gaussian noise at the cost of an epsilon and a delta.

use hushtable_lang::Refusal;
use hushtable_mechanisms::Strategy;
use hushtable_privacy::{Delta, Loss, Rho, analytic_gaussian_mu, gaussian_groups_mu};

use super::{Groups, Measure, PrivateQuery};

/// The number of equal shares that a delta is divided into.
const ALL_OF_DELTA: u32 = 64;

/// Shares of delta, of `ALL_OF_DELTA`, that choosing groups by that strategy may have beside
/// Gaussian noise, as a rule the first. Where a unit that has groups for itself moves the noise by
/// much less, noise and groups both have nearly all of delta.
pub fn delta_shares(query: &PrivateQuery, strategy: Strategy) -> &'static [u32] {
    match strategy.mu_squared_shares(query.reach()).get() {
        ..=4 => &[62],
        _ => &[32, 8, 1],
    }
}

/// The ways in which a query's groups may be chosen beside Gaussian noise, each with its share
/// of delta; none of them where all groups are public. Strategies that come to the same rho are
/// there once.
pub fn gaussian_choices(query: &PrivateQuery) -> Vec<Option<(Strategy, u32)>> {
    let Groups::Private { strategy, .. } = query.groups() else { return vec![None] };
    let strategies = match strategy {
        Some(named) => vec![named],
        None => vec![Strategy::GaussianThreshold, Strategy::Sips],
    };
    let gaussian = strategies.into_iter().filter(|strategy| is_gaussian(*strategy));
    let shares =
        |strategy| delta_shares(query, strategy).iter().map(move |share| (strategy, *share));
    gaussian.flat_map(shares).map(Some).collect()
}

/// Gaussian noise at the cost of a query in epsilon and delta, with groups that are chosen by that
/// strategy, if any are: a rho for all of it, and the delta that choosing groups has: that
/// number of shares, of `ALL_OF_DELTA`.
///
/// *Proof.* Mechanisms with Gaussian noise whose rhos add up to rho are together Gaussian
/// differentially private with mu^2 = 2 rho, except for the chance that a group appears that only
/// one of two neighbours has, which the selection's delta bounds. Noise and chance share delta by
/// their joint law: `theorems/partition-selection.md#noise-and-groups-together`.
///
/// # Errors
/// When the query's loss does not buy Gaussian noise.
pub fn as_gaussian(query: &PrivateQuery, chosen: Option<(Strategy, u32)>) -> Result<Loss, Refusal> {
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
    if !query.is_of_units() {
        return Err(Refusal::new(
            "noise = GAUSSIAN with an epsilon and a sum that is not clamped is not supported",
            "use rho in place of epsilon, or leave noise out",
        ));
    }
    let (selection, mu) = match chosen {
        Some((strategy, share)) => {
            let others = ALL_OF_DELTA.saturating_sub(share);
            let of_groups = delta.split(&[share, others]).first().copied().unwrap_or(Delta::ZERO);
            let unshared = strategy.mu_squared_shares(query.reach());
            (of_groups, gaussian_groups_mu(epsilon, delta, of_groups, unshared))
        }
        None if query.noise_delta().is_zero() => (Delta::ZERO, 0.0),
        None => {
            let noise = query.noise_delta().to_f64();
            (Delta::ZERO, analytic_gaussian_mu(epsilon.to_f64(), noise))
        }
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
