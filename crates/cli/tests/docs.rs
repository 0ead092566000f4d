//! The pages of `docs/`: their commands run, their links lead somewhere, their words are the
//! code's.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the repository's files are, on the site as on GitHub.
const REPOSITORY: &str = "https://github.com/hushtable/hushtable/blob/main/";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The page that the command writes, which is in the book and not in the repository.
const GENERATED: &str = "commands.md";

/// The pages of the book, by name, and their texts.
fn pages() -> Vec<(String, String)> {
    let binary = env!("CARGO_BIN_EXE_hushtable");
    let reference = Command::new(binary).args(["generate", "reference"]).output().unwrap();
    let reference = (GENERATED.to_owned(), String::from_utf8(reference.stdout).unwrap());
    let mut pages: Vec<(String, String)> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .filter(|(name, _)| name != GENERATED)
        .chain([reference])
        .collect();
    pages.sort();
    pages
}

/// A fenced block: its language, the comment on the line before it, and its lines.
struct Block {
    language: String,
    comment: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    let mut before = "";
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            open = !open;
            if open {
                let (language, comment) = (language.to_owned(), before.to_owned());
                blocks.push(Block { language, comment, text: String::new() });
            }
        } else if open {
            let text = &mut blocks.last_mut().unwrap().text;
            text.push_str(line);
            text.push('\n');
        }
        before = line;
    }
    blocks
}

/// Copies a folder's files, and those of its folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else if !path.extension().is_some_and(|e| e == "ledger" || e == "ledger-journal") {
            fs::copy(path, target).unwrap();
        }
    }
}

/// Runs the shell blocks of a page one after the other, in a folder that has the examples, the data
/// of one of them, and what `tests/docs/PAGE/` holds. A block after `<!-- file: NAME -->` is such a
/// file. Blocks that build (`cargo`, `docker`, `pip`) are only for people.
#[cfg(unix)]
fn run(name: &str, page: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let examples = folder.path().join("examples");
    copy(&root().join("examples"), &examples);
    let example = if page.contains("examples/clinics") { "clinics" } else { "shop" };
    copy(&examples.join(example), folder.path());
    let files =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/docs").join(name.trim_end_matches(".md"));
    if files.exists() {
        copy(&files, folder.path());
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_hushtable")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut ran = 0;
    for block in blocks(page) {
        let comment = block.comment.trim();
        if let Some(file) = comment.strip_prefix("<!-- file: ").and_then(|c| c.strip_suffix(" -->"))
        {
            fs::write(folder.path().join(file), &block.text).unwrap();
            continue;
        }
        let builds = ["cargo ", "docker ", "pip ", "just ", "git "];
        if block.language != "sh" || builds.iter().any(|word| block.text.starts_with(word)) {
            continue;
        }
        let output = Command::new("sh")
            .args(["-e", "-c", &block.text])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env_remove("HUSHTABLE_CONTRACT")
            .env_remove("HUSHTABLE_ANALYST")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "docs/{name}:\n{}\n{stderr}", block.text);
        ran += block.text.lines().filter(|line| line.contains("hushtable ")).count();
    }
    ran
}

#[cfg(unix)]
#[test]
fn every_command_of_the_docs_runs() {
    let ran: usize = pages().iter().map(|(name, page)| run(name, page)).sum();
    assert!(ran >= 40, "{ran} commands");
}

/// The contract of the tables on the page of differences. Epsilon is so large that noise is zero
/// but with negligible probability.
#[cfg(unix)]
const PETS: &str = r#"
[tables.pets]
path = "pets.csv"
privacy_unit = "owner"
budgets.ana = { epsilon = 1000000, delta = 1e-6 }

[tables.pets.columns]
owner = { type = "int" }
kind = { type = "string" }
weight = { type = "int", bounds = [0, 99] }

[tables.pets.defaults]
epsilon = 1000000
delta = 1e-6
max_groups_contributed = 4
max_rows_per_group = 4
group_selection_strategy = "LAPLACE_THRESHOLD"

[tables.kinds]
path = "kinds.csv"
public = true
columns = { kind = { type = "string" }, size = { type = "string" } }
"#;

