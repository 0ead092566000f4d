//! Events: records of single runs of mechanisms.

use std::num::{NonZeroU32, NonZeroU64};

use serde::{Deserialize, Serialize};

use crate::amount::as_text;
use crate::bounded_range::ranges_rho;
use crate::{Delta, DiscreteGaussianError, DiscreteGaussianLoss, Epsilon, Loss, MuSquared, Rho};

/// One run of a mechanism, as far as its privacy loss is concerned.
///
/// Each kind stands for a pair of laws that is at least as easy to distinguish as what the
/// mechanism releases about any two neighbouring tables (a *dominating pair*: Zhu, Dong & Wang
/// 2022), in both directions, as all these pairs are symmetric; only [`Event::Concentrated`] has no
/// such pair, and is bounded by its Rényi divergences, and [`Event::BoundedRange`] and
/// [`Event::GaussianGroups`] have several, of which now one and now another is the worst.
/// Serialised as JSON with exact decimals as text, tagged by `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Gaussian noise, continuous or rounded afterwards, in any dimension: mu is the l2 sensitivity
    /// over sigma. Also any mechanism that is mu-Gaussian differentially private. At a calibrated
    /// rho, mu^2 = 2 rho.
    Gaussian {
        /// mu^2.
        mu_squared: MuSquared,
    },
    /// Gaussian noise on numbers of groups, and a choice of these groups: of those that a unit is
    /// alone in, it shows any with a probability of `delta` at most. Where the unit has some for
    /// itself, it moves the noise less: for some x from 0 to 1, mu^2 is `mu_squared` (1 -
    /// x/`parts`), and all is lost with a probability of 1 - (1 - `delta`)^x at most. So alone it
    /// loses less than the noise and the choice do apart; together with other events, as they do.
    GaussianGroups {
        /// mu^2, where others are in all of the unit's groups.
        mu_squared: MuSquared,
        /// How many parts mu^2 has, of which one goes.
        parts: NonZeroU64,
        /// The probability that a group appears that the unit is alone in.
        #[serde(with = "as_text")]
        delta: Delta,
    },
    /// Discrete Laplace noise on integers whose losses are epsilon and minus epsilon: with an l1
    /// sensitivity of one step that is so exactly, and with more it bounds them.
    DiscreteLaplace {
        /// The l1 sensitivity over the scale.
        #[serde(with = "as_text")]
        epsilon: Epsilon,
    },
    /// Discrete Gaussian noise on one integer. One on each of several integers is several events.
    DiscreteGaussian(DiscreteGaussianEvent),
    /// Any (epsilon, delta)-differentially private mechanism, such as a group selection: at worst
    /// it reveals everything with probability delta, and otherwise is a randomised response with
    /// losses +-epsilon (Kairouz, Oh & Viswanath 2015). Pure where delta is zero.
    Approximate {
        /// The epsilon.
        #[serde(with = "as_text")]
        epsilon: Epsilon,
        /// The delta.
        #[serde(with = "as_text")]
        delta: Delta,
    },
    /// Draws by mechanisms whose log-ratios have a bounded range, such as the exponential
    /// mechanism, of one query: between any two neighbouring tables, the losses of each are in an
    /// interval of length epsilon/draws around zero (Durfee & Rogers 2019). So each is
    /// (epsilon/draws)-differentially private, and loses much less than that.
    BoundedRange {
        /// The sum of the ranges.
        #[serde(with = "as_text")]
        epsilon: Epsilon,
        /// How many there are, of equal ranges.
        draws: NonZeroU32,
    },
    /// Any delta-approximate rho-zCDP mechanism (Bun & Steinke 2016, Definition 8.1).
    Concentrated {
        /// The rho.
        #[serde(with = "as_text")]
        rho: Rho,
        /// The delta.
        #[serde(with = "as_text")]
        delta: Delta,
    },
}

