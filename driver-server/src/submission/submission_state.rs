//! What the server has decided about its submission: the states, and what each of them answers. Transitions are made in
//! `submission`; nothing here touches a file.

use std::sync::Arc;

use shared::error_code::ErrorCode;
use shared::manifest::Manifest;
use shared::protocol::{SubmissionState, SubmissionStatus};

use crate::error::Refusal;

/// waiting → receiving → verified → launched; from each of the first three, refused for good.
#[derive(Debug, Default)]
pub enum State {
    /// No manifest has come yet.
    #[default]
    Waiting,
    /// The manifest is accepted.
    Receiving(Arc<Manifest>),
    /// Every byte lies on disk and every digest holds.
    Verified(Proved),
    /// The launch is decided and prepared.
    Launched(Proved),
    /// Whatever is asked, this is the answer.
    Refused(Refusal),
}

/// A bundle that is verified.
#[derive(Clone, Debug)]
pub struct Proved {
    /// Its manifest.
    pub manifest: Arc<Manifest>,
    /// SHA-256 of the server's own `SHA256SUMS`, hex.
    pub digest: String,
}

impl State {
    /// The answer to every question about it; `offset` is what has been received.
    pub fn status(&self, offset: u64) -> Result<SubmissionStatus, Refusal> {
        let state = match self {
            Self::Waiting => SubmissionState::Waiting,
            Self::Receiving(_) => SubmissionState::Receiving,
            Self::Verified(_) => SubmissionState::Verified,
            Self::Launched(_) => SubmissionState::Launched,
            Self::Refused(refusal) => return Err(refusal.clone()),
        };
        Ok(SubmissionStatus { state, offset, digest: self.proved().map(|proved| proved.digest) })
    }

    /// The accepted manifest.
    #[must_use]
    pub fn manifest(&self) -> Option<Arc<Manifest>> {
        match self {
            Self::Waiting | Self::Refused(_) => None,
            Self::Receiving(manifest) => Some(Arc::clone(manifest)),
            Self::Verified(proved) | Self::Launched(proved) => Some(Arc::clone(&proved.manifest)),
        }
    }

    /// The verified bundle.
    #[must_use]
    pub fn proved(&self) -> Option<Proved> {
        match self {
            Self::Verified(proved) | Self::Launched(proved) => Some(proved.clone()),
            Self::Waiting | Self::Receiving(_) | Self::Refused(_) => None,
        }
    }
}

/// What an upload is told whose turn has been taken.
#[must_use]
pub fn superseded() -> Refusal {
    Refusal::new(ErrorCode::AlreadyRunning, "a newer upload of this submission has taken over")
}

/// What is said of the idle deadline, in the middle of a request and as the end.
#[must_use]
pub fn idle() -> Refusal {
    let detail = "nothing has come from the client for the whole of the idle limit, so nobody is uploading any more";
    Refusal::new(ErrorCode::Idle, detail).hint("the limit is spark.airlock.timeout.idle")
}
