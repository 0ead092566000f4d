//! The choice of noise, selection strategy and split of the budget, by one objective.
//!
//! It looks at the query alone, so that the same query always has the same mechanisms.

use hushtable_contract::NoiseKind;
use hushtable_lang::Refusal;
use hushtable_mechanisms::{Selection, Strategy};
use hushtable_plan::{Groups, Measure, PrivateQuery, as_gaussian, delta_shares, is_gaussian};
use hushtable_privacy::Loss;

use super::{Mechanisms, Quote, calibrated};
use crate::deciding_count::{deciding_count, no_deciding_count};
use crate::objective::{NeededSizes, Rank};
use crate::runner_up::{BudgetUse, RunnerUp, SHARES_OF_BUDGET};

/// The fewest of the shares that selection or measurements have.
const FEWEST_SHARES: u32 = 2;

/// The candidates whose split is searched for.
const FINALISTS: usize = 2;

/// The most steps of that search.
const STEPS: usize = 3;

/// How much larger the size from which on groups are of use may be, so that more groups appear.
const FOR_GROUPS: f64 = 1.05;

/// Mechanisms, and the sizes of groups that they need.
struct CandidateMechanisms {
    mechanisms: Mechanisms,
    needed: NeededSizes,
}

impl CandidateMechanisms {
    fn new(query: &PrivateQuery, plan: BudgetUse) -> Result<Self, Refusal> {
        let mechanisms = calibrated(query, plan)?;
        let needed = NeededSizes::new(query, mechanisms.selection.as_ref(), &mechanisms.noise);
        Ok(Self { mechanisms, needed })
    }

    fn rank(&self) -> Rank {
        self.needed.rank()
    }

    /// The share of selection, where the query leaves it open and something else has a share, too.
    fn open_share(&self, query: &PrivateQuery) -> Option<f64> {
        let is_open = matches!(query.groups(), Groups::Private { weight: None, .. });
        self.mechanisms.selection_share.filter(|share| is_open && *share < 1.0)
    }

    /// The share of selection that is nearly the best, and the rank that it promises; `None` where
    /// there is nothing to split.
    fn best_split(&self, query: &PrivateQuery) -> Option<(f64, Rank)> {
        Some(self.needed.best_share(self.open_share(query)?, self.power()))
    }

    /// The power of epsilon or rho to which noise is in inverse proportion.
    fn power(&self) -> f64 {
        match self.mechanisms.plan.currency {
            Loss::Approximate { .. } => 1.0,
            Loss::Concentrated { .. } => 0.5,
        }
    }

    /// Improves the mechanisms with a better split, and a better share of delta for choosing
    /// groups, where the query leaves them open.
    fn improved(self, query: &PrivateQuery) -> Self {
        let mut best = self;
        let mut tried: Vec<u32> = Vec::new();
        let mut next = best.best_split(query);
        while let Some((share, _)) = next
            && tried.len() < STEPS
        {
            let shares = (share * f64::from(SHARES_OF_BUDGET)).round() as u32;
            let shares = shares.clamp(FEWEST_SHARES, SHARES_OF_BUDGET - FEWEST_SHARES);
            if tried.contains(&shares) {
                break;
            }
            tried.push(shares);
            let plan = BudgetUse { selection_shares: Some(shares), ..best.mechanisms.plan };
            let Ok(other) = Self::new(query, plan) else { break };
            next = other.best_split(query);
            if other.rank() < best.rank() {
                best = other;
            }
        }
        let BudgetUse { currency, strategy, .. } = best.mechanisms.plan;
        let is_converted = query.loss().rho().is_none() && currency.rho().is_some();
        let Some(strategy) = strategy.filter(|_| is_converted) else { return best };
        // It has the first of them.
        for shares in delta_shares(query, strategy).iter().skip(1) {
            let Ok(currency) = as_gaussian(query, Some((strategy, *shares))) else { break };
            let plan = BudgetUse { currency, ..best.mechanisms.plan };
            let Ok(other) = Self::new(query, plan) else { break };
            if other.rank() >= best.rank() {
                break;
            }
            best = other;
        }
        best
    }

    /// The size with which groups appear half of the time.
    fn to_appear(&self) -> f64 {
        self.needed.usefulness().to_appear
    }

    /// The size from which on groups are of use.
    fn size(&self) -> f64 {
        self.needed.usefulness().size()
    }

