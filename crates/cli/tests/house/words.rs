//! Whether comments, documents, help and errors are in plain English.

use std::path::{Path, PathBuf};

use regex::Regex;

use super::{root, sources};

/// Folders and files of prose beside the sources.
const PROSE: [&str; 11] = [
    "docs",
    "theorems",
    "examples",
    "python",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "THEOREMS.md",
    "tests",
    "benches",
];

/// Beginnings of doc comments that make readers guess what is meant.
const VAGUE: [&str; 5] = ["What ", "Who ", "The same", "As [", "So many "];

/// Phrases that read like a translation, each with a plain one to write instead.
const STILTED: [(&str, &str); 22] = [
    (r"\bso many (as|of|fields|bytes|each|records|units|rows)\b", "that many"),
    (r"\bmay be had\b", "is available"),
    (r"\bto be had\b", "available"),
    (r"\b(is|are|was|were) told (so|of)\b", "learns of, or an active verb"),
    (r"\btells? (itself )?of (the|a|an|that|it|itself|other|one|fewer|data)\b", "reveals"),
    (r"\bthere is to (know|tell|gain|read|see|say|buy|learn|do)\b", "the noun"),
    (r"\bsees? to it\b", "makes sure"),
    (r"\bbut for (a|an|the|that|those|what|how|some|rounding|its|their|being)\b", "except for"),
    (r"\bshare (the|a) list out\b", "divide the list"),
    (r"\b(has|have) seen enough\b", "a condition that a reader can check"),
    (r"\b(can|may) have (limits|bounds|it|them) chosen\b", "let the limits be chosen privately"),
    (r"\bnone the less\b", "still"),
    (r"\b(thereof|therein|whereof|whereby|wherein)\b", "a relative clause"),
    (r"\bis not to be seen\b", "is invisible"),
    (r"\bas ever\b", "as always"),
    (r"\bin the stead of\b", "in place of"),
    (r"\bsuch as are\b", "those that are"),
    (r"\bit is (so|thus) that\b", "the statement itself"),
    (r"\bhas to do with\b", "concerns"),
    (r"\bto the effect that\b", "that"),
    (r"\bthe one of the two which\b", "the one that"),
    (r"\b(of|by) such a kind\b", "such"),
];

/// A sentence that begins with a clause as its subject, and is no question.
const CLAUSE: &str = r"(?:^|[.] |[*] |- |[|] )((?:What|Who) [^?]*?(?:[.:](?: |$)|$))";

/// The texts of a file: comments of one block, and strings over several lines, each on one line.
fn passages(path: &Path, text: &str) -> Vec<String> {
    let mut passages: Vec<String> = Vec::new();
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let mut goes_on = false;
    let is_item = |line: &str| ["- ", "* ", "#", "|", "1. "].iter().any(|s| line.starts_with(s));
    if extension == "rs" {
        let joined = Regex::new(r"\\\n\s*").unwrap().replace_all(text, "").into_owned();
        for line in joined.lines().map(str::trim) {
            let comment = line.strip_prefix("//").map(|c| c.trim_start_matches(['/', '!']).trim());
            let comment = comment.filter(|c| !c.is_empty());
            match (comment, passages.last_mut()) {
                (Some(words), Some(last)) if goes_on && !is_item(words) => {
                    *last += &format!(" {words}");
                }
                (Some(words), _) => passages.push(words.to_owned()),
                (None, _) if line.contains('"') => passages.push(line.to_owned()),
                (None, _) => {}
            }
            goes_on = comment.is_some();
        }
    } else {
        let mut is_code = false;
        for line in text.lines().map(str::trim) {
            is_code ^= line.starts_with("```");
            let words = if extension == "md" { line } else { line.trim_start_matches('#').trim() };
            match passages.last_mut() {
                Some(last) if goes_on && !is_item(words) => *last += &format!(" {words}"),
                _ => passages.push(words.to_owned()),
            }
            goes_on = !words.is_empty() && !is_code && !line.starts_with("```");
        }
    }
    passages
}

