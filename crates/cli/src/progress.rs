//! A progress bar for queries that take long.

use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use hushtable::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::delayed_effects::is_delayed;

/// Quicker queries show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
const REFRESH: Duration = Duration::from_millis(100);
const TEMPLATE: &str = "{msg} {bar:32} {percent:>3} %, {elapsed} gone, about {eta} left";

/// The thousandths that are done, and a label.
type ProgressLabel<'a> = &'a (dyn Fn() -> (u32, String) + Sync);

/// The bar's label after Ctrl-C. Work that is not charged has ended by then.
const GIVEN_UP: &str = "charged, so the answer comes (Ctrl-C ends it; asking again is free)";

/// Runs `work`, and shows on a terminal how far it has come; `label` says what it does, and several
/// parts are counted.
pub(crate) fn watched<T>(label: &str, progress: &Progress, work: impl FnOnce() -> T) -> T {
    let given_up = progress.given_up();
    let look = || {
        let parts = progress.parts();
        let label = match parts {
            _ if given_up.load(Ordering::Relaxed) => GIVEN_UP.to_owned(),
            0 | 1 => label.to_owned(),
            _ => format!("query {} of {parts}", parts.min(progress.answered() + 1)),
        };
        (progress.permille(), label)
    };
    beside(&look, work)
}

/// Whether a bar is visible, so that nothing else should be printed.
pub(crate) fn is_visible() -> bool {
    // With a delay there is no bar: progress would tell how long the query takes.
    io::stderr().is_terminal() && !is_delayed()
}

fn beside<T>(look: ProgressLabel<'_>, work: impl FnOnce() -> T) -> T {
    if !is_visible() {
        return work();
    }
    thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        // Without another thread the query is answered anyway, and no bar is drawn.
        let _ = thread::Builder::new().spawn_scoped(scope, move || show(look, &ended));
        let result = work();
        drop(running);
        result
    })
}

/// Draws until the other end of `ended` is gone. Shares and times only: numbers of rows or bytes
/// would be numbers from the data.
fn show(look: ProgressLabel<'_>, ended: &Receiver<()>) {
    if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let style = ProgressStyle::with_template(TEMPLATE);
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr())
        .with_elapsed(PATIENCE)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    loop {
        let (permille, label) = look();
        bar.set_message(label);
        bar.set_position(u64::from(permille));
        // The time goes on even if the reading does not.
        bar.tick();
        if ended.recv_timeout(REFRESH) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    bar.finish_and_clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_drawn_in_its_own_form() {
        // With an invalid template, the library's own is used, which has no label.
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
