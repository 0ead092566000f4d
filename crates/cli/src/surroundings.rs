//! Settings from around the command: its environment and its folder.

use std::env;
use std::path::{Path, PathBuf};

use crate::stdio;

/// The file to find.
const CONTRACT: &str = "hushtable.toml";

/// The contract that holds: the one that is named, that of the environment, or the nearest
/// `hushtable.toml` in this folder or above it. One that comes from above is named on standard
/// error, as its budgets are charged.
pub(crate) fn contract(named: Option<&Path>) -> PathBuf {
    if let Some(path) = named {
        return path.to_owned();
    }
    if let Some(path) = setting("HUSHTABLE_CONTRACT") {
        return path.into();
    }
    let (path, above) = nearest(|path| path.exists());
    if above {
        stdio::note(&format!("contract: {}\n", path.display()));
    }
    path
}

/// The contract that a command without a name for one would take, where there is a file.
pub(crate) fn contract_if_any() -> Option<PathBuf> {
    let path = match setting("HUSHTABLE_CONTRACT") {
        Some(path) => path.into(),
        None => nearest(|path| path.exists()).0,
    };
    path.exists().then_some(path)
}

/// The analyst who asks: the one that is named, or that of the environment.
pub(crate) fn analyst(named: Option<&str>) -> Option<String> {
    let from_setting = || setting("HUSHTABLE_ANALYST").map(|text| text.to_string_lossy().into());
    named.map(str::to_owned).or_else(from_setting)
}

/// The value of a variable; none if it is unset or empty.
fn setting(name: &str) -> Option<std::ffi::OsString> {
    env::var_os(name).filter(|text| !text.is_empty())
}

/// The nearest contract, and whether it is in a folder above; the one of this folder where there is
/// none.
fn nearest(exists: impl Fn(&Path) -> bool) -> (PathBuf, bool) {
    let here = PathBuf::from(CONTRACT);
    if exists(&here) {
        return (here, false);
    }
    let depth = env::current_dir().map_or(0, |folder| folder.ancestors().count() - 1);
    let above = (1..=depth).map(|n| PathBuf::from("../".repeat(n)).join(CONTRACT));
    above.into_iter().find(|path| exists(path)).map_or((here, false), |path| (path, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_contract_is_found() {
        assert_eq!(nearest(|_| true), (CONTRACT.into(), false));
        assert_eq!(nearest(|_| false), (CONTRACT.into(), false));
        let up = Path::new("../../hushtable.toml");
        assert_eq!(nearest(|path| path == up), (up.to_owned(), true));
    }
}
