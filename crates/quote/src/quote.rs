//! The quote: every mechanism that a query will run, calibrated, with its exact privacy loss.

mod choice;

use std::num::NonZeroU32;

use hushtable_contract::NoiseKind;
use hushtable_lang::Refusal;
use hushtable_mechanisms::{
    Additive, MechanismError, PerRecord, Quantile, RecordMechanism, Selection, Strategy,
    SumMechanism,
};
use hushtable_plan::{
    Clamps, Groups, Measure, Measurement, PrivateQuery, ReleasedValues, as_gaussian,
    gaussian_choices, is_gaussian,
};
use hushtable_privacy::{Contribution, Epsilon, Event, Loss, MuSquared, Rho};

use crate::deciding_count::{by_deciding_count, deciding_count, no_deciding_count};
use crate::drawn_together::{better_joint, common_reaches, gathered, joint, least_shares, reaches};
use crate::measurement_noise::{Noise, NoiseByClass};
use crate::objective::{NeededSizes, Usefulness, deviation};
use crate::runner_up::{BudgetUse, RunnerUp, SHARES_OF_BUDGET};
use crate::tie::{better_ties, handed_over, tied};

/// A query with its mechanisms. Their cost is the charge: the noise and the ledger's entry come
/// from the same objects.
#[derive(Clone, Debug)]
pub struct Quote {
    query: PrivateQuery,
    mechanisms: Mechanisms,
    runner_up: Option<RunnerUp>,
}

/// The mechanisms of a query at a plan.
#[derive(Clone, Debug)]
pub(crate) struct Mechanisms {
    pub(crate) plan: BudgetUse,
    pub(crate) selection: Option<Selection>,
    /// The share of epsilon or rho that selection has, where groups are chosen privately and it has
    /// one.
    pub(crate) selection_share: Option<f64>,
    pub(crate) noise: Vec<Noise>,
    total: Loss,
}

impl Mechanisms {
    /// The kind of the noise of what is measured by itself; where choosing groups gives all that is
    /// released, the kind of that.
    pub(crate) fn noise_kind(&self) -> NoiseKind {
        let of_selection = |noise: &Noise| matches!(noise, Noise::OfSelection);
        let is_gaussian = match &self.selection {
            Some(selection) if self.noise.iter().all(of_selection) => {
                is_gaussian(selection.strategy())
            }
            _ => self.plan.currency.rho().is_some(),
        };
        if is_gaussian { NoiseKind::Gaussian } else { NoiseKind::Laplace }
    }
}

impl Quote {
    /// The quote of the query with released values in the place of their placeholders: the
    /// mechanisms stay those that were paid for.
    ///
    /// # Errors
    /// When a value is missing.
    pub fn with_released(self, values: &[ReleasedValues]) -> Result<Self, Refusal> {
        // Mechanisms are not calibrated again: the charge is for these, and released values change
        // no sensitivity.
        let query = self.query.with_released(values)?;
        Ok(Self { query, ..self })
    }

    /// The quote with every sum that is not clamped released by this mechanism, at its default
    /// offset, and with the same strategy and the same split of the budget.
    ///
    /// # Errors
    /// When the mechanism cannot be drawn at the sums' share of the budget.
    pub fn with_mechanism(&self, mechanism: RecordMechanism) -> Result<Self, Refusal> {
        let query = self.query.clone().with_mechanism(mechanism);
        let mechanisms = calibrated(&query, self.mechanisms.plan)?;
        Ok(Self { query, mechanisms, runner_up: None })
    }

    /// The query.
    pub fn query(&self) -> &PrivateQuery {
        &self.query
    }

    /// How groups are chosen, where they are chosen privately.
    pub fn selection(&self) -> Option<&Selection> {
        self.mechanisms.selection.as_ref()
    }

    /// The share of epsilon or rho that choosing groups has, with the noisy counts where it gives
    /// them; `None` where a measured count chooses.
    pub fn selection_share(&self) -> Option<f64> {
        self.mechanisms.selection_share
    }

