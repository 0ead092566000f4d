//! Time of one draw of each sampler, in nanoseconds and in words of the generator; and how it
//! depends on what is drawn.
//!
//! `cargo bench -p hushtable-noise`. Each number is the median of several batches; `one` is a call
//! per draw (which asks the system for the process id each time), `fill` a batch, `new` making the
//! law.

mod sizes;

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use hushtable_noise::{
    Bernoulli, DiscreteGaussian, DiscreteLaplace, Dyadic, ExponentialPolylogarithmic, Generator,
    Law, Ratio, RoundedGaussian, TruncatedDiscreteLaplace,
};

const RUNS: usize = 15;
const BATCH: usize = 20_000;

/// The median time of a draw over the runs, in nanoseconds.
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

/// The time of one call per draw.
fn one<T, E>(mut draw: impl FnMut() -> Result<T, E>) -> Result<f64, E> {
    time(|| {
        for _ in 0..BATCH {
            black_box(draw()?);
        }
        Ok(())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut g = Generator::from_os()?;
    let mut words = vec![0u64; BATCH];
    let word = time(|| g.fill_u64(black_box(&mut words)))?;
    let print = |name: &str, nanoseconds: f64| {
        println!("{name:<44}{nanoseconds:>9.1} ns{:>9.1} words", nanoseconds / word);
    };
    print("u64, fill", word);
    print("u64, one", one(|| g.next_u64())?);
    coins(&mut g, print)?;
    noise(&mut g, print)?;
    sizes::print()
}

fn coins(g: &mut Generator, print: impl Fn(&str, f64)) -> Result<(), Box<dyn Error>> {
    let mut events = vec![false; BATCH];
    for (name, coin) in [
        ("Bernoulli f64 0.3", Bernoulli::from_f64(0.3)?),
        ("Bernoulli 1/3", Bernoulli::from_ratio(1, 3)?),
        ("Bernoulli e^-1/3", Bernoulli::exp_minus(1, 3)?),
    ] {
        print(&format!("{name}, fill"), time(|| coin.fill(g, black_box(&mut events)))?);
        print(&format!("{name}, one"), one(|| coin.sample(g))?);
    }
    Ok(())
}

fn noise(g: &mut Generator, print: impl Fn(&str, f64)) -> Result<(), Box<dyn Error>> {
    let mut draws = vec![0i128; BATCH];
    for (name, scale) in [
        ("1", Ratio::new(1, 1)?),
        ("10", Ratio::new(10, 1)?),
        ("1000", Ratio::new(1000, 1)?),
        ("1/1000", Ratio::new(1, 1000)?),
        ("10/3", Ratio::new(10, 3)?),
        ("2^30", Ratio::new(1 << 30, 1)?),
        ("2^40", Ratio::new(1 << 40, 1)?),
        ("2^102", Ratio::new(1 << 102, 1)?),
        ("(2^102 + 1) / 2^64", Ratio::new((1 << 102) + 1, 1 << 64)?),
    ] {
        let law = DiscreteLaplace::new(scale);
        let all = time(|| law.fill(g, black_box(&mut draws)))?;
        print(&format!("discrete Laplace {name}, fill"), all);
        print(&format!("discrete Laplace {name}, one"), one(|| law.sample(g))?);
        let law = TruncatedDiscreteLaplace::new(scale, 20);
        let all = time(|| law.fill(g, black_box(&mut draws)))?;
        print(&format!("truncated at 20, {name}, fill"), all);
    }
    for (name, sigma) in [
        ("0.1", Dyadic::at_least(0.1)?),
        ("1", Dyadic::new(1, 0)?),
        ("10", Dyadic::new(10, 0)?),
        ("1000", Dyadic::new(1000, 0)?),
        ("2^30", Dyadic::new(1, 30)?),
        ("2^40", Dyadic::new(1, 40)?),
        ("2^100", Dyadic::new(1, 100)?),
    ] {
        let law = RoundedGaussian::new(sigma);
        let all = time(|| law.fill(g, black_box(&mut draws)))?;
        print(&format!("rounded Gaussian {name}, fill"), all);
        print(&format!("rounded Gaussian {name}, one"), one(|| law.sample(g))?);
    }
    for (name, sigma_squared) in [
        ("0.1", Dyadic::at_least(0.01)?),
        ("1", Dyadic::new(1, 0)?),
        ("10", Dyadic::new(100, 0)?),
        ("1000", Dyadic::new(1_000_000, 0)?),
        ("2^30", Dyadic::new(1, 60)?),
        ("2^40", Dyadic::new(1, 80)?),
    ] {
        let start = Instant::now();
        for _ in 0..100 {
            black_box(DiscreteGaussian::new(black_box(sigma_squared)));
        }
        let new = start.elapsed().as_nanos() as f64 / 100.0;
        print(&format!("discrete Gaussian {name}, new"), new);
        let law = DiscreteGaussian::new(sigma_squared);
        let all = time(|| law.fill(g, black_box(&mut draws)))?;
        print(&format!("discrete Gaussian {name}, fill"), all);
        print(&format!("discrete Gaussian {name}, one"), one(|| law.sample(g))?);
    }
    for (name, d, s) in
        [("1, 1", 1.0, 1.0), ("1, 2^40", 1.0, 2f64.powi(40)), ("1/4, 1000", 0.25, 1e3)]
    {
        let make = || {
            let (d, s) = (Dyadic::at_least(d)?, Dyadic::at_least(s)?);
            ExponentialPolylogarithmic::new(d, Dyadic::new(3, 0)?, s)
        };
        let start = Instant::now();
        for _ in 0..20 {
            black_box(make()?);
        }
        let new = start.elapsed().as_nanos() as f64 / 20.0;
        print(&format!("exponential polylogarithmic {name}, new"), new);
        let law = make()?;
        let all = time(|| law.fill(g, black_box(&mut draws)))?;
        print(&format!("exponential polylogarithmic {name}, fill"), all);
    }
    Ok(())
}
