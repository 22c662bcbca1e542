//! How the process ends when it does not become the driver: the reason goes where the kubelet shows it, own objects are
//! deleted, the report goes to stderr, and the exit status is the code's.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use shared::error_code::ErrorCode;
use shared::report::{self, Failure as _};
use tracing::warn;

use crate::cli::Arguments;
use crate::error::Refusal;
use crate::own_objects;

/// Longest message in bytes that the kubelet takes.
const MESSAGE_LIMIT: usize = 4096;
/// Time for deleting own objects.
const CLEAN_UP_TIME: Duration = Duration::from_secs(5);
/// The same after a signal, when whoever sent it waits.
const CLEAN_UP_TIME_AFTER_SIGNAL: Duration = Duration::from_secs(1);

/// Ends with `failure`; returns the exit status.
pub fn fail(arguments: &Arguments, failure: &Refusal) -> u8 {
    write_termination_log(&arguments.termination_log, failure);
    let limit = match failure.code() {
        ErrorCode::Interrupted | ErrorCode::Terminated => CLEAN_UP_TIME_AFTER_SIGNAL,
        _ => CLEAN_UP_TIME,
    };
    // A runtime of its own: the server's may be what failed.
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(own_objects::delete(arguments, limit)),
        Err(error) => warn!("own objects are not deleted: {error}"),
    }
    // Nobody is left to tell when stderr is closed.
    let _ = io::stderr().write_all(report::render("airlock-driver", failure).as_bytes());
    failure.code().exit_status()
}

/// Writes the reason to the file that the kubelet mounted. It is not created: elsewhere nobody would read it.
pub fn write_termination_log(path: &Path, failure: &Refusal) {
    let opened = OpenOptions::new().write(true).truncate(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(message(failure).as_bytes()));
    if let Err(error) = written {
        warn!("the termination message cannot be written to {}: {error}", path.display());
    }
}

/// One line, no longer than the kubelet takes.
fn message(failure: &Refusal) -> String {
    let mut line = format!("{}: {failure}", failure.code());
    for hint in failure.hints() {
        line.push_str("; hint: ");
        line.push_str(&hint);
    }
    let mut line = line.replace(char::is_control, " ");
    line.truncate(line.floor_char_boundary(MESSAGE_LIMIT - 1));
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c01_the_termination_message_is_one_line_of_a_length_that_the_kubelet_takes() {
        let failure = Refusal::new(ErrorCode::Idle, "ä\n".repeat(5000)).hint("h");
        let message = message(&failure);
        assert!(message.len() <= MESSAGE_LIMIT && message.starts_with("E_IDLE: ä "));
        assert_eq!(message.lines().count(), 1);
    }
}
