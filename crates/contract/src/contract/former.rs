//! Former names: populations that had another name or another unit before, and accounts that are
//! closed. The ledger refuses every query until its accounts are named here.

use std::collections::BTreeMap;

use super::Table;
use super::read::{ContractError, Item};

pub(super) const FORMERLY: &str = "formerly = [\"visits\"]: names that the population had before, \
                                   or units that it had, such as \"visits.customer_id\"";
pub(super) const RETIRED: &str =
    "retired = [\"visits\"]: populations that are gone, to whose accounts nothing more is charged";

/// The former names of a contract, each with its population; none where it is retired.
#[derive(Default)]
pub(super) struct FormerNames<'a, 'i>(Vec<(String, Option<String>, Item<'a, 'i>)>);

impl<'a, 'i> FormerNames<'a, 'i> {
    /// Reads a list of former names, of `population` or of those that are retired.
    pub(super) fn read(
        &mut self,
        item: &Item<'a, 'i>,
        population: Option<&str>,
    ) -> Result<Vec<String>, ContractError> {
        let hint = if population.is_some() { FORMERLY } else { RETIRED };
        let mut names: Vec<String> = Vec::new();
        for entry in item.list(hint)? {
            let name = entry.text("a former name", hint)?;
            if names.iter().any(|earlier| earlier == name) {
                let what = format!("`{}` lists `{name}` twice", item.key);
                return Err(entry.error(what, "list it once"));
            }
            names.push(name.to_owned());
            self.0.push((name.to_owned(), population.map(str::to_owned), entry));
        }
        if names.is_empty() {
            return Err(item.error(format!("`{}` lists no name", item.key), hint));
        }
        Ok(names)
    }

    /// Refuses names that are in use, or that two accounts would go on from.
    pub(super) fn check(
        &self,
        is_population: impl Fn(&str) -> bool,
        tables: &BTreeMap<String, Table>,
    ) -> Result<(), ContractError> {
        let mut known: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        for (name, population, item) in &self.0 {
            let key = &item.key;
            if is_population(name) {
                return Err(item.error(
                    format!("`{key}` lists `{name}`, which is the name of a population now"),
                    "a name is a current or a former one: list former ones only, and give other \
                     people a name that was never used",
                ));
            }
            let belongs =
                |table: &&Table| table.population.is_some() && table.population == *population;
            if tables.values().filter(belongs).any(|table| table.unit_text() == *name) {
                return Err(item.error(
                    format!("`{key}` lists `{name}`, which are the units now"),
                    "list units that the population had before",
                ));
            }
            if let Some(other) = known.insert(name, population.as_deref()) {
                let whose = |population: Option<&str>| match population {
                    Some(population) => format!("a former name of `{population}`"),
                    None => "retired".to_owned(),
                };
                return Err(item.error(
                    format!("`{name}` is {} and {}", whose(other), whose(population.as_deref())),
                    "an account goes on in one population, or is retired: keep one of the two",
                ));
            }
        }
        Ok(())
    }
}
