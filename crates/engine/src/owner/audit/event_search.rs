//! The search for an event that distinguishes two tables, and the epsilon that it shows.
//!
//! A quarter of the runs learns how often groups appear, a quarter picks the event, and only the
//! other runs judge it: so the bounds hold whatever was picked.

use hushtable_noise::Generator;
use hushtable_privacy::{
    epsilon_at_least, normal_quantile, probability_at_least, probability_at_most,
};

use super::pair::RunOutput;
use super::statistics::{Statistic, Statistics};
use crate::error::EngineError;
use crate::source::ReadProgress;

/// Most runs on each table that learn, and that pick.
const MOST_TO_PICK: u64 = 250_000;

/// One run on a table.
pub(crate) type Sampler<'a> = &'a (dyn Fn(&mut Generator) -> Result<RunOutput, EngineError> + Sync);

/// A comparison of two tables.
pub(crate) struct AuditTrial<'a> {
    /// The two tables.
    pub(crate) samplers: [Sampler<'a>; 2],
    /// Runs on each, 8 or more.
    pub(crate) runs: u64,
    /// The delta at which epsilon is compared.
    pub(crate) delta: f64,
    /// The probability with which the bound on epsilon may be wrong.
    pub(crate) error: f64,
}

/// A set of outputs: those whose statistic is at least, or at most, a threshold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputEvent {
    pub(crate) statistic: Statistic,
    /// At least the threshold; else at most.
    pub(crate) upper: bool,
    pub(crate) threshold: f64,
    /// The table on which it is more likely.
    pub(crate) likely: usize,
}

impl OutputEvent {
    fn holds(&self, value: f64) -> bool {
        if self.upper { value >= self.threshold } else { value <= self.threshold }
    }
}

/// An event, and the bounds that its frequencies show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundEvent {
    pub(crate) event: OutputEvent,
    /// Lower bound of its probability on the table on which it is more likely.
    pub(crate) at_least: f64,
    /// Upper bound of its probability on the other.
    pub(crate) at_most: f64,
    /// Lower bound of epsilon.
    pub(crate) epsilon: f64,
}

/// Runs both tables and finds the event that distinguishes them best.
///
/// # Errors
/// When a run fails.
pub(crate) fn search(
    trial: &AuditTrial<'_>,
    statistics: &mut Statistics,
    generators: &mut [Generator],
    progress: &ReadProgress,
) -> Result<FoundEvent, EngineError> {
    let picking = (trial.runs / 4).min(MOST_TO_PICK);
    let judging = trial.runs - 2 * picking;
    let [first, second] = trial.samplers;

    let groups = statistics.groups();
    let mut appearances = |sampler: Sampler<'_>| {
        let make = || vec![0u64; groups];
        let count = |counts: &mut Vec<u64>, output: RunOutput| {
            for group in output.groups {
                if let Some(count) = counts.get_mut(group) {
                    *count += 1;
                }
            }
        };
        let counts = collect_runs(sampler, picking, generators, progress, make, count)?;
        let sum = |group| counts.iter().filter_map(|p| p.get(group)).sum::<u64>();
        Ok::<_, EngineError>((0..groups).map(sum).collect::<Vec<u64>>())
    };
    let (on_first, on_second) = (appearances(first)?, appearances(second)?);
    statistics.learn([&on_first, &on_second], picking);

    let known = &*statistics;
    let mut values = |sampler: Sampler<'_>| {
        let make = || vec![Vec::new(); known.all().len()];
        let keep = |columns: &mut Vec<Vec<f64>>, output: RunOutput| {
            for (column, value) in columns.iter_mut().zip(known.of(&output)) {
                column.push(value);
            }
        };
        let collected = collect_runs(sampler, picking, generators, progress, make, keep)?;
        let mut columns: Vec<Vec<f64>> = make();
        for columns_of_one in collected {
            columns.iter_mut().zip(columns_of_one).for_each(|(column, more)| column.extend(more));
        }
        columns.iter_mut().for_each(|column| column.sort_unstable_by(f64::total_cmp));
        Ok::<_, EngineError>(columns)
    };
    let event = best_event(known.all(), &[values(first)?, values(second)?], trial);

    let mut happened = |sampler: Sampler<'_>| {
        let count = |count: &mut u64, output: RunOutput| {
            *count += u64::from(event.holds(known.one(event.statistic, &output)));
        };
        let collected = collect_runs(sampler, judging, generators, progress, || 0u64, count)?;
        Ok::<_, EngineError>(collected.iter().sum::<u64>())
    };
    let mut counts = [happened(first)?, happened(second)?];
    if event.likely == 1 {
        counts.reverse();
    }
    let at_least = probability_at_least(counts[0], judging, 0.5 * trial.error);
    let at_most = probability_at_most(counts[1], judging, 0.5 * trial.error);
    let epsilon = epsilon_at_least(at_least, at_most, trial.delta);
    Ok(FoundEvent { event, at_least, at_most, epsilon })
}