/// The first two columns of every table on the page: an expression or a statement, and its answer.
/// `tests/differential.py` checks the column of DuckDB.
#[cfg(unix)]
#[test]
fn what_differs_elsewhere_is_answered_as_the_page_says() {
    let page = fs::read_to_string(root().join("docs/differences.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hushtable.toml"), PETS).unwrap();
    for block in blocks(&page).iter().filter(|block| block.language == "csv") {
        let name = block.comment.trim_start_matches("<!-- file: ").trim_end_matches(" -->");
        fs::write(folder.path().join(name), &block.text).unwrap();
    }
    let mut checked = 0;
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let (sql, cells) = row[3..].split_once("` |").unwrap();
        let says = cells.split('|').next().unwrap().trim();
        let sql = if sql.starts_with("SELECT ") {
            sql.to_owned()
        } else {
            // A constant is no key.
            let key = format!("CASE WHEN weight > 0 THEN {sql} END");
            format!("SELECT {key} AS v FROM pets GROUP BY v HAVING COUNT(*) > 0")
        };
        let _ = fs::remove_file(folder.path().join("hushtable.ledger"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_hushtable"));
        command.args(["query", "--format", "csv", &sql]).current_dir(folder.path());
        let output = command.env_remove("HUSHTABLE_CONTRACT").output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}\n{errors}");
        let answer = String::from_utf8(output.stdout).unwrap();
        let value = |line: &str| if line.is_empty() { "NULL".to_owned() } else { line.to_owned() };
        let values: Vec<String> = answer.lines().skip(1).map(value).collect();
        assert_eq!(values.join(", "), says, "{sql}");
        checked += 1;
    }
    assert!(checked >= 35, "{checked} differences");
}

/// The anchor that a heading gets, on GitHub and in the book.
fn anchor(heading: &str) -> String {
    let plain = heading.to_lowercase().replace('`', "");
    let letters = plain.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    letters.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(page: &str) -> BTreeSet<String> {
    let mut open = false;
    let mut names = BTreeSet::new();
    for line in page.lines() {
        open ^= line.starts_with("```");
        if !open && line.starts_with('#') {
            names.insert(anchor(line.trim_start_matches('#').trim()));
        }
    }
    names
}

/// The targets of a page's links, except for those in code.
fn links(page: &str) -> Vec<String> {
    let mut prose = String::new();
    let mut open = false;
    for line in page.lines() {
        open ^= line.starts_with("```");
        if !open {
            let outside: Vec<&str> = line.split('`').step_by(2).collect();
            prose += &(outside.join("CODE") + "\n");
        }
    }
    let ends = prose.split("](").skip(1);
    ends.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

#[test]
fn every_link_of_the_docs_leads_somewhere() {
    let pages = pages();
    let mut checked = 0;
    for (name, page) in &pages {
        for target in links(page) {
            checked += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            if let Some(path) = file.strip_prefix(REPOSITORY) {
                assert!(root().join(path).exists(), "docs/{name}: {target}");
                continue;
            }
            if file.contains("://") {
                continue;
            }
            let text = if file.is_empty() {
                page
            } else {
                let entry = pages.iter().find(|(other, _)| other == file);
                &entry.unwrap_or_else(|| panic!("docs/{name}: no page of the book is {target}")).1
            };
            assert!(anchor.is_empty() || anchors(text).contains(anchor), "docs/{name}: {target}");
        }
    }
    assert!(checked >= 60, "{checked} links");
}

#[test]
fn the_readmes_links_lead_somewhere() {
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "THEOREMS.md"] {
        for target in links(&fs::read_to_string(root().join(name)).unwrap()) {
            let file = target.split('#').next().unwrap();
            let there = file.is_empty() || file.contains("://") || root().join(file).exists();
            assert!(there, "{name}: {target}");
        }
    }
}

/// The ± of the README's first question is what `explain` says of it.
#[test]
fn the_readmes_precision_is_that_of_explain() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, of) = readme.split_once("95 of 100 counts are within ± ").unwrap();
    let half_width: f64 = of.split_once('.').unwrap().0.parse().unwrap();
    let (_, question) = readme.split_once("hushtable.toml \\\n  \"").unwrap();
    let sql = question.split_once('"').unwrap().0;
    let contract = root().join("examples/shop/hushtable.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_hushtable"))
        .args(["explain", "--format", "json", "--contract"])
        .args([contract.to_str().unwrap(), sql])
        .env_remove("HUSHTABLE_CONTRACT")
        .env_remove("HUSHTABLE_ANALYST")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let explained: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let half = explained.pointer("/parts/0/explanation/precision/0/half_widths/0/half_width");
    let half = half.unwrap_or_else(|| panic!("{explained:#}")).as_f64().unwrap();
    assert_eq!(half, half_width);
}

/// Newcomers follow CONTRIBUTING from file to file.
#[test]
fn the_files_that_are_named_exist() {
    let mut named = 0;
    for name in ["CONTRIBUTING.md", "ARCHITECTURE.md"] {
        let page = fs::read_to_string(root().join(name)).unwrap();
        for code in page.split('`').skip(1).step_by(2) {
            let path = code.split([' ', ':']).next().unwrap();
            let starts = ["crates/", "docs/", "tools/", "tests/", ".ci/"];
            if starts.iter().any(|start| path.starts_with(start)) {
                assert!(root().join(path).exists(), "{name}: {path}");
                named += 1;
            }
        }
    }
    assert!(named >= 20, "{named} files");
}

