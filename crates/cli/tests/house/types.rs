//! One name, one thing: no two types share a name.

use std::collections::BTreeMap;

use regex::Regex;

use crate::cycles::without_tests;
use crate::modules::{below, code, is_of_tests};
use crate::sources;

/// Names that two types may have, with the reason. Types that implementations of a trait name,
/// such as `Err` of `FromStr`, are the trait's, and none of these.
const SHARED: [(&str, &str); 2] = [
    ("FileId", "what tells files apart on Unix, and what does elsewhere"),
    ("Handlers", "those of Ctrl-C on Unix, and none elsewhere"),
];

/// Whether a file, below `crates`, is of the package for Python: its classes have the names that
/// their users know from the library.
fn is_of_python(path: &str) -> bool {
    path.starts_with("python/")
}

/// The names of a text's types. Within a block `type` is a trait's.
fn types(text: &str) -> Vec<String> {
    const VISIBLE: &str = r"(?:pub(?:\([^)]*\))? )?";
    let kinds = r"(?:struct|enum|trait|union)";
    let definition = format!(r"(?m)^(?:\s*{VISIBLE}{kinds}|{VISIBLE}type) (\w+)");
    let definition = Regex::new(&definition).unwrap();
    definition.captures_iter(text).map(|name| name[1].to_owned()).collect()
}

#[test]
fn no_two_types_share_a_name() {
    let mut paths_by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in below("crates").into_iter().filter(|(path, _)| !is_of_python(path)) {
        let of_tests = path.split_once("/src/").is_none_or(|(_, inside)| is_of_tests(inside));
        for name in types(&without_tests(&code(&text))).into_iter().filter(|_| !of_tests) {
            paths_by_name.entry(name).or_default().push(path.clone());
        }
    }
    assert!(paths_by_name.len() > 1_000, "{} types", paths_by_name.len());
    paths_by_name.retain(|_, paths| paths.len() > 1);
    for (name, reason) in SHARED {
        assert!(paths_by_name.remove(name).is_some(), "one type is called `{name}`: {reason}");
    }
    assert!(paths_by_name.is_empty(), "names of more than one type: {paths_by_name:#?}");
}

/// Those of tests and of programs that do not ship, too, where they are public.
#[test]
fn no_two_public_types_share_a_name() {
    let public = Regex::new(r"(?m)^\s*pub (?:struct|enum|trait|type) (\w+)").unwrap();
    let mut paths_by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in sources() {
        for name in public.captures_iter(text) {
            let path = path.display().to_string();
            paths_by_name.entry(name.get(1).unwrap().as_str()).or_default().push(path);
        }
    }
    assert!(paths_by_name.len() > 250, "{} types", paths_by_name.len());
    paths_by_name.retain(|_, paths| paths.len() > 1);
    assert!(paths_by_name.is_empty(), "names of more than one type: {paths_by_name:#?}");
}

/// Past participles that end the name of a type, with the reason. All other types are nouns.
const PARTICIPLES: [(&str, &str); 8] = [
    ("BudgetExceeded", "the word of the field for this error"),
    ("BytesRead", "a number, of bytes that were read"),
    ("Embedded", "the backend within this process, as databases are embedded"),
    ("FrameBound", "a noun: SQL's word for an end of a window's frame"),
    ("MuSquared", "the square of mu"),
    ("Placed", "a trait of syntax that has a place, and traits may be adjectives"),
    ("Sealed", "a trait, by the name of its idiom"),
    ("TestSeed", "a noun"),
];

/// Words of irregular verbs that a name may end in; all others end in `ed`.
const IRREGULAR: &str = "Bound|Broken|Built|Chosen|Drawn|Found|Given|Grown|Held|Hidden|Kept|Known|\
                         Lost|Made|Meant|Paid|Read|Seen|Sent|Shown|Taken|Told|Written";

#[test]
fn types_are_nouns() {
    let participle = Regex::new(&format!("([a-z]ed|{IRREGULAR})$")).unwrap();
    let mut named = BTreeMap::new();
    for (path, text) in below("crates").into_iter().filter(|(path, _)| !is_of_python(path)) {
        let types = types(&code(&text)).into_iter().filter(|name| participle.is_match(name));
        named.extend(types.map(|name| (name, path.clone())));
    }
    for (name, reason) in PARTICIPLES {
        assert!(named.remove(name).is_some(), "no type is called `{name}`: {reason}");
    }
    assert!(named.is_empty(), "past participles that name types: {named:#?}");
}

#[test]
fn definitions_are_found_and_types_of_traits_are_not() {
    let text = "struct A;\npub(crate) enum B {}\ntype C = u8;\npub type D<T> = T;\n\
                impl FromStr for A {\n    type Err = E;\n}\n\
                mod unix {\n    pub(super) trait F {}\n}\n";
    assert_eq!(types(text), ["A", "B", "C", "D", "F"]);
}
