//! Where code stands: modules and their tests, owner tools, and syntax that is taken apart whole.

use std::collections::BTreeSet;
use std::path::PathBuf;

use regex::Regex;

use crate::{root, sources};

/// All sources below a folder of the repository, by their path in it.
pub(crate) fn below(folder: &str) -> Vec<(String, String)> {
    let folder = root().join(folder);
    let relative = |(path, text): (&PathBuf, &String)| {
        Some((path.strip_prefix(&folder).ok()?.to_str()?.to_owned(), text.clone()))
    };
    sources().iter().filter_map(relative).collect()
}

/// Whether a path in `src` is of tests.
pub(crate) fn is_of_tests(path: &str) -> bool {
    path.split('/').any(|component| component == "tests" || component == "tests.rs")
}

/// The text without comments.
pub(crate) fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// A module is `x.rs` and its parts are in `x/`; its tests end it, or are in `x/tests.rs`.
#[test]
fn modules_and_their_tests_stand_where_expected() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let relative = path.strip_prefix(root()).unwrap().display().to_string();
        if !relative.contains("/src/") {
            continue;
        }
        if relative.ends_with("/mod.rs") || relative.ends_with("_tests.rs") {
            wrong.push(format!("{relative}: the name of the file"));
        }
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            // A test may use a file of another folder, such as a benchmark's.
            if line.starts_with("#[path = ") && !line.contains("../") {
                wrong.push(format!("{relative}:{}: {line}", number + 1));
            }
            let after = &lines[number + 1..];
            let last = if line.ends_with("mod tests;") {
                after.is_empty()
            } else if line.ends_with("mod tests {") && !line.starts_with(' ') {
                after.iter().position(|l| *l == "}") == after.len().checked_sub(1)
            } else {
                true
            };
            if !last {
                wrong.push(format!("{relative}:{}: code after the tests", number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "see CONTRIBUTING.md, Style: {wrong:#?}");
}

/// Tools of the owner read exact values and charge nothing: whatever answers analysts must not use
/// them, be it by their module, a name that the crate exports from it or a method of `Session`.
#[test]
fn nothing_on_the_analysts_path_uses_owner_tools() {
    let engine = below("crates/engine/src");
    let of_owner = |path: &str| path == "owner.rs" || path.starts_with("owner/");
    let (lib, rest): (Vec<_>, Vec<_>) = engine.into_iter().partition(|(path, _)| path == "lib.rs");
    let (owner, mut others): (Vec<_>, Vec<_>) =
        rest.into_iter().filter(|(path, _)| !is_of_tests(path)).partition(|(p, _)| of_owner(p));
    assert!(owner.len() > 20 && others.len() > 60, "{} {}", owner.len(), others.len());
    others.extend(below("crates/hushtable/src").into_iter().filter(|(p, _)| p == "analyst.rs"));

    let owner: String = owner.iter().map(|(_, text)| code(text)).collect();
    let exports = Regex::new(r"pub use owner::\{([^}]*)\}").unwrap();
    let exports = &exports.captures(&lib[0].1).expect("exports of owner tools")[1];
    let defined = |name: &&str| {
        Regex::new(&format!(r"pub (struct|enum|async fn|fn) {name}\b")).unwrap().is_match(&owner)
    };
    let names = exports.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.filter(defined).collect();
    // The methods of all blocks `impl Session { … }`, whose last line is not indented.
    let blocks = Regex::new(r"(?s)\nimpl Session \{\n(.*?)\n\}").unwrap();
    let methods = Regex::new(r"pub(?:\(crate\))? (?:async )?fn (\w+)").unwrap();
    let methods: BTreeSet<String> = blocks
        .captures_iter(&owner)
        .flat_map(|block| methods.captures_iter(block.get(1).unwrap().as_str()))
        .map(|method| method[1].to_owned())
        .collect();
    assert!(names.len() > 25 && methods.len() > 5, "{names:?} {methods:?}");

    let methods = methods.into_iter().collect::<Vec<_>>().join("|");
    let words = Regex::new(&format!(r"\bowner::|\b({})\b", names.join("|"))).unwrap();
    let calls = Regex::new(&format!(r"\b(?:self|session)\s*\.({methods})\(")).unwrap();
    let session = Regex::new(r"\bSession\b").unwrap();
    // Defined beside what a release reads by; and helpers of tests use them.
    let of_readings = ["exact.rs", "lower/neighbours.rs"];
    let readings = Regex::new(r"\bOwner(Scan|Query)\b").unwrap();
    let mut wrong = Vec::new();
    for (path, text) in others {
        let text = code(&text);
        wrong.extend(words.find(&text).map(|name| format!("{path}: {}", name.as_str())));
        let reads = readings.find(&text).filter(|_| !of_readings.contains(&path.as_str()));
        wrong.extend(reads.map(|name| format!("{path}: {}", name.as_str())));
        let calls = calls.find(&text).filter(|_| session.is_match(&text));
        wrong.extend(calls.map(|call| format!("{path}: {}", call.as_str())));
    }
    assert!(wrong.is_empty(), "for the owner alone: {wrong:#?}");
}

/// The fields that a pattern leaves out would be accepted in silence once a new version of the
/// parser adds some. Where an error stands and how its hint reads is another matter: nothing
/// is accepted there.
#[test]
fn syntax_is_taken_apart_whole() {
    let imports = Regex::new(r"\buse (?:sqlparser::)?ast::([^;]+);").unwrap();
    let import = Regex::new(r"(\w+)(?: as (\w+))?").unwrap();
    let pattern = Regex::new(r"\b(\w+)(?:::\w+)* ?[{(]").unwrap();
    let (mut files, mut wrong) = (0, Vec::new());
    let crates = ["crates/lang/src", "crates/contract/src", "crates/plan/src"];
    for (path, text) in crates.into_iter().flat_map(below) {
        if is_of_tests(&path)
            || ["place.rs", "bind_expr/filled.rs"].contains(&path.as_str())
            || !text.contains("ast::")
        {
            continue;
        }
        files += 1;
        let text = code(&text);
        let mut types = BTreeSet::from(["ast"]);
        for list in imports.captures_iter(&text) {
            let names = import.captures_iter(list.get(1).unwrap().as_str());
            types.extend(names.map(|name| name.get(2).or(name.get(1)).unwrap().as_str()));
        }
        for candidate in pattern.captures_iter(&text) {
            let fields = inside(&text[candidate.get(0).unwrap().end() - 1..]);
            if types.contains(&candidate[1]) && leaves_out(fields) {
                wrong.push(format!("{path}: {}{fields}", &candidate[0]));
            }
        }
    }
    assert!(files > 20, "{files} files");
    assert!(wrong.is_empty(), "patterns that leave fields of syntax out: {wrong:#?}");
}

/// The text between the bracket that `text` begins with and its other one.
fn inside(text: &str) -> &str {
    let mut depth = 0;
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[1..offset];
        }
    }
    text
}

/// Whether `..` stands for fields, which it does between commas: not in a range, nor before a
/// struct that gives the rest.
fn leaves_out(fields: &str) -> bool {
    let (mut depth, mut between) = (0, String::new());
    for byte in fields.chars() {
        match byte {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            ',' if depth == 0 && between.trim() == ".." => return true,
            ',' if depth == 0 => between.clear(),
            other if depth == 0 => between.push(other),
            _ => {}
        }
    }
    between.trim() == ".."
}
