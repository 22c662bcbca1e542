//! The one failure type of the driver server: a stable code, what failed on what, and hints. Modules that receive, check
//! and launch know nothing of HTTP; `problem` maps a refusal to a status and a body, `ending` to an exit status.

use std::fmt::Display;
use std::io;

use shared::error_code::ErrorCode;
use shared::report::Failure;

/// Why something is refused, or why the server ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Refusal {
    code: ErrorCode,
    detail: String,
    hints: Vec<String>,
    offset: Option<u64>,
}

impl Refusal {
    /// A refusal with `detail` for people. It never holds keys, property values or arguments.
    #[must_use]
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), hints: Vec::new(), offset: None }
    }

    /// A failure of the file system: out of space is told apart, since its remedy is another one.
    #[must_use]
    pub fn io(what: impl Display, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::new(ErrorCode::DiskFull, format!("no space left: {what}: {error}")).hint(MORE_DISK)
            }
            _ => Self::new(ErrorCode::Io, format!("{what}: {error}")),
        }
    }

    /// A fault of our own.
    #[must_use]
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(ErrorCode::Bug, what)
    }

    /// Adds what to change.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds the offset at which the upload must go on.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// The offset at which the upload must go on, where that is the remedy.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }
}

/// The remedy for a full disk.
pub const MORE_DISK: &str =
    "give the driver pod more ephemeral storage, or a larger limit on the volume at /var/airlock";

impl Failure for Refusal {
    fn code(&self) -> ErrorCode {
        self.code
    }

    fn hints(&self) -> Vec<String> {
        self.hints.clone()
    }
}