    /// The index of the measured count by which groups are chosen, if there is one.
    pub fn deciding_count(&self) -> Option<usize> {
        let selection =
            self.selection().filter(|selection| selection.strategy() == Strategy::MeasuredCount);
        selection.and_then(|_| deciding_count(&self.query))
    }

    /// Whether a measurement is that count, or is drawn together with it.
    pub fn is_drawn_to_choose(&self, measurement: usize) -> bool {
        let count = match self.noise().get(measurement) {
            Some(Noise::Tied(tied)) => tied.count,
            _ => measurement,
        };
        self.deciding_count() == Some(count)
    }

    /// The kind of its noise.
    pub fn noise_kind(&self) -> NoiseKind {
        self.mechanisms.noise_kind()
    }

    /// The sizes from which on groups are of use.
    pub fn usefulness(&self) -> Usefulness {
        NeededSizes::new(&self.query, self.selection(), self.noise()).usefulness()
    }

    /// The usefulness as it is stated for people: with the size with which groups appear half of
    /// the time.
    pub fn stated_usefulness(&self) -> Usefulness {
        NeededSizes::new(&self.query, self.selection(), self.noise()).stated()
    }

    /// The standard deviation of the noise of a measurement, in steps, or at a sum of zero; `None`
    /// for a quantile.
    pub fn deviation(&self, measurement: usize) -> Option<f64> {
        let noise = self.noise().get(measurement)?;
        (!noise.is_quantile()).then(|| deviation(noise, self.selection()))
    }

    /// Of a sum whose rows are bounded one by one, the most that all rows of a unit may add up to
    /// in a group for less noise if their sum is clamped in place of each, in steps; `None` where
    /// one row may add more.
    pub fn nearer_sum_bound(&self, measurement: usize) -> Option<f64> {
        let of_rows = self.query.measurements().get(measurement)?;
        let Measure::SumOfRows { clamps: Clamps::Rows, rows, .. } = of_rows.measure else {
            return None;
        };
        // Apart from others, at its share of what choosing groups leaves; noise is in proportion to
        // the bound, and to the inverse of the share or of its root.
        let BudgetUse { currency, .. } = self.mechanisms.plan;
        let whole = noise_of(&self.query, of_rows, currency.without_delta()).ok()?.deviation()?;
        let weights = self.query.measurements().iter().zip(self.noise());
        let paid = weights.filter(|(_, noise)| !matches!(noise, Noise::OfSelection));
        let all: f64 = paid.map(|(other, _)| f64::from(other.weight)).sum();
        let left = 1.0 - self.selection_share().unwrap_or(0.0);
        let share = left * f64::from(of_rows.weight) / all;
        let of_units = whole / if currency.rho().is_some() { share.sqrt() } else { share };
        let ratio = self.deviation(measurement)? / of_units;
        let most = of_rows.low.unsigned_abs().max(of_rows.high.unsigned_abs()) as f64;
        let bound = most * ratio.min(1.0);
        (bound * f64::from(rows) > most * (1.0 + 1e-9)).then_some(bound)
    }

    /// The second best mechanisms, where there were several to choose from.
    pub fn runner_up(&self) -> Option<RunnerUp> {
        self.runner_up
    }

    /// The noise of every measurement, in the query's order.
    pub fn noise(&self) -> &[Noise] {
        &self.mechanisms.noise
    }

