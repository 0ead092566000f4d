//! `hushtable calc noise`.

use clap::error::ErrorKind;
use hushtable_mechanisms::half_width;
use hushtable_noise::{
    DiscreteGaussian as Drawn, DiscreteLaplace, Dyadic, ParameterError, Ratio, RoundedGaussian,
};
use hushtable_privacy::{DiscreteGaussian, Epsilon, gaussian_delta};
use hushtable_query::INTERVAL_LEVEL;

use super::wrong_usage;
use crate::arguments::{NoiseArguments, NoiseMechanism};
use crate::commands::parse::{amount, real, refuse, whole};
use crate::failure::Failure;
use crate::render::calc::{Report, Worst};

/// In which the formulas neither overflow nor lose themselves.
const SENSITIVITY: &str = "a number from 1e-12 to 1e15";

/// Scales and standard deviations, in steps: what noise is drawn with.
pub(super) const SCALES: &str = "a number from 0.01 to 2^40 = 1099511627776";
pub(super) const LARGEST: f64 = 1_099_511_627_776.0;

/// Below, `gaussian_delta` may cancel to zero.
const LEAST_MU: f64 = 1e-9;

pub(super) fn report(asked: &NoiseArguments) -> Result<Report, Failure> {
    let values = asked.values.as_deref();
    let values =
        values.map(|text| whole("values", text, 1..=1_000_000_000_000, "60")).transpose()?;
    match (asked.mechanism, &asked.sigma_squared, &asked.epsilon, &asked.scale) {
        (NoiseMechanism::Gaussian, Some(s), Some(e), None) => {
            rounded(s, &asked.sensitivity, e, values)
        }
        (NoiseMechanism::DiscreteGaussian, Some(s), Some(e), None) => {
            discrete(s, &asked.sensitivity, e, values)
        }
        (NoiseMechanism::DiscreteLaplace, None, None, Some(b)) => {
            laplace(b, &asked.sensitivity, values)
        }
        (NoiseMechanism::DiscreteLaplace, None, None, None) => wrong_usage(
            "noise",
            ErrorKind::MissingRequiredArgument,
            "a discrete Laplace needs '--scale <B>'",
        ),
        (NoiseMechanism::DiscreteLaplace, ..) => wrong_usage(
            "noise",
            ErrorKind::ArgumentConflict,
            "a discrete Laplace takes '--scale <B>' and gives its epsilon; '--sigma-squared <S>' \
             and '--epsilon <E>' are for Gaussians",
        ),
        (_, _, _, Some(_)) => wrong_usage(
            "noise",
            ErrorKind::ArgumentConflict,
            "'--scale <B>' is for a discrete Laplace; a Gaussian takes '--sigma-squared <S>'",
        ),
        _ => wrong_usage(
            "noise",
            ErrorKind::MissingRequiredArgument,
            "a Gaussian needs '--sigma-squared <S>', and '--epsilon <E>' for its delta",
        ),
    }
}

/// How far the worst of so many values is off.
fn worst(values: Option<u64>, scale: f64, tail: impl Fn(i128) -> f64) -> Option<Worst> {
    let values = values?;
    Some(Worst { values, half_width: half_width(scale, (INTERVAL_LEVEL, values), tail) })
}

