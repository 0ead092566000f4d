//! The quote: every mechanism that a query will run, calibrated, with its exact privacy loss.

use std::num::NonZeroU32;

use hushtable_mechanisms::{
    Additive, MechanismError, PerRecord, Quantile, Reach, RecordMechanism, Selection, SumMechanism,
    TiedPart,
};
use hushtable_privacy::{Epsilon, Event, Loss, LossError};

use crate::bind::{Given, Groups, Measure, Measurement, PrivateQuery};
use crate::error::Refusal;
use crate::noise_kind::{NoiseKind, currency, is_gaussian};
use crate::types::Value;

pub use crate::tie::Tied;
use crate::tie::{better_ties, handed_over, tied};
pub use hushtable_mechanisms::Strategy;

/// A query with its mechanisms. What they cost is what will be charged: the noise and the ledger's
/// entry come from the same objects.
#[derive(Clone, Debug)]
pub struct Quote {
    query: PrivateQuery,
    selection: Option<Selection>,
    noise: Vec<Noise>,
    total: Loss,
}

/// Where a measurement's noise comes from.
#[derive(Clone, Debug)]
pub enum Noise {
    /// Noise on its sums.
    Own(SumMechanism),
    /// A mechanism for each class of groups, all at the same loss: a record is in a group of one
    /// class.
    ByClass(NoiseByClass),
    /// A draw near the quantile of the groups' values.
    Quantile(Box<Quantile>),
    /// The selection's noisy count, which is paid for already.
    OfSelection,
    /// A part of a common measurement of sums and their count.
    Tied(Tied),
}

/// The noise of groups by their class, which a group key tells.
#[derive(Clone, Debug)]
pub struct NoiseByClass {
    /// Position of the key.
    pub key: usize,
    /// The classes that have a threshold of their own.
    pub classes: Vec<(Value, SumMechanism)>,
    /// The noise of all others.
    pub others: SumMechanism,
}

impl NoiseByClass {
    /// The mechanisms by the place of their class, that of all others last.
    pub fn all(&self) -> impl Iterator<Item = &SumMechanism> {
        self.classes.iter().map(|(_, own)| own).chain([&self.others])
    }

    /// The mechanism of the class at that place.
    pub fn of(&self, class: usize) -> &SumMechanism {
        self.classes.get(class).map_or(&self.others, |(_, own)| own)
    }
}

impl Noise {
    /// What the measurement costs; `None` where the selection has paid.
    pub fn loss(&self) -> Option<Loss> {
        match self {
            Self::Own(own) => Some(own.loss()),
            Self::ByClass(by_class) => Some(by_class.others.loss()),
            Self::Quantile(quantile) => Some(quantile.loss()),
            Self::OfSelection => None,
            Self::Tied(tied) => match tied.part {
                // The sums have paid.
                TiedPart::Count => None,
                TiedPart::Sum(place) => tied.noise.noise(place).map(Additive::loss),
            },
        }
    }

    /// The standard deviation of additive noise in lattice units, but for rounding of what is
    /// measured together; `None` for other mechanisms.
    pub fn deviation(&self) -> Option<f64> {
        match self {
            Self::Own(SumMechanism::Additive(additive)) => Some(additive.variance().sqrt()),
            Self::Tied(tied) => Some(tied.noise.deviation(tied.part)),
            _ => None,
        }
    }

    /// Whether what is released is Gaussian, or computed from what is; counts of the selection are
    /// for it to say.
    pub fn is_gaussian(&self) -> bool {
        match self {
            Self::Quantile(_) => false,
            Self::Tied(tied) => tied.noise.is_gaussian(),
            noise => noise.largest().is_none_or(SumMechanism::is_gaussian),
        }
    }

    /// The mechanism of sums whose noise is the largest; `None` for a quantile, and where the
    /// selection gives it.
    pub fn largest(&self) -> Option<&SumMechanism> {
        match self {
            Self::Own(own) => Some(own),
            Self::ByClass(by_class) => {
                by_class.all().max_by(|a, b| a.scale().total_cmp(&b.scale()))
            }
            Self::Quantile(_) | Self::OfSelection | Self::Tied(_) => None,
        }
    }
}