    /// The mechanisms as events, from which the tightest total of several queries follows; together
    /// they cost no more than [`total`](Self::total), except for rounding in the last place of a
    /// quantile's range. Those of Gaussian noise under a rho are Gaussian differentially private,
    /// mu^2 = 2 rho; where groups are chosen with such noise, too, all of it is one event.
    pub fn events(&self) -> Vec<Event> {
        if !self.query.automatic().is_none() {
            // Mechanisms follow from limits that are not chosen yet.
            return vec![self.total().into()];
        }
        let mut events = Vec::new();
        // Noise that a unit moves less where it has groups for itself.
        let mut in_groups: Option<MuSquared> = None;
        if let Some(selection) = self.selection() {
            let strategy = selection.strategy();
            match selection.loss() {
                Loss::Concentrated { rho, delta } if is_gaussian(strategy) => {
                    // A measured count pays for itself.
                    let mu_squared = MuSquared::from(rho);
                    if self.query.is_of_units() {
                        in_groups = Some(mu_squared);
                        let parts = strategy.mu_squared_shares(self.query.reach());
                        events.push(Event::GaussianGroups { mu_squared, parts, delta });
                    } else {
                        if !rho.is_zero() {
                            events.push(Event::Gaussian { mu_squared });
                        }
                        events.push(Event::Approximate { epsilon: Epsilon::ZERO, delta });
                    }
                }
                loss => events.push(loss.into()),
            }
        }
        for noise in self.noise() {
            match noise {
                Noise::Quantile(quantile) => {
                    events.push(quantile.event());
                    continue;
                }
                Noise::Joint(joint) if joint.pays() => {
                    events.extend(joint.draws.events());
                    continue;
                }
                Noise::Reach(reach) if reach.pays() => {
                    events.push(reach.draws.event());
                    continue;
                }
                _ => {}
            }
            let Some(loss) = noise.loss() else { continue };
            let laplace = match noise {
                Noise::Tied(_) => true,
                noise => noise.largest().is_some_and(|mechanism| mechanism.additive().is_some()),
            };
            events.push(match loss {
                Loss::Concentrated { rho, .. } if noise.is_gaussian() => {
                    let sum = in_groups.and_then(|sum| sum.checked_add(rho.into()));
                    if sum.is_some() {
                        in_groups = sum;
                        continue;
                    }
                    Event::Gaussian { mu_squared: rho.into() }
                }
                Loss::Approximate { epsilon, .. } if laplace => Event::DiscreteLaplace { epsilon },
                loss => loss.into(),
            });
        }
        if let (Some(sum), Some(Event::GaussianGroups { mu_squared, .. })) =
            (in_groups, events.first_mut())
        {
            *mu_squared = sum;
        }
        events
    }

    /// Cost of the query: the sum over its mechanisms. Of a query whose limits are chosen later,
    /// the most that it costs with any limits.
    pub fn total(&self) -> Loss {
        if self.query.automatic().is_none() {
            return self.mechanisms.total;
        }
        let loss = self.query.loss();
        if loss.delta().is_zero() { loss.with_delta(self.query.noise_delta()) } else { loss }
    }
}

