//! Spending when each loss is decided in view of the answers before.

use crate::{Event, Loss, LossError, MuSquared};

/// A limit that may be spent in any order and in any shares, each decided after all answers before.
///
/// Such *fully adaptive* spending is more than a [`Composition`](crate::Composition) covers, whose
/// losses must be fixed in advance. What holds here is a sum: the whole interaction, however it is
/// steered and whenever it stops, is within the limit, as
/// - epsilons and deltas add up (Rogers, Roth, Ullman & Vadhan 2016, *Privacy odometers and
///   filters*);
/// - rhos and deltas add up (Feldman & Zrnic 2021, *Individual privacy accounting via a Rényi
///   filter*, for rho; Whitehouse, Ramdas, Rogers & Wu 2023, *Fully adaptive composition in
///   differential privacy*, with delta);
/// - squares of mu add up (Smith & Thakurta 2022, *Fully adaptive composition for Gaussian
///   differential privacy*; Koskela, Tobaben & Honkela 2023).
///
/// The limit itself is fixed, so the whole of it is one event of a composition: [`Filter::whole`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    sums: Sums,
}

/// The sums spent and allowed, in one currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sums {
    Loss { limit: Loss, spent: Loss },
    Gaussian { limit: MuSquared, spent: MuSquared },
}

/// A loss that was not spent; the filter is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It would pass the limit.
    #[error("the loss is more than what is left")]
    Limit,
    /// It has no amount in the limit's currency.
    #[error(
        "the event cannot be counted against this limit: in epsilon only pure and approximate \
         events can, in mu only Gaussian ones"
    )]
    Currency,
}

impl Filter {
    /// A limit in epsilon and delta, or in rho and delta.
    pub fn new(limit: Loss) -> Self {
        Self { sums: Sums::Loss { limit, spent: limit.nothing() } }
    }

    /// A limit in mu^2, for Gaussian events alone.
    pub fn gaussian(limit: MuSquared) -> Self {
        Self { sums: Sums::Gaussian { limit, spent: MuSquared::ZERO } }
    }

    /// Spends the loss of an event that is about to run `times` times, if the limit has room for
    /// it.
    ///
    /// # Errors
    /// When the limit would be passed or the event has no amount in its currency; then nothing is
    /// spent, and the event must not run.
    pub fn try_spend(&mut self, event: &Event, times: u64) -> Result<(), FilterError> {
        match &mut self.sums {
            Sums::Loss { limit, spent } => {
                let loss = match limit {
                    Loss::Approximate { .. } => event.in_epsilon().ok_or(FilterError::Currency)?,
                    Loss::Concentrated { .. } => event.in_rho().ok_or(FilterError::Limit)?,
                };
                let sum = loss.times(times).and_then(|loss| spent.plus(loss));
                let sum = sum.map_err(|error| match error {
                    LossError::Currency => FilterError::Currency,
                    LossError::TooLarge => FilterError::Limit,
                })?;
                if !sum.is_within(*limit) {
                    return Err(FilterError::Limit);
                }
                *spent = sum;
            }
            Sums::Gaussian { limit, spent } => {
                let Event::Gaussian { mu_squared } = event else {
                    return Err(FilterError::Currency);
                };
                let sum = mu_squared.checked_mul(times).and_then(|loss| loss.checked_add(*spent));
                match sum {
                    Some(sum) if sum <= *limit => *spent = sum,
                    _ => return Err(FilterError::Limit),
                }
            }
        }
        Ok(())
    }

    /// The spent sum, as one event.
    pub fn spent(&self) -> Event {
        match self.sums {
            Sums::Loss { spent, .. } => spent.into(),
            Sums::Gaussian { spent, .. } => Event::Gaussian { mu_squared: spent },
        }
    }