impl Quote {
    /// Calibrates a query: splits its budget over selection and measurements by weight, and takes
    /// the selection strategy that lets smaller groups appear at the same total cost.
    ///
    /// # Errors
    /// When a share of the budget is too small, or a bound too large, to draw noise for.
    pub fn new(query: PrivateQuery) -> Result<Self, Refusal> {
        query.check_beside()?;
        let currency = currency(&query)?;
        // Under a converted loss all noise is Gaussian, as that composes exactly.
        let converted = currency.rho().is_some() && query.loss().rho().is_none();
        let Groups::Private { strategy, known_threshold, .. } = query.groups() else {
            return Self::with_strategy(query, currency, None);
        };
        let by_pieces = query.chooses_by_pieces();
        let fits = |s: Strategy| {
            (known_threshold.is_none() || s.gives_count())
                && (!by_pieces || s == Strategy::GaussianThreshold)
                && (!converted || is_gaussian(s))
        };
        if let Some(named) = strategy {
            if !fits(named) && by_pieces {
                return Err(Refusal::new(
                    format!("group_selection_by = PIECES with {named} is not supported"),
                    "group_selection_strategy = GAUSSIAN_THRESHOLD, or leave it out: what a record of many \
                     pieces loses is known of it",
                ));
            }
            if converted && !is_gaussian(named) {
                return Err(Refusal::new(
                    format!("noise = GAUSSIAN with an epsilon and {named} is not supported"),
                    "group_selection_strategy = GAUSSIAN_THRESHOLD, WEIGHTED_GAUSSIAN, SIPS or \
                     POLICY_GAUSSIAN, or leave it out",
                ));
            }
            if !fits(named) {
                return Err(Refusal::new(
                    format!("known_groups_threshold needs a noisy count, and {named} has none"),
                    "group_selection_strategy = TRUNCATED_GEOMETRIC, LAPLACE_THRESHOLD or \
                     GAUSSIAN_THRESHOLD; or HAVING COUNT(DISTINCT unit) >= the threshold",
                ));
            }
            return Self::with_strategy(query, currency, Some(named));
        }
        let mut best: Option<(Selection, Self)> = None;
        let mut failure = None;
        for candidate in Strategy::CANDIDATES.into_iter().filter(|&s| fits(s)) {
            match Self::with_strategy(query.clone(), currency, Some(candidate)) {
                Ok(quote) => {
                    let Some(selection) = quote.selection.clone() else { continue };
                    if best.as_ref().is_none_or(|(own, _)| selection.shows_smaller_groups(own)) {
                        best = Some((selection, quote));
                    }
                }
                Err(refusal) => failure = failure.or(Some(refusal)),
            }
        }
        let none = || Refusal::new("no strategy can select groups", Strategy::NAMES);
        best.map(|(_, quote)| quote).ok_or_else(|| failure.unwrap_or_else(none))
    }

    /// The quote at that loss in the currency of its noise, with that strategy.
    fn with_strategy(
        query: PrivateQuery,
        currency: Loss,
        strategy: Option<Strategy>,
    ) -> Result<Self, Refusal> {
        let counted = |m: &Measure| *m == Measure::Units;
        // A noisy count that decides about a group may be shown as its count of units.
        let reused = strategy.is_some_and(Strategy::gives_count) && !query.chooses_by_pieces();
        let mut weights: Vec<u32> = query.measurements().iter().map(|m| m.weight).collect();
        let mut selection_weight = match query.groups() {
            Groups::Private { weight, .. } => weight,
            Groups::Single | Groups::Public => 0,
        };
        if reused {
            for (measurement, weight) in query.measurements().iter().zip(&mut weights) {
                if counted(&measurement.measure) {
                    selection_weight += std::mem::take(weight);
                }
            }
        }
        weights.push(selection_weight);
        let apart = |measurement: &Measurement, share| {
            noise_of(&query, measurement, share).ok().and_then(|noise| noise.deviation())
        };
        let ties = better_ties(&query, (currency, &weights), reused, apart);
        if !ties.is_empty() {
            weights = handed_over(&weights, &ties);
        }
        let mut shares = split(currency, &weights);
        let tied = tied(&query, &ties, &shares).map_err(|e| refuse("sums and counts", e))?;
        let selection_share = shares.pop();
        let selection = match (strategy, selection_share) {
            (Some(strategy), Some(share)) => {
                // Only selection uses delta, so it has all of it.
                let share = share.with_delta(currency.delta());
                let reach = Reach {
                    groups: u64::from(query.max_groups_contributed()),
                    neighbouring: query.neighbouring(),
                };
                let least = match query.groups() {
                    Groups::Private { least, .. } => u64::from(least),
                    Groups::Single | Groups::Public => 1,
                };
                let made = Selection::new(strategy, share, reach)
                    .and_then(|selection| selection.with_least(least))
                    .map_err(|e| refuse("choosing groups", e))?;
                Some(made)
            }
            _ => None,
        };
        let mut noise = Vec::with_capacity(shares.len());
        let measurements = query.measurements().iter().zip(shares);
        for ((measurement, share), tied) in measurements.zip(tied) {
            if let Some(tied) = tied {
                noise.push(tied);
                continue;
            }
            if reused && counted(&measurement.measure) {
                noise.push(Noise::OfSelection);
                continue;
            }
            noise.push(noise_of(&query, measurement, share)?);
        }
        let own = noise.iter().filter_map(Noise::loss);
        let mut losses = selection.iter().map(Selection::loss).chain(own);
        let first = losses.next().unwrap_or(currency);
        let total = losses.try_fold(first, Loss::plus).map_err(|e: LossError| {
            Refusal::new(format!("the query's losses cannot be added: {e}"), "a smaller budget")
        })?;
        // Gaussian noise at the cost of an epsilon and a delta.
        let total = match (query.loss(), total) {
            (Loss::Approximate { epsilon, delta }, Loss::Concentrated { .. }) => {
                if !total.is_within(currency) {
                    return Err(Refusal::new("the query's losses do not add up", "another budget"));
                }
                let delta = if delta.is_zero() { query.noise_delta() } else { delta };
                Loss::Approximate { epsilon, delta }
            }
            _ => total,
        };
        Ok(Self { query, selection, noise, total })
    }

