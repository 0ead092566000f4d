//! `hushtable calc selection`.

use hushtable::mechanisms::{MechanismError, Reach, Selection, Strategy};
use hushtable::privacy::{Delta, Epsilon, Loss, Neighbouring};

use crate::arguments::{SelectionArguments, SelectionStrategy};
use crate::failure::Failure;
use crate::given_numbers::{amount, refuse, whole};
use crate::render::calc::{CalcReport, KeepChance};

/// Most groups of one unit that are calculated with.
const MOST_GROUPS: u64 = 1_000_000_000;

/// Counts up to here are whole numbers to every reader of JSON.
const MOST_UNITS: u64 = 1 << 53;

pub(super) fn report(arguments: &SelectionArguments) -> Result<CalcReport, Failure> {
    let epsilon: Epsilon = amount("epsilon", &arguments.epsilon, "1")?;
    if epsilon.is_zero() {
        let range = "a number above 0, at most 1000000";
        return Err(refuse("epsilon", &arguments.epsilon, range, "1"));
    }
    let delta: Delta = amount("delta", &arguments.delta, "1e-6")?;
    if delta.is_zero() {
        return Err(refuse("delta", &arguments.delta, "a number above 0 and below 1", "1e-6"));
    }
    let groups = whole("max-groups", &arguments.max_groups, 1..=MOST_GROUPS, "3")?;
    let units: Vec<u64> = arguments
        .units
        .iter()
        .map(|text| whole("units", text, 0..=MOST_UNITS, "1,10,20"))
        .collect::<Result<_, _>>()?;

    let loss = Loss::Approximate { epsilon, delta };
    let reach = Reach { groups, neighbouring: Neighbouring::AddRemove };
    let selection = match arguments.strategy {
        Some(strategy) => Selection::new(named(strategy), loss, reach),
        None => Selection::of_smallest_groups(loss, reach),
    };
    let selection = selection.map_err(|error| cannot(error, epsilon, delta, groups))?;
    Ok(CalcReport::Selection {
        strategy: name(selection.strategy()),
        epsilon,
        delta,
        groups,
        by_weight: selection.strategy().by_membership(),
        threshold: selection.threshold(),
        keep: units
            .into_iter()
            .map(|units| KeepChance { units, probability: selection.keep_probability(units) })
            .collect(),
    })
}

fn named(strategy: SelectionStrategy) -> Strategy {
    match strategy {
        SelectionStrategy::Optimal => Strategy::Optimal,
        SelectionStrategy::TruncatedGeometric => Strategy::TruncatedGeometric,
        SelectionStrategy::Laplace => Strategy::LaplaceThreshold,
        SelectionStrategy::Gaussian => Strategy::GaussianThreshold,
        SelectionStrategy::WeightedGaussian => Strategy::WeightedGaussian,
        SelectionStrategy::Sips => Strategy::Sips,
        SelectionStrategy::SingleVote => Strategy::SingleVote,
    }
}

fn name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Optimal => "optimal",
        Strategy::TruncatedGeometric => "truncated-geometric",
        Strategy::LaplaceThreshold => "laplace",
        Strategy::GaussianThreshold => "gaussian",
        Strategy::WeightedGaussian => "weighted-gaussian",
        Strategy::Sips => "sips",
        Strategy::SingleVote => "single-vote",
        Strategy::MeasuredCount => "measured-count",
    }
}

fn cannot(error: MechanismError, epsilon: Epsilon, delta: Delta, groups: u64) -> Failure {
    Failure::new(
        format!(
            "epsilon = {epsilon}, delta = {delta} is too little for a selection with up to \
             {groups} groups per unit: {error}"
        ),
        "raise --epsilon or --delta, lower --max-groups, or choose another --strategy; shares \
         of epsilon below 1e-12 and of delta below 1e-18 are zero",
    )
}
