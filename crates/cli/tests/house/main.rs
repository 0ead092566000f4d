//! Checks of the repository itself: its layers, its theorems, its words, its README.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of a test")]

mod cycles;
mod documents;
mod hints;
mod identifiers;
mod modules;
mod theorems;
mod types;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The crates in order: each may use those before it only.
const LAYERS: [&str; 16] = [
    "errors",
    "numbers",
    "noise",
    "privacy",
    "knowledge",
    "mechanisms",
    "lang",
    "contract",
    "plan",
    "quote",
    "ledger",
    "engine",
    "hushtable",
    "plot",
    "cli",
    "python",
];

/// Crates that a layer must not use, beside the layers after it.
const UNKNOWN: [(&str, &[&str]); 15] = [
    ("errors", &["datafusion", "arrow", "rusqlite", "sqlparser", "thiserror"]),
    ("numbers", &["datafusion", "arrow", "rusqlite", "sqlparser", "chacha20"]),
    ("noise", &["datafusion", "arrow", "rusqlite", "sqlparser", "hushtable-privacy"]),
    ("privacy", &["datafusion", "arrow", "rusqlite", "sqlparser", "hushtable-noise", "chacha20"]),
    ("knowledge", &["datafusion", "arrow", "rusqlite", "sqlparser", "hushtable-noise", "chacha20"]),
    ("mechanisms", &["datafusion", "arrow", "rusqlite", "sqlparser"]),
    ("lang", &["datafusion", "arrow", "rusqlite", "tokio", "hushtable-noise", "hushtable-privacy"]),
    ("contract", &["datafusion", "arrow", "rusqlite", "tokio", "hushtable-noise", "sqlparser"]),
    ("plan", &["datafusion", "arrow", "rusqlite", "tokio", "hushtable-noise"]),
    ("quote", &["datafusion", "arrow", "rusqlite", "tokio", "hushtable-noise", "sqlparser"]),
    (
        "ledger",
        &[
            "datafusion",
            "arrow",
            "sqlparser",
            "hushtable-mechanisms",
            "hushtable-lang",
            "hushtable-contract",
            "hushtable-plan",
            "hushtable-quote",
        ],
    ),
    ("engine", &["clap", "hushtable"]),
    ("hushtable", &["clap", "indicatif", "unicode-width", "hushtable-plot"]),
    (
        "plot",
        &[
            "datafusion",
            "arrow",
            "rusqlite",
            "sqlparser",
            "hushtable-numbers",
            "hushtable-noise",
            "hushtable-privacy",
            "hushtable-knowledge",
            "hushtable-mechanisms",
            "hushtable-lang",
            "hushtable-contract",
            "hushtable-plan",
            "hushtable-quote",
            "hushtable-ledger",
            "hushtable-engine",
            "hushtable",
        ],
    ),
    ("cli", &["pyo3", "pyo3-arrow"]),
];

/// The crates of this workspace that each way in uses: the library, charts from plain numbers, and
/// the command, for its texts and to be run.
const OF_WAYS_IN: [(&str, &[&str]); 2] =
    [("cli", &["hushtable", "hushtable-plot"]), ("python", &["hushtable", "hushtable-cli"])];

