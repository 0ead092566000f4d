//! `hushtable calc convert`.

use clap::error::ErrorKind;
use hushtable::privacy::{
    Delta, Epsilon, Rho, analytic_gaussian_mu, gaussian_delta, gaussian_epsilon_at, pure_epsilon,
    pure_rho, zcdp_delta_at, zcdp_epsilon_at, zcdp_rho_within,
};

use super::wrong_usage;
use crate::arguments::ConvertArguments;
use crate::failure::Failure;
use crate::given_numbers::{amount, refuse};
use crate::render::calc::CalcReport;

const GIVEN: &str = "give two of '--rho <R>', '--epsilon <E>' and '--delta <D>' to convert them \
                     into the third; without a delta, '--epsilon <E>' alone into rho and '--rho \
                     <R>' alone into epsilon";

pub(super) fn report(arguments: &ConvertArguments) -> Result<CalcReport, Failure> {
    let rho = |text: &str| amount::<Rho>("rho", text, "0.5");
    let epsilon = |text: &str| amount::<Epsilon>("epsilon", text, "1");
    let delta = |text: &str| amount::<Delta>("delta", text, "1e-6");
    match (&arguments.rho, &arguments.epsilon, &arguments.delta) {
        (Some(r), None, Some(d)) => to_epsilon(rho(r)?, delta(d)?),
        (Some(r), Some(e), None) => Ok(to_delta(rho(r)?, epsilon(e)?)),
        (None, Some(e), Some(d)) => to_rho(epsilon(e)?, delta(d)?),
        (None, Some(e), None) => {
            let epsilon = epsilon(e)?;
            Ok(CalcReport::RhoOfPure { epsilon, rho: pure_rho(epsilon) })
        }
        (Some(r), None, None) => {
            let rho = rho(r)?;
            Ok(CalcReport::PureWithin { rho, epsilon: pure_epsilon(rho, 1) })
        }
        (Some(_), Some(_), Some(_)) => {
            Err(wrong_usage("convert", ErrorKind::ArgumentConflict, GIVEN))
        }
        _ => Err(wrong_usage("convert", ErrorKind::MissingRequiredArgument, GIVEN)),
    }
}

fn to_epsilon(rho: Rho, delta: Delta) -> Result<CalcReport, Failure> {
    if delta.is_zero() && !rho.is_zero() {
        let range = "a number above 0 and below 1, as no epsilon is enough at zero";
        return Err(refuse("delta", delta, range, "1e-6"));
    }
    let least = zcdp_epsilon_at(rho.to_f64(), delta.to_f64());
    let epsilon = Epsilon::from_f64_up(least).map_err(|_| {
        Failure::new(
            format!(
                "rho = {rho} at delta = {delta} gives an epsilon above 1000000, the largest \
                 allowed"
            ),
            "choose a smaller rho, for example `--rho 0.5`",
        )
    })?;
    let gaussian = gaussian_epsilon_at(mu(rho), delta.to_f64());
    // Both are rounded up, and Gaussian noise is never worse.
    let gaussian = Epsilon::from_f64_up(gaussian).map_or(epsilon, |rounded| rounded.min(epsilon));
    Ok(CalcReport::Epsilon { rho, delta, epsilon, gaussian })
}

fn to_delta(rho: Rho, epsilon: Epsilon) -> CalcReport {
    let least = zcdp_delta_at(rho.to_f64(), epsilon.to_f64());
    let gaussian = gaussian_delta(mu(rho), epsilon.to_f64()).min(least);
    // A delta too small for a double is not zero.
    let floor = if rho.is_zero() { 0.0 } else { f64::MIN_POSITIVE };
    CalcReport::Delta { rho, epsilon, delta: least.max(floor), gaussian: gaussian.max(floor) }
}

/// The largest rho, of those that a contract can hold, that fits into (epsilon, delta).
fn to_rho(epsilon: Epsilon, delta: Delta) -> Result<CalcReport, Failure> {
    let rho = zcdp_rho_within(epsilon, delta);
    if rho.is_zero() {
        return Err(Failure::new(
            format!(
                "epsilon = {epsilon}, delta = {delta} leaves no room for a rho: the smallest is \
                 1e-12"
            ),
            "choose an epsilon and a delta above zero, for example `--epsilon 1 --delta 1e-6`",
        ));
    }
    let mu = analytic_gaussian_mu(epsilon.to_f64(), delta.to_f64());
    let gaussian =
        Rho::from_f64_down(0.5 * mu * mu * (1.0 - 1e-12)).map_or(rho, |rounded| rounded.max(rho));
    Ok(CalcReport::Rho { epsilon, delta, rho, gaussian })
}

/// The mu of Gaussian noise with that rho, rounded up.
fn mu(rho: Rho) -> f64 {
    (2.0 * rho.to_f64()).sqrt() * (1.0 + 1e-15)
}
