//! The owner's decisions: whom a contract protects, and how much may be learned.

use hushtable_privacy::{Delta, Epsilon};

use super::links::{Holds, SuggestedUnits};
use super::{Draft, key};

/// Everything that a draft leaves to its owner.
#[derive(Clone, Debug)]
pub struct Decisions {
    /// The units that are protected, by table; of those that [`Draft::undecided`] lists.
    pub units: Vec<(String, UnitDecision)>,
    /// How many units there are, about.
    pub size: u64,
    /// The analyst who has the budget.
    pub analyst: String,
    /// The budget's epsilon.
    pub epsilon: Epsilon,
    /// The budget's delta.
    pub delta: Delta,
    /// The most groups that a unit counts in.
    pub groups: u32,
    /// The most rows of a unit that count in a group; `None` where each unit is a row.
    pub rows: Option<u32>,
}

/// The units that a table's rows are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitDecision {
    /// The unit that this column names.
    Column(String),
    /// Each row is another unit.
    Row,
    /// Nobody: the table is public.
    Public,
}

/// A table that does not say by its names whom its rows are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndecidedTable {
    /// The table.
    pub table: String,
    /// Its columns that can be used.
    pub columns: Vec<String>,
    /// The column that names a unit, as its name suggests.
    pub suggested: Option<String>,
    /// Whether it is the only table: its rows may then be the units, and it is not public.
    pub is_alone: bool,
}

impl Draft {
    /// The tables whose owner has to say whom they are about.
    pub fn undecided(&self) -> Vec<UndecidedTable> {
        let is_alone = self.tables.len() == 1;
        let held = SuggestedUnits::of(&self.tables).tables;
        let open = self.tables.iter().zip(held).filter_map(|(table, holds)| {
            let suggested = match holds {
                Holds::Column(column) if is_alone => Some(column),
                Holds::Unknown { .. } => None,
                _ if is_alone => None,
                Holds::Column(_) | Holds::Through { .. } => return None,
            };
            let columns = table.columns.iter().filter(|column| table.type_of(column).is_some());
            let columns = columns.map(|column| column.name.clone()).collect();
            Some(UndecidedTable { table: table.name.clone(), columns, suggested, is_alone })
        });
        open.collect()
    }
}

impl Decisions {
    /// The delta that suits a number of units: below a tenth of one over it.
    pub fn delta_for(size: u64) -> Delta {
        let mut delta = Delta::from_f64(0.1).unwrap_or(Delta::ZERO);
        let mut reached: u64 = 1;
        while reached < size && delta.units() > 100 {
            reached = reached.saturating_mul(10);
            delta = delta.share(10);
        }
        delta
    }

    pub(super) fn unit_of(&self, table: &str) -> Option<&UnitDecision> {
        self.units.iter().find(|(of, _)| of == table).map(|(_, unit)| unit)
    }

    /// The lines of the defaults, the reason for the budget, and the budget's line.
    pub(super) fn settings(&self) -> (String, String, String) {
        let Self { units: _, size, analyst, epsilon, delta, groups, rows } = self;
        let (table_epsilon, table_delta) = (epsilon.share(10), delta.share(10));
        let rows = rows.map_or_else(String::new, |rows| {
            format!(
                "# At most this many rows of a unit count in a group.\n\
                 max_rows_per_group = {rows}\n"
            )
        });
        let defaults = format!(
            "\
# A tenth of the budget: about ten questions.
epsilon = {table_epsilon}
delta = {table_delta}
# A unit counts in at most this many groups of a query; which ones is chosen at random.
max_groups_contributed = {groups}
{rows}"
        );
        let odds = (epsilon.to_f64().exp() * 10.0).ceil() / 10.0;
        let reason = format!(
            "All answers together make any guess about one
# unit at most {odds:.1} times as likely (e^epsilon), except for a failure with probability delta, \
  which
# is well below one in {size}, the number of units."
        );
        let budget = format!("{} = {{ epsilon = {epsilon}, delta = {delta} }}", key(analyst));
        (defaults, reason, budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delta_is_well_below_one_over_the_units() {
        for (size, want) in [(1, "0.1"), (100, "0.001"), (50_000, "1e-6"), (100_000, "1e-6")] {
            assert_eq!(Decisions::delta_for(size), want.parse().unwrap(), "{size}");
        }
        assert_eq!(Decisions::delta_for(10_000_000), "1e-8".parse().unwrap());
        assert!(!Decisions::delta_for(u64::MAX).is_zero());
    }
}
