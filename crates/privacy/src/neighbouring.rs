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
/// `groups` groups and adds to each an integer from `low` to `high`, or nothing. Where rows belong
/// to units of two populations, the effect of one unit of either.
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
    /// The rows of one unit of a further population, where there is one.
    pub beside: Option<RowsBeside>,
}

/// The effect of one unit of a further population on the same sums: it has some rows, each of one
/// bounded unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RowsBeside {
    /// Most rows of one unit.
    pub most: u32,
    /// The greatest l1 distance by which one row moves the sums, in lattice units.
    pub apart: u128,
    /// The square of the greatest l2 distance by which one row does.
    pub apart_squared: u128,
}

impl RowsBeside {
    /// How many rows come or go.
    fn rows(self, relation: Neighbouring) -> u128 {
        let most = u128::from(self.most);
        match relation {
            Neighbouring::AddRemove => most,
            Neighbouring::Replace => 2 * most,
        }
    }

    /// The l1 sensitivity: rows come and go one by one, and distances add up.
    fn l1(self, relation: Neighbouring) -> u128 {
        self.rows(relation).saturating_mul(self.apart)
    }

    /// The square of the l2 sensitivity, likewise: all rows may move one group.
    fn l2_squared(self, relation: Neighbouring) -> Option<u128> {
        let rows = self.rows(relation);
        // The largest number stands for those that do not fit.
        if self.apart_squared == u128::MAX {
            return None;
        }
        rows.checked_mul(rows)?.checked_mul(self.apart_squared)
    }
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

    /// The l1 sensitivity in lattice units: that of the population whose unit can do more.
    pub fn l1(self, relation: Neighbouring) -> u128 {
        let beside = self.beside.map_or(0, |beside| beside.l1(relation));
        self.bounded_l1(relation).max(beside)
    }

    /// The square of the l2 sensitivity in lattice units squared; `None` if it does not fit.
    pub fn l2_squared(self, relation: Neighbouring) -> Option<u128> {
        let bounded = self.bounded_l2_squared(relation)?;
        let beside = self.beside.map_or(Some(0), |beside| beside.l2_squared(relation))?;
        Some(bounded.max(beside))
    }

    /// The most rows of a unit of a further population, each of which moves the sums by `apart`,
    /// with which it can do no more than a bounded unit.
    pub fn most_beside(self, apart: u128, relation: Neighbouring) -> u128 {
        let one = RowsBeside { most: 1, apart, apart_squared: 0 }.l1(relation);
        self.bounded_l1(relation).checked_div(one).unwrap_or(0)
    }

    /// The most such rows by l2, each of which moves the sums by `apart_squared`, squared.
    pub fn most_beside_squared(self, apart_squared: u128, relation: Neighbouring) -> u128 {
        let one = RowsBeside { most: 1, apart: 0, apart_squared }.l2_squared(relation);
        let of_one = |one| self.bounded_l2_squared(relation)?.checked_div(one);
        one.and_then(of_one).map_or(0, u128::isqrt)
    }

    /// The l1 sensitivity to bounded units. Under `replace` a unit leaves up to `groups` groups
    /// and its replacement enters up to as many (theory section 1).
    fn bounded_l1(self, relation: Neighbouring) -> u128 {
        let groups = u128::from(self.groups);
        match relation {
            Neighbouring::AddRemove => groups * self.alone(),
            Neighbouring::Replace if self.single_group => self.swapped(),
            // A shared group changes by at most high - low, which is at most twice the larger.
            Neighbouring::Replace => groups * 2 * self.alone(),
        }
    }

    /// The square of the l2 sensitivity to bounded units.
    fn bounded_l2_squared(self, relation: Neighbouring) -> Option<u128> {
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
                    let single =
                        Contribution { groups: 1, single_group: true, low, high, beside: None };
                    let several =
                        Contribution { groups, single_group: false, low, high, beside: None };
                    for (c, cells) in [(single, 1), (several, 2 * groups)] {
                        let want = brute(c, relation, cells);
                        let got = (c.l1(relation), c.l2_squared(relation).unwrap());
                        assert_eq!(got, want, "{c:?} {relation}");
                    }
                }
            }
        }
    }

    /// The larger of both populations' effects, by trying all ways in which rows of one unit of the
    /// further population can move two groups; and the most rows that do no more.
    #[test]
    fn rows_of_a_further_population_move_sums_as_far_as_is_said() {
        for relation in [Neighbouring::AddRemove, Neighbouring::Replace] {
            let rows = if relation == Neighbouring::Replace { 2 } else { 1 };
            for (apart, most, groups) in [1i64, 2, 3]
                .into_iter()
                .flat_map(|a| (1..=3u32).flat_map(move |m| [(a, m, 1), (a, m, 3)]))
            {
                // Each row moves one of two groups by `apart` at most.
                let mut all = vec![[0i64, 0]];
                for _ in 0..rows * most {
                    all = all
                        .iter()
                        .flat_map(|[a, b]| {
                            (-apart..=apart).flat_map(move |d| [[a + d, *b], [*a, b + d]])
                        })
                        .collect();
                    all.sort_unstable();
                    all.dedup();
                }
                let l1 = |[a, b]: &[i64; 2]| u128::from(a.unsigned_abs() + b.unsigned_abs());
                let l2 = |[a, b]: &[i64; 2]| u128::from((a * a + b * b).unsigned_abs());
                let worst = (all.iter().map(l1).max().unwrap(), all.iter().map(l2).max().unwrap());
                let apart = u128::from(apart.unsigned_abs());
                let beside = RowsBeside { most, apart, apart_squared: apart * apart };
                let bounded =
                    Contribution { groups, single_group: false, low: 0, high: 2, beside: None };
                let both = Contribution { beside: Some(beside), ..bounded };
                let (alone, alone_squared) =
                    (bounded.l1(relation), bounded.l2_squared(relation).unwrap());
                assert_eq!(both.l1(relation), alone.max(worst.0));
                assert_eq!(both.l2_squared(relation), Some(alone_squared.max(worst.1)));
                let fits = u128::from(most) <= bounded.most_beside(apart, relation);
                assert_eq!(fits, worst.0 <= alone, "{beside:?} {groups} {relation}");
                let fits = u128::from(most) <= bounded.most_beside_squared(apart * apart, relation);
                assert_eq!(fits, worst.1 <= alone_squared, "{beside:?} {groups} {relation}");
            }
        }
    }
}
