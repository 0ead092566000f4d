//! The populations that a contract names, and which of a ledger's accounts are theirs.
//!
//! An account goes by the name that its population had when it was charged. Another name, or other
//! units under the same name, would be a fresh budget for the same people: so nothing is charged
//! until the contract says whose account it was.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::populations_differ::{MovedTable, PopulationsDiffer, UnnamedAccount};
use crate::units::{NamedPopulation, Units};

/// All populations of a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Populations {
    named: BTreeMap<String, NamedPopulation>,
    retired: BTreeSet<String>,
    /// The population that goes on with the account of each former name.
    successors: HashMap<String, String>,
}

/// Populations by the names that charges have, with all units that they had when they were charged.
#[derive(Debug, Default)]
pub(crate) struct ChargedPopulations(BTreeMap<String, Vec<(String, Units)>>);

impl Populations {
    /// The populations of a contract by their names, and the names of those whose accounts are
    /// closed.
    pub fn new(
        named: BTreeMap<String, NamedPopulation>,
        retired: impl IntoIterator<Item = String>,
    ) -> Self {
        let former = named.iter().flat_map(|(name, population)| {
            population.formerly.iter().map(move |former| (former.clone(), name.clone()))
        });
        let successors = former.collect();
        Self { named, retired: retired.into_iter().collect(), successors }
    }

    /// The population whose account a charge is on that was made under the name `recorded`.
    pub(crate) fn account<'a>(&'a self, recorded: &'a str) -> &'a str {
        match self.successors.get(recorded) {
            // A former name that a population of the contract has again is that population's own
            // account.
            Some(successor) if !self.named.contains_key(recorded) => successor,
            _ => recorded,
        }
    }

    /// How the tables of a population hold its units; `None` where the contract does not name it.
    pub(crate) fn units(&self, population: &str) -> Option<&Units> {
        self.named.get(population).map(|named| &named.units)
    }

    /// Refuses a contract under which somebody who was charged for would have a fresh budget.
    pub(crate) fn check(&self, charged: &ChargedPopulations) -> Result<(), PopulationsDiffer> {
        let (mut differ, mut moved) = (PopulationsDiffer::default(), BTreeSet::new());
        for (recorded, all) in &charged.0 {
            let name = self.account(recorded);
            moved.extend(self.moved(name, all));
            match self.named.get(name) {
                Some(population) => {
                    let earlier = other_units(population, all, name == recorded);
                    if !earlier.is_empty() {
                        differ.add_units(name, population, earlier);
                    }
                }
                // The owner has said that nothing more is asked about these people.
                None if self.retired.contains(name) => {}
                None => differ.unnamed.push(UnnamedAccount {
                    name: recorded.clone(),
                    likely: self.likely(recorded, all),
                }),
            }
        }
        differ.moved = moved.into_iter().collect();
        if differ.is_empty() { Ok(()) } else { Err(differ) }
    }

    /// The tables of a charged account that another population has now.
    ///
    /// Where the account is closed, its people may still be in a table, as others than its units:
    /// a table that holds them as it did is refused alone.
    fn moved(&self, account: &str, all: &[(String, Units)]) -> BTreeSet<MovedTable> {
        let unnamed = !self.named.contains_key(account);
        let mut moved = BTreeSet::new();
        let stays = |table: &String| {
            self.named.get(account).is_some_and(|now| now.units.0.contains_key(table))
        };
        for entry in all.iter().flat_map(|(_, then)| &then.0).filter(|(table, _)| !stays(table)) {
            let others = self.named.iter().filter(|(name, _)| *name != account);
            let holds = |now: &Units| {
                now.0.iter().any(|(table, text)| match unnamed {
                    true => self.retired.contains(account) && alike(text, entry.1),
                    false => alike(table, entry.0),
                })
            };
            moved.extend(others.filter(|(_, now)| holds(&now.units)).map(|(name, now)| {
                MovedTable {
                    table: entry.0.clone(),
                    account: account.to_owned(),
                    population: name.clone(),
                    formerly: now.formerly.clone(),
                    retired: unnamed,
                }
            }));
        }
        moved
    }

    /// The population that most likely has the people of an account that the contract does not
    /// name: its name differs in letter case or spaces alone, or a table holds the units as then.
    fn likely(&self, recorded: &str, all: &[(String, Units)]) -> Option<NamedPopulation> {
        let same_name = self.named.iter().find(|(name, _)| alike(name, recorded));
        let same_units = || {
            self.named.iter().find(|(_, now)| {
                all.iter().any(|(_, then)| then.0.iter().any(|entry| now.units.has(entry)))
            })
        };
        same_name.or_else(same_units).map(|(_, population)| population.clone())
    }
}

/// The texts of the units that a population had when it was charged, where they may be other people
/// than now and the contract does not name them.
///
/// Further tables, and tables that are gone, change nothing as long as one is there that holds the
/// units as it did then.
fn other_units(
    population: &NamedPopulation,
    all: &[(String, Units)],
    same_name: bool,
) -> Vec<String> {
    let now = &population.units;
    let (mut earlier, mut in_common) = (BTreeSet::new(), all.iter().all(|(_, u)| u.0.is_empty()));
    for entry in all.iter().flat_map(|(_, then)| &then.0) {
        let (table, text) = entry;
        if now.has(entry) || population.formerly.contains(text) {
            in_common = true;
        } else if now.0.contains_key(table) {
            earlier.insert(text.clone());
        }
    }
    if !in_common && same_name && !now.0.is_empty() {
        earlier.extend(all.iter().flat_map(|(_, then)| then.0.values().cloned()));
    }
    earlier.into_iter().collect()
}

/// Whether people would take one name for the other: they differ in letter case or spaces alone.
fn alike(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().split_whitespace().collect::<String>();
    plain(one) == plain(other)
}

impl ChargedPopulations {
    /// Adds the population of a charge; `units` is the JSON of its [`Units`].
    pub(crate) fn add(&mut self, population: &str, units: &str) -> Result<(), serde_json::Error> {
        let known = self.0.get(population);
        if known.is_some_and(|known| known.iter().any(|(text, _)| text == units)) {
            return Ok(());
        }
        let read = serde_json::from_str(units)?;
        self.0.entry(population.to_owned()).or_default().push((units.to_owned(), read));
        Ok(())
    }
}
