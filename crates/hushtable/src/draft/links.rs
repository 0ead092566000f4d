//! Keys and references between tables, guessed from names and types of columns.

use hushtable_lang::ColumnType;

use super::DraftTable;

/// The units that tables seem to hold.
pub(super) struct SuggestedUnits {
    /// The kind of unit, as a name in SQL.
    pub(super) unit: String,
    /// By table.
    pub(super) tables: Vec<Holds>,
}

/// How a table seems to hold the units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Column(String),
    Through {
        column: String,
        table: String,
        references: String,
    },
    /// Its names do not tell; perhaps it is public.
    Unknown {
        /// The column that names its rows, which are then all different in it.
        key: Option<String>,
    },
}

/// Kinds of units that names of columns and tables tell, the likelier ones first.
const UNITS: [&str; 27] = [
    "person",
    "patient",
    "customer",
    "client",
    "user",
    "member",
    "citizen",
    "resident",
    "individual",
    "employee",
    "worker",
    "student",
    "pupil",
    "participant",
    "respondent",
    "subject",
    "taxpayer",
    "subscriber",
    "author",
    "household",
    "family",
    "owner",
    "company",
    "firm",
    "establishment",
    "farm",
    "supplier",
];

/// Last words of the names of keys.
const KEYS: [&str; 10] =
    ["id", "key", "no", "nr", "num", "number", "nummer", "code", "uuid", "kennung"];

/// Ends of words that are the names of keys in German: `Kundennummer`.
const KEY_ENDS: [&str; 3] = ["nummer", "nr", "id"];

/// Kinds of units in German and French, beside their names in English.
const FOREIGN_UNITS: [(&str, &str); 34] = [
    ("person", "personen"),
    ("patient", "patienten"),
    ("patient", "patientin"),
    ("customer", "kunde"),
    ("customer", "kunden"),
    ("customer", "kundin"),
    ("client", "klient"),
    ("client", "klienten"),
    ("client", "mandant"),
    ("client", "mandanten"),
    ("user", "nutzer"),
    ("user", "benutzer"),
    ("user", "usager"),
    ("member", "mitglied"),
    ("member", "mitglieder"),
    ("member", "mitglieds"),
    ("member", "adhérent"),
    ("citizen", "bürger"),
    ("resident", "einwohner"),
    ("employee", "mitarbeiter"),
    ("employee", "salarié"),
    ("student", "studenten"),
    ("student", "étudiant"),
    ("pupil", "schüler"),
    ("pupil", "élève"),
    ("participant", "teilnehmer"),
    ("subscriber", "versicherten"),
    ("subscriber", "assuré"),
    ("household", "haushalt"),
    ("household", "haushalts"),
    ("household", "ménage"),
    ("person", "personne"),
    ("company", "firmen"),
    ("company", "entreprise"),
];

/// A column that seems to name something.
struct Naming {
    column: String,
    column_type: ColumnType,
    /// The thing that it names, in the singular: `customer` for `customer_id`.
    entity: String,
}

/// A table with the columns that seem to name something.
struct NamingTable<'a> {
    name: &'a str,
    /// The thing that a row is, in the singular.
    entity: String,
    columns: Vec<Naming>,
}

impl SuggestedUnits {
    pub(super) fn of(tables: &[DraftTable]) -> Self {
        let tables = known(tables);
        let unit = UNITS.into_iter().enumerate().max_by_key(|(index, unit)| {
            let holding = tables.iter().filter(|table| table.naming(unit).is_some());
            // The first of those that the most tables have.
            (holding.count(), UNITS.len() - index)
        });
        let unit = unit.map_or(UNITS[0], |(_, unit)| unit);
        let direct = |table: &NamingTable<'_>| {
            let unit_column =
                table.naming(unit).map(|unit_column| Holds::Column(unit_column.column.clone()));
            let key = || table.key().map(|key| key.column.clone());
            unit_column.unwrap_or_else(|| Holds::Unknown { key: key() })
        };
        let mut holds: Vec<Holds> = tables.iter().map(direct).collect();
        // Each round reaches tables that are one reference further away.
        for _ in 0..tables.len() {
            let found = holds.iter().zip(&tables).map(|(current, table)| match current {
                Holds::Unknown { .. } => table.through(&tables, &holds),
                _ => None,
            });
            let found: Vec<Option<Holds>> = found.collect();
            for (current, found) in holds.iter_mut().zip(found) {
                if let Some(found) = found {
                    *current = found;
                }
            }
        }
        Self { unit: unit.to_owned(), tables: holds }
    }
}

