//! The noise that a query names, or that the contract has for it.

use hushtable_contract::NoiseKind;
use hushtable_privacy::{Delta, Loss};

use super::gaussian::{as_gaussian, gaussian_choices};
use super::options::Options;
use super::{Groups, PrivateQuery};

impl PrivateQuery {
    /// The query with the noise that it names; where it names none, with the contract's default,
    /// unless that cannot serve it.
    pub(super) fn with_noise_of(mut self, options: &Options) -> Self {
        self.noise = options.noise;
        self.usual_noise = options.usual_noise.filter(|_| options.noise.is_none());
        // Where groups are chosen, that shares its delta with the noise.
        let is_apart = matches!(self.groups, Groups::Single | Groups::Public);
        let delta = match options.loss {
            Some(Loss::Approximate { delta, .. }) if is_apart => delta,
            _ => Delta::ZERO,
        };
        self.noise_delta = match options.noise.or(options.usual_noise) {
            Some(NoiseKind::Gaussian) => delta,
            Some(NoiseKind::Laplace) => Delta::ZERO,
            None if options.names_delta => delta,
            None => Delta::ZERO,
        };
        self.settle_noise();
        if self.noise.is_none() && !options.names_delta {
            self.noise_delta = Delta::ZERO;
        }
        self
    }

    /// Decides anew whether the contract's default serves the query, once its share of a budget is
    /// known.
    pub(crate) fn settle_noise(&mut self) {
        let Some(usual) = self.usual_noise else { return };
        let serves = match usual {
            NoiseKind::Laplace => self.loss.rho().is_none(),
            NoiseKind::Gaussian => self.can_be_gaussian(),
        };
        self.noise = serves.then_some(usual);
    }

    /// Whether Gaussian noise serves all of the query.
    fn can_be_gaussian(&self) -> bool {
        let choices = gaussian_choices(self);
        let serves = |chosen: &Option<_>| as_gaussian(self, *chosen).is_ok();
        self.loss.rho().is_some() || choices.first().is_some_and(serves)
    }
}
