//! `hushtable assess count`.

use std::rc::Rc;

use hushtable::knowledge::{Count, CountNoise, CountWithin, ProbabilityRange};

use super::Assessment;
use super::parse::{
    CurvePoints, MOST, Others, curve_points, epsilon_at, epsilon_of, others, refused,
};
use super::plot::DeltaCurve;
use crate::arguments::AssessCountArguments;
use crate::failure::Failure;
use crate::given_numbers::{real, refuse, whole};
use crate::render::assess::{AssessReport, EpsilonOrDelta, GuaranteeRow};
use crate::render::assess_words as words;

/// A count of either kind.
enum EitherCount {
    Exact(Box<Count>),
    Within(CountWithin),
}

pub(super) fn assess(given: &AssessCountArguments) -> Result<Assessment, Failure> {
    let curve = curve_points("count", &given.curve)?;
    let known = whole("known", &given.known, 0..=MOST, "100")?;
    let noise = given.noise.as_ref().map(|text| noise(text)).transpose()?;
    let others = others("count", &given.others, None, known)?;
    let (release, mut who) = match others {
        Others::Profile(profile) => {
            let count = Count::new(&profile, noise)
                .map_err(|e| refused(&e, "--unknown 500@0.1 --unknown 300@0.5"))?;
            (EitherCount::Exact(Box::new(count)), words::unknown(profile.records()))
        }
        Others::Within(unknown, between) => within(unknown, between, noise)?,
    };
    who.push_str(&words::known_shift(known));
    let mut exact = true;
    let rows = match curve {
        CurvePoints::Deltas(epsilons) => epsilons
            .into_iter()
            .map(|epsilon| {
                let e = epsilon.to_f64();
                let delta = match &release {
                    EitherCount::Exact(count) => count.delta(e),
                    EitherCount::Within(within) => {
                        let worst = within.worst(e);
                        exact &= worst.forgone == 0;
                        worst.delta
                    }
                };
                let mut row = GuaranteeRow::new(
                    EpsilonOrDelta::epsilon(epsilon),
                    EpsilonOrDelta::Delta(delta),
                );
                if let Some(noise) = noise {
                    row.push(
                        "delta_without_noise",
                        EpsilonOrDelta::Delta(release.without_noise(e)),
                    );
                    row.push("delta_noise_alone", EpsilonOrDelta::Delta(noise.delta(e)));
                }
                row
            })
            .collect(),
        CurvePoints::Epsilons(deltas) => {
            exact = release.exact();
            deltas.into_iter().map(|delta| row_at(delta, &release, noise)).collect()
        }
    };
    if !exact {
        who.push_str(words::FORGONE);
    }
    let more = if noise.is_some() { words::NOISE } else { "" };
    let words = format!("{} {who}{more} {}", words::meaning("this count"), words::NO_BUDGET);
    let report = AssessReport { rows, pairs: Vec::new(), exact, words };
    let curves = curves(&Rc::new(release), noise);
    Ok(Assessment { report, what: "this count", curves })
}

fn curves(release: &Rc<EitherCount>, noise: Option<CountNoise>) -> Vec<DeltaCurve> {
    let all = Rc::clone(release);
    let all = move |epsilon: f64| match &*all {
        EitherCount::Exact(count) => count.delta(epsilon),
        EitherCount::Within(within) => within.worst(epsilon).delta,
    };
    let Some(noise) = noise else { return vec![DeltaCurve::new("", "this count", all)] };
    let without = Rc::clone(release);
    vec![
        DeltaCurve::new("", "uncertainty and noise", all),
        DeltaCurve::new("_without_noise", "uncertainty alone", move |e| without.without_noise(e)),
        DeltaCurve::new("_noise_alone", "noise alone", move |e| noise.delta(e)),
    ]
}

fn within(
    unknown: u64,
    between: ProbabilityRange,
    noise: Option<CountNoise>,
) -> Result<(EitherCount, String), Failure> {
    let within = CountWithin::new(unknown, between, noise)
        .map_err(|e| refused(&e, "--others 10000 --between 0.05..0.95"))?;
    Ok((EitherCount::Within(within), words::within(unknown, between)))
}

fn row_at(delta: f64, release: &EitherCount, noise: Option<CountNoise>) -> GuaranteeRow {
    let epsilon = match release {
        EitherCount::Exact(count) => epsilon_at(delta, |e| count.delta(e)),
        EitherCount::Within(within) => epsilon_of(within.epsilon(delta)),
    };
    let mut row = GuaranteeRow::new(epsilon, EpsilonOrDelta::Delta(delta));
    if let Some(noise) = noise {
        let alone = match release {
            EitherCount::Exact(count) => epsilon_at(delta, |e| count.delta_without_noise(e)),
            EitherCount::Within(within) => epsilon_of(within.epsilon_without_noise(delta)),
        };
        row.push("epsilon_without_noise", alone);
        row.push("epsilon_noise_alone", epsilon_at(delta, |e| noise.delta(e)));
    }
    row
}

impl EitherCount {
    fn without_noise(&self, epsilon: f64) -> f64 {
        match self {
            Self::Exact(count) => count.delta_without_noise(epsilon),
            Self::Within(within) => within.worst_without_noise(epsilon).delta,
        }
    }

    fn exact(&self) -> bool {
        match self {
            Self::Exact(_) => true,
            Self::Within(within) => within.exact(),
        }
    }
}

/// `law:value`.
fn noise(text: &str) -> Result<CountNoise, Failure> {
    let kinds = "geometric:P, discrete-laplace:B or discrete-gaussian:S2";
    let Some((law, value)) = text.trim().split_once(':') else {
        return Err(refuse("noise", text, kinds, "geometric:0.5"));
    };
    let number = |example: &str| {
        let value = real("noise", value, f64::MIN..=f64::MAX, "a law and a number", example);
        value.map_err(|_| refuse("noise", text, "a law and a number, as LAW:VALUE", example))
    };
    let result = match law.trim() {
        "geometric" => CountNoise::geometric(number("geometric:0.5")?),
        "discrete-laplace" => CountNoise::discrete_laplace(number("discrete-laplace:2")?),
        "discrete-gaussian" => CountNoise::discrete_gaussian(number("discrete-gaussian:9")?),
        _ => return Err(refuse("noise", text, kinds, "geometric:0.5")),
    };
    result.map_err(|error| refused(&error, "--noise geometric:0.5"))
}