impl NamingTable<'_> {
    /// The column that names such a thing.
    fn naming(&self, entity: &str) -> Option<&Naming> {
        self.columns.iter().find(|column| column.entity == entity)
    }

    /// The column that names its rows.
    fn key(&self) -> Option<&Naming> {
        self.naming(&self.entity)
    }

    /// A reference to a row of a table that holds units: to its key, or else to a column of the
    /// same name.
    fn through(&self, tables: &[Self], holds: &[Holds]) -> Option<Holds> {
        let holding = || {
            let all = tables.iter().zip(holds);
            let held = all.filter(|(_, holds)| !matches!(holds, Holds::Unknown { .. }));
            held.map(|(table, _)| table)
        };
        let to = |column: &Naming, table: &Self, target: &Naming| {
            (column.column_type == target.column_type).then(|| Holds::Through {
                column: column.column.clone(),
                table: table.name.to_owned(),
                references: target.column.clone(),
            })
        };
        let to_key = |column: &Naming| {
            holding()
                .filter(|table| table.entity == column.entity)
                .find_map(|table| to(column, table, table.key()?))
        };
        let to_same_name = |column: &Naming| {
            holding().find_map(|table| {
                let same = table.columns.iter().find(|other| other.column == column.column)?;
                to(column, table, same)
            })
        };
        // A column that names its own rows refers to nothing.
        let others = || self.columns.iter().filter(|column| column.entity != self.entity);
        others().find_map(to_key).or_else(|| others().find_map(to_same_name))
    }
}

fn known(tables: &[DraftTable]) -> Vec<NamingTable<'_>> {
    let names: Vec<String> = tables.iter().map(|table| entity_of_table(&table.name)).collect();
    let each = tables.iter().zip(&names).map(|(table, table_entity)| {
        let columns = table.columns.iter().filter_map(|column| {
            let column_type = table.type_of(column)?;
            let entity = entity_of_column(&column.name, table_entity)?;
            // `cust` of `custkey`, where there is a table of customers.
            let whole = names.iter().find(|name| entity.len() > 2 && name.starts_with(&entity));
            let entity = whole.cloned().unwrap_or(entity);
            matches!(column_type, ColumnType::Int | ColumnType::String).then(|| Naming {
                column: column.name.clone(),
                column_type,
                entity,
            })
        });
        NamingTable { name: &table.name, entity: table_entity.clone(), columns: columns.collect() }
    });
    each.collect()
}

/// The thing that a row of a table is: `visit` for `shop_visits`.
fn entity_of_table(name: &str) -> String {
    let last = words(name).into_iter().rev().find(|word| !word.chars().all(|c| c.is_ascii_digit()));
    singular(&last.unwrap_or_default())
}

/// The thing that a column names, if it is a key by its name; `own` is the thing that a row is.
fn entity_of_column(name: &str, table_entity: &str) -> Option<String> {
    let mut words = words(name);
    // `o_orderkey`: many schemas begin all names of a table with its letter.
    if words.len() > 1 && words.first().is_some_and(|first| first.chars().count() <= 2) {
        words.remove(0);
    }
    let last = words.pop()?;
    if let Some(unit) = KEY_ENDS.iter().find_map(|end| foreign_unit(last.strip_suffix(end)?)) {
        return Some(unit);
    }
    if KEYS.contains(&last.as_str()) {
        return Some(words.pop().map_or_else(|| table_entity.to_owned(), |word| entity(&word)));
    }
    if let Some(stem) = last.strip_suffix("key").filter(|stem| stem.len() > 2) {
        return Some(singular(stem));
    }
    let last = entity(&last);
    (words.is_empty() && (UNITS.contains(&last.as_str()) || last == table_entity)).then_some(last)
}

/// The unit that a word of another language names.
fn foreign_unit(word: &str) -> Option<String> {
    let known = FOREIGN_UNITS.iter().find(|(_, foreign)| *foreign == word);
    known.map(|(unit, _)| (*unit).to_owned())
}

/// The thing that a word names: a unit in English, or the word in the singular.
fn entity(word: &str) -> String {
    foreign_unit(word).unwrap_or_else(|| singular(word))
}

