//! How long guarantees take, and how far above the true ones they are.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::time::Instant;

use hushtable_knowledge::{
    Count, CountAboveWithin, CountNoise, CountWithin, Histogram, Probability, ProbabilityRange,
    Profile, least_epsilon,
};

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn timed(what: &str, run: impl FnOnce() -> String) {
    let start = Instant::now();
    let result = run();
    println!("{:8.3} s  {what}: {result}", start.elapsed().as_secs_f64());
}

fn main() {
    let hundred = Profile::new((1..=100).map(|i| (10_000, p(f64::from(i) / 101.0)))).unwrap();
    timed("1,000,000 records with 100 probabilities", || {
        let count = Count::new(&hundred, None).unwrap();
        let deltas: Vec<f64> = [0.0, 0.01, 0.02, 0.025].map(|e| count.delta(e)).to_vec();
        format!("{deltas:?}")
    });
    timed("the same, epsilon at 1e-9", || {
        let count = Count::new(&hundred, None).unwrap();
        format!("{:?}", least_epsilon(1e-9, |e| count.delta(e)))
    });
    timed("100 nearly alike, beside one of 1,000,000", || {
        let one = Count::new(&Profile::new([(1_000_000, p(0.3))]).unwrap(), None).unwrap();
        let near = (0..100u32).map(|i| (10_000, p(0.3 + f64::from(i) * 1e-16)));
        let near = Count::new(&Profile::new(near).unwrap(), None).unwrap();
        let apart =
            [0.0, 0.01, 0.02, 0.025].map(|e| (one.delta(e), near.delta(e) / one.delta(e) - 1.0));
        format!("{apart:?}")
    });
    timed("1,000,000 with 100, discrete Gaussian noise", || {
        let noise = CountNoise::discrete_gaussian(10_000.0).unwrap();
        format!("{:?}", Count::new(&hundred, Some(noise)).map(|c| c.delta(0.01)))
    });
    for (others, low, high, epsilon) in [
        (1_000, 0.05, 0.95, 1.0),
        (10_000, 0.05, 0.95, 0.3),
        (10_000, 0.4, 0.6, 0.1),
        (10_000, 0.499, 0.501, 0.1),
        (10_000, 0.0001, 0.3, 1.0),
        (100_000, 0.05, 0.95, 0.1),
        (1_000_000, 0.05, 0.95, 0.03),
    ] {
        let between = ProbabilityRange::new(p(low), p(high)).unwrap();
        let within = CountWithin::new(others, between, None).unwrap();
        timed(&format!("{others} within {low}..{high} at {epsilon}"), || {
            format!("{:?}", within.worst(epsilon))
        });
        timed("  epsilon at 1e-9", || format!("{:?}", within.epsilon(1e-9)));
    }
    let between = ProbabilityRange::new(p(0.05), p(0.95)).unwrap();
    timed("10,000 within 0.05..0.95 with geometric noise", || {
        let within =
            CountWithin::new(10_000, between, Some(CountNoise::geometric(0.75).unwrap())).unwrap();
        format!("{:?}", within.worst(0.1))
    });
    timed("histogram of 10,000", || {
        let histogram = Histogram::new(10_000, p(0.05), p(0.05)).unwrap();
        format!("{:e} {}", histogram.delta(0.5), histogram.exact())
    });
    timed("histogram of 1,000,000", || {
        let histogram = Histogram::new(1_000_000, p(0.05), p(0.05)).unwrap();
        format!("{:e} {}", histogram.delta(0.05), histogram.exact())
    });
    for (others, known, high) in
        [(10_000, 10, 0.001), (10_000, 500, 0.001), (100_000, 10, 0.0001), (100_000, 10, 0.01)]
    {
        timed(&format!("threshold 30 of {others}, {known} known, up to {high}"), || {
            let between = ProbabilityRange::new(p(0.0), p(high)).unwrap();
            let within = CountAboveWithin::new(
                u64::max(30, (others as f64 * high * 1.5) as u64),
                others,
                known,
                between,
            )
            .unwrap();
            format!("{:?}", within.delta(0.1))
        });
    }
}
