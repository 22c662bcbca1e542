//! What a step of the client fails with: a stable code, what failed on what, causes and hints. How it is printed is
//! `shared::report`'s matter.

use std::error::Error;
use std::fmt;

use shared::error_code::ErrorCode;
use shared::report::Failure;

/// A failure of one step.
#[derive(Debug)]
pub struct SubmitError {
    code: ErrorCode,
    what: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hints: Vec<String>,
}

impl SubmitError {
    /// A failure of kind `code`; `what` says what failed on what, in lower case, without its cause.
    #[must_use]
    pub fn new(code: ErrorCode, what: impl Into<String>) -> Self {
        Self { code, what: what.into(), source: None, hints: Vec::new() }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds a line that names the setting or command that helps.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for SubmitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl Error for SubmitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
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