/// Calibrates a query at a plan: splits the loss in the currency of the noise over selection and
/// measurements.
///
/// # Errors
/// When a share of the budget is too small, or a bound too large, to draw noise for.
pub(crate) fn calibrated(query: &PrivateQuery, plan: BudgetUse) -> Result<Mechanisms, Refusal> {
    let BudgetUse { currency, strategy, selection_shares } = plan;
    let counts_units = |m: &Measure| *m == Measure::Units;
    // A noisy count that decides about a group may be shown as its count of units.
    let reused = strategy.is_some_and(Strategy::gives_count) && !query.chooses_by_pieces();
    let by_itself = strategy.is_some_and(Strategy::is_by_itself);
    let mut weights: Vec<u32> = query.measurements().iter().map(|m| m.weight).collect();
    let mut selection_weight = match query.groups() {
        Groups::Private { weight, .. } if by_itself => weight.unwrap_or(1),
        _ => 0,
    };
    if reused {
        for (measurement, weight) in query.measurements().iter().zip(&mut weights) {
            if counts_units(&measurement.measure) {
                // The selection gives the count of units, so it has that measurement's share, and
                // the count costs nothing more.
                selection_weight += std::mem::take(weight);
            }
        }
    }
    if let Some(selection_shares) = selection_shares {
        let measured = weights.iter().fold(0, |sum: u32, weight| sum.saturating_add(*weight));
        let others = SHARES_OF_BUDGET.saturating_sub(selection_shares);
        weights.iter_mut().for_each(|weight| *weight = weight.saturating_mul(others));
        selection_weight = selection_shares.saturating_mul(measured);
    }
    weights.push(selection_weight);
    let all: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    let selection_share = by_itself.then(|| f64::from(selection_weight) / all);
    let apart = |measurement: &Measurement, share| {
        noise_of(query, measurement, share).ok().and_then(|noise| noise.deviation())
    };
    let order = canonical_order(query)?;
    let split = |weights: &[u32]| split(&order, currency, weights);
    let decides = deciding_count(query).filter(|_| strategy.is_some() && !by_itself);
    let ties = better_ties((query, &order), (split, &weights), (reused, decides), apart);
    if !ties.is_empty() {
        weights = handed_over(&weights, &ties);
    }
    let apart = |measurement: &Measurement, share| match noise_of(query, measurement, share) {
        Ok(Noise::Quantile(quantile)) => Some(quantile.deviation_even()),
        _ => None,
    };
    let drawn_together = better_joint(query, (split, &weights), apart);
    let intervals = common_reaches(query);
    let weights = gathered(&weights, drawn_together.iter().chain(&intervals));
    let mut shares = split(&weights);
    let tied = tied(query, &ties, &shares).map_err(|e| refuse("sums and counts", e))?;
    let joint = joint(query, &drawn_together, &shares).map_err(|e| refuse("quantiles", e))?;
    let reaches = reaches(query, &intervals, &shares);
    let reaches = reaches.map_err(|e| refuse("intervals around quantiles", e))?;
    // The selection's weight was added last.
    let share_of_selection = shares.pop();
    let mut noise = Vec::with_capacity(shares.len());
    let measurements = query.measurements().iter().zip(shares);
    let common = tied.into_iter().zip(joint).zip(reaches);
    let common = common.map(|((tied, joint), reach)| {
        tied.map(Noise::Tied).or(joint.map(Noise::Joint)).or(reach.map(Noise::Reach))
    });
    for ((measurement, share), common) in measurements.zip(common) {
        if let Some(common) = common {
            noise.push(common);
            continue;
        }
        if reused && counts_units(&measurement.measure) {
            // Its loss is in the selection's; a noise of its own would be charged twice.
            noise.push(Noise::OfSelection);
            continue;
        }
        noise.push(noise_of(query, measurement, share)?);
    }
    let selection = match (strategy, share_of_selection) {
        (Some(strategy), Some(share)) => {
            // Only selection uses delta, so it has all of it.
            let share = share.with_delta(currency.delta());
            let reach = query.reach();
            let least = match query.groups() {
                Groups::Private { least, .. } => u64::from(least),
                Groups::Single | Groups::Public => 1,
            };
            let result = match by_itself {
                true => Selection::new(strategy, share, reach),
                false => by_deciding_count(query, &noise, share, reach),
            };
            let result = result.map(|selection| selection.with_least(least));
            Some(result.map_err(|e| refuse("choosing groups", e))?)
        }
        _ => None,
    };
    let noise_losses = noise.iter().filter_map(Noise::loss);
    let mut losses = selection.iter().map(Selection::loss).chain(noise_losses);
    let first = losses.next().unwrap_or(currency);
    let total = first.plus_all(losses).map_err(|e| {
        Refusal::new(format!("cannot add up the losses of the query: {e}"), "use a smaller budget")
    })?;
    // Gaussian noise at the cost of an epsilon and a delta.
    let total = match (query.loss(), total) {
        (Loss::Approximate { epsilon, delta }, Loss::Concentrated { .. }) => {
            let gaussian =
                selection.as_ref().is_none_or(|selection| is_gaussian(selection.strategy()))
                    && noise.iter().all(Noise::is_gaussian);
            // The stated epsilon and delta hold for Gaussian events alone, and only within this
            // rho.
            if !gaussian || !total.is_within(currency) {
                return Err(Refusal::new("the query's losses do not add up", "use another budget"));
            }
            let delta = if delta.is_zero() { query.noise_delta() } else { delta };
            Loss::Approximate { epsilon, delta }
        }
        _ => total,
    };
    Ok(Mechanisms { plan, selection, selection_share, noise, total })
}

