//! Two neighbouring tables, side by side: the groups in which they differ, and draws from both.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use hushtable_mechanisms::{Memberships, Selection, Strategy};
use hushtable_noise::Generator;
use hushtable_plan::Groups;
use hushtable_quote::{Noise, Quote};

use super::near::near;
use crate::draw::CountedGroups;
use crate::error::EngineError;
use crate::intern::Interner;
use crate::owner::chances::chances;

/// One of the tables that are compared: its groups' keys and exact numbers.
#[derive(Clone)]
pub(crate) struct ComparedTable {
    pub(crate) keys: Vec<ArrayRef>,
    pub(crate) counted: Arc<CountedGroups>,
}

/// Output of one run for the groups that differ.
pub(crate) struct RunOutput {
    /// The indices of those that appear.
    pub(crate) groups: Vec<usize>,
    /// Their noisy sums, for each measurement.
    pub(crate) sums: Vec<Vec<i128>>,
}

/// A group in which two tables differ. Exact: no Debug, Display or Serialize.
#[derive(Clone)]
pub(crate) struct Differing {
    /// Whether a unit is in it, or it is known, in each table.
    pub(crate) exists: [bool; 2],
    /// Exact sums of each measurement in both.
    pub(crate) sums: Vec<[i128; 2]>,
    /// The values in both, for each measurement that is a quantile.
    pub(crate) values: Vec<Option<[Vec<i64>; 2]>>,
    /// Its class for each measurement whose noise differs by class, 0 for others.
    pub(crate) classes: Vec<usize>,
}

/// One table of a pair, ready to be drawn from.
pub(crate) struct TableSide {
    counted: Arc<CountedGroups>,
    /// The index among the differing groups of each group of `counted`.
    indices: Vec<Option<usize>>,
}

/// Two tables and the groups in which they differ.
pub(crate) struct TablePair {
    pub(crate) sides: [TableSide; 2],
    pub(crate) differing: Vec<Differing>,
}

impl TablePair {
    /// Compares two tables.
    ///
    /// Noise is independent from group to group, so that groups that are alike in both tables say
    /// nothing, and are left out of what is drawn; except for those on which the selection of the
    /// others rests, where it looks at which groups each unit is in. By votes, groups that the unit
    /// is not in may differ: in their chances to appear.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn new(quote: &Quote, tables: [&ComparedTable; 2]) -> Result<Self, EngineError> {
        let private = matches!(quote.query().groups(), Groups::Private { .. });
        let ids = numbered(tables)?;
        let count = ids.iter().flatten().max().map_or(0, |most| most + 1);
        let at = ids.each_ref().map(|ids| {
            let mut at = vec![None; count];
            for (local, &id) in ids.iter().enumerate() {
                if let Some(at) = at.get_mut(id) {
                    *at = Some(local);
                }
            }
            at
        });
        let weights = tables.map(|t| weights(&t.counted));
        let chances = match quote.selection().map(Selection::strategy) {
            Some(Strategy::SingleVote) => {
                let [first, second] = tables;
                Some([chances(quote, &first.counted)?, chances(quote, &second.counted)?])
            }
            _ => None,
        };
        let mut indices: Vec<Option<usize>> = vec![None; count];
        let mut differing = Vec::new();
        for id in 0..count {
            let local = at.each_ref().map(|at| at.get(id).copied().flatten());
            let look = |side: usize| {
                let counted = &*tables.get(side)?.counted;
                let group = (*local.get(side)?)?;
                let units = counted.units.get(group).copied().unwrap_or(0);
                let known = counted.known.get(group) == Some(&true);
                let weight = weights.get(side)?.get(group).copied().unwrap_or(0);
                let exists = !private || units > 0 || known;
                Some((exists, units, weight, group))
            };
            let both = [look(0), look(1)];
            let exists = both.map(|l| l.is_some_and(|(exists, ..)| exists));
            let numbers = both.map(|l| l.map_or((0, 0), |(_, units, weight, _)| (units, weight)));
            let sums: Vec<[i128; 2]> = (0..quote.noise().len())
                .map(|m| {
                    [0, 1].map(|side: usize| {
                        let group = both.get(side).copied().flatten().map(|(.., group)| group);
                        let sum = |g| tables.get(side)?.counted.measured.get(m)?.sum(g);
                        group.and_then(sum).unwrap_or(0)
                    })
                })
                .collect();
            let listed = |m: usize| {
                let values_of = |side: usize| {
                    let values = tables.get(side)?.counted.measured.get(m)?.values()?;
                    let group = both.get(side).copied().flatten().map(|(.., group)| group);
                    Some(group.map_or(&[][..], |group| values.of(group)))
                };
                Some([values_of(0)?, values_of(1)?])
            };
            let values: Vec<_> = (0..quote.noise().len()).map(listed).collect();
            let chance = |side: usize| {
                let group = (*local.get(side)?)?;
                chances.as_ref()?.get(side)?.get(group).copied()
            };
            // A group that is in neither table, or in one without units, appears in neither.
            let alike = chance(0).unwrap_or(0.0) == chance(1).unwrap_or(0.0);
            let same = exists[0] == exists[1] && numbers[0] == numbers[1] && alike;
            let moved =
                sums.iter().any(|[a, b]| a != b) || values.iter().flatten().any(|[a, b]| a != b);
            if !same || moved {
                if let Some(index) = indices.get_mut(id) {
                    *index = Some(differing.len());
                }
                let side = usize::from(both[0].is_none());
                let class = |m: usize| {
                    let classes = tables.get(side).and_then(|t| t.counted.classes.get(m));
                    let group = both.get(side).copied().flatten().map(|(.., group)| group);
                    group.and_then(|g| classes?.get(g).copied()).unwrap_or(0)
                };
                let classes = (0..quote.noise().len()).map(class).collect();
                let values = values.into_iter().map(|v| v.map(|v| v.map(<[i64]>::to_vec)));
                let values = values.collect();
                differing.push(Differing { exists, sums, values, classes });
            }
        }
        let side = |side: usize| {
            let table = tables
                .get(side)
                .ok_or(EngineError::inconsistent("a side of a comparison has no table"))?;
            let ids = ids.get(side).ok_or(EngineError::inconsistent(
                "a side of a comparison has no numbers for its groups",
            ))?;
            let indices: Vec<_> =
                ids.iter().map(|&id| indices.get(id).copied().flatten()).collect();
            TableSide::new(quote, &table.counted, indices)
        };
        Ok(Self { sides: [side(0)?, side(1)?], differing })
    }

    /// About how many steps a run on both tables takes, in units of some nanoseconds.
    pub(crate) fn work(&self, quote: &Quote) -> u64 {
        let rounds = quote.selection().map_or(1, |s| s.rounds().len().max(1));
        // Units take turns, not in the order of memory: each meets data that is far away.
        let apiece = if in_turn(quote) { 4 } else { 1 };
        let sides = self.sides.iter().map(|side| {
            let pairs = side.counted.members.as_ref().map_or(0, Memberships::pairs);
            50 + (pairs * apiece + side.counted.groups * 8) * rounds
        });
        // A draw near a quantile is some dozens of steps in the values of its group.
        let of = |noise: &Noise| if noise.is_quantile() { 500 } else { 10 };
        let each: usize = quote.noise().iter().map(of).sum();
        // Quantiles that are drawn together look at all values, in some steps each.
        let joint = |(m, noise): (usize, &Noise)| match noise {
            Noise::Joint(joint) if joint.pays() => Some(m),
            _ => None,
        };
        let joint: Vec<usize> = quote.noise().iter().enumerate().filter_map(joint).collect();
        let values =
            self.differing.iter().flat_map(|group| joint.iter().map(|m| group.values.get(*m)));
        let values = values.flatten().flatten().flatten().map(Vec::len).sum::<usize>();
        let noise = 2 * self.differing.len() * each + 10 * values;
        (sides.sum::<usize>() + noise) as u64
    }
}