    /// The quote of the query with released values in the place of their placeholders: the
    /// mechanisms stay those that were paid for.
    ///
    /// # Errors
    /// When a value is missing.
    pub fn with_released(self, values: &[Given]) -> Result<Self, Refusal> {
        let query = self.query.with_released(values)?;
        Ok(Self { query, ..self })
    }

    /// The query.
    pub fn query(&self) -> &PrivateQuery {
        &self.query
    }

    /// How groups are chosen, where they are chosen privately.
    pub fn selection(&self) -> Option<&Selection> {
        self.selection.as_ref()
    }

    /// The noise of every measurement, in the query's order.
    pub fn noise(&self) -> &[Noise] {
        &self.noise
    }

    /// The mechanisms as events, from which the tightest total of several queries follows; together
    /// they cost no more than [`total`](Self::total), but for rounding in the last place of a
    /// quantile's range. Those of Gaussian noise under a rho are Gaussian differentially private,
    /// mu^2 = 2 rho, with a threshold's delta apart.
    pub fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(selection) = &self.selection {
            let gaussian = matches!(
                selection.strategy(),
                Strategy::GaussianThreshold
                    | Strategy::WeightedGaussian
                    | Strategy::Sips
                    | Strategy::PolicyGaussian
            );
            match selection.loss() {
                Loss::Concentrated { rho, delta } if gaussian => {
                    events.push(Event::Gaussian { mu_squared: rho.into() });
                    events.push(Event::Approximate { epsilon: Epsilon::ZERO, delta });
                }
                loss => events.push(loss.into()),
            }
        }
        for noise in &self.noise {
            if let Noise::Quantile(quantile) = noise {
                events.push(quantile.event());
                continue;
            }
            let Some(loss) = noise.loss() else { continue };
            let laplace = match noise {
                Noise::Tied(_) => true,
                noise => noise.largest().is_some_and(|own| own.additive().is_some()),
            };
            events.push(match loss {
                Loss::Concentrated { rho, .. } if noise.is_gaussian() => {
                    Event::Gaussian { mu_squared: rho.into() }
                }
                Loss::Approximate { epsilon, .. } if laplace => Event::DiscreteLaplace { epsilon },
                loss => loss.into(),
            });
        }
        events
    }

    /// What the query costs: the sum over its mechanisms.
    pub fn total(&self) -> Loss {
        self.total
    }
}

