//! Modules use each other in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::modules::{below, code};

/// A module's path in its crate; the crate's root has none.
type Path = Vec<String>;

/// A crate's modules, except for tests.
struct Modules {
    /// Their code.
    code: BTreeMap<Path, String>,
    /// By module: names that it hands on, each with the child that has it.
    handed_on: BTreeMap<Path, BTreeMap<String, String>>,
}

impl Modules {
    fn of(folder: &str) -> Self {
        let declared = Regex::new(
            r"(?m)^#\[cfg\((?:all\()?test[^\n]*\n(?:#[^\n]*\n)*(?:pub(?:\([^)]*\))? )?mod (\w+);",
        )
        .unwrap();
        let mut all: BTreeMap<Path, String> = BTreeMap::new();
        let mut tests: BTreeSet<Path> = BTreeSet::new();
        for (path, text) in below(folder) {
            let mut path: Path =
                path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if path == ["lib"] || path == ["main"] {
                path.clear();
            }
            for name in declared.captures_iter(&text) {
                tests.insert([path.as_slice(), &[name[1].to_owned()]].concat());
            }
            all.insert(path, without_tests(&code(&text)));
        }
        all.retain(|path, _| !(1..=path.len()).any(|n| tests.contains(&path[..n])));
        let mut modules = Self { code: all, handed_on: BTreeMap::new() };
        modules.handed_on =
            modules.code.keys().map(|path| (path.clone(), modules.hands_on(path))).collect();
        modules
    }

    fn hands_on(&self, path: &Path) -> BTreeMap<String, String> {
        static EXPORTS: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\bpub(?:\([^)]*\))? use ([^;]+);").unwrap());
        let mut all = BTreeMap::new();
        for export in EXPORTS.captures_iter(&self.code[path]) {
            for names in spelt_out(&export[1]) {
                let names: Vec<String> = names.into_iter().filter(|n| n != "self").collect();
                if let [child, .., name] = names.as_slice()
                    && self
                        .code
                        .contains_key(&[path.as_slice(), std::slice::from_ref(child)].concat())
                {
                    all.insert(name.clone(), child.clone());
                }
            }
        }
        all
    }

    /// The module that a path in a module's code leads to.
    fn resolved(&self, from: &Path, names: &[String]) -> Option<Path> {
        let (mut at, mut rest) = match names.first()?.as_str() {
            "crate" => (Path::new(), &names[1..]),
            _ => (from.clone(), names),
        };
        while let Some(name) = rest.first().filter(|n| *n == "super" || *n == "self") {
            if name == "super" {
                at.pop();
            }
            rest = &rest[1..];
        }
        let start = at.len();
        for name in rest {
            let child = [at.as_slice(), std::slice::from_ref(name)].concat();
            match self.handed_on[&at].get(name) {
                _ if self.code.contains_key(&child) => at = child,
                Some(target) => at.push(target.clone()),
                None => break,
            }
        }
        let relative = ["crate", "super", "self"].contains(&names[0].as_str());
        (relative || at.len() > start).then_some(at)
    }

    /// By folder: which of its modules use which others.
    fn uses(&self) -> BTreeMap<Path, BTreeMap<String, BTreeSet<String>>> {
        let used = Regex::new(r"\buse ([^;]+);|\b((?:crate|super)(?:::\w+)+)").unwrap();
        let mut all: BTreeMap<Path, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (path, code) in &self.code {
            for captures in used.captures_iter(code) {
                for names in spelt_out(captures.get(1).or(captures.get(2)).unwrap().as_str()) {
                    let Some(other) = self.resolved(path, &names) else { continue };
                    let common = path.iter().zip(&other).take_while(|(a, b)| a == b).count();
                    if let (Some(user), Some(provider)) = (path.get(common), other.get(common)) {
                        let folder = all.entry(path[..common].to_vec()).or_default();
                        folder.entry(user.clone()).or_default().insert(provider.clone());
                    }
                }
            }
        }
        all
    }
}

