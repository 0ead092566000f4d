//! Whether hints that name options of the command have other words for programs.

use regex::Regex;

use super::{LAYERS, root, sources};

/// Files whose errors only the command shows: no method of `Engine`, `Analyst` or `Owner` leads
/// there.
const OF_THE_COMMAND: [&str; 5] = [
    "crates/engine/src/local.rs",
    "crates/hushtable/src/draft.rs",
    "crates/hushtable/src/output.rs",
    "crates/hushtable/src/published.rs",
    "crates/hushtable/src/published/",
];

#[test]
fn hints_that_name_options_have_words_for_programs() {
    let option = Regex::new(r#"["` (]--[a-z]"#).unwrap();
    let library = LAYERS.iter().take_while(|layer| **layer != "plot");
    let library: Vec<String> = library.map(|layer| format!("crates/{layer}/src/")).collect();
    let mut found = 0;
    for (path, text) in sources() {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        if !library.iter().any(|folder| name.starts_with(folder))
            || OF_THE_COMMAND.iter().any(|file| name.starts_with(file))
            || name.contains("/tests")
        {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        let (mut options, mut words) = (0, 0);
        for line in code {
            options += usize::from(line.contains('"') && option.is_match(line));
            words += usize::from(line.contains("in_code("));
        }
        // `EngineError::hint_in_code` has an arm for each.
        words = if name == "crates/engine/src/error.rs" { options } else { words };
        assert!(words >= options, "{name}: {options} hints name options, {words} have other words");
        found += options;
    }
    assert!(found >= 7, "the rule finds only {found} hints that name options");
}
