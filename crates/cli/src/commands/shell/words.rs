//! Completion of names: tables, columns, functions, options and the shell's own commands.

use hushtable::query::{Contract, function_names, option_names};
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::command::COMMANDS;

/// Words that begin a clause.
const CLAUSES: [&str; 16] = [
    "SELECT",
    "WITH",
    "DIFFERENTIAL_PRIVACY",
    "OPTIONS",
    "FROM",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "JOIN",
    "DISTINCT",
    "AS",
    "AND",
    "UNION ALL",
    "BETWEEN",
];

/// Every word that can be completed.
pub(super) struct Completions {
    tables: Vec<String>,
    all: Vec<String>,
}

impl Completions {
    /// The contract's names, and those of the language. They are declared, not read from data.
    pub(super) fn of(contract: &Contract) -> Self {
        let tables: Vec<String> = contract.tables.keys().cloned().collect();
        let columns = contract.tables.values().flat_map(|table| &table.columns);
        let columns = columns.map(|column| column.name.clone());
        let language = function_names().chain(option_names()).chain(CLAUSES).map(str::to_owned);
        let mut all: Vec<String> = tables.iter().cloned().chain(columns).chain(language).collect();
        all.sort_by_key(|word| word.to_lowercase());
        all.dedup();
        Self { tables, all }
    }

    /// Where the word before the cursor begins, and the words that it may become.
    fn completed(&self, line: &str, cursor: usize) -> (usize, Vec<String>) {
        let before = line.get(..cursor).unwrap_or(line);
        let start = before
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\\'))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let word = &before[start..];
        let begins = |candidate: &&str| {
            let head = candidate.get(..word.len());
            !word.is_empty() && head.is_some_and(|head| head.eq_ignore_ascii_case(word))
        };
        let candidates: Vec<String> = if word.starts_with('\\') {
            COMMANDS.iter().map(|(name, ..)| *name).filter(begins).map(str::to_owned).collect()
        } else if before.trim_start().starts_with("\\d ") {
            let tables = self.tables.iter().map(String::as_str);
            tables.filter(|table| word.is_empty() || begins(table)).map(str::to_owned).collect()
        } else {
            self.all.iter().map(String::as_str).filter(begins).map(str::to_owned).collect()
        };
        (start, candidates)
    }
}

impl Completer for Completions {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.completed(line, cursor))
    }
}

impl Hinter for Completions {
    type Hint = String;
}

impl Highlighter for Completions {}
impl Validator for Completions {}
impl Helper for Completions {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed() {
        let contract = r#"
            [tables.visits]
            path = "visits.csv"
            privacy_unit = "customer_id"
            [tables.visits.columns]
            customer_id = { type = "int" }
            visited_on = { type = "date" }
            [tables.visits.budgets]
            ana = { epsilon = 1 }
        "#;
        let words = Completions::of(&Contract::parse(contract, "hushtable.toml").unwrap());
        let completed = |line: &str| words.completed(line, line.len());
        assert_eq!(completed("SELECT COUNT(DISTINCT cust"), (22, vec!["customer_id".to_owned()]));
        assert_eq!(completed("FROM vis").1, ["visited_on", "visits"]);
        assert_eq!(completed("date_t").1, ["DATE_TRUNC"]);
        assert_eq!(completed("OPTIONS (max_g").1, ["max_groups_contributed"]);
        assert_eq!(completed("\\d ").1, ["visits"]);
        assert_eq!(completed("\\ex").1, ["\\explain"]);
        assert!(completed("größe ").1.is_empty());
        assert!(completed("").1.is_empty());
    }
}