    /// The limit as one event, whose loss is fixed: what all that is spent comes to at most.
    ///
    /// The sum *spent* so far is not such an event, where it depends on the answers.
    pub fn whole(&self) -> Event {
        match self.sums {
            Sums::Loss { limit, .. } => limit.into(),
            Sums::Gaussian { limit, .. } => Event::Gaussian { mu_squared: limit },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, DiscreteGaussianEvent, Mu};

    fn approximate(epsilon: &str, delta: &str) -> Loss {
        Loss::Approximate { epsilon: epsilon.parse().unwrap(), delta: delta.parse().unwrap() }
    }

    fn concentrated(rho: &str, delta: &str) -> Loss {
        Loss::Concentrated { rho: rho.parse().unwrap(), delta: delta.parse().unwrap() }
    }

    fn gaussian(mu: &str) -> Event {
        Event::Gaussian { mu_squared: mu.parse::<Mu>().unwrap().into() }
    }

    #[test]
    fn ten_tenths_fit_and_not_a_bit_more() {
        let tenth = Event::from(approximate("0.1", "1e-8"));
        let mut filter = Filter::new(approximate("1", "1e-7"));
        for _ in 0..10 {
            filter.try_spend(&tenth, 1).unwrap();
        }
        assert_eq!(filter.spent(), filter.whole());
        for event in [approximate("1e-12", "0"), approximate("0", "1e-18")].map(Event::from) {
            let before = filter;
            assert_eq!(filter.try_spend(&event, 1), Err(FilterError::Limit));
            assert_eq!(filter, before);
        }
        // Delta too is a limit.
        let mut filter = Filter::new(approximate("1", "1e-9"));
        assert_eq!(filter.try_spend(&tenth, 1), Err(FilterError::Limit));
        assert_eq!(filter.spent(), Event::from(approximate("0", "0")));
    }

    #[test]
    fn every_event_has_a_rho() {
        let mut filter = Filter::new(concentrated("1", "1e-6"));
        let epsilon = "0.2".parse().unwrap();
        for (event, times, spent) in [
            (gaussian("0.2"), 3, "0.06"),
            (Event::DiscreteLaplace { epsilon }, 2, "0.09986719785"),
            (Event::from(approximate("0.2", "0")), 1, "0.119800796775"),
            (Event::from(concentrated("0.08", "0")), 1, "0.199800796775"),
            // 1/(2 * 2.5), and a smallest unit for the rounding of its double.
            (
                Event::DiscreteGaussian(DiscreteGaussianEvent::new(2.5, 1).unwrap()),
                1,
                "0.399800796776",
            ),
        ] {
            filter.try_spend(&event, times).unwrap();
            assert_eq!(filter.spent(), Event::from(concentrated(spent, "0")));
        }
        assert_eq!(filter.try_spend(&gaussian("2"), 1), Err(FilterError::Limit));
        assert_eq!(filter.try_spend(&gaussian("10000"), 1), Err(FilterError::Limit));
        assert_eq!(filter.try_spend(&gaussian("1e-9"), u64::MAX), Err(FilterError::Limit));
    }

    #[test]
    fn squares_of_mu_add_up_exactly() {
        let mut filter = Filter::gaussian("1".parse::<Mu>().unwrap().into());
        filter.try_spend(&gaussian("0.6"), 1).unwrap();
        filter.try_spend(&gaussian("0.4"), 4).unwrap();
        assert_eq!(filter.spent(), filter.whole());
        assert_eq!(filter.try_spend(&gaussian("1e-15"), 1), Err(FilterError::Limit));
        assert_eq!(filter.try_spend(&gaussian("10000"), u64::MAX), Err(FilterError::Limit));
    }

    #[test]
    fn what_has_no_amount_in_the_currency_is_refused() {
        let mut epsilon = Filter::new(approximate("1", "1e-6"));
        let mut mu = Filter::gaussian("1".parse::<Mu>().unwrap().into());
        for event in [gaussian("0.001"), Event::from(Loss::concentrated("1e-9".parse().unwrap()))] {
            assert_eq!(epsilon.try_spend(&event, 1), Err(FilterError::Currency));
        }
        let pure = Event::Approximate { epsilon: "1e-9".parse().unwrap(), delta: Delta::ZERO };
        assert_eq!(mu.try_spend(&pure, 1), Err(FilterError::Currency));
    }
}
