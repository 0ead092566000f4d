//! Texts that say how tables hold the privacy units: the ledger keeps them with each charge.

use std::collections::BTreeMap;

use super::units::TableUnit;
use super::{Contract, Population, Table};

impl Contract {
    /// How the tables of a population hold its units: the text of each, by the table's name.
    pub fn units_of(&self, population: &Population) -> BTreeMap<String, String> {
        let belongs =
            |table: &&Table| table.population.as_deref() == Some(population.name.as_str());
        let tables = self.tables.values().filter(belongs);
        tables.map(|table| (table.name.clone(), table.unit_text())).collect()
    }
}

impl Table {
    /// How it holds the privacy units, as a text that no other table and no other way has, with its
    /// own column as files name it: `visits.customer_id`, `rows of visits`, `bills.visit_id
    /// references visits.visit_id`.
    pub fn unit_text(&self) -> String {
        let table_name = identifier(&self.name);
        match &self.unit_in_files() {
            TableUnit::Row => format!("rows of {table_name}"),
            TableUnit::Column(column) => format!("{table_name}.{}", identifier(column)),
            TableUnit::Through { column, table, references } => format!(
                "{table_name}.{} references {}.{}",
                identifier(column),
                identifier(table),
                identifier(references)
            ),
            TableUnit::Public => format!("nobody in {table_name}"),
        }
    }
}

/// A name as SQL has it: in double quotes where it is not plain, so that no two texts of different
/// names are the same.
fn identifier(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    match !name.is_empty() && name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_way_to_hold_the_units_has_a_text_of_its_own() {
        let names = ["t", "row", "rows of t", "t.c", "c references t", "\"t\"", "t\"", "c", ""];
        let mut units = vec![TableUnit::Row, TableUnit::Public];
        for column in names.map(str::to_owned) {
            units.push(TableUnit::Column(column.clone()));
            for (table, references) in names.iter().flat_map(|t| names.map(|r| (*t, r))) {
                let (table, references) = (table.to_owned(), references.to_owned());
                units.push(TableUnit::Through { column: column.clone(), table, references });
            }
        }
        let text = |(name, unit): (&str, &TableUnit)| {
            let table = Table {
                name: name.to_owned(),
                path: None,
                csv: None,
                population: None,
                unit: unit.clone(),
                unique: Vec::new(),
                owner: None,
                group_selection_by_pieces: false,
                columns: Vec::new(),
            };
            table.unit_text()
        };
        let all = names.iter().flat_map(|name| units.iter().map(move |unit| (*name, unit)));
        let texts: BTreeSet<String> = all.map(text).collect();
        assert_eq!(texts.len(), names.len() * units.len());
    }
}
