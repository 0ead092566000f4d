//! Results of `assess microdata`.

use std::collections::BTreeSet;

use hushtable::MicrodataFile;
use hushtable::knowledge::{
    EquivalenceClass, GeneralisedValue, Linkage, PossibleValues, SingledOut,
};

use super::assess::prose;
use super::grid::{Alignment, TextGrid, visible};
use super::json::{object, text as string};
use super::number::number;

/// Findings in text, unless `--all` is given.
const FEW: usize = 20;

/// Values of a person that are shown in text.
const FEW_VALUES: usize = 6;

const WORDS: &str = "Only published tables were read: whoever has them can find the same, so this \
    is no secret. k is the number of rows in the smallest class, the rows with the same \
    quasi-identifiers; l is the least number of different values of a sensitive column in a class. \
    Neither bounds what is revealed of a person: where all rows of a class have one value, \
    everybody in it has that value, and no k hides it.";

const TOGETHER: &str = " A person in both tables has a value that the classes of both have. That \
    rests on what the tables state being true, and on values being spelled alike in both. \
    Generalised values are the same person's if some value is one of both.";

/// Published microdata, and what is found in them.
pub(crate) struct MicrodataReport {
    pub(crate) quasi: Vec<String>,
    pub(crate) sensitive: Vec<String>,
    pub(crate) tables: Vec<MicrodataFile>,
    /// By sensitive column that two tables have.
    pub(crate) linked: Option<Vec<(usize, Linkage)>>,
    pub(crate) people: Vec<Person>,
    pub(crate) all: bool,
}

/// A person whom the attacker looks for.
pub(crate) struct Person {
    /// By quasi-identifier.
    pub(crate) keys: Vec<GeneralisedValue>,
}

/// A sensitive column of a table.
struct Diversity<'a> {
    column: usize,
    least: usize,
    of_one_value: Vec<(&'a EquivalenceClass, &'a str)>,
}

impl Diversity<'_> {
    fn records(&self) -> u64 {
        self.of_one_value.iter().map(|(class, _)| class.records).sum()
    }
}

