//! Joins that can make several rows of one.
//!
//! The time and memory of a query must not show what it makes of a single person. A chain of joins
//! can make a thousand rows of each row, and a thousand of each of these. So a query has few joins
//! in which a row meets rows that nothing says are few.

use super::rowset::References;
use crate::error::Refusal;
use crate::relation::{Operator, Protection, Relation};

/// Most joins of a query in which a protected row can meet several rows.
const MAX_REPEATING_JOINS: usize = 3;

impl References {
    /// Refuses a relation with too many joins that repeat rows.
    pub(super) fn check_repeats(&self, relation: &Relation) -> Result<(), Refusal> {
        let repeating = self.repeating(relation);
        if repeating <= MAX_REPEATING_JOINS {
            return Ok(());
        }
        Err(Refusal::new(
            format!(
                "in {repeating} joins a row can meet any number of rows; at most \
                 {MAX_REPEATING_JOINS} such joins are allowed, so that the time of a query does \
                 not show whether a row is there"
            ),
            "set unique = [\"column\"] in the contract for public tables that are joined on a \
             key; or GROUP BY the joined columns in a sub-query; or use IN or EXISTS in place \
             of a join",
        ))
    }

    fn repeating(&self, relation: &Relation) -> usize {
        let own = match relation.operator() {
            Operator::Join { kind, left, right, on, .. } if kind.shows_right() => {
                let ours = on.iter().map(|(ours, _)| ours);
                let theirs = on.iter().map(|(_, theirs)| theirs);
                let once = match (left.protection(), right.protection()) {
                    // The rows of a reference are no more than before.
                    (Protection::Public, Protection::Public)
                    | (Protection::Reference { .. }, Protection::Unit { .. })
                    | (Protection::Unit { .. }, Protection::Reference { .. }) => true,
                    (_, Protection::Public) => {
                        right.has_one(theirs.clone()) || self.unique_key(right, theirs).is_some()
                    }
                    (Protection::Public, _) => {
                        left.has_one(ours.clone()) || self.unique_key(left, ours).is_some()
                    }
                    // An owner's row meets rows of all units of the other population.
                    (ours, theirs) if ours.population() != theirs.population() => false,
                    // One of many on one side only: there are as many pairs as rows on the other.
                    _ => left.has_one(ours) || right.has_one(theirs),
                };
                usize::from(!once)
            }
            _ => 0,
        };
        own + relation.inputs().into_iter().map(|input| self.repeating(input)).sum::<usize>()
    }
}
