//! Neighbouring tables, and how far a bounded contribution moves them apart.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which pairs of tables must be hard to tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neighbouring {
    /// One privacy unit with all its rows is added or removed.
    #[default]
    AddRemove,
    /// One privacy unit's rows are replaced by another's ("bounded" differential privacy).
    Replace,
}

impl fmt::Display for Neighbouring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AddRemove => "add_remove",
            Self::Replace => "replace",
        })
    }
}

/// The effect of one privacy unit on a vector of group sums, after bounding: it enters at most
/// `groups` groups and adds to each an integer from `low` to `high`, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Contribution {
    /// Most groups that one unit enters.
    pub groups: u32,
    /// Whether there is only one group, so that a unit and its replacement meet in it.
    pub single_group: bool,
    /// Least contribution to a group it enters, in lattice units.
    pub low: i64,
    /// Greatest contribution to a group it enters, in lattice units.
    pub high: i64,
}

impl Contribution {
    /// Greatest change of a group's sum when a unit enters or leaves it.
    fn alone(self) -> u128 {
        u128::from(self.low.unsigned_abs().max(self.high.unsigned_abs()))
    }

    /// Greatest change of a group's sum when a unit in it is replaced by another in it.
    fn swapped(self) -> u128 {
        let spread = i128::from(self.high) - i128::from(self.low);
        spread.unsigned_abs().max(self.alone())
    }

    /// The l1 sensitivity in lattice units. Under `replace` a unit leaves up to `groups` groups
    /// and its replacement enters up to as many (theory section 1).
    pub fn l1(self, relation: Neighbouring) -> u128 {
        let groups = u128::from(self.groups);
        match relation {
            Neighbouring::AddRemove => groups * self.alone(),
            Neighbouring::Replace if self.single_group => self.swapped(),
            // A shared group changes by at most high - low, which is at most twice the larger.
            Neighbouring::Replace => groups * 2 * self.alone(),
        }
    }

    /// The square of the l2 sensitivity in lattice units squared; `None` if it does not fit.
    pub fn l2_squared(self, relation: Neighbouring) -> Option<u128> {
        let groups = u128::from(self.groups);
        let alone = self.alone().checked_mul(self.alone())?;
        let swapped = self.swapped().checked_mul(self.swapped())?;
        match relation {
            Neighbouring::AddRemove => groups.checked_mul(alone),
            Neighbouring::Replace if self.single_group => Some(swapped),
            // Each of the unit's groups is either left behind (and another entered) or shared.
            Neighbouring::Replace => groups.checked_mul(swapped.max(alone.checked_mul(2)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest l1 and squared l2 distance between the histograms of two units (or of a unit
    /// and none), by trying every pair over `cells` groups.
    fn brute(c: Contribution, relation: Neighbouring, cells: u32) -> (u128, u128) {
        // One unit: each cell holds "absent" or a value from low to high, at most `groups` present.
        let mut units = vec![vec![]];
        for _ in 0..cells {
            units = units
                .into_iter()
                .flat_map(|u: Vec<Option<i64>>| {
                    std::iter::once(None).chain((c.low..=c.high).map(Some)).map(move |v| {
                        let mut next = u.clone();
                        next.push(v);
                        next
                    })
                })
                .filter(|u| u.iter().flatten().count() <= c.groups as usize)
                .collect();
        }
        let empty = vec![None; cells as usize];
        let others = match relation {
            Neighbouring::AddRemove => vec![empty],
            Neighbouring::Replace => units.clone(),
        };
        let mut worst = (0, 0);
        for a in &units {
            for b in &others {
                let d = a
                    .iter()
                    .zip(b)
                    .map(|(x, y)| u128::from((x.unwrap_or(0) - y.unwrap_or(0)).unsigned_abs()));
                worst.0 = worst.0.max(d.clone().sum());
                worst.1 = worst.1.max(d.map(|x| x * x).sum());
            }
        }
        worst
    }

    #[test]
    fn sensitivities_are_the_worst_case_exactly() {
        for relation in [Neighbouring::AddRemove, Neighbouring::Replace] {
            for (low, high) in [(0, 1), (0, 2), (-1, 2), (1, 2), (-2, -1), (0, 0)] {
                for groups in 1..=2 {
                    let single = Contribution { groups: 1, single_group: true, low, high };
                    let several = Contribution { groups, single_group: false, low, high };
                    for (c, cells) in [(single, 1), (several, 2 * groups)] {
                        let want = brute(c, relation, cells);
                        let got = (c.l1(relation), c.l2_squared(relation).unwrap());
                        assert_eq!(got, want, "{c:?} {relation}");
                    }
                }
            }
        }
    }
}