/// The order of a query's measurements that does not follow from the SELECT list: what depends on
/// their order is done in it, or the same aggregates in another order would be charged again.
fn canonical_order(query: &PrivateQuery) -> Result<Vec<usize>, Refusal> {
    query.measurement_order().map_err(|_| {
        Refusal::new("the query cannot be written as JSON", "this is a fault in Hushtable")
    })
}

/// Splits a loss over the measurements, of which a remainder is shared out in this order, and what
/// comes after them.
fn split(order: &[usize], loss: Loss, weights: &[u32]) -> Vec<Loss> {
    let order = order.iter().copied().chain(order.len()..weights.len()).collect::<Vec<_>>();
    let in_order: Vec<u32> = order.iter().filter_map(|&at| weights.get(at).copied()).collect();
    let mut shares: Vec<(usize, Loss)> = order.into_iter().zip(loss.split(&in_order)).collect();
    shares.sort_unstable_by_key(|(at, _)| *at);
    shares.into_iter().map(|(_, share)| share).collect()
}

/// The noise of a measurement at its share of the budget.
fn noise_of(
    query: &PrivateQuery,
    measurement: &Measurement,
    share: Loss,
) -> Result<Noise, Refusal> {
    if let Measure::Quantile { percentile, rows, scale, reach, .. } = measurement.measure {
        if reach.is_some() {
            // It is drawn together with all others of the same values.
            return Err(refuse(&measurement.name, MechanismError::NoSensitivity));
        }
        let range = ((measurement.low, measurement.high), scale);
        let groups = (query.max_groups_contributed(), query.groups() == Groups::Single);
        let quantile = Quantile::new(percentile, range, rows, groups, query.neighbouring(), share);
        let quantile = quantile.map_err(|e| refuse(&measurement.name, e))?;
        return Ok(Noise::Quantile(Box::new(quantile)));
    }
    let within = |low: i64, high: i64| {
        let per_record = measurement.measure.per_record();
        if let Some(sum) = per_record.filter(|sum| sum.mechanism != RecordMechanism::Gaussian) {
            // A row is in one group, whatever the limit on groups is, and is measured in rho.
            let Loss::Concentrated { rho, .. } = share else {
                return Err(refuse(&measurement.name, MechanismError::NoBudget("rho")));
            };
            let mechanism =
                PerRecord::new(sum.mechanism, high.unsigned_abs(), sum.offset_at(high), rho);
            let mechanism = mechanism.map_err(|e| refuse_mechanism(&measurement.name, e))?;
            return Ok(SumMechanism::PerRecord(Box::new(mechanism)));
        }
        // Declared bounds, never those of the data, decide how far one unit can move the sum.
        let contribution = Contribution { low, high, ..query.contribution(measurement) };
        let additive = match share {
            Loss::Approximate { epsilon, .. } => {
                Additive::laplace(contribution, query.neighbouring(), epsilon)
            }
            Loss::Concentrated { rho, .. } => {
                Additive::gaussian(contribution, query.neighbouring(), rho)
            }
        };
        additive.map(SumMechanism::Additive).map_err(|e| refuse(&measurement.name, e))
    };
    let Some((key, classes, thresholds)) =
        measurement.thresholds().and_then(|t| t.by_key().map(|(key, c)| (key, c, t)))
    else {
        return Ok(Noise::Single(within(measurement.low, measurement.high)?));
    };
    let classes = classes.values.iter();
    let classes = classes.map(|(value, t)| Ok((value.clone(), within(-t, *t)?)));
    Ok(Noise::ByClass(NoiseByClass {
        key,
        classes: classes.collect::<Result<_, Refusal>>()?,
        others: within(-thresholds.default, thresholds.default)?,
    }))
}

