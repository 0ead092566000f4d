//! The excerpt of a table on which it rests whether some of its groups appear, where the selection
//! looks at which groups each unit is in.

use hushtable_mechanisms::Memberships;

use crate::draw::CountedGroups;
use crate::error::EngineError;

/// The excerpt of `counted` on which the decisions about the `targets` rest, in `rounds` rounds of
/// selection by weights, and the numbers that its groups have in the whole.
///
/// The weights of its units decide about a group in the last round, and they depend on which of
/// their other groups have appeared in the round before; and so on back to the first. So the units
/// of the targets are needed, and for each round before the last the units of their groups,
/// too. The other groups of these units are there, so that the weights are right, but not all of
/// their units: their own decisions mean nothing.
///
/// # Errors
/// Only by a fault of this program.
pub(crate) fn near(
    counted: &CountedGroups,
    targets: &[bool],
    rounds: usize,
) -> Result<(CountedGroups, Vec<usize>), EngineError> {
    let Some(members) = &counted.members else {
        let all: Vec<usize> =
            targets.iter().enumerate().filter(|(_, target)| **target).map(|(g, _)| g).collect();
        return Ok((excerpt(counted, &all, None)?, all));
    };
    let mut needed = targets.to_vec();
    let mut of_unit: Vec<bool> = Vec::new();
    for _ in 0..rounds {
        let touches =
            |unit| members.of(unit).iter().any(|&g| needed.get(g as usize) == Some(&true));
        of_unit = (0..members.units()).map(touches).collect();
        for (unit, _) in of_unit.iter().enumerate().filter(|(_, of)| **of) {
            for &group in members.of(unit) {
                if let Some(needed) = needed.get_mut(group as usize) {
                    *needed = true;
                }
            }
        }
    }
    let retained: Vec<usize> =
        needed.iter().enumerate().filter(|(_, needed)| **needed).map(|(g, _)| g).collect();
    let mut numbers = vec![0u32; needed.len()];
    for (&group, number) in retained.iter().zip(0..) {
        if let Some(entry) = numbers.get_mut(group) {
            *entry = number;
        }
    }
    let mut some = Memberships::default();
    for (unit, _) in of_unit.iter().enumerate().filter(|(_, of)| **of) {
        let groups = members.of(unit).iter().filter_map(|&g| numbers.get(g as usize).copied());
        // Weights do not depend on the order of the units.
        some.push(0, groups);
    }
    Ok((excerpt(counted, &retained, Some(some))?, retained))
}

/// The numbers of some of the groups.
fn excerpt(
    counted: &CountedGroups,
    retained: &[usize],
    members: Option<Memberships>,
) -> Result<CountedGroups, EngineError> {
    Ok(CountedGroups {
        groups: retained.len(),
        // Where groups are not chosen, nobody looks at units.
        units: retained.iter().filter_map(|&g| counted.units.get(g).copied()).collect(),
        known: retained.iter().map(|&g| counted.known.get(g) == Some(&true)).collect(),
        measured: counted
            .measured
            .iter()
            .map(|measured| measured.rearranged(retained.iter().map(|&g| Some(g))))
            .collect::<Result<_, _>>()?,
        classes: counted
            .classes
            .iter()
            .map(|classes| retained.iter().filter_map(|&g| classes.get(g).copied()).collect())
            .collect(),
        members,
    })
}
