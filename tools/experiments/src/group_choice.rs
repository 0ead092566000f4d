//! Which groups strategies show of a table whose units are in several groups: the engine's beside
//! those of papers.
//!
//! The papers' strategies are simulations in floating point, for comparison alone: weighted
//! Gaussian with adaptive degrees in one round and in two (MAD, MAD2R), and policy Gaussian. Where
//! they could be read in two ways, they are taken in the way that shows more.

mod adaptive_degree;
mod policy_weights;
mod unit_group_pairs;

use hushtable_mechanisms::{Candidates, Reach, Selection, Strategy};
use hushtable_noise::Generator;
use hushtable_privacy::{Delta, Epsilon, Loss, Neighbouring, normal_quantile, normal_tail};

pub use self::unit_group_pairs::{PairError, Pairs};
use crate::draws::Draws;
use crate::figure::ExperimentError;

/// The groups of a table that a strategy shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupsOfStrategy {
    /// The expected number of groups.
    pub groups: f64,
    /// The expected share of pairs whose group is hidden.
    pub missing: f64,
}

impl GroupsOfStrategy {
    /// The groups that are shown where they appear with these chances.
    fn of(chances: &[f64], pairs: &Pairs) -> Self {
        let hidden = pairs.sizes().iter().zip(chances);
        let hidden = hidden.map(|(&size, chance)| size as f64 * (1.0 - chance)).sum::<f64>();
        Self { groups: chances.iter().sum(), missing: hidden / pairs.len() as f64 }
    }
}

/// A budget for keys alone.
#[derive(Clone, Copy, Debug)]
pub struct KeyBudget {
    /// Its epsilon.
    pub epsilon: Epsilon,
    /// Its delta.
    pub delta: Delta,
}

impl KeyBudget {
    fn selection(self, strategy: Strategy, groups: u64) -> Result<Selection, ExperimentError> {
        let reach = Reach { groups, neighbouring: Neighbouring::AddRemove };
        let Self { epsilon, delta } = self;
        Ok(Selection::new(strategy, Loss::Approximate { epsilon, delta }, reach)?)
    }
}

/// The groups that each strategy shows, by its name; the first is a bound that holds for all, as
/// each group alone is a selection with one group per unit.
///
/// # Errors
/// When a strategy cannot be made at that budget.
pub fn compare(
    pairs: &Pairs,
    budget: KeyBudget,
    most_groups: u64,
    seed: u64,
) -> Result<Vec<(String, GroupsOfStrategy)>, ExperimentError> {
    let sizes = pairs.sizes();
    let alone = budget.selection(Strategy::Optimal, 1)?;
    let bound: Vec<f64> = sizes.iter().map(|&size| alone.keep_probability(size)).collect();
    let mut all = vec![("bound for all".to_owned(), GroupsOfStrategy::of(&bound, pairs))];
    let members = pairs.memberships();
    let units = sizes.to_vec();
    let population = Candidates { units: &units, members: Some(&members), known: &[], counts: &[] };
    for strategy in Strategy::ALL.into_iter().filter(|strategy| strategy.is_by_itself()) {
        let selection = budget.selection(strategy, most_groups)?;
        let chances = match strategy {
            Strategy::WeightedGaussian | Strategy::Sips => appeared(&selection, &population)?,
            _ => selection.chances(&population),
        };
        all.push((strategy.to_string(), GroupsOfStrategy::of(&chances, pairs)));
    }
    let mut draws = Draws::new(seed);
    let one = Rounds::new(budget, most_groups, Strategy::WeightedGaussian, &[1.0])?;
    let two = Rounds::new(budget, most_groups, Strategy::Sips, &adaptive_degree::SHARES)?;
    let others = [
        ("adaptive degrees", adaptive_degree::one_round(pairs, &one)),
        ("adaptive degrees, two rounds", adaptive_degree::two_rounds(pairs, &two, &mut draws)),
        ("policy Gaussian", policy_weights::chances_of(pairs, &one, &mut draws)),
    ];
    let shown =
        others.map(|(name, chances)| (name.to_owned(), GroupsOfStrategy::of(&chances, pairs)));
    all.extend(shown);
    Ok(all)
}

/// One for the groups that appear in a run of the engine's own mechanism, and zero for others.
fn appeared(
    selection: &Selection,
    population: &Candidates<'_>,
) -> Result<Vec<f64>, ExperimentError> {
    let mut chances = vec![0.0; population.units.len()];
    for chosen in selection.choose(population, &mut Generator::from_os()?)? {
        if let Some(chance) = chances.get_mut(chosen.group) {
            *chance = 1.0;
        }
    }
    Ok(chances)
}

/// Noise and threshold of each round.
struct Rounds(Vec<(f64, f64)>);

impl Rounds {
    /// Rounds with these shares of the squared mu of an engine's strategy, and of its whole delta
    /// for what appears: what a joint delta allows nearly.
    fn new(
        budget: KeyBudget,
        most_groups: u64,
        like: Strategy,
        shares: &[f64],
    ) -> Result<Self, ExperimentError> {
        let rounds = budget.selection(like, most_groups)?.rounds();
        let squares: f64 = rounds.iter().map(|(sigma, _)| sigma.powi(-2)).sum();
        let round = |share: &f64| {
            let sigma = (squares * share).sqrt().recip();
            let appear = budget.delta.to_f64() * share;
            let threshold = |groups: u64| {
                let one = -((-appear).ln_1p() / groups as f64).exp_m1();
                (groups as f64).sqrt().recip() + sigma * normal_quantile(one)
            };
            (sigma, threshold(1).max(threshold(most_groups)))
        };
        Ok(Self(shares.iter().map(round).collect()))
    }

    /// Noise and threshold of the last round.
    fn last(&self) -> (f64, f64) {
        self.0.last().copied().unwrap_or((1.0, f64::INFINITY))
    }
}

/// The chances of groups with these weights; those without weight are not there.
fn chances(weights: &[f64], (sigma, threshold): (f64, f64)) -> Vec<f64> {
    let chance = |&weight: &f64| match weight > 0.0 {
        true => normal_tail((threshold - weight) / sigma),
        false => 0.0,
    };
    weights.iter().map(chance).collect()
}

#[cfg(test)]
mod tests;
