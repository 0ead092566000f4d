//! Experiments of Desfontaines, Voss, Gipson & Mandayam 2022, *Differentially private partition
//! selection* (PS): its Figures 1 to 4, with the engine's strategies beside the paper's in the
//! last.
//!
//! The paper's curves are the mechanisms themselves: probabilities are computed, and nothing is
//! drawn.

use std::fmt::Display;

use hushtable_mechanisms::{CountThreshold, MechanismError, Optimal, Reach, Selection, Strategy};
use hushtable_numbers::search::least_whole;
use hushtable_plot::Axis;
use hushtable_privacy::{
    Delta, Epsilon, Loss, Neighbouring, analytic_gaussian_mu, normal_quantile,
};

use self::policy_gaussian::PolicyGaussian;
use crate::curves::{Curve, Grid, figure, linear};
use crate::figure::{ExperimentError, Figure, logarithmic};

mod policy_gaussian;

/// The probabilities at which strategies are compared: the midpoint, and the ends of what the paper
/// shows.
const PERCENTILES: [(f64, &str); 3] = [(0.5, "50"), (0.05, "5"), (0.95, "95")];

/// The paper's delta of Figures 2 and 4.
const DELTA: &str = "1e-5";

/// All figures. Nothing in them is random.
///
/// # Errors
/// Only by a mistake in the experiment.
pub fn figures() -> Result<Vec<Figure>, ExperimentError> {
    let exponents = |from: i32, to: i32, steps: i32| {
        let at = move |i| f64::from(from) + f64::from((to - from) * i) / f64::from(steps);
        (0..=steps).map(move |i| 10f64.powf(at(i)))
    };
    let epsilons: Vec<f64> = exponents(-2, 1, 45).collect();
    let deltas: Vec<f64> = exponents(-15, -1, 56).collect();
    let groups: Vec<u64> = (1..=10).chain([12, 15, 20, 25, 30, 40, 50, 70, 100]).collect();
    Ok(vec![
        figure_1("1", DELTA, 26)?,
        figure_1("0.1", "1e-10", 500)?,
        figure_2(&epsilons)?,
        figure_3("0.1", &deltas)?,
        figure_3("1", &deltas)?,
        figure_4(&groups)?,
    ])
}

/// PS Figure 1: the probability that a group appears, by its number of units.
fn figure_1(epsilon: &str, delta: &str, most: u64) -> Result<Figure, ExperimentError> {
    let pair = Pair::new(epsilon.parse()?, delta.parse()?)?;
    let step = (most / 250).max(1);
    let units: Vec<u64> = (0..=most).step_by(step as usize).collect();
    let values = units.iter().map(|&n| n as f64).collect();
    let grid = Grid { axis: linear("units of the group"), column: "units", values };
    let curves = [
        Curve::ours("optimal", "optimal", units.iter().map(|&n| Some(pair.optimal(n)))),
        Curve::other("Laplace threshold", "laplace", units.iter().map(|&n| Some(pair.laplace(n)))),
    ];
    let title = format!("Which groups appear: epsilon = {epsilon}, delta = {delta}");
    let name = format!("partition-selection-figure-1-epsilon-{epsilon}");
    Ok(figure(&name, &title, &grid, linear("probability"), &curves))
}

/// PS Figure 2: the numbers of units with which a group appears in 5, 50 and 95 of 100 cases, by
/// epsilon.
fn figure_2(epsilons: &[f64]) -> Result<Figure, ExperimentError> {
    let delta: Delta = DELTA.parse()?;
    let pairs = epsilons.iter().map(|&e| Pair::new(Epsilon::from_f64_down(e)?, delta));
    let title = format!("Units with which a group appears, for delta = {DELTA}");
    percentiles("2", &title, (logarithmic("epsilon"), "epsilon"), epsilons, pairs)
}

/// PS Figure 3: the same by delta.
fn figure_3(epsilon: &str, deltas: &[f64]) -> Result<Figure, ExperimentError> {
    let whole: Epsilon = epsilon.parse()?;
    let pairs = deltas.iter().map(|&d| Pair::new(whole, Delta::from_f64_down(d)?));
    let title = format!("Units with which a group appears, for epsilon = {epsilon}");
    let name = format!("3-epsilon-{epsilon}");
    percentiles(&name, &title, (logarithmic("delta"), "delta"), deltas, pairs)
}