/// Discrete Gaussian noise on an integer that one unit moves by up to the sensitivity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct DiscreteGaussianEvent {
    law: DiscreteGaussianLoss,
    sensitivity: u64,
}

/// [`DiscreteGaussianEvent`] as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    sigma_squared: f64,
    sensitivity: u64,
}

impl TryFrom<Raw> for DiscreteGaussianEvent {
    type Error = DiscreteGaussianError;

    fn try_from(raw: Raw) -> Result<Self, DiscreteGaussianError> {
        Self::new(raw.sigma_squared, raw.sensitivity)
    }
}

impl From<DiscreteGaussianEvent> for Raw {
    fn from(event: DiscreteGaussianEvent) -> Self {
        Self { sigma_squared: event.law.sigma_squared(), sensitivity: event.sensitivity }
    }
}

impl DiscreteGaussianEvent {
    /// Noise with parameter `sigma_squared`, as the double nearest to it, in squared lattice units.
    ///
    /// # Errors
    /// Unless `sigma_squared` is in 0.01 ..= 2^40 and `sensitivity` in 1 ..= 2^25.
    pub fn new(sigma_squared: f64, sensitivity: u64) -> Result<Self, DiscreteGaussianError> {
        if !(1..=DiscreteGaussianLoss::MAX_SENSITIVITY).contains(&sensitivity) {
            return Err(DiscreteGaussianError::Sensitivity(sensitivity));
        }
        Ok(Self { law: DiscreteGaussianLoss::new(sigma_squared)?, sensitivity })
    }

    /// The noise's law.
    pub fn law(&self) -> DiscreteGaussianLoss {
        self.law
    }

    /// The most by which one unit moves the integer.
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    /// rho = sensitivity^2/(2 sigma^2) (Canonne, Kamath & Steinke 2020, Theorem 4), rounded up;
    /// `None` above the largest rho.
    fn rho_up(&self) -> Option<Rho> {
        let shift = self.sensitivity as f64;
        Rho::from_f64_up(shift * shift / (2.0 * self.law.sigma_squared())).ok()
    }
}

impl From<Loss> for Event {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Approximate { epsilon, delta } => Self::Approximate { epsilon, delta },
            Loss::Concentrated { rho, delta } => Self::Concentrated { rho, delta },
        }
    }
}

impl Event {
    /// The event as a loss in epsilon and delta. `None` for events that have no single one: those
    /// of Gaussian noise and of zCDP have an epsilon for each delta.
    pub fn in_epsilon(&self) -> Option<Loss> {
        match *self {
            Self::DiscreteLaplace { epsilon } | Self::BoundedRange { epsilon, .. } => {
                Some(Loss::pure(epsilon))
            }
            Self::Approximate { epsilon, delta } => Some(Loss::Approximate { epsilon, delta }),
            _ => None,
        }
    }

