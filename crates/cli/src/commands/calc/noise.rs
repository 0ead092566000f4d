//! `hushtable calc noise`.

use clap::error::ErrorKind;
use hushtable::mechanisms::half_width;
use hushtable::noise::{
    DiscreteGaussian as Drawn, DiscreteLaplace, Dyadic, Law, ParameterError, Ratio, RoundedGaussian,
};
use hushtable::privacy::{DiscreteGaussianLoss, Epsilon, gaussian_delta, laplace_epsilon};
use hushtable::query::INTERVAL_LEVEL;

use super::wrong_usage;
use crate::arguments::{NoiseArguments, NoiseMechanism};
use crate::failure::Failure;
use crate::given_numbers::{amount, real, refuse, whole};
use crate::render::calc::{CalcReport, WorstError};

/// The range in which the formulas neither overflow nor lose all digits.
const SENSITIVITY: &str = "a number from 1e-12 to 1e15";

/// Scales and standard deviations, in steps: what noise is drawn with.
pub(super) const SCALES: &str = "a number from 0.01 to 2^40 = 1099511627776";
pub(super) const LARGEST: f64 = 1_099_511_627_776.0;

/// Below, `gaussian_delta` may cancel to zero.
const LEAST_MU: f64 = 1e-9;

pub(super) fn report(arguments: &NoiseArguments) -> Result<CalcReport, Failure> {
    let values = arguments.values.as_deref();
    let values =
        values.map(|text| whole("values", text, 1..=1_000_000_000_000, "60")).transpose()?;
    match (arguments.mechanism, &arguments.sigma_squared, &arguments.epsilon, &arguments.scale) {
        (NoiseMechanism::Gaussian, Some(s), Some(e), None) => {
            rounded(s, &arguments.sensitivity, e, values)
        }
        (NoiseMechanism::DiscreteGaussian, Some(s), Some(e), None) => {
            discrete(s, &arguments.sensitivity, e, values)
        }
        (NoiseMechanism::DiscreteLaplace, None, None, Some(b)) => {
            laplace(b, &arguments.sensitivity, values)
        }
        (NoiseMechanism::DiscreteLaplace, None, None, None) => Err(wrong_usage(
            "noise",
            ErrorKind::MissingRequiredArgument,
            "a discrete Laplace needs '--scale <B>'",
        )),
        (NoiseMechanism::DiscreteLaplace, ..) => Err(wrong_usage(
            "noise",
            ErrorKind::ArgumentConflict,
            "a discrete Laplace takes '--scale <B>' and gives its epsilon; '--sigma-squared <S>' \
             and '--epsilon <E>' are for Gaussians",
        )),
        (_, _, _, Some(_)) => Err(wrong_usage(
            "noise",
            ErrorKind::ArgumentConflict,
            "'--scale <B>' is for a discrete Laplace; a Gaussian takes '--sigma-squared <S>'",
        )),
        _ => Err(wrong_usage(
            "noise",
            ErrorKind::MissingRequiredArgument,
            "a Gaussian needs '--sigma-squared <S>', and '--epsilon <E>' for its delta",
        )),
    }
}

/// Error of the worst of that many values.
fn worst(values: Option<u64>, scale: f64, tail: impl Fn(i128) -> f64) -> Option<WorstError> {
    let values = values?;
    Some(WorstError { values, half_width: half_width(scale, (INTERVAL_LEVEL, values), tail) })
}

fn rounded(
    sigma_squared: &str,
    sensitivity: &str,
    epsilon: &str,
    values: Option<u64>,
) -> Result<CalcReport, Failure> {
    let range = "a number from 1e-12 to 2^80, the square of a sigma of 2^40";
    let squared = real("sigma-squared", sigma_squared, 1e-12..=LARGEST * LARGEST, range, "20")?;
    let sensitivity = real("sensitivity", sensitivity, 1e-12..=1e15, SENSITIVITY, "1")?;
    let epsilon: Epsilon = amount("epsilon", epsilon, "1")?;
    let sigma = squared.sqrt();
    let dyadic =
        Dyadic::at_least(sigma).map_err(|error| cannot("sigma-squared", sigma_squared, error))?;
    let mu = sensitivity / sigma;
    if mu < LEAST_MU {
        return Err(Failure::new(
            format!(
                "sensitivity = {sensitivity} with a sigma squared of {sigma_squared} is not valid: \
                 sigma must be at most 1e9 times the sensitivity, as delta would be lost in \
                 rounding beyond that"
            ),
            "for example `--sigma-squared 20 --sensitivity 1`",
        ));
    }
    let delta = gaussian_delta(mu, epsilon.to_f64());
    let law = RoundedGaussian::new(dyadic);
    Ok(CalcReport::Gaussian {
        epsilon,
        // A delta too small for a double is not zero.
        delta: delta.max(f64::MIN_POSITIVE),
        variance: law.variance(),
        worst: worst(values, sigma, |x| law.tail(x)),
    })
}

fn discrete(
    sigma_squared: &str,
    sensitivity: &str,
    epsilon: &str,
    values: Option<u64>,
) -> Result<CalcReport, Failure> {
    let range = DiscreteGaussianLoss::MIN_SIGMA_SQUARED..=DiscreteGaussianLoss::MAX_SIGMA_SQUARED;
    let words = "a number from 0.01 to 2^40 = 1099511627776 for a discrete Gaussian, whose \
                 delta is a sum of about 20 sigma terms";
    let squared = real("sigma-squared", sigma_squared, range, words, "20")?;
    let sensitivity =
        whole("sensitivity", sensitivity, 1..=DiscreteGaussianLoss::MAX_SENSITIVITY, "1")?;
    let epsilon: Epsilon = amount("epsilon", epsilon, "1")?;
    let law = DiscreteGaussianLoss::new(squared).map_err(refused)?;
    let delta = law.delta(sensitivity, epsilon.to_f64()).map_err(refused)?;
    let drawn = Dyadic::at_least(squared).map(Drawn::new);
    let drawn = drawn.map_err(|error| cannot("sigma-squared", sigma_squared, error))?;
    let worst = worst(values, squared.sqrt(), |x| drawn.tail(x));
    Ok(CalcReport::Gaussian { epsilon, delta, variance: law.variance(), worst })
}

fn laplace(scale: &str, sensitivity: &str, values: Option<u64>) -> Result<CalcReport, Failure> {
    let number = real("scale", scale, 0.01..=LARGEST, SCALES, "3.5")?;
    let sensitivity = real("sensitivity", sensitivity, 1e-12..=1e15, SENSITIVITY, "1")?;
    let ratio = Ratio::exactly(number).map_err(|error| cannot("scale", scale, error))?;
    let law = DiscreteLaplace::new(ratio);
    Ok(CalcReport::Laplace {
        epsilon: laplace_epsilon(sensitivity, number),
        variance: law.variance(),
        worst: worst(values, number, |x| law.tail(x)),
    })
}

fn refused(error: impl ToString) -> Failure {
    Failure::new(error.to_string(), "for example `--sigma-squared 20 --sensitivity 1`")
}

pub(super) fn cannot(flag: &str, value: &str, error: ParameterError) -> Failure {
    refuse(flag, value, &format!("a scale that noise can be drawn with ({error})"), "20")
}