/// PS Figure 4: the number of units with which a group appears in half of all cases, by the number
/// of groups that each unit is in. The paper's curves: epsilon and delta divided by that number,
/// and Gaussian noise with a delta that is split between noise and threshold. Beside them the
/// engine's strategies, and policy Gaussian, which the engine does not have: what it finds, SIPS or
/// votes find, too.
fn figure_4(groups: &[u64]) -> Result<Figure, ExperimentError> {
    let (epsilon, delta): (Epsilon, Delta) = ("1".parse()?, DELTA.parse()?);
    let mut divided: [Vec<Option<f64>>; 2] = [Vec::new(), Vec::new()];
    for &groups in groups {
        let pair = Pair::new(epsilon.share(groups), delta.share(groups))?;
        divided[0].push(Some(least_units(0.5, |n| pair.optimal(n)) as f64));
        divided[1].push(Some(least_units(0.5, |n| pair.laplace(n)) as f64));
    }
    let [optimal, laplace] = divided;
    let gaussian =
        groups.iter().map(|&g| Some(split_gaussian(epsilon.to_f64(), delta.to_f64(), g).ceil()));
    let mut curves = vec![
        Curve::other("paper: optimal, divided", "paper_optimal", optimal),
        Curve::other("paper: Laplace, divided", "paper_laplace", laplace),
        Curve::other("paper: Gaussian, delta split", "paper_gaussian", gaussian),
    ];
    let ours = |strategy: Strategy, alone: bool| {
        let sizes = groups.iter().map(|&groups| {
            let reach = Reach { groups, neighbouring: Neighbouring::AddRemove };
            let made = Selection::new(strategy, Loss::Approximate { epsilon, delta }, reach)?;
            Ok(Some(if alone { made.half_size_alone() } else { made.half_size() } as f64))
        });
        sizes.collect::<Result<Vec<Option<f64>>, MechanismError>>()
    };
    for strategy in Strategy::ALL.into_iter().filter(|strategy| strategy.is_by_itself()) {
        let name = strategy.to_string();
        let column = name.to_lowercase();
        curves.push(Curve::ours(&name, &column, ours(strategy, false)?));
        if matches!(strategy, Strategy::Sips | Strategy::SingleVote) {
            let (name, column) =
                (format!("{name}, others shown"), format!("{column}_others_shown"));
            curves.push(Curve::ours(&name, &column, ours(strategy, true)?));
        }
    }
    for (others_appear, name, column) in [
        (false, "policy Gaussian", "policy_gaussian"),
        (true, "policy Gaussian, others shown", "policy_gaussian_others_shown"),
    ] {
        let sizes = groups.iter().map(|&groups| {
            let policy = PolicyGaussian::new(Loss::Approximate { epsilon, delta }, groups)?;
            Ok(Some(policy.half_size(others_appear) as f64))
        });
        let sizes = sizes.collect::<Result<Vec<Option<f64>>, MechanismError>>()?;
        curves.push(Curve::other(name, column, sizes));
    }
    let values = groups.iter().map(|&g| g as f64).collect();
    let grid = Grid { axis: logarithmic("groups of each unit"), column: "groups", values };
    let title =
        format!("Units with which a group appears half of the time: epsilon = 1, delta = {DELTA}");
    let y = logarithmic("units of the group");
    Ok(figure("partition-selection-figure-4", &title, &grid, y, &curves))
}

/// The two strategies of PS Figures 1 to 3.
struct Pair {
    optimal: Optimal,
    laplace: CountThreshold,
}

impl Pair {
    fn new(epsilon: Epsilon, delta: Delta) -> Result<Self, ExperimentError> {
        let optimal = Optimal::new(epsilon, delta)?;
        Ok(Self { optimal, laplace: CountThreshold::laplace(epsilon, delta)? })
    }

    fn optimal(&self, units: u64) -> f64 {
        self.optimal.keep_probability(units)
    }

    fn laplace(&self, units: u64) -> f64 {
        self.laplace.keep_probability(units)
    }
}

/// A figure of the percentiles of both strategies.
fn percentiles(
    name: &str,
    title: &str,
    (axis, column): (Axis, &'static str),
    values: &[f64],
    pairs: impl Iterator<Item = Result<Pair, ExperimentError>>,
) -> Result<Figure, ExperimentError> {
    let pairs: Vec<Pair> = pairs.collect::<Result<_, _>>()?;
    let curve = |strategy: &dyn Display, column: &str, (p, percent): (f64, &str), of: Keep| {
        let sizes = pairs.iter().map(|pair| Some(least_units(p, |n| of(pair, n)) as f64));
        let (name, column) =
            (format!("{strategy}, {percent} %"), format!("{column}_{percent}_percent"));
        let styled = if p == 0.5 { Curve::ours } else { Curve::other };
        styled(&name, &column, sizes.collect::<Vec<_>>())
    };
    let mut curves = Vec::new();
    for percentile in PERCENTILES {
        curves.push(curve(&"optimal", "optimal", percentile, Pair::optimal));
        curves.push(curve(&"Laplace threshold", "laplace", percentile, Pair::laplace));
    }
    let grid = Grid { axis, column, values: values.to_vec() };
    let name = format!("partition-selection-figure-{name}");
    Ok(figure(&name, title, &grid, logarithmic("units of the group"), &curves))
}

/// The probability that a group of that many units appears.
type Keep = fn(&Pair, u64) -> f64;

/// The least number of units with which a group appears with probability `p` or more.
fn least_units(p: f64, keep: impl Fn(u64) -> f64) -> u64 {
    let most = 1 << 62;
    least_whole(0, 1, most, |units| keep(units) >= p).unwrap_or(most)
}

/// The midpoint of Gaussian thresholding as the paper has it: of all ways to split delta between
/// noise and threshold, in thousandths, the one with the lowest threshold (PS 3.3).
fn split_gaussian(epsilon: f64, delta: f64, groups: u64) -> f64 {
    let groups = groups as f64;
    let threshold = |thousandths: u32| {
        let share = f64::from(thousandths) / 1000.0;
        let sigma = groups.sqrt() / analytic_gaussian_mu(epsilon, delta * share);
        let one = -((-delta * (1.0 - share)).ln_1p() / groups).exp_m1();
        1.0 + sigma * normal_quantile(one)
    };
    (1..1000).map(threshold).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests;
