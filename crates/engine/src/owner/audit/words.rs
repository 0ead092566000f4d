//! Events that distinguish two tables, in words without a value of the data.

use super::event_search::{FoundEvent, OutputEvent};
use super::report::EventInWords;
use super::statistics::Statistic;

/// The event in words.
pub(super) fn event_in_words(
    found: &FoundEvent,
    names: &[String; 2],
    measured: &[String],
) -> EventInWords {
    let OutputEvent { statistic, upper, threshold, likely } = found.event;
    let name = |side: usize| names.get(side).map_or("", String::as_str);
    let of = |m: usize| measured.get(m).map_or("", String::as_str);
    let tail = if upper { "high" } else { "low" };
    let what = match (statistic, upper) {
        (Statistic::OnlyIn(side), true) if threshold <= 1.0 => {
            format!("a group appears that only {} shows", name(side))
        }
        (Statistic::OnlyIn(side), true) => format!("groups appear that only {} shows", name(side)),
        (Statistic::OnlyIn(side), false) => {
            format!("none, or few, of the groups appear that only {} shows", name(side))
        }
        (Statistic::Appearing, true) => "many of the groups that differ appear".to_owned(),
        (Statistic::Appearing, false) => "few of the groups that differ appear".to_owned(),
        (Statistic::Everything, _) => format!(
            "all that is shown of the groups that differ, weighed by how much likelier it is on {} \
             than on the other, is {tail}",
            name(0)
        ),
        (Statistic::Values(m), _) => format!(
            "the values of `{}` in the groups that differ, weighed by how much likelier they are \
             on {} than on the other, are {tail}",
            of(m),
            name(0)
        ),
        (Statistic::Largest(m), _) => {
            format!("the largest noise on `{}` in the groups that differ is {tail}", of(m))
        }
        (Statistic::Smallest(m), _) => {
            format!("the smallest noise on `{}` in the groups that differ is {tail}", of(m))
        }
    };
    EventInWords {
        what,
        likely_on: name(likely).to_owned(),
        at_least: found.at_least,
        at_most: found.at_most,
    }
}
