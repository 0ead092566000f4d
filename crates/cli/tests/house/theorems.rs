//! Whether the files of theorems name code, tests and sections that exist.

use std::collections::{BTreeMap, BTreeSet};

use super::{read, root, sources};

/// The files under `theorems/`, by the path from the root.
fn files() -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(root().join("theorems")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.map(|name| format!("theorems/{name}")).map(|path| (path.clone(), read(&path))).collect()
}

/// The words of the sources that a keyword of `keywords` comes before.
fn defined(keywords: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for text in sources().values() {
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        while let Some(word) = words.next() {
            if keywords.contains(&word) {
                names.extend(words.next().map(str::to_owned));
            }
        }
    }
    names
}

/// The names of all tests: functions below an attribute, and those in the ledger's list of tests
/// that run over each kind of store.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for text in sources().values() {
        let (mut is_test, mut is_listed) = (false, false);
        for line in text.lines().map(str::trim_start) {
            is_listed &= !line.starts_with('}');
            if is_listed {
                names.insert(line.trim_end_matches(',').to_owned());
            }
            is_listed |= line.starts_with("with_each_kind! {");
            if let Some((_, rest)) = line.split_once("fn ") {
                let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                if is_test {
                    names.insert(name.to_owned());
                }
                is_test = false;
            }
            is_test |= line.starts_with("#[") && (line.contains("test]") || line.contains("test("));
        }
    }
    names
}

/// Whether some file defines an item, and is about the type or module that its path begins with.
fn is_of_its_path(name: &str) -> bool {
    let Some((path, item)) = name.rsplit_once("::") else { return true };
    let of = path.rsplit("::").next().unwrap();
    let has = |text: &str, word: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|other| other == word)
    };
    sources().iter().any(|(file, text)| {
        let is_module = file.file_stem().is_some_and(|stem| stem == of)
            || file.components().any(|component| component.as_os_str() == of);
        // A type may have variants; all else is a function.
        let defines = text.contains(&format!("fn {item}")) || item.starts_with(char::is_uppercase);
        defines && has(text, item) && (is_module || has(text, of))
    })
}

/// The targets of the links in a text, in its tables and outside.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// The anchors of the headings of a page, as GitHub gives them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let plain = heading.trim_start_matches('#').trim().to_lowercase();
        let letters = plain.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        letters.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn theorems_name_code_and_tests_that_exist() {
    let code = defined(&["fn", "struct", "enum", "trait", "const"]);
    let tests = tests();
    assert!(tests.len() > 1_000, "{} tests", tests.len());
    let (mut lines, mut missing) = (0, Vec::new());
    for (path, text) in files() {
        for line in text.lines().filter(|l| l.starts_with("| ") && l.contains('`')) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
            assert_eq!(cells.len(), 4, "{path}: {line}");
            let statement = cells[1].split(" ([why]").next().unwrap();
            let length = statement.chars().count();
            assert!(length <= 240, "{path}: {length} characters, for a line and a section: {line}");
            for (cell, form, known) in [(cells[2], "item", &code), (cells[3], "test", &tests)] {
                let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
                assert!(!names.is_empty(), "{path}: no {form} in: {line}");
                for name in names {
                    let last = name.rsplit("::").next().unwrap();
                    if !known.contains(last) || (form == "item" && !is_of_its_path(name)) {
                        missing.push(format!("{path}: {form} `{name}` is nowhere"));
                    }
                }
            }
            lines += 1;
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(lines >= 140, "{lines} lines");
}

/// The index has every file; links between the files, and from code and documents, lead somewhere.
#[test]
fn theorems_link_to_what_is_there() {
    let files = files();
    let index = read("THEOREMS.md");
    let listed: Vec<&str> = links(&index).collect();
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len(), "{listed:?}");
    for path in files.keys() {
        assert!(listed.contains(&path.as_str()), "{path} is not in THEOREMS.md");
    }
    let leads = |from: &str, file: &str, anchor: &str| {
        let page = files.get(file).unwrap_or_else(|| panic!("{from} links to {file}"));
        let is_there = anchor.is_empty() || anchors(page).contains(anchor);
        assert!(is_there, "{from} links to {file}#{anchor}");
    };
    for target in listed {
        leads("THEOREMS.md", target, "");
    }
    for (path, text) in &files {
        for target in links(text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { format!("theorems/{file}") };
            leads(path, &file, anchor);
        }
        let sections = text.lines().filter(|line| line.starts_with("### "));
        for section in sections.flat_map(anchors) {
            assert!(text.contains(&format!("(#{section})")), "{path}: no line needs {section}");
        }
    }
    // Comments and documents name a file, and perhaps a section.
    let mut named = 0;
    let this_file = root().join("crates/cli/tests/house/theorems.rs");
    let documents = std::fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path());
    let documents = documents.filter(|path| path.is_file());
    let documents = documents.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()));
    let code = sources().iter().map(|(path, text)| (path.clone(), text.clone()));
    for (path, text) in documents.chain(code).filter(|(path, _)| *path != this_file) {
        for rest in text.split("theorems/").skip(1) {
            let is_name = |c: char| c.is_ascii_lowercase() || "-#.".contains(c);
            let target: String = rest.chars().take_while(|c| is_name(*c)).collect();
            let Some((file, after)) = target.split_once(".md") else { continue };
            let anchor = after.strip_prefix('#').unwrap_or("").trim_end_matches('.');
            leads(&path.display().to_string(), &format!("theorems/{file}.md"), anchor);
            named += 1;
        }
    }
    assert!(named >= 10, "{named} links");
}
