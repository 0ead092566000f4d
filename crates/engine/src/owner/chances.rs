//! The chances of groups to be shown: exact, for their owner alone.

use hushtable_mechanisms::{Candidates, Selection, Strategy};
use hushtable_plan::Groups;
use hushtable_quote::Quote;

use crate::draw::CountedGroups;
use crate::error::EngineError;

/// The probability of each group that it is shown.
pub(crate) fn chances(quote: &Quote, counted: &CountedGroups) -> Result<Vec<f64>, EngineError> {
    let Groups::Private { known_threshold, .. } = quote.query().groups() else {
        return Ok(vec![1.0; counted.groups]);
    };
    let selection = quote
        .selection()
        .ok_or(EngineError::inconsistent("a query with private groups has no selection"))?;
    let (units, known) = (&counted.units[..], &counted.known[..]);
    let deciding = quote.deciding_count();
    let counts = deciding.and_then(|index| counted.measured.get(index)?.sums());
    let counts = counts.as_deref().unwrap_or_default();
    if deciding.is_some() && counts.len() != units.len() {
        return Err(EngineError::inconsistent(
            "the count that decides about groups has another number of groups",
        ));
    }
    let population = Candidates { units, members: counted.members.as_ref(), known, counts };
    let mut chances = selection.chances(&population);
    for ((chance, &size), _) in
        chances.iter_mut().zip(units).zip(known).filter(|(_, known)| **known)
    {
        *chance = known_threshold.map_or(1.0, |t| selection.reach_probability(size, t));
    }
    Ok(chances)
}

/// Whether these chances are lower bounds: a group's grow where other groups of its units appear.
pub(crate) fn are_least(quote: &Quote, counted: &CountedGroups) -> bool {
    quote.selection().map(Selection::strategy).is_some_and(|strategy| match strategy {
        Strategy::SingleVote => counted.members.is_none(),
        strategy => strategy.by_membership(),
    })
}
