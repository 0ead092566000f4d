//! Whether numbers in documents are those of the code.

use std::collections::BTreeMap;

use regex::Regex;

use super::{read, sources};

/// Numbers that a document states, with the words around them and the constant that each is: the
/// name of its file, and its own.
const NUMBERS: [(&str, &str, &str); 35] = [
    ("docs/inside.md", "brackets match, nest at most {} deep", "sql::MAX_NESTING"),
    ("docs/inside.md", "the tokens more than {} times in all", "token_limits::MAX_WORK"),
    ("docs/inside.md", "makes a charge fail after {} s", "file::BUSY_SECONDS"),
    ("docs/inside.md", "at once, at most {})", "lower::MOST_UNIT_PARTITIONS"),
    ("docs/inside.md", "Bounds are at most {} steps", "lattice::MAX_LATTICE"),
    ("docs/inside.md", "counts as at most {} steps", "contributions::LARGEST"),
    ("docs/inside.md", "the {} counts whose chances are tabled", "optimal::TABLE"),
    ("docs/inside.md", "finer by {} random binary digits", "joint_quantiles::FINE"),
    ("docs/limits.md", "nested brackets | {};", "sql::MAX_QUERY_BYTES"),
    ("docs/limits.md", "in the same way | {} |", "settle::MAX_NODES"),
    ("docs/limits.md", "private parts | {} |", "parts::MAX_PARTS"),
    ("docs/limits.md", "columns of a `SELECT` | {} |", "released_tables::MAX_OUTPUTS"),
    ("docs/limits.md", "a window counts as {} |", "around::PER_WINDOW"),
    ("docs/limits.md", "a window counts as 100 | {} |", "around::MAX_COLUMNS"),
    ("docs/limits.md", "about 10 ns each | {} |", "prepared::MAX_STEPS"),
    ("docs/limits.md", "beyond the rows of these | {} |", "pairs::MAX_PAIRS"),
    ("docs/limits.md", "which the private parts share | {} |", "explain::MAX_PRECISE"),
    ("docs/semantics.md", "the column's `max_bytes`, {} by default", "types::DEFAULT_TEXT_BYTES"),
    ("docs/semantics.md", "takes text of more than {} bytes", "types::MAX_NUMBER_BYTES"),
    ("docs/semantics.md", "Expressions are at most {} deep", "bind_expr::MAX_DEPTH"),
    ("docs/semantics.md", "deep and have at most {} parts", "bind_expr::MAX_NODES"),
    ("docs/semantics.md", "One row may cost at most {} operations", "cost::MAX_ROW_OPERATIONS"),
    ("docs/contract.md", "`max_groups_contributed` is at most {}.", "defaults::MAX_GROUPS"),
    ("docs/contract.md", "query together, from 1 to {};", "units::MAX_MATCHES"),
    ("docs/contract.md", "from 1 to {} bytes, 1,024 by default", "types::MAX_STRING_BYTES"),
    ("docs/functions.md", "a table of at most {} states", "state_table::MAX_STATES"),
    ("docs/tables.md", "have at most {} operations together", "query::MAX_RELATION_OPERATIONS"),
    ("docs/tables.md", "NOT EXISTS at most {} beside", "query::MAX_MATCH_OPERATIONS"),
    ("docs/tables.md", "one row meets at most {} rows", "units::DEFAULT_MATCHES"),
    ("SECURITY.md", "read at most {} times for one charge", "payment::MOST_ATTEMPTS"),
    ("SECURITY.md", "refuses a query of more than {} (", "cost::MAX_ROW_OPERATIONS"),
    ("SECURITY.md", "such rows, come to at most {}:", "one_row::MAX_ADDED_OPERATIONS"),
    ("SECURITY.md", "at most {} operations beside equalities", "query::MAX_MATCH_OPERATIONS"),
    ("SECURITY.md", "together have at most {} operations", "query::MAX_RELATION_OPERATIONS"),
    ("ARCHITECTURE.md", "at most {} times, and never after it", "payment::MOST_ATTEMPTS"),
];

/// The whole numbers that are constants, by file and name, as documents write them.
fn constants() -> BTreeMap<String, Vec<String>> {
    let constant = Regex::new(r"const ([A-Z_0-9]+): \w+ = ([0-9_]+)(?: << ([0-9]+))?;").unwrap();
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources() {
        let file = path.file_stem().unwrap().to_str().unwrap();
        for found in constant.captures_iter(text) {
            let digits = found[2].replace('_', "");
            let value = match found.get(3) {
                Some(power) if digits == "1" => format!("2^{}", power.as_str()),
                _ => with_commas(&digits),
            };
            all.entry(format!("{file}::{}", &found[1])).or_default().push(value);
        }
    }
    all
}

/// Digits in threes.
fn with_commas(digits: &str) -> String {
    let bytes: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    bytes.iter().map(|three| str::from_utf8(three).unwrap()).collect::<Vec<_>>().join(",")
}

#[test]
fn numbers_in_documents_are_those_of_the_code() {
    let constants = constants();
    let mut wrong = Vec::new();
    for (page, words, name) in NUMBERS {
        let text = read(page).split_whitespace().collect::<Vec<_>>().join(" ");
        let Some(values) = constants.get(name) else {
            wrong.push(format!("{page}: no constant is {name}"));
            continue;
        };
        if !values.iter().any(|value| text.contains(&words.replace("{}", value))) {
            wrong.push(format!("{page} does not say «{words}» of {name}, which is {values:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(with_commas("1000000"), "1,000,000");
    assert_eq!(with_commas("60"), "60");
}
