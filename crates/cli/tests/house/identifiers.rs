//! Names say what a thing is: words that fit anything are no names.

use regex::Regex;

use crate::modules::code;
use crate::{root, sources};

/// Where `place` is the word for a place in a text.
const PLACES: [&str; 9] = [
    "crates/cli/src/failure.rs",
    "crates/cli/src/rendered.rs",
    "crates/errors/src/lib.rs",
    "crates/lang/src/error.rs",
    "crates/lang/src/lib.rs",
    "crates/lang/src/place.rs",
    "crates/plan/src/bind/parts/extract.rs",
    "crates/plan/src/bind/parts/looked_up.rs",
    "crates/python/src/exceptions.rs",
];

/// Words that a reader would not search for, each with what to say for it.
const WORDS: [(&str, &str); 4] = [
    (r"\b(?:is_|has_)?(?:own|owns)\b", "what it belongs to"),
    (r"\bis_(?:asked|wanted|made|told)\b", "requested, needed, or what it is"),
    (r"\bplace\b", "index, column, span, rank"),
    (r"\bfn (?:told|made|kept|asked|wanted)\b", "what it gives"),
];

/// The text without comments and without what stands in quotes.
fn names_of(text: &str) -> String {
    let joined = Regex::new(r"\\\n\s*").unwrap().replace_all(text, "").into_owned();
    let quoted = Regex::new(r##"(?s)r#".*?"#|r".*?"|"(?:\\.|[^"\\])*""##).unwrap();
    quoted.replace_all(&code(&joined), "\"\"").into_owned()
}

#[test]
fn names_say_what_a_thing_is() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let path = path.strip_prefix(root()).unwrap().display().to_string();
        // These rules name the words.
        if path.starts_with("crates/cli/tests/house/") {
            continue;
        }
        let names = names_of(text);
        for (word, instead) in WORDS {
            let is_of_text = word.contains("place") && PLACES.contains(&path.as_str());
            for found in Regex::new(word).unwrap().find_iter(&names).filter(|_| !is_of_text) {
                wrong.push(format!("{path}: `{}`; say {instead}", found.as_str()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn names_are_told_from_texts() {
    let text = "let own = \"its own\"; // its own\nlet b = r\"own\\\"; fn made() {}\n\
                let c = \"of \\\n         its own place\";";
    let names = names_of(text);
    assert_eq!(names.matches("own").count(), 1, "{names}");
    assert!(!names.contains("place") && names.contains("fn made"), "{names}");
}