fn rounded(
    sigma_squared: &str,
    sensitivity: &str,
    epsilon: &str,
    values: Option<u64>,
) -> Result<Report, Failure> {
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
                "sensitivity = {sensitivity} with sigma-squared = {sigma_squared} is not valid: \
                 sigma must be at most 1e9 times the sensitivity, as beyond that the difference \
                 that is delta is lost in rounding"
            ),
            "for example `--sigma-squared 20 --sensitivity 1`",
        ));
    }
    let delta = gaussian_delta(mu, epsilon.to_f64());
    let law = RoundedGaussian::new(dyadic);
    Ok(Report::Gaussian {
        epsilon,
        // What is too small for a double is not nothing.
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
) -> Result<Report, Failure> {
    let range = DiscreteGaussian::MIN_SIGMA_SQUARED..=DiscreteGaussian::MAX_SIGMA_SQUARED;
    let words = "a number from 0.01 to 2^40 = 1099511627776 for a discrete Gaussian, whose delta \
                 is a sum of some 20 sigma terms";
    let squared = real("sigma-squared", sigma_squared, range, words, "20")?;
    let sensitivity =
        whole("sensitivity", sensitivity, 1..=DiscreteGaussian::MAX_SENSITIVITY, "1")?;
    let epsilon: Epsilon = amount("epsilon", epsilon, "1")?;
    let law = DiscreteGaussian::new(squared).map_err(refused)?;
    let delta = law.delta(sensitivity, epsilon.to_f64()).map_err(refused)?;
    let drawn = Dyadic::at_least(squared).map(Drawn::new);
    let drawn = drawn.map_err(|error| cannot("sigma-squared", sigma_squared, error))?;
    let worst = worst(values, squared.sqrt(), |x| drawn.tail(x));
    Ok(Report::Gaussian { epsilon, delta, variance: law.variance(), worst })
}

fn laplace(scale: &str, sensitivity: &str, values: Option<u64>) -> Result<Report, Failure> {
    let number = real("scale", scale, 0.01..=LARGEST, SCALES, "3.5")?;
    let sensitivity = real("sensitivity", sensitivity, 1e-12..=1e15, SENSITIVITY, "1")?;
    let ratio = exact(number).map_err(|error| cannot("scale", scale, error))?;
    let law = DiscreteLaplace::new(ratio);
    Ok(Report::Laplace {
        epsilon: quotient_up(sensitivity, number),
        variance: law.variance(),
        worst: worst(values, number, |x| law.tail(x)),
    })
}

/// The double as a ratio, which from 2^-10 to 2^100 it is exactly.
pub(super) fn exact(number: f64) -> Result<Ratio, ParameterError> {
    let dyadic = Dyadic::at_least(number)?;
    let (mantissa, exponent) = (u128::from(dyadic.mantissa()), dyadic.exponent());
    let power = 1u128.checked_shl(exponent.unsigned_abs()).unwrap_or(0);
    if exponent < 0 {
        Ratio::new(mantissa, power)
    } else {
        Ratio::new(mantissa.saturating_mul(power), 1)
    }
}

/// The least double at or above a/b, for positive a and b within the ranges above.
fn quotient_up(a: f64, b: f64) -> f64 {
    let nearest = a / b;
    if nearest.mul_add(b, -a) < 0.0 { nearest.next_up() } else { nearest }
}

fn refused(error: impl ToString) -> Failure {
    Failure::new(error.to_string(), "for example `--sigma-squared 20 --sensitivity 1`")
}

pub(super) fn cannot(flag: &str, value: &str, error: ParameterError) -> Failure {
    refuse(flag, value, &format!("a scale that noise can be drawn with ({error})"), "20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_taken_exactly() {
        for number in [0.01, 0.1, 1.0, 3.5, 1e6 / 3.0, 1e22, 1e30] {
            let ratio = exact(number).unwrap();
            assert_eq!(ratio.to_f64().to_bits(), f64::to_bits(number));
        }
    }

    #[test]
    fn quotients_are_rounded_up() {
        assert_eq!(quotient_up(1.0, 4.0), 0.25);
        assert_eq!(quotient_up(3.0, 1.0), 3.0);
        for (a, b) in [(1.0, 3.0), (1.0, 0.1), (7.0, 11.0), (1e-12, 1e30), (1e15, 0.01)] {
            let up = quotient_up(a, b);
            assert!(up.mul_add(b, -a) >= 0.0 && up.next_down().mul_add(b, -a) < 0.0, "{a} {b}");
        }
    }
}