/// The words of a name, in small letters: those of `customer_id` and of `customerId` are the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_small = false;
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && before_small);
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before_small = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn singular(word: &str) -> String {
    match word {
        "people" | "persons" => return "person".to_owned(),
        _ => {}
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    let hissing = ["sses", "xes", "ches", "shes"];
    if let Some(stem) = word.strip_suffix("es")
        && hissing.iter().any(|end| word.ends_with(end))
    {
        return stem.to_owned();
    }
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use hushtable_engine::FileColumn;

    use super::*;

    /// Tables of columns that are whole numbers; `:s` after a name makes it text.
    fn suggested(tables: &[(&str, &[&str])]) -> (String, Vec<Holds>) {
        let mut all: Vec<DraftTable> = Vec::new();
        for (name, columns) in tables {
            let column = |column: &&str| {
                let (name, column_type) = match column.strip_suffix(":s") {
                    Some(name) => (name, ColumnType::String),
                    None => (*column, ColumnType::Int),
                };
                let (name, file_type) = (name.to_owned(), String::new());
                FileColumn { name, column_type: Some(column_type), file_type }
            };
            let columns = columns.iter().map(column).collect();
            all.push(DraftTable::new(name, String::new(), columns, &all));
        }
        let SuggestedUnits { unit, tables } = SuggestedUnits::of(&all);
        (unit, tables)
    }

    fn column(name: &str) -> Holds {
        Holds::Column(name.to_owned())
    }

    fn through(column: &str, table: &str, references: &str) -> Holds {
        let [column, table, references] = [column, table, references].map(str::to_owned);
        Holds::Through { column, table, references }
    }

    fn unknown(key: Option<&str>) -> Holds {
        Holds::Unknown { key: key.map(str::to_owned) }
    }

    #[test]
    fn names_tell_units_keys_and_references() {
        let (unit, holds) = suggested(&[
            ("visits.csv", &["visit_id", "person_id", "town:s"]),
            ("claims.csv", &["claim_id", "visit_id", "amount"]),
            ("towns.csv", &["town:s", "region:s"]),
        ]);
        assert_eq!(unit, "person");
        let visits = through("visit_id", "visits", "visit_id");
        assert_eq!(holds, [column("person_id"), visits, unknown(Some("town"))]);
        // `id` names the rows of its own table; two steps away.
        let (unit, holds) = suggested(&[
            ("lines.csv", &["id", "order_id", "productId"]),
            ("customers.csv", &["id", "name:s"]),
            ("orders.csv", &["id", "customer_id", "day:s"]),
            ("returns.csv", &["lineId", "reason:s"]),
        ]);
        assert_eq!(unit, "customer");
        let expected = [
            through("order_id", "orders", "id"),
            column("id"),
            column("customer_id"),
            through("lineId", "lines", "id"),
        ];
        assert_eq!(holds, expected);
        // As TPC-H writes names.
        let (unit, holds) = suggested(&[
            ("customer.csv", &["c_custkey", "c_nationkey"]),
            ("orders.csv", &["o_orderkey", "o_custkey"]),
            ("lineitem.csv", &["l_orderkey", "l_partkey", "l_suppkey"]),
            ("nation.csv", &["n_nationkey", "n_name:s"]),
        ]);
        assert_eq!(unit, "customer");
        let expected = [
            column("c_custkey"),
            column("o_custkey"),
            through("l_orderkey", "orders", "o_orderkey"),
            unknown(Some("n_nationkey")),
        ];
        assert_eq!(holds, expected);
    }

    #[test]
    fn types_must_agree_and_what_names_do_not_tell_is_left_open() {
        let (unit, holds) = suggested(&[
            ("visits.csv", &["visit_id", "patient"]),
            ("claims.csv", &["visit_id:s", "amount"]),
        ]);
        assert_eq!((unit.as_str(), &holds[1]), ("patient", &unknown(None)));
        let (unit, holds) = suggested(&[("a.csv", &["x", "y"]), ("b.csv", &["x", "z"])]);
        assert_eq!((unit.as_str(), holds), ("person", vec![unknown(None), unknown(None)]));
        // Keys of the same name in tables of other names.
        let (_, holds) = suggested(&[
            ("stays.csv", &["case_no", "patient_id"]),
            ("drugs.csv", &["case_no", "drug:s"]),
        ]);
        assert_eq!(holds[1], through("case_no", "stays", "case_no"));
    }

    #[test]
    fn units_have_names_in_other_languages() {
        for name in ["Kunden-Nr.", "KundenNr", "Kundennummer", "kunden_id", "customer_id", "Kunde"]
        {
            let (unit, holds) = suggested(&[("umsatz.csv", &["Datum:s", name, "Betrag"])]);
            assert_eq!((unit.as_str(), &holds[0]), ("customer", &column(name)), "{name}");
        }
        let (unit, holds) = suggested(&[("visites.csv", &["no_assuré", "coût"])]);
        assert_eq!((unit.as_str(), &holds[0]), ("subscriber", &column("no_assuré")));
        for name in ["Nr.", "paid", "nummer", "id"] {
            let (_, holds) = suggested(&[("umsatz.csv", &["Datum:s", name, "Betrag"])]);
            assert!(matches!(&holds[0], Holds::Unknown { .. }), "{name}");
        }
    }

    #[test]
    fn words_and_singulars() {
        assert_eq!(words("customerId"), ["customer", "id"]);
        assert_eq!(words("l_orderkey"), ["l", "orderkey"]);
        assert_eq!(words("ID"), ["id"]);
        assert_eq!(words(" größe (m) "), ["größe", "m"]);
        for (word, one) in [
            ("visits", "visit"),
            ("people", "person"),
            ("companies", "company"),
            ("addresses", "address"),
            ("boxes", "box"),
            ("address", "address"),
            ("bus", "bus"),
        ] {
            assert_eq!(singular(word), one, "{word}");
        }
    }
}
