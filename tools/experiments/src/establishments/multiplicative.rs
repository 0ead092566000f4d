//! Evans, Zayatz & Slanta's multiplicative noise (1996, 1998), as statistical agencies have used
//! it. It has no formal guarantee.
//!
//! Every establishment's sizes are multiplied by a factor that is near 1 + 0.1 or near 1 - 0.1,
//! never near 1; all of a firm's establishments are moved in the same direction, and all sizes of
//! an establishment by the same factor. Sums of many establishments have errors that cancel; what a
//! single firm makes up is off by about a tenth. Counts are published as they are. Agencies keep
//! their interval secret: the one here is ours.

use super::made_up::Establishment;
use crate::Draws;

/// By how much factors differ from one: least and most, uniformly between.
pub(super) const FACTORS: [f64; 2] = [0.05, 0.15];

/// The factor of every row.
pub(super) fn factors(rows: &[Establishment], seed: u64) -> Vec<f64> {
    // Other draws than those that the rows came from.
    let mut draws = Draws::new(!seed);
    let firms = rows.iter().map(|row| row.owner as usize + 1).max().unwrap_or(0);
    let signs: Vec<f64> =
        (0..firms).map(|_| if draws.uniform() > 0.5 { 1.0 } else { -1.0 }).collect();
    let [low, high] = FACTORS;
    rows.iter()
        .map(|row| 1.0 + signs[row.owner as usize] * (low + (high - low) * draws.uniform()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{Size, generate};
    use super::*;

    #[test]
    fn firms_move_one_way_and_never_stay() {
        let rows = generate(Size { rows: 20_000, counties: 50 }, 2);
        let factors = factors(&rows, 1);
        let mut signs = vec![0.0; rows.len()];
        for (row, factor) in rows.iter().zip(&factors) {
            let off = factor - 1.0;
            assert!((FACTORS[0]..=FACTORS[1]).contains(&off.abs()), "{factor}");
            let sign = &mut signs[row.owner as usize];
            assert!(*sign == 0.0 || *sign == off.signum(), "two directions of one firm");
            *sign = off.signum();
        }
        // Half of the firms each way: 16,000 firms or so, six standard deviations are 380.
        let up = signs.iter().filter(|s| **s > 0.0).count() as i64;
        let down = signs.iter().filter(|s| **s < 0.0).count() as i64;
        assert!((up - down).abs() < 900, "{up} {down}");
    }
}
