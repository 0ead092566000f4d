//! Real tables, where they are at hand beside the checkout (`../shared/data`).

use std::path::{Path, PathBuf};

/// The file of that name. A test that gets none is skipped, and said so.
pub fn real(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if path.is_file() {
        return path.canonicalize().ok();
    }
    eprintln!("skipped: {name} is not here");
    println!("skipped: {name} is not here");
    None
}