    /// Gives choosing groups more of the budget, where the query leaves that open: as much as
    /// leaves groups of use from the size `most` on.
    fn with_smaller_groups(self, query: &PrivateQuery, most: f64) -> Self {
        let share = self.open_share(query).filter(|_| self.size() <= most);
        let Some(share) = share else { return self };
        let largest = self.needed.largest_share(share, self.power(), most);
        let shares = (largest * f64::from(SHARES_OF_BUDGET)).floor() as u32;
        let shares = shares.min(SHARES_OF_BUDGET - FEWEST_SHARES);
        if f64::from(shares) <= share * f64::from(SHARES_OF_BUDGET) {
            return self;
        }
        let plan = BudgetUse { selection_shares: Some(shares), ..self.mechanisms.plan };
        match Self::new(query, plan) {
            Ok(other) if other.size() <= most && other.to_appear() < self.to_appear() => other,
            _ => self,
        }
    }

    /// Whether its size is more than `most`; then its groups' size to appear, or its rank.
    fn preference(&self, most: f64) -> (bool, Rank, Rank) {
        let is_more = self.size() > most;
        let first = if is_more { self.rank() } else { self.needed.rank_to_appear() };
        (is_more, first, self.rank())
    }
}

impl Quote {
    /// Calibrates a query: takes the noise, the selection strategy and the split of the budget with
    /// which groups are of use from nearly the smallest size on
    /// ([`Usefulness`](crate::Usefulness)), within the query's loss and its delta for noise. A
    /// mechanism that the query names is used.
    ///
    /// # Errors
    /// When a share of the budget is too small, or a bound too large, to draw noise for.
    pub fn new(query: PrivateQuery) -> Result<Self, Refusal> {
        query.check_beside()?;
        query.relation().check_rows_joined()?;
        let (mechanisms, runner_up) = chosen(&query)?;
        Ok(Self { query, mechanisms, runner_up })
    }

    /// Calibrates a query as [`new`](Self::new) does. If it needs the same mechanisms as an earlier
    /// one, as the levels of a CUBE do, it takes them from there.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn beside<'a>(
        query: PrivateQuery,
        mut earlier: impl Iterator<Item = &'a Self>,
    ) -> Result<Self, Refusal> {
        if let Some(same) = earlier.find(|same| same.query.is_calibrated_as(&query)) {
            query.check_beside()?;
            let (mechanisms, runner_up) = (same.mechanisms.clone(), same.runner_up);
            return Ok(Self { query, mechanisms, runner_up });
        }
        Self::new(query)
    }
}

/// The mechanisms whose groups are of use from the smallest size on, at the cost of the query, and
/// those that are second best. Of all plans, those that promise the most are compared with their
/// best split. Of those that come within a twentieth of the best, the one is taken whose groups
/// appear from the smallest size on.
///
/// # Errors
/// When the query allows no mechanisms, or its budget is too small for any.
fn chosen(query: &PrivateQuery) -> Result<(Mechanisms, Option<RunnerUp>), Refusal> {
    let mut failure = None;
    let mut candidates = Vec::new();
    for plan in plans(query)? {
        match CandidateMechanisms::new(query, plan) {
            Ok(candidate) => candidates.push(candidate),
            Err(refusal) => failure = failure.or(Some(refusal)),
        }
    }
    let promise = |candidate: &CandidateMechanisms| {
        candidate.best_split(query).map_or_else(|| candidate.rank(), |(_, rank)| rank)
    };
    candidates.sort_by_key(promise);
    candidates.truncate(FINALISTS);
    let finalists: Vec<CandidateMechanisms> =
        candidates.into_iter().map(|candidate| candidate.improved(query)).collect();
    let most =
        FOR_GROUPS * finalists.iter().map(CandidateMechanisms::size).fold(f64::INFINITY, f64::min);
    let smaller = finalists.into_iter().map(|candidate| candidate.with_smaller_groups(query, most));
    let mut finalists: Vec<CandidateMechanisms> = smaller.collect();
    finalists.sort_by_key(|candidate| candidate.preference(most));
    let mut finalists = finalists.into_iter();
    let Some(best) = finalists.next() else {
        let none = || Refusal::new("no strategy can select groups", Strategy::NAMES);
        return Err(failure.unwrap_or_else(none));
    };
    let second = finalists.next().map(|second| RunnerUp {
        noise: second.mechanisms.noise_kind(),
        strategy: second.mechanisms.selection.as_ref().map(Selection::strategy),
        usefulness: second.needed.stated(),
    });
    Ok((best.mechanisms, second))
}