/// Crates that a way in reaches through the library alone.
const BELOW: [&str; 6] = ["datafusion", "arrow", "parquet", "rusqlite", "sqlparser", "tokio"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The names under a `[dependencies]` heading of a manifest.
fn dependencies(folder: &str) -> Vec<String> {
    let manifest: toml::Table = read(&format!("{folder}/Cargo.toml")).parse().unwrap();
    let dependencies = manifest.get("dependencies").map(|all| all.as_table().unwrap());
    dependencies.into_iter().flat_map(|all| all.keys().cloned()).collect()
}

#[test]
fn no_layer_uses_a_later_one() {
    let mut folders: Vec<String> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    let mut layers = LAYERS.map(str::to_owned).to_vec();
    layers.sort();
    assert_eq!(folders, layers, "a crate without a place among the layers");
    for (rank, layer) in LAYERS.iter().enumerate() {
        for name in dependencies(&format!("crates/{layer}")) {
            let dependency = if name == "hushtable" {
                Some("hushtable")
            } else {
                name.strip_prefix("hushtable-")
            };
            if let Some(dependency) = dependency {
                let other = LAYERS.iter().position(|l| *l == dependency).unwrap();
                assert!(other < rank, "{layer} uses {dependency}, which is a layer after it");
            }
        }
    }
    for (layer, unknown) in UNKNOWN {
        let forbidden: Vec<String> = dependencies(&format!("crates/{layer}"))
            .into_iter()
            .filter(|d| unknown.contains(&d.as_str()))
            .collect();
        assert!(forbidden.is_empty(), "{layer} must not know {forbidden:?}");
    }
}

#[test]
fn ways_in_use_the_library_and_nothing_below_it() {
    for (way, expected) in OF_WAYS_IN {
        let used = dependencies(&format!("crates/{way}"));
        let mut crates: Vec<&str> =
            used.iter().filter(|d| d.starts_with("hushtable")).map(String::as_str).collect();
        crates.sort_unstable();
        assert_eq!(crates, expected, "{way}");
        let below: Vec<&String> = used.iter().filter(|d| BELOW.contains(&d.as_str())).collect();
        assert!(below.is_empty(), "{below:?} come to {way} by the library");
    }
}

/// The experiments read no contract and no file, and nothing that ships uses them.
#[test]
fn the_experiments_are_apart() {
    const ABOVE: [&str; 7] = [
        "hushtable-lang",
        "hushtable-contract",
        "hushtable-plan",
        "hushtable-quote",
        "hushtable-ledger",
        "hushtable-engine",
        "hushtable",
    ];
    let used = dependencies("tools/experiments");
    let forbidden: Vec<&String> = used
        .iter()
        .filter(|d| ABOVE.contains(&d.as_str()) || BELOW.contains(&d.as_str()))
        .collect();
    assert!(forbidden.is_empty(), "the experiments must not know {forbidden:?}");
    for layer in LAYERS {
        let used = dependencies(&format!("crates/{layer}"));
        assert!(!used.iter().any(|d| d == "hushtable-experiments"), "{layer} ships experiments");
    }
}

/// Set-up that tests share knows no crate of ours, so that any may use it, and nothing ships it.
#[test]
fn the_testkit_is_for_tests_alone() {
    let crates = dependencies("tools/testkit");
    assert!(
        !crates.iter().any(|d| d.starts_with("hushtable")),
        "the testkit must not use {crates:?}"
    );
    let mut folders = vec!["fuzz".to_owned(), "tools/experiments".to_owned()];
    folders.extend(LAYERS.map(|layer| format!("crates/{layer}")));
    for folder in folders {
        let used = dependencies(&folder);
        assert!(!used.iter().any(|d| d == "hushtable-testkit"), "{folder} ships the testkit");
    }
}

/// All source text, by path.
fn sources() -> &'static BTreeMap<PathBuf, String> {
    static ALL: LazyLock<BTreeMap<PathBuf, String>> = LazyLock::new(read_sources);
    &ALL
}