impl MicrodataReport {
    /// The sensitive columns that a table has.
    fn diversities<'a>(&self, file: &'a MicrodataFile) -> Vec<Diversity<'a>> {
        let columns = (0..self.sensitive.len()).filter(|column| file.has[*column]);
        columns
            .map(|column| {
                let one = |class: &'a EquivalenceClass| {
                    Some((class, class.sensitive.get(column)?.only()?))
                };
                Diversity {
                    column,
                    least: file.table.diversity(column).unwrap_or_default(),
                    of_one_value: file.table.classes().iter().filter_map(one).collect(),
                }
            })
            .collect()
    }

    fn column(&self, column: usize) -> &str {
        self.sensitive.get(column).map_or("", String::as_str)
    }

    /// `zip=130**, age=<30`; `all` where nothing is known.
    fn who<'a>(&self, keys: impl Iterator<Item = &'a GeneralisedValue>) -> String {
        let named = self.quasi.iter().zip(keys).filter(|(_, key)| !key.is_any());
        let named: Vec<String> =
            named.map(|(name, key)| format!("{name}={}", key.text())).collect();
        if named.is_empty() { "all".to_owned() } else { named.join(", ") }
    }

    fn keys_json<'a>(&self, keys: impl Iterator<Item = &'a GeneralisedValue>) -> String {
        let named = self.quasi.iter().zip(keys).filter(|(_, key)| !key.is_any());
        object(named.map(|(name, key)| (name.as_str(), string(key.text()))))
    }

    /// The class of a table, by its index.
    fn class(&self, table: usize, index: usize) -> Option<Vec<&GeneralisedValue>> {
        let microdata = &self.tables.get(table)?.table;
        Some(microdata.keys(microdata.classes().get(index)?).collect())
    }

    /// The people who are in both of two classes: `age=<30 and <35`.
    fn in_both(&self, pair: &SingledOut) -> String {
        let [Some(first), Some(second)] =
            [0, 1].map(|table| self.class(table, pair.classes[table]))
        else {
            return String::new();
        };
        let both = self.quasi.iter().zip(first.into_iter().zip(second));
        let named: Vec<String> = both
            .filter_map(|(name, (one, two))| match (one.is_any(), two.is_any()) {
                (true, true) => None,
                (false, true) => Some(format!("{name}={}", one.text())),
                (true, false) => Some(format!("{name}={}", two.text())),
                _ if one.text() == two.text() => Some(format!("{name}={}", one.text())),
                _ => Some(format!("{name}={} and {}", one.text(), two.text())),
            })
            .collect();
        if named.is_empty() { "all".to_owned() } else { named.join(", ") }
    }

    fn words(&self) -> String {
        format!("{WORDS}{}", if self.tables.len() > 1 { TOGETHER } else { "" })
    }

    /// On one line.
    pub(crate) fn json(&self) -> String {
        let tables = self.tables.iter().map(|file| self.table_json(file));
        let mut fields = vec![
            ("quasi_identifiers", list(self.quasi.iter().map(|name| string(name)))),
            ("tables", list(tables)),
        ];
        if let Some(linked) = &self.linked {
            let columns =
                linked.iter().map(|(column, linkage)| self.linkage_json(*column, linkage));
            fields.push(("together", list(columns)));
        }
        if !self.people.is_empty() {
            fields
                .push(("people", list(self.people.iter().map(|person| self.person_json(person)))));
        }
        fields.push(("assumptions", string(&self.words())));
        format!("{}\n", object(fields))
    }

    fn table_json(&self, file: &MicrodataFile) -> String {
        let sensitive = self.diversities(file).into_iter().map(|diversity| {
            let classes = diversity.of_one_value.iter().map(|(class, value)| {
                object([
                    ("keys", self.keys_json(file.table.keys(class))),
                    ("records", class.records.to_string()),
                    ("value", string(value)),
                ])
            });
            object([
                ("column", string(self.column(diversity.column))),
                ("l", diversity.least.to_string()),
                ("records_of_one_value", diversity.records().to_string()),
                ("classes_of_one_value", list(classes)),
            ])
        });
        object([
            ("table", string(&file.name)),
            ("records", file.table.records().to_string()),
            ("classes", file.table.classes().len().to_string()),
            ("k", file.table.k().unwrap_or_default().to_string()),
            ("sensitive", list(sensitive)),
        ])
    }

    fn linkage_json(&self, column: usize, linkage: &Linkage) -> String {
        let pairs = linkage.singled_out.iter().map(|pair| {
            let keys = |table: usize| {
                let class = self.class(table, pair.classes[table]).unwrap_or_default();
                self.keys_json(class.into_iter())
            };
            object([
                ("first", keys(0)),
                ("second", keys(1)),
                ("value", string(&pair.value)),
                ("people_at_most", pair.people.to_string()),
            ])
        });
        object([
            ("column", string(self.column(column))),
            ("pairs", linkage.pairs.to_string()),
            ("one_value_already", linkage.one_already.to_string()),
            ("one_value_left", linkage.singling_out.to_string()),
            ("fewer_values_left", linkage.narrowed.to_string()),
            ("no_value_left", linkage.nobody.to_string()),
            ("singled_out", list(pairs)),
        ])
    }

    /// The values of each sensitive column that a person may have: by table, and in all of them.
    fn possible(&self, person: &Person, column: usize) -> (Vec<PossibleValues<'_>>, Left) {
        let files = self.tables.iter().filter(|file| file.has[column]);
        let by_table: Vec<PossibleValues<'_>> =
            files.map(|file| file.table.possible(&person.keys, column)).collect();
        let left = match by_table.as_slice() {
            [one, two] => one.in_both(two),
            [one] => one.in_both(one),
            _ => None,
        };
        (by_table, left)
    }

    fn person_json(&self, person: &Person) -> String {
        let columns = (0..self.sensitive.len()).map(|column| {
            let (by_table, left) = self.possible(person, column);
            let tables = self.tables.iter().filter(|file| file.has[column]).zip(&by_table);
            let tables = tables.map(|(file, possible)| {
                let values = possible.values.as_ref();
                let values = values.map(|set| list(set.iter().map(|value| string(value))));
                object([
                    ("table", string(&file.name)),
                    ("classes", possible.classes.to_string()),
                    ("records", possible.records.to_string()),
                    ("values", values.unwrap_or_else(|| "null".to_owned())),
                ])
            });
            let left = left.map(|set| list(set.iter().map(|value| string(value))));
            object([
                ("column", string(self.column(column))),
                ("tables", list(tables)),
                ("values", left.unwrap_or_else(|| "null".to_owned())),
            ])
        });
        object([("keys", self.keys_json(person.keys.iter())), ("sensitive", list(columns))])
    }

    /// For people.
    pub(crate) fn text(&self, verbose: bool) -> String {
        let quasi: Vec<String> = self.quasi.iter().map(|name| visible(name)).collect();
        let mut out = format!("Published microdata, by {}\n\n", quasi.join(", "));
        out += &self.summary().text(0);
        out += &self.of_one_value();
        if let Some(linked) = &self.linked {
            for (column, linkage) in linked {
                out += &self.linkage_text(*column, linkage);
            }
        }
        for person in &self.people {
            out += &self.person_text(person);
        }
        out.push('\n');
        out += &prose(&self.words(), verbose);
        out
    }

    fn summary(&self) -> TextGrid {
        let headings = [
            ("table", Alignment::Left),
            ("records", Alignment::Right),
            ("classes", Alignment::Right),
            ("k", Alignment::Right),
            ("sensitive", Alignment::Left),
            ("l", Alignment::Right),
            ("in classes of one value", Alignment::Left),
        ];
        let mut grid = TextGrid::new(headings).underlined();
        for file in &self.tables {
            let records = file.table.records();
            for diversity in self.diversities(file) {
                let one = diversity.records();
                // Records are at least one, as a table without any is refused.
                let share = 100.0 * one as f64 / records as f64;
                let one = match diversity.of_one_value.len() {
                    0 => "nobody".to_owned(),
                    classes => format!(
                        "{} records ({share:.1} %) in {} of {} classes",
                        whole(one),
                        whole(classes as u64),
                        whole(file.table.classes().len() as u64)
                    ),
                };
                grid.push([
                    visible(&file.name),
                    whole(records),
                    whole(file.table.classes().len() as u64),
                    whole(file.table.k().unwrap_or_default()),
                    visible(self.column(diversity.column)),
                    whole(diversity.least as u64),
                    one,
                ]);
            }
        }
        grid
    }

    fn limit(&self, all: usize) -> usize {
        if self.all { all } else { FEW }
    }

    fn of_one_value(&self) -> String {
        let headings = [
            ("everybody in class", Alignment::Left),
            ("of", Alignment::Left),
            ("records", Alignment::Right),
            ("has", Alignment::Left),
        ];
        let mut grid = TextGrid::new(headings).underlined();
        let mut all = 0;
        for file in &self.tables {
            for diversity in self.diversities(file) {
                for (class, value) in &diversity.of_one_value {
                    all += 1;
                    if all <= self.limit(all) {
                        let has = format!("{}={value}", self.column(diversity.column));
                        let who = self.who(file.table.keys(class));
                        let records = whole(class.records);
                        grid.push([visible(&who), visible(&file.name), records, visible(&has)]);
                    }
                }
            }
        }
        if all == 0 {
            return String::new();
        }
        format!("\n{}{}", grid.text(0), more(all, self.limit(all)))
    }

    fn linkage_text(&self, column: usize, linkage: &Linkage) -> String {
        let name = visible(self.column(column));
        let mut facts = TextGrid::pairs();
        facts.push(["pairs of classes that can hold one person", &whole(linkage.pairs)]);
        facts.push(["one value left, several in each table alone", &whole(linkage.singling_out)]);
        facts.push(["fewer values left than in each alone", &whole(linkage.narrowed)]);
        facts.push(["one value already in a table", &whole(linkage.one_already)]);
        facts.push(["no value left: nobody is in both", &whole(linkage.nobody)]);
        let mut out = format!("\nBoth tables together, {name} of those who are in both\n");
        out += &facts.text(2);
        if linkage.singled_out.is_empty() {
            return out;
        }
        let headings = [
            ("everybody in both with", Alignment::Left),
            ("people", Alignment::Right),
            ("has", Alignment::Left),
        ];
        let mut grid = TextGrid::new(headings).underlined();
        let limit = self.limit(linkage.singled_out.len());
        for pair in linkage.singled_out.iter().take(limit) {
            let has = format!("{}={}", self.column(column), pair.value);
            let people = format!("≤ {}", whole(pair.people));
            grid.push([visible(&self.in_both(pair)), people, visible(&has)]);
        }
        let rest = usize::try_from(linkage.singling_out).unwrap_or(usize::MAX);
        out += &format!("\n{}{}", grid.text(0), more(rest, limit));
        out
    }

    fn person_text(&self, person: &Person) -> String {
        let mut out = format!("\nA person with {}\n\n", visible(&self.who(person.keys.iter())));
        let headings = [
            ("table", Alignment::Left),
            ("classes", Alignment::Right),
            ("records", Alignment::Right),
            ("may have", Alignment::Left),
        ];
        let mut grid = TextGrid::new(headings).underlined();
        for column in 0..self.sensitive.len() {
            let name = self.column(column);
            let (by_table, left) = self.possible(person, column);
            let tables = self.tables.iter().filter(|file| file.has[column]).zip(&by_table);
            for (file, possible) in tables {
                let values = match possible.classes {
                    0 => "not in this table".to_owned(),
                    _ => values(name, possible.values.as_ref()),
                };
                let (classes, records) = (whole(possible.classes as u64), whole(possible.records));
                grid.push([visible(&file.name), classes, records, values]);
            }
            if by_table.len() > 1 && by_table.iter().all(|possible| possible.classes > 0) {
                let left: Option<BTreeSet<&str>> =
                    left.as_ref().map(|set| set.iter().map(String::as_str).collect());
                let values = values(name, left.as_ref());
                grid.push(["both".to_owned(), String::new(), String::new(), values]);
            }
        }
        out += &grid.text(0);
        out
    }
}

/// The values that are left in all tables; `None` for any.
type Left = Option<BTreeSet<String>>;

/// `condition=AIDS or Flu`.
fn values(column: &str, values: Option<&BTreeSet<&str>>) -> String {
    let Some(values) = values else { return visible(&format!("{column}: any value")) };
    let listed: Vec<&str> = values.iter().copied().take(FEW_VALUES).collect();
    match values.len() {
        0 => visible(&format!("{column}: no value, so nobody like this is in both")),
        1..=FEW_VALUES => visible(&format!("{column}={}", listed.join(" or "))),
        all => visible(&format!(
            "{column}={} or {} others",
            listed.join(" or "),
            whole((all - FEW_VALUES) as u64)
        )),
    }
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(","))
}

fn more(all: usize, listed: usize) -> String {
    match all.saturating_sub(listed) {
        0 => String::new(),
        rest => format!("… and {} more; --all shows them\n", whole(rest as u64)),
    }
}

fn whole(count: u64) -> String {
    number(count as f64)
}
