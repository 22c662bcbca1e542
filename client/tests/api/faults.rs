//! What can go wrong with a call, and for which calls.

use std::time::Duration;

use serde_json::Value;

use super::serve::Call;

/// What happens to a call.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Nothing is carried out; this status is the answer.
    Refuse(Value),
    /// Carried out; this status is the answer nevertheless.
    FailAfter(Value),
    /// Nothing is carried out; the connection is cut.
    Cut,
    /// Carried out; the connection is cut.
    CutAfter,
    /// Nothing is carried out before so much time has passed, whether the client still waits or not.
    Late(Duration),
    /// Throttled in plain text, with the delay in a header.
    Throttle(&'static str),
    /// A watch: 200, then an `ERROR` event with this status.
    ErrorEvent(Value),
    /// A watch: 200, then a clean end.
    Close,
    /// A watch: 200, then a cut connection.
    Reset,
    /// A watch: 200, then nothing for ever.
    Silence,
}

/// A fault for the next `times` calls that match.
pub(crate) struct Rule {
    pub(crate) verb: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) dry_run: bool,
    /// So many matching calls are let through first.
    pub(crate) skip: usize,
    pub(crate) times: usize,
    pub(crate) fault: Fault,
}

impl Rule {
    /// `fault` for the first `times` real calls of `verb` on `resource`.
    pub(crate) fn new(verb: &'static str, resource: &'static str, times: usize, fault: Fault) -> Self {
        Self { verb, resource, dry_run: false, skip: 0, times, fault }
    }

    /// The same for dry runs.
    pub(crate) fn dry(self) -> Self {
        Self { dry_run: true, ..self }
    }

    /// Lets the first `skip` calls through.
    pub(crate) fn after(self, skip: usize) -> Self {
        Self { skip, ..self }
    }

    pub(crate) fn take(&mut self, call: &Call) -> Option<Fault> {
        let matches = call.verb == self.verb && call.resource == self.resource && call.dry_run == self.dry_run;
        if !matches || self.times == 0 {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.times -= 1;
        Some(self.fault.clone())
    }
}
