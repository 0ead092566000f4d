//! Results of `calc`.
//!
//! In JSON, what is a decimal is written as it is; probabilities and other floats have 17
//! significant digits, which read back as the same double.

use hushtable::privacy::{Delta, Epsilon, Rho};

use super::grid::{Alignment, TextGrid};
use super::measurements::nearness;
use super::number::{at_least, digits17, number, probability};

/// A result of `calc`, with the values that it was computed from.
#[derive(Clone, Debug)]
pub(crate) enum CalcReport {
    /// Group selection.
    Selection {
        strategy: &'static str,
        epsilon: Epsilon,
        delta: Delta,
        groups: u64,
        /// Whether weights have noise, and not counts.
        by_weight: bool,
        /// The least noisy count or weight that is released.
        threshold: Option<f64>,
        keep: Vec<KeepChance>,
    },
    /// Epsilon of a rho at a delta, rounded up, for any mechanism and where all noise is Gaussian.
    Epsilon { rho: Rho, delta: Delta, epsilon: Epsilon, gaussian: Epsilon },
    /// Delta of a rho at an epsilon, rounded up, for any mechanism and where all noise is Gaussian.
    Delta { rho: Rho, epsilon: Epsilon, delta: f64, gaussian: f64 },
    /// Rho that an epsilon and a delta have room for, rounded down, for any mechanism and where all
    /// noise is Gaussian.
    Rho { epsilon: Epsilon, delta: Delta, rho: Rho, gaussian: Rho },
    /// The cost of a pure epsilon in a budget in rho, rounded up.
    RhoOfPure { epsilon: Epsilon, rho: Rho },
    /// The pure epsilon that a budget in rho pays for, rounded down.
    PureWithin { rho: Rho, epsilon: Epsilon },
    /// Noise with a delta at each epsilon, rounded up.
    Gaussian { epsilon: Epsilon, delta: f64, variance: f64, worst: Option<WorstError> },
    /// Noise with an epsilon, rounded up.
    Laplace { epsilon: f64, variance: f64, worst: Option<WorstError> },
    /// A quantile: its rate, and how many values are in between 95 % of the time, where they are
    /// evenly spread and whatever they are.
    Quantile { rate: f64, even: f64, worst: f64 },
    /// Epsilon of all events together at a delta, rounded up.
    EpsilonOfEvents { events: u64, delta: Delta, epsilon: Epsilon },
    /// Delta of all events together at an epsilon, rounded up.
    DeltaOfEvents { events: u64, epsilon: Epsilon, delta: f64 },
}

/// All of a number of values are within the half-width of their exact ones, 95 % of the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorstError {
    pub(crate) values: u64,
    pub(crate) half_width: u128,
}

impl WorstError {
    fn json(worst: Option<Self>) -> String {
        worst.map_or_else(String::new, |Self { values, half_width }| {
            format!(",\"values\":{values},\"half_width_95\":{half_width}")
        })
    }

    fn text(worst: Option<Self>) -> String {
        worst.map_or_else(String::new, |Self { values, half_width }| {
            let values = if values == 1 {
                "a value is".to_owned()
            } else {
                format!("all {} values are", number(values as f64))
            };
            format!("{values} within ± {} 95 % of the time\n", number(half_width as f64))
        })
    }
}

/// A group's size and chance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepChance {
    pub(crate) units: u64,
    pub(crate) probability: f64,
}