/// The noise and the strategies that a query allows.
fn plans(query: &PrivateQuery) -> Result<Vec<BudgetUse>, Refusal> {
    // At the query's own loss, and with Gaussian noise at the cost of its epsilon.
    let (plain, converted) = match (query.loss(), query.noise()) {
        (Loss::Concentrated { .. }, Some(NoiseKind::Laplace)) => {
            return Err(Refusal::new(
                "noise = LAPLACE with a rho is not supported",
                "use epsilon in place of rho, or leave noise out: a rho buys Gaussian noise",
            ));
        }
        (Loss::Approximate { .. }, Some(NoiseKind::Gaussian)) => (false, true),
        (Loss::Approximate { .. }, None) => (true, true),
        _ => (true, false),
    };
    let mut plans = Vec::new();
    let mut add = |strategy, currency: Result<Loss, Refusal>| match currency {
        Ok(currency) => {
            plans.push(BudgetUse { currency, strategy, selection_shares: None });
            Ok(())
        }
        // Then the plan is at the query's own loss.
        Err(_) if plain => Ok(()),
        Err(refusal) => Err(refusal),
    };
    let Groups::Private { strategy, known_threshold, weight, .. } = query.groups() else {
        if plain {
            add(None, Ok(query.loss()))?;
        }
        if converted {
            add(None, as_gaussian(query, None))?;
        }
        return Ok(plans);
    };
    let by_pieces = query.chooses_by_pieces();
    let fits = |s: Strategy| {
        (known_threshold.is_none() || s.gives_count())
            && (!by_pieces || s == Strategy::GaussianThreshold)
            // A weight asks for a share that it does not have.
            && (s.is_by_itself() || weight.is_none() && deciding_count(query).is_some())
    };
    // Its noisy counts would be of the other kind.
    let counts = query.measurements().iter().any(|m| m.measure == Measure::Units);
    let unwanted = |s: Strategy| {
        let other = match query.noise() {
            Some(NoiseKind::Laplace) => is_gaussian(s),
            Some(NoiseKind::Gaussian) => !is_gaussian(s),
            None => false,
        };
        other && counts && !by_pieces && s.gives_count()
    };
    if let Some(named) = strategy {
        check(query, named, fits(named))?;
    }
    // Where units are in one group, single votes are OPTIMAL by another name.
    let same = |s| s == Strategy::SingleVote && query.max_groups_contributed() == 1;
    let strategies: Vec<Strategy> = match strategy {
        Some(named) => vec![named],
        None => {
            Strategy::ALL.into_iter().filter(|&s| fits(s) && !unwanted(s) && !same(s)).collect()
        }
    };
    if plain {
        for &strategy in &strategies {
            add(Some(strategy), Ok(query.loss()))?;
        }
    }
    if converted {
        // Under a converted loss all noise is Gaussian, as that composes exactly.
        for strategy in strategies.into_iter().filter(|strategy| is_gaussian(*strategy)) {
            if let Some(shares) = delta_shares(query, strategy).first() {
                add(Some(strategy), as_gaussian(query, Some((strategy, *shares))))?;
            }
        }
    }
    Ok(plans)
}

/// Refuses a strategy that the query names, where it cannot serve the query.
fn check(query: &PrivateQuery, named: Strategy, fits: bool) -> Result<(), Refusal> {
    if !fits && query.chooses_by_pieces() {
        return Err(Refusal::new(
            format!("group_selection_by = PIECES with {named} is not supported"),
            "use group_selection_strategy = GAUSSIAN_THRESHOLD, or leave it out: its loss is \
             known for records of many pieces",
        ));
    }
    let gaussian_in_epsilon =
        query.noise() == Some(NoiseKind::Gaussian) && query.loss().rho().is_none();
    if gaussian_in_epsilon && !is_gaussian(named) {
        return Err(Refusal::new(
            format!("noise = GAUSSIAN with an epsilon and {named} is not supported"),
            "use group_selection_strategy = GAUSSIAN_THRESHOLD, WEIGHTED_GAUSSIAN, SIPS \
             or MEASURED_COUNT, or leave it out",
        ));
    }
    if !fits && !named.is_by_itself() && deciding_count(query).is_none() {
        return Err(no_deciding_count());
    }
    let weighted = matches!(query.groups(), Groups::Private { weight: Some(_), .. });
    if weighted && !named.is_by_itself() {
        return Err(Refusal::new(
            format!("group_selection_weight with {named} is not supported: it has no share"),
            "leave group_selection_weight out; weight => 2 in COUNT(*) gives the count more",
        ));
    }
    if !fits {
        return Err(Refusal::new(
            format!("known_groups_threshold needs a noisy count of units, but {named} has none"),
            "use group_selection_strategy = TRUNCATED_GEOMETRIC, LAPLACE_THRESHOLD or \
             GAUSSIAN_THRESHOLD; or HAVING COUNT(DISTINCT unit) >= the threshold",
        ));
    }
    Ok(())
}
