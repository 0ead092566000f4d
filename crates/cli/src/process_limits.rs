//! Limits that whoever started the command has set for its process.

/// Lifts the limit on the size of files as far as the system lets this process, and makes a write
/// above it an error in place of the process's end: an answer that is paid for must not be lost at
/// a size of its caller's choice. Under a limit that stays, the ledger refuses to charge.
#[cfg(unix)]
pub(crate) fn lift() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use signal_hook::consts::SIGXFSZ;

    // With a handler, whatever it does, the write fails and the process goes on. Where the system
    // does not take one or does not lift the limit, the ledger's own check is left.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_FSIZE) {
        let _ = setrlimit(Resource::RLIMIT_FSIZE, most, most);
    }
}

#[cfg(not(unix))]
pub(crate) fn lift() {}