/// The event with the largest bound on epsilon, by bounds that are only about right.
fn best_event(
    statistics: &[Statistic],
    values: &[Vec<Vec<f64>>; 2],
    trial: &AuditTrial<'_>,
) -> OutputEvent {
    let z = normal_quantile(0.5 * trial.error);
    let any =
        OutputEvent { statistic: Statistic::Everything, upper: true, threshold: 0.0, likely: 0 };
    let mut best = (f64::NEG_INFINITY, any);
    for (index, &statistic) in statistics.iter().enumerate() {
        let (Some(first), Some(second)) = (values[0].get(index), values[1].get(index)) else {
            continue;
        };
        for upper in [true, false] {
            for threshold in thresholds(first, upper).chain(thresholds(second, upper)) {
                let shares = [first, second].map(|sorted| {
                    let below = |v: &f64| v.total_cmp(&threshold).is_lt();
                    let to = |v: &f64| v.total_cmp(&threshold).is_le();
                    let count = match upper {
                        true => sorted.len() - sorted.partition_point(below),
                        false => sorted.partition_point(to),
                    };
                    wilson(count as f64, sorted.len() as f64, z)
                });
                for (likely, other) in [(0, 1), (1, 0)] {
                    let (low, high) = (shares[likely].0 - trial.delta, shares[other].1);
                    // Where nothing is above delta, what comes nearest.
                    let worth = if low > 0.0 { (low / high).ln() } else { low - 1e3 };
                    if worth > best.0 {
                        best = (worth, OutputEvent { statistic, upper, threshold, likely });
                    }
                }
            }
        }
    }
    best.1
}

/// Values with a given number of others above them, or below: few, and then more and more.
fn thresholds(sorted: &[f64], upper: bool) -> impl Iterator<Item = f64> {
    let ranks = std::iter::successors(Some(1usize), |rank| Some(rank + rank.div_ceil(8)));
    ranks.take_while(|rank| *rank <= sorted.len()).filter_map(move |rank| {
        let index = if upper { sorted.len() - rank } else { rank - 1 };
        sorted.get(index).copied()
    })
}

/// Wilson's interval of a probability, at z standard deviations.
fn wilson(count: f64, trials: f64, z: f64) -> (f64, f64) {
    let middle = (count + 0.5 * z * z) / (trials + z * z);
    let half = z / (trials + z * z) * (count * (trials - count) / trials + 0.25 * z * z).sqrt();
    (middle - half, middle + half)
}

/// Runs a table `runs` times, shared between the generators. Each has a thread, and a value from
/// `make` that takes its outputs.
fn collect_runs<T: Send>(
    sampler: Sampler<'_>,
    runs: u64,
    generators: &mut [Generator],
    progress: &ReadProgress,
    make: impl Fn() -> T + Sync,
    take: impl Fn(&mut T, RunOutput) + Sync,
) -> Result<Vec<T>, EngineError> {
    let count = generators.len().max(1) as u64;
    let (make, take) = (&make, &take);
    std::thread::scope(|scope| {
        let threads: Vec<_> = generators
            .iter_mut()
            .zip(0..)
            .map(|(generator, index)| {
                let share = runs / count + u64::from(index < runs % count);
                scope.spawn(move || {
                    let mut results = make();
                    for _ in 0..share {
                        take(&mut results, sampler(generator)?);
                        progress.advance(1);
                    }
                    Ok(results)
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(results) => results,
            // A thread stops only where memory does, and then the whole must stop, too.
            Err(cause) => std::panic::resume_unwind(cause),
        });
        joined.collect()
    })
}
