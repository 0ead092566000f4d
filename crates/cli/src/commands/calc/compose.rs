//! `hushtable calc compose`.

use std::str::FromStr;

use clap::error::ErrorKind;
use hushtable::privacy::{
    AmountError, Composition, Delta, DiscreteGaussianEvent, DiscreteGaussianLoss, Epsilon, Event,
    Mu, MuSquared, Rho,
};

use super::wrong_usage;
use crate::arguments::ComposeArguments;
use crate::failure::Failure;
use crate::given_numbers::amount;
use crate::render::calc::CalcReport;
use crate::render::number::at_least;

const ONE_OF_TWO: &str = "events have an epsilon at '--delta <D>', or a delta at '--epsilon \
                          <E>': give one of the two";

pub(super) fn report(arguments: &ComposeArguments) -> Result<CalcReport, Failure> {
    let mut all = Composition::default();
    let mut events = 0u64;
    for text in &arguments.events {
        let (event, times) = parsed(text)?;
        all.add(&event, times).map_err(|error| {
            Failure::new(
                format!("event = {text} is not valid: {error}"),
                "compose fewer or smaller events, for example `--event gaussian:0.5x10`",
            )
        })?;
        events = events.saturating_add(times);
    }
    match (&arguments.delta, &arguments.epsilon) {
        (Some(delta), None) => {
            let delta: Delta = amount("delta", delta, "1e-6")?;
            match all.epsilon_at(delta) {
                Some(epsilon) => Ok(CalcReport::EpsilonOfEvents { events, delta, epsilon }),
                None => Err(none_at(delta, &all)?),
            }
        }
        (None, Some(epsilon)) => {
            let epsilon = amount("epsilon", epsilon, "1")?;
            Ok(CalcReport::DeltaOfEvents { events, epsilon, delta: all.delta_at(epsilon) })
        }
        (Some(_), Some(_)) => Err(wrong_usage("compose", ErrorKind::ArgumentConflict, ONE_OF_TWO)),
        (None, None) => Err(wrong_usage("compose", ErrorKind::MissingRequiredArgument, ONE_OF_TWO)),
    }
}

fn none_at(delta: Delta, all: &Composition) -> Result<Failure, Failure> {
    let largest: Epsilon = amount("epsilon", "1000000", "1")?;
    let least = at_least(all.delta_at(largest));
    Ok(Failure::new(
        format!(
            "the events have no epsilon from 0 to 1000000 at delta = {delta}: at 1000000, their \
             delta is {least}"
        ),
        "raise `--delta`, or compose fewer or smaller events",
    ))
}

/// The parts of one `--event`.
struct EventArgument<'a> {
    text: &'a str,
    example: &'static str,
}

impl EventArgument<'_> {
    fn refuse(&self, what: &str) -> Failure {
        Failure::new(
            format!("event = {} is not valid: {what}", self.text),
            format!("for example `--event {}`", self.example),
        )
    }

    /// An amount; zero is not one, unless it is `allowed`.
    fn amount<A>(&self, name: &str, text: &str, allowed: bool) -> Result<A, Failure>
    where
        A: FromStr<Err = AmountError> + PartialEq + Copy,
    {
        let value: A = text.parse().map_err(|e: AmountError| {
            self.refuse(&format!("{name} must be a number {}", e.range))
        })?;
        if !allowed && "0".parse() == Ok(value) {
            return Err(self.refuse(&format!("{name} must be above 0")));
        }
        Ok(value)
    }
}

/// `kind:values`, and perhaps `xK`.
fn parsed(text: &str) -> Result<(Event, u64), Failure> {
    let general = EventArgument { text, example: "gaussian:0.5x10" };
    let Some((kind, rest)) = text.trim().split_once(':') else {
        return Err(general.refuse("it must be a kind and its values, with a colon between them"));
    };
    let (values, times) = match rest.rsplit_once('x') {
        Some((values, times)) => (values, times_in(&general, times)?),
        None => (rest, 1),
    };
    let values: Vec<&str> = values.split(',').map(str::trim).collect();
    Ok((event(text, kind, &values)?, times))
}