fn read_sources() -> BTreeMap<PathBuf, String> {
    fn walk(folder: &Path, texts: &mut BTreeMap<PathBuf, String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, texts);
            } else if path.extension().is_some_and(|e| e == "rs") {
                texts.insert(path.clone(), std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut texts = BTreeMap::new();
    walk(&root().join("crates"), &mut texts);
    walk(&root().join("tools"), &mut texts);
    walk(&root().join("fuzz"), &mut texts);
    texts
}

/// Names that files of several modules share, since they hold one idea on two levels: a function's
/// form and how it runs, a law and its loss, a record and its report.
const SHARED: [&str; 34] = [
    "aggregate",
    "around",
    "binomial",
    "buckets",
    "columns",
    "composition",
    "consistent",
    "convert",
    "csv",
    "discrete_gaussian",
    "gaussian",
    "join",
    "like",
    "losses",
    "mechanisms",
    "model",
    "neighbours",
    "owner",
    "partition_selection",
    "parts",
    "pattern",
    "per_record",
    "programme",
    "progress",
    "quantile",
    "query",
    "read",
    "release",
    "report",
    "sums",
    "thresholds",
    "units",
    "windows",
    "workload",
];

/// Files are named by what they hold; those of the command's layers go by the command.
#[test]
fn no_two_files_share_a_name_for_different_ideas() {
    const LAYERS_OF_COMMANDS: [&str; 3] = ["arguments", "commands", "render"];
    let mut paths_by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in sources().keys() {
        let relative = path.strip_prefix(root()).unwrap();
        let folders: Vec<&str> =
            relative.parent().unwrap().iter().filter_map(|f| f.to_str()).collect();
        let name = relative.file_stem().unwrap().to_str().unwrap();
        let by_convention = ["mod", "lib", "main", "error", "tests"].contains(&name)
            || name.ends_with("_tests")
            || folders.iter().any(|f| ["tests", "benches", "fuzz_targets"].contains(f))
            || (folders.starts_with(&["crates", "cli"])
                && folders.get(3).is_some_and(|f| LAYERS_OF_COMMANDS.contains(f)));
        if !by_convention {
            paths_by_name.entry(name.to_owned()).or_default().push(relative.display().to_string());
        }
    }
    assert!(paths_by_name.len() > 250, "{} files", paths_by_name.len());
    paths_by_name.retain(|name, paths| paths.len() > 1 && !SHARED.contains(&name.as_str()));
    assert!(paths_by_name.is_empty(), "names of files with several ideas: {paths_by_name:#?}");
}

/// The README says `cargo run`, and the workspace has more programs than one.
#[test]
fn cargo_run_is_the_command() {
    let mut folders = vec!["fuzz".to_owned(), "tools/experiments".to_owned()];
    folders.extend(LAYERS.map(|layer| format!("crates/{layer}")));
    let runs: Vec<String> = folders
        .iter()
        .filter_map(|folder| {
            let manifest: toml::Table = read(&format!("{folder}/Cargo.toml")).parse().unwrap();
            Some(manifest["package"].get("default-run")?.as_str()?.to_owned())
        })
        .collect();
    assert_eq!(runs, ["hushtable"]);
}

/// The README's first command, as a newcomer runs it, on a copy of the example.
#[test]
fn the_readme_command_gives_a_private_table() {
    let readme = read("README.md");
    let block = readme.split("```sh").nth(1).expect("a first block of commands");
    let block = block.split("```").next().unwrap();
    let command = block.lines().skip_while(|l| !l.contains("query")).collect::<Vec<_>>().join(" ");
    let command = command.replace("\\ ", " ");
    let (before, sql) = command.split_once('"').unwrap();
    let sql = sql.trim_end().trim_end_matches('"');
    let words: Vec<&str> = before.split_whitespace().collect();
    assert_eq!(words[..3], ["cargo", "run", "--"], "{command}");

    let folder = tempfile::tempdir().unwrap();
    for name in ["hushtable.toml", "visits.csv"] {
        std::fs::copy(root().join("examples/shop").join(name), folder.path().join(name)).unwrap();
    }
    let contract = folder.path().join("hushtable.toml");
    let arguments = words[3..].iter().map(|w| {
        if *w == "examples/shop/hushtable.toml" {
            contract.display().to_string()
        } else {
            (*w).to_owned()
        }
    });
    let output =
        Command::new(env!("CARGO_BIN_EXE_hushtable")).args(arguments).arg(sql).output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert!(stdout.starts_with("town,customers\n"), "{stdout}");
    let harbourton: i64 = stdout
        .lines()
        .find_map(|l| l.strip_prefix("Harbourton,"))
        .expect("the largest town appears")
        .parse()
        .unwrap();
    // 527 customers; the noise's scale is at most 6 customers, so 200 off is below 1e-14.
    assert!((327..727).contains(&harbourton), "{stdout}");
    // The one customer of Far Isle: with probability 1e-6 at most.
    assert!(!stdout.contains("Far Isle"), "{stdout}");
    assert!(stderr.contains("charged epsilon = 1"), "{stderr}");
}

/// Lines by which arithmetic shows that belongs to `numbers` (or `noise`), and the files that may
/// have them: a search whose steps move an end further than the middle, halves of cells, a search
/// among rounded numbers, and numbers as a country writes them.
const WRITTEN_ONCE: [(&str, &[&str]); 5] = [
    ("0.5 * (low + high)", &["numbers/src/search.rs", "knowledge/src/model/simulator.rs"]),
    ("low + (high - low) / 2", &["mechanisms/src/joint.rs", "knowledge/src/groups.rs"]),
    (" % rest", &["numbers/src/common_divisor.rs"]),
    ("split_once(['e', 'E'])", &["numbers/src/decimal.rs", "engine/src/source/parse.rs"]),
    ("fn rehearse(", &["noise/src/law.rs"]),
];

#[test]
fn numbers_and_laws_are_written_once() {
    let this_file = root().join("crates/cli/tests/house/main.rs");
    for (sign, files) in WRITTEN_ONCE {
        let paths: Vec<&PathBuf> = sources()
            .iter()
            .filter(|(path, text)| **path != this_file && text.contains(sign))
            .map(|(path, _)| path)
            .filter(|path| !path.file_stem().unwrap().to_str().unwrap().ends_with("tests"))
            .collect();
        for file in files {
            let is_there = paths.contains(&&root().join("crates").join(file));
            assert!(is_there, "{file} has no `{sign}` any more");
        }
        assert_eq!(paths.len(), files.len(), "`{sign}` belongs to one place: {paths:#?}");
    }
}

/// Whether a Dockerfile's image is one of its own stages, or named by a digest.
fn is_pinned<'a>(image: &str, mut stages: impl Iterator<Item = &'a str>) -> bool {
    let digest = image.split_once("@sha256:").map(|(_, digest)| digest);
    let is_hash = |digest: &str| {
        digest.len() == 64 && digest.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
    };
    image == "scratch" || stages.any(|stage| stage == image) || digest.is_some_and(is_hash)
}