/// Each path such as `module::name` leads to a module of some crate, or a type, that has the name;
/// each list item of `inside.md` that begins with modules names modules.
#[test]
fn the_modules_that_are_named_exist() {
    fn sources(folder: &Path, all: &mut Vec<(String, String)>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                sources(&path, all);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let text = fs::read_to_string(&path).unwrap();
                // A module's children are found under its name, too.
                let parent = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
                all.push((parent.to_owned(), text.clone()));
                all.push((name, text));
            }
        }
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let package = entry.unwrap().path();
        let name = package.file_name().unwrap().to_str().unwrap().to_owned();
        let mut of_crate = Vec::new();
        sources(&package.join("src"), &mut of_crate);
        all.extend(of_crate.iter().map(|(_, text)| (name.clone(), text.clone())));
        all.extend(of_crate);
    }
    let is_module = |name: &str| all.iter().any(|(module, _)| module == name);
    let kinds = ["fn", "struct", "enum", "trait", "mod", "type", "const", "macro_rules!"];
    let defines = |text: &str, name: &str| {
        kinds.iter().any(|kind| {
            text.match_indices(&format!("{kind} {name}")).any(|(at, found)| {
                let next = text[at + found.len()..].chars().next();
                next.is_none_or(|c| !c.is_alphanumeric() && c != '_')
            })
        })
    };
    for page in ["docs/inside.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let ticked = text.split('`').skip(1).step_by(2);
        for path in ticked.filter(|path| path.contains("::") && !path.contains(' ')) {
            let (module, name) = path.rsplit_once("::").unwrap();
            let module = module.rsplit("::").next().unwrap().trim_start_matches("hushtable_");
            let name = name.split(['(', '<']).next().unwrap();
            // A type has methods in any file that names it, and may have variants.
            let is_type = module.starts_with(|c: char| c.is_ascii_uppercase());
            let named = |(of, text): &(String, String)| match is_type {
                true => text.contains(module) && text.contains(name),
                false => of == module && defines(text, name),
            };
            assert!(all.iter().any(named), "{page}: {path}");
        }
        for line in text.lines().filter_map(|line| line.strip_prefix("- `")) {
            let Some((names, _)) = line.split_once("`:") else { continue };
            for name in names.split("`, `") {
                let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                assert!(!is_name || is_module(name), "{page}: {name}");
            }
        }
    }
}

/// The page of commands is written where the book is built, and is not committed.
#[test]
fn the_book_gets_its_page_of_commands_from_the_command() {
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap();
    assert!(ignored.lines().any(|line| line == format!("/docs/{GENERATED}")), "{ignored}");
    for name in [".ci/run", "justfile"] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        let written = text.find(&format!("generate reference >docs/{GENERATED}"));
        let built = text.find("mdbook build");
        assert!(written.is_some() && written < built, "{name} builds the book without {GENERATED}");
    }
    let pages = pages();
    let page = &pages.iter().find(|(name, _)| name == GENERATED).unwrap().1;
    let commands = page.lines().filter(|line| line.starts_with("## `hushtable")).count();
    assert!(commands >= 38, "{commands} commands");
    assert!(page.lines().all(|line| line.len() <= 200 && line.trim_end() == line));
}

#[test]
fn every_page_has_a_place_in_the_book() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: Vec<String> = links(&summary);
    for (name, _) in pages().iter().filter(|(name, _)| name != "SUMMARY.md") {
        assert_eq!(listed.iter().filter(|link| *link == name).count(), 1, "{name} in SUMMARY.md");
    }
}

/// The hint of a refusal about the shop's visits, from some words on.
fn hint(sql: &str, after: &str) -> String {
    let contract = root().join("examples/shop/hushtable.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hushtable"));
    command.args(["explain", "--contract"]).arg(contract).arg(sql);
    let error = String::from_utf8(command.output().unwrap().stderr).unwrap();
    error.split_once(after).unwrap_or_else(|| panic!("{error}")).1.trim().to_owned()
}

/// Whether a name stands in code somewhere on a page.
fn documents(page: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let code = page.split('`').skip(1).step_by(2);
    code.into_iter().any(|text| text.split(|c| !is_word(c)).any(|word| word == name))
}

