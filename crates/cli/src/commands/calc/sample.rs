//! `hushtable calc sample`: draws, so that anyone can test the samplers from outside.

use std::fmt::Write;

use clap::error::ErrorKind;
use hushtable::noise::{
    DiscreteGaussian, DiscreteLaplace, Dyadic, EntropyError, Generator, Law, ParameterError, Ratio,
    Rehearsal, RoundedGaussian, TruncatedDiscreteLaplace,
};

use super::noise::{LARGEST, SCALES, cannot};
use super::wrong_usage;
use crate::arguments::{SampleArguments, SampleMechanism};
use crate::failure::Failure;
use crate::given_numbers::{real, whole};
use crate::stdio;

/// Draws that are made and written together.
const BATCH: usize = 65_536;

/// Most draws of one run.
const MOST_DRAWS: u64 = 1_000_000_000_000;

/// Where the randomness comes from.
enum RandomSource {
    System(Generator),
    Seed(Rehearsal),
}

impl RandomSource {
    fn fill(&mut self, law: &dyn Law, draws: &mut [i128]) -> Result<(), EntropyError> {
        match self {
            Self::System(generator) => law.fill(generator, draws),
            Self::Seed(rehearsal) => law.rehearse(rehearsal, draws),
        }
    }
}

pub(super) fn run(arguments: &SampleArguments) -> Result<(), Failure> {
    let law = law(arguments)?;
    let mut left = whole("draws", &arguments.draws, 1..=MOST_DRAWS, "1000000")?;
    let seed = arguments.seed.as_ref().map(|s| whole("seed", s, 0..=u64::MAX, "7")).transpose()?;
    let mut source = match seed {
        Some(seed) => RandomSource::Seed(Rehearsal::new(seed)),
        None => RandomSource::System(Generator::from_os().map_err(silent)?),
    };
    let mut draws = vec![0i128; BATCH];
    let mut text = String::new();
    while left > 0 {
        let many = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
        let draws = &mut draws[..many];
        source.fill(law.as_ref(), draws).map_err(silent)?;
        text.clear();
        for draw in draws.iter() {
            // Writing to text does not fail.
            let _ = writeln!(text, "{draw}");
        }
        stdio::print(text.as_bytes())?;
        left -= many as u64;
    }
    Ok(())
}

fn law(arguments: &SampleArguments) -> Result<Box<dyn Law>, Failure> {
    let (scale, sigma_squared, bound) =
        (&arguments.scale, &arguments.sigma_squared, &arguments.bound);
    let laplace = |scale: &str| {
        let number = real("scale", scale, 0.01..=LARGEST, SCALES, "3.5")?;
        Ratio::exactly(number).map_err(|error| cannot("scale", scale, error))
    };
    match (arguments.mechanism, scale, sigma_squared, bound) {
        (SampleMechanism::DiscreteLaplace, Some(scale), None, None) => {
            Ok(Box::new(DiscreteLaplace::new(laplace(scale)?)))
        }
        (SampleMechanism::TruncatedLaplace, Some(scale), None, Some(bound)) => {
            let bound = whole("bound", bound, 1..=1 << 53, "10")?;
            Ok(Box::new(TruncatedDiscreteLaplace::new(laplace(scale)?, bound)))
        }
        (SampleMechanism::Gaussian, None, Some(squared), None) => {
            let sigma = variance(squared)?.sqrt();
            let sigma = Dyadic::at_least(sigma).map_err(|e| no_sigma(squared, e))?;
            Ok(Box::new(RoundedGaussian::new(sigma)))
        }
        (SampleMechanism::DiscreteGaussian, None, Some(squared), None) => {
            let exact = Dyadic::at_least(variance(squared)?).map_err(|e| no_sigma(squared, e))?;
            Ok(Box::new(DiscreteGaussian::new(exact)))
        }
        (mechanism, ..) => {
            let needs = match mechanism {
                SampleMechanism::DiscreteLaplace => "a discrete Laplace needs '--scale <B>' alone",
                SampleMechanism::TruncatedLaplace => {
                    "a truncated Laplace needs '--scale <B>' and '--bound <K>'"
                }
                _ => "a Gaussian needs '--sigma-squared <S>' alone",
            };
            Err(wrong_usage("sample", ErrorKind::MissingRequiredArgument, needs))
        }
    }
}

fn variance(text: &str) -> Result<f64, Failure> {
    let words = "a number from 0.0001 to 2^80, the square of a sigma from 0.01 to 2^40";
    real("sigma-squared", text, 1e-4..=LARGEST * LARGEST, words, "20")
}

fn no_sigma(text: &str, error: ParameterError) -> Failure {
    cannot("sigma-squared", text, error)
}

fn silent(error: EntropyError) -> Failure {
    Failure::new(
        error.to_string(),
        "try again when the operating system gives randomness: nothing is drawn without it",
    )
}