fn times_in(given: &EventArgument<'_>, text: &str) -> Result<u64, Failure> {
    match text.trim().parse() {
        Ok(times) if (1..=Composition::MOST).contains(&times) => Ok(times),
        _ => {
            let most = Composition::MOST;
            Err(given.refuse(&format!("what follows x must be a whole number from 1 to {most}")))
        }
    }
}

fn event(text: &str, kind: &str, values: &[&str]) -> Result<Event, Failure> {
    match kind.trim() {
        "discrete-laplace" => {
            let given = EventArgument { text, example: "discrete-laplace:0.1x100" };
            let [epsilon] = values else { return Err(given.refuse("it has one value, epsilon")) };
            Ok(Event::DiscreteLaplace { epsilon: given.amount("epsilon", epsilon, false)? })
        }
        "gaussian" => {
            let given = EventArgument { text, example: "gaussian:0.5x10" };
            let [mu] = values else { return Err(given.refuse("it has one value, mu")) };
            let mu: Mu = given.amount("mu", mu, false)?;
            Ok(Event::Gaussian { mu_squared: MuSquared::from(mu) })
        }
        "discrete-gaussian" => {
            lattice(&EventArgument { text, example: "discrete-gaussian:20,1x10" }, values)
        }
        "approx" => {
            let given = EventArgument { text, example: "approx:0.1,1e-8x3" };
            let [epsilon, delta] = values else {
                return Err(given.refuse("it has two values, epsilon and delta"));
            };
            let epsilon: Epsilon = given.amount("epsilon", epsilon, true)?;
            let delta = given.amount("delta", delta, !epsilon.is_zero())?;
            Ok(Event::Approximate { epsilon, delta })
        }
        "bounded-range" => {
            let given = EventArgument { text, example: "bounded-range:1,10x3" };
            let (epsilon, draws) = match values {
                [epsilon] => (epsilon, "1"),
                [epsilon, draws] => (epsilon, *draws),
                _ => {
                    return Err(
                        given.refuse("it has a value, epsilon, and perhaps a number of draws")
                    );
                }
            };
            let draws = draws.parse().map_err(|_| {
                given.refuse(&format!("draws must be a whole number from 1 to {}", u32::MAX))
            })?;
            Ok(Event::BoundedRange { epsilon: given.amount("epsilon", epsilon, false)?, draws })
        }
        "zcdp" => {
            let given = EventArgument { text, example: "zcdp:0.05x10" };
            let (rho, delta) = match values {
                [rho] => (rho, "0"),
                [rho, delta] => (rho, *delta),
                _ => return Err(given.refuse("it has a value, rho, and perhaps a delta")),
            };
            let rho: Rho = given.amount("rho", rho, false)?;
            Ok(Event::Concentrated { rho, delta: given.amount("delta", delta, true)? })
        }
        _ => Err(EventArgument { text, example: "gaussian:0.5x10" }.refuse(
            "the kind must be discrete-laplace, gaussian, discrete-gaussian, bounded-range, approx \
             or zcdp",
        )),
    }
}

fn lattice(given: &EventArgument<'_>, values: &[&str]) -> Result<Event, Failure> {
    let (sigma_squared, sensitivity) = match values {
        [sigma_squared] => (sigma_squared, "1"),
        [sigma_squared, sensitivity] => (sigma_squared, *sensitivity),
        _ => {
            return Err(given.refuse("it has a value, sigma squared, and perhaps a sensitivity"));
        }
    };
    let (least, most) =
        (DiscreteGaussianLoss::MIN_SIGMA_SQUARED, DiscreteGaussianLoss::MAX_SIGMA_SQUARED);
    let squared = sigma_squared.parse().ok().filter(|squared| (least..=most).contains(squared));
    let squared = squared.ok_or_else(|| {
        given.refuse(&format!("sigma squared must be a number from {least} to 2^40 = {most}"))
    })?;
    let most = DiscreteGaussianLoss::MAX_SENSITIVITY;
    let shift = sensitivity.parse().ok().filter(|shift| (1..=most).contains(shift));
    let shift = shift.ok_or_else(|| {
        given.refuse(&format!("the sensitivity must be a whole number from 1 to {most}"))
    })?;
    let event = DiscreteGaussianEvent::new(squared, shift);
    event.map(Event::DiscreteGaussian).map_err(|error| given.refuse(&error.to_string()))
}
