//! Time of one draw of each sampler, in nanoseconds and in words of the generator.
//!
//! `cargo bench -p hushtable-noise`. Each number is the median of several batches; `one` is a call per
//! draw (which asks the system for the process id each time), `fill` a batch.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use hushtable_noise::{
    Bernoulli, DiscreteGaussian, DiscreteLaplace, Dyadic, EntropyError, Generator, Ratio,
    RoundedGaussian, TruncatedDiscreteLaplace,
};

const RUNS: usize = 15;
const BATCH: usize = 20_000;

/// The median time of a draw over the runs, in nanoseconds.
fn time(mut batch: impl FnMut() -> Result<(), EntropyError>) -> Result<f64, EntropyError> {
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
    let mut words = vec![0u64; BATCH];
    let mut draws = vec![0i128; BATCH];

    let word = time(|| g.fill_u64(black_box(&mut words)))?;
    let print = |name: &str, nanoseconds: f64| {
        println!("{name:<44}{nanoseconds:>9.1} ns{:>9.1} words", nanoseconds / word);
    };
    print("u64, fill", word);
    let single = time(|| {
        for _ in 0..BATCH {
            black_box(g.next_u64()?);
        }
        Ok(())
    })?;
    print("u64, one", single);

    let coins = [
        ("Bernoulli f64 0.3", Bernoulli::from_f64(0.3)?),
        ("Bernoulli 1/3", Bernoulli::from_ratio(1, 3)?),
        ("Bernoulli e^-1/3", Bernoulli::exp_minus(1, 3)?),
    ];
    for (name, coin) in coins {
        let one = time(|| {
            for _ in 0..BATCH {
                black_box(coin.sample(&mut g)?);
            }
            Ok(())
        })?;
        print(&format!("{name}, one"), one);
    }

    for (name, scale) in [
        ("1", Ratio::new(1, 1)?),
        ("10", Ratio::new(10, 1)?),
        ("1000", Ratio::new(1000, 1)?),
        ("1/1000", Ratio::new(1, 1000)?),
        ("10/3", Ratio::new(10, 3)?),
        ("2^30", Ratio::new(1 << 30, 1)?),
        ("2^102", Ratio::new(1 << 102, 1)?),
        ("(2^102 + 1) / 2^64", Ratio::new((1 << 102) + 1, 1 << 64)?),
    ] {
        let law = DiscreteLaplace::new(scale);
        print(
            &format!("discrete Laplace {name}, fill"),
            time(|| law.fill(&mut g, black_box(&mut draws)))?,
        );
        let one = time(|| {
            for _ in 0..BATCH {
                black_box(law.sample(&mut g)?);
            }
            Ok(())
        })?;
        print(&format!("discrete Laplace {name}, one"), one);
        let law = TruncatedDiscreteLaplace::new(scale, 20);
        print(
            &format!("truncated at 20, {name}, fill"),
            time(|| law.fill(&mut g, black_box(&mut draws)))?,
        );
    }

    for (name, sigma) in [
        ("1", Dyadic::new(1, 0)?),
        ("10", Dyadic::new(10, 0)?),
        ("1000", Dyadic::new(1000, 0)?),
        ("0.1", Dyadic::at_least(0.1)?),
        ("2^30", Dyadic::new(1, 30)?),
        ("2^100", Dyadic::new(1, 100)?),
    ] {
        let law = RoundedGaussian::new(sigma);
        print(
            &format!("rounded Gaussian {name}, fill"),
            time(|| law.fill(&mut g, black_box(&mut draws)))?,
        );
        let one = time(|| {
            for _ in 0..BATCH {
                black_box(law.sample(&mut g)?);
            }
            Ok(())
        })?;
        print(&format!("rounded Gaussian {name}, one"), one);
    }
    for (name, sigma_squared) in [
        ("1", Dyadic::new(1, 0)?),
        ("10", Dyadic::new(100, 0)?),
        ("63", Dyadic::new(63 * 63, 0)?),
        ("64", Dyadic::new(64 * 64, 0)?),
        ("1000", Dyadic::new(1_000_000, 0)?),
        ("0.1", Dyadic::at_least(0.01)?),
        ("2^30", Dyadic::new(1, 60)?),
        ("2^40", Dyadic::new(1, 80)?),
        ("2^50", Dyadic::new(1, 100)?),
    ] {
        let start = Instant::now();
        for _ in 0..100 {
            black_box(DiscreteGaussian::new(black_box(sigma_squared)));
        }
        print(&format!("discrete Gaussian {name}, new"), start.elapsed().as_nanos() as f64 / 100.0);
        let law = DiscreteGaussian::new(sigma_squared);
        print(
            &format!("discrete Gaussian {name}, fill"),
            time(|| law.fill(&mut g, black_box(&mut draws)))?,
        );
    }
    Ok(())
}