impl CalcReport {
    /// On one line.
    pub(crate) fn json(&self) -> String {
        let body = match self {
            Self::Selection { strategy, epsilon, delta, threshold, keep, .. } => {
                let keep: Vec<String> = keep
                    .iter()
                    .map(|k| {
                        let probability = digits17(k.probability);
                        format!("{{\"units\":{},\"probability\":{probability}}}", k.units)
                    })
                    .collect();
                let threshold = threshold.map_or("null".to_owned(), digits17);
                format!(
                    "\"strategy\":\"{strategy}\",\"epsilon\":{epsilon},\"delta\":{delta},\
                     \"threshold\":{threshold},\"keep\":[{}]",
                    keep.join(",")
                )
            }
            Self::Epsilon { epsilon, gaussian, .. } => {
                format!("\"epsilon\":{epsilon},\"epsilon_if_gaussian\":{gaussian}")
            }
            Self::Delta { delta, gaussian, .. } => {
                let (delta, gaussian) = (digits17(*delta), digits17(*gaussian));
                format!("\"delta\":{delta},\"delta_if_gaussian\":{gaussian}")
            }
            Self::Rho { rho, gaussian, .. } => {
                format!("\"rho\":{rho},\"rho_if_gaussian\":{gaussian}")
            }
            Self::PureWithin { epsilon, .. } | Self::EpsilonOfEvents { epsilon, .. } => {
                format!("\"epsilon\":{epsilon}")
            }
            Self::DeltaOfEvents { delta, .. } => format!("\"delta\":{}", digits17(*delta)),
            Self::RhoOfPure { rho, .. } => format!("\"rho\":{rho}"),
            Self::Gaussian { delta, variance, worst, .. } => {
                let (delta, variance) = (digits17(*delta), digits17(*variance));
                format!("\"delta\":{delta},\"variance\":{variance}{}", WorstError::json(*worst))
            }
            Self::Laplace { epsilon, variance, worst } => {
                let (epsilon, variance) = (digits17(*epsilon), digits17(*variance));
                format!("\"epsilon\":{epsilon},\"variance\":{variance}{}", WorstError::json(*worst))
            }
            Self::Quantile { rate, even, worst } => format!(
                "\"rate\":{},\"values_between_95_even\":{},\"values_between_95\":{}",
                digits17(*rate),
                digits17(*even),
                digits17(*worst)
            ),
        };
        format!("{{{body}}}\n")
    }

    /// For people: what must not be understated is rounded up.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Selection { strategy, epsilon, delta, groups, by_weight, threshold, keep } => {
                let mut facts = TextGrid::pairs();
                facts.push(["strategy", strategy]);
                facts.push(["budget", &format!("epsilon = {epsilon}, delta = {delta}")]);
                facts.push(["groups per unit", &format!("up to {groups}")]);
                let noisy = if *by_weight { "weights" } else { "counts" };
                let released = threshold.map_or_else(
                    || "none, there is no noisy count".to_owned(),
                    |t| format!("noisy {noisy} from {} on are released", number(t)),
                );
                facts.push(["threshold", &released]);
                let mut sizes =
                    TextGrid::new([("units", Alignment::Right), ("probability", Alignment::Left)])
                        .underlined();
                for k in keep {
                    sizes.push([k.units.to_string(), probability(k.probability)]);
                }
                format!("{}\n{}", facts.text(0), sizes.text(0))
            }
            Self::Epsilon { rho, delta, epsilon, gaussian } => format!(
                "rho = {rho} at delta = {delta}: epsilon = {epsilon}\n\
                 if all it pays for is Gaussian noise: epsilon = {gaussian}\n"
            ),
            Self::Delta { rho, epsilon, delta, gaussian } => {
                let (delta, gaussian) = (at_least(*delta), at_least(*gaussian));
                format!(
                    "rho = {rho} at epsilon = {epsilon}: delta = {delta}\n\
                     if all it pays for is Gaussian noise: delta = {gaussian}\n"
                )
            }
            Self::Rho { epsilon, delta, rho, gaussian } => format!(
                "epsilon = {epsilon} with delta = {delta}: rho = {rho} fits\n\
                 if all it pays for is Gaussian noise: rho = {gaussian}\n"
            ),
            Self::RhoOfPure { epsilon, rho } => {
                format!("epsilon = {epsilon} without delta costs rho = {rho}\n")
            }
            Self::PureWithin { rho, epsilon } => {
                format!("rho = {rho} pays for epsilon = {epsilon} without delta\n")
            }
            Self::Gaussian { epsilon, delta, variance, worst } => {
                let (delta, variance) = (at_least(*delta), number(*variance));
                let worst = WorstError::text(*worst);
                format!("epsilon = {epsilon}: delta = {delta}; variance {variance}\n{worst}")
            }
            Self::Laplace { epsilon, variance, worst } => {
                let (epsilon, variance) = (at_least(*epsilon), number(*variance));
                format!("epsilon = {epsilon}; variance {variance}\n{}", WorstError::text(*worst))
            }
            Self::Quantile { rate, even, worst } => {
                format!("rate = {}: {}\n", number(*rate), nearness(*rate, *even, *worst))
            }
            Self::EpsilonOfEvents { events, delta, epsilon } => {
                format!("{} at delta = {delta}: epsilon = {epsilon}\n", counted(*events))
            }
            Self::DeltaOfEvents { events, epsilon, delta } => {
                let delta = at_least(*delta);
                format!("{} at epsilon = {epsilon}: delta = {delta}\n", counted(*events))
            }
        }
    }
}

fn counted(events: u64) -> String {
    match events {
        1 => "1 event".to_owned(),
        _ => format!("{events} events"),
    }
}