#[test]
fn the_reference_has_every_name_that_the_code_knows() {
    let page = |name: &str| fs::read_to_string(root().join("docs").join(name)).unwrap();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (zzz = 1) COUNT(*) FROM visits";
    let (options, options_page) = (hint(sql, "the options are "), page("options.md"));
    for option in options.split(", ") {
        assert!(
            options_page.contains(&format!("| `{option}` |")),
            "docs/options.md lacks {option}"
        );
    }
    let functions: Vec<&str> = hushtable::query::function_names().collect();
    let functions_page = page("functions.md");
    for function in &functions {
        assert!(documents(&functions_page, function), "docs/functions.md lacks {function}");
    }
    assert!(options.split(", ").count() > 10 && functions.len() > 50);

    let contract = [page("contract.md"), page("tables.md")].concat();
    let schema: serde_json::Value =
        serde_json::from_str(hushtable::query::Contract::SCHEMA).unwrap();
    let mut objects = vec![&schema];
    objects.extend(schema["$defs"].as_object().unwrap().values());
    for setting in objects.into_iter().filter_map(|object| object["properties"].as_object()) {
        for name in
            setting.keys().filter(|name| !["units", "tables", "columns"].contains(&name.as_str()))
        {
            assert!(documents(&contract, name), "docs/contract.md lacks {name}");
        }
    }

    let folder = tempfile::tempdir().unwrap();
    copy(&root().join("examples/shop"), folder.path());
    let sql = "SELECT town, COUNT(*) AS n FROM visits GROUP BY town";
    let mut command = Command::new(env!("CARGO_BIN_EXE_hushtable"));
    command.args(["query", "--statement", "s.json", sql]).current_dir(folder.path());
    assert!(command.output().unwrap().status.success());
    let statement = fs::read_to_string(folder.path().join("s.json")).unwrap();
    let statement: serde_json::Value = serde_json::from_str(&statement).unwrap();
    for field in statement.as_object().unwrap().keys() {
        assert!(
            page("statement.md").contains(&format!("`{field}`")),
            "docs/statement.md lacks {field}"
        );
    }
}

/// The names in the column of this engine are those of the reference.
#[test]
fn newcomers_find_the_names_that_they_are_given() {
    let page = |name: &str| fs::read_to_string(root().join("docs").join(name)).unwrap();
    let reference: String =
        ["options.md", "contract.md", "functions.md", "sql.md", "semantics.md", "automatic.md"]
            .map(page)
            .concat()
            + &pages().iter().find(|(name, _)| name == GENERATED).unwrap().1;
    let coming_from = page("coming-from.md");
    let mut names = 0;
    for row in coming_from.lines().filter(|line| line.starts_with("| ") && !line.contains("---")) {
        let here = row.trim_matches('|').split(" | ").nth(1).unwrap();
        for code in here.split('`').skip(1).step_by(2) {
            for word in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
                assert!(word.is_empty() || reference.contains(word), "{word}: {row}");
                names += 1;
            }
        }
    }
    assert!(names >= 20, "{names} names");
    // Bounds can be found privately, as the options say, and so must this page.
    assert!(page("options.md").contains("AUTO") && coming_from.contains("`bounds = AUTO`"));
}

/// Words of the glossary, each with the type that it is in the code.
#[test]
fn the_glossary_has_the_codes_own_names() {
    fn types(folder: &Path, names: &mut BTreeSet<String>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                types(&path, names);
            } else if path.extension().is_some_and(|e| e == "rs") {
                for line in fs::read_to_string(path).unwrap().lines() {
                    let mut words = line.trim_start().split(|c: char| !c.is_alphanumeric());
                    let kind = ["struct", "enum", "trait", "type"];
                    if words.next() == Some("pub")
                        && words.next().is_some_and(|w| kind.contains(&w))
                    {
                        names.extend(words.next().map(str::to_owned));
                    }
                }
            }
        }
    }
    let mut known = BTreeSet::new();
    types(&root().join("crates"), &mut known);
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let mut words = Vec::new();
    let mut named = BTreeSet::new();
    for row in glossary.lines().filter(|line| line.starts_with("| **")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{row}");
        words.push(cells[0]);
        for name in cells[2].split('`').skip(1).step_by(2) {
            assert!(known.contains(name), "{name} is no public type: {row}");
            assert!(named.insert(name.to_owned()), "{name} stands for two words: {row}");
        }
        // A type that is called as the word is means it.
        for word in cells[0].split("**").skip(1).step_by(2) {
            let pieces = word.split([' ', '-']);
            let name: String = pieces
                .map(|piece| match piece.split_at_checked(1) {
                    Some((first, rest)) => first.to_uppercase() + rest,
                    None => piece.to_owned(),
                })
                .collect();
            assert!(
                !known.contains(&name) || cells[2].contains(&format!("`{name}`")),
                "{name} means something else: {row}"
            );
        }
    }
    assert!(words.len() >= 35, "{} words", words.len());
    let mut sorted = words.clone();
    sorted.sort_unstable_by_key(|word| word.to_lowercase());
    sorted.dedup();
    assert_eq!(words, sorted, "in the order of the alphabet, each once");
}