impl TableSide {
    fn new(
        quote: &Quote,
        counted: &Arc<CountedGroups>,
        indices: Vec<Option<usize>>,
    ) -> Result<Self, EngineError> {
        if counted.members.is_some() && in_turn(quote) {
            // One unit after the other looks at what those before it have left of a group.
            return Ok(Self { counted: Arc::clone(counted), indices });
        }
        let rounds = quote.selection().map_or(1, |s| s.rounds().len().max(1));
        let targets: Vec<bool> = indices.iter().map(Option::is_some).collect();
        let (excerpt, retained) = near(counted, &targets, rounds)?;
        let indices = retained.iter().map(|&g| indices.get(g).copied().flatten()).collect();
        Ok(Self { counted: Arc::new(excerpt), indices })
    }

    /// Runs the query's mechanisms once, and returns the output for the groups that differ.
    ///
    /// # Errors
    /// When the operating system's random generator fails.
    pub(crate) fn draw(
        &self,
        quote: &Quote,
        generator: &mut Generator,
    ) -> Result<RunOutput, EngineError> {
        let index = |group: usize| self.indices.get(group).copied().flatten();
        let (mut chosen, ahead) = self.counted.choose(quote, generator)?;
        chosen.retain(|c| index(c.group).is_some());
        // In one order on both sides: statistics add up floats, and values that are the same on
        // both must be the same to the last bit, or an event's edge would be between them.
        chosen.sort_unstable_by_key(|c| index(c.group));
        let sums = self.counted.measure(quote, (&chosen, &ahead), generator)?;
        Ok(RunOutput { groups: chosen.iter().filter_map(|c| index(c.group)).collect(), sums })
    }
}

/// Whether one unit after the other looks at what those before it have left of a group.
fn in_turn(quote: &Quote) -> bool {
    quote.selection().is_some_and(|selection| selection.strategy().in_turn())
}

/// A number for each group of both tables, the same for the same keys.
fn numbered(tables: [&ComparedTable; 2]) -> Result<[Vec<usize>; 2], EngineError> {
    let mut interner: Option<Interner> = None;
    let mut ids = |table: &ComparedTable| {
        if table.keys.is_empty() {
            // The only group, or none.
            return Ok((0..table.counted.groups).collect());
        }
        let interner = match &mut interner {
            Some(interner) => interner,
            none => none.insert(Interner::new(&table.keys)?),
        };
        Ok::<_, EngineError>(interner.intern(&table.keys)?.to_vec())
    };
    Ok([ids(tables[0])?, ids(tables[1])?])
}

/// The weight of the units in each group together, in whole numbers so that their order does not
/// matter; empty where nobody looks at it.
fn weights(counted: &CountedGroups) -> Vec<u64> {
    let Some(members) = &counted.members else { return Vec::new() };
    let mut weights = vec![0u64; counted.groups];
    for unit in 0..members.units() {
        let groups = members.of(unit);
        let weight = (f64::from(1 << 20) / (groups.len() as f64).sqrt()) as u64;
        for &group in groups {
            if let Some(sum) = weights.get_mut(group as usize) {
                *sum += weight;
            }
        }
    }
    weights
}