/// A tag can be moved to other files; a digest cannot.
#[test]
fn images_are_pinned_by_digest() {
    let text = read("Dockerfile");
    let (mut stages, mut images) = (Vec::new(), 0);
    for line in text.lines() {
        let line: Vec<&str> = line.split_whitespace().collect();
        let from = |word: &&str| word.strip_prefix("--from=").map(str::to_owned);
        let image = match line.as_slice() {
            ["FROM", rest @ ..] => {
                rest.iter().find(|w| !w.starts_with("--")).map(|w| w.to_string())
            }
            ["COPY" | "RUN" | "ADD", rest @ ..] => rest.iter().find_map(from),
            _ => None,
        };
        if let Some(image) = image {
            assert!(is_pinned(&image, stages.iter().copied()), "{image} has no digest");
            images += usize::from(image.contains('@'));
        }
        if let ["FROM", .., "AS", name] = line.as_slice() {
            stages.push(*name);
        }
    }
    assert_eq!(images, 2);
    for moved in ["rust:1.95", "rust:1.95@sha256:985053", "rust@sha256:", "build2"] {
        assert!(!is_pinned(moved, ["build"].into_iter()), "{moved}");
    }
}

/// rustfmt leaves a function alone that holds an over-long literal, so that such lines spread.
#[test]
fn no_line_is_over_100_characters() {
    let mut long = Vec::new();
    for (path, text) in sources() {
        let relative = path.strip_prefix(root()).unwrap().display().to_string();
        for (number, line) in text.lines().enumerate() {
            let length = line.chars().count();
            if length > 100 {
                long.push(format!("{relative}:{}: {length} characters", number + 1));
            }
        }
    }
    assert!(long.is_empty(), "lines of over 100 characters:\n{}", long.join("\n"));
}
