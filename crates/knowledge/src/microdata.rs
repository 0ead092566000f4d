//! Published microdata: what generalised records reveal, alone and together with another table
//! about the same people.
//!
//! A table has a row for each person. Some columns are *quasi-identifiers*, which an attacker may
//! know of a person; others are *sensitive*. Rows with the same quasi-identifiers are a *class*. A
//! table is k-anonymous if each class has at least k rows. That bounds how well a row is found, and
//! nothing else (lecture, section 2.1):
//!
//! - Where all rows of a class have one sensitive value, everybody in it has that value.
//! - A person's sensitive value is one of those of the classes that can hold the person. Of two
//!   tables that both have the person, it is one of both: often one alone is left.
//!
//! Findings hold for everybody who is in the tables. Generalised values may overlap within a table,
//! so that a person can be in several of its classes: then all their values count.

mod linkage;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::generalised::GeneralisedValue;

pub use linkage::{Linkage, SingledOut, linkages};

/// A published table, by the classes of its rows.
#[derive(Clone, Debug, Default)]
pub struct Microdata {
    /// By quasi-identifier: its different values.
    values: Vec<Vec<GeneralisedValue>>,
    /// The classes, the smallest first.
    classes: Vec<EquivalenceClass>,
}

/// The rows that have the same quasi-identifiers.
#[derive(Clone, Debug)]
pub struct EquivalenceClass {
    /// By quasi-identifier: its value, by its number.
    keys: Vec<usize>,
    /// The number of rows.
    pub records: u64,
    /// By sensitive column: its values.
    pub sensitive: Vec<SensitiveValues>,
}

/// The values of a sensitive column in a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SensitiveValues {
    /// The values, and how many rows have each.
    pub stated: BTreeMap<String, u64>,
    /// The rows that have none, or `*`.
    pub missing: u64,
}

impl SensitiveValues {
    /// The value that all rows have.
    pub fn only(&self) -> Option<&str> {
        match (self.stated.first_key_value(), self.stated.len(), self.missing) {
            (Some((value, _)), 1, 0) => Some(value),
            _ => None,
        }
    }

    /// The number of different values. Missing ones count as one more.
    pub fn different(&self) -> usize {
        self.stated.len() + usize::from(self.missing > 0)
    }
}

/// The values that a person may have, according to a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossibleValues<'a> {
    /// The classes that can hold the person.
    pub classes: usize,
    /// Their rows.
    pub records: u64,
    /// Their values; `None` for any, where some are missing.
    pub values: Option<BTreeSet<&'a str>>,
}

impl PossibleValues<'_> {
    /// The values that a person in both tables may have.
    pub fn in_both(&self, other: &Self) -> Option<BTreeSet<String>> {
        let owned = |values: &BTreeSet<&str>| values.iter().map(|v| (*v).to_owned()).collect();
        match (&self.values, &other.values) {
            (Some(one), Some(two)) => {
                Some(one.intersection(two).map(|v| (*v).to_owned()).collect())
            }
            (Some(one), None) => Some(owned(one)),
            (None, two) => two.as_ref().map(owned),
        }
    }
}

impl Microdata {
    /// A table of `columns` quasi-identifiers, from rows with their numbers. A sensitive value that
    /// is empty or `*` is missing.
    pub fn new(
        columns: usize,
        rows: impl IntoIterator<Item = (Vec<String>, Vec<String>, u64)>,
    ) -> Self {
        let mut values: Vec<Vec<GeneralisedValue>> = vec![Vec::new(); columns];
        let mut numbers: Vec<HashMap<String, usize>> = vec![HashMap::new(); columns];
        let mut classes: HashMap<Vec<usize>, EquivalenceClass> = HashMap::new();
        for (quasi, sensitive, records) in rows {
            let keys: Vec<usize> = quasi
                .iter()
                .zip(values.iter_mut().zip(&mut numbers))
                .map(|(text, (values, numbers))| {
                    let value = GeneralisedValue::new(text);
                    *numbers.entry(value.text().to_owned()).or_insert_with(|| {
                        values.push(value);
                        values.len() - 1
                    })
                })
                .collect();
            let class = classes.entry(keys).or_insert_with_key(|keys| EquivalenceClass {
                keys: keys.clone(),
                records: 0,
                sensitive: vec![SensitiveValues::default(); sensitive.len()],
            });
            class.records += records;
            for (text, counts) in sensitive.into_iter().zip(&mut class.sensitive) {
                match text.trim() {
                    "" | "*" => counts.missing += records,
                    value => *counts.stated.entry(value.to_owned()).or_default() += records,
                }
            }
        }
        let mut classes: Vec<EquivalenceClass> = classes.into_values().collect();
        let texts = |class: &EquivalenceClass| -> Vec<String> {
            let key = |(values, index): (&Vec<GeneralisedValue>, &usize)| {
                values[*index].text().to_owned()
            };
            values.iter().zip(&class.keys).map(key).collect()
        };
        classes.sort_by_cached_key(|class| (class.records, texts(class)));
        Self { values, classes }
    }

    /// The classes, the smallest first.
    pub fn classes(&self) -> &[EquivalenceClass] {
        &self.classes
    }

    /// The quasi-identifiers of a class.
    pub fn keys(&self, class: &EquivalenceClass) -> impl Iterator<Item = &GeneralisedValue> {
        self.values.iter().zip(&class.keys).filter_map(|(values, index)| values.get(*index))
    }

    /// All rows.
    pub fn records(&self) -> u64 {
        self.classes.iter().map(|class| class.records).sum()
    }

    /// k: the rows of the smallest class.
    pub fn k(&self) -> Option<u64> {
        self.classes.first().map(|class| class.records)
    }

    /// l: the least number of different values of a sensitive column in a class.
    pub fn diversity(&self, column: usize) -> Option<usize> {
        let different = |class: &EquivalenceClass| Some(class.sensitive.get(column)?.different());
        self.classes.iter().filter_map(different).min()
    }

    /// The values of a sensitive column that a person with these quasi-identifiers may have.
    pub fn possible(&self, person: &[GeneralisedValue], column: usize) -> PossibleValues<'_> {
        let mut possible = PossibleValues { classes: 0, records: 0, values: Some(BTreeSet::new()) };
        for class in &self.classes {
            if self.keys(class).zip(person).all(|(key, value)| key.meets(value)) {
                possible.classes += 1;
                possible.records += class.records;
                let counts = class.sensitive.get(column).filter(|counts| counts.missing == 0);
                possible.values = counts.zip(possible.values).map(|(counts, mut all)| {
                    all.extend(counts.stated.keys().map(String::as_str));
                    all
                });
            }
        }
        possible
    }
}

#[cfg(test)]
mod tests;