/// The code without items that are for tests alone.
pub(crate) fn without_tests(code: &str) -> String {
    let mut retained = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        if !start.starts_with("#[cfg(test") && !start.starts_with("#[cfg(all(test") {
            retained.push_str(line);
            retained.push('\n');
            continue;
        }
        let indent = &line[..line.len() - start.len()];
        let mut item = lines.by_ref().skip_while(|l| l.trim_start().starts_with('#'));
        let first = item.next().unwrap_or_default();
        if first.trim_end().ends_with('{') {
            let end = format!("{indent}}}");
            item.find(|l| l.starts_with(&end));
        } else if !first.trim_end().ends_with([';', ',', '}']) {
            item.find(|l| l.trim_end().ends_with([';', ',', '}']));
        }
    }
    retained
}

/// The paths of `a::{b, c::d}`: `a::b` and `a::c::d`.
fn spelt_out(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((before, inside)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let names = path.split("::").map(|name| name.trim().to_owned());
        return vec![names.filter(|name| !name.is_empty()).collect()];
    };
    let before = spelt_out(before).concat();
    let (mut depth, mut items) = (0, vec![String::new()]);
    for letter in inside.strip_suffix('}').unwrap_or(inside).chars() {
        depth += match letter {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        match letter {
            ',' if depth == 0 => items.push(String::new()),
            other => items.last_mut().unwrap().push(other),
        }
    }
    let branches =
        items.iter().filter(|item| !item.trim().is_empty()).flat_map(|item| spelt_out(item));
    branches.map(|rest| [before.as_slice(), &rest].concat()).collect()
}

/// The modules that lead back to themselves, in groups.
fn cycles(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached = |from: &String| {
        let (mut all, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(
                uses.get(module).into_iter().flatten().filter(|o| all.insert((*o).clone())),
            );
        }
        all
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        uses.keys().map(|module| (module, reached(module))).collect();
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for (module, all) in &reached {
        let back = |other: &&String| reached.get(*other).is_some_and(|r| r.contains(*module));
        let group: BTreeSet<String> = all.iter().filter(back).cloned().collect();
        if !group.is_empty() && !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

#[test]
fn modules_use_each_other_in_one_direction() {
    let mut wrong = Vec::new();
    let mut modules = 0;
    let crates = crate::LAYERS.map(|layer| format!("crates/{layer}/src"));
    for folder in crates.into_iter().chain(["tools/experiments/src", "fuzz/src"].map(str::to_owned))
    {
        let crate_modules = Modules::of(&folder);
        modules += crate_modules.code.len();
        for (path, uses) in crate_modules.uses() {
            for group in cycles(&uses) {
                let location = format!("{folder}/{}", path.join("/"));
                let uses = uses.iter().filter(|(user, _)| group.contains(*user));
                let uses = uses.map(|(user, used)| {
                    format!("{user} -> {:?}", used.intersection(&group).collect::<Vec<_>>())
                });
                wrong.push(format!("{location}: {}", uses.collect::<Vec<_>>().join("; ")));
            }
        }
    }
    assert!(modules > 300, "{modules} modules");
    assert!(wrong.is_empty(), "modules that use each other: {wrong:#?}");
}

#[test]
fn paths_are_spelt_out() {
    let spelt = |tree: &str| -> Vec<String> {
        spelt_out(tree).into_iter().map(|path| path.join("::")).collect()
    };
    assert_eq!(
        spelt("crate::a::{self, b as c, d::{E, F},}"),
        ["crate::a::self", "crate::a::b", "crate::a::d::E", "crate::a::d::F"]
    );
    let uses = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")];
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (user, used) in uses {
        graph.entry(user.to_owned()).or_default().insert(used.to_owned());
    }
    assert_eq!(cycles(&graph), [BTreeSet::from(["b".to_owned(), "c".to_owned()])]);
}