    /// The event as a loss in rho and delta, rounded up: mu^2/2 for a Gaussian (Bun & Steinke 2016,
    /// Proposition 1.6), [`Loss::in_rho`] for an epsilon, and range^2/8 for each draw of bounded
    /// range (Cesar & Rogers 2021), or that of its epsilon where it is less. `None` above the
    /// largest rho.
    pub fn in_rho(&self) -> Option<Loss> {
        match *self {
            Self::Gaussian { mu_squared } => mu_squared.to_rho_up().map(Loss::concentrated),
            Self::GaussianGroups { mu_squared, delta, .. } => {
                mu_squared.to_rho_up().map(|rho| Loss::Concentrated { rho, delta })
            }
            Self::DiscreteLaplace { epsilon } => Some(Loss::pure(epsilon).in_rho()),
            Self::DiscreteGaussian(event) => event.rho_up().map(Loss::concentrated),
            Self::Approximate { epsilon, delta } => {
                Some(Loss::Approximate { epsilon, delta }.in_rho())
            }
            Self::BoundedRange { epsilon, draws } => {
                Some(Loss::concentrated(ranges_rho(epsilon, draws.get())))
            }
            Self::Concentrated { rho, delta } => Some(Loss::Concentrated { rho, delta }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events() -> Vec<(Event, &'static str)> {
        let (epsilon, delta) = ("0.1".parse().unwrap(), "1.000000000000001e-3".parse().unwrap());
        let rho = "123456.123456789012".parse().unwrap();
        vec![
            (
                Event::Gaussian { mu_squared: "0.09".parse().unwrap() },
                r#"{"kind":"gaussian","mu_squared":"0.09"}"#,
            ),
            (
                Event::GaussianGroups {
                    mu_squared: "0.09".parse().unwrap(),
                    parts: NonZeroU64::new(7).unwrap(),
                    delta,
                },
                concat!(
                    r#"{"kind":"gaussian_groups","mu_squared":"0.09","parts":7,"#,
                    r#""delta":"0.001000000000000001"}"#
                ),
            ),
            (Event::DiscreteLaplace { epsilon }, r#"{"kind":"discrete_laplace","epsilon":"0.1"}"#),
            (
                Event::DiscreteGaussian(DiscreteGaussianEvent::new(20.0, 2).unwrap()),
                r#"{"kind":"discrete_gaussian","sigma_squared":20.0,"sensitivity":2}"#,
            ),
            (
                Event::Approximate { epsilon, delta },
                r#"{"kind":"approximate","epsilon":"0.1","delta":"0.001000000000000001"}"#,
            ),
            (
                Event::BoundedRange { epsilon, draws: NonZeroU32::new(3).unwrap() },
                r#"{"kind":"bounded_range","epsilon":"0.1","draws":3}"#,
            ),
            (
                Event::Concentrated { rho, delta: Delta::ZERO },
                r#"{"kind":"concentrated","rho":"123456.123456789012","delta":"0"}"#,
            ),
        ]
    }

    #[test]
    fn events_are_stored_exactly() {
        for (event, json) in events() {
            assert_eq!(serde_json::to_string(&event).unwrap(), json);
            assert_eq!(serde_json::from_str::<Event>(json).unwrap(), event);
        }
    }

    #[test]
    fn events_that_are_not_valid_are_not_read() {
        for bad in [
            r#"{"kind":"gaussian"}"#,
            r#"{"kind":"gaussian","mu_squared":"-1"}"#,
            r#"{"kind":"gaussian","mu_squared":"1","delta":"0"}"#,
            r#"{"kind":"gaussian_groups","mu_squared":"1","parts":0,"delta":"0"}"#,
            r#"{"kind":"discrete_laplace","epsilon":"nan"}"#,
            r#"{"kind":"discrete_gaussian","sigma_squared":0,"sensitivity":1}"#,
            r#"{"kind":"discrete_gaussian","sigma_squared":20,"sensitivity":0}"#,
            r#"{"kind":"discrete_gaussian","sigma_squared":20,"sensitivity":1,"k":2}"#,
            r#"{"kind":"approximate","epsilon":"1"}"#,
            r#"{"kind":"approximate","epsilon":"1","delta":"1"}"#,
            r#"{"kind":"bounded_range","epsilon":"1","draws":0}"#,
            r#"{"kind":"other"}"#,
        ] {
            assert!(serde_json::from_str::<Event>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn losses_in_rho_round_up() {
        let rhos: Vec<String> =
            events().iter().map(|(event, _)| event.in_rho().unwrap().to_string()).collect();
        assert_eq!(
            rhos,
            [
                "rho = 0.045",
                "rho = 0.045, delta = 0.001000000000000001",
                "rho = 0.004995837496",
                "rho = 0.100000000001",
                "rho = 0.004995837496, delta = 0.001000000000000001",
                // 0.1^2/(8 * 3), rounded up.
                "rho = 0.000416666667",
                "rho = 123456.123456789012",
            ]
        );
        let epsilons = events().iter().filter(|(event, _)| event.in_epsilon().is_some()).count();
        assert_eq!(epsilons, 3);
    }
}