/// The files of `PROSE`, by path.
fn prose() -> Vec<(PathBuf, String)> {
    fn walk(path: &Path, texts: &mut Vec<(PathBuf, String)>) {
        if path.is_dir() {
            for entry in std::fs::read_dir(path).unwrap() {
                walk(&entry.unwrap().path(), texts);
            }
        } else if path
            .extension()
            .is_some_and(|e| ["md", "sh", "py", "toml"].iter().any(|x| e == *x))
        {
            texts.push((path.to_owned(), std::fs::read_to_string(path).unwrap()));
        }
    }
    let mut texts = Vec::new();
    for name in PROSE {
        walk(&root().join(name), &mut texts);
    }
    // Written from the help, which is checked where it stands.
    texts.retain(|(path, _)| !path.ends_with("docs/commands.md"));
    texts
}

/// All passages of sources and prose, each with its file.
fn all_passages() -> Vec<(PathBuf, String)> {
    let this_file = root().join("crates/cli/tests/house/words.rs");
    let code = sources().iter().filter(|(path, _)| **path != this_file);
    let code = code.map(|(path, text)| (path.clone(), text.clone()));
    let files: Vec<(PathBuf, String)> = code.chain(prose()).collect();
    let of_file = |(path, text): &(PathBuf, String)| {
        let all = passages(path, text).into_iter();
        all.map(|passage| (path.clone(), passage)).collect::<Vec<_>>()
    };
    files.iter().flat_map(of_file).collect()
}

#[test]
fn doc_comments_begin_with_what_is_documented() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            let comment = line.trim_start();
            let doc = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"));
            let begins = doc.filter(|_| !inside).map(str::trim_start);
            if begins.is_some_and(|words| VAGUE.iter().any(|start| words.starts_with(start))) {
                wrong.push(format!("{}:{}: {comment}", path.display(), number + 1));
            }
            inside = doc.is_some();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_reads_like_a_translation() {
    let stilted =
        STILTED.map(|(words, plain)| (Regex::new(&format!("(?i){words}")).unwrap(), plain));
    let clause = Regex::new(CLAUSE).unwrap();
    let all = all_passages();
    assert!(all.len() > 20_000, "{} passages", all.len());
    let mut wrong = Vec::new();
    for (path, passage) in &all {
        for (words, plain) in &stilted {
            if let Some(found) = words.find(passage) {
                let found = found.as_str();
                wrong.push(format!("{}: «{found}»; write: {plain}: {passage}", path.display()));
            }
        }
        // Headings of commands' output are questions without their mark, and so no comments.
        let is_code = path.extension().is_some_and(|e| e == "rs") && passage.contains('"');
        if let Some(found) = clause.captures(passage).filter(|_| !is_code) {
            let found = found.get(1).unwrap().as_str();
            wrong.push(format!("{}: a clause as subject: {found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The checks see phrases over line ends, in comments, strings and pages.
#[test]
fn phrases_are_found_wherever_they_stand() {
    let rust = "/// A list, of which\n/// so\n/// many fields\nlet a = \"may \\\n    be had\";\n";
    let found = passages(Path::new("a.rs"), rust);
    assert_eq!(found, ["A list, of which so many fields", "let a = \"may be had\";"]);
    let page = "A text that\nis told so.\n\n- What is it?\n- Who knows\n  asks.\n";
    let found = passages(Path::new("a.md"), page);
    assert!(found.iter().any(|p| p.trim() == "A text that is told so."), "{found:?}");
    let clause = Regex::new(CLAUSE).unwrap();
    let clauses: Vec<&str> =
        found.iter().filter(|p| clause.is_match(p)).map(|p| p.trim()).collect();
    assert_eq!(clauses, ["- Who knows asks."]);
}
