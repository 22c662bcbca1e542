//! How a failure is shown to people, on both sides: one line what failed, cause lines, then hints. The last line that a
//! process prints begins with its own name and the code, so that scripts find it.

use std::error::Error;
use std::fmt::Write;

use crate::error_code::ErrorCode;

/// A failure with everything that the reader needs to act on it.
pub trait Failure: Error {
    /// The stable code.
    fn code(&self) -> ErrorCode;
    /// The setting or command that helps, one a line; empty when we know none.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Renders `failure` for the process called `program`: `airlock: E_CODE: what failed`, then ` cause: …` and ` hint: …`
/// lines, each ended by a newline.
#[must_use]
pub fn render(program: &str, failure: &dyn Failure) -> String {
    let mut text = format!("{program}: {}: {failure}\n", failure.code());
    let mut cause = failure.source();
    while let Some(error) = cause {
        // Libraries often repeat their cause inside their own text: the same words twice help nobody.
        if !text.contains(&error.to_string()) {
            let _ = writeln!(text, "  cause: {error}");
        }
        cause = error.source();
    }
    for hint in failure.hints() {
        let _ = writeln!(text, "  hint: {hint}");
    }
    text
}
