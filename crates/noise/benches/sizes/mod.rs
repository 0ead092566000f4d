//! How the time of a draw depends on the size of what is drawn.
//!
//! Every draw is timed alone, by the monotonic clock, from a known seed (so that no draw asks for
//! the process id). The draws are sorted by |x| and cut into four quarters and the largest
//! hundredth. For each, the mean of all but the slowest ten-thousandth of the draws, which the
//! system interrupted, and the median. (The mean holds the draws that began anew and those that had
//! to wait for fresh words.) All figures hold the clock's own time, which is printed; what counts
//! is the difference between quarters.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use hushtable_noise::{
    DiscreteGaussian, DiscreteLaplace, Dyadic, EntropyError, Law, Ratio, Rehearsal, RoundedGaussian,
};

const DRAWS: usize = 2_000_000;

/// The mean of all but the slowest ten-thousandth, and the median.
fn typical(times: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let most = times.len() - times.len() / 10_000;
    let mean = times.iter().take(most).sum::<f64>() / most as f64;
    (mean, times.get(times.len() / 2).copied().unwrap_or(f64::NAN))
}

fn quarters(
    name: &str,
    fill: impl Fn(&mut Rehearsal, &mut [i128]) -> Result<(), EntropyError>,
) -> Result<(), EntropyError> {
    let mut rehearsal = Rehearsal::new(1);
    let mut draws = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let mut draw = [0];
        let start = Instant::now();
        fill(&mut rehearsal, black_box(&mut draw))?;
        let time = start.elapsed().as_nanos() as f64;
        draws.extend(draw.map(|x| (x.unsigned_abs(), time)));
    }
    draws.sort_by_key(|(size, _)| *size);
    let mut columns = Vec::new();
    for chunk in draws.chunks(DRAWS / 4).chain([&draws[DRAWS - DRAWS / 100..]]) {
        let (mean, median) = typical(chunk.iter().map(|(_, time)| *time));
        columns.push(format!("{mean:>7.1} ({median:.0})"));
    }
    println!("{name:<30}{} ns", columns.join(""));
    Ok(())
}

/// Prints the times of three laws.
pub(crate) fn print() -> Result<(), Box<dyn Error>> {
    println!("\ntime of a draw by |x|, mean (median): four quarters, and the largest hundredth");
    quarters("nothing but the clock", |_, _| Ok(()))?;
    for (name, scale) in [("1000", 1000), ("2^30", 1 << 30)] {
        let law = DiscreteLaplace::new(Ratio::new(scale, 1)?);
        quarters(&format!("discrete Laplace {name}"), |r, d| law.rehearse(r, d))?;
        let law = RoundedGaussian::new(Dyadic::new(scale as u64, 0)?);
        quarters(&format!("rounded Gaussian {name}"), |r, d| law.rehearse(r, d))?;
        let law = DiscreteGaussian::new(Dyadic::new((scale * scale) as u64, 0)?);
        quarters(&format!("discrete Gaussian {name}"), |r, d| law.rehearse(r, d))?;
    }
    Ok(())
}
