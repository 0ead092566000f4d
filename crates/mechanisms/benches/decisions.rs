//! Time of one decision about a group, and of one randomised response, in nanoseconds.
//!
//! `cargo bench -p hushtable-mechanisms`. Each number is the median of several batches. Counts of
//! units are mixed, as those of a table's groups are; the table of bounds is in the cache.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use hushtable_mechanisms::{Optimal, RandomisedResponse};
use hushtable_noise::{EntropyError, Generator};

const RUNS: usize = 25;
const BATCH: usize = 20_000;

/// The median time of one of a batch over the runs, in nanoseconds.
fn time<E>(mut batch: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        batch()?;
        times.push(start.elapsed().as_nanos() as f64 / BATCH as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(RUNS / 2).copied().unwrap_or(f64::NAN))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut g = Generator::from_os()?;
    for (epsilon, delta) in [("1", "1e-5"), ("0.1", "1e-8"), ("0.01", "1e-9")] {
        let optimal = Optimal::new(epsilon.parse()?, delta.parse()?)?;
        // Counts around the one at which half of the groups appear, in a random order.
        let half = (1..1u64 << 20).find(|n| optimal.keep_probability(*n) > 0.5).unwrap_or(1);
        let mut units = vec![0u64; BATCH];
        g.fill_u64(&mut units)?;
        units.iter_mut().for_each(|n| *n = *n % half * 2);
        let mut decisions = vec![false; BATCH];
        let all = time(|| optimal.decide_all(&units, black_box(&mut decisions), &mut g))?;
        println!("pi_opt at ({epsilon}, {delta}), half at {half}, all{all:>12.1} ns");
        let one = time(|| {
            for units in &units {
                black_box(optimal.decide(*units, &mut g)?);
            }
            Ok::<(), EntropyError>(())
        })?;
        println!("pi_opt at ({epsilon}, {delta}), half at {half}, one{one:>12.1} ns");
    }
    for categories in [2, 10, 1000] {
        let response = RandomisedResponse::new("1".parse()?, categories)?;
        let values = vec![1; BATCH];
        let mut answers = vec![0; BATCH];
        let all = time(|| response.respond_all(&values, black_box(&mut answers), &mut g))?;
        println!("randomised response of {categories}, all{all:>12.1} ns");
    }
    Ok(())
}
