//! A fixed delay: nothing of a command can be seen before it has passed.
//!
//! Running time depends on the data. With a delay of T, answers, refusals and faults come T after
//! the start, or 2 T, 4 T and so on where the work takes longer: what a command would print or
//! write is kept until then. So the time of an answer is one of few, however long the work took.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use hushtable::AnsweringDelay;
use hushtable::ledger::Notice;
use hushtable::query::Refusal;

use crate::delayed_effects::{self, Effect};
use crate::failure::Failure;
use crate::given_numbers::real;
use crate::stdio;

/// The environment's setting, in seconds. The larger of it and the option holds.
const SETTING: &str = "HUSHTABLE_AT_LEAST_SECONDS";
/// A day.
const MOST: f64 = 86_400.0;
const RANGE: &str = "a number of seconds from 0 to 86400";

/// Messages of the ledger that wait for the end of a delay; they come from the engine's threads.
/// `None` while nothing is delayed: a shell has delayed statements, and others.
static MESSAGES: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Tells what the ledger says: at once, or when the delay has passed.
pub(crate) fn tell(notice: &Notice) {
    let text = format!("{notice}\n");
    match MESSAGES.lock().as_deref_mut() {
        Ok(Some(messages)) => messages.push(text),
        _ => stdio::note(&text),
    }
}

/// Sets the messages that wait, and returns those that did.
fn replace_messages(waiting: Option<Vec<String>>) -> Vec<String> {
    let before = MESSAGES.lock().map(|mut messages| std::mem::replace(&mut *messages, waiting));
    before.ok().flatten().unwrap_or_default()
}

/// The seconds of the environment's setting; 0 without one.
fn of_setting(text: Option<&str>) -> Result<f64, Failure> {
    let Some(text) = text else { return Ok(0.0) };
    real(SETTING, text, 0.0..=MOST, RANGE, "10").map_err(|_| {
        Failure::new(
            format!("the environment's {SETTING} = {text} is not valid: it must be {RANGE}"),
            format!("for example `{SETTING}=10`"),
        )
    })
}

/// The delay that the environment's `HUSHTABLE_AT_LEAST_SECONDS` asks for, for other ways in.
///
/// # Errors
/// When the setting is no number of seconds of up to a day.
pub fn delay_of_environment() -> Result<Duration, Refusal> {
    let setting = std::env::var_os(SETTING);
    let setting = setting.map(|text| text.to_string_lossy().into_owned());
    Ok(Duration::from_secs_f64(of_setting(setting.as_deref())?))
}

/// The least time from the start of a command to its end. Where the work takes longer, it ends
/// after that time doubled as often as is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    started: Instant,
    delay: AnsweringDelay,
}

impl Pace {
    /// The delay that the option and the environment ask for.
    pub(crate) fn of(option: Option<&str>, started: Instant) -> Result<Self, Failure> {
        let setting = std::env::var_os(SETTING);
        let setting = setting.map(|text| text.to_string_lossy().into_owned());
        Self::longer(option, setting.as_deref(), started)
    }

    fn longer(
        option: Option<&str>,
        setting: Option<&str>,
        started: Instant,
    ) -> Result<Self, Failure> {
        let setting = of_setting(setting)?;
        let option = option
            .map_or(Ok(0.0), |text| real("at-least-seconds", text, 0.0..=MOST, RANGE, "10"))?;
        let least = Duration::from_secs_f64(option.max(setting));
        Ok(Self { started, delay: AnsweringDelay::new(least) })
    }

    /// No delay.
    pub(crate) fn none(started: Instant) -> Self {
        Self { started, delay: AnsweringDelay::default() }
    }

    /// Runs a command. With a delay, the effects that it gives to [`delayed_effects::perform`] are
    /// kept, and handed over with the command's result once the delay or a doubling of it is
    /// over.
    pub(crate) fn keep<T>(
        self,
        sleep: impl FnOnce(Duration),
        run: impl FnOnce() -> T,
    ) -> (T, Vec<Effect>) {
        if self.delay.is_none() {
            return (run(), Vec::new());
        }
        delayed_effects::keep();
        replace_messages(Some(Vec::new()));
        let ended = run();
        replace_messages(Some(Vec::new())).iter().for_each(|text| stdio::note(text));
        let effects = delayed_effects::take();
        sleep(self.delay.rest(self.started));
        // The engine's threads may speak until the end.
        replace_messages(None).iter().for_each(|text| stdio::note(text));
        (ended, effects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_longer_than_the_delay_ends_with_a_doubling() {
        let hours = |n: u64| Duration::from_secs(3600 * n);
        // The work took 7 hours, which is after 3 and 6.
        let Some(started) = Instant::now().checked_sub(hours(7)) else { return };
        let mut slept = Duration::ZERO;
        Pace { started, delay: AnsweringDelay::new(hours(3)) }.keep(|time| slept = time, || ());
        assert!(slept > hours(4) && slept <= hours(5), "{slept:?}");
    }

    #[test]
    fn the_longer_delay_holds() {
        let now = Instant::now();
        let least = |option, setting| Pace::longer(option, setting, now).map(|pace| pace.delay);
        let seconds = |n| AnsweringDelay::new(Duration::from_secs_f64(n));
        assert_eq!(least(None, None).unwrap(), AnsweringDelay::default());
        assert_eq!(least(Some("2.5"), None).unwrap(), seconds(2.5));
        assert_eq!(least(None, Some("3")).unwrap(), seconds(3.0));
        assert_eq!(least(Some("2.5"), Some("3")).unwrap(), seconds(3.0));
        assert_eq!(least(Some("4"), Some("3")).unwrap(), seconds(4.0));
        for bad in ["", "-1", "nan", "inf", "86401", "ten"] {
            let option = least(Some(bad), None).unwrap_err().to_string();
            assert!(option.contains("at-least-seconds"), "{option}");
            let setting = least(None, Some(bad)).unwrap_err().to_string();
            assert!(setting.contains(SETTING), "{setting}");
        }
    }
}
