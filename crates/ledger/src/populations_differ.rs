//! Why a contract does not fit the accounts of a ledger, in words.

use std::fmt::Write as _;

use hushtable_errors::{ErrorText, Hint};

use crate::units::NamedPopulation;

/// The difference between a contract and a ledger: nothing is charged until the contract says whose
/// accounts these were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PopulationsDiffer {
    /// Accounts that the contract does not name.
    pub unnamed: Vec<UnnamedAccount>,
    /// Populations whose units may be other people than those that were charged for.
    pub other_units: Vec<OtherUnits>,
    /// Tables that belong to another population than when it was charged.
    pub moved: Vec<MovedTable>,
}

/// A table whose people were charged to another account than that of its population.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MovedTable {
    /// The table.
    pub table: String,
    /// The account that its people were charged to.
    pub account: String,
    /// The population that the contract gives it to.
    pub population: String,
    /// The former names of that population.
    pub formerly: Vec<String>,
    /// Whether the contract says that the account is retired.
    pub retired: bool,
}

/// An account of the ledger that the contract does not name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnamedAccount {
    /// The population's name when it was charged.
    pub name: String,
    /// The population of the contract that most likely has the same people.
    pub likely: Option<NamedPopulation>,
}

/// A population that had other units when it was charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherUnits {
    /// Its name.
    pub name: String,
    /// The population, as the contract has it.
    pub population: NamedPopulation,
    /// The units that it had.
    pub earlier: Vec<String>,
}

impl PopulationsDiffer {
    pub(crate) fn is_empty(&self) -> bool {
        self.unnamed.is_empty() && self.other_units.is_empty() && self.moved.is_empty()
    }

    pub(crate) fn add_units(
        &mut self,
        name: &str,
        population: &NamedPopulation,
        earlier: Vec<String>,
    ) {
        match self.other_units.iter_mut().find(|item| item.name == name) {
            Some(item) => {
                item.earlier.extend(earlier);
                item.earlier.sort_unstable();
                item.earlier.dedup();
            }
            None => self.other_units.push(OtherUnits {
                name: name.to_owned(),
                population: population.clone(),
                earlier,
            }),
        }
    }
}

impl Hint for PopulationsDiffer {
    fn error_text(&self) -> ErrorText {
        let (mut whats, mut hints) = (Vec::new(), Vec::new());
        if !self.unnamed.is_empty() {
            let names: Vec<&str> = self.unnamed.iter().map(|item| item.name.as_str()).collect();
            whats.push(format!(
                "the ledger has charges on {}, which the contract does not name: the people \
                 charged for would have a fresh budget under another name",
                quoted(&names)
            ));
            hints.extend(self.unnamed.iter().map(UnnamedAccount::hint));
        }
        for item in &self.other_units {
            whats.push(item.what());
            hints.push(item.hint());
        }
        for item in &self.moved {
            whats.push(item.what());
            hints.push(item.hint());
        }
        ErrorText::new(format!("{}; no query is answered", whats.join("; ")), hints.join("; "))
    }
}

impl UnnamedAccount {
    fn hint(&self) -> String {
        let name = [self.name.clone()];
        let where_ = match &self.likely {
            Some(likely) => format!(
                "if {} has the same people, write {} in it",
                likely.section,
                formerly(&likely.formerly, &name)
            ),
            None => format!(
                "if the people of `{}` have another name now, write {} in their [units.NAME], or \
                 in their [tables.NAME] with privacy_unit",
                self.name,
                formerly(&[], &name)
            ),
        };
        let retired = list(&name);
        format!(
            "{where_}: its account goes on there; if nothing more is to be asked about them, \
             write retired = {retired} at the top of the contract"
        )
    }
}

impl OtherUnits {
    fn what(&self) -> String {
        let Self { name, population, earlier } = self;
        let now: Vec<&str> = population.units.0.values().map(String::as_str).collect();
        let earlier: Vec<&str> = earlier.iter().map(String::as_str).collect();
        format!(
            "the units of `{name}` are {} now, and were {} when it was charged: these may be other \
             people",
            quoted(&now),
            quoted(&earlier)
        )
    }

    fn hint(&self) -> String {
        let Self { name, population, earlier } = self;
        format!(
            "if they are the same people, write {} in {}: the account goes on; if they are others, \
             give them another name than `{name}`, and write retired = {} at the top of the \
             contract",
            formerly(&population.formerly, earlier),
            population.section,
            list(std::slice::from_ref(name))
        )
    }
}

impl MovedTable {
    fn what(&self) -> String {
        let Self { table, account, population, retired, .. } = self;
        let retired = if *retired { ", which is retired" } else { "" };
        format!(
            "the table `{table}` is of the population `{population}` now, and its people were \
             charged to the account of `{account}`{retired}: they would have a fresh budget"
        )
    }

    fn hint(&self) -> String {
        let Self { table, account, population, .. } = self;
        let formerly = formerly(&self.formerly, std::slice::from_ref(account));
        let same = if self.retired {
            format!("take `{account}` out of retired and write {formerly} in `{population}`")
        } else {
            format!(
                "give the table back to `{account}`, or all tables of `{account}` to \
                 `{population}`, with {formerly} there"
            )
        };
        format!("{same}; if `{table}` holds other people now, give it another name")
    }
}

/// The setting with further names.
fn formerly(names: &[String], further: &[String]) -> String {
    let mut all = names.to_vec();
    all.extend(further.iter().filter(|name| !names.contains(name)).cloned());
    format!("formerly = {}", list(&all))
}

/// A list of texts as TOML has them.
fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| toml(text)).collect();
    format!("[{}]", texts.join(", "))
}

fn toml(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a text does not fail.
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
