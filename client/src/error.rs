//! The client's failure: a code, what failed on what, its cause, and hints. Built where it is found, shown in one place.

use std::error::Error;
use std::fmt;

use shared::error_code::ErrorCode;
use shared::report::Failure;

type Cause = Box<dyn Error + Send + Sync>;

/// Why a submission ended.
#[derive(Debug)]
pub struct SubmitError {
    code: ErrorCode,
    what: String,
    cause: Option<Cause>,
    hints: Vec<String>,
}

impl SubmitError {
    /// `what` is one line, lower case: what failed, on what; never the cause.
    pub fn new(code: ErrorCode, what: impl Into<String>) -> Self {
        Self { code, what: what.into(), cause: None, hints: Vec::new() }
    }

    /// Adds what it came from.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds a line that names the setting or command to use.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }
}

impl fmt::Display for SubmitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl Error for SubmitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl Failure for SubmitError {
    fn code(&self) -> ErrorCode {
        self.code
    }

    fn hints(&self) -> Vec<String> {
        self.hints.clone()
    }
}
