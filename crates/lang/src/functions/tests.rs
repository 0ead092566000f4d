//! The table of functions: names, examples, and the page that lists them.

use std::collections::BTreeSet;
use std::path::Path;

use super::foreign_names::foreign_names;
use super::{FORMS, WRITTEN, all_names, forms, function_examples};
use crate::aggregate_names::AGGREGATES;
use crate::bind_expression;
use crate::types::ColumnType;

/// Whether a call is one that binds, with `x` of some type.
fn binds(call: &str) -> bool {
    let types = [ColumnType::String, ColumnType::Float, ColumnType::Date];
    types.iter().any(|of_x| {
        let columns = [
            ("x", *of_x),
            ("y", ColumnType::Float),
            ("n", ColumnType::Int),
            ("day", ColumnType::Date),
            ("moment", ColumnType::Timestamp),
        ];
        let columns = columns.map(|(name, column_type)| (name.to_owned(), column_type));
        bind_expression(call, &columns).is_ok()
    })
}

#[test]
fn examples_call_the_functions_that_they_are_of() {
    for form in FORMS.iter().chain(WRITTEN) {
        let call = form.example_call();
        assert!(binds(call), "{call}");
        let called = call.split(['(', '[']).next().unwrap();
        assert!(form.names.contains(&called), "{call} of {:?}", form.names);
    }
    assert!(function_examples().count() > 80);
}

#[test]
fn every_name_is_bound_as_the_first_one_is() {
    for form in FORMS.iter().chain(WRITTEN) {
        let call = form.example_call();
        let called = call.split('(').next().unwrap();
        for name in form.names {
            let other = call.replacen(called, name, 1);
            assert!(binds(&other), "{other}");
        }
        let once: BTreeSet<_> = form.names.iter().collect();
        assert_eq!(once.len(), form.names.len(), "{:?}", form.names);
    }
}

#[test]
fn names_of_other_engines_lead_to_calls_that_work() {
    let mut names = BTreeSet::new();
    for (others, calls) in foreign_names() {
        for name in others {
            assert!(names.insert(*name), "{name} twice");
            // Ours of these names are not for all that others write with them.
            let both = ["TO_CHAR", "CURRENT_DATE"].contains(name);
            assert!(both || forms(name).next().is_none() && !AGGREGATES.contains(name), "{name}");
        }
        for call in calls {
            assert!(binds(call), "{call}");
        }
    }
    assert!(names.len() > 80, "{}", names.len());
}

/// The page of functions has the names of the table, and no others.
#[test]
fn the_page_of_functions_is_that_of_the_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let page = std::fs::read_to_string(page).unwrap();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let code: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let words: BTreeSet<&str> = code.iter().flat_map(|code| code.split(|c| !is_word(c))).collect();
    let missing: Vec<&str> =
        all_names().map(|(name, _)| name).filter(|name| !words.contains(name)).collect();
    assert!(missing.is_empty(), "docs/functions.md lacks {missing:?}");
    // Words before a bracket in the tables' first columns.
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let forms_of_rows = rows.map(|row| row.split(" | ").next().unwrap());
    let known = |name: &str| {
        forms(name).next().is_some()
            || AGGREGATES.contains(&name)
            || ["IN", "ANY", "ALL", "UNNEST", "ARRAY", "OFFSET", "TODAY"].contains(&name)
    };
    for row in forms_of_rows {
        for code in row.split('`').skip(1).step_by(2) {
            for (at, _) in code.match_indices('(') {
                let name = code[..at].rsplit(|c| !is_word(c)).next().unwrap();
                assert!(name.is_empty() || known(name), "{name} in {row}");
            }
        }
    }
}

#[test]
fn the_number_of_arguments_is_that_of_the_signature() {
    let of = |name: &str, count: usize| {
        forms(name)
            .filter_map(|form| form.signature.as_ref())
            .any(|s| s.for_arguments(count).is_some())
    };
    for (name, counts) in [
        ("ABS", [false, true, false, false]),
        ("SUBSTR", [false, false, true, true]),
        ("LPAD", [false, false, true, true]),
        ("GREATEST", [false, true, true, true]),
        ("IFNULL", [false, false, true, false]),
        ("DATE", [false, false, false, true]),
    ] {
        assert_eq!(std::array::from_fn(|count| of(name, count)), counts, "{name}");
    }
}
