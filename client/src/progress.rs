//! The one road to the terminal besides the error report: status lines on stderr, one fact a line, each once. What is
//! worth saying is decided by the steps; a driver's own output goes to stdout by `driver_log`.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the state of a transfer is said: on a terminal in place, elsewhere as a line. The first time counts from its
/// begin, so that a short one is not talked about.
const REDRAW: Duration = Duration::from_millis(200);
const REPEAT: Duration = Duration::from_secs(10);

/// Where the lines go.
#[derive(Debug)]
enum Sink {
    Quiet,
    Stderr { terminal: bool },
    Memory(Arc<Mutex<Vec<String>>>),
}

#[derive(Debug, Default)]
struct Shown {
    last: String,
    bar_at: Option<Instant>,
    bar_open: bool,
}

/// Says what is going on. Cheap to clone; all clones write to one place.
#[derive(Clone, Debug)]
pub struct Progress {
    sink: Arc<Sink>,
    shown: Arc<Mutex<Shown>>,
}

impl Progress {
    /// Lines on stderr; none when `quiet`.
    #[must_use]
    pub fn stderr(quiet: bool) -> Self {
        Self::to(if quiet { Sink::Quiet } else { Sink::Stderr { terminal: std::io::stderr().is_terminal() } })
    }

    /// Lines in memory, for tests.
    #[must_use]
    pub fn recording() -> (Self, Arc<Mutex<Vec<String>>>) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        (Self::to(Sink::Memory(lines.clone())), lines)
    }

    fn to(sink: Sink) -> Self {
        Self { sink: Arc::new(sink), shown: Arc::default() }
    }

    /// One fact, as a line of its own.
    pub fn say(&self, text: impl AsRef<str>) {
        let mut shown = self.shown();
        if std::mem::take(&mut shown.bar_open) {
            self.write("\n");
        }
        for line in text.as_ref().lines() {
            self.write(&format!("{line}\n"));
        }
    }

    /// What is being waited for: said when it differs from what was said last by this method.
    pub fn waiting(&self, text: impl Into<String>) {
        let text = text.into();
        if self.shown().last != text {
            self.say(&text);
            self.shown().last = text;
        }
    }

    /// How far a transfer of `total` bytes is.
    pub fn transfer(&self, done: u64, total: u64) {
        let terminal = matches!(*self.sink, Sink::Stderr { terminal: true });
        let mut shown = self.shown();
        let since = *shown.bar_at.get_or_insert_with(Instant::now);
        if since.elapsed() < if terminal { REDRAW } else { REPEAT } {
            return;
        }
        shown.bar_at = Some(Instant::now());
        let text = format!("uploading: {} of {} MiB", done >> 20, total.div_ceil(1 << 20));
        shown.bar_open = terminal;
        self.write(&if terminal { format!("\r{text}") } else { format!("{text}\n") });
    }

    fn shown(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A closed stderr is no reason to stop: the submission matters, not its description.
    fn write(&self, text: &str) {
        match &*self.sink {
            Sink::Quiet => {}
            Sink::Stderr { .. } => drop(std::io::stderr().lock().write_all(text.as_bytes())),
            Sink::Memory(lines) => {
                lines.lock().unwrap_or_else(PoisonError::into_inner).push(text.trim_end().to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_said_once_a_change() {
        let (progress, lines) = Progress::recording();
        for text in ["scheduling", "scheduling", "pulling image", "pulling image", "starting"] {
            progress.waiting(text);
        }
        assert_eq!(*lines.lock().unwrap(), ["scheduling", "pulling image", "starting"]);
    }

    #[test]
    fn a_short_transfer_is_not_talked_about() {
        let (progress, lines) = Progress::recording();
        for done in [0, 1 << 20, 2 << 20, 3 << 20] {
            progress.transfer(done, 3 << 20);
        }
        assert!(lines.lock().unwrap().is_empty());
    }
}