/// A loss in the currency of a budget that no quote of the queries falls below, except for
/// rounding, so that what cannot be paid needs no mechanisms. In rho, every share of a query in
/// epsilon costs no less than draws of its range do ([`Event::BoundedRange`]), and what is measured
/// together costs no less than apart, or in even shares. In the queries' own currency where they
/// cannot be paid in the other.
///
/// # Errors
/// When the losses are too large to be added.
pub fn least_loss(queries: &[PrivateQuery], limit: Loss) -> Result<Loss, Refusal> {
    let too_large =
        || Refusal::new("the losses of the queries are too large", "use a smaller budget");
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
        let gaussian = || least_gaussian(query);
        let gaussian: Option<Loss> = match query.noise() {
            Some(NoiseKind::Laplace) => None,
            None => gaussian().ok(),
            Some(NoiseKind::Gaussian) => {
                add(gaussian()?)?;
                continue;
            }
        };
        let mut weights: Vec<u32> = query.measurements().iter().map(|m| m.weight).collect();
        match query.groups() {
            Groups::Private { weight: Some(weight), .. } => weights.push(weight),
            // No split costs less than an even one, up to an epsilon of 8 for each draw. Above that
            // uneven ones can cost a few hundredths less, and are refused early.
            Groups::Private { weight: None, .. } => weights = vec![1; weights.len() + 1],
            Groups::Single | Groups::Public => {}
        }
        let mut one_by_one = Loss::concentrated(Rho::ZERO);
        let draws = NonZeroU32::new(query.max_groups_contributed()).unwrap_or(NonZeroU32::MIN);
        let in_rho = |share: &Loss| match share {
            Loss::Approximate { epsilon, .. } => {
                Event::BoundedRange { epsilon: *epsilon, draws }.in_rho()
            }
            Loss::Concentrated { .. } => None,
        };
        let cost =
            |share: &Loss| in_rho(share).and_then(Loss::rho).map_or(f64::INFINITY, Rho::to_f64);
        for share in least_shares(query, (query.loss(), &weights), cost) {
            one_by_one =
                one_by_one.plus(in_rho(&share).ok_or_else(too_large)?).map_err(|_| too_large())?;
        }
        add(gaussian.filter(|loss| loss.is_within(one_by_one)).unwrap_or(one_by_one))?;
    }
    Ok(sum.unwrap_or(limit.nothing()))
}

/// The least rho of Gaussian noise that a query's epsilon and delta may buy, without the delta of
/// choosing groups.
fn least_gaussian(query: &PrivateQuery) -> Result<Loss, Refusal> {
    let mut least: Option<Loss> = None;
    for chosen in gaussian_choices(query) {
        let loss = as_gaussian(query, chosen)?.without_delta();
        least = Some(least.filter(|least| least.is_within(loss)).unwrap_or(loss));
    }
    least.ok_or_else(|| Refusal::new("no strategy can select groups", Strategy::NAMES))
}

/// Refuses a mechanism that the query names; see [`refuse`].
fn refuse_mechanism(what: &str, error: MechanismError) -> Refusal {
    let hint = match error {
        MechanismError::TooSkewed | MechanismError::NoBudget(_) => {
            "use a larger rho, a larger offset, or another mechanism"
        }
        _ => {
            "use another mechanism, a rho that is neither tiny nor enormous (for \
             EXPONENTIAL_POLYLOGARITHMIC below about 100), or a finer granularity of the column \
             in the contract"
        }
    };
    Refusal::new(format!("no noise can be drawn for the {what}: {error}"), hint)
}

fn refuse(what: &str, error: MechanismError) -> Refusal {
    match error {
        MechanismError::NoCount => return no_deciding_count(),
        MechanismError::ManySums => {
            return Refusal::new(
                format!("the groups cannot be chosen: {error}"),
                "ask for fewer sums, or leave group_selection_strategy out",
            );
        }
        _ => {}
    }
    Refusal::new(
        format!("no noise can be drawn for {what}: {error}"),
        "use a larger epsilon, rho or delta, fewer aggregates, fewer groups per unit, or \
         narrower bounds",
    )
}