/// The noise of a measurement at its share of the budget.
fn noise_of(
    query: &PrivateQuery,
    measurement: &Measurement,
    share: Loss,
) -> Result<Noise, Refusal> {
    if let Measure::Quantile { percentile, rows, scale, .. } = measurement.measure {
        let range = ((measurement.low, measurement.high), scale);
        let groups = (query.max_groups_contributed(), query.groups() == Groups::Single);
        let made = Quantile::new(percentile, range, rows, groups, query.neighbouring(), share);
        let made = made.map_err(|e| refuse(&measurement.name, e))?;
        return Ok(Noise::Quantile(Box::new(made)));
    }
    let within = |low: i64, high: i64| {
        let per_record = measurement.measure.per_record();
        if let Some(sum) = per_record.filter(|sum| sum.mechanism != RecordMechanism::Gaussian) {
            // A row is in one group, whatever the limit on groups is, and is measured in rho.
            let Loss::Concentrated { rho, .. } = share else {
                return Err(refuse(&measurement.name, MechanismError::NoBudget("rho")));
            };
            let made = PerRecord::new(sum.mechanism, high.unsigned_abs(), sum.offset_at(high), rho);
            let made = made.map_err(|e| refuse_mechanism(&measurement.name, e))?;
            return Ok(SumMechanism::PerRecord(Box::new(made)));
        }
        let contribution = query.contribution_within(low, high);
        let made = match share {
            Loss::Approximate { epsilon, .. } => {
                Additive::laplace(contribution, query.neighbouring(), epsilon)
            }
            Loss::Concentrated { rho, .. } => {
                Additive::gaussian(contribution, query.neighbouring(), rho)
            }
        };
        made.map(SumMechanism::Additive).map_err(|e| refuse(&measurement.name, e))
    };
    let Some((key, classes, thresholds)) =
        measurement.thresholds().and_then(|t| t.by_key().map(|(key, c)| (key, c, t)))
    else {
        return Ok(Noise::Own(within(measurement.low, measurement.high)?));
    };
    let classes = classes.values.iter();
    let classes = classes.map(|(value, t)| Ok((value.clone(), within(-t, *t)?)));
    Ok(Noise::ByClass(NoiseByClass {
        key,
        classes: classes.collect::<Result<_, Refusal>>()?,
        others: within(-thresholds.default, thresholds.default)?,
    }))
}

/// A loss in the currency of a budget that no quote of the queries falls below, so that what cannot
/// be paid needs no mechanisms. In rho, every part of a query in epsilon costs no less than draws of
/// its range do ([`Event::BoundedRange`]), and what is measured together costs no less than apart.
/// In the queries' own currency where they cannot be paid in the other.
///
/// # Errors
/// When the losses are too large to be added.
pub fn least_loss(queries: &[PrivateQuery], limit: Loss) -> Result<Loss, Refusal> {
    let too_large = || Refusal::new("the losses of the queries are too large", "a smaller budget");
    let mut sum: Option<Loss> = None;
    let mut add = |loss: Loss| {
        let all = sum.map_or(Ok(loss), |sum| sum.plus(loss)).map_err(|_| too_large())?;
        sum = Some(all);
        Ok::<_, Refusal>(())
    };
    for query in queries {
        let (Loss::Approximate { .. }, Loss::Concentrated { .. }) = (query.loss(), limit) else {
            add(query.loss())?;
            continue;
        };
        if query.noise() == Some(NoiseKind::Gaussian) {
            add(currency(query)?)?;
            continue;
        }
        let mut weights: Vec<u32> = query.measurements().iter().map(|m| m.weight).collect();
        if let Groups::Private { weight, .. } = query.groups() {
            weights.push(weight);
        }
        let draws = NonZeroU32::new(query.max_groups_contributed()).unwrap_or(NonZeroU32::MIN);
        for share in split(query.loss(), &weights) {
            let Loss::Approximate { epsilon, .. } = share else { continue };
            add(Event::BoundedRange { epsilon, draws }.in_rho().ok_or_else(too_large)?)?;
        }
    }
    Ok(sum.unwrap_or(limit.nothing()))
}

/// Shares of epsilon or rho by weight, which add up to the whole; without any delta.
pub(crate) fn split(loss: Loss, weights: &[u32]) -> Vec<Loss> {
    match loss {
        Loss::Approximate { epsilon, .. } => {
            epsilon.split(weights).into_iter().map(Loss::pure).collect()
        }
        Loss::Concentrated { rho, .. } => {
            rho.split(weights).into_iter().map(Loss::concentrated).collect()
        }
    }
}

/// As [`refuse`], for a mechanism that the query names.
fn refuse_mechanism(what: &str, error: MechanismError) -> Refusal {
    let hint = match error {
        MechanismError::TooSkewed | MechanismError::NoBudget(_) => {
            "a larger rho, a larger offset, or another mechanism"
        }
        _ => {
            "another mechanism, a rho that is neither tiny nor enormous (for EXPONENTIAL_POLYLOGARITHMIC \
             below about 100), or a finer granularity of the column in the contract"
        }
    };
    Refusal::new(format!("no noise can be drawn for the {what}: {error}"), hint)
}

fn refuse(what: &str, error: MechanismError) -> Refusal {
    if error == MechanismError::NoLeast {
        return Refusal::new(
            format!("min_privacy_units_per_group is not possible: {error}"),
            "group_selection_strategy = SIPS, which also adapts to the data, or another one",
        );
    }
    Refusal::new(
        format!("no noise can be drawn for {what}: {error}"),
        "a larger epsilon or rho, fewer aggregates, fewer groups per unit, or narrower bounds",
    )
}
